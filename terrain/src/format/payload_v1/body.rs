//! Block bodies: heights as offsets, two-bit masks, weight texels.

use super::{Directory, Encoding, Entry, FormatError, Header, entry_checksum};
use crate::config::TerrainConfig;
use crate::coord::{BlockPos, BlockSide, CellPos, SamplePos};
use crate::height::VOID;
use crate::kernel::weight_mip::HdTexel;
use crate::state::DataState;
use crate::surface::{Block, Triangle};

const VOID_16: u16 = u16::MAX;
const VOID_32: u32 = u32::MAX;

/// What of the terrain a block's bytes depend on.
#[derive(Clone, Copy, Debug)]
pub struct BlockShape {
    config: TerrainConfig,
    side: BlockSide,
    pos: BlockPos,
    /// How many layers there are; `None` without weights.
    layers: Option<usize>,
}

impl BlockShape {
    /// The shape of one block of a payload.
    pub fn of(header: &Header, pos: BlockPos) -> Self {
        let layers = header.weights.then_some(header.layers.len());
        Self { config: header.config, side: header.side, pos, layers }
    }

    fn samples(&self) -> usize {
        (self.side.samples() * self.side.samples()) as usize
    }

    fn texels(&self) -> usize {
        let ppc = usize::from(self.config.paint_per_cell);
        if self.layers.is_some() { self.samples() * ppc * ppc } else { 0 }
    }

    /// Bytes of a body (at most 128² · (4 + ¼) + 512² · 3).
    pub fn body_bytes(&self, encoding: Encoding) -> u32 {
        let n = self.samples();
        let ground = match encoding {
            Encoding::Void => 0,
            Encoding::Offset16 => n * 2 + n / 4,
            Encoding::Offset32 => n * 4 + n / 4,
        };
        (ground + self.texels() * 3) as u32
    }

    fn sample(&self, index: usize) -> SamplePos {
        let (first, n) = (self.side.first_sample(self.pos), self.side.samples());
        SamplePos::new(first.x + index as i32 % n, first.z + index as i32 / n)
    }

    fn cell(&self, index: usize) -> CellPos {
        let s = self.sample(index);
        CellPos::new(s.x, s.z)
    }

    /// The first visible triangle that touches a void sample of this block. Triangles that reach into a neighbour are
    /// looked at where both blocks are known.
    fn visible_void(&self, heights: &[i32], mask: &[u8]) -> Option<(CellPos, u8)> {
        let n = self.side.samples();
        (0..mask.len()).filter(|&i| mask[i] != 0).find_map(|i| {
            let (x, z) = (i as i32 % n, i as i32 / n);
            let cell = self.cell(i);
            let void = |&(dx, dz): &(i32, i32)| {
                x + dx < n && z + dz < n && heights[((z + dz) * n + x + dx) as usize] == VOID
            };
            let wrong = |t: &Triangle| {
                mask[i] & t.bit() != 0 && t.corners(self.config.diagonal.is_anti(cell)).iter().any(void)
            };
            Triangle::BOTH.iter().find(|t| wrong(t)).map(|t| (cell, t.index()))
        })
    }

    /// Void samples on the map and cells inside the extent with a triangle removed.
    fn counts(&self, heights: &[i32], mask: &[u8]) -> (u32, u32) {
        let voids = heights
            .iter()
            .enumerate()
            .filter(|&(i, &q)| q == VOID && self.config.has_sample(self.sample(i)))
            .count();
        let holes = mask
            .iter()
            .enumerate()
            .filter(|&(i, &m)| m != 3 && self.config.extent.contains(self.cell(i)))
            .count();
        (voids as u32, holes as u32)
    }
}

