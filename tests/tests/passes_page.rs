//! Pages of the content world and textures of the content's layers: pinned, the same on every device.

use highground_terrain::compute::{Compute, CpuCompute};
use highground_terrain::content::Catalogue;
use highground_terrain::cook::cook;
use highground_terrain::coord::PagePos;
use highground_terrain::kernel::bytes_of;
use highground_terrain::kernel::weight_mip::{Encoding, HdTexel};
use highground_terrain::layer_images::Options;
use highground_terrain::layers::WeightChain;
use highground_terrain::page::{Heights, LayerSource, Made, Pages, make, pack};
use highground_terrain::pass::page::{Baker, Look};
use highground_terrain::store::{MemoryTerrain, Raster};
use highground_tests::{gpu, root, test_name};
use highground_tools::textures::{RECIPES, recipe};

fn hex(bytes: &[u8; 32]) -> String {
    bytes[..16].iter().map(|b| format!("{b:02x}")).collect()
}

/// Texture arrays of all recipes, or of a catalogue's layers by their names.
fn made(catalogue: &Catalogue) -> Made {
    let sources: Vec<LayerSource> = catalogue
        .layers
        .iter()
        .map(|l| recipe(&l.name).unwrap().map_or(LayerSource::Plain, LayerSource::Recipe))
        .collect();
    let none = |name: &str, _: u64| panic!("nobody has the image {name}");
    make(&catalogue.layers, &sources, Options { side: 256, ..Options::default() }, &none).unwrap()
}

#[test]
fn the_textures_of_the_content_are_pinned() {
    let mut text = String::new();
    for (name, ..) in RECIPES {
        let images = recipe(name).unwrap().unwrap().images(256).unwrap();
        let mut hasher = blake3::Hasher::new();
        for image in [&images.albedo, &images.normal, &images.orm, &images.height] {
            hasher.update(image.bytes());
        }
        text += &format!("{name} {}\n", hex(hasher.finalize().as_bytes()));
    }
    insta::assert_snapshot!("textures", text);
}

#[test]
fn names_of_layers_find_their_recipes() {
    assert_eq!(recipe("Meadow").unwrap(), recipe("grass").unwrap());
    assert_eq!(recipe("scree").unwrap(), recipe("gravel").unwrap());
    assert!(recipe("rock").unwrap().is_some() && recipe("lava").unwrap().is_none());
}

/// The content world, heights and weights.
fn world() -> (Raster, Heights, WeightChain) {
    let cooked = cook(&root().join("content/worlds/jacksboro.ron"), 0).unwrap();
    let heights = Heights::read(&MemoryTerrain::new(cooked.raster.clone(), cooked.side), 1 << 24).unwrap();
    let texels = HdTexel::map_to_bytes(&cooked.raster.hd_weights().unwrap());
    let size = cooked.raster.config.samples.map(|n| n - 1);
    let weights = WeightChain::build(&CpuCompute::new(), Encoding::Hd, size, texels).unwrap();
    (cooked.raster, heights, weights)
}

/// Digests of pages of each mip, and of the macro texture.
fn digests(compute: &dyn Compute) -> String {
    let (raster, heights, weights) = world();
    let made = made(&raster.catalogue);
    let catalogue = Catalogue { layers: made.layers, ..raster.catalogue.clone() };
    let textures = pack(&made.arrays).unwrap();
    let mut text = String::new();
    for (what, look) in
        [("pages", Look::default()), ("macro", Look { side: 1024, border: 0, ..Look::default() })]
    {
        let baker = Baker::new(&raster.config, &look, &catalogue, textures.clone(), false).unwrap();
        let mut pages = Pages::new(baker, &weights, &heights).unwrap();
        let mips = pages.baker().mips();
        for mip in if what == "macro" { mips - 1 } else { 0 }..mips {
            let [w, h] = pages.baker().pages(mip).map(|n| n as i32);
            // Of the finest mips every eleventh: they are many.
            let step = if mip < 2 { 11 } else { 1 };
            let all: Vec<PagePos> =
                (0..w * h).step_by(step).map(|i| PagePos::new(mip, i % w, i / w)).collect();
            let mut hasher = blake3::Hasher::new();
            pages
                .bake(compute, &all, &mut |_, words| {
                    hasher.update(bytes_of(words));
                })
                .unwrap();
            text += &format!(
                "{what} mip {mip}, {} of {w} x {h}: {}\n",
                all.len(),
                hex(hasher.finalize().as_bytes())
            );
        }
    }
    text
}

#[test]
fn pages_of_the_content_world_are_pinned_for_any_number_of_threads() {
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| digests(&CpuCompute::new()))
    };
    let one = run(1);
    assert_eq!(one, run(3));
    insta::assert_snapshot!("pages", one);
}

#[test]
fn pages_of_the_content_world_are_the_same_on_the_gpu() {
    let Some(gpu) = gpu::require(test_name!()) else { return };
    insta::assert_snapshot!("pages", digests(&gpu));
}
