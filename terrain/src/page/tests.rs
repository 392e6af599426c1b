//! Pages of terrains in memory.

use super::*;
use crate::compute::CpuCompute;
use crate::config::TerrainConfig;
use crate::content::{Catalogue, Layer};
use crate::coord::BlockSide;
use crate::image::{Image, ImageError};
use crate::kernel::weight_mip::Encoding;
use crate::layer_images::{Kind, Options};
use crate::pass::page::Look;
use crate::store::{MemoryTerrain, Raster};

fn no_images(name: &str, _: u64) -> Result<Image, ImageError> {
    panic!("no image is asked for, but {name}")
}

/// Hills of 70 x 50 samples.
fn raster() -> Raster {
    let config = TerrainConfig::new([70, 50], 512);
    let height = |i: i32| 40 * (i % 70) + (i / 70) * (i / 70) - 300;
    let mut heights: Vec<i32> = (0..3500).map(height).collect();
    heights[70 * 20 + 30] = VOID;
    Raster::from_heights(config, heights)
}

fn heights() -> Heights {
    Heights::read(&MemoryTerrain::new(raster(), BlockSide::S32), 1 << 20).unwrap()
}

#[test]
fn heights_are_the_terrains_and_levels_skip_to_the_last() {
    let h = heights();
    assert_eq!((h.at(0, 69, 49), h.at(0, 33, 31)), (40 * 69 + 49 * 49 - 300, 40 * 33 + 31 * 31 - 300));
    // Every eighth of 70: the last of ten stands at 69.
    assert_eq!((h.at(3, 9, 0), h.at(3, 8, 2)), (40 * 69 - 300, 40 * 64 + 256 - 300));
    let budget = Heights::read(&MemoryTerrain::new(raster(), BlockSide::S32), 13_999).unwrap_err();
    assert!(budget.to_string().contains("14000 bytes"), "{budget}");
}

#[test]
fn samples_have_the_normals_of_their_level() {
    let h = heights();
    let mut words = Vec::new();
    h.window(&Window { level: 0, first: [29, 19], size: [3, 3] }, &mut words);
    // The void is level; beside it the slope is to the other side: 40 quanta a sample of 256.
    assert_eq!(words[12..15], [VOID as u32, 0x8080, NEUTRAL]);
    // One side of a plane that rises 40/256 a metre: nx = −0.1544 without the slope along z.
    let nx = f64::from(words[3 * 3 + 1] & 255) - 128.0;
    let (sx, sz) = (40.0 / 256.0, 2.0 * 20.0 / 256.0);
    assert!((nx + 127.0 * sx / f64::sqrt(1.0 + sx * sx + sz * sz)).abs() < 0.54, "{nx}");
    // Of level 2 differences go over four samples.
    words.clear();
    h.window(&Window { level: 2, first: [3, 3], size: [1, 1] }, &mut words);
    let nz = f64::from(words[1] >> 8) - 128.0;
    let (sx, sz) = (40.0 / 256.0, (256.0 - 64.0) / 8.0 / 256.0);
    assert!((nz + 127.0 * sz / f64::sqrt(1.0 + sx * sx + sz * sz)).abs() < 0.54, "{nz}");
    // The coarsest there can be still has an answer.
    words.clear();
    h.window(&Window { level: 16, first: [0, 0], size: [2, 2] }, &mut words);
    assert_eq!(words[3] as i32, 40 * 69 - 300);
}

fn recipe(colour: (u8, u8, u8)) -> LayerSource {
    let text = format!(
        "(seed: 5, height: [(kind: stones, cells: (4, 4))], tone: [(kind: clouds, cells: (2, 2))],
          colours: [{colour:?}, {colour:?}], roughness: (0.5, 0.5), relief: 0.0)"
    );
    LayerSource::Recipe(crate::cook::generate::Texture::parse(&text, "test").unwrap())
}

fn made(layers: &[Layer]) -> Made {
    let sources = [recipe((200, 10, 10)), LayerSource::Plain];
    make(layers, &sources, Options { side: 16, ..Options::default() }, &no_images).unwrap()
}

fn layers() -> Vec<Layer> {
    vec![
        Layer { tint: [0.1, 0.2, 0.3], ..Layer::named("red") },
        Layer { tint: [0.0, 1.0, 0.0], ..Layer::named("green") },
    ]
}

#[test]
fn recipes_keep_their_colours_and_plain_layers_their_tint() {
    let made = made(&layers());
    assert_eq!((made.layers[0].tint, made.layers[1].tint), ([1.0; 3], [0.0, 1.0, 0.0]));
    assert_eq!(made.arrays.texel(Kind::Albedo, 0, 0, 3, 3).map(|t| [t[0], t[1], t[2]]), Some([200, 10, 10]));
    assert_eq!(made.arrays.texel(Kind::Albedo, 2, 1, 0, 0), Some([255, 255, 255, 128]));
    assert_eq!(made.arrays.texel(Kind::Orm, 4, 0, 0, 0), Some([255, 128, 0, 255]));
    let wrong = make(&layers(), &[LayerSource::Plain], Options::default(), &no_images).unwrap_err();
    assert!(wrong.to_string().contains("a source a layer"), "{wrong}");
}

#[test]
fn a_terrain_is_baked_at_every_mip() {
    let (heights, made) = (heights(), made(&layers()));
    let catalogue = Catalogue { layers: made.layers, ..Catalogue::default() };
    let look = Look { side: 32, border: 2, variation: 0.0, ..Look::default() };
    let textures = pack(&made.arrays).unwrap();
    let config = raster().config;
    let baker = Baker::new(&config, &look, &catalogue, textures, false).unwrap();
    // The west half is layer 0, the rest layer 1.
    let texels: Vec<u8> =
        (0..69 * 49).flat_map(|i| if i % 69 < 34 { [0, 0, 0] } else { [1, 1, 0] }).collect();
    let weights = WeightChain::build(&CpuCompute::new(), Encoding::Hd, [69, 49], texels).unwrap();
    let mut pages = Pages::new(baker, &weights, &heights).unwrap();
    for mip in 0..pages.baker().mips() {
        let [w, h] = pages.baker().pages(mip).map(|n| n as i32);
        let all: Vec<PagePos> = (0..w * h).map(|i| PagePos::new(mip, i % w, i / w)).collect();
        let mut seen = 0;
        pages
            .bake(&CpuCompute::new(), &all, &mut |pos, words| {
                // A texel in the west is red, one in the east green; the middle texel of a page.
                let t = &words[(36 * 18 + 18) * 3..][..3];
                let metres = (f64::from(pos.x * 32 + 16) + 0.5) * 0.25 * f64::from(1 << mip);
                let far = f64::from(1 << mip) + 2.0;
                if metres < 68.0 - far {
                    assert_eq!((t[0] & 255, t[0] >> 24), (200, 128), "{pos:?}");
                } else if metres > 68.0 + far && metres < 138.0 {
                    assert_eq!(t[0] & 0x00FF_FFFF, 0x0000_FF00, "{pos:?}");
                }
                seen += 1;
            })
            .unwrap();
        assert_eq!(seen, all.len());
    }
    let other = WeightChain::build(&CpuCompute::new(), Encoding::Hd, [1, 1], vec![0; 3]).unwrap();
    let baker = Baker::new(&config, &look, &catalogue, pack(&made.arrays).unwrap(), false).unwrap();
    let e = Pages::new(baker, &other, &heights).unwrap_err().to_string();
    assert!(e.contains("[69, 49]") && e.contains("[1, 1]"), "{e}");
}
