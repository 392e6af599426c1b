//! The walk of a segment over the ground, near parts first: pages, blocks, squares of cells, cells.
//!
//! A quadtree is entered where the segment's t over a square (a product of an exact difference and the direction's
//! reciprocal, so off by less than 2⁻⁵¹) and its heights meet the square's range; both are padded, so that the walk can
//! only look at too much. Which triangles are hit is [`super::ray_exact`]'s business. Never allocates.

use super::ray::Faces;
use super::ray_exact::{Candidate, Exact, Target};
use crate::coord::{BlockPos, CellPos};
use crate::surface::{
    Ground, Heights, NOTHING, RANGE_LOG2, Samples, Slot, Stored, Tile, Triangle, range_start,
};
use arrayvec::ArrayVec;

/// Parts of the segment by which the walk looks beyond it.
pub(super) const PAD: f64 = 1.0 / (1u64 << 48) as f64;

/// Cells a side of the smallest squares that have a range.
const LEAF: usize = 1 << RANGE_LOG2;

/// What becomes of what a walk finds. Things are found near ones first, but for [`PAD`] and for rays along a line between
/// rows of cells, where one side comes after the other.
pub(super) trait Sink {
    /// Nothing beyond this t matters any more.
    fn limit(&self) -> f64;

    /// A triangle that is met. True ends the walk.
    fn offer(&mut self, found: Candidate) -> bool;

    /// A block that is not there, on the way from `enter` on.
    fn unseen(&mut self, unseen: Unseen);
}

/// A block on the way that is not there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unseen {
    pub(super) pos: BlockPos,
    /// Whether it cannot be had.
    pub(super) failed: bool,
    /// When the segment reaches it.
    pub(super) t: f64,
}

/// A square of 2^`level` cells a side: its place along the major and the minor axis in such squares, and the t at which
/// the segment crosses its near and far sides (major, major, minor, minor). The minor ones are infinite or NaN where the
/// segment runs along the major axis; NaN on the very line, which both neighbours touch.
#[derive(Clone, Copy)]
struct Node {
    level: u32,
    at: [i32; 2],
    /// Its place in its tile's level, in Z order.
    index: u32,
    t: [f64; 4],
    /// When the segment comes over it and leaves it.
    enter: f64,
    leave: f64,
}

/// When a segment is between four sides.
#[inline(always)]
fn span([m0, m1, n0, n1]: [f64; 4], [from, to]: [f64; 2]) -> (f64, f64) {
    (later(later(n0, m0), from), sooner(sooner(n1, m1), to))
}

