//! The dispatcher's answers against brute force over all triangles with the engine's own triangle queries.

use super::ray_tests::{Random, all_triangles, bumps};
use super::{SharedGround, TerrainDispatcher, TerrainShape, subshape_id};
use crate::config::Diagonal;
use crate::coord::{BlockPos, BlockSide, CellPos, CellRect};
use crate::store::MemoryTerrain;
use crate::surface::{Ground, Slot};
use glam::{DQuat, DVec3};
use parry3d_f64::bounding_volume::{Aabb, BoundingSphere};
use parry3d_f64::mass_properties::MassProperties;
use parry3d_f64::math::Pose;
use parry3d_f64::query::details::ContactManifoldsWorkspace;
use parry3d_f64::query::{
    self, ClosestPoints, ContactManifold, DefaultQueryDispatcher, NonlinearRigidMotion,
    PersistentQueryDispatcher, PointProjection, PointQuery, QueryDispatcher, Ray, RayCast, RayIntersection,
    ShapeCastOptions,
};
use parry3d_f64::shape::{FeatureId, Shape, ShapeType, SharedShape, Triangle, TypedShape};
use std::sync::Arc;

fn shapes() -> Vec<SharedShape> {
    let cube: Vec<DVec3> = (0..8)
        .map(|i| DVec3::new(f64::from(i & 1), f64::from(i >> 1 & 1), f64::from(i >> 2)) - DVec3::splat(0.4))
        .collect();
    vec![
        SharedShape::ball(0.6),
        SharedShape::cuboid(0.5, 0.3, 0.8),
        SharedShape::capsule_y(0.54, 0.34),
        SharedShape::cylinder(0.5, 0.3),
        SharedShape::cone(0.5, 0.4),
        SharedShape::round_cuboid(0.3, 0.3, 0.3, 0.1),
        SharedShape::convex_hull(&cube).expect("a hull"),
    ]
}

fn compound() -> SharedShape {
    SharedShape::compound(vec![
        (Pose::translation(0.7, 0.1, 0.0), SharedShape::ball(0.4)),
        (
            Pose::from_parts(DVec3::new(-0.6, 0.0, 0.2), DQuat::from_rotation_z(0.4)),
            SharedShape::cuboid(0.4, 0.3, 0.3),
        ),
    ])
}

fn terrain(ground: Ground) -> TerrainShape {
    TerrainShape::new(SharedGround::new(Arc::new(ground)))
}

fn random_pose(random: &mut Random) -> Pose {
    let at = random.point(DVec3::new(-2.0, -3.0, -1.0), DVec3::new(101.0, 4.0, 96.0));
    let axis = random.point(DVec3::splat(-1.0), DVec3::splat(1.0));
    Pose::from_parts(at, DQuat::from_scaled_axis(axis * 3.0))
}

/// A pose at which a shape dropped on the terrain has gone `depth` into it (negative: is still above it).
fn landed(random: &mut Random, terrain: &TerrainShape, shape: &dyn Shape, depth: f64) -> Option<Pose> {
    let mut pose = random_pose(random);
    pose.translation.y = 30.0;
    let options = ShapeCastOptions::default();
    let hit = TerrainDispatcher.cast_shapes(&pose, DVec3::NEG_Y, terrain, shape, options).unwrap()?;
    pose.translation.y -= hit.time_of_impact + depth;
    Some(pose)
}

fn triangles(ground: &Ground) -> Vec<Triangle> {
    all_triangles(ground).into_iter().map(|(_, _, [a, b, c])| Triangle::new(a, b, c)).collect()
}

