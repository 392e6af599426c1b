//! Collision publication: which blocks the session wants, how far each is on its way, and who may move.
//!
//! Owns the resident ground of one session. A block requested in tick t is due at t + D and invisible before,
//! whenever it arrives; from the start of its tick queries, rays, collider and walkers see it alike; after that
//! tick's physics step it is Published, and the gate opens in the next tick. Never loads by camera and never by one
//! player: the window is the union of all bodies' windows.

mod admission;

use crate::state_hash::StateBytes;
use highground_terrain::collide::{Materials, SharedGround};
use highground_terrain::content::PhysicalMaterial;
use highground_terrain::coord::{BlockPos, CellPos, CellRect};
use highground_terrain::runtime::{BlockData, DataStats};
use highground_terrain::state::{DataState, PublicationState};
use highground_terrain::store::BlockError;
use highground_terrain::surface::{Ground, Slot, Tile};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a publication event says of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Arrival {
    /// It became resident at the start of this tick.
    Resident,
    /// It, or a neighbour it needs, cannot be had.
    Failed,
}

/// A publication that entered a tick. Recorded for live sessions, where its tick depends on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublicationEvent {
    /// Which block.
    pub pos: BlockPos,
    /// What happened to it.
    pub arrival: Arrival,
}

/// How publications enter a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals<'a> {
    /// Offline: a tick waits for what is due at it.
    WhenDue,
    /// Replay of an offline session: the same, but these fail, whatever the data says now.
    WhenDueFailing(&'a [PublicationEvent]),
    /// Live: a tick takes what has arrived of what is due, and never waits.
    AsTheyCome,
    /// Replay of a live session: exactly these, waiting for the data.
    Recorded(&'a [PublicationEvent]),
}

/// A replayed publication could not be made again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PublicationError {
    /// The recording says that a block became resident, but the terrain does not give it.
    #[error("the recording publishes block ({}, {}) in tick {tick}, but {error}", error.pos.x, error.pos.z)]
    Data {
        /// The tick.
        tick: u64,
        /// Why the block cannot be had.
        error: BlockError,
    },
    /// The recording says something of a block that nobody wants.
    #[error("the recording publishes block ({}, {}) in tick {tick}, which nobody wants then", pos.x, pos.z)]
    Unwanted {
        /// The tick.
        tick: u64,
        /// Which block.
        pos: BlockPos,
    },
}

/// A block on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantedBlock {
    /// How far it is.
    pub state: PublicationState,
    /// The tick it was requested in.
    pub requested: u64,
    /// The tick it is due at.
    pub due: u64,
    /// The tick after whose step it was Published.
    pub published: Option<u64>,
    /// The version of the ground in which it became what it is now; 0 before it was resident.
    pub version: u64,
    kept: u64,
    retry_at: u64,
}

/// A rectangle on the ground in metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Footprint {
    /// West edge.
    pub min_x: f64,
    /// North edge.
    pub min_z: f64,
    /// East edge.
    pub max_x: f64,
    /// South edge.
    pub max_z: f64,
}

impl Footprint {
    /// A square of half side `reach` around a point.
    pub fn around(x: f64, z: f64, reach: f64) -> Self {
        Self { min_x: x - reach, min_z: z - reach, max_x: x + reach, max_z: z + reach }
    }

    /// The same, `by` metres larger on every side.
    #[must_use]
    pub fn grown(self, by: f64) -> Self {
        Self {
            min_x: self.min_x - by,
            min_z: self.min_z - by,
            max_x: self.max_x + by,
            max_z: self.max_z + by,
        }
    }
}

/// The publication under a body: which ground it may rely on, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicationUnder {
    /// The digest of the content: the terrain's own, and another one after each admission (see [`Publication::digest`]).
    pub digest: [u8; 32],
    /// The version of the ground in which the last of the blocks under the body became what it is; 0 when none is resident.
    pub version: u64,
    /// The tick after whose step the last of them was Published; `None` unless all are.
    pub published: Option<u64>,
    /// How far the least far of them is.
    pub state: PublicationState,
}

