//! What a session's ground is made of: physical holes are holes of the one surface, and physical materials need nobody
//! to ask for them.

use glam::DVec3;
use highground_game::component::NetId;
use highground_game::config::{RuntimeConfig, SessionConfig};
use highground_game::input::Input;
use highground_game::publication::Arrivals;
use highground_game::session::{Map, Session};
use highground_terrain::collide::{Faces, GroundRay};
use highground_terrain::config::{Diagonal, TerrainConfig};
use highground_terrain::content::{Catalogue, PhysicalMaterial, Plane, PlaneKind};
use highground_terrain::coord::{BlockPos, BlockSide, CellPos};
use highground_terrain::kernel::weight_mip::HdTexel;
use highground_terrain::nav::{AgentKind, CellState, Nav, NavConfig, NavRules};
use highground_terrain::state::AnswerState;
use highground_terrain::store::{
    BlockError, BlockSource, MemoryTerrain, PayloadFile, Raster, WriteOptions, verify, write_payload,
};
use highground_terrain::surface::{Block, Ground, PlaneChoice, Tile, Value};
use highground_tests::slow_store::SlowStore;
use std::sync::Arc;

const DIAGONALS: [Diagonal; 3] = [Diagonal::Main, Diagonal::Anti, Diagonal::Checkerboard];

fn hash(x: i32, z: i32, salt: u32) -> u32 {
    let mut v = (x as u32).wrapping_mul(0x9e37_79b1) ^ (z as u32).wrapping_mul(0x85eb_ca77) ^ salt;
    v = (v ^ (v >> 15)).wrapping_mul(0x2c1b_3c6d);
    v = (v ^ (v >> 12)).wrapping_mul(0x297a_2d39);
    v ^ (v >> 15)
}

/// Rough ground over 3×3 blocks: masks of `visible`, and physical holes of `removed` where there are any.
fn holed(diagonal: Diagonal, visible: impl Fn(i32, i32) -> u8, removed: impl Fn(i32, i32) -> u8) -> Raster {
    let mut config = TerrainConfig::new([97, 97], 256);
    config.diagonal = diagonal;
    let heights = (0..97 * 97).map(|i| (hash(i % 97, i / 97, 1) % 300) as i32).collect();
    let mut raster = Raster::from_heights(config, heights);
    let cells = || (0..96 * 96).map(|i| (i % 96, i / 96));
    raster.mask = cells().map(|(x, z)| visible(x, z)).collect();
    let values: Vec<u8> = cells().map(|(x, z)| removed(x, z)).collect();
    if values.iter().any(|&v| v != 0) {
        raster.set_plane(Plane { kind: PlaneKind::PhysicalHole, values });
    }
    raster
}

/// A third of the cells lose something to either side, those along block borders half of them.
fn visible(x: i32, z: i32) -> u8 {
    if hash(x, z, 7).is_multiple_of(4) { (hash(x, z, 8) % 4) as u8 } else { 3 }
}

fn removed(x: i32, z: i32) -> u8 {
    let border = x % 32 == 31 || z % 32 == 31 || x % 32 == 0 || z % 32 == 0;
    if hash(x, z, 9).is_multiple_of(if border { 2 } else { 5 }) { (hash(x, z, 10) % 4) as u8 } else { 0 }
}

