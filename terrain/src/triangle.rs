//! The triangle rule: which corners make triangle 0 and 1 of a cell, and the exact height on them.
//!
//! [`Triangle::corners`] is the one place that says which corners make a triangle. Vertices run counter-clockwise seen from above (Y up,
//! right-handed, x east, z south).

use crate::coord::CellPos;
use glam::DVec3;

/// Triangle 0 or 1 of a cell. Mask bit 0 shows triangle 0, bit 1 triangle 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Triangle {
    /// Triangle 0, which owns the diagonal.
    Zero,
    /// Triangle 1.
    One,
}

impl Triangle {
    /// Both, in order.
    pub const BOTH: [Triangle; 2] = [Triangle::Zero, Triangle::One];

    /// 0 or 1.
    pub const fn index(self) -> u8 {
        self as u8
    }

    /// The mask bit: 1 or 2.
    pub const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// The corners as (dx, dz). Main: 0 = (00, 11, 10), 1 = (00, 01, 11). Anti: 0 = (00, 01, 10), 1 = (10, 01, 11).
    pub const fn corners(self, anti: bool) -> [(i32, i32); 3] {
        match (anti, self) {
            (false, Triangle::Zero) => [(0, 0), (1, 1), (1, 0)],
            (false, Triangle::One) => [(0, 0), (0, 1), (1, 1)],
            (true, Triangle::Zero) => [(0, 0), (0, 1), (1, 0)],
            (true, Triangle::One) => [(1, 0), (0, 1), (1, 1)],
        }
    }

    /// Whether the closed triangle holds the point (fx, fz) of a cell whose side is `s` lattice units, 0 ≤ f ≤ s.
    pub const fn touches(self, anti: bool, fx: i64, fz: i64, s: i64) -> bool {
        match (anti, self) {
            (false, Triangle::Zero) => fx >= fz,
            (false, Triangle::One) => fx <= fz,
            (true, Triangle::Zero) => fx + fz <= s,
            (true, Triangle::One) => fx + fz >= s,
        }
    }

    /// The triangle that owns the point: triangle 0 has the diagonal.
    pub const fn owner(anti: bool, fx: i64, fz: i64, s: i64) -> Triangle {
        if Triangle::Zero.touches(anti, fx, fz, s) { Triangle::Zero } else { Triangle::One }
    }

    /// The slope of the triangle's plane as height differences in quanta along one cell: (per x, per z).
    /// `q` is [q00, q10, q01, q11].
    pub const fn gradient(self, anti: bool, q: [i32; 4]) -> (i64, i64) {
        let [q00, q10, q01, q11] = [q[0] as i64, q[1] as i64, q[2] as i64, q[3] as i64];
        match (anti, self) {
            (false, Triangle::Zero) => (q10 - q00, q11 - q10),
            (false, Triangle::One) => (q11 - q01, q01 - q00),
            (true, Triangle::Zero) => (q10 - q00, q01 - q00),
            (true, Triangle::One) => (q11 - q01, q11 - q10),
        }
    }

    /// How much each corner [00, 10, 01, 11] counts at the point (fx, fz) of the closed triangle: not negative, 0 for
    /// the corner that is not its own, `s` in all.
    pub const fn weights(self, anti: bool, fx: i64, fz: i64, s: i64) -> [i64; 4] {
        match (anti, self) {
            (false, Triangle::Zero) => [s - fx, fx - fz, 0, fz],
            (false, Triangle::One) => [s - fz, 0, fz - fx, fx],
            (true, Triangle::Zero) => [s - fx - fz, fx, fz, 0],
            (true, Triangle::One) => [0, s - fz, s - fx, fx + fz - s],
        }
    }
}

/// The numerator N of the height N / s in quanta at (fx, fz) on the plane of a triangle; exact.
///
/// |q| < 2²⁴ and s ≤ 2²⁴ keep |N| below 2⁵¹, so N and s are exact in `f64` and one division rounds correctly.
pub const fn plane_height(triangle: Triangle, anti: bool, q: [i32; 4], fx: i64, fz: i64, s: i64) -> i64 {
    let (gx, gz) = triangle.gradient(anti, q);
    match (anti, triangle) {
        (true, Triangle::One) => q[3] as i64 * s - gx * (s - fx) - gz * (s - fz),
        _ => q[0] as i64 * s + gx * fx + gz * fz,
    }
}

