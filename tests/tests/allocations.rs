//! Our own code allocates nothing in the steady state of a tick or a query: counted, thread by thread.
//!
//! What Rapier's step itself allocates (contact points are its `Vec`s) is told apart by a twin: a second physics world
//! that gets the same bodies and is moved to the same places, tick by tick, so that it does exactly the session's step.

use glam::DVec3;
use highground_game::component::{Ball, Crate, NetId, Platform};
use highground_game::config::{RuntimeConfig, SessionConfig};
use highground_game::input::Input;
use highground_game::physics::Physics;
use highground_game::publication::Arrivals;
use highground_game::session::{Map, Session};
use highground_game::walker::{self, WalkCommand, WalkerConfig};
use highground_game::way::{Way, WayEnd};
use highground_terrain::collide::cast::{Cast, Convex, cast, deepest};
use highground_terrain::collide::{
    Faces, GroundRay, RayAnswer, SharedGround, Sight, TerrainDispatcher, TerrainShape,
};
use highground_terrain::compute::CpuCompute;
use highground_terrain::config::Diagonal;
use highground_terrain::content::{Catalogue, Layer};
use highground_terrain::coord::{BlockSide, PagePos};
use highground_terrain::kernel::select::ranges::{RangeRule, Ranges};
use highground_terrain::kernel::weight_mip::Encoding;
use highground_terrain::layers::WeightChain;
use highground_terrain::lod::{Drawable, DrawnAnswer, Question, Receipt};
use highground_terrain::page::{Heights, Pages};
use highground_terrain::parry::math::Pose;
use highground_terrain::pass::page::{Baker, Look, Texel, Textures};
use highground_terrain::pass::select::{Selected, Selector, View};
use highground_terrain::pass::vertex::{Drawn, Scratch, Topology, evaluate};
use highground_terrain::store::{BlockSource, MemoryTerrain};
use highground_terrain::surface::{Answer, Coverage, Ground};
use highground_tests::counting_allocator::{CountingAllocator, counted, in_process};
use parry3d_f64::query::details::ShapeCastOptions;
use parry3d_f64::query::{ContactManifold, PersistentQueryDispatcher, QueryDispatcher};
use parry3d_f64::shape::SharedShape;
use rapier3d_f64::dynamics::RigidBodyHandle;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// One test at a time, so that what is printed of the whole process is one test's.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Hills of a few metres, two metres between samples; some cells are holes.
fn hills() -> MemoryTerrain {
    let wave = |v: i32, period: i32| {
        let t = v.rem_euclid(period);
        f64::from(t.min(period - t)) / f64::from(period)
    };
    MemoryTerrain::from_fn(
        [200, 200],
        BlockSide::S32,
        |c| {
            c.spacing_256 = 512;
            c.diagonal = Diagonal::Checkerboard;
        },
        |x, z| 6.0 * wave(x, 37) + 4.0 * wave(z, 53) + wave(x + z, 11),
    )
}

/// A place in the world's middle by number: the low bits of multiples of large primes.
fn place(n: u64) -> (f64, f64) {
    let part = |p: u64| 10.0 + (n.wrapping_mul(p) % 378_000) as f64 / 1000.0;
    (part(104_729), part(1_299_709))
}

#[test]
fn the_allocator_counts() {
    let _alone = alone();
    let (held, count) = counted(|| std::hint::black_box(vec![1_u8; 100]));
    assert_eq!(count, 1);
    let (_, grown) = counted(|| std::hint::black_box(held.into_iter().map(u64::from).collect::<Vec<_>>()));
    assert!(grown >= 1);
    assert_eq!(counted(std::thread::yield_now).1, 0);
}

