//! What coordinate arrays beside a raster say of it, and how far they are believed.
//!
//! - A line of one number a row named lat, latitude, y or northing turns the rows where it ascends (row 0 is then the
//!   south edge); one a column named lon, longitude, x or easting mirrors them where it descends. Lines that only count
//!   (0, 1, 2 … or 1, 2, 3 …), and lines that go to and fro, are not used.
//! - Both evenly spaced (within a twentieth of a step) give the place: latitude and longitude in degrees; x and y in
//!   metres, unless they could be degrees too.
//! - Single numbers dx, dy, xmin, xmax, ymin, ymax give the place where they agree with each other: an extent of as many
//!   steps as samples is one of areas, of one less one of points. They never turn rows: which of ymin and ymax is
//!   the first row's is no matter of their names in practice.

use super::Turn;
use crate::import::source::Place;
use crate::import::{ImportError, Registration};

/// How far coordinates may lie beside even ones, in steps.
const UNEVEN: f64 = 0.05;

/// Steps of x and y below this could be degrees.
const COARSEST_DEGREES: f64 = 0.1;

/// Where arrays come from.
pub(super) trait Arrays {
    /// The first of some names (in any case) that has `length` numbers on one axis, or is a single number for 1.
    fn line(&mut self, names: &[&str], length: usize) -> Result<Option<(String, Vec<f64>)>, ImportError>;
}

/// What has to be done with the samples, and where they lie then.
#[derive(Debug, PartialEq)]
pub(super) struct Found {
    pub(super) turns: Vec<Turn>,
    pub(super) place: Place,
    pub(super) registration: Registration,
    pub(super) notes: Vec<String>,
}

/// Looks at the arrays beside a raster of a size. `south_up` says that rows are to be turned in any case.
pub(super) fn of(arrays: &mut dyn Arrays, size: [u32; 2], south_up: bool) -> Result<Found, ImportError> {
    let mut notes = Vec::new();
    let rows = Axis::find(arrays, &["lat", "latitude", "y", "northing"], size[1], &mut notes)?;
    let columns = Axis::find(arrays, &["lon", "longitude", "x", "easting"], size[0], &mut notes)?;
    let mut turns = Vec::new();
    match &rows {
        Some(axis) if axis.ascends => {
            turns.push(Turn::Rows);
            notes.push(format!("rows turned: {} ascends, so the first row was the south edge", axis.name));
        }
        _ if south_up => {
            turns.push(Turn::Rows);
            notes.push("rows turned: the file's first is the south edge, as asked".to_owned());
        }
        _ => {}
    }
    if let Some(axis) = columns.as_ref().filter(|axis| !axis.ascends) {
        turns.push(Turn::Columns);
        notes
            .push(format!("columns mirrored: {} descends, so the first column was the east edge", axis.name));
    }
    let (place, registration) = match (&rows, &columns) {
        (Some(rows), Some(columns)) => (lines(rows, columns, &mut notes), Registration::Point),
        (None, None) => extent(arrays, size, &mut notes)?,
        _ => {
            notes.push("coordinates of one axis alone give no place".to_owned());
            (Place::None, Registration::Point)
        }
    };
    Ok(Found { turns, place, registration, notes })
}

/// A line of coordinates that ascends or descends all along.
struct Axis {
    name: String,
    /// Whether the name says degrees.
    degrees: bool,
    ascends: bool,
    lowest: f64,
    highest: f64,
    /// Positive; none where it is uneven.
    step: Option<f64>,
}

