//! A sidecar as bytes, and every check of bytes that come from outside.

use super::{CHECKSUM_BYTES, MAGIC, NODE_WORDS, NodeKey, PREFIX_BYTES, RECORD_BYTES, Sidecar, VERSION};
use crate::config::{Diagonal, MAX_SAMPLES, TerrainConfig};
use crate::coord::CellRect;
use crate::format::FormatError;
use crate::kernel::pyramid::{NODE_CELLS, levels, nodes};

const DIAGONALS: [Diagonal; 3] = [Diagonal::Main, Diagonal::Anti, Diagonal::Checkerboard];

/// The most bytes that the sidecar of a terrain can have: a record and its words for every node of every level.
pub fn most_bytes(config: &TerrainConfig) -> u64 {
    let cells = config.samples.map(|n| n - 1);
    let count = |level| {
        let [w, h] = nodes(cells, level);
        u64::from(w) * u64::from(h)
    };
    let all: u64 = (0..levels(cells)).map(count).sum();
    (PREFIX_BYTES + CHECKSUM_BYTES) as u64 + all * (RECORD_BYTES + 4 * NODE_WORDS) as u64
}

impl Sidecar {
    /// Its bytes, checksum included.
    pub fn encode(&self) -> Vec<u8> {
        let length = PREFIX_BYTES + self.nodes.len() * RECORD_BYTES + self.words.len() * 4 + CHECKSUM_BYTES;
        let mut out = Vec::with_capacity(length);
        out.extend(MAGIC);
        let diagonal = DIAGONALS.iter().position(|d| *d == self.diagonal).unwrap_or(0) as u32;
        let [w, h] = self.samples;
        let e = self.extent;
        // A terrain has fewer than 2²⁵ nodes, so fewer than 2³¹ words.
        let counts = [self.nodes.len() as u32, self.words.len() as u32];
        let extent = [e.x0, e.z0, e.x1, e.z1].map(|v| v as u32);
        for v in [VERSION, 0, diagonal, w, h].into_iter().chain(extent).chain(counts) {
            out.extend(v.to_le_bytes());
        }
        out.extend(self.digest);
        for (i, n) in self.nodes.iter().enumerate() {
            for v in [n.level, n.x, n.z, NODE_CELLS << n.level, (i * NODE_WORDS) as u32] {
                out.extend(v.to_le_bytes());
            }
        }
        out.extend(self.words.iter().flat_map(|w| w.to_le_bytes()));
        let checksum = blake3::hash(&out);
        out.extend(checksum.as_bytes());
        out
    }

    /// Reads bytes. Whether they belong to a payload is another question: see [`Sidecar::decode_for`].
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        let found = bytes.len();
        if found < PREFIX_BYTES + CHECKSUM_BYTES {
            let expected = format!("at least {} bytes", PREFIX_BYTES + CHECKSUM_BYTES);
            return Err(FormatError::new(0, "sidecar length", expected, found));
        }
        if bytes[..8] != MAGIC {
            return Err(FormatError::new(0, "magic", hex(&MAGIC), hex(&bytes[..8])));
        }
        for (at, field, expected) in [(8, "version", VERSION), (12, "flags", 0)] {
            if u32_at(bytes, at) != expected {
                return Err(FormatError::new(at as u64, field, expected, u32_at(bytes, at)));
            }
        }
        let [records, words] = [44, 48].map(|at| u64::from(u32_at(bytes, at)));
        if words != records * NODE_WORDS as u64 {
            return Err(FormatError::new(
                48,
                "words",
                format!("{NODE_WORDS} for each of {records} records"),
                words,
            ));
        }
        let length = (PREFIX_BYTES + CHECKSUM_BYTES) as u64 + records * RECORD_BYTES as u64 + words * 4;
        if found as u64 != length {
            let expected = format!("{length} bytes for {records} records and {words} words");
            return Err(FormatError::new(44, "sidecar length", expected, found));
        }
        let (body, sum) = bytes.split_at(found - CHECKSUM_BYTES);
        let checksum = blake3::hash(body);
        if sum != checksum.as_bytes() {
            return Err(FormatError::new(body.len() as u64, "checksum", checksum.to_hex(), hex(sum)));
        }
        let (diagonal, samples, extent) = decode_terrain(body)?;
        let (records, words) = body[PREFIX_BYTES..].split_at(records as usize * RECORD_BYTES);
        let nodes = decode_records(records, samples.map(|s| s - 1))?;
        let words = words.chunks_exact(4).map(|w| u32_at(w, 0)).collect();
        Ok(Self { diagonal, samples, extent, digest: array(body, 52), nodes, words })
    }

    /// Reads the sidecar of a payload with this configuration and content digest.
    ///
    /// # Errors
    /// As [`Sidecar::decode`], and a sidecar of another payload.
    pub fn decode_for(bytes: &[u8], config: &TerrainConfig, digest: &[u8; 32]) -> Result<Self, FormatError> {
        let sidecar = Self::decode(bytes)?;
        sidecar.check_pair(config, digest)?;
        Ok(sidecar)
    }

    /// Whether it belongs to a payload with this configuration and content digest.
    ///
    /// # Errors
    /// What differs.
    pub fn check_pair(&self, config: &TerrainConfig, digest: &[u8; 32]) -> Result<(), FormatError> {
        if self.diagonal != config.diagonal {
            let payload = format!("{}, as the payload", config.diagonal.name());
            return Err(FormatError::new(16, "diagonal", payload, self.diagonal.name()));
        }
        let wrong = |at, field, payload: String, found: String| {
            Err(FormatError::new(at, field, format!("{payload}, as the payload"), found))
        };
        if self.samples != config.samples {
            return wrong(20, "samples", format!("{:?}", config.samples), format!("{:?}", self.samples));
        }
        if self.extent != config.extent {
            return wrong(28, "extent", format!("{:?}", config.extent), format!("{:?}", self.extent));
        }
        if self.digest != *digest {
            return wrong(52, "content digest", hex(digest), hex(&self.digest));
        }
        Ok(())
    }
}

