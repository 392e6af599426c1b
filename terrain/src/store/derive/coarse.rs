//! Coarse levels: the samples and mips that they keep, and the nodes that skip something.

use super::blocks::square;
use super::{Deriver, Sink};
use crate::content::Lattice;
use crate::coord::BlockPos;
use crate::format::payload::{BlockShape, Ground, Section, SkipNodes, encode_block, encode_each};
use crate::height::VOID;
use crate::kernel::pyramid;
use crate::kernel::pyramid::skip::{NODE_AREA, SkipBuilder};
use crate::kernel::weight_mip::{self, Encoding};
use rayon::prelude::*;

impl Deriver<'_> {
    /// Hands rows of the level below to a coarse level, whose even ones it keeps.
    pub(super) fn coarser<S: Sink>(
        &mut self,
        level: u8,
        below: &[i32],
        texels_below: [Option<Vec<u8>>; 2],
        sink: &mut S,
    ) -> Result<(), S::Error> {
        let Some(l) = self.levels.get_mut(usize::from(level) - 1) else { return Ok(()) };
        let n = self.side.samples() as usize;
        let (below_w, below_tw) = if level == 1 {
            (self.config.samples[0] as usize, Lattice::Paint.size(&self.config)[0] as usize)
        } else {
            let w = self.config.samples[0].div_ceil(1 << (level - 1)) as usize;
            (w, Lattice::Paint.size(&self.config)[0].div_ceil(1 << (level - 1)) as usize)
        };
        for row in below.chunks_exact(below_w).step_by(2) {
            l.heights.extend(row.iter().step_by(2));
        }
        let [hd, normal] = texels_below;
        for (encoding, below, into) in
            [(Encoding::Hd, hd, &mut l.hd), (Encoding::Normal, normal, &mut l.normal_weights)]
        {
            let Some(below) = below.filter(|b| !b.is_empty()) else { continue };
            let size = [below_tw as u32, (below.len() / encoding.texel_bytes() / below_tw) as u32];
            let [w, h] = weight_mip::mip_size(size);
            let at = into.len();
            into.resize(at + w as usize * h as usize * encoding.texel_bytes(), 0);
            weight_mip::downsample(encoding, size, &below, &mut into[at..])
                .expect("the lengths are those of the sizes");
        }
        let (have, through) = (l.heights.len() / l.samples[0], l.next as usize * n);
        if have < n && through + have < l.samples[1] {
            return Ok(());
        }
        let heights = std::mem::take(&mut l.heights);
        let (hd, normal_weights) = (std::mem::take(&mut l.hd), std::mem::take(&mut l.normal_weights));
        let (z, samples, texels) = (l.next, l.samples, l.texels);
        l.next += 1;
        let slots = self.layout.slots(level);
        let per_cell = usize::from(self.config.paint_per_cell);
        let blocks = (0..self.layout.grid(level)[0] as i32)
            .into_par_iter()
            .map(|x| {
                let shape = BlockShape::new(&self.config, self.side, level, BlockPos::new(x, z));
                let ground =
                    Ground { heights: square(&heights, samples[0], x as usize, n, VOID), mask: Vec::new() };
                let mut block = encode_block(&shape, &ground);
                if slots.contains(&Section::Hd) {
                    let (all, _) = hd.as_chunks::<3>();
                    let part = square(all, texels[0], x as usize, n * per_cell, [0; 3]);
                    block.bodies.push(encode_each(Section::Hd, 3, part.as_flattened().to_vec()));
                }
                if slots.contains(&Section::NormalWeight) {
                    let (all, _) = normal_weights.as_chunks::<2>();
                    let part = square(all, texels[0], x as usize, n * per_cell, [0; 2]);
                    block.bodies.push(encode_each(Section::NormalWeight, 2, part.as_flattened().to_vec()));
                }
                block
            })
            .collect();
        sink.blocks(level, z, blocks)?;
        self.coarser(level + 1, &heights, [Some(hd), Some(normal_weights)], sink)
    }
}

/// The nodes above level 0 that skip something. Only those over something removed are looked at.
pub(super) fn skip_nodes(cells: [u32; 2], whole: &[bool], skips: SkipBuilder) -> SkipNodes {
    let skips = skips.finish();
    let mut nodes = SkipNodes::new();
    let mut below = whole.to_vec();
    for level in 1..pyramid::levels(cells) {
        let ([bw, bh], [w, h]) = (pyramid::nodes(cells, level - 1), pyramid::nodes(cells, level));
        let all = |x: u32, z: u32| {
            let child = |i: u32| {
                let (x, z) = (2 * x + i % 2, 2 * z + i / 2);
                x < bw && z < bh && below[(z * bw + x) as usize]
            };
            (0..4).all(child)
        };
        let own: Vec<bool> = (0..w * h).map(|i| all(i % w, i / w)).collect();
        let found: Vec<_> = (0..w * h)
            .into_par_iter()
            .filter(|&i| !own[i as usize])
            .map(|i| (i, skips.node(level, [i % w, i / w])))
            .filter(|(_, mask)| mask.iter().any(|&m| m != 0))
            .collect();
        for (i, mask) in found {
            let mut packed = [0; NODE_AREA / 4];
            packed.iter_mut().zip(mask.chunks_exact(4)).for_each(|(p, m)| {
                *p = m[0] | m[1] << 2 | m[2] << 4 | m[3] << 6;
            });
            nodes.insert((level as u8, i), packed);
        }
        below = own;
    }
    nodes
}
