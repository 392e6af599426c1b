//! Moving in water: buoyant, with its own speed, sliding along whatever is met.
//!
//! Water is given as its depth above the bed under the walker. In water deeper than the configured depth a walker
//! swims: no ground carries it, it floats up or down to where its feet are that depth below the surface, `jump` lifts
//! it, `crouch` lets it dive. It stops swimming where the water is no deeper, and then falls the little there is left.

use super::mover::{Mover, Planes, clip};
use super::{Moved, WalkCommand};
use glam::DVec3;
use highground_terrain::surface::Coverage;

/// Water must be this much deeper than the depth that is swum in before a walker begins to, in metres: no flicker.
const BEGIN_M: f64 = 0.05;
/// A swimmer with its feet this near to where it floats is at the surface, and a jump is one, in metres.
const SURFACE_M: f64 = 0.1;
/// How fast a swimmer floats to its height: this part of the way a second.
const FLOAT_RATE: f64 = 3.0;
/// How much of a velocity the water takes a second.
const DRAG: f64 = 3.0;
/// Contacts that a stroke may meet in a tick.
const MOST_CONTACTS: usize = 6;

/// The water over a walker's feet.
#[derive(Clone, Copy)]
pub(super) struct Water {
    /// From the surface down to the bed.
    depth: f64,
    /// The height of the surface, in metres.
    level: f64,
}

impl Water {
    /// From the feet up to the surface; negative for feet above it.
    fn over(&self, feet: f64) -> f64 {
        self.level - feet
    }
}

impl Mover<'_> {
    /// The water at a place where it is `depth` metres deep; `None` where it is dry or there is no bed to stand over.
    pub(super) fn water(&self, at: DVec3, depth: f64) -> Option<Water> {
        if depth.is_nan() || depth <= 0.0 {
            return None;
        }
        let bed = self.ground.point(at.x, at.z).ok()?.height()?;
        Some(Water { depth, level: bed + depth })
    }

    /// Whether a walker swims now, given whether it swam before.
    pub(super) fn swims(&self, water: &Water, at: DVec3, before: bool) -> bool {
        let least = self.config.swim_depth;
        let over = water.over(at.y - self.centre_height());
        if before {
            water.depth > least && over > 0.0
        } else {
            water.depth > least + BEGIN_M && over >= least
        }
    }

    /// Whether a jump leaves the water.
    pub(super) fn at_surface(&self, water: &Water, at: DVec3) -> bool {
        water.over(at.y - self.centre_height()) < self.config.swim_depth + SURFACE_M
    }

    /// Swims for `dt` seconds.
    pub(super) fn swim(
        &mut self,
        from: DVec3,
        velocity: DVec3,
        water: &Water,
        command: WalkCommand,
        dt: f64,
    ) -> Result<Moved, Coverage> {
        let config = self.config;
        let mut wanted = command.direction() * config.swim_speed;
        let deeper = water.over(from.y - self.centre_height()) - config.swim_depth;
        wanted.y = match (command.jump, command.crouch) {
            // Up no further than to where it floats.
            (true, false) => config.swim_speed.min(deeper * FLOAT_RATE),
            (false, true) => -config.swim_speed,
            _ => (deeper * FLOAT_RATE).clamp(-config.swim_speed, config.swim_speed),
        };
        let change = wanted - velocity;
        let most = (config.swim_acceleration + DRAG * velocity.length()) * dt;
        let mut v = velocity + change.clamp_length_max(most);
        let (mut p, mut rest) = (from, v * dt);
        let mut planes = Planes::new();
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
            self.push(&hit, v, dt);
            if !planes.is_full() {
                planes.push(hit.normal);
            }
            (v, rest) = (clip(v, &planes), clip(rest, &planes));
        }
        Ok(Moved { position: p, velocity: v, grounded: false, carrier: None })
    }
}
