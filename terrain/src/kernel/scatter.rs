//! Scatter: where the instances of a type of foliage or object stand.
//!
//! Owns the rule: one jittered grid a type over the whole terrain, whose points are accepted by hashes of (seed, type, grid
//! x, grid z). The form is that of the terrain node's foliage: acceptance by layer weight, slope, height and water, fuzzy
//! tiles, a key for thinning. Integers only. A window is any rectangle of cells: a point belongs to the window that it stands
//! in, so how the terrain is cut up changes nothing. Never draws, never knows layers: the growth of a texel is given.
//!
//! **Hashes** are PCG4D (Jarzynski and Olano, JCGT 9(3), 2020) of (grid x, grid z, seed, type) and of the same with the top
//! bit of the type flipped: eight words, which are accept, jitter x, jitter z, yaw, scale, key, tile x, tile z.
//!
//! **Place.** Grid points stand g apart, positions in the 2⁻¹⁶ m lattice. A point stands in its grid cell at (g − R) / 2 +
//! ⌊hash · R / 2³²⌋, R being the range of its jitter: neighbours are at least g − R apart.
//!
//! **Acceptance.** The triangle that owns the point (`triangle`: a diagonal is triangle 0's) has to be there, dry if the
//! type asks for it, and within the heights (to 1/64 of a quantum); then ⌊accept · 255 · 2¹⁶ / 2³²⌋ < growth · fade, growth being the texel's, 0 to 255,
//! and fade 0 to 2¹⁶: 2 · ⌊2¹⁵ · (c − c₀) / (c₁ − c₀)⌋ of the cosine c of the triangle's slope between that of the steepest
//! slope and that of where it begins to fade. Cosines are in 1/2¹⁶, by the roots of [`super::normal`]: ⌊d · inverse / 2¹⁵⌋.
//!
//! **An instance** is six words: x and z in the lattice from the window's corner; the exact height on the triangle in 1/64
//! of a quantum, rounded half up, as an i32; yaw (a 65536th of a turn) and above it the scale in 1/4096; the key; the smooth
//! normal's two bytes and above them the tile bytes. Instances come by grid z, then grid x.

use super::normal::{Vertical, slope2};
use super::{Bound, Entry};
use crate::config::Diagonal;
use crate::coord::CellPos;
use crate::height::VOID;
use crate::triangle::Triangle;
use rayon::prelude::*;

/// Words of an instance.
pub const INSTANCE_WORDS: usize = 6;

/// Which points of a grid are accepted. Parameters: [`Window::to_params`]. Reads the heights and the cells of the window;
/// writes a word a point, 1 or 0, and one 0 more.
pub const ACCEPT: Entry =
    Entry { kernel: "scatter", name: "accept", reads: 2, writes: 1, params: PARAMS, twin: accept };

/// The instances of the accepted points, one after another. Reads the heights, and for each point (and one more) how many were
/// accepted before it; writes [`INSTANCE_WORDS`] for each.
pub const EMIT: Entry =
    Entry { kernel: "scatter", name: "emit", reads: 2, writes: 1, params: PARAMS, twin: emit };

/// Words of parameters.
pub const PARAMS: usize = 28;

/// A window of the terrain, and the part of a type's grid that can stand in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Points along x and z.
    pub points: [u32; 2],
    /// Grid x and z of the first.
    pub first: [i32; 2],
    /// The corner of the first point's grid cell from the window's corner, in the lattice.
    pub corner: [i32; 2],
    /// How far apart points are, in the lattice.
    pub spacing: u32,
    /// The range of their jitter, at most the spacing.
    pub jitter: u32,
    /// Seed and number of the type.
    pub hashed: [u32; 2],
    /// Cells along x and z.
    pub cells: [u32; 2],
    /// The window's first cell on the terrain, as far as the diagonal asks.
    pub origin: CellPos,
    /// The diagonal of cells.
    pub diagonal: Diagonal,
    /// Spacing of samples in 1/256 m.
    pub spacing_256: u32,
    /// d and p of [`Vertical::parts`].
    pub vertical: [u32; 2],
    /// Texels of growth along the side of a cell: 1, 2 or 4.
    pub texels: u32,
    /// Lowest and highest ground, in quanta.
    pub height: [i32; 2],
    /// Cosines of the steepest slope and of where it begins to fade, in 1/2¹⁶; the second is larger.
    pub cosines: [u32; 2],
    /// Least scale, and the range above it, in 1/4096; together below 2¹⁶.
    pub scale: [u32; 2],
    /// Whether it stands in water.
    pub in_water: bool,
}

