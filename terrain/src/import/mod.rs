//! The door: elevation files made into terrains.
//!
//! Owns reading source formats, their voids, their georeference and the one rounding of heights to quanta. Readers hand
//! over a [`Source`]; what follows is the same for all. Never writes a terrain; [`crate::store`] does.

mod archive;
mod asc;
mod detect;
mod error;
mod exr;
mod georef;
mod grid;
mod hgt;
mod imported;
mod npy;
mod options;
mod origin;
mod png;
mod quantise;
mod raw;
mod rgb;
mod rows;
mod scale;
mod source;
mod terrain3d;
mod tiff;
mod usgs_dem;

pub use error::ImportError;
pub use georef::{Georeference, METRES_PER_DEGREE, Tile};
pub(crate) use grid::Grid;
pub use grid::VoidPolicy;
pub use imported::ImportedRows;
pub use options::ImportOptions;
pub use origin::{Crop, Nodata, Origin, Registration};
pub(crate) use scale::LevelMap;
pub use source::{Ask, Input, MAX_IMPORT_SAMPLES, Meaning, Place, Samples, Source, Voids};

use crate::config::{SPACING_PER_M, TerrainConfig};
use crate::store::Raster;
use detect::Kind;
use georef::Squares;
use quantise::Plan;
use scale::{Affine, Linear, Metres};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Source formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceFormat {
    /// SRTM: square, 16-bit signed big-endian metres.
    Hgt,
    /// PNG: 8- and 16-bit grey, with or without alpha.
    Png,
    /// TIFF and GeoTIFF.
    Tiff,
    /// Headerless 8-bit levels.
    Raw8,
    /// Headerless 16-bit levels, or signed metres.
    Raw16,
    /// Headerless single-precision metres.
    Raw32,
    /// OpenEXR.
    Exr,
    /// ESRI ASCII grid.
    Asc,
    /// USGS ASCII DEM.
    UsgsDem,
    /// RGB-coded heights as Mapbox defines them.
    TerrainRgb,
    /// RGB-coded heights as Mapzen defines them.
    Terrarium,
    /// NumPy array.
    Npy,
    /// NumPy archive.
    Npz,
    /// Terrain3D region.
    Terrain3d,
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

/// A source that was read, and the file it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Opened {
    /// What the reader handed over.
    pub source: Source,
    /// The archive's member that was read.
    pub member: Option<String>,
    /// Bytes of the file.
    pub bytes: u64,
}

/// Imports one elevation file into memory.
///
/// # Errors
/// One line: what is wrong with the file, or what to pass.
pub fn import(path: &Path, options: &ImportOptions) -> Result<Imported, ImportError> {
    let rows = import_rows(path, options)?;
    let raster = crate::store::collect(&rows);
    raster.check()?;
    Ok(Imported { raster, rounding_m: rows.rounding_m(), origin: rows.origin })
}

/// Imports one elevation file as rows on demand: only its raw samples are held.
///
/// # Errors
/// As [`import`].
pub fn import_rows(path: &Path, options: &ImportOptions) -> Result<ImportedRows, ImportError> {
    rows_of(open(path, options)?, &file_name(path), options)
}

/// Reads one elevation file and applies nothing: neither crop nor scale nor void policy.
///
/// # Errors
/// As [`import`].
pub fn open(path: &Path, options: &ImportOptions) -> Result<Opened, ImportError> {
    open_input(Input::open(path)?, options)
}

/// As [`open`], of bytes that need not be a file's.
///
/// # Errors
/// As [`import`].
pub fn open_input(mut input: Input, options: &ImportOptions) -> Result<Opened, ImportError> {
    let (bytes, mut ask) = (input.len, options.ask());
    let mut member = None;
    if detect::kind_of(&mut input, options.format)? == Kind::Zip {
        let wanted = archive::Wanted {
            format: options.format,
            name: options.channel.as_deref(),
            spacing_given: options.spacing_m.is_some(),
            size: options.size,
        };
        let outer = std::mem::take(&mut input.name);
        input = archive::only_source(&mut input, wanted)?;
        member = Some(input.name.clone());
        ask.channel = ask.channel.filter(|c| file_name(Path::new(c)) != input.name);
        // A tile's degrees may stand in the archive's name only.
        if Tile::from_name(&input.name).is_none() && Tile::from_name(&outer).is_some() {
            input.name = outer;
        }
    }
    let format = match detect::kind_of(&mut input, options.format)? {
        Kind::Source(format) => format,
        Kind::Zip => return Err(ImportError::source("expected an elevation file, found an archive")),
    };
    options.check(format, member.is_some())?;
    Ok(Opened { source: read(&mut input, format, &ask)?, member, bytes })
}