fn same_surface(a: &Ground, b: &Ground) {
    let mut holes = 0;
    for bz in 0..4 {
        for bx in 0..4 {
            let pos = BlockPos::new(bx, bz);
            let (Some(ta), Some(tb)) = (a.tile(pos), b.tile(pos)) else {
                assert!(a.tile(pos).is_none() && b.tile(pos).is_none());
                continue;
            };
            assert_eq!(ta.min_max(), tb.min_max(), "{pos:?}");
            for z in bz * 32 - 1..=bz * 32 + 32 {
                for x in bx * 32 - 1..=bx * 32 + 32 {
                    let cell = CellPos::new(x, z);
                    assert_eq!(ta.cell_mask(cell), tb.cell_mask(cell), "{cell:?} of {pos:?}");
                }
            }
        }
    }
    for z in 0..=96 * 4 {
        for x in 0..=96 * 4 {
            let (x, z) = (f64::from(x) * 0.25, f64::from(z) * 0.25);
            let (pa, pb) = (a.point(x, z).unwrap(), b.point(x, z).unwrap());
            assert_eq!(pa, pb, "({x}, {z})");
            holes += u32::from(pa.state == AnswerState::Hole);
        }
    }
    assert!(holes > 1000, "the lattice meets {holes} holes");
    for n in 0..20_000 {
        let at = |salt: u32| f64::from(hash(n, 0, salt) % 96_000) / 1000.0;
        let (from, to) = (DVec3::new(at(1), 9.0, at(2)), DVec3::new(at(3), -9.0, at(4)));
        let ray = GroundRay::between(from, if n % 3 == 0 { from.with_y(-9.0) } else { to }).unwrap();
        assert_eq!(a.first_hit(&ray, Faces::Both), b.first_hit(&ray, Faces::Both), "{from} to {to}");
    }
    let agents = vec![AgentKind { radius_m: 0.3, slope_limit_deg: 80.0, ..AgentKind::default() }];
    let rules = NavRules::new(&NavConfig { agents, ..NavConfig::default() }, a.config(), &[]).unwrap();
    let (na, nb) = (Nav::of(a, &rules), Nav::of(b, &rules));
    let mut walkable = [0; 2];
    for z in 0..96 {
        for x in 0..96 {
            let cell = CellPos::new(x, z);
            assert_eq!(na.cell(0, cell), nb.cell(0, cell), "{cell:?}");
            walkable[usize::from(na.cell(0, cell) == CellState::Walkable)] += 1;
        }
    }
    assert!(walkable.iter().all(|&n| n > 100), "{walkable:?}");
}

#[test]
fn a_triangle_that_either_side_removes_is_a_hole() {
    for diagonal in DIAGONALS {
        let both = holed(diagonal, visible, removed);
        let one = holed(diagonal, |x, z| visible(x, z) & !removed(x, z), |_, _| 0);
        let physical = holed(diagonal, |_, _| 3, removed);
        let seen = holed(diagonal, |x, z| 3 & !removed(x, z), |_, _| 0);
        for (with, without) in [(both, one), (physical, seen)] {
            let (with, without) = (
                MemoryTerrain::new(with, BlockSide::S32).ground_all(),
                MemoryTerrain::new(without, BlockSide::S32).ground_all(),
            );
            same_surface(&with, &without);
        }
    }
}

#[test]
fn a_payload_with_physical_holes_gives_the_same_ground_and_keeps_what_is_visible_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("holed.terrain");
    let raster = holed(Diagonal::Checkerboard, visible, removed);
    let memory = MemoryTerrain::new(raster.clone(), BlockSide::S32);
    let written = write_payload(&raster, &WriteOptions::new(BlockSide::S32, "{}", 0.0), &path).unwrap();
    verify(&path).unwrap();
    let file = PayloadFile::open(&path).unwrap();
    assert_eq!((file.digest(), written.digest), (memory.digest(), memory.digest()));
    same_surface(&Ground::all_of(&file).unwrap(), &memory.ground_all());
    for (x, z) in [(31, 31), (32, 40), (5, 64)] {
        let pos = BlockSide::S32.block_of_cell(CellPos::new(x, z));
        let block = file.read_block(pos).unwrap();
        assert_eq!(block, memory.read_block(pos).unwrap());
        assert_eq!(block.mask(), file.read_content(pos).unwrap().mask, "visibility is what it was");
        let index = ((z % 32) * 32 + x % 32) as usize;
        assert_eq!(block.mask()[index], visible(x, z));
        assert_eq!(block.solid()[index], visible(x, z) & !removed(x, z));
    }
}

fn map(source: Arc<dyn BlockSource>) -> Map {
    Map { source, weights: None, layers: Vec::new() }
}

fn session(source: Arc<dyn BlockSource>) -> Session {
    Session::new(map(source), SessionConfig::default(), RuntimeConfig::default()).unwrap()
}

fn flat(spacing_256: u32, cells: i32) -> Raster {
    let n = cells as u32 + 1;
    let mut config = TerrainConfig::new([n, n], spacing_256);
    config.diagonal = Diagonal::Main;
    Raster::from_heights(config, vec![0; (n * n) as usize])
}

fn with_cells(mut raster: Raster, kind: PlaneKind, value: impl Fn(i32, i32) -> u8) -> Raster {
    let [w, h] = raster.config.cells();
    let values = (0..w * h).map(|i| value(i % w, i / w)).collect();
    raster.set_plane(Plane { kind, values });
    raster
}

fn ball(key: &str, x: f64, z: f64) -> Input {
    Input::Ball { key: key.into(), radius: 0.3, position: [x, 1.0, z], velocity: [0.0; 3] }
}

