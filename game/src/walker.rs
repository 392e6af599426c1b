//! The walker: how a character moves over the ground, as one pure function of ground, state and command.
//!
//! Owns the rules of walking, stepping, sliding, jumping and falling; server and client share it. Never reads a
//! clock, a random number or anything else that moves; never loads ground: where a block is missing the state stays
//! as it is. Allocates nothing.
//!
//! A walker is an upright capsule with a thin skin: contacts are those of a capsule grown by [`WalkerConfig::skin`],
//! so at rest on flat ground its feet hover that far above it. On the ground a tick is lift, slide and drop: up by the
//! step height, level along the way, down until something carries it. In the air it is a parabola that slides along
//! what it meets. Speeds on the ground are **horizontal**: 3 m/s up a 40° slope is 3 m/s on the map.

mod config;
mod flight;
mod mover;
mod place;
mod stride;
#[cfg(test)]
mod tests;

pub use config::{WalkerConfig, WalkerConfigError};
pub use place::place;

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
    /// Metres a second; y is 0 while grounded.
    #[serde(with = "as_array")]
    pub velocity: DVec3,
    /// Whether the ground carries it.
    pub grounded: bool,
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
    /// Jump if the ground carries it.
    pub jump: bool,
}

impl WalkCommand {
    /// The wanted direction, level, its length clamped to 1.
    pub fn direction(self) -> DVec3 {
        let d = DVec3::new(f64::from(self.x) / 127.0, 0.0, f64::from(self.z) / 127.0);
        let squared = d.length_squared();
        if squared > 1.0 { d / squared.sqrt() } else { d }
    }
}

/// What one tick made of a walker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WalkStep {
    /// The state after the tick; the unchanged one unless the coverage is Complete.
    pub state: WalkerState,
    /// Whether all the ground that the move touches was there.
    pub coverage: Coverage,
    /// Metres covered on the map while the ground carried it.
    pub walked_m: f64,
}

/// Moves a walker for `dt` seconds.
///
/// `speed_factor` scales the commanded speed (surface layers do). Where a block that the move touches is missing, the
/// state is returned unchanged with the coverage that says so; a `dt` that is not positive changes nothing.
pub fn walk(
    ground: &Ground,
    config: &WalkerConfig,
    speed_factor: f64,
    state: &WalkerState,
    command: WalkCommand,
    dt: f64,
) -> WalkStep {
    let unchanged = |coverage| WalkStep { state: *state, coverage, walked_m: 0.0 };
    if dt.is_nan() || dt <= 0.0 {
        return unchanged(Coverage::Complete);
    }
    match advance(&Mover::new(ground, config), speed_factor, state, command, dt) {
        Ok(next) => {
            let way = next.position - state.position;
            let walked_m = if state.grounded { (way.x * way.x + way.z * way.z).sqrt() } else { 0.0 };
            WalkStep { state: next, coverage: Coverage::Complete, walked_m }
        }
        Err(coverage) => unchanged(coverage),
    }
}

fn advance(
    mover: &Mover,
    speed_factor: f64,
    state: &WalkerState,
    command: WalkCommand,
    dt: f64,
) -> Result<WalkerState, Coverage> {
    let config = mover.config;
    let position = mover.freed(state.position)?;
    let speed = if command.run { config.run_speed } else { config.walk_speed };
    let wanted = command.direction() * (speed * speed_factor);
    if !state.grounded {
        let velocity = steered(state.velocity, wanted, config.air_acceleration * dt);
        return mover.fly(position, velocity, dt);
    }
    if command.jump {
        return mover.fly(position, DVec3::new(wanted.x, config.jump_speed, wanted.z), dt);
    }
    let stride = mover.stride(position, wanted, dt)?;
    if stride.grounded || stride.time_left <= 0.0 {
        return Ok(stride.state());
    }
    mover.fly(stride.position, stride.velocity, stride.time_left)
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
