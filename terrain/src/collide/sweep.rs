//! Moving convex shapes against the ground, for the engine: linear casts, and the sweeps of continuous collision detection.
//!
//! Casts are two-sided, as the engine's own are; continuous detection is one-sided, as contacts are. Ground that is not
//! resident is nothing here: sessions gate bodies before they reach it.

use super::search::{self, box_distance, overlap_times, tri_box};
use super::shape::subshape_id;
use crate::surface::{Ground, Tri};
use arrayvec::ArrayVec;
use glam::DVec3;
use parry3d_f64::bounding_volume::{Aabb, BoundingVolume};
use parry3d_f64::math::Pose;
use parry3d_f64::query::details::ShapeCastOptions;
use parry3d_f64::query::sweep_toi::{Sweep, SweepToiOutput, SweepToiStatus, ToiProxy, sweep_time_of_impact};
use parry3d_f64::query::{
    DefaultQueryDispatcher, NonlinearRigidMotion, QueryDispatcher, ShapeCastHit, ShapeCastStatus, Unsupported,
};
use parry3d_f64::shape::{Shape, SupportMap, Triangle, TypedShape};
use std::ops::ControlFlow;

/// Two circles of sixteen corners.
type Cloud = ArrayVec<DVec3, 32>;

/// How far (m) from the surface continuous detection stops a body: the engine's own default.
pub(super) const SLOP: f64 = 0.005;

/// The part of a shape's thickness that must not pass a surface it already touches.
const CORE: f64 = 0.5;

/// How much of the way to a surface a centre may go in one step when it would pass.
const NEARLY: f64 = 0.9;

/// How far (as a part of its sides) beyond a triangle's edges a centre's path still counts as through it, so that a path
/// through an edge is seen by a neighbour at least.
const EDGE: f64 = 1e-9;

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
    let mut best: Option<ShapeCastHit> = None;
    let mut failed = None;
    search::each_on_way(ground, &start, velocity, options.max_time_of_impact, |tri| {
        let limit = best.map_or(options.max_time_of_impact, |b| b.time_of_impact);
        let open = best.map_or(f64::INFINITY, |b| b.time_of_impact);
        // Not met by the box, or after what is known already.
        if !meets_before(&start, velocity, tri, limit) {
            return ControlFlow::Continue(open);
        }
        let options = ShapeCastOptions { max_time_of_impact: limit, ..options };
        match cast_triangle(pose, velocity, tri, shape, options) {
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
        ControlFlow::Continue(best.map_or(f64::INFINITY, |b| b.time_of_impact))
    });
    if failed.is_some() { Err(Unsupported) } else { Ok(best) }
}

/// The engine's cast against one triangle. Between flat shapes that almost touch it may say that they do: then it is asked
/// again from halfway there.
fn cast_triangle(
    pose: &Pose,
    velocity: DVec3,
    tri: &Tri,
    shape: &dyn Shape,
    options: ShapeCastOptions,
) -> Result<Option<ShapeCastHit>, Unsupported> {
    let (d, triangle) = (DefaultQueryDispatcher, parry_triangle(tri));
    let hit = d.cast_shapes(pose, velocity, &triangle, shape, options)?;
    let flat = shape.ccd_thickness() == 0.0;
    if !flat || hit.is_none_or(|h| h.time_of_impact > 0.0) {
        return Ok(hit);
    }
    let apart = d.distance(pose, &triangle, shape)?.distance - options.target_distance;
    let later = 0.5 * apart / velocity.length();
    if apart < 1e-6 || !later.is_finite() || later >= options.max_time_of_impact {
        return Ok(hit);
    }
    let moved = Pose::from_parts(pose.translation + velocity * later, pose.rotation);
    let max_time_of_impact = options.max_time_of_impact - later;
    let options = ShapeCastOptions { max_time_of_impact, ..options };
    let hit = d.cast_shapes(&moved, velocity, &triangle, shape, options)?;
    Ok(hit.map(|h| ShapeCastHit { time_of_impact: h.time_of_impact + later, ..h }))
}

