//! Walkers among walkers: the half-space that each keeps to.
//!
//! All walkers of a tick read the same start state. For every near pair the plane midway between their closest points
//! divides the space; both capsules are convex, each keeps to its side, so whatever both do they never overlap, and
//! neither needs to know what the other does. Two that already overlap each leave half of the overlap.

use super::obstacles::{Obstacle, ObstacleKind, Obstacles};
use super::solid::Upright;
use arrayvec::ArrayVec;
use glam::DVec3;
use highground_terrain::parry::bounding_volume::BoundingVolume;

/// Neighbours beyond this many, the farthest first, are left out.
const MOST_NEIGHBOURS: usize = 24;

/// What another walker leaves of the space.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side {
    /// Whose.
    pub(super) id: u64,
    /// Unit, from the other to this one.
    pub(super) normal: DVec3,
    /// This walker's position when the plane was made, and how far it was from touching it.
    from: DVec3,
    room: f64,
}

impl Side {
    /// How far a position is from touching the plane; negative beyond it.
    pub(super) fn room_at(&self, p: DVec3) -> f64 {
        self.normal.dot(p - self.from) + self.room
    }
}

/// The sides that a walker keeps to, nearest first.
pub(super) type Crowd = ArrayVec<Side, MOST_NEIGHBOURS>;

/// The sides of a walker at `at` that can come no further than `reach` metres in this tick.
pub(super) fn meet(obstacles: &Obstacles, me: Option<u64>, body: Upright, at: DVec3, reach: f64) -> Crowd {
    let mut crowd = Crowd::new();
    let near = body.bounds(at).loosened(2.0 * reach);
    obstacles.each_in(&near, |item| {
        let Obstacle { id, kind: ObstacleKind::Character { .. }, .. } = item.obstacle else { return };
        if me == Some(id) {
            return;
        }
        let closest = item.solid().closest(body.half, at);
        let room = 0.5 * (closest.distance - body.radius);
        if room > reach {
            return;
        }
        // In one place: the lower id goes east.
        let apart = (at - item.end.translation).length_squared() > 1e-18;
        let east = if me.is_some_and(|me| me < id) { DVec3::X } else { -DVec3::X };
        let side = Side { id, normal: if apart { closest.normal } else { east }, from: at, room };
        let before = |other: &Side| (room, id) < (other.room, other.id);
        let place = crowd.iter().position(before).unwrap_or(crowd.len());
        if place < MOST_NEIGHBOURS {
            crowd.truncate(MOST_NEIGHBOURS - 1);
            crowd.insert(place, side);
        }
    });
    crowd
}
