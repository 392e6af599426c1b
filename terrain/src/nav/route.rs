//! The search over doors: which sectors a way goes through.

use super::cells::{Found, Limits, least_left};
use super::doors::{Flood, WAYS, step_cost};
use super::pages::{Open, Pages, START, Table, WAY};
use super::region::Region;
use super::sector::{SectorPos, local};
use crate::coord::CellPos;

/// The room of a search over doors.
#[derive(Debug)]
pub(super) struct Route {
    /// Distances from the start in its sector.
    start: Flood,
    /// Distances to the goal in its sector.
    goal: Flood,
    /// For distances between doors that nobody asked for before.
    flood: Flood,
}

impl Route {
    pub(super) fn new() -> Self {
        Self { start: Flood::new(), goal: Flood::new(), flood: Flood::new() }
    }

    /// The cheapest way over doors between two open cells; its sectors go into `corridor`.
    pub(super) fn search(
        &mut self,
        region: &Region,
        pages: &mut Pages,
        from: CellPos,
        to: CellPos,
        corridor: &mut Table,
    ) -> Found {
        let found = self.settle(region, pages, from, to);
        corridor.clear();
        if matches!(found, Found::Way(_)) {
            let mut cell = Some(to);
            while let Some(at) = cell {
                let pos = SectorPos::of(at);
                if corridor.get(pos).is_none() {
                    corridor.insert(pos, 0);
                }
                cell = pages.before(at);
            }
        }
        found
    }

    fn settle(&mut self, region: &Region, pages: &mut Pages, from: CellPos, to: CellPos) -> Found {
        let limits = Limits::of(region);
        let (first, last) = (SectorPos::of(from), SectorPos::of(to));
        self.start.run(region.view(first), region.least, local(from));
        self.goal.run(region.view(last), region.least, local(to));
        pages.clear();
        let mut too_dear = false;
        let mut reach = |pages: &mut Pages, cell: CellPos, cost: u64, code: u16| {
            if cost >= limits.cost {
                // No way inside the sector is no way at all; one that cannot be counted is another matter.
                too_dear |= cost != u64::MAX;
                return;
            }
            let pos = SectorPos::of(cell);
            let page = pages.page(pos);
            if pages.reach(pos, page, local(cell), cost, code) {
                let left = least_left(region, cell, to);
                pages.push(Open { total: cost + left, left, z: cell.z, x: cell.x });
            }
        };
        reach(pages, from, 0, START);
        while let Some(open) = pages.pop() {
            let cell = CellPos::new(open.x, open.z);
            let pos = SectorPos::of(cell);
            let page = pages.page(pos);
            let (at, cost) = (local(cell), open.total - open.left);
            if cost != pages.reached(page, at) {
                continue;
            }
            if cell == to {
                return Found::Way(cost);
            }
            if pages.settled >= limits.settled || pages.sectors() > limits.sectors {
                return Found::Exhausted;
            }
            pages.settled += 1;
            let doors = region.doors(pos);
            let mut inside = |pages: &mut Pages, to: usize, distance: u64| {
                if distance > 0 {
                    reach(pages, pos.cell(to), cost.saturating_add(distance), at as u16);
                }
            };
            if pos == last {
                inside(pages, local(to), self.goal.distance(at));
            }
            if cell == from {
                for door in doors.list() {
                    let to = usize::from(door.local);
                    inside(pages, to, self.start.distance(to));
                }
            }
            let Ok(door) = doors.list().binary_search_by_key(&(at as u16), |d| d.local) else { continue };
            if cell != from {
                region.each_distance(pos, &doors, door, &mut self.flood, |to, d| inside(pages, to, d));
            }
            let price = region.view(pos).price(at, region.least);
            for way in (0..4).filter(|way| doors.list()[door].ways >> way & 1 != 0) {
                let (dx, dz) = WAYS[way];
                let next = CellPos::new(cell.x + dx, cell.z + dz);
                let view = region.view(SectorPos::of(next));
                if view.is_open(local(next)) {
                    let step = (price + view.price(local(next), region.least)) * step_cost(way);
                    reach(pages, next, cost + step, WAY + way as u16);
                }
            }
        }
        if too_dear { Found::Exhausted } else { Found::None }
    }
}
