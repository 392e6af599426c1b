//! The planes of a cooked terrain, made band by band.

use super::layers::{Layers, Shape, Shaped};
use super::water::Waters;
use super::{Ground, region};
use crate::config::TerrainConfig;
use crate::content::{Catalogue, Layer, Overlay, PlaneKind};
use crate::cook::error::CookError;
use crate::cook::image::Images;
use crate::cook::plan::{Density, World};
use crate::cook::spline::Strip;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Gives sample rows with so many more on either side.
type GroundOf<'a> = &'a (dyn Fn(Range<u32>, u32) -> Ground + Sync);

/// A band of weights and its texel rows.
type Band = (Range<u32>, Arc<Vec<Vec<u8>>>);

/// Bytes of the bands of weights that are kept, so that asking for one layer after the other makes each band once.
const KEPT_BYTES: usize = 32 << 20;

/// Everything that planes are made of.
pub(in crate::cook) struct Planes {
    layers: Layers,
    bands: Mutex<Vec<Band>>,
    physical_holes: Option<Vec<u8>>,
    /// Of each material but the first: the layers where it is, and the triangles.
    materials: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    user: Vec<Option<Vec<u8>>>,
    foliage: Vec<Grown>,
    objects: Vec<Grown>,
    waters: Waters,
    shape: Shape,
    per_cell: u32,
    width: usize,
}

/// How densely a kind grows.
enum Grown {
    None,
    Full,
    Image(Vec<u8>),
    Layer(u8),
    Rule(Shaped),
}

/// What a recipe says of its content, as the payload keeps it.
pub(super) fn catalogue(world: &World, strips: &[Strip]) -> Result<Catalogue, String> {
    let layer = |l: &crate::cook::plan::LayerRule| Layer {
        name: l.name.clone(),
        tag: l.tag.clone(),
        kind: l.kind,
        tiling_m: l.tiling_m,
        height_blend_contrast: l.height_blend_contrast,
        tint: [l.tint.0, l.tint.1, l.tint.2],
        normal_scale: l.normal_scale,
        images: l.images.clone(),
    };
    let mut overlays = Vec::new();
    for s in strips {
        let paint = s.paint.as_ref();
        let layer =
            paint.map_or(Ok(0), |p| world.layer_id(&p.layer)).map_err(|e| format!("{}: {e}", s.name))?;
        overlays.push(Overlay {
            name: s.name.clone(),
            points: s.points.clone(),
            width_m: s.width_m,
            fade_m: paint.map_or(0.0, |p| p.fade_m),
            layer,
            tag: s.tag.clone(),
        });
    }
    Ok(Catalogue {
        layers: world.layers.iter().map(layer).collect(),
        materials: world.materials.iter().map(|m| m.material.clone()).collect(),
        user_channels: world.user.iter().map(|u| u.name.clone()).collect(),
        foliage: world.foliage.iter().map(|f| f.kind.clone()).collect(),
        objects: world.objects.iter().map(|o| o.kind.clone()).collect(),
        overlays,
        water: None,
    })
}

impl Planes {
    pub(super) fn new(
        world: &World,
        config: &TerrainConfig,
        strips: &[Strip],
        images: &Images,
        notes: &mut Vec<String>,
    ) -> Result<Self, CookError> {
        let cells = config.samples.map(|n| n - 1);
        let grey = |path: &std::path::PathBuf| Ok::<_, CookError>(images.grey(path, &[cells])?.1);
        let rule = |e: String| CookError::Rule { path: images.recipe().to_owned(), message: e };
        let grown = |density: &Density| {
            Ok::<_, CookError>(match density {
                Density::None => Grown::None,
                Density::Full => Grown::Full,
                Density::Image(path) => Grown::Image(grey(path)?),
                Density::Layer(name) => Grown::Layer(world.layer_id(name).map_err(rule)?),
                Density::Ground(r) => Grown::Rule(Shaped::new(r, config, images)?),
            })
        };
        let mut materials = Vec::new();
        for (i, m) in world.materials.iter().enumerate().skip(1) {
            let layers: Result<Vec<u8>, _> = m.layers.iter().map(|name| world.layer_id(name)).collect();
            let triangles = region::removed(&m.regions, &format!("materials[{i}].regions"), config, images)?;
            materials.push((layers.map_err(rule)?, triangles));
        }
        let user = world.user.iter().map(|u| u.image.as_ref().map(grey).transpose());
        Ok(Self {
            layers: Layers::new(world, config, strips, images, notes)?,
            bands: Mutex::default(),
            physical_holes: region::removed(&world.physical_holes, "physical_holes", config, images)?,
            materials,
            user: user.collect::<Result<_, _>>()?,
            foliage: world.foliage.iter().map(|f| grown(&f.density)).collect::<Result<_, _>>()?,
            objects: world.objects.iter().map(|o| grown(&o.density)).collect::<Result<_, _>>()?,
            waters: Waters::new(world, config, strips),
            shape: Shape::new(config),
            per_cell: u32::from(config.paint_per_cell),
            width: cells[0] as usize,
        })
    }

