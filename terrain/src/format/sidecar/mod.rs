//! The triangle-visibility sidecar, version 1: which triangles of a terrain are drawn, by render node.
//!
//! Owns its bytes ([`Sidecar::encode`], [`Sidecar::decode`]) and how they come from masks ([`Builder`]). Never opens a
//! file, and never allocates for a count that the length of the bytes does not bear out.
//!
//! All numbers are little-endian.
//!
//! | byte | what |
//! |---|---|
//! | 0 | magic, 8 bytes |
//! | 8 | version, u32 |
//! | 12 | flags, u32, none yet |
//! | 16 | diagonal: 0 main, 1 anti, 2 checkerboard; then three zeros |
//! | 20 | samples along x and z, u32 each |
//! | 28 | valid extent in cells: x0, z0, x1, z1, i32 each |
//! | 44 | records, u32 |
//! | 48 | words, u32: 64 a record |
//! | 52 | content digest of the payload it belongs to, 32 bytes |
//! | 84 | records of 20 bytes: level, x, z, span in cells of level 0 (32 · 2ˡᵉᵛᵉˡ), first word; u32 each |
//! | … | words, u32 each |
//! | end − 32 | blake3 of all before it |
//!
//! Records stand in ascending (level, z, x), each node once, their words in the same order without gaps. A node's bit
//! PrimId = 2 · (x · 32 + z) + triangle, x and z in cells of the node's level from its corner, is bit PrimId mod 32 of its
//! word PrimId / 32; set means drawn. Level 0 has the mask itself; above it a clear bit means that the triangle shows
//! nothing at any morph ([`crate::kernel::pyramid::skip`]). A node without a record is drawn wholly. What has no area inside
//! the extent (cells beyond the last one are among it) is never drawn: its bits are written clear and ignored.

mod bytes;

pub use bytes::most_bytes;

use crate::config::{Diagonal, TerrainConfig};
use crate::coord::{CellPos, CellRect};
use crate::kernel::pyramid::skip::{NODE_AREA, SkipBuilder};
use crate::kernel::pyramid::{NODE_CELLS, levels, nodes};

/// The first eight bytes, after the payload's example.
pub const MAGIC: [u8; 8] = *b"\x89HGV\r\n\x1a\n";

/// The version this code writes and reads.
pub const VERSION: u32 = 1;

/// Bytes before the records.
pub const PREFIX_BYTES: usize = 84;

/// Bytes of a record.
pub const RECORD_BYTES: usize = 20;

/// Bytes of the checksum at the end.
pub const CHECKSUM_BYTES: usize = 32;

/// Words of a node's bits.
pub const NODE_WORDS: usize = 2 * NODE_AREA / 32;

/// A node of the quadtree that has something to leave out. Ordered by level, then z, then x.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeKey {
    /// 0 is the finest.
    pub level: u32,
    /// South, in nodes of its level.
    pub z: u32,
    /// East, in nodes of its level.
    pub x: u32,
}

/// A sidecar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sidecar {
    diagonal: Diagonal,
    samples: [u32; 2],
    extent: CellRect,
    digest: [u8; 32],
    /// Ascending.
    nodes: Vec<NodeKey>,
    /// [`NODE_WORDS`] a node, in the same order.
    words: Vec<u32>,
}

impl Sidecar {
    /// The diagonal its triangles are numbered by.
    pub fn diagonal(&self) -> Diagonal {
        self.diagonal
    }

    /// Samples of its terrain along x and z.
    pub fn samples(&self) -> [u32; 2] {
        self.samples
    }

    /// The cells that may carry surface.
    pub fn extent(&self) -> CellRect {
        self.extent
    }

    /// The content digest of the payload it belongs to.
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// The nodes that have a record, ascending.
    pub fn nodes(&self) -> &[NodeKey] {
        &self.nodes
    }

    /// All words, [`NODE_WORDS`] a record: what a shader reads.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// The first word of a node; `None` when it has no record and is drawn wholly.
    pub fn first_word(&self, node: NodeKey) -> Option<usize> {
        self.nodes.binary_search(&node).ok().map(|i| i * NODE_WORDS)
    }

    /// The drawn triangles (bit 0 triangle 0, bit 1 triangle 1) of a cell of level 0; 0 outside the extent.
    pub fn mask_of_cell(&self, cell: CellPos) -> u8 {
        if cell.x < 0 || cell.z < 0 { 0 } else { self.mask(0, [cell.x as u32, cell.z as u32]) }
    }

    /// The drawn triangles of a cell of a level, in cells of that level; 0 where none has area inside the extent.
    pub fn mask(&self, level: u32, cell: [u32; 2]) -> u8 {
        if level >= levels(self.samples.map(|s| s - 1)) || !in_extent(self.extent, level, cell) {
            return 0;
        }
        let [x, z] = cell.map(|c| c / NODE_CELLS);
        let Some(first) = self.first_word(NodeKey { level, z, x }) else { return 3 };
        let bit = prim_id(cell[0] % NODE_CELLS, cell[1] % NODE_CELLS, 0);
        (self.words[first + bit as usize / 32] >> (bit % 32) & 3) as u8
    }
}

