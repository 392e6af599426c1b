//! The door: elevation files made into a [`Raster`].
//!
//! Owns reading source formats (SRTM `.hgt`, plain or zipped, and 16-bit grey PNG), their voids, their georeference and
//! the one rounding of heights to quanta. Never writes a terrain; [`crate::store`] does.

mod archive;
mod error;
mod georef;
mod grid;
mod hgt;
mod origin;
mod png;
mod scale;

pub use error::ImportError;
pub use georef::{METRES_PER_DEGREE, Tile};
pub use grid::{Grid, VoidPolicy};
pub use origin::{Crop, Origin, Registration};
pub use scale::{Affine, Quantised};

use crate::config::{Diagonal, SPACING_PER_M, TerrainConfig};
use crate::height::QuantumLog2;
use crate::store::Raster;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The most samples an import holds: it keeps the whole raster in memory, eight bytes a sample at its peak.
pub const MAX_IMPORT_SAMPLES: u64 = 1 << 28;

/// Source formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceFormat {
    /// SRTM: square, 16-bit signed big-endian metres, plain or the only `.hgt` in a zip.
    Hgt,
    /// PNG: 16-bit grey, with or without alpha.
    Png,
}

/// How to import.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportOptions {
    /// The source's format; found out from its name and first bytes when `None`.
    pub format: Option<SourceFormat>,
    /// Metres between samples, taken one to one; `None` uses the file's own georeference.
    pub spacing_m: Option<f64>,
    /// Metres of the value 0 of an image.
    pub min_m: Option<f64>,
    /// Metres of the value 65535 of an image.
    pub max_m: Option<f64>,
    /// Factor on the heights, applied here once and recorded.
    pub vertical_scale: f64,
    /// How cells are split.
    pub diagonal: Diagonal,
    /// The part of the source to take.
    pub crop: Option<Crop>,
    /// A source value that means "no data", beside the format's own.
    pub nodata: Option<i32>,
    /// What becomes of voids.
    pub voids: VoidPolicy,
    /// k; by the rule of [`Affine::quantum_for`] when `None`.
    pub quantum: Option<QuantumLog2>,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self {
            format: None,
            spacing_m: None,
            min_m: None,
            max_m: None,
            vertical_scale: 1.0,
            diagonal: Diagonal::Main,
            crop: None,
            nodata: None,
            voids: VoidPolicy::Hole,
            quantum: None,
        }
    }
}

/// A terrain, where it came from, and what rounding did to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The terrain.
    pub raster: Raster,
    /// Where it came from.
    pub origin: Origin,
    /// The largest rounding error in metres.
    pub rounding_m: f64,
}

/// A decoded source: raw values, and what they mean.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) grid: Grid,
    pub(crate) format: SourceFormat,
    /// The archive's member that was read.
    pub(crate) member: Option<String>,
    /// Bytes of the file.
    pub(crate) bytes: u64,
    /// The value that the format itself calls void.
    pub(crate) void_value: Option<i32>,
    /// The degrees it covers, if its name says so.
    pub(crate) tile: Option<Tile>,
    /// What was seen and not used.
    pub(crate) notes: Vec<String>,
}

/// Imports one elevation file.
///
/// # Errors
/// One line: what is wrong with the file, or what to pass.
pub fn import(path: &Path, options: &ImportOptions) -> Result<Imported, ImportError> {
    let mut source = match format_of(path, options.format)? {
        SourceFormat::Hgt => hgt::read(path, options.spacing_m.is_some())?,
        SourceFormat::Png => png::read(path)?,
    };
    let affine = meaning(&source, options)?;
    let size = [source.grid.width(), source.grid.height()];
    let crop = options.crop.unwrap_or(Crop { x: 0, z: 0, w: size[0], h: size[1] });
    if options.crop.is_some() {
        source.grid = source.grid.crop(crop)?;
    }
    if let Some(nodata) = options.nodata {
        source.grid.make_void(nodata);
    }
    let voids = source.grid.voids();
    source.grid.apply(options.voids, crop)?;
    let place = place(&source, options, crop)?;
    // Every size is checked before heights are made.
    let config = TerrainConfig {
        vertical_scale: options.vertical_scale,
        diagonal: options.diagonal,
        ..TerrainConfig::new(place.samples, place.spacing_256)
    };
    config.check()?;
    let (heights, resampled) = match place.steps_m {
        None => (affine.quantise(&source.grid, options.quantum, crop)?, false),
        Some(steps_m) => {
            let metres = georef::resample(&source.grid, steps_m, config.spacing_m(), place.samples);
            (affine.quantise_metres(&metres, place.samples[0], options.quantum)?, true)
        }
    };
    let rounding_m = heights.rounding_m;
    let config = TerrainConfig { quantum: heights.quantum, ..config };
    let raster = Raster::from_heights(config, heights.quanta);
    raster.check()?;
    let origin = Origin {
        source: file_name(path),
        member: source.member,
        format: source.format,
        bytes: source.bytes,
        size,
        registration: Registration::Point,
        nodata: options.nodata.or(source.void_value),
        nodata_samples: voids,
        voids: options.voids,
        crop: options.crop,
        min_m: options.min_m,
        max_m: options.max_m,
        georeference: source.tile,
        resampled,
        source_step_m: place.steps_m,
        recipe: None,
        notes: source.notes,
    };
    Ok(Imported { raster, origin, rounding_m })
}

