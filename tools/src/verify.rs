//! `highground verify`: every byte of a terrain file checked, and its sidecar against it.

use crate::{Failure, progress, stdout};
use highground_game::replay::hex;
use highground_terrain::store::{BlockSource, PayloadFile, verify_sidecar_with, verify_with};
use serde::Serialize;
use std::cell::OnceCell;
use std::path::{Path, PathBuf};

/// Arguments of `highground verify`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  highground verify jacksboro.terrain\n  highground verify jacksboro.terrain --sidecar jacksboro.visibility"
)]
pub(crate) struct Args {
    /// The terrain file, or the folder of a pack; all of it is read, a row of blocks at a time
    file: PathBuf,
    /// Its visibility sidecar: derived again from the terrain and compared
    #[arg(long, value_name = "FILE.visibility")]
    sidecar: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What `verify` says of a file that is whole. One that is not is bad input: exit status 2.
#[derive(Serialize)]
struct Verified {
    valid: bool,
    version: u32,
    digest: String,
    blocks: u64,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sidecar: Option<VerifiedSidecar>,
}

/// What it says of a sidecar that is its terrain's.
#[derive(Serialize)]
struct VerifiedSidecar {
    records: usize,
    words: usize,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if args.file.is_dir() {
        if args.sidecar.is_some() {
            return Err(Failure::input("a pack's sidecars are checked with it: leave --sidecar out"));
        }
        return crate::pack::verify(&args.file, args.json);
    }
    let file = payload(&args.file)?;
    let sidecar = args.sidecar.as_deref().map(|path| sidecar(path, &file)).transpose()?;
    let verified = Verified {
        valid: true,
        version: file.info().version,
        digest: hex(&file.digest()),
        blocks: file.info().blocks(),
        bytes: file.info().file_bytes,
        sidecar,
    };
    if args.json {
        return stdout::print_json(&verified);
    }
    let Verified { version, digest, blocks, bytes, sidecar, .. } = verified;
    let with =
        sidecar.map_or_else(String::new, |s| format!(", its sidecar shows the same ({} nodes)", s.records));
    stdout::print(&format!(
        "{}: whole: version {version}, {blocks} blocks, {bytes} bytes, digest {digest}{with}\n",
        args.file.display()
    ))
}

/// Checks a payload, with a bar.
fn payload(path: &Path) -> Result<PayloadFile, Failure> {
    with_bar("verifying", |step| verify_with(path, step)).map_err(|e| Failure::file(path, e))
}

/// Holds a sidecar against its payload, with a bar.
fn sidecar(path: &Path, file: &PayloadFile) -> Result<VerifiedSidecar, Failure> {
    let sidecar = with_bar("comparing", |step| verify_sidecar_with(path, file, step))
        .map_err(|e| Failure::file(path, e))?;
    Ok(VerifiedSidecar { records: sidecar.nodes().len(), words: sidecar.words().len() })
}

/// Does something that says how many of how many rows of blocks are through; how many there are is known only then.
fn with_bar<T>(what: &'static str, work: impl FnOnce(&dyn Fn(u64, u64)) -> T) -> T {
    let bar = OnceCell::new();
    let done = work(&|row, rows| bar.get_or_init(|| progress::rows(rows, what)).set_position(row));
    if let Some(bar) = bar.get() {
        bar.finish_and_clear();
    }
    done
}
