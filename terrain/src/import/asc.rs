//! ESRI ASCII grids: a few lines of keys, then numbers from the north-western cell on, row by row.
//!
//! Owns the header, the numbers and the declared nodata value. Never reads a file beside it (`.prj`): whether
//! coordinates are degrees is told from them alone, and said.

use super::source::{Ask, Input, Meaning, Place, Samples, Source, Voids, check_size};
use super::{ImportError, Registration, SourceFormat};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

/// The longest word that is looked at; no number needs as much.
const MAX_WORD_BYTES: usize = 256;

/// What ESRI takes for nodata where the header has no line for it.
const ESRI_NODATA: f64 = -9999.0;

/// Coarser grids are taken as metres even where their coordinates could be degrees: a tenth of a degree is 11 km, and
/// a grid of 0.1 m and more may well lie at (0, 0).
const COARSEST_DEGREES: f64 = 0.1;

/// Reads a grid. Its values are metres of cells (area registration). Numbers without point or exponent stay integers
/// where all are such; otherwise all are read as the nearest double precision.
///
/// The coordinates are degrees where they lie within ±360 and ±90 and the cells are smaller than 0.1; otherwise metres.
/// Where there is no nodata line, −9999 is taken for nodata, as ESRI does.
///
/// # Errors
/// A header that lacks, repeats or does not know a key, words that are no numbers, more or fewer numbers than the header
/// promises: with the line.
pub(crate) fn read(input: &mut Input, ask: &Ask) -> Result<Source, ImportError> {
    input.bytes.seek(SeekFrom::Start(0))?;
    let mut words = Words::new(BufReader::new((&mut input.bytes).take(input.len)));
    let (header, first) = Header::read(&mut words)?;
    let size = header.size(input.len)?;
    let expected = size[0] as usize * size[1] as usize;
    let mut values = Values::Integers(Vec::with_capacity(expected));
    let mut more = first;
    while more {
        if values.len() == expected {
            return Err(ImportError::source(format!(
                "line {}: expected {expected} values ({} columns by {} rows), found more",
                words.line, size[0], size[1]
            )));
        }
        values.push(&words, expected)?;
        more = words.next()?;
    }
    if values.len() != expected {
        return Err(ImportError::source(format!(
            "expected {expected} values ({} columns by {} rows), found {} when the file ended at line {}: truncated?",
            size[0],
            size[1],
            values.len(),
            words.line
        )));
    }
    let mut notes = Vec::new();
    let place = header.place(size, &mut notes);
    let mut samples = values.samples();
    if ask.south_up {
        flip(&mut samples, size[0] as usize);
        notes.push("rows turned: the file's first is the south edge, as asked".to_owned());
    }
    let taken = header.nodata.unwrap_or(ESRI_NODATA);
    let voids = voids(&samples, taken);
    if header.nodata.is_none() && voids.any() {
        notes.push(format!("no NODATA_value line: ESRI's own {ESRI_NODATA} taken"));
    }
    Ok(Source {
        size,
        samples,
        nodata: header.nodata.or_else(|| voids.any().then_some(taken)),
        voids,
        format: SourceFormat::Asc,
        meaning: Meaning::Metres { scale: 1.0, offset: 0.0 },
        place,
        registration: Registration::Area,
        hole_cells: Vec::new(),
        layers: Vec::new(),
        notes,
    })
}

fn flip(samples: &mut Samples, width: usize) {
    match samples {
        Samples::I32(v) => super::raw::flip_rows(v, width),
        Samples::F64(v) => super::raw::flip_rows(v, width),
        _ => {}
    }
}

/// Samples of the nodata value; NaN is one where the header says so.
fn voids(samples: &Samples, nodata: f64) -> Voids {
    let mut voids = Voids::none(samples.len());
    let is = |v: f64| v == nodata || nodata.is_nan() && v.is_nan();
    (0..samples.len()).filter(|&i| is(samples.get(i))).for_each(|i| voids.set(i));
    voids
}

/// Words between white space, and the line that they are on.
struct Words<R> {
    from: R,
    word: Vec<u8>,
    /// Of the current word, from 1; of the end once there is none left.
    line: u64,
}

impl<R: BufRead> Words<R> {
    fn new(from: R) -> Self {
        Self { from, word: Vec::new(), line: 1 }
    }

