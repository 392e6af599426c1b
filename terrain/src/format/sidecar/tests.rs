use super::*;
use crate::kernel::pyramid::skip::Skips;
use proptest::prelude::*;

const DIGEST: [u8; 32] = *b"the content digest of a payload.";

fn config(samples: [u32; 2], diagonal: Diagonal) -> TerrainConfig {
    TerrainConfig { diagonal, ..TerrainConfig::new(samples, 256) }
}

fn build(config: &TerrainConfig, mask: &[u8]) -> Sidecar {
    let mut builder = Builder::new(config);
    mask.chunks(config.cells()[0] as usize).for_each(|row| builder.push_row(row));
    builder.finish(DIGEST)
}

/// A map of 100 × 70 cells with a hole that is no mirror image of itself, one half cell, and a removed corner.
fn lopsided() -> (TerrainConfig, Vec<u8>) {
    let config = config([101, 71], Diagonal::Anti);
    let mut mask = vec![3; 100 * 70];
    for (x, z) in (40..60).flat_map(|x| (2..5).map(move |z| (x, z))) {
        mask[z * 100 + x] = 0;
    }
    mask[33 * 100 + 35] = 1;
    mask[69 * 100 + 99] = 2;
    (config, mask)
}

/// Puts the right checksum under changed bytes.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let body = bytes.len() - CHECKSUM_BYTES;
    let sum = blake3::hash(&bytes[..body]);
    bytes[body..].copy_from_slice(sum.as_bytes());
    bytes
}

fn with_u32(bytes: &[u8], at: usize, v: u32) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at..at + 4].copy_from_slice(&v.to_le_bytes());
    sealed(bytes)
}

fn refusal(bytes: &[u8]) -> (u64, &'static str) {
    let error = Sidecar::decode(bytes).expect_err("must be refused");
    (error.at, error.field)
}

#[test]
fn bits_are_x_major_within_a_node() {
    // PrimId = 2 · (x · 32 + z) + triangle, by hand: x 3, z 1, triangle 1 is 195: word 6, bit 3.
    assert_eq!(prim_id(3, 1, 1), 195);
    let mut masks = [0; NODE_AREA];
    masks[32 + 3] = 2;
    let words = words_of_masks(&masks);
    assert_eq!(words.iter().map(|w| w.count_ones()).sum::<u32>(), 1);
    assert_eq!(words[6], 1 << 3);
    // Its mirror image, x 1, z 3, is 71: word 2, bit 7.
    let mut masks = [0; NODE_AREA];
    masks[3 * 32 + 1] = 2;
    assert_eq!(words_of_masks(&masks)[2], 1 << 7);
}

#[test]
fn a_lopsided_hole_is_not_transposed() {
    let (config, mask) = lopsided();
    let sidecar = build(&config, &mask);
    // Node (1, 0) of level 0 holds cells 32..64 × 0..32: the hole is x 8..28, z 2..5 there.
    let first = sidecar.first_word(NodeKey { level: 0, z: 0, x: 1 }).unwrap();
    let node = &sidecar.words()[first..first + NODE_WORDS];
    for x in 0..32usize {
        for z in 0..32usize {
            for t in 0..2 {
                let bit = 2 * (x * 32 + z) + t;
                let hole = (8..28).contains(&x) && (2..5).contains(&z);
                assert_eq!(node[bit / 32] >> (bit % 32) & 1 == 0, hole, "({x}, {z}) {t}");
            }
        }
    }
    for z in -2..75 {
        for x in -2..105 {
            let inside = (0..100).contains(&x) && (0..70).contains(&z);
            let expected = if inside { mask[(z * 100 + x) as usize] } else { 0 };
            assert_eq!(sidecar.mask_of_cell(CellPos::new(x, z)), expected, "({x}, {z})");
        }
    }
}

