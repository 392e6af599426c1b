//! Levels of a terrain cut into equal sections: by size on the screen, or by projected error. Every section is drawn.
//!
//! Owns both rules, their formats, and where the vertices of a section stand between two levels. Never reads files, never
//! decides which rule is used. The other way to choose, by a quadtree and ranges, is [`super::select`].
//!
//! A section is a square of 2ⁿ vertices a side, 2ⁿ − 1 quads of the terrain; neighbours share their edge's vertices. At
//! level k it has 2ⁿ⁻ᵏ vertices a side, spread evenly over its whole side. For projected error a chunk is a square of any
//! number of quads that its levels divide.
//!
//! **Distances** are whole 1/256 m from the view to the nearest point of the section's box (sides and lowest and highest
//! height), each axis at most 2³¹, as in [`super::select`].
//!
//! **Size on the screen** ([`SCREEN`], [`EDGES`]). The level is continuous, in 2⁻⁷: log₂ of the distance over the one up to
//! which level 0 is drawn, rounded down, and clamped to what is resident of the section and to its last level. Across an
//! edge the coarser of the two sections' levels holds for the edge.
//!
//! **Between two levels** ([`SURFACE`]). At level k + α vertex (i, j) of the full grid stands at p + α (p' − p), where p is
//! the place of vertex i / 2ᵏ among 2ⁿ⁻ᵏ, and p' of i / 2ᵏ⁺¹ among 2ⁿ⁻ᵏ⁻¹ (whole quotients); places are i · (2ⁿ − 1) /
//! (2ⁿ⁻ᵏ − 1) quads in 2⁻¹⁶, half up. Its height moves alike between the samples nearest to p and p' (half up), in 2⁻⁷
//! quanta, exactly. Vertices of an edge take the edge's level; a corner stands still at every level. The scheme is that
//! of Unreal's Landscape, whose grids do not nest either.
//!
//! **Projected error** ([`ERROR`]). Of the levels whose error, seen from the distance, is at most a pixel, the coarsest:
//! ⌈e · scale / 2ᵏ⌉ ≤ distance with e in quanta of 2⁻ᵏ m and the scale in 2⁻⁸ of metres of distance a metre of error. Cracks
//! are hidden by skirts as deep as the chunk's worst error and one quad; sides on the map's edge have none.

use super::select::gap;
use super::{Bound, Entry};
use crate::height::VOID;
use crate::triangle::cell_height;
use rayon::prelude::*;

/// Levels, and heights between them, in 2⁻⁷.
pub const FINE_LOG2: u32 = 7;

/// Places within a section in 2⁻¹⁶ quads.
pub const PLACE_LOG2: u32 = 16;

/// Words of a section: lowest and highest height (i32, 1/256 m), the finest level that is resident.
pub const SECTION_WORDS: usize = 3;

/// Words of a view: x and z as in [`super::select`], then the height in 1/256 m.
pub const VIEW_WORDS: usize = 5;

/// Words of a section's levels: own + west · 2¹⁶, east + north · 2¹⁶, south.
pub const ROSTER_WORDS: usize = 3;

/// Words of a chunk: level + sides with a skirt (west 1, east 2, north 4, south 8) · 2⁸; the skirt's depth in quanta.
pub const CHUNK_WORDS: usize = 2;

/// The most levels by projected error.
pub const MOST_LEVELS: usize = 8;

/// Parameters of all entries: [`Params`].
const PARAMS: usize = 12;

/// The level of each section of each view. Reads sections and views; writes a word each, row by row, view by view.
pub const SCREEN: Entry =
    Entry { kernel: "sections", name: "screen", reads: 2, writes: 1, params: PARAMS, twin: screen };

/// The levels of sections and their edges. Reads what [`SCREEN`] wrote; writes [`ROSTER_WORDS`] each.
pub const EDGES: Entry =
    Entry { kernel: "sections", name: "edges", reads: 1, writes: 1, params: PARAMS, twin: edges };

/// The level and skirt of each chunk of each view. Reads sections, views and the errors (quanta, `levels` a chunk); writes
/// [`CHUNK_WORDS`] each.
pub const ERROR: Entry =
    Entry { kernel: "sections", name: "error", reads: 3, writes: 1, params: PARAMS, twin: error };

/// The vertices of sections of one view: (2ⁿ)² each, row-major: x and z in 2⁻¹⁶ quads from the section's corner, height in
/// 2⁻⁷ quanta. Reads levels ([`EDGES`]) and (2ⁿ)² samples a section.
pub const SURFACE: Entry =
    Entry { kernel: "sections", name: "surface", reads: 2, writes: 1, params: PARAMS, twin: surface };

/// The parameters of all entries; each uses its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Params {
    /// Sections along x.
    pub across: u32,
    /// Sections along z.
    pub down: u32,
    /// Views.
    pub views: u32,
    /// Quads along a side of a section.
    pub quads: u32,
    /// Spacing in 1/256 m.
    pub spacing_256: u32,
    /// What [`log2_of_square`] gives for the distance up to which level 0 is drawn.
    pub base: u32,
    /// The last level by size on the screen.
    pub coarsest: u32,
    /// Levels by projected error.
    pub levels: u32,
    /// Metres of distance a metre of error, in 2⁻⁸.
    pub scale_256: u32,
    /// k of the quantum.
    pub quantum_log2: u32,
    /// One quad in quanta, rounded up.
    pub quad_quanta: u32,
    /// n: log₂ of the vertices along a section's side.
    pub vertices_log2: u32,
}

