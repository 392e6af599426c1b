use super::*;

#[test]
fn logarithms_are_those_of_floats_rounded_down() {
    let mut n = 1_u64;
    for _ in 0..20_000 {
        n = n.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let square = (n >> (n % 64)).max(1);
        let expected = libm::log2(square as f64) / 2.0 * 128.0;
        let found = f64::from(log2_of_square(square));
        assert!(found <= expected + 1e-6 && found > expected - 1.0 - 1e-5, "{square}: {found} {expected}");
    }
    assert_eq!([1, 2, 4, 1 << 20, 1 << 63].map(log2_of_square), [0, 64, 128, 1280, 4032]);
    assert_eq!(log2_of_square(u64::MAX), 4095);
}

#[test]
fn places_spread_over_the_whole_side_at_every_level() {
    // Four vertices over three quads; two; one quad is left of it.
    assert_eq!([0, 1, 2, 3].map(|v| place(v, 2, 0)), [0, 1 << 16, 2 << 16, 3 << 16]);
    assert_eq!([0, 1, 2, 3].map(|v| place(v, 2, 1)), [0, 0, 3 << 16, 3 << 16]);
    for n in 1..=7 {
        for level in 0..n {
            let own = f64::from((1 << (n - level)) - 1);
            let quads = f64::from((1 << n) - 1);
            for v in 0..1 << n {
                let exact = f64::from(v >> level) * quads / own * 65536.0;
                assert!((f64::from(place(v, n, level)) - exact).abs() <= 0.5, "{n} {level} {v}");
            }
            assert_eq!(place((1 << n) - 1, n, level), ((1 << n) - 1) << 16);
        }
    }
}

#[test]
fn errors_are_the_largest_differences_from_the_samples() {
    // A spike of 80 quanta between the vertices of level 1, on a plane.
    let mut samples: Vec<i32> = (0..81).map(|i| i % 9 * 10 - i / 9 * 4).collect();
    let main = |_: u32, _: [u32; 2]| false;
    assert_eq!(errors(&samples, 8, 4, main), [0, 0, 0, 0]);
    samples[3 * 9 + 5] += 80;
    assert_eq!(errors(&samples, 8, 4, main), [0, 80, 80, 80]);
    // On a vertex of level 1 and none of level 2: of level 2 it is missed; of level 1 the samples beside it are too high,
    // by half.
    samples[3 * 9 + 5] -= 80;
    samples[2 * 9 + 6] += 81;
    assert_eq!(errors(&samples, 8, 4, main), [0, 41, 81, 81]);
    // A void hides itself, and the cells that it is a corner of.
    samples[2 * 9 + 6] = VOID;
    assert_eq!(errors(&samples, 8, 4, main), [0, 0, 0, 0]);
}
