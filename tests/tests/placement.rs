//! A terrain placed far from the origin of its world plays as it does at the origin.

use glam::DVec3;
use highground_game::component::NetId;
use highground_game::config::{RuntimeConfig, SessionConfig};
use highground_game::demo::{Demo, DemoPlan};
use highground_game::input::Input;
use highground_game::publication::{Arrivals, Footprint};
use highground_game::replay::{Header, Recording, TerrainName};
use highground_game::session::{Map, Session};
use highground_game::walker::WalkCommand;
use highground_game::way::{Way, WayEnd};
use highground_terrain::config::{Diagonal, Placement};
use highground_terrain::coord::{BlockPos, BlockSide, CellPos};
use highground_terrain::nav::{Nav, NavRules};
use highground_terrain::store::{BlockSource, MemoryTerrain};
use std::sync::Arc;

/// 45 km east, 30 km north and 300 m up, on a lattice of 1.25 m.
const FAR: Placement = Placement { x: 36_000, z: -24_000, y: 38_400 };

fn hills(placement: Placement) -> Arc<dyn BlockSource> {
    let wave = |v: i32, period: i32| {
        let t = v.rem_euclid(period);
        f64::from(t.min(period - t)) / f64::from(period)
    };
    MemoryTerrain::from_fn(
        [290, 290],
        BlockSide::S32,
        |c| {
            c.spacing_256 = 320;
            c.diagonal = Diagonal::Checkerboard;
            c.placement = placement;
        },
        |x, z| 6.0 * wave(x, 37) + 4.0 * wave(z, 53) + f64::from((x / 61) % 2) * 1.5 + wave(x + z, 11),
    )
    .shared()
}

fn session(placement: Placement) -> (Session, DVec3) {
    let source = hills(placement);
    let origin = DVec3::from(source.config().origin_m());
    let map = Map { source, weights: None, layers: Vec::new() };
    (Session::new(map, SessionConfig::default(), RuntimeConfig::default()).unwrap(), origin)
}

