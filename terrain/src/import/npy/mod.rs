//! NumPy arrays: `.npy` of versions 1 to 3, and, in [`npz`], zips of them.
//!
//! Owns the header, the element types and the orders of an array. Never evaluates Python: the header's dictionary is
//! read by hand, strictly.

mod dict;
mod npz;
mod place;

pub(crate) use npz::read as read_npz;

use super::source::{Ask, Input, Meaning, Place, Samples, Source, Voids, check_size};
use super::{ImportError, Registration, SourceFormat};
use std::io::{BufReader, Read, Seek, SeekFrom};

/// The longest header that is read.
const MAX_HEADER_BYTES: u32 = 1 << 16;

/// Bytes that are converted at a time: a multiple of every element's size.
const BUFFER_BYTES: usize = 1 << 16;

/// Integers up to this one are exact in double precision.
const EXACT: u64 = 1 << 53;

/// Reads a file of one array: its values are metres, row 0 is north (unless asked otherwise). Axes of length 1 before
/// or after two others are dropped. Single bytes, 16- and 32-bit integers stay integers where they fit.
///
/// # Errors
/// Another element type or number of axes, integers beyond 2⁵³, more or fewer bytes than the header promises.
pub(crate) fn read(input: &mut Input, ask: &Ask) -> Result<Source, ImportError> {
    input.bytes.seek(SeekFrom::Start(0))?;
    let mut from = BufReader::new(&mut input.bytes);
    let head = Head::read(&mut from)?;
    let (size, mut notes) = head.raster()?;
    let found = input.len.saturating_sub(head.bytes);
    if found != head.data_bytes() {
        return Err(ImportError::source(format!(
            "expected {} bytes for {} after the header, found {found}: truncated?",
            head.data_bytes(),
            head.shown()
        )));
    }
    let mut samples = head.values(&mut from)?;
    if ask.south_up {
        turn(&mut samples, size[0] as usize, Turn::Rows);
        notes.push("rows turned: the file's first is the south edge, as asked".to_owned());
    }
    Ok(Source {
        size,
        voids: Voids::none(samples.len()),
        samples,
        format: SourceFormat::Npy,
        nodata: None,
        meaning: Meaning::Metres { scale: 1.0, offset: 0.0 },
        place: Place::None,
        registration: Registration::Point,
        hole_cells: Vec::new(),
        layers: Vec::new(),
        notes,
    })
}

/// What is put the other way round.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Turn {
    /// The order of rows.
    Rows,
    /// The order of columns.
    Columns,
}

fn turn(samples: &mut Samples, width: usize, which: Turn) {
    fn of<T>(values: &mut [T], width: usize, which: Turn) {
        match which {
            Turn::Rows => super::raw::flip_rows(values, width),
            Turn::Columns => values.chunks_exact_mut(width).for_each(<[T]>::reverse),
        }
    }
    match samples {
        Samples::U8(v) => of(v, width, which),
        Samples::U16(v) => of(v, width, which),
        Samples::I16(v) => of(v, width, which),
        Samples::I32(v) => of(v, width, which),
        Samples::F32(v) => of(v, width, which),
        Samples::F64(v) => of(v, width, which),
    }
}

/// What an array is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Signed,
    Unsigned,
    Float,
}

/// An array's header.
#[derive(Clone, Debug, PartialEq)]
struct Head {
    kind: Kind,
    /// Of an element: 1, 2, 4 or 8.
    size: usize,
    big_endian: bool,
    /// The first axis runs fastest.
    fortran: bool,
    shape: Vec<u64>,
    /// Of the header, and so where the data begins.
    bytes: u64,
}

