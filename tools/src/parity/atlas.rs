//! Cases of the height atlas: ground of every steepness, voids, extremes, every kind of quantum, strips.

use super::{Case, Random};
use highground_terrain::compute::Outputs;
use highground_terrain::height::{HEIGHT_LIMIT, QuantumLog2, VOID};
use highground_terrain::kernel::atlas::Packing;
use highground_terrain::pass::atlas::{Heights, STRIP_WORDS, pack_in_strips};

const SIZES: [[u32; 2]; 8] = [[1, 1], [1, 7], [9, 1], [16, 16], [127, 5], [33, 129], [300, 301], [700, 640]];

pub(super) fn cases(seed: u64) -> Vec<Case> {
    let mut cases = Vec::new();
    for (size, n) in SIZES.into_iter().zip(0..) {
        // Smooth ground, steps, cliffs from limit to limit; spacings and quanta from the least to the most.
        for (what, most, spacing_256, k) in [
            ("gentle", 40, 256, 7),
            ("hills", 3_000, 512, 7),
            ("rough", 40_000, 128, 9),
            ("coarse", 300, 16_384, 0),
            ("fine", 5_000, 1, 12),
            ("cliffs", HEIGHT_LIMIT - 1, 7_680, 12),
        ] {
            for (strip_words, how) in [(STRIP_WORDS, "whole"), (3_000, "strips")] {
                if how == "strips" && size[1] > 400 {
                    continue;
                }
                let name = format!("{what} {}x{} {how}", size[0], size[1]);
                cases.push(Case::new(name, move |compute| {
                    let quanta = ground(seed ^ n, size, most);
                    let k = QuantumLog2::try_from(k).expect("at most 12");
                    let heights = Heights { size, quanta: &quanta, spacing_256, k };
                    let there = || quanta.iter().copied().filter(|&q| q != VOID);
                    let packing = Packing::for_range(there().min().unwrap_or(0), there().max().unwrap_or(0));
                    let (mut out, mut answer) = (Vec::new(), Outputs::new());
                    pack_in_strips(compute, &heights, packing, strip_words, &mut out, &mut answer)?;
                    Ok(out)
                }));
            }
        }
    }
    cases
}

/// Heights within ±`most` of a window and one sample around it: a walk along the rows, jumps, and voids; the window's
/// border is the map's on two sides.
fn ground(seed: u64, size: [u32; 2], most: i32) -> Vec<i32> {
    let mut random = Random(seed);
    let (w, h) = (size[0] as usize + 2, size[1] as usize + 2);
    let mut height = 0_i64;
    let most = i64::from(most);
    let mut quanta = Vec::with_capacity(w * h);
    for z in 0..h {
        for x in 0..w {
            let bits = random.next();
            height = match bits % 64 {
                0 => (bits >> 8) as i64 % most,
                1 => [-most, most][(bits >> 8) as usize % 2],
                _ => height + (bits >> 8) as i64 % (most / 20 + 2) - (bits >> 40) as i64 % (most / 20 + 2),
            }
            .clamp(-most, most);
            let void = bits >> 58 == 0 || z == 0 || x + 1 == w;
            quanta.push(if void { VOID } else { height as i32 });
        }
    }
    quanta
}
