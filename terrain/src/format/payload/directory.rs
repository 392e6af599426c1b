//! The directory: an entry a block and level, in pages of 16 × 16 blocks, and a root that says where the pages are.
//!
//! A file is opened with its root alone; a page is read when one of its blocks is asked for.

use super::{BlockShape, CHECKSUM_BYTES, Compression, Head, Section, checksum};
use crate::config::TerrainConfig;
use crate::coord::{BlockPos, BlockSide};
use crate::format::FormatError;
use crate::format::error::{array, hex, i32_at, u32_at, u64_at};
use crate::height::{HEIGHT_LIMIT, VOID};
use crate::state::DataState;

/// Blocks a side of a directory page.
pub const PAGE_SIDE: u32 = 16;

const ENTRY_BYTES: usize = 20;
const SLOT_BYTES: usize = 32;
const PAGE_REF_BYTES: usize = 32;

/// How the directory of a terrain is laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryLayout {
    /// Blocks along x and z of each level.
    grids: Vec<[u32; 2]>,
    /// The sections of each level's entries, in order.
    slots: Vec<Vec<Section>>,
    /// The first page of each level, and one more at the end.
    first_page: Vec<u32>,
}

impl DirectoryLayout {
    /// The layout of a terrain with these sections: (section, levels).
    pub fn new(config: &TerrainConfig, side: BlockSide, sections: &[(Section, u8)]) -> Self {
        let grids = level_grids(config, side);
        let slots: Vec<Vec<Section>> = (0..grids.len())
            .map(|l| {
                sections.iter().filter(|s| s.0.is_blocked() && usize::from(s.1) > l).map(|s| s.0).collect()
            })
            .collect();
        let mut first_page = vec![0];
        for g in &grids {
            let [w, h] = g.map(|n| n.div_ceil(PAGE_SIDE));
            first_page.push(first_page.last().copied().unwrap_or(0) + w * h);
        }
        Self { grids, slots, first_page }
    }

    /// The layout that a head describes.
    ///
    /// # Errors
    /// A number of levels that its size does not give.
    pub fn of(head: &Head) -> Result<Self, FormatError> {
        let levels = level_grids(&head.config, head.side).len() as u8;
        for s in head.sections.iter().filter(|s| s.section.has_levels()) {
            if s.levels != levels {
                return Err(FormatError::new(0, "section levels", levels, s.levels));
            }
        }
        let sections: Vec<(Section, u8)> = head.sections.iter().map(|s| (s.section, s.levels)).collect();
        Ok(Self::new(&head.config, head.side, &sections))
    }

    /// How many levels there are.
    pub fn levels(&self) -> u8 {
        self.grids.len() as u8
    }

    /// Blocks along x and z of a level.
    pub fn grid(&self, level: u8) -> [u32; 2] {
        self.grids[usize::from(level)]
    }

    /// The sections of a level's entries.
    pub fn slots(&self, level: u8) -> &[Section] {
        &self.slots[usize::from(level)]
    }

    /// How many pages there are.
    pub fn pages(&self) -> u32 {
        self.first_page.last().copied().unwrap_or(0)
    }

    /// The page and the index in it of a block; `None` beyond the map.
    pub fn find(&self, level: u8, pos: BlockPos) -> Option<(u32, usize)> {
        let [w, h] = *self.grids.get(usize::from(level))?;
        if pos.x < 0 || pos.z < 0 || pos.x as u32 >= w || pos.z as u32 >= h {
            return None;
        }
        let (x, z) = (pos.x as u32, pos.z as u32);
        let page =
            self.first_page[usize::from(level)] + z / PAGE_SIDE * w.div_ceil(PAGE_SIDE) + x / PAGE_SIDE;
        let width = PAGE_SIDE.min(w - x / PAGE_SIDE * PAGE_SIDE);
        Some((page, (z % PAGE_SIDE * width + x % PAGE_SIDE) as usize))
    }