/// Walkers that keep turning, a lift and a teleport, and loose bodies if there are to be any; all shifted by the origin.
fn script(tick: u64, o: DVec3, loose: bool) -> Vec<Input> {
    let (n, id) = (|i: u32| f64::from(i), |i: u32| NetId::of_key(&format!("p{i}")));
    match tick {
        0 => (0..6)
            .map(|i| Input::Join {
                key: format!("p{i}"),
                x: o.x + 70.0 + 11.0 * n(i),
                z: o.z + 82.0 + 3.0 * n(i),
            })
            .collect(),
        20 => {
            let count = if loose { 3 } else { 0 };
            let mut inputs: Vec<Input> = (0..count)
                .map(|i| Input::Ball {
                    key: format!("ball {i}"),
                    radius: 0.3 + 0.1 * n(i),
                    position: (o + DVec3::new(90.0 + 7.0 * n(i), 16.0, 95.0)).to_array(),
                    velocity: [1.0, 0.0, -0.5],
                })
                .collect();
            inputs.extend((0..count).map(|i| Input::Crate {
                key: format!("crate {i}"),
                position: (o + DVec3::new(72.0 + 11.0 * n(i), 14.0, 84.0)).to_array(),
                half_extents: [0.4; 3],
                density: 80.0,
            }));
            let points = [[100.0, 4.0, 90.0], [112.0, 8.0, 90.0]].map(|p| (o + DVec3::from(p)).to_array());
            let way = Way { points: points.to_vec(), speed: 1.5, end: WayEnd::ThereAndBack, turn: 0.25 };
            inputs.push(Input::Platform { key: "lift".into(), half_extents: [2.0, 0.25, 2.0], way });
            inputs
        }
        300 => vec![Input::Teleport { id: id(2), x: o.x + 310.0, z: o.z + 300.0 }],
        _ if tick.is_multiple_of(40) => (0..6)
            .map(|i| {
                let turn = (tick / 40) as u32 + 3 * i;
                let command = WalkCommand {
                    x: (turn * 61 % 255) as u8 as i8,
                    z: (turn * 97 % 255) as u8 as i8,
                    run: i % 3 == 0,
                    jump: i == 4,
                    crouch: false,
                };
                Input::Command { id: id(i), command }
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// What differs after rounding is bounded: positions at 45 km have steps of 7·10⁻¹² m where those near the origin have
/// steps of 10⁻¹⁴ m, so no arithmetic in floats gives the same bits; everything that is decided in integers is the same.
///
/// The largest differences of walkers, balls and crates over 600 ticks, in metres.
fn differences(loose: bool) -> [f64; 3] {
    assert_eq!(session(FAR).1, DVec3::new(45_000.0, 300.0, -30_000.0));
    between(Placement::default(), DVec3::ZERO, FAR, session(FAR).1, loose)
}

/// The same between two sessions whose inputs are shifted by `zero` and `o`.
fn between(place: Placement, zero: DVec3, other: Placement, o: DVec3, loose: bool) -> [f64; 3] {
    let (mut near, mut far) = (session(place).0, session(other).0);
    let mut worst = [0.0_f64; 3];
    for tick in 0..600 {
        near.step(&script(tick, zero, loose), Arrivals::WhenDue).unwrap();
        far.step(&script(tick, o, loose), Arrivals::WhenDue).unwrap();
        assert!(near.report().refused.is_empty() && far.report().refused.is_empty());
        assert_eq!(near.report().gated, far.report().gated, "tick {tick}");
        assert_eq!(near.report().events, far.report().events, "tick {tick}");
        let wanted = |s: &Session| s.publication().wanted().map(|(p, b)| (p, *b)).collect::<Vec<_>>();
        assert_eq!(wanted(&near), wanted(&far), "tick {tick}");
        for (a, b) in near.characters().zip(far.characters()) {
            let states = |c: &highground_game::session::CharacterView| {
                (c.id, c.held, c.arriving, c.state.grounded, c.state.carrier)
            };
            assert_eq!(states(&a), states(&b), "tick {tick}");
            if !a.arriving {
                worst[0] = worst[0].max((b.state.position - o - a.state.position).length());
            }
        }
        for ((i, a), (j, b)) in near.balls().zip(far.balls()) {
            assert_eq!(i, j);
            worst[1] = worst[1].max((b.position - o - a.position).length());
        }
        for ((i, a), (j, b)) in near.crates().zip(far.crates()) {
            assert_eq!(i, j);
            worst[2] = worst[2].max((b.position - o - a.position).length());
        }
    }
    println!("largest differences of walkers, balls and crates: {worst:?} m");
    assert!(near.stats().walked_m > 50.0 && near.stats().borders_crossed > 1, "{:?}", near.stats());
    assert_eq!(near.stats().borders_crossed, far.stats().borders_crossed);
    worst
}

#[test]
fn walkers_and_lifts_45_km_away_go_as_at_the_origin() {
    let [walkers, ..] = differences(false);
    assert!(walkers < 1e-8, "{walkers} m");
}

/// Contacts amplify: a crate that tumbles does so by a little more or less, and who walks into it notices. How much is
/// measured at the origin itself, where all inputs are moved by one step of the numbers at 45 km.
#[test]
fn loose_bodies_45_km_away_differ_no_more_than_their_inputs_rounding_makes_them() {
    let nudged = |n: i32| {
        let step = f64::from(n) * 45_000.0 * f64::EPSILON;
        between(Placement::default(), DVec3::ZERO, Placement::default(), DVec3::new(step, 0.0, -step), true)
    };
    let rounding =
        [1, -1, 2, -2, 3, -3].map(nudged).into_iter().reduce(|a, b| std::array::from_fn(|i| a[i].max(b[i])));
    let (rounding, found) = (rounding.expect("six of them"), differences(true));
    assert!(found[0] < 1e-5, "walkers: {} m", found[0]);
    for (found, rounding) in found.iter().zip(rounding).skip(1) {
        // Rounding goes on in every tick, a nudge was once.
        assert!(*found <= 3.0 * rounding, "{found} m for {rounding} m");
        assert!(rounding < 0.1, "a bound that says something: {rounding} m");
    }
}

#[test]
fn windows_and_ways_are_in_world_coordinates() {
    let (mut far, o) = session(FAR);
    let join = Input::Join { key: "a".into(), x: o.x + 50.0, z: o.z + 90.0 };
    for tick in 0..20 {
        far.step(if tick == 0 { std::slice::from_ref(&join) } else { &[] }, Arrivals::WhenDue).unwrap();
    }
    // 40 m a block.
    let under = far.publication().under(Footprint::around(o.x + 50.0, o.z + 90.0, 0.1)).unwrap();
    assert!(under.published.is_some());
    assert!(far.ground().tile(BlockPos::new(1, 2)).is_some());
    assert_eq!(far.publication().under(Footprint::around(50.0, 90.0, 0.1)), None, "nothing stands there");
    let config = SessionConfig::default().navigation();
    let rules = NavRules::new(&config, far.ground().config(), &[]).unwrap();
    let nav = Nav::of(far.ground(), &rules);
    let cell = CellPos::new(41, 70);
    assert_eq!(nav.centre(cell), [o.x + 41.5 * 1.25, o.z + 70.5 * 1.25]);
    let [x, z] = nav.centre(cell);
    assert_eq!(nav.cell_at(x, z), Ok(cell));
    // The far edge belongs to the last cell.
    assert_eq!(nav.cell_at(o.x + 289.0 * 1.25, z), Ok(CellPos::new(288, 70)));
    // Who leaves the placed extent is lost, and comes home.
    let edge = Input::Teleport { id: NetId::of_key("a"), x: o.x + 1.0, z: o.z + 90.0 };
    let west =
        Input::Command { id: NetId::of_key("a"), command: WalkCommand { x: -127, ..Default::default() } };
    for tick in 0..200 {
        let inputs: &[Input] = match tick {
            0 => std::slice::from_ref(&edge),
            20 => std::slice::from_ref(&west),
            _ => &[],
        };
        far.step(inputs, Arrivals::WhenDue).unwrap();
    }
    assert!(far.stats().respawned >= 1);
}

#[test]
fn bots_find_their_ways_on_a_placed_terrain() {
    let run = |placement: Placement| {
        let (session, o) = session(placement);
        let header = Header {
            terrain: TerrainName::File { path: "memory".into() },
            terrain_digest: [0; 32],
            weight_digest: None,
            block_side: 32,
            config: SessionConfig::default(),
            live: false,
        };
        let plan = DemoPlan { players: 6, ticks: 600, seed: 4 };
        let mut demo = Demo::new(session, Recording::new(header), plan);
        while !demo.is_done() {
            demo.step().unwrap();
        }
        let inside = demo.session().characters().all(|c| {
            let p = c.state.position - o;
            c.arriving || (0.0..=361.25).contains(&p.x) && (0.0..=361.25).contains(&p.z)
        });
        assert!(inside);
        (demo.session().stats(), demo.guide().unwrap().stats())
    };
    let (near, far) = (run(Placement::default()), run(FAR));
    for (stats, guide) in [near, far] {
        assert!(stats.walked_m > 60.0 && stats.respawned == 0, "{stats:?}");
        assert!(guide.found > 0 && 2 * guide.found >= guide.asked, "{guide:?}");
    }
    assert_eq!(near.1.asked, far.1.asked, "the same choices");
}
