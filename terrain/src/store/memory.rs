//! A terrain held in memory as a block source: for tests, benches and generated ground.

use super::{BlockError, BlockSource, Raster};
use crate::config::TerrainConfig;
use crate::content::{Catalogue, PhysicalMaterial, PlaneKind};
use crate::coord::{BlockPos, BlockSide};
use crate::surface::{Block, Ground, PlaneChoice};
use std::sync::Arc;

/// A [`Raster`] that gives blocks.
#[derive(Clone, Debug)]
pub struct MemoryTerrain {
    raster: Raster,
    side: BlockSide,
    digest: [u8; 32],
}

impl MemoryTerrain {
    /// Wraps a raster that passes [`Raster::check`].
    ///
    /// # Panics
    /// When it does not: what is built in memory is the caller's own.
    pub fn new(raster: Raster, side: BlockSide) -> Self {
        if let Err(error) = raster.check() {
            panic!("a terrain built in memory is wrong: {error}");
        }
        let digest = crate::format::digest::of_raster(&raster);
        Self { raster, side, digest }
    }

    /// Heights in metres from a function of the sample position, on a 1 m, k = 7, Main lattice.
    pub fn from_fn(
        samples: [u32; 2],
        side: BlockSide,
        config: impl FnOnce(&mut TerrainConfig),
        height_m: impl Fn(i32, i32) -> f64,
    ) -> Self {
        let mut c = TerrainConfig::new(samples, 256);
        config(&mut c);
        let mut heights = Vec::with_capacity(samples[0] as usize * samples[1] as usize);
        for z in 0..samples[1] as i32 {
            for x in 0..samples[0] as i32 {
                heights.push(c.quantum.from_metres(height_m(x, z)).expect("a height that fits").0);
            }
        }
        Self::new(Raster::from_heights(c, heights), side)
    }

    /// The raster inside.
    pub fn raster(&self) -> &Raster {
        &self.raster
    }

    /// Ground with every block resident: heights, visibility and the two-layer weights. Full weights, channels, water and
    /// materials are answered `NotLoaded`; [`super::WithPlanes`] and [`Ground::all_of`] load them too.
    pub fn ground_all(&self) -> Ground {
        Ground::all_of(self).expect("blocks in memory can always be read")
    }

    /// The same as a shared source.
    pub fn shared(self) -> Arc<dyn BlockSource> {
        Arc::new(self)
    }
}

impl BlockSource for MemoryTerrain {
    fn config(&self) -> &TerrainConfig {
        &self.raster.config
    }

    fn block_side(&self) -> BlockSide {
        self.side
    }

    fn digest(&self) -> [u8; 32] {
        self.digest
    }

    fn height_range(&self) -> Option<(i32, i32)> {
        let valid = || self.raster.heights.iter().copied().filter(|&q| q != crate::height::VOID);
        Some((valid().min()?, valid().max()?))
    }

    fn catalogue(&self) -> &Catalogue {
        &self.raster.catalogue
    }

    fn read_block_with(&self, pos: BlockPos, planes: PlaneChoice) -> Result<Block, BlockError> {
        let block = self.read_block(pos)?;
        Ok(block.with_planes(self.raster.block_planes(self.side, pos, planes)))
    }

    fn read_block(&self, pos: BlockPos) -> Result<Block, BlockError> {
        if self.raster.config.has_block(self.side, pos) {
            Ok(self.raster.block(self.side, pos))
        } else {
            Err(BlockError { pos, reason: "is not on the map".into(), retryable: false })
        }
    }

    fn materials(&self) -> &[PhysicalMaterial] {
        &self.raster.catalogue.materials
    }

    fn read_materials(&self, pos: BlockPos) -> Result<Option<Vec<u8>>, BlockError> {
        let Some(plane) = self.raster.plane_of(PlaneKind::PhysicalMaterial) else { return Ok(None) };
        let (first, n) = (self.side.first_sample(pos), self.side.samples());
        let [width, height] = self.raster.config.cells();
        let mut ids = vec![0; (n * n) as usize];
        for z in first.z.max(0)..height.min(first.z + n) {
            for x in first.x.max(0)..width.min(first.x + n) {
                ids[((z - first.z) * n + x - first.x) as usize] = plane.values[(z * width + x) as usize];
            }
        }
        Ok(Some(ids))
    }
}
