use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

const W: LayerKind = LayerKind::Weight;
const H: LayerKind = LayerKind::HeightAdjusted;
const A: LayerKind = LayerKind::OrderedAlpha;

fn kind() -> impl Strategy<Value = LayerKind> {
    prop_oneof![Just(W), Just(H), Just(A)]
}

/// Layers of any kinds with weights that are often 0, 255 or equal.
fn texel() -> impl Strategy<Value = (Vec<LayerKind>, Vec<u8>)> {
    let weight = prop_oneof![Just(0u8), Just(0), Just(255), Just(85), any::<u8>()];
    vec((kind(), weight), 1..=32).prop_map(|layers| layers.into_iter().unzip())
}

/// The same composition in floating point.
fn shares(kinds: &[LayerKind], weights: &[u8]) -> [f64; 32] {
    let mut shares = [0.0; 32];
    let sum: f64 = kinds.iter().zip(weights).filter(|(k, _)| **k != A).map(|(_, &w)| f64::from(w)).sum();
    for (id, (&kind, &w)) in kinds.iter().zip(weights).enumerate() {
        if kind != A && sum > 0.0 {
            shares[id] = f64::from(w) / sum;
        }
    }
    if sum == 0.0 {
        shares[0] = 1.0;
    }
    for (id, (&kind, &w)) in kinds.iter().zip(weights).enumerate() {
        if kind == A {
            let alpha = f64::from(w) / 255.0;
            shares.iter_mut().for_each(|s| *s *= 1.0 - alpha);
            shares[id] += alpha;
        }
    }
    shares
}

/// Total variation between masses and (id, weight out of `full`), rounded up to 1/65535, over all ids.
fn brute_loss(masses: &Masses, decoded: &[(u8, u32)], full: u32) -> u32 {
    let mut off = 0i128;
    for id in 0..32 {
        let shown = decoded.iter().filter(|d| d.0 == id).map(|d| i128::from(d.1)).sum::<i128>();
        off += (i128::from(masses[usize::from(id)]) * i128::from(full) - shown * i128::from(ONE)).abs();
    }
    let (num, den) = (off * 65535, 2 * i128::from(full) * i128::from(ONE));
    ((num + den - 1) / den) as u32
}

/// Sorts all layers and rounds in exact integers.
fn brute_two(masses: &Masses, full: u32) -> [u8; 3] {
    let mut order: Vec<usize> = (0..32).filter(|&i| masses[i] > 0).collect();
    order.sort_by_key(|&i| (std::cmp::Reverse(masses[i]), i));
    let second = order.get(1).copied().unwrap_or(order[0]);
    let m2 = if order.len() > 1 { i128::from(masses[second]) } else { 0 };
    let sum = i128::from(masses[order[0]]) + m2;
    [order[0] as u8, second as u8, ((2 * i128::from(full) * m2 + sum) / (2 * sum)) as u8]
}

#[test]
fn zero_everywhere_is_layer_0_and_alpha_covers_it() {
    assert_eq!(effective(&[], &[])[0], ONE);
    assert_eq!(effective(&[W, W, A], &[0, 0, 0])[0], ONE);
    // Layer 0 is the ground also when it is painted as an alpha layer.
    assert_eq!(effective(&[A, W], &[0, 0])[0], ONE);
    let m = effective(&[W, W, A], &[0, 0, 51]);
    assert_eq!((m[0], m[1], m[2]), (ONE / 5 * 4, 0, ONE / 5));
}

#[test]
fn alpha_layers_cover_what_lies_under_them_in_ascending_id() {
    // Alpha layer 0 (2/5) lies over weight layer 1 and under alpha layer 2 (3/5), which leaves 2/5 of both, rounded down.
    let m = effective(&[A, H, A], &[102, 255, 153]);
    assert_eq!((m[0], m[1], m[2]), (2_673_868, 4_010_803, ONE - 6_684_671));
    // An opaque one hides everything; a later one with 0 changes nothing.
    let m = effective(&[W, A, A], &[255, 255, 0]);
    assert_eq!((m[0], m[1], m[2]), (0, ONE, 0));
}

