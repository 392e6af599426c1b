//! Steps that need no other source.

use super::{Made, Stages};
use crate::cook::error::CookError;
use crate::cook::field::Field;
use crate::cook::plan::{Step, crop_inside};
use crate::cook::spline::Strip;
use rayon::prelude::*;
use std::collections::BTreeSet;

impl Stages<'_> {
    /// Does one step; `held` bytes are in use beside the field itself.
    pub(super) fn step(&self, step: &Step, at: &str, made: &mut Made, held: u64) -> Result<(), CookError> {
        let rule = |e: String| self.rule(format!("{at}: {e}"));
        let hear = self.watch;
        let watch = |done, total| hear(at, done, total);
        match step {
            Step::Crop { x, z, w, h } => {
                let own = super::field_bytes(made.field.size());
                self.admit(at, [*w, *h], held + own)?;
                made.field = crop(&made.field, [*x, *z], [*w, *h]).map_err(rule)?;
                made.holes.retain(|c| (*x..x + w - 1).contains(&c[0]) && (*z..z + h - 1).contains(&c[1]));
                made.holes.iter_mut().for_each(|c| *c = [c[0] - x, c[1] - z]);
                let s = made.field.spacing_m();
                move_strips(&mut made.strips, -f64::from(*x) * s, -f64::from(*z) * s);
            }
            Step::Scale(factor) => {
                every(&mut made.field, |m| m * factor);
                heights(&mut made.strips, |m| m * factor);
            }
            Step::Offset(metres) => {
                every(&mut made.field, |m| m + metres);
                heights(&mut made.strips, |m| m + metres);
            }
            Step::Clamp { min_m, max_m } => every(&mut made.field, |m| m.clamp(*min_m, *max_m)),
            Step::Terraces(t) => every(&mut made.field, |m| t.apply(m)),
            Step::Resample { spacing_m } => {
                let spacing = self.spacing(*spacing_m)?;
                let size = resampled_size(&made.field, spacing).map_err(rule)?;
                self.admit(at, size, held + super::field_bytes(made.field.size()))?;
                let old = made.field.spacing_256();
                made.field = resample(&made.field, size, spacing);
                made.holes = resampled_holes(&made.holes, size, old, spacing);
            }
            Step::Thermal(t) => t.apply(&mut made.field, &watch).map_err(rule)?,
            Step::Hydraulic(h) => h.apply(&mut made.field, &watch).map_err(rule)?,
            Step::Road(r) => made.strips.push(r.apply(&mut made.field).map_err(rule)?),
            Step::River(r) => made.strips.push(r.apply(&mut made.field).map_err(rule)?),
            Step::Blend { over, mask, how } => {
                let own = super::field_bytes(made.field.size());
                let other = self.make(&over.source, &over.steps, &format!("{at}.over."), held + own)?;
                self.blend(made, other, mask, *how, at)?;
            }
        }
        made.field.check().map_err(rule)
    }
}

/// Changes every height; voids are NaN and stay so.
fn every(field: &mut Field, change: impl Fn(f64) -> f64 + Sync) {
    let width = field.width();
    field.metres_mut().par_chunks_mut(width).for_each(|row| {
        row.iter_mut().filter(|m| !m.is_nan()).for_each(|m| *m = change(*m));
    });
}

fn heights(strips: &mut [Strip], change: impl Fn(f64) -> f64) {
    for level in strips.iter_mut().filter_map(|s| s.level.as_mut()) {
        level.heights_m.iter_mut().for_each(|h| *h = change(*h));
    }
}

/// Moves strips over the ground.
pub(super) fn move_strips(strips: &mut [Strip], dx: f64, dz: f64) {
    strips.iter_mut().flat_map(|s| &mut s.points).for_each(|p| *p = [p[0] + dx, p[1] + dz]);
}

