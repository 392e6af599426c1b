//! The payload file: what is written is read back, and no damaged byte passes.

use highground_terrain::config::{Diagonal, TerrainConfig};
use highground_terrain::content::{
    FoliageType, Layer, ObjectType, Overlay, PhysicalMaterial, Plane, PlaneKind,
};
use highground_terrain::coord::{BlockPos, BlockSide, CellRect};
use highground_terrain::format::digest;
use highground_terrain::format::payload::{Compression, Section};
use highground_terrain::height::VOID;
use highground_terrain::kernel::control;
use highground_terrain::kernel::weight_mip::HdTexel;
use highground_terrain::kernel::weights::LayerKind;
use highground_terrain::state::DataState;
use highground_terrain::store::{
    BlockSource, PayloadFile, Raster, VerifyError, WriteOptions, verify, verify_open, write_payload,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
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
    let texels: Vec<HdTexel> = (0..32 * 2).map(texel).collect();
    raster.set_hd_weights(&["grass", "rock", "scree"], &texels);
    raster
}

/// The same with a plane of every kind.
fn full() -> Raster {
    let mut raster = small();
    let c = &mut raster.catalogue;
    c.layers.push(Layer { kind: LayerKind::OrderedAlpha, ..Layer::named("snow") });
    c.materials = vec![
        PhysicalMaterial { name: "earth".into(), ..PhysicalMaterial::default() },
        PhysicalMaterial { name: "ice".into(), friction: 0.05, ..PhysicalMaterial::default() },
    ];
    c.user_channels = vec!["danger".into(), "owner".into()];
    c.foliage = vec![FoliageType { name: "fern".into(), ..FoliageType::default() }];
    c.objects = vec![ObjectType { name: "rock".into(), ..ObjectType::default() }];
    c.overlays =
        vec![Overlay { name: "road".into(), points: vec![[0.0, 1.0], [9.5, 2.0]], ..Overlay::default() }];
    let cells = |f: &dyn Fn(usize) -> u8| (0..32 * 2).map(f).collect::<Vec<u8>>();
    for (kind, values) in [
        (PlaneKind::Weight(3), cells(&|i| (i * 11) as u8)),
        (PlaneKind::PhysicalHole, cells(&|i| (i % 4) as u8)),
        (PlaneKind::PhysicalMaterial, cells(&|i| (i / 7 % 2) as u8)),
        (PlaneKind::User(1), cells(&|i| (i * 5) as u8)),
        (PlaneKind::Foliage(0), cells(&|i| (255 - i) as u8)),
        (PlaneKind::Object(0), cells(&|i| u8::from(i == 40) * 9)),
        (PlaneKind::WaterDepth, (0..33 * 3u32).flat_map(|i| (i * 1000).to_le_bytes()).collect()),
    ] {
        raster.set_plane(Plane { kind, values });
    }
    raster
}

fn write(raster: &Raster, side: BlockSide, path: &Path) {
    write_payload(raster, &WriteOptions::new(side, ORIGIN, 0.0), path)
        .expect("a terrain that can be written");
}

