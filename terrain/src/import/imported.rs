//! An imported source as rows of a terrain: the raw samples are kept, and quanta, visibility and weights are made from
//! them as they are asked for.

use super::georef::Squares;
use super::quantise::Plan;
use super::{Grid, ImportError, Origin};
use crate::config::TerrainConfig;
use crate::content::{Catalogue, Layer, MAX_LAYERS, PlaneKind};
use crate::coord::CellPos;
use crate::height::QuantumLog2;
use crate::kernel::weights::normalise_255;
use crate::store::TerrainRows;
use crate::surface::Triangle;
use rayon::prelude::*;
use std::ops::Range;

/// A terrain that is still its source. It holds the raw samples in their own type and one bit a sample for voids (none
/// while nothing is void), and little else.
#[derive(Clone, Debug)]
pub struct ImportedRows {
    pub(super) config: TerrainConfig,
    pub(super) catalogue: Catalogue,
    pub(super) origin: Origin,
    pub(super) grid: Grid,
    pub(super) plan: Plan,
    pub(super) squares: Option<Squares>,
    /// One byte a cell of the whole source, nonzero = removed; empty when none is.
    pub(super) hole_cells: Vec<u8>,
    /// One byte a paint texel for every layer of the catalogue.
    pub(super) weights: Vec<Vec<u8>>,
}

impl ImportedRows {
    /// Where it came from.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The largest rounding error in metres.
    pub fn rounding_m(&self) -> f64 {
        self.plan.rounding_m
    }

    /// k.
    pub fn quantum(&self) -> QuantumLog2 {
        self.plan.quantum
    }

    fn is_void(&self, x: u32, z: u32) -> bool {
        match &self.squares {
            None => self.grid.is_void(x, z),
            Some(squares) => squares.at(&self.grid, x, z).is_nan(),
        }
    }

    /// Whether the source removes a cell. A resampled cell goes with any source cell that it touches.
    fn is_removed(&self, x: u32, z: u32) -> bool {
        if self.hole_cells.is_empty() {
            return false;
        }
        let [columns, rows] = source_cells(self.squares.as_ref(), x, z);
        let ([x, z], width) = (self.grid.source_sample(0, 0), self.grid.whole()[0] as usize - 1);
        rows.into_iter().any(|row| {
            columns
                .clone()
                .any(|column| self.hole_cells[(z + row) as usize * width + (x + column) as usize] != 0)
        })
    }

    /// Cells (column, row) that the source itself says are holes, whatever their heights; by rows.
    pub(crate) fn removed_cells(&self) -> Vec<[u32; 2]> {
        if self.hole_cells.is_empty() {
            return Vec::new();
        }
        let [w, h] = self.config.samples.map(|n| n - 1);
        let row = |z: u32| (0..w).filter(move |&x| self.is_removed(x, z)).map(move |x| [x, z]);
        (0..h).flat_map(row).collect()
    }

    fn mask_row(&self, z: u32, out: &mut [u8]) {
        let w = self.config.samples[0];
        let voids: [Vec<bool>; 2] = [z, z + 1].map(|z| (0..w).map(|x| self.is_void(x, z)).collect());
        for (x, mask) in out.iter_mut().enumerate() {
            let cell = CellPos::new(x as i32, z as i32);
            *mask = 0;
            if self.is_removed(x as u32, z) {
                continue;
            }
            for triangle in Triangle::BOTH {
                let corners = triangle.corners(self.config.diagonal.is_anti(cell));
                let whole = corners.iter().all(|&(dx, dz)| !voids[dz as usize][x + dx as usize]);
                *mask |= u8::from(whole) << triangle.index();
            }
        }
    }
}

/// The source's cells (from the crop's corner) that a cell touches.
fn source_cells(squares: Option<&Squares>, x: u32, z: u32) -> [std::ops::RangeInclusive<u32>; 2] {
    squares.map_or([x..=x, z..=z], |s| s.source_cells(x, z))
}

