//! What bodies feel of ridges, valleys and far places, beside one undivided height field of the engine; and of physical
//! materials, held against Coulomb's law.

use glam::{DQuat, DVec3};
use highground_game::physics::GroundFeel;
use highground_terrain::collide::{BlockMaterials, Materials, SharedGround, TerrainDispatcher, TerrainShape};
use highground_terrain::content::PhysicalMaterial;
use highground_terrain::coord::{BlockPos, BlockSide, CellRect};
use highground_terrain::store::{BlockSource, MemoryTerrain};
use highground_terrain::surface::{Ground, Slot, Tile};
use rapier3d_f64::parry::query::{DefaultQueryDispatcher, QueryDispatcher};
use rapier3d_f64::prelude::*;
use std::sync::Arc;

struct World {
    physics: PhysicsWorld,
    feel: Option<GroundFeel>,
}

impl World {
    fn new(shared: Arc<SharedGround>, feel: Option<GroundFeel>) -> Self {
        let mut physics = PhysicsWorld {
            narrow_phase: NarrowPhase::with_query_dispatcher(TerrainDispatcher.chain(DefaultQueryDispatcher)),
            ..PhysicsWorld::default()
        };
        let base = feel.as_ref().map_or((0.8, 0.0), |f| (f.base().friction, f.base().restitution));
        let shape = SharedShape::new(TerrainShape::new(shared));
        physics.colliders.insert(ColliderBuilder::new(shape).friction(base.0).restitution(base.1));
        Self { physics, feel }
    }

    fn over(ground: Ground) -> Self {
        Self::new(SharedGround::new(Arc::new(ground)), None)
    }

    /// One height field of the same samples, as good as the engine makes it.
    fn field(samples: [usize; 2], spacing: f64, height: impl Fn(i32, i32) -> f64, at: DVec3) -> Self {
        let mut heights = Array2::repeat(samples[1], samples[0], 0.0);
        for z in 0..samples[1] {
            for x in 0..samples[0] {
                heights[(z, x)] = height(x as i32, z as i32);
            }
        }
        let size = DVec3::new((samples[0] - 1) as f64 * spacing, 1.0, (samples[1] - 1) as f64 * spacing);
        let mut field = HeightField::with_flags(heights, size, HeightFieldFlags::FIX_INTERNAL_EDGES);
        // The same diagonals as Main.
        field.cells_statuses_mut().data_mut().fill(HeightFieldCellStatus::empty());
        let mut physics = PhysicsWorld::default();
        let middle = DVec3::new(size.x / 2.0, 0.0, size.z / 2.0);
        physics
            .colliders
            .insert(ColliderBuilder::new(SharedShape::new(field)).translation(at + middle).friction(0.8));
        Self { physics, feel: None }
    }

    fn step(&mut self) {
        let dt = self.physics.integration_parameters.dt;
        match &mut self.feel {
            Some(feel) => {
                feel.tell(&self.physics.bodies, &mut self.physics.colliders, dt);
                self.physics.step_with_events(&*feel, &());
            }
            None => self.physics.step(),
        }
    }

    fn add(&mut self, body: RigidBodyBuilder, collider: ColliderBuilder) -> RigidBodyHandle {
        let handle = self.physics.bodies.insert(body.can_sleep(false));
        self.physics.colliders.insert_with_parent(collider, handle, &mut self.physics.bodies);
        handle
    }

    fn body(&self, handle: RigidBodyHandle) -> &RigidBody {
        &self.physics.bodies[handle]
    }
}

fn frictionless(shape: SharedShape) -> ColliderBuilder {
    ColliderBuilder::new(shape).friction(0.0).friction_combine_rule(CoefficientCombineRule::Min)
}

