//! Full weights of a texel: what shows of each layer, and the two-layer encodings made from it.
//!
//! Owns how layers of the three kinds join (weight, height-adjusted, ordered alpha), the normalisation of painted
//! weights, the HD and Normal texels derived from full weights, and the loss of deriving them. Integers only. Never
//! resamples, never adjusts by height (that needs textures and happens where pages are baked: here a height-adjusted
//! layer counts as painted), never allocates.
//!
//! **Fixed point.** Masses are `u32` in units of 1/[`ONE`], ONE = 255 · 2¹⁶. The masses of a texel sum to exactly ONE.
//! 1. The *base*: weight and height-adjusted layers, painted `w` out of their sum S, get ⌊w · ONE / S⌋; what the floors
//!    leave goes to the largest (ties to the smaller id). With S = 255 this is exactly w · 2¹⁶. With S = 0 the base is
//!    layer 0 wholly, whatever its kind.
//! 2. *Ordered alpha* layers follow in ascending id, all of them over the whole base. A layer of alpha `a` leaves
//!    ⌊m · (255 − a) / 255⌋ of every mass so far and takes the rest itself.
//!
//! All products stay below 2³², so a twin needs 32-bit arithmetic only.

use super::weight_mip::{Encoding, HdTexel, LAYERS, NormalTexel};
use serde::{Deserialize, Serialize};

/// The sum of a texel's masses.
pub const ONE: u32 = 255 << 16;

/// Losses are counted in 1/65535.
pub const LOSS_ONE: u32 = 65535;

/// One mass a layer id, summing to [`ONE`].
pub type Masses = [u32; LAYERS as usize];

/// How a layer joins the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LayerKind {
    /// Shares the texel by its painted weight.
    #[default]
    Weight,
    /// Shares the texel by its painted weight, shifted by its height texture when pages are baked.
    HeightAdjusted,
    /// Covers everything under it by its painted alpha; layers of this kind lie in ascending id.
    OrderedAlpha,
}

impl LayerKind {
    /// As recipes and catalogues write it.
    pub const fn name(self) -> &'static str {
        match self {
            LayerKind::Weight => "weight",
            LayerKind::HeightAdjusted => "height_adjusted",
            LayerKind::OrderedAlpha => "ordered_alpha",
        }
    }

    /// Whether the layer is part of the base, whose weights sum to 255.
    pub const fn is_base(self) -> bool {
        !matches!(self, LayerKind::OrderedAlpha)
    }
}

/// What shows of each layer of one texel. `weights` holds the painted values of the first layers; the others are 0.
///
/// # Panics
/// With more than 32 kinds, or more weights than kinds.
pub fn effective(kinds: &[LayerKind], weights: &[u8]) -> Masses {
    assert!(kinds.len() <= LAYERS as usize && weights.len() <= kinds.len(), "a weight a layer, at most 32");
    let painted = kinds.iter().zip(weights).enumerate().map(|(id, (&kind, &w))| (id, kind, w));
    join(painted)
}

/// [`effective`] over (id, kind, painted) in ascending id.
fn join(painted: impl Iterator<Item = (usize, LayerKind, u8)> + Clone) -> Masses {
    let mut masses = [0u32; LAYERS as usize];
    let base = painted.clone().filter(|&(_, kind, _)| kind.is_base());
    let sum: u32 = base.clone().map(|(.., w)| u32::from(w)).sum();
    // With a sum of 0 nothing is taken, and all is left to layer 0.
    let (mut strongest, mut most, mut left) = (0, 0, ONE);
    for (id, _, w) in base {
        masses[id] = (u32::from(w) * ONE).checked_div(sum).unwrap_or(0);
        left -= masses[id];
        if w > most {
            (strongest, most) = (id, w);
        }
    }
    masses[strongest] += left;
    for (id, _, alpha) in painted.filter(|&(_, kind, w)| !kind.is_base() && w > 0) {
        let mut left = ONE;
        for m in &mut masses {
            *m = *m * (255 - u32::from(alpha)) / 255;
            left -= *m;
        }
        masses[id] += left;
    }
    masses
}

/// The two largest masses with their ids, ties in ascending id. When only one layer shows, the second is that id again
/// with a mass of 0.
fn strongest_two(masses: impl Iterator<Item = (u8, u32)>) -> [(u8, u32); 2] {
    let (mut first, mut second) = ((0, 0), (0, 0));
    for (id, mass) in masses {
        if mass > first.1 {
            (first, second) = ((id, mass), first);
        } else if mass > second.1 {
            second = (id, mass);
        }
    }
    [first, if second.1 == 0 { (first.0, 0) } else { second }]
}

/// The two masses' ratio in steps of the encoding, rounded half up; not both are 0.
fn ratio(encoding: Encoding, m1: u32, m2: u32) -> u8 {
    let sum = m1 + m2;
    // m2 ≤ ONE / 2, so that full · m2 + sum / 2 stays below 2³². Rounding sum / 2 down changes nothing: where the sum is
    // odd no ratio lies on a half.
    ((encoding.full_scale() * m2 + sum / 2) / sum) as u8
}

/// Total variation ½ Σ |shown − decoded| of a texel that keeps masses `m1` and `m2`, in 1/65535, rounded up.
fn loss(encoding: Encoding, m1: u32, m2: u32, ratio: u8) -> u32 {
    let full = u64::from(encoding.full_scale());
    let [one, m1, m2, r] = [ONE, m1, m2, u32::from(ratio)].map(u64::from);
    // In units of 1/(2 · full · ONE).
    let off = (full * m1).abs_diff(one * (full - r)) + (full * m2).abs_diff(one * r) + full * (one - m1 - m2);
    (off * u64::from(LOSS_ONE)).div_ceil(2 * full * one) as u32
}

