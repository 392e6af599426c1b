//! One block of decoded data, as read from a store, before it has neighbours.

use super::BlockPlanes;
use crate::content::Lattice;
use crate::coord::{BlockPos, BlockSide};
use crate::height::VOID;
use crate::kernel::weight_mip::HdTexel;
use crate::state::DataState;
use std::sync::Arc;

/// Decoded samples, visibility and weights of one block.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    pos: BlockPos,
    side: BlockSide,
    heights: Box<[i32]>,
    mask: Box<[u8]>,
    weights: Option<Arc<[HdTexel]>>,
    planes: BlockPlanes,
}

impl Block {
    /// A block of `side²` raw quanta and `side²` cell masks (X fastest), and optionally
    /// `(side · paint_per_cell)²` weight texels.
    ///
    /// # Panics
    /// When a length is wrong.
    pub fn new(
        pos: BlockPos,
        side: BlockSide,
        heights: Box<[i32]>,
        mask: Box<[u8]>,
        weights: Option<Arc<[HdTexel]>>,
    ) -> Self {
        let n = (side.samples() * side.samples()) as usize;
        assert_eq!(heights.len(), n, "a block holds side² heights");
        assert_eq!(mask.len(), n, "a block holds side² cell masks");
        if let Some(w) = &weights {
            assert!([n, 4 * n, 16 * n].contains(&w.len()), "a block holds side² · 1, 4 or 16 weight texels");
        }
        Self { pos, side, heights, mask, weights, planes: BlockPlanes::default() }
    }

    /// The same block with planes.
    ///
    /// # Panics
    /// When a plane does not cover the block.
    #[must_use]
    pub fn with_planes(self, planes: BlockPlanes) -> Self {
        let n = (self.side.samples() * self.side.samples()) as usize;
        for (kind, values) in planes.all() {
            let whole = match kind.lattice() {
                Lattice::Paint => [n, 4 * n, 16 * n].contains(&values.len()),
                Lattice::Cells | Lattice::Samples => values.len() == n * kind.bytes(),
            };
            assert!(whole, "a block's {} cover it", kind.name());
        }
        Self { planes, ..self }
    }

    /// Its planes.
    pub fn planes(&self) -> &BlockPlanes {
        &self.planes
    }

    /// Where it is.
    pub fn pos(&self) -> BlockPos {
        self.pos
    }

    /// Samples a side.
    pub fn side(&self) -> BlockSide {
        self.side
    }

    /// Raw quanta, X fastest; [`VOID`] where there is no sample.
    pub fn heights(&self) -> &[i32] {
        &self.heights
    }

    /// Two bits a cell, one byte each, X fastest.
    pub fn mask(&self) -> &[u8] {
        &self.mask
    }

    /// HD weight texels, X fastest, if the terrain has weights.
    pub fn weights(&self) -> Option<&Arc<[HdTexel]>> {
        self.weights.as_ref()
    }

    /// Valid, or Empty when every triangle is removed.
    pub fn state(&self) -> DataState {
        if self.mask.iter().all(|&m| m == 0) { DataState::Empty } else { DataState::Valid }
    }

    /// Lowest and highest valid sample, in quanta; `None` when all are void.
    pub fn min_max(&self) -> Option<(i32, i32)> {
        let valid = || self.heights.iter().copied().filter(|&q| q != VOID);
        Some((valid().min()?, valid().max()?))
    }

    /// Bytes held in memory.
    pub fn bytes(&self) -> usize {
        std::mem::size_of::<Self>()
            + self.heights.len() * 4
            + self.mask.len()
            + self.weights.as_ref().map_or(0, |w| w.len() * std::mem::size_of::<HdTexel>())
            + self.planes.bytes()
    }
}
