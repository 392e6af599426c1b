//! `highground sidecar`: the triangle-visibility sidecar of a terrain file, written beside it.

use crate::{Failure, files, progress, stdout, summary};
use highground_game::replay::hex;
use highground_terrain::store::{BlockSource, build_sidecar_with, sidecar_path, write_sidecar};
use serde::Serialize;
use std::path::PathBuf;

/// Arguments of `highground sidecar`.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  highground sidecar jacksboro.terrain\n  highground verify jacksboro.terrain --sidecar jacksboro.visibility"
)]
pub(crate) struct Args {
    /// The terrain file; it is read a row of blocks at a time
    file: PathBuf,
    /// The sidecar to write; the terrain's name with the ending .visibility unless given
    #[arg(long, value_name = "FILE.visibility")]
    out: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What was written.
#[derive(Serialize)]
struct Written {
    out: String,
    /// The digest of the terrain it belongs to.
    digest: String,
    /// Nodes with something removed, of all levels.
    records: usize,
    bytes: u64,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let out = args.out.clone().unwrap_or_else(|| sidecar_path(&args.file));
    files::refuse_overwriting(&out, &[&args.file])?;
    let file = summary::open(&args.file)?;
    let bar = progress::rows(u64::from(file.config().blocks(file.block_side())[1]), "reading");
    let made = build_sidecar_with(&file, &|n, _| bar.set_position(n));
    bar.finish_and_clear();
    let sidecar = made.map_err(|e| Failure::file(&args.file, format!("its sidecar {e}")))?;
    let bytes = write_sidecar(&sidecar, &out).map_err(|e| Failure::file(&out, e))?;
    let (digest, records) = (hex(&sidecar.digest()), sidecar.nodes().len());
    if args.json {
        return stdout::print_json(&Written { out: out.display().to_string(), digest, records, bytes });
    }
    stdout::print(&format!(
        "{}: {records} nodes with something removed, {bytes} bytes, of terrain {digest}\n",
        out.display()
    ))
}
