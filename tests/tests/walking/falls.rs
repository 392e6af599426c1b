//! Falling through holes that are wide enough, and not through those that are too narrow.

use super::worlds::{DT, STAND, scaled, step};
use glam::DVec3;
use highground_game::walker::{WalkerConfig, WalkerState};
use highground_terrain::config::Diagonal;
use highground_terrain::coord::{BlockSide, CellPos};
use highground_terrain::store::{MemoryTerrain, Raster};
use highground_terrain::surface::{Ground, Triangle};
use highground_tests::random::{Random, seed};

/// A hole: its ground, the middle of the greatest circle in it on the map, and that circle's radius.
struct Hole {
    ground: Ground,
    middle: [f64; 2],
    inner: f64,
}

/// A cell or half a cell is removed at a place that may be on a block's border. `rough` gives every sample another
/// height.
fn hole(random: &mut Random, rough: bool) -> Hole {
    let spacing_256 = random.one_of(&[64, 96, 128, 256, 512]);
    let s = f64::from(spacing_256) / 256.0;
    let diagonal = random.one_of(&[Diagonal::Main, Diagonal::Anti, Diagonal::Checkerboard]);
    let heights = Random(random.next()).0;
    let terrain = MemoryTerrain::from_fn(
        [70, 70],
        BlockSide::S32,
        |c| {
            c.spacing_256 = spacing_256;
            c.diagonal = diagonal;
            c.quantum = 10.try_into().expect("k up to 12");
        },
        |x, z| {
            let mut at = Random(heights ^ (x as u64) << 8 ^ (z as u64) << 24);
            if rough { 5.0 + s * at.between(-0.2, 0.2) } else { 5.0 }
        },
    );
    let mut raster: Raster = terrain.raster().clone();
    let cell = CellPos::new(random.one_of(&[31, 32, 40]), random.one_of(&[31, 32, 45]));
    let removed = random.one_of(&[0_u8, 1, 2]);
    raster.mask[(cell.z * 69 + cell.x) as usize] = removed;
    let (middle, inner) = match removed {
        0 => ([0.5, 0.5], 0.5),
        kept => {
            let gone = if kept == Triangle::BOTH[0].bit() { Triangle::BOTH[1] } else { Triangle::BOTH[0] };
            let corners = gone.corners(diagonal.is_anti(cell));
            // The right angle's corner is the one that differs from each other in one coordinate.
            let right = (0..3)
                .find(|&i| {
                    (0..3).all(|j| j == i || (corners[i].0 == corners[j].0) != (corners[i].1 == corners[j].1))
                })
                .expect("one corner has the right angle");
            let r = 1.0 - std::f64::consts::FRAC_1_SQRT_2;
            let inward = |v: i32| if v == 0 { r } else { 1.0 - r };
            ([inward(corners[right].0), inward(corners[right].1)], r)
        }
    };
    let middle = [(f64::from(cell.x) + middle[0]) * s, (f64::from(cell.z) + middle[1]) * s];
    Hole { ground: MemoryTerrain::new(raster, BlockSide::S32).ground_all(), middle, inner: inner * s }
}

/// A walker whose capsule, skin included, has this radius.
fn walker(radius: f64) -> WalkerConfig {
    WalkerConfig { radius: radius - 0.001, skin: 0.001, ..WalkerConfig::default() }
}

fn over(hole: &Hole, config: &WalkerConfig, dx: f64, dz: f64) -> WalkerState {
    let y = 6.5 + config.centre_height();
    let position = DVec3::new(hole.middle[0] + dx, y, hole.middle[1] + dz);
    WalkerState { position, ..WalkerState::default() }
}

#[test]
fn walkers_fall_through_holes_that_are_wide_enough() {
    let mut random = Random(seed("wide holes"));
    let count = scaled(500).max(25);
    for n in 0..count {
        // Any ground: on the map the way down is the same.
        let hole = hole(&mut random, n.is_multiple_of(2));
        let spare = random.one_of(&[0.0005, 0.002, 0.01]);
        let config = walker((hole.inner - spare).clamp(0.06, 0.5));
        let slack = (hole.inner - config.radius - config.skin).min(0.3) * 0.9;
        assert!(slack > 0.0);
        let angle = random.between(0.0, std::f64::consts::TAU);
        let (dx, dz) = (slack * libm::cos(angle), slack * libm::sin(angle));
        let mut state = over(&hole, &config, dx, dz);
        let start = state.position;
        for tick in 0..120 {
            state = step(&hole.ground, &config, &state, STAND).state;
            assert!(!state.grounded, "hole {n} of {:.4} m tick {tick}: {state:?}", hole.inner);
        }
        let fallen = start.y - state.position.y;
        let (g, t) = (config.gravity, 120.0 * DT);
        assert!((fallen - 0.5 * g * t * t).abs() < 1e-6, "hole {n}: {fallen} m");
    }
    println!("walking: {count} falls through holes wide enough");
}

#[test]
fn walkers_never_fall_through_holes_that_are_too_narrow() {
    let mut random = Random(seed("narrow holes"));
    let count = scaled(500).max(25);
    for n in 0..count {
        // Level ground: nothing but the circle decides.
        let hole = hole(&mut random, false);
        let more = random.one_of(&[0.0005, 0.002, 0.01, 0.1]);
        let config = walker((hole.inner + more).max(0.06));
        let mut state = over(&hole, &config, random.between(-0.2, 0.2), random.between(-0.2, 0.2));
        let mut command = STAND;
        for tick in 0..400 {
            if tick % 40 == 0 {
                // Over it again and again, walking and running, and at rest in it.
                let to = DVec3::new(hole.middle[0], 0.0, hole.middle[1]) - state.position;
                let way = DVec3::new(to.x, 0.0, to.z).normalize_or(DVec3::X);
                let turn = random.between(-0.4, 0.4);
                let (sin, cos) = (libm::sin(turn), libm::cos(turn));
                command = super::worlds::toward(
                    way.x * cos - way.z * sin,
                    way.x * sin + way.z * cos,
                    random.next().is_multiple_of(2),
                );
                if tick == 120 {
                    command = STAND;
                }
            }
            state = step(&hole.ground, &config, &state, command).state;
            // The ball's middle never comes below the ground.
            let middle = state.position.y - config.half_height - 5.0;
            assert!(
                middle > -1e-6,
                "hole {n} of {:.4} m, {more} narrower, tick {tick}: {state:?}",
                hole.inner
            );
        }
        // Left alone it is carried, in the hole or beside it.
        for _ in 0..120 {
            state = step(&hole.ground, &config, &state, STAND).state;
        }
        assert!(state.grounded, "hole {n} of {:.4} m, {more} narrower: {state:?}", hole.inner);
    }
    println!("walking: {count} falls onto holes too narrow");
}
