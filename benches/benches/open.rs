//! Opening a terrain of 16,384×16,384 samples: its head and the root of its directory, and then one block.

use criterion::{Criterion, criterion_group, criterion_main};
use highground_terrain::config::TerrainConfig;
use highground_terrain::content::{Catalogue, PlaneKind};
use highground_terrain::coord::{BlockPos, BlockSide};
use highground_terrain::store::{BlockSource, PayloadFile, TerrainRows, WriteOptions, write_payload};
use std::hint::black_box;
use std::ops::Range;

const N: u32 = 16_384;

/// Level ground, wholly visible, that is nowhere in memory.
struct Level(TerrainConfig, Catalogue);

impl TerrainRows for Level {
    fn config(&self) -> &TerrainConfig {
        &self.0
    }

    fn catalogue(&self) -> &Catalogue {
        &self.1
    }

    fn plane_kinds(&self) -> Vec<PlaneKind> {
        Vec::new()
    }

    fn heights(&self, _: Range<u32>, out: &mut [i32]) {
        out.fill(1234);
    }

    fn mask(&self, _: Range<u32>, out: &mut [u8]) {
        out.fill(3);
    }

    fn plane(&self, _: PlaneKind, _: Range<u32>, out: &mut [u8]) {
        out.fill(0);
    }
}

fn benches(c: &mut Criterion) {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let level = Level(TerrainConfig::new([N, N], 256), Catalogue::default());
    let mut group = c.benchmark_group("open 16384x16384");
    for side in [BlockSide::S32, BlockSide::S128] {
        let name = side.samples();
        let path = dir.path().join(format!("{name}.terrain"));
        write_payload(&level, &WriteOptions::new(side, "{}", 0.0), &path).expect("a payload");
        group.bench_function(format!("blocks of {name}"), |b| {
            b.iter(|| PayloadFile::open(black_box(&path)).expect("a payload"))
        });
        group.bench_function(format!("blocks of {name}, and one block"), |b| {
            b.iter(|| {
                let file = PayloadFile::open(black_box(&path)).expect("a payload");
                file.read_block(BlockPos::new(77, 101)).expect("a block")
            })
        });
    }
    group.finish();
}

criterion_group!(open_benches, benches);
criterion_main!(open_benches);