/// Puts a terrain together again from the blocks of a file, sample by sample.
fn reassemble(file: &PayloadFile) -> Raster {
    let config = *file.config();
    let [w, h] = config.samples.map(|n| n as usize);
    let mut raster = Raster {
        config,
        heights: vec![VOID; w * h],
        mask: vec![0; (w - 1) * (h - 1)],
        catalogue: file.info().catalogue.clone(),
        planes: Vec::new(),
    };
    let n = file.block_side().samples() as usize;
    let mut planes: BTreeMap<PlaneKind, Vec<u8>> = BTreeMap::new();
    for (bx, bz) in (0..h.div_ceil(n)).flat_map(|bz| (0..w.div_ceil(n)).map(move |bx| (bx, bz))) {
        let block = file.read_content(BlockPos::new(bx as i32, bz as i32)).expect("a good block");
        for (i, &q) in block.heights.iter().enumerate() {
            let (x, z) = (bx * n + i % n, bz * n + i / n);
            if x < w && z < h {
                raster.heights[z * w + x] = q;
            }
            if x + 1 < w && z + 1 < h {
                raster.mask[z * (w - 1) + x] = block.mask[i];
            }
        }
        for (kind, values) in block.planes {
            let plane = planes.entry(kind).or_insert_with(|| vec![0; kind.plane_bytes(&config)]);
            let [pw, ph] = kind.lattice().size(&config).map(|n| n as usize);
            let n = n * kind.lattice().per_cell(&config) as usize;
            for (i, value) in values.chunks_exact(kind.bytes()).enumerate() {
                let (x, z) = (bx * n + i % n, bz * n + i / n);
                if x < pw && z < ph {
                    plane[(z * pw + x) * kind.bytes()..][..kind.bytes()].copy_from_slice(value);
                }
            }
        }
    }
    raster.planes = planes.into_iter().map(|(kind, values)| Plane { kind, values }).collect();
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
    assert_eq!(file.info().origin, ORIGIN);
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
fn read_all(bytes: Vec<u8>, good: &Raster) {
    let Ok(file) = PayloadFile::of_bytes(bytes) else { return };
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

/// Verifies bytes as if they were a file's.
fn verify_bytes(bytes: Vec<u8>) -> Result<(), VerifyError> {
    verify_open(&PayloadFile::of_bytes(bytes)?, &|_, _| {})
}

#[test]
fn every_flipped_bit_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("flip.terrain");
    let raster = small();
    write(&raster, BlockSide::S32, &path);
    let good = fs::read(&path).unwrap();
    for at in 0..good.len() {
        for bit in 0..8 {
            let mut bytes = good.clone();
            bytes[at] ^= 1 << bit;
            if bit == at % 8 {
                read_all(bytes.clone(), &raster);
            }
            assert!(verify_bytes(bytes).is_err(), "bit {bit} of byte {at}");
        }
    }
    assert!(verify_bytes(good).is_ok());
}

#[test]
fn every_truncation_and_every_appended_byte_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("short.terrain");
    write(&small(), BlockSide::S32, &path);
    let good = fs::read(&path).unwrap();
    assert!(verify_bytes([good.clone(), vec![0]].concat()).is_err());
    for length in 0..good.len() {
        let error = verify_bytes(good[..length].to_vec()).expect_err("a truncated file").to_string();
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
    let cases: [(usize, Vec<u8>, &str); 13] = [
        (8, 3u32.to_le_bytes().into(), "version"),
        (12, u32::MAX.to_le_bytes().into(), "head length"),
        (16, u64::MAX.to_le_bytes().into(), "file length"),
        (24, u32::MAX.to_le_bytes().into(), "section count"),
        (24, 0u32.to_le_bytes().into(), "head length"),
        (28, 48u32.to_le_bytes().into(), "block side"),
        (96, f64::NAN.to_le_bytes().into(), "rounding"),
        (104, u64::MAX.to_le_bytes().into(), "void samples"),
        (176, 200_000u32.to_le_bytes().into(), "configuration"),
        (256, 99u16.to_le_bytes().into(), "section code"),
        (259, vec![1], "section flags"),
        (256 + 16, u64::MAX.to_le_bytes().into(), "section place"),
        (256 + 24, u64::MAX.to_le_bytes().into(), "section place"),
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
    // 131072² samples with a matching hash: a directory that the file does not hold.
    let mut config = TerrainConfig::new([131_072, 131_072], 256);
    config.extent.x1 = 5;
    config.extent.z1 = 5;
    let bytes = config.canonical_bytes();
    forge(&path, 176, &bytes);
    forge(&path, 32, blake3::hash(&bytes).as_bytes());
    let error = PayloadFile::open(&path).unwrap_err().to_string();
    assert!(error.contains("levels"), "{error}");
    for section in 0..7 {
        // Section levels as that size wants them; the root's length is then what is wrong.
        let at = 256 + section * 64;
        let code = fs::read(&path).unwrap()[at];
        if code == 16 || code == 32 {
            forge(&path, at + 2, &[13]);
        }
    }
    forge(&path, 256 + 8 * 64 + 2, &[13]);
    let error = PayloadFile::open(&path).unwrap_err().to_string();
    assert!(error.contains("directory root"), "{error}");
}

#[test]
fn a_triangle_over_a_void_is_not_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("void.terrain");
    fs::write(&path, "what was there before").unwrap();
    let mut raster = small();
    raster.mask.fill(3);
    let error = write_payload(&raster, &WriteOptions::new(BlockSide::S32, ORIGIN, 0.0), &path)
        .unwrap_err()
        .to_string();
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
            let texels: Vec<HdTexel> = (0..n).map(|_| texel(random())).collect();
            raster.set_hd_weights(&["a", "b"], &texels);
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
    let offset = file.span(pos, Section::Height).unwrap().start as usize;
    bytes[offset] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let damaged = file.read_block(pos).unwrap_err();
    assert!(!damaged.retryable && damaged.reason.contains("checksum"), "{damaged}");
    fs::write(&path, &bytes[..offset]).unwrap();
    let short = file.read_block(pos).unwrap_err();
    assert!(!short.retryable && short.reason.contains("cannot be read"), "{short}");
    assert!(file.read_block(BlockPos::new(0, 0)).is_ok(), "the other block is whole");
}

#[test]
fn every_kind_of_plane_comes_back_from_either_compression() {
    let dir = tempfile::tempdir().unwrap();
    let raster = full();
    let mut digests = Vec::new();
    for (compression, side) in [(Compression::None, BlockSide::S32), (Compression::Deflate, BlockSide::S64)] {
        for normals in [false, true] {
            let path = dir.path().join("full.terrain");
            let options = WriteOptions { compression, normals, ..WriteOptions::new(side, ORIGIN, 0.25) };
            write_payload(&raster, &options, &path).unwrap();
            let file = verify(&path).unwrap();
            assert_eq!(reassemble(&file), raster);
            assert_eq!(file.info().rounding_m, 0.25);
            assert_eq!(
                file.read_block(BlockPos::new(0, 0)).unwrap(),
                raster.block(side, BlockPos::new(0, 0))
            );
            digests.push(file.digest());
        }
    }
    assert!(
        digests.iter().all(|d| *d == digest::of_raster(&raster)),
        "compression and layout are not content"
    );
}

#[test]
fn a_plane_of_zeros_is_the_same_as_none() {
    let dir = tempfile::tempdir().unwrap();
    let (with, without) = (dir.path().join("a.terrain"), dir.path().join("b.terrain"));
    let raster = full();
    let mut zeros = raster.clone();
    zeros.set_plane(Plane::zero(PlaneKind::User(0), &raster.config));
    write(&raster, BlockSide::S32, &without);
    write(&zeros, BlockSide::S32, &with);
    let (a, b) = (verify(&with).unwrap(), verify(&without).unwrap());
    assert_eq!(a.digest(), b.digest());
    assert_eq!(reassemble(&a), reassemble(&b));
}

#[test]
fn states_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("states.terrain");
    let mut raster = Raster::from_heights(TerrainConfig::new([100, 40], 256), vec![7; 4000]);
    for z in 0..39 {
        raster.mask[z * 99 + 32..z * 99 + 64].fill(0);
    }
    write(&raster, BlockSide::S32, &path);
    let file = PayloadFile::open(&path).unwrap();
    let state = |x, z| file.recorded_state(BlockPos::new(x, z));
    assert_eq!(
        (state(0, 0), state(1, 0), state(4, 0)),
        (DataState::Valid, DataState::Empty, DataState::OutOfRange)
    );
    assert_eq!(state(-1, 0), DataState::OutOfRange);
}

