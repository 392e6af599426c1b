//! World folders: what is saved is loaded again, exactly, and only what has changed is written.

mod shared;

use highground_terrain::config::{Diagonal, TerrainConfig};
use highground_terrain::content::{
    FoliageType, Layer, LayerImages, ObjectType, Overlay, PhysicalMaterial, Plane, PlaneKind, Water,
};
use highground_terrain::coord::{BlockSide, CellRect};
use highground_terrain::disk::{Disk, DiskFile, RealDisk};
use highground_terrain::folder::{self, Knobs, World, load, unpack};
use highground_terrain::format::digest::of_raster;
use highground_terrain::height::{QuantumLog2, VOID};
use highground_terrain::kernel::weights::LayerKind;
use highground_terrain::store::{BlockSource, PayloadFile, Raster, WriteOptions, verify, write_payload};
use png::{BitDepth, ColorType};
use proptest::prelude::*;
use shared::{Numbers, write_grey16, write_png};
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// A terrain with a plane of every kind, voids, half holes and water, of so many texels a cell.
fn full(diagonal: Diagonal, paint_per_cell: u8, relief: i32, seed: u64) -> Raster {
    let mut numbers = Numbers(seed);
    let mut config = TerrainConfig::new([71, 38], 512);
    config.diagonal = diagonal;
    config.paint_per_cell = paint_per_cell;
    config.quantum = QuantumLog2::try_from(9).unwrap();
    config.vertical_scale = 1.25;
    config.extent = CellRect { x0: 1, z0: 0, x1: 70, z1: 36 };
    let heights: Vec<i32> = (0..71 * 38)
        .map(|_| match numbers.below(40) {
            0 => VOID,
            _ => numbers.below(relief as u64 + 1) as i32 - relief / 3,
        })
        .collect();
    let mut raster = Raster::from_heights(config, heights);
    for m in &mut raster.mask {
        if numbers.below(5) == 0 {
            *m &= numbers.below(4) as u8;
        }
    }
    let c = &mut raster.catalogue;
    c.layers = (0..6).map(|i| Layer::named(&format!("layer \"{i}\"\n"))).collect();
    c.layers[1].images = LayerImages { albedo: Some("rock.png".into()), ..LayerImages::default() };
    c.layers[1].tiling_m = 1.0 / 3.0;
    c.layers[2].kind = LayerKind::HeightAdjusted;
    c.layers[5].kind = LayerKind::OrderedAlpha;
    c.materials = ["earth", "ice"].map(|n| PhysicalMaterial { name: n.into(), ..Default::default() }).into();
    c.user_channels = ["danger", "owner", "a", "b", "c", "d"].map(String::from).into();
    c.foliage = vec![FoliageType { name: "fern".into(), height_m: Some([-3.5, 1e3]), ..Default::default() }];
    c.objects = ["rock", "tree"].map(|n| ObjectType { name: n.into(), ..Default::default() }).into();
    c.overlays =
        vec![Overlay { name: "road".into(), points: vec![[0.0, 1.0], [9.5, 0.1]], ..Default::default() }];
    c.water = Some(Water { max_depth_m: 1.2 });
    let texels = 70 * 37 * usize::from(paint_per_cell).pow(2);
    // Layers 0 to 4 share a texel, or have nothing there.
    let mut weights = vec![vec![0; texels]; 5];
    for t in 0..texels {
        let mut left = if numbers.below(4) == 0 { 0 } else { 255 };
        for layer in &mut weights[1..] {
            layer[t] = numbers.below(left + 1) as u8;
            left -= u64::from(layer[t]);
        }
        weights[0][t] = left as u8;
    }
    for (i, values) in (0..).zip(weights) {
        raster.set_plane(Plane { kind: PlaneKind::Weight(i), values });
    }
    let mut bytes =
        |n: usize, below: u64| -> Vec<u8> { (0..n).map(|_| numbers.below(below) as u8).collect() };
    for (kind, values) in [
        (PlaneKind::Weight(5), bytes(texels, 256)),
        (PlaneKind::PhysicalHole, bytes(70 * 37, 4)),
        (PlaneKind::PhysicalMaterial, bytes(70 * 37, 2)),
        (PlaneKind::User(1), bytes(70 * 37, 256)),
        (PlaneKind::User(5), bytes(70 * 37, 256)),
        (PlaneKind::Foliage(0), bytes(70 * 37, 256)),
        (PlaneKind::Object(1), bytes(70 * 37, 256)),
    ] {
        raster.set_plane(Plane { kind, values });
    }
    let depth = |_| if numbers.below(3) == 0 { numbers.below(relief as u64 / 12) as u32 } else { 0 };
    let values = (0..71 * 38).map(depth).flat_map(u32::to_le_bytes).collect();
    raster.set_plane(Plane { kind: PlaneKind::WaterDepth, values });
    raster.check().unwrap();
    raster
}

