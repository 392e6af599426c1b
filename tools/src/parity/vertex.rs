//! Cases of vertex evaluation: nodes of all levels over random, steep and flat samples, inside and across extents.

use super::select::{below, config, view};
use super::{Case, Random};
use highground_terrain::compute::{Compute, ComputeError};
use highground_terrain::config::{Diagonal, TerrainConfig};
use highground_terrain::kernel::select::nodes::{NodeState, Nodes};
use highground_terrain::kernel::select::ranges::{Band, Ranges};
use highground_terrain::kernel::vertex::{Frame, PATCH_SAMPLES, PATCH_WORDS};
use highground_terrain::pass::select::{Node, Selected};
use highground_terrain::pass::vertex::{Drawn, Scratch, Topology, evaluate};

/// Samples and triangle bits of a node.
fn patch(random: &mut Random, kind: u64) -> Vec<u32> {
    let slope = [below(random, 4000) as i32 - 2000, below(random, 4000) as i32 - 2000];
    let mut patch: Vec<u32> = (0..PATCH_SAMPLES as i32)
        .map(|i| match kind % 4 {
            // The highest and lowest there are.
            0 => (if random.next() & 1 == 0 { (1 << 24) - 1 } else { 1 - (1 << 24) }) as u32,
            1 => (slope[0] * (i % 33) + slope[1] * (i / 33)) as u32,
            _ => (below(random, 1 << 25) as i32 - (1 << 24)).max(1 - (1 << 24)) as u32,
        })
        .collect();
    patch.extend((PATCH_SAMPLES..PATCH_WORDS).map(|_| random.next() as u32));
    patch
}

/// Some nodes that meet the extent, of every level.
fn some_nodes(random: &mut Random, config: &TerrainConfig, levels: u32, count: usize) -> Vec<Node> {
    let nodes = Nodes::new(config, |_, _| NodeState::Whole);
    let mut chosen: Vec<Node> = (0..count)
        .map(|_| {
            let level = below(random, levels.into()) as u32;
            let [x, z] = nodes.in_extent(level).map(|r| {
                // The first and last ones are cut.
                let all = u64::from(r.end - r.start);
                r.start as u16 + [0, all - 1, below(random, all)][below(random, 3) as usize] as u16
            });
            Node { level: level as u8, z, x, quarter_mask: below(random, 15) as u8, has_holes: false }
        })
        .collect();
    chosen.sort();
    chosen
}

/// Ranges whose bands are anything: the pass does not need more than that they are not empty.
fn bands(random: &mut Random, config: &TerrainConfig, levels: u32) -> Ranges {
    let side = u64::from(config.samples[0].max(config.samples[1])) * u64::from(config.spacing_256);
    let far = side.clamp(1 << 14, 1 << 30) as u32;
    // One level's band reaches over the terrain; the next ones have to be further away.
    let first = Band { range: far, start: below(random, u64::from(far / 2)) as u32, end: far };
    let mut all = vec![first];
    for level in 1..levels {
        let below_range = all[level as usize - 1].range;
        let diagonal = (46_u64 << (level - 1)) * u64::from(config.spacing_256);
        let start = u64::from(below_range) + diagonal;
        let end = start + 1 + below(random, start);
        if end > 1 << 31 {
            break;
        }
        all.push(Band { range: end as u32, start: start as u32, end: end as u32 });
    }
    Ranges::new(config.spacing_256, all).expect("bands by the rule")
}

fn ask(
    compute: &dyn Compute,
    random: &mut Random,
    most: u64,
    count: usize,
    topology: Topology,
) -> Result<Vec<u32>, ComputeError> {
    let mut config = config(random, most);
    config.diagonal = [Diagonal::Main, Diagonal::Anti, Diagonal::Checkerboard][below(random, 3) as usize];
    let levels = highground_terrain::kernel::pyramid::levels(config.samples.map(|s| s - 1));
    let ranges = bands(random, &config, levels);
    let views = [view(random, &config), view(random, &config), view(random, &config)];
    let mut selected = Selected::default();
    for count in [count - count / 2, 0, count / 2] {
        selected.push(some_nodes(random, &config, ranges.bands().len() as u32, count));
    }
    let patches: Vec<u32> = (0..selected.all().len() as u64).flat_map(|n| patch(random, n)).collect();
    let e = config.extent;
    let extent = [e.x0, e.z0, e.x1, e.z1].map(|v| v as u32);
    let frame = Frame { spacing_256: config.spacing_256, extent, diagonal: config.diagonal };
    let mut out = Vec::new();
    let drawn = Drawn { frame, views: &views, ranges: &ranges, selected: &selected, patches: &patches };
    evaluate(compute, drawn, topology, &mut Scratch::default(), &mut out)?;
    Ok(out)
}

pub(super) fn cases(seed: u64) -> Vec<Case> {
    let mut cases = Vec::new();
    for (topology, most, count, rounds) in [
        (Topology::Ordinary, 300, 3, 12),
        (Topology::HoleAware, 300, 2, 6),
        (Topology::Ordinary, 100_000, 20, 14),
        (Topology::HoleAware, 5000, 9, 6),
        // More than a batch.
        (Topology::Ordinary, 2000, 300, 1),
    ] {
        for n in 0..rounds {
            let name = format!("{topology:?} {n}, {count} nodes of up to {most} samples");
            cases.push(Case::new(name, move |compute| {
                ask(
                    compute,
                    &mut Random(seed ^ (n << 40) ^ (most << 8) ^ count as u64),
                    most,
                    count,
                    topology,
                )
            }));
        }
    }
    cases
}
