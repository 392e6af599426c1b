//! Blocks of a payload as they are needed, three rows of them at a time.

use highground_terrain::coord::{BlockPos, BlockSide, SamplePos};
use highground_terrain::store::{BlockContent, BlockError, BlockSource, PayloadFile};
use std::collections::BTreeMap;

/// Blocks that were read and are still held; `None` for those that could not be read.
pub(super) struct Blocks<'a> {
    file: &'a PayloadFile,
    side: BlockSide,
    held: BTreeMap<(i32, i32), Option<BlockContent>>,
    /// How many blocks could not be read, and why the first could not.
    pub(super) failed: (u64, Option<BlockError>),
}

impl<'a> Blocks<'a> {
    pub(super) fn new(file: &'a PayloadFile) -> Self {
        Self { file, side: file.block_side(), held: BTreeMap::new(), failed: (0, None) }
    }

    /// Lets go of the rows of blocks before `z`. Rows come in order.
    pub(super) fn forget_before(&mut self, z: i32) {
        self.held = self.held.split_off(&(z, i32::MIN));
    }

    /// Reads a block unless it is held or beyond the map.
    pub(super) fn load(&mut self, pos: BlockPos) {
        let key = (pos.z, pos.x);
        if self.held.contains_key(&key) || !self.file.config().has_block(self.side, pos) {
            return;
        }
        let content = match self.file.read_content(pos) {
            Ok(content) => Some(content),
            Err(e) => {
                self.failed.0 += 1;
                self.failed.1.get_or_insert(e);
                None
            }
        };
        self.held.insert(key, content);
    }

    /// A block that was loaded and could be read.
    pub(super) fn get(&self, pos: BlockPos) -> Option<&BlockContent> {
        self.held.get(&(pos.z, pos.x))?.as_ref()
    }

    /// The raw quanta of a sample of the map whose block was loaded; `None` where that could not be read.
    pub(super) fn quanta(&self, x: i32, z: i32) -> Option<i32> {
        let sample = SamplePos::new(x, z);
        let pos = self.side.block_of_sample(sample);
        let first = self.side.first_sample(pos);
        let at = (z - first.z) * self.side.samples() + x - first.x;
        self.get(pos)?.heights.get(at as usize).copied()
    }
}