#[test]
fn point_queries_allocate_nothing() {
    let _alone = alone();
    let ground = hills().ground_all();
    let (heights, count) = counted(|| {
        (0..20_000).filter(|&n| ground.point(place(n).0, place(n).1).unwrap().height().is_some()).count()
    });
    assert_eq!((heights, count), (20_000, 0));
    let empty = Ground::empty(ground.config(), ground.side());
    assert_eq!(counted(|| (0..1000).for_each(|n| assert!(empty.point(place(n).0, 9.0).is_ok()))).1, 0);
}

#[test]
fn spots_batches_and_all_hits_allocate_nothing() {
    let _alone = alone();
    let ground = hills().ground_all();
    let points: Vec<[f64; 2]> = (0..4000).map(|n| [place(n).0, place(n).1]).collect();
    let rays: Vec<GroundRay> = (0..2000)
        .map(|n| {
            let ((x, z), (to_x, to_z)) = (place(n), place(n * 7 + 1));
            GroundRay::between(DVec3::new(x, 2.0, z), DVec3::new(to_x, 3.0, to_z)).unwrap()
        })
        .collect();
    let mut heights = vec![Ok(Answer::Outside); points.len()];
    let mut answers = vec![RayAnswer::Miss; rays.len()];
    let (mut hits, mut steep) = (0, 0);
    let ((), count) = counted(|| {
        ground.heights(&points, &mut heights);
        ground.first_hits(&rays, Faces::Both, &mut answers);
        for ray in &rays {
            ground.all_hits(ray, Faces::Both, |_| {
                hits += 1;
                ControlFlow::Continue(())
            });
            hits += u32::from(ground.sight(ray, Faces::Front) == Sight::Blocked);
        }
        for &[x, z] in &points {
            let spot = ground.spot(x, z).unwrap().valid().expect("hills");
            let values = (spot.layer(), spot.weight(1), spot.user(0), spot.material(), spot.water_depth());
            std::hint::black_box(values);
            steep += u32::from(spot.smooth_normal().y < 0.995);
        }
    });
    assert!(hits > 4000 && steep > 100, "{hits} {steep}");
    assert_eq!(count, 0);
}

#[test]
fn rays_and_casts_allocate_nothing() {
    let _alone = alone();
    let ground = hills().ground_all();
    let mut hits = 0;
    let ((), count) = counted(|| {
        for n in 0..5000 {
            let ((x, z), (to_x, to_z)) = (place(n), place(n * 7 + 1));
            let start = DVec3::new(x, 12.0, z);
            // Steep, long and grazing, and straight down.
            for dir in
                [DVec3::new(to_x - x, -40.0, to_z - z), DVec3::new(to_x - x, -6.0, to_z - z), -DVec3::Y]
            {
                let answer = ground.cast_ray(start, dir, 400.0).unwrap();
                hits += u32::from(matches!(answer, highground_terrain::collide::RayAnswer::Hit(_)));
            }
        }
    });
    assert!(hits > 10_000, "{hits}");
    assert_eq!(count, 0);
    let capsule = Convex::upright_capsule(0.54, 0.34);
    let mut hits = 0;
    let ((), count) = counted(|| {
        for n in 0..5000 {
            let (x, z) = place(n);
            let pose = Pose::from_translation(DVec3::new(x, 11.0, z));
            hits += u32::from(matches!(
                cast(&ground, &capsule, &pose, DVec3::new(3.0, -14.0, 2.0)),
                Cast::Hit(_)
            ));
            hits += u32::from(deepest(&ground, &capsule, &pose).1 == Coverage::Complete);
        }
    });
    assert!(hits > 9000, "{hits}");
    assert_eq!(count, 0);
}

#[test]
fn walking_allocates_nothing() {
    let _alone = alone();
    let ground = hills().ground_all();
    let config = WalkerConfig::default();
    let mut walked = 0.0;
    let ((), count) = counted(|| {
        for n in 0..10 {
            let (x, z) = place(n * 31 + 5);
            let mut state = walker::place(&ground, &config, x, z).expect("hills to stand on");
            for tick in 0..1000_u32 {
                let turn = (tick / 90 + n as u32) % 4;
                let (x, z) = [(127, 0), (40, 100), (-127, 10), (0, -120)][turn as usize];
                let command =
                    WalkCommand { x, z, run: tick % 400 > 200, jump: tick % 130 == 7, crouch: false };
                let step = walker::walk(&ground, &config, 1.0, &state, command, 1.0 / 60.0);
                walked += step.walked_m;
                state = step.state;
            }
        }
    });
    assert!(walked > 300.0, "{walked}");
    assert_eq!(count, 0);
}

