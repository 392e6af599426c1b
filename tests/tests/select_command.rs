//! `highground select`, and the pictures of what views draw, as a user runs them.

use highground_terrain::compute::CpuCompute;
use highground_terrain::config::{Placement, TerrainConfig};
use highground_terrain::coord::{BlockSide, CellRect};
use highground_terrain::kernel::select::ranges::{RangeRule, Ranges};
use highground_terrain::lod::{Drawable, nodes_of_file};
use highground_terrain::pass::select::{Selected, Selector, View};
use highground_terrain::store::{MemoryTerrain, PayloadFile, Raster, WriteOptions, write_payload};
use highground_tests::{gpu, highground, test_name};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Output;

/// 400 × 300 samples a metre apart, an extent, a hole as large as four nodes and one half cell; placed off the origin.
fn raster() -> Raster {
    let mut config = TerrainConfig::new([400, 300], 256);
    config.extent = CellRect { x0: 0, z0: 0, x1: 380, z1: 299 };
    config.placement = Placement { x: 100, z: -20, y: 0 };
    let heights = (0..400 * 300).map(|i| (i % 400) * 20 + (i / 400 % 7) * 9).collect();
    let mut raster = Raster::from_heights(config, heights);
    for z in 192..256 {
        raster.mask[z * 399 + 64..z * 399 + 128].fill(0);
    }
    raster.mask[10 * 399 + 10] = 1;
    raster
}

fn terrain(folder: &Path, side: BlockSide) -> PathBuf {
    let path = folder.join(format!("{}.terrain", side.samples()));
    write_payload(&raster(), &WriteOptions::new(side, "{}", 0.0), &path).unwrap();
    path
}

fn select(terrain: &Path, arguments: &[&str]) -> Output {
    highground().arg("select").arg(terrain).args(arguments).output().unwrap()
}

fn said(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn nodes_are_one_json_object_in_canonical_order_on_every_device() {
    let folder = tempfile::tempdir().unwrap();
    let path = terrain(folder.path(), BlockSide::S32);
    let views = ["--view", "150.5,-3", "--view", "-40,300", "--json"];
    let found = said(&select(&path, &[&views[..], &["--device", "cpu"]].concat()));
    // As the library has it, from resident ground.
    let ground = MemoryTerrain::new(raster(), BlockSide::S64).ground_all();
    let drawable = Drawable::new(ground, [0; 32]).unwrap();
    let ranges = Ranges::by_rule(&RangeRule::default(), 256, 5).unwrap();
    let places =
        [[150.5, -3.0], [-40.0, 300.0]].map(|[x, z]| View::in_world(drawable.config(), x, z).unwrap());
    let mut selected = Selected::default();
    let mut selector = Selector::new(drawable.nodes().clone(), ranges).unwrap();
    selector.select(&CpuCompute::new(), &places, &mut selected).unwrap();
    let view = |i: usize, x: f64, z: f64| {
        let node = |n: &highground_terrain::pass::select::Node| json!({"level": n.level, "x": n.x, "z": n.z, "quarter_mask": n.quarter_mask});
        json!({"x": x, "z": z, "nodes": selected.of(i).iter().map(node).collect::<Vec<_>>()})
    };
    assert_eq!(found, json!({"views": [view(0, 150.5, -3.0), view(1, -40.0, 300.0)]}));
    let masks = selected.of(0).iter().filter(|n| n.quarter_mask != 0).count();
    assert!(masks > 0 && selected.of(0)[0].level == 0, "{found}");
    // Wider blocks, and another device.
    let wide = terrain(folder.path(), BlockSide::S128);
    assert_eq!(said(&select(&wide, &[&views[..], &["--device", "cpu"]].concat())), found);
    if gpu::require(test_name!()).is_some() {
        assert_eq!(said(&select(&path, &[&views[..], &["--device", "gpu"]].concat())), found);
    }
    let table = select(&path, &["--view", "150.5,-3", "--device", "cpu"]);
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(
        table.starts_with(&format!("view 150.5,-3: {} nodes\n  level 0 ", selected.of(0).len())),
        "{table}"
    );
}

#[test]
fn what_a_file_shows_is_what_its_ground_shows() {
    let folder = tempfile::tempdir().unwrap();
    let ground = MemoryTerrain::new(raster(), BlockSide::S32).ground_all();
    let expected = Drawable::new(ground, [0; 32]).unwrap();
    for side in [BlockSide::S32, BlockSide::S64, BlockSide::S128] {
        let file = PayloadFile::open(&terrain(folder.path(), side)).unwrap();
        assert_eq!(&nodes_of_file(&file).unwrap(), expected.nodes(), "{side:?}");
    }
}

#[test]
fn what_cannot_be_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = terrain(folder.path(), BlockSide::S32);
    for (arguments, expected) in [
        (&["--json"][..], "--view"),
        (&["--view", "1;2"], "expected \"X,Z\", two numbers in metres"),
        (&["--view", "nan,2"], "not a finite number"),
        (&["--view", "1,2", "--range", "40"], "--range 40: level 1: its morph band begins at"),
        (&["--view", "1,2", "--range", "4000000000"], "--range 4000000000: level 0: its range"),
    ] {
        let output = select(&path, arguments);
        let line = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(line.contains(expected) && line.trim_end().lines().count() == 1, "{line}");
    }
}

