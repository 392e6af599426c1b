//! `terrain.ron`: the knobs of a world folder, every field known, every mistake with its line and column.

use super::error::{FolderError, rule};
use super::scale::Scale;
use crate::config::{Diagonal, SPACING_PER_M, TerrainConfig};
use crate::content::{Catalogue, FoliageType, Layer, ObjectType, Overlay, PhysicalMaterial, Water};
use crate::coord::{BlockSide, CellRect};
use crate::height::QuantumLog2;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The knobs as they are written. What is absent has its default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Knobs {
    /// Samples along x and z; or `size_m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<(u32, u32)>,
    /// Metres along x and z, whole multiples of the spacing; or `samples`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_m: Option<(f64, f64)>,
    /// Metres between samples, a multiple of 1/256.
    pub spacing_m: f64,
    /// k: heights are counted in 2⁻ᵏ m.
    #[serde(default = "default_quantum")]
    pub quantum_log2: QuantumLog2,
    /// How cells are split.
    #[serde(default = "default_diagonal")]
    pub diagonal: Diagonal,
    /// Samples a side of a block of the payload.
    #[serde(default = "default_block")]
    pub block: BlockSide,
    /// A record of the exaggeration that cooking applied; never applied again.
    #[serde(default = "one")]
    pub vertical_scale: f64,
    /// Paint texels a cell side: 1, 2 or 4.
    #[serde(default = "one_texel")]
    pub paint_per_cell: u8,
    /// The cells that may carry surface; all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extent: Option<Extent>,
    /// Metres of the height code 0. Needed where there is a height image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub height_min_m: Option<f64>,
    /// Metres of the largest height code. Needed where there is a height image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub height_max_m: Option<f64>,
    /// Bits of a height code that stand in `heightmap-low.png`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub height_low_bits: u8,
    /// The catalogue's record of the deepest water; also what the largest water code stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_water_depth_m: Option<f64>,
    /// Metres of the largest water code, where that is not `max_water_depth_m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub water_full_m: Option<f64>,
    /// Bits of a water code that stand in `water-low.png`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub water_low_bits: u8,
    /// A record: the largest rounding error of the heights before they came here, in metres.
    #[serde(default, skip_serializing_if = "is_zero_m")]
    pub rounding_m: f64,
    /// Surface layers by id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<Layer>,
    /// Physical materials by id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub materials: Vec<PhysicalMaterial>,
    /// Names of the user channels by index.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub user_channels: Vec<String>,
    /// Foliage types by index.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub foliage: Vec<FoliageType>,
    /// Object types by index.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<ObjectType>,
    /// Roads and the like.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overlays: Vec<Overlay>,
}

/// A rectangle of whole cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extent {
    /// First column.
    pub x: u32,
    /// First row.
    pub z: u32,
    /// Columns.
    pub w: u32,
    /// Rows.
    pub h: u32,
}

const fn one() -> f64 {
    1.0
}

const fn one_texel() -> u8 {
    1
}

const fn default_quantum() -> QuantumLog2 {
    QuantumLog2::DEFAULT
}

const fn default_diagonal() -> Diagonal {
    Diagonal::Main
}

const fn default_block() -> BlockSide {
    BlockSide::S32
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_zero(v: &u8) -> bool {
    *v == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero_m(v: &f64) -> bool {
    *v == 0.0
}

/// What knobs mean: two texts that say the same are equal here.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Meaning {
    pub(super) config: TerrainConfig,
    pub(super) side: BlockSide,
    pub(super) catalogue: Catalogue,
    pub(super) rounding_m: f64,
    pub(super) height: Option<Scale>,
    pub(super) water: Option<Scale>,
}

fn options() -> ron::Options {
    ron::Options::default().with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME)
}

impl Knobs {
    /// Reads the knobs' text; `path` is what errors name.
    ///
    /// # Errors
    /// The first mistake, with line and column.
    pub fn parse(text: &str, path: &Path) -> Result<Self, FolderError> {
        options().from_str(text).map_err(|e| FolderError::Syntax {
            path: path.to_owned(),
            line: e.span.start.line,
            column: e.span.start.col,
            message: e.code.to_string(),
        })
    }

    /// The knobs as text that reads back the same.
    ///
    /// # Panics
    /// Never: they are plain data.
    pub fn to_text(&self) -> String {
        let pretty = ron::ser::PrettyConfig::default().compact_arrays(true);
        let text = options().to_string_pretty(self, pretty).expect("knobs are plain data");
        format!(
            "// A Highground world folder: what the images beside this file mean. See docs/authoring.md.\n{text}\n"
        )
    }

    /// Refuses knobs that describe no terrain; `path` is what errors name.
    ///
    /// # Errors
    /// The first that will not do.
    pub fn check(&self, path: &Path) -> Result<(), FolderError> {
        self.meaning(path).map(drop)
    }

