//! Pages on any device: what a page needs, and many pages in a batch.
//!
//! Owns the look of pages, the layers' textures as a device reads them, the windows of weights and samples that a page is
//! made from, and the parameters of each. Never reads a terrain: whoever asks for pages brings their windows.

mod look;
mod overlay;
mod texture;

pub use look::Look;
pub use texture::{Texel, Textures};

use crate::compute::{Batch, BufferId, Compute, ComputeError, Outputs, batch::MOST_WORDS};
use crate::config::{Diagonal, TerrainConfig};
use crate::content::{Catalogue, Layer, Overlay};
use crate::coord::PagePos;
use crate::kernel::page::{BAKE, PIECE_WORDS, Params, ROW_WORDS, SAMPLE_WORDS, TEXEL_WORDS, layer_flag};
use crate::kernel::page::{page_flag, row};
use crate::kernel::weight_mip::{LAYERS, mip_size};
use crate::kernel::weights::LayerKind;

/// The coarsest mip: places of its texels still fit 32 bits.
pub const MAX_MIP: u32 = 24;

/// Words of pages that a batch gives at most.
const BATCH_WORDS: usize = 1 << 22;

/// A rectangle of a lattice at a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The level: of weights their mip, of samples log₂ of the distance between them.
    pub level: u32,
    /// The first column and row.
    pub first: [i32; 2],
    /// Columns and rows.
    pub size: [u32; 2],
}

impl Window {
    /// Entries in it.
    pub fn area(&self) -> usize {
        self.size[0] as usize * self.size[1] as usize
    }
}

/// What a page is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// Weight texels of a mip: a word each, id1, id2 and ratio from the lowest byte up.
    pub weights: Window,
    /// Samples of a level, j standing for sample min(j · 2^level, last): three words each, the height in quanta
    /// ([`VOID`](crate::height::VOID) where there is none), the bytes of its normal, and three bytes of macro colour.
    pub samples: Window,
}

/// A page to be baked, with the contents of its [`Windows`].
#[derive(Clone, Copy, Debug)]
pub struct PageInput<'a> {
    /// Which.
    pub pos: PagePos,
    /// Its weight texels, row-major.
    pub weights: &'a [u32],
    /// Its samples, row-major.
    pub samples: &'a [u32],
}

/// Memory of [`Baker::bake`], to be used again.
#[derive(Debug, Default)]
pub struct Scratch {
    words: Vec<u32>,
    params: Vec<Params>,
    batch: Batch<'static>,
    out: Outputs,
}

/// Everything that pages of one terrain have in common.
#[derive(Debug)]
pub struct Baker {
    config: TerrainConfig,
    look: Look,
    layers: Vec<Layer>,
    /// Of each layer whether it is triplanar and hexed.
    flags: Vec<u32>,
    overlays: Vec<Overlay>,
    textures: Textures,
    macro_colour: bool,
}

fn refused<T>(reason: String) -> Result<T, ComputeError> {
    Err(ComputeError::Refused { pass: "page", reason })
}

impl Baker {
    /// For a terrain, its catalogue and the textures of its layers in order. `macro_colour` says whether the samples'
    /// macro colours are looked at.
    ///
    /// # Errors
    /// A look, layers, textures or overlays that do not fit each other or the arithmetic.
    pub fn new(
        config: &TerrainConfig,
        look: &Look,
        catalogue: &Catalogue,
        textures: Textures,
        macro_colour: bool,
    ) -> Result<Self, ComputeError> {
        look.check().or_else(refused)?;
        let layers = catalogue.layers.clone();
        if layers.is_empty() || layers.len() > LAYERS as usize || layers.len() != textures.layers() {
            let found = format!("{} layers and {} textures", layers.len(), textures.layers());
            return refused(format!("expected 1 to {LAYERS} layers and as many textures, found {found}"));
        }
        if 1 << look.texels_log2 < u32::from(config.paint_per_cell) {
            return refused(format!(
                "expected at least as many texels as paint texels a cell side, found {} and {}",
                1 << look.texels_log2,
                config.paint_per_cell
            ));
        }
        let unknown =
            |names: &Vec<String>| names.iter().find(|n| layers.iter().all(|l| l.name != **n)).cloned();
        if let Some(name) = unknown(&look.flat).or_else(|| unknown(&look.plain)) {
            return refused(format!("expected names of layers in flat and plain, found {name:?}"));
        }
        let flags = |l: &Layer| {
            let on = |flag, names: &Vec<String>| if names.contains(&l.name) { 0 } else { flag };
            on(layer_flag::TRIPLANAR, &look.flat) | on(layer_flag::HEX, &look.plain)
        };
        let flags = layers.iter().map(flags).collect();
        let unit_m = config.spacing_m() / f64::from(8 << look.texels_log2);
        for o in &catalogue.overlays {
            if (o.width_m / 2.0 + o.fade_m) / unit_m > f64::from(1 << 28) {
                return refused(format!(
                    "expected a narrower overlay for texels as fine as these, found {:?}",
                    o.name
                ));
            }
        }
        let overlays = catalogue.overlays.clone();
        Ok(Self { config: *config, look: look.clone(), layers, flags, overlays, textures, macro_colour })
    }