/// Only the blocks near a place, out of a terrain of any size: the rest is never made.
fn far_ground(samples: [u32; 2], at: [i32; 2], height: impl Fn(i32, i32) -> f64) -> Ground {
    let side = BlockSide::S32;
    let config = highground_terrain::config::TerrainConfig::new(samples, 256);
    let make = |pos: BlockPos| {
        let (first, n) = (side.first_sample(pos), side.samples());
        let inside = |x: i32, z: i32| x < samples[0] as i32 && z < samples[1] as i32;
        let mut heights = Vec::new();
        let mut mask = Vec::new();
        for z in first.z..first.z + n {
            for x in first.x..first.x + n {
                let quanta = config.quantum.from_metres(height(x, z)).expect("a height that fits").0;
                heights.push(if inside(x, z) { quanta } else { highground_terrain::height::VOID });
                mask.push(if inside(x + 1, z + 1) { 3 } else { 0 });
            }
        }
        highground_terrain::surface::Block::new(pos, side, heights.into(), mask.into(), None)
    };
    let (bx, bz) = (at[0] / 32, at[1] / 32);
    let blocks: std::collections::BTreeMap<BlockPos, _> = (bz - 1..=bz + 6)
        .flat_map(|z| (bx - 1..=bx + 10).map(move |x| BlockPos::new(x, z)))
        .filter(|&pos| config.has_block(side, pos))
        .map(|pos| (pos, make(pos)))
        .collect();
    let whole =
        |p: &BlockPos| p.neighbourhood().all(|n| blocks.contains_key(&n) || !config.has_block(side, n));
    let changes: Vec<(BlockPos, Slot)> = blocks
        .iter()
        .filter(|(p, _)| whole(p))
        .map(|(&p, block)| (p, Slot::Resident(Arc::new(Tile::new(&config, block, |n| blocks.get(&n))))))
        .collect();
    Ground::empty(&config, side).with_changes(&changes)
}

/// The worst deviation (m/s) from free sliding of a frictionless body on a plane that rises by `rise`/128 along x.
fn slide(
    world: &mut World,
    rise: i32,
    shape: &SharedShape,
    from: DVec3,
    heading: [f64; 2],
    speed: f64,
) -> f64 {
    let slope = f64::from(rise) / 128.0;
    let n = DVec3::new(-slope, 1.0, 0.0).normalize();
    let along = DVec3::new(heading[0], heading[0] * slope, heading[1]).normalize();
    let rotation = DQuat::from_rotation_arc(DVec3::Y, n);
    let down = DVec3::NEG_Y;
    let reach = match shape.as_ball() {
        Some(ball) => ball.radius,
        None => shape.as_support_map().expect("a convex shape").local_support_point(down).dot(down),
    };
    let body =
        RigidBodyBuilder::dynamic().pose(Pose::from_parts(from + n * reach, rotation)).linvel(along * speed);
    let handle = world.add(body, frictionless(shape.clone()));
    let gravity = world.physics.gravity;
    let (pull, dt) = (gravity - n * gravity.dot(n), world.physics.integration_parameters.dt);
    let mut worst = 0.0f64;
    let ticks = (180.0f64).min(180.0 / speed * 60.0) as i32;
    for tick in 1..=ticks {
        world.step();
        let body = world.body(handle);
        if body.translation().distance(from) > 120.0 {
            break;
        }
        if tick > 30 {
            let ideal = along * speed + pull * (f64::from(tick) * dt);
            worst = worst.max((body.linvel() - ideal).length());
        }
    }
    worst
}

