//! Ways on the ground and the walker that walks them: what navigation says can be walked is walked, what it says is
//! blocked is not; bots keep to their ways; searches allocate nothing; the command answers.

use glam::DVec3;
use highground_game::config::{RuntimeConfig, SessionConfig};
use highground_game::demo::{Demo, DemoPlan, Guide};
use highground_game::replay::{Header, Recording, TerrainName};
use highground_game::session::{Map, Session};
use highground_game::walker::{self, WalkCommand, WalkerConfig, WalkerState};
use highground_terrain::coord::{BlockSide, CellPos};
use highground_terrain::nav::{Answer, CellState, Method, Nav, NavRules, Path, PathQuery, PathSearch};
use highground_terrain::store::{BlockSource, MemoryTerrain, WriteOptions, write_payload};
use highground_terrain::surface::{Coverage, Ground};
use highground_tests::counting_allocator::{CountingAllocator, counted};
use highground_tests::highground;
use highground_tests::random::{Random, seed, setting};
use std::io::Write;
use std::process::Stdio;
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const DT: f64 = 1.0 / 60.0;

fn noise(seed: u64, x: i32, z: i32, wave: i32) -> f64 {
    let at = |x: i32, z: i32| {
        let mut r = Random(seed ^ u64::from(x as u32) << 32 ^ u64::from(z as u32));
        r.unit()
    };
    let fade = |v: i32| {
        let t = f64::from(v.rem_euclid(wave)) / f64::from(wave);
        t * t * (3.0 - 2.0 * t)
    };
    let (cx, cz, fx, fz) = (x.div_euclid(wave), z.div_euclid(wave), fade(x), fade(z));
    let row = |dz: i32| at(cx, cz + dz) * (1.0 - fx) + at(cx + 1, cz + dz) * fx;
    row(0) * (1.0 - fz) + row(1) * fz
}

fn scale() -> u64 {
    setting("HIGHGROUND_LONG", 1)
}

/// Ground of one of four families, with holes where it is coarse.
fn terrain(family: u64, seed: u64) -> MemoryTerrain {
    let spacing = [256, 512, 32, 16][family as usize];
    let s = f64::from(spacing) / 256.0;
    let height = |x: i32, z: i32| match family {
        // Hills with slopes on both sides of the limit.
        0 | 1 => s * (22.0 * noise(seed, x, z, 25) + 4.0 * noise(seed ^ 1, x, z, 6)),
        // Terraces of every outline with steps of 0.1 to 0.24 m, one cell of 1/8 or 1/16 m their flanks.
        _ => {
            let rise = 0.1 + 0.14 * (seed % 101) as f64 / 100.0;
            rise * (5.9 * noise(seed, x, z, if family == 2 { 40 } else { 80 })).floor()
        }
    };
    let flat = MemoryTerrain::from_fn(
        [140, 140],
        BlockSide::S32,
        |c| {
            c.spacing_256 = spacing;
            c.quantum = 12.try_into().expect("k up to 12");
        },
        height,
    );
    let mut raster = flat.raster().clone();
    let mut r = Random(seed);
    if family < 2 {
        for _ in 0..120 {
            let at = r.below(raster.mask.len() as u64) as usize;
            raster.mask[at] = r.below(3) as u8;
        }
    }
    MemoryTerrain::new(raster, BlockSide::S32)
}

fn navigation(ground: &Ground) -> Nav {
    let rules = NavRules::new(&SessionConfig::default().navigation(), ground.config(), &[]).unwrap();
    Nav::of(ground, &rules)
}

fn toward(from: DVec3, to: [f64; 2]) -> (DVec3, f64) {
    let way = DVec3::new(to[0] - from.x, 0.0, to[1] - from.z);
    (way.normalize_or_zero() * 127.0, way.length())
}

