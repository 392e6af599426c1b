//! Pages: one square of the world's surface as texels of albedo, roughness, normal, occlusion, metallic and height.
//!
//! Owns the rule below, its fixed-point forms and the CPU twin. A texel depends on its own place in the world and on the
//! page's mip alone: not on the page, its border or a camera, so pages agree wherever they overlap. Never reads files,
//! never chooses what is baked, never reduces finer pages.
//!
//! The look is that of layered terrain materials: Golus's and Mikkelsen's writing on triplanar mapping, "Surface
//! Gradient–Based Bump Mapping Framework" (Mikkelsen, JCGT 2020), "Practical Real-Time Hex-Tiling" (Mikkelsen, JCGT 2022,
//! here with quarter turns, so that they are exact), and the hash of Jarzynski and Olano ("Hash Functions for GPU Rendering",
//! JCGT 2020).
//!
//! **Places.** Texels of mip m are squares of 2ᵐ texels of mip 0, of which 2ᵗ (t at most 5) make a cell side. Texel X has its
//! centre at 2X + 1 half texels. A *phase* is a u32 of which 2³² is one repeat of a texture: (2X + 1) · 2ᵐ times the phase
//! of half a texel of mip 0, wrapping. Cells of noise and of hexagons are 2²⁰ units of such a product, 4,096 before they
//! repeat. All shifts of signed numbers are arithmetic; `a / b` rounds down.
//!
//! **Ground.** Samples of the mip's level stand around the texel; beyond the map the nearest point on its edge counts. The
//! height is the triangle rule's on the level's own grid, exact in 1/64 quantum; [`VOID`](crate::height::VOID) where a corner
//! of the triangle is void (and 0 in what follows). Normal codes are mixed linearly with weights of 1/65536 to 8.8; n = (129 ·
//! (code − 128 · 256) + 128) ≫ 8 in Q14; the upward part is ⌊√(2²⁸ − nx² − nz²)⌋, at least 0.
//!
//! **Which layers.** Each of the four weight texels around gives (255 − ratio) · b and ratio · b to its layers, b being its
//! bilinear weight in 1/65536. Ids from 32 on give nothing. The overlay of largest alpha (of equal ones the later) leaves
//! ⌊m · (255 − alpha) / 255⌋ of each and adds alpha · 65536 to its layer. The four strongest layers stay, two in the far band,
//! ties to the smaller id, their masses ≫ 8, without zeros; with none it is layer 0.
//!
//! **A lookup** of a layer's texture is bilinear among four texels of the mip that fits, with u and v of 8 bits of
//! fraction: w11 = (fu · fv + 128) ≫ 8, w10 = fu − w11, w01 = fv − w11, w00 the rest of 256. Colour is filtered as light (16
//! bits, by table), everything else as 8.8. Slopes are stored as 128 + 64 · slope.
//! - *Planar*: u along x, v along z. *Hexed* (flag, near band): places on a grid of triangles choose three of its points, each
//!   with a hash of (point, layer) that shifts the lookup by any phase and turns it by quarters; barycentric weights to the
//!   seventh, in 1/256, the rest to the first.
//! - *Triplanar* (flag): steep = 256 · (start − ny) / span, within 0 and 256. That share is taken off the planar lookup and
//!   given to three plain ones along x, y and z by n⁴; v goes down.
//!
//! **Blending.** Weights w are the masses over their sum in 1/65535, half up. A layer's score is w + gain · height; its blend
//! is score − (largest score − contrast), at least 0 and at most 8 · w, where contrast is at least 1: with 0 the higher
//! layer wins outright. Shares are blends over their sum in 1/4096, half up; the first layer takes the rest. Light (after
//! the tint, Q12), roughness, occlusion, metallic and slopes are mixed by shares.
//!
//! **Detail** is a gradient G in Q12, each part within ±4: N' = N + (N · (N·G ≫ 12) ≫ 14) − 4 · G, made a code as in
//! [`super::normal`]. **Variation** and **macro colour** then scale the light (see the code); codes come from a table.

mod texel;

use super::Entry;

/// One page. Reads colours (with the tables), surfaces and the page's inputs; writes [`TEXEL_WORDS`] words a texel.
pub const BAKE: Entry =
    Entry { kernel: "page", name: "bake", reads: 3, writes: 1, params: PARAMS, twin: texel::twin };

