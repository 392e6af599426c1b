//! ID control: four bytes a node that name at most three layers for every triangle, within a stated error.
//!
//! Owns the encoding, its eligibility, its repair and its error bound, after the optional ID specialisation of a terrain
//! whose materials are fetched by id. Integers only. Never falls back to another encoding: what does not fit is refused.
//! There are no mips: control is read at its own grid whatever the level of detail.
//!
//! **Grid.** One grid of nodes over the whole terrain, each with a painted weight a layer (paint texels, taken as nodes);
//! a cell lies between four nodes and is split by the terrain's diagonal rule applied to the cell's place in this grid.
//! On a grid one node wide both columns of a cell are that node.
//!
//! **A node** is R bottom id, G top id, B and A high and low byte of the top's weight in 1/65535; the bottom has the rest.
//! The bottom is the strongest layer and the top the next, ties to the smaller id, the top's weight its share of the two,
//! rounded half up. A node with one layer has it as bottom and top with weight 0. [`DEFAULT`] is a node without layers: all
//! are or none is.
//!
//! **Repair.** The candidates of a triangle are its nodes' bottoms, and tops with a weight. While a triangle has more than
//! three, the one that is no bottom there and has the least weight summed over its nodes (ties: the larger id) is taken
//! from those nodes, which keep their bottom alone. All triangles choose at once, from the grid as it is before the round,
//! so no order of work shows; three rounds always suffice.
//!
//! **Error.** Total variation, ½ Σ |author − decoded| over layers, between the bilinear field of painted weights and the
//! decoded weights interpolated over the triangle. On a cell it is at most the largest of its nodes' own, plus ¼ of that of
//! w00 − w10 − w01 + w11 (either triangle's plane and the bilinear field differ by that times a product of two numbers
//! whose sum is at most 1), and never above 1. This bounds every point of the cell; it says nothing of pixels or normals.

use super::weight_mip::LAYERS;
use super::weights::LayerKind;
use crate::config::Diagonal;
use crate::coord::CellPos;
use crate::triangle::Triangle;
use arrayvec::ArrayVec;
use rayon::prelude::*;
use std::cmp::Reverse;

/// A node without layers.
pub const DEFAULT: [u8; 4] = [255, 255, 0, 0];

/// Candidates a triangle may have.
pub const CANDIDATES: usize = 3;

/// Errors are counted exactly in 1/524280, an eighth of 1/65535.
pub const ERROR_ONE: u32 = 8 * 65535;

/// 1/255 in 1/65535.
const PER_255: i32 = 257;

/// Painted weights on the nodes of one grid.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// Nodes along x and z.
    pub size: [u32; 2],
    /// How each layer joins in.
    pub kinds: &'a [LayerKind],
    /// Each layer's weights in 1/255, row-major; `None` for all 0.
    pub planes: &'a [Option<&'a [u8]>],
    /// How cells are split.
    pub diagonal: Diagonal,
}

/// A field as control nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Control {
    /// Row-major.
    pub nodes: Vec<[u8; 4]>,
    /// The largest bound of any cell's error, in 1/[`ERROR_ONE`].
    pub error: u32,
    /// The first cell with that bound.
    pub worst_cell: [u32; 2],
    /// Nodes whose top the repair took.
    pub repaired: u64,
}

/// Why a field has no ID control.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ControlError {
    /// A layer joins by something else than its weight.
    #[error(
        "ID control is for layers of the kind weight alone, but layer {layer} is {}: leave control out", kind.name()
    )]
    Kind {
        /// Its id.
        layer: usize,
        /// What it is.
        kind: LayerKind,
    },
    /// No number from 0 to 1.
    #[error("the weight error that ID control may make must be from 0 to 1, found {0}")]
    Budget(f64),
    /// A node's weights do not add up.
    #[error(
        "the weights of node ({x}, {z}) must sum to 255 for ID control (or be 0 everywhere), found {sum}"
    )]
    Sum {
        /// Column.
        x: u32,
        /// Row.
        z: u32,
        /// What they sum to.
        sum: u32,
    },
    /// The error is larger than allowed.
    #[error(
        "ID control would change the weights of cell ({x}, {z}) by up to {found}, more than the {budget} allowed; paint at most two layers a texel and three a triangle there, allow more, or leave control out"
    )]
    Loss {
        /// Column of the first cell with the largest error.
        x: u32,
        /// Row.
        z: u32,
        /// The bound of its error, as a fraction.
        found: f64,
        /// What was allowed.
        budget: f64,
    },
}

impl ControlError {
    /// The same of a part of a larger field that starts at row `first` of it.
    #[must_use]
    pub fn at_row(self, first: u32) -> Self {
        match self {
            Self::Sum { x, z, sum } => Self::Sum { x, z: z + first, sum },
            Self::Loss { x, z, found, budget } => Self::Loss { x, z: z + first, found, budget },
            other => other,
        }
    }
}