#[test]
fn distance_intersection_contact_and_closest_points_agree_with_brute_force() {
    let ground = bumps(Diagonal::Checkerboard);
    let all = triangles(&ground);
    let terrain = terrain(ground);
    // The terrain itself turned and moved: only the relative pose may count.
    let frame =
        Pose::from_parts(DVec3::new(5.0, -7.0, 3.0), DQuat::from_scaled_axis(DVec3::new(0.4, -0.2, 0.9)));
    let mut random = Random(7);
    let (mut touching, mut apart) = (0, 0);
    for shape in shapes() {
        for _ in 0..25 {
            let pose = random_pose(&mut random);
            let shape = shape.as_ref();
            let expected = all
                .iter()
                .map(|t| DefaultQueryDispatcher.distance(&pose, t, shape).unwrap().distance)
                .fold(f64::MAX, f64::min);
            let pos12 = frame.inv_mul(&(frame * pose));
            let pos21 = pos12.inverse();
            let d = TerrainDispatcher;
            let found = d.distance(&pos12, &terrain, shape).unwrap().distance;
            assert!((found - expected).abs() < 1e-6, "{:?} {found} {expected}", shape.shape_type());
            assert!((d.distance(&pos21, shape, &terrain).unwrap().distance - found).abs() < 1e-6);

            let hit = all
                .iter()
                .any(|t| query::intersection_test(&Pose::IDENTITY, t, &pose, shape).unwrap().intersecting);
            assert_eq!(d.intersection_test(&pos12, &terrain, shape).unwrap().intersecting, hit);
            assert_eq!(d.intersection_test(&pos21, shape, &terrain).unwrap().intersecting, hit);

            let deepest = all
                .iter()
                .filter_map(|t| query::contact(&Pose::IDENTITY, t, &pose, shape, 0.3).unwrap())
                .map(|c| c.dist)
                .fold(f64::MAX, f64::min);
            let contact = d.contact(&pos12, &terrain, shape, 0.3).unwrap().map_or(f64::MAX, |c| c.dist);
            assert!((contact - deepest).abs() < 1e-6, "{:?} {contact} {deepest}", shape.shape_type());

            match d.closest_points(&pos12, &terrain, shape, 2.0).unwrap() {
                ClosestPoints::Intersecting => assert!(hit || expected < 1e-6),
                ClosestPoints::WithinMargin(p, q) => {
                    assert!((p.distance(pose * q) - expected).abs() < 1e-6 && expected <= 2.0);
                }
                ClosestPoints::Disjoint => assert!(expected > 2.0 - 1e-6),
            }
            if hit { touching += 1 } else { apart += 1 }
        }
    }
    assert!(touching > 30 && apart > 30, "{touching} {apart}");
}

#[test]
fn linear_casts_agree_with_brute_force_also_when_exactly_level() {
    let ground = bumps(Diagonal::Main);
    let all = triangles(&ground);
    let terrain = terrain(ground);
    let mut random = Random(11);
    let mut hits = 0;
    for shape in &shapes()[..3] {
        for i in 0..30 {
            let mut pose = random_pose(&mut random);
            pose.translation.y += 1.5;
            let mut velocity = random.point(DVec3::splat(-12.0), DVec3::splat(12.0));
            if i % 3 == 0 {
                velocity.y = 0.0;
            }
            let options = ShapeCastOptions::with_max_time_of_impact(3.0);
            let expected = all
                .iter()
                .filter_map(|t| {
                    DefaultQueryDispatcher.cast_shapes(&pose, velocity, t, shape.as_ref(), options).unwrap()
                })
                .map(|h| h.time_of_impact)
                .fold(f64::MAX, f64::min);
            let d = TerrainDispatcher;
            let found = d.cast_shapes(&pose, velocity, &terrain, shape.as_ref(), options).unwrap();
            let t = found.map_or(f64::MAX, |h| h.time_of_impact);
            assert!((t - expected).abs() < 1e-9 || t == expected, "{pose:?} {velocity} {t} {expected}");
            // The same cast told from the other side.
            let back = pose.rotation.inverse() * -velocity;
            let other = d.cast_shapes(&pose.inverse(), back, shape.as_ref(), &terrain, options).unwrap();
            let other = other.map_or(f64::MAX, |h| h.time_of_impact);
            // The engine iterates to about this.
            assert!((t - other).abs() < 1e-6 || t == other, "{t} {other}");
            hits += usize::from(t < f64::MAX);
        }
    }
    assert!(hits > 30, "{hits}");
}