fn write(raster: &Raster, side: BlockSide, path: &Path) {
    write_payload(raster, &WriteOptions::new(side, r#"{"source":"a test"}"#, 0.001), path).unwrap();
}

#[test]
fn unpacking_and_cooking_gives_the_same_terrain() {
    let dir = tempfile::tempdir().unwrap();
    let cases = [
        (Diagonal::Main, 1, 60_000, BlockSide::S32),
        (Diagonal::Anti, 4, 900, BlockSide::S64),
        (Diagonal::Checkerboard, 2, 9_000_000, BlockSide::S128),
    ];
    for (i, (diagonal, per_cell, relief, side)) in cases.into_iter().enumerate() {
        let raster = full(diagonal, per_cell, relief, i as u64 + 1);
        let (path, folder) = (dir.path().join("a.terrain"), dir.path().join(format!("{i}")));
        write(&raster, side, &path);
        let file = PayloadFile::open(&path).unwrap();
        let report = unpack(&file, &folder).unwrap();
        assert!(report.removed.is_empty());
        let loaded = load(&folder).unwrap();
        assert_eq!(loaded.raster, raster, "{diagonal:?}");
        assert_eq!((loaded.side, loaded.rounding_m), (side, 0.001));
        assert_eq!(loaded.notes, Vec::<String>::new());
        assert!(loaded.origin_json.contains(r#""source":"a test""#), "{}", loaded.origin_json);
        let again = dir.path().join("b.terrain");
        let options = WriteOptions::new(loaded.side, &loaded.origin_json, loaded.rounding_m);
        write_payload(&loaded.raster, &options, &again).unwrap();
        assert_eq!(verify(&again).unwrap().digest(), file.digest());
        let low = folder.join("heightmap-low.png").exists();
        assert_eq!(low, relief > 100_000, "two height images only where one is too small");
        // The same folder from the terrain in memory.
        let other = dir.path().join(format!("{i}-again"));
        let mut world = World::new(raster, side);
        assert_eq!(world.save(&other).unwrap().written.len() + 1, report.written.len());
        for name in fs::read_dir(&other).unwrap().map(|e| e.unwrap().file_name()) {
            if name != "terrain.ron" {
                assert!(
                    fs::read(other.join(&name)).unwrap() == fs::read(folder.join(&name)).unwrap(),
                    "{name:?}"
                );
            }
        }
    }
}

#[test]
fn folders_do_not_depend_on_the_number_of_threads() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.terrain");
    write(&full(Diagonal::Anti, 2, 5_000, 9), BlockSide::S32, &path);
    let file = PayloadFile::open(&path).unwrap();
    let mut seen = Vec::new();
    for threads in [1, 3] {
        let folder = dir.path().join(threads.to_string());
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| unpack(&file, &folder)).unwrap();
        let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
        files.sort();
        let bytes: Vec<Vec<u8>> = files.iter().map(|n| fs::read(folder.join(n)).unwrap()).collect();
        seen.push((files, bytes));
    }
    assert!(seen[0] == seen[1]);
}

/// Reads a 16-bit or 8-bit image without this project's reader.
fn pixels(path: &Path) -> Vec<u32> {
    let mut reader =
        png::Decoder::new(io::BufReader::new(fs::File::open(path).unwrap())).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut bytes).unwrap();
    match reader.info().bit_depth {
        BitDepth::Sixteen => bytes.chunks(2).map(|b| u32::from(b[0]) * 256 + u32::from(b[1])).collect(),
        _ => bytes.into_iter().map(u32::from).collect(),
    }
}

#[test]
fn the_height_image_holds_the_surface_of_the_water_and_the_terrain_its_bed() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("pond");
    let mut raster = Raster::from_heights(TerrainConfig::new([3, 2], 256), vec![128, -128, 0, 64, VOID, 7]);
    let depths = [0u32, 256, 128, 0, 5, 0];
    raster.set_plane(Plane {
        kind: PlaneKind::WaterDepth,
        values: depths.into_iter().flat_map(u32::to_le_bytes).collect(),
    });
    World::new(raster.clone(), BlockSide::S32).save(&folder).unwrap();
    let knobs = Knobs::parse(&fs::read_to_string(folder.join("terrain.ron")).unwrap(), &folder).unwrap();
    let (min, max) = (knobs.height_min_m.unwrap(), knobs.height_max_m.unwrap());
    assert_eq!(max - min, 65_535.0 / 128.0);
    // Surfaces: 1 m, −1 + 2 = 1 m, 0 + 1 = 1 m, ½ m, nothing, 7/128 m.
    let metres: Vec<f64> =
        pixels(&folder.join("heightmap.png")).iter().map(|&c| min + f64::from(c) / 128.0).collect();
    assert_eq!([metres[0], metres[1], metres[2], metres[3], metres[5]], [1.0, 1.0, 1.0, 0.5, 7.0 / 128.0]);
    assert_eq!(pixels(&folder.join("water.png")), depths);
    assert_eq!(pixels(&folder.join("voids.png")), [0, 0, 0, 0, 255, 0]);
    assert_eq!(load(&folder).unwrap().raster, raster);
}

