//! The seamless collider beside parry's HeightField, whole and in tiles of 32 × 32 cells, in the same run: shape casts with
//! their answers checked, the step of bodies in contact, and the first step over cold ground.
//!
//! Ratios are printed at the end of each part.

use criterion::{Criterion, criterion_group, criterion_main};
use highground_terrain::collide::{SharedGround, TerrainDispatcher, TerrainShape};
use highground_terrain::coord::BlockSide;
use highground_terrain::store::MemoryTerrain;
use rapier3d_f64::math::Vector as DVec3;
use rapier3d_f64::parry::query::{DefaultQueryDispatcher, QueryDispatcher, ShapeCastOptions};
use rapier3d_f64::parry::shape::HeightField;
use rapier3d_f64::prelude::*;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// 512 × 512 cells: 524,288 triangles.
const SIDE: usize = 513;
const TILE: usize = 32;

fn height(x: i32, z: i32) -> f64 {
    let wave = |v: i32, period: i32| {
        let t = v.rem_euclid(period);
        f64::from(t.min(period - t)) / f64::from(period)
    };
    // On quanta, so that both have the same surface.
    ((20.0 * wave(x, 131) + 16.0 * wave(z, 173) + 3.0 * wave(x + 2 * z, 29)) * 128.0).floor() / 128.0
}

fn terrain() -> TerrainShape {
    let ground =
        MemoryTerrain::from_fn([SIDE as u32, SIDE as u32], BlockSide::S32, |_| {}, height).ground_all();
    TerrainShape::new(SharedGround::new(Arc::new(ground)))
}

/// A height field of `n` × `n` cells from (x0, z0), and its place. Its diagonals are turned to ours.
fn field(x0: usize, z0: usize, n: usize) -> (SharedShape, Pose) {
    let mut heights = Array2::repeat(n + 1, n + 1, 0.0);
    for z in 0..=n {
        for x in 0..=n {
            heights[(z, x)] = height((x0 + x) as i32, (z0 + z) as i32);
        }
    }
    let size = n as f64;
    let mut field =
        HeightField::with_flags(heights, DVec3::new(size, 1.0, size), HeightFieldFlags::FIX_INTERNAL_EDGES);
    field.cells_statuses_mut().data_mut().fill(HeightFieldCellStatus::ZIGZAG_SUBDIVISION);
    let at = DVec3::new(x0 as f64 + size / 2.0, 0.0, z0 as f64 + size / 2.0);
    (SharedShape::new(field), Pose::from_translation(at))
}

fn tiles() -> Vec<(SharedShape, Pose)> {
    let starts = || (0..SIDE - 1).step_by(TILE);
    starts().flat_map(|z| starts().map(move |x| field(x, z, TILE))).collect()
}

struct Random(u64);