/// The physics of a session, done again beside it.
struct Twin {
    physics: Physics,
    shared: Arc<SharedGround>,
    walkers: Vec<(NetId, RigidBodyHandle, (f64, f64), bool)>,
    balls: Vec<(NetId, RigidBodyHandle, Ball, bool)>,
    platforms: Vec<(RigidBodyHandle, Platform)>,
    crates: Vec<(NetId, RigidBodyHandle, Crate, bool)>,
}

impl Twin {
    /// With the bodies that the inputs of tick 0 make, in their canonical order: by key.
    fn new(session: &Session, inputs: &[Input]) -> Self {
        let shared = SharedGround::new(session.ground().clone());
        let config = session.config();
        let mut physics = Physics::new(shared.clone(), config.gravity, 1).unwrap();
        let (mut walkers, mut balls) = (Vec::new(), Vec::new());
        let (mut platforms, mut crates) = (Vec::new(), Vec::new());
        for input in inputs {
            match input {
                Input::Join { key, x, z } => {
                    let body = physics.add_character(config.walker.radius, config.walker.half_height);
                    walkers.push((NetId::of_key(key), body, (*x, *z), false));
                }
                Input::Ball { key, radius, position, velocity } => {
                    let ball = Ball {
                        radius: *radius,
                        position: DVec3::from(*position),
                        rotation: glam::DQuat::IDENTITY,
                        velocity: DVec3::from(*velocity),
                        spin: DVec3::ZERO,
                    };
                    balls.push((NetId::of_key(key), physics.add_ball(&ball), ball, false));
                }
                Input::Platform { half_extents, way, .. } => {
                    let half_extents = DVec3::from(*half_extents);
                    let platform = Platform { half_extents, since: 0, way: Arc::new(way.clone()) };
                    platforms.push((physics.add_platform(platform.pose(0), half_extents), platform));
                }
                Input::Crate { key, position, half_extents, density } => {
                    let (half_extents, position) = (DVec3::from(*half_extents), DVec3::from(*position));
                    let still = Crate {
                        half_extents,
                        density: *density,
                        position,
                        rotation: glam::DQuat::IDENTITY,
                        velocity: DVec3::ZERO,
                        spin: DVec3::ZERO,
                    };
                    let body = physics.add_crate(Pose::from_translation(position), half_extents, *density);
                    physics.hold(body);
                    crates.push((NetId::of_key(key), body, still, false));
                }
                _ => unreachable!("tick 0 only makes bodies"),
            }
        }
        Self { physics, shared, walkers, balls, platforms, crates }
    }