#[test]
fn the_seam_table_is_the_same_at_45_kilometres() {
    let shapes = [
        ("ball", SharedShape::ball(0.5)),
        ("box", SharedShape::cuboid(0.5, 0.5, 0.5)),
        ("capsule", SharedShape::capsule_x(0.54, 0.34)),
    ];
    // Straight over borders, along one, diagonally, and through four-block corners.
    let paths = [
        ([10.3, 40.7], [1.0, 0.0]),
        ([10.0, 32.0], [1.0, 0.0]),
        ([10.3, 12.1], [1.0, 0.7]),
        ([10.0, 10.0], [1.0, 1.0]),
    ];
    let mut bad = Vec::new();
    for rise in [0, 74, 128] {
        for base in [[0, 0], [45_056, 45_056]] {
            // Heights relative to the place, or the slope would be 45 km high out there.
            let height = |x: i32, _: i32| f64::from((x - base[0]) * rise) / 128.0;
            let ground = far_ground([46_000, 46_000], base, height);
            for (name, shape) in &shapes {
                for (from, heading) in &paths {
                    for speed in [6.0, 40.0] {
                        let at = DVec3::new(
                            f64::from(base[0]) + from[0] + 32.0,
                            (from[0] + 32.0) * f64::from(rise) / 128.0,
                            f64::from(base[1]) + from[1],
                        );
                        let worst = slide(&mut World::over(ground.clone()), rise, shape, at, *heading, speed);
                        if worst >= 0.005 {
                            bad.push(format!(
                                "{name} {from:?} {heading:?} {speed} m/s on {rise}/128 at {base:?}: {worst}"
                            ));
                        }
                    }
                }
            }
        }
    }
    assert!(bad.is_empty(), "{} bad:\n{}", bad.len(), bad.join("\n"));
}

/// What became of a body: its last place and velocity, and how much energy it gained at most over its start.
struct Ride {
    end: DVec3,
    velocity: DVec3,
    gained: f64,
}

fn ride(
    world: &mut World,
    shape: &SharedShape,
    at: DVec3,
    velocity: DVec3,
    spin: DVec3,
    ticks: usize,
) -> Ride {
    let body = RigidBodyBuilder::dynamic().translation(at).linvel(velocity).angvel(spin);
    let handle = world.add(body, frictionless(shape.clone()).density(200.0));
    let energy = |b: &RigidBody| b.kinetic_energy() / b.mass() + 9.81 * b.translation().y;
    world.physics.bodies[handle].recompute_mass_properties_from_colliders(&world.physics.colliders);
    let start = energy(world.body(handle));
    let mut gained = 0.0f64;
    for _ in 0..ticks {
        world.step();
        gained = gained.max(energy(world.body(handle)) - start);
    }
    let body = world.body(handle);
    Ride { end: body.translation(), velocity: body.linvel(), gained }
}

#[test]
fn ridges_and_valleys_are_felt_as_on_one_undivided_height_field() {
    // Ridge and valley lines along z, one on a block border and one inside a block, on quanta.
    let ridge = |at: i32| move |x: i32, _: i32| 40.0 - f64::from((x - at).abs()) / 4.0;
    let valley = |at: i32| move |x: i32, _: i32| 10.0 + f64::from((x - at).abs()) / 4.0;
    let shapes = [
        SharedShape::ball(0.5),
        SharedShape::capsule_z(0.54, 0.34),
        SharedShape::round_cuboid(0.4, 0.2, 0.4, 0.1),
    ];
    let (mut compared, mut worst) = (0, [0.0f64; 2]);
    for (line, upward) in [(64, true), (64, false), (75, true), (75, false)] {
        let height = move |x: i32, z: i32| if upward { ridge(line)(x, z) } else { valley(line)(x, z) };
        let ground = MemoryTerrain::from_fn([129, 129], BlockSide::S32, |_| {}, height).ground_all();
        for shape in &shapes {
            for speed in [6.0, 15.0] {
                let up = if upward { 1.0 } else { -1.0 } / 4.0;
                let n = DVec3::new(-up, 1.0, 0.0).normalize();
                let foot = DVec3::new(f64::from(line) - 6.2, height(line, 0) - up * 6.2, 40.3);
                let at = foot + n * 0.52;
                let velocity = DVec3::new(1.0, up, 0.1).normalize() * speed;
                let ours = ride(&mut World::over(ground.clone()), shape, at, velocity, DVec3::ZERO, 90);
                let mut field = World::field([129, 129], 1.0, height, DVec3::ZERO);
                let theirs = ride(&mut field, shape, at, velocity, DVec3::ZERO, 90);
                compared += 1;
                let name = format!("{:?} at {speed} m/s, line {line}, ridge {upward}", shape.shape_type());
                assert!(ours.gained < 0.02 * speed * speed, "{name}: gained {}", ours.gained);
                // Every normal there lies across the line: whatever happens, nothing can change the speed along it.
                let off = |r: &Ride| (r.velocity.z - velocity.z).abs();
                worst = [worst[0].max(off(&ours)), worst[1].max(off(&theirs))];
                assert!(
                    off(&ours) < 0.005,
                    "{name}: {} m/s along the line; the field {}",
                    off(&ours),
                    off(&theirs)
                );
                // Across it both leave a ridge in flight and are turned by a valley.
                let (a, b) = (ours.velocity.x, theirs.velocity.x);
                assert!((a - b).abs() < 0.1 * speed, "{name}: {a}, the field {b}");
                assert!(
                    (ours.end.x - theirs.end.x).abs() < 0.1 * speed,
                    "{name}: {} {}",
                    ours.end,
                    theirs.end
                );
            }
        }
    }
    println!("speed along the line changed by {} m/s at most, on the field by {}", worst[0], worst[1]);
    assert_eq!(compared, 24);
}

