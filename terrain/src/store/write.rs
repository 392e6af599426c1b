//! Writes a payload band by band: a temporary file beside the target, then a rename, so that a reader never sees half a
//! file. Holds a band of rows of each level, whatever the terrain's size.

use super::derive::{Band, Derived, Deriver, Extras, Sink, sections};
use super::temporary::Temporary;
use super::{RasterError, TerrainRows};
use crate::content::{Lattice, PlaneKind};
use crate::coord::{BlockPos, BlockSide};
use crate::format::FormatError;
use crate::format::payload::Body;
use crate::format::payload::{
    BlockBodies, BlockShape, Compression, DirectoryLayout, Entry, Head, Losses, MAX_ORIGIN_BYTES, PageRef,
    Section, SectionEntry, Slot, Totals, checksum, encode_min_max, encode_page, encode_root, encode_skip,
};
use crate::kernel::control::HALO_ROWS;
use rayon::prelude::*;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

/// Why a payload was not written. Nothing is left at the target but what was there before.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The terrain is wrong.
    #[error("the terrain cannot be written: {0}")]
    Raster(#[from] RasterError),
    /// The head cannot say it.
    #[error("the terrain's head cannot be written: {0}")]
    Head(#[from] FormatError),
    /// The file could not be written.
    #[error("cannot be written: {0}")]
    Io(#[from] io::Error),
}

/// How a payload is written.
#[derive(Clone, Debug, PartialEq)]
pub struct WriteOptions {
    /// Samples a side of its blocks.
    pub side: BlockSide,
    /// How bodies are compressed, where that makes them smaller.
    pub compression: Compression,
    /// Whether it keeps the normals of the samples.
    pub normals: bool,
    /// Whether it keeps Normal-encoded weights beside the HD ones.
    pub normal_weights: bool,
    /// Whether it keeps ID control, and the largest error that may make, a fraction of all weight.
    pub control: Option<f64>,
    /// The origin record: a JSON object.
    pub origin: String,
    /// The largest rounding error of the heights in metres.
    pub rounding_m: f64,
}

impl WriteOptions {
    /// Blocks of a side, uncompressed, without normals, of an origin.
    pub fn new(side: BlockSide, origin: &str, rounding_m: f64) -> Self {
        Self {
            side,
            compression: Compression::None,
            normals: false,
            normal_weights: false,
            control: None,
            origin: origin.to_owned(),
            rounding_m,
        }
    }

    fn extras(&self) -> Extras {
        Extras { normals: self.normals, normal_weights: self.normal_weights, control: self.control }
    }
}

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Written {
    /// The digest of the canonical content.
    pub digest: [u8; 32],
    /// What is counted over the whole terrain.
    pub totals: Totals,
    /// What deriving weight encodings lost.
    pub losses: Losses,
    /// Bytes of the file.
    pub file_bytes: u64,
}

/// Writes a terrain as a payload. The bytes depend on the terrain and the options alone, not on the number of threads
/// (those of the current rayon pool work).
///
/// # Errors
/// What is wrong with the terrain, or why the file could not be written.
pub fn write_payload(
    rows: &dyn TerrainRows,
    options: &WriteOptions,
    path: &Path,
) -> Result<Written, WriteError> {
    write_payload_with(rows, options, path, &|_, _| {})
}

/// As [`write_payload`]; `progress` is told how many of how many bands are written.
///
/// # Errors
/// As [`write_payload`].
pub fn write_payload_with(
    rows: &dyn TerrainRows,
    options: &WriteOptions,
    path: &Path,
    progress: &dyn Fn(u64, u64),
) -> Result<Written, WriteError> {
    let (config, side) = (*rows.config(), options.side);
    config.check().map_err(RasterError::from)?;
    let kinds = rows.plane_kinds();
    let sections = sections(&config, side, rows.catalogue(), &kinds, options.extras());
    let layout = DirectoryLayout::new(&config, side, &sections);
    let mut deriver = Deriver::new(&config, side, rows.catalogue(), &kinds, &layout, options.extras())?;
    if options.origin.len() as u64 > MAX_ORIGIN_BYTES {
        let expected = format!("at most {MAX_ORIGIN_BYTES} bytes");
        return Err(FormatError::new(0, "origin record", expected, options.origin.len()).into());
    }
    let target = Temporary::beside(path)?;
    let first = Head::bytes_for(sections.len()) as u64;
    let mut out = BufWriter::with_capacity(1 << 20, &target.file);
    out.seek(SeekFrom::Start(first))?;
    let mut file = FileSink {
        out,
        at: first,
        layout: &layout,
        config,
        side,
        compression: options.compression,
        entries: (0..layout.pages())
            .map(|p| vec![None; layout.page_blocks(p).2.map(|n| n as usize).iter().product()])
            .collect(),
        lengths: vec![0; Section::ALL.len()],
    };
    let bands = config.blocks(side)[1];
    let mut band = Band::default();
    for z in 0..bands {
        fill(&mut band, rows, &kinds, side, z);
        if options.control.is_some() {
            fill_halo(&mut band, rows, &kinds, side, z);
        }
        deriver.band(&band, &mut file)?;
        progress(u64::from(z) + 1, u64::from(bands));
    }
    let head = file.finish(deriver.finish(), &sections, rows, options)?;
    target.publish()?;
    Ok(Written { digest: head.digest, totals: head.totals, losses: head.losses, file_bytes: head.file_bytes })
}

/// Takes the rows of a band of blocks.
fn fill(band: &mut Band, rows: &dyn TerrainRows, kinds: &[PlaneKind], side: BlockSide, z: u32) {
    let config = rows.config();
    let [w, h] = config.samples;
    let n = side.samples() as u32;
    let (from, to) = ((z * n).saturating_sub(1), ((z + 1) * n + 1).min(h));
    band.heights.resize((to - from) as usize * w as usize, 0);
    by_rows(&mut band.heights, w as usize, from, |rows_, out| rows.heights(rows_, out));
    let (from, to) = ((z * n).min(h - 1), ((z + 1) * n).min(h - 1));
    band.mask.resize((to - from) as usize * (w as usize - 1), 0);
    by_rows(&mut band.mask, w as usize - 1, from, |rows_, out| rows.mask(rows_, out));
    band.planes.resize(kinds.len(), Vec::new());
    for (&kind, values) in kinds.iter().zip(&mut band.planes) {
        let lattice: Lattice = kind.lattice();
        let (per, all) = (lattice.per_cell(config), lattice.size(config)[1]);
        let (from, to) = ((z * n * per).min(all), ((z + 1) * n * per).min(all));
        values.resize((to - from) as usize * kind.row_bytes(config), 0);
        by_rows(values, kind.row_bytes(config), from, |rows_, out| rows.plane(kind, rows_, out));
    }
}

/// Takes the weights of a band of blocks with as many rows around it as ID control asks for.
fn fill_halo(band: &mut Band, rows: &dyn TerrainRows, kinds: &[PlaneKind], side: BlockSide, z: u32) {
    let config = rows.config();
    let [w, h] = Lattice::Paint.size(config);
    let n = side.samples() as u32 * u32::from(config.paint_per_cell);
    let (from, to) = ((z * n).saturating_sub(HALO_ROWS).min(h), ((z + 1) * n + HALO_ROWS).min(h));
    let weights = kinds.iter().filter(|k| matches!(k, PlaneKind::Weight(_)));
    band.halo.resize(weights.clone().count(), Vec::new());
    for (&kind, values) in weights.zip(&mut band.halo) {
        values.resize((to - from) as usize * w as usize, 0);
        by_rows(values, w as usize, from, |rows_, out| rows.plane(kind, rows_, out));
    }
}

/// Fills rows in parallel, a few a time.
fn by_rows<T: Send>(
    out: &mut [T],
    width: usize,
    first: u32,
    rows: impl Fn(std::ops::Range<u32>, &mut [T]) + Sync,
) {
    const ROWS: usize = 8;
    out.par_chunks_mut((width * ROWS).max(1)).enumerate().for_each(|(i, part)| {
        let from = first + (i * ROWS) as u32;
        rows(from..from + (part.len() / width) as u32, part);
    });
}

/// Stores bodies and remembers where they are.
struct FileSink<'a, W: Write> {
    out: W,
    at: u64,
    layout: &'a DirectoryLayout,
    config: crate::config::TerrainConfig,
    side: BlockSide,
    compression: Compression,
    /// Entries by page; a page is written when its last row of blocks is there.
    entries: Vec<Vec<Option<Entry>>>,
    /// Bytes of bodies by section, in the order of [`Section::ALL`].
    lengths: Vec<u64>,
}

impl<W: Write + Seek> FileSink<'_, W> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<u64> {
        let at = self.at;
        self.out.write_all(bytes)?;
        self.at += bytes.len() as u64;
        Ok(at)
    }

    fn whole(&mut self, section: Section, bytes: &[u8]) -> io::Result<SectionEntry> {
        let offset = self.put(bytes)?;
        let checksum = *blake3::hash(bytes).as_bytes();
        Ok(SectionEntry { section, levels: 1, planes: 0, offset, length: bytes.len() as u64, checksum })
    }

    /// Writes what is not in blocks, and the head.
    fn finish(
        mut self,
        derived: Derived,
        sections: &[(Section, u8)],
        rows: &dyn TerrainRows,
        options: &WriteOptions,
    ) -> Result<Head, WriteError> {
        let mut pages = Vec::with_capacity(self.entries.len());
        for entries in std::mem::take(&mut self.entries) {
            let entries: Vec<Entry> = entries.into_iter().flatten().collect();
            let bytes = encode_page(&entries);
            let offset = self.put(&bytes)?;
            pages.push(PageRef { offset, checksum: checksum(&bytes) });
        }
        let mut table = Vec::with_capacity(sections.len());
        for &(section, levels) in sections {
            table.push(match section {
                Section::Catalogue => self.whole(section, rows.catalogue().to_json().as_bytes())?,
                Section::Origin => self.whole(section, options.origin.as_bytes())?,
                Section::MinMax => self.whole(section, &encode_min_max(&derived.min_max))?,
                Section::Skip => self.whole(section, &encode_skip(&derived.skip))?,
                Section::Directory => self.whole(section, &encode_root(&pages))?,
                blocked => {
                    let i = Section::ALL.iter().position(|&s| s == blocked).unwrap_or(0);
                    let of = |k: &PlaneKind| Section::of_plane(*k);
                    let own = derived.used.iter().map(of).filter(|p| p.0 == blocked);
                    let planes = own.fold(0, |set, (_, index)| set | 1 << index);
                    let length = self.lengths[i];
                    SectionEntry { section, levels, planes, offset: 0, length, checksum: [0; 32] }
                }
            });
        }
        let head = Head {
            config: self.config,
            side: self.side,
            digest: derived.digest,
            rounding_m: options.rounding_m,
            totals: derived.totals,
            losses: derived.losses,
            sections: table,
            file_bytes: self.at,
        };
        let bytes = head.encode();
        // What cannot be read back is not written.
        Head::decode(&bytes, head.file_bytes)?;
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(&bytes)?;
        self.out.flush()?;
        Ok(head)
    }
}

