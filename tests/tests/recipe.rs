//! Recipes of version 2: what they compose, what they keep, and what they refuse.

#[path = "recipe/kitchen.rs"]
mod kitchen;
#[path = "recipe/real.rs"]
mod real;
#[path = "recipe/refusals.rs"]
mod refusals;
mod shared;
#[path = "recipe/stages.rs"]
mod stages;

use highground_terrain::content::PlaneKind;
use highground_terrain::cook::{Order, serve};
use highground_terrain::store::{Raster, collect, verify};
use highground_tests::command::highground;
use kitchen::{Kitchen, island, plane};
use shared::{shared_data, write_grey16};
use std::fs;

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
