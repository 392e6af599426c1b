//! How walkers behave on ground whose answer is known.

use super::*;
use highground_terrain::config::TerrainConfig;
use highground_terrain::coord::BlockSide;
use highground_terrain::store::MemoryTerrain;

mod rough;

const DT: f64 = 1.0 / 60.0;
const STAND: WalkCommand = WalkCommand { x: 0, z: 0, run: false, jump: false, crouch: false };
const EAST: WalkCommand = WalkCommand { x: 127, z: 0, run: false, jump: false, crouch: false };

fn config() -> WalkerConfig {
    WalkerConfig::default()
}

/// Ground of `samples` a side with the spacing in 1/256 m; heights in metres by position in metres.
fn ground(samples: u32, spacing_256: u32, height: impl Fn(f64, f64) -> f64) -> Ground {
    let s = f64::from(spacing_256) / 256.0;
    MemoryTerrain::from_fn(
        [samples, samples],
        BlockSide::S32,
        |c: &mut TerrainConfig| {
            c.spacing_256 = spacing_256;
            c.quantum = 12.try_into().expect("k up to 12");
        },
        |x, z| height(f64::from(x) * s, f64::from(z) * s),
    )
    .ground_all()
}

fn step(ground: &Ground, state: &WalkerState, command: WalkCommand) -> WalkerState {
    let step = walk(ground, &config(), 1.0, state, command, DT);
    assert_eq!(step.coverage, Coverage::Complete);
    step.state
}

#[test]
fn walking_and_standing_on_flat_ground_never_leaves_it() {
    let ground = ground(256, 512, |_, _| 7.25);
    let height = 7.25 + config().centre_height();
    let mut state = place(&ground, &config(), 200.0, 200.0).unwrap();
    for tick in 0..10_000 {
        // There and back, along x, z and both diagonals, with a pause; over block borders every 64 m.
        let way = [(127, 0), (0, 127), (90, 90), (-90, -90), (0, -127), (-127, 0), (0, 0)][tick / 600 % 7];
        let command =
            WalkCommand { x: way.0, z: way.1, run: tick / 600 % 2 == 1, jump: false, crouch: false };
        let next = step(&ground, &state, command);
        assert!(next.grounded, "tick {tick}");
        assert!((next.position.y - height).abs() < 1e-3, "tick {tick}: {}", next.position.y - height);
        let speed = command.direction().length() * if command.run { 6.0 } else { 3.0 };
        let moved = (next.position - state.position).length() / DT;
        assert!((moved - speed).abs() < 1e-9, "tick {tick}: {moved} instead of {speed}");
        state = next;
    }
}

#[test]
fn a_slope_below_the_limit_is_walked_at_full_horizontal_speed() {
    for degrees in [20.0_f64, 40.0, 44.9] {
        let rise = libm::tan(degrees.to_radians());
        let ground = ground(120, 256, |x, _| x * rise);
        let mut state = place(&ground, &config(), 10.0, 60.0).unwrap();
        for command in [
            EAST,
            WalkCommand { x: -127, ..EAST },
            WalkCommand { x: 70, z: 70, run: true, jump: false, crouch: false },
        ] {
            for tick in 0..500 {
                let next = step(&ground, &state, command);
                assert!(next.grounded, "{degrees}° tick {tick}");
                let d = next.position - state.position;
                let speed = (d.x * d.x + d.z * d.z).sqrt() / DT;
                let wanted = command.direction().length() * if command.run { 6.0 } else { 3.0 };
                assert!((speed - wanted).abs() < 1e-6, "{degrees}° tick {tick}: {speed} instead of {wanted}");
                state = next;
            }
        }
    }
}

