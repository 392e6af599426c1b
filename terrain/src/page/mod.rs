//! Pages of a terrain: its weights, heights, layers and overlays brought together and baked.
//!
//! Owns what a page is made from and where that comes from: weights at the page's own mip from the weight chain, samples of
//! its level with normals of their own, textures of the layers ([`texture`](self)). Never holds baked pages, never decides
//! which are wanted, never opens files.

mod texture;

pub use texture::{LayerSource, Made, make, pack};

use crate::compute::{Compute, ComputeError};
use crate::coord::{BlockPos, PagePos};
use crate::height::{QuantumLog2, VOID};
use crate::kernel::normal;
use crate::kernel::page::NEUTRAL;
use crate::layers::WeightChain;
use crate::pass::page::{Baker, PageInput, Scratch, Window};
use crate::store::{BlockError, BlockSource};
use arrayvec::ArrayVec;

/// Pages whose windows are held at once.
const AT_ONCE: usize = 64;

/// Why there are no pages.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// A block of the terrain.
    #[error(transparent)]
    Block(#[from] BlockError),
    /// What was asked for, or the device.
    #[error(transparent)]
    Compute(#[from] ComputeError),
    /// More memory than allowed.
    #[error("the heights of {samples} samples need {needed} bytes, more than the {budget} allowed")]
    Budget {
        /// Samples of the terrain.
        samples: u64,
        /// Their bytes.
        needed: u64,
        /// What was allowed.
        budget: u64,
    },
    /// The chain is another terrain's.
    #[error("expected weights of {expected:?} texels, found {found:?}")]
    Weights {
        /// Texels of the terrain's paint.
        expected: [u32; 2],
        /// Texels of the chain's mip 0.
        found: [u32; 2],
    },
}

/// The heights of a whole terrain, which pages of any mip take their samples from.
#[derive(Clone, Debug)]
pub struct Heights {
    size: [u32; 2],
    spacing_256: u32,
    quantum: QuantumLog2,
    quanta: Vec<i32>,
}

impl Heights {
    /// Reads every block of a terrain.
    ///
    /// # Errors
    /// A block that cannot be read; more than `budget_bytes`.
    pub fn read(source: &dyn BlockSource, budget_bytes: u64) -> Result<Self, PageError> {
        let (config, side) = (source.config(), source.block_side());
        let [w, h] = config.samples.map(|n| n as usize);
        let samples = w as u64 * h as u64;
        if 4 * samples > budget_bytes {
            return Err(PageError::Budget { samples, needed: 4 * samples, budget: budget_bytes });
        }
        let mut quanta = vec![VOID; w * h];
        let n = side.samples() as usize;
        let [across, down] = config.blocks(side);
        for bz in 0..down as usize {
            for bx in 0..across as usize {
                let block = source.read_block(BlockPos::new(bx as i32, bz as i32))?;
                let width = n.min(w - bx * n);
                for (z, row) in block.heights().chunks_exact(n).enumerate().take(h - bz * n) {
                    let at = (bz * n + z) * w + bx * n;
                    quanta[at..at + width].copy_from_slice(&row[..width]);
                }
            }
        }
        Ok(Self { size: config.samples, spacing_256: config.spacing_256, quantum: config.quantum, quanta })
    }

    /// The height of sample (x, z) of a level, in quanta: that of sample min(x · 2^level, last) of the terrain.
    pub fn at(&self, level: u32, x: u32, z: u32) -> i32 {
        let of = |v: u32, n: u32| (u64::from(v) << level).min(u64::from(n - 1)) as usize;
        self.quanta[of(z, self.size[1]) * self.size[0] as usize + of(x, self.size[0])]
    }

    /// Adds the samples of a window to words, as the pass wants them. Normals are of the level's own differences; of levels
    /// whose spacing the normals' arithmetic cannot carry they are steeper than true.
    pub fn window(&self, window: &Window, words: &mut Vec<u32>) {
        let level = window.level;
        let fits = self.spacing_256.leading_zeros() - 1 - (u32::from(self.quantum.get()).max(7) - 7);
        let vertical = normal::Vertical::new(self.spacing_256 << level.min(fits), self.quantum);
        let last = self.size.map(|n| (n - 1).div_ceil(1 << level));
        let [x0, z0] = window.first.map(|v| v as u32);
        for z in z0..z0 + window.size[1] {
            for x in x0..x0 + window.size[0] {
                let here = self.at(level, x, z);
                let or_void = |there: bool, x: u32, z: u32| if there { self.at(level, x, z) } else { VOID };
                let west = or_void(x > 0, x.wrapping_sub(1), z);
                let east = or_void(x < last[0], x + 1, z);
                let north = or_void(z > 0, x, z.wrapping_sub(1));
                let south = or_void(z < last[1], x, z + 1);
                let [nx, nz] = if here == VOID {
                    normal::UP
                } else {
                    vertical.encode([normal::slope2(west, here, east), normal::slope2(north, here, south)])
                };
                words.extend([here as u32, u32::from(nx) | u32::from(nz) << 8, NEUTRAL]);
            }
        }
    }
}

/// Makes pages of one terrain.
#[derive(Debug)]
pub struct Pages<'a> {
    baker: Baker,
    weights: &'a WeightChain,
    heights: &'a Heights,
    words: Vec<u32>,
    ends: Vec<[usize; 2]>,
    scratch: Scratch,
}

