//! An upright capsule and one convex solid: closest points, contacts and casts.
//!
//! Everything is relative to the capsule's middle, so that accuracy does not depend on how far out it stands. Balls,
//! capsules and boxes by closed form, other shapes by parry's GJK. Never looks at the ground, never allocates.
//!
//! The distance between convex bodies is a convex function of the way along a straight path, so Newton's method from
//! the start approaches the first contact from before and never passes it (conservative advancement).

use glam::DVec3;
use highground_terrain::parry::bounding_volume::Aabb;
use highground_terrain::parry::math::Pose;
use highground_terrain::parry::query::ClosestPoints;
use highground_terrain::parry::query::details::{
    closest_points_support_map_support_map, contact_support_map_support_map,
};
use highground_terrain::parry::shape::{Cuboid, Segment, Shape, SupportMap};

/// What goes less deep than this only touches, in metres.
const TOUCH_M: f64 = 1e-8;
/// The same where GJK finds the closest points: it is blind to less.
const TOUCH_SUPPORT_M: f64 = 2e-6;
/// A way that closes in more slowly than this (metres a metre) runs along the solid.
const PARALLEL: f64 = 1e-9;
/// A way that closes in more slowly than this may only graze it.
const GRAZING: f64 = 1e-3;
/// A point this near to a face of a solid lies on it, in metres.
const ON_FACE_M: f64 = 1e-6;
/// Enough for a grazing contact, where every step of Newton's method quarters the gap.
const MAX_STEPS: u32 = 64;

/// An upright capsule: from the middle to the centre of either cap, and the radius.
#[derive(Clone, Copy, Debug)]
pub(super) struct Upright {
    pub(super) half: f64,
    pub(super) radius: f64,
}

impl Upright {
    /// The bounds at a position.
    pub(super) fn bounds(&self, at: DVec3) -> Aabb {
        let reach = DVec3::new(self.radius, self.radius + self.half, self.radius);
        Aabb::new(at - reach, at + reach)
    }

    /// The point of the capsule that is farthest along a direction.
    pub(super) fn support(&self, at: DVec3, direction: DVec3) -> DVec3 {
        at + DVec3::Y * self.half.copysign(direction.y) + direction * self.radius
    }
}

/// Where a capsule's axis is closest to a solid.
#[derive(Clone, Copy, Debug)]
pub(super) struct Closest {
    /// Between the axis and the solid; negative by how far the axis must move to leave it.
    pub(super) distance: f64,
    /// Unit, from the solid to the capsule.
    pub(super) normal: DVec3,
    /// On the solid, relative to the capsule's middle.
    pub(super) point: DVec3,
    /// The most upward of the solid's faces at that point.
    pub(super) face_normal: DVec3,
}

/// Where a cast meets a solid.
#[derive(Clone, Copy, Debug)]
pub(super) struct SolidHit {
    pub(super) fraction: f64,
    pub(super) normal: DVec3,
    pub(super) point: DVec3,
}

/// A solid at its pose in the world.
#[derive(Clone, Copy)]
pub(super) struct Solid<'a> {
    pub(super) shape: &'a dyn Shape,
    pub(super) pose: Pose,
}

