//! How far each level reaches and where it morphs into the next.
//!
//! Owns the rule that makes ranges from a few numbers, and refuses ranges and morph bands that would leave cracks. Never
//! looks at a terrain.
//!
//! A level's grid has to lie on the next one's wherever the next begins, so its band ends within its range. The next
//! level may not morph yet where this one still reaches: nodes of a level stand in range when their nearest point does,
//! so their far corner reaches its range plus their diagonal.

use super::{FARTHEST, UNITS_PER_M};
use crate::kernel::pyramid::NODE_CELLS;

/// The most levels there can be: nodes of level 12 cover the 2¹⁷ samples of the largest terrain.
pub const MOST_LEVELS: u32 = 13;

/// How far a level is drawn and where it morphs, in 1/256 m from the view on the ground plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Band {
    /// A node is in range when its nearest point is nearer than this.
    pub range: u32,
    /// Vertices up to here stand on their own grid.
    pub start: u32,
    /// Vertices from here on stand on the next level's grid.
    pub end: u32,
}

/// The bands of levels 0, 1, … without contradictions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranges {
    spacing_256: u32,
    bands: Vec<Band>,
}

/// Ranges from a factor and terms, as the reference article has them: level L reaches `factor` · spacing · 2ᴸ and what
/// is added to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeRule {
    /// How far level 0 reaches, in samples.
    pub factor: u32,
    /// What is added to each level's range, in 1/256 m; nothing to levels beyond the last.
    pub additions_256: Vec<u32>,
    /// How much of the way from the range below to a level's own is its morph band, in 1/256.
    pub morph_256: u32,
    /// Whether the last level reaches everything, and never morphs.
    pub unlimited: bool,
}

impl Default for RangeRule {
    /// Three node sides, half of the way morphing, the whole terrain.
    fn default() -> Self {
        Self { factor: 3 * NODE_CELLS, additions_256: Vec::new(), morph_256: 128, unlimited: true }
    }
}

/// Why ranges and morph bands are refused: one line, in metres.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RangeError(String);

/// 1/256 m in metres, exactly.
struct Metres(u64);

impl std::fmt::Display for Metres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} m", self.0 as f64 / UNITS_PER_M as f64)
    }
}

/// The diagonal of a node, rounded up, in 1/256 m.
fn diagonal(spacing_256: u32, level: u32) -> u64 {
    let side = u128::from(u64::from(NODE_CELLS << level) * u64::from(spacing_256));
    let square = 2 * side * side;
    let floor = square.isqrt();
    (floor + u128::from(floor * floor < square)) as u64
}

impl Ranges {
    /// Takes bands as they are, level 0 first.
    ///
    /// # Errors
    /// No bands or more than [`MOST_LEVELS`]; a band that is empty, reversed, or reaches beyond its range; a range beyond
    /// 2³¹ or not longer than the one below; a band that begins where the level below still reaches.
    pub fn new(spacing_256: u32, bands: Vec<Band>) -> Result<Self, RangeError> {
        let refuse = |reason: String| Err(RangeError(reason));
        if bands.is_empty() || bands.len() > MOST_LEVELS as usize {
            return refuse(format!(
                "expected the ranges of 1 to {MOST_LEVELS} levels, found {}",
                bands.len()
            ));
        }
        for (level, band) in bands.iter().enumerate() {
            let [range, start, end] = [band.range, band.start, band.end].map(|v| Metres(u64::from(v)));
            if band.range == 0 || band.range > FARTHEST {
                let most = Metres(u64::from(FARTHEST));
                return refuse(format!(
                    "level {level}: its range must be more than 0 and at most {most}, found {range}"
                ));
            }
            if band.start >= band.end || band.end > band.range {
                return refuse(format!(
                    "level {level}: its morph band must begin before it ends, and end within its range of {range}, \
                     found {start} to {end}"
                ));
            }
            let Some(below) = level.checked_sub(1).map(|l| bands[l]) else { continue };
            let [below_range, reach] =
                [0, diagonal(spacing_256, level as u32 - 1)].map(|d| u64::from(below.range) + d);
            if band.range <= below.range {
                let below = Metres(below_range);
                return refuse(format!(
                    "level {level}: its range must be longer than that of level {}, {below}, found {range}",
                    level - 1
                ));
            }
            if u64::from(band.start) < reach {
                let reach = Metres(reach);
                return refuse(format!(
                    "level {level}: its morph band begins at {start}, but nodes of level {} reach {reach}: \
                     ranges and morph bands disagree",
                    level - 1
                ));
            }
        }
        Ok(Self { spacing_256, bands })
    }

    /// The bands of some levels by a rule.
    ///
    /// # Errors
    /// As [`Ranges::new`]; a share that is no part of the way.
    pub fn by_rule(rule: &RangeRule, spacing_256: u32, levels: u32) -> Result<Self, RangeError> {
        if !(1..=256).contains(&rule.morph_256) {
            return Err(RangeError(format!(
                "the morph band must be 1/256 to 256/256 of the way, found {}/256",
                rule.morph_256
            )));
        }
        if rule.additions_256.len() > levels as usize {
            return Err(RangeError(format!(
                "{} distances are added, but there are {levels} levels",
                rule.additions_256.len()
            )));
        }
        let mut bands = Vec::new();
        let mut below = 0;
        for level in 0..levels {
            let added = rule.additions_256.get(level as usize).copied().unwrap_or(0);
            let range = ((u128::from(rule.factor) * u128::from(spacing_256)) << level) + u128::from(added);
            // What is too long is refused below, whatever its number.
            let mut range = range.min(u128::from(u32::MAX)) as u32;
            let mut start =
                range - (u64::from(range.saturating_sub(below)) * u64::from(rule.morph_256) / 256) as u32;
            if rule.unlimited && level + 1 == levels {
                (range, start) = (FARTHEST, FARTHEST - 1);
            }
            bands.push(Band { range, start, end: range });
            below = range;
        }
        Self::new(spacing_256, bands)
    }

    /// The bands, level 0 first.
    pub fn bands(&self) -> &[Band] {
        &self.bands
    }

    /// The spacing they were made for, in 1/256 m.
    pub fn spacing_256(&self) -> u32 {
        self.spacing_256
    }
}
