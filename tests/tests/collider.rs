//! The seamless terrain collider inside the physics engine: bodies that slide, roll, rest, fall and hit.

use glam::{DQuat, DVec3};
use highground_terrain::collide::{SharedGround, TerrainDispatcher, TerrainShape, block_bounds};
use highground_terrain::coord::{BlockPos, BlockSide, CellPos};
use highground_terrain::store::MemoryTerrain;
use highground_terrain::surface::{Ground, Slot};
use rapier3d_f64::parry::bounding_volume::BoundingVolume;
use rapier3d_f64::parry::query::{DefaultQueryDispatcher, QueryDispatcher};
use rapier3d_f64::prelude::*;
use std::sync::Arc;

/// A physics world whose first collider is a terrain.
struct World {
    physics: PhysicsWorld,
    shared: Arc<SharedGround>,
}

impl World {
    fn new(ground: Ground) -> Self {
        let shared = SharedGround::new(Arc::new(ground));
        let mut physics = PhysicsWorld {
            narrow_phase: NarrowPhase::with_query_dispatcher(TerrainDispatcher.chain(DefaultQueryDispatcher)),
            ..PhysicsWorld::default()
        };
        let shape = SharedShape::new(TerrainShape::new(shared.clone()));
        let terrain = physics.colliders.insert(ColliderBuilder::new(shape));
        // Contact recycling is sound only when the terrain is the first collider of every pair.
        assert_eq!(terrain.into_raw_parts().0, 0);
        Self { physics, shared }
    }

    fn add(&mut self, body: RigidBodyBuilder, collider: ColliderBuilder) -> RigidBodyHandle {
        let handle = self.physics.bodies.insert(body);
        self.physics.colliders.insert_with_parent(collider, handle, &mut self.physics.bodies);
        handle
    }

    fn run(&mut self, ticks: usize) {
        for _ in 0..ticks {
            self.physics.step();
        }
    }

    fn body(&self, handle: RigidBodyHandle) -> &RigidBody {
        &self.physics.bodies[handle]
    }

    /// Swaps the ground and tells the bodies on the changed blocks, as a session does.
    fn swap(&mut self, ground: Ground, changed: &[BlockPos]) {
        let boxes: Vec<Aabb> = changed.iter().map(|&b| block_bounds(&ground, b)).collect();
        self.shared.swap(Arc::new(ground));
        // Looked at first and only then borrowed mutably, which marks a collider as modified.
        let touched: Vec<(ColliderHandle, RigidBodyHandle)> = self
            .physics
            .colliders
            .iter()
            .filter(|(_, c)| boxes.iter().any(|b| b.intersects(&c.compute_aabb())))
            .filter_map(|(handle, c)| Some((handle, c.parent()?)))
            .collect();
        for (collider, body) in touched {
            let collider = &mut self.physics.colliders[collider];
            let same = collider.shared_shape().clone();
            collider.set_shape(same);
            self.physics.bodies[body].wake_up(true);
        }
    }
}

fn frictionless(shape: SharedShape) -> ColliderBuilder {
    ColliderBuilder::new(shape).friction(0.0).friction_combine_rule(CoefficientCombineRule::Min)
}

/// A plane through the terrain that is exact on the height lattice: heights rise by `rise` quanta (1/128 m) a metre of x.
fn plane(rise: i32) -> Ground {
    MemoryTerrain::from_fn([257, 129], BlockSide::S32, |_| {}, |x, _| f64::from(x * rise) / 128.0)
        .ground_all()
}

/// How a body slid over a plane.
struct Slide {
    /// The largest deviation of its velocity from free sliding on an ideal plane, after the contact has settled.
    worst: f64,
    /// Metres between start and end.
    way: f64,
}

