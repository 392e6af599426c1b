//! A terrain as bands of rows, one after the other: out of memory, or out of a payload's blocks.

use super::error::FolderError;
use crate::content::{Lattice, PlaneKind};
use crate::coord::BlockPos;
use crate::height::{HEIGHT_LIMIT, VOID};
use crate::store::{BlockSource, PayloadFile, Raster, TerrainRows};
use rayon::prelude::*;

/// Rows of a whole terrain.
pub(super) struct Band {
    /// Its first row of samples, and of cells.
    pub(super) first: u32,
    /// Its rows of samples, and the one after them where there is one.
    pub(super) heights: Vec<i32>,
    /// How many of the heights are its own.
    pub(super) own: usize,
    /// Its rows of cells.
    pub(super) mask: Vec<u8>,
    /// Its rows of each plane.
    pub(super) planes: Vec<Vec<u8>>,
}

impl Band {
    pub(super) fn own_heights(&self) -> &[i32] {
        &self.heights[..self.own]
    }
}

/// Gives every band of a terrain once, in order.
pub(super) trait Bands {
    fn next(&mut self) -> Result<Option<Band>, FolderError>;
}

/// Rows a band of a terrain in memory.
const ROWS: u32 = 64;

pub(super) struct RasterBands<'a> {
    pub(super) raster: &'a Raster,
    pub(super) next: u32,
}

impl Bands for RasterBands<'_> {
    fn next(&mut self) -> Result<Option<Band>, FolderError> {
        let raster = self.raster;
        let [w, h] = raster.config.samples;
        let (from, to) = (self.next, (self.next + ROWS).min(h));
        if from >= h {
            return Ok(None);
        }
        self.next = to;
        let rows = |n: u32| n as usize * w as usize;
        let heights = raster.heights[rows(from)..rows((to + 1).min(h))].to_vec();
        let (cells, cell_to) = (w as usize - 1, to.min(h - 1));
        let mask = raster.mask[from as usize * cells..cell_to as usize * cells].to_vec();
        let planes = raster.planes.iter().map(|p| {
            let lattice = p.kind.lattice();
            let (per, all) = (lattice.per_cell(&raster.config), lattice.size(&raster.config)[1]);
            let (from, to) = ((from * per).min(all), (to * per).min(all));
            let mut out = vec![0; (to - from) as usize * p.kind.row_bytes(&raster.config)];
            raster.plane(p.kind, from..to, &mut out);
            out
        });
        Ok(Some(Band { first: from, own: rows(to - from), heights, mask, planes: planes.collect() }))
    }
}

/// The planes that a payload says it has.
pub(super) fn payload_kinds(file: &PayloadFile) -> Vec<PlaneKind> {
    let info = file.info();
    let mut kinds: Vec<PlaneKind> = if info.sections.is_empty() {
        // Version 1 knows weights only.
        (0..info.catalogue.layers.len() as u8).map(PlaneKind::Weight).collect()
    } else {
        let of = |s: &crate::format::payload::SectionEntry| s.section.planes(s.planes, &info.catalogue);
        info.sections.iter().filter(|s| s.planes != 0).filter_map(of).flatten().collect()
    };
    kinds.sort();
    kinds
}

/// Bands of a payload: a row of blocks each, holding two.
pub(super) struct PayloadBands<'a> {
    file: &'a PayloadFile,
    kinds: &'a [PlaneKind],
    next: u32,
    ahead: Option<Band>,
}

impl<'a> PayloadBands<'a> {
    pub(super) fn new(file: &'a PayloadFile, kinds: &'a [PlaneKind]) -> Self {
        Self { file, kinds, next: 0, ahead: None }
    }

    fn read(&mut self) -> Result<Option<Band>, FolderError> {
        let (config, side) = (self.file.config(), self.file.block_side());
        let [across, down] = config.blocks(side);
        let z = self.next;
        if z >= down {
            return Ok(None);
        }
        self.next += 1;
        let blocks: Vec<_> = (0..across as i32)
            .into_par_iter()
            .map(|x| self.file.read_content(BlockPos::new(x, z as i32)))
            .collect::<Result<_, _>>()?;
        // A block's side, and columns and rows of the band, on a lattice.
        let shape = |lattice: Lattice| {
            let (n, all) = (side.samples() as u32 * lattice.per_cell(config), lattice.size(config));
            (n as usize, all[0] as usize, all[1].saturating_sub(z * n).min(n) as usize)
        };
        let (n, w, h) = shape(Lattice::Samples);
        let mut heights = vec![VOID; w * h];
        let (cn, cw, ch) = shape(Lattice::Cells);
        let mut mask = vec![0; cw * ch];
        let empty = |k: &PlaneKind| {
            let (_, w, h) = shape(k.lattice());
            vec![0; w * h * k.bytes()]
        };
        let mut planes: Vec<Vec<u8>> = self.kinds.iter().map(empty).collect();
        for (x, block) in blocks.iter().enumerate() {
            lay(&block.heights, n, x, &mut heights, w);
            lay(&block.mask, cn, x, &mut mask, cw);
            for (kind, values) in &block.planes {
                // The head's planes are what a folder is made of; a block with another one is for `verify` to find.
                let Ok(i) = self.kinds.binary_search(kind) else { continue };
                let (n, w, _) = shape(kind.lattice());
                lay(values, n * kind.bytes(), x, &mut planes[i], w * kind.bytes());
            }
        }
        let band = Band { first: z * n as u32, own: heights.len(), heights, mask, planes };
        self.check(&band).map(|()| Some(band))
    }

    /// Refuses what no pixel stands for: `verify` says more of such a file.
    fn check(&self, band: &Band) -> Result<(), FolderError> {
        let tall = |q: i32| q != VOID && q.unsigned_abs() >= HEIGHT_LIMIT as u32;
        let mut good = !band.heights.iter().any(|&q| tall(q)) && band.mask.iter().all(|&m| m < 4);
        for (kind, values) in self.kinds.iter().zip(&band.planes) {
            let depth = |b: &[u8; 4]| u32::from_le_bytes(*b) < HEIGHT_LIMIT as u32;
            good &= match kind {
                PlaneKind::WaterDepth => values.as_chunks::<4>().0.iter().all(depth),
                PlaneKind::PhysicalHole => values.iter().all(|&v| v < 4),
                _ => true,
            };
        }
        let message = format!("rows {} and on hold values beyond their limits: run verify on it", band.first);
        if good { Ok(()) } else { Err(super::error::rule(std::path::Path::new("the payload"), message)) }
    }
}

impl Bands for PayloadBands<'_> {
    fn next(&mut self) -> Result<Option<Band>, FolderError> {
        let mut band = match self.ahead.take() {
            Some(band) => band,
            None => match self.read()? {
                Some(band) => band,
                None => return Ok(None),
            },
        };
        self.ahead = self.read()?;
        if let Some(below) = &self.ahead {
            band.heights.extend_from_slice(&below.heights[..self.file.config().samples[0] as usize]);
        }
        Ok(Some(band))
    }
}

/// Lays a block's square into rows of `width`, as far as it lies in them.
fn lay<T: Copy>(block: &[T], n: usize, x: usize, rows: &mut [T], width: usize) {
    let (from, to) = ((x * n).min(width), ((x + 1) * n).min(width));
    for (row, line) in rows.chunks_exact_mut(width.max(1)).zip(block.chunks(n)) {
        row[from..to].copy_from_slice(&line[..to - from]);
    }
}
