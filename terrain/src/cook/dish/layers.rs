//! Layers: full weights of every texel, from painted pictures, the shape of the ground, and lines.

use super::Ground;
use crate::config::TerrainConfig;
use crate::content::{Lattice, MAX_LAYERS};
use crate::cook::error::CookError;
use crate::cook::image::Images;
use crate::cook::plan::{Rule, World};
use crate::cook::spline::{Line, Near, Strip};
use crate::height::VOID;
use crate::kernel::weights::LayerKind;
use rayon::prelude::*;
use std::ops::Range;

/// A weight while covers are laid over it: 255 · 257.
const WHOLE: u32 = 65_535;

/// What layers are made of.
pub(super) struct Layers {
    alpha: Vec<bool>,
    rules: Vec<Option<Shaped>>,
    /// Painted weights by layer, one a texel; empty where a layer is not painted.
    painted: Vec<Vec<u8>>,
    lines: Vec<Painted>,
    per_cell: usize,
    texels: [u32; 2],
    shape: Shape,
}

/// A rule and its picture.
pub(super) struct Shaped {
    rule: Rule,
    image: Option<Picture>,
    steepness: Option<Steepness>,
}

/// A range of slopes as rises over a run, so that most places need no arc tangent.
struct Steepness {
    degrees: (f64, f64),
    soft: f64,
    /// Up to the first and from the last on the share is surely 0, from the second to the third it is surely 1.
    rises: [f64; 4],
}

impl Steepness {
    /// More than what rounding can do to a slope in degrees.
    const MARGIN_DEG: f64 = 1e-6;

    fn new(degrees: (f64, f64), soft: f64) -> Self {
        let rise = |deg: f64| {
            if deg <= 0.0 {
                -1.0
            } else if deg >= 90.0 {
                f64::INFINITY
            } else {
                libm::tan(deg.to_radians())
            }
        };
        let ((from, to), half, margin) = (degrees, soft / 2.0, Self::MARGIN_DEG);
        let rises = [
            rise(from - half - margin),
            rise(from + half + margin),
            rise(to - half - margin),
            rise(to + half + margin),
        ];
        Self { degrees, soft, rises }
    }

    fn share(&self, rise: f64) -> f64 {
        let [none, all, still_all, none_again] = self.rises;
        if rise <= none || rise >= none_again {
            0.0
        } else if rise >= all && rise <= still_all {
            1.0
        } else {
            inside(libm::atan(rise).to_degrees(), self.degrees, self.soft)
        }
    }
}

/// A grey picture on one of the lattices.
struct Picture {
    lattice: Lattice,
    width: usize,
    pixels: Vec<u8>,
}

struct Painted {
    line: Line,
    half_m: f64,
    fade_m: f64,
    layer: usize,
}

/// What makes quanta a shape.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    samples: [u32; 2],
    quantum_m: f64,
    spacing_m: f64,
}

/// The ground at a place: metres, rise over run, 1/m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place {
    pub(super) height: f64,
    pub(super) rise: f64,
    pub(super) curvature: f64,
}

impl Shape {
    pub(super) fn new(config: &TerrainConfig) -> Self {
        let (quantum_m, spacing_m) = (config.quantum.metres(), config.spacing_m());
        Self { samples: config.samples, quantum_m, spacing_m }
    }

    /// The ground at (u, v) in a cell: bilinear, which is for painting only; `None` where a corner is void.
    pub(super) fn place(
        &self,
        g: &Ground,
        x: usize,
        z: usize,
        u: f64,
        v: f64,
        curved: bool,
    ) -> Option<Place> {
        let corners = g.corners(x, z);
        if corners.contains(&VOID) {
            return None;
        }
        let [q00, q10, q01, q11] = corners.map(f64::from);
        let mix = |a: f64, b: f64, t: f64| a * (1.0 - t) + b * t;
        let height = mix(mix(q00, q10, u), mix(q01, q11, u), v) * self.quantum_m;
        let (gx, gz) = (mix(q10 - q00, q11 - q01, v), mix(q01 - q00, q11 - q10, u));
        let rise = (gx * gx + gz * gz).sqrt() * self.quantum_m / self.spacing_m;
        let curvature = if curved {
            let bend = |dx: usize, dz: usize| self.bend(g, x + dx, z + dz);
            mix(mix(bend(0, 0), bend(1, 0), u), mix(bend(0, 1), bend(1, 1), u), v) * self.quantum_m
                / (self.spacing_m * self.spacing_m)
        } else {
            0.0
        };
        Some(Place { height, rise, curvature })
    }

