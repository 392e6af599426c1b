//! From a recipe's text to a terrain on demand, whichever version it is.

use super::dish::Dish;
use super::error::CookError;
use super::field::Field;
use super::image::Images;
use super::plan::{Keep, Source, World};
use super::recipe::{Recipe, parse};
use super::stage::{Made, Ran, Stages, Told, Watch};
use crate::config::TerrainConfig;
use crate::coord::BlockSide;
use crate::height::{HEIGHT_LIMIT, QuantumLog2, VOID};
use crate::store::{self, Raster, TerrainRows, WriteError, WriteOptions, write_payload_with};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// How to cook.
pub struct Order<'a> {
    /// Worker threads; 0 is one a core.
    pub threads: usize,
    /// A folder where stages are kept for the next time.
    pub cache: Option<&'a Path>,
    /// Hears how far it is.
    pub watch: Watch<'a>,
}

impl Default for Order<'_> {
    fn default() -> Self {
        Self { threads: 0, cache: None, watch: &|_, _, _| () }
    }
}

/// A terrain on demand, and what is said of it.
pub struct Served {
    /// The terrain.
    pub rows: Box<dyn TerrainRows + Send>,
    /// Samples a side of the blocks that the recipe asks for.
    pub side: BlockSide,
    /// The origin record: a JSON object.
    pub origin: String,
    /// The largest rounding error of the heights in metres.
    pub rounding_m: f64,
    /// What the recipe asks the payload to keep.
    pub keep: Keep,
    /// Which stages were cooked and which were found in the cache, in order.
    pub ran: Vec<Ran>,
    pool: rayon::ThreadPool,
}

impl Served {
    /// Writes it as a payload, on the threads that it was cooked on; they change no byte. `watch` hears of every band.
    ///
    /// # Errors
    /// What is wrong with the terrain, or why the file could not be written.
    pub fn write(&self, path: &Path, watch: Watch<'_>) -> Result<store::Written, WriteError> {
        let options = WriteOptions {
            compression: self.keep.compression,
            normals: self.keep.normals,
            normal_weights: self.keep.normal_weights,
            control: self.keep.control,
            ..WriteOptions::new(self.side, &self.origin, self.rounding_m)
        };
        let rows = &*self.rows;
        self.pool.install(|| write_payload_with(rows, &options, path, &|done, all| watch("write", done, all)))
    }

    /// The whole terrain in memory.
    pub fn collect(&self) -> Raster {
        let rows = &*self.rows;
        self.pool.install(|| store::collect(rows))
    }
}

/// A recipe of any version.
#[derive(Clone, Debug, PartialEq)]
pub enum Written {
    /// Version 1.
    One(Recipe),
    /// Version 2.
    Two(Box<World>),
}

/// The one word that is looked for before the version is known.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    version: Option<u32>,
}

/// The origin record of a terrain cooked from version 2.
#[derive(Serialize)]
struct WorldOrigin<'a> {
    source: String,
    format: &'static str,
    recipe: String,
    sources: &'a [serde_json::Value],
    resampled: bool,
    notes: &'a [String],
}

impl Written {
    /// Reads a recipe file.
    ///
    /// # Errors
    /// Why it cannot be read, or its first mistake with line and column.
    pub fn read(path: &Path) -> Result<Self, CookError> {
        Self::parse(&super::read_text(path)?, path)
    }

    /// Reads a recipe's text; `path` is what errors name.
    ///
    /// # Errors
    /// The first mistake, with line and column; or where in the recipe something impossible stands.
    pub fn parse(text: &str, path: &Path) -> Result<Self, CookError> {
        // A text that is no RON at all is refused here, with its place; what a field should be is said below.
        let head: Head = parse(text, path)?;
        if let Some(1) = head.version {
            return parse(text, path).map(Written::One);
        }
        if head.version.is_none() {
            return parse(text, path).map(Written::One).map_err(|e| match e {
                CookError::Syntax { path, line, column, message } => {
                    let message = format!("{message} (read as version 1, since it has no `version: 2`)");
                    CookError::Syntax { path, line, column, message }
                }
                e => e,
            });
        }
        let world: World = match head.version {
            Some(super::plan::VERSION) => parse(text, path)?,
            other => {
                let message = format!("version: expected 1 or 2, found {}", other.unwrap_or_default());
                return Err(CookError::Rule { path: path.to_owned(), message });
            }
        };
        let rule = |message| CookError::Rule { path: path.to_owned(), message };
        world.check().and_then(|()| super::dish::check(&world)).map_err(rule)?;
        Ok(Written::Two(Box::new(world)))
    }

    /// Every file that it names, as if it stood at `path`.
    pub fn files(&self, path: &Path) -> Vec<PathBuf> {
        match self {
            Written::One(recipe) => vec![recipe.image(path)],
            Written::Two(world) => {
                let folder = path.parent().unwrap_or(Path::new(""));
                world.files().iter().map(|f| folder.join(f)).collect()
            }
        }
    }

