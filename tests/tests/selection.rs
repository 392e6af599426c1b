//! Node selection against an independent reference, and the drawn surface without cracks.
//!
//! The reference is the article's recursion in whole numbers of 128 bits over centres and half extents; it shares nothing
//! with the product but the ranges and the states of nodes of level 0. `HIGHGROUND_VIEWS` scales how many views are tried.

use highground_terrain::compute::CpuCompute;
use highground_terrain::config::{Diagonal, TerrainConfig};
use highground_terrain::coord::CellRect;
use highground_terrain::kernel::select::nodes::{NodeState, Nodes};
use highground_terrain::kernel::select::ranges::{RangeRule, Ranges};
use highground_terrain::kernel::vertex::{self, Frame, PATCH_SAMPLES, SIDE, Vertex};
use highground_terrain::pass::select::{Node, Selected, Selector, View};
use highground_tests::random::{Random, seed, setting};
use std::collections::BTreeMap;

/// A terrain for the reference: which nodes of level 0 show something, by (x, z).
struct Truth<'a> {
    config: TerrainConfig,
    shown: Vec<Vec<NodeState>>,
    ranges: &'a Ranges,
}

impl Truth<'_> {
    /// States of the leaves under a node that meet the extent.
    fn leaves(&self, level: u32, x: u32, z: u32) -> Vec<NodeState> {
        let n = 1 << level;
        let e = self.config.extent;
        let meets = |leaf: u32, from: i32, to: i32| (leaf * 32) < to as u32 && (leaf + 1) * 32 > from as u32;
        let mut all = Vec::new();
        for lz in z * n..(z + 1) * n {
            for lx in x * n..(x + 1) * n {
                if meets(lx, e.x0, e.x1) && meets(lz, e.z0, e.z1) {
                    all.push(self.shown[lz as usize][lx as usize]);
                }
            }
        }
        all
    }

    /// Four times the squared distance to the node's box inside the extent: centre and half extent, doubled.
    fn distance2(&self, level: u32, x: u32, z: u32, view: View) -> i128 {
        let (e, s) = (self.config.extent, i128::from(self.config.spacing_256));
        let along = |n: u32, from: i32, to: i32, view: i64| {
            let low = (i128::from(n) * (32 << level)).max(from.into()) * s;
            let high = ((i128::from(n) + 1) * (32 << level)).min(to.into()) * s;
            let (centre2, extent2) = (low + high, high - low);
            ((2 * i128::from(view) - centre2).abs() - extent2).max(0)
        };
        let (dx, dz) = (along(x, e.x0, e.x1, view.x_256), along(z, e.z0, e.z1, view.z_256));
        dx * dx + dz * dz
    }

    fn select(&self, level: u32, x: u32, z: u32, view: View, out: &mut Vec<Node>) -> bool {
        let leaves = self.leaves(level, x, z);
        if leaves.iter().all(|s| *s == NodeState::Hidden) {
            return false;
        }
        let range2 = |level: u32| {
            let r = i128::from(self.ranges.bands()[level as usize].range);
            4 * r * r
        };
        let d2 = self.distance2(level, x, z, view);
        if d2 >= range2(level) {
            return false;
        }
        let has_holes = leaves.iter().any(|s| *s != NodeState::Whole);
        let mut node = Node { level: level as u8, z: z as u16, x: x as u16, quarter_mask: 0, has_holes };
        if level == 0 || d2 >= range2(level - 1) {
            out.push(node);
            return true;
        }
        let mut rest = false;
        for q in 0..4 {
            let (cx, cz) = (2 * x + q % 2, 2 * z + q / 2);
            if self.select(level - 1, cx, cz, view, out) {
                node.quarter_mask |= 1 << q;
            } else {
                rest |= self.leaves(level - 1, cx, cz).iter().any(|s| *s != NodeState::Hidden);
            }
        }
        if rest {
            out.push(node);
        }
        true
    }

    /// All nodes of a view, in canonical order.
    fn of(&self, view: View) -> Vec<Node> {
        let top = self.ranges.bands().len() as u32 - 1;
        let cells = self.config.cells().map(|c| c as u32);
        let [w, h] = cells.map(|c| c.div_ceil(32 << top));
        let mut out = Vec::new();
        for (z, x) in (0..h).flat_map(|z| (0..w).map(move |x| (z, x))) {
            self.select(top, x, z, view, &mut out);
        }
        out.sort_by_key(|n| (n.level, n.z, n.x));
        out
    }
}

