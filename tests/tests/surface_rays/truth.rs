//! The ground as exact rational arithmetic knows it, by brute force over all triangles. Nothing of the product decides here.

use highground_terrain::config::{Diagonal, Placement, TerrainConfig};
use highground_terrain::coord::{BlockSide, CellRect};
use highground_terrain::store::{MemoryTerrain, Raster};
use highground_terrain::surface::Ground;
use highground_tests::random::Random;
use std::cmp::Ordering;

/// Samples, spacing in 1/256 m, lattice units a cell and a quantum (k = 7).
pub(super) const SIZE: [i64; 2] = [164, 150];
pub(super) const SPACING_256: u32 = 320;
pub(super) const S: i64 = 320 * 256;
pub(super) const UNIT: i64 = 1 << 9;
/// First and end of the valid cells.
pub(super) const EXTENT: [[i64; 2]; 2] = [[1, 2], [162, 148]];
/// Higher and lower than all ground, in lattice units.
pub(super) const TOP: i64 = 1 << 24;
pub(super) const MODES: [Diagonal; 3] = [Diagonal::Main, Diagonal::Anti, Diagonal::Checkerboard];

/// The ground as this file knows it.
pub(super) struct Truth {
    pub(super) anti: fn(i64, i64) -> bool,
    pub(super) heights: Vec<i64>,
    /// Whether triangle 0 and triangle 1 of a cell are there.
    pub(super) shown: Vec<[bool; 2]>,
    pub(super) ground: Ground,
}

/// A hit as a fraction of the way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hit {
    pub(super) num: i128,
    pub(super) den: i128,
    pub(super) front: bool,
    pub(super) cell: [i64; 2],
    pub(super) triangle: u8,
    pub(super) owns: bool,
}

pub(super) type P3 = [i128; 3];

