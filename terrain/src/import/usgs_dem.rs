//! USGS ASCII DEM, the format of fixed 1024-byte records: a record of the whole (A), then one profile a column (B), each
//! from south to north with a start of its own.
//!
//! Owns the records and the placing of profiles on one grid. Never reprojects: a quadrangle that is askew in its
//! projection leaves voids along its edges.

use super::source::{Ask, Input, Meaning, Place, Samples, Source, Voids, check_size};
use super::{ImportError, Registration, SourceFormat};
use std::io::{Read, Seek, SeekFrom};
use std::ops::RangeInclusive;

/// Bytes of a record.
const RECORD: usize = 1024;

/// Elevations in a profile's first record and in each further one.
const IN_FIRST: u64 = 146;
const IN_FURTHER: u64 = 170;

/// "No data".
const VOID: i32 = -32_767;

/// Metres of a foot.
const FOOT_M: f64 = 0.3048;

/// How far a profile may lie beside the grid, in steps.
const ASTRAY: f64 = 0.01;

/// A grid that its elevations fill to less than one in so many is refused: no quadrangle is as askew.
const MOST_GRID_PER_ELEVATION: u64 = 16;

/// Reads a DEM: elevations of points, in metres or feet (0.3048 m), on a grid in metres, feet or arc-seconds. Columns are
/// where the profiles stand; rows reach from the lowest to the highest of the profiles' ends and the corners that
/// record A gives, rounded outwards. Where no profile has a point the grid is void.
///
/// # Errors
/// A file that ends early, fields that are no numbers, profiles beside the grid or twice in a column, a rotated grid.
pub(crate) fn read(input: &mut Input, ask: &Ask) -> Result<Source, ImportError> {
    if ask.south_up {
        return Err(ImportError::usage("a USGS DEM says itself where its rows lie: leave --south-up out"));
    }
    let mut records = Records { input, block: [0; RECORD], at: 0, held: 0 };
    let whole = Whole::read(&mut records)?;
    let profiles = whole.profiles(&mut records)?;
    let end = records.at + RECORD as u64;
    let grid = Grid::of(&whole, &profiles)?;
    let mut notes = vec![format!("title: {}", whole.title)];
    if whole.reference != 0 {
        notes.push(format!("planimetric system {} zone {} not used", whole.reference, whole.zone));
    }
    let file_bytes = records.input.len;
    if file_bytes > end + RECORD as u64 {
        notes.push(format!("{} bytes after the last profile not read", file_bytes - end));
    }
    let (mut values, voids) = elevations(&mut records, &whole, &profiles, &grid)?;
    let offset = profiles[0].datum;
    let (samples, scale, offset) = if profiles.iter().all(|p| p.datum == offset) {
        (Samples::I32(values), whole.step[2] * whole.elevation_unit_m, offset * whole.elevation_unit_m)
    } else {
        let mut metres: Vec<f64> = values.drain(..).map(|v| f64::from(v) * whole.step[2]).collect();
        for p in &profiles {
            (0..grid.size[1] as usize).for_each(|z| metres[z * grid.size[0] as usize + p.column] += p.datum);
        }
        notes.push("profiles have datums of their own, which are added".to_owned());
        (Samples::F64(metres), whole.elevation_unit_m, 0.0)
    };
    Ok(Source {
        size: grid.size,
        samples,
        voids,
        format: SourceFormat::UsgsDem,
        nodata: Some(f64::from(VOID)),
        meaning: Meaning::Metres { scale, offset },
        place: whole.place(&grid),
        registration: Registration::Point,
        hole_cells: Vec::new(),
        layers: Vec::new(),
        notes,
    })
}

/// One record at a time.
struct Records<'a> {
    input: &'a mut Input,
    block: [u8; RECORD],
    /// Where in the file the record starts.
    at: u64,
    /// How much of it the file has; the rest is blank.
    held: usize,
}

