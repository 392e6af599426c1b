//! `inspect`: what it says of a file and of its blocks, read and unread.

use highground_terrain::config::{Diagonal, TerrainConfig};
use highground_terrain::content::{Layer, PhysicalMaterial, Plane, PlaneKind};
use highground_terrain::coord::{BlockSide, CellRect};
use highground_terrain::format::payload::Compression;
use highground_terrain::height::VOID;
use highground_terrain::store::{PayloadFile, Raster, WriteOptions, write_payload};
use highground_tests::highground;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

const W: usize = 70;
const H: usize = 40;

/// 70×40 samples: three by two blocks of 32, the last ones narrow, one without a triangle.
fn raster() -> Raster {
    let mut config = TerrainConfig::new([W as u32, H as u32], 512);
    config.diagonal = Diagonal::Anti;
    config.extent = CellRect { x0: 0, z0: 0, x1: 63, z1: 39 };
    let mut heights: Vec<i32> = (0..W * H).map(|i| (i % W * 3 + i / W * 200) as i32).collect();
    for i in [5 * W + 40, 33 * W + 3] {
        heights[i] = VOID;
    }
    let mut raster = Raster::from_heights(config, heights);
    raster.mask[10 * (W - 1) + 10] = 1;
    raster.catalogue.layers = vec![Layer::named("grass"), Layer::named("rock")];
    raster.catalogue.materials =
        vec![PhysicalMaterial { name: "earth".into(), ..PhysicalMaterial::default() }];
    raster.catalogue.user_channels = vec!["danger".into()];
    let cells = (W - 1) * (H - 1);
    for (kind, values) in [
        (PlaneKind::Weight(0), (0..cells).map(|i| (i % 256) as u8).collect::<Vec<u8>>()),
        (PlaneKind::Weight(1), (0..cells).map(|i| 255 - (i % 256) as u8).collect()),
        (PlaneKind::User(0), vec![9; cells]),
    ] {
        raster.set_plane(Plane { kind, values });
    }
    raster
}

fn written(folder: &Path) -> PathBuf {
    let path = folder.join("a.terrain");
    let options = WriteOptions {
        compression: Compression::Deflate,
        ..WriteOptions::new(BlockSide::S32, r#"{"source":"a test","format":"code"}"#, 0.001)
    };
    write_payload(&raster(), &options, &path).unwrap();
    path
}

fn inspect(path: &Path, options: &[&str]) -> Output {
    let output = highground().arg("inspect").arg(path).args(options).output().unwrap();
    // Read and found to be damaged is a check that fails; the answer is given all the same.
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() || (output.status.code() == Some(1) && said.contains("failed, the first: ")),
        "{said}"
    );
    output
}

fn object(path: &Path, options: &[&str]) -> Value {
    serde_json::from_slice(&inspect(path, options).stdout).unwrap()
}

fn lines(path: &Path, options: &[&str]) -> Vec<Value> {
    let output = inspect(path, options);
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|l| serde_json::from_str(l).unwrap()).collect()
}