    /// The look.
    pub fn look(&self) -> &Look {
        &self.look
    }

    /// The terrain.
    pub fn config(&self) -> &TerrainConfig {
        &self.config
    }

    /// Pages of a mip along x and z.
    pub fn pages(&self, mip: u32) -> [u32; 2] {
        let whole = u64::from(self.look.side) << mip;
        self.config.samples.map(|n| (u64::from(n - 1) << self.look.texels_log2).div_ceil(whole) as u32)
    }

    /// The first mip of which one page covers the map.
    pub fn mips(&self) -> u32 {
        (0..MAX_MIP).find(|&mip| self.pages(mip) == [1, 1]).unwrap_or(MAX_MIP) + 1
    }

    /// Metres a texel of a mip.
    pub fn texel_m(&self, mip: u32) -> f64 {
        self.config.spacing_m() * (1u64 << mip) as f64 / f64::from(1 << self.look.texels_log2)
    }

    /// Stored texels a side, borders included.
    pub fn stored_side(&self) -> u32 {
        self.look.side + 2 * self.look.border
    }

    /// What a page is made from.
    ///
    /// # Errors
    /// A page that is not on the map.
    pub fn windows(&self, pos: PagePos) -> Result<Windows, ComputeError> {
        let there = |pages: [u32; 2]| {
            (0..i64::from(pages[0])).contains(&i64::from(pos.x))
                && (0..i64::from(pages[1])).contains(&i64::from(pos.z))
        };
        if pos.mip > MAX_MIP || !there(self.pages(pos.mip)) {
            return refused(format!("expected a page on the map, of mip 0 to {MAX_MIP}, found {pos:?}"));
        }
        let paint_log2 = u32::from(self.config.paint_per_cell).ilog2();
        let (weights_level, g) = levels(pos.mip, self.look.texels_log2 - paint_log2);
        let mut texels = self.config.samples.map(|n| (n - 1) << paint_log2);
        (0..weights_level).for_each(|_| texels = mip_size(texels));
        let [first, last] = self.reach(pos);
        let at = |v: i32| (2 * v + 1 - (1 << g)) >> (g + 1);
        let weights = window(weights_level, texels, first.map(at), last.map(|v| at(v) + 1));
        let (level, shift) = levels(pos.mip, self.look.texels_log2);
        let samples = self.config.samples.map(|n| (n - 1).div_ceil(1 << level) + 1);
        let at = |v: i32| (2 * v + 1) >> (shift + 1);
        // Two columns and rows at least, so that there is a cell.
        let cells = window(level, samples.map(|n| n - 1), first.map(at), last.map(at));
        Ok(Windows { weights, samples: Window { size: cells.size.map(|n| n + 1), ..cells } })
    }

    /// The first and the last stored texel.
    fn reach(&self, pos: PagePos) -> [[i32; 2]; 2] {
        let (side, border) = (self.look.side as i32, self.look.border as i32);
        let first = [pos.x, pos.z].map(|v| v * side - border);
        [first, first.map(|v| v + side + 2 * border - 1)]
    }

