//! The walkable cells of a whole ground: an immutable snapshot that belongs to one version of it.
//!
//! A change makes a new snapshot that shares every sector it did not touch. Sectors are found by pages, as tiles are in
//! the ground itself.

use super::build;
use super::doors::{Doors, Meter};
use super::rules::NavRules;
use super::sector::{LOG2, SECTOR_CELLS, Sector, SectorPos, bit, local};
use crate::config::TerrainConfig;
use crate::coord::{BlockPos, BlockSide, CellPos, CellRect, LatticeError, LatticePos};
use crate::surface::{Ground, Slot};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

const PAGE_LOG2: i32 = 4;
const PAGE: usize = 1 << PAGE_LOG2;
/// So many sectors are built by one thread: fewer are not worth waking others for.
const FEW_SECTORS: usize = 64;

/// What is known of a cell for one kind of agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellState {
    /// The agent can stand at its centre.
    Walkable,
    /// It cannot.
    Blocked,
    /// A block that decides about it is absent.
    Unknown,
    /// Its block cannot be had.
    Failed,
    /// Beyond the valid extent.
    Outside,
}

/// Doors with the unknown cells counted as open, and without.
type DoorCache = Arc<[OnceLock<Doors>; 2]>;

#[derive(Clone, Debug, Default)]
pub(super) enum Entry {
    #[default]
    Absent,
    Failed,
    Known {
        sector: Arc<Sector>,
        doors: DoorCache,
    },
}

impl Entry {
    fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Entry::Absent, Entry::Absent) | (Entry::Failed, Entry::Failed) => true,
            (Entry::Known { sector: a, .. }, Entry::Known { sector: b, .. }) => a == b,
            _ => false,
        }
    }
}

/// How many bytes of distances between doors are kept, unless told otherwise.
const DISTANCE_BUDGET_BYTES: usize = 64 << 20;

type Page = [Entry; PAGE * PAGE];

/// The walkable cells of every kind of agent on one version of the ground.
#[derive(Clone, Debug)]
pub struct Nav {
    rules: Arc<NavRules>,
    terrain: TerrainConfig,
    side: BlockSide,
    version: u64,
    pages_x: usize,
    agents: Vec<Vec<Option<Arc<Page>>>>,
    /// Shared by all versions that come from one another.
    meter: Arc<Meter>,
}

impl Nav {
    /// The navigation data of all resident ground.
    pub fn of(ground: &Ground, rules: &Arc<NavRules>) -> Self {
        let [w, h] = build::sectors(ground.config()).map(|n| (n as usize).div_ceil(PAGE));
        let empty = Self {
            rules: rules.clone(),
            terrain: *ground.config(),
            side: ground.side(),
            version: 0,
            pages_x: w,
            agents: rules.agents.iter().map(|_| vec![None; w * h]).collect(),
            meter: Arc::new(Meter::new(DISTANCE_BUDGET_BYTES)),
        };
        // Only where something is: an empty ground may be very large.
        let side = ground.side();
        let [w, h] = ground.config().blocks(side).map(|n| n as i32);
        let blocks = (0..h).flat_map(|z| (0..w).map(move |x| BlockPos::new(x, z)));
        let there = blocks.filter(|&pos| !matches!(ground.slot(pos), Slot::Absent));
        let rects: Vec<CellRect> = there
            .map(|pos| {
                let (f, n) = (side.first_sample(pos), side.samples());
                CellRect { x0: f.x, z0: f.z, x1: f.x + n, z1: f.z + n }
            })
            .collect();
        empty.updated(ground, &rects)
    }

    /// The navigation data of another version of the ground, where only cells of the `changed` rectangles differ: in
    /// their samples, masks, paint or whether their block is there. Exactly what [`Nav::of`] gives for it.
    ///
    /// # Panics
    /// When the ground is of another terrain.
    #[must_use]
    pub fn updated(&self, ground: &Ground, changed: &[CellRect]) -> Self {
        assert!(
            self.terrain == *ground.config() && self.side == ground.side(),
            "navigation data follows one terrain"
        );
        let mut next = self.clone();
        next.version = ground.version();
        if next.meter.is_full() {
            next.forget_distances();
        }
        for agent in 0..self.rules.agents.len() {
            let touched = self.touched(agent, changed);
            let make = |&(z, x): &(i32, i32)| {
                let pos = SectorPos { x, z };
                (pos, made(ground, &self.rules, agent, pos))
            };
            let made: Vec<(SectorPos, Entry)> = if touched.len() > FEW_SECTORS {
                touched.par_iter().map(make).collect()
            } else {
                touched.iter().map(make).collect()
            };
            let differ: Vec<_> =
                made.into_iter().filter(|(pos, entry)| !entry.same(self.entry(agent, *pos))).collect();
            for (pos, entry) in &differ {
                next.set(agent, *pos, entry.clone());
            }
            // Doors stand where both sides of a border are open.
            for (pos, _) in &differ {
                for way in 0..4 {
                    next.forget_doors(agent, pos.beside(way));
                }
            }
        }
        next
    }

