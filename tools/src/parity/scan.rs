//! Cases of prefix sums: lengths around spans and spans of spans, words that wrap.

use super::{Case, Random};
use highground_terrain::compute::{Batch, Outputs};
use highground_terrain::kernel::scan::SPAN;
use highground_terrain::pass::scan::scan;

/// Around one word, one span, two levels and three.
const LENGTHS: [usize; 14] = [
    1,
    2,
    127,
    SPAN - 1,
    SPAN,
    SPAN + 1,
    3 * SPAN + 5,
    33_000,
    SPAN * SPAN - 1,
    SPAN * SPAN,
    SPAN * SPAN + 1,
    SPAN * SPAN + 7 * SPAN,
    900_001,
    // More groups than go across.
    (32_768 + 3) * SPAN + 1,
];

pub(super) fn cases(seed: u64) -> Vec<Case> {
    let mut cases = Vec::new();
    for (what, most) in [("flags", 2), ("any words", u64::from(u32::MAX) + 1)] {
        for length in LENGTHS {
            if length > 1_000_000 && what == "flags" {
                continue;
            }
            cases.push(Case::new(format!("{what} {length}"), move |compute| {
                let mut random = Random(seed ^ length as u64);
                let words: Vec<u32> = (0..length).map(|_| (random.next() % most) as u32).collect();
                let mut batch = Batch::new();
                let buffer = batch.words(&words);
                let sums = scan(&mut batch, buffer, length);
                batch.read(sums.before);
                batch.read(sums.total);
                let mut out = Outputs::new();
                compute.run(&batch, &mut out)?;
                let mut answer = out.words(0).to_vec();
                answer.push(out.words(1)[0]);
                // The longest is compared as a sample and its total.
                if length > 1_000_000 {
                    answer = answer.iter().rev().step_by(97).copied().collect();
                }
                Ok(answer)
            }));
        }
    }
    cases
}
