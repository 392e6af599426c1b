//! Linear casts of convex bodies against the ground, and what they touch or overlap.
//!
//! One-sided: only the upper side of a triangle stops or pushes. A triangle counts when some part of the body's core
//! lies above its plane at the contact, so a body wholly under the surface moves freely, and the rim of a hole stops a
//! body that has half fallen through it. Never loads blocks: what is absent is answered, not guessed. Allocates
//! nothing.
//!
//! The distance between a convex body and a triangle is a convex function of the way along a straight path, and the
//! closest points give its slope. Newton's method from the start therefore approaches the first contact from before
//! and never passes it (conservative advancement; Mirtich 1996, van den Bergen, "Collision Detection in Interactive
//! 3D Environments", 2003). Balls and capsules use closed-form closest points, other shapes GJK.

mod closest;
#[cfg(test)]
mod tests;

use crate::coord::{CellPos, CellRect};
use crate::parry::bounding_volume::Aabb;
use crate::parry::math::Pose;
use crate::parry::query::Unsupported;
use crate::parry::shape::Shape;
use crate::surface::{Coverage, Ground, Tri, Triangle};
use closest::{Core, Face};
use glam::DVec3;
use std::ops::ControlFlow;

/// What goes less deep than this, in metres, only touches: at the start, or where the way grazes a triangle. Without
/// it a body that rests on a plane would catch on the edges inside the plane, since an overlap of a nanometre turns
/// the normal at an edge by 0.1 mm a metre.
const TOUCH_M: f64 = 1e-8;
/// Newton's method ends when the gap is below this, in metres.
const GAP_M: f64 = 1e-9;
/// The same for shapes whose closest points come from GJK, which is blind to smaller gaps.
const GAP_SUPPORT_M: f64 = 1e-6;
/// A way that closes in on a triangle more slowly than this (metres a metre) runs along it.
const PARALLEL: f64 = 1e-9;
/// A way that closes in more slowly than this may graze the triangle: whether it goes deeper than a touch is looked at.
const GRAZING: f64 = 1e-3;
/// A core must reach this far above a triangle's plane to count as above it, in metres.
const ABOVE_M: f64 = 1e-7;
/// A triangle further than this from everything that the body passes cannot be touched, whatever is rounded, in metres.
const CLEAR_M: f64 = 1e-4;
/// Enough for a grazing contact, where every step of Newton's method quarters the gap.
const MAX_STEPS: u32 = 64;

/// A convex body that can be cast: a core and a radius around it.
#[derive(Clone, Copy)]
pub struct Convex<'a> {
    kind: Kind<'a>,
    radius: f64,
}

#[derive(Clone, Copy)]
enum Kind<'a> {
    Segment([DVec3; 2]),
    Support(&'a dyn Shape),
}

impl<'a> Convex<'a> {
    /// A ball around the body's position.
    pub fn ball(radius: f64) -> Self {
        Self { kind: Kind::Segment([DVec3::ZERO; 2]), radius }
    }

    /// A capsule around the segment from `a` to `b` in the body's frame.
    pub fn capsule(a: DVec3, b: DVec3, radius: f64) -> Self {
        Self { kind: Kind::Segment([a, b]), radius }
    }

    /// An upright capsule: `half_height` is from the middle to the centre of either cap.
    pub fn upright_capsule(half_height: f64, radius: f64) -> Self {
        Self::capsule(DVec3::new(0.0, -half_height, 0.0), DVec3::new(0.0, half_height, 0.0), radius)
    }

    /// Any parry shape with a support function; balls and capsules by closed form.
    ///
    /// # Errors
    /// Composite and unbounded shapes.
    pub fn of(shape: &'a dyn Shape) -> Result<Self, Unsupported> {
        if let Some(ball) = shape.as_ball() {
            Ok(Self::ball(ball.radius))
        } else if let Some(capsule) = shape.as_capsule() {
            Ok(Self::capsule(capsule.segment.a, capsule.segment.b, capsule.radius))
        } else if shape.as_support_map().is_some() {
            Ok(Self { kind: Kind::Support(shape), radius: 0.0 })
        } else {
            Err(Unsupported)
        }
    }

    /// The same body with a skin of this many metres around it.
    #[must_use]
    pub fn grown(self, skin: f64) -> Self {
        Self { radius: self.radius + skin, ..self }
    }

