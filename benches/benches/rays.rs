//! Rays against parry's HeightField in single precision, as its users have it: one field, and tiles of 128² cells under a
//! bounding volume hierarchy as Rapier keeps colliders. The same ground and the same rays in one run.
//!
//! Ground: ten octaves of value noise, 1 m between samples, 1/64 m heights. Rays from places all over the map: vertical,
//! 30° down over 100 m, and within 2° of level over 2 km. Answers are checked against a plain search of the cells along
//! a sample of the rays. `HIGHGROUND_BENCH_SIDE` (cells, 4096) and `HIGHGROUND_BENCH_RAYS` (in thousands, 1000) shrink it.
//!
//! It prints rates, ratios, bytes a cell and wrong answers; the timings that criterion keeps are of small batches.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use glam::DVec3;
use highground_benches::noise::{QUANTUM_M, Random, TILE, Tiles, World, from_environment, rate};
use highground_terrain::collide::{Faces, GroundRay, RayAnswer};
use parry3d::math::Vector;
use parry3d::query::{Ray, RayCast};
use parry3d::shape::{CompositeShapeRef, HeightField};
use std::hint::black_box;

/// Rays that are cast together.
const BATCH: usize = 256;
const LEVEL_M: f64 = 2000.0;
const SLANT_M: f64 = 100.0;

/// A workload: starts, unit directions and one length.
struct Rays {
    name: &'static str,
    rays: Vec<(DVec3, DVec3)>,
    max: f64,
    sample: usize,
}

fn workloads(world: &World, thousands: usize) -> [Rays; 3] {
    let mut random = Random(7);
    let side = world.side as f64;
    let start = |random: &mut Random, low: f64, high: f64| {
        let (x, z) = (random.between(0.0, side), random.between(0.0, side));
        let ground = world.ground.point(x, z).expect("a position").height().expect("ground everywhere");
        DVec3::new(x, ground + random.between(low, high), z)
    };
    let slanted = |random: &mut Random, degrees: f64| {
        let turn = random.between(0.0, std::f64::consts::TAU);
        let down = degrees.to_radians();
        DVec3::new(libm::cos(turn) * libm::cos(down), -libm::sin(down), libm::sin(turn) * libm::cos(down))
    };
    let n = thousands * 1000;
    let vertical = (0..n).map(|_| (start(&mut random, 5.0, 100.0), DVec3::NEG_Y)).collect();
    let oblique = (0..n).map(|_| (start(&mut random, 0.0, 55.0), slanted(&mut random, 30.0))).collect();
    let grazing = (0..n / 5)
        .map(|_| {
            let degrees = random.between(-2.0, 2.0);
            (start(&mut random, 1.0, 120.0), slanted(&mut random, degrees))
        })
        .collect();
    [
        Rays { name: "vertical", rays: vertical, max: 1000.0, sample: 20_000 },
        Rays { name: "oblique", rays: oblique, max: SLANT_M, sample: 4000 },
        Rays { name: "grazing", rays: grazing, max: LEVEL_M, sample: 1000 },
    ]
}

fn single(v: DVec3) -> Vector {
    Vector::new(v.x as f32, v.y as f32, v.z as f32)
}

/// Casts rays of one length and adds up what they find: t, or infinity where nothing is hit.
type Cast<'a> = Box<dyn Fn(&[(DVec3, DVec3)], f64, &mut Vec<f64>) + 'a>;

fn t_of(answer: &RayAnswer) -> f64 {
    match answer {
        RayAnswer::Hit(hit) => hit.t,
        _ => f64::INFINITY,
    }
}

fn peers<'a>(world: &'a World, one: &'a HeightField, tiles: &'a Tiles) -> [(&'static str, Cast<'a>); 4] {
    let middle = Vector::new(world.side as f32 / 2.0, 0.0, world.side as f32 / 2.0);
    [
        (
            "highground, batches",
            Box::new(|rays, max, out| {
                let mut lattice = Vec::with_capacity(BATCH);
                let mut answers = [RayAnswer::Miss; BATCH];
                for rays in rays.chunks(BATCH) {
                    lattice.clear();
                    lattice.extend(rays.iter().map(|&(a, d)| GroundRay::new(a, d, max).expect("a ray")));
                    world.ground.first_hits(&lattice, Faces::Both, &mut answers[..rays.len()]);
                    out.extend(answers[..rays.len()].iter().map(t_of));
                }
            }),
        ),
        (
            "highground, one by one",
            Box::new(|rays, max, out| {
                out.extend(rays.iter().map(|&(a, d)| {
                    let ray = GroundRay::new(a, d, max).expect("a ray");
                    t_of(&world.ground.first_hit(&ray, Faces::Both))
                }));
            }),
        ),
        (
            "parry, one field",
            Box::new(move |rays, max, out| {
                out.extend(rays.iter().map(|&(start, dir)| {
                    let ray = Ray::new(single(start) - middle, single(dir));
                    one.cast_local_ray(&ray, max as f32, true).map_or(f64::INFINITY, f64::from)
                }));
            }),
        ),
        (
            "parry, tiles",
            Box::new(|rays, max, out| {
                out.extend(rays.iter().map(|&(start, dir)| {
                    let ray = Ray::new(single(start), single(dir));
                    let hit = CompositeShapeRef(tiles).cast_local_ray(&ray, max as f32, true);
                    hit.map_or(f64::INFINITY, |(_, t)| f64::from(t))
                }));
            }),
        ),
    ]
}

