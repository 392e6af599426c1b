//! Pages of a made-up terrain: seams, windows, refusals.

use super::*;
use crate::compute::CpuCompute;
use crate::kernel::page::{NEUTRAL, pcg};
use std::collections::BTreeMap;

/// A terrain of 61 x 45 cells, two paint texels a cell side.
fn config() -> TerrainConfig {
    TerrainConfig { paint_per_cell: 2, diagonal: Diagonal::Checkerboard, ..TerrainConfig::new([62, 46], 512) }
}

fn catalogue() -> Catalogue {
    let layer = |name: &str, tiling_m| Layer { tiling_m, ..Layer::named(name) };
    let layers = vec![layer("grass", 3.0), layer("rock", 7.5), layer("sand", 2.0), layer("snow", 11.0)];
    let road = Overlay {
        name: "road".into(),
        points: vec![[-30.0, 20.0], [60.0, 35.0], [90.0, 120.0]],
        width_m: 5.0,
        fade_m: 2.0,
        layer: 2,
        ..Overlay::default()
    };
    let wide = Overlay {
        points: vec![[100.0, -1e6], [100.0, 1e6]],
        width_m: 900.0,
        fade_m: 300.0,
        layer: 3,
        ..road.clone()
    };
    Catalogue { layers, overlays: vec![wide, road], ..Catalogue::default() }
}

fn textures() -> Textures {
    let layer = |id: u32| {
        move |mip: u32, x: u32, y: u32| {
            let b = pcg(id | mip << 5 | x << 10 | y << 20).to_le_bytes();
            let c = pcg(x | y << 10 | id << 20).to_le_bytes();
            Texel {
                albedo: [b[0], b[1], b[2]],
                height: b[3],
                normal: [c[0] / 4 + 96, c[1] / 4 + 96, 240],
                roughness: c[2],
                occlusion: c[3],
                metallic: if id == 1 { b[0] } else { 0 },
            }
        }
    };
    let all = [0, 1, 2, 3].map(layer);
    Textures::new(16, &all.each_ref().map(|f| f as &dyn Fn(u32, u32, u32) -> Texel)).unwrap()
}

fn baker(look: &Look) -> Baker {
    Baker::new(&config(), look, &catalogue(), textures(), true).unwrap()
}

fn look(side: u32, border: u32) -> Look {
    Look { side, border, flat: vec!["snow".into()], plain: vec!["sand".into()], ..Look::default() }
}

/// The contents of windows, by what they are alone: (level, x, z).
fn contents(w: &Windows) -> (Vec<u32>, Vec<u32>) {
    let cells = |w: &Window| {
        let (first, [width, height]) = (w.first, w.size.map(|n| n as i32));
        let level = w.level;
        (0..width * height).map(move |i| {
            pcg(level | ((first[0] + i % width) as u32) << 5 | ((first[1] + i / width) as u32) << 18)
        })
    };
    let weights = cells(&w.weights).map(|h| h & 3 | (h >> 8 & 3) << 8 | (h >> 24) << 16).collect();
    let samples =
        cells(&w.samples).flat_map(|h| [h % 3000, h >> 8 & 0x3F3F | 0x6060, NEUTRAL ^ (h & 0x0F0F)]);
    (weights, samples.collect())
}

/// All pages of some positions, by position.
fn bake(baker: &Baker, pages: &[PagePos]) -> BTreeMap<PagePos, Vec<u32>> {
    let windows: Vec<_> = pages.iter().map(|&p| contents(&baker.windows(p).unwrap())).collect();
    let inputs: Vec<PageInput<'_>> = pages
        .iter()
        .zip(&windows)
        .map(|(&pos, (weights, samples))| PageInput { pos, weights, samples })
        .collect();
    let mut out = BTreeMap::new();
    let each = &mut |pos, words: &[u32]| drop(out.insert(pos, words.to_vec()));
    baker.bake(&CpuCompute::new(), &inputs, &mut Scratch::default(), each).unwrap();
    out
}

fn all_pages(baker: &Baker, mip: u32) -> Vec<PagePos> {
    let [w, h] = baker.pages(mip).map(|n| n as i32);
    (0..w * h).map(|i| PagePos::new(mip, i % w, i / w)).collect()
}

#[test]
fn pages_agree_with_one_page_of_everything_and_so_with_each_other() {
    for mip in 0..6 {
        let small = baker(&look(32, 3));
        // 61 cells of 8 texels.
        let big = baker(&look(512 >> mip.min(5), 16));
        assert_eq!(big.pages(mip), [1, 1]);
        let one = &bake(&big, &[PagePos::new(mip, 0, 0)])[&PagePos::new(mip, 0, 0)];
        let stored = big.stored_side() as i32;
        let pages = bake(&small, &all_pages(&small, mip));
        let mut compared = 0;
        for (pos, words) in &pages {
            for (i, texel) in words.as_chunks::<TEXEL_WORDS>().0.iter().enumerate() {
                let x = pos.x * 32 - 3 + i as i32 % 38 + 16;
                let z = pos.z * 32 - 3 + i as i32 / 38 + 16;
                if x < stored && z < stored {
                    let at = (z * stored + x) as usize * TEXEL_WORDS;
                    assert_eq!(texel[..], one[at..at + TEXEL_WORDS], "{pos:?} texel {i}");
                    compared += 1;
                }
            }
        }
        assert!(compared >= 38 * 19 * pages.len(), "{compared} of {} pages", pages.len());
    }
}