impl Solid<'_> {
    /// The closest points with an axis of half length `half` around `at`.
    pub(super) fn closest(&self, half: f64, at: DVec3) -> Closest {
        let pose = Pose::from_parts(self.pose.translation - at, self.pose.rotation);
        if let Some(ball) = self.shape.as_ball() {
            round([pose.translation; 2], ball.radius, half)
        } else if let Some(capsule) = self.shape.as_capsule() {
            let ends = [capsule.segment.a, capsule.segment.b].map(|p| pose * p);
            round(ends, capsule.radius, half)
        } else if let Some(cuboid) = self.shape.as_cuboid() {
            boxed(cuboid, &pose, half)
        } else {
            general(self.shape, &pose, half)
        }
    }

    fn touch(&self) -> f64 {
        let shape = self.shape;
        let exact = shape.as_ball().is_some() || shape.as_capsule().is_some() || shape.as_cuboid().is_some();
        if exact { TOUCH_M } else { TOUCH_SUPPORT_M }
    }

    /// The first contact of a capsule on a way, up to a fraction of it. Contacts that the way leaves or runs along do
    /// not count.
    pub(super) fn cast(&self, body: Upright, from: DVec3, way: DVec3, limit: f64) -> Option<SolidHit> {
        let speed = way.length();
        let touch = self.touch();
        let mut t = 0.0;
        let mut last: Option<Closest> = None;
        for _ in 0..MAX_STEPS {
            let closest = self.closest(body.half, from + way * t);
            let gap = closest.distance - body.radius;
            let closing = -closest.normal.dot(way);
            // Convex: a body that does not close in now never will.
            if closing <= PARALLEL * speed {
                return None;
            }
            if last.is_none() && gap < -touch {
                return Some(SolidHit { fraction: 0.0, normal: closest.normal, point: from + closest.point });
            }
            // The tangent meets the radius before the distance does.
            let at = t;
            t += gap.max(0.0) / closing;
            if t > limit {
                return None;
            }
            last = Some(Closest { point: closest.point + way * at, ..closest });
            if gap <= 0.1 * touch {
                if closing < GRAZING * speed && !self.goes_deeper(body, from, way, t, touch) {
                    return None;
                }
                break;
            }
        }
        last.map(|c| SolidHit { fraction: t, normal: c.normal, point: from + c.point })
    }

    /// Whether a way that touches the solid at a fraction goes deeper into it than a touch.
    fn goes_deeper(&self, body: Upright, from: DVec3, way: DVec3, start: f64, touch: f64) -> bool {
        let mut t = start;
        for _ in 0..MAX_STEPS {
            let closest = self.closest(body.half, from + way * t);
            let gap = closest.distance - (body.radius - touch);
            if gap <= 0.0 {
                return true;
            }
            let closing = -closest.normal.dot(way);
            if closing <= 0.0 {
                return false;
            }
            t += (gap + 0.1 * touch) / closing;
            if t > 1.0 {
                return false;
            }
        }
        false
    }
}

/// A ball or a capsule around a segment.
fn round(ends: [DVec3; 2], radius: f64, half: f64) -> Closest {
    let (core, on) = axis_segment(half, ends[0], ends[1]);
    let between = core - on;
    let length = between.length();
    let normal = if length > 1e-12 { between / length } else { DVec3::Y };
    Closest { distance: length - radius, normal, point: on + normal * radius, face_normal: normal }
}

/// The closest points of the upright axis and a segment (or a point): on the axis, on the segment.
fn axis_segment(half: f64, a: DVec3, b: DVec3) -> (DVec3, DVec3) {
    let on_axis = |y: f64| DVec3::new(0.0, y.clamp(-half, half), 0.0);
    let v = b - a;
    let vv = v.length_squared();
    if vv == 0.0 {
        return (on_axis(a.y), a);
    }
    let on_segment = |p: DVec3| a + v * ((p - a).dot(v) / vv).clamp(0.0, 1.0);
    // Level distance from the axis is least where the level part of a + v·t is; parallel axes start at the lower end.
    let level = v.x * v.x + v.z * v.z;
    let t = if level > 0.0 { (-(a.x * v.x + a.z * v.z) / level).clamp(0.0, 1.0) } else { 0.0 };
    // Clamp one, then solve for the other: exact for two segments.
    let core = on_axis((a + v * t).y);
    let on = on_segment(core);
    (on_axis(on.y), on)
}

/// A box. The squared distance along the axis is convex and piecewise quadratic: its minimum is found from the slopes
/// at the places where the axis passes the planes of the faces.
fn boxed(cuboid: &Cuboid, pose: &Pose, half: f64) -> Closest {
    let inverse = pose.rotation.inverse();
    let h = cuboid.half_extents;
    let low = inverse * (DVec3::new(0.0, -half, 0.0) - pose.translation);
    let high = inverse * (DVec3::new(0.0, half, 0.0) - pose.translation);
    let way = high - low;
    let outside = |s: f64| {
        let p = low + way * s;
        p - p.clamp(-h, h)
    };
    let slope = |s: f64| outside(s).dot(way);
    let mut stops = arrayvec::ArrayVec::<f64, 8>::new();
    stops.push(0.0);
    for axis in 0..3 {
        for plane in [-h[axis], h[axis]] {
            let s = (plane - low[axis]) / way[axis];
            if s > 0.0 && s < 1.0 {
                stops.push(s);
            }
        }
    }
    stops.push(1.0);
    stops.sort_unstable_by(f64::total_cmp);
    let mut s = 1.0;
    let mut before = (0.0, slope(0.0));
    if before.1 >= 0.0 {
        s = 0.0;
    } else {
        for &stop in &stops[1..] {
            let here = slope(stop);
            if here >= 0.0 {
                // Linear between two stops, and it rises from below 0.
                s = before.0 + (stop - before.0) * (-before.1 / (here - before.1));
                break;
            }
            before = (stop, here);
        }
    }
    let (core, apart) = (low + way * s, outside(s));
    let distance = apart.length();
    if distance > 1e-12 {
        let on = core - apart;
        let normal = pose.rotation * (apart / distance);
        let face_normal = upward_face(pose, h, on, normal);
        return Closest { distance, normal, point: pose * on, face_normal };
    }
    // The axis is inside: out by the nearest face, of equals by the most upward one.
    let mut best: Option<(f64, DVec3, DVec3)> = None;
    for axis in 0..3 {
        for sign in [-1.0, 1.0] {
            let deepest = if low[axis] * sign < high[axis] * sign { low } else { high };
            let depth = h[axis] - deepest[axis] * sign;
            let mut local = DVec3::ZERO;
            local[axis] = sign;
            let normal = pose.rotation * local;
            if best.is_none_or(|(d, n, _)| depth < d || (depth == d && normal.y > n.y)) {
                best = Some((depth, normal, deepest + local * depth));
            }
        }
    }
    let (depth, normal, on) = best.expect("a box has six faces");
    Closest { distance: -depth, normal, point: pose * on, face_normal: normal }
}

