//! Random walks over rough ground: what must hold at every tick whatever the ground is.

use super::*;
use highground_terrain::parry::math::Pose;
use highground_terrain::parry::query;
use highground_terrain::parry::shape::{Capsule, Triangle as ParryTriangle};
use std::ops::ControlFlow;

/// A small generator of its own: the walks must be the same everywhere.
struct Seeded(u64);

impl Seeded {
    fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Value noise: smoothed between lattice points, 0 to 1.
fn noise(seed: u64, x: f64, z: f64) -> f64 {
    let at = |i: f64, j: f64| {
        Seeded(
            seed ^ (i as i64 as u64).wrapping_mul(0x1F12_3BB5)
                ^ (j as i64 as u64).wrapping_mul(0x9E3B_5A71_0001),
        )
        .unit()
    };
    let (i, j) = (x.floor(), z.floor());
    let smooth = |f: f64| f * f * (3.0 - 2.0 * f);
    let (u, v) = (smooth(x - i), smooth(z - j));
    let mix = |a: f64, b: f64, t: f64| a + (b - a) * t;
    mix(mix(at(i, j), at(i + 1.0, j), u), mix(at(i, j + 1.0), at(i + 1.0, j + 1.0), u), v)
}

/// Hills with small bumps; `cliffs` terraces them with steps of that many metres.
fn hills(seed: u64, spacing_256: u32, cliffs: Option<f64>) -> Ground {
    ground(128, spacing_256, |x, z| {
        let h = 24.0 * noise(seed, x / 60.0, z / 60.0)
            + 6.0 * noise(seed + 1, x / 17.0, z / 17.0)
            + 0.8 * noise(seed + 2, x / 3.0, z / 3.0);
        match cliffs {
            None => h,
            Some(step) => {
                let (terrace, within) = ((h / step).floor(), (h / step).fract());
                // The last fifth of a terrace is a ramp five times as steep.
                step * (terrace + ((within - 0.8) * 5.0).max(0.0) * 0.9 + within * 0.1)
            }
        }
    })
}

/// How deep the capsule without its skin is in the triangles around it, by parry's contact query.
fn overlap(ground: &Ground, p: DVec3) -> f64 {
    let capsule = Capsule::new_y(config().half_height, config().radius);
    let mut deepest = 0.0_f64;
    let cells = ground.cells_meeting(p.x - 0.4, p.z - 0.4, p.x + 0.4, p.z + 0.4);
    ground.visit_triangles(cells, p.y - 1.0, p.y + 1.0, |_, tri| {
        let [a, b, c] = tri.vertices;
        let contact = query::contact(
            &Pose::from_translation(p),
            &capsule,
            &Pose::IDENTITY,
            &ParryTriangle::new(a, b, c),
            0.0,
        );
        if let Some(contact) = contact.expect("a supported pair") {
            deepest = deepest.max(-contact.dist);
        }
        ControlFlow::Continue(())
    });
    deepest
}

/// What a walk over rough ground gave.
#[derive(Default, Debug)]
struct Walked {
    ticks: u32,
    grounded: u32,
    flips: u32,
    walked_m: f64,
    /// The longest time without 5 cm of progress, in ticks. Walking is always commanded.
    longest_stop: u32,
}

/// How far a walker gets in a second in one of sixteen directions.
fn lead(ground: &Ground, from: &WalkerState, way: u8) -> f64 {
    let angle = f64::from(way) * std::f64::consts::PI / 8.0;
    let command =
        WalkCommand { x: (libm::cos(angle) * 127.0) as i8, z: (libm::sin(angle) * 127.0) as i8, ..STAND };
    let mut state = *from;
    for _ in 0..60 {
        state = step(ground, &state, command);
    }
    (state.position - from.position).length()
}

/// Sixteen walkers, sixty seconds each, a new direction every one to four seconds; asserts what always holds.
fn random_walks(ground: &Ground, seed: u64, jumps: bool) -> Walked {
    let mut sum = Walked::default();
    let side = ground.config().spacing_m() * 127.0;
    for walker in 0..16 {
        let mut random = Seeded(seed * 1000 + walker);
        let mut state = loop {
            let (x, z) = (side * (0.2 + 0.6 * random.unit()), side * (0.2 + 0.6 * random.unit()));
            let placed = place(ground, &config(), x, z).unwrap();
            if placed.grounded {
                break placed;
            }
        };
        let mut command = STAND;
        let mut until = 0;
        let mut home = false;
        let mut hanging = 0;
        let mut anchor = (0, state.position);
        for tick in 0..3600 {
            let middle = DVec3::splat(side / 2.0) - state.position;
            let near_edge = middle.x.abs().max(middle.z.abs()) > side * 0.35;
            if tick >= until || (near_edge && (!home || tick % 30 == 0)) {
                home = near_edge;
                until = tick + 60 + (random.next() % 180) as i32;
                // Towards the middle when it nears the edge.
                let way = |inward: f64, r: f64| {
                    if home { inward.signum() * (0.3 + 0.7 * r) } else { 2.0 * r - 1.0 }
                };
                let (x, z) = (way(middle.x, random.unit()), way(middle.z, random.unit()));
                // Full speed, but for the rounding to 1/127.
                let full = 127.0 / (x * x + z * z).sqrt().max(0.01);
                let (x, z) = (x * full, z * full);
                command = WalkCommand {
                    x: x as i8,
                    z: z as i8,
                    run: random.next().is_multiple_of(3),
                    jump: jumps && random.next().is_multiple_of(4),
                    crouch: false,
                };
            }
            let result = walk(ground, &config(), 1.0, &state, command, DT);
            assert_eq!(result.coverage, Coverage::Complete);
            let next = result.state;
            let at = format!("seed {seed} walker {walker} tick {tick} {next:?}");
            assert!(next.position.is_finite() && next.velocity.is_finite(), "{at}");
            let height =
                ground.point(next.position.x, next.position.z).unwrap().height().expect("no holes here");
            let low = next.position.y - config().half_height - config().radius;
            assert!(low + config().radius > height, "under the ground: {at}");
            let deep = overlap(ground, next.position);
            assert!(deep < 1e-3, "{deep} m in the ground: {at}");
            sum.ticks += 1;
            sum.grounded += u32::from(next.grounded);
            sum.flips += u32::from(next.grounded != state.grounded);
            sum.walked_m += result.walked_m;
            if (next.position - anchor.1).length() > 0.05 {
                anchor = (tick, next.position);
            }
            if tick - anchor.0 == 120 {
                let free = (0..16).map(|way| lead(ground, &next, way)).fold(0.0, f64::max);
                assert!(free > 0.9, "caught, {free} m is the best of sixteen ways: {at}");
            }
            let hangs = !next.grounded && !state.grounded && (next.position - state.position).length() < 1e-3;
            hanging = if hangs { hanging + 1 } else { 0 };
            assert!(hanging < 4, "hangs in the air: {at}");
            sum.longest_stop = sum.longest_stop.max((tick - anchor.0) as u32);
            state = next;
        }
    }
    sum
}

#[test]
fn on_hills_walkers_stay_on_the_ground_and_never_stop() {
    for seed in [1, 2, 3] {
        let walked = random_walks(&hills(seed, 512, None), seed, false);
        println!("{walked:?}");
        assert!(f64::from(walked.grounded) > 0.99 * f64::from(walked.ticks), "{walked:?}");
        assert!(walked.longest_stop < 30, "{walked:?}");
    }
}

#[test]
fn among_cliffs_walkers_neither_sink_nor_lose_the_ground() {
    // Cells of 2 m, 1 m, 50 cm and 25 cm. Where the map is full of cliffs much of a walk is falling down them.
    for (seed, spacing, cliffs, least) in
        [(4, 512, 3.0, 0.9), (5, 256, 3.0, 0.85), (6, 128, 1.5, 0.8), (7, 64, 0.5, 0.8)]
    {
        let ground = hills(seed, spacing, Some(cliffs));
        let walked = random_walks(&ground, seed, false);
        println!("{walked:?}");
        assert!(f64::from(walked.grounded) > least * f64::from(walked.ticks), "{walked:?}");
        random_walks(&ground, seed + 100, true);
    }
}
