//! A payload of version 2: its head when it is opened, directory pages and blocks when they are asked for.

use super::{BlockContent, PayloadError, PayloadInfo, Positioned};
use crate::content::{Catalogue, PlaneKind};
use crate::coord::BlockPos;
use crate::format::FormatError;
use crate::format::error::hex;
use crate::format::payload::{
    BlockShape, Body, DirectoryLayout, Entry, HEAD_PREFIX_BYTES, Head, PageRef, Prefix, Section,
    SectionEntry, SkipNodes, VERSION, decode_ground, decode_hd, decode_min_max, decode_page, decode_planes,
    decode_root, decode_skip, min_max_bytes, most_skip_bytes,
};
use crate::kernel::pyramid::MinMax;
use crate::state::DataState;
use crate::store::BlockError;
use crate::surface::Block;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of directory pages that are kept, oldest dropped first.
const PAGE_BUDGET_BYTES: usize = 8 << 20;

/// An open payload of version 2.
#[derive(Debug)]
pub(crate) struct PayloadV2 {
    file: Positioned,
    head: Head,
    layout: DirectoryLayout,
    pages: Vec<PageRef>,
    layers: usize,
    kept: Mutex<Pages>,
}

#[derive(Debug, Default)]
struct Pages {
    pages: BTreeMap<u32, Arc<Vec<Entry>>>,
    order: VecDeque<(u32, usize)>,
    bytes: usize,
}