#[test]
fn only_nodes_with_something_removed_have_records() {
    let (mut config, mask) = lopsided();
    let key = |level, z, x| NodeKey { level, z, x };
    // At level 0 the three nodes that were touched. Above it nothing: three rows of cells hide no coarse triangle.
    assert_eq!(build(&config, &mask).nodes(), [key(0, 0, 1), key(0, 1, 1), key(0, 2, 3)]);
    // Six rows more do, at level 1: samples 3 to 10 are inside, cells 2 to 4 of the level span samples 4 to 10.
    let mut larger = mask.clone();
    (40..60).flat_map(|x| (5..11).map(move |z| (x, z))).for_each(|(x, z)| larger[z * 100 + x] = 0);
    let found = build(&config, &larger);
    assert_eq!(found.nodes(), [key(0, 0, 1), key(0, 1, 1), key(0, 2, 3), key(1, 0, 0)]);
    assert_eq!([1, 2, 3, 4, 5].map(|z| found.mask(1, [24, z])), [3, 0, 0, 0, 3]);
    let whole = build(&config, &vec![3; 7000]);
    assert_eq!((whole.nodes(), whole.words()), (&[][..], &[][..]));
    // Cells outside the extent are in no record's way.
    config.extent = CellRect { x0: 0, z0: 0, x1: 37, z1: 50 };
    let mut cut: Vec<u8> = (0..7000).map(|i| if i % 100 < 37 && i / 100 < 50 { 3 } else { 0 }).collect();
    assert_eq!(build(&config, &cut).nodes(), []);
    assert_eq!(build(&config, &cut).mask_of_cell(CellPos::new(36, 49)), 3);
    assert_eq!(build(&config, &cut).mask_of_cell(CellPos::new(37, 49)), 0);
    cut[36] = 1;
    assert_eq!(build(&config, &cut).nodes(), [key(0, 0, 1)]);
}

#[test]
fn the_bytes_are_laid_out_as_documented() {
    let mut mask = vec![3; 40 * 3];
    mask[2 * 40 + 33] = 2;
    let mut config = config([41, 4], Diagonal::Checkerboard);
    config.extent = CellRect { x0: 1, z0: 0, x1: 40, z1: 3 };
    let bytes = build(&config, &mask).encode();
    let mut expected: Vec<u8> = b"\x89HGV\r\n\x1a\n".to_vec();
    for v in [1u32, 0, 2, 41, 4, 1, 0, 40, 3, 1, 64] {
        expected.extend(v.to_le_bytes());
    }
    expected.extend(DIGEST);
    for v in [0u32, 1, 0, 32, 0] {
        expected.extend(v.to_le_bytes());
    }
    // Columns 32 to 39, rows 0 to 2: six bits in the first of each column's two words.
    for x in 0..32 {
        let column = if x == 1 {
            0b10_11_11
        } else if x < 8 {
            0b11_11_11u32
        } else {
            0
        };
        expected.extend(column.to_le_bytes());
        expected.extend(0u32.to_le_bytes());
    }
    let sum = blake3::hash(&expected);
    expected.extend(sum.as_bytes());
    assert_eq!(bytes, expected);
}

#[test]
fn bits_beyond_the_last_cell_are_ignored() {
    let (config, mask) = lopsided();
    let sidecar = build(&config, &mask);
    let first = sidecar.first_word(NodeKey { level: 0, z: 2, x: 3 }).unwrap();
    let at = PREFIX_BYTES + sidecar.nodes().len() * RECORD_BYTES + first * 4;
    // Column 5 of that node is x = 101, beyond the last cell.
    let changed = with_u32(&sidecar.encode(), at + 10 * 4, u32::MAX);
    let changed = Sidecar::decode(&changed).unwrap();
    assert_eq!(changed.mask_of_cell(CellPos::new(101, 64)), 0);
    assert_eq!(changed.mask_of_cell(CellPos::new(99, 69)), 2);
}

