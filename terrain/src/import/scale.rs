//! From raw values to quanta: one exact rational map, one rounding (half up), and the choice of k.

use super::{Crop, Grid, ImportError};
use crate::height::{HEIGHT_LIMIT, MAX_QUANTUM_LOG2, QuantumLog2, VOID};
use crate::store::RasterError;

/// Decimal places that metres of an image's range may have.
const RANGE_DECIMALS: u32 = 6;

/// Decimal places that a vertical scale may have.
const SCALE_DECIMALS: u32 = 9;

/// Raw values lie from −32768 to 65535.
const RAW_MIN: i32 = i16::MIN as i32;
const RAW_COUNT: usize = 1 << 17;

/// metres = (base + raw · step) / den, exactly. Decimal options are taken as the decimals they are written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Affine {
    base: i128,
    step: i128,
    den: i128,
}

/// Heights in quanta.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantised {
    /// Raw quanta, [`VOID`] where there is no sample.
    pub quanta: Vec<i32>,
    /// k.
    pub quantum: QuantumLog2,
    /// The largest rounding error in metres.
    pub rounding_m: f64,
}

impl Affine {
    /// Raw values that are metres, times a vertical scale.
    ///
    /// # Errors
    /// A scale that is not positive or has too many decimals.
    pub fn metres(vertical_scale: f64) -> Result<Self, ImportError> {
        let (step, den) = scale(vertical_scale)?;
        Ok(Self { base: 0, step, den })
    }

    /// Raw values from 0 to 65535 that stand for `min_m` to `max_m`, times a vertical scale.
    ///
    /// # Errors
    /// A range that is empty, too large or has too many decimals; a wrong scale.
    pub fn range(min_m: f64, max_m: f64, vertical_scale: f64) -> Result<Self, ImportError> {
        let limit = f64::from(HEIGHT_LIMIT);
        if !(min_m.is_finite()
            && max_m.is_finite()
            && min_m < max_m
            && min_m.abs() <= limit
            && max_m.abs() <= limit)
        {
            return Err(ImportError::usage(format!(
                "expected a range of heights within ±{limit} m with min below max, found {min_m} to {max_m}: pass another --min and --max"
            )));
        }
        let one = 10i128.pow(RANGE_DECIMALS);
        let (min, max) = (decimal(min_m, RANGE_DECIMALS, "--min")?, decimal(max_m, RANGE_DECIMALS, "--max")?);
        let (factor, den) = scale(vertical_scale)?;
        Ok(Self { base: min * 65_535 * factor, step: (max - min) * factor, den: 65_535 * one * den })
    }

    /// The source's step, from one raw value to the next, in metres.
    pub fn step_m(&self) -> f64 {
        self.step as f64 / self.den as f64
    }

    /// The quanta of a raw value, rounded half up, and the rounding error as a count of 1/(den·2ᵏ) m.
    fn round(&self, raw: i32, k: u8) -> (i128, i128) {
        // At most 2¹⁰⁵ · 2¹² · 2.
        let n = (self.base + i128::from(raw) * self.step) << k;
        let q = (2 * n + self.den).div_euclid(2 * self.den);
        (q, (q * self.den - n).abs())
    }

    fn fits(&self, raw: i32, k: u8) -> bool {
        self.round(raw, k).0.unsigned_abs() < HEIGHT_LIMIT as u128
    }

    /// k for raw values from an integer source: 7, raised up to 12 while every |q| < 2²⁴, until the largest rounding
    /// error is below a quarter of the source's step.
    pub fn quantum_for(&self, raws: &[i32]) -> QuantumLog2 {
        let mut k = QuantumLog2::DEFAULT.get();
        let coarse = |k: u8| {
            let error = raws.iter().map(|&r| self.round(r, k).1).max().unwrap_or(0);
            4 * error >= self.step << k
        };
        while k < MAX_QUANTUM_LOG2 && coarse(k) && raws.iter().all(|&r| self.fits(r, k + 1)) {
            k += 1;
        }
        QuantumLog2::try_from(k).unwrap_or(QuantumLog2::DEFAULT)
    }

