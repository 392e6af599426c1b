//! Sessions: the same bits whatever the threads, caches, load order and order of players; gating; and nothing leaks.

use highground_game::component::NetId;
use highground_game::config::{RuntimeConfig, SessionConfig};
use highground_game::demo::{Demo, DemoPlan};
use highground_game::input::Input;
use highground_game::publication::Arrivals;
use highground_game::replay::{Header, Recording, TerrainName, verify};
use highground_game::session::{Map, Session};
use highground_game::walker::WalkCommand;
use highground_terrain::config::{Diagonal, TerrainConfig};
use highground_terrain::content::{Plane, PlaneKind, Water};
use highground_terrain::coord::{BlockPos, BlockSide};
use highground_terrain::state::PublicationState;
use highground_terrain::store::{BlockSource, MemoryTerrain, Raster};
use highground_tests::slow_store::{Fault, SlowStore};
use std::sync::Arc;

/// Hills of a few metres with some steps, from integers only.
fn hills(samples: u32, spacing_256: u32) -> Arc<dyn BlockSource> {
    let wave = |v: i32, period: i32| {
        let t = v.rem_euclid(period);
        f64::from(t.min(period - t)) / f64::from(period)
    };
    MemoryTerrain::from_fn(
        [samples, samples],
        BlockSide::S32,
        |c| {
            c.spacing_256 = spacing_256;
            c.diagonal = Diagonal::Checkerboard;
        },
        |x, z| 6.0 * wave(x, 37) + 4.0 * wave(z, 53) + f64::from((x / 61) % 2) * 1.5 + wave(x + z, 11),
    )
    .shared()
}

fn map(source: Arc<dyn BlockSource>) -> Map {
    Map { source, weights: None, layers: Vec::new() }
}

fn runtime() -> RuntimeConfig {
    RuntimeConfig { physics_threads: 1, reader_threads: 2, cache_budget_bytes: 1 << 20 }
}

fn header(source: &dyn BlockSource, live: bool) -> Header {
    Header {
        terrain: TerrainName::File { path: "memory".into() },
        terrain_digest: source.digest(),
        weight_digest: None,
        block_side: source.block_side().into(),
        config: SessionConfig::default(),
        live,
    }
}

fn run_demo(source: Arc<dyn BlockSource>, runtime: RuntimeConfig, plan: DemoPlan) -> Recording {
    let recording = Recording::new(header(&*source, false));
    let session = Session::new(map(source), SessionConfig::default(), runtime).unwrap();
    let mut demo = Demo::new(session, recording, plan);
    while !demo.is_done() {
        demo.step().unwrap();
    }
    demo.recording().clone()
}

const PLAN: DemoPlan = DemoPlan { players: 6, ticks: 420, seed: 5 };

#[test]
fn threads_cache_budgets_and_load_order_change_nothing() {
    let plain = run_demo(hills(300, 512), runtime(), PLAN);
    let mut orders = Vec::new();
    for (n, (physics_threads, reader_threads, cache_budget_bytes)) in
        [(1, 1, 0), (2, 2, 0), (2, 4, 64 << 20), (1, 3, 20_000)].into_iter().enumerate()
    {
        let slow = Arc::new(SlowStore::new(hills(300, 512), n as u64 * 77 + 3, 4_000));
        let r = RuntimeConfig { physics_threads, reader_threads, cache_budget_bytes };
        let run = run_demo(slow.clone(), r, PLAN);
        assert_eq!(run.final_hash(), plain.final_hash(), "{r:?}");
        assert!(run == plain, "{r:?}");
        orders.push(slow.order());
    }
    for (i, a) in orders.iter().enumerate() {
        assert!(orders[..i].iter().all(|b| a != b), "the blocks arrived in the same order twice");
    }
}

