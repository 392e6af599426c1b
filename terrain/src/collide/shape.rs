//! The terrain as one shape of the physics engine, over a ground that is swapped between ticks.
//!
//! The shape's frame is the terrain's own: a session inserts it with the identity pose, **first** into an empty
//! collider set (see [`TerrainShape`]). Never changes what it reports about its bounds, whatever is resident.

use super::feature::{Feature, closest_point};
use super::ray::{RayAnswer, RayHit};
use super::search;
use super::shared::SharedGround;
use crate::coord::{BlockPos, CellPos, CellRect};
use crate::surface::{Ground, Triangle};
use glam::DVec3;
use parry3d_f64::bounding_volume::{Aabb, BoundingSphere, BoundingVolume};
use parry3d_f64::mass_properties::MassProperties;
use parry3d_f64::math::{Pose, Real, Vector};
use parry3d_f64::query::{PointProjection, PointQuery, Ray, RayCast, RayIntersection};
use parry3d_f64::shape::{FeatureId, Shape, ShapeType, TypedShape};
use std::ops::ControlFlow;
use std::sync::Arc;

/// The whole terrain as one collider shape.
///
/// - Insert its collider with the identity pose, without a parent body, **first** into an empty collider set, and never
///   remove it: the engine orders a pair by collider index, and contact recycling is sound only when the terrain is
///   first. (Recycling bounds the drift of a pair by the relative translation plus the relative rotation times the larger
///   `compute_local_aabb` radius. In the terrain's frame the rotation moves only points of the *other* shape, so the
///   terrain reports a point there and the other shape's radius decides. With the terrain second this would not hold.)
/// - Give the narrow phase [`super::TerrainDispatcher`] chained before the default dispatcher.
/// - For physical materials to be felt, the shared ground has to know them ([`SharedGround::set_materials`], with
///   [`super::Materials`] of what the blocks carry), and each step needs a hook that asks it: the game crate's
///   `physics::GroundFeel` is one. Without them the whole terrain has the collider's own friction.
/// - Let the engine recycle contacts over less than the radius of the smallest body (Rapier:
///   `normalized_contact_recycle_distance`, 5 cm by default; 5 mm serves bodies down to 1 cm). Else a body that touches one
///   triangle drifts into the next one without a contact, and passes it: continuous detection stops it there again and
///   again, but only a contact takes its speed.
/// - After [`SharedGround::swap`], for every collider of a dynamic body whose bounds meet the [`block_bounds`] of a block
///   that was changed: call `set_shape(collider.shared_shape().clone())` and wake the body. Nothing else tells sleeping or
///   recycled pairs. The terrain's own collider is left alone.
#[derive(Clone, Debug)]
pub struct TerrainShape {
    ground: Arc<SharedGround>,
    bounds: Aabb,
}

impl TerrainShape {
    /// The shape over a shared ground.
    pub fn new(ground: Arc<SharedGround>) -> Self {
        let bounds = search::world_bounds(&ground.load());
        Self { ground, bounds }
    }

    /// The shared ground.
    pub fn shared(&self) -> &Arc<SharedGround> {
        &self.ground
    }

    /// The current snapshot.
    pub fn ground(&self) -> Arc<Ground> {
        self.ground.load()
    }

    /// The fixed bounds: the extent, and ±2²⁴ quanta of height.
    pub fn bounds(&self) -> Aabb {
        self.bounds
    }

