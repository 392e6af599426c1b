//! The digest of canonical content: the same on every machine, for any block side, layout, compression or thread count.
//!
//! blake3 over a domain tag, the configuration's canonical bytes, the catalogue's text, and the digests of the row-major
//! heights (i32 little-endian, `i32::MIN` for voids), masks (one byte a cell) and of every plane that is not 0
//! everywhere, with its section and index. What is derived is not part of it.

use super::payload::Section;
use crate::config::TerrainConfig;
use crate::content::{Catalogue, PlaneKind};
use crate::store::Raster;

/// Collects rows in order; any number of rows a call.
#[derive(Clone, Debug)]
pub struct ContentDigest {
    heights: blake3::Hasher,
    mask: blake3::Hasher,
    planes: Vec<PlaneDigest>,
    buffer: Vec<u8>,
}

#[derive(Clone, Debug)]
struct PlaneDigest {
    kind: PlaneKind,
    hasher: blake3::Hasher,
    /// Zeros that were not hashed yet: a plane of zeros is never hashed.
    zeros: u64,
    used: bool,
}

impl ContentDigest {
    /// Nothing yet, of a terrain with these planes.
    pub fn new(kinds: &[PlaneKind]) -> Self {
        let plane =
            |&kind: &PlaneKind| PlaneDigest { kind, hasher: blake3::Hasher::new(), zeros: 0, used: false };
        let planes = kinds.iter().map(plane).collect();
        Self { heights: blake3::Hasher::new(), mask: blake3::Hasher::new(), planes, buffer: Vec::new() }
    }

    /// The next heights, row-major over the whole map.
    pub fn heights(&mut self, quanta: &[i32]) {
        #[cfg(target_endian = "little")]
        self.heights.update(bytemuck::cast_slice(quanta));
        #[cfg(not(target_endian = "little"))]
        {
            self.buffer.clear();
            self.buffer.extend(quanta.iter().flat_map(|q| q.to_le_bytes()));
            self.heights.update(&self.buffer);
        }
    }

    /// The next cell masks, row-major over the whole map.
    pub fn mask(&mut self, mask: &[u8]) {
        self.mask.update(mask);
    }

    /// The next values of the plane with this index in the list of kinds, row-major over the whole map.
    pub fn plane(&mut self, index: usize, values: &[u8]) {
        let p = &mut self.planes[index];
        if values.iter().all(|&b| b == 0) {
            p.zeros += values.len() as u64;
            return;
        }
        p.used = true;
        p.flush(&mut self.buffer);
        p.hasher.update(values);
    }

    /// The planes that are not 0 everywhere, so far.
    pub fn used(&self) -> Vec<PlaneKind> {
        self.planes.iter().filter(|p| p.used).map(|p| p.kind).collect()
    }

    /// The digest of everything.
    pub fn finish(mut self, config: &TerrainConfig, catalogue: &Catalogue) -> [u8; 32] {
        let mut all = blake3::Hasher::new();
        all.update(b"highground terrain content 2\0");
        all.update(&config.canonical_bytes());
        let text = catalogue.to_json();
        all.update(&(text.len() as u64).to_le_bytes());
        all.update(text.as_bytes());
        all.update(self.heights.finalize().as_bytes());
        all.update(self.mask.finalize().as_bytes());
        for p in self.planes.iter_mut().filter(|p| p.used) {
            p.flush(&mut self.buffer);
            let (section, index) = Section::of_plane(p.kind);
            all.update(&section.code().to_le_bytes());
            all.update(&[index]);
            all.update(p.hasher.finalize().as_bytes());
        }
        *all.finalize().as_bytes()
    }
}

impl PlaneDigest {
    /// Hashes the zeros that wait.
    fn flush(&mut self, buffer: &mut Vec<u8>) {
        const CHUNK: u64 = 1 << 16;
        buffer.clear();
        buffer.resize(self.zeros.min(CHUNK) as usize, 0);
        while self.zeros > 0 {
            let n = self.zeros.min(CHUNK);
            self.hasher.update(&buffer[..n as usize]);
            self.zeros -= n;
        }
    }
}

/// The digest of a whole raster.
pub fn of_raster(raster: &Raster) -> [u8; 32] {
    let kinds: Vec<PlaneKind> = raster.planes.iter().map(|p| p.kind).collect();
    let mut d = ContentDigest::new(&kinds);
    d.heights(&raster.heights);
    d.mask(&raster.mask);
    for (i, p) in raster.planes.iter().enumerate() {
        d.plane(i, &p.values);
    }
    d.finish(&raster.config, &raster.catalogue)
}