#[test]
fn players_created_in_another_order_give_the_same_run() {
    let joins: Vec<Input> = (0..7)
        .map(|n| Input::Join { key: format!("player {n}"), x: 100.0 + 9.0 * f64::from(n), z: 120.0 })
        .collect();
    let run = |joins: Vec<Input>| {
        let mut session = Session::new(map(hills(200, 512)), SessionConfig::default(), runtime()).unwrap();
        let mut hashes = Vec::new();
        for tick in 0..150 {
            let mut inputs = if tick == 0 { joins.clone() } else { Vec::new() };
            if tick == 20 {
                let command = WalkCommand { x: 90, z: -60, run: true, jump: false, crouch: false };
                inputs.extend(
                    (0..7).map(|n| Input::Command { id: NetId::of_key(&format!("player {n}")), command }),
                );
                inputs.push(Input::Ball {
                    key: "ball".into(),
                    radius: 0.4,
                    position: [110.0, 14.0, 118.0],
                    velocity: [0.0; 3],
                });
            }
            hashes.push(session.step(&inputs, Arrivals::WhenDue).unwrap().hash);
        }
        hashes
    };
    let forward = run(joins.clone());
    let mut mixed = joins.clone();
    mixed.reverse();
    mixed.swap(1, 4);
    assert_eq!(run(mixed), forward);
    assert_ne!(forward[30], forward[149], "the run moves");
}

#[test]
fn a_character_spawned_in_the_load_tick_is_held_until_published_and_never_falls() {
    let config = SessionConfig::default();
    let mut session = Session::new(map(hills(300, 512)), config.clone(), runtime()).unwrap();
    let id = NetId::of_key("a");
    // A block border: sample 64 is at 128 m.
    let join = [Input::Join { key: "a".into(), x: 128.0, z: 128.0 }];
    let mut stood_at = None;
    for tick in 0..120u64 {
        let inputs: &[Input] = if tick == 0 { &join } else { &[] };
        session.step(inputs, Arrivals::WhenDue).unwrap();
        let view = session.character_view(id).unwrap();
        if tick < u64::from(config.due_ticks) + 1 {
            assert!(view.held && view.arriving, "tick {tick}: held until the tick after publication");
        }
        if !view.arriving {
            stood_at.get_or_insert(tick);
            let ground = session.ground().point(view.state.position.x, view.state.position.z).unwrap();
            let feet = view.state.position.y - config.walker.half_height - config.walker.radius;
            assert!(feet > ground.height().unwrap() - 0.02, "tick {tick}: feet {feet} under {ground:?}");
        }
    }
    assert_eq!(
        stood_at,
        Some(u64::from(config.due_ticks) + 1),
        "requested in tick 0, the gate opens in D + 1"
    );
}

#[test]
fn a_player_teleported_to_an_unloaded_place_is_gated_and_walks_on() {
    let mut session = Session::new(map(hills(700, 512)), SessionConfig::default(), runtime()).unwrap();
    let id = NetId::of_key("a");
    let mut gated = 0;
    for tick in 0..300u64 {
        let inputs = match tick {
            0 => vec![Input::Join { key: "a".into(), x: 100.0, z: 100.0 }],
            20 => vec![Input::Command {
                id,
                command: WalkCommand { x: 127, z: 0, run: false, jump: false, crouch: false },
            }],
            100 => vec![Input::Teleport { id, x: 1200.0, z: 900.0 }],
            _ => Vec::new(),
        };
        session.step(&inputs, Arrivals::WhenDue).unwrap();
        let view = session.character_view(id).unwrap();
        if tick >= 100 && view.held {
            gated += 1;
        }
        if tick >= 110 {
            assert!(!view.held && (view.state.position.x - 1200.0).abs() < 20.0, "tick {tick}: {view:?}");
        }
    }
    assert_eq!(gated, 7, "held in the tick of the teleport and D more");
    let view = session.character_view(id).unwrap();
    assert!(view.state.position.x > 1206.0, "it walked on: {view:?}");
    assert!(session.ground().tile(BlockPos::new(1, 1)).is_none(), "nobody keeps the old place");
}

