//! Import: every sample as the source has it, every odd source with one clear answer.

mod shared;

use highground_terrain::config::Diagonal;
use highground_terrain::coord::{BlockSide, SamplePos};
use highground_terrain::height::{QuantumLog2, VOID};
use highground_terrain::import::{Crop, ImportOptions, Imported, Nodata, VoidPolicy, import};
use highground_terrain::state::AnswerState;
use highground_terrain::store::{PayloadFile, WriteOptions, verify, write_payload};
use highground_terrain::surface::Ground;
use shared::{Numbers, png_header, shared_data, write_grey16, write_png, write_zip};
use std::fs;
use std::path::{Path, PathBuf};

fn spaced(spacing_m: f64) -> ImportOptions {
    ImportOptions { spacing_m: Some(spacing_m), ..ImportOptions::default() }
}

fn ranged(min: f64, max: f64) -> ImportOptions {
    ImportOptions { min_m: Some(min), max_m: Some(max), ..spaced(2.0) }
}

/// The error of an import: one line.
fn refused(path: &Path, options: &ImportOptions) -> String {
    let error = match import(path, options) {
        Ok(_) => panic!("{} was taken", path.display()),
        Err(error) => error.to_string(),
    };
    assert_eq!(error.lines().count(), 1, "{error}");
    error
}

fn hgt(heights: &[i16]) -> Vec<u8> {
    heights.iter().flat_map(|h| h.to_be_bytes()).collect()
}

fn file(dir: &tempfile::TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.path().join(name);
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn samples_of_a_small_tile_are_metres_and_voids_are_holes() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "hill.hgt", &hgt(&[0, 100, -12, 7, -32768, 3000, 5, 6, 8848]));
    let got = import(&path, &spaced(30.0)).unwrap();
    let q = 128;
    assert_eq!(got.raster.heights, [0, 100 * q, -12 * q, 7 * q, VOID, 3000 * q, 5 * q, 6 * q, 8848 * q]);
    // Main: triangle 0 is (00, 11, 10), triangle 1 is (00, 01, 11); the void is the middle sample.
    assert_eq!(got.raster.mask, [0, 1, 2, 0]);
    assert_eq!((got.origin.nodata, got.origin.nodata_samples), (Some(Nodata(-32768.0)), 1));
    assert_eq!(got.rounding_m, 0.0);
}

#[test]
fn a_zipped_tile_is_the_same_terrain() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = hgt(&[1, 2, 3, 4]);
    let plain = import(&file(&dir, "a.hgt", &bytes), &spaced(1.0)).unwrap();
    let path = dir.path().join("a.hgt.zip");
    write_zip(&path, &[("readme.txt", b"hello"), ("N43E007.hgt", &bytes)]);
    let zipped = import(&path, &spaced(1.0)).unwrap();
    assert_eq!(plain.raster, zipped.raster);
    assert_eq!(zipped.origin.member.as_deref(), Some("N43E007.hgt"));
    write_zip(&path, &[("a.hgt", &bytes), ("b.hgt", &bytes)]);
    assert!(refused(&path, &spaced(1.0)).contains("found 2 (a.hgt, b.hgt)"));
    write_zip(&path, &[("a.txt", &bytes)]);
    assert!(refused(&path, &spaced(1.0)).contains("found 0"));
}

#[test]
fn an_archive_that_lies_about_its_size_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bomb.zip");
    write_zip(&path, &[("a.hgt", &vec![0; 4 << 20])]);
    let bytes = fs::read(&path).unwrap();
    let place = |signature: &[u8], offset: usize| {
        bytes.windows(4).rposition(|w| w == signature).map(|at| at + offset).unwrap()
    };
    // The uncompressed size stands in the local header at 22 and in the central directory at 24.
    for claim in [8u32, 2_884_802, 0xFFFF_FF00] {
        let mut bytes = bytes.clone();
        for at in [place(b"PK\x03\x04", 22), place(b"PK\x01\x02", 24)] {
            bytes[at..at + 4].copy_from_slice(&claim.to_le_bytes());
        }
        fs::write(&path, bytes).unwrap();
        let error = refused(&path, &spaced(1.0));
        assert!(error.contains("a.hgt"), "{claim}: {error}");
    }
}