#[test]
fn the_golden_of_version_1_still_loads() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("goldens/payload-v1.terrain");
    let file = verify(&path).unwrap();
    let info = file.info();
    assert_eq!(info.version, 1);
    assert_eq!(
        highground_game::replay::hex(&info.digest),
        "8f91647f279dfb7e34f6845304f8f456e6c89152b9753769dbc520ecd80484c3"
    );
    assert_eq!((info.config.samples, info.totals.void_samples, info.totals.hole_cells), ([70, 45], 90, 92));
    assert_eq!(info.catalogue.layer_names(), ["grass", "rock", "snow"]);
    // Written anew it holds the same ground and the same weights.
    let raster = reassemble(&file);
    raster.check().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let anew = dir.path().join("anew.terrain");
    write(&raster, BlockSide::S32, &anew);
    let second = verify(&anew).unwrap();
    for (x, z) in [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)] {
        let pos = BlockPos::new(x, z);
        assert_eq!(file.read_block(pos).unwrap(), second.read_block(pos).unwrap());
    }
    // Every flipped byte of it is refused too.
    let good = fs::read(&path).unwrap();
    for at in (0..good.len()).step_by(37) {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << (at % 8);
        assert!(verify_bytes(bytes).is_err(), "byte {at}");
    }
}

