//! Decoded blocks that somebody needs, counted by need, with a byte budget for those that nobody needs any more; and
//! blocks that were changed here, which win over the source for as long as this lives.

use super::{Loaded, Loader, ReadBlock};
use crate::collide::BlockMaterials;
use crate::coord::BlockPos;
use crate::state::DataState;
use crate::store::{BlockError, BlockSource};
use crate::surface::Block;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

#[derive(Debug)]
enum Data {
    Pending,
    Ready(Arc<ReadBlock>),
    Failed(BlockError),
}

#[derive(Debug)]
struct Entry {
    users: u32,
    data: Data,
}

/// What the data layer holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataStats {
    /// Blocks that somebody needs, in any state.
    pub needed: usize,
    /// Bytes of the needed blocks that are here.
    pub needed_bytes: usize,
    /// Blocks kept though nobody needs them.
    pub cached: usize,
    /// Bytes of those, at most the budget.
    pub cached_bytes: usize,
    /// Blocks that were changed, needed or not. They are never given up.
    pub changed: usize,
    /// Bytes of those; of the needed ones among them counted there too.
    pub changed_bytes: usize,
}

/// Blocks by position: acquired, read in the background, released.
#[derive(Debug)]
pub struct BlockData {
    source: Arc<dyn BlockSource>,
    loader: Loader,
    entries: BTreeMap<BlockPos, Entry>,
    /// Reads in flight whose block nobody needs any more: how many of them, by position.
    abandoned: BTreeMap<BlockPos, u32>,
    changed: BTreeMap<BlockPos, Arc<ReadBlock>>,
    changed_bytes: usize,
    cache: BTreeMap<BlockPos, Arc<ReadBlock>>,
    /// Oldest first.
    cache_order: VecDeque<BlockPos>,
    cached_bytes: usize,
    needed_bytes: usize,
    budget_bytes: usize,
}

impl std::fmt::Debug for dyn BlockSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BlockSource")
    }
}

impl BlockData {
    /// Reads from `source` on `threads` threads; released blocks are kept up to `budget_bytes`, oldest dropped first.
    ///
    /// # Errors
    /// When the operating system gives no thread.
    pub fn new(
        source: Arc<dyn BlockSource>,
        threads: usize,
        retries: u32,
        budget_bytes: usize,
    ) -> std::io::Result<Self> {
        Ok(Self {
            loader: Loader::new(source.clone(), threads, retries)?,
            source,
            entries: BTreeMap::new(),
            abandoned: BTreeMap::new(),
            changed: BTreeMap::new(),
            changed_bytes: 0,
            cache: BTreeMap::new(),
            cache_order: VecDeque::new(),
            cached_bytes: 0,
            needed_bytes: 0,
            budget_bytes,
        })
    }

    /// The terrain it reads.
    pub fn source(&self) -> &dyn BlockSource {
        &*self.source
    }

    /// What is known of a block.
    pub fn state(&self, pos: BlockPos) -> DataState {
        if !self.source.config().has_block(self.source.block_side(), pos) {
            return DataState::OutOfRange;
        }
        match self.entries.get(&pos).map(|e| &e.data) {
            None => DataState::Unknown,
            Some(Data::Pending) => DataState::Pending,
            Some(Data::Ready(read)) => read.block.state(),
            Some(Data::Failed(_)) => DataState::Failed,
        }
    }

    /// The block, if it is acquired and here.
    pub fn block(&self, pos: BlockPos) -> Option<&Block> {
        match &self.entries.get(&pos)?.data {
            Data::Ready(read) => Some(&read.block),
            _ => None,
        }
    }

    /// The materials of a block that is acquired and here; `None` too where all is material 0.
    pub fn materials(&self, pos: BlockPos) -> Option<&Arc<BlockMaterials>> {
        match &self.entries.get(&pos)?.data {
            Data::Ready(read) => read.materials.as_ref(),
            _ => None,
        }
    }

    /// Why an acquired block failed.
    pub fn error(&self, pos: BlockPos) -> Option<&BlockError> {
        match &self.entries.get(&pos)?.data {
            Data::Failed(error) => Some(error),
            _ => None,
        }
    }

