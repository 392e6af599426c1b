//! Planes of one channel brought to a square of a power of two, and their mips. Integers only.
//!
//! An axis that shrinks is a box: an output texel is the mean of what it covers, parts of texels by their part. An axis that
//! grows is linear between texel centres and wraps round: layers tile. Both axes together are rounded once, half up. A mip
//! is the mean of four, half up, of the unrounded-to-8-bit values below it.

use super::curve::Curve;
use crate::image::Image;
use rayon::prelude::*;

/// The most texels a side of an image that is read.
pub(super) const MAX_IMAGE_SIDE: u32 = 1 << 14;

/// The source texels of one output texel along an axis, with their weights.
fn taps(source: u64, side: u64, at: u64) -> Vec<(usize, u64)> {
    if source > side {
        // In units of 1/side of a source texel.
        let (from, to) = (at * source, (at + 1) * source);
        (from / side..to.div_ceil(side))
            .map(|i| (i as usize, to.min((i + 1) * side) - from.max(i * side)))
            .collect()
    } else if source == side {
        vec![(at as usize, 1)]
    } else {
        // The centre (at + ½) · source / side − ½ in units of 1/(2 · side), from one texel to the left on.
        let centre = (2 * at + 1) * source + side;
        let (left, part) = (centre / (2 * side), centre % (2 * side));
        let index = |i: u64| ((i + source - 1) % source) as usize;
        vec![(index(left), 2 * side - part), (index(left + 1), part)]
    }
}

/// The sum of an axis' weights.
fn whole(source: u64, side: u64) -> u64 {
    match source.cmp(&side) {
        std::cmp::Ordering::Greater => source,
        std::cmp::Ordering::Equal => 1,
        std::cmp::Ordering::Less => 2 * side,
    }
}

/// One channel of an image as a square of `side` texels, linear values up to [`super::curve::ONE`].
pub(super) fn channel(image: &Image, channel: usize, curve: Curve, side: u32) -> Vec<u32> {
    let [w, h] = image.size();
    let (channels, row_bytes) = (usize::from(image.channels()), image.bytes().len() / h as usize);
    let side = u64::from(side);
    let across: Vec<Vec<(usize, u64)>> = (0..side).map(|x| taps(u64::from(w), side, x)).collect();
    // At most 2¹⁴ · 2¹⁴; with values below 2²⁴ sums stay below 2⁵².
    let total = whole(u64::from(w), side) * whole(u64::from(h), side);
    let mut out = vec![0u32; (side * side) as usize];
    out.par_chunks_mut(side as usize).enumerate().for_each(|(y, out)| {
        let mut row = vec![0u32; w as usize];
        let mut sums = vec![0u64; side as usize];
        for (source, weight) in taps(u64::from(h), side, y as u64) {
            let bytes = &image.bytes()[source * row_bytes..(source + 1) * row_bytes];
            curve.decode(bytes, channels, channel, image.bits(), &mut row);
            for (sum, taps) in sums.iter_mut().zip(&across) {
                *sum += weight * taps.iter().map(|&(i, w)| w * u64::from(row[i])).sum::<u64>();
            }
        }
        out.iter_mut().zip(sums).for_each(|(o, sum)| *o = ((sum + total / 2) / total) as u32);
    });
    out
}

/// The next coarser mip of a square plane of an even side.
pub(super) fn mip(plane: &[u32], side: usize) -> Vec<u32> {
    let half = side / 2;
    let mut out = vec![0; half * half];
    out.par_chunks_mut(half.max(1)).enumerate().for_each(|(y, out)| {
        let rows = &plane[2 * y * side..(2 * y + 2) * side];
        for (x, o) in out.iter_mut().enumerate() {
            *o = (rows[2 * x] + rows[2 * x + 1] + rows[side + 2 * x] + rows[side + 2 * x + 1] + 2) >> 2;
        }
    });
    out
}

#[cfg(test)]
mod tests {
    use super::super::curve::ONE;
    use super::*;

    /// Along one axis by definition: weights of every source texel, as floats.
    fn by_definition(source: usize, side: usize, at: usize) -> Vec<f64> {
        let mut weights = vec![0.0; source];
        let scale = source as f64 / side as f64;
        if source > side {
            let (from, to) = (at as f64 * scale, (at + 1) as f64 * scale);
            for (i, w) in weights.iter_mut().enumerate() {
                *w = ((to.min(i as f64 + 1.0) - from.max(i as f64)).max(0.0)) / scale;
            }
        } else {
            let centre = (at as f64 + 0.5) * scale - 0.5;
            let left = centre.floor();
            let index = |i: f64| (i as i64).rem_euclid(source as i64) as usize;
            weights[index(left)] += 1.0 - (centre - left);
            weights[index(left + 1.0)] += centre - left;
        }
        weights
    }

    #[test]
    fn taps_are_boxes_down_and_wrapped_lines_up() {
        for (source, side) in [(5, 4), (7, 2), (100, 64), (3, 8), (1, 4), (2, 2), (63, 64), (65, 64), (9, 1)]
        {
            for at in 0..side {
                let mut found = vec![0.0; source];
                let sum = whole(source as u64, side as u64) as f64;
                for (i, w) in taps(source as u64, side as u64, at as u64) {
                    found[i] += w as f64 / sum;
                }
                let expected = by_definition(source, side, at);
                let near = found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-12);
                assert!(near, "{source} to {side} at {at}: {found:?}, {expected:?}");
            }
        }
    }

    #[test]
    fn both_axes_are_rounded_once() {
        let bytes: Vec<u8> = (0..5 * 3 * 2).map(|i| (i * 89 % 256) as u8).collect();
        let image = Image::new([5, 3], 2, 8, bytes.clone()).unwrap();
        let found = channel(&image, 1, Curve::Linear, 4);
        for y in 0..4 {
            for x in 0..4 {
                let (wx, wy) = (by_definition(5, 4, x), by_definition(3, 4, y));
                let mut sum = 0.0;
                for (j, wy) in wy.iter().enumerate() {
                    for (i, wx) in wx.iter().enumerate() {
                        sum += wx * wy * f64::from(bytes[(j * 5 + i) * 2 + 1]) * f64::from(ONE / 255);
                    }
                }
                assert!((f64::from(found[y * 4 + x]) - sum).abs() <= 0.5 + 1e-6);
            }
        }
    }
}
