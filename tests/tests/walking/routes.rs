//! Routes over every kind of ground: at every tick the walker is where it should stand.

use super::brute::World;
use super::worlds::{DT, KINDS, Kind, STAND, any_command, scaled, step, toward, world};
use highground_game::walker::{WalkCommand, WalkerConfig, WalkerState, place};
use highground_terrain::config::TerrainConfig;
use highground_terrain::coord::BlockSide;
use highground_terrain::store::MemoryTerrain;
use highground_terrain::surface::Ground;
use highground_tests::random::{Random, seed};

/// What routes gave.
#[derive(Debug, Default)]
struct Sum {
    routes: u32,
    ticks: u64,
    grounded: u64,
    flips: u64,
    borders: u64,
    fell_in: u32,
    walked_m: f64,
    /// The greatest distance from where a walker should stand, in metres.
    worst_m: f64,
    /// Ticks on the ground without a hundredth of the wanted progress though the way was free.
    stuck: u64,
}

/// Where a route starts: anywhere, on a block border, in a block corner, on a diagonal.
fn start(world: &World, random: &mut Random, n: u64) -> (f64, f64, f64) {
    let s = world.spacing();
    let side = f64::from(world.ground.side().samples()) * s;
    let width = s * 100.0;
    let (x, z) = (random.between(0.15, 0.85) * width, random.between(0.15, 0.85) * width);
    let border = |v: f64| (v / side).round().clamp(1.0, (width / side).floor()) * side;
    let angle = random.between(0.0, std::f64::consts::TAU);
    match n % 4 {
        0 => (x, z, angle),
        // Across a border, and along it within the capsule's width.
        1 => (border(x) - 4.0, z, random.between(-0.5, 0.5)),
        2 => (border(x) - 3.0, border(z) - 3.0, std::f64::consts::FRAC_PI_4 + random.between(-0.1, 0.1)),
        _ => ((x / s).floor() * s, (z / s).floor() * s, std::f64::consts::FRAC_PI_4),
    }
}

/// Whether the ground along a way is free for a walker, by resting heights alone: nowhere up or down by more than the
/// limit, and nowhere a way down that is steeper.
fn free(world: &World, config: &WalkerConfig, from: &WalkerState, way: [f64; 2]) -> bool {
    let r = config.radius + config.skin;
    let length = (way[0] * way[0] + way[1] * way[1]).sqrt();
    let mut before = from.position.y - config.half_height;
    (1..=8).all(|i| {
        let t = f64::from(i) / 8.0;
        let (x, z) = (from.position.x + way[0] * t, from.position.z + way[1] * t);
        let Some(here) = world.rest(x, z, r) else { return false };
        let rise = here - before;
        before = here;
        let carries = (0..24).all(|k| {
            let angle = f64::from(k) * std::f64::consts::TAU / 24.0;
            let beside = world.rest(x + 1e-4 * libm::cos(angle), z + 1e-4 * libm::sin(angle), r);
            beside.is_some_and(|y| here - y <= 0.95e-4)
        });
        rise.abs() <= 0.95 * length / 8.0 && carries
    })
}