#[test]
fn weights_that_sum_to_255_are_shown_exactly_and_others_by_their_share() {
    let m = effective(&[W, H, W], &[100, 55, 100]);
    assert_eq!(m[..3], [100 << 16, 55 << 16, 100 << 16]);
    // Thirds of 255 · 2¹⁶ are whole; sevenths are not: 1/7 is 2387382.86, and the strongest takes what is left.
    assert_eq!(effective(&[W, W, W], &[9, 9, 9])[..3], [ONE / 3; 3]);
    assert_eq!(effective(&[W, W], &[1, 6])[..2], [2_387_382, ONE - 2_387_382]);
}

#[test]
fn the_strongest_two_are_kept_and_ties_go_to_the_smaller_id() {
    let kinds = [W; 4];
    let hd_of = |w: &[u8]| hd(&effective(&kinds, w));
    assert_eq!(hd_of(&[0, 0, 255]), (HdTexel { id1: 2, id2: 2, ratio: 0 }, 0));
    assert_eq!(hd_of(&[0, 127, 128]), (HdTexel { id1: 2, id2: 1, ratio: 127 }, 0));
    // Three equal layers: half a step of rounding (127.5 → 128) and the third that is dropped.
    // |85 − 127| + |85 − 128| + 85 = 170 of 510.
    assert_eq!(hd_of(&[85, 0, 85, 85]), (HdTexel { id1: 0, id2: 2, ratio: 128 }, 65535 / 3));
    // Sevenths: 1/2 lies on a half and rounds up to 4. |7/14 − 6/14| = 1/14 = 4681.07, rounded up.
    let (texel, loss) = normal(&effective(&kinds, &[1, 1]));
    assert_eq!((texel, loss), (NormalTexel { id1: 0, id2: 1, ratio: 4 }, 4682));
}

#[test]
fn largest_remainders_by_hand() {
    let of = |mut w: Vec<u8>| (normalise_255(&mut w), w);
    // 255/2 each: remainders equal, the smaller id is rounded up.
    assert_eq!(of(vec![7, 7]), (true, vec![128, 127]));
    // 63.75 each: floors leave 3.
    assert_eq!(of(vec![1, 1, 1, 1]), (true, vec![64, 64, 64, 63]));
    // 250·255/260 = 245.19, 9.81 (10·255/260).
    assert_eq!(of(vec![250, 10]), (true, vec![245, 10]));
    assert_eq!(of(vec![0, 0, 0]), (false, vec![0, 0, 0]));
    assert_eq!(of(vec![55, 200]), (false, vec![55, 200]));
    assert_eq!(of(vec![0, 3]), (true, vec![0, 255]));
    assert_eq!(of(vec![255; 32]).1.iter().map(|&w| u32::from(w)).sum::<u32>(), 255);
}

#[test]
fn hd_texels_become_full_weights_without_loss() {
    let full = hd_to_full(HdTexel { id1: 3, id2: 31, ratio: 200 }).unwrap();
    assert_eq!((full[3], full[31], full.iter().map(|&w| u32::from(w)).sum::<u32>()), (55, 200, 255));
    assert_eq!(hd_to_full(HdTexel { id1: 4, id2: 4, ratio: 77 }).unwrap()[4], 255);
    assert_eq!(hd_to_full(HdTexel { id1: 32, id2: 0, ratio: 0 }), None);
    assert_eq!(hd_to_full(HdTexel { id1: 0, id2: 255, ratio: 0 }), None);
}

#[test]
fn kinds_are_spelt_in_snake_case() {
    let spelt: Vec<String> = [W, H, A].iter().map(|k| ron::to_string(k).unwrap()).collect();
    assert_eq!(spelt, ["weight", "height_adjusted", "ordered_alpha"]);
    assert_eq!(LayerKind::default(), W);
}

