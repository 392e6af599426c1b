//! Contacts of one convex shape with the ground: which points touch, how deep, and along which true normal.
//!
//! Works triangle by triangle, but asks the real neighbours of each ([`super::feature`]) so that a seam between flush
//! triangles is never felt and a ridge or a rim always is. The surface is one-sided: a shape whose centre is below a
//! triangle's plane is left alone by it, but for a rim under it, unless it was in contact the step before: then it has
//! come from above and is pushed out until it is wholly below. Never keeps anything between calls.
//!
//! Balls use their exact closest point. Shapes with polygonal faces (cuboids, capsules, cylinders, cones, hulls, and
//! their rounded forms) give their lowest face or edge, clipped to the prism over each triangle; where the closest
//! feature of the ground is a ridge or rim, the contact is there instead.

use super::feature::{
    Across, FLUSH_SINE, Feature, admits, closest_point, feature_at, on_feature, surroundings,
};
use super::half_space::Deepest;
use super::pair;
use super::search;
use crate::coord::CellPos;
use crate::surface::{Ground, Tile, Tri, Triangle};
use arrayvec::ArrayVec;
use glam::DVec3;
use parry3d_f64::bounding_volume::BoundingVolume;
use parry3d_f64::math::Pose;
use parry3d_f64::query::ClosestPoints;
use parry3d_f64::query::details::contact_support_map_support_map_with_params;
use parry3d_f64::query::gjk::{GJKResult, VoronoiSimplex};
use parry3d_f64::shape::{self, PolygonalFeature, PolygonalFeatureMap, Shape, SupportMap};
use std::ops::ControlFlow;

/// A face contact deeper than this (m) is only believed after a look at the shortest way out.
const DEEP: f64 = 0.01;

/// The same for flat shapes, which stand on edge beside a face more often than they lie in it.
const DEEP_FLAT: f64 = 0.001;

/// A face contact this much (m) further off than the closest points has missed them.
const SHORT: f64 = 0.001;

/// A face contact more than this many times deeper than the shortest way out is none of this triangle's.
const DEEPER_THAN_WAY_OUT: f64 = 5.0;

/// How far (as a sine) a normal may pass a neighbour and still count as admitted: for exact closest points, and for
/// iterative ones.
const SLACK_EXACT: f64 = 1e-6;
const SLACK_ITERATED: f64 = 1e-3;

/// How far (m) iterated closest points may be from the true ones.
const WITNESS_ERROR: f64 = 2e-6;

/// Points closer than this (m) are one.
const SAME_POINT: f64 = 1e-7;

/// At most this many points of a shape's face over one triangle: a square cut by three planes, and its lowest point.
const MAX_POINTS: usize = 8;

/// One touching point, in the terrain's frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Touch {
    /// On the ground.
    pub(super) ground: DVec3,
    /// On the shape's surface.
    pub(super) shape: DVec3,
    /// Along the normal; negative when it penetrates.
    pub(super) dist: f64,
}

/// The touching points that share a normal on one triangle, or on flush ones after merging.
#[derive(Clone, Debug)]
pub(super) struct Patch {
    /// From the ground to the shape, in the terrain's frame.
    pub(super) normal: DVec3,
    /// Whether the normal is the triangle's own: flush patches merge.
    pub(super) face: bool,
    /// The triangle's cell.
    pub(super) cell: CellPos,
    /// Which of the cell's two.
    pub(super) triangle: Triangle,
    /// The points.
    pub(super) points: ArrayVec<Touch, MAX_POINTS>,
}

impl Patch {
    fn new(tri: &Tri, normal: DVec3, face: bool) -> Self {
        Self { normal, face, cell: tri.cell, triangle: tri.triangle, points: ArrayVec::new() }
    }

    fn add(&mut self, touch: Touch, prediction: f64) {
        let known =
            self.points.iter().any(|p| p.shape.distance_squared(touch.shape) < SAME_POINT * SAME_POINT);
        if touch.dist <= prediction && !known {
            // A full patch keeps what it has: clipping cannot give more than it holds.
            let _ = self.points.try_push(touch);
        }
    }
}

