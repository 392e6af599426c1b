//! From a real-shaped elevation file to players on the ground: import and query as a user runs them, then sessions and
//! the demo over the imported payload. Every check runs on a tile made here, and on a real one where it is there.

mod shared;

use glam::DVec3;
use highground_game::component::NetId;
use highground_game::config::{RuntimeConfig, SessionConfig};
use highground_game::input::Input;
use highground_game::publication::Arrivals;
use highground_game::session::{CharacterView, Map, Session};
use highground_game::walker::WalkCommand;
use highground_terrain::collide::RayAnswer;
use highground_terrain::store::PayloadFile;
use highground_tests::highground;
use serde_json::Value;
use shared::{Numbers, shared_data};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Samples a side of the tiles.
const SIDE: i32 = 1201;
/// Metres between samples.
const SPACING_M: i32 = 32;
/// Lattice units of 2⁻¹⁶ m a cell side.
const CELL: i128 = 32 << 16;
const VOID: i16 = i16::MIN;
const DIAGONALS: [&str; 3] = ["main", "anti", "checkerboard"];

/// A source file and its integers, read here and not by the importer.
struct Source {
    path: PathBuf,
    raw: Vec<i16>,
}

impl Source {
    fn read(path: PathBuf) -> Self {
        let bytes = fs::read(&path).unwrap();
        let raw: Vec<i16> = bytes.chunks_exact(2).map(|b| i16::from_be_bytes([b[0], b[1]])).collect();
        assert_eq!(raw.len(), (SIDE * SIDE) as usize);
        Self { path, raw }
    }

    /// Metres at a sample; `None` at a void and beyond the tile.
    fn metres(&self, x: i32, z: i32) -> Option<i128> {
        let inside = (0..SIDE).contains(&x) && (0..SIDE).contains(&z);
        let metres = inside.then(|| self.raw[(z * SIDE + x) as usize])?;
        (metres != VOID).then_some(i128::from(metres))
    }

    /// The corners of a cell's two triangles, as the surface's definition numbers them.
    fn triangles(diagonal: &str, x: i32, z: i32) -> [[(i32, i32); 3]; 2] {
        let anti = match diagonal {
            "anti" => true,
            "checkerboard" => (x + z) % 2 == 0,
            _ => false,
        };
        let split = if anti {
            [[(0, 0), (0, 1), (1, 0)], [(1, 0), (0, 1), (1, 1)]]
        } else {
            [[(0, 0), (1, 1), (1, 0)], [(0, 0), (0, 1), (1, 1)]]
        };
        split.map(|t| t.map(|(dx, dz)| (x + dx, z + dz)))
    }

    /// Whether any whole triangle has the sample for a corner.
    fn carried(&self, diagonal: &str, x: i32, z: i32) -> bool {
        let cells = [(x - 1, z - 1), (x, z - 1), (x - 1, z), (x, z)];
        cells
            .iter()
            .flat_map(|&(i, j)| Self::triangles(diagonal, i, j))
            .any(|t| t.contains(&(x, z)) && t.iter().all(|&(i, j)| self.metres(i, j).is_some()))
    }

    /// The triangle over a point strictly inside a cell and off its diagonal, and the exact height there as a fraction;
    /// `None` for the height when a corner is void. `fx` and `fz` are lattice units inside the cell.
    fn exact(&self, diagonal: &str, x: i32, z: i32, fx: i128, fz: i128) -> (usize, Option<(i128, i128)>) {
        let p = (i128::from(x) * CELL + fx, i128::from(z) * CELL + fz);
        let triangles = Self::triangles(diagonal, x, z);
        let at = |c: (i32, i32)| (i128::from(c.0) * CELL, i128::from(c.1) * CELL);
        let area = |a: (i128, i128), b: (i128, i128), c: (i128, i128)| {
            (b.0 - a.0) * (c.1 - a.1) - (b.1 - a.1) * (c.0 - a.0)
        };
        for (number, t) in triangles.into_iter().enumerate() {
            let [a, b, c] = t.map(at);
            let (total, parts) = (area(a, b, c), [area(p, b, c), area(a, p, c), area(a, b, p)]);
            assert!(parts.iter().all(|&w| w != 0), "the test asks for points off every edge");
            if parts.iter().all(|w| w.signum() == total.signum()) {
                let heights = t.map(|(i, j)| self.metres(i, j));
                let sum = heights.iter().zip(parts).try_fold(0, |sum, (h, w)| Some(sum + (*h)? * w));
                return (number, sum.map(|n| (n, total)));
            }
        }
        panic!("two triangles fill a cell");
    }

