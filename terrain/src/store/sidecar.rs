//! The triangle-visibility sidecar as a file beside its payload: made from it, opened with every check, derived again.
//!
//! Owns the file; its bytes are [`crate::format::sidecar`]'s. Reads one row of the payload's blocks at a time.

use super::payload::Inner;
use super::{BlockError, BlockSource, PayloadFile, open_regular, write_file};
use crate::coord::BlockPos;
use crate::format::FormatError;
use crate::format::sidecar::{
    Builder, CHECKSUM_BYTES, NODE_WORDS, NodeKey, PREFIX_BYTES, RECORD_BYTES, Sidecar,
};
use crate::kernel::pyramid::{levels, nodes};
use rayon::prelude::*;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The extension of a sidecar's file name.
const EXTENSION: &str = "visibility";

/// Why a sidecar cannot be made or used.
#[derive(Debug, thiserror::Error)]
pub enum SidecarError {
    /// The file could not be read or written.
    #[error("cannot be read or written: {0}")]
    Io(#[from] io::Error),
    /// Its bytes are wrong, or are another payload's.
    #[error("is no sidecar of this terrain: {0}; make it again with highground sidecar")]
    Format(#[from] FormatError),
    /// A block of the payload cannot be had.
    #[error("cannot be made, for the terrain is damaged: {0}")]
    Block(#[from] BlockError),
    /// Its bytes are good and say something else than the payload.
    #[error("does not show what the terrain shows: {0}; make it again with highground sidecar")]
    Differs(String),
}

/// The name of a payload's sidecar: `world.visibility` beside `world.terrain`.
pub fn sidecar_path(payload: &Path) -> PathBuf {
    payload.with_extension(EXTENSION)
}

/// The sidecar of a payload, out of the masks of its blocks.
///
/// # Errors
/// A block that cannot be read.
pub fn build_sidecar(file: &PayloadFile) -> Result<Sidecar, SidecarError> {
    build_sidecar_with(file, &|_, _| {})
}

/// As [`build_sidecar`]; `progress` is told how many of how many rows of blocks are through.
///
/// # Errors
/// As [`build_sidecar`].
pub fn build_sidecar_with(file: &PayloadFile, progress: &dyn Fn(u64, u64)) -> Result<Sidecar, SidecarError> {
    let (config, side) = (file.config(), file.block_side());
    let [cells, lines] = config.cells().map(|n| n as usize);
    let n = side.samples() as usize;
    let [across, down] = config.blocks(side);
    let mut builder = Builder::new(config);
    let mut rows = vec![0; cells * n];
    for z in 0..down as i32 {
        let masks = (0..across as i32)
            .into_par_iter()
            .map(|x| mask(file, BlockPos::new(x, z)))
            .collect::<Result<Vec<_>, _>>()?;
        let rows = &mut rows[..lines.saturating_sub(z as usize * n).min(n) * cells];
        for (x, mask) in masks.iter().enumerate() {
            let (from, to) = ((x * n).min(cells), ((x + 1) * n).min(cells));
            for (row, line) in rows.chunks_exact_mut(cells).zip(mask.chunks_exact(n)) {
                row[from..to].copy_from_slice(&line[..to - from]);
            }
        }
        rows.chunks_exact(cells).for_each(|row| builder.push_row(row));
        progress(z as u64 + 1, u64::from(down));
    }
    Ok(builder.finish(file.digest()))
}

/// The mask of a block, checked as every read checks it.
fn mask(file: &PayloadFile, pos: BlockPos) -> Result<Vec<u8>, BlockError> {
    match &file.inner {
        Inner::V1(_) => Ok(file.read_block(pos)?.mask().to_vec()),
        // Weights are not needed, so they are not read.
        Inner::V2(v2) => Ok(v2.ground(pos, &v2.entry(0, pos)?)?.mask),
    }
}

/// Writes a sidecar: the whole file appears, or what was there before stays. The number of its bytes.
///
/// # Errors
/// What the operating system says.
pub fn write_sidecar(sidecar: &Sidecar, path: &Path) -> Result<u64, SidecarError> {
    let bytes = sidecar.encode();
    write_file(path, &bytes)?;
    Ok(bytes.len() as u64)
}

/// Opens a payload's sidecar with every check of its bytes; that they say what the payload says is
/// [`verify_sidecar_with`]'s. A file longer than any sidecar of this payload is refused before it is read.
///
/// # Errors
/// What could not be read, which bytes are wrong, or what differs from the payload.
pub fn open_sidecar(path: &Path, payload: &PayloadFile) -> Result<Sidecar, SidecarError> {
    let file = open_regular(path)?;
    let (found, most) = (file.metadata()?.len(), most_bytes(payload));
    if found > most {
        let expected = format!("at most {most} bytes for a terrain of this size");
        return Err(FormatError::new(0, "sidecar length", expected, found).into());
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(Sidecar::decode_for(&bytes, payload.config(), &payload.digest())?)
}

/// Bytes of a sidecar with a record for every node of every level.
fn most_bytes(payload: &PayloadFile) -> u64 {
    let cells = payload.config().samples.map(|s| s - 1);
    let all = (0..levels(cells)).map(|l| nodes(cells, l)).map(|[w, h]| u64::from(w) * u64::from(h));
    (PREFIX_BYTES + CHECKSUM_BYTES) as u64 + all.sum::<u64>() * (RECORD_BYTES + NODE_WORDS * 4) as u64
}

/// Opens a sidecar and holds it against the one that the payload gives, word by word. `progress` is told how many of how
/// many rows of blocks are through.
///
/// # Errors
/// As [`open_sidecar`] and [`build_sidecar`], and the first node that differs.
pub fn verify_sidecar_with(
    path: &Path,
    payload: &PayloadFile,
    progress: &dyn Fn(u64, u64),
) -> Result<Sidecar, SidecarError> {
    let found = open_sidecar(path, payload)?;
    let expected = build_sidecar_with(payload, progress)?;
    match difference(&expected, &found) {
        None => Ok(found),
        Some(what) => Err(SidecarError::Differs(what)),
    }
}

/// The first difference between two sidecars of one payload, in words.
fn difference(expected: &Sidecar, found: &Sidecar) -> Option<String> {
    let name = |n: &NodeKey| format!("node ({}, {}) of level {}", n.x, n.z, n.level);
    for (e, f) in expected.nodes().iter().zip(found.nodes()) {
        if e < f {
            return Some(format!("{}: expected a record, found none", name(e)));
        }
        if f < e {
            return Some(format!("{}: expected no record, found one", name(f)));
        }
    }
    let (known, have) = (expected.nodes(), found.nodes());
    if let Some(e) = known.get(have.len()) {
        return Some(format!("{}: expected a record, found none", name(e)));
    }
    if let Some(f) = have.get(known.len()) {
        return Some(format!("{}: expected no record, found one", name(f)));
    }
    let i = expected.words().iter().zip(found.words()).position(|(a, b)| a != b)?;
    let (node, word) = (known.get(i / NODE_WORDS)?, i % NODE_WORDS);
    let (e, f) = (expected.words()[i], found.words()[i]);
    Some(format!("{}, word {word}: expected {e:#010x}, found {f:#010x}", name(node)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sidecar_lies_beside_its_payload() {
        assert_eq!(sidecar_path(Path::new("a/world.terrain")), Path::new("a/world.visibility"));
        assert_eq!(sidecar_path(Path::new("world")), Path::new("world.visibility"));
    }
}
