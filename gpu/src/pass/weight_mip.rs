//! The weight-mip pass: the twin of the terrain crate's `kernel::weight_mip`, shader `weight_mip.wgsl`.
//!
//! Works in strips of whole row pairs, so that any map goes through buffers of a fixed size. A target texel needs
//! the two source rows of its own strip only, so strips do not overlap. Formats are those of the kernel: packed
//! texels, integer ratios.

use super::{GROUP, Host, MAX_GROUPS, dispatch, download, load, pipeline, upload, words};
use crate::GpuError;
use crate::device::Vulkan;
use bytemuck::{Pod, Zeroable};
use highground_terrain::kernel::weight_mip::{Encoding, MAX_SIDE, mip_size};
use std::sync::Arc;
use vulkano::pipeline::ComputePipeline;

/// The most source bytes that may go into one strip: half of what a storage buffer can hold anywhere. A strip of it
/// stays within [`MAX_GROUPS`].
pub(crate) const MAX_STRIP_BYTES: u32 = 64 << 20;

// Two Normal texels an invocation, a quarter of the source's texels, two bytes each.
const _: () = assert!(MAX_STRIP_BYTES / 2 / 4 / 2 / GROUP <= MAX_GROUPS);
// Two rows of the longest kind fit, so that every map has strips. The ceiling of an odd width is in the slack.
const _: () = assert!(2 * 3 * MAX_SIDE <= MAX_STRIP_BYTES);

/// What the shader knows of a strip: its `Strip`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Strip {
    size: [u32; 2],
    mip_width: u32,
    mip_texels: u32,
}

/// Pipelines for both encodings.
pub(crate) struct WeightMip {
    hd: Arc<ComputePipeline>,
    normal: Arc<ComputePipeline>,
    strip_bytes: u32,
}

impl WeightMip {
    /// `strip_bytes` is how much source a strip holds, as far as at least two rows and at most [`MAX_STRIP_BYTES`]
    /// allow it.
    pub(crate) fn new(vulkan: &Vulkan, strip_bytes: u32) -> Result<Self, GpuError> {
        let module = load(vulkan, "weight_mip")?;
        Ok(Self {
            hd: pipeline(vulkan, &module, "hd")?,
            normal: pipeline(vulkan, &module, "normal")?,
            strip_bytes: strip_bytes.min(MAX_STRIP_BYTES),
        })
    }

    /// The next mip of a map whose size and length the caller has checked.
    pub(crate) fn run(
        &self,
        vulkan: &Vulkan,
        encoding: Encoding,
        size: [u32; 2],
        texels: &[u8],
    ) -> Result<Vec<u8>, GpuError> {
        // Target texels and words of one invocation.
        let (pipeline, group_texels, group_words) = match encoding {
            Encoding::Hd => (&self.hd, 4, 3),
            Encoding::Normal => (&self.normal, 2, 1),
        };
        let row_bytes = size[0] as usize * encoding.texel_bytes();
        let rows = strip_rows(self.strip_bytes, size[1], row_bytes);
        let [mip_width, mip_height] = mip_size(size);
        let mip_row_bytes = mip_width as usize * encoding.texel_bytes();
        let most_invocations = (mip_width * rows.div_ceil(2)).div_ceil(group_texels);

        let source = words(vulkan, (rows as usize * row_bytes).div_ceil(4) as u64, Host::Writes)?;
        let target = words(vulkan, u64::from(most_invocations) * group_words, Host::Reads)?;
        let mut out = vec![0; mip_row_bytes * mip_height as usize];
        let strips = texels.chunks(rows as usize * row_bytes);
        let targets = out.chunks_mut(rows.div_ceil(2) as usize * mip_row_bytes);
        for (strip, bytes) in strips.zip(targets) {
            let strip_rows = (strip.len() / row_bytes) as u32;
            let mip_texels = mip_width * strip_rows.div_ceil(2);
            upload(&source, strip)?;
            let push = Strip { size: [size[0], strip_rows], mip_width, mip_texels };
            let groups = mip_texels.div_ceil(group_texels).div_ceil(GROUP);
            dispatch(vulkan, pipeline, &[&source, &target], push, groups)?;
            download(&target, bytes)?;
        }
        Ok(out)
    }
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