#[test]
fn wrong_sizes_say_what_was_found_and_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    for (bytes, options, expected) in [
        (0, spaced(1.0), "found 0 bytes"),
        (3, spaced(1.0), "found 3 bytes"),
        (20, spaced(1.0), "found 20 bytes"),
        (8, ImportOptions::default(), "--spacing"),
        (2_884_800, ImportOptions::default(), "expected an .hgt of 2884802 (1201x1201)"),
    ] {
        let error = refused(&file(&dir, "N43E007.hgt", &vec![0; bytes]), &options);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn swapped_bytes_are_refused_and_said() {
    let dir = tempfile::tempdir().unwrap();
    let hills: Vec<i16> = (0..50 * 50).map(|i| 400 + i % 50 * 9 + i / 50 * 3).collect();
    let swapped: Vec<u8> = hills.iter().flat_map(|h| h.to_le_bytes()).collect();
    assert!(import(&file(&dir, "a.hgt", &hgt(&hills)), &spaced(30.0)).is_ok());
    assert!(refused(&file(&dir, "b.hgt", &swapped), &spaced(30.0)).contains("bytes are swapped"));
}

#[test]
fn crop_and_nodata_and_void_policies_do_what_they_say() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "a.hgt", &hgt(&[0, 1, 2, 3, 10, 11, -9999, 13, 20, 21, 22, 23, 30, 31, 32, 33]));
    let options =
        ImportOptions { crop: Some(Crop { x: 1, z: 0, w: 3, h: 3 }), nodata: Some(-9999.0), ..spaced(1.0) };
    let got = import(&path, &options).unwrap();
    assert_eq!(
        got.raster.heights,
        [1, 2, 3, 11, VOID, 13, 21, 22, 23].map(|h| if h == VOID { h } else { h * 128 })
    );
    assert_eq!(
        (got.origin.nodata, got.origin.nodata_samples, got.origin.size),
        (Some(Nodata(-9999.0)), 1, [4, 4])
    );
    let filled = import(&path, &ImportOptions { voids: VoidPolicy::Fill, ..options.clone() }).unwrap();
    // The mean of 1, 2, 3, 11, 13, 21, 22, 23 is 12; the −9999 is in no sum.
    assert_eq!(filled.raster.heights[4], 12 * 128);
    assert!(filled.raster.mask.iter().all(|&m| m == 3));
    let error = refused(&path, &ImportOptions { voids: VoidPolicy::Error, ..options });
    assert!(error.contains("sample (2, 1)"), "{error}");
}

#[test]
fn image_values_are_rounded_once_from_the_exact_fraction() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.png");
    let values: Vec<u16> =
        (0..64).map(|i| (i * 1039) as u16).chain([0, 1, 32_767, 32_768, 65_534, 65_535]).collect();
    write_grey16(&path, 35, 2, &values);
    let options = ImportOptions {
        vertical_scale: 2.5,
        quantum: QuantumLog2::try_from(9).ok(),
        ..ranged(-20.25, 480.5)
    };
    let got = import(&path, &options).unwrap();
    for (v, q) in values.iter().zip(&got.raster.heights) {
        // h = 2.5 · (−20.25 + v · 500.75 / 65535) m in units of 1/512 m, all times 65535 · 8: integers throughout.
        let n = 512 * 5 * (-81 * 65_535 + i64::from(*v) * 2003);
        let d = 65_535 * 8;
        let floor = (2 * n + d).div_euclid(2 * d);
        assert_eq!(i64::from(*q), floor, "value {v}");
    }
    assert_eq!(got.raster.config.vertical_scale, 2.5);
    assert!(got.rounding_m > 0.0 && got.rounding_m <= 0.5 / 512.0);
}

#[test]
fn images_need_a_range_and_a_spacing_and_tiles_do_not() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.png");
    write_grey16(&path, 2, 2, &[0, 1, 2, 3]);
    assert!(refused(&path, &spaced(1.0)).contains("--min and --max"));
    assert!(refused(&path, &ImportOptions { min_m: Some(0.0), ..spaced(1.0) }).contains("--min and --max"));
    assert!(refused(&path, &ImportOptions { spacing_m: None, ..ranged(0.0, 1.0) }).contains("--spacing"));
    assert!(refused(&path, &ImportOptions { spacing_m: Some(0.3), ..ranged(0.0, 1.0) }).contains("1/256"));
    assert!(
        refused(&path, &ImportOptions { spacing_m: Some(f64::NAN), ..ranged(0.0, 1.0) }).contains("1/256")
    );
    assert!(refused(&path, &ImportOptions { vertical_scale: 0.0, ..ranged(0.0, 1.0) }).contains("positive"));
    let tile = file(&dir, "a.hgt", &hgt(&[0; 4]));
    assert!(refused(&tile, &ranged(0.0, 1.0)).contains("leave --min and --max out"));
}

