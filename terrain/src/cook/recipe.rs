//! The recipe as it is written: RON, every field known, every mistake with its line and column.

use super::CookError;
use crate::config::Diagonal;
use crate::coord::{BlockSide, CellRect};
use crate::height::QuantumLog2;
use ron::extensions::Extensions;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A world's terrain recipe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The version of the recipe's form: 1.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub version: u32,
    /// Where the heights come from.
    pub source: Source,
    /// Metres between samples, a multiple of 1/256.
    pub spacing_m: f64,
    /// Factor on the heights, applied once here.
    #[serde(default = "one")]
    pub vertical_scale: f64,
    /// k; chosen by the source's step when absent.
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
    /// Triangles that are removed.
    #[serde(default)]
    pub holes: Vec<Hole>,
    /// Surface layers, the first everywhere, each later one painted over those before it.
    #[serde(default)]
    pub layers: Vec<Layer>,
}

/// Where heights come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// A 16-bit grey PNG, relative to the recipe's folder.
    pub png: PathBuf,
    /// Metres of the value 0, before the vertical scale.
    pub min_m: f64,
    /// Metres of the value 65535, before the vertical scale.
    pub max_m: f64,
}

/// A rectangle of whole cells, or of samples.
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

impl Extent {
    /// As a half-open rectangle; `None` where it leaves the integers.
    pub fn rect(self) -> Option<CellRect> {
        let end = |from: u32, n: u32| from.checked_add(n).and_then(|e| i32::try_from(e).ok());
        let (x1, z1) = (end(self.x, self.w)?, end(self.z, self.h)?);
        Some(CellRect { x0: self.x as i32, z0: self.z as i32, x1, z1 })
    }
}

/// Triangles that are removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Hole {
    /// Whole cells.
    Cells {
        /// First column.
        x: u32,
        /// First row.
        z: u32,
        /// Columns.
        w: u32,
        /// Rows.
        h: u32,
    },
    /// One triangle of a cell.
    Half {
        /// Column.
        x: u32,
        /// Row.
        z: u32,
        /// 0 or 1.
        triangle: u8,
    },
}

/// A surface layer and where it lies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// Its name.
    pub name: String,
    /// From and to height, metres of the cooked ground; everywhere when absent.
    #[serde(default)]
    pub height_m: Option<(f64, f64)>,
    /// From and to slope in degrees; everywhere when absent.
    #[serde(default)]
    pub slope_deg: Option<(f64, f64)>,
    /// Width of the blend across a height limit, centred on it.
    #[serde(default)]
    pub soft_m: f64,
    /// Width of the blend across a slope limit, centred on it.
    #[serde(default)]
    pub soft_deg: f64,
}

const fn first() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde calls")]
const fn is_first(version: &u32) -> bool {
    *version == 1
}

pub(super) const fn one() -> f64 {
    1.0
}

pub(super) const fn main_diagonal() -> Diagonal {
    Diagonal::Main
}

pub(super) const fn side_32() -> BlockSide {
    BlockSide::S32
}

impl Recipe {
    /// Reads a recipe's text; `path` is what errors name.
    ///
    /// # Errors
    /// The first mistake, with line and column.
    pub fn parse(text: &str, path: &Path) -> Result<Self, CookError> {
        parse(text, path)
    }
}

/// Reads RON; `path` is what errors name.
pub(super) fn parse<T: serde::de::DeserializeOwned>(text: &str, path: &Path) -> Result<T, CookError> {
    // `Thermal(iterations: 3)` rather than `Thermal((iterations: 3))`, and no `Some` around what is there.
    let extensions = Extensions::IMPLICIT_SOME | Extensions::UNWRAP_VARIANT_NEWTYPES;
    let options = ron::Options::default().with_default_extension(extensions);
    options.from_str(text).map_err(|e| CookError::Syntax {
        path: path.to_owned(),
        line: e.span.start.line,
        column: e.span.start.col,
        message: match e.code {
            ron::Error::ExceededRecursionLimit => "is nested too deeply".to_owned(),
            ron::Error::SuggestRawIdentifier(found) | ron::Error::InvalidIdentifier(found) => {
                format!("expected the name of a field, as in (x: 0, z: 0), found {found:?}")
            }
            code => code.to_string(),
        },
    })
}
