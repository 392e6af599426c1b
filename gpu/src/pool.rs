//! Buffers between batches: used again instead of made anew, within a budget.
//!
//! Owns the sizes that buffers come in and what is kept. Never looks into a buffer; what one holds is left from before.

use crate::GpuError;
use crate::device::Vulkan;
use std::collections::BTreeMap;
use std::sync::Arc;
use vulkano::buffer::{Buffer, BufferCreateInfo, BufferUsage, Subbuffer};
use vulkano::memory::allocator::{AllocationCreateInfo, MemoryTypeFilter, StandardMemoryAllocator};

/// What a buffer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Written by the host, read (and sometimes written) by steps.
    Upload,
    /// Touched by steps alone.
    Device,
    /// Copied to, read by the host.
    Readback,
}

/// The least words of a buffer.
const LEAST: u64 = 64;

/// What the pool of buffers holds and has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// Bytes of buffers that nobody uses now.
    pub spare_bytes: u64,
    /// Bytes of all buffers, spare ones among them.
    pub bytes: u64,
    /// Buffers made since the device was opened.
    pub made: u64,
    /// Buffers given back to the driver because the budget was full.
    pub dropped: u64,
}

/// Spare buffers by kind and length.
pub(crate) struct Pool {
    memory: Arc<StandardMemoryAllocator>,
    budget: u64,
    spare: BTreeMap<(Kind, u64), Vec<Subbuffer<[u32]>>>,
    stats: PoolStats,
}

impl Pool {
    /// Keeps at most `budget` bytes of spare buffers.
    pub(crate) fn new(vulkan: &Vulkan, budget: u64) -> Self {
        Self { memory: vulkan.memory.clone(), budget, spare: BTreeMap::new(), stats: PoolStats::default() }
    }

    pub(crate) fn stats(&self) -> PoolStats {
        self.stats
    }

    /// A buffer of at least so many words: the length is the next power of two.
    pub(crate) fn take(&mut self, kind: Kind, words: u64) -> Result<Subbuffer<[u32]>, GpuError> {
        let len = words.max(LEAST).next_power_of_two();
        if let Some(buffer) = self.spare.get_mut(&(kind, len)).and_then(Vec::pop) {
            self.stats.spare_bytes -= 4 * len;
            return Ok(buffer);
        }
        let buffer = allocate(&self.memory, kind, len)?;
        self.stats.made += 1;
        self.stats.bytes += 4 * len;
        Ok(buffer)
    }

    /// Takes a buffer back that no batch uses any more. Beyond the budget the longest spare ones go.
    pub(crate) fn give(&mut self, kind: Kind, buffer: Subbuffer<[u32]>) {
        let len = buffer.len();
        self.stats.spare_bytes += 4 * len;
        self.spare.entry((kind, len)).or_default().push(buffer);
        while self.stats.spare_bytes > self.budget {
            let longest = self.spare.iter().filter(|(_, list)| !list.is_empty()).map(|(&key, _)| key);
            let Some(key) = longest.max_by_key(|&(kind, len)| (len, kind)) else { break };
            if self.spare.get_mut(&key).and_then(Vec::pop).is_some() {
                self.stats.spare_bytes -= 4 * key.1;
                self.stats.bytes -= 4 * key.1;
                self.stats.dropped += 1;
            }
        }
    }
}

/// A buffer of exactly so many words.
pub(crate) fn allocate(
    memory: &Arc<StandardMemoryAllocator>,
    kind: Kind,
    words: u64,
) -> Result<Subbuffer<[u32]>, GpuError> {
    const WHAT: &str = "allocating a buffer";
    let (usage, memory_type_filter) = match kind {
        Kind::Upload => (
            BufferUsage::STORAGE_BUFFER | BufferUsage::TRANSFER_SRC,
            MemoryTypeFilter::PREFER_DEVICE | MemoryTypeFilter::HOST_SEQUENTIAL_WRITE,
        ),
        Kind::Device => (
            BufferUsage::STORAGE_BUFFER | BufferUsage::TRANSFER_SRC | BufferUsage::TRANSFER_DST,
            MemoryTypeFilter::PREFER_DEVICE,
        ),
        Kind::Readback => {
            (BufferUsage::TRANSFER_DST, MemoryTypeFilter::PREFER_HOST | MemoryTypeFilter::HOST_RANDOM_ACCESS)
        }
    };
    Buffer::new_slice(
        memory.clone(),
        BufferCreateInfo { usage, ..Default::default() },
        AllocationCreateInfo { memory_type_filter, ..Default::default() },
        words,
    )
    .map_err(|e| match e {
        vulkano::Validated::Error(e) => GpuError::other(WHAT)(e),
        vulkano::Validated::ValidationError(e) => GpuError::other(WHAT)(e),
    })
}