#[test]
fn turning_bodies_keep_turning_over_flush_seams() {
    // A spinning box and a rolling, spinning ball on a level plane, over borders and corners: nothing may take their spin.
    let ground = MemoryTerrain::from_fn([257, 129], BlockSide::S32, |_| {}, |_, _| 2.0).ground_all();
    let bodies =
        [SharedShape::cuboid(0.5, 0.5, 0.5), SharedShape::ball(0.5), SharedShape::cylinder(0.5, 0.4)];
    for shape in bodies {
        for (velocity, spin) in [(6.0, 3.0), (40.0, 8.0)] {
            let mut world = World::over(ground.clone());
            let half = shape.compute_local_aabb().half_extents().y;
            let at = DVec3::new(20.0, 2.0 + half, 32.0);
            let (v, w) = (DVec3::new(velocity, 0.0, 0.2 * velocity), DVec3::Y * spin);
            let body = RigidBodyBuilder::dynamic().translation(at).linvel(v).angvel(w);
            let handle = world.add(body, frictionless(shape.clone()));
            for _ in 0..150 {
                world.step();
            }
            let body = world.body(handle);
            let (dv, dw) = ((body.linvel() - v).length(), (body.angvel() - w).length());
            assert!(dv < 0.005 && dw < 0.005, "{:?}: {dv} m/s, {dw} rad/s", shape.shape_type());
        }
    }
}

/// Level ground of material 0 up to x = 64 and material 1 beyond.
fn two_materials(first: f64, second: f64) -> (Arc<SharedGround>, GroundFeel) {
    let terrain = MemoryTerrain::from_fn([129, 129], BlockSide::S32, |_| {}, |_, _| 2.0);
    let shared = SharedGround::new(Arc::new(terrain.ground_all()));
    let named = |name: &str, friction| PhysicalMaterial { name: name.into(), friction, restitution: 0.0 };
    let table = [named("first", first), named("second", second)];
    let materials = Materials::new(&table, PhysicalMaterial::default(), terrain.block_side());
    let entries = (0..4).flat_map(|z| (0..4).map(move |x| BlockPos::new(x, z))).map(|pos| {
        let ids = vec![u8::from(pos.x >= 2); 32 * 32];
        (pos, BlockMaterials::pack(&ids).map(Arc::new))
    });
    shared.set_materials(Arc::new(materials.with_changes(entries)));
    let feel = GroundFeel::new(shared.clone());
    (shared, feel)
}

