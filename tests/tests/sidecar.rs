//! The visibility sidecar as a file: it says what its payload says, and nothing else passes for it.

use highground_terrain::config::{Diagonal, TerrainConfig};
use highground_terrain::coord::{BlockSide, CellPos, CellRect};
use highground_terrain::format::sidecar::{Builder, CHECKSUM_BYTES, PREFIX_BYTES, Sidecar};
use highground_terrain::height::VOID;
use highground_terrain::store::{
    BlockSource, PayloadFile, Raster, SidecarError, WriteOptions, build_sidecar, open_sidecar, sidecar_path,
    verify_sidecar_with, write_payload, write_sidecar,
};
use highground_tests::highground;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

const SIDE: i32 = 70;

/// 71×71 samples of Checkerboard cells: nine blocks of 32, a lopsided hole across a block border, two half cells, a void
/// and an extent that leaves a margin.
fn raster() -> Raster {
    let mut config = TerrainConfig::new([SIDE as u32 + 1; 2], 256);
    config.diagonal = Diagonal::Checkerboard;
    config.extent = CellRect { x0: 0, z0: 0, x1: 69, z1: 69 };
    let mut heights: Vec<i32> = (0..71 * 71).map(|i| i * 37 % 101).collect();
    heights[50 * 71 + 66] = VOID;
    let mut raster = Raster::from_heights(config, heights);
    for (x, z) in (20..44).flat_map(|x| (5..14).map(move |z| (x, z))) {
        raster.mask[(z * SIDE + x) as usize] = 0;
    }
    raster.mask[(40 * SIDE + 10) as usize] = 1;
    raster.mask[(33 * SIDE + 63) as usize] = 2;
    raster
}

struct Made {
    _folder: tempfile::TempDir,
    payload: PathBuf,
    file: PayloadFile,
}

fn made(raster: &Raster) -> Made {
    let folder = tempfile::tempdir().unwrap();
    let payload = folder.path().join("a.terrain");
    write_payload(raster, &WriteOptions::new(BlockSide::S32, "{}", 0.0), &payload).unwrap();
    let file = PayloadFile::open(&payload).unwrap();
    Made { _folder: folder, payload, file }
}

/// A sidecar with the right digest and checksum, out of any masks.
fn forged(config: &TerrainConfig, digest: [u8; 32], mask: impl Fn(i32, i32) -> u8) -> Sidecar {
    let mut builder = Builder::new(config);
    let [w, h] = config.cells();
    for z in 0..h {
        let row: Vec<u8> = (0..w).map(|x| mask(x, z)).collect();
        builder.push_row(&row);
    }
    builder.finish(digest)
}

fn verify(path: &Path, file: &PayloadFile) -> Result<Sidecar, SidecarError> {
    verify_sidecar_with(path, file, &|_, _| {})
}

fn refusal(path: &Path, file: &PayloadFile) -> String {
    let said = open_sidecar(path, file).unwrap_err().to_string();
    assert!(!said.contains('\n'), "{said}");
    said
}

#[test]
fn a_sidecar_says_of_every_cell_what_the_masks_say() {
    let raster = raster();
    let made = made(&raster);
    let path = sidecar_path(&made.payload);
    let sidecar = build_sidecar(&made.file).unwrap();
    let bytes = write_sidecar(&sidecar, &path).unwrap();
    assert_eq!(bytes, fs::metadata(&path).unwrap().len());
    let read = open_sidecar(&path, &made.file).unwrap();
    assert_eq!(read, sidecar);
    assert_eq!(verify(&path, &made.file).unwrap(), sidecar);
    assert!(!read.nodes().is_empty());
    for z in -1..SIDE + 2 {
        for x in -1..SIDE + 2 {
            let cell = CellPos::new(x, z);
            assert_eq!(read.mask_of_cell(cell), raster.cell_mask(cell), "({x}, {z})");
        }
    }
    // Above level 0: what the payload's own skip section leaves out.
    let skips = made.file.skip_nodes().unwrap();
    assert!(!skips.is_empty());
    for (&(level, index), mask) in &skips {
        let span = 1 << level;
        let across = (SIDE as u32).div_ceil(32 * span);
        let [nx, nz] = [index % across, index / across].map(|n| n * 32);
        for i in 0..1024u32 {
            let skipped = mask[i as usize / 4] >> (i % 4 * 2) & 3;
            let cell = [nx + i % 32, nz + i / 32];
            assert_eq!(read.mask(u32::from(level), cell) & skipped, 0, "level {level} {cell:?}");
        }
    }
    // Nothing is left beside them.
    assert_eq!(fs::read_dir(made.payload.parent().unwrap()).unwrap().count(), 2);
}

#[test]
fn a_mismatched_pair_is_refused() {
    let raster_ = raster();
    let one = made(&raster_);
    let path = sidecar_path(&one.payload);
    write_sidecar(&build_sidecar(&one.file).unwrap(), &path).unwrap();
    // One sample is a quantum higher; not a triangle differs.
    let mut other = raster_.clone();
    other.heights[3] += 1;
    let said = refusal(&path, &made(&other).file);
    assert!(said.contains("content digest") && said.contains("highground sidecar"), "{said}");
    // Same masks, split the other way.
    let mut other = raster_.clone();
    other.config.diagonal = Diagonal::Anti;
    other.heights[50 * 71 + 66] = 0;
    assert!(refusal(&path, &made(&other).file).contains("diagonal"));
    let mut other = raster_;
    other.config.extent.x1 = 68;
    other.remove_hidden();
    assert!(refusal(&path, &made(&other).file).contains("extent"));
}