    /// The Laplacian at a sample in quanta; along an axis that lacks a neighbour the ground is taken for straight.
    fn bend(&self, g: &Ground, x: usize, z: usize) -> f64 {
        let here = f64::from(g.at(x, z));
        let known = |x: usize, z: usize| {
            let q =
                if x < self.samples[0] as usize && z < self.samples[1] as usize { g.at(x, z) } else { VOID };
            (q != VOID).then(|| f64::from(q))
        };
        let axis = |before: Option<f64>, after: Option<f64>| match (before, after) {
            (Some(a), Some(b)) => a + b - 2.0 * here,
            _ => 0.0,
        };
        let west = x.checked_sub(1).and_then(|x| known(x, z));
        let north = z.checked_sub(1).and_then(|z| known(x, z));
        axis(west, known(x + 1, z)) + axis(north, known(x, z + 1))
    }
}

impl Shaped {
    pub(super) fn new(rule: &Rule, config: &TerrainConfig, images: &Images) -> Result<Self, CookError> {
        let picture = |path: &std::path::PathBuf| {
            let lattices = [Lattice::Paint, Lattice::Cells, Lattice::Samples];
            let (which, pixels) = images.grey(path, &lattices.map(|l| l.size(config)))?;
            let lattice = lattices[which];
            Ok(Picture { lattice, width: lattice.size(config)[0] as usize, pixels })
        };
        let steepness = rule.slope_deg.map(|range| Steepness::new(range, rule.soft_deg));
        Ok(Self { rule: rule.clone(), image: rule.image.as_ref().map(picture).transpose()?, steepness })
    }

    pub(super) fn is_curved(&self) -> bool {
        self.rule.curvature.is_some()
    }

    /// How much it covers of a row of texels, 0 to 255.
    fn covers(&self, places: &[Option<Place>], z: usize, per_cell: usize) -> Vec<u8> {
        match (&self.steepness, &self.image, self.rule.height_m, self.rule.curvature) {
            (Some(s), None, None, None) => {
                places.iter().map(|p| p.map_or(0, |p| byte(s.share(p.rise)))).collect()
            }
            (None, None, Some(range), None) => {
                let soft = self.rule.soft_m;
                places.iter().map(|p| p.map_or(0, |p| byte(inside(p.height, range, soft)))).collect()
            }
            _ => places.iter().enumerate().map(|(x, &p)| self.cover(p, [x, z], per_cell) as u8).collect(),
        }
    }

    /// How much it covers, 0 to 255.
    pub(super) fn cover(&self, place: Option<Place>, texel: [usize; 2], per_cell: usize) -> u32 {
        let mut share = self.image.as_ref().map_or(1.0, |p| p.at(texel, per_cell));
        let r = &self.rule;
        if r.height_m.is_some() || r.slope_deg.is_some() || r.curvature.is_some() {
            let Some(p) = place else { return 0 };
            let with =
                |v: f64, range: Option<(f64, f64)>, soft: f64| range.map_or(1.0, |r| inside(v, r, soft));
            share = share
                .min(with(p.height, r.height_m, r.soft_m))
                .min(self.steepness.as_ref().map_or(1.0, |s| s.share(p.rise)))
                .min(with(p.curvature, r.curvature, r.soft_curvature));
        }
        u32::from(byte(share))
    }
}

/// A share from 0 to 1 in 1/255, rounded half up.
fn byte(share: f64) -> u8 {
    (share * 255.0 + 0.5) as u8
}

