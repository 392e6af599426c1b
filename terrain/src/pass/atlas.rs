//! The height atlas of any window on any device.
//!
//! A window goes to the device in strips of rows, each with the rows around it, so that buffers have a bounded size.

use crate::compute::batch::MOST_WORDS;
use crate::compute::{Batch, Compute, ComputeError, Outputs};
use crate::height::{QuantumLog2, VOID};
use crate::kernel::atlas::{PACK, Packing};
use crate::kernel::normal::Vertical;

/// The longest side of a window in samples.
pub const MAX_SIDE: u32 = 1 << 20;

/// Words that go to the device at once, as a rule.
pub const STRIP_WORDS: usize = 1 << 22;

// Three rows of the longest kind and more fit.
const _: () = assert!(3 * (MAX_SIDE as usize + 2) <= STRIP_WORDS && STRIP_WORDS <= MOST_WORDS);

/// What an atlas is made of.
#[derive(Clone, Copy, Debug)]
pub struct Heights<'a> {
    /// Samples of the window along x and z.
    pub size: [u32; 2],
    /// Raw quanta of the window and one sample around it, row by row: (w + 2) · (h + 2). Void beyond the map.
    pub quanta: &'a [i32],
    /// In 1/256 m, at most 256 m.
    pub spacing_256: u32,
    /// What a quantum is.
    pub k: QuantumLog2,
}

/// Writes the texels of a window, row by row. Reuses the memory of `out` and `answer`.
///
/// # Errors
/// A size of zero or beyond [`MAX_SIDE`], another number of heights, a height that the packing does not hold (the first is
/// named), or a device that fails.
pub fn pack(
    compute: &dyn Compute,
    heights: &Heights<'_>,
    packing: Packing,
    out: &mut Vec<u32>,
    answer: &mut Outputs,
) -> Result<(), ComputeError> {
    pack_in_strips(compute, heights, packing, STRIP_WORDS, out, answer)
}

/// [`pack`] with strips of about so many words: at least a row, and not more than [`MOST_WORDS`].
///
/// # Errors
/// As [`pack`].
pub fn pack_in_strips(
    compute: &dyn Compute,
    heights: &Heights<'_>,
    packing: Packing,
    strip_words: usize,
    out: &mut Vec<u32>,
    answer: &mut Outputs,
) -> Result<(), ComputeError> {
    check(heights, packing)?;
    let [w, h] = heights.size.map(|s| s as usize);
    let stride = w + 2;
    let rows = (strip_words.min(MOST_WORDS) / stride).saturating_sub(2).clamp(1, h);
    let [d, p] = Vertical::new(heights.spacing_256, heights.k).parts();
    out.clear();
    out.reserve(w * h);
    let words: &[u32] = bytemuck::cast_slice(heights.quanta);
    let mut batch = Batch::new();
    for first in (0..h).step_by(rows) {
        let rows = rows.min(h - first);
        batch = batch.emptied();
        let source = batch.words(&words[first * stride..(first + rows + 2) * stride]);
        let target = batch.target(w * rows);
        let params = [w as u32, rows as u32, packing.base as u32, packing.shift, d, p];
        batch.step(&PACK, (w * rows) as u64, &params, &[source], &[target]);
        batch.read(target);
        compute.run(&batch, answer)?;
        out.extend_from_slice(answer.words(0));
    }
    Ok(())
}

fn check(heights: &Heights<'_>, packing: Packing) -> Result<(), ComputeError> {
    let refused = |reason: String| Err(ComputeError::Refused { pass: "atlas", reason });
    let [w, h] = heights.size;
    if w == 0 || h == 0 || w > MAX_SIDE || h > MAX_SIDE {
        return refused(format!("a window of {w}x{h} samples: expected sides from 1 to {MAX_SIDE}"));
    }
    let (expected, found) = ((u64::from(w) + 2) * (u64::from(h) + 2), heights.quanta.len() as u64);
    if expected != found {
        return refused(format!("{w}x{h} samples and one around them are {expected} heights, found {found}"));
    }
    if heights.spacing_256 == 0 || heights.spacing_256 > crate::config::MAX_SPACING_256 || packing.shift > 16
    {
        return refused(format!(
            "a spacing of {}/256 m and steps of 2^{} quanta: expected 1 to {} and 0 to 16",
            heights.spacing_256,
            packing.shift,
            crate::config::MAX_SPACING_256
        ));
    }
    let stride = w as usize + 2;
    for (z, row) in heights.quanta.chunks_exact(stride).skip(1).take(h as usize).enumerate() {
        let bad = |&&q: &&i32| q != VOID && packing.code(q).is_none();
        if let Some(q) = row[1..=w as usize].iter().find(bad) {
            let x = row[1..].iter().position(|v| v == q).unwrap_or_default();
            let (k, last) = (heights.k, packing.quanta(u16::MAX));
            return refused(format!(
                "sample ({x}, {z}) of the window is {} m high: the packing holds {} to {} m",
                k.to_metres(*q),
                k.to_metres(packing.base),
                last as f64 * k.metres()
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compute::CpuCompute;

    #[test]
    fn what_the_packing_does_not_hold_is_refused_by_its_place() {
        let k = QuantumLog2::DEFAULT;
        let mut quanta = vec![0; 5 * 4];
        quanta[2 * 5 + 3] = 256 * 128;
        let packing = Packing::reference(k).unwrap();
        let ask = |quanta: &[i32], size| {
            let heights = Heights { size, quanta, spacing_256: 256, k };
            let mut out = Vec::new();
            pack(&CpuCompute::new(), &heights, packing, &mut out, &mut Outputs::new()).map(|()| out)
        };
        assert_eq!(
            ask(&quanta, [3, 2]).unwrap_err().to_string(),
            "atlas: sample (2, 1) of the window is 256 m high: the packing holds -256 to 255.9921875 m"
        );
        // Around the window it only bends the normal.
        quanta[2 * 5 + 3] = 0;
        quanta[2 * 5 + 4] = 256 * 128;
        assert_eq!(ask(&quanta, [3, 2]).unwrap()[5] >> 16, 1 | 128 << 8);
        assert!(ask(&quanta, [3, 3]).unwrap_err().to_string().contains("are 25 heights, found 20"));
        assert!(ask(&[], [0, 3]).unwrap_err().to_string().contains("0x3 samples"));
    }
}
