//! A rectangle of cells as the scatter pass wants it, read from a terrain's blocks.
//!
//! Owns its copies of heights, triangles, water, densities and weights. What scatter sees of the ground is what everybody
//! sees: triangles that neither visibility nor physical holes remove.

use super::Instance;
use crate::compute::Shared;
use crate::config::TerrainConfig;
use crate::content::{Catalogue, Lattice, PlaneKind};
use crate::coord::{BlockPos, CellPos, CellRect, SamplePos};
use crate::height::VOID;
use crate::kernel::normal;
use crate::kernel::scatter::{INSTANCE_WORDS, cell_word};
use crate::kernel::weights::{ONE, effective};
use crate::store::{BlockError, BlockSource};
use crate::surface::{Block, PlaneChoice};
use crate::triangle::Triangle;
use std::collections::BTreeMap;

/// What is there of a rectangle of cells.
#[derive(Clone, Debug)]
pub struct Region {
    config: TerrainConfig,
    catalogue: Catalogue,
    first: CellPos,
    cells: [u32; 2],
    /// Samples and one around them.
    heights: Shared,
    /// A word a cell.
    words: Vec<u32>,
    /// A byte a cell.
    densities: BTreeMap<PlaneKind, Vec<u8>>,
    /// A byte a texel, of the layers that are not 0 throughout.
    weights: BTreeMap<u8, Vec<u8>>,
}

impl Region {
    /// Reads the cells of `rect` that are on the map and in its extent: nothing grows elsewhere.
    ///
    /// # Errors
    /// A block that cannot be read: never bare ground instead. A rectangle without a cell gives an error too.
    pub fn read(source: &dyn BlockSource, rect: CellRect) -> Result<Self, BlockError> {
        let (config, side) = (*source.config(), source.block_side());
        let extent = config.extent;
        let rect = CellRect {
            x0: rect.x0.max(extent.x0),
            z0: rect.z0.max(extent.z0),
            x1: rect.x1.min(extent.x1),
            z1: rect.z1.min(extent.z1),
        };
        let mut region = Self {
            catalogue: source.catalogue().clone(),
            first: CellPos::new(rect.x0, rect.z0),
            cells: [(rect.x1 - rect.x0).max(0) as u32, (rect.z1 - rect.z0).max(0) as u32],
            heights: Shared::new(Vec::new()),
            words: Vec::new(),
            densities: BTreeMap::new(),
            weights: BTreeMap::new(),
            config,
        };
        let choice = PlaneChoice { weights: true, water: true, densities: true, ..PlaneChoice::NONE };
        let mut blocks: BTreeMap<BlockPos, Block> = BTreeMap::new();
        let [low, high] = [(rect.x0 - 1, rect.z0 - 1), (rect.x1 + 1, rect.z1 + 1)]
            .map(|(x, z)| side.block_of_sample(SamplePos::new(x, z)));
        for z in low.z..=high.z {
            for x in low.x..=high.x {
                let pos = BlockPos::new(x, z);
                if !rect.is_empty() && region.config.has_block(side, pos) {
                    blocks.insert(pos, source.read_block_with(pos, choice)?);
                }
            }
        }
        region.fill(&blocks, side);
        Ok(region)
    }

    fn fill(&mut self, blocks: &BTreeMap<BlockPos, Block>, side: crate::coord::BlockSide) {
        let [w, h] = self.cells.map(|c| c as i32);
        let n = side.samples();
        let quanta = |s: SamplePos| {
            blocks.get(&side.block_of_sample(s)).map_or(VOID, |block| {
                let at = side.first_sample(block.pos());
                block.heights()[((s.z - at.z) * n + s.x - at.x) as usize]
            })
        };
        let sample = |x: i32, z: i32| SamplePos::new(self.first.x + x, self.first.z + z);
        let heights: Vec<u32> = (-1..h + 2)
            .flat_map(|z| (-1..w + 2).map(move |x| (x, z)))
            .map(|(x, z)| quanta(sample(x, z)) as u32)
            .collect();
        let wet = |s: SamplePos| {
            blocks.get(&side.block_of_sample(s)).is_some_and(|block| {
                let at = side.first_sample(block.pos());
                let i = 4 * ((s.z - at.z) * n + s.x - at.x) as usize;
                plane(block, PlaneKind::WaterDepth).is_some_and(|v| v[i..i + 4] != [0; 4])
            })
        };
        for z in 0..h {
            for x in 0..w {
                let cell = CellPos::new(self.first.x + x, self.first.z + z);
                let anti = self.config.diagonal.is_anti(cell);
                let in_water =
                    |t: Triangle| t.corners(anti).into_iter().any(|(dx, dz)| wet(cell.corner(dx, dz)));
                let bits = [Triangle::Zero, Triangle::One].map(|t| if in_water(t) { t.bit() } else { 0 });
                let mask = blocks.get(&side.block_of_cell(cell)).map_or(0, |block| {
                    let at = side.first_sample(block.pos());
                    block.solid()[((cell.z - at.z) * n + cell.x - at.x) as usize]
                });
                self.words.push(cell_word(mask, bits[0] | bits[1]));
            }
        }
        for block in blocks.values() {
            for (kind, values) in block.planes().all() {
                self.take(side, block.pos(), *kind, values);
            }
        }
        self.heights = Shared::new(heights);
    }