/// The larger; `b` where `a` is NaN.
#[inline(always)]
fn later(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// The smaller; `b` where `a` is NaN.
#[inline(always)]
fn sooner(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// A segment that is not vertical, for walking.
#[derive(Clone, Copy)]
pub(super) struct Line {
    exact: Exact,
    faces: Faces,
    /// Whether z is the major axis, along which the segment is longer.
    swapped: bool,
    /// The start along the major and the minor axis, and the reciprocals of the directions.
    start: [i64; 2],
    inverse: [f64; 2],
    /// 1 where the segment runs towards smaller coordinates.
    back: [i32; 2],
    /// Start and rise in quanta.
    y: f64,
    dy: f64,
    /// One lattice unit in quanta, for the rounding of heights.
    slack: f64,
}

impl Line {
    /// A local segment with a part over the ground plan.
    pub(super) fn new(exact: Exact, faces: Faces) -> Self {
        let [x, y, z] = exact.start;
        let [dx, dy, dz] = exact.dir;
        let swapped = dz.abs() > dx.abs();
        let (start, dir) = if swapped { ([z, x], [dz, dx]) } else { ([x, z], [dx, dz]) };
        let unit = 1.0 / exact.unit as f64;
        Self {
            exact,
            faces,
            swapped,
            start,
            inverse: dir.map(|d| 1.0 / d as f64),
            back: dir.map(|d| i32::from(d < 0)),
            y: y as f64 * unit,
            dy: dy as f64 * unit,
            slack: unit,
        }
    }

    /// The t of the line between two columns (or rows) of cells.
    #[inline(always)]
    fn plane(&self, axis: usize, index: i32) -> f64 {
        (i64::from(index) * self.exact.s - self.start[axis]) as f64 * self.inverse[axis]
    }

    /// From major and minor to x and z.
    #[inline(always)]
    fn xz(&self, [m, n]: [i32; 2]) -> (i32, i32) {
        if self.swapped { (n, m) } else { (m, n) }
    }

    fn node(&self, level: u32, at: [i32; 2], within: [f64; 2]) -> Node {
        let sides =
            |axis: usize| [0, 1].map(|far| self.plane(axis, (at[axis] + (self.back[axis] ^ far)) << level));
        let ([m0, m1], [n0, n1]) = (sides(0), sides(1));
        let t = [m0, m1, n0, n1];
        let (enter, leave) = span(t, within);
        Node { level, at, index: 0, t, enter, leave }
    }

    /// Whether the segment passes over or under a range between two t, heights counted from `y`.
    #[inline(always)]
    fn misses(&self, y: f64, lo: f64, hi: f64, enter: f64, leave: f64) -> bool {
        let (a, b) = (y + self.dy * enter, y + self.dy * leave);
        later(a, b) + self.slack < lo || sooner(a, b) - self.slack > hi
    }

    /// Pushes the quarters of a square that the segment touches between two t and that `misses` does not turn away (it
    /// gets a quarter, and which of the four it is in Z order), the nearest last.
    #[inline(always)]
    fn split<const N: usize>(
        &self,
        node: &Node,
        within: [f64; 2],
        stack: &mut ArrayVec<Node, N>,
        misses: impl Fn(&Node) -> bool,
    ) {
        let [m, n] = node.at;
        let [m0, m1, n0, n1] = node.t;
        let level = node.level - 1;
        let (mm, nm) = (self.plane(0, (2 * m + 1) << level), self.plane(1, (2 * n + 1) << level));
        let quarters = [
            (1, 1, [mm, m1, nm, n1]),
            (1, 0, [mm, m1, n0, nm]),
            (0, 1, [m0, mm, nm, n1]),
            (0, 0, [m0, mm, n0, nm]),
        ];
        for (far_m, far_n, t) in quarters {
            let (enter, leave) = span(t, within);
            if enter > leave + PAD {
                continue;
            }
            let (bit_m, bit_n) = (far_m ^ self.back[0], far_n ^ self.back[1]);
            let (bit_x, bit_z) = self.xz([bit_m, bit_n]);
            let index = 4 * node.index + bit_x as u32 + 2 * bit_z as u32;
            let quarter = Node { level, at: [2 * m + bit_m, 2 * n + bit_n], index, t, enter, leave };
            if !misses(&quarter) {
                stack.push(quarter);
            }
        }
    }

    /// Walks over everything that the segment touches from `from` on.
    pub(super) fn walk(&self, ground: &Ground, from: f64, sink: &mut impl Sink) {
        let Some((from, to)) = self.over_extent(ground, from) else { return };
        let side_log2 = ground.side().log2();
        let mut stack: ArrayVec<Node, 64> = ArrayVec::new();
        stack.push(self.root(ground, from, to, side_log2));
        while let Some(node) = stack.pop() {
            let to = sooner(to, sink.limit());
            if node.enter > to + PAD {
                continue;
            }
            let up = node.level - side_log2;
            if up > 0 {
                self.split(&node, [from, to], &mut stack, |quarter| {
                    let (x, z) = self.xz(quarter.at);
                    // Above a page nothing is known.
                    up <= 5 && self.passes(ground.range_over(up - 1, x, z), quarter.enter, quarter.leave)
                });
                continue;
            }
            let (x, z) = self.xz(node.at);
            if self.over_block(ground, BlockPos::new(x, z), &node, [from, to], sink) {
                return;
            }
        }
    }

    /// Whether the segment passes over or under all that there may be in a square of blocks.
    #[inline(always)]
    fn passes(&self, range: [i32; 2], enter: f64, leave: f64) -> bool {
        // What is not known has the lowest number; no sample does.
        let known = range[0] != i32::MIN;
        range == NOTHING
            || known && self.misses(self.y, f64::from(range[0]), f64::from(range[1]), enter, leave)
    }

    /// When the segment is over the valid extent.
    fn over_extent(&self, ground: &Ground, from: f64) -> Option<(f64, f64)> {
        let e = ground.config().extent;
        let (low, high) =
            if self.swapped { ([e.z0, e.x0], [e.z1, e.x1]) } else { ([e.x0, e.z0], [e.x1, e.z1]) };
        let (mut from, mut to) = (from, 1.0);
        for axis in 0..2 {
            let (a, b) = (self.plane(axis, low[axis]), self.plane(axis, high[axis]));
            let (a, b) = if self.back[axis] == 1 { (b, a) } else { (a, b) };
            from = later(a, from);
            to = sooner(b, to);
        }
        (from <= to + PAD).then_some((from - PAD, to + PAD))
    }

    /// The smallest square, a block or more, that holds everything between two t.
    fn root(&self, ground: &Ground, from: f64, to: f64, side_log2: u32) -> Node {
        let e = ground.config().extent;
        let dir = if self.swapped {
            [self.exact.dir[2], self.exact.dir[0]]
        } else {
            [self.exact.dir[0], self.exact.dir[2]]
        };
        let (low, high) =
            if self.swapped { ([e.z0, e.x0], [e.z1, e.x1]) } else { ([e.x0, e.z0], [e.x1, e.z1]) };
        let mut level = side_log2;
        let mut at = [0; 2];
        for axis in 0..2 {
            let place = |t: f64| (self.start[axis] as f64 + dir[axis] as f64 * t) / self.exact.s as f64;
            let (a, b) = (place(from), place(to));
            let clamp = |v: f64| (v as i32).clamp(low[axis], high[axis] - 1);
            // A cell more on either side, for the rounding.
            let (a, b) = (clamp(sooner(a, b) - 1.0), clamp(later(a, b) + 1.0));
            level = level.max(32 - (a ^ b).leading_zeros());
            at[axis] = a;
        }
        self.node(level, at.map(|a| a >> level), [from, to])
    }

    /// Walks over one block; true ends the walk.
    fn over_block(
        &self,
        ground: &Ground,
        pos: BlockPos,
        node: &Node,
        [from, to]: [f64; 2],
        sink: &mut impl Sink,
    ) -> bool {
        let tile = match ground.slot(pos) {
            Slot::Resident(tile) => tile,
            slot => {
                // Only what touches the block's part of the extent is on the way.
                let (first, n, e) =
                    (ground.side().first_sample(pos), ground.side().samples(), ground.config().extent);
                let min = [first.x.max(e.x0), first.z.max(e.z0)];
                let max = [(first.x + n).min(e.x1), (first.z + n).min(e.z1)];
                let lattice = |v: [i32; 2]| v.map(|v| i64::from(v) * self.exact.s);
                if min[0] < max[0] && min[1] < max[1] && self.exact.touches(lattice(min), lattice(max)) {
                    let failed = matches!(slot, Slot::Failed);
                    sink.unseen(Unseen { pos, failed, t: node.enter });
                }
                return false;
            }
        };
        match tile.heights() {
            Heights::Narrow(samples) => self.over_tile(tile, samples, node, [from, to], sink),
            Heights::Wide(samples) => self.over_tile(tile, samples, node, [from, to], sink),
        }
    }

    fn over_tile<T: Stored>(
        &self,
        tile: &Tile,
        samples: &Samples<T>,
        node: &Node,
        [from, to]: [f64; 2],
        sink: &mut impl Sink,
    ) -> bool {
        let (side_log2, first) = (tile.side().log2(), tile.side().first_sample(tile.pos()));
        let origin = if self.swapped { [first.z, first.x] } else { [first.x, first.z] };
        // The same line, counted from the tile's corner and its base.
        let mut line = *self;
        line.start[0] -= i64::from(origin[0]) * self.exact.s;
        line.start[1] -= i64::from(origin[1]) * self.exact.s;
        line.y -= f64::from(samples.base);
        let walk = TileWalk {
            line: &line,
            tile,
            samples,
            first: CellPos::new(first.x, first.z),
            all: tile.shows_all(),
            narrow: self.is_narrow(tile, line.start),
        };
        let mut stack: ArrayVec<Node, 24> = ArrayVec::new();
        stack.push(Node { at: [0, 0], index: 0, ..*node });
        while let Some(node) = stack.pop() {
            let to = sooner(to, sink.limit());
            if node.enter > to + PAD {
                continue;
            }
            if node.level == RANGE_LOG2 {
                if walk.over_cells(&node, node.enter, sooner(node.leave, to), sink) {
                    return true;
                }
                continue;
            }
            let start = range_start(node.level - 1, side_log2);
            line.split(&node, [from, to], &mut stack, |quarter| {
                let range = samples.ranges[start + quarter.index as usize];
                let [lo, hi] = range.map(|v| f64::from(v.into()));
                line.misses(line.y, lo, hi, quarter.enter, quarter.leave)
            });
        }
        false
    }

    /// Whether the plane functions of all of a tile's triangles stay below 2⁶² along the segment.
    fn is_narrow(&self, tile: &Tile, start: [i64; 2]) -> bool {
        let Some((lo, hi)) = tile.min_max() else { return true };
        let side = f64::from(tile.side().samples()) * self.exact.s as f64;
        let ends = |v: i64| (v as f64).abs().max((v as f64 - side).abs());
        let (s, unit) = (self.exact.s as f64, self.exact.unit as f64);
        let relief = (f64::from(hi) - f64::from(lo)) * unit;
        let [y, dy] = [self.exact.start[1], self.exact.dir[1]].map(|v| v as f64);
        let high = (y - f64::from(lo) * unit).abs().max((y - f64::from(hi) * unit).abs());
        let reach = ends(start[0]) + ends(start[1]);
        let way = (self.exact.dir[0] as f64).abs() + (self.exact.dir[2] as f64).abs();
        let most = (1u64 << 61) as f64;
        s * (high + relief) + relief * reach < most && s * dy.abs() + relief * way < most
    }
}

/// A line over one tile.
struct TileWalk<'a, T> {
    line: &'a Line,
    tile: &'a Tile,
    samples: &'a Samples<T>,
    first: CellPos,
    /// Whether every cell shows both triangles.
    all: bool,
    narrow: bool,
}

impl<T: Stored> TileWalk<'_, T> {
    /// The cells of a smallest square, near ones first: column by column along the major axis. True ends the walk.
    #[inline(always)]
    fn over_cells(&self, node: &Node, enter: f64, leave: f64, sink: &mut impl Sink) -> bool {
        let line = self.line;
        let cell = |axis: usize, i: usize| {
            let i = if line.back[axis] == 1 { (LEAF - 1 - i) as i32 } else { i as i32 };
            (node.at[axis] << RANGE_LOG2) + i
        };
        let sides = |axis: usize, near: f64, far: f64| {
            let inner = [1, 2, 3].map(|i: i32| {
                line.plane(axis, (node.at[axis] << RANGE_LOG2) + if line.back[axis] == 1 { 4 - i } else { i })
            });
            [near, inner[0], inner[1], inner[2], far]
        };
        let tm = sides(0, node.t[0], node.t[1]);
        let tn = sides(1, node.t[2], node.t[3]);
        let mut first = 0;
        for i in 0..LEAF {
            let (from, to) = (later(tm[i], enter), sooner(tm[i + 1], leave));
            if from > to + PAD {
                continue;
            }
            while first < LEAF && tn[first + 1] < from - PAD {
                first += 1;
            }
            for j in first..LEAF {
                if tn[j] > to + PAD {
                    break;
                }
                let at = [cell(0, i), cell(1, j)];
                if self.over_cell(at, later(tn[j], from), sooner(tn[j + 1], to), sink) {
                    return true;
                }
            }
        }
        false
    }

    #[inline(always)]
    fn over_cell(&self, at: [i32; 2], enter: f64, leave: f64, sink: &mut impl Sink) -> bool {
        let (x, z) = self.line.xz(at);
        let width = (self.tile.side().samples() + 3) as usize;
        let index = (z + 1) as usize * width + (x + 1) as usize;
        let square = &self.samples.values[index..index + width + 2];
        let [a, b, c, d] = [square[0], square[1], square[width], square[width + 1]];
        let (lo, hi) = (a.min(b).min(c.min(d)), a.max(b).max(c.max(d)));
        if self.line.misses(self.line.y, f64::from(lo.into()), f64::from(hi.into()), enter, leave) {
            return false;
        }
        let cell = CellPos::new(self.first.x + x, self.first.z + z);
        let mask = if self.all { 3 } else { self.tile.cell_mask(cell) };
        let q = [a, b, c, d].map(|v| self.samples.base.wrapping_add(v.into()));
        let anti = self.tile.is_anti(cell);
        for triangle in Triangle::BOTH {
            if mask & triangle.bit() == 0 {
                continue;
            }
            let target = Target { cell, triangle, anti, q };
            let exact = &self.line.exact;
            let found = if self.narrow { exact.meet(&target) } else { exact.meet_wide(&target) };
            if let Some(found) = found.filter(|f| self.line.faces.take(f.front))
                && sink.offer(found)
            {
                return true;
            }
        }
        false
    }
}
