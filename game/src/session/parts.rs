//! What a session holds besides characters: balls and crates, which the physics moves, and platforms, which go their way.
//!
//! Owns how they enter, are held, are read back and are shown. Balls and crates are gated as every moving body is;
//! platforms need no ground and are never held. Never moves a character.

use super::Session;
use crate::component::{Ball, Crate, Gate, NetId, PhysicsBody, Platform};
use crate::config::TICK_SECONDS;
use crate::input::InputError;
use crate::publication::Footprint;
use crate::walker::{Obstacle, ObstacleKind};
use glam::DVec3;
use highground_terrain::parry::math::Pose;

/// A body that the physics moves, whatever its shape.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loose {
    pub(super) pose: Pose,
    pub(super) velocity: DVec3,
    pub(super) spin: DVec3,
    /// Of a ball around it, in metres.
    pub(super) radius: f64,
}

impl Loose {
    /// The ball or crate of an entity.
    pub(super) fn of(e: hecs::EntityRef<'_>) -> Option<Self> {
        if let Some(b) = e.get::<&Ball>() {
            let pose = Pose::from_parts(b.position, b.rotation);
            return Some(Self { pose, velocity: b.velocity, spin: b.spin, radius: b.radius });
        }
        let c = e.get::<&Crate>()?;
        let pose = Pose::from_parts(c.position, c.rotation);
        Some(Self { pose, velocity: c.velocity, spin: c.spin, radius: c.half_extents.length() })
    }
}

impl Session {
    pub(super) fn add_ball(&mut self, key: &str, ball: Ball) -> Result<(), InputError> {
        self.enlist(key, |s, id| {
            let body = s.physics.add_ball(&ball);
            s.world.spawn((id, ball, Gate { held: true }, PhysicsBody(body)))
        })
    }

    pub(super) fn add_crate(&mut self, key: &str, new: Crate) -> Result<(), InputError> {
        self.enlist(key, |s, id| {
            let pose = Pose::from_parts(new.position, new.rotation);
            let body = s.physics.add_crate(pose, new.half_extents, new.density);
            s.physics.hold(body);
            s.world.spawn((id, new, Gate { held: true }, PhysicsBody(body)))
        })
    }

    pub(super) fn add_platform(&mut self, key: &str, platform: Platform) -> Result<(), InputError> {
        self.enlist(key, |s, id| {
            let body = s.physics.add_platform(platform.pose(s.tick), platform.half_extents);
            s.world.spawn((id, platform, PhysicsBody(body)))
        })
    }

    /// Balls in id order.
    pub fn balls(&self) -> impl Iterator<Item = (NetId, Ball)> + '_ {
        self.roster.iter().filter_map(|&(id, entity)| Some((id, *self.world.get::<&Ball>(entity).ok()?)))
    }

    /// Crates in id order.
    pub fn crates(&self) -> impl Iterator<Item = (NetId, Crate)> + '_ {
        self.roster.iter().filter_map(|&(id, entity)| Some((id, *self.world.get::<&Crate>(entity).ok()?)))
    }

    /// Platforms in id order, each with where it is at the start of the coming tick.
    pub fn platforms(&self) -> impl Iterator<Item = (NetId, Platform, Pose)> + '_ {
        self.roster.iter().filter_map(|&(id, entity)| {
            let platform = Platform::clone(&*self.world.get::<&Platform>(entity).ok()?);
            let pose = platform.pose(self.tick);
            Some((id, platform, pose))
        })
    }

    /// Whether a ball or crate was held in the last tick; `None` for anything else.
    pub fn is_held(&self, id: NetId) -> Option<bool> {
        let e = self.world.entity(self.roster[self.find(id).ok()?].1).ok()?;
        Loose::of(e)?;
        Some(e.get::<&Gate>()?.held)
    }

    /// How fast what carries a character moves, in metres a second; 0 for what is no platform.
    pub(super) fn platform_speed(&self, carrier: Option<u64>) -> f64 {
        let entity = carrier.and_then(|id| self.find(NetId(id)).ok()).map(|at| self.roster[at].1);
        let platform = entity.and_then(|entity| self.world.get::<&Platform>(entity).ok());
        platform.map_or(0.0, |p| {
            let DVec3 { x, z, .. } = p.half_extents;
            p.way.speed + p.way.turn.abs() * (x * x + z * z).sqrt()
        })
    }
}

/// Holds or releases a ball or crate by the ground it may touch in this tick. `None` for anything else.
pub(super) fn gate(session: &mut Session, entity: hecs::Entity) -> Option<bool> {
    let e = session.world.entity(entity).ok()?;
    let (loose, body) = (Loose::of(e)?, e.get::<&PhysicsBody>()?.0);
    let reach = loose.radius + session.config.max_speed * TICK_SECONDS;
    let DVec3 { x, z, .. } = loose.pose.translation;
    let held = !session.publication.is_published(Footprint::around(x, z, reach));
    let was = e.get::<&Gate>().is_some_and(|g| g.held);
    match (was, held) {
        (true, false) => {
            if let Some(ball) = e.get::<&Ball>() {
                session.physics.release_ball(body, &ball);
            } else if let Some(crate_) = e.get::<&Crate>() {
                session.physics.release_crate(body, &crate_);
            }
        }
        (false, true) => session.physics.hold(body),
        _ => {}
    }
    Some(held)
}

/// Says where every platform is at the end of the coming step.
pub(super) fn move_platforms(session: &mut Session) {
    for &(_, entity) in &session.roster {
        let Ok(e) = session.world.entity(entity) else { continue };
        if let (Some(platform), Some(body)) = (e.get::<&Platform>(), e.get::<&PhysicsBody>()) {
            session.physics.move_platform(body.0, platform.pose(session.tick + 1));
        }
    }
}

/// Reads a ball or crate back after the step.
pub(super) fn read(session: &mut Session, entity: hecs::Entity) {
    let Ok(e) = session.world.entity(entity) else { return };
    let Some(body) = e.get::<&PhysicsBody>().map(|b| b.0) else { return };
    let max_speed = session.config.max_speed;
    if let Some(mut ball) = e.get::<&mut Ball>() {
        session.physics.read_ball(body, &mut ball, max_speed);
    } else if let Some(mut crate_) = e.get::<&mut Crate>() {
        session.physics.read_crate(body, &mut crate_, max_speed);
    }
}

/// A ball, crate or platform as walkers meet it. What is held stands still.
pub(super) fn obstacle(session: &Session, id: NetId, e: hecs::EntityRef<'_>) -> Option<Obstacle> {
    let (shape, mass) = session.physics.solid(e.get::<&PhysicsBody>()?.0)?;
    if let Some(platform) = e.get::<&Platform>() {
        let (velocity, spin) = platform.motion(session.tick);
        let (pose, kind) = (platform.pose(session.tick), ObstacleKind::Kinematic);
        return Some(Obstacle { id: id.0, part: 0, shape, pose, velocity, spin, kind });
    }
    let loose = Loose::of(e)?;
    let held = e.get::<&Gate>().is_some_and(|g| g.held);
    let (velocity, spin) = if held { (DVec3::ZERO, 0.0) } else { (loose.velocity, loose.spin.y) };
    let kind = ObstacleKind::Dynamic { mass };
    Some(Obstacle { id: id.0, part: 0, shape, pose: loose.pose, velocity, spin, kind })
}
