//! The exact search: A* over cells, in a whole region or in a corridor of sectors.

use super::doors::{WAYS, octile, open_ways, step_cost, three};
use super::pages::{Open, Pages, START, WAY};
use super::region::Region;
use super::rules::UNKNOWN_BITS;
use super::sector::{SIDE, SectorPos, View, local};
use crate::coord::CellPos;

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The goal was reached at this cost, unknown steps in its low bits.
    Way(u64),
    /// It cannot be reached.
    None,
    /// The budget did not suffice.
    Exhausted,
}

/// What a search may use up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) settled: u32,
    pub(super) sectors: usize,
    /// Ways this dear are not followed: their steps could not be counted.
    pub(super) cost: u64,
}

impl Limits {
    pub(super) fn of(region: &Region) -> Self {
        let budget = region.nav.rules().budget;
        Self {
            settled: budget.max_settled,
            sectors: budget.max_sectors as usize,
            // A step counts at most twice its least cost as unknown.
            cost: u64::from(region.least) << (2 * UNKNOWN_BITS - 1),
        }
    }
}

/// What is left to the goal at the very least.
#[inline]
pub(super) fn least_left(region: &Region, cell: CellPos, to: CellPos) -> u64 {
    let (dx, dz) = (cell.x.abs_diff(to.x), cell.z.abs_diff(to.z));
    octile(u64::from(dx), u64::from(dz)) * 2 * (u64::from(region.least) << UNKNOWN_BITS)
}

/// The cheapest way between two open cells. What was reached stays in `pages`.
pub(super) fn search(region: &Region, pages: &mut Pages, from: CellPos, to: CellPos) -> Found {
    let limits = Limits::of(region);
    pages.clear();
    let page = pages.page(SectorPos::of(from));
    pages.reach(SectorPos::of(from), page, local(from), 0, START);
    let left = least_left(region, from, to);
    pages.push(Open { total: left, left, z: from.z, x: from.x });
    let mut too_dear = false;
    while let Some(open) = pages.pop() {
        let cell = CellPos::new(open.x, open.z);
        let pos = SectorPos::of(cell);
        let page = pages.page(pos);
        let cost = open.total - open.left;
        if cost != pages.reached(page, local(cell)) {
            continue;
        }
        if cell == to {
            return Found::Way(cost);
        }
        if pages.settled >= limits.settled || pages.sectors() > limits.sectors {
            return Found::Exhausted;
        }
        pages.settled += 1;
        too_dear |= expand(region, pages, (pos, page), cell, cost, to, limits.cost);
    }
    if too_dear { Found::Exhausted } else { Found::None }
}

/// Reaches the neighbours of a settled cell. Whether one was too dear to follow.
fn expand(
    region: &Region,
    pages: &mut Pages,
    (pos, page): (SectorPos, usize),
    cell: CellPos,
    cost: u64,
    to: CellPos,
    most: u64,
) -> bool {
    let view = region.view(pos);
    let at = local(cell);
    let (x, z) = (at % SIDE, at / SIDE);
    let inside = (1..SIDE - 1).contains(&x) && (1..SIDE - 1).contains(&z);
    let mut ways = if inside {
        open_ways(three(view.row(z - 1), x), three(view.row(z), x), three(view.row(z + 1), x))
    } else {
        let row = |dz: i32| {
            (-1..=1).fold(0, |bits, dx| {
                let open = region.is_open(CellPos::new(cell.x + dx, cell.z + dz));
                bits | u32::from(open) << (dx + 1)
            })
        };
        open_ways(row(-1), row(0), row(1))
    };
    let price = view.price(at, region.least);
    let mut too_dear = false;
    while ways != 0 {
        let way = ways.trailing_zeros() as usize;
        ways &= ways - 1;
        let (dx, dz) = WAYS[way];
        let next = CellPos::new(cell.x + dx, cell.z + dz);
        let next_pos = SectorPos::of(next);
        let (next_view, next_page): (View, usize) =
            if next_pos == pos { (view, page) } else { (region.view(next_pos), pages.page(next_pos)) };
        let mut both = price + next_view.price(local(next), region.least);
        if region.unknown && dx != 0 && dz != 0 {
            // A diagonal leads between two more cells, which may be unknown too.
            for beside in [CellPos::new(next.x, cell.z), CellPos::new(cell.x, next.z)] {
                let beside_view = if inside { view } else { region.view(SectorPos::of(beside)) };
                both += beside_view.is_unknown(local(beside));
            }
        }
        let reached = cost + both * step_cost(way);
        if reached >= most {
            too_dear = true;
            continue;
        }
        if pages.reach(next_pos, next_page, local(next), reached, WAY + way as u16) {
            let left = least_left(region, next, to);
            pages.push(Open { total: reached + left, left, z: next.z, x: next.x });
        }
    }
    too_dear
}
