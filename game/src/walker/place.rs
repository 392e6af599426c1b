//! Putting a walker onto the ground.

use super::mover::Mover;
use super::{WalkerConfig, WalkerState};
use glam::DVec3;
use highground_terrain::state::AnswerState;
use highground_terrain::surface::{Coverage, Ground};
use std::ops::ControlFlow;

/// A walker at rest on the ground at (x, z), in metres. `grounded` is false where the ground is too steep to carry it.
///
/// `None` where there is no ground: a hole, outside the extent, missing blocks, or no position at all.
pub fn place(ground: &Ground, config: &WalkerConfig, x: f64, z: f64) -> Option<WalkerState> {
    let answer = ground.point(x, z).ok()?;
    if answer.state != AnswerState::Valid {
        return None;
    }
    let low = answer.height()?;
    // From above everything that the capsule's outline can touch.
    let reach = config.radius + config.skin;
    let cells = ground.cells_meeting(x - reach, z - reach, x + reach, z + reach);
    let mut high = low;
    let coverage = ground.visit_triangles(cells, f64::NEG_INFINITY, f64::INFINITY, |_, tri| {
        high = tri.vertices.iter().fold(high, |y, v| y.max(v.y));
        ControlFlow::Continue(())
    });
    if coverage != Coverage::Complete {
        return None;
    }
    let mover = Mover::new(ground, config);
    let from = DVec3::new(x, high + 2.0 * config.centre_height(), z);
    // The point under the axis is ground, so the capsule meets something before it is down there.
    let drop = DVec3::new(0.0, low - from.y, 0.0);
    let hit = mover.cast(from, drop).ok()??;
    let position = from + drop * hit.fraction;
    let grounded = mover.carries(&hit, position, f64::INFINITY).ok()?;
    Some(WalkerState { position, velocity: DVec3::ZERO, grounded })
}
