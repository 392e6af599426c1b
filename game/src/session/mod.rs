//! A session: one world of entities, its own resident ground, stepped tick by tick.
//!
//! Owns the order of systems. Everything that enters a tick comes in as inputs or publications; everything it gives
//! is in its report and its state.

mod lift;
mod parts;
mod report;
mod systems;
mod walking;

pub use report::{EntityTrace, SYSTEMS, System, TickReport};

use crate::component::{Arriving, Ball, Crate, Footing, Gate, NetId, PhysicsBody, Platform, Spawn};
use crate::config::{RuntimeConfig, SessionConfig, SessionConfigError};
use crate::input::{Input, InputError};
use crate::physics::Physics;
use crate::publication::{Arrivals, Publication, PublicationError};
use crate::state_hash::StateBytes;
use crate::walker::{Obstacles, Push, WalkCommand, WalkerState, lift_out};
use highground_terrain::collide::RefusedGround;
use highground_terrain::layers::WeightChain;
use highground_terrain::runtime::{BlockData, read_with_retries};
use highground_terrain::store::{BlockSource, WithPlanes};
use highground_terrain::surface::{Ground, PlaneChoice, Tile};
use std::sync::Arc;

/// What a session plays on.
#[derive(Clone)]
pub struct Map {
    /// Gives the blocks.
    pub source: Arc<dyn BlockSource>,
    /// The weight chain that footing is read from; `None` means layer 0 everywhere.
    pub weights: Option<Arc<WeightChain>>,
    /// Layer names in id order.
    pub layers: Vec<String>,
}

impl Map {
    /// Walkers swim and bodies feel what they touch: where a terrain has water or physical materials, its blocks carry
    /// them.
    fn with_planes(self) -> Self {
        let planes = PlaneChoice {
            water: self.source.catalogue().water.is_some(),
            materials: !self.source.materials().is_empty(),
            ..PlaneChoice::NONE
        };
        if planes == PlaneChoice::NONE {
            return self;
        }
        Self { source: Arc::new(WithPlanes::new(self.source, planes)), ..self }
    }
}

/// Why a session cannot start or go on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SessionError {
    /// The configuration.
    #[error(transparent)]
    Config(#[from] SessionConfigError),
    /// A replayed publication.
    #[error(transparent)]
    Publication(#[from] PublicationError),
    /// The operating system gives no more threads.
    #[error("{readers} reading and {physics} physics threads cannot be started: {reason}; use fewer")]
    Threads {
        /// Reader threads asked for.
        readers: usize,
        /// Physics threads asked for.
        physics: usize,
        /// What the operating system says.
        reason: String,
    },
}

/// Counts over a session's life.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SessionStats {
    /// Body-ticks spent held at the gate.
    pub gated_ticks: u64,
    /// Metres that characters walked on the ground plan.
    pub walked_m: f64,
    /// Block borders that characters crossed.
    pub borders_crossed: u64,
    /// Characters put back to their spawn.
    pub respawned: u64,
    /// Bodies removed because they left the world.
    pub removed: u64,
    /// Inputs refused.
    pub refused_inputs: u64,
    /// The most resident cells at once whose physical material the terrain does not have; see
    /// [`TickReport::stray_materials`].
    pub stray_materials: u64,
}

/// A character as others see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CharacterView {
    /// Who.
    pub id: NetId,
    /// Where and how it moves; meaningless while arriving.
    pub state: WalkerState,
    /// Held in the last tick.
    pub held: bool,
    /// Still waiting for ground to appear on.
    pub arriving: bool,
    /// What it stands on.
    pub footing: Footing,
}

/// A running session.
pub struct Session {
    config: SessionConfig,
    map: Map,
    /// Speed factor by layer id.
    speed: Vec<f64>,
    /// The largest of them, at least 1.
    fastest: f64,
    lowest_m: f64,
    tick: u64,
    world: hecs::World,
    roster: Vec<(NetId, hecs::Entity)>,
    physics: Physics,
    publication: Publication,
    stats: SessionStats,
    bytes: StateBytes,
    /// The canonical order of a tick's inputs: their places in what was given.
    places: Vec<usize>,
    windows: Vec<systems::Windows>,
    /// Where characters move; `None` for one thread, this one.
    pool: Option<rayon::ThreadPool>,
    obstacles: Obstacles,
    moves: Vec<walking::Move>,
    pushes: Vec<(u64, Push)>,
    report: TickReport,
    trace: bool,
}

