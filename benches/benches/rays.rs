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
use highground_terrain::collide::{Faces, GroundRay, RayAnswer};
use highground_terrain::config::{Diagonal, TerrainConfig};
use highground_terrain::coord::{BlockPos, BlockSide};
use highground_terrain::store::Raster;
use highground_terrain::surface::{Block, Ground, Slot, Tile};
use parry3d::bounding_volume::BoundingVolume;
use parry3d::math::{Pose, Vector};
use parry3d::partitioning::{Bvh, BvhBuildStrategy};
use parry3d::query::details::NormalConstraints;
use parry3d::query::{Ray, RayCast};
use parry3d::shape::{CompositeShape, CompositeShapeRef, HeightField, Shape, TypedCompositeShape};
use parry3d::utils::Array2;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

const TILE: usize = 128;
const QUANTUM_M: f64 = 1.0 / 64.0;
/// Rays that are cast together.
const BATCH: usize = 256;
const LEVEL_M: f64 = 2000.0;
const SLANT_M: f64 = 100.0;

fn from_environment(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    fn between(&mut self, lo: f64, hi: f64) -> f64 {
        lo + (self.next() >> 11) as f64 / (1u64 << 53) as f64 * (hi - lo)
    }
}

fn mix(v: u64) -> u64 {
    let v = (v ^ (v >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let v = (v ^ (v >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    v ^ (v >> 31)
}

/// Ten octaves of smoothed value noise, in quanta of 1/64 m between 123 and 904 m; row-major, X fastest.
fn noise(samples: usize) -> Vec<i32> {
    let mut sum = vec![0.0f32; samples * samples];
    let lattice = |octave: u64, x: usize, z: usize| {
        (mix(octave << 48 | (x as u64) << 24 | z as u64) >> 40) as f32 / (1u64 << 24) as f32
    };
    let smooth = |t: f32| t * t * (3.0 - 2.0 * t);
    let mut amplitude = 1.0;
    for octave in 0..10u32 {
        let wave = 2048usize >> octave;
        for z in 0..samples {
            let (lz, tz) = (z / wave, smooth((z % wave) as f32 / wave as f32));
            let mut corners = [0.0; 4];
            for x in 0..samples {
                if x % wave == 0 {
                    let c = |dx: usize, dz: usize| lattice(u64::from(octave), x / wave + dx, lz + dz);
                    corners = [c(0, 0), c(1, 0), c(0, 1), c(1, 1)];
                }
                let tx = smooth((x % wave) as f32 / wave as f32);
                let [a, b, c, d] = corners;
                let (near, far) = (a + (b - a) * tx, c + (d - c) * tx);
                sum[z * samples + x] += amplitude * (near + (far - near) * tz);
            }
        }
        // Chosen for a median slope of 17 degrees.
        amplitude *= 0.41;
    }
    let (lo, hi) = sum.iter().fold((f32::MAX, f32::MIN), |(lo, hi), &v| (lo.min(v), hi.max(v)));
    let scale = (904.0 - 123.0) / (hi - lo);
    sum.iter().map(|v| (((v - lo) * scale + 123.0) * 64.0) as i32).collect()
}

/// The same samples for everybody.
struct World {
    side: usize,
    heights: Vec<i32>,
    ground: Ground,
    one: HeightField,
    tiles: Tiles,
}

/// Height fields under one hierarchy, as Rapier's broad phase has its colliders.
struct Tiles {
    bvh: Bvh,
    parts: Vec<(Pose, HeightField)>,
}

impl CompositeShape for Tiles {
    fn map_part_at(
        &self,
        id: u32,
        f: &mut dyn FnMut(Option<&Pose>, &dyn Shape, Option<&dyn NormalConstraints>),
    ) {
        let (pose, field) = &self.parts[id as usize];
        f(Some(pose), field, None);
    }

    fn bvh(&self) -> &Bvh {
        &self.bvh
    }
}

impl TypedCompositeShape for Tiles {
    type PartShape = dyn Shape;
    type PartNormalConstraints = ();

    fn map_typed_part_at<T>(
        &self,
        id: u32,
        mut f: impl FnMut(Option<&Pose>, &Self::PartShape, Option<&Self::PartNormalConstraints>) -> T,
    ) -> Option<T> {
        let (pose, field) = self.parts.get(id as usize)?;
        Some(f(Some(pose), field, None))
    }

    fn map_untyped_part_at<T>(
        &self,
        id: u32,
        mut f: impl FnMut(Option<&Pose>, &dyn Shape, Option<&dyn NormalConstraints>) -> T,
    ) -> Option<T> {
        let (pose, field) = self.parts.get(id as usize)?;
        Some(f(Some(pose), field, None))
    }
}

/// A field over a square of cells, its corner at its pose's origin less half its side: parry's rows run along z and its
/// cells are split like Anti.
fn field(heights: &[i32], samples: usize, x0: usize, z0: usize, cells: usize) -> HeightField {
    let mut values = Array2::repeat(cells + 1, cells + 1, 0.0f32);
    for z in 0..=cells {
        for x in 0..=cells {
            values[(z, x)] = heights[(z0 + z) * samples + x0 + x] as f32 / 64.0;
        }
    }
    HeightField::new(values, Vector::new(cells as f32, 1.0, cells as f32))
}

fn ground_of(heights: &[i32], samples: usize) -> Ground {
    let mut config = TerrainConfig::new([samples as u32; 2], 256);
    config.quantum = 6.try_into().expect("k up to 12");
    config.diagonal = Diagonal::Anti;
    let side = BlockSide::S128;
    let raster = Raster::from_heights(config, heights.to_vec());
    let [w, h] = config.blocks(side).map(|n| n as i32);
    let mut blocks: BTreeMap<BlockPos, Block> = BTreeMap::new();
    let mut changes = Vec::new();
    for z in 0..h {
        for row in z..h.min(z + 2) {
            for x in 0..w {
                let pos = BlockPos::new(x, row);
                blocks.entry(pos).or_insert_with(|| raster.block(side, pos));
            }
        }
        blocks.retain(|p, _| p.z >= z - 1);
        for x in 0..w {
            let pos = BlockPos::new(x, z);
            let tile = Tile::new(&config, &blocks[&pos], |p| blocks.get(&p));
            changes.push((pos, Slot::Resident(Arc::new(tile))));
        }
    }
    Ground::empty(&config, side).with_changes(&changes)
}

impl World {
    fn new(side: usize) -> Self {
        let samples = side + 1;
        let heights = noise(samples);
        let ground = ground_of(&heights, samples);
        let one = field(&heights, samples, 0, 0, side);
        let mut parts = Vec::new();
        for z in (0..side).step_by(TILE) {
            for x in (0..side).step_by(TILE) {
                let middle = Vector::new((x + TILE / 2) as f32, 0.0, (z + TILE / 2) as f32);
                parts.push((Pose::from_translation(middle), field(&heights, samples, x, z, TILE)));
            }
        }
        // Rapier keeps the boxes of colliders grown by a skin.
        let boxes: Vec<_> = parts.iter().map(|(pose, f)| f.compute_aabb(pose).loosened(0.01)).collect();
        let tiles = Tiles { bvh: Bvh::from_leaves(BvhBuildStrategy::Binned, &boxes), parts };
        Self { side, heights, ground, one, tiles }
    }

    fn quanta(&self, x: usize, z: usize) -> f64 {
        f64::from(self.heights[z * (self.side + 1) + x])
    }

    /// The first hit along a segment by a search of all cells near it, in double precision.
    fn search(&self, a: DVec3, b: DVec3) -> Option<f64> {
        let d = b - a;
        let m = usize::from(d.z.abs() > d.x.abs()) * 2;
        let n = 2 - m;
        let last = self.side as i64 - 1;
        let range =
            |v: f64, w: f64| ((v.min(w).floor() as i64 - 1).max(0), (v.max(w).floor() as i64 + 1).min(last));
        let (first, end) = range(a[m], b[m]);
        let mut best: Option<f64> = None;
        for i in first..=end {
            let at = |edge: f64| {
                if d[m] == 0.0 {
                    [a[n], b[n]]
                } else {
                    [a[n] + d[n] * ((edge - a[m]) / d[m]).clamp(0.0, 1.0); 2]
                }
            };
            let ends = [at(i as f64), at(i as f64 + 1.0)].concat();
            let lo = ends.iter().copied().fold(f64::MAX, f64::min);
            let hi = ends.iter().copied().fold(f64::MIN, f64::max);
            let (from, to) = range(lo, hi);
            for j in from..=to {
                let (x, z) = if m == 0 { (i, j) } else { (j, i) };
                let v = |dx: i64, dz: i64| {
                    let (x, z) = (x + dx, z + dz);
                    DVec3::new(x as f64, self.quanta(x as usize, z as usize) * QUANTUM_M, z as f64)
                };
                for t in [[v(0, 0), v(0, 1), v(1, 0)], [v(1, 0), v(0, 1), v(1, 1)]] {
                    best = meets(&t, a, d).map(|t| best.map_or(t, |b| b.min(t))).or(best);
                }
            }
        }
        best
    }
}

/// Möller and Trumbore, "Fast, minimum storage ray/triangle intersection", 1997.
fn meets(v: &[DVec3; 3], a: DVec3, d: DVec3) -> Option<f64> {
    let (e1, e2) = (v[1] - v[0], v[2] - v[0]);
    let p = d.cross(e2);
    let det = e1.dot(p);
    if det == 0.0 {
        return None;
    }
    let s = a - v[0];
    let u = s.dot(p) / det;
    let q = s.cross(e1);
    let w = d.dot(q) / det;
    let t = e2.dot(q) / det;
    let in_it = u >= -1e-12 && w >= -1e-12 && u + w <= 1.0 + 1e-12;
    (in_it && (0.0..=1.0).contains(&t)).then_some(t)
}

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

/// Time that this thread has had on a processor where the system says so, which what else runs does not disturb; else
/// the time of day.
fn seconds() -> f64 {
    thread_local!(static START: Instant = Instant::now());
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    match text.split_whitespace().next().and_then(|n| n.parse::<f64>().ok()) {
        Some(nanoseconds) if nanoseconds > 0.0 => nanoseconds / 1e9,
        _ => START.with(|s| s.elapsed().as_secs_f64()),
    }
}

/// Millions a second: the best of a few runs.
fn rate(count: usize, mut run: impl FnMut() -> f64) -> f64 {
    (0..5)
        .map(|_| {
            let start = seconds();
            black_box(run());
            count as f64 / (seconds() - start).max(1e-4) / 1e6
        })
        .fold(0.0, f64::max)
}

/// Casts rays of one length and adds up what they find: t, or infinity where nothing is hit.
type Cast<'a> = Box<dyn Fn(&[(DVec3, DVec3)], f64, &mut Vec<f64>) + 'a>;

fn t_of(answer: &RayAnswer) -> f64 {
    match answer {
        RayAnswer::Hit(hit) => hit.t,
        _ => f64::INFINITY,
    }
}

fn peers(world: &World) -> [(&'static str, Cast<'_>); 4] {
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
                    world.one.cast_local_ray(&ray, max as f32, true).map_or(f64::INFINITY, f64::from)
                }));
            }),
        ),
        (
            "parry, tiles",
            Box::new(|rays, max, out| {
                out.extend(rays.iter().map(|&(start, dir)| {
                    let ray = Ray::new(single(start), single(dir));
                    let hit = CompositeShapeRef(&world.tiles).cast_local_ray(&ray, max as f32, true);
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

fn table(world: &World, workloads: &[Rays; 3]) {
    println!("millions of rays a second on one thread; wrong answers of a sample in brackets");
    for rays in workloads {
        let expected: Vec<Option<f64>> =
            rays.rays.iter().take(rays.sample).map(|&(a, d)| world.search(a, a + d * rays.max)).collect();
        let hits = expected.iter().flatten().count() * 100 / expected.len().max(1);
        print!("{:>9} ({hits} % hit):", rays.name);
        let mut rates = Vec::new();
        for (i, (name, cast)) in peers(world).iter().enumerate() {
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
    table(&world, &workloads);
    for rays in &workloads {
        let few = &rays.rays[..rays.rays.len().min(1024)];
        let mut group = c.benchmark_group(format!("{} rays", rays.name));
        group.sample_size(10).throughput(Throughput::Elements(few.len() as u64));
        for (name, cast) in &peers(&world) {
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