/// The patches of a convex shape at `pose` (its frame in the terrain's) within `prediction`, by (z, x, triangle).
/// `touched` says whether it had any the step before.
pub(super) fn patches(
    ground: &Ground,
    pose: &Pose,
    shape: &dyn Shape,
    prediction: f64,
    touched: bool,
    out: &mut Vec<Patch>,
) {
    let from = out.len();
    if let Some(ball) = shape.as_ball() {
        let aabb = shape.compute_aabb(pose).loosened(prediction);
        let ball = BallAt { center: pose.translation, radius: ball.radius, prediction, touched };
        search::each_in(ground, &aabb, |tile, tri| {
            ball.patch(tile, tri, out);
            ControlFlow::Continue(())
        });
    } else if let Some((core, radius)) = shape.as_polygonal_feature_map() {
        body_patches(ground, (shape, core, radius), pose, prediction, touched, out);
    } else if let Some(map) = shape.as_support_map() {
        body_patches(ground, (shape, &Corners(map), 0.0), pose, prediction, touched, out);
    }
    if out.len() == from && shape.ccd_thickness() == 0.0 {
        out.extend(flat_patch(ground, pose, shape, prediction));
    }
    // The walk goes block by block; the order of the manifolds must not know about blocks. A triangle has at most one patch
    // of its face and one of its edges.
    out[from..].sort_unstable_by_key(|p| (p.cell.z, p.cell.x, p.triangle, p.face));
}

fn body_patches(
    ground: &Ground,
    (shape, core, radius): (&dyn Shape, &dyn PolygonalFeatureMap, f64),
    pose: &Pose,
    prediction: f64,
    touched: bool,
    out: &mut Vec<Patch>,
) {
    let center = pose * shape.compute_local_bounding_sphere().center;
    let flat = shape.ccd_thickness() == 0.0;
    let body = Body { core, radius, pose, center, prediction, touched, flat };
    search::each_in(ground, &shape.compute_aabb(pose).loosened(prediction), |tile, tri| {
        body.patch(tile, tri, out);
        ControlFlow::Continue(())
    });
}

/// What a triangle or segment that has found no contact touches after all: its iterated closest points are the least
/// reliable, and a stick over an edge must not be lost between two steps. The nearest triangle decides, if the shape lies
/// over it.
fn flat_patch(ground: &Ground, pose: &Pose, shape: &dyn Shape, prediction: f64) -> Option<Patch> {
    let (_, tri) = pair::nearest(ground, pose, shape, prediction).ok()??;
    let found = pair::closest_points(ground, pose, shape, &tri, prediction).ok()?;
    let ClosestPoints::WithinMargin(on, q) = found else { return None };
    let off = pose * q;
    let (way, dist) = (off - on, off.distance(on));
    if way.y <= SLACK_ITERATED * dist {
        return None;
    }
    let mut patch = Patch::new(&tri, way / dist, false);
    patch.add(Touch { ground: on, shape: off, dist }, prediction);
    (!patch.points.is_empty()).then_some(patch)
}

/// A half-space touches the ground in its deepest corner.
pub(super) fn of_half_space(deepest: &Deepest, prediction: f64) -> Option<Patch> {
    let mut patch = Patch::new(&deepest.tri, -deepest.normal, false);
    patch.add(Touch { ground: deepest.corner, shape: deepest.foot, dist: deepest.height }, prediction);
    (!patch.points.is_empty()).then_some(patch)
}

/// A convex shape of which nothing but its support function is known: it touches in single points.
struct Corners<'a>(&'a dyn SupportMap);

impl SupportMap for Corners<'_> {
    fn local_support_point(&self, dir: DVec3) -> DVec3 {
        self.0.local_support_point(dir)
    }
}

impl PolygonalFeatureMap for Corners<'_> {
    fn local_support_feature(&self, dir: DVec3, out: &mut PolygonalFeature) {
        out.vertices[0] = self.0.local_support_point(dir);
        out.num_vertices = 1;
    }
}

/// A ball in the terrain's frame.
struct BallAt {
    center: DVec3,
    radius: f64,
    prediction: f64,
    touched: bool,
}

