//! Ways: where a platform is in a tick, as a pure function of the tick.
//!
//! Owns the arithmetic and its limits. A way is a line of points walked at one speed, round and round or there and
//! back, and a steady turn about Y. Never keeps where it was: the same tick gives the same bits whoever asks, in
//! whatever order, so nothing accumulates. Computed with the operations of IEEE 754 and `libm`.

use crate::config::TICK_SECONDS;
use glam::{DQuat, DVec3};
use highground_terrain::coord::LatticePos;
use highground_terrain::parry::math::Pose;
use serde::{Deserialize, Serialize};

/// The most points of a way.
pub const MAX_POINTS: usize = 64;
/// Neighbouring points stand at least this far apart, in metres.
const LEAST_LEG_M: f64 = 0.01;
/// The highest and lowest that a point may stand, in metres.
const MOST_HEIGHT_M: f64 = 100_000.0;
/// The fastest turn, in radians a second.
const MOST_TURN: f64 = 4.0;

/// What follows the last point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WayEnd {
    /// The first, along a straight line.
    Loop,
    /// The same way back.
    ThereAndBack,
}

/// A way as it is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Way {
    /// Where the platform's middle goes, in metres: 1 to [`MAX_POINTS`]. A single one is where it stays.
    pub points: Vec<[f64; 3]>,
    /// Metres a second along it; 0 stands at the first point.
    pub speed: f64,
    /// What follows the last point.
    pub end: WayEnd,
    /// Radians a second about Y, counter-clockwise seen from above.
    pub turn: f64,
}

impl Way {
    /// Refuses what is no way, or is faster than `max_speed` (m/s) at a rim that stands `reach` metres from the middle.
    ///
    /// # Errors
    /// What is wrong: what is allowed and what was found.
    pub fn check(&self, reach: f64, max_speed: f64) -> Result<(), String> {
        let Self { points, speed, turn, .. } = self;
        if points.is_empty() || points.len() > MAX_POINTS {
            return Err(format!("a way must have 1 to {MAX_POINTS} points, found {}", points.len()));
        }
        for (i, &[x, y, z]) in points.iter().enumerate() {
            LatticePos::from_metres(x, z).map_err(|e| format!("point {i} of a way: {e}"))?;
            if !(-MOST_HEIGHT_M..=MOST_HEIGHT_M).contains(&y) {
                return Err(format!(
                    "point {i} of a way must be {} to {MOST_HEIGHT_M} m high, found {y}",
                    -MOST_HEIGHT_M
                ));
            }
        }
        if let Some((i, length)) = self.legs().enumerate().find(|(_, l)| *l < LEAST_LEG_M) {
            return Err(format!(
                "points of a way must stand {LEAST_LEG_M} m apart or more, found {length} after point {i}"
            ));
        }
        if !(-MOST_TURN..=MOST_TURN).contains(turn) {
            return Err(format!(
                "a platform must turn by {} to {MOST_TURN} a second, found {turn}",
                -MOST_TURN
            ));
        }
        let rim = speed + turn.abs() * reach;
        if !(*speed >= 0.0 && rim <= max_speed) {
            return Err(format!(
                "a platform's speed must be 0 or more, and with that of its rim at most {max_speed} m/s, found {speed} and {rim}"
            ));
        }
        Ok(())
    }

