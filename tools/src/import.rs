//! `highground import`: an elevation file made into a terrain.

use crate::{Failure, files, summary};
use highground_terrain::config::Diagonal;
use highground_terrain::coord::BlockSide;
use highground_terrain::height::QuantumLog2;
use highground_terrain::import::{Crop, ImportOptions, SourceFormat, VoidPolicy, import};
use highground_terrain::store::write_payload;
use std::path::PathBuf;

/// Arguments of `highground import`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    highground import N43E007.hgt --spacing 32 --out riviera.terrain\n  \
    highground import N43E007.hgt.zip --out riviera.terrain\n  \
    highground import island.png --spacing 1 --min -20 --max 480.5 --out island.terrain")]
pub(crate) struct Args {
    /// SRTM .hgt (plain, or the only one in a zip) or 16-bit grey PNG
    source: PathBuf,
    /// The terrain file to write
    #[arg(long, value_name = "FILE.terrain")]
    out: PathBuf,
    /// The source's format, where its name and first bytes do not tell
    #[arg(long, value_enum)]
    format: Option<FormatArg>,
    /// Metres between samples, taken one to one; without it the file's own georeference is used
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    spacing: Option<f64>,
    /// Metres of an image's value 0
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    min: Option<f64>,
    /// Metres of an image's value 65535
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    max: Option<f64>,
    /// Factor on the heights, applied here once and recorded
    #[arg(long, value_name = "F", default_value_t = 1.0, allow_negative_numbers = true)]
    vertical_scale: f64,
    /// How cells are split
    #[arg(long, value_enum, default_value = "main")]
    diagonal: DiagonalArg,
    /// The part of the source to take, in samples
    #[arg(long, value_name = "X,Y,W,H", value_parser = parse_crop)]
    crop: Option<Crop>,
    /// A source value that means "no data", beside the format's own
    #[arg(long, value_name = "V", allow_negative_numbers = true)]
    nodata: Option<i32>,
    /// What becomes of samples without data
    #[arg(long, value_enum, default_value = "hole")]
    voids: VoidsArg,
    /// Samples a side of a block: 32, 64 or 128
    #[arg(long, default_value = "32", value_parser = parse_side)]
    block: BlockSide,
    /// Heights are counted in 2^-K m, K from 0 to 12; chosen by the source's step when left out
    #[arg(long, value_name = "K", value_parser = parse_quantum)]
    quantum_log2: Option<QuantumLog2>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum FormatArg {
    Hgt,
    Png,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum DiagonalArg {
    Main,
    Anti,
    Checkerboard,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum VoidsArg {
    Hole,
    Fill,
    Error,
}

fn parse_crop(text: &str) -> Result<Crop, String> {
    let numbers: Option<Vec<u32>> = text.split(',').map(|n| n.trim().parse().ok()).collect();
    match numbers.as_deref() {
        Some(&[x, z, w, h]) => Ok(Crop { x, z, w, h }),
        _ => Err("expected four whole numbers X,Y,W,H".to_owned()),
    }
}

fn parse_side(text: &str) -> Result<BlockSide, String> {
    text.parse::<u32>().map_err(|e| e.to_string()).and_then(BlockSide::try_from)
}

fn parse_quantum(text: &str) -> Result<QuantumLog2, String> {
    text.parse::<u8>().map_err(|e| e.to_string()).and_then(QuantumLog2::try_from)
}

impl Args {
    fn options(&self) -> ImportOptions {
        ImportOptions {
            format: self.format.map(|f| match f {
                FormatArg::Hgt => SourceFormat::Hgt,
                FormatArg::Png => SourceFormat::Png,
            }),
            spacing_m: self.spacing,
            min_m: self.min,
            max_m: self.max,
            vertical_scale: self.vertical_scale,
            diagonal: match self.diagonal {
                DiagonalArg::Main => Diagonal::Main,
                DiagonalArg::Anti => Diagonal::Anti,
                DiagonalArg::Checkerboard => Diagonal::Checkerboard,
            },
            crop: self.crop,
            nodata: self.nodata,
            voids: match self.voids {
                VoidsArg::Hole => VoidPolicy::Hole,
                VoidsArg::Fill => VoidPolicy::Fill,
                VoidsArg::Error => VoidPolicy::Error,
            },
            quantum: self.quantum_log2,
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    files::refuse_overwriting(&args.out, &[&args.source])?;
    let found = import(&args.source, &args.options()).map_err(|e| Failure::file(&args.source, e))?;
    write_payload(&found.raster, args.block, &found.origin.to_json(), found.rounding_m, &args.out)
        .map_err(|e| Failure::file(&args.out, e))?;
    summary::print(&args.out, args.json)
}
