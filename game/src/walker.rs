//! The walker: how a character moves, as one pure function of its surroundings, its state and a command.
//!
//! Owns the rules of walking, stepping, sliding, jumping, crouching, swimming, falling, being carried and pushing;
//! server and client share it. Never reads a clock, a random number or anything else that moves; never loads ground:
//! where a block is missing the state stays as it is. Allocates nothing.
//!
//! A walker is an upright capsule with a thin skin: contacts are those of a capsule grown by [`WalkerConfig::skin`],
//! so at rest on flat ground its feet hover that far above it. On the ground a tick is lift, slide and drop: up by the
//! step height, level along the way, down until something carries it. In the air it is a parabola that slides along
//! what it meets. Speeds on the ground are **horizontal**: 3 m/s up a 40° slope is 3 m/s on the map.
//!
//! The rules in short. Ground steeper than the limit never carries: a walker on it slides down under gravity, and what
//! level speed it has into it is lost. What it stands on carries it along, turns about Y included, and it leaves with
//! that velocity. Dynamic bodies are walls that it pushes with a bounded force. Walkers never push one another: each
//! of two keeps to its half of the gap. What moves into a walker pushes it out, raised ground lifts it out upwards.

mod config;
mod crowd;
mod flight;
mod mover;
mod obstacles;
mod place;
mod pushes;
mod solid;
mod stride;
mod swim;
#[cfg(test)]
mod tests;

pub use config::{WalkerConfig, WalkerConfigError};
pub use obstacles::{Obstacle, ObstacleError, ObstacleKind, Obstacles};
pub use place::{lift_out, place};
pub use pushes::{Push, Pushes, merge_pushes};

use glam::DVec3;
use highground_terrain::surface::{Coverage, Ground};
use mover::Mover;
use serde::{Deserialize, Serialize};

/// Where a walker is and how it moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WalkerState {
    /// The capsule's centre, in metres.
    #[serde(with = "as_array")]
    pub position: DVec3,
    /// Metres a second. While something carries it: level, and over that.
    #[serde(with = "as_array")]
    pub velocity: DVec3,
    /// Whether something carries it.
    pub grounded: bool,
    /// Whether its capsule is the small one.
    #[serde(default)]
    pub crouched: bool,
    /// Whether it swims; never together with `grounded`.
    #[serde(default)]
    pub swimming: bool,
    /// The obstacle that carries it; `None` on the ground and where nothing does.
    #[serde(default)]
    pub carrier: Option<u64>,
}

/// What a player or a bot wants of its walker in one tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WalkCommand {
    /// East, in 1/127 of the full speed.
    pub x: i8,
    /// South, in 1/127 of the full speed.
    pub z: i8,
    /// Run instead of walk.
    pub run: bool,
    /// Jump if something carries it; swim up.
    pub jump: bool,
    /// Crouch, until there is room to stand up and this is false; dive.
    #[serde(default)]
    pub crouch: bool,
}

impl WalkCommand {
    /// The wanted direction, level, its length clamped to 1.
    pub fn direction(self) -> DVec3 {
        let d = DVec3::new(f64::from(self.x) / 127.0, 0.0, f64::from(self.z) / 127.0);
        let squared = d.length_squared();
        if squared > 1.0 { d / squared.sqrt() } else { d }
    }
}

/// Where a walker moves: what one tick is a function of besides state and command.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// The resident ground.
    pub ground: &'a Ground,
    /// Everything else that it can meet, at the start of the tick.
    pub obstacles: &'a Obstacles,
    /// The walker's own id among them.
    pub me: Option<u64>,
    /// How deep the water is under its middle, in metres; 0 where it is dry.
    pub water_depth: f64,
    /// Scales the commanded speed (surface layers do).
    pub speed_factor: f64,
}

impl<'a> Surroundings<'a> {
    /// Dry ground and nothing else.
    pub fn ground(ground: &'a Ground) -> Self {
        Self { ground, obstacles: const { &Obstacles::NONE }, me: None, water_depth: 0.0, speed_factor: 1.0 }
    }
}