/// Words of a texel: albedo (sRGB, three bytes) and roughness; the two bytes of the normal, occlusion, metallic; height in
/// 1/64 quantum as an i32.
pub const TEXEL_WORDS: usize = 3;

/// Parameters, in the order of [`Params`].
pub const PARAMS: usize = 26;

/// Words of a layer's row, see [`row`].
pub const ROW_WORDS: usize = 16;

/// Words of a sample: height in quanta, the two bytes of its normal, three bytes of macro colour (128 leaves it).
pub const SAMPLE_WORDS: usize = 3;

/// Words of a piece of an overlay, see [`piece`].
pub const PIECE_WORDS: usize = 10;

/// The colours' first words: the light of each sRGB code, 16 bits.
pub const LIGHT_AT: usize = 0;

/// Then the sRGB codes of each light, a byte each.
pub const CODES_AT: usize = 256;

/// Then the textures.
pub const TEXTURES_AT: usize = CODES_AT + 65_536 / 4;

/// Bits of a quantum's fraction in a texel's height.
pub const HEIGHT_BITS: u32 = 6;

/// The most texels a cell side, as a power of two.
pub const MAX_TEXELS_LOG2: u32 = 5;

/// Macro colour that changes nothing.
pub const NEUTRAL: u32 = 0x0080_8080;

/// Flags of a page.
pub mod page_flag {
    /// Layers that can are hexed.
    pub const HEX: u32 = 1;
    /// Macro colours are looked at.
    pub const MACRO: u32 = 2;
}

/// Flags of a layer.
pub mod layer_flag {
    /// Triplanar on slopes.
    pub const TRIPLANAR: u32 = 1;
    /// Hexed in the near band.
    pub const HEX: u32 = 2;
}

/// Places in a layer's row.
pub mod row {
    /// Where its colours of the mip stand: red, green, blue in sRGB, height.
    pub const COLOUR: usize = 0;
    /// Where its surfaces do: slopes along u and v, roughness, occlusion.
    pub const SURFACE: usize = 1;
    /// Where its metallic does, a byte a texel of four in a word; `u32::MAX` when it is the same everywhere.
    pub const METAL: usize = 2;
    /// log₂ of the texels a side, at most 13.
    pub const SIDE_LOG2: usize = 3;
    /// Phase of half a texel of mip 0.
    pub const STEP: usize = 4;
    /// Phase of 1/64 quantum of height.
    pub const STEP_UP: usize = 5;
    /// Factors on red, green and blue in Q12, at most 16: three words.
    pub const TINT: usize = 6;
    /// Contrast in 1/65535, at least 1, and above it the gain of heights in 1/256.
    pub const CONTRAST: usize = 9;
    /// Factor on slopes in 1/256, at most 16, and above it the metallic of the whole layer.
    pub const NORMAL: usize = 10;
    /// Flags.
    pub const FLAGS: usize = 11;
    /// Hexagons: the first coordinate a half texel along x, along z, and the second along z.
    pub const HEX: usize = 12;
}

/// Places in a piece of an overlay: a straight strip with round ends. Units are eighths of the page's texels.
pub mod piece {
    /// Start: x and z.
    pub const FROM: usize = 0;
    /// To the end, shifted: x and z.
    pub const ALONG: usize = 2;
    /// Length in 1/16, at least 1.
    pub const LENGTH: usize = 4;
    /// Where it ends fading, in 1/4.
    pub const OUTER: usize = 5;
    /// Width of the fade, in 1/4, at least 1.
    pub const FADE: usize = 6;
    /// Its layer.
    pub const LAYER: usize = 7;
    /// By how many bits distances are shifted before they are looked at.
    pub const SHIFT: usize = 8;
}