impl BallAt {
    /// The contact of a ball is at the closest point of the whole surface: a triangle whose closest point is on an edge
    /// or vertex keeps quiet when a neighbour comes closer.
    fn patch(&self, tile: &Tile, tri: &Tri, out: &mut Vec<Patch>) {
        let (p, feature) = closest_point(&tri.vertices, self.center);
        let away = self.center - p;
        let length = away.length();
        if length - self.radius > self.prediction {
            return;
        }
        let n = tri.normal();
        let below = n.dot(self.center - tri.vertices[0]) < 0.0;
        let (d, distance) = match feature {
            Feature::Face if below => (n, -length),
            Feature::Face => (n, length),
            _ if length < SAME_POINT => (n, length),
            _ => (away / length, length),
        };
        let rim = feature != Feature::Face && rim_in(&surroundings(tile, tri, n), feature);
        // Squeezed below the bottom of a valley or pit, nearest to its edge: each face pushes along its own normal.
        let squeezed = feature != Feature::Face && below && !rim && self.touched && length < self.radius;
        if squeezed {
            let mut patch = Patch::new(tri, n, true);
            let shape = self.center - n * self.radius;
            let height = n.dot(self.center - tri.vertices[0]);
            patch.add(Touch { ground: p, shape, dist: height - self.radius }, self.prediction);
            push(out, patch);
            return;
        }
        if feature != Feature::Face {
            let front = if rim { d.y >= -SLACK_ITERATED } else { !below };
            if !front || !admits(tile, tri, feature, p, d, SLACK_EXACT) {
                return;
            }
        } else if below && !(self.touched && length < self.radius) {
            return;
        }
        let mut patch = Patch::new(tri, d, feature == Feature::Face);
        let touch = Touch { ground: p, shape: self.center - d * self.radius, dist: distance - self.radius };
        patch.add(touch, self.prediction);
        push(out, patch);
    }
}

/// Whether a feature is part of a rim of the triangle. A rim is the top of a wall: below it the ground is as solid as
/// elsewhere, so it pushes up or sideways whichever way its own face leans, and never down.
fn rim_in(across: &[Across; 3], feature: Feature) -> bool {
    match feature {
        Feature::Face => false,
        Feature::Edge(i) => across[i] == Across::Rim,
        Feature::Vertex(i) => across[i] == Across::Rim || across[(i + 2) % 3] == Across::Rim,
    }
}

/// Adds a patch unless it is empty or another triangle of the same ridge, rim or seam has reported the same point.
fn push(out: &mut Vec<Patch>, patch: Patch) {
    let Some(first) = patch.points.first() else { return };
    let known = |other: &Patch| {
        other.normal.distance_squared(patch.normal) < 1e-12
            && other.points.iter().any(|p| p.shape.distance_squared(first.shape) < SAME_POINT * SAME_POINT)
    };
    if patch.face || !out.iter().any(known) {
        out.push(patch);
    }
}

/// A convex shape: a core with polygonal features, and a radius around it.
struct Body<'a> {
    core: &'a dyn PolygonalFeatureMap,
    radius: f64,
    pose: &'a Pose,
    center: DVec3,
    prediction: f64,
    touched: bool,
    /// Without thickness: a triangle or a segment.
    flat: bool,
}

/// The closest (or least deep) points of a triangle and a body's core.
#[derive(Clone, Copy)]
struct Witness {
    ground: DVec3,
    core: DVec3,
    normal: DVec3,
    dist: f64,
}

