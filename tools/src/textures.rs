//! Textures of a terrain's layers: the images that they name, a recipe of the content, or their tint.
//!
//! Owns which recipe goes with which name. Never makes a texture itself.

use crate::Failure;
use highground_terrain::content::{Catalogue, Layer};
use highground_terrain::cook::generate::Texture;
use highground_terrain::image::{Image, ImageError};
use highground_terrain::layer_images::{Kind, LayerArrays, Options};
use highground_terrain::page::{LayerSource, make};
use std::path::{Component, Path};

/// The recipes of the content, and other names that layers of their kind have.
pub const RECIPES: [(&str, &str, &[&str]); 7] = [
    ("grass", include_str!("../../content/layers/grass.ron"), &["meadow", "turf", "moss"]),
    ("soil", include_str!("../../content/layers/soil.ron"), &["forest floor", "dirt", "earth", "mud"]),
    ("rock", include_str!("../../content/layers/rock.ron"), &["cliff", "stone"]),
    ("sand", include_str!("../../content/layers/sand.ron"), &["beach", "desert"]),
    ("snow", include_str!("../../content/layers/snow.ron"), &["ice"]),
    ("gravel", include_str!("../../content/layers/gravel.ron"), &["scree", "pebbles", "track", "road"]),
    ("heath", include_str!("../../content/layers/heath.ron"), &["heather", "moor"]),
];

/// The most texels a side of an image.
const MAX_IMAGE_SIDE: u32 = 1 << 14;

/// Layers with textures.
pub(crate) struct Made {
    pub(crate) arrays: LayerArrays,
    pub(crate) layers: Vec<Layer>,
}

impl Made {
    /// A layer's colour seen from afar.
    pub(crate) fn colour(&self, id: u32, layer: &Layer) -> [u8; 3] {
        let last = self.arrays.mips() - 1;
        let texel = self.arrays.texel(Kind::Albedo, last, id, 0, 0).unwrap_or(Kind::Albedo.default_texel());
        // The square root stands for the code's curve.
        [0, 1, 2].map(|c| (f64::from(texel[c]) * layer.tint[c].max(0.0).sqrt()).min(255.0) as u8)
    }
}

/// The recipe for a layer's name.
///
/// # Errors
/// A recipe that is wrong.
pub fn recipe(name: &str) -> Result<Option<Texture>, String> {
    let name = name.to_lowercase();
    let own = RECIPES.iter().find(|(own, _, others)| *own == name || others.contains(&name.as_str()));
    own.map(|(own, text, _)| Texture::parse(text, &format!("content/layers/{own}.ron"))).transpose()
}

/// The textures of a catalogue's layers; `folder` holds the images that they name.
pub(crate) fn of_catalogue(catalogue: &Catalogue, folder: Option<&Path>) -> Result<Made, Failure> {
    let mut sources = Vec::new();
    for layer in &catalogue.layers {
        let named = folder.is_some() && layer.images.names().next().is_some();
        sources.push(match recipe(&layer.name).map_err(Failure::input)? {
            _ if named => LayerSource::Images,
            Some(recipe) => LayerSource::Recipe(recipe),
            None => LayerSource::Plain,
        });
    }
    let open = |name: &str, most: u64| {
        let path = folder.unwrap_or(Path::new("")).join(name);
        if !Path::new(name).components().all(|c| matches!(c, Component::Normal(_))) {
            return Err(ImageError { path, message: "expected a file inside the folder".into() });
        }
        Image::read(&path, MAX_IMAGE_SIDE, most)
    };
    let options = Options { side: 256, ..Options::default() };
    let made = make(&catalogue.layers, &sources, options, &open).map_err(Failure::input)?;
    Ok(Made { arrays: made.arrays, layers: made.layers })
}
