//! What a device is asked to do: buffers, steps over them in order, and what is read back.
//!
//! Owns the form of the question. A batch is one submission: nothing comes back but what is asked for, and what stays
//! the same for many batches is [`Shared`]. Never runs anything.
//!
//! The first step that is given something it cannot take panics: batches are built by the product's own passes, which
//! check what comes from outside before.

use super::ComputeError;
use crate::kernel::{Entry, GROUP, MOST_BUFFERS, MOST_PARAMS};
use arrayvec::ArrayVec;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Words in a buffer at most: the 128 MiB that every Vulkan device takes in one storage buffer.
pub const MOST_WORDS: usize = 1 << 25;

/// Groups across a dispatch at most; more go into rows of this many, which every Vulkan device takes.
pub const GROUPS_ACROSS: u32 = 32_768;

/// Words that do not change and outlive a batch: textures, tables, maps. A device keeps them as long as its budget
/// allows and is given them again when it has lost them. Clones are the same words.
#[derive(Clone, Debug)]
pub struct Shared {
    id: u64,
    words: Arc<[u32]>,
}

impl Shared {
    /// Takes the words over.
    pub fn new(words: impl Into<Arc<[u32]>>) -> Self {
        // Only tells words apart; reaches no output.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self { id: NEXT.fetch_add(1, Ordering::Relaxed), words: words.into() }
    }

    /// Different for words that were made apart.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The words.
    pub fn words(&self) -> &[u32] {
        &self.words
    }
}

/// A buffer of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BufferId(pub(super) u32);

impl BufferId {
    /// Its place in [`Batch::sources`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where a buffer's first words come from.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// From the host, for this batch. May be written by steps: on a copy.
    Words(&'a [u32]),
    /// The same as bytes: little-endian words, the last one filled up with zeros.
    Bytes(&'a [u8]),
    /// From the host, kept by the device. Never written.
    Shared(&'a Shared),
    /// So many zeros.
    Zeroed(usize),
    /// So many words of any value: steps write each before one reads it.
    Target(usize),
}

impl Source<'_> {
    /// Words in the buffer.
    pub fn words(&self) -> usize {
        match self {
            Source::Words(words) => words.len(),
            Source::Bytes(bytes) => bytes.len().div_ceil(4),
            Source::Shared(shared) => shared.words.len(),
            Source::Zeroed(words) | Source::Target(words) => *words,
        }
    }
}

/// One dispatch.
#[derive(Clone, Debug)]
pub struct Step {
    /// What is run.
    pub entry: &'static Entry,
    /// Groups of [`GROUP`] invocations, at least one.
    pub groups: u32,
    /// The entry's parameters.
    pub params: ArrayVec<u32, MOST_PARAMS>,
    /// The entry's buffers: read ones first.
    pub buffers: ArrayVec<BufferId, MOST_BUFFERS>,
}

impl Step {
    /// Groups across and down: the linear number of a group is `x + y ·` [`GROUPS_ACROSS`], and there may be more of
    /// them than asked for.
    pub fn grid(&self) -> [u32; 2] {
        if self.groups <= GROUPS_ACROSS {
            [self.groups, 1]
        } else {
            [GROUPS_ACROSS, self.groups.div_ceil(GROUPS_ACROSS)]
        }
    }
}

/// Buffers, steps in order, and what is read back.
#[derive(Debug, Default)]
pub struct Batch<'a> {
    sources: Vec<Source<'a>>,
    steps: Vec<Step>,
    reads: Vec<(BufferId, Range<usize>)>,
}

impl<'a> Batch<'a> {
    /// Nothing to do.
    pub fn new() -> Self {
        Self::default()
    }

    /// Nothing to do, in the memory of an earlier batch.
    pub fn emptied<'b>(mut self) -> Batch<'b> {
        self.sources.clear();
        self.steps.clear();
        self.reads.clear();
        // Empty, so no source has to live on; the memory is the same.
        let sources = self.sources.into_iter().map(|_| Source::Zeroed(0)).collect();
        Batch { sources, steps: self.steps, reads: self.reads }
    }

    fn buffer(&mut self, source: Source<'a>) -> BufferId {
        self.sources.push(source);
        BufferId(self.sources.len() as u32 - 1)
    }

    /// A buffer of the host's words.
    pub fn words(&mut self, words: &'a [u32]) -> BufferId {
        self.buffer(Source::Words(words))
    }

    /// A buffer of the host's bytes: little-endian words, the last one filled up with zeros.
    pub fn bytes(&mut self, bytes: &'a [u8]) -> BufferId {
        self.buffer(Source::Bytes(bytes))
    }