#[test]
fn ground_above_the_limit_is_not_climbed_and_is_slid_down() {
    for degrees in [46.0_f64, 60.0, 75.0] {
        let rise = libm::tan(degrees.to_radians());
        let ground = ground(120, 256, |x, _| if x > 30.0 { (x - 30.0) * rise } else { 0.0 });
        let mut state = place(&ground, &config(), 25.0, 60.0).unwrap();
        for run in [false, true] {
            for tick in 0..600 {
                state = step(&ground, &state, WalkCommand { run, ..EAST });
                assert!(state.grounded, "{degrees}° tick {tick}");
                assert!(state.position.y < 0.36 + config().centre_height(), "{degrees}° tick {tick}");
            }
        }
        assert!(state.position.x > 29.4 && state.position.x < 30.5, "{}", state.position.x);
        // Jumping at it does not help either.
        for _ in 0..600 {
            state = step(&ground, &state, WalkCommand { run: true, jump: true, ..EAST });
            assert!(state.position.y < 1.6 + config().centre_height(), "{degrees}°: {}", state.position.y);
        }
        // Put on it, the walker slides down to its foot, even while it wants to go up.
        let mut state = place(&ground, &config(), 34.0, 60.0).unwrap();
        assert!(!state.grounded);
        let mut ticks = 0;
        while !state.grounded {
            let next = step(&ground, &state, EAST);
            assert!(next.position.y < state.position.y, "{degrees}° tick {ticks}");
            state = next;
            ticks += 1;
            assert!(ticks < 300);
        }
        assert!(state.position.x < 30.3, "{}", state.position.x);
    }
}

#[test]
fn a_step_below_the_step_height_is_climbed_and_a_higher_one_is_a_wall() {
    // Flanks one sample wide: 1/16 m (upright but for 10°) and 1/4 m (50°).
    for spacing in [16, 64] {
        for (height, climbed) in [(0.1, true), (0.3, true), (0.6, false), (1.5, false)] {
            let s = f64::from(spacing) / 256.0;
            let middle = 48.0 * s;
            let ground = ground(97, spacing, |x, _| if x > middle { height } else { 0.0 });
            let mut state = place(&ground, &config(), middle - 1.0, middle).unwrap();
            let top = ground.point(middle + 1.0, middle).unwrap().height().unwrap();
            let wanted = WalkCommand { x: 60, ..EAST };
            let mut walked = 0.0;
            for tick in 0..80 {
                let result = walk(&ground, &config(), 1.0, &state, wanted, DT);
                assert!(result.state.grounded, "{height} tick {tick}");
                walked += result.walked_m;
                state = result.state;
            }
            let rise = state.position.y - config().centre_height();
            if climbed {
                assert!((rise - top).abs() < 1e-6 && state.position.x > middle + 0.4, "{height}: {rise}");
                assert!((walked - 80.0 * DT * 3.0 * 60.0 / 127.0).abs() < 1e-6, "{walked}");
                // And down again, without leaving the ground.
                for tick in 0..80 {
                    state = step(&ground, &state, WalkCommand { x: -60, ..EAST });
                    assert!(state.grounded, "down {height} tick {tick}");
                }
                assert!((state.position.y - config().centre_height()).abs() < 1e-6);
            } else {
                assert!(rise < 0.1, "{height}: {rise}");
                assert!(state.position.x < middle, "{height}: {}", state.position.x);
            }
        }
    }
}

#[test]
fn a_wall_stops_the_way_into_it_and_leaves_the_way_along_it() {
    let ground = ground(200, 128, |x, _| if x > 50.0 { 8.0 } else { 0.0 });
    let mut state = place(&ground, &config(), 49.0, 20.0).unwrap();
    for _ in 0..60 {
        state = step(&ground, &state, EAST);
    }
    let resting = state.position;
    assert!(resting.x > 49.5 && resting.x < 49.9, "{}", resting.x);
    for _ in 0..600 {
        state = step(&ground, &state, EAST);
        assert!((state.position - resting).length() < 1e-6, "jitter");
    }
    // 45° into it: what is along it stays, tick by tick.
    for tick in 0..600 {
        let next = step(&ground, &state, WalkCommand { x: 90, z: 90, ..EAST });
        let d = next.position - state.position;
        assert!((d.z / DT - 3.0 / 2.0_f64.sqrt()).abs() < 1e-6 && d.x.abs() < 1e-6, "tick {tick}: {d}");
        assert!(next.grounded && d.y.abs() < 1e-9);
        state = next;
    }
}