impl Session {
    /// A session at tick 0 with nobody in it.
    ///
    /// # Errors
    /// When the configuration is out of range, or there are no threads to be had.
    pub fn new(map: Map, config: SessionConfig, runtime: RuntimeConfig) -> Result<Self, SessionError> {
        config.check()?;
        let map = map.with_planes();
        let threads = |e: std::io::Error| SessionError::Threads {
            readers: runtime.reader_threads,
            physics: runtime.physics_threads,
            reason: e.to_string(),
        };
        let data = BlockData::new(
            map.source.clone(),
            runtime.reader_threads,
            config.retries,
            runtime.cache_budget_bytes,
        )
        .map_err(threads)?;
        let publication =
            Publication::new(data, config.due_ticks, config.max_blocks, config.retry_after_ticks);
        let physics =
            Physics::new(publication.shared_ground().clone(), config.gravity, runtime.physics_threads)
                .map_err(threads)?;
        let pool = match runtime.physics_threads {
            0 | 1 => None,
            n => {
                let built = rayon::ThreadPoolBuilder::new().num_threads(n).build();
                Some(built.map_err(|e| threads(std::io::Error::other(e)))?)
            }
        };
        let speed: Vec<f64> =
            map.layers.iter().map(|name| config.layer_speed.get(name).copied().unwrap_or(1.0)).collect();
        let terrain = map.source.config();
        let lowest = map.source.height_range().map_or(0, |(low, _)| low);
        Ok(Self {
            lowest_m: terrain.quantum.to_metres(lowest) + terrain.origin_m()[1],
            config,
            map,
            fastest: speed.iter().copied().fold(1.0, f64::max),
            speed,
            tick: 0,
            world: hecs::World::new(),
            roster: Vec::new(),
            physics,
            publication,
            stats: SessionStats::default(),
            bytes: StateBytes::default(),
            places: Vec::new(),
            windows: Vec::new(),
            pool,
            obstacles: Obstacles::NONE,
            moves: Vec::new(),
            pushes: Vec::new(),
            report: TickReport::default(),
            trace: false,
        })
    }

    /// Whether reports carry one hash per entity and component.
    pub fn set_trace(&mut self, trace: bool) {
        self.trace = trace;
    }

    /// One tick: inputs, ground, windows, gate, footing, walk, physics, publish, respawn, in that order.
    ///
    /// # Errors
    /// Only when recorded publications cannot be made again. Refused inputs are counted and reported, not errors.
    pub fn step(&mut self, inputs: &[Input], arrivals: Arrivals<'_>) -> Result<&TickReport, SessionError> {
        self.report.begin(self.tick);
        self.take_inputs(inputs);
        systems::mark(self, System::Inputs);
        self.publication.begin(self.tick, arrivals, &mut self.report.events)?;
        self.report.stray_materials = self.publication.stray_materials();
        self.stats.stray_materials = self.stats.stray_materials.max(self.report.stray_materials);
        systems::mark(self, System::Ground);
        systems::update_windows(self);
        systems::mark(self, System::Windows);
        systems::gate_bodies(self);
        systems::mark(self, System::Gate);
        systems::find_footing(self);
        systems::mark(self, System::Footing);
        walking::walk(self);
        systems::mark(self, System::Walk);
        parts::move_platforms(self);
        self.physics.step();
        systems::read_physics(self);
        systems::mark(self, System::Physics);
        self.publication.finish(self.tick);
        systems::mark(self, System::Publish);
        systems::recover_lost(self);
        systems::mark(self, System::Respawn);
        self.report.hash = systems::state_hash(self);
        if self.trace {
            systems::trace_entities(self);
        }
        self.tick += 1;
        Ok(&self.report)
    }

