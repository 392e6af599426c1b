//! Headerless rasters: `.r8`, `.r16`, `.raw` (16-bit) and `.r32`.
//!
//! Owns their size, their byte order (asked for, else found from the data and said) and their row order. Never says
//! what 8- and unsigned 16-bit levels stand for in metres. The peak of memory is the samples and one small buffer.

use super::source::{Ask, Input, Meaning, Place, Samples, Source, Voids, check_size};
use super::{ImportError, Registration, SourceFormat};
use std::io::{Read, Seek, SeekFrom};

/// Bytes that are converted at a time: a multiple of every sample's size.
const BUFFER_BYTES: usize = 1 << 16;

/// An order of bytes is taken where the other looks at least this many times worse.
const CLEARLY: u64 = 2;

/// An order that was asked for is doubted aloud where it looks at least this many times worse than the other.
const DOUBTFUL: u64 = 4;

/// Magnitudes that heights in metres have, zero aside: 2⁻²⁰ to 2²⁰.
const PLAUSIBLE: std::ops::RangeInclusive<f32> = 9.536_743e-7..=1_048_576.0;

/// Reads 8-bit levels from 0 to 255.
///
/// # Errors
/// A length that does not fit the size asked for, or is no square where none is.
pub(crate) fn read8(input: &mut Input, ask: &Ask) -> Result<Source, ImportError> {
    let size = size_of(input, ask, 1)?;
    input.bytes.seek(SeekFrom::Start(0))?;
    let mut values = vec![0; samples_in(size)];
    input.bytes.read_exact(&mut values).map_err(shortened)?;
    let mut notes = Vec::new();
    flip(&mut values, size, ask, &mut notes);
    Ok(source(size, Samples::U8(values), SourceFormat::Raw8, Meaning::Levels { max: 255 }, notes))
}

/// Reads 16-bit samples: levels from 0 to 65535, or signed metres where [`Ask::signed`] says so.
///
/// Without a byte order the smoother one is taken where the sum of its steps between neighbours in rows and columns is at
/// most half of the other's; little-endian otherwise. Which it was, and why, is noted.
///
/// # Errors
/// As [`read8`].
pub(crate) fn read16(input: &mut Input, ask: &Ask) -> Result<Source, ImportError> {
    let size = size_of(input, ask, 2)?;
    let mut notes = Vec::new();
    let (samples, meaning) = if ask.signed {
        let mut values = chunks(input, size, i16::from_le_bytes)?;
        let step = |a: i16, b: i16| u64::from(a.abs_diff(b));
        order16(&mut values, size, ask, &mut notes, i16::swap_bytes, step);
        flip(&mut values, size, ask, &mut notes);
        (Samples::I16(values), Meaning::Metres { scale: 1.0, offset: 0.0 })
    } else {
        let mut values = chunks(input, size, u16::from_le_bytes)?;
        let step = |a: u16, b: u16| u64::from(a.abs_diff(b));
        order16(&mut values, size, ask, &mut notes, u16::swap_bytes, step);
        flip(&mut values, size, ask, &mut notes);
        (Samples::U16(values), Meaning::Levels { max: 65_535 })
    };
    Ok(source(size, samples, SourceFormat::Raw16, meaning, notes))
}

/// Reads single-precision metres; NaN and infinities stay.
///
/// Without a byte order the one is taken that has at least twice as many plausible heights (2⁻²⁰ to 2²⁰ m in magnitude;
/// zeros count for neither); little-endian otherwise. Which it was, and why, is noted.
///
/// # Errors
/// As [`read8`].
pub(crate) fn read32(input: &mut Input, ask: &Ask) -> Result<Source, ImportError> {
    let size = size_of(input, ask, 4)?;
    let mut notes = Vec::new();
    let mut values = chunks(input, size, f32::from_le_bytes)?;
    let swap = |v: f32| f32::from_bits(v.to_bits().swap_bytes());
    let plausible =
        |f: &dyn Fn(f32) -> f32| values.iter().filter(|&&v| PLAUSIBLE.contains(&f(v).abs())).count() as u64;
    let (little, big) = (plausible(&|v| v), plausible(&swap));
    let seen = |of: u64| format!("{of} of {} samples plausible", values.len());
    if order(ask, (big, &seen(little)), (little, &seen(big)), &mut notes) {
        values.iter_mut().for_each(|v| *v = swap(*v));
    }
    flip(&mut values, size, ask, &mut notes);
    let meaning = Meaning::Metres { scale: 1.0, offset: 0.0 };
    Ok(source(size, Samples::F32(values), SourceFormat::Raw32, meaning, notes))
}

