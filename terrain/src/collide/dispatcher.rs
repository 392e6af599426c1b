//! Answers the engine's questions about pairs of the terrain and another shape.
//!
//! Chain it before the default dispatcher: `TerrainDispatcher.chain(DefaultQueryDispatcher)`. It answers for every shape of
//! the engine, in either order: balls, capsules, cuboids, cylinders, cones, hulls, triangles, segments and their rounded
//! forms directly; compounds, meshes, polylines, voxels, height fields and a second terrain part by part, entering only
//! the boxes that can matter; half-spaces by the ground's deepest corner. A custom shape is answered when it has a support
//! function or is made of parts; any other is `Unsupported`, and since the default dispatcher after it may take that for
//! "no contact", ask [`TerrainDispatcher::supports`] before such a shape enters the world.

use super::contact;
use super::half_space;
use super::manifold::{Target, renew_workspace, with_room};
use super::merge::Scratch;
use super::pair::{self, Pair, in_whole};
use super::parts;
use super::search;
use super::shape::subshape_id;
use super::sweep::{self, SLOP};
use crate::surface::Ground;
use parry3d_f64::bounding_volume::{Aabb, BoundingVolume};
use parry3d_f64::math::{Pose, Real, Vector};
use parry3d_f64::query::details::{ContactManifoldsWorkspace, NormalConstraints, ShapeCastOptions};
use parry3d_f64::query::{
    ClosestPoints, Contact, ContactManifold, NonlinearRigidMotion, PersistentQueryDispatcher,
    QueryDispatcher, ShapeCastHit, ShapeDistance, ShapeIntersection, Unsupported,
};
use parry3d_f64::shape::Shape;
use std::cell::Cell;
use std::ops::ControlFlow;

/// The query dispatcher for pairs with a [`super::TerrainShape`]; has no state of its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct TerrainDispatcher;

impl TerrainDispatcher {
    /// Whether every question about the terrain and this shape has an answer.
    pub fn supports(shape: &dyn Shape) -> bool {
        parts::known(shape)
    }
}

