//! The part of a source that is taken: raw values in their own type, and voids that are no numbers.
//!
//! Owns crop, `--nodata`, the refusal of NaN and infinities, and what becomes of voids. Never says what a value means.

use super::source::{Samples, Voids};
use super::{Crop, ImportError};
use rayon::prelude::*;
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

/// A window on a source's values: columns and rows count from the crop's corner. Nothing is copied for a crop.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Grid {
    samples: Samples,
    voids: Voids,
    whole: [u32; 2],
    crop: Crop,
}

impl Grid {
    /// The whole of a source of `whole` columns and rows, or a part of it.
    ///
    /// # Errors
    /// A part that is not inside.
    ///
    /// # Panics
    /// When the length is wrong.
    pub(crate) fn new(
        whole: [u32; 2],
        samples: Samples,
        voids: Voids,
        crop: Option<Crop>,
    ) -> Result<Self, ImportError> {
        assert_eq!(samples.len() as u64, u64::from(whole[0]) * u64::from(whole[1]), "one value a sample");
        let c = crop.unwrap_or(Crop { x: 0, z: 0, w: whole[0], h: whole[1] });
        let fits = |from: u32, n: u32, all: u32| n > 0 && from.checked_add(n).is_some_and(|end| end <= all);
        if !fits(c.x, c.w, whole[0]) || !fits(c.z, c.h, whole[1]) {
            return Err(ImportError::usage(format!(
                "the crop must lie inside the source's {}x{} samples, found {},{},{},{}: pass another --crop X,Y,W,H",
                whole[0], whole[1], c.x, c.z, c.w, c.h
            )));
        }
        Ok(Self { samples, voids, whole, crop: c })
    }

    /// Columns.
    pub(crate) fn width(&self) -> u32 {
        self.crop.w
    }

    /// Rows.
    pub(crate) fn height(&self) -> u32 {
        self.crop.h
    }

    /// Columns and rows of the source before any crop.
    pub(crate) fn whole(&self) -> [u32; 2] {
        self.whole
    }

    /// Which part of the source it is.
    pub(crate) fn crop(&self) -> Crop {
        self.crop
    }

    /// All values of the source, cropped or not.
    pub(crate) fn samples(&self) -> &Samples {
        &self.samples
    }

    /// Where a row's values lie in [`Self::samples`].
    pub(crate) fn row(&self, z: u32) -> std::ops::Range<usize> {
        let from = self.index(0, z);
        from..from + self.crop.w as usize
    }

    fn index(&self, x: u32, z: u32) -> usize {
        (z + self.crop.z) as usize * self.whole[0] as usize + (x + self.crop.x) as usize
    }

    /// Whether a value of [`Self::samples`] is void.
    pub(crate) fn void_at(&self, index: usize) -> bool {
        self.voids.get(index)
    }

    /// Whether a sample is void.
    pub(crate) fn is_void(&self, x: u32, z: u32) -> bool {
        self.voids.get(self.index(x, z))
    }

    /// The value of a sample; `None` where it is void.
    pub(crate) fn at(&self, x: u32, z: u32) -> Option<f64> {
        let i = self.index(x, z);
        (!self.voids.get(i)).then(|| self.samples.get(i))
    }

    /// Whether any sample of the source, cropped or not, is void.
    pub(crate) fn any_void(&self) -> bool {
        self.voids.any()
    }

    /// How many samples are void.
    pub(crate) fn voids(&self) -> u64 {
        if !self.voids.any() {
            return 0;
        }
        (0..self.height()).map(|z| self.row(z).filter(|&i| self.voids.get(i)).count() as u64).sum()
    }

    /// Makes every sample of a value void; NaN stands for all that is not finite.
    ///
    /// # Errors
    /// A value that no sample of this type can have.
    pub(crate) fn make_void(&mut self, nodata: f64) -> Result<(), ImportError> {
        let never = |range: &str| {
            Err(ImportError::usage(format!(
                "--nodata {nodata} can be no value of this source, whose samples are {range}: leave it out or pass another"
            )))
        };
        let integer = |low: f64, high: f64| nodata.fract() == 0.0 && (low..=high).contains(&nodata);
        macro_rules! mark {
            ($values:expr, $type:ty, $name:literal) => {{
                if !integer(f64::from(<$type>::MIN), f64::from(<$type>::MAX)) {
                    return never($name);
                }
                let wanted = nodata as $type;
                mark_where(&mut self.voids, $values, |&v| v == wanted);
            }};
        }
        match &self.samples {
            Samples::U8(v) => mark!(v, u8, "whole numbers from 0 to 255"),
            Samples::U16(v) => mark!(v, u16, "whole numbers from 0 to 65535"),
            Samples::I16(v) => mark!(v, i16, "whole numbers from -32768 to 32767"),
            Samples::I32(v) => mark!(v, i32, "whole numbers of 32 bits"),
            Samples::F32(_) if nodata.is_finite() && (nodata as f32).is_infinite() => {
                return never("of single precision");
            }
            // The decimal may be written with more digits than single precision has.
            Samples::F32(v) => {
                mark_where(&mut self.voids, v, |&v| v == nodata as f32 || !v.is_finite() && nodata.is_nan());
            }
            Samples::F64(v) => {
                mark_where(&mut self.voids, v, |&v| v == nodata || !v.is_finite() && nodata.is_nan());
            }
        }
        Ok(())
    }

