//! Layer images: any size, any kind of PNG, made into the same bytes everywhere.

mod shared;

use highground_terrain::content::{Layer, LayerImages};
use highground_terrain::image::Image;
use highground_terrain::layer_images::{Kind, LayerArrays, MAX_SIDE, Options, build, from_folder};
use png::{BitDepth, ColorType};
use shared::{Numbers, write_png};
use std::path::Path;

fn layer(images: LayerImages) -> Layer {
    Layer { images, ..Layer::named("a") }
}

fn options(side: u32) -> Options {
    Options { side, ..Options::default() }
}

/// An image of noise.
fn noise(size: [u32; 2], channels: u8, bits: u8, seed: u64) -> Image {
    let mut numbers = Numbers(seed);
    let n = size[0] * size[1] * u32::from(channels) * u32::from(bits / 8);
    Image::new(size, channels, bits, (0..n).map(|_| numbers.below(256) as u8).collect()).unwrap()
}

#[test]
fn what_is_missing_has_its_stated_default() {
    let images = LayerImages { emissive: Some("glow".into()), ..LayerImages::default() };
    let glow = Image::new([1, 1], 3, 8, vec![10, 20, 30]).unwrap();
    let arrays = build(&[&LayerImages::default(), &images], options(4), &|_, _| Ok(glow.clone())).unwrap();
    assert_eq!((arrays.side(), arrays.layers(), arrays.mips()), (4, 2, 3));
    for mip in 0..3 {
        let texel = |kind, layer| arrays.texel(kind, mip, layer, 0, 0).unwrap();
        for layer in [0, 1] {
            assert_eq!(texel(Kind::Albedo, layer), [255, 255, 255, 128]);
            assert_eq!(texel(Kind::Normal, layer), [128, 128, 255, 255]);
            assert_eq!(texel(Kind::Orm, layer), [255, 230, 0, 255]);
        }
        assert_eq!((texel(Kind::Emissive, 0), texel(Kind::Emissive, 1)), ([0, 0, 0, 255], [10, 20, 30, 255]));
    }
    assert_eq!(arrays.slice(Kind::Normal, 0, 0), None);
    assert_eq!(arrays.slice(Kind::Emissive, 2, 1), Some(&[10, 20, 30, 255][..]));
    assert_eq!(arrays.texel(Kind::Emissive, 3, 0, 0, 0), None);
}

#[test]
fn heights_come_from_the_first_source_there_is() {
    let plain = |texel: &[u8]| Image::new([1, 1], texel.len() as u8, 8, texel.to_vec()).unwrap();
    let open = |name: &str, _| {
        Ok(match name {
            "height" => plain(&[40, 1, 1]),
            "alpha" => Image::new([2, 1], 4, 8, vec![9, 9, 9, 255, 9, 9, 9, 55]).unwrap(),
            "opaque" => plain(&[9, 9, 9, 255]),
            "grey" => plain(&[9]),
            _ => plain(&[70, 80, 90]),
        })
    };
    let of = |albedo: &str, orm: &str, height: &str| {
        let name = |n: &str| (!n.is_empty()).then(|| n.to_owned());
        let images = LayerImages {
            albedo: name(albedo),
            orm: name(orm),
            height: name(height),
            ..LayerImages::default()
        };
        let arrays = build(&[&images], options(1), &open).unwrap();
        arrays.texel(Kind::Albedo, 0, 0, 0, 0).unwrap()[3]
    };
    assert_eq!(of("alpha", "orm", "height"), 40);
    assert_eq!(of("alpha", "orm", ""), 155);
    assert_eq!(of("opaque", "orm", ""), 70);
    assert_eq!(of("grey", "orm", ""), 70);
    assert_eq!(of("", "orm", ""), 70);
    assert_eq!(of("opaque", "", ""), 128);
    assert_eq!(of("", "", "height"), 40);
}

#[test]
fn colours_are_mixed_as_light_and_numbers_as_numbers() {
    // Black and white in turn: half the light is sRGB 188, half the number 128 (127.5, up).
    let stripes: Vec<u8> = (0..64).flat_map(|i| [if i % 2 == 0 { 0 } else { 255 }; 3]).collect();
    let image = Image::new([64, 1], 3, 8, stripes).unwrap();
    let images = LayerImages {
        albedo: Some("a".into()),
        orm: Some("a".into()),
        emissive: Some("a".into()),
        ..LayerImages::default()
    };
    let arrays = build(&[&images], options(32), &|_, _| Ok(image.clone())).unwrap();
    for mip in 0..6 {
        assert_eq!(arrays.texel(Kind::Albedo, mip, 0, 0, 0), Some([188, 188, 188, 128]));
        assert_eq!(arrays.texel(Kind::Orm, mip, 0, 0, 0), Some([128, 128, 128, 255]));
        assert_eq!(arrays.texel(Kind::Emissive, mip, 0, 0, 0), Some([188, 188, 188, 255]));
    }
}

