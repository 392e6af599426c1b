//! Building one block's collision: a tile with its apron from decoded samples, against parry's HeightField and
//! TriMesh of the same 128² samples.

use criterion::{Criterion, criterion_group, criterion_main};
use highground_terrain::coord::{BlockPos, BlockSide};
use highground_terrain::store::{BlockSource, MemoryTerrain};
use highground_terrain::surface::Tile;
use parry3d_f64::math::Vector;
use parry3d_f64::shape::{HeightField, TriMesh};
use parry3d_f64::utils::Array2;
use std::collections::BTreeMap;
use std::hint::black_box;

fn height(x: i32, z: i32) -> f64 {
    f64::from((x * 37 + z * 91) % 257) / 64.0
}

fn blocks(c: &mut Criterion) {
    let terrain = MemoryTerrain::from_fn([384, 384], BlockSide::S128, |_| {}, height);
    let around: BTreeMap<BlockPos, _> = BlockPos::new(1, 1)
        .neighbourhood()
        .map(|p| (p, terrain.read_block(p).expect("blocks in memory can be read")))
        .collect();
    let own = &around[&BlockPos::new(1, 1)];
    let mut group = c.benchmark_group("build one 128x128 block");
    group.bench_function("tile", |b| {
        b.iter(|| Tile::new(terrain.config(), black_box(own), |p| around.get(&p)));
    });
    let mut heights = Array2::repeat(129, 129, 0.0);
    for z in 0..129 {
        for x in 0..129 {
            heights[(z, x)] = height(128 + x as i32, 128 + z as i32);
        }
    }
    group.bench_function("parry heightfield", |b| {
        b.iter(|| HeightField::new(black_box(heights.clone()), Vector::new(128.0, 1.0, 128.0)));
    });
    let field = HeightField::new(heights, Vector::new(128.0, 1.0, 128.0));
    let (vertices, indices) = field.to_trimesh();
    group.sample_size(20);
    group.bench_function("parry trimesh", |b| {
        b.iter(|| TriMesh::new(black_box(vertices.clone()), black_box(indices.clone())));
    });
    group.finish();
}

criterion_group!(benches, blocks);
criterion_main!(benches);
