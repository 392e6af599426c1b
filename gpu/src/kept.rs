//! Words that stay on the device: what batches share.
//!
//! Owns which of them are there, within a budget; the least recently used go first. The host keeps the words themselves, so
//! nothing is ever lost with the device.

use std::collections::BTreeMap;
use vulkano::buffer::Subbuffer;

/// Buffers by the id of what they hold.
pub(crate) struct Kept {
    budget: u64,
    bytes: u64,
    clock: u64,
    buffers: BTreeMap<u64, (u64, Subbuffer<[u32]>)>,
}

impl Kept {
    pub(crate) fn new(budget: u64) -> Self {
        Self { budget, bytes: 0, clock: 0, buffers: BTreeMap::new() }
    }

    /// Bytes that are there.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The buffer of an id, used now.
    pub(crate) fn get(&mut self, id: u64) -> Option<Subbuffer<[u32]>> {
        self.clock += 1;
        let (used, buffer) = self.buffers.get_mut(&id)?;
        *used = self.clock;
        Some(buffer.clone())
    }

    /// Keeps a filled buffer. What no longer fits goes, but never what is kept with this call.
    pub(crate) fn put(&mut self, id: u64, buffer: Subbuffer<[u32]>) {
        self.clock += 1;
        self.bytes += 4 * buffer.len();
        self.buffers.insert(id, (self.clock, buffer));
        while self.bytes > self.budget && self.buffers.len() > 1 {
            let Some(oldest) = self.buffers.iter().min_by_key(|(_, (used, _))| *used).map(|(&id, _)| id)
            else {
                break;
            };
            if let Some((_, buffer)) = self.buffers.remove(&oldest) {
                self.bytes -= 4 * buffer.len();
            }
        }
    }
}
