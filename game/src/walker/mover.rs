//! What the ways of moving share: the capsule, casts against ground, solids and walkers together, support, and
//! clipping.
//!
//! The first contact of a cast decides, whatever it is with; of equal ones the ground's, then the lowest id's.

use super::crowd::{self, Crowd};
use super::obstacles::{Item, ObstacleKind, Obstacles};
use super::solid::Upright;
use super::{Push, Pushes, Surroundings, WalkerConfig};
use arrayvec::ArrayVec;
use glam::DVec3;
use highground_terrain::collide::cast::{Cast, Convex, cast, deepest, each_contact};
use highground_terrain::parry::bounding_volume::BoundingVolume;
use highground_terrain::parry::math::Pose;
use highground_terrain::surface::{Coverage, Ground};

/// How near a contact must be to carry the walker, in metres.
const SUPPORT_MARGIN_M: f64 = 1e-4;
/// Overlaps below this are rounding, in metres.
pub(super) const OVERLAP_M: f64 = 1e-6;
/// A contact this little above the tangent plane of another lies in it, in metres.
const COPLANAR_M: f64 = 1e-7;
/// A contact on the rim of walkable ground carries when its normal rises at least this much.
const RIM_UP: f64 = 0.05;
/// A velocity may enter a plane by this much, in metres a second or metres: rounding.
pub(super) const INTO: f64 = 1e-9;
/// What leans over by more than this is a ceiling.
pub(super) const CEILING: f64 = -0.01;
/// Contacts beyond this many are left out; four planes already hold any direction.
const MOST_PLANES: usize = 12;
/// Overlaps that are left one after the other at the start of a tick.
const MOST_FREED: u32 = 6;
/// Rounds in which the pressure of a crowd is shared.
const MOST_SHARED: u32 = 16;

/// Planes that a motion must not enter, as unit normals.
pub(super) type Planes = ArrayVec<DVec3, MOST_PLANES>;

/// Places in the order that decides between equals: the ground by (z, x, triangle), then solids by (id, part), then
/// walkers by id.
type Key = (u8, i64, i64, u8);

/// The first contact on a way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hit {
    pub(super) fraction: f64,
    pub(super) point: DVec3,
    pub(super) normal: DVec3,
    /// What was met; `None` for the ground.
    pub(super) on: Option<u64>,
    key: Key,
}

/// A contact at a place.
#[derive(Clone, Copy, Debug)]
struct Touch {
    depth: f64,
    point: DVec3,
    normal: DVec3,
    face_normal: DVec3,
    key: Key,
}

/// Everything a move needs but the state.
pub(super) struct Mover<'a> {
    pub(super) ground: &'a Ground,
    pub(super) obstacles: &'a Obstacles,
    pub(super) config: &'a WalkerConfig,
    me: Option<u64>,
    /// Half height without the caps; smaller while crouching.
    half: f64,
    /// The capsule grown by the skin.
    body: Convex<'static>,
    crowd: Crowd,
    pub(super) pushes: Pushes,
    /// The least upward part of a walkable plane's normal.
    min_up: f64,
    /// sin² of the slope limit.
    max_slide_squared: f64,
}

impl<'a> Mover<'a> {
    pub(super) fn new(around: &Surroundings<'a>, config: &'a WalkerConfig, crouched: bool) -> Self {
        let cos = libm::cos(config.slope_limit_deg.to_radians());
        let half = config.half_height_of(crouched);
        Self {
            ground: around.ground,
            obstacles: around.obstacles,
            config,
            me: around.me,
            half,
            body: Convex::upright_capsule(half, config.radius).grown(config.skin),
            crowd: Crowd::new(),
            pushes: Pushes::default(),
            min_up: cos - INTO,
            max_slide_squared: 1.0 - cos * cos + INTO,
        }
    }

    /// Changes the posture. The caller moves the centre.
    pub(super) fn posture(&mut self, crouched: bool) {
        self.half = self.config.half_height_of(crouched);
        self.body = Convex::upright_capsule(self.half, self.config.radius).grown(self.config.skin);
    }

    fn upright(&self) -> Upright {
        Upright { half: self.half, radius: self.config.radius + self.config.skin }
    }

    /// From the feet to the centre in the present posture.
    pub(super) fn centre_height(&self) -> f64 {
        self.half + self.config.radius + self.config.skin
    }

    /// Finds the walkers that can be met by coming `reach` metres far from `at`.
    pub(super) fn meet_crowd(&mut self, at: DVec3, reach: f64) {
        if !self.obstacles.is_empty() {
            self.crowd = crowd::meet(self.obstacles, self.me, self.upright(), at, reach);
        }
    }

