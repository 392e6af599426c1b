//! The payload file: what is written is read back, and no damaged byte passes.

use highground_terrain::config::{Diagonal, TerrainConfig};
use highground_terrain::coord::{BlockPos, BlockSide, CellRect};
use highground_terrain::format::digest;
use highground_terrain::height::VOID;
use highground_terrain::kernel::weight_mip::HdTexel;
use highground_terrain::store::{BlockSource, PayloadFile, Raster, verify, write_payload};
use proptest::prelude::*;
use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

const ORIGIN: &str = r#"{"source":"made by a test"}"#;

/// 33×3 samples: two blocks of 32, with holes, a void and weights.
fn small() -> Raster {
    let mut config = TerrainConfig::new([33, 3], 512);
    config.diagonal = Diagonal::Checkerboard;
    config.extent = CellRect { x0: 0, z0: 0, x1: 31, z1: 2 };
    let mut heights: Vec<i32> = (0..33 * 3).map(|i| i * 37 % 101 - 50).collect();
    heights[40] = VOID;
    let mut raster = Raster::from_heights(config, heights);
    raster.mask[3] = 0;
    raster.mask[9] &= 2;
    let texel = |i: u8| HdTexel { id1: i % 3, id2: i % 2, ratio: i };
    raster.weights = Some((0..32 * 2).map(texel).collect());
    raster.layers = vec!["grass".into(), "rock".into(), "scree".into()];
    raster
}

fn write(raster: &Raster, side: BlockSide, path: &Path) {
    write_payload(raster, side, ORIGIN, 0.0, path).expect("a terrain that can be written");
}

/// Puts a terrain together again from the blocks of a file, sample by sample.
fn reassemble(file: &PayloadFile) -> Raster {
    let config = *file.config();
    let [w, h] = config.samples.map(|n| n as usize);
    let ppc = usize::from(config.paint_per_cell);
    let mut raster = Raster {
        config,
        heights: vec![VOID; w * h],
        mask: vec![0; (w - 1) * (h - 1)],
        weights: file.header().weights.then(|| vec![HdTexel::default(); (w - 1) * (h - 1) * ppc * ppc]),
        layers: file.header().layers.clone(),
    };
    let n = file.block_side().samples() as usize;
    for z in 0..h {
        for x in 0..w {
            let block = file.read_block(BlockPos::new((x / n) as i32, (z / n) as i32)).expect("a good block");
            let inside = z % n * n + x % n;
            raster.heights[z * w + x] = block.heights()[inside];
            if x + 1 == w || z + 1 == h {
                continue;
            }
            raster.mask[z * (w - 1) + x] = block.mask()[inside];
            if let (Some(all), Some(own)) = (&mut raster.weights, block.weights()) {
                for (tz, tx) in (0..ppc).flat_map(|tz| (0..ppc).map(move |tx| (tz, tx))) {
                    all[(z * ppc + tz) * (w - 1) * ppc + x * ppc + tx] =
                        own[(z % n * ppc + tz) * n * ppc + x % n * ppc + tx];
                }
            }
        }
    }
    raster
}

#[test]
fn a_terrain_with_holes_voids_and_weights_comes_back_equal() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.terrain");
    let raster = small();
    write(&raster, BlockSide::S32, &path);
    let file = verify(&path).unwrap();
    assert_eq!(reassemble(&file), raster);
    assert_eq!(file.digest(), digest::of_raster(&raster));
    assert_eq!(file.header().origin, ORIGIN);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no temporary file is left");
}

#[test]
fn bytes_do_not_depend_on_the_number_of_threads() {
    let dir = tempfile::tempdir().unwrap();
    let raster = Raster::from_heights(
        TerrainConfig::new([300, 70], 256),
        (0..300 * 70).map(|i: i32| i * 7919 % 90_001).collect(),
    );
    let mut seen = Vec::new();
    for threads in [1, 2, 5] {
        let path = dir.path().join(format!("{threads}.terrain"));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| write(&raster, BlockSide::S32, &path));
        seen.push(fs::read(&path).unwrap());
    }
    assert!(seen.windows(2).all(|w| w[0] == w[1]));
}

