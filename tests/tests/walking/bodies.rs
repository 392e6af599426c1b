//! What walkers do with all that is not ground: platforms, ceilings, tunnels, crates, water and one another.

use super::worlds::{DT, STAND, scaled, toward};
use glam::{DQuat, DVec3};
use highground_game::component::NetId;
use highground_game::config::{RuntimeConfig, SessionConfig};
use highground_game::input::Input;
use highground_game::physics::Physics;
use highground_game::publication::Arrivals;
use highground_game::session::{Map, Session};
use highground_game::walker::{
    Obstacle, ObstacleKind, Obstacles, Push, Surroundings, WalkCommand, WalkStep, WalkerConfig, WalkerState,
    merge_pushes, place, walk_among,
};
use highground_terrain::collide::SharedGround;
use highground_terrain::coord::BlockSide;
use highground_terrain::parry::math::Pose;
use highground_terrain::parry::query;
use highground_terrain::parry::shape::{Capsule, SharedShape};
use highground_terrain::store::MemoryTerrain;
use highground_terrain::surface::{Coverage, Ground};
use highground_tests::random::{Random, seed};
use rayon::prelude::*;
use std::sync::Arc;

fn config() -> WalkerConfig {
    WalkerConfig::default()
}

/// 130 m of ground at 1 m, flat where the heights say so.
fn ground(height: impl Fn(f64, f64) -> f64) -> Ground {
    MemoryTerrain::from_fn([131, 131], BlockSide::S32, |_| {}, |x, z| height(f64::from(x), f64::from(z)))
        .ground_all()
}

fn solid(id: u64, at: DVec3, half: DVec3) -> Obstacle {
    Obstacle {
        id,
        part: 0,
        shape: SharedShape::cuboid(half.x, half.y, half.z),
        pose: Pose::from_translation(at),
        velocity: DVec3::ZERO,
        spin: 0.0,
        kind: ObstacleKind::Kinematic,
    }
}

fn among(ground: &Ground, list: &[Obstacle], state: &WalkerState, command: WalkCommand) -> WalkStep {
    let obstacles = Obstacles::new(list.to_vec(), DT).expect("sound obstacles");
    let around = Surroundings { obstacles: &obstacles, ..Surroundings::ground(ground) };
    let step = walk_among(&around, &config(), state, command, DT);
    assert_eq!(step.coverage, Coverage::Complete);
    step
}

/// Where the platform is one tick later.
fn advance(o: &mut Obstacle) {
    o.pose.translation += o.velocity * DT;
    let half = 0.5 * o.spin * DT;
    o.pose.rotation = DQuat::from_xyzw(0.0, libm::sin(half), 0.0, libm::cos(half)) * o.pose.rotation;
}

/// How deep the capsule, without its skin, is in a solid, by parry.
fn overlap(state: &WalkerState, o: &Obstacle) -> f64 {
    let capsule = Capsule::new_y(config().half_height_of(state.crouched), config().radius);
    let at = Pose::from_translation(state.position);
    let contact = query::contact(&at, &capsule, &o.pose, &*o.shape, 0.0).expect("a supported pair");
    contact.map_or(0.0, |c| -c.dist)
}

