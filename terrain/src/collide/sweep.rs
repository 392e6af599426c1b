//! Moving shapes against the ground, for the engine: linear casts, and the sweeps of continuous collision detection.
//!
//! Casts are two-sided, as the engine's own are; continuous detection is one-sided, as contacts are. Ground that is not
//! resident is nothing here: sessions gate bodies before they reach it.

use super::search;
use super::shape::subshape_id;
use crate::surface::{Ground, Tri};
use glam::DVec3;
use parry3d_f64::bounding_volume::{Aabb, BoundingVolume};
use parry3d_f64::math::Pose;
use parry3d_f64::query::details::ShapeCastOptions;
use parry3d_f64::query::sweep_toi::{Sweep, SweepToiOutput, SweepToiStatus, ToiProxy, sweep_time_of_impact};
use parry3d_f64::query::{
    DefaultQueryDispatcher, NonlinearRigidMotion, QueryDispatcher, ShapeCastHit, ShapeCastStatus, Unsupported,
};
use parry3d_f64::shape::{Shape, Triangle, TypedShape};
use std::ops::ControlFlow;

/// How far (m) from the surface continuous detection stops a body: the engine's own default.
const SLOP: f64 = 0.005;

/// The part of a shape's thickness that must not pass a surface it already touches.
const CORE: f64 = 0.5;

pub(super) fn parry_triangle(tri: &Tri) -> Triangle {
    let [a, b, c] = tri.vertices;
    Triangle::new(a, b, c)
}

