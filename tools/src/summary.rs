//! What `import`, `cook` and `inspect` say of a terrain: one JSON object, or a short table.

use crate::{Failure, stdout};
use highground_game::replay::hex;
use highground_terrain::store::PayloadFile;
use serde::Serialize;
use std::path::Path;

/// The object of `import`, `cook` and `inspect`. Its fields are what other programs rely on.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// The content digest in hexadecimal digits.
    pub digest: String,
    /// Samples along x and z.
    pub samples: [u32; 2],
    /// Metres between samples.
    pub spacing_m: f64,
    /// Metres of a height quantum.
    pub quantum_m: f64,
    /// The largest rounding error of a height in metres.
    pub rounding_m: f64,
    /// Lowest sample in metres; `None` when all are void.
    pub min_m: Option<f64>,
    /// Highest sample in metres; `None` when all are void.
    pub max_m: Option<f64>,
    /// Samples without a height.
    pub void_samples: u64,
    /// Cells inside the valid extent with a triangle removed.
    pub hole_cells: u64,
    /// Blocks in the file.
    pub blocks: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// How cells are split.
    pub diagonal: &'static str,
    /// Where the terrain came from.
    pub origin: serde_json::Value,
}

impl Summary {
    /// Reads what the header and the directory say; no block.
    pub fn of(file: &PayloadFile) -> Self {
        let header = file.header();
        let (void_samples, hole_cells, range) = file.directory().totals();
        let metres = |q: i32| header.config.quantum.to_metres(q);
        Self {
            digest: hex(&header.digest),
            samples: header.config.samples,
            spacing_m: header.config.spacing_m(),
            quantum_m: header.config.quantum.metres(),
            rounding_m: header.rounding_m,
            min_m: range.map(|(lo, _)| metres(lo)),
            max_m: range.map(|(_, hi)| metres(hi)),
            void_samples,
            hole_cells,
            blocks: file.directory().entries().len() as u64,
            bytes: header.file_bytes,
            diagonal: header.config.diagonal.name(),
            // The header was checked to hold a JSON object.
            origin: serde_json::from_str(&header.origin).unwrap_or_default(),
        }
    }
}

/// Opens a payload; what is wrong with it names the file.
pub(crate) fn open(path: &Path) -> Result<PayloadFile, Failure> {
    PayloadFile::open(path).map_err(|e| Failure::file(path, e))
}

/// Prints a terrain's summary, as JSON or as a table.
pub(crate) fn print(path: &Path, json: bool) -> Result<(), Failure> {
    let file = open(path)?;
    let summary = Summary::of(&file);
    if json { stdout::print_json(&summary) } else { print_table(path, &file, &summary) }
}

fn print_table(path: &Path, file: &PayloadFile, s: &Summary) -> Result<(), Failure> {
    let config = &file.header().config;
    let e = config.extent;
    let heights = match (s.min_m, s.max_m) {
        (Some(min), Some(max)) => format!("{min} to {max} m"),
        _ => "none: every sample is void".to_owned(),
    };
    let size_m = s.samples.map(|n| f64::from(n - 1) * s.spacing_m);
    let layers = file.header().layers.join(", ");
    let source = |field: &str| s.origin.get(field).and_then(|v| v.as_str()).unwrap_or("unknown");
    let resampled = s.origin.get("resampled").is_some_and(|v| v.as_bool() != Some(false) && !v.is_null());
    let rows = [
        ("file", format!("{} ({} bytes)", path.display(), s.bytes)),
        ("digest", s.digest.clone()),
        (
            "samples",
            format!(
                "{} x {}, {} m apart ({} x {} m)",
                s.samples[0], s.samples[1], s.spacing_m, size_m[0], size_m[1]
            ),
        ),
        ("heights", heights),
        ("quantum", format!("{} m, rounding at most {} m", s.quantum_m, s.rounding_m)),
        ("vertical scale", config.vertical_scale.to_string()),
        ("diagonal", s.diagonal.to_owned()),
        ("extent", format!("cells {},{} to {},{}", e.x0, e.z0, e.x1, e.z1)),
        ("holes", format!("{} cells, {} void samples", s.hole_cells, s.void_samples)),
        ("blocks", format!("{} of {} samples a side", s.blocks, u32::from(file.header().side))),
        ("layers", if layers.is_empty() { "none".to_owned() } else { layers }),
        (
            "source",
            format!(
                "{}, {}{}",
                source("source"),
                source("format"),
                if resampled { ", resampled to square metres" } else { "" }
            ),
        ),
    ];
    let text: String = rows.iter().map(|(name, value)| format!("{name:<15}{value}\n")).collect();
    stdout::print(&text)
}
