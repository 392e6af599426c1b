//! The content world: it cooks, the same for any thread count, and it is what its SOURCE.md says.

mod shared;

use highground_terrain::config::Diagonal;
use highground_terrain::cook::{Cooked, Recipe, cook};
use highground_terrain::coord::{BlockPos, BlockSide, CellPos, SamplePos};
use highground_terrain::state::AnswerState;
use highground_terrain::state::DataState;
use highground_terrain::store::{PayloadFile, WriteOptions, verify, write_payload};
use highground_terrain::surface::Ground;
use shared::{shared_data, write_grey16};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

fn recipe_path() -> PathBuf {
    highground_tests::root().join("content/worlds/jacksboro.ron")
}

fn write(cooked: &Cooked, path: &Path) {
    let options = WriteOptions::new(cooked.side, &cooked.origin.to_json(), cooked.rounding_m);
    write_payload(&cooked.raster, &options, path).unwrap();
}

#[test]
fn the_content_world_is_the_same_for_any_thread_count() {
    let dir = tempfile::tempdir().unwrap();
    let bytes: Vec<Vec<u8>> = [1, 2, 3]
        .map(|threads| {
            let path = dir.path().join("a.terrain");
            write(&cook(&recipe_path(), threads).unwrap(), &path);
            verify(&path).unwrap();
            fs::read(&path).unwrap()
        })
        .into();
    assert!(bytes[0] == bytes[1] && bytes[1] == bytes[2]);
}

#[test]
fn the_content_world_is_the_elevation_that_its_source_states() {
    let cooked = cook(&recipe_path(), 0).unwrap();
    assert_eq!(cooked.raster.config.samples, [403, 344]);
    let Some(npz) = shared_data("matplotlib-npz/jacksboro_fault_dem.npz") else { return };
    let mut archive = zip::ZipArchive::new(fs::File::open(npz).unwrap()).unwrap();
    let mut npy = Vec::new();
    archive.by_name("elevation.npy").unwrap().read_to_end(&mut npy).unwrap();
    // NPY version 1: magic, version, header length at 8, header, then row-major little-endian int16.
    let data = &npy[10 + usize::from(u16::from_le_bytes([npy[8], npy[9]]))..];
    assert_eq!(data.len(), 403 * 344 * 2);
    for (b, &q) in data.chunks_exact(2).zip(&cooked.raster.heights) {
        let metres = i32::from(i16::from_le_bytes([b[0], b[1]]));
        // A twentieth in 1/128 m, half up: (128 m / 20) = 6.4 m.
        assert_eq!(q, (metres * 64 + 5).div_euclid(10));
    }
}

#[test]
fn most_of_the_content_world_can_be_walked_and_some_cannot() {
    let raster = cook(&recipe_path(), 0).unwrap().raster;
    let [cw, ch] = raster.config.cells();
    // Steeper than an angle where (rise/run)² is above its tangent's square; run is 2 m, rise in 1/128 m.
    let (mut over_40, mut over_45) = (0, 0);
    for z in 0..ch {
        for x in 0..cw {
            let q = |dx, dz| f64::from(raster.quanta(SamplePos::new(x + dx, z + dz))) / 128.0 / 2.0;
            let (a, b, c, d) = (q(0, 0), q(1, 0), q(0, 1), q(1, 1));
            let gradients = if (x + z) % 2 == 0 {
                [(b - a, c - a), (d - c, d - b)]
            } else {
                [(b - a, d - b), (d - c, c - a)]
            };
            let steepest = gradients.map(|(gx, gz)| gx * gx + gz * gz).into_iter().fold(0.0, f64::max);
            over_40 += i32::from(steepest > 0.8391 * 0.8391);
            over_45 += i32::from(steepest > 1.0);
        }
    }
    let share = |n: i32| f64::from(n) / f64::from(cw * ch);
    assert!((0.20..0.25).contains(&share(over_40)), "{}", share(over_40));
    assert!((0.08..0.10).contains(&share(over_45)), "{}", share(over_45));
}