/// How many of a sample are hit where the search misses, missed where it hits, or off by more than 1 cm (in single
/// precision 5 cm).
fn wrong(rays: &Rays, expected: &[Option<f64>], cast: &Cast<'_>, exact: bool) -> usize {
    let close = if exact { 0.01 } else { 0.05 };
    let mut found = Vec::new();
    cast(&rays.rays[..expected.len()], rays.max, &mut found);
    let is_wrong = |(found, expected): &(&f64, &Option<f64>)| {
        let expected = expected.map_or(f64::INFINITY, |e| e * rays.max);
        // What is touched only at the very end may fall short of it.
        let at_the_end = found.min(expected) > rays.max - close;
        let same = **found == expected || (**found - expected).abs() <= close;
        if exact && !same && !at_the_end {
            eprintln!("{}: found {found}, expected {expected}", rays.name);
        }
        !same && !at_the_end
    };
    found.iter().zip(expected).filter(is_wrong).count()
}

fn table(world: &World, peers: &[(&'static str, Cast<'_>); 4], workloads: &[Rays; 3]) {
    println!("millions of rays a second on one thread; wrong answers of a sample in brackets");
    for rays in workloads {
        let expected: Vec<Option<f64>> =
            rays.rays.iter().take(rays.sample).map(|&(a, d)| world.search(a, a + d * rays.max)).collect();
        let hits = expected.iter().flatten().count() * 100 / expected.len().max(1);
        print!("{:>9} ({hits} % hit):", rays.name);
        let mut rates = Vec::new();
        for (i, (name, cast)) in peers.iter().enumerate() {
            // The slow ones are timed on fewer.
            let count =
                if i == 0 { rays.rays.len() } else { rays.rays.len().min(rays.rays.len() / 10 + 2000) };
            let mut out = Vec::with_capacity(count);
            let rate = rate(count, || {
                out.clear();
                cast(&rays.rays[..count], rays.max, &mut out);
                out[count / 2]
            });
            let wrong = wrong(rays, &expected, cast, i < 2);
            print!("  {name} {rate:.3} [{wrong}/{}]", expected.len());
            rates.push(rate);
        }
        println!();
        for (name, rate) in ["batches", "one by one"].iter().zip(&rates) {
            println!("{name:>40}: {:.1} × one field, {:.1} × tiles", rate / rates[2], rate / rates[3]);
        }
    }
    let cells = (world.side * world.side) as f64;
    println!("bytes a cell: highground {:.3}", world.ground.resident_bytes() as f64 / cells);
}

fn benches(c: &mut Criterion) {
    let side = from_environment("HIGHGROUND_BENCH_SIDE", 4096) / TILE * TILE;
    let world = World::new(side);
    let mut slopes: Vec<f64> = (0..40_000)
        .map(|i: usize| {
            let (x, z) = (i * 7919 % side, i * 104_729 % side);
            let (dx, dz) =
                (world.quanta(x + 1, z) - world.quanta(x, z), world.quanta(x, z + 1) - world.quanta(x, z));
            libm::atan(libm::hypot(dx, dz) * QUANTUM_M).to_degrees()
        })
        .collect();
    slopes.sort_by(f64::total_cmp);
    println!("{side}x{side} cells, median slope {:.1} degrees", slopes[slopes.len() / 2]);
    let workloads = workloads(&world, from_environment("HIGHGROUND_BENCH_RAYS", 1000));
    let (one, tiles) = (world.one_field(), Tiles::of(&world));
    let peers = peers(&world, &one, &tiles);
    table(&world, &peers, &workloads);
    for rays in &workloads {
        let few = &rays.rays[..rays.rays.len().min(1024)];
        let mut group = c.benchmark_group(format!("{} rays", rays.name));
        group.sample_size(10).throughput(Throughput::Elements(few.len() as u64));
        for (name, cast) in &peers {
            let mut out = Vec::with_capacity(few.len());
            group.bench_function(*name, |b| {
                b.iter(|| {
                    out.clear();
                    cast(few, rays.max, &mut out);
                    black_box(out[0])
                });
            });
        }
        group.finish();
    }
}

criterion_group!(ray_benches, benches);
criterion_main!(ray_benches);
