//! Recipes of version 2: what they compose, what they keep, and what they refuse.

mod shared;

use highground_terrain::content::PlaneKind;
use highground_terrain::cook::{Order, Served, Written, serve};
use highground_terrain::store::{Raster, collect, verify};
use highground_tests::command::highground;
use shared::{shared_data, write_grey16};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

fn island() -> PathBuf {
    highground_tests::root().join("content/worlds/island.ron")
}

/// A folder with a recipe in it.
struct Kitchen {
    folder: tempfile::TempDir,
}

impl Kitchen {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn serve(&self, recipe: &str) -> Result<Served, String> {
        self.serve_with(recipe, &Order::default())
    }

    fn serve_with(&self, recipe: &str, order: &Order<'_>) -> Result<Served, String> {
        let path = self.path("w.ron");
        fs::write(&path, recipe).unwrap();
        serve(&path, order).map_err(|e| e.to_string())
    }

    fn cook(&self, recipe: &str) -> Raster {
        let served = self.serve(recipe).unwrap();
        let raster = collect(&*served.rows);
        raster.check().unwrap();
        raster
    }

    fn refuse(&self, recipe: &str) -> String {
        match self.serve(recipe) {
            Ok(_) => panic!("cooked: {recipe}"),
            Err(e) => {
                assert_eq!(e.lines().count(), 1, "{e}");
                e
            }
        }
    }

    fn png(&self, name: &str, size: [u32; 2], color: png::ColorType, bytes: &[u8]) {
        let file = fs::File::create(self.path(name)).unwrap();
        let mut encoder = png::Encoder::new(file, size[0], size[1]);
        encoder.set_color(color);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.write_header().unwrap().write_image_data(bytes).unwrap();
    }
}

fn plane(raster: &Raster, kind: PlaneKind) -> &[u8] {
    &raster.plane_of(kind).unwrap_or_else(|| panic!("no plane of {}", kind.name())).values
}

#[test]
fn the_island_is_the_same_for_any_thread_count_and_has_what_its_recipe_says() {
    let cook = |threads| {
        let served = serve(&island(), &Order { threads, ..Order::default() }).unwrap();
        (collect(&*served.rows), served.origin, served.rounding_m)
    };
    let (raster, origin, rounding_m) = cook(1);
    raster.check().unwrap();
    assert!((raster.clone(), origin, rounding_m) == cook(2));
    assert!(raster == cook(5).0);
    assert_eq!(raster.config.samples, [257, 257]);
    // Half a quantum at most.
    assert!(rounding_m > 0.0 && rounding_m <= 1.0 / 256.0);
    let (low, high) = (raster.heights.iter().min().unwrap(), raster.heights.iter().max().unwrap());
    assert!(*low < 0 && *high > 20 * 128, "{low} to {high}");
    let names: Vec<&str> = raster.catalogue.overlays.iter().map(|o| o.name.as_str()).collect();
    assert_eq!(names, ["brook", "track"]);
    // The sea: depth is the level less the bed, everywhere the bed is below it and no river is.
    let depths = plane(&raster, PlaneKind::WaterDepth);
    let depth = |i: usize| i32::from_le_bytes(depths[i * 4..i * 4 + 4].try_into().unwrap());
    assert_eq!((depth(0), raster.heights[0]), (12 * 128, -12 * 128));
    let wet = |i: &usize| depth(*i) > 0;
    assert!((0..raster.heights.len()).filter(wet).all(|i| depth(i) >= -raster.heights[i]));
    assert!(
        (0..raster.heights.len()).filter(wet).any(|i| raster.heights[i] > 128),
        "the brook is above the sea"
    );
    for layer in 0..4 {
        let leads = plane(&raster, PlaneKind::Weight(layer)).iter().filter(|w| **w > 128).count();
        assert!(leads > 100, "layer {layer} leads in {leads} texels");
    }
}

