//! Capsule casts over 5 m: ours against parry's HeightField in single precision, as its users have it: one field, and tiles
//! of 128² cells under a bounding volume hierarchy as Rapier keeps colliders. The same ground and casts in one run.
//!
//! Ground and goals are those of the rays. The answers of a sample are held against a search: every triangle near the way,
//! its distance to the capsule's axis by parry's closest points in double precision, minimised and bisected along the
//! way. A hit of ours that is late or early by more than a tenth of a millimetre, missed or made up ends the run; parry's
//! are counted. `HIGHGROUND_BENCH_SIDE` (cells, 4096) and `HIGHGROUND_BENCH_CASTS` (10,000) shrink it.

use criterion::{Criterion, criterion_group, criterion_main};
use glam::DVec3;
use highground_benches::noise::{QUANTUM_M, Random, TILE, Tiles, World, from_environment, rate};
use highground_terrain::collide::cast::{Cast, Convex, cast};
use highground_terrain::parry::math::Pose;
use parry3d::math::{Pose as SinglePose, Vector};
use parry3d::query::{DefaultQueryDispatcher, ShapeCastOptions, cast_shapes};
use parry3d::shape::{Capsule, CompositeShapeRef, HeightField};
use parry3d_f64::query::closest_points::ClosestPoints;
use parry3d_f64::shape::{Segment, Triangle};
use std::hint::black_box;

const HALF_M: f64 = 0.54;
const RADIUS_M: f64 = 0.34;
const WAY_M: f64 = 5.0;
/// How many answers are searched for.
const SAMPLE: usize = 2000;
/// A tenth of a millimetre, and a centimetre for single precision.
const CLOSE_M: f64 = 1e-4;
const CLOSE_SINGLE_M: f64 = 0.01;

/// Starts and ways.
type Casts = [(DVec3, DVec3)];

/// Capsules that start above the ground and move 5 m in any direction, most of them down.
fn casts(world: &World, count: usize) -> Vec<(DVec3, DVec3)> {
    let mut random = Random(11);
    let side = world.side as f64;
    let mut out = Vec::new();
    while out.len() < count {
        let (x, z) = (random.between(8.0, side - 8.0), random.between(8.0, side - 8.0));
        let ground = world.ground.height(x, z).expect("a position").valid().expect("ground everywhere");
        let start = DVec3::new(x, ground + random.between(HALF_M + RADIUS_M, 5.0), z);
        let way = DVec3::new(random.between(-0.5, 0.5), random.between(-0.8, 0.2), random.between(-0.5, 0.5));
        // Nothing that overlaps the ground at the start: what that means is everybody's own.
        if near(world, start, DVec3::ZERO).iter().all(|t| distance(t, start) > RADIUS_M + 1e-3) {
            out.push((start, way.normalize() * WAY_M));
        }
    }
    out
}

/// The triangles of every cell near a way, out of the plain samples.
fn near(world: &World, start: DVec3, way: DVec3) -> Vec<Triangle> {
    let end = start + way;
    let range = |a: f64, b: f64| (a.min(b) - 1.5).floor() as usize..=(a.max(b) + 1.5).floor() as usize;
    let v = |x: usize, z: usize| DVec3::new(x as f64, world.quanta(x, z) * QUANTUM_M, z as f64);
    let mut out = Vec::new();
    for z in range(start.z, end.z) {
        for x in range(start.x, end.x) {
            out.push(Triangle::new(v(x, z), v(x, z + 1), v(x + 1, z)));
            out.push(Triangle::new(v(x + 1, z), v(x, z + 1), v(x + 1, z + 1)));
        }
    }
    out
}

fn distance(triangle: &Triangle, middle: DVec3) -> f64 {
    let up = DVec3::new(0.0, HALF_M, 0.0);
    let segment = Segment::new(-up, up);
    let at = Pose::from_translation(middle);
    let points = parry3d_f64::query::details::closest_points_support_map_support_map(
        &at,
        triangle,
        &segment,
        f64::MAX,
    );
    match points {
        ClosestPoints::WithinMargin(a, b) => (at * b - a).length(),
        _ => 0.0,
    }
}