/// Slides a frictionless body from a point of a plane that rises by `rise` quanta a metre of x.
fn slide(
    mut world: World,
    rise: i32,
    shape: &SharedShape,
    turn: DQuat,
    from: [f64; 2],
    heading: [f64; 2],
    speed: f64,
) -> Slide {
    let slope = f64::from(rise) / 128.0;
    let n = DVec3::new(-slope, 1.0, 0.0).normalize();
    let along = DVec3::new(heading[0], heading[0] * slope, heading[1]).normalize();
    // Capsules along y stand upright, as characters do; everything else lies on the plane.
    let upright = shape.as_capsule().is_some_and(|c| c.segment.a.x == 0.0 && c.segment.a.z == 0.0);
    let rotation = if upright { turn } else { DQuat::from_rotation_arc(DVec3::Y, n) * turn };
    // Touching: the lowest point of the shape along the normal lies on the plane.
    let down = rotation.inverse() * -n;
    let reach = match shape.as_ball() {
        Some(ball) => ball.radius,
        None => shape.as_support_map().expect("a convex shape").local_support_point(down).dot(down),
    };
    let start = DVec3::new(from[0], from[0] * slope, from[1]) + n * reach;
    let mut body = RigidBodyBuilder::dynamic()
        .pose(Pose::from_parts(start, rotation))
        .linvel(along * speed)
        .can_sleep(false);
    if upright {
        body = body.lock_rotations();
    }
    let handle = world.add(body, frictionless(shape.clone()));
    let gravity = world.physics.gravity;
    let pull = gravity - n * gravity.dot(n);
    let dt = world.physics.integration_parameters.dt;
    let mut result = Slide { worst: 0.0, way: 0.0 };
    for tick in 1..=240 {
        world.physics.step();
        let body = world.body(handle);
        let p = body.translation();
        if !(4.0..252.0).contains(&p.x) || !(4.0..124.0).contains(&p.z) {
            break;
        }
        if tick > 30 {
            let ideal = along * speed + pull * (f64::from(tick) * dt);
            result.worst = result.worst.max((body.linvel() - ideal).length());
        }
        result.way = p.distance(start);
    }
    result
}

/// Every shape, path and speed on one plane: the cases that went wrong, and how many there were.
fn slides(rise: i32, world: impl Fn() -> World) -> (Vec<String>, usize) {
    let shapes: [(&str, SharedShape, DQuat); 7] = [
        ("ball", SharedShape::ball(0.5), DQuat::IDENTITY),
        ("small ball", SharedShape::ball(0.1), DQuat::IDENTITY),
        ("box", SharedShape::cuboid(0.5, 0.5, 0.5), DQuat::IDENTITY),
        ("turned box", SharedShape::cuboid(0.5, 0.5, 0.5), DQuat::from_rotation_y(0.5)),
        ("capsule along", SharedShape::capsule_x(0.54, 0.34), DQuat::IDENTITY),
        ("capsule across", SharedShape::capsule_z(0.54, 0.34), DQuat::IDENTITY),
        ("upright capsule", SharedShape::capsule_y(0.54, 0.34), DQuat::IDENTITY),
    ];
    // Over block borders, along one, on a diagonal through cells, and through four-block corners exactly.
    let paths = [
        ("straight", [10.3, 40.7], [1.0, 0.0]),
        ("on the border", [10.0, 32.0], [1.0, 0.0]),
        ("across", [70.3, 10.2], [0.0, 1.0]),
        ("diagonal", [10.3, 12.1], [1.0, 0.7]),
        ("corners", [10.0, 10.0], [1.0, 1.0]),
        ("against", [200.3, 64.2], [-1.0, 0.3]),
    ];
    let (mut bad, mut cases) = (Vec::new(), 0);
    for (name, shape, turn) in &shapes {
        for (path, from, heading) in &paths {
            for speed in [0.7, 6.0, 40.0, 150.0] {
                let result = slide(world(), rise, shape, *turn, *from, *heading, speed);
                cases += 1;
                if result.worst >= 0.005 || result.way < 2.0 {
                    bad.push(format!(
                        "{name} {path} at {speed} m/s on {rise}/128: {} m/s off, {} m",
                        result.worst, result.way
                    ));
                }
            }
        }
    }
    (bad, cases)
}

