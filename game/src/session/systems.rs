//! The systems: free functions without hidden state. What touches entities walks the roster in network-id order.

use super::Session;
use super::parts::{self, Loose};
use super::report::{Component, EntityTrace, System};
use crate::component::{Arriving, Ball, Crate, Footing, Gate, PhysicsBody, Platform, Spawn};
use crate::config::TICK_SECONDS;
use crate::publication::Footprint;
use crate::state_hash::StateBytes;
use crate::walker::{self, WalkCommand, WalkerState};
use crate::way::Way;
use glam::DVec3;
use highground_terrain::coord::{CellPos, LatticePos};
use highground_terrain::surface::Ground;

/// What a body asks for, and what it keeps others from giving back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Windows {
    want: Footprint,
    keep: Footprint,
}

/// How far around an arrival place a standing place is looked for, in metres.
const ARRIVAL_SEARCH_M: i32 = 5;

/// A body's centre on the ground plan, and how far around it it may touch ground within one second, in metres.
fn reach(session: &Session, entity: hecs::EntityRef<'_>) -> Option<(f64, f64, f64)> {
    let walker = &session.config.walker;
    let fastest = walker.run_speed * session.fastest;
    if let Some(arriving) = entity.get::<&Arriving>() {
        return Some((
            arriving.x,
            arriving.z,
            walker.radius + fastest.max(f64::from(ARRIVAL_SEARCH_M) + 1.0),
        ));
    }
    if let Some(state) = entity.get::<&WalkerState>() {
        let speed = DVec3::new(state.velocity.x, 0.0, state.velocity.z).length();
        let carried = session.platform_speed(state.carrier);
        return Some((state.position.x, state.position.z, walker.radius + speed.max(fastest) + carried));
    }
    let loose = Loose::of(entity)?;
    // A second of rolling at the present speed and of falling down the steepest slope there is.
    let reach = loose.radius + loose.velocity.length() + 0.5 * session.config.gravity;
    Some((loose.pose.translation.x, loose.pose.translation.z, reach))
}

pub(super) fn update_windows(session: &mut Session) {
    let mut windows = std::mem::take(&mut session.windows);
    windows.clear();
    for &(_, entity) in &session.roster {
        let Ok(e) = session.world.entity(entity) else { continue };
        let Some((x, z, reach)) = reach(session, e) else { continue };
        let want = Footprint::around(x, z, reach);
        windows.push(Windows { want, keep: want.grown(session.config.keep_margin_m) });
    }
    session.publication.update_windows(session.tick, windows.iter().map(|w| (w.want, w.keep)));
    session.windows = windows;
}

pub(super) fn gate_bodies(session: &mut Session) {
    let one_step = session.config.max_speed * TICK_SECONDS;
    for at in 0..session.roster.len() {
        let entity = session.roster[at].1;
        try_arrive(session, entity);
        let Ok(e) = session.world.entity(entity) else { continue };
        let held = if e.has::<Arriving>() {
            true
        } else if let Some(state) = e.get::<&WalkerState>() {
            let reach = session.config.walker.radius + one_step;
            !session.publication.is_published(Footprint::around(state.position.x, state.position.z, reach))
        } else {
            match parts::gate(session, entity) {
                Some(held) => held,
                None => continue,
            }
        };
        let Ok(e) = session.world.entity(entity) else { continue };
        if let Some(mut gate) = e.get::<&mut Gate>() {
            gate.held = held;
        }
        session.report.gated += u64::from(held);
        session.stats.gated_ticks += u64::from(held);
    }
}

/// Stands an arriving character up when the ground around its place is Published.
fn try_arrive(session: &mut Session, entity: hecs::Entity) {
    let Ok(e) = session.world.entity(entity) else { return };
    let Some(Arriving { x, z, tries }) = e.get::<&Arriving>().map(|a| *a) else { return };
    let Some(spawn) = e.get::<&Spawn>().map(|s| *s) else { return };
    let reach =
        session.config.walker.radius + f64::from(ARRIVAL_SEARCH_M) + session.config.max_speed * TICK_SECONDS;
    if !session.publication.is_published(Footprint::around(x, z, reach)) {
        return;
    }
    let ground = session.publication.ground();
    let place = match tries {
        0 => {
            let taken = |at: DVec3| is_taken(session, entity, at);
            standing_place(ground, &session.config.walker, x, z, taken)
        }
        _ => standing_place_in_block(ground, &session.config.walker, x, z),
    };
    match place {
        Some(state) => {
            if let Some(mut walker) = e.get::<&mut WalkerState>() {
                *walker = state;
            }
            if let Some(body) = e.get::<&PhysicsBody>() {
                session.physics.move_character(body.0, state.position);
            }
            let _ = session.world.remove_one::<Arriving>(entity);
        }
        // Nowhere to stand there (a hole, the edge of the map): home, then around home on a growing square.
        None => {
            let tries = if (x, z) == (spawn.x, spawn.z) || tries > 0 { tries + 1 } else { 0 };
            let (x, z, tries) = next_place(session.publication.ground(), spawn, tries);
            let _ = session.world.insert_one(entity, Arriving { x, z, tries });
        }
    }
}