/// Walks from turn to turn, steering every six ticks as bots do. The ticks it took, and how many of
/// them in the air; `None` when it gets no nearer for two seconds.
fn follow(ground: &Ground, nav: &Nav, path: &Path, run: bool) -> Option<(u32, u32)> {
    let config = WalkerConfig::default();
    let start = nav.centre(path.turns[0]);
    let mut state = walker::place(ground, &config, start[0], start[1])?;
    let near = (0.25 * ground.config().spacing_m()).clamp(0.4, 1.0);
    let (mut ticks, mut air) = (0, 0);
    for &turn in &path.turns[1..] {
        let goal = nav.centre(turn);
        let (mut nearest, mut waited) = (f64::INFINITY, 0);
        let mut command = WalkCommand::default();
        loop {
            let (direction, distance) = toward(state.position, goal);
            if distance < near {
                break;
            }
            if ticks % 6 == 0 {
                command = WalkCommand {
                    x: direction.x.round() as i8,
                    z: direction.z.round() as i8,
                    run,
                    jump: false,
                    crouch: false,
                };
            }
            (nearest, waited) = if distance < nearest - 0.05 { (distance, 0) } else { (nearest, waited + 1) };
            if waited > 120 {
                println!("stuck at {} before {goal:?}", state.position);
                return None;
            }
            let step = walker::walk(ground, &config, 1.0, &state, command, DT);
            assert_eq!(step.coverage, Coverage::Complete);
            state = step.state;
            ticks += 1;
            air += u32::from(!state.grounded);
            let below = ground.point(state.position.x, state.position.z).unwrap().height().unwrap();
            let above = state.position.y - config.centre_height() - below;
            assert!(state.grounded || above < 0.35, "{above} m above the ground at {}", state.position);
        }
    }
    Some((ticks, air))
}

#[test]
fn the_walker_walks_every_way_that_is_found() {
    let mut r = Random(seed("navigation"));
    let (mut search, mut path) = (PathSearch::new(), Path::default());
    let mut flanks = 0;
    for family in 0..4 {
        let (mut walked, mut air, mut ticks) = (0, 0, 0);
        for _ in 0..3 * scale() {
            let chosen = r.next();
            let ground = terrain(family, chosen).ground_all();
            let nav = navigation(&ground);
            for turn in 0..8 {
                let mut cell = || {
                    let c = CellPos::new(r.below(139) as i32, r.below(139) as i32);
                    nav.nearest_walkable(0, c, 8).unwrap_or(c)
                };
                let query = PathQuery::new(0, cell(), cell());
                if search.find(&nav, &query, &mut path) != Answer::Path {
                    continue;
                }
                flanks += path.cells.iter().filter(|&&c| nav.weight(0, c).is_some_and(|w| w.1)).count();
                let done = follow(&ground, &nav, &path, turn % 3 == 0);
                let (t, a) = done.unwrap_or_else(|| panic!("family {family} of {chosen}: {query:?}"));
                (walked, air, ticks) = (walked + 1, air + a, ticks + t);
            }
        }
        println!("family {family}: {walked} ways, {ticks} ticks, {air} of them in the air");
        assert!(walked >= 5, "family {family}: {walked}");
        // On hills it never leaves the ground; along a flank it may slip down the step, no further (see `follow`).
        assert!(air == 0 || family >= 2, "family {family}: {air} of {ticks}");
    }
    assert!(flanks > 20, "{flanks}");
}

