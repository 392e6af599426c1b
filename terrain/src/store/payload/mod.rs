//! A payload file as a block source: its head when it is opened, then one block at a time. Versions 1 and 2.

mod census;
mod positioned;
mod v1;
mod v2;

use super::{BlockError, BlockSource};
use crate::config::TerrainConfig;
use crate::content::{Catalogue, PhysicalMaterial, PlaneKind};
use crate::coord::{BlockPos, BlockSide};
use crate::format::payload::{Losses, MAGIC, Section, SectionEntry, SkipNodes, Totals};
use crate::format::{FormatError, error};
use crate::kernel::pyramid::MinMax;
use crate::state::DataState;
use crate::surface::{Block, BlockPlanes, PlaneChoice};
pub use census::{BlockRecord, Census};
use positioned::Positioned;
use std::io;
use std::path::Path;
pub(super) use v1::PayloadV1;
pub(super) use v2::PayloadV2;

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

/// What a payload says of itself, whatever its version.
#[derive(Clone, Debug, PartialEq)]
pub struct PayloadInfo {
    /// The version of its format.
    pub version: u32,
    /// What changes the terrain's bits.
    pub config: TerrainConfig,
    /// Samples a side of its blocks.
    pub side: BlockSide,
    /// The digest of the canonical content.
    pub digest: [u8; 32],
    /// The largest rounding error of the heights in metres.
    pub rounding_m: f64,
    /// What is counted over the whole terrain.
    pub totals: Totals,
    /// What deriving weight encodings loses; zeros of version 1.
    pub losses: Losses,
    /// What the planes refer to. Of version 1 the layers' names.
    pub catalogue: Catalogue,
    /// The origin record, JSON text.
    pub origin: String,
    /// Its sections; none of version 1.
    pub sections: Vec<SectionEntry>,
    /// Length of the file in bytes.
    pub file_bytes: u64,
}

impl PayloadInfo {
    /// Blocks of level 0.
    pub fn blocks(&self) -> u64 {
        let [w, h] = self.config.blocks(self.side).map(u64::from);
        w * h
    }
}

/// An open payload. Reads have positions of their own, so any number of threads may share it.
#[derive(Debug)]
pub struct PayloadFile {
    info: PayloadInfo,
    pub(super) inner: Inner,
}

#[derive(Debug)]
pub(super) enum Inner {
    V1(Box<PayloadV1>),
    V2(Box<PayloadV2>),
}

impl PayloadFile {
    /// Opens a payload: reads and checks its head, and no block.
    ///
    /// # Errors
    /// What could not be read, or which bytes are wrong.
    pub fn open(path: &Path) -> Result<Self, PayloadError> {
        let file = super::open_regular(path)?;
        let file_bytes = file.metadata()?.len();
        Self::read(Positioned::new(file), file_bytes)
    }

    /// A payload in memory.
    ///
    /// # Errors
    /// As [`PayloadFile::open`].
    pub fn of_bytes(bytes: Vec<u8>) -> Result<Self, PayloadError> {
        let length = bytes.len() as u64;
        Self::read(Positioned::Bytes(bytes), length)
    }

    fn read(file: Positioned, file_bytes: u64) -> Result<Self, PayloadError> {
        let mut first = vec![0; file_bytes.min(12) as usize];
        file.read_at(&mut first, 0)?;
        match version(&first)? {
            1 => {
                let v1 = PayloadV1::open(file, file_bytes)?;
                Ok(Self { info: v1.info(), inner: Inner::V1(Box::new(v1)) })
            }
            _ => {
                let (v2, info) = PayloadV2::open(file, file_bytes)?;
                Ok(Self { info, inner: Inner::V2(Box::new(v2)) })
            }
        }
    }

    /// What the file says of itself.
    pub fn info(&self) -> &PayloadInfo {
        &self.info
    }

    /// What is known of a block of level 0 without reading it: Valid or Empty as the directory says, OutOfRange beyond
    /// the map, Failed where the directory itself cannot be read.
    pub fn recorded_state(&self, pos: BlockPos) -> DataState {
        match &self.inner {
            Inner::V1(f) => f.recorded_state(pos),
            Inner::V2(f) => f.recorded_state(pos),
        }
    }

    /// Where a part of a block of level 0 stands in the file; of version 1, where its whole body does, whatever the
    /// section. `None` beyond the map, for what has no bytes, and where the directory cannot be read.
    pub fn span(&self, pos: BlockPos, section: Section) -> Option<std::ops::Range<u64>> {
        match &self.inner {
            Inner::V1(f) => f.span(pos),
            Inner::V2(f) => f.span(pos, section),
        }
    }