impl Records<'_> {
    fn go(&mut self, at: u64) -> Result<(), ImportError> {
        self.input.bytes.seek(SeekFrom::Start(at))?;
        (self.at, self.held) = (at, 0);
        while self.held < RECORD {
            match self.input.bytes.read(&mut self.block[self.held..])? {
                0 => break,
                n => self.held += n,
            }
        }
        self.block[self.held..].fill(b' ');
        Ok(())
    }

    fn field(&self, from: usize, length: usize, what: &str) -> Result<String, ImportError> {
        let bytes = &self.block[from..from + length];
        let shown: String =
            bytes.iter().flat_map(|&b| std::ascii::escape_default(b)).map(char::from).collect();
        if from + length > self.held {
            return Err(ImportError::source(format!(
                "byte {}: expected {what}, found the end of the file: truncated?",
                self.at + from as u64
            )));
        }
        Ok(shown.trim().to_owned())
    }

    fn wrong(&self, from: usize, what: &str, found: &str) -> ImportError {
        ImportError::source(format!("byte {}: expected {what}, found \"{found}\"", self.at + from as u64))
    }

    /// An integer in a field of six.
    fn integer(&self, from: usize, what: &str) -> Result<i32, ImportError> {
        let field = self.field(from, 6, what)?;
        field.parse().map_err(|_| self.wrong(from, what, &field))
    }

    /// A Fortran number, whose exponent may be a D.
    fn real(&self, from: usize, length: usize, what: &str) -> Result<f64, ImportError> {
        let field = self.field(from, length, what)?;
        match field.replace(['D', 'd'], "E").parse::<f64>() {
            Ok(v) if v.is_finite() => Ok(v),
            _ => Err(self.wrong(from, what, &field)),
        }
    }
}

/// Record A.
struct Whole {
    title: String,
    /// 0 geographic, 1 UTM, 2 state plane.
    reference: i32,
    zone: i32,
    /// Metres of the ground's unit; none for arc-seconds.
    ground_unit_m: Option<f64>,
    elevation_unit_m: f64,
    /// The corners' lowest and highest y.
    y: RangeInclusive<f64>,
    /// Between columns, between points of a profile, and of one unit of elevation.
    step: [f64; 3],
    columns: u64,
}

impl Whole {
    fn read(records: &mut Records<'_>) -> Result<Self, ImportError> {
        records.go(0)?;
        let r = &*records;
        let mut title = r.field(0, 144, "a title")?;
        title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        let pattern = r.integer(150, "the elevation pattern")?;
        if pattern != 1 {
            return Err(r.wrong(150, "elevation pattern 1 (regular)", &pattern.to_string()));
        }
        let (reference, zone) = (r.integer(156, "the planimetric system")?, r.integer(162, "the zone")?);
        let ground_unit_m = match r.integer(528, "the ground's unit")? {
            1 => Some(FOOT_M),
            2 => Some(1.0),
            3 => None,
            other => {
                let what = "1 (feet), 2 (metres) or 3 (arc-seconds) for the ground's unit";
                return Err(r.wrong(528, what, &other.to_string()));
            }
        };
        let elevation_unit_m = match r.integer(534, "the elevations' unit")? {
            1 => FOOT_M,
            2 => 1.0,
            other => {
                return Err(r.wrong(
                    534,
                    "1 (feet) or 2 (metres) for the elevations' unit",
                    &other.to_string(),
                ));
            }
        };
        let mut y = [0.0; 4];
        for (i, y) in y.iter_mut().enumerate() {
            *y = r.real(570 + i * 48, 24, "a corner's y")?;
        }
        let y = y.iter().copied().fold(f64::MAX, f64::min)..=y.iter().copied().fold(f64::MIN, f64::max);
        let angle = r.real(786, 24, "the angle")?;
        if angle != 0.0 {
            return Err(r.wrong(786, "an angle of 0, as rotated grids are not read", &angle.to_string()));
        }
        let mut step = [0.0; 3];
        for (i, step) in step.iter_mut().enumerate() {
            let from = 816 + i * 12;
            *step = r.real(from, 12, "a resolution")?;
            // What is smaller or larger than these is no ground; and no sum or quotient of such overflows.
            if !(1e-6..=1e6).contains(step) {
                return Err(r.wrong(from, "a resolution from 1e-6 to 1e6", &step.to_string()));
            }
        }
        let columns = r.integer(858, "the number of profiles")?;
        let columns =
            u64::try_from(columns).map_err(|_| r.wrong(858, "a number of profiles", &columns.to_string()))?;
        if columns > records.input.len / RECORD as u64 {
            return Err(ImportError::source(format!(
                "expected a record of {RECORD} bytes for each of {columns} profiles, found a file of {} bytes: truncated?",
                records.input.len
            )));
        }
        if columns < 1 {
            return Err(records.wrong(858, "at least one profile", &columns.to_string()));
        }
        Ok(Self { title, reference, zone, ground_unit_m, elevation_unit_m, y, step, columns })
    }

