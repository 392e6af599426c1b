//! The first image directory of a TIFF or BigTIFF: its tags, each fetched only when asked for and never longer than
//! the file. Decodes no samples.

use super::refuse;
use crate::import::ImportError;
use crate::import::source::{Input, ReadSeek};
use std::collections::BTreeMap;
use std::io::{Read, SeekFrom};

/// Entries that a directory may have.
const MAX_ENTRIES: u64 = 4096;

/// Bytes that one tag's values may take: the offsets of a million tiles fit.
const MAX_TAG_BYTES: u64 = 16 << 20;

/// Tags that are read.
pub(super) mod tag {
    pub(crate) const WIDTH: u16 = 256;
    pub(crate) const HEIGHT: u16 = 257;
    pub(crate) const BITS: u16 = 258;
    pub(crate) const COMPRESSION: u16 = 259;
    pub(crate) const PHOTOMETRIC: u16 = 262;
    pub(crate) const FILL_ORDER: u16 = 266;
    pub(crate) const STRIP_OFFSETS: u16 = 273;
    pub(crate) const ORIENTATION: u16 = 274;
    pub(crate) const BANDS: u16 = 277;
    pub(crate) const ROWS_PER_STRIP: u16 = 278;
    pub(crate) const STRIP_BYTES: u16 = 279;
    pub(crate) const PLANAR: u16 = 284;
    pub(crate) const PREDICTOR: u16 = 317;
    pub(crate) const TILE_WIDTH: u16 = 322;
    pub(crate) const TILE_HEIGHT: u16 = 323;
    pub(crate) const TILE_OFFSETS: u16 = 324;
    pub(crate) const TILE_BYTES: u16 = 325;
    pub(crate) const EXTRA_SAMPLES: u16 = 338;
    pub(crate) const SAMPLE_FORMAT: u16 = 339;
    pub(crate) const PIXEL_SCALE: u16 = 33_550;
    pub(crate) const TIEPOINTS: u16 = 33_922;
    pub(crate) const TRANSFORMATION: u16 = 34_264;
    pub(crate) const GEO_KEYS: u16 = 34_735;
    pub(crate) const GEO_DOUBLES: u16 = 34_736;
    pub(crate) const GDAL_METADATA: u16 = 42_112;
    pub(crate) const GDAL_NODATA: u16 = 42_113;
}

/// A tag as the directory has it.
#[derive(Clone, Copy, Debug)]
struct Entry {
    kind: u16,
    count: u64,
    /// Where its values begin.
    at: u64,
}

/// The first directory.
pub(super) struct Ifd<'a> {
    bytes: &'a mut Box<dyn ReadSeek>,
    len: u64,
    /// Whether numbers are big-endian.
    pub(super) big: bool,
    entries: BTreeMap<u16, Entry>,
    /// Whether another directory (overviews, pages) follows.
    pub(super) more: bool,
}

impl<'a> Ifd<'a> {
    /// Reads the header and the first directory.
    ///
    /// # Errors
    /// No TIFF, or a directory that does not lie in the file.
    pub(super) fn read(input: &'a mut Input) -> Result<Self, ImportError> {
        let len = input.len;
        let mut ifd =
            Self { bytes: &mut input.bytes, len, big: false, entries: BTreeMap::new(), more: false };
        let mut head = [0; 4];
        ifd.read_at(0, &mut head, "the header")?;
        ifd.big = match &head[..2] {
            b"II" => false,
            b"MM" => true,
            _ => return Err(refuse("expected a TIFF (II or MM at its start), found something else")),
        };
        let wide = match ifd.u16(&head[2..4]) {
            42 => false,
            43 => true,
            n => return Err(refuse(format!("expected a TIFF of version 42 or 43 (BigTIFF), found {n}"))),
        };
        let first = if wide {
            let sizes = ifd.number_at(4, 4, "the header")?;
            // 8-byte offsets and a zero, in either byte order.
            if sizes != if ifd.big { 8 << 16 } else { 8 } {
                return Err(refuse("expected a BigTIFF with offsets of 8 bytes, found others"));
            }
            ifd.number_at(8, 8, "the header")?
        } else {
            ifd.number_at(4, 4, "the header")?
        };
        ifd.directory(first, wide)?;
        Ok(ifd)
    }

    fn directory(&mut self, at: u64, wide: bool) -> Result<(), ImportError> {
        let what = "the image directory";
        let (count_bytes, entry_bytes, value_bytes) = if wide { (8, 20, 8) } else { (2, 12, 4) };
        let count = self.number_at(at, count_bytes, what)?;
        if count == 0 || count > MAX_ENTRIES {
            return Err(refuse(format!("expected 1 to {MAX_ENTRIES} tags at byte {at}, found {count}")));
        }
        let from = at + count_bytes as u64;
        let mut all = vec![0; count as usize * entry_bytes];
        self.read_at(from, &mut all, what)?;
        for (i, e) in all.chunks_exact(entry_bytes).enumerate() {
            let (tag, kind) = (self.u16(&e[..2]), self.u16(&e[2..4]));
            let count = self.number(&e[4..4 + value_bytes]);
            let Some(size) = size_of(kind) else { continue };
            let value = &e[4 + value_bytes..];
            let inline = count.checked_mul(size).is_some_and(|n| n <= value_bytes as u64);
            let place = from + (i * entry_bytes + 4 + value_bytes) as u64;
            let at = if inline { place } else { self.number(value) };
            // The first of a tag given twice counts, as other readers have it.
            self.entries.entry(tag).or_insert(Entry { kind, count, at });
        }
        let next = from + all.len() as u64;
        self.more = self.number_at(next, value_bytes, what).is_ok_and(|n| n != 0);
        Ok(())
    }