/// A random terrain with holes and an extent, and ranges that fit it.
fn terrain(random: &mut Random, most: u64) -> (TerrainConfig, Vec<Vec<NodeState>>, Ranges) {
    let samples = [0; 2].map(|_| 2 + random.below(most) as u32);
    let mut config = TerrainConfig::new(samples, random.one_of(&[256, 128, 77, 1000]));
    config.diagonal = random.one_of(&[Diagonal::Main, Diagonal::Anti, Diagonal::Checkerboard]);
    if random.below(2) == 0 {
        let mut side = |cells: i32| {
            let from = random.below(cells as u64) as i32;
            (from, from + 1 + random.below((cells - from) as u64) as i32)
        };
        let ((x0, x1), (z0, z1)) = (side(config.cells()[0]), side(config.cells()[1]));
        config.extent = CellRect { x0, z0, x1, z1 };
    }
    // Holes by region, so that coarse nodes are hidden too.
    let [w, h] = config.cells().map(|c| (c as u32).div_ceil(32));
    let (hidden, side) = (random.below(4), 1 + random.below(4) as u32);
    let salt = random.next();
    let shown = (0..h).map(|z| {
        let of = |x: u32| {
            let region = u64::from(z / side) << 32 | u64::from(x / side);
            if Random(salt ^ region).below(8) < hidden { NodeState::Hidden } else { NodeState::Whole }
        };
        (0..w)
            .map(|x| match of(x) {
                NodeState::Whole if Random(salt ^ 7 ^ u64::from(z * w + x)).below(9) < hidden => {
                    NodeState::Holes
                }
                state => state,
            })
            .collect()
    });
    let shown = shown.collect();
    let levels = highground_terrain::kernel::pyramid::levels(config.cells().map(|c| c as u32));
    let rule = RangeRule {
        factor: 92 + random.below(40) as u32,
        additions_256: (0..random.below(u64::from(levels) + 1)).map(|_| random.below(2000) as u32).collect(),
        morph_256: 1 + random.below(100) as u32,
        unlimited: random.below(3) > 0,
    };
    let used = if rule.unlimited { levels } else { 1 + random.below(levels.into()) as u32 };
    let rule =
        RangeRule { additions_256: rule.additions_256.into_iter().take(used as usize).collect(), ..rule };
    let ranges = Ranges::by_rule(&rule, config.spacing_256, used);
    let plain =
        RangeRule { factor: 96, additions_256: Vec::new(), morph_256: 100, unlimited: rule.unlimited };
    let ranges = ranges.unwrap_or_else(|_| Ranges::by_rule(&plain, config.spacing_256, used).unwrap());
    (config, shown, ranges)
}

fn view(random: &mut Random, config: &TerrainConfig) -> View {
    let mut along = |cells: i32| {
        let side = i64::from(cells) * i64::from(config.spacing_256);
        match random.below(8) {
            0 => random.within(-3 * side - 10, 4 * side),
            1 => random.within(0, i64::from(cells) / 32) * 32 * i64::from(config.spacing_256),
            _ => random.within(0, side),
        }
    };
    View { x_256: along(config.cells()[0]), z_256: along(config.cells()[1]) }
}

fn nodes_of(config: &TerrainConfig, shown: &[Vec<NodeState>]) -> Nodes {
    Nodes::new(config, |x, z| shown[z as usize][x as usize])
}