pub(super) fn minus(a: P3, b: P3) -> P3 {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

pub(super) fn cross(a: P3, b: P3) -> P3 {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

pub(super) fn dot(a: P3, b: P3) -> i128 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

impl Truth {
    /// Hills of tens of metres with steps of up to a metre; holes of one to a few cells and half-cells of both kinds.
    pub(super) fn new(mode: Diagonal, seed: u64, placement: Placement) -> Self {
        let mut random = Random(seed);
        let [w, h] = SIZE;
        let (a, b) = (random.within(20, 60), random.within(20, 60));
        let tent = |v: i64, n: i64| (v.rem_euclid(n) - n / 2).abs();
        let heights: Vec<i64> = (0..w * h)
            .map(|i| (tent(i % w, a) + tent(i / w + i % w / 3, b)) * 61 + random.within(-64, 64))
            .collect();
        let mut shown = vec![[true; 2]; ((w - 1) * (h - 1)) as usize];
        for _ in 0..700 {
            let (x, z) = (random.within(0, w - 2), random.within(0, h - 2));
            match random.next() % 5 {
                0 => shown[(z * (w - 1) + x) as usize] = [false; 2],
                1 => {
                    for (dx, dz) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                        let (x, z) = ((x + dx).min(w - 2), (z + dz).min(h - 2));
                        shown[(z * (w - 1) + x) as usize] = [false; 2];
                    }
                }
                n => shown[(z * (w - 1) + x) as usize][n as usize % 2] = false,
            }
        }
        // Some along the borders of blocks, where an answer comes from another block.
        for i in 0..120 {
            let (x, z) =
                if i % 2 == 0 { (32 * (1 + i % 5) - i % 3, i) } else { (i, 32 * (1 + i % 4) - i % 3) };
            if x < w - 1 && z < h - 1 {
                shown[(z * (w - 1) + x) as usize] =
                    [[false, true], [true, false], [false; 2]][i as usize % 3];
            }
        }
        let mut config = TerrainConfig::new([w as u32, h as u32], SPACING_256);
        config.diagonal = mode;
        config.placement = placement;
        let [[x0, z0], [x1, z1]] = EXTENT.map(|p| p.map(|v| v as i32));
        config.extent = CellRect { x0, z0, x1, z1 };
        let mut raster = Raster::from_heights(config, heights.iter().map(|&q| q as i32).collect());
        for (mask, shown) in raster.mask.iter_mut().zip(&shown) {
            *mask &= u8::from(shown[0]) | u8::from(shown[1]) << 1;
        }
        for (i, shown) in shown.iter_mut().enumerate() {
            let (x, z) = (i as i64 % (w - 1), i as i64 / (w - 1));
            let inside = x >= EXTENT[0][0] && z >= EXTENT[0][1] && x < EXTENT[1][0] && z < EXTENT[1][1];
            *shown = if inside { *shown } else { [false; 2] };
        }
        let anti: fn(i64, i64) -> bool = match mode {
            Diagonal::Main => |_, _| false,
            Diagonal::Anti => |_, _| true,
            Diagonal::Checkerboard => |x, z| (x + z) % 2 == 0,
        };
        let ground = MemoryTerrain::new(raster, BlockSide::S32).ground_all();
        Self { anti, heights, shown, ground }
    }

    pub(super) fn shown(&self, x: i64, z: i64) -> [bool; 2] {
        self.shown[(z * (SIZE[0] - 1) + x) as usize]
    }

    /// A sample in lattice units.
    pub(super) fn vertex(&self, x: i64, z: i64) -> P3 {
        let y = self.heights[(z * SIZE[0] + x) as usize] * UNIT;
        [i128::from(x * S), i128::from(y), i128::from(z * S)]
    }

    /// The corners of a triangle, counter-clockwise from above: the surface's contract, written down again.
    pub(super) fn corners(&self, x: i64, z: i64, triangle: usize) -> [P3; 3] {
        let [c00, c10, c01, c11] =
            [self.vertex(x, z), self.vertex(x + 1, z), self.vertex(x, z + 1), self.vertex(x + 1, z + 1)];
        match ((self.anti)(x, z), triangle) {
            (false, 0) => [c00, c11, c10],
            (false, _) => [c00, c01, c11],
            (true, 0) => [c00, c01, c10],
            (true, _) => [c10, c01, c11],
        }
    }

    /// Every hit of a segment, the nearest first and among those at one point the one that the point rule prefers.
    pub(super) fn brute(&self, a: [i64; 3], b: [i64; 3]) -> Vec<Hit> {
        let (a, b) = (a.map(i128::from), b.map(i128::from));
        let d = minus(b, a);
        let range = |i: usize, cells: i64| {
            let s = i128::from(S);
            let lo = ((a[i].min(b[i]) - 1).div_euclid(s) as i64).max(0);
            (lo, (a[i].max(b[i]).div_euclid(s) as i64).min(cells - 1))
        };
        let ((x0, x1), (z0, z1)) = (range(0, SIZE[0] - 1), range(2, SIZE[1] - 1));
        let mut hits = Vec::new();
        for z in z0..=z1 {
            for x in x0..=x1 {
                if !square_meets(a, d, x, z) {
                    continue;
                }
                for triangle in 0..2 {
                    if self.shown(x, z)[triangle] {
                        hits.extend(self.meet(a, d, x, z, triangle));
                    }
                }
            }
        }
        let key = |h: &Hit| (!h.owns, h.cell[1], h.cell[0], h.triangle);
        hits.sort_by(|p, q| by_distance(p, q).then_with(|| key(p).cmp(&key(q))));
        hits
    }

    /// The closed triangle and the closed segment from `a` along `d`.
    pub(super) fn meet(&self, a: P3, d: P3, x: i64, z: i64, triangle: usize) -> Option<Hit> {
        let v = self.corners(x, z, triangle);
        let n = cross(minus(v[1], v[0]), minus(v[2], v[0]));
        let (height, rise) = (dot(n, minus(a, v[0])), dot(n, d));
        let (num, den, front) = match rise.cmp(&0) {
            Ordering::Less => (height, -rise, true),
            Ordering::Greater => (-height, rise, false),
            Ordering::Equal if height == 0 => {
                let (num, den) = enters(&v, a, d)?;
                (num, den, true)
            }
            Ordering::Equal => return None,
        };
        if num < 0 || num > den {
            return None;
        }
        // The point times den, over the ground; to the left of every edge (which run clockwise in x and z).
        let p = [a[0] * den + d[0] * num, a[2] * den + d[2] * num];
        for i in 0..3 {
            let (from, to) = (v[i], v[(i + 1) % 3]);
            let side =
                (to[0] - from[0]) * (p[1] - from[2] * den) - (to[2] - from[2]) * (p[0] - from[0] * den);
            if side > 0 {
                return None;
            }
        }
        let owns = self.owner(p, den) == ([x, z], triangle);
        Some(Hit { num, den, front, cell: [x, z], triangle: triangle as u8, owns })
    }

    /// The cell and triangle that a point (times `den`) belongs to: the cell by floor, the far map edge to the last one,
    /// the diagonal to triangle 0.
    pub(super) fn owner(&self, p: [i128; 2], den: i128) -> ([i64; 2], usize) {
        let side = i128::from(S) * den;
        let cell = [0, 1].map(|i| (p[i].div_euclid(side) as i64).min(SIZE[i] - 2));
        let [fx, fz] = [0, 1].map(|i| p[i] - i128::from(cell[i]) * side);
        let one = if (self.anti)(cell[0], cell[1]) { fx + fz > side } else { fz > fx };
        (cell, usize::from(one))
    }

    /// The exact height over a lattice point, as a hit on the way from [`TOP`] to −TOP.
    pub(super) fn height(&self, x: i64, z: i64) -> Option<Hit> {
        self.brute([x, TOP, z], [x, -TOP, z]).first().copied()
    }
}

pub(super) fn by_distance(p: &Hit, q: &Hit) -> Ordering {
    (p.num * q.den).cmp(&(q.num * p.den))
}

/// Whether the segment meets the closed square of a cell.
pub(super) fn square_meets(a: P3, d: P3, x: i64, z: i64) -> bool {
    let s = i128::from(S);
    let (x, z) = (i128::from(x) * s - a[0], i128::from(z) * s - a[2]);
    if d[0].max(0) < x || d[0].min(0) > x + s || d[2].max(0) < z || d[2].min(0) > z + s {
        return false;
    }
    let sides = [(x, z), (x + s, z), (x, z + s), (x + s, z + s)].map(|(x, z)| (d[0] * z - d[2] * x).signum());
    !(sides.iter().all(|&v| v > 0) || sides.iter().all(|&v| v < 0))
}

/// Where a segment in a triangle's plane enters it: cut by its three edges over the ground.
pub(super) fn enters(v: &[P3; 3], a: P3, d: P3) -> Option<(i128, i128)> {
    let (mut enter, mut leave) = ((0, 1), (1, 1));
    for i in 0..3 {
        let (from, to) = (v[i], v[(i + 1) % 3]);
        let (ex, ez) = (to[0] - from[0], to[2] - from[2]);
        // Not positive inside.
        let (value, slope) = (ex * (a[2] - from[2]) - ez * (a[0] - from[0]), ex * d[2] - ez * d[0]);
        match slope.cmp(&0) {
            Ordering::Equal if value > 0 => return None,
            Ordering::Equal => {}
            // Inside once value + slope · t ≤ 0.
            Ordering::Less if value * enter.1 > enter.0 * -slope => enter = (value, -slope),
            Ordering::Greater if -value * leave.1 < leave.0 * slope => leave = (-value, slope),
            _ => {}
        }
    }
    (enter.0 * leave.1 <= leave.0 * enter.1).then_some(enter)
}

/// The `f64` nearest to a fraction, ties to even, by long division.
pub(super) fn nearest(num: i128, den: i128) -> f64 {
    if num == 0 {
        return 0.0;
    }
    let (mut n, mut d, mut exponent) = (num.unsigned_abs(), den.unsigned_abs(), 0i32);
    while n / d < 1 << 52 {
        (n, exponent) = (n << 1, exponent - 1);
    }
    while n / d >= 1 << 53 {
        (d, exponent) = (d << 1, exponent + 1);
    }
    let (mut q, rest) = (n / d, n % d);
    match (2 * rest).cmp(&d) {
        Ordering::Greater => q += 1,
        Ordering::Equal => q += q & 1,
        Ordering::Less => {}
    }
    let scale = f64::from_bits(((1023 + i64::from(exponent)) as u64) << 52);
    q as f64 * scale * if num < 0 { -1.0 } else { 1.0 }
}

pub(super) fn metres(p: [i64; 3]) -> glam::DVec3 {
    glam::DVec3::from(p.map(|v| v as f64 / 65536.0))
}