/// What one tick made of a walker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WalkStep {
    /// The state after the tick; the unchanged one unless the coverage is Complete.
    pub state: WalkerState,
    /// Whether all the ground that the move touches was there.
    pub coverage: Coverage,
    /// Metres covered on the map while something carried it; being carried along does not count.
    pub walked_m: f64,
    /// The dynamic bodies that it pushed.
    pub pushes: Pushes,
}

/// Moves a walker for `dt` seconds over dry ground with nothing on it. See [`walk_among`].
pub fn walk(
    ground: &Ground,
    config: &WalkerConfig,
    speed_factor: f64,
    state: &WalkerState,
    command: WalkCommand,
    dt: f64,
) -> WalkStep {
    let around = Surroundings { speed_factor, ..Surroundings::ground(ground) };
    walk_among(&around, config, state, command, dt)
}

/// Moves a walker for `dt` seconds; the obstacles must have been made for the same time.
///
/// Where a block that the move touches is missing, the state is returned unchanged with the coverage that says so; a
/// `dt` that is not positive changes nothing, nor does any number that is none.
pub fn walk_among(
    around: &Surroundings<'_>,
    config: &WalkerConfig,
    state: &WalkerState,
    command: WalkCommand,
    dt: f64,
) -> WalkStep {
    let unchanged = |coverage| WalkStep { state: *state, coverage, walked_m: 0.0, pushes: Pushes::default() };
    let numbers = [dt, around.speed_factor].iter().all(|v| v.is_finite());
    if !numbers || dt <= 0.0 || !state.position.is_finite() || !state.velocity.is_finite() {
        return unchanged(Coverage::Complete);
    }
    let mut tick = Tick { mover: Mover::new(around, config, state.crouched), around, command, dt };
    match tick.advance(state) {
        Ok((state, walked_m)) => {
            WalkStep { state, coverage: Coverage::Complete, walked_m, pushes: tick.mover.pushes }
        }
        Err(coverage) => unchanged(coverage),
    }
}

/// Where a way of moving ended.
#[derive(Clone, Copy, Debug)]
struct Moved {
    position: DVec3,
    velocity: DVec3,
    grounded: bool,
    carrier: Option<u64>,
}

/// An overlap with the ground deeper than this is not rounding or a graze: it was raised, in metres.
const RAISED_M: f64 = 0.01;

/// One tick of one walker.
struct Tick<'a> {
    mover: Mover<'a>,
    around: &'a Surroundings<'a>,
    command: WalkCommand,
    dt: f64,
}

