//! SRTM `.hgt`: a square of 16-bit signed big-endian metres without a header, row 0 north.

use super::{Grid, ImportError, MAX_IMPORT_SAMPLES, Source, SourceFormat, Tile, archive, file_name};
use crate::height::VOID;
use crate::store::open_regular;
use std::io::Read;
use std::path::Path;

/// SRTM's own mark for "no data".
const SRTM_VOID: i16 = i16::MIN;

/// Samples a side of the tiles that SRTM comes in: 3 and 1 arc-seconds.
const SIDES: [u32; 2] = [1201, 3601];

/// The heights the Earth has, with some room.
const EARTH_M: std::ops::RangeInclusive<i16> = -500..=9000;

/// Reads a tile, plain or zipped. Sides other than SRTM's own are taken only with a spacing.
///
/// # Errors
/// A wrong size, a damaged archive, or bytes in the wrong order.
pub(crate) fn read(path: &Path, spacing_given: bool) -> Result<Source, ImportError> {
    let mut file = open_regular(path)?;
    let length = file.metadata()?.len();
    let mut first = [0; 4];
    let zipped = super::read_up_to(&mut file, &mut first)? == 4 && first.starts_with(b"PK\x03\x04")
        || path.extension().is_some_and(|e| e.eq_ignore_ascii_case("zip"));
    let (member, bytes) = if zipped {
        let (name, bytes) = archive::only_hgt(path, |bytes| side_of(bytes, spacing_given).map(drop))?;
        (Some(name), bytes)
    } else {
        side_of(length, spacing_given)?;
        let mut bytes = Vec::new();
        open_regular(path)?.take(length).read_to_end(&mut bytes)?;
        (None, bytes)
    };
    let side = side_of(bytes.len() as u64, spacing_given)?;
    check_byte_order(&bytes, side)?;
    let values = bytes
        .chunks_exact(2)
        .map(|b| i16::from_be_bytes([b[0], b[1]]))
        .map(|v| if v == SRTM_VOID { VOID } else { i32::from(v) })
        .collect();
    let tile = member.as_deref().and_then(Tile::from_name).or_else(|| Tile::from_name(&file_name(path)));
    Ok(Source {
        grid: Grid::new(side, side, values),
        format: SourceFormat::Hgt,
        member,
        bytes: length,
        void_value: Some(i32::from(SRTM_VOID)),
        tile,
        notes: Vec::new(),
    })
}

/// Samples a side of a tile of so many bytes.
fn side_of(bytes: u64, spacing_given: bool) -> Result<u32, ImportError> {
    let side = (bytes / 2).isqrt();
    let square = side >= 2 && side * side * 2 == bytes && side * side <= MAX_IMPORT_SAMPLES;
    if square && (spacing_given || SIDES.contains(&(side as u32))) {
        return Ok(side as u32);
    }
    let known: Vec<String> =
        SIDES.iter().map(|&n| format!("{} ({n}x{n})", u64::from(n) * u64::from(n) * 2)).collect();
    let hint = if square {
        format!(" ({side}x{side}): pass --spacing METRES to take a square that is none of SRTM's")
    } else {
        ": truncated or no .hgt?".to_owned()
    };
    Err(ImportError::source(format!(
        "expected an .hgt of {} bytes, or 2·n² bytes with --spacing, found {bytes} bytes{hint}",
        known.join(" or ")
    )))
}

/// Refuses a tile whose bytes are swapped: as big-endian numbers at least half of its heights other than 0 lie outside
/// what the Earth has, read the other way round none does, and that way the ground is smooth (a mean step of at most
/// 100 m, a quarter of the other at most). Extreme but honest data is not smooth the other way round, and passes.
fn check_byte_order(bytes: &[u8], side: u32) -> Result<(), ImportError> {
    let be = Look::at(bytes, side, i16::from_be_bytes);
    let le = Look::at(bytes, side, i16::from_le_bytes);
    let implausible = be.outside >= 16 && be.outside * 2 >= be.heights;
    if implausible && le.outside == 0 && le.steps_m * 4 <= be.steps_m && le.steps_m <= 100 * le.pairs {
        return Err(ImportError::source(format!(
            "expected big-endian heights, found {} of {} heights outside {} to {} m, while little-endian they are all plausible: the bytes are swapped; swap every pair of bytes and import again",
            be.outside,
            be.heights,
            EARTH_M.start(),
            EARTH_M.end()
        )));
    }
    Ok(())
}

/// What a tile looks like in one byte order.
#[derive(Default)]
struct Look {
    /// Samples that are neither void nor 0.
    heights: u64,
    /// Of them, those that are not on Earth.
    outside: u64,
    /// Sum of the steps between neighbours in a row.
    steps_m: u64,
    /// How many such pairs there are.
    pairs: u64,
}

impl Look {
    fn at(bytes: &[u8], side: u32, read: impl Fn([u8; 2]) -> i16) -> Self {
        let mut look = Look::default();
        for row in bytes.chunks_exact(side as usize * 2) {
            let mut before = None;
            for b in row.chunks_exact(2) {
                let v = read([b[0], b[1]]);
                if v == SRTM_VOID {
                    before = None;
                    continue;
                }
                look.heights += u64::from(v != 0);
                look.outside += u64::from(!EARTH_M.contains(&v));
                if let Some(before) = before.replace(v) {
                    look.steps_m += u64::from(v.abs_diff(before));
                    look.pairs += 1;
                }
            }
        }
        look
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tile(side: i16, height: impl Fn(i16, i16) -> i16) -> Vec<u8> {
        (0..side)
            .flat_map(|z| (0..side).map(move |x| (x, z)))
            .flat_map(|(x, z)| height(x, z).to_be_bytes())
            .collect()
    }

    #[test]
    fn swapped_bytes_are_told_from_extreme_heights() {
        let hills = tile(40, |x, z| 300 + x * 7 + z * 3);
        assert!(check_byte_order(&hills, 40).is_ok());
        let swapped: Vec<u8> = hills.chunks_exact(2).flat_map(|b| [b[1], b[0]]).collect();
        let error = check_byte_order(&swapped, 40).unwrap_err().to_string();
        assert!(error.contains("swapped"), "{error}");
        // A checkerboard of the largest and smallest heights; flat sea with one spike; a cliff.
        assert!(
            check_byte_order(&tile(40, |x, z| if (x + z) % 2 == 0 { 32_767 } else { -32_767 }), 40).is_ok()
        );
        assert!(check_byte_order(&tile(40, |x, z| if (x, z) == (5, 5) { -32_767 } else { 0 }), 40).is_ok());
        assert!(check_byte_order(&tile(40, |x, _| if x < 20 { 0 } else { 8000 }), 40).is_ok());
    }

    #[test]
    fn sizes_that_are_no_tile_are_named() {
        assert_eq!(side_of(2_884_802, false).unwrap(), 1201);
        assert_eq!(side_of(25_934_402, false).unwrap(), 3601);
        assert_eq!(side_of(8, true).unwrap(), 2);
        for (bytes, spacing) in
            [(0, true), (2, true), (3, true), (2_884_801, true), (8, false), (u64::MAX, true)]
        {
            let error = side_of(bytes, spacing).unwrap_err().to_string();
            assert!(error.contains(&format!("found {bytes} bytes")) && error.contains("2884802"), "{error}");
        }
    }
}