    /// Bakes pages: `each` gets them one after the other, three words a texel, row-major with their borders.
    ///
    /// # Errors
    /// A page that is not on the map, windows of another size, or a device that fails.
    pub fn bake(
        &self,
        compute: &dyn Compute,
        pages: &[PageInput<'_>],
        scratch: &mut Scratch,
        each: &mut dyn FnMut(PagePos, &[u32]),
    ) -> Result<(), ComputeError> {
        let texels = self.stored_side() as usize * self.stored_side() as usize;
        let at_once = (BATCH_WORDS / (texels * TEXEL_WORDS)).max(1);
        for pages in pages.chunks(at_once) {
            self.fill(pages, scratch)?;
            if scratch.words.len() > MOST_WORDS {
                return Err(ComputeError::TooLarge { pass: "page", words: scratch.words.len() as u64 });
            }
            let mut batch = std::mem::take(&mut scratch.batch).emptied();
            let colours = batch.shared(&self.textures.colours);
            let surfaces = batch.shared(&self.textures.surfaces);
            let inputs = batch.words(&scratch.words);
            for params in &scratch.params {
                let out: BufferId = batch.target(texels * TEXEL_WORDS);
                batch.step(&BAKE, texels as u64, &params.words(), &[colours, surfaces, inputs], &[out]);
                batch.read(out);
            }
            let ran = compute.run(&batch, &mut scratch.out);
            scratch.batch = batch.emptied();
            ran?;
            for (n, page) in pages.iter().enumerate() {
                each(page.pos, scratch.out.words(n));
            }
        }
        Ok(())
    }

    /// The words and parameters of a batch.
    fn fill(&self, pages: &[PageInput<'_>], scratch: &mut Scratch) -> Result<(), ComputeError> {
        let Scratch { words, params, .. } = scratch;
        words.clear();
        params.clear();
        let mut rows = (u32::MAX, 0);
        for page in pages {
            let windows = self.windows(page.pos)?;
            let expected = [windows.weights.area(), windows.samples.area() * SAMPLE_WORDS];
            let found = [page.weights.len(), page.samples.len()];
            if found != expected {
                let (what, is) = (format!("{expected:?}"), format!("{found:?}"));
                return refused(format!(
                    "{:?}: expected {what} words of weights and samples, found {is}",
                    page.pos
                ));
            }
            if rows.0 != page.pos.mip {
                rows = (page.pos.mip, words.len() as u32);
                self.rows(page.pos.mip, words);
            }
            let mut p = self.params(page.pos, &windows);
            p.layers_at = rows.1;
            p.weights_at = words.len() as u32;
            words.extend_from_slice(page.weights);
            p.samples_at = words.len() as u32;
            words.extend_from_slice(page.samples);
            p.pieces_at = words.len() as u32;
            let [first, last] = self.reach(page.pos);
            let texel_m = self.texel_m(page.pos.mip);
            self.overlays.iter().for_each(|o| overlay::pieces(o, texel_m, first, last, words));
            p.pieces = (words.len() as u32 - p.pieces_at) / PIECE_WORDS as u32;
            params.push(p);
        }
        Ok(())
    }

    fn params(&self, pos: PagePos, windows: &Windows) -> Params {
        let look = &self.look;
        let paint_log2 = u32::from(self.config.paint_per_cell).ilog2();
        let near = pos.mip < look.near_mips;
        let [steep_start, steep_end] = look.steep();
        Params {
            first: self.reach(pos)[0],
            side: self.stored_side(),
            mip: pos.mip,
            kept: if self.is_far(pos.mip) { 2 } else { 4 },
            flags: if near { page_flag::HEX } else { 0 }
                | if self.macro_colour { page_flag::MACRO } else { 0 },
            weights_first: windows.weights.first,
            weights_size: windows.weights.size,
            weights_shift: levels(pos.mip, look.texels_log2 - paint_log2).1,
            samples_first: windows.samples.first,
            samples_size: windows.samples.size,
            samples_shift: levels(pos.mip, look.texels_log2).1,
            diagonal: match self.config.diagonal {
                Diagonal::Main => 0,
                Diagonal::Anti => 1,
                // What morphing to even samples leaves.
                Diagonal::Checkerboard if windows.samples.level > 0 => 1,
                Diagonal::Checkerboard => 2,
            },
            variation: look.variation_256(),
            variation_step: units(f64::from(1 << 20) * self.half_texel_m() / look.variation_m),
            steep_start,
            steep_span: (steep_start - steep_end).max(1),
            ..Params::default()
        }
    }

    fn is_far(&self, mip: u32) -> bool {
        mip >= self.look.far_mip
    }

    /// Metres of half a texel of mip 0.
    fn half_texel_m(&self) -> f64 {
        self.config.spacing_m() / f64::from(2 << self.look.texels_log2)
    }

    /// The rows of all 32 layers at a mip; what is no layer is drawn as layer 0.
    fn rows(&self, mip: u32, words: &mut Vec<u32>) {
        for id in 0..LAYERS as usize {
            let id = if id < self.layers.len() { id } else { 0 };
            words.extend_from_slice(&self.row(id, mip));
        }
    }

    fn row(&self, id: usize, mip: u32) -> [u32; ROW_WORDS] {
        let layer = &self.layers[id];
        let far = if self.is_far(mip) { 1u32 << self.look.far_scale_log2 } else { 1 };
        let tiling_m = layer.tiling_m * f64::from(far);
        let half_m = self.half_texel_m();
        // The mip whose texels are nearest in size: within a factor of √2 either way.
        let texels = self.texel_m(mip) * f64::from(self.textures.side()) / tiling_m;
        let most = self.textures.side().ilog2();
        let own = (0..most).find(|&k| (1u64 << k) as f64 * std::f64::consts::SQRT_2 > texels).unwrap_or(most);
        let slot = self.textures.slot(id, own);
        let quantum_m = self.config.quantum.metres() / 64.0;
        let whole = 4_294_967_296.0;
        let hexes = f64::from(1 << 20) * half_m / tiling_m;
        // Three and a half cells a repeat, as the paper has it: 2 · √3.
        const ACROSS: f64 = 3.464_101_615_137_754_6;
        let mut out = [0; ROW_WORDS];
        out[row::COLOUR] = slot.colour;
        out[row::SURFACE] = slot.surface;
        out[row::METAL] = slot.metal;
        out[row::SIDE_LOG2] = most - own;
        out[row::STEP] = units(whole * half_m / tiling_m);
        out[row::STEP_UP] = units(whole * quantum_m / tiling_m);
        for (word, tint) in out[row::TINT..].iter_mut().zip(layer.tint) {
            *word = units(tint * 4096.0);
        }
        let gain = if layer.kind == LayerKind::HeightAdjusted { 512 } else { 256 };
        out[row::CONTRAST] = units(layer.height_blend_contrast * 65_535.0).max(1) | gain << 16;
        out[row::NORMAL] = units(layer.normal_scale * 256.0) | self.textures.metal(id) << 16;
        out[row::FLAGS] = self.flags[id];
        out[row::HEX] = units(ACROSS * hexes);
        out[row::HEX + 1] = units(-2.0 * hexes);
        out[row::HEX + 2] = units(4.0 * hexes);
        out
    }
}

/// The level of a lattice of 2^t texels an entry that a mip uses, and log₂ of the mip's texels an entry of it.
fn levels(mip: u32, t: u32) -> (u32, u32) {
    (mip.saturating_sub(t), t.saturating_sub(mip))
}

/// Entries from `first` to `last` as far as there are any; of those beyond an edge the ones at it.
fn window(level: u32, size: [u32; 2], first: [i32; 2], last: [i32; 2]) -> Window {
    let clamp = |v: [i32; 2]| [v[0].clamp(0, size[0] as i32 - 1), v[1].clamp(0, size[1] as i32 - 1)];
    let (first, last) = (clamp(first), clamp(last));
    Window { level, first, size: [0, 1].map(|i| (last[i] - first[i] + 1) as u32) }
}

/// The nearest whole number, half up, modulo 2³².
fn units(v: f64) -> u32 {
    (v + 0.5).floor() as i64 as u32
}

#[cfg(test)]
mod tests;
