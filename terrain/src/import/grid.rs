//! Raw source values in a grid, with voids that are no numbers.

use super::{Crop, ImportError};
use crate::height::VOID;
use serde::{Deserialize, Serialize};

/// What becomes of samples without data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VoidPolicy {
    /// They stay void, and every triangle that touches one is removed.
    Hole,
    /// They are filled from their surroundings, ring by ring.
    Fill,
    /// They are refused.
    Error,
}

/// Raw values, X fastest, row 0 first; [`VOID`] where there is no data.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    width: u32,
    height: u32,
    values: Vec<i32>,
    whole: [u32; 2],
}

impl Grid {
    /// A grid of `width · height` values.
    ///
    /// # Panics
    /// When the length is wrong.
    pub fn new(width: u32, height: u32, values: Vec<i32>) -> Self {
        assert_eq!(values.len() as u64, u64::from(width) * u64::from(height), "one value a sample");
        Self { width, height, values, whole: [width, height] }
    }

    /// Columns.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Rows.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// All values, X fastest.
    pub fn values(&self) -> &[i32] {
        &self.values
    }

    /// The value of a column and row inside the grid.
    pub fn at(&self, x: u32, z: u32) -> i32 {
        self.values[z as usize * self.width as usize + x as usize]
    }

    /// Columns and rows of the source before any crop.
    pub fn size_before_crop(&self) -> [u32; 2] {
        self.whole
    }

    /// A part of the grid.
    ///
    /// # Errors
    /// A part that is not inside.
    pub fn crop(&self, c: Crop) -> Result<Self, ImportError> {
        let fits = |from: u32, n: u32, all: u32| n > 0 && from.checked_add(n).is_some_and(|end| end <= all);
        if !fits(c.x, c.w, self.width) || !fits(c.z, c.h, self.height) {
            return Err(ImportError::usage(format!(
                "the crop must lie inside the source's {}x{} samples, found {},{},{},{}: pass another --crop X,Y,W,H",
                self.width, self.height, c.x, c.z, c.w, c.h
            )));
        }
        let mut values = Vec::with_capacity(c.w as usize * c.h as usize);
        for z in c.z..c.z + c.h {
            let from = z as usize * self.width as usize + c.x as usize;
            values.extend(&self.values[from..from + c.w as usize]);
        }
        Ok(Self { width: c.w, height: c.h, values, whole: self.whole })
    }

    /// Makes every sample of a value void.
    pub fn make_void(&mut self, nodata: i32) {
        self.values.iter_mut().filter(|v| **v == nodata).for_each(|v| *v = VOID);
    }

    /// How many samples are void.
    pub fn voids(&self) -> u64 {
        self.values.iter().filter(|&&v| v == VOID).count() as u64
    }

    /// Does with voids what is asked. `crop` says where the grid lies in its source, for the message.
    ///
    /// # Errors
    /// A void where none is allowed, and nothing to fill from.
    pub fn apply(&mut self, policy: VoidPolicy, crop: Crop) -> Result<(), ImportError> {
        let Some(first) = self.values.iter().position(|&v| v == VOID) else { return Ok(()) };
        match policy {
            VoidPolicy::Hole => Ok(()),
            VoidPolicy::Error => {
                let (x, z) = (first % self.width as usize, first / self.width as usize);
                Err(ImportError::source(format!(
                    "sample ({}, {}) has no data, as have {} in all, and --voids error refuses them: pass --voids hole or fill",
                    x + crop.x as usize,
                    z + crop.z as usize,
                    self.voids()
                )))
            }
            VoidPolicy::Fill => self.fill(),
        }
    }

    /// Fills voids ring by ring: a void next to known samples (eight neighbours) becomes their mean, rounded half up;
    /// all voids of a ring are computed from the rings before it, so that no order matters.
    fn fill(&mut self) -> Result<(), ImportError> {
        let mut ring: Vec<usize> = (0..self.values.len()).filter(|&i| self.values[i] == VOID).collect();
        while !ring.is_empty() {
            let known: Vec<(usize, i32)> =
                ring.iter().filter_map(|&i| self.mean_around(i).map(|mean| (i, mean))).collect();
            if known.is_empty() {
                return Err(ImportError::source(
                    "every sample is without data, so there is nothing to fill from: pass --voids hole",
                ));
            }
            for (i, mean) in known {
                self.values[i] = mean;
            }
            ring.retain(|&i| self.values[i] == VOID);
        }
        Ok(())
    }

    fn mean_around(&self, i: usize) -> Option<i32> {
        let (w, h) = (self.width as usize, self.height as usize);
        let (x, z) = (i % w, i / w);
        let (mut sum, mut n) = (0i64, 0i64);
        for z in z.saturating_sub(1)..=(z + 1).min(h - 1) {
            for &v in &self.values[z * w + x.saturating_sub(1)..=z * w + (x + 1).min(w - 1)] {
                if v != VOID {
                    sum += i64::from(v);
                    n += 1;
                }
            }
        }
        (n > 0).then(|| (2 * sum + n).div_euclid(2 * n) as i32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: Crop = Crop { x: 0, z: 0, w: 4, h: 3 };

    #[test]
    fn filling_uses_only_earlier_rings() {
        // By hand: the second column is the mean of 1, 2, 4 around it (7/3 → 2; 3/2 → 2 half up; 6/2 = 3), the third
        // the mean of 2, 2, 3 (2 + 2 → 2; 7/3 → 2; 5/2 → 3 half up), the fourth of 2, 2, 3 likewise.
        let v = VOID;
        let mut grid = Grid::new(4, 3, vec![1, v, v, v, 2, v, v, v, 4, v, v, v]);
        grid.apply(VoidPolicy::Fill, WHOLE).unwrap();
        assert_eq!(grid.values(), [1, 2, 2, 2, 2, 2, 2, 2, 4, 3, 3, 3]);
    }

    #[test]
    fn negative_means_round_half_up() {
        let mut grid = Grid::new(3, 1, vec![-1, VOID, -2]);
        grid.apply(VoidPolicy::Fill, WHOLE).unwrap();
        assert_eq!(grid.values(), [-1, -1, -2]);
    }

    #[test]
    fn nothing_to_fill_from_is_an_error() {
        let mut grid = Grid::new(2, 2, vec![VOID; 4]);
        assert!(grid.apply(VoidPolicy::Fill, WHOLE).is_err());
    }

    #[test]
    fn a_refused_void_is_named_where_it_lies_in_the_source() {
        let mut grid = Grid::new(2, 2, vec![0, 0, 0, VOID]);
        let crop = Crop { x: 10, z: 20, w: 2, h: 2 };
        let error = grid.apply(VoidPolicy::Error, crop).unwrap_err().to_string();
        assert!(error.contains("(11, 21)"), "{error}");
    }

    #[test]
    fn a_crop_that_leaves_the_source_is_refused() {
        let grid = Grid::new(3, 2, vec![0, 1, 2, 3, 4, 5]);
        let crop = |x, z, w, h| grid.crop(Crop { x, z, w, h });
        assert_eq!(crop(1, 1, 2, 1).unwrap().values(), [4, 5]);
        for bad in [(0, 0, 4, 1), (0, 0, 0, 1), (3, 0, 1, 1), (u32::MAX, 0, 2, 1), (0, 2, 1, 1)] {
            assert!(crop(bad.0, bad.1, bad.2, bad.3).is_err());
        }
    }
}