    /// Whether a normal is that of walkable ground.
    pub(super) fn walkable(&self, normal: DVec3) -> bool {
        normal.y >= self.min_up
    }

    /// The first contact on a way.
    pub(super) fn cast(&self, from: DVec3, way: DVec3) -> Result<Option<Hit>, Coverage> {
        let hit = self.cast_ground(from, way)?;
        Ok(if self.obstacles.is_empty() { hit } else { self.cast_obstacles(from, way, None, hit) })
    }

    /// The first contact with the ground.
    pub(super) fn cast_ground(&self, from: DVec3, way: DVec3) -> Result<Option<Hit>, Coverage> {
        match cast(self.ground, &self.body, &Pose::from_translation(from), way) {
            Cast::Hit(h) => Ok(Some(Hit {
                fraction: h.fraction,
                point: h.point,
                normal: h.normal,
                on: None,
                key: (0, h.cell.z.into(), h.cell.x.into(), h.triangle as u8),
            })),
            Cast::Miss => Ok(None),
            Cast::Pending => Err(Coverage::Pending),
            Cast::Failed => Err(Coverage::Failed),
        }
    }

    /// The first contact with anything but the ground, or the one that is already known; what is not `except`.
    pub(super) fn cast_obstacles(
        &self,
        from: DVec3,
        way: DVec3,
        except: Option<u64>,
        known: Option<Hit>,
    ) -> Option<Hit> {
        let body = self.upright();
        let mut best = known;
        let sooner = |best: &Option<Hit>, fraction: f64, key: Key| {
            best.is_none_or(|b| fraction < b.fraction || (fraction == b.fraction && key < b.key))
        };
        let swept = body.bounds(from).merged(&body.bounds(from + way));
        self.obstacles.each_in(&swept, |item| {
            let id = item.obstacle.id;
            let solid = !matches!(item.obstacle.kind, ObstacleKind::Character { .. });
            if !solid || except == Some(id) || self.me == Some(id) {
                return;
            }
            let limit = best.map_or(1.0, |hit| hit.fraction);
            if let Some(hit) = item.solid().cast(body, from, way, limit) {
                let key = key_of(item);
                if sooner(&best, hit.fraction, key) {
                    let (fraction, point, normal) = (hit.fraction, hit.point, hit.normal);
                    best = Some(Hit { fraction, point, normal, on: Some(id), key });
                }
            }
        });
        for side in self.crowd.iter().filter(|s| except != Some(s.id)) {
            let (room, rate) = (side.room_at(from), side.normal.dot(way));
            // What goes less deep than rounding only touches.
            if rate >= 0.0 || room + rate >= -1e-8 {
                continue;
            }
            let fraction = (room / -rate).max(0.0);
            let key = (2, side.id as i64, 0, 0);
            if sooner(&best, fraction, key) {
                let point = body.support(from + way * fraction, -side.normal);
                best = Some(Hit { fraction, point, normal: side.normal, on: Some(side.id), key });
            }
        }
        best
    }

    /// The position pushed out of what it overlaps: rounding, ground that an edit raised, or what has moved into it.
    ///
    /// Between neighbours that leave no room, one push undoes another and all would stay as they are, so the pressure
    /// is shared among them; then they overlap less and make room themselves.
    pub(super) fn freed(&self, position: DVec3) -> Result<DVec3, Coverage> {
        let (mut p, free) = self.pushed_out(position, true)?;
        if !free && !self.crowd.is_empty() {
            p = position;
            for _ in 0..MOST_SHARED {
                let (mut sum, mut count) = (DVec3::ZERO, 0.0);
                for side in &self.crowd {
                    let room = side.room_at(p);
                    if room < -OVERLAP_M {
                        (sum, count) = (sum - side.normal * room, count + 1.0);
                    }
                }
                if count == 0.0 {
                    break;
                }
                p += sum / count;
            }
            p = self.over_ground(position, p - position)?;
            p = self.pushed_out(p, false)?.0;
        }
        Ok(p)
    }

