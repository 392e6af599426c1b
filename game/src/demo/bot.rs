//! A bot: picks a place, walks the way there, and picks another when there is no way or it gets nowhere.

use super::Guide;
use crate::component::NetId;
use crate::input::Input;
use crate::session::Session;
use crate::walker::WalkCommand;
use glam::DVec3;
use highground_terrain::nav::Answer;

/// Bots look at the world every this many ticks, each at its own phase.
const THINK_TICKS: u64 = 6;
/// Thinks without progress before a bot picks another place.
const PATIENCE: u32 = 15;
/// Places without a way, one after the other, before a bot walks straight to the next: it may stand where no way begins.
const DEAD_ENDS: u32 = 8;
/// Places that are looked at for one with some relief: a sea is a dull place to start.
const SPAWN_TRIES: u32 = 32;

/// One bot. Its choices depend on the seed, its number and what it sees, nothing else.
#[derive(Clone, Debug)]
pub struct Bot {
    number: u32,
    key: String,
    id: NetId,
    spawn: (f64, f64),
    random: u64,
    /// The turns of its way, and the one it walks to.
    turns: Vec<(f64, f64)>,
    next: usize,
    dead_ends: u32,
    nearest: f64,
    waited: u32,
    last: WalkCommand,
}

/// The next of a SplitMix64 sequence.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A number from 0 up to but not including 1.
fn unit(state: &mut u64) -> f64 {
    (next(state) >> 11) as f64 / (1u64 << 53) as f64
}

impl Bot {
    /// Bot `number` of a run. Bots start in pairs, spread over the middle half of the extent.
    pub fn new(number: u32, seed: u64, session: &Session) -> Self {
        let key = format!("bot {number}");
        let mut pair = seed ^ u64::from(number / 2).wrapping_mul(0xd6e8_feb8_6659_fd93);
        let mut own = seed ^ u64::from(number).wrapping_mul(0xa076_1d64_78bd_642f).wrapping_add(1);
        let config = session.ground().config();
        let (s, e, [origin_x, _, origin_z]) = (config.spacing_m(), config.extent, config.origin_m());
        let place = |a: i32, b: i32, r: f64| (f64::from(a) + f64::from(b - a) * (0.25 + 0.5 * r)) * s;
        let offset = (6.0 * unit(&mut own), 6.0 * unit(&mut own));
        let mut spawn = (0.0, 0.0);
        for _ in 0..SPAWN_TRIES {
            let x = place(e.x0, e.x1, unit(&mut pair)) + offset.0 + origin_x;
            let z = place(e.z0, e.z1, unit(&mut pair)) + offset.1 + origin_z;
            spawn = (x, z);
            if session.has_relief(x, z) {
                break;
            }
        }
        Self {
            number,
            id: NetId::of_key(&key),
            key,
            spawn,
            random: own,
            turns: Vec::new(),
            next: 0,
            dead_ends: 0,
            nearest: f64::INFINITY,
            waited: 0,
            last: WalkCommand::default(),
        }
    }

    /// Which bot it is.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Its network id.
    pub fn id(&self) -> NetId {
        self.id
    }

    /// How it joins.
    pub fn join(&self) -> Input {
        Input::Join { key: self.key.clone(), x: self.spawn.0, z: self.spawn.1 }
    }

    /// Looks at the session and says what it wants, if that has changed. Without a guide it walks straight.
    pub fn think(&mut self, session: &Session, guide: Option<&mut Guide>) -> Option<Input> {
        if session.tick() % THINK_TICKS != u64::from(self.number) % THINK_TICKS {
            return None;
        }
        let view = session.character_view(self.id)?;
        if view.arriving {
            self.turns.clear();
            return None;
        }
        let command = self.steer(session, guide, view.state.position);
        if command == self.last {
            return None;
        }
        self.last = command;
        Some(Input::Command { id: self.id, command })
    }

    fn steer(&mut self, session: &Session, guide: Option<&mut Guide>, at: DVec3) -> WalkCommand {
        let away = |goal: (f64, f64)| DVec3::new(goal.0 - at.x, 0.0, goal.1 - at.z);
        // Near enough to turn: less than half of what is run between two thinks would be passed by.
        let near = (0.25 * session.ground().config().spacing_m()).clamp(0.4, 1.0);
        while self.turns.get(self.next).is_some_and(|&turn| away(turn).length() < near) {
            self.next += 1;
            self.nearest = f64::INFINITY;
        }
        let distance = self.turns.get(self.next).map_or(0.0, |&turn| away(turn).length());
        if distance < self.nearest - 0.25 {
            self.nearest = distance;
            self.waited = 0;
        } else {
            self.waited += 1;
        }
        if self.next >= self.turns.len() || self.waited > PATIENCE {
            self.set_out(session, guide, at);
        }
        let to = self.turns.get(self.next).map_or(DVec3::ZERO, |&turn| away(turn));
        let direction = to.normalize_or_zero() * 127.0;
        // Every third bot runs; the others walk.
        WalkCommand {
            x: direction.x.round() as i8,
            z: direction.z.round() as i8,
            run: self.number.is_multiple_of(3),
            jump: false,
            crouch: false,
        }
    }

    /// Picks a place and finds the way there. Without a way it stands until it thinks again.
    fn set_out(&mut self, session: &Session, guide: Option<&mut Guide>, at: DVec3) {
        let goal = self.pick(session, at);
        (self.next, self.nearest, self.waited) = (0, f64::INFINITY, 0);
        self.turns.clear();
        match guide.map(|guide| guide.way((at.x, at.z), goal, &mut self.turns)) {
            Some(Answer::Path) => self.dead_ends = 0,
            Some(_) if self.dead_ends < DEAD_ENDS => self.dead_ends += 1,
            _ => {
                self.dead_ends = 0;
                self.turns.push(goal);
            }
        }
    }

    /// A place 60 to 180 m away, inside the extent.
    fn pick(&mut self, session: &Session, at: DVec3) -> (f64, f64) {
        let [west, north, east, south] = session.ground().config().extent_m();
        let inside = |v: f64, low: f64, high: f64| v.clamp(low + 1.0, (high - 1.0).max(low + 1.0));
        let span = 60.0 + 120.0 * unit(&mut self.random);
        let (dx, dz) = (unit(&mut self.random) * 2.0 - 1.0, unit(&mut self.random) * 2.0 - 1.0);
        let direction = DVec3::new(dx, 0.0, dz).normalize_or(DVec3::X) * span;
        (inside(at.x + direction.x, west, east), inside(at.z + direction.z, north, south))
    }
}