/// Reads a source of a known format.
///
/// # Errors
/// What is wrong with it.
pub fn read(input: &mut Input, format: SourceFormat, ask: &Ask) -> Result<Source, ImportError> {
    match format {
        SourceFormat::Hgt => hgt::read(input, ask),
        SourceFormat::Png => png::read(input, ask),
        SourceFormat::Raw8 => raw::read8(input, ask),
        SourceFormat::Raw16 => raw::read16(input, ask),
        SourceFormat::Raw32 => raw::read32(input, ask),
        SourceFormat::Exr => exr::read(input, ask),
        SourceFormat::TerrainRgb => rgb::read_terrain_rgb(input, ask),
        SourceFormat::Terrarium => rgb::read_terrarium(input, ask),
        SourceFormat::Tiff => tiff::read(input, ask),
        SourceFormat::Npy => npy::read(input, ask),
        SourceFormat::Npz => npy::read_npz(input, ask),
        SourceFormat::Asc => asc::read(input, ask),
        SourceFormat::UsgsDem => usgs_dem::read(input, ask),
        SourceFormat::Terrain3d => terrain3d::read(input, ask),
    }
}

/// The rows of a source that was read; `name` is the file's, for the record.
///
/// # Errors
/// What the options forbid or do not say.
pub fn rows_of(opened: Opened, name: &str, options: &ImportOptions) -> Result<ImportedRows, ImportError> {
    let Opened { source, member, bytes } = opened;
    let mut notes = source.notes;
    let metres = meaning(&source.samples, source.meaning, source.format, options, &mut notes)?;
    let mut grid = Grid::new(source.size, source.samples, source.voids, options.crop)?;
    if let Some(nodata) = options.nodata {
        grid.make_void(nodata)?;
    } else if source.nodata.is_none() {
        for (value, n) in grid.suspects() {
            notes.push(format!(
                "{n} {} exactly {value}: pass --nodata {value} if that means no data",
                if n == 1 { "sample is" } else { "samples are" }
            ));
        }
    }
    grid.refuse_odd()?;
    let nodata_samples = grid.voids();
    if nodata_samples == u64::from(grid.width()) * u64::from(grid.height()) {
        notes.push("every sample is void: there will be no ground".to_owned());
    }
    grid.apply(options.voids)?;
    notes.extend(unused_georeference(source.place, &grid, options));
    let place = place(source.place, &grid, options)?;
    // Every size is checked before heights are made.
    let samples = place.squares.as_ref().map_or([grid.width(), grid.height()], Squares::samples);
    let config = TerrainConfig {
        vertical_scale: options.vertical_scale,
        diagonal: options.diagonal,
        ..TerrainConfig::new(samples, place.spacing_256)
    };
    config.check()?;
    let plan = Plan::new(&grid, metres, place.squares.as_ref(), options.quantum)?;
    let (catalogue, weights) = imported::weights(source.layers, &grid, place.squares.as_ref(), &mut notes)?;
    let georeference = match (source.format, source.place) {
        (SourceFormat::Hgt, Place::Degrees { north_deg, west_deg, .. }) => {
            Some(Georeference::Tile(Tile { south_deg: north_deg as i32 - 1, west_deg: west_deg as i32 }))
        }
        (_, place) => Georeference::of(place),
    };
    let origin = Origin {
        source: name.to_owned(),
        member,
        format: source.format,
        bytes,
        size: grid.whole(),
        registration: source.registration,
        nodata: options.nodata.or(source.nodata).map(Nodata),
        nodata_samples,
        voids: options.voids,
        crop: options.crop,
        min_m: options.min_m,
        max_m: options.max_m,
        georeference,
        resampled: place.squares.is_some(),
        source_step_m: place.steps_m,
        recipe: None,
        notes,
    };
    Ok(ImportedRows {
        config: TerrainConfig { quantum: plan.quantum, ..config },
        catalogue,
        origin,
        grid,
        plan,
        squares: place.squares,
        hole_cells: source.hole_cells,
        weights,
    })
}

