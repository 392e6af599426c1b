//! `render`: pictures pixel by pixel against what the terrain holds.

use highground_terrain::config::{Diagonal, TerrainConfig};
use highground_terrain::content::{FoliageType, Layer, ObjectType, PhysicalMaterial, Plane, PlaneKind};
use highground_terrain::coord::{BlockSide, CellRect};
use highground_terrain::height::VOID;
use highground_terrain::store::{Raster, WriteOptions, write_payload};
use highground_tests::highground;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

type Rgb = [u8; 3];

const OUTSIDE: &str = "outside the valid extent";

/// A picture, and what `--json` says of it.
struct Picture {
    said: Value,
    width: usize,
    pixels: Vec<Rgb>,
    /// The map's place: x, y, width, height.
    map: [usize; 4],
}

impl Picture {
    fn size(&self) -> [usize; 2] {
        [self.map[2], self.map[3]]
    }

    /// A pixel of the map.
    fn at(&self, x: usize, y: usize) -> Rgb {
        self.pixels[(self.map[1] + y) * self.width + self.map[0] + x]
    }

    /// The colour of a name of the legend.
    fn colour(&self, name: &str) -> Rgb {
        let entry = self.said["legend"].as_array().unwrap().iter().find(|e| e["name"] == name);
        let colour = &entry.unwrap_or_else(|| panic!("{name:?} is not in {}", self.said["legend"]))["colour"];
        [0, 1, 2].map(|i| colour[i].as_u64().unwrap() as u8)
    }

    fn has(&self, name: &str) -> bool {
        self.said["legend"].as_array().unwrap().iter().any(|e| e["name"] == name)
    }
}

fn run(terrain: &Path, what: &str, out: &Path, options: &[&str]) -> Output {
    let mut command = highground();
    command.arg("render").arg(terrain).args(["--what", what, "--out"]).arg(out).args(options);
    command.output().unwrap()
}

