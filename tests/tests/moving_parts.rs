//! Platforms and crates in sessions: who rides, who is pushed, who is held, and that nothing but the inputs decides.

use glam::DVec3;
use highground_game::component::NetId;
use highground_game::config::{RuntimeConfig, SessionConfig};
use highground_game::input::Input;
use highground_game::publication::Arrivals;
use highground_game::replay::{Header, Recording, TerrainName, verify};
use highground_game::session::{CharacterView, Map, Session};
use highground_game::walker::WalkCommand;
use highground_game::way::{Way, WayEnd};
use highground_terrain::config::Diagonal;
use highground_terrain::coord::BlockSide;
use highground_terrain::store::{BlockSource, MemoryTerrain};
use std::sync::Arc;

fn terrain(height: impl Fn(i32, i32) -> f64) -> Arc<dyn BlockSource> {
    MemoryTerrain::from_fn([193, 193], BlockSide::S32, |c| c.diagonal = Diagonal::Checkerboard, height)
        .shared()
}

fn flat() -> Arc<dyn BlockSource> {
    terrain(|_, _| 0.0)
}

fn session(source: Arc<dyn BlockSource>, threads: usize) -> Session {
    let runtime = RuntimeConfig { physics_threads: threads, ..RuntimeConfig::default() };
    let map = Map { source, weights: None, layers: Vec::new() };
    Session::new(map, SessionConfig::default(), runtime).unwrap()
}

fn join(key: &str, x: f64, z: f64) -> Input {
    Input::Join { key: key.into(), x, z }
}

fn platform(key: &str, half: [f64; 3], points: &[[f64; 3]], speed: f64, turn: f64) -> Input {
    let way = Way { points: points.to_vec(), speed, end: WayEnd::ThereAndBack, turn };
    Input::Platform { key: key.into(), half_extents: half, way }
}

fn crate_at(key: &str, position: [f64; 3], half: f64, density: f64) -> Input {
    Input::Crate { key: key.into(), position, half_extents: [half; 3], density }
}

fn walk(key: &str, x: i8, z: i8) -> Input {
    Input::Command { id: NetId::of_key(key), command: WalkCommand { x, z, ..WalkCommand::default() } }
}

fn view(session: &Session, key: &str) -> CharacterView {
    session.character_view(NetId::of_key(key)).unwrap()
}

fn crate_of(session: &Session, key: &str) -> highground_game::component::Crate {
    session.crates().find(|c| c.0 == NetId::of_key(key)).unwrap().1
}

/// From the capsule's middle to its feet and the skin under them.
fn feet_below() -> f64 {
    let w = SessionConfig::default().walker;
    w.half_height + w.radius + w.skin
}

/// Up through the ground, 36 m east over a block border, and the same way back: 2 m and 36 m at 1 m/s, so
/// slowly that what lies on it stays there where it turns.
const LIFT: [[f64; 3]; 3] = [[24.0, -1.0, 48.0], [24.0, 1.0, 48.0], [60.0, 1.0, 48.0]];

/// The lift's middle so many seconds after it came, by hand.
fn lift_at(t: f64) -> DVec3 {
    let gone = t.rem_euclid(76.0);
    let gone = if gone > 38.0 { 76.0 - gone } else { gone };
    if gone < 2.0 { DVec3::new(24.0, gone - 1.0, 48.0) } else { DVec3::new(22.0 + gone, 1.0, 48.0) }
}