    /// Does the step that the session has just done. Says how often the engine allocated on this thread (it also notes
    /// every body that it is told about) and in the whole process: its pool's thread does the step.
    fn follow(&mut self, session: &Session) -> (u64, u64) {
        let Self { physics, shared, walkers, balls, platforms, crates } = self;
        let mut here = 0;
        let mut note = |n: ((), u64)| here += n.1;
        let before = in_process();
        if shared.load().version() != session.ground().version() {
            shared.swap(session.ground().clone());
        }
        for (id, body, ball, free) in &mut *balls {
            let now = session.balls().find(|b| b.0 == *id).expect("the ball is there").1;
            if !*free && now != *ball {
                physics.release_ball(*body, ball);
                *free = true;
            }
        }
        for (id, body, held, free) in &mut *crates {
            let now = session.crates().find(|c| c.0 == *id).expect("the crate is there").1;
            if !*free && now != *held {
                physics.release_crate(*body, held);
                *free = true;
            }
        }
        for (id, body, at, placed) in walkers {
            let view = session.character_view(*id).expect("the character is there");
            if view.arriving || view.held {
                continue;
            }
            if !std::mem::replace(placed, true) {
                let first = walker::place(session.ground(), &session.config().walker, at.0, at.1);
                physics.move_character(*body, first.expect("a place to stand").position);
            }
            note(counted(|| physics.move_character(*body, view.state.position)));
        }
        for (_, push) in session.pushes() {
            let bodies = balls.iter().map(|b| (b.0, b.1)).chain(crates.iter().map(|c| (c.0, c.1)));
            let (_, body) = { bodies }.find(|b| b.0.0 == push.body).expect("the body is there");
            note(counted(|| physics.push(body, push.point, push.impulse)));
        }
        for (body, platform) in platforms {
            note(counted(|| physics.move_platform(*body, platform.pose(session.tick()))));
        }
        note(counted(|| physics.step()));
        for (id, body, ball, free) in balls {
            if *free {
                note(counted(|| physics.read_ball(*body, ball, session.config().max_speed)));
                let theirs = session.balls().find(|b| b.0 == *id).expect("the ball is there").1;
                assert_eq!(*ball, theirs, "the twin does the same step");
            }
        }
        for (id, body, moved, free) in crates {
            if *free {
                note(counted(|| physics.read_crate(*body, moved, session.config().max_speed)));
                let theirs = session.crates().find(|c| c.0 == *id).expect("the crate is there").1;
                assert_eq!(*moved, theirs, "the twin does the same step");
            }
        }
        (here, in_process() - before)
    }
}

fn commands(tick: u64, ids: &[NetId], out: &mut Vec<Input>) {
    out.clear();
    // A second east, a second west and so on, some running: nobody leaves its own surroundings.
    let east = (tick / 60).is_multiple_of(2);
    out.extend(ids.iter().enumerate().map(|(n, &id)| {
        let x = if east { 100 } else { -100 };
        let command = WalkCommand {
            x,
            z: if n % 2 == 0 { x / 2 } else { 0 },
            run: n % 3 == 0,
            jump: false,
            crouch: false,
        };
        Input::Command { id, command }
    }));
}

#[test]
fn a_tick_in_the_steady_state_allocates_nothing_but_what_the_physics_engine_does() {
    let _alone = alone();
    let source: Arc<dyn BlockSource> = hills().shared();
    let runtime = RuntimeConfig { physics_threads: 1, reader_threads: 1, cache_budget_bytes: 1 << 20 };
    // Every texel of layer 0 and 1 in changing parts, so that footing is looked up.
    let texels: Vec<u8> = (0..199 * 199).flat_map(|i: u32| [0, 1, (i % 251) as u8]).collect();
    let weights = WeightChain::build(&CpuCompute::new(), Encoding::Hd, [199, 199], texels).unwrap();
    let layers = vec!["grass".into(), "rock".into()];
    let map = Map { source, weights: Some(Arc::new(weights)), layers };
    let mut session = Session::new(map, SessionConfig::default(), runtime).unwrap();
    // Enough players that sorting their commands needs room.
    let mut inputs: Vec<Input> = (0..70)
        .map(|n| Input::Join {
            key: format!("p{n:02}"),
            x: 120.0 + 9.0 * f64::from(n % 10),
            z: 120.0 + 12.0 * f64::from(n / 10),
        })
        .collect();
    let ids: Vec<NetId> = (0..70).map(|n| NetId::of_key(&format!("p{n:02}"))).collect();
    inputs.extend((0..4).map(|n| Input::Ball {
        key: format!("q{n}"),
        radius: 0.4,
        position: [124.3 + 30.0 * f64::from(n), 12.0, 150.0],
        velocity: [0.0; 3],
    }));
    let way = Way {
        points: vec![[126.0, 9.0, 130.0], [160.0, 11.0, 140.0], [140.0, 10.0, 170.0]],
        speed: 2.0,
        end: WayEnd::Loop,
        turn: 0.3,
    };
    inputs.push(Input::Platform { key: "r".into(), half_extents: [2.0, 0.2, 2.0], way });
    inputs.extend((0..4).map(|n| Input::Crate {
        key: format!("s{n}"),
        position: [121.5 + 18.0 * f64::from(n), 12.0, 132.5],
        half_extents: [0.4; 3],
        density: 60.0,
    }));
    let mut twin = Twin::new(&session, &inputs);
    let (mut measured, mut engine) = (0, 0);
    for tick in 0..900 {
        let events = {
            let (report, ours) = counted(|| session.step(&inputs, Arrivals::WhenDue).map(|r| r.events.len()));
            let (engines, everywhere) = twin.follow(&session);
            if tick >= 400 {
                assert_eq!(ours, engines, "tick {tick}: what the session allocated, and the engine alone");
                measured += 1;
                engine += everywhere;
            }
            report.unwrap()
        };
        assert!(tick < 400 || events == 0, "tick {tick}: nothing streams any more");
        commands(tick, &ids, &mut inputs);
    }
    assert!(session.characters().all(|c| !c.held && !c.arriving));
    assert!(session.stats().walked_m > 1000.0, "{:?}", session.stats());
    println!(
        "Rapier's own step (with the contacts that it asks us for) allocated {:.1} times a tick: {} characters, 4 balls, 4 crates and a platform",
        engine as f64 / f64::from(measured),
        ids.len()
    );
}