#[test]
fn bodies_fall_through_physical_holes_and_rest_beside_them() {
    // A hole over four blocks, and one half of a cell of 8 m: of Main, triangle 0 lies towards east.
    let whole = with_cells(flat(256, 96), PlaneKind::PhysicalHole, |x, z| {
        3 * u8::from((30..34).contains(&x) && (30..34).contains(&z))
    });
    let half = with_cells(flat(2048, 96), PlaneKind::PhysicalHole, |x, z| u8::from((x, z) == (31, 31)));
    let (cell, s) = (31.0, 8.0);
    let cases = [
        (whole, [("in", 32.0, 32.0, true), ("beside", 36.0, 32.0, false)]),
        (
            half,
            [
                ("in", (cell + 0.75) * s, (cell + 0.25) * s, true),
                ("beside", (cell + 0.25) * s, (cell + 0.75) * s, false),
            ],
        ),
    ];
    for (raster, places) in cases {
        let mut session = session(MemoryTerrain::new(raster, BlockSide::S32).shared());
        let balls: Vec<Input> = places.iter().map(|&(key, x, z, _)| ball(key, x, z)).collect();
        for tick in 0..150 {
            session.step(if tick == 0 { &balls } else { &[] }, Arrivals::WhenDue).unwrap();
        }
        for (key, .., falls) in places {
            let id = NetId::of_key(key);
            let y = session.balls().find(|b| b.0 == id).unwrap().1.position.y;
            assert_eq!(y < -5.0, falls, "{key}: {y}");
            assert!(falls || (y - 0.3).abs() < 0.01, "{key}: {y}");
        }
    }
}

#[test]
fn a_walker_falls_into_a_physical_hole_at_a_block_border() {
    let raster = with_cells(flat(256, 96), PlaneKind::PhysicalHole, |x, z| {
        3 * u8::from((30..34).contains(&x) && (28..36).contains(&z))
    });
    let mut session = session(MemoryTerrain::new(raster, BlockSide::S32).shared());
    let id = NetId::of_key("a");
    let command = highground_game::walker::WalkCommand { x: 127, ..Default::default() };
    let mut lowest = f64::INFINITY;
    for tick in 0..240 {
        let inputs = match tick {
            0 => vec![Input::Join { key: "a".into(), x: 26.0, z: 32.0 }],
            20 => vec![Input::Command { id, command }],
            _ => Vec::new(),
        };
        session.step(&inputs, Arrivals::WhenDue).unwrap();
        let view = session.character_view(id).unwrap();
        if !view.arriving {
            lowest = lowest.min(view.state.position.y);
            let x = view.state.position.x;
            let in_it = view.state.position.y < 0.0 || (29.0..34.5).contains(&x);
            assert!(view.state.grounded || in_it, "tick {tick}: {view:?}");
        }
    }
    assert!(lowest < -20.0, "{lowest}");
}

fn named(name: &str, friction: f64) -> PhysicalMaterial {
    PhysicalMaterial { name: name.into(), friction, restitution: 0.0 }
}

/// Grass, with ice in the eastern half of the map.
fn icy() -> Raster {
    let mut raster = flat(256, 96);
    raster.catalogue.materials = vec![named("grass", 0.9), named("ice", 0.0)];
    with_cells(raster, PlaneKind::PhysicalMaterial, |_, z| u8::from(z >= 48))
}

#[test]
fn a_session_over_a_payload_with_materials_feels_and_answers_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("icy.terrain");
    write_payload(&icy(), &WriteOptions::new(BlockSide::S32, "{}", 0.0), &path).unwrap();
    let file: Arc<dyn BlockSource> = Arc::new(PayloadFile::open(&path).unwrap());
    let slow: Arc<dyn BlockSource> = Arc::new(SlowStore::new(file.clone(), 3, 500));
    let run = |source: Arc<dyn BlockSource>| {
        let mut session = session(source);
        // Sliding balls are turned by friction: the mean of their own 0.7 and the ground's.
        let thrown = |key: &str, z: f64| Input::Ball {
            key: key.into(),
            radius: 0.5,
            position: [30.0, 0.5, z],
            velocity: [4.0, 0.0, 0.0],
        };
        let balls = [thrown("grass", 30.0), thrown("ice", 70.0)];
        for tick in 0..12 {
            session.step(if tick == 0 { &balls } else { &[] }, Arrivals::WhenDue).unwrap();
        }
        assert_eq!((session.report().stray_materials, session.stats().stray_materials), (0, 0));
        let spin = |key| session.balls().find(|b| b.0 == NetId::of_key(key)).unwrap().1.spin.length();
        let ratio = spin("grass") / spin("ice");
        assert!((ratio - (0.9 + 0.7) / 0.7).abs() < 0.2, "{ratio}");
        let material = |z: f64| match session.ground().spot(30.5, z).unwrap().valid().unwrap().material() {
            Value::Known(m) => m.name.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!((material(30.0), material(70.0)), ("grass".to_owned(), "ice".to_owned()));
        session.report().hash
    };
    assert_eq!(run(file), run(slow));
}