#[test]
fn a_platform_carries_a_walker_whichever_way_it_moves_and_turns() {
    let ground = ground(|_, _| 0.0);
    for (velocity, spin) in [
        (DVec3::new(3.0, 0.0, -1.0), 0.0),
        (DVec3::new(0.0, 2.5, 0.0), 0.0),
        (DVec3::new(1.0, -2.5, 0.0), 0.0),
        (DVec3::ZERO, 0.8),
        (DVec3::new(2.0, 0.5, 1.0), -1.1),
    ] {
        let mut platform = solid(7, DVec3::new(60.0, 40.0, 60.0), DVec3::new(3.0, 0.25, 2.0));
        (platform.velocity, platform.spin) = (velocity, spin);
        let start = DVec3::new(61.5, 40.25 + config().centre_height() + 0.02, 60.8);
        let mut state = WalkerState { position: start, ..WalkerState::default() };
        for _ in 0..120 {
            state = among(&ground, std::slice::from_ref(&platform), &state, STAND).state;
            advance(&mut platform);
            if state.grounded {
                break;
            }
        }
        assert_eq!((state.grounded, state.carrier), (true, Some(7)), "{velocity} {spin}: {state:?}");
        let local = |p: &Obstacle, s: &WalkerState| p.pose.inverse_transform_point(s.position);
        let first = local(&platform, &state);
        assert!((first.y - 0.25 - config().centre_height()).abs() < 1e-6, "{first}");
        for tick in 0..300 {
            state = among(&ground, std::slice::from_ref(&platform), &state, STAND).state;
            advance(&mut platform);
            assert!(state.grounded, "tick {tick}");
            let now = local(&platform, &state);
            assert!((now - first).length() < 1e-6, "{velocity} {spin} tick {tick}: {now} was {first}");
        }
        // Walking on it is walking over it.
        let before = state.position;
        let under = velocity
            + DVec3::new(
                spin * (before.z - platform.pose.translation.z),
                0.0,
                -spin * (before.x - platform.pose.translation.x),
            );
        let step = among(&ground, std::slice::from_ref(&platform), &state, toward(0.0, -1.0, false));
        let over = (step.state.position - before) / DT - under;
        assert!((over - DVec3::new(0.0, 0.0, -3.0)).length() < 0.03, "{velocity} {spin}: {over}");
        assert!((step.walked_m - 3.0 * DT).abs() < 1e-9);
        // A jump leaves with its velocity.
        let jump = WalkCommand { jump: true, ..STAND };
        let jumped = among(&ground, std::slice::from_ref(&platform), &state, jump).state;
        let expected = under + DVec3::Y * (config().jump_speed - config().gravity * DT);
        assert!(!jumped.grounded && jumped.carrier.is_none());
        assert!((jumped.velocity - expected).length() < 0.03, "{} instead of {expected}", jumped.velocity);
        // So does walking off its edge.
        for _ in 0..200 {
            state = among(&ground, std::slice::from_ref(&platform), &state, toward(0.0, 1.0, true)).state;
            advance(&mut platform);
            if !state.grounded {
                break;
            }
        }
        let level = DVec3::new(state.velocity.x, 0.0, state.velocity.z);
        let arm = state.position - platform.pose.translation;
        let under = DVec3::new(velocity.x + spin * arm.z, 0.0, velocity.z - spin * arm.x);
        assert!(!state.grounded && (level - under - DVec3::Z * 6.0).length() < 0.3, "{level} {under}");
    }
}

#[test]
fn a_moving_wall_pushes_a_walker_before_it_and_a_lift_takes_it_up_from_the_ground() {
    let ground = ground(|_, _| 0.0);
    let mut wall = solid(1, DVec3::new(50.0, 2.0, 60.0), DVec3::new(0.5, 2.0, 3.0));
    wall.velocity = DVec3::X * 4.0;
    let mut lift = solid(2, DVec3::new(30.0, -0.3, 30.0), DVec3::new(2.0, 0.2, 2.0));
    lift.velocity = DVec3::Y * 2.0;
    let mut pushed = place(&ground, &config(), 52.0, 60.0).expect("ground");
    let mut risen = place(&ground, &config(), 30.0, 30.0).expect("ground");
    for tick in 0..240 {
        let list = [wall.clone(), lift.clone()];
        pushed = among(&ground, &list, &pushed, toward(-1.0, 0.0, false)).state;
        risen = among(&ground, &list, &risen, STAND).state;
        advance(&mut wall);
        advance(&mut lift);
        assert!(overlap(&pushed, &wall) < 1e-6 && overlap(&risen, &lift) < 1e-6, "tick {tick}");
        assert!((pushed.position.y - config().centre_height()).abs() < 1e-5, "tick {tick}: {pushed:?}");
    }
    assert!(pushed.position.x > 66.0, "{pushed:?}");
    assert!(risen.grounded && risen.carrier == Some(2) && risen.position.y > 7.0, "{risen:?}");
}

#[test]
fn a_ceiling_stops_the_rise_of_a_jump() {
    let ground = ground(|_, _| 0.0);
    for lean in [0.0, 0.3] {
        let mut ceiling = solid(3, DVec3::new(60.0, 3.0, 60.0), DVec3::new(4.0, 0.5, 4.0));
        ceiling.pose.rotation = DQuat::from_rotation_z(lean);
        let mut state = place(&ground, &config(), 60.0, 60.0).expect("ground");
        let start = state.position.y;
        state =
            among(&ground, std::slice::from_ref(&ceiling), &state, WalkCommand { jump: true, ..STAND }).state;
        let (mut apex, mut ticks, mut met) = (state.position.y, 1, false);
        while !state.grounded {
            let before = state.velocity.y;
            state = among(&ground, std::slice::from_ref(&ceiling), &state, STAND).state;
            assert!(overlap(&state, &ceiling) < 1e-6);
            // A rise that ends at once.
            met |= before > 1.0 && state.velocity.y <= 0.0;
            apex = apex.max(state.position.y);
            ticks += 1;
            assert!(ticks < 80);
        }
        // 2.5 m of room at the middle for 1.77 m: a free jump would rise by 1.03 m.
        assert!(met && apex - start < 0.77, "lean {lean}: {}", apex - start);
        assert!((state.position.y - start).abs() < 1e-6);
    }
}