/// The most upward of the box's faces that a point on its surface lies on.
fn upward_face(pose: &Pose, h: DVec3, on: DVec3, normal: DVec3) -> DVec3 {
    let mut best = normal;
    let mut found = false;
    for axis in 0..3 {
        if on[axis].abs() >= h[axis] - ON_FACE_M {
            let mut local = DVec3::ZERO;
            local[axis] = on[axis].signum();
            let face = pose.rotation * local;
            if !found || face.y > best.y {
                (best, found) = (face, true);
            }
        }
    }
    best
}

/// Any shape with a support function.
fn general(shape: &dyn Shape, pose: &Pose, half: f64) -> Closest {
    let axis = Segment::new(DVec3::new(0.0, -half, 0.0), DVec3::new(0.0, half, 0.0));
    let support: &dyn SupportMap = shape.as_support_map().expect("checked when the obstacle was made");
    let (distance, normal, point) =
        match closest_points_support_map_support_map(pose, &axis, support, f64::MAX) {
            ClosestPoints::WithinMargin(core, on) if (core - pose * on).length_squared() > 0.0 => {
                let between = core - pose * on;
                let length = between.length();
                (length, between / length, pose * on)
            }
            _ => match contact_support_map_support_map(pose, &axis, support, 0.0) {
                // From the axis into the solid; the distance is negative by the depth.
                Some(contact) => (contact.dist.min(0.0), -contact.normal1, pose * contact.point2),
                None => (0.0, DVec3::Y, DVec3::ZERO),
            },
        };
    let mut face_normal = normal;
    if let Some(hull) = shape.as_convex_polyhedron() {
        let on = pose.inverse_transform_point(point);
        for face in hull.faces() {
            let first = hull.vertices_adj_to_face()[face.first_vertex_or_edge as usize];
            let above = face.normal.dot(on - hull.points()[first as usize]);
            let up = pose.rotation * face.normal;
            if above.abs() <= ON_FACE_M && up.y > face_normal.y {
                face_normal = up;
            }
        }
    } else if let Some(cylinder) = shape.as_cylinder() {
        let y = pose.inverse_transform_point(point).y;
        let up = pose.rotation * DVec3::new(0.0, y.signum(), 0.0);
        if y.abs() >= cylinder.half_height - ON_FACE_M && up.y > face_normal.y {
            face_normal = up;
        }
    }
    Closest { distance, normal, point, face_normal }
}

#[cfg(test)]
mod tests {
    use super::*;
    use highground_terrain::parry::math::Rotation;
    use highground_terrain::parry::query;
    use highground_terrain::parry::shape::{Ball, Capsule, Cylinder};

    fn unit(state: &mut u64) -> f64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The distance from a point to a solid, by parry's point projection.
    fn point_distance(shape: &dyn Shape, pose: &Pose, p: DVec3) -> f64 {
        shape.distance_to_point(pose, p, true)
    }

    fn shapes() -> Vec<Box<dyn Shape>> {
        vec![
            Box::new(Ball::new(0.7)),
            Box::new(Capsule::new(DVec3::new(-0.5, 0.1, 0.0), DVec3::new(0.6, -0.4, 0.3), 0.25)),
            Box::new(Cuboid::new(DVec3::new(0.6, 0.25, 0.9))),
            Box::new(Cylinder::new(0.5, 0.6)),
        ]
    }