/// Whether a moving box, grown by a micrometre, meets a triangle's box before `limit`.
fn meets_before(start: &Aabb, velocity: DVec3, tri: &Tri, limit: f64) -> bool {
    overlap_times(&start.loosened(1e-6), velocity, &tri_box(tri))
        .is_some_and(|(enter, leave)| leave >= 0.0 && enter <= limit)
}

/// The box of all places of a box that moves along a sweep: the straight way of the centre and, around it, both ends of
/// the turn and the arc between them.
pub(super) fn swept_box(local: &Aabb, sweep: &Sweep) -> Aabb {
    let around = Aabb::new(local.mins - sweep.local_center, local.maxs - sweep.local_center);
    let turned = |q| around.transform_by(&Pose::from_parts(DVec3::ZERO, q));
    let ends = turned(sweep.q1).merged(&turned(sweep.q2));
    // An arc of a whole turn w leaves its chord by at most r (1 − cos w/2), and the scalar part of a rotation is cos w/2.
    let bulge = (1.0 - sweep.q1.dot(sweep.q2).abs()).max(0.0);
    let reach = around.mins.abs().max(around.maxs.abs()).length();
    let ends = ends.loosened(reach * bulge);
    Aabb::new(sweep.c1.min(sweep.c2) + ends.mins, sweep.c1.max(sweep.c2) + ends.maxs)
}

/// What moves: a convex shape as a cloud of points around its centre.
struct Moving<'a> {
    proxy: ToiProxy<'a>,
    centroid: DVec3,
    /// Must not pass a surface that the shape already touches.
    core: f64,
    /// The centre's way from start to end.
    way: [DVec3; 2],
}

impl Moving<'_> {
    /// When it reaches a triangle: the fraction of the way, up to `limit`.
    fn reach(&self, tri: &Tri, sweep: &Sweep, two_sided: bool, limit: f64) -> Option<SweepToiOutput> {
        let n = tri.normal();
        let height = |p: DVec3| n.dot(p - tri.vertices[0]);
        let [before, after] = self.way.map(height);
        if !two_sided && (before < 0.0 || (before - after < self.core && after > self.core)) {
            // From below, or sliding along it: nothing to stop.
            return None;
        }
        let resting = Sweep::constant(&Pose::IDENTITY, DVec3::ZERO);
        let target = ToiProxy::from_array(tri.vertices, 0.0);
        let mut hit = sweep_time_of_impact(&target, &resting, &self.proxy, sweep, limit, SLOP);
        if two_sided {
            return (hit.status != SweepToiStatus::Separated).then_some(hit);
        }
        if hit.status != SweepToiStatus::Separated && hit.fraction == 0.0 {
            // Touching already: its core must still not pass.
            let core = ToiProxy::point(self.centroid, self.core + SLOP);
            hit = sweep_time_of_impact(&target, &resting, &core, sweep, limit, SLOP);
        }
        let stops = hit.status != SweepToiStatus::Separated && hit.fraction > 0.0;
        let hit = stops.then_some(hit);
        // And if that touches too, or the search has missed the triangle, its centre must not.
        let passes = self.passes(tri, before, after).filter(|&f| hit.is_none_or(|h| f < h.fraction));
        let Some(passes) = passes else { return hit };
        // The engine takes no fraction of 0, which is what a centre on the surface would have.
        let fraction = (NEARLY * passes).max(f64::EPSILON);
        let point = self.way[0].lerp(self.way[1], fraction);
        let stop = SweepToiOutput { status: SweepToiStatus::Hit, fraction, point, normal: n };
        (fraction < limit).then_some(stop)
    }

    /// Where on its way the centre passes a triangle from above.
    fn passes(&self, tri: &Tri, before: f64, after: f64) -> Option<f64> {
        if before < 0.0 || after >= 0.0 {
            return None;
        }
        let fraction = before / (before - after);
        let p = self.way[0].lerp(self.way[1], fraction);
        let [a, b, c] = tri.vertices;
        let n = (b - a).cross(c - a);
        let inside = |from: DVec3, to: DVec3| (to - from).cross(p - from).dot(n) >= -EDGE * n.dot(n);
        (inside(a, b) && inside(b, c) && inside(c, a)).then_some(fraction)
    }
}