fn source(
    size: [u32; 2],
    samples: Samples,
    format: SourceFormat,
    meaning: Meaning,
    notes: Vec<String>,
) -> Source {
    Source {
        size,
        voids: Voids::none(samples.len()),
        samples,
        format,
        nodata: None,
        meaning,
        place: Place::None,
        registration: Registration::Point,
        hole_cells: Vec::new(),
        layers: Vec::new(),
        notes,
    }
}

fn samples_in(size: [u32; 2]) -> usize {
    size[0] as usize * size[1] as usize
}

/// Columns and rows of a file with samples of so many bytes.
fn size_of(input: &Input, ask: &Ask, sample: u64) -> Result<[u32; 2], ImportError> {
    check_bytes(input.len, ask.size, sample * 8)
}

/// Columns and rows of so many bytes of samples of so many bits.
///
/// # Errors
/// A length that does not suit the size asked for, or is no square; more samples than are imported.
pub(crate) fn check_bytes(bytes: u64, asked: Option<[u32; 2]>, bits: u64) -> Result<[u32; 2], ImportError> {
    let sample = bits / 8;
    if let Some([w, h]) = asked {
        let size = check_size("a raster", u64::from(w), u64::from(h))?;
        let expected = u64::from(w) * u64::from(h) * sample;
        if expected != bytes {
            return Err(ImportError::usage(format!(
                "expected {expected} bytes for {w}x{h} {bits}-bit samples, found {bytes}: {}pass another --size or --format",
                if bytes < expected { "truncated, or " } else { "" }
            )));
        }
        return Ok(size);
    }
    let side = (bytes / sample).isqrt();
    if side == 0 || side * side * sample != bytes {
        return Err(ImportError::usage(format!(
            "{bytes} bytes are no square of {bits}-bit samples: pass --size WxH"
        )));
    }
    check_size("a raster", side, side)
}

/// The file's samples, converted a buffer at a time. The length has been checked.
fn chunks<T, const N: usize>(
    input: &mut Input,
    size: [u32; 2],
    convert: impl Fn([u8; N]) -> T,
) -> Result<Vec<T>, ImportError> {
    input.bytes.seek(SeekFrom::Start(0))?;
    let mut values = Vec::with_capacity(samples_in(size));
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut left = samples_in(size) * N;
    while left > 0 {
        let part = &mut buffer[..left.min(BUFFER_BYTES)];
        input.bytes.read_exact(part).map_err(shortened)?;
        values.extend(part.as_chunks::<N>().0.iter().map(|&b| convert(b)));
        left -= part.len();
    }
    Ok(values)
}

fn shortened(error: std::io::Error) -> ImportError {
    if error.kind() == std::io::ErrorKind::UnexpectedEof {
        ImportError::source(
            "expected a whole raster, found a file that ends too early: did it change while it was read?",
        )
    } else {
        ImportError::Io(error)
    }
}

/// Puts 16-bit samples, read as little-endian, in the order that was asked for or is the smoother.
fn order16<T: Copy>(
    values: &mut [T],
    size: [u32; 2],
    ask: &Ask,
    notes: &mut Vec<String>,
    swap: impl Fn(T) -> T,
    step: impl Fn(T, T) -> u64,
) {
    let (w, h) = (size[0] as usize, size[1] as usize);
    let (mut little, mut big) = (0, 0);
    let mut look = |a: T, b: T| {
        little += step(a, b);
        big += step(swap(a), swap(b));
    };
    for z in 0..h {
        let row = &values[z * w..(z + 1) * w];
        row.windows(2).for_each(|pair| look(pair[0], pair[1]));
        if let Some(next) = values.get((z + 1) * w..(z + 2) * w) {
            row.iter().zip(next).for_each(|(&a, &b)| look(a, b));
        }
    }
    let pairs = ((w - 1) * h + w * (h - 1)) as u64;
    let seen = |of: u64| format!("mean step {}", of / pairs);
    if order(ask, (little, &seen(little)), (big, &seen(big)), notes) {
        values.iter_mut().for_each(|v| *v = swap(*v));
    }
}