    /// Goes to the next word; false at the end.
    fn next(&mut self) -> Result<bool, ImportError> {
        self.word.clear();
        loop {
            let bytes = self.from.fill_buf()?;
            if bytes.is_empty() {
                return Ok(!self.word.is_empty());
            }
            let mut used = 0;
            if self.word.is_empty() {
                used = bytes.iter().position(|b| !b.is_ascii_whitespace()).unwrap_or(bytes.len());
                self.line += bytes[..used].iter().filter(|&&b| b == b'\n').count() as u64;
            }
            let rest = &bytes[used..];
            let length = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
            if self.word.len() + length > MAX_WORD_BYTES {
                return Err(ImportError::source(format!(
                    "line {}: expected a word of at most {MAX_WORD_BYTES} bytes, found a longer one: no ASCII grid?",
                    self.line
                )));
            }
            self.word.extend(&rest[..length]);
            let ended = length < rest.len();
            used += length;
            self.from.consume(used);
            if ended && !self.word.is_empty() {
                return Ok(true);
            }
        }
    }

    /// The word, fit for a message.
    fn shown(&self) -> String {
        self.word.iter().take(40).flat_map(|&b| std::ascii::escape_default(b)).map(char::from).collect()
    }

    fn expected(&self, what: &str) -> ImportError {
        let hint = if self.word.contains(&b',') { ": write decimal points, not commas" } else { "" };
        ImportError::source(format!("line {}: expected {what}, found \"{}\"{hint}", self.line, self.shown()))
    }

    /// The word as a number.
    fn number(&self) -> Result<f64, ImportError> {
        let wrong = || self.expected("a number");
        let text = std::str::from_utf8(&self.word).map_err(|_| wrong())?;
        // Rust knows exactly the words that the grammar of numbers has, and NaN and infinities besides.
        let value: f64 = text.parse().map_err(|_| wrong())?;
        if value.is_infinite() && self.word.iter().any(u8::is_ascii_digit) {
            return Err(self.expected("a number in double precision's range"));
        }
        Ok(value)
    }

    /// The word as an integer without point or exponent, if it is one.
    fn integer(&self) -> Option<i32> {
        std::str::from_utf8(&self.word).ok()?.parse().ok()
    }
}

/// Integers for as long as all are.
enum Values {
    Integers(Vec<i32>),
    Floats(Vec<f64>),
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Values::Integers(v) => v.len(),
            Values::Floats(v) => v.len(),
        }
    }

    fn push<R: BufRead>(&mut self, words: &Words<R>, expected: usize) -> Result<(), ImportError> {
        match self {
            Values::Integers(v) => {
                if let Some(value) = words.integer() {
                    v.push(value);
                } else {
                    let value = words.number()?;
                    let mut floats = Vec::with_capacity(expected);
                    floats.extend(v.iter().map(|&v| f64::from(v)));
                    floats.push(value);
                    *self = Values::Floats(floats);
                }
            }
            Values::Floats(v) => v.push(words.number()?),
        }
        Ok(())
    }

    fn samples(self) -> Samples {
        match self {
            Values::Integers(v) => Samples::I32(v),
            Values::Floats(v) => Samples::F64(v),
        }
    }
}

/// The keys; each at most once.
#[derive(Default)]
struct Header {
    columns: Option<f64>,
    rows: Option<f64>,
    /// Of the lower left cell: of its corner, or of its centre where the flag says so.
    west: Option<(f64, bool)>,
    south: Option<(f64, bool)>,
    step_x: Option<f64>,
    step_z: Option<f64>,
    nodata: Option<f64>,
}

