//! What raw values mean in metres: one exact rational map for integers, `f64` for the rest.
//!
//! Owns the decimals that options and files may be written with. Never touches a raster; [`super::quantise`] does.

use super::ImportError;
use crate::height::{HEIGHT_LIMIT, MAX_QUANTUM_LOG2, QuantumLog2};

/// Decimal places that metres of a range may have in the plain form, and at most.
const RANGE_DECIMALS: [u32; 2] = [6, 12];

/// Decimal places that a vertical scale may have, and a file's own scale and offset.
const SCALE_DECIMALS: u32 = 9;

/// Numerators stay below this, so that 2ᵏ and a factor of two more fit too.
const NUMERATOR_LIMIT: i128 = 1 << (124 - MAX_QUANTUM_LOG2 as u32);

/// metres = (base + raw · step) / den, exactly. Decimal options are taken as the decimals they are written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Affine {
    base: i128,
    step: i128,
    den: i128,
}

impl Affine {
    /// Raw values that are metres, times a vertical scale.
    ///
    /// # Errors
    /// A scale that is not positive or has too many decimals.
    pub(crate) fn metres(vertical_scale: f64) -> Result<Self, ImportError> {
        let (step, den) = scale(vertical_scale)?;
        Ok(Self { base: 0, step, den })
    }

    /// Raw values of which one is `unit_m` metres and 0 is `offset_m`, times a vertical scale; `None` where the decimals
    /// of either are too many to be exact.
    ///
    /// # Errors
    /// A vertical scale that is not positive or has too many decimals.
    pub(crate) fn declared(
        unit_m: f64,
        offset_m: f64,
        vertical_scale: f64,
    ) -> Result<Option<Self>, ImportError> {
        if (unit_m, offset_m) == (1.0, 0.0) {
            return Self::metres(vertical_scale).map(Some);
        }
        let (factor, den) = scale(vertical_scale)?;
        let (Some(unit), Some(offset)) =
            (shortest_decimal(unit_m, SCALE_DECIMALS), shortest_decimal(offset_m, SCALE_DECIMALS))
        else {
            return Ok(None);
        };
        let parts = (|| {
            let den = den.checked_mul(10i128.pow(SCALE_DECIMALS))?;
            Some(Self { base: offset.checked_mul(factor)?, step: unit.checked_mul(factor)?, den })
        })();
        Ok(parts.map(Self::reduced).filter(|a| a.step != 0 && a.carries(1 << 31)))
    }

    /// Raw values from 0 to `levels` that stand for `min_m` to `max_m`, times a vertical scale.
    ///
    /// # Errors
    /// A range that is empty, too large or has too many decimals; a wrong scale.
    pub(crate) fn range(
        min_m: f64,
        max_m: f64,
        levels: u32,
        vertical_scale: f64,
    ) -> Result<Self, ImportError> {
        check_range(min_m, max_m)?;
        let (factor, den) = scale(vertical_scale)?;
        let of = |places: u32| {
            Some((shortest_decimal(min_m, places)?, shortest_decimal(max_m, places)?, 10i128.pow(places)))
        };
        let levels = i128::from(levels);
        let all = RANGE_DECIMALS.into_iter().find_map(of).and_then(|(min, max, one)| {
            let base = min.checked_mul(levels)?.checked_mul(factor)?;
            let den = one.checked_mul(levels)?.checked_mul(den)?;
            let all = Self { base, step: (max - min).checked_mul(factor)?, den };
            let all = if one == 10i128.pow(RANGE_DECIMALS[0]) { all } else { all.reduced() };
            all.carries(levels).then_some(all)
        });
        all.ok_or_else(|| {
            ImportError::usage(format!(
                "--min and --max may have at most {} decimals ({} beside a large --vertical-scale), so that heights are rounded once and exactly, found {min_m} and {max_m}",
                RANGE_DECIMALS[1], RANGE_DECIMALS[0]
            ))
        })
    }

    /// The same map in lowest terms.
    pub(crate) fn reduced(self) -> Self {
        let g = gcd(gcd(self.base, self.step), self.den);
        Self { base: self.base / g, step: self.step / g, den: self.den / g }
    }

    /// Whether the arithmetic carries raw values up to ±`most`.
    fn carries(&self, most: i128) -> bool {
        let reach = self.step.checked_mul(most).and_then(|s| s.abs().checked_add(self.base.abs()));
        reach.is_some_and(|r| r < NUMERATOR_LIMIT) && self.den < NUMERATOR_LIMIT
    }

    /// The source's step, from one raw value to the next, in metres.
    pub(crate) fn step_m(&self) -> f64 {
        (self.step as f64 / self.den as f64).abs()
    }