pub(super) fn find_footing(session: &mut Session) {
    let Some(weights) = session.map.weights.clone() else { return };
    let terrain = *session.map.source.config();
    let mip = usize::from(session.config.footing_mip).min(weights.mips().len() - 1);
    for &(_, entity) in &session.roster {
        let Ok(e) = session.world.entity(entity) else { continue };
        let (Some(state), Some(mut footing)) = (e.get::<&WalkerState>(), e.get::<&mut Footing>()) else {
            continue;
        };
        if e.has::<Arriving>() {
            continue;
        }
        let Ok(p) = LatticePos::from_metres(state.position.x, state.position.z) else { continue };
        // A texel of the mip in lattice units, and its column and row by floor.
        let texel = terrain.spacing_lattice() << mip;
        let (s, placed) = (terrain.spacing_lattice(), terrain.placement);
        let per_cell = i64::from(terrain.paint_per_cell);
        let at = |v: i64, placed: i32| {
            u32::try_from(((v - i64::from(placed) * s) * per_cell).div_euclid(texel)).ok()
        };
        let layer = at(p.x, placed.x)
            .zip(at(p.z, placed.z))
            .and_then(|(x, z)| weights.dominant(mip, x, z))
            .unwrap_or(0);
        let speed_factor = session.speed.get(usize::from(layer)).copied().unwrap_or(1.0);
        *footing = Footing { layer, speed_factor };
    }
}

pub(super) fn read_physics(session: &mut Session) {
    for at in 0..session.roster.len() {
        let entity = session.roster[at].1;
        let Ok(e) = session.world.entity(entity) else { continue };
        if e.get::<&Gate>().is_none_or(|g| g.held) {
            continue;
        }
        parts::read(session, entity);
    }
}

/// Characters that left the extent or fell out of the world go home; balls and crates that did are removed.
pub(super) fn recover_lost(session: &mut Session) {
    let floor = session.lowest_m - session.config.fall_limit_m;
    let [west, north, east, south] = session.map.source.config().extent_m();
    let lost = |p: DVec3| {
        let inside = p.x >= west && p.x <= east && p.z >= north && p.z <= south;
        !inside || p.y < floor || !p.is_finite()
    };
    let mut at = 0;
    while at < session.roster.len() {
        let entity = session.roster[at].1;
        match session.world.entity(entity).ok().and_then(|e| loss(e, lost)) {
            Some(Loss::Loose) => {
                session.stats.removed += 1;
                // The next entity moves into this place.
                session.remove_at(at);
                continue;
            }
            Some(Loss::Character(Spawn { x, z })) => {
                session.stats.respawned += 1;
                session.send_to(entity, x, z);
            }
            None => {}
        }
        at += 1;
    }
}

/// Hashes, after a system, the state that it writes.
pub(super) fn mark(session: &mut Session, system: System) {
    let mut bytes = std::mem::take(&mut session.bytes);
    bytes.clear();
    match system {
        System::Ground | System::Windows | System::Publish => session.publication.write_state(&mut bytes),
        _ => write_bodies(session, &mut bytes),
    }
    session.report.systems[system as usize] = bytes.short_hash();
    session.bytes = bytes;
}

pub(super) fn state_hash(session: &mut Session) -> [u8; 32] {
    let mut bytes = std::mem::take(&mut session.bytes);
    bytes.clear();
    bytes.u64(session.tick);
    write_bodies(session, &mut bytes);
    session.publication.write_state(&mut bytes);
    let hash = bytes.hash();
    session.bytes = bytes;
    hash
}

fn write_bodies(session: &Session, bytes: &mut StateBytes) {
    bytes.u64(session.roster.len() as u64);
    for &(id, entity) in &session.roster {
        bytes.u64(id.0);
        let Ok(e) = session.world.entity(entity) else { continue };
        for component in Component::ALL {
            write_component(e, component, bytes);
        }
    }
}

