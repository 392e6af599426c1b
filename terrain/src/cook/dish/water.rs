//! Water: depth above the bed, in quanta.

use super::Ground;
use crate::config::TerrainConfig;
use crate::cook::plan::World;
use crate::cook::spline::{Line, Near, Profile, Strip};
use crate::height::VOID;
use std::ops::Range;

/// A lake's level and rivers.
pub(super) struct Waters {
    /// Quanta.
    level: Option<i64>,
    rivers: Vec<River>,
    samples: [u32; 2],
    spacing_m: f64,
    per_metre: f64,
    scale: f64,
    /// Quanta; 0 until it was looked for.
    pub(super) deepest: u32,
}

struct River {
    line: Line,
    half_m: f64,
    level: Profile,
}

impl Waters {
    pub(super) fn new(world: &World, config: &TerrainConfig, strips: &[Strip]) -> Self {
        let river = |s: &Strip| {
            let line = Line::of_points(s.points.clone());
            Some(River { line, half_m: s.width_m / 2.0, level: s.level.clone()? })
        };
        let per_metre = config.quantum.per_metre() as f64;
        Self {
            level: world.water.map(|w| (w.level_m * per_metre + 0.5).floor() as i64),
            rivers: strips.iter().filter_map(river).collect(),
            samples: config.samples,
            spacing_m: config.spacing_m(),
            per_metre,
            scale: config.vertical_scale,
            deepest: 0,
        }
    }

    pub(super) fn any(&self) -> bool {
        self.level.is_some() || !self.rivers.is_empty()
    }

    /// Depths of sample rows; the deepest water of all that reach a sample counts.
    pub(super) fn depths(&self, ground: &Ground, rows: Range<u32>, out: &mut [u32]) {
        let width = self.samples[0] as usize;
        let mut near = vec![Near::FAR; width];
        for (z, row) in rows.zip(out.chunks_exact_mut(width)) {
            let depth = |level: i64, q: i32| {
                if q == VOID { 0 } else { (level - i64::from(q)).clamp(0, i64::from(u32::MAX)) as u32 }
            };
            for (x, d) in row.iter_mut().enumerate() {
                *d = self.level.map_or(0, |level| depth(level, ground.at(x, z as usize)));
            }
            for river in &self.rivers {
                river.line.row(f64::from(z) * self.spacing_m, 0.0, self.spacing_m, river.half_m, &mut near);
                for (x, n) in near.iter().enumerate().filter(|(_, n)| n.distance2.is_finite()) {
                    let level = river.level.at(n.along) * self.scale;
                    let level = (level * self.per_metre + 0.5).floor() as i64;
                    row[x] = row[x].max(depth(level, ground.at(x, z as usize)));
                }
            }
        }
    }
}
