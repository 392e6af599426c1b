//! Putting a walker onto the ground, and out of ground that changed.

use super::mover::Mover;
use super::{RAISED_M, Surroundings, WalkerConfig, WalkerState};
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

/// A walker whose feet were over the `old` ground and are under the `new`, straight up out of it and off whatever
/// carried it; every other as it is. One that fell through a hole stays under the ground, and one that stands on the
/// ground is lifted when it next moves.
pub fn lift_out(old: &Ground, new: &Ground, config: &WalkerConfig, state: &WalkerState) -> WalkerState {
    let p = state.position;
    if state.grounded && state.carrier.is_none() {
        return *state;
    }
    let mover = Mover::new(&Surroundings::ground(new), config, state.crouched);
    let feet = p.y - mover.centre_height();
    let height = |ground: &Ground| ground.point(p.x, p.z).ok().and_then(|answer| answer.height());
    let was_over = height(old).is_some_and(|before| feet >= before - RAISED_M);
    if !was_over || height(new).is_none_or(|now| now <= feet + RAISED_M) {
        return *state;
    }
    match mover.settled(p.x, p.z) {
        Ok(Some((up, _))) if up.y > p.y => {
            let velocity = DVec3::new(state.velocity.x, state.velocity.y.max(0.0), state.velocity.z);
            WalkerState { position: up, velocity, grounded: false, carrier: None, ..*state }
        }
        _ => *state,
    }
}
