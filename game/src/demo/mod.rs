//! The demo's rules: bots that wander from place to place along ways they find, a few rolling
//! balls, crates to push, a lift and one scripted teleport.
//!
//! Bots stand outside the simulation, like players: they look at the session and give inputs, which are recorded.

mod bot;
mod guide;

pub use bot::Bot;
pub use guide::{Guide, GuideStats};

use crate::component::NetId;
use crate::input::Input;
use crate::publication::Arrivals;
use crate::replay::Recording;
use crate::session::{Session, SessionError, TickReport};
use crate::way::{Way, WayEnd};
use glam::DVec3;
use highground_terrain::coord::BlockPos;
use highground_terrain::state::PublicationState;
use std::collections::BTreeSet;

/// What a demo run does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DemoPlan {
    /// Bots.
    pub players: u32,
    /// Ticks.
    pub ticks: u64,
    /// Chooses spawns and way-points.
    pub seed: u64,
}

/// What became of the scripted teleport.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TeleportOutcome {
    /// The tick it was given in.
    pub tick: u64,
    /// Ticks until the character stood.
    pub gated_ticks: u64,
    /// Whether it has stood since.
    pub stood: bool,
    /// Metres moved on the ground since, from its velocity.
    pub walked_after_m: f64,
}

/// A running demo.
pub struct Demo {
    session: Session,
    plan: DemoPlan,
    bots: Vec<Bot>,
    guide: Option<Guide>,
    recording: Recording,
    teleport: Option<TeleportOutcome>,
    ever_published: BTreeSet<BlockPos>,
    trails: Vec<Vec<DVec3>>,
    inputs: Vec<Input>,
}

/// Trails keep one point in this many ticks.
const TRAIL_TICKS: u64 = 6;

/// Crates that a demo leaves about.
const CRATES: u32 = 3;

/// Balls that a demo rolls.
const BALLS: u32 = 4;

impl Demo {
    /// A demo on a fresh session; `recording` has the header that fits it.
    pub fn new(session: Session, recording: Recording, plan: DemoPlan) -> Self {
        let guide = Guide::new(&session).ok();
        let bots: Vec<Bot> = (0..plan.players).map(|n| Bot::new(n, plan.seed, &session)).collect();
        let trails = bots.iter().map(|_| Vec::new()).collect();
        Self {
            session,
            plan,
            bots,
            guide,
            recording,
            teleport: None,
            ever_published: BTreeSet::new(),
            trails,
            inputs: Vec::new(),
        }
    }

    /// Creates the players in the opposite order. The run is the same: network ids order everything.
    pub fn reverse_players(&mut self) {
        self.bots.reverse();
    }

    /// The bot that is teleported: the one with the lowest number, wherever it stands in the order.
    fn teleported(&self) -> Option<&Bot> {
        self.bots.iter().min_by_key(|b| b.number())
    }

    /// Whether all ticks are done.
    pub fn is_done(&self) -> bool {
        self.session.tick() >= self.plan.ticks
    }

    /// One tick.
    ///
    /// # Errors
    /// When the session cannot go on.
    pub fn step(&mut self) -> Result<&TickReport, SessionError> {
        self.gather_inputs();
        let report = self.session.step(&self.inputs, Arrivals::WhenDue)?;
        self.recording.push(&self.inputs, report);
        self.look_around();
        Ok(self.session.report())
    }

    fn gather_inputs(&mut self) {
        let tick = self.session.tick();
        self.inputs.clear();
        if tick == 0 {
            self.inputs.extend(self.bots.iter().map(Bot::join));
        }
        if tick == 60 {
            self.drop_balls();
            self.set_up_crates();
        }
        if tick == self.teleport_tick()
            && let Some(id) = self.teleported().map(Bot::id)
        {
            let (x, z) = self.far_place(id);
            self.inputs.push(Input::Teleport { id, x, z });
            self.teleport = Some(TeleportOutcome { tick, ..TeleportOutcome::default() });
        }
        for bot in &mut self.bots {
            self.inputs.extend(bot.think(&self.session, self.guide.as_mut()));
        }
    }

    fn teleport_tick(&self) -> u64 {
        self.plan.ticks / 3
    }

