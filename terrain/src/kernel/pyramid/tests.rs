use super::skip::{NODE_AREA, SkipBuilder, Skips};
use super::*;
use crate::config::TerrainConfig;
use crate::coord::CellRect;
use crate::triangle::Triangle;
use proptest::collection::vec;
use proptest::prelude::*;

/// Morphs are tried in eighths.
const EIGHTHS: i32 = 8;

/// What a generator needs to make any number of values.
fn mix(seed: u64, i: u64) -> u64 {
    let x = (seed ^ i.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (x ^ x >> 29).wrapping_mul(0x94D0_49BB_1331_11EB) >> 17
}

fn diagonal() -> impl Strategy<Value = Diagonal> {
    prop_oneof![Just(Diagonal::Main), Just(Diagonal::Anti), Just(Diagonal::Checkerboard)]
}

fn base_of(samples: [u32; 2], heights: &[i32]) -> Vec<MinMax> {
    let (width, cells) = (samples[0] as usize, samples.map(|s| s - 1));
    let [w, h] = nodes(cells, 0).map(|n| n as usize);
    let mut base = vec![MinMax::NONE; w * h];
    for (z, out) in base.chunks_exact_mut(w).enumerate() {
        let rows = z * 32..(z * 32 + 33).min(samples[1] as usize);
        base_row(width, &heights[rows.start * width..rows.end * width], out);
    }
    base
}

#[test]
fn levels_go_on_until_one_node_covers_all() {
    let of = |cells| (levels(cells), nodes(cells, levels(cells) - 1));
    assert_eq!(of([1, 1]), (1, [1, 1]));
    assert_eq!(of([32, 32]), (1, [1, 1]));
    assert_eq!(of([33, 1]), (2, [1, 1]));
    assert_eq!(of([64, 65]), (3, [1, 1]));
    assert_eq!(of([1, 97]), (3, [1, 1]));
    assert_eq!(of([131_071, 7]), (13, [1, 1]));
    assert_eq!(nodes([65, 33], 0), [3, 2]);
    assert_eq!(nodes([65, 33], 1), [2, 1]);
}

#[test]
fn voids_are_passed_over_and_both_edges_counted() {
    // 34 × 2 samples: sample 32 belongs to both nodes.
    let mut samples = vec![VOID; 68];
    let mut out = [MinMax { min: 1, max: 1 }; 2];
    base_row(34, &samples, &mut out);
    assert_eq!(out, [MinMax::NONE; 2]);
    samples[34 + 32] = -7;
    base_row(34, &samples, &mut out);
    assert_eq!(out.map(MinMax::get), [Some((-7, -7)); 2]);
    samples[33] = i32::MAX;
    samples[0] = VOID + 1;
    base_row(34, &samples, &mut out);
    assert_eq!(out.map(MinMax::get), [Some((VOID + 1, -7)), Some((-7, i32::MAX))]);
    let mut up = [MinMax::NONE];
    reduce([2, 1], &out, &mut up);
    assert_eq!(up[0].get(), Some((VOID + 1, i32::MAX)));
}

/// A vertex of a level morphed by k / 8, clamped to `last`: its place along one axis in eighths of a level-0 cell.
fn morphed(grid: i32, level: u32, k: i32, first: i32, last: i32) -> i32 {
    let eighths = grid * EIGHTHS - k * (grid & 1);
    (eighths << level).clamp(first * EIGHTHS, last * EIGHTHS)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn ranges_are_those_of_the_closed_footprints(
        samples in [2u32..140, 2u32..140],
        seed in any::<u64>(),
        voids in 0u64..4,
    ) {
        let heights: Vec<i32> = (0..u64::from(samples[0] * samples[1])).map(|i| {
            let r = mix(seed, i);
            if r % 5 < voids { VOID } else { (r >> 8) as i32 % 1000 - 500 }
        }).collect();
        let cells = samples.map(|s| s - 1);
        let all = all_levels(cells, base_of(samples, &heights));
        prop_assert_eq!(all.len() as u32, levels(cells));
        for (level, ranges) in all.iter().enumerate() {
            let [w, h] = nodes(cells, level as u32);
            let span = 32usize << level;
            for z in 0..h as usize {
                for x in 0..w as usize {
                    let inside = (z * span..=((z + 1) * span).min(cells[1] as usize)).flat_map(|sz| {
                        (x * span..=((x + 1) * span).min(cells[0] as usize)).map(move |sx| (sx, sz))
                    });
                    let found: Vec<i32> = inside.map(|(sx, sz)| heights[sz * samples[0] as usize + sx])
                        .filter(|&q| q != VOID).collect();
                    let expected = found.iter().min().map(|&lo| (lo, *found.iter().max().unwrap()));
                    prop_assert_eq!(ranges[z * w as usize + x].get(), expected);
                }
            }
        }
    }

    /// No vertex of any node lies outside its range, whatever its morph.
    #[test]
    fn no_morphed_vertex_leaves_its_nodes_range(
        samples in [2u32..200, 2u32..200],
        seed in any::<u64>(),
        diagonal in diagonal(),
        ks in vec(0..=EIGHTHS, 33 * 33),
        rough in any::<bool>(),
    ) {
        let [w, h] = samples.map(|s| s as i32);
        // Rough noise, or a slope on which ends matter.
        let height = |x: i32, z: i32| {
            let noise = mix(seed, (z * w + x) as u64);
            if rough {
                if noise.is_multiple_of(50) { VOID } else { (noise >> 8) as i32 % 20_000 }
            } else {
                x * 31 - z * 17
            }
        };
        let heights: Vec<i32> = (0..h).flat_map(|z| (0..w).map(move |x| height(x, z))).collect();
        let cells = samples.map(|s| s - 1);
        let all = all_levels(cells, base_of(samples, &heights));
        for (level, ranges) in (0..).zip(&all) {
            let [nodes_x, nodes_z] = nodes(cells, level);
            let side = EIGHTHS << level;
            for (i, range) in (0..).zip(ranges) {
                let first = [i % nodes_x as i32 * 32, i / nodes_x as i32 * 32];
                prop_assert!(i < (nodes_x * nodes_z) as i32);
                for (v, &k) in (0..).zip(&ks) {
                    let x = morphed(first[0] + v % 33, level, k, 0, w - 1);
                    let z = morphed(first[1] + v / 33, level, k, 0, h - 1);
                    // The cell of its level that it has come to lie in, and where in it, in eighths of a level-0 cell.
                    let cell = CellPos::new(x / side, z / side);
                    let (fx, fz) = (x % side, z % side);
                    let corner = |dx: i32, dz: i32| {
                        let at = |c: i32, last: i32| (c << level).min(last);
                        i64::from(heights[(at(cell.z + dz, h - 1) * w + at(cell.x + dx, w - 1)) as usize])
                    };
                    let (a, b, c, d) = (corner(0, 0), corner(1, 0), corner(0, 1), corner(1, 1));
                    let (s, fx, fz) = (i64::from(side), i64::from(fx), i64::from(fz));
                    // Barycentric weights (00, 10, 01, 11) on the triangle of the level.
                    let weights = match (is_anti(diagonal, level, cell), fx >= fz, fx + fz <= s) {
                        (false, true, _) => [s - fx, fx - fz, 0, fz],
                        (false, false, _) => [s - fz, 0, fz - fx, fx],
                        (true, _, true) => [s - fx - fz, fx, fz, 0],
                        (true, _, false) => [0, s - fz, s - fx, fx + fz - s],
                    };
                    let used: Vec<(i64, i64)> =
                        [a, b, c, d].into_iter().zip(weights).filter(|u| u.1 > 0).collect();
                    if used.iter().any(|u| u.0 == i64::from(VOID)) {
                        continue;
                    }
                    let height: i64 = used.iter().map(|(q, w)| q * w).sum();
                    let (min, max) = range.get().expect("there is a sample");
                    prop_assert!(height >= i64::from(min) * s && height <= i64::from(max) * s);
                }
            }
        }
    }
}

/// A terrain's mask: noise in clumps, nothing outside the extent.
#[derive(Clone, Debug)]
struct World {
    config: TerrainConfig,
    mask: Vec<u8>,
}

impl World {
    fn mask(&self, x: i32, z: i32) -> u8 {
        let [w, h] = self.config.cells();
        if x < 0 || z < 0 || x >= w || z >= h { 0 } else { self.mask[(z * w + x) as usize] }
    }

    fn skips(&self) -> Skips {
        let mut builder = SkipBuilder::new(&self.config);
        self.mask.chunks(self.config.cells()[0] as usize).for_each(|row| builder.push_row(row));
        builder.finish()
    }

    /// Whether a visible triangle touches the convex hull of these points, in eighths of a level-0 cell.
    fn touches(&self, points: &[[i32; 2]]) -> bool {
        let range = |axis: usize| {
            let of = points.iter().map(|p| p[axis]);
            (of.clone().min().unwrap() / EIGHTHS - 1, of.max().unwrap() / EIGHTHS + 1)
        };
        let ((x0, x1), (z0, z1)) = (range(0), range(1));
        (z0..=z1).any(|z| {
            (x0..=x1).any(|x| {
                let anti = self.config.diagonal.is_anti(CellPos::new(x, z));
                Triangle::BOTH.iter().any(|t| {
                    let corners = t.corners(anti).map(|(dx, dz)| [(x + dx) * EIGHTHS, (z + dz) * EIGHTHS]);
                    self.mask(x, z) & t.bit() != 0 && meet(points, &corners)
                })
            })
        })
    }
}

/// Whether the closed hulls of two sets of points meet: no line along two points of either parts them.
fn meet(a: &[[i32; 2]], b: &[[i32; 2]]) -> bool {
    ![a, b].iter().any(|set| {
        set.iter().any(|p| {
            set.iter().any(|q| {
                let normal = [i64::from(q[1] - p[1]), i64::from(p[0] - q[0])];
                let along = |of: &[[i32; 2]]| {
                    let dots = of.iter().map(|v| normal[0] * i64::from(v[0]) + normal[1] * i64::from(v[1]));
                    (dots.clone().min().unwrap(), dots.max().unwrap())
                };
                let ((a0, a1), (b0, b1)) = (along(a), along(b));
                a1 < b0 || b1 < a0
            })
        })
    })
}

fn world() -> impl Strategy<Value = World> {
    let sizes = [2u32..90, 2u32..90];
    (sizes, any::<u64>(), diagonal(), 0u64..24, 1u32..24, any::<[u8; 4]>()).prop_map(
        |(samples, seed, diagonal, shown, clump, cut)| {
            let mut config = TerrainConfig { diagonal, ..TerrainConfig::new(samples, 256) };
            let [w, h] = config.cells();
            // Every other world has a narrower extent.
            if seed & 1 == 1 {
                let part = |v: u8, of: i32| i32::from(v) * of / 1024;
                let (x0, z0) = (part(cut[0], w), part(cut[1], h));
                config.extent = CellRect { x0, z0, x1: w - part(cut[2], w), z1: h - part(cut[3], h) };
            }
            let mask = (0..w * h)
                .map(|i| {
                    let (x, z) = (i % w, i / w);
                    let coarse = mix(seed, (z as u32 / clump * 1000 + x as u32 / clump) as u64);
                    let fine = mix(!seed, i as u64);
                    if !config.extent.contains(CellPos::new(x, z)) || coarse % 24 >= shown {
                        u8::from(fine.is_multiple_of(97))
                            * (fine as u8 >> 4 & 3)
                            * u8::from(config.extent.contains(CellPos::new(x, z)))
                    } else {
                        3
                    }
                })
                .collect();
            World { config, mask }
        },
    )
}

/// The corners of a coarse triangle in cells of its level.
fn corners(world: &World, level: u32, x: i32, z: i32, t: Triangle) -> [(i32, i32); 3] {
    t.corners(is_anti(world.config.diagonal, level, CellPos::new(x, z))).map(|(dx, dz)| (x + dx, z + dz))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_skipped_triangle_shows_nothing_at_any_morph(
        world in world(),
        ks in vec([0..=EIGHTHS, 0..=EIGHTHS, 0..=EIGHTHS], 12),
    ) {
        let (skips, e) = (world.skips(), world.config.extent);
        let cells = world.config.cells().map(|c| c as u32);
        for level in 1..levels(cells) {
            let [w, h] = cells.map(|c| (c.div_ceil(1 << level) + 1) as i32);
            for (x, z) in (0..h).flat_map(|z| (0..w).map(move |x| (x, z))) {
                let skipped = skips.cell(level, [x as u32, z as u32]);
                for t in Triangle::BOTH.into_iter().filter(|t| skipped & t.bit() != 0) {
                    let corners = corners(&world, level, x, z, t);
                    for k in ks.iter().chain([&[0; 3], &[EIGHTHS; 3]]) {
                        let drawn: Vec<[i32; 2]> = corners.iter().zip(k).map(|(&(x, z), &k)| {
                            [morphed(x, level, k, e.x0, e.x1), morphed(z, level, k, e.z0, e.z1)]
                        }).collect();
                        let [a, b, c] = [drawn[0], drawn[1], drawn[2]];
                        let area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
                        prop_assert!(area == 0 || !world.touches(&drawn), "{t:?} of ({x}, {z}), level {level}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_triangle_is_skipped_wherever_none_is_visible_in_its_reach(world in world()) {
        let (skips, e) = (world.skips(), world.config.extent);
        let cells = world.config.cells().map(|c| c as u32);
        for level in 1..levels(cells) {
            let [w, h] = cells.map(|c| c.div_ceil(1 << level) as i32);
            for (x, z) in (0..h).flat_map(|z| (0..w).map(move |x| (x, z))) {
                let skipped = skips.cell(level, [x as u32, z as u32]);
                for t in Triangle::BOTH {
                    // All ends of all morphs, and in a clamped cell the corners of the box around them.
                    let mut reach: Vec<[i32; 2]> = corners(&world, level, x, z, t).iter()
                        .flat_map(|&(x, z)| [[x, z], [x - (x & 1), z - (z & 1)]])
                        .map(|p| p.map(|v| v << level))
                        .collect();
                    let (x0, z0) = ((x - (x & 1)) << level, (z - (z & 1)) << level);
                    let (x1, z1) = ((x + 1) << level, (z + 1) << level);
                    if x0 < e.x0 || z0 < e.z0 || x1 > e.x1 || z1 > e.z1 {
                        let (x0, z0, x1, z1) = (x0.max(e.x0), z0.max(e.z0), x1.min(e.x1), z1.min(e.z1));
                        if x0 >= x1 || z0 >= z1 {
                            prop_assert_eq!(skipped, 3);
                            continue;
                        }
                        reach = vec![[x0, z0], [x1, z0], [x0, z1], [x1, z1]];
                    }
                    let reach: Vec<[i32; 2]> = reach.iter().map(|p| p.map(|v| v * EIGHTHS)).collect();
                    prop_assert_eq!(skipped & t.bit() == 0, world.touches(&reach), "{:?} of ({}, {}), {}", t, x, z, level);
                }
            }
        }
    }
}

#[test]
fn nodes_hold_their_cells_row_by_row() {
    let config = TerrainConfig::new([101, 71], 256);
    let [w, h] = config.cells();
    // A hole of cells 8..40 × 4..20.
    let hole = |x: i32, z: i32| (8..40).contains(&x) && (4..20).contains(&z);
    let mask = (0..w * h).map(|i| if hole(i % w, i / w) { 0 } else { 3 }).collect();
    let skips = World { config, mask }.skips();
    let node: [u8; NODE_AREA] = skips.node(1, [0, 0]);
    for (z, row) in node.chunks(32).enumerate() {
        for (x, &skipped) in row.iter().enumerate() {
            assert_eq!(skipped, skips.cell(1, [x as u32, z as u32]));
            // Strictly inside the hole, what an odd cell reaches included.
            let (x0, z0) = ((x & !1) * 2, (z & !1) * 2);
            let inside = x0 > 8 && x * 2 + 2 < 40 && z0 > 4 && z * 2 + 2 < 20;
            assert_eq!(skipped == 3, inside, "({x}, {z})");
        }
    }
    // Beyond the last cell (50 × 35 of this level) nothing is drawn, but row 35 is odd: it can morph back to row 34.
    let last = skips.node(1, [1, 1]);
    assert_eq!(last[0], 0);
    assert_eq!(last[18], 3);
    assert_eq!(last[3 * 32], 0);
    assert_eq!(last[4 * 32], 3);
}