/// Counts of what publication did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PublicationStats {
    /// Blocks Published so far, each time counted.
    pub published_total: u64,
    /// Blocks that left so far.
    pub left_total: u64,
    /// The most blocks Published at once.
    pub peak_blocks: usize,
    /// The most bytes of resident tiles at once.
    pub peak_bytes: usize,
    /// Requests refused because `max_blocks` were wanted already, each tick counted.
    pub refused_total: u64,
    /// Failures so far.
    pub failed_total: u64,
}

/// The publication of one session.
#[derive(Debug)]
pub struct Publication {
    data: BlockData,
    ground: Arc<Ground>,
    shared: Arc<SharedGround>,
    wanted: BTreeMap<BlockPos, WantedBlock>,
    leaving: Vec<BlockPos>,
    ready: Vec<(BlockPos, Arrival)>,
    due_ticks: u64,
    max_blocks: usize,
    retry_after_ticks: u64,
    published_now: usize,
    stats: PublicationStats,
    first_error: Option<BlockError>,
    /// Digests of the blocks that were admitted.
    admitted: BTreeMap<BlockPos, [u8; 32]>,
    /// The lowest sample that was ever admitted, in quanta.
    lowest_admitted: Option<i32>,
}

impl Publication {
    /// Nothing wanted, nothing resident.
    pub fn new(data: BlockData, due_ticks: u32, max_blocks: u32, retry_after_ticks: u32) -> Self {
        let source = data.source();
        let ground = Ground::empty(source.config(), source.block_side());
        let ground = Arc::new(ground.with_catalogue(Arc::new(source.catalogue().clone())));
        let shared = SharedGround::new(ground.clone());
        if !source.materials().is_empty() {
            let fallback = PhysicalMaterial::default();
            shared.set_materials(Arc::new(Materials::new(source.materials(), fallback, source.block_side())));
        }
        Self {
            shared,
            ground,
            data,
            wanted: BTreeMap::new(),
            leaving: Vec::new(),
            ready: Vec::new(),
            due_ticks: u64::from(due_ticks),
            max_blocks: max_blocks as usize,
            retry_after_ticks: u64::from(retry_after_ticks),
            published_now: 0,
            stats: PublicationStats::default(),
            first_error: None,
            admitted: BTreeMap::new(),
            lowest_admitted: None,
        }
    }

    /// Why the first block that failed could not be had.
    pub fn first_error(&self) -> Option<&BlockError> {
        self.first_error.as_ref()
    }

    /// The resident ground of this tick.
    pub fn ground(&self) -> &Arc<Ground> {
        &self.ground
    }

    /// The same, as the collider holds it.
    pub fn shared_ground(&self) -> &Arc<SharedGround> {
        &self.shared
    }

    /// How many resident cells have a physical material that the terrain does not have: they feel like the default one.
    pub fn stray_materials(&self) -> u64 {
        self.shared.materials().map_or(0, |m| m.out_of_range())
    }

    /// What was counted so far.
    pub fn stats(&self) -> PublicationStats {
        self.stats
    }

    /// What the data layer holds.
    pub fn data_stats(&self) -> DataStats {
        self.data.stats()
    }

    /// Blocks wanted now, in (z, x) order.
    pub fn wanted(&self) -> impl Iterator<Item = (BlockPos, &WantedBlock)> {
        self.wanted.iter().map(|(&p, w)| (p, w))
    }

    /// How many blocks are Published now.
    pub fn published(&self) -> usize {
        self.published_now
    }

