//! `render --what pages` and `--what macro`: pictures against the pages themselves.

use highground_terrain::config::TerrainConfig;
use highground_terrain::content::Layer;
use highground_terrain::coord::BlockSide;
use highground_terrain::kernel::weight_mip::HdTexel;
use highground_terrain::store::{Raster, WriteOptions, write_payload};
use highground_tests::highground;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// 40 x 30 cells, level but for a slope in the south; the west half red, the east half green.
fn terrain(folder: &Path) -> PathBuf {
    let config = TerrainConfig::new([41, 31], 512);
    let heights = (0..41 * 31).map(|i| 128 * (i / 41 - 20).max(0)).collect();
    let mut raster = Raster::from_heights(config, heights);
    let texels: Vec<HdTexel> =
        (0..1200u32).map(|i| HdTexel { id1: u8::from(i % 40 >= 20), id2: 0, ratio: 0 }).collect();
    raster.set_hd_weights(&["paint a", "paint b"], &texels);
    let tints = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    for (layer, tint) in raster.catalogue.layers.iter_mut().zip(tints) {
        *layer = Layer { tint, ..layer.clone() };
    }
    let path = folder.join("two.terrain");
    write_payload(&raster, &WriteOptions::new(BlockSide::S32, "{}", 0.0), &path).unwrap();
    path
}

/// The picture's pixels by column and row of the map, and what `--json` says.
fn render(path: &Path, args: &[&str]) -> (Value, impl Fn(usize, usize) -> [u8; 3] + use<>) {
    let out = path.with_extension("png");
    let mut command = highground();
    command.arg("render").arg(path).args(args).args(["--json", "--out"]).arg(&out);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let bytes = std::fs::read(&out).unwrap();
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let mut data = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut data).unwrap();
    let [x0, y0] = [0, 1].map(|i| said["map"][i].as_u64().unwrap() as usize);
    let width = info.width as usize;
    (said, move |x: usize, y: usize| {
        let at = ((y0 + y) * width + x0 + x) * 3;
        [data[at], data[at + 1], data[at + 2]]
    })
}

#[test]
fn pages_lie_in_their_places_without_their_borders() {
    let folder = tempfile::tempdir().unwrap();
    let path = terrain(folder.path());
    let (said, at) = render(&path, &["--what", "pages", "--mip", "1", "--channel", "albedo"]);
    // Four texels a cell.
    assert_eq!(said["map"].as_array().unwrap()[2..], [160, 120]);
    for (x, y) in [(0, 0), (70, 60), (77, 119)] {
        let [r, g, b] = at(x, y);
        assert!(r > 200 && g == 0 && b == 0, "{x} {y}: {r} {g} {b}");
    }
    for (x, y) in [(82, 0), (128, 60), (159, 119)] {
        let [r, g, b] = at(x, y);
        assert!(g > 200 && r == 0 && b == 0, "{x} {y}: {r} {g} {b}");
    }
    // A slope of 1 m over 2 m to the south: nz = −0.4472, code 128 − 57.
    let (_, at) = render(&path, &["--what", "pages", "--mip", "3", "--channel", "normal"]);
    assert_eq!((at(10, 5), at(10, 26)), ([128, 128, 255], [128, 71, 241]));
    let (_, at) = render(&path, &["--what", "pages", "--mip", "0", "--page-lines"]);
    assert!(
        (0..240).all(|y| at(128, y) == [250, 220, 90] && at(127, y) != [250, 220, 90] || y == 0 || y == 128)
    );
}

#[test]
fn the_macro_texture_is_the_pages_of_its_mip() {
    let folder = tempfile::tempdir().unwrap();
    let path = terrain(folder.path());
    let albedo = ["--channel", "albedo", "--max-side", "100"];
    let (said, whole) = render(&path, &[&["--what", "macro"], &albedo[..]].concat());
    let (pages, tiled) = render(&path, &[&["--what", "pages"], &albedo[..]].concat());
    assert_eq!((&said["map"], &said["level"]), (&pages["map"], &pages["level"]));
    let [w, h] = [2, 3].map(|i| said["map"][i].as_u64().unwrap() as usize);
    assert!((0..w * h).all(|i| whole(i % w, i / w) == tiled(i % w, i / w)));
}

#[test]
fn what_makes_no_picture_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = terrain(folder.path());
    for (args, words) in [
        (&["--what", "macro", "--mip", "2"][..], "--mip is for"),
        (&["--what", "layers", "--page-lines"], "--page-lines"),
        (&["--what", "pages", "--mip", "99"], "0 to 24"),
        (&["--what", "pages", "--level", "1"], "--level is for"),
    ] {
        let out = path.with_extension("png");
        let mut command = highground();
        let output = command.arg("render").arg(&path).args(args).arg("--out").arg(&out).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(words), "{said}");
    }
}
