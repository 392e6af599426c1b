//! Where layers' textures come from: a user's images, a recipe, or the plain default; all by the same packer.

use crate::compute::ComputeError;
use crate::content::{Layer, LayerImages};
use crate::cook::generate::{Texture, TextureImages};
use crate::image::{Image, ImageError};
use crate::layer_images::{Kind, LayerArrays, LayerImageError, Options, build};
use crate::pass::page::{Texel, Textures};

/// Where one layer's texture comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum LayerSource {
    /// The images that the layer names.
    Images,
    /// A recipe, in its own colours: the layer's tint is for images and for nothing.
    Recipe(Texture),
    /// White and level, so that the tint is what shows.
    Plain,
}

/// Layers with textures.
#[derive(Clone, Debug)]
pub struct Made {
    /// The arrays.
    pub arrays: LayerArrays,
    /// The layers as pages take them: those of recipes without a tint.
    pub layers: Vec<Layer>,
}

/// Makes the texture arrays of layers out of one source each. `open` gives a user's image by its name.
///
/// # Errors
/// A size that will not do, an image that cannot be used, a recipe that makes no texture.
pub fn make(
    layers: &[Layer],
    sources: &[LayerSource],
    options: Options,
    open: &dyn Fn(&str, u64) -> Result<Image, ImageError>,
) -> Result<Made, LayerImageError> {
    let usage = LayerImageError::Usage;
    if layers.len() != sources.len() {
        return Err(usage(format!("expected a source a layer, {}, found {}", layers.len(), sources.len())));
    }
    // No name of a user's holds a line break.
    let name = |layer: usize, what: &str| Some(format!("{layer}\n{what}"));
    let (mut recipes, mut images, mut out) = (Vec::new(), Vec::new(), layers.to_vec());
    for (i, source) in sources.iter().enumerate() {
        recipes.push(None);
        images.push(match source {
            LayerSource::Images => layers[i].images.clone(),
            LayerSource::Plain => LayerImages::default(),
            LayerSource::Recipe(recipe) => {
                recipes[i] = Some(recipe.images(options.side).map_err(usage)?);
                out[i].tint = [1.0; 3];
                LayerImages {
                    albedo: name(i, "albedo"),
                    normal: name(i, "normal"),
                    orm: name(i, "orm"),
                    height: name(i, "height"),
                    emissive: None,
                }
            }
        });
    }
    let named: Vec<&LayerImages> = images.iter().collect();
    let arrays = build(&named, options, &|name, most| match made(&recipes, name) {
        Some(image) => Ok(image.clone()),
        None => open(name, most),
    })?;
    Ok(Made { arrays, layers: out })
}

fn made<'a>(recipes: &'a [Option<TextureImages>], name: &str) -> Option<&'a Image> {
    let (layer, what) = name.split_once('\n')?;
    let images = recipes.get(layer.parse::<usize>().ok()?)?.as_ref()?;
    Some(match what {
        "albedo" => &images.albedo,
        "normal" => &images.normal,
        "orm" => &images.orm,
        _ => &images.height,
    })
}

/// Arrays as devices read them.
///
/// # Errors
/// More texels than a device's buffer holds.
pub fn pack(arrays: &LayerArrays) -> Result<Textures, ComputeError> {
    let layer = |id: u32| {
        move |mip: u32, x: u32, y: u32| {
            let texel = |kind: Kind| arrays.texel(kind, mip, id, x, y).unwrap_or(kind.default_texel());
            let ([r, g, b, height], [nx, ny, nz, _]) = (texel(Kind::Albedo), texel(Kind::Normal));
            let [occlusion, roughness, metallic, _] = texel(Kind::Orm);
            Texel { albedo: [r, g, b], height, normal: [nx, ny, nz], roughness, occlusion, metallic }
        }
    };
    let layers: Vec<_> = (0..arrays.layers()).map(layer).collect();
    let layers: Vec<&dyn Fn(u32, u32, u32) -> Texel> = layers.iter().map(|f| f as _).collect();
    Textures::new(arrays.side(), &layers)
}