impl Params {
    /// As entries take them.
    pub fn words(&self) -> [u32; PARAMS] {
        [
            self.across,
            self.down,
            self.views,
            self.quads,
            self.spacing_256,
            self.base,
            self.coarsest,
            self.levels,
            self.scale_256,
            self.quantum_log2,
            self.quad_quanta,
            self.vertices_log2,
        ]
    }

    fn of(words: &[u32]) -> Self {
        let &[
            across,
            down,
            views,
            quads,
            spacing_256,
            base,
            coarsest,
            levels,
            scale_256,
            quantum_log2,
            quad_quanta,
            vertices_log2,
        ] = words
        else {
            unreachable!("an entry is given as many parameters as it says")
        };
        Self {
            across,
            down,
            views,
            quads,
            spacing_256,
            base,
            coarsest,
            levels,
            scale_256,
            quantum_log2,
            quad_quanta,
            vertices_log2,
        }
    }

    /// Sections of one view.
    fn count(&self) -> usize {
        (self.across * self.down) as usize
    }

    /// The squared distance of a section (by number) from a view.
    fn distance2(&self, section: u32, sections: &[u32], views: &[u32], view: usize) -> u64 {
        let v = &views[view * VIEW_WORDS..(view + 1) * VIEW_WORDS];
        let wide = |i: usize| (u64::from(v[i + 1]) << 32 | u64::from(v[i])) as i64;
        let along = |n: u32, at: i64| {
            let edge = |n: u32| i64::from(n * self.quads) * i64::from(self.spacing_256);
            gap(edge(n), edge(n + 1), at)
        };
        let of = &sections[section as usize * SECTION_WORDS..];
        let [low, high, y] = [of[0], of[1], v[4]].map(|w| i64::from(w as i32));
        [along(section % self.across, wide(0)), along(section / self.across, wide(2)), gap(low, high, y)]
            .into_iter()
            .map(|d| u64::from(d) * u64::from(d))
            .sum()
    }
}

/// log₂ of the root of a square that is not 0, in 2⁻⁷, rounded down: the leading bit, then six bits by squaring.
pub fn log2_of_square(square: u64) -> u32 {
    let whole = 63 - square.leading_zeros();
    // 1.31
    let mut mantissa = ((square << square.leading_zeros()) >> 32) as u32;
    let mut log = whole;
    for _ in 0..FINE_LOG2 - 1 {
        let product = u64::from(mantissa) * u64::from(mantissa);
        let carried = product >> 63;
        log = log << 1 | carried as u32;
        mantissa = (product >> (31 + carried)) as u32;
    }
    log
}

/// The place of a vertex among 2ⁿ⁻ᵏ, in 2⁻¹⁶ quads.
pub fn place(vertex: u32, vertices_log2: u32, level: u32) -> u32 {
    let quads = (1 << vertices_log2) - 1;
    let own = (1 << (vertices_log2 - level)) - 1;
    ((vertex >> level) * (quads << PLACE_LOG2) + own / 2) / own
}

fn screen(params: &[u32], bound: &mut Bound<'_>) {
    let ([sections, views], [out]) = bound.split();
    let p = Params::of(params);
    let out = &mut out[..p.count() * p.views as usize];
    out.par_chunks_mut(p.count()).enumerate().for_each(|(view, out)| {
        for (n, out) in (0..).zip(out) {
            let log = log2_of_square(p.distance2(n, sections, views, view).max(1));
            let finest = sections[n as usize * SECTION_WORDS + 2] << FINE_LOG2;
            *out = log.saturating_sub(p.base).max(finest).min(p.coarsest << FINE_LOG2);
        }
    });
}

fn edges(params: &[u32], bound: &mut Bound<'_>) {
    let ([levels], [out]) = bound.split();
    let p = Params::of(params);
    let out = out.as_chunks_mut::<ROSTER_WORDS>().0[..p.count() * p.views as usize].par_chunks_mut(p.count());
    out.zip(levels.par_chunks(p.count())).for_each(|(out, levels)| {
        for (n, out) in out.iter_mut().enumerate() {
            let (across, own) = (p.across as usize, levels[n]);
            let (x, z) = (n % across, n / across);
            let with = |there: bool, other: usize| if there { own.max(levels[other]) } else { own };
            let west = with(x > 0, n.wrapping_sub(1));
            let east = with(x + 1 < across, n + 1);
            let north = with(z > 0, n.wrapping_sub(across));
            let south = with(z + 1 < p.down as usize, n + across);
            *out = [own | west << 16, east | north << 16, south];
        }
    });
}

