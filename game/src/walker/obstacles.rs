//! What a walker meets besides the ground: a sorted, immutable snapshot of convex solids at the start of a tick.
//!
//! Owns the order (by id, then part) and the spatial index. The order in which obstacles are given never matters.
//! Never moves anything: a kinematic obstacle stands where it will be at the end of the tick, since its way is known;
//! a dynamic one where it is. Made again every tick in the same memory.

use super::solid::Solid;
use glam::{DQuat, DVec3};
use highground_terrain::parry::bounding_volume::{Aabb, BoundingVolume};
use highground_terrain::parry::math::Pose;
use highground_terrain::parry::shape::SharedShape;

/// The side of the index's cells, in metres.
const CELL_M: f64 = 8.0;
/// An obstacle over more cells than this is kept in a list of its own.
const MOST_CELLS: i64 = 64;

/// How an obstacle moves and what it does to walkers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ObstacleKind {
    /// Moves along a way that nothing changes, or stands. It carries walkers and pushes them out of its way.
    Kinematic,
    /// Moved by the physics. Walkers push it, with a bounded force, unless it is too heavy.
    Dynamic {
        /// Kilograms.
        mass: f64,
    },
    /// Another walker: each of two keeps to its own half of the gap between them, so neither pushes the other.
    Character {
        /// What it stands on.
        carrier: Option<u64>,
    },
}

/// One convex solid.
#[derive(Clone)]
pub struct Obstacle {
    /// Its stable id; equal for all parts of one body.
    pub id: u64,
    /// Which part of the body; 0 for a body of one part.
    pub part: u32,
    /// A ball, capsule, box, cylinder, cone or hull.
    pub shape: SharedShape,
    /// At the start of the tick.
    pub pose: Pose,
    /// Of its position, in metres a second. A character's is not asked for: only what carries it moves others.
    pub velocity: DVec3,
    /// About Y through its position, in radians a second.
    pub spin: f64,
    /// How it moves.
    pub kind: ObstacleKind,
}

/// Why a list of obstacles is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObstacleError {
    /// Two have the same id and part.
    #[error("two obstacles have the id {id:016x} and part {part}")]
    Taken {
        /// The id.
        id: u64,
        /// The part.
        part: u32,
    },
    /// Not convex, or with a position or velocity that is no number.
    #[error("obstacle {id:016x}, part {part}, must be convex and have a finite pose and velocity")]
    Unfit {
        /// The id.
        id: u64,
        /// The part.
        part: u32,
    },
}

/// An obstacle in its place.
#[derive(Clone)]
pub(super) struct Item {
    pub(super) obstacle: Obstacle,
    /// Where walkers meet it.
    pub(super) end: Pose,
    pub(super) bounds: Aabb,
    cells: [i32; 4],
}

impl Item {
    pub(super) fn solid(&self) -> Solid<'_> {
        Solid { shape: &*self.obstacle.shape, pose: self.end }
    }

    /// Where something that stands on it at the start of the tick is carried to.
    pub(super) fn carry(&self, p: DVec3, dt: f64) -> DVec3 {
        match self.obstacle.kind {
            ObstacleKind::Kinematic => self.end * self.obstacle.pose.inverse_transform_point(p),
            // As far as it is carried itself: nobody rides on a walker's own steps.
            ObstacleKind::Character { .. } => p + self.obstacle.velocity * dt,
            ObstacleKind::Dynamic { .. } => {
                let v = self.velocity_at(p);
                p + DVec3::new(v.x, 0.0, v.z) * dt
            }
        }
    }

    /// Its velocity at a point, in metres a second.
    pub(super) fn velocity_at(&self, p: DVec3) -> DVec3 {
        let arm = p - self.obstacle.pose.translation;
        self.obstacle.velocity + DVec3::new(arm.z, 0.0, -arm.x) * self.obstacle.spin
    }
}

/// One entry of the index: a cell that an obstacle's bounds meet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    z: i32,
    x: i32,
    item: u32,
}

/// The obstacles of one tick.
#[derive(Clone, Default)]
pub struct Obstacles {
    items: Vec<Item>,
    index: Vec<Entry>,
    large: Vec<u32>,
}

impl std::fmt::Debug for Obstacles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Obstacles").field("len", &self.items.len()).finish_non_exhaustive()
    }
}

impl Obstacles {
    /// Nothing but ground.
    pub const NONE: Self = Self { items: Vec::new(), index: Vec::new(), large: Vec::new() };

    /// The obstacles of a tick of `dt` seconds.
    ///
    /// # Errors
    /// Two with the same id and part, or one that is not convex or not finite.
    pub fn new(list: impl IntoIterator<Item = Obstacle>, dt: f64) -> Result<Self, ObstacleError> {
        let mut made = Self::NONE;
        made.rebuild(list, dt)?;
        Ok(made)
    }