fn decode_terrain(body: &[u8]) -> Result<(Diagonal, [u32; 2], CellRect), FormatError> {
    let Some(&diagonal) = DIAGONALS.get(usize::from(body[16])) else {
        return Err(FormatError::new(16, "diagonal", "0 (main), 1 (anti) or 2 (checkerboard)", body[16]));
    };
    if body[17..20] != [0; 3] {
        return Err(FormatError::new(17, "reserved bytes", "zeros", hex(&body[17..20])));
    }
    let samples = [20, 24].map(|at| u32_at(body, at));
    if samples.iter().any(|s| !(2..=MAX_SAMPLES).contains(s)) {
        let expected = format!("2 to {MAX_SAMPLES} a side");
        return Err(FormatError::new(20, "samples", expected, format!("{}x{}", samples[0], samples[1])));
    }
    let [x0, z0, x1, z1] = [28, 32, 36, 40].map(|at| u32_at(body, at) as i32);
    let extent = CellRect { x0, z0, x1, z1 };
    let config = TerrainConfig { diagonal, extent, ..TerrainConfig::new(samples, 1) };
    if config.check().is_err() {
        let expected = format!("a non-empty rectangle inside {}x{} cells", samples[0] - 1, samples[1] - 1);
        return Err(FormatError::new(28, "extent", expected, format!("{extent:?}")));
    }
    Ok((diagonal, samples, extent))
}

fn decode_records(records: &[u8], cells: [u32; 2]) -> Result<Vec<NodeKey>, FormatError> {
    let mut all: Vec<NodeKey> = Vec::with_capacity(records.len() / RECORD_BYTES);
    for (i, record) in records.chunks_exact(RECORD_BYTES).enumerate() {
        let at = (PREFIX_BYTES + i * RECORD_BYTES) as u64;
        let [level, x, z, span, first] = [0, 4, 8, 12, 16].map(|at| u32_at(record, at));
        if level >= levels(cells) {
            return Err(FormatError::new(at, "node level", format!("below {}", levels(cells)), level));
        }
        let [w, h] = nodes(cells, level);
        if x >= w || z >= h {
            let expected = format!("one of {w}x{h} nodes of level {level}");
            return Err(FormatError::new(at + 4, "node", expected, format!("({x}, {z})")));
        }
        if span != NODE_CELLS << level {
            return Err(FormatError::new(at + 12, "node span", NODE_CELLS << level, span));
        }
        if u64::from(first) != (i * NODE_WORDS) as u64 {
            return Err(FormatError::new(at + 16, "first word", i * NODE_WORDS, first));
        }
        let node = NodeKey { level, z, x };
        if let Some(before) = all.last().filter(|before| **before >= node) {
            let expected = format!("a node after ({}, {}) of level {}", before.x, before.z, before.level);
            return Err(FormatError::new(at, "node order", expected, format!("({x}, {z}) of level {level}")));
        }
        all.push(node);
    }
    Ok(all)
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[at..at + N]);
    out
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array(bytes, at))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