/// [`plane_height`] of any triangle of the cell that touches the point: all of them agree there. Without branches, since
/// which triangle it is cannot be foreseen: along a diagonal from a to b, the height is that of a, b and the corner on
/// the point's side, by barycentric weights. A corner without weight may be a void.
#[inline(always)]
pub const fn cell_height(anti: bool, q: [i32; 4], fx: i64, fz: i64, s: i64) -> i64 {
    let [q00, q10, q01, q11] = [q[0] as i64, q[1] as i64, q[2] as i64, q[3] as i64];
    // Anti is Main in a mirror.
    let (fx, a, b) = if anti { (s - fx, q10, q01) } else { (fx, q00, q11) };
    let (c, d) = if anti { (q00, q11) } else { (q10, q01) };
    // A product, not a choice: a choice may be compiled into a branch, which is guessed wrongly half of the time.
    let first = (fx >= fz) as i64;
    let side = c * first + d * (1 - first);
    let turn = (fx - fz) * first;
    let (near, far) = (fx - turn, fz + turn);
    a * (s - far) + side * (far - near) + b * near
}

/// A triangle of the surface in metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tri {
    /// Its cell.
    pub cell: CellPos,
    /// Which of the cell's two.
    pub triangle: Triangle,
    /// Counter-clockwise seen from above.
    pub vertices: [DVec3; 3],
}

impl Tri {
    /// The unit face normal, up.
    pub fn normal(&self) -> DVec3 {
        let [a, b, c] = self.vertices;
        (b - a).cross(c - a).normalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corners_run_counter_clockwise_seen_from_above() {
        for anti in [false, true] {
            for t in Triangle::BOTH {
                let [a, b, c] = t.corners(anti).map(|(x, z)| DVec3::new(f64::from(x), 0.0, f64::from(z)));
                assert_eq!((b - a).cross(c - a), DVec3::Y, "{anti} {t:?}");
            }
        }
    }

    #[test]
    fn the_height_in_a_cell_is_that_of_every_triangle_that_touches_the_point() {
        let (s, q) = (64, [7, -300, 41, 90]);
        for anti in [false, true] {
            for (fx, fz) in (0..=64).flat_map(|x| (0..=64).map(move |z| (x, z))) {
                for t in Triangle::BOTH.into_iter().filter(|t| t.touches(anti, fx, fz, s)) {
                    let expected = plane_height(t, anti, q, fx, fz, s);
                    assert_eq!(cell_height(anti, q, fx, fz, s), expected, "{anti} {t:?} {fx} {fz}");
                    // The corner that is no corner of the triangle does not matter.
                    let other = [0, 1, 2, 3].map(|i| {
                        let own = t.corners(anti).iter().any(|&(dx, dz)| dx + 2 * dz == i as i32);
                        if own { q[i] } else { i32::MIN }
                    });
                    assert_eq!(cell_height(anti, other, fx, fz, s), expected, "{anti} {t:?} {fx} {fz}");
                }
            }
        }
    }

    #[test]
    fn weights_sum_to_the_side_and_give_the_plane_s_height() {
        let (s, q) = (1000, [7, -300, 41, 90]);
        for anti in [false, true] {
            for t in Triangle::BOTH {
                for (fx, fz) in
                    [(0, 0), (1000, 0), (0, 1000), (1000, 1000), (250, 600), (600, 250), (500, 500)]
                {
                    if !t.touches(anti, fx, fz, s) {
                        continue;
                    }
                    let w = t.weights(anti, fx, fz, s);
                    assert!(w.iter().all(|&w| w >= 0) && w.iter().sum::<i64>() == s);
                    let height: i64 = w.iter().zip(q).map(|(w, q)| w * i64::from(q)).sum();
                    assert_eq!(height, plane_height(t, anti, q, fx, fz, s));
                }
            }
        }
    }

    #[test]
    fn plane_height_is_exact_at_corners_and_equal_on_the_diagonal() {
        let q = [-16_777_215, 16_777_215, 7, -3];
        let s = 1 << 24;
        for anti in [false, true] {
            for t in Triangle::BOTH {
                for (dx, dz) in t.corners(anti) {
                    let n = plane_height(t, anti, q, i64::from(dx) * s, i64::from(dz) * s, s);
                    assert_eq!(n, i64::from(q[(dx + 2 * dz) as usize]) * s);
                }
            }
            for f in [0, 1, 12_345, s / 2, s - 1, s] {
                let (fx, fz) = if anti { (f, s - f) } else { (f, f) };
                assert_eq!(
                    plane_height(Triangle::Zero, anti, q, fx, fz, s),
                    plane_height(Triangle::One, anti, q, fx, fz, s)
                );
            }
        }
    }
}