    /// The start of a tick: what left goes, what is due becomes resident, and the ground is swapped once.
    ///
    /// # Errors
    /// Only when a recording cannot be made again.
    pub fn begin(
        &mut self,
        tick: u64,
        arrivals: Arrivals<'_>,
        events: &mut Vec<PublicationEvent>,
    ) -> Result<(), PublicationError> {
        self.data.poll();
        self.ready.clear();
        for block in self.wanted.values_mut().filter(|b| b.state == PublicationState::Requested) {
            block.state = PublicationState::Pending;
        }
        match arrivals {
            Arrivals::WhenDue => self.collect_due(tick, &[]),
            Arrivals::WhenDueFailing(failures) => self.collect_due(tick, failures),
            Arrivals::AsTheyCome => {
                self.retry_failed(tick);
                self.collect_arrived(tick);
            }
            Arrivals::Recorded(list) => self.collect_recorded(tick, list)?,
        }
        events.extend(self.ready.iter().map(|&(pos, arrival)| PublicationEvent { pos, arrival }));
        if self.ready.is_empty() && self.leaving.is_empty() {
            return Ok(());
        }
        self.swap_materials();
        let version = self.ground.version() + 1;
        let mut changes: Vec<(BlockPos, Slot)> =
            self.leaving.drain(..).map(|pos| (pos, Slot::Absent)).collect();
        for &(pos, arrival) in &self.ready {
            let block = self.wanted.get_mut(&pos).expect("only wanted blocks are collected");
            block.version = version;
            let slot = match arrival {
                Arrival::Resident => {
                    block.state = PublicationState::Resident;
                    let own = self.data.block(pos).expect("a collected block is here");
                    let tile = Tile::new(self.ground.config(), own, |p| self.data.block(p));
                    Slot::Resident(Arc::new(tile))
                }
                Arrival::Failed => {
                    block.state = PublicationState::Failed;
                    block.retry_at = tick + self.retry_after_ticks;
                    self.stats.failed_total += 1;
                    if self.first_error.is_none() {
                        self.first_error = pos.neighbourhood().find_map(|p| self.data.error(p)).cloned();
                    }
                    Slot::Failed
                }
            };
            changes.push((pos, slot));
        }
        self.ground = Arc::new(self.ground.with_changes(&changes));
        self.shared.swap(self.ground.clone());
        self.stats.peak_bytes = self.stats.peak_bytes.max(self.ground.resident_bytes());
        Ok(())
    }

    /// The materials of what leaves go, those of what becomes resident come.
    fn swap_materials(&self) {
        let Some(old) = self.shared.materials() else { return };
        let gone = self.leaving.iter().map(|&pos| (pos, None));
        let new = self.ready.iter().map(|&(pos, arrival)| match arrival {
            Arrival::Resident => (pos, self.data.materials(pos).cloned()),
            Arrival::Failed => (pos, None),
        });
        self.shared.set_materials(Arc::new(old.with_changes(gone.chain(new))));
    }

    fn collect_due(&mut self, tick: u64, failures: &[PublicationEvent]) {
        for (&pos, block) in &self.wanted {
            if block.state == PublicationState::Pending && block.due <= tick {
                if failures.contains(&PublicationEvent { pos, arrival: Arrival::Failed }) {
                    self.ready.push((pos, Arrival::Failed));
                    continue;
                }
                self.data.wait_for(pos.neighbourhood());
                self.ready.push((pos, judge(&self.data, pos).unwrap_or(Arrival::Failed)));
            }
        }
    }

    fn collect_arrived(&mut self, tick: u64) {
        for (&pos, block) in &self.wanted {
            let waiting = matches!(block.state, PublicationState::Pending | PublicationState::Failed);
            if !waiting || block.due > tick {
                continue;
            }
            match judge(&self.data, pos) {
                Some(Arrival::Failed) if block.state == PublicationState::Failed => {}
                Some(arrival) => self.ready.push((pos, arrival)),
                None => {}
            }
        }
    }

    fn collect_recorded(&mut self, tick: u64, list: &[PublicationEvent]) -> Result<(), PublicationError> {
        for &PublicationEvent { pos, arrival } in list {
            let Some(block) = self.wanted.get(&pos) else {
                return Err(PublicationError::Unwanted { tick, pos });
            };
            let settled = matches!(block.state, PublicationState::Resident | PublicationState::Published);
            if settled {
                return Err(PublicationError::Unwanted { tick, pos });
            }
            if arrival == Arrival::Resident {
                // What failed here may be readable by now: the recording says that it was.
                pos.neighbourhood().for_each(|p| self.data.retry(p));
                self.data.wait_for(pos.neighbourhood());
                if let Some(error) = pos.neighbourhood().find_map(|p| self.data.error(p)) {
                    return Err(PublicationError::Data { tick, error: error.clone() });
                }
            }
            self.ready.push((pos, arrival));
        }
        Ok(())
    }