/// Where the samples stand.
struct Place {
    samples: [u32; 2],
    spacing_256: u32,
    /// Metres between the source's columns and rows when they are resampled.
    steps_m: Option<[f64; 2]>,
}

fn place(source: &Source, options: &ImportOptions, crop: Crop) -> Result<Place, ImportError> {
    if let Some(spacing) = options.spacing_m {
        return Ok(Place { samples: [crop.w, crop.h], spacing_256: spacing_256(spacing)?, steps_m: None });
    }
    let Some(tile) = source.tile else {
        return Err(ImportError::usage(
            "the file has no georeference (an .hgt's is its name, like N43E007.hgt): pass --spacing METRES",
        ));
    };
    let (samples, spacing_256, steps_m) = tile.square_metres(source.grid.size_before_crop(), crop)?;
    Ok(Place { samples, spacing_256, steps_m: Some(steps_m) })
}

/// Metres between samples as a count of 1/256 m.
///
/// # Errors
/// What is not a whole multiple from 1/256 m to 256 m.
pub fn spacing_256(spacing_m: f64) -> Result<u32, ImportError> {
    let scaled = spacing_m * f64::from(SPACING_PER_M);
    if scaled >= 1.0 && scaled <= f64::from(crate::config::MAX_SPACING_256) && scaled.fract() == 0.0 {
        Ok(scaled as u32)
    } else {
        Err(ImportError::usage(format!(
            "the spacing must be a multiple of 1/256 m from 1/256 to 256 m, found {spacing_m}: pass another --spacing"
        )))
    }
}

/// What the raw values mean in metres.
fn meaning(source: &Source, options: &ImportOptions) -> Result<Affine, ImportError> {
    match (source.format, options.min_m, options.max_m) {
        (SourceFormat::Hgt, None, None) => Affine::metres(options.vertical_scale),
        (SourceFormat::Hgt, ..) => Err(ImportError::usage("an .hgt holds metres: leave --min and --max out")),
        (SourceFormat::Png, Some(min), Some(max)) => Affine::range(min, max, options.vertical_scale),
        (SourceFormat::Png, ..) => Err(ImportError::usage(
            "an image's values are no metres: pass --min and --max, the heights of the values 0 and 65535",
        )),
    }
}

fn format_of(path: &Path, asked: Option<SourceFormat>) -> Result<SourceFormat, ImportError> {
    if let Some(format) = asked {
        return Ok(format);
    }
    let mut first = [0; 8];
    let mut file = crate::store::open_regular(path)?;
    let read = read_up_to(&mut file, &mut first)?;
    if first[..read].starts_with(b"\x89PNG") {
        return Ok(SourceFormat::Png);
    }
    if first[..read].starts_with(b"PK") {
        return Ok(SourceFormat::Hgt);
    }
    let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase());
    match extension.as_deref() {
        Some("hgt" | "zip") => Ok(SourceFormat::Hgt),
        Some("png") => Ok(SourceFormat::Png),
        _ => Err(ImportError::source(
            "is in no format that this version reads: SRTM .hgt (plain or zipped) and 16-bit grey PNG; where it is one of them under another name, pass --format hgt or png",
        )),
    }
}

fn read_up_to(file: &mut File, bytes: &mut [u8]) -> std::io::Result<usize> {
    let mut read = 0;
    while read < bytes.len() {
        match file.read(&mut bytes[read..])? {
            0 => break,
            n => read += n,
        }
    }
    Ok(read)
}

/// A path's last part, as text.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned())
}
