//! Checks a whole payload, one band of blocks at a time: every checksum, and everything that is derived.
//!
//! What a file derives is derived again from what it does not, by the code that writes files, and compared byte for
//! byte; so a file with good checksums and wrong contents is refused.

use super::derive::{Band, Derived, Deriver, Extras, Sink};
use super::payload::{Inner, PayloadV2};
use super::{BlockError, PayloadError, PayloadFile, RasterError, verify_v1};
use crate::content::{Lattice, PlaneKind};
use crate::coord::BlockPos;
use crate::format::FormatError;
use crate::format::payload::{BlockBodies, Entry, Head, Section, Totals, encode_min_max, encode_skip};
use crate::height::VOID;
use crate::kernel::control::HALO_ROWS;
use rayon::prelude::*;
use std::collections::VecDeque;
use std::path::Path;

/// What is wrong with a payload.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// Its head, directory or sections.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// A block.
    #[error("is damaged: {0}; make it again with import or cook")]
    Block(#[from] BlockError),
    /// Its content breaks a rule.
    #[error("is damaged: {0}; make it again with import or cook")]
    Content(#[from] RasterError),
    /// Something derived is not what its source gives.
    #[error("is damaged: {what}: expected {expected}, found {found}; make it again with import or cook")]
    Derived {
        /// Which part.
        what: String,
        /// What the content gives.
        expected: String,
        /// What is there.
        found: String,
    },
}

pub(super) fn differs<T>(
    what: impl Into<String>,
    expected: impl std::fmt::Display,
    found: impl std::fmt::Display,
) -> Result<T, VerifyError> {
    Err(VerifyError::Derived { what: what.into(), expected: expected.to_string(), found: found.to_string() })
}

/// Reads every byte of a payload, holding a few bands of blocks at most, and derives again all that it derives: ranges,
/// counts, states, masks against voids and extent, pyramids, HD weights and their mips, normals, totals and the content
/// digest. Bodies, pages and sections must cover the file without gaps or overlaps.
///
/// # Errors
/// The first thing that is wrong.
pub fn verify(path: &Path) -> Result<PayloadFile, VerifyError> {
    verify_with(path, &|_, _| {})
}

/// As [`verify`]; `progress` is told how many of how many bands are through.
///
/// # Errors
/// As [`verify`].
pub fn verify_with(path: &Path, progress: &dyn Fn(u64, u64)) -> Result<PayloadFile, VerifyError> {
    let file = PayloadFile::open(path)?;
    verify_open(&file, progress)?;
    Ok(file)
}

/// As [`verify_with`], of an open payload.
///
/// # Errors
/// As [`verify`].
pub fn verify_open(file: &PayloadFile, progress: &dyn Fn(u64, u64)) -> Result<(), VerifyError> {
    match &file.inner {
        Inner::V1(v1) => verify_v1::verify(v1),
        Inner::V2(v2) => verify_v2(file, v2, progress),
    }
}

fn verify_v2(file: &PayloadFile, v2: &PayloadV2, progress: &dyn Fn(u64, u64)) -> Result<(), VerifyError> {
    let (head, layout) = (v2.head(), v2.layout());
    let info = file.info();
    covers(v2)?;
    let kinds = plane_kinds(head, file);
    let has = |s: Section| head.section(s).is_some();
    let extras = Extras {
        normals: has(Section::Normal),
        normal_weights: has(Section::NormalWeight),
        control: has(Section::Control).then_some(head.losses.control_budget),
    };
    let mut deriver = Deriver::new(&info.config, info.side, &info.catalogue, &kinds, layout, extras)?;
    let halo = extras.control.is_some();
    let mut rows = Rows { file, kinds: &kinds, rows: VecDeque::new(), next: 0, halo };
    let mut compare = Compare { v2, lengths: vec![0; Section::ALL.len()] };
    let bands = info.config.blocks(info.side)[1];
    for z in 0..bands as i32 {
        let band = rows.band(z)?;
        deriver.band(&band, &mut compare)?;
        progress(z as u64 + 1, u64::from(bands));
    }
    let Compare { lengths, .. } = compare;
    for s in head.sections.iter().filter(|s| s.section.is_blocked()) {
        let found = lengths[Section::ALL.iter().position(|&a| a == s.section).unwrap_or(0)];
        if found != s.length {
            return differs(format!("bytes of the {} section", s.section.name()), found, s.length);
        }
    }
    check_derived(v2, &kinds, &deriver.finish())
}

/// The planes that the head says there are.
fn plane_kinds(head: &Head, file: &PayloadFile) -> Vec<PlaneKind> {
    // Opening has checked that every set is one of planes.
    let of = |s: &crate::format::payload::SectionEntry| s.section.planes(s.planes, &file.info().catalogue);
    let mut kinds: Vec<PlaneKind> =
        head.sections.iter().filter(|s| s.planes != 0).filter_map(of).flatten().collect();
    kinds.sort();
    kinds
}

fn check_derived(v2: &PayloadV2, kinds: &[PlaneKind], derived: &Derived) -> Result<(), VerifyError> {
    let head = v2.head();
    if v2.whole(Section::MinMax)? != encode_min_max(&derived.min_max) {
        return differs("min/max section", "the ranges of the heights", "others");
    }
    if v2.whole(Section::Skip)? != encode_skip(&derived.skip) {
        return differs("skip section", "the coarse triangles with nothing under them", "others");
    }
    if derived.used != kinds {
        return differs("section planes", format!("{} planes in use", derived.used.len()), kinds.len());
    }
    if derived.totals != head.totals {
        let show =
            |t: &Totals| format!("{} voids, {} hole cells, {:?}", t.void_samples, t.hole_cells, t.range);
        return differs("totals", show(&derived.totals), show(&head.totals));
    }
    if derived.losses != head.losses {
        return differs("losses", format!("{:?}", derived.losses), format!("{:?}", head.losses));
    }
    if derived.digest != head.digest {
        let hex = |d: [u8; 32]| blake3::Hash::from_bytes(d).to_hex().to_string();
        return differs("content digest", hex(derived.digest), hex(head.digest));
    }
    Ok(())
}

/// Every byte of the file belongs to the head, a body, a page or a section, and to one only.
fn covers(v2: &PayloadV2) -> Result<(), VerifyError> {
    let head = v2.head();
    let mut parts = vec![(0, Head::bytes_for(head.sections.len()) as u64)];
    parts.extend(head.sections.iter().filter(|s| !s.section.is_blocked()).map(|s| (s.offset, s.length)));
    for (i, page) in v2.pages().iter().enumerate() {
        parts.push((page.offset, v2.layout().page_bytes(i as u32) as u64));
        let slots = v2.page(i as u32)?;
        parts.extend(slots.iter().flat_map(|e| &e.slots).map(|s| (s.offset, u64::from(s.length))));
    }
    parts.retain(|p| p.1 > 0);
    parts.sort_unstable();
    let mut next = 0;
    for (at, length) in parts {
        if at != next {
            let found =
                format!("bytes that {}", if at > next { "belong to nothing" } else { "belong to two" });
            return Err(PayloadError::from(FormatError::new(
                next.min(at),
                "file",
                "parts without gaps",
                found,
            ))
            .into());
        }
        next += length;
    }
    if next != head.file_bytes {
        let e = FormatError::new(next, "file", "its end", "bytes that belong to nothing");
        return Err(PayloadError::from(e).into());
    }
    Ok(())
}

/// Bands of rows put together from blocks.
struct Rows<'a> {
    file: &'a PayloadFile,
    kinds: &'a [PlaneKind],
    /// The rows of blocks from the one before the wanted one on.
    rows: VecDeque<Part>,
    next: i32,
    /// Whether weights are wanted with rows around the band.
    halo: bool,
}

