//! A folder with a recipe in it.

use highground_terrain::content::PlaneKind;
use highground_terrain::cook::{Order, Served, serve};
use highground_terrain::store::{Raster, collect};
use std::fs;
use std::path::PathBuf;

pub(super) fn island() -> PathBuf {
    highground_tests::root().join("content/worlds/island.ron")
}

/// A folder with a recipe in it.
pub(super) struct Kitchen {
    folder: tempfile::TempDir,
}

impl Kitchen {
    pub(super) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn serve(&self, recipe: &str) -> Result<Served, String> {
        self.serve_with(recipe, &Order::default())
    }

    pub(super) fn serve_with(&self, recipe: &str, order: &Order<'_>) -> Result<Served, String> {
        let path = self.path("w.ron");
        fs::write(&path, recipe).unwrap();
        serve(&path, order).map_err(|e| e.to_string())
    }

    pub(super) fn cook(&self, recipe: &str) -> Raster {
        let served = self.serve(recipe).unwrap();
        let raster = collect(&*served.rows);
        raster.check().unwrap();
        raster
    }

    pub(super) fn refuse(&self, recipe: &str) -> String {
        match self.serve(recipe) {
            Ok(_) => panic!("cooked: {recipe}"),
            Err(e) => {
                assert_eq!(e.lines().count(), 1, "{e}");
                e
            }
        }
    }

    pub(super) fn png(&self, name: &str, size: [u32; 2], color: png::ColorType, bytes: &[u8]) {
        let file = fs::File::create(self.path(name)).unwrap();
        let mut encoder = png::Encoder::new(file, size[0], size[1]);
        encoder.set_color(color);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.write_header().unwrap().write_image_data(bytes).unwrap();
    }
}

pub(super) fn plane(raster: &Raster, kind: PlaneKind) -> &[u8] {
    &raster.plane_of(kind).unwrap_or_else(|| panic!("no plane of {}", kind.name())).values
}
