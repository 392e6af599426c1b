//! A terrain as rows on demand: what the payload writer consumes.

use crate::config::TerrainConfig;
use crate::content::{Catalogue, PlaneKind};
use std::ops::Range;

/// A terrain that gives any of its rows, from any thread, always the same. It need not be in memory.
///
/// Whoever implements it answers for what [`super::Raster::check`] checks; the payload writer checks it again as it
/// goes along.
pub trait TerrainRows: Sync {
    /// What changes its bits.
    fn config(&self) -> &TerrainConfig;

    /// What its planes refer to.
    fn catalogue(&self) -> &Catalogue;

    /// Which planes it has, sorted, each once.
    fn plane_kinds(&self) -> Vec<PlaneKind>;

    /// Raw quanta of sample rows, X fastest, [`crate::height::VOID`] where there is no sample. `out` holds just these.
    fn heights(&self, rows: Range<u32>, out: &mut [i32]);

    /// Two bits a cell of cell rows, one byte each, X fastest. `out` holds just these.
    fn mask(&self, rows: Range<u32>, out: &mut [u8]);

    /// Rows of a plane, counted on its own lattice, X fastest; zeros for a plane it has not. `out` holds just these.
    fn plane(&self, kind: PlaneKind, rows: Range<u32>, out: &mut [u8]);
}

/// The rows of a terrain as a whole in memory.
pub fn collect(rows: &dyn TerrainRows) -> super::Raster {
    let config = *rows.config();
    let [w, h] = config.samples;
    let mut heights = vec![0; w as usize * h as usize];
    rows.heights(0..h, &mut heights);
    let mut mask = vec![0; (w - 1) as usize * (h - 1) as usize];
    rows.mask(0..h - 1, &mut mask);
    let planes = rows
        .plane_kinds()
        .into_iter()
        .map(|kind| {
            let mut plane = crate::content::Plane::zero(kind, &config);
            rows.plane(kind, 0..kind.lattice().size(&config)[1], &mut plane.values);
            plane
        })
        .collect();
    super::Raster { config, heights, mask, catalogue: rows.catalogue().clone(), planes }
}