    /// The visible triangles of a rectangle of the terrain's own cells that are resident now, for whoever wants to see what collides: corners
    /// (m, each once) and the three corners of each triangle, counter-clockwise seen from above, block by block.
    pub fn debug_mesh(&self, region: CellRect) -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let ground = self.ground();
        let (e, s, placed) = (ground.config().extent, ground.config().spacing_m(), ground.config().placement);
        let cells = CellRect {
            x0: region.x0.max(e.x0),
            z0: region.z0.max(e.z0),
            x1: region.x1.min(e.x1),
            z1: region.z1.min(e.z1),
        };
        let (mut vertices, mut indices) = (Vec::new(), Vec::new());
        if cells.is_empty() {
            return (vertices, indices);
        }
        let width = (cells.x1 - cells.x0 + 1) as usize;
        let mut known: Vec<Option<u32>> = vec![None; width * (cells.z1 - cells.z0 + 1) as usize];
        ground.visit_triangles(cells, f64::MIN, f64::MAX, |_, tri| {
            indices.push(tri.vertices.map(|v| {
                // Corners stand in the world, cells on the terrain.
                let (x, z) = ((v.x / s).round() as i32 - placed.x, (v.z / s).round() as i32 - placed.z);
                let (x, z) = (x - cells.x0, z - cells.z0);
                *known[z as usize * width + x as usize].get_or_insert_with(|| {
                    vertices.push(v);
                    vertices.len() as u32 - 1
                })
            }));
            ControlFlow::Continue(())
        });
        (vertices, indices)
    }

    fn hit(&self, ray: &Ray, max: Real) -> Option<RayHit> {
        // Only the part inside the bounds can hit, and only that has lattice positions for sure.
        let span = span_inside(&self.bounds, ray)?;
        let (from, to) = (span.0.max(0.0), span.1.min(max));
        let length = ray.dir.length();
        if from > to || length == 0.0 {
            return None;
        }
        // A start inside the bounds is kept to the bit.
        let start = if from == 0.0 { ray.origin } else { ray.point_at(from) };
        match self.ground.load().cast_ray(start, ray.dir, (to - from) * length) {
            Ok(RayAnswer::Hit(hit)) => Some(RayHit { t: from + hit.t / length, ..hit }),
            // Ground that is not resident is nothing to the engine; sessions gate bodies there and ask `cast_ray`.
            Ok(RayAnswer::Miss | RayAnswer::Pending | RayAnswer::Failed) | Err(_) => None,
        }
    }
}

/// The box of all that a block's cells could hold, grown by 0.1 m: what the engine may remember of them.
pub fn block_bounds(ground: &Ground, block: BlockPos) -> Aabb {
    let world = search::world_bounds(ground);
    let s = ground.config().spacing_m();
    let (first, n) = (ground.side().first_sample(block), ground.side().samples());
    let [origin_x, _, origin_z] = ground.config().origin_m();
    let (x, z) = (origin_x + f64::from(first.x) * s, origin_z + f64::from(first.z) * s);
    let side = f64::from(n) * s;
    Aabb::new(DVec3::new(x, world.mins.y, z), DVec3::new(x + side, world.maxs.y, z + side)).loosened(0.1)
}

/// The times at which a ray is inside a box grown by a metre.
fn span_inside(bounds: &Aabb, ray: &Ray) -> Option<(Real, Real)> {
    let (mut enter, mut leave) = (Real::NEG_INFINITY, Real::INFINITY);
    for i in 0..3 {
        let (lo, hi) = (bounds.mins[i] - 1.0, bounds.maxs[i] + 1.0);
        let (o, d) = (ray.origin[i], ray.dir[i]);
        if d == 0.0 {
            if !(lo..=hi).contains(&o) {
                return None;
            }
            continue;
        }
        let (a, b) = ((lo - o) / d, (hi - o) / d);
        enter = enter.max(a.min(b));
        leave = leave.min(a.max(b));
    }
    (enter <= leave).then_some((enter, leave))
}

/// The 32-bit number that the engine gets for a triangle. Not an identity: on terrains of more than 2³¹ triangles it
/// wraps.
pub fn subshape_id(ground: &Ground, cell: CellPos, triangle: Triangle) -> u32 {
    let [cells_x, _] = ground.config().cells();
    let index = i64::from(cell.z) * i64::from(cells_x) + i64::from(cell.x);
    (index as u32).wrapping_mul(2).wrapping_add(u32::from(triangle.index()))
}