fn render(terrain: &Path, what: &str, options: &[&str]) -> Picture {
    let out = terrain.with_extension("png");
    let output = run(terrain, what, &out, &[options, &["--json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let bytes = fs::read(&out).unwrap();
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let mut data = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut data).unwrap();
    assert_eq!((info.color_type, info.bit_depth), (png::ColorType::Rgb, png::BitDepth::Eight));
    assert_eq!(said["size"], serde_json::json!([info.width, info.height]));
    let map = [0, 1, 2, 3].map(|i| said["map"][i].as_u64().unwrap() as usize);
    Picture { said, width: info.width as usize, pixels: data.as_chunks::<3>().0.to_vec(), map }
}

/// 7×6 samples a metre apart, Checkerboard, two texels a cell side, with every kind of thing in it.
fn small() -> Raster {
    let mut config = TerrainConfig::new([7, 6], 256);
    config.diagonal = Diagonal::Checkerboard;
    config.paint_per_cell = 2;
    config.extent = CellRect { x0: 0, z0: 0, x1: 5, z1: 5 };
    let mut heights = vec![0; 42];
    heights[5 * 7] = VOID;
    let mut raster = Raster::from_heights(config, heights);
    raster.mask[8] = 0;
    raster.mask[3] = 1;
    raster.mask[16] = 2;
    let tinted = |name: &str, tint| Layer { tint, ..Layer::named(name) };
    raster.catalogue.layers =
        vec![tinted("grass", [0.0, 1.0, 0.0]), tinted("rock", [0.25, 0.25, 0.25]), Layer::named("snow")];
    let material = |name: &str| PhysicalMaterial { name: name.into(), ..PhysicalMaterial::default() };
    raster.catalogue.materials = vec![material("earth"), material("ice")];
    raster.catalogue.user_channels = vec!["danger".into(), "owner".into()];
    raster.catalogue.foliage = vec![FoliageType { name: "fern".into(), ..FoliageType::default() }];
    raster.catalogue.objects = vec![ObjectType { name: "rock".into(), ..ObjectType::default() }];
    let cells = |f: &dyn Fn(usize) -> u8| (0..30).map(f).collect::<Vec<u8>>();
    let texels = |f: &dyn Fn(usize) -> u8| (0..120).map(f).collect::<Vec<u8>>();
    for (kind, values) in [
        (PlaneKind::Weight(0), texels(&|i| [255, 204, 100, 0][i % 4])),
        (PlaneKind::Weight(1), texels(&|i| [0, 51, 155, 0][i % 4])),
        (PlaneKind::Weight(2), texels(&|i| [0, 0, 0, 255][i % 4])),
        (PlaneKind::PhysicalHole, cells(&|i| u8::from(i == 26) * 3)),
        (PlaneKind::PhysicalMaterial, cells(&|i| (i % 6 / 3) as u8)),
        (PlaneKind::User(1), cells(&|i| (i * 8) as u8)),
        (PlaneKind::Foliage(0), cells(&|i| u8::from(i == 0) * 255)),
        (PlaneKind::Object(0), cells(&|i| u8::from(i == 29) * 255)),
        (PlaneKind::WaterDepth, (0..42u32).flat_map(|i| (i % 7 / 4 * 640).to_le_bytes()).collect()),
    ] {
        raster.set_plane(Plane { kind, values });
    }
    raster
}

fn write(raster: &Raster, folder: &Path) -> PathBuf {
    let path = folder.join("a.terrain");
    write_payload(raster, &WriteOptions::new(BlockSide::S32, "{}", 0.0), &path).unwrap();
    path
}

/// The triangle of a cell that holds a point of it, by areas: (x, z) within the cell from 0 to 1, and never on its
/// diagonal. Corners as the design's table has them, written out again.
fn triangle(anti: bool, x: f64, z: f64) -> usize {
    let corners = [
        [[(0.0, 0.0), (1.0, 1.0), (1.0, 0.0)], [(0.0, 0.0), (0.0, 1.0), (1.0, 1.0)]],
        [[(0.0, 0.0), (0.0, 1.0), (1.0, 0.0)], [(1.0, 0.0), (0.0, 1.0), (1.0, 1.0)]],
    ][usize::from(anti)];
    let inside = |t: &[(f64, f64); 3]| {
        let side = |a: (f64, f64), b: (f64, f64)| (b.0 - a.0) * (z - a.1) - (b.1 - a.1) * (x - a.0);
        let s = [side(t[0], t[1]), side(t[1], t[2]), side(t[2], t[0])];
        s.iter().all(|&v| v > 0.0) || s.iter().all(|&v| v < 0.0)
    };
    corners.iter().position(inside).unwrap()
}

#[test]
fn visibility_tells_the_two_triangles_of_a_cell_apart() {
    let folder = tempfile::tempdir().unwrap();
    let raster = small();
    let path = write(&raster, folder.path());
    let p = render(&path, "visibility", &["--max-side", "90"]);
    // 90 / 6 cells.
    assert_eq!((p.size(), p.said["metres_per_pixel"].as_f64()), ([90, 75], Some(1.0 / 15.0)));
    let [half, hole, outside] = ["half a cell removed", "hole", OUTSIDE].map(|n| p.colour(n));
    let mut seen = [0; 4];
    for y in 0..75 {
        for x in 0..90 {
            let (cx, cz) = (x / 15, y / 15);
            let (fx, fz) = ((x % 15) as f64 / 15.0 + 1.0 / 30.0, (y % 15) as f64 / 15.0 + 1.0 / 30.0);
            if (fx - fz).abs() < 1e-9 || (fx + fz - 1.0).abs() < 1e-9 {
                continue;
            }
            let mask = raster.mask[cz * 6 + cx];
            let shown = mask >> triangle((cx + cz) % 2 == 0, fx, fz) & 1 == 1;
            let found = p.at(x, y);
            let expected = match (cx < 5, mask, shown) {
                (false, ..) => (0, Some(outside)),
                (_, 0, _) => (1, Some(hole)),
                (_, _, false) => (2, Some(half)),
                _ => (3, None),
            };
            seen[expected.0] += 1;
            match expected.1 {
                Some(colour) => assert_eq!(found, colour, "({x}, {y})"),
                None => assert!(![half, hole, outside].contains(&found), "({x}, {y})"),
            }
        }
    }
    assert!(seen.iter().all(|&n| n > 50), "{seen:?}");
}

#[test]
fn layers_have_their_tints_in_shares_and_ids_the_colour_of_the_strongest() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&small(), folder.path());
    let options = ["--max-side", "48"];
    let base = render(&path, "layers", &options);
    let ids = render(&path, "layer-ids", &options);
    // √0.25 is a half.
    assert_eq!((base.colour("0 grass"), base.colour("1 rock")), ([0, 255, 0], [128, 128, 128]));
    let snow = base.colour("2 snow");
    let names = ["0 grass", "1 rock", "2 snow"];
    for y in 0..40 {
        for x in 0..48 {
            // Four pixels a texel; twelve texels a row, so that columns repeat every fourth one.
            let i = x / 4 % 4;
            let [r, g] = [[0.0, 255.0], [0.2 * 128.0, 0.8 * 255.0 + 0.2 * 128.0]][usize::from(i == 1)];
            let b = 155.0 / 255.0 * 128.0;
            let expected = match i {
                0 | 1 => [r, g, r],
                2 => [b, 100.0 + b, b],
                _ => snow.map(f64::from),
            };
            for (found, expected) in base.at(x, y).iter().zip(expected) {
                assert!((f64::from(*found) - expected).abs() <= 0.51, "({x}, {y}): {found} {expected}");
            }
            assert_eq!(ids.at(x, y), ids.colour(names[[0, 0, 1, 2][i]]), "({x}, {y})");
        }
    }
}