    /// Refuses what is no number and was not called void.
    ///
    /// # Errors
    /// The first NaN or infinity, with its sample.
    pub(crate) fn refuse_odd(&self) -> Result<(), ImportError> {
        if self.samples.is_integer() {
            return Ok(());
        }
        for z in 0..self.height() {
            let found = self.row(z).find(|&i| !self.samples.get(i).is_finite() && !self.voids.get(i));
            let Some(i) = found else { continue };
            let value = self.samples.get(i);
            let (name, option) = match value {
                v if v.is_nan() => ("NaN (not a number)", "nan"),
                f64::INFINITY => ("infinite", "inf"),
                _ => ("minus infinity", "-inf"),
            };
            let all = if value.is_nan() { "" } else { ", or --nodata nan for all that is not finite" };
            let [x, z] = self.source_sample((i % self.whole[0] as usize) as u32 - self.crop.x, z);
            return Err(ImportError::source(format!(
                "expected finite heights, found sample ({x}, {z}) to be {name}: pass --nodata {option} to take such samples as no data{all}"
            )));
        }
        Ok(())
    }

    /// A sample's column and row in the whole source.
    pub(crate) fn source_sample(&self, x: u32, z: u32) -> [u32; 2] {
        [x + self.crop.x, z + self.crop.z]
    }

    /// How many samples of a signed or float source hold each of the values that files most often mean "no data" by,
    /// where there are any.
    pub(crate) fn suspects(&self) -> Vec<(f64, u64)> {
        const USUAL: [f64; 3] = [-32_768.0, -32_767.0, -9999.0];
        if matches!(self.samples, Samples::U8(_) | Samples::U16(_)) {
            return Vec::new();
        }
        let row = |z: u32| {
            let mut counts = [0u64; 3];
            for i in self.row(z) {
                let v = self.samples.get(i);
                if v <= USUAL[2] && !self.voids.get(i) {
                    counts.iter_mut().zip(USUAL).for_each(|(n, usual)| *n += u64::from(v == usual));
                }
            }
            counts
        };
        let add = |a: [u64; 3], b: [u64; 3]| std::array::from_fn(|i| a[i] + b[i]);
        let counts = (0..self.height()).into_par_iter().map(row).reduce(|| [0; 3], add);
        USUAL.into_iter().zip(counts).filter(|&(_, n)| n > 0).collect()
    }

    fn first_void(&self) -> Option<[u32; 2]> {
        (0..self.height())
            .find_map(|z| (0..self.width()).find(|&x| self.is_void(x, z)).map(|x| self.source_sample(x, z)))
    }

    /// Does with voids what is asked.
    ///
    /// # Errors
    /// A void where none is allowed, and nothing to fill from.
    pub(crate) fn apply(&mut self, policy: VoidPolicy) -> Result<(), ImportError> {
        if policy == VoidPolicy::Hole || !self.voids.any() {
            return Ok(());
        }
        let Some([x, z]) = self.first_void() else { return Ok(()) };
        if policy == VoidPolicy::Error {
            return Err(ImportError::source(format!(
                "sample ({x}, {z}) has no data, as have {} in all, and --voids error refuses them: pass --voids hole or fill",
                self.voids()
            )));
        }
        self.fill()
    }

