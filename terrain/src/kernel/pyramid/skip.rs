//! Which coarse triangles show nothing, at any morph: an early-out for levels above 0.
//!
//! The level-0 mask decides at every level which fragments are kept. A coarse triangle is *skipped* when that would keep
//! nothing of it, so leaving it out changes no picture: when no visible triangle of level 0 touches, even in a point, the
//! closed area that it can cover. That area is the convex hull of all places its three vertices can morph to: in cells of
//! the level, an even cell keeps to its square and an odd one reaches one cell further towards zero. Where vertices are
//! clamped, in cells that reach beyond the valid extent, it is the whole box of that inside the extent.
//!
//! A triangle of level 0 touches such an area exactly when one of its corners lies in it: the area's edges run along the
//! lattice, along diagonals or at 1:2 through lattice points, and always leave two corners of a cell inside. So all that
//! is kept is one bit a sample (some visible triangle has it as a corner) and a quadtree of "any" over these bits.
//! Memory is a sixth of a byte a sample.

use super::{NODE_CELLS, is_anti, levels, nodes};
use crate::config::{Diagonal, TerrainConfig};
use crate::coord::{CellPos, CellRect};
use crate::triangle::Triangle;
use arrayvec::ArrayVec;

/// Cells of a node.
pub const NODE_AREA: usize = (NODE_CELLS * NODE_CELLS) as usize;

/// Takes the mask of level 0 row by row.
#[derive(Clone, Debug)]
pub struct SkipBuilder {
    diagonal: Diagonal,
    extent: CellRect,
    cells: [u32; 2],
    touched: Bits,
    next: u32,
}

impl SkipBuilder {
    /// For a terrain; its configuration is checked already.
    pub fn new(config: &TerrainConfig) -> Self {
        Self {
            diagonal: config.diagonal,
            extent: config.extent,
            cells: config.cells().map(|c| c as u32),
            touched: Bits::new(config.samples),
            next: 0,
        }
    }

    /// The next row of cells, two bits a cell in a byte; extent and voids are applied already.
    ///
    /// # Panics
    /// When all rows are there, or the row is not one byte a cell.
    pub fn push_row(&mut self, mask: &[u8]) {
        let z = self.next;
        assert!(z < self.cells[1] && mask.len() == self.cells[0] as usize, "a byte a cell, row by row");
        self.next += 1;
        let [upper, lower] = self.touched.two_rows(z);
        if mask.iter().all(|&m| m & 3 == 3) {
            for row in [upper, lower] {
                Bits::fill_row(row, mask.len() + 1);
            }
            return;
        }
        for (x, &m) in mask.iter().enumerate().filter(|(_, m)| *m & 3 != 0) {
            let anti = self.diagonal.is_anti(CellPos::new(x as i32, z as i32));
            for t in Triangle::BOTH.into_iter().filter(|t| m & t.bit() != 0) {
                for (dx, dz) in t.corners(anti) {
                    let x = x + dx as usize;
                    let row = if dz == 0 { &mut *upper } else { &mut *lower };
                    row[x / 64] |= 1 << (x % 64);
                }
            }
        }
    }

    /// The skip masks of all levels.
    ///
    /// # Panics
    /// When rows are missing.
    pub fn finish(self) -> Skips {
        assert_eq!(self.next, self.cells[1], "every row of cells");
        let mut any = vec![self.touched];
        while any[any.len() - 1].size != [1, 1] {
            any.push(any[any.len() - 1].halve());
        }
        let anti = is_anti(self.diagonal, 1, CellPos::new(0, 0));
        let areas = std::array::from_fn(|parity| Triangle::BOTH.map(|t| Area::of(t, anti, parity)));
        Skips { extent: self.extent, cells: self.cells, anti, any, areas }
    }
}

/// The skip masks of all levels above 0.
#[derive(Clone, Debug)]
pub struct Skips {
    extent: CellRect,
    cells: [u32; 2],
    /// The diagonal of coarse cells.
    anti: bool,
    /// Level k: a bit for 2ᵏ × 2ᵏ samples, set when any of them is touched.
    any: Vec<Bits>,
    /// What the two triangles of a cell can cover, by the parities of its position, x + 2z.
    areas: [[Area; 2]; 4],
}