#[test]
fn frictionless_bodies_never_feel_a_flush_seam() {
    for rise in [0, 74, 128] {
        let (bad, cases) = slides(rise, || World::new(plane(rise)));
        assert!(bad.is_empty(), "{} of {cases} bad:\n{}", bad.len(), bad.join("\n"));
    }
}

/// The same slides over the engine's own height field, seams and all: shows that the test above can fail.
#[test]
fn the_seam_test_sees_what_a_plain_height_field_does() {
    let (bad, cases) = slides(0, || {
        let mut world = World::new(Ground::empty(plane(0).config(), BlockSide::S32));
        let field = Array2::repeat(129, 257, 0.0);
        let shape = SharedShape::heightfield(field, DVec3::new(256.0, 1.0, 128.0));
        let at = DVec3::new(128.0, 0.0, 64.0);
        world.physics.colliders.insert(ColliderBuilder::new(shape).translation(at));
        world
    });
    println!("one height field on flat ground: {} of {cases} bad", bad.len());
    assert!(bad.len() * 4 > cases, "{} of {cases}", bad.len());
}

/// 96 × 96 samples a metre apart, 3 × 3 blocks.
fn patch(height: impl Fn(i32, i32) -> f64) -> Ground {
    MemoryTerrain::from_fn([97, 97], BlockSide::S32, |_| {}, height).ground_all()
}

fn with_mask(height: impl Fn(i32, i32) -> f64, mask: impl Fn(CellPos) -> u8) -> Ground {
    let mut raster = MemoryTerrain::from_fn([97, 97], BlockSide::S32, |_| {}, height).raster().clone();
    for z in 0..96 {
        for x in 0..96 {
            raster.mask[(z * 96 + x) as usize] &= mask(CellPos::new(x, z));
        }
    }
    MemoryTerrain::new(raster, BlockSide::S32).ground_all()
}

#[test]
fn resting_bodies_stay_where_they_are_and_fall_asleep() {
    // In a cell, on a diagonal, and over a four-block corner.
    for at in [[10.3, 10.6], [10.5, 10.5], [32.0, 64.0]] {
        for (shape, reach) in [
            (SharedShape::ball(0.5), 0.5),
            (SharedShape::cuboid(0.5, 0.5, 0.5), 0.5),
            (SharedShape::capsule_x(0.54, 0.34), 0.34),
            (SharedShape::cylinder(0.3, 0.4), 0.3),
        ] {
            let mut world = World::new(patch(|_, _| 2.0));
            let start = DVec3::new(at[0], 2.0 + reach, at[1]);
            let handle = world
                .add(RigidBodyBuilder::dynamic().translation(start), ColliderBuilder::new(shape.clone()));
            let mut furthest = 0.0f64;
            for _ in 0..600 {
                world.physics.step();
                furthest = furthest.max(world.body(handle).translation().distance(start));
            }
            assert!(furthest < 0.001, "{:?} at {at:?} moved {furthest}", shape.shape_type());
            assert!(world.body(handle).is_sleeping(), "{:?} at {at:?} is awake", shape.shape_type());
        }
    }
}