    /// Fills voids ring by ring: a void next to known samples (eight neighbours) becomes their mean, of integers
    /// rounded half up; all voids of a ring are computed from the rings before it, so that no order matters.
    fn fill(&mut self) -> Result<(), ImportError> {
        let mut ring: Vec<[u32; 2]> = Vec::new();
        for z in 0..self.height() {
            ring.extend(
                (0..self.width()).filter(|&x| self.is_void(x, z) && self.has_known(x, z)).map(|x| [x, z]),
            );
        }
        if ring.is_empty() {
            return Err(ImportError::source(
                "every sample is without data, so there is nothing to fill from: pass --voids hole",
            ));
        }
        while !ring.is_empty() {
            let means: Vec<f64> = ring.iter().map(|&[x, z]| self.mean_around(x, z)).collect();
            for (&[x, z], mean) in ring.iter().zip(means) {
                let i = self.index(x, z);
                set(&mut self.samples, i, mean);
                self.voids.clear(i);
            }
            let mut next: Vec<[u32; 2]> = ring
                .iter()
                .flat_map(|&[x, z]| self.around(x, z))
                .filter(|&[x, z]| self.is_void(x, z))
                .collect();
            next.sort_unstable_by_key(|&[x, z]| (z, x));
            next.dedup();
            ring = next;
        }
        Ok(())
    }

    fn around(&self, x: u32, z: u32) -> impl Iterator<Item = [u32; 2]> + use<> {
        let columns = x.saturating_sub(1)..=(x + 1).min(self.width() - 1);
        let rows = z.saturating_sub(1)..=(z + 1).min(self.height() - 1);
        rows.flat_map(move |z| columns.clone().map(move |x| [x, z]))
    }

    fn has_known(&self, x: u32, z: u32) -> bool {
        self.around(x, z).any(|[x, z]| !self.is_void(x, z))
    }

    /// The mean of the known samples around one, of which there is at least one. Sums of integers are exact.
    fn mean_around(&self, x: u32, z: u32) -> f64 {
        let (mut sum, mut n) = (0.0, 0u32);
        for [x, z] in self.around(x, z) {
            if let Some(v) = self.at(x, z) {
                sum += v;
                n += 1;
            }
        }
        if self.samples.is_integer() {
            // At most 8 · 2³¹ · 2: exact.
            let (sum, n) = (sum as i64, i64::from(n));
            (2 * sum + n).div_euclid(2 * n) as f64
        } else {
            sum / f64::from(n)
        }
    }
}

fn mark_where<T>(voids: &mut Voids, values: &[T], is: impl Fn(&T) -> bool) {
    for (i, _) in values.iter().enumerate().filter(|(_, v)| is(v)) {
        voids.set(i);
    }
}