pub(super) fn trace_entities(session: &mut Session) {
    let mut bytes = std::mem::take(&mut session.bytes);
    for &(id, entity) in &session.roster {
        let Ok(e) = session.world.entity(entity) else { continue };
        for component in Component::ALL {
            bytes.clear();
            write_component(e, component, &mut bytes);
            // One byte says that the component is absent.
            if bytes.len() > 1 {
                let hash = bytes.short_hash();
                session.report.trace.push(EntityTrace { id, component: component as u8, hash });
            }
        }
    }
    session.bytes = bytes;
}

/// A body that left the world.
enum Loss {
    Loose,
    Character(Spawn),
}

fn loss(e: hecs::EntityRef<'_>, lost: impl Fn(DVec3) -> bool) -> Option<Loss> {
    if let Some(loose) = Loose::of(e) {
        return lost(loose.pose.translation).then_some(Loss::Loose);
    }
    let (state, spawn) = (e.get::<&WalkerState>()?, e.get::<&Spawn>()?);
    (!e.has::<Arriving>() && lost(state.position)).then_some(Loss::Character(*spawn))
}

/// Canonical bytes of one component: one byte says whether it is there.
fn write_component(e: hecs::EntityRef<'_>, component: Component, out: &mut StateBytes) {
    fn present<T: hecs::Component + Copy>(e: hecs::EntityRef<'_>, out: &mut StateBytes) -> Option<T> {
        let value = e.get::<&T>().map(|c| *c);
        out.bool(value.is_some());
        value
    }
    match component {
        Component::Spawn => {
            if let Some(Spawn { x, z }) = present::<Spawn>(e, out) {
                out.f64(x);
                out.f64(z);
            }
        }
        Component::Arriving => {
            if let Some(Arriving { x, z, tries }) = present::<Arriving>(e, out) {
                out.f64(x);
                out.f64(z);
                out.u64(u64::from(tries));
            }
        }
        Component::Walker => {
            if let Some(state) = present::<WalkerState>(e, out) {
                out.vec3(state.position);
                out.vec3(state.velocity);
                out.bool(state.grounded);
                out.bool(state.crouched);
                out.bool(state.swimming);
                out.bool(state.carrier.is_some());
                out.u64(state.carrier.unwrap_or(0));
            }
        }
        Component::Command => {
            if let Some(command) = present::<WalkCommand>(e, out) {
                out.u8(command.x as u8);
                out.u8(command.z as u8);
                out.bool(command.run);
                out.bool(command.jump);
                out.bool(command.crouch);
            }
        }
        Component::Footing => {
            if let Some(Footing { layer, speed_factor }) = present::<Footing>(e, out) {
                out.u8(layer);
                out.f64(speed_factor);
            }
        }
        Component::Gate => {
            if let Some(Gate { held }) = present::<Gate>(e, out) {
                out.bool(held);
            }
        }
        Component::Ball => {
            if let Some(ball) = present::<Ball>(e, out) {
                out.f64(ball.radius);
                out.vec3(ball.position);
                out.quat(ball.rotation);
                out.vec3(ball.velocity);
                out.vec3(ball.spin);
            }
        }
        Component::Platform => {
            let platform = e.get::<&Platform>();
            out.bool(platform.is_some());
            if let Some(platform) = platform {
                out.vec3(platform.half_extents);
                out.u64(platform.since);
                write_way(&platform.way, out);
            }
        }
        Component::Crate => {
            if let Some(c) = present::<Crate>(e, out) {
                out.vec3(c.half_extents);
                out.f64(c.density);
                out.vec3(c.position);
                out.quat(c.rotation);
                out.vec3(c.velocity);
                out.vec3(c.spin);
            }
        }
    }
}

fn write_way(way: &Way, out: &mut StateBytes) {
    out.u64(way.points.len() as u64);
    way.points.iter().for_each(|&p| out.vec3(p.into()));
    out.f64(way.speed);
    out.u8(way.end as u8);
    out.f64(way.turn);
}

/// Whether another character that has arrived stands so near to a place that both would be in one another.
fn is_taken(session: &Session, entity: hecs::Entity, at: DVec3) -> bool {
    let config = &session.config.walker;
    let (aside, over) = (2.0 * (config.radius + config.skin), 2.0 * (config.half_height + config.radius));
    session.roster.iter().filter(|(_, other)| *other != entity).any(|&(_, other)| {
        let Ok(e) = session.world.entity(other) else { return false };
        let Some(state) = e.get::<&WalkerState>().filter(|_| !e.has::<Arriving>()) else { return false };
        let d = state.position - at;
        d.x * d.x + d.z * d.z < aside * aside && d.y.abs() < over
    })
}