fn route(world: &World, config: &WalkerConfig, random: &mut Random, n: u64, sum: &mut Sum) {
    let r = config.radius + config.skin;
    let s = world.spacing();
    let side = f64::from(world.ground.side().samples()) * s;
    let width = s * 100.0;
    let (x, z, angle) = start(world, random, n);
    let Some(mut state) = place(&world.ground, config, x, z) else { return };
    sum.routes += 1;
    let run = n.is_multiple_of(2);
    for tick in 0..300 {
        // A bend every second, but for the routes along borders and diagonals.
        let bend = if n.is_multiple_of(4) { f64::from(tick / 60) * 0.7 } else { 0.0 };
        let command = toward(libm::cos(angle + bend), libm::sin(angle + bend), run);
        let result = step(&world.ground, config, &state, command);
        let next = result.state;
        let p = next.position;
        let inside = |v: f64| v > 2.0 && v < width - 2.0;
        if !inside(p.x) || !inside(p.z) {
            return;
        }
        let at = format!("{:?} route {n} tick {tick} {next:?}", world.raster.config.diagonal);
        // A wall that the ball only grazes does not carry it: a ball a micrometre thinner may rest lower.
        let low = p.y - config.half_height;
        let above = |r: f64| low - world.rest(p.x, p.z, r).unwrap_or(f64::NEG_INFINITY);
        let (full, thin) = (above(r), above(r - 1e-6));
        let above = if thin.abs() < full.abs() { thin } else { full };
        if above < -1e-3 {
            // Only a hole lets it come lower than where it would rest: it fell in, or walked in through a slope.
            assert!(world.near_hole(p.x, p.z, r), "{above} m under the ground: {at}");
            sum.fell_in += 1;
            return;
        }
        if above == f64::INFINITY {
            assert!(world.near_hole(p.x, p.z, r), "no ground: {at}");
            sum.fell_in += 1;
            return;
        }
        if next.grounded {
            assert!(above < 1e-3, "{above} m over the ground: {at}");
            sum.worst_m = sum.worst_m.max(above.abs());
            let speed = if run { config.run_speed } else { config.walk_speed };
            let wanted = command.direction() * speed * DT;
            let (dx, dz) = (p.x - state.position.x, p.z - state.position.z);
            let progress = (dx * dx + dz * dz).sqrt();
            if state.grounded && progress < 0.01 * wanted.length() {
                let stuck = free(world, config, &state, [wanted.x, wanted.z]);
                if stuck {
                    println!("walking: stuck: {at}");
                }
                sum.stuck += u64::from(stuck);
            }
        }
        let block = |v: f64| (v / side).floor();
        let crossed = block(p.x) != block(state.position.x) || block(p.z) != block(state.position.z);
        sum.borders += u64::from(crossed);
        sum.ticks += 1;
        sum.grounded += u64::from(next.grounded);
        sum.flips += u64::from(next.grounded != state.grounded);
        sum.walked_m += result.walked_m;
        state = next;
    }
}

#[test]
fn on_two_thousand_routes_walkers_stand_within_a_millimetre_of_where_they_should() {
    let seed = seed("routes");
    let config = WalkerConfig::default();
    let routes = scaled(2400);
    let mut all = Sum::default();
    for kind in KINDS {
        let mut sum = Sum::default();
        let mut random = Random(seed ^ kind as u64);
        for n in 0..routes / 6 {
            if n.is_multiple_of(40) {
                random.next();
            }
            let world = world(kind, seed.wrapping_add(n / 40 * 6 + kind as u64));
            // Forty routes a ground.
            route(&world, &config, &mut random, n, &mut sum);
        }
        println!("walking: {kind:?}: {sum:?}");
        assert!(sum.worst_m < 1e-3 && sum.stuck == 0, "{kind:?}: {sum:?}");
        // Where there are cliffs, much of a route is falling down them.
        let least = if matches!(kind, Kind::Cliffs | Kind::Mixed) { 0.85 } else { 0.93 };
        // A share of a handful of routes is mostly chance.
        let least = if sum.routes < 100 { 0.5 } else { least };
        assert!(sum.grounded as f64 > least * sum.ticks as f64, "{kind:?}: {sum:?}");
        all.routes += sum.routes;
        all.walked_m += sum.walked_m;
        all.ticks += sum.ticks;
        all.borders += sum.borders;
        all.worst_m = all.worst_m.max(sum.worst_m);
    }
    println!(
        "walking: {} routes, {:.1} km, {} ticks, {} block borders: {:.6} mm at most from where it should stand",
        all.routes,
        all.walked_m / 1000.0,
        all.ticks,
        all.borders,
        all.worst_m * 1000.0
    );
    assert!(all.routes as u64 >= routes / 6 * 5 && all.walked_m > 10.0 * f64::from(all.routes));
}

/// Flat ground, or a plane, with k = 12.
fn plane(samples: u32, spacing_256: u32, height: impl Fn(f64, f64) -> f64) -> Ground {
    let s = f64::from(spacing_256) / 256.0;
    let configure = |c: &mut TerrainConfig| {
        c.spacing_256 = spacing_256;
        c.quantum = 12.try_into().expect("k up to 12");
    };
    let height = |x: i32, z: i32| height(f64::from(x) * s, f64::from(z) * s);
    MemoryTerrain::from_fn([samples, samples], BlockSide::S32, configure, height).ground_all()
}

