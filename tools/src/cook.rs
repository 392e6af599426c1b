//! `highground cook`: a world recipe made into a terrain.

use crate::{Failure, files, summary, world};
use highground_terrain::cook::Recipe;
use std::path::PathBuf;

/// Arguments of `highground cook`.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  highground cook content/worlds/jacksboro.ron --out jacksboro.terrain")]
pub(crate) struct Args {
    /// The world recipe
    recipe: PathBuf,
    /// The terrain file to write
    #[arg(long, value_name = "FILE.terrain")]
    out: PathBuf,
    /// Worker threads; 0 is one a core. The terrain does not depend on it
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=256))]
    threads: u16,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let recipe = Recipe::read(&args.recipe).map_err(Failure::input)?;
    files::refuse_overwriting(&args.out, &[&args.recipe, &recipe.image(&args.recipe)])?;
    let cooked = recipe.cook(&args.recipe, usize::from(args.threads)).map_err(Failure::input)?;
    world::write(&cooked, &args.out)?;
    summary::print(&args.out, args.json)
}
