//! A page of the resident ground: 16 × 16 blocks with the ranges of heights over them, so that a ray passes over many
//! blocks at once.

use super::{Slot, Tile};
use std::sync::Arc;

pub(super) const PAGE_LOG2: u32 = 4;
pub(super) const PAGE: usize = 1 << PAGE_LOG2;

/// No surface.
pub(crate) const NOTHING: [i32; 2] = [i32::MAX, i32::MIN];
/// Any surface.
pub(crate) const ANYTHING: [i32; 2] = [i32::MIN, i32::MAX];

/// 256 + 64 + 16 + 4 + 1 ranges.
const RANGES: usize = 341;

#[derive(Clone, Debug)]
pub(crate) struct Page {
    slots: [Slot; PAGE * PAGE],
    /// Lowest and highest of blocks, of squares of 2, 4, 8 and 16 blocks; row by row.
    ranges: [[i32; 2]; RANGES],
}

impl Page {
    /// A page whose blocks are absent where `on_map`, and beyond the map elsewhere.
    pub(super) fn new(on_map: impl Fn(usize, usize) -> bool) -> Self {
        let range = |i: usize| if on_map(i % PAGE, i / PAGE) { ANYTHING } else { NOTHING };
        let mut ranges = [NOTHING; RANGES];
        ranges.iter_mut().take(PAGE * PAGE).enumerate().for_each(|(i, r)| *r = range(i));
        let mut page = Self { slots: std::array::from_fn(|_| Slot::Absent), ranges };
        for z in (0..PAGE).step_by(2) {
            for x in (0..PAGE).step_by(2) {
                page.update(x, z);
            }
        }
        page
    }

    #[inline(always)]
    pub(super) fn slot(&self, index: usize) -> &Slot {
        &self.slots[index]
    }

    pub(super) fn replace(&mut self, index: usize, slot: Slot) -> Slot {
        self.ranges[index] = match &slot {
            Slot::Absent | Slot::Failed => ANYTHING,
            Slot::Resident(tile) => of_tile(tile),
        };
        let old = std::mem::replace(&mut self.slots[index], slot);
        self.update(index % PAGE, index / PAGE);
        old
    }

    /// Makes the ranges over a block anew.
    fn update(&mut self, x: usize, z: usize) {
        for level in 1..=PAGE_LOG2 {
            let finer = start(level - 1);
            let across = PAGE >> (level - 1);
            let (x, z) = (x >> level, z >> level);
            let mut joined = NOTHING;
            for i in [0, 1, across, across + 1] {
                let [lo, hi] = self.ranges[finer + 2 * z * across + 2 * x + i];
                joined = [joined[0].min(lo), joined[1].max(hi)];
            }
            self.ranges[start(level) + z * (across / 2) + x] = joined;
        }
    }

    /// The range of a square of 2^`level` blocks, counted in such squares from the page's first; in quanta.
    #[inline(always)]
    pub(super) fn range(&self, level: u32, x: usize, z: usize) -> [i32; 2] {
        self.ranges[start(level) + z * (PAGE >> level) + x]
    }
}

fn of_tile(tile: &Arc<Tile>) -> [i32; 2] {
    tile.min_max().map_or(NOTHING, |(lo, hi)| [lo, hi])
}

#[inline(always)]
fn start(level: u32) -> usize {
    (4 * PAGE * PAGE - ((4 * PAGE * PAGE) >> (2 * level))) / 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_stand_one_after_another() {
        assert_eq!([0, 1, 2, 3, 4].map(start), [0, 256, 320, 336, 340]);
    }

    #[test]
    fn what_is_absent_may_be_anything_and_beyond_the_map_is_nothing() {
        let page = Page::new(|x, z| x < 3 && z < 5);
        assert_eq!(page.range(4, 0, 0), ANYTHING);
        assert_eq!(page.range(2, 0, 1), ANYTHING);
        assert_eq!((page.range(1, 2, 0), page.range(3, 1, 1)), (NOTHING, NOTHING));
        assert_eq!(page.range(0, 2, 4), ANYTHING);
        assert_eq!(page.range(0, 3, 4), NOTHING);
    }
}
