//! One character move: our walker over the ground, and Rapier's `KinematicCharacterController` over a HeightField of
//! the same triangles, in one run. Both are asked to walk 256 characters over the same hills, with the same directions;
//! ours once more with every walker an obstacle to the others, the snapshot of them made again each tick.
//!
//! Before the timing it prints what the moves were like on flat ground and on a 40° slope: the vertical jitter and the
//! horizontal speed of each.

use criterion::{Criterion, criterion_group, criterion_main};
use highground_game::walker::{
    Obstacle, ObstacleKind, Obstacles, Surroundings, WalkCommand, WalkerConfig, WalkerState, place, walk,
    walk_among,
};
use highground_terrain::collide::cast::{Convex, cast};
use highground_terrain::config::Diagonal;
use highground_terrain::coord::BlockSide;
use highground_terrain::parry::math::Pose;
use highground_terrain::store::MemoryTerrain;
use highground_terrain::surface::Ground;
use rapier3d_f64::control::{CharacterAutostep, CharacterLength, KinematicCharacterController};
use rapier3d_f64::parry::shape::{Capsule, HeightFieldFlags};
use rapier3d_f64::parry::utils::Array2;
use rapier3d_f64::pipeline::PhysicsWorld;
use rapier3d_f64::prelude::{ColliderBuilder, SharedShape, Vector};
use std::hint::black_box;

const DT: f64 = 1.0 / 60.0;
const SAMPLES: u32 = 129;
const SPACING_M: f64 = 2.0;
const WALKERS: u32 = 256;

fn hills(x: i32, z: i32) -> f64 {
    let wave = |a: i32, b: i32, period: i32| {
        let phase = f64::from((a * 3 + b * 2).rem_euclid(period)) / f64::from(period);
        // A parabola instead of a sine: the same on every platform.
        1.0 - 16.0 * (phase - 0.5) * (phase - 0.5) * phase * (1.0 - phase) - phase * (1.0 - phase)
    };
    6.0 * wave(x, z, 61)
        + 3.0 * wave(z, -x, 37)
        + f64::from((x * 7919 + z * 104_729).rem_euclid(97)) / 97.0 * 0.6
}

/// The same triangles for both: parry's default cells are split like Anti.
struct Twin {
    ground: Ground,
    world: PhysicsWorld,
}

impl Twin {
    fn new(height: impl Fn(i32, i32) -> f64) -> Self {
        let terrain = MemoryTerrain::from_fn(
            [SAMPLES, SAMPLES],
            BlockSide::S32,
            |c| {
                c.diagonal = Diagonal::Anti;
                c.spacing_256 = 512;
                c.quantum = 12.try_into().expect("k up to 12");
            },
            height,
        );
        let raster = terrain.raster();
        // Column-major with rows along z: x slowest.
        let mut heights = Vec::new();
        for x in 0..SAMPLES as usize {
            for z in 0..SAMPLES as usize {
                heights.push(raster.config.quantum.to_metres(raster.heights[z * SAMPLES as usize + x]));
            }
        }
        let side = SPACING_M * f64::from(SAMPLES - 1);
        let mut world = PhysicsWorld::new();
        let field = ColliderBuilder::heightfield_with_flags(
            Array2::new(SAMPLES as usize, SAMPLES as usize, heights),
            Vector::new(side, 1.0, side),
            HeightFieldFlags::FIX_INTERNAL_EDGES,
        );
        world.insert_collider(field.translation(Vector::new(side / 2.0, 0.0, side / 2.0)), None);
        world.step();
        Self { ground: terrain.ground_all(), world }
    }
}

/// Directions that turn slowly and keep the walkers around the middle.
fn command(walker: u32, tick: u32) -> WalkCommand {
    const WAYS: [(i8, i8); 8] =
        [(127, 0), (90, 90), (0, 127), (-90, 90), (-127, 0), (-90, -90), (0, -127), (90, -90)];
    let (x, z) = WAYS[((tick / 120 + walker) % 8) as usize];
    WalkCommand { x, z, run: false, jump: false, crouch: false }
}

fn starts(ground: &Ground) -> Vec<WalkerState> {
    let config = WalkerConfig::default();
    (0..WALKERS)
        .map(|i| {
            let (x, z) = (60.0 + f64::from(i % 16) * 8.0, 60.0 + f64::from(i / 16) * 8.0);
            place(ground, &config, x, z).expect("ground")
        })
        .collect()
}

fn our_tick(ground: &Ground, states: &mut [WalkerState], tick: u32) {
    let config = WalkerConfig::default();
    for (i, state) in states.iter_mut().enumerate() {
        *state = walk(ground, &config, 1.0, state, command(i as u32, tick), DT).state;
    }
}

/// The same with every walker in the others' way.
fn crowded_tick(
    ground: &Ground,
    states: &mut [WalkerState],
    obstacles: &mut Obstacles,
    shape: &SharedShape,
    tick: u32,
) {
    let config = WalkerConfig::default();
    let others = states.iter().enumerate().map(|(i, state)| Obstacle {
        id: i as u64,
        part: 0,
        shape: shape.clone(),
        pose: Pose::from_translation(state.position),
        velocity: state.velocity,
        spin: 0.0,
        kind: ObstacleKind::Character { carrier: state.carrier },
    });
    obstacles.rebuild(others, DT).expect("sound obstacles");
    for (i, state) in states.iter_mut().enumerate() {
        let around = Surroundings { obstacles, me: Some(i as u64), ..Surroundings::ground(ground) };
        *state = walk_among(&around, &config, state, command(i as u32, tick), DT).state;
    }
}

