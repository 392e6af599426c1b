//! Finding triangles: inside a box, and nearest to a shape.
//!
//! Never decides what a contact is.

use crate::surface::{Ground, Tile, Tri};
use glam::DVec3;
use parry3d_f64::bounding_volume::Aabb;
use std::ops::ControlFlow;

/// Visits the visible triangles whose boxes may meet `aabb` (terrain frame), in the order of
/// [`Ground::visit_triangles`].
pub(super) fn each_in(ground: &Ground, aabb: &Aabb, mut f: impl FnMut(&Tile, &Tri) -> ControlFlow<()>) {
    let cells = ground.cells_meeting(aabb.mins.x, aabb.mins.z, aabb.maxs.x, aabb.maxs.z);
    ground.visit_triangles(cells, aabb.mins.y, aabb.maxs.y, |tile, tri| f(tile, &tri));
}

/// The bounds of everything that a terrain of this configuration could ever hold, whatever is resident.
pub(super) fn world_bounds(ground: &Ground) -> Aabb {
    let [mins, maxs] = ground.bounds();
    Aabb::new(mins, maxs)
}

/// The triangle with the least `distance` to a shape with these bounds, if any is within `limit`. `distance` may
/// never be less than the distance between the boxes of triangle and shape.
pub(super) fn nearest(
    ground: &Ground,
    aabb: &Aabb,
    limit: f64,
    mut distance: impl FnMut(&Tile, &Tri) -> f64,
) -> Option<(f64, Tri)> {
    let world = world_bounds(ground);
    let mut reach = ground.config().spacing_m().min(limit);
    loop {
        let near = Aabb::new(aabb.mins - DVec3::splat(reach), aabb.maxs + DVec3::splat(reach));
        let mut best: Option<(f64, Tri)> = None;
        each_in(ground, &near, |tile, tri| {
            let d = distance(tile, tri);
            if d <= limit && best.is_none_or(|(b, _)| d < b) {
                best = Some((d, *tri));
            }
            ControlFlow::Continue(())
        });
        let all = near.mins.cmple(world.mins).all() && near.maxs.cmpge(world.maxs).all();
        match best {
            Some((d, _)) if d <= reach => return best,
            _ if all || reach >= limit || !reach.is_finite() => return best,
            Some((d, _)) => reach = d,
            None => reach = (reach * 2.0).min(limit),
        }
    }
}