    /// The position after leaving one overlap after the other, with other walkers or without, and whether none is left.
    fn pushed_out(&self, position: DVec3, crowd: bool) -> Result<(DVec3, bool), Coverage> {
        let mut p = position;
        for _ in 0..MOST_FREED {
            let (overlap, coverage) = deepest(self.ground, &self.body, &Pose::from_translation(p));
            if coverage != Coverage::Complete {
                return Err(coverage);
            }
            let mut out =
                overlap.map_or((OVERLAP_M, DVec3::ZERO), |o| (o.depth.max(OVERLAP_M), o.normal * o.depth));
            if out.0 <= OVERLAP_M {
                out.1 = DVec3::ZERO;
            }
            let ground = out.1;
            self.deepest_obstacle(p, crowd, &mut out);
            if out.1 == DVec3::ZERO {
                return Ok((p, true));
            }
            // The ground is a sheet: what is pushed through it would not be pushed back.
            let to = if out.1 == ground { p + ground } else { self.over_ground(p, out.1)? };
            if to == p {
                return Ok((p, false));
            }
            p = to;
        }
        Ok((p, false))
    }

    /// Where a push ends that does not go through the ground: it slides along it once, and is squeezed from then on.
    fn over_ground(&self, from: DVec3, way: DVec3) -> Result<DVec3, Coverage> {
        let mut p = from;
        let mut left = way;
        for _ in 0..2 {
            let Some(hit) = self.cast_ground(p, left)? else { return Ok(p + left) };
            p += left * hit.fraction;
            left *= 1.0 - hit.fraction;
            left -= hit.normal * left.dot(hit.normal).min(0.0);
            // The ground is left, if only by rounding, before it is met again.
            if left.length_squared() < OVERLAP_M * OVERLAP_M {
                break;
            }
        }
        Ok(p)
    }

    /// Replaces (depth, way out) where an obstacle or a walker is deeper.
    fn deepest_obstacle(&self, p: DVec3, crowd: bool, out: &mut (f64, DVec3)) {
        if self.obstacles.is_empty() {
            return;
        }
        let mut best: Option<Key> = None;
        let body = self.upright();
        let mut consider = |depth: f64, normal: DVec3, key: Key| {
            if depth > out.0 || (depth == out.0 && best.is_some_and(|b| key < b)) {
                (*out, best) = ((depth, normal * depth), Some(key));
            }
        };
        self.obstacles.each_in(&body.bounds(p), |item| {
            // What rests against a walker's skin does not move it.
            let allowed = match item.obstacle.kind {
                ObstacleKind::Kinematic => 0.0,
                ObstacleKind::Dynamic { .. } => self.config.skin,
                ObstacleKind::Character { .. } => return,
            };
            if self.me != Some(item.obstacle.id) {
                let closest = item.solid().closest(body.half, p);
                consider(body.radius - closest.distance - allowed, closest.normal, key_of(item));
            }
        });
        for side in self.crowd.iter().filter(|_| crowd) {
            consider(-side.room_at(p), side.normal, (2, side.id as i64, 0, 0));
        }
    }

    /// Whether what a drop ended on carries the walker at `at`. What is above the height of `highest` metres does not:
    /// it would be a step too high.
    pub(super) fn carries(&self, hit: &Hit, at: DVec3, highest: f64) -> Result<bool, Coverage> {
        if hit.point.y > highest + OVERLAP_M {
            Ok(false)
        } else if self.walkable(hit.normal) {
            Ok(true)
        } else {
            self.supported(at)
        }
    }

    /// The height that a walker at `from` can step up to.
    pub(super) fn highest_step(&self, from: DVec3) -> f64 {
        from.y - self.centre_height() + self.config.step_height
    }

