//! A block source that answers late, in another order every time, and fails where it is told to.

use highground_terrain::config::TerrainConfig;
use highground_terrain::content::{Catalogue, PhysicalMaterial};
use highground_terrain::coord::{BlockPos, BlockSide};
use highground_terrain::store::{BlockError, BlockSource};
use highground_terrain::surface::{Block, PlaneChoice};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How a block fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// This many reads fail with an input/output error, later ones succeed.
    Io(u32),
    /// Every read finds wrong contents.
    Corrupt,
}

/// Wraps another source.
pub struct SlowStore {
    inner: Arc<dyn BlockSource>,
    max_delay_us: u64,
    random: Mutex<u64>,
    faults: Mutex<BTreeMap<BlockPos, Fault>>,
    order: Mutex<Vec<BlockPos>>,
}

impl SlowStore {
    /// Every read takes up to `max_delay_us`, chosen from the seed.
    pub fn new(inner: Arc<dyn BlockSource>, seed: u64, max_delay_us: u64) -> Self {
        Self {
            inner,
            max_delay_us,
            random: Mutex::new(seed | 1),
            faults: Mutex::new(BTreeMap::new()),
            order: Mutex::new(Vec::new()),
        }
    }

    /// Makes a block fail.
    pub fn fail(&self, pos: BlockPos, fault: Fault) {
        self.faults.lock().expect("not poisoned").insert(pos, fault);
    }

    /// The order in which reads finished so far.
    pub fn order(&self) -> Vec<BlockPos> {
        self.order.lock().expect("not poisoned").clone()
    }

    fn delay(&self) -> Duration {
        let mut state = self.random.lock().expect("not poisoned");
        // xorshift64
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        Duration::from_micros(if self.max_delay_us == 0 { 0 } else { *state % self.max_delay_us })
    }
}

impl BlockSource for SlowStore {
    fn config(&self) -> &TerrainConfig {
        self.inner.config()
    }

    fn block_side(&self) -> BlockSide {
        self.inner.block_side()
    }

    fn digest(&self) -> [u8; 32] {
        self.inner.digest()
    }

    fn height_range(&self) -> Option<(i32, i32)> {
        self.inner.height_range()
    }

    fn catalogue(&self) -> &Catalogue {
        self.inner.catalogue()
    }

    fn materials(&self) -> &[PhysicalMaterial] {
        self.inner.materials()
    }

    fn read_materials(&self, pos: BlockPos) -> Result<Option<Vec<u8>>, BlockError> {
        self.inner.read_materials(pos)
    }

    fn read_block(&self, pos: BlockPos) -> Result<Block, BlockError> {
        self.read_block_with(pos, PlaneChoice::NONE)
    }

    fn read_block_with(&self, pos: BlockPos, planes: PlaneChoice) -> Result<Block, BlockError> {
        std::thread::sleep(self.delay());
        let fault = {
            let mut faults = self.faults.lock().expect("not poisoned");
            match faults.get_mut(&pos) {
                Some(Fault::Io(0)) | None => None,
                Some(Fault::Io(left)) => {
                    *left -= 1;
                    Some(BlockError { pos, reason: "input/output error (injected)".into(), retryable: true })
                }
                Some(Fault::Corrupt) => Some(BlockError {
                    pos,
                    reason: "checksum does not match (injected)".into(),
                    retryable: false,
                }),
            }
        };
        let result = match fault {
            Some(error) => Err(error),
            None => self.inner.read_block_with(pos, planes),
        };
        self.order.lock().expect("not poisoned").push(pos);
        result
    }
}
