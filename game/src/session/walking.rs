//! The walk: every character moves from the same start state, in any number of threads, then all is put down in id
//! order.
//!
//! A walker reads the ground, the obstacles of the tick's start and its own state, and writes to its own place; what
//! it does to bodies is merged by body and walker. So threads and order change nothing.

use super::{Session, parts};
use crate::component::{Arriving, Footing, Gate, NetId, PhysicsBody};
use crate::config::TICK_SECONDS;
use crate::walker::{
    Obstacle, ObstacleKind, Push, Surroundings, WalkCommand, WalkStep, WalkerState, merge_pushes, walk_among,
};
use highground_terrain::coord::BlockPos;
use highground_terrain::parry::math::Pose;
use highground_terrain::surface::{Coverage, Ground};
use rayon::prelude::*;

/// Walkers that a thread takes at a time.
const CHUNK: usize = 8;

/// One character's move.
#[derive(Clone, Copy, Debug)]
pub(super) struct Move {
    id: NetId,
    entity: hecs::Entity,
    state: WalkerState,
    command: WalkCommand,
    speed_factor: f64,
    step: Option<WalkStep>,
}

/// Metres of water above the ground under a walker; none where it is dry or nothing is known of water.
fn water_over(ground: &Ground, state: &WalkerState) -> f64 {
    let answer = ground.spot(state.position.x, state.position.z).ok();
    answer.and_then(|a| a.valid()).and_then(|spot| spot.water_depth().known()).unwrap_or(0.0)
}

pub(super) fn walk(session: &mut Session) {
    gather_obstacles(session);
    let mut moves = std::mem::take(&mut session.moves);
    gather_moves(session, &mut moves);
    let (ground, config) = (&**session.publication.ground(), &session.config.walker);
    let obstacles = &session.obstacles;
    let go = |m: &mut Move| {
        let around = Surroundings {
            ground,
            obstacles,
            me: Some(m.id.0),
            water_depth: water_over(ground, &m.state),
            speed_factor: m.speed_factor,
        };
        m.step = Some(walk_among(&around, config, &m.state, m.command, TICK_SECONDS));
    };
    match &session.pool {
        Some(pool) => pool.install(|| moves.par_iter_mut().with_min_len(CHUNK).for_each(go)),
        None => moves.iter_mut().for_each(go),
    }
    put_down(session, &moves);
    session.moves = moves;
}

/// The characters that stand and everything else, as they are at the start of the walk.
fn gather_obstacles(session: &mut Session) {
    let mut obstacles = std::mem::take(&mut session.obstacles);
    let solids = session.roster.iter().filter_map(|&(id, entity)| {
        let e = session.world.entity(entity).ok()?;
        let Some(state) = e.get::<&WalkerState>() else { return parts::obstacle(session, id, e) };
        if e.has::<Arriving>() {
            return None;
        }
        let (shape, _) = session.physics.solid(e.get::<&PhysicsBody>()?.0)?;
        let kind = ObstacleKind::Character { carrier: state.carrier };
        let (pose, velocity) = (Pose::from_translation(state.position), state.velocity);
        Some(Obstacle { id: id.0, part: 0, shape, pose, velocity, spin: 0.0, kind })
    });
    obstacles.rebuild(solids, TICK_SECONDS).expect("ids are unique, positions finite and shapes convex");
    session.obstacles = obstacles;
}

fn gather_moves(session: &Session, moves: &mut Vec<Move>) {
    moves.clear();
    moves.extend(session.roster.iter().filter_map(|&(id, entity)| {
        let e = session.world.entity(entity).ok()?;
        if e.has::<Arriving>() || e.get::<&Gate>().is_none_or(|g| g.held) {
            return None;
        }
        let (state, command) = (*e.get::<&WalkerState>()?, *e.get::<&WalkCommand>()?);
        let speed_factor = e.get::<&Footing>()?.speed_factor;
        Some(Move { id, entity, state, command, speed_factor, step: None })
    }));
}

/// Writes what the moves gave, in id order, and pushes the bodies.
fn put_down(session: &mut Session, moves: &[Move]) {
    let mut pushes = std::mem::take(&mut session.pushes);
    pushes.clear();
    pushes.reserve(moves.len());
    for m in moves {
        let Some(step) = m.step else { continue };
        if step.coverage != Coverage::Complete {
            // The gate reaches further than one step, so this is a body that the clamp has yet to slow down.
            session.stats.gated_ticks += 1;
            session.report.gated += 1;
            continue;
        }
        session.stats.walked_m += step.walked_m;
        let ground = session.publication.ground();
        let (from, to) = (block_of(ground, &m.state), block_of(ground, &step.state));
        session.stats.borders_crossed +=
            u64::from(from != to && from.is_some() && to.is_some() && step.walked_m > 0.0);
        pushes.extend(step.pushes.as_slice().iter().map(|&push| (m.id.0, push)));
        let Ok(e) = session.world.entity(m.entity) else { continue };
        let (Some(mut state), Some(body)) = (e.get::<&mut WalkerState>(), e.get::<&PhysicsBody>()) else {
            continue;
        };
        *state = step.state;
        state.velocity = state.velocity.clamp_length_max(session.config.max_speed);
        if state.crouched != m.state.crouched {
            let walker = &session.config.walker;
            let half_height = walker.half_height_of(state.crouched);
            session.physics.reshape_character(body.0, walker.radius, half_height);
        }
        session.physics.move_character(body.0, state.position);
    }
    push_bodies(session, &mut pushes);
    session.pushes = pushes;
}

fn push_bodies(session: &mut Session, pushes: &mut [(u64, Push)]) {
    merge_pushes(pushes);
    for (_, push) in pushes {
        let Ok(at) = session.find(NetId(push.body)) else { continue };
        let body = session.world.get::<&PhysicsBody>(session.roster[at].1).map(|b| b.0);
        if let Ok(body) = body {
            session.physics.push(body, push.point, push.impulse);
        }
    }
}

/// The block under a character; `None` outside the valid extent.
fn block_of(ground: &Ground, state: &WalkerState) -> Option<BlockPos> {
    let cell = ground.config().cell_under(state.position.x, state.position.z);
    ground.config().extent.contains(cell).then(|| ground.side().block_of_cell(cell))
}