    /// The same in the memory of an earlier tick.
    ///
    /// # Errors
    /// As for [`Obstacles::new`]; there are no obstacles then.
    pub fn rebuild(
        &mut self,
        list: impl IntoIterator<Item = Obstacle>,
        dt: f64,
    ) -> Result<(), ObstacleError> {
        self.items.clear();
        self.index.clear();
        self.large.clear();
        self.items.extend(list.into_iter().map(|obstacle| Item::new(obstacle, dt)));
        self.items.sort_unstable_by_key(|i| (i.obstacle.id, i.obstacle.part));
        let checked = self.check();
        if checked.is_err() {
            self.items.clear();
            return checked;
        }
        self.carry_characters(dt, false);
        self.carry_characters(dt, true);
        // As many as bodies smaller than a cell can need, so that none walks into an allocation.
        self.index.reserve(4 * self.items.len());
        for i in 0..self.items.len() {
            self.items[i].place();
            self.enter(i as u32);
        }
        self.index.sort_unstable();
        Ok(())
    }

    /// Moves the characters that something carries: first those on anything else, then those on other characters.
    fn carry_characters(&mut self, dt: f64, on_others: bool) {
        for i in 0..self.items.len() {
            let ObstacleKind::Character { carrier } = self.items[i].obstacle.kind else { continue };
            let Some(under) = carrier.and_then(|id| self.find(id)) else { continue };
            if matches!(under.obstacle.kind, ObstacleKind::Character { .. }) != on_others {
                continue;
            }
            let from = self.items[i].end.translation;
            let to = under.carry(from, dt);
            self.items[i].obstacle.velocity = (to - from) / dt;
            self.items[i].end.translation = to;
        }
    }

    fn check(&self) -> Result<(), ObstacleError> {
        for (i, Item { obstacle: o, end, .. }) in self.items.iter().enumerate() {
            let finite = end.translation.is_finite() && o.velocity.is_finite() && o.spin.is_finite();
            if !finite || o.shape.as_support_map().is_none() {
                return Err(ObstacleError::Unfit { id: o.id, part: o.part });
            }
            if self.items[..i].last().is_some_and(|p| (p.obstacle.id, p.obstacle.part) == (o.id, o.part)) {
                return Err(ObstacleError::Taken { id: o.id, part: o.part });
            }
        }
        Ok(())
    }