    /// The level of a page and the blocks in it: first position, columns and rows.
    pub fn page_blocks(&self, page: u32) -> (u8, BlockPos, [u32; 2]) {
        let level = self.first_page.iter().rposition(|&f| f <= page).unwrap_or(0).min(self.grids.len() - 1);
        let [w, h] = self.grids[level];
        let i = page - self.first_page[level];
        let (x, z) = (i % w.div_ceil(PAGE_SIDE) * PAGE_SIDE, i / w.div_ceil(PAGE_SIDE) * PAGE_SIDE);
        (level as u8, BlockPos::new(x as i32, z as i32), [PAGE_SIDE.min(w - x), PAGE_SIDE.min(h - z)])
    }

    /// Bytes of a page.
    pub fn page_bytes(&self, page: u32) -> usize {
        let (level, _, [w, h]) = self.page_blocks(page);
        (w * h) as usize * (ENTRY_BYTES + self.slots(level).len() * SLOT_BYTES)
    }

    /// Bytes of the root, its checksum included.
    pub fn root_bytes(&self) -> u64 {
        u64::from(self.pages()) * PAGE_REF_BYTES as u64 + CHECKSUM_BYTES as u64
    }
}

/// Blocks along x and z, level by level, until one block holds all.
fn level_grids(config: &TerrainConfig, side: BlockSide) -> Vec<[u32; 2]> {
    let mut grids = vec![config.blocks(side)];
    let mut samples = config.samples;
    while grids.last() != Some(&[1, 1]) {
        samples = samples.map(|n| n.div_ceil(2));
        grids.push(samples.map(|n| side.blocks_for(n)));
    }
    grids
}

/// Where a page is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageRef {
    /// Its first byte.
    pub offset: u64,
    /// Its checksum.
    pub checksum: [u8; 16],
}

/// One part of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Its first byte; 0 when it has none.
    pub offset: u64,
    /// Its bytes in the file.
    pub length: u32,
    /// How it is encoded: see [`BlockShape`]'s functions.
    pub encoding: u8,
    /// How it is compressed.
    pub compression: Compression,
    /// Its checksum, of the bytes in the file.
    pub checksum: [u8; 16],
}

/// What the directory says of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Valid, or Empty: every block on the map has an entry.
    pub state: DataState,
    /// Void samples on the map.
    pub void_samples: u32,
    /// Cells inside the valid extent with a triangle removed; 0 above level 0.
    pub hole_cells: u32,
    /// Lowest sample in quanta; [`VOID`] when all are void.
    pub min: i32,
    /// Highest sample in quanta; [`VOID`] when all are void.
    pub max: i32,
    /// Its parts, in the order of [`DirectoryLayout::slots`].
    pub slots: Vec<Slot>,
}

/// A page's bytes.
pub fn encode_page(entries: &[Entry]) -> Vec<u8> {
    let mut out = Vec::new();
    for e in entries {
        out.push(if e.state == DataState::Empty { 2 } else { 1 });
        out.extend([0; 3]);
        out.extend(e.void_samples.to_le_bytes());
        out.extend(e.hole_cells.to_le_bytes());
        out.extend(e.min.to_le_bytes());
        out.extend(e.max.to_le_bytes());
        for s in &e.slots {
            out.extend(s.offset.to_le_bytes());
            out.extend(s.length.to_le_bytes());
            out.push(s.encoding);
            out.push(s.compression.code());
            out.extend([0; 2]);
            out.extend(s.checksum);
        }
    }
    out
}

/// Reads a page and checks it against its reference.
///
/// # Errors
/// A wrong checksum, or the first field that is wrong.
pub fn decode_page(
    bytes: &[u8],
    page: u32,
    at: PageRef,
    layout: &DirectoryLayout,
    head: &Head,
) -> Result<Vec<Entry>, FormatError> {
    if bytes.len() != layout.page_bytes(page) {
        return Err(FormatError::new(at.offset, "directory page", layout.page_bytes(page), bytes.len()));
    }
    let found = checksum(bytes);
    if found != at.checksum {
        return Err(FormatError::new(at.offset, "directory page checksum", hex(&at.checksum), hex(&found)));
    }
    let (level, first, [w, _]) = layout.page_blocks(page);
    let sections = layout.slots(level);
    let size = ENTRY_BYTES + sections.len() * SLOT_BYTES;
    let mut entries = Vec::with_capacity(bytes.len() / size.max(1));
    for (i, b) in bytes.chunks_exact(size).enumerate() {
        let pos = BlockPos::new(first.x + (i as u32 % w) as i32, first.z + (i as u32 / w) as i32);
        let shape = BlockShape::new(&head.config, head.side, level, pos);
        entries.push(decode_entry(b, at.offset + (i * size) as u64, sections, &shape, head)?);
    }
    Ok(entries)
}