    /// Rounds a grid to quanta.
    ///
    /// # Errors
    /// The first height that does not fit, with its sample in the source.
    ///
    /// # Panics
    /// When a value is neither void nor from −32768 to 65535: no source format has such.
    pub fn quantise(
        &self,
        grid: &Grid,
        asked: Option<QuantumLog2>,
        crop: Crop,
    ) -> Result<Quantised, ImportError> {
        let index = |v: i32| (v - RAW_MIN) as usize;
        let mut present = vec![false; RAW_COUNT];
        grid.values().iter().filter(|&&v| v != VOID).for_each(|&v| present[index(v)] = true);
        let raws: Vec<i32> = (0..RAW_COUNT).filter(|&i| present[i]).map(|i| i as i32 + RAW_MIN).collect();
        let quantum = asked.unwrap_or_else(|| self.quantum_for(&raws));
        let k = quantum.get();
        if let Some(&bad) = raws.iter().find(|&&r| !self.fits(r, k)) {
            let i = grid.values().iter().position(|&v| v == bad).unwrap_or(0) as u32;
            let (x, z) = ((i % grid.width() + crop.x) as i32, (i / grid.width() + crop.z) as i32);
            let quanta = i64::try_from(self.round(bad, k).0).unwrap_or(i64::MAX);
            return Err(RasterError::Height { x, z, quanta }.into());
        }
        let mut table = vec![VOID; RAW_COUNT];
        let mut worst = 0;
        for &r in &raws {
            let (q, error) = self.round(r, k);
            table[index(r)] = q as i32;
            worst = worst.max(error);
        }
        let quanta = grid.values().iter().map(|&v| if v == VOID { VOID } else { table[index(v)] }).collect();
        let rounding_m = worst as f64 / self.den as f64 * quantum.metres();
        Ok(Quantised { quanta, quantum, rounding_m })
    }

    /// Rounds resampled values (raw units, NaN where void) of a raster `width` wide to quanta.
    ///
    /// # Errors
    /// The first height that does not fit, with its sample.
    pub(crate) fn quantise_metres(
        &self,
        raw: &[f64],
        width: u32,
        asked: Option<QuantumLog2>,
    ) -> Result<Quantised, ImportError> {
        let metres = |v: f64| (self.base as f64 + v * self.step as f64) / self.den as f64;
        let mut k = asked.unwrap_or(QuantumLog2::DEFAULT);
        loop {
            let (quantised, misfit) = round_all(raw, &metres, k);
            // Raising k is for rounding's sake only, so the first k that does not fit ends it.
            if let Some((i, h)) = misfit {
                let (x, z) = ((i % width as usize) as i32, (i / width as usize) as i32);
                let quanta = (h * k.per_metre() as f64) as i64;
                return Err(RasterError::Height { x, z, quanta }.into());
            }
            let next = QuantumLog2::try_from(k.get() + 1);
            match next {
                Ok(next)
                    if asked.is_none()
                        && 4.0 * quantised.rounding_m >= self.step_m()
                        && round_all(raw, &metres, next).1.is_none() =>
                {
                    k = next;
                }
                _ => return Ok(quantised),
            }
        }
    }
}

fn round_all(raw: &[f64], metres: &impl Fn(f64) -> f64, k: QuantumLog2) -> (Quantised, Option<(usize, f64)>) {
    let mut quanta = Vec::with_capacity(raw.len());
    let mut rounding_m = 0.0f64;
    let mut misfit = None;
    for (i, &v) in raw.iter().enumerate() {
        if v.is_nan() {
            quanta.push(VOID);
            continue;
        }
        let h = metres(v);
        match k.from_metres(h) {
            Some(q) => {
                rounding_m = rounding_m.max((k.to_metres(q.0) - h).abs());
                quanta.push(q.0);
            }
            None => {
                misfit = misfit.or(Some((i, h)));
                quanta.push(VOID);
            }
        }
    }
    (Quantised { quanta, quantum: k, rounding_m }, misfit)
}

