//! The pyramids as bytes: ranges of heights, and coarse triangles with nothing under them.

use crate::format::FormatError;
use crate::format::error::{array, i32_at, u32_at};
use crate::kernel::pyramid::skip::NODE_AREA;
use crate::kernel::pyramid::{self, MinMax};
use std::collections::BTreeMap;

/// Bytes of a node of the skip section: level, three zeros, index, two bits a cell.
const SKIP_NODE_BYTES: usize = 8 + NODE_AREA / 4;

/// Skip masks of nodes, by level and row-major index: two bits a cell, packed, X fastest. Nodes that are not there skip
/// nothing.
pub type SkipNodes = BTreeMap<(u8, u32), [u8; NODE_AREA / 4]>;

/// All levels, level 0 first, row-major: lowest and highest, little-endian.
pub fn encode_min_max(levels: &[Vec<MinMax>]) -> Vec<u8> {
    let pair = |m: &MinMax| {
        let (a, b) = (m.min.to_le_bytes(), m.max.to_le_bytes());
        [a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]]
    };
    levels.iter().flatten().flat_map(pair).collect()
}

/// Bytes of the ranges of a terrain of so many cells.
pub(crate) fn min_max_bytes(cells: [u32; 2]) -> u64 {
    (0..pyramid::levels(cells))
        .map(|l| pyramid::nodes(cells, l))
        .map(|[w, h]| u64::from(w) * u64::from(h) * 8)
        .sum()
}

/// Reads the ranges of a terrain of so many cells; `at` is where they stand in the file.
///
/// # Errors
/// A wrong length.
pub fn decode_min_max(bytes: &[u8], cells: [u32; 2], at: u64) -> Result<Vec<Vec<MinMax>>, FormatError> {
    let expected = min_max_bytes(cells);
    if bytes.len() as u64 != expected {
        return Err(FormatError::new(at, "min/max section", format!("{expected} bytes"), bytes.len()));
    }
    let mut rest = bytes.chunks_exact(8).map(|b| MinMax { min: i32_at(b, 0), max: i32_at(b, 4) });
    let count = |l| pyramid::nodes(cells, l).iter().map(|&n| n as usize).product();
    Ok((0..pyramid::levels(cells)).map(|l| rest.by_ref().take(count(l)).collect()).collect())
}

/// Nodes that skip something, in order.
pub fn encode_skip(nodes: &SkipNodes) -> Vec<u8> {
    let mut out = Vec::with_capacity(nodes.len() * SKIP_NODE_BYTES);
    for ((level, index), mask) in nodes {
        out.extend([*level, 0, 0, 0]);
        out.extend(index.to_le_bytes());
        out.extend(mask);
    }
    out
}

/// The most bytes that the skip section of a terrain can have: every node of every level above 0.
pub(crate) fn most_skip_bytes(cells: [u32; 2]) -> u64 {
    let nodes = (1..pyramid::levels(cells)).map(|level| {
        let [w, h] = pyramid::nodes(cells, level);
        u64::from(w) * u64::from(h)
    });
    nodes.sum::<u64>() * SKIP_NODE_BYTES as u64
}

/// Reads the skip masks of a terrain of so many cells; `at` is where they stand in the file.
///
/// # Errors
/// A wrong length, or nodes that are not there, not in order, or skip nothing.
pub fn decode_skip(bytes: &[u8], cells: [u32; 2], at: u64) -> Result<SkipNodes, FormatError> {
    if !bytes.len().is_multiple_of(SKIP_NODE_BYTES) {
        let expected = format!("a multiple of {SKIP_NODE_BYTES} bytes");
        return Err(FormatError::new(at, "skip section", expected, bytes.len()));
    }
    let levels = pyramid::levels(cells);
    let mut nodes = SkipNodes::new();
    let mut before = (0, 0);
    for (i, b) in bytes.chunks_exact(SKIP_NODE_BYTES).enumerate() {
        let at = at + (i * SKIP_NODE_BYTES) as u64;
        let (level, index) = (b[0], u32_at(b, 4));
        if level == 0 || u32::from(level) >= levels || b[1..4] != [0; 3] {
            return Err(FormatError::new(at, "skip node level", format!("1 to {}", levels - 1), level));
        }
        let [w, h] = pyramid::nodes(cells, u32::from(level));
        if index >= w * h {
            return Err(FormatError::new(at + 4, "skip node", format!("below {}", w * h), index));
        }
        if i > 0 && (level, index) <= before {
            return Err(FormatError::new(at, "skip node", "nodes in order, each once", index));
        }
        before = (level, index);
        let mask: [u8; NODE_AREA / 4] = array(b, 8);
        if mask.iter().all(|&m| m == 0) {
            return Err(FormatError::new(at + 8, "skip mask", "one that skips something", "zeros"));
        }
        nodes.insert(before, mask);
    }
    Ok(nodes)
}