/// Whether the bytes are big-endian. `little` and `big` say how bad each order looks, in a number and in words.
fn order(ask: &Ask, little: (u64, &str), big: (u64, &str), notes: &mut Vec<String>) -> bool {
    let better = |a: u64, b: u64, times: u64| b > 0 && a.saturating_mul(times) <= b;
    let names = ["little-endian", "big-endian"];
    let words = format!("{} as little-endian, {} as big-endian", little.1, big.1);
    if let Some(asked) = ask.big_endian {
        let (this, other) = if asked { (big, little) } else { (little, big) };
        if better(other.0, this.0, DOUBTFUL) {
            notes.push(format!(
                "read as {} as asked, though the other byte order looks right ({words})",
                names[usize::from(asked)]
            ));
        }
        return asked;
    }
    let found = better(big.0, little.0, CLEARLY);
    let certain = found || better(little.0, big.0, CLEARLY);
    let how = if certain { "found from the data" } else { "assumed, the data does not tell" };
    notes.push(format!("{} {how} ({words})", names[usize::from(found)]));
    found
}

/// Turns the rows so that the first is north.
fn flip<T>(values: &mut [T], size: [u32; 2], ask: &Ask, notes: &mut Vec<String>) {
    if ask.south_up {
        flip_rows(values, size[0] as usize);
        notes.push("rows turned: the file's first is the south edge, as asked".to_owned());
    }
}

