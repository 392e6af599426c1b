//! Finding triangles: inside a box, nearest to a shape, first met by a moving box, furthest along a direction.
//!
//! Never decides what a contact is.

use crate::coord::{BlockPos, CellRect};
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

/// A triangle's box.
pub(super) fn tri_box(tri: &Tri) -> Aabb {
    let [a, b, c] = tri.vertices;
    Aabb::new(a.min(b).min(c), a.max(b).max(c))
}

/// The distance between two boxes, 0 when they meet.
pub(super) fn box_distance(a: &Aabb, b: &Aabb) -> f64 {
    (a.mins - b.maxs).max(b.mins - a.maxs).max(DVec3::ZERO).length()
}

/// The triangle with the least `distance` to a shape with these bounds, if any is within `limit`. `distance` may
/// never be less than the distance between the boxes of triangle and shape, nor below 0.
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
            let least = best.map_or(limit, |(b, _)| b);
            // A little more than it, since the boxes are rounded.
            if box_distance(aabb, &tri_box(tri)) > least + 1e-6 {
                return ControlFlow::Continue(());
            }
            let d = distance(tile, tri);
            if d <= limit && best.is_none_or(|(b, _)| d < b) {
                best = Some((d, *tri));
            }
            // Nothing is nearer than what touches.
            if d <= 0.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
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

/// At most the distance from anything in a box to the resident surface; infinite when it is over `limit`.
pub(super) fn gap(ground: &Ground, aabb: &Aabb, limit: f64) -> f64 {
    nearest(ground, aabb, limit, |_, tri| box_distance(aabb, &tri_box(tri))).map_or(f64::INFINITY, |n| n.0)
}

/// When a moving box is over another: the first and the last time, which may lie before 0.
pub(super) fn overlap_times(aabb: &Aabb, velocity: DVec3, other: &Aabb) -> Option<(f64, f64)> {
    let (mut enter, mut leave) = (f64::NEG_INFINITY, f64::INFINITY);
    for i in 0..3 {
        let (first, last) = (other.mins[i] - aabb.maxs[i], other.maxs[i] - aabb.mins[i]);
        if velocity[i] == 0.0 {
            if first > 0.0 || last < 0.0 {
                return None;
            }
            continue;
        }
        let (a, b) = (first / velocity[i], last / velocity[i]);
        enter = enter.max(a.min(b));
        leave = leave.min(a.max(b));
    }
    (enter <= leave).then_some((enter, leave))
}

/// Visits the triangles that a box may meet on its way up to the time `end`, in pieces of the way, until `f`, which
/// says up to which time the answer is still open, has it before the next piece. A triangle may come more than once.
pub(super) fn each_on_way(
    ground: &Ground,
    start: &Aabb,
    velocity: DVec3,
    end: f64,
    mut f: impl FnMut(&Tri) -> ControlFlow<(), f64>,
) {
    let Some((from, to)) = overlap_times(start, velocity, &world_bounds(ground)) else { return };
    let (mut t, end) = (from.max(0.0), to.min(end));
    let stride = start.extents().max_element().max(2.0 * ground.config().spacing_m());
    let step = stride / velocity.length();
    let mut open = f64::INFINITY;
    while t <= end {
        let next = (t + step).min(end);
        let (a, b) = (moved(start, velocity * t), moved(start, velocity * next));
        let swept = Aabb::new(a.mins.min(b.mins), a.maxs.max(b.maxs));
        let mut done = false;
        each_in(ground, &swept, |_, tri| match f(tri) {
            ControlFlow::Continue(until) => {
                open = until;
                ControlFlow::Continue(())
            }
            ControlFlow::Break(()) => {
                done = true;
                ControlFlow::Break(())
            }
        });
        // A step of no length (no velocity, or times too large to add to) ends the walk as well.
        if done || open <= next || next >= end || next <= t {
            break;
        }
        t = next;
    }
}

fn moved(aabb: &Aabb, by: DVec3) -> Aabb {
    // No velocity over endless time is no motion.
    let by = if by.is_finite() { by } else { DVec3::ZERO };
    Aabb::new(aabb.mins + by, aabb.maxs + by)
}

/// At most the time at which anything in a moving box meets the resident surface; infinite when it is after `end`.
pub(super) fn box_time(ground: &Ground, aabb: &Aabb, velocity: DVec3, end: f64) -> f64 {
    let mut best = f64::INFINITY;
    each_on_way(ground, aabb, velocity, end, |tri| {
        if let Some((enter, leave)) = overlap_times(aabb, velocity, &tri_box(tri))
            && leave >= 0.0
        {
            best = best.min(enter.max(0.0));
        }
        if best == 0.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(best) }
    });
    if best <= end { best } else { f64::INFINITY }
}

/// The bounds of what is resident; `None` when nothing is.
pub(super) fn resident_bounds(ground: &Ground) -> Option<Aabb> {
    let [blocks_x, blocks_z] = ground.config().blocks(ground.side()).map(|b| b as i32);
    let all = (0..blocks_z).flat_map(|z| (0..blocks_x).map(move |x| BlockPos::new(x, z)));
    let ranges = all.filter_map(|pos| ground.tile(pos)?.min_max());
    let (low, high) = ranges.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
    let (mut world, quantum) = (world_bounds(ground), ground.config().quantum.metres());
    (world.mins.y, world.maxs.y) = (f64::from(low) * quantum, f64::from(high) * quantum);
    Some(world)
}

/// The corner of the resident surface that lies least far along `direction` (unit): how far, which triangle's, where.
pub(super) fn lowest(ground: &Ground, direction: DVec3) -> Option<(f64, Tri, DVec3)> {
    let [blocks_x, blocks_z] = ground.config().blocks(ground.side()).map(|b| b as i32);
    let (e, s) = (ground.config().extent, ground.config().spacing_m());
    let quantum = ground.config().quantum.metres();
    let mut best: Option<(f64, Tri, DVec3)> = None;
    for pos in (0..blocks_z).flat_map(|z| (0..blocks_x).map(move |x| BlockPos::new(x, z))) {
        let Some((low, high)) = ground.tile(pos).and_then(|tile| tile.min_max()) else { continue };
        let (first, n) = (ground.side().first_sample(pos), ground.side().samples());
        let cells = CellRect {
            x0: first.x.max(e.x0),
            z0: first.z.max(e.z0),
            x1: (first.x + n).min(e.x1),
            z1: (first.z + n).min(e.z1),
        };
        let corner = |x: i32, q: i32, z: i32| {
            DVec3::new(f64::from(x) * s, f64::from(q) * quantum, f64::from(z) * s) * direction
        };
        let (a, b) = (corner(cells.x0, low, cells.z0), corner(cells.x1, high, cells.z1));
        // The corner of the block's box that is least far along the direction.
        if best.is_some_and(|(d, ..)| a.min(b).element_sum() >= d) {
            continue;
        }
        ground.visit_triangles(cells, f64::MIN, f64::MAX, |_, tri| {
            for v in tri.vertices {
                let d = direction.dot(v);
                if best.is_none_or(|(least, ..)| d < least) {
                    best = Some((d, tri, v));
                }
            }
            ControlFlow::Continue(())
        });
    }
    best
}