/// Puts a value that lies between values of the same type.
fn set(samples: &mut Samples, i: usize, value: f64) {
    match samples {
        Samples::U8(v) => v[i] = value as u8,
        Samples::U16(v) => v[i] = value as u16,
        Samples::I16(v) => v[i] = value as i16,
        Samples::I32(v) => v[i] = value as i32,
        Samples::F32(v) => v[i] = value as f32,
        Samples::F64(v) => v[i] = value,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A grid whose `None`s are void.
    pub(crate) fn grid(width: u32, values: &[Option<i32>]) -> Grid {
        let mut voids = Voids::none(values.len());
        values.iter().enumerate().filter(|(_, v)| v.is_none()).for_each(|(i, _)| voids.set(i));
        let samples = Samples::I32(values.iter().map(|v| v.unwrap_or(i32::MIN)).collect());
        Grid::new([width, values.len() as u32 / width], samples, voids, None).unwrap()
    }

    fn floats(width: u32, values: &[f32]) -> Grid {
        let samples = Samples::F32(values.to_vec());
        Grid::new([width, values.len() as u32 / width], samples, Voids::none(values.len()), None).unwrap()
    }

    fn values(grid: &Grid) -> Vec<Option<f64>> {
        (0..grid.height()).flat_map(|z| (0..grid.width()).map(move |x| grid.at(x, z))).collect()
    }

    #[test]
    fn filling_uses_only_earlier_rings() {
        // By hand: the second column is the mean of 1, 2, 4 around it (7/3 → 2; 3/2 → 2 half up; 6/2 = 3), the third
        // the mean of 2, 2, 3 (2 + 2 → 2; 7/3 → 2; 5/2 → 3 half up), the fourth of 2, 2, 3 likewise.
        let (v, s) = (None, Some);
        let mut grid = grid(4, &[s(1), v, v, v, s(2), v, v, v, s(4), v, v, v]);
        grid.apply(VoidPolicy::Fill).unwrap();
        let expected = [1, 2, 2, 2, 2, 2, 2, 2, 4, 3, 3, 3].map(|v| Some(f64::from(v)));
        assert_eq!(values(&grid), expected);
    }

    #[test]
    fn negative_means_round_half_up_and_float_means_do_not_round() {
        let mut whole = grid(3, &[Some(-1), None, Some(-2)]);
        whole.apply(VoidPolicy::Fill).unwrap();
        assert_eq!(values(&whole), [Some(-1.0), Some(-1.0), Some(-2.0)]);
        let mut float = floats(3, &[-1.0, f32::NAN, -2.0]);
        float.make_void(f64::NAN).unwrap();
        float.apply(VoidPolicy::Fill).unwrap();
        assert_eq!(values(&float), [Some(-1.0), Some(-1.5), Some(-2.0)]);
    }

    #[test]
    fn nothing_to_fill_from_is_an_error() {
        assert!(grid(2, &[None; 4]).apply(VoidPolicy::Fill).is_err());
    }

    #[test]
    fn a_refused_void_is_named_where_it_lies_in_the_source() {
        let mut all = grid(4, &[None; 16]);
        for i in 0..15 {
            all.voids.clear(i);
        }
        let crop = Crop { x: 2, z: 1, w: 2, h: 3 };
        let mut part = Grid::new([4, 4], all.samples, all.voids, Some(crop)).unwrap();
        let error = part.apply(VoidPolicy::Error).unwrap_err().to_string();
        assert!(error.contains("(3, 3)"), "{error}");
    }

    #[test]
    fn a_crop_that_leaves_the_source_is_refused() {
        let crop = |x, z, w, h| {
            let samples = Samples::U8(vec![0, 1, 2, 3, 4, 5]);
            Grid::new([3, 2], samples, Voids::none(6), Some(Crop { x, z, w, h }))
        };
        assert_eq!(values(&crop(1, 1, 2, 1).unwrap()), [Some(4.0), Some(5.0)]);
        for bad in [(0, 0, 4, 1), (0, 0, 0, 1), (3, 0, 1, 1), (u32::MAX, 0, 2, 1), (0, 2, 1, 1)] {
            assert!(crop(bad.0, bad.1, bad.2, bad.3).is_err());
        }
    }

    #[test]
    fn what_is_no_number_is_named_with_what_to_pass() {
        for (odd, option) in [(f32::NAN, "nan"), (f32::INFINITY, "inf"), (f32::NEG_INFINITY, "-inf")] {
            let mut grid = floats(2, &[0.0, 1.0, odd, f32::NAN]);
            let error = grid.refuse_odd().unwrap_err().to_string();
            assert!(
                error.contains("sample (0, 1)") && error.contains(&format!("--nodata {option} ")),
                "{error}"
            );
            grid.make_void(f64::from(odd)).unwrap();
            grid.make_void(f64::NAN).unwrap();
            grid.refuse_odd().unwrap();
            assert_eq!(values(&grid), [Some(0.0), Some(1.0), None, None]);
        }
    }

    #[test]
    fn values_that_often_mean_no_data_are_counted() {
        let mut got = floats(2, &[-9999.0, -32_768.0, -9999.0, -9998.9]);
        assert_eq!(got.suspects(), [(-32_768.0, 1), (-9999.0, 2)]);
        got.make_void(-9999.0).unwrap();
        assert_eq!(got.suspects(), [(-32_768.0, 1)]);
    }

    #[test]
    fn a_nodata_value_that_no_sample_can_have_is_refused() {
        let of = |samples: Samples| Grid::new([2, 1], samples, Voids::none(2), None).unwrap();
        for (samples, bad, good) in [
            (Samples::U8(vec![0; 2]), &[-1.0, 256.0, 0.5, f64::NAN][..], 255.0),
            (Samples::U16(vec![0; 2]), &[-9999.0, 65_536.0, f64::INFINITY], 65_535.0),
            (Samples::I16(vec![0; 2]), &[-32_769.0, 1e38], -32_768.0),
            (Samples::I32(vec![0; 2]), &[2_147_483_648.0, 0.1], -2_147_483_648.0),
            (Samples::F32(vec![0.0; 2]), &[1e39], -3.402_823_466_385_288_6e38),
            (Samples::F64(vec![0.0; 2]), &[], 1e300),
        ] {
            let mut grid = of(samples);
            for &bad in bad {
                let error = grid.make_void(bad).unwrap_err().to_string();
                assert!(error.contains(&format!("--nodata {bad} ")), "{error}");
            }
            grid.make_void(good).unwrap();
        }
        // A decimal with more digits than single precision has means the same value.
        let mut grid = of(Samples::F32(vec![0.1, 0.2]));
        grid.make_void(0.1).unwrap();
        assert!(grid.is_void(0, 0) && !grid.is_void(1, 0));
    }
}