#[test]
fn points_project_to_the_nearest_triangle() {
    let ground = bumps(Diagonal::Anti);
    let all = triangles(&ground);
    let terrain = terrain(ground);
    let mut random = Random(3);
    for i in 0..200 {
        let spread = if i % 10 == 0 { 500.0 } else { 4.0 };
        let p = random.point(DVec3::new(-spread, -spread, -spread), DVec3::new(100.0 + spread, spread, 95.0));
        let expected = all.iter().map(|t| t.distance_to_local_point(p, true)).fold(f64::MAX, f64::min);
        let projection = terrain.project_local_point(p, true);
        assert!((projection.point.distance(p) - expected).abs() < 1e-9);
        assert!(!projection.is_inside);
        let near = terrain.project_local_point_with_max_dist(p, true, 1.0);
        assert_eq!(near.is_some(), expected <= 1.0);
    }
}

/// The manifolds of a shape and the terrain, and the workspace they left.
type Manifolds = (Vec<ContactManifold<(), ()>>, Option<ContactManifoldsWorkspace>);

fn manifolds(terrain: &TerrainShape, pose: &Pose, shape: &dyn Shape, flipped: bool) -> Manifolds {
    let (mut out, mut workspace) = (Vec::new(), None);
    let (g1, g2): (&dyn Shape, &dyn Shape) = if flipped { (shape, terrain) } else { (terrain, shape) };
    let pos12 = if flipped { pose.inverse() } else { *pose };
    TerrainDispatcher.contact_manifolds(&pos12, g1, g2, 0.02, &mut out, &mut workspace).unwrap();
    (out, workspace)
}

#[test]
fn no_query_the_engine_asks_about_a_supported_shape_is_unsupported() {
    let terrain = terrain(bumps(Diagonal::Main));
    let pose = Pose::translation(40.0, 0.4, 40.0);
    for shape in shapes().into_iter().chain([compound()]) {
        let shape = shape.as_ref();
        assert!(TerrainDispatcher::supports(shape));
        for flipped in [false, true] {
            let (g1, g2): (&dyn Shape, &dyn Shape) =
                if flipped { (shape, &terrain) } else { (&terrain, shape) };
            let pos12 = if flipped { pose.inverse() } else { pose };
            let d = TerrainDispatcher.chain(DefaultQueryDispatcher);
            let name = shape.shape_type();
            assert!(d.intersection_test(&pos12, g1, g2).is_ok(), "{name:?}");
            assert!(d.distance(&pos12, g1, g2).is_ok(), "{name:?}");
            assert!(d.contact(&pos12, g1, g2, 0.1).is_ok(), "{name:?}");
            assert!(d.closest_points(&pos12, g1, g2, 1.0).is_ok(), "{name:?}");
            let v = DVec3::new(0.3, if flipped { 5.0 } else { -5.0 }, 0.1);
            assert!(d.cast_shapes(&pos12, v, g1, g2, ShapeCastOptions::default()).is_ok(), "{name:?}");
            let rest = NonlinearRigidMotion::constant_position(Pose::IDENTITY);
            let falling = NonlinearRigidMotion::new(
                Pose::translation(40.0, 9.0, 40.0),
                DVec3::ZERO,
                DVec3::new(0.0, -300.0, 0.0),
                DVec3::new(1.0, 0.0, 0.0),
            );
            let (m1, m2) = if flipped { (&falling, &rest) } else { (&rest, &falling) };
            for sensor in [false, true] {
                let hit = d.cast_shapes_nonlinear(m1, g1, m2, g2, 0.0, 0.1, sensor);
                let hit = hit.unwrap_or_else(|_| panic!("{name:?}"));
                let t = hit.expect("it falls on the ground").time_of_impact;
                assert!(t > 0.015 && t < 0.045, "{name:?} {t}");
            }
            let (_, workspace) = manifolds(&terrain, &pose, shape, flipped);
            assert!(workspace.is_some(), "{name:?}");
        }
    }
}