#[test]
fn a_ball_rolls_up_to_a_step_of_a_metre_and_no_further() {
    // Samples a quarter metre apart: the step rises at 76 degrees between x = 10 and 10.25.
    let ground = MemoryTerrain::from_fn(
        [129, 65],
        BlockSide::S32,
        |c| c.spacing_256 = 64,
        |x, _| if x <= 40 { 0.0 } else { 1.0 },
    )
    .ground_all();
    for speed in [1.0, 3.0] {
        let mut world = World::new(ground.clone());
        let body = RigidBodyBuilder::dynamic()
            .translation(DVec3::new(8.0, 0.3, 8.1))
            .linvel(DVec3::new(speed, 0.0, 0.0))
            .angvel(DVec3::new(0.0, 0.0, -speed / 0.3));
        let handle = world.add(body, ColliderBuilder::ball(0.3).restitution(0.0));
        let mut furthest = 0.0f64;
        for _ in 0..240 {
            world.physics.step();
            let p = world.body(handle).translation();
            furthest = furthest.max(p.x);
            assert!(p.y > 0.28, "it sank: {p}");
        }
        assert!(furthest > 9.5 && furthest < 10.2, "at {speed} m/s it came to {furthest}");
    }
}

#[test]
fn a_ridge_is_felt_and_carries() {
    // A roof with its ridge along x = 48: a ball laid on it stays on it only by balance; a box set across it rests.
    let ground = patch(|x, _| 10.0 - 0.5 * f64::from((x - 48).abs()));
    let mut world = World::new(ground.clone());
    let start = DVec3::new(48.0, 10.5, 20.2);
    let handle = world.add(
        RigidBodyBuilder::dynamic().translation(start).lock_rotations(),
        ColliderBuilder::cuboid(0.5, 0.5, 0.5),
    );
    world.run(300);
    assert!(world.body(handle).translation().distance(start) < 0.01, "{}", world.body(handle).translation());

    // A ball driven over the ridge leaves the ground there: it flies a parabola, it is not pulled down the far side.
    let mut world = World::new(ground);
    let slope = DVec3::new(1.0, 0.5, 0.0).normalize();
    let foot = DVec3::new(40.0, 6.0, 20.3);
    let n = DVec3::new(-0.5, 1.0, 0.0).normalize();
    let handle = world.add(
        RigidBodyBuilder::dynamic().translation(foot + n * 0.25).linvel(slope * 20.0),
        frictionless(SharedShape::ball(0.25)),
    );
    let mut crossing = None;
    for _ in 0..60 {
        world.physics.step();
        let body = world.body(handle);
        if crossing.is_none() && body.translation().x > 48.5 {
            crossing = Some(body.linvel());
        }
    }
    let v = crossing.expect("it passed the ridge");
    assert!(v.y > 7.0, "it kept its climb: {v}");
}

#[test]
fn fast_balls_do_not_pass_the_ground() {
    let bumps = |x: i32, z: i32| f64::from((x * 7 + z * 13) % 11) * 0.1;
    for (name, dir) in [("down", DVec3::NEG_Y), ("grazing", DVec3::new(1.0, -0.05, 0.3).normalize())] {
        for ground in [patch(|_, _| 0.0), patch(bumps)] {
            for i in 0..24 {
                let target = DVec3::new(40.0 + f64::from(i % 5) * 0.25, 0.0, 31.0 + f64::from(i / 5) * 0.5);
                let mut world = World::new(ground.clone());
                let start = target - dir * (dir.y.abs().recip() * 2.0);
                let start = DVec3::new(start.x, start.y.max(1.5), start.z);
                let handle = world.add(
                    RigidBodyBuilder::dynamic().translation(start).linvel(dir * 200.0),
                    ColliderBuilder::ball(0.1),
                );
                for _ in 0..60 {
                    world.physics.step();
                    let p = world.body(handle).translation();
                    if !(0.0..96.0).contains(&p.x) || !(0.0..96.0).contains(&p.z) {
                        break;
                    }
                    let ground = world.shared.load();
                    let floor = ground.point(p.x, p.z).unwrap().height().unwrap();
                    assert!(p.y > floor - 0.1, "{name} {i}: {p} under {floor}");
                }
            }
        }
    }
}