impl Picture {
    /// A texel's value from 0 to 1: its own, its cell's, or the mean of its cell's corners.
    fn at(&self, [x, z]: [usize; 2], per_cell: usize) -> f64 {
        let (cx, cz) = (x / per_cell, z / per_cell);
        let pixel = |x: usize, z: usize| u32::from(self.pixels[z * self.width + x]);
        let (sum, of) = match self.lattice {
            Lattice::Paint => (pixel(x, z), 255.0),
            Lattice::Cells => (pixel(cx, cz), 255.0),
            Lattice::Samples => {
                (pixel(cx, cz) + pixel(cx + 1, cz) + pixel(cx, cz + 1) + pixel(cx + 1, cz + 1), 1020.0)
            }
        };
        f64::from(sum) / of
    }
}

/// 1 inside a range, 0 outside, linear over `soft` across each end.
fn inside(v: f64, (from, to): (f64, f64), soft: f64) -> f64 {
    let side = |distance: f64| {
        if soft > 0.0 {
            (distance / soft + 0.5).clamp(0.0, 1.0)
        } else {
            f64::from(u8::from(distance >= 0.0))
        }
    };
    side(v - from).min(side(to - v))
}

/// Shares 255 out by largest remainders, ties to the lower index. All zeros stay so.
pub(super) fn apportion(weights: &[u32], out: &mut [u8]) {
    let total: u64 = weights.iter().map(|&w| u64::from(w)).sum();
    if total == 0 {
        out.fill(0);
        return;
    }
    // The usual texel has one layer.
    if let Some(only) = weights.iter().position(|&w| u64::from(w) == total) {
        out.fill(0);
        out[only] = 255;
        return;
    }
    let mut left = 255;
    for (o, &w) in out.iter_mut().zip(weights) {
        *o = (u64::from(w) * 255 / total) as u8;
        left -= u32::from(*o);
    }
    let mut given = [false; MAX_LAYERS];
    for _ in 0..left {
        let mut best: Option<(usize, u64)> = None;
        for (i, &w) in weights.iter().enumerate().filter(|&(i, _)| !given[i]) {
            let remainder = u64::from(w) * 255 % total;
            if best.is_none_or(|(_, most)| remainder > most) {
                best = Some((i, remainder));
            }
        }
        if let Some((i, _)) = best {
            given[i] = true;
            out[i] += 1;
        }
    }
}

impl Layers {
    pub(super) fn new(
        world: &World,
        config: &TerrainConfig,
        strips: &[Strip],
        images: &Images,
        notes: &mut Vec<String>,
    ) -> Result<Self, CookError> {
        let rule = |e: String| CookError::Rule { path: images.recipe().to_owned(), message: e };
        let mut lines = Vec::new();
        for s in strips {
            if let Some(paint) = &s.paint {
                let layer =
                    world.layer_id(&paint.layer).map_err(|e| rule(format!("paint of {}: {e}", s.name)))?;
                lines.push(Painted {
                    line: Line::of_points(s.points.clone()),
                    half_m: s.width_m / 2.0,
                    fade_m: paint.fade_m,
                    layer: usize::from(layer),
                });
            }
        }
        let shaped = |l: &crate::cook::plan::LayerRule| {
            l.cover.as_ref().map(|r| Shaped::new(r, config, images)).transpose()
        };
        let rules: Result<Vec<_>, _> = world.layers.iter().map(shaped).collect();
        let mut layers = Self {
            alpha: world.layers.iter().map(|l| l.kind == LayerKind::OrderedAlpha).collect(),
            rules: rules?,
            painted: vec![Vec::new(); world.layers.len()],
            lines,
            per_cell: usize::from(config.paint_per_cell),
            texels: Lattice::Paint.size(config),
            shape: Shape::new(config),
        };
        if !world.splats.is_empty() {
            layers.read_splats(world, config, images, notes)?;
        }
        Ok(layers)
    }

    /// Whether there is anything but the first layer everywhere.
    pub(super) fn any(&self) -> bool {
        self.rules.iter().any(Option::is_some)
            || self.painted.iter().any(|p| !p.is_empty())
            || !self.lines.is_empty()
    }

    /// How many layers there are.
    pub(super) fn count(&self) -> usize {
        self.alpha.len()
    }

    /// Sample rows on either side that rules look at.
    pub(super) fn halo(&self) -> u32 {
        u32::from(self.rules.iter().flatten().any(Shaped::is_curved))
    }

