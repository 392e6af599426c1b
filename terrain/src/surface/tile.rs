//! A resident block with one sample of its neighbours around it, so that every answer about its cells is its own.
//!
//! The apron holds copies of the neighbours' integers: samples from −1 to side + 1 and cells from −1 to side. So a
//! cell on the last column has its far samples, a contact on a border edge knows the true neighbouring triangle, and
//! shared edges agree by construction.

use super::{Block, Tri, Triangle};
use crate::config::{Diagonal, TerrainConfig};
use crate::coord::{BlockPos, BlockSide, CellPos, SamplePos};
use crate::height::VOID;
use crate::kernel::weight_mip::HdTexel;
use glam::DVec3;
use std::sync::Arc;

/// One block's surface.
#[derive(Clone, Debug, PartialEq)]
pub struct Tile {
    pos: BlockPos,
    side: BlockSide,
    diagonal: Diagonal,
    spacing_m: f64,
    quantum_m: f64,
    paint_per_cell: u8,
    /// (side + 3)² quanta, first at sample −1.
    heights: Box<[i32]>,
    /// (side + 2)² masks, first at cell −1.
    mask: Box<[u8]>,
    weights: Option<Arc<[HdTexel]>>,
    min_max: Option<(i32, i32)>,
}

impl Tile {
    /// Joins a block with what its neighbours hold. `neighbour` gives the blocks around it, `None` beyond the map.
    ///
    /// # Panics
    /// When a neighbour on the map is missing: residency waits for them.
    pub fn new<'a>(
        config: &TerrainConfig,
        block: &'a Block,
        neighbour: impl Fn(BlockPos) -> Option<&'a Block>,
    ) -> Self {
        let side = block.side();
        let n = side.samples();
        let first = side.first_sample(block.pos());
        let around: Vec<Option<&Block>> = block
            .pos()
            .neighbourhood()
            .map(|p| {
                let found = if p == block.pos() { Some(block) } else { neighbour(p) };
                assert!(found.is_some() || !config.has_block(side, p), "a tile needs block {p:?}");
                found
            })
            .collect();
        let mut heights = Vec::with_capacity(((n + 3) * (n + 3)) as usize);
        for z in -1..=n + 1 {
            append_row(&around, n, z, 2, VOID, Block::heights, &mut heights);
        }
        let mut mask = Vec::with_capacity(((n + 2) * (n + 2)) as usize);
        let e = config.extent;
        for z in -1..=n {
            let start = mask.len();
            append_row(&around, n, z, 1, 0, Block::mask, &mut mask);
            // Cells outside the extent show nothing.
            let inside = |x: i32| (x - first.x + 1).clamp(0, n + 2) as usize;
            let (from, to) =
                if (e.z0..e.z1).contains(&(first.z + z)) { (inside(e.x0), inside(e.x1)) } else { (0, 0) };
            mask[start..start + from].fill(0);
            mask[start + to.max(from)..].fill(0);
        }
        let mut tile = Self {
            pos: block.pos(),
            side,
            diagonal: config.diagonal,
            spacing_m: config.spacing_m(),
            quantum_m: config.quantum.metres(),
            paint_per_cell: config.paint_per_cell,
            heights: heights.into(),
            mask: mask.into(),
            weights: block.weights().cloned(),
            min_max: None,
        };
        tile.remove_voids();
        tile.min_max = tile.visible_min_max();
        tile
    }

    /// Stored masks leave out every triangle that touches a void, but a block is checked alone: one whose mask is wrong
    /// about its neighbours' samples must not turn "no sample" into a height.
    fn remove_voids(&mut self) {
        if !self.heights.contains(&VOID) {
            return;
        }
        let first = self.side.first_sample(self.pos);
        let n = self.side.samples();
        for z in -1..=n {
            for x in -1..=n {
                let cell = CellPos::new(first.x + x, first.z + z);
                let corners = self.corners(cell);
                if !corners.contains(&VOID) {
                    continue;
                }
                let anti = self.diagonal.is_anti(cell);
                let index = ((z + 1) * (n + 2) + x + 1) as usize;
                for t in Triangle::BOTH {
                    if t.corners(anti).iter().any(|&(dx, dz)| corners[(dx + 2 * dz) as usize] == VOID) {
                        self.mask[index] &= !t.bit();
                    }
                }
            }
        }
    }

    fn visible_min_max(&self) -> Option<(i32, i32)> {
        let first = self.side.first_sample(self.pos);
        let n = self.side.samples() as usize;
        let rows =
            |width: usize, count: usize| (1..=count).map(move |z| z * width + 1..z * width + 1 + count);
        if rows(n + 2, n).all(|row| self.mask[row].iter().all(|&m| m == 3)) {
            // Every triangle is visible, so every sample of the block and of its far edges is a corner.
            let mut samples = rows(n + 3, n + 1).flat_map(|row| self.heights[row].iter().copied());
            let start = samples.next()?;
            return Some(samples.fold((start, start), |(lo, hi), q| (lo.min(q), hi.max(q))));
        }
        let mut range: Option<(i32, i32)> = None;
        for z in 0..self.side.samples() {
            for x in 0..self.side.samples() {
                let cell = CellPos::new(first.x + x, first.z + z);
                let (mask, anti) = (self.cell_mask(cell), self.diagonal.is_anti(cell));
                for t in Triangle::BOTH.into_iter().filter(|t| mask & t.bit() != 0) {
                    for (dx, dz) in t.corners(anti) {
                        let q = self.quanta(cell.corner(dx, dz));
                        range = Some(range.map_or((q, q), |(lo, hi)| (lo.min(q), hi.max(q))));
                    }
                }
            }
        }
        range
    }

    /// Where it is.
    pub fn pos(&self) -> BlockPos {
        self.pos
    }

    /// Samples a side.
    pub fn side(&self) -> BlockSide {
        self.side
    }

    /// Lowest and highest corner of its visible triangles, in quanta; `None` when none is visible.
    pub fn min_max(&self) -> Option<(i32, i32)> {
        self.min_max
    }

    /// Raw quanta of a sample from −1 to side + 1 around the block; [`VOID`] where there is none.
    ///
    /// # Panics
    /// When the sample is further away.
    #[inline]
    pub fn quanta(&self, s: SamplePos) -> i32 {
        let first = self.side.first_sample(self.pos);
        let (x, z, n) = (s.x - first.x + 1, s.z - first.z + 1, self.side.samples() + 3);
        assert!(x >= 0 && z >= 0 && x < n && z < n, "sample {s:?} is not in tile {:?}", self.pos);
        self.heights[(z * n + x) as usize]
    }

    /// Quanta of a cell's corners [00, 10, 01, 11].
    #[inline]
    pub fn corners(&self, cell: CellPos) -> [i32; 4] {
        [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(dx, dz)| self.quanta(cell.corner(dx, dz)))
    }

    /// Visibility of a cell from −1 to side around the block, the extent applied.
    ///
    /// # Panics
    /// When the cell is further away.
    #[inline]
    pub fn cell_mask(&self, c: CellPos) -> u8 {
        let first = self.side.first_sample(self.pos);
        let (x, z, n) = (c.x - first.x + 1, c.z - first.z + 1, self.side.samples() + 2);
        assert!(x >= 0 && z >= 0 && x < n && z < n, "cell {c:?} is not in tile {:?}", self.pos);
        self.mask[(z * n + x) as usize]
    }

    /// Whether the cell is split along 10–01.
    #[inline]
    pub fn is_anti(&self, c: CellPos) -> bool {
        self.diagonal.is_anti(c)
    }

    /// A triangle in metres if it is visible; the cell is from −1 to side around the block.
    #[inline]
    pub fn triangle(&self, cell: CellPos, triangle: Triangle) -> Option<Tri> {
        if self.cell_mask(cell) & triangle.bit() == 0 {
            return None;
        }
        let vertices = triangle.corners(self.is_anti(cell)).map(|(dx, dz)| self.vertex(cell.corner(dx, dz)));
        Some(Tri { cell, triangle, vertices })
    }

    /// A sample in metres (exact); y is meaningless for a void.
    #[inline]
    pub fn vertex(&self, s: SamplePos) -> DVec3 {
        DVec3::new(
            f64::from(s.x) * self.spacing_m,
            f64::from(self.quanta(s)) * self.quantum_m,
            f64::from(s.z) * self.spacing_m,
        )
    }

    /// The stronger layer of the paint texel (mip 0) under a point of one of the block's own cells; fractions in
    /// lattice units of a cell whose side is `s`. Ties go to the smaller id; layer 0 without weights.
    pub fn layer(&self, cell: CellPos, fx: i64, fz: i64, s: i64) -> u8 {
        let Some(weights) = &self.weights else { return 0 };
        let ppc = i64::from(self.paint_per_cell);
        let first = self.side.first_sample(self.pos);
        let texel = |c: i32, f: i64| i64::from(c) * ppc + (f * ppc / s).min(ppc - 1);
        let (tx, tz) = (texel(cell.x - first.x, fx), texel(cell.z - first.z, fz));
        let width = i64::from(self.side.samples()) * ppc;
        if tx < 0 || tz < 0 || tx >= width || tz >= width {
            return 0;
        }
        weights[(tz * width + tx) as usize].dominant()
    }

    /// Bytes held in memory. Weights are the block's own and counted there.
    pub fn bytes(&self) -> usize {
        std::mem::size_of::<Self>() + self.heights.len() * 4 + self.mask.len()
    }
}