    /// Says that a block is needed (once more), and starts reading it when it is not here.
    pub fn acquire(&mut self, pos: BlockPos) {
        if let Some(entry) = self.entries.get_mut(&pos) {
            entry.users += 1;
            return;
        }
        let data = if let Some(block) = self.changed.get(&pos) {
            self.needed_bytes += block.bytes();
            Data::Ready(block.clone())
        } else if let Some(block) = self.uncached(pos) {
            self.needed_bytes += block.bytes();
            Data::Ready(block)
        } else {
            // A read still in flight from before serves again.
            match self.abandoned.get_mut(&pos) {
                Some(1) => drop(self.abandoned.remove(&pos)),
                Some(n) => *n -= 1,
                None => self.loader.request(pos),
            }
            Data::Pending
        };
        self.entries.insert(pos, Entry { users: 1, data });
    }

    /// Says that a need has ended.
    ///
    /// # Panics
    /// When the block was not acquired.
    pub fn release(&mut self, pos: BlockPos) {
        let entry = self.entries.get_mut(&pos).expect("a released block was acquired");
        entry.users -= 1;
        if entry.users > 0 {
            return;
        }
        match self.entries.remove(&pos).map(|e| e.data) {
            Some(Data::Pending) => *self.abandoned.entry(pos).or_default() += 1,
            Some(Data::Ready(block)) => {
                self.needed_bytes -= block.bytes();
                if !self.changed.contains_key(&pos) {
                    self.keep(block);
                }
            }
            _ => {}
        }
    }

    /// Takes a block out of the cache.
    fn uncached(&mut self, pos: BlockPos) -> Option<Arc<ReadBlock>> {
        let block = self.cache.remove(&pos)?;
        self.cache_order.retain(|p| *p != pos);
        self.cached_bytes -= block.bytes();
        Some(block)
    }

    /// Puts a block in the place of the source's, from now on: it is never read again. Whoever needs it has it at once.
    pub fn change(&mut self, read: ReadBlock) {
        let (pos, read) = (read.block.pos(), Arc::new(read));
        self.uncached(pos);
        self.changed_bytes += read.bytes();
        if let Some(old) = self.changed.insert(pos, read.clone()) {
            self.changed_bytes -= old.bytes();
        }
        let Some(entry) = self.entries.get_mut(&pos) else { return };
        self.needed_bytes += read.bytes();
        match std::mem::replace(&mut entry.data, Data::Ready(read)) {
            // What is still being read is for nobody.
            Data::Pending => *self.abandoned.entry(pos).or_default() += 1,
            Data::Ready(old) => self.needed_bytes -= old.bytes(),
            Data::Failed(_) => {}
        }
    }

    /// Reads a failed block that is still needed again.
    pub fn retry(&mut self, pos: BlockPos) {
        if let Some(entry) = self.entries.get_mut(&pos)
            && matches!(entry.data, Data::Failed(_))
        {
            entry.data = Data::Pending;
            self.loader.request(pos);
        }
    }

    fn keep(&mut self, read: Arc<ReadBlock>) {
        self.cached_bytes += read.bytes();
        self.cache_order.push_back(read.block.pos());
        self.cache.insert(read.block.pos(), read);
        while self.cached_bytes > self.budget_bytes {
            let Some(oldest) = self.cache_order.pop_front() else { break };
            if let Some(block) = self.cache.remove(&oldest) {
                self.cached_bytes -= block.bytes();
            }
        }
    }

    fn take(&mut self, loaded: Loaded) {
        let Loaded { pos, result } = loaded;
        match self.abandoned.get_mut(&pos) {
            Some(1) => drop(self.abandoned.remove(&pos)),
            Some(n) => *n -= 1,
            None => {
                let Some(entry) = self.entries.get_mut(&pos) else { return };
                entry.data = match result {
                    Ok(block) => {
                        self.needed_bytes += block.bytes();
                        Data::Ready(block)
                    }
                    Err(error) => Data::Failed(error),
                };
            }
        }
    }

    /// Takes in every read that has finished, without waiting.
    pub fn poll(&mut self) {
        while let Some(loaded) = self.loader.try_next() {
            self.take(loaded);
        }
    }

    /// Waits until none of these blocks is Pending.
    pub fn wait_for(&mut self, wanted: impl Iterator<Item = BlockPos>) {
        for pos in wanted {
            while self.state(pos) == DataState::Pending {
                let loaded = self.loader.next();
                self.take(loaded);
            }
        }
    }

