//! Surface layers: the weight chain, from the painted map down to one texel.
//!
//! Owns a map's weight mips and the questions about them. Makes them through [`Compute`], so any device may do the
//! work, and names the result by a digest that is the same for each. Never reads files.

use crate::compute::{Compute, ComputeError};
use crate::kernel::weight_mip::{Encoding, WeightMipError, byte_len, check_len, mip_size};
use crate::pass::weight_mip::chain;

/// One level of a [`WeightChain`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeightMip {
    size: [u32; 2],
    texels: Vec<u8>,
}

impl WeightMip {
    /// Width and height in texels.
    pub fn size(&self) -> [u32; 2] {
        self.size
    }

    /// Stored texels, row-major, X fastest.
    pub fn texels(&self) -> &[u8] {
        &self.texels
    }
}

/// A weight map with every mip down to 1×1, mip 0 being the map itself.
///
/// Memory: the chain holds [`WeightChain::bytes_for`] bytes, about 4/3 of the map (twice the map where it is one
/// texel wide). Building it holds nothing more but what the device needs for one call: nothing on the CPU, one strip
/// of rows on a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeightChain {
    encoding: Encoding,
    mips: Vec<WeightMip>,
}

impl WeightChain {
    /// Makes the chain of a row-major map of `size` texels. A borrowed `mip0` is copied, a `Vec` is taken over.
    ///
    /// # Errors
    /// A length or size that is wrong, or a device that fails.
    pub fn build<'a>(
        compute: &dyn Compute,
        encoding: Encoding,
        size: [u32; 2],
        mip0: impl Into<std::borrow::Cow<'a, [u8]>>,
    ) -> Result<Self, ComputeError> {
        let mip0 = mip0.into();
        check_len("weight map", encoding, size, mip0.len() as u64)?;
        let mut mips = vec![WeightMip { size, texels: mip0.into_owned() }];
        for texels in chain(compute, encoding, size, &mips[0].texels)? {
            let size = mip_size(mips[mips.len() - 1].size);
            mips.push(WeightMip { size, texels });
        }
        Ok(Self { encoding, mips })
    }

    /// Bytes that the chain of a map of this size holds, to be checked against a budget before building it.
    ///
    /// # Errors
    /// Sides of zero or too long.
    pub fn bytes_for(encoding: Encoding, mut size: [u32; 2]) -> Result<u64, WeightMipError> {
        let mut bytes = byte_len(encoding, size)?;
        while size != [1, 1] {
            size = mip_size(size);
            bytes += byte_len(encoding, size)?;
        }
        Ok(bytes)
    }

    /// How texels are stored.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Every level, the painted map first, 1×1 last.
    pub fn mips(&self) -> &[WeightMip] {
        &self.mips
    }

    /// The stored texel, or `None` where there is no such mip or texel.
    pub fn texel(&self, mip: usize, x: u32, z: u32) -> Option<&[u8]> {
        let level = self.mips.get(mip)?;
        let [w, h] = level.size;
        if x >= w || z >= h {
            return None;
        }
        let n = self.encoding.texel_bytes();
        let at = (z as usize * w as usize + x as usize) * n;
        level.texels.get(at..at + n)
    }

    /// The stronger layer of a texel, as its stored ratio says, or `None` where there is no such mip or texel.
    pub fn dominant(&self, mip: usize, x: u32, z: u32) -> Option<u8> {
        self.texel(mip, x, z).map(|t| self.encoding.dominant(t))
    }

    /// blake3 over a domain tag, the encoding's name, the number of mips, and each mip's size (u32 little-endian)
    /// and bytes. The same whichever device made the chain.
    pub fn digest(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"highground weight chain 1\0");
        let name = self.encoding.name();
        hasher.update(&(name.len() as u32).to_le_bytes());
        hasher.update(name.as_bytes());
        hasher.update(&(self.mips.len() as u32).to_le_bytes());
        for mip in &self.mips {
            for side in mip.size {
                hasher.update(&side.to_le_bytes());
            }
            hasher.update(&mip.texels);
        }
        *hasher.finalize().as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compute::CpuCompute;
    use crate::kernel::weight_mip::HdTexel;

    fn map(size: [u32; 2]) -> Vec<u8> {
        let n = size[0] * size[1];
        (0..n).flat_map(|i| [(i % 5) as u8, (i / 3 % 7) as u8, (i * 37 % 256) as u8]).collect()
    }

    #[test]
    fn chains_end_at_one_texel_and_hold_the_bytes_they_say() {
        for size in [[1, 1], [1, 9], [5, 3], [64, 64], [37, 129]] {
            let chain = WeightChain::build(&CpuCompute::new(), Encoding::Hd, size, map(size)).unwrap();
            assert_eq!(chain.mips()[0].texels(), map(size));
            assert_eq!(chain.mips().last().unwrap().size(), [1, 1]);
            let held: usize = chain.mips().iter().map(|m| m.texels().len()).sum();
            assert_eq!(held as u64, WeightChain::bytes_for(Encoding::Hd, size).unwrap());
        }
    }

    #[test]
    fn odd_sides_round_up_on_the_way_down() {
        let chain = WeightChain::build(&CpuCompute::new(), Encoding::Hd, [5, 3], map([5, 3])).unwrap();
        let sizes: Vec<_> = chain.mips().iter().map(WeightMip::size).collect();
        assert_eq!(sizes, [[5, 3], [3, 2], [2, 1], [1, 1]]);
    }

    #[test]
    fn the_dominant_layer_of_a_coarse_texel_is_the_majority() {
        // Three quarters layer 6, one quarter layer 2, down to one texel: 255 · 1/4 = 63.75 rounds to 64.
        let mut texels = vec![HdTexel { id1: 6, id2: 6, ratio: 0 }; 64];
        for z in 0..4 {
            texels[z * 8..z * 8 + 4].fill(HdTexel { id1: 2, id2: 2, ratio: 0 });
        }
        let bytes = HdTexel::map_to_bytes(&texels);
        let chain = WeightChain::build(&CpuCompute::new(), Encoding::Hd, [8, 8], &bytes).unwrap();
        assert_eq!(chain.texel(3, 0, 0), Some(&[6, 2, 64][..]));
        assert_eq!(chain.dominant(3, 0, 0), Some(6));
        assert_eq!(chain.dominant(0, 3, 3), Some(2));
        assert_eq!(chain.dominant(0, 4, 3), Some(6));
        assert_eq!(chain.dominant(0, 8, 0), None);
        assert_eq!(chain.dominant(4, 0, 0), None);
    }

    #[test]
    fn the_digest_sees_encoding_shape_and_every_byte() {
        let cpu = CpuCompute::new();
        let build = |size, texels: &[u8]| WeightChain::build(&cpu, Encoding::Hd, size, texels).unwrap();
        let bytes = map([6, 4]);
        let digest = build([6, 4], &bytes).digest();
        assert_eq!(build([6, 4], &bytes).digest(), digest);
        assert_ne!(build([4, 6], &bytes).digest(), digest);
        let normal = WeightChain::build(&cpu, Encoding::Normal, [6, 6], &bytes).unwrap();
        assert_ne!(normal.digest(), digest);
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert_ne!(build([6, 4], &changed).digest(), digest, "byte {at}");
        }
    }

    #[test]
    fn a_map_of_the_wrong_length_is_refused() {
        let wrong = WeightChain::build(&CpuCompute::new(), Encoding::Normal, [3, 3], &[0; 17][..]);
        assert_eq!(
            wrong.unwrap_err().to_string(),
            "weight map: expected 18 bytes for 3x3 normal texels, found 17"
        );
    }
}
