//! Heights: a recipe's sources and steps made into one field, stage by stage.
//!
//! Owns the order, the keys by which stages are kept, and the memory that fields may take. Every stage is a function of
//! its own words, the contents of the files it names, and the stages before it; its key is a hash of just these, so a
//! stage whose key is in the cache need not be cooked again, nor anything that only it needed.

mod blend;
mod cache;
mod mosaic;
mod raster;
mod simple;

use super::error::CookError;
use super::field::Field;
use super::image::Images;
use super::plan::{Mask, RasterSource, Source, Step};
use super::spline::Strip;
use cache::Cache;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::path::Path;

/// The most bytes that fields may take at one time.
const MAX_HELD_BYTES: u64 = 8 << 30;

/// A stage's key.
pub(super) type Key = [u8; 32];

/// Hears how far the kitchen is: the stage, how much is done, of how much.
pub type Watch<'a> = &'a (dyn Fn(&str, u64, u64) + Sync);

/// What became of a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ran {
    /// Its name.
    pub stage: String,
    /// Whether it was found in the cache.
    pub cached: bool,
}

/// Heights between stages, and what else is remembered of the way.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Made {
    pub(super) field: Field,
    /// Cells without surface (column, row) that a source brought with it, sorted by row.
    pub(super) holes: Vec<[u32; 2]>,
    pub(super) strips: Vec<Strip>,
    pub(super) told: Told,
}

/// What the origin record says of a stage and those before it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Told {
    /// The origin records of the files.
    pub(super) sources: Vec<serde_json::Value>,
    /// What was seen or done and is worth saying.
    pub(super) notes: Vec<String>,
}

impl Told {
    fn join(&mut self, other: Told) {
        self.sources.extend(other.sources);
        self.notes.extend(other.notes);
    }
}

/// Where heights are made.
pub(super) struct Stages<'a> {
    pub(super) images: &'a Images,
    watch: Watch<'a>,
    cache: Option<Cache>,
    ran: RefCell<Vec<Ran>>,
}

impl<'a> Stages<'a> {
    pub(super) fn new(images: &'a Images, cache: Option<&Path>, watch: Watch<'a>) -> Result<Self, CookError> {
        let cache = cache.map(Cache::open).transpose().map_err(|(path, e)| CookError::Rule {
            path,
            message: format!("cannot be a folder of stages: {e}"),
        })?;
        Ok(Self { images, watch, cache, ran: RefCell::default() })
    }

    /// Which stages ran, in order.
    pub(super) fn ran(self) -> Vec<Ran> {
        self.ran.into_inner()
    }

    fn rule(&self, message: impl std::fmt::Display) -> CookError {
        CookError::Rule { path: self.images.recipe().to_owned(), message: message.to_string() }
    }

    /// Refuses a field before memory is taken for it; `held` bytes are in use already.
    fn admit(&self, at: &str, size: [u32; 2], held: u64) -> Result<(), CookError> {
        super::field::check_size(size).map_err(|e| self.rule(format!("{at}: {e}")))?;
        let bytes = held + field_bytes(size);
        if bytes > MAX_HELD_BYTES {
            return Err(self.rule(format!(
                "{at}: a field of {}x{} samples beside {held} bytes in use is more than the {MAX_HELD_BYTES} bytes that cooking may take",
                size[0], size[1]
            )));
        }
        Ok(())
    }

    /// The key of a source with so many of its steps.
    pub(super) fn key(&self, source: &Source, steps: &[Step]) -> Result<Key, CookError> {
        let mut key = match source {
            Source::Raster(r) => self.raster_key(r)?,
            Source::Level { .. } | Source::Noise { .. } => hashed(&text(source), &[]),
            Source::Mosaic(m) => {
                let keys: Result<Vec<Key>, _> = m.tiles.iter().flatten().map(|t| self.key(t, &[])).collect();
                hashed(&format!("mosaic {} {}", m.tiles.len(), text(&m.seams)), &keys?)
            }
            Source::Chain(c) => self.key(&c.source, &c.steps)?,
        };
        for step in steps {
            key = match step {
                Step::Blend { over, mask, how } => {
                    let over = self.key(&over.source, &over.steps)?;
                    let image = match mask {
                        Mask::Image(path) => self.images.hash(path)?,
                        Mask::Constant(_) | Mask::Radial { .. } => Key::default(),
                    };
                    hashed(&format!("blend {} {}", text(mask), text(how)), &[key, over, image])
                }
                step => hashed(&text(step), &[key]),
            };
        }
        Ok(key)
    }