#[test]
fn other_kinds_of_images_are_taken_for_what_they_are_or_refused() {
    use png::{BitDepth, ColorType};
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.png");
    write_png(&path, 2, 2, ColorType::Rgb, BitDepth::Eight, &[9, 9, 9, 1, 2, 3, 5, 5, 5, 6, 6, 6]);
    let error = refused(&path, &ranged(0.0, 1.0));
    assert!(error.contains("differ in 1 of 4 samples") && error.contains("--channel"), "{error}");
    let green = ImportOptions { channel: Some("g".to_owned()), ..ranged(0.0, 255.0) };
    assert_eq!(import(&path, &green).unwrap().raster.heights, [9, 2, 5, 6].map(|h| h * 128));
    write_png(&path, 2, 2, ColorType::Grayscale, BitDepth::Eight, &[0, 51, 102, 255]);
    let got = import(&path, &ranged(-10.0, 245.0)).unwrap();
    assert_eq!(got.raster.heights, [-10, 41, 92, 245].map(|h| h * 128));
    assert!(got.origin.notes.iter().any(|n| n.contains("terraced")), "{:?}", got.origin.notes);
    let alpha: Vec<u8> = [[0, 9, 255, 255], [0, 8, 0, 0], [0, 7, 0, 1], [0, 6, 1, 0]].concat();
    write_png(&path, 2, 2, ColorType::GrayscaleAlpha, BitDepth::Sixteen, &alpha);
    let got = import(&path, &ranged(0.0, 65_535.0)).unwrap();
    assert_eq!(got.raster.heights, [9 * 128, VOID, 7 * 128, 6 * 128]);
}

#[test]
fn images_that_claim_more_than_they_hold_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    for (w, h) in [(200_000, 200_000), (100_000, 100_000), (30_000, 30_000), (1, 5), (2, 1), (131_073, 2)] {
        let error = refused(&file(&dir, "bomb.png", &png_header(w, h)), &ranged(0.0, 1.0));
        assert!(error.contains(&format!("{w}x{h}")), "{error}");
    }
    // A size that its file could hold, but does not.
    let error = refused(&file(&dir, "short.png", &png_header(40, 40)), &ranged(0.0, 1.0));
    assert!(error.contains("PNG"), "{error}");
}

#[test]
fn every_truncation_and_flipped_byte_of_an_image_is_refused_or_harmless() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.png");
    let values: Vec<u16> = (0..30).map(|i| i * 2111).collect();
    write_grey16(&path, 6, 5, &values);
    let good = fs::read(&path).unwrap();
    let taken = import(&path, &ranged(0.0, 100.0)).unwrap();
    for length in 0..good.len() - 12 {
        fs::write(&path, &good[..length]).unwrap();
        refused(&path, &ranged(0.0, 100.0));
    }
    for at in 0..good.len() {
        for bit in 0..8 {
            let mut bytes = good.clone();
            bytes[at] ^= 1 << bit;
            fs::write(&path, bytes).unwrap();
            // Checksums cover every byte but lengths and signatures: what is taken all the same is the same.
            if let Ok(got) = import(&path, &ranged(0.0, 100.0)) {
                assert_eq!(got.raster, taken.raster, "bit {bit} of byte {at}");
            }
        }
    }
}

/// The height of Main's triangles from four metres, written out anew; NaN where a corner of the triangle is void.
fn main_height(h: [f64; 4], fx: f64, fz: f64) -> f64 {
    let [h00, h10, h01, h11] = h;
    if fx > fz {
        h00 + (h10 - h00) * fx + (h11 - h10) * fz
    } else {
        h00 + (h11 - h01) * fx + (h01 - h00) * fz
    }
}

