//! A payload of version 1: header and directory when it is opened, then one block at a time.

use super::{BlockContent, PayloadError, PayloadInfo, Positioned};
use crate::content::{Catalogue, Layer, PlaneKind};
use crate::coord::BlockPos;
use crate::format::payload::{Losses, Totals};
use crate::format::payload_v1::{
    BlockShape, Directory, Entry, Header, PREFIX_BYTES, Prefix, decode_block, directory_bytes,
};
use crate::state::DataState;
use crate::store::BlockError;
use crate::surface::Block;
use std::io;

/// An open payload of version 1.
#[derive(Debug)]
pub(crate) struct PayloadV1 {
    file: Positioned,
    header: Header,
    directory: Directory,
}

impl PayloadV1 {
    /// Reads and checks header and directory, and no block.
    pub(super) fn open(file: Positioned, file_bytes: u64) -> Result<Self, PayloadError> {
        let mut bytes = vec![0; file_bytes.min(PREFIX_BYTES as u64) as usize];
        file.read_at(&mut bytes, 0)?;
        let prefix = Prefix::decode(&bytes, file_bytes)?;
        bytes.resize(prefix.header_bytes, 0);
        file.read_at(&mut bytes, 0)?;
        let header = Header::decode(&bytes, file_bytes)?;
        // The header has checked that the directory lies inside the file, so this is no more than the file holds.
        let mut bytes = vec![0; directory_bytes(&header.config, header.side) as usize];
        file.read_at(&mut bytes, prefix.header_bytes as u64)?;
        let directory = Directory::decode(&bytes, prefix.header_bytes as u64, &header)?;
        Ok(Self { file, header, directory })
    }

    pub(super) fn info(&self) -> PayloadInfo {
        let h = &self.header;
        let (void_samples, hole_cells, range) = self.directory.totals();
        let layers = h.layers.iter().map(|n| Layer::named(n)).collect();
        PayloadInfo {
            version: 1,
            config: h.config,
            side: h.side,
            digest: h.digest,
            rounding_m: h.rounding_m,
            losses: Losses::default(),
            totals: Totals { void_samples, hole_cells, range },
            catalogue: Catalogue { layers, ..Catalogue::default() },
            origin: h.origin.clone(),
            sections: Vec::new(),
            file_bytes: h.file_bytes,
        }
    }

    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    pub(super) fn entries(&self) -> &[Entry] {
        self.directory.entries()
    }

    /// The entry of a block, as a block's error beyond the map.
    pub(super) fn entry(&self, pos: BlockPos) -> Result<&Entry, BlockError> {
        let missing = || BlockError { pos, reason: "is not on the map".into(), retryable: false };
        self.directory.get(pos).ok_or_else(missing)
    }

    pub(super) fn recorded_state(&self, pos: BlockPos) -> DataState {
        self.directory.get(pos).map_or(DataState::OutOfRange, |e| e.state)
    }

    pub(super) fn span(&self, pos: BlockPos) -> Option<std::ops::Range<u64>> {
        let e = self.directory.get(pos)?;
        (e.length > 0).then(|| e.offset..e.offset + u64::from(e.length))
    }

    pub(super) fn read_content(&self, pos: BlockPos) -> Result<BlockContent, BlockError> {
        let block = self.read_block(pos)?;
        let mut planes = Vec::new();
        if let Some(texels) = block.weights() {
            for id in 0..self.header.layers.len() as u8 {
                let values: Vec<u8> =
                    texels.iter().map(|t| crate::store::raster::hd_weight(*t, id)).collect();
                if values.iter().any(|&v| v != 0) {
                    planes.push((PlaneKind::Weight(id), values));
                }
            }
        }
        // Texels beyond the map are layer 0 wholly in this version; in planes there is nothing beyond the map.
        let shape = crate::format::payload::BlockShape::new(&self.header.config, self.header.side, 0, pos);
        let [w, h] = shape.inside(crate::content::Lattice::Paint);
        let n = shape.n() * usize::from(self.header.config.paint_per_cell);
        for (_, values) in &mut planes {
            for (z, row) in values.chunks_exact_mut(n).enumerate() {
                row[if z < h { w } else { 0 }..].fill(0);
            }
        }
        Ok(BlockContent { heights: block.heights().to_vec(), mask: block.mask().to_vec(), planes })
    }

    pub(crate) fn read_block(&self, pos: BlockPos) -> Result<Block, BlockError> {
        let entry = self.entry(pos)?;
        let mut body = vec![0; entry.length as usize];
        self.file.read_at(&mut body, entry.offset).map_err(|e| BlockError {
            pos,
            reason: format!("{} bytes at byte {} cannot be read: {e}", entry.length, entry.offset),
            // A file that has become shorter stays so; anything else may pass.
            retryable: e.kind() != io::ErrorKind::UnexpectedEof,
        })?;
        decode_block(&body, entry, &BlockShape::of(&self.header, pos)).map_err(|e| BlockError {
            pos,
            reason: e.to_string(),
            retryable: false,
        })
    }
}