#[test]
fn a_transposed_hole_and_swapped_triangles_are_found_by_verify() {
    let raster = raster();
    let made = made(&raster);
    let (config, digest) = (made.file.config(), made.file.digest());
    let path = sidecar_path(&made.payload);
    let own = |x: i32, z: i32| raster.cell_mask(CellPos::new(x, z));
    let swapped = |m: u8| m >> 1 | (m & 1) << 1;
    type MaskOf<'a> = &'a dyn Fn(i32, i32) -> u8;
    let forgeries: [(&str, MaskOf, &str); 4] = [
        // The void's node, (2, 1), has its mirror image at (1, 2).
        ("transposed", &|x, z| own(z, x), "node (2, 1) of level 0: expected a record, found none"),
        ("triangles swapped", &|x, z| swapped(own(x, z)), "word"),
        // The half cell at (10, 40) is the only thing in its node.
        (
            "filled",
            &|x, z| if z > 20 && x < 40 { 3 } else { own(x, z) },
            "node (0, 1) of level 0: expected a record",
        ),
        ("one more", &|x, z| own(x, z) & if (x, z) == (5, 66) { 2 } else { 3 }, "node (0, 2) of level 0"),
    ];
    for (name, mask, words) in forgeries {
        write_sidecar(&forged(config, digest, mask), &path).unwrap();
        // Its bytes are good and it names the right payload.
        assert!(open_sidecar(&path, &made.file).is_ok(), "{name}");
        let said = verify(&path, &made.file).unwrap_err().to_string();
        assert!(said.contains(words) && !said.contains('\n'), "{name}: {said}");
    }
    write_sidecar(&forged(config, digest, own), &path).unwrap();
    assert!(verify(&path, &made.file).is_ok(), "the same masks unchanged pass");
}

#[test]
fn no_damaged_byte_and_no_other_length_passes() {
    let mut config = TerrainConfig::new([9, 6], 256);
    config.diagonal = Diagonal::Anti;
    let mut raster = Raster::from_heights(config, vec![7; 54]);
    raster.mask[11] = 2;
    let made = made(&raster);
    let path = sidecar_path(&made.payload);
    write_sidecar(&build_sidecar(&made.file).unwrap(), &path).unwrap();
    let good = fs::read(&path).unwrap();
    assert_eq!(good.len(), PREFIX_BYTES + 20 + 256 + CHECKSUM_BYTES);
    for at in 0..good.len() {
        for bit in [1, 0x80] {
            let mut bad = good.clone();
            bad[at] ^= bit;
            fs::write(&path, &bad).unwrap();
            assert!(open_sidecar(&path, &made.file).is_err(), "byte {at}");
        }
        fs::write(&path, &good[..at]).unwrap();
        assert!(open_sidecar(&path, &made.file).is_err(), "{at} bytes");
    }
    fs::write(&path, [&good[..], &[0]].concat()).unwrap();
    assert!(open_sidecar(&path, &made.file).is_err());
    // One node is all that this terrain has: a longer file is not even read.
    fs::write(&path, vec![0x89; 1 << 20]).unwrap();
    let said = refusal(&path, &made.file);
    assert!(said.contains(&format!("at most {} bytes", good.len())), "{said}");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(refusal(&path, &made.file).contains("not a regular file"));
}

fn run(command: &str, args: &[&Path], options: &[&str]) -> Output {
    highground().arg(command).args(args).args(options).output().unwrap()
}

#[test]
fn the_commands_write_it_and_hold_it_against_the_terrain() {
    let made = made(&raster());
    let path = sidecar_path(&made.payload);
    let written = run("sidecar", &[&made.payload], &["--json"]);
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    let said: serde_json::Value = serde_json::from_slice(&written.stdout).unwrap();
    assert_eq!(said["bytes"], fs::metadata(&path).unwrap().len());
    assert_eq!(said["records"], build_sidecar(&made.file).unwrap().nodes().len());
    let verified = run("verify", &[&made.payload, Path::new("--sidecar"), &path], &["--json"]);
    let verified: serde_json::Value = serde_json::from_slice(&verified.stdout).unwrap();
    assert_eq!((&verified["valid"], &verified["version"]), (&true.into(), &2.into()));
    assert_eq!((&verified["sidecar"]["records"], &verified["digest"]), (&said["records"], &said["digest"]));
    // Another terrain's, and the terrain itself in its place.
    let mut other = raster();
    other.heights[0] += 1;
    let other = self::made(&other);
    for (payload, sidecar, words) in
        [(&other.payload, &path, "content digest"), (&made.payload, &made.payload, "at most")]
    {
        let refused = run("verify", &[payload, Path::new("--sidecar"), sidecar], &[]);
        let said = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(
            (refused.status.code(), refused.stdout.len(), said.lines().count()),
            (Some(2), 0, 1),
            "{said}"
        );
        assert!(said.contains(words), "{said}");
    }
    let overwriting = run("sidecar", &[&made.payload, Path::new("--out"), &made.payload], &[]);
    assert_eq!(overwriting.status.code(), Some(2));
    assert!(PayloadFile::open(&made.payload).is_ok());
}
