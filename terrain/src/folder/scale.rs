//! What an image's codes are in metres, and in quanta: exact integers.
//!
//! A code c from 0 to F = 65,536 · 2ᵇ − 1 stands for min + c / F · (max − min). Its high 16 bits are one image and its low
//! b bits, where there are any, another. Where max − min is F quanta and min is a whole number of them, each quantum has
//! a code of its own and nothing is ever rounded: this is what folders are written with.

use crate::height::QuantumLog2;

/// The most bits of the low image: with them all heights and all water surfaces fit.
pub(super) const MAX_LOW_BITS: u8 = 10;

/// The ends of a range are taken to the nearest 2⁻³² m.
const FINE_LOG2: u32 = 32;

/// The largest end of a range in metres.
const LIMIT_M: f64 = (1u64 << 26) as f64;

/// A range of metres and its codes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    pub(super) min_m: f64,
    pub(super) max_m: f64,
    pub(super) low_bits: u8,
}

/// Codes as quanta: 2⁻ᵏ m.
#[derive(Clone, Copy, Debug)]
pub(super) struct Codes {
    /// Quanta of code 0, where each quantum has a code of its own.
    exact: Option<i64>,
    min: i128,
    range: i128,
    full: i128,
    k: u8,
}

impl Scale {
    /// # Errors
    /// What is wrong with the range, in words.
    pub(super) fn check(&self) -> Result<(), String> {
        let fits = |m: f64| m.is_finite() && m.abs() <= LIMIT_M;
        if !(fits(self.min_m) && fits(self.max_m) && self.min_m < self.max_m) {
            return Err(format!(
                "expected a range within ±{LIMIT_M} m from a smaller to a larger number, found {} to {}",
                self.min_m, self.max_m
            ));
        }
        if self.low_bits > MAX_LOW_BITS {
            return Err(format!("expected at most {MAX_LOW_BITS} low bits, found {}", self.low_bits));
        }
        Ok(())
    }

    /// The largest code.
    pub(super) fn full(&self) -> u32 {
        (1 << (16 + self.low_bits)) - 1
    }

    /// The smallest exact scale whose codes hold `lo..=hi`, with as much room below as above; from 0 when `from_zero`.
    pub(super) fn exact(lo: i64, hi: i64, from_zero: bool, k: QuantumLog2) -> Self {
        let low_bits = (0..MAX_LOW_BITS).find(|b| hi - lo < 1 << (16 + b)).unwrap_or(MAX_LOW_BITS);
        let full = (1i64 << (16 + low_bits)) - 1;
        let base = if from_zero { 0 } else { lo - (full - (hi - lo)) / 2 };
        // Counts far below 2⁵³ times a power of two.
        let metres = |quanta: i64| quanta as f64 * k.metres();
        Self { min_m: metres(base), max_m: metres(base + full), low_bits }
    }

    pub(super) fn codes(&self, k: QuantumLog2) -> Codes {
        // Scaling by a power of two is exact; at most 2⁵⁸.
        let fine = |m: f64| ((m * (1u64 << FINE_LOG2) as f64) + 0.5).floor() as i128;
        let (min, max) = (fine(self.min_m), fine(self.max_m));
        let quantum = 1i128 << (FINE_LOG2 - u32::from(k.get()));
        let full = i128::from(self.full());
        let exact = (max - min == full * quantum && min % quantum == 0).then(|| (min / quantum) as i64);
        Codes { exact, min, range: max - min, full, k: k.get() }
    }
}

impl Codes {
    /// Quanta of a code, rounded half up.
    pub(super) fn quanta(&self, code: u32) -> i64 {
        if let Some(base) = self.exact {
            return base + i64::from(code);
        }
        let (n, den) = self.fraction(code);
        (2 * n + den).div_euclid(2 * den) as i64
    }