    fn enter(&mut self, item: u32) {
        let [x0, z0, x1, z1] = self.items[item as usize].cells;
        let count = (i64::from(x1) - i64::from(x0) + 1) * (i64::from(z1) - i64::from(z0) + 1);
        if count > MOST_CELLS {
            self.large.push(item);
            return;
        }
        for z in z0..=z1 {
            self.index.extend((x0..=x1).map(|x| Entry { z, x, item }));
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// The first part of a body.
    pub(super) fn find(&self, id: u64) -> Option<&Item> {
        let at = self.items.partition_point(|i| i.obstacle.id < id);
        self.items.get(at).filter(|i| i.obstacle.id == id)
    }

    /// Visits, in no order that means anything, every obstacle whose bounds meet some bounds.
    pub(super) fn each_in(&self, bounds: &Aabb, mut f: impl FnMut(&Item)) {
        let [x0, z0, x1, z1] = cells(bounds);
        let mut meet = |item: u32| {
            let item = &self.items[item as usize];
            if item.bounds.intersects(bounds) {
                f(item);
            }
        };
        self.large.iter().for_each(|&i| meet(i));
        // Long ways over many rows: everything, rather than a search for each row.
        let rows = i64::from(z1) - i64::from(z0);
        if rows >= self.items.len() as i64 {
            self.items.iter().enumerate().for_each(|(i, item)| {
                let large = self.large.binary_search(&(i as u32)).is_ok();
                if !large && item.bounds.intersects(bounds) {
                    meet(i as u32);
                }
            });
            return;
        }
        for z in z0..=z1 {
            let start = self.index.partition_point(|e| (e.z, e.x) < (z, x0));
            for entry in self.index[start..].iter().take_while(|e| e.z == z && e.x <= x1) {
                // An obstacle over several cells is met in the first that both share.
                let [own_x, own_z, ..] = self.items[entry.item as usize].cells;
                if entry.x == own_x.max(x0) && entry.z == own_z.max(z0) {
                    meet(entry.item);
                }
            }
        }
    }
}

impl Item {
    fn new(mut obstacle: Obstacle, dt: f64) -> Self {
        let mut end = obstacle.pose;
        if matches!(obstacle.kind, ObstacleKind::Character { .. }) {
            (obstacle.velocity, obstacle.spin) = (DVec3::ZERO, 0.0);
        }
        if obstacle.kind == ObstacleKind::Kinematic {
            end.translation += obstacle.velocity * dt;
            end.rotation = turn(obstacle.spin * dt) * end.rotation;
        }
        Self { obstacle, end, bounds: Aabb::new_invalid(), cells: [0; 4] }
    }

    fn place(&mut self) {
        self.bounds = self.obstacle.shape.compute_aabb(&self.end);
        self.cells = cells(&self.bounds);
    }
}

/// A turn about Y, in radians.
fn turn(angle: f64) -> DQuat {
    let half = 0.5 * angle;
    DQuat::from_xyzw(0.0, libm::sin(half), 0.0, libm::cos(half))
}

fn cells(bounds: &Aabb) -> [i32; 4] {
    // `as` saturates.
    let cell = |v: f64| (v / CELL_M).floor() as i32;
    [cell(bounds.mins.x), cell(bounds.mins.z), cell(bounds.maxs.x), cell(bounds.maxs.z)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn obstacle(id: u64, at: DVec3, half: DVec3) -> Obstacle {
        Obstacle {
            id,
            part: 0,
            shape: SharedShape::cuboid(half.x, half.y, half.z),
            pose: Pose::from_translation(at),
            velocity: DVec3::ZERO,
            spin: 0.0,
            kind: ObstacleKind::Kinematic,
        }
    }

    #[test]
    fn the_index_finds_each_obstacle_once_whatever_the_order_and_size() {
        let mut list: Vec<Obstacle> = (0..300_u64)
            .map(|n| {
                let at = |k: u64| (n * k % 401) as f64 - 200.0;
                let size = if n % 50 == 0 { 60.0 } else { 0.5 + (n % 7) as f64 };
                obstacle(n * 77 % 1009, DVec3::new(at(13), at(5) * 0.1, at(29)), DVec3::splat(size))
            })
            .collect();
        let obstacles = Obstacles::new(list.clone(), 0.1).unwrap();
        list.reverse();
        let reversed = Obstacles::new(list.clone(), 0.1).unwrap();
        for n in 0..200 {
            let middle = DVec3::new(f64::from(n * 37 % 500 - 250), 0.0, f64::from(n * 91 % 500 - 250));
            let bounds = Aabb::from_half_extents(middle, DVec3::splat(f64::from(n % 40) + 0.1));
            let found = |o: &Obstacles| {
                let mut ids = Vec::new();
                o.each_in(&bounds, |i| ids.push(i.obstacle.id));
                ids.sort_unstable();
                ids
            };
            let mut brute: Vec<u64> = list
                .iter()
                .filter(|o| o.shape.compute_aabb(&o.pose).intersects(&bounds))
                .map(|o| o.id)
                .collect();
            brute.sort_unstable();
            assert_eq!(found(&obstacles), brute);
            assert_eq!(found(&reversed), brute);
        }
        assert!(obstacles.find(77).is_some() && obstacles.find(5000).is_none());
    }

    #[test]
    fn equal_ids_and_what_is_not_convex_are_refused() {
        let one = || obstacle(9, DVec3::ZERO, DVec3::ONE);
        let twice = Obstacles::new([one(), one()], 0.1);
        assert_eq!(twice.unwrap_err(), ObstacleError::Taken { id: 9, part: 0 });
        assert!(Obstacles::new([one(), Obstacle { part: 1, ..one() }], 0.1).is_ok());
        let hollow = SharedShape::compound(vec![(Pose::IDENTITY, SharedShape::ball(1.0))]);
        let unfit = Obstacles::new([Obstacle { shape: hollow, ..one() }], 0.1);
        assert_eq!(unfit.unwrap_err(), ObstacleError::Unfit { id: 9, part: 0 });
        let lost = Obstacle { velocity: DVec3::splat(f64::NAN), ..one() };
        assert!(Obstacles::new([lost], 0.1).is_err());
    }

    #[test]
    fn what_stands_on_a_turning_platform_goes_round() {
        let mut platform = obstacle(1, DVec3::new(5.0, 0.0, 5.0), DVec3::ONE);
        platform.spin = std::f64::consts::FRAC_PI_2;
        platform.velocity = DVec3::Y;
        let obstacles = Obstacles::new([platform], 1.0).unwrap();
        let moved = obstacles.find(1).unwrap().carry(DVec3::new(6.0, 2.0, 5.0), 1.0);
        // A quarter turn about Y takes east to north.
        assert!((moved - DVec3::new(5.0, 3.0, 4.0)).length() < 1e-12, "{moved}");
        assert_eq!(obstacles.find(1).unwrap().velocity_at(DVec3::new(6.0, 2.0, 5.0)).z.signum(), -1.0);
    }
}