    /// Which planes there are.
    pub(super) fn kinds(&self, catalogue: &Catalogue, keeps_layers: bool) -> Vec<PlaneKind> {
        let mut kinds = Vec::new();
        if self.layers.any() && !keeps_layers {
            kinds.extend((0..catalogue.layers.len() as u8).map(PlaneKind::Weight));
        }
        kinds.extend(self.physical_holes.as_ref().map(|_| PlaneKind::PhysicalHole));
        if !self.materials.is_empty() {
            kinds.push(PlaneKind::PhysicalMaterial);
        }
        let given = |user: &Option<Vec<u8>>| user.is_some();
        kinds.extend((0u8..).zip(&self.user).filter(|(_, u)| given(u)).map(|(i, _)| PlaneKind::User(i)));
        let grows = |g: &&Grown| !matches!(g, Grown::None);
        kinds
            .extend((0u8..).zip(&self.foliage).filter(|(_, g)| grows(g)).map(|(i, _)| PlaneKind::Foliage(i)));
        kinds.extend((0u8..).zip(&self.objects).filter(|(_, g)| grows(g)).map(|(i, _)| PlaneKind::Object(i)));
        if self.waters.deepest > 0 {
            kinds.push(PlaneKind::WaterDepth);
        }
        kinds
    }

    pub(super) fn has_water(&self) -> bool {
        self.waters.any()
    }

    pub(super) fn depths(&self, ground: &Ground, rows: Range<u32>, out: &mut [u32]) {
        self.waters.depths(ground, rows, out);
    }

    pub(super) fn set_deepest(&mut self, quanta: u32) {
        self.waters.deepest = quanta;
    }

    /// Rows of a plane, on its own lattice.
    pub(super) fn rows(&self, kind: PlaneKind, rows: Range<u32>, out: &mut [u8], ground: GroundOf<'_>) {
        let cells = || rows.start as usize * self.width..rows.end as usize * self.width;
        match kind {
            PlaneKind::Weight(i) => out.copy_from_slice(&self.weights(rows, ground)[usize::from(i)]),
            PlaneKind::PhysicalHole => match &self.physical_holes {
                Some(bits) => out.copy_from_slice(&bits[cells()]),
                None => out.fill(0),
            },
            PlaneKind::PhysicalMaterial => self.materials(rows, out, ground),
            PlaneKind::User(i) => match self.user.get(usize::from(i)) {
                Some(Some(values)) => out.copy_from_slice(&values[cells()]),
                _ => out.fill(0),
            },
            PlaneKind::Foliage(i) => self.grown(&self.foliage[usize::from(i)], rows, out, ground),
            PlaneKind::Object(i) => self.grown(&self.objects[usize::from(i)], rows, out, ground),
            PlaneKind::WaterDepth => {
                let mut depths = vec![0; out.len() / 4];
                self.waters.depths(&ground(rows.clone(), 0), rows, &mut depths);
                out.as_chunks_mut::<4>().0.iter_mut().zip(depths).for_each(|(o, d)| *o = d.to_le_bytes());
            }
        }
    }