#[test]
fn the_content_world_has_its_holes_margin_and_layers() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.terrain");
    let cooked = cook(&recipe_path(), 0).unwrap();
    assert_eq!((cooked.side, cooked.raster.config.diagonal), (BlockSide::S32, Diagonal::Checkerboard));
    write(&cooked, &path);
    let file = PayloadFile::open(&path).unwrap();
    let ground = Ground::all_of(&file).unwrap();
    let state = |x: f64, z: f64| ground.point(x * 2.0, z * 2.0).unwrap().state;
    // Middles of whole holes; the far side of a half cell still stands.
    for (x, z) in [(235.5, 158.9), (240.5, 150.4), (223.5, 165.4), (224.5, 165.4), (195.5, 180.4)] {
        assert_eq!(state(x, z), AnswerState::Hole, "({x}, {z})");
    }
    // Cell (205, 172) is Main (odd sum) without triangle 0, which has x > z; cell (206, 172) is Anti without triangle 1.
    assert_eq!((state(205.8, 172.2), state(205.2, 172.8)), (AnswerState::Hole, AnswerState::Valid));
    assert_eq!((state(206.8, 172.8), state(206.2, 172.2)), (AnswerState::Hole, AnswerState::Valid));
    assert_eq!((state(3.9, 100.0), state(4.0, 100.0)), (AnswerState::Outside, AnswerState::Valid));
    assert_eq!((state(398.0, 339.0), state(398.1, 339.0)), (AnswerState::Valid, AnswerState::Outside));
    // 6 + 1 + 2 + 6 whole cells and five halves.
    assert_eq!(file.info().totals.hole_cells, 20);
    let weights = cooked.raster.hd_weights().unwrap();
    for layer in 0..cooked.raster.catalogue.layers.len() as u8 {
        let cells = weights.iter().filter(|t| t.dominant() == layer).count();
        assert!(cells > 1000, "layer {layer} leads in {cells} cells");
    }
    let ratios: std::collections::BTreeSet<u8> = weights.iter().map(|t| t.ratio).collect();
    assert!(ratios.len() > 100, "{} ratios", ratios.len());
}

#[test]
fn a_typo_is_named_with_line_and_column() {
    let path = Path::new("worlds/typo.ron");
    let text = fs::read_to_string(recipe_path()).unwrap();
    let typo = text.replace("spacing_m:", "spacng_m:");
    let error = Recipe::parse(&typo, path).unwrap_err().to_string();
    // The field stands on line 5, its name ends before column 13.
    assert!(error.starts_with("worlds/typo.ron:5:") && error.contains("spacng_m"), "{error}");
    for (from, to, words) in [
        ("checkerboard", "chequered", "chequered"),
        ("block: 32", "block: 33", "33"),
        ("min_m: 0,", "", "min_m"),
        ("Half(x: 205, z: 172, triangle: 0)", "Half(x: 205, y: 172, triangle: 0)", "`y`"),
        ("],\n)", "]", ""),
    ] {
        let error = Recipe::parse(&text.replacen(from, to, 1), path).unwrap_err().to_string();
        assert!(error.contains(words) && error.lines().count() == 1, "{from}: {error}");
    }
}