#[test]
fn node_sets_are_those_of_an_independent_recursion() {
    let mut random = Random(seed("selection"));
    let (mut views, mut drawn, mut partial) = (0, 0, 0);
    while views < setting("HIGHGROUND_VIEWS", 6000) {
        let (config, shown, ranges) = terrain(&mut random, 2500);
        let mut selector = Selector::new(nodes_of(&config, &shown), ranges.clone()).unwrap();
        let truth = Truth { config, shown, ranges: &ranges };
        let places: Vec<View> = (0..60).map(|_| view(&mut random, &config)).collect();
        let mut selected = Selected::default();
        selector.select(&CpuCompute::new(), &places, &mut selected).unwrap();
        for (i, &place) in places.iter().enumerate() {
            let expected = truth.of(place);
            assert_eq!(selected.of(i), expected, "{place:?} on {config:?} with {ranges:?}");
            partial += expected.iter().filter(|n| n.quarter_mask != 0).count();
            drawn += expected.len();
        }
        views += places.len() as u64;
    }
    println!("selection: {views} views, {drawn} nodes, {partial} of them with quarters that children draw");
    assert!(partial > 0 && drawn as u64 > views);
}

/// The heights of samples, anything.
fn height(x: u32, z: u32) -> i32 {
    (Random(u64::from(x) << 32 | u64::from(z)).below(1 << 16) as i32) - (1 << 15)
}

/// One drawn quarter of a node: its place in half cells of level 0 and its vertices along each side.
struct Quarter {
    node: Node,
    /// x0, z0, x1, z1 in level-0 cells.
    at: [i64; 4],
    vertices: Vec<Vertex>,
}

fn quarters(config: &TerrainConfig, ranges: &Ranges, view: View, nodes: &[Node]) -> Vec<Quarter> {
    let e = config.extent;
    let frame = Frame {
        spacing_256: config.spacing_256,
        extent: [e.x0, e.z0, e.x1, e.z1].map(|v| v as u32),
        diagonal: config.diagonal,
    };
    let mut all = Vec::new();
    for &node in nodes {
        let (level, at) = (u32::from(node.level), [u32::from(node.x), u32::from(node.z)]);
        let samples: Vec<u32> = (0..PATCH_SAMPLES as u32)
            .map(|i| {
                let place =
                    |own: u32, n: u32, axis: usize| ((n * 32 + own) << level).min(config.samples[axis] - 1);
                height(place(i % SIDE as u32, at[0], 0), place(i / SIDE as u32, at[1], 1)) as u32
            })
            .collect();
        let band = ranges.bands()[level as usize];
        let evaluated = vertex::Node {
            frame: &frame,
            level,
            at,
            view: [view.x_256, view.z_256],
            band: [band.start, band.end - band.start],
            samples: &samples,
        };
        for q in (0..4).filter(|q| node.quarter_mask >> q & 1 == 0) {
            let (qx, qz) = (q % 2 * 16, q / 2 * 16);
            let side = 16_i64 << level;
            let corner = [
                (i64::from(at[0]) * 2 + i64::from(q % 2)) * side,
                (i64::from(at[1]) * 2 + i64::from(q / 2)) * side,
            ];
            let vertices = (0..17)
                .flat_map(|z| (0..17).map(move |x| (x, z)))
                .map(|(x, z)| evaluated.vertex(qx + x, qz + z))
                .collect();
            all.push(Quarter {
                node,
                at: [corner[0], corner[1], corner[0] + side, corner[1] + side],
                vertices,
            });
        }
    }
    all
}

