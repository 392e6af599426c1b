//! Height queries: batches at random places of a large map against vertical rays on parry's HeightField (single
//! precision, as its users have it), and a warm single query against a plain bilinear read of a flat array.
//!
//! `HIGHGROUND_BENCH_SIDE` (cells, 8192) shrinks the map. Every answer is checked against the peer's before timing.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use highground_terrain::config::{Diagonal, TerrainConfig};
use highground_terrain::coord::{BlockPos, BlockSide};
use highground_terrain::store::{BlockError, BlockSource};
use highground_terrain::surface::{Answer, Block, Ground};
use parry3d::math::Vector;
use parry3d::query::{Ray, RayCast};
use parry3d::shape::HeightField;
use parry3d::utils::Array2;
use std::hint::black_box;

const POINTS: usize = 1 << 16;
const QUANTUM_M: f64 = 1.0 / 128.0;

/// Hills of tens of metres in whole quanta, so that both peers stand on the same ground.
fn quanta(x: usize, z: usize) -> i32 {
    let tent = |v: usize, n: usize| (v % n).abs_diff(n / 2) as i32;
    (tent(x, 194) + tent(z, 142)) * 40 + (tent(x + z, 62) + tent(x * 3 + z, 86)) * 31
}

/// The map as a source of blocks that are made when they are asked for.
struct Hills {
    config: TerrainConfig,
}

impl BlockSource for Hills {
    fn config(&self) -> &TerrainConfig {
        &self.config
    }

    fn block_side(&self) -> BlockSide {
        BlockSide::S128
    }

    fn digest(&self) -> [u8; 32] {
        [0; 32]
    }

    fn height_range(&self) -> Option<(i32, i32)> {
        None
    }

    fn read_block(&self, pos: BlockPos) -> Result<Block, BlockError> {
        let n = 128;
        let [w, h] = self.config.samples.map(|n| n as usize);
        let cell = |i: usize| (pos.x as usize * n + i % n, pos.z as usize * n + i / n);
        let heights = (0..n * n).map(cell).map(|(x, z)| if x < w && z < h { quanta(x, z) } else { i32::MIN });
        let mask = (0..n * n).map(cell).map(|(x, z)| if x + 1 < w && z + 1 < h { 3 } else { 0 });
        Ok(Block::new(pos, BlockSide::S128, heights.collect(), mask.collect(), None))
    }
}

/// Positions all over the map in no order.
fn points(side: usize, count: usize) -> Vec<[f64; 2]> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1u64 << 24) as f64 * side as f64
    };
    (0..count).map(|_| [next(), next()]).collect()
}

fn bilinear(flat: &[f32], width: usize, x: f64, z: f64) -> f64 {
    let (i, j) = (x as usize, z as usize);
    let (fx, fz) = (x - i as f64, z - j as f64);
    let at = |i: usize, j: usize| f64::from(flat[j * width + i]);
    let (a, b) = (at(i, j), at(i + 1, j));
    let (c, d) = (at(i, j + 1), at(i + 1, j + 1));
    let (near, far) = (a + (b - a) * fx, c + (d - c) * fx);
    near + (far - near) * fz
}

fn benches(c: &mut Criterion) {
    let side = std::env::var("HIGHGROUND_BENCH_SIDE").ok().and_then(|v| v.parse().ok()).unwrap_or(8192usize);
    let mut config = TerrainConfig::new([side as u32 + 1; 2], 256);
    // Parry's rows run along z and its cells are split like Anti.
    config.diagonal = Diagonal::Anti;
    let ground = Ground::all_of(&Hills { config }).expect("hills can be made");
    let mut heights = Array2::repeat(side + 1, side + 1, 0.0f32);
    let mut flat = vec![0.0f32; (side + 1) * (side + 1)];
    for x in 0..=side {
        for z in 0..=side {
            heights[(z, x)] = quanta(x, z) as f32 / 128.0;
            flat[z * (side + 1) + x] = quanta(x, z) as f32 / 128.0;
        }
    }
    let field = HeightField::new(heights, Vector::new(side as f32, 1.0, side as f32));
    let middle = side as f32 / 2.0;
    let down = |x: f64, z: f64| {
        let start = Vector::new(x as f32 - middle, 1000.0, z as f32 - middle);
        field.cast_local_ray(&Ray::new(start, Vector::new(0.0, -1.0, 0.0)), 2000.0, true)
    };
    let points = points(side, POINTS);
    for &[x, z] in points.iter().take(20_000) {
        let ours = ground.height(x, z).expect("a position").valid().expect("ground");
        // Parry's positions are rounded to single precision; slopes are below 2.
        assert!(down(x, z).is_none_or(|t| (1000.0 - f64::from(t) - ours).abs() < 0.01));
        assert!((bilinear(&flat, side + 1, x, z) - ours).abs() < 2.0 + QUANTUM_M);
    }
    batches(c, &ground, &points, &down);
    warm(c, &ground, &flat, side + 1);
}

fn batches(c: &mut Criterion, ground: &Ground, points: &[[f64; 2]], down: &dyn Fn(f64, f64) -> Option<f32>) {
    let mut group = c.benchmark_group("random heights all over the map");
    group.throughput(Throughput::Elements(points.len() as u64)).sample_size(20);
    let mut out = vec![Ok(Answer::Outside); points.len()];
    group.bench_function("highground, a batch", |b| {
        b.iter(|| {
            ground.heights(points, &mut out);
            black_box(out[0])
        });
    });
    group.bench_function("highground, one by one", |b| {
        b.iter(|| {
            for &[x, z] in points {
                let _ = black_box(ground.height(x, z));
            }
        });
    });
    group.bench_function("parry HeightField, vertical rays", |b| {
        b.iter(|| {
            for &[x, z] in points {
                black_box(down(x, z));
            }
        });
    });
    group.finish();
}

/// Places within 60 m: everything is in the first cache.
fn warm(c: &mut Criterion, ground: &Ground, flat: &[f32], width: usize) {
    let places: Vec<[f64; 2]> = points(60, 1024).iter().map(|p| [p[0] + 100.0, p[1] + 100.0]).collect();
    let mut group = c.benchmark_group("a warm height");
    group.throughput(Throughput::Elements(places.len() as u64));
    group.bench_function("highground", |b| {
        b.iter(|| places.iter().filter_map(|p| ground.height(p[0], p[1]).ok()?.valid()).sum::<f64>());
    });
    group.bench_function("bilinear read of a flat array", |b| {
        b.iter(|| places.iter().map(|p| bilinear(flat, width, p[0], p[1])).sum::<f64>());
    });
    group.finish();
}

criterion_group!(query_benches, benches);
criterion_main!(query_benches);
