//! What a recipe is refused for, and in which words.

use super::kitchen::{Kitchen, island};
use super::shared::write_grey16;
use highground_terrain::cook::{Order, Written};
use std::fs;
use std::path::Path;

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
