//! A resident block with one sample of its neighbours around it, so that every answer about its cells is its own.
//!
//! The apron holds copies of the neighbours' integers: samples from −1 to side + 1 and cells from −1 to side. So a
//! cell on the last column has its far samples, a contact on a border edge knows the true neighbouring triangle, and
//! shared edges agree by construction.

use super::heights::Heights;
use super::planes::NotLoaded;
use super::{Block, BlockPlanes, Tri, Triangle};
use crate::config::{Diagonal, TerrainConfig};
use crate::content::PlaneKind;
use crate::coord::{BlockPos, BlockSide, CellPos, CellRect, SamplePos};
use crate::height::VOID;
use crate::kernel::normal::slope2;
use crate::kernel::weight_mip::HdTexel;
use glam::DVec3;
use std::sync::Arc;

/// One block's surface: 16-bit samples and two bits a cell where that is enough, nothing for cells where everything is
/// visible, and the ranges of heights that rays walk over.
#[derive(Clone, Debug, PartialEq)]
pub struct Tile {
    pos: BlockPos,
    side: BlockSide,
    diagonal: Diagonal,
    paint_per_cell: u8,
    /// Cells outside it show nothing: beyond the extent, the map or the apron.
    shown: CellRect,
    spacing_m: f64,
    quantum_m: f64,
    /// Samples and quanta that the terrain is placed by: [x, y, z].
    placement: [i32; 3],
    min_max: Option<(i32, i32)>,
    /// (side + 3)² samples, first at sample −1.
    heights: Heights,
    /// (side + 2)² cells, first at cell −1, four a byte; absent when all of `shown` is whole.
    mask: Option<Box<[u8]>>,
    weights: Option<Arc<[HdTexel]>>,
    planes: BlockPlanes,
    water: Water,
}

/// Water over the samples 0 ..= side.
#[derive(Clone, Debug, PartialEq)]
enum Water {
    NotLoaded,
    Dry,
    /// (side + 1)² depths in quanta.
    Depths(Box<[u32]>),
}

