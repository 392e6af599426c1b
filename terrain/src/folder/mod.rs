//! World folders: the authoring form of a terrain, knobs in RON beside layers as ordinary images.
//!
//! | file | pixels | size | what (default) |
//! |---|---|---|---|
//! | `terrain.ron` | | | the knobs and the catalogue |
//! | `origin.json` | | | where the terrain came from (nothing is known) |
//! | `heightmap.png` | 16-bit grey | samples | height codes (0 m everywhere) |
//! | `heightmap-low.png` | 16-bit grey | samples | their low bits, where 16 are too few (0) |
//! | `voids.png` | 8-bit grey | samples | 255: there is no sample (0) |
//! | `holes.png` | 8-bit grey | cells | removed triangles: 85 triangle 0, 170 triangle 1, 255 both (0) |
//! | `physical-holes.png` | 8-bit grey | cells | the same, removed from collision only (0) |
//! | `surface.png` | 8-bit grey | cells | number of the physical material (0) |
//! | `splat-N.png` | RGBA8 | paint texels | weights of layers 4N to 4N + 3 (0: layer 0) |
//! | `user-N.png` | RGBA8 | cells | user channels 4N to 4N + 3 (0) |
//! | `foliage-N.png`, `objects-N.png` | 8-bit grey | cells | density of type N, 255 full (0) |
//! | `water.png`, `water-low.png` | 16-bit grey | samples | depth codes (0: dry); 8-bit ones count in 255ths |
//!
//! **Heights.** Code c of F = 65,536 · 2ᵇ − 1 (b = `height_low_bits`, c = high · 2ᵇ + low) is `height_min_m` + c / F ·
//! (`height_max_m` − `height_min_m`), rounded half up to quanta by integers. What is written here has a code for each
//! quantum, so heights survive saving and loading exactly; b is the smallest that the relief fits in, 0 up to 65,536
//! quanta. Ranges that are not of that kind are kept as long as the heights are.
//!
//! **Water.** The height image holds the *surface* of the water where there is any, the terrain the *bed*: bed = surface −
//! depth, in quanta, on the way in, and surface = bed + depth on the way out; both exact. A code of water stands for c / F ·
//! `water_full_m` (`max_water_depth_m` when absent). A sample without height keeps its depth.
//!
//! A missing image is its default; a layer back at its default has its image removed. Only what has changed is written,
//! and a save counts wholly or not at all (`save.ron`, see the journal); one that was stopped is finished by whoever opens
//! the folder next. Never resamples, never applies a colour space.

mod bands;
mod error;
mod journal;
mod knobs;
mod layer;
mod read;
mod save;
mod scale;

pub use error::FolderError;
pub use knobs::{Extent, Knobs};
pub use save::Report;

use crate::content::PlaneKind;
use crate::coord::BlockSide;
use crate::disk::{Disk, RealDisk};
use crate::store::{BlockSource, PayloadFile, Raster, WriteOptions, write_payload};
use bands::{PayloadBands, RasterBands, payload_kinds};
use knobs::Meaning;
use save::{Saved, Source};
use serde_json::{Map, Value};
use std::path::Path;

/// What a folder holds, ready to be written as a payload.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The terrain.
    pub raster: Raster,
    /// Samples a side of the blocks that the folder asks for.
    pub side: BlockSide,
    /// The origin record: a JSON object.
    pub origin_json: String,
    /// The largest rounding error of the heights in metres.
    pub rounding_m: f64,
    /// What was changed or not used on the way in, one line each.
    pub notes: Vec<String>,
}

/// Reads a world folder. An interrupted save is finished first.
///
/// # Errors
/// What is wrong with its knobs (file, line, column) or its images.
pub fn load(folder: &Path) -> Result<Loaded, FolderError> {
    let found = read::read(folder)?;
    let mut origin: Map<String, Value> = serde_json::from_str(&found.origin).unwrap_or_default();
    let name = folder.canonicalize().ok();
    let name = name.as_deref().unwrap_or(folder).file_name().map(|n| n.to_string_lossy().into_owned());
    let mut own = Map::new();
    own.insert("name".into(), name.clone().unwrap_or_default().into());
    own.insert("size".into(), found.raster.config.samples.to_vec().into());
    own.insert("notes".into(), found.notes.clone().into());
    if origin.is_empty() {
        origin.insert("source".into(), name.unwrap_or_default().into());
        origin.insert("format".into(), "folder".into());
    }
    origin.insert("folder".into(), Value::Object(own));
    Ok(Loaded {
        raster: found.raster,
        side: found.meaning.side,
        origin_json: Value::Object(origin).to_string(),
        rounding_m: found.meaning.rounding_m + found.inexact_m,
        notes: found.notes,
    })
}