    fn posed(&self, pose: &Pose) -> Posed<'a> {
        let (core, bounds) = match self.kind {
            Kind::Segment(ends) => {
                let [a, b] = ends.map(|p| pose.rotation * p);
                (Core::Segment([a, b]), Aabb::new(a.min(b), a.max(b)))
            }
            Kind::Support(shape) => {
                let turned = Pose::from_parts(DVec3::ZERO, pose.rotation);
                let core = shape.as_support_map().expect("checked when the body was made");
                (Core::Support(core, turned), shape.compute_aabb(&turned))
            }
        };
        let r = DVec3::splat(self.radius);
        Posed {
            core,
            radius: self.radius,
            origin: pose.translation,
            mins: bounds.mins - r,
            maxs: bounds.maxs + r,
        }
    }
}

/// The first contact of a cast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CastHit {
    /// How much of the translation is free, from 0 to 1. At most a few nanometres early, never late.
    pub fraction: f64,
    /// Where the body touches the ground, in metres. With `started_penetrating`, the ground's closest point.
    pub point: DVec3,
    /// Unit contact normal, from the ground to the body; on edges and vertices it differs from the face normal.
    pub normal: DVec3,
    /// Unit normal of the triangle that was hit, up.
    pub face_normal: DVec3,
    /// The triangle's cell.
    pub cell: CellPos,
    /// Which of the cell's two.
    pub triangle: Triangle,
    /// The body overlapped the triangle at the start and the translation leads deeper.
    pub started_penetrating: bool,
}

impl CastHit {
    /// What decides between contacts: the fraction, then the triangle's place (z, x, triangle).
    fn before(&self, other: &CastHit) -> bool {
        let place = |h: &CastHit| (h.cell.z, h.cell.x, h.triangle);
        self.fraction < other.fraction || (self.fraction == other.fraction && place(self) < place(other))
    }
}

/// The answer to a cast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cast {
    /// The ground is met.
    Hit(CastHit),
    /// The whole translation is free.
    Miss,
    /// A block that is not resident lies on the way, before any contact.
    Pending,
    /// A block that cannot be had lies on the way, before any contact (and none that is absent).
    Failed,
}

/// A triangle that a body touches or overlaps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    /// How deep the body is in the triangle along the normal, in metres; negative for a gap.
    pub depth: f64,
    /// The triangle's closest point.
    pub point: DVec3,
    /// Unit, from the ground to the body: the direction that separates them.
    pub normal: DVec3,
    /// Unit normal of the triangle, up.
    pub face_normal: DVec3,
    /// The triangle's cell.
    pub cell: CellPos,
    /// Which of the cell's two.
    pub triangle: Triangle,
}

/// A body at its pose. Bounds are relative to its position.
struct Posed<'a> {
    core: Core<'a>,
    radius: f64,
    origin: DVec3,
    mins: DVec3,
    maxs: DVec3,
}

/// Casts a parry shape along a translation. See [`cast`].
///
/// # Errors
/// Shapes without a support function (composite, unbounded).
pub fn cast_shape(
    ground: &Ground,
    shape: &dyn Shape,
    pose: &Pose,
    translation: DVec3,
) -> Result<Cast, Unsupported> {
    Ok(cast(ground, &Convex::of(shape)?, pose, translation))
}

/// Casts a convex body along a translation in metres.
///
/// Contacts that the translation leaves or runs along do not count, so a zero translation hits nothing; ask
/// [`deepest`] for overlaps. Equal fractions are decided by the triangle's place (z, x, triangle). Positions or
/// translations that are not finite miss.
pub fn cast(ground: &Ground, body: &Convex, pose: &Pose, translation: DVec3) -> Cast {
    let posed = body.posed(pose);
    if !(posed.origin.is_finite() && translation.is_finite()) {
        return Cast::Miss;
    }
    let Some((first, last)) = posed.over_extent(ground, translation) else { return Cast::Miss };
    let pieces = posed.pieces(ground, translation * (last - first));
    let lane = posed.lane(translation);
    let mut best: Option<CastHit> = None;
    for piece in 0..pieces {
        let at = |i: u32| {
            if i == pieces { last } else { first + (last - first) * (f64::from(i) / f64::from(pieces)) }
        };
        let (from, to) = (at(piece), at(piece + 1));
        let swept = posed.swept(translation, from, to);
        let coverage = posed.cast_piece(ground, translation, &lane, &swept, &mut best);
        // A contact beyond this piece stays a candidate: a later piece may hold an earlier one.
        let done = best.filter(|hit| hit.fraction <= to);
        if coverage != Coverage::Complete {
            let until = done.map_or(to, |hit| hit.fraction);
            match ground.coverage(cells_under(ground, &posed.swept(translation, from, until))) {
                Coverage::Pending => return Cast::Pending,
                Coverage::Failed => return Cast::Failed,
                Coverage::Complete => {}
            }
        }
        if let Some(hit) = done {
            return Cast::Hit(hit);
        }
    }
    best.map_or(Cast::Miss, Cast::Hit)
}

