//! The canonical bytes of a terrain's configuration, read back.

use super::FormatError;
use super::error::{i32_at, u32_at, u64_at};
use crate::config::{Diagonal, Placement, TerrainConfig};
use crate::coord::CellRect;
use crate::height::QuantumLog2;

/// Bytes of [`TerrainConfig::canonical_bytes`].
pub(crate) const CONFIG_BYTES: usize = 51;

/// Reads a configuration from [`CONFIG_BYTES`] bytes that stand at `start` in their file.
///
/// # Errors
/// The first field that is wrong.
pub(crate) fn decode_config(b: &[u8], start: u64) -> Result<TerrainConfig, FormatError> {
    let at = |offset: usize| start + offset as u64;
    let quantum = QuantumLog2::try_from(b[12])
        .map_err(|_| FormatError::new(at(12), "quantum", "k from 0 to 12", b[12]))?;
    let diagonal = match b[21] {
        0 => Diagonal::Main,
        1 => Diagonal::Anti,
        2 => Diagonal::Checkerboard,
        other => return Err(FormatError::new(at(21), "diagonal", "0, 1 or 2", other)),
    };
    let config = TerrainConfig {
        samples: [u32_at(b, 0), u32_at(b, 4)],
        spacing_256: u32_at(b, 8),
        quantum,
        vertical_scale: f64::from_bits(u64_at(b, 13)),
        diagonal,
        extent: CellRect { x0: i32_at(b, 22), z0: i32_at(b, 26), x1: i32_at(b, 30), z1: i32_at(b, 34) },
        placement: Placement { x: i32_at(b, 38), z: i32_at(b, 42), y: i32_at(b, 46) },
        paint_per_cell: b[50],
    };
    config.check().map_err(|e| FormatError::new(at(0), "configuration", "a possible terrain", e))?;
    Ok(config)
}
