//! Degrees to square metres: the tile that an `.hgt`'s name says, and the one resampling there is.

use super::{Crop, Grid, ImportError};
use crate::config::{MAX_SAMPLES, MAX_SPACING_256, SPACING_PER_M};
use crate::height::VOID;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Metres of a degree of latitude on a sphere of the Earth's mean radius, 6,371,008.8 m (IUGG).
pub const METRES_PER_DEGREE: f64 = 6_371_008.8 * std::f64::consts::PI / 180.0;

/// A square degree, by its south-west corner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tile {
    /// Degrees north of its south edge.
    pub south_deg: i32,
    /// Degrees east of its west edge.
    pub west_deg: i32,
}

impl Tile {
    /// The tile of a name like `N43E007.hgt` or `s01w070.SRTMGL1.hgt.zip`; `None` where the name says none. A longer
    /// word before it (`flat_N00W030.hgt`) is no name of a tile.
    pub fn from_name(name: &str) -> Option<Self> {
        let stem = name.split('.').next()?.to_ascii_uppercase();
        let b = stem.as_bytes();
        if b.len() != 7 {
            return None;
        }
        let number = |digits: &[u8]| -> Option<i32> {
            digits.iter().try_fold(0, |n, d| d.is_ascii_digit().then(|| n * 10 + i32::from(d - b'0')))
        };
        let (lat, lon) = (number(&b[1..3])?, number(&b[4..7])?);
        let south_deg = match b[0] {
            b'N' => lat,
            b'S' => -lat,
            _ => return None,
        };
        let west_deg = match b[3] {
            b'E' => lon,
            b'W' => -lon,
            _ => return None,
        };
        ((-90..90).contains(&south_deg) && (-180..180).contains(&west_deg))
            .then_some(Self { south_deg, west_deg })
    }

    /// The square lattice that a part of the tile is resampled to: samples along x and z, spacing in 1/256 m, and the
    /// source's steps in metres along x and z. The spacing is that of the finer axis (longitude shrinks with the
    /// cosine of the part's middle latitude), rounded to 1/256 m; the lattice stays inside the part.
    ///
    /// # Errors
    /// A lattice that would be too fine, too coarse or too large.
    pub fn square_metres(
        self,
        whole: [u32; 2],
        crop: Crop,
    ) -> Result<([u32; 2], u32, [f64; 2]), ImportError> {
        let rows = f64::from(whole[1] - 1);
        let middle = f64::from(crop.z) + f64::from(crop.h - 1) / 2.0;
        let latitude = f64::from(self.south_deg) + 1.0 - middle / rows;
        let step_z = METRES_PER_DEGREE / rows;
        let step_x = METRES_PER_DEGREE / f64::from(whole[0] - 1) * libm::cos(latitude.to_radians());
        let spacing = (step_x.min(step_z) * f64::from(SPACING_PER_M) + 0.5).floor();
        if !(spacing >= 1.0 && spacing <= f64::from(MAX_SPACING_256)) {
            return Err(ImportError::usage(format!(
                "the file's own spacing, {step_x} by {step_z} m, is not from 1/256 to 256 m: pass --spacing METRES"
            )));
        }
        let spacing_m = spacing / f64::from(SPACING_PER_M);
        let count = |n: u32, step: f64| (f64::from(n - 1) * step / spacing_m).floor() + 1.0;
        let counts = [count(crop.w, step_x), count(crop.h, step_z)];
        if counts.iter().any(|&n| n > f64::from(MAX_SAMPLES)) {
            return Err(ImportError::usage(format!(
                "resampled to {spacing_m} m the terrain would have {}x{} samples, more than {MAX_SAMPLES} a side: pass --spacing METRES or a --crop",
                counts[0], counts[1]
            )));
        }
        Ok((counts.map(|n| n as u32), spacing as u32, [step_x, step_z]))
    }
}