#[test]
fn another_payloads_sidecar_is_refused() {
    let (config, mask) = lopsided();
    let bytes = build(&config, &mask).encode();
    assert!(Sidecar::decode_for(&bytes, &config, &DIGEST).is_ok());
    let field = |config: &TerrainConfig, digest: &[u8; 32]| {
        let e = Sidecar::decode_for(&bytes, config, digest).unwrap_err();
        assert!(!e.to_string().contains('\n'));
        (e.at, e.field)
    };
    let mut other = DIGEST;
    other[31] ^= 1;
    assert_eq!(field(&config, &other), (52, "content digest"));
    assert_eq!(field(&TerrainConfig { diagonal: Diagonal::Main, ..config }, &DIGEST), (16, "diagonal"));
    assert_eq!(field(&TerrainConfig { samples: [101, 70], ..config }, &DIGEST), (20, "samples"));
    let extent = CellRect { x0: 1, ..config.extent };
    assert_eq!(field(&TerrainConfig { extent, ..config }, &DIGEST), (28, "extent"));
}

#[test]
fn what_the_prefix_gets_wrong_is_named() {
    let (config, mask) = lopsided();
    let good = build(&config, &mask).encode();
    assert!(Sidecar::decode(&good).is_ok());
    assert_eq!(refusal(&[]), (0, "sidecar length"));
    assert_eq!(refusal(&good[..PREFIX_BYTES]), (0, "sidecar length"));
    assert_eq!(refusal(&with_u32(&good, 0, 0)), (0, "magic"));
    assert_eq!(refusal(&with_u32(&good, 8, 2)), (8, "version"));
    assert_eq!(refusal(&with_u32(&good, 8, 0)), (8, "version"));
    assert_eq!(refusal(&with_u32(&good, 12, 1)), (12, "flags"));
    assert_eq!(refusal(&with_u32(&good, 16, 3)), (16, "diagonal"));
    assert_eq!(refusal(&with_u32(&good, 16, 1 << 24)), (17, "reserved bytes"));
    for samples in [0, 1, (1 << 17) + 1, 1 << 31, u32::MAX] {
        assert_eq!(refusal(&with_u32(&good, 20, samples)), (20, "samples"));
    }
    for (at, v) in [(28, -1), (36, 0), (36, 101), (40, i32::MAX), (32, i32::MIN)] {
        assert_eq!(refusal(&with_u32(&good, at, v as u32)), (28, "extent"));
    }
    // Any one byte is under the checksum.
    let mut flipped = good.clone();
    flipped[60] ^= 4;
    assert_eq!(refusal(&flipped), (good.len() as u64 - 32, "checksum"));
}

#[test]
fn a_length_that_the_counts_do_not_bear_out_is_refused_before_anything_is_allocated() {
    let (config, mask) = lopsided();
    let good = build(&config, &mask).encode();
    assert_eq!(refusal(&good[..good.len() - 1]), (44, "sidecar length"));
    let mut longer = good.clone();
    longer.extend([0; 4]);
    assert_eq!(refusal(&longer), (44, "sidecar length"));
    assert_eq!(refusal(&with_u32(&good, 48, 1)), (48, "words"));
    // The largest counts that agree with each other: gigabytes, in a file of a few kilobytes.
    let mut promised = with_u32(&good, 44, (u32::MAX / 64) - 1);
    promised[48..52].copy_from_slice(&((u32::MAX / 64 - 1) * 64).to_le_bytes());
    assert_eq!(refusal(&sealed(promised)), (44, "sidecar length"));
}