/// The first triangle that a shape at `pose` meets when it moves with `velocity`, both in the terrain's frame.
pub(super) fn cast_linear(
    ground: &Ground,
    pose: &Pose,
    velocity: DVec3,
    shape: &dyn Shape,
    options: ShapeCastOptions,
) -> Result<Option<ShapeCastHit>, Unsupported> {
    let start = shape.compute_aabb(pose).loosened(options.target_distance.max(0.0));
    let world = search::world_bounds(ground);
    let Some((from, to)) = overlap_times(&start, velocity, &world) else { return Ok(None) };
    let (mut t, end) = (from.max(0.0), to.min(options.max_time_of_impact));
    let stride = start.extents().max_element().max(2.0 * ground.config().spacing_m());
    let step = stride / velocity.length();
    let mut best: Option<ShapeCastHit> = None;
    let mut failed = None;
    while t <= end {
        let next = (t + step).min(end);
        let swept = moved(&start, velocity * t).merged(&moved(&start, velocity * next));
        search::each_in(ground, &swept, |_, tri| {
            let limit = best.map_or(options.max_time_of_impact, |b| b.time_of_impact);
            let options = ShapeCastOptions { max_time_of_impact: limit, ..options };
            match DefaultQueryDispatcher.cast_shapes(pose, velocity, &parry_triangle(tri), shape, options) {
                Ok(Some(mut hit)) if best.is_none_or(|b| hit.time_of_impact < b.time_of_impact) => {
                    hit.subshape1 = subshape_id(ground, tri.cell, tri.triangle);
                    best = Some(hit);
                }
                Ok(_) => {}
                Err(Unsupported) => {
                    failed = Some(Unsupported);
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        });
        if failed.is_some() {
            return Err(Unsupported);
        }
        // A step of no length (no velocity, or times too large to add to) ends the walk as well.
        if best.is_some_and(|b| b.time_of_impact <= next) || next >= end || next <= t {
            break;
        }
        t = next;
    }
    Ok(best)
}

fn moved(aabb: &Aabb, by: DVec3) -> Aabb {
    // No velocity over endless time is no motion.
    let by = if by.is_finite() { by } else { DVec3::ZERO };
    Aabb::new(aabb.mins + by, aabb.maxs + by)
}

/// When a moving box meets a resting one.
fn overlap_times(aabb: &Aabb, velocity: DVec3, world: &Aabb) -> Option<(f64, f64)> {
    let (mut enter, mut leave) = (f64::NEG_INFINITY, f64::INFINITY);
    for i in 0..3 {
        let (gap, rest) = (world.mins[i] - aabb.maxs[i], world.maxs[i] - aabb.mins[i]);
        if velocity[i] == 0.0 {
            if gap > 0.0 || rest < 0.0 {
                return None;
            }
            continue;
        }
        let (a, b) = (gap / velocity[i], rest / velocity[i]);
        enter = enter.max(a.min(b));
        leave = leave.min(a.max(b));
    }
    (enter <= leave).then_some((enter, leave))
}

/// The first impact of a convex shape that moves from one pose to another (terrain frame) about its `center`.
/// `fraction` of the way in 0..=1.
fn sweep_convex(
    ground: &Ground,
    shape: &dyn Shape,
    proxy: &ToiProxy,
    sweep: &Sweep,
    two_sided: bool,
) -> Option<(SweepToiOutput, Tri)> {
    let sphere = shape.compute_local_bounding_sphere();
    let reach = sphere.center.distance(sweep.local_center) + sphere.radius + SLOP;
    let swept =
        Aabb::new(sweep.c1.min(sweep.c2) - DVec3::splat(reach), sweep.c1.max(sweep.c2) + DVec3::splat(reach));
    let centroid = shape.mass_properties(1.0).local_com;
    let core = (CORE * shape.ccd_thickness()).max(SLOP);
    let (first, last) = (sweep.transform_at(0.0) * centroid, sweep.final_transform() * centroid);
    let mut best: Option<(SweepToiOutput, Tri)> = None;
    search::each_in(ground, &swept, |_, tri| {
        let n = tri.normal();
        let (before, after) = (n.dot(first - tri.vertices[0]), n.dot(last - tri.vertices[0]));
        if !two_sided && (before < 0.0 || (before - after < core && after > core)) {
            // From below, or sliding along it: nothing to stop.
            return ControlFlow::Continue(());
        }
        let resting = Sweep::constant(&Pose::IDENTITY, DVec3::ZERO);
        let limit = best.map_or(1.0, |b| b.0.fraction);
        let target = ToiProxy::from_array(tri.vertices, 0.0);
        let mut hit = sweep_time_of_impact(&target, &resting, proxy, sweep, limit, SLOP);
        if hit.fraction == 0.0 && !two_sided {
            // Touching already: its core must still not pass.
            let core = ToiProxy::point(centroid, core + SLOP);
            hit = sweep_time_of_impact(&target, &resting, &core, sweep, limit, SLOP);
        }
        let real = hit.status != SweepToiStatus::Separated && (two_sided || hit.fraction > 0.0);
        if real && (best.is_none() || hit.fraction < limit) {
            best = Some((hit, *tri));
        }
        ControlFlow::Continue(())
    });
    best
}

/// The first impact of a shape (or of the parts of a compound) that moves over the terrain between two times.
/// `two_sided` also reports what is touched at the start.
pub(super) fn cast_nonlinear(
    ground: &Ground,
    terrain: &NonlinearRigidMotion,
    motion: &NonlinearRigidMotion,
    shape: &dyn Shape,
    times: (f64, f64),
    two_sided: bool,
) -> Result<Option<ShapeCastHit>, Unsupported> {
    if let Some(compound) = shape.as_compound() {
        let mut best: Option<ShapeCastHit> = None;
        for (i, (frame, part)) in compound.shapes().iter().enumerate() {
            let moving = motion.prepend(*frame);
            let hit = cast_nonlinear(ground, terrain, &moving, part.as_ref(), times, two_sided)?;
            if let Some(hit) = hit
                && best.is_none_or(|b| hit.time_of_impact < b.time_of_impact)
            {
                best = Some(in_part(hit, i as u32, frame));
            }
        }
        return Ok(best);
    }
    let at = |t: f64| terrain.position_at_time(t).inv_mul(&motion.position_at_time(t));
    let (start, end) = (at(times.0), at(times.1));
    let sweep = Sweep::from_poses(&start, &end, motion.local_center);
    let cloud;
    let proxy = match ToiProxy::from_shape(shape) {
        Some(proxy) => proxy,
        None => {
            cloud = rings(shape).ok_or(Unsupported)?;
            ToiProxy::from_points(&cloud.0, cloud.1)
        }
    };
    Ok(sweep_convex(ground, shape, &proxy, &sweep, two_sided).map(|(hit, tri)| {
        let pose = sweep.transform_at(hit.fraction);
        ShapeCastHit {
            time_of_impact: times.0 + hit.fraction * (times.1 - times.0),
            witness1: hit.point,
            witness2: pose.inverse_transform_point(hit.point),
            normal1: hit.normal,
            normal2: pose.rotation.inverse() * -hit.normal,
            status: ShapeCastStatus::Converged,
            subshape1: subshape_id(ground, tri.cell, tri.triangle),
            subshape2: 0,
        }
    }))
}

/// Cylinders and cones as clouds of points: their circles as sixteen-gons, at most 2 % of the radius inside.
fn rings(shape: &dyn Shape) -> Option<(Vec<DVec3>, f64)> {
    let (radius, half_height, cone, border) = match shape.as_typed_shape() {
        TypedShape::Cylinder(c) => (c.radius, c.half_height, false, 0.0),
        TypedShape::Cone(c) => (c.radius, c.half_height, true, 0.0),
        TypedShape::RoundCylinder(r) => {
            (r.inner_shape.radius, r.inner_shape.half_height, false, r.border_radius)
        }
        TypedShape::RoundCone(r) => (r.inner_shape.radius, r.inner_shape.half_height, true, r.border_radius),
        _ => return None,
    };
    // Cosines of 0, 22.5, 45, 67.5 and 90 degrees.
    const COS: [f64; 5] =
        [1.0, 0.923_879_532_511_286_7, std::f64::consts::FRAC_1_SQRT_2, 0.382_683_432_365_089_8, 0.0];
    let mut points = Vec::with_capacity(32);
    for i in 0..4 {
        let (c, s) = (COS[i] * radius, COS[4 - i] * radius);
        for (x, z) in [(c, s), (-s, c), (-c, -s), (s, -c)] {
            points.push(DVec3::new(x, -half_height, z));
            if !cone {
                points.push(DVec3::new(x, half_height, z));
            }
        }
    }
    if cone {
        points.push(DVec3::new(0.0, half_height, 0.0));
    }
    Some((points, border))
}

/// A hit of a compound's part, told in the compound's frame.
pub(super) fn in_part(hit: ShapeCastHit, part: u32, frame: &Pose) -> ShapeCastHit {
    ShapeCastHit {
        witness2: frame * hit.witness2,
        normal2: frame.rotation * hit.normal2,
        subshape2: part,
        ..hit
    }
}