#[test]
fn a_real_tile_agrees_at_every_sample_and_inside_cells() {
    let Some(path) = shared_data("srtm-hgt-riviera/N43E007.hgt") else { return };
    let raw = fs::read(&path).unwrap();
    let metres = |x: usize, z: usize| {
        let at = (z * 1201 + x) * 2;
        let v = i32::from(raw[at] as i8) * 256 + i32::from(raw[at + 1]);
        if v == -32768 { f64::NAN } else { f64::from(v) }
    };
    let got = import(&path, &spaced(32.0)).unwrap();
    assert_eq!(got.origin.nodata_samples, 1595);
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("a.terrain");
    write_payload(
        &got.raster,
        &WriteOptions::new(BlockSide::S32, &got.origin.to_json(), got.rounding_m),
        &out,
    )
    .unwrap();
    let file = verify(&out).unwrap();
    let ground = Ground::all_of(&file).unwrap();
    let ask = |x: f64, z: f64| ground.point(x * 32.0, z * 32.0).unwrap();
    for z in 0..1201usize {
        for x in 0..1201usize {
            let expected = metres(x, z);
            assert_eq!(got.raster.quanta(SamplePos::new(x as i32, z as i32)) == VOID, expected.is_nan());
            match ask(x as f64, z as f64).height() {
                Some(height) => assert_eq!(height, expected, "sample ({x}, {z})"),
                // No answer at a void, or at a sample that voids surround.
                None => assert!(surrounded(&metres, x, z), "sample ({x}, {z})"),
            }
        }
    }
    let mut numbers = Numbers(7);
    for _ in 0..200_000 {
        let (x, z) = (numbers.below(1200) as usize, numbers.below(1200) as usize);
        let (fx, fz) =
            (numbers.below(63) as f64 / 64.0 + 1.0 / 64.0, numbers.below(63) as f64 / 64.0 + 1.0 / 128.0);
        let h = [metres(x, z), metres(x + 1, z), metres(x, z + 1), metres(x + 1, z + 1)];
        let expected = main_height(h, fx, fz);
        let answer = ask(x as f64 + fx, z as f64 + fz);
        if expected.is_nan() {
            assert_eq!(answer.state, AnswerState::Hole);
        } else {
            assert_eq!(answer.height(), Some(expected), "({x} + {fx}, {z} + {fz})");
        }
    }
}

/// Whether every Main triangle at a sample touches a void.
fn surrounded(metres: &impl Fn(usize, usize) -> f64, x: usize, z: usize) -> bool {
    let void = |dx: i64, dz: i64| {
        let (x, z) = (x as i64 + dx, z as i64 + dz);
        !(0..1201).contains(&x) || !(0..1201).contains(&z) || metres(x as usize, z as usize).is_nan()
    };
    // The six triangles around a vertex of the Main diagonal, by their other two corners.
    let ring = [(1, 0), (1, 1), (0, 1), (-1, 0), (-1, -1), (0, -1)];
    void(0, 0) || (0..6).all(|i| void(ring[i].0, ring[i].1) || void(ring[(i + 1) % 6].0, ring[(i + 1) % 6].1))
}

#[test]
fn a_real_tile_without_spacing_is_resampled_to_square_metres() {
    let Some(path) = shared_data("srtm-hgt-riviera/N43E007.hgt") else { return };
    let plain = import(&path, &spaced(32.0)).unwrap();
    let got = import(&path, &ImportOptions::default()).unwrap();
    assert!(got.origin.resampled && !plain.origin.resampled);
    // Longitude at 43.5° is the finer axis: 6371008.8 · π/180 / 1200 · cos 43.5° = 67.215 m.
    assert_eq!(got.raster.config.spacing_256, 17_207);
    let [sx, sz] = got.origin.source_step_m.unwrap();
    let spacing = got.raster.config.spacing_m();
    let [w, h] = got.raster.config.samples;
    assert!(f64::from(w - 1) * spacing <= 1200.0 * sx && f64::from(w) * spacing > 1200.0 * sx);
    assert!(f64::from(h - 1) * spacing <= 1200.0 * sz && f64::from(h) * spacing > 1200.0 * sz);
    // Voids never blend: nothing lies outside the heights around it.
    for z in 0..h as i32 {
        for x in 0..w as i32 {
            let (u, v) = (f64::from(x) * spacing / sx, f64::from(z) * spacing / sz);
            let around = [(0, 0), (1, 0), (0, 1), (1, 1)]
                .map(|(dx, dz)| plain.raster.quanta(SamplePos::new(u as i32 + dx, v as i32 + dz)));
            let q = got.raster.quanta(SamplePos::new(x, z));
            let known = || around.into_iter().filter(|&a| a != VOID);
            if q == VOID {
                assert!(around.contains(&VOID), "({x}, {z})");
            } else {
                assert!(
                    (known().min() <= Some(q)) && (known().max() >= Some(q)),
                    "({x}, {z}): {q} {around:?}"
                );
            }
        }
    }
}