impl Skips {
    /// The skipped triangles (bit 0 triangle 0, bit 1 triangle 1) of a cell of a level, in cells of that level. Beyond the
    /// terrain all are, but for one row and column of odd cells that may morph back into it.
    ///
    /// # Panics
    /// When the level is 0 or there is none such.
    pub fn cell(&self, level: u32, cell: [u32; 2]) -> u8 {
        assert!(
            level >= 1 && level < levels(self.cells),
            "no level {level} above 0 of {:?} cells",
            self.cells
        );
        if (0..2).any(|axis| u64::from(cell[axis] & !1) << level >= u64::from(self.cells[axis])) {
            return 3;
        }
        // In range from here: a terrain has at most 2¹⁷ samples a side, and a cell at most half as many.
        let (side, odd) = (1 << level, cell.map(|c| (c & 1) as i32));
        let at = cell.map(|c| (c << level) as i32);
        let area = [at[0] - odd[0] * side, at[1] - odd[1] * side, at[0] + side, at[1] + side];
        let e = self.extent;
        if area[0] < e.x0 || area[1] < e.z0 || area[2] > e.x1 || area[3] > e.z1 {
            let clamped = [area[0].max(e.x0), area[1].max(e.z0), area[2].min(e.x1), area[3].min(e.z1)];
            // Clamped to a line or a point, a triangle has no area to draw.
            let empty = clamped[0] >= clamped[2] || clamped[1] >= clamped[3];
            return if empty || !self.touched(&Planes::of_box(clamped), clamped, level) { 3 } else { 0 };
        }
        // Both triangles have the ends of the diagonal as corners: the usual cell ends here.
        let ends = if self.anti { [[1, 0], [0, 1]] } else { [[0, 0], [1, 1]] };
        if ends.iter().any(|[dx, dz]| self.any[0].get([at[0] + dx * side, at[1] + dz * side])) {
            return 0;
        }
        let areas = &self.areas[(odd[0] + 2 * odd[1]) as usize];
        Triangle::BOTH.iter().fold(0, |skipped, t| {
            let visible = self.touched(&areas[usize::from(t.index())].at(at, side), area, level);
            if visible { skipped } else { skipped | t.bit() }
        })
    }

    /// The cells of a node, row-major, as [`Skips::cell`].
    ///
    /// # Panics
    /// When there is no such node.
    pub fn node(&self, level: u32, node: [u32; 2]) -> [u8; NODE_AREA] {
        let [w, h] = nodes(self.cells, level);
        assert!(node[0] < w && node[1] < h, "level {level} has {w}x{h} nodes, not {node:?}");
        std::array::from_fn(|i| {
            let (x, z) = (i as u32 % NODE_CELLS, i as u32 / NODE_CELLS);
            self.cell(level, [node[0] * NODE_CELLS + x, node[1] * NODE_CELLS + z])
        })
    }

    /// Whether any touched sample lies in the area of a cell of this level, which `bounds` (x0, z0, x1, z1) hold.
    fn touched(&self, area: &Planes, bounds: [i32; 4], level: u32) -> bool {
        // The bounds span at most two cells and a sample, so at most two of these squares a side; then three siblings wait
        // at each of at most 17 levels.
        let top = (level as usize + 1).min(self.any.len() - 1);
        let mut open: ArrayVec<(usize, [i32; 2]), 64> = ArrayVec::new();
        let [x0, z0, x1, z1] = bounds.map(|b| b >> top);
        open.extend((z0..=z1).flat_map(|z| (x0..=x1).map(move |x| (top, [x, z]))));
        while let Some((level, at)) = open.pop() {
            if !self.any[level].get(at) {
                continue;
            }
            let first = at.map(|c| c << level);
            match area.relation(first, (1 << level) - 1) {
                Relation::Inside => return true,
                Relation::Outside => {}
                Relation::Across => {
                    for quarter in 0..4 {
                        open.push((level - 1, [at[0] * 2 + (quarter & 1), at[1] * 2 + (quarter >> 1)]));
                    }
                }
            }
        }
        false
    }
}

/// A convex area by its bounding lines, in cells of a level from a cell's own corner.
#[derive(Clone, Debug)]
struct Area(ArrayVec<[i32; 3], 6>);