#[test]
fn selections_drawn_surfaces_and_receipts_answers_allocate_nothing() {
    let _alone = alone();
    let drawable = Drawable::new(hills().ground_all(), [0; 32]).unwrap();
    let ranges = Ranges::by_rule(&RangeRule::default(), 512, 3).unwrap();
    let mut selector = Selector::new(drawable.nodes().clone(), ranges.clone()).unwrap();
    let (cpu, mut selected) = (CpuCompute::new(), Selected::default());
    let views: Vec<View> =
        (0..4).map(|n| View::in_world(drawable.config(), place(n).0, place(n).1).unwrap()).collect();
    let (mut patches, mut out, mut scratch) = (Vec::new(), Vec::new(), Scratch::default());
    let mut draw = || {
        selector.select(&cpu, &views, &mut selected).unwrap();
        patches.clear();
        for &node in selected.all() {
            drawable.patch(node, &mut patches).unwrap();
        }
        for topology in [Topology::Ordinary, Topology::HoleAware] {
            out.clear();
            let (frame, ranges, selected) = (drawable.frame(), &ranges, &selected);
            let drawn = Drawn { frame, views: &views, ranges, selected, patches: &patches };
            evaluate(&cpu, drawn, topology, &mut scratch, &mut out).unwrap();
        }
        selected.all().len()
    };
    // One thread: what the pool does to hand work around is not ours.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        let nodes = draw();
        draw();
        let (again, count) = counted(|| (0..5).map(|_| draw()).sum::<usize>());
        assert_eq!((again, count), (5 * nodes, 0));
    });
    let drawn = [(0, views[0], selected.of(0))];
    let receipt = Receipt::new(&drawable, 0, drawable.config().extent, &ranges, &drawn).unwrap();
    let (visible, count) = counted(|| {
        let asked = (0..2000).map(|n| Question { x: place(n).0, z: place(n).1, ..Question::default() });
        asked.filter(|q| matches!(receipt.ask(q), Ok(DrawnAnswer::Visible(_)))).count()
    });
    assert!(visible > 1900, "{visible}");
    assert_eq!(count, 0);
}