#[test]
fn steps_compose_as_by_hand() {
    let kitchen = Kitchen::new();
    write_grey16(&kitchen.path("a.png"), 4, 3, &(0..12).collect::<Vec<u16>>());
    let source = r#"source: Raster(path: "a.png", spacing_m: 2, min_m: 0, max_m: 65535)"#;
    let metres = |recipe: &str| -> Vec<f64> {
        kitchen.cook(recipe).heights.iter().map(|&q| f64::from(q) / 128.0).collect()
    };
    let whole: Vec<f64> = (0..12).map(f64::from).collect();
    assert_eq!(metres(&format!("(version: 2, {source})")), whole);
    let steps = "steps: [Crop(x: 1, z: 0, w: 3, h: 2), Scale(2), Offset(-3), Clamp(min_m: 0, max_m: 8)]";
    // 1 2 3 / 5 6 7 twice, less 3.
    assert_eq!(metres(&format!("(version: 2, {source}, {steps})")), [0.0, 1.0, 3.0, 7.0, 8.0, 8.0]);
    // Twice as dense: the plane 1 m a sample along x and 4 along z.
    let dense =
        metres(&format!("(version: 2, {source}, steps: [Resample(spacing_m: 1)], vertical_scale: 0.5)"));
    let expected: Vec<f64> =
        (0..35).map(|i| (f64::from(i % 7) * 0.5 + f64::from(i / 7) * 2.0) * 0.5).collect();
    assert_eq!(dense, expected);
    // Half of 10 m over it, by a constant; all of it by a picture on the first column.
    let over = |mask: &str| {
        format!(
            "(version: 2, {source}, steps: [Blend(over: (source: Level(size: (4, 3), spacing_m: 2, height_m: 10)), mask: {mask})])"
        )
    };
    assert_eq!(metres(&over("Constant(0.5)")), whole.iter().map(|h| (h + 10.0) / 2.0).collect::<Vec<_>>());
    kitchen.png("m.png", [4, 3], png::ColorType::Grayscale, &[255, 0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0]);
    let masked = metres(&over(r#"Image("m.png")"#));
    assert!(
        masked.iter().enumerate().all(|(i, &h)| h == if i % 4 == 0 { 10.0 } else { i as f64 }),
        "{masked:?}"
    );
}

#[test]
fn mosaics_join_equal_edges_and_name_the_first_that_differs() {
    let kitchen = Kitchen::new();
    write_grey16(&kitchen.path("a.png"), 3, 2, &[0, 1, 2, 10, 11, 12]);
    write_grey16(&kitchen.path("b.png"), 3, 2, &[2, 3, 4, 12, 13, 14]);
    write_grey16(&kitchen.path("c.png"), 3, 2, &[2, 3, 4, 15, 13, 14]);
    let tile = |name: &str| format!(r#"Raster(path: "{name}", spacing_m: 1, min_m: 0, max_m: 65535)"#);
    let recipe = |b: &str, seams: &str| {
        format!("(version: 2, source: Mosaic(tiles: [[{}, {}]]{seams}))", tile("a.png"), tile(b))
    };
    let metres = |r: &Raster| r.heights.iter().map(|q| q / 128).collect::<Vec<_>>();
    let whole = [0, 1, 2, 3, 4, 10, 11, 12, 13, 14];
    assert_eq!(metres(&kitchen.cook(&recipe("b.png", ""))), whole);
    let error = kitchen.refuse(&recipe("c.png", ""));
    assert!(
        error.contains("1 shared samples differ, by up to 3 m, the first at (2, 1): 12 m and 15 m"),
        "{error}"
    );
    assert_eq!(metres(&kitchen.cook(&recipe("c.png", ", seams: first"))), whole);
    let served = kitchen.serve(&recipe("c.png", ", seams: average")).unwrap();
    assert_eq!(collect(&*served.rows).heights[7], 13 * 128 + 64);
    assert!(served.origin.contains("shared samples differ"), "{}", served.origin);
    write_grey16(&kitchen.path("d.png"), 2, 2, &[2, 3, 12, 13]);
    assert!(kitchen.refuse(&recipe("d.png", "")).contains("tiles[0][1]"));
}

#[test]
fn splats_are_kept_whole_or_normalised_and_said() {
    let kitchen = Kitchen::new();
    let rgba: Vec<u8> = [[200, 55, 0, 0], [70, 70, 140, 0], [0, 0, 0, 0], [0, 0, 0, 255]].concat();
    kitchen.png("s.png", [2, 2], png::ColorType::Rgba, &rgba);
    let layers = r#"layers: [(name: "a"), (name: "b"), (name: "c"), (name: "d", kind: ordered_alpha)]"#;
    let recipe = |splat: &str| {
        format!(
            "(version: 2, source: Level(size: (3, 3), spacing_m: 1, height_m: 5), {layers}, splats: [{splat}])"
        )
    };
    let served = kitchen.serve(&recipe(r#"(image: "s.png", layers: ["a", "b", "c", "d"])"#)).unwrap();
    let raster = collect(&*served.rows);
    raster.check().unwrap();
    let texels: Vec<[u8; 4]> =
        (0..4).map(|i| [0, 1, 2, 3].map(|l| plane(&raster, PlaneKind::Weight(l))[i])).collect();
    // By hand: 63.75, 63.75, 127.5 of 255; nothing painted is the first layer; alpha stands apart.
    assert_eq!(texels, [[200, 55, 0, 0], [64, 64, 127, 0], [255, 0, 0, 0], [255, 0, 0, 255]]);
    assert!(served.origin.contains("1 of 4 texels did not sum to 255"), "{}", served.origin);
    // A pixel a sample: each texel is the mean of its corners.
    let by_sample: Vec<u8> = [[255, 0, 0], [0, 255, 0], [0, 255, 0]].repeat(3).concat();
    kitchen.png("n.png", [3, 3], png::ColorType::Rgb, &by_sample);
    let raster = kitchen.cook(&recipe(r#"(image: "n.png", layers: ["a", "b", ""])"#));
    assert_eq!(plane(&raster, PlaneKind::Weight(0)), [128, 0, 128, 0]);
    assert_eq!(plane(&raster, PlaneKind::Weight(1)), [127, 255, 127, 255]);
    let error = kitchen.refuse(&recipe(r#"(image: "s.png", layers: ["a", "x"])"#));
    assert!(error.contains("splats[0]") && error.contains("\"x\""), "{error}");
    let error = kitchen.refuse(&recipe(r#"(image: "s.png", layers: ["a", "a"])"#));
    assert!(error.contains("painted by an earlier channel"), "{error}");
    kitchen.png("s.png", [4, 2], png::ColorType::Rgba, &[0; 32]);
    let error = kitchen.refuse(&recipe(r#"(image: "s.png", layers: ["a"])"#));
    assert!(error.contains("s.png: expected 2x2 or 3x3 pixels, found 4x2"), "{error}");
}

#[test]
fn more_layers_than_ids_are_refused() {
    let names: Vec<String> = (0..33).map(|i| format!("(name: \"{i}\")")).collect();
    let error = Kitchen::new().refuse(&format!(
        "(version: 2, source: Level(size: (3, 3), spacing_m: 1, height_m: 5), layers: [{}])",
        names.join(", ")
    ));
    assert!(error.contains("at most 32") && error.contains("found 33"), "{error}");
}

#[test]
fn holes_materials_channels_and_growth_lie_where_the_recipe_says() {
    let kitchen = Kitchen::new();
    kitchen.png("cells.png", [3, 3], png::ColorType::Grayscale, &[0, 0, 9, 0, 200, 0, 0, 0, 255]);
    kitchen.png(
        "samples.png",
        [4, 4],
        png::ColorType::Grayscale,
        &[255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    );
    let raster = kitchen.cook(
        r#"(
            version: 2,
            source: Level(size: (4, 4), spacing_m: 2, height_m: 5),
            layers: [(name: "soil"), (name: "ice", cover: (image: "cells.png"))],
            holes: [Image("cells.png"), Image("samples.png"), Half(x: 2, z: 0, triangle: 1)],
            physical_holes: [Cells(x: 0, z: 2, w: 2, h: 1)],
            materials: [
                (material: (name: "earth")),
                (material: (name: "slippery", friction: 0.05), layers: ["ice"]),
                (material: (name: "mud"), regions: [Circle(x: 1, z: 5, radius_m: 1)]),
            ],
            user: [(name: "danger", image: "cells.png"), (name: "empty")],
            foliage: [(kind: (name: "fern"), density: Layer("ice")), (kind: (name: "moss"), density: Full)],
            objects: [(kind: (name: "rock"), density: Ground(height_m: (0, 4))), (kind: (name: "later"))],
        )"#,
    );
    // Main: cell (0, 0) has both triangles on sample (0, 0).
    assert_eq!(raster.mask, [0, 3, 1, 3, 0, 3, 3, 3, 0]);
    assert_eq!(plane(&raster, PlaneKind::PhysicalHole), [0, 0, 0, 0, 0, 0, 3, 3, 0]);
    assert_eq!(plane(&raster, PlaneKind::PhysicalMaterial), [0, 0, 0, 0, 1, 0, 2, 0, 1]);
    assert_eq!(plane(&raster, PlaneKind::User(0)), [0, 0, 9, 0, 200, 0, 0, 0, 255]);
    assert!(raster.plane_of(PlaneKind::User(1)).is_none());
    assert_eq!(plane(&raster, PlaneKind::Foliage(0)), plane(&raster, PlaneKind::Weight(1)));
    assert_eq!(plane(&raster, PlaneKind::Weight(1)), [0, 0, 9, 0, 200, 0, 0, 0, 255]);
    assert_eq!(plane(&raster, PlaneKind::Foliage(1)), [255; 9]);
    assert_eq!(plane(&raster, PlaneKind::Object(0)), [0; 9]);
    assert!(raster.plane_of(PlaneKind::Object(1)).is_none());
}

#[test]
fn any_rows_of_a_served_terrain_are_the_rows_of_the_whole() {
    let kitchen = Kitchen::new();
    let served = kitchen
        .serve(
            r#"(
                version: 2,
                source: Noise(size: (23, 31), spacing_m: 1, noise: (seed: 3, wavelength_m: 9, amplitude_m: 6)),
                steps: [River(name: "r", points: [(1, 1), (20, 28)], width_m: 3, depth_m: 1)],
                paint_per_cell: 2,
                extent: (x: 1, z: 1, w: 20, h: 27),
                layers: [(name: "a"), (name: "b", cover: (curvature: (0.2, 99), soft_curvature: 0.2)),
                    (name: "c", cover: (slope_deg: (30, 90), soft_deg: 20))],
                materials: [(material: (name: "m")), (material: (name: "n"), layers: ["b"])],
                foliage: [(kind: (name: "f"), density: Layer("c"))],
                objects: [(kind: (name: "o"), density: Ground(curvature: (-99, 0), soft_curvature: 1))],
                water: (level_m: -1),
            )"#,
        )
        .unwrap();
    let whole = collect(&*served.rows);
    whole.check().unwrap();
    for rows in [0..1, 3..4, 6..13, 24..26, 29..30] {
        let mut heights = vec![0; 23 * rows.len()];
        served.rows.heights(rows.clone(), &mut heights);
        assert_eq!(heights, whole.heights[rows.start as usize * 23..rows.end as usize * 23]);
        let mut mask = vec![0; 22 * rows.len()];
        served.rows.mask(rows.clone(), &mut mask);
        assert_eq!(mask, whole.mask[rows.start as usize * 22..rows.end as usize * 22]);
        for p in &whole.planes {
            let bytes = p.kind.row_bytes(&whole.config);
            let mut out = vec![77; bytes * rows.len()];
            served.rows.plane(p.kind, rows.clone(), &mut out);
            assert_eq!(
                out,
                p.values[rows.start as usize * bytes..rows.end as usize * bytes],
                "{}",
                p.kind.name()
            );
        }
    }
    // Every plane says something, or this would compare nothing.
    assert_eq!(whole.planes.len(), 7);
    assert!(whole.planes.iter().all(|p| p.values.iter().any(|&v| v != p.values[0])));
}

const LAND: &str = r#"(
    version: 2,
    source: Mosaic(tiles: [[Raster(path: "a.png", spacing_m: 2, min_m: 0, max_m: 65535), Raster(path: "b.png", spacing_m: 2, min_m: 0, max_m: 65535)]], seams: average),
    steps: [
        Blend(over: (source: Noise(size: (17, 9), spacing_m: 2, noise: (seed: 1, wavelength_m: 20, amplitude_m: 9))), how: add, mask: Image("m.png")),
        Thermal(iterations: 5, talus_deg: 20),
        Scale(1.5),
        Hydraulic(iterations: 5),
    ],
)"#;

fn land() -> Kitchen {
    let kitchen = Kitchen::new();
    let values = |n: u16| (0..81).map(|i| i * n % 97).collect::<Vec<u16>>();
    write_grey16(&kitchen.path("a.png"), 9, 9, &values(7));
    write_grey16(&kitchen.path("b.png"), 9, 9, &values(11));
    kitchen.png("m.png", [17, 9], png::ColorType::Grayscale, &[128; 153]);
    kitchen
}

/// Cooks with a cache: the names of the stages that were cooked, and everything that was made.
fn cached(kitchen: &Kitchen, recipe: &str) -> (Vec<String>, Raster, String) {
    let cache = kitchen.path("cache");
    let served = kitchen.serve_with(recipe, &Order { cache: Some(&cache), ..Order::default() }).unwrap();
    let fresh = served.ran.iter().filter(|r| !r.cached).map(|r| r.stage.clone()).collect();
    (fresh, collect(&*served.rows), served.origin)
}

#[test]
fn only_what_a_changed_input_touches_is_cooked_again() {
    let kitchen = land();
    let whole = |recipe: &str| {
        let served = kitchen.serve(recipe).unwrap();
        (collect(&*served.rows), served.origin)
    };
    let (fresh, raster, origin) = cached(&kitchen, LAND);
    assert_eq!(fresh.len(), 8, "{fresh:?}");
    assert!((raster, origin) == whole(LAND));
    // Nothing changed: one look into the cache, nothing cooked.
    let (fresh, raster, origin) = cached(&kitchen, LAND);
    assert!(fresh.is_empty(), "{fresh:?}");
    assert!((raster, origin) == whole(LAND));
    // Blanks and comments are no change; the last step's words are.
    let (fresh, ..) = cached(&kitchen, &LAND.replace("steps: [", "// look\n steps:   ["));
    assert!(fresh.is_empty(), "{fresh:?}");
    let rainier = LAND.replace("Hydraulic(iterations: 5)", "Hydraulic(iterations: 6)");
    let (fresh, raster, origin) = cached(&kitchen, &rainier);
    assert_eq!(fresh, ["steps[2] scale", "steps[3] hydraulic erosion"]);
    assert!((raster, origin) == whole(&rainier));
    // Another second tile: it, the mosaic and what follows; not the first tile, not the noise.
    write_grey16(&kitchen.path("b.png"), 9, 9, &[40; 81]);
    let (fresh, raster, origin) = cached(&kitchen, LAND);
    let has = |part: &str| fresh.iter().any(|f| f.contains(part));
    assert!(has("b.png") && has("mosaic") && has("blend") && has("thermal") && has("hydraulic"), "{fresh:?}");
    assert!(!has("a.png") && !has("noise"), "{fresh:?}");
    assert!((raster, origin) == whole(LAND));
    // Another mask: neither tiles nor noise.
    kitchen.png("m.png", [17, 9], png::ColorType::Grayscale, &[64; 153]);
    let (fresh, raster, origin) = cached(&kitchen, LAND);
    assert!(fresh[0].contains("blend"), "{fresh:?}");
    assert!((raster, origin) == whole(LAND));
}

#[test]
fn a_damaged_stage_is_cooked_again() {
    let kitchen = land();
    let (_, raster, _) = cached(&kitchen, LAND);
    let stages = || -> Vec<PathBuf> {
        let mut all: Vec<PathBuf> =
            fs::read_dir(kitchen.path("cache")).unwrap().map(|e| e.unwrap().path()).collect();
        all.sort();
        all
    };
    let good: Vec<Vec<u8>> = stages().iter().map(|p| fs::read(p).unwrap()).collect();
    assert_eq!(good.len(), 7);
    type Harm = fn(&mut Vec<u8>);
    let harms: [Harm; 6] = [
        |b| b.iter_mut().last().into_iter().for_each(|v| *v ^= 1),
        |b| b.truncate(b.len() - 1),
        |b| b.push(0),
        |b| b.clear(),
        // A size that would take all memory there is.
        |b| b[8..16].fill(0xFF),
        |b| b[20..24].fill(0xFF),
    ];
    for harm in harms {
        for path in stages() {
            let mut bytes = fs::read(&path).unwrap();
            harm(&mut bytes);
            fs::write(&path, bytes).unwrap();
        }
        let (fresh, again, _) = cached(&kitchen, LAND);
        assert_eq!(fresh.len(), 8, "{fresh:?}");
        assert!(again == raster);
        assert!(stages().iter().map(|p| fs::read(p).unwrap()).eq(good.iter().cloned()), "written anew");
    }
}

#[test]
fn hostile_recipes_are_refused_before_memory_is_taken() {
    let kitchen = Kitchen::new();
    let base = "version: 2, source: Level(size: (9, 9), spacing_m: 1, height_m: 5)";
    let noise = |words: &str| {
        format!(
            "(version: 2, source: Noise(size: (9, 9), spacing_m: 1, noise: (seed: 1, wavelength_m: 9, amplitude_m: 1, {words})))"
        )
    };
    let deep = |n: usize| {
        let open = "Chain(source: ".repeat(n);
        format!(
            "(version: 2, source: {open}Level(size: (9, 9), spacing_m: 1, height_m: 5){})",
            "))".repeat(n)
        )
    };
    let tiles = "Level(size: (16000, 16000), spacing_m: 1, height_m: 0)";
    let row = [tiles; 9].join(", ");
    for (recipe, words) in [
        (
            "(version: 2, source: Level(size: (200000, 200000), spacing_m: 1, height_m: 5))".to_owned(),
            "200000x200000",
        ),
        ("(version: 2, source: Level(size: (1, 9), spacing_m: 1, height_m: 5))".to_owned(), "1x9"),
        ("(version: 2, source: Level(size: (9, 9), spacing_m: 0.3, height_m: 5))".to_owned(), "spacing_m"),
        (format!("(version: 2, source: Mosaic(tiles: [[{row}]]))"), "expected 2 to"),
        ("(version: 2, source: Mosaic(tiles: []))".to_owned(), "tiles"),
        (noise("octaves: 1000000000"), "octaves"),
        (noise("gain: inf"), "gain"),
        (noise("wavelength_m: 3"), "wavelength_m"),
        (
            format!("({base}, steps: [Thermal(iterations: 4000000000, talus_deg: 30)])"),
            "steps[0] (thermal erosion)",
        ),
        (format!("({base}, steps: [Resample(spacing_m: 0.00390625), Resample(spacing_m: NaN)])"), "steps[1]"),
        (format!("({base}, steps: [Crop(x: 4294967295, z: 0, w: 2, h: 2)])"), "expected a part of the 9x9"),
        (format!("({base}, steps: [Scale(NaN)])"), "factor"),
        (
            format!("({base}, steps: [Scale(1e6), Scale(1e6), Scale(1e6)])"),
            "steps[1] scale: expected heights within",
        ),
        (
            format!(
                "({base}, steps: [Scale(1e6), Hydraulic(iterations: 3), Offset(1e7), Scale(1e4), Thermal(iterations: 1, talus_deg: 1)])"
            ),
            "steps[3] scale: expected heights within",
        ),
        (format!("({base}, steps: [Terraces(step_m: 1e-300)])"), "step_m"),
        (format!("({base}, steps: [Road(name: \"r\", points: [(0, 0), (NaN, 1)], width_m: 1)])"), "point 1"),
        (format!("({base}, holes: [Polygon([(0, 0), (1, NaN), (1, 1)])])"), "holes[0]"),
        (format!("({base}, holes: [Polygon([(0, 0), (1, 1)])])"), "3 to 4096"),
        (format!("({base}, holes: [Cells(x: 7, z: 0, w: 4294967295, h: 1)])"), "holes[0]"),
        (format!("({base}, holes: [Image(\"none.png\")])"), "none.png: cannot be read"),
        (format!("({base}, water: (level_m: inf))"), "level_m"),
        (format!("({base}, paint_per_cell: 3)"), "paint_per_cell"),
        (format!("({base}, vertical_scale: 0)"), "vertical_scale"),
        (format!("({base}, layers: [(name: \"a\", cover: (height_m: (0, 1)))])"), "first layer"),
        (deep(100_000), "w.ron:"),
        (
            "(version: 3, source: Level(size: (9, 9), spacing_m: 1, height_m: 5))".to_owned(),
            "expected 1 or 2, found 3",
        ),
    ] {
        let error = kitchen.refuse(&recipe);
        assert!(error.contains("w.ron") || error.contains(".png"), "{error}");
        assert!(error.contains(words), "{words}: {error}");
    }
}

#[test]
fn a_mistake_in_a_recipe_is_named_with_line_and_column() {
    let path = Path::new("worlds/typo.ron");
    let text = fs::read_to_string(island()).unwrap();
    assert!(matches!(Written::parse(&text, path), Ok(Written::Two(_))));
    for (from, to, words) in [
        ("talus_deg", "talus_degrees", "talus_degrees"),
        ("version: 2", "version: \"2\"", ""),
        ("kind: ridged", "kind: rigid", "rigid"),
        ("Hydraulic(", "Hydraulics(", "Hydraulics"),
        ("width_m: 8", "width_m: 8, wet: true", "wet"),
    ] {
        let line = text[..text.find(from).unwrap()].lines().count();
        let error = Written::parse(&text.replacen(from, to, 1), path).unwrap_err().to_string();
        let at = format!("worlds/typo.ron:{line}:");
        assert!(
            error.starts_with(&at) && error.contains(words) && error.lines().count() == 1,
            "{at} {from}: {error}"
        );
    }
    let error = Written::parse(text.trim_end().trim_end_matches(')'), path).unwrap_err().to_string();
    assert!(error.starts_with("worlds/typo.ron:") && error.lines().count() == 1, "{error}");
    let old = fs::read_to_string(highground_tests::root().join("content/worlds/jacksboro.ron")).unwrap();
    assert!(matches!(Written::parse(&old, path), Ok(Written::One(_))));
}

/// The samples of a zipped `.hgt`, read by hand.
fn hgt(path: &Path) -> Vec<i16> {
    let mut archive = zip::ZipArchive::new(fs::File::open(path).unwrap()).unwrap();
    let mut bytes = Vec::new();
    archive.by_index(0).unwrap().read_to_end(&mut bytes).unwrap();
    bytes.chunks_exact(2).map(|b| i16::from_be_bytes([b[0], b[1]])).collect()
}

#[test]
fn real_neighbours_join_without_a_seam() {
    let names =
        ["N42E001.hgt.zip", "N41E001.hgt.zip"].map(|n| shared_data(&format!("srtm-hgt-pyrenees-pair/{n}")));
    let [Some(north), Some(south)] = names else { return };
    let tile = |p: &Path| format!("[Raster(path: {:?}, spacing_m: 64)]", p.display().to_string());
    let recipe = format!("(version: 2, source: Mosaic(tiles: [{}, {}]))", tile(&north), tile(&south));
    let raster = Kitchen::new().cook(&recipe);
    assert_eq!(raster.config.samples, [1201, 2401]);
    let (north, south) = (hgt(&north), hgt(&south));
    let expected =
        north.iter().chain(&south[1201..]).map(|&m| if m == -32768 { i32::MIN } else { i32::from(m) * 128 });
    assert!(raster.heights.iter().copied().eq(expected));
    // As SOURCE.md counts them; the shared row has none.
    assert_eq!(raster.heights.iter().filter(|&&q| q == i32::MIN).count(), 7_652 + 134);
}

#[test]
fn a_lifted_seam_is_counted_and_named() {
    let file = |n: &str| shared_data(&format!("derived-hgt-odd/seam_{n}_257x257_i16le.raw"));
    let (Some(left), Some(right), Some(lifted)) = (file("left"), file("right"), file("right_lifted10"))
    else {
        return;
    };
    let tile = |p: &Path| {
        format!(
            "Raster(path: {:?}, format: raw16, signed: true, big_endian: false, nodata: -32767, spacing_m: 64)",
            p.display().to_string()
        )
    };
    let recipe =
        |right: &Path| format!("(version: 2, source: Mosaic(tiles: [[{}, {}]]))", tile(&left), tile(right));
    let raster = Kitchen::new().cook(&recipe(&right));
    assert_eq!(raster.config.samples, [513, 257]);
    let column = |p: &Path, x: usize| -> Vec<i16> {
        let bytes = fs::read(p).unwrap();
        (0..257).map(|z| (z * 257 + x) * 2).map(|i| i16::from_le_bytes([bytes[i], bytes[i + 1]])).collect()
    };
    let (a, b) = (column(&left, 256), column(&lifted, 0));
    let differing: Vec<usize> = (0..257).filter(|&z| a[z] != b[z]).collect();
    assert!(!differing.is_empty());
    let error = Kitchen::new().refuse(&recipe(&lifted));
    let first = differing[0];
    let words = format!(
        "{} shared samples differ, by up to 10 m, the first at (256, {first}): {} m and {} m",
        differing.len(),
        a[first],
        b[first]
    );
    assert!(error.contains(&words), "{error}\n{words}");
}

#[test]
fn real_splats_and_holes_are_taken_as_their_source_says() {
    let file = |n: &str| shared_data(&format!("derived-png/andes_257_{n}.png"));
    let (Some(sum), Some(odd), Some(holes)) =
        (file("splat_rgba_sum255"), file("splat_rgba_not_normalised"), file("holes_g8"))
    else {
        return;
    };
    let recipe = |splat: &Path| {
        format!(
            r#"(version: 2, source: Level(size: (257, 257), spacing_m: 30, height_m: 1), holes: [Image({:?})],
                layers: [(name: "a"), (name: "b"), (name: "c"), (name: "d")],
                splats: [(image: {:?}, layers: ["a", "b", "c", "d"])])"#,
            holes.display().to_string(),
            splat.display().to_string()
        )
    };
    let kitchen = Kitchen::new();
    assert!(!kitchen.serve(&recipe(&sum)).unwrap().origin.contains("normalised"));
    let served = kitchen.serve(&recipe(&odd)).unwrap();
    assert!(served.origin.contains("65536 of 65536 texels did not sum to 255"), "{}", served.origin);
    let raster = kitchen.cook(&recipe(&odd));
    let pixels = png_bytes(&odd);
    // A texel whose four corners are one colour has just that colour's shares of 255.
    let mut alike = 0;
    for i in 0..256 * 256 {
        let corner = |d: usize| &pixels[((i / 256 + d / 2) * 257 + i % 256 + d % 2) * 4..][..4];
        if (1..4).all(|d| corner(d) == corner(0)) {
            alike += 1;
            for l in 0..4u8 {
                let exact = f64::from(corner(0)[usize::from(l)]) * 255.0 / 280.0;
                let got = f64::from(plane(&raster, PlaneKind::Weight(l))[i]);
                assert!((got - exact).abs() < 1.0, "texel {i} layer {l}: {got} for {exact}");
            }
        }
    }
    assert!(alike > 100, "{alike}");
    // Main diagonal: triangle 0 touches samples 00, 11, 10, triangle 1 touches 00, 01, 11.
    let hole = png_bytes(&holes);
    for i in 0..256 * 256 {
        let taken = |d: usize| hole[(i / 256 + d / 2) * 257 + i % 256 + d % 2] == 255;
        let mask = u8::from(!(taken(0) || taken(3) || taken(1)))
            | u8::from(!(taken(0) || taken(2) || taken(3))) << 1;
        assert_eq!(raster.mask[i], mask, "cell {i}");
    }
}

fn png_bytes(path: &Path) -> Vec<u8> {
    let mut reader =
        png::Decoder::new(std::io::BufReader::new(fs::File::open(path).unwrap())).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut bytes).unwrap();
    bytes
}

#[test]
fn the_command_writes_the_same_bytes_with_and_without_kept_stages() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let recipe = fs::read_to_string(island()).unwrap();
    fs::write(path("w.ron"), &recipe).unwrap();
    let cook = |out: &str, more: &[&str]| {
        let cache = path("stages").display().to_string();
        let more: Vec<&str> = more.iter().map(|m| if *m == "stages" { cache.as_str() } else { m }).collect();
        let output = highground()
            .arg("cook")
            .arg(path("w.ron"))
            .arg("--out")
            .arg(path(out))
            .args(more)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        fs::read(path(out)).unwrap()
    };
    let plain = cook("plain.terrain", &["--threads", "1"]);
    assert!(plain == cook("first.terrain", &["--cache", "stages", "--threads", "2"]));
    assert!(plain == cook("first.terrain", &["--cache", "stages"]));
    fs::write(path("w.ron"), recipe.replace("max_grade: 0.2", "max_grade: 0.1")).unwrap();
    let changed = cook("changed.terrain", &["--cache", "stages"]);
    assert!(changed != plain && changed == cook("plain.terrain", &[]));
    verify(&path("changed.terrain")).unwrap();
    // The recipe itself is never written over.
    let output =
        highground().arg("cook").arg(path("w.ron")).arg("--out").arg(path("w.ron")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn the_example_of_the_page_on_recipes_cooks() {
    let page = fs::read_to_string(highground_tests::root().join("docs/recipes.md")).unwrap();
    let example = page.split("```ron\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let kitchen = Kitchen::new();
    let served = kitchen.serve(example).unwrap();
    let raster = served.collect();
    assert_eq!(raster.config.samples, [513, 513]);
    assert!(raster.mask.iter().any(|&m| m != 3), "the hole is there");
    assert_eq!(raster.catalogue.overlays[0].name, "track");
}

#[test]
fn what_can_be_seen_in_the_text_is_refused_before_anything_is_made() {
    let kitchen = Kitchen::new();
    // Costly steps that never come to be made: nothing is heard of any stage.
    let costly = "version: 2, source: Level(size: (257, 257), spacing_m: 1, height_m: 3), steps: [Thermal(iterations: 20000, talus_deg: 30)MORE]";
    let road = ", Road(name: \"r\", points: [(0, 0), (9, 9)], width_m: 2, paint: (layer: \"gravle\"))";
    for (more, rest, expected) in [
        (
            road,
            "layers: [(name: \"gravel\")]",
            "steps[1] (r): paint: expected the name of a layer, found \"gravle\"",
        ),
        ("", "layers: [(name: \"a\"), (name: \"a\")]", "\"a\""),
        (
            "",
            "holes: [Cells(x: 250, z: 0, w: 7, h: 1)]",
            "holes[0]: expected a rectangle inside the 256x256 cells",
        ),
        (
            "",
            "materials: [(material: (name: \"e\")), (material: (name: \"m\"), regions: [Half(x: 0, z: 256, triangle: 0)])]",
            "materials[1].regions[0]: ",
        ),
        ("", "extent: (x: 0, z: 0, w: 257, h: 1)", "extent: expected a rectangle"),
        (", Crop(x: 1, z: 0, w: 257, h: 9)", "", "steps[1] (crop): expected a part of the 257x257 samples"),
        (
            "",
            "splats: [(image: \"no.png\", layers: [\"a\"])], layers: [(name: \"a\")]",
            "no.png: cannot be read",
        ),
        ("", "holes: [Image(\"no.png\")]", "no.png: cannot be read"),
    ] {
        let heard = std::sync::atomic::AtomicU64::new(0);
        let watch = |_: &str, _, _| {
            heard.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        };
        let order = Order { watch: &watch, ..Order::default() };
        let text = format!("({}, {rest})", costly.replace("MORE", more));
        let error = kitchen.serve_with(&text, &order).map(|_| ()).unwrap_err();
        assert!(error.contains("w.ron: ") && error.contains(expected), "{error}");
        assert_eq!(heard.into_inner(), 0, "{error}");
    }
    let old =
        kitchen.serve("(source: Level(size: (9, 9), spacing_m: 1, height_m: 0))").map(|_| ()).unwrap_err();
    assert!(
        old.contains("w.ron:1:") && old.contains("read as version 1, since it has no `version: 2`"),
        "{old}"
    );
}

#[test]
fn advice_on_a_raster_is_in_the_words_of_a_recipe() {
    let kitchen = Kitchen::new();
    write_grey16(&kitchen.path("h.png"), 4, 4, &[7; 16]);
    let raster = |rest: &str| {
        let text = format!("(version: 2, source: Raster(path: \"h.png\"{rest}))");
        kitchen.serve(&text).map(|_| ()).unwrap_err()
    };
    let range = raster(", spacing_m: 1");
    assert!(
        range.contains("w.ron: h.png: ") && range.contains("min_m and max_m") && !range.contains("--"),
        "{range}"
    );
    let spacing = raster(", min_m: 0, max_m: 9");
    assert!(spacing.contains("give spacing_m") && !spacing.contains("--"), "{spacing}");
}

#[test]
fn what_was_done_to_sources_is_said_on_stderr() {
    let kitchen = Kitchen::new();
    write_grey16(&kitchen.path("a.png"), 3, 3, &[0; 9]);
    write_grey16(&kitchen.path("b.png"), 3, 3, &[100; 9]);
    let tile = |name: &str| format!("Raster(path: \"{name}.png\", spacing_m: 1, min_m: 0, max_m: 65535)");
    let text =
        format!("(version: 2, source: Mosaic(tiles: [[{}, {}]], seams: average))", tile("a"), tile("b"));
    fs::write(kitchen.path("w.ron"), text).unwrap();
    let out = kitchen.path("w.terrain");
    let run = highground().arg("cook").arg(kitchen.path("w.ron")).arg("--out").arg(&out).output().unwrap();
    let said = String::from_utf8(run.stderr).unwrap();
    assert!(run.status.success() && said.contains("note: ") && said.contains('3'), "{said}");
}

/// A Terrain3D region with painted holes.
#[test]
fn a_source_s_own_holes_survive_steps_crops_mosaics_and_resampling() {
    let Some(data) = shared_data("terrain3d-demo") else { return };
    let kitchen = Kitchen::new();
    fs::copy(data.join("terrain3d_00_00.res"), kitchen.path("r.res")).unwrap();
    let source = "Raster(path: \"r.res\", spacing_m: 1)";
    let cook = |text: String| kitchen.serve(&text).unwrap().collect();
    let plain = cook(format!("(version: 2, source: {source})"));
    let holes = |raster: &Raster| -> Vec<(usize, usize)> {
        let width = raster.config.samples[0] as usize - 1;
        let gone = raster.mask.iter().enumerate().filter(|(_, m)| **m == 0);
        gone.map(|(i, _)| (i % width, i / width)).collect()
    };
    let expected = holes(&plain);
    assert!(expected.len() > 100, "{}", expected.len());
    let step = cook(format!("(version: 2, source: {source}, steps: [Offset(0)])"));
    assert_eq!(holes(&step), expected);
    let (x, z) = expected[expected.len() / 2];
    let (x, z) = (x.saturating_sub(5), z.saturating_sub(5));
    let cropped =
        cook(format!("(version: 2, source: {source}, steps: [Crop(x: {x}, z: {z}, w: 20, h: 20)])"));
    let inside = expected.iter().filter(|c| (x..x + 19).contains(&c.0) && (z..z + 19).contains(&c.1));
    assert_eq!(holes(&cropped), inside.map(|c| (c.0 - x, c.1 - z)).collect::<Vec<_>>());
    let level = "Level(size: (20, 20), spacing_m: 1, height_m: 0)";
    let part = format!("Chain(source: {source}, steps: [Crop(x: {x}, z: {z}, w: 20, h: 20)])");
    let joined = cook(format!("(version: 2, source: Mosaic(tiles: [[{level}, {part}]], seams: first))"));
    assert_eq!(holes(&joined), holes(&cropped).iter().map(|c| (c.0 + 19, c.1)).collect::<Vec<_>>());
    let finer =
        cook(format!("(version: 2, source: Chain(source: {part}), steps: [Resample(spacing_m: 0.5)])"));
    let fine: Vec<(usize, usize)> = holes(&cropped)
        .iter()
        .flat_map(|&(x, z)| [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(a, b)| (2 * x + a, 2 * z + b)))
        .collect();
    let mut fine = fine;
    fine.sort_by_key(|c| (c.1, c.0));
    assert_eq!(holes(&finer), fine);
    // Kept and found again.
    let cache = kitchen.path("cache");
    for _ in 0..2 {
        let order = Order { cache: Some(&cache), ..Order::default() };
        let text = format!("(version: 2, source: {source}, steps: [Resample(spacing_m: 1), Offset(0)])");
        assert_eq!(holes(&kitchen.serve_with(&text, &order).unwrap().collect()), expected);
    }
}

#[test]
fn a_recipe_that_keeps_control_of_no_layers_gives_a_file_that_verifies() {
    let kitchen = Kitchen::new();
    let served = kitchen
        .serve("(version: 2, source: Level(size: (40, 40), spacing_m: 1, height_m: 3), keep: (control: 0.5))")
        .unwrap();
    let out = kitchen.path("w.terrain");
    served.write(&out, &|_, _, _| ()).unwrap();
    verify(&out).unwrap();
}

#[test]
fn a_stage_under_another_s_name_is_made_anew() {
    let kitchen = Kitchen::new();
    let recipe = |iterations: u32| {
        format!(
            "(version: 2, source: Noise(size: (40, 40), spacing_m: 1, noise: (seed: 1, wavelength_m: 20, amplitude_m: 9)), steps: [Thermal(iterations: {iterations}, talus_deg: 20)])"
        )
    };
    let cook = |iterations: u32, cache: &Path| {
        let order = Order { cache: Some(cache), ..Order::default() };
        kitchen.serve_with(&recipe(iterations), &order).unwrap().collect()
    };
    let (three, nine) = (kitchen.path("c3"), kitchen.path("c9"));
    let (right, wrong) = (cook(3, &three), cook(9, &nine));
    assert_ne!(right, wrong);
    let names = |folder: &Path| -> std::collections::BTreeSet<_> {
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name()).collect()
    };
    let (a, b) = (names(&three), names(&nine));
    let own = a.difference(&b).next().expect("a stage of its own");
    fs::copy(nine.join(b.difference(&a).next().unwrap()), three.join(own)).unwrap();
    assert_eq!(cook(3, &three), right);
}
