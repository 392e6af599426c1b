//! The worlds that subcommands run on: the content world, a recipe, or a payload.

use crate::Failure;
use highground_game::config::SessionConfig;
use highground_game::replay::TerrainName;
use highground_game::session::Map;
use highground_terrain::compute::Compute;
use highground_terrain::cook::{Cooked, Recipe};
use highground_terrain::coord::BlockPos;
use highground_terrain::kernel::weight_mip::{Encoding, HdTexel};
use highground_terrain::layers::WeightChain;
use highground_terrain::store::{BlockSource, PayloadFile, WriteOptions, write_payload};
use std::path::Path;
use std::sync::Arc;

/// The recipe of the content world.
pub(crate) const CONTENT_RECIPE: &str = include_str!("../../content/worlds/jacksboro.ron");

/// The elevation picture that it names.
pub(crate) const CONTENT_PNG: &[u8] = include_bytes!("../../content/worlds/jacksboro.png");

/// The name by which recipes know it.
const CONTENT_PNG_NAME: &str = "jacksboro.png";

/// The demo game's session configuration.
const DEMO_GAME: &str = include_str!("../../content/games/demo.ron");

/// The largest weight map that is held as one chain, in texels of mip 0.
const MAX_WEIGHT_TEXELS: u64 = 1 << 28;

/// The demo game's session configuration.
pub(crate) fn demo_game() -> Result<SessionConfig, Failure> {
    let config: SessionConfig =
        ron::from_str(DEMO_GAME).map_err(|e| Failure::input(format!("content/games/demo.ron: {e}")))?;
    config.check().map_err(|e| Failure::input(format!("content/games/demo.ron: {e}")))?;
    Ok(config)
}

/// A folder of this run's own that goes away with it.
pub(crate) fn scratch() -> Result<tempfile::TempDir, Failure> {
    tempfile::tempdir().map_err(|e| Failure::input(format!("no temporary folder can be made: {e}")))
}

/// Cooks the content world from the picture inside the program and a recipe for it.
pub(crate) fn cook_content(recipe: &str, threads: usize) -> Result<Cooked, Failure> {
    let folder = scratch()?;
    let picture = folder.path().join(CONTENT_PNG_NAME);
    std::fs::write(&picture, CONTENT_PNG).map_err(|e| Failure::file(&picture, e))?;
    let path = folder.path().join("jacksboro.ron");
    let recipe = Recipe::parse(recipe, &path).map_err(|e| Failure::input(e.to_string()))?;
    // A recipe out of a recording must not name other files of this machine.
    if recipe.source.png != Path::new(CONTENT_PNG_NAME) {
        return Err(Failure::input(format!(
            "the content world's recipe names \"{}\"; only \"{CONTENT_PNG_NAME}\" is inside the program",
            recipe.source.png.display()
        )));
    }
    recipe.cook(&path, threads).map_err(|e| Failure::input(e.to_string()))
}

/// Writes a cooked terrain as a payload.
pub(crate) fn write(cooked: &Cooked, path: &Path) -> Result<(), Failure> {
    let options = WriteOptions::new(cooked.side, &cooked.origin.to_json(), cooked.rounding_m);
    write_payload(&cooked.raster, &options, path).map(drop).map_err(|e| Failure::file(path, e))
}

/// Opens a payload as a map, its weight chain made on the given device.
pub(crate) fn open_payload(path: &Path, compute: &dyn Compute) -> Result<Map, Failure> {
    let payload = PayloadFile::open(path).map_err(|e| Failure::file(path, e))?;
    let layers = payload.info().catalogue.layer_names();
    let has_weights = !layers.is_empty();
    let source: Arc<dyn BlockSource> = Arc::new(payload);
    let weights = if has_weights { Some(Arc::new(weight_chain(&*source, path, compute)?)) } else { None };
    Ok(Map { source, weights, layers })
}

/// The weight chain of a whole terrain.
pub(crate) fn weight_chain(
    source: &dyn BlockSource,
    path: &Path,
    compute: &dyn Compute,
) -> Result<WeightChain, Failure> {
    let (config, side) = (source.config(), source.block_side());
    let per_cell = i32::from(config.paint_per_cell);
    let [w, h] = config.cells().map(|c| c * per_cell);
    if w as u64 * h as u64 > MAX_WEIGHT_TEXELS {
        return Err(Failure::file(
            path,
            format!(
                "its {w}x{h} weight texels are more than the {MAX_WEIGHT_TEXELS} that one chain may hold; import it without layers"
            ),
        ));
    }
    let mut mip0 = vec![0u8; w as usize * h as usize * 3];
    let n = side.samples() * per_cell;
    let [bw, bh] = config.blocks(side);
    for bz in 0..bh as i32 {
        for bx in 0..bw as i32 {
            let block = source.read_block(BlockPos::new(bx, bz)).map_err(|e| Failure::file(path, e))?;
            let texels: &[HdTexel] = block.weights().map_or(&[], |t| t);
            for (i, t) in texels.iter().enumerate() {
                let (x, z) = (bx * n + i as i32 % n, bz * n + i as i32 / n);
                if x < w && z < h {
                    let at = (z as usize * w as usize + x as usize) * 3;
                    mip0[at..at + 3].copy_from_slice(&[t.id1, t.id2, t.ratio]);
                }
            }
        }
    }
    WeightChain::build(compute, Encoding::Hd, [w as u32, h as u32], mip0).map_err(|e| Failure::file(path, e))
}

/// The name under which a recording knows a terrain.
pub(crate) fn terrain_name(path: Option<&Path>) -> TerrainName {
    match path {
        Some(path) => TerrainName::File { path: path.display().to_string() },
        None => TerrainName::Content { recipe: CONTENT_RECIPE.to_owned() },
    }
}