#[test]
fn a_page_is_the_same_alone_among_others_and_again() {
    let baker = baker(&look(64, 4));
    let mut pages = all_pages(&baker, 1);
    pages.extend(all_pages(&baker, 0));
    pages.reverse();
    let together = bake(&baker, &pages);
    assert!(together == bake(&baker, &pages));
    for pos in [pages[0], pages[7], pages[pages.len() - 1]] {
        assert!(bake(&baker, &[pos])[&pos] == together[&pos], "{pos:?}");
    }
}

#[test]
fn windows_are_those_of_the_mip() {
    let baker = baker(&look(32, 4));
    // Mip 0: 8 texels a cell, 4 a paint texel. Texels 28 to 67 of x, −4 to 35 of z.
    let w = baker.windows(PagePos::new(0, 1, 0)).unwrap();
    assert_eq!(w.weights, Window { level: 0, first: [6, 0], size: [12, 10] });
    assert_eq!(w.samples, Window { level: 0, first: [3, 0], size: [7, 6] });
    // Mip 2: a texel is a paint texel, of which there are 122 x 90.
    let w = baker.windows(PagePos::new(2, 3, 2)).unwrap();
    assert_eq!(w.weights, Window { level: 0, first: [92, 60], size: [30, 30] });
    // Mip 3 has 61 x 45 texels, weights of mip 1, and a cell a texel: samples of level 0 from 28 to 60 + 1.
    let w = baker.windows(PagePos::new(3, 1, 0)).unwrap();
    assert_eq!(w.weights, Window { level: 1, first: [28, 0], size: [33, 37] });
    assert_eq!(w.samples, Window { level: 0, first: [28, 0], size: [34, 37] });
    // Mip 5: a quarter of 61 cells rounds up to 16, one sample more.
    let w = baker.windows(PagePos::new(5, 0, 0)).unwrap();
    assert_eq!(w.weights, Window { level: 3, first: [0, 0], size: [16, 12] });
    assert_eq!(w.samples, Window { level: 2, first: [0, 0], size: [17, 13] });
    assert_eq!((baker.pages(0), baker.pages(5), baker.mips()), ([16, 12], [1, 1], 5));
}

#[test]
fn textures_are_read_at_the_mip_that_fits_the_page() {
    let baker = baker(&look(32, 4));
    // A texel of mip 0 has ¼ m; 16 texels over 3 m are 0.1875 m each, over 2 m 0.125 m: exactly one mip.
    let bits = |id, mip| baker.row(id, mip)[row::SIDE_LOG2];
    assert_eq!([0, 1, 2, 3].map(|mip| bits(2, mip)), [3, 2, 1, 0]);
    assert_eq!([bits(0, 0), bits(1, 0), bits(0, 3), bits(0, 20)], [4, 4, 1, 0]);
    // Far away repeats are four times as long: 2 m of 8 texels become 8 m.
    assert_eq!((bits(2, 4), baker.row(2, 4)[row::STEP]), (1, 1 << 26));
    assert_eq!(baker.row(2, 3)[row::STEP], 1 << 28);
    // Height goes up by 1/8192 m.
    assert_eq!(baker.row(2, 0)[row::STEP_UP], 1 << 18);
    assert_eq!([0, 1, 2, 3].map(|id| baker.row(id, 0)[row::FLAGS]), [3, 3, 1, 2]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let refuse = |r: Result<Baker, ComputeError>, words: &str| {
        let e = r.unwrap_err().to_string();
        assert!(e.starts_with("page: ") && e.contains(words), "{e}");
    };
    let with = |look: Look, c: Catalogue| Baker::new(&config(), &look, &c, textures(), false);
    refuse(with(Look { side: 100, ..Look::default() }, catalogue()), "power of two");
    refuse(with(Look { texels_log2: 6, ..Look::default() }, catalogue()), "texels_log2");
    refuse(with(Look { texels_log2: 0, ..Look::default() }, catalogue()), "paint");
    refuse(with(Look { variation: f64::NAN, ..Look::default() }, catalogue()), "variation");
    refuse(with(Look { steep_deg: [50.0, 40.0], ..Look::default() }, catalogue()), "angles");
    refuse(with(Look { flat: vec!["gras".into()], ..Look::default() }, catalogue()), "\"gras\"");
    refuse(with(Look::default(), Catalogue::default()), "0 layers and 4 textures");
    let baker = baker(&Look::default());
    for pos in [PagePos::new(0, -1, 0), PagePos::new(0, 4, 0), PagePos::new(2, 1, 0), PagePos::new(25, 0, 0)]
    {
        assert!(baker.windows(pos).is_err(), "{pos:?}");
    }
    let page = PageInput { pos: PagePos::new(0, 0, 0), weights: &[0; 5], samples: &[] };
    let each = &mut |_, _: &[u32]| panic!("nothing is baked");
    let e = baker.bake(&CpuCompute::new(), &[page], &mut Scratch::default(), each).unwrap_err();
    assert!(e.to_string().contains("[5, 0]"), "{e}");
}