#[test]
fn eight_bit_water_of_a_depth_is_taken_and_lowers_the_bed() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    let knobs = "(samples: (2, 2), spacing_m: 1, height_min_m: 0, height_max_m: 65535, quantum_log2: 4, \
                 max_water_depth_m: 1.5)";
    fs::write(folder.join("terrain.ron"), knobs).unwrap();
    write_grey16(&folder.join("heightmap.png"), 2, 2, &[10, 10, 10, 10]);
    let rgba = [[0, 9, 9, 9], [255, 0, 0, 0], [85, 1, 2, 3], [1, 0, 0, 255]].concat();
    write_png(&folder.join("water.png"), 2, 2, ColorType::Rgba, BitDepth::Eight, &rgba);
    let loaded = load(folder).unwrap();
    // 24 quanta full; a third is 8; 1/255 of it is 0.09.
    let depths: Vec<u8> = [0u32, 24, 8, 0].into_iter().flat_map(u32::to_le_bytes).collect();
    assert_eq!(loaded.raster.plane_of(PlaneKind::WaterDepth).unwrap().values, depths);
    assert_eq!(loaded.raster.heights, [160, 136, 152, 160]);
    assert!((loaded.rounding_m - 1.5 / 255.0).abs() < 1e-12, "{}", loaded.rounding_m);
}

#[test]
fn a_folder_of_knobs_alone_is_flat_ground_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let knobs = "(size_m: (10, 4.5), spacing_m: 0.5)";
    fs::write(dir.path().join("terrain.ron"), knobs).unwrap();
    let loaded = load(dir.path()).unwrap();
    let flat = Raster::from_heights(TerrainConfig::new([21, 10], 128), vec![0; 210]);
    assert_eq!(loaded.raster, flat);
    assert!(loaded.origin_json.contains(r#""format":"folder""#), "{}", loaded.origin_json);
    // And back: nothing but the knobs is written.
    let other = dir.path().join("other");
    assert_eq!(World::new(flat, BlockSide::S32).save(&other).unwrap().written, ["terrain.ron"]);
}

#[test]
fn only_what_has_changed_is_written_and_what_is_back_at_its_default_goes() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("world");
    let raster = full(Diagonal::Main, 1, 3_000, 4);
    World::new(raster.clone(), BlockSide::S32).save(&folder).unwrap();
    let (mut world, notes) = World::open(&folder).unwrap();
    assert_eq!((&world.raster, notes.len()), (&raster, 0));
    assert_eq!(world.save(&folder).unwrap(), Default::default());
    let set = |world: &mut World, kind, at: usize, value| {
        world.raster.planes.iter_mut().find(|p| p.kind == kind).unwrap().values[at] = value;
    };
    set(&mut world, PlaneKind::User(5), 3, 77);
    let at = world.raster.plane_of(PlaneKind::User(5)).unwrap().values[4];
    set(&mut world, PlaneKind::User(5), 4, at.wrapping_add(1));
    assert_eq!(world.save(&folder).unwrap().written, ["user-1.png"]);
    world.raster.heights[5] = 1_234;
    world.raster.heights[6] = 1_235;
    world.raster.remove_hidden();
    let written = world.save(&folder).unwrap().written;
    assert!(written.contains(&"heightmap.png".to_owned()) && !written.contains(&"terrain.ron".to_owned()));
    world.raster.planes.retain(|p| p.kind != PlaneKind::Foliage(0));
    world.raster.planes.iter_mut().find(|p| p.kind == PlaneKind::Object(1)).unwrap().values.fill(0);
    let report = world.save(&folder).unwrap();
    assert_eq!(
        (report.written.len(), report.removed),
        (0, vec!["foliage-0.png".into(), "objects-1.png".into()])
    );
    world.raster.catalogue.layers[0].tag = "soft".into();
    assert_eq!(world.save(&folder).unwrap().written, ["terrain.ron"]);
    // A height that the folder's range does not hold: the range grows, and with it the knobs.
    world.raster.heights[7] = 400_000;
    let written = world.save(&folder).unwrap().written;
    assert!(written.contains(&"terrain.ron".to_owned()) && written.contains(&"heightmap-low.png".to_owned()));
    world.raster.planes.retain(|p| p.kind != PlaneKind::Object(1));
    assert_eq!(load(&folder).unwrap().raster, world.raster);
    // Another folder gets everything.
    let other = dir.path().join("other");
    world.save(&other).unwrap();
    assert_eq!(load(&other).unwrap().raster, world.raster);
    // An image that somebody deleted is made again.
    fs::remove_file(other.join("splat-0.png")).unwrap();
    assert_eq!(world.save(&other).unwrap().written, ["splat-0.png"]);
}