#[test]
fn fast_bodies_of_every_shape_stop_at_the_ground() {
    let ground = patch(|x, z| f64::from((x * 7 + z * 13) % 11) * 0.1);
    let shapes = [
        SharedShape::cuboid(0.1, 0.1, 0.1),
        SharedShape::capsule_y(0.2, 0.1),
        SharedShape::cylinder(0.2, 0.1),
        SharedShape::cone(0.2, 0.1),
        SharedShape::compound(vec![
            (Pose::translation(0.2, 0.0, 0.0), SharedShape::ball(0.1)),
            (Pose::translation(-0.2, 0.0, 0.0), SharedShape::cuboid(0.1, 0.1, 0.1)),
        ]),
    ];
    for shape in shapes {
        for i in 0..12 {
            let mut world = World::new(ground.clone());
            let start = DVec3::new(40.0 + 0.31 * f64::from(i), 6.0, 31.5 + 0.17 * f64::from(i));
            let body = RigidBodyBuilder::dynamic()
                .translation(start)
                .linvel(DVec3::new(3.0, -200.0, 1.0))
                .angvel(DVec3::new(2.0, 1.0, -3.0));
            let handle = world.add(body, ColliderBuilder::new(shape.clone()));
            for _ in 0..60 {
                world.physics.step();
                let p = world.body(handle).translation();
                let floor = world.shared.load().point(p.x, p.z).unwrap().height().unwrap();
                assert!(p.y > floor - 0.1, "{:?} {i}: {p} under {floor}", shape.shape_type());
            }
        }
    }
}

#[test]
fn thin_slabs_thrown_down_stay_above_the_ground() {
    for i in 0..12 {
        let tilt = DQuat::from_rotation_z(0.3) * DQuat::from_rotation_x(0.1 * f64::from(i));
        let mut world = World::new(patch(|_, _| 0.0));
        let start = DVec3::new(31.6 + 0.1 * f64::from(i), 3.0, 32.0);
        let handle = world.add(
            RigidBodyBuilder::dynamic()
                .pose(Pose::from_parts(start, tilt))
                .linvel(DVec3::new(0.0, -30.0, 0.0)),
            ColliderBuilder::cuboid(0.5, 0.015, 0.5),
        );
        world.run(240);
        let p = world.body(handle).translation();
        assert!(p.y > 0.0 && p.y < 0.6, "slab {i} ended at {p}");
    }
}

#[test]
fn a_body_falls_through_a_hole_and_another_stands_at_its_rim() {
    let hole = |c: CellPos| if (31..33).contains(&c.x) && (31..33).contains(&c.z) { 0 } else { 3 };
    let ground = with_mask(|_, _| 0.0, hole);
    let mut world = World::new(ground);
    let falls = world.add(
        RigidBodyBuilder::dynamic().translation(DVec3::new(32.0, 1.0, 32.0)),
        ColliderBuilder::ball(0.4),
    );
    // A box whose middle is over ground, a third of it over the hole, and a ball whose centre is just over the rim.
    let on_rim = DVec3::new(30.8, 0.5, 32.0);
    let stands =
        world.add(RigidBodyBuilder::dynamic().translation(on_rim), ColliderBuilder::cuboid(0.5, 0.5, 0.5));
    let capsule = DVec3::new(33.05, 0.9, 31.4);
    let upright = world.add(
        RigidBodyBuilder::dynamic().translation(capsule).lock_rotations(),
        ColliderBuilder::capsule_y(0.56, 0.34),
    );
    // A wide box lies over the whole hole.
    let lid = DVec3::new(32.0, 3.0, 32.0);
    world.run(60);
    let covers =
        world.add(RigidBodyBuilder::dynamic().translation(lid), ColliderBuilder::cuboid(1.3, 0.2, 0.3));
    world.run(240);
    assert!(world.body(falls).translation().y < -10.0);
    assert!(world.body(stands).translation().distance(on_rim) < 0.01, "{}", world.body(stands).translation());
    assert!(
        world.body(upright).translation().distance(capsule) < 0.01,
        "{}",
        world.body(upright).translation()
    );
    let p = world.body(covers).translation();
    assert!(p.y > 0.19 && p.y < 1.5, "{p}");
}

