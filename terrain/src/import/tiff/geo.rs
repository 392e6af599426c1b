//! Where a GeoTIFF says that it lies: its transformation and its coordinate system's units. Projects nothing.

use super::gdal::{FOOT_M, US_FOOT_M};
use super::ifd::{Ifd, tag};
use super::refuse;
use crate::import::source::Place;
use crate::import::{ImportError, Registration};

/// The keys of a coordinate system that are read.
mod key {
    pub(super) const MODEL_TYPE: u64 = 1024;
    pub(super) const RASTER_TYPE: u64 = 1025;
    pub(super) const GEOGRAPHIC: u64 = 2048;
    pub(super) const ANGULAR_UNIT: u64 = 2054;
    pub(super) const SEMI_MAJOR_AXIS: u64 = 2057;
    pub(super) const PROJECTED: u64 = 3072;
    pub(super) const LINEAR_UNIT: u64 = 3076;
    pub(super) const LINEAR_UNIT_SIZE: u64 = 3077;
    pub(super) const VERTICAL_UNIT: u64 = 4099;
}

/// "It is said elsewhere", in any key.
const USER_DEFINED: u64 = 32_767;

/// What a file says of its place.
#[derive(Debug)]
pub(super) struct Geo {
    pub(super) place: Place,
    pub(super) registration: Registration,
    /// The file's first row is the south edge.
    pub(super) south_up: bool,
    /// Metres of a unit of height, where the coordinate system says so.
    pub(super) unit_m: Option<f64>,
    /// Whether there is any georeference at all.
    pub(super) any: bool,
}

/// x = a · column + x0, y = e · row + y0, of the centre of column and row 0.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Affine {
    a: f64,
    e: f64,
    x0: f64,
    y0: f64,
}

impl Geo {
    /// Reads the place of a raster of a size.
    ///
    /// # Errors
    /// Rotated, sheared or mirrored rasters, units and bodies that metres cannot be had from.
    pub(super) fn read(
        ifd: &mut Ifd<'_>,
        size: [u32; 2],
        notes: &mut Vec<String>,
    ) -> Result<Self, ImportError> {
        let keys = Keys::read(ifd)?;
        let point = keys.short(key::RASTER_TYPE) == Some(2);
        let transformation = transformation(ifd, size, point, notes)?;
        let mut geo = Self {
            place: Place::None,
            registration: if point { Registration::Point } else { Registration::Area },
            south_up: false,
            unit_m: keys.height_unit()?,
            any: transformation.is_some() || !keys.entries.is_empty(),
        };
        if let Some(t) = transformation {
            geo.south_up = t.e > 0.0;
            geo.place = place(&keys, t, size, notes)?;
        }
        Ok(geo)
    }
}

fn transformation(
    ifd: &mut Ifd<'_>,
    size: [u32; 2],
    point: bool,
    notes: &mut Vec<String>,
) -> Result<Option<Affine>, ImportError> {
    let matrix = ifd.doubles(tag::TRANSFORMATION)?;
    let scale = ifd.doubles(tag::PIXEL_SCALE)?;
    let ties = ifd.doubles(tag::TIEPOINTS)?;
    // From a pixel's corner to its centre.
    let half = if point { 0.0 } else { 0.5 };
    let t = if let (&[sx, sy, ..], &[i, j, _, x, y, ..]) = (&scale[..], &ties[..]) {
        // Rows go south whatever the sign: files that go north have a transformation instead.
        let (a, e) = (sx, -sy.abs());
        Affine { a, e, x0: x + (half - i) * a, y0: y + (half - j) * e }
    } else if let &[a, b, _, d, f, e, _, h, ..] = &matrix[..] {
        // A turn that shifts no sample of the raster by a thousandth of a step is none.
        let turned = |off: f64, step: f64, n: u32| off.abs() * f64::from(n) > step.abs() / 1000.0;
        if turned(b, a, size[1]) || turned(f, e, size[0]) {
            return Err(refuse(format!(
                "expected a raster whose rows run west to east, found a rotated one (a column goes {a}, {f} and a row {b}, {e}): warp it to north-up first, for example with gdalwarp"
            )));
        }
        Affine { a, e, x0: d + half * a, y0: h + half * e }
    } else {
        if !ties.is_empty() || !scale.is_empty() || !matrix.is_empty() {
            notes.push("a georeference by control points alone is ignored".to_owned());
        }
        return Ok(None);
    };
    if !(t.a.is_finite() && t.e.is_finite() && t.x0.is_finite() && t.y0.is_finite() && t.e != 0.0) {
        return Err(refuse("expected a georeference of finite numbers, found others"));
    }
    if t.a <= 0.0 {
        return Err(refuse(format!(
            "expected columns that run west to east, found a mirrored raster ({} a column)",
            t.a
        )));
    }
    Ok(Some(t))
}