    /// The sectors that a change of these cells may change, in order.
    fn touched(&self, agent: usize, changed: &[CellRect]) -> Vec<(i32, i32)> {
        let reach = self.rules.agents[agent].reach();
        let e = self.terrain.extent;
        let mut touched = BTreeSet::new();
        for rect in changed {
            let (x0, x1) = (rect.x0.saturating_sub(reach).max(e.x0), rect.x1.saturating_add(reach).min(e.x1));
            let (z0, z1) = (rect.z0.saturating_sub(reach).max(e.z0), rect.z1.saturating_add(reach).min(e.z1));
            if rect.is_empty() || x0 >= x1 || z0 >= z1 {
                continue;
            }
            for z in z0 >> LOG2..=(z1 - 1) >> LOG2 {
                touched.extend((x0 >> LOG2..=(x1 - 1) >> LOG2).map(|x| (z, x)));
            }
        }
        touched.into_iter().collect()
    }

    fn place(&self, pos: SectorPos) -> Option<(usize, usize)> {
        let [w, h] = build::sectors(&self.terrain);
        if pos.x < 0 || pos.z < 0 || pos.x >= w || pos.z >= h {
            return None;
        }
        let (x, z) = (pos.x as usize, pos.z as usize);
        Some(((z >> PAGE_LOG2) * self.pages_x + (x >> PAGE_LOG2), (z % PAGE) * PAGE + x % PAGE))
    }

    /// What is at a sector; Absent where nothing is.
    #[inline]
    pub(super) fn entry(&self, agent: usize, pos: SectorPos) -> &Entry {
        const ABSENT: &Entry = &Entry::Absent;
        self.place(pos)
            .and_then(|(page, index)| self.agents[agent][page].as_ref().map(|p| &p[index]))
            .unwrap_or(ABSENT)
    }

    fn set(&mut self, agent: usize, pos: SectorPos, entry: Entry) {
        let Some((page, index)) = self.place(pos) else { return };
        let page =
            self.agents[agent][page].get_or_insert_with(|| Arc::new(std::array::from_fn(|_| Entry::Absent)));
        Arc::make_mut(page)[index] = entry;
    }

    fn forget_doors(&mut self, agent: usize, pos: SectorPos) {
        if let Entry::Known { sector, .. } = self.entry(agent, pos) {
            let sector = sector.clone();
            self.set(agent, pos, Entry::Known { sector, doors: DoorCache::default() });
        }
    }

    /// Sets how many bytes of distances between doors searches may leave here and in the versions that are made of this
    /// one: 64 MiB at first. Where there is no more room they are found again every time, which costs time and changes
    /// no answer. [`Nav::updated`] gives all of them up when they are too many.
    pub fn set_distance_budget(&self, bytes: usize) {
        self.meter.set_budget(bytes);
    }

    /// Bytes of distances between doors that are kept, here and in the versions that this one shares them with.
    pub fn distance_bytes(&self) -> usize {
        self.meter.kept()
    }

    /// Whether distances were found that there was no room for.
    pub fn is_distance_budget_spent(&self) -> bool {
        self.meter.is_full()
    }

    /// Gives up all distances between doors.
    pub fn forget_distances(&mut self) {
        let known = |entry: &Entry| match entry {
            Entry::Known { doors, .. } => doors.iter().any(|d| d.get().is_some()),
            _ => false,
        };
        for page in self.agents.iter_mut().flatten().flatten().filter(|page| page.iter().any(known)) {
            for entry in Arc::make_mut(page).iter_mut() {
                if let Entry::Known { doors, .. } = entry {
                    *doors = DoorCache::default();
                }
            }
        }
        self.meter.has_room_again();
    }

    pub(super) fn meter(&self) -> Arc<Meter> {
        self.meter.clone()
    }

    /// The version of the ground that it belongs to.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The rules it was built by.
    pub fn rules(&self) -> &Arc<NavRules> {
        &self.rules
    }

    /// The terrain's configuration.
    pub fn config(&self) -> &TerrainConfig {
        &self.terrain
    }

    /// What is known of a cell; `agent` counts the kinds of the rules.
    ///
    /// # Panics
    /// When there is no such kind.
    pub fn cell(&self, agent: usize, cell: CellPos) -> CellState {
        if !self.terrain.extent.contains(cell) {
            return CellState::Outside;
        }
        match self.entry(agent, SectorPos::of(cell)) {
            Entry::Absent => CellState::Unknown,
            Entry::Failed => CellState::Failed,
            Entry::Known { sector, .. } if bit(&sector.free, local(cell)) => CellState::Walkable,
            Entry::Known { sector, .. } if bit(&sector.unknown, local(cell)) => CellState::Unknown,
            Entry::Known { .. } => CellState::Blocked,
        }
    }

