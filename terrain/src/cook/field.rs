//! A field of heights in metres between the stages of a recipe. Owns sizes and memory limits, no meaning.

use crate::config::{MAX_SAMPLES, SPACING_PER_M};

/// The most samples that a field may have: two gibibytes of `f64`.
pub const MAX_FIELD_SAMPLES: u64 = crate::import::MAX_IMPORT_SAMPLES;

/// Heights beyond ± this are refused between stages: what a terrain may have is less, and integer arithmetic must not
/// overflow.
pub(super) const MAX_METRES: f64 = 33_554_432.0;

/// Heights in metres, X fastest; NaN where there is none. Infinities never occur.
#[derive(Clone, Debug)]
pub struct Field {
    size: [u32; 2],
    spacing_256: u32,
    metres: Vec<f64>,
}

impl PartialEq for Field {
    /// By bits, so that voids equal each other.
    fn eq(&self, other: &Self) -> bool {
        let bits = |f: &Self| f.metres.iter().map(|m| m.to_bits()).collect::<Vec<_>>();
        self.size == other.size && self.spacing_256 == other.spacing_256 && bits(self) == bits(other)
    }
}

/// Refuses sizes that no field may have, before memory is taken.
///
/// # Errors
/// What was expected and found.
pub(super) fn check_size(size: [u32; 2]) -> Result<(), String> {
    let [w, h] = size;
    let fits = |n: u32| (2..=MAX_SAMPLES).contains(&n);
    if fits(w) && fits(h) && u64::from(w) * u64::from(h) <= MAX_FIELD_SAMPLES {
        return Ok(());
    }
    Err(format!(
        "expected 2 to {MAX_SAMPLES} samples a side and at most {MAX_FIELD_SAMPLES} in all, found {w}x{h}"
    ))
}

impl Field {
    /// A field of the given values.
    ///
    /// # Panics
    /// When the length is wrong.
    pub fn new(size: [u32; 2], spacing_256: u32, metres: Vec<f64>) -> Self {
        assert_eq!(metres.len(), size[0] as usize * size[1] as usize, "one value a sample");
        Self { size, spacing_256, metres }
    }

    /// A level field.
    pub fn level(size: [u32; 2], spacing_256: u32, metres: f64) -> Self {
        Self::new(size, spacing_256, vec![metres; size[0] as usize * size[1] as usize])
    }

    /// Columns and rows.
    pub fn size(&self) -> [u32; 2] {
        self.size
    }

    /// Spacing in 1/256 m.
    pub fn spacing_256(&self) -> u32 {
        self.spacing_256
    }

    /// Metres between samples (exact).
    pub fn spacing_m(&self) -> f64 {
        f64::from(self.spacing_256) / f64::from(SPACING_PER_M)
    }

    /// Columns, as an index.
    pub fn width(&self) -> usize {
        self.size[0] as usize
    }

    /// All heights, X fastest.
    pub fn metres(&self) -> &[f64] {
        &self.metres
    }

    /// All heights, to be changed.
    pub fn metres_mut(&mut self) -> &mut [f64] {
        &mut self.metres
    }

    /// Refuses heights beyond what stages can carry.
    ///
    /// # Errors
    /// The first such sample, row by row.
    pub(super) fn check(&self) -> Result<(), String> {
        match self.metres.iter().position(|m| m.abs() > MAX_METRES) {
            None => Ok(()),
            Some(i) => Err(format!(
                "expected heights within ±{MAX_METRES} m, found {} at sample ({}, {})",
                self.metres[i],
                i % self.width(),
                i / self.width()
            )),
        }
    }

    /// The height of a sample on the field; NaN where there is none.
    pub fn at(&self, x: usize, z: usize) -> f64 {
        self.metres[z * self.width() + x]
    }

    /// The height at a place in metres, bilinear between samples, clamped to the field; `None` where a sample it would
    /// be made of is void. For stages only: the surface's answers come from its triangles.
    pub fn sample(&self, x_m: f64, z_m: f64) -> Option<f64> {
        let axis = |m: f64, n: u32| {
            let t = (m / self.spacing_m()).clamp(0.0, f64::from(n - 1));
            let i = (t.floor() as usize).min(n as usize - 2);
            (i, t - i as f64)
        };
        let ((i, u), (j, v)) = (axis(x_m, self.size[0]), axis(z_m, self.size[1]));
        let mut sum = 0.0;
        for (di, dj, weight) in
            [(0, 0, (1.0 - u) * (1.0 - v)), (1, 0, u * (1.0 - v)), (0, 1, (1.0 - u) * v), (1, 1, u * v)]
        {
            // A sample of no weight may be void.
            if weight > 0.0 {
                let h = self.at(i + di, j + dj);
                if h.is_nan() {
                    return None;
                }
                sum += weight * h;
            }
        }
        Some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_no_field_may_have_are_refused() {
        assert!(check_size([2, 2]).is_ok() && check_size([16_384, 16_384]).is_ok());
        for bad in [[1, 5], [0, 0], [200_000, 200_000], [131_072, 131_072], [u32::MAX, 2]] {
            assert!(check_size(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn voids_never_blend() {
        let f = Field::new([3, 2], 256, vec![0.0, 4.0, f64::NAN, 8.0, 12.0, 1.0]);
        assert_eq!(f.sample(0.5, 0.5), Some(6.0));
        assert_eq!(f.sample(1.0, 0.25), Some(6.0));
        assert_eq!(
            (f.sample(1.5, 0.5), f.sample(2.0, 1.0), f.sample(9.0, 9.0)),
            (None, Some(1.0), Some(1.0))
        );
    }
}