impl<W: Write + Seek> Sink for FileSink<'_, W> {
    type Error = WriteError;

    fn blocks(&mut self, level: u8, z: i32, blocks: Vec<BlockBodies>) -> Result<(), WriteError> {
        let (config, side, compression) = (self.config, self.side, self.compression);
        let stored: Vec<Stored> = blocks
            .into_par_iter()
            .enumerate()
            .map(|(x, block)| {
                let shape = BlockShape::new(&config, side, level, BlockPos::new(x as i32, z));
                store(block, &shape, compression)
            })
            .collect();
        for (x, (mut entry, bodies)) in stored.into_iter().enumerate() {
            for (slot, (section, bytes)) in entry.slots.iter_mut().zip(bodies) {
                if !bytes.is_empty() {
                    slot.offset = self.put(&bytes)?;
                    let i = Section::ALL.iter().position(|&s| s == section).unwrap_or(0);
                    self.lengths[i] += bytes.len() as u64;
                }
            }
            if let Some((page, index)) = self.layout.find(level, BlockPos::new(x as i32, z)) {
                self.entries[page as usize][index] = Some(entry);
            }
        }
        Ok(())
    }
}

/// A block's entry, its slots without their places, and its bodies as they are kept.
type Stored = (Entry, Vec<(Section, Vec<u8>)>);

fn store(block: BlockBodies, shape: &BlockShape, compression: Compression) -> Stored {
    let (slots, bodies): (Vec<Slot>, Vec<(Section, Vec<u8>)>) = block
        .bodies
        .into_iter()
        .map(|body: Body| {
            let section = body.section;
            let (slot, bytes) = body.store(shape, compression);
            (slot, (section, bytes))
        })
        .unzip();
    let (min, max) = block.facts.range;
    let entry = Entry {
        state: block.facts.state,
        void_samples: block.facts.void_samples,
        hole_cells: block.facts.hole_cells,
        min,
        max,
        slots,
    };
    (entry, bodies)
}