#[test]
fn a_character_rides_over_a_block_border_and_back() {
    let mut session = session(flat(), 1);
    let (mut over, mut back) = (false, false);
    for tick in 0..4800u64 {
        let inputs = match tick {
            0 => vec![join("a", 24.5, 47.5), crate_at("c", [23.5, 0.3, 48.5], 0.25, 300.0)],
            20 => vec![platform("lift", [2.0, 0.25, 2.0], &LIFT, 1.0, 0.0)],
            _ => Vec::new(),
        };
        session.step(&inputs, Arrivals::WhenDue).unwrap();
        if tick < 20 {
            continue;
        }
        let t = (tick + 1 - 20) as f64 / 60.0;
        let (_, _, pose) = session.platforms().next().unwrap();
        assert!((pose.translation - lift_at(t)).length() < 1e-9, "tick {tick}: {pose:?}");
        let a = view(&session, "a");
        assert!(!a.held && !a.arriving, "tick {tick}: {a:?}");
        let top = pose.translation.y + 0.25;
        if top > 0.05 {
            let feet = a.state.position.y - feet_below();
            assert!(a.state.grounded && (feet - top).abs() < 2e-3, "tick {tick}: feet {feet} over {top}");
            let beside = a.state.position - pose.translation;
            assert!((beside.x - 0.5).abs() < 1e-3 && (beside.z + 0.5).abs() < 1e-3, "tick {tick}: {beside}");
            let c = crate_of(&session, "c").position - pose.translation;
            assert!(c.x.abs() < 1.9 && c.z.abs() < 1.9 && (c.y - 0.5).abs() < 0.1, "tick {tick}: {c}");
        }
        let x = a.state.position.x;
        over |= x > 58.0;
        back |= over && x < 26.0;
    }
    assert!(over && back);
    // 4780 ticks are 80 m, a round of 76 and 4: the lift has put both down and taken them up again.
    assert!(session.report().refused.is_empty() && session.stats().respawned == 0);
}

#[test]
fn a_platform_in_the_way_pushes_characters_and_crates_along() {
    let mut session = session(flat(), 1);
    for tick in 0..240u64 {
        let inputs = match tick {
            0 => vec![
                join("a", 40.0, 47.0),
                crate_at("c", [40.0, 0.41, 49.0], 0.4, 200.0),
                platform("wall", [0.5, 1.0, 4.0], &[[36.0, 1.2, 48.0], [56.0, 1.2, 48.0]], 2.0, 0.0),
            ],
            _ => Vec::new(),
        };
        session.step(&inputs, Arrivals::WhenDue).unwrap();
        let face = session.platforms().next().unwrap().2.translation.x + 0.5;
        let (a, c) = (view(&session, "a"), crate_of(&session, "c"));
        if !a.arriving {
            let radius = SessionConfig::default().walker.radius;
            assert!(a.state.position.x - radius > face - 1e-3, "tick {tick}: {a:?} at {face}");
        }
        assert!(c.position.x - 0.4 > face - 0.05, "tick {tick}: {c:?} at {face}");
    }
    // 240 ticks at 2 m/s: 8 m.
    let (a, c) = (view(&session, "a"), crate_of(&session, "c"));
    assert!(a.state.position.x > 44.7 && c.position.x > 44.8, "{a:?} and {c:?}");
}

#[test]
fn a_walker_pushes_a_light_crate_and_stops_at_a_heavy_one() {
    for (density, moves) in [(40.0, true), (20_000.0, false)] {
        let mut session = session(flat(), 1);
        let mut pushes = 0;
        for tick in 0..360u64 {
            let inputs = match tick {
                0 => vec![join("a", 28.0, 48.0), crate_at("c", [31.0, 0.5, 48.0], 0.5, density)],
                30 => vec![walk("a", 127, 0)],
                _ => Vec::new(),
            };
            session.step(&inputs, Arrivals::WhenDue).unwrap();
            pushes += session.pushes().len();
            let (a, c) = (view(&session, "a"), crate_of(&session, "c"));
            let gap = c.position.x - 0.5 - SessionConfig::default().walker.radius - a.state.position.x;
            assert!(a.arriving || gap > -0.02, "tick {tick}: {gap}");
        }
        let x = crate_of(&session, "c").position.x;
        assert!(if moves { x > 33.0 } else { x < 31.05 }, "density {density}: {x}");
        assert_eq!(pushes > 0, moves, "density {density}: what is too heavy is not pushed");
    }
}