/// A texel with ids and ratio in the encoding's steps, and its loss.
fn encode(encoding: Encoding, [(id1, m1), (id2, m2)]: [(u8, u32); 2]) -> ([u8; 3], u32) {
    let r = ratio(encoding, m1, m2);
    ([id1, id2, r], loss(encoding, m1, m2, r))
}

/// The HD texel of masses that sum to [`ONE`]: the two largest (ties to the smaller id), the share of the second
/// rounded half up. With its loss: total variation between the masses and the texel, in 1/65535, rounded up.
pub fn hd(masses: &Masses) -> (HdTexel, u32) {
    let (bytes, loss) = encode(Encoding::Hd, strongest_two((0..).zip(masses.iter().copied())));
    (HdTexel::from_bytes(bytes), loss)
}

/// The Normal texel of masses that sum to [`ONE`], as [`hd`], with its loss.
pub fn normal(masses: &Masses) -> (NormalTexel, u32) {
    let ([id1, id2, ratio], loss) =
        encode(Encoding::Normal, strongest_two((0..).zip(masses.iter().copied())));
    (NormalTexel { id1, id2, ratio }, loss)
}

/// Encodes a row. `planes` holds each layer's painted values, `None` for all 0. Gives the largest loss of its texels, in
/// 1/65535, rounded up.
///
/// # Panics
/// With more than 32 kinds, more planes than kinds, or a plane of another length than `out`.
pub fn hd_row(kinds: &[LayerKind], planes: &[Option<&[u8]>], out: &mut [HdTexel]) -> u32 {
    row(Encoding::Hd, kinds, planes, out, HdTexel::from_bytes)
}

/// As [`hd_row`], for Normal texels: id1 in bits 0–4, id2 in 5–9, ratio in 10–12.
///
/// # Panics
/// As [`hd_row`].
pub fn normal_row(kinds: &[LayerKind], planes: &[Option<&[u8]>], out: &mut [u16]) -> u32 {
    row(Encoding::Normal, kinds, planes, out, |[id1, id2, ratio]| {
        u16::from_le_bytes(NormalTexel { id1, id2, ratio }.to_bytes())
    })
}

fn row<T>(
    encoding: Encoding,
    kinds: &[LayerKind],
    planes: &[Option<&[u8]>],
    out: &mut [T],
    texel: impl Fn([u8; 3]) -> T,
) -> u32 {
    assert!(kinds.len() <= LAYERS as usize && planes.len() <= kinds.len(), "a plane a layer, at most 32");
    let mut buffer: [(u8, LayerKind, &[u8]); LAYERS as usize] =
        [(0, LayerKind::Weight, &[]); LAYERS as usize];
    let mut count = 0;
    for (id, (&kind, plane)) in kinds.iter().zip(planes).enumerate() {
        if let Some(plane) = plane {
            assert_eq!(plane.len(), out.len(), "layer {id}: a value a texel");
            buffer[count] = (id as u8, kind, plane);
            count += 1;
        }
    }
    let present = &buffer[..count];
    let all_base = present.iter().all(|(_, kind, _)| kind.is_base());
    let mut most = 0;
    for (i, out) in out.iter_mut().enumerate() {
        // The usual texel needs no masses of all layers: its painted weights are what shows.
        let two = if all_base && present.iter().map(|p| u32::from(p.2[i])).sum::<u32>() == 255 {
            strongest_two(present.iter().map(|p| (p.0, u32::from(p.2[i]) << 16)))
        } else {
            let masses = join(present.iter().map(|p| (usize::from(p.0), p.1, p.2[i])));
            strongest_two((0..).zip(masses))
        };
        let (bytes, loss) = encode(encoding, two);
        most = most.max(loss);
        *out = texel(bytes);
    }
    most
}

/// Scales one texel's base weights to sum 255 by largest remainders (ties to the smaller id). Whether that changed any;
/// all 0 stays.
///
/// # Panics
/// With more than 32 weights.
pub fn normalise_255(weights: &mut [u8]) -> bool {
    assert!(weights.len() <= LAYERS as usize, "at most 32 layers");
    let sum: u32 = weights.iter().map(|&w| u32::from(w)).sum();
    if sum == 0 || sum == 255 {
        return false;
    }
    let mut remainders = [0u32; LAYERS as usize];
    let mut left = 255;
    for (w, rest) in weights.iter_mut().zip(&mut remainders) {
        let scaled = u32::from(*w) * 255;
        (*w, *rest) = ((scaled / sum) as u8, scaled % sum);
        left -= u32::from(*w);
    }
    for _ in 0..left {
        let mut largest = 0;
        for (i, &rest) in remainders.iter().enumerate() {
            if rest > remainders[largest] {
                largest = i;
            }
        }
        // The remainders sum to left · sum and each is below the sum, so there is always one left to round up.
        weights[largest] += 1;
        remainders[largest] = 0;
    }
    true
}

/// An HD texel as full weights that sum to 255, without loss: 255 − ratio on id1 and ratio on id2, added up when the ids
/// are equal. `None` for ids of 32 and more.
pub fn hd_to_full(texel: HdTexel) -> Option<[u8; LAYERS as usize]> {
    let mut full = [0; LAYERS as usize];
    *full.get_mut(usize::from(texel.id1))? = 255 - texel.ratio;
    *full.get_mut(usize::from(texel.id2))? += texel.ratio;
    Some(full)
}

#[cfg(test)]
mod tests;