    /// Admits changed tiles before the coming tick, all or none: see [`Publication::admit`]. What touches them is held in
    /// that tick; characters, balls and crates that were clear of the ground are lifted straight up by as much as it rose under
    /// them. Recordings do not hold it: a run with it cannot be made again from one.
    ///
    /// # Errors
    /// Why nothing was changed.
    pub fn admit(&mut self, tiles: Vec<Tile>) -> Result<(), RefusedGround> {
        let old = self.publication.ground().clone();
        self.publication.admit(tiles)?;
        // Bodies are lost below the lowest ground there is, and that may be deeper now.
        if let Some(lowest) = self.publication.lowest_admitted() {
            let terrain = old.config();
            self.lowest_m = self.lowest_m.min(terrain.quantum.to_metres(lowest) + terrain.origin_m()[1]);
        }
        let new = self.publication.ground();
        for &(_, entity) in &self.roster {
            let Ok(e) = self.world.entity(entity) else { continue };
            if let Some(body) = e.get::<&PhysicsBody>().filter(|_| e.has::<Ball>() || e.has::<Crate>()) {
                let rise = self.physics.bounds(body.0).map_or(0.0, |bounds| lift::raised(&old, new, &bounds));
                if rise > 0.0 {
                    self.physics.lift(body.0, rise);
                    let up = glam::DVec3::Y * rise;
                    e.get::<&mut Ball>().iter_mut().for_each(|ball| ball.position += up);
                    e.get::<&mut Crate>().iter_mut().for_each(|held| held.position += up);
                }
                continue;
            }
            let (Some(mut state), Some(body)) = (e.get::<&mut WalkerState>(), e.get::<&PhysicsBody>()) else {
                continue;
            };
            let lifted = lift_out(&old, new, &self.config.walker, &state);
            if !e.has::<Arriving>() && lifted != *state {
                *state = lifted;
                // It is there at once: nothing is swept aside on its way.
                self.physics.hide_character(body.0);
                self.physics.move_character(body.0, lifted.position);
            }
        }
        Ok(())
    }

    fn take_inputs(&mut self, inputs: &[Input]) {
        // Equal ones stay as they were given. A stable sort would allocate.
        let mut places = std::mem::take(&mut self.places);
        places.clear();
        places.extend(0..inputs.len());
        places.sort_unstable_by(|&a, &b| inputs[a].order().cmp(&inputs[b].order()).then(a.cmp(&b)));
        for &place in &places {
            if let Err(error) = self.take_input(&inputs[place]) {
                self.stats.refused_inputs += 1;
                self.report.refused.push(error);
            }
        }
        self.places = places;
    }

    fn take_input(&mut self, input: &Input) -> Result<(), InputError> {
        input.check(self.config.max_speed)?;
        match input {
            Input::Join { key, x, z } => self.join(key, *x, *z),
            Input::Ball { key, radius, position, velocity } => {
                let ball = Ball {
                    radius: *radius,
                    position: (*position).into(),
                    rotation: glam::DQuat::IDENTITY,
                    velocity: glam::DVec3::from(*velocity).clamp_length_max(self.config.max_speed),
                    spin: glam::DVec3::ZERO,
                };
                self.add_ball(key, ball)
            }
            Input::Platform { key, half_extents, way } => {
                let half_extents = (*half_extents).into();
                let (since, way) = (self.tick, Arc::new(way.clone()));
                self.add_platform(key, Platform { half_extents, since, way })
            }
            Input::Crate { key, position, half_extents, density } => {
                let (velocity, rotation) = (glam::DVec3::ZERO, glam::DQuat::IDENTITY);
                let (position, half_extents) = ((*position).into(), (*half_extents).into());
                let density = *density;
                let spin = velocity;
                self.add_crate(key, Crate { half_extents, density, position, rotation, velocity, spin })
            }
            Input::Leave { id } => {
                let at = self.find(*id)?;
                self.remove_at(at);
                Ok(())
            }
            Input::Teleport { id, x, z } => {
                let entity = self.character(*id)?;
                self.send_to(entity, *x, *z);
                Ok(())
            }
            Input::Command { id, command } => {
                let entity = self.character(*id)?;
                if let Ok(mut current) = self.world.get::<&mut WalkCommand>(entity) {
                    *current = *command;
                }
                Ok(())
            }
        }
    }

    fn find(&self, id: NetId) -> Result<usize, InputError> {
        self.roster.binary_search_by_key(&id, |e| e.0).map_err(|_| InputError::Unknown(id))
    }

    fn character(&self, id: NetId) -> Result<hecs::Entity, InputError> {
        let entity = self.roster[self.find(id)?].1;
        if self.world.satisfies::<&WalkerState>(entity) { Ok(entity) } else { Err(InputError::Unknown(id)) }
    }