impl RayCast for TerrainShape {
    fn cast_local_ray_and_get_normal(&self, ray: &Ray, max: Real, _solid: bool) -> Option<RayIntersection> {
        let hit = self.hit(ray, max)?;
        // The engine's convention for triangles: the normal faces the ray, face 0 is the front.
        let (normal, face) = if hit.front { (hit.normal, 0) } else { (-hit.normal, 1) };
        let id = subshape_id(&self.ground(), hit.cell, hit.triangle);
        Some(RayIntersection::new(hit.t, normal, FeatureId::Face(face)).with_subshape(id))
    }
}

impl TerrainShape {
    fn project(&self, pt: Vector, max_dist: Real) -> Option<(PointProjection, Feature)> {
        let ground = self.ground();
        let aabb = Aabb::new(pt, pt);
        let (_, tri) = search::nearest(&ground, &aabb, max_dist, |_, tri| {
            closest_point(&tri.vertices, pt).0.distance(pt)
        })?;
        let (point, feature) = closest_point(&tri.vertices, pt);
        let id = subshape_id(&ground, tri.cell, tri.triangle);
        Some((PointProjection::new(false, point).with_subshape(id), feature))
    }
}

/// Where a point projects when there is no surface at all: as far as can be told apart.
const NOWHERE: Vector = DVec3::new(0.0, -1e300, 0.0);

impl PointQuery for TerrainShape {
    fn project_local_point_with_max_dist(
        &self,
        pt: Vector,
        _solid: bool,
        max_dist: Real,
    ) -> Option<PointProjection> {
        self.project(pt, max_dist).map(|p| p.0)
    }

    /// The nearest point of the resident surface, which is a sheet: no point is inside. With nothing resident, a point
    /// 10³⁰⁰ m below.
    fn project_local_point(&self, pt: Vector, _solid: bool) -> PointProjection {
        self.project(pt, Real::MAX).map_or(PointProjection::new(false, NOWHERE), |p| p.0)
    }

    fn project_local_point_and_get_feature(&self, pt: Vector) -> (PointProjection, FeatureId) {
        match self.project(pt, Real::MAX) {
            None => (PointProjection::new(false, NOWHERE), FeatureId::Unknown),
            Some((p, feature)) => {
                let feature = match feature {
                    Feature::Face => FeatureId::Face(0),
                    Feature::Edge(i) => FeatureId::Edge(i as u32),
                    Feature::Vertex(i) => FeatureId::Vertex(i as u32),
                };
                (p, feature)
            }
        }
    }
}

impl Shape for TerrainShape {
    /// A point: see [`TerrainShape`] for why, and why the terrain must be inserted first.
    fn compute_local_aabb(&self) -> Aabb {
        Aabb::new(Vector::ZERO, Vector::ZERO)
    }

    fn compute_local_bounding_sphere(&self) -> BoundingSphere {
        BoundingSphere::new(self.bounds.center(), self.bounds.half_extents().length())
    }

    fn clone_dyn(&self) -> Box<dyn Shape> {
        Box::new(self.clone())
    }

    /// A terrain is not scaled: `None`.
    fn scale_dyn(&self, _scale: Vector, _num_subdivisions: u32) -> Option<Box<dyn Shape>> {
        None
    }

    fn compute_aabb(&self, position: &Pose) -> Aabb {
        self.bounds.transform_by(position)
    }

    fn mass_properties(&self, _density: Real) -> MassProperties {
        MassProperties::new(Vector::ZERO, 0.0, Vector::ZERO)
    }

    fn shape_type(&self) -> ShapeType {
        ShapeType::Custom
    }

    fn as_typed_shape(&self) -> TypedShape<'_> {
        TypedShape::Custom(self)
    }

    fn ccd_thickness(&self) -> Real {
        0.0
    }

    fn ccd_angular_thickness(&self) -> Real {
        std::f64::consts::FRAC_PI_4
    }
}
