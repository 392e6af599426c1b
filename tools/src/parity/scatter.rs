//! Cases of scatter: every diagonal, density, steepness, spacing and resolution of growth, windows off the corner, holes,
//! voids and water.

use super::{Case, Random};
use highground_terrain::compute::{Outputs, Shared};
use highground_terrain::config::Diagonal;
use highground_terrain::coord::CellPos;
use highground_terrain::height::{QuantumLog2, VOID};
use highground_terrain::kernel::scatter::cell_word;
use highground_terrain::pass::scatter::{Ground, Kind, scatter_in_strips};

pub(super) fn cases(seed: u64) -> Vec<Case> {
    let kinds = [
        ("grass", 7.0, 1.0, 0.0, [35.0, 5.0]),
        ("trees", 0.05, 0.8, 2.0, [25.0, 25.0]),
        ("anywhere", 3.0, 0.5, 0.0, [90.0, 0.0]),
        ("in lines", 1.0, 0.0, 0.0, [60.0, 60.0]),
    ];
    let grounds = [
        (256, 7, 300, Diagonal::Main, [37, 41]),
        (320, 10, 4_000, Diagonal::Anti, [64, 64]),
        (7_680, 5, 30, Diagonal::Checkerboard, [9, 12]),
        (16, 12, 200, Diagonal::Checkerboard, [150, 90]),
        (65_536, 0, 200, Diagonal::Main, [3, 2]),
        (255, 7, 90_000, Diagonal::Anti, [50, 33]),
    ];
    let mut cases = Vec::new();
    for (n, (what, density, jitter, apart_m, slope_deg)) in kinds.into_iter().enumerate() {
        for (m, (spacing_256, k, rough, diagonal, cells)) in grounds.into_iter().enumerate() {
            // As many points as make sense: about 40,000.
            let spacing_m = f64::from(spacing_256) / 256.0;
            let area = f64::from(cells[0] * cells[1]) * spacing_m * spacing_m;
            let density = if density * area > 6e4 || density * area < 2e4 { 4e4 / area } else { density };
            let kind = Kind {
                seed: seed as u32,
                number: n as u32,
                density_per_m2: density,
                jitter,
                apart_m,
                scale: [0.7, 1.0 + n as f64],
                slope_deg,
                height_m: if n % 2 == 0 { [-1e9, 1e9] } else { [-20.0, 40.0] },
                in_water: m % 2 == 0,
            };
            let texels = [1, 2, 4][(n + m) % 3];
            let first = CellPos::new(m as i32 * 1001 - 1500, n as i32 * 333 - 700);
            let seed = seed ^ (n * 16 + m) as u64;
            let name = format!("{what}, {spacing_256}/256 m, k = {k}, {diagonal:?}");
            cases.push(Case::new(name, move |compute| {
                let [heights, surface] = land(seed, cells, rough, texels);
                let k = QuantumLog2::try_from(k).expect("at most 12");
                let (heights, surface) = (&heights, &surface);
                let ground = Ground { first, cells, spacing_256, k, diagonal, texels, heights, surface };
                let (mut out, mut answer) = (Vec::new(), Outputs::new());
                let strip = if m % 2 == 0 { 1 << 17 } else { 2_500 };
                scatter_in_strips(compute, &kind, &ground, strip, &mut out, &mut answer)?;
                Ok(out.into_iter().flatten().collect())
            }));
        }
    }
    cases
}

/// Heights and surface of a window: a rough slope, holes, voids, water, growth of all strengths.
fn land(seed: u64, cells: [u32; 2], rough: i32, texels: u32) -> [Shared; 2] {
    let mut random = Random(seed);
    let [w, h] = cells.map(|c| c as i32);
    let mut heights = Vec::new();
    for z in 0..h + 3 {
        for x in 0..w + 3 {
            let q = (random.next() % (2 * rough as u64)) as i32 - rough + x * rough / 8 - z * rough / 5;
            heights.push(if random.next().is_multiple_of(200) { VOID } else { q } as u32);
        }
    }
    let mut surface = Vec::new();
    for z in 0..h {
        for x in 0..w {
            let at =
                |dx: i32, dz: i32| heights[((z + dz + 1) * (w + 3) + x + dx + 1) as usize] == VOID as u32;
            let void = at(0, 0) || at(1, 0) || at(0, 1) || at(1, 1);
            let bits = random.next();
            let mask = if void { 0 } else { [3, 3, 3, 3, 3, 1, 2, 0][(bits % 8) as usize] };
            surface.push(cell_word(mask, if bits >> 8 & 3 == 0 { (bits >> 16) as u8 & 3 } else { 0 }));
        }
    }
    let words = (w * h * (texels * texels) as i32 + 3) / 4;
    for _ in 0..words {
        let bits = random.next();
        surface.push(if bits >> 60 == 0 { 0 } else { bits as u32 | 0x8080_8080 });
    }
    [Shared::new(heights), Shared::new(surface)]
}
