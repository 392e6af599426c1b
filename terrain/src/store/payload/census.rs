//! What the directory says without a block being read: single records, and counts over the whole file.

use super::{Inner, PayloadFile};
use crate::coord::BlockPos;
use crate::format::payload::Compression;
use crate::height::VOID;
use crate::state::DataState;
use crate::store::BlockError;

/// What the directory says of a block of level 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRecord {
    /// Valid or Empty.
    pub state: DataState,
    /// Void samples on the map.
    pub void_samples: u32,
    /// Cells inside the valid extent with a triangle removed.
    pub hole_cells: u32,
    /// Lowest and highest sample in quanta; `None` when all are void.
    pub range: Option<(i32, i32)>,
}

/// Counts over the whole directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Blocks of level 0 that are recorded as Valid.
    pub valid: u64,
    /// Blocks of level 0 that are recorded as Empty.
    pub empty: u64,
    /// Blocks of level 0 whose directory page cannot be read.
    pub failed: u64,
    /// Bytes of bodies of all levels that are stored as they are.
    pub plain_bytes: u64,
    /// Bytes of bodies of all levels that are stored as deflate, as they are stored.
    pub deflate_bytes: u64,
}

impl PayloadFile {
    /// What the directory says of a block of level 0, without reading the block.
    ///
    /// # Errors
    /// A position beyond the map, or a directory page that cannot be read.
    pub fn block_record(&self, pos: BlockPos) -> Result<BlockRecord, BlockError> {
        let record = |state, void_samples, hole_cells, (min, max)| BlockRecord {
            state,
            void_samples,
            hole_cells,
            range: (max != VOID).then_some((min, max)),
        };
        match &self.inner {
            Inner::V1(f) => {
                let e = f.entry(pos)?;
                Ok(record(e.state, e.void_samples, e.hole_cells, (e.min, e.max)))
            }
            Inner::V2(f) => {
                let e = f.entry(0, pos)?;
                Ok(record(e.state, e.void_samples, e.hole_cells, (e.min, e.max)))
            }
        }
    }

    /// Counts over the whole directory, one page at a time. A page that cannot be read makes its blocks Failed.
    pub fn census(&self) -> Census {
        let mut c = Census::default();
        let mut count = |state, blocks: u64| match state {
            DataState::Valid => c.valid += blocks,
            DataState::Empty => c.empty += blocks,
            _ => c.failed += blocks,
        };
        match &self.inner {
            Inner::V1(f) => {
                let mut bytes = 0;
                for e in f.entries() {
                    count(e.state, 1);
                    bytes += u64::from(e.length);
                }
                c.plain_bytes = bytes;
            }
            Inner::V2(f) => {
                let (mut plain, mut deflate) = (0, 0);
                for page in 0..f.layout().pages() {
                    let (level, _, [w, h]) = f.layout().page_blocks(page);
                    let Ok(entries) = f.page(page) else {
                        if level == 0 {
                            count(DataState::Failed, u64::from(w) * u64::from(h));
                        }
                        continue;
                    };
                    for e in entries.iter() {
                        if level == 0 {
                            count(e.state, 1);
                        }
                        for s in &e.slots {
                            let sum =
                                if s.compression == Compression::None { &mut plain } else { &mut deflate };
                            *sum += u64::from(s.length);
                        }
                    }
                }
                (c.plain_bytes, c.deflate_bytes) = (plain, deflate);
            }
        }
        c
    }
}