impl PayloadV2 {
    /// Reads and checks head, catalogue, origin and the directory's root, and no block.
    pub(super) fn open(file: Positioned, file_bytes: u64) -> Result<(Self, PayloadInfo), PayloadError> {
        let mut bytes = vec![0; file_bytes.min(HEAD_PREFIX_BYTES as u64) as usize];
        file.read_at(&mut bytes, 0)?;
        let prefix = Prefix::decode(&bytes, file_bytes)?;
        bytes.resize(prefix.head_bytes, 0);
        file.read_at(&mut bytes, 0)?;
        let head = Head::decode(&bytes, file_bytes)?;
        let layout = DirectoryLayout::of(&head)?;
        let text = |section: Section| -> Result<String, PayloadError> {
            let entry = required(&head, section)?;
            let bytes = whole(&file, entry)?;
            Ok(String::from_utf8(bytes)
                .map_err(|e| FormatError::new(entry.offset, section.name(), "UTF-8 text", e.utf8_error()))?)
        };
        let origin = text(Section::Origin)?;
        if let Err(e) = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&origin) {
            let at = required(&head, Section::Origin)?.offset;
            return Err(FormatError::new(at, "origin record", "a JSON object", e).into());
        }
        let catalogue = catalogue(&text(Section::Catalogue)?, required(&head, Section::Catalogue)?.offset)?;
        check_planes(&head, &catalogue)?;
        let root = required(&head, Section::Directory)?;
        if root.length != layout.root_bytes() {
            let expected = format!("{} bytes", layout.root_bytes());
            return Err(FormatError::new(root.offset, "directory root", expected, root.length).into());
        }
        let pages = decode_root(&whole(&file, root)?, root.offset, &layout, file_bytes)?;
        let info = PayloadInfo {
            version: VERSION,
            config: head.config,
            side: head.side,
            digest: head.digest,
            rounding_m: head.rounding_m,
            totals: head.totals,
            losses: head.losses,
            catalogue,
            origin,
            sections: head.sections.clone(),
            file_bytes,
        };
        let layers = info.catalogue.layers.len();
        Ok((Self { file, head, layout, pages, layers, kept: Mutex::default() }, info))
    }

    pub(crate) fn head(&self) -> &Head {
        &self.head
    }

    pub(crate) fn layout(&self) -> &DirectoryLayout {
        &self.layout
    }

    pub(crate) fn pages(&self) -> &[PageRef] {
        &self.pages
    }

    /// The directory page, read when it is not kept.
    pub(crate) fn page(&self, page: u32) -> Result<Arc<Vec<Entry>>, PayloadError> {
        let kept = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entries) = kept().pages.get(&page) {
            return Ok(entries.clone());
        }
        let at = self.pages[page as usize];
        // The root has checked that the page lies inside the file.
        let mut bytes = vec![0; self.layout.page_bytes(page)];
        self.file.read_at(&mut bytes, at.offset)?;
        let entries = Arc::new(decode_page(&bytes, page, at, &self.layout, &self.head)?);
        let held: usize = entries.iter().map(|e| size_of_val(e) + size_of_val(e.slots.as_slice())).sum();
        let mut kept = kept();
        if kept.pages.insert(page, entries.clone()).is_none() {
            kept.order.push_back((page, held));
            kept.bytes += held;
        }
        while kept.bytes > PAGE_BUDGET_BYTES {
            let Some((old, held)) = kept.order.pop_front() else { break };
            kept.pages.remove(&old);
            kept.bytes -= held;
        }
        Ok(entries)
    }

    /// The entry of a block, as a block's error when it cannot be had.
    pub(crate) fn entry(&self, level: u8, pos: BlockPos) -> Result<Entry, BlockError> {
        let refuse = |reason: String, retryable| BlockError { pos, reason, retryable };
        let Some((page, index)) = self.layout.find(level, pos) else {
            return Err(refuse("is not on the map".into(), false));
        };
        match self.page(page) {
            Ok(entries) => Ok(entries[index].clone()),
            Err(PayloadError::Io(e)) => {
                Err(refuse(format!("its directory page cannot be read: {e}"), again(&e)))
            }
            Err(PayloadError::Format(e)) => Err(refuse(e.to_string(), false)),
        }
    }

    pub(super) fn recorded_state(&self, pos: BlockPos) -> DataState {
        if self.layout.find(0, pos).is_none() {
            return DataState::OutOfRange;
        }
        self.entry(0, pos).map_or(DataState::Failed, |e| e.state)
    }

    /// A part of a block, checked and decompressed.
    pub(crate) fn body(
        &self,
        level: u8,
        pos: BlockPos,
        entry: &Entry,
        section: Section,
    ) -> Result<Option<Body>, BlockError> {
        let Some(i) = self.layout.slots(level).iter().position(|&s| s == section) else { return Ok(None) };
        let slot = &entry.slots[i];
        // At most what a block's part can have, which the page has checked.
        let mut bytes = vec![0; slot.length as usize];
        self.file.read_at(&mut bytes, slot.offset).map_err(|e| BlockError {
            pos,
            reason: format!("{} bytes at byte {} cannot be read: {e}", slot.length, slot.offset),
            retryable: again(&e),
        })?;
        Body::load(section, slot, bytes, &self.shape(level, pos)).map(Some).map_err(|e| wrong(pos, &e))
    }

    pub(crate) fn shape(&self, level: u8, pos: BlockPos) -> BlockShape {
        BlockShape::new(&self.head.config, self.head.side, level, pos)
    }

    /// Heights and mask of a block, held against its entry.
    pub(crate) fn ground(
        &self,
        pos: BlockPos,
        entry: &Entry,
    ) -> Result<crate::format::payload::Ground, BlockError> {
        let height = self.body(0, pos, entry, Section::Height)?;
        let hole = self.body(0, pos, entry, Section::Hole)?;
        // Both are in every payload: the head has checked it.
        let Some(height) = height else { return Err(wrong(pos, &"has no heights")) };
        decode_ground(&self.shape(0, pos), entry, &height, hole.as_ref()).map_err(|e| wrong(pos, &e))
    }

    pub(super) fn read_block(&self, pos: BlockPos) -> Result<Block, BlockError> {
        let entry = self.entry(0, pos)?;
        let ground = self.ground(pos, &entry)?;
        let weights = match self.body(0, pos, &entry, Section::Hd)? {
            Some(body) => {
                let texels = decode_hd(&self.shape(0, pos), &body, self.layers, self.at(&entry, Section::Hd));
                Some(texels.map_err(|e| wrong(pos, &e))?.into())
            }
            None => None,
        };
        let block = Block::new(pos, self.head.side, ground.heights.into(), ground.mask.into(), weights);
        let holes = |kind| kind == PlaneKind::PhysicalHole;
        let has = self.head.section(Section::Collision).is_some_and(|s| s.planes & 1 != 0);
        let found = if has { self.planes_of(pos, &entry, &holes)? } else { Vec::new() };
        Ok(match found.first() {
            Some((_, removed)) => block.with_physical_holes(removed),
            None => block,
        })
    }

    /// Where a part of a block of level 0 stands in the file.
    fn at(&self, entry: &Entry, section: Section) -> u64 {
        let i = self.layout.slots(0).iter().position(|&s| s == section);
        i.map_or(0, |i| entry.slots[i].offset)
    }

    pub(super) fn span(&self, pos: BlockPos, section: Section) -> Option<std::ops::Range<u64>> {
        let entry = self.entry(0, pos).ok()?;
        let slot = &entry.slots[self.layout.slots(0).iter().position(|&s| s == section)?];
        (slot.length > 0).then(|| slot.offset..slot.offset + u64::from(slot.length))
    }

    pub(super) fn read_content(&self, pos: BlockPos) -> Result<BlockContent, BlockError> {
        let entry = self.entry(0, pos)?;
        let ground = self.ground(pos, &entry)?;
        let planes = self.planes_of(pos, &entry, &|_| true)?;
        Ok(BlockContent { heights: ground.heights, mask: ground.mask, planes })
    }

    /// The planes of a block that are not 0, of the kinds asked for; sections without any are not read.
    pub(super) fn read_planes(
        &self,
        pos: BlockPos,
        takes: &dyn Fn(PlaneKind) -> bool,
    ) -> Result<Vec<(PlaneKind, Vec<u8>)>, BlockError> {
        self.planes_of(pos, &self.entry(0, pos)?, takes)
    }

    fn planes_of(
        &self,
        pos: BlockPos,
        entry: &Entry,
        takes: &dyn Fn(PlaneKind) -> bool,
    ) -> Result<Vec<(PlaneKind, Vec<u8>)>, BlockError> {
        let mut planes = Vec::new();
        let wanted = |s: Section| (0..=u8::MAX).map_while(|i| s.plane(i)).any(takes);
        for &section in self.layout.slots(0).iter().filter(|&&s| wanted(s)) {
            if let Some(body) = self.body(0, pos, entry, section)? {
                let at = self.at(entry, section);
                let found = decode_planes(&self.shape(0, pos), &body, at).map_err(|e| wrong(pos, &e))?;
                let known = found.into_iter().filter_map(|(i, values)| Some((section.plane(i)?, values)));
                planes.extend(known.filter(|p| takes(p.0)));
            }
        }
        planes.sort_by_key(|p| p.0);
        Ok(planes)
    }

    pub(super) fn min_max(&self) -> Result<Vec<Vec<MinMax>>, PayloadError> {
        let entry = required(&self.head, Section::MinMax)?;
        let cells = self.head.config.samples.map(|n| n - 1);
        Ok(decode_min_max(&self.whole(Section::MinMax)?, cells, entry.offset)?)
    }

    pub(super) fn skip_nodes(&self) -> Result<SkipNodes, PayloadError> {
        let entry = required(&self.head, Section::Skip)?;
        let cells = self.head.config.samples.map(|n| n - 1);
        Ok(decode_skip(&self.whole(Section::Skip)?, cells, entry.offset)?)
    }

    /// A section that is no block, checked; its length first, so that no memory is taken for what cannot be one.
    pub(crate) fn whole(&self, section: Section) -> Result<Vec<u8>, PayloadError> {
        let entry = required(&self.head, section)?;
        let cells = self.head.config.samples.map(|n| n - 1);
        let refuse =
            |what, expected: String| Err(FormatError::new(entry.offset, what, expected, entry.length).into());
        match section {
            Section::MinMax if entry.length != min_max_bytes(cells) => {
                refuse("min/max section", format!("{} bytes", min_max_bytes(cells)))
            }
            Section::Skip if entry.length > most_skip_bytes(cells) => {
                refuse("skip section", format!("at most {} bytes", most_skip_bytes(cells)))
            }
            _ => whole(&self.file, entry),
        }
    }
}