impl Head {
    /// Reads a header; the data follows.
    fn read(from: &mut impl Read) -> Result<Self, ImportError> {
        let cut = |e: std::io::Error| match e.kind() {
            std::io::ErrorKind::UnexpectedEof => {
                ImportError::source("expected a NumPy array's header, found the end of the file: truncated?")
            }
            _ => ImportError::Io(e),
        };
        let mut start = [0; 8];
        from.read_exact(&mut start).map_err(cut)?;
        let version = start[6];
        if !start.starts_with(b"\x93NUMPY") || !(1..=3).contains(&version) || start[7] != 0 {
            return Err(ImportError::source(format!(
                "expected a NumPy array of version 1.0, 2.0 or 3.0, found bytes that begin with {start:02x?}"
            )));
        }
        let wide = if version == 1 { 2 } else { 4 };
        let mut length = [0; 4];
        from.read_exact(&mut length[..wide]).map_err(cut)?;
        let length = u32::from_le_bytes(length);
        if length > MAX_HEADER_BYTES {
            return Err(ImportError::source(format!(
                "expected a header of at most {MAX_HEADER_BYTES} bytes, found {length} claimed"
            )));
        }
        let mut text = vec![0; length as usize];
        from.read_exact(&mut text).map_err(cut)?;
        let dict = dict::parse(&text).map_err(|e| ImportError::source(format!("NumPy header: {e}")))?;
        let (kind, size, big_endian) = element(&dict.descr)?;
        Ok(Self {
            kind,
            size,
            big_endian,
            fortran: dict.fortran,
            shape: dict.shape,
            bytes: 8 + wide as u64 + u64::from(length),
        })
    }

    /// Bytes of the data; saturated where no file can have as many.
    fn data_bytes(&self) -> u64 {
        self.shape.iter().fold(self.size as u64, |n, &axis| n.saturating_mul(axis))
    }

    /// The two axes (rows, columns) that are left when those of length 1 before and after them are dropped.
    fn axes(&self) -> Option<[u64; 2]> {
        let mut shape = &self.shape[..];
        while let [1, rest @ ..] = shape
            && rest.len() >= 2
        {
            shape = rest;
        }
        while let [rest @ .., 1] = shape
            && rest.len() >= 2
        {
            shape = rest;
        }
        <[u64; 2]>::try_from(shape).ok()
    }

    /// Columns and rows, and what is worth saying about them.
    fn raster(&self) -> Result<([u32; 2], Vec<String>), ImportError> {
        let Some([rows, columns]) = self.axes() else {
            return Err(ImportError::source(format!(
                "expected an array of two axes, rows and columns, found {}",
                self.shown()
            )));
        };
        let size = check_size("an array", columns, rows)?;
        let mut notes = Vec::new();
        if self.shape.len() != 2 {
            notes.push(format!("axes of length 1 dropped from {}", self.shown()));
        }
        Ok((size, notes))
    }

    /// Type and shape, for messages.
    fn shown(&self) -> String {
        let kind = match self.kind {
            Kind::Signed => "int",
            Kind::Unsigned => "uint",
            Kind::Float => "float",
        };
        let shape: Vec<String> = self.shape.iter().take(8).map(u64::to_string).collect();
        format!("{kind}{} ({})", self.size * 8, shape.join(", "))
    }

    /// All values, with the last axis fastest, whichever is in the file. Whoever calls has checked their number.
    fn values(&self, from: &mut impl Read) -> Result<Samples, ImportError> {
        let be = self.big_endian;
        macro_rules! number {
            ($t:ty, $b:expr) => {
                if be { <$t>::from_be_bytes($b) } else { <$t>::from_le_bytes($b) }
            };
        }
        Ok(match (self.kind, self.size) {
            (Kind::Signed, 1) => Samples::I32(self.each(from, |b, _| Ok(i32::from(number!(i8, b))))?),
            (Kind::Signed, 2) => Samples::I16(self.each(from, |b, _| Ok(number!(i16, b)))?),
            (Kind::Signed, 4) => Samples::I32(self.each(from, |b, _| Ok(number!(i32, b)))?),
            (Kind::Signed, _) => Samples::F64(self.each(from, |b, i| {
                let v = number!(i64, b);
                if v.unsigned_abs() <= EXACT { Ok(v as f64) } else { Err(self.inexact(i, &v)) }
            })?),
            (Kind::Unsigned, 1) => Samples::U8(self.each(from, |[b], _| Ok(b))?),
            (Kind::Unsigned, 2) => Samples::U16(self.each(from, |b, _| Ok(number!(u16, b)))?),
            (Kind::Unsigned, 4) => fit(self.each(from, |b, _| Ok(number!(u32, b)))?),
            (Kind::Unsigned, _) => Samples::F64(self.each(from, |b, i| {
                let v = number!(u64, b);
                if v <= EXACT { Ok(v as f64) } else { Err(self.inexact(i, &v)) }
            })?),
            (Kind::Float, 2) => Samples::F32(self.each(from, |b, _| Ok(half(number!(u16, b))))?),
            (Kind::Float, 4) => Samples::F32(self.each(from, |b, _| Ok(number!(f32, b)))?),
            (Kind::Float, _) => Samples::F64(self.each(from, |b, _| Ok(number!(f64, b)))?),
        })
    }

