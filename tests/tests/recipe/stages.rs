//! Stages kept for the next cook.

use super::kitchen::{Kitchen, island};
use super::shared::write_grey16;
use highground_terrain::cook::Order;
use highground_terrain::store::{Raster, collect, verify};
use highground_tests::command::highground;
use std::fs;
use std::path::{Path, PathBuf};

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
