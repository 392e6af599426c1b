//! Answers the engine's questions about pairs of the terrain and another shape.
//!
//! Chain it before the default dispatcher: `TerrainDispatcher.chain(DefaultQueryDispatcher)`. It answers for balls, for
//! every convex shape with polygonal features, and for compounds of these; any other pair with the terrain is
//! `Unsupported`, never "no contact". The default dispatcher after it does answer "no contact" for some of those
//! (meshes), so ask [`TerrainDispatcher::supports`] before a shape enters the world.

use super::contact;
use super::manifold::{Target, renew_workspace};
use super::search;
use super::shape::{TerrainShape, subshape_id};
use super::sweep::{self, parry_triangle};
use crate::surface::Ground;
use parry3d_f64::bounding_volume::BoundingVolume;
use parry3d_f64::math::{Pose, Real, Vector};
use parry3d_f64::query::details::{ContactManifoldsWorkspace, NormalConstraints, ShapeCastOptions};
use parry3d_f64::query::{
    ClosestPoints, Contact, ContactManifold, DefaultQueryDispatcher, NonlinearRigidMotion,
    PersistentQueryDispatcher, QueryDispatcher, ShapeCastHit, ShapeDistance, ShapeIntersection, Unsupported,
};
use parry3d_f64::shape::Shape;
use std::ops::ControlFlow;

/// The query dispatcher for pairs with a [`TerrainShape`]; has no state of its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct TerrainDispatcher;

impl TerrainDispatcher {
    /// Whether every question about the terrain and this shape has an answer.
    pub fn supports(shape: &dyn Shape) -> bool {
        match shape.as_compound() {
            Some(compound) => compound.shapes().iter().all(|(_, part)| contact::supported(part.as_ref())),
            None => contact::supported(shape),
        }
    }
}

/// A pair with the terrain in it.
struct Pair<'a> {
    terrain: &'a TerrainShape,
    shape: &'a dyn Shape,
    /// The other shape's frame in the terrain's.
    pose: Pose,
    /// The terrain is the second shape.
    flipped: bool,
}

impl<'a> Pair<'a> {
    fn new(pos12: &Pose, g1: &'a dyn Shape, g2: &'a dyn Shape) -> Result<Self, Unsupported> {
        let (first, second) = (g1.as_shape::<TerrainShape>(), g2.as_shape::<TerrainShape>());
        match (first, second) {
            (Some(terrain), None) => Ok(Self { terrain, shape: g2, pose: *pos12, flipped: false }),
            (None, Some(terrain)) => Ok(Self { terrain, shape: g1, pose: pos12.inverse(), flipped: true }),
            _ => Err(Unsupported),
        }
    }

    /// Calls `f` with every convex part of the other shape: its number and frame in the shape if it is a part of a
    /// compound, its frame in the terrain's.
    fn each_part(
        &self,
        mut f: impl FnMut(Option<(u32, &Pose)>, &Pose, &dyn Shape) -> Result<(), Unsupported>,
    ) -> Result<(), Unsupported> {
        let Some(compound) = self.shape.as_compound() else { return f(None, &self.pose, self.shape) };
        for (i, (frame, part)) in compound.shapes().iter().enumerate() {
            f(Some((i as u32, frame)), &(self.pose * *frame), part.as_ref())?;
        }
        Ok(())
    }
}

/// Only convex shapes can be asked about triangle by triangle.
fn convex(shape: &dyn Shape) -> Result<(), Unsupported> {
    if shape.as_support_map().is_some() { Ok(()) } else { Err(Unsupported) }
}

