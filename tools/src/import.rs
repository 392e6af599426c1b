//! `highground import`: an elevation file made into a terrain.

use crate::{Failure, files, say, summary};
use highground_terrain::config::Diagonal;
use highground_terrain::coord::BlockSide;
use highground_terrain::format::payload::Compression;
use highground_terrain::height::QuantumLog2;
use highground_terrain::import::{Crop, ImportOptions, SourceFormat, VoidPolicy, import_rows};
use highground_terrain::store::{WriteOptions, write_payload};
use std::path::PathBuf;

/// Arguments of `highground import`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    highground import N43E007.hgt --spacing 32 --out riviera.terrain\n  \
    highground import N46E008.tif.zip --voids fill --out alps.terrain\n  \
    highground import island.png --spacing 1 --min -20 --max 480.5 --out island.terrain\n  \
    highground import heights.raw --size 1009x1009 --byte-order little --south-up --spacing 1 --min 0 --max 600 --out unity.terrain\n  \
    highground import brush.exr --channel Y --nodata nan --spacing 1 --out brush.terrain\n  \
    highground import elev-rgb.tif --format terrain-rgb --rgb -100,0.001 --spacing 6 --out bay.terrain\n\n\
    Integer images and RAW need --min and --max; floating-point values are metres unless both are given, for 0 and 1. \
    What is worth knowing about a source is said on stderr and kept in the terrain's origin.")]
pub(crate) struct Args {
    /// The elevation file: .hgt, PNG, (Geo)TIFF, EXR, ESRI ASCII grid, USGS DEM, .npy, .npz, Terrain3D region, RAW; or
    /// a zip with one of them inside
    source: PathBuf,
    /// The terrain file to write
    #[arg(long, value_name = "FILE.terrain")]
    out: PathBuf,
    /// The source's format, where its first bytes and its name do not tell
    #[arg(long, value_enum)]
    format: Option<FormatArg>,
    /// Columns and rows of a headerless raster; a square when left out
    #[arg(long, value_name = "WxH", value_parser = parse_size)]
    size: Option<[u32; 2]>,
    /// The byte order of a headerless raster; found out from the data when left out
    #[arg(long, value_enum)]
    byte_order: Option<ByteOrderArg>,
    /// The 16-bit samples of a headerless raster are signed metres, not levels from 0 to 65535
    #[arg(long)]
    signed: bool,
    /// The file's first row is the south edge (headerless rasters, NumPy arrays and images without a georeference)
    #[arg(long)]
    south_up: bool,
    /// The channel of a PNG (r, g, b) or EXR, the band of a TIFF, the array of an .npz, or the member of an archive to take
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// Metres of code 0 and of one code step of RGB-coded heights; -10000,0.1 for terrain-rgb when left out
    #[arg(long, value_name = "BASE,STEP", value_parser = parse_rgb, allow_hyphen_values = true)]
    rgb: Option<(f64, f64)>,
    /// Metres between samples, taken one to one; without it the file's own georeference is used
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    spacing: Option<f64>,
    /// Metres of level 0 of an image or RAW; of 0 of floating-point values
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    min: Option<f64>,
    /// Metres of the highest level of an image or RAW; of 1 of floating-point values
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
    /// A source value that means "no data", beside the format's own: a number, nan (all that is not finite), inf or -inf
    #[arg(long, value_name = "V", allow_hyphen_values = true)]
    nodata: Option<f64>,
    /// What becomes of samples without data
    #[arg(long, value_enum, default_value = "hole")]
    voids: VoidsArg,
    /// Samples a side of a block: 32, 64 or 128
    #[arg(long, default_value = "32", value_parser = parse_side)]
    block: BlockSide,
    /// Heights are counted in 2^-K m, K from 0 to 12; 7, or what suits an integer source's step, when left out
    #[arg(long, value_name = "K", value_parser = parse_quantum)]
    quantum_log2: Option<QuantumLog2>,
    /// Compress blocks where that makes them smaller; changes no content
    #[arg(long)]
    compress: bool,
    /// Keep the normals of the samples in the file
    #[arg(long)]
    normals: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum FormatArg {
    Hgt,
    Png,
    #[value(alias = "tif", alias = "geotiff")]
    Tiff,
    #[value(alias = "r8")]
    Raw8,
    #[value(alias = "r16", alias = "raw")]
    Raw16,
    #[value(alias = "r32")]
    Raw32,
    Exr,
    Asc,
    #[value(alias = "dem", alias = "usgsdem")]
    UsgsDem,
    #[value(alias = "terrainrgb")]
    TerrainRgb,
    Terrarium,
    Npy,
    Npz,
    #[value(alias = "res")]
    Terrain3d,
}

impl FormatArg {
    fn format(self) -> SourceFormat {
        match self {
            Self::Hgt => SourceFormat::Hgt,
            Self::Png => SourceFormat::Png,
            Self::Tiff => SourceFormat::Tiff,
            Self::Raw8 => SourceFormat::Raw8,
            Self::Raw16 => SourceFormat::Raw16,
            Self::Raw32 => SourceFormat::Raw32,
            Self::Exr => SourceFormat::Exr,
            Self::Asc => SourceFormat::Asc,
            Self::UsgsDem => SourceFormat::UsgsDem,
            Self::TerrainRgb => SourceFormat::TerrainRgb,
            Self::Terrarium => SourceFormat::Terrarium,
            Self::Npy => SourceFormat::Npy,
            Self::Npz => SourceFormat::Npz,
            Self::Terrain3d => SourceFormat::Terrain3d,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ByteOrderArg {
    Little,
    Big,
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

fn parse_size(text: &str) -> Result<[u32; 2], String> {
    let sides = text.split_once(['x', 'X']).map(|(w, h)| (w.trim().parse(), h.trim().parse()));
    match sides {
        Some((Ok(w), Ok(h))) => Ok([w, h]),
        _ => Err("expected columns and rows, WxH".to_owned()),
    }
}

fn parse_rgb(text: &str) -> Result<(f64, f64), String> {
    let numbers = text.split_once(',').map(|(base, step)| (base.trim().parse(), step.trim().parse()));
    match numbers {
        Some((Ok(base), Ok(step))) if f64::is_finite(base) && f64::is_finite(step) && step != 0.0 => {
            Ok((base, step))
        }
        _ => Err("expected two numbers BASE,STEP, the step not 0".to_owned()),
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
            format: self.format.map(FormatArg::format),
            size: self.size,
            big_endian: self.byte_order.map(|o| o == ByteOrderArg::Big),
            signed: self.signed,
            south_up: self.south_up,
            channel: self.channel.clone(),
            rgb: self.rgb,
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
    let rows = import_rows(&args.source, &args.options()).map_err(|e| Failure::file(&args.source, e))?;
    for note in &rows.origin().notes {
        say(&format!("note: {}: {note}", rows.origin().source));
    }
    let options = WriteOptions {
        compression: if args.compress { Compression::Deflate } else { Compression::None },
        normals: args.normals,
        ..WriteOptions::new(args.block, &rows.origin().to_json(), rows.rounding_m())
    };
    write_payload(&rows, &options, &args.out).map_err(|e| Failure::file(&args.out, e))?;
    summary::print(&args.out, args.json)
}