#[test]
fn balls_rest_on_platforms_and_move_crates() {
    let mut session = session(flat(), 1);
    let ball = |key: &str, position: [f64; 3], velocity: [f64; 3]| Input::Ball {
        key: key.into(),
        radius: 0.4,
        position,
        velocity,
    };
    let stand = [[48.0, 2.0, 40.0]];
    for tick in 0..180u64 {
        let inputs = match tick {
            0 => vec![
                platform("stand", [1.5, 0.5, 1.5], &stand, 0.0, 0.0),
                ball("still", [48.0, 3.5, 40.0], [0.0; 3]),
                crate_at("c", [48.0, 0.41, 56.0], 0.4, 100.0),
                ball("thrown", [44.0, 0.41, 56.0], [6.0, 0.0, 0.0]),
            ],
            _ => Vec::new(),
        };
        session.step(&inputs, Arrivals::WhenDue).unwrap();
    }
    let still = session.balls().find(|b| b.0 == NetId::of_key("still")).unwrap().1;
    assert!((still.position - DVec3::new(48.0, 2.9, 40.0)).length() < 0.02, "{still:?}");
    let c = crate_of(&session, "c");
    assert!(c.position.x > 48.3 && (c.position.y - 0.4).abs() < 0.02, "{c:?}");
}

#[test]
fn a_crate_on_a_far_block_is_frozen_until_its_ground_is_published() {
    let config = SessionConfig::default();
    let mut session = session(flat(), 1);
    let id = NetId::of_key("far");
    for tick in 0..200u64 {
        let inputs = match tick {
            0 => vec![join("a", 20.0, 20.0)],
            // Over a corner of four blocks that nobody asked for.
            50 => vec![crate_at("far", [160.0, 5.0, 160.0], 0.5, 100.0)],
            _ => Vec::new(),
        };
        session.step(&inputs, Arrivals::WhenDue).unwrap();
        let Some(held) = session.is_held(id) else { continue };
        let c = crate_of(&session, "far");
        let open = 50 + u64::from(config.due_ticks) + 1;
        assert_eq!(held, tick < open, "tick {tick}");
        if held {
            assert_eq!((c.position, c.velocity), (DVec3::new(160.0, 5.0, 160.0), DVec3::ZERO), "tick {tick}");
        } else if tick == open {
            assert!(c.position.y < 5.0 && c.velocity.y < 0.0, "{c:?}");
        }
    }
    let c = crate_of(&session, "far");
    assert!((c.position.y - 0.5).abs() < 0.01 && c.velocity.length() < 0.01, "{c:?}");
}

/// Hills with everything on them, each kind in a tick of its own.
fn script(tick: u64) -> Vec<Input> {
    let n = |i: u32| f64::from(i);
    match tick {
        0 => (0..12).map(|i| join(&format!("p{i}"), 40.0 + 1.7 * n(i), 60.0 + 2.3 * n(i % 4))).collect(),
        5 => (0..4)
            .map(|i| {
                let (x, z) = (44.0 + 5.0 * n(i), 58.0 + n(i));
                let points = [[x, 0.0, z], [x, 6.0, z], [x + 9.0, 2.0, z + 8.0]];
                platform(&format!("lift {i}"), [3.0, 0.25, 3.0], &points, 1.0 + n(i), 0.5 * n(i % 2))
            })
            .collect(),
        6 => (0..6)
            .map(|i| crate_at(&format!("crate {i}"), [42.0 + 3.0 * n(i), 6.0, 62.0], 0.4, 60.0))
            .collect(),
        60.. if tick.is_multiple_of(30) => (0..12)
            .map(|i| {
                let turn = (tick / 30) as u32 + 5 * i;
                walk(&format!("p{i}"), (turn * 61 % 255) as u8 as i8, (turn * 97 % 255) as u8 as i8)
            })
            .collect(),
        250 => vec![
            Input::Leave { id: NetId::of_key("lift 2") },
            Input::Leave { id: NetId::of_key("crate 1") },
            Input::Leave { id: NetId::of_key("p3") },
        ],
        _ => Vec::new(),
    }
}