/// Damages the heights of the block that the directory calls (x, z): a byte of the body that lies there.
fn damage_first_body(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    // Bodies follow the head without a gap, the first block's heights first.
    let head = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    bytes[head] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn the_object_has_its_keys_and_says_what_the_raster_holds() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path());
    let said = object(&path, &["--json"]);
    let keys: Vec<&String> = said.as_object().unwrap().keys().collect();
    let mut expected = vec![
        "digest",
        "samples",
        "spacing_m",
        "quantum_m",
        "rounding_m",
        "min_m",
        "max_m",
        "void_samples",
        "hole_cells",
        "blocks",
        "bytes",
        "diagonal",
        "origin",
        "version",
        "block_side",
        "paint_per_cell",
        "extent",
        "vertical_scale",
        "states",
        "sections",
        "layers",
        "planes",
        "levels",
        "compression",
        "losses",
    ];
    expected.sort_unstable();
    let mut keys: Vec<&str> = keys.iter().map(|k| k.as_str()).collect();
    keys.sort_unstable();
    assert_eq!(keys, expected);
    for (key, value) in [
        ("version", json!(2)),
        ("samples", json!([70, 40])),
        ("block_side", json!(32)),
        ("paint_per_cell", json!(1)),
        ("extent", json!([0, 0, 63, 39])),
        ("vertical_scale", json!(1.0)),
        ("blocks", json!(6)),
        ("layers", json!(["grass", "rock"])),
        ("planes", json!([{"weight": 0}, {"weight": 1}, {"user": 0}])),
        // 70 samples in blocks of 32, then 35, then 18.
        ("levels", json!(3)),
        ("void_samples", json!(2)),
        // The four cells around each of two inner voids, and one half cell.
        ("hole_cells", json!(9)),
        (
            "states",
            json!({"unknown": 0, "pending": 0, "valid": 4, "empty": 2, "out_of_range": 0, "failed": 0}),
        ),
    ] {
        assert_eq!(said[key], value, "{key}");
    }
    // Two layers a texel are what HD texels hold.
    assert_eq!(said["losses"], json!({"hd": 0.0, "normal": 0.0, "control": 0.0, "control_budget": 0.0}));
    let sections = said["sections"].as_array().unwrap();
    let names: Vec<&str> = sections.iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["catalogue", "origin", "min_max", "skip", "directory", "height", "hole", "weight", "user", "hd"]
    );
    let of = |name: &str| sections.iter().find(|s| s["name"] == name).unwrap();
    assert_eq!((&of("weight")["planes"], &of("height")["levels"]), (&json!(2), &json!(3)));
    // Every byte of bodies is stored one way or the other.
    let bodies: u64 = sections[5..].iter().map(|s| s["bytes"].as_u64().unwrap()).sum();
    let [plain, deflate] = ["none", "deflate"].map(|c| said["compression"][c].as_u64().unwrap());
    assert_eq!(plain + deflate, bodies);
    assert!(deflate > 0);
}

#[test]
fn a_damaged_block_is_failed_once_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path());
    damage_first_body(&path);
    assert_eq!(object(&path, &["--json"])["states"]["failed"], 0, "the directory alone cannot know");
    let output = inspect(&path, &["--json", "--read"]);
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        said["states"],
        json!({"unknown": 0, "pending": 0, "valid": 3, "empty": 2, "out_of_range": 0, "failed": 1})
    );
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("block (0, 0)") && stderr.lines().count() == 1, "{stderr}");
    assert_eq!(lines(&path, &["--blocks", "--json"])[0]["state"], "valid");
    let read = lines(&path, &["--blocks", "--json", "--read"]);
    assert_eq!(read[0]["state"], "failed");
    assert!(read[0]["reason"].as_str().unwrap().contains("checksum"));
    assert_eq!(read[1]["state"], "valid");
    let text = String::from_utf8(inspect(&path, &["--blocks", "--read"]).stdout).unwrap();
    assert!(text.lines().next().unwrap().contains("failed"), "{text}");
}

#[test]
fn every_block_has_a_line_with_what_is_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path());
    let raster = raster();
    let found = lines(&path, &["--blocks", "--json"]);
    assert_eq!(found.len(), 6);
    for (i, line) in found.iter().enumerate() {
        let (bx, bz) = (i % 3, i / 3);
        let (xs, zs) = (bx * 32..W.min(bx * 32 + 32), bz * 32..H.min(bz * 32 + 32));
        let samples = zs.clone().flat_map(|z| xs.clone().map(move |x| (x, z)));
        let heights: Vec<i32> = samples.map(|(x, z)| raster.heights[z * W + x]).collect();
        let there = || heights.iter().copied().filter(|&q| q != VOID);
        let cells = zs.clone().flat_map(|z| xs.clone().map(move |x| (x, z)));
        let masks: Vec<u8> =
            cells.filter(|&(x, z)| x < 63 && z < 39).map(|(x, z)| raster.mask[z * (W - 1) + x]).collect();
        let expected = json!({
            "x": bx, "z": bz,
            "state": if masks.iter().any(|&m| m != 0) { "valid" } else { "empty" },
            "min_m": f64::from(there().min().unwrap()) / 128.0,
            "max_m": f64::from(there().max().unwrap()) / 128.0,
            "void_samples": heights.len() - there().count(),
            "hole_cells": masks.iter().filter(|&&m| m != 3).count(),
        });
        assert_eq!(*line, expected);
    }
    let text = String::from_utf8(inspect(&path, &["--blocks"]).stdout).unwrap();
    assert_eq!(text.lines().count(), 6);
}

#[test]
fn the_table_stays_short() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path());
    let file = PayloadFile::open(&path).unwrap();
    insta::assert_snapshot!("table", highground_tools::summary::table_of(&file));
}
