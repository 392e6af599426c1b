//! The height atlas: a window of the terrain as one 32-bit texel a sample, for shaders to sample.
//!
//! Owns the packing of heights and normals into four bytes and its decoding constants. The form is section 2 of the
//! reference article on custom terrain: red and green are the high and the low byte of a 16-bit height code, blue and
//! alpha x and z of the normal. Integers only. Never filters, never clamps a height without being told: the pass refuses
//! heights that the packing does not hold.
//!
//! A texel is `red | green << 8 | blue << 16 | alpha << 24`: the bytes red, green, blue, alpha in memory. With heights in
//! quanta of 2⁻ᵏ m, code = (q − base) ≫ shift, rounded half up; [`Packing`] states base and shift. A void has code 0 and a
//! normal straight up: it is not drawn, since the mask of triangles removes it. Normals are those of [`super::normal`],
//! from central differences, one-sided at the map's edge and beside voids: a window's own edge is no edge.

use super::normal::{Vertical, row_within};
use super::{Bound, Entry};
use crate::height::{QuantumLog2, VOID};
use rayon::prelude::*;

/// Packs a window. Parameters: width, height, base, shift, and d and p of [`Vertical::parts`]. Reads heights in quanta
/// of the window and one sample around it, void beyond the map; writes the texels.
pub const PACK: Entry = Entry { kernel: "atlas", name: "pack", reads: 1, writes: 1, params: 6, twin: pack };

/// How heights become codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packing {
    /// The height of code 0, in quanta.
    pub base: i32,
    /// A step of the code is 2^shift quanta.
    pub shift: u32,
}

impl Packing {
    /// The reference's own packing for quanta of 2⁻ᵏ m: −256 m to just below 256 m in steps of 1/128 m. `None` where 1/128 m
    /// is no whole number of quanta.
    pub fn reference(k: QuantumLog2) -> Option<Self> {
        let shift = u32::from(k.get()).checked_sub(7)?;
        Some(Self { base: -(256 << k.get()), shift })
    }

    /// The finest packing that holds heights from `min` to `max`, in quanta; its base is `min` rounded down to a step.
    pub fn for_range(min: i32, max: i32) -> Self {
        let shift = (0..32).find(|&shift| Self::at(min, shift).code(max).is_some()).unwrap_or(31);
        Self::at(min, shift)
    }

    fn at(min: i32, shift: u32) -> Self {
        Self { base: min >> shift << shift, shift }
    }

    /// The code of a height; `None` where it has none.
    pub fn code(self, quanta: i32) -> Option<u16> {
        let above = i64::from(quanta) - i64::from(self.base);
        let half = (1_i64 << self.shift) >> 1;
        u16::try_from((above + half) >> self.shift).ok().filter(|_| quanta != VOID)
    }

    /// The height of a code, in quanta.
    pub fn quanta(self, code: u16) -> i64 {
        i64::from(self.base) + (i64::from(code) << self.shift)
    }

    /// What a shader makes metres of: `red · [0] + green · [1] + [2]`, with red and green sampled as numbers from 0 to 1.
    pub fn decoding(self, k: QuantumLog2) -> [f64; 3] {
        let step = k.metres() * f64::from(1_u32 << self.shift);
        [255.0 * 256.0 * step, 255.0 * step, k.to_metres(self.base)]
    }
}

/// The code in a texel.
pub const fn code_of(texel: u32) -> u16 {
    ((texel & 255) << 8 | texel >> 8 & 255) as u16
}

/// The two bytes of the normal in a texel: see [`super::normal`].
pub const fn normal_of(texel: u32) -> [u8; 2] {
    [(texel >> 16) as u8, (texel >> 24) as u8]
}

/// Samples done between two looks at memory.
const SPAN: usize = 256;

/// Rows that are a task of their own.
const ROWS: usize = 8;

fn pack(params: &[u32], bound: &mut Bound<'_>) {
    let ([heights], [texels]) = bound.split();
    let (width, rows) = (params[0] as usize, params[1] as usize);
    let packing = Packing { base: params[2] as i32, shift: params[3] };
    let vertical = Vertical::from_parts([params[4], params[5]]);
    let heights: &[i32] = bytemuck::cast_slice(&heights[..(width + 2) * (rows + 2)]);
    let stride = width + 2;
    texels[..width * rows].par_chunks_mut(width * ROWS).enumerate().for_each(|(band, texels)| {
        for (z, texels) in texels.chunks_exact_mut(width).enumerate() {
            let first = (band * ROWS + z) * stride;
            let rows: [&[i32]; 3] = std::array::from_fn(|i| &heights[first + i * stride..][..stride]);
            for (i, texels) in texels.chunks_mut(SPAN).enumerate() {
                pack_span(packing, vertical, rows.map(|r| &r[i * SPAN..][..texels.len() + 2]), texels);
            }
        }
    });
}

/// A part of a row, with one sample more at either end.
fn pack_span(packing: Packing, vertical: Vertical, rows: [&[i32]; 3], texels: &mut [u32]) {
    let mut normals = [[0; 2]; SPAN];
    let normals = &mut normals[..texels.len()];
    row_within(rows, vertical, normals);
    let half = (1_u32 << packing.shift) >> 1;
    for ((texel, &q), n) in texels.iter_mut().zip(&rows[1][1..]).zip(normals) {
        // A height that the packing holds is less than 2³² − half above the base.
        let code = if q == VOID { 0 } else { q.wrapping_sub(packing.base) as u32 };
        let code = code.wrapping_add(half) >> packing.shift & 0xFFFF;
        let code = if q == VOID { 0 } else { code };
        *texel = code >> 8 | (code & 255) << 8 | u32::from(n[0]) << 16 | u32::from(n[1]) << 24;
    }
}

#[cfg(test)]
mod tests;