fn wrong(pos: BlockPos, e: &impl std::fmt::Display) -> BlockError {
    BlockError { pos, reason: e.to_string(), retryable: false }
}

/// A file that has become shorter stays so; anything else may pass.
fn again(e: &io::Error) -> bool {
    e.kind() != io::ErrorKind::UnexpectedEof
}

fn required(head: &Head, section: Section) -> Result<&SectionEntry, FormatError> {
    head.section(section).ok_or_else(|| FormatError::new(0, "sections", section.name(), "none"))
}

/// Reads a section and checks it. The head has checked that it lies inside the file.
fn whole(file: &Positioned, entry: &SectionEntry) -> Result<Vec<u8>, PayloadError> {
    let mut bytes = vec![0; entry.length as usize];
    file.read_at(&mut bytes, entry.offset)?;
    let found = *blake3::hash(&bytes).as_bytes();
    if found != entry.checksum {
        let expected = hex(&entry.checksum);
        return Err(FormatError::new(entry.offset, "section checksum", expected, hex(&found)).into());
    }
    Ok(bytes)
}

fn catalogue(text: &str, at: u64) -> Result<Catalogue, FormatError> {
    let catalogue =
        Catalogue::of_json(text).map_err(|e| FormatError::new(at, "catalogue", "a catalogue", e))?;
    // The text is part of the digest: there is one for each catalogue.
    if catalogue.to_json() != text {
        return Err(FormatError::new(at, "catalogue", "its canonical text", "another"));
    }
    Ok(catalogue)
}

fn check_planes(head: &Head, catalogue: &Catalogue) -> Result<(), FormatError> {
    let at = HEAD_PREFIX_BYTES as u64;
    for s in &head.sections {
        let name = s.section.name();
        if s.section.plane(0).is_some() {
            if s.section.planes(s.planes, catalogue).is_none() {
                let found = format!("{:#x} of {name}", s.planes);
                return Err(FormatError::new(at, "section planes", "planes of the catalogue", found));
            }
        } else if s.planes != 0 {
            return Err(FormatError::new(at, "section planes", format!("none of {name}"), s.planes));
        }
    }
    if head.section(Section::Hd).is_some() == catalogue.layers.is_empty() {
        let expected = "HD weights just where there are layers";
        return Err(FormatError::new(at, "sections", expected, format!("{} layers", catalogue.layers.len())));
    }
    Ok(())
}