#[test]
fn a_jump_reaches_its_apex_and_lands_where_the_parabola_ends() {
    let ground = ground(100, 256, |_, _| 2.0);
    let mut state = place(&ground, &config(), 20.0, 20.0).unwrap();
    let start = state.position;
    state = step(&ground, &state, WalkCommand { jump: true, ..EAST });
    assert!(!state.grounded);
    let (mut apex, mut ticks) = (0.0_f64, 1);
    while !state.grounded {
        apex = apex.max(state.position.y - start.y);
        state = step(&ground, &state, EAST);
        ticks += 1;
    }
    let (v, g) = (config().jump_speed, config().gravity);
    let exact = v * v / (2.0 * g);
    // Between two ticks the parabola's top is at most g·(dt/2)²/2 above the samples.
    assert!(apex <= exact + 1e-9 && apex > exact - g * DT * DT / 8.0 - 1e-9, "{apex} of {exact}");
    assert_eq!(ticks, (2.0 * v / g / DT).ceil() as i32);
    assert!((state.position.y - start.y).abs() < 1e-6);
    assert!((state.position.x - start.x - f64::from(ticks) * 3.0 * DT).abs() < 1e-6);
}

#[test]
fn a_fall_ends_at_the_terminal_velocity_and_on_the_ground() {
    let ground = ground(64, 256, |_, _| 0.0);
    let mut state = WalkerState {
        position: DVec3::new(30.0, 1000.0, 30.0),
        velocity: DVec3::ZERO,
        grounded: false,
        ..WalkerState::default()
    };
    let mut fastest = 0.0_f64;
    for _ in 0..3000 {
        state = step(&ground, &state, STAND);
        fastest = fastest.max(-state.velocity.y);
        if state.grounded {
            break;
        }
    }
    assert_eq!(fastest, config().max_fall_speed);
    assert!(state.grounded && (state.position.y - config().centre_height()).abs() < 1e-6);
}

#[test]
fn air_control_is_limited() {
    let ground = ground(64, 256, |_, _| 0.0);
    let start = WalkerState {
        position: DVec3::new(30.0, 50.0, 30.0),
        velocity: DVec3::new(2.0, 0.0, 0.0),
        grounded: false,
        ..WalkerState::default()
    };
    let one = step(&ground, &start, WalkCommand { x: -127, ..EAST });
    assert!((one.velocity.x - (2.0 - config().air_acceleration * DT)).abs() < 1e-12);
    assert_eq!(step(&ground, &start, STAND).velocity.x, 2.0);
}

#[test]
fn far_from_the_origin_a_walker_stands_as_exactly() {
    // 45 km out: 180 cells of 256 m, a gentle slope.
    let ground = ground(182, 65_536, |x, z| x * 0.03 + z * 0.01);
    let normal = DVec3::new(-0.03, 1.0, -0.01).normalize();
    for (x, z) in [(45_000.3, 45_100.7), (46_079.5, 46_079.9), (45_056.0, 46_080.0)] {
        let mut state = place(&ground, &config(), x, z).unwrap();
        for tick in 0..2_000 {
            let command = if tick < 1000 { STAND } else { WalkCommand { x: 20, z: -90, ..EAST } };
            let next = step(&ground, &state, command);
            assert!(next.grounded);
            // The lower cap's centre is radius + skin from the plane.
            let cap = next.position - DVec3::Y * config().half_height;
            let height = ground.point(cap.x, cap.z).unwrap().height().unwrap();
            let clearance = (cap.y - height) * normal.y - config().radius;
            // 1/4096 m quanta bend the slope a little within a cell: 1 mm.
            assert!((clearance - config().skin).abs() < 1e-3, "{clearance}");
            if tick < 1000 {
                assert_eq!(next.position, state.position);
            }
            state = next;
        }
    }
}

fn with_hole() -> Ground {
    let flat = MemoryTerrain::from_fn([64, 64], BlockSide::S32, |c| c.spacing_256 = 512, |_, _| 3.0);
    let mut raster = flat.raster().clone();
    // The cell from (40, 40) to (42, 42) m.
    raster.mask[20 * 63 + 20] = 0;
    MemoryTerrain::new(raster, BlockSide::S32).ground_all()
}

