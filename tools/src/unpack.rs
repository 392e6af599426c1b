//! `highground unpack`: a terrain made into a world folder; and the way back, `cook` of a folder.

use crate::{Failure, files, stdout, summary};
use highground_game::replay::hex;
use highground_terrain::folder::{self, FolderError};
use highground_terrain::store::BlockSource;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Arguments of `highground unpack`.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  highground unpack jacksboro.terrain --out jacksboro\n\n\
    Cooking the folder gives a terrain of the same digest.")]
pub(crate) struct Args {
    /// The terrain file
    terrain: PathBuf,
    /// The folder to make: terrain.ron and the layers as images; it must be empty or not there
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let file = summary::open(&args.terrain)?;
    let report = folder::unpack(&file, &args.out).map_err(|e| match e {
        FolderError::Block(e) => Failure::file(&args.terrain, e),
        e => Failure::input(e),
    })?;
    if args.json {
        let folder = args.out.display().to_string();
        return stdout::print_json(&json!({
            "digest": hex(&file.digest()),
            "folder": folder,
            "files": report.written,
        }));
    }
    stdout::print(&format!("{}: {}\n", args.out.display(), report.written.join(", ")))
}

/// Makes a world folder into a terrain: the answer of `cook` for a folder. What was changed on the way in is said on stderr.
pub(crate) fn cook(source: &Path, out: &Path, threads: usize, json: bool) -> Result<(), Failure> {
    let failed = |e: std::io::Error| Failure::file(source, e);
    let mut inputs = Vec::new();
    for entry in std::fs::read_dir(source).map_err(failed)? {
        inputs.push(entry.map_err(failed)?.path());
    }
    let inside = out
        .parent()
        .and_then(|p| if p.as_os_str().is_empty() { Path::new(".") } else { p }.canonicalize().ok());
    if inside.is_some()
        && inside == source.canonicalize().ok()
        && out.extension().is_none_or(|e| e != "terrain")
    {
        return Err(Failure::file(
            out,
            "lies in the world folder itself: pass an --out that ends in .terrain or lies elsewhere",
        ));
    }
    files::refuse_overwriting(out, &inputs.iter().map(PathBuf::as_path).collect::<Vec<_>>())?;
    let notes = folder::cook(source, out, threads).map_err(Failure::input)?;
    notes.iter().for_each(|note| crate::say(&format!("note: {}: {note}", source.display())));
    summary::print(out, json)
}
