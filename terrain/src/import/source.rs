//! What a reader hands over: raw values as they stand in the file, and what the file says of them.
//!
//! A reader applies nothing that is the importer's business (crop, scale, void policy, resampling, rounding); it turns
//! the raster so that row 0 is north, and marks as void whatever the file itself declares to be no data.

use super::{ImportError, Registration, SourceFormat};
use crate::config::MAX_SAMPLES;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

/// The most samples an import holds in memory.
pub const MAX_IMPORT_SAMPLES: u64 = 1 << 28;

/// Something to read from: a file, or a member of an archive that was unpacked.
pub(crate) trait ReadSeek: Read + Seek + Send {}

impl<T: Read + Seek + Send> ReadSeek for T {}

/// A source's bytes and its name.
pub struct Input {
    /// The file's name without folders, or the archive member's.
    pub(crate) name: String,
    /// Length in bytes.
    pub(crate) len: u64,
    /// The bytes, at their start.
    pub(crate) bytes: Box<dyn ReadSeek>,
}

impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Input").field("name", &self.name).field("len", &self.len).finish_non_exhaustive()
    }
}

impl Input {
    /// Opens a regular file.
    ///
    /// # Errors
    /// What the operating system says, and whatever is no regular file.
    pub fn open(path: &Path) -> Result<Self, ImportError> {
        let file = crate::store::open_regular(path)?;
        let len = file.metadata()?.len();
        Ok(Self { name: super::file_name(path), len, bytes: Box::new(file) })
    }

    /// Bytes in memory.
    pub fn of_bytes(name: &str, bytes: Vec<u8>) -> Self {
        Self { name: name.to_owned(), len: bytes.len() as u64, bytes: Box::new(Cursor::new(bytes)) }
    }

    /// All bytes, from the start.
    ///
    /// # Errors
    /// More than `limit` bytes, or what the operating system says.
    pub(crate) fn read_all(&mut self, limit: u64) -> Result<Vec<u8>, ImportError> {
        if self.len > limit {
            return Err(ImportError::source(format!(
                "expected at most {limit} bytes, found a file of {} bytes",
                self.len
            )));
        }
        self.bytes.seek(SeekFrom::Start(0))?;
        let mut out = Vec::with_capacity(self.len as usize);
        (&mut self.bytes).take(limit + 1).read_to_end(&mut out)?;
        if out.len() as u64 > limit {
            return Err(ImportError::source(format!("expected at most {limit} bytes, found more")));
        }
        Ok(out)
    }

    /// The first bytes, at most `n`; the position is at the start again afterwards.
    pub(crate) fn first(&mut self, n: usize) -> io::Result<Vec<u8>> {
        self.bytes.seek(SeekFrom::Start(0))?;
        let mut out = Vec::with_capacity(n);
        (&mut self.bytes).take(n as u64).read_to_end(&mut out)?;
        self.bytes.seek(SeekFrom::Start(0))?;
        Ok(out)
    }
}

/// What a headerless or ambiguous file has to be told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ask {
    /// Columns and rows of a headerless raster; a square when `None`.
    pub size: Option<[u32; 2]>,
    /// Whether `--spacing` was given (an `.hgt` of another side than SRTM's is taken only then).
    pub spacing_given: bool,
    /// The byte order of a headerless raster; found out from the data's smoothness when `None`, and noted.
    pub big_endian: Option<bool>,
    /// The 16-bit samples of a headerless raster are signed metres, not levels from 0 to 65535.
    pub signed: bool,
    /// The file's first row is the south edge.
    pub south_up: bool,
    /// The channel (EXR), member or array (zip, npz) to take; the only sensible one when `None`.
    pub channel: Option<String>,
    /// Metres of code 0 and of one code step of RGB-coded heights; the format's own when `None`.
    pub rgb: Option<(f64, f64)>,
}

/// Raw values in their own type, X fastest, row 0 north.
#[derive(Clone, Debug, PartialEq)]
pub enum Samples {
    /// Unsigned 8-bit (and less).
    U8(Vec<u8>),
    /// Unsigned 16-bit.
    U16(Vec<u16>),
    /// Signed 16-bit.
    I16(Vec<i16>),
    /// Signed 32-bit; 8-bit signed and RGB codes too. Unsigned 32-bit beyond `i32` go to `F64`.
    I32(Vec<i32>),
    /// Single (and half) precision.
    F32(Vec<f32>),
    /// Double precision, and integers of 64 bit (refused beyond 2⁵³).
    F64(Vec<f64>),
}

impl Samples {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Samples::U8(v) => v.len(),
            Samples::U16(v) => v.len(),
            Samples::I16(v) => v.len(),
            Samples::I32(v) => v.len(),
            Samples::F32(v) => v.len(),
            Samples::F64(v) => v.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the values are integers.
    pub fn is_integer(&self) -> bool {
        !matches!(self, Samples::F32(_) | Samples::F64(_))
    }