#[test]
fn a_range_that_is_not_in_quanta_stays_as_long_as_the_heights_do() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    let text = "( // by hand\n samples: (2, 2), spacing_m: 1, height_min_m: -10.1, height_max_m: 99.9)";
    fs::write(folder.join("terrain.ron"), text).unwrap();
    write_grey16(&folder.join("heightmap.png"), 2, 2, &[0, 1_000, 30_000, 65_535]);
    let (mut world, _) = World::open(folder).unwrap();
    // Half up in 1/128 m: −1292.8, −1077.96…, 5152.7…, 12787.2.
    assert_eq!(world.raster.heights, [-1293, -1078, 5153, 12_787]);
    world.raster.mask[0] = 1;
    assert_eq!(world.save(folder).unwrap().written, ["holes.png"]);
    assert_eq!(fs::read_to_string(folder.join("terrain.ron")).unwrap(), text);
    let rounding = load(folder).unwrap().rounding_m;
    assert!(rounding > 0.0 && rounding <= 0.5 / 128.0, "{rounding}");
    world.raster.heights[0] = 0;
    assert_eq!(world.save(folder).unwrap().written, ["heightmap.png", "terrain.ron"]);
    let again = load(folder).unwrap();
    assert_eq!(
        (again.raster.heights.as_slice(), again.rounding_m),
        (&[0, -1078, 5153, 12_787][..], rounding)
    );
}

#[test]
fn splat_weights_that_do_not_sum_to_255_are_scaled_and_said() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    let knobs = r#"(samples: (3, 2), spacing_m: 1, layers: [(name: "a"), (name: "b"), (name: "c"), (name: "d"),
        (name: "e"), (name: "snow", kind: ordered_alpha)])"#;
    fs::write(folder.join("terrain.ron"), knobs).unwrap();
    let first = [[100, 100, 0, 0], [255, 0, 0, 0]].concat();
    write_png(&folder.join("splat-0.png"), 2, 1, ColorType::Rgba, BitDepth::Eight, &first);
    // RGB will do: layer e and the snow, which is free.
    let second = [[100, 200, 0], [0, 7, 0]].concat();
    write_png(&folder.join("splat-1.png"), 2, 1, ColorType::Rgb, BitDepth::Eight, &second);
    let loaded = load(folder).unwrap();
    let texel = |i| -> Vec<u8> { loaded.raster.planes.iter().map(|p| p.values[i]).collect() };
    // Three of 100 are 85 each; planes c and d are not there.
    assert_eq!((texel(0), texel(1)), (vec![85, 85, 85, 200], vec![255, 0, 0, 7]));
    assert_eq!(loaded.notes.len(), 1);
    assert!(loaded.notes[0].contains("1 texels") && loaded.origin_json.contains("largest remainders"));
}

