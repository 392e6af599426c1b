//! Fast bodies on the seamless collider: nothing passes the ground, however small, fast and deep in a corner it is.
//!
//! `HIGHGROUND_THROWS` is how many throws each size gets; `HIGHGROUND_SEED` repeats a run.

use glam::DVec3;
use highground_terrain::collide::{SharedGround, TerrainDispatcher, TerrainShape};
use highground_terrain::coord::BlockSide;
use highground_terrain::store::MemoryTerrain;
use highground_terrain::surface::Ground;
use highground_tests::random::{Random, seed, setting};
use rapier3d_f64::parry::query::{DefaultQueryDispatcher, QueryDispatcher};
use rapier3d_f64::prelude::*;
use std::sync::Arc;

fn throws() -> u64 {
    setting("HIGHGROUND_THROWS", 150)
}

fn point(random: &mut Random, lo: f64, hi: f64) -> DVec3 {
    DVec3::new(random.between(lo, hi), random.between(lo, hi), random.between(lo, hi))
}

/// Heights that go up and down by as much as a metre from sample to sample.
fn rough() -> Ground {
    let height = |x: i32, z: i32| f64::from((x * 7919 + z * 104_729 + x * z * 31).rem_euclid(1009)) / 1009.0;
    MemoryTerrain::from_fn([129, 129], BlockSide::S32, |_| {}, height).ground_all()
}

/// Throws a body and says how far below the ground its centre came, if it did.
fn throw(ground: &Arc<SharedGround>, shape: &SharedShape, random: &mut Random) -> Option<f64> {
    let mut physics = PhysicsWorld {
        narrow_phase: NarrowPhase::with_query_dispatcher(TerrainDispatcher.chain(DefaultQueryDispatcher)),
        ..PhysicsWorld::default()
    };
    // Else ground that comes within reach of a body that touches something already would be looked at too late.
    let p = &mut physics.integration_parameters;
    p.normalized_contact_recycle_distance = p.normalized_allowed_linear_error;
    let terrain = SharedShape::new(TerrainShape::new(ground.clone()));
    physics.colliders.insert(ColliderBuilder::new(terrain).friction(0.8));
    let mut way = point(random, -1.0, 1.0).normalize();
    way.y = -way.y.abs() * random.between(0.1, 1.0);
    let start = DVec3::new(random.between(50.0, 78.0), 1.6, random.between(50.0, 78.0));
    let body = RigidBodyBuilder::dynamic()
        .translation(start)
        .linvel(way.normalize() * 60.0)
        .angvel(point(random, -20.0, 20.0))
        .ccd_enabled(true);
    let handle = physics.bodies.insert(body);
    let collider = ColliderBuilder::new(shape.clone()).density(200.0).friction(0.7).restitution(0.3);
    physics.colliders.insert_with_parent(collider, handle, &mut physics.bodies);
    let ground = ground.load();
    let mut worst: Option<f64> = None;
    for _ in 0..90 {
        physics.step();
        let p = physics.bodies[handle].translation();
        if !(1.0..127.0).contains(&p.x) || !(1.0..127.0).contains(&p.z) {
            break;
        }
        let floor = ground.point(p.x, p.z).expect("on the map").height().expect("no holes");
        // A deep dent is pushed out again; what has passed falls on.
        if p.y < floor - 0.5 {
            worst = Some(worst.unwrap_or(0.0).max(floor - p.y));
        }
    }
    worst
}

#[test]
fn small_fast_balls_do_not_pass_rough_ground() {
    let mut random = Random(seed("throws"));
    let ground = SharedGround::new(Arc::new(rough()));
    let mut all = 0;
    for radius in [0.01, 0.02, 0.05, 0.1] {
        let shape = SharedShape::ball(radius);
        let passed = (0..throws()).filter_map(|_| throw(&ground, &shape, &mut random)).count();
        println!("balls of {radius} m: {passed} of {} passed", throws());
        all += passed;
    }
    assert_eq!(all, 0);
}

#[test]
fn small_fast_bodies_of_every_shape_do_not_pass_rough_ground() {
    let mut random = Random(seed("throws"));
    let ground = SharedGround::new(Arc::new(rough()));
    let shapes = [
        SharedShape::cuboid(0.05, 0.05, 0.05),
        SharedShape::cuboid(0.3, 0.02, 0.3),
        SharedShape::capsule_y(0.1, 0.04),
        SharedShape::cylinder(0.05, 0.05),
        SharedShape::cone(0.05, 0.05),
        SharedShape::round_cuboid(0.04, 0.04, 0.04, 0.01),
        SharedShape::compound(vec![
            (Pose::translation(0.1, 0.0, 0.0), SharedShape::ball(0.05)),
            (Pose::translation(-0.1, 0.0, 0.0), SharedShape::cuboid(0.05, 0.05, 0.05)),
        ]),
    ];
    for shape in shapes {
        let passed = (0..throws() / 3).filter_map(|_| throw(&ground, &shape, &mut random)).count();
        println!("{:?}: {passed} of {} passed", shape.shape_type(), throws() / 3);
        assert_eq!(passed, 0, "{:?}: {passed} of {} passed", shape.shape_type(), throws() / 3);
    }
}
