//! Heights out of nothing, and heights worn down: noise, thermal erosion, hydraulic erosion, terraces.
//!
//! Owns the numbers, never the order of a recipe's stages and never files. Everything is IEEE `+ − × ÷ √ floor`, `libm`,
//! or integers, and rows are computed into their own places from values that nobody writes meanwhile, so the bits are
//! the same on every machine and for any number of threads.

mod hash;
mod hydraulic;
mod noise;
mod texture;
mod thermal;

pub use hash::{hash, unit};
pub use hydraulic::Hydraulic;
pub use noise::{Noise, NoiseKind, Warp};
pub use texture::{Part, PartKind, Texture, TextureImages};
pub use thermal::Thermal;

use super::field::Field;
use serde::{Deserialize, Serialize};

/// Erosion counts height, water and sediment in units of 2⁻²⁰ m, as integers: what moves from one sample to another is
/// subtracted there and added here, so that nothing is ever lost or made.
const UNITS_PER_M: f64 = 1_048_576.0;

/// Bed of a sample without a height, in units.
const NO_BED: i64 = i64::MIN;

/// The most iterations an erosion may run.
pub const MAX_ITERATIONS: u32 = 20_000;

/// The most samples that erosion takes: it holds up to 64 bytes a sample.
pub const MAX_EROSION_SAMPLES: u64 = 4097 * 4097;

/// Steps cut into slopes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terraces {
    /// Height of a step in metres.
    pub step_m: f64,
    /// 0 leaves the slope, 1 makes flat treads with steep risers between.
    #[serde(default = "one")]
    pub sharpness: f64,
}

const fn one() -> f64 {
    1.0
}

impl Terraces {
    /// Refuses what makes no terraces.
    ///
    /// # Errors
    /// What was expected and found.
    pub fn check(&self) -> Result<(), String> {
        within("step_m", self.step_m, 1e-3, 1e5)?;
        within("sharpness", self.sharpness, 0.0, 1.0)
    }

    /// The height of a terraced slope at a height: the same at whole steps, monotone between them.
    pub fn apply(&self, metres: f64) -> f64 {
        let steps = metres / self.step_m;
        let (whole, part) = (steps.floor(), steps - steps.floor());
        // Two smooth steps on top of each other: flat near whole steps, steep in the middle.
        let smooth = |t: f64| t * t * (3.0 - 2.0 * t);
        let part = part + (smooth(smooth(part)) - part) * self.sharpness;
        (whole + part) * self.step_m
    }
}

/// Refuses a number outside a closed range, NaN included.
pub(crate) fn within(what: &str, v: f64, from: f64, to: f64) -> Result<(), String> {
    if v >= from && v <= to {
        Ok(())
    } else {
        Err(format!("{what} must be from {from} to {to}, found {}", short(v)))
    }
}

/// Refuses a number that is not positive, or beyond a limit.
pub(crate) fn positive(what: &str, v: f64, to: f64) -> Result<(), String> {
    if v > 0.0 && v <= to {
        Ok(())
    } else {
        Err(format!("{what} must be positive and at most {to}, found {}", short(v)))
    }
}

/// A number as it is written, but without hundreds of zeros.
fn short(v: f64) -> String {
    if v == 0.0 || (1e-5..1e16).contains(&v.abs()) { v.to_string() } else { format!("{v:?}") }
}

fn check_iterations(n: u32) -> Result<(), String> {
    if (1..=MAX_ITERATIONS).contains(&n) {
        Ok(())
    } else {
        Err(format!("iterations must be from 1 to {MAX_ITERATIONS}, found {n}"))
    }
}

fn check_erosion_size(field: &Field) -> Result<(), String> {
    check_erosion(field.size())
}

/// Refuses a field that is too large for erosion.
pub(crate) fn check_erosion([w, h]: [u32; 2]) -> Result<(), String> {
    if u64::from(w) * u64::from(h) > MAX_EROSION_SAMPLES {
        return Err(format!(
            "erosion takes at most {MAX_EROSION_SAMPLES} samples, found {w}x{h}: crop or resample first"
        ));
    }
    Ok(())
}

/// Metres to units, half up; a void is [`NO_BED`].
fn to_units(field: &Field) -> Vec<i64> {
    let unit = |&m: &f64| if m.is_nan() { NO_BED } else { (m * UNITS_PER_M + 0.5).floor() as i64 };
    field.metres().iter().map(unit).collect()
}

/// Units back to metres (exact: fewer than 53 bits).
fn from_units(units: &[i64], field: &mut Field) {
    for (m, &u) in field.metres_mut().iter_mut().zip(units) {
        *m = if u == NO_BED { f64::NAN } else { u as f64 / UNITS_PER_M };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terraces_keep_whole_steps_and_never_turn_a_slope_round() {
        let t = Terraces { step_m: 8.0, sharpness: 1.0 };
        for k in -3..4 {
            assert_eq!(t.apply(f64::from(k) * 8.0), f64::from(k) * 8.0);
        }
        let heights: Vec<f64> = (-400..400).map(|i| t.apply(f64::from(i) / 16.0)).collect();
        assert!(heights.windows(2).all(|w| w[0] <= w[1]));
        // By hand: a quarter of a step up is smooth(smooth(0.25)) = smooth(0.15625) = 0.065613 steps.
        assert!((t.apply(2.0) - 8.0 * 0.065_612_792_968_75).abs() < 1e-12, "{}", t.apply(2.0));
        assert_eq!(Terraces { sharpness: 0.0, ..t }.apply(2.5), 2.5);
        assert!(Terraces { step_m: f64::NAN, ..t }.check().is_err());
    }
}
