//! From positions in the world to cells of the terrain: what a query needs of the configuration, worked out once.
//!
//! Positions are world lattice units of 2⁻¹⁶ m outside and terrain-local ones inside; a placement is the difference, a
//! whole number of units. Never rounds.

use crate::config::TerrainConfig;
use crate::coord::{LATTICE_PER_M, LatticePos};

/// Constants of one terrain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// Lattice units a cell side, at most 2²⁴.
    pub(crate) s: i64,
    /// ⌈2⁶⁴ / s⌉.
    inverse: u64,
    /// `s` as a float.
    pub(crate) s_f64: f64,
    /// Lattice units a quantum.
    pub(crate) unit: i64,
    /// One quantum in metres.
    pub(crate) quantum_m: f64,
    /// Where the terrain's origin stands in the world: x, y, z in lattice units.
    pub(crate) origin: [i64; 3],
    /// The same in metres (exact).
    pub(crate) origin_m: [f64; 3],
    /// The numerator, over `s`, of the height in quanta that the terrain is lifted by.
    lift: i64,
    /// The valid extent in local lattice units, closed: x and z.
    pub(crate) min: [i64; 2],
    pub(crate) max: [i64; 2],
    /// The last cells of the map.
    pub(crate) last: [i32; 2],
    /// The last cells of the extent.
    pub(crate) far: [i32; 2],
}

impl Frame {
    pub(crate) fn new(config: &TerrainConfig) -> Self {
        let s = config.spacing_lattice();
        let (p, e) = (config.placement, config.extent);
        let unit = LATTICE_PER_M >> config.quantum.get();
        Self {
            s,
            inverse: (u64::MAX / s as u64) + 1,
            s_f64: s as f64,
            unit,
            quantum_m: config.quantum.metres(),
            origin: [i64::from(p.x) * s, i64::from(p.y) * unit, i64::from(p.z) * s],
            origin_m: config.origin_m(),
            lift: i64::from(p.y) * s,
            min: [i64::from(e.x0) * s, i64::from(e.z0) * s],
            max: [i64::from(e.x1) * s, i64::from(e.z1) * s],
            last: config.cells().map(|n| n - 1),
            far: [e.x1 - 1, e.z1 - 1],
        }
    }

    /// A world position in local lattice units.
    #[inline(always)]
    pub(crate) fn local(&self, p: LatticePos) -> LatticePos {
        LatticePos { x: p.x - self.origin[0], z: p.z - self.origin[2] }
    }

    /// Whether the local position is in the closed extent.
    #[inline(always)]
    pub(crate) fn contains(&self, p: LatticePos) -> bool {
        // Without short cuts: four comparisons cost less than a branch that is guessed wrongly.
        (p.x >= self.min[0]) & (p.x <= self.max[0]) & (p.z >= self.min[1]) & (p.z <= self.max[1])
    }

    /// The whole number of sides in a local coordinate from 0 to 2⁴⁰: exact, since with s ≤ 2²⁴ the reciprocal is too
    /// large by less than s / 2⁶⁴ of it, which adds less than 1/s.
    #[inline(always)]
    pub(crate) fn cell(&self, v: i64) -> i32 {
        ((u128::from(v as u64) * u128::from(self.inverse)) >> 64) as i32
    }

    /// The world height of a numerator in quanta over `s`, in metres: one rounding, since numerator and `s` are exact.
    #[inline(always)]
    pub(crate) fn metres(&self, numerator: i64) -> f64 {
        (numerator + self.lift) as f64 / self.s_f64 * self.quantum_m
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_those_of_a_division() {
        for spacing_256 in [1, 2, 3, 7, 255, 256, 257, 320, 512, 7680, 65_535, 65_536] {
            let frame = Frame::new(&TerrainConfig::new([2, 2], spacing_256));
            let s = frame.s;
            let mut v = 1;
            while v <= 1 << 40 {
                for near in [v - 1, v, v + 1, v / s * s - 1, v / s * s, v / s * s + s - 1] {
                    if (0..=1 << 40).contains(&near) && near / s < 1 << 31 {
                        assert_eq!(i64::from(frame.cell(near)), near / s, "{near} / {s}");
                    }
                }
                v = v * 3 / 2 + 1;
            }
        }
    }
}