    /// The heads of all profiles, in the file's order; the last record of the last is left in place.
    fn profiles(&self, records: &mut Records<'_>) -> Result<Vec<Profile>, ImportError> {
        let mut profiles: Vec<Profile> = Vec::with_capacity(self.columns as usize);
        let (mut at, mut west) = (RECORD as u64, f64::MAX);
        for _ in 0..self.columns {
            records.go(at)?;
            let points = records.integer(12, "a profile's number of points")?;
            let wide = records.integer(18, "a profile's number of columns")?;
            if points < 1 || wide != 1 {
                let found = format!("{points} by {wide}");
                return Err(records.wrong(12, "a profile of at least 1 point in 1 column", &found));
            }
            let (x, y) = (records.real(24, 24, "a profile's x")?, records.real(48, 24, "a profile's y")?);
            let datum = records.real(72, 24, "a profile's datum")?;
            let points = points as u64;
            let further = points.saturating_sub(IN_FIRST).div_ceil(IN_FURTHER);
            let end = at + (1 + further) * RECORD as u64;
            // The last record may lack its blanks, but not its elevations.
            if end > records.input.len + RECORD as u64 {
                return Err(ImportError::source(format!(
                    "byte {at}: expected a profile of {points} points up to byte {end}, found a file of {} bytes: truncated?",
                    records.input.len
                )));
            }
            west = west.min(x);
            profiles.push(Profile { at, x, y, datum, points, column: 0 });
            at = end;
        }
        let mut seen = vec![false; profiles.len()];
        for p in &mut profiles {
            let column = (p.x - west) / self.step[0];
            let nearest = libm::round(column);
            let astray = (column - nearest).abs() > ASTRAY;
            // What is no column saturates, and is none of them.
            match seen.get_mut(nearest as usize) {
                Some(seen) if !astray && !*seen => *seen = true,
                _ => {
                    return Err(ImportError::source(format!(
                        "byte {}: expected a profile in each of {} columns {} apart from {west} on, found another or one beside them at {}",
                        p.at, self.columns, self.step[0], p.x
                    )));
                }
            }
            p.column = nearest as usize;
        }
        records.at = at - RECORD as u64;
        Ok(profiles)
    }

    fn place(&self, grid: &Grid) -> Place {
        match self.ground_unit_m {
            Some(unit) => Place::Metres { step_x: self.step[0] * unit, step_z: self.step[1] * unit },
            None => Place::Degrees {
                north_deg: grid.north / 3600.0,
                west_deg: grid.west / 3600.0,
                step_x_deg: self.step[0] / 3600.0,
                step_z_deg: self.step[1] / 3600.0,
            },
        }
    }
}

/// A column's elevations: where they are and where they belong.
struct Profile {
    /// Of the first record.
    at: u64,
    x: f64,
    /// Of the southernmost point.
    y: f64,
    /// Added to the elevations.
    datum: f64,
    points: u64,
    column: usize,
}