#[test]
fn what_a_record_gets_wrong_is_named() {
    let (config, mask) = lopsided();
    let good = build(&config, &mask).encode();
    let at = |record: usize, field: usize| PREFIX_BYTES + record * RECORD_BYTES + field * 4;
    let place = |record, field| at(record, field) as u64;
    // Records 0 to 2 are (1, 0), (1, 1) and (3, 2) of level 0's 4 × 3 nodes.
    assert_eq!(refusal(&with_u32(&good, at(0, 0), 3)), (place(0, 0), "node level"));
    assert_eq!(refusal(&with_u32(&good, at(0, 0), u32::MAX)), (place(0, 0), "node level"));
    assert_eq!(refusal(&with_u32(&good, at(1, 1), 4)), (place(1, 1), "node"));
    assert_eq!(refusal(&with_u32(&good, at(1, 2), 3)), (place(1, 1), "node"));
    assert_eq!(refusal(&with_u32(&good, at(1, 2), u32::MAX)), (place(1, 1), "node"));
    assert_eq!(refusal(&with_u32(&good, at(2, 3), 64)), (place(2, 3), "node span"));
    // Words that overlap those of the record before, and words beyond the last.
    assert_eq!(refusal(&with_u32(&good, at(1, 4), 63)), (place(1, 4), "first word"));
    assert_eq!(refusal(&with_u32(&good, at(1, 4), 0)), (place(1, 4), "first word"));
    assert_eq!(refusal(&with_u32(&good, at(2, 4), u32::MAX)), (place(2, 4), "first word"));
    // The same node twice, and one before its turn.
    assert_eq!(refusal(&with_u32(&good, at(1, 2), 0)), (place(1, 0), "node order"));
    assert_eq!(refusal(&with_u32(&good, at(0, 2), 2)), (place(1, 0), "node order"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn bytes_come_back_and_say_what_the_masks_say(
        samples in [2u32..150, 2u32..150],
        seed in any::<u64>(),
        diagonal in prop_oneof![Just(Diagonal::Main), Just(Diagonal::Anti), Just(Diagonal::Checkerboard)],
        cut in 0i32..40,
    ) {
        let mut config = config(samples, diagonal);
        let [w, h] = config.cells();
        config.extent = CellRect { x0: cut.min(w - 1), z0: cut.min(h - 1) / 2, x1: w, z1: (h - cut / 3).max(h / 2 + 1) };
        let mask: Vec<u8> = (0..w * h).map(|i| {
            let (x, z) = (i % w, i / w);
            // Holes in stripes and clumps that are no mirror images.
            let clump = (seed >> ((x / 9 + z / 5 * 3) % 61)) & 3;
            let half = (x * 7 + z * 3) as u64 % 19 == seed % 23;
            match config.extent.contains(CellPos::new(x, z)) {
                true if half => 1,
                true if clump == 0 => 0,
                inside => 3 * u8::from(inside),
            }
        }).collect();
        let sidecar = build(&config, &mask);
        let bytes = sidecar.encode();
        prop_assert_eq!(&Sidecar::decode_for(&bytes, &config, &DIGEST).unwrap(), &sidecar);
        let mut skip_builder = SkipBuilder::new(&config);
        mask.chunks(w as usize).for_each(|row| skip_builder.push_row(row));
        let skips: Skips = skip_builder.finish();
        for (i, &m) in (0..).zip(&mask) {
            prop_assert_eq!(sidecar.mask_of_cell(CellPos::new(i % w, i / w)), m);
        }
        let cells = [w as u32, h as u32];
        for level in 1..levels(cells) {
            for z in 0..(h as u32 >> level) + 3 {
                for x in 0..(w as u32 >> level) + 3 {
                    prop_assert_eq!(sidecar.mask(level, [x, z]), !skips.cell(level, [x, z]) & 3);
                }
            }
        }
    }

    #[test]
    fn no_damage_makes_it_panic(at in any::<prop::sample::Index>(), v in any::<u32>(), cut in any::<prop::sample::Index>()) {
        let (config, mask) = lopsided();
        let good = build(&config, &mask).encode();
        let damaged = with_u32(&good, at.index(good.len() - 3).min(PREFIX_BYTES + 5 * RECORD_BYTES), v);
        if let Ok(sidecar) = Sidecar::decode(&damaged) {
            for level in 0..20 {
                sidecar.mask(level, [v, v]);
            }
            sidecar.mask_of_cell(CellPos::new(v as i32, 0));
            prop_assert_eq!(sidecar.encode(), damaged);
        }
        prop_assert!(Sidecar::decode(&good[..cut.index(good.len())]).is_err());
    }
}