impl Header {
    /// Reads keys and values up to the first number that follows no key; whether there is one.
    fn read<R: BufRead>(words: &mut Words<R>) -> Result<(Self, bool), ImportError> {
        let mut header = Self::default();
        let mut first = true;
        loop {
            let more = words.next()?;
            if std::mem::take(&mut first) && words.word.starts_with(b"\xef\xbb\xbf") {
                words.word.drain(..3);
            }
            let key = words.word.to_ascii_lowercase();
            let letter = key.first().is_some_and(u8::is_ascii_alphabetic);
            // A value of NaN or infinity begins with a letter too.
            if !more || !letter || words.number().is_ok() {
                return Ok((header, more));
            }
            let unknown = words.expected(
                "a key of an ESRI ASCII grid (ncols, nrows, xllcorner or xllcenter, yllcorner or yllcenter, cellsize or dx and dy, NODATA_value) or a number",
            );
            let line = words.line;
            let mut fill: Vec<&mut Option<f64>> = Vec::new();
            let mut position = None;
            match &*key {
                b"ncols" => fill.push(&mut header.columns),
                b"nrows" => fill.push(&mut header.rows),
                b"cellsize" => fill.extend([&mut header.step_x, &mut header.step_z]),
                b"dx" => fill.push(&mut header.step_x),
                b"dy" => fill.push(&mut header.step_z),
                b"nodata_value" | b"nodata" => fill.push(&mut header.nodata),
                b"xllcorner" | b"xllcenter" => position = Some((&mut header.west, key == b"xllcenter")),
                b"yllcorner" | b"yllcenter" => position = Some((&mut header.south, key == b"yllcenter")),
                _ => return Err(unknown),
            }
            let key = String::from_utf8_lossy(&key).into_owned();
            if fill.iter().any(|f| f.is_some()) || position.as_ref().is_some_and(|p| p.0.is_some()) {
                return Err(ImportError::source(format!(
                    "line {line}: expected each key once, found {key} again or beside one that says the same"
                )));
            }
            if !words.next()? {
                return Err(ImportError::source(format!(
                    "line {line}: expected a number after {key}, found the end of the file"
                )));
            }
            let value = words.number()?;
            if !value.is_finite() && !key.starts_with("nodata") {
                return Err(words.expected("a finite number"));
            }
            fill.into_iter().for_each(|f| *f = Some(value));
            if let Some((to, centre)) = position {
                *to = Some((value, centre));
            }
        }
    }

    /// Columns and rows, of which every value takes at least two bytes of the file.
    fn size(&self, bytes: u64) -> Result<[u32; 2], ImportError> {
        let missing = |key: &str| {
            ImportError::source(format!(
                "expected an ESRI ASCII grid, found no {key} in its header: is it one?"
            ))
        };
        let whole = |value: Option<f64>, key: &str| {
            let value = value.ok_or_else(|| missing(key))?;
            if value >= 0.0 && value.fract() == 0.0 {
                // What lies beyond 2⁶⁴ saturates, and is refused below.
                Ok((value as u64).min(u64::from(u32::MAX)))
            } else {
                Err(ImportError::source(format!("{key}: expected a whole number, found {value}")))
            }
        };
        let (columns, rows) = (whole(self.columns, "ncols")?, whole(self.rows, "nrows")?);
        for (found, key) in [
            (self.west.is_some(), "xllcorner or xllcenter"),
            (self.south.is_some(), "yllcorner or yllcenter"),
            (self.step_x.is_some(), "cellsize or dx"),
            (self.step_z.is_some(), "cellsize or dy"),
        ] {
            if !found {
                return Err(missing(key));
            }
        }
        for step in [self.step_x, self.step_z].into_iter().flatten() {
            if step <= 0.0 {
                return Err(ImportError::source(format!("cellsize: expected more than 0, found {step}")));
            }
        }
        let size = check_size("a grid", columns, rows)?;
        if columns * rows > bytes / 2 + 1 {
            return Err(ImportError::source(format!(
                "expected a grid that its file can hold, found {columns}x{rows} claimed by a file of {bytes} bytes: truncated?"
            )));
        }
        Ok(size)
    }

