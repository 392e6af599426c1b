//! Integer positions on the terrain lattice: samples, cells, blocks and the fine query lattice.
//!
//! Owns the conversions between them, which all round towards −∞. Never holds heights.

use serde::{Deserialize, Serialize};

/// Fine lattice units a metre: query positions are rounded to 2⁻¹⁶ m.
pub const LATTICE_PER_M: i64 = 1 << 16;

/// The largest lattice coordinate a query may use, in lattice units (±2⁴⁰, about 16,777 km).
pub const LATTICE_LIMIT: i64 = 1 << 40;

/// A height sample, at `x · spacing`, `z · spacing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SamplePos {
    /// East, in samples.
    pub x: i32,
    /// South, in samples.
    pub z: i32,
}

/// A quad between the samples (x, z), (x+1, z), (x, z+1) and (x+1, z+1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CellPos {
    /// East, in cells.
    pub x: i32,
    /// South, in cells.
    pub z: i32,
}

/// A block of samples: the unit of storage, streaming and publication. Ordered by z, then x (row-major).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BlockPos {
    /// East, in blocks.
    pub x: i32,
    /// South, in blocks.
    pub z: i32,
}

impl Ord for BlockPos {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.z, self.x).cmp(&(other.z, other.x))
    }
}

impl PartialOrd for BlockPos {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// A page of the world's surface: a square of texels of one mip. Ordered by mip, z, then x.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PagePos {
    /// Texels are 2^mip of the finest ones a side.
    pub mip: u32,
    /// East, in pages of this mip.
    pub x: i32,
    /// South, in pages of this mip.
    pub z: i32,
}

impl Ord for PagePos {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.mip, self.z, self.x).cmp(&(other.mip, other.z, other.x))
    }
}

impl PartialOrd for PagePos {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// A point on the fine query lattice, in units of 2⁻¹⁶ m.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LatticePos {
    /// East, in 2⁻¹⁶ m.
    pub x: i64,
    /// South, in 2⁻¹⁶ m.
    pub z: i64,
}

/// Why a position in metres is no query position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LatticeError {
    /// NaN or an infinity.
    #[error("the position is not a finite number")]
    NotFinite,
    /// Beyond ±2⁴⁰ lattice units.
    #[error("the position is beyond ±16777216 m")]
    TooFar,
}

/// Rounds metres to the 2⁻¹⁶ m lattice, exactly and half up.
///
/// # Errors
/// NaN, infinities and results beyond ±[`LATTICE_LIMIT`] are refused.
#[inline]
pub fn lattice_round(metres: f64) -> Result<i64, LatticeError> {
    // Scaling by a power of two is exact, or overflows to an infinity, which is refused.
    let scaled = metres * LATTICE_PER_M as f64;
    let limit = LATTICE_LIMIT as f64;
    const WHOLE: f64 = 1.5 * (1u64 << 52) as f64;
    if scaled >= -limit - 0.5 && scaled < limit + 0.5 {
        // Beside 1.5 · 2⁵² an f64 has no room for fractions: the sum is rounded to a whole number, halves to even ones, and
        // its last bits are that number. The rest is exact, and says which halves went down.
        let sum = scaled + WHOLE;
        let whole = sum.to_bits().wrapping_sub(WHOLE.to_bits()) as i64;
        return Ok(whole + i64::from(scaled - (sum - WHOLE) == 0.5));
    }
    Err(if metres.is_finite() { LatticeError::TooFar } else { LatticeError::NotFinite })
}

impl LatticePos {
    /// The lattice point nearest to a position in metres (half up).
    ///
    /// # Errors
    /// See [`lattice_round`].
    #[inline]
    pub fn from_metres(x: f64, z: f64) -> Result<Self, LatticeError> {
        Ok(Self { x: lattice_round(x)?, z: lattice_round(z)? })
    }
}

impl SamplePos {
    /// A sample position.
    pub const fn new(x: i32, z: i32) -> Self {
        Self { x, z }
    }
}

impl CellPos {
    /// A cell position.
    pub const fn new(x: i32, z: i32) -> Self {
        Self { x, z }
    }

    /// The cell's corner sample: `dx`, `dz` are 0 or 1.
    pub const fn corner(self, dx: i32, dz: i32) -> SamplePos {
        SamplePos { x: self.x + dx, z: self.z + dz }
    }
}

impl PagePos {
    /// A page position.
    pub const fn new(mip: u32, x: i32, z: i32) -> Self {
        Self { mip, x, z }
    }

    /// The page of the next mip that covers it.
    pub const fn parent(self) -> PagePos {
        PagePos { mip: self.mip + 1, x: self.x >> 1, z: self.z >> 1 }
    }
}

impl BlockPos {
    /// A block position.
    pub const fn new(x: i32, z: i32) -> Self {
        Self { x, z }
    }

    /// The nine blocks around and including this one, in (z, x) order.
    pub fn neighbourhood(self) -> impl Iterator<Item = BlockPos> {
        (-1..=1).flat_map(move |dz| (-1..=1).map(move |dx| BlockPos { x: self.x + dx, z: self.z + dz }))
    }
}

/// Samples a side of a block: a power of two from 32 to 128.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct BlockSide(u8);

