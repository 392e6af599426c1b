//! A session's tick: 16 characters and 32 balls on the seamless collider, against the same Rapier world (balls only)
//! over one parry HeightField, in the same run.

use criterion::{Criterion, criterion_group, criterion_main};
use highground_game::component::NetId;
use highground_game::config::{RuntimeConfig, SessionConfig};
use highground_game::input::Input;
use highground_game::publication::Arrivals;
use highground_game::session::{Map, Session};
use highground_game::walker::WalkCommand;
use highground_terrain::coord::BlockSide;
use highground_terrain::store::MemoryTerrain;
use parry3d_f64::utils::Array2;
use rapier3d_f64::prelude::*;

const SIDE: u32 = 128;
const BALLS: u32 = 32;

fn height(x: i32, z: i32) -> f64 {
    let wave = |v: i32, period: i32| {
        let t = v.rem_euclid(period);
        f64::from(t.min(period - t)) / f64::from(period)
    };
    5.0 * wave(x, 31) + 4.0 * wave(z, 43) + wave(x + 2 * z, 13)
}

fn ball_place(n: u32) -> (f64, f64) {
    (20.0 + 11.0 * f64::from(n % 8), 20.0 + 17.0 * f64::from(n / 8))
}

fn session(balls: u32, characters: u32) -> Session {
    let source = MemoryTerrain::from_fn([SIDE, SIDE], BlockSide::S32, |_| {}, height).shared();
    let map = Map { source, weights: None, layers: Vec::new() };
    let mut s =
        Session::new(map, SessionConfig::default(), RuntimeConfig::default()).expect("a good configuration");
    let mut inputs: Vec<Input> = (0..balls)
        .map(|n| {
            let (x, z) = ball_place(n);
            let y = height(x as i32, z as i32) + 2.0;
            Input::Ball { key: format!("ball {n}"), radius: 0.4, position: [x, y, z], velocity: [0.0; 3] }
        })
        .collect();
    inputs.extend((0..characters).map(|n| {
        let (x, z) = ball_place(n);
        Input::Join { key: format!("p{n}"), x: x + 3.0, z: z + 3.0 }
    }));
    s.step(&inputs, Arrivals::WhenDue).expect("a tick");
    let commands: Vec<Input> = (0..characters)
        .map(|n| Input::Command {
            id: NetId::of_key(&format!("p{n}")),
            command: WalkCommand {
                x: (n as i32 * 31 % 255 - 127) as i8,
                z: (n as i32 * 57 % 255 - 127) as i8,
                run: false,
                jump: false,
                crouch: false,
            },
        })
        .collect();
    s.step(&commands, Arrivals::WhenDue).expect("a tick");
    for _ in 0..60 {
        s.step(&[], Arrivals::WhenDue).expect("a tick");
    }
    s
}

fn heightfield_world() -> PhysicsWorld {
    let mut world = PhysicsWorld::new();
    let n = SIDE as usize;
    let mut heights = Array2::repeat(n, n, 0.0);
    for z in 0..n {
        for x in 0..n {
            heights[(z, x)] = height(x as i32, z as i32);
        }
    }
    let side = f64::from(SIDE - 1);
    let field = ColliderBuilder::heightfield_with_flags(
        heights,
        Vector::new(side, 1.0, side),
        HeightFieldFlags::FIX_INTERNAL_EDGES,
    )
    .translation(Vector::new(side / 2.0, 0.0, side / 2.0));
    world.colliders.insert(field.build());
    world.integration_parameters.dt = 1.0 / 60.0;
    for n in 0..BALLS {
        let (x, z) = ball_place(n);
        let y = height(x as i32, z as i32) + 2.0;
        let body = world
            .bodies
            .insert(RigidBodyBuilder::dynamic().translation(Vector::new(x, y, z)).ccd_enabled(true).build());
        let ball = ColliderBuilder::ball(0.4).density(200.0).friction(0.7).restitution(0.3).build();
        world.colliders.insert_with_parent(ball, body, &mut world.bodies);
    }
    for _ in 0..60 {
        world.step();
    }
    world
}

fn ticks(c: &mut Criterion) {
    let mut group = c.benchmark_group("tick");
    group.bench_function("session, 32 balls", |b| {
        let mut s = session(BALLS, 0);
        b.iter(|| s.step(&[], Arrivals::WhenDue).expect("a tick").tick);
    });
    group.bench_function("rapier over one heightfield, 32 balls", |b| {
        let mut world = heightfield_world();
        b.iter(|| world.step());
    });
    group.bench_function("session, 32 balls and 16 walkers", |b| {
        let mut s = session(BALLS, 16);
        b.iter(|| s.step(&[], Arrivals::WhenDue).expect("a tick").tick);
    });
    group.finish();
}

criterion_group!(benches, ticks);
criterion_main!(benches);
