//! Vertex evaluation: where the vertices of a drawn node stand and which are visible, as exact integers.
//!
//! Owns the drawn surface's numbers. Never selects nodes, never reads samples from anywhere but a node's *patch*.
//!
//! **Formats.** Positions are counted in 2⁻⁷ samples from sample (0, 0), heights in 2⁻⁷ quanta, the morph factor in
//! 2⁻⁷ ([`FINE`]). A height is then below 2³¹ and, where nothing is clipped, exact.
//!
//! **Morph** (Strugar 2010). A vertex at grid position g of its level, counted from sample (0, 0), takes its factor from
//! the distance d between its own place (clamped to the valid extent) and the view, ⌊√⌋ in 1/256 m: 0 up to the start of
//! its level's band, 2⁷ from the end on, ⌊2⁷ (d − start) / (end − start)⌋ between. An odd g moves by the factor towards
//! zero, an even one stays; then the place is clamped to the extent. A node's first vertex is even, so nothing leaves it.
//!
//! **Height.** On the triangle of its level's own grid that the place lies on, as [`crate::kernel::pyramid::is_anti`]
//! splits its cells. A vertex whose way leads over the edge of the extent comes to lie between grid points, where two
//! levels differ; it blends from its level's triangle to the next level's by its factor (half up to 2⁻⁷ quanta), so that
//! where it has converged it stands where the next level's vertex does. Samples beyond the last one repeat it.
//!
//! **Patches.** A node comes with the 33 × 33 samples of its own grid, row-major, and 64 words of triangle bits as the
//! visibility sidecar has them: PrimId = 2 · (x · 32 + z) + triangle. Nothing here may be void: whoever makes the patch
//! says where voids stand.
//!
//! **Topologies.** [`GRID`]: 34 × 34 vertices, row-major, the middle row and column twice, so that each quarter has its
//! own; a vertex is visible unless its quarter is drawn by children. [`TRIANGLES`]: 6 vertices a cell by PrimId, three a
//! triangle; visible when also the triangle's bit is set. Their order is that of [`crate::triangle::Triangle::corners`].

use super::pyramid::{NODE_CELLS, is_anti};
use super::select::gap;
use super::{Bound, Entry};
use crate::config::Diagonal;
use crate::coord::CellPos;
use crate::triangle::{Triangle, cell_height};
use rayon::prelude::*;

/// Parts of a sample, of a quantum and of a whole morph: 2⁷.
pub const FINE: u32 = 1 << FINE_LOG2;

/// log₂ of [`FINE`].
pub const FINE_LOG2: u32 = 7;

/// Samples along a side of a patch.
pub const SIDE: usize = NODE_CELLS as usize + 1;

/// Words of a patch's samples.
pub const PATCH_SAMPLES: usize = SIDE * SIDE;

/// Words of a patch: samples, then triangle bits.
pub const PATCH_WORDS: usize = PATCH_SAMPLES + 2 * (NODE_CELLS * NODE_CELLS) as usize / 32;

/// Vertices along a side of the ordinary topology.
pub const GRID_SIDE: usize = SIDE + 1;

/// Vertices of a node in the ordinary topology.
pub const GRID_VERTICES: usize = GRID_SIDE * GRID_SIDE;

/// Vertices of a node in the topology that knows of holes.
pub const TRIANGLE_VERTICES: usize = 6 * (NODE_CELLS * NODE_CELLS) as usize;

/// Words of a vertex: x + visible · 2³¹, z, height.
pub const VERTEX_WORDS: usize = 3;

/// The ordinary topology. Reads nodes ([`super::select::NODE_WORDS`] each), the plan (views of
/// [`super::select::VIEW_WORDS`], then for each level the start and the length of its band) and a patch a node; writes
/// [`GRID_VERTICES`] a node. Parameters: [`Params`].
pub const GRID: Entry = Entry { kernel: "vertex", name: "grid", reads: 3, writes: 1, params: 8, twin: grid };

/// The topology that knows of holes: [`TRIANGLE_VERTICES`] a node. Otherwise as [`GRID`].
pub const TRIANGLES: Entry =
    Entry { kernel: "vertex", name: "triangles", reads: 3, writes: 1, params: 8, twin: triangles };

/// The parameters of both entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Nodes.
    pub nodes: u32,
    /// Where the plan's bands begin.
    pub bands_at: u32,
    /// What does not change between nodes.
    pub frame: Frame,
}

/// What all nodes of a terrain share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Spacing in 1/256 m.
    pub spacing_256: u32,
    /// The valid extent in cells: x0, z0, x1, z1.
    pub extent: [u32; 4],
    /// How cells are split.
    pub diagonal: Diagonal,
}