/// A row of blocks as rows.
struct Part {
    heights: Vec<i32>,
    mask: Vec<u8>,
    planes: Vec<Vec<u8>>,
}

impl Rows<'_> {
    fn band(&mut self, z: i32) -> Result<Band, BlockError> {
        let info = self.file.info();
        let w = info.config.samples[0] as usize;
        let all = info.config.blocks(info.side)[1] as i32;
        while self.next < (z + 2).min(all) {
            let part = self.read(self.next)?;
            self.rows.push_back(part);
            self.next += 1;
        }
        let before = usize::from(z > 0);
        while self.rows.len() > before + 1 + usize::from(z + 1 < all) {
            self.rows.pop_front();
        }
        let mut heights = Vec::new();
        if before == 1 {
            let above = &self.rows[0].heights;
            heights.extend_from_slice(&above[above.len() - w..]);
        }
        heights.extend_from_slice(&self.rows[before].heights);
        if z + 1 < all {
            heights.extend_from_slice(&self.rows[before + 1].heights[..w]);
        }
        let halo = if self.halo { self.halo(z) } else { Vec::new() };
        let (mask, planes) = (self.rows[before].mask.clone(), self.rows[before].planes.clone());
        Ok(Band { heights, mask, planes, halo })
    }

    /// Weights of the band and of [`HALO_ROWS`] on either side, out of its neighbours.
    fn halo(&self, z: i32) -> Vec<Vec<u8>> {
        let config = &self.file.info().config;
        let bytes = Lattice::Paint.size(config)[0] as usize * HALO_ROWS as usize;
        let before = usize::from(z > 0);
        let weights = |i: &usize| matches!(self.kinds[*i], PlaneKind::Weight(_));
        (0..self.kinds.len())
            .filter(weights)
            .map(|i| {
                let mut values = Vec::new();
                if before == 1 {
                    let above = &self.rows[0].planes[i];
                    values.extend_from_slice(&above[above.len().saturating_sub(bytes)..]);
                }
                values.extend_from_slice(&self.rows[before].planes[i]);
                if let Some(below) = self.rows.get(before + 1) {
                    values.extend_from_slice(&below.planes[i][..bytes.min(below.planes[i].len())]);
                }
                values
            })
            .collect()
    }

    fn read(&self, z: i32) -> Result<Part, BlockError> {
        let info = self.file.info();
        let (config, side) = (&info.config, info.side);
        let blocks: Vec<_> = (0..config.blocks(side)[0] as i32)
            .into_par_iter()
            .map(|x| self.file.read_content(BlockPos::new(x, z)))
            .collect::<Result<_, _>>()?;
        let rows = |lattice: Lattice| {
            let (n, all) = (side.samples() as u32 * lattice.per_cell(config), lattice.size(config));
            (n as usize, all[0] as usize, all[1].saturating_sub(z as u32 * n).min(n) as usize)
        };
        let (n, w, h) = rows(Lattice::Samples);
        let mut heights = vec![VOID; w * h];
        let (cn, cw, ch) = rows(Lattice::Cells);
        let mut mask = vec![0; cw * ch];
        let mut planes: Vec<Vec<u8>> = self
            .kinds
            .iter()
            .map(|k| {
                let (_, w, h) = rows(k.lattice());
                vec![0; w * h * k.bytes()]
            })
            .collect();
        for (x, b) in blocks.iter().enumerate() {
            lay(&b.heights, n, x, &mut heights, w);
            lay(&b.mask, cn, x, &mut mask, cw);
            for (kind, values) in &b.planes {
                // A plane that the head does not list is found out by the comparison of the block's body.
                let Ok(i) = self.kinds.binary_search(kind) else { continue };
                let (n, w, _) = rows(kind.lattice());
                lay(values, n * kind.bytes(), x, &mut planes[i], w * kind.bytes());
            }
        }
        Ok(Part { heights, mask, planes })
    }
}

