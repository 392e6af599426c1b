//! The map that bots walk by: navigation data of their own, made from the terrain as far as they have asked.
//!
//! Bots stand outside the simulation, so what they know does not depend on what is resident, and the simulation never
//! asks here. An answer depends only on the terrain and the two places: a search keeps to the blocks around them, and
//! all of these are read first. What is held beyond a budget is forgotten, which costs time and changes nothing.

use crate::session::Session;
use highground_terrain::coord::{BlockPos, CellPos, CellRect};
use highground_terrain::nav::{Answer, Nav, NavConfigError, NavRules, Path, PathQuery, PathSearch, Refusal};
use highground_terrain::runtime::read_with_retries;
use highground_terrain::store::{BlockError, BlockSource, WithPlanes};
use highground_terrain::surface::{Block, Ground, PlaneChoice, Slot, Tile};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes of blocks and tiles; when they are exceeded all are given up.
const BUDGET_BYTES: usize = 64 << 20;
/// Cells around two places that a bot's way between them may use.
const MARGIN_CELLS: i32 = 32;
/// How far the cell that a bot means may be from a place that cannot be stood on, in cells.
const NEAR_CELLS: i32 = 4;

/// Counts of what bots asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GuideStats {
    /// Ways asked for.
    pub asked: u64,
    /// Ways found.
    pub found: u64,
}

/// Finds ways for the demo's bots.
pub struct Guide {
    source: Arc<dyn BlockSource>,
    retries: u32,
    rules: Arc<NavRules>,
    blocks: BTreeMap<BlockPos, Option<Block>>,
    damage: Option<BlockError>,
    block_bytes: usize,
    ground: Ground,
    nav: Nav,
    search: PathSearch,
    path: Path,
    stats: GuideStats,
}

impl Guide {
    /// A guide to a session's terrain that has read nothing yet.
    ///
    /// # Errors
    /// When the terrain is too fine for the walker: see [`NavRules::new`].
    pub fn new(session: &Session) -> Result<Self, NavConfigError> {
        let map = session.map();
        let materials: Vec<String> = map.source.materials().iter().map(|m| m.name.clone()).collect();
        let (config, terrain) = (session.config().navigation(), map.source.config());
        let rules = NavRules::with_materials(&config, terrain, &map.layers, &materials)?;
        Ok(Self::over(map.source.clone(), rules, session.config().retries))
    }

    /// A guide to any terrain, by any rules for it. Where these ask for materials, blocks are read with them.
    pub fn over(source: Arc<dyn BlockSource>, rules: Arc<NavRules>, retries: u32) -> Self {
        let planes = PlaneChoice { materials: true, ..PlaneChoice::NONE };
        let source = match rules.asks_for_materials() {
            true => Arc::new(WithPlanes::new(source, planes)),
            false => source,
        };
        let ground = Ground::empty(source.config(), source.block_side());
        Self {
            source,
            retries,
            nav: Nav::of(&ground, &rules),
            rules,
            blocks: BTreeMap::new(),
            damage: None,
            block_bytes: 0,
            ground,
            search: PathSearch::new(),
            path: Path::default(),
            stats: GuideStats::default(),
        }
    }

    /// The turns of a bot's way between two places in metres, or near them: where one cannot be stood on, the nearest
    /// cell within four is meant. `turns` is emptied first and stays empty without a way.
    pub fn way(&mut self, from: (f64, f64), to: (f64, f64), turns: &mut Vec<(f64, f64)>) -> Answer {
        turns.clear();
        self.stats.asked += 1;
        let cell = |(x, z): (f64, f64)| self.nav.cell_at(x, z).unwrap_or(CellPos::new(i32::MIN, i32::MIN));
        let query = PathQuery::new(0, cell(from), cell(to));
        let answer = self.find(query, MARGIN_CELLS, NEAR_CELLS);
        self.stats.found += u64::from(answer == Answer::Path);
        turns.extend(self.path.turns.iter().map(|&c| {
            let [x, z] = self.nav.centre(c);
            (x, z)
        }));
        answer
    }