/// A source whose catalogue has lost its last material.
struct Lost(MemoryTerrain, Catalogue);

impl BlockSource for Lost {
    fn config(&self) -> &TerrainConfig {
        self.0.config()
    }

    fn block_side(&self) -> BlockSide {
        self.0.block_side()
    }

    fn digest(&self) -> [u8; 32] {
        self.0.digest()
    }

    fn height_range(&self) -> Option<(i32, i32)> {
        self.0.height_range()
    }

    fn catalogue(&self) -> &Catalogue {
        &self.1
    }

    fn read_block(&self, pos: BlockPos) -> Result<Block, BlockError> {
        self.0.read_block(pos)
    }

    fn read_block_with(&self, pos: BlockPos, planes: PlaneChoice) -> Result<Block, BlockError> {
        self.0.read_block_with(pos, planes)
    }
}

#[test]
fn a_material_that_the_terrain_does_not_have_is_the_default_and_reported() {
    let terrain = MemoryTerrain::new(icy(), BlockSide::S32);
    let mut catalogue = terrain.catalogue().clone();
    catalogue.materials.pop();
    let mut session = session(Arc::new(Lost(terrain, catalogue)));
    let here = |z: f64| [ball("a", 48.0, z)];
    session.step(&here(80.0), Arrivals::WhenDue).unwrap();
    assert_eq!(session.report().stray_materials, 0, "nothing is resident yet");
    for _ in 0..60 {
        session.step(&[], Arrivals::WhenDue).unwrap();
    }
    // All that is resident of the half with ice: every stray cell is counted once.
    let ground = session.ground();
    let resident = |c: &CellPos| ground.tile(BlockSide::S32.block_of_cell(*c)).is_some();
    let icy = (48..96).flat_map(|z| (0..96).map(move |x| CellPos::new(x, z)));
    let strays = icy.filter(resident).count() as u64;
    assert!(strays > 0);
    assert_eq!(session.report().stray_materials, strays);
    assert_eq!(ground.stray_materials(), strays);
    // Ground there is, and it feels like the default.
    let spot = ground.spot(48.0, 80.0).unwrap().valid().expect("no hole");
    assert_eq!(spot.material(), Value::Known(&PhysicalMaterial::default()));
    let materials = session.publication().shared_ground().materials().unwrap();
    assert_eq!(materials.at(CellPos::new(48, 80)).friction, PhysicalMaterial::default().friction);
    let y = session.balls().next().unwrap().1.position.y;
    assert!((y - 0.3).abs() < 0.01, "{y}");
    session.step(&[Input::Leave { id: NetId::of_key("a") }], Arrivals::WhenDue).unwrap();
    for _ in 0..3 {
        session.step(&[], Arrivals::WhenDue).unwrap();
    }
    assert_eq!((session.report().stray_materials, session.stats().stray_materials), (0, strays));
}

/// A ball whose way down is looked at from the side.
fn falling(admit_at: Option<u64>) -> Vec<(DVec3, DVec3, bool)> {
    let mut session = session(MemoryTerrain::new(flat(256, 96), BlockSide::S32).shared());
    let raised = with_heights(flat(256, 96), |x, z| i32::from((x, z) == (50, 50)) * 256);
    let tile =
        MemoryTerrain::new(raised, BlockSide::S32).ground_all().tile(BlockPos::new(1, 1)).unwrap().clone();
    let id = NetId::of_key("c");
    let input =
        Input::Crate { key: "c".into(), position: [47.0, 9.0, 47.0], half_extents: [0.3; 3], density: 100.0 };
    let mut way = Vec::new();
    for tick in 0..60 {
        if admit_at == Some(tick) {
            session.admit(vec![tile.clone()]).unwrap();
        }
        let inputs = if tick == 0 { std::slice::from_ref(&input) } else { &[] };
        session.step(inputs, Arrivals::WhenDue).unwrap();
        let c = session.crates().next().unwrap().1;
        way.push((c.position, c.velocity, session.is_held(id).unwrap()));
    }
    way
}