#[test]
fn mistakes_are_one_line_with_the_file_and_the_place() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    let say = |knobs: &str, words: &[&str]| {
        fs::write(folder.join("terrain.ron"), knobs).unwrap();
        let error = load(folder).unwrap_err().to_string();
        assert!(words.iter().all(|w| error.contains(w)) && error.lines().count() == 1, "{words:?}: {error}");
    };
    say("(\n samples: (3, 3),\n spacng_m: 1)", &["terrain.ron:3:", "spacng_m"]);
    say("(samples: (3, 3), spacing_m: 0.3)", &["terrain.ron", "1/256", "0.3"]);
    say("(spacing_m: 1)", &["samples or size_m"]);
    say("(size_m: (3, 2.5), spacing_m: 1)", &["size_m", "2.5"]);
    say("(samples: (1, 3), spacing_m: 1)", &["2 to"]);
    say("(samples: (131072, 131072), spacing_m: 1)", &["samples in a world folder", "131072x131072"]);
    say("(samples: (3, 3), spacing_m: 1, height_min_m: 0)", &["both height_min_m"]);
    say("(samples: (3, 3), spacing_m: 1, height_min_m: 0, height_max_m: 0)", &["range"]);
    say("(samples: (3, 3), spacing_m: 1, layers: [(name: \"a\"), (name: \"a\")])", &["twice"]);
    let good = r#"(samples: (3, 3), spacing_m: 1, height_min_m: 0, height_max_m: 100, materials: [(name: "a")],
        layers: [(name: "a")], user_channels: ["a"], max_water_depth_m: 2)"#;
    write_grey16(&folder.join("heightmap.png"), 3, 3, &[7; 9]);
    fs::write(folder.join("terrain.ron"), good).unwrap();
    load(folder).unwrap();
    say("(samples: (3, 3), spacing_m: 1)", &["terrain.ron", "height_min_m", "height image"]);
    say(
        "(samples: (4, 3), spacing_m: 1, height_min_m: 0, height_max_m: 1)",
        &["heightmap.png", "4x3", "3x3"],
    );
    let grey = |name: &str, w, h, values: &[u8]| {
        write_png(&folder.join(name), w, h, ColorType::Grayscale, BitDepth::Eight, values);
    };
    for (name, w, h, values, words) in [
        ("holes.png", 2, 2, &[0, 85, 86, 0][..], &["holes.png", "pixel (0, 1)", "found 86"][..]),
        ("holes.png", 3, 3, &[0; 9], &["holes.png", "2x2", "3x3"]),
        ("voids.png", 3, 3, &[0, 0, 0, 0, 0, 1, 0, 0, 0], &["voids.png", "pixel (2, 1)", "found 1"]),
        ("surface.png", 2, 2, &[0, 1, 0, 0], &["surface.png", "pixel (1, 0)", "below the 1 physical"]),
        ("splat-0.png", 2, 2, &[0; 4], &["splat-0.png", "RGBA", "8-bit grey"]),
        ("foliage-3.png", 2, 2, &[9; 4], &["foliage-3.png", "foliage 3", "no such entry"]),
        ("heightmap.png", 3, 3, &[9; 9], &["heightmap.png", "16-bit grey", "8-bit grey of 3x3"]),
        ("heightmap-low.png", 3, 3, &[9; 9], &["heightmap-low.png", "height_low_bits"]),
    ] {
        let old = fs::read(folder.join(name)).ok();
        grey(name, w, h, values);
        say(good, words);
        match old {
            Some(bytes) => fs::write(folder.join(name), bytes).unwrap(),
            None => fs::remove_file(folder.join(name)).unwrap(),
        }
    }
    let rgba = |name: &str, pixel: [u8; 4]| {
        write_png(&folder.join(name), 2, 2, ColorType::Rgba, BitDepth::Eight, &[pixel; 4].concat());
    };
    rgba("splat-0.png", [255, 0, 0, 255]);
    say(good, &["splat-0.png", "channel 3", "without alpha"]);
    fs::remove_file(folder.join("splat-0.png")).unwrap();
    fs::write(folder.join("water.png"), &fs::read(folder.join("heightmap.png")).unwrap()[..60]).unwrap();
    say(good, &["water.png", "truncated"]);
    fs::write(folder.join("water.png"), shared::png_header(3, 3)).unwrap();
    say(good, &["water.png"]);
    fs::remove_file(folder.join("water.png")).unwrap();
    fs::write(folder.join("save.ron"), r#"(replace: ["../../evil"], remove: [])"#).unwrap();
    say(good, &["save.ron", "evil"]);
    fs::remove_file(folder.join("save.ron")).unwrap();
    load(folder).unwrap();
    let file = dir.path().join("a.terrain");
    write(&load(folder).unwrap().raster, BlockSide::S32, &file);
    let error = unpack(&PayloadFile::open(&file).unwrap(), folder).unwrap_err().to_string();
    assert!(error.contains("not empty"), "{error}");
}