#[test]
fn ten_thousand_ticks_on_flat_ground_never_flip_the_grounded_flag_near_or_far() {
    let config = WalkerConfig::default();
    // The corner of four blocks, and one 49 km out.
    for (ground, corner) in [(plane(160, 512, |_, _| 3.0), 128.0), (plane(200, 65_536, |_, _| 3.0), 49_152.0)]
    {
        let stand = 3.0 + config.centre_height();
        let mut state = place(&ground, &config, corner - 0.2, corner + 0.1).expect("ground");
        let mut crossed = 0;
        for tick in 0..10_000_u32 {
            let way = [(1.0, 0.0), (-0.6, 0.8), (0.0, -1.0), (-0.7, 0.7), (0.8, -0.6), (0.0, 0.0)];
            let (x, z) = way[(tick / 97 % 6) as usize];
            // Back to the corner when it strays.
            let (dx, dz) = (corner - state.position.x, corner - state.position.z);
            let away = (dx * dx + dz * dz).sqrt();
            let command =
                if away > 2.0 { toward(dx / away, dz / away, true) } else { toward(x, z, tick % 3 == 0) };
            let next = step(&ground, &config, &state, command).state;
            assert!(next.grounded, "tick {tick}");
            assert!((next.position.y - stand).abs() < 1e-5, "tick {tick}: {}", next.position.y - stand);
            crossed += u32::from((next.position.x > corner) != (state.position.x > corner));
            state = next;
        }
        assert!(crossed > 30, "{crossed}");
        println!("walking: 10000 ticks at {corner} m: no flip, {crossed} times over the block border");
    }
}

#[test]
fn slopes_below_the_limit_are_always_walked_and_a_slope_of_65_5_degrees_never() {
    let mut random = Random(seed("slopes"));
    let config = WalkerConfig::default();
    for n in 0..scaled(400).max(16) {
        let turn = random.between(0.0, std::f64::consts::TAU);
        let steep = n.is_multiple_of(2);
        let degrees = if steep { 65.5 } else { random.between(5.0, 44.5) };
        let rise = libm::tan(f64::to_radians(degrees));
        let (gx, gz) = (rise * libm::cos(turn), rise * libm::sin(turn));
        let ground = plane(130, random.one_of(&[64, 128, 256]), |x, z| 400.0 + x * gx + z * gz);
        let middle = ground.config().spacing_m() * 64.5;
        let mut state = place(&ground, &config, middle, middle).expect("ground");
        assert_eq!(state.grounded, !steep, "{degrees}°");
        let reach = ground.config().spacing_m() * 60.0;
        let mut command = any_command(&mut random);
        for tick in 0..600 {
            if tick % 45 == 0 {
                command = WalkCommand {
                    jump: random.next().is_multiple_of(2) && steep,
                    ..any_command(&mut random)
                };
            }
            let next = step(&ground, &config, &state, command).state;
            let d = next.position - state.position;
            let off = next.position - glam::DVec3::new(middle, next.position.y, middle);
            if off.length() > reach {
                break;
            }
            let at = format!("{degrees:.2}° tick {tick} {next:?}");
            if steep {
                // It slides: down, whatever is wanted, and never a tick carried.
                assert!(!next.grounded && d.y <= 0.0, "{at}");
            } else {
                assert!(next.grounded, "{at}");
                let speed = (d.x * d.x + d.z * d.z).sqrt() / DT;
                let wanted = command.direction().length()
                    * if command.run { config.run_speed } else { config.walk_speed };
                assert!((speed - wanted).abs() < 1e-6, "{speed} instead of {wanted}: {at}");
            }
            state = next;
        }
        if !steep {
            let rest = state;
            for _ in 0..60 {
                state = step(&ground, &config, &state, STAND).state;
                assert_eq!(state.position, rest.position, "{degrees}° creeps");
            }
        }
    }
}

#[test]
fn ground_that_is_raised_under_a_walker_lifts_it_out_however_high() {
    let config = WalkerConfig::default();
    let low = plane(64, 256, |x, z| x * 0.2 + z * 0.1);
    for raised in [0.004, 0.02, 0.3, 1.0, 1.9, 5.0, 80.0] {
        let high = plane(64, 256, |x, z| x * 0.2 + z * 0.1 + raised);
        let before = place(&low, &config, 30.3, 31.7).expect("ground");
        let expected = place(&high, &config, 30.3, 31.7).expect("ground");
        let state = step(&high, &config, &before, STAND).state;
        assert!(state.grounded, "{raised}: {state:?}");
        assert!((state.position - expected.position).length() < 2e-3, "{raised}: {state:?}");
    }
}