    /// Copies what a block holds of a plane.
    fn take(&mut self, side: crate::coord::BlockSide, pos: BlockPos, kind: PlaneKind, values: &[u8]) {
        let t = kind.lattice().per_cell(&self.config) as i32;
        let (to, stride) = match kind {
            PlaneKind::Weight(layer) => {
                let texels = self.texel_count();
                (self.weights.entry(layer).or_insert_with(|| vec![0; texels]), side.samples() * t)
            }
            PlaneKind::Foliage(_) | PlaneKind::Object(_) => {
                let cells = self.words.len();
                (self.densities.entry(kind).or_insert_with(|| vec![0; cells]), side.samples())
            }
            _ => return,
        };
        debug_assert!(kind.lattice() != Lattice::Samples);
        let at = side.first_sample(pos);
        let (fx, fz) = ((self.first.x - at.x) * t, (self.first.z - at.z) * t);
        let [w, h] = self.cells.map(|c| c as i32 * t);
        // The part of the region that the block has, in the block's texels.
        for z in fz.max(0)..(fz + h).min(stride) {
            let (from, end) = (fx.max(0), (fx + w).min(stride));
            if from < end {
                let row = &values[(z * stride + from) as usize..(z * stride + end) as usize];
                let into = ((z - fz) * w + from - fx) as usize;
                to[into..into + row.len()].copy_from_slice(row);
            }
        }
    }

    fn texel_count(&self) -> usize {
        self.words.len() * usize::from(self.config.paint_per_cell).pow(2)
    }

    /// The terrain's configuration.
    pub fn config(&self) -> &TerrainConfig {
        &self.config
    }

    /// The terrain's catalogue.
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// Its first cell.
    pub fn first(&self) -> CellPos {
        self.first
    }

    /// Its cells along x and z.
    pub fn cells(&self) -> [u32; 2] {
        self.cells
    }

    /// Raw quanta of its samples and one around them.
    pub fn heights(&self) -> &Shared {
        &self.heights
    }

    /// Cells and growth as the pass wants them: the painted density times the share that the layers have of the texel, in
    /// 1/255, rounded half up. `None` where nothing grows.
    pub fn surface(&self, density: PlaneKind, layers: u32) -> Option<Shared> {
        let density = self.densities.get(&density)?;
        let mut words = self.words.clone();
        let t = usize::from(self.config.paint_per_cell);
        let width = self.cells[0] as usize * t;
        let kinds: Vec<_> = self.catalogue.layers.iter().map(|l| l.kind).collect();
        let mut painted = vec![0; kinds.len()];
        let mut growth = |texel: usize| {
            let cell = texel / width / t * self.cells[0] as usize + texel % width / t;
            let density = u64::from(density[cell]);
            if density == 0 || layers == u32::MAX {
                return density as u32;
            }
            for (layer, painted) in painted.iter_mut().enumerate() {
                *painted = self.weights.get(&(layer as u8)).map_or(0, |w| w[texel]);
            }
            let masses = effective(&kinds, &painted);
            let share: u64 = masses
                .iter()
                .enumerate()
                .filter(|(l, _)| layers >> l & 1 == 1)
                .map(|(_, &m)| u64::from(m))
                .sum();
            ((density * share + u64::from(ONE) / 2) / u64::from(ONE)) as u32
        };
        let texels = self.texel_count();
        words.extend(
            (0..texels)
                .step_by(4)
                .map(|at| (at..texels.min(at + 4)).rev().fold(0, |word, texel| word << 8 | growth(texel))),
        );
        Some(Shared::new(words))
    }

    /// An instance of this region in metres, where the terrain is placed.
    pub fn instance(&self, words: &[u32; INSTANCE_WORDS]) -> Instance {
        let side = f64::from(self.config.spacing_256) / 256.0;
        let place = self.config.placement;
        let metres = |v: u32, first: i32, moved: i32| {
            f64::from(v) / 65_536.0 + (f64::from(first) + f64::from(moved)) * side
        };
        let y = f64::from(words[2] as i32) / 64.0 + f64::from(place.y);
        Instance {
            position: [
                metres(words[0], self.first.x, place.x),
                y * self.config.quantum.metres(),
                metres(words[1], self.first.z, place.z),
            ],
            yaw: f64::from(words[3] & 0xFFFF) / 65_536.0,
            scale: f64::from(words[3] >> 16) / 4096.0,
            normal: normal::decode([words[5] as u8, (words[5] >> 8) as u8]),
            key: words[4],
            fuzz: [(words[5] >> 16) as u8, (words[5] >> 24) as u8],
        }
    }
}

/// A block's plane, if it is not 0 throughout.
fn plane(block: &Block, kind: PlaneKind) -> Option<&[u8]> {
    block.planes().all().iter().find(|p| p.0 == kind).map(|p| &*p.1)
}