    /// Reads all splats and makes each texel's weights sum to 255.
    fn read_splats(
        &mut self,
        world: &World,
        config: &TerrainConfig,
        images: &Images,
        notes: &mut Vec<String>,
    ) -> Result<(), CookError> {
        let paint = self.texels;
        let sizes = if self.per_cell == 1 { vec![paint, config.samples] } else { vec![paint] };
        let count = paint[0] as usize * paint[1] as usize;
        let mut on_samples = false;
        // Four times the values: texels of a picture by samples are the sums of their corners.
        let mut sums: Vec<Vec<u16>> = vec![Vec::new(); world.layers.len()];
        for splat in &world.splats {
            let (which, planes) = images.rgba(&splat.image, &sizes)?;
            on_samples |= which == 1;
            for (name, plane) in splat.layers.iter().zip(&planes).filter(|(name, _)| !name.is_empty()) {
                // Names were checked with the recipe.
                let Ok(id) = world.layer_id(name) else { continue };
                let sum = &mut sums[usize::from(id)];
                sum.resize(count, 0);
                add_corners(sum, plane, paint[0] as usize, which == 1);
            }
        }
        if on_samples {
            notes.push(
                "splats: pictures of a pixel a sample became a texel a cell, the mean of its corners".into(),
            );
        }
        let normalised = self.normalise(&sums, count);
        if normalised > 0 {
            notes.push(format!(
                "splats: the weights of {normalised} of {count} texels did not sum to 255 and were normalised by largest remainders"
            ));
        }
        Ok(())
    }

    fn normalise(&mut self, sums: &[Vec<u16>], count: usize) -> u64 {
        for (painted, sum) in self.painted.iter_mut().zip(sums).filter(|(_, s)| !s.is_empty()) {
            painted.resize(sum.len(), 0);
        }
        let shared: Vec<usize> = (0..sums.len()).filter(|&i| !self.alpha[i] && !sums[i].is_empty()).collect();
        let mut normalised = 0;
        let (mut weights, mut out) = (vec![0u32; shared.len()], vec![0u8; shared.len()]);
        (0..count).for_each(|texel| {
            shared.iter().zip(&mut weights).for_each(|(&i, w)| *w = u32::from(sums[i][texel]));
            let total: u32 = weights.iter().sum();
            normalised += u64::from(total != 0 && total != 4 * 255);
            apportion(&weights, &mut out);
            shared.iter().zip(&out).for_each(|(&i, &w)| self.painted[i][texel] = w);
        });
        for i in (0..sums.len()).filter(|&i| self.alpha[i] && !sums[i].is_empty()) {
            self.painted[i].iter_mut().zip(&sums[i]).for_each(|(p, &s)| *p = ((s + 2) / 4) as u8);
        }
        normalised
    }

    /// Weights of texel rows, a plane for every layer.
    pub(super) fn rows(&self, ground: &Ground, rows: Range<u32>) -> Vec<Vec<u8>> {
        let (width, layers) = (self.texels[0] as usize, self.alpha.len());
        let height = (rows.end - rows.start) as usize;
        // Row by row first, a row's layers one after the other, so that a row is one piece of memory.
        let mut mixed = vec![0u8; width * height * layers];
        mixed.par_chunks_mut(width * layers).enumerate().for_each(|(i, row)| {
            self.row(ground, rows.start as usize + i, row);
        });
        let plane = |l: usize| {
            let mut plane = Vec::with_capacity(width * height);
            let own = mixed.chunks_exact(width * layers).map(|row| &row[l * width..(l + 1) * width]);
            own.for_each(|row| plane.extend_from_slice(row));
            plane
        };
        (0..layers).map(plane).collect()
    }

    /// One row of texels, layer after layer.
    fn row(&self, ground: &Ground, z: usize, row: &mut [u8]) {
        let (width, layers) = (self.texels[0] as usize, self.alpha.len());
        let covers = self.covers(ground, z);
        let painted = self.painted.iter().any(|p| !p.is_empty());
        let mut out = [0u8; MAX_LAYERS];
        for x in 0..width {
            if !painted && let Some(only) = self.only(&covers, x) {
                row[only * width + x] = 255;
                continue;
            }
            let mut weights = [0u32; MAX_LAYERS];
            self.paint(z * width + x, &mut weights);
            covers.iter().for_each(|(layer, cover)| self.lay(&mut weights, *layer, u32::from(cover[x])));
            self.share(&weights[..layers], &mut out[..layers]);
            out[..layers].iter().enumerate().for_each(|(l, &w)| row[l * width + x] = w);
        }
    }

