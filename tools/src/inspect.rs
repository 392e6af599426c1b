//! `highground inspect`: what a terrain file says of itself.

use crate::{Failure, summary};
use std::path::PathBuf;

/// Arguments of `highground inspect`.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  highground inspect jacksboro.terrain --json")]
pub(crate) struct Args {
    /// The terrain file; only its header and directory are read
    file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    summary::print(&args.file, args.json)
}