#[test]
fn two_players_far_apart_both_stand_and_shared_blocks_survive_the_others_leaving() {
    let source = hills(700, 4096);
    let mut session = Session::new(map(source), SessionConfig::default(), runtime()).unwrap();
    let joins = [
        Input::Join { key: "near".into(), x: 300.0, z: 300.0 },
        Input::Join { key: "far".into(), x: 10_300.0, z: 900.0 },
        Input::Join { key: "beside".into(), x: 303.0, z: 300.0 },
    ];
    session.step(&joins, Arrivals::WhenDue).unwrap();
    for _ in 0..30 {
        session.step(&[], Arrivals::WhenDue).unwrap();
    }
    for key in ["near", "far", "beside"] {
        let v = session.character_view(NetId::of_key(key)).unwrap();
        assert!(!v.held && !v.arriving && v.state.grounded, "{key}: {v:?}");
        let ground =
            session.ground().point(v.state.position.x, v.state.position.z).unwrap().height().unwrap();
        assert!((v.state.position.y - 0.88 - ground).abs() < 0.3, "{key}: {v:?} over {ground}");
    }
    session.step(&[Input::Leave { id: NetId::of_key("near") }], Arrivals::WhenDue).unwrap();
    for _ in 0..30 {
        session.step(&[], Arrivals::WhenDue).unwrap();
        assert!(!session.character_view(NetId::of_key("beside")).unwrap().held);
    }
    assert_eq!(session.physics_bodies(), 2);
}

#[test]
fn a_thousand_window_moves_leave_counts_and_bytes_where_they_began() {
    let mut session = Session::new(
        map(hills(700, 512)),
        SessionConfig::default(),
        RuntimeConfig { cache_budget_bytes: 0, ..runtime() },
    )
    .unwrap();
    let id = NetId::of_key("a");
    session.step(&[Input::Join { key: "a".into(), x: 200.0, z: 200.0 }], Arrivals::WhenDue).unwrap();
    let counts = |s: &Session| {
        let d = s.publication().data_stats();
        (
            s.ground().resident(),
            s.ground().resident_bytes(),
            s.publication().published(),
            d,
            s.physics_bodies(),
        )
    };
    let settle = |s: &mut Session| {
        for _ in 0..10 {
            s.step(&[], Arrivals::WhenDue).unwrap();
        }
    };
    settle(&mut session);
    let start = counts(&session);
    assert!(start.0 > 0);
    for n in 0..1000u32 {
        let (x, z) = (f64::from(n * 379 % 1200) + 50.0, f64::from(n * 211 % 1200) + 50.0);
        session.step(&[Input::Teleport { id, x, z }], Arrivals::WhenDue).unwrap();
        for _ in 0..n % 9 {
            session.step(&[], Arrivals::WhenDue).unwrap();
        }
    }
    session.step(&[Input::Teleport { id, x: 200.0, z: 200.0 }], Arrivals::WhenDue).unwrap();
    settle(&mut session);
    assert_eq!(counts(&session), start);
    session.step(&[Input::Leave { id }], Arrivals::WhenDue).unwrap();
    settle(&mut session);
    let (resident, bytes, published, data, bodies) = counts(&session);
    assert_eq!((resident, bytes, published, bodies), (0, 0, 0, 0));
    assert_eq!((data.needed, data.needed_bytes), (0, 0));
}

#[test]
fn ground_that_cannot_be_read_holds_bodies_for_ever_and_never_becomes_flat() {
    let slow = Arc::new(SlowStore::new(hills(300, 512), 9, 0));
    slow.fail(BlockPos::new(2, 2), Fault::Corrupt);
    let mut session = Session::new(map(slow), SessionConfig::default(), runtime()).unwrap();
    let joins = [
        Input::Join { key: "on it".into(), x: 160.0, z: 160.0 },
        Input::Join { key: "next to it".into(), x: 100.0, z: 160.0 },
        Input::Join { key: "away".into(), x: 500.0, z: 500.0 },
    ];
    session.step(&joins, Arrivals::WhenDue).unwrap();
    for _ in 0..200 {
        session.step(&[], Arrivals::WhenDue).unwrap();
    }
    for (key, held) in [("on it", true), ("next to it", true), ("away", false)] {
        assert_eq!(session.character_view(NetId::of_key(key)).unwrap().held, held, "{key}");
    }
    let failed: Vec<_> = session
        .publication()
        .wanted()
        .filter(|(_, b)| b.state == PublicationState::Failed)
        .map(|(p, _)| p)
        .collect();
    assert!(failed.contains(&BlockPos::new(2, 2)));
    assert!(failed.iter().all(|p| (p.x - 2).abs() <= 1 && (p.z - 2).abs() <= 1), "no cascade: {failed:?}");
}