    /// The weight of a walkable cell in sixteenths, and whether it is the flank of a step; `None` elsewhere.
    pub fn weight(&self, agent: usize, cell: CellPos) -> Option<(u8, bool)> {
        match self.entry(agent, SectorPos::of(cell)) {
            Entry::Known { sector, .. } if bit(&sector.free, local(cell)) => {
                Some((sector.weight(local(cell)), bit(&sector.flank, local(cell))))
            }
            _ => None,
        }
    }

    /// The cell under a world position in metres, by floor; the far edge of the extent belongs to its last cells. It may lie
    /// outside the extent.
    ///
    /// # Errors
    /// What is no position.
    pub fn cell_at(&self, x: f64, z: f64) -> Result<CellPos, LatticeError> {
        let p = LatticePos::from_metres(x, z)?;
        let s = self.terrain.spacing_lattice();
        let (e, placed) = (self.terrain.extent, self.terrain.placement);
        let cell = |v: i64, placed: i32, end: i32| {
            let v = v - i64::from(placed) * s;
            let floor = v.div_euclid(s).clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32;
            if v == i64::from(end) * s { end - 1 } else { floor }
        };
        Ok(CellPos::new(cell(p.x, placed.x, e.x1), cell(p.z, placed.z, e.z1)))
    }

    /// The centre of a cell in the world, in metres, x and z (exact).
    pub fn centre(&self, cell: CellPos) -> [f64; 2] {
        let (s, placed) = (self.terrain.spacing_m(), self.terrain.placement);
        let centre = |cell: i32, placed: i32| (f64::from(cell) + f64::from(placed) + 0.5) * s;
        [centre(cell.x, placed.x), centre(cell.z, placed.z)]
    }

    /// The walkable cell nearest to a cell and at most `reach` cells from it along either axis: by the distance between
    /// centres, then z, then x.
    pub fn nearest_walkable(&self, agent: usize, cell: CellPos, reach: i32) -> Option<CellPos> {
        let mut best: Option<(i64, i32, i32)> = None;
        for ring in 0..=reach {
            // Nothing on this ring or a larger one is nearer than its own distance.
            if best.is_some_and(|b| b.0 < i64::from(ring) * i64::from(ring)) {
                break;
            }
            for dz in -ring..=ring {
                let step = if dz.abs() == ring { 1 } else { (2 * ring).max(1) };
                for dx in (-ring..=ring).step_by(step as usize) {
                    let (x, z) = (cell.x.saturating_add(dx), cell.z.saturating_add(dz));
                    let key = (i64::from(dx) * i64::from(dx) + i64::from(dz) * i64::from(dz), z, x);
                    if best.is_none_or(|b| key < b)
                        && self.cell(agent, CellPos::new(x, z)) == CellState::Walkable
                    {
                        best = Some(key);
                    }
                }
            }
        }
        best.map(|(_, z, x)| CellPos::new(x, z))
    }

    /// Bytes of the sectors and of the distances that searches have left in them.
    pub fn bytes(&self) -> usize {
        let entries = self.agents.iter().flatten().flatten().flat_map(|page| page.iter());
        let known = entries.map(|entry| match entry {
            Entry::Known { sector, doors } => {
                sector.bytes() + doors.iter().filter_map(OnceLock::get).map(Doors::bytes).sum::<usize>()
            }
            _ => 0,
        });
        let pages = self.agents.iter().flatten().flatten().count();
        known.sum::<usize>() + pages * size_of::<Page>()
    }

    /// The columns and rows of a sector that lie in the extent, a bit each.
    pub(super) fn in_extent(&self, pos: SectorPos) -> (u32, u32) {
        let (r, e) = (pos.rect(), self.terrain.extent);
        let bits = |first: i32, a: i32, b: i32| {
            let clip = |v: i32| v.saturating_sub(first).clamp(0, SECTOR_CELLS);
            (((1u64 << clip(b)) - 1) & !((1u64 << clip(a)) - 1)) as u32
        };
        (bits(r.x0, e.x0, e.x1), bits(r.z0, e.z0, e.z1))
    }
}

/// Equal when every cell of every agent has the same state, weight and flank, whatever searches left behind.
impl PartialEq for Nav {
    fn eq(&self, other: &Self) -> bool {
        let [w, h] = build::sectors(&self.terrain);
        self.terrain == other.terrain
            && self.rules == other.rules
            && (0..self.agents.len()).all(|agent| {
                (0..h).all(|z| {
                    (0..w).all(|x| {
                        let pos = SectorPos { x, z };
                        self.entry(agent, pos).same(other.entry(agent, pos))
                    })
                })
            })
    }
}

fn made(ground: &Ground, rules: &NavRules, agent: usize, pos: SectorPos) -> Entry {
    match ground.slot(ground.side().block_of_cell(pos.first())) {
        Slot::Absent => Entry::Absent,
        Slot::Failed => Entry::Failed,
        Slot::Resident(_) => match build::sector(ground, rules, agent, pos) {
            Some(sector) => Entry::Known { sector: Arc::new(sector), doors: DoorCache::default() },
            None => Entry::Absent,
        },
    }
}