impl Area {
    /// What a triangle of a cell can cover, by the parities of its cell's position (x + 2z).
    fn of(triangle: Triangle, anti: bool, parity: usize) -> Self {
        let parity = [parity as i32 & 1, parity as i32 >> 1];
        let mut points: ArrayVec<[i32; 2], 6> = ArrayVec::new();
        for (dx, dz) in triangle.corners(anti) {
            let moves = [(dx + parity[0]) & 1, (dz + parity[1]) & 1];
            points.extend([[dx, dz], [dx - moves[0], dz - moves[1]]]);
        }
        // A line through two points bounds the hull when all points lie on one side.
        let mut lines = ArrayVec::new();
        for &[ax, az] in &points {
            for &[bx, bz] in &points {
                let (nx, nz) = (bz - az, ax - bx);
                // Steps are at most 2 cells: halving makes equal lines equal.
                let unit = if nx % 2 == 0 && nz % 2 == 0 { 2 } else { 1 };
                let line = [nx / unit, nz / unit, (nx * ax + nz * az) / unit];
                let bounds = points.iter().all(|p| line[0] * p[0] + line[1] * p[1] <= line[2]);
                if (nx, nz) != (0, 0) && bounds && !lines.contains(&line) {
                    lines.push(line);
                }
            }
        }
        Self(lines)
    }

    /// The area of the cell whose corner is the sample `at` and whose side is `side` samples.
    fn at(&self, at: [i32; 2], side: i32) -> Planes {
        Planes(self.0.iter().map(|&[nx, nz, c]| [nx, nz, c * side + nx * at[0] + nz * at[1]]).collect())
    }
}

/// A convex area as all points with nx · x + nz · z ≤ c, in samples.
struct Planes(ArrayVec<[i32; 3], 6>);

enum Relation {
    Inside,
    Outside,
    Across,
}

impl Planes {
    fn of_box([x0, z0, x1, z1]: [i32; 4]) -> Self {
        Self([[-1, 0, -x0], [0, -1, -z0], [1, 0, x1], [0, 1, z1]].into_iter().collect())
    }

    /// Of the samples from `first` to `first + span` on both axes. `Across` may also be outside, but never for one sample.
    fn relation(&self, first: [i32; 2], span: i32) -> Relation {
        let mut inside = true;
        for &[nx, nz, c] in &self.0 {
            let at = nx * first[0] + nz * first[1];
            if at + span * (nx.min(0) + nz.min(0)) > c {
                return Relation::Outside;
            }
            inside &= at + span * (nx.max(0) + nz.max(0)) <= c;
        }
        if inside { Relation::Inside } else { Relation::Across }
    }
}

/// A plane of bits, rows of whole words.
#[derive(Clone, Debug)]
struct Bits {
    size: [u32; 2],
    stride: usize,
    words: Vec<u64>,
}

impl Bits {
    fn new(size: [u32; 2]) -> Self {
        let stride = size[0].div_ceil(64) as usize;
        Self { size, stride, words: vec![0; stride * size[1] as usize] }
    }

    /// A bit; clear beyond the plane.
    fn get(&self, [x, z]: [i32; 2]) -> bool {
        let inside = x >= 0 && z >= 0 && (x as u32) < self.size[0] && (z as u32) < self.size[1];
        inside && self.words[z as usize * self.stride + x as usize / 64] >> (x % 64) & 1 == 1
    }

    fn two_rows(&mut self, z: u32) -> [&mut [u64]; 2] {
        let rows = &mut self.words[z as usize * self.stride..(z as usize + 2) * self.stride];
        let (upper, lower) = rows.split_at_mut(self.stride);
        [upper, lower]
    }

    /// Sets the first `bits` of a row.
    fn fill_row(row: &mut [u64], bits: usize) {
        row[..bits / 64].fill(u64::MAX);
        if let Some(last) = row.get_mut(bits / 64) {
            *last |= (1 << (bits % 64)) - 1;
        }
    }

    /// One bit for two by two, set when any is.
    fn halve(&self) -> Self {
        let mut half = Self::new(self.size.map(|s| s.div_ceil(2)));
        let (stride, half_stride) = (self.stride, half.stride);
        for (rows, out) in self.words.chunks(2 * stride).zip(half.words.chunks_exact_mut(half_stride)) {
            for row in rows.chunks_exact(stride) {
                for (i, &word) in row.iter().enumerate() {
                    out[i / 2] |= even_bits(word | word >> 1) << (32 * (i % 2));
                }
            }
        }
        half
    }
}

/// The 32 even bits of a word, moved together.
const fn even_bits(word: u64) -> u64 {
    let mut w = word & 0x5555_5555_5555_5555;
    w = (w | w >> 1) & 0x3333_3333_3333_3333;
    w = (w | w >> 2) & 0x0F0F_0F0F_0F0F_0F0F;
    w = (w | w >> 4) & 0x00FF_00FF_00FF_00FF;
    w = (w | w >> 8) & 0x0000_FFFF_0000_FFFF;
    (w | w >> 16) & 0x0000_0000_FFFF_FFFF
}
