//! A terrain made of heights and a recipe: rows on demand.
//!
//! Owns everything of a cooked terrain that is a function of the heights nearby: visibility, layers, materials, growth and
//! water. Holds the heights (or asks their source for rows), the pictures and shapes of the recipe, and no more: planes
//! are made band by band when the writer asks. Never changes a height.

mod layers;
mod planes;
mod region;
mod water;

pub(super) use planes::Planes;

use super::error::CookError;
use super::image::Images;
use super::plan::World;
use super::spline::Strip;
use crate::config::TerrainConfig;
use crate::content::{Catalogue, PlaneKind};
use crate::coord::CellPos;
use crate::height::VOID;
use crate::store::TerrainRows;
use crate::surface::Triangle;
use rayon::prelude::*;
use std::ops::Range;

/// Refuses content that no terrain could have, before anything is made.
pub(super) fn check(world: &World) -> Result<(), String> {
    planes::catalogue(world, &[])?.check().map_err(|e| e.to_string())
}

/// A terrain on demand.
pub(super) struct Dish {
    base: Box<dyn TerrainRows + Send>,
    config: TerrainConfig,
    catalogue: Catalogue,
    kinds: Vec<PlaneKind>,
    planes: Planes,
    /// Triangles taken away, two bits a cell.
    removed: Option<Vec<u8>>,
    /// The recipe has no layers of its own: those of the source stay.
    keeps_layers: bool,
}

impl Dish {
    /// Lays a recipe's content over heights. `notes` hears what was done to pictures.
    ///
    /// # Errors
    /// What is wrong with the content or its pictures.
    pub(super) fn new(
        base: Box<dyn TerrainRows + Send>,
        world: &World,
        strips: &[Strip],
        images: &Images,
        notes: &mut Vec<String>,
    ) -> Result<Self, CookError> {
        let rule = |e: String| CookError::Rule { path: images.recipe().to_owned(), message: e };
        let mut config = TerrainConfig { paint_per_cell: world.paint_per_cell, ..*base.config() };
        let keeps_layers = world.layers.is_empty() && !base.catalogue().layers.is_empty();
        if keeps_layers {
            config.paint_per_cell = base.config().paint_per_cell;
        }
        if let Some(e) = world.extent {
            config.extent = e.rect().ok_or_else(|| rule(format!("extent: {e:?} is too large")))?;
        }
        config.check().map_err(|e| rule(e.to_string()))?;
        let removed = region::removed(&world.holes, "holes", &config, images)?;
        let planes = Planes::new(world, &config, strips, images, notes)?;
        let mut catalogue = planes::catalogue(world, strips).map_err(rule)?;
        if keeps_layers {
            catalogue.layers = base.catalogue().layers.clone();
        }
        let mut dish = Self { base, config, catalogue, kinds: Vec::new(), planes, removed, keeps_layers };
        dish.find_water().map_err(rule)?;
        dish.kinds = dish.all_kinds();
        dish.catalogue.check().map_err(|e| rule(e.to_string()))?;
        Ok(dish)
    }

    fn all_kinds(&self) -> Vec<PlaneKind> {
        let mut kinds = self.planes.kinds(&self.catalogue, self.keeps_layers);
        if self.keeps_layers {
            kinds.extend(self.base.plane_kinds().into_iter().filter(|k| matches!(k, PlaneKind::Weight(_))));
        }
        kinds.sort();
        kinds
    }

    /// Looks for the deepest water, band by band: without any there is no plane for it.
    fn find_water(&mut self) -> Result<(), String> {
        if !self.planes.has_water() {
            return Ok(());
        }
        let [w, h] = self.config.samples;
        let mut deepest = 0u32;
        let mut out = Vec::new();
        for z in (0..h).step_by(64) {
            let end = h.min(z + 64);
            out.resize((end - z) as usize * w as usize, 0);
            self.planes.depths(&self.ground(z..end, 0), z..end, &mut out);
            deepest = deepest.max(out.iter().copied().max().unwrap_or(0));
        }
        if deepest >= crate::height::HEIGHT_LIMIT as u32 {
            return Err(format!("water of {deepest} quanta is deeper than the 2^24 that a terrain may have"));
        }
        self.planes.set_deepest(deepest);
        self.catalogue.water = (deepest > 0).then(|| crate::content::Water {
            max_depth_m: self.config.quantum.to_metres(deepest as i32).max(1e-3),
        });
        Ok(())
    }

    /// Heights of sample rows and `halo` more on either side, as far as the map goes.
    fn ground(&self, rows: Range<u32>, halo: u32) -> Ground {
        let z0 = rows.start.saturating_sub(halo);
        let z1 = (rows.end + halo).min(self.config.samples[1]);
        let width = self.config.samples[0] as usize;
        let mut quanta = vec![VOID; (z1 - z0) as usize * width];
        self.base.heights(z0..z1, &mut quanta);
        Ground { z0, width, quanta }
    }
}

/// Rows of heights.
pub(super) struct Ground {
    /// The first row.
    z0: u32,
    width: usize,
    quanta: Vec<i32>,
}

impl Ground {
    /// A sample's quanta; [`VOID`] beyond the map. Rows must be held.
    fn at(&self, x: usize, z: usize) -> i32 {
        self.quanta[(z - self.z0 as usize) * self.width + x]
    }

    /// The four corners of a cell: 00, 10, 01, 11.
    fn corners(&self, x: usize, z: usize) -> [i32; 4] {
        [self.at(x, z), self.at(x + 1, z), self.at(x, z + 1), self.at(x + 1, z + 1)]
    }
}

impl TerrainRows for Dish {
    fn config(&self) -> &TerrainConfig {
        &self.config
    }

    fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    fn plane_kinds(&self) -> Vec<PlaneKind> {
        self.kinds.clone()
    }

    fn heights(&self, rows: Range<u32>, out: &mut [i32]) {
        self.base.heights(rows, out);
    }

    fn mask(&self, rows: Range<u32>, out: &mut [u8]) {
        if rows.is_empty() {
            return;
        }
        self.base.mask(rows.clone(), out);
        let ground = self.ground(rows.start..rows.end + 1, 0);
        let width = self.config.samples[0] as usize - 1;
        out.par_chunks_mut(width).enumerate().for_each(|(i, row)| {
            let z = rows.start as usize + i;
            for (x, mask) in row.iter_mut().enumerate() {
                let cell = CellPos::new(x as i32, z as i32);
                if !self.config.extent.contains(cell) {
                    *mask = 0;
                    continue;
                }
                let corners = ground.corners(x, z);
                if corners.contains(&VOID) {
                    let anti = self.config.diagonal.is_anti(cell);
                    for triangle in Triangle::BOTH {
                        let void = |&(dx, dz): &(i32, i32)| corners[(dx + 2 * dz) as usize] == VOID;
                        if triangle.corners(anti).iter().any(void) {
                            *mask &= !(1 << triangle.index());
                        }
                    }
                }
                if let Some(removed) = &self.removed {
                    *mask &= !removed[z * width + x];
                }
            }
        });
    }

    fn plane(&self, kind: PlaneKind, rows: Range<u32>, out: &mut [u8]) {
        if rows.is_empty() || !self.kinds.contains(&kind) {
            out.fill(0);
            return;
        }
        if self.keeps_layers && matches!(kind, PlaneKind::Weight(_)) {
            self.base.plane(kind, rows, out);
            return;
        }
        self.planes.rows(kind, rows, out, &|samples, halo| self.ground(samples, halo));
    }
}
