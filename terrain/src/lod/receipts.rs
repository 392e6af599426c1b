//! The receipts of the last frames, and why one may not be had.
//!
//! Owns the few that are kept, and what became of the others. A receipt is there only after its frame is complete; whoever
//! holds one ([`Arc`]) keeps it, whatever happens here.

use super::Receipt;
use super::point::{DrawnAnswer, Question};
use crate::coord::LatticeError;
use std::collections::VecDeque;
use std::sync::Arc;

/// Receipts that are kept.
pub const KEPT: usize = 8;

/// Frames whose fate is remembered.
const REMEMBERED: usize = 64;

/// Names a frame's receipt among those of one [`Receipts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReceiptId {
    owner: u64,
    number: u64,
}

/// Why a receipt does not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReceiptError {
    /// The frame was never taken for drawing.
    #[error("the frame was rejected: {0}")]
    Rejected(String),
    /// The frame is not complete yet.
    #[error("the frame is not complete yet")]
    Pending,
    /// The terrain or the device was replaced after the frame was submitted.
    #[error("the frame is of an earlier generation of the terrain or the device")]
    Stale,
    /// The frame was not drawn to its end.
    #[error("the frame failed: {0}")]
    Failed(String),
    /// It is another's, or was never given out.
    #[error("the receipt was not issued here")]
    Foreign,
    /// Later ones have taken its place.
    #[error("the receipt is older than the {KEPT} that are kept")]
    Expired,
    /// Nothing was drawn there.
    #[error("the frame drew nothing there")]
    Undrawn,
    /// There are several views and none was named.
    #[error("the frame has {0} views: say which")]
    MissingView(usize),
    /// There is no such view.
    #[error("the frame has no view {0}")]
    UnknownView(u64),
    /// It was drawn from another source.
    #[error("expected the source {}, found {}", hex(expected), hex(found))]
    UnexpectedDigest {
        /// What was asked for.
        expected: [u8; 32],
        /// What was drawn.
        found: [u8; 32],
    },
    /// The position is none.
    #[error(transparent)]
    Position(LatticeError),
    /// What it is made of does not fit together.
    #[error("a receipt: {0}")]
    Malformed(String),
    /// The frame has come to its end before.
    #[error("the frame has come to its end already")]
    Settled,
}

fn hex(digest: &[u8; 32]) -> String {
    digest.iter().map(|b| format!("{b:02x}")).collect()
}

#[derive(Debug)]
enum Fate {
    Pending,
    Complete(Arc<Receipt>),
    Rejected(String),
    Failed(String),
    Stale,
    Expired,
}

/// The receipts of one drawer of one terrain.
#[derive(Debug)]
pub struct Receipts {
    owner: u64,
    /// The number of the first remembered frame.
    first: u64,
    fates: VecDeque<Fate>,
}

impl Receipts {
    /// None yet. `owner` tells receipts of different drawers and worlds apart.
    pub fn new(owner: u64) -> Self {
        Self { owner, first: 0, fates: VecDeque::with_capacity(REMEMBERED) }
    }

    /// A frame is submitted.
    pub fn begin(&mut self) -> ReceiptId {
        if self.fates.len() == REMEMBERED {
            self.fates.pop_front();
            self.first += 1;
        }
        self.fates.push_back(Fate::Pending);
        ReceiptId { owner: self.owner, number: self.first + self.fates.len() as u64 - 1 }
    }

    fn place(&self, id: ReceiptId) -> Result<usize, ReceiptError> {
        if id.owner != self.owner || id.number >= self.first + self.fates.len() as u64 {
            return Err(ReceiptError::Foreign);
        }
        let place = id.number.checked_sub(self.first).ok_or(ReceiptError::Expired)?;
        Ok(place as usize)
    }

    fn settle(&mut self, id: ReceiptId, fate: Fate) -> Result<(), ReceiptError> {
        let place = self.place(id)?;
        match self.fates[place] {
            Fate::Pending => self.fates[place] = fate,
            Fate::Stale => return Err(ReceiptError::Stale),
            _ => return Err(ReceiptError::Settled),
        }
        // The oldest frame goes first, whenever it became complete.
        let complete = |f: &Fate| matches!(f, Fate::Complete(_));
        if self.fates.iter().filter(|f| complete(f)).count() > KEPT {
            let oldest = self.fates.iter().position(complete).expect("there are some");
            self.fates[oldest] = Fate::Expired;
        }
        Ok(())
    }

    /// The frame is complete on the device.
    ///
    /// # Errors
    /// A frame that is not pending here.
    pub fn complete(&mut self, id: ReceiptId, receipt: Receipt) -> Result<(), ReceiptError> {
        self.settle(id, Fate::Complete(Arc::new(receipt)))
    }

    /// The frame was not taken for drawing.
    ///
    /// # Errors
    /// As [`Receipts::complete`].
    pub fn reject(&mut self, id: ReceiptId, why: impl Into<String>) -> Result<(), ReceiptError> {
        self.settle(id, Fate::Rejected(why.into()))
    }

    /// The frame was taken, but not drawn to its end.
    ///
    /// # Errors
    /// As [`Receipts::complete`].
    pub fn fail(&mut self, id: ReceiptId, why: impl Into<String>) -> Result<(), ReceiptError> {
        self.settle(id, Fate::Failed(why.into()))
    }

    /// The terrain or the device is another from now on: what was submitted before is stale here, complete or not.
    pub fn renew(&mut self) {
        for fate in self.fates.iter_mut().filter(|f| matches!(f, Fate::Pending | Fate::Complete(_))) {
            *fate = Fate::Stale;
        }
    }

    /// A frame's receipt.
    ///
    /// # Errors
    /// Why there is none.
    pub fn get(&self, id: ReceiptId) -> Result<&Arc<Receipt>, ReceiptError> {
        match &self.fates[self.place(id)?] {
            Fate::Complete(receipt) => Ok(receipt),
            Fate::Pending => Err(ReceiptError::Pending),
            Fate::Rejected(why) => Err(ReceiptError::Rejected(why.clone())),
            Fate::Failed(why) => Err(ReceiptError::Failed(why.clone())),
            Fate::Stale => Err(ReceiptError::Stale),
            Fate::Expired => Err(ReceiptError::Expired),
        }
    }

    /// The drawn surface at a point, as a frame's receipt has it.
    ///
    /// # Errors
    /// Why there is no answer.
    pub fn ask(&self, id: ReceiptId, question: &Question) -> Result<DrawnAnswer, ReceiptError> {
        self.get(id)?.ask(question)
    }

    /// Bytes of the receipts that are kept.
    pub fn bytes(&self) -> usize {
        let of = |f: &Fate| if let Fate::Complete(r) = f { r.bytes() } else { 0 };
        self.fates.iter().map(of).sum()
    }
}