impl Window {
    /// As the kernels' parameters.
    pub fn to_params(self) -> [u32; PARAMS] {
        let diagonal = match self.diagonal {
            Diagonal::Main => 0,
            Diagonal::Anti => 1,
            Diagonal::Checkerboard => 2,
        };
        let parity = (self.origin.x ^ self.origin.z) as u32 & 1;
        [
            self.points[0],
            self.points[1],
            self.first[0] as u32,
            self.first[1] as u32,
            self.corner[0] as u32,
            self.corner[1] as u32,
            self.spacing,
            self.jitter,
            self.hashed[0],
            self.hashed[1],
            self.cells[0],
            self.cells[1],
            diagonal,
            parity,
            self.spacing_256,
            self.vertical[0],
            self.vertical[1],
            self.texels,
            self.height[0] as u32,
            self.height[1] as u32,
            self.cosines[0],
            self.cosines[1],
            self.scale[0],
            self.scale[1],
            u32::from(self.in_water),
            // What follows from these, so that no invocation has to find it again.
            self.spacing_256 << 8,
            self.cells[0] + 3,
            self.cells[0] * self.cells[1],
        ]
    }

    /// From the kernels' parameters.
    fn from_params(p: &[u32]) -> Self {
        Self {
            points: [p[0], p[1]],
            first: [p[2] as i32, p[3] as i32],
            corner: [p[4] as i32, p[5] as i32],
            spacing: p[6],
            jitter: p[7],
            hashed: [p[8], p[9]],
            cells: [p[10], p[11]],
            origin: CellPos::new(p[13] as i32, 0),
            diagonal: [Diagonal::Main, Diagonal::Anti, Diagonal::Checkerboard][p[12] as usize % 3],
            spacing_256: p[14],
            vertical: [p[15], p[16]],
            texels: p[17],
            height: [p[18] as i32, p[19] as i32],
            cosines: [p[20], p[21]],
            scale: [p[22], p[23]],
            in_water: p[24] != 0,
        }
    }

    /// Words of the heights: samples of the window and one around them.
    pub fn height_words(&self) -> u64 {
        (u64::from(self.cells[0]) + 3) * (u64::from(self.cells[1]) + 3)
    }

    /// Words of the cells: one a cell, then the growth of its texels, a byte each, row by row, four a word.
    pub fn cell_words(&self) -> u64 {
        let [w, h] = self.cells.map(u64::from);
        let t = u64::from(self.texels);
        w * h + (w * h * t * t).div_ceil(4)
    }
}

/// The bits of a cell's word: its visible triangles (1, 2) and those in water (4, 8).
pub const fn cell_word(mask: u8, wet: u8) -> u32 {
    (mask & 3) as u32 | ((wet & 3) as u32) << 2
}

/// PCG4D.
pub fn hash4(mut v: [u32; 4]) -> [u32; 4] {
    for word in &mut v {
        *word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    }
    let mix = |v: &mut [u32; 4]| {
        v[0] = v[0].wrapping_add(v[1].wrapping_mul(v[3]));
        v[1] = v[1].wrapping_add(v[2].wrapping_mul(v[0]));
        v[2] = v[2].wrapping_add(v[0].wrapping_mul(v[1]));
        v[3] = v[3].wrapping_add(v[1].wrapping_mul(v[2]));
    };
    mix(&mut v);
    for word in &mut v {
        *word ^= *word >> 16;
    }
    mix(&mut v);
    v
}

/// ⌊a · b / 2³²⌋.
fn high(a: u32, b: u32) -> u32 {
    ((u64::from(a) * u64::from(b)) >> 32) as u32
}