#[test]
fn data_is_drawn_cell_by_cell_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&small(), folder.path());
    let options = ["--max-side", "60"];
    // Middles of cells: pixel 10 · cell + 4.
    let middle = |p: &Picture, cell: usize| p.at(cell % 6 * 10 + 4, cell / 6 * 10 + 2);
    let user = render(&path, "user", &options);
    assert_eq!(user.said["plane"], "owner");
    let colours: Vec<Rgb> = (0..30).map(|c| middle(&user, c)).collect();
    assert!(
        (1..30).all(|i| !colours[..i].contains(&colours[i])),
        "thirty values, thirty colours: {colours:?}"
    );
    let fern = render(&path, "density", &options);
    let rocks = render(&path, "density", &[&options[..], &["--plane", "32"]].concat());
    assert_eq!((&fern.said["plane"], &rocks.said["plane"]), (&"fern".into(), &"rock".into()));
    assert_eq!(middle(&fern, 0), middle(&rocks, 29));
    assert_eq!(middle(&fern, 29), middle(&rocks, 0));
    assert_eq!(middle(&fern, 0), [253, 231, 80], "full is the ramp's end");
    let water = render(&path, "water", &options);
    // Samples 4 to 6 of each row are 5 m deep; sample 4 is nearest from pixel 35 on.
    assert_eq!(water.said["legend"][1]["high"], "5 m deep");
    assert_eq!(water.at(35, 20), water.at(59, 40));
    assert_eq!(water.at(35, 20), [8, 34, 110]);
    assert!(water.at(34, 20) != water.at(35, 20));
    let normals = render(&path, "normals", &options);
    assert_eq!(normals.at(30, 25), [128, 128, 255], "level ground");
    let collision = render(&path, "collision", &options);
    assert_eq!(middle(&collision, 26), collision.colour("removed from collision only"));
    assert_eq!(middle(&collision, 8), collision.colour("hole"));
    assert_eq!(middle(&collision, 5), collision.colour(OUTSIDE));
    let near = |a: Rgb, b: Rgb| a.iter().zip(b).all(|(&a, b)| a.abs_diff(b) <= 3);
    // Level ground gets nearly all of the light.
    assert!(near(middle(&collision, 0), collision.colour("0 earth")));
    assert!(near(middle(&collision, 10), collision.colour("1 ice")));
}

/// 300×2 cells in one row, layer by column.
fn strip() -> Raster {
    let mut raster = Raster::from_heights(TerrainConfig::new([301, 3], 256), vec![0; 301 * 3]);
    raster.catalogue.layers = (0..7).map(|i| Layer::named(&format!("l{i}"))).collect();
    for id in 0..7 {
        let values = (0..600).map(|i| u8::from(i % 300 % 7 == id) * 255).collect();
        raster.set_plane(Plane { kind: PlaneKind::Weight(id as u8), values });
    }
    raster.mask[123] = 2;
    raster.mask[300 + 299] = 0;
    raster
}

#[test]
fn a_big_map_shows_the_cell_at_a_pixels_centre_and_loses_no_hole() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&strip(), folder.path());
    let ids = render(&path, "layer-ids", &["--max-side", "64"]);
    // 300 cells in 64 pixels: five cells a pixel, the third of them at the centre.
    assert_eq!((ids.size(), ids.said["metres_per_pixel"].as_f64()), ([60, 1], Some(5.0)));
    for x in 0..60 {
        let id = (5 * x + 2) % 7;
        assert_eq!(ids.at(x, 0), ids.colour(&format!("{id} l{id}")), "{x}");
    }
    let holes = render(&path, "visibility", &["--max-side", "64"]);
    for x in 0..60 {
        let found = holes.at(x, 0);
        assert_eq!(found == holes.colour("half a cell removed"), x == 123 / 5, "{x}");
        assert_eq!(found == holes.colour("hole"), x == 299 / 5, "{x}");
    }
}

