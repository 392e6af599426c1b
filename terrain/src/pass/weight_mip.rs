//! Weight mips on any device: one mip of a map of any size, or the whole chain.
//!
//! A map goes to the device in strips of whole row pairs, so that buffers have a fixed size. A texel of the mip needs the
//! two rows of its own strip only, so strips do not overlap. Small maps go at once, with all their mips.

use crate::compute::{Batch, BufferId, Compute, ComputeError, Outputs};
use crate::kernel::Entry;
use crate::kernel::weight_mip::{Encoding, HD, MAX_SIDE, NORMAL, check_len, mip_size};

/// Bytes of a map that go to the device at once, as a rule.
pub const STRIP_BYTES: u32 = 16 << 20;

/// The same at most: half of what a buffer can hold.
pub const MAX_STRIP_BYTES: u32 = 64 << 20;

// Two rows of the longest kind fit, so that every map has strips. The ceiling of an odd width is in the slack.
const _: () = assert!(2 * 3 * MAX_SIDE <= MAX_STRIP_BYTES);

/// The next mip of a row-major map of `size` texels: [`mip_size`] texels.
///
/// # Errors
/// A length or size that is wrong, or a device that fails.
pub fn mip(
    compute: &dyn Compute,
    encoding: Encoding,
    size: [u32; 2],
    texels: &[u8],
) -> Result<Vec<u8>, ComputeError> {
    mip_in_strips(compute, encoding, size, texels, STRIP_BYTES)
}

/// [`mip`] with strips of about so many bytes: at least two rows, at most [`MAX_STRIP_BYTES`].
///
/// # Errors
/// As [`mip`].
pub fn mip_in_strips(
    compute: &dyn Compute,
    encoding: Encoding,
    size: [u32; 2],
    texels: &[u8],
    strip_bytes: u32,
) -> Result<Vec<u8>, ComputeError> {
    check_len("source", encoding, size, texels.len() as u64)?;
    let row_bytes = size[0] as usize * encoding.texel_bytes();
    let rows = strip_rows(strip_bytes.min(MAX_STRIP_BYTES), size[1], row_bytes);
    let [mip_width, mip_height] = mip_size(size);
    let mip_row_bytes = mip_width as usize * encoding.texel_bytes();
    let mut out = Vec::with_capacity(mip_row_bytes * mip_height as usize);
    let mut answer = Outputs::new();
    for strip in texels.chunks(rows as usize * row_bytes) {
        let mut batch = Batch::new();
        let source = batch.bytes(strip);
        let strip_size = [size[0], (strip.len() / row_bytes) as u32];
        let target = step(&mut batch, encoding, strip_size, source);
        batch.read(target);
        compute.run(&batch, &mut answer)?;
        out.extend(&answer.bytes(0)[..mip_row_bytes * strip_size[1].div_ceil(2) as usize]);
    }
    Ok(out)
}

/// Every mip after mip 0, down to 1×1.
///
/// # Errors
/// As [`mip`].
pub fn chain(
    compute: &dyn Compute,
    encoding: Encoding,
    size: [u32; 2],
    mip0: &[u8],
) -> Result<Vec<Vec<u8>>, ComputeError> {
    check_len("source", encoding, size, mip0.len() as u64)?;
    let mut mips: Vec<Vec<u8>> = Vec::new();
    let mut size = size;
    while size != [1, 1] {
        let last = mips.last().map_or(mip0, Vec::as_slice);
        if last.len() > STRIP_BYTES as usize {
            mips.push(mip(compute, encoding, size, last)?);
            size = mip_size(size);
            continue;
        }
        let mut batch = Batch::new();
        let mut buffer = batch.bytes(last);
        let mut sizes = Vec::new();
        while size != [1, 1] {
            buffer = step(&mut batch, encoding, size, buffer);
            batch.read(buffer);
            size = mip_size(size);
            sizes.push(size);
        }
        let mut answer = Outputs::new();
        compute.run(&batch, &mut answer)?;
        for (i, [w, h]) in sizes.into_iter().enumerate() {
            mips.push(answer.bytes(i)[..w as usize * h as usize * encoding.texel_bytes()].to_vec());
        }
    }
    Ok(mips)
}

/// The mip of one strip, as a step.
fn step(batch: &mut Batch<'_>, encoding: Encoding, size: [u32; 2], source: BufferId) -> BufferId {
    // Texels and words of one invocation.
    let (entry, texels, words): (&'static Entry, u32, usize) = match encoding {
        Encoding::Hd => (&HD, 4, 3),
        Encoding::Normal => (&NORMAL, 2, 1),
    };
    let [mip_width, mip_height] = mip_size(size);
    let mip_texels = mip_width * mip_height;
    let invocations = mip_texels.div_ceil(texels);
    let target = batch.target(invocations as usize * words);
    let params = [size[0], size[1], mip_width, mip_texels];
    batch.step(entry, invocations.into(), &params, &[source], &[target]);
    target
}

/// Source rows of a strip: an even number, or all there are.
fn strip_rows(strip_bytes: u32, height: u32, row_bytes: usize) -> u32 {
    let fit = (strip_bytes as usize / row_bytes).min(height as usize) as u32;
    if fit == height { height } else { (fit & !1).max(2).min(height) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_are_even_and_hold_at_least_two_rows() {
        // Everything fits.
        assert_eq!(strip_rows(100, 5, 20), 5);
        assert_eq!(strip_rows(100, 1, 20), 1);
        // Five rows fit, so four are taken.
        assert_eq!(strip_rows(100, 6, 20), 4);
        // Not even two fit.
        assert_eq!(strip_rows(10, 6, 20), 2);
        assert_eq!(strip_rows(10, 1, 20), 1);
    }
}
