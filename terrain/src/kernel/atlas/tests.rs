use super::*;

fn k(k: u8) -> QuantumLog2 {
    QuantumLog2::try_from(k).unwrap()
}

#[test]
fn the_references_packing_has_its_decoding_constants() {
    let packing = Packing::reference(k(7)).unwrap();
    assert_eq!(packing.decoding(k(7)), [510.0, 1.9921875, -256.0]);
    // H16 = round(metres · 128 + 32768), half up; −256 m is its padding.
    for (metres, code) in
        [(-256.0, 0), (0.0, 32_768), (255.9921875, 65_535), (-0.5, 32_704), (100.25, 45_600)]
    {
        assert_eq!(packing.code(k(7).from_metres(metres).unwrap().0), Some(code), "{metres}");
        assert_eq!(packing.quanta(code) as f64 / 128.0, metres);
    }
    // Other ranges do not fit.
    assert_eq!(packing.code(256 * 128), None);
    assert_eq!(packing.code(-256 * 128 - 1), None);
    assert_eq!(packing.code(VOID), None);
    // Finer quanta are rounded half up to its steps; coarser ones it does not know.
    let fine = Packing::reference(k(9)).unwrap();
    assert_eq!(fine.decoding(k(9)), [510.0, 1.9921875, -256.0]);
    let codes: Vec<u16> = (0..6).map(|q| fine.code(q).unwrap() - 32_768).collect();
    assert_eq!(codes, [0, 0, 1, 1, 1, 1]);
    assert_eq!(fine.code(-2), Some(32_768));
    assert_eq!(Packing::reference(k(6)), None);
}

#[test]
fn a_packing_for_a_range_is_the_finest_that_holds_it() {
    for (min, max, base, shift) in [
        (0, 65_535, 0, 0),
        (0, 65_536, 0, 1),
        (-5, 65_530, -5, 0),
        (-5, 65_531, -6, 1),
        (7, 7, 7, 0),
        (-(1 << 24) + 1, (1 << 24) - 1, -(1 << 24), 10),
        (1, 131_071, 0, 2),
    ] {
        let packing = Packing::for_range(min, max);
        assert_eq!(packing, Packing { base, shift }, "{min} {max}");
        assert!(packing.code(min).is_some() && packing.code(max).is_some());
        if shift > 0 {
            let finer = Packing { base: min >> (shift - 1) << (shift - 1), shift: shift - 1 };
            assert!(finer.code(max).is_none());
        }
    }
}

#[test]
fn texels_hold_code_and_normal_and_voids_are_flat() {
    // 3 × 2 samples of 1 m with a ring: 45° up to the east, a void in the second row.
    let q = |x: i32, z: i32| if (x, z) == (2, 2) { VOID } else { 128 * x };
    let heights: Vec<u32> = (0..4).flat_map(|z| (0..5).map(move |x| q(x, z) as u32)).collect();
    let mut texels = [0; 6];
    let packing = Packing { base: 100, shift: 0 };
    let [d, p] = Vertical::new(256, k(7)).parts();
    PACK.call(&[3, 2, 100, 0, d, p], [&heights], [&mut texels]);
    assert_eq!(code_of(texels[0]), 28);
    assert_eq!(code_of(texels[2]), packing.code(384).unwrap());
    assert_eq!(texels[1] & 0xFFFF, (156 & 255) << 8);
    assert_eq!(normal_of(texels[0]), [38, 128]);
    // Beside a void the difference is one-sided: just as steep here.
    assert_eq!(normal_of(texels[3]), [38, 128]);
    assert_eq!((code_of(texels[4]), normal_of(texels[4])), (0, [128, 128]));
}