#[test]
fn a_walker_crouches_through_a_low_tunnel_and_stands_up_only_behind_it() {
    // Uphill at 20°, so that the way under the ceiling climbs.
    for rise in [0.0, 0.364] {
        let ground = ground(|x, _| x * rise);
        let mut roof = solid(4, DVec3::new(60.0, 60.0 * rise + 1.9, 60.0), DVec3::new(5.0, 0.5, 3.0));
        roof.pose.rotation = DQuat::from_rotation_z(libm::atan(rise));
        let list = [roof.clone()];
        let mut state = place(&ground, &config(), 50.0, 60.0).expect("ground");
        for _ in 0..300 {
            state = among(&ground, &list, &state, toward(1.0, 0.0, false)).state;
            assert!(overlap(&state, &roof) < 1e-6);
        }
        assert!(state.position.x < 56.0, "{rise}: too low for a standing walker: {state:?}");
        let crouch = WalkCommand { crouch: true, ..toward(1.0, 0.0, false) };
        let (mut crouched_inside, mut stood_at) = (0, None);
        for tick in 0..1200 {
            // It lets go of the key in the middle of the tunnel.
            let command = if state.position.x < 60.0 { crouch } else { toward(1.0, 0.0, false) };
            let before = state.position;
            state = among(&ground, &list, &state, command).state;
            assert!(state.grounded && overlap(&state, &roof) < 1e-6, "{rise} tick {tick}: {state:?}");
            if state.position.x > 60.0 && state.crouched {
                crouched_inside += 1;
                let speed = (state.position.x - before.x) / DT;
                assert!((speed - config().crouch_speed).abs() < 1e-6, "{rise} tick {tick}: {speed}");
            }
            if state.position.x > 60.0 && !state.crouched {
                stood_at = Some(state.position.x);
                break;
            }
        }
        assert!(crouched_inside > 100, "{rise}: {crouched_inside}");
        assert!(stood_at.is_some_and(|x| x > 64.0 && x < 66.5), "{rise}: {stood_at:?} {state:?}");
    }
}

#[test]
fn low_crates_are_stepped_onto_and_high_ones_are_walls() {
    let ground = ground(|_, _| 0.0);
    for (height, climbed) in [(0.15, true), (0.34, true), (0.37, false), (1.0, false)] {
        let turned = |id, turn: f64| {
            let mut o = solid(id, DVec3::new(60.0, 0.5 * height, 60.0), DVec3::new(1.0, 0.5 * height, 1.0));
            o.pose.rotation = DQuat::from_rotation_y(turn);
            o
        };
        for turn in [0.0, 0.5] {
            let list = [turned(5, turn)];
            let mut state = place(&ground, &config(), 57.0, 60.0).expect("ground");
            for tick in 0..60 {
                state = among(&ground, &list, &state, toward(1.0, 0.0, false)).state;
                assert!(state.grounded && overlap(&state, &list[0]) < 1e-6, "{height} tick {tick}");
            }
            let feet = state.position.y - config().centre_height();
            if climbed {
                assert!((feet - height).abs() < 1e-6 && state.carrier == Some(5), "{height}: {state:?}");
            } else {
                // A turned one lets it slide along.
                assert!(feet.abs() < 1e-6 && (turn > 0.0 || state.position.x < 59.0), "{height}: {state:?}");
            }
        }
    }
}