/// A vertical scale as a fraction.
fn scale(v: f64) -> Result<(i128, i128), ImportError> {
    if !(v > 0.0 && v <= 10_000.0) {
        return Err(ImportError::usage(format!(
            "the vertical scale must be positive and at most 10000, found {v}: pass another --vertical-scale"
        )));
    }
    Ok((decimal(v, SCALE_DECIMALS, "--vertical-scale")?, 10i128.pow(SCALE_DECIMALS)))
}

/// A number times 10^places, exactly, taken as the shortest decimal that reads back as it.
fn decimal(v: f64, places: u32, what: &str) -> Result<i128, ImportError> {
    let text = format!("{}", v.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let digits = format!("{whole}{fraction}");
    let parsed = digits.parse::<i128>().ok().filter(|_| fraction.len() <= places as usize);
    let Some(n) = parsed else {
        return Err(ImportError::usage(format!(
            "{what} may have at most {places} decimals, so that heights are rounded once and exactly, found {v}"
        )));
    };
    let n = n * 10i128.pow(places - fraction.len() as u32);
    Ok(if v < 0.0 { -n } else { n })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CROP: Crop = Crop { x: 0, z: 0, w: 2, h: 1 };

    #[test]
    fn metres_at_scale_one_are_exact_at_k_7() {
        let got =
            Affine::metres(1.0).unwrap().quantise(&Grid::new(2, 1, vec![-12, VOID]), None, CROP).unwrap();
        assert_eq!((got.quanta, got.quantum.get(), got.rounding_m), (vec![-12 * 128, VOID], 7, 0.0));
    }

    #[test]
    fn an_image_range_rounds_half_up_and_chooses_k_by_the_source_step() {
        // 0..6553.5 m: a step is 0.1 m, a quarter of it 0.025 m, so k = 7 (error at most 1/256 m) is enough.
        let a = Affine::range(0.0, 6553.5, 1.0).unwrap();
        let got = a.quantise(&Grid::new(2, 1, vec![3, 65_535]), None, CROP).unwrap();
        // 0.3 m = 38.4 quanta; 6553.5 m = 838848 quanta.
        assert_eq!((got.quanta, got.quantum.get()), (vec![38, 838_848], 7));
        // The error of 38.4 is 0.4 quanta.
        assert!((got.rounding_m - 0.4 / 128.0).abs() < 1e-12);
    }

    #[test]
    fn a_fine_source_raises_k_until_a_quarter_of_its_step() {
        // 0..655.35 m: a step is 0.01 m, a quarter is 0.0025 m. The error is at most 2^-(k+1): k = 8 gives 0.00195.
        let a = Affine::range(0.0, 655.35, 1.0).unwrap();
        let raws: Vec<i32> = (0..=65_535).collect();
        assert_eq!(a.quantum_for(&raws).get(), 8);
        // Never past 12.
        assert_eq!(Affine::range(0.0, 1.0, 1.0).unwrap().quantum_for(&raws).get(), 12);
        // Never past what fits: 0..60000 m at k = 8 would be below 2²⁴, at k = 9 above.
        assert_eq!(Affine::range(59_999.0, 60_000.0, 1.0).unwrap().quantum_for(&raws).get(), 8);
    }

    #[test]
    fn ties_round_up_exactly() {
        // 1/256 m is half a quantum at k = 7: up on both sides of zero.
        let a = Affine::metres(0.001953125).unwrap();
        let k = Some(QuantumLog2::DEFAULT);
        let got = a.quantise(&Grid::new(2, 1, vec![2, -2]), k, CROP).unwrap();
        assert_eq!(got.quanta, [1, 0]);
    }

    #[test]
    fn what_does_not_fit_names_its_sample() {
        let a = Affine::metres(10.0).unwrap();
        let crop = Crop { x: 5, z: 6, w: 2, h: 1 };
        let error = a.quantise(&Grid::new(2, 1, vec![1, 20_000]), None, crop).unwrap_err().to_string();
        assert!(error.contains("(6, 6)"), "{error}");
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
            (0.0, 0.123_456_7, 1.0),
            (0.0, 1.0, 1.0 / 3.0),
        ] {
            assert!(Affine::range(min, max, v).is_err(), "{min} {max} {v}");
        }
    }
}