/// Visits the triangles that a body overlaps or comes nearer to than `margin` metres, block by block and inside a
/// block in (z, x, triangle) order. Says what could not be seen.
pub fn each_contact(
    ground: &Ground,
    body: &Convex,
    pose: &Pose,
    margin: f64,
    mut f: impl FnMut(Contact),
) -> Coverage {
    let posed = body.posed(pose);
    if !posed.origin.is_finite() {
        return Coverage::Complete;
    }
    let grown = DVec3::splat(margin);
    let near = Aabb::new(posed.origin + posed.mins - grown, posed.origin + posed.maxs + grown);
    ground.visit_triangles(cells_under(ground, &near), near.mins.y, near.maxs.y, |_, tri| {
        if let Some(contact) = posed.contact(&tri, margin) {
            f(contact);
        }
        ControlFlow::Continue(())
    })
}

/// The deepest overlap of a body with the ground, the first in (z, x, triangle) order where several are equal; and
/// what could not be seen.
pub fn deepest(ground: &Ground, body: &Convex, pose: &Pose) -> (Option<Contact>, Coverage) {
    let mut best: Option<Contact> = None;
    let coverage = each_contact(ground, body, pose, 0.0, |contact| {
        let place = |c: &Contact| (c.cell.z, c.cell.x, c.triangle);
        let deeper = best.is_none_or(|b| {
            contact.depth > b.depth || (contact.depth == b.depth && place(&contact) < place(&b))
        });
        if contact.depth > 0.0 && deeper {
            best = Some(contact);
        }
    });
    (best, coverage)
}

fn cells_under(ground: &Ground, bounds: &Aabb) -> CellRect {
    ground.cells_meeting(bounds.mins.x, bounds.mins.z, bounds.maxs.x, bounds.maxs.z)
}

/// What a body passes, seen from above: everything between two lines along the way, relative to its position.
struct Lane {
    /// Unit, level, at right angles to the way; zero where there is no such direction.
    across: DVec3,
    low: f64,
    high: f64,
}

impl Lane {
    /// Whether the body passes beside a triangle.
    fn passes(&self, tri: &Tri, origin: DVec3) -> bool {
        let [a, b, c] = tri.vertices.map(|v| self.across.dot(v - origin));
        a.min(b).min(c) > self.high || a.max(b).max(c) < self.low
    }
}