/// A shape that nothing is known of.
#[derive(Clone)]
struct Unknown;

impl RayCast for Unknown {
    fn cast_local_ray_and_get_normal(&self, _: &Ray, _: f64, _: bool) -> Option<RayIntersection> {
        None
    }
}

impl PointQuery for Unknown {
    fn project_local_point(&self, pt: DVec3, _: bool) -> PointProjection {
        PointProjection::new(false, pt)
    }

    fn project_local_point_and_get_feature(&self, pt: DVec3) -> (PointProjection, FeatureId) {
        (self.project_local_point(pt, true), FeatureId::Unknown)
    }
}

impl Shape for Unknown {
    fn compute_local_aabb(&self) -> Aabb {
        Aabb::new(DVec3::splat(-1.0), DVec3::ONE)
    }

    fn compute_local_bounding_sphere(&self) -> BoundingSphere {
        BoundingSphere::new(DVec3::ZERO, 2.0)
    }

    fn clone_dyn(&self) -> Box<dyn Shape> {
        Box::new(self.clone())
    }

    fn scale_dyn(&self, _: DVec3, _: u32) -> Option<Box<dyn Shape>> {
        None
    }

    fn mass_properties(&self, _: f64) -> MassProperties {
        MassProperties::default()
    }

    fn shape_type(&self) -> ShapeType {
        ShapeType::Custom
    }

    fn as_typed_shape(&self) -> TypedShape<'_> {
        TypedShape::Custom(self)
    }

    fn ccd_thickness(&self) -> f64 {
        0.0
    }

    fn ccd_angular_thickness(&self) -> f64 {
        0.0
    }
}

#[test]
fn a_custom_shape_that_nothing_is_known_of_is_unsupported_and_never_no_contact() {
    let terrain = terrain(bumps(Diagonal::Main));
    let compound = SharedShape::compound(vec![(Pose::IDENTITY, SharedShape::new(Unknown))]);
    let others: [&dyn Shape; 2] = [&Unknown, compound.as_ref()];
    for shape in others {
        assert!(!TerrainDispatcher::supports(shape));
        let at = Pose::translation(40.0, 0.0, 40.0);
        let d = TerrainDispatcher;
        assert!(d.intersection_test(&at, &terrain, shape).is_err());
        assert!(d.distance(&at, &terrain, shape).is_err());
        assert!(d.contact(&at, &terrain, shape, 0.1).is_err());
        assert!(d.closest_points(&at, &terrain, shape, 1.0).is_err());
        assert!(d.cast_shapes(&at, DVec3::X, &terrain, shape, ShapeCastOptions::default()).is_err());
        let (mut out, mut workspace) = (Vec::<ContactManifold<(), ()>>::new(), None);
        assert!(d.contact_manifolds(&at, &terrain, shape, 0.1, &mut out, &mut workspace).is_err());
    }
}

#[test]
fn another_terrain_is_a_sheet_of_triangles() {
    let ours = terrain(MemoryTerrain::from_fn([40, 40], BlockSide::S32, |_| {}, |_, _| 1.0).ground_all());
    let height = |x: i32, _: i32| if x == 20 { 3.0 } else { 0.0 };
    let theirs = terrain(MemoryTerrain::from_fn([40, 40], BlockSide::S32, |_| {}, height).ground_all());
    let d = TerrainDispatcher;
    assert!(TerrainDispatcher::supports(&theirs));
    // Its ridge is 3 m high: from 3.5 m below our sheet it ends 0.5 m short of it.
    let below = Pose::translation(0.0, -2.5, 0.0);
    assert!((d.distance(&below, &ours, &theirs).unwrap().distance - 0.5).abs() < 1e-9);
    assert!(!d.intersection_test(&below, &ours, &theirs).unwrap().intersecting);
    assert!(d.intersection_test(&Pose::IDENTITY, &ours, &theirs).unwrap().intersecting);
    let hit = d.cast_shapes(&below, DVec3::Y, &ours, &theirs, ShapeCastOptions::default()).unwrap();
    assert!((hit.expect("they meet").time_of_impact - 0.5).abs() < 1e-6);
}

