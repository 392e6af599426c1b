//! Layer images: what artists paint, of any size, made into texture arrays of one power-of-two size with full mips.
//!
//! Owns the resampling (see [`resample`](self)), the defaults and the order of height sources. Never decides when textures
//! are needed, never compresses them. Integers only, but for one table, so the bytes are the same for any thread count and
//! on any machine.
//!
//! **Values.** Albedo and emissive are sRGB and are filtered as light; everything else as it is. Grey stands for all three
//! channels. Normals are vectors 2v − 1: their means are filtered on, and each texel that is stored is brought to length one
//! (a mean of no length is flat). Transparent palettes and greys count as alpha.
//!
//! **Height** (the albedo array's alpha) comes from the height image's first channel; else from the albedo's alpha when any
//! of its texels is below full; else from the ORM image's occlusion; else it is ½. What is missing otherwise: white albedo,
//! flat normal, ORM (1, 0.9, 0), black emissive ([`Kind::default_texel`]).

mod arrays;
mod curve;
mod resample;

pub use arrays::{Kind, LayerArrays, MAGIC, MAX_SIDE, PREFIX_BYTES, VERSION, stated};

use crate::content::{Layer, LayerImages, MAX_LAYERS};
use crate::image::{Image, ImageError};
use curve::{Curve, ONE};
use rayon::prelude::*;
use std::path::{Component, Path};

/// How arrays are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Texels a side: a power of two up to [`MAX_SIDE`].
    pub side: u32,
    /// The most bytes that the arrays and what making them takes may have.
    pub budget_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { side: 1024, budget_bytes: 4 << 30 }
    }
}

/// Why layer images cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LayerImageError {
    /// What was asked for.
    #[error("{0}")]
    Usage(String),
    /// An image.
    #[error(transparent)]
    Image(#[from] ImageError),
}

/// Makes the arrays of layers whose images lie in a folder.
///
/// # Errors
/// As [`build`]; a name that leads out of the folder.
pub fn from_folder(
    folder: &Path,
    layers: &[Layer],
    options: Options,
) -> Result<LayerArrays, LayerImageError> {
    let images: Vec<&LayerImages> = layers.iter().map(|l| &l.images).collect();
    build(&images, options, &|name, most| {
        let path = folder.join(name);
        if !Path::new(name).components().all(|c| matches!(c, Component::Normal(_))) {
            return Err(ImageError { path, message: "expected a file inside the folder".into() });
        }
        Image::read(&path, resample::MAX_IMAGE_SIDE, most)
    })
}

/// Makes the arrays of layers. `open` gives an image by its name, of so many bytes at most.
///
/// # Errors
/// A size or a budget that will not do, before anything is read; an image that cannot be used.
pub fn build(
    layers: &[&LayerImages],
    options: Options,
    open: &dyn Fn(&str, u64) -> Result<Image, ImageError>,
) -> Result<LayerArrays, LayerImageError> {
    let (used, most) = check(layers, options)?;
    let (side, count) = (options.side, layers.len() as u32);
    let array = arrays::array_bytes(side, count) as usize;
    let mut out = LayerArrays { side, layers: count, arrays: used.map(|used| used.then(|| vec![0; array])) };
    for (i, images) in layers.iter().enumerate() {
        let get = |name: &Option<String>, least: u8, what: &str| -> Result<Option<Image>, ImageError> {
            let Some(name) = name else { return Ok(None) };
            let image = open(name, most)?;
            if image.size().iter().any(|&n| n > resample::MAX_IMAGE_SIDE) || image.channels() < least {
                let side = resample::MAX_IMAGE_SIDE;
                let expected =
                    format!("{what} image of at least {least} channels and at most {side} texels a side");
                let message = format!("expected {expected}, found {}", image.form());
                return Err(ImageError { path: name.into(), message });
            }
            Ok(Some(image))
        };
        let normal = get(&images.normal, 3, "a normal")?;
        out.store(Kind::Normal, i, normal.map(|m| planes(&m, Curve::Linear, side)));
        let emissive = get(&images.emissive, 1, "an emissive")?;
        out.store(Kind::Emissive, i, emissive.map(|m| planes(&m, Curve::Srgb, side)));
        let orm = get(&images.orm, 3, "an occlusion, roughness, metallic")?;
        let albedo = get(&images.albedo, 1, "an albedo")?;
        let height = get(&images.height, 1, "a height")?;
        if used[0] {
            let mut all = albedo.as_ref().map_or_else(Vec::new, |m| planes(m, Curve::Srgb, side));
            all.resize_with(3, || vec![ONE; side as usize * side as usize]);
            all.push(heights(height.as_ref(), albedo.as_ref(), orm.as_ref(), side));
            out.store(Kind::Albedo, i, Some(all));
        }
        out.store(Kind::Orm, i, orm.map(|m| planes(&m, Curve::Linear, side)));
    }
    Ok(out)
}