    /// Whether the tag is there.
    pub(super) fn has(&self, tag: u16) -> bool {
        self.entries.contains_key(&tag)
    }

    /// A tag's values as unsigned numbers; empty when it is missing.
    ///
    /// # Errors
    /// Values of another type, or more than the file has.
    pub(super) fn numbers(&mut self, tag: u16) -> Result<Vec<u64>, ImportError> {
        let Some((kind, raw)) = self.raw(tag)? else { return Ok(Vec::new()) };
        match kind {
            1 | 3 | 4 | 13 | 16 | 18 => {
                let size = size_of(kind).unwrap_or(1) as usize;
                Ok(raw.chunks_exact(size).map(|b| self.number(b)).collect())
            }
            _ => Err(refuse(format!("tag {tag}: expected whole numbers, found values of type {kind}"))),
        }
    }

    /// A tag's only value, or a default when it is missing.
    ///
    /// # Errors
    /// No value, or more than one.
    pub(super) fn number_or(&mut self, tag: u16, default: u64) -> Result<u64, ImportError> {
        if !self.has(tag) {
            return Ok(default);
        }
        match self.numbers(tag)?[..] {
            [n] => Ok(n),
            ref other => Err(refuse(format!("tag {tag}: expected one value, found {}", other.len()))),
        }
    }

    /// A tag's values as doubles; empty when it is missing.
    ///
    /// # Errors
    /// Values of another type, or more than the file has.
    pub(super) fn doubles(&mut self, tag: u16) -> Result<Vec<f64>, ImportError> {
        let Some((kind, raw)) = self.raw(tag)? else { return Ok(Vec::new()) };
        match kind {
            12 => Ok(raw.chunks_exact(8).map(|b| f64::from_bits(self.number(b))).collect()),
            11 => Ok(raw.chunks_exact(4).map(|b| f64::from(f32::from_bits(self.number(b) as u32))).collect()),
            _ => Err(refuse(format!("tag {tag}: expected doubles, found values of type {kind}"))),
        }
    }

    /// A tag's text up to its first NUL; `None` when it is missing.
    ///
    /// # Errors
    /// Values of another type, or more than the file has.
    pub(super) fn text(&mut self, tag: u16) -> Result<Option<String>, ImportError> {
        let Some((kind, mut raw)) = self.raw(tag)? else { return Ok(None) };
        if !matches!(kind, 1 | 2 | 7) {
            return Err(refuse(format!("tag {tag}: expected text, found values of type {kind}")));
        }
        raw.truncate(raw.iter().position(|&b| b == 0).unwrap_or(raw.len()));
        Ok(Some(String::from_utf8_lossy(&raw).into_owned()))
    }

    fn raw(&mut self, tag: u16) -> Result<Option<(u16, Vec<u8>)>, ImportError> {
        let Some(&entry) = self.entries.get(&tag) else { return Ok(None) };
        let size = size_of(entry.kind).unwrap_or(1);
        let bytes = entry.count.saturating_mul(size);
        if bytes > MAX_TAG_BYTES.min(self.len) {
            return Err(refuse(format!(
                "tag {tag}: expected values that the file can hold, found {} of {size} bytes claimed by a file of {} bytes",
                entry.count, self.len
            )));
        }
        let mut raw = vec![0; bytes as usize];
        self.read_at(entry.at, &mut raw, &format!("tag {tag}"))?;
        Ok(Some((entry.kind, raw)))
    }

    fn number_at(&mut self, at: u64, n: usize, what: &str) -> Result<u64, ImportError> {
        let mut bytes = [0; 8];
        self.read_at(at, &mut bytes[..n], what)?;
        Ok(self.number(&bytes[..n]))
    }

    fn read_at(&mut self, at: u64, out: &mut [u8], what: &str) -> Result<(), ImportError> {
        if at.checked_add(out.len() as u64).is_none_or(|end| end > self.len) {
            return Err(refuse(format!(
                "{what}: expected {} bytes at byte {at}, found a file of {} bytes: truncated?",
                out.len(),
                self.len
            )));
        }
        self.bytes.seek(SeekFrom::Start(at))?;
        self.bytes.read_exact(out)?;
        Ok(())
    }

    fn u16(&self, b: &[u8]) -> u16 {
        self.number(b) as u16
    }

    /// A number of 1 to 8 bytes in the file's byte order.
    fn number(&self, b: &[u8]) -> u64 {
        let step = |n: u64, &b: &u8| n << 8 | u64::from(b);
        if self.big { b.iter().fold(0, step) } else { b.iter().rev().fold(0, step) }
    }

    /// The file again, for its samples.
    pub(super) fn into_bytes(self) -> &'a mut Box<dyn ReadSeek> {
        self.bytes
    }
}

/// Bytes of one value of a type; `None` for types that TIFF does not have.
fn size_of(kind: u16) -> Option<u64> {
    match kind {
        1 | 2 | 6 | 7 => Some(1),
        3 | 8 => Some(2),
        4 | 9 | 11 | 13 => Some(4),
        5 | 10 | 12 | 16..=18 => Some(8),
        _ => None,
    }
}