/// The triangle nearest to a convex part, with its distance, within `limit`.
fn nearest(
    ground: &Ground,
    pose: &Pose,
    part: &dyn Shape,
    limit: f64,
) -> Result<Option<(f64, crate::surface::Tri)>, Unsupported> {
    convex(part)?;
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

impl QueryDispatcher for TerrainDispatcher {
    fn intersection_test(
        &self,
        pos12: &Pose,
        g1: &dyn Shape,
        g2: &dyn Shape,
    ) -> Result<ShapeIntersection, Unsupported> {
        let pair = Pair::new(pos12, g1, g2)?;
        let ground = pair.terrain.ground();
        let mut found: Option<ShapeIntersection> = None;
        pair.each_part(|part, pose, shape| {
            convex(shape)?;
            let mut unsupported = false;
            search::each_in(&ground, &shape.compute_aabb(pose), |_, tri| {
                match DefaultQueryDispatcher.intersection_test(pose, &parry_triangle(tri), shape) {
                    Ok(hit) if hit.intersecting && found.is_none() => {
                        let id = subshape_id(&ground, tri.cell, tri.triangle);
                        found = Some(hit.with_subshapes(id, part.map_or(0, |p| p.0)));
                    }
                    Ok(_) => {}
                    Err(Unsupported) => unsupported = true,
                }
                if unsupported || found.is_some() {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            });
            if unsupported { Err(Unsupported) } else { Ok(()) }
        })?;
        let answer = found.unwrap_or(ShapeIntersection::new(false));
        Ok(if pair.flipped { answer.swapped() } else { answer })
    }

    /// The distance to the resident surface, `Real::MAX` when there is none.
    fn distance(&self, pos12: &Pose, g1: &dyn Shape, g2: &dyn Shape) -> Result<ShapeDistance, Unsupported> {
        let pair = Pair::new(pos12, g1, g2)?;
        let ground = pair.terrain.ground();
        let mut best = ShapeDistance::new(Real::MAX);
        pair.each_part(|part, pose, shape| {
            if let Some((d, tri)) = nearest(&ground, pose, shape, best.distance)?
                && d < best.distance
            {
                let id = subshape_id(&ground, tri.cell, tri.triangle);
                best = ShapeDistance::new(d).with_subshapes(id, part.map_or(0, |p| p.0));
            }
            Ok(())
        })?;
        Ok(if pair.flipped { best.swapped() } else { best })
    }

    /// The deepest contact with a triangle, two-sided and without regard to neighbours: a geometric answer. Physics uses
    /// the manifolds.
    fn contact(
        &self,
        pos12: &Pose,
        g1: &dyn Shape,
        g2: &dyn Shape,
        prediction: Real,
    ) -> Result<Option<Contact>, Unsupported> {
        let pair = Pair::new(pos12, g1, g2)?;
        let ground = pair.terrain.ground();
        let mut best: Option<Contact> = None;
        pair.each_part(|part, pose, shape| {
            convex(shape)?;
            let mut unsupported = false;
            let near = shape.compute_aabb(pose).loosened(prediction.max(0.0));
            search::each_in(&ground, &near, |_, tri| {
                match DefaultQueryDispatcher.contact(pose, &parry_triangle(tri), shape, prediction) {
                    Ok(Some(mut c)) if best.is_none_or(|b| c.dist < b.dist) => {
                        if let Some((_, frame)) = part {
                            c.point2 = *frame * c.point2;
                            c.normal2 = frame.rotation * c.normal2;
                        }
                        let id = subshape_id(&ground, tri.cell, tri.triangle);
                        best = Some(c.with_subshapes(id, part.map_or(0, |p| p.0)));
                    }
                    Ok(_) => {}
                    Err(Unsupported) => unsupported = true,
                }
                if unsupported { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            if unsupported { Err(Unsupported) } else { Ok(()) }
        })?;
        Ok(best.map(|c| if pair.flipped { c.flipped() } else { c }))
    }

    fn closest_points(
        &self,
        pos12: &Pose,
        g1: &dyn Shape,
        g2: &dyn Shape,
        max_dist: Real,
    ) -> Result<ClosestPoints, Unsupported> {
        let pair = Pair::new(pos12, g1, g2)?;
        let ground = pair.terrain.ground();
        let mut best: Option<(f64, ClosestPoints)> = None;
        pair.each_part(|part, pose, shape| {
            let limit = best.map_or(max_dist, |b| b.0);
            let Some((d, tri)) = nearest(&ground, pose, shape, limit)? else { return Ok(()) };
            if best.is_none_or(|b| d < b.0) {
                let points =
                    DefaultQueryDispatcher.closest_points(pose, &parry_triangle(&tri), shape, max_dist)?;
                let points = match (points, part) {
                    (ClosestPoints::WithinMargin(p1, p2), Some((_, frame))) => {
                        ClosestPoints::WithinMargin(p1, *frame * p2)
                    }
                    (points, _) => points,
                };
                best = Some((d, points));
            }
            Ok(())
        })?;
        let points = best.map_or(ClosestPoints::Disjoint, |b| b.1);
        Ok(if pair.flipped { points.flipped() } else { points })
    }

    fn cast_shapes(
        &self,
        pos12: &Pose,
        local_vel12: Vector,
        g1: &dyn Shape,
        g2: &dyn Shape,
        options: ShapeCastOptions,
    ) -> Result<Option<ShapeCastHit>, Unsupported> {
        let pair = Pair::new(pos12, g1, g2)?;
        let ground = pair.terrain.ground();
        // The velocity is that of the second shape seen from the first.
        let velocity = if pair.flipped { pair.pose.rotation * -local_vel12 } else { local_vel12 };
        let mut best: Option<ShapeCastHit> = None;
        pair.each_part(|part, pose, shape| {
            convex(shape)?;
            let limit = best.map_or(options.max_time_of_impact, |b| b.time_of_impact);
            let options = ShapeCastOptions { max_time_of_impact: limit, ..options };
            if let Some(hit) = sweep::cast_linear(&ground, pose, velocity, shape, options)?
                && best.is_none_or(|b| hit.time_of_impact < b.time_of_impact)
            {
                best = Some(part.map_or(hit, |(i, frame)| sweep::in_part(hit, i, frame)));
            }
            Ok(())
        })?;
        Ok(best.map(|hit| if pair.flipped { hit.swapped() } else { hit }))
    }

    fn cast_shapes_nonlinear(
        &self,
        motion1: &NonlinearRigidMotion,
        g1: &dyn Shape,
        motion2: &NonlinearRigidMotion,
        g2: &dyn Shape,
        start_time: Real,
        end_time: Real,
        stop_at_penetration: bool,
    ) -> Result<Option<ShapeCastHit>, Unsupported> {
        let pair = Pair::new(&Pose::IDENTITY, g1, g2)?;
        let ground = pair.terrain.ground();
        let (terrain, motion) = if pair.flipped { (motion2, motion1) } else { (motion1, motion2) };
        let times = (start_time, end_time);
        let hit = sweep::cast_nonlinear(&ground, terrain, motion, pair.shape, times, stop_at_penetration)?;
        Ok(hit.map(|hit| if pair.flipped { hit.swapped() } else { hit }))
    }
}

impl<M, C> PersistentQueryDispatcher<M, C> for TerrainDispatcher
where
    M: Default + Clone,
    C: Default + Copy,
{
    fn contact_manifolds(
        &self,
        pos12: &Pose,
        g1: &dyn Shape,
        g2: &dyn Shape,
        prediction: Real,
        manifolds: &mut Vec<ContactManifold<M, C>>,
        workspace: &mut Option<ContactManifoldsWorkspace>,
    ) -> Result<(), Unsupported> {
        let pair = Pair::new(pos12, g1, g2)?;
        // Refused before anything is touched.
        if !Self::supports(pair.shape) {
            return Err(Unsupported);
        }
        let ground = pair.terrain.ground();
        let (room, known) = renew_workspace(workspace);
        if !known {
            manifolds.clear();
        }
        let old = manifolds.len();
        let mut target = Target { ground: &ground, flipped: pair.flipped, old, out: manifolds };
        pair.each_part(|part, pose, shape| {
            room.patches.clear();
            let touched = target.touched(part.map_or(0, |p| p.0));
            contact::patches(&ground, pose, shape, prediction, touched, &mut room.patches);
            target.write(room, pose, part);
            Ok(())
        })?;
        manifolds.drain(..old);
        Ok(())
    }

    /// The terrain is not convex.
    fn contact_manifold_convex_convex(
        &self,
        _pos12: &Pose,
        _g1: &dyn Shape,
        _g2: &dyn Shape,
        _constraints1: Option<&dyn NormalConstraints>,
        _constraints2: Option<&dyn NormalConstraints>,
        _prediction: Real,
        _manifold: &mut ContactManifold<M, C>,
    ) -> Result<(), Unsupported> {
        Err(Unsupported)
    }
}