#[test]
fn the_digest_does_not_depend_on_the_block_side() {
    let dir = tempfile::tempdir().unwrap();
    let raster = small();
    for side in [BlockSide::S32, BlockSide::S64, BlockSide::S128] {
        let path = dir.path().join("b.terrain");
        write(&raster, side, &path);
        let file = verify(&path).unwrap();
        assert_eq!(file.digest(), digest::of_raster(&raster));
        assert_eq!(reassemble(&file), raster);
    }
}

/// Opens and reads every block, whatever comes of it: it must not panic, and what it gives must be the original's.
fn read_all(path: &Path, good: &Raster) {
    let Ok(file) = PayloadFile::open(path) else { return };
    let [w, h] = file.config().blocks(file.block_side());
    for z in 0..h as i32 {
        for x in 0..w as i32 {
            let pos = BlockPos::new(x, z);
            if let Ok(block) = file.read_block(pos) {
                assert_eq!(block, good.block(file.block_side(), pos));
            }
        }
    }
}

#[test]
fn every_flipped_bit_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("flip.terrain");
    let raster = small();
    write(&raster, BlockSide::S32, &path);
    let good = fs::read(&path).unwrap();
    let mut file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    let mut put = |at: usize, byte: u8| {
        file.seek(SeekFrom::Start(at as u64)).unwrap();
        file.write_all(&[byte]).unwrap();
    };
    for (at, &byte) in good.iter().enumerate() {
        for bit in 0..8 {
            put(at, byte ^ 1 << bit);
            assert!(verify(&path).is_err(), "bit {bit} of byte {at}");
            if bit == at % 8 {
                read_all(&path, &raster);
            }
        }
        put(at, byte);
    }
    assert!(verify(&path).is_ok());
}

#[test]
fn every_truncation_and_every_appended_byte_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("short.terrain");
    write(&small(), BlockSide::S32, &path);
    let mut bytes = fs::read(&path).unwrap();
    bytes.push(0);
    fs::write(&path, &bytes).unwrap();
    assert!(verify(&path).is_err());
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    for length in (0..bytes.len() - 1).rev() {
        file.set_len(length as u64).unwrap();
        let error = verify(&path).expect_err("a truncated file").to_string();
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn a_text_mode_transfer_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("text.terrain");
    write(&small(), BlockSide::S32, &path);
    let good = fs::read(&path).unwrap();
    let damaged: Vec<u8> = good
        .iter()
        .enumerate()
        .filter(|&(i, &b)| !(b == b'\r' && good.get(i + 1) == Some(&b'\n')))
        .map(|(_, &b)| b)
        .collect();
    fs::write(&path, damaged).unwrap();
    let error = verify(&path).unwrap_err().to_string();
    assert!(error.contains("text-mode"), "{error}");
}

/// Replaces bytes of a header and makes its checksum right again: what a hostile writer can do.
fn forge(path: &Path, at: usize, new: &[u8]) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at..at + new.len()].copy_from_slice(new);
    let header = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    if header <= bytes.len() && header > 32 {
        let sum = blake3::hash(&bytes[..header - 32]);
        bytes[header - 32..header].copy_from_slice(sum.as_bytes());
    }
    fs::write(path, bytes).unwrap();
}

#[test]
fn forged_headers_with_right_checksums_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("forged.terrain");
    write(&small(), BlockSide::S32, &path);
    let good = fs::read(&path).unwrap();
    let cases: [(usize, Vec<u8>, &str); 12] = [
        (8, 2u32.to_le_bytes().into(), "version"),
        (12, u32::MAX.to_le_bytes().into(), "header length"),
        (16, u64::MAX.to_le_bytes().into(), "file length"),
        (24, 3u32.to_le_bytes().into(), "section flags"),
        (24, 0u32.to_le_bytes().into(), "layer names"),
        (28, 48u32.to_le_bytes().into(), "block side"),
        (32, u64::MAX.to_le_bytes().into(), "directory offset"),
        (40, u64::MAX.to_le_bytes().into(), "directory length"),
        (48, f64::NAN.to_le_bytes().into(), "rounding"),
        (56, u32::MAX.to_le_bytes().into(), "layer length"),
        (60, u32::MAX.to_le_bytes().into(), "origin length"),
        (128, 200_000u32.to_le_bytes().into(), "configuration"),
    ];
    for (at, new, field) in cases {
        fs::write(&path, &good).unwrap();
        forge(&path, at, &new);
        let error = PayloadFile::open(&path).expect_err(field).to_string();
        assert!(error.contains(field), "{field}: {error}");
    }
}