fn error(params: &[u32], bound: &mut Bound<'_>) {
    let ([sections, views, errors], [out]) = bound.split();
    let p = Params::of(params);
    let out = out.as_chunks_mut::<CHUNK_WORDS>().0[..p.count() * p.views as usize].par_chunks_mut(p.count());
    out.enumerate().for_each(|(view, out)| {
        for (n, out) in (0..).zip(out) {
            let of = &errors[(n * p.levels) as usize..((n + 1) * p.levels) as usize];
            let d2 = p.distance2(n, sections, views, view);
            let reach = |e: u32| {
                let scaled = u64::from(e) * u64::from(p.scale_256);
                let reach = (scaled + (1 << p.quantum_log2) - 1) >> p.quantum_log2;
                reach.min(u64::from(super::select::FARTHEST))
            };
            // Level 0 has none.
            let level = (1..p.levels).rev().find(|&l| reach(of[l as usize]).pow(2) <= d2).unwrap_or(0);
            let worst = of.iter().copied().max().unwrap_or(0);
            let (x, z) = (n % p.across, n / p.across);
            let sides = [x > 0, x + 1 < p.across, z > 0, z + 1 < p.down];
            let sides = (0..).zip(sides).fold(0, |all, (bit, there)| all | u32::from(there) << bit);
            *out = [level | sides << 8, worst + p.quad_quanta];
        }
    });
}

fn surface(params: &[u32], bound: &mut Bound<'_>) {
    let ([roster, samples], [out]) = bound.split();
    let p = Params::of(params);
    let side = 1_usize << p.vertices_log2;
    let out = out.as_chunks_mut::<3>().0.par_chunks_mut(side * side);
    let roster = roster.as_chunks::<ROSTER_WORDS>().0[..p.count()].par_iter();
    roster.zip(samples.par_chunks(side * side)).zip(out).for_each(|((&levels, samples), out)| {
        for (i, out) in out.iter_mut().enumerate() {
            let at = [i % side, i / side].map(|v| v as u32);
            let [x, z, height] = vertex(p.vertices_log2, levels, at, samples);
            *out = [x, z, height];
        }
    });
}

/// A vertex of a section: x, z, height.
fn vertex(n: u32, [own, east, south]: [u32; ROSTER_WORDS], [i, j]: [u32; 2], samples: &[u32]) -> [u32; 3] {
    let last = (1 << n) - 1;
    // A corner stands still at any level, so it is no matter which of its edges it takes.
    let level = match (i, j) {
        (0, _) => own >> 16,
        (i, _) if i == last => east & 0xFFFF,
        (_, 0) => east >> 16,
        (_, j) if j == last => south,
        _ => own & 0xFFFF,
    };
    let one = 1 << FINE_LOG2;
    let (k, factor) = (level >> FINE_LOG2, level & (one - 1));
    // At a whole level the next one is no matter: the last has none.
    let next = if factor == 0 { k } else { k + 1 };
    let blend = |v: u32| {
        let (from, to) = (place(v, n, k), place(v, n, next));
        (from * (one - factor) + to * factor + one / 2) >> FINE_LOG2
    };
    let sample = |level: u32| {
        let nearest = |v: u32| (place(v, n, level) + (1 << (PLACE_LOG2 - 1))) >> PLACE_LOG2;
        samples[(nearest(j) << n | nearest(i)) as usize]
    };
    let height = sample(k).wrapping_mul(one - factor).wrapping_add(sample(next).wrapping_mul(factor));
    [blend(i), blend(j), height]
}

/// The largest height differences of a chunk's levels from its samples, in quanta, rounded up. `samples` are `quads` + 1 a
/// side, row-major; level L has a vertex every 2ᴸ quads, and `anti` says how a cell of a level is split. Voids and what
/// hangs on them are left out.
///
/// # Panics
/// When there are not as many samples, or the last level does not divide the quads.
pub fn errors(samples: &[i32], quads: u32, levels: u32, anti: impl Fn(u32, [u32; 2]) -> bool) -> Vec<u32> {
    let side = quads as usize + 1;
    assert_eq!(samples.len(), side * side, "a sample a vertex");
    assert!(levels >= 1 && quads.is_multiple_of(1 << (levels - 1)), "levels divide the quads");
    let of = |level: u32| {
        let s = 1_usize << level;
        let cells = quads as usize >> level;
        let mut worst = 0;
        for (z, row) in samples.chunks_exact(side).enumerate() {
            for (x, &q) in row.iter().enumerate() {
                let cell = [x, z].map(|v| (v / s).min(cells - 1));
                let corner = |dx: usize, dz: usize| samples[(cell[1] + dz) * s * side + (cell[0] + dx) * s];
                let corners = [corner(0, 0), corner(1, 0), corner(0, 1), corner(1, 1)];
                if q == VOID || corners.contains(&VOID) {
                    continue;
                }
                let [fx, fz] = [x - cell[0] * s, z - cell[1] * s].map(|f| f as i64);
                let drawn = cell_height(anti(level, cell.map(|c| c as u32)), corners, fx, fz, s as i64);
                worst = worst.max((i64::from(q) * s as i64 - drawn).unsigned_abs().div_ceil(s as u64));
            }
        }
        worst as u32
    };
    (0..levels).map(of).collect()
}

#[cfg(test)]
mod tests;