impl BlockSide {
    /// 32 samples, the default of the content world.
    pub const S32: BlockSide = BlockSide(5);
    /// 64 samples.
    pub const S64: BlockSide = BlockSide(6);
    /// 128 samples, the reference article's block.
    pub const S128: BlockSide = BlockSide(7);

    /// Samples a side.
    pub const fn samples(self) -> i32 {
        1 << self.0
    }

    /// log₂ of the samples a side.
    pub const fn log2(self) -> u32 {
        self.0 as u32
    }

    /// The block a sample is stored in.
    pub const fn block_of_sample(self, s: SamplePos) -> BlockPos {
        BlockPos { x: s.x >> self.0, z: s.z >> self.0 }
    }

    /// The block a cell belongs to: that of its 00 corner.
    pub const fn block_of_cell(self, c: CellPos) -> BlockPos {
        BlockPos { x: c.x >> self.0, z: c.z >> self.0 }
    }

    /// The first sample (and cell) of a block.
    pub const fn first_sample(self, b: BlockPos) -> SamplePos {
        SamplePos { x: b.x << self.0, z: b.z << self.0 }
    }

    /// How many blocks a count of samples needs.
    pub const fn blocks_for(self, samples: u32) -> u32 {
        samples.div_ceil(1 << self.0)
    }
}

impl TryFrom<u32> for BlockSide {
    type Error = String;

    fn try_from(value: u32) -> Result<Self, String> {
        match value {
            32 => Ok(Self::S32),
            64 => Ok(Self::S64),
            128 => Ok(Self::S128),
            _ => Err(format!("a block side must be 32, 64 or 128 samples, found {value}")),
        }
    }
}

impl From<BlockSide> for u32 {
    fn from(value: BlockSide) -> Self {
        1 << value.0
    }
}

/// A half-open rectangle of whole cells: `x0 ≤ x < x1`, `z0 ≤ z < z1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellRect {
    /// First column.
    pub x0: i32,
    /// First row.
    pub z0: i32,
    /// One past the last column.
    pub x1: i32,
    /// One past the last row.
    pub z1: i32,
}

impl CellRect {
    /// Whether the cell lies in the rectangle.
    pub const fn contains(self, c: CellPos) -> bool {
        c.x >= self.x0 && c.x < self.x1 && c.z >= self.z0 && c.z < self.z1
    }

    /// Whether there is no cell in it.
    pub const fn is_empty(self) -> bool {
        self.x0 >= self.x1 || self.z0 >= self.z1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lattice_rounds_half_up_on_both_sides_of_zero() {
        let half = 0.5 / 65536.0;
        assert_eq!(lattice_round(half), Ok(1));
        assert_eq!(lattice_round(-half), Ok(0));
        assert_eq!(lattice_round(-3.0 * half), Ok(-1));
        assert_eq!(lattice_round(1.0), Ok(65536));
        // Against floor, over fractions on both sides of zero.
        for i in -4000..4000 {
            let scaled = f64::from(i) / 16.0 + f64::from(i % 3) * 1e-9;
            let floor = scaled.floor();
            let expected = floor as i64 + i64::from(scaled - floor >= 0.5);
            assert_eq!(lattice_round(scaled / 65536.0), Ok(expected), "{scaled}");
        }
        // The nearest f64 below a half stays below it.
        assert_eq!(lattice_round(half.next_down()), Ok(0));
    }

    #[test]
    fn lattice_refuses_what_is_no_position() {
        assert_eq!(lattice_round(f64::NAN), Err(LatticeError::NotFinite));
        assert_eq!(lattice_round(f64::INFINITY), Err(LatticeError::NotFinite));
        assert_eq!(lattice_round(f64::MAX), Err(LatticeError::TooFar));
        assert_eq!(lattice_round(16_777_216.0), Ok(LATTICE_LIMIT));
        assert_eq!(lattice_round(16_777_216.1), Err(LatticeError::TooFar));
        // The last half unit: half up takes it in below and not above.
        let half = 0.5 / 65536.0;
        assert_eq!(lattice_round(16_777_216.0 + half), Err(LatticeError::TooFar));
        assert_eq!(lattice_round((16_777_216.0 + half).next_down()), Ok(LATTICE_LIMIT));
        assert_eq!(lattice_round(-16_777_216.0 - half), Ok(-LATTICE_LIMIT));
        assert_eq!(lattice_round((-16_777_216.0 - half).next_down()), Err(LatticeError::TooFar));
    }

    #[test]
    fn negative_samples_belong_to_the_block_below() {
        let s = BlockSide::S32;
        assert_eq!(s.block_of_sample(SamplePos::new(-1, -33)), BlockPos::new(-1, -2));
        assert_eq!(s.first_sample(BlockPos::new(-1, 2)), SamplePos::new(-32, 64));
    }

    #[test]
    fn pages_order_by_mip_and_row_and_parents_round_down() {
        assert!(PagePos::new(0, 9, 9) < PagePos::new(1, 0, 0));
        assert!(PagePos::new(2, 9, 0) < PagePos::new(2, 0, 1));
        assert_eq!(PagePos::new(3, -1, 5).parent(), PagePos::new(4, -1, 2));
    }

    #[test]
    fn blocks_order_by_row_first() {
        assert!(BlockPos::new(9, 0) < BlockPos::new(0, 1));
    }
}