#[test]
fn derived_encodings_are_kept_and_derived_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("derived.terrain");
    let mut raster = Raster::from_heights(TerrainConfig::new([100, 90], 256), vec![3; 9000]);
    raster.config.diagonal = Diagonal::Checkerboard;
    let texel = |i: u32| HdTexel { id1: (i / 7 % 3) as u8, id2: (i / 400 % 5) as u8, ratio: (i % 120) as u8 };
    let texels: Vec<HdTexel> = (0..99 * 89).map(texel).collect();
    raster.set_hd_weights(&["a", "b", "c", "d", "e"], &texels);
    let options = |control| WriteOptions {
        normals: true,
        normal_weights: true,
        control,
        ..WriteOptions::new(BlockSide::S32, ORIGIN, 0.0)
    };
    let written = write_payload(&raster, &options(Some(1.0)), &path).unwrap();
    let file = verify(&path).unwrap();
    assert_eq!(file.info().losses, written.losses);
    assert_eq!(file.digest(), digest::of_raster(&raster), "what is derived is no content");
    assert_eq!(written.losses.hd, 0, "two layers a texel are kept without loss");
    // A Normal texel's seven steps: off by up to half of one, 1/14 of all weight.
    assert!((1000..=4682).contains(&written.losses.normal), "{:?}", written.losses);
    // Whole-map ID control, from the full field at once.
    let planes: Vec<Option<&[u8]>> =
        (0..5).map(|i| raster.plane_of(PlaneKind::Weight(i)).map(|p| p.values.as_slice())).collect();
    let field = control::Field {
        size: [99, 89],
        kinds: &raster.catalogue.layer_kinds(),
        planes: &planes,
        diagonal: Diagonal::Checkerboard,
    };
    let whole = control::encode(&field, 1.0).unwrap();
    assert_eq!(written.losses.control, whole.error);
    // Loss over the budget is refused, and what was there stays.
    let before = fs::read(&path).unwrap();
    let error = write_payload(&raster, &options(Some(0.001)), &path).unwrap_err().to_string();
    assert!(error.contains("more than the 0.001 allowed"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);
    // A field that is painted in one place only has no ID control.
    raster.planes.iter_mut().for_each(|p| p.values[50 * 99..].fill(0));
    let error = write_payload(&raster, &options(Some(1.0)), &path).unwrap_err().to_string();
    assert!(error.contains("must sum to 255 for ID control"), "{error}");
}

