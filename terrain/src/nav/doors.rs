//! Doors: the cells of a sector that routes cross its borders at, and the distances between them inside the sector.
//!
//! Every stretch of open border has a door for each 16 cells begun, in the middle of equal parts, so no open cell of a
//! border is further than 8 cells from a door along its stretch. Both sides of a border find the same doors.

use super::rules::{DIAGONAL, STRAIGHT};
use super::sector::{CELLS, SIDE, View};
use arrayvec::ArrayVec;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// A border of 32 cells has at most 16 stretches.
const MAX_DOORS: usize = 4 * 16;
/// Cells of a stretch for each door.
const CELLS_A_DOOR: u32 = 16;

/// The eight directions: W, E, N, S, NW, NE, SW, SE.
pub(super) const WAYS: [(i32, i32); 8] =
    [(-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (1, -1), (-1, 1), (1, 1)];

/// What a step in a direction costs for each unit of price.
pub(super) const fn step_cost(way: usize) -> u64 {
    if way < 4 { STRAIGHT } else { DIAGONAL }
}

/// Directions that may be taken from the middle of three rows of three cells: bit n for way n. No corner is cut.
#[inline]
pub(super) const fn open_ways(north: u32, own: u32, south: u32) -> u32 {
    let (w, e, n, s) = (own & 1, own >> 2 & 1, north >> 1 & 1, south >> 1 & 1);
    let corners =
        (w & n & north) | (e & n & (north >> 2)) << 1 | (w & s & south) << 2 | (e & s & (south >> 2)) << 3;
    w | e << 1 | n << 2 | s << 3 | corners << 4
}

/// The three cells of a row around column `x`, bit 1 its own; beyond the row there is nothing.
#[inline]
pub(super) const fn three(row: u32, x: usize) -> u32 {
    ((row as u64) << 1 >> x) as u32 & 7
}

/// A cell that routes cross a border at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Door {
    pub(super) local: u16,
    /// Bit n: it leads in direction n, of the first four.
    pub(super) ways: u8,
}

/// Doors in cell order.
pub(super) type DoorList = ArrayVec<Door, MAX_DOORS>;

/// The doors of a sector whose neighbours' facing borders are given.
pub(super) fn find(own: View, facing: [u32; 4]) -> DoorList {
    let mut doors = DoorList::new();
    for (way, &other) in facing.iter().enumerate() {
        let mut open = own.border(way) & other;
        while open != 0 {
            let start = open.trailing_zeros();
            let length = (open >> start).trailing_ones();
            open &= !(((1u64 << length) - 1) << start) as u32;
            let count = length.div_ceil(CELLS_A_DOOR);
            for i in 0..count {
                let at = (start + (2 * i + 1) * length / (2 * count)) as usize;
                let local = match way {
                    0 => at * SIDE,
                    1 => at * SIDE + SIDE - 1,
                    2 => at,
                    _ => (SIDE - 1) * SIDE + at,
                } as u16;
                match doors.binary_search_by_key(&local, |d| d.local) {
                    Ok(known) => doors[known].ways |= 1 << way,
                    Err(place) => doors.insert(place, Door { local, ways: 1 << way }),
                }
            }
        }
    }
    doors
}

/// How many bytes of distances are kept, and how many may be. What is not kept is found again whenever it is asked for.
#[derive(Debug)]
pub(super) struct Meter {
    kept: AtomicUsize,
    budget: AtomicUsize,
    /// Whether something was not kept for want of room.
    full: AtomicBool,
}

impl Meter {
    pub(super) fn new(budget: usize) -> Self {
        Self { kept: AtomicUsize::new(0), budget: AtomicUsize::new(budget), full: AtomicBool::new(false) }
    }

    pub(super) fn kept(&self) -> usize {
        self.kept.load(Ordering::Relaxed)
    }

    pub(super) fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    pub(super) fn set_budget(&self, bytes: usize) {
        self.budget.store(bytes, Ordering::Relaxed);
        self.full.store(self.kept() > bytes, Ordering::Relaxed);
    }

    pub(super) fn has_room_again(&self) {
        self.full.store(false, Ordering::Relaxed);
    }

    /// Takes room, or says that there is none.
    fn take(&self, bytes: usize) -> bool {
        let budget = self.budget.load(Ordering::Relaxed);
        let more = |kept: usize| (kept + bytes <= budget).then_some(kept + bytes);
        let taken = self.kept.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok();
        if !taken {
            self.full.store(true, Ordering::Relaxed);
        }
        taken
    }