/// A grid point where it stands.
struct Stand {
    /// In the lattice, from the window's corner.
    at: [u32; 2],
    /// Within the cell.
    f: [u32; 2],
    cell: [u32; 2],
    triangle: Triangle,
    anti: bool,
}

impl Window {
    fn hash(&self, x: u32, z: u32, flip: u32) -> [u32; 4] {
        let grid = [self.first[0].wrapping_add(x as i32) as u32, self.first[1].wrapping_add(z as i32) as u32];
        hash4([grid[0], grid[1], self.hashed[0], self.hashed[1] ^ flip])
    }

    /// Where a point stands; `None` outside the window.
    fn stand(&self, x: u32, z: u32, hash: &[u32; 4]) -> Option<Stand> {
        let s = self.spacing_256 << 8;
        let place = |point: u32, axis: usize| {
            let offset = (self.spacing - self.jitter) / 2 + high(hash[1 + axis], self.jitter);
            i64::from(self.corner[axis]) + i64::from(point) * i64::from(self.spacing) + i64::from(offset)
        };
        let (x, z) = (u32::try_from(place(x, 0)).ok()?, u32::try_from(place(z, 1)).ok()?);
        let cell = [x / s, z / s];
        if cell[0] >= self.cells[0] || cell[1] >= self.cells[1] {
            return None;
        }
        let f = [x % s, z % s];
        let anti = self.diagonal.is_anti(CellPos::new(
            self.origin.x.wrapping_add(cell[0] as i32),
            self.origin.z.wrapping_add(cell[1] as i32),
        ));
        let triangle = Triangle::owner(anti, f[0].into(), f[1].into(), s.into());
        Some(Stand { at: [x, z], f, cell, triangle, anti })
    }

    /// Heights of a cell's corners: 00, 10, 01, 11.
    fn corners(&self, heights: &[u32], cell: [u32; 2]) -> [i32; 4] {
        std::array::from_fn(|i| {
            let (x, z) = (cell[0] as usize + (i & 1) + 1, cell[1] as usize + (i >> 1) + 1);
            heights[z * (self.cells[0] as usize + 3) + x] as i32
        })
    }

    /// The cosine of a triangle's slope, in 1/2¹⁶.
    fn cosine(&self, stand: &Stand, q: [i32; 4]) -> u32 {
        let (x, z) = stand.triangle.gradient(stand.anti, q);
        Vertical::from_parts(self.vertical).cosine([2 * x as i32, 2 * z as i32])
    }

    fn accepts(&self, stand: &Stand, heights: &[u32], cells: &[u32], hash: u32) -> bool {
        let [w, h] = self.cells.map(|c| c as usize);
        let (cx, cz) = (stand.cell[0] as usize, stand.cell[1] as usize);
        let word = cells[cz * w + cx];
        let bit = u32::from(stand.triangle.bit());
        if word & bit == 0 || (!self.in_water && word >> 2 & bit != 0) {
            return false;
        }
        let t = self.texels;
        let s = self.spacing_256 << 8;
        // t is a power of two at most 4 and s a multiple of 2⁸, so texels are whole.
        let texel = |axis: usize| (stand.cell[axis] * t + stand.f[axis] / (s / t)) as usize;
        let at = texel(1) * w * t as usize + texel(0);
        let growth = cells[w * h + at / 4] >> (8 * (at % 4)) & 255;
        if growth == 0 {
            return false;
        }
        let q = self.corners(heights, stand.cell);
        let cosine = self.cosine(stand, q);
        let [steepest, fading] = self.cosines;
        if cosine < steepest {
            return false;
        }
        let fade = ((cosine - steepest) << 15) / (fading - steepest);
        let fade = fade.min(1 << 15) << 1;
        if high(hash, 255 << 16) >= growth * fade {
            return false;
        }
        // In 1/64 of a quantum, as the instance will have it.
        let y = self.height(stand, q);
        let [low, high] = self.height;
        i64::from(y) >= i64::from(low) * 64 && i64::from(y) <= i64::from(high) * 64
    }

