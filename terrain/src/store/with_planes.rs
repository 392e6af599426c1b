//! The choice of the planes that a loader decodes, as a block source around another one.
//!
//! Runtime configuration: it changes which questions about paint, water and materials have an answer, never what the
//! surface is. Sessions need none of them.

use super::{BlockError, BlockSource};
use crate::config::TerrainConfig;
use crate::content::{Catalogue, PhysicalMaterial};
use crate::coord::{BlockPos, BlockSide};
use crate::surface::{Block, PlaneChoice};
use std::sync::Arc;

/// A source whose blocks carry the chosen planes.
pub struct WithPlanes {
    source: Arc<dyn BlockSource>,
    planes: PlaneChoice,
}

impl WithPlanes {
    /// The same blocks with planes.
    pub fn new(source: Arc<dyn BlockSource>, planes: PlaneChoice) -> Self {
        Self { source, planes }
    }
}

impl BlockSource for WithPlanes {
    fn config(&self) -> &TerrainConfig {
        self.source.config()
    }

    fn block_side(&self) -> BlockSide {
        self.source.block_side()
    }

    fn digest(&self) -> [u8; 32] {
        self.source.digest()
    }

    fn height_range(&self) -> Option<(i32, i32)> {
        self.source.height_range()
    }

    fn catalogue(&self) -> &Catalogue {
        self.source.catalogue()
    }

    fn materials(&self) -> &[PhysicalMaterial] {
        self.source.materials()
    }

    fn read_materials(&self, pos: BlockPos) -> Result<Option<Vec<u8>>, BlockError> {
        self.source.read_materials(pos)
    }

    fn read_block(&self, pos: BlockPos) -> Result<Block, BlockError> {
        self.source.read_block_with(pos, self.planes)
    }

    fn read_block_with(&self, pos: BlockPos, planes: PlaneChoice) -> Result<Block, BlockError> {
        self.source.read_block_with(pos, planes)
    }
}
