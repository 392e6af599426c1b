//! Every file of the shared data, against other people's readers: `data/reference.py` wrote what must come of each into
//! `data/reference.json`; what must be refused is listed here.

mod shared;

use highground_terrain::coord::{BlockSide, SamplePos};
use highground_terrain::height::{QuantumLog2, VOID};
use highground_terrain::import::{Crop, ImportOptions, Samples, SourceFormat, import, open};
use highground_terrain::state::AnswerState;
use highground_terrain::store::{MemoryTerrain, Raster};
use highground_terrain::surface::Ground;
use serde_json::Value;
use shared::shared_data;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const REFERENCE: &str = include_str!("data/reference.json");

/// What the reference puts in place of a void.
const VOID_VALUE: f64 = f64::MIN;

/// File, options as on the command line, words of the refusal.
const REFUSED: &[(&str, &str, &str)] = &[
    ("derived-hgt-odd/byteswapped_N43E007.hgt.zip", "--spacing 30", "bytes are swapped"),
    ("derived-hgt-odd/empty.hgt", "--spacing 30", "found 0 bytes"),
    ("derived-hgt-odd/empty_N01E001.hgt.zip", "--spacing 30", "found 0 bytes"),
    ("derived-hgt-odd/three_bytes.hgt", "--spacing 30", "found 3 bytes"),
    ("derived-hgt-odd/truncated_midrow_N43E007.hgt.zip", "--spacing 30", "found 1442401 bytes"),
    ("derived-hgt-odd/zip_truncated_N43E007.hgt.zip", "--spacing 30", "damaged or truncated"),
    ("derived-png/andes_257_g16.png", "--spacing 2", "--min and --max"),
    ("derived-png/andes_257_g16.png", "--min 0 --max 1", "--spacing"),
    ("derived-png/andes_257_splat_rgba_sum255.png", "--spacing 2 --min 0 --max 1", "--channel"),
    ("derived-png/bad_flipped_byte.png", "--spacing 2 --min 0 --max 1", "damaged"),
    ("derived-png/bad_header_200000x200000.png", "--spacing 2 --min 0 --max 1", "200000x200000"),
    ("derived-png/bad_truncated.png", "--spacing 2 --min 0 --max 1", "truncated"),
    ("derived-png/deadsea_256_terrainrgb.png", "--spacing 2 --min 0 --max 1", "--channel"),
    ("derived-png/deadsea_256_truth.f32", "--spacing 2", "--format"),
    ("derived-png/one_pixel_g16.png", "--spacing 2 --min 0 --max 1", "1x1"),
    ("derived-png/one_row_257_g16.png", "--spacing 2 --min 0 --max 1", "257x1"),
    ("derived-raw-game/andes_700x333_nonsquare.r16", "--spacing 2 --min 0 --max 1", "--size"),
    ("derived-raw-game/andes_505x505.r16", "--spacing 2", "--min and --max"),
    ("etopo20-bathymetry/etopo20.cdf", "", "NetCDF"),
    ("etopo20-bathymetry/etopo60.cdf", "", "NetCDF"),
    ("gazebo-heightmaps/heightmap_bowl.png", "--spacing 1 --min 0 --max 50", "--channel"),
    ("odd-exr/AllHalfValues.exr", "--spacing 1 --channel G", "(0, 124) to be infinite: pass --nodata inf"),
    (
        "odd-exr/AllHalfValues.exr",
        "--spacing 1 --channel G --nodata inf",
        "(1, 124) to be NaN (not a number): pass --nodata nan",
    ),
    ("odd-exr/AllHalfValues.exr", "--spacing 1", "infinite"),
    ("odd-exr/BrightRingsNanInf.exr", "--spacing 1 --channel R", "sample ("),
    ("odd-exr/comp_bad_neg_bounds_pxr24.exr", "--spacing 1", "channels: expected"),
    ("odd-exr/comp_early_eof_piz.exr", "--spacing 1", "attribute dataWindow"),
    ("odd-exr/comp_invalid_unknown.exr", "--spacing 1", "displayWindow"),
    ("odd-exr/comp_short_decode_piz.exr", "--spacing 1", "channels: expected"),
    ("odd-exr/invalid_integer_bounds.exr", "--spacing 1", "version 2"),
    ("odd-exr/zero-tilesize.exr", "--spacing 1", "539090689x0"),
    ("odd-png-pngsuite/basi6a16.png", "--spacing 1 --min 0 --max 1", "--channel"),
    ("odd-png-pngsuite/basn2c16.png", "--spacing 1 --min 0 --max 1", "--channel"),
    // Its data is in two parts with another chunk between them, which the PNG specification forbids.
    ("odd-png-pngsuite/x_consecutive_idat.png", "--spacing 1 --min 0 --max 1 --channel r", "damaged"),
    ("odd-png-pngsuite/x_ihdr_missing.png", "--spacing 1 --min 0 --max 1", "damaged"),
    ("odd-png-pngsuite/x_interlaced_chck.png", "--spacing 1 --min 0 --max 1", "damaged"),
    ("odd-png-pngsuite/x_unexpected_eof.png", "--spacing 1 --min 0 --max 1", "damaged"),
    ("odd-png-pngsuite/xc1n0g08.png", "--spacing 1 --min 0 --max 1", "damaged"),
    ("odd-png-pngsuite/xc9n2c08.png", "--spacing 1 --min 0 --max 1", "damaged"),
    ("odd-png-pngsuite/xcrn0g04.png", "--spacing 1 --min 0 --max 1", "damaged"),
    ("odd-png-pngsuite/xcsn0g01.png", "--spacing 1 --min 0 --max 1", "damaged"),
    ("odd-png-pngsuite/xd0n2c08.png", "--spacing 1 --min 0 --max 1", "damaged"),
    ("odd-png-pngsuite/xd3n2c08.png", "--spacing 1 --min 0 --max 1", "damaged"),
    ("odd-png-pngsuite/xd9n2c08.png", "--spacing 1 --min 0 --max 1", "damaged"),
    ("odd-png-pngsuite/xdtn0g01.png", "--spacing 1 --min 0 --max 1", "damaged"),
    ("odd-png-pngsuite/xhdn0g08.png", "--spacing 1 --min 0 --max 1", "damaged"),
    ("odd-png-pngsuite/xlfn0g04.png", "--spacing 1 --min 0 --max 1", "damaged"),
    ("odd-png-pngsuite/xs1n0g01.png", "--spacing 1 --min 0 --max 1", "damaged"),
    ("odd-tiff/114p01_0100_deme_truncated.dem", "", "number of columns"),
    ("odd-tiff/float_raster_with_extra_nodata.tif", "", "500"),
    ("odd-tiff/fuzz_colormap-shl-overflow.tiff", "--spacing 1", "found 83 bits"),
    ("odd-tiff/fuzz_graydepth-invert-overflow-5a0aad5024cc4ff3.tiff", "--spacing 1", "tag 256"),
    ("odd-tiff/fuzz_sample-get-lzw-stuck.tiff", "--spacing 1 --min 0 --max 1", "tile 0"),
    ("odd-tiff/gradient-1c-32b-float.tiff", "--spacing 1", "256x1"),
    ("odd-tiff/gradient-1c-64b-float.tiff", "--spacing 1", "256x1"),
    ("odd-tiff/int16.tif", "--spacing 1 --min 0 --max 5", "leave --min and --max out"),
    ("odd-tiff/int16.tif", "--spacing 1 --nodata 0.5", "--nodata 0.5"),
    ("odd-tiff/rotated.tif", "--spacing 1", "rotated"),
    ("terrain-rgb-pair/elev-rgb.tif", "--spacing 6", "--channel"),
    ("terrain3d-demo/crop_control_257x257.u32", "--spacing 1", "--format"),
    ("u3d-heightmap-weights/TerrainWeights.dds", "--spacing 1", "DDS"),
];