    /// The ranges of all nodes of the quadtree, level 0 first, row-major. Of version 1 there are none.
    ///
    /// # Errors
    /// What could not be read, or which bytes are wrong.
    pub fn min_max(&self) -> Result<Vec<Vec<MinMax>>, PayloadError> {
        match &self.inner {
            Inner::V1(_) => Ok(Vec::new()),
            Inner::V2(f) => f.min_max(),
        }
    }

    /// The coarse triangles with nothing under them. Of version 1 there are none.
    ///
    /// # Errors
    /// What could not be read, or which bytes are wrong.
    pub fn skip_nodes(&self) -> Result<SkipNodes, PayloadError> {
        match &self.inner {
            Inner::V1(_) => Ok(SkipNodes::new()),
            Inner::V2(f) => f.skip_nodes(),
        }
    }

    /// The full content of a block of a version 2 file, or of a version 1 file's block as full weights.
    ///
    /// # Errors
    /// What is wrong with the block.
    pub fn read_content(&self, pos: BlockPos) -> Result<BlockContent, BlockError> {
        match &self.inner {
            Inner::V1(f) => f.read_content(pos),
            Inner::V2(f) => f.read_content(pos),
        }
    }
}

/// Everything a block of level 0 holds that is not derived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockContent {
    /// `side²` raw quanta, X fastest.
    pub heights: Vec<i32>,
    /// `side²` masks, X fastest.
    pub mask: Vec<u8>,
    /// Planes that are not 0 in this block, over the whole block, X fastest.
    pub planes: Vec<(crate::content::PlaneKind, Vec<u8>)>,
}

/// The version of a file by its first twelve bytes.
fn version(first: &[u8]) -> Result<u32, FormatError> {
    let magic = &first[..first.len().min(MAGIC.len())];
    if magic != MAGIC {
        let hex = error::hex;
        let hint = if magic.starts_with(b"\x89HGT") || magic.get(1..4) == Some(b"HGT".as_slice()) {
            format!("{} (damaged by a text-mode transfer?)", hex(magic))
        } else {
            hex(magic)
        };
        return Err(FormatError::new(0, "magic", format!("{} (a .terrain file)", hex(&MAGIC)), hint));
    }
    if first.len() < 12 {
        let found = format!("{} bytes (truncated?)", first.len());
        return Err(FormatError::new(0, "file", "at least 12 bytes", found));
    }
    match error::u32_at(first, 8) {
        v @ (1 | 2) => Ok(v),
        other => {
            let found = format!("{other} (written by a newer version?)");
            Err(FormatError::new(8, "version", "1 or 2", found))
        }
    }
}

impl BlockSource for PayloadFile {
    fn config(&self) -> &TerrainConfig {
        &self.info.config
    }

    fn block_side(&self) -> BlockSide {
        self.info.side
    }

    fn digest(&self) -> [u8; 32] {
        self.info.digest
    }

    fn height_range(&self) -> Option<(i32, i32)> {
        self.info.totals.range
    }

    fn catalogue(&self) -> &Catalogue {
        &self.info.catalogue
    }

    fn read_block(&self, pos: BlockPos) -> Result<Block, BlockError> {
        match &self.inner {
            Inner::V1(f) => f.read_block(pos),
            Inner::V2(f) => f.read_block(pos),
        }
    }

    fn read_block_with(&self, pos: BlockPos, planes: PlaneChoice) -> Result<Block, BlockError> {
        if planes == PlaneChoice::NONE {
            return self.read_block(pos);
        }
        let found = match &self.inner {
            Inner::V1(f) => f.read_content(pos)?.planes,
            Inner::V2(f) => f.read_planes(pos, &|kind| planes.takes(kind))?,
        };
        Ok(self.read_block(pos)?.with_planes(BlockPlanes::new(planes, found)))
    }

    fn materials(&self) -> &[PhysicalMaterial] {
        &self.info.catalogue.materials
    }

    fn read_materials(&self, pos: BlockPos) -> Result<Option<Vec<u8>>, BlockError> {
        if self.info.catalogue.materials.is_empty() {
            return Ok(None);
        }
        let planes = match &self.inner {
            Inner::V1(_) => Vec::new(),
            Inner::V2(f) => f.read_planes(pos, &|kind| kind == PlaneKind::PhysicalMaterial)?,
        };
        Ok(planes.into_iter().find(|(kind, _)| *kind == PlaneKind::PhysicalMaterial).map(|(_, ids)| ids))
    }
}