impl Params {
    /// As an entry takes them.
    pub fn words(&self) -> [u32; 8] {
        let [x0, z0, x1, z1] = self.frame.extent;
        let diagonal = match self.frame.diagonal {
            Diagonal::Main => 0,
            Diagonal::Anti => 1,
            Diagonal::Checkerboard => 2,
        };
        [self.nodes, self.bands_at, self.frame.spacing_256, diagonal, x0, z0, x1, z1]
    }

    fn of(words: &[u32]) -> Self {
        let &[nodes, bands_at, spacing_256, diagonal, x0, z0, x1, z1] = words else {
            unreachable!("an entry is given as many parameters as it says")
        };
        let diagonal = [Diagonal::Main, Diagonal::Anti, Diagonal::Checkerboard][diagonal as usize];
        Self { nodes, bands_at, frame: Frame { spacing_256, extent: [x0, z0, x1, z1], diagonal } }
    }
}

/// A vertex of the drawn surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Vertex {
    /// East, in 2⁻⁷ samples.
    pub x: u32,
    /// South, in 2⁻⁷ samples.
    pub z: u32,
    /// In 2⁻⁷ quanta.
    pub height: i32,
}

/// A node that is evaluated.
#[derive(Clone, Copy, Debug)]
pub struct Node<'a> {
    /// What it shares with the others.
    pub frame: &'a Frame,
    /// Its level.
    pub level: u32,
    /// Its place, in nodes of its level.
    pub at: [u32; 2],
    /// The view in 1/256 m from sample (0, 0).
    pub view: [i64; 2],
    /// Where its level's morph band begins, and its length (at least 1), in 1/256 m.
    pub band: [u32; 2],
    /// The samples of its grid, [`PATCH_SAMPLES`] of them; more is no matter.
    pub samples: &'a [u32],
}

/// ⌊√(dx² + dz²)⌋ for distances of at most 2³¹.
fn length(dx: u32, dz: u32) -> u32 {
    (u64::from(dx) * u64::from(dx) + u64::from(dz) * u64::from(dz)).isqrt() as u32
}

/// The morph factor at a distance.
pub fn morph(distance: u32, [start, length]: [u32; 2]) -> u32 {
    let beyond = distance.saturating_sub(start);
    if beyond >= length { FINE } else { (u64::from(beyond) * u64::from(FINE) / u64::from(length)) as u32 }
}

/// A grid position moved by a factor, in 2⁻⁷ cells of its level.
pub fn converge(grid: u32, factor: u32) -> u32 {
    (grid << FINE_LOG2) - (grid & 1) * factor
}

impl Node<'_> {
    /// The vertex at a place of the node's grid, 0 to 32 along each axis.
    #[inline]
    pub fn vertex(&self, gx: u32, gz: u32) -> Vertex {
        let [x0, z0, x1, z1] = self.frame.extent;
        let grid = [self.at[0] * NODE_CELLS + gx, self.at[1] * NODE_CELLS + gz];
        let level = self.level;
        let spacing = i64::from(self.frame.spacing_256);
        let away = |g: u32, from: u32, to: u32, view: i64| {
            let at = i64::from((g << level).clamp(from, to)) * spacing;
            gap(at, at, view)
        };
        let d = length(away(grid[0], x0, x1, self.view[0]), away(grid[1], z0, z1, self.view[1]));
        let factor = morph(d, self.band);
        let place = |g: u32, from: u32, to: u32| {
            (converge(g, factor) << level).clamp(from << FINE_LOG2, to << FINE_LOG2)
        };
        let clipped = |g: u32, from: u32, to: u32| (g & !1) << level < from || g << level > to;
        let (x, z) = (place(grid[0], x0, x1), place(grid[1], z0, z1));
        let over = clipped(grid[0], x0, x1) || clipped(grid[1], z0, z1);
        Vertex { x, z, height: self.height(x, z, over.then_some(factor)) }
    }

    /// At a place in the node, in 2⁻⁷ quanta; blended with the next level's surface by a factor where there is one.
    #[inline]
    fn height(&self, x: u32, z: u32, blend: Option<u32>) -> i32 {
        let [own, s] = self.on_grid(0, x, z);
        // Of the same denominator: 2 s · 2⁷.
        let sum = match blend {
            None => own * 2 * i64::from(FINE),
            Some(factor) => {
                let [next, _] = self.on_grid(1, x, z);
                own * 2 * i64::from(FINE - factor) + next * i64::from(factor)
            }
        };
        // The height times 2⁷, half up.
        ((sum + s) >> (s.trailing_zeros() + 1)) as i32
    }

    /// The height on the grid of the node's level or of the next one, as a numerator over the cell's side in 2⁻⁷ samples.
    #[inline]
    fn on_grid(&self, up: u32, x: u32, z: u32) -> [i64; 2] {
        let level = self.level + up;
        let side_log2 = level + FINE_LOG2;
        let (cells, step) = (NODE_CELLS >> up, 1 << up);
        let first = self.at.map(|n| n * cells);
        let along = |at: u32, first: u32| {
            let cell = ((at >> side_log2) - first).min(cells - 1);
            (cell, at - ((first + cell) << side_log2))
        };
        let ((cx, fx), (cz, fz)) = (along(x, first[0]), along(z, first[1]));
        let sample = |dx: u32, dz: u32| {
            self.samples[((cz + dz) * step) as usize * SIDE + ((cx + dx) * step) as usize] as i32
        };
        let corners = [sample(0, 0), sample(1, 0), sample(0, 1), sample(1, 1)];
        let cell = CellPos::new((first[0] + cx) as i32, (first[1] + cz) as i32);
        let anti = is_anti(self.frame.diagonal, level, cell);
        let s = 1_i64 << side_log2;
        [cell_height(anti, corners, i64::from(fx), i64::from(fz), s), s]
    }
}

