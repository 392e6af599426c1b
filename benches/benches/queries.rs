//! Height queries against parry's HeightField, on the same ground in the same run.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use highground_terrain::coord::BlockSide;
use highground_terrain::parry::math::Vector;
use highground_terrain::parry::query::{Ray, RayCast};
use highground_terrain::parry::shape::HeightField;
use highground_terrain::parry::utils::Array2;
use highground_terrain::store::MemoryTerrain;
use std::hint::black_box;

const SIDE: u32 = 1025;
const POINTS: usize = 4096;

fn height(x: i32, z: i32) -> f64 {
    let wave = |a: f64, b: f64| 40.0 * libm::sin(f64::from(x) / a) * libm::cos(f64::from(z) / b);
    // Whole quanta, so that both peers stand on the same ground.
    ((wave(97.0, 71.0) + wave(31.0, 43.0) / 4.0) * 128.0).floor() / 128.0
}

/// Positions all over the map in no order.
fn points() -> Vec<(f64, f64)> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1u64 << 24) as f64 * f64::from(SIDE - 1)
    };
    (0..POINTS).map(|_| (next(), next())).collect()
}

fn benches(c: &mut Criterion) {
    let ground = MemoryTerrain::from_fn([SIDE, SIDE], BlockSide::S32, |_| {}, height).ground_all();
    let side = SIDE as usize;
    let middle = f64::from(SIDE - 1) / 2.0;
    // Column-major: parry's rows run along z, and its field is centred on the origin.
    let heights: Vec<f64> = (0..side * side).map(|i| height((i / side) as i32, (i % side) as i32)).collect();
    let extent = f64::from(SIDE - 1);
    let field = HeightField::new(Array2::new(side, side, heights), Vector::new(extent, 1.0, extent));
    let points = points();
    let down = |x: f64, z: f64| {
        let ray = Ray::new(Vector::new(x - middle, 1000.0, z - middle), Vector::new(0.0, -1.0, 0.0));
        field.cast_local_ray(&ray, 2000.0, true)
    };
    for &(x, z) in &points {
        // The same ground, but for the way cells are split.
        let ours = ground.point(x, z).expect("a position").height().expect("ground");
        assert!(down(x, z).is_none_or(|t| (1000.0 - t - ours).abs() < 1.0));
    }
    let mut group = c.benchmark_group("height queries");
    group.throughput(Throughput::Elements(POINTS as u64));
    group.bench_function("highground", |b| {
        b.iter(|| {
            for &(x, z) in &points {
                black_box(ground.point(x, z).expect("a position"));
            }
        })
    });
    group.bench_function("parry HeightField, a vertical ray", |b| {
        b.iter(|| {
            for &(x, z) in &points {
                black_box(down(x, z));
            }
        })
    });
    group.finish();
}

criterion_group!(query_benches, benches);
criterion_main!(query_benches);