/// What a page is told. In the order of the words.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Params {
    /// The first stored texel.
    pub first: [i32; 2],
    /// Texels a side, borders included.
    pub side: u32,
    /// The mip.
    pub mip: u32,
    /// Layers that stay: 4 or 2.
    pub kept: u32,
    /// See [`page_flag`].
    pub flags: u32,
    /// Where the weight texels stand in the inputs; a word each: id1, id2, ratio.
    pub weights_at: u32,
    /// The first of them.
    pub weights_first: [i32; 2],
    /// How many along x and z.
    pub weights_size: [u32; 2],
    /// log₂ of texels a weight texel.
    pub weights_shift: u32,
    /// Where the samples stand.
    pub samples_at: u32,
    /// The first of them.
    pub samples_first: [i32; 2],
    /// How many along x and z, at least two.
    pub samples_size: [u32; 2],
    /// log₂ of texels a cell of the level.
    pub samples_shift: u32,
    /// 0 main, 1 anti, 2 checkerboard.
    pub diagonal: u32,
    /// Where the pieces of overlays stand.
    pub pieces_at: u32,
    /// How many.
    pub pieces: u32,
    /// Where the 32 rows of layers stand.
    pub layers_at: u32,
    /// Strength of the variation in 1/256, at most 128.
    pub variation: u32,
    /// Units of its noise a half texel of mip 0.
    pub variation_step: u32,
    /// Slopes are triplanar where the upward part of the normal (Q14) is below.
    pub steep_start: u32,
    /// And wholly so this much below, at least 1.
    pub steep_span: u32,
}

const _: () = assert!(size_of::<Params>() == 4 * PARAMS);

impl Params {
    /// As words.
    pub fn words(&self) -> [u32; PARAMS] {
        let i = |v: i32| v as u32;
        [
            i(self.first[0]),
            i(self.first[1]),
            self.side,
            self.mip,
            self.kept,
            self.flags,
            self.weights_at,
            i(self.weights_first[0]),
            i(self.weights_first[1]),
            self.weights_size[0],
            self.weights_size[1],
            self.weights_shift,
            self.samples_at,
            i(self.samples_first[0]),
            i(self.samples_first[1]),
            self.samples_size[0],
            self.samples_size[1],
            self.samples_shift,
            self.diagonal,
            self.pieces_at,
            self.pieces,
            self.layers_at,
            self.variation,
            self.variation_step,
            self.steep_start,
            self.steep_span,
        ]
    }

    /// Back from words.
    pub fn of_words(w: &[u32]) -> Self {
        let i = |n: usize| w[n] as i32;
        Self {
            first: [i(0), i(1)],
            side: w[2],
            mip: w[3],
            kept: w[4],
            flags: w[5],
            weights_at: w[6],
            weights_first: [i(7), i(8)],
            weights_size: [w[9], w[10]],
            weights_shift: w[11],
            samples_at: w[12],
            samples_first: [i(13), i(14)],
            samples_size: [w[15], w[16]],
            samples_shift: w[17],
            diagonal: w[18],
            pieces_at: w[19],
            pieces: w[20],
            layers_at: w[21],
            variation: w[22],
            variation_step: w[23],
            steep_start: w[24],
            steep_span: w[25],
        }
    }
}

/// The tables at the start of the colours: the light of sRGB codes (IEC 61966-2-1) in 16 bits, and the nearest code of each
/// light. Made with `libm`, so they are the same on every machine.
pub fn tables() -> Vec<u32> {
    let light = |v: f64| if v <= 0.040_45 { v / 12.92 } else { libm::pow((v + 0.055) / 1.055, 2.4) };
    let scaled = |v: f64| (light(v) * 65_535.0 + 0.5).floor() as u32;
    let mut words: Vec<u32> = (0..256).map(|v| scaled(f64::from(v) / 255.0)).collect();
    words.resize(TEXTURES_AT, 0);
    // Between two codes the middle in the coded scale decides.
    let ends: Vec<u32> = (0..255).map(|v| scaled((f64::from(v) + 0.5) / 255.0)).collect();
    let codes = super::bytes_of_mut(&mut words[CODES_AT..]);
    let mut code = 0usize;
    for (v, out) in (0u32..).zip(codes.iter_mut()) {
        while code < 255 && v >= ends[code] {
            code += 1;
        }
        *out = code as u8;
    }
    words
}

/// The hash of the rule: 32 mixed bits (the PCG of the reference above).
pub const fn pcg(v: u32) -> u32 {
    let state = v.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
    let word = ((state >> ((state >> 28) + 4)) ^ state).wrapping_mul(277_803_737);
    (word >> 22) ^ word
}

#[cfg(test)]
mod tests;