#[test]
fn slopes_towards_the_light_are_brighter() {
    let folder = tempfile::tempdir().unwrap();
    // A roof: its flanks look north-west and south-east.
    let terrain = |name: &str, height: &dyn Fn(i32, i32) -> i32| {
        let heights = (0..65 * 65).map(|i| height(i % 65, i / 65)).collect();
        let raster = Raster::from_heights(TerrainConfig::new([65, 65], 256), heights);
        let folder = folder.path().join(name);
        fs::create_dir(&folder).unwrap();
        write(&raster, &folder)
    };
    let roof = terrain("roof", &|x, z| 6400 - (x + z - 64).abs() * 50);
    for side in ["64", "256", "16"] {
        let p = render(&roof, "hillshade", &["--max-side", side]);
        let n = p.size()[0];
        let (north_west, south_east) = (p.at(n / 4, n / 4)[0], p.at(n * 3 / 4, n * 3 / 4)[0]);
        assert!(north_west > south_east + 60, "{side}: {north_west} {south_east}");
    }
    let flat = terrain("flat", &|_, _| 12_800);
    let p = render(&flat, "height", &["--max-side", "64"]);
    assert_eq!(p.said["legend"][0]["low"], "100 m");
    assert!((0..64 * 64).all(|i| p.at(i % 64, i / 64) == p.at(0, 0)));
}

#[test]
fn nodes_show_their_highest_and_lowest_sample() {
    let folder = tempfile::tempdir().unwrap();
    // Three nodes: one all low, one all high, one with both; the samples between are the border's.
    let height = |x: usize| match x {
        0..=32 => 1280,
        33..=64 => 12_800,
        x if x % 2 == 0 => 1280,
        _ => 12_800,
    };
    let heights = (0..97 * 33).map(|i| height(i % 97)).collect();
    let raster = Raster::from_heights(TerrainConfig::new([97, 33], 256), heights);
    let path = write(&raster, folder.path());
    let p = render(&path, "min-max", &["--max-side", "192"]);
    assert_eq!((p.size(), p.said["level"].as_u64()), ([192, 64], Some(0)));
    let (upper, lower) = ((16, 16), (48, 48));
    let at = |node: usize, (x, y): (usize, usize)| p.at(node * 64 + x, y);
    let (low, high) = (at(0, lower), at(2, upper));
    assert!(low != high);
    assert_eq!((at(0, upper), at(0, lower)), (low, low));
    // Its first column of samples is the low one's last.
    assert_eq!((at(1, upper), at(1, lower)), (high, low));
    assert_eq!((at(2, upper), at(2, lower)), (high, low));
    let one = render(&path, "min-max", &["--max-side", "192", "--level", "2"]);
    assert_eq!((one.at(60, 20), one.at(130, 50)), (high, low));
}

#[test]
fn coarse_triangles_with_nothing_under_them_are_shown_as_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let mut raster = Raster::from_heights(TerrainConfig::new([129, 65], 256), vec![0; 129 * 65]);
    for (x, z) in (40..72).flat_map(|x| (20..52).map(move |z| (x, z))) {
        raster.mask[z * 128 + x] = 0;
    }
    let path = write(&raster, folder.path());
    let p = render(&path, "lod", &["--max-side", "512"]);
    assert_eq!(p.said["level"], 1);
    let skipped = p.colour("skipped: nothing shows under it");
    let cell = |x: usize, z: usize| p.at(x * 4 + 2, z * 4 + 1);
    // Two cells and more from every rim no morph reaches it; outside the hole every triangle is drawn.
    for z in 0..64 {
        for x in 0..128 {
            let deep = (44..68).contains(&x) && (24..48).contains(&z);
            let hole = (40..72).contains(&x) && (20..52).contains(&z);
            if x % 64 == 0 || z % 64 == 0 || x % 64 == 63 || z % 64 == 63 {
                // The nodes' outlines.
            } else if deep {
                assert_eq!(cell(x, z), skipped, "({x}, {z})");
            } else if !hole {
                assert!(cell(x, z) == p.colour("drawn"), "({x}, {z})");
            }
        }
    }
    let fine = render(&path, "lod", &["--max-side", "512", "--level", "0"]);
    assert_eq!(fine.at(50 * 4 + 2, 30 * 4 + 1), fine.colour("hole"));
}