fn hills() -> Arc<dyn BlockSource> {
    let saw = |v: i32, period: i32| f64::from((v.rem_euclid(period)).min(period - v.rem_euclid(period)));
    terrain(move |x, z| 0.12 * saw(x, 40) + 0.2 * saw(z, 24))
}

#[test]
fn order_and_threads_change_nothing_and_a_recording_gives_the_same_run() {
    let source = hills();
    let run = |threads: usize, order: usize| {
        let mut session = session(source.clone(), threads);
        session.set_trace(true);
        let header = Header {
            terrain: TerrainName::File { path: "memory".into() },
            terrain_digest: source.digest(),
            weight_digest: None,
            block_side: 32,
            config: SessionConfig::default(),
            live: false,
        };
        let mut recording = Recording::new(header);
        let (mut ridden, mut pushed) = (0, 0);
        for tick in 0..420 {
            let mut inputs = script(tick);
            match order {
                1 => inputs.reverse(),
                2 => {
                    let third = inputs.len() / 3;
                    inputs.rotate_left(third);
                }
                _ => {}
            }
            let report = session.step(&inputs, Arrivals::WhenDue).unwrap();
            recording.push(&inputs, report);
            ridden += session.characters().filter(|c| c.state.carrier.is_some()).count();
            pushed += session.pushes().len();
        }
        assert_eq!((session.platforms().count(), session.crates().count()), (3, 5));
        assert_eq!(session.physics_bodies(), 11 + 3 + 5);
        (recording, ridden, pushed)
    };
    let (plain, ridden, pushed) = run(1, 0);
    assert!(ridden > 100 && pushed > 20, "somebody rides ({ridden}) and pushes ({pushed})");
    for (threads, order) in [(8, 0), (1, 1), (8, 2)] {
        let (other, ..) = run(threads, order);
        let hashes = |r: &Recording| r.ticks.iter().map(|t| t.hash).collect::<Vec<_>>();
        assert_eq!(hashes(&other), hashes(&plain), "{threads} threads, order {order}");
    }
    let reread = Recording::from_bytes(&plain.to_bytes()).unwrap();
    assert_eq!(reread, plain);
    let map = |source| Map { source, weights: None, layers: Vec::new() };
    let again = verify(&reread, map(source.clone()), RuntimeConfig::default(), |_| {}).unwrap();
    assert_eq!((again.first_difference, again.state_hash), (None, plain.final_hash()));
    // Another speed of one platform is named.
    let mut bad = plain;
    let changed = bad.ticks[5].inputs.iter_mut().find_map(|i| match i {
        Input::Platform { key, way, .. } if key == "lift 0" => Some(way),
        _ => None,
    });
    changed.unwrap().speed += 0.125;
    let found =
        verify(&bad, map(source), RuntimeConfig::default(), |_| {}).unwrap().first_difference.unwrap();
    assert_eq!((found.tick, found.system, found.component), (5, Some("inputs"), Some("platform")));
    assert_eq!(found.entity, Some(NetId::of_key("lift 0")));
}