    fn give_back(&self, bytes: usize) {
        self.kept.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// The doors of a sector of a resident block, and the distances between them as far as anybody asked and there is room.
#[derive(Debug)]
pub(super) struct Doors {
    meter: Arc<Meter>,
    pub(super) list: Box<[Door]>,
    rows: Box<[OnceLock<Box<[u64]>>]>,
}

impl Doors {
    pub(super) fn new(list: &DoorList, meter: Arc<Meter>) -> Self {
        Self { meter, list: list.as_slice().into(), rows: list.iter().map(|_| OnceLock::new()).collect() }
    }

    /// Distances from a door to every door; [`u64::MAX`] where there is no way inside the sector.
    pub(super) fn each_distance(
        &self,
        door: usize,
        view: View,
        least: u8,
        flood: &mut Flood,
        mut f: impl FnMut(usize, u64),
    ) {
        if let Some(row) = self.rows[door].get() {
            self.list.iter().zip(row).for_each(|(d, &distance)| f(usize::from(d.local), distance));
            return;
        }
        flood.run(view, least, usize::from(self.list[door].local));
        if self.meter.take(self.row_bytes()) {
            let row = self.list.iter().map(|d| flood.distance(usize::from(d.local))).collect();
            // Another search may have kept it meanwhile: the same numbers.
            if self.rows[door].set(row).is_err() {
                self.meter.give_back(self.row_bytes());
            }
        }
        self.list.iter().for_each(|d| f(usize::from(d.local), flood.distance(usize::from(d.local))));
    }

    fn row_bytes(&self) -> usize {
        self.list.len() * size_of::<u64>()
    }

    fn rows_kept(&self) -> usize {
        self.rows.iter().filter(|r| r.get().is_some()).count()
    }

    pub(super) fn bytes(&self) -> usize {
        let lists = self.list.len() * (size_of::<Door>() + size_of::<OnceLock<Box<[u64]>>>());
        lists + self.rows_kept() * self.row_bytes()
    }
}

impl Drop for Doors {
    fn drop(&mut self) {
        self.meter.give_back(self.rows_kept() * self.row_bytes());
    }
}

/// Exact distances inside one sector, and the room to find them in.
#[derive(Debug)]
pub(super) struct Flood {
    distance: Box<[u64; CELLS]>,
    open: BinaryHeap<Reverse<(u64, u16)>>,
}

impl Flood {
    pub(super) fn new() -> Self {
        Self { distance: Box::new([u64::MAX; CELLS]), open: BinaryHeap::new() }
    }

    /// The distance found last; [`u64::MAX`] where there is none.
    pub(super) fn distance(&self, local: usize) -> u64 {
        self.distance[local]
    }

    /// Dijkstra from a cell that is open, inside its sector.
    pub(super) fn run(&mut self, view: View, least: u8, from: usize) {
        self.distance.fill(u64::MAX);
        self.distance[from] = 0;
        self.open.clear();
        self.open.push(Reverse((0, from as u16)));
        while let Some(Reverse((cost, at))) = self.open.pop() {
            let at = usize::from(at);
            if cost != self.distance[at] {
                continue;
            }
            let (x, z) = (at % SIDE, at / SIDE);
            let north = if z > 0 { view.row(z - 1) } else { 0 };
            let south = if z + 1 < SIDE { view.row(z + 1) } else { 0 };
            let mut ways = open_ways(three(north, x), three(view.row(z), x), three(south, x));
            let price = view.price(at, least);
            while ways != 0 {
                let way = ways.trailing_zeros() as usize;
                ways &= ways - 1;
                let (dx, dz) = WAYS[way];
                let next = (at as i32 + dz * SIDE as i32 + dx) as usize;
                let mut both = price + view.price(next, least);
                if dx != 0 && dz != 0 {
                    // A diagonal leads between two more cells, which may be unknown too.
                    let beside = (at as i32 + dx) as usize;
                    both +=
                        view.is_unknown(beside) + view.is_unknown((at as i32 + dz * SIDE as i32) as usize);
                }
                let reached = cost + both * step_cost(way);
                if reached < self.distance[next] {
                    self.distance[next] = reached;
                    self.open.push(Reverse((reached, next as u16)));
                }
            }
        }
    }
}

/// The distance between two cells of a sector of an absent block: nothing is in the way of what is unknown.
pub(super) fn absent_distance(a: usize, b: usize, least: u8) -> u64 {
    let dx = (a % SIDE).abs_diff(b % SIDE) as u64;
    let dz = (a / SIDE).abs_diff(b / SIDE) as u64;
    // With the cells beside diagonals.
    octile(dx, dz) * 2 * View::Absent { columns: 0, rows: 0 }.price(0, least) + 2 * DIAGONAL * dx.min(dz)
}

/// The cost of a way over even ground, for each unit of price.
#[inline]
pub(super) const fn octile(dx: u64, dz: u64) -> u64 {
    let (short, long) = if dx < dz { (dx, dz) } else { (dz, dx) };
    STRAIGHT * (long - short) + DIAGONAL * short
}