    /// Cooks it as if it stood at `path`: the files it names are relative to that file's folder.
    ///
    /// # Errors
    /// What is wrong with its files or its rules.
    pub fn serve(&self, path: &Path, order: &Order<'_>) -> Result<Served, CookError> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(order.threads).build().map_err(|e| {
            let message = format!("cannot start {} threads: {e}", order.threads);
            CookError::Rule { path: path.to_owned(), message }
        })?;
        match self {
            Written::One(recipe) => {
                let cooked = recipe.cook(path, order.threads)?;
                Ok(Served {
                    origin: cooked.origin.to_json(),
                    side: cooked.side,
                    rounding_m: cooked.rounding_m,
                    rows: Box::new(cooked.raster),
                    keep: Keep::default(),
                    ran: Vec::new(),
                    pool,
                })
            }
            Written::Two(world) => {
                // What stages remember stays on one thread of the pool; only rows are spread over it.
                let made = pool.install(|| {
                    let images = Images::new(path);
                    let stages = Stages::new(&images, order.cache, order.watch)?;
                    world.serve(stages, &images)
                });
                let (dish, origin, rounding_m, ran) = made?;
                Ok(Served {
                    rows: Box::new(dish),
                    side: world.block,
                    origin,
                    rounding_m,
                    keep: world.keep,
                    ran,
                    pool,
                })
            }
        }
    }
}

/// Cooks a recipe file of any version.
///
/// # Errors
/// What is wrong with the recipe (file, line, column, path in the recipe), its files or its rules.
pub fn serve(path: &Path, order: &Order<'_>) -> Result<Served, CookError> {
    Written::read(path)?.serve(path, order)
}

impl World {
    fn serve(&self, stages: Stages<'_>, images: &Images) -> Result<(Dish, String, f64, Vec<Ran>), CookError> {
        let rule = |e: String| CookError::Rule { path: images.recipe().to_owned(), message: e };
        // Before anything is made of the others.
        self.files().iter().try_for_each(|f| images.look_for(f))?;
        self.pictures().iter().try_for_each(|(path, sizes)| images.look_at(path, sizes))?;
        let (base, strips, mut told, rounding_m): (Box<dyn TerrainRows + Send>, _, _, _) =
            match (&self.source, self.steps.is_empty()) {
                (Source::Raster(r), true) => {
                    let (rows, told) = stages.direct(r, self)?;
                    let rounding_m = rows.rounding_m();
                    (Box::new(rows), Vec::new(), told, rounding_m)
                }
                _ => {
                    let Made { field, holes, strips, told } =
                        stages.make(&self.source, &self.steps, "", 0)?;
                    let (mut raster, rounding_m) = self.round(field).map_err(rule)?;
                    let width = raster.config.samples[0] as usize - 1;
                    holes.iter().for_each(|c| raster.mask[c[1] as usize * width + c[0] as usize] = 0);
                    (Box::new(raster), strips, told, rounding_m)
                }
            };
        if !base.catalogue().layers.is_empty() && !self.layers.is_empty() {
            told.notes.push("the source's own layers were not taken: the recipe has others".to_owned());
        }
        let dish = Dish::new(base, self, &strips, images, &mut told.notes)?;
        let origin = origin(images.recipe(), &told);
        Ok((dish, origin, rounding_m, stages.ran()))
    }

    /// Rounds a field to quanta, half up, once.
    fn round(&self, field: Field) -> Result<(Raster, f64), String> {
        let k = self.quantum_log2.unwrap_or(QuantumLog2::DEFAULT);
        let config = TerrainConfig {
            quantum: k,
            vertical_scale: self.vertical_scale,
            diagonal: self.diagonal,
            ..TerrainConfig::new(field.size(), field.spacing_256())
        };
        config.check().map_err(|e| e.to_string())?;
        let width = field.width();
        let mut quanta = vec![VOID; field.metres().len()];
        let rows = quanta.par_chunks_mut(width).zip(field.metres().par_chunks(width)).enumerate();
        let worst: Result<Vec<f64>, String> = rows
            .map(|(z, (quanta, metres))| {
                let mut worst = 0.0f64;
                for (x, (q, &m)) in
                    quanta.iter_mut().zip(metres).enumerate().filter(|(_, (_, m))| !m.is_nan())
                {
                    let m = m * self.vertical_scale;
                    let Some(height) = k.from_metres(m) else {
                        return Err(format!(
                            "the height of sample ({x}, {z}), {m:?} m, does not fit below ±{} m (2^24 quanta of {} m): clamp or scale it, or take a smaller quantum_log2",
                            k.to_metres(HEIGHT_LIMIT),
                            k.metres()
                        ));
                    };
                    *q = height.0;
                    worst = worst.max((k.to_metres(height.0) - m).abs());
                }
                Ok(worst)
            })
            .collect::<Vec<_>>()
            // Collected first, so that the first row that fails is named whichever ran first.
            .into_iter()
            .collect();
        let rounding_m = worst?.into_iter().fold(0.0, f64::max);
        Ok((Raster::from_heights(config, quanta), rounding_m))
    }
}

fn origin(recipe: &Path, told: &Told) -> String {
    let name = crate::import::file_name(recipe);
    let record = WorldOrigin {
        source: name.clone(),
        format: "recipe",
        recipe: name,
        sources: &told.sources,
        resampled: told.sources.iter().any(|s| s.get("resampled").is_some_and(|r| r == true)),
        notes: &told.notes,
    };
    serde_json::to_string(&record).unwrap_or_default()
}