fn place(keys: &Keys, t: Affine, size: [u32; 2], notes: &mut Vec<String>) -> Result<Place, ImportError> {
    let model = keys.short(key::MODEL_TYPE).or_else(|| {
        let by = |k, model| keys.short(k).map(|_| model);
        by(key::PROJECTED, 1).or(by(key::GEOGRAPHIC, 2))
    });
    match model {
        Some(1) => {
            let (unit_m, name) = keys.linear_unit()?;
            if unit_m != 1.0 {
                notes.push(format!("distances in {name} converted to metres"));
            }
            if matches!(keys.short(key::PROJECTED), Some(3857 | 3785 | 900_913 | 102_100 | 102_113)) {
                notes.push("Web Mercator: its metres are longer than the ground's by 1/cos(latitude), taken as they are".to_owned());
            }
            Ok(Place::Metres { step_x: t.a * unit_m, step_z: t.e.abs() * unit_m })
        }
        Some(2) => {
            keys.check_degrees()?;
            let last = t.y0 + t.e * f64::from(size[1] - 1);
            let (north_deg, south) = if t.e > 0.0 { (last, t.y0) } else { (t.y0, last) };
            if north_deg > 91.0 || south < -91.0 {
                return Err(refuse(format!(
                    "expected latitudes within ±90 degrees, found {south} to {north_deg}"
                )));
            }
            Ok(Place::Degrees { north_deg, west_deg: t.x0, step_x_deg: t.a, step_z_deg: t.e.abs() })
        }
        Some(3) => {
            Err(refuse("expected projected or geographic coordinates, found geocentric ones: warp it first"))
        }
        _ => {
            notes.push(format!(
                "columns of {} and rows of {} in an unknown unit ignored: the file names no coordinate system",
                t.a,
                t.e.abs()
            ));
            Ok(Place::None)
        }
    }
}

/// The coordinate system's keys: each with the tag its value is in (0 for itself), count and value.
#[derive(Debug)]
struct Keys {
    entries: Vec<[u64; 4]>,
    doubles: Vec<f64>,
}

impl Keys {
    fn read(ifd: &mut Ifd<'_>) -> Result<Self, ImportError> {
        let all = ifd.numbers(tag::GEO_KEYS)?;
        let entries = match all[..] {
            [_, _, _, count, ref rest @ ..] => {
                rest.as_chunks::<4>().0.iter().take(count as usize).copied().collect()
            }
            _ => Vec::new(),
        };
        Ok(Self { entries, doubles: ifd.doubles(tag::GEO_DOUBLES)? })
    }

    fn short(&self, key: u64) -> Option<u64> {
        self.entries.iter().find(|e| e[0] == key && e[1] == 0).map(|e| e[3])
    }

    fn double(&self, key: u64) -> Option<f64> {
        let entry = self.entries.iter().find(|e| e[0] == key && e[1] == u64::from(tag::GEO_DOUBLES))?;
        self.doubles.get(entry[3] as usize).copied()
    }

    fn linear_unit(&self) -> Result<(f64, &'static str), ImportError> {
        match self.short(key::LINEAR_UNIT) {
            None | Some(9001) => Ok((1.0, "metres")),
            Some(9036) => Ok((1000.0, "kilometres")),
            Some(9002) => Ok((FOOT_M, "feet")),
            Some(9003) => Ok((US_FOOT_M, "US survey feet")),
            Some(unit) => match self.double(key::LINEAR_UNIT_SIZE) {
                Some(m) if unit == USER_DEFINED && m.is_finite() && m > 0.0 => Ok((m, "a unit of its own")),
                _ => Err(refuse(format!(
                    "expected distances in metres or feet, found the linear unit {unit}: warp it to metres first"
                ))),
            },
        }
    }

    fn height_unit(&self) -> Result<Option<f64>, ImportError> {
        match self.short(key::VERTICAL_UNIT) {
            None => Ok(None),
            Some(9001) => Ok(Some(1.0)),
            Some(9002) => Ok(Some(FOOT_M)),
            Some(9003) => Ok(Some(US_FOOT_M)),
            Some(unit) => {
                Err(refuse(format!("expected heights in metres or feet, found the vertical unit {unit}")))
            }
        }
    }

    /// Degrees, and of the Earth: metres of a degree are known of no other body.
    fn check_degrees(&self) -> Result<(), ImportError> {
        match self.short(key::ANGULAR_UNIT) {
            None | Some(9102 | 9122) => {}
            // 32767 gives the degree's size in radians elsewhere; writers use it for degrees.
            Some(USER_DEFINED) => {}
            Some(unit) => {
                return Err(refuse(format!(
                    "expected coordinates in degrees, found the angular unit {unit}"
                )));
            }
        }
        match self.double(key::SEMI_MAJOR_AXIS) {
            Some(m) if !(6.3e6..=6.45e6).contains(&m) => Err(refuse(format!(
                "expected degrees of the Earth, found a body with a semi-major axis of {m} m: warp it to metres first"
            ))),
            _ => Ok(()),
        }
    }
}
