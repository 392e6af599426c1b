//! What stride and flight share: the capsule, casts that stop at missing ground, support, and clipping.

use super::WalkerConfig;
use arrayvec::ArrayVec;
use glam::DVec3;
use highground_terrain::collide::cast::{Cast, CastHit, Contact, Convex, cast, deepest, each_contact};
use highground_terrain::parry::math::Pose;
use highground_terrain::surface::{Coverage, Ground};

/// How near a contact must be to carry the walker, in metres.
const SUPPORT_MARGIN_M: f64 = 1e-4;
/// Overlaps below this are rounding, in metres.
const OVERLAP_M: f64 = 1e-6;
/// A contact this little above the tangent plane of another lies in it, in metres.
const COPLANAR_M: f64 = 1e-7;
/// A contact on the rim of walkable ground carries when its normal rises at least this much.
const RIM_UP: f64 = 0.05;
/// A velocity may enter a plane by this much, in metres a second or metres: rounding.
pub(super) const INTO: f64 = 1e-9;
/// Contacts beyond this many are left out; four planes already hold any direction.
const MOST_PLANES: usize = 12;

/// Planes that a motion must not enter, as unit normals.
pub(super) type Planes = ArrayVec<DVec3, MOST_PLANES>;

/// Everything a move needs but the state.
pub(super) struct Mover<'a> {
    pub(super) ground: &'a Ground,
    pub(super) config: &'a WalkerConfig,
    /// The capsule grown by the skin.
    body: Convex<'static>,
    /// The least upward part of a walkable plane's normal.
    min_up: f64,
    /// sin² of the slope limit.
    max_slide_squared: f64,
}

impl<'a> Mover<'a> {
    pub(super) fn new(ground: &'a Ground, config: &'a WalkerConfig) -> Self {
        let cos = libm::cos(config.slope_limit_deg.to_radians());
        Self {
            ground,
            config,
            body: Convex::upright_capsule(config.half_height, config.radius).grown(config.skin),
            min_up: cos - INTO,
            max_slide_squared: 1.0 - cos * cos + INTO,
        }
    }

    /// The first contact on a way.
    pub(super) fn cast(&self, from: DVec3, way: DVec3) -> Result<Option<CastHit>, Coverage> {
        match cast(self.ground, &self.body, &Pose::from_translation(from), way) {
            Cast::Hit(hit) => Ok(Some(hit)),
            Cast::Miss => Ok(None),
            Cast::Pending => Err(Coverage::Pending),
            Cast::Failed => Err(Coverage::Failed),
        }
    }

    /// The position pushed out of what it overlaps: rounding, or ground that an edit raised into the walker.
    pub(super) fn freed(&self, position: DVec3) -> Result<DVec3, Coverage> {
        let mut p = position;
        for _ in 0..4 {
            let (overlap, coverage) = deepest(self.ground, &self.body, &Pose::from_translation(p));
            if coverage != Coverage::Complete {
                return Err(coverage);
            }
            match overlap {
                Some(contact) if contact.depth > OVERLAP_M => p += contact.normal * contact.depth,
                _ => break,
            }
        }
        Ok(p)
    }

    /// Whether what a drop ended on carries the walker at `at`. A rim or a wedge above the height of `highest` metres
    /// does not: it would be a step too high.
    pub(super) fn carries(&self, hit: &CastHit, at: DVec3, highest: f64) -> Result<bool, Coverage> {
        if hit.normal.y >= self.min_up {
            Ok(true)
        } else if hit.point.y > highest + OVERLAP_M {
            Ok(false)
        } else {
            self.supported(at)
        }
    }

    /// The height that a walker at `from` can step up to.
    pub(super) fn highest_step(&self, from: DVec3) -> f64 {
        from.y - self.config.centre_height() + self.config.step_height
    }

    /// Whether the contacts at a position carry the walker: one is walkable, or lies on the rim of a walkable
    /// triangle, or all together leave no way down that is steeper than the limit (a walker wedged between cliffs
    /// stands).
    pub(super) fn supported(&self, at: DVec3) -> Result<bool, Coverage> {
        let mut contacts: ArrayVec<Contact, MOST_PLANES> = ArrayVec::new();
        let coverage =
            each_contact(self.ground, &self.body, &Pose::from_translation(at), SUPPORT_MARGIN_M, |c| {
                // Deepest first, equals by their place, so that block borders do not decide. Beyond the room there
                // is, the shallowest is left out.
                let key = |c: &Contact| (c.cell.z, c.cell.x, c.triangle);
                let before = |other: &Contact| {
                    c.depth > other.depth || (c.depth == other.depth && key(&c) < key(other))
                };
                let place = contacts.iter().position(before).unwrap_or(contacts.len());
                if contacts.is_full() {
                    contacts.pop();
                }
                if place <= contacts.len() {
                    contacts.insert(place, c);
                }
            });
        if coverage != Coverage::Complete {
            return Err(coverage);
        }
        let Some(&deepest) = contacts.first() else { return Ok(false) };
        let rim = |c: &Contact| {
            c.depth >= deepest.depth - OVERLAP_M && c.normal.y >= RIM_UP && c.face_normal.y >= self.min_up
        };
        if contacts.iter().any(rim) {
            return Ok(true);
        }
        let mut planes = Planes::new();
        let mut kept: ArrayVec<Contact, MOST_PLANES> = ArrayVec::new();
        for contact in contacts {
            // A point on or under the tangent plane of a nearer contact holds nothing, and its normal means nothing:
            // it is an edge inside a plane, seen from beside it.
            if kept.iter().all(|k| (contact.point - k.point).dot(k.normal) > COPLANAR_M) {
                kept.push(contact);
                planes.push(contact.normal);
            }
        }
        // Down, clipped by planes, is as long as the sine of the steepest way that is left.
        Ok(clip(-DVec3::Y, &planes).length_squared() <= self.max_slide_squared)
    }
}

/// The part of a motion that enters none of the planes: along the first plane that it enters, else along the crease
/// of two, else nothing (Quake's clipping; the choice depends only on the planes' order).
pub(super) fn clip(motion: DVec3, planes: &Planes) -> DVec3 {
    let enters = |v: DVec3, n: DVec3| v.dot(n) < -INTO;
    if !planes.iter().any(|&n| enters(motion, n)) {
        return motion;
    }
    for &n in planes {
        if !enters(motion, n) {
            continue;
        }
        let along = motion - n * motion.dot(n);
        if !planes.iter().any(|&other| enters(along, other)) {
            return along;
        }
    }
    for (i, &a) in planes.iter().enumerate() {
        for &b in &planes[i + 1..] {
            let Some(crease) = a.cross(b).try_normalize() else { continue };
            let along = crease * motion.dot(crease);
            if (enters(motion, a) || enters(motion, b)) && !planes.iter().any(|&other| enters(along, other)) {
                return along;
            }
        }
    }
    DVec3::ZERO
}

/// The level direction of a wall's normal; `None` for level ground.
pub(super) fn wall(normal: DVec3) -> Option<DVec3> {
    DVec3::new(normal.x, 0.0, normal.z).try_normalize()
}
