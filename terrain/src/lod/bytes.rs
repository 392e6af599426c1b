//! A receipt's bytes, version 1.
//!
//! Owns the layout. All numbers are little-endian. Nothing is allocated for a count that the length does not bear out, and
//! whatever is wrong is said with its place.
//!
//! | what | |
//! |---|---|
//! | magic | 8 bytes |
//! | version | u32 |
//! | frame | u64 |
//! | digest of the source | 32 bytes |
//! | samples along x and z, spacing in 1/256 m | u32 each |
//! | extent, window (x0, z0, x1, z1) and placement (x, z, y) | i32 each |
//! | k of the quantum, diagonal, bands, zero | u8 each |
//! | bands: range, start, end | u32 each |
//! | views, nodes with holes | u32 each |
//! | views: key u64, x and z i64, nodes u32; then x u16, z u16, level, mask, holes, zero u8 each and 1089 samples i32 a node | |
//! | nodes with holes: z and x u32 each and 64 words of triangle bits | |
//! | blake3 of all before it | 32 bytes |
//!
//! Neighbours are found again.

use super::receipt::MASK_WORDS;
use super::{DrawnView, Receipt, ReceiptError};
use crate::config::{Diagonal, Placement, TerrainConfig};
use crate::coord::CellRect;
use crate::height::QuantumLog2;
use crate::kernel::select::ranges::{Band, Ranges};
use crate::kernel::vertex::PATCH_SAMPLES;
use crate::pass::select::{Node, View};

const MAGIC: [u8; 8] = *b"\x89HGR\r\n\x1a\n";
const VERSION: u32 = 1;
const CHECKSUM_BYTES: usize = 32;
const NODE_BYTES: usize = 8 + PATCH_SAMPLES * 4;
const HOLE_BYTES: usize = 8 + MASK_WORDS * 4;
const VIEW_BYTES: usize = 28;

