//! Where blocks come from: files and memory, behind one trait.
//!
//! Owns file access for reading terrain. Never decides when a block is wanted; that is [`crate::runtime`].

mod derive;
mod memory;
mod payload;
mod raster;
mod regular;
mod rows;
mod sidecar;
mod temporary;
mod verify;
mod verify_v1;
mod with_planes;
mod write;

pub use memory::MemoryTerrain;
pub use payload::{BlockContent, BlockRecord, Census, PayloadError, PayloadFile, PayloadInfo};
pub use raster::{Raster, RasterError};
pub(crate) use regular::open_regular;
pub use rows::{TerrainRows, collect};
pub use sidecar::{
    SidecarError, build_sidecar, build_sidecar_with, open_sidecar, sidecar_path, verify_sidecar_with,
    write_sidecar,
};
pub(crate) use temporary::Temporary;
pub use temporary::write_file;
pub use verify::{VerifyError, verify, verify_open, verify_with};
pub use with_planes::WithPlanes;
pub use write::{WriteError, WriteOptions, Written, write_payload, write_payload_with};

use crate::config::TerrainConfig;
use crate::content::{Catalogue, PhysicalMaterial};
use crate::coord::{BlockPos, BlockSide};
use crate::surface::{Block, PlaneChoice};

/// Why a block could not be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("block ({}, {}): {reason}", pos.x, pos.z)]
pub struct BlockError {
    /// Which block.
    pub pos: BlockPos,
    /// What was expected, what was found and where.
    pub reason: String,
    /// Whether reading again may help: true for input/output errors, false for contents that are wrong.
    pub retryable: bool,
}

/// A terrain that gives its blocks one at a time, from any thread.
pub trait BlockSource: Send + Sync {
    /// The configuration of the terrain.
    fn config(&self) -> &TerrainConfig;

    /// Samples a side of the blocks it gives.
    fn block_side(&self) -> BlockSide;

    /// The digest of the canonical content.
    fn digest(&self) -> [u8; 32];

    /// Lowest and highest sample of the whole terrain, in quanta; `None` when every sample is void.
    fn height_range(&self) -> Option<(i32, i32)>;

    /// What the planes of its blocks refer to; by default nothing.
    fn catalogue(&self) -> &Catalogue {
        static NOTHING: Catalogue = Catalogue {
            layers: Vec::new(),
            materials: Vec::new(),
            user_channels: Vec::new(),
            foliage: Vec::new(),
            objects: Vec::new(),
            overlays: Vec::new(),
            water: None,
        };
        &NOTHING
    }

    /// Reads and checks one block that is on the map.
    ///
    /// # Errors
    /// Says what is wrong with the block; never gives flat ground instead.
    fn read_block(&self, pos: BlockPos) -> Result<Block, BlockError>;

    /// The same with planes. A source that has none to give, as by default, gives the block as it is: its planes are
    /// then not loaded, whatever was asked for.
    ///
    /// # Errors
    /// As [`BlockSource::read_block`].
    fn read_block_with(&self, pos: BlockPos, planes: PlaneChoice) -> Result<Block, BlockError> {
        let _ = planes;
        self.read_block(pos)
    }

    /// The physical materials by id; empty when the terrain has none.
    fn materials(&self) -> &[PhysicalMaterial] {
        &self.catalogue().materials
    }

    /// Reads the material ids of one block that is on the map: `side²`, X fastest; `None` when all are 0.
    ///
    /// # Errors
    /// As [`BlockSource::read_block`].
    fn read_materials(&self, _pos: BlockPos) -> Result<Option<Vec<u8>>, BlockError> {
        Ok(None)
    }
}
