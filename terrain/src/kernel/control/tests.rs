use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const WEIGHTS: [LayerKind; 32] = [LayerKind::Weight; 32];

/// A field that owns its planes.
#[derive(Clone, Debug)]
struct Painted {
    size: [u32; 2],
    planes: Vec<Vec<u8>>,
    diagonal: Diagonal,
}

impl Painted {
    /// From a node's (id, weight) pairs.
    fn new(size: [u32; 2], diagonal: Diagonal, node: impl Fn(u32, u32) -> Vec<(usize, u8)>) -> Self {
        let mut planes = vec![vec![0; (size[0] * size[1]) as usize]; 32];
        for (x, z) in (0..size[1]).flat_map(|z| (0..size[0]).map(move |x| (x, z))) {
            for (id, weight) in node(x, z) {
                planes[id][(z * size[0] + x) as usize] += weight;
            }
        }
        Self { size, planes, diagonal }
    }

    fn with<T>(&self, run: impl FnOnce(&Field) -> T) -> T {
        let planes: Vec<Option<&[u8]>> =
            self.planes.iter().map(|p| p.iter().any(|&v| v > 0).then_some(&p[..])).collect();
        run(&Field { size: self.size, kinds: &WEIGHTS, planes: &planes, diagonal: self.diagonal })
    }

    fn encode(&self, budget: f64) -> Result<Control, ControlError> {
        self.with(|field| encode(field, budget))
    }

    fn author(&self, x: u32, z: u32) -> [i64; 32] {
        let i = z.min(self.size[1] - 1) * self.size[0] + x.min(self.size[0] - 1);
        std::array::from_fn(|id| i64::from(self.planes[id][i as usize]))
    }

    /// Node indices of every triangle, straight from the rule of the diagonals.
    fn triangles(&self) -> Vec<[usize; 3]> {
        let [w, h] = self.size;
        let index = |x: u32, z: u32| (z.min(h - 1) * w + x.min(w - 1)) as usize;
        let mut all = Vec::new();
        for (x, z) in (0..(h - 1).max(1)).flat_map(|z| (0..(w - 1).max(1)).map(move |x| (x, z))) {
            let [a, b, c, d] = [index(x, z), index(x + 1, z), index(x, z + 1), index(x + 1, z + 1)];
            let anti = match self.diagonal {
                Diagonal::Main => false,
                Diagonal::Anti => true,
                Diagonal::Checkerboard => (x + z).is_multiple_of(2),
            };
            all.extend(if anti { [[a, c, b], [b, c, d]] } else { [[a, d, b], [a, c, d]] });
        }
        all
    }
}

fn ids(nodes: &[[u8; 4]], triangle: [usize; 3]) -> BTreeSet<u8> {
    triangle.iter().flat_map(|&i| candidates(nodes[i]).map(|c| c.0)).collect()
}

/// The decoded weights of a node in 1/65535.
fn decoded(node: [u8; 4]) -> [i64; 32] {
    let mut all = [0; 32];
    candidates(node).for_each(|(id, weight)| all[usize::from(id)] += i64::from(weight));
    all
}

/// The repair again, one triangle after the other in any order, with sets.
fn repair_in_order(painted: &Painted, nodes: Vec<[u8; 4]>, order: u64) -> Vec<[u8; 4]> {
    let mut triangles = painted.triangles();
    triangles.sort_by_key(|t| (t[0] as u64 ^ order).wrapping_mul(0x9E37_79B9_7F4A_7C15 ^ t[1] as u64) >> 20);
    let mut nodes = nodes;
    loop {
        let mut next = nodes.clone();
        for &t in &triangles {
            if ids(&nodes, t).len() <= 3 {
                continue;
            }
            let bottoms: BTreeSet<u8> = t.iter().map(|&i| nodes[i][0]).collect();
            let mut tops: BTreeMap<u8, u32> = BTreeMap::new();
            for &i in &t {
                for (id, weight) in candidates(nodes[i]).skip(1).filter(|c| !bottoms.contains(&c.0)) {
                    *tops.entry(id).or_default() += weight;
                }
            }
            let victim = *tops.iter().min_by_key(|&(&id, &weight)| (weight, 255 - id)).unwrap().0;
            for &i in t.iter().filter(|&&i| nodes[i][1] == victim) {
                next[i] = [nodes[i][0], nodes[i][0], 0, 0];
            }
        }
        if next == nodes {
            return nodes;
        }
        nodes = next;
    }
}