/// Contents that do not fit together under right checksums: the derived body of one terrain in the file of another.
#[test]
fn a_derived_body_with_a_good_checksum_and_wrong_contents_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("forged.terrain");
    let raster = full();
    let options = WriteOptions { normals: true, ..WriteOptions::new(BlockSide::S32, ORIGIN, 0.0) };
    write_payload(&raster, &options, &path).unwrap();
    let good = fs::read(&path).unwrap();
    let file = PayloadFile::open(&path).unwrap();
    let head = u32::from_le_bytes(good[12..16].try_into().unwrap()) as usize;
    let table: Vec<(u16, usize)> =
        (256..head - 32).step_by(64).map(|at| (u16::from_le_bytes([good[at], good[at + 1]]), at)).collect();
    let entry = |code: u16| table.iter().find(|t| t.0 == code).unwrap().1;
    let u64_at = |b: &[u8], at: usize| u64::from_le_bytes(b[at..at + 8].try_into().unwrap()) as usize;
    // Changes a byte and makes every checksum above it right again.
    let forge = |at: usize, slot: Option<usize>| {
        let mut b = good.clone();
        b[at] ^= 1;
        let root_entry = entry(5);
        let (root, root_len) = (u64_at(&b, root_entry + 16), u64_at(&b, root_entry + 24));
        let page = u64_at(&b, root);
        if let Some(slot) = slot {
            let (offset, length) =
                (u64_at(&b, slot), u32::from_le_bytes(b[slot + 8..slot + 12].try_into().unwrap()) as usize);
            let sum = blake3::hash(&b[offset..offset + length]);
            b[slot + 16..slot + 32].copy_from_slice(&sum.as_bytes()[..16]);
        }
        for i in 0..(root_len - 32) / 32 {
            let at = u64_at(&b, root + i * 32);
            let next = if i + 1 < (root_len - 32) / 32 {
                u64_at(&b, root + i * 32 + 32)
            } else {
                u64_at(&b, entry(1) + 16)
            };
            let sum = blake3::hash(&b[at..next]);
            b[root + i * 32 + 16..root + i * 32 + 32].copy_from_slice(&sum.as_bytes()[..16]);
        }
        assert_eq!(page, u64_at(&b, root));
        let sum = blake3::hash(&b[root..root + root_len - 32]);
        b[root + root_len - 32..root + root_len].copy_from_slice(sum.as_bytes());
        for &(code, at) in &table {
            if code < 16 {
                let (offset, length) = (u64_at(&b, at + 16), u64_at(&b, at + 24));
                let sum = blake3::hash(&b[offset..offset + length]);
                b[at + 32..at + 64].copy_from_slice(sum.as_bytes());
            }
        }
        let sum = blake3::hash(&b[..head - 32]);
        b[head - 32..head].copy_from_slice(sum.as_bytes());
        fs::write(&path, &b).unwrap();
        verify(&path).map(drop)
    };
    let pos = BlockPos::new(0, 0);
    let page = u64_at(&good, u64_at(&good, entry(5) + 16));
    let slots = [
        Section::Height,
        Section::Hole,
        Section::Weight,
        Section::Collision,
        Section::Water,
        Section::User,
        Section::Density,
        Section::Hd,
        Section::Normal,
    ];
    for (i, section) in slots.into_iter().enumerate() {
        let span = file.span(pos, section).unwrap_or_else(|| panic!("{section:?} has bytes"));
        let at = span.end as usize - 1 - usize::from(section == Section::Height) * 100;
        let said = forge(at, Some(page + 20 + i * 32)).expect_err("wrong contents").to_string();
        assert!(said.lines().count() == 1, "{section:?}: {said}");
    }
    // Ranges, skip masks, counts in the page, totals in the head.
    for (at, what) in [
        (u64_at(&good, entry(3) + 16), "min/max"),
        (page + 4, "directory entry"),
        (page + 8, "directory entry"),
        (page + 12, ""),
        (104, "totals"),
        (112, "totals"),
        (128, "losses"),
        (64, "digest"),
    ] {
        let said = forge(at, None).expect_err(what).to_string();
        assert!(said.contains(what), "{what}: {said}");
    }
}

/// Writes what the golden of version 2 holds.
fn golden_v2(path: &Path) {
    let options = WriteOptions {
        compression: Compression::Deflate,
        normals: true,
        normal_weights: true,
        ..WriteOptions::new(BlockSide::S32, ORIGIN, 0.25)
    };
    write_payload(&full(), &options, path).unwrap();
}

