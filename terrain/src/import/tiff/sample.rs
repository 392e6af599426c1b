//! Samples of one band: from the bytes of a row to numbers of their own type, and which of them are "no data".

use super::refuse;
use crate::import::ImportError;
use crate::import::source::{Samples, Voids};
use half::f16;

/// Integers up to here are exact as doubles.
const EXACT: i128 = 1 << 53;

/// What a sample is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Unsigned,
    Signed,
    Float,
}

/// What a sample is, and its bytes: 1, 2, 4 or 8 (floats 2, 4 or 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) format: Format,
    pub(super) bytes: usize,
}

impl Kind {
    /// # Errors
    /// Bits and formats that are not read.
    pub(super) fn of(bits: u64, format: u64) -> Result<Self, ImportError> {
        let format = match format {
            // 4 says that nothing is known.
            1 | 4 => Format::Unsigned,
            2 => Format::Signed,
            3 => Format::Float,
            5 | 6 => return Err(refuse("expected real samples, found complex ones")),
            n => return Err(refuse(format!("expected a sample format from 1 to 3, found {n}"))),
        };
        let least = if format == Format::Float { 16 } else { 8 };
        if !matches!(bits, 8 | 16 | 32 | 64) || bits < least {
            return Err(refuse(format!(
                "expected samples of 8, 16, 32 or 64 bits (floating point of 16, 32 or 64), found {bits} bits"
            )));
        }
        Ok(Self { format, bytes: bits as usize / 8 })
    }
}

/// The declared "no data" value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Nodata {
    None,
    /// A whole number, exactly.
    Whole(i128),
    /// Any other number, or NaN.
    Float(f64),
}

impl Nodata {
    /// Takes GDAL's text in any form that a number has; `None` when it is none.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Ok(n) = text.parse::<i128>() {
            return Some(Nodata::Whole(n));
        }
        let lower = text.to_ascii_lowercase();
        let v = match lower.trim_start_matches(['-', '+']) {
            "nan" | "1.#qnan" | "1.#ind" | "nan(ind)" => f64::NAN,
            "1.#inf" if lower.starts_with('-') => f64::NEG_INFINITY,
            "1.#inf" => f64::INFINITY,
            _ => lower.parse().ok()?,
        };
        Some(match v {
            // What a double makes of the largest 64-bit integers.
            18_446_744_073_709_551_616.0 => Nodata::Whole(i128::from(u64::MAX)),
            9_223_372_036_854_775_808.0 => Nodata::Whole(i128::from(i64::MAX)),
            // Every whole double up to here is itself as an integer too.
            _ if v.fract() == 0.0 && v.abs() < 1e30 => Nodata::Whole(v as i128),
            _ => Nodata::Float(v),
        })
    }

    /// The value for the record.
    pub(super) fn value(self) -> Option<f64> {
        match self {
            Nodata::None => None,
            Nodata::Whole(n) => Some(n as f64),
            Nodata::Float(v) => Some(v),
        }
    }

    fn whole(self) -> Option<i128> {
        if let Nodata::Whole(n) = self { Some(n) } else { None }
    }

    /// Whether a float is the value, once that is rounded to the samples' own type.
    fn is(own: Option<f64>, v: f64) -> bool {
        own.is_some_and(|own| own == v || own.is_nan() && v.is_nan())
    }
}

