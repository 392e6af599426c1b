//! A whole terrain in memory, row-major: what importers and the cook produce and the payload writer consumes.

use crate::config::{ConfigError, TerrainConfig};
use crate::coord::{BlockPos, BlockSide, CellPos, SamplePos};
use crate::height::{HEIGHT_LIMIT, VOID};
use crate::kernel::weight_mip::HdTexel;
use crate::surface::{Block, Triangle};

/// Heights, visibility and weights of a whole terrain.
#[derive(Clone, Debug, PartialEq)]
pub struct Raster {
    /// What changes its bits.
    pub config: TerrainConfig,
    /// Raw quanta, `samples[0] · samples[1]`, X fastest; [`VOID`] where there is no sample.
    pub heights: Vec<i32>,
    /// Two bits a cell (bit 0 triangle 0, bit 1 triangle 1), one byte each, `cells[0] · cells[1]`, X fastest.
    pub mask: Vec<u8>,
    /// HD weight texels, `cells · paint_per_cell` a side, X fastest; `None` means layer 0 everywhere.
    pub weights: Option<Vec<HdTexel>>,
    /// Names of the surface layers, at most 32; empty when there are no weights.
    pub layers: Vec<String>,
}

/// What is wrong with a raster.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RasterError {
    /// The configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// An array has the wrong length.
    #[error("the {what} array must hold {expected} values, found {found}")]
    Length {
        /// Which array.
        what: &'static str,
        /// How many values it must hold.
        expected: usize,
        /// How many it holds.
        found: usize,
    },
    /// A height does not fit.
    #[error(
        "the height of sample ({x}, {z}), {quanta} quanta, does not fit below ±2^24 quanta; ask for clamping, a smaller vertical scale or a smaller k"
    )]
    Height {
        /// Column.
        x: i32,
        /// Row.
        z: i32,
        /// The value found.
        quanta: i64,
    },
    /// A visible triangle touches a void.
    #[error("triangle {triangle} of cell ({x}, {z}) is visible but touches a void sample")]
    VisibleVoid {
        /// Column.
        x: i32,
        /// Row.
        z: i32,
        /// Which triangle.
        triangle: u8,
    },
    /// A layer id beyond the catalogue.
    #[error("weight texel ({x}, {z}) names layer {id}, but there are {layers} layers")]
    Layer {
        /// Column, in texels.
        x: usize,
        /// Row, in texels.
        z: usize,
        /// The id found.
        id: u8,
        /// How many layers there are.
        layers: usize,
    },
}

impl Raster {
    /// A terrain of the given heights, wholly visible inside the extent but where triangles touch voids; no weights.
    pub fn from_heights(config: TerrainConfig, heights: Vec<i32>) -> Self {
        let [cw, ch] = config.cells();
        let mut raster = Self {
            config,
            heights,
            mask: vec![3; cw.max(0) as usize * ch.max(0) as usize],
            weights: None,
            layers: Vec::new(),
        };
        raster.remove_hidden();
        raster
    }

    /// Raw quanta of a sample; [`VOID`] beyond the map.
    pub fn quanta(&self, s: SamplePos) -> i32 {
        if self.config.has_sample(s) {
            self.heights[s.z as usize * self.config.samples[0] as usize + s.x as usize]
        } else {
            VOID
        }
    }

    /// The visibility of a cell; 0 beyond the map.
    pub fn cell_mask(&self, c: CellPos) -> u8 {
        if self.config.cell_rect().contains(c) { self.mask[self.cell_index(c)] } else { 0 }
    }

    fn cell_index(&self, c: CellPos) -> usize {
        c.z as usize * self.config.cells()[0] as usize + c.x as usize
    }

    /// Removes every triangle that touches a void or lies outside the extent.
    pub fn remove_hidden(&mut self) {
        let [cw, ch] = self.config.cells();
        for z in 0..ch {
            for x in 0..cw {
                let cell = CellPos::new(x, z);
                let index = self.cell_index(cell);
                self.mask[index] &= self.possible_mask(cell);
            }
        }
    }

    /// The triangles of a cell that have all their samples and lie inside the extent.
    pub fn possible_mask(&self, cell: CellPos) -> u8 {
        if !self.config.extent.contains(cell) {
            return 0;
        }
        let mut mask = 0;
        for triangle in Triangle::BOTH {
            let whole = triangle
                .corners(self.config.diagonal.is_anti(cell))
                .iter()
                .all(|&(dx, dz)| self.quanta(cell.corner(dx, dz)) != VOID);
            mask |= u8::from(whole) << triangle.index();
        }
        mask
    }

    /// Checks lengths, height range, visibility against voids, and layer ids.
    ///
    /// # Errors
    /// The first thing that is wrong, with where it is.
    pub fn check(&self) -> Result<(), RasterError> {
        self.config.check()?;
        let [w, h] = self.config.samples;
        let [cw, ch] = self.config.cells();
        let length = |what, expected: usize, found: usize| {
            if expected == found { Ok(()) } else { Err(RasterError::Length { what, expected, found }) }
        };
        length("height", w as usize * h as usize, self.heights.len())?;
        length("mask", cw as usize * ch as usize, self.mask.len())?;
        for (i, &q) in self.heights.iter().enumerate() {
            if q != VOID && q.unsigned_abs() >= HEIGHT_LIMIT as u32 {
                let (x, z) = ((i % w as usize) as i32, (i / w as usize) as i32);
                return Err(RasterError::Height { x, z, quanta: i64::from(q) });
            }
        }
        for z in 0..ch {
            for x in 0..cw {
                let cell = CellPos::new(x, z);
                let wrong = self.cell_mask(cell) & !self.possible_mask(cell);
                if wrong != 0 {
                    return Err(RasterError::VisibleVoid { x, z, triangle: wrong.trailing_zeros() as u8 });
                }
            }
        }
        let ppc = usize::from(self.config.paint_per_cell);
        if let Some(weights) = &self.weights {
            let (tw, th) = (cw as usize * ppc, ch as usize * ppc);
            length("weight", tw * th, weights.len())?;
            for (i, t) in weights.iter().enumerate() {
                let id = t.id1.max(t.id2);
                if usize::from(id) >= self.layers.len() {
                    return Err(RasterError::Layer { x: i % tw, z: i / tw, id, layers: self.layers.len() });
                }
            }
        }
        Ok(())
    }

    /// Cuts one block out. Samples and cells beyond the map are void and removed.
    pub fn block(&self, side: BlockSide, pos: BlockPos) -> Block {
        let n = side.samples();
        let first = side.first_sample(pos);
        let mut heights = Vec::with_capacity((n * n) as usize);
        let mut mask = Vec::with_capacity((n * n) as usize);
        for z in 0..n {
            for x in 0..n {
                heights.push(self.quanta(SamplePos::new(first.x + x, first.z + z)));
                mask.push(self.cell_mask(CellPos::new(first.x + x, first.z + z)));
            }
        }
        let weights = self.weights.as_ref().map(|all| {
            let ppc = i32::from(self.config.paint_per_cell);
            let [tw, th] = self.config.cells().map(|c| c * ppc);
            let mut out = Vec::with_capacity((n * n * ppc * ppc) as usize);
            for z in first.z * ppc..(first.z + n) * ppc {
                for x in first.x * ppc..(first.x + n) * ppc {
                    let inside = x >= 0 && z >= 0 && x < tw && z < th;
                    out.push(if inside { all[(z * tw + x) as usize] } else { HdTexel::default() });
                }
            }
            out.into()
        });
        Block::new(pos, side, heights.into(), mask.into(), weights)
    }
}