    fn raster_key(&self, r: &RasterSource) -> Result<Key, CookError> {
        // The name is part of it: an .hgt's says where it lies.
        Ok(hashed(&format!("raster {}", text(r)), &[self.images.hash(&r.path)?]))
    }

    /// Makes a source with its steps, from the cache where it can. `at` goes before their names in messages.
    pub(super) fn make(
        &self,
        source: &Source,
        steps: &[Step],
        at: &str,
        held: u64,
    ) -> Result<Made, CookError> {
        let Some((last, before)) = steps.split_last() else { return self.source(source, at, held) };
        let key = self.key(source, steps)?;
        let name = format!("{at}steps[{}] {}", before.len(), last.name());
        self.kept(&name, key, is_costly(last), held, || {
            let mut made = self.make(source, before, at, held)?;
            self.step(last, &name, &mut made, held)?;
            Ok(made)
        })
    }

    fn source(&self, source: &Source, at: &str, held: u64) -> Result<Made, CookError> {
        let name = format!("{at}source");
        match source {
            Source::Chain(c) => self.make(&c.source, &c.steps, &format!("{at}source."), held),
            Source::Level { size, spacing_m, height_m } => {
                let size = [size.0, size.1];
                self.admit(&name, size, held)?;
                Ok(plain(Field::level(size, self.spacing(*spacing_m)?, *height_m)))
            }
            Source::Raster(r) => {
                let named = format!("{name} {}", r.path.display());
                self.kept(&named, self.raster_key(r)?, true, held, || self.raster(r, &name, held))
            }
            Source::Noise { size, spacing_m, noise } => {
                let (size, spacing) = ([size.0, size.1], self.spacing(*spacing_m)?);
                self.admit(&name, size, held)?;
                let key = self.key(source, &[])?;
                let named = format!("{name} noise");
                self.kept(&named, key, true, held, || Ok(plain(noise.field(size, spacing))))
            }
            Source::Mosaic(m) => {
                let key = self.key(source, &[])?;
                self.kept(&format!("{name} mosaic"), key, true, held, || self.mosaic(m, &name, held))
            }
        }
    }

    fn spacing(&self, spacing_m: f64) -> Result<u32, CookError> {
        super::plan::spacing(spacing_m).map_err(|e| self.rule(e))
    }

    /// A stage from the cache, or made and kept there.
    fn kept(
        &self,
        name: &str,
        key: Key,
        costly: bool,
        held: u64,
        make: impl FnOnce() -> Result<Made, CookError>,
    ) -> Result<Made, CookError> {
        let cache = self.cache.as_ref().filter(|_| costly);
        let found = cache.and_then(|c| c.read(key, |size| self.admit(name, size, held).is_ok()));
        let cached = found.is_some();
        let made = match found {
            Some(made) => made,
            None => {
                (self.watch)(name, 0, 1);
                make()?
            }
        };
        (self.watch)(name, 1, 1);
        self.ran.borrow_mut().push(Ran { stage: name.to_owned(), cached });
        if let (Some(cache), false) = (cache, cached) {
            cache
                .write(key, &made)
                .map_err(|(path, e)| CookError::Rule { path, message: format!("cannot be written: {e}") })?;
        }
        Ok(made)
    }
}

/// Stages worth keeping: those that take longer than reading them back.
fn is_costly(step: &Step) -> bool {
    match step {
        Step::Thermal(_) | Step::Hydraulic(_) | Step::Resample { .. } | Step::Road(_) | Step::River(_) => {
            true
        }
        Step::Blend { .. } => true,
        Step::Crop { .. } | Step::Scale(_) | Step::Offset(_) | Step::Clamp { .. } | Step::Terraces(_) => {
            false
        }
    }
}

fn plain(field: Field) -> Made {
    Made { field, holes: Vec::new(), strips: Vec::new(), told: Told::default() }
}

fn field_bytes(size: [u32; 2]) -> u64 {
    u64::from(size[0]) * u64::from(size[1]) * 8
}

/// The words of a part of a recipe: the same for the same meaning, whatever blanks and comments it was written with. Not
/// JSON, which has no NaN: a "no data" of NaN must not read like none.
fn text(part: &impl std::fmt::Debug) -> String {
    format!("{part:?}")
}

fn hashed(words: &str, keys: &[Key]) -> Key {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"highground stage 2\0");
    hasher.update(&(words.len() as u64).to_le_bytes());
    hasher.update(words.as_bytes());
    for key in keys {
        hasher.update(key);
    }
    *hasher.finalize().as_bytes()
}
