//! Blocks of level 0, cut out of a band.

use super::Band;
use crate::config::TerrainConfig;
use crate::content::PlaneKind;
use crate::coord::{BlockPos, BlockSide};
use crate::format::payload::{
    BlockBodies, BlockShape, Body, Ground, Section, encode_block, encode_each, encode_planes, pack_hd,
};
use crate::height::VOID;
use crate::kernel::normal;
use crate::kernel::weight_mip::HdTexel;
use rayon::prelude::*;

/// A square of `n` values a side out of rows of `width`, the `x`th from the west; `absent` beyond them.
pub(super) fn square<T: Copy>(rows: &[T], width: usize, x: usize, n: usize, absent: T) -> Vec<T> {
    let mut out = vec![absent; n * n];
    let (from, to) = ((x * n).min(width), ((x + 1) * n).min(width));
    for (row, into) in rows.chunks_exact(width).zip(out.chunks_exact_mut(n)) {
        into[..to - from].copy_from_slice(&row[from..to]);
    }
    out
}

/// The band's own rows: heights, and what is derived of its paint texels.
pub(super) struct Own<'a> {
    pub(super) heights: &'a [i32],
    pub(super) hd: Option<&'a [HdTexel]>,
    pub(super) normal_weights: Option<&'a [u16]>,
    pub(super) control: Option<&'a [[u8; 4]]>,
}

/// Cuts the blocks of level 0 out of a band.
pub(super) struct BlockCutter<'a> {
    pub(super) config: &'a TerrainConfig,
    pub(super) side: BlockSide,
    pub(super) kinds: &'a [PlaneKind],
    pub(super) slots: &'a [Section],
}

impl BlockCutter<'_> {
    pub(super) fn cut(&self, band: &Band, own: &Own, z: i32) -> Vec<BlockBodies> {
        let w = self.config.samples[0] as usize;
        let wanted = self.slots.contains(&Section::Normal);
        let normals = wanted.then(|| self.normals(band, own.heights.len() / w, z));
        (0..self.config.blocks(self.side)[0] as i32)
            .into_par_iter()
            .map(|x| self.block(band, own, normals.as_deref(), BlockPos::new(x, z)))
            .collect()
    }

    fn block(&self, band: &Band, own: &Own, normals: Option<&[[u8; 2]]>, pos: BlockPos) -> BlockBodies {
        let shape = BlockShape::new(self.config, self.side, 0, pos);
        let (w, n, x) = (self.config.samples[0] as usize, shape.n(), pos.x as usize);
        let per_cell = usize::from(self.config.paint_per_cell);
        let (tw, tn) = ((w - 1) * per_cell, n * per_cell);
        let ground = Ground {
            heights: square(own.heights, w, x, n, VOID),
            mask: if band.mask.is_empty() { vec![0; n * n] } else { square(&band.mask, w - 1, x, n, 0) },
        };
        let mut block = encode_block(&shape, &ground);
        for &section in &self.slots[2..] {
            let values = match section {
                Section::Hd => own.hd.map(|t| (3, pack_hd(&square(t, tw, x, tn, HdTexel::default())))),
                Section::Normal => normals.map(|v| (2, square(v, w, x, n, [0; 2]).as_flattened().to_vec())),
                Section::NormalWeight => own
                    .normal_weights
                    .map(|t| (2, square(t, tw, x, tn, 0).iter().flat_map(|t| t.to_le_bytes()).collect())),
                Section::Control => {
                    own.control.map(|t| (4, square(t, tw, x, tn, [0; 4]).as_flattened().to_vec()))
                }
                _ => None,
            };
            block.bodies.push(match values {
                Some((bytes, values)) => encode_each(section, bytes, values),
                None => self.planes(&shape, section, band, x),
            });
        }
        block
    }

    fn planes(&self, shape: &BlockShape, section: Section, band: &Band, x: usize) -> Body {
        let of = |(kind, values): (&PlaneKind, &Vec<u8>)| {
            let (s, index) = Section::of_plane(*kind);
            if s != section {
                return None;
            }
            let lattice = kind.lattice();
            let n = shape.n() * lattice.per_cell(self.config) as usize;
            let width = lattice.size(self.config)[0] as usize;
            let plane = if kind.bytes() == 4 {
                square(values.as_chunks::<4>().0, width, x, n, [0; 4]).as_flattened().to_vec()
            } else if values.is_empty() {
                vec![0; n * n]
            } else {
                square(values, width, x, n, 0)
            };
            Some((index, plane))
        };
        let planes: Vec<(u8, Vec<u8>)> = self.kinds.iter().zip(&band.planes).filter_map(of).collect();
        encode_planes(shape, section, &planes)
    }

    /// Normals of the band's own rows.
    fn normals(&self, band: &Band, rows: usize, z: i32) -> Vec<[u8; 2]> {
        let w = self.config.samples[0] as usize;
        let before = usize::from(z > 0);
        let all = band.heights.len() / w;
        let row = |i: usize| &band.heights[i * w..(i + 1) * w];
        let mut out = vec![[0; 2]; rows * w];
        out.par_chunks_mut(w).enumerate().for_each(|(i, out)| {
            let at = before + i;
            let above = (at > 0).then(|| row(at - 1));
            let below = (at + 1 < all).then(|| row(at + 1));
            normal::row(above, row(at), below, self.config.spacing_256, self.config.quantum, out);
        });
        out
    }
}
