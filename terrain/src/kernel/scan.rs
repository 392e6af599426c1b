//! Prefix sums: what gives compacted output its one order, whatever the device and however many invocations.
//!
//! Owns the two steps out of which sums over any length are made: the total of every span of [`SPAN`] words, and the
//! sums within a span on top of what went before it. Sums wrap at 2³². Never decides what is compacted.
//!
//! The shape is Blelloch's (Prefix Sums and Their Applications, 1990), with spans as wide as a group can take at once.

use super::{Bound, Entry};
use rayon::prelude::*;

/// Words that one group adds up: four for each of its invocations.
pub const SPAN: usize = 512;

/// The total of each span. Parameters: the number of words. Reads the words, writes a word a span.
pub const TOTALS: Entry =
    Entry { kernel: "scan", name: "totals", reads: 1, writes: 1, params: 1, twin: totals };

/// The sums of all words before each word. Parameters: the number of words. Reads the words and the sum of all words
/// before each span, writes the sums.
pub const SPREAD: Entry =
    Entry { kernel: "scan", name: "spread", reads: 2, writes: 1, params: 1, twin: spread };

/// Spans less than this are not worth another thread.
const SPANS_A_TASK: usize = 64;

fn totals(params: &[u32], bound: &mut Bound<'_>) {
    let ([words], [out]) = bound.split();
    let words = &words[..params[0] as usize];
    out.par_iter_mut().with_min_len(SPANS_A_TASK).zip(words.par_chunks(SPAN)).for_each(|(out, span)| {
        *out = span.iter().fold(0, |sum, &w| sum.wrapping_add(w));
    });
}

fn spread(params: &[u32], bound: &mut Bound<'_>) {
    let ([words, before], [out]) = bound.split();
    let words = &words[..params[0] as usize];
    let spans = out.par_chunks_mut(SPAN).zip(words.par_chunks(SPAN)).zip(before.par_iter());
    spans.with_min_len(SPANS_A_TASK).for_each(|((out, span), &before)| {
        let mut sum = before;
        for (out, &w) in out.iter_mut().zip(span) {
            *out = sum;
            sum = sum.wrapping_add(w);
        }
    });
}
