//! Weight mips: 2×2 texels re-encoded by layer contribution.
//!
//! Owns the two-layer texel encodings and the pass that makes the next mip of a weight map. Every child texel gives
//! (full − ratio) to its first layer and ratio to its second; contributions are added up per layer over 32 layers,
//! the two largest (ties to the smaller id) are kept and their ratio is renormalised, rounded half up. The rule is
//! section 5.2 of the reference article on custom terrain. Integers only, so the GPU twin (`weight_mip.wgsl`) gives
//! the same bytes. Never filters ids, never touches files.
//!
//! Odd sizes round up; children beyond the edge contribute nothing. Ids of 32 and more contribute nothing. No
//! contribution at all gives layer 0. Two equal contributions give ratio ⌈full / 2⌉ (128 or 4), the half rounded up.

use super::{Bound, Entry, bytes_of, bytes_of_mut};
use rayon::prelude::*;

/// The next mip of HD texels, packed three bytes a texel. Parameters: width, height, width of the mip, texels of the mip.
/// Reads texels, writes three words for each four texels of the mip; bytes behind the last texel are zeros.
pub const HD: Entry = Entry {
    kernel: "weight_mip",
    name: "hd",
    reads: 1,
    writes: 1,
    params: 4,
    twin: |params, bound| twin::<Hd>(params, bound),
};

/// The next mip of Normal texels, two bytes a texel. As [`HD`], a word for each two texels of the mip.
pub const NORMAL: Entry = Entry { name: "normal", twin: |params, bound| twin::<Normal>(params, bound), ..HD };

/// Layers that can contribute.
pub const LAYERS: u32 = 32;

/// The longest side of a weight map in texels: the largest terrain at four texels a cell is half of it.
pub const MAX_SIDE: u32 = 1 << 20;

/// A weight texel in the HD encoding: layer `id1` with weight 255 − `ratio`, layer `id2` with weight `ratio`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct HdTexel {
    /// First layer.
    pub id1: u8,
    /// Second layer.
    pub id2: u8,
    /// Weight of the second layer in 1/255.
    pub ratio: u8,
}

impl HdTexel {
    /// The stronger layer; ties go to the smaller id.
    pub const fn dominant(self) -> u8 {
        let first = 255 - self.ratio;
        if self.ratio > first || (self.ratio == first && self.id2 < self.id1) { self.id2 } else { self.id1 }
    }

    /// The three bytes id1, id2, ratio.
    pub const fn to_bytes(self) -> [u8; 3] {
        [self.id1, self.id2, self.ratio]
    }

    /// From the three bytes id1, id2, ratio.
    pub const fn from_bytes([id1, id2, ratio]: [u8; 3]) -> Self {
        Self { id1, id2, ratio }
    }

    /// The bytes of a whole map, row-major.
    pub fn map_to_bytes(texels: &[Self]) -> Vec<u8> {
        texels.iter().flat_map(|t| t.to_bytes()).collect()
    }
}

/// A weight texel in the Normal encoding: layer `id1` with weight 7 − `ratio`, layer `id2` with weight `ratio`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct NormalTexel {
    /// First layer, below 32.
    pub id1: u8,
    /// Second layer, below 32.
    pub id2: u8,
    /// Weight of the second layer in sevenths, at most 7.
    pub ratio: u8,
}

impl NormalTexel {
    /// The stronger layer. Sevenths cannot tie.
    pub const fn dominant(self) -> u8 {
        if self.ratio > 7 - self.ratio { self.id2 } else { self.id1 }
    }

    /// A little-endian u16: id1 in bits 0–4, id2 in 5–9, ratio in 10–12, zeros above. Higher bits of the fields are
    /// dropped.
    pub const fn to_bytes(self) -> [u8; 2] {
        let bits = (self.id1 as u16 & 31) | (self.id2 as u16 & 31) << 5 | (self.ratio as u16 & 7) << 10;
        bits.to_le_bytes()
    }