#[test]
fn half_a_cell_carries_and_the_other_half_does_not() {
    // Main diagonal: triangle 0 is the half with the larger x, triangle 1 that with the larger z.
    for keep in [1u8, 2] {
        let ground = with_mask(|_, _| 0.0, |c| if c == CellPos::new(32, 32) { keep } else { 3 });
        for (at, half) in [([32.75, 32.25], 1u8), ([32.25, 32.75], 2)] {
            let mut world = World::new(ground.clone());
            let ball = world.add(
                RigidBodyBuilder::dynamic().translation(DVec3::new(at[0], 0.3, at[1])),
                ColliderBuilder::ball(0.1),
            );
            world.run(120);
            let y = world.body(ball).translation().y;
            if keep == half {
                assert!((y - 0.1).abs() < 0.006, "kept {keep}, over {half}: {y}");
            } else {
                assert!(y < -5.0, "kept {keep}, over {half}: {y}");
            }
        }
    }
}

#[test]
fn sleeping_bodies_fall_when_their_ground_is_swapped_away_and_others_sleep_on() {
    let before = patch(|_, _| 0.0);
    let after = before.with_changes(&[(BlockPos::new(1, 1), Slot::Absent)]);
    let mut world = World::new(before);
    let mut rest = |x: f64, z: f64| {
        world.add(
            RigidBodyBuilder::dynamic().translation(DVec3::new(x, 0.5, z)),
            ColliderBuilder::cuboid(0.5, 0.5, 0.5),
        )
    };
    let (gone, stays, moving) = (rest(48.0, 48.0), rest(10.0, 10.0), rest(50.0, 40.0));
    world.run(300);
    assert!(world.body(gone).is_sleeping() && world.body(stays).is_sleeping());
    // One is awake and barely moves: its pair would be recycled.
    world.physics.bodies[moving].wake_up(true);
    world.run(2);
    world.swap(after, &[BlockPos::new(1, 1)]);
    world.run(60);
    for body in [gone, moving] {
        let y = world.body(body).translation().y;
        // A free fall of 60 ticks is 4.9 m.
        assert!(y < -4.0, "{y}");
    }
    assert!(world.body(stays).is_sleeping());
    assert!(world.body(stays).translation().y > 0.49);
}

/// Why a session must tell the bodies: the engine itself does not look at a sleeping pair again.
#[test]
fn a_sleeping_body_that_is_not_told_hangs_in_the_air() {
    let before = patch(|_, _| 0.0);
    let after = before.with_changes(&[(BlockPos::new(1, 1), Slot::Absent)]);
    let mut world = World::new(before);
    let start = DVec3::new(48.0, 0.5, 48.0);
    let body =
        world.add(RigidBodyBuilder::dynamic().translation(start), ColliderBuilder::cuboid(0.5, 0.5, 0.5));
    world.run(300);
    world.swap(after.clone(), &[]);
    world.run(60);
    assert!(world.body(body).is_sleeping() && world.body(body).translation().y > 0.49);
    world.swap(after, &[BlockPos::new(1, 1)]);
    world.run(60);
    assert!(world.body(body).translation().y < -4.0);
}

#[test]
fn raised_ground_lifts_what_is_still_above_it() {
    let mut world = World::new(patch(|_, _| 0.0));
    let body = world.add(
        RigidBodyBuilder::dynamic().translation(DVec3::new(48.0, 0.5, 48.0)),
        ColliderBuilder::cuboid(0.5, 0.5, 0.5),
    );
    world.run(120);
    world.swap(patch(|_, _| 0.25), &[BlockPos::new(1, 1)]);
    world.run(300);
    let y = world.body(body).translation().y;
    assert!((y - 0.75).abs() < 0.006, "{y}");
}