/// Which arrays there will be, and the bytes that an image may have: before anything is read or allocated.
fn check(layers: &[&LayerImages], options: Options) -> Result<([bool; 4], u64), LayerImageError> {
    let Options { side, budget_bytes } = options;
    let usage = |message: String| Err(LayerImageError::Usage(message));
    if !side.is_power_of_two() || side > MAX_SIDE {
        return usage(format!(
            "a layer texture must have a power of two up to {MAX_SIDE} texels a side, found {side}"
        ));
    }
    if layers.is_empty() || layers.len() > MAX_LAYERS {
        return usage(format!("expected 1 to {MAX_LAYERS} layers, found {}", layers.len()));
    }
    let has = |f: fn(&LayerImages) -> bool| layers.iter().any(|l| f(l));
    let used = [
        has(|l| l.albedo.is_some() || l.height.is_some() || l.orm.is_some()),
        has(|l| l.normal.is_some()),
        has(|l| l.orm.is_some()),
        has(|l| l.emissive.is_some()),
    ];
    let count = layers.len() as u32;
    // Four planes of four bytes and one coarser mip of them while a slice is made.
    let work = 20 * u64::from(side) * u64::from(side);
    let needed = arrays::array_bytes(side, count) * used.iter().filter(|&&u| u).count() as u64 + work;
    if needed > budget_bytes {
        return usage(format!(
            "the textures of {count} layers of {side}x{side} texels need {needed} bytes, more than the {budget_bytes} allowed: take a smaller size"
        ));
    }
    // Three images are held at most.
    Ok((used, (budget_bytes - needed) / 3))
}

/// The three colour channels of an image.
fn planes(image: &Image, curve: Curve, side: u32) -> Vec<Vec<u32>> {
    if image.channels() < 3 {
        return vec![resample::channel(image, 0, curve, side); 3];
    }
    (0..3).map(|c| resample::channel(image, c, curve, side)).collect()
}

/// The channel of an image's alpha when any of it is below full.
fn alpha(image: &Image) -> Option<usize> {
    let channels = usize::from(image.channels());
    let bytes = usize::from(image.bits() / 8);
    let last = |texel: &[u8]| texel[(channels - 1) * bytes..].iter().any(|&b| b != 255);
    (channels % 2 == 0 && image.bytes().par_chunks_exact(channels * bytes).any(last)).then_some(channels - 1)
}

fn heights(height: Option<&Image>, albedo: Option<&Image>, orm: Option<&Image>, side: u32) -> Vec<u32> {
    let source = height
        .map(|m| (m, 0))
        .or_else(|| albedo.and_then(|m| alpha(m).map(|c| (m, c))))
        .or_else(|| orm.map(|m| (m, 0)));
    match source {
        Some((image, channel)) => resample::channel(image, channel, Curve::Linear, side),
        None => vec![ONE / 2; side as usize * side as usize],
    }
}

impl LayerArrays {
    /// Stores a layer's planes and their mips; the default without planes.
    fn store(&mut self, kind: Kind, layer: usize, planes: Option<Vec<Vec<u32>>>) {
        let (mut side, layers) = (self.side as usize, self.layers as usize);
        let Some(array) = &mut self.arrays[kind as usize] else { return };
        let mut planes = planes.unwrap_or_default();
        let mut rest = array.as_mut_slice();
        while side > 0 {
            let bytes = 4 * side * side;
            let (level, coarser) = rest.split_at_mut(bytes * layers);
            let slice = &mut level[bytes * layer..bytes * (layer + 1)];
            slice.par_chunks_exact_mut(4 * side).enumerate().for_each(|(y, row)| {
                for (x, texel) in row.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                    let value = |c: usize| planes[c][y * side + x];
                    *texel = match (kind, planes.len()) {
                        (_, 0) => kind.default_texel(),
                        (Kind::Normal, _) => normal([value(0), value(1), value(2)]),
                        (Kind::Orm, _) => {
                            let code = |c| Curve::Linear.encode(value(c));
                            [code(0), code(1), code(2), 255]
                        }
                        (Kind::Albedo | Kind::Emissive, n) => {
                            let code = |c| Curve::Srgb.encode(value(c));
                            let last = if n > 3 { Curve::Linear.encode(value(3)) } else { 255 };
                            [code(0), code(1), code(2), last]
                        }
                    };
                }
            });
            rest = coarser;
            if side > 1 {
                planes.iter_mut().for_each(|p| *p = resample::mip(p, side));
            }
            side /= 2;
        }
    }
}

/// A mean of normals as the nearest texel of length one: each component n / |n| as 127.5 · (1 + c), half up, where |n| is
/// the integer root.
fn normal(mean: [u32; 3]) -> [u8; 4] {
    // From −ONE to ONE: squares sum to less than 2⁵⁰.
    let n = mean.map(|v| 2 * i64::from(v) - i64::from(ONE));
    let length = n.iter().map(|&c| (c * c) as u64).sum::<u64>().isqrt() as i64;
    if length == 0 {
        return Kind::Normal.default_texel();
    }
    // The root is rounded down, so a component may exceed it by less than one.
    let code =
        |c: i64| ((255 * (c.min(length) + length) + length).div_euclid(2 * length)).clamp(0, 255) as u8;
    [code(n[0]), code(n[1]), code(n[2]), 255]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normals_are_brought_to_length_one() {
        let stored = |x: f64, y: f64, z: f64| [x, y, z].map(|c| ((c + 1.0) / 2.0 * f64::from(ONE)) as u32);
        assert_eq!(normal(stored(0.0, 0.0, 0.2)), [128, 128, 255, 255]);
        // 127.5 · (1 + 0.6) = 204, 127.5 · (1 − 0.8) = 25.5, up; just below it where the root rounds.
        let [x, y, ..] = normal(stored(0.3, -0.4, 0.0));
        assert!(x == 204 && (25..=26).contains(&y), "{x} {y}");
        assert_eq!(normal([ONE / 2; 3]), [128, 128, 255, 255]);
        assert_eq!(normal([128, 128, 255].map(|v| v * (ONE / 255))), [128, 128, 255, 255]);
        assert_eq!(normal([0, ONE / 2, ONE / 2]), [0, 128, 128, 255]);
    }
}