impl Tile {
    /// Whether it is of a terrain of this configuration.
    pub fn is_of(&self, config: &TerrainConfig) -> bool {
        let placement = [config.placement.x, config.placement.y, config.placement.z];
        self.diagonal == config.diagonal
            && self.paint_per_cell == config.paint_per_cell
            && self.spacing_m == config.spacing_m()
            && self.quantum_m == config.quantum.metres()
            && self.placement == placement
    }

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
        let mut around = [None; 9];
        for (p, around) in block.pos().neighbourhood().zip(&mut around) {
            *around = if p == block.pos() { Some(block) } else { neighbour(p) };
            assert!(around.is_some() || !config.has_block(side, p), "a tile needs block {p:?}");
        }
        let mut quanta = Vec::with_capacity(((n + 3) * (n + 3)) as usize);
        for z in -1..=n + 1 {
            append_row(&around, n, z, 2, VOID, Block::heights, &mut quanta);
        }
        let [cells_x, cells_z] = config.cells();
        let e = config.extent;
        let shown = CellRect {
            x0: e.x0.max(first.x - 1),
            z0: e.z0.max(first.z - 1),
            x1: e.x1.min(cells_x).min(first.x + n + 1),
            z1: e.z1.min(cells_z).min(first.z + n + 1),
        };
        let mut tile = Self {
            pos: block.pos(),
            side,
            diagonal: config.diagonal,
            paint_per_cell: config.paint_per_cell,
            shown,
            spacing_m: config.spacing_m(),
            quantum_m: config.quantum.metres(),
            placement: [config.placement.x, config.placement.y, config.placement.z],
            min_max: None,
            heights: Heights::of(&quanta),
            mask: None,
            weights: block.weights().cloned(),
            planes: block.planes().clone(),
            water: join_water(&around, n),
        };
        tile.mask = tile.joined_mask(&around, &quanta);
        tile.min_max = tile.make_ranges();
        tile
    }

    /// The masks of the apron's cells, packed; `None` when all that may be shown is whole.
    ///
    /// Stored masks leave out every triangle that touches a void, but a block is checked alone: one whose mask is wrong
    /// about its neighbours' samples must not turn "no sample" into a height.
    fn joined_mask(&self, around: &[Option<&Block>; 9], quanta: &[i32]) -> Option<Box<[u8]>> {
        let n = self.side.samples();
        let width = (n + 2) as usize;
        let first = self.side.first_sample(self.pos);
        let mut bytes = Vec::with_capacity(width * width);
        for z in -1..=n {
            append_row(around, n, z, 1, 0, Block::solid, &mut bytes);
        }
        let (x0, x1) = ((self.shown.x0 - first.x + 1) as usize, (self.shown.x1 - first.x + 1) as usize);
        let rows = (self.shown.z0 - first.z + 1) as usize..(self.shown.z1 - first.z + 1) as usize;
        if self.shown.is_empty() {
            bytes.fill(0);
        } else {
            for (z, row) in bytes.chunks_exact_mut(width).enumerate() {
                let inside = if rows.contains(&z) { x0..x1 } else { 0..0 };
                row[..inside.start].fill(0);
                row[inside.end..].fill(0);
            }
        }
        if quanta.contains(&VOID) {
            for (i, mask) in bytes.iter_mut().enumerate().filter(|m| *m.1 != 0) {
                let (x, z) = ((i % width) as i32 - 1, (i / width) as i32 - 1);
                let anti = self.diagonal.is_anti(CellPos::new(first.x + x, first.z + z));
                let at = |(dx, dz): (i32, i32)| quanta[((z + 1 + dz) * (n + 3) + x + 1 + dx) as usize];
                for t in Triangle::BOTH {
                    if t.corners(anti).iter().any(|&corner| at(corner) == VOID) {
                        *mask &= !t.bit();
                    }
                }
            }
        }
        let whole = !self.shown.is_empty()
            && rows.clone().all(|z| bytes[z * width..][x0..x1].iter().fold(3, |all, m| all & m) == 3);
        if whole {
            return None;
        }
        let pack = |four: &[u8]| four.iter().rev().fold(0, |byte, m| byte << 2 | (m & 3));
        Some(bytes.chunks(4).map(pack).collect())
    }

    fn make_ranges(&mut self) -> Option<(i32, i32)> {
        let (first, n) = (self.side.first_sample(self.pos), self.side.samples());
        let mut heights = std::mem::replace(&mut self.heights, Heights::of(&[]));
        let shown = |x: usize, z: usize| {
            let cell = CellPos::new(first.x + x as i32, first.z + z as i32);
            let (mask, anti) = (self.cell_mask(cell), self.diagonal.is_anti(cell));
            let mut corners = [false; 4];
            for t in Triangle::BOTH.into_iter().filter(|t| mask & t.bit() != 0) {
                t.corners(anti).iter().for_each(|&(dx, dz)| corners[(dx + 2 * dz) as usize] = true);
            }
            corners
        };
        let range = heights.make_ranges(n as usize, if self.shows_all() { None } else { Some(&shown) });
        self.heights = heights;
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

    /// Where sample (x, z), counted from the block's first, is stored.
    #[inline(always)]
    fn sample_index(&self, x: i32, z: i32) -> usize {
        ((z + 1) * (self.side.samples() + 3) + x + 1) as usize
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
        self.heights.get((z * n + x) as usize)
    }

    /// Quanta of a cell's corners [00, 10, 01, 11].
    #[inline]
    pub fn corners(&self, cell: CellPos) -> [i32; 4] {
        [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(dx, dz)| self.quanta(cell.corner(dx, dz)))
    }

    /// The corners of one of its own cells with a visible triangle; a void among them is no matter to that triangle.
    #[inline(always)]
    pub(crate) fn own_corners(&self, cell: CellPos) -> [i32; 4] {
        let (index, width) = self.own_index(cell);
        self.heights.corners(index, width)
    }

    /// Where the first corner of one of its own cells is stored, and how far behind it the next row's.
    #[inline(always)]
    fn own_index(&self, cell: CellPos) -> (usize, usize) {
        // Blocks begin at multiples of their side, a power of two.
        let last = self.side.samples() - 1;
        (self.sample_index(cell.x & last, cell.z & last), (last + 4) as usize)
    }

    /// Reads corners of both rows of one of its own cells, for their being read.
    #[inline(always)]
    pub(crate) fn touch(&self, cell: CellPos) -> i32 {
        let (index, width) = self.own_index(cell);
        self.heights.touch(index, width)
    }

    /// Raw quanta of a row of samples from `first` on; [`VOID`] where there is none.
    ///
    /// # Panics
    /// When a sample is further from the block than its apron.
    pub(crate) fn row(&self, first: SamplePos, out: &mut [i32]) {
        let origin = self.side.first_sample(self.pos);
        let (x, z, n) = (first.x - origin.x, first.z - origin.z, self.side.samples());
        let inside = x >= -1 && z >= -1 && z <= n + 1 && out.len() <= (n + 2 - x) as usize;
        assert!(inside, "{} samples from {first:?} are not in tile {:?}", out.len(), self.pos);
        self.heights.row(self.sample_index(x, z), out);
    }

    /// Samples and ranges, for walks over them.
    pub(crate) fn heights(&self) -> &Heights {
        &self.heights
    }

    /// Whether every cell of its own that lies on the map and in the extent shows both triangles.
    #[inline(always)]
    pub(crate) fn is_whole(&self) -> bool {
        self.mask.is_none()
    }

    /// Whether every cell of its own shows both triangles.
    #[inline(always)]
    pub(crate) fn shows_all(&self) -> bool {
        let (first, n) = (self.side.first_sample(self.pos), self.side.samples());
        self.mask.is_none()
            && self.shown.x0 <= first.x
            && self.shown.z0 <= first.z
            && self.shown.x1 >= first.x + n
            && self.shown.z1 >= first.z + n
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
        match &self.mask {
            None => 3 * u8::from(self.shown.contains(c)),
            Some(mask) => {
                let index = (z * n + x) as usize;
                mask[index / 4] >> (index % 4 * 2) & 3
            }
        }
    }

    /// Whether the cell is split along 10–01.
    #[inline]
    pub fn is_anti(&self, c: CellPos) -> bool {
        self.diagonal.is_anti(c)
    }

    /// A triangle in world metres if it is visible; the cell is from −1 to side around the block.
    #[inline]
    pub fn triangle(&self, cell: CellPos, triangle: Triangle) -> Option<Tri> {
        if self.cell_mask(cell) & triangle.bit() == 0 {
            return None;
        }
        let vertices = triangle.corners(self.is_anti(cell)).map(|(dx, dz)| self.vertex(cell.corner(dx, dz)));
        Some(Tri { cell, triangle, vertices })
    }

    /// A sample in world metres (exact); y is meaningless for a void.
    #[inline]
    pub fn vertex(&self, s: SamplePos) -> DVec3 {
        let [x, y, z] = self.placement;
        // A placement keeps all of a terrain within 2³¹ samples and 2²⁵ quanta.
        DVec3::new(
            f64::from(s.x + x) * self.spacing_m,
            f64::from(self.quanta(s).wrapping_add(y)) * self.quantum_m,
            f64::from(s.z + z) * self.spacing_m,
        )
    }

    /// Twice the slope a sample along x and z at a sample from 0 to side, in quanta, by the rule of
    /// [`crate::kernel::normal`].
    pub(crate) fn slope2(&self, s: SamplePos) -> [i32; 2] {
        let at = |dx: i32, dz: i32| self.quanta(SamplePos::new(s.x + dx, s.z + dz));
        let here = at(0, 0);
        [slope2(at(-1, 0), here, at(1, 0)), slope2(at(0, -1), here, at(0, 1))]
    }

    /// The stronger layer of the paint texel (mip 0) under a point of one of the block's own cells; fractions in
    /// lattice units of a cell whose side is `s`. Ties go to the smaller id; layer 0 without weights.
    pub fn layer(&self, cell: CellPos, fx: i64, fz: i64, s: i64) -> u8 {
        let Some(weights) = &self.weights else { return 0 };
        self.texel(cell, fx, fz, s).map_or(0, |i| weights[i].dominant())
    }

    /// The paint texel under a point of one of its own cells.
    fn texel(&self, cell: CellPos, fx: i64, fz: i64, s: i64) -> Option<usize> {
        let ppc = i64::from(self.paint_per_cell);
        let first = self.side.first_sample(self.pos);
        let texel = |c: i32, f: i64| i64::from(c) * ppc + (f * ppc / s).min(ppc - 1);
        let (tx, tz) = (texel(cell.x - first.x, fx), texel(cell.z - first.z, fz));
        let width = i64::from(self.side.samples()) * ppc;
        (tx >= 0 && tz >= 0 && tx < width && tz < width).then_some((tz * width + tx) as usize)
    }

    /// The two-layer weights of the block, if the terrain has weights.
    pub fn weights(&self) -> Option<&Arc<[HdTexel]>> {
        self.weights.as_ref()
    }

    /// The planes of the block.
    pub fn planes(&self) -> &BlockPlanes {
        &self.planes
    }

    /// The value of a plane over cells, of one of its own cells.
    pub(crate) fn cell_value(&self, kind: PlaneKind, cell: CellPos) -> Result<u8, NotLoaded> {
        let (first, n) = (self.side.first_sample(self.pos), self.side.samples());
        let index = ((cell.z - first.z) * n + cell.x - first.x) as usize;
        Ok(self.planes.get(kind)?.map_or(0, |values| values[index]))
    }

    /// The physical material of one of the block's own cells, an index into the catalogue's; `None` when the plane is
    /// not loaded.
    pub fn material(&self, cell: CellPos) -> Option<u8> {
        self.cell_value(PlaneKind::PhysicalMaterial, cell).ok()
    }

    /// The weight of a layer under a point of one of its own cells, as [`Tile::layer`] takes it.
    pub(crate) fn weight(&self, id: u8, cell: CellPos, fx: i64, fz: i64, s: i64) -> Result<u8, NotLoaded> {
        let own = self.planes.get(PlaneKind::Weight(id))?;
        let Some(texel) = self.texel(cell, fx, fz, s) else { return Ok(0) };
        let weight = own.map_or(0, |values| values[texel]);
        // No weight at all is layer 0's.
        let bare = || {
            let mut weights = self.planes.all().iter().filter(|p| matches!(p.0, PlaneKind::Weight(_)));
            weights.all(|p| p.1[texel] == 0)
        };
        Ok(if id == 0 && weight == 0 && bare() { 255 } else { weight })
    }

    /// Depths in quanta at the corners [00, 10, 01, 11] of a cell, those with a weight only; the point that the weights
    /// stand for lies over the block's own cells, so that no other corner is asked for.
    pub(crate) fn depths(&self, cell: CellPos, weights: [i64; 4]) -> Result<[u32; 4], NotLoaded> {
        let depths = match &self.water {
            Water::NotLoaded => return Err(NotLoaded),
            Water::Dry => return Ok([0; 4]),
            Water::Depths(depths) => depths,
        };
        let (first, n) = (self.side.first_sample(self.pos), self.side.samples());
        let mut out = [0; 4];
        for (i, (out, weight)) in out.iter_mut().zip(weights).enumerate() {
            if weight > 0 {
                let s = cell.corner(i as i32 & 1, i as i32 >> 1);
                *out = depths[((s.z - first.z) * (n + 1) + s.x - first.x) as usize];
            }
        }
        Ok(out)
    }

    /// Bytes held in memory. Two-layer weights and planes are the block's own and counted there.
    pub fn bytes(&self) -> usize {
        let water = if let Water::Depths(d) = &self.water { d.len() * 4 } else { 0 };
        std::mem::size_of::<Self>() + self.heights.bytes() + self.mask.as_ref().map_or(0, |m| m.len()) + water
    }
}

/// Depths over a block and the first samples of its neighbours: not loaded where one of them is not.
fn join_water(around: &[Option<&Block>; 9], n: i32) -> Water {
    // Own, east, south and south-east in (z, x) order; what is beyond the map is dry.
    let blocks = [4, 5, 7, 8].map(|i| around[i]);
    let mut planes: [Option<&[u8]>; 4] = [None; 4];
    for (block, plane) in blocks.iter().zip(&mut planes) {
        match block.map_or(Ok(None), |b| b.planes().get(PlaneKind::WaterDepth)) {
            Ok(values) => *plane = values,
            Err(NotLoaded) => return Water::NotLoaded,
        }
    }
    if planes.iter().all(Option::is_none) {
        return Water::Dry;
    }
    let n = n as usize;
    let mut depths = Vec::with_capacity((n + 1) * (n + 1));
    for z in 0..=n {
        for x in 0..=n {
            let value = planes[usize::from(x == n) + 2 * usize::from(z == n)].map_or(0, |values| {
                let b = &values[((z % n) * n + x % n) * 4..][..4];
                u32::from_le_bytes([b[0], b[1], b[2], b[3]])
            });
            depths.push(value);
        }
    }
    Water::Depths(depths.into())
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
