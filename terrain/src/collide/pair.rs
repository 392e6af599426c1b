//! A terrain and another shape: the answers about one convex part (or half-space), and the walk over the parts of others.
//!
//! Everything here is told in the terrain's frame. Two-sided and without regard to neighbours: geometric answers. What
//! physics feels are the manifolds of [`super::contact`].

use super::half_space;
use super::parts::{self, Part};
use super::search;
use super::shape::{TerrainShape, subshape_id};
use super::sweep::{self, parry_triangle};
use crate::surface::{Ground, Tri};
use parry3d_f64::bounding_volume::{Aabb, BoundingVolume};
use parry3d_f64::math::{Pose, Real, Vector};
use parry3d_f64::query::details::ShapeCastOptions;
use parry3d_f64::query::{
    ClosestPoints, Contact, DefaultQueryDispatcher, NonlinearRigidMotion, QueryDispatcher, ShapeCastHit,
    Unsupported,
};
use parry3d_f64::shape::Shape;
use std::ops::ControlFlow;

/// A pair with the terrain in it. When both are terrains, the second one is the other shape.
pub(super) struct Pair<'a> {
    pub(super) terrain: &'a TerrainShape,
    pub(super) shape: &'a dyn Shape,
    /// The other shape's frame in the terrain's.
    pub(super) pose: Pose,
    /// The terrain is the second shape.
    pub(super) flipped: bool,
}

impl<'a> Pair<'a> {
    pub(super) fn new(pos12: &Pose, g1: &'a dyn Shape, g2: &'a dyn Shape) -> Result<Self, Unsupported> {
        let (first, second) = (g1.as_shape::<TerrainShape>(), g2.as_shape::<TerrainShape>());
        match (first, second) {
            (Some(terrain), _) => Ok(Self { terrain, shape: g2, pose: *pos12, flipped: false }),
            (None, Some(terrain)) => Ok(Self { terrain, shape: g1, pose: pos12.inverse(), flipped: true }),
            (None, None) => Err(Unsupported),
        }
    }

