//! `highground pack`: terrains and what belongs to them as one pack, and its check.

use crate::{Failure, stdout};
use highground_terrain::disk::RealDisk;
use highground_terrain::layer_images::{self, Options};
use highground_terrain::pack::{self, Item, Role, Roster, Source};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Arguments of `highground pack`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    highground pack jacksboro.terrain content/worlds/jacksboro.ron --out jacksboro.pack\n  \
    highground pack island.terrain --images island --texture-size 512 --out island.pack")]
pub(crate) struct Args {
    /// Terrains, their sidecars and layer textures (of the same name), and recipes
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The pack to make or to replace: a folder
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    /// A folder with the images that the terrains' layers name: they are made into textures and packed too
    #[arg(long, value_name = "FOLDER")]
    images: Option<PathBuf>,
    /// Texels a side of those textures: a power of two
    #[arg(long, value_name = "N", default_value_t = 1024, requires = "images")]
    texture_size: u32,
    /// Remove what an older pack in the folder alone had
    #[arg(long)]
    sweep: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let mut items = Vec::new();
    for path in &args.files {
        let role = pack::role_of(path).map_err(Failure::input)?;
        let Some(name) = path.file_stem().and_then(|n| n.to_str()) else {
            return Err(Failure::file(path, "has no name in UTF-8 that its object could have"));
        };
        items.push(Item { role, name: name.to_owned(), source: Source::File(path.clone()) });
        if let (Role::Payload, Some(images)) = (role, &args.images) {
            items.extend(textures(path, name, images, args.texture_size)?);
        }
    }
    if args.out.exists() && !args.out.is_dir() {
        return Err(Failure::file(&args.out, "is there and is no folder: pass another --out"));
    }
    missing_textures(&items)?;
    let roster = pack::write(&RealDisk, &args.out, &items).map_err(Failure::input)?;
    let swept =
        if args.sweep { pack::sweep(&RealDisk, &args.out).map_err(Failure::input)? } else { Vec::new() };
    print(&args.out, &roster, swept.len(), args.json)
}

/// Says of which terrains the layers name images that will be in the pack in no form.
fn missing_textures(items: &[Item]) -> Result<(), Failure> {
    for item in items {
        let (Role::Payload, Source::File(path)) = (item.role, &item.source) else { continue };
        let names: Vec<String> = crate::summary::open(path)?
            .info()
            .catalogue
            .layers
            .iter()
            .flat_map(|l| l.images.names().map(str::to_owned))
            .collect();
        let packed = items.iter().any(|i| i.role == Role::Layers && i.name == item.name);
        if let (Some(first), false) = (names.first(), packed) {
            crate::say(&format!(
                "note: {}: its layers name {} ({first}{}), not in the pack: pass --images FOLDER or a .layers file",
                path.display(),
                if names.len() == 1 { "an image" } else { "images" },
                if names.len() == 1 { "" } else { ", …" }
            ));
        }
    }
    Ok(())
}

/// The textures of a terrain's layers, if it has any.
fn textures(path: &Path, name: &str, images: &Path, side: u32) -> Result<Option<Item>, Failure> {
    let file = crate::summary::open(path)?;
    let layers = &file.info().catalogue.layers;
    if layers.is_empty() {
        return Ok(None);
    }
    let options = Options { side, ..Options::default() };
    let arrays = layer_images::from_folder(images, layers, options).map_err(Failure::input)?;
    Ok(Some(Item { role: Role::Layers, name: name.to_owned(), source: Source::Bytes(arrays.encode()) }))
}

/// Checks a pack whole and says what is in it: the answer of `verify` for a folder.
pub(crate) fn verify(folder: &Path, json: bool) -> Result<(), Failure> {
    if !folder.join(pack::FILE_NAME).exists() {
        let message = format!("is no pack: expected a {} in it", pack::FILE_NAME);
        return Err(Failure::file(folder, message));
    }
    let pack = pack::open(folder).map_err(Failure::input)?;
    print(folder, &pack.roster, 0, json)
}

fn print(folder: &Path, roster: &Roster, swept: usize, json: bool) -> Result<(), Failure> {
    let bytes = roster.objects.iter().fold(0u64, |sum, o| sum.saturating_add(o.bytes));
    if json {
        return stdout::print_json(&json!({
            "valid": true,
            "digest": roster.digest,
            "objects": roster.objects,
            "bytes": bytes,
            "swept": swept,
        }));
    }
    let names: Vec<String> = roster.objects.iter().map(|o| format!("{} {}", o.role.name(), o.name)).collect();
    stdout::print(&format!(
        "{}: whole: {}, {bytes} bytes, digest {}\n",
        folder.display(),
        names.join(", "),
        roster.digest
    ))
}