#[test]
fn ground_without_a_way_is_not_reached_by_walking_at_it() {
    // A plateau three metres up within a ring of 60°, and one behind a wall of two metres.
    for (spacing, rise, width) in [(256, 3.0, 1.7), (64, 2.0, 0.2)] {
        let s = f64::from(spacing) / 256.0;
        let ground = MemoryTerrain::from_fn(
            [129, 129],
            BlockSide::S32,
            |c| {
                c.spacing_256 = spacing;
                c.quantum = 12.try_into().expect("k up to 12");
            },
            |x, z| {
                let d = f64::from((x - 64) * (x - 64) + (z - 64) * (z - 64)).sqrt() * s;
                rise * ((30.0 * s - d) / width).clamp(0.0, 1.0)
            },
        )
        .ground_all();
        let nav = navigation(&ground);
        let (mut search, mut path) = (PathSearch::new(), Path::default());
        let middle = CellPos::new(64, 64);
        assert_eq!(nav.cell(0, middle), CellState::Walkable);
        for i in 0..16 {
            // Sixteen places on a circle of 50 cells.
            let (a, b) = [(50, 0), (46, 19), (35, 35), (19, 46)][i % 4];
            let (dx, dz) = [(a, b), (-b, a), (-a, -b), (b, -a)][i / 4];
            let from = CellPos::new(64 + dx, 64 + dz);
            let [x, z] = nav.centre(from);
            for method in [Method::Hierarchy, Method::Exact] {
                let query = PathQuery { method, ..PathQuery::new(0, from, middle) };
                assert_eq!(search.find(&nav, &query, &mut path), Answer::NoPath);
            }
            let config = WalkerConfig::default();
            let mut state: WalkerState = walker::place(&ground, &config, x, z).unwrap();
            for _ in 0..900 {
                let (direction, _) = toward(state.position, nav.centre(middle));
                let command = WalkCommand {
                    x: direction.x.round() as i8,
                    z: direction.z.round() as i8,
                    run: true,
                    jump: false,
                    crouch: false,
                };
                state = walker::walk(&ground, &config, 1.0, &state, command, DT).state;
            }
            let d = toward(state.position, nav.centre(middle)).1;
            assert!(d > 28.0 * s, "{spacing}: it got to {} from {x} {z}", state.position);
        }
    }
}

#[test]
fn searches_allocate_nothing_when_they_have_met_the_ground_before() {
    let ground = terrain(0, 5).ground_all();
    let nav = navigation(&ground);
    let (mut search, mut path) = (PathSearch::new(), Path::default());
    let mut r = Random(9);
    let mut cell = || {
        let c = CellPos::new(r.below(139) as i32, r.below(139) as i32);
        nav.nearest_walkable(0, c, 8).unwrap_or(c)
    };
    let queries: Vec<PathQuery> = (0..60)
        .map(|i| PathQuery {
            method: [Method::Hierarchy, Method::Exact][i % 2],
            ..PathQuery::new(0, cell(), cell())
        })
        .collect();
    let mut all = || queries.iter().filter(|q| search.find(&nav, q, &mut path) == Answer::Path).count();
    let (first, warm) = counted(&mut all);
    let (again, steady) = counted(&mut all);
    assert!(first == again && first > 20 && warm > 0, "{first} {again} {warm}");
    assert_eq!(steady, 0);
}

/// Flat ground with trenches that straight lines would fall into.
fn trenches() -> MemoryTerrain {
    let flat = MemoryTerrain::from_fn(
        [200, 200],
        BlockSide::S32,
        |c| c.spacing_256 = 512,
        |x, z| f64::from((x + z) % 3) * 0.1,
    );
    let mut raster = flat.raster().clone();
    for z in 0..199 {
        for x in 0..199 {
            // Every twelve cells, a gap of three cells in every twenty, here and there.
            if z % 12 == 5 && (x + z) % 20 > 2 {
                raster.mask[z * 199 + x] = 0;
            }
        }
    }
    MemoryTerrain::new(raster, BlockSide::S32)
}

fn demo(source: Arc<dyn BlockSource>, reverse: bool) -> Demo {
    let config = SessionConfig::default();
    let header = Header {
        terrain: TerrainName::File { path: "trenches".into() },
        terrain_digest: source.digest(),
        weight_digest: None,
        block_side: source.block_side().into(),
        config: config.clone(),
        live: false,
    };
    let map = Map { source, weights: None, layers: Vec::new() };
    let session = Session::new(map, config, RuntimeConfig::default()).unwrap();
    let mut demo = Demo::new(session, Recording::new(header), DemoPlan { players: 6, ticks: 1500, seed: 3 });
    if reverse {
        demo.reverse_players();
    }
    while !demo.is_done() {
        demo.step().unwrap();
    }
    demo
}

