//! Whether a segment meets a triangle, where, and which of several hits comes first: decided in integers.
//!
//! The plane of a triangle is F(p) = s · (y − Y) − GX · (x − X) − GZ · (z − Z) = 0 in lattice units, with whole numbers
//! throughout. Along a segment F is linear, so it is hit at t = num / den with whole num and den; whether the point lies in
//! the triangle, who owns it and which of two hits is nearer are comparisons of products. Positions stay below 2⁴¹, so
//! that F stays below 2⁸⁴ and every product below 2¹²⁷; where a tile and a ray keep F below 2⁶² (nearly always) it is
//! worked out in 64 bits. Never rounds but for `t`, which only orders what is clearly apart.

use crate::coord::CellPos;
use crate::surface::Triangle;
use std::cmp::Ordering;

/// A triangle that a segment meets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    /// t = num / den of the segment, 0 ≤ num ≤ den, den > 0.
    pub(super) num: i128,
    pub(super) den: i128,
    /// The same, rounded: off by less than 2⁻⁵¹.
    pub(super) t: f64,
    pub(super) cell: CellPos,
    pub(super) triangle: Triangle,
    /// Whether the upper side is hit.
    pub(super) front: bool,
    /// Whether the triangle owns the point by the point rule.
    pub(super) owner: bool,
}

/// Beyond this two rounded t tell which is less.
const CLEAR: f64 = 1.0 / (1u64 << 50) as f64;

impl Candidate {
    /// Which of two hits of one segment is nearer: exact.
    pub(super) fn nearer(&self, other: &Self) -> Ordering {
        if self.t + CLEAR < other.t {
            return Ordering::Less;
        }
        if other.t + CLEAR < self.t {
            return Ordering::Greater;
        }
        compare_fractions([self.num, self.den], [other.num, other.den])
    }

    /// The nearer one first; of those that share a point the owner by the point rule, then (z, x, triangle).
    pub(super) fn order(&self, other: &Self) -> Ordering {
        let key = |c: &Self| (!c.owner, c.cell.z, c.cell.x, c.triangle);
        self.nearer(other).then_with(|| key(self).cmp(&key(other)))
    }
}

/// Compares fractions that are not negative, with positive denominators.
fn compare_fractions([a, b]: [i128; 2], [c, d]: [i128; 2]) -> Ordering {
    if [a, b, c, d].iter().all(|&v| v < 1 << 63) {
        return (a * d).cmp(&(c * b));
    }
    // Whole parts first, then the rests turned upside down (Euclid).
    let ([mut a, mut b], [mut c, mut d]) = ([a, b], [c, d]);
    loop {
        let order = (a / b).cmp(&(c / d));
        let (rest, other) = (a % b, c % d);
        match (order, rest, other) {
            (Ordering::Equal, 0, _) | (Ordering::Equal, _, 0) => return rest.min(1).cmp(&other.min(1)),
            (Ordering::Equal, _, _) => (a, b, c, d) = (d, other, b, rest),
            (order, _, _) => return order,
        }
    }
}

/// A segment in terrain-local lattice units, and the terrain's constants.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exact {
    pub(super) start: [i64; 3],
    pub(super) dir: [i64; 3],
    /// Lattice units a cell side.
    pub(super) s: i64,
    /// Lattice units a quantum.
    pub(super) unit: i64,
    /// The last cells of the map, which own its far edges.
    pub(super) last: [i32; 2],
}

/// A triangle to be met.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) cell: CellPos,
    pub(super) triangle: Triangle,
    pub(super) anti: bool,
    /// Quanta of the cell's corners [00, 10, 01, 11].
    pub(super) q: [i32; 4],
}