    /// Checks the knobs and takes them for what they mean.
    pub(super) fn meaning(&self, path: &Path) -> Result<Meaning, FolderError> {
        let wrong = |message: String| rule(path, message);
        let spacing = self.spacing_m * f64::from(SPACING_PER_M);
        if !(spacing >= 1.0 && spacing <= f64::from(u32::MAX) && spacing.fract() == 0.0) {
            let found = self.spacing_m;
            return Err(wrong(format!("spacing_m: expected a multiple of 1/256 m, found {found}")));
        }
        let samples = self.sample_count().map_err(wrong)?;
        let mut config = TerrainConfig::new(samples, spacing as u32);
        config.quantum = self.quantum_log2;
        config.diagonal = self.diagonal;
        config.vertical_scale = self.vertical_scale;
        config.paint_per_cell = self.paint_per_cell;
        if let Some(e) = self.extent {
            let end = |from: u32, n: u32| from.checked_add(n).and_then(|e| i32::try_from(e).ok());
            let (Some(x1), Some(z1)) = (end(e.x, e.w), end(e.z, e.h)) else {
                return Err(wrong(format!("the extent {e:?} is too large")));
            };
            config.extent = CellRect { x0: e.x as i32, z0: e.z as i32, x1, z1 };
        }
        config.check().map_err(|e| wrong(e.to_string()))?;
        if !(self.rounding_m.is_finite() && self.rounding_m >= 0.0) {
            return Err(wrong(format!("rounding_m: expected a number of metres, found {}", self.rounding_m)));
        }
        let catalogue = Catalogue {
            layers: self.layers.clone(),
            materials: self.materials.clone(),
            user_channels: self.user_channels.clone(),
            foliage: self.foliage.clone(),
            objects: self.objects.clone(),
            overlays: self.overlays.clone(),
            water: self.max_water_depth_m.map(|max_depth_m| Water { max_depth_m }),
        };
        catalogue.check().map_err(|e| wrong(e.to_string()))?;
        let height = match (self.height_min_m, self.height_max_m) {
            (None, None) => None,
            (Some(min_m), Some(max_m)) => Some(Scale { min_m, max_m, low_bits: self.height_low_bits }),
            _ => return Err(wrong("expected both height_min_m and height_max_m, found one".into())),
        };
        let water = self.water_full_m.or(self.max_water_depth_m).map(|max_m| Scale {
            min_m: 0.0,
            max_m,
            low_bits: self.water_low_bits,
        });
        for (what, scale) in [("heights", &height), ("water", &water)] {
            scale.iter().try_for_each(Scale::check).map_err(|e| wrong(format!("{what}: {e}")))?;
        }
        Ok(Meaning { config, side: self.block, catalogue, rounding_m: self.rounding_m, height, water })
    }

    fn sample_count(&self) -> Result<[u32; 2], String> {
        match (self.samples, self.size_m) {
            (Some((w, h)), None) => Ok([w, h]),
            (None, Some((x, z))) => {
                let count = |metres: f64| {
                    let cells = metres / self.spacing_m;
                    let whole = cells >= 1.0 && cells < f64::from(u32::MAX) && cells.fract() == 0.0;
                    let error = || {
                        format!("size_m: expected whole multiples of {} m, found {metres}", self.spacing_m)
                    };
                    if whole { Ok(cells as u32 + 1) } else { Err(error()) }
                };
                Ok([count(x)?, count(z)?])
            }
            (None, None) => Err("expected samples or size_m, found neither".into()),
            (Some(_), Some(_)) => Err("expected samples or size_m, found both".into()),
        }
    }
}

impl Meaning {
    pub(super) fn knobs(&self) -> Knobs {
        let (c, e) = (&self.config, self.config.extent);
        let extent =
            Extent { x: e.x0 as u32, z: e.z0 as u32, w: (e.x1 - e.x0) as u32, h: (e.z1 - e.z0) as u32 };
        let max_water_depth_m = self.catalogue.water.as_ref().map(|w| w.max_depth_m);
        let catalogue = self.catalogue.clone();
        Knobs {
            samples: Some((c.samples[0], c.samples[1])),
            size_m: None,
            spacing_m: c.spacing_m(),
            quantum_log2: c.quantum,
            diagonal: c.diagonal,
            block: self.side,
            vertical_scale: c.vertical_scale,
            paint_per_cell: c.paint_per_cell,
            extent: (e != c.cell_rect()).then_some(extent),
            height_min_m: self.height.map(|s| s.min_m),
            height_max_m: self.height.map(|s| s.max_m),
            height_low_bits: self.height.map_or(0, |s| s.low_bits),
            max_water_depth_m,
            water_full_m: self.water.map(|s| s.max_m).filter(|&m| Some(m) != max_water_depth_m),
            water_low_bits: self.water.map_or(0, |s| s.low_bits),
            rounding_m: self.rounding_m,
            layers: catalogue.layers,
            materials: catalogue.materials,
            user_channels: catalogue.user_channels,
            foliage: catalogue.foliage,
            objects: catalogue.objects,
            overlays: catalogue.overlays,
        }
    }
}
