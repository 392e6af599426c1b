//! The origin record: where a terrain came from. It is kept in the payload's header and changes no bit of the terrain.

use super::{SourceFormat, Tile, VoidPolicy};
use serde::{Deserialize, Serialize};

/// A part of a source: columns from `x`, rows from `z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crop {
    /// First column.
    pub x: u32,
    /// First row.
    pub z: u32,
    /// Columns.
    pub w: u32,
    /// Rows.
    pub h: u32,
}

/// What a source's sample stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Registration {
    /// The height at a point.
    Point,
    /// The height of a pixel's area.
    Area,
}

/// Where a terrain came from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// The source file's name, without folders.
    pub source: String,
    /// The member of an archive that was read.
    pub member: Option<String>,
    /// Its format.
    pub format: SourceFormat,
    /// Its length in bytes.
    pub bytes: u64,
    /// Columns and rows of the whole source.
    pub size: [u32; 2],
    /// What its samples stand for.
    pub registration: Registration,
    /// The value that was taken for "no data": the one asked for, else the format's own.
    pub nodata: Option<i32>,
    /// How many of the samples taken had no data (by either value, by alpha or by transparency).
    pub nodata_samples: u64,
    /// What became of them.
    pub voids: VoidPolicy,
    /// The part of the source that was taken, if not all.
    pub crop: Option<Crop>,
    /// Metres of an image's value 0, before the vertical scale.
    pub min_m: Option<f64>,
    /// Metres of an image's value 65535, before the vertical scale.
    pub max_m: Option<f64>,
    /// The degrees the source covers, if it says so.
    pub georeference: Option<Tile>,
    /// Whether the samples were resampled to square metres (bilinear, only here).
    pub resampled: bool,
    /// Metres between the source's columns and rows where they were resampled.
    pub source_step_m: Option<[f64; 2]>,
    /// The recipe that it was cooked from, without folders.
    pub recipe: Option<String>,
    /// What was seen in the source and not used.
    pub notes: Vec<String>,
}

impl Origin {
    /// The record as JSON text.
    ///
    /// # Panics
    /// Never: it has no maps and only finite numbers.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("an origin record is plain data")
    }
}
