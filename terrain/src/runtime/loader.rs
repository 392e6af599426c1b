//! Reader threads: block positions in, decoded blocks out, in whatever order the disk answers.

use crate::collide::BlockMaterials;
use crate::coord::BlockPos;
use crate::store::{BlockError, BlockSource};
use crate::surface::Block;
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::sync::Arc;
use std::thread::JoinHandle;

/// A finished read.
#[derive(Debug)]
pub struct Loaded {
    /// Which block.
    pub pos: BlockPos,
    /// The block and its materials, or why it finally cannot be had.
    pub result: Result<Arc<ReadBlock>, BlockError>,
}

/// What is read of a block.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadBlock {
    /// Samples, visibility and weights.
    pub block: Block,
    /// Its materials; `None` where all is material 0.
    pub materials: Option<Arc<BlockMaterials>>,
}

impl ReadBlock {
    /// Bytes held in memory.
    pub fn bytes(&self) -> usize {
        self.block.bytes() + self.materials.as_ref().map_or(0, |m| m.bytes())
    }
}

/// Reads blocks of one source on its own threads. Dropping it waits for the reads in flight.
pub struct Loader {
    jobs: Option<Sender<BlockPos>>,
    done: Receiver<Loaded>,
    threads: Vec<JoinHandle<()>>,
}

impl std::fmt::Debug for Loader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loader").field("threads", &self.threads.len()).finish_non_exhaustive()
    }
}

impl Loader {
    /// Starts `threads` readers (at least one). A read that fails with a retryable error is tried `retries` more times.
    ///
    /// # Errors
    /// When the operating system gives no thread.
    pub fn new(source: Arc<dyn BlockSource>, threads: usize, retries: u32) -> std::io::Result<Self> {
        let (jobs, todo) = unbounded::<BlockPos>();
        let (finished, done) = unbounded();
        // Dropped on an error, so that the threads that did start end again.
        let mut loader = Self { jobs: Some(jobs), done, threads: Vec::new() };
        for i in 0..threads.max(1) {
            let (source, todo, finished) = (source.clone(), todo.clone(), finished.clone());
            let thread =
                std::thread::Builder::new().name(format!("terrain-reader-{i}")).spawn(move || {
                    for pos in todo {
                        let read = || read_whole(&*source, pos);
                        let result = with_retries(pos, retries, read).map(Arc::new);
                        if finished.send(Loaded { pos, result }).is_err() {
                            return;
                        }
                    }
                })?;
            loader.threads.push(thread);
        }
        Ok(loader)
    }

    /// Asks for a block. Each request is answered once.
    pub fn request(&self, pos: BlockPos) {
        let jobs = self.jobs.as_ref().expect("open until dropped");
        jobs.send(pos).expect("readers live until the loader is dropped");
    }

    /// A finished read, if there is one.
    pub fn try_next(&self) -> Option<Loaded> {
        self.done.try_recv().ok()
    }

    /// Waits for the next finished read. Call it only while a request is unanswered.
    ///
    /// # Panics
    /// When every reader has died, which is a fault in the source: readers do not panic on bad data.
    pub fn next(&self) -> Loaded {
        self.done.recv().expect("a reader thread panicked while reading a block")
    }
}

impl Drop for Loader {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            // A reader that panicked has said so already.
            let _ = thread.join();
        }
    }
}

fn read_whole(source: &dyn BlockSource, pos: BlockPos) -> Result<ReadBlock, BlockError> {
    let block = source.read_block(pos)?;
    // Terrains without materials are read once, and so are blocks that carry theirs.
    let materials = match BlockMaterials::carried(block.planes()) {
        Some(carried) => carried,
        None if source.materials().is_empty() => None,
        None => source.read_materials(pos)?.and_then(|ids| BlockMaterials::pack(&ids)),
    };
    Ok(ReadBlock { block, materials: materials.map(Arc::new) })
}

/// Reads one block, a retryable error up to `retries` times again. A panic inside the source would leave a tick waiting for ever, so it is turned into an error.
///
/// # Errors
/// Why the block finally cannot be had.
pub fn read_with_retries(source: &dyn BlockSource, pos: BlockPos, retries: u32) -> Result<Block, BlockError> {
    with_retries(pos, retries, || source.read_block(pos))
}

fn with_retries<T>(
    pos: BlockPos,
    retries: u32,
    read: impl Fn() -> Result<T, BlockError>,
) -> Result<T, BlockError> {
    let mut attempts = 0;
    loop {
        let once = std::panic::AssertUnwindSafe(&read);
        let result = std::panic::catch_unwind(once).unwrap_or_else(|_| {
            Err(BlockError { pos, reason: "the block source panicked".into(), retryable: false })
        });
        match result {
            Err(error) if error.retryable && attempts < retries => attempts += 1,
            other => return other,
        }
    }
}
