//! Batches on the CPU: every step by its kernel's twin.
//!
//! Owns the memory of buffers between batches. Runs steps on the calling thread and whatever pool it stands in; the
//! result does not depend on either.

use super::batch::{Batch, Outputs, Source};
use super::{Compute, ComputeError, DeviceInfo, DeviceKind};
use crate::kernel::{Bound, bytes_of_mut};
use std::sync::{Mutex, PoisonError};

/// Memory kept for the next batch at most, in bytes.
const KEPT_BYTES: usize = 256 << 20;

/// Runs every kernel's CPU twin.
#[derive(Debug)]
pub struct CpuCompute {
    info: DeviceInfo,
    spare: Mutex<Memory>,
}

/// Buffers that nobody uses.
#[derive(Debug, Default)]
struct Memory {
    spare: Vec<Vec<u32>>,
    held: Vec<Held>,
}

/// What stands behind a buffer while a batch runs.
#[derive(Debug)]
enum Held {
    /// The caller's own words: its place in the batch says where.
    Borrowed,
    Owned(Vec<u32>),
}

impl CpuCompute {
    /// Always available.
    pub const fn new() -> Self {
        Self {
            info: DeviceInfo { kind: DeviceKind::Cpu, name: String::new(), driver: String::new() },
            spare: Mutex::new(Memory { spare: Vec::new(), held: Vec::new() }),
        }
    }
}

impl Default for CpuCompute {
    fn default() -> Self {
        Self::new()
    }
}

impl Memory {
    /// A buffer of some memory that fits, filled up or cut to `words`. What it holds is left from before.
    fn take(&mut self, words: usize) -> Vec<u32> {
        // The smallest that fits, else the largest: it grows.
        let fits = |v: &Vec<u32>| (v.capacity() < words, v.capacity().abs_diff(words));
        let best = (0..self.spare.len()).min_by_key(|&i| fits(&self.spare[i]));
        let mut buffer = best.map_or_else(Vec::new, |i| self.spare.swap_remove(i));
        buffer.resize(words, 0);
        buffer
    }

    fn give(&mut self, buffer: Vec<u32>) {
        let kept: usize = self.spare.iter().map(|v| v.capacity() * 4).sum();
        if kept + buffer.capacity() * 4 <= KEPT_BYTES {
            self.spare.push(buffer);
        }
    }

    fn hold(&mut self, batch: &Batch<'_>) {
        debug_assert!(self.held.is_empty());
        for (i, source) in batch.sources().iter().enumerate() {
            let written = || batch.is_written(super::batch::BufferId(i as u32));
            let held = match *source {
                Source::Words(words) if written() => {
                    let mut buffer = self.take(words.len());
                    buffer.copy_from_slice(words);
                    Held::Owned(buffer)
                }
                Source::Words(_) | Source::Shared(_) => Held::Borrowed,
                Source::Bytes(bytes) => {
                    let mut buffer = self.take(source.words());
                    if let Some(last) = buffer.last_mut() {
                        *last = 0;
                    }
                    bytes_of_mut(&mut buffer)[..bytes.len()].copy_from_slice(bytes);
                    Held::Owned(buffer)
                }
                Source::Zeroed(words) => {
                    let mut buffer = self.take(words);
                    buffer.fill(0);
                    Held::Owned(buffer)
                }
                Source::Target(words) => Held::Owned(self.take(words)),
            };
            self.held.push(held);
        }
    }

    fn words<'a>(&'a self, batch: &'a Batch<'_>, buffer: usize) -> &'a [u32] {
        match (&self.held[buffer], batch.sources()[buffer]) {
            (Held::Owned(words), _) => words,
            (Held::Borrowed, Source::Words(words)) => words,
            (Held::Borrowed, Source::Shared(shared)) => shared.words(),
            (Held::Borrowed, _) => unreachable!("only words of the caller's are borrowed"),
        }
    }

    fn run(&mut self, batch: &Batch<'_>) {
        for step in batch.steps() {
            let (reads, writes) = step.buffers.split_at(step.entry.reads);
            // Out of the table, so that they can be written while others are read.
            let mut written: arrayvec::ArrayVec<Vec<u32>, { crate::kernel::MOST_BUFFERS }> = writes
                .iter()
                .map(|id| match std::mem::replace(&mut self.held[id.index()], Held::Borrowed) {
                    Held::Owned(words) => words,
                    Held::Borrowed => unreachable!("what is written is owned, and bound once"),
                })
                .collect();
            let mut bound = Bound {
                reads: reads.iter().map(|id| self.words(batch, id.index())).collect(),
                writes: written.iter_mut().map(Vec::as_mut_slice).collect(),
            };
            (step.entry.twin)(&step.params, &mut bound);
            drop(bound);
            for (id, words) in writes.iter().zip(written) {
                self.held[id.index()] = Held::Owned(words);
            }
        }
    }
}

impl Compute for CpuCompute {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn run(&self, batch: &Batch<'_>, out: &mut Outputs) -> Result<(), ComputeError> {
        batch.check()?;
        // Batches of other threads take memory of their own.
        let mut memory = std::mem::take(&mut *self.spare.lock().unwrap_or_else(PoisonError::into_inner));
        memory.hold(batch);
        memory.run(batch);
        out.clear();
        for (buffer, range) in batch.reads() {
            let words = &memory.words(batch, buffer.index())[range.clone()];
            out.next(words.len()).copy_from_slice(words);
        }
        while let Some(held) = memory.held.pop() {
            if let Held::Owned(words) = held {
                memory.give(words);
            }
        }
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.spare.is_empty() {
            *spare = memory;
        } else {
            memory.spare.into_iter().for_each(|words| spare.give(words));
        }
        Ok(())
    }
}
