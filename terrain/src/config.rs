//! Terrain configuration: the part of a world that changes bits, and its hash.
//!
//! Everything here is written into payload headers and compared at handshakes. What must not change bits (threads,
//! cache sizes, budgets) never appears here.

use crate::coord::{BlockPos, BlockSide, CellPos, CellRect, SamplePos};
use crate::height::QuantumLog2;
use serde::{Deserialize, Serialize};

/// Spacing is counted in 1/256 m.
pub const SPACING_PER_M: u32 = 256;

/// The largest spacing, 256 m: with it the integer height arithmetic cannot overflow.
pub const MAX_SPACING_256: u32 = 256 * SPACING_PER_M;

/// The largest number of samples an axis may have.
pub const MAX_SAMPLES: u32 = 1 << 17;

/// The largest side of a terrain in metres: what query positions can reach.
pub const MAX_SIDE_M: u64 = 1 << 24;

/// Which diagonal splits a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Diagonal {
    /// 00–11 everywhere.
    Main,
    /// 10–01 everywhere.
    Anti,
    /// Anti where x+z is even, Main where odd.
    Checkerboard,
}

impl Diagonal {
    /// Whether this cell is split along 10–01.
    pub const fn is_anti(self, cell: CellPos) -> bool {
        match self {
            Diagonal::Main => false,
            Diagonal::Anti => true,
            Diagonal::Checkerboard => (cell.x ^ cell.z) & 1 == 0,
        }
    }

    /// The name used in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Diagonal::Main => "main",
            Diagonal::Anti => "anti",
            Diagonal::Checkerboard => "checkerboard",
        }
    }
}

/// A terrain's translation in its world: whole samples and whole quanta, never rotation or scale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Placement {
    /// East, in samples.
    pub x: i32,
    /// South, in samples.
    pub z: i32,
    /// Up, in quanta.
    pub y: i32,
}

/// What changes the bits of a terrain. Hashed into its digest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TerrainConfig {
    /// Samples along x and z, at least 2 each.
    pub samples: [u32; 2],
    /// Spacing in 1/256 m, from 1 to [`MAX_SPACING_256`].
    pub spacing_256: u32,
    /// k: heights are counted in 2⁻ᵏ m.
    pub quantum: QuantumLog2,
    /// A record of the exaggeration that cooking applied, positive; never applied again.
    pub vertical_scale: f64,
    /// How cells are split.
    pub diagonal: Diagonal,
    /// The cells that may carry surface.
    pub extent: CellRect,
    /// Where the terrain stands in its world.
    pub placement: Placement,
    /// Paint texels a cell side: 1, 2 or 4.
    pub paint_per_cell: u8,
}

/// Why a configuration is refused. Each message says what was found and what is allowed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// An axis has too few or too many samples.
    #[error("a terrain needs 2 to {MAX_SAMPLES} samples a side, found {0}x{1}")]
    Samples(u32, u32),
    /// Spacing out of range.
    #[error("the spacing must be a multiple of 1/256 m from 1/256 to 256 m, found {0}/256 m")]
    Spacing(u32),
    /// A side is longer than [`MAX_SIDE_M`].
    #[error("a terrain's side may be at most 16777216 m, found {0} m")]
    Side(u64),
    /// Vertical scale not positive and finite.
    #[error("the vertical scale must be a positive number, found {0}")]
    VerticalScale(f64),
    /// Extent leaves the map or is empty.
    #[error(
        "the valid extent, cells {x0},{z0} to {x1},{z1}, must be a non-empty rectangle inside the {1}x{2} cells of the terrain",
        x0 = .0.x0, z0 = .0.z0, x1 = .0.x1, z1 = .0.z1
    )]
    Extent(CellRect, u32, u32),
    /// A placement that takes the terrain out of reach.
    #[error(
        "a placement must keep all of the terrain within 16777216 m of the world's origin and lift it by less than 2^24 quanta, found {0:?}"
    )]
    Placement(Placement),
    /// Paint resolution.
    #[error("paint must have 1, 2 or 4 texels a cell side, found {0}")]
    Paint(u8),
}