/// How many manifolds a body lying on the hills has, and how often ten updates of them allocate.
fn contacts_of(ground: &Ground, shape: &SharedShape, n: u64) -> (usize, u64) {
    let terrain = TerrainShape::new(SharedGround::new(Arc::new(ground.clone())));
    let (x, z) = place(n);
    // Let down until it almost touches. Round shapes rest in their skin; where a flat one's core is inside the ground
    // the library's own search for the way out (EPA) has vectors of its own.
    let high = Pose::from_translation(DVec3::new(x, 20.0, z));
    let options = ShapeCastOptions { max_time_of_impact: 30.0, ..ShapeCastOptions::default() };
    let hit = TerrainDispatcher.cast_shapes(&high, -DVec3::Y, &terrain, shape.as_ref(), options).unwrap();
    let down = hit.expect("there is ground").time_of_impact
        - if shape.as_cuboid().is_some() { 0.0005 } else { -0.0005 };
    let pose = Pose::from_translation(DVec3::new(x, 20.0 - down, z));
    let mut manifolds: Vec<ContactManifold<(), ()>> = Vec::new();
    let mut workspace = None;
    let mut ask = |manifolds: &mut _| {
        TerrainDispatcher
            .contact_manifolds(&pose, &terrain, shape.as_ref(), 0.05, manifolds, &mut workspace)
            .expect("a supported pair");
    };
    for _ in 0..3 {
        ask(&mut manifolds);
    }
    let ((), count) = counted(|| (0..10).for_each(|_| ask(&mut manifolds)));
    (manifolds.len(), count)
}

/// The engine's manifolds own their points on the heap; nothing else of a contact may be there.
#[test]
fn contacts_allocate_nothing_but_the_engine_s_points() {
    let _alone = alone();
    let ground = hills().ground_all();
    let shapes = [
        SharedShape::ball(0.4),
        SharedShape::cuboid(0.5, 0.4, 0.6),
        SharedShape::capsule_y(0.54, 0.34),
        SharedShape::cuboid(2.0, 0.4, 3.0),
    ];
    let mut touching = 0;
    for shape in &shapes {
        for n in 0..200 {
            let (manifolds, count) = contacts_of(&ground, shape, n);
            touching += usize::from(manifolds > 0);
            assert_eq!(count, 10 * manifolds as u64, "{:?} at {:?}", shape.shape_type(), place(n));
        }
    }
    assert!(touching > 700, "{touching}");
}

#[test]
fn baking_pages_allocates_nothing_once_it_is_warm() {
    let _alone = alone();
    let terrain = hills();
    let heights = Heights::read(&terrain, 1 << 20).unwrap();
    let texels: Vec<u8> = (0..199 * 199).flat_map(|i: u32| [0, 1, (i % 251) as u8]).collect();
    let weights = WeightChain::build(&CpuCompute::new(), Encoding::Hd, [199, 199], texels).unwrap();
    let texel = |_: u32, x: u32, y: u32| Texel {
        albedo: [x as u8, y as u8, 90],
        height: (x * y) as u8,
        normal: [128, 120, 250],
        roughness: 200,
        occlusion: 250,
        metallic: 0,
    };
    let textures = Textures::new(64, &[&texel, &texel]).unwrap();
    let catalogue =
        Catalogue { layers: ["grass", "rock"].map(Layer::named).to_vec(), ..Catalogue::default() };
    let look = Look { side: 32, ..Look::default() };
    let baker = Baker::new(terrain.config(), &look, &catalogue, textures, false).unwrap();
    let mut pages = Pages::new(baker, &weights, &heights).unwrap();
    let wanted: Vec<PagePos> =
        (0..6).flat_map(|mip| (0..2).map(move |x| PagePos::new(mip, x, 0))).take(11).collect();
    let compute = CpuCompute::new();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    // On the pool's one thread, so that all of it is counted.
    let ((), count) = pool.install(|| {
        let mut bake = || pages.bake(&compute, &wanted, &mut |_, words| assert!(!words.is_empty())).unwrap();
        bake();
        bake();
        counted(bake)
    });
    assert_eq!(count, 0);
}
