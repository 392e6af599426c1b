//! Moving in the air: a parabola that slides along steep ground, lands on what carries and stops at ceilings.

use super::Moved;
use super::mover::{CEILING, Mover, Planes, clip, wall};
use glam::DVec3;
use highground_terrain::surface::Coverage;

/// Contacts that one flight may meet in a tick.
const MOST_CONTACTS: usize = 6;

impl Mover<'_> {
    /// Flies for `dt` seconds. The way is exact for constant gravity; steep ground takes the part of the velocity
    /// that enters it and is never a ramp: level speed into it is lost, not turned upwards.
    pub(super) fn fly(&mut self, from: DVec3, velocity: DVec3, dt: f64) -> Result<Moved, Coverage> {
        let fall = (velocity.y - self.config.gravity * dt).max(-self.config.max_fall_speed);
        let mut v = DVec3::new(velocity.x, fall, velocity.z);
        let mut rest = (velocity + v) * (0.5 * dt);
        let mut time_left = dt;
        let mut p = from;
        let mut planes = Planes::new();
        let mut carrier = None;
        for _ in 0..MOST_CONTACTS {
            if rest == DVec3::ZERO {
                break;
            }
            let Some(hit) = self.cast(p, rest)? else {
                p += rest;
                break;
            };
            p += rest * hit.fraction;
            rest *= 1.0 - hit.fraction;
            time_left *= 1.0 - hit.fraction;
            carrier = hit.on;
            if rest.y <= 0.0 && self.carries(&hit, p, f64::INFINITY)? {
                return self.land(p, v, time_left);
            }
            self.push(&hit, v, dt);
            if let Some(normal) = wall(hit.normal) {
                let stop = |m: DVec3| m - normal * m.dot(normal).min(0.0);
                (v, rest) = (stop(v), stop(rest));
            }
            if hit.normal.y < CEILING {
                (v.y, rest.y) = (v.y.min(0.0), rest.y.min(0.0));
            }
            if !planes.is_full() {
                planes.push(hit.normal);
            }
            (v, rest) = (clip(v, &planes), clip(rest, &planes));
        }
        // Where several steep contacts leave no way down, they carry.
        if fall <= 0.0 && !planes.is_empty() && self.supported(p)? {
            let velocity = DVec3::new(v.x, 0.0, v.z);
            return Ok(Moved { position: p, velocity, grounded: true, carrier });
        }
        Ok(Moved { position: p, velocity: v, grounded: false, carrier: None })
    }

    /// Goes on along the ground with what level velocity there is. A walker's velocity is that over what carries it.
    fn land(&mut self, at: DVec3, v: DVec3, time_left: f64) -> Result<Moved, Coverage> {
        let mut landed = self.stride(at, DVec3::new(v.x, 0.0, v.z), time_left)?.moved;
        if let Some(carrier) = landed.carrier.and_then(|id| self.obstacles.find(id)) {
            let under = carrier.velocity_at(landed.position);
            landed.velocity -= DVec3::new(under.x, 0.0, under.z);
        }
        Ok(landed)
    }
}
