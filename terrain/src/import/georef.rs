//! Where a source lies, and the one resampling there is: degrees and oblong pixels to square metres.

use super::source::Place;
use super::{Crop, Grid, ImportError};
use crate::config::{MAX_SAMPLES, MAX_SPACING_256, SPACING_PER_M};
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
}

/// Where a source says that it lies, for the record.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Georeference {
    /// A square degree, by an `.hgt`'s name.
    Tile(Tile),
    /// Degrees.
    Degrees {
        /// Latitude of the first row's samples.
        north_deg: f64,
        /// Longitude of the first column's samples.
        west_deg: f64,
        /// Degrees between columns and between rows.
        step_deg: [f64; 2],
    },
    /// Metres, in whatever projection.
    Metres {
        /// Metres between columns and between rows.
        step_m: [f64; 2],
    },
}

impl Georeference {
    /// What a place says; `None` where it says nothing.
    pub(crate) fn of(place: Place) -> Option<Self> {
        match place {
            Place::None => None,
            Place::Metres { step_x, step_z } => Some(Self::Metres { step_m: [step_x, step_z] }),
            Place::Degrees { north_deg, west_deg, step_x_deg, step_z_deg } => {
                Some(Self::Degrees { north_deg, west_deg, step_deg: [step_x_deg, step_z_deg] })
            }
        }
    }
}

/// Steps that differ relatively by less than this are one: files write thirds of a degree with ten digits or fewer.
const SAME_STEP: f64 = 1e-8;

/// How many steps of a size make one unit: a whole number where it is one but for the digits that were written.
fn per_unit(step: f64) -> f64 {
    let exact = 1.0 / step;
    let whole = (exact + 0.5).floor();
    if (exact - whole).abs() <= SAME_STEP * exact { whole } else { exact }
}

/// Metres between the columns and the rows of a part of a source. A degree of longitude is that of the part's middle
/// latitude.
///
/// # Errors
/// Steps that are no positive numbers, or a latitude beyond the poles.
pub(crate) fn steps_m(place: Place, crop: Crop) -> Result<Option<[f64; 2]>, ImportError> {
    let steps = match place {
        Place::None => return Ok(None),
        Place::Metres { step_x, step_z } => [step_x, step_z],
        Place::Degrees { north_deg, step_x_deg, step_z_deg, .. } => {
            let [columns, rows] = [per_unit(step_x_deg), per_unit(step_z_deg)];
            let middle = f64::from(crop.z) + f64::from(crop.h - 1) / 2.0;
            let latitude = north_deg - middle / rows;
            if latitude.is_nan() || latitude.abs() > 90.0 {
                return Err(ImportError::source(format!(
                    "expected latitudes from -90 to 90, found the middle row at {latitude}: pass --spacing METRES"
                )));
            }
            [METRES_PER_DEGREE / columns * libm::cos(latitude.to_radians()), METRES_PER_DEGREE / rows]
        }
    };
    if steps.iter().all(|s| s.is_finite() && *s > 0.0) {
        Ok(Some(steps))
    } else {
        Err(ImportError::source(format!(
            "expected positive distances between columns and rows, found {} and {}: pass --spacing METRES",
            steps[0], steps[1]
        )))
    }
}

/// The spacing in 1/256 m of pixels that are square and a whole multiple of 1/256 m, which need no resampling.
pub(crate) fn as_they_are(steps_m: [f64; 2]) -> Option<u32> {
    let [x, z] = steps_m;
    let spacing = (x * f64::from(SPACING_PER_M) + 0.5).floor();
    let whole = (1.0..=f64::from(MAX_SPACING_256)).contains(&spacing);
    let same = |step: f64| {
        let exact = spacing / f64::from(SPACING_PER_M);
        (step - exact).abs() <= SAME_STEP * exact
    };
    (whole && same(x) && same(z)).then_some(spacing as u32)
}

/// A source resampled bilinearly to a square lattice, first sample on first sample.
#[derive(Clone, Debug)]
pub(crate) struct Squares {
    spacing_256: u32,
    /// For each column and row: the source's before and after it, and the share of the one after.
    columns: Vec<(u32, u32, f64)>,
    rows: Vec<(u32, u32, f64)>,
}