#[test]
fn neighbouring_real_tiles_share_their_edge() {
    let (Some(north), Some(south)) = (
        shared_data("srtm-hgt-pyrenees-pair/N42E001.hgt.zip"),
        shared_data("srtm-hgt-pyrenees-pair/N41E001.hgt.zip"),
    ) else {
        return;
    };
    let [north, south] = [north, south].map(|p| import(&p, &spaced(32.0)).unwrap());
    assert_eq!(north.raster.heights[1200 * 1201..], south.raster.heights[..1201]);
    assert_eq!((north.origin.nodata_samples, south.origin.nodata_samples), (7652, 134));
    let range = |i: &Imported| {
        let valid = || i.raster.heights.iter().copied().filter(|&q| q != VOID);
        (valid().min().unwrap() / 128, valid().max().unwrap() / 128)
    };
    assert_eq!((range(&north), range(&south)), ((349, 3100), (-20, 1204)));
}

#[test]
fn extreme_real_heights_survive_the_payload() {
    let Some(path) = shared_data("derived-hgt-odd/extreme_values_S01E000.hgt.zip") else { return };
    let got = import(&path, &spaced(30.0)).unwrap();
    assert!(got.raster.heights.iter().all(|&q| q.abs() == 32_767 * 128));
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("a.terrain");
    write_payload(&got.raster, &WriteOptions::new(BlockSide::S128, "{}", 0.0), &out).unwrap();
    let file: PayloadFile = verify(&out).unwrap();
    let totals = file.info().totals;
    assert_eq!((totals.void_samples, totals.hole_cells), (0, 0));
    assert_eq!(totals.range, Some((-32_767 * 128, 32_767 * 128)));
}

#[test]
fn real_images_agree_however_they_are_stored() {
    let Some(folder) = shared_data("derived-png") else { return };
    let options = ranged(250.0, 6929.0);
    let take = |name: &str| import(&folder.join(name), &options).unwrap();
    let plain = take("andes_257_g16.png");
    // k = 7: a step is 6679/65535 = 0.1019 m, a quarter of it more than 1/256 m.
    assert_eq!(plain.raster.config.quantum.get(), 7);
    let valid = || plain.raster.heights.iter().copied();
    // The extreme values present are 21 and 64983.
    let expected = |v: f64| ((250.0 + v * 6679.0 / 65535.0) * 128.0 + 0.5).floor() as i32;
    assert_eq!((valid().min(), valid().max()), (Some(expected(21.0)), Some(expected(64_983.0))));
    let gamma = take("andes_257_g16_gamma.png");
    assert_eq!(plain.raster, gamma.raster);
    assert!(gamma.origin.notes.iter().any(|n| n.contains("gAMA")), "{:?}", gamma.origin.notes);
    assert_eq!(plain.raster, take("andes_257_g16_interlaced.png").raster);
    let holes = take("andes_257_ga16_holes.png").raster;
    for z in 0..257 {
        for x in 0..257 {
            let hole = (100..=129).contains(&z) && (50..=109).contains(&x) || z == 150;
            let expected = if hole { VOID } else { plain.raster.quanta(SamplePos::new(x, z)) };
            assert_eq!(holes.quanta(SamplePos::new(x, z)), expected, "({x}, {z})");
        }
    }
}

#[test]
fn the_diagonal_asked_for_splits_the_cells() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "a.hgt", &hgt(&[0, 1, 1, 0]));
    for (diagonal, middle) in [(Diagonal::Main, 0.0), (Diagonal::Anti, 1.0), (Diagonal::Checkerboard, 1.0)] {
        let got = import(&path, &ImportOptions { diagonal, ..spaced(2.0) }).unwrap();
        let out = dir.path().join("a.terrain");
        write_payload(&got.raster, &WriteOptions::new(BlockSide::S32, "{}", 0.0), &out).unwrap();
        let ground = Ground::all_of(&PayloadFile::open(&out).unwrap()).unwrap();
        assert_eq!(ground.point(1.0, 1.0).unwrap().height(), Some(middle));
    }
}
