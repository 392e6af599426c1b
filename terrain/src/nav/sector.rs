//! A sector: 32×32 cells of one agent, one word a row.

use super::rules::UNKNOWN_BITS;
use crate::coord::{CellPos, CellRect};

/// Cells a side of a sector: the smallest block, so that no sector lies in two.
pub const SECTOR_CELLS: i32 = 32;
pub(super) const SIDE: usize = SECTOR_CELLS as usize;
/// Cells of a sector.
pub(super) const CELLS: usize = SIDE * SIDE;
pub(super) const LOG2: u32 = SECTOR_CELLS.trailing_zeros();

/// A sector's place, in sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SectorPos {
    pub(super) x: i32,
    pub(super) z: i32,
}

impl SectorPos {
    pub(super) const fn of(c: CellPos) -> Self {
        Self { x: c.x >> LOG2, z: c.z >> LOG2 }
    }

    pub(super) const fn first(self) -> CellPos {
        CellPos::new(self.x << LOG2, self.z << LOG2)
    }

    /// The cell with a number of its own, row by row.
    pub(super) const fn cell(self, local: usize) -> CellPos {
        let first = self.first();
        CellPos::new(first.x + (local % SIDE) as i32, first.z + (local / SIDE) as i32)
    }

    pub(super) const fn rect(self) -> CellRect {
        let f = self.first();
        CellRect { x0: f.x, z0: f.z, x1: f.x + SECTOR_CELLS, z1: f.z + SECTOR_CELLS }
    }

    /// The sector's neighbour: west, east, north or south.
    pub(super) const fn beside(self, way: usize) -> Self {
        match way {
            0 => Self { x: self.x - 1, z: self.z },
            1 => Self { x: self.x + 1, z: self.z },
            2 => Self { x: self.x, z: self.z - 1 },
            _ => Self { x: self.x, z: self.z + 1 },
        }
    }
}

/// A cell's number in its sector, row by row.
pub(super) const fn local(c: CellPos) -> usize {
    ((c.z & (SECTOR_CELLS - 1)) * SECTOR_CELLS + (c.x & (SECTOR_CELLS - 1))) as usize
}

/// A bit a cell.
pub(super) type Bits = [u32; SIDE];

pub(super) const fn bit(bits: &Bits, local: usize) -> bool {
    bits[local / SIDE] >> (local % SIDE) & 1 != 0
}

/// Weights of walkable cells, in sixteenths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Weights {
    Even(u8),
    Each(Box<[u8; CELLS]>),
}

/// What is known of a sector of a resident block. A cell is never both free and unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sector {
    pub(super) free: Bits,
    pub(super) unknown: Bits,
    /// Free cells that are flanks.
    pub(super) flank: Bits,
    pub(super) weights: Weights,
}

impl Sector {
    pub(super) fn weight(&self, local: usize) -> u8 {
        match &self.weights {
            Weights::Even(w) => *w,
            Weights::Each(each) => each[local],
        }
    }

    pub(super) fn bytes(&self) -> usize {
        std::mem::size_of::<Self>() + if matches!(self.weights, Weights::Each(_)) { CELLS } else { 0 }
    }
}

/// A sector as a search sees it.
#[derive(Clone, Copy, Debug)]
pub(super) enum View<'a> {
    /// Nothing to walk on: failed, beyond the map, or not to be searched.
    Shut,
    /// Of an absent block: these columns and rows lie in the extent, and all is unknown.
    Absent { columns: u32, rows: u32 },
    /// Of a resident block, and whether its unknown cells count.
    Known { sector: &'a Sector, unknown: bool },
}

impl View<'_> {
    /// A row's cells that may be walked on.
    #[inline]
    pub(super) fn row(self, z: usize) -> u32 {
        match self {
            View::Shut => 0,
            View::Absent { columns, rows } => columns & (rows >> z & 1).wrapping_neg(),
            View::Known { sector, unknown } => sector.free[z] | if unknown { sector.unknown[z] } else { 0 },
        }
    }

    /// The outermost cells of a side, as bits along it: west, east, north or south.
    pub(super) fn border(self, way: usize) -> u32 {
        let column = |x: usize| (0..SIDE).fold(0, |bits, z| bits | (self.row(z) >> x & 1) << z);
        match way {
            0 => column(0),
            1 => column(SIDE - 1),
            2 => self.row(0),
            _ => self.row(SIDE - 1),
        }
    }

    #[inline]
    pub(super) fn is_open(self, local: usize) -> bool {
        self.row(local / SIDE) >> (local % SIDE) & 1 != 0
    }

    /// What entering or leaving an open cell costs for each unit of a move: its weight, and below it whether it is
    /// unknown.
    #[inline]
    pub(super) fn price(self, local: usize, least: u8) -> u64 {
        match self {
            View::Known { sector, .. } if bit(&sector.free, local) => {
                u64::from(sector.weight(local)) << UNKNOWN_BITS
            }
            _ => u64::from(least) << UNKNOWN_BITS | 1,
        }
    }

    /// 1 for an open cell that is unknown, else 0.
    #[inline]
    pub(super) fn is_unknown(self, local: usize) -> u64 {
        match self {
            View::Shut | View::Known { unknown: false, .. } => 0,
            View::Absent { .. } => 1,
            View::Known { sector, .. } => u64::from(bit(&sector.unknown, local)),
        }
    }
}