impl Tick<'_> {
    fn advance(&mut self, state: &WalkerState) -> Result<(WalkerState, f64), Coverage> {
        let lifted = self.lifted(state)?;
        let (carried, under) = self.carried(lifted, state)?;
        // No walker comes farther than this, so others farther off need no looking at.
        let config = self.mover.config;
        let fastest = config.run_speed.max(config.crouch_speed) * self.around.speed_factor.max(1.0);
        let speed = state.velocity.length() + under.length() + fastest + config.jump_speed;
        let reach = (speed + config.gravity * self.dt) * self.dt;
        self.mover.meet_crowd(carried, reach.max(config.step_height));
        let mut start = self.mover.freed(carried)?;
        let water = self.mover.water(start, self.around.water_depth);
        let swam = state.swimming;
        let swims = water.filter(|water| self.mover.swims(water, start, swam));
        let crouched = self.posture(&mut start, state.crouched, self.command.crouch && swims.is_none());
        let moved = match swims {
            Some(water) if !(self.command.jump && swam && self.mover.at_surface(&water, start)) => {
                let velocity = state.velocity + under;
                let moved = self.mover.swim(start, velocity, &water, self.command, self.dt)?;
                return Ok((made(moved, crouched, true), 0.0));
            }
            // Out of the water as from the ground.
            Some(_) => self.walk(start, DVec3::ZERO, true, state, crouched)?,
            None => self.walk(start, under, state.grounded, state, crouched)?,
        };
        let way = moved.position - start;
        let walked_m = if state.grounded { (way.x * way.x + way.z * way.z).sqrt() } else { 0.0 };
        Ok((made(moved, crouched, false), walked_m))
    }

    /// Walks, jumps or flies; `under` is the velocity of what carries the walker.
    fn walk(
        &mut self,
        from: DVec3,
        under: DVec3,
        grounded: bool,
        state: &WalkerState,
        crouched: bool,
    ) -> Result<Moved, Coverage> {
        let (config, command) = (self.mover.config, self.command);
        let speed = match (crouched, command.run) {
            (true, _) => config.crouch_speed,
            (false, true) => config.run_speed,
            (false, false) => config.walk_speed,
        };
        let wanted = command.direction() * (speed * self.around.speed_factor);
        if !grounded {
            let velocity = steered(state.velocity, wanted, config.air_acceleration * self.dt);
            return self.mover.fly(from, velocity, self.dt);
        }
        if command.jump && !crouched {
            let velocity = DVec3::new(wanted.x, config.jump_speed, wanted.z) + under;
            return self.mover.fly(from, velocity, self.dt);
        }
        let mut stride = self.mover.stride(from, wanted, self.dt)?;
        if !stride.moved.grounded {
            stride.moved.velocity += under;
        }
        if stride.moved.grounded || stride.time_left <= 0.0 {
            return Ok(stride.moved);
        }
        self.mover.fly(stride.moved.position, stride.moved.velocity, stride.time_left)
    }

    /// The position of a walker that stands on the ground, straight up out of ground that was raised, even over its
    /// head.
    fn lifted(&self, state: &WalkerState) -> Result<DVec3, Coverage> {
        let p = state.position;
        if !state.grounded || state.carrier.is_some() {
            return Ok(p);
        }
        let feet = p.y - self.mover.centre_height();
        let height = self.around.ground.point(p.x, p.z).ok().and_then(|answer| answer.height());
        // The axis of a walker that stands never meets ground as high as its feet but at the lowest point.
        if height.is_none_or(|height| height <= feet + RAISED_M) {
            return Ok(p);
        }
        Ok(self.mover.settled(p.x, p.z)?.map_or(p, |(up, _)| if up.y > p.y { up } else { p }))
    }

    /// Along with what carries the walker, as far as nothing is in the way; and the velocity of that.
    fn carried(&self, from: DVec3, state: &WalkerState) -> Result<(DVec3, DVec3), Coverage> {
        let carrier = state.carrier.filter(|_| state.grounded);
        let Some(item) = carrier.and_then(|id| self.around.obstacles.find(id)) else {
            return Ok((from, DVec3::ZERO));
        };
        let way = item.carry(from, self.dt) - from;
        if way == DVec3::ZERO {
            return Ok((from, DVec3::ZERO));
        }
        let ground = self.mover.cast_ground(from, way)?;
        let hit = self.mover.cast_obstacles(from, way, carrier, ground);
        Ok((from + way * hit.map_or(1.0, |hit| hit.fraction), way / self.dt))
    }

    /// Crouches or, where there is room, stands up; the feet stay where they are.
    fn posture(&mut self, centre: &mut DVec3, crouched: bool, wanted: bool) -> bool {
        let config = self.mover.config;
        let taller = config.half_height - config.crouch_half_height;
        let stays = match (crouched, wanted) {
            (false, true) => {
                centre.y -= taller;
                true
            }
            (true, false) if self.mover.headroom(*centre, 2.0 * taller) >= 2.0 * taller => {
                centre.y += taller;
                false
            }
            (now, _) => return now,
        };
        self.mover.posture(stays);
        stays
    }
}

fn made(moved: Moved, crouched: bool, swimming: bool) -> WalkerState {
    let Moved { position, velocity, grounded, carrier } = moved;
    WalkerState { position, velocity, grounded, crouched, swimming, carrier: carrier.filter(|_| grounded) }
}

/// Air control: the level velocity changes towards the wanted one by at most `most`. Without a wish it is kept.
fn steered(velocity: DVec3, wanted: DVec3, most: f64) -> DVec3 {
    if wanted == DVec3::ZERO {
        return velocity;
    }
    let change = wanted - DVec3::new(velocity.x, 0.0, velocity.z);
    let length = change.length();
    velocity + if length > most { change * (most / length) } else { change }
}

/// Vectors as arrays of three numbers.
mod as_array {
    use glam::DVec3;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(v: &DVec3, serializer: S) -> Result<S::Ok, S::Error> {
        v.to_array().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<DVec3, D::Error> {
        <[f64; 3]>::deserialize(deserializer).map(DVec3::from_array)
    }
}