/// Reads a body and holds what it decodes to against its directory entry.
///
/// # Errors
/// The first thing that is wrong, with its offset in the file.
pub fn decode_block(body: &[u8], entry: &Entry, shape: &BlockShape) -> Result<Block, FormatError> {
    let n = shape.samples();
    let error = |at: usize, field, expected: String, found: String| {
        Err(FormatError::new(entry.offset + at as u64, field, expected, found))
    };
    if body.len() != shape.body_bytes(entry.encoding) as usize {
        let expected = format!("{} bytes", shape.body_bytes(entry.encoding));
        return error(0, "block body", expected, format!("{} bytes", body.len()));
    }
    let found = entry_checksum(body);
    if found != entry.checksum {
        let hex = crate::format::error::hex;
        return error(0, "block checksum", hex(&entry.checksum), hex(&found));
    }
    let (ground, texels) = body.split_at(body.len() - shape.texels() * 3);
    let (heights, mask) = decode_ground(ground, entry, n)?;
    let weights =
        if shape.layers.is_some() { Some(decode_weights(texels, ground.len(), entry, shape)?) } else { None };
    let beyond = |i: usize| {
        (heights[i] != VOID && !shape.config.has_sample(shape.sample(i)))
            || (mask[i] != 0 && !shape.config.extent.contains(shape.cell(i)))
    };
    if let Some(i) = (0..n).find(|&i| beyond(i)) {
        let s = shape.sample(i);
        return error(
            0,
            "block body",
            "voids beyond the map".into(),
            format!("ground at ({}, {})", s.x, s.z),
        );
    }
    if let Some((cell, triangle)) = shape.visible_void(&heights, &mask) {
        let expected =
            format!("triangle {triangle} of cell ({}, {}) removed, for it touches a void", cell.x, cell.z);
        return error(0, "visibility mask", expected, "a visible triangle".into());
    }
    let (void_samples, hole_cells) = shape.counts(&heights, &mask);
    let block = Block::new(shape.pos, shape.side, heights.into(), mask.into(), weights.map(Into::into));
    let range = block.min_max().unwrap_or((VOID, VOID));
    let said = (entry.state, entry.void_samples, entry.hole_cells, entry.min, entry.max);
    let read = (block.state(), void_samples, hole_cells, range.0, range.1);
    if said != read {
        let show = |(state, voids, holes, min, max): (DataState, u32, u32, i32, i32)| {
            format!("state {state:?}, {voids} voids, {holes} holes, {min} to {max} quanta")
        };
        return error(0, "directory entry", show(said), show(read));
    }
    Ok(block)
}

fn decode_ground(b: &[u8], entry: &Entry, n: usize) -> Result<(Vec<i32>, Vec<u8>), FormatError> {
    let width = match entry.encoding {
        Encoding::Void => return Ok((vec![VOID; n], vec![0; n])),
        Encoding::Offset16 => 2,
        Encoding::Offset32 => 4,
    };
    let (offsets, packed) = b.split_at(n * width);
    let highest = i64::from(entry.max) - i64::from(entry.min);
    let mut heights = Vec::with_capacity(n);
    for (i, o) in offsets.chunks_exact(width).enumerate() {
        let (offset, void) = match *o {
            [a, b] => (i64::from(u16::from_le_bytes([a, b])), i64::from(VOID_16)),
            [a, b, c, d] => (i64::from(u32::from_le_bytes([a, b, c, d])), i64::from(VOID_32)),
            _ => unreachable!("chunks of two or four bytes"),
        };
        if offset == void {
            heights.push(VOID);
        } else if offset <= highest {
            heights.push((i64::from(entry.min) + offset) as i32);
        } else {
            let at = entry.offset + (i * width) as u64;
            return Err(FormatError::new(at, "height offset", format!("at most {highest}"), offset));
        }
    }
    let mask = packed.iter().flat_map(|&p| [p & 3, p >> 2 & 3, p >> 4 & 3, p >> 6]).collect();
    Ok((heights, mask))
}

fn decode_weights(
    b: &[u8],
    at: usize,
    entry: &Entry,
    shape: &BlockShape,
) -> Result<Vec<HdTexel>, FormatError> {
    let ppc = i32::from(shape.config.paint_per_cell);
    let width = (shape.side.samples() * ppc) as usize;
    let first = shape.side.first_sample(shape.pos);
    let [tw, th] = shape.config.cells().map(|c| c * ppc);
    let layers = shape.layers.unwrap_or(0);
    let mut out = Vec::with_capacity(shape.texels());
    for (i, t) in b.chunks_exact(3).enumerate() {
        let texel = HdTexel { id1: t[0], id2: t[1], ratio: t[2] };
        let (x, z) = (first.x * ppc + (i % width) as i32, first.z * ppc + (i / width) as i32);
        let offset = entry.offset + (at + i * 3) as u64;
        if usize::from(texel.id1.max(texel.id2)) >= layers {
            let expected = format!("layers below {layers} at texel ({x}, {z})");
            let found = format!("{} and {}", texel.id1, texel.id2);
            return Err(FormatError::new(offset, "weight texel", expected, found));
        }
        if (x >= tw || z >= th) && texel != HdTexel::default() {
            let found = format!("a texel at ({x}, {z})");
            return Err(FormatError::new(offset, "weight texel", "zeros beyond the map", found));
        }
        out.push(texel);
    }
    Ok(out)
}

impl Directory {
    /// Void samples, hole cells, and the lowest and highest sample of the whole terrain in quanta.
    pub fn totals(&self) -> (u64, u64, Option<(i32, i32)>) {
        let (mut voids, mut holes, mut range) = (0, 0, None::<(i32, i32)>);
        for e in self.entries() {
            voids += u64::from(e.void_samples);
            holes += u64::from(e.hole_cells);
            if e.min != VOID {
                range = Some(range.map_or((e.min, e.max), |(lo, hi)| (lo.min(e.min), hi.max(e.max))));
            }
        }
        (voids, holes, range)
    }
}