    fn retry_failed(&mut self, tick: u64) {
        for (&pos, block) in &mut self.wanted {
            if block.state == PublicationState::Failed && block.retry_at <= tick {
                block.retry_at = tick + self.retry_after_ticks;
                pos.neighbourhood().for_each(|p| self.data.retry(p));
            }
        }
    }

    /// The windows of this tick: every block under a `want` footprint is requested, and one that is under no `keep`
    /// footprint any more leaves. Bodies come in a canonical order; a keep footprint holds its want footprint.
    pub fn update_windows(&mut self, tick: u64, bodies: impl Iterator<Item = (Footprint, Footprint)>) {
        for (want, keep) in bodies {
            each_block(&self.ground, want, |pos| {
                if self.wanted.contains_key(&pos) {
                    return;
                }
                if self.wanted.len() >= self.max_blocks {
                    self.stats.refused_total += 1;
                    return;
                }
                for p in pos.neighbourhood() {
                    if self.data.state(p) != DataState::OutOfRange {
                        self.data.acquire(p);
                    }
                }
                let block = WantedBlock {
                    state: PublicationState::Requested,
                    requested: tick,
                    due: tick + self.due_ticks,
                    published: None,
                    version: 0,
                    kept: tick,
                    retry_at: 0,
                };
                self.wanted.insert(pos, block);
            });
            self.keep(tick, keep);
        }
        let Self { wanted, data, leaving, stats, published_now, .. } = self;
        wanted.retain(|&pos, block| {
            if block.kept == tick {
                return true;
            }
            for p in pos.neighbourhood() {
                if data.state(p) != DataState::OutOfRange {
                    data.release(p);
                }
            }
            *published_now -= usize::from(block.state == PublicationState::Published);
            stats.left_total += 1;
            if !matches!(block.state, PublicationState::Requested | PublicationState::Pending) {
                leaving.push(pos);
            }
            false
        });
    }

    /// Marks the wanted blocks under a footprint. Looks at whichever are fewer: the blocks of the footprint or those wanted.
    fn keep(&mut self, tick: u64, footprint: Footprint) {
        let Some((first, last)) = block_range(&self.ground, footprint) else { return };
        let under = (i64::from(last.x - first.x) + 1) * (i64::from(last.z - first.z) + 1);
        if under > self.wanted.len() as i64 {
            let inside =
                |p: &BlockPos| (first.x..=last.x).contains(&p.x) && (first.z..=last.z).contains(&p.z);
            for (_, block) in self.wanted.range_mut(first..=last).filter(|(p, _)| inside(p)) {
                block.kept = tick;
            }
            return;
        }
        each_block(&self.ground, footprint, |pos| {
            if let Some(block) = self.wanted.get_mut(&pos) {
                block.kept = tick;
            }
        });
    }

    /// Whether everything under a footprint is Published. Ground outside the valid extent needs no publication.
    pub fn is_published(&self, footprint: Footprint) -> bool {
        let mut published = true;
        each_block(&self.ground, footprint, |pos| {
            published &= self.wanted.get(&pos).is_some_and(|b| b.state == PublicationState::Published);
        });
        published
    }

    /// The lowest sample that was ever admitted, in quanta.
    pub fn lowest_admitted(&self) -> Option<i32> {
        self.lowest_admitted
    }

