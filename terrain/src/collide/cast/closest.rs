//! The closest points of one triangle and the core of a convex body.
//!
//! Everything is relative to the body's own position, so that its accuracy does not depend on how far out it stands.
//! Owns no iteration over the ground.

use crate::parry::math::Pose;
use crate::parry::query::ClosestPoints;
use crate::parry::query::details::closest_points_support_map_support_map;
use crate::parry::shape::{SupportMap, Triangle as ParryTriangle};
use crate::surface::Tri;
use glam::DVec3;

/// A triangle of the surface relative to the body, with its plane.
pub(super) struct Face {
    /// Counter-clockwise seen from above.
    pub(super) vertices: [DVec3; 3],
    /// Unit, up.
    pub(super) normal: DVec3,
}

impl Face {
    pub(super) fn new(tri: &Tri, origin: DVec3) -> Self {
        Self { vertices: tri.vertices.map(|v| v - origin), normal: tri.normal() }
    }

    /// The signed distance of a point from the plane; positive above.
    pub(super) fn height(&self, p: DVec3) -> f64 {
        self.normal.dot(p - self.vertices[0])
    }

    /// Whether the point's projection along the normal lies in the closed triangle.
    fn holds(&self, p: DVec3) -> bool {
        let [a, b, c] = self.vertices;
        let left = |from: DVec3, to: DVec3| (to - from).cross(p - from).dot(self.normal) >= 0.0;
        left(a, b) && left(b, c) && left(c, a)
    }
}

/// The core of a convex body at its rotation, relative to its position. The body is every point within a radius of it.
#[derive(Clone, Copy)]
pub(super) enum Core<'a> {
    /// A ball's centre (both ends equal) or a capsule's axis.
    Segment([DVec3; 2]),
    /// Any shape with a support function.
    Support(&'a dyn SupportMap, Pose),
}

/// Where a core is closest to a triangle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Closest {
    /// Between the triangle and the core; 0 when they meet.
    pub(super) distance: f64,
    /// Unit, from the triangle to the core; the face normal when they meet.
    pub(super) normal: DVec3,
    /// On the triangle.
    pub(super) point: DVec3,
    /// Whether the core itself reaches the triangle.
    pub(super) meets: bool,
}

impl Core<'_> {
    /// The lowest and highest extent of the core along a direction.
    pub(super) fn span(&self, direction: DVec3) -> (f64, f64) {
        match self {
            Core::Segment([p, q]) => {
                let (a, b) = (direction.dot(*p), direction.dot(*q));
                (a.min(b), a.max(b))
            }
            Core::Support(shape, pose) => {
                let local = pose.rotation.inverse() * direction;
                let along = |d: DVec3| direction.dot(pose.rotation * shape.local_support_point(d));
                (along(-local), along(local))
            }
        }
    }

    /// Closest points with the core moved by `offset`.
    pub(super) fn closest(&self, offset: DVec3, face: &Face) -> Closest {
        match self {
            Core::Segment([p, q]) => segment_triangle(*p + offset, *q + offset, face),
            Core::Support(shape, pose) => {
                let moved = Pose::from_parts(pose.translation + offset, pose.rotation);
                support_triangle(*shape, &moved, face)
            }
        }
    }
}

fn meeting(face: &Face, point: DVec3) -> Closest {
    Closest { distance: 0.0, normal: face.normal, point, meets: true }
}

fn support_triangle(shape: &dyn SupportMap, pose: &Pose, face: &Face) -> Closest {
    let [a, b, c] = face.vertices;
    let triangle = ParryTriangle::new(a, b, c);
    let lowest = || pose * shape.local_support_point(pose.rotation.inverse() * -face.normal);
    match closest_points_support_map_support_map(pose, &triangle, shape, f64::MAX) {
        ClosestPoints::WithinMargin(on_triangle, on_shape) => {
            let between = pose * on_shape - on_triangle;
            let distance = between.length();
            if distance > 0.0 {
                Closest { distance, normal: between / distance, point: on_triangle, meets: false }
            } else {
                meeting(face, on_triangle)
            }
        }
        // With an unlimited margin Disjoint never comes; both are answered as the deepest point on the plane.
        ClosestPoints::Intersecting | ClosestPoints::Disjoint => {
            let p = lowest();
            meeting(face, p - face.normal * face.height(p))
        }
    }
}

/// The closest points of a segment (or a point, when both ends are equal) and a triangle.
fn segment_triangle(p: DVec3, q: DVec3, face: &Face) -> Closest {
    let (hp, hq) = (face.height(p), face.height(q));
    let (near, h) = if hp.abs() <= hq.abs() { (p, hp) } else { (q, hq) };
    if hp * hq <= 0.0 {
        // The segment crosses the plane, or touches it.
        let t = if hp == hq { 0.0 } else { hp / (hp - hq) };
        let crossing = p + (q - p) * t;
        if face.holds(crossing) {
            return meeting(face, crossing);
        }
    } else if face.holds(near) {
        // No point of the segment is nearer to the plane than its near end.
        let normal = if h > 0.0 { face.normal } else { -face.normal };
        return Closest { distance: h.abs(), normal, point: near - face.normal * h, meets: false };
    }
    let [a, b, c] = face.vertices;
    let mut best = (f64::INFINITY, DVec3::ZERO, DVec3::ZERO);
    let mut consider = |core: DVec3, on: DVec3| {
        let d = (core - on).length_squared();
        if d < best.0 {
            best = (d, core, on);
        }
    };
    for (end, height) in [(p, hp), (q, hq)] {
        if face.holds(end) {
            consider(end, end - face.normal * height);
        }
    }
    for (from, to) in [(a, b), (b, c), (c, a)] {
        let (core, on) = segment_segment(p, q, from, to);
        consider(core, on);
    }
    let (squared, core, on) = best;
    let distance = squared.sqrt();
    if distance > 0.0 {
        Closest { distance, normal: (core - on) / distance, point: on, meets: false }
    } else {
        meeting(face, on)
    }
}

/// The closest points of two segments; the second has a length, the first may be a point. Minimises the squared
/// distance over the parameter square, clamping one parameter and then solving for the other.
fn segment_segment(p: DVec3, q: DVec3, a: DVec3, b: DVec3) -> (DVec3, DVec3) {
    let (u, v, w) = (q - p, b - a, p - a);
    let (uu, uv, vv, uw, vw) = (u.dot(u), u.dot(v), v.dot(v), u.dot(w), v.dot(w));
    if uu == 0.0 {
        return (p, a + v * (vw / vv).clamp(0.0, 1.0));
    }
    let determinant = uu * vv - uv * uv;
    // Parallel segments: any point of the first serves as a start.
    let mut s = if determinant > 0.0 { ((uv * vw - vv * uw) / determinant).clamp(0.0, 1.0) } else { 0.0 };
    let mut t = (uv * s + vw) / vv;
    if !(0.0..=1.0).contains(&t) {
        t = t.clamp(0.0, 1.0);
        s = ((uv * t - uw) / uu).clamp(0.0, 1.0);
    }
    (p + u * s, a + v * t)
}
