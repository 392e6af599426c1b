//! What one search may walk on: the navigation data of one agent, cut to the asked region and perhaps to a corridor.

use super::doors::{self, Door, DoorList, Doors, Flood, absent_distance};
use super::map::{Entry, Nav};
use super::pages::Table;
use super::sector::{SECTOR_CELLS, SectorPos, View};
use crate::coord::{CellPos, CellRect};

/// A region to search in.
#[derive(Clone, Copy)]
pub(super) struct Region<'a> {
    pub(super) nav: &'a Nav,
    pub(super) agent: usize,
    /// Whether unknown cells may be walked on.
    pub(super) unknown: bool,
    /// Sectors, half open.
    pub(super) bounds: CellRect,
    /// Only these sectors, if there are such.
    pub(super) corridor: Option<&'a Table>,
    pub(super) least: u8,
}

/// Doors that stand in the navigation data, or those of an absent sector, made for the moment.
#[expect(clippy::large_enum_variant, reason = "it lives on the stack for one step; a box would allocate")]
pub(super) enum FoundDoors<'a> {
    Kept(&'a Doors),
    Made(DoorList),
}

impl FoundDoors<'_> {
    pub(super) fn list(&self) -> &[Door] {
        match self {
            FoundDoors::Kept(doors) => &doors.list,
            FoundDoors::Made(list) => list,
        }
    }
}

impl<'a> Region<'a> {
    /// The region of all sectors that a rectangle of cells touches; everywhere without one.
    pub(super) fn new(nav: &'a Nav, agent: usize, unknown: bool, within: Option<CellRect>) -> Self {
        let e = nav.config().extent;
        let r = within.unwrap_or(e);
        let up = |v: i32| v.saturating_add(SECTOR_CELLS - 1) / SECTOR_CELLS;
        let bounds = CellRect {
            x0: r.x0.max(e.x0) / SECTOR_CELLS,
            z0: r.z0.max(e.z0) / SECTOR_CELLS,
            x1: up(r.x1.clamp(0, e.x1)),
            z1: up(r.z1.clamp(0, e.z1)),
        };
        Self { nav, agent, unknown, bounds, corridor: None, least: nav.rules().least }
    }

    /// A sector as the search sees it.
    #[inline]
    pub(super) fn view(&self, pos: SectorPos) -> View<'a> {
        let shut = |table: &Table| table.get(pos).is_none();
        if !self.bounds.contains(CellPos::new(pos.x, pos.z)) || self.corridor.is_some_and(shut) {
            return View::Shut;
        }
        self.whole_view(pos)
    }

    /// The same, whatever the bounds.
    fn whole_view(&self, pos: SectorPos) -> View<'a> {
        match self.nav.entry(self.agent, pos) {
            Entry::Known { sector, .. } => View::Known { sector, unknown: self.unknown },
            Entry::Absent if self.unknown => {
                let (columns, rows) = self.nav.in_extent(pos);
                View::Absent { columns, rows }
            }
            _ => View::Shut,
        }
    }

    pub(super) fn is_open(&self, cell: CellPos) -> bool {
        self.view(SectorPos::of(cell)).is_open(super::sector::local(cell))
    }

    /// The doors of a sector. They do not depend on the bounds: what leads out of them is not followed.
    pub(super) fn doors(&self, pos: SectorPos) -> FoundDoors<'a> {
        let find = || {
            let facing: [u32; 4] =
                std::array::from_fn(|way| self.whole_view(pos.beside(way)).border([1, 0, 3, 2][way]));
            doors::find(self.whole_view(pos), facing)
        };
        match self.nav.entry(self.agent, pos) {
            Entry::Known { doors, .. } => FoundDoors::Kept(
                doors[usize::from(!self.unknown)].get_or_init(|| Doors::new(&find(), self.nav.meter())),
            ),
            _ => FoundDoors::Made(find()),
        }
    }

    /// The distance between two doors of a sector, inside it.
    pub(super) fn each_distance(
        &self,
        pos: SectorPos,
        doors: &FoundDoors,
        from: usize,
        flood: &mut Flood,
        mut f: impl FnMut(usize, u64),
    ) {
        match doors {
            FoundDoors::Kept(kept) => {
                kept.each_distance(from, self.whole_view(pos), self.least, flood, f);
            }
            FoundDoors::Made(list) => {
                let at = usize::from(list[from].local);
                for door in list {
                    let to = usize::from(door.local);
                    f(to, absent_distance(at, to, self.least));
                }
            }
        }
    }
}