/// Resamples bilinearly to a square lattice of `samples` at `spacing_m`, first sample on first sample; raw units, NaN
/// where a value with a weight above 0 is void.
pub(crate) fn resample(grid: &Grid, steps_m: [f64; 2], spacing_m: f64, samples: [u32; 2]) -> Vec<f64> {
    let axis = |count: u32, all: u32, step: f64| -> Vec<(u32, u32, f64)> {
        let last = f64::from(all - 1);
        (0..count)
            .map(|i| {
                let u = (f64::from(i) * spacing_m / step).min(last);
                let low = u.floor();
                (low as u32, (low as u32 + 1).min(all - 1), u - low)
            })
            .collect()
    };
    let columns = axis(samples[0], grid.width(), steps_m[0]);
    let rows = axis(samples[1], grid.height(), steps_m[1]);
    let mut out = vec![f64::NAN; samples[0] as usize * samples[1] as usize];
    out.par_chunks_mut(samples[0] as usize).zip(&rows).for_each(|(line, &(z0, z1, fz))| {
        for (value, &(x0, x1, fx)) in line.iter_mut().zip(&columns) {
            let corners = [
                (x0, z0, (1.0 - fx) * (1.0 - fz)),
                (x1, z0, fx * (1.0 - fz)),
                (x0, z1, (1.0 - fx) * fz),
                (x1, z1, fx * fz),
            ];
            let mut sum = 0.0;
            for (x, z, weight) in corners.into_iter().filter(|c| c.2 > 0.0) {
                let v = grid.at(x, z);
                sum += if v == VOID { f64::NAN } else { f64::from(v) * weight };
            }
            *value = sum;
        }
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_their_tile() {
        let tile = |south_deg, west_deg| Some(Tile { south_deg, west_deg });
        assert_eq!(Tile::from_name("N43E007.hgt"), tile(43, 7));
        assert_eq!(Tile::from_name("s01w070.SRTMGL1.hgt.zip"), tile(-1, -70));
        for odd in
            ["flat_N00W030.hgt", "N43E07.hgt", "X43E007.hgt", "N4+E007.hgt", "N99E000.hgt", "N00E181.hgt", ""]
        {
            assert_eq!(Tile::from_name(odd), None, "{odd}");
        }
    }

    #[test]
    fn the_finer_axis_decides_the_spacing() {
        // At 60.5° N half a degree of longitude: cos(60.5°) = 0.49242 of 92.6626 m is 45.629 m → 11681/256 m.
        let tile = Tile { south_deg: 60, west_deg: 0 };
        let crop = Crop { x: 0, z: 0, w: 1201, h: 1201 };
        let (samples, spacing_256, steps) = tile.square_metres([1201, 1201], crop).unwrap();
        assert!((steps[1] - 92.6626).abs() < 1e-3 && (steps[0] - 45.629).abs() < 1e-3, "{steps:?}");
        assert_eq!(spacing_256, 11_681);
        // 1200 · 45.629 / 45.62891 + 1 columns at most; 1200 · 92.6626 / 45.62891 = 2436.9 rows.
        assert!((1200..=1201).contains(&samples[0]) && samples[1] == 2437, "{samples:?}");
    }

    #[test]
    fn a_plane_stays_a_plane_and_voids_never_blend() {
        let values = (0..5 * 4).map(|i| (i % 5) * 10 + (i / 5) * 100).collect();
        let mut grid = Grid::new(5, 4, values);
        let out = resample(&grid, [2.0, 3.0], 1.0, [9, 10]);
        for z in 0..10 {
            for x in 0..9 {
                let expected = x as f64 / 2.0 * 10.0 + z as f64 / 3.0 * 100.0;
                assert!((out[z * 9 + x] - expected).abs() < 1e-9);
            }
        }
        grid.make_void(0);
        let out = resample(&grid, [2.0, 3.0], 1.0, [9, 10]);
        // The void is sample (0, 0): everything strictly nearer than one source step on both axes, and nothing else.
        for z in 0..10 {
            for x in 0..9 {
                assert_eq!(out[z * 9 + x].is_nan(), x < 2 && z < 3, "({x}, {z})");
            }
        }
    }
}
