use super::*;
use crate::config::MAX_SPACING_256;
use crate::height::{HEIGHT_LIMIT, MAX_QUANTUM_LOG2};
use proptest::collection::vec;
use proptest::prelude::*;

fn k(k: u8) -> QuantumLog2 {
    QuantumLog2::try_from(k).unwrap()
}

/// 127 times x and z of the unit normal of slopes given as twice the quanta a sample.
fn exact(slope2: [i32; 2], spacing_256: u32, k: u8) -> [f64; 2] {
    let spacing = f64::from(spacing_256) / 256.0;
    let [gx, gz] = slope2.map(|s| f64::from(s) / 2.0 / f64::from(1u32 << k) / spacing);
    let length = (gx * gx + gz * gz + 1.0).sqrt();
    [-127.0 * gx / length, -127.0 * gz / length]
}

fn codes(bytes: [u8; 2]) -> [f64; 2] {
    bytes.map(|b| f64::from(b) - 128.0)
}

/// Slopes of every magnitude, both signs.
fn slope2() -> impl Strategy<Value = i32> {
    let any = (0u32..=26, any::<u32>(), any::<bool>());
    any.prop_map(|(bits, v, negative)| {
        let v = (v & ((1u64 << bits) - 1) as u32) as i32;
        if negative { -v } else { v }
    })
}

#[test]
fn slopes_by_hand() {
    let metre = |dx: i32, dz: i32| Vertical::new(256, k(7)).encode([2 * dx, 2 * dz]);
    assert_eq!(metre(0, 0), UP);
    // 45° up to the east: x = −0.7071 · 127 = −89.8.
    assert_eq!(metre(128, 0), [38, 128]);
    assert_eq!(metre(-128, 0), [218, 128]);
    assert_eq!(metre(0, 128), [128, 38]);
    // 1 : 2 both ways: 127 / (2 · √1.5) = 51.85.
    assert_eq!(metre(64, -64), [76, 180]);
    // A cliff of 131 km a metre.
    assert_eq!(metre(1 << 24, 0), [1, 128]);
    assert_eq!(metre(1 << 24, -(1 << 24)), [38, 218]);
    // The same slopes in other units: 45° in whole metres of 16 m, and in 1/4096 m of 1/256 m.
    assert_eq!(Vertical::new(4096, k(0)).encode([32, 0]), [38, 128]);
    assert_eq!(Vertical::new(1, k(12)).encode([0, 32]), [128, 38]);
}

#[test]
fn differences_are_one_sided_at_map_edges_and_beside_voids() {
    let (v, q) = (VOID, k(7));
    // Samples of 1 m: east of a void 45° up, then central over both, then down at the far edge.
    let mut out = [[0; 2]; 5];
    row(None, &[7, v, 0, 128, 0], None, 256, q, &mut out);
    assert_eq!(out, [UP, UP, [38, 128], UP, [218, 128]]);
    // The edge of the map: the slope to the only neighbour; with a row above and one below the difference over both.
    let (above, below) = ([0, v, v, 0], [256, 256, v, v]);
    let mut out = [[0; 2]; 4];
    row(Some(&above), &[128; 4], Some(&below), 256, q, &mut out);
    assert_eq!(out, [[128, 38], [128, 38], UP, [128, 38]]);
    row(None, &[5], None, 256, q, &mut out[..1]);
    assert_eq!(out[0], UP);
}

#[test]
fn every_slope_of_a_usual_terrain_is_within_the_stated_error() {
    // Spacings about powers of two, where the scaling changes; one axis all values, the other some.
    for spacing in [255, 256, 257, 511, 7680] {
        for q in [0, 6, 7, 10] {
            let vertical = Vertical::new(spacing, k(q));
            for dx in (0..4000).step_by(3) {
                for dz in [0, 1, -500, 4001] {
                    let (found, expected) = (codes(vertical.encode([dx, dz])), exact([dx, dz], spacing, q));
                    for (f, e) in found.iter().zip(expected) {
                        assert!((f - e).abs() <= ERROR, "{dx}, {dz}, {spacing}, {q}: {f} for {e}");
                    }
                }
            }
        }
    }
}