#[test]
fn impossible_recipes_say_what_is_wrong() {
    let dir = tempfile::tempdir().unwrap();
    write_grey16(&dir.path().join("a.png"), 5, 4, &[7; 20]);
    let path = dir.path().join("a.ron");
    let base = r#"source: (png: "a.png", min_m: 0, max_m: 65535), spacing_m: 2"#;
    for (more, words) in [
        ("holes: [Cells(x: 3, z: 0, w: 2, h: 1)]", "hole 0"),
        ("holes: [Cells(x: 3, z: 0, w: 0, h: 1)]", "hole 0"),
        ("holes: [Half(x: 0, z: 0, triangle: 2)]", "0 or 1, found 2"),
        ("holes: [Cells(x: 4294967295, z: 0, w: 1, h: 1)]", "hole 0"),
        ("extent: (x: 0, z: 0, w: 5, h: 3)", "extent"),
        ("vertical_scale: -1", "vertical scale"),
        (r#"layers: [(name: "a"), (name: "a")]"#, "same name"),
        (r#"layers: [(name: "a", height_m: (0, 1))]"#, "first layer"),
    ] {
        fs::write(&path, format!("({base}, {more})")).unwrap();
        let error = cook(&path, 1).unwrap_err().to_string();
        assert!(error.contains("a.ron: ") && error.contains(words), "{error}");
    }
    fs::write(&path, format!("({})", base.replace("a.png", "b.png"))).unwrap();
    assert!(cook(&path, 1).unwrap_err().to_string().contains("b.png: cannot be read"));
    fs::write(&path, format!("({base})")).unwrap();
    let cooked = cook(&path, 1).unwrap();
    assert!(cooked.raster.planes.is_empty() && cooked.raster.heights.iter().all(|&q| q == 7 * 128));
}

/// Heights in whole metres with holes as they lie, one character a triangle, for people to look at.
fn picture(raster: &highground_terrain::store::Raster) -> String {
    let [cw, ch] = raster.config.cells();
    let mut text = String::new();
    for z in 0..=ch {
        for x in 0..=cw {
            let q = raster.quanta(SamplePos::new(x, z));
            let shown = if q == i32::MIN { "--".to_owned() } else { format!("{:2}", q / 128) };
            text += &shown;
            if x < cw && z == ch {
                text += "     ";
            } else if x < cw {
                // Split as the cell is; a removed triangle is a dot.
                let cell = CellPos::new(x, z);
                let mask = raster.cell_mask(cell);
                let side = |bit: u8, sign: char| if mask & bit != 0 { sign } else { '.' };
                let split = if raster.config.diagonal.is_anti(cell) { '/' } else { '\\' };
                // Main has triangle 1 on the left, Anti triangle 0.
                let (left, right) = if split == '/' { (1, 2) } else { (2, 1) };
                text += &format!(" {}{split}{} ", side(left, '#'), side(right, '#'));
            }
        }
        text.push('\n');
    }
    text
}

#[test]
fn a_patch_of_heights_and_holes_looks_as_it_should() {
    let dir = tempfile::tempdir().unwrap();
    let values: Vec<u16> = (0..7 * 6).map(|i| (20 + i % 7 * 3 + i / 7 * (i % 5)) as u16).collect();
    write_grey16(&dir.path().join("a.png"), 7, 6, &values);
    let path = dir.path().join("patch.ron");
    let text = r#"(
        source: (png: "a.png", min_m: 0, max_m: 65535),
        spacing_m: 2,
        diagonal: checkerboard,
        extent: (x: 0, z: 0, w: 6, h: 4),
        holes: [Cells(x: 1, z: 1, w: 2, h: 1), Half(x: 4, z: 2, triangle: 0), Half(x: 5, z: 2, triangle: 1)],
        layers: [(name: "low"), (name: "high", height_m: (30, 90), soft_m: 8)],
    )"#;
    fs::write(&path, text).unwrap();
    let cooked = cook(&path, 1).unwrap();
    insta::assert_snapshot!("patch", picture(&cooked.raster));
    let out = dir.path().join("patch.terrain");
    write(&cooked, &out);
    let file = PayloadFile::open(&out).unwrap();
    let summary = highground_tools::summary::Summary::of(&file);
    insta::assert_snapshot!("inspect", serde_json::to_string_pretty(&summary).unwrap());
    let head = fs::read(&out).unwrap();
    let length = u32::from_le_bytes(head[12..16].try_into().unwrap()) as usize;
    insta::assert_snapshot!("header", dump(&head[..length]));
    assert_eq!(file.recorded_state(BlockPos::new(1, 0)), DataState::OutOfRange);
}

/// Sixteen bytes a line, with their characters.
fn dump(bytes: &[u8]) -> String {
    let line = |(i, b): (usize, &[u8])| {
        let hex: Vec<String> = b.iter().map(|b| format!("{b:02x}")).collect();
        let text: String =
            b.iter().map(|&b| if (32..127).contains(&b) { char::from(b) } else { '.' }).collect();
        format!("{:04x}  {:<47}  {text}\n", i * 16, hex.join(" "))
    };
    bytes.chunks(16).enumerate().map(line).collect()
}