impl Posed<'_> {
    /// The bounds of the body between two fractions of a translation.
    fn swept(&self, translation: DVec3, from: f64, to: f64) -> Aabb {
        let (a, b) = (self.origin + translation * from, self.origin + translation * to);
        Aabb::new(a.min(b) + self.mins, a.max(b) + self.maxs)
    }

    /// The fractions between which the body's bounds are over the valid extent, so that no length of translation
    /// costs more than the map is wide. `None` when they never are.
    fn over_extent(&self, ground: &Ground, translation: DVec3) -> Option<(f64, f64)> {
        let [near, far] = ground.bounds();
        let (mut first, mut last) = (0.0_f64, 1.0_f64);
        for (origin, way, lo, hi, low, high) in [
            (self.origin.x, translation.x, self.mins.x, self.maxs.x, near.x, far.x),
            (self.origin.z, translation.z, self.mins.z, self.maxs.z, near.z, far.z),
        ] {
            let (low, high) = (low - hi - origin, high - lo - origin);
            if way == 0.0 {
                if low > 0.0 || high < 0.0 {
                    return None;
                }
            } else {
                let (a, b) = (low / way, high / way);
                first = first.max(a.min(b));
                last = last.min(a.max(b));
            }
        }
        (first <= last).then_some((first, last))
    }

    /// How many pieces a sweep is walked in: each at most two cells or the body's own size long, so that a long
    /// slanting sweep does not visit the whole square around it.
    fn pieces(&self, ground: &Ground, way: DVec3) -> u32 {
        let size = (self.maxs.x - self.mins.x).max(self.maxs.z - self.mins.z);
        let longest = size.max(2.0 * ground.config().spacing_m());
        (way.x.abs().max(way.z.abs()) / longest).ceil().max(1.0) as u32
    }

    /// The ground that the body passes over on the way.
    fn lane(&self, way: DVec3) -> Lane {
        let level = DVec3::new(-way.z, 0.0, way.x);
        let length = level.length();
        if length < CLEAR_M {
            return Lane { across: DVec3::ZERO, low: -CLEAR_M, high: CLEAR_M };
        }
        let across = level / length;
        let (low, high) = self.core.span(across);
        Lane { across, low: low - self.radius - CLEAR_M, high: high + self.radius + CLEAR_M }
    }

    fn cast_piece(
        &self,
        ground: &Ground,
        translation: DVec3,
        lane: &Lane,
        swept: &Aabb,
        best: &mut Option<CastHit>,
    ) -> Coverage {
        let cells = cells_under(ground, swept);
        ground.visit_triangles(cells, swept.mins.y, swept.maxs.y, |_, tri| {
            let limit = best.map_or(1.0, |hit| hit.fraction);
            if lane.passes(&tri, self.origin) {
                return ControlFlow::Continue(());
            }
            if let Some(hit) = self.cast_triangle(&tri, translation, limit)
                && best.is_none_or(|b| hit.before(&b))
            {
                *best = Some(hit);
            }
            ControlFlow::Continue(())
        })
    }

    /// The first contact with one triangle up to a fraction of the translation.
    fn cast_triangle(&self, tri: &Tri, way: DVec3, limit: f64) -> Option<CastHit> {
        let face = Face::new(tri, self.origin);
        let (low, high) = self.core.span(face.normal);
        let plane = face.height(DVec3::ZERO);
        let rate = face.normal.dot(way);
        // Never above the plane, or on the whole way not deeper under it than a touch: this is what keeps a body that
        // slides over a plane off the edges in it.
        if plane + high + rate.max(0.0) <= ABOVE_M || plane + low + rate.min(0.0) >= self.radius - TOUCH_M {
            return None;
        }
        // The plane is not reached before the limit, so the triangle is not either.
        if plane + low + rate.min(0.0) * limit >= self.radius + CLEAR_M {
            return None;
        }
        let hit = |t: f64, normal: DVec3, point: DVec3, started_penetrating: bool| {
            let above = plane + high + rate * t > ABOVE_M;
            above.then_some(CastHit {
                fraction: t,
                point: point + self.origin,
                normal,
                face_normal: face.normal,
                cell: tri.cell,
                triangle: tri.triangle,
                started_penetrating,
            })
        };
        let speed = way.length();
        let enough = if matches!(self.core, Core::Support(..)) { GAP_SUPPORT_M } else { GAP_M };
        let mut t = 0.0;
        let mut last: Option<(DVec3, DVec3)> = None;
        for _ in 0..MAX_STEPS {
            let closest = self.core.closest(way * t, &face);
            if let (true, Some((normal, point))) = (closest.meets, last) {
                return hit(t, normal, point, false);
            }
            let gap = closest.distance - self.radius;
            let closing = -closest.normal.dot(way);
            // Convex: a body that does not close in now never will.
            if closing <= PARALLEL * speed {
                return None;
            }
            if last.is_none() {
                let overlap = if closest.meets { self.radius - (plane + low) } else { -gap };
                if overlap > TOUCH_M {
                    return hit(0.0, closest.normal, closest.point, true);
                }
            }
            // The tangent meets the radius before the distance does.
            t += gap.max(0.0) / closing;
            if t > limit {
                return None;
            }
            last = Some((closest.normal, closest.point));
            if gap <= enough {
                if closing < GRAZING * speed && !self.goes_deeper(&face, way, t) {
                    return None;
                }
                break;
            }
        }
        last.and_then(|(normal, point)| hit(t, normal, point, false))
    }

    /// Whether a way that touches a triangle at a fraction goes deeper into it than a touch. Looks at the whole way,
    /// so that the answer does not depend on other triangles.
    fn goes_deeper(&self, face: &Face, way: DVec3, from: f64) -> bool {
        let mut t = from;
        for _ in 0..MAX_STEPS {
            let closest = self.core.closest(way * t, face);
            let gap = closest.distance - (self.radius - TOUCH_M);
            if closest.meets || gap <= 0.0 {
                return true;
            }
            let closing = -closest.normal.dot(way);
            if closing <= 0.0 {
                return false;
            }
            // A tenth of a touch beyond the tangent, so that the steps end.
            t += (gap + 0.1 * TOUCH_M) / closing;
            if t > 1.0 {
                return false;
            }
        }
        false
    }

    fn contact(&self, tri: &Tri, margin: f64) -> Option<Contact> {
        let face = Face::new(tri, self.origin);
        let (low, high) = self.core.span(face.normal);
        let plane = face.height(DVec3::ZERO);
        if plane + low > self.radius + margin || plane + high <= ABOVE_M {
            return None;
        }
        let closest = self.core.closest(DVec3::ZERO, &face);
        // A core that reaches the triangle leaves along the face normal, by its lowest point.
        let depth = if closest.meets { self.radius - (plane + low) } else { self.radius - closest.distance };
        (depth >= -margin).then_some(Contact {
            depth,
            point: closest.point + self.origin,
            normal: closest.normal,
            face_normal: face.normal,
            cell: tri.cell,
            triangle: tri.triangle,
        })
    }
}