    /// Balls beside the first characters that stand, a little above the ground there.
    fn drop_balls(&mut self) {
        let standing = self.session.characters().filter(|c| !c.arriving && !c.held);
        for (n, c) in standing.take(BALLS as usize).enumerate() {
            let (x, z) = (c.state.position.x + 1.5, c.state.position.z + 1.5);
            let Some(height) = self.session.ground().point(x, z).ok().and_then(|p| p.height()) else {
                continue;
            };
            let radius = 0.25 + 0.1 * n as f64;
            self.inputs.push(Input::Ball {
                key: format!("ball {n}"),
                radius,
                position: [x, height + radius + 0.5, z],
                velocity: [0.0; 3],
            });
        }
    }

    /// Crates west of the first characters that stand, and a lift north of the very first.
    fn set_up_crates(&mut self) {
        let ground = |x: f64, z: f64| self.session.ground().point(x, z).ok().and_then(|p| p.height());
        let standing = self.session.characters().filter(|c| !c.arriving && !c.held);
        for (n, c) in standing.take(CRATES as usize).enumerate() {
            let (x, z) = (c.state.position.x - 2.0, c.state.position.z);
            let Some(height) = ground(x, z) else { continue };
            let half = 0.3 + 0.05 * n as f64;
            self.inputs.push(Input::Crate {
                key: format!("crate {n}"),
                position: [x, height + 2.0 * half, z],
                half_extents: [half; 3],
                density: 80.0,
            });
            let (x, z) = (c.state.position.x, c.state.position.z - 4.0);
            if let (0, Some(height)) = (n, ground(x, z)) {
                let points = vec![[x, height - 0.2, z], [x, height + 3.0, z]];
                let way = Way { points, speed: 0.8, end: WayEnd::ThereAndBack, turn: 0.2 };
                let half_extents = [1.5, 0.2, 1.5];
                self.inputs.push(Input::Platform { key: "lift".into(), half_extents, way });
            }
        }
    }

    /// The corner of the extent's inner half that is farthest from a bot.
    fn far_place(&self, id: NetId) -> (f64, f64) {
        let [west, north, east, south] = self.session.ground().config().extent_m();
        let here = self.session.character_view(id).map_or(DVec3::ZERO, |c| c.state.position);
        let choose = |near: f64, far: f64, at: f64| {
            let quarter = (far - near) * 0.25;
            if at < (near + far) * 0.5 { far - quarter } else { near + quarter }
        };
        (choose(west, east, here.x), choose(north, south, here.z))
    }

    fn look_around(&mut self) {
        let tick = self.session.tick();
        for (pos, block) in self.session.publication().wanted() {
            if block.published.is_some_and(|t| t + 1 == tick) && block.state == PublicationState::Published {
                self.ever_published.insert(pos);
            }
        }
        for (bot, trail) in self.bots.iter().zip(&mut self.trails) {
            let Some(view) = self.session.character_view(bot.id()).filter(|v| !v.arriving) else { continue };
            if tick.is_multiple_of(TRAIL_TICKS) {
                trail.push(view.state.position);
            }
        }
        let Some(id) = self.teleported().map(Bot::id) else { return };
        let Some((teleport, view)) = self.teleport.as_mut().zip(self.session.character_view(id)) else {
            return;
        };
        if view.held && !teleport.stood {
            teleport.gated_ticks += 1;
        } else if !view.held && view.state.grounded {
            let v = view.state.velocity;
            teleport.walked_after_m += DVec3::new(v.x, 0.0, v.z).length() * crate::config::TICK_SECONDS;
        }
        teleport.stood |= !view.held;
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// What bots find their ways by; `None` on a terrain too fine for navigation, where they walk straight.
    pub fn guide(&self) -> Option<&Guide> {
        self.guide.as_ref()
    }

    /// The recording so far.
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// What became of the teleport; `None` before it.
    pub fn teleport(&self) -> Option<TeleportOutcome> {
        self.teleport
    }

    /// Blocks that were Published at some time.
    pub fn ever_published(&self) -> &BTreeSet<BlockPos> {
        &self.ever_published
    }

    /// Where each bot was, every few ticks, in the bots' order. Jumps of many metres are teleports.
    pub fn trails(&self) -> &[Vec<DVec3>] {
        &self.trails
    }

    /// The bots' network ids, in their order.
    pub fn bot_ids(&self) -> impl Iterator<Item = NetId> + '_ {
        self.bots.iter().map(Bot::id)
    }
}
