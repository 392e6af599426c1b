//! The room of a search: what each touched cell was reached at and from, a page a sector, and what is open.
//!
//! Owns the memory of a search and keeps it for the next one. Never looks at the ground.

use super::doors::WAYS;
use super::sector::{CELLS, SectorPos, local};
use crate::coord::CellPos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Reached from nowhere: the start.
pub(super) const START: u16 = u16::MAX;
/// Codes from here on are directions, below it cells of the same sector.
pub(super) const WAY: u16 = CELLS as u16;

/// Numbers by sector: open addressing, never iterated.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// A sector's key and number, and the turn that wrote them.
    slots: Vec<(u64, u32, u32)>,
    turn: u32,
    len: usize,
}

impl Table {
    pub(super) fn clear(&mut self) {
        self.len = 0;
        self.turn = self.turn.wrapping_add(1);
        if self.turn == 0 {
            self.slots.fill((0, 0, 0));
            self.turn = 1;
        }
    }

    fn key(pos: SectorPos) -> u64 {
        u64::from(pos.z as u32) << 32 | u64::from(pos.x as u32)
    }

    /// The slot that holds a key or would.
    #[inline]
    fn slot(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        while self.slots[at].2 == self.turn && self.slots[at].0 != key {
            at = (at + 1) & mask;
        }
        at
    }

    #[inline]
    pub(super) fn get(&self, pos: SectorPos) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let slot = self.slots[self.slot(Self::key(pos))];
        (slot.2 == self.turn).then_some(slot.1)
    }

    /// Adds a sector that is not there.
    pub(super) fn insert(&mut self, pos: SectorPos, number: u32) {
        if (self.len + 1) * 2 > self.slots.len() {
            let grown = (self.slots.len() * 2).max(64);
            let old = std::mem::replace(&mut self.slots, vec![(0, 0, 0); grown]);
            self.turn = self.turn.max(1);
            for (key, number, _) in old.into_iter().filter(|s| s.2 == self.turn) {
                let at = self.slot(key);
                self.slots[at] = (key, number, self.turn);
            }
        }
        let at = self.slot(Self::key(pos));
        self.slots[at] = (Self::key(pos), number, self.turn);
        self.len += 1;
    }
}

#[derive(Debug)]
struct Page {
    reached: [u64; CELLS],
    from: [u16; CELLS],
}

/// A cell on the way: ordered by the cost of the way through it, then by what is left, then by z and x.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Open {
    pub(super) total: u64,
    pub(super) left: u64,
    pub(super) z: i32,
    pub(super) x: i32,
}

/// What a search has reached.
#[derive(Debug, Default)]
pub(super) struct Pages {
    table: Table,
    pages: Vec<Box<Page>>,
    used: usize,
    open: BinaryHeap<Reverse<Open>>,
    pub(super) settled: u32,
}

impl Pages {
    /// Forgets everything but how many cells were settled.
    pub(super) fn clear(&mut self) {
        self.table.clear();
        self.used = 0;
        self.open.clear();
    }

    pub(super) fn sectors(&self) -> usize {
        self.used
    }

    /// The page of a sector; a new one where there is none.
    #[inline]
    pub(super) fn page(&mut self, pos: SectorPos) -> usize {
        if let Some(page) = self.table.get(pos) {
            return page as usize;
        }
        let page = self.used;
        if page == self.pages.len() {
            self.pages.push(Box::new(Page { reached: [0; CELLS], from: [0; CELLS] }));
        }
        self.pages[page].reached.fill(u64::MAX);
        self.table.insert(pos, page as u32);
        self.used += 1;
        page
    }

    #[inline]
    pub(super) fn reached(&self, page: usize, local: usize) -> u64 {
        self.pages[page].reached[local]
    }

    /// Notes a way to a cell if it is cheaper than what is known, or as cheap and from a smaller (z, x). Whether it is
    /// cheaper.
    #[inline]
    pub(super) fn reach(&mut self, pos: SectorPos, page: usize, local: usize, cost: u64, from: u16) -> bool {
        let p = &mut self.pages[page];
        if cost < p.reached[local] {
            (p.reached[local], p.from[local]) = (cost, from);
            return true;
        }
        if cost == p.reached[local] && p.from[local] != START {
            let at = pos.cell(local);
            let (old, new) = (origin(at, p.from[local]), origin(at, from));
            if (new.z, new.x) < (old.z, old.x) {
                p.from[local] = from;
            }
        }
        false
    }

    pub(super) fn push(&mut self, open: Open) {
        self.open.push(Reverse(open));
    }

    pub(super) fn pop(&mut self) -> Option<Open> {
        self.open.pop().map(|Reverse(open)| open)
    }

    /// Where a reached cell was reached from; `None` for the start.
    pub(super) fn before(&self, cell: CellPos) -> Option<CellPos> {
        let page = self.table.get(SectorPos::of(cell))? as usize;
        let from = self.pages[page].from[local(cell)];
        (from != START).then(|| origin(cell, from))
    }
}

/// The cell that a code stands for.
fn origin(cell: CellPos, from: u16) -> CellPos {
    if from >= WAY {
        // The code is the direction that was walked in.
        let (dx, dz) = WAYS[usize::from(from - WAY)];
        CellPos::new(cell.x - dx, cell.z - dz)
    } else {
        SectorPos::of(cell).cell(usize::from(from))
    }
}
