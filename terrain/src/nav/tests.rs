//! Walkable cells and paths against what is computed another way.

use super::*;
use crate::config::{Diagonal, TerrainConfig};
use crate::coord::{BlockPos, BlockSide, CellPos, CellRect};
use crate::store::{MemoryTerrain, Raster};
use crate::surface::{Ground, Slot, Triangle};
use std::collections::BTreeMap;
use std::sync::Arc;

mod budget;
mod cells;
mod materials;
mod paths;

/// A sequence of numbers from a seed (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

fn hash(seed: u64, x: i32, z: i32) -> f64 {
    let mut r = Random(seed ^ (x as u32 as u64) << 32 ^ z as u32 as u64);
    (r.next() >> 11) as f64 / (1u64 << 53) as f64
}

/// Value noise, 0 to 1, with a wave length in samples.
fn noise(seed: u64, x: i32, z: i32, wave: i32) -> f64 {
    let (cx, cz) = (x.div_euclid(wave), z.div_euclid(wave));
    let fade = |v: i32| {
        let t = f64::from(v.rem_euclid(wave)) / f64::from(wave);
        t * t * (3.0 - 2.0 * t)
    };
    let (fx, fz) = (fade(x), fade(z));
    let at = |dx: i32, dz: i32| hash(seed, cx + dx, cz + dz);
    let row = |dz: i32| at(0, dz) * (1.0 - fx) + at(1, dz) * fx;
    row(0) * (1.0 - fz) + row(1) * fz
}

/// Rough ground with holes: `steep` is about the gradient of its slopes.
fn rough(seed: u64, samples: [u32; 2], side: BlockSide, spacing_256: u32, steep: f64) -> MemoryTerrain {
    let mut r = Random(seed);
    let mut config = TerrainConfig::new(samples, spacing_256);
    config.diagonal = [Diagonal::Main, Diagonal::Anti, Diagonal::Checkerboard][r.below(3) as usize];
    config.quantum = [7u8, 9, 12][r.below(3) as usize].try_into().unwrap();
    let [w, h] = config.cells();
    config.extent = CellRect {
        x0: r.below(5) as i32,
        z0: r.below(5) as i32,
        x1: w - r.below(5) as i32,
        z1: h - r.below(5) as i32,
    };
    let s = config.spacing_m() * steep;
    let height = |x: i32, z: i32| {
        s * (16.0 * noise(seed, x, z, 24) + 5.0 * noise(seed ^ 1, x, z, 7) + 0.6 * hash(seed ^ 2, x, z))
    };
    let heights = (0..samples[1] as i32)
        .flat_map(|z| (0..samples[0] as i32).map(move |x| (x, z)))
        .map(|(x, z)| config.quantum.from_metres(height(x, z)).unwrap().0)
        .collect();
    let mut raster = Raster::from_heights(config, heights);
    for _ in 0..raster.mask.len() / 150 {
        let at = r.below(raster.mask.len() as u64) as usize;
        raster.mask[at] &= r.below(3) as u8;
    }
    MemoryTerrain::new(raster, side)
}

fn agent(name: &str, radius_m: f64, step_height_m: f64, slope_limit_deg: f64) -> AgentKind {
    AgentKind { name: name.into(), radius_m, step_height_m, slope_limit_deg, ..AgentKind::default() }
}

fn rules(ground: &Ground, agents: Vec<AgentKind>) -> Arc<NavRules> {
    NavRules::new(&NavConfig { agents, ..NavConfig::default() }, ground.config(), &[]).unwrap()
}

/// A seed that differs from run to run unless it is set, and is printed.
fn seed(what: &str) -> u64 {
    let seed = match std::env::var("HIGHGROUND_SEED").ok().and_then(|s| s.parse().ok()) {
        Some(seed) => seed,
        None => std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(1, |d| d.as_nanos() as u64),
    };
    println!("{what}: HIGHGROUND_SEED={seed}");
    seed
}

/// How many times a test's own amount is done.
fn scale() -> u64 {
    std::env::var("HIGHGROUND_LONG").ok().and_then(|s| s.parse().ok()).unwrap_or(1)
}