    /// Lengths from point to point in metres, and back to the first on a loop.
    fn legs(&self) -> impl Iterator<Item = f64> + '_ {
        let n = self.points.len();
        let count = if self.end == WayEnd::Loop && n > 1 { n } else { n - 1 };
        (0..count).map(move |i| (self.point(i + 1) - self.point(i)).length())
    }

    fn point(&self, i: usize) -> DVec3 {
        DVec3::from(self.points[i % self.points.len()])
    }

    /// Where the platform is `ticks` ticks after it came.
    ///
    /// # Panics
    /// Without a point: see [`Way::check`].
    pub fn pose(&self, ticks: u64) -> Pose {
        // The product and not a sum of steps, so that no error grows.
        let seconds = ticks as f64 * TICK_SECONDS;
        let angle = self.turn * seconds;
        let angle = angle - std::f64::consts::TAU * (angle / std::f64::consts::TAU).floor();
        let half = 0.5 * angle;
        let rotation = DQuat::from_xyzw(0.0, libm::sin(half), 0.0, libm::cos(half));
        Pose::from_parts(self.place(self.speed * seconds), rotation)
    }

    /// The place `gone` metres along.
    fn place(&self, gone: f64) -> DVec3 {
        let length: f64 = self.legs().sum();
        if length <= 0.0 {
            return self.point(0);
        }
        let round = if self.end == WayEnd::Loop { length } else { 2.0 * length };
        let mut left = gone - round * (gone / round).floor();
        if left > length {
            left = (round - left).max(0.0);
        }
        let last = self.legs().count() - 1;
        for (i, leg) in self.legs().enumerate() {
            if left <= leg || i == last {
                let (from, to) = (self.point(i), self.point(i + 1));
                return from + (to - from) * (left / leg).clamp(0.0, 1.0);
            }
            left -= leg;
        }
        self.point(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(points: &[[f64; 3]], speed: f64, end: WayEnd, turn: f64) -> Way {
        Way { points: points.to_vec(), speed, end, turn }
    }

    #[test]
    fn a_way_there_and_back_is_a_triangle_wave_and_a_loop_goes_round() {
        let line = [[2.0, 1.0, 5.0], [8.0, 1.0, 5.0]];
        let there = way(&line, 1.5, WayEnd::ThereAndBack, 0.0);
        let around = way(&[[0.0; 3], [3.0, 0.0, 0.0], [3.0, 0.0, 4.0]], 2.0, WayEnd::Loop, 0.0);
        for tick in 0..2000u64 {
            let t = tick as f64 / 60.0;
            let saw = (t * 1.5).rem_euclid(12.0);
            let x = 2.0 + if saw < 6.0 { saw } else { 12.0 - saw };
            assert!((there.pose(tick).translation - DVec3::new(x, 1.0, 5.0)).length() < 1e-9, "tick {tick}");
            // 3, 4 and 5 m: a round takes 6 s.
            let d = (t * 2.0).rem_euclid(12.0);
            let p = match d {
                _ if d < 3.0 => DVec3::new(d, 0.0, 0.0),
                _ if d < 7.0 => DVec3::new(3.0, 0.0, d - 3.0),
                _ => DVec3::new(3.0, 0.0, 4.0) * ((12.0 - d) / 5.0),
            };
            assert!((around.pose(tick).translation - p).length() < 1e-9, "tick {tick}");
        }
        // After a thousand hours it still is where it should be: 60 s are 90 m, seven rounds and a half.
        assert!((there.pose(216_000_000).translation.x - there.pose(0).translation.x).abs() < 1e-4);
    }

    #[test]
    fn no_step_is_longer_than_the_speed_and_a_turn_is_about_y() {
        let way = way(&[[0.0; 3], [1.0, 2.0, 0.5], [-3.0, 0.0, 2.0]], 4.0, WayEnd::Loop, -0.7);
        let mut before = way.pose(0);
        for tick in 1..3000 {
            let now = way.pose(tick);
            assert!((now.translation - before.translation).length() <= 4.0 / 60.0 + 1e-9);
            let turned = now.rotation * DVec3::X;
            let angle = -0.7 * tick as f64 / 60.0;
            // About Y, east turns towards north.
            assert!(
                (turned - DVec3::new(libm::cos(angle), 0.0, -libm::sin(angle))).length() < 1e-9,
                "tick {tick}"
            );
            before = now;
        }
    }

    #[test]
    fn what_is_no_way_is_refused_by_name() {
        let good = way(&[[0.0; 3], [5.0, 0.0, 0.0]], 2.0, WayEnd::Loop, 0.5);
        assert_eq!(good.check(2.0, 60.0), Ok(()));
        let bad = [
            (Way { points: Vec::new(), ..good.clone() }, "1 to 64 points, found 0"),
            (Way { points: vec![[0.0; 3]; 65], ..good.clone() }, "found 65"),
            (Way { points: vec![[f64::NAN, 0.0, 0.0]], ..good.clone() }, "point 0"),
            (Way { points: vec![[0.0, f64::INFINITY, 0.0]], ..good.clone() }, "m high, found inf"),
            (Way { points: vec![[1.0; 3], [1.0; 3]], ..good.clone() }, "0.01 m apart or more, found 0"),
            (Way { speed: -1.0, ..good.clone() }, "found -1"),
            (Way { speed: f64::NAN, ..good.clone() }, "found NaN"),
            (Way { speed: 59.5, ..good.clone() }, "at most 60 m/s, found 59.5 and 60.5"),
            (Way { turn: 9.0, ..good.clone() }, "must turn by -4 to 4 a second, found 9"),
        ];
        for (way, text) in bad {
            let error = way.check(2.0, 60.0).unwrap_err();
            assert!(error.contains(text), "{error} for {way:?}");
        }
        // A point alone never moves, at whatever speed.
        let alone = Way { points: vec![[1.0, 2.0, 3.0]], ..good };
        assert_eq!(alone.check(2.0, 60.0), Ok(()));
        assert_eq!(alone.pose(977).translation, DVec3::new(1.0, 2.0, 3.0));
    }
}