/// A whole band.
#[derive(Debug)]
pub(super) enum Band {
    U8(Vec<u8>),
    U16(Vec<u16>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    U32(Vec<u32>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

/// Where one row's samples of one band stand in its bytes, and where they go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    /// The row as the file has it, predictor undone.
    pub(super) bytes: &'a [u8],
    /// Whether its numbers are big-endian.
    pub(super) big: bool,
    /// Bands side by side in it, and which of them this is.
    pub(super) stride: usize,
    pub(super) band: usize,
    /// Samples to take.
    pub(super) count: usize,
    /// The index of the first in the raster.
    pub(super) at: usize,
}

impl Row<'_> {
    /// Calls `put` with the raster's index and the value of each sample.
    fn each<const N: usize, T>(
        &self,
        be: fn([u8; N]) -> T,
        le: fn([u8; N]) -> T,
        mut put: impl FnMut(usize, T),
    ) {
        let read = if self.big { be } else { le };
        let samples = self.bytes.as_chunks::<N>().0.iter().skip(self.band).step_by(self.stride);
        for (i, &b) in samples.take(self.count).enumerate() {
            put(self.at + i, read(b));
        }
    }
}

impl Band {
    /// `n` zeros.
    pub(super) fn new(kind: Kind, n: usize) -> Self {
        match (kind.format, kind.bytes) {
            (Format::Unsigned, 1) => Band::U8(vec![0; n]),
            (Format::Unsigned, 2) => Band::U16(vec![0; n]),
            (Format::Unsigned, 4) => Band::U32(vec![0; n]),
            (Format::Signed, 2) => Band::I16(vec![0; n]),
            (Format::Signed, 1 | 4) => Band::I32(vec![0; n]),
            (Format::Float, 2 | 4) => Band::F32(vec![0.0; n]),
            _ => Band::F64(vec![0.0; n]),
        }
    }

    /// Takes a row in. `void` hears of every sample that is "no data".
    ///
    /// # Errors
    /// An integer that no double holds exactly: its index in the raster, and itself.
    pub(super) fn take(
        &mut self,
        kind: Kind,
        row: Row<'_>,
        nodata: Nodata,
        mut void: impl FnMut(usize),
    ) -> Result<(), (usize, i128)> {
        let whole = nodata.whole();
        let own_f64 = nodata.value();
        let own_f32 = own_f64.map(|v| f64::from(v as f32));
        let own_f16 = own_f64.map(|v| f16::from_f64(v).to_f64());
        let mut too_large = None;
        macro_rules! integers {
            ($out:expr, $kind:ty, $as:ty) => {
                row.each(<$kind>::from_be_bytes, <$kind>::from_le_bytes, |i, v| {
                    if whole == Some(i128::from(v)) {
                        void(i);
                    }
                    $out[i] = <$as>::from(v);
                })
            };
        }
        macro_rules! wide {
            ($out:expr, $kind:ty) => {
                row.each(<$kind>::from_be_bytes, <$kind>::from_le_bytes, |i, v| {
                    let v = i128::from(v);
                    if whole == Some(v) {
                        void(i);
                    } else if v.abs() > EXACT {
                        too_large = too_large.or(Some((i, v)));
                    }
                    $out[i] = v as f64;
                })
            };
        }
        let mut float = |own, i, v| {
            if Nodata::is(own, v) {
                void(i);
            }
        };
        match (self, kind.format) {
            (Band::U8(out), _) => integers!(out, u8, u8),
            (Band::U16(out), _) => integers!(out, u16, u16),
            (Band::U32(out), _) => integers!(out, u32, u32),
            (Band::I16(out), _) => integers!(out, i16, i16),
            (Band::I32(out), _) if kind.bytes == 1 => integers!(out, i8, i32),
            (Band::I32(out), _) => integers!(out, i32, i32),
            (Band::F32(out), _) if kind.bytes == 2 => {
                row.each(u16::from_be_bytes, u16::from_le_bytes, |i, bits| {
                    out[i] = f16::from_bits(bits).to_f32();
                    float(own_f16, i, f64::from(out[i]));
                });
            }
            (Band::F32(out), _) => row.each(f32::from_be_bytes, f32::from_le_bytes, |i, v| {
                float(own_f32, i, f64::from(v));
                out[i] = v;
            }),
            (Band::F64(out), Format::Unsigned) => wide!(out, u64),
            (Band::F64(out), Format::Signed) => wide!(out, i64),
            (Band::F64(out), Format::Float) => row.each(f64::from_be_bytes, f64::from_le_bytes, |i, v| {
                float(own_f64, i, v);
                out[i] = v;
            }),
        }
        too_large.map_or(Ok(()), Err)
    }