fn crop(field: &Field, [x, z]: [u32; 2], [w, h]: [u32; 2]) -> Result<Field, String> {
    crop_inside(field.size(), [x, z], [w, h])?;
    let mut out = Vec::with_capacity(w as usize * h as usize);
    for row in field.metres().chunks_exact(field.width()).skip(z as usize).take(h as usize) {
        out.extend_from_slice(&row[x as usize..(x + w) as usize]);
    }
    Ok(Field::new([w, h], field.spacing_256(), out))
}

/// Columns and rows at another spacing: as many as lie over the same ground.
fn resampled_size(field: &Field, spacing_256: u32) -> Result<[u32; 2], String> {
    let n = |n: u32| u64::from(n - 1) * u64::from(field.spacing_256()) / u64::from(spacing_256) + 1;
    let [w, h] = field.size().map(n);
    match (u32::try_from(w), u32::try_from(h)) {
        (Ok(w), Ok(h)) => Ok([w, h]),
        _ => Err(format!("{w}x{h} samples are more than a terrain may have")),
    }
}

fn resample(field: &Field, size: [u32; 2], spacing_256: u32) -> Field {
    let mut out = Field::level(size, spacing_256, 0.0);
    let (width, s) = (out.width(), out.spacing_m());
    out.metres_mut().par_chunks_mut(width).enumerate().for_each(|(z, row)| {
        for (x, m) in row.iter_mut().enumerate() {
            *m = field.sample(x as f64 * s, z as f64 * s).unwrap_or(f64::NAN);
        }
    });
    out
}

/// Holes on another lattice: a cell is one when the cell under its middle was.
fn resampled_holes(holes: &[[u32; 2]], size: [u32; 2], from_256: u32, to_256: u32) -> Vec<[u32; 2]> {
    if holes.is_empty() {
        return Vec::new();
    }
    let old: BTreeSet<[u32; 2]> = holes.iter().copied().collect();
    // The middle of cell x is at (2x + 1) · to / 2.
    let under = |x: u32| ((2 * u64::from(x) + 1) * u64::from(to_256) / (2 * u64::from(from_256))) as u32;
    let rows = (0..size[1] - 1).into_par_iter().map(|z| {
        let cells = (0..size[0] - 1).filter(|&x| old.contains(&[under(x), under(z)]));
        cells.map(|x| [x, z]).collect::<Vec<_>>()
    });
    rows.collect::<Vec<_>>().concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resampling_keeps_planes_and_never_blends_voids() {
        // A plane of 3 m a metre along x and −1 along z, 2 m between samples, with a void at (2, 1).
        let plane = |x: f64, z: f64| 3.0 * x - z;
        let mut field = Field::level([5, 4], 512, 0.0);
        (0..20).for_each(|i| field.metres_mut()[i] = plane((i % 5) as f64 * 2.0, (i / 5) as f64 * 2.0));
        field.metres_mut()[7] = f64::NAN;
        let size = resampled_size(&field, 128).unwrap();
        assert_eq!(size, [17, 13]);
        let out = resample(&field, size, 128);
        for z in 0..13 {
            for x in 0..17 {
                let m = out.at(x, z);
                let near = (x as f64 * 0.5 - 4.0).abs() < 2.0 && (z as f64 * 0.5 - 2.0).abs() < 2.0;
                if near {
                    assert!(m.is_nan(), "({x}, {z})");
                } else {
                    assert!((m - plane(x as f64 * 0.5, z as f64 * 0.5)).abs() < 1e-12, "({x}, {z})");
                }
            }
        }
        assert_eq!(resample(&field, field.size(), 512), field);
        assert!(resampled_size(&Field::level([2, 131_072], 65_536, 0.0), 1).is_err());
    }

    #[test]
    fn a_crop_beyond_the_field_is_refused() {
        let field = Field::new([3, 2], 256, vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(crop(&field, [1, 0], [2, 2]).unwrap().metres(), [1.0, 2.0, 4.0, 5.0]);
        for (at, size) in [([2, 0], [2, 2]), ([0, 1], [2, 2]), ([u32::MAX, 0], [2, 2])] {
            assert!(crop(&field, at, size).is_err());
        }
    }
}
