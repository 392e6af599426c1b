//! What `import`, `cook` and `inspect` say of a terrain: one JSON object, or a short table.

use crate::{Failure, stdout};
use highground_game::replay::hex;
use highground_terrain::content::PlaneKind;
use highground_terrain::coord::BlockPos;
use highground_terrain::format::payload::{Section, Totals};
use highground_terrain::state::DataState;
use highground_terrain::store::{BlockError, BlockSource, PayloadFile, PayloadInfo};
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
    /// The version of the file's format.
    pub version: u32,
    /// Samples a side of its blocks.
    pub block_side: u32,
    /// Paint texels a cell side.
    pub paint_per_cell: u8,
    /// The valid extent in cells: x0, z0, x1, z1, half open.
    pub extent: [i32; 4],
    /// The exaggeration that was applied when cooking; a record.
    pub vertical_scale: f64,
    /// How many blocks are in which state.
    pub states: States,
    /// Levels of the height pyramid; 1 is the samples alone.
    pub levels: u8,
    /// Its sections; none of version 1.
    pub sections: Vec<SectionSummary>,
    /// Names of the surface layers, by id.
    pub layers: Vec<String>,
    /// The planes that are not 0 everywhere.
    pub planes: Vec<PlaneKind>,
    /// Bytes of blocks by how they are stored.
    pub compression: Compressed,
    /// What the encodings derived from the full weights lose.
    pub losses: LossSummary,
    /// Where the terrain came from.
    pub origin: serde_json::Value,
}

/// Counts of blocks by state. Out of the directory alone nothing is Failed but what the directory itself cannot say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct States {
    /// Not known: never of a file that was opened.
    pub unknown: u64,
    /// On the way: never of a file.
    pub pending: u64,
    /// With ground.
    pub valid: u64,
    /// Without a triangle.
    pub empty: u64,
    /// Beyond the map: a file has none.
    pub out_of_range: u64,
    /// That cannot be read.
    pub failed: u64,
}

/// A section of a file.
#[derive(Debug, Serialize)]
pub struct SectionSummary {
    /// Its name.
    pub name: &'static str,
    /// Its levels.
    pub levels: u8,
    /// Its bytes in the file.
    pub bytes: u64,
    /// How many planes it has that are not 0 everywhere.
    pub planes: u32,
}

/// Total variation lost by derived encodings: the largest of any texel, as a fraction of its weight. Absent ones lose nothing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LossSummary {
    /// Of HD texels.
    pub hd: f64,
    /// Of Normal texels.
    pub normal: f64,
    /// The bound of ID control's.
    pub control: f64,
    /// The budget that ID control was held to; 0 when there is none.
    pub control_budget: f64,
}

/// Bytes of the blocks' parts, of all levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Compressed {
    /// Stored as they are.
    pub none: u64,
    /// Stored as deflate: bytes in the file.
    pub deflate: u64,
}

impl Summary {
    /// Reads what the header and the directory say; no block.
    pub fn of(file: &PayloadFile) -> Self {
        let header = file.info();
        let Totals { void_samples, hole_cells, range } = header.totals;
        let metres = |q: i32| header.config.quantum.to_metres(q);
        let (census, losses) = (file.census(), header.losses);
        let e = header.config.extent;
        let section = |s: &highground_terrain::format::payload::SectionEntry| SectionSummary {
            name: s.section.name(),
            levels: s.levels,
            bytes: s.length,
            planes: s.planes.count_ones(),
        };
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
            blocks: header.blocks(),
            bytes: header.file_bytes,
            diagonal: header.config.diagonal.name(),
            version: header.version,
            block_side: header.side.into(),
            paint_per_cell: header.config.paint_per_cell,
            extent: [e.x0, e.z0, e.x1, e.z1],
            vertical_scale: header.config.vertical_scale,
            states: States {
                valid: census.valid,
                empty: census.empty,
                failed: census.failed,
                ..States::default()
            },
            levels: header.sections.iter().map(|s| s.levels).max().unwrap_or(1),
            sections: header.sections.iter().map(section).collect(),
            layers: header.catalogue.layer_names(),
            planes: planes(header),
            compression: Compressed { none: census.plain_bytes, deflate: census.deflate_bytes },
            losses: LossSummary {
                hd: f64::from(losses.hd) / 65535.0,
                normal: f64::from(losses.normal) / 65535.0,
                control: f64::from(losses.control) / 524_280.0,
                control_budget: losses.control_budget,
            },
            // The header was checked to hold a JSON object.
            origin: serde_json::from_str(&header.origin).unwrap_or_default(),
        }
    }
}

impl States {
    /// Counts by reading every block, and the first that cannot be read; `progress` is told how many rows of blocks are
    /// through.
    pub(crate) fn read(file: &PayloadFile, progress: &dyn Fn(u64)) -> (Self, Option<BlockError>) {
        let [w, h] = file.config().blocks(file.block_side());
        let (mut states, mut first) = (Self::default(), None);
        for z in 0..h as i32 {
            for x in 0..w as i32 {
                match read_state(file, BlockPos::new(x, z)) {
                    Ok(DataState::Empty) => states.empty += 1,
                    Ok(_) => states.valid += 1,
                    Err(e) => {
                        states.failed += 1;
                        first.get_or_insert(e);
                    }
                }
            }
            progress(z as u64 + 1);
        }
        (states, first)
    }
}

/// Reads a block with all of level 0 that is not derived, and its HD weights: Valid or Empty.
pub(crate) fn read_state(file: &PayloadFile, pos: BlockPos) -> Result<DataState, BlockError> {
    let state = file.read_block(pos)?.state();
    file.read_content(pos).map(|_| state)
}

