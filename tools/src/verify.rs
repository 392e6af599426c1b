//! `highground verify`: every byte of a terrain file checked.

use crate::{Failure, stdout};
use highground_game::replay::hex;
use highground_terrain::store::{BlockSource, verify};
use serde::Serialize;
use std::path::PathBuf;

/// Arguments of `highground verify`.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  highground verify jacksboro.terrain")]
pub(crate) struct Args {
    /// The terrain file; all of it is read, a row of blocks at a time
    file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What `verify` says of a file that is whole. One that is not is bad input: exit status 2.
#[derive(Serialize)]
struct Verified {
    valid: bool,
    digest: String,
    blocks: u64,
    bytes: u64,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let file = verify(&args.file).map_err(|e| Failure::file(&args.file, e))?;
    let verified = Verified {
        valid: true,
        digest: hex(&file.digest()),
        blocks: file.directory().entries().len() as u64,
        bytes: file.header().file_bytes,
    };
    if args.json {
        stdout::print_json(&verified)
    } else {
        let Verified { digest, blocks, bytes, .. } = verified;
        stdout::print(&format!(
            "{}: whole: {blocks} blocks, {bytes} bytes, digest {digest}\n",
            args.file.display()
        ))
    }
}