#[test]
fn damaged_blocks_are_failed_and_everything_else_is_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let heights = (0..97 * 65).map(|i| i * 13 % 997).collect();
    let mut config = TerrainConfig::new([97, 65], 256);
    config.extent = CellRect { x0: 0, z0: 0, x1: 96, z1: 32 };
    let path = write(&Raster::from_heights(config, heights), folder.path());
    let mut bytes = fs::read(&path).unwrap();
    // Bodies of blocks follow the head: heights of 2 bytes a sample, block after block, masks that take none.
    let head = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    bytes[head + 2048 + 7] ^= 1;
    fs::write(&path, bytes).unwrap();
    let p = render(&path, "states", &["--max-side", "128"]);
    // Four by three whole blocks; the last row has one row of samples, the middle row lies outside the extent.
    assert_eq!(p.size(), [128, 96]);
    let [valid, empty, failed] = ["valid: 2", "empty: 9", "failed: 1"].map(|n| p.colour(n));
    let block = |x: usize, z: usize| p.at(x * 32 + 16, z * 32 + 16);
    for z in 0..3 {
        for x in 0..4 {
            let expected = match (x, z) {
                (1, 0) => failed,
                (0 | 2, 0) => valid,
                _ => empty,
            };
            assert_eq!(block(x, z), expected, "({x}, {z})");
        }
    }
    assert!(["unknown: 0", "pending: 0", "out of range: beyond the map"].iter().all(|n| p.has(n)));
    let p = render(&path, "hillshade", &["--max-side", "96"]);
    assert_eq!((p.at(40, 10), p.said["failed_blocks"].as_u64()), (p.colour("cannot be read"), Some(1)));
    // Its western neighbour's last cells need it too; no others do.
    assert_eq!(p.at(31, 10), p.colour("cannot be read"));
    assert!(p.at(30, 10) != p.colour("cannot be read"));
}

#[test]
fn the_scale_bar_is_as_long_as_it_says() {
    let folder = tempfile::tempdir().unwrap();
    for (spacing, samples, metres) in [(256, 401, 100.0), (64, 401, 20.0), (256 * 90, 401, 10_000.0)] {
        let config = TerrainConfig::new([samples, samples], spacing);
        let path = write(&Raster::from_heights(config, vec![0; (samples * samples) as usize]), folder.path());
        let p = render(&path, "hillshade", &["--max-side", "400"]);
        let per_pixel = p.said["metres_per_pixel"].as_f64().unwrap();
        // The bar's foot is the longest dark run below the map.
        let below = &p.pixels[(p.map[1] + p.map[3] + 2) * p.width..];
        let longest = below
            .chunks(p.width)
            .flat_map(|row| row.split(|c| *c != [34, 34, 38]).map(<[Rgb]>::len))
            .max()
            .unwrap();
        assert!((longest as f64 * per_pixel - metres).abs() <= per_pixel, "{longest} {per_pixel}");
    }
}

#[test]
fn the_same_picture_has_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&small(), folder.path());
    let bytes = [0, 1].map(|i| {
        let out = folder.path().join(format!("{i}.png"));
        assert!(run(&path, "layers", &out, &[]).status.success());
        fs::read(out).unwrap()
    });
    assert!(bytes[0] == bytes[1]);
}

#[test]
fn what_cannot_be_drawn_is_said_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let bare = Raster::from_heights(TerrainConfig::new([9, 9], 256), vec![0; 81]);
    let path = write(&bare, folder.path());
    let out = folder.path().join("b.png");
    let text = folder.path().join("text");
    fs::write(&text, "no terrain").unwrap();
    for (terrain, what, out, options, words) in [
        (&path, "layers", &out, &[][..], "has no layers"),
        (&path, "water", &out, &[], "has no water"),
        (&path, "user", &out, &[], "has no user planes"),
        (&path, "density", &out, &["--plane", "3"], "has no density planes"),
        (&path, "min-max", &out, &["--level", "1"], "levels 0 to 0, not 1"),
        (&path, "hillshade", &out, &["--level", "0"], "--level is for"),
        (&path, "hillshade", &out, &["--plane", "0"], "--plane is for"),
        (&path, "hillshade", &out, &["--max-side", "9"], "--max-side"),
        (&path, "colours", &out, &[], "colours"),
        (&path, "hillshade", &path, &[], "read by this very command"),
        (&text, "hillshade", &out, &[], "magic"),
    ] {
        let refused = run(terrain, what, out, options);
        let said = String::from_utf8_lossy(&refused.stderr);
        assert_eq!((refused.status.code(), said.lines().count()), (Some(2), 1), "{said}");
        assert!(said.contains(words), "{said}");
        assert!(!folder.path().join("b.png").exists());
    }
    let small = write(&small(), folder.path());
    let said = run(&small, "user", &out, &["--plane", "0"]).stderr;
    assert!(String::from_utf8_lossy(&said).contains("user planes are [1], not 0"));
}