    /// The samples as a source has them.
    pub(super) fn samples(self, voids: &Voids) -> Samples {
        match self {
            Band::U8(v) => Samples::U8(v),
            Band::U16(v) => Samples::U16(v),
            Band::I16(v) => Samples::I16(v),
            Band::I32(v) => Samples::I32(v),
            Band::F32(v) => Samples::F32(v),
            Band::F64(v) => Samples::F64(v),
            Band::U32(v) => {
                // A void's value counts for nothing, so that 2³² − 1 as "no data" does not widen the rest.
                let fits = |(i, &v): (usize, &u32)| v <= i32::MAX as u32 || voids.get(i);
                if v.iter().enumerate().all(fits) {
                    Samples::I32(v.into_iter().map(|v| v.min(i32::MAX as u32) as i32).collect())
                } else {
                    Samples::F64(v.into_iter().map(f64::from).collect())
                }
            }
        }
    }
}

/// Undoes predictor 2: every sample is the difference to the one before of its band.
pub(super) fn undo_differences(row: &mut [u8], bytes: usize, stride: usize, big: bool) {
    macro_rules! undo {
        ($kind:ty, $n:literal) => {{
            let samples = row.as_chunks_mut::<$n>().0;
            for i in stride..samples.len() {
                let (before, this) = (samples[i - stride], samples[i]);
                samples[i] = if big {
                    <$kind>::from_be_bytes(this).wrapping_add(<$kind>::from_be_bytes(before)).to_be_bytes()
                } else {
                    <$kind>::from_le_bytes(this).wrapping_add(<$kind>::from_le_bytes(before)).to_le_bytes()
                };
            }
        }};
    }
    match bytes {
        1 => undo!(u8, 1),
        2 => undo!(u16, 2),
        4 => undo!(u32, 4),
        _ => undo!(u64, 8),
    }
}

/// Undoes predictor 3: bytes are differences to those before, and stand by significance, the highest bytes of all
/// samples first. The row is big-endian afterwards; `scratch` is as long as it.
pub(super) fn undo_float(row: &mut [u8], bytes: usize, stride: usize, scratch: &mut Vec<u8>) {
    for i in stride..row.len() {
        row[i] = row[i].wrapping_add(row[i - stride]);
    }
    scratch.clear();
    scratch.extend_from_slice(row);
    let samples = row.len() / bytes;
    for (i, sample) in row.chunks_exact_mut(bytes).enumerate() {
        for (k, byte) in sample.iter_mut().enumerate() {
            *byte = scratch[k * samples + i];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(kind: Kind, bytes: &[u8], big: bool, nodata: Nodata) -> (Samples, Vec<usize>) {
        let n = bytes.len() / kind.bytes;
        let mut band = Band::new(kind, n);
        let mut voids = Voids::none(n);
        let row = Row { bytes, big, stride: 1, band: 0, count: n, at: 0 };
        band.take(kind, row, nodata, |i| voids.set(i)).unwrap();
        let seen = (0..n).filter(|&i| voids.get(i)).collect();
        (band.samples(&voids), seen)
    }

    #[test]
    fn nodata_is_taken_in_any_form() {
        for (text, expected) in [
            ("-32767", Nodata::Whole(-32_767)),
            ("  -9999.0 ", Nodata::Whole(-9_999)),
            ("-9.999e3", Nodata::Whole(-9_999)),
            ("-9223372036854775808", Nodata::Whole(i128::from(i64::MIN))),
            ("18446744073709551615", Nodata::Whole(i128::from(u64::MAX))),
            ("1.8446744073709552e+19", Nodata::Whole(i128::from(u64::MAX))),
            ("0.5", Nodata::Float(0.5)),
            ("-inf", Nodata::Float(f64::NEG_INFINITY)),
            ("-3.4e38", Nodata::Float(-3.4e38)),
        ] {
            assert_eq!(Nodata::parse(text), Some(expected), "{text}");
        }
        for text in ["nan", "NaN", "-nan", "1.#QNAN", "-1.#IND"] {
            assert!(Nodata::parse(text).unwrap().value().unwrap().is_nan(), "{text}");
        }
        for text in ["", "none", "1,5", "--1"] {
            assert_eq!(Nodata::parse(text), None, "{text}");
        }
    }

    #[test]
    fn nodata_is_compared_in_the_samples_own_type() {
        let f32_kind = Kind { format: Format::Float, bytes: 4 };
        // −3.4e38 as a double is no float: the float nearest to it is meant.
        let bytes: Vec<u8> = [-3.4e38_f32, 1.0, f32::NAN].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(take(f32_kind, &bytes, false, Nodata::parse("-3.4e38").unwrap()).1, [0]);
        assert_eq!(take(f32_kind, &bytes, false, Nodata::parse("1").unwrap()).1, [1]);
        assert_eq!(take(f32_kind, &bytes, false, Nodata::parse("nan").unwrap()).1, [2]);
        assert_eq!(take(f32_kind, &bytes, false, Nodata::None).1, [0; 0]);
        // 65535 of 16 bits; −1 is not 65535.
        let u16_kind = Kind { format: Format::Unsigned, bytes: 2 };
        assert_eq!(take(u16_kind, &[255, 255, 0, 0], true, Nodata::Whole(65_535)).1, [0]);
        assert_eq!(take(u16_kind, &[255, 255, 0, 0], true, Nodata::Whole(-1)).1, [0; 0]);
        // 0.1 as a half is 0x2e66.
        let f16_kind = Kind { format: Format::Float, bytes: 2 };
        assert_eq!(take(f16_kind, &[0x66, 0x2e, 0x67, 0x2e], false, Nodata::Float(0.1)).1, [0]);
    }

    #[test]
    fn integers_of_64_bits_are_exact_or_refused() {
        let kind = Kind { format: Format::Signed, bytes: 8 };
        let largest = (1i64 << 53) - 1;
        let bytes: Vec<u8> = [largest, -largest, i64::MIN].iter().flat_map(|v| v.to_be_bytes()).collect();
        let nodata = Nodata::Whole(i128::from(i64::MIN));
        let (samples, voids) = take(kind, &bytes, true, nodata);
        assert_eq!(voids, [2]);
        assert_eq!((samples.get(0), samples.get(1)), (9_007_199_254_740_991.0, -9_007_199_254_740_991.0));
        let row = Row { bytes: &bytes, big: true, stride: 1, band: 0, count: 3, at: 10 };
        let mut band = Band::new(kind, 13);
        let error = band.take(kind, row, Nodata::None, |_| {}).unwrap_err();
        assert_eq!(error, (12, i128::from(i64::MIN)));
    }

    #[test]
    fn unsigned_32_bits_are_integers_while_they_fit() {
        let kind = Kind { format: Format::Unsigned, bytes: 4 };
        let bytes = [0xff, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff];
        let (samples, voids) = take(kind, &bytes, true, Nodata::Whole(4_294_967_295));
        assert_eq!((samples, voids), (Samples::I32(vec![i32::MAX, i32::MAX]), vec![0]));
        let (samples, _) = take(kind, &bytes, true, Nodata::None);
        assert_eq!(samples, Samples::F64(vec![4_294_967_295.0, 2_147_483_647.0]));
    }

    #[test]
    fn predictors_are_undone_per_band_in_either_byte_order() {
        // Two bands of 16 bits: 1000, 5 | +1, −1 | +255, +1.
        let expected = [1000u16, 5, 1001, 4, 1256, 5];
        let differences = [1000u16, 5, 1, 0xffff, 255, 1];
        for big in [false, true] {
            let bytes = |v: u16| if big { v.to_be_bytes() } else { v.to_le_bytes() };
            let mut row: Vec<u8> = differences.iter().flat_map(|&v| bytes(v)).collect();
            undo_differences(&mut row, 2, 2, big);
            assert_eq!(row, expected.iter().flat_map(|&v| bytes(v)).collect::<Vec<_>>());
        }
        // 1.0 = 3f800000 and 2.0 = 40000000: planes 3f 40 | 80 00 | 00 00 | 00 00, as differences.
        let mut row = [0x3f, 0x01, 0x40, 0x80, 0x00, 0x00, 0x00, 0x00];
        undo_float(&mut row, 4, 1, &mut Vec::new());
        assert_eq!(row, [0x3f, 0x80, 0, 0, 0x40, 0, 0, 0]);
    }
}