#[test]
fn deep_water_is_swum_in_without_a_flicker_on_the_way_in_or_out() {
    // A basin 4 m deep, its shores at 1 in 4; the water's surface at 0.
    let bed = |x: f64| ((x - 65.0).abs() * 0.25 - 6.0).max(-4.0);
    let ground = ground(|x, _| bed(x));
    let mut state = place(&ground, &config(), 35.5, 60.0).expect("ground");
    let (mut flips, mut swum, mut deepest_error) = (0, 0, 0.0_f64);
    for tick in 0..3000 {
        let height = ground.point(state.position.x, 60.0).unwrap().height().unwrap();
        let around = Surroundings { water_depth: (-height).max(0.0), ..Surroundings::ground(&ground) };
        let next = walk_among(&around, &config(), &state, toward(1.0, 0.0, false), DT).state;
        assert!(!(next.grounded && next.swimming));
        flips += u32::from(next.swimming != state.swimming);
        if next.swimming && state.swimming {
            swum += 1;
            if (55.0..75.0).contains(&next.position.x) {
                let feet = next.position.y - config().centre_height();
                deepest_error = deepest_error.max((feet + config().swim_depth).abs());
                assert!((next.velocity.x - config().swim_speed).abs() < 1e-6, "tick {tick}: {next:?}");
            }
        }
        state = next;
        if state.position.x > 95.0 {
            break;
        }
    }
    assert!(state.position.x > 94.0 && state.grounded, "{state:?}");
    assert_eq!(flips, 2);
    assert!(swum > 600 && deepest_error < 0.02, "{swum} {deepest_error}");
    // Thrown in from above it comes to rest where it floats, and dives and rises by command.
    let mut state = WalkerState { position: DVec3::new(65.0, 9.0, 60.0), ..WalkerState::default() };
    let mut run = |ticks: u32, command: WalkCommand| {
        for _ in 0..ticks {
            let around = Surroundings { water_depth: 4.0, ..Surroundings::ground(&ground) };
            state = walk_among(&around, &config(), &state, command, DT).state;
        }
        state
    };
    let float = config().centre_height() - config().swim_depth;
    let resting = run(600, STAND);
    assert!(resting.swimming && (resting.position.y - float).abs() < 1e-3, "{resting:?}");
    let dived = run(300, WalkCommand { crouch: true, ..STAND });
    assert!(dived.swimming && !dived.crouched && dived.position.y < -4.0 + config().centre_height() + 0.01);
    assert!((run(300, STAND).position.y - float).abs() < 1e-2);
    // From the surface a jump leaves the water for a moment.
    assert!(run(5, WalkCommand { jump: true, ..STAND }).position.y > float + 0.1);
}

/// A crowd's moves: all read the same start, in any number of threads.
fn crowd_tick(
    ground: &Ground,
    states: &mut [(u64, WalkerState, WalkCommand)],
    extra: &[Obstacle],
    pool: Option<&rayon::ThreadPool>,
) -> Vec<(u64, Push)> {
    let shape = SharedShape::capsule_y(config().half_height, config().radius);
    let others = states.iter().map(|(id, state, _)| Obstacle {
        id: *id,
        part: 0,
        shape: shape.clone(),
        pose: Pose::from_translation(state.position),
        velocity: state.velocity,
        spin: 0.0,
        kind: ObstacleKind::Character { carrier: state.carrier },
    });
    let obstacles = Obstacles::new(others.chain(extra.iter().cloned()), DT).expect("sound obstacles");
    let go = |(id, state, command): &mut (u64, WalkerState, WalkCommand)| {
        let around = Surroundings { obstacles: &obstacles, me: Some(*id), ..Surroundings::ground(ground) };
        let step = walk_among(&around, &config(), state, *command, DT);
        *state = step.state;
        step.pushes.as_slice().iter().map(|&p| (*id, p)).collect::<Vec<_>>()
    };
    let mut pushes: Vec<(u64, Push)> = match pool {
        Some(pool) => pool.install(|| states.par_iter_mut().map(go).collect::<Vec<_>>()).concat(),
        None => states.iter_mut().map(go).collect::<Vec<_>>().concat(),
    };
    merge_pushes(&mut pushes);
    pushes
}

#[test]
fn walkers_that_meet_stop_without_overlap_or_jitter() {
    let flat = ground(|_, _| 0.0);
    let at = |x: f64, z: f64| place(&flat, &config(), x, z).expect("ground");
    let mut two =
        [(1, at(58.0, 60.0), toward(1.0, 0.0, true)), (2, at(62.0, 60.0), toward(-1.0, 0.0, false))];
    let mut gap = 4.0_f64;
    for tick in 0..300 {
        crowd_tick(&flat, &mut two, &[], None);
        let now = two[1].1.position.x - two[0].1.position.x;
        assert!(now <= gap + 1e-9 && now >= 2.0 * config().radius, "tick {tick}: {now} was {gap}");
        gap = now;
    }
    assert!(gap < 2.0 * config().radius + 2.0 * config().skin, "{gap}");
}

