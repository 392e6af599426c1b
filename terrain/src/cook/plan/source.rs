//! Sources of heights and the steps that change them.

use crate::cook::field::check_size;
use crate::cook::generate::{Hydraulic, Noise, Terraces, Thermal, check_erosion, within};
use crate::cook::recipe::Extent;
use crate::cook::spline::{River, Road};
use crate::import::{SourceFormat, VoidPolicy, spacing_256};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The most sources of a recipe.
const MAX_SOURCES: usize = 4096;

/// Heights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Source {
    /// An elevation file, read as `import` reads it.
    Raster(RasterSource),
    /// The same height everywhere.
    Level {
        /// Columns and rows.
        size: (u32, u32),
        /// Metres between samples.
        spacing_m: f64,
        /// Metres.
        height_m: f64,
    },
    /// Noise.
    Noise {
        /// Columns and rows.
        size: (u32, u32),
        /// Metres between samples.
        spacing_m: f64,
        /// What noise.
        noise: Noise,
    },
    /// Tiles side by side.
    Mosaic(Mosaic),
    /// A source with steps of its own.
    Chain(Box<Chain>),
}

/// A source and what is done to it, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chain {
    /// Where heights come from.
    pub source: Source,
    /// What is done to them.
    #[serde(default)]
    pub steps: Vec<Step>,
}

/// An elevation file and how to read it: the options of `import`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RasterSource {
    /// The file, relative to the recipe's folder.
    pub path: PathBuf,
    /// Its format; found out when absent.
    #[serde(default)]
    pub format: Option<SourceFormat>,
    /// Columns and rows of a headerless raster; a square when absent.
    #[serde(default)]
    pub size: Option<(u32, u32)>,
    /// Whether a headerless raster is big-endian; found out when absent.
    #[serde(default)]
    pub big_endian: Option<bool>,
    /// Whether the 16-bit samples of a headerless raster are signed metres.
    #[serde(default)]
    pub signed: bool,
    /// Whether the first row is the south edge.
    #[serde(default)]
    pub south_up: bool,
    /// The channel of an image, the array of an archive, or the archive's member to take.
    #[serde(default)]
    pub channel: Option<String>,
    /// Metres of code 0 and of one code step of RGB-coded heights.
    #[serde(default)]
    pub rgb: Option<(f64, f64)>,
    /// Metres between samples; the file's own georeference when absent.
    #[serde(default)]
    pub spacing_m: Option<f64>,
    /// Metres of an image's lowest level.
    #[serde(default)]
    pub min_m: Option<f64>,
    /// Metres of an image's highest level.
    #[serde(default)]
    pub max_m: Option<f64>,
    /// The part to take, in samples.
    #[serde(default)]
    pub crop: Option<Extent>,
    /// A value that means "no data", beside the format's own.
    #[serde(default)]
    pub nodata: Option<f64>,
    /// What becomes of voids.
    #[serde(default = "hole")]
    pub voids: VoidPolicy,
}

const fn hole() -> VoidPolicy {
    VoidPolicy::Hole
}

/// Tiles in rows from north to south, each from west to east. Neighbours share their edge samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mosaic {
    /// Rows of tiles, all as long as the first.
    pub tiles: Vec<Vec<Source>>,
    /// What becomes of shared samples that differ.
    #[serde(default)]
    pub seams: Seams,
}

/// What becomes of shared samples that differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Seams {
    /// They are refused: how many there are, and the first.
    #[default]
    Error,
    /// The first tile that has a height wins.
    First,
    /// The mean of all tiles that have a height.
    Average,
}

/// Something done to heights. Places are in metres from the field's origin as it is then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Step {
    /// Takes a part, in samples.
    Crop {
        /// First column.
        x: u32,
        /// First row.
        z: u32,
        /// Columns.
        w: u32,
        /// Rows.
        h: u32,
    },
    /// Multiplies all heights.
    Scale(f64),
    /// Adds metres to all heights.
    Offset(f64),
    /// Brings heights into a range of metres.
    Clamp {
        /// The lowest.
        min_m: f64,
        /// The highest.
        max_m: f64,
    },
    /// Other metres between samples, over the same ground. Bilinear; voids never blend.
    Resample {
        /// Metres between samples.
        spacing_m: f64,
    },
    /// Steps cut into slopes.
    Terraces(Terraces),
    /// Slides.
    Thermal(Thermal),
    /// Rain.
    Hydraulic(Hydraulic),
    /// Levels a road.
    Road(Road),
    /// Cuts a river.
    River(River),
    /// Puts other heights over these.
    Blend {
        /// The other heights, of the same size and spacing.
        over: Box<Chain>,
        /// Where, and how much.
        #[serde(default)]
        mask: Mask,
        /// How.
        #[serde(default)]
        how: How,
    },
}

