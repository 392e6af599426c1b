//! Moving while the ground carries: lift, slide, drop.

use super::WalkerState;
use super::mover::{INTO, Mover, Planes, clip, wall};
use glam::DVec3;
use highground_terrain::surface::Coverage;

/// A drop that ends this near to where it began has not moved the walker, in metres: rounding must not make it creep.
const STILL_M: f64 = 1e-6;
/// Walls that one piece of a stride may meet before it gives up.
const MOST_WALLS: usize = 4;
/// A stride is walked in at most this many pieces.
const MOST_PIECES: f64 = 64.0;

/// What became of a stride.
pub(super) struct Stride {
    pub(super) position: DVec3,
    pub(super) velocity: DVec3,
    pub(super) grounded: bool,
    /// Seconds that are left when the ground ended.
    pub(super) time_left: f64,
}

impl Stride {
    pub(super) fn state(&self) -> WalkerState {
        WalkerState { position: self.position, velocity: self.velocity, grounded: self.grounded }
    }
}

impl Mover<'_> {
    /// Moves with a level velocity for `dt` seconds, on the ground at the start. Keeps the horizontal speed on
    /// walkable slopes; what is too steep or higher than a step is a wall. In pieces short enough that the lift
    /// clears walkable ground.
    pub(super) fn stride(&self, from: DVec3, velocity: DVec3, dt: f64) -> Result<Stride, Coverage> {
        let longest = 0.5 * self.config.step_height;
        let pieces = (velocity.length() * dt / longest).ceil().clamp(1.0, MOST_PIECES);
        let mut stride = Stride { position: from, velocity, grounded: true, time_left: dt };
        for i in 1..=pieces as u32 {
            let time_left = dt * (1.0 - f64::from(i) / pieces);
            stride = Stride { time_left, ..self.piece(stride.position, stride.velocity, dt / pieces)? };
            if !stride.grounded {
                break;
            }
        }
        Ok(stride)
    }

    fn piece(&self, from: DVec3, velocity: DVec3, dt: f64) -> Result<Stride, Coverage> {
        // Nothing of a height field is above a capsule that overlaps none of it: the lift is always free.
        let lift = DVec3::Y * self.config.step_height;
        let drop = -DVec3::Y * (self.config.step_height + self.config.ground_snap);
        let mut walls = Planes::new();
        let end = |position: DVec3, grounded: bool, walls: &Planes| {
            Ok(Stride { position, velocity: clip(velocity, walls), grounded, time_left: 0.0 })
        };
        for _ in 0..MOST_WALLS {
            let over = self.slide_level(from + lift, clip(velocity, &walls) * dt, &mut walls)?;
            let Some(hit) = self.cast(over, drop)? else { return end(over - lift, false, &walls) };
            let down = over + drop * hit.fraction;
            if self.carries(&hit, down, self.highest_step(from))? {
                let still = (down - from).length_squared() < STILL_M * STILL_M;
                return end(if still { from } else { down }, true, &walls);
            }
            let moved = over - lift - from;
            if self.on_flank(from, over, moved, drop)? {
                return end(down, true, &walls);
            }
            match wall(hit.normal) {
                Some(normal) if moved.dot(normal) < -INTO && !walls.is_full() => walls.push(normal),
                // Off the ground: level on, and down from there in the air.
                _ => return end(DVec3::new(down.x, down.y.max(from.y), down.z), false, &walls),
            }
        }
        // Enclosed: it stays where the ground carried it.
        Ok(Stride { position: from, velocity: DVec3::ZERO, grounded: true, time_left: 0.0 })
    }

    /// Slides along walls at one height. Adds the walls it met.
    fn slide_level(&self, from: DVec3, way: DVec3, walls: &mut Planes) -> Result<DVec3, Coverage> {
        let (mut p, mut rest) = (from, way);
        for _ in 0..MOST_WALLS {
            if rest == DVec3::ZERO {
                break;
            }
            let Some(hit) = self.cast(p, rest)? else { return Ok(p + rest) };
            p += rest * hit.fraction;
            rest *= 1.0 - hit.fraction;
            match wall(hit.normal) {
                Some(normal) if !walls.is_full() => walls.push(normal),
                _ => break,
            }
            rest = clip(rest, walls);
        }
        Ok(p)
    }

    /// Whether the steep ground under a lifted walker is the flank of a step, up or down: a little further along the
    /// way there is ground that carries, at most a step higher or a snap lower than where the walker came from.
    fn on_flank(&self, from: DVec3, over: DVec3, moved: DVec3, drop: DVec3) -> Result<bool, Coverage> {
        let Some(direction) = moved.try_normalize() else { return Ok(false) };
        // The flank of the highest step, at the slope limit, is this wide.
        let reach = self.config.step_height / libm::tan(self.config.slope_limit_deg.to_radians());
        let free = self.cast(over, direction * reach)?.map_or(1.0, |hit| hit.fraction);
        let ahead = over + direction * (reach * free);
        match self.cast(ahead, drop)? {
            Some(hit) => self.carries(&hit, ahead + drop * hit.fraction, self.highest_step(from)),
            None => Ok(false),
        }
    }
}
