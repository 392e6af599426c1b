//! The level-of-detail pyramids: which nodes there are, how high each reaches, and which coarse triangles show nothing.
//!
//! Owns the grid of nodes, the min/max pyramid (here) and the skip masks ([`skip`]). A node of level L covers 32 · 2ᴸ
//! cells a side and is drawn as 32 × 32 cells of 2ᴸ; nodes are numbered from the terrain's corner, the last ones may
//! reach beyond it. Never chooses what is drawn, never reads files.
//!
//! **Morphing** (CDLOD, Strugar 2010): a vertex at grid position g of its node moves to g − 2k · frac(g / 2), 0 ≤ k ≤ 1,
//! so even ones stay and odd ones move up to one cell towards zero, each by its own k; its height is taken on its level's
//! own triangle there. Positions are clamped to the valid extent. Main and Anti worlds keep their diagonal at every
//! level; Checkerboard worlds use Anti above level 0. Moving never leaves a node, because a node's first vertex is even.
//!
//! **Min/max.** A node's range is that of all samples of its closed footprint that are not void, its far edges included.
//! Every vertex it can draw lies between samples of that footprint, whatever the morph, so no vertex is outside the
//! range. What is drawn in place of a void is the drawer's business and must stay in the range.

pub mod skip;

use crate::config::Diagonal;
use crate::coord::CellPos;
use crate::height::VOID;

/// Cells a side of a node, in cells of its own level.
pub const NODE_CELLS: u32 = 32;

/// Levels until one node covers `cells`, at least 1.
pub fn levels(cells: [u32; 2]) -> u32 {
    // Each level halves the nodes of the longer side, rounded up.
    let side = cells[0].max(cells[1]).max(1).div_ceil(NODE_CELLS);
    side.next_power_of_two().ilog2() + 1
}

/// Nodes along x and z of a level, for a terrain of `cells`.
///
/// # Panics
/// When there is no such level.
pub fn nodes(cells: [u32; 2], level: u32) -> [u32; 2] {
    assert!(level < levels(cells), "a terrain of {cells:?} cells has no level {level}");
    cells.map(|c| c.div_ceil(NODE_CELLS << level))
}

/// Whether a cell of this level (its position in cells of that level) is drawn split along 10–01.
pub const fn is_anti(diagonal: Diagonal, level: u32, cell: CellPos) -> bool {
    match diagonal {
        Diagonal::Checkerboard if level > 0 => true,
        _ => diagonal.is_anti(cell),
    }
}

/// The lowest and highest sample in quanta; both [`VOID`] where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MinMax {
    /// Lowest.
    pub min: i32,
    /// Highest.
    pub max: i32,
}

impl MinMax {
    /// No sample.
    pub const NONE: MinMax = MinMax { min: VOID, max: VOID };

    /// Lowest and highest, where there is a sample.
    pub const fn get(self) -> Option<(i32, i32)> {
        if self.max == VOID { None } else { Some((self.min, self.max)) }
    }

    /// The range of both.
    pub fn join(self, other: MinMax) -> MinMax {
        MinMax { min: from_low(low(self.min).min(low(other.min))), max: self.max.max(other.max) }
    }
}

/// Orders heights with voids last, so that a minimum passes over them. A maximum passes over them as they are.
#[inline(always)]
const fn low(quanta: i32) -> u32 {
    (quanta as u32 ^ 1 << 31).wrapping_sub(1)
}

#[inline(always)]
const fn from_low(low: u32) -> i32 {
    (low.wrapping_add(1) ^ 1 << 31) as i32
}

/// The ranges of one row of level-0 nodes. `samples` holds the row's sample rows: 33, or fewer on the last row of nodes,
/// each `width` quanta; the last one is the first of the next row of nodes.
///
/// # Panics
/// When there are not 2 to 33 whole rows, or `out` is not one node for each 32 cells begun.
pub fn base_row(width: usize, samples: &[i32], out: &mut [MinMax]) {
    let side = NODE_CELLS as usize;
    let rows = samples.len() / width.max(1);
    assert!(
        width >= 2 && rows * width == samples.len() && (2..=side + 1).contains(&rows),
        "2 to 33 whole rows"
    );
    assert_eq!(out.len(), (width - 1).div_ceil(side), "a node for each 32 cells");
    out.fill(MinMax::NONE);
    for row in samples.chunks_exact(width) {
        for (node, out) in out.iter_mut().enumerate() {
            let columns = &row[node * side..width.min(node * side + side + 1)];
            let (mut lowest, mut highest) = (low(out.min), out.max);
            for &q in columns {
                lowest = lowest.min(low(q));
                highest = highest.max(q);
            }
            *out = MinMax { min: from_low(lowest), max: highest };
        }
    }
}

/// The ranges of the level above: of the up to four children of each node, row-major. `below` is the size of the level
/// below in nodes; `out` holds half as many a side, rounded up.
///
/// # Panics
/// When a slice has another length.
pub fn reduce(below: [u32; 2], ranges: &[MinMax], out: &mut [MinMax]) {
    let [w, h] = below.map(|n| n as usize);
    let half = w.div_ceil(2);
    assert!(w > 0 && ranges.len() == w * h && out.len() == half * h.div_ceil(2), "a range a node");
    for (rows, out) in ranges.chunks(2 * w).zip(out.chunks_exact_mut(half)) {
        out.fill(MinMax::NONE);
        for row in rows.chunks_exact(w) {
            for (pair, out) in row.chunks(2).zip(out.iter_mut()) {
                *out = pair.iter().fold(*out, |range, &child| range.join(child));
            }
        }
    }
}

/// All levels from the ranges of level 0, row-major each.
///
/// # Panics
/// When `base` is not one range a node of level 0.
pub fn all_levels(cells: [u32; 2], base: Vec<MinMax>) -> Vec<Vec<MinMax>> {
    let mut all = vec![base];
    for level in 1..levels(cells) {
        let (below, [w, h]) = (nodes(cells, level - 1), nodes(cells, level));
        let mut ranges = vec![MinMax::NONE; w as usize * h as usize];
        reduce(below, &all[level as usize - 1], &mut ranges);
        all.push(ranges);
    }
    all
}

#[cfg(test)]
mod tests;