macro_rules! meet {
    ($(#[$doc:meta])* $name:ident, $int:ty) => {
        $(#[$doc])*
        pub(super) fn $name(&self, target: &Target) -> Option<Candidate> {
            let [dx, dy, dz] = self.dir;
            let (s, unit) = (self.s as $int, self.unit as $int);
            let [x, z] = self.local(target.cell);
            let (gx, gz) = target.triangle.gradient(target.anti, target.q);
            let (gx, gz) = (gx as $int * unit, gz as $int * unit);
            // The plane's height over corner 00, which is not a corner of Anti's triangle 1.
            let [q00, q10, q01, q11] = target.q.map(|q| q as $int);
            let level = if target.anti && target.triangle == Triangle::One { q10 + q01 - q11 } else { q00 };
            let f0 = s * (self.start[1] as $int - level * unit) - gx * x as $int - gz * z as $int;
            let fd = s * dy as $int - gx * dx as $int - gz * dz as $int;
            if fd == 0 {
                return if f0 == 0 { self.in_plane(target, [x, z]) } else { None };
            }
            // F is positive above the plane, so that where it falls the ray comes from above.
            let (num, den, front) = if fd < 0 { (f0, -fd, true) } else { (-f0, fd, false) };
            if num < 0 || num > den {
                return None;
            }
            let t = num as f64 / den as f64;
            let (num, den) = (num as i128, den as i128);
            // The point in the cell, times den.
            let h = [
                i128::from(x) * den + i128::from(dx) * num,
                i128::from(z) * den + i128::from(dz) * num,
            ];
            let side = i128::from(self.s) * den;
            let owner = self.owner(target, h, side)?;
            let Target { cell, triangle, .. } = *target;
            Some(Candidate { num, den, t, cell, triangle, front, owner })
        }
    };
}

impl Exact {
    /// The start over the ground, from the cell's corner 00.
    #[inline(always)]
    fn local(&self, cell: CellPos) -> [i64; 2] {
        [self.start[0] - i64::from(cell.x) * self.s, self.start[2] - i64::from(cell.z) * self.s]
    }

    meet!(
        /// Where the segment meets the closed triangle, if it does. Only where F stays below 2⁶².
        #[inline(always)]
        meet,
        i64
    );
    meet!(
        /// Where the segment meets the closed triangle, if it does.
        #[cold]
        #[inline(never)]
        meet_wide,
        i128
    );

    /// Whether the closed triangle holds a point (`None` when not) and owns it. The point is counted from the cell's
    /// corner 00, the cell's side is `side`.
    #[inline(always)]
    fn owner(&self, target: &Target, [x, z]: [i128; 2], side: i128) -> Option<bool> {
        if x < 0 || z < 0 || x > side || z > side {
            return None;
        }
        // Positive in triangle 0, negative in triangle 1.
        let across = if target.anti { side - x - z } else { x - z };
        let (inside, on_own_side) = match target.triangle {
            Triangle::Zero => (across >= 0, true),
            Triangle::One => (across <= 0, across < 0),
        };
        let (last_x, last_z) = (target.cell.x == self.last[0], target.cell.z == self.last[1]);
        let in_cell = (x < side || last_x) && (z < side || last_z);
        inside.then_some(in_cell && on_own_side)
    }

    /// Where a segment in the plane of a triangle enters it.
    fn in_plane(&self, target: &Target, [x, z]: [i64; 2]) -> Option<Candidate> {
        let ([dx, _, dz], s) = (self.dir, self.s);
        // Three functions along the segment, value and slope, that are not negative inside.
        let edges: [[i64; 2]; 3] = match (target.anti, target.triangle) {
            (false, Triangle::Zero) => [[z, dz], [s - x, -dx], [x - z, dx - dz]],
            (false, Triangle::One) => [[x, dx], [s - z, -dz], [z - x, dz - dx]],
            (true, Triangle::Zero) => [[x, dx], [z, dz], [s - x - z, -dx - dz]],
            (true, Triangle::One) => [[s - x, -dx], [s - z, -dz], [x + z - s, dx + dz]],
        };
        let (mut enter, mut leave) = ([0i128, 1], [1i128, 1]);
        for [value, slope] in edges.map(|e| e.map(i128::from)) {
            if slope <= 0 && value < 0 {
                return None;
            }
            if slope > 0 && -value * enter[1] > enter[0] * slope {
                enter = [-value, slope];
            }
            if slope < 0 && value * leave[1] < leave[0] * -slope {
                leave = [value, -slope];
            }
        }
        let [num, den] = enter;
        if num * leave[1] > leave[0] * den {
            return None;
        }
        let point = [i128::from(x) * den + i128::from(dx) * num, i128::from(z) * den + i128::from(dz) * num];
        let owner = self.owner(target, point, i128::from(s) * den)?;
        let Target { cell, triangle, .. } = *target;
        Some(Candidate { num, den, t: num as f64 / den as f64, cell, triangle, front: true, owner })
    }

    /// Whether the segment touches a closed rectangle over the ground, given by its corners in lattice units.
    pub(super) fn touches(&self, min: [i64; 2], max: [i64; 2]) -> bool {
        let (a, d) = ([self.start[0], self.start[2]], [self.dir[0], self.dir[2]]);
        for i in 0..2 {
            let b = a[i] + d[i];
            if a[i].max(b) < min[i] || a[i].min(b) > max[i] {
                return false;
            }
        }
        // And not all corners lie to one side of its line.
        let side = |x: i64, z: i64| {
            let (x, z) = (i128::from(x - a[0]), i128::from(z - a[1]));
            (i128::from(d[0]) * z - i128::from(d[1]) * x).signum()
        };
        let sides = [side(min[0], min[1]), side(max[0], min[1]), side(min[0], max[1]), side(max[0], max[1])];
        sides.contains(&0) || sides.contains(&1) && sides.contains(&-1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_compare_exactly_beyond_what_products_hold() {
        let big = 1i128 << 120;
        assert_eq!(compare_fractions([big, 3 * big], [1, 3]), Ordering::Equal);
        assert_eq!(compare_fractions([big, 3 * big + 1], [1, 3]), Ordering::Less);
        assert_eq!(compare_fractions([1, 3], [big, 3 * big + 1]), Ordering::Greater);
        assert_eq!(compare_fractions([0, big], [0, 1]), Ordering::Equal);
        assert_eq!(compare_fractions([0, big], [1, big]), Ordering::Less);
        assert_eq!(compare_fractions([big, big], [1, 1]), Ordering::Equal);
        // Against products, scaled up so that the long way is taken.
        for i in 0..4000i128 {
            let (a, b, c, d) = (i * 7919 % 101, 1 + i * 31 % 97, i * 104_729 % 89, 1 + i * 17 % 83);
            let long = compare_fractions([a * big / 128, b * big / 128], [c << 70, d << 70]);
            assert_eq!(long, (a * d).cmp(&(c * b)), "{a}/{b} {c}/{d}");
        }
    }

    #[test]
    fn sixty_four_bits_find_what_more_find() {
        let mut state = 5u64;
        let mut next = |n: i64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as i64 % (2 * n + 1) - n
        };
        let (mut hits, mut level) = (0, 0);
        for i in 0..40_000 {
            let s = 256;
            // Few values, so that edges, corners and planes are common.
            let q: [i32; 4] = std::array::from_fn(|_| next(2) as i32);
            let start = [next(8) * 64, next(6) * 64, next(8) * 64];
            let end = [next(8) * 64, next(6) * 64, next(8) * 64];
            let exact =
                Exact { start, dir: std::array::from_fn(|i| end[i] - start[i]), s, unit: 128, last: [0, 3] };
            let triangle = Triangle::BOTH[i % 2];
            let target = Target { cell: CellPos::new(0, 0), triangle, anti: i % 3 == 0, q };
            let (short, long) = (exact.meet(&target), exact.meet_wide(&target));
            assert_eq!(format!("{short:?}"), format!("{long:?}"));
            hits += usize::from(short.is_some());
            level += usize::from(short.is_some_and(|c| c.den < 256 * 64));
        }
        assert!(hits > 1000 && level > 10, "{hits} {level}");
    }

    #[test]
    fn a_segment_touches_what_it_only_grazes() {
        let exact = |a: [i64; 2], b: [i64; 2]| Exact {
            start: [a[0], 0, a[1]],
            dir: [b[0] - a[0], 0, b[1] - a[1]],
            s: 1,
            unit: 1,
            last: [0, 0],
        };
        let square = ([10, 10], [20, 20]);
        for (a, b, touches) in [
            ([0, 20], [20, 0], true),
            ([0, 19], [19, 0], false),
            ([0, 10], [10, 10], true),
            ([0, 10], [9, 10], false),
            ([20, 0], [20, 50], true),
            ([21, 0], [21, 50], false),
            ([15, 15], [15, 15], true),
            ([0, 40], [40, 0], true),
            ([0, 41], [41, 0], false),
        ] {
            assert_eq!(exact(a, b).touches(square.0, square.1), touches, "{a:?} {b:?}");
            assert_eq!(exact(b, a).touches(square.0, square.1), touches, "{b:?} {a:?}");
        }
    }
}
