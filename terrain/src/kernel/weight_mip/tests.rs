//! The kernel against a 32-bin accumulation written straight from the article, and against worked examples.

use super::*;
use proptest::prelude::*;

/// The article's `DownsampleWeight`, with bins, a scan and a strict greater-than.
fn thirty_two_bins(children: &[[u8; 3]], full: u64) -> [u8; 3] {
    let mut mass = [0u64; 32];
    for &[id1, id2, ratio] in children {
        if id1 < 32 {
            mass[id1 as usize] += full - ratio as u64;
        }
        if id2 < 32 {
            mass[id2 as usize] += ratio as u64;
        }
    }
    let largest = |skip: Option<usize>| {
        let mut best = None;
        for id in 0..32 {
            if Some(id) != skip && mass[id] > best.map_or(0, |b: usize| mass[b]) {
                best = Some(id);
            }
        }
        best
    };
    let Some(id1) = largest(None) else { return [0, 0, 0] };
    let Some(id2) = largest(Some(id1)) else { return [id1 as u8, id1 as u8, 0] };
    // Round half up by comparing the remainder, not by adding a half first.
    let (n, d) = (full * mass[id2], mass[id1] + mass[id2]);
    let ratio = n / d + u64::from(2 * (n % d) >= d);
    [id1 as u8, id2 as u8, ratio as u8]
}

fn stored(encoding: Encoding, texel: [u8; 3]) -> Vec<u8> {
    match encoding {
        Encoding::Hd => texel.to_vec(),
        Encoding::Normal => {
            let [id1, id2, ratio] = texel.map(u16::from);
            (id1 + 32 * id2 + 1024 * ratio).to_le_bytes().to_vec()
        }
    }
}

fn brute_force(encoding: Encoding, [w, h]: [u32; 2], texels: &[[u8; 3]]) -> Vec<u8> {
    let mut out = Vec::new();
    for z in 0..h.div_ceil(2) {
        for x in 0..w.div_ceil(2) {
            let mut children = Vec::new();
            for (cx, cz) in [(2 * x, 2 * z), (2 * x + 1, 2 * z), (2 * x, 2 * z + 1), (2 * x + 1, 2 * z + 1)] {
                if cx < w && cz < h {
                    children.push(texels[(cz * w + cx) as usize]);
                }
            }
            out.extend(stored(encoding, thirty_two_bins(&children, encoding.full_scale().into())));
        }
    }
    out
}

fn run(encoding: Encoding, size: [u32; 2], texels: &[[u8; 3]]) -> Vec<u8> {
    let bytes: Vec<u8> = texels.iter().flat_map(|&t| stored(encoding, t)).collect();
    let mut out = vec![0xA5; byte_len(encoding, mip_size(size)).unwrap() as usize];
    downsample(encoding, size, &bytes, &mut out).unwrap();
    out
}

const GRASS: u8 = 3;
const SOIL: u8 = 7;
const ROCK: u8 = 5;

#[test]
fn the_articles_example_keeps_rock_and_the_smaller_of_the_tied_layers() {
    // Grass 75 % / soil 25 %, grass 25 % / soil 75 %, twice rock: 255 grass, 255 soil, 510 rock. The ratio of grass
    // is 255 · 255 / 765 = 85.
    let quad = [[GRASS, SOIL, 64], [GRASS, SOIL, 191], [ROCK, ROCK, 0], [ROCK, GRASS, 0]];
    assert_eq!(run(Encoding::Hd, [2, 2], &quad), [ROCK, GRASS, 85]);
    // The order of the children does not matter, and with the ids exchanged soil is the smaller one.
    let quad = [[ROCK, ROCK, 0], [SOIL, GRASS, 191], [ROCK, SOIL, 0], [SOIL, GRASS, 64]];
    assert_eq!(run(Encoding::Hd, [2, 2], &quad), [ROCK, GRASS, 85]);
    let quad = [[9, 2, 64], [9, 2, 191], [ROCK, ROCK, 0], [ROCK, ROCK, 0]];
    assert_eq!(run(Encoding::Hd, [2, 2], &quad), [ROCK, 2, 85]);
}

#[test]
fn the_articles_example_in_sevenths() {
    // 5/7 and 2/7 stand for the quarters: 7 grass, 7 soil, 14 rock; 7 · 7 / 21 = 2.33.
    let quad = [[GRASS, SOIL, 2], [GRASS, SOIL, 5], [ROCK, ROCK, 0], [ROCK, ROCK, 7]];
    assert_eq!(run(Encoding::Normal, [2, 2], &quad), stored(Encoding::Normal, [ROCK, GRASS, 2]));
}

#[test]
fn zero_weight_everywhere_means_layer_zero() {
    assert_eq!(run(Encoding::Hd, [2, 2], &[[32, 255, 9]; 4]), [0, 0, 0]);
    // Ids beyond the 32 layers give nothing, also to the layer that their low bits name.
    assert_eq!(run(Encoding::Hd, [1, 1], &[[33, 1, 0]]), [0, 0, 0]);
    assert_eq!(run(Encoding::Hd, [1, 1], &[[33, 1, 1]]), [1, 1, 0]);
}