    fn enlist(
        &mut self,
        key: &str,
        add: impl FnOnce(&mut Self, NetId) -> hecs::Entity,
    ) -> Result<(), InputError> {
        let id = NetId::of_key(key);
        let Err(at) = self.roster.binary_search_by_key(&id, |e| e.0) else {
            return Err(InputError::Taken(key.to_owned()));
        };
        let entity = add(self, id);
        self.roster.insert(at, (id, entity));
        Ok(())
    }

    fn join(&mut self, key: &str, x: f64, z: f64) -> Result<(), InputError> {
        self.enlist(key, |s, id| {
            let walker = &s.config.walker;
            let body = s.physics.add_character(walker.radius, walker.half_height);
            s.world.spawn((
                id,
                Spawn { x, z },
                Arriving { x, z, tries: 0 },
                WalkerState::default(),
                WalkCommand::default(),
                Footing::default(),
                Gate { held: true },
                PhysicsBody(body),
            ))
        })
    }

    fn remove_at(&mut self, at: usize) {
        let (_, entity) = self.roster.remove(at);
        if let Ok(body) = self.world.get::<&PhysicsBody>(entity).map(|b| b.0) {
            self.physics.remove(body);
        }
        let _ = self.world.despawn(entity);
    }

    /// Makes a character arrive at a place, whether its ground is there or not.
    fn send_to(&mut self, entity: hecs::Entity, x: f64, z: f64) {
        if let Ok(body) = self.world.get::<&PhysicsBody>(entity).map(|b| b.0) {
            self.physics.hide_character(body);
            let walker = &self.config.walker;
            self.physics.reshape_character(body, walker.radius, walker.half_height);
        }
        if let Ok(mut state) = self.world.get::<&mut WalkerState>(entity) {
            *state = WalkerState::default();
        }
        let _ = self.world.insert_one(entity, Arriving { x, z, tries: 0 });
    }

    /// The tick that comes next.
    pub fn tick(&self) -> u64 {
        self.tick
    }

    /// Whether the block under a place, read from the terrain whether it is resident or not, is other than flat. For
    /// choosing where to start; the simulation never asks.
    pub fn has_relief(&self, x: f64, z: f64) -> bool {
        let (terrain, side) = (self.map.source.config(), self.map.source.block_side());
        let pos = side.block_of_cell(terrain.cell_under(x, z));
        // With retries, so that an error that passes does not change where anybody starts.
        let read = || read_with_retries(&*self.map.source, pos, self.config.retries);
        terrain.has_block(side, pos)
            && read().is_ok_and(|b| b.min_max().is_some_and(|(low, high)| low < high))
    }

    /// What it plays on. For those who stand outside, as bots do; the simulation sees only resident ground.
    pub fn map(&self) -> &Map {
        &self.map
    }

    /// The configuration.
    pub fn config(&self) -> &SessionConfig {
        &self.config
    }

    /// The resident ground of the last tick.
    pub fn ground(&self) -> &Arc<Ground> {
        self.publication.ground()
    }

    /// Publication: what is wanted, published and counted.
    pub fn publication(&self) -> &Publication {
        &self.publication
    }

    /// Counts so far.
    pub fn stats(&self) -> SessionStats {
        self.stats
    }

    /// What the last tick gave.
    pub fn report(&self) -> &TickReport {
        &self.report
    }

    /// What walkers (by id) did to bodies in the last tick, in the order in which it was done.
    pub fn pushes(&self) -> &[(u64, Push)] {
        &self.pushes
    }

    /// How many bodies the physics world holds.
    pub fn physics_bodies(&self) -> usize {
        self.physics.body_count()
    }

    /// Characters in id order.
    pub fn characters(&self) -> impl Iterator<Item = CharacterView> + '_ {
        self.roster.iter().filter_map(|&(id, entity)| self.view(id, entity))
    }

    /// One character.
    pub fn character_view(&self, id: NetId) -> Option<CharacterView> {
        self.view(id, self.roster[self.find(id).ok()?].1)
    }

    fn view(&self, id: NetId, entity: hecs::Entity) -> Option<CharacterView> {
        let e = self.world.entity(entity).ok()?;
        Some(CharacterView {
            id,
            state: *e.get::<&WalkerState>()?,
            held: e.get::<&Gate>()?.held,
            arriving: e.has::<Arriving>(),
            footing: *e.get::<&Footing>()?,
        })
    }
}