    /// Whether the contacts at a position carry the walker: one is walkable, or lies on the rim of a walkable
    /// triangle, or all together leave no way down that is steeper than the limit (a walker wedged between cliffs
    /// stands).
    pub(super) fn supported(&self, at: DVec3) -> Result<bool, Coverage> {
        let contacts = self.contacts(at)?;
        let Some(&deepest) = contacts.first() else { return Ok(false) };
        let rim = |c: &Touch| {
            c.depth >= deepest.depth - OVERLAP_M && c.normal.y >= RIM_UP && c.face_normal.y >= self.min_up
        };
        if contacts.iter().any(rim) {
            return Ok(true);
        }
        let mut planes = Planes::new();
        let mut kept: ArrayVec<Touch, MOST_PLANES> = ArrayVec::new();
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

    /// The contacts at a place: deepest first, equals by their place, so that block borders do not decide. Beyond the
    /// room there is, the shallowest are left out.
    fn contacts(&self, at: DVec3) -> Result<ArrayVec<Touch, MOST_PLANES>, Coverage> {
        let mut contacts: ArrayVec<Touch, MOST_PLANES> = ArrayVec::new();
        let mut add = |touch: Touch| {
            let before = |c: &Touch| touch.depth > c.depth || (touch.depth == c.depth && touch.key < c.key);
            let place = contacts.iter().position(before).unwrap_or(contacts.len());
            if place < MOST_PLANES {
                contacts.truncate(MOST_PLANES - 1);
                contacts.insert(place, touch);
            }
        };
        let pose = Pose::from_translation(at);
        let coverage = each_contact(self.ground, &self.body, &pose, SUPPORT_MARGIN_M, |c| {
            let key = (0, c.cell.z.into(), c.cell.x.into(), c.triangle as u8);
            let (depth, point, normal, face_normal) = (c.depth, c.point, c.normal, c.face_normal);
            add(Touch { depth, point, normal, face_normal, key });
        });
        if coverage != Coverage::Complete {
            return Err(coverage);
        }
        if self.obstacles.is_empty() {
            return Ok(contacts);
        }
        let body = self.upright();
        self.obstacles.each_in(&body.bounds(at).loosened(SUPPORT_MARGIN_M), |item| {
            let solid = !matches!(item.obstacle.kind, ObstacleKind::Character { .. });
            if !solid || self.me == Some(item.obstacle.id) {
                return;
            }
            let closest = item.solid().closest(body.half, at);
            let depth = body.radius - closest.distance;
            if depth >= -SUPPORT_MARGIN_M {
                let (normal, face_normal) = (closest.normal, closest.face_normal);
                add(Touch { depth, point: at + closest.point, normal, face_normal, key: key_of(item) });
            }
        });
        for side in self.crowd.iter().filter(|s| s.room_at(at) <= SUPPORT_MARGIN_M) {
            let (normal, point) = (side.normal, body.support(at, -side.normal));
            let key = (2, side.id as i64, 0, 0);
            add(Touch { depth: -side.room_at(at), point, normal, face_normal: normal, key });
        }
        Ok(contacts)
    }

    /// Notes that the walker, moving at `velocity`, has met a body that it may push. The impulse is no more than the
    /// force gives in `dt` seconds, and no more than brings the body to the walker's own speed.
    pub(super) fn push(&mut self, hit: &Hit, velocity: DVec3, dt: f64) {
        let Some(item) = hit.on.and_then(|id| self.obstacles.find(id)) else { return };
        let (ObstacleKind::Dynamic { mass }, Some(normal)) = (item.obstacle.kind, wall(hit.normal)) else {
            return;
        };
        let faster = (item.velocity_at(hit.point) - velocity).dot(normal);
        if mass > self.config.push_mass || faster <= 0.0 {
            return;
        }
        let impulse = -normal * (mass * faster).min(self.config.push_force * dt);
        self.pushes.note(Push { body: item.obstacle.id, point: hit.point, impulse });
    }

    /// How far up is free of everything but the ground, which never is above a walker, up to `most` metres.
    pub(super) fn headroom(&self, from: DVec3, most: f64) -> f64 {
        if self.obstacles.is_empty() {
            return most;
        }
        let hit = self.cast_obstacles(from, DVec3::Y * most, None, None);
        hit.map_or(most, |hit| hit.fraction * most)
    }

    /// Where a walker at (x, z) stands that comes down onto the ground there, whatever else is there; `None` where no
    /// ground is under its axis.
    pub(super) fn settled(&self, x: f64, z: f64) -> Result<Option<(DVec3, Hit)>, Coverage> {
        let Some(low) = self.ground.point(x, z).ok().and_then(|answer| answer.height()) else {
            return Ok(None);
        };
        // From above everything that the capsule's outline can touch.
        let reach = self.config.radius + self.config.skin;
        let cells = self.ground.cells_meeting(x - reach, z - reach, x + reach, z + reach);
        let mut high = low;
        let coverage = self.ground.visit_triangles(cells, f64::NEG_INFINITY, f64::INFINITY, |_, tri| {
            high = tri.vertices.iter().fold(high, |y, v| y.max(v.y));
            std::ops::ControlFlow::Continue(())
        });
        if coverage != Coverage::Complete {
            return Err(coverage);
        }
        let from = DVec3::new(x, high + 2.0 * self.centre_height(), z);
        // The point under the axis is ground, so the capsule meets something before it is down there.
        let drop = DVec3::new(0.0, low - from.y, 0.0);
        Ok(self.cast_ground(from, drop)?.map(|hit| (from + drop * hit.fraction, hit)))
    }
}

fn key_of(item: &Item) -> Key {
    (1, item.obstacle.id as i64, item.obstacle.part.into(), 0)
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
