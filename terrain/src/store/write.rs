//! Writes a payload: a temporary file beside the target, then a rename, so that a reader never sees half a file.

use super::{Raster, RasterError};
use crate::coord::{BlockPos, BlockSide};
use crate::format::digest;
use crate::format::payload::{
    BlockShape, Directory, Entry, FormatError, Header, directory_bytes, encode_block,
};
use rayon::prelude::*;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Why a payload was not written. Nothing is left at the target but what was there before.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The terrain is wrong.
    #[error("the terrain cannot be written: {0}")]
    Raster(#[from] RasterError),
    /// The header cannot say it.
    #[error("the terrain's header cannot be written: {0}")]
    Header(#[from] FormatError),
    /// There are layer names without weights, or weights without names.
    #[error("a terrain has either weights and layer names or neither, found {layers} names and {}", if *.weights { "weights" } else { "no weights" })]
    Layers {
        /// How many layer names there are.
        layers: usize,
        /// Whether there are weights.
        weights: bool,
    },
    /// The file could not be written.
    #[error("cannot be written: {0}")]
    Io(#[from] io::Error),
}

/// Writes a terrain as a payload of blocks of `side` samples, and gives its header. `origin` is the origin record
/// (a JSON object), `rounding_m` the largest rounding error of the heights. The bytes depend on nothing else: not on
/// the number of threads (those of the current rayon pool encode).
///
/// # Errors
/// What is wrong with the terrain, or why the file could not be written.
pub fn write_payload(
    raster: &Raster,
    side: BlockSide,
    origin: &str,
    rounding_m: f64,
    path: &Path,
) -> Result<Header, WriteError> {
    raster.check()?;
    if raster.weights.is_some() == raster.layers.is_empty() {
        return Err(WriteError::Layers { layers: raster.layers.len(), weights: raster.weights.is_some() });
    }
    let mut header = Header {
        config: raster.config,
        side,
        digest: digest::of_raster(raster),
        rounding_m,
        weights: raster.weights.is_some(),
        layers: raster.layers.clone(),
        origin: origin.to_owned(),
        file_bytes: 0,
    };
    // The header's length does not depend on the file's.
    let bodies_at = header.encode()?.len() as u64 + directory_bytes(&header.config, side);
    // A link stays a link: what it points to is replaced. A device or a pipe is nobody's to replace.
    let real = path.canonicalize();
    let path = real.as_deref().unwrap_or(path);
    if path.exists() && !path.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is there and not a regular file").into());
    }
    let target = Temporary::beside(path)?;
    let mut out = BufWriter::new(&target.file);
    out.seek(SeekFrom::Start(bodies_at))?;
    let entries = write_bodies(raster, &header, bodies_at, &mut out)?;
    header.file_bytes = entries.last().map_or(bodies_at, |e| e.offset + u64::from(e.length));
    let head = header.encode()?;
    // What cannot be read back is not written.
    Header::decode(&head, header.file_bytes)?;
    out.seek(SeekFrom::Start(0))?;
    out.write_all(&head)?;
    out.write_all(&Directory::new(&header.config, side, entries).encode())?;
    out.flush()?;
    drop(out);
    target.rename_to(path)?;
    Ok(header)
}

/// Encodes one row of blocks at a time in parallel and writes it in order.
fn write_bodies(
    raster: &Raster,
    header: &Header,
    mut at: u64,
    out: &mut impl Write,
) -> io::Result<Vec<Entry>> {
    let (side, layers) = (header.side, header.weights.then_some(header.layers.len()));
    let [w, h] = header.config.blocks(side);
    let mut entries = Vec::with_capacity(w as usize * h as usize);
    for z in 0..h as i32 {
        let row: Vec<(Entry, Vec<u8>)> = (0..w as i32)
            .into_par_iter()
            .map(|x| {
                let pos = BlockPos::new(x, z);
                encode_block(&raster.block(side, pos), &BlockShape::new(&header.config, side, pos, layers))
            })
            .collect();
        for (entry, body) in row {
            out.write_all(&body)?;
            entries.push(Entry { offset: at, ..entry });
            at += u64::from(entry.length);
        }
    }
    Ok(entries)
}

/// A file that is removed again unless it is renamed into place.
struct Temporary {
    file: File,
    path: PathBuf,
    keep: bool,
}

impl Temporary {
    fn beside(path: &Path) -> io::Result<Self> {
        let Some(name) = path.file_name() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path has no file name"));
        };
        for attempt in 0..100 {
            let mut own = std::ffi::OsString::from(".");
            own.push(name);
            own.push(format!(".{}-{attempt}.tmp", std::process::id()));
            let path = path.with_file_name(own);
            match OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
                Ok(file) => return Ok(Self { file, path, keep: false }),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "too many temporary files are left beside it"))
    }

    fn rename_to(mut self, path: &Path) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.path, path)?;
        self.keep = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.keep {
            // Nothing more can be done about a leftover here.
            let _ = fs::remove_file(&self.path);
        }
    }
}