/// Encodes a field whose error may be at most `max_weight_error`, a fraction of all weight.
///
/// # Errors
/// See [`ControlError`]; nothing is ever encoded another way.
///
/// # Panics
/// With more than 32 layers, no nodes, or a plane that is not a byte a node.
pub fn encode(field: &Field, max_weight_error: f64) -> Result<Control, ControlError> {
    encode_rows(field, 0..field.size[1], max_weight_error)
}

/// Rows on either side that decide about a row's nodes and its cells' errors: three rounds of repair and the cell's far
/// nodes.
pub const HALO_ROWS: u32 = 4;

/// Encodes the rows `own` of a field that is a part of a larger one: rows of it from an even one on, with [`HALO_ROWS`]
/// more on either side of `own` as far as the larger one has them. Nodes, error and refusals are those of the larger
/// field, but for one thing: whether it has no weight anywhere can only be seen from all of its parts. Rows are counted
/// in the part.
///
/// # Errors
/// As [`encode`].
///
/// # Panics
/// As [`encode`], and when the rows are not the part's.
pub fn encode_rows(
    field: &Field,
    own: std::ops::Range<u32>,
    max_weight_error: f64,
) -> Result<Control, ControlError> {
    assert!(own.start < own.end && own.end <= field.size[1], "rows of the part");
    let [w, h] = field.size.map(|s| s as usize);
    assert!(
        field.kinds.len() <= LAYERS as usize && field.planes.len() <= field.kinds.len(),
        "at most 32 layers"
    );
    assert!(w * h > 0 && field.planes.iter().flatten().all(|p| p.len() == w * h), "a byte a node");
    if !(0.0..=1.0).contains(&max_weight_error) {
        return Err(ControlError::Budget(max_weight_error));
    }
    if let Some(layer) = field.kinds.iter().position(|&kind| kind != LayerKind::Weight) {
        return Err(ControlError::Kind { layer, kind: field.kinds[layer] });
    }
    if field.planes.iter().flatten().all(|p| p.iter().all(|&v| v == 0)) {
        let nodes = vec![DEFAULT; w * own.len()];
        return Ok(Control { nodes, error: 0, worst_cell: [0, own.start], repaired: 0 });
    }
    let mut nodes = vec![DEFAULT; w * h];
    let wrong = nodes.par_chunks_mut(w).enumerate().map(|(z, row)| strongest_row(field, z, row));
    // The first in row order, whichever thread finds one first.
    if let Some(error) = wrong.find_map_first(Result::err) {
        return Err(error);
    }
    let before = nodes.clone();
    let nodes = repair(field.size, field.diagonal, nodes);
    let rows = own.start as usize * w..own.end as usize * w;
    let repaired =
        before[rows.clone()].iter().zip(&nodes[rows.clone()]).filter(|(a, b)| a != b).count() as u64;
    let [_, cells_z] = cells(field.size);
    let worst =
        (own.start..own.end.min(cells_z)).into_par_iter().map(|z| worst_of_row(field, &nodes, z)).max();
    let (error, Reverse(z), Reverse(x)) = worst.unwrap_or_default();
    // One multiplication that IEEE 754 fixes; the error itself is exact.
    if f64::from(error) > max_weight_error * f64::from(ERROR_ONE) {
        let found = f64::from(error) / f64::from(ERROR_ONE);
        return Err(ControlError::Loss { x, z, found, budget: max_weight_error });
    }
    Ok(Control { nodes: nodes[rows].to_vec(), error, worst_cell: [x, z], repaired })
}

/// The layers of a node with their weights in 1/65535: the bottom, and the top if it has any weight.
pub fn candidates([bottom, top, high, low]: [u8; 4]) -> impl Iterator<Item = (u8, u32)> {
    let weight = u32::from(u16::from_be_bytes([high, low]));
    [(bottom, 65535 - weight), (top, weight)].into_iter().take(if weight > 0 { 2 } else { 1 })
}

/// The nodes of a row before repair.
fn strongest_row(field: &Field, z: usize, out: &mut [[u8; 4]]) -> Result<(), ControlError> {
    let w = out.len();
    for (x, node) in out.iter_mut().enumerate() {
        let (mut first, mut second, mut sum) = ((0u8, 0u32), (0u8, 0u32), 0);
        for (id, plane) in (0..).zip(field.planes) {
            let weight = plane.map_or(0, |plane| u32::from(plane[z * w + x]));
            sum += weight;
            if weight > first.1 {
                (first, second) = ((id, weight), first);
            } else if weight > second.1 {
                second = (id, weight);
            }
        }
        if sum != 255 {
            return Err(ControlError::Sum { x: x as u32, z: z as u32, sum });
        }
        *node = match second {
            (_, 0) => alone(first.0),
            (top, weight) => {
                let both = first.1 + weight;
                let [high, low] = (((2 * 65535 * weight + both) / (2 * both)) as u16).to_be_bytes();
                [first.0, top, high, low]
            }
        };
    }
    Ok(())
}

/// A node of one layer.
const fn alone(bottom: u8) -> [u8; 4] {
    [bottom, bottom, 0, 0]
}