/// The weight of each source texel in an output texel along an axis, by definition.
fn weights(source: usize, side: usize, at: usize) -> Vec<f64> {
    let mut weights = vec![0.0; source];
    let scale = source as f64 / side as f64;
    if source > side {
        let (from, to) = (at as f64 * scale, (at + 1) as f64 * scale);
        for (i, w) in weights.iter_mut().enumerate() {
            *w = (to.min(i as f64 + 1.0) - from.max(i as f64)).max(0.0) / scale;
        }
    } else {
        let centre = (at as f64 + 0.5) * scale - 0.5;
        let index = |i: f64| (i as i64).rem_euclid(source as i64) as usize;
        weights[index(centre.floor())] += 1.0 - (centre - centre.floor());
        weights[index(centre.floor() + 1.0)] += centre - centre.floor();
    }
    weights
}

#[test]
fn numbers_are_resampled_by_boxes_and_wrapped_lines_and_mips_are_means() {
    for (seed, (size, bits)) in
        [([5, 7], 8), ([16, 3], 16), ([8, 8], 8), ([21, 2], 16), ([1, 40], 8)].into_iter().enumerate()
    {
        let image = noise(size, 4, bits, seed as u64);
        let [w, h] = size.map(|n| n as usize);
        let images = LayerImages { orm: Some("a".into()), ..LayerImages::default() };
        let arrays = build(&[&images], options(8), &|_, _| Ok(image.clone())).unwrap();
        for mip in 0..4 {
            let (side, step) = (8usize >> mip, 1usize << mip);
            for (y, x, c) in (0..side * side * 3).map(|i| (i / 3 / side, i / 3 % side, i % 3)) {
                // The mean over all texels of mip 0 beneath it.
                let mut mean = 0.0;
                for (dy, dx) in (0..step * step).map(|i| (i / step, i % step)) {
                    let (wx, wy) = (weights(w, 8, x * step + dx), weights(h, 8, y * step + dy));
                    for (j, i) in (0..w * h).map(|i| (i / w, i % w)) {
                        let at = (j * w + i) * 4 + c;
                        let v = match bits {
                            8 => f64::from(image.bytes()[at]) / 255.0,
                            _ => {
                                let b = &image.bytes()[at * 2..at * 2 + 2];
                                f64::from(u16::from_be_bytes([b[0], b[1]])) / 65_535.0
                            }
                        };
                        mean += wx[i] * wy[j] * v / (step * step) as f64;
                    }
                }
                let found = arrays.texel(Kind::Orm, mip as u32, 0, x as u32, y as u32).unwrap()[c];
                let off = (f64::from(found) - mean * 255.0).abs();
                assert!(off <= 0.5001, "{size:?} mip {mip} ({x}, {y}) {c}: {found} for {}", mean * 255.0);
            }
        }
    }
}

#[test]
fn normals_of_every_mip_have_length_one() {
    let image = noise([37, 19], 3, 8, 77);
    let images = LayerImages { normal: Some("n".into()), ..LayerImages::default() };
    let arrays = build(&[&images], options(32), &|_, _| Ok(image.clone())).unwrap();
    for mip in 0..6 {
        for texel in arrays.slice(Kind::Normal, mip, 0).unwrap().as_chunks::<4>().0 {
            let n = [0, 1, 2].map(|c| f64::from(texel[c]) / 127.5 - 1.0);
            let length = n.iter().map(|c| c * c).sum::<f64>().sqrt();
            // Each component is off by half a step at most: √3 / 255.
            assert!((length - 1.0).abs() < 0.0069, "mip {mip}: {texel:?} has length {length}");
        }
    }
    // Two that lean apart: their mean stands upright.
    let two = Image::new([2, 1], 3, 8, vec![218, 128, 218, 37, 128, 218]).unwrap();
    let arrays = build(&[&images], options(1), &|_, _| Ok(two.clone())).unwrap();
    assert_eq!(arrays.texel(Kind::Normal, 0, 0, 0, 0), Some([128, 128, 255, 255]));
}

#[test]
fn bytes_do_not_depend_on_the_number_of_threads() {
    let images = LayerImages {
        albedo: Some("a".into()),
        normal: Some("n".into()),
        orm: Some("o".into()),
        emissive: Some("e".into()),
        height: Some("h".into()),
    };
    let open = |name: &str, _| Ok(noise([100, 77], 4, 16, u64::from(name.as_bytes()[0])));
    let make = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| build(&[&images, &images], options(64), &open).unwrap().encode())
    };
    let one = make(1);
    assert!(one == make(3));
    // The same on every machine: what a program in Python, written from the module's words alone, gives for these images.
    assert_eq!(blake3::hash(&one).to_hex().as_str(), PINNED);
}

const PINNED: &str = "b82eccc13bc98d7d54cfb2f989f92b979cfdbdbd51ae3c504904ac2f650028ee";