#[test]
fn bots_walk_round_trenches_and_the_same_ways_in_any_order() {
    let demos = [false, true].map(|reverse| demo(trenches().shared(), reverse));
    let [first, second] = &demos;
    assert_eq!(first.recording().final_hash(), second.recording().final_hash());
    let (stats, guide) = (first.session().stats(), first.guide().unwrap().stats());
    assert_eq!(stats.respawned, 0, "nobody falls into a trench");
    assert!(guide.found >= 6 && guide.found * 10 >= guide.asked * 9, "{guide:?}");
    // Six bots, two of them running, 25 s: nobody stands about for long.
    assert!(stats.walked_m > 350.0, "{stats:?}");
}

#[test]
fn a_guide_gives_the_same_ways_whatever_it_read_before() {
    let source = trenches().shared();
    let rules = NavRules::new(&SessionConfig::default().navigation(), source.config(), &[]).unwrap();
    let mut old = Guide::over(source.clone(), rules.clone(), 0);
    let mut r = Random(4);
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for _ in 0..30 {
        let mut place = || ((r.below(3960) as f64 + 10.0) / 10.0, (r.below(3960) as f64 + 10.0) / 10.0);
        let (from, to) = (place(), place());
        let mut fresh = Guide::over(source.clone(), rules.clone(), 0);
        assert_eq!(old.way(from, to, &mut a), fresh.way(from, to, &mut b));
        assert_eq!(a, b);
        assert!(old.nav().config() == fresh.nav().config());
    }
}

#[test]
fn the_command_answers_pairs_of_points() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.terrain");
    write_payload(trenches().raster(), &WriteOptions::new(BlockSide::S32, "{}", 0.0), &path).unwrap();
    let agents = folder.path().join("agents.ron");
    std::fs::write(&agents, "(agents: [(name: \"cart\", radius_m: 3.5), (name: \"cat\", radius_m: 0.1)])")
        .unwrap();
    let run = |options: &[&str], lines: &str| {
        let mut command = highground();
        command.arg("query").arg(&path).args(["paths", "--points", "-"]).args(options);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let agents = agents.to_str().unwrap();
    let lines = "20,5,120,30\n-5,5,120,30\n20,5,20,11\n3,3,3,3\n";
    let (code, out, err) = run(&["--json"], lines);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let answers: Vec<serde_json::Value> = out.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let states: Vec<&str> = answers.iter().map(|a| a["state"].as_str().unwrap()).collect();
    // The third ends in a trench: cell (10, 5).
    assert_eq!(states, ["path", "outside", "none", "path"]);
    assert_eq!(answers[0]["points"][0], serde_json::json!([21.0, 5.0]));
    assert!(answers[0]["length_m"].as_f64().unwrap() >= 102.0 && answers[0]["cost"].as_u64().unwrap() > 0);
    assert_eq!(answers[1]["points"], serde_json::Value::Null);
    let exact: serde_json::Value = serde_json::from_str(run(&["--exact"], "20,5,120,30\n").1.trim()).unwrap();
    assert!(exact["cost"].as_u64() <= answers[0]["cost"].as_u64());
    // A cart is wider than every gap; a cat is not.
    for (agent, state) in [("cart", "none"), ("cat", "path")] {
        let (code, out, _) = run(&["--agents", agents, "--agent", agent], "20,5,120,30\n");
        assert_eq!(code, Some(0));
        assert!(out.contains(&format!("\"state\":\"{state}\"")), "{agent}: {out}");
    }
    for (options, lines, says) in [
        (&["--agents", agents, "--agent", "dog"][..], "", "[\"cart\", \"cat\"], not \"dog\""),
        (&["--agents", "nowhere.ron"], "", "nowhere.ron"),
        (&[], "1,2,3\n", "stdin:1: expected \"ax,az,bx,bz\""),
        (&[], "1,2,3,4\n1,2,3,inf\n", "stdin:2:"),
    ] {
        let (code, _, err) = run(options, lines);
        assert_eq!((code, err.lines().count()), (Some(2), 1), "{err}");
        assert!(err.contains(says), "{err}");
    }
}