#[test]
fn a_hole_of_one_cell_lets_a_walker_fall_through_and_carries_it_at_its_rim() {
    let ground = with_hole();
    assert_eq!(place(&ground, &config(), 41.0, 41.0), None);
    for run in [false, true] {
        let mut state = place(&ground, &config(), 38.0, 41.0).unwrap();
        for _ in 0..300 {
            state = step(&ground, &state, WalkCommand { run, ..EAST });
            // Even at 6 m/s it has sunk too far for the far rim, which stops it until it is through.
            let in_the_hole = (state.position.y - 3.0).abs() < config().half_height;
            assert!(!in_the_hole || state.position.x < 42.0 - config().radius, "{}", state.position);
        }
        assert!(state.position.y < -10.0, "{}", state.position);
        assert!(!state.grounded);
    }
    // Its middle 10 cm before the rim.
    let mut state = place(&ground, &config(), 39.9, 41.0).unwrap();
    let start = state;
    for _ in 0..100 {
        state = step(&ground, &state, STAND);
        assert_eq!(state, start);
    }
    // Off the edge of the extent as well.
    let mut state = place(&ground, &config(), 124.0, 60.0).unwrap();
    for _ in 0..300 {
        state = step(&ground, &state, EAST);
    }
    assert!(state.position.y < -10.0);
}

#[test]
fn missing_ground_leaves_the_state_as_it_is() {
    use highground_terrain::coord::BlockPos;
    use highground_terrain::surface::Slot;
    let all = ground(96, 256, |_, _| 1.0);
    for (slot, expected) in [(Slot::Absent, Coverage::Pending), (Slot::Failed, Coverage::Failed)] {
        let ground = all.with_changes(&[(BlockPos::new(1, 0), slot)]);
        for (x, there) in [(20.0, true), (31.9, false), (40.0, false)] {
            for (grounded, velocity) in [(true, DVec3::ZERO), (false, DVec3::new(1.0, -5.0, 2.0))] {
                let state = WalkerState {
                    position: DVec3::new(x, 1.885, 10.0),
                    velocity,
                    grounded,
                    ..WalkerState::default()
                };
                let step = walk(&ground, &config(), 1.0, &state, EAST, DT);
                if there {
                    assert_eq!(step.coverage, Coverage::Complete);
                } else {
                    assert_eq!(
                        step,
                        WalkStep { state, coverage: expected, walked_m: 0.0, pushes: Pushes::default() }
                    );
                }
            }
            assert_eq!(place(&ground, &config(), x, 10.0).is_some(), there);
        }
    }
}

#[test]
fn a_walker_wedged_between_cliffs_stands_and_walks_along_the_crease() {
    let ground = ground(96, 256, |x, _| (x - 40.0).abs() * 1.75);
    let mut state = WalkerState {
        position: DVec3::new(40.6, 12.0, 40.0),
        velocity: DVec3::ZERO,
        grounded: false,
        ..WalkerState::default()
    };
    for _ in 0..600 {
        state = step(&ground, &state, STAND);
    }
    assert!(state.grounded, "{state:?}");
    for tick in 0..600 {
        let next = step(&ground, &state, STAND);
        assert_eq!(next, state, "tick {tick}");
    }
    for tick in 0..600 {
        let next =
            step(&ground, &state, WalkCommand { x: 0, z: if tick < 300 { 127 } else { -127 }, ..STAND });
        assert!(next.grounded, "tick {tick}");
        let speed = (next.position - state.position).length() / DT;
        assert!((speed - 3.0).abs() < 1e-6, "tick {tick}: {speed}");
        state = next;
    }
}

#[test]
fn ground_that_is_raised_into_a_walker_lifts_it() {
    let low = ground(64, 256, |_, _| 1.0);
    let high = ground(64, 256, |_, _| 1.25);
    let state = place(&low, &config(), 30.2, 30.7).unwrap();
    let lifted = step(&high, &state, STAND);
    assert!(lifted.grounded);
    assert!((lifted.position - state.position - DVec3::Y * 0.25).length() < 1e-6, "{}", lifted.position);
}