    /// The value at an index, exactly.
    pub fn get(&self, i: usize) -> f64 {
        match self {
            Samples::U8(v) => f64::from(v[i]),
            Samples::U16(v) => f64::from(v[i]),
            Samples::I16(v) => f64::from(v[i]),
            Samples::I32(v) => f64::from(v[i]),
            Samples::F32(v) => f64::from(v[i]),
            Samples::F64(v) => v[i],
        }
    }
}

/// One bit a sample: set where there is no data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Voids {
    /// Empty while nothing is void.
    words: Vec<u64>,
    len: usize,
}

impl Voids {
    /// None of `len` samples void; takes no memory until one is.
    pub fn none(len: usize) -> Self {
        Self { words: Vec::new(), len }
    }

    /// Marks a sample.
    pub fn set(&mut self, i: usize) {
        if self.words.is_empty() {
            self.words = vec![0; self.len.div_ceil(64)];
        }
        self.words[i / 64] |= 1 << (i % 64);
    }

    /// Unmarks a sample.
    pub fn clear(&mut self, i: usize) {
        if let Some(word) = self.words.get_mut(i / 64) {
            *word &= !(1 << (i % 64));
        }
    }

    /// Whether a sample is void.
    pub fn get(&self, i: usize) -> bool {
        self.words.get(i / 64).is_some_and(|w| w >> (i % 64) & 1 == 1)
    }

    /// How many are void.
    pub fn count(&self) -> u64 {
        self.words.iter().map(|w| u64::from(w.count_ones())).sum()
    }

    /// Whether any is void.
    pub fn any(&self) -> bool {
        self.words.iter().any(|&w| w != 0)
    }
}

/// What the raw values mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Meaning {
    /// Metres = raw · scale + offset (1 and 0 unless the file declares others).
    Metres {
        /// Metres of one raw unit.
        scale: f64,
        /// Metres of raw 0.
        offset: f64,
    },
    /// Levels of an image or RAW from 0 to `max`: `--min` and `--max` say what they stand for.
    Levels {
        /// The highest level: 255 or 65535. Floating-point images have 1.
        max: u32,
    },
}

/// Where the file says that it lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    /// It does not say.
    None,
    /// In metres (or feet, converted): distances between columns and rows, both positive.
    Metres {
        /// Between columns.
        step_x: f64,
        /// Between rows.
        step_z: f64,
    },
    /// In degrees.
    Degrees {
        /// Latitude of the first row's samples (their centres).
        north_deg: f64,
        /// Longitude of the first column's samples.
        west_deg: f64,
        /// Degrees between columns, positive.
        step_x_deg: f64,
        /// Degrees between rows, positive (southwards).
        step_z_deg: f64,
    },
}

/// A decoded source.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// Columns and rows.
    pub size: [u32; 2],
    /// `size[0] · size[1]` values, X fastest, row 0 north.
    pub samples: Samples,
    /// Samples that the file itself calls void (its declared nodata value, SRTM's −32768, alpha 0, NaN where NaN is
    /// declared). NaN and infinities that nothing declares stay in `samples`: the importer refuses or voids them.
    pub voids: Voids,
    /// Which format it was.
    pub format: SourceFormat,
    /// The declared nodata value, for the record.
    pub nodata: Option<f64>,
    /// What the values mean.
    pub meaning: Meaning,
    /// Where it lies.
    pub place: Place,
    /// What a sample stands for.
    pub registration: Registration,
    /// Cells that the file removes (Terrain3D holes): one byte a cell, `(size[0] − 1) · (size[1] − 1)`, nonzero =
    /// removed; empty when it removes none.
    pub hole_cells: Vec<u8>,
    /// Painted layers, if the file has any: per layer its name and one weight a sample, 0..=255.
    pub layers: Vec<(String, Vec<u8>)>,
    /// What was seen and not used, or done and worth saying: each one line.
    pub notes: Vec<String>,
}

/// Refuses a raster that no import may hold, before memory is taken for it: 2 to [`MAX_SAMPLES`] samples a side, at
/// most [`MAX_IMPORT_SAMPLES`] in all.
///
/// # Errors
/// A size outside those limits.
pub(crate) fn check_size(what: &str, width: u64, height: u64) -> Result<[u32; 2], ImportError> {
    let fits = |n: u64| (2..=u64::from(MAX_SAMPLES)).contains(&n);
    if !fits(width) || !fits(height) || width * height > MAX_IMPORT_SAMPLES {
        return Err(ImportError::source(format!(
            "expected {what} of 2 to {MAX_SAMPLES} samples a side and at most {MAX_IMPORT_SAMPLES} in all, found {width}x{height}"
        )));
    }
    Ok([width as u32, height as u32])
}
