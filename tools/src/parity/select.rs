//! Cases of node selection: random terrains with holes and extents, views inside, at edges and far away, many at once.

use super::{Case, Random};
use highground_terrain::config::TerrainConfig;
use highground_terrain::coord::CellRect;
use highground_terrain::kernel::select::nodes::{NodeState, Nodes};
use highground_terrain::kernel::select::ranges::{Band, RangeRule, Ranges};
use highground_terrain::pass::select::{Selected, Selector, View};

/// Below `n`.
pub(super) fn below(random: &mut Random, n: u64) -> u64 {
    random.next() % n
}

/// A terrain of random size, spacing and extent.
pub(super) fn config(random: &mut Random, most: u64) -> TerrainConfig {
    let samples = [0; 2].map(|_| 2 + below(random, most - 1) as u32);
    let mut config = TerrainConfig::new(samples, [256, 512, 77, 1, 65536][below(random, 5) as usize]);
    if below(random, 2) == 0 {
        let mut side = |cells: u32| {
            let from = below(random, cells.into()) as i32;
            (from, from + 1 + below(random, u64::from(cells) - from as u64) as i32)
        };
        let ((x0, x1), (z0, z1)) = (side(samples[0] - 1), side(samples[1] - 1));
        config.extent = CellRect { x0, z0, x1, z1 };
    }
    config
}

/// Nodes of which `hidden` of 16 show nothing, and as many have holes.
fn nodes(random: &mut Random, config: &TerrainConfig, hidden: u64) -> Nodes {
    Nodes::new(config, |_, _| match below(random, 16) {
        n if n < hidden => NodeState::Hidden,
        n if n < 2 * hidden => NodeState::Holes,
        _ => NodeState::Whole,
    })
}

/// Ranges of some of its levels.
pub(super) fn ranges(random: &mut Random, nodes: &Nodes) -> Ranges {
    let levels = 1 + below(random, nodes.levels().into()) as u32;
    let rule = RangeRule {
        factor: 91 + below(random, 60) as u32,
        additions_256: Vec::new(),
        morph_256: 1 + below(random, 128) as u32,
        unlimited: levels == nodes.levels() && below(random, 2) == 0,
    };
    Ranges::by_rule(&rule, nodes.spacing_256(), levels)
        .or_else(|_| {
            // At 256 m a sample not all levels have room.
            Ranges::new(nodes.spacing_256(), vec![Band { range: 1 << 31, start: 0, end: 1 << 31 }])
        })
        .expect("one level always has room")
}

/// Inside, at lattice edges, or around the terrain; sometimes very far away.
pub(super) fn view(random: &mut Random, config: &TerrainConfig) -> View {
    let mut along = |cells: i32| {
        let side = i64::from(cells) * i64::from(config.spacing_256);
        match below(random, 16) {
            0 => below(random, 5 << 32) as i64 - (2 << 32),
            1..=3 => (below(random, cells as u64 / 32 + 1) as i64 * 32) * i64::from(config.spacing_256),
            4..=6 => below(random, 3 * side as u64) as i64 - side,
            _ => below(random, side as u64 + 1) as i64,
        }
    };
    View { x_256: along(config.cells()[0]), z_256: along(config.cells()[1]) }
}

pub(super) fn cases(seed: u64) -> Vec<Case> {
    let mut cases = Vec::new();
    for (what, count, most, hidden, views) in [
        ("small", 40, 900, 3, 5),
        ("thin with holes", 10, 40_000, 6, 9),
        ("whole", 6, 9_000, 0, 400),
        ("with holes", 6, 9_000, 2, 400),
        ("large", 2, 60_000, 1, 2500),
    ] {
        for n in 0..count {
            cases.push(Case::new(format!("{what} {n}, {views} views"), move |compute| {
                let mut random = Random(seed ^ (n << 32) ^ most);
                let mut config = config(&mut random, most);
                match what {
                    "thin with holes" => {
                        config =
                            TerrainConfig::new([config.samples[0], 2 + n as u32 * 7], config.spacing_256);
                    }
                    "large" | "whole" | "with holes" => {
                        config = TerrainConfig::new([most as u32 + 1; 2], 256 + n as u32)
                    }
                    _ => {}
                }
                let nodes = nodes(&mut random, &config, hidden);
                let ranges = ranges(&mut random, &nodes);
                let views: Vec<View> = (0..views).map(|_| view(&mut random, &config)).collect();
                let mut selected = Selected::default();
                Selector::new(nodes, ranges)?.select(compute, &views, &mut selected)?;
                let mut answer = Vec::new();
                for v in 0..selected.views() {
                    answer.push(selected.of(v).len() as u32);
                    answer.extend(selected.of(v).iter().flat_map(|n| n.words(v as u16)));
                }
                Ok(answer)
            }));
        }
    }
    cases
}