/// Slides a box from x = 50 and gives its speeds when wholly on the first material, when wholly on the second, and a
/// second later, in a world that combines by the smaller friction.
fn speeds(first: f64, second: f64) -> [f64; 3] {
    let (shared, feel) = two_materials(first, second);
    let mut world = World::new(shared, Some(feel));
    let body = RigidBodyBuilder::dynamic().translation(DVec3::new(50.0, 2.25, 40.3)).linvel(DVec3::X * 10.0);
    let body = body.lock_rotations();
    let collider = ColliderBuilder::cuboid(0.5, 0.25, 0.5).friction(5.0);
    let handle = world.add(body, collider.friction_combine_rule(CoefficientCombineRule::Min));
    let mut out = [0.0; 3];
    let mut after = None;
    for tick in 0..400 {
        world.step();
        let b = world.body(handle);
        let (x, v) = (b.translation().x, b.linvel().x);
        if x < 63.4 {
            out[0] = v;
        }
        if x > 64.6 && after.is_none() {
            out[1] = v;
            after = Some(tick);
        }
        if after.is_some_and(|t| tick == t + 60) {
            out[2] = v;
            break;
        }
    }
    out
}

#[test]
fn a_box_that_slides_from_ice_to_grass_slows_by_the_friction_of_each() {
    // v² = v₀² − 2 μ g x on the first, then v − μ g t on the second.
    let (ice, grass) = (0.02, 0.3);
    let [on_ice, at_grass, later] = speeds(ice, grass);
    let expected = (100.0f64 - 2.0 * ice * 9.81 * 13.4).sqrt();
    assert!((on_ice - expected).abs() < 0.05, "{on_ice}, not {expected}");
    let lost = at_grass - later;
    assert!(
        (lost - grass * 9.81).abs() < 0.02 * grass * 9.81,
        "lost {lost} in a second, not {}",
        grass * 9.81
    );
    // And the other way round, where the terrain collider's own friction is the larger.
    let [on_grass, at_ice, later] = speeds(grass, ice);
    let expected = (100.0f64 - 2.0 * grass * 9.81 * 13.4).sqrt();
    assert!((on_grass - expected).abs() < 0.1, "{on_grass}, not {expected}");
    assert!(((at_ice - later) - ice * 9.81).abs() < 0.01, "lost {}", at_ice - later);
}

#[test]
fn the_hook_is_on_only_near_ground_that_feels_otherwise() {
    let (shared, feel) = two_materials(0.5, 0.1);
    let mut world = World::new(shared, Some(feel));
    let mut at = |x: f64| {
        let body = RigidBodyBuilder::dynamic().translation(DVec3::new(x, 2.5, 40.0));
        world.add(body, ColliderBuilder::ball(0.5))
    };
    let (far, near, over) = (at(20.0), at(63.45), at(80.0));
    world.step();
    let hooked = |b: RigidBodyHandle| {
        let collider = world.body(b).colliders()[0];
        !world.physics.colliders[collider].active_hooks().is_empty()
    };
    assert!(!hooked(far) && hooked(near) && hooked(over));
}

#[test]
fn bounce_is_the_materials() {
    let (shared, _) = two_materials(0.5, 0.5);
    let named = |restitution| PhysicalMaterial { name: format!("{restitution}"), friction: 0.5, restitution };
    let materials = Materials::new(&[named(0.0), named(0.8)], PhysicalMaterial::default(), BlockSide::S32);
    let ids = BlockMaterials::pack(&[1; 32 * 32]).map(Arc::new);
    let entries = (0..4).map(|z| (BlockPos::new(3, z), ids.clone()));
    shared.set_materials(Arc::new(materials.with_changes(entries)));
    let feel = GroundFeel::new(shared.clone());
    let mut world = World::new(shared, Some(feel));
    let mut drop = |x: f64| {
        let body = RigidBodyBuilder::dynamic().translation(DVec3::new(x, 4.5, 40.3));
        let ball = ColliderBuilder::ball(0.5).restitution(0.0);
        world.add(body, ball.restitution_combine_rule(CoefficientCombineRule::Max))
    };
    let (dull, lively) = (drop(40.2), drop(110.2));
    let mut up = [0.0f64; 2];
    for _ in 0..90 {
        world.step();
        for (up, b) in up.iter_mut().zip([dull, lively]) {
            *up = up.max(world.body(b).linvel().y);
        }
    }
    // It falls 2 m: 6.26 m/s.
    assert!(up[0] < 0.3 && (up[1] - 0.8 * 6.26).abs() < 0.35, "{up:?}");
}

