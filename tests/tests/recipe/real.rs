//! Recipes over real files; only where those are.

use super::kitchen::{Kitchen, plane};
use super::shared::shared_data;
use highground_terrain::content::PlaneKind;
use std::fs;
use std::io::Read;
use std::path::Path;

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