impl Body<'_> {
    fn patch(&self, tile: &Tile, tri: &Tri, out: &mut Vec<Patch>) {
        let n = tri.normal();
        let a = tri.vertices[0];
        let lowest = self.support(-n);
        if n.dot(lowest - a) - self.radius > self.prediction {
            return;
        }
        let across = surroundings(tile, tri, n);
        let below = n.dot(self.center - a) < 0.0;
        let sunk = below && self.touched && n.dot(self.support(n) - a) + self.radius > 0.0;
        if below && !sunk && !across.contains(&Across::Rim) {
            return;
        }
        let sharp = across.iter().any(|e| matches!(e, Across::Ridge | Across::Rim));
        let mut witness = None;
        if sharp {
            // Without a witness the shape is out of reach of the whole triangle.
            let Some(w) = self.witness(tri) else { return };
            let tilted = n.cross(w.normal).length() > FLUSH_SINE || n.dot(w.normal) < 0.0;
            if tilted && let Some(ridge) = self.ridge_patch(tile, tri, &w) {
                push(out, ridge);
                return;
            }
            witness = Some(w);
        }
        if below && !sunk {
            return;
        }
        let face = self.face_patch(tri, n, &across, lowest);
        let deepest = face.points.iter().fold(f64::MAX, |d, p| d.min(p.dist));
        if deepest < if self.flat { -DEEP_FLAT } else { -DEEP } {
            let Some(w) = witness.or_else(|| self.witness(tri)) else { return };
            // For what has sunk the shortest way out may be down, but that is the wrong way.
            let through = sunk && w.normal.dot(n) < -0.5;
            if !through && deepest < DEEPER_THAN_WAY_OUT * w.dist.min(0.0) {
                return;
            }
        }
        if let Some(w) = witness
            && (face.points.is_empty() || deepest > w.dist + SHORT)
            && let Some(ridge) = self.ridge_patch(tile, tri, &w)
        {
            // In the wedge between two nearly flush prisms no face has the point; their edge does. And past a rim the
            // corners of a round shape's polygon can miss what its true outline touches.
            push(out, ridge);
        }
        push(out, face);
    }

    /// The core's furthest point along a direction of the terrain's frame.
    fn support(&self, dir: DVec3) -> DVec3 {
        self.pose * self.core.local_support_point(self.pose.rotation.inverse() * dir)
    }

    fn witness(&self, tri: &Tri) -> Option<Witness> {
        let [a, b, c] = tri.vertices;
        let triangle = shape::Triangle::new(a, b, c);
        let middle = (a + b + c) / 3.0;
        let start = (self.center - middle).normalize_or(DVec3::Y);
        let found = |start: DVec3| {
            let found = contact_support_map_support_map_with_params(
                self.pose,
                &triangle,
                self.core,
                self.prediction + self.radius,
                &mut VoronoiSimplex::new(),
                Some(start),
            );
            match found {
                GJKResult::ClosestPoints(ground, core, normal) if normal.is_finite() => {
                    Some(Witness { ground, core, normal, dist: (core - ground).dot(normal) - self.radius })
                }
                _ => None,
            }
        };
        if !self.flat {
            return found(start);
        }
        // Between two flat shapes the search can lose its way or stop short: the best of three starts.
        let starts = [start, DVec3::Y, tri.normal().cross(start)];
        starts.into_iter().filter_map(found).min_by(|a, b| a.dist.abs().total_cmp(&b.dist.abs()))
    }

    /// The contact with an edge or vertex, if the witness lies on one whose surroundings admit its normal.
    fn ridge_patch(&self, tile: &Tile, tri: &Tri, w: &Witness) -> Option<Patch> {
        let d = w.normal;
        let size = tri.vertices[0].distance(tri.vertices[1]);
        let feature = feature_at(&tri.vertices, w.ground, 1e-6 * size);
        // Exactly on the feature: from a point that is off it by rounding, it lies in any direction.
        let on = on_feature(&tri.vertices, feature, w.ground);
        // Every normal of the upper side points up. On a ridge so sharp that the faces' normals are more than a right angle
        // apart, it may point away from either face's.
        if feature == Feature::Face || d.y < -SLACK_ITERATED || w.dist > self.prediction {
            return None;
        }
        // The closer the closest points are, the less their difference says about a direction.
        let slack = SLACK_ITERATED + WITNESS_ERROR / (w.dist + self.radius).abs().max(WITNESS_ERROR);
        if !admits(tile, tri, feature, on, d, slack) {
            return None;
        }
        let mut patch = Patch::new(tri, d, false);
        if let Feature::Edge(i) = feature {
            self.edge_points(tri.vertices[i], tri.vertices[(i + 1) % 3], w, &mut patch);
        }
        if patch.points.len() < 2 {
            let touch = Touch { ground: w.ground, shape: w.core - d * self.radius, dist: w.dist };
            patch.points.clear();
            patch.add(touch, self.prediction);
        }
        Some(patch)
    }

    /// The shape's face or edge that looks along `dir` (terrain frame) near `hint`, in the terrain's frame.
    fn support_polygon(&self, dir: DVec3, hint: DVec3) -> ArrayVec<DVec3, 4> {
        let mut polygon = PolygonalFeature::default();
        let (dir, hint) = (self.pose.rotation.inverse() * dir, self.pose.inverse_transform_point(hint));
        self.core.local_support_feature_toward(dir, hint, &mut polygon);
        polygon.vertices[..polygon.num_vertices.min(4)].iter().map(|&v| self.pose * v).collect()
    }

    /// Where the ground's edge from `a` to `b` runs along the shape's face or edge that looks at it.
    fn edge_points(&self, a: DVec3, b: DVec3, w: &Witness, patch: &mut Patch) {
        let d = w.normal;
        let polygon = self.support_polygon(-d, w.core);
        let ab = b - a;
        if let [p, q] = polygon[..] {
            let pq = q - p;
            // Only edges that run side by side touch in more than a point.
            if pq.cross(ab).length() > 0.2 * pq.length() * ab.length() {
                return;
            }
            let at = |x: DVec3| (x - a).dot(ab) / ab.length_squared();
            let (lo, hi) = (at(p).min(at(q)).max(0.0), at(p).max(at(q)).min(1.0));
            for s in [lo, hi] {
                let (on_edge, along) = (a + ab * s, at(q) - at(p));
                let on_core = p + pq * (((s - at(p)) / along).clamp(0.0, 1.0));
                if lo <= hi && on_core.is_finite() {
                    self.touch_along(d, on_edge, on_core, patch);
                }
            }
        } else if polygon.len() >= 3 {
            let m = (polygon[1] - polygon[0]).cross(polygon[2] - polygon[0]).normalize_or_zero();
            if m.dot(d).abs() < 0.1 {
                return;
            }
            let middle = polygon.iter().sum::<DVec3>() / polygon.len() as f64;
            let (mut lo, mut hi) = (0.0f64, 1.0f64);
            for i in 0..polygon.len() {
                let (p, q) = (polygon[i], polygon[(i + 1) % polygon.len()]);
                let side = (q - p).cross(d);
                let side = if side.dot(middle - p) > 0.0 { -side } else { side };
                let (s0, s1) = (side.dot(a - p), side.dot(b - p));
                match (s0 > 0.0, s1 > 0.0) {
                    (true, true) => return,
                    (false, false) => {}
                    (true, false) => lo = lo.max(s0 / (s0 - s1)),
                    (false, true) => hi = hi.min(s0 / (s0 - s1)),
                }
            }
            for s in [lo, hi] {
                let on_edge = a + ab * s;
                if lo <= hi {
                    let on_core = on_edge + d * (m.dot(polygon[0] - on_edge) / m.dot(d));
                    self.touch_along(d, on_edge, on_core, patch);
                }
            }
        }
    }

    fn touch_along(&self, d: DVec3, on_edge: DVec3, on_core: DVec3, patch: &mut Patch) {
        let dist = d.dot(on_core - on_edge) - self.radius;
        patch.add(Touch { ground: on_edge, shape: on_core - d * self.radius, dist }, self.prediction);
    }

    /// The part of the shape's lowest face or edge over the triangle, with the triangle's own normal.
    fn face_patch(&self, tri: &Tri, n: DVec3, across: &[Across; 3], lowest: DVec3) -> Patch {
        let sides: [(DVec3, DVec3); 3] = std::array::from_fn(|i| {
            let (a, b) = (tri.vertices[i], tri.vertices[(i + 1) % 3]);
            // Between nearly flush faces the prisms share a wall, so that together they leave no gap.
            let up = if let Across::Flush(m) = across[i] { n + m } else { n };
            (a, (b - a).cross(up).normalize_or_zero())
        });
        let mut polygon: ArrayVec<DVec3, MAX_POINTS> = self.support_polygon(-n, lowest).into_iter().collect();
        for &(a, side) in &sides {
            polygon = clip(&polygon, a, side);
        }
        let mut patch = Patch::new(tri, n, true);
        let over = |p: DVec3| sides.iter().all(|&(a, side)| side.dot(p - a) <= SAME_POINT);
        for p in polygon.into_iter().chain(over(lowest).then_some(lowest)) {
            let height = n.dot(p - tri.vertices[0]);
            let touch =
                Touch { ground: p - n * height, shape: p - n * self.radius, dist: height - self.radius };
            patch.add(touch, self.prediction);
        }
        patch
    }
}

/// The part of a convex polygon (or segment, or point) that is not beyond the plane through `a` with outward normal
/// `side`. Sutherland and Hodgman, "Reentrant polygon clipping", CACM 1974.
fn clip(polygon: &[DVec3], a: DVec3, side: DVec3) -> ArrayVec<DVec3, MAX_POINTS> {
    let mut out = ArrayVec::new();
    for i in 0..polygon.len() {
        let (p, q) = (polygon[i], polygon[(i + 1) % polygon.len()]);
        let (sp, sq) = (side.dot(p - a), side.dot(q - a));
        if sp <= 0.0 {
            let _ = out.try_push(p);
        }
        if (sp < 0.0 && sq > 0.0) || (sp > 0.0 && sq < 0.0) {
            let _ = out.try_push(p + (q - p) * (sp / (sp - sq)));
        }
    }
    out
}