impl Squares {
    /// The lattice over a part of a source whose columns and rows are `steps_m` apart. The spacing is that of the finer
    /// axis, rounded to 1/256 m; the lattice stays inside the part.
    ///
    /// # Errors
    /// A lattice that would be too fine, too coarse or too large.
    pub(crate) fn new(steps_m: [f64; 2], crop: Crop) -> Result<Self, ImportError> {
        let [step_x, step_z] = steps_m;
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
        let axis = |count: f64, all: u32, step: f64| -> Vec<(u32, u32, f64)> {
            let last = f64::from(all - 1);
            (0..count as u32)
                .map(|i| {
                    let u = (f64::from(i) * spacing_m / step).min(last);
                    let low = u.floor();
                    (low as u32, (low as u32 + 1).min(all - 1), u - low)
                })
                .collect()
        };
        Ok(Self {
            spacing_256: spacing as u32,
            columns: axis(counts[0], crop.w, step_x),
            rows: axis(counts[1], crop.h, step_z),
        })
    }

    /// Samples along x and z.
    pub(crate) fn samples(&self) -> [u32; 2] {
        [self.columns.len() as u32, self.rows.len() as u32]
    }

    /// The spacing in 1/256 m.
    pub(crate) fn spacing_256(&self) -> u32 {
        self.spacing_256
    }

    /// The raw value of a sample, NaN where a value with a weight above 0 is void.
    pub(crate) fn at(&self, grid: &Grid, x: u32, z: u32) -> f64 {
        let (x0, x1, fx) = self.columns[x as usize];
        let (z0, z1, fz) = self.rows[z as usize];
        let corners = [
            (x0, z0, (1.0 - fx) * (1.0 - fz)),
            (x1, z0, fx * (1.0 - fz)),
            (x0, z1, (1.0 - fx) * fz),
            (x1, z1, fx * fz),
        ];
        let mut sum = 0.0;
        for (x, z, weight) in corners.into_iter().filter(|c| c.2 > 0.0) {
            sum += grid.at(x, z).unwrap_or(f64::NAN) * weight;
        }
        sum
    }

    /// The source's cells that a cell touches: columns and rows, both ends included.
    pub(crate) fn source_cells(&self, x: u32, z: u32) -> [std::ops::RangeInclusive<u32>; 2] {
        let span = |axis: &[(u32, u32, f64)], i: u32| {
            let ((from, ..), (to, after, share)) = (axis[i as usize], axis[i as usize + 1]);
            // A lattice line right on a source's line touches nothing beyond it.
            let end = if share > 0.0 { after } else { to };
            from..=end.saturating_sub(1).max(from)
        };
        [span(&self.columns, x), span(&self.rows, z)]
    }
}

#[cfg(test)]
mod tests {
    use super::super::grid::tests::grid;
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

    fn degrees(north_deg: f64, step_x_deg: f64, step_z_deg: f64) -> Place {
        Place::Degrees { north_deg, west_deg: 0.0, step_x_deg, step_z_deg }
    }

    #[test]
    fn the_finer_axis_decides_the_spacing() {
        // At 60.5° N half a degree of longitude: cos(60.5°) = 0.49242 of 92.6626 m is 45.629 m → 11681/256 m.
        let crop = Crop { x: 0, z: 0, w: 1201, h: 1201 };
        let steps = steps_m(degrees(61.0, 1.0 / 1200.0, 1.0 / 1200.0), crop).unwrap().unwrap();
        assert!((steps[1] - 92.6626).abs() < 1e-3 && (steps[0] - 45.629).abs() < 1e-3, "{steps:?}");
        let squares = Squares::new(steps, crop).unwrap();
        assert_eq!(squares.spacing_256(), 11_681);
        // 1200 · 45.629 / 45.62891 + 1 columns at most; 1200 · 92.6626 / 45.62891 = 2436.9 rows.
        let samples = squares.samples();
        assert!((1200..=1201).contains(&samples[0]) && samples[1] == 2437, "{samples:?}");
    }