#[test]
fn a_box_over_a_four_block_corner_of_flat_ground_touches_in_its_four_corners() {
    let ground = MemoryTerrain::from_fn([70, 70], BlockSide::S32, |_| {}, |_, _| 3.0).ground_all();
    let terrain = terrain(ground);
    for turn in [0.0, 0.3, 0.8] {
        let pose = Pose::from_parts(DVec3::new(32.1, 3.49, 31.9), DQuat::from_rotation_y(turn));
        let shape = SharedShape::cuboid(0.5, 0.5, 0.5);
        let (out, _) = manifolds(&terrain, &pose, shape.as_ref(), false);
        assert_eq!(out.len(), 1, "one plane, one manifold");
        assert_eq!(out[0].local_n1, DVec3::Y);
        assert_eq!(out[0].points.len(), 4);
        for point in &out[0].points {
            assert!((point.dist + 0.01).abs() < 1e-12 && (point.local_p1.y - 3.0).abs() < 1e-12);
            assert!((point.local_p2.abs() - DVec3::splat(0.5)).length() < 1e-9, "{point:?}");
        }
    }
}

#[test]
fn manifolds_are_sorted_by_cell_and_triangle_and_mirrored_when_the_terrain_is_second() {
    let ground = bumps(Diagonal::Checkerboard);
    let mut random = Random(5);
    let mut many = 0;
    let all = all_triangles(&ground);
    let place = |id: u32| {
        let (cell, triangle, _) =
            all.iter().find(|(c, t, _)| subshape_id(&ground, *c, *t) == id).expect("a known triangle");
        (cell.z, cell.x, *triangle)
    };
    let terrain = terrain(ground.clone());
    for shape in shapes().into_iter().chain([compound()]) {
        for i in 0..80 {
            let Some(mut pose) = landed(&mut random, &terrain, shape.as_ref(), 0.2) else { continue };
            if i % 2 == 0 {
                // Over the corner of four blocks, of 1.25 m cells.
                pose.translation = DVec3::new(40.0, pose.translation.y * 0.4, 40.0);
            }
            // Inverted twice, as the mirrored pair's pose will be: to the bit the same.
            let (mirrored, _) = manifolds(&terrain, &pose, shape.as_ref(), true);
            let (ours, _) = manifolds(&terrain, &pose.inverse().inverse(), shape.as_ref(), false);
            assert_eq!(ours.len(), mirrored.len());
            let order: Vec<_> = ours.iter().map(|m| (m.subshape2, place(m.subshape1))).collect();
            assert!(order.is_sorted(), "{order:?}");
            for (a, b) in ours.iter().zip(&mirrored) {
                assert_eq!((a.subshape1, a.subshape2), (b.subshape2, b.subshape1));
                assert!(a.local_n1.distance(b.local_n2) < 1e-9 && a.local_n2.distance(b.local_n1) < 1e-9);
                assert!(a.local_n1.y >= -1e-3, "the ground never pushes down: {}", a.local_n1);
                assert_eq!(a.points.len(), b.points.len());
                for (p, q) in a.points.iter().zip(&b.points) {
                    assert!(p.local_p1.distance(q.local_p2) < 1e-9 && (p.dist - q.dist).abs() < 1e-9);
                }
            }
            many += usize::from(ours.len() > 1);
        }
    }
    assert!(many > 20, "{many}");
}

