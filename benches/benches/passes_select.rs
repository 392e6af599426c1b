//! Node selection: 6 km of terrain at a metre, leaves of 32 cells, from one place and from many, on one core and on all,
//! beside a plain recursion in single precision over the same quadtree.
//!
//! The recursion is what its users write: floats, a vector of nodes, no quarters that anything has to agree on. It is
//! checked to find as many nodes. Times are a selected node's.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use highground_terrain::compute::CpuCompute;
use highground_terrain::config::{Diagonal, TerrainConfig};
use highground_terrain::kernel::pyramid::levels;
use highground_terrain::kernel::select::nodes::{NodeState, Nodes};
use highground_terrain::kernel::select::ranges::{RangeRule, Ranges};
use highground_terrain::kernel::vertex::{Frame, PATCH_WORDS};
use highground_terrain::pass::select::{Selected, Selector, View};
use highground_terrain::pass::vertex::{Drawn, Scratch, Topology, evaluate};
use std::hint::black_box;

const SIDE: u32 = 6144;

/// A plain recursion over squares of floats.
struct Plain {
    ranges2: Vec<f32>,
    across: Vec<u32>,
}

impl Plain {
    fn select(
        &self,
        level: usize,
        x: u32,
        z: u32,
        view: [f32; 2],
        out: &mut Vec<(u8, u16, u16, u8)>,
    ) -> bool {
        let side = (32 << level) as f32;
        let along = |n: u32, v: f32| {
            let low = n as f32 * side;
            (low - v).max(v - (low + side).min(SIDE as f32)).max(0.0)
        };
        let (dx, dz) = (along(x, view[0]), along(z, view[1]));
        let d2 = dx * dx + dz * dz;
        if d2 >= self.ranges2[level] {
            return false;
        }
        if level == 0 || d2 >= self.ranges2[level - 1] {
            out.push((level as u8, x as u16, z as u16, 0));
            return true;
        }
        let (mut mask, mut there) = (0, 0);
        for q in 0..4 {
            let (cx, cz) = (2 * x + (q & 1), 2 * z + (q >> 1));
            if cx < self.across[level - 1] && cz < self.across[level - 1] {
                there |= 1 << q;
                mask |= u8::from(self.select(level - 1, cx, cz, view, out)) << q;
            }
        }
        if mask != there {
            out.push((level as u8, x as u16, z as u16, mask));
        }
        true
    }
}

fn benches(c: &mut Criterion) {
    let config = TerrainConfig::new([SIDE + 1; 2], 256);
    let nodes = Nodes::new(&config, |_, _| NodeState::Whole);
    let levels = levels([SIDE; 2]);
    let ranges = Ranges::by_rule(&RangeRule::default(), 256, levels).expect("the default fits");
    let plain = Plain {
        ranges2: ranges.bands().iter().map(|b| b.range as f32 / 256.0).map(|r| r * r).collect(),
        across: (0..levels).map(|l| nodes.size(l)[0]).collect(),
    };
    let views: Vec<View> = (0..1024_i64)
        .map(|i| View { x_256: (i * 7919 * 256) % (6144 * 256), z_256: (i * 104_729 * 256) % (6144 * 256) })
        .collect();
    let mut selector = Selector::new(nodes, ranges.clone()).expect("they fit");
    let (cpu, mut selected) = (CpuCompute::new(), Selected::default());
    let one = rayon_of(1);
    for (name, views) in [("one view", &views[5..6]), ("1024 views", &views[..])] {
        one.install(|| selector.select(&cpu, views, &mut selected)).expect("the CPU");
        let mut out = Vec::new();
        let run = |out: &mut Vec<_>| {
            out.clear();
            for v in views {
                plain.select(levels as usize - 1, 0, 0, [v.x_256, v.z_256].map(|v| v as f32 / 256.0), out);
            }
        };
        run(&mut out);
        assert_eq!(out.len(), selected.all().len(), "the plain recursion finds as many");
        let mut group = c.benchmark_group(format!("select, 6 km, {name}"));
        group.throughput(Throughput::Elements(out.len() as u64));
        group.bench_function("plain f32 recursion", |b| b.iter(|| run(black_box(&mut out))));
        group.bench_function("one core", |b| {
            one.install(|| b.iter(|| selector.select(&cpu, black_box(views), &mut selected)))
        });
        group.bench_function("all cores", |b| {
            b.iter(|| selector.select(&cpu, black_box(views), &mut selected))
        });
        group.finish();
    }
    vertices(c, &ranges, &mut selector, views[5], &one);
}

/// The vertices of one view's nodes.
fn vertices(
    c: &mut Criterion,
    ranges: &Ranges,
    selector: &mut Selector,
    view: View,
    one: &rayon::ThreadPool,
) {
    let (cpu, mut selected) = (CpuCompute::new(), Selected::default());
    selector.select(&cpu, &[view], &mut selected).expect("the CPU");
    let frame = Frame { spacing_256: 256, extent: [0, 0, SIDE, SIDE], diagonal: Diagonal::Main };
    let patches: Vec<u32> = (0..selected.all().len() * PATCH_WORDS).map(|i| (i * 31 % 9000) as u32).collect();
    let views = [view];
    let drawn = Drawn { frame, views: &views, ranges, selected: &selected, patches: &patches };
    let (mut scratch, mut out) = (Scratch::default(), Vec::new());
    for (name, topology) in [("ordinary", Topology::Ordinary), ("hole-aware", Topology::HoleAware)] {
        let mut group = c.benchmark_group(format!("vertices, {name}"));
        group.throughput(Throughput::Elements((selected.all().len() * topology.vertices()) as u64));
        let mut run = || {
            out.clear();
            evaluate(&cpu, black_box(drawn), topology, &mut scratch, &mut out)
        };
        group.bench_function("one core", |b| one.install(|| b.iter(&mut run)));
        group.bench_function("all cores", |b| b.iter(&mut run));
        let from = vec![1_u32; selected.all().len() * topology.vertices() * 3];
        let mut to = from.clone();
        group.bench_function("memcpy of the answer", |b| b.iter(|| to.copy_from_slice(black_box(&from))));
        group.finish();
    }
}

fn rayon_of(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool")
}

criterion_group!(all, benches);
criterion_main!(all);