impl Receipt {
    /// Its bytes: equal receipts have equal ones.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend(MAGIC);
        out.extend(VERSION.to_le_bytes());
        out.extend(self.frame.to_le_bytes());
        out.extend(self.digest);
        let c = &self.config;
        for v in [c.samples[0], c.samples[1], c.spacing_256] {
            out.extend(v.to_le_bytes());
        }
        let (e, w, p) = (c.extent, self.window, c.placement);
        for v in [e.x0, e.z0, e.x1, e.z1, w.x0, w.z0, w.x1, w.z1, p.x, p.z, p.y] {
            out.extend(v.to_le_bytes());
        }
        let diagonal = match c.diagonal {
            Diagonal::Main => 0,
            Diagonal::Anti => 1,
            Diagonal::Checkerboard => 2,
        };
        out.extend([c.quantum.get(), diagonal, self.ranges.bands().len() as u8, 0]);
        for band in self.ranges.bands() {
            for v in [band.range, band.start, band.end] {
                out.extend(v.to_le_bytes());
            }
        }
        for v in [self.views.len(), self.hole_nodes.len()] {
            out.extend((v as u32).to_le_bytes());
        }
        for view in &self.views {
            out.extend(view.key.to_le_bytes());
            out.extend(view.view.x_256.to_le_bytes());
            out.extend(view.view.z_256.to_le_bytes());
            out.extend((view.nodes.len() as u32).to_le_bytes());
            for (n, samples) in view.nodes.iter().zip(view.samples.chunks(PATCH_SAMPLES)) {
                out.extend(n.x.to_le_bytes());
                out.extend(n.z.to_le_bytes());
                out.extend([n.level, n.quarter_mask, u8::from(n.has_holes), 0]);
                out.extend(samples.iter().flat_map(|q| q.to_le_bytes()));
            }
        }
        for (n, words) in self.hole_nodes.iter().zip(self.hole_words.chunks(MASK_WORDS)) {
            out.extend(n.iter().chain(words).flat_map(|v| v.to_le_bytes()));
        }
        let checksum = blake3::hash(&out);
        out.extend(checksum.as_bytes());
        out
    }

    /// A receipt from its bytes.
    ///
    /// # Errors
    /// [`ReceiptError::Malformed`] with what was expected and found, and where.
    pub fn decode(bytes: &[u8]) -> Result<Self, ReceiptError> {
        let wrong = |what: &str| ReceiptError::Malformed(what.to_owned());
        let body = bytes.len().checked_sub(CHECKSUM_BYTES).ok_or_else(|| wrong("it is too short"))?;
        let (body, checksum) = bytes.split_at(body);
        let mut from = Reader { bytes: body, at: 0 };
        if from.array::<8>()? != MAGIC {
            return Err(wrong("expected a receipt's magic bytes at byte 0"));
        }
        let version = from.u32()?;
        if version != VERSION {
            return Err(ReceiptError::Malformed(format!(
                "expected version {VERSION} at byte 8, found {version}"
            )));
        }
        if blake3::hash(body).as_bytes() != checksum {
            return Err(wrong("its checksum is wrong"));
        }
        let frame = u64::from_le_bytes(from.array()?);
        let digest = from.array()?;
        let config = TerrainConfig::new([2, 2], 1);
        let (config, window, bands) = from.config(config)?;
        let mut all = Vec::with_capacity(bands);
        for _ in 0..bands {
            all.push(Band { range: from.u32()?, start: from.u32()?, end: from.u32()? });
        }
        let ranges =
            Ranges::new(config.spacing_256, all).map_err(|e| ReceiptError::Malformed(e.to_string()))?;
        let (views, holes) = (from.u32()?, from.u32()?);
        from.room(views, VIEW_BYTES)?;
        let views = (0..views).map(|_| from.view()).collect::<Result<Vec<_>, _>>()?;
        from.room(holes, HOLE_BYTES)?;
        let (mut hole_nodes, mut hole_words) = (Vec::new(), Vec::new());
        for _ in 0..holes {
            hole_nodes.push([from.u32()?, from.u32()?]);
            for _ in 0..MASK_WORDS {
                hole_words.push(from.u32()?);
            }
        }
        if from.at != body.len() {
            return Err(ReceiptError::Malformed(format!("expected its end at byte {}, found more", from.at)));
        }
        Self { frame, digest, config, window, ranges, views, hole_nodes, hole_words }.finish()
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], ReceiptError> {
        let found = self.bytes[self.at..].first_chunk().copied();
        let found = found.ok_or_else(|| {
            ReceiptError::Malformed(format!("expected {N} more bytes at byte {}, found its end", self.at))
        })?;
        self.at += N;
        Ok(found)
    }

    fn u32(&mut self) -> Result<u32, ReceiptError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn i32(&mut self) -> Result<i32, ReceiptError> {
        Ok(i32::from_le_bytes(self.array()?))
    }

    /// Refuses a count that there are not the bytes for.
    fn room(&self, count: u32, each: usize) -> Result<(), ReceiptError> {
        let left = (self.bytes.len() - self.at) as u64;
        if u64::from(count) * each as u64 > left {
            let why =
                format!("{count} entries of {each} bytes do not fit into the {left} from byte {}", self.at);
            return Err(ReceiptError::Malformed(why));
        }
        Ok(())
    }

    fn config(&mut self, base: TerrainConfig) -> Result<(TerrainConfig, CellRect, usize), ReceiptError> {
        let (samples, spacing_256) = ([self.u32()?, self.u32()?], self.u32()?);
        let mut rect = || {
            Ok::<_, ReceiptError>(CellRect {
                x0: self.i32()?,
                z0: self.i32()?,
                x1: self.i32()?,
                z1: self.i32()?,
            })
        };
        let (extent, window) = (rect()?, rect()?);
        let placement = Placement { x: self.i32()?, z: self.i32()?, y: self.i32()? };
        let [quantum, diagonal, bands, zero] = self.array()?;
        let wrong = |what: String| ReceiptError::Malformed(format!("{what} before byte {}", self.at));
        let quantum = QuantumLog2::try_from(quantum).map_err(wrong)?;
        let diagonal = match diagonal {
            0 => Diagonal::Main,
            1 => Diagonal::Anti,
            2 => Diagonal::Checkerboard,
            other => return Err(wrong(format!("expected a diagonal of 0, 1 or 2, found {other}"))),
        };
        if zero != 0 {
            return Err(wrong(format!("expected 0, found {zero}")));
        }
        let config = TerrainConfig { samples, spacing_256, quantum, diagonal, extent, placement, ..base };
        config.check().map_err(|e| ReceiptError::Malformed(e.to_string()))?;
        Ok((config, window, usize::from(bands)))
    }

    fn view(&mut self) -> Result<DrawnView, ReceiptError> {
        let key = u64::from_le_bytes(self.array()?);
        let [x_256, z_256] = [i64::from_le_bytes(self.array()?), i64::from_le_bytes(self.array()?)];
        // What a query position can be, and as much again for a placement.
        if x_256.unsigned_abs().max(z_256.unsigned_abs()) > 1 << 34 {
            return Err(ReceiptError::Malformed(format!(
                "expected a view within 2^34/256 m, found {x_256},{z_256}"
            )));
        }
        let count = self.u32()?;
        self.room(count, NODE_BYTES)?;
        let mut nodes = Vec::with_capacity(count as usize);
        let mut samples = Vec::with_capacity(count as usize * PATCH_SAMPLES);
        for _ in 0..count {
            let (x, z) = (u16::from_le_bytes(self.array()?), u16::from_le_bytes(self.array()?));
            let [level, quarter_mask, holes, zero] = self.array()?;
            if holes > 1 || zero != 0 {
                let why = format!("expected a flag and 0 before byte {}, found {holes} and {zero}", self.at);
                return Err(ReceiptError::Malformed(why));
            }
            nodes.push(Node { level, z, x, quarter_mask, has_holes: holes == 1 });
            for _ in 0..PATCH_SAMPLES {
                samples.push(self.u32()?);
            }
        }
        Ok(DrawnView { key, view: View { x_256, z_256 }, nodes, neighbours: Vec::new(), samples })
    }
}