    /// From a little-endian u16; bits 13–15 are ignored.
    pub const fn from_bytes(bytes: [u8; 2]) -> Self {
        let bits = u16::from_le_bytes(bytes);
        Self { id1: (bits & 31) as u8, id2: (bits >> 5 & 31) as u8, ratio: (bits >> 10 & 7) as u8 }
    }
}

/// How a weight texel is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Encoding {
    /// Three bytes: [`HdTexel`].
    Hd,
    /// Two bytes: [`NormalTexel`].
    Normal,
}

impl Encoding {
    /// Both, in order.
    pub const ALL: [Encoding; 2] = [Encoding::Hd, Encoding::Normal];

    /// Bytes of one texel.
    pub const fn texel_bytes(self) -> usize {
        match self {
            Encoding::Hd => 3,
            Encoding::Normal => 2,
        }
    }

    /// The sum of a texel's two weights.
    pub const fn full_scale(self) -> u32 {
        match self {
            Encoding::Hd => 255,
            Encoding::Normal => 7,
        }
    }

    /// The name used on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Encoding::Hd => "hd",
            Encoding::Normal => "normal",
        }
    }

    /// The stronger layer of one stored texel.
    ///
    /// # Panics
    /// When `texel` is not [`Self::texel_bytes`] long.
    pub fn dominant(self, texel: &[u8]) -> u8 {
        match (self, texel) {
            (Encoding::Hd, &[a, b, c]) => HdTexel::from_bytes([a, b, c]).dominant(),
            (Encoding::Normal, &[a, b]) => NormalTexel::from_bytes([a, b]).dominant(),
            _ => panic!("a {} texel has {} bytes, not {}", self.name(), self.texel_bytes(), texel.len()),
        }
    }
}

/// Why a weight map was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WeightMipError {
    /// A side is zero or longer than [`MAX_SIDE`].
    #[error("weight map of {w}x{h} texels: expected sides from 1 to {MAX_SIDE}", w = size[0], h = size[1])]
    Size {
        /// Width and height in texels.
        size: [u32; 2],
    },
    /// The slice does not hold a map of that size.
    #[error(
        "{what}: expected {expected} bytes for {w}x{h} {encoding} texels, found {found}",
        w = size[0], h = size[1], encoding = encoding.name()
    )]
    Length {
        /// Which slice: "source" or "target".
        what: &'static str,
        /// How its texels are stored.
        encoding: Encoding,
        /// Width and height in texels.
        size: [u32; 2],
        /// Bytes that such a map has.
        expected: u64,
        /// Bytes that are there.
        found: u64,
    },
}

/// The size of the next mip: half of each side, rounded up. 1×1 stays 1×1.
pub const fn mip_size([w, h]: [u32; 2]) -> [u32; 2] {
    [w.div_ceil(2), h.div_ceil(2)]
}

/// Bytes of a map of this size.
///
/// # Errors
/// Sides of zero or beyond [`MAX_SIDE`].
pub const fn byte_len(encoding: Encoding, size: [u32; 2]) -> Result<u64, WeightMipError> {
    let [w, h] = size;
    if w == 0 || h == 0 || w > MAX_SIDE || h > MAX_SIDE {
        return Err(WeightMipError::Size { size });
    }
    // At most 2²⁰ · 2²⁰ · 3.
    Ok(w as u64 * h as u64 * encoding.texel_bytes() as u64)
}

/// Checks that `found` bytes are a map of this size. `what` names the slice in the error.
///
/// # Errors
/// A size out of range, or another length.
pub const fn check_len(
    what: &'static str,
    encoding: Encoding,
    size: [u32; 2],
    found: u64,
) -> Result<(), WeightMipError> {
    match byte_len(encoding, size) {
        Err(e) => Err(e),
        Ok(expected) if expected != found => {
            Err(WeightMipError::Length { what, encoding, size, expected, found })
        }
        Ok(_) => Ok(()),
    }
}

