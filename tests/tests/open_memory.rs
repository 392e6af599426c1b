//! Opening a terrain of 16,384×16,384 samples, and reading from it, takes little memory. Alone in its file, so that the
//! process's bytes are its own. How long it takes is `benches/benches/open.rs`'s.

use highground_terrain::config::TerrainConfig;
use highground_terrain::content::{Catalogue, PlaneKind};
use highground_terrain::coord::{BlockPos, BlockSide};
use highground_terrain::state::DataState;
use highground_terrain::store::{BlockSource, PayloadFile, TerrainRows, WriteOptions, write_payload};
use highground_tests::counting_allocator::{CountingAllocator, peak_bytes};
use std::ops::Range;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const N: u32 = 16_384;
const MOST: u64 = 16 << 20;

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

#[test]
fn a_large_terrain_opens_in_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let level = Level(TerrainConfig::new([N, N], 256), Catalogue::default());
    let (_, counted) = peak_bytes(|| vec![1u8; 1 << 20]);
    assert!(counted >= 1 << 20, "the allocator counts");
    for side in [BlockSide::S32, BlockSide::S128] {
        let path = folder.path().join(format!("{}.terrain", side.samples()));
        write_payload(&level, &WriteOptions::new(side, "{}", 0.0), &path).unwrap();
        let (file, opening) = peak_bytes(|| PayloadFile::open(&path).unwrap());
        let last = N as i32 / side.samples() - 1;
        let (blocks, reading) = peak_bytes(|| {
            let diagonal = (0..=last).map(|i| BlockPos::new(i, last - i));
            diagonal.filter(|&pos| file.read_block(pos).unwrap().heights().iter().all(|&q| q == 1234)).count()
        });
        assert_eq!(blocks as i32, last + 1);
        assert_eq!(file.recorded_state(BlockPos::new(last, last)), DataState::Valid);
        println!(
            "blocks of {}: a file of {} bytes opens in {opening} bytes, a diagonal of it is read in {reading}",
            side.samples(),
            file.info().file_bytes
        );
        assert!(opening < MOST, "{opening} bytes to open");
        // The pages of the directory that are kept have a budget.
        assert!(reading < MOST, "{reading} bytes to read");
    }
}