    /// The layer that alone is left of an unpainted texel, where that is plain: nothing lies over the last whole cover.
    fn only(&self, covers: &[(usize, Vec<u8>)], x: usize) -> Option<usize> {
        let mut only = Some(0);
        for (layer, cover) in covers {
            match (cover[x], self.alpha[*layer]) {
                (0, _) => {}
                (255, false) => only = Some(*layer),
                (_, false) => only = None,
                // Whatever base lies where, this one shows.
                (_, true) => return None,
            }
        }
        only
    }

    /// How much each rule and then each line covers of a row of texels, 0 to 255, in the order they are laid.
    fn covers(&self, ground: &Ground, z: usize) -> Vec<(usize, Vec<u8>)> {
        let width = self.texels[0] as usize;
        let mut covers = Vec::new();
        if self.rules.iter().any(Option::is_some) {
            let curved = self.halo() > 0;
            let middle = |i: usize| ((i % self.per_cell) as f64 + 0.5) / self.per_cell as f64;
            let (cz, v) = (z / self.per_cell, middle(z));
            let place = |x| self.shape.place(ground, x / self.per_cell, cz, middle(x), v, curved);
            let places: Vec<Option<Place>> = (0..width).map(place).collect();
            let rules = self.rules.iter().enumerate().filter_map(|(i, r)| r.as_ref().map(|r| (i, r)));
            covers.extend(rules.map(|(i, rule)| (i, rule.covers(&places, z, self.per_cell))));
        }
        let mut near = vec![Near::FAR; width];
        covers.extend(self.lines.iter().map(|l| (l.layer, l.covers(self, z, &mut near))));
        covers
    }

    /// A texel's painted weights; the first layer where nothing is painted.
    fn paint(&self, texel: usize, weights: &mut [u32; MAX_LAYERS]) {
        let mut any = false;
        for (i, painted) in self.painted.iter().enumerate().filter(|(_, p)| !p.is_empty()) {
            weights[i] = u32::from(painted[texel]) * 257;
            any |= !self.alpha[i] && weights[i] > 0;
        }
        if !any {
            weights[0] = WHOLE;
        }
    }

    /// Lays a layer over the others.
    fn lay(&self, weights: &mut [u32; MAX_LAYERS], layer: usize, cover: u32) {
        if self.alpha[layer] {
            weights[layer] = weights[layer].max(cover * 257);
            return;
        }
        if cover == 0 {
            return;
        }
        if cover == 255 {
            weights.iter_mut().zip(&self.alpha).filter(|(_, alpha)| !**alpha).for_each(|(w, _)| *w = 0);
            weights[layer] = WHOLE;
            return;
        }
        for (w, _) in weights.iter_mut().zip(&self.alpha).filter(|(_, alpha)| !**alpha) {
            *w = *w * (255 - cover) / 255;
        }
        weights[layer] += cover * 257;
    }

    fn share(&self, weights: &[u32], out: &mut [u8]) {
        let mut shared = [0u32; MAX_LAYERS];
        for (i, &w) in weights.iter().enumerate().filter(|&(i, _)| !self.alpha[i]) {
            shared[i] = w;
        }
        apportion(&shared[..weights.len()], out);
        for (i, &w) in weights.iter().enumerate().filter(|&(i, _)| self.alpha[i]) {
            out[i] = (w / 257) as u8;
        }
    }
}

impl Painted {
    /// How much it covers of a row of texels.
    fn covers(&self, layers: &Layers, z: usize, near: &mut [Near]) -> Vec<u8> {
        let step = layers.shape.spacing_m / layers.per_cell as f64;
        let reach = self.half_m + self.fade_m;
        self.line.row((z as f64 + 0.5) * step, 0.5 * step, step, reach, near);
        let cover = |n: &Near| match n.distance2 {
            d if d.is_infinite() => 0,
            d if d <= self.half_m * self.half_m => 255,
            d => ((1.0 - (d.sqrt() - self.half_m) / self.fade_m).clamp(0.0, 1.0) * 255.0 + 0.5).floor() as u8,
        };
        near.iter().map(cover).collect()
    }
}