    /// A buffer that the device may still have.
    pub fn shared(&mut self, shared: &'a Shared) -> BufferId {
        self.buffer(Source::Shared(shared))
    }

    /// A buffer of zeros.
    pub fn zeroed(&mut self, words: usize) -> BufferId {
        self.buffer(Source::Zeroed(words))
    }

    /// A buffer that steps fill.
    pub fn target(&mut self, words: usize) -> BufferId {
        self.buffer(Source::Target(words))
    }

    /// Adds a step of at least so many invocations.
    ///
    /// # Panics
    /// When the parameters or buffers are not as many as the entry says, a buffer is not the batch's, one that is written
    /// is bound twice or is shared, or there are more than 2⁴⁰ invocations.
    pub fn step(
        &mut self,
        entry: &'static Entry,
        invocations: u64,
        params: &[u32],
        reads: &[BufferId],
        writes: &[BufferId],
    ) {
        assert_eq!(params.len(), entry.params, "{entry:?}: parameters");
        assert_eq!((reads.len(), writes.len()), (entry.reads, entry.writes), "{entry:?}: buffers");
        let buffers: ArrayVec<BufferId, MOST_BUFFERS> = reads.iter().chain(writes).copied().collect();
        for (i, id) in buffers.iter().enumerate() {
            let source = self.sources.get(id.index()).expect("a buffer of this batch");
            if i >= entry.reads {
                assert!(!matches!(source, Source::Shared(_)), "{entry:?} writes shared words");
                let twice = buffers.iter().filter(|other| *other == id).count() > 1;
                assert!(!twice, "{entry:?} writes what it binds twice");
            }
        }
        let groups = invocations.div_ceil(u64::from(GROUP)).max(1);
        assert!(groups <= 1 << 33, "{entry:?}: {invocations} invocations");
        let groups = u32::try_from(groups).expect("at most 2³³, and no buffer is as long");
        self.steps.push(Step { entry, groups, params: params.iter().copied().collect(), buffers });
    }

    /// Reads a buffer back whole, after the last step. Answers come in the order of these calls.
    pub fn read(&mut self, buffer: BufferId) {
        let words = self.sources[buffer.index()].words();
        self.reads.push((buffer, 0..words));
    }

    /// Reads a part of a buffer back.
    ///
    /// # Panics
    /// When the buffer is shorter.
    pub fn read_range(&mut self, buffer: BufferId, words: Range<usize>) {
        assert!(words.start <= words.end && words.end <= self.sources[buffer.index()].words());
        self.reads.push((buffer, words));
    }

    /// The buffers.
    pub fn sources(&self) -> &[Source<'a>] {
        &self.sources
    }

    /// The steps, in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// What is read back, in order.
    pub fn reads(&self) -> &[(BufferId, Range<usize>)] {
        &self.reads
    }

    /// Whether some step writes a buffer.
    pub fn is_written(&self, buffer: BufferId) -> bool {
        self.steps.iter().any(|s| s.buffers[s.entry.reads..].contains(&buffer))
    }

    /// The kernel of the first step, for messages.
    pub fn kernel(&self) -> &'static str {
        self.steps.first().map_or("nothing", |s| s.entry.kernel)
    }

    /// Refuses, on every device alike, what not every device can hold.
    ///
    /// # Errors
    /// A buffer of more than [`MOST_WORDS`].
    pub fn check(&self) -> Result<(), ComputeError> {
        match self.sources.iter().map(Source::words).find(|&w| w > MOST_WORDS) {
            Some(words) => Err(ComputeError::TooLarge { pass: self.kernel(), words: words as u64 }),
            None => Ok(()),
        }
    }
}

/// What a batch gave: the words of each [`Batch::read`]. To be used again, so that its memory is.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    words: Vec<Vec<u32>>,
    count: usize,
}

impl Outputs {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The answer to the n-th read.
    ///
    /// # Panics
    /// When there were not as many.
    pub fn words(&self, n: usize) -> &[u32] {
        assert!(n < self.count, "the batch had {} reads", self.count);
        &self.words[n]
    }

    /// As [`Self::words`], as little-endian bytes.
    pub fn bytes(&self, n: usize) -> &[u8] {
        crate::kernel::bytes_of(self.words(n))
    }

    /// For devices: forgets all answers, keeping their memory.
    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// For devices: the next answer, of any words, to be filled.
    pub fn next(&mut self, words: usize) -> &mut [u32] {
        if self.count == self.words.len() {
            self.words.push(Vec::new());
        }
        self.count += 1;
        let out = &mut self.words[self.count - 1];
        out.resize(words, 0);
        out
    }
}