    /// The same as a float, for players: near enough, and by the same definition.
    fn near(&self, x: f64, z: f64) -> f64 {
        let units = |v: f64| (v * 65536.0).floor() as i128 | 1;
        let (x, z) = (units(x), units(z));
        let (i, j) = (x.div_euclid(CELL), z.div_euclid(CELL));
        let (fx, mut fz) = (x - i * CELL, z - j * CELL);
        fz += if fx == fz { 2 } else { 0 };
        let (_, height) = self.exact("main", i as i32, j as i32, fx, fz);
        let (n, d) = height.expect("players stand where there are heights");
        n as f64 / d as f64
    }

    /// Whether the ground two cells around a sample is all there, above the sea and nowhere steep.
    fn gentle(&self, x: i32, z: i32) -> bool {
        let around = (-2..=2).flat_map(|dz| (-2..=2).map(move |dx| (dx, dz)));
        let heights: Option<Vec<i128>> = around.map(|(dx, dz)| self.metres(x + dx, z + dz)).collect();
        heights.is_some_and(|h| {
            let (low, high) = (h.iter().min().unwrap(), h.iter().max().unwrap());
            *low > 0 && high - low < 48
        })
    }
}

/// Hills from integers only, a sea at 0, a basin below it, a patch of voids and a few lone ones.
fn made(folder: &Path) -> Source {
    let corner = |x: i32, z: i32, octave: i32| {
        let mut v =
            (x as u32).wrapping_mul(0x9E37_79B1) ^ (z as u32).wrapping_mul(0x85EB_CA77) ^ octave as u32;
        v = (v ^ (v >> 15)).wrapping_mul(0x2C1B_3C6D);
        v = (v ^ (v >> 12)).wrapping_mul(0x297A_2D39);
        (v >> 16) as i32
    };
    let noise = |x: i32, z: i32, n: i32, height: i32| {
        let (i, j, fx, fz) = (x / n, z / n, x % n, z % n);
        let row = |j: i32| corner(i, j, n) * (n - fx) / n + corner(i + 1, j, n) * fx / n;
        (row(j) * (n - fz) / n + row(j + 1) * fz / n) * height / 65536
    };
    let height = |x: i32, z: i32| {
        let hills = noise(x, z, 200, 2400) + noise(x, z, 50, 700) + noise(x, z, 12, 60) + noise(x, z, 3, 9);
        let voids = (500..560).contains(&x) && (700..733).contains(&z) || (x * 31 + z * 17) % 9973 == 5;
        let basin = (x - 1000).pow(2) + (z - 250).pow(2) < 60 * 60;
        match (voids, basin) {
            (true, _) => VOID,
            (_, true) => (-430 + hills % 17) as i16,
            _ => (hills - 1300).max(0) as i16,
        }
    };
    let path = folder.join("N10E010.hgt");
    let samples = (0..SIDE).flat_map(|z| (0..SIDE).map(move |x| (x, z)));
    fs::write(&path, samples.flat_map(|(x, z)| height(x, z).to_be_bytes()).collect::<Vec<u8>>()).unwrap();
    let source = Source::read(path);
    let count = |f: fn(&i16) -> bool| source.raw.iter().filter(|h| f(h)).count();
    assert!(count(|&h| h == 0) > 50_000 && count(|&h| h > 500) > 50_000, "sea and hills");
    assert!(count(|&h| h < 0 && h != VOID) > 5000 && count(|&h| h == VOID) > 1980, "basin and voids");
    source
}

/// The tile made here, and the real one where it is there.
fn sources(folder: &Path) -> Vec<Source> {
    let real = shared_data("srtm-hgt-riviera/N43E007.hgt").map(Source::read);
    std::iter::once(made(folder)).chain(real).collect()
}

