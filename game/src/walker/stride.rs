//! Moving while the ground carries: lift, slide, drop.

use super::Moved;
use super::mover::{CEILING, Hit, INTO, Mover, Planes, clip, wall};
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
    pub(super) moved: Moved,
    /// Seconds that are left when the ground ended.
    pub(super) time_left: f64,
}

impl Mover<'_> {
    /// Moves with a level velocity for `dt` seconds, on the ground at the start. Keeps the horizontal speed on
    /// walkable slopes; what is too steep or higher than a step is a wall. In pieces short enough that the lift
    /// clears walkable ground.
    pub(super) fn stride(&mut self, from: DVec3, velocity: DVec3, dt: f64) -> Result<Stride, Coverage> {
        let longest = 0.5 * self.config.step_height;
        let pieces = (velocity.length() * dt / longest).ceil().clamp(1.0, MOST_PIECES);
        let mut moved = Moved { position: from, velocity, grounded: true, carrier: None };
        for i in 1..=pieces as u32 {
            moved = self.piece(moved.position, moved.velocity, dt / pieces)?;
            if !moved.grounded {
                return Ok(Stride { moved, time_left: dt * (1.0 - f64::from(i) / pieces) });
            }
        }
        Ok(Stride { moved, time_left: 0.0 })
    }

    fn piece(&mut self, from: DVec3, velocity: DVec3, dt: f64) -> Result<Moved, Coverage> {
        // Only an obstacle can be above a capsule that overlaps nothing.
        let up = self.headroom(from, self.config.step_height);
        let lift = DVec3::Y * up;
        let drop = -DVec3::Y * (up + self.config.ground_snap);
        let mut walls = Planes::new();
        let end = |position: DVec3, hit: Option<&Hit>, walls: &Planes| {
            let (velocity, carrier) = (clip(velocity, walls), hit.and_then(|h| h.on));
            Ok(Moved { position, velocity, grounded: hit.is_some(), carrier })
        };
        for _ in 0..MOST_WALLS {
            let way = clip(velocity, &walls) * dt;
            let over = self.slide_level(from + lift, way, velocity, dt, up, &mut walls)?;
            let Some(hit) = self.cast(over, drop)? else { return end(over - lift, None, &walls) };
            let down = over + drop * hit.fraction;
            if self.carries(&hit, down, self.highest_step(from))? {
                let still = (down - from).length_squared() < STILL_M * STILL_M;
                return end(if still { from } else { down }, Some(&hit), &walls);
            }
            let moved = over - lift - from;
            if self.on_flank(from, over, moved, drop)? {
                return end(down, Some(&hit), &walls);
            }
            match wall(hit.normal) {
                Some(normal) if moved.dot(normal) < -INTO && !walls.is_full() => {
                    self.push(&hit, velocity, dt);
                    walls.push(normal);
                }
                // Under a ledge that the lift has met, where the ground carried it.
                _ if moved.length_squared() < STILL_M * STILL_M && self.supported(from)? => {
                    return Ok(Moved {
                        position: from,
                        velocity: DVec3::ZERO,
                        grounded: true,
                        carrier: hit.on,
                    });
                }
                // Off the ground: level on, and down from there in the air.
                _ => return end(DVec3::new(down.x, down.y.max(from.y), down.z), None, &walls),
            }
        }
        // Enclosed: it stays where the ground carried it.
        Ok(Moved { position: from, velocity: DVec3::ZERO, grounded: true, carrier: None })
    }

    /// Slides along walls, lifted by `up` metres, at one height. Adds the walls it met. Under a ceiling that comes
    /// down it gives up some of its lift; where it has less than the whole, walkable ground ahead is a ramp instead of
    /// a wall.
    fn slide_level(
        &mut self,
        from: DVec3,
        way: DVec3,
        velocity: DVec3,
        dt: f64,
        up: f64,
        walls: &mut Planes,
    ) -> Result<DVec3, Coverage> {
        let (mut p, mut rest) = (from, way);
        let mut low = up < self.config.step_height;
        for _ in 0..MOST_WALLS {
            if rest == DVec3::ZERO {
                break;
            }
            let Some(hit) = self.cast(p, rest)? else { return Ok(p + rest) };
            p += rest * hit.fraction;
            rest *= 1.0 - hit.fraction;
            let n = hit.normal;
            let climb = -(n.x * rest.x + n.z * rest.z) / n.y;
            let ducks = n.y < CEILING && p.y + climb >= from.y - up;
            if ducks || (low && self.walkable(n)) {
                low = true;
                rest.y = climb + INTO.copysign(n.y);
                continue;
            }
            self.push(&hit, velocity, dt);
            match wall(n) {
                Some(normal) if !walls.is_full() => walls.push(normal),
                _ => break,
            }
            rest = clip(DVec3::new(rest.x, 0.0, rest.z), walls);
        }
        Ok(p)
    }

    /// Whether the steep ground under a lifted walker is the flank of a step, up or down: a little further along the
    /// way there is ground that carries, at most a step higher or a snap lower than where the walker came from.
    fn on_flank(&self, from: DVec3, over: DVec3, moved: DVec3, drop: DVec3) -> Result<bool, Coverage> {
        let Some(direction) = DVec3::new(moved.x, 0.0, moved.z).try_normalize() else { return Ok(false) };
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
