//! `highground cook`: a world recipe made into a terrain.

use crate::progress::StageBar;
use crate::{Failure, files, summary};
use highground_terrain::cook::{Order, Written};
use std::path::{Path, PathBuf};

/// Arguments of `highground cook`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    highground cook content/worlds/jacksboro.ron --out jacksboro.terrain\n  \
    highground cook content/worlds/island.ron --out island.terrain --cache stages\n  \
    highground cook island --out island.terrain\n\n\
    docs/recipes.md says what a recipe may hold, docs/authoring.md what a world folder may.")]
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

/// What an origin record says that is worth knowing, of the recipe and of each of its sources.
fn notes(origin: &str) -> Vec<String> {
    let record: serde_json::Value = serde_json::from_str(origin).unwrap_or_default();
    let of = |record: &serde_json::Value| -> Vec<String> {
        let notes = record.get("notes").and_then(|n| n.as_array());
        notes.into_iter().flatten().filter_map(|n| n.as_str()).map(str::to_owned).collect()
    };
    let mut said = Vec::new();
    for source in record.get("sources").and_then(|s| s.as_array()).into_iter().flatten() {
        let name = source.get("source").and_then(|n| n.as_str()).unwrap_or("a source");
        said.extend(of(source).into_iter().map(|note| format!("{name}: {note}")));
    }
    said.extend(of(&record));
    said
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if args.recipe.is_dir() {
        if args.cache.is_some() {
            return Err(Failure::file(
                &args.recipe,
                "a world folder has no stages to keep: leave --cache out",
            ));
        }
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
    notes(&served.origin).iter().for_each(|note| crate::say(&format!("note: {note}")));
    summary::print(&args.out, args.json)
}