/// Reverses the order of rows of a width, in place.
pub(super) fn flip_rows<T>(values: &mut [T], width: usize) {
    let rows = values.len() / width;
    for z in 0..rows / 2 {
        let (top, rest) = values.split_at_mut((rows - 1 - z) * width);
        top[z * width..(z + 1) * width].swap_with_slice(&mut rest[..width]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask() -> Ask {
        Ask::default()
    }

    fn bytes16(values: &[u16]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    fn swapped(bytes: &[u8], of: usize) -> Vec<u8> {
        bytes.chunks_exact(of).flat_map(|b| b.iter().rev().copied().collect::<Vec<_>>()).collect()
    }

    /// A slope whose steps are small in its own byte order: 2 and 100.
    fn slope() -> Vec<u16> {
        (0..30u16).map(|i| 40_000 + i % 6 * 2 + i / 6 * 100).collect()
    }

    fn input(bytes: Vec<u8>) -> Input {
        Input::of_bytes("a.raw", bytes)
    }

    #[test]
    fn the_smoother_byte_order_is_taken_and_said() {
        let sized = Ask { size: Some([6, 5]), ..ask() };
        for (bytes, name) in
            [(bytes16(&slope()), "little-endian found"), (swapped(&bytes16(&slope()), 2), "big-endian found")]
        {
            let source = read16(&mut input(bytes), &sized).unwrap();
            assert_eq!((source.size, source.samples), ([6, 5], Samples::U16(slope())));
            assert_eq!(source.meaning, Meaning::Levels { max: 65_535 });
            assert!(source.notes[0].starts_with(name), "{:?}", source.notes);
        }
    }

    #[test]
    fn a_slope_from_north_to_south_alone_tells_the_byte_order() {
        let rows: Vec<u16> = (0..16u16).map(|i| 1000 + i / 4 * 3).collect();
        let source = read16(&mut input(swapped(&bytes16(&rows), 2)), &ask()).unwrap();
        assert_eq!(source.samples, Samples::U16(rows));
    }

    #[test]
    fn data_that_does_not_tell_is_little_endian_and_said() {
        // 0x0101 and 0x0202 read the same either way round.
        let values: Vec<u16> = (0..9).map(|i| if i % 2 == 0 { 0x0101 } else { 0x0202 }).collect();
        for values in [values, vec![0; 9], vec![0x1234; 9]] {
            let source = read16(&mut input(bytes16(&values)), &ask()).unwrap();
            assert_eq!(source.samples, Samples::U16(values));
            assert!(source.notes[0].starts_with("little-endian assumed"), "{:?}", source.notes);
        }
    }

    #[test]
    fn an_order_that_is_asked_for_is_taken_and_doubted_aloud() {
        let asked = |big| Ask { size: Some([6, 5]), big_endian: Some(big), ..ask() };
        let right = read16(&mut input(bytes16(&slope())), &asked(false)).unwrap();
        assert_eq!((right.samples, right.notes), (Samples::U16(slope()), vec![]));
        let wrong = read16(&mut input(bytes16(&slope())), &asked(true)).unwrap();
        assert_eq!(wrong.samples, Samples::U16(slope().iter().map(|v| v.swap_bytes()).collect()));
        assert!(wrong.notes[0].contains("read as big-endian as asked"), "{:?}", wrong.notes);
    }

    #[test]
    fn signed_samples_are_metres() {
        let values: [i16; 9] = [-5, -4, -3, -2, -1, 0, 1, 2, -32_767];
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_be_bytes()).collect();
        let source =
            read16(&mut input(bytes), &Ask { signed: true, big_endian: Some(true), ..ask() }).unwrap();
        assert_eq!(source.samples, Samples::I16(values.to_vec()));
        assert_eq!(source.meaning, Meaning::Metres { scale: 1.0, offset: 0.0 });
        assert!(!source.voids.any());
    }

    #[test]
    fn rows_from_the_south_are_turned() {
        for rows in [2u8, 3, 4] {
            let bytes: Vec<u8> = (0..rows * 2).collect();
            let asked = Ask { size: Some([2, rows.into()]), south_up: true, ..ask() };
            let source = read8(&mut input(bytes.clone()), &asked).unwrap();
            let turned: Vec<u8> = bytes.chunks(2).rev().flatten().copied().collect();
            assert_eq!(source.samples, Samples::U8(turned));
            assert_eq!(source.meaning, Meaning::Levels { max: 255 });
            assert_eq!(source.notes.len(), 1);
        }
    }

    #[test]
    fn floats_keep_nan_and_infinities_in_either_order() {
        let mut values: Vec<f32> = (0..16).map(|i| 300.25 - i as f32 * 50.1).collect();
        (values[3], values[4], values[5], values[6]) = (f32::NAN, f32::INFINITY, 0.0, -3.4e38);
        let little: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        for bytes in [little.clone(), swapped(&little, 4)] {
            let source = read32(&mut input(bytes), &ask()).unwrap();
            let Samples::F32(read) = source.samples else { panic!("floats") };
            assert!(read.iter().zip(&values).all(|(a, b)| a.to_bits() == b.to_bits()), "{read:?}");
            assert!(source.notes[0].contains("-endian found"), "{:?}", source.notes);
            assert!(!source.voids.any());
        }
    }

    #[test]
    fn nodata_that_fills_most_of_a_float_raster_does_not_turn_its_order() {
        // Swapped, the bytes of -3.4028235e38 are a NaN.
        let mut values = vec![f32::MIN; 100];
        values[40..50].copy_from_slice(&[101.5, 102.25, 99.0, 98.5, 97.0, 101.0, 1.5, 2.5, 3.25, 100.0]);
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(read32(&mut input(bytes), &ask()).unwrap().samples, Samples::F32(values));
    }

    #[test]
    fn more_than_one_buffer_is_read_whole() {
        let values: Vec<u16> = (0..300u32 * 300).map(|i| (i / 300 * 7 + i % 300 * 3) as u16).collect();
        let source = read16(&mut input(bytes16(&values)), &ask()).unwrap();
        assert_eq!((source.size, source.samples), ([300, 300], Samples::U16(values)));
    }

    #[test]
    fn lengths_that_fit_no_size_are_refused_with_what_to_pass() {
        type Reader = fn(&mut Input, &Ask) -> Result<Source, ImportError>;
        for (read, sample) in [(read8 as Reader, 1usize), (read16, 2), (read32, 4)] {
            for n in 0..4 * sample {
                let error = read(&mut input(vec![0; n]), &ask()).unwrap_err().to_string();
                let odd = n != sample || error.contains("2 to 131072 samples a side");
                assert!(odd && (n == sample || error.contains("pass --size WxH")), "{n}: {error}");
                let sized = Ask { size: Some([2, 2]), ..ask() };
                let error = read(&mut input(vec![0; n]), &sized).unwrap_err().to_string();
                assert!(error.contains(&format!("expected {} bytes", 4 * sample)), "{error}");
            }
            assert!(read(&mut input(vec![0; 4 * sample]), &ask()).is_ok());
            for size in [[200_000, 200_000], [1, 4], [0, 0], [u32::MAX, u32::MAX], [131_072, 131_072]] {
                let error = read(&mut input(vec![0; 4 * sample]), &Ask { size: Some(size), ..ask() });
                assert!(error.unwrap_err().to_string().contains("samples a side"), "{size:?}");
            }
        }
        let error = read16(&mut input(vec![0; 466_200]), &ask()).unwrap_err().to_string();
        assert_eq!(error, "466200 bytes are no square of 16-bit samples: pass --size WxH");
    }

    #[test]
    fn a_file_that_shrank_is_refused() {
        let mut short = Input { len: 18, ..input(vec![1; 17]) };
        assert!(read16(&mut short, &ask()).unwrap_err().to_string().contains("ends too early"));
    }
}