/// Appends one row around a block: one value of its west neighbour, its own `n`, and `east` of its east neighbour.
/// `around` holds the nine blocks in (z, x) order; what is beyond the map is `absent`.
fn append_row<T: Copy>(
    around: &[Option<&Block>],
    n: i32,
    z: i32,
    east: usize,
    absent: T,
    of: fn(&Block) -> &[T],
    into: &mut Vec<T>,
) {
    let (n, blocks) = (n as usize, &around[((z.div_euclid(n) + 1) * 3) as usize..][..3]);
    let start = z.rem_euclid(n as i32) as usize * n;
    for (block, columns) in blocks.iter().zip([n - 1..n, 0..n, 0..east]) {
        match block {
            Some(b) => into.extend_from_slice(&of(b)[start + columns.start..start + columns.end]),
            None => into.extend(columns.map(|_| absent)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Diagonal;
    use crate::coord::CellRect;
    use crate::store::{MemoryTerrain, Raster};

    /// Every sample, mask and range of every tile against the raster it was cut from, sizes that are no multiples of the
    /// block side included.
    #[test]
    fn tiles_hold_what_the_whole_raster_holds() {
        for (w, h, holes) in [(70, 45, false), (70, 45, true), (64, 64, false), (33, 97, true)] {
            let mut config = TerrainConfig::new([w, h], 256);
            config.diagonal = Diagonal::Checkerboard;
            config.extent = CellRect { x0: 1, z0: 2, x1: w as i32 - 3, z1: h as i32 - 1 };
            let mut heights: Vec<i32> = (0..(w * h) as i32).map(|i| i * 7919 % 4001 - 2000).collect();
            if holes {
                heights.iter_mut().step_by(97).for_each(|q| *q = VOID);
            }
            let raster = Raster::from_heights(config, heights);
            let terrain = MemoryTerrain::new(raster.clone(), BlockSide::S32);
            let ground = terrain.ground_all();
            for bz in 0..h.div_ceil(32) as i32 {
                for bx in 0..w.div_ceil(32) as i32 {
                    let tile = ground.tile(BlockPos::new(bx, bz)).unwrap();
                    let mut range: Option<(i32, i32)> = None;
                    for z in bz * 32 - 1..=bz * 32 + 33 {
                        for x in bx * 32 - 1..=bx * 32 + 33 {
                            let (s, c) = (SamplePos::new(x, z), CellPos::new(x, z));
                            assert_eq!(tile.quanta(s), raster.quanta(s), "{s:?}");
                            if x > bx * 32 + 32 || z > bz * 32 + 32 {
                                continue;
                            }
                            assert_eq!(tile.cell_mask(c), raster.cell_mask(c), "{c:?}");
                            if (bx * 32..bx * 32 + 32).contains(&x) && (bz * 32..bz * 32 + 32).contains(&z) {
                                for t in Triangle::BOTH {
                                    let Some(tri) = tile.triangle(c, t) else { continue };
                                    for y in tri.vertices.map(|v| (v.y * 128.0) as i32) {
                                        range = Some(range.map_or((y, y), |(a, b)| (a.min(y), b.max(y))));
                                    }
                                }
                            }
                        }
                    }
                    assert_eq!(tile.min_max(), range, "({bx}, {bz}) of {w}x{h}");
                }
            }
        }
    }

    #[test]
    fn a_mask_that_shows_a_triangle_over_a_neighbours_void_is_not_believed() {
        let config = TerrainConfig::new([64, 32], 256);
        let n = 32 * 32;
        let block = |x: i32, heights: Vec<i32>| {
            Block::new(BlockPos::new(x, 0), BlockSide::S32, heights.into(), vec![3; n].into(), None)
        };
        let mut void = vec![100; n];
        // The neighbour's sample (32, 7).
        void[7 * 32] = VOID;
        let (own, other) = (block(0, vec![100; n]), block(1, void));
        let tile = Tile::new(&config, &own, |p| (p == BlockPos::new(1, 0)).then_some(&other));
        // Main: cell (31, 6) has the void at 11, in both triangles; cell (31, 7) at 10, in triangle 0.
        assert_eq!(tile.cell_mask(CellPos::new(31, 6)), 0);
        assert_eq!(tile.cell_mask(CellPos::new(31, 7)), 2);
        assert_eq!(tile.cell_mask(CellPos::new(30, 7)), 3);
        assert_eq!(tile.min_max(), Some((100, 100)));
    }
}