impl TerrainRows for ImportedRows {
    fn config(&self) -> &TerrainConfig {
        &self.config
    }

    fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    fn plane_kinds(&self) -> Vec<PlaneKind> {
        (0..self.weights.len()).map(|id| PlaneKind::Weight(id as u8)).collect()
    }

    fn heights(&self, rows: Range<u32>, out: &mut [i32]) {
        let width = self.config.samples[0] as usize;
        out.par_chunks_mut(width).zip(rows).for_each(|(line, z)| {
            self.plan.row(&self.grid, self.squares.as_ref(), z, line);
        });
    }

    fn mask(&self, rows: Range<u32>, out: &mut [u8]) {
        if !self.grid.any_void() && self.hole_cells.is_empty() {
            out.fill(3);
            return;
        }
        let width = self.config.samples[0] as usize - 1;
        out.par_chunks_mut(width).zip(rows).for_each(|(line, z)| self.mask_row(z, line));
    }

    fn plane(&self, kind: PlaneKind, rows: Range<u32>, out: &mut [u8]) {
        match kind {
            PlaneKind::Weight(id) if usize::from(id) < self.weights.len() => {
                let width = self.config.samples[0] as usize - 1;
                let cells = rows.start as usize * width..rows.end as usize * width;
                out.copy_from_slice(&self.weights[usize::from(id)][cells]);
            }
            _ => out.fill(0),
        }
    }
}

/// A source's painted layers as weights of cells that sum to 255: a cell's weight is the mean of its corners' (of the
/// source cell under its first corner, where the heights are resampled). Says what was done.
///
/// # Errors
/// More layers than a terrain may have, or names that no catalogue takes.
pub(super) fn weights(
    layers: Vec<(String, Vec<u8>)>,
    grid: &Grid,
    squares: Option<&Squares>,
    notes: &mut Vec<String>,
) -> Result<(Catalogue, Vec<Vec<u8>>), ImportError> {
    if layers.is_empty() {
        return Ok((Catalogue::default(), Vec::new()));
    }
    if layers.len() > MAX_LAYERS {
        return Err(ImportError::source(format!(
            "expected at most {MAX_LAYERS} painted layers, found {}",
            layers.len()
        )));
    }
    let named = layers.iter().map(|(name, _)| Layer::named(name)).collect();
    let catalogue = Catalogue { layers: named, ..Catalogue::default() };
    catalogue.check().map_err(|e| ImportError::source(format!("painted layers: {e}")))?;
    let [w, h] = squares.map_or([grid.width(), grid.height()], Squares::samples).map(|n| n - 1);
    let mut planes = vec![vec![0; w as usize * h as usize]; layers.len()];
    let (whole, mut changed, mut texel) = (grid.whole()[0] as usize, 0u64, vec![0u8; layers.len()]);
    for z in 0..h {
        for x in 0..w {
            let [columns, rows] = source_cells(squares, x, z);
            let [column, row] = grid.source_sample(*columns.start(), *rows.start());
            let at = row as usize * whole + column as usize;
            for (weight, (_, samples)) in texel.iter_mut().zip(&layers) {
                let sum: u32 =
                    [at, at + 1, at + whole, at + whole + 1].iter().map(|&i| u32::from(samples[i])).sum();
                *weight = ((sum + 2) / 4) as u8;
            }
            changed += u64::from(normalise_255(&mut texel));
            let to = z as usize * w as usize + x as usize;
            planes.iter_mut().zip(&texel).for_each(|(plane, &weight)| plane[to] = weight);
        }
    }
    notes.push(format!(
        "{} painted layers: the weights of a cell are the means of its corners'",
        layers.len()
    ));
    if changed > 0 {
        notes.push(format!(
            "the weights of {changed} cells did not sum to 255 and were normalised by largest remainders"
        ));
    }
    Ok((catalogue, planes))
}