    /// The height in 1/64 of a quantum.
    fn height(&self, stand: &Stand, q: [i32; 4]) -> i32 {
        self.across(stand, q, 6) as i32
    }

    /// Corner values interpolated on the triangle, times 2ᵘᵖ, rounded half up.
    fn across(&self, stand: &Stand, values: [i32; 4], up: u32) -> i64 {
        let s = i64::from(self.spacing_256) << 8;
        let weights = stand.triangle.weights(stand.anti, stand.f[0].into(), stand.f[1].into(), s);
        let sum: i64 =
            values.iter().zip(weights).map(|(&v, w)| if w == 0 { 0 } else { i64::from(v) * w }).sum();
        ((sum << up) + s / 2).div_euclid(s)
    }

    /// The bytes of the smooth normal: vertex slopes interpolated on the triangle.
    fn normal(&self, stand: &Stand, heights: &[u32]) -> [u8; 2] {
        let stride = self.cells[0] as usize + 3;
        let slopes: [[i32; 2]; 4] = std::array::from_fn(|i| {
            let at = (stand.cell[1] as usize + (i >> 1) + 1) * stride + stand.cell[0] as usize + (i & 1) + 1;
            let q = |at: usize| heights[at] as i32;
            let here = q(at);
            if here == VOID {
                return [0, 0];
            }
            [slope2(q(at - 1), here, q(at + 1)), slope2(q(at - stride), here, q(at + stride))]
        });
        let along = |axis: usize| self.across(stand, slopes.map(|s| s[axis]), 0) as i32;
        Vertical::from_parts(self.vertical).encode([along(0), along(1)])
    }

    fn instance(&self, x: u32, z: u32, heights: &[u32]) -> [u32; INSTANCE_WORDS] {
        let first = self.hash(x, z, 0);
        let [scale, key, tile_x, tile_z] = self.hash(x, z, 1 << 31);
        let stand = self.stand(x, z, &first).expect("only points of the window are accepted");
        let q = self.corners(heights, stand.cell);
        let scale = self.scale[0] + high(scale, self.scale[1]);
        let normal = self.normal(&stand, heights);
        [
            stand.at[0],
            stand.at[1],
            self.height(&stand, q) as u32,
            first[3] >> 16 | scale << 16,
            key,
            u32::from(normal[0]) | u32::from(normal[1]) << 8 | tile_x >> 24 << 16 | tile_z >> 24 << 24,
        ]
    }
}

fn accept(params: &[u32], bound: &mut Bound<'_>) {
    let ([heights, cells], [out]) = bound.split();
    let window = Window::from_params(params);
    let [w, h] = window.points.map(|p| p as usize);
    out[w * h] = 0;
    out[..w * h].par_chunks_mut(w.max(1)).enumerate().for_each(|(z, out)| {
        for (x, out) in out.iter_mut().enumerate() {
            let hash = window.hash(x as u32, z as u32, 0);
            let stand = window.stand(x as u32, z as u32, &hash);
            *out = u32::from(stand.is_some_and(|stand| window.accepts(&stand, heights, cells, hash[0])));
        }
    });
}

fn emit(params: &[u32], bound: &mut Bound<'_>) {
    let ([heights, before], [out]) = bound.split();
    let window = Window::from_params(params);
    let w = window.points[0] as usize;
    // Rows have places of their own in the output.
    let mut rest = &mut *out;
    let mut rows = Vec::with_capacity(window.points[1] as usize);
    for z in 0..window.points[1] as usize {
        let count = before[(z + 1) * w] - before[z * w];
        let (row, behind) = rest.split_at_mut((count as usize * INSTANCE_WORDS).min(rest.len()));
        rows.push((z, row));
        rest = behind;
    }
    rows.into_par_iter().for_each(|(z, row)| {
        let accepted = (0..w).filter(|x| before[z * w + x] != before[z * w + x + 1]);
        for (x, out) in accepted.zip(row.as_chunks_mut::<INSTANCE_WORDS>().0) {
            *out = window.instance(x as u32, z as u32, heights);
        }
    });
}

#[cfg(test)]
mod tests;