#[test]
fn a_walker_in_the_air_is_lifted_out_of_ground_that_is_raised_over_it() {
    let low = ground(64, 256, |_, _| 1.0);
    let placed = place(&low, &config(), 30.2, 30.7).unwrap();
    let falling = |up: f64| WalkerState {
        position: placed.position + DVec3::Y * up,
        velocity: DVec3::new(2.0, -5.0, 0.5),
        grounded: false,
        ..placed
    };
    for (raised, up, lifts) in [
        (1.5, 1.0, true),
        (2.2, 0.4, true),
        (31.0, 20.0, true),
        (1.2, 1.0, true),
        (0.9, 1.0, false),
        (0.2, 1.0, false),
    ] {
        let high = ground(64, 256, |_, _| 1.0 + raised);
        let state = falling(up);
        let lifted = lift_out(&low, &high, &config(), &state);
        let over = place(&high, &config(), 30.2, 30.7).unwrap();
        if lifts {
            assert_eq!(
                lifted,
                WalkerState { position: over.position, velocity: DVec3::new(2.0, 0.0, 0.5), ..state }
            );
        } else {
            assert_eq!(lifted, state, "raised by {raised}, {up} up");
        }
        let mut state = lifted;
        for _ in 0..120 {
            state = step(&high, &state, STAND);
        }
        assert!(
            state.grounded && (state.position.y - over.position.y).abs() < 1e-6,
            "{raised}, {up}: {state:?}"
        );
    }
    // Fallen through a hole: under the ground, which was not raised.
    let below = falling(-4.0);
    assert_eq!(lift_out(&low, &ground(64, 256, |_, _| 1.5), &config(), &below), below);
    // On the ground: its own next move does it. On something else: off it.
    assert_eq!(lift_out(&low, &ground(64, 256, |_, _| 4.0), &config(), &placed), placed);
    let riding = WalkerState { carrier: Some(7), ..WalkerState { grounded: true, ..falling(1.0) } };
    let off = lift_out(&low, &ground(64, 256, |_, _| 4.0), &config(), &riding);
    assert!(!off.grounded && off.carrier.is_none() && off.position.y > riding.position.y + 1.9, "{off:?}");
}

#[test]
fn block_borders_do_not_change_a_walk() {
    let height = |x: i32, z: i32| f64::from((x * 7919 + z * 104_729).rem_euclid(1009)) / 400.0;
    let walks = [BlockSide::S32, BlockSide::S64, BlockSide::S128].map(|side| {
        let ground = MemoryTerrain::from_fn([130, 130], side, |c| c.spacing_256 = 384, height).ground_all();
        let mut state = place(&ground, &config(), 40.0, 40.0).unwrap();
        for tick in 0..1500_u32 {
            let way = [(127, 30), (60, 127), (-127, 20), (-90, -90), (0, -127)][tick as usize / 300];
            let command = WalkCommand {
                x: way.0,
                z: way.1,
                run: tick % 400 < 200,
                jump: tick % 100 == 0,
                crouch: false,
            };
            state = step(&ground, &state, command);
        }
        state
    });
    assert_eq!(walks[0], walks[1]);
    assert_eq!(walks[0], walks[2]);
}

#[test]
fn a_configuration_out_of_range_is_refused_by_name() {
    assert_eq!(config().check(), Ok(()));
    let error = WalkerConfig { skin: f64::NAN, ..config() }.check().unwrap_err();
    assert!(
        error.to_string().starts_with("the walker's skin must be from 0.0001 to 0.1 m, found NaN"),
        "{error}"
    );
    assert!(WalkerConfig { slope_limit_deg: 90.0, ..config() }.check().is_err());
    let read: WalkerConfig = ron::from_str("(run_speed: 5.0)").unwrap();
    assert_eq!(read, WalkerConfig { run_speed: 5.0, ..config() });
    assert!(ron::from_str::<WalkerConfig>("(walkspeed: 5.0)").is_err());
    let state = WalkerState {
        position: DVec3::new(1.0, 2.5, -3.0),
        velocity: DVec3::Y,
        grounded: true,
        ..WalkerState::default()
    };
    let text = ron::to_string(&state).unwrap();
    assert_eq!(ron::from_str::<WalkerState>(&text).unwrap(), state);
}