/// Adds four times a picture's values, or the sums of its four corners where it is a row and a column larger.
fn add_corners(sums: &mut [u16], plane: &[u8], width: usize, corners: bool) {
    for (i, sum) in sums.iter_mut().enumerate() {
        let (x, z) = (i % width, i / width);
        *sum += if corners {
            let at = |dx: usize, dz: usize| u16::from(plane[(z + dz) * (width + 1) + x + dx]);
            at(0, 0) + at(1, 0) + at(0, 1) + at(1, 1)
        } else {
            4 * u16::from(plane[i])
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn largest_remainders_share_out_255_and_leave_whole_weights_alone() {
        let share = |weights: &[u32]| {
            let mut out = vec![0; weights.len()];
            apportion(weights, &mut out);
            out
        };
        assert_eq!(share(&[1, 1, 1]), [85, 85, 85]);
        assert_eq!(share(&[0, 0]), [0, 0]);
        assert_eq!(share(&[200, 55]), [200, 55]);
        // 70 : 70 : 140 of 280: 63.75, 63.75, 127.5; two are left over.
        assert_eq!(share(&[70, 70, 140]), [64, 64, 127]);
        // 1 : 1 : 1 : 1 is 63.75 each; three left over go to the lower ids.
        assert_eq!(share(&[9, 9, 9, 9]), [64, 64, 64, 63]);
    }

    #[test]
    fn the_shape_of_a_bowl_is_known() {
        // h = (x² + z²) / 8 in metres, 2 m between samples: Laplacian 1/2 everywhere, gradient (x, z) / 4.
        let config = TerrainConfig::new([8, 8], 512);
        let quanta: Vec<i32> =
            (0..64).map(|i| 4 * ((i % 8) * (i % 8) + (i / 8) * (i / 8)) * 128 / 8).collect();
        let ground = Ground { z0: 0, width: 8, quanta };
        let place = Shape::new(&config).place(&ground, 3, 2, 0.5, 0.5, true).unwrap();
        assert!((place.curvature - 0.5).abs() < 1e-12, "{place:?}");
        let slope = ((7.0f64 / 4.0) * (7.0 / 4.0) + (5.0 / 4.0) * (5.0 / 4.0)).sqrt();
        assert!((place.rise - slope).abs() < 1e-9, "{place:?}");
        // The mean of 9 + 4, 16 + 4, 9 + 9 and 16 + 9 halves.
        assert_eq!(place.height, 9.5);
        // At the map's edge one axis is taken for straight: 1/4 at the edge, 1/2 inside.
        let edge = Shape::new(&config).place(&ground, 0, 3, 0.5, 0.5, true).unwrap();
        assert!((edge.curvature - 0.375).abs() < 1e-12, "{edge:?}");
    }

    #[test]
    fn slopes_without_an_arc_tangent_are_the_slopes_with_one() {
        for degrees in [(0.0, 30.0), (30.0, 90.0), (-5.0, 95.0), (44.999_999_5, 45.0), (10.0, 10.000_001)] {
            for soft in [0.0, 1e-7, 8.0, 200.0] {
                let steepness = Steepness::new(degrees, soft);
                for i in 0..20_000 {
                    let rise = f64::from(i) * f64::from(i) * 1e-6 + if i % 3 == 0 { 1.0 - 1e-9 } else { 0.0 };
                    let expected = inside(libm::atan(rise).to_degrees(), degrees, soft);
                    assert_eq!(steepness.share(rise), expected, "{degrees:?} {soft} {rise}");
                }
                // Right at the limits, where rounding decides.
                for at in [degrees.0 - soft / 2.0, degrees.0, degrees.1, degrees.1 + soft / 2.0] {
                    let rise = libm::tan(at.clamp(0.0, 89.9).to_radians());
                    for rise in [rise.next_down().max(0.0), rise, rise.next_up()] {
                        let expected = inside(libm::atan(rise).to_degrees(), degrees, soft);
                        assert_eq!(steepness.share(rise), expected, "{degrees:?} {soft} {rise}");
                    }
                }
            }
        }
    }
}
