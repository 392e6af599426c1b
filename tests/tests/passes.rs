//! What the compute passes give on fixed terrains, pinned as digests: the same on the CPU, on this GPU and on any other.

use highground_terrain::compute::{Compute, CpuCompute};
use highground_terrain::config::Diagonal;
use highground_terrain::coord::{BlockSide, CellRect};
use highground_terrain::height::QuantumLog2;
use highground_terrain::kernel::sections::errors;
use highground_terrain::kernel::select::ranges::{RangeRule, Ranges};
use highground_terrain::lod::Drawable;
use highground_terrain::pass::sections::{
    ErrorRule, Eye, Layout, Scratch, ScreenRule, Section, by_projected_error, by_screen_size, surface,
};
use highground_terrain::pass::select::{Selected, Selector, View};
use highground_terrain::pass::vertex::{self, Drawn, Topology, evaluate};
use highground_terrain::store::{MemoryTerrain, Raster};
use highground_tests::{gpu, test_name};

/// Every digest comes from the CPU twins, and from the GPU where there is one.
fn pinned(test: &str, name: &str, digest: impl Fn(&dyn Compute) -> String) {
    let cpu = digest(&CpuCompute::new());
    insta::assert_snapshot!(name, cpu);
    if let Some(gpu) = gpu::require(test) {
        assert_eq!(digest(&gpu), cpu, "{name} on {}", gpu.info());
    }
}

