//! Grounds to walk on, made from a seed, and what all tests of walking share.

use super::brute::World;
use highground_game::walker::{WalkCommand, WalkStep, WalkerConfig, WalkerState, walk};
use highground_terrain::config::Diagonal;
use highground_terrain::coord::BlockSide;
use highground_terrain::store::MemoryTerrain;
use highground_terrain::surface::{Coverage, Ground};
use highground_tests::random::{Random, setting};

pub(super) const DT: f64 = 1.0 / 60.0;

/// The share of the whole form that is run, in percent: HIGHGROUND_WALKING, 2 unless it says otherwise.
pub(super) fn scaled(whole: u64) -> u64 {
    (whole * setting("HIGHGROUND_WALKING", 2) / 100).max(1)
}

/// Full speed in any direction.
pub(super) fn any_command(random: &mut Random) -> WalkCommand {
    let angle = random.between(0.0, std::f64::consts::TAU);
    toward(libm::cos(angle), libm::sin(angle), random.next().is_multiple_of(2))
}

/// Full speed in a direction of length 1.
pub(super) fn toward(x: f64, z: f64, run: bool) -> WalkCommand {
    WalkCommand { x: (x * 127.0) as i8, z: (z * 127.0) as i8, run, ..WalkCommand::default() }
}

pub(super) const STAND: WalkCommand = WalkCommand { x: 0, z: 0, run: false, jump: false, crouch: false };

/// One tick on ground that is all there.
pub(super) fn step(
    ground: &Ground,
    config: &WalkerConfig,
    state: &WalkerState,
    command: WalkCommand,
) -> WalkStep {
    let step = walk(ground, config, 1.0, state, command, DT);
    assert_eq!(step.coverage, Coverage::Complete);
    step
}

/// Smoothed noise between lattice points, from 0 to 1.
fn noise(seed: u64, x: f64, z: f64) -> f64 {
    let at = |i: f64, j: f64| Random(seed ^ (i as i64 as u64) << 20 ^ (j as i64 as u64) << 40).unit();
    let (i, j) = (x.floor(), z.floor());
    let smooth = |f: f64| f * f * (3.0 - 2.0 * f);
    let (u, v) = (smooth(x - i), smooth(z - j));
    let mix = |a: f64, b: f64, t: f64| a + (b - a) * t;
    mix(mix(at(i, j), at(i + 1.0, j), u), mix(at(i, j + 1.0), at(i + 1.0, j + 1.0), u), v)
}

/// What a ground is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Hills,
    /// Terraces of 3 m.
    Cliffs,
    /// Domes of 0.5 to 3 m in diameter on gentle hills.
    Boulders,
    /// Terraces of 25 cm: stairs.
    Steps,
    /// Hills with removed cells and halves of cells.
    Holes,
    /// All of it, side by side.
    Mixed,
}

pub(super) const KINDS: [Kind; 6] =
    [Kind::Hills, Kind::Cliffs, Kind::Boulders, Kind::Steps, Kind::Holes, Kind::Mixed];

/// Ground of about 100 samples a side.
pub(super) fn world(kind: Kind, seed: u64) -> World {
    let mut random = Random(seed);
    let spacing_256 = random.one_of(&[64, 128, 256, 384, 512]);
    let side = random.one_of(&[BlockSide::S32, BlockSide::S64]);
    let diagonal = random.one_of(&[Diagonal::Main, Diagonal::Anti, Diagonal::Checkerboard]);
    let (s, samples) = (f64::from(spacing_256) / 256.0, 101);
    let width = s * f64::from(samples - 1);
    let boulders: Vec<[f64; 3]> = (0..(width * width / 30.0).min(600.0) as u32)
        .map(|_| [random.between(0.0, width), random.between(0.0, width), random.between(0.25, 1.5)])
        .collect();
    let height = |x: f64, z: f64| {
        let gentle = 8.0 * noise(seed, x / 40.0, z / 40.0) + 0.4 * noise(seed + 2, x / 4.0, z / 4.0);
        let hilly = 2.0 * gentle + 5.0 * noise(seed + 1, x / 17.0, z / 17.0);
        let terraced = |step: f64| {
            let (terrace, within) = ((hilly / step).floor(), (hilly / step).fract());
            // The last fifth of a terrace is its flank.
            step * (terrace + ((within - 0.8) * 5.0).max(0.0) * 0.9 + within * 0.1)
        };
        let kind = match kind {
            // In squares of a fifth of the width.
            Kind::Mixed => KINDS[((x * 5.0 / width) as usize + (z * 5.0 / width) as usize * 2) % 5],
            kind => kind,
        };
        match kind {
            Kind::Cliffs => terraced(3.0),
            Kind::Steps => terraced(0.25),
            Kind::Boulders => boulders.iter().fold(gentle, |h, &[bx, bz, r]| {
                let d = (x - bx) * (x - bx) + (z - bz) * (z - bz);
                h.max(gentle + (r * r - d).max(0.0).sqrt())
            }),
            _ => hilly,
        }
    };
    let size = [samples as u32, samples as u32];
    let terrain = MemoryTerrain::from_fn(
        size,
        side,
        |c| {
            c.spacing_256 = spacing_256;
            c.diagonal = diagonal;
            c.quantum = 10.try_into().expect("k up to 12");
        },
        |x, z| height(f64::from(x) * s, f64::from(z) * s),
    );
    let mut raster = terrain.raster().clone();
    if matches!(kind, Kind::Holes | Kind::Mixed) {
        for _ in 0..150 {
            let cell = (random.next() % raster.mask.len() as u64) as usize;
            raster.mask[cell] = random.one_of(&[0, 1, 2]);
        }
    }
    World::new(raster, side)
}