fn with_heights(mut raster: Raster, height: impl Fn(i32, i32) -> i32) -> Raster {
    let n = raster.config.samples[0] as i32;
    raster.heights = (0..n * n).map(|i| height(i % n, i / n)).collect();
    raster
}

#[test]
fn a_crate_over_changed_ground_is_held_for_that_tick_and_keeps_its_velocity() {
    let (plain, changed) = (falling(None), falling(Some(30)));
    assert_eq!(plain[..30], changed[..30]);
    assert!(!plain[30].2 && changed[30].2, "held in the tick of the change");
    assert_eq!((changed[30].0, changed[30].1), (changed[29].0, changed[29].1));
    assert!(changed[30].1.y < -3.0);
    // From then on the same way, a tick later, to the last bit.
    assert_eq!(plain[30..58], changed[31..59]);
}

#[test]
fn ground_that_was_admitted_lifts_a_walker_and_is_there_when_it_comes_back() {
    let mut session = session(MemoryTerrain::new(flat(256, 384), BlockSide::S32).shared());
    let high =
        with_heights(flat(256, 384), |x, z| i32::from((40..56).contains(&x) && (40..56).contains(&z)) * 256);
    let tile =
        MemoryTerrain::new(high, BlockSide::S32).ground_all().tile(BlockPos::new(1, 1)).unwrap().clone();
    let id = NetId::of_key("a");
    let feet = |session: &Session| {
        let w = SessionConfig::default().walker;
        let view = session.character_view(id).unwrap();
        (view.state.position.y - w.half_height - w.radius - w.skin, view.held, view.state.grounded)
    };
    let teleport = |x: f64| vec![Input::Teleport { id, x, z: 48.0 }];
    for tick in 0..200 {
        if tick == 20 {
            let before = feet(&session);
            assert!(before.0.abs() < 1e-6 && before.2, "{before:?}");
            session.admit(vec![tile.clone()]).unwrap();
        }
        let inputs = match tick {
            0 => vec![Input::Join { key: "a".into(), x: 48.0, z: 48.0 }],
            60 => teleport(330.0),
            120 => teleport(48.0),
            _ => Vec::new(),
        };
        session.step(&inputs, Arrivals::WhenDue).unwrap();
        let (y, held, grounded) = feet(&session);
        match tick {
            20 => assert!(held && y.abs() < 1e-6, "held while its ground changes: {y}"),
            21..60 | 140.. => assert!(!held && grounded && (y - 2.0).abs() < 1e-3, "tick {tick}: {y}"),
            80..120 => {
                assert!(
                    session.ground().tile(BlockPos::new(1, 1)).is_none() && y.abs() < 1e-6,
                    "tick {tick}"
                );
            }
            _ => {}
        }
    }
}

#[test]
fn balls_and_crates_are_lifted_by_ground_that_rises_under_them() {
    for rise in [64, 128, 1280] {
        let mut session = session(MemoryTerrain::new(flat(256, 96), BlockSide::S32).shared());
        let high = with_heights(flat(256, 96), |x, z| {
            if (40..56).contains(&x) && (40..56).contains(&z) { rise } else { 0 }
        });
        let tile =
            MemoryTerrain::new(high, BlockSide::S32).ground_all().tile(BlockPos::new(1, 1)).unwrap().clone();
        let up = f64::from(rise) / 128.0;
        let inputs = [
            Input::Ball { key: "b".into(), radius: 0.3, position: [46.0, 0.3, 46.0], velocity: [0.0; 3] },
            Input::Crate {
                key: "c".into(),
                position: [50.0, 0.41, 50.0],
                half_extents: [0.4; 3],
                density: 100.0,
            },
            Input::Crate {
                key: "aside".into(),
                position: [70.0, 0.41, 50.0],
                half_extents: [0.4; 3],
                density: 100.0,
            },
        ];
        let digest = session.publication().digest();
        for tick in 0..160 {
            if tick == 60 {
                session.admit(vec![tile.clone()]).unwrap();
                assert_ne!(session.publication().digest(), digest, "the ground is another one");
            }
            session.step(if tick == 0 { &inputs } else { &[] }, Arrivals::WhenDue).unwrap();
        }
        let ball = session.balls().next().unwrap().1;
        assert!((ball.position.y - 0.3 - up).abs() < 0.02, "{rise}: {}", ball.position);
        for (_, c) in session.crates() {
            let ground = if c.position.x > 60.0 { 0.0 } else { up };
            assert!((c.position.y - 0.4 - ground).abs() < 0.02, "{rise}: {}", c.position);
        }
        assert_eq!(session.crates().count(), 2);
    }
}