#[test]
fn every_touching_point_lies_on_the_real_surface_and_pushes_away_from_it() {
    for diagonal in [Diagonal::Main, Diagonal::Anti, Diagonal::Checkerboard] {
        let ground = bumps(diagonal);
        let terrain = terrain(ground.clone());
        let mut random = Random(9);
        let mut points = 0;
        for shape in shapes() {
            for _ in 0..40 {
                let Some(pose) = landed(&mut random, &terrain, shape.as_ref(), 0.05) else { continue };
                let (out, _) = manifolds(&terrain, &pose, shape.as_ref(), false);
                for m in &out {
                    assert!((m.local_n1.length() - 1.0).abs() < 1e-9);
                    for p in &m.points {
                        points += 1;
                        // A little aside at most: between nearly flush faces.
                        let off = terrain.project_local_point(p.local_p1, true).point.distance(p.local_p1);
                        assert!(off < 1e-3, "{:?} {off}", shape.shape_type());
                        let apart = (pose * p.local_p2 - p.local_p1).dot(m.local_n1);
                        assert!((apart - p.dist).abs() < 1e-6, "{apart} {}", p.dist);
                    }
                }
            }
        }
        assert!(points > 100, "{points}");
    }
}

#[test]
fn separated_shapes_within_reach_always_have_a_manifold() {
    // Lowered until they almost touch: the closest point of the surface must be reported, whatever lies there. Ground
    // of all slopes, ridges, pits and holes, and ground so even that ridges of a degree and less take turns.
    let even = |x: i32, z: i32| f64::from((x * 7919 + z * 104_729) % 5) / 128.0;
    let grounds = [
        bumps(Diagonal::Checkerboard),
        MemoryTerrain::from_fn([97, 97], BlockSide::S32, |_| {}, even).ground_all(),
    ];
    let mut random = Random(21);
    for ground in grounds {
        let terrain = terrain(ground);
        let mut seen = 0;
        for shape in shapes() {
            for _ in 0..120 {
                let Some(pose) = landed(&mut random, &terrain, shape.as_ref(), -0.002) else { continue };
                let (out, _) = manifolds(&terrain, &pose, shape.as_ref(), false);
                let deepest = out.iter().flat_map(|m| &m.points).map(|p| p.dist).fold(f64::MAX, f64::min);
                seen += 1;
                assert!(
                    (-0.003..0.003).contains(&deepest),
                    "{:?} at {pose:?}: {deepest}, {} manifolds",
                    shape.shape_type(),
                    out.len()
                );
            }
        }
        assert!(seen > 600, "{seen}");
    }
}

#[test]
fn bounds_do_not_follow_what_is_resident() {
    let all = MemoryTerrain::from_fn([70, 40], BlockSide::S32, |_| {}, |x, _| f64::from(x)).ground_all();
    let empty = Ground::empty(all.config(), all.side());
    let (a, b) = (terrain(all.clone()), terrain(empty.clone()));
    assert_eq!(a.bounds(), b.bounds());
    assert_eq!(a.compute_aabb(&Pose::IDENTITY), b.compute_aabb(&Pose::IDENTITY));
    assert_eq!(a.bounds().mins, DVec3::new(0.0, -131_072.0, 0.0));
    assert_eq!(a.bounds().maxs, DVec3::new(69.0, 131_072.0, 39.0));
    let old = b.shared().swap(Arc::new(all));
    assert_eq!((old.resident(), b.ground().resident()), (0, 6));
    assert_eq!(a.compute_aabb(&Pose::IDENTITY), b.compute_aabb(&Pose::IDENTITY));
    // With nothing there, nothing is near.
    let none = terrain(empty);
    let ball = SharedShape::ball(1.0);
    let d = TerrainDispatcher.distance(&Pose::translation(5.0, 0.0, 5.0), &none, ball.as_ref()).unwrap();
    assert_eq!(d.distance, f64::MAX);
}