/// How much of the other heights, from 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Mask {
    /// The same everywhere.
    Constant(f64),
    /// An 8-bit grey image, one pixel a sample; 255 is 1.
    Image(PathBuf),
    /// 1 within a radius around a place, 0 beyond another, smooth between.
    Radial {
        /// Metres.
        x: f64,
        /// Metres.
        z: f64,
        /// Metres: 1 up to here.
        inner_m: f64,
        /// Metres: 0 from here.
        outer_m: f64,
    },
}

impl Default for Mask {
    fn default() -> Self {
        Mask::Constant(1.0)
    }
}

/// How heights are put over others; a void takes no part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// From the lower to the upper by the mask.
    #[default]
    Mix,
    /// The upper's metres times the mask are added.
    Add,
    /// As `Mix`, but only where that is higher.
    Max,
    /// As `Mix`, but only where that is lower.
    Min,
}

impl Step {
    /// Its name in messages and progress.
    pub fn name(&self) -> &'static str {
        match self {
            Step::Crop { .. } => "crop",
            Step::Scale(_) => "scale",
            Step::Offset(_) => "offset",
            Step::Clamp { .. } => "clamp",
            Step::Resample { .. } => "resample",
            Step::Terraces(_) => "terraces",
            Step::Thermal(_) => "thermal erosion",
            Step::Hydraulic(_) => "hydraulic erosion",
            Step::Road(_) => "road",
            Step::River(_) => "river",
            Step::Blend { .. } => "blend",
        }
    }

    fn check(&self, at: &str) -> Result<(), String> {
        match self {
            Step::Crop { w, h, .. } => check_size([*w, *h]),
            Step::Scale(f) => within("factor", *f, -1e6, 1e6),
            Step::Offset(m) => within("metres", *m, -1e7, 1e7),
            Step::Clamp { min_m, max_m } => {
                within("min_m", *min_m, -1e7, 1e7)?;
                within("max_m", *max_m, *min_m, 1e7)
            }
            Step::Resample { spacing_m } => spacing(*spacing_m).map(drop),
            Step::Terraces(t) => t.check(),
            Step::Thermal(t) => t.check(),
            Step::Hydraulic(h) => h.check(),
            Step::Road(r) => r.check(),
            Step::River(r) => r.check(),
            Step::Blend { over, mask, .. } => {
                mask.check().map_err(|e| format!("{at} ({}): {e}", self.name()))?;
                // Its messages say where they come from themselves.
                return check_chain(&over.source, &over.steps, &format!("{at}.over."));
            }
        }
        .map_err(|e| format!("{at} ({}): {e}", self.name()))
    }
}

impl Mask {
    fn check(&self) -> Result<(), String> {
        match self {
            Mask::Constant(c) => within("mask", *c, 0.0, 1.0),
            Mask::Image(_) => Ok(()),
            Mask::Radial { x, z, inner_m, outer_m } => {
                within("mask x", *x, -1e8, 1e8)?;
                within("mask z", *z, -1e8, 1e8)?;
                within("mask outer_m", *outer_m, 0.0, 1e8)?;
                if *inner_m >= 0.0 && inner_m < outer_m {
                    Ok(())
                } else {
                    Err(format!("mask inner_m must be from 0 to below outer_m {outer_m}, found {inner_m}"))
                }
            }
        }
    }
}

/// Metres as a count of 1/256 m.
pub(crate) fn spacing(spacing_m: f64) -> Result<u32, String> {
    spacing_256(spacing_m).map_err(|_| {
        format!("spacing_m must be a multiple of 1/256 m from 1/256 to 256 m, found {spacing_m}")
    })
}

/// Checks a source and its steps; `at` goes before their names in messages.
pub(super) fn check_chain(source: &Source, steps: &[Step], at: &str) -> Result<(), String> {
    let mut count = 0;
    count_sources(source, steps, &mut count);
    if count > MAX_SOURCES {
        return Err(format!("{at}source: expected at most {MAX_SOURCES} sources in all, found {count}"));
    }
    check_source(source, &format!("{at}source"))?;
    steps.iter().enumerate().try_for_each(|(i, s)| s.check(&format!("{at}steps[{i}]")))
}

fn check_source(source: &Source, at: &str) -> Result<(), String> {
    let field = |size: &(u32, u32), spacing_m: f64| {
        check_size([size.0, size.1])?;
        spacing(spacing_m)?;
        Ok(f64::from(size.0.max(size.1)) * spacing_m)
    };
    match source {
        Source::Raster(r) => r.spacing_m.map_or(Ok(()), |s| spacing(s).map(drop)),
        Source::Level { size, spacing_m, height_m } => {
            field(size, *spacing_m).and_then(|_| within("height_m", *height_m, -1e7, 1e7))
        }
        Source::Noise { size, spacing_m, noise } => {
            field(size, *spacing_m).and_then(|reach| noise.check(reach))
        }
        Source::Mosaic(m) => {
            let columns = m.tiles.first().map_or(0, Vec::len);
            if columns == 0 || m.tiles.iter().any(|row| row.len() != columns) {
                return Err(format!(
                    "{at}.tiles: expected rows of tiles, all as long as the first, and not empty"
                ));
            }
            for (z, row) in m.tiles.iter().enumerate() {
                for (x, tile) in row.iter().enumerate() {
                    check_source(tile, &format!("{at}.tiles[{z}][{x}]"))?;
                }
            }
            return Ok(());
        }
        Source::Chain(c) => return check_chain(&c.source, &c.steps, &format!("{at}.")),
    }
    .map_err(|e| format!("{at}: {e}"))
}