/// The parts of one call of a twin: each node's words, view, band and patch.
fn each_node(
    params: &[u32],
    bound: &mut Bound<'_>,
    vertices: usize,
    draw: impl Fn(&Node<'_>, u32, &[u32], &mut [[u32; 3]]) + Sync,
) {
    let ([nodes, plan, patches], [out]) = bound.split();
    let Params { nodes: count, bands_at, frame } = Params::of(params);
    let out = out.as_chunks_mut::<VERTEX_WORDS>().0;
    let nodes = nodes.as_chunks::<2>().0[..count as usize].par_iter();
    nodes.zip(patches.par_chunks(PATCH_WORDS)).zip(out.par_chunks_mut(vertices)).for_each(
        |((&[at, what], patch), out)| {
            let (level, view) = (what & 0xFF, (what >> 16) as usize * super::select::VIEW_WORDS);
            let wide = |i: usize| (u64::from(plan[view + i + 1]) << 32 | u64::from(plan[view + i])) as i64;
            let band = bands_at as usize + 2 * level as usize;
            let node = Node {
                frame: &frame,
                level,
                at: [at & 0xFFFF, at >> 16],
                view: [wide(0), wide(2)],
                band: [plan[band], plan[band + 1]],
                samples: patch,
            };
            draw(&node, what >> 8 & 15, &patch[PATCH_SAMPLES..], out);
        },
    );
}

fn words(v: Vertex, visible: bool) -> [u32; VERTEX_WORDS] {
    [v.x | u32::from(visible) << 31, v.z, v.height as u32]
}

fn grid(params: &[u32], bound: &mut Bound<'_>) {
    each_node(params, bound, GRID_VERTICES, |node, mask, _, out| {
        let half = NODE_CELLS as usize / 2;
        for (row, out) in out.chunks_exact_mut(GRID_SIDE).enumerate() {
            for (column, out) in out.iter_mut().enumerate() {
                let twice = [usize::from(column > half), usize::from(row > half)];
                let v = node.vertex((column - twice[0]) as u32, (row - twice[1]) as u32);
                *out = words(v, mask >> (twice[0] + 2 * twice[1]) & 1 == 0);
            }
        }
    });
}

fn triangles(params: &[u32], bound: &mut Bound<'_>) {
    each_node(params, bound, TRIANGLE_VERTICES, |node, mask, bits, out| {
        // Each vertex once, then as often as triangles have it.
        let vertices: [Vertex; PATCH_SAMPLES] =
            std::array::from_fn(|i| node.vertex((i % SIDE) as u32, (i / SIDE) as u32));
        for (prim, out) in (0..).zip(out.as_chunks_mut::<3>().0) {
            let (x, z, t) = (prim / 2 / NODE_CELLS, prim / 2 % NODE_CELLS, prim % 2);
            let quarter = x / (NODE_CELLS / 2) + z / (NODE_CELLS / 2) * 2;
            let visible = mask >> quarter & 1 == 0 && bits[prim as usize / 32] >> (prim % 32) & 1 == 1;
            let cell =
                CellPos::new((node.at[0] * NODE_CELLS + x) as i32, (node.at[1] * NODE_CELLS + z) as i32);
            let anti = is_anti(node.frame.diagonal, node.level, cell);
            for (out, (dx, dz)) in out.iter_mut().zip(Triangle::BOTH[t as usize].corners(anti)) {
                let at = (z + dz as u32) as usize * SIDE + (x + dx as u32) as usize;
                *out = words(vertices[at], visible);
            }
        }
    });
}

#[cfg(test)]
mod tests;
