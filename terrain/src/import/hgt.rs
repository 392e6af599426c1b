//! SRTM `.hgt`: a square of 16-bit signed big-endian metres without a header, row 0 north.

use super::source::{Ask, Input, MAX_IMPORT_SAMPLES, Meaning, Place, Samples, Source, Voids};
use super::{ImportError, Registration, SourceFormat, Tile};
use std::io::{Read, Seek, SeekFrom};

/// SRTM's own mark for "no data".
const SRTM_VOID: i16 = i16::MIN;

/// Samples a side of the tiles that SRTM comes in: 3 and 1 arc-seconds.
const SIDES: [u32; 2] = [1201, 3601];

/// The heights the Earth has, with some room.
const EARTH_M: std::ops::RangeInclusive<i16> = -500..=9000;

/// Bytes that are read at once.
const CHUNK_BYTES: usize = 1 << 16;

/// Reads a tile. Sides other than SRTM's own are taken only with a spacing.
///
/// # Errors
/// A wrong size, or bytes in the wrong order.
pub(crate) fn read(input: &mut Input, ask: &Ask) -> Result<Source, ImportError> {
    let side = check_bytes(input.len, ask.spacing_given)?;
    let count = side as usize * side as usize;
    let mut values: Vec<i16> = Vec::with_capacity(count);
    input.bytes.seek(SeekFrom::Start(0))?;
    let mut chunk = vec![0; CHUNK_BYTES.min(2 * count)];
    while values.len() < count {
        let bytes = &mut chunk[..CHUNK_BYTES.min(2 * (count - values.len()))];
        input.bytes.read_exact(bytes)?;
        values.extend(bytes.chunks_exact(2).map(|b| i16::from_be_bytes([b[0], b[1]])));
    }
    check_byte_order(&values, side)?;
    let mut voids = Voids::none(count);
    values.iter().enumerate().filter(|(_, v)| **v == SRTM_VOID).for_each(|(i, _)| voids.set(i));
    Ok(Source {
        size: [side, side],
        samples: Samples::I16(values),
        voids,
        format: SourceFormat::Hgt,
        nodata: Some(f64::from(SRTM_VOID)),
        meaning: Meaning::Metres { scale: 1.0, offset: 0.0 },
        place: Tile::from_name(&input.name).map_or(Place::None, |tile| place_of(tile, side)),
        registration: Registration::Point,
        hole_cells: Vec::new(),
        layers: Vec::new(),
        notes: Vec::new(),
    })
}

/// Where the samples of a tile lie: on its edges, and between them.
pub(crate) fn place_of(tile: Tile, side: u32) -> Place {
    let step = 1.0 / f64::from(side - 1);
    Place::Degrees {
        north_deg: f64::from(tile.south_deg) + 1.0,
        west_deg: f64::from(tile.west_deg),
        step_x_deg: step,
        step_z_deg: step,
    }
}

/// Samples a side of a tile of so many bytes.
///
/// # Errors
/// Bytes that no tile has.
pub(crate) fn check_bytes(bytes: u64, spacing_given: bool) -> Result<u32, ImportError> {
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
fn check_byte_order(values: &[i16], side: u32) -> Result<(), ImportError> {
    let be = Look::at(values, side, |v| v);
    let le = Look::at(values, side, i16::swap_bytes);
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
    fn at(values: &[i16], side: u32, read: impl Fn(i16) -> i16) -> Self {
        let mut look = Look::default();
        for row in values.chunks_exact(side as usize) {
            let mut before = None;
            for v in row.iter().map(|&v| read(v)) {
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

    fn tile(side: i16, height: impl Fn(i16, i16) -> i16) -> Vec<i16> {
        (0..side).flat_map(|z| (0..side).map(move |x| (x, z))).map(|(x, z)| height(x, z)).collect()
    }

    #[test]
    fn swapped_bytes_are_told_from_extreme_heights() {
        let hills = tile(40, |x, z| 300 + x * 7 + z * 3);
        assert!(check_byte_order(&hills, 40).is_ok());
        let swapped: Vec<i16> = hills.iter().map(|v| v.swap_bytes()).collect();
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
        assert_eq!(check_bytes(2_884_802, false).unwrap(), 1201);
        assert_eq!(check_bytes(25_934_402, false).unwrap(), 3601);
        assert_eq!(check_bytes(8, true).unwrap(), 2);
        for (bytes, spacing) in
            [(0, true), (2, true), (3, true), (2_884_801, true), (8, false), (u64::MAX, true)]
        {
            let error = check_bytes(bytes, spacing).unwrap_err().to_string();
            assert!(error.contains(&format!("found {bytes} bytes")) && error.contains("2884802"), "{error}");
        }
    }
}