impl TerrainConfig {
    /// A configuration with the defaults: k = 7, vertical scale 1, Main diagonal, everything valid.
    pub fn new(samples: [u32; 2], spacing_256: u32) -> Self {
        Self {
            samples,
            spacing_256,
            quantum: QuantumLog2::DEFAULT,
            vertical_scale: 1.0,
            diagonal: Diagonal::Main,
            extent: CellRect { x0: 0, z0: 0, x1: samples[0] as i32 - 1, z1: samples[1] as i32 - 1 },
            placement: Placement::default(),
            paint_per_cell: 1,
        }
    }

    /// Refuses what the integer arithmetic could not carry or what makes no terrain.
    ///
    /// # Errors
    /// The first rule that is broken, with what was found.
    pub fn check(&self) -> Result<(), ConfigError> {
        let [w, h] = self.samples;
        if !(2..=MAX_SAMPLES).contains(&w) || !(2..=MAX_SAMPLES).contains(&h) {
            return Err(ConfigError::Samples(w, h));
        }
        if !(1..=MAX_SPACING_256).contains(&self.spacing_256) {
            return Err(ConfigError::Spacing(self.spacing_256));
        }
        let side = u64::from(w.max(h) - 1) * u64::from(self.spacing_256) / u64::from(SPACING_PER_M);
        if side > MAX_SIDE_M {
            return Err(ConfigError::Side(side));
        }
        if !(self.vertical_scale.is_finite() && self.vertical_scale > 0.0) {
            return Err(ConfigError::VerticalScale(self.vertical_scale));
        }
        let e = self.extent;
        let (cw, ch) = (w as i32 - 1, h as i32 - 1);
        if e.is_empty() || e.x0 < 0 || e.z0 < 0 || e.x1 > cw || e.z1 > ch {
            return Err(ConfigError::Extent(e, w - 1, h - 1));
        }
        // Both ends of both axes must have query positions; the lift keeps height numerators below 2⁵².
        let (s, p) = (self.spacing_lattice(), self.placement);
        let reach = |start: i32, samples: u32| {
            [i64::from(start), i64::from(start) + i64::from(samples) - 1].map(|i| i.saturating_mul(s).abs())
        };
        let far = reach(p.x, w).into_iter().chain(reach(p.z, h)).any(|v| v > crate::coord::LATTICE_LIMIT);
        if far || p.y.unsigned_abs() >= crate::height::HEIGHT_LIMIT as u32 {
            return Err(ConfigError::Placement(p));
        }
        if !matches!(self.paint_per_cell, 1 | 2 | 4) {
            return Err(ConfigError::Paint(self.paint_per_cell));
        }
        Ok(())
    }

    /// Spacing in metres (exact).
    pub fn spacing_m(&self) -> f64 {
        f64::from(self.spacing_256) / f64::from(SPACING_PER_M)
    }

    /// Spacing in fine lattice units of 2⁻¹⁶ m.
    pub fn spacing_lattice(&self) -> i64 {
        i64::from(self.spacing_256) * (crate::coord::LATTICE_PER_M / i64::from(SPACING_PER_M))
    }

    /// Where sample (0, 0) at height 0 stands in the world, in metres (exact).
    pub fn origin_m(&self) -> [f64; 3] {
        let p = self.placement;
        [
            f64::from(p.x) * self.spacing_m(),
            f64::from(p.y) * self.quantum.metres(),
            f64::from(p.z) * self.spacing_m(),
        ]
    }

    /// The cell under a world position in metres, by floor. It may lie anywhere: far outside it is as far as cells go, and
    /// no number is cell 0.
    pub fn cell_under(&self, x: f64, z: f64) -> CellPos {
        // `as` saturates.
        let cell = |v: f64, placed: i32| ((v / self.spacing_m()).floor() as i32).saturating_sub(placed);
        CellPos::new(cell(x, self.placement.x), cell(z, self.placement.z))
    }

    /// The edges of the valid extent in the world, in metres (exact): west, north, east and south.
    pub fn extent_m(&self) -> [f64; 4] {
        let (e, p) = (self.extent, self.placement);
        let at = |cell: i32, placed: i32| (f64::from(cell) + f64::from(placed)) * self.spacing_m();
        [at(e.x0, p.x), at(e.z0, p.z), at(e.x1, p.x), at(e.z1, p.z)]
    }