    /// The denominator as a number.
    pub(crate) fn den(&self) -> f64 {
        self.den as f64
    }

    /// Whether an error of so many 1/(den·2ᵏ) m is a quarter of the source's step or more.
    pub(crate) fn is_coarse(&self, error: i128, k: u8) -> bool {
        4 * error >= self.step.abs() << k
    }

    /// The quanta of a raw value, rounded half up, and the rounding error as a count of 1/(den·2ᵏ) m.
    pub(crate) fn round(&self, raw: i32, k: u8) -> (i128, i128) {
        let n = (self.base + i128::from(raw) * self.step) << k;
        // Most maps of 32-bit codes are small once reduced.
        if let (Ok(n), Ok(den)) = (i64::try_from(n), i64::try_from(self.den))
            && n.unsigned_abs() < 1 << 61
            && den < 1 << 61
        {
            let q = (2 * n + den).div_euclid(2 * den);
            return (i128::from(q), i128::from((q * den - n).abs()));
        }
        let q = (2 * n + self.den).div_euclid(2 * self.den);
        (q, (q * self.den - n).abs())
    }

    /// Whether a raw value's height is below ±2²⁴ quanta.
    pub(crate) fn fits(&self, raw: i32, k: u8) -> bool {
        self.round(raw, k).0.unsigned_abs() < HEIGHT_LIMIT as u128
    }

    /// Metres of a value that may lie between raw ones, as an `f64`.
    pub(crate) fn to_metres(self, raw: f64) -> f64 {
        (self.base as f64 + raw * self.step as f64) / self.den as f64
    }
}

/// What import makes of 16-bit levels, for whoever writes them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LevelMap(Affine);

impl LevelMap {
    /// Levels from 0 to 65535 that stand for `min_m` to `max_m`.
    ///
    /// # Errors
    /// As [`Affine::range`].
    pub(crate) fn new(min_m: f64, max_m: f64) -> Result<Self, ImportError> {
        Affine::range(min_m, max_m, 65_535, 1.0).map(Self)
    }

    /// The quanta of a level, and its metres before they are rounded.
    pub(crate) fn back(&self, level: u16, k: QuantumLog2) -> (i64, f64) {
        let quanta = self.0.round(i32::from(level), k.get()).0;
        (i64::try_from(quanta).unwrap_or(i64::MAX), self.0.to_metres(f64::from(level)))
    }
}

/// metres = (raw · scale + offset) · vertical, in `f64`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Linear {
    scale: f64,
    offset: f64,
    vertical: f64,
}

impl Linear {
    /// Raw values of which one is `scale` metres and 0 is `offset`.
    ///
    /// # Errors
    /// A scale or offset that is no number, a scale of 0, a vertical scale that is not positive or has too many decimals.
    pub(crate) fn new(unit_m: f64, offset_m: f64, vertical_scale: f64) -> Result<Self, ImportError> {
        scale(vertical_scale)?;
        if !(unit_m.is_finite() && offset_m.is_finite() && unit_m != 0.0) {
            return Err(ImportError::source(format!(
                "expected a scale and an offset that are numbers, and no scale of 0, found a declared scale of {unit_m} and offset of {offset_m}"
            )));
        }
        Ok(Self { scale: unit_m, offset: offset_m, vertical: vertical_scale })
    }

    /// Raw values from 0 to `levels` that stand for `min_m` to `max_m`.
    ///
    /// # Errors
    /// A range that is empty or too large; a wrong vertical scale.
    pub(crate) fn range(
        min_m: f64,
        max_m: f64,
        levels: u32,
        vertical_scale: f64,
    ) -> Result<Self, ImportError> {
        check_range(min_m, max_m)?;
        Self::new((max_m - min_m) / f64::from(levels), min_m, vertical_scale)
    }

    fn to_metres(self, raw: f64) -> f64 {
        (raw * self.scale + self.offset) * self.vertical
    }
}

/// What raw values mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Metres {
    /// Integers whose decimals are known.
    Exact(Affine),
    /// Everything else.
    Float(Linear),
}

impl Metres {
    /// Metres of a value, which may lie between raw ones.
    pub(crate) fn of(&self, raw: f64) -> f64 {
        match self {
            Metres::Exact(a) => a.to_metres(raw),
            Metres::Float(l) => l.to_metres(raw),
        }
    }

    /// Metres from one raw value to the next.
    pub(crate) fn step_m(&self) -> f64 {
        match self {
            Metres::Exact(a) => a.step_m(),
            Metres::Float(l) => (l.scale * l.vertical).abs(),
        }
    }
}

fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.abs(), b.abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