/// Lays a block's square into rows of `width`, as far as it lies in them.
fn lay<T: Copy>(block: &[T], n: usize, x: usize, rows: &mut [T], width: usize) {
    let (from, to) = ((x * n).min(width), ((x + 1) * n).min(width));
    if width == 0 {
        return;
    }
    for (row, line) in rows.chunks_exact_mut(width).zip(block.chunks(n)) {
        row[from..to].copy_from_slice(&line[..to - from]);
    }
}

/// Compares what is derived with what is in the file.
struct Compare<'a> {
    v2: &'a PayloadV2,
    lengths: Vec<u64>,
}

impl Sink for Compare<'_> {
    type Error = VerifyError;

    fn blocks(&mut self, level: u8, z: i32, blocks: Vec<BlockBodies>) -> Result<(), VerifyError> {
        let v2 = self.v2;
        let found: Vec<Entry> = blocks
            .into_par_iter()
            .enumerate()
            .map(|(x, block)| compare(v2, level, BlockPos::new(x as i32, z), block))
            .collect::<Result<_, _>>()?;
        for entry in found {
            for (&section, slot) in v2.layout().slots(level).iter().zip(&entry.slots) {
                let i = Section::ALL.iter().position(|&s| s == section).unwrap_or(0);
                self.lengths[i] += u64::from(slot.length);
            }
        }
        Ok(())
    }
}

fn compare(v2: &PayloadV2, level: u8, pos: BlockPos, block: BlockBodies) -> Result<Entry, VerifyError> {
    let entry = v2.entry(level, pos)?;
    let name = |section: &str| format!("{section} of block ({}, {}) of level {level}", pos.x, pos.z);
    let f = block.facts;
    let said = (entry.state, entry.void_samples, entry.hole_cells, (entry.min, entry.max));
    let read = (f.state, f.void_samples, f.hole_cells, f.range);
    if said != read {
        return differs(name("directory entry"), format!("{read:?}"), format!("{said:?}"));
    }
    for expected in block.bodies {
        let Some(found) = v2.body(level, pos, &entry, expected.section)? else {
            return differs(name(expected.section.name()), "a body", "none");
        };
        if found != expected {
            let first = found.bytes.iter().zip(&expected.bytes).position(|(a, b)| a != b);
            let show = |b: &crate::format::payload::Body| {
                format!("encoding {}, {} bytes", b.encoding, b.bytes.len())
            };
            let at = first.map_or_else(String::new, |i| format!(", another byte {i}"));
            let expected_ = format!("{} as derived", show(&expected));
            return differs(name(expected.section.name()), expected_, format!("{}{at}", show(&found)));
        }
    }
    Ok(entry)
}