#[test]
fn platforms_and_crates_out_of_their_limits_are_refused_and_nothing_stays() {
    let mut session = session(flat(), 1);
    let stand = [[48.0, 2.0, 40.0]];
    let bad = [
        (platform("p", [0.0, 1.0, 1.0], &stand, 1.0, 0.0), "a platform's half sides must be 0.05 to 50 m"),
        (platform("p", [1.0; 3], &[], 1.0, 0.0), "a way must have 1 to 64 points"),
        (platform("p", [1.0; 3], &stand, 61.0, 0.0), "at most 60 m/s"),
        (platform("p", [1.0; 3], &stand, f64::NAN, 0.0), "a platform's speed"),
        (platform("p", [1.0; 3], &[[1e300, 0.0, 0.0]], 1.0, 0.0), "point 0 of a way"),
        (crate_at("c", [48.0, 1.0, 48.0], 11.0, 100.0), "a crate's half sides must be 0.05 to 10 m"),
        (crate_at("c", [48.0, 1.0, 48.0], 1.0, 0.0), "a crate's density must be 1 to 20000"),
        (crate_at("c", [f64::NAN, 1.0, 48.0], 1.0, 100.0), "not a finite number"),
        (crate_at("c", [48.0, f64::INFINITY, 48.0], 1.0, 100.0), "height must be within"),
    ];
    for (input, text) in &bad {
        let report = session.step(std::slice::from_ref(input), Arrivals::WhenDue).unwrap();
        let [error] = &report.refused[..] else { panic!("{input:?} is refused once: {:?}", report.refused) };
        assert!(error.to_string().contains(text), "{error} should say {text:?}");
    }
    assert_eq!(session.physics_bodies(), 0);
    let good = [platform("p", [1.0; 3], &stand, 1.0, 0.0), crate_at("c", [48.0, 6.0, 48.0], 1.0, 100.0)];
    assert!(session.step(&good, Arrivals::WhenDue).unwrap().refused.is_empty());
    assert_eq!(session.step(&good, Arrivals::WhenDue).unwrap().refused.len(), 2, "the keys are taken");
    for _ in 0..30 {
        session.step(&[], Arrivals::WhenDue).unwrap();
    }
    assert!(session.ground().resident() > 0);
    let leave = ["p", "c"].map(|key| Input::Leave { id: NetId::of_key(key) });
    session.step(&leave, Arrivals::WhenDue).unwrap();
    for _ in 0..3 {
        session.step(&[], Arrivals::WhenDue).unwrap();
    }
    assert_eq!((session.physics_bodies(), session.ground().resident()), (0, 0));
    // A crate that leaves the map is taken away and counted.
    session.step(&[crate_at("edge", [191.9, 3.0, 50.0], 0.3, 100.0)], Arrivals::WhenDue).unwrap();
    let pusher = platform("pusher", [0.5, 1.0, 2.0], &[[188.0, 1.0, 50.0], [198.0, 1.0, 50.0]], 5.0, 0.0);
    for tick in 0..240 {
        session
            .step(if tick == 60 { std::slice::from_ref(&pusher) } else { &[] }, Arrivals::WhenDue)
            .unwrap();
    }
    assert_eq!((session.crates().count(), session.stats().removed), (0, 1));
}

/// Where the middle of a walker was over the ground at the worst, less what it should be; over some ticks.
fn deepest(mut session: Session, inputs: impl Fn(u64) -> Vec<Input>, ticks: u64) -> (f64, u64) {
    let mut worst = f64::INFINITY;
    for tick in 0..ticks {
        session.step(&inputs(tick), Arrivals::WhenDue).unwrap();
        let Some(view) = session.character_view(NetId::of_key("a")).filter(|v| !v.arriving) else { continue };
        let p = view.state.position;
        let ground = session.ground().height(p.x, p.z).unwrap().valid().expect("no hole");
        worst = worst.min(p.y - ground);
    }
    (worst, session.stats().respawned)
}

#[test]
fn nothing_presses_a_walker_through_the_ground() {
    for half in [0.3, 1.0, 1.5, 2.0, 5.0, 50.0] {
        for speed in [0.5, 2.0, 20.0] {
            let way = [[48.0, 1.9 + half, 48.0], [48.0, half - 0.5, 48.0]];
            let inputs = |tick| match tick {
                0 => vec![join("a", 48.0, 48.0)],
                30 => vec![platform("p", [half; 3], &way, speed, 0.0)],
                _ => Vec::new(),
            };
            let (worst, respawned) = deepest(session(flat(), 1), inputs, 400);
            assert!(worst > 0.0 && respawned == 0, "a lift of {half} m at {speed} m/s: {worst}, {respawned}");
        }
        // Into what stands there: by a teleport, by joining, by a crate that comes over it.
        let still = || platform("p", [half; 3], &[[60.0, half, 60.0]], 0.0, 0.0);
        let heavy = || crate_at("c", [60.0, half.min(10.0), 60.0], half.min(10.0), 20_000.0);
        for (n, obstacle) in [still(), heavy()].into_iter().enumerate() {
            for how in 0..3 {
                let inputs = |tick| match (tick, how) {
                    (0, 0) => vec![join("a", 30.0, 30.0), obstacle.clone()],
                    (60, 0) => vec![Input::Teleport { id: NetId::of_key("a"), x: 60.0, z: 60.0 }],
                    (0, 1) => vec![obstacle.clone()],
                    (60, 1) => vec![join("a", 60.0, 60.0)],
                    (0, 2) => vec![join("a", 60.0, 60.0)],
                    (60, 2) => vec![obstacle.clone()],
                    _ => Vec::new(),
                };
                let (worst, respawned) = deepest(session(flat(), 1), inputs, 240);
                assert!(worst > 0.0 && respawned == 0, "{half} m, {n}, {how}: {worst}, {respawned}");
            }
        }
    }
}

