//! Bodies over ground that an edit raised: straight up by as much as the ground under them rose at most.
//!
//! A body that was clear of the old ground is then clear of the new. One that had fallen through a hole that is filled stays
//! below, as a walker does. Never moves a body sideways, never changes a velocity.

use glam::DVec3;
use highground_terrain::parry::bounding_volume::Aabb;
use highground_terrain::surface::Ground;
use std::ops::ControlFlow;

/// How far a body with these bounds is to be lifted, in metres; 0 where the ground did not rise into them.
pub(super) fn raised(old: &Ground, new: &Ground, bounds: &Aabb) -> f64 {
    let height = |ground: &Ground, x: f64, z: f64| ground.point(x, z).ok().and_then(|answer| answer.height());
    let middle = bounds.center();
    // One that was below the ground, or where there was none, fell through a hole.
    if height(old, middle.x, middle.z).is_none_or(|was| middle.y < was) {
        return 0.0;
    }
    let mut rise = 0.0_f64;
    let mut compare = |v: DVec3| {
        if let Some(was) = height(old, v.x, v.z) {
            rise = rise.max(v.y - was);
        }
    };
    let cells = new.cells_meeting(bounds.mins.x, bounds.mins.z, bounds.maxs.x, bounds.maxs.z);
    let mut meets = false;
    for ground in [new, old] {
        // Both surfaces are linear between the corners of both, where the difference is therefore greatest.
        ground.visit_triangles(cells, f64::MIN, f64::MAX, |_, triangle| {
            for corner in triangle.vertices {
                let now = height(new, corner.x, corner.z).unwrap_or(f64::MIN);
                meets |= now > bounds.mins.y;
                compare(DVec3::new(corner.x, now, corner.z));
            }
            ControlFlow::Continue(())
        });
    }
    if meets { rise.max(0.0) } else { 0.0 }
}