fn go_on(stop: bool) -> Result<ControlFlow<()>, Unsupported> {
    Ok(if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
}

/// Whether anything of the surface may be within `margin` of a box.
fn near(ground: &Ground, aabb: &Aabb, margin: Real) -> bool {
    search::gap(ground, aabb, margin) <= margin
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
        let mut answer = ShapeIntersection::new(false);
        pair.each_part(
            |aabb| near(&ground, aabb, 0.0),
            |part, pose| {
                let found = pair::intersecting(&ground, pose, part.shape)?;
                if let Some(id) = found {
                    answer = ShapeIntersection::new(true).with_subshapes(id, part.id);
                }
                go_on(found.is_some())
            },
        )?;
        Ok(if pair.flipped { answer.swapped() } else { answer })
    }

    /// The distance to the resident surface, `Real::MAX` when there is none.
    fn distance(&self, pos12: &Pose, g1: &dyn Shape, g2: &dyn Shape) -> Result<ShapeDistance, Unsupported> {
        let pair = Pair::new(pos12, g1, g2)?;
        let ground = pair.terrain.ground();
        let limit = Cell::new(Real::MAX);
        let mut best = ShapeDistance::new(Real::MAX);
        pair.each_part(
            |aabb| search::gap(&ground, aabb, limit.get()) < limit.get(),
            |part, pose| {
                if let Some((d, tri)) = pair::nearest(&ground, pose, part.shape, limit.get())?
                    && d < limit.get()
                {
                    let id = subshape_id(&ground, tri.cell, tri.triangle);
                    best = ShapeDistance::new(d).with_subshapes(id, part.id);
                    limit.set(d);
                }
                go_on(limit.get() <= 0.0)
            },
        )?;
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
        pair.each_part(
            |aabb| near(&ground, aabb, prediction.max(0.0)),
            |part, pose| {
                let found = pair::contact(&ground, pose, part.shape, prediction)?;
                if let Some(mut c) = found
                    && best.is_none_or(|b| c.dist < b.dist)
                {
                    c.point2 = part.point(c.point2);
                    c.normal2 = part.direction(c.normal2);
                    c.subshape2 = part.id;
                    best = Some(c);
                }
                go_on(false)
            },
        )?;
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
        let limit = Cell::new(max_dist);
        let mut best: Option<(Real, ClosestPoints)> = None;
        pair.each_part(
            |aabb| search::gap(&ground, aabb, limit.get()) <= limit.get(),
            |part, pose| {
                if let Some((d, tri)) = pair::nearest(&ground, pose, part.shape, limit.get())?
                    && best.is_none_or(|b| d < b.0)
                {
                    let points = pair::closest_points(&ground, pose, part.shape, &tri, max_dist)?;
                    let points = match points {
                        ClosestPoints::WithinMargin(p1, p2) => {
                            ClosestPoints::WithinMargin(p1, part.point(p2))
                        }
                        points => points,
                    };
                    best = Some((d, points));
                    limit.set(d);
                }
                go_on(limit.get() <= 0.0)
            },
        )?;
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
        let limit = Cell::new(options.max_time_of_impact);
        let mut best: Option<ShapeCastHit> = None;
        pair.each_part(
            |aabb| {
                let aabb = aabb.loosened(options.target_distance.max(0.0));
                search::box_time(&ground, &aabb, velocity, limit.get()) <= limit.get()
            },
            |part, pose| {
                let options = ShapeCastOptions { max_time_of_impact: limit.get(), ..options };
                if let Some(hit) = pair::cast(&ground, pose, velocity, part.shape, options)?
                    && best.is_none_or(|b| hit.time_of_impact < b.time_of_impact)
                {
                    best = Some(in_whole(hit, part));
                    limit.set(hit.time_of_impact);
                }
                go_on(best.is_some() && limit.get() <= 0.0)
            },
        )?;
        Ok(best.map(|hit| if pair.flipped { hit.swapped() } else { hit }))
    }

    /// The terrain rests; the other shape's centre moves straight and it turns by the shorter arc. Without
    /// `stop_at_penetration` one-sided: what comes from below, or leaves, is not stopped.
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
        let sweep = sweep::sweep_of(terrain, motion, times);
        let mut best: Option<ShapeCastHit> = None;
        // The pair's pose is the identity: boxes come in the shape's own frame.
        pair.each_part(
            |aabb| near(&ground, &sweep::swept_box(aabb, &sweep), 2.0 * SLOP),
            |part, _| {
                let moving = part.frame.map_or(*motion, |frame| motion.prepend(*frame));
                let hit =
                    pair::cast_nonlinear(&ground, terrain, &moving, part.shape, times, stop_at_penetration)?;
                if let Some(hit) = hit
                    && best.is_none_or(|b| hit.time_of_impact < b.time_of_impact)
                {
                    best = Some(in_whole(hit, part));
                }
                go_on(false)
            },
        )?;
        Ok(best.map(|hit| if pair.flipped { hit.swapped() } else { hit }))
    }
}

/// Finds what every part touches. `touched` says of a part's number whether it touched the step before.
fn collect(
    pair: &Pair<'_>,
    ground: &Ground,
    prediction: Real,
    touched: impl Fn(u32) -> bool,
    room: &mut Scratch,
) -> Result<(), Unsupported> {
    pair.each_part(
        |aabb| near(ground, aabb, prediction.max(0.0)),
        |part, pose| {
            let from = room.begin_part();
            if let Some(space) = part.shape.as_halfspace() {
                let deepest = half_space::deepest(ground, pose, space);
                room.patches.extend(deepest.and_then(|d| contact::of_half_space(&d, prediction)));
            } else {
                let touched = touched(part.id);
                contact::patches(ground, pose, part.shape, prediction, touched, &mut room.patches);
            }
            room.end_part(part.id, part.frame.copied(), *pose, from);
            go_on(false)
        },
    )
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
        if !renew_workspace(workspace) {
            manifolds.clear();
        }
        let old = manifolds.len();
        let mut target = Target { ground: &ground, flipped: pair.flipped, old, out: manifolds };
        let result = with_room(|room| {
            room.clear();
            let collected = collect(&pair, &ground, prediction, |part| target.touched(part), room);
            collected.map(|()| target.write(room))
        });
        manifolds.drain(..old);
        result
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
