//! The digest of canonical content that version 1 kept.
//!
//! blake3 over a domain tag, the configuration's canonical bytes, the layer names, and the digests of the row-major
//! heights (i32 little-endian, `i32::MIN` for voids), masks (one byte a cell) and weights (three bytes a texel).

use crate::config::TerrainConfig;
use crate::kernel::weight_mip::HdTexel;

/// Collects rows in order; any number of rows a call.
#[derive(Clone, Debug)]
pub struct ContentDigest {
    heights: blake3::Hasher,
    mask: blake3::Hasher,
    weights: blake3::Hasher,
    buffer: Vec<u8>,
}

impl Default for ContentDigest {
    fn default() -> Self {
        Self::new()
    }
}

impl ContentDigest {
    /// Nothing yet.
    pub fn new() -> Self {
        let h = blake3::Hasher::new;
        Self { heights: h(), mask: h(), weights: h(), buffer: Vec::new() }
    }

    /// The next heights, row-major over the whole map.
    pub fn heights(&mut self, quanta: &[i32]) {
        self.buffer.clear();
        self.buffer.extend(quanta.iter().flat_map(|q| q.to_le_bytes()));
        self.heights.update(&self.buffer);
    }

    /// The next cell masks, row-major over the whole map.
    pub fn mask(&mut self, mask: &[u8]) {
        self.mask.update(mask);
    }

    /// The next weight texels, row-major over the whole map.
    pub fn weights(&mut self, texels: &[HdTexel]) {
        self.buffer.clear();
        self.buffer.extend(texels.iter().flat_map(|t| [t.id1, t.id2, t.ratio]));
        self.weights.update(&self.buffer);
    }

    /// The digest of everything.
    pub fn finish(&self, config: &TerrainConfig, layers: &[String]) -> [u8; 32] {
        let mut all = blake3::Hasher::new();
        all.update(b"highground terrain content 1\0");
        all.update(&config.canonical_bytes());
        all.update(&(layers.len() as u32).to_le_bytes());
        for name in layers {
            all.update(&(name.len() as u32).to_le_bytes());
            all.update(name.as_bytes());
        }
        for part in [&self.heights, &self.mask, &self.weights] {
            all.update(part.finalize().as_bytes());
        }
        *all.finalize().as_bytes()
    }
}