/// The bit of a triangle of a node; x and z below 32.
pub const fn prim_id(x: u32, z: u32, triangle: u32) -> u32 {
    2 * (x * NODE_CELLS + z) + triangle
}

/// A node's words from its cells' masks, row-major (z · 32 + x).
pub fn words_of_masks(masks: &[u8; NODE_AREA]) -> [u32; NODE_WORDS] {
    let mut words = [0; NODE_WORDS];
    for (i, &mask) in (0..).zip(masks) {
        // The two triangles of a cell are neighbouring bits of one word.
        let bit = prim_id(i % NODE_CELLS, i / NODE_CELLS, 0);
        words[bit as usize / 32] |= u32::from(mask & 3) << (bit % 32);
    }
    words
}

/// Whether a cell of a level can have area inside the extent: above level 0 an odd cell can reach one further back.
fn in_extent(extent: CellRect, level: u32, cell: [u32; 2]) -> bool {
    let along = |c: u32, first: i32, end: i32| {
        let back = if level > 0 { c & !1 } else { c };
        let [from, to] = [u64::from(back) << level, (u64::from(c) + 1) << level];
        // An extent is never negative.
        from < end as u64 && to > first as u64
    };
    along(cell[0], extent.x0, extent.x1) && along(cell[1], extent.z0, extent.z1)
}

/// Makes a sidecar from the mask of level 0, row by row.
#[derive(Clone, Debug)]
pub struct Builder {
    diagonal: Diagonal,
    samples: [u32; 2],
    skips: SkipBuilder,
    /// The row of nodes being filled.
    row: Vec<[u8; NODE_AREA]>,
    next: u32,
    records: Records,
}

impl Builder {
    /// For a terrain; its configuration is checked already.
    pub fn new(config: &TerrainConfig) -> Self {
        let [across, _] = nodes(config.samples.map(|s| s - 1), 0);
        Self {
            diagonal: config.diagonal,
            samples: config.samples,
            skips: SkipBuilder::new(config),
            row: vec![[0; NODE_AREA]; across as usize],
            next: 0,
            records: Records { extent: config.extent, nodes: Vec::new(), words: Vec::new() },
        }
    }

    /// The next row of cells, two bits a cell in a byte; extent and voids are applied already.
    ///
    /// # Panics
    /// When all rows are there, or the row is not one byte a cell.
    pub fn push_row(&mut self, mask: &[u8]) {
        self.skips.push_row(mask);
        let side = NODE_CELLS as usize;
        let at = (self.next % NODE_CELLS) as usize * side;
        for (cells, node) in mask.chunks(side).zip(&mut self.row) {
            node[at..at + cells.len()].copy_from_slice(cells);
        }
        self.next += 1;
        if self.next.is_multiple_of(NODE_CELLS) || self.next == self.samples[1] - 1 {
            let z = (self.next - 1) / NODE_CELLS;
            for (x, masks) in (0..).zip(&self.row) {
                self.records.put(NodeKey { level: 0, z, x }, masks);
            }
            self.row.fill([0; NODE_AREA]);
        }
    }

    /// The sidecar of the payload with this content digest.
    ///
    /// # Panics
    /// When rows are missing.
    pub fn finish(self, digest: [u8; 32]) -> Sidecar {
        let Self { diagonal, samples, skips, mut records, .. } = self;
        let (skips, cells) = (skips.finish(), samples.map(|s| s - 1));
        for level in 1..levels(cells) {
            let [w, h] = nodes(cells, level);
            for (z, x) in (0..h).flat_map(|z| (0..w).map(move |x| (z, x))) {
                let shown = skips.node(level, [x, z]).map(|skipped| !skipped & 3);
                records.put(NodeKey { level, z, x }, &shown);
            }
        }
        let Records { extent, nodes, words } = records;
        Sidecar { diagonal, samples, extent, digest, nodes, words }
    }
}

/// What has been put so far.
#[derive(Clone, Debug)]
struct Records {
    extent: CellRect,
    nodes: Vec<NodeKey>,
    words: Vec<u32>,
}

impl Records {
    /// Adds a node's record, unless all of it inside the extent is drawn.
    fn put(&mut self, node: NodeKey, masks: &[u8; NODE_AREA]) {
        // The usual node needs no look at the extent.
        if masks.iter().all(|&m| m & 3 == 3) {
            return;
        }
        let mut shown = *masks;
        let mut whole = true;
        for (i, mask) in (0..).zip(&mut shown) {
            let cell = [node.x * NODE_CELLS + i % NODE_CELLS, node.z * NODE_CELLS + i / NODE_CELLS];
            if in_extent(self.extent, node.level, cell) {
                whole &= *mask & 3 == 3;
            } else {
                *mask = 0;
            }
        }
        if !whole {
            self.nodes.push(node);
            self.words.extend(words_of_masks(&shown));
        }
    }
}

#[cfg(test)]
mod tests;