/// The options of a command line, as far as the tables use them.
fn options(line: &str) -> ImportOptions {
    let mut options = ImportOptions::default();
    let mut words = line.split_whitespace();
    while let Some(option) = words.next() {
        if option == "--signed" || option == "--south-up" {
            if option == "--signed" {
                options.signed = true
            } else {
                options.south_up = true
            }
            continue;
        }
        let value = words.next().unwrap_or_else(|| panic!("{option} has no value"));
        let number = || value.parse::<f64>().unwrap();
        match option {
            "--spacing" => options.spacing_m = Some(number()),
            "--min" => options.min_m = Some(number()),
            "--max" => options.max_m = Some(number()),
            "--nodata" => options.nodata = Some(number()),
            "--channel" => options.channel = Some(value.to_owned()),
            "--byte-order" => options.big_endian = Some(value == "big"),
            "--quantum-log2" => options.quantum = QuantumLog2::try_from(value.parse::<u8>().unwrap()).ok(),
            "--size" => {
                let (w, h) = value.split_once('x').unwrap();
                options.size = Some([w.parse().unwrap(), h.parse().unwrap()]);
            }
            "--rgb" => {
                let (base, step) = value.split_once(',').unwrap();
                options.rgb = Some((base.parse().unwrap(), step.parse().unwrap()));
            }
            "--crop" => {
                let n: Vec<u32> = value.split(',').map(|n| n.parse().unwrap()).collect();
                options.crop = Some(Crop { x: n[0], z: n[1], w: n[2], h: n[3] });
            }
            "--format" => {
                options.format = Some(match value {
                    "raw32" => SourceFormat::Raw32,
                    "terrain-rgb" => SourceFormat::TerrainRgb,
                    "terrarium" => SourceFormat::Terrarium,
                    other => panic!("{other}"),
                });
            }
            other => panic!("{other}"),
        }
    }
    options
}

