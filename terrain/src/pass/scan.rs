//! Prefix sums inside a batch.

use crate::compute::{Batch, BufferId};
use crate::kernel::scan::{SPAN, SPREAD, TOTALS};

/// What [`scan`] adds to a batch.
#[derive(Clone, Copy, Debug)]
pub struct Scan {
    /// For each word the sum of all before it, modulo 2³².
    pub before: BufferId,
    /// One word: the sum of all, modulo 2³².
    pub total: BufferId,
}

/// Adds the sums over the first `words` words of a buffer, at least one.
///
/// # Panics
/// When `words` is 0 or more than the buffer holds.
pub fn scan(batch: &mut Batch<'_>, buffer: BufferId, words: usize) -> Scan {
    assert!(words > 0 && words <= batch.sources()[buffer.index()].words());
    let spans = words.div_ceil(SPAN);
    let invocations = |n: usize| (n.div_ceil(SPAN) * crate::kernel::GROUP as usize) as u64;
    let totals = batch.target(spans);
    batch.step(&TOTALS, invocations(words), &[words as u32], &[buffer], &[totals]);
    let above =
        if spans == 1 { Scan { before: batch.zeroed(1), total: totals } } else { scan(batch, totals, spans) };
    let before = batch.target(words);
    batch.step(&SPREAD, invocations(words), &[words as u32], &[buffer, above.before], &[before]);
    Scan { before, total: above.total }
}