proptest! {
    #[test]
    fn masses_sum_to_one_and_follow_the_composition((kinds, weights) in texel()) {
        let masses = effective(&kinds, &weights);
        prop_assert_eq!(masses.iter().sum::<u32>(), ONE);
        // 32 floors a layer at most, and as many layers: below 2⁻¹⁴.
        for (m, share) in masses.iter().zip(shares(&kinds, &weights)) {
            prop_assert!((f64::from(*m) / f64::from(ONE) - share).abs() < 1024.0 / f64::from(ONE));
        }
    }

    #[test]
    fn texels_and_losses_agree_with_sorting_all_layers((kinds, weights) in texel()) {
        let masses = effective(&kinds, &weights);
        let (t, loss) = hd(&masses);
        prop_assert_eq!(t.to_bytes(), brute_two(&masses, 255));
        let r = u32::from(t.ratio);
        prop_assert_eq!(loss, brute_loss(&masses, &[(t.id1, 255 - r), (t.id2, r)], 255));
        let (t, loss) = normal(&masses);
        prop_assert_eq!([t.id1, t.id2, t.ratio], brute_two(&masses, 7));
        let r = u32::from(t.ratio);
        prop_assert_eq!(loss, brute_loss(&masses, &[(t.id1, 7 - r), (t.id2, r)], 7));
    }

    #[test]
    fn rows_agree_with_single_texels_and_absent_planes_are_zeros(
        kinds in vec(kind(), 1..=32),
        seeds in vec(any::<u64>(), 32),
        normalised in any::<bool>(),
    ) {
        const N: usize = 9;
        // A third of the planes absent, a third sparse.
        let value = |seed: u64, i: usize| {
            if seed.is_multiple_of(3) || (seed % 3 == 1 && i & 1 == 0) { 0 } else { (seed >> (i * 5)) as u8 }
        };
        let base: Vec<usize> = (0..kinds.len()).filter(|&l| kinds[l].is_base()).collect();
        let texels: Vec<Vec<u8>> = (0..N).map(|i| {
            let mut texel: Vec<u8> = seeds.iter().take(kinds.len()).map(|&s| value(s, i)).collect();
            if normalised {
                let mut weights: Vec<u8> = base.iter().map(|&l| texel[l]).collect();
                normalise_255(&mut weights);
                base.iter().zip(weights).for_each(|(&l, w)| texel[l] = w);
            }
            texel
        }).collect();
        let values: Vec<Vec<u8>> = (0..kinds.len()).map(|l| texels.iter().map(|t| t[l]).collect()).collect();
        let planes: Vec<Option<&[u8]>> =
            values.iter().zip(&seeds).map(|(v, s)| (!s.is_multiple_of(3)).then_some(&v[..])).collect();
        let (mut hds, mut normals) = ([HdTexel::default(); N], [0u16; N]);
        let losses = (hd_row(&kinds, &planes, &mut hds), normal_row(&kinds, &planes, &mut normals));
        let mut most = (0, 0);
        for ((texel, hd_texel), normal_texel) in texels.iter().zip(hds).zip(normals) {
            let masses = effective(&kinds, texel);
            let (one, other) = (hd(&masses), normal(&masses));
            prop_assert_eq!(hd_texel, one.0);
            prop_assert_eq!(NormalTexel::from_bytes(normal_texel.to_le_bytes()), other.0);
            most = (most.0.max(one.1), most.1.max(other.1));
        }
        prop_assert_eq!(losses, most);
    }

    #[test]
    fn normalised_weights_are_the_nearest_that_sum_to_255(mut w in vec(any::<u8>(), 1..=32)) {
        let before = w.clone();
        let sum: u64 = before.iter().map(|&w| u64::from(w)).sum();
        let changed = normalise_255(&mut w);
        prop_assert_eq!(changed, w != before);
        if sum > 0 {
            prop_assert_eq!(w.iter().map(|&w| u64::from(w)).sum::<u64>(), 255);
            // Independently: order all by remainder, then id, and round the first ones up.
            let mut order: Vec<usize> = (0..w.len()).collect();
            order.sort_by_key(|&i| (std::cmp::Reverse(u64::from(before[i]) * 255 % sum), i));
            let mut expected: Vec<u64> = before.iter().map(|&w| u64::from(w) * 255 / sum).collect();
            let left = (255 - expected.iter().sum::<u64>()) as usize;
            order[..left].iter().for_each(|&i| expected[i] += 1);
            prop_assert_eq!(w.iter().map(|&w| u64::from(w)).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn an_hd_texel_comes_back_from_its_full_weights(id1 in 0u8..32, id2 in 0u8..32, ratio in 0u8..128) {
        let full = hd_to_full(HdTexel { id1, id2, ratio }).unwrap();
        let (back, loss) = hd(&effective(&[W; 32], &full));
        prop_assert_eq!(loss, 0);
        prop_assert_eq!(hd_to_full(back).unwrap(), full);
    }
}