    #[test]
    fn a_step_written_with_few_digits_is_the_same_step() {
        let crop = Crop { x: 0, z: 0, w: 144, h: 144 };
        let exact = steps_m(degrees(40.0, 1.0 / 1200.0, 1.0 / 1200.0), crop).unwrap();
        assert_eq!(steps_m(degrees(40.0, 0.000833333333333, 0.000833333333333), crop).unwrap(), exact);
        assert_ne!(steps_m(degrees(40.0, 0.0008333, 0.0008333), crop).unwrap(), exact);
    }

    #[test]
    fn odd_places_are_refused() {
        let crop = Crop { x: 0, z: 0, w: 3, h: 3 };
        for place in [
            degrees(100.0, 0.1, 0.1),
            degrees(f64::NAN, 0.1, 0.1),
            degrees(10.0, 0.0, 0.1),
            degrees(10.0, 0.1, f64::NAN),
            degrees(10.0, -0.1, 0.1),
            Place::Metres { step_x: 1.0, step_z: f64::INFINITY },
            Place::Metres { step_x: -1.0, step_z: 1.0 },
        ] {
            assert!(steps_m(place, crop).is_err(), "{place:?}");
        }
        assert_eq!(steps_m(Place::None, crop).unwrap(), None);
        assert!(Squares::new([0.0001, 1.0], crop).is_err() && Squares::new([1000.0; 2], crop).is_err());
        let wide = Crop { x: 0, z: 0, w: 131_072, h: 2 };
        assert!(Squares::new([30.0, 1.0], wide).unwrap_err().to_string().contains("131072 a side"));
    }

    #[test]
    fn square_metres_on_the_lattice_are_taken_as_they_are() {
        assert_eq!(as_they_are([30.0, 30.0]), Some(7680));
        assert_eq!(as_they_are([0.5, 0.5 + 1e-12]), Some(128));
        for other in [[30.0, 30.001], [2.4266, 2.4266], [0.001, 0.001], [257.0, 257.0], [1e300, 1e300]] {
            assert_eq!(as_they_are(other), None, "{other:?}");
        }
    }

    #[test]
    fn a_plane_stays_a_plane_and_voids_never_blend() {
        let values: Vec<Option<i32>> = (0..5 * 4).map(|i| Some((i % 5) * 10 + (i / 5) * 100)).collect();
        let squares = Squares::new([2.0, 3.0], Crop { x: 0, z: 0, w: 5, h: 4 }).unwrap();
        // Columns 2 m and rows 3 m apart: squares of 2 m, five columns and 9 / 2 + 1 rows.
        assert_eq!(squares.samples(), [5, 5]);
        let whole = grid(5, &values);
        for z in 0..5 {
            for x in 0..5 {
                let expected = f64::from(x) * 10.0 + f64::from(z) * 2.0 / 3.0 * 100.0;
                assert!((squares.at(&whole, x, z) - expected).abs() < 1e-9);
            }
        }
        let mut holed = values.clone();
        holed[0] = None;
        let holed = grid(5, &holed);
        // The void is sample (0, 0): everything strictly nearer than one source step on both axes, and nothing else.
        for z in 0..5 {
            for x in 0..5 {
                assert_eq!(squares.at(&holed, x, z).is_nan(), x < 1 && z * 2 < 3, "({x}, {z})");
            }
        }
    }

    #[test]
    fn a_cell_touches_the_source_s_cells_under_it() {
        let squares = Squares::new([2.0, 3.0], Crop { x: 0, z: 0, w: 5, h: 4 }).unwrap();
        // Rows of 2 m over rows of 3 m: 0–2 in the first, 2–4 in the first two, 4–6 in the second, 6–8 in the third.
        let expected = [(0, 0), (0, 1), (1, 1), (2, 2)];
        for (z, (from, to)) in expected.into_iter().enumerate() {
            assert_eq!(squares.source_cells(3, z as u32), [3..=3, from..=to], "{z}");
        }
    }
}
