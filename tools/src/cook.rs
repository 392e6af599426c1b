//! `highground cook`: a world recipe made into a terrain.

use crate::progress::StageBar;
use crate::{Failure, files, summary};
use highground_terrain::cook::{Order, Written};
use std::path::{Path, PathBuf};

/// Arguments of `highground cook`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    highground cook content/worlds/jacksboro.ron --out jacksboro.terrain\n  \
    highground cook content/worlds/island.ron --out island.terrain --cache stages")]
pub(crate) struct Args {
    /// The world recipe, or a world folder
    recipe: PathBuf,
    /// The terrain file to write
    #[arg(long, value_name = "FILE.terrain")]
    out: PathBuf,
    /// A folder where stages are kept: the next time only what a changed input touches is cooked again. The terrain does
    /// not depend on it
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// Worker threads; 0 is one a core. The terrain does not depend on it
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=256))]
    threads: u16,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if args.recipe.is_dir() {
        return crate::unpack::cook(&args.recipe, &args.out, usize::from(args.threads), args.json);
    }
    let recipe = Written::read(&args.recipe).map_err(Failure::input)?;
    let read = recipe.files(&args.recipe);
    let mut inputs: Vec<&Path> = read.iter().map(PathBuf::as_path).collect();
    inputs.push(&args.recipe);
    files::refuse_overwriting(&args.out, &inputs)?;
    let bar = StageBar::new();
    let watch = |stage: &str, done, all| bar.tell(stage, done, all);
    let order = Order { threads: usize::from(args.threads), cache: args.cache.as_deref(), watch: &watch };
    let served = recipe.serve(&args.recipe, &order).map_err(Failure::input)?;
    served.write(&args.out, &watch).map_err(|e| Failure::file(&args.out, e))?;
    drop(bar);
    summary::print(&args.out, args.json)
}