fn check_range(min_m: f64, max_m: f64) -> Result<(), ImportError> {
    let limit = f64::from(HEIGHT_LIMIT);
    let within = |v: f64| v.is_finite() && v.abs() <= limit;
    if within(min_m) && within(max_m) && min_m < max_m {
        return Ok(());
    }
    Err(ImportError::usage(format!(
        "expected a range of heights within ±{limit} m with min below max, found {min_m} to {max_m}: pass another --min and --max"
    )))
}

/// A vertical scale as a fraction.
fn scale(v: f64) -> Result<(i128, i128), ImportError> {
    if !(v > 0.0 && v <= 10_000.0) {
        return Err(ImportError::usage(format!(
            "the vertical scale must be positive and at most 10000, found {v}: pass another --vertical-scale"
        )));
    }
    let Some(n) = shortest_decimal(v, SCALE_DECIMALS) else {
        return Err(ImportError::usage(format!(
            "--vertical-scale may have at most {SCALE_DECIMALS} decimals, so that heights are rounded once and exactly, found {v}"
        )));
    };
    Ok((n, 10i128.pow(SCALE_DECIMALS)))
}

/// A number times 10^places, exactly, taken as the shortest decimal that reads back as it; `None` where it has more.
fn shortest_decimal(v: f64, places: u32) -> Option<i128> {
    if !v.is_finite() {
        return None;
    }
    let text = format!("{}", v.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    if fraction.len() > places as usize || whole.len() > 18 {
        return None;
    }
    let n = format!("{whole}{fraction}").parse::<i128>().ok()? * 10i128.pow(places - fraction.len() as u32);
    Some(if v < 0.0 { -n } else { n })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_round_up_exactly() {
        // 1/256 m is half a quantum at k = 7: up on both sides of zero.
        let a = Affine::metres(0.001953125).unwrap();
        assert_eq!((a.round(2, 7).0, a.round(-2, 7).0), (1, 0));
    }

    #[test]
    fn a_file_s_own_scale_is_taken_as_the_decimal_it_is() {
        // Codes of 0.1 m from −10000: 100123 is 12.3 m, exactly 12.3 · 128 = 1574.4 quanta, 0.4 over.
        let a = Affine::declared(0.1, -10_000.0, 1.0).unwrap().unwrap();
        let (q, error) = a.round(100_123, 7);
        assert_eq!(q, 1574);
        assert!((error as f64 / a.den() - 0.4).abs() < 1e-12, "{error} of {}", a.den());
        // Feet: 1000 ft is 304.8 m; a negative unit turns the ground over.
        assert_eq!(Affine::declared(0.3048, 0.0, 1.0).unwrap().unwrap().round(1000, 7).0, 39_014);
        assert_eq!(Affine::declared(-0.5, 1.0, 1.0).unwrap().unwrap().round(4, 7).0, -128);
        // The US survey foot is no decimal of nine places.
        assert_eq!(Affine::declared(1200.0 / 3937.0, 0.0, 1.0).unwrap(), None);
        for odd in [f64::NAN, f64::INFINITY, 0.0, 1e300] {
            assert_eq!(Affine::declared(odd, 0.0, 1.0).unwrap(), None, "{odd}");
        }
        // What the arithmetic cannot carry is not tried.
        assert_eq!(Affine::declared(123_456_789_012.123, 0.0, 9_999.123_456_789).unwrap(), None);
    }

    #[test]
    fn ranges_in_whole_quanta_are_exact_whatever_the_quantum() {
        // From −3 quanta of 1/4096 m, one quantum a level.
        let metres = |q: i32| f64::from(q) / 4096.0;
        let a = Affine::range(metres(-3), metres(65_532), 65_535, 1.0).unwrap();
        for raw in [0, 1, 2, 40_000, 65_535] {
            assert_eq!(a.round(raw, 12), (i128::from(raw) - 3, 0));
        }
    }

    #[test]
    fn odd_ranges_and_scales_are_refused() {
        for (min, max, v) in [
            (0.0, 0.0, 1.0),
            (1.0, 0.0, 1.0),
            (f64::NAN, 1.0, 1.0),
            (0.0, f64::INFINITY, 1.0),
            (0.0, 1e10, 1.0),
            (0.0, 1.0, 0.0),
            (0.0, 1.0, -1.0),
            (0.0, 1.0, f64::NAN),
            (0.0, 1.0, 1e9),
            (0.0, 0.123_456_789_012_3, 1.0),
            (0.0, 1.0, 1.0 / 3.0),
        ] {
            assert!(Affine::range(min, max, 65_535, v).is_err(), "{min} {max} {v}");
        }
    }
}