/// Writes the next mip of a row-major map of `size` texels into `out`, which holds [`mip_size`] texels.
///
/// # Errors
/// A size out of range, or a slice of another length than its size and encoding need.
pub fn downsample(
    encoding: Encoding,
    size: [u32; 2],
    texels: &[u8],
    out: &mut [u8],
) -> Result<(), WeightMipError> {
    check_len("source", encoding, size, texels.len() as u64)?;
    check_len("target", encoding, mip_size(size), out.len() as u64)?;
    match encoding {
        Encoding::Hd => rows::<Hd>(size, texels, out),
        Encoding::Normal => rows::<Normal>(size, texels, out),
    }
    Ok(())
}

/// Target texels handled together, so that every step below is a few vector instructions.
const LANES: usize = 32;

/// Contributions to a target texel: two from each of four children.
const CONTRIBUTIONS: usize = 8;

type Lanes = [i16; LANES];

/// A stored encoding, for the loops that are compiled once for each.
trait Codec {
    const BYTES: usize;
    const FULL: u16;
    /// id1, id2, ratio. Sees exactly [`Self::BYTES`] bytes.
    fn read(bytes: &[u8]) -> [u8; 3];
    fn write(bytes: &mut [u8], texel: [u8; 3]);
}

struct Hd;

impl Codec for Hd {
    const BYTES: usize = 3;
    const FULL: u16 = 255;

    #[inline(always)]
    fn read(bytes: &[u8]) -> [u8; 3] {
        [bytes[0], bytes[1], bytes[2]]
    }

    #[inline(always)]
    fn write(bytes: &mut [u8], texel: [u8; 3]) {
        bytes.copy_from_slice(&texel);
    }
}

struct Normal;

impl Codec for Normal {
    const BYTES: usize = 2;
    const FULL: u16 = 7;

    #[inline(always)]
    fn read(bytes: &[u8]) -> [u8; 3] {
        let t = NormalTexel::from_bytes([bytes[0], bytes[1]]);
        [t.id1, t.id2, t.ratio]
    }

    #[inline(always)]
    fn write(bytes: &mut [u8], [id1, id2, ratio]: [u8; 3]) {
        bytes.copy_from_slice(&NormalTexel { id1, id2, ratio }.to_bytes());
    }
}

/// Rows of the mip that are a task of their own.
const BAND: usize = 16;

fn twin<C: Codec>(params: &[u32], bound: &mut Bound<'_>) {
    let ([texels], [mip]) = bound.split();
    let [w, h] = [params[0] as usize, params[1] as usize];
    let (stride, mip_stride) = (w * C::BYTES, params[2] as usize * C::BYTES);
    let texels = &bytes_of(texels)[..h * stride];
    let (out, behind) = bytes_of_mut(mip).split_at_mut(params[3] as usize * C::BYTES);
    behind.fill(0);
    let bands = texels.par_chunks(2 * BAND * stride).zip(out.par_chunks_mut(BAND * mip_stride));
    bands.for_each(|(texels, out)| rows::<C>([params[0], 0], texels, out));
}

fn rows<C: Codec>(size: [u32; 2], texels: &[u8], out: &mut [u8]) {
    let source_stride = size[0] as usize * C::BYTES;
    let target_stride = mip_size(size)[0] as usize * C::BYTES;
    let pairs = texels.chunks(2 * source_stride);
    for (pair, target) in pairs.zip(out.chunks_exact_mut(target_stride)) {
        let (first, second) = pair.split_at(source_stride);
        let batches = target.chunks_mut(LANES * C::BYTES);
        for (batch, target) in batches.enumerate() {
            let from = batch * 2 * LANES * C::BYTES;
            let mut children = Children::default();
            children.gather::<C>(0, &first[from..]);
            // Absent on the last row of an odd height: it then contributes nothing.
            if !second.is_empty() {
                children.gather::<C>(4, &second[from..]);
            }
            children.reduce::<C>(target);
        }
    }
}