    /// Cells along x and z.
    pub fn cells(&self) -> [i32; 2] {
        [self.samples[0] as i32 - 1, self.samples[1] as i32 - 1]
    }

    /// All cells of the map, valid or not.
    pub fn cell_rect(&self) -> CellRect {
        let [x1, z1] = self.cells();
        CellRect { x0: 0, z0: 0, x1, z1 }
    }

    /// Whether the sample is on the map.
    pub fn has_sample(&self, s: SamplePos) -> bool {
        s.x >= 0 && s.z >= 0 && (s.x as u32) < self.samples[0] && (s.z as u32) < self.samples[1]
    }

    /// Blocks along x and z.
    pub fn blocks(&self, side: BlockSide) -> [u32; 2] {
        [side.blocks_for(self.samples[0]), side.blocks_for(self.samples[1])]
    }

    /// Whether the block is on the map.
    pub fn has_block(&self, side: BlockSide, b: BlockPos) -> bool {
        let [w, h] = self.blocks(side);
        b.x >= 0 && b.z >= 0 && (b.x as u32) < w && (b.z as u32) < h
    }

    /// The canonical bytes that are hashed into digests: little-endian, fixed order, 51 bytes.
    pub fn canonical_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(51);
        for v in self.samples {
            out.extend(v.to_le_bytes());
        }
        out.extend(self.spacing_256.to_le_bytes());
        out.push(self.quantum.get());
        out.extend(self.vertical_scale.to_bits().to_le_bytes());
        out.push(match self.diagonal {
            Diagonal::Main => 0,
            Diagonal::Anti => 1,
            Diagonal::Checkerboard => 2,
        });
        for v in [self.extent.x0, self.extent.z0, self.extent.x1, self.extent.z1] {
            out.extend(v.to_le_bytes());
        }
        for v in [self.placement.x, self.placement.z, self.placement.y] {
            out.extend(v.to_le_bytes());
        }
        out.push(self.paint_per_cell);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkerboard_is_anti_where_the_sum_is_even() {
        assert!(Diagonal::Checkerboard.is_anti(CellPos::new(0, 0)));
        assert!(!Diagonal::Checkerboard.is_anti(CellPos::new(1, 0)));
        assert!(Diagonal::Checkerboard.is_anti(CellPos::new(-1, -1)));
        assert!(!Diagonal::Checkerboard.is_anti(CellPos::new(-1, 0)));
    }

    #[test]
    fn what_the_arithmetic_cannot_carry_is_refused() {
        let ok = TerrainConfig::new([2, 2], 256);
        assert_eq!(ok.check(), Ok(()));
        let far = Placement { x: (1 << 24) - 1, z: -(1 << 24), y: 1 - (1 << 24) };
        assert_eq!(TerrainConfig { placement: far, ..ok }.check(), Ok(()));
        for bad in [
            TerrainConfig { samples: [1, 2], ..ok },
            TerrainConfig { samples: [200_000, 200_000], ..ok },
            TerrainConfig { spacing_256: 0, ..ok },
            TerrainConfig { spacing_256: MAX_SPACING_256 + 1, ..ok },
            TerrainConfig { vertical_scale: 0.0, ..ok },
            TerrainConfig { vertical_scale: f64::NAN, ..ok },
            TerrainConfig { extent: CellRect { x0: 0, z0: 0, x1: 2, z1: 1 }, ..ok },
            TerrainConfig { extent: CellRect { x0: 0, z0: 0, x1: 0, z1: 1 }, ..ok },
            TerrainConfig { placement: Placement { x: 1 << 24, z: 0, y: 0 }, ..ok },
            TerrainConfig { placement: Placement { x: i32::MAX, z: 0, y: 0 }, ..ok },
            TerrainConfig { placement: Placement { x: 0, z: i32::MIN, y: 0 }, ..ok },
            TerrainConfig { placement: Placement { x: 0, z: 0, y: 1 << 24 }, ..ok },
            TerrainConfig { paint_per_cell: 3, ..ok },
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
    }
}