/// Rapier's, as its users take it: autostep and snap on, offset as our skin.
fn controller() -> KinematicCharacterController {
    let config = WalkerConfig::default();
    KinematicCharacterController {
        offset: CharacterLength::Absolute(config.skin),
        autostep: Some(CharacterAutostep {
            max_height: CharacterLength::Absolute(config.step_height),
            min_width: CharacterLength::Absolute(0.2),
            include_dynamic_bodies: false,
        }),
        snap_to_ground: Some(CharacterLength::Absolute(config.ground_snap)),
        ..KinematicCharacterController::default()
    }
}

fn rapier_tick(
    world: &PhysicsWorld,
    controller: &KinematicCharacterController,
    states: &mut [WalkerState],
    tick: u32,
) {
    let config = WalkerConfig::default();
    let capsule = Capsule::new_y(config.half_height, config.radius);
    let queries = world.query_pipeline();
    for (i, state) in states.iter_mut().enumerate() {
        let fall = if state.grounded { 0.0 } else { state.velocity.y } - config.gravity * DT;
        let wanted = command(i as u32, tick).direction() * config.walk_speed;
        let way = Vector::new(wanted.x, fall, wanted.z) * DT;
        let pose = Pose::from_translation(state.position);
        let moved = controller.move_shape(DT, &queries, &capsule, &pose, way, |_| {});
        state.position += moved.translation;
        state.grounded = moved.grounded;
        state.velocity.y = fall;
    }
}

/// The greatest vertical speed away from the plane and the mean horizontal speed of ten seconds of walking east.
fn manners(height: impl Fn(i32, i32) -> f64 + Copy, rise: f64) -> [(f64, f64); 2] {
    let twin = Twin::new(height);
    let config = WalkerConfig::default();
    let start = place(&twin.ground, &config, 60.0, 100.0).expect("ground");
    let controller = controller();
    let measure = |tick: &dyn Fn(&mut [WalkerState])| {
        let mut states = [start];
        let mut jitter = 0.0_f64;
        for _ in 0..600 {
            let before = states[0].position;
            tick(&mut states);
            let d = states[0].position - before;
            jitter = jitter.max((d.y - d.x * rise).abs() / DT);
        }
        (jitter, (states[0].position.x - start.position.x) / 10.0)
    };
    // Tick 0 of walker 0 is due east.
    [measure(&|s| our_tick(&twin.ground, s, 0)), measure(&|s| rapier_tick(&twin.world, &controller, s, 0))]
}

fn walkers(c: &mut Criterion) {
    for (name, rise) in [("flat", 0.0), ("40 degrees", 0.839_099_631_177)] {
        let [ours, theirs] = manners(|x, _| f64::from(x) * SPACING_M * rise, rise);
        for (who, (jitter, speed)) in [("ours", ours), ("rapier", theirs)] {
            println!(
                "manners, {name}, {who}: {jitter:.6} m/s off the plane at most, {speed:.3} m/s east of 3"
            );
        }
    }
    let twin = Twin::new(hills);
    let controller = controller();
    let mut group = c.benchmark_group("256 character moves");
    let (mut states, mut tick) = (starts(&twin.ground), 0);
    group.bench_function("ours", |b| {
        b.iter(|| {
            our_tick(&twin.ground, black_box(&mut states), tick % 960);
            tick += 1;
        });
    });
    let (mut states, mut tick) = (starts(&twin.ground), 0);
    let config = WalkerConfig::default();
    let (mut obstacles, shape) = (Obstacles::NONE, SharedShape::capsule_y(config.half_height, config.radius));
    group.bench_function("ours, in one another's way", |b| {
        b.iter(|| {
            crowded_tick(&twin.ground, black_box(&mut states), &mut obstacles, &shape, tick % 960);
            tick += 1;
        });
    });
    let (mut states, mut tick) = (starts(&twin.ground), 0);
    group.bench_function("rapier", |b| {
        b.iter(|| {
            rapier_tick(&twin.world, &controller, black_box(&mut states), tick % 960);
            tick += 1;
        });
    });
    group.finish();
    capsule_casts(c, &twin);
}

fn capsule_casts(c: &mut Criterion, twin: &Twin) {
    let mut group = c.benchmark_group("capsule cast, 5 m");
    let from = |i: u32| {
        let (x, z) = (60.0 + f64::from(i * 37 % 120), 60.0 + f64::from(i * 53 % 120));
        let height = twin.ground.point(x, z).ok().and_then(|a| a.height()).unwrap_or(0.0);
        Pose::from_translation(Vector::new(x + 0.3, height + 3.0, z + 0.2))
    };
    let poses: Vec<Pose> = (0..256).map(from).collect();
    let way = Vector::new(3.5, -2.8, 2.2);
    let mut i = 0;
    group.bench_function("ours", |b| {
        let body = Convex::upright_capsule(0.54, 0.34);
        b.iter(|| {
            i = (i + 1) % 256;
            cast(&twin.ground, &body, &poses[i], way)
        });
    });
    group.bench_function("rapier", |b| {
        let capsule = Capsule::new_y(0.54, 0.34);
        let queries = twin.world.query_pipeline();
        let options = rapier3d_f64::parry::query::ShapeCastOptions::with_max_time_of_impact(1.0);
        b.iter(|| {
            i = (i + 1) % 256;
            queries.cast_shape(&poses[i], way, &capsule, options)
        });
    });
    group.finish();
}

criterion_group!(benches, walkers);
criterion_main!(benches);