#[test]
fn a_huge_terrain_in_a_small_file_is_refused_before_allocating() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("huge.terrain");
    write(&small(), BlockSide::S32, &path);
    // 131072² samples with a matching hash and directory length: 800 MB of directory that the file does not hold.
    let mut config = TerrainConfig::new([131_072, 131_072], 256);
    config.extent.x1 = 5;
    config.extent.z1 = 5;
    let bytes = config.canonical_bytes();
    forge(&path, 128, &bytes);
    forge(&path, 64, blake3::hash(&bytes).as_bytes());
    forge(&path, 40, &(4096u64 * 4096 * 48 + 32).to_le_bytes());
    let error = PayloadFile::open(&path).unwrap_err().to_string();
    assert!(error.contains("inside the file's"), "{error}");
}

#[test]
fn a_triangle_over_a_void_is_not_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("void.terrain");
    fs::write(&path, "what was there before").unwrap();
    let mut raster = small();
    raster.mask.fill(3);
    let error = write_payload(&raster, BlockSide::S32, ORIGIN, 0.0, &path).unwrap_err().to_string();
    assert!(error.contains("touches a void"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"what was there before");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_terrain_comes_back_equal(
        w in 2u32..80, h in 2u32..80,
        side in 0usize..2,
        relief in prop_oneof![Just(100i32), Just(65_534), Just(65_535), Just(16_000_000)],
        seed in any::<u32>(),
        void_one_in in prop_oneof![Just(1u32), Just(2), Just(50), Just(u32::MAX)],
        ppc in prop_oneof![Just(0u8), Just(1), Just(2), Just(4)],
    ) {
        let mut config = TerrainConfig::new([w, h], 256);
        config.diagonal = [Diagonal::Main, Diagonal::Anti, Diagonal::Checkerboard][(seed % 3) as usize];
        config.paint_per_cell = ppc.max(1);
        let mut state = seed;
        let mut random = move || { state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223); state >> 8 };
        let heights = (0..w * h)
            .map(|_| if random() % void_one_in == 0 { VOID } else { (random() as i32) % (relief + 1) - relief / 2 })
            .collect();
        let mut raster = Raster::from_heights(config, heights);
        for m in &mut raster.mask {
            *m &= (random() % 8) as u8 | 1;
        }
        if ppc > 0 {
            let n = (w as usize - 1) * (h as usize - 1) * usize::from(ppc) * usize::from(ppc);
            let texel = |r: u32| HdTexel { id1: (r % 2) as u8, id2: (r / 2 % 2) as u8, ratio: (r >> 8) as u8 };
            raster.weights = Some((0..n).map(|_| texel(random())).collect());
            raster.layers = vec!["a".into(), "b".into()];
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("any.terrain");
        let side = [BlockSide::S32, BlockSide::S64][side];
        write(&raster, side, &path);
        let file = verify(&path).unwrap();
        prop_assert_eq!(reassemble(&file), raster);
    }
}

#[test]
fn contents_that_are_wrong_are_not_worth_a_second_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("later.terrain");
    write(&small(), BlockSide::S32, &path);
    let file = PayloadFile::open(&path).unwrap();
    let pos = BlockPos::new(1, 0);
    assert!(file.read_block(pos).is_ok());
    let beyond = file.read_block(BlockPos::new(2, 0)).unwrap_err();
    assert!(!beyond.retryable && beyond.reason.contains("not on the map"));
    // Damaged, then shortened, under an open file.
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, &bytes).unwrap();
    let damaged = file.read_block(pos).unwrap_err();
    assert!(!damaged.retryable && damaged.reason.contains("checksum"), "{damaged}");
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    let short = file.read_block(pos).unwrap_err();
    assert!(!short.retryable && short.reason.contains("cannot be read"), "{short}");
    assert!(file.read_block(BlockPos::new(0, 0)).is_ok(), "the other block is whole");
}