fn reference() -> Vec<Value> {
    serde_json::from_str(REFERENCE).unwrap()
}

fn text<'a>(entry: &'a Value, key: &str) -> &'a str {
    entry[key].as_str().unwrap_or_else(|| panic!("{key} of {entry}"))
}

#[test]
fn every_sample_of_every_good_file_is_what_other_readers_read() {
    if shared_data("").is_none() {
        return;
    }
    for entry in reference() {
        let name = text(&entry, "file");
        let path = shared_data(name).unwrap();
        let options = options(text(&entry, "options"));
        let got = import(&path, &options).unwrap_or_else(|e| panic!("{name}: {e}"));
        let raster = &got.raster;
        raster.check().unwrap();
        let size: Vec<u32> = serde_json::from_value(entry["size"].clone()).unwrap();
        assert_eq!(raster.config.samples[..], size[..], "{name}");
        assert_eq!(got.origin.nodata_samples, entry["voids"], "{name}: voids");
        assert_eq!(raster.config.quantum.get(), entry["quantum_log2"], "{name}: k");
        let known = || raster.heights.iter().copied().filter(|&q| q != VOID);
        let metres = |q: Option<i32>| q.map(|q| raster.config.quantum.to_metres(q));
        assert_eq!(
            (metres(known().min()), metres(known().max())),
            (entry["min_m"].as_f64(), entry["max_m"].as_f64()),
            "{name}: lowest and highest"
        );
        assert_eq!(values_hash(&path, &options), text(&entry, "values"), "{name}: raw values");
        let mut quanta = blake3::Hasher::new();
        raster.heights.iter().for_each(|q| {
            quanta.update(&q.to_le_bytes());
        });
        assert_eq!(quanta.finalize().to_hex().as_str(), text(&entry, "quanta"), "{name}: quanta");
    }
}

/// The hash of the raw values as the reference makes it.
fn values_hash(path: &Path, options: &ImportOptions) -> String {
    let source = open(path, options).unwrap().source;
    let [w, h] = source.size;
    let c = options.crop.unwrap_or(Crop { x: 0, z: 0, w, h });
    let mut hash = blake3::Hasher::new();
    for z in c.z..c.z + c.h {
        for i in (z * w + c.x) as usize..(z * w + c.x + c.w) as usize {
            let v = source.samples.get(i);
            let nodata = options.nodata.is_some_and(|n| v == n || v.is_nan() && n.is_nan());
            let v = if source.voids.get(i) || nodata { VOID_VALUE } else { v };
            hash.update(&v.to_le_bytes());
        }
    }
    hash.finalize().to_hex().as_str().to_owned()
}

