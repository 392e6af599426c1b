//! Writes patches into the engine's contact manifolds, and carries impulses over from the step before.
//!
//! Manifolds are rebuilt from the current ground at every update, so none outlives the ground it came from, and a swap
//! of ground elsewhere changes no bit. A point that is on the same spot of the shape with the same normal as before takes
//! over the solver's impulses as its first guess; not so when the engine has reset the pair's workspace.

use super::contact::{Patch, Touch};
use super::merge::{PartPatches, Scratch};
use super::shape::subshape_id;
use crate::surface::Ground;
use parry3d_f64::math::Pose;
use parry3d_f64::query::details::{ContactManifoldsWorkspace, TypedWorkspaceData, WorkspaceData};
use parry3d_f64::query::{ContactManifold, TrackedContact};
use parry3d_f64::shape::PackedFeatureId;
use std::cell::RefCell;

/// A point counts as the same as one of the last step when it moved less than this (m) over the shape.
const SAME_SPOT: f64 = 0.02;

/// And when the normals agree within about 8°.
const SAME_NORMAL: f64 = 0.99;

/// Marks a pair whose manifolds are ours. Always there: the engine takes a pair without a workspace for one of single
/// convex shapes, and drops the workspace of a pair whose shapes it was told about anew. Holds nothing.
#[derive(Debug)]
struct Workspace;

impl WorkspaceData for Workspace {
    fn as_typed_workspace_data(&self) -> TypedWorkspaceData<'_> {
        TypedWorkspaceData::Custom
    }

    fn clone_dyn(&self) -> Box<dyn WorkspaceData> {
        Box::new(Self)
    }
}

/// Sees to it that the workspace is there: whether it was there before.
pub(super) fn renew_workspace(workspace: &mut Option<ContactManifoldsWorkspace>) -> bool {
    let known = workspace.as_ref().is_some_and(|w| w.0.downcast_ref::<Workspace>().is_some());
    if !known {
        *workspace = Some(ContactManifoldsWorkspace(Box::new(Workspace)));
    }
    known
}

thread_local! {
    static ROOM: RefCell<Scratch> = RefCell::default();
}

/// Lends the thread's room for one update of a pair.
pub(super) fn with_room<T>(f: impl FnOnce(&mut Scratch) -> T) -> T {
    ROOM.with_borrow_mut(f)
}

/// Where patches are written to.
pub(super) struct Target<'a, M, C> {
    pub(super) ground: &'a Ground,
    /// The terrain is the second shape of the pair.
    pub(super) flipped: bool,
    /// How many manifolds of the step before stand first in `out`. They give their impulses and are then dropped.
    pub(super) old: usize,
    /// Those, then the manifolds of this step.
    pub(super) out: &'a mut Vec<ContactManifold<M, C>>,
}

impl<M: Default, C: Default + Copy> Target<'_, M, C> {
    /// Writes what was found, by part.
    pub(super) fn write(&mut self, room: &mut Scratch) {
        room.sort();
        for at in 0..room.parts.len() {
            let part = room.parts[at];
            room.each_merged(part, |patch, touches| self.push(&part, patch, touches));
        }
    }

    fn push(&mut self, part: &PartPatches, patch: &Patch, touches: &[Touch]) {
        let id = subshape_id(self.ground, patch.cell, patch.triangle);
        let (id1, id2) = if self.flipped { (part.id, id) } else { (id, part.id) };
        let mut manifold = ContactManifold::with_data(id1, id2, M::default());
        let (n1, n2) = (patch.normal, part.pose.rotation.inverse() * -patch.normal);
        (manifold.local_n1, manifold.local_n2) = if self.flipped { (n2, n1) } else { (n1, n2) };
        if part.frame.is_some() {
            if self.flipped {
                manifold.set_subshape_pos1(part.frame);
            } else {
                manifold.set_subshape_pos2(part.frame);
            }
        }
        manifold.points.extend(touches.iter().map(|t| tracked(t, &part.pose, self.flipped)));
        self.inherit(&mut manifold);
        self.out.push(manifold);
    }

    /// Whether a part touched the ground in the step before.
    pub(super) fn touched(&self, part: u32) -> bool {
        let number = |m: &ContactManifold<M, C>| if self.flipped { m.subshape1 } else { m.subshape2 };
        self.out[..self.old].iter().any(|m| number(m) == part && !m.points.is_empty())
    }

    /// Gives each point the data of the closest point that was on the same spot of the same part.
    fn inherit(&self, manifold: &mut ContactManifold<M, C>) {
        let spot = |c: &TrackedContact<C>| if self.flipped { c.local_p1 } else { c.local_p2 };
        let part = |m: &ContactManifold<M, C>| if self.flipped { m.subshape1 } else { m.subshape2 };
        let normal = |m: &ContactManifold<M, C>| if self.flipped { m.local_n2 } else { m.local_n1 };
        let (n, p) = (normal(manifold), part(manifold));
        for point in &mut manifold.points {
            let mut best = SAME_SPOT * SAME_SPOT;
            for old in self.out[..self.old].iter().filter(|m| part(m) == p && normal(m).dot(n) > SAME_NORMAL)
            {
                for c in &old.points {
                    let d = spot(c).distance_squared(spot(point));
                    if d < best {
                        best = d;
                        point.data = c.data;
                    }
                }
            }
        }
    }
}

fn tracked<C: Default + Copy>(t: &Touch, pose: &Pose, flipped: bool) -> TrackedContact<C> {
    let on_shape = pose.inverse_transform_point(t.shape);
    let unknown = PackedFeatureId::UNKNOWN;
    TrackedContact::flipped(t.ground, on_shape, unknown, unknown, t.dist, flipped)
}