/// A tile that replaces block (1, 1) of flat ground, made of a terrain as `change` leaves it.
fn candidate(change: impl Fn(&mut Raster)) -> Tile {
    let mut raster = flat(256, 96);
    change(&mut raster);
    MemoryTerrain::new(raster, BlockSide::S32).ground_all().tile(BlockPos::new(1, 1)).unwrap().clone()
}

#[test]
fn candidates_that_no_terrain_may_hold_are_refused_whole_and_by_name() {
    let mut session = session(MemoryTerrain::new(flat(256, 96), BlockSide::S32).shared());
    session.step(&[Input::Join { key: "a".into(), x: 48.0, z: 48.0 }], Arrivals::WhenDue).unwrap();
    for _ in 0..30 {
        session.step(&[], Arrivals::WhenDue).unwrap();
    }
    let digest = session.publication().digest();
    let other = "of another terrain";
    // By hand, as only a program can make one.
    let made = |q: i32, texels: Vec<HdTexel>| {
        let (config, side, at) = (flat(256, 96).config, BlockSide::S32, BlockPos::new(1, 1));
        let bare = |pos| Block::new(pos, side, vec![0; 1024].into(), vec![3; 1024].into(), None);
        let around: Vec<Block> = at.neighbourhood().map(bare).collect();
        let mut heights = vec![0; 1024];
        heights[18 * 32 + 18] = q;
        let weights = (!texels.is_empty()).then(|| texels.into());
        let block = Block::new(at, side, heights.into(), vec![3; 1024].into(), weights);
        Tile::new(&config, &block, |p| around.iter().find(|b| b.pos() == p))
    };
    let high = |q: i32| made(q, Vec::new());
    let weights = |texels: usize, id: u8| made(0, vec![HdTexel { id1: id, id2: 0, ratio: 0 }; texels]);
    for (tile, words) in [
        (high(1 << 24), "block (1, 1), sample (50, 50): 16777216 quanta"),
        (high(i32::MAX), "2147483647 quanta; a height must be below 2^24"),
        (high(-(1 << 30)), "-1073741824 quanta"),
        (candidate(|r| r.config.spacing_256 = 512), other),
        (candidate(|r| r.config.diagonal = Diagonal::Anti), other),
        (candidate(|r| r.config.placement.y = 7), other),
        (candidate(|r| r.config.quantum = 10.try_into().unwrap()), other),
        (weights(4096, 0), "4096 weight texels of layers up to 0; expected 1024"),
        (weights(1024, 200), "1024 weight texels of layers up to 200; expected 1024 of layers up to 31"),
    ] {
        let refused = session.admit(vec![tile]).unwrap_err().to_string();
        assert!(refused.contains(words), "{refused}");
        assert_eq!(session.publication().digest(), digest);
    }
    session.admit(vec![high((1 << 24) - 1)]).unwrap();
}

#[test]
fn bodies_in_a_crater_deeper_than_the_terrain_was_are_not_lost() {
    let mut session = session(MemoryTerrain::new(flat(256, 96), BlockSide::S32).shared());
    let deep = candidate(|r| {
        for z in 36..60 {
            for x in 36..60 {
                r.heights[z * 97 + x] = -200 * 128;
            }
        }
    });
    let inputs = [
        Input::Join { key: "a".into(), x: 48.0, z: 48.0 },
        Input::Ball { key: "b".into(), radius: 0.4, position: [45.0, 0.4, 45.0], velocity: [0.0; 3] },
    ];
    for tick in 0..900 {
        if tick == 60 {
            session.admit(vec![deep.clone()]).unwrap();
        }
        session.step(if tick == 0 { &inputs } else { &[] }, Arrivals::WhenDue).unwrap();
    }
    assert_eq!((session.stats().respawned, session.stats().removed), (0, 0));
    let view = session.character_view(NetId::of_key("a")).unwrap();
    assert!(view.state.grounded && view.state.position.y < -198.0, "{:?}", view.state);
}