    fn inexact(&self, i: usize, value: &dyn std::fmt::Display) -> ImportError {
        ImportError::source(format!("element {i}: expected an integer up to 2^53, found {value}"))
    }

    fn each<T: Copy + Default, const N: usize>(
        &self,
        from: &mut impl Read,
        convert: impl Fn([u8; N], usize) -> Result<T, ImportError>,
    ) -> Result<Vec<T>, ImportError> {
        let count = self.shape.iter().product::<u64>() as usize;
        let columns =
            self.axes().filter(|_| self.fortran).map(|[rows, columns]| (rows as usize, columns as usize));
        let mut values = Vec::with_capacity(count);
        if columns.is_some() {
            values.resize(count, T::default());
        }
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut i = 0;
        while i < count {
            let part = &mut buffer[..((count - i) * N).min(BUFFER_BYTES)];
            from.read_exact(part).map_err(|e| match e.kind() {
                std::io::ErrorKind::UnexpectedEof => ImportError::source(format!(
                    "expected {count} elements for {}, found fewer: truncated?",
                    self.shown()
                )),
                _ => ImportError::source(format!("expected {}, found damaged data: {e}", self.shown())),
            })?;
            for &bytes in part.as_chunks::<N>().0 {
                let value = convert(bytes, i)?;
                match columns {
                    // Element i of a column-wise array is in row i % rows of column i / rows.
                    Some((rows, columns)) => values[i % rows * columns + i / rows] = value,
                    None => values.push(value),
                }
                i += 1;
            }
        }
        Ok(values)
    }
}

/// Unsigned integers as signed ones where all fit.
fn fit(values: Vec<u32>) -> Samples {
    if values.iter().all(|&v| i32::try_from(v).is_ok()) {
        Samples::I32(values.into_iter().map(|v| v as i32).collect())
    } else {
        Samples::F64(values.into_iter().map(f64::from).collect())
    }
}

/// A half-precision number, exactly.
fn half(bits: u16) -> f32 {
    let (exponent, mantissa) = (u32::from(bits >> 10 & 0x1f), u32::from(bits & 0x3ff));
    let magnitude = match exponent {
        // Multiples of 2⁻²⁴; the products are exact.
        0 => mantissa as f32 * f32::from_bits(103 << 23),
        0x1f => f32::from_bits(0x7f80_0000 | mantissa << 13),
        _ => f32::from_bits((exponent + 112) << 23 | mantissa << 13),
    };
    f32::from_bits(magnitude.to_bits() | u32::from(bits & 0x8000) << 16)
}

/// The meaning of a `descr`, such as `<f4`.
fn element(descr: &str) -> Result<(Kind, usize, bool), ImportError> {
    let wrong = || {
        ImportError::source(format!(
            "expected an array of i1, i2, i4, i8, u1, u2, u4, u8, f2, f4 or f8, found {}",
            descr.escape_default().take(60).collect::<String>()
        ))
    };
    let mut of = descr.chars();
    let (Some(order), Some(kind), Some(size), None) = (of.next(), of.next(), of.next(), of.next()) else {
        return Err(wrong());
    };
    let kind = match kind {
        'i' => Kind::Signed,
        'u' => Kind::Unsigned,
        'f' => Kind::Float,
        _ => return Err(wrong()),
    };
    let size = match (size, kind) {
        ('1', Kind::Signed | Kind::Unsigned) => 1,
        ('2', _) => 2,
        ('4', _) => 4,
        ('8', _) => 8,
        _ => return Err(wrong()),
    };
    match order {
        '<' => Ok((kind, size, false)),
        '>' => Ok((kind, size, true)),
        '|' if size == 1 => Ok((kind, size, false)),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests;