impl<'a> Pages<'a> {
    /// Brings a terrain's parts together.
    ///
    /// # Errors
    /// A weight chain of another size.
    pub fn new(baker: Baker, weights: &'a WeightChain, heights: &'a Heights) -> Result<Self, PageError> {
        let config = baker.config();
        let expected = config.samples.map(|n| (n - 1) * u32::from(config.paint_per_cell));
        let found = weights.mips()[0].size();
        if found != expected {
            return Err(PageError::Weights { expected, found });
        }
        let (words, ends) = (Vec::new(), Vec::new());
        Ok(Self { baker, weights, heights, words, ends, scratch: Scratch::default() })
    }

    /// What they are baked with.
    pub fn baker(&self) -> &Baker {
        &self.baker
    }

    /// Bakes pages; `each` gets every one, three words a texel (see [`crate::kernel::page`]), borders included.
    ///
    /// # Errors
    /// A page that is not on the map, or a device that fails.
    pub fn bake(
        &mut self,
        compute: &dyn Compute,
        pages: &[PagePos],
        each: &mut dyn FnMut(PagePos, &[u32]),
    ) -> Result<(), PageError> {
        for pages in pages.chunks(AT_ONCE) {
            self.words.clear();
            self.ends.clear();
            for &pos in pages {
                let windows = self.baker.windows(pos)?;
                weight_window(self.weights, &windows.weights, &mut self.words);
                let middle = self.words.len();
                self.heights.window(&windows.samples, &mut self.words);
                self.ends.push([middle, self.words.len()]);
            }
            let mut start = 0;
            let inputs: ArrayVec<PageInput<'_>, AT_ONCE> = pages
                .iter()
                .zip(&self.ends)
                .map(|(&pos, &[middle, end])| {
                    let (weights, samples) = (&self.words[start..middle], &self.words[middle..end]);
                    start = end;
                    PageInput { pos, weights, samples }
                })
                .collect();
            self.baker.bake(compute, &inputs, &mut self.scratch, each)?;
        }
        Ok(())
    }
}

/// Adds the weight texels of a window, a word each. Beyond the last mip there is only that.
fn weight_window(chain: &WeightChain, window: &Window, words: &mut Vec<u32>) {
    let mip = (window.level as usize).min(chain.mips().len() - 1);
    let [x0, z0] = window.first.map(|v| v as u32);
    for z in z0..z0 + window.size[1] {
        for x in x0..x0 + window.size[0] {
            words.push(match (chain.encoding(), chain.texel(mip, x, z)) {
                (crate::kernel::weight_mip::Encoding::Hd, Some(&[a, b, ratio])) => {
                    u32::from(a) | u32::from(b) << 8 | u32::from(ratio) << 16
                }
                (crate::kernel::weight_mip::Encoding::Normal, Some(&[low, high])) => {
                    let t = crate::kernel::weight_mip::NormalTexel::from_bytes([low, high]);
                    // Sevenths in 1/255, half up.
                    let ratio = (u32::from(t.ratio) * 510 + 7) / 14;
                    u32::from(t.id1) | u32::from(t.id2) << 8 | ratio << 16
                }
                _ => 0,
            });
        }
    }
}

#[cfg(test)]
mod tests;