#[test]
fn the_golden_of_version_2_loads_and_is_what_is_written() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("goldens/payload-v2.terrain");
    let file = verify(&path).unwrap();
    assert_eq!(file.info().version, 2);
    assert_eq!(reassemble(&file), full());
    let dir = tempfile::tempdir().unwrap();
    let anew = dir.path().join("anew.terrain");
    golden_v2(&anew);
    assert_eq!(verify(&anew).unwrap().digest(), file.digest());
    // Compressed bytes are the compressor's; all others are the format's.
    let raw = |path: &Path| {
        let file = PayloadFile::open(path).unwrap();
        [Section::Hole, Section::Normal, Section::Hd].map(|s| {
            let bytes = fs::read(path).unwrap();
            file.span(BlockPos::new(0, 0), s).map(|r| bytes[r.start as usize..r.end as usize].to_vec())
        })
    };
    assert_eq!(raw(&anew), raw(&path));
}

/// The entry of a section in a head of version 2: where in the file.
fn entry_of(bytes: &[u8], code: u16) -> usize {
    let head = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let found = |at: &usize| u16::from_le_bytes([bytes[*at], bytes[at + 1]]) == code;
    (256..head - 32).step_by(64).find(found).expect("the section is there")
}

#[test]
fn a_skip_section_that_promises_gigabytes_of_a_sparse_file_is_refused_by_its_length() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sparse.terrain");
    write(&full(), BlockSide::S32, &path);
    let good = fs::read(&path).unwrap();
    let (head, length) = (u32::from_le_bytes(good[12..16].try_into().unwrap()) as usize, 60u64 << 30);
    let mut bytes = good.clone();
    let entry = entry_of(&good, 4);
    // At the end of the file, which grows by as much: nothing of it is on the disk.
    let total = good.len() as u64 + length;
    bytes[16..24].copy_from_slice(&total.to_le_bytes());
    bytes[entry + 16..entry + 24].copy_from_slice(&(good.len() as u64).to_le_bytes());
    bytes[entry + 24..entry + 32].copy_from_slice(&length.to_le_bytes());
    let sum = blake3::hash(&bytes[..head - 32]);
    bytes[head - 32..head].copy_from_slice(sum.as_bytes());
    fs::write(&path, &bytes).unwrap();
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(total).unwrap();
    let file = PayloadFile::open(&path).expect("the head is in order");
    let error = file.skip_nodes().unwrap_err().to_string();
    assert!(error.contains("skip section: expected at most"), "{error}");
    assert!(verify(&path).is_err());
}

#[test]
fn a_directory_whose_pages_are_one_and_the_same_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("shared.terrain");
    let raster = Raster::from_heights(TerrainConfig::new([600, 600], 256), vec![0; 360_000]);
    write(&raster, BlockSide::S32, &path);
    let mut bytes = fs::read(&path).unwrap();
    let entry = entry_of(&bytes, 5);
    let u64_at = |b: &[u8], at: usize| u64::from_le_bytes(b[at..at + 8].try_into().unwrap()) as usize;
    let (root, length) = (u64_at(&bytes, entry + 16), u64_at(&bytes, entry + 24));
    assert!(length > 32 + 2 * 32, "there are pages to share");
    let first = bytes[root..root + 32].to_vec();
    bytes[root + 32..root + 64].copy_from_slice(&first);
    let sum = *blake3::hash(&bytes[root..root + length - 32]).as_bytes();
    bytes[root + length - 32..root + length].copy_from_slice(&sum);
    let sum = *blake3::hash(&bytes[root..root + length]).as_bytes();
    bytes[entry + 32..entry + 64].copy_from_slice(&sum);
    fs::write(&path, &bytes).unwrap();
    forge(&path, 0, &bytes[..8]);
    let error = PayloadFile::open(&path).unwrap_err().to_string();
    assert!(error.contains("a page of its own"), "{error}");
}

#[test]
fn a_payload_that_keeps_control_of_no_layers_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("none.terrain");
    let raster = Raster::from_heights(TerrainConfig::new([40, 40], 256), vec![0; 1600]);
    let options = WriteOptions { control: Some(0.5), ..WriteOptions::new(BlockSide::S32, ORIGIN, 0.0) };
    write_payload(&raster, &options, &path).unwrap();
    verify(&path).unwrap();
}