/// The raster that holds all profiles.
struct Grid {
    size: [u32; 2],
    west: f64,
    north: f64,
    /// The row that each profile starts at, in the profiles' order.
    starts: Vec<u64>,
}

impl Grid {
    fn of(whole: &Whole, profiles: &[Profile]) -> Result<Self, ImportError> {
        let (origin, step) = (profiles[0].y, whole.step[1]);
        // Rows northwards from the first profile's start; out of range they saturate, and are refused below.
        let row = |y: f64| (y - origin) / step;
        let mut south = (row(*whole.y.start()) + ASTRAY).floor();
        let mut north = (row(*whole.y.end()) - ASTRAY).ceil();
        for p in profiles {
            let start = row(p.y);
            if (start - libm::round(start)).abs() > ASTRAY {
                return Err(ImportError::source(format!(
                    "byte {}: expected a profile that starts on the grid of {step} through {origin}, found {}",
                    p.at, p.y
                )));
            }
            south = south.min(libm::round(start));
            north = north.max(libm::round(start) + (p.points - 1) as f64);
        }
        let size = check_size("a grid", whole.columns, ((north - south) as u64).saturating_add(1))?;
        let points: u64 = profiles.iter().map(|p| p.points).sum();
        let cells = u64::from(size[0]) * u64::from(size[1]);
        if cells > points * MOST_GRID_PER_ELEVATION {
            return Err(ImportError::source(format!(
                "expected profiles that fill their grid, found {points} elevations for {}x{}",
                size[0], size[1]
            )));
        }
        let starts = profiles
            .iter()
            .map(|p| u64::from(size[1]) - 1 - (libm::round(row(p.y)) - south) as u64)
            .collect();
        let west = profiles.iter().map(|p| p.x).fold(f64::MAX, f64::min);
        Ok(Self { size, west, north: origin + north * step, starts })
    }
}