/// A disk whose power fails after so many steps: what was begun stays half done, and nothing is done any more.
struct FailingDisk<'a> {
    left: &'a AtomicU64,
}

fn step(left: &AtomicU64) -> io::Result<()> {
    let before = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
    before.map(drop).map_err(|_| io::Error::other("no power"))
}

struct FailingFile {
    file: Box<dyn DiskFile>,
    left: &'static AtomicU64,
}

impl Write for FailingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        step(self.left).inspect_err(|_| {
            let _ = self.file.write(&bytes[..bytes.len() / 2]);
        })?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl DiskFile for FailingFile {
    fn flush_to_device(&mut self) -> io::Result<()> {
        // The machine itself stays on: what was written is there.
        step(self.left)
    }
}

impl Disk for FailingDisk<'static> {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        step(self.left)?;
        Ok(Box::new(FailingFile { file: RealDisk.create(path)?, left: self.left }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        step(self.left)?;
        RealDisk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        step(self.left)?;
        RealDisk.remove(path)
    }

    fn flush_folder(&self, folder: &Path) -> io::Result<()> {
        assert!(folder.is_dir());
        step(self.left)
    }
}

#[test]
fn a_save_stopped_at_any_step_leaves_the_old_world_or_the_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let old = full(Diagonal::Main, 1, 3_000, 5);
    let mut new = full(Diagonal::Main, 1, 300_000, 6);
    new.planes.retain(|p| p.kind != PlaneKind::Foliage(0));
    new.catalogue.layers[0].tag = "new".into();
    let (digest_old, digest_new) = (of_raster(&old), of_raster(&new));
    let (mut seen_old, mut seen_new) = (0, 0);
    let lasting: &'static AtomicU64 = Box::leak(Box::new(AtomicU64::new(u64::MAX)));
    for steps in 0.. {
        let folder = dir.path().join(steps.to_string());
        let mut world = World::new(old.clone(), BlockSide::S32);
        world.save_on(&FailingDisk { left: lasting }, &folder).unwrap();
        world.raster = new.clone();
        let left: &'static AtomicU64 = Box::leak(Box::new(AtomicU64::new(steps)));
        let done = world.save_on(&FailingDisk { left }, &folder);
        let loaded = load(&folder).unwrap_or_else(|e| panic!("after {steps} steps: {e}"));
        match of_raster(&loaded.raster) {
            d if d == digest_old => seen_old += 1,
            d if d == digest_new => seen_new += 1,
            _ => panic!("a mix after {steps} steps"),
        }
        if done.is_ok() {
            assert_eq!(of_raster(&loaded.raster), digest_new);
            break;
        }
        // The same world goes on and saves again.
        if steps % 7 == 0 {
            world.raster = old.clone();
            world.save(&folder).unwrap();
            assert_eq!(of_raster(&load(&folder).unwrap().raster), digest_old);
        }
    }
    assert!(seen_old > 20 && seen_new > 10, "{seen_old} old, {seen_new} new");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn heights_survive_saving_and_loading_exactly(
        k in 0u8..=12,
        base in -16_777_215i32..=16_777_215,
        spread in prop_oneof![Just(0u32), 1u32..70_000, 1u32..33_554_431],
        seed: u64,
        water: bool,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let mut numbers = Numbers(seed);
        let mut config = TerrainConfig::new([5, 4], 64);
        config.quantum = QuantumLog2::try_from(k).unwrap();
        let heights = (0..20)
            .map(|_| (base + numbers.below(u64::from(spread) + 1) as i32).min(16_777_215))
            .collect();
        let mut raster = Raster::from_heights(config, heights);
        if water {
            let values = (0..20).flat_map(|_| (numbers.below(1 << 24) as u32).to_le_bytes()).collect();
            raster.set_plane(Plane { kind: PlaneKind::WaterDepth, values });
        }
        let folder = dir.path().join("w");
        World::new(raster.clone(), BlockSide::S64).save(&folder).unwrap();
        let loaded = load(&folder).unwrap();
        prop_assert_eq!(loaded.rounding_m, 0.0);
        prop_assert_eq!(loaded.raster, raster);
    }

    #[test]
    fn numbers_in_the_knobs_read_back_exactly(
        tiling in 1e-3f64..1e6,
        scale in prop_oneof![1e-300f64..1e300, Just(5e-324), Just(1e16)],
        x in -1e7f64..1e7,
    ) {
        let mut raster = Raster::from_heights(TerrainConfig::new([3, 3], 1), vec![0; 9]);
        raster.config.vertical_scale = scale;
        raster.catalogue.layers = vec![Layer { tiling_m: tiling, ..Layer::named("ä\u{7}\\") }];
        raster.catalogue.overlays =
            vec![Overlay { name: "r".into(), points: vec![[x, -0.0], [0.0, x / 3.0]], ..Default::default() }];
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("w");
        World::new(raster.clone(), BlockSide::S128).save(&folder).unwrap();
        prop_assert_eq!(of_raster(&load(&folder).unwrap().raster), of_raster(&raster));
    }
}