    /// Where the cells' centres lie. [`Header::size`] has seen that all keys are there.
    fn place(&self, size: [u32; 2], notes: &mut Vec<String>) -> Place {
        let (Some(west), Some(south), Some(step_x), Some(step_z)) =
            (self.west, self.south, self.step_x, self.step_z)
        else {
            return Place::None;
        };
        let centre = |(at, centre): (f64, bool), step: f64| if centre { at } else { at + step / 2.0 };
        let (west_deg, south_deg) = (centre(west, step_x), centre(south, step_z));
        let east = west_deg + f64::from(size[0] - 1) * step_x;
        let north_deg = south_deg + f64::from(size[1] - 1) * step_z;
        let within = west_deg >= -360.0 && east <= 360.0 && south_deg >= -90.0 && north_deg <= 90.0;
        if within && step_x < COARSEST_DEGREES && step_z < COARSEST_DEGREES {
            notes.push(
                "coordinates taken as degrees: they lie within 360 and 90, and the cells are smaller than 0.1"
                    .to_owned(),
            );
            return Place::Degrees { north_deg, west_deg, step_x_deg: step_x, step_z_deg: step_z };
        }
        notes.push("coordinates taken as metres".to_owned());
        Place::Metres { step_x, step_z }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "ncols 3\nnrows 2\nxllcorner 10\nyllcorner 20\ncellsize 5\n";

    fn of(text: &str) -> Result<Source, ImportError> {
        read(&mut Input::of_bytes("a.asc", text.as_bytes().to_vec()), &Ask::default())
    }

    fn refused(text: &str) -> String {
        of(text).unwrap_err().to_string()
    }

    #[test]
    fn integers_stay_integers_and_row_0_is_north() {
        let source = of(&format!("{HEADER}NODATA_value -9999\n1 2 3\n4 -9999 +6\n")).unwrap();
        assert_eq!((source.size, source.samples), ([3, 2], Samples::I32(vec![1, 2, 3, 4, -9999, 6])));
        assert_eq!((source.voids.count(), source.voids.get(4), source.nodata), (1, true, Some(-9999.0)));
        assert_eq!(source.place, Place::Metres { step_x: 5.0, step_z: 5.0 });
        assert_eq!(source.registration, Registration::Area);
    }

    #[test]
    fn keys_come_in_any_case_and_order_and_rows_may_be_broken_anywhere() {
        let source = of(
            "\u{feff}CellSize 2\r\nNODATA_VALUE 999\r\nNROWS 2 YLLCENTER 0\r\nxllCenter 0\r\nNCOLS 3\r\n1.5 2\r\n3 999.\r\n.5e1 -1E-1",
        )
        .unwrap();
        assert_eq!(source.samples, Samples::F64(vec![1.5, 2.0, 3.0, 999.0, 5.0, -0.1]));
        assert!(source.voids.get(3) && source.voids.count() == 1);
    }

    #[test]
    fn a_missing_nodata_line_means_esris_own_value_only_where_it_occurs() {
        let source = of(&format!("{HEADER}0. 1. 2. 3. 4. 5.")).unwrap();
        assert_eq!((source.nodata, source.voids.any()), (None, false));
        let source = of(&format!("{HEADER}0. 1. 2. 3. 4. -9999.")).unwrap();
        assert_eq!((source.nodata, source.voids.count()), (Some(-9999.0), 1));
        assert!(source.notes.iter().any(|n| n.contains("no NODATA_value line")), "{:?}", source.notes);
        let declared = of(&format!("{HEADER}nodata_value 0\n0 1 2 3 4 -9999")).unwrap();
        assert_eq!((declared.voids.count(), declared.voids.get(0)), (1, true));
    }

    #[test]
    fn nan_is_void_only_where_it_is_declared() {
        let source = of(&format!("{HEADER}NODATA_value nan\n0 1 2 3 NaN 5")).unwrap();
        assert_eq!((source.voids.count(), source.voids.get(4)), (1, true));
        // Here a NaN is the first value, where a key could stand too.
        let source = of(&format!("{HEADER}nan 1 2 inf -inf 5")).unwrap();
        assert!(
            !source.voids.any() && source.samples.get(0).is_nan() && source.samples.get(3) == f64::INFINITY
        );
    }

    #[test]
    fn small_cells_within_the_globe_are_degrees_of_their_centres() {
        let text = "ncols 2\nnrows 3\nxllcorner -105.5\nyllcorner 40\ncellsize 0.0625\n1 2 3 4 5 6";
        let degrees = Place::Degrees {
            north_deg: 40.15625,
            west_deg: -105.46875,
            step_x_deg: 0.0625,
            step_z_deg: 0.0625,
        };
        assert_eq!(of(text).unwrap().place, degrees);
        let centred =
            text.replace("corner -105.5", "center -105.46875").replace("corner 40", "center 40.03125");
        assert_eq!(of(&centred).unwrap().place, degrees);
        for (from, to) in [("40", "89.9"), ("-105.5", "-361"), ("0.0625", "0.5"), ("40", "70223.4")] {
            assert!(matches!(of(&text.replace(from, to)).unwrap().place, Place::Metres { .. }), "{to}");
        }
        let oblong = of(&text.replace("cellsize 0.0625", "dx 3\ndy 4")).unwrap();
        assert_eq!(oblong.place, Place::Metres { step_x: 3.0, step_z: 4.0 });
    }

    #[test]
    fn south_first_rows_are_turned_with_their_voids() {
        let text = format!("{HEADER}NODATA_value 1\n1 2 3 4 5 6");
        let ask = Ask { south_up: true, ..Ask::default() };
        let source = read(&mut Input::of_bytes("a.asc", text.into_bytes()), &ask).unwrap();
        assert_eq!(source.samples, Samples::I32(vec![4, 5, 6, 1, 2, 3]));
        assert!(source.voids.get(3) && source.voids.count() == 1);
    }

    #[test]
    fn too_many_and_too_few_values_are_refused_with_their_line() {
        let error = refused(&format!("{HEADER}1 2 3\n4 5 6\n7\n"));
        assert!(error.contains("line 8") && error.contains("found more"), "{error}");
        let error = refused(&format!("{HEADER}1 2 3\n4 5"));
        assert!(error.contains("found 5") && error.contains("line 7"), "{error}");
    }

    #[test]
    fn what_is_no_number_is_refused_with_a_hint() {
        for (values, words) in [
            ("1 2 3\n4,5 5 6", "line 7: expected a number, found \"4,5\": write decimal points"),
            ("1 2 3 4 5 0x10", "found \"0x10\""),
            ("1 2 3 4 5 1e999", "double precision's range"),
            ("1 2 3 4 5 --6", "found \"--6\""),
            ("1 2 3 4 5 1d3", "found \"1d3\""),
            ("1 2 3 4 5 \u{b5}", "found \"\\xc2\\xb5\""),
        ] {
            let error = refused(&format!("{HEADER}{values}"));
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn headers_that_cannot_be_are_refused() {
        let values = "1 2 3 4 5 6";
        for (from, to, words) in [
            ("ncols 3", "", "no ncols"),
            ("xllcorner 10", "", "no xllcorner"),
            ("cellsize 5", "dx 5", "no cellsize or dy"),
            ("cellsize 5", "cellsize 5 dx 5", "found dx again"),
            ("cellsize 5", "cellsize 0", "more than 0"),
            ("cellsize 5", "cellsize inf", "finite"),
            ("ncols 3", "ncols 3 ncols 3", "found ncols again"),
            ("ncols 3", "ncols 2.5", "whole number"),
            ("ncols 3", "ncols -3", "whole number"),
            ("ncols 3", "ncols 200000", "samples a side"),
            ("ncols 3\nnrows 2", "ncols 200000\nnrows 200000", "samples a side"),
            ("ncols 3\nnrows 2", "ncols 16000\nnrows 16000", "claimed by a file of"),
            ("ncols 3", "ncols 1e300", "samples a side"),
            ("ncols 3", "ncols", "expected a number"),
            ("ncols 3", "north: 3", "expected a key"),
            ("yllcorner 20", "yllcorner 20 yllcenter 20", "yllcenter again"),
        ] {
            let error = refused(&format!("{}{values}", HEADER.replace(from, to)));
            assert!(error.contains(words) && !error.contains('\n'), "{to}: {error}");
        }
        assert!(refused("").contains("no ncols"));
        assert!(refused(&"9".repeat(100_000)).contains("at most 256 bytes"));
        assert!(refused(&format!("ncols {}", " ".repeat(100_000))).contains("found the end"));
    }

    #[test]
    fn a_file_cut_anywhere_is_refused_or_ends_within_its_last_number() {
        let text = format!("{HEADER}NODATA_value -9999\n1 2 3\n4 -9999 600\n");
        let whole = text.trim_end().len();
        for n in 0..text.len() {
            assert_eq!(of(&text[..n]).is_ok(), n >= whole - 2, "{n}");
        }
    }

    #[test]
    fn no_flipped_bit_panics() {
        let whole = format!("{HEADER}NODATA_value -9999\n1 2 3\n4 -9999 600\n").into_bytes();
        for bit in 0..whole.len() * 8 {
            let mut bad = whole.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            if let Ok(source) = read(&mut Input::of_bytes("a.asc", bad), &Ask::default()) {
                assert_eq!(
                    source.samples.len() as u64,
                    u64::from(source.size[0]) * u64::from(source.size[1])
                );
            }
        }
    }
}
