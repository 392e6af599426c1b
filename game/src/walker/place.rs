//! Putting a walker onto the ground.

use super::mover::Mover;
use super::{Surroundings, WalkerConfig, WalkerState};
use glam::DVec3;
use highground_terrain::surface::Ground;

/// A walker at rest on the ground at (x, z), in metres. `grounded` is false where the ground is too steep to carry it.
///
/// `None` where there is no ground: a hole, outside the extent, missing blocks, or no position at all.
pub fn place(ground: &Ground, config: &WalkerConfig, x: f64, z: f64) -> Option<WalkerState> {
    let mover = Mover::new(&Surroundings::ground(ground), config, false);
    let (position, hit) = mover.settled(x, z).ok()??;
    let grounded = mover.carries(&hit, position, f64::INFINITY).ok()?;
    Some(WalkerState { position, velocity: DVec3::ZERO, grounded, ..WalkerState::default() })
}