impl Random {
    fn number(&mut self, lo: f64, hi: f64) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        lo + (hi - lo) * (z >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A cast of 5 m from a little above the ground.
fn casts() -> Vec<(Pose, DVec3)> {
    let mut r = Random(3);
    (0..4000)
        .map(|_| {
            let (x, z) = (r.number(10.0, 500.0), r.number(10.0, 500.0));
            let y = height(x as i32, z as i32) + r.number(3.0, 5.0);
            let way = DVec3::new(r.number(-1.0, 1.0), r.number(-1.0, -0.1), r.number(-1.0, 1.0)).normalize();
            (Pose::translation(x, y, z), way * 5.0)
        })
        .collect()
}

type Shapes = Vec<(SharedShape, Pose)>;

fn cast_field(fields: &Shapes, pose: &Pose, way: DVec3, shape: &dyn Shape) -> Option<f64> {
    let options = ShapeCastOptions::with_max_time_of_impact(1.0);
    let start = shape.compute_aabb(pose);
    let swept = start.merged(&Aabb::new(start.mins + way, start.maxs + way));
    let mut best: Option<f64> = None;
    for (field, at) in fields {
        if fields.len() > 1 && !field.compute_aabb(at).intersects(&swept) {
            continue;
        }
        let hit = DefaultQueryDispatcher
            .cast_shapes(&at.inv_mul(pose), way, field.as_ref(), shape, options)
            .expect("a known pair");
        if let Some(hit) = hit {
            best = Some(best.map_or(hit.time_of_impact, |b| b.min(hit.time_of_impact)));
        }
    }
    best
}

fn cast_ours(terrain: &TerrainShape, pose: &Pose, way: DVec3, shape: &dyn Shape) -> Option<f64> {
    let options = ShapeCastOptions::with_max_time_of_impact(1.0);
    let hit = TerrainDispatcher.cast_shapes(pose, way, terrain, shape, options).expect("a known pair");
    hit.map(|h| h.time_of_impact)
}

/// Every triangle near the way, one by one.
fn cast_all(terrain: &TerrainShape, pose: &Pose, way: DVec3, shape: &dyn Shape) -> Option<f64> {
    let ground = terrain.ground();
    let start = shape.compute_aabb(pose);
    let swept = start.merged(&Aabb::new(start.mins + way, start.maxs + way)).loosened(1.0);
    let cells = ground.cells_meeting(swept.mins.x, swept.mins.z, swept.maxs.x, swept.maxs.z);
    let mut best: Option<f64> = None;
    let options = ShapeCastOptions::with_max_time_of_impact(1.0);
    ground.visit_triangles(cells, f64::MIN, f64::MAX, |_, tri| {
        let [a, b, c] = tri.vertices;
        let t = Triangle::new(a, b, c);
        if let Ok(Some(hit)) = DefaultQueryDispatcher.cast_shapes(pose, way, &t, shape, options) {
            best = Some(best.map_or(hit.time_of_impact, |b| b.min(hit.time_of_impact)));
        }
        std::ops::ControlFlow::Continue(())
    });
    best
}

fn wrong(found: Option<f64>, expected: Option<f64>) -> bool {
    match (found, expected) {
        (Some(a), Some(b)) => (a - b).abs() > 1e-4,
        (None, None) => false,
        (Some(t), None) | (None, Some(t)) => t < 1.0 - 1e-4,
    }
}

/// Seconds for one pass over the casts: the best of three.
fn timed(f: impl Fn(&Pose, DVec3) -> Option<f64>, casts: &[(Pose, DVec3)]) -> f64 {
    let pass = || {
        let start = Instant::now();
        for (pose, way) in casts {
            let _ = black_box(f(pose, *way));
        }
        start.elapsed().as_secs_f64()
    };
    (0..3).map(|_| pass()).fold(f64::MAX, f64::min)
}

fn shape_casts(c: &mut Criterion) {
    let (terrain, whole, tiled) = (terrain(), vec![field(0, 0, SIDE - 1)], tiles());
    let shapes = [
        ("ball", SharedShape::ball(0.3)),
        ("capsule", SharedShape::capsule_y(0.54, 0.34)),
        ("box", SharedShape::cuboid(0.4, 0.3, 0.5)),
    ];
    let casts = casts();
    let mut group = c.benchmark_group("shape casts of 5 m");
    group.sample_size(10).measurement_time(Duration::from_secs(2));
    for (name, shape) in &shapes {
        let shape = shape.as_ref();
        let (mut late, mut count) = ([0; 3], 0);
        for (pose, way) in casts.iter().take(500) {
            let expected = cast_all(&terrain, pose, *way, shape);
            count += 1;
            late[0] += usize::from(wrong(cast_ours(&terrain, pose, *way, shape), expected));
            late[1] += usize::from(wrong(cast_field(&whole, pose, *way, shape), expected));
            late[2] += usize::from(wrong(cast_field(&tiled, pose, *way, shape), expected));
        }
        assert_eq!(late[0], 0, "ours must all be right");
        let ours = timed(|p, w| cast_ours(&terrain, p, w, shape), &casts);
        let one = timed(|p, w| cast_field(&whole, p, w, shape), &casts);
        let many = timed(|p, w| cast_field(&tiled, p, w, shape), &casts);
        let rate = casts.len() as f64 / ours / 1e3;
        println!(
            "{name}: {rate:.0} k/s, {:.2} × one height field, {:.2} × tiles (walked by box); wrong of {count}: ours {}, one {}, tiles {}",
            one / ours,
            many / ours,
            late[0],
            late[1],
            late[2]
        );
        group.bench_function(format!("{name}, ours"), |b| {
            b.iter(|| casts.iter().take(100).filter_map(|(p, w)| cast_ours(&terrain, p, *w, shape)).count());
        });
        group.bench_function(format!("{name}, one height field"), |b| {
            b.iter(|| casts.iter().take(100).filter_map(|(p, w)| cast_field(&whole, p, *w, shape)).count());
        });
    }
    group.finish();
}

fn world(fields: Option<Shapes>) -> PhysicsWorld {
    let mut world = PhysicsWorld::default();
    world.integration_parameters.dt = 1.0 / 60.0;
    match fields {
        None => {
            world.narrow_phase =
                NarrowPhase::with_query_dispatcher(TerrainDispatcher.chain(DefaultQueryDispatcher));
            let p = &mut world.integration_parameters;
            p.normalized_contact_recycle_distance = p.normalized_allowed_linear_error;
            world.colliders.insert(ColliderBuilder::new(SharedShape::new(terrain())).friction(0.8));
        }
        Some(fields) => {
            for (shape, at) in fields {
                world.colliders.insert(ColliderBuilder::new(shape).position(at).friction(0.8));
            }
        }
    }
    let mut r = Random(11);
    for i in 0..1000 {
        let (x, z) = (8.0 + 15.6 * f64::from(i % 32), 8.0 + 15.6 * f64::from(i / 32));
        let y = height(x as i32, z as i32) + 1.2;
        let body = RigidBodyBuilder::dynamic()
            .translation(DVec3::new(x, y, z))
            .angvel(DVec3::new(r.number(-1.0, 1.0), 0.0, r.number(-1.0, 1.0)))
            .can_sleep(false);
        let shape = match i % 3 {
            0 => ColliderBuilder::ball(0.4),
            1 => ColliderBuilder::cuboid(0.4, 0.3, 0.5),
            _ => ColliderBuilder::capsule_y(0.4, 0.3),
        };
        let body = world.bodies.insert(body);
        world.colliders.insert_with_parent(shape.density(200.0), body, &mut world.bodies);
    }
    world
}

fn step_seconds(world: &mut PhysicsWorld) -> f64 {
    let start = Instant::now();
    world.step();
    start.elapsed().as_secs_f64()
}

/// The first step, and the median of steps 60 to 120.
fn first_and_median(world: &mut PhysicsWorld) -> (f64, f64) {
    let first = step_seconds(world);
    let mut later: Vec<f64> = (1..=120).map(|_| step_seconds(world)).skip(59).collect();
    later.sort_by(f64::total_cmp);
    (first, later[later.len() / 2])
}

fn steps(c: &mut Criterion) {
    // Threads and allocator are warm after this one.
    first_and_median(&mut world(None));
    // The best of three fresh worlds each: a step that the machine interrupted is not its own.
    let best = |make: &dyn Fn() -> PhysicsWorld| {
        let runs: Vec<_> = (0..3).map(|_| first_and_median(&mut make())).collect();
        let least = |f: fn(&(f64, f64)) -> f64| runs.iter().map(f).fold(f64::MAX, f64::min);
        (least(|r| r.0), least(|r| r.1))
    };
    let (first, median) = best(&|| world(None));
    let (one_first, one_median) = best(&|| world(Some(vec![field(0, 0, SIDE - 1)])));
    let (many_first, many_median) = best(&|| world(Some(tiles())));
    println!("1,000 bodies, none asleep, over {} triangles:", 2 * (SIDE - 1) * (SIDE - 1));
    for (name, first, m) in [
        ("ours", first, median),
        ("one height field", one_first, one_median),
        ("height fields of 32 × 32", many_first, many_median),
    ] {
        println!(
            "  {name}: first step {:.2} ms, median of steps 60–120 {:.2} ms: {:.2} ×; of ours {:.2} ×",
            first * 1e3,
            m * 1e3,
            first / m,
            m / median
        );
    }
    let settled = |fields| {
        let mut world = world(fields);
        first_and_median(&mut world);
        world
    };
    let (mut ours, mut one) = (settled(None), settled(Some(vec![field(0, 0, SIDE - 1)])));
    let mut many = settled(Some(tiles()));
    let mut group = c.benchmark_group("step of 1,000 bodies");
    group.sample_size(10).measurement_time(Duration::from_secs(3));
    group.bench_function("ours", |b| b.iter(|| ours.step()));
    group.bench_function("one height field", |b| b.iter(|| one.step()));
    group.bench_function("height fields of 32 × 32", |b| b.iter(|| many.step()));
    group.finish();
}

criterion_group!(benches, shape_casts, steps);
criterion_main!(benches);