/// What `highground` prints.
fn said(arguments: &[&str], paths: &[(&str, &Path)]) -> String {
    let mut command = highground();
    command.args(arguments);
    for (option, path) in paths {
        if !option.is_empty() {
            command.arg(option);
        }
        command.arg(path);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Imports a source one to one, and gives the summary.
fn import(source: &Source, out: &Path, diagonal: &str, block: &str) -> Value {
    let arguments = ["import", "--spacing", "32", "--diagonal", diagonal, "--block", block, "--json"];
    serde_json::from_str(&said(&arguments, &[("", &source.path), ("--out", out)])).unwrap()
}

/// `query heights` over points: a line of JSON each.
fn heights(terrain: &Path, points: &[(f64, f64)]) -> Vec<Value> {
    let file = terrain.with_extension("csv");
    fs::write(&file, points.iter().map(|(x, z)| format!("{x},{z}\n")).collect::<String>()).unwrap();
    let mut command = highground();
    command.arg("query").arg(terrain).args(["heights", "--points"]).arg(&file);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(lines.len(), points.len());
    lines
}

#[test]
fn samples_asked_through_the_command_are_the_files_integers() {
    let folder = tempfile::tempdir().unwrap();
    for source in sources(folder.path()) {
        let terrain = folder.path().join("samples.terrain");
        let summary = import(&source, &terrain, "main", "32");
        let voids = source.raw.iter().filter(|&&h| h == VOID).count();
        assert_eq!(summary["void_samples"], voids);
        let known = || source.raw.iter().filter(|&&h| h != VOID);
        assert_eq!(summary["min_m"], f64::from(*known().min().unwrap()));
        assert_eq!(summary["max_m"], f64::from(*known().max().unwrap()));
        // Whole rows and columns at the edges, at block borders and through the middle; others at random.
        let lines = [0, 1, 31, 32, 64, 600, 715, 1184, 1199, 1200];
        let rows = lines.iter().flat_map(|&z| (0..SIDE).map(move |x| (x, z)));
        let columns = lines.iter().flat_map(|&x| (0..SIDE).map(move |z| (x, z)));
        let mut numbers = Numbers(17);
        let mut any = || numbers.below(SIDE as u64) as i32;
        let others: Vec<(i32, i32)> = (0..10_000).map(|_| (any(), any())).collect();
        let asked: Vec<(i32, i32)> = rows.chain(columns).chain(others).collect();
        let at = |v: i32| f64::from(v * SPACING_M);
        let points: Vec<(f64, f64)> = asked.iter().map(|&(x, z)| (at(x), at(z))).collect();
        let mut holes = 0;
        for (line, &(x, z)) in heights(&terrain, &points).iter().zip(&asked) {
            if source.carried("main", x, z) {
                let metres = f64::from(source.raw[(z * SIDE + x) as usize]);
                assert_eq!(
                    (&line["state"], &line["height_m"]),
                    (&"valid".into(), &metres.into()),
                    "({x}, {z})"
                );
            } else {
                holes += 1;
                assert_eq!(line["state"], "hole", "({x}, {z})");
            }
        }
        assert!(holes > 0 && holes < 2000, "{holes}");
    }
}

#[test]
fn points_inside_cells_have_the_exact_height_of_the_stated_triangle() {
    let folder = tempfile::tempdir().unwrap();
    for source in sources(folder.path()) {
        let mut digests = Vec::new();
        for diagonal in DIAGONALS {
            let terrain = folder.path().join("inside.terrain");
            let summary = import(&source, &terrain, diagonal, "64");
            assert_eq!(summary["diagonal"], diagonal);
            digests.push(summary["digest"].clone());
            let mut numbers = Numbers(29);
            let mut asked = Vec::new();
            while asked.len() < 8000 {
                let mut below = |n: i128| i128::from(numbers.below(n as u64));
                let near_voids = asked.len() % 8 == 0;
                let (x, z) = if near_voids {
                    (490 + below(80) as i32, 690 + below(60) as i32)
                } else {
                    (below(1200) as i32, below(1200) as i32)
                };
                // One in four is a single lattice unit off an edge or the diagonal.
                let (fx, fz) = (1 + below(CELL - 1), 1 + below(CELL - 1));
                let (fx, fz) = match asked.len() % 12 {
                    0 => (1, fz),
                    4 => (fx, CELL - 1),
                    8 => (fx, if fx > 1 { fx - 1 } else { fx + 1 }),
                    _ => (fx, fz),
                };
                if fx != fz && fx + fz != CELL {
                    asked.push((x, z, fx, fz));
                }
            }
            let at = |cell: i32, f: i128| (i128::from(cell) * CELL + f) as f64 / 65536.0;
            let points: Vec<(f64, f64)> =
                asked.iter().map(|&(x, z, fx, fz)| (at(x, fx), at(z, fz))).collect();
            let mut valid = 0;
            for (line, &(x, z, fx, fz)) in heights(&terrain, &points).iter().zip(&asked) {
                let (triangle, height) = source.exact(diagonal, x, z, fx, fz);
                let Some((n, d)) = height else {
                    assert_eq!(line["state"], "hole", "{diagonal}: ({x}, {z}) + ({fx}, {fz})");
                    continue;
                };
                valid += 1;
                assert_eq!((&line["cell"], &line["triangle"]), (&vec![x, z].into(), &triangle.into()));
                // Whole metres over a cell whose side is a power of two: the fraction is an f64, so nothing is rounded
                // and the answer must be the fraction itself.
                let answer = line["height_m"].as_f64().unwrap();
                let scaled = answer * (CELL * CELL) as f64;
                assert_eq!(scaled.trunc(), scaled);
                assert_eq!(scaled as i128 * d, n * (CELL * CELL), "{diagonal}: ({x}, {z}) + ({fx}, {fz})");
            }
            assert!(valid > 6000 && valid < asked.len(), "{valid}");
        }
        assert!(digests[0] != digests[1] && digests[1] != digests[2] && digests[0] != digests[2]);
    }
}

/// Two gentle places in a row of the tile, ten kilometres apart, and a third far from both.
fn places(source: &Source) -> [(f64, f64); 3] {
    let apart = 10_000 / SPACING_M + 1;
    let all = || (100..1000).step_by(7).flat_map(|z| (40..SIDE - 40 - apart).map(move |x| (x, z)));
    let fits = |&(x, z): &(i32, i32)| source.gentle(x, z) && source.gentle(x + apart, z);
    let (x, z) = all().find(fits).expect("two gentle places ten kilometres apart");
    let far = |&(i, j): &(i32, i32)| j > z + 150 && (i - x).abs() > 150 && source.gentle(i, j);
    let (i, j) = all().find(far).expect("a third gentle place");
    let at = |v: i32| f64::from(v * SPACING_M) + 5.0;
    [(at(x), at(z)), (at(x + apart), at(z)), (at(i), at(j))]
}

/// Where a body is and how it moves at the end of a run, in bits.
type End = [u64; 6];

fn end(position: DVec3, velocity: DVec3) -> End {
    let [p, v] = [position, velocity].map(|v| v.to_array().map(f64::to_bits));
    std::array::from_fn(|i| if i < 3 { p[i] } else { v[i - 3] })
}

/// Metres on the map from a place.
fn metres_from((x, z): (f64, f64), p: DVec3) -> f64 {
    glam::DVec2::new(p.x - x, p.z - z).length()
}

/// A player and its ball a metre above the ground beside it.
fn joins(source: &Source, key: &str, (x, z): (f64, f64)) -> [Input; 2] {
    let position = [x + 4.0, source.near(x + 4.0, z) + 1.0, z];
    let ball = Input::Ball { key: format!("{key} ball"), radius: 0.4, position, velocity: [0.0; 3] };
    [Input::Join { key: key.into(), x, z }, ball]
}

/// A player stands on the source's own ground, a ray finds that ground under it, and no ball is below.
fn assert_on_ground(source: &Source, session: &Session, view: &CharacterView) {
    let (tick, walker) = (session.tick(), &session.config().walker);
    let p = view.state.position;
    let ground = source.near(p.x, p.z);
    let above = p.y - walker.half_height - walker.radius - ground;
    assert!(view.state.grounded && (-0.01..0.3).contains(&above), "tick {tick}: {above} m above in {view:?}");
    let down = session.ground().cast_ray(p, -DVec3::Y, 10.0).unwrap();
    let RayAnswer::Hit(hit) = down else { panic!("no ground under {view:?} in tick {tick}") };
    assert!((hit.point.y - ground).abs() < 1e-3);
    for (id, ball) in session.balls() {
        let above = ball.position.y - source.near(ball.position.x, ball.position.z);
        assert!((0.38..1.01).contains(&above), "ball {id} in tick {tick}: {above} m");
    }
}

/// Two players with a ball each walk; one is sent to ground that nobody has loaded and walks on there. Says where
/// everybody ended, and the last state hash.
fn play(source: &Source, terrain: &Path) -> (Vec<End>, [u8; 32]) {
    let [near, far, elsewhere] = places(source);
    let payload = PayloadFile::open(terrain).unwrap();
    let map = Map { source: Arc::new(payload), weights: None, layers: Vec::new() };
    let config = SessionConfig::default();
    // D ticks, and the tick of the request itself.
    let hold = u64::from(config.due_ticks) + 1;
    let mut session = Session::new(map, config, RuntimeConfig::default()).unwrap();
    let ids = ["near", "far"].map(NetId::of_key);
    let walk = |id, x, z| Input::Command {
        id,
        command: WalkCommand { x, z, run: false, jump: false, crouch: false },
    };
    let mut hash = [0; 32];
    for tick in 0..420_u64 {
        let inputs = match tick {
            0 => [joins(source, "near", near), joins(source, "far", far)].concat(),
            60 => vec![walk(ids[0], 127, 20), walk(ids[1], -40, 120)],
            240 => vec![Input::Teleport { id: ids[0], x: elsewhere.0, z: elsewhere.1 }],
            _ => Vec::new(),
        };
        if tick == 240 {
            let p = session.character_view(ids[0]).unwrap().state.position;
            assert!(metres_from(near, p) > 8.0, "walked for three seconds");
        }
        let report = session.step(&inputs, Arrivals::WhenDue).unwrap();
        assert!(report.refused.is_empty());
        hash = report.hash;
        for (n, id) in ids.into_iter().enumerate() {
            let view = session.character_view(id).unwrap();
            let sent = n == 0 && (240..240 + hold).contains(&tick);
            assert_eq!(view.held, tick < hold || sent, "player {n} in tick {tick}: {view:?}");
            // Held only because it has not appeared: there is no place where it could be below the ground.
            assert_eq!(view.held, view.arriving);
            if !view.held {
                assert_on_ground(source, &session, &view);
            }
        }
    }
    for (id, from) in ids.into_iter().zip([elsewhere, far]) {
        let way = metres_from(from, session.character_view(id).unwrap().state.position);
        assert!(way > 8.0, "{id} walked on: {way} m");
    }
    let walkers = session.characters().map(|c| end(c.state.position, c.state.velocity));
    let ends: Vec<End> = walkers.chain(session.balls().map(|b| end(b.1.position, b.1.velocity))).collect();
    assert_eq!(ends.len(), 4);
    (ends, hash)
}

#[test]
fn players_ten_kilometres_apart_stand_and_one_sent_to_unloaded_ground_waits_and_walks_on() {
    let folder = tempfile::tempdir().unwrap();
    for source in sources(folder.path()) {
        let (mut digests, mut ends, mut hashes) = (Vec::new(), Vec::new(), Vec::new());
        for block in ["32", "64", "128"] {
            let terrain = folder.path().join("players.terrain");
            digests.push(import(&source, &terrain, "main", block)["digest"].clone());
            let (end, hash) = play(&source, &terrain);
            assert_eq!(play(&source, &terrain), (end.clone(), hash), "the same run twice");
            ends.push(end);
            hashes.push(hash);
        }
        // The content is the same however it is cut, and so is every body's way over it. The state hash is not: the
        // side of a block is session configuration, and the state holds which blocks are wanted and published.
        assert!(digests.iter().all(|d| *d == digests[0]), "{digests:?}");
        assert!(ends.iter().all(|e| *e == ends[0]));
        assert!(hashes[0] != hashes[1] && hashes[1] != hashes[2] && hashes[0] != hashes[2]);
    }
}

#[test]
fn the_demo_on_an_imported_tile_is_the_same_run_for_any_thread_count() {
    let folder = tempfile::tempdir().unwrap();
    for source in sources(folder.path()) {
        let terrain = folder.path().join("demo.terrain");
        let digest = import(&source, &terrain, "checkerboard", "32")["digest"].clone();
        let out = folder.path().join("out");
        let run = |threads: &str| -> Value {
            let arguments =
                ["demo", "--device", "cpu", "--ticks", "240", "--players", "6", "--json", "--threads"];
            let arguments = [&arguments[..], &[threads]].concat();
            serde_json::from_str(&said(&arguments, &[("--terrain", &terrain), ("--out", &out)])).unwrap()
        };
        let first = run("1");
        assert_eq!((&first["digest"], &first["ticks"]), (&digest, &240.into()));
        assert!(
            first["walked_m"].as_f64().unwrap() > 10.0 && first["gated_ticks"].as_u64().unwrap() > 0,
            "{first}"
        );
        for threads in ["1", "2"] {
            let again = run(threads);
            for key in ["state_hash", "walked_m", "gated_ticks", "collision"] {
                assert_eq!(again[key], first[key], "{key} with {threads} threads");
            }
        }
        let replay = out.join("replay.hgr");
        let verified: Value = serde_json::from_str(&said(
            &["replay", "--verify", "--json"],
            &[("", &replay), ("--terrain", &terrain)],
        ))
        .unwrap();
        assert_eq!((&verified["match"], &verified["state_hash"]), (&true.into(), &first["state_hash"]));
    }
}