fn count_sources(source: &Source, steps: &[Step], count: &mut usize) {
    *count += 1;
    match source {
        Source::Mosaic(m) => m.tiles.iter().flatten().for_each(|t| count_sources(t, &[], count)),
        Source::Chain(c) => count_sources(&c.source, &c.steps, count),
        Source::Raster(_) | Source::Level { .. } | Source::Noise { .. } => {}
    }
    for step in steps {
        if let Step::Blend { over, .. } = step {
            count_sources(&over.source, &over.steps, count);
        }
    }
}

/// Columns and rows of a source after its steps, where its text alone tells; refuses a crop beside it.
pub(super) fn size(source: &Source, steps: &[Step], at: &str) -> Result<Option<[u32; 2]>, String> {
    let mut size = match source {
        Source::Level { size, .. } | Source::Noise { size, .. } => Some([size.0, size.1]),
        Source::Chain(c) => self::size(&c.source, &c.steps, &format!("{at}source."))?,
        Source::Raster(_) | Source::Mosaic(_) => None,
    };
    for (i, step) in steps.iter().enumerate() {
        match step {
            Step::Crop { x, z, w, h } => {
                if let Some(all) = size {
                    crop_inside(all, [*x, *z], [*w, *h])
                        .map_err(|e| format!("{at}steps[{i}] ({}): {e}", step.name()))?;
                }
                size = Some([*w, *h]);
            }
            Step::Resample { .. } => size = None,
            Step::Blend { over, .. } => {
                let other = self::size(&over.source, &over.steps, &format!("{at}steps[{i}].over."))?;
                if let (Some([w, h]), Some([ow, oh])) = (size, other)
                    && [w, h] != [ow, oh]
                {
                    return Err(format!(
                        "{at}steps[{i}] ({}): expected heights of {w}x{h} samples, found {ow}x{oh}",
                        step.name()
                    ));
                }
            }
            Step::Thermal(_) | Step::Hydraulic(_) => {
                if let Some(all) = size {
                    check_erosion(all).map_err(|e| format!("{at}steps[{i}] ({}): {e}", step.name()))?;
                }
            }
            _ => {}
        }
    }
    Ok(size)
}

/// Refuses a rectangle of samples that is not inside a field.
pub(crate) fn crop_inside(all: [u32; 2], [x, z]: [u32; 2], [w, h]: [u32; 2]) -> Result<(), String> {
    let fits = |from: u32, n: u32, all: u32| from.checked_add(n).is_some_and(|end| end <= all);
    if fits(x, w, all[0]) && fits(z, h, all[1]) {
        return Ok(());
    }
    Err(format!("expected a part of the {}x{} samples, found {w}x{h} from ({x}, {z})", all[0], all[1]))
}

/// Checks the names of layers that roads and rivers paint.
pub(super) fn painted(
    source: &Source,
    steps: &[Step],
    at: &str,
    known: &impl Fn(&str) -> Result<(), String>,
) -> Result<(), String> {
    match source {
        Source::Mosaic(m) => {
            for (z, row) in m.tiles.iter().enumerate() {
                for (x, tile) in row.iter().enumerate() {
                    painted(tile, &[], &format!("{at}source.tiles[{z}][{x}]."), known)?;
                }
            }
        }
        Source::Chain(c) => painted(&c.source, &c.steps, &format!("{at}source."), known)?,
        Source::Raster(_) | Source::Level { .. } | Source::Noise { .. } => {}
    }
    for (i, step) in steps.iter().enumerate() {
        let (name, paint) = match step {
            Step::Road(r) => (&r.name, &r.paint),
            Step::River(r) => (&r.name, &r.paint),
            Step::Blend { over, .. } => {
                painted(&over.source, &over.steps, &format!("{at}steps[{i}].over."), known)?;
                continue;
            }
            _ => continue,
        };
        if let Some(paint) = paint {
            known(&paint.layer).map_err(|e| format!("{at}steps[{i}] ({name}): paint: {e}"))?;
        }
    }
    Ok(())
}

/// Collects the files of a source and its steps.
pub(super) fn files(source: &Source, steps: &[Step], out: &mut Vec<PathBuf>) {
    match source {
        Source::Raster(r) => out.push(r.path.clone()),
        Source::Mosaic(m) => m.tiles.iter().flatten().for_each(|t| files(t, &[], out)),
        Source::Chain(c) => files(&c.source, &c.steps, out),
        Source::Level { .. } | Source::Noise { .. } => {}
    }
    for step in steps {
        if let Step::Blend { over, mask, .. } = step {
            files(&over.source, &over.steps, out);
            if let Mask::Image(path) = mask {
                out.push(path.clone());
            }
        }
    }
}