    /// All layers' weights of texel rows.
    fn weights(&self, rows: Range<u32>, ground: GroundOf<'_>) -> Arc<Vec<Vec<u8>>> {
        let lock = || self.bands.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, band)) = lock().iter().find(|(r, _)| *r == rows) {
            return band.clone();
        }
        let cells = rows.start / self.per_cell..rows.end.div_ceil(self.per_cell);
        let ground = ground(cells.start..cells.end + 1, self.layers.halo());
        let band = Arc::new(self.layers.rows(&ground, rows.clone()));
        let mut bands = lock();
        let bytes = |band: &[Vec<u8>]| band.iter().map(Vec::len).sum::<usize>();
        // The oldest go first; a band larger than all that may be kept goes with the next.
        let mut held = bands.iter().map(|(_, b)| bytes(b)).sum::<usize>() + bytes(&band);
        while held > KEPT_BYTES && !bands.is_empty() {
            held -= bytes(&bands.remove(0).1);
        }
        bands.push((rows, band.clone()));
        band
    }

    /// The weights of cell rows: of a layer, the sum over each cell's texels.
    fn cell_weights(&self, layer: usize, rows: &Range<u32>, ground: GroundOf<'_>) -> Vec<u32> {
        let n = self.per_cell;
        let mut sums = vec![0; self.width * (rows.end - rows.start) as usize];
        if self.layers.any() {
            let band = self.weights(rows.start * n..rows.end * n, ground);
            let (n, row) = (n as usize, self.width * n as usize);
            for (i, &w) in band[layer].iter().enumerate() {
                sums[i / row / n * self.width + i % row / n] += u32::from(w);
            }
        } else if layer == 0 {
            sums.fill(255 * n * n);
        }
        sums
    }

    fn materials(&self, rows: Range<u32>, out: &mut [u8], ground: GroundOf<'_>) {
        out.fill(0);
        // The strongest layer of each cell, ties to the lower id; only made where a material asks for it.
        let strongest = self.materials.iter().any(|(layers, _)| !layers.is_empty()).then(|| {
            let mut best = vec![(0u8, 0u32); out.len()];
            for layer in 0..self.layers.count() {
                let weights = self.cell_weights(layer, &rows, ground);
                best.iter_mut()
                    .zip(weights)
                    .filter(|(b, w)| *w > b.1)
                    .for_each(|(b, w)| *b = (layer as u8, w));
            }
            best
        });
        let first = rows.start as usize * self.width;
        for (id, (layers, triangles)) in (1u8..).zip(&self.materials) {
            for (i, o) in out.iter_mut().enumerate() {
                let by_layer = strongest.as_ref().is_some_and(|s| layers.contains(&s[i].0));
                let by_region = triangles.as_ref().is_some_and(|t| t[first + i] != 0);
                if by_layer || by_region {
                    *o = id;
                }
            }
        }
    }

    fn grown(&self, grown: &Grown, rows: Range<u32>, out: &mut [u8], ground: GroundOf<'_>) {
        match grown {
            Grown::None => out.fill(0),
            Grown::Full => out.fill(255),
            Grown::Image(values) => {
                out.copy_from_slice(
                    &values[rows.start as usize * self.width..rows.end as usize * self.width],
                );
            }
            Grown::Layer(layer) => {
                let texels = self.per_cell * self.per_cell;
                let weights = self.cell_weights(usize::from(*layer), &rows, ground);
                out.iter_mut().zip(weights).for_each(|(o, w)| *o = ((w + texels / 2) / texels) as u8);
            }
            Grown::Rule(rule) => {
                let held = ground(rows.start..rows.end + 1, u32::from(rule.is_curved()));
                let n = self.per_cell as usize;
                out.par_chunks_mut(self.width).enumerate().for_each(|(i, row)| {
                    let z = rows.start as usize + i;
                    for (x, o) in row.iter_mut().enumerate() {
                        let place = self.shape.place(&held, x, z, 0.5, 0.5, rule.is_curved());
                        *o = rule.cover(place, [x * n + n / 2, z * n + n / 2], n) as u8;
                    }
                });
            }
        }
    }
}