    /// What it holds.
    pub fn stats(&self) -> DataStats {
        DataStats {
            needed: self.entries.len(),
            needed_bytes: self.needed_bytes,
            cached: self.cache.len(),
            cached_bytes: self.cached_bytes,
            changed: self.changed.len(),
            changed_bytes: self.changed_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coord::BlockSide;
    use crate::store::MemoryTerrain;

    fn data(budget_bytes: usize) -> BlockData {
        let t = MemoryTerrain::from_fn([128, 128], BlockSide::S32, |_| {}, |x, z| f64::from(x + z));
        BlockData::new(t.shared(), 2, 0, budget_bytes).unwrap()
    }

    #[test]
    fn what_is_released_is_kept_up_to_the_budget() {
        let mut d = data(12_000);
        let all: Vec<_> = (0..16).map(|i| BlockPos::new(i % 4, i / 4)).collect();
        for &p in &all {
            assert_eq!(d.state(p), DataState::Unknown);
            d.acquire(p);
        }
        d.wait_for(all.iter().copied());
        assert!(all.iter().all(|&p| d.state(p) == DataState::Valid));
        for &p in &all {
            d.release(p);
        }
        let stats = d.stats();
        assert_eq!((stats.needed, stats.needed_bytes), (0, 0));
        assert_eq!(stats.cached, 2, "two blocks of about 5 KiB fit");
        assert!(stats.cached_bytes <= 12_000);
        // The last ones released are still here.
        d.acquire(all[15]);
        assert_eq!(d.state(all[15]), DataState::Valid);
    }

    #[test]
    fn a_changed_block_wins_over_the_source_whatever_became_of_it() {
        let flat = |p: BlockPos| {
            let n = 32 * 32;
            let block = Block::new(p, BlockSide::S32, vec![77; n].into(), vec![3; n].into(), None);
            ReadBlock { block, materials: None }
        };
        let height = |d: &BlockData, p| d.block(p).expect("here").heights()[5];
        let mut d = data(1 << 20);
        let [ready, pending, cached, unknown] = [0, 1, 2, 3].map(|x| BlockPos::new(x, 0));
        for p in [ready, cached] {
            d.acquire(p);
        }
        d.wait_for([ready, cached].into_iter());
        d.release(cached);
        d.acquire(pending);
        for p in [ready, pending, cached, unknown] {
            d.change(flat(p));
        }
        assert_eq!((height(&d, ready), height(&d, pending)), (77, 77));
        for p in [cached, unknown] {
            assert_eq!(d.state(p), DataState::Unknown);
            d.acquire(p);
            assert_eq!(height(&d, p), 77);
        }
        // The read in flight comes in and changes nothing.
        let other = BlockPos::new(3, 3);
        d.acquire(other);
        d.wait_for([other].into_iter());
        while !d.abandoned.is_empty() {
            d.poll();
        }
        assert_eq!(height(&d, pending), 77);
        let bytes = flat(ready).bytes();
        let now = d.stats();
        assert_eq!((now.needed, now.changed, now.changed_bytes), (5, 4, 4 * bytes));
        d.change(flat(ready));
        assert_eq!(d.stats(), now, "changed again: counted once");
        for p in [ready, pending, cached, unknown, other] {
            d.release(p);
        }
        let after = d.stats();
        assert_eq!(
            (after.needed, after.needed_bytes, after.cached),
            (0, 0, 1),
            "only the read one is cached"
        );
        d.acquire(ready);
        assert_eq!(height(&d, ready), 77, "given back and wanted again");
    }

    #[test]
    fn a_block_released_and_wanted_again_while_being_read_arrives_once() {
        let mut d = data(0);
        let p = BlockPos::new(1, 1);
        for _ in 0..3 {
            d.acquire(p);
            d.release(p);
        }
        d.acquire(p);
        d.wait_for([p].into_iter());
        assert_eq!(d.state(p), DataState::Valid);
        d.release(p);
        assert!(d.abandoned.is_empty());
        assert_eq!(d.stats(), DataStats::default());
        assert_eq!(d.state(BlockPos::new(4, 0)), DataState::OutOfRange);
    }
}