/// The metres to the first contact: the distance to a triangle is a convex function of the way, so its least value is
/// closed in on by thirds, and the contact before it by halves.
fn search(world: &World, start: DVec3, way: DVec3) -> f64 {
    let mut best = f64::INFINITY;
    for triangle in near(world, start, way) {
        let at = |t: f64| distance(&triangle, start + way * t) - RADIUS_M;
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
            if at(a) <= 0.0 {
                high = a;
                low = 0.0;
                break;
            }
            if at(a) < at(b) { high = b } else { low = a }
        }
        if at(high) > 0.0 {
            continue;
        }
        if low > 0.0 && at(low) <= 0.0 {
            high = low;
        }
        low = 0.0;
        for _ in 0..40 {
            let middle = (low + high) / 2.0;
            if at(middle) <= 0.0 { high = middle } else { low = middle }
        }
        best = best.min(high * WAY_M);
    }
    best
}

/// Casts and gives metres to the first contact, or infinity.
type Caster<'a> = Box<dyn Fn(DVec3, DVec3) -> f64 + 'a>;

fn single(v: DVec3) -> Vector {
    Vector::new(v.x as f32, v.y as f32, v.z as f32)
}

fn casters<'a>(world: &'a World, one: &'a HeightField, tiles: &'a Tiles) -> [(&'static str, Caster<'a>); 3] {
    let body = Convex::upright_capsule(HALF_M, RADIUS_M);
    let capsule = Capsule::new_y(HALF_M as f32, RADIUS_M as f32);
    let options = ShapeCastOptions::with_max_time_of_impact(1.0);
    let middle = Vector::new(world.side as f32 / 2.0, 0.0, world.side as f32 / 2.0);
    let metres = |t: f32| f64::from(t) * WAY_M;
    [
        (
            "highground",
            Box::new(move |start, way| {
                match cast(&world.ground, &body, &Pose::from_translation(start), way) {
                    Cast::Hit(hit) => hit.fraction * WAY_M,
                    _ => f64::INFINITY,
                }
            }),
        ),
        (
            "parry, one field",
            Box::new(move |start, way| {
                let pose = SinglePose::from_translation(single(start) - middle);
                let still = SinglePose::IDENTITY;
                let hit = cast_shapes(&still, Vector::ZERO, one, &pose, single(way), &capsule, options);
                hit.expect("supported").map_or(f64::INFINITY, |hit| metres(hit.time_of_impact))
            }),
        ),
        (
            "parry, tiles",
            Box::new(move |start, way| {
                let pose = SinglePose::from_translation(single(start));
                let tiles = CompositeShapeRef(tiles);
                let hit = tiles.cast_shape(&DefaultQueryDispatcher, &pose, single(way), &capsule, options);
                hit.map_or(f64::INFINITY, |(_, hit)| metres(hit.time_of_impact))
            }),
        ),
    ]
}

/// How many of a sample are late or missed, and how many are early or made up.
fn wrong(casts: &Casts, expected: &[f64], caster: &Caster<'_>, close: f64) -> [usize; 2] {
    let mut wrong = [0; 2];
    for (&(start, way), &expected) in casts.iter().zip(expected) {
        let found = caster(start, way);
        // What is touched only at the very end may fall short of it.
        if found == expected || found.min(expected) > WAY_M - close {
            continue;
        }
        wrong[0] += usize::from(found > expected + close);
        wrong[1] += usize::from(found < expected - close);
    }
    wrong
}

fn benches(_: &mut Criterion) {
    let side = from_environment("HIGHGROUND_BENCH_SIDE", 4096) / TILE * TILE;
    let world = World::new(side);
    let (one, tiles) = (world.one_field(), Tiles::of(&world));
    let casts = casts(&world, from_environment("HIGHGROUND_BENCH_CASTS", 10_000));
    let sample = &casts[..casts.len().min(SAMPLE)];
    let expected: Vec<f64> = sample.iter().map(|&(a, d)| search(&world, a, d)).collect();
    let hits = expected.iter().filter(|t| t.is_finite()).count();
    println!("capsule casts over {WAY_M} m on {side}x{side} cells, {hits} of {} hit", expected.len());
    let mut rates = Vec::new();
    for (i, (name, caster)) in casters(&world, &one, &tiles).iter().enumerate() {
        let rate = rate(casts.len(), || black_box(casts.iter().map(|&(a, d)| caster(a, d).min(9.0)).sum()));
        let [late, early] = wrong(sample, &expected, caster, if i == 0 { CLOSE_M } else { CLOSE_SINGLE_M });
        println!("{name:>20}: {:.2} µs, {late} late or missed, {early} early or made up", 1.0 / rate);
        assert!(i > 0 || late + early == 0, "a cast of ours is wrong");
        rates.push(rate);
    }
    println!("{:.1} × one field, {:.1} × tiles", rates[0] / rates[1], rates[0] / rates[2]);
}

criterion_group!(cast_benches, benches);
criterion_main!(cast_benches);