/// Makes a world folder into a payload on so many threads; 0 is one a core. Gives what was changed or not used on the way
/// in, one line each.
///
/// # Errors
/// As [`load`]; why the payload cannot be written.
pub fn cook(folder: &Path, out: &Path, threads: usize) -> Result<Vec<String>, FolderError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|e| error::rule(folder, format!("cannot start {threads} threads: {e}")))?;
    pool.install(|| {
        let loaded = load(folder)?;
        let options = WriteOptions::new(loaded.side, &loaded.origin_json, loaded.rounding_m);
        write_payload(&loaded.raster, &options, out).map_err(|e| error::rule(out, e))?;
        Ok(loaded.notes)
    })
}

/// Makes a world folder of a payload, holding two rows of blocks at most. Cooking it gives a payload of the same digest.
///
/// # Errors
/// A folder that is not empty, a block that cannot be read, or what the operating system says.
pub fn unpack(file: &PayloadFile, folder: &Path) -> Result<Report, FolderError> {
    read::create(folder)?;
    let lock = journal::Lock::take(folder)?;
    save::refuse_used(folder)?;
    let kinds = payload_kinds(file);
    let info = file.info();
    let source = Source {
        meaning: Meaning {
            config: *file.config(),
            side: file.block_side(),
            catalogue: info.catalogue.clone(),
            rounding_m: info.rounding_m,
            height: None,
            water: None,
        },
        kinds: &kinds,
        inexact_m: 0.0,
        origin: info.origin.clone(),
        bands: &|| Box::new(PayloadBands::new(file, &kinds)),
    };
    save::save_locked(&RealDisk, folder, source, None, &lock).map(|(_, report)| report)
}

/// A terrain that is edited and kept in a folder.
///
/// Whatever happens to [`World::raster`], a save compares each layer with what the folder has and writes just what differs.
#[derive(Clone, Debug, PartialEq)]
pub struct World {
    /// The terrain.
    pub raster: Raster,
    /// Samples a side of the blocks of its payload.
    pub side: BlockSide,
    /// A record: the largest rounding error of the heights before they came here, in metres.
    pub rounding_m: f64,
    /// What the folder's scales round on top of it.
    inexact_m: f64,
    origin: String,
    saved: Option<Saved>,
}

impl World {
    /// A terrain made in code, kept nowhere yet.
    pub fn new(raster: Raster, side: BlockSide) -> Self {
        Self { raster, side, rounding_m: 0.0, inexact_m: 0.0, origin: "{}".to_owned(), saved: None }
    }

    /// Reads a folder, with what was changed or not used on the way in.
    ///
    /// # Errors
    /// As [`load`].
    pub fn open(folder: &Path) -> Result<(Self, Vec<String>), FolderError> {
        let read::Found { meaning, raster, inexact_m, origin, notes } = read::read(folder)?;
        let (side, rounding_m) = (meaning.side, meaning.rounding_m);
        let mut world = Self { raster, side, rounding_m, inexact_m, origin: origin.clone(), saved: None };
        let layers = world.with_source(|source| save::contents(&source))?;
        world.saved = Some(Saved { folder: folder.to_owned(), meaning, origin, layers });
        Ok((world, notes))
    }

    /// Writes what has changed since the folder was read or written; all that is not at its default when the folder is
    /// another. Files that hold nothing any more are removed.
    ///
    /// # Errors
    /// A terrain that is wrong, or what the operating system says; the folder then holds the old world or, when the save
    /// had come to count, the new one.
    pub fn save(&mut self, folder: &Path) -> Result<Report, FolderError> {
        self.save_on(&RealDisk, folder)
    }

    /// As [`World::save`], on a given disk.
    ///
    /// # Errors
    /// As [`World::save`].
    pub fn save_on(&mut self, disk: &dyn Disk, folder: &Path) -> Result<Report, FolderError> {
        self.raster.check().map_err(|error| FolderError::Terrain { path: folder.to_owned(), error })?;
        // Should it fail, nothing is known of the folder any more, and the next save writes everything.
        let before = self.saved.take().filter(|s| s.folder == folder);
        let (saved, report) = self.with_source(|source| save::save(disk, folder, source, before.as_ref()))?;
        if saved.meaning.rounding_m != self.rounding_m {
            (self.rounding_m, self.inexact_m) = (saved.meaning.rounding_m, 0.0);
        }
        self.saved = Some(saved);
        Ok(report)
    }

    fn with_source<T>(&self, f: impl FnOnce(Source<'_>) -> T) -> T {
        let kinds: Vec<PlaneKind> = self.raster.planes.iter().map(|p| p.kind).collect();
        let meaning = Meaning {
            config: self.raster.config,
            side: self.side,
            catalogue: self.raster.catalogue.clone(),
            rounding_m: self.rounding_m,
            height: None,
            water: None,
        };
        let bands =
            || -> Box<dyn bands::Bands + '_> { Box::new(RasterBands { raster: &self.raster, next: 0 }) };
        f(Source {
            meaning,
            kinds: &kinds,
            inexact_m: self.inexact_m,
            origin: self.origin.clone(),
            bands: &bands,
        })
    }
}
