//! The kitchen: a world recipe (RON) made into a terrain.
//!
//! Owns the recipe's meaning. Version 1 ([`Recipe`]) is an image, holes, an extent, and layers by height and slope, of which
//! the two strongest are kept. Version 2 ([`World`]) composes rasters, noise and mosaics with ordered steps, and lays
//! layers, holes, materials, growth and water over them. Never writes a terrain; [`crate::store`] does. The result depends
//! on the recipe and the files it names alone: not on threads, and not on what a cache held.

mod dish;
mod error;
mod field;
pub mod generate;
mod image;
mod paint;
pub mod plan;
mod recipe;
mod serve;
pub mod spline;
mod stage;

pub use error::CookError;
pub use field::{Field, MAX_FIELD_SAMPLES};
pub use plan::World;
pub use recipe::{Extent, Hole, Layer, Recipe, Source};
pub use serve::{Order, Served, Written, serve};
pub use stage::{Ran, Watch};

use crate::config::TerrainConfig;
use crate::coord::{BlockSide, CellPos, CellRect};
use crate::import::{ImportError, ImportOptions, Origin, SourceFormat, import};
use crate::store::{Raster, open_regular};
use std::io::Read;
use std::path::{Path, PathBuf};

/// A terrain cooked from a recipe of version 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Cooked {
    /// The terrain.
    pub raster: Raster,
    /// Samples a side of the blocks that the recipe asks for.
    pub side: BlockSide,
    /// Where it came from.
    pub origin: Origin,
    /// The largest rounding error of the heights in metres.
    pub rounding_m: f64,
}

/// Cooks a recipe file of version 1 on so many threads; 0 is one a core.
///
/// # Errors
/// What is wrong with the recipe (file, line, column), its image or its rules.
pub fn cook(recipe_path: &Path, threads: usize) -> Result<Cooked, CookError> {
    Recipe::read(recipe_path)?.cook(recipe_path, threads)
}

/// The largest recipe that is read, in bytes.
const MAX_RECIPE_BYTES: u64 = 16 << 20;

/// The text of a recipe file.
fn read_text(path: &Path) -> Result<String, CookError> {
    let failed = |e: std::io::Error| CookError::file(path, e);
    let mut text = String::new();
    let file = open_regular(path).map_err(failed)?;
    file.take(MAX_RECIPE_BYTES + 1).read_to_string(&mut text).map_err(|e| match e.kind() {
        std::io::ErrorKind::InvalidData => CookError::Rule {
            path: path.to_owned(),
            message: "expected a recipe, a RON text in UTF-8, found other bytes".to_owned(),
        },
        _ => failed(e),
    })?;
    if text.len() as u64 > MAX_RECIPE_BYTES {
        let message = format!("is larger than the {MAX_RECIPE_BYTES} bytes that a recipe may have");
        return Err(CookError::Rule { path: path.to_owned(), message });
    }
    Ok(text)
}

impl Recipe {
    /// Reads a recipe file.
    ///
    /// # Errors
    /// Why it cannot be read, or its first mistake with line and column.
    pub fn read(path: &Path) -> Result<Self, CookError> {
        Self::parse(&read_text(path)?, path)
    }

    /// The image that the recipe names, as if the recipe stood at `path`.
    pub fn image(&self, path: &Path) -> PathBuf {
        path.parent().unwrap_or(Path::new("")).join(&self.source.png)
    }

    /// Cooks the recipe as if it stood at `path`: its image's path is relative to that file's folder.
    ///
    /// # Errors
    /// What is wrong with the image or the rules.
    pub fn cook(&self, path: &Path, threads: usize) -> Result<Cooked, CookError> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|e| {
            CookError::Rule { path: path.to_owned(), message: format!("cannot start {threads} threads: {e}") }
        })?;
        pool.install(|| self.cook_here(path))
    }

    fn cook_here(&self, path: &Path) -> Result<Cooked, CookError> {
        let rule = |message: String| CookError::Rule { path: path.to_owned(), message };
        let image = self.image(path);
        let options = ImportOptions {
            format: Some(SourceFormat::Png),
            spacing_m: Some(self.spacing_m),
            min_m: Some(self.source.min_m),
            max_m: Some(self.source.max_m),
            vertical_scale: self.vertical_scale,
            diagonal: self.diagonal,
            quantum: self.quantum_log2,
            ..ImportOptions::default()
        };
        let found = import(&image, &options).map_err(|error| match error {
            // Sizes, spacing and scale are the recipe's; everything else is the image's.
            ImportError::Usage(message) => rule(message),
            error => CookError::Import { path: image.clone(), error },
        })?;
        let (mut raster, mut origin) = (found.raster, found.origin);
        if let Some(e) = self.extent {
            raster.config.extent = e.rect().ok_or_else(|| rule(format!("the extent {e:?} is too large")))?;
            raster.config.check().map_err(|e| rule(e.to_string()))?;
            raster.remove_hidden();
        }
        for (i, hole) in self.holes.iter().enumerate() {
            cut(&mut raster, hole).map_err(|m| rule(format!("hole {i} ({hole:?}): {m}")))?;
        }
        if !self.layers.is_empty() {
            paint::check(&self.layers).map_err(rule)?;
            let names: Vec<&str> = self.layers.iter().map(|l| l.name.as_str()).collect();
            let texels = paint::paint(&raster, &self.layers);
            raster.set_hd_weights(&names, &texels);
        }
        raster.check().map_err(|e| rule(e.to_string()))?;
        origin.recipe = Some(crate::import::file_name(path));
        Ok(Cooked { raster, side: self.block, origin, rounding_m: found.rounding_m })
    }
}

/// Removes a hole's triangles.
fn cut(raster: &mut Raster, hole: &Hole) -> Result<(), String> {
    let (rect, keep) = match *hole {
        Hole::Cells { x, z, w, h } => (Extent { x, z, w, h }, 0),
        Hole::Half { x, z, triangle: t @ (0 | 1) } => (Extent { x, z, w: 1, h: 1 }, 3 & !(1 << t)),
        Hole::Half { triangle, .. } => return Err(format!("the triangle must be 0 or 1, found {triangle}")),
    };
    let inside = |config: &TerrainConfig, r: CellRect| {
        !r.is_empty() && r.x1 <= config.cells()[0] && r.z1 <= config.cells()[1]
    };
    let Some(rect) = rect.rect().filter(|&r| inside(&raster.config, r)) else {
        let [w, h] = raster.config.cells();
        return Err(format!("it must be a rectangle inside the {w}x{h} cells of the terrain"));
    };
    for z in rect.z0..rect.z1 {
        for x in rect.x0..rect.x1 {
            let mask = raster.cell_mask(CellPos::new(x, z)) & keep;
            raster.mask[z as usize * raster.config.cells()[0] as usize + x as usize] = mask;
        }
    }
    Ok(())
}