/// The greatest overlap among sixty walkers that start half of them inside one another, come apart on hills, and then
/// all walk to one place.
fn crowded(mut random: Random) -> f64 {
    let hills = ground(|x, z| 2.0 * libm::sin(x * 0.3) + 1.5 * libm::cos(z * 0.23));
    let mut crowd: Vec<(u64, WalkerState, WalkCommand)> = (0..60)
        .map(|n| {
            let (x, z) = (random.between(50.0, 80.0), random.between(50.0, 80.0));
            let x = if n % 2 == 0 { 65.0 + 0.01 * n as f64 } else { x };
            let z = if n % 2 == 0 { 65.0 } else { z };
            (n * 7919 % 1009, place(&hills, &config(), x, z).expect("ground"), STAND)
        })
        .collect();
    let mut worst = 0.0_f64;
    for tick in 0..600 {
        for (id, state, command) in &mut crowd {
            let to = DVec3::new(65.0, 0.0, 65.0) - state.position;
            let way = DVec3::new(to.x, 0.0, to.z).normalize_or_zero();
            *command = if tick < 320 { STAND } else { toward(way.x, way.z, *id % 2 == 0) };
        }
        crowd_tick(&hills, &mut crowd, &[], None);
        // Thirty in one heap take a while to come apart.
        if tick < 300 {
            continue;
        }
        for (i, a) in crowd.iter().enumerate() {
            for b in &crowd[..i] {
                let d = a.1.position - b.1.position;
                let aside = (d.x * d.x + d.z * d.z).sqrt();
                let over = (d.y.abs() - 2.0 * config().half_height).max(0.0);
                let apart = (aside * aside + over * over).sqrt();
                worst = worst.max(2.0 * config().radius - apart);
            }
        }
    }
    worst
}

#[test]
fn a_crowd_to_one_place_never_overlaps() {
    let worst = crowded(Random(seed("crowd")));
    println!("walking: 60 walkers to one place: overlap at most {worst:.6} m");
    assert!(worst < 1e-3, "{worst}");
}

/// One push undid another in these, and walkers stayed up to 17 cm inside one another for good.
#[test]
fn walkers_jammed_between_neighbours_come_apart() {
    for start in [1796102589394390438, 1796102582852077804, 1796102591845285214] {
        let worst = crowded(Random(start));
        assert!(worst < 1e-3, "{start}: {worst}");
    }
}

/// Walkers push crates about; all crates and walkers after some seconds, as bits.
fn crate_run(order: &[usize], threads: usize) -> (Vec<u64>, f64) {
    let flat = Arc::new(ground(|_, _| 0.0));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    let mut physics = Physics::new(SharedGround::new(flat.clone()), 9.81, threads).expect("threads");
    let half = DVec3::new(0.5, 0.4, 0.5);
    let crates: Vec<_> = (0..3)
        .map(|n| {
            let at = DVec3::new(60.0 + 1.5 * f64::from(n), 0.4, 60.0 + 2.0 * f64::from(n));
            // 0.8 m³ of 40, 100 and 900 kg/m³: the last is heavier than anyone pushes.
            let density = [40.0, 100.0, 900.0][n as usize];
            (1000 + n as u64, physics.add_crate(Pose::from_translation(at), half, density))
        })
        .collect();
    let mut walkers: Vec<(u64, WalkerState, WalkCommand)> = order
        .iter()
        .map(|&n| {
            let (x, z) = (55.0, 59.4 + 0.9 * n as f64);
            (n as u64 * 31 % 17, place(&flat, &config(), x, z).expect("ground"), toward(1.0, 0.0, n % 2 == 0))
        })
        .collect();
    for _ in 0..60 {
        physics.step();
    }
    for _ in 0..240 {
        let mut list: Vec<Obstacle> = crates
            .iter()
            .map(|&(id, body)| {
                let (pose, velocity, spin) = physics.motion(body).expect("it is there");
                let (shape, mass) = physics.solid(body).expect("it has a shape");
                let kind = ObstacleKind::Dynamic { mass };
                Obstacle { id, part: 0, shape, pose, velocity, spin: spin.y, kind }
            })
            .collect();
        if order[0] != 0 {
            list.reverse();
        }
        for (_, push) in crowd_tick(&flat, &mut walkers, &list, Some(&pool)) {
            let body = crates.iter().find(|c| c.0 == push.body).expect("a crate").1;
            assert!(push.impulse.length() <= config().push_force * DT + 1e-9 && push.impulse.y == 0.0);
            physics.push(body, push.point, push.impulse);
        }
        physics.step();
    }
    walkers.sort_by_key(|w| w.0);
    let mut bits: Vec<u64> = walkers.iter().flat_map(|w| w.1.position.to_array()).map(f64::to_bits).collect();
    let motions: Vec<Pose> = crates.iter().map(|c| physics.motion(c.1).expect("it is there").0).collect();
    bits.extend(motions.iter().flat_map(|p| p.translation.to_array()).map(f64::to_bits));
    assert!((motions[2].translation.x - 63.0).abs() < 0.05, "too heavy to push: {}", motions[2].translation);
    (bits, motions[0].translation.x - 60.0)
}