#[test]
fn every_bad_file_is_refused_with_one_line_that_says_why() {
    if shared_data("").is_none() {
        return;
    }
    let mut wrong = Vec::new();
    for (name, line, words) in REFUSED {
        let path = shared_data(name).unwrap();
        match import(&path, &options(line)) {
            Ok(_) => wrong.push(format!("{name} {line}: taken, and not refused with {words:?}")),
            Err(error) => {
                let error = error.to_string();
                // A line that says no more than that something is wrong is none.
                if !error.contains(words) || error.lines().count() != 1 || error.len() < 20 {
                    wrong.push(format!("{name} {line}: {error}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_file_of_the_shared_data_is_in_a_table() {
    let Some(root) = shared_data("") else { return };
    let listed: BTreeSet<String> = reference()
        .iter()
        .map(|e| text(e, "file").to_owned())
        .chain(REFUSED.iter().map(|r| r.0.to_owned()))
        .collect();
    for folder in fs::read_dir(root).unwrap().map(Result::unwrap).filter(|f| f.path().is_dir()) {
        for file in fs::read_dir(folder.path()).unwrap().map(Result::unwrap) {
            let name = file.file_name().into_string().unwrap();
            let about = name.ends_with(".md") || name.ends_with(".csv") || name == "meta.json";
            if about || name.contains("LICENSE") || name.starts_with("copyright") {
                continue;
            }
            let name = format!("{}/{name}", folder.file_name().to_str().unwrap());
            assert!(listed.contains(&name), "{name} is in neither table");
        }
    }
}

#[test]
fn painted_layers_and_holes_of_a_region_come_along() {
    let Some(path) = shared_data("terrain3d-demo/terrain3d_00_00.res") else { return };
    let got = import(&path, &options("--spacing 1")).unwrap();
    let raster = &got.raster;
    // 905 samples are marked as holes; every cell with a marked corner goes.
    let marked = {
        let (w, h, levels) = grey8(&shared_data("terrain3d-demo/holes_1024.png").unwrap());
        assert_eq!((w, h, levels.iter().filter(|&&v| v != 0).count()), (1024, 1024, 905));
        levels
    };
    for z in 0..1023usize {
        for x in 0..1023usize {
            let removed = [0, 1, 1024, 1025].iter().any(|d| marked[z * 1024 + x + d] != 0);
            assert_eq!(raster.mask[z * 1023 + x], if removed { 0 } else { 3 }, "({x}, {z})");
        }
    }
    // Base and overlay ids are 0 and 1: two layers whose weights sum to 255 everywhere.
    assert_eq!((raster.catalogue.layers.len(), raster.planes.len()), (2, 2));
    let sums = raster.planes[0].values.iter().zip(&raster.planes[1].values);
    assert!(sums.map(|(a, b)| u32::from(*a) + u32::from(*b)).all(|sum| sum == 255));
    assert!(raster.planes.iter().all(|p| p.values.iter().any(|&v| v != 0)));
}

fn grey8(path: &Path) -> (u32, u32, Vec<u8>) {
    let options = ImportOptions { min_m: Some(0.0), max_m: Some(1.0), ..options("--spacing 1") };
    let source = open(path, &options).unwrap().source;
    let Samples::U8(levels) = source.samples else { panic!("8-bit") };
    (source.size[0], source.size[1], levels)
}

/// The answers of another implementation at picked points.
fn queries(raster: &Raster, csv: &Path) -> [usize; 3] {
    let ground = Ground::all_of(&MemoryTerrain::new(raster.clone(), BlockSide::S32)).unwrap();
    let s = raster.config.spacing_m();
    let [w, h] = raster.config.samples.map(f64::from);
    let metres = |x: f64, z: f64| {
        let q = raster.quanta(SamplePos::new(x as i32, z as i32));
        (q != VOID).then(|| raster.config.quantum.to_metres(q))
    };
    let (mut nearest, mut bilinear, mut voids) = (0, 0, 0);
    for line in fs::read_to_string(csv).unwrap().lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |i: usize| fields[i].parse::<f64>().ok();
        let (z, x) = (number(2).unwrap(), number(3).unwrap());
        let clamp = |v: f64, n: f64| v.round().clamp(0.0, n - 1.0);
        // The reference writes the file's own mark where there is no data.
        let expected = number(4).filter(|&v| v > -32_000.0);
        assert_eq!(metres(clamp(x, w), clamp(z, h)), expected, "nearest at {line}");
        nearest += 1;
        let inside = (0.0..=w - 1.0).contains(&x) && (0.0..=h - 1.0).contains(&z);
        if !inside {
            continue;
        }
        let answer = ground.point(x * s, z * s).unwrap();
        let Some(expected) = number(5) else {
            voids += 1;
            continue;
        };
        let (x0, z0) = (x.floor().min(w - 2.0), z.floor().min(h - 2.0));
        let corners =
            [(0.0, 0.0), (1.0, 1.0), (1.0, 0.0), (0.0, 1.0)].map(|(dx, dz)| metres(x0 + dx, z0 + dz));
        let [Some(h00), Some(h11), Some(h10), Some(h01)] = corners else {
            // A point right on a line of samples may have a void across it.
            voids += 1;
            continue;
        };
        assert_eq!(answer.state, AnswerState::Valid, "{line}");
        // On a Main cell the two differ by |h00 + h11 − h10 − h01| · fz · (1 − fx) at most, with fz ≤ fx; beside that the
        // reference has nine digits, and the point is rounded to 2⁻¹⁶ m.
        let bound = (h00 + h11 - h10 - h01).abs() / 4.0 + 1e-3;
        let height = answer.height().unwrap();
        assert!((height - expected).abs() <= bound, "{height} at {line}, bound {bound}");
        bilinear += 1;
    }
    [nearest, bilinear, voids]
}

#[test]
fn picked_points_agree_with_another_implementation() {
    for (csv, source, line) in [
        ("alps_voids", "srtm-alps-voids/N46E008.tif.zip", "--spacing 90"),
        ("deadsea", "srtm-dead-sea-negative/n31_e035_3arc_v2.tif.zip", "--spacing 90"),
        ("riviera", "srtm-hgt-riviera/N43E007.hgt", "--spacing 32"),
        ("sthelens", "usgs-dem-st-helens/SainteHelens.dem", ""),
    ] {
        let (Some(csv), Some(source)) =
            (shared_data(&format!("reference-queries/{csv}.csv")), shared_data(source))
        else {
            return;
        };
        let raster = import(&source, &options(line)).unwrap().raster;
        let [nearest, bilinear, voids] = queries(&raster, &csv);
        println!("{}: {nearest} nearest, {bilinear} bilinear, {voids} at voids", csv.display());
        assert!(nearest > 400 && bilinear > 300, "{nearest} {bilinear}");
    }
}

#[test]
fn the_same_ground_in_two_formats_is_the_same_terrain() {
    let Some(folder) = shared_data("derived-raw-game") else { return };
    let take = |name: &str, more: &str| {
        import(&folder.join(name), &options(&format!("--spacing 1 --min -500 --max 1500 {more}")))
            .unwrap()
            .raster
    };
    let little = take("deadsea_257x257_unity_le.raw", "");
    assert_eq!(little, take("deadsea_257x257_unity_mac_be.raw", ""));
    assert_eq!(little, take("deadsea_257x257_unity_le_flipped.raw", "--south-up"));
    // A GeoTIFF in degrees is resampled like the .hgt of the same degrees.
    let tile = shared_data("srtm-alps-voids/N46E008.tif.zip").unwrap();
    let got = import(&tile, &ImportOptions::default()).unwrap();
    assert!(got.origin.resampled);
    let [sx, sz] = got.origin.source_step_m.unwrap();
    // 6371008.8 · π/180 / 1200 is 92.66 m; times cos 46.5° 63.79 m.
    assert!((sz - 92.6625).abs() < 1e-3 && (sx - 63.7854).abs() < 1e-3, "{sx} {sz}");
}