    /// The digest of the content: the terrain's own while nothing was admitted, else a hash of it and of the admitted blocks,
    /// by their places. Equal admissions give equal digests, in whatever order they came.
    pub fn digest(&self) -> [u8; 32] {
        let own = self.data.source().digest();
        if self.admitted.is_empty() {
            return own;
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(&own);
        for (pos, digest) in &self.admitted {
            hasher.update(&pos.x.to_le_bytes()).update(&pos.z.to_le_bytes()).update(digest);
        }
        *hasher.finalize().as_bytes()
    }

    /// The publication under a footprint; `None` outside the valid extent, where there is none.
    pub fn under(&self, footprint: Footprint) -> Option<PublicationUnder> {
        // From nothing to Published; Failed never comes to be.
        let rank = |state: PublicationState| match state {
            PublicationState::Failed => 0,
            PublicationState::Requested => 1,
            PublicationState::Pending => 2,
            PublicationState::Resident => 3,
            PublicationState::Published => 4,
        };
        let digest = self.digest();
        let mut under: Option<PublicationUnder> = None;
        each_block(&self.ground, footprint, |pos| {
            let block = self.wanted.get(&pos);
            // Nobody has asked for it: as far as one that was asked for just now.
            let state = block.map_or(PublicationState::Requested, |b| b.state);
            let (version, published) = block.map_or((0, None), |b| (b.version, b.published));
            let all = under.get_or_insert(PublicationUnder { digest, version, published, state });
            all.version = all.version.max(version);
            all.published = all.published.zip(published).map(|(a, b)| a.max(b));
            if rank(state) < rank(all.state) {
                all.state = state;
            }
        });
        under
    }

    /// The end of a tick's positive physics step: what is Resident is Published.
    pub fn finish(&mut self, tick: u64) {
        for block in self.wanted.values_mut().filter(|b| b.state == PublicationState::Resident) {
            block.state = PublicationState::Published;
            block.published = Some(tick);
            self.stats.published_total += 1;
            self.published_now += 1;
        }
        self.stats.peak_blocks = self.stats.peak_blocks.max(self.published_now);
    }

    /// The canonical state: every wanted block with its state and ticks, what leaves at the next tick, and what was
    /// admitted.
    pub fn write_state(&self, out: &mut StateBytes) {
        out.u64(self.wanted.len() as u64);
        for (pos, block) in &self.wanted {
            out.i32(pos.x);
            out.i32(pos.z);
            out.u8(match block.state {
                PublicationState::Requested => 0,
                PublicationState::Pending => 1,
                PublicationState::Resident => 2,
                PublicationState::Published => 3,
                PublicationState::Failed => 4,
            });
            out.u64(block.requested);
            out.u64(block.due);
            out.u64(block.published.map_or(0, |t| t + 1));
        }
        out.u64(self.leaving.len() as u64);
        for pos in &self.leaving {
            out.i32(pos.x);
            out.i32(pos.z);
        }
        out.u64(self.admitted.len() as u64);
        for (pos, digest) in &self.admitted {
            out.i32(pos.x);
            out.i32(pos.z);
            out.bytes(digest);
        }
    }
}

/// Resident or Failed once every neighbour that the block reads is settled; `None` while one is Pending.
fn judge(data: &BlockData, pos: BlockPos) -> Option<Arrival> {
    let mut failed = false;
    for p in pos.neighbourhood() {
        match data.state(p) {
            DataState::Pending | DataState::Unknown => return None,
            DataState::Failed => failed = true,
            DataState::Valid | DataState::Empty | DataState::OutOfRange => {}
        }
    }
    Some(if failed { Arrival::Failed } else { Arrival::Resident })
}

/// The first and last block under a footprint, in both directions; `None` outside the extent.
fn block_range(ground: &Ground, f: Footprint) -> Option<(BlockPos, BlockPos)> {
    let CellRect { x0, z0, x1, z1 } = ground.cells_meeting(f.min_x, f.min_z, f.max_x, f.max_z);
    if x0 >= x1 || z0 >= z1 {
        return None;
    }
    let block = |x: i32, z: i32| ground.side().block_of_cell(CellPos::new(x, z));
    Some((block(x0, z0), block(x1 - 1, z1 - 1)))
}

fn each_block(ground: &Ground, f: Footprint, mut visit: impl FnMut(BlockPos)) {
    let Some((first, last)) = block_range(ground, f) else { return };
    for z in first.z..=last.z {
        for x in first.x..=last.x {
            visit(BlockPos::new(x, z));
        }
    }
}
