//! `highground export`: a terrain's heights made into an elevation file.

use crate::{Failure, files, stdout, summary};
use highground_game::replay::hex;
use highground_terrain::export::{ExportFormat, ExportOptions, Exported, export};
use highground_terrain::format::payload::Section;
use highground_terrain::store::{BlockSource, PayloadInfo};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Arguments of `highground export`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    highground export alps.terrain --out alps.tif\n  \
    highground export island.terrain --out island.png\n  \
    highground export island.terrain --out island.r16 --min -20 --max 480.5\n  \
    highground export riviera.terrain --out N43E007.hgt\n\n\
    Heights only: what a format does not carry is said. The printed options make import give the same heights again.")]
pub(crate) struct Args {
    /// The terrain file
    terrain: PathBuf,
    /// The file to write; its extension says the format
    #[arg(long, value_name = "FILE.{png,r16,tif,hgt}")]
    out: PathBuf,
    /// The format, where the name does not tell
    #[arg(long, value_enum)]
    format: Option<FormatArg>,
    /// Metres of level 0 of PNG and r16, with --max; where both are left out they are chosen so that nothing is lost
    #[arg(long, value_name = "M", allow_negative_numbers = true, requires = "max")]
    min: Option<f64>,
    /// Metres of level 65535 of PNG and r16
    #[arg(long, value_name = "M", allow_negative_numbers = true, requires = "min")]
    max: Option<f64>,
    /// Round heights to what the format can carry rather than refuse
    #[arg(long)]
    lossy: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum FormatArg {
    Png,
    #[value(alias = "r16", alias = "raw")]
    Raw16,
    #[value(alias = "tif", alias = "geotiff")]
    Tiff,
    Hgt,
}

fn format_of(args: &Args) -> Result<ExportFormat, Failure> {
    let extension = args.out.extension().map(|e| e.to_string_lossy().to_lowercase());
    match (args.format, extension.as_deref()) {
        (Some(FormatArg::Png), _) | (None, Some("png")) => Ok(ExportFormat::Png),
        (Some(FormatArg::Raw16), _) | (None, Some("r16" | "raw")) => Ok(ExportFormat::Raw16),
        (Some(FormatArg::Tiff), _) | (None, Some("tif" | "tiff")) => Ok(ExportFormat::Tiff),
        (Some(FormatArg::Hgt), _) | (None, Some("hgt")) => Ok(ExportFormat::Hgt),
        (None, _) => Err(Failure::file(
            &args.out,
            "has no extension that says a format (.png, .r16, .tif, .hgt): pass --format",
        )),
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let format = format_of(args)?;
    files::refuse_overwriting(&args.out, &[&args.terrain])?;
    let source = summary::open(&args.terrain)?;
    let options = ExportOptions { format, range_m: args.min.zip(args.max), lossy: args.lossy };
    let mut done = export(&source, &options, &args.out).map_err(|e| Failure::file(&args.out, e))?;
    done.notes.extend(beside_heights(source.info()));
    print(&args.out, args.json, &hex(&source.digest()), &done)
}

/// What a terrain holds beside heights, which no format here does.
fn beside_heights(info: &PayloadInfo) -> Option<String> {
    let named = [
        (Section::Weight, "painted weights"),
        (Section::Collision, "physical holes and materials"),
        (Section::Water, "water"),
        (Section::User, "user channels"),
        (Section::Density, "foliage and objects"),
    ];
    let has = |section| info.sections.iter().any(|s| s.section == section && s.planes != 0);
    let mut found: Vec<&str> = named.into_iter().filter(|n| has(n.0)).map(|n| n.1).collect();
    if !info.catalogue.layers.is_empty() && !found.contains(&"painted weights") {
        found.insert(0, "layers");
    }
    if !info.catalogue.overlays.is_empty() {
        found.push("overlays");
    }
    (!found.is_empty()).then(|| format!("{}: not carried", found.join(", ")))
}

fn print(out: &Path, json: bool, digest: &str, done: &Exported) -> Result<(), Failure> {
    let options = done.import_options.join(" ");
    let bytes = std::fs::metadata(out).map_err(|e| Failure::file(out, e))?.len();
    if json {
        let nodata = done.nodata.map(|v| if v.is_nan() { json!("nan") } else { json!(v) });
        return stdout::print_json(&json!({
            "digest": digest,
            "samples": done.size,
            "bytes": bytes,
            "lossless": done.lossless,
            "rounding_m": done.rounding_m,
            "void_samples": done.void_samples,
            "min_m": done.range_m.map(|r| r.0),
            "max_m": done.range_m.map(|r| r.1),
            "nodata": nodata,
            "import": options,
            "notes": done.notes,
        }));
    }
    let loss = if done.lossless {
        "none".to_owned()
    } else {
        format!("heights rounded by at most {} m", done.rounding_m)
    };
    let mut rows = vec![
        ("file", format!("{} ({bytes} bytes)", out.display())),
        ("samples", format!("{} x {}, {} of them void", done.size[0], done.size[1], done.void_samples)),
        ("loss", loss),
    ];
    if let Some((min, max)) = done.range_m {
        rows.push(("levels", format!("0 to 65535 are {min} to {max} m")));
    }
    rows.push(("to import", options));
    rows.extend(done.notes.iter().map(|n| ("not carried", n.trim_end_matches(": not carried").to_owned())));
    let text: String = rows.iter().map(|(name, value)| format!("{name:<15}{value}\n")).collect();
    stdout::print(&text)
}