#[test]
fn the_debug_mesh_is_exactly_the_visible_triangles() {
    for diagonal in [Diagonal::Main, Diagonal::Anti, Diagonal::Checkerboard] {
        let ground = bumps(diagonal).with_changes(&[(BlockPos::new(1, 1), Slot::Absent)]);
        let terrain = terrain(ground.clone());
        let region = CellRect { x0: -5, z0: 20, x1: 70, z1: 68 };
        let (vertices, indices) = terrain.debug_mesh(region);
        // Cell by cell from the tiles, without the walk that the mesh is made by.
        let mut expected = Vec::new();
        for (x, z) in (20..68).flat_map(|z| (1..70).map(move |x| (x, z))) {
            let cell = CellPos::new(x, z);
            let tile = ground.tile(ground.side().block_of_cell(cell));
            for t in [crate::surface::Triangle::Zero, crate::surface::Triangle::One] {
                let Some(tri) = tile.and_then(|tile| tile.triangle(cell, t)) else { continue };
                expected.push(tri.vertices.map(|v| v.to_array().map(f64::to_bits)));
            }
        }
        let mut found: Vec<_> =
            indices.iter().map(|t| t.map(|i| vertices[i as usize].to_array().map(f64::to_bits))).collect();
        found.sort_unstable();
        expected.sort_unstable();
        assert!(expected.len() > 2000 && found == expected, "{} {}", found.len(), expected.len());
        let mut corners: Vec<_> = vertices.iter().map(|v| v.to_array().map(f64::to_bits)).collect();
        corners.sort_unstable();
        corners.dedup();
        assert_eq!(corners.len(), vertices.len(), "each corner once");
        assert!(terrain.debug_mesh(CellRect { x0: 500, z0: 0, x1: 600, z1: 9 }).1.is_empty());
    }
}

#[test]
fn the_debug_mesh_of_a_placed_terrain_is_the_same_mesh_elsewhere() {
    let mesh = |x: i32, z: i32| {
        let source = MemoryTerrain::from_fn(
            [65, 65],
            BlockSide::S32,
            |c| c.placement = crate::config::Placement { x, z, y: 0 },
            |x, z| f64::from(x * 5 % 7 + z % 3),
        );
        terrain(source.ground_all()).debug_mesh(CellRect { x0: 10, z0: 10, x1: 20, z1: 21 })
    };
    let (vertices, indices) = mesh(0, 0);
    assert_eq!((vertices.len(), indices.len()), (11 * 12, 2 * 10 * 11));
    for (x, z) in [(1, 0), (0, -3), (45_000, -300)] {
        let (moved, same) = mesh(x, z);
        assert_eq!(same, indices);
        for (a, b) in moved.iter().zip(&vertices) {
            assert_eq!(*a - DVec3::new(f64::from(x), 0.0, f64::from(z)), *b);
        }
    }
}

#[test]
fn removed_ground_leaves_no_manifold_behind() {
    let all = MemoryTerrain::from_fn([70, 40], BlockSide::S32, |_| {}, |_, _| 0.0).ground_all();
    let terrain = terrain(all.clone());
    let (mut out, mut workspace) = (Vec::<ContactManifold<(), u32>>::new(), None);
    let shape = SharedShape::cuboid(0.5, 0.5, 0.5);
    let mut update = |out: &mut Vec<_>, x: f64, told: bool| {
        let pose = Pose::translation(x, 0.5, 10.0);
        if told {
            // What the engine does when a collider's shape is set again.
            workspace = None;
        }
        TerrainDispatcher
            .contact_manifolds(&pose, &terrain, shape.as_ref(), 0.02, out, &mut workspace)
            .unwrap();
        assert!(workspace.is_some());
    };
    update(&mut out, 40.0, false);
    assert_eq!(out.len(), 1);
    // What the solver leaves in a point stays while the point does, also when the box slides on and ground is swapped
    // somewhere else.
    for p in &mut out[0].points {
        p.data = 7;
    }
    terrain.shared().swap(Arc::new(all.with_changes(&[(BlockPos::new(2, 0), Slot::Absent)])));
    update(&mut out, 40.4, false);
    assert!(out[0].points.iter().all(|p| p.data == 7));
    // Told of a change, its points start afresh.
    update(&mut out, 40.4, true);
    assert!(out[0].points.iter().all(|p| p.data == 0));
    // Removed ground is gone at the next update, told or not.
    terrain.shared().swap(Arc::new(all.with_changes(&[(BlockPos::new(1, 0), Slot::Absent)])));
    update(&mut out, 40.4, false);
    assert!(out.is_empty());
    assert_eq!(all.side().block_of_cell(CellPos::new(40, 10)), BlockPos::new(1, 0));
}
