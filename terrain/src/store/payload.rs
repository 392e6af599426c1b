//! A payload file as a block source: header and directory when it is opened, then one block at a time.

use super::{BlockError, BlockSource};
use crate::config::TerrainConfig;
use crate::coord::{BlockPos, BlockSide};
use crate::format::payload::{
    BlockShape, Directory, FormatError, Header, PREFIX_BYTES, Prefix, decode_block, directory_bytes,
};
use crate::surface::Block;
use std::fs::File;
use std::io;
use std::path::Path;

/// Why a payload cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PayloadError {
    /// The file could not be read.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// Its bytes are wrong.
    #[error("is no usable .terrain file: {0}; make it again with import or cook")]
    Format(#[from] FormatError),
}

/// An open payload. Reads have positions of their own, so any number of threads may share it.
#[derive(Debug)]
pub struct PayloadFile {
    file: Positioned,
    header: Header,
    directory: Directory,
}

impl PayloadFile {
    /// Opens a payload: reads and checks its header and directory, and no block.
    ///
    /// # Errors
    /// What could not be read, or which bytes are wrong.
    pub fn open(path: &Path) -> Result<Self, PayloadError> {
        let file = super::open_regular(path)?;
        let file_bytes = file.metadata()?.len();
        let file = Positioned::new(file);
        let mut bytes = vec![0; file_bytes.min(PREFIX_BYTES as u64) as usize];
        file.read_at(&mut bytes, 0)?;
        let prefix = Prefix::decode(&bytes, file_bytes)?;
        bytes.resize(prefix.header_bytes, 0);
        file.read_at(&mut bytes, 0)?;
        let header = Header::decode(&bytes, file_bytes)?;
        // The header has checked that the directory lies inside the file, so this is no more than the file holds.
        let mut bytes = vec![0; directory_bytes(&header.config, header.side) as usize];
        file.read_at(&mut bytes, prefix.header_bytes as u64)?;
        let directory = Directory::decode(&bytes, prefix.header_bytes as u64, &header)?;
        Ok(Self { file, header, directory })
    }

    /// What the file says of itself.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What the file says of its blocks.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }
}

impl BlockSource for PayloadFile {
    fn config(&self) -> &TerrainConfig {
        &self.header.config
    }

    fn block_side(&self) -> BlockSide {
        self.header.side
    }

    fn digest(&self) -> [u8; 32] {
        self.header.digest
    }

    fn height_range(&self) -> Option<(i32, i32)> {
        self.directory.totals().2
    }

    fn read_block(&self, pos: BlockPos) -> Result<Block, BlockError> {
        let Some(entry) = self.directory.get(pos) else {
            return Err(BlockError { pos, reason: "is not on the map".into(), retryable: false });
        };
        let mut body = vec![0; entry.length as usize];
        self.file.read_at(&mut body, entry.offset).map_err(|e| BlockError {
            pos,
            reason: format!("{} bytes at byte {} cannot be read: {e}", entry.length, entry.offset),
            // A file that has become shorter stays so; anything else may pass.
            retryable: e.kind() != io::ErrorKind::UnexpectedEof,
        })?;
        decode_block(&body, entry, &BlockShape::of(&self.header, pos)).map_err(|e| BlockError {
            pos,
            reason: e.to_string(),
            retryable: false,
        })
    }
}

/// A file that is read at positions, whatever the platform.
#[derive(Debug)]
struct Positioned {
    #[cfg(unix)]
    file: File,
    #[cfg(not(unix))]
    file: std::sync::Mutex<File>,
}

impl Positioned {
    #[cfg(unix)]
    fn new(file: File) -> Self {
        Self { file }
    }

    #[cfg(unix)]
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, bytes, at)
    }

    #[cfg(not(unix))]
    fn new(file: File) -> Self {
        Self { file: std::sync::Mutex::new(file) }
    }

    #[cfg(not(unix))]
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        use std::io::{Read, Seek, SeekFrom};
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(bytes)
    }
}