#[test]
fn nothing_presses_a_walker_through_a_cliff() {
    for height in [4.0, 20.0] {
        for speed in [1.0, 3.0, 6.0, 12.0, 24.0, 40.0] {
            let cliff = terrain(move |x, _| if x > 60 { height } else { 0.0 });
            let way = [[45.0, 3.2, 48.0], [70.0, 3.2, 48.0]];
            let inputs = |tick| match tick {
                0 => vec![join("a", 52.0, 48.0)],
                30 => vec![platform("p", [0.5, 3.0, 5.0], &way, speed, 0.0)],
                _ => Vec::new(),
            };
            let (worst, respawned) = deepest(session(cliff, 1), inputs, 600);
            assert!(worst > 0.0 && respawned == 0, "{height} m, {speed} m/s: {worst}, {respawned}");
        }
    }
}

#[test]
fn who_leaves_and_comes_back_in_one_tick_is_there() {
    let mut session = session(flat(), 1);
    session.step(&[join("a", 30.0, 30.0)], Arrivals::WhenDue).unwrap();
    let back = [join("a", 60.0, 60.0), Input::Leave { id: NetId::of_key("a") }];
    session.step(&back, Arrivals::WhenDue).unwrap();
    assert!(session.report().refused.is_empty());
    for _ in 0..60 {
        session.step(&[], Arrivals::WhenDue).unwrap();
    }
    let at = view(&session, "a").state.position;
    assert!((at.x - 60.0).abs() < 1e-6 && (at.z - 60.0).abs() < 1e-6, "{at}");
}

#[test]
fn bodies_beyond_all_ground_are_refused_by_name() {
    let mut session = session(flat(), 1);
    let ball = |y: f64, v: f64| Input::Ball {
        key: format!("{y} {v}"),
        radius: 0.5,
        position: [50.0, y, 50.0],
        velocity: [v, 0.0, 0.0],
    };
    let inputs = [
        ball(1e308, 0.0),
        ball(f64::NAN, 0.0),
        ball(5.0, 1e308),
        ball(5.0, f64::INFINITY),
        crate_at("c", [50.0, -1e17, 50.0], 0.5, 100.0),
    ];
    session.step(&inputs, Arrivals::WhenDue).unwrap();
    let said: Vec<String> = session.report().refused.iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), inputs.len(), "{said:?}");
    assert_eq!(said.iter().filter(|s| s.contains("height must be within 1000000 m")).count(), 3, "{said:?}");
    assert_eq!(said.iter().filter(|s| s.contains("velocity must be within")).count(), 2, "{said:?}");
}

#[test]
fn players_that_join_at_one_place_stand_beside_one_another() {
    let mut session = session(flat(), 1);
    let joins: Vec<Input> = (0..60).map(|n| join(&format!("player {n}"), 96.0, 96.0)).collect();
    for tick in 0..30 {
        session.step(if tick == 0 { &joins } else { &[] }, Arrivals::WhenDue).unwrap();
    }
    let at: Vec<DVec3> = (0..60).map(|n| view(&session, &format!("player {n}")).state.position).collect();
    let apart = 2.0 * SessionConfig::default().walker.radius;
    for (n, a) in at.iter().enumerate() {
        for b in &at[..n] {
            assert!((*a - *b).length() >= apart, "{a} {b}");
        }
    }
}