fn decode_entry(
    b: &[u8],
    at: u64,
    sections: &[Section],
    shape: &BlockShape,
    head: &Head,
) -> Result<Entry, FormatError> {
    let state = match b[0] {
        1 => DataState::Valid,
        2 => DataState::Empty,
        other => return Err(FormatError::new(at, "block state", "1 (valid) or 2 (empty)", other)),
    };
    if b[1..4] != [0; 3] {
        return Err(FormatError::new(at + 1, "reserved bytes", "zeros", hex(&b[1..4])));
    }
    let (min, max) = (i32_at(b, 12), i32_at(b, 16));
    let fits = |q: i32| q.unsigned_abs() < HEIGHT_LIMIT as u32;
    if !((min == VOID && max == VOID && state == DataState::Empty) || (fits(min) && fits(max) && min <= max))
    {
        let found = format!("{min} to {max}, state {}", b[0]);
        return Err(FormatError::new(at + 12, "height range", "a possible range", found));
    }
    let mut slots = Vec::with_capacity(sections.len());
    for (&section, (i, s)) in sections.iter().zip(b[ENTRY_BYTES..].chunks_exact(SLOT_BYTES).enumerate()) {
        let at = at + (ENTRY_BYTES + i * SLOT_BYTES) as u64;
        slots.push(decode_slot(s, at, section, shape, head)?);
    }
    Ok(Entry { state, void_samples: u32_at(b, 4), hole_cells: u32_at(b, 8), min, max, slots })
}

fn decode_slot(
    s: &[u8],
    at: u64,
    section: Section,
    shape: &BlockShape,
    head: &Head,
) -> Result<Slot, FormatError> {
    let slot = Slot {
        offset: u64_at(s, 0),
        length: u32_at(s, 8),
        encoding: s[12],
        compression: Compression::of_code(s[13])
            .ok_or_else(|| FormatError::new(at + 13, "compression", "0 (none) or 1 (deflate)", s[13]))?,
        checksum: array(s, 16),
    };
    if s[14..16] != [0; 2] {
        return Err(FormatError::new(at + 14, "reserved bytes", "zeros", hex(&s[14..16])));
    }
    let most = shape.most_bytes(section);
    if slot.length as usize > most {
        return Err(FormatError::new(at + 8, "body length", format!("at most {most}"), slot.length));
    }
    if slot.length == 0 {
        if slot.offset != 0 || slot.checksum != [0; 16] || slot.compression != Compression::None {
            return Err(FormatError::new(at, "body", "nothing of an empty body", slot.offset));
        }
    } else {
        let first = Head::bytes_for(head.sections.len()) as u64;
        let end = slot.offset.checked_add(u64::from(slot.length));
        if slot.offset < first || end.is_none_or(|e| e > head.file_bytes) {
            let expected = format!("bytes {first} to {}", head.file_bytes);
            let found = format!("{} bytes at {}", slot.length, slot.offset);
            return Err(FormatError::new(at, "body", expected, found));
        }
    }
    Ok(slot)
}

/// The root's bytes, checksum included.
pub fn encode_root(pages: &[PageRef]) -> Vec<u8> {
    let mut out = Vec::with_capacity(pages.len() * PAGE_REF_BYTES + CHECKSUM_BYTES);
    for p in pages {
        out.extend(p.offset.to_le_bytes());
        out.extend([0; 8]);
        out.extend(p.checksum);
    }
    let sum = blake3::hash(&out);
    out.extend(sum.as_bytes());
    out
}

