//! Components: plain data on hecs entities. No component points at another; systems find entities by network id.

use crate::way::Way;
use glam::{DQuat, DVec3};
use highground_terrain::parry::math::Pose;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The stable name of an entity: derived from the key it joined with, the same in every run and on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NetId(pub u64);

impl NetId {
    /// The id of a player or object key: the first eight bytes of its blake3 hash, little-endian.
    pub fn of_key(key: &str) -> Self {
        let hash = blake3::hash(key.as_bytes());
        let mut first = [0; 8];
        first.copy_from_slice(&hash.as_bytes()[..8]);
        Self(u64::from_le_bytes(first))
    }
}

impl std::fmt::Display for NetId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Where a character comes back after it was lost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spawn {
    /// Metres east.
    pub x: f64,
    /// Metres south.
    pub z: f64,
}

/// A character that is to appear at a place whose ground may not be published yet. It is gated until it stands.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arriving {
    /// Metres east.
    pub x: f64,
    /// Metres south.
    pub z: f64,
    /// Places around home that gave no standing room so far.
    pub tries: u32,
}

/// Whether the body is held because ground that it may touch is not Published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// Held in this tick.
    pub held: bool,
}

/// What the ground under a character's feet does to it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Footing {
    /// The surface layer, read from the weight chain.
    pub layer: u8,
    /// What walking and running speeds are multiplied by.
    pub speed_factor: f64,
}

impl Default for Footing {
    fn default() -> Self {
        Self { layer: 0, speed_factor: 1.0 }
    }
}

/// A rolling ball: position, attitude and velocities in metres, radians and seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ball {
    /// Metres.
    pub radius: f64,
    /// Centre.
    pub position: DVec3,
    /// Attitude.
    pub rotation: DQuat,
    /// Metres a second. Kept while the ball is held.
    pub velocity: DVec3,
    /// Radians a second. Kept while the ball is held.
    pub spin: DVec3,
}

/// A box that the physics moves: size, density, position, attitude and velocities in metres, kilograms, radians and
/// seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crate {
    /// Half its sides.
    pub half_extents: DVec3,
    /// Kilograms a cubic metre.
    pub density: f64,
    /// Centre.
    pub position: DVec3,
    /// Attitude.
    pub rotation: DQuat,
    /// Metres a second. Kept while the crate is held.
    pub velocity: DVec3,
    /// Radians a second. Kept while the crate is held.
    pub spin: DVec3,
}

/// A box on its way.
#[derive(Clone, Debug, PartialEq)]
pub struct Platform {
    /// Half its sides, metres.
    pub half_extents: DVec3,
    /// The tick it came in.
    pub since: u64,
    /// Where it goes.
    pub way: Arc<Way>,
}

impl Platform {
    /// Where it is at the start of a tick; before it came, where it came.
    pub fn pose(&self, tick: u64) -> Pose {
        self.way.pose(tick.saturating_sub(self.since))
    }

    /// How fast its middle moves and it turns about Y over a tick: metres and radians a second.
    pub fn motion(&self, tick: u64) -> (DVec3, f64) {
        let way = self.pose(tick + 1).translation - self.pose(tick).translation;
        (way / crate::config::TICK_SECONDS, self.way.turn)
    }
}

/// The entity's place in the physics world. Never hashed: handles depend on the physics world's own history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhysicsBody(pub rapier3d_f64::dynamics::RigidBodyHandle);