#[test]
fn collision_groups_are_honoured() {
    let ground = MemoryTerrain::from_fn([65, 65], BlockSide::S32, |_| {}, |_, _| 2.0).ground_all();
    let mut world = World::over(ground);
    let terrain = world.physics.colliders.iter().next().expect("the terrain").0;
    let groups = |memberships, filter| InteractionGroups::new(memberships, filter, InteractionTestMode::And);
    world.physics.colliders[terrain].set_collision_groups(groups(Group::GROUP_1, Group::GROUP_2));
    let mut drop = |x: f64, speed: f64, memberships| {
        let body =
            RigidBodyBuilder::dynamic().translation(DVec3::new(x, 4.0, 30.3)).linvel(DVec3::NEG_Y * speed);
        world.add(body, ColliderBuilder::ball(0.3).collision_groups(groups(memberships, Group::ALL)))
    };
    // Slow, and so fast that only continuous detection could stop it.
    let stopped = [drop(20.3, 0.0, Group::GROUP_2), drop(25.3, 300.0, Group::GROUP_2)];
    let passes = [drop(30.3, 0.0, Group::GROUP_3), drop(35.3, 300.0, Group::GROUP_3)];
    for _ in 0..120 {
        world.step();
    }
    for body in stopped {
        assert!(world.body(body).translation().y > 2.2, "{}", world.body(body).translation());
    }
    for body in passes {
        assert!(world.body(body).translation().y < -5.0, "{}", world.body(body).translation());
    }
}

#[test]
fn bodies_made_of_meshes_rest_on_the_ground() {
    let height = |x: i32, z: i32| f64::from((x * 7 + z * 13) % 5) / 32.0;
    let ground = MemoryTerrain::from_fn(
        [65, 65],
        BlockSide::S32,
        |c| {
            c.extent = CellRect { x0: 0, z0: 0, x1: 64, z1: 64 };
        },
        height,
    )
    .ground_all();
    let (points, faces) = Cuboid::new(DVec3::new(0.5, 0.3, 0.4)).to_trimesh();
    let mesh = SharedShape::trimesh(points, faces).expect("a mesh");
    let cells: Vec<_> =
        (0..8).map(|i| rapier3d_f64::parry::math::IVector::new(i & 1, i >> 1 & 1, i >> 2)).collect();
    let voxels = SharedShape::voxels(DVec3::splat(0.4), &cells);
    for shape in [mesh, voxels] {
        let mut world = World::over(ground.clone());
        let start = DVec3::new(32.3, 2.0, 31.7);
        let handle =
            world.add(
                RigidBodyBuilder::dynamic()
                    .translation(start)
                    .additional_mass_properties(MassProperties::new(DVec3::ZERO, 100.0, DVec3::splat(10.0))),
                ColliderBuilder::new(shape.clone()).density(0.0),
            );
        for _ in 0..300 {
            world.step();
        }
        let p = world.body(handle).translation();
        assert!(p.y > -0.2 && p.y < 0.8 && p.distance(start) < 4.0, "{:?}: {p}", shape.shape_type());
        assert!(world.body(handle).linvel().length() < 0.1, "{:?}", shape.shape_type());
    }
}
