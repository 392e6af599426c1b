//! One look at a whole terrain before anything of it is written.

use super::{ExportError, rows};
use crate::config::TerrainConfig;
use crate::coord::CellPos;
use crate::height::{QuantumLog2, VOID};
use crate::store::BlockSource;
use crate::surface::Triangle;

/// What a terrain's heights are like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Survey {
    /// Lowest and highest, in quanta; `None` when all are void.
    pub(crate) range: Option<(i32, i32)>,
    /// Heights differ by multiples of 2 to this many quanta.
    pub(crate) common_log2: u32,
    /// Samples without a height.
    pub(crate) voids: u64,
    /// The first sample that is not at a whole metre.
    pub(crate) fraction: Option<([u32; 2], i32)>,
    /// Cells with a triangle removed that no void removes.
    pub(crate) holes: u64,
}

impl Survey {
    pub(crate) fn of(source: &dyn BlockSource) -> Result<Self, ExportError> {
        let config = source.config();
        let per_metre = config.quantum.per_metre() as i32;
        // No two heights differ by as much.
        let mut survey = Self { common_log2: 25, ..Self::default() };
        let mut first = None;
        let (mut before, mut cells): (Vec<i32>, Vec<u8>) = (Vec::new(), Vec::new());
        rows::each(source, |z, row| {
            for (x, &q) in row.heights.iter().enumerate() {
                if q == VOID {
                    survey.voids += 1;
                    continue;
                }
                let apart = q.abs_diff(*first.get_or_insert(q));
                survey.common_log2 = survey.common_log2.min((apart | 1 << 25).trailing_zeros());
                survey.range = Some(survey.range.map_or((q, q), |(low, high)| (low.min(q), high.max(q))));
                if survey.fraction.is_none() && q % per_metre != 0 {
                    survey.fraction = Some(([x as u32, z], q));
                }
            }
            if z > 0 {
                survey.holes += holes(config, z as i32 - 1, [&before, row.heights], &cells);
            }
            before.clear();
            before.extend(row.heights);
            cells.clear();
            cells.extend(row.mask);
            Ok(())
        })?;
        Ok(survey)
    }

    /// Whether every height rounds to a whole metre that 16 bits hold beside the mark for "no data".
    pub(crate) fn fits_i16(&self, k: QuantumLog2) -> bool {
        let whole = |q: i32| (2 * i64::from(q) + k.per_metre()).div_euclid(2 * k.per_metre());
        self.range.is_none_or(|(low, high)| whole(low) >= -32_767 && whole(high) <= 32_767)
    }

    /// What a file of heights alone does not carry.
    pub(crate) fn notes(&self, config: &TerrainConfig) -> Vec<String> {
        let mut notes = Vec::new();
        if self.holes > 0 {
            notes.push(format!("{} cells with a triangle removed where no void is: not carried", self.holes));
        }
        if config.extent != config.cell_rect() {
            notes.push("a valid extent smaller than the map: not carried".to_owned());
        }
        if config.vertical_scale != 1.0 {
            notes.push(format!("the record of a vertical scale of {}: not carried", config.vertical_scale));
        }
        notes
    }
}

/// How many cells of a row inside the extent have a triangle removed that touches no void.
fn holes(config: &TerrainConfig, z: i32, heights: [&[i32]; 2], mask: &[u8]) -> u64 {
    let hole = |(x, &mask): (usize, &u8)| {
        let cell = CellPos::new(x as i32, z);
        config.extent.contains(cell)
            && Triangle::BOTH.into_iter().any(|t| {
                let corners = t.corners(config.diagonal.is_anti(cell));
                let whole = corners.iter().all(|&(dx, dz)| heights[dz as usize][x + dx as usize] != VOID);
                whole && mask >> t.index() & 1 == 0
            })
    };
    mask.iter().enumerate().filter(|&c| hole(c)).count() as u64
}