/// Where a drawn edge bends between two places along it: (place, height), without repeats. Of the vertices of that side
/// alone: others may have come to lie on it.
fn bends(q: &Quarter, vertical: bool, line: i64, from: i64, to: i64) -> Vec<(u32, i32)> {
    let fine = 128;
    let own = if q.at[usize::from(!vertical)] == line { 0 } else { 16 };
    let mut all: Vec<(u32, i32)> = (0..17)
        .map(|i| q.vertices[if vertical { i * 17 + own } else { own * 17 + i }])
        .map(|v| if vertical { (v.x, v.z, v.height) } else { (v.z, v.x, v.height) })
        .inspect(|&(across, ..)| assert_eq!(i64::from(across), line * fine, "nothing leaves a node's side"))
        .map(|(_, along, height)| (along, height))
        .filter(|&(along, _)| (from * fine..=to * fine).contains(&i64::from(along)))
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[test]
fn neighbours_of_any_levels_agree_on_their_edges() {
    let mut random = Random(seed("cracks"));
    let (mut edges, mut uneven, mut cut) = (0, 0, 0);
    for _ in 0..setting("HIGHGROUND_CRACKS", 60) {
        let (config, shown, ranges) = terrain(&mut random, 1500);
        let mut selector = Selector::new(nodes_of(&config, &shown), ranges.clone()).unwrap();
        let place = view(&mut random, &config);
        let mut selected = Selected::default();
        selector.select(&CpuCompute::new(), &[place], &mut selected).unwrap();
        // A quarter that shows nothing may be left to the parent: nothing of its edges is seen either.
        let truth = Truth { config, shown, ranges: &ranges };
        let mut quarters = quarters(&config, &ranges, place, selected.of(0));
        quarters.retain(|q| {
            let (level, half) = (u32::from(q.node.level), 16_i64 << q.node.level);
            let at = [q.at[0], q.at[1]].map(|c| (c / half) as u32);
            let leaves = if level == 0 {
                truth.leaves(0, at[0] / 2, at[1] / 2)
            } else {
                truth.leaves(level - 1, at[0], at[1])
            };
            leaves.iter().any(|s| *s != NodeState::Hidden)
        });
        let e = config.extent;
        // Quarters by the line that their west and north edges lie on.
        let mut by_edge: BTreeMap<(bool, i64), Vec<&Quarter>> = BTreeMap::new();
        for q in &quarters {
            by_edge.entry((true, q.at[0])).or_default().push(q);
            by_edge.entry((false, q.at[1])).or_default().push(q);
        }
        for a in &quarters {
            for vertical in [true, false] {
                let (line, along) = if vertical { (a.at[2], [1, 3]) } else { (a.at[3], [0, 2]) };
                for b in by_edge.get(&(vertical, line)).into_iter().flatten() {
                    let (first, last) = if vertical { (e.z0, e.z1) } else { (e.x0, e.x1) };
                    let across = if vertical { e.x0..=e.x1 } else { e.z0..=e.z1 };
                    let from = a.at[along[0]].max(b.at[along[0]]).max(first.into());
                    let to = a.at[along[1]].min(b.at[along[1]]).min(last.into());
                    if from >= to || !across.contains(&(line as i32)) {
                        continue;
                    }
                    let levels = [a.node.level, b.node.level];
                    assert!(levels[0].abs_diff(levels[1]) <= 1, "{levels:?}");
                    let found = [a, b].map(|q| bends(q, vertical, line, from, to));
                    assert_eq!(
                        found[0], found[1],
                        "{:?} and {:?} from {place:?} on {config:?}",
                        a.node, b.node
                    );
                    // Both reach from end to end.
                    assert_eq!(found[0].first().map(|f| i64::from(f.0)), Some(from * 128));
                    assert_eq!(found[0].last().map(|f| i64::from(f.0)), Some(to * 128));
                    edges += 1;
                    uneven += usize::from(levels[0] != levels[1]);
                    cut += usize::from(
                        to == i64::from(last)
                            && (to >> levels[0].max(levels[1])) << levels[0].max(levels[1]) != to,
                    );
                }
            }
        }
    }
    println!("cracks: {edges} edges, {uneven} between levels, {cut} ending at a cut of the extent");
    assert!(edges > 1000 && uneven > 50 && cut > 10, "{edges} {uneven} {cut}");
}