#[test]
fn every_kind_of_png_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    write_png(&path("grey1.png"), 8, 1, ColorType::Grayscale, BitDepth::One, &[0b1000_0000]);
    write_png(&path("grey16.png"), 1, 1, ColorType::Grayscale, BitDepth::Sixteen, &[0x80, 0x80]);
    write_png(&path("ga8.png"), 1, 1, ColorType::GrayscaleAlpha, BitDepth::Eight, &[50, 60]);
    write_png(&path("rgba16.png"), 1, 1, ColorType::Rgba, BitDepth::Sixteen, &[1, 1, 2, 2, 3, 3, 4, 4]);
    let mut encoder = png::Encoder::new(std::fs::File::create(path("palette.png")).unwrap(), 2, 1);
    encoder.set_color(ColorType::Indexed);
    encoder.set_depth(BitDepth::Four);
    encoder.set_palette(vec![1, 2, 3, 200, 100, 50]);
    encoder.set_trns(vec![255, 9]);
    encoder.write_header().unwrap().write_image_data(&[0x10]).unwrap();
    let albedo = |name: &str, side: u32, x: u32| {
        let images = LayerImages { albedo: Some(name.into()), ..LayerImages::default() };
        let arrays = from_folder(dir.path(), &[layer(images)], options(side)).unwrap();
        arrays.texel(Kind::Albedo, 0, 0, x, 0).unwrap()
    };
    assert_eq!(
        (albedo("grey1.png", 8, 0), albedo("grey1.png", 8, 1)),
        ([255, 255, 255, 128], [0, 0, 0, 128])
    );
    assert_eq!(albedo("grey16.png", 1, 0), [128, 128, 128, 128]);
    assert_eq!(albedo("ga8.png", 1, 0), [50, 50, 50, 60]);
    assert_eq!(albedo("rgba16.png", 1, 0), [1, 2, 3, 4]);
    assert_eq!(
        (albedo("palette.png", 2, 0), albedo("palette.png", 2, 1)),
        ([200, 100, 50, 9], [1, 2, 3, 255])
    );
}

#[test]
fn images_sizes_and_budgets_that_will_not_do_are_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let good = dir.path().join("a.png");
    write_png(&good, 4, 4, ColorType::Grayscale, BitDepth::Eight, &[7; 16]);
    std::fs::write(dir.path().join("bomb.png"), shared::png_header(16_384, 16_384)).unwrap();
    let said = |images: LayerImages, options: Options, words: &str| {
        let error = from_folder(dir.path(), &[layer(images)], options).unwrap_err().to_string();
        assert!(error.contains(words) && error.lines().count() == 1, "{words}: {error}");
    };
    let albedo = |name: &str| LayerImages { albedo: Some(name.into()), ..LayerImages::default() };
    said(albedo("none.png"), options(4), "none.png");
    said(albedo("../a.png"), options(4), "inside the folder");
    said(albedo("/etc/passwd"), options(4), "inside the folder");
    said(albedo("bomb.png"), options(4), "bomb.png");
    said(albedo("a.png"), options(3), "power of two");
    said(albedo("a.png"), options(MAX_SIDE * 2), "power of two");
    said(albedo("a.png"), Options { side: 4, budget_bytes: 400 }, "bytes, more than the 400");
    // Enough for the textures (84 and 320 bytes), not for the image (16 bytes, expanded 64).
    said(albedo("a.png"), Options { side: 4, budget_bytes: 500 }, "at most 32 bytes in memory");
    said(LayerImages { normal: Some("a.png".into()), ..LayerImages::default() }, options(4), "3 channels");
    said(
        LayerImages { orm: Some("a.png".into()), ..LayerImages::default() },
        options(4),
        "8-bit grey of 4x4",
    );
    let none: [Layer; 0] = [];
    assert!(from_folder(Path::new("."), &none, options(4)).unwrap_err().to_string().contains("1 to 32"));
}

#[test]
fn bytes_come_back_and_hostile_ones_do_not_pass() {
    let images =
        LayerImages { normal: Some("n".into()), emissive: Some("e".into()), ..LayerImages::default() };
    let open = |name: &str, _| Ok(noise([9, 4], 3, 8, u64::from(name.as_bytes()[0])));
    let arrays = build(&[&images, &LayerImages::default(), &images], options(8), &open).unwrap();
    let bytes = arrays.encode();
    // 85 texels of 4 bytes for each of 3 layers of 2 arrays.
    assert_eq!(bytes.len(), 64 + 85 * 4 * 3 * 2);
    assert_eq!(LayerArrays::decode(&bytes).unwrap(), arrays);
    for n in 0..bytes.len() {
        assert!(LayerArrays::decode(&bytes[..n]).is_err(), "cut to {n} bytes");
        for bit in [0x01, 0x80] {
            let mut bad = bytes.clone();
            bad[n] ^= bit;
            assert!(LayerArrays::decode(&bad).is_err(), "byte {n}");
        }
    }
    assert!(LayerArrays::decode(&[&bytes[..], &[0]].concat()).is_err());
    // Claims of 32 layers of 8192 texels in a file of 64 bytes.
    let mut huge = bytes[..64].to_vec();
    huge[12..20].copy_from_slice(&[0, 32, 0, 0, 32, 0, 0, 0]);
    let error = LayerArrays::decode(&huge).unwrap_err().to_string();
    assert!(error.contains("body"), "{error}");
}