impl Axis {
    fn find(
        arrays: &mut dyn Arrays,
        names: &[&str],
        length: u32,
        notes: &mut Vec<String>,
    ) -> Result<Option<Self>, ImportError> {
        let Some((name, values)) = arrays.line(names, length as usize)? else { return Ok(None) };
        let ascends = values.windows(2).all(|w| w[0] < w[1]);
        let descends = values.windows(2).all(|w| w[0] > w[1]);
        let counts = |from: f64| values.iter().enumerate().all(|(i, &v)| v == from + i as f64);
        // What ascends or descends all along has no NaN, but may end in an infinity.
        let (first, last) = (values[0], values[values.len() - 1]);
        if !(ascends || descends) || counts(0.0) || counts(1.0) || !first.is_finite() || !last.is_finite() {
            notes.push(format!("{name} not used: it only counts, or goes to and fro"));
            return Ok(None);
        }
        let step = (last - first) / f64::from(length - 1);
        let even = values
            .iter()
            .enumerate()
            .all(|(i, v)| (v - (first + step * i as f64)).abs() <= UNEVEN * step.abs());
        if !even {
            notes.push(format!("{name} is unevenly spaced, so it gives no step: pass --spacing"));
        }
        Ok(Some(Self {
            degrees: name.to_ascii_lowercase().starts_with('l'),
            name,
            ascends,
            lowest: first.min(last),
            highest: first.max(last),
            step: even.then_some(step.abs()),
        }))
    }
}

fn lines(rows: &Axis, columns: &Axis, notes: &mut Vec<String>) -> Place {
    let (Some(step_z), Some(step_x)) = (rows.step, columns.step) else { return Place::None };
    let globe = on_globe([columns.lowest, columns.highest], [rows.lowest, rows.highest]);
    if rows.degrees && columns.degrees && globe {
        return Place::Degrees {
            north_deg: rows.highest,
            west_deg: columns.lowest,
            step_x_deg: step_x,
            step_z_deg: step_z,
        };
    }
    if rows.degrees || columns.degrees || globe && step_x.min(step_z) < COARSEST_DEGREES {
        notes.push(format!("{} and {} not used for the place: degrees or metres?", columns.name, rows.name));
        return Place::None;
    }
    notes.push(format!("{} and {} taken as metres", columns.name, rows.name));
    Place::Metres { step_x, step_z }
}

fn on_globe(x: [f64; 2], y: [f64; 2]) -> bool {
    x[0] >= -360.0 && x[1] <= 360.0 && y[0] >= -90.0 && y[1] <= 90.0
}

/// The place from dx, dy, xmin, xmax, ymin and ymax.
fn extent(
    arrays: &mut dyn Arrays,
    size: [u32; 2],
    notes: &mut Vec<String>,
) -> Result<(Place, Registration), ImportError> {
    let nowhere = (Place::None, Registration::Point);
    let mut numbers = [0.0; 6];
    for (number, name) in numbers.iter_mut().zip(["dx", "dy", "xmin", "xmax", "ymin", "ymax"]) {
        let Some((_, line)) = arrays.line(&[name], 1)? else { return Ok(nowhere) };
        *number = line[0];
    }
    let [dx, dy, xmin, xmax, ymin, ymax] = numbers;
    let (dx, dy) = (dx.abs(), dy.abs());
    let spans = |less: f64| {
        let near =
            |span: f64, n: u32, step: f64| (span.abs() - (f64::from(n) - less) * step).abs() <= UNEVEN * step;
        near(xmax - xmin, size[0], dx) && near(ymax - ymin, size[1], dy)
    };
    let (registration, inset) = if spans(0.0) {
        (Registration::Area, 0.5)
    } else if spans(1.0) {
        (Registration::Point, 0.0)
    } else {
        notes.push("dx, dy, xmin, xmax, ymin, ymax not used: they do not agree with the array".to_owned());
        return Ok(nowhere);
    };
    if !(dx > 0.0 && dy > 0.0) {
        return Ok(nowhere);
    }
    notes.push("place from dx, dy, xmin, xmax, ymin, ymax; row 0 taken as north".to_owned());
    if ymin > ymax {
        notes.push("ymin is greater than ymax: taken as each other's".to_owned());
    }
    let (west, east, south, north) = (xmin.min(xmax), xmin.max(xmax), ymin.min(ymax), ymin.max(ymax));
    if on_globe([west, east], [south, north]) && dx.max(dy) < COARSEST_DEGREES {
        let place = Place::Degrees {
            north_deg: north - inset * dy,
            west_deg: west + inset * dx,
            step_x_deg: dx,
            step_z_deg: dy,
        };
        notes.push("coordinates taken as degrees".to_owned());
        return Ok((place, registration));
    }
    notes.push("coordinates taken as metres".to_owned());
    Ok((Place::Metres { step_x: dx, step_z: dy }, registration))
}