type Rgb = [u8; 3];

struct Picture {
    said: Value,
    width: usize,
    pixels: Vec<Rgb>,
}

impl Picture {
    /// A pixel of the map.
    fn at(&self, x: usize, y: usize) -> Rgb {
        let map = |i: usize| self.said["map"][i].as_u64().unwrap() as usize;
        self.pixels[(map(1) + y) * self.width + map(0) + x]
    }

    fn colour(&self, name: &str) -> Rgb {
        let legend = self.said["legend"].as_array().unwrap();
        let entry = legend.iter().find(|e| e["name"].as_str().is_some_and(|n| n.starts_with(name)));
        let colour = &entry.unwrap_or_else(|| panic!("{name:?} is not in {legend:?}"))["colour"];
        [0, 1, 2].map(|i| colour[i].as_u64().unwrap() as u8)
    }
}

fn render(terrain: &Path, what: &str, views: &[&str]) -> Picture {
    let out = terrain.with_extension("png");
    let mut command = highground();
    command
        .arg("render")
        .arg(terrain)
        .args(["--what", what, "--json", "--max-side", "800", "--out"])
        .arg(&out);
    let output = command.args(views.iter().flat_map(|v| ["--view", v])).output().unwrap();
    let said = said(&output);
    let mut reader =
        png::Decoder::new(std::io::Cursor::new(std::fs::read(&out).unwrap())).read_info().unwrap();
    let mut data = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut data).unwrap();
    Picture { said, width: info.width as usize, pixels: data.as_chunks::<3>().0.to_vec() }
}

#[test]
fn pictures_show_what_is_selected_and_what_is_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let path = terrain(folder.path(), BlockSide::S32);
    let view = ["110,-15"];
    let found = said(&select(&path, &["--view", view[0], "--device", "cpu", "--json"]));
    let p = render(&path, "lod", &view);
    // Two pixels a cell. Every pixel has the colour of the node that draws it, but for lines.
    let mut checked = 0;
    for (x, z) in (0..380).flat_map(|x| (0..299).map(move |z| (x, z))) {
        let drawn = found["views"][0]["nodes"].as_array().unwrap().iter().find(|n| {
            let get = |key: &str| n[key].as_u64().unwrap();
            let half = 16 << get("level");
            let (qx, qz) = (x / half, z / half);
            get("x") == qx / 2 && get("z") == qz / 2 && get("quarter_mask") >> (qx % 2 + qz % 2 * 2) & 1 == 0
        });
        let expected = match drawn {
            None => [128, 128, 134],
            Some(n) => {
                let own = p.colour(&format!("level {}:", n["level"]));
                if n["quarter_mask"] == 0 { own } else { own.map(|c| c / 4 * 3) }
            }
        };
        // Lines and the view's disc are left out.
        if x % 16 != 0 && x % 16 != 15 && z % 16 != 0 && z % 16 != 15 && x + z > 40 {
            assert_eq!(p.at(x as usize * 2, z as usize * 2), expected, "{x},{z} {drawn:?}");
            checked += 1;
        }
    }
    assert!(checked > 50_000);
    let p = render(&path, "receipt", &view);
    assert_eq!(p.at(2 * 100, 2 * 200), p.colour("nothing drawn"));
    assert_eq!(p.at(2 * 390, 10), p.colour("outside"));
    // Triangle 1 of a cell whose other one is left.
    assert_eq!(p.at(20, 21), p.colour("hole"));
    assert_ne!(p.at(21, 20), p.colour("hole"));
    assert!(p.at(40, 40)[1] > 60);
}

#[test]
fn views_are_for_pictures_of_views() {
    let folder = tempfile::tempdir().unwrap();
    let path = terrain(folder.path(), BlockSide::S32);
    let out = folder.path().join("x.png");
    for (arguments, expected) in [
        (&["--what", "height", "--view", "1,2"][..], "--view is for --what lod and --what receipt"),
        (&["--what", "lod", "--level", "1", "--view", "1,2"], "leave out --view"),
        (&["--what", "receipt"], "shows one --view, found 0"),
    ] {
        let output =
            highground().arg("render").arg(&path).args(arguments).arg("--out").arg(&out).output().unwrap();
        let line = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && line.contains(expected), "{line}");
    }
}