/// Reads the root, which stands at `at` in the file.
///
/// # Errors
/// A wrong length or checksum, or pages that do not lie in the file.
pub fn decode_root(
    bytes: &[u8],
    at: u64,
    layout: &DirectoryLayout,
    file_bytes: u64,
) -> Result<Vec<PageRef>, FormatError> {
    if bytes.len() as u64 != layout.root_bytes() {
        return Err(FormatError::new(at, "directory root length", layout.root_bytes(), bytes.len()));
    }
    let (body, sum) = bytes.split_at(bytes.len() - CHECKSUM_BYTES);
    let expected = *blake3::hash(body).as_bytes();
    if sum != expected {
        let at = at + body.len() as u64;
        return Err(FormatError::new(at, "directory root checksum", hex(&expected), hex(sum)));
    }
    let mut pages = Vec::with_capacity(body.len() / PAGE_REF_BYTES);
    for (i, b) in body.chunks_exact(PAGE_REF_BYTES).enumerate() {
        let at = at + (i * PAGE_REF_BYTES) as u64;
        let offset = u64_at(b, 0);
        if b[8..16] != [0; 8] {
            return Err(FormatError::new(at + 8, "reserved bytes", "zeros", hex(&b[8..16])));
        }
        let end = offset.checked_add(layout.page_bytes(i as u32) as u64);
        if end.is_none_or(|e| e > file_bytes) {
            let expected = format!("a page inside the file's {file_bytes} bytes");
            return Err(FormatError::new(at, "directory page", expected, offset));
        }
        pages.push(PageRef { offset, checksum: array(b, 16) });
    }
    // One page that many refer to would make a large terrain of a small file.
    let mut spans: Vec<(u64, usize)> = pages.iter().enumerate().map(|(i, p)| (p.offset, i)).collect();
    spans.sort_unstable();
    for w in spans.windows(2) {
        let end = w[0].0 + layout.page_bytes(w[0].1 as u32) as u64;
        if w[1].0 < end {
            let at = at + (w[1].1 * PAGE_REF_BYTES) as u64;
            let expected = format!("a page of its own, from {end} on");
            return Err(FormatError::new(at, "directory page", expected, w[1].0));
        }
    }
    Ok(pages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_of_every_level_has_one_place_in_one_page() {
        for samples in [[2, 2], [33, 3], [1000, 70], [530, 1025]] {
            let config = TerrainConfig::new(samples, 256);
            let layout = DirectoryLayout::new(
                &config,
                BlockSide::S32,
                &[(Section::Height, 13), (Section::Hole, 1), (Section::Hd, 13)],
            );
            let mut seen = std::collections::BTreeSet::new();
            let mut blocks = 0;
            for level in 0..layout.levels() {
                let [w, h] = layout.grid(level);
                assert_eq!(layout.slots(level).len(), if level == 0 { 3 } else { 2 });
                for z in 0..h as i32 {
                    for x in 0..w as i32 {
                        let (page, index) = layout.find(level, BlockPos::new(x, z)).unwrap();
                        let (of, first, [pw, ph]) = layout.page_blocks(page);
                        assert_eq!(of, level);
                        assert_eq!(
                            (x - first.x, z - first.z),
                            ((index as u32 % pw) as i32, (index as u32 / pw) as i32)
                        );
                        assert!(index < (pw * ph) as usize);
                        assert!(seen.insert((page, index)));
                        blocks += 1;
                    }
                }
                assert_eq!(layout.find(level, BlockPos::new(w as i32, 0)), None);
                assert_eq!(layout.find(level, BlockPos::new(0, -1)), None);
            }
            let in_pages: u32 =
                (0..layout.pages()).map(|p| layout.page_blocks(p).2).map(|[w, h]| w * h).sum();
            assert_eq!(in_pages, blocks);
            assert_eq!(layout.grid(layout.levels() - 1), [1, 1]);
            assert_eq!(layout.find(layout.levels(), BlockPos::new(0, 0)), None);
        }
    }
}