#[test]
fn bodies_that_start_below_the_ground_are_not_pulled_up() {
    // Half a body in the ground, and all of it under; none has come from above.
    for (depth, half) in [(0.1, 0.5), (0.6, 0.5), (3.0, 0.5)] {
        for shape in
            [SharedShape::ball(half), SharedShape::cuboid(half, half, half), SharedShape::cylinder(half, 0.3)]
        {
            let mut world = World::new(patch(|_, _| 0.0));
            let start = DVec3::new(48.3, -depth, 40.2);
            let body = world.add(RigidBodyBuilder::dynamic().translation(start), ColliderBuilder::new(shape));
            world.run(60);
            let y = world.body(body).translation().y;
            assert!((y - (-depth - 4.9)).abs() < 0.15, "from {depth} below it came to {y}");
        }
    }
}

/// Positions of 200 bodies dropped on bumps, after a second and a half, bit for bit.
fn tumble(threads: usize, far_swaps: bool) -> Vec<[u64; 3]> {
    let ground = patch(|x, z| f64::from((x * 7 + z * 13) % 11) * 0.12);
    let tile = ground.slot(BlockPos::new(1, 2)).clone();
    let mut world = World::new(ground);
    world.physics.physics_pipeline.configure_thread_pool(threads).expect("a pool");
    let mut bodies = Vec::new();
    for i in 0..200 {
        let at = DVec3::new(6.0 + f64::from(i % 20) * 4.1, 2.5, 6.0 + f64::from(i / 20) * 4.3);
        let collider = match i % 4 {
            0 => ColliderBuilder::ball(0.4),
            1 => ColliderBuilder::cuboid(0.5, 0.3, 0.4),
            2 => ColliderBuilder::capsule_y(0.5, 0.3),
            _ => ColliderBuilder::compound(vec![
                (Pose::translation(0.5, 0.0, 0.0), SharedShape::ball(0.3)),
                (Pose::translation(-0.5, 0.0, 0.0), SharedShape::cuboid(0.3, 0.3, 0.3)),
            ]),
        };
        bodies.push(world.add(RigidBodyBuilder::dynamic().translation(at), collider));
    }
    for tick in 0..90 {
        if far_swaps {
            // The last row of blocks comes and goes; no body is near it.
            let ground = world.shared.load();
            let slot = if tick % 2 == 0 { Slot::Absent } else { tile.clone() };
            world.swap(ground.with_changes(&[(BlockPos::new(1, 2), slot)]), &[BlockPos::new(1, 2)]);
        }
        world.run(1);
    }
    let position = |&h: &RigidBodyHandle| {
        let p = world.body(h).translation();
        assert!(p.y > 0.0 && p.y < 2.6 && p.z < 60.0, "{p}");
        [p.x, p.y, p.z].map(f64::to_bits)
    };
    bodies.iter().map(position).collect()
}

#[test]
fn neither_threads_nor_swaps_elsewhere_change_a_bit() {
    let one = tumble(1, false);
    assert_eq!(one, tumble(2, false));
    assert_eq!(one, tumble(1, true));
    assert_eq!(one, tumble(2, true));
}

#[test]
fn the_same_steps_far_from_the_origin_are_as_smooth() {
    // 30 km out, and the same slide as near the origin.
    let side = BlockSide::S32;
    let far = 30_016;
    let ground = MemoryTerrain::from_fn([far + 257, 33], side, |_| {}, |_, _| 0.0).ground_all();
    let mut world = World::new(ground);
    let start = DVec3::new(f64::from(far) + 10.3, 0.5, 16.2);
    let handle = world.add(
        RigidBodyBuilder::dynamic().translation(start).linvel(DVec3::new(40.0, 0.0, 0.0)),
        frictionless(SharedShape::cuboid(0.5, 0.5, 0.5)),
    );
    world.run(240);
    let v = world.body(handle).linvel();
    assert!((v - DVec3::new(40.0, 0.0, 0.0)).length() < 0.005, "{v}");
}
