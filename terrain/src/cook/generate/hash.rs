//! The one source of chance: a hash of (seed, lattice point), never a generator with a state.

/// 64 mixed bits of a seed and a lattice point: the finaliser of SplitMix64 (Steele, Lea and Flood, "Fast splittable
/// pseudorandom number generators", 2014), once an axis. Pinned for ever: worlds depend on it.
pub const fn hash(seed: u64, x: i64, z: i64) -> u64 {
    let h = mix(seed ^ (x as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    mix(h ^ (z as u64).wrapping_mul(0xC2B2_AE3D_27D4_EB4F))
}

const fn mix(mut h: u64) -> u64 {
    h = (h ^ (h >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    h = (h ^ (h >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    h ^ (h >> 31)
}

/// A hash as a number from 0 up to but not including 1, by its upper 53 bits.
pub fn unit(h: u64) -> f64 {
    (h >> 11) as f64 / 9_007_199_254_740_992.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_pinned() {
        // Values of the same three lines in Python with unbounded integers and a mask of 64 bits.
        for (seed, x, z, expected) in PINNED {
            assert_eq!(hash(seed, x, z), expected, "{seed} {x} {z}");
        }
    }

    const PINNED: [(u64, i64, i64, u64); 5] = [
        (0, 0, 0, 0),
        (1, 0, 0, 0x7AB4_0E09_0F36_3A7D),
        (42, 7, -3, 0xFABB_DA6B_0BA3_A1DA),
        (42, -3, 7, 0xF868_7502_5B63_E764),
        (u64::MAX, i64::MIN, i64::MAX, 0xDC33_21E3_DDFE_92E7),
    ];

    #[test]
    fn every_bit_is_set_half_the_time() {
        let mut ones = [0u32; 64];
        for x in 0..128 {
            for z in 0..128 {
                let h = hash(9, x, z);
                ones.iter_mut().enumerate().for_each(|(bit, n)| *n += (h >> bit & 1) as u32);
            }
        }
        // 16384 throws: a standard deviation is 64; 6 of them never happen by chance.
        assert!(ones.iter().all(|&n| n.abs_diff(8192) < 384), "{ones:?}");
    }

    #[test]
    fn units_stay_below_one() {
        assert_eq!((unit(0), unit(u64::MAX) < 1.0), (0.0, true));
    }
}