/// The planes of a file that are not 0 everywhere. Version 1 has the weights of its layers, used or not.
pub(crate) fn planes(info: &PayloadInfo) -> Vec<PlaneKind> {
    if info.version == 1 {
        return (0..info.catalogue.layers.len() as u8).map(PlaneKind::Weight).collect();
    }
    let blocked = info.sections.iter().filter(|s| s.section.is_blocked());
    let of = |s: &highground_terrain::format::payload::SectionEntry| {
        let section: Section = s.section;
        section.planes(s.planes, &info.catalogue).unwrap_or_default()
    };
    let mut planes: Vec<PlaneKind> = blocked.flat_map(of).collect();
    planes.sort();
    planes
}

/// Opens a payload; what is wrong with it names the file.
pub(crate) fn open(path: &Path) -> Result<PayloadFile, Failure> {
    PayloadFile::open(path).map_err(|e| Failure::file(path, e))
}

/// Prints a terrain's summary, as JSON or as a table.
pub(crate) fn print(path: &Path, json: bool) -> Result<(), Failure> {
    let file = open(path)?;
    print_summary(path, &file, &Summary::of(&file), json)
}

/// Prints a summary that is there already.
pub(crate) fn print_summary(
    path: &Path,
    file: &PayloadFile,
    summary: &Summary,
    json: bool,
) -> Result<(), Failure> {
    if json { stdout::print_json(summary) } else { stdout::print(&table(path, file, summary)) }
}

/// A table for people.
fn table(path: &Path, file: &PayloadFile, s: &Summary) -> String {
    let e = file.info().config.extent;
    let heights = match (s.min_m, s.max_m) {
        (Some(min), Some(max)) => format!("{min} to {max} m"),
        _ => "none: every sample is void".to_owned(),
    };
    let size_m = s.samples.map(|n| f64::from(n - 1) * s.spacing_m);
    let text = |field: &str| s.origin.get(field).and_then(|v| v.as_str()).unwrap_or("unknown");
    let resampled = s.origin.get("resampled").is_some_and(|v| v.as_bool() != Some(false) && !v.is_null());
    let rows = [
        ("file", format!("{} ({} bytes, version {})", path.display(), s.bytes, s.version)),
        ("digest", s.digest.clone()),
        (
            "samples",
            format!(
                "{} x {}, {} m apart ({} x {} m)",
                s.samples[0], s.samples[1], s.spacing_m, size_m[0], size_m[1]
            ),
        ),
        ("heights", heights),
        ("quantum", format!("{} m, rounding at most {}", s.quantum_m, short_metres(s.rounding_m))),
        ("vertical scale", s.vertical_scale.to_string()),
        ("diagonal", s.diagonal.to_owned()),
        ("extent", format!("cells {},{} to {},{}", e.x0, e.z0, e.x1, e.z1)),
        ("holes", format!("{} cells, {} void samples", s.hole_cells, s.void_samples)),
        ("blocks", format!("{} of {} samples a side: {}", s.blocks, s.block_side, states(s.states))),
        ("stored", stored(s)),
        ("layers", if s.layers.is_empty() { "none".to_owned() } else { s.layers.join(", ") }),
        ("planes", plane_list(s)),
        (
            "source",
            format!(
                "{}, {}{}",
                text("source"),
                text("format"),
                if resampled { ", resampled to square metres" } else { "" }
            ),
        ),
    ];
    // Names come from files; a terminal must not obey them.
    let plain = |value: &str| -> String {
        value
            .chars()
            .flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] })
            .collect()
    };
    rows.iter().map(|(name, value)| format!("{name:<15}{}\n", plain(value))).collect()
}

/// Metres for people: to a micrometre, rounded up, so that "at most" stays true.
fn short_metres(m: f64) -> String {
    let micrometres = (m * 1e6).ceil();
    if micrometres / 1e6 == m { format!("{m} m") } else { format!("{} m", micrometres / 1e6) }
}

/// The states that there are.
fn states(s: States) -> String {
    let named = [
        ("unknown", s.unknown),
        ("pending", s.pending),
        ("valid", s.valid),
        ("empty", s.empty),
        ("out of range", s.out_of_range),
        ("failed", s.failed),
    ];
    let there = named.iter().filter(|n| n.1 > 0).map(|(name, n)| format!("{n} {name}"));
    there.collect::<Vec<String>>().join(", ")
}

/// Levels, and the sections with bytes of their own.
fn stored(s: &Summary) -> String {
    let sections = s.sections.iter().filter(|s| s.bytes > 0);
    let parts: Vec<String> = sections.map(|s| format!("{} {}", s.name, s.bytes)).collect();
    let packed = match s.compression {
        Compressed { none, deflate: 0 } => format!("blocks take {none} bytes, not compressed"),
        Compressed { none, deflate } => {
            format!("blocks take {deflate} bytes deflated and {none} not compressed")
        }
    };
    let levels = if s.levels == 1 { "1 level".to_owned() } else { format!("{} levels", s.levels) };
    if parts.is_empty() {
        format!("{levels}; {packed}")
    } else {
        format!("{levels}; {packed}; {}", parts.join(", "))
    }
}

fn plane_list(s: &Summary) -> String {
    // Weights are the layers' and need no list.
    let weights = s.planes.iter().filter(|p| matches!(p, PlaneKind::Weight(_))).count();
    let mut parts: Vec<String> =
        s.planes.iter().filter(|p| !matches!(p, PlaneKind::Weight(_))).map(|p| p.name()).collect();
    if weights > 0 {
        parts.insert(0, format!("weights of {weights} layers"));
    }
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}

/// What people read, without the file's own name: for tests.
pub fn table_of(file: &PayloadFile) -> String {
    table(Path::new("FILE"), file, &Summary::of(file))
}