/// Cells along x and z, at least one each.
fn cells(size: [u32; 2]) -> [u32; 2] {
    size.map(|s| (s - 1).max(1))
}

/// Repairs the whole grid.
fn repair(size: [u32; 2], diagonal: Diagonal, mut nodes: Vec<[u8; 4]>) -> Vec<[u8; 4]> {
    // Six candidates at most, and every round takes one from every triangle that has more than three.
    for _ in 0..CANDIDATES {
        let mut next = nodes.clone();
        let rows = next.par_chunks_mut(size[0] as usize).enumerate();
        rows.for_each(|(z, row)| repair_row(size, diagonal, &nodes, z as u32, row));
        if next == nodes {
            break;
        }
        nodes = next;
    }
    nodes
}

/// One round for the nodes of row z; `out` holds them as they are in `nodes`.
fn repair_row(size: [u32; 2], diagonal: Diagonal, nodes: &[[u8; 4]], z: u32, out: &mut [[u8; 4]]) {
    let [cells_x, cells_z] = cells(size);
    for cz in z.saturating_sub(1)..(z + 1).min(cells_z) {
        for (cx, t) in (0..cells_x).flat_map(|cx| Triangle::BOTH.map(|t| (cx, t))) {
            let corners = corners(size, diagonal, [cx, cz], t);
            let Some(victim) = victim(corners.map(|i| nodes[i])) else { continue };
            for i in corners {
                // Several triangles may take the same top.
                if i / size[0] as usize == z as usize && nodes[i][1] == victim {
                    out[i % size[0] as usize] = alone(nodes[i][0]);
                }
            }
        }
    }
}

/// The indices of a triangle's nodes.
fn corners(size: [u32; 2], diagonal: Diagonal, [x, z]: [u32; 2], t: Triangle) -> [usize; 3] {
    let anti = diagonal.is_anti(CellPos::new(x as i32, z as i32));
    t.corners(anti).map(|(dx, dz)| {
        let (x, z) = ((x + dx as u32).min(size[0] - 1), (z + dz as u32).min(size[1] - 1));
        z as usize * size[0] as usize + x as usize
    })
}

/// The candidate that a triangle gives up; `None` when it has few enough. Never a bottom.
fn victim(nodes: [[u8; 4]; 3]) -> Option<u8> {
    let mut found: ArrayVec<(u8, u32), 6> = ArrayVec::new();
    for node in nodes {
        for (i, (id, weight)) in candidates(node).enumerate() {
            // Bottoms are out of reach: more than all tops together.
            let weight = if i == 0 { 1 << 20 } else { weight };
            match found.iter_mut().find(|f| f.0 == id) {
                Some(f) => f.1 += weight,
                None => found.push((id, weight)),
            }
        }
    }
    if found.len() <= CANDIDATES {
        return None;
    }
    found.into_iter().min_by_key(|&(id, weight)| (weight, Reverse(id))).map(|f| f.0)
}

/// The largest error bound of a row of cells with the place of its first cell, ordered so that the larger error and then
/// the earlier place is the greater.
fn worst_of_row(field: &Field, nodes: &[[u8; 4]], z: u32) -> (u32, Reverse<u32>, Reverse<u32>) {
    let [cells_x, _] = cells(field.size);
    let worst = (0..cells_x).map(|x| (cell_error(field, nodes, [x, z]), Reverse(z), Reverse(x))).max();
    worst.unwrap_or_default()
}

/// The bound of a cell's error, in 1/[`ERROR_ONE`].
fn cell_error(field: &Field, nodes: &[[u8; 4]], [x, z]: [u32; 2]) -> u32 {
    let [w, h] = field.size;
    let at = [(0, 0), (1, 0), (0, 1), (1, 1)]
        .map(|(dx, dz)| (z + dz).min(h - 1) as usize * w as usize + (x + dx).min(w - 1) as usize);
    let kept = at.map(|i| {
        let [bottom, top, high, low] = nodes[i];
        (bottom, top, i32::from(u16::from_be_bytes([high, low])))
    });
    let (mut corner, mut cross) = ([0u32; 4], 0u32);
    for (id, plane) in (0u8..).zip(field.planes) {
        let Some(plane) = plane else { continue };
        let author = at.map(|i| i32::from(plane[i]));
        for ((error, author), (bottom, top, weight)) in corner.iter_mut().zip(author).zip(kept) {
            let mut decoded = if id == bottom { 65535 - weight } else { 0 };
            decoded += if id == top { weight } else { 0 };
            *error += (author * PER_255).abs_diff(decoded);
        }
        cross += (author[0] - author[1] - author[2] + author[3]).unsigned_abs();
    }
    // ½ of the sums; 4 · 2 · ½ for the nodes and ¼ · ½ · 8 for the cross term.
    let most = corner.into_iter().max().unwrap_or(0);
    (4 * most + PER_255 as u32 * cross).min(ERROR_ONE)
}

#[cfg(test)]
mod tests;