    #[test]
    fn distances_are_the_least_over_a_fine_division_of_the_axis() {
        let mut random = 7;
        for shape in shapes() {
            // GJK ends where it is sure of the distance to some millionths on a curved shape.
            let tolerance = if shape.as_cylinder().is_some() { 1e-5 } else { 1e-9 };
            let mut apart = 0;
            for n in 0..400 {
                let turn = DVec3::new(unit(&mut random), unit(&mut random), unit(&mut random)) * 6.0;
                // Every fourth pair is aligned: parallel axes and faces.
                let turn = if n % 4 == 0 { DVec3::ZERO } else { turn };
                let at = DVec3::new(unit(&mut random), unit(&mut random), unit(&mut random)) * 4.0 - 2.0;
                let pose = Pose::from_parts(at, Rotation::from_scaled_axis(turn));
                let half = if n % 5 == 0 { 0.0 } else { 0.54 };
                let found = Solid { shape: &*shape, pose }.closest(half, DVec3::ZERO);
                let brute = (0..=4000)
                    .map(|i| DVec3::new(0.0, half * (f64::from(i) / 2000.0 - 1.0), 0.0))
                    .map(|p| point_distance(&*shape, &pose, p))
                    .fold(f64::INFINITY, f64::min);
                if brute > 0.01 {
                    apart += 1;
                    // The division misses the least by at most a step of 0.27 mm, squared over the distance.
                    assert!(found.distance <= brute + tolerance, "{found:?} {brute}");
                    assert!(found.distance >= brute - 1e-5, "{found:?} {brute}");
                    // The closest point is on the solid and as far from the axis as it says.
                    assert!(point_distance(&*shape, &pose, found.point).abs() < 1e-6, "{found:?}");
                    let core = found.point + found.normal * found.distance;
                    assert!(core.x.abs() < 1e-6 && core.z.abs() < 1e-6 && core.y.abs() < half + 1e-6);
                }
            }
            assert!(apart > 200, "{apart}");
        }
    }

    #[test]
    fn casts_end_where_parry_says_that_the_bodies_touch_and_never_late() {
        let mut random = 11;
        let body = Upright { half: 0.54, radius: 0.34 };
        let capsule = Capsule::new_y(body.half, body.radius);
        for shape in shapes() {
            let mut hits = 0;
            for _ in 0..300 {
                let turn = DVec3::new(unit(&mut random), unit(&mut random), unit(&mut random)) * 6.0;
                let pose = Pose::from_parts(DVec3::ZERO, Rotation::from_scaled_axis(turn));
                let from = DVec3::new(unit(&mut random), unit(&mut random), unit(&mut random)) * 8.0 - 4.0;
                let to = DVec3::new(unit(&mut random), unit(&mut random), unit(&mut random)) * 2.0 - 1.0;
                let way = to - from;
                let solid = Solid { shape: &*shape, pose };
                let apart = |t: f64| {
                    let at = Pose::from_translation(from + way * t);
                    query::distance(&at, &capsule, &pose, &*shape).expect("a supported pair").distance
                };
                if apart(0.0) < 1e-3 {
                    continue;
                }
                match solid.cast(body, from, way, 1.0) {
                    Some(hit) => {
                        hits += 1;
                        assert!(apart(hit.fraction) < 1e-5, "{hit:?} {}", apart(hit.fraction));
                        for i in 0..50 {
                            assert!(apart(hit.fraction * f64::from(i) / 50.0) > 0.0, "late: {hit:?}");
                        }
                    }
                    None => {
                        for i in 0..=50 {
                            assert!(apart(f64::from(i) / 50.0) > 0.0, "missed");
                        }
                    }
                }
            }
            assert!(hits > 100, "{hits}");
        }
    }

    #[test]
    fn an_axis_inside_a_box_leaves_it_by_the_nearest_face() {
        let cuboid = Cuboid::new(DVec3::new(2.0, 1.0, 3.0));
        let solid = Solid { shape: &cuboid, pose: Pose::from_translation(DVec3::new(10.0, 0.0, 0.0)) };
        let side = solid.closest(0.5, DVec3::new(8.1, 0.0, 0.0));
        assert!((side.distance + 0.1).abs() < 1e-12 && side.normal == -DVec3::X, "{side:?}");
        let top = solid.closest(0.5, DVec3::new(10.0, 0.9, 0.0));
        assert!((top.distance + 0.6).abs() < 1e-12 && top.normal == DVec3::Y, "{top:?}");
    }
}