    /// The rounding error of a code in metres.
    pub(super) fn error_m(&self, code: u32) -> f64 {
        if self.exact.is_some() {
            return 0.0;
        }
        let (n, den) = self.fraction(code);
        let off = (i128::from(self.quanta(code)) * den - n).abs();
        off as f64 / den as f64 / (1u64 << self.k) as f64
    }

    /// A code in quanta as a fraction; at most 2⁵⁸ · 2²⁶ · 2¹².
    fn fraction(&self, code: u32) -> (i128, i128) {
        ((self.min * self.full + i128::from(code) * self.range) << self.k, self.full << FINE_LOG2)
    }

    /// The code that stands for exactly these quanta, where each quantum has a code.
    pub(super) fn code(&self, quanta: i64) -> Option<u32> {
        let code = quanta - self.exact?;
        (0..=self.full as i64).contains(&code).then_some(code as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn k(k: u8) -> QuantumLog2 {
        QuantumLog2::try_from(k).unwrap()
    }

    #[test]
    fn exact_scales_give_each_quantum_a_code_of_its_own() {
        for (lo, hi, kk) in
            [(0, 0, 0), (-5, 60_000, 7), (-16_777_215, 33_554_430, 12), (7, 7, 5), (0, 65_535, 7)]
        {
            for from_zero in [false, true] {
                if from_zero && lo < 0 {
                    continue;
                }
                let lo = if from_zero { 0 } else { lo };
                let scale = Scale::exact(lo, hi, from_zero, k(kk));
                scale.check().unwrap();
                let codes = scale.codes(k(kk));
                for q in [lo, hi, (lo + hi) / 2, lo.midpoint(hi) + i64::from(hi > lo)] {
                    assert_eq!(codes.quanta(codes.code(q).unwrap()), q, "{lo}..{hi} at {kk}");
                }
                assert_eq!(codes.error_m(3), 0.0);
            }
        }
        assert_eq!(Scale::exact(0, 65_535, false, k(7)).low_bits, 0);
        assert_eq!(Scale::exact(0, 65_536, false, k(7)).low_bits, 1);
        // Every height with every depth of water: −(2²⁴ − 1) to 2 · (2²⁴ − 1).
        assert_eq!(Scale::exact(-16_777_215, 33_554_430, false, k(7)).low_bits, 10);
    }

    #[test]
    fn other_scales_round_half_up_by_integers() {
        // 256 m over 65,535 codes: 32,768 is 128.001953… m, 16,384.25 quanta of 1/128 m.
        let scale = Scale { min_m: 0.0, max_m: 256.0, low_bits: 0 };
        let codes = scale.codes(k(7));
        assert_eq!(codes.code(0), None);
        assert_eq!((codes.quanta(0), codes.quanta(65_535)), (0, 32_768));
        assert_eq!(codes.quanta(32_768), 16_384);
        assert!((codes.error_m(32_768) - (32_768.0 * 256.0 / 65_535.0 - 128.0)).abs() < 1e-12);
        // A half: one metre over 65,535 codes with k = 0 never has one, two halves of −1..0 do.
        let half = Scale { min_m: -65_535.0, max_m: 65_535.0, low_bits: 0 };
        let fine = half.codes(k(0));
        assert_eq!((fine.quanta(0), fine.quanta(1), fine.quanta(65_535)), (-65_535, -65_533, 65_535));
        let halves = Scale { min_m: -0.5, max_m: 65_534.5, low_bits: 0 }.codes(k(0));
        assert_eq!((halves.quanta(0), halves.quanta(1), halves.quanta(2)), (0, 1, 2));
        assert_eq!(halves.error_m(0), 0.5);
    }

    #[test]
    fn ranges_that_mean_nothing_are_refused() {
        for (min_m, max_m, low_bits) in [
            (1.0, 1.0, 0),
            (2.0, 1.0, 0),
            (f64::NAN, 1.0, 0),
            (0.0, f64::INFINITY, 0),
            (0.0, 1e9, 0),
            (0.0, 1.0, 11),
        ] {
            assert!(Scale { min_m, max_m, low_bits }.check().is_err());
        }
    }
}
