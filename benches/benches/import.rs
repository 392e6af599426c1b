//! Import: an SRTM-sized tile to quanta, to a payload, and back through `verify`.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use highground_terrain::coord::{BlockPos, BlockSide};
use highground_terrain::import::{ImportOptions, import};
use highground_terrain::store::{BlockSource, PayloadFile, WriteOptions, verify, write_payload};
use std::hint::black_box;

const SIDE: usize = 1201;

/// Hills with some sea and a few voids, as SRTM stores them.
fn tile() -> Vec<u8> {
    let height = |x: usize, z: usize| {
        let wave =
            |a: usize, b: usize| 300.0 * libm::sin(x as f64 / a as f64) * libm::cos(z as f64 / b as f64);
        let h = wave(97, 71) + wave(31, 43) + wave(11, 7) / 8.0;
        if (x * 7919 + z).is_multiple_of(5003) { i16::MIN } else { h.max(0.0) as i16 }
    };
    (0..SIDE * SIDE).flat_map(|i| height(i % SIDE, i / SIDE).to_be_bytes()).collect()
}

fn benches(c: &mut Criterion) {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let (source, out) = (dir.path().join("N43E007.hgt"), dir.path().join("a.terrain"));
    std::fs::write(&source, tile()).expect("a written tile");
    let spaced = ImportOptions { spacing_m: Some(30.0), ..ImportOptions::default() };
    let mut group = c.benchmark_group("import");
    group.throughput(Throughput::Elements((SIDE * SIDE) as u64)).sample_size(20);
    group.bench_function("hgt one to one", |b| b.iter(|| import(&source, &spaced).expect("a tile")));
    group.bench_function("hgt resampled", |b| {
        b.iter(|| import(&source, &ImportOptions::default()).expect("a tile"))
    });
    let taken = import(&source, &spaced).expect("a tile");
    group.bench_function("write payload", |b| {
        b.iter(|| {
            write_payload(&taken.raster, &WriteOptions::new(BlockSide::S32, "{}", 0.0), &out)
                .expect("a payload")
        })
    });
    group.bench_function("verify payload", |b| b.iter(|| verify(&out).expect("a whole payload")));
    group.finish();
    let file = PayloadFile::open(&out).expect("a payload");
    let mut x = 0;
    c.bench_function("read one 32x32 block", |b| {
        b.iter(|| {
            x = (x + 7) % 37;
            black_box(file.read_block(BlockPos::new(x, 36 - x)).expect("a block"))
        })
    });
}

criterion_group!(import_benches, benches);
criterion_main!(import_benches);