/// A place to stand at (x, z), or the nearest found on growing squares of whole metres around it: of those that nobody has
/// taken, or of all where somebody stands everywhere.
fn standing_place(
    ground: &Ground,
    config: &walker::WalkerConfig,
    x: f64,
    z: f64,
    taken: impl Fn(DVec3) -> bool,
) -> Option<WalkerState> {
    let mut crowded = None;
    for ring in 0..=ARRIVAL_SEARCH_M {
        for dz in -ring..=ring {
            for dx in -ring..=ring {
                if dx.abs().max(dz.abs()) != ring {
                    continue;
                }
                let Some(state) = walker::place(ground, config, x + f64::from(dx), z + f64::from(dz)) else {
                    continue;
                };
                if !taken(state.position) {
                    return Some(state);
                }
                crowded = crowded.or(Some(state));
            }
        }
    }
    crowded
}

/// A place to stand on in the block under (x, z): the middle of the first cell, row by row, that carries.
fn standing_place_in_block(
    ground: &Ground,
    config: &walker::WalkerConfig,
    x: f64,
    z: f64,
) -> Option<WalkerState> {
    let (s, e, placed) = (ground.config().spacing_m(), ground.config().extent, ground.config().placement);
    let CellPos { x, z } = ground.config().cell_under(x, z);
    let block = ground.side().block_of_cell(CellPos::new(x.clamp(e.x0, e.x1 - 1), z.clamp(e.z0, e.z1 - 1)));
    let tile = ground.tile(block)?;
    let (first, n) = (ground.side().first_sample(block), ground.side().samples());
    let cells = (first.z..first.z + n).flat_map(|z| (first.x..first.x + n).map(move |x| CellPos::new(x, z)));
    let middle = |cell: i32, placed: i32| (f64::from(cell) + f64::from(placed) + 0.5) * s;
    cells
        .filter(|&c| tile.cell_mask(c) == 3)
        .find_map(|c| walker::place(ground, config, middle(c.x, placed.x), middle(c.z, placed.z)))
}

/// Where a character that found nothing to stand on tries next: its spawn, then half a block further each time on a
/// growing square around the place of the extent that is nearest to the spawn, and from the start when the whole map was
/// tried.
fn next_place(ground: &Ground, spawn: Spawn, tries: u32) -> (f64, f64, u32) {
    if tries == 0 {
        return (spawn.x, spawn.z, 0);
    }
    let (s, e) = (ground.config().spacing_m(), ground.config().extent);
    let [west, north, east, south] = ground.config().extent_m();
    let step = 0.5 * f64::from(ground.side().samples()) * s;
    let (x, z) = (spawn.x.clamp(west, east), spawn.z.clamp(north, south));
    let reach = f64::from((e.x1 - e.x0).max(e.z1 - e.z0)) * s / step;
    let places = (2.0 * reach.ceil() + 1.0) * (2.0 * reach.ceil() + 1.0);
    let tries = if f64::from(tries) > places { 1 } else { tries };
    let (dx, dz) = square_spiral(tries - 1);
    let (x, z) = (x + f64::from(dx) * step, z + f64::from(dz) * step);
    (x.clamp(west, east), z.clamp(north, south), tries)
}

/// The n-th place of a square spiral around the origin: (0, 0), (1, 0), (1, 1), (0, 1), (−1, 1) and so on.
fn square_spiral(n: u32) -> (i32, i32) {
    if n == 0 {
        return (0, 0);
    }
    // Ring r holds the places from (2r − 1)² up to but not including (2r + 1)².
    let n = i64::from(n);
    let r = (n.isqrt() + 1) / 2;
    let (place, side) = (n - (2 * r - 1) * (2 * r - 1), 2 * r);
    let (leg, at) = (place / side, place % side);
    let (x, z) = match leg {
        0 => (r, 1 - r + at),
        1 => (r - 1 - at, r),
        2 => (-r, r - 1 - at),
        _ => (1 - r + at, -r),
    };
    (x as i32, z as i32)
}

#[cfg(test)]
mod tests {
    use super::square_spiral;

    #[test]
    fn the_spiral_visits_every_place_of_a_square_once() {
        let mut seen: Vec<_> = (0..81).map(square_spiral).collect();
        assert_eq!(seen[..5], [(0, 0), (1, 0), (1, 1), (0, 1), (-1, 1)]);
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 81);
        assert!(seen.iter().all(|&(x, z)| x.abs() <= 4 && z.abs() <= 4));
    }
}
