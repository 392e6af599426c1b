//! What one update of a pair has found, part by part, and the merging of what lies on one plane.
//!
//! Owns the room that an update needs. Never decides what a contact is.

use super::contact::{Patch, Touch};
use glam::DVec3;
use parry3d_f64::math::Pose;

/// One part of a shape, and which patches are its.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartPatches {
    /// The part's number.
    pub(super) id: u32,
    /// Its frame in the shape's, when that is another.
    pub(super) frame: Option<Pose>,
    /// Its frame in the terrain's.
    pub(super) pose: Pose,
    from: usize,
    to: usize,
}

/// Room for one update of a pair, one a thread, so that steady contacts allocate nothing here and hold nothing a pair.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// What the shape touches, part by part.
    pub(super) patches: Vec<Patch>,
    /// The parts that touch, by number once they are written.
    pub(super) parts: Vec<PartPatches>,
    /// By patch: the patch that it merges into, itself when it stays.
    homes: Vec<usize>,
    points: Vec<Touch>,
    hull: Vec<Touch>,
}

impl Scratch {
    /// Nothing touches yet.
    pub(super) fn clear(&mut self) {
        self.patches.clear();
        self.parts.clear();
    }

    /// Where the patches of the next part begin.
    pub(super) fn begin_part(&self) -> usize {
        self.patches.len()
    }

    /// What was added since `from` belongs to this part.
    pub(super) fn end_part(&mut self, id: u32, frame: Option<Pose>, pose: Pose, from: usize) {
        let to = self.patches.len();
        if from < to {
            self.parts.push(PartPatches { id, frame, pose, from, to });
        }
    }

    /// Puts the parts in the order of their numbers, however the walk over them went.
    pub(super) fn sort(&mut self) {
        self.parts.sort_unstable_by_key(|p| (p.id, p.from));
    }

    /// Merges the face patches of a part on exactly flush triangles: on one plane the inner points where the seams cut a face carry
    /// nothing, and a solver that picks four points of many could pick those. Only corners of the common outline stay.
    /// `f` gets every patch that stays, with its points.
    pub(super) fn each_merged(&mut self, part: PartPatches, mut f: impl FnMut(&Patch, &[Touch])) {
        let Self { patches, homes, points, hull, .. } = self;
        let patches = &patches[part.from..part.to];
        homes.clear();
        for (at, patch) in patches.iter().enumerate() {
            let same = |&home: &usize| {
                let kept = &patches[home];
                homes[home] == home && kept.face && patch.face && same_plane(kept, patch)
            };
            let home = (0..at).find(same).unwrap_or(at);
            homes.push(home);
        }
        for (at, patch) in patches.iter().enumerate().filter(|&(at, _)| homes[at] == at) {
            points.clear();
            let merged = patches.iter().zip(&*homes).skip(at).filter(|&(_, &home)| home == at);
            merged.for_each(|(p, _)| points.extend(p.points.iter().copied()));
            if points.len() > 1 {
                outline(points, hull, patch.normal);
            }
            f(patch, points);
        }
    }
}

fn same_plane(a: &Patch, b: &Patch) -> bool {
    let (Some(p), Some(q)) = (a.points.first(), b.points.first()) else { return false };
    a.normal.distance_squared(b.normal) < 1e-20 && a.normal.dot(p.ground - q.ground).abs() < 1e-7
}

/// Keeps the corners of the convex outline of the points seen along `n` (Andrew's monotone chain, 1979). `hull` is room.
fn outline(points: &mut Vec<Touch>, hull: &mut Vec<Touch>, n: DVec3) {
    let (u, v) = n.any_orthonormal_pair();
    let flat = |t: &Touch| (t.ground.dot(u), t.ground.dot(v));
    points.sort_by(|a, b| {
        let (a, b) = (flat(a), flat(b));
        a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    points.dedup_by(|a, b| a.ground.distance_squared(b.ground) < 1e-12);
    if points.len() < 3 {
        return;
    }
    // A corner must stand out by more than rounding from the line between its neighbours.
    let stands_out = |a: &Touch, b: &Touch, c: &Touch| {
        let ((ax, ay), (bx, by), (cx, cy)) = (flat(a), flat(b), flat(c));
        let area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax);
        area > 1e-6 * a.ground.distance(c.ground)
    };
    hull.clear();
    let mut half = |order: &mut dyn Iterator<Item = &Touch>| {
        let from = hull.len();
        for t in order {
            while hull.len() >= from + 2 && !stands_out(&hull[hull.len() - 2], &hull[hull.len() - 1], t) {
                hull.pop();
            }
            hull.push(*t);
        }
        hull.pop();
    };
    half(&mut points.iter());
    half(&mut points.iter().rev());
    std::mem::swap(points, hull);
}