    /// Answers a query over the sectors that reach no further than `margin` cells around its two cells, of which each
    /// may be replaced by a walkable one within `near` cells. The path is in [`Guide::path`].
    pub fn find(&mut self, query: PathQuery, margin: i32, near: i32) -> Answer {
        let PathQuery { from, to, .. } = query;
        let extent = self.nav.config().extent;
        // Refused before anything is read.
        if !extent.contains(from) || !extent.contains(to) {
            self.path = Path::default();
            return Answer::Refused(if extent.contains(from) {
                Refusal::To(to)
            } else {
                Refusal::From(from)
            });
        }
        let within = CellRect {
            x0: from.x.min(to.x).saturating_sub(margin),
            z0: from.z.min(to.z).saturating_sub(margin),
            x1: from.x.max(to.x).saturating_add(margin + 1).min(extent.x1),
            z1: from.z.max(to.z).saturating_add(margin + 1).min(extent.z1),
        };
        self.read(within);
        let stand = |cell| self.nav.nearest_walkable(query.agent, cell, near).unwrap_or(cell);
        let query = PathQuery { from: stand(from), to: stand(to), within: Some(within), ..query };
        let answer = self.search.find(&self.nav, &query, &mut self.path);
        if self.nav.is_distance_budget_spent() {
            self.nav.forget_distances();
        }
        answer
    }

    /// The path that was found last.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The first block that could not be read; its ground counts as failed.
    pub fn damage(&self) -> Option<&BlockError> {
        self.damage.as_ref()
    }

    /// Makes every block resident that decides about the sectors a rectangle touches.
    fn read(&mut self, within: CellRect) {
        if self.block_bytes + self.ground.resident_bytes() > BUDGET_BYTES {
            self.blocks.clear();
            self.block_bytes = 0;
            self.ground = Ground::empty(self.source.config(), self.source.block_side());
            self.nav = Nav::of(&self.ground, &self.rules);
        }
        let (config, side) = (*self.source.config(), self.source.block_side());
        let (e, n) = (config.extent, side.samples());
        // Sectors are no larger than blocks, so the blocks of the rectangle hold them; more for what reaches into them.
        let by = self.rules.reach();
        let block = |x: i32, z: i32| {
            side.block_of_cell(CellPos::new(x.clamp(e.x0, e.x1 - 1), z.clamp(e.z0, e.z1 - 1)))
        };
        let whole = |v: i32| v.div_euclid(n) * n;
        let (first, last) = (
            block(whole(within.x0) - by, whole(within.z0) - by),
            block(whole(within.x1 - 1) + n - 1 + by, whole(within.z1 - 1) + n - 1 + by),
        );
        let (mut slots, mut changed) = (Vec::new(), Vec::new());
        for z in first.z..=last.z {
            for x in first.x..=last.x {
                let pos = BlockPos::new(x, z);
                if matches!(self.ground.slot(pos), Slot::Absent) {
                    slots.push((pos, self.slot(pos)));
                    let f = side.first_sample(pos);
                    changed.push(CellRect { x0: f.x, z0: f.z, x1: f.x + n, z1: f.z + n });
                }
            }
        }
        if !slots.is_empty() {
            self.ground = self.ground.with_changes(&slots);
            self.nav = self.nav.updated(&self.ground, &changed);
        }
    }

    /// A block with its neighbours; Failed when one of them cannot be read.
    fn slot(&mut self, pos: BlockPos) -> Slot {
        let (config, side) = (*self.source.config(), self.source.block_side());
        for near in pos.neighbourhood().filter(|&near| config.has_block(side, near)) {
            if !self.blocks.contains_key(&near) {
                let block = match read_with_retries(&*self.source, near, self.retries) {
                    Ok(block) => Some(block),
                    Err(error) => {
                        self.damage.get_or_insert(error);
                        None
                    }
                };
                self.block_bytes += block.as_ref().map_or(0, Block::bytes);
                self.blocks.insert(near, block);
            }
            if self.blocks[&near].is_none() {
                return Slot::Failed;
            }
        }
        let around = |p: BlockPos| self.blocks.get(&p).and_then(Option::as_ref);
        around(pos).map_or(Slot::Failed, |own| Slot::Resident(Arc::new(Tile::new(&config, own, around))))
    }

    /// What was asked so far.
    pub fn stats(&self) -> GuideStats {
        self.stats
    }

    /// The navigation data read so far.
    pub fn nav(&self) -> &Nav {
        &self.nav
    }
}