    /// Calls `take` with every part of the other shape, and its frame in the terrain's, whose box (terrain frame) `enter`
    /// lets pass.
    pub(super) fn each_part(
        &self,
        mut enter: impl FnMut(&Aabb) -> bool,
        mut take: impl FnMut(Part<'_>, &Pose) -> Result<ControlFlow<()>, Unsupported>,
    ) -> Result<(), Unsupported> {
        let mut result = Ok(());
        parts::each_part(
            self.shape,
            &mut |aabb| enter(&aabb.transform_by(&self.pose)),
            &mut |part| match take(part, &part.pose(&self.pose)) {
                Ok(flow) => flow,
                Err(Unsupported) => {
                    result = Err(Unsupported);
                    ControlFlow::Break(())
                }
            },
        )?;
        result
    }
}

/// The number of a triangle that meets a part.
pub(super) fn intersecting(
    ground: &Ground,
    pose: &Pose,
    part: &dyn Shape,
) -> Result<Option<u32>, Unsupported> {
    let id = |tri: &Tri| subshape_id(ground, tri.cell, tri.triangle);
    if let Some(space) = part.as_halfspace() {
        let deepest = half_space::deepest(ground, pose, space);
        return Ok(deepest.filter(|d| d.height <= 0.0).map(|d| id(&d.tri)));
    }
    let mut found = Ok(None);
    search::each_in(ground, &part.compute_aabb(pose), |_, tri| {
        found = DefaultQueryDispatcher
            .intersection_test(pose, &parry_triangle(tri), part)
            .map(|hit| hit.intersecting.then(|| id(tri)));
        if matches!(found, Ok(None)) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    found
}

/// The distance to a part, if it is at most `limit`, and the triangle that is nearest.
pub(super) fn nearest(
    ground: &Ground,
    pose: &Pose,
    part: &dyn Shape,
    limit: Real,
) -> Result<Option<(Real, Tri)>, Unsupported> {
    if let Some(space) = part.as_halfspace() {
        let deepest = half_space::deepest(ground, pose, space);
        return Ok(deepest.map(|d| (d.height.max(0.0), d.tri)).filter(|d| d.0 <= limit));
    }
    let mut unsupported = false;
    let found =
        search::nearest(ground, &part.compute_aabb(pose), limit, |_, tri| {
            match DefaultQueryDispatcher.distance(pose, &parry_triangle(tri), part) {
                Ok(d) => d.distance,
                Err(Unsupported) => {
                    unsupported = true;
                    Real::INFINITY
                }
            }
        });
    if unsupported { Err(Unsupported) } else { Ok(found) }
}

/// The closest points of a part and the triangle that [`nearest`] gave.
pub(super) fn closest_points(
    ground: &Ground,
    pose: &Pose,
    part: &dyn Shape,
    tri: &Tri,
    limit: Real,
) -> Result<ClosestPoints, Unsupported> {
    let Some(space) = part.as_halfspace() else {
        // The search may stop short of the closest points from one side and not from the other.
        let triangle = parry_triangle(tri);
        let one = DefaultQueryDispatcher.closest_points(pose, &triangle, part, limit)?;
        let other = DefaultQueryDispatcher.closest_points(&pose.inverse(), part, &triangle, limit)?.flipped();
        let apart = |points: &ClosestPoints| match points {
            ClosestPoints::WithinMargin(p, q) => p.distance(pose * *q),
            ClosestPoints::Intersecting => 0.0,
            ClosestPoints::Disjoint => Real::INFINITY,
        };
        return Ok(if apart(&other) < apart(&one) { other } else { one });
    };
    Ok(match half_space::deepest(ground, pose, space) {
        Some(d) if d.height <= 0.0 => ClosestPoints::Intersecting,
        Some(d) if d.height <= limit => {
            ClosestPoints::WithinMargin(d.corner, pose.inverse_transform_point(d.foot))
        }
        _ => ClosestPoints::Disjoint,
    })
}

/// The deepest contact of a part with a triangle.
pub(super) fn contact(
    ground: &Ground,
    pose: &Pose,
    part: &dyn Shape,
    prediction: Real,
) -> Result<Option<Contact>, Unsupported> {
    if let Some(space) = part.as_halfspace() {
        let deepest = half_space::deepest(ground, pose, space).filter(|d| d.height <= prediction);
        return Ok(deepest.map(|d| {
            let foot = pose.inverse_transform_point(d.foot);
            Contact::new(d.corner, foot, -d.normal, space.normal, d.height)
                .with_subshapes(subshape_id(ground, d.tri.cell, d.tri.triangle), 0)
        }));
    }
    let mut best: Option<Contact> = None;
    let mut unsupported = false;
    let near = part.compute_aabb(pose).loosened(prediction.max(0.0));
    search::each_in(ground, &near, |_, tri| {
        match DefaultQueryDispatcher.contact(pose, &parry_triangle(tri), part, prediction) {
            Ok(Some(c)) if best.is_none_or(|b| c.dist < b.dist) => {
                best = Some(c.with_subshapes(subshape_id(ground, tri.cell, tri.triangle), 0));
            }
            Ok(_) => {}
            Err(Unsupported) => unsupported = true,
        }
        if unsupported { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if unsupported { Err(Unsupported) } else { Ok(best) }
}

/// The first touch of a part that moves with `velocity`.
pub(super) fn cast(
    ground: &Ground,
    pose: &Pose,
    velocity: Vector,
    part: &dyn Shape,
    options: ShapeCastOptions,
) -> Result<Option<ShapeCastHit>, Unsupported> {
    if let Some(space) = part.as_halfspace() {
        return Ok(half_space::cast_linear(ground, pose, velocity, space, options));
    }
    sweep::cast_linear(ground, pose, velocity, part, options)
}

/// The first touch of a part that moves and turns between two times.
pub(super) fn cast_nonlinear(
    ground: &Ground,
    terrain: &NonlinearRigidMotion,
    motion: &NonlinearRigidMotion,
    part: &dyn Shape,
    times: (Real, Real),
    two_sided: bool,
) -> Result<Option<ShapeCastHit>, Unsupported> {
    if let Some(space) = part.as_halfspace() {
        return Ok(half_space::cast_nonlinear(ground, terrain, motion, space, times, two_sided));
    }
    sweep::cast_nonlinear(ground, terrain, motion, part, times, two_sided)
}

/// A hit of a part, told in the whole shape's frame.
pub(super) fn in_whole(hit: ShapeCastHit, part: Part<'_>) -> ShapeCastHit {
    ShapeCastHit {
        witness2: part.point(hit.witness2),
        normal2: part.direction(hit.normal2),
        subshape2: part.id,
        ..hit
    }
}