#[test]
fn what_an_unpack_that_was_killed_left_behind_does_not_block_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let (terrain, folder) = (dir.path().join("a.terrain"), dir.path().join("a"));
    let raster = full(Diagonal::Main, 1, 900, 5);
    write(&raster, BlockSide::S32, &terrain);
    fs::create_dir(&folder).unwrap();
    for leftover in ["heightmap.png.new", "terrain.ron.new", ".save.ron.77.tmp"] {
        fs::write(folder.join(leftover), "half").unwrap();
    }
    let file = PayloadFile::open(&terrain).unwrap();
    folder::unpack(&file, &folder).unwrap();
    assert!(!folder.join("terrain.ron.new").exists());
    assert_eq!(folder::load(&folder).unwrap().raster, raster);
    // What may be somebody's own does.
    let other = dir.path().join("b");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("mine.png.new"), "mine").unwrap();
    assert!(folder::unpack(&file, &other).is_err());
}

#[cfg(unix)]
#[test]
fn two_that_save_into_one_folder_do_not_mix() {
    let dir = tempfile::tempdir().unwrap();
    let (terrain, folder) = (dir.path().join("a.terrain"), dir.path().join("a"));
    write(&full(Diagonal::Main, 1, 900, 5), BlockSide::S32, &terrain);
    fs::create_dir(&folder).unwrap();
    let held = fs::File::open(&folder).unwrap();
    held.try_lock().unwrap();
    let file = PayloadFile::open(&terrain).unwrap();
    let error = folder::unpack(&file, &folder).unwrap_err().to_string();
    assert!(error.contains("another program is saving or reading here"), "{error}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    held.unlock().unwrap();
    folder::unpack(&file, &folder).unwrap();
}

#[test]
fn a_misspelt_image_is_said_and_an_image_of_a_layer_is_not() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(
        dir.path().join("terrain.ron"),
        "(samples: (3, 3), spacing_m: 1, layers: [(name: \"a\", images: (albedo: \"rock.png\"))])",
    )
    .unwrap();
    for name in ["heightmap .png", "rock.png", "notes.txt"] {
        fs::write(dir.path().join(name), "x").unwrap();
    }
    let notes = folder::load(dir.path()).unwrap().notes;
    assert_eq!(notes, ["heightmap .png: is no layer of a world folder and was not used"]);
}

#[cfg(unix)]
#[test]
fn a_layer_that_cannot_be_looked_at_is_an_error_and_never_flat_ground() {
    let dir = tempfile::tempdir().unwrap();
    let (terrain, folder) = (dir.path().join("a.terrain"), dir.path().join("a"));
    write(&full(Diagonal::Main, 1, 900, 5), BlockSide::S32, &terrain);
    folder::unpack(&PayloadFile::open(&terrain).unwrap(), &folder).unwrap();
    for target in ["nowhere", "heightmap.png"] {
        fs::remove_file(folder.join("heightmap.png")).unwrap();
        std::os::unix::fs::symlink(target, folder.join("heightmap.png")).unwrap();
        let error = folder::load(&folder).unwrap_err().to_string();
        assert!(error.contains("heightmap.png") && error.contains("cannot be read"), "{error}");
    }
}
