//! Heights as 16-bit levels, and back as import takes them.

use super::survey::Survey;
use super::{ExportError, ExportOptions};
use crate::height::{HEIGHT_LIMIT, QuantumLog2};
use crate::import::LevelMap;

/// The highest level.
const TOP: i64 = 65_535;

/// What the levels from 0 to 65535 stand for.
#[derive(Clone, Debug)]
pub(crate) struct Levels {
    quantum: QuantumLog2,
    min_m: f64,
    max_m: f64,
    /// The quanta of level 0, and how many times two quanta a level is, where all heights are levels.
    exact: Option<(i64, u32)>,
    /// The level that stands for "no data".
    void: Option<u16>,
    map: LevelMap,
}

impl Levels {
    /// One quantum a level, or as many (a power of two) as every height is a multiple of, where the heights' range
    /// allows it and no other range is asked for. `reserve` keeps a level
    /// free for voids.
    ///
    /// # Errors
    /// A range that leaves a height out, or heights that need more levels and may not be rounded.
    pub(crate) fn choose(
        survey: &Survey,
        quantum: QuantumLog2,
        options: &ExportOptions,
        reserve: bool,
    ) -> Result<Self, ExportError> {
        let (low, high) = survey.range.unwrap_or((0, 0));
        let steps = i64::from(high) - i64::from(low);
        let most = TOP - i64::from(reserve);
        let metres = |q: i64| q as f64 * quantum.metres();
        let (range_m, exact) = match options.range_m {
            Some(range_m) => (range_m, None),
            None if steps >> survey.common_log2 <= most => {
                let shift = (0..=survey.common_log2).find(|&s| steps >> s <= most).unwrap_or_default();
                // Not so high that the top level leaves what import takes.
                let over = i64::from(low) + (TOP << shift) - (i64::from(HEIGHT_LIMIT) << quantum.get());
                let base = i64::from(low) - (((over.max(0) + (1 << shift) - 1) >> shift) << shift);
                ((metres(base), metres(base + (TOP << shift))), Some((base, shift)))
            }
            None if options.lossy => {
                // A little more than the heights' own range keeps the top level free.
                let span = if reserve { (steps * TOP).div_euclid(TOP - 1) + 1 } else { steps };
                ((metres(i64::from(low)), metres(i64::from(low) + span)), None)
            }
            None => {
                return Err(ExportError::refused(format!(
                    "the heights span {steps} steps of {} m, more than the {most} that 16 bits can tell apart: pass the --min and --max that they were made with, --lossy for steps of about {} m, or export GeoTIFF",
                    quantum.metres(),
                    metres(steps) / TOP as f64
                )));
            }
        };
        let map = LevelMap::new(range_m.0, range_m.1).map_err(|e| ExportError::refused(e.to_string()))?;
        let mut levels = Self { quantum, min_m: range_m.0, max_m: range_m.1, exact, void: None, map };
        if survey.range.is_some() {
            levels.check(low, high)?;
        }
        if reserve {
            levels.void = Some(levels.free(low, high)?);
        }
        Ok(levels)
    }

    fn check(&self, low: i32, high: i32) -> Result<(), ExportError> {
        if (0..=TOP).contains(&self.level(low)) && (0..=TOP).contains(&self.level(high)) {
            return Ok(());
        }
        let [low, high] = [low, high].map(|q| self.quantum.to_metres(q));
        Err(ExportError::refused(format!(
            "the heights from {low} to {high} m leave the range from {} to {} m: pass a wider --min and --max",
            self.min_m, self.max_m
        )))
    }

    /// A level beyond those of the heights.
    fn free(&self, low: i32, high: i32) -> Result<u16, ExportError> {
        if self.level(high) < TOP {
            Ok(TOP as u16)
        } else if self.level(low) > 0 {
            Ok(0)
        } else {
            Err(ExportError::refused(
                "samples without a height need a level of their own, and the heights take both ends of the range: pass a wider --max, or export PNG or GeoTIFF",
            ))
        }
    }

    fn level(&self, quanta: i32) -> i64 {
        match self.exact {
            Some((base, shift)) => (i64::from(quanta) - base) >> shift,
            None => {
                let share = (self.quantum.to_metres(quanta) - self.min_m) / (self.max_m - self.min_m);
                (share * TOP as f64 + 0.5).floor() as i64
            }
        }
    }

    /// The level of a height that was checked to have one.
    pub(crate) fn of(&self, quanta: i32) -> u16 {
        self.level(quanta) as u16
    }

    /// The quanta that import makes of a level, and its metres.
    pub(crate) fn back(&self, level: u16) -> (i64, f64) {
        self.map.back(level, self.quantum)
    }

    /// Whether every height is a level.
    pub(crate) fn is_exact(&self) -> bool {
        self.exact.is_some()
    }

    /// The level that stands for "no data".
    pub(crate) fn void(&self) -> Option<u16> {
        self.void
    }

    /// Metres of the levels 0 and 65535.
    pub(crate) fn range_m(&self) -> (f64, f64) {
        (self.min_m, self.max_m)
    }
}