#[test]
fn one_layer_alone_is_both_ids_with_ratio_zero() {
    assert_eq!(run(Encoding::Hd, [2, 2], &[[4, 4, 200]; 4]), [4, 4, 0]);
    assert_eq!(run(Encoding::Hd, [2, 2], &[[4, 9, 0]; 4]), [4, 4, 0]);
    assert_eq!(run(Encoding::Hd, [2, 2], &[[4, 9, 255]; 4]), [9, 9, 0]);
}

#[test]
fn equal_contributions_round_their_half_up() {
    // 127.5 and 3.5.
    assert_eq!(run(Encoding::Hd, [2, 1], &[[8, 8, 0], [2, 2, 0]]), [2, 8, 128]);
    assert_eq!(run(Encoding::Normal, [2, 1], &[[8, 8, 0], [2, 2, 0]]), stored(Encoding::Normal, [2, 8, 4]));
}

#[test]
fn children_beyond_an_odd_edge_contribute_nothing() {
    let column = [[1, 1, 0], [2, 2, 0], [3, 3, 0]];
    assert_eq!(run(Encoding::Hd, [1, 3], &column), [1, 2, 128, 3, 3, 0]);
    assert_eq!(run(Encoding::Hd, [3, 1], &column), [1, 2, 128, 3, 3, 0]);
}

#[test]
fn unused_bits_of_normal_texels_are_ignored_and_written_as_zero() {
    let mut out = [0xFF; 2];
    downsample(Encoding::Normal, [1, 1], &[0b0010_0010, 0b1110_0000], &mut out).unwrap();
    assert_eq!(out, stored(Encoding::Normal, [2, 2, 0])[..]);
}

#[test]
fn every_pair_of_edge_texels_matches_thirty_two_bins() {
    let edges = |ids: &[u8], ratios: &[u8]| {
        let mut all = Vec::new();
        for &id1 in ids {
            for &id2 in ids {
                all.extend(ratios.iter().map(|&ratio| [id1, id2, ratio]));
            }
        }
        all
    };
    let hd = edges(&[0, 1, 31, 32, 255], &[0, 1, 127, 128, 254, 255]);
    let normal = edges(&[0, 1, 31], &[0, 1, 2, 3, 4, 5, 6, 7]);
    for (encoding, edges) in [(Encoding::Hd, hd), (Encoding::Normal, normal)] {
        let n = edges.len() as u32;
        let mut texels = Vec::new();
        // Row 2k pairs every edge texel with edge texel k; row 2k + 1 does so with another partner.
        for row in 0..2 * n {
            for x in 0..n {
                texels.push(edges[x as usize]);
                texels.push(edges[((row / 2 + (row % 2) * (x * 7 + 3)) % n) as usize]);
            }
        }
        let size = [2 * n, 2 * n];
        assert!(run(encoding, size, &texels) == brute_force(encoding, size, &texels), "{encoding:?}");
    }
}

#[test]
fn wrong_lengths_and_sizes_are_refused_with_what_was_expected() {
    let mut out = [0; 3];
    let wrong = downsample(Encoding::Hd, [2, 2], &[0; 11], &mut out).unwrap_err();
    assert_eq!(wrong.to_string(), "source: expected 12 bytes for 2x2 hd texels, found 11");
    let wrong = downsample(Encoding::Hd, [3, 2], &[0; 18], &mut out).unwrap_err();
    assert_eq!(wrong.to_string(), "target: expected 6 bytes for 2x1 hd texels, found 3");
    for size in [[0, 4], [4, 0], [MAX_SIDE + 1, 1], [u32::MAX, u32::MAX]] {
        assert_eq!(downsample(Encoding::Hd, size, &[], &mut out), Err(WeightMipError::Size { size }));
    }
}

#[test]
fn texels_round_trip_and_name_their_stronger_layer() {
    for bits in 0..=0x1FFFu16 {
        let texel = NormalTexel::from_bytes(bits.to_le_bytes());
        assert_eq!(texel.to_bytes(), bits.to_le_bytes());
        let [id1, id2, ratio] = [bits % 32, bits / 32 % 32, bits / 1024];
        assert_eq!(u16::from(texel.dominant()), if ratio >= 4 { id2 } else { id1 });
    }
    let texel = HdTexel { id1: 1, id2: 2, ratio: 200 };
    assert_eq!(HdTexel::from_bytes(texel.to_bytes()), texel);
    assert_eq!(Encoding::Hd.dominant(&texel.to_bytes()), 2);
    assert_eq!(HdTexel { ratio: 127, ..texel }.dominant(), 1);
    assert_eq!(HdTexel { ratio: 128, ..texel }.dominant(), 2);
}

proptest! {
    #[test]
    fn random_maps_match_thirty_two_bins(
        w in 1u32..200, h in 1u32..6, normal: bool, few in 1u8..40, seed: u64,
    ) {
        let encoding = if normal { Encoding::Normal } else { Encoding::Hd };
        let mut state = seed | 1;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 33) % below) as u8
        };
        let (ids, ratios) = if normal { (few.min(32), 8) } else { (few, 256) };
        let texels: Vec<[u8; 3]> =
            (0..w * h).map(|_| [next(ids.into()), next(ids.into()), next(ratios)]).collect();
        prop_assert_eq!(run(encoding, [w, h], &texels), brute_force(encoding, [w, h], &texels));
    }
}