#[test]
fn bytes_decode_to_unit_vectors() {
    assert_eq!(decode(UP), [0.0, 1.0, 0.0]);
    assert_eq!(decode([1, 128]), [-1.0, 0.0, 0.0]);
    let [x, y, z] = decode([38, 180]);
    assert!((x * x + y * y + z * z - 1.0).abs() < 1e-12 && y > 0.0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn codes_are_within_the_stated_error(
        dx in slope2(),
        dz in slope2(),
        spacing in 1..=MAX_SPACING_256,
        shift in 0u32..17,
        q in 0..=MAX_QUANTUM_LOG2,
    ) {
        let spacing = (spacing >> shift).max(1);
        let bytes = Vertical::new(spacing, k(q)).encode([dx, dz]);
        for (found, expected) in codes(bytes).into_iter().zip(exact([dx, dz], spacing, q)) {
            prop_assert!((found - expected).abs() <= ERROR, "{found} for {expected}");
            prop_assert!((found - expected.round()).abs() <= 1.0);
        }
        // Mirrored and turned ground has mirrored and turned normals.
        let [x, z] = bytes;
        let other = Vertical::new(spacing, k(q)).encode([dz, -dx]);
        prop_assert_eq!(other, [z, (256 - u32::from(x)) as u8]);
    }

    #[test]
    fn rows_take_their_neighbours(
        rows in vec(vec(prop_oneof![Just(VOID), 1 - HEIGHT_LIMIT..HEIGHT_LIMIT], 7), 3),
        has_above in any::<bool>(),
        has_below in any::<bool>(),
    ) {
        let quantum = k(9);
        let mut out = [[0; 2]; 7];
        let above = has_above.then_some(&rows[0][..]);
        let below = has_below.then_some(&rows[2][..]);
        row(above, &rows[1], below, 300, quantum, &mut out);
        let height = |x: i32, z: i32| -> Option<f64> {
            let there = (0..7).contains(&x) && (z == 1 || (z == 0 && has_above) || (z == 2 && has_below));
            let q = if there { rows[z as usize][x as usize] } else { VOID };
            (q != VOID).then(|| f64::from(q) / 512.0)
        };
        for x in 0..7 {
            let slope = |dx: i32, dz: i32| {
                let here = height(x, 1)?;
                let (before, after) = (height(x - dx, 1 - dz), height(x + dx, 1 + dz));
                let steps = f64::from(u8::from(before.is_some()) + u8::from(after.is_some()));
                Some((after.unwrap_or(here) - before.unwrap_or(here)) / (steps.max(1.0) * 300.0 / 256.0))
            };
            let (gx, gz) = (slope(1, 0).unwrap_or(0.0), slope(0, 1).unwrap_or(0.0));
            let length = (gx * gx + gz * gz + 1.0).sqrt();
            let found = codes(out[x as usize]);
            prop_assert!((found[0] + 127.0 * gx / length).abs() <= ERROR);
            prop_assert!((found[1] + 127.0 * gz / length).abs() <= ERROR);
        }
    }
}

proptest! {
    #[test]
    fn lanes_give_the_bytes_of_single_samples(
        slopes in vec([slope2(), slope2()], LANES),
        most in 1u32..=26,
        spacing in 1..=MAX_SPACING_256,
        q in 0..=MAX_QUANTUM_LOG2,
    ) {
        let vertical = Vertical::new(spacing, k(q));
        let cut = |v: i32| v % (1 << most);
        let (xs, zs) = (std::array::from_fn(|i| cut(slopes[i][0])), std::array::from_fn(|i| cut(slopes[i][1])));
        let mut found = [[0; 2]; LANES];
        vertical.encode_lanes(&xs, &zs, &mut found);
        for lane in 0..LANES {
            prop_assert_eq!(found[lane], vertical.encode([xs[lane], zs[lane]]), "{:?}", (xs[lane], zs[lane]));
        }
    }
}

#[test]
fn lanes_give_the_bytes_of_single_samples_for_every_gentle_slope() {
    for (spacing, q) in [(256, 7), (256, 12), (128, 10), (7680, 7), (300, 3)] {
        let vertical = Vertical::new(spacing, k(q));
        for dx in -700..700 {
            for dz in (-700..700).step_by(LANES) {
                let zs = std::array::from_fn(|i| dz + i as i32);
                let mut found = [[0; 2]; LANES];
                vertical.encode_lanes(&[dx; LANES], &zs, &mut found);
                for (found, z) in found.iter().zip(zs) {
                    assert_eq!(*found, vertical.encode([dx, z]), "{dx} {z} {spacing} {q}");
                }
            }
        }
    }
}