#[test]
fn a_node_is_its_two_strongest_layers() {
    let of = |node: &[(usize, u8)]| {
        let painted = Painted::new([1, 1], Diagonal::Main, |_, _| node.to_vec());
        painted.encode(1.0).map(|c| (c.nodes[0], c.error))
    };
    assert_eq!(of(&[(7, 255)]), Ok(([7, 7, 0, 0], 0)));
    // 55/255 is 55 · 257 = 14135 = 0x3737 exactly.
    assert_eq!(of(&[(3, 55), (9, 200)]), Ok(([9, 3, 0x37, 0x37], 0)));
    // Thirds: ties to the smaller ids, ½ rounded up; the dropped third is the error: 42.5 + 42.5 + 85 of 2 · 255 = ⅓, and
    // the half step of rounding cancels.
    assert_eq!(of(&[(4, 85), (5, 85), (6, 85)]), Ok(([4, 5, 0x80, 0], ERROR_ONE / 3)));
    assert_eq!(candidates([4, 5, 0x80, 0]).collect::<Vec<_>>(), [(4, 32767), (5, 32768)]);
}

#[test]
fn a_field_without_weights_is_the_default_and_a_mixed_one_is_refused() {
    let none = Painted::new([3, 2], Diagonal::Anti, |_, _| vec![]);
    assert_eq!(
        none.encode(0.0),
        Ok(Control { nodes: vec![DEFAULT; 6], error: 0, worst_cell: [0, 0], repaired: 0 })
    );
    let mixed =
        Painted::new([3, 2], Diagonal::Anti, |x, z| if (x, z) == (1, 1) { vec![] } else { vec![(0, 255)] });
    assert_eq!(mixed.encode(1.0), Err(ControlError::Sum { x: 1, z: 1, sum: 0 }));
    let short =
        Painted::new([40, 90], Diagonal::Anti, |x, z| vec![(0, if z > 50 && x > 6 { 254 } else { 255 })]);
    assert_eq!(short.encode(1.0), Err(ControlError::Sum { x: 7, z: 51, sum: 254 }));
}

#[test]
fn other_kinds_and_senseless_budgets_are_refused() {
    let plane = [255; 4];
    let mut kinds = [LayerKind::Weight; 3];
    let run = |kinds: &[LayerKind], budget: f64| {
        let planes: [Option<&[u8]>; 2] = [None, Some(&plane)];
        encode(&Field { size: [2, 2], kinds, planes: &planes, diagonal: Diagonal::Main }, budget)
    };
    assert!(run(&kinds, 0.0).is_ok());
    for budget in [-0.001, 1.001, f64::NAN, f64::INFINITY] {
        assert!(matches!(run(&kinds, budget), Err(ControlError::Budget(_))));
    }
    for kind in [LayerKind::HeightAdjusted, LayerKind::OrderedAlpha] {
        kinds[2] = kind;
        assert_eq!(run(&kinds, 1.0), Err(ControlError::Kind { layer: 2, kind }));
    }
}

#[test]
fn the_least_candidate_of_a_crowded_triangle_is_taken_wherever_it_occurs() {
    // Node 00 has layers 0 and 1, 10 has 2 and 3, 01 only 0, 11 only 2: the triangles with both 00 and 10 have four.
    let node = |x: u32, z: u32| match (x, z) {
        (0, 0) => vec![(0, 200), (1, 55)],
        (1, 0) => vec![(2, 205), (3, 50)],
        (0, _) => vec![(0, 255)],
        _ => vec![(2, 255)],
    };
    for diagonal in [Diagonal::Main, Diagonal::Anti] {
        let control = Painted::new([2, 2], diagonal, node).encode(1.0).unwrap();
        // Layer 3 is the lightest there; layer 1 stays.
        assert_eq!(control.nodes, [[0, 1, 0x37, 0x37], [2, 2, 0, 0], [0, 0, 0, 0], [2, 2, 0, 0]]);
        assert_eq!(control.repaired, 1);
        // Node 10 lost 50/255 = 8 · 50 · 257; across: layer 0: 200 − 0 − 255 + 0, 1: 55, 2: 0 − 205 + 255, 3: −50.
        assert_eq!(control.error, 8 * 50 * 257 + 257 * (55 + 55 + 50 + 50));
        assert_eq!(control.worst_cell, [0, 0]);
        // A budget of exactly that is enough, and a little less is not.
        let exact = f64::from(control.error) / f64::from(ERROR_ONE);
        assert!(Painted::new([2, 2], diagonal, node).encode(exact * 1.000_001).is_ok());
        let refused = Painted::new([2, 2], diagonal, node).encode(exact * 0.999_999).unwrap_err();
        assert!(matches!(refused, ControlError::Loss { x: 0, z: 0, found, .. } if found == exact));
    }
}