/// Where the samples stand.
struct Standing {
    spacing_256: u32,
    /// The lattice that they are resampled to.
    squares: Option<Squares>,
    /// Metres between the source's columns and rows when they are resampled.
    steps_m: Option<[f64; 2]>,
}

fn place(place: Place, grid: &Grid, options: &ImportOptions) -> Result<Standing, ImportError> {
    let one_to_one = |spacing_256| Standing { spacing_256, squares: None, steps_m: None };
    if let Some(spacing) = options.spacing_m {
        return Ok(one_to_one(spacing_256(spacing)?));
    }
    let Some(steps_m) = georef::steps_m(place, grid.crop())? else {
        return Err(ImportError::usage(
            "the file has no georeference (an .hgt's is its name, like N43E007.hgt): pass --spacing METRES",
        ));
    };
    if let (Place::Metres { .. }, Some(spacing_256)) = (place, georef::as_they_are(steps_m)) {
        return Ok(one_to_one(spacing_256));
    }
    let squares = Squares::new(steps_m, grid.crop())?;
    Ok(Standing { spacing_256: squares.spacing_256(), squares: Some(squares), steps_m: Some(steps_m) })
}

/// Says what a file's own georeference would have made of samples that are taken one to one at another spacing.
fn unused_georeference(place: Place, grid: &Grid, options: &ImportOptions) -> Option<String> {
    let (asked, Ok(Some([x, z]))) = (options.spacing_m?, georef::steps_m(place, grid.crop())) else {
        return None;
    };
    let differs = |own: f64| (own - asked).abs() > 0.01 * asked;
    (differs(x) || differs(z)).then(|| {
        format!("its own georeference puts samples {x:.1} m and {z:.1} m apart (x, z): not used, they are taken {asked} m apart")
    })
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
fn meaning(
    samples: &Samples,
    meaning: Meaning,
    format: SourceFormat,
    options: &ImportOptions,
    notes: &mut Vec<String>,
) -> Result<Metres, ImportError> {
    let vertical = options.vertical_scale;
    let range = match (options.min_m, options.max_m) {
        (Some(min), Some(max)) => Some((min, max)),
        (None, None) => None,
        _ => {
            return Err(ImportError::usage(
                "pass both --min and --max, or neither where the file holds metres",
            ));
        }
    };
    match (meaning, range, samples.is_integer()) {
        (Meaning::Metres { scale, offset }, None, true) => match Affine::declared(scale, offset, vertical)? {
            Some(affine) => Ok(Metres::Exact(affine)),
            None => Linear::new(scale, offset, vertical).map(Metres::Float),
        },
        (Meaning::Metres { scale, offset }, None, false) => {
            Linear::new(scale, offset, vertical).map(Metres::Float)
        }
        (Meaning::Metres { .. }, Some(_), true) => Err(ImportError::usage(match format {
            SourceFormat::Hgt => "an .hgt holds metres: leave --min and --max out",
            _ => "the file holds whole metres: leave --min and --max out",
        })),
        (Meaning::Levels { max }, Some((low, high)), true) => {
            Affine::range(low, high, max, vertical).map(Metres::Exact)
        }
        (Meaning::Levels { max }, None, true) => Err(ImportError::usage(format!(
            "an image's values are no metres: pass --min and --max, the heights of the values 0 and {max}"
        ))),
        (Meaning::Levels { .. }, None, false) => {
            notes.push(
                "values taken as metres: pass --min and --max where 0 to 1 stands for a range".to_owned(),
            );
            Linear::new(1.0, 0.0, vertical).map(Metres::Float)
        }
        (_, Some((low, high)), false) => {
            let max = if let Meaning::Levels { max } = meaning { max } else { 1 };
            notes.push(format!(
                "values of 0 to {max} taken for {low} to {high} m, those beyond in proportion"
            ));
            Linear::range(low, high, max, vertical).map(Metres::Float)
        }
    }
}

/// A path's last part, as text.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned())
}
