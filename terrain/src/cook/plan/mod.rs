//! Version 2 of the recipe as it is written: RON, every field known, every mistake with its place.
//!
//! Owns the words and their limits; `stage` makes heights of them and `dish` the rest.

mod content;
mod source;

pub(super) use content::inside;
pub use content::{Density, Foliage, LayerRule, Material, Objects, Region, Rule, Splat, User, Water};
pub use source::{Chain, How, Mask, Mosaic, RasterSource, Seams, Source, Step};
pub(super) use source::{crop_inside, spacing};

use super::generate::within;
use super::recipe::{Extent, main_diagonal, one, side_32};
use crate::config::Diagonal;
use crate::coord::BlockSide;
use crate::format::payload::Compression;
use crate::height::QuantumLog2;
use crate::kernel::weights::LayerKind;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The version that this module reads.
pub const VERSION: u32 = 2;

/// A world's terrain: heights, and everything that lies on them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct World {
    /// 2.
    pub version: u32,
    /// Where heights come from.
    pub source: Source,
    /// What is done to them, in this order.
    #[serde(default)]
    pub steps: Vec<Step>,
    /// Factor on all heights, applied once at the very end and recorded.
    #[serde(default = "one")]
    pub vertical_scale: f64,
    /// k; 7 when absent, or by the source's step where it is a raster alone.
    #[serde(default)]
    pub quantum_log2: Option<QuantumLog2>,
    /// How cells are split.
    #[serde(default = "main_diagonal")]
    pub diagonal: Diagonal,
    /// Samples a side of a block.
    #[serde(default = "side_32")]
    pub block: BlockSide,
    /// The cells that may carry surface; all when absent.
    #[serde(default)]
    pub extent: Option<Extent>,
    /// Paint texels a cell side: 1, 2 or 4.
    #[serde(default = "one_texel")]
    pub paint_per_cell: u8,
    /// Surface layers by id: the first lies everywhere, those with a rule cover what is below them.
    #[serde(default)]
    pub layers: Vec<LayerRule>,
    /// Painted weights.
    #[serde(default)]
    pub splats: Vec<Splat>,
    /// Triangles that are removed.
    #[serde(default)]
    pub holes: Vec<Region>,
    /// Triangles that are removed from collision only.
    #[serde(default)]
    pub physical_holes: Vec<Region>,
    /// Physical materials by id; the first is everywhere that no later one claims.
    #[serde(default)]
    pub materials: Vec<Material>,
    /// A game's own channels.
    #[serde(default)]
    pub user: Vec<User>,
    /// Kinds of foliage.
    #[serde(default)]
    pub foliage: Vec<Foliage>,
    /// Kinds of objects.
    #[serde(default)]
    pub objects: Vec<Objects>,
    /// Still water; rivers bring their own.
    #[serde(default)]
    pub water: Option<Water>,
    /// What the payload keeps beside what every payload has. Changes no content.
    #[serde(default)]
    pub keep: Keep,
}

/// What a payload keeps beside what every payload has, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Keep {
    /// Normals of the samples.
    pub normals: bool,
    /// Normal-encoded weights beside the HD ones.
    pub normal_weights: bool,
    /// ID control, and the largest error that it may make, a fraction of all weight.
    pub control: Option<f64>,
    /// How bodies are compressed.
    pub compression: Compression,
}

impl Keep {
    fn check(&self, layers: &[LayerRule]) -> Result<(), String> {
        let Some(budget) = self.control else { return Ok(()) };
        within("keep.control", budget, 0.0, 1.0)?;
        let other = layers.iter().enumerate().find(|(_, l)| l.kind != LayerKind::Weight);
        other.map_or(Ok(()), |(i, l)| {
            let kind = l.kind.name();
            Err(format!(
                "keep.control: is for layers of the kind weight alone, found layers[{i}] ({}) to be {kind}",
                l.name
            ))
        })
    }
}

const fn one_texel() -> u8 {
    1
}

impl World {
    /// Refuses what no kitchen could cook, before anything is read or made.
    ///
    /// # Errors
    /// Where in the recipe, what was expected and what was found.
    pub fn check(&self) -> Result<(), String> {
        if self.version != VERSION {
            return Err(format!("version: expected 1 or 2, found {}", self.version));
        }
        if !(self.vertical_scale > 0.0 && self.vertical_scale <= 1e4) {
            return Err(format!("vertical_scale: expected above 0 to 10000, found {}", self.vertical_scale));
        }
        if !matches!(self.paint_per_cell, 1 | 2 | 4) {
            return Err(format!("paint_per_cell: expected 1, 2 or 4, found {}", self.paint_per_cell));
        }
        source::check_chain(&self.source, &self.steps, "")?;
        self.check_content()?;
        self.keep.check(&self.layers)?;
        source::painted(&self.source, &self.steps, "", &|name| self.layer_id(name).map(drop))?;
        match source::size(&self.source, &self.steps, "")? {
            Some(samples) => self.check_places(samples),
            None => Ok(()),
        }
    }

    /// The pictures of what lies on the heights, with the sizes that each may have; none where the text does not tell how
    /// many samples there will be.
    pub(super) fn pictures(&self) -> Vec<(&Path, Vec<[u32; 2]>)> {
        match source::size(&self.source, &self.steps, "") {
            Ok(Some(samples)) => self.content_pictures(samples),
            _ => Vec::new(),
        }
    }

    /// Every file that the recipe names, relative to its folder, in the order of the text, each once.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        source::files(&self.source, &self.steps, &mut files);
        self.content_files(&mut files);
        let mut seen = std::collections::BTreeSet::new();
        files.retain(|f| seen.insert(f.clone()));
        files
    }
}