#[test]
fn crates_are_pushed_alike_in_any_order_of_walkers_and_number_of_threads() {
    let (one, pushed) = crate_run(&[0, 1, 2, 3, 4, 5], 1);
    assert!(pushed > 1.0, "the light crate was pushed {pushed} m");
    for (order, threads) in [([5, 4, 3, 2, 1, 0], 1), ([0, 1, 2, 3, 4, 5], 8), ([3, 0, 5, 1, 4, 2], 8)] {
        let (other, _) = crate_run(&order, threads);
        assert!(other == one, "{order:?} in {threads} threads");
    }
    println!("walking: a crate pushed {pushed:.2} m alike in 4 orders and 1 or 8 threads");
}

/// Players and balls on one spot: the hashes of every tick.
fn session_run(reverse: bool, threads: usize) -> Vec<[u8; 32]> {
    let terrain = MemoryTerrain::from_fn(
        [200, 200],
        BlockSide::S32,
        |_| {},
        |x, z| 2.0 * libm::sin(f64::from(x) * 0.2) + libm::cos(f64::from(z) * 0.3),
    );
    let map = Map { source: terrain.shared(), weights: None, layers: Vec::new() };
    let runtime = RuntimeConfig { physics_threads: threads, reader_threads: 2, cache_budget_bytes: 1 << 20 };
    let mut session = Session::new(map, SessionConfig::default(), runtime).expect("a sound configuration");
    let mut joins: Vec<Input> = (0..24)
        .map(|n| {
            let (x, z) = (90.0 + 2.0 * f64::from(n % 6), 90.0 + 2.0 * f64::from(n / 6));
            Input::Join { key: format!("player {n}"), x, z }
        })
        .collect();
    joins.extend((0..4).map(|n| Input::Ball {
        key: format!("ball {n}"),
        radius: 0.4,
        position: [94.0 + f64::from(n), 6.0, 93.0],
        velocity: [0.0; 3],
    }));
    if reverse {
        joins.reverse();
    }
    let mut hashes = Vec::new();
    for tick in 0..scaled(6000) {
        let inputs: Vec<Input> = match tick {
            0 => joins.clone(),
            tick if tick % 30 == 15 => session
                .characters()
                .map(|c| {
                    let to = DVec3::new(95.0, 0.0, 93.0) - c.state.position;
                    let way = DVec3::new(to.x, 0.0, to.z).normalize_or_zero();
                    let crouch = c.id.0 % 5 == tick / 30 % 5;
                    let jump = c.id.0 % 7 == tick / 30 % 7;
                    let command = WalkCommand { crouch, jump, ..toward(way.x, way.z, c.id.0 % 2 == 0) };
                    Input::Command { id: c.id, command }
                })
                .collect(),
            _ => Vec::new(),
        };
        hashes.push(session.step(&inputs, Arrivals::WhenDue).expect("it goes on").hash);
    }
    let seen = |id: &str| session.character_view(NetId::of_key(id)).expect("it joined");
    assert!((0..24).all(|n| !seen(&format!("player {n}")).arriving));
    hashes
}

#[test]
fn a_session_of_walkers_that_block_and_push_is_the_same_in_any_order_and_threads() {
    let one = session_run(false, 1);
    assert!(session_run(true, 1) == one, "players in another order");
    assert!(session_run(false, 8) == one, "eight threads");
    assert!(session_run(true, 8) == one, "both");
}
