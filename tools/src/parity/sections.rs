//! Cases of sections: layouts from one to many, views near, inside and far, all levels and their ends.

use super::select::below;
use super::{Case, Random};
use highground_terrain::compute::{Compute, ComputeError};
use highground_terrain::height::QuantumLog2;
use highground_terrain::pass::sections::{
    ErrorRule, Eye, Layout, Levels, Scratch, ScreenRule, Section, by_projected_error, by_screen_size, surface,
};
use highground_terrain::pass::select::View;

fn sections(random: &mut Random, count: u32, coarsest: u32) -> Vec<Section> {
    (0..count)
        .map(|_| {
            let low_256 = random.next() as i32 >> (below(random, 24) as u32);
            let high_256 = low_256.saturating_add(below(random, 1 << 20) as i32);
            Section {
                low_256,
                high_256,
                finest: below(random, u64::from(coarsest) + 1).saturating_sub(2) as u32,
            }
        })
        .collect()
}

fn eyes(random: &mut Random, layout: &Layout, count: usize) -> Vec<Eye> {
    let side = |n: u32| i64::from(n * layout.quads) * i64::from(layout.spacing_256);
    (0..count)
        .map(|_| {
            let mut along = |side: i64| match below(random, 5) {
                0 => below(random, 1 << 35) as i64 - (1 << 34),
                1 => below(random, 3 * side as u64 + 1) as i64 - side,
                _ => below(random, side as u64 + 1) as i64,
            };
            let [x_256, z_256] = layout.sections.map(side).map(&mut along);
            Eye { at: View { x_256, z_256 }, y_256: random.next() as i32 >> (below(random, 24) as u32) }
        })
        .collect()
}

fn ask(
    compute: &dyn Compute,
    random: &mut Random,
    most: u64,
    views: usize,
) -> Result<Vec<u32>, ComputeError> {
    let n = 1 + below(random, 7) as u32;
    let spacing_256 = [256, 1, 77, 65536][below(random, 4) as usize];
    let layout =
        Layout { sections: [0; 2].map(|_| 1 + below(random, most) as u32), quads: (1 << n) - 1, spacing_256 };
    let count = layout.sections[0] * layout.sections[1];
    let near_256 = 1 + (random.next() as u32 >> (1 + below(random, 30) as u32));
    let (rule, eyes) = (ScreenRule { near_256, vertices_log2: n }, eyes(random, &layout, views));
    let (mut scratch, mut levels) = (Scratch::default(), Vec::new());
    let of = sections(random, count, n - 1);
    by_screen_size(compute, &layout, &of, &eyes, &rule, &mut scratch, &mut levels)?;
    let mut answer: Vec<u32> = levels
        .iter()
        .flat_map(|l| [l.own, l.edges[0], l.edges[1], l.edges[2], l.edges[3]].map(u32::from))
        .collect();
    // What was selected, and levels that no view gives, over samples of all heights.
    let any = |random: &mut Random| below(random, u64::from((n - 1) << 7) + 1) as u16;
    let drawn: Vec<Levels> = (0..count as usize)
        .map(|i| {
            if i % 2 == 0 {
                levels[i]
            } else {
                Levels { own: any(random), edges: [0; 4].map(|_| any(random)) }
            }
        })
        .collect();
    let samples: Vec<i32> = (0..count << (2 * n))
        .map(|_| (below(random, 1 << 25) as i32 - (1 << 24)).max(1 - (1 << 24)))
        .collect();
    let mut vertices = Vec::new();
    surface(compute, &layout, n, &drawn, &samples, &mut scratch, &mut vertices)?;
    answer.extend(vertices.iter().flatten());
    // Chunks of a number of quads that levels divide.
    let levels = 1 + below(random, 8) as u32;
    let layout = Layout { quads: 1 << (levels - 1), ..layout };
    let quantum = QuantumLog2::try_from(below(random, 13) as u8).expect("at most 12");
    let scale_256 = random.next() as u32 >> below(random, 30);
    let errors: Vec<u32> =
        (0..count * levels).map(|_| (random.next() as u32 >> 7) >> below(random, 25)).collect();
    let (rule, of) = (ErrorRule { levels, scale_256, quantum }, sections(random, count, levels - 1));
    let mut chunks = Vec::new();
    by_projected_error(compute, &layout, &of, &errors, &eyes, &rule, &mut scratch, &mut chunks)?;
    answer.extend(chunks.iter().flat_map(|c| {
        let sides = c.skirts.iter().fold(0, |all, &s| all << 1 | u32::from(s));
        [u32::from(c.level), sides, c.skirt_depth]
    }));
    Ok(answer)
}

pub(super) fn cases(seed: u64) -> Vec<Case> {
    let mut cases = Vec::new();
    for (most, views, rounds) in [(3, 4, 24), (8, 30, 20), (12, 150, 12)] {
        for n in 0..rounds {
            cases.push(Case::new(
                format!("{n}: up to {most} sections a side, {views} views"),
                move |compute| ask(compute, &mut Random(seed ^ (n << 40) ^ (most << 20)), most, views),
            ));
        }
    }
    cases
}