fn hash(words: impl IntoIterator<Item = u32>) -> String {
    let mut hasher = blake3::Hasher::new();
    for word in words {
        hasher.update(&word.to_le_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

/// 700 × 500 samples of hills two metres apart, with holes that are not round, half cells among them.
fn hills() -> MemoryTerrain {
    let wave = |v: i32, period: i32| v.rem_euclid(period).min(period - v.rem_euclid(period));
    let terrain = MemoryTerrain::from_fn(
        [700, 500],
        BlockSide::S32,
        |c| {
            c.spacing_256 = 512;
            c.diagonal = Diagonal::Checkerboard;
            c.extent = CellRect { x0: 3, z0: 0, x1: 690, z1: 499 };
        },
        |x, z| f64::from(wave(x, 97) * 5 + wave(z, 61) * 3 + wave(x + z, 17)) / 8.0,
    );
    let mut raster: Raster = terrain.raster().clone();
    for z in 0..499 {
        for x in 0..699 {
            let (dx, dz) = (x as i32 - 300, z as i32 - 170);
            match dx * dx + dz * dz * 3 + dx * dz {
                d if d < 6000 => raster.mask[z * 699 + x] = 0,
                d if d < 6400 => raster.mask[z * 699 + x] = 1 + (x % 2) as u8,
                _ => {}
            }
        }
    }
    raster.remove_hidden();
    MemoryTerrain::new(raster, BlockSide::S32)
}

/// Selections and drawn surfaces of views inside, at corners and outside.
#[test]
fn selection_and_drawn_surface() {
    let drawable = Drawable::new(hills().ground_all(), [0; 32]).unwrap();
    let ranges = Ranges::by_rule(&RangeRule { factor: 92, ..RangeRule::default() }, 512, 5).unwrap();
    let views = [[600.0, 340.0], [0.0, 0.0], [1390.0, 900.0], [-300.0, 500.25]]
        .map(|[x, z]| View::in_world(drawable.config(), x, z).unwrap());
    let selected = |compute: &dyn Compute| {
        let mut selected = Selected::default();
        let mut selector = Selector::new(drawable.nodes().clone(), ranges.clone()).unwrap();
        selector.select(compute, &views, &mut selected).unwrap();
        selected
    };
    pinned(test_name!(), "select", |compute| {
        let selected = selected(compute);
        let counts: Vec<usize> = (0..views.len()).map(|v| selected.of(v).len()).collect();
        let words = (0..views.len()).flat_map(|v| selected.of(v).iter().flat_map(move |n| n.words(v as u16)));
        format!("nodes {counts:?}\nblake3 {}", hash(words))
    });
    let mut patches = Vec::new();
    let nodes = selected(&CpuCompute::new());
    for &node in nodes.all() {
        drawable.patch(node, &mut patches).unwrap();
    }
    for (name, topology) in [("vertex_ordinary", Topology::Ordinary), ("vertex_holes", Topology::HoleAware)] {
        pinned(test_name!(), name, |compute| {
            let mut out = Vec::new();
            let (frame, ranges, selected) = (drawable.frame(), &ranges, &nodes);
            let drawn = Drawn { frame, views: &views, ranges, selected, patches: &patches };
            evaluate(compute, drawn, topology, &mut vertex::Scratch::default(), &mut out).unwrap();
            let visible = out.iter().step_by(3).filter(|w| **w >> 31 == 1).count();
            format!("vertices {}, visible {visible}\nblake3 {}", out.len() / 3, hash(out.iter().copied()))
        });
    }
}

/// Levels by size on the screen and by projected error, and the surface between levels, over the same hills.
#[test]
fn sections_of_equal_size() {
    let terrain = hills();
    let quanta = |x: u32, z: u32| terrain.raster().heights[(z * 700 + x) as usize];
    let layout = Layout { sections: [11, 7], quads: 63, spacing_256: 512 };
    let known = vec![Section { low_256: 0, high_256: 60 * 256, finest: 0 }; 77];
    let eye = |x: i64, z: i64, y: i32| Eye { at: View { x_256: x * 256, z_256: z * 256 }, y_256: y * 256 };
    let eyes = [eye(600, 340, 70), eye(-200, 0, 3), eye(1500, 1000, 400)];
    let samples: Vec<i32> = (0..77)
        .flat_map(|s| (0..64 * 64).map(move |i| (s % 11 * 63 + i % 64, s / 11 * 63 + i / 64)))
        .map(|(x, z)| quanta(x, z))
        .collect();
    pinned(test_name!(), "sections_screen", |compute| {
        let (mut levels, mut vertices, mut scratch) = (Vec::new(), Vec::new(), Scratch::default());
        let rule = ScreenRule { near_256: 120 * 256, vertices_log2: 6 };
        by_screen_size(compute, &layout, &known, &eyes, &rule, &mut scratch, &mut levels).unwrap();
        surface(compute, &layout, 6, &levels[..77], &samples, &mut scratch, &mut vertices).unwrap();
        let all = levels.iter().flat_map(|l| [l.own, l.edges[0], l.edges[1], l.edges[2], l.edges[3]]);
        let (levels, vertices) = (hash(all.map(u32::from)), hash(vertices.into_iter().flatten()));
        format!("levels blake3 {levels}\nvertices blake3 {vertices}")
    });
    let chunks = Layout { sections: [21, 15], quads: 32, spacing_256: 512 };
    let known = vec![Section { low_256: 0, high_256: 60 * 256, finest: 0 }; 21 * 15];
    let errors: Vec<u32> = (0..21 * 15)
        .flat_map(|c| {
            let own: Vec<i32> =
                (0..33 * 33).map(|i| quanta(c % 21 * 32 + i % 33, c / 21 * 32 + i / 33)).collect();
            errors(&own, 32, 4, |level, [x, z]| level > 0 || (x + z) % 2 == 0)
        })
        .collect();
    pinned(test_name!(), "sections_error", |compute| {
        let (mut out, rule) =
            (Vec::new(), ErrorRule { levels: 4, scale_256: 935 * 256, quantum: QuantumLog2::DEFAULT });
        by_projected_error(
            compute,
            &chunks,
            &known,
            &errors,
            &eyes,
            &rule,
            &mut Scratch::default(),
            &mut out,
        )
        .unwrap();
        let counts = [0, 1, 2, 3].map(|l| out.iter().filter(|c| c.level == l).count());
        let words = out.iter().flat_map(|c| {
            let sides = c.skirts.iter().fold(0, |all, &s| all << 1 | u32::from(s));
            [u32::from(c.level), sides, c.skirt_depth]
        });
        format!("levels {counts:?}\nblake3 {}", hash(words))
    });
}