#[test]
fn an_error_that_passes_is_retried_offline_and_changes_nothing() {
    let plain = run_demo(hills(300, 512), runtime(), PLAN);
    let slow = Arc::new(SlowStore::new(hills(300, 512), 4, 500));
    for i in 0..81 {
        slow.fail(BlockPos::new(i % 9, i / 9), Fault::Io(i as u32 % 3));
    }
    assert!(run_demo(slow, runtime(), PLAN) == plain);
}

/// A live session: never waits, so what the disk does shows in the run. Its recording gives the same bits again.
#[test]
fn a_live_run_over_a_slow_and_failing_store_replays_bit_for_bit() {
    let source = hills(300, 512);
    let slow = Arc::new(SlowStore::new(source.clone(), 11, 40_000));
    slow.fail(BlockPos::new(3, 3), Fault::Io(4));
    slow.fail(BlockPos::new(5, 4), Fault::Corrupt);
    let config = SessionConfig { retry_after_ticks: 20, ..SessionConfig::default() };
    let mut recording = Recording::new(Header { config: config.clone(), ..header(&*source, true) });
    let mut session = Session::new(map(slow), config, runtime()).unwrap();
    session.set_trace(true);
    let (mut late, mut failures) = (0, 0);
    for tick in 0..400u64 {
        let inputs = match tick {
            0 => (0..5)
                .map(|n| Input::Join { key: format!("p{n}"), x: 150.0 + 30.0 * f64::from(n), z: 200.0 })
                .collect(),
            30 => (0..5)
                .map(|n| Input::Command {
                    id: NetId::of_key(&format!("p{n}")),
                    command: WalkCommand {
                        x: (127 - 50 * n) as i8,
                        z: 100,
                        run: true,
                        jump: false,
                        crouch: false,
                    },
                })
                .collect(),
            _ => Vec::new(),
        };
        let report = session.step(&inputs, Arrivals::AsTheyCome).unwrap().clone();
        recording.push(&inputs, &report);
        for event in &report.events {
            match event.arrival {
                highground_game::publication::Arrival::Failed => failures += 1,
                highground_game::publication::Arrival::Resident => {
                    let block = session.publication().wanted().find(|(p, _)| *p == event.pos).unwrap().1;
                    late += u32::from(tick > block.due);
                }
            }
        }
        // As fast as it can, but slow enough that reads do arrive.
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert!(late > 0, "nothing was late: the store is not slow enough to show anything");
    assert!(failures > 0, "nothing failed");
    let reread = Recording::from_bytes(&recording.to_bytes()).unwrap();
    for (readers, source) in
        [(1, source.clone()), (2, Arc::new(SlowStore::new(source.clone(), 5, 2_000)) as Arc<dyn BlockSource>)]
    {
        let r = RuntimeConfig { reader_threads: readers, ..runtime() };
        let verification = verify(&reread, map(source), r, |_| {}).unwrap();
        assert_eq!(verification.first_difference, None);
        assert_eq!(verification.state_hash, recording.final_hash());
    }
}

#[test]
fn a_flipped_bit_names_tick_system_entity_and_component() {
    let source = hills(200, 512);
    let recording = Recording::new(header(&*source, false));
    let mut session = Session::new(map(source.clone()), SessionConfig::default(), runtime()).unwrap();
    session.set_trace(true);
    let mut demo = Demo::new(session, recording, DemoPlan { players: 3, ticks: 120, seed: 1 });
    while !demo.is_done() {
        demo.step().unwrap();
    }
    let whole = demo.recording().clone();
    assert_eq!(verify(&whole, map(source.clone()), runtime(), |_| {}).unwrap().first_difference, None);

    // The command of one bot is changed by one in one tick: what follows differs from there on.
    let mut bad = whole.clone();
    let (tick, victim) = bad
        .ticks
        .iter_mut()
        .enumerate()
        .filter(|(tick, _)| *tick > 40)
        .find_map(|(tick, record)| {
            record.inputs.iter_mut().find_map(|i| match i {
                Input::Command { id, command } => {
                    command.x ^= 1;
                    Some((tick, *id))
                }
                _ => None,
            })
        })
        .expect("bots give commands");
    let found = verify(&bad, map(source.clone()), runtime(), |_| {}).unwrap().first_difference.unwrap();
    assert_eq!((found.tick, found.system), (tick as u64, Some("inputs")));
    assert_eq!(found.entity, Some(victim));
    assert!(["walker", "command"].contains(&found.component.unwrap()), "{found:?}");

    // One bit of one recorded system hash.
    let mut bad = whole;
    bad.ticks[77].systems[6] ^= 1;
    let found = verify(&bad, map(source), runtime(), |_| {}).unwrap().first_difference.unwrap();
    assert_eq!((found.tick, found.system, found.entity), (77, Some("physics"), None));
}

#[test]
fn bodies_that_leave_the_world_are_put_back_or_removed_and_counted() {
    let mut session = Session::new(map(hills(100, 512)), SessionConfig::default(), runtime()).unwrap();
    let id = NetId::of_key("a");
    for tick in 0..900u64 {
        let inputs = match tick {
            0 => vec![Input::Join { key: "a".into(), x: 190.0, z: 100.0 }],
            20 => vec![
                Input::Command {
                    id,
                    command: WalkCommand { x: 127, z: 0, run: true, jump: false, crouch: false },
                },
                Input::Ball {
                    key: "ball".into(),
                    radius: 0.5,
                    position: [190.0, 20.0, 104.0],
                    velocity: [20.0, 0.0, 0.0],
                },
            ],
            _ => Vec::new(),
        };
        session.step(&inputs, Arrivals::WhenDue).unwrap();
    }
    let stats = session.stats();
    assert!(stats.respawned >= 1, "{stats:?}");
    assert_eq!(stats.removed, 1, "{stats:?}");
    assert_eq!(session.physics_bodies(), 1);
}

#[test]
fn inputs_that_make_no_sense_are_refused_and_counted() {
    let mut session = Session::new(map(hills(100, 512)), SessionConfig::default(), runtime()).unwrap();
    let join = |x: f64| Input::Join { key: "a".into(), x, z: 50.0 };
    let report = session
        .step(
            &[
                join(50.0),
                join(50.0),
                Input::Join { key: "b".into(), x: f64::NAN, z: 0.0 },
                Input::Leave { id: NetId(7) },
                Input::Teleport { id: NetId::of_key("a"), x: 1e300, z: 0.0 },
                Input::Ball { key: "c".into(), radius: 0.0, position: [0.0; 3], velocity: [0.0; 3] },
            ],
            Arrivals::WhenDue,
        )
        .unwrap();
    assert_eq!(report.refused.len(), 5, "{:?}", report.refused);
    assert_eq!(session.stats().refused_inputs, 5);
    assert_eq!(session.characters().count(), 1);
}

#[test]
fn pacing_over_the_edge_of_a_window_gives_no_block_back() {
    let mut session = Session::new(map(hills(300, 512)), SessionConfig::default(), runtime()).unwrap();
    let id = NetId::of_key("a");
    // Blocks are 64 m: 6.34 m west of x = 192 the next block comes into the window, and out of it again.
    session.step(&[Input::Join { key: "a".into(), x: 185.0, z: 160.0 }], Arrivals::WhenDue).unwrap();
    let (mut came, mut went) = (false, false);
    for tick in 0..1500u64 {
        let x = if (tick / 100).is_multiple_of(2) { 127 } else { -127 };
        let command = WalkCommand { x, z: 0, run: false, jump: false, crouch: false };
        session.step(&[Input::Command { id, command }], Arrivals::WhenDue).unwrap();
        let east = session.character_view(id).unwrap().state.position.x + 6.34 >= 192.0;
        came |= east;
        went |= came && !east;
    }
    assert!(came && went, "the walker paces over the edge");
    assert_eq!(session.publication().stats().left_total, 0, "and the block stays: hysteresis");
}

#[test]
fn when_more_blocks_are_wanted_than_allowed_bodies_are_held_and_nothing_falls() {
    let config = SessionConfig { max_blocks: 2, ..SessionConfig::default() };
    let run = || {
        let mut session = Session::new(map(hills(300, 512)), config.clone(), runtime()).unwrap();
        let joins: Vec<Input> = (0..5)
            .map(|n| Input::Join { key: format!("p{n}"), x: 40.0 + 120.0 * f64::from(n), z: 96.0 })
            .collect();
        let mut hash = [0; 32];
        for tick in 0..120 {
            let inputs: &[Input] = if tick == 0 { &joins } else { &[] };
            hash = session.step(inputs, Arrivals::WhenDue).unwrap().hash;
        }
        let standing = session.characters().filter(|c| !c.held).count();
        let waiting = session.characters().filter(|c| c.arriving && c.held).count();
        (hash, standing, waiting, session.publication().stats())
    };
    let (hash, standing, waiting, stats) = run();
    assert_eq!(standing + waiting, 5);
    assert!(waiting >= 3, "two blocks cannot carry more than two of them: {waiting} wait");
    assert!(stats.refused_total > 0 && stats.peak_blocks <= 2);
    assert_eq!(run().0, hash);
}

#[test]
fn two_inputs_of_one_subject_in_a_tick_have_one_winner_whatever_their_order() {
    let id = NetId::of_key("a");
    let command = |x: i8| Input::Command {
        id,
        command: WalkCommand { x, z: 3, run: false, jump: false, crouch: false },
    };
    let teleport = |x: f64| Input::Teleport { id, x, z: 90.0 };
    let join = |x: f64| Input::Join { key: "b".into(), x, z: 90.0 };
    let ball = |radius: f64| Input::Ball {
        key: "c".into(),
        radius,
        position: [80.0, 30.0, 80.0],
        velocity: [0.0; 3],
    };
    let pairs = [
        [command(5), command(-5)],
        [teleport(60.0), teleport(120.0)],
        [join(60.0), join(120.0)],
        [ball(0.3), ball(0.4)],
    ];
    for [first, second] in pairs {
        let run = |inputs: [&Input; 2]| {
            let mut session =
                Session::new(map(hills(100, 512)), SessionConfig::default(), runtime()).unwrap();
            let mut hash = [0; 32];
            for tick in 0..60 {
                let inputs = match tick {
                    0 => vec![Input::Join { key: "a".into(), x: 50.0, z: 50.0 }],
                    20 => inputs.map(Input::clone).to_vec(),
                    _ => Vec::new(),
                };
                hash = session.step(&inputs, Arrivals::WhenDue).unwrap().hash;
            }
            hash
        };
        assert_eq!(run([&first, &second]), run([&second, &first]), "{first:?} and {second:?}");
    }
}

#[test]
fn a_player_who_joins_far_outside_arrives_on_the_map() {
    let mut session = Session::new(map(hills(200, 512)), SessionConfig::default(), runtime()).unwrap();
    let joins = [
        Input::Join { key: "far".into(), x: 1.6e7, z: 1.6e7 },
        Input::Join { key: "west".into(), x: -4000.0, z: 100.0 },
    ];
    session.step(&joins, Arrivals::WhenDue).unwrap();
    for _ in 0..200 {
        session.step(&[], Arrivals::WhenDue).unwrap();
    }
    for (key, x) in [("far", 398.0), ("west", 0.0)] {
        let view = session.character_view(NetId::of_key(key)).unwrap();
        assert!(!view.arriving && (view.state.position.x - x).abs() < 70.0, "{key}: {view:?}");
    }
}

/// A whole map without standing room: everybody waits, and a tick goes on costing the same.
#[test]
fn nobody_arrives_where_there_is_no_ground_and_the_search_stays_on_the_map() {
    let terrain = MemoryTerrain::from_fn([100, 100], BlockSide::S32, |_| {}, |_, _| 0.0);
    let mut raster = terrain.raster().clone();
    raster.mask.fill(0);
    let source = MemoryTerrain::new(raster, BlockSide::S32).shared();
    let mut session = Session::new(map(source), SessionConfig::default(), runtime()).unwrap();
    session.step(&[Input::Join { key: "a".into(), x: 1e6, z: 5.0 }], Arrivals::WhenDue).unwrap();
    let mut most = 0;
    for _ in 0..3000 {
        session.step(&[], Arrivals::WhenDue).unwrap();
        most = most.max(session.ground().resident());
    }
    assert!(session.characters().all(|c| c.arriving && c.held));
    assert!(most > 0 && session.publication().stats().published_total >= 16, "every block was tried");
}

#[test]
fn an_offline_run_over_damaged_ground_replays_on_whole_ground() {
    let source = hills(300, 512);
    let slow = Arc::new(SlowStore::new(source.clone(), 2, 0));
    slow.fail(BlockPos::new(2, 2), Fault::Corrupt);
    let mut recording = Recording::new(header(&*source, false));
    let mut session = Session::new(map(slow), SessionConfig::default(), runtime()).unwrap();
    for tick in 0..60 {
        let inputs = match tick {
            0 => vec![Input::Join { key: "a".into(), x: 160.0, z: 160.0 }],
            _ => Vec::new(),
        };
        let report = session.step(&inputs, Arrivals::WhenDue).unwrap();
        recording.push(&inputs, report);
    }
    let error = session.publication().first_error().expect("the failure is kept");
    assert_eq!(error.pos, BlockPos::new(2, 2));
    assert_eq!(verify(&recording, map(source), runtime(), |_| {}).unwrap().first_difference, None);
}

#[test]
fn a_replay_on_other_blocks_says_so() {
    let source = hills(100, 512);
    let mut recording = Recording::new(header(&*source, false));
    recording.header.block_side = 64;
    let error = verify(&recording, map(source), runtime(), |_| {}).unwrap_err().to_string();
    assert_eq!(error, "was made with blocks of 64 samples a side, but this terrain has 32");
}

/// All holes but one small island: whoever joins anywhere finds it in the end.
#[test]
fn a_player_arrives_on_the_only_ground_there_is() {
    for (spacing_256, island) in [(256, 101..104), (8192, 4..15), (8192, 17..31)] {
        let samples = if spacing_256 == 256 { 161 } else { 65 };
        let terrain =
            MemoryTerrain::from_fn([samples; 2], BlockSide::S32, |c| c.spacing_256 = spacing_256, |_, _| 7.0);
        let mut raster = terrain.raster().clone();
        let cells = samples as usize - 1;
        for (i, mask) in raster.mask.iter_mut().enumerate() {
            if !island.contains(&(i % cells)) || !island.contains(&(i / cells)) {
                *mask = 0;
            }
        }
        let source = MemoryTerrain::new(raster, BlockSide::S32).shared();
        let side = f64::from(samples - 1) * f64::from(spacing_256) / 256.0;
        let mut session = Session::new(map(source), SessionConfig::default(), runtime()).unwrap();
        let joins = [(0.0, 0.0), (side, side), (-5.0, side * 3.0)];
        let joins: Vec<Input> =
            joins.iter().enumerate().map(|(n, &(x, z))| Input::Join { key: format!("p{n}"), x, z }).collect();
        session.step(&joins, Arrivals::WhenDue).unwrap();
        for _ in 0..4000 {
            session.step(&[], Arrivals::WhenDue).unwrap();
        }
        assert!(session.characters().all(|c| !c.arriving && !c.held), "{spacing_256}/256 m, {island:?}");
    }
}

#[test]
fn a_player_over_deep_water_swims_and_one_over_dry_ground_stands() {
    let config = TerrainConfig::new([97, 97], 256);
    let mut raster = Raster::from_heights(config, vec![0; 97 * 97]);
    raster.catalogue.water = Some(Water { max_depth_m: 3.0 });
    // Three metres deep in the western half.
    let depth = |i: usize| if i % 97 < 48 { 3 * 128u32 } else { 0 };
    let values = (0..97 * 97).flat_map(|i| depth(i).to_le_bytes()).collect();
    raster.set_plane(Plane { kind: PlaneKind::WaterDepth, values });
    let source = MemoryTerrain::new(raster, BlockSide::S32).shared();
    let mut session = Session::new(map(source), SessionConfig::default(), runtime()).unwrap();
    let join = |key: &str, x: f64| Input::Join { key: key.into(), x, z: 40.0 };
    let joins = [join("wet", 20.0), join("dry", 80.0)];
    for tick in 0..240 {
        session.step(if tick == 0 { &joins } else { &[] }, Arrivals::WhenDue).unwrap();
    }
    let state = |key: &str| session.character_view(NetId::of_key(key)).unwrap().state;
    let (wet, dry) = (state("wet"), state("dry"));
    assert!(wet.swimming && !wet.grounded && wet.position.y > 1.5, "{wet:?}");
    assert!(!dry.swimming && dry.grounded, "{dry:?}");
}