/// All elevations where they belong, void elsewhere.
fn elevations(
    records: &mut Records<'_>,
    whole: &Whole,
    profiles: &[Profile],
    grid: &Grid,
) -> Result<(Vec<i32>, Voids), ImportError> {
    let (width, cells) = (grid.size[0] as usize, grid.size[0] as usize * grid.size[1] as usize);
    let mut values = vec![VOID; cells];
    for (p, &start) in profiles.iter().zip(&grid.starts) {
        records.go(p.at)?;
        let (mut from, mut left) = (144, IN_FIRST);
        for i in 0..p.points {
            if left == 0 {
                records.go(records.at + RECORD as u64)?;
                (from, left) = (0, IN_FURTHER);
            }
            let value = records.integer(from, "an elevation")?;
            values[(start - i) as usize * width + p.column] = value;
            (from, left) = (from + 6, left - 1);
        }
    }
    debug_assert!(whole.columns as usize == width, "one profile a column");
    let mut voids = Voids::none(cells);
    values.iter().enumerate().filter(|(_, v)| **v == VOID).for_each(|(i, _)| voids.set(i));
    Ok((values, voids))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Made {
        ground: i32,
        elevation: i32,
        z: f64,
        corners: [f64; 2],
        angle: f64,
        /// x, y, datum, elevations.
        profiles: Vec<(f64, f64, f64, Vec<i32>)>,
    }

    fn hill() -> Made {
        Made {
            ground: 2,
            elevation: 2,
            z: 1.0,
            corners: [1000.0, 1090.0],
            angle: 0.0,
            profiles: vec![
                (500.0, 1030.0, 0.0, vec![11, 12]),
                (530.0, 1000.0, 0.0, vec![20, -32_767, 22, 23]),
                (560.0, 1060.0, 0.0, vec![32]),
            ],
        }
    }

    fn put(record: &mut [u8], at: usize, text: &str) {
        record[at..at + text.len()].copy_from_slice(text.as_bytes());
    }

    fn real(v: f64) -> String {
        format!("{:>24}", format!("{v:.12e}").replace('e', "D"))
    }

    fn bytes(made: &Made) -> Vec<u8> {
        let mut a = [b' '; RECORD];
        put(&mut a, 0, "A MADE HILL");
        for (at, v) in [(144, 1), (150, 1), (156, 1), (162, 10), (528, made.ground), (534, made.elevation)] {
            put(&mut a, at, &format!("{v:>6}"));
        }
        for i in 0..4 {
            put(&mut a, 546 + i * 48, &real(500.0));
            put(&mut a, 570 + i * 48, &real(made.corners[i % 2]));
        }
        put(&mut a, 786, &real(made.angle));
        for (i, step) in [30.0, 30.0, made.z].into_iter().enumerate() {
            put(&mut a, 816 + i * 12, &format!("{:>12}", format!("{step:.4E}")));
        }
        put(&mut a, 852, &format!("{:>6}{:>6}", 1, made.profiles.len()));
        let mut all = a.to_vec();
        for (i, (x, y, datum, values)) in made.profiles.iter().enumerate() {
            let mut b = format!("{:>6}{:>6}{:>6}{:>6}", 1, i + 1, values.len(), 1);
            [*x, *y, *datum, 0.0, 0.0].iter().for_each(|&v| b += &real(v));
            for (n, v) in values.iter().enumerate() {
                if n >= 146 && (n - 146) % 170 == 0 {
                    b += "    ";
                }
                b += &format!("{v:>6}");
            }
            let mut b = b.into_bytes();
            b.resize(b.len().div_ceil(RECORD) * RECORD, b' ');
            all.extend(b);
        }
        all
    }

    fn of(bytes: Vec<u8>) -> Result<Source, ImportError> {
        read(&mut Input::of_bytes("a.dem", bytes), &Ask::default())
    }

    #[test]
    fn profiles_stand_where_their_own_starts_say() {
        let source = of(bytes(&hill())).unwrap();
        assert_eq!(source.size, [3, 4]);
        let v = VOID;
        assert_eq!(source.samples, Samples::I32(vec![v, 23, v, 12, 22, 32, 11, v, v, v, 20, v]));
        let voids: Vec<usize> = (0..12).filter(|&i| source.voids.get(i)).collect();
        assert_eq!(voids, [0, 2, 7, 8, 9, 11]);
        assert_eq!(source.place, Place::Metres { step_x: 30.0, step_z: 30.0 });
        assert_eq!(source.meaning, Meaning::Metres { scale: 1.0, offset: 0.0 });
        assert_eq!(source.registration, Registration::Point);
    }

    #[test]
    fn corners_between_rows_are_rounded_outwards_and_the_order_of_profiles_does_not_matter() {
        let mut made = hill();
        made.corners = [999.0, 1101.0];
        made.profiles.swap(0, 2);
        let source = of(bytes(&made)).unwrap();
        assert_eq!(source.size, [3, 6]);
        let v = VOID;
        let rows = vec![v, v, v, v, 23, v, 12, 22, 32, 11, v, v, v, 20, v, v, v, v];
        assert_eq!(source.samples, Samples::I32(rows));
        assert_eq!(source.voids.count(), 12);
    }

    #[test]
    fn feet_and_datums_are_metres() {
        let mut made = hill();
        (made.ground, made.elevation, made.z) = (1, 1, 0.5);
        let source = of(bytes(&made)).unwrap();
        assert_eq!(source.meaning, Meaning::Metres { scale: 0.1524, offset: 0.0 });
        assert_eq!(source.place, Place::Metres { step_x: 30.0 * 0.3048, step_z: 30.0 * 0.3048 });
        made.profiles.iter_mut().for_each(|p| p.2 = 100.0);
        let source = of(bytes(&made)).unwrap();
        assert_eq!(source.meaning, Meaning::Metres { scale: 0.1524, offset: 100.0 * 0.3048 });
        made.profiles[1].2 = 0.25;
        let source = of(bytes(&made)).unwrap();
        assert_eq!(source.meaning, Meaning::Metres { scale: 0.3048, offset: 0.0 });
        // By hand: 22 · 0.5 + 0.25 and 12 · 0.5 + 100.
        assert_eq!((source.samples.get(4), source.samples.get(3)), (11.25, 106.0));
        assert_eq!(source.voids.count(), 6);
    }

    #[test]
    fn arc_seconds_are_degrees() {
        let source = of(bytes(&Made { ground: 3, ..hill() })).unwrap();
        let Place::Degrees { north_deg, west_deg, step_x_deg, step_z_deg } = source.place else {
            panic!("degrees")
        };
        assert_eq!((north_deg, west_deg), (1090.0 / 3600.0, 500.0 / 3600.0));
        assert_eq!((step_x_deg, step_z_deg), (30.0 / 3600.0, 30.0 / 3600.0));
    }

    #[test]
    fn long_profiles_go_on_in_further_records() {
        let mut made = hill();
        let long: Vec<i32> = (0..600).collect();
        made.profiles = vec![(500.0, 1000.0, 0.0, long.clone()), (530.0, 1000.0, 0.0, long)];
        let source = of(bytes(&made)).unwrap();
        assert_eq!(source.size, [2, 600]);
        assert!((0..600).all(|z| source.samples.get(z * 2 + 1) == (599 - z) as f64));
    }

    #[test]
    fn a_file_cut_anywhere_is_refused() {
        let whole = bytes(&hill());
        // The last profile's only elevation ends 150 bytes into its record; what follows is blank.
        let enough = 3 * RECORD + 150;
        for n in 0..whole.len() {
            let cut = of(whole[..n].to_vec());
            assert_eq!(cut.is_ok(), n >= enough, "{n}");
            if let Err(error) = cut {
                assert!(!error.to_string().contains('\n'));
            }
        }
    }

    #[test]
    fn records_that_cannot_be_are_refused() {
        let whole = bytes(&hill());
        let b = RECORD;
        for (at, text, words) in [
            (150, "     2", "pattern 1"),
            (528, "     0", "arc-seconds"),
            (534, "     9", "feet"),
            (816, " 0.00000E+00", "resolution"),
            (816, "        1e30", "resolution"),
            (828, "         nan", "resolution"),
            (858, "     0", "one profile"),
            (858, "     1", "samples a side"),
            (858, "    -1", "number of profiles"),
            (858, "200000", "truncated"),
            (858, "     4", "truncated"),
            (570, "                    1e99", "samples a side"),
            (570, "                    -1e6", "fill their grid"),
            (570, "                     x  ", "corner's y"),
            (b + 12, "999999", "truncated"),
            (b + 12, "    -1", "at least 1 point"),
            (b + 18, "     2", "in 1 column"),
            (b + 24, "                     501", "beside them"),
            (b + 24, "                     530", "beside them"),
            (b + 24, "                   1e300", "beside them"),
            (b + 48, "                    1001", "starts on the grid"),
            (b + 48, "                   1e300", "samples a side"),
            (b + 144, "    1.", "an elevation"),
            (b + 144, "      ", "an elevation"),
        ] {
            let mut bad = whole.clone();
            put(&mut bad, at, text);
            let error = of(bad).unwrap_err().to_string();
            assert!(error.contains(words), "{at} {text}: {error}");
        }
        let rotated = of(bytes(&Made { angle: 0.1, ..hill() })).unwrap_err().to_string();
        assert!(rotated.contains("rotated"), "{rotated}");
    }

    #[test]
    fn no_flipped_bit_panics() {
        let whole = bytes(&hill());
        for bit in 0..whole.len() * 8 {
            let mut bad = whole.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            if let Ok(source) = of(bad) {
                assert_eq!(
                    source.samples.len() as u64,
                    u64::from(source.size[0]) * u64::from(source.size[1])
                );
            }
        }
    }
}
