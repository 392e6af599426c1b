//! The ground and a half-space: everything on one side of a plane.
//!
//! The ground is a sheet over a bounded map, so all that a half-space can touch first is one of its corners; every answer
//! is about the corner that lies deepest. Two-sided. Meant for probes ("is all of it above this plane?"); a half-space
//! that moves bodies is a collider of its own and needs no ground.

use super::search;
use crate::surface::{Ground, Tri};
use glam::DVec3;
use parry3d_f64::math::Pose;
use parry3d_f64::query::details::ShapeCastOptions;
use parry3d_f64::query::{NonlinearRigidMotion, ShapeCastHit, ShapeCastStatus};
use parry3d_f64::shape::HalfSpace;

/// How near (m) counts as touching for a plane that moves and turns.
const TOUCH: f64 = 0.005;

/// Most steps towards a turning plane's first touch.
const STEPS: u32 = 4096;

/// The deepest corner of the ground.
#[derive(Clone, Copy)]
pub(super) struct Deepest {
    /// Above the plane when positive (m).
    pub(super) height: f64,
    /// The corner, in the terrain's frame.
    pub(super) corner: DVec3,
    /// Its foot on the plane.
    pub(super) foot: DVec3,
    /// The plane's normal, out of the solid side.
    pub(super) normal: DVec3,
    /// A triangle with that corner.
    pub(super) tri: Tri,
}

/// The deepest corner in a half-space at `pose` (its frame in the terrain's); `None` when nothing is resident.
pub(super) fn deepest(ground: &Ground, pose: &Pose, space: &HalfSpace) -> Option<Deepest> {
    let normal = pose.rotation * space.normal;
    let (along, tri, corner) = search::lowest(ground, normal)?;
    let height = along - normal.dot(pose.translation);
    Some(Deepest { height, corner, foot: corner - normal * height, normal, tri })
}

/// The first touch of a half-space that moves with `velocity`.
pub(super) fn cast_linear(
    ground: &Ground,
    pose: &Pose,
    velocity: DVec3,
    space: &HalfSpace,
    options: ShapeCastOptions,
) -> Option<ShapeCastHit> {
    let at = deepest(ground, pose, space)?;
    let closing = at.normal.dot(velocity);
    let over = at.height - options.target_distance;
    let (time, status) = if over <= 0.0 {
        if !options.stop_at_penetration && closing <= 0.0 {
            return None;
        }
        (0.0, ShapeCastStatus::PenetratingOrWithinTargetDist)
    } else if closing > 0.0 {
        (over / closing, ShapeCastStatus::Converged)
    } else {
        return None;
    };
    (time <= options.max_time_of_impact).then(|| hit(&at, space, pose, at.foot, time, status))
}

/// The first touch of a half-space that moves and turns. Advances by what the plane can cover at most over the map, so
/// it never passes a touch; ends within 5 mm of it.
pub(super) fn cast_nonlinear(
    ground: &Ground,
    terrain: &NonlinearRigidMotion,
    motion: &NonlinearRigidMotion,
    space: &HalfSpace,
    times: (f64, f64),
    two_sided: bool,
) -> Option<ShapeCastHit> {
    let world = search::resident_bounds(ground)?;
    let pose_at = |t: f64| terrain.position_at_time(t).inv_mul(&motion.position_at_time(t));
    let turn = motion.angvel.length() + terrain.angvel.length();
    let mut t = times.0;
    for _ in 0..STEPS {
        let pose = pose_at(t);
        let at = deepest(ground, &pose, space)?;
        if at.height <= TOUCH {
            // As for other shapes, what is touched at the start stops only a sensor.
            let real = two_sided || t > times.0;
            return real.then(|| hit(&at, space, &pose, at.foot, t, ShapeCastStatus::Converged));
        }
        let furthest = (world.mins - pose.translation).abs().max((world.maxs - pose.translation).abs());
        let reach = furthest.length() + motion.local_center.length() + terrain.local_center.length();
        let fastest = motion.linvel.length() + terrain.linvel.length() + turn * reach;
        if fastest == 0.0 {
            return None;
        }
        t += (at.height - 0.5 * TOUCH) / fastest;
        if t > times.1 {
            return None;
        }
    }
    // Not resolved in so many steps: the last time that is known to be free.
    let pose = pose_at(t);
    let at = deepest(ground, &pose, space)?;
    Some(hit(&at, space, &pose, at.foot, t, ShapeCastStatus::OutOfIterations))
}

/// A hit with the triangle's number left to the caller.
fn hit(
    at: &Deepest,
    space: &HalfSpace,
    pose: &Pose,
    foot: DVec3,
    time: f64,
    status: ShapeCastStatus,
) -> ShapeCastHit {
    ShapeCastHit {
        time_of_impact: time,
        witness1: at.corner,
        witness2: pose.inverse_transform_point(foot),
        normal1: -at.normal,
        normal2: space.normal,
        status,
        subshape1: 0,
        subshape2: 0,
    }
}