/// The contributions to a batch of target texels, as structure of arrays.
#[derive(Default)]
struct Children {
    /// 31 − id, so that of two keys with equal mass the smaller id is the larger key.
    rank: [Lanes; CONTRIBUTIONS],
    /// Zero for absent children and for ids that cannot contribute.
    mass: [Lanes; CONTRIBUTIONS],
}

impl Children {
    /// Takes contributions `slot` to `slot + 3` from the row that starts at `row`: two children a lane.
    #[inline(always)]
    fn gather<C: Codec>(&mut self, slot: usize, row: &[u8]) {
        let mut pairs = row.chunks_exact(2 * C::BYTES);
        let mut lanes = 0;
        for (lane, pair) in pairs.by_ref().take(LANES).enumerate() {
            self.put::<C>(slot, lane, &pair[..C::BYTES]);
            self.put::<C>(slot + 2, lane, &pair[C::BYTES..]);
            lanes = lane + 1;
        }
        // The last column of an odd width has no right-hand child.
        if lanes < LANES && pairs.remainder().len() == C::BYTES {
            self.put::<C>(slot, lanes, pairs.remainder());
        }
    }

    #[inline(always)]
    fn put<C: Codec>(&mut self, slot: usize, lane: usize, texel: &[u8]) {
        let [id1, id2, ratio] = C::read(texel);
        let ratio = u16::from(ratio);
        for (slot, id, mass) in [(slot, id1, C::FULL - ratio), (slot + 1, id2, ratio)] {
            self.rank[slot][lane] = 31 - i16::from(id & 31);
            // Without a branch: a mass of zero under some other layer's id changes nothing.
            self.mass[slot][lane] = if u32::from(id) < LAYERS { mass as i16 } else { 0 };
        }
    }

    /// Adds up, picks the two largest and encodes them; `target` is the batch's part of the row.
    #[expect(clippy::needless_range_loop, reason = "a lane is the same place in several arrays at once")]
    #[inline(always)]
    fn reduce<C: Codec>(&self, target: &mut [u8]) {
        let mut total = self.mass;
        for a in 1..CONTRIBUTIONS {
            for b in 0..a {
                for lane in 0..LANES {
                    let same = -i16::from(self.rank[a][lane] == self.rank[b][lane]);
                    total[a][lane] += same & self.mass[b][lane];
                    total[b][lane] += same & self.mass[a][lane];
                }
            }
        }
        // mass · 32 + rank: at most 1020 · 32 + 31, which an i16 holds. Contributions to one layer share one key, so
        // the second layer is the largest key that is not the first.
        let mut first = [0i16; LANES];
        for (rank, total) in self.rank.iter().zip(&mut total) {
            for lane in 0..LANES {
                total[lane] = total[lane] << 5 | rank[lane];
                first[lane] = first[lane].max(total[lane]);
            }
        }
        let mut second = [0i16; LANES];
        for key in &total {
            for lane in 0..LANES {
                let other = -i16::from(key[lane] != first[lane]);
                second[lane] = second[lane].max(key[lane] & other);
            }
        }
        for (lane, bytes) in target.chunks_exact_mut(C::BYTES).enumerate() {
            C::write(bytes, encode(first[lane], second[lane], C::FULL));
        }
    }
}

/// The texel of the two largest keys.
#[inline(always)]
fn encode(first: i16, second: i16, full: u16) -> [u8; 3] {
    let (mass1, id1) = ((first >> 5) as u32, 31 - (first & 31) as u8);
    let (mass2, id2) = ((second >> 5) as u32, 31 - (second & 31) as u8);
    if mass1 == 0 {
        return [0, 0, 0];
    }
    if mass2 == 0 {
        return [id1, id1, 0];
    }
    let sum = mass1 + mass2;
    [id1, id2, ((2 * u32::from(full) * mass2 + sum) / (2 * sum)) as u8]
}

#[cfg(test)]
mod tests;