#[test]
fn the_first_of_the_worst_cells_is_named() {
    // The same three equal layers in two corners of a long strip.
    let node = |x: u32, z: u32| match (x, z) {
        (30 | 70, 5 | 2) => vec![(0, 85), (1, 85), (2, 85)],
        _ => vec![(0, 255)],
    };
    let painted = Painted::new([90, 9], Diagonal::Main, node);
    assert_eq!(painted.encode(1.0).unwrap().worst_cell, [29, 1]);
    let message = painted.encode(0.25).unwrap_err().to_string();
    assert!(message.contains("cell (29, 1)") && message.contains("0.25") && !message.contains('\n'));
}

#[test]
fn the_number_of_threads_does_not_show() {
    let node = |x: u32, z: u32| {
        let id = |k: u32| ((x * 7 + z * 13 + k * 5 + x * z) % 11) as usize;
        vec![(id(0), 100), (id(1), 80), (id(2), 75)]
    };
    let painted = Painted::new([70, 40], Diagonal::Checkerboard, node);
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| painted.encode(1.0).unwrap())
    };
    let one = with(1);
    assert!(one.repaired > 0);
    for threads in [2, 5] {
        assert_eq!(with(threads), one);
    }
}

fn painted() -> impl Strategy<Value = Painted> {
    let diagonal = prop_oneof![Just(Diagonal::Main), Just(Diagonal::Anti), Just(Diagonal::Checkerboard)];
    ([1u32..8, 1u32..8], diagonal, 1usize..9, any::<u64>(), 0u64..5).prop_map(
        |(size, diagonal, layers, seed, mixed)| {
            Painted::new(size, diagonal, |x, z| {
                let mut r = (seed ^ u64::from(x * 131 + z * 7919 + 1)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                r ^= r >> 29;
                r = r.wrapping_mul(0xBF58_476D_1CE4_E5B9);
                let id = |shift: u32| (r >> shift) as usize % layers;
                // One to four parts that sum to 255; few large ones or many alike.
                let a = (r >> 40) as u8;
                let b = if r % 5 < mixed { (255 - a) / 2 } else { 0 };
                let c = if r % 7 < mixed { (255 - a - b) / 3 } else { 0 };
                vec![(id(3), a), (id(11), b), (id(19), c), (id(27), 255 - a - b - c)]
            })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_triangle_has_more_than_three_candidates_and_bottoms_stay(painted in painted()) {
        let control = painted.encode(1.0).unwrap();
        for t in painted.triangles() {
            prop_assert!(ids(&control.nodes, t).len() <= 3);
        }
        for (i, node) in (0..).zip(&control.nodes) {
            let author = painted.author(i % painted.size[0], i / painted.size[0]);
            let strongest = (0..32).min_by_key(|&id| (-author[id], id)).unwrap();
            prop_assert_eq!(usize::from(node[0]), strongest);
        }
    }

    /// Every order of the triangles gives the same bytes, and they are those of another implementation.
    #[test]
    fn the_order_of_work_does_not_show(painted in painted(), orders in [any::<u64>(), any::<u64>()]) {
        let (unrepaired, by_rows) = painted.with(|field| {
            let [w, h] = field.size.map(|s| s as usize);
            let mut nodes = vec![DEFAULT; w * h];
            for (z, row) in nodes.chunks_mut(w).enumerate() {
                strongest_row(field, z, row).unwrap();
            }
            // Rows from the last to the first.
            let mut repaired = nodes.clone();
            for _ in 0..3 {
                let before = repaired.clone();
                for (z, row) in repaired.chunks_mut(w).enumerate().rev() {
                    repair_row(field.size, field.diagonal, &before, z as u32, row);
                }
            }
            (nodes, repaired)
        });
        let control = painted.encode(1.0).unwrap();
        prop_assert_eq!(&control.nodes, &by_rows);
        for order in orders {
            prop_assert_eq!(&control.nodes, &repair_in_order(&painted, unrepaired.clone(), order));
        }
        prop_assert_eq!(control.repaired, unrepaired.iter().zip(&by_rows).filter(|(a, b)| a != b).count() as u64);
    }

    /// Sampled on a fine lattice of every triangle, the author's bilinear field is never further off than the bound.
    #[test]
    fn the_bound_bounds_every_point(painted in painted()) {
        const N: i64 = 8;
        let control = painted.encode(1.0).unwrap();
        let [w, h] = painted.size;
        let mut largest = 0;
        for (cell, pair) in (0..).zip(painted.triangles().chunks_exact(2)) {
            let [across, _] = cells(painted.size);
            let (x, z) = (cell % across, cell / across);
            let bound = i64::from(painted.with(|field| cell_error(field, &control.nodes, [x, z])));
            largest = largest.max(bound);
            let author = [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(dx, dz)| painted.author(x + dx, z + dz));
            let at = [(0, 0), (1, 0), (0, 1), (1, 1)]
                .map(|(dx, dz)| ((z + dz).min(h - 1) * w + (x + dx).min(w - 1)) as usize);
            let kept = at.map(|i| decoded(control.nodes[i]));
            let anti = match painted.diagonal {
                Diagonal::Main => false,
                Diagonal::Anti => true,
                Diagonal::Checkerboard => (x + z).is_multiple_of(2),
            };
            prop_assert_eq!(pair[0], if anti { [at[0], at[2], at[1]] } else { [at[0], at[3], at[1]] });
            for (u, v) in (0..=N).flat_map(|u| (0..=N).map(move |v| (u, v))) {
                let bilinear = [(N - u) * (N - v), u * (N - v), (N - u) * v, u * v];
                // Barycentric weights of the corners 00, 10, 01, 11.
                let plane = match (anti, u >= v, u + v <= N) {
                    (false, true, _) => [N - u, u - v, 0, v],
                    (false, false, _) => [N - v, 0, v - u, u],
                    (true, _, true) => [N - u - v, u, v, 0],
                    (true, _, false) => [0, N - v, N - u, u + v - N],
                };
                // In 1/(65535 · N²).
                let off: i64 = (0..32).map(|id| {
                    let author: i64 = (0..4).map(|c| bilinear[c] * author[c][id] * 257).sum();
                    let kept: i64 = (0..4).map(|c| plane[c] * kept[c][id] * N).sum();
                    (author - kept).abs()
                }).sum();
                // ½ · off / (65535 · N²) ≤ bound / (8 · 65535).
                prop_assert!(4 * off <= bound * N * N, "({u}, {v}) of cell ({x}, {z})");
            }
        }
        prop_assert_eq!(largest, i64::from(control.error));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn parts_with_their_halo_give_what_the_whole_gives(
        w in 1u32..12, h in 1u32..60, seed in any::<u64>(), band in prop::sample::select(vec![2u32, 4, 8, 32]),
        diagonal in prop::sample::select(vec![Diagonal::Main, Diagonal::Anti, Diagonal::Checkerboard]),
    ) {
        let hash = |x: u32, z: u32| (u64::from(x) * 0x9E37_79B9 + u64::from(z) * 0x85EB_CA6B + seed).wrapping_mul(0xD6E8_FEB8_6659_FD93) >> 32;
        let painted = Painted::new([w, h], diagonal, |x, z| {
            let r = hash(x, z);
            vec![((r % 7) as usize, (r >> 8) as u8), (7 + (r % 3) as usize, 255 - (r >> 8) as u8)]
        });
        let whole = painted.encode(1.0).unwrap();
        let (mut nodes, mut error, mut repaired) = (Vec::new(), 0, 0);
        for z in (0..h).step_by(band as usize) {
            let end = (z + band).min(h);
            let (from, to) = (z.saturating_sub(HALO_ROWS), (end + HALO_ROWS).min(h));
            let planes: Vec<Option<&[u8]>> =
                painted.planes.iter().map(|p| Some(&p[(from * w) as usize..(to * w) as usize])).collect();
            let part = Field { size: [w, to - from], kinds: &WEIGHTS, planes: &planes, diagonal };
            let found = encode_rows(&part, z - from..end - from, 1.0).unwrap();
            nodes.extend(found.nodes);
            error = error.max(found.error);
            repaired += found.repaired;
        }
        prop_assert_eq!(nodes, whole.nodes);
        prop_assert_eq!((error, repaired), (whole.error, whole.repaired));
    }
}