/// The first impact of a convex shape that moves over the terrain between two times. `two_sided` also reports what is
/// touched at the start.
pub(super) fn cast_nonlinear(
    ground: &Ground,
    terrain: &NonlinearRigidMotion,
    motion: &NonlinearRigidMotion,
    shape: &dyn Shape,
    times: (f64, f64),
    two_sided: bool,
) -> Result<Option<ShapeCastHit>, Unsupported> {
    let sweep = sweep_of(terrain, motion, times);
    let cloud;
    let proxy = match ToiProxy::from_shape(shape) {
        Some(proxy) => proxy,
        None => {
            cloud = rings(shape).ok_or(Unsupported)?;
            ToiProxy::from_points(&cloud.0, cloud.1)
        }
    };
    let aabb = shape.compute_local_aabb();
    let centroid = middle(shape, &proxy);
    let moving = Moving {
        proxy,
        centroid,
        core: (CORE * shape.ccd_thickness()).max(SLOP),
        way: [sweep.transform_at(0.0) * centroid, sweep.final_transform() * centroid],
    };
    let swept = swept_box(&aabb, &sweep).loosened(SLOP + SLOP);
    let mut best: Option<(SweepToiOutput, Tri)> = None;
    search::each_in(ground, &swept, |_, tri| {
        let limit = best.map_or(1.0, |b| b.0.fraction);
        if box_distance(&swept, &tri_box(tri)) <= 0.0
            && let Some(hit) = moving.reach(tri, &sweep, two_sided, limit)
            && (best.is_none() || hit.fraction < limit)
        {
            best = Some((hit, *tri));
        }
        ControlFlow::Continue(())
    });
    Ok(best.map(|(hit, tri)| {
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

/// The centre that must not pass the ground: of mass, or, for flat shapes, of the corners.
pub(super) fn middle(shape: &dyn Shape, proxy: &ToiProxy) -> DVec3 {
    let mass = shape.mass_properties(1.0);
    if mass.mass() > 0.0 {
        return mass.local_com;
    }
    proxy.points().iter().sum::<DVec3>() / proxy.points().len() as f64
}

/// The motion between two times, seen from the terrain: the centre straight, the turn by the shorter arc.
pub(super) fn sweep_of(
    terrain: &NonlinearRigidMotion,
    motion: &NonlinearRigidMotion,
    times: (f64, f64),
) -> Sweep {
    let at = |t: f64| terrain.position_at_time(t).inv_mul(&motion.position_at_time(t));
    Sweep::from_poses(&at(times.0), &at(times.1), motion.local_center)
}

/// Cylinders and cones as clouds of points: their circles as sixteen-gons, at most 2 % of the radius inside. Other convex
/// shapes, of the user's own, as the corners where their support reaches furthest along 26 directions.
fn rings(shape: &dyn Shape) -> Option<(Cloud, f64)> {
    let (radius, half_height, cone, border) = match shape.as_typed_shape() {
        TypedShape::Cylinder(c) => (c.radius, c.half_height, false, 0.0),
        TypedShape::Cone(c) => (c.radius, c.half_height, true, 0.0),
        TypedShape::RoundCylinder(r) => {
            (r.inner_shape.radius, r.inner_shape.half_height, false, r.border_radius)
        }
        TypedShape::RoundCone(r) => (r.inner_shape.radius, r.inner_shape.half_height, true, r.border_radius),
        _ => return shape.as_support_map().map(|map| (supports(map), 0.0)),
    };
    // Cosines of 0, 22.5, 45, 67.5 and 90 degrees.
    const COS: [f64; 5] =
        [1.0, 0.923_879_532_511_286_7, std::f64::consts::FRAC_1_SQRT_2, 0.382_683_432_365_089_8, 0.0];
    let mut points = Cloud::new();
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

fn supports(map: &dyn SupportMap) -> Cloud {
    let step = |i: i32| f64::from(i - 1);
    (0..27)
        .map(|i| DVec3::new(step(i % 3), step(i / 3 % 3), step(i / 9)))
        .filter(|d| *d != DVec3::ZERO)
        .map(|d| map.local_support_point(d))
        .collect()
}
