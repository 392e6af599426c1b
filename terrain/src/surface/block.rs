//! One block of decoded data, as read from a store, before it has neighbours.

use super::{BlockPlanes, Tile};
use crate::content::Lattice;
use crate::coord::{BlockPos, BlockSide, CellPos, SamplePos};
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
    /// The mask without what physical holes remove; absent where they remove nothing.
    solid: Option<Box<[u8]>>,
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
        Self { pos, side, heights, mask, solid: None, weights, planes: BlockPlanes::default() }
    }

    /// The block that a tile shows: its own samples and what there is of its own cells' surface. Where the tile has no
    /// weights or planes loaded, those of `older`, the block that it was made of before it was changed.
    pub fn of_tile(tile: &Tile, older: &Self) -> Self {
        let (first, n) = (tile.side().first_sample(tile.pos()), tile.side().samples());
        let places = || (first.z..first.z + n).flat_map(|z| (first.x..first.x + n).map(move |x| (x, z)));
        Self {
            pos: tile.pos(),
            side: tile.side(),
            heights: places().map(|(x, z)| tile.quanta(SamplePos::new(x, z))).collect(),
            mask: places().map(|(x, z)| tile.cell_mask(CellPos::new(x, z))).collect(),
            solid: None,
            weights: tile.weights().or(older.weights.as_ref()).cloned(),
            planes: tile.planes().over(&older.planes),
        }
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

    /// The same block without the triangles that physical holes remove: `side²` bytes, X fastest, of which a set bit
    /// removes. What is visible stays so, but is no surface.
    ///
    /// # Panics
    /// When the length is wrong.
    #[must_use]
    pub fn with_physical_holes(self, removed: &[u8]) -> Self {
        assert_eq!(removed.len(), self.mask.len(), "physical holes cover the block");
        let solid: Box<[u8]> = self.mask.iter().zip(removed).map(|(mask, removed)| mask & !removed).collect();
        Self { solid: (solid != self.mask).then_some(solid), ..self }
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

    /// Visibility: two bits a cell, one byte each, X fastest.
    pub fn mask(&self) -> &[u8] {
        &self.mask
    }

    /// What there is of the surface, as [`Block::mask`]: triangles that neither visibility nor physical holes remove.
    pub fn solid(&self) -> &[u8] {
        self.solid.as_deref().unwrap_or(&self.mask)
    }

    /// HD weight texels, X fastest, if the terrain has weights.
    pub fn weights(&self) -> Option<&Arc<[HdTexel]>> {
        self.weights.as_ref()
    }

    /// Valid, or Empty when no triangle is visible.
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
            + self.solid.as_ref().map_or(0, |s| s.len())
            + self.weights.as_ref().map_or(0, |w| w.len() * std::mem::size_of::<HdTexel>())
            + self.planes.bytes()
    }
}
