//! What several benches share: a map of value noise, the same ground for Highground and for parry's HeightField in single
//! precision (as its users have it), and a way to time one thread.

use glam::DVec3;
use highground_terrain::config::{Diagonal, TerrainConfig};
use highground_terrain::coord::{BlockPos, BlockSide};
use highground_terrain::store::Raster;
use highground_terrain::surface::{Block, Ground, Slot, Tile};
use parry3d::bounding_volume::BoundingVolume;
use parry3d::math::{Pose, Vector};
use parry3d::partitioning::{Bvh, BvhBuildStrategy};
use parry3d::query::details::NormalConstraints;
use parry3d::shape::{CompositeShape, HeightField, Shape, TypedCompositeShape};
use parry3d::utils::Array2;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

/// Cells a side of a block and of a peer's tile.
pub const TILE: usize = 128;
/// The step of the heights.
pub const QUANTUM_M: f64 = 1.0 / 64.0;

/// A whole number from the environment.
pub fn from_environment(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    /// 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// A number from `lo` up to `hi`.
    pub fn between(&mut self, lo: f64, hi: f64) -> f64 {
        lo + (self.bits() >> 11) as f64 / (1u64 << 53) as f64 * (hi - lo)
    }
}

fn mix(v: u64) -> u64 {
    let v = (v ^ (v >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let v = (v ^ (v >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    v ^ (v >> 31)
}

/// Ten octaves of smoothed value noise, in quanta of 1/64 m between 123 and 904 m; row-major, X fastest.
fn noise(samples: usize) -> Vec<i32> {
    let mut sum = vec![0.0f32; samples * samples];
    let lattice = |octave: u64, x: usize, z: usize| {
        (mix(octave << 48 | (x as u64) << 24 | z as u64) >> 40) as f32 / (1u64 << 24) as f32
    };
    let smooth = |t: f32| t * t * (3.0 - 2.0 * t);
    let mut amplitude = 1.0;
    for octave in 0..10u32 {
        let wave = 2048usize >> octave;
        for z in 0..samples {
            let (lz, tz) = (z / wave, smooth((z % wave) as f32 / wave as f32));
            let mut corners = [0.0; 4];
            for x in 0..samples {
                if x % wave == 0 {
                    let c = |dx: usize, dz: usize| lattice(u64::from(octave), x / wave + dx, lz + dz);
                    corners = [c(0, 0), c(1, 0), c(0, 1), c(1, 1)];
                }
                let tx = smooth((x % wave) as f32 / wave as f32);
                let [a, b, c, d] = corners;
                let (near, far) = (a + (b - a) * tx, c + (d - c) * tx);
                sum[z * samples + x] += amplitude * (near + (far - near) * tz);
            }
        }
        // Chosen for a median slope of 17 degrees.
        amplitude *= 0.41;
    }
    let (lo, hi) = sum.iter().fold((f32::MAX, f32::MIN), |(lo, hi), &v| (lo.min(v), hi.max(v)));
    let scale = (904.0 - 123.0) / (hi - lo);
    sum.iter().map(|v| (((v - lo) * scale + 123.0) * 64.0) as i32).collect()
}

/// The same samples for everybody.
pub struct World {
    /// Cells a side.
    pub side: usize,
    heights: Vec<i32>,
    /// All of it, resident, in blocks of [`TILE`], split like parry's cells.
    pub ground: Ground,
}

/// Height fields under one hierarchy, as Rapier's broad phase has its colliders.
pub struct Tiles {
    bvh: Bvh,
    parts: Vec<(Pose, HeightField)>,
}

impl CompositeShape for Tiles {
    fn map_part_at(
        &self,
        id: u32,
        f: &mut dyn FnMut(Option<&Pose>, &dyn Shape, Option<&dyn NormalConstraints>),
    ) {
        let (pose, field) = &self.parts[id as usize];
        f(Some(pose), field, None);
    }

    fn bvh(&self) -> &Bvh {
        &self.bvh
    }
}

impl TypedCompositeShape for Tiles {
    type PartShape = dyn Shape;
    type PartNormalConstraints = ();

    fn map_typed_part_at<T>(
        &self,
        id: u32,
        mut f: impl FnMut(Option<&Pose>, &Self::PartShape, Option<&Self::PartNormalConstraints>) -> T,
    ) -> Option<T> {
        let (pose, field) = self.parts.get(id as usize)?;
        Some(f(Some(pose), field, None))
    }

    fn map_untyped_part_at<T>(
        &self,
        id: u32,
        mut f: impl FnMut(Option<&Pose>, &dyn Shape, Option<&dyn NormalConstraints>) -> T,
    ) -> Option<T> {
        let (pose, field) = self.parts.get(id as usize)?;
        Some(f(Some(pose), field, None))
    }
}

fn ground_of(heights: &[i32], samples: usize) -> Ground {
    let mut config = TerrainConfig::new([samples as u32; 2], 256);
    config.quantum = 6.try_into().expect("k up to 12");
    config.diagonal = Diagonal::Anti;
    let side = BlockSide::S128;
    let raster = Raster::from_heights(config, heights.to_vec());
    let [w, h] = config.blocks(side).map(|n| n as i32);
    let mut blocks: BTreeMap<BlockPos, Block> = BTreeMap::new();
    let mut changes = Vec::new();
    for z in 0..h {
        for row in z..h.min(z + 2) {
            for x in 0..w {
                let pos = BlockPos::new(x, row);
                blocks.entry(pos).or_insert_with(|| raster.block(side, pos));
            }
        }
        blocks.retain(|p, _| p.z >= z - 1);
        for x in 0..w {
            let pos = BlockPos::new(x, z);
            let tile = Tile::new(&config, &blocks[&pos], |p| blocks.get(&p));
            changes.push((pos, Slot::Resident(Arc::new(tile))));
        }
    }
    Ground::empty(&config, side).with_changes(&changes)
}

impl Tiles {
    /// The world's ground in tiles.
    pub fn of(world: &World) -> Self {
        let mut parts = Vec::new();
        for z in (0..world.side).step_by(TILE) {
            for x in (0..world.side).step_by(TILE) {
                let middle = Vector::new((x + TILE / 2) as f32, 0.0, (z + TILE / 2) as f32);
                parts.push((Pose::from_translation(middle), world.field(x, z, TILE)));
            }
        }
        // Rapier keeps the boxes of colliders grown by a skin.
        let boxes: Vec<_> = parts.iter().map(|(pose, f)| f.compute_aabb(pose).loosened(0.01)).collect();
        Self { bvh: Bvh::from_leaves(BvhBuildStrategy::Binned, &boxes), parts }
    }
}

impl World {
    /// A world of this many cells a side, a multiple of [`TILE`].
    pub fn new(side: usize) -> Self {
        let heights = noise(side + 1);
        let ground = ground_of(&heights, side + 1);
        Self { side, heights, ground }
    }

    /// The ground as one field, its middle at the origin.
    pub fn one_field(&self) -> HeightField {
        self.field(0, 0, self.side)
    }

    /// A field over a square of cells, its middle at the origin: parry's rows run along z and its cells are split like Anti.
    fn field(&self, x0: usize, z0: usize, cells: usize) -> HeightField {
        let mut values = Array2::repeat(cells + 1, cells + 1, 0.0f32);
        for z in 0..=cells {
            for x in 0..=cells {
                values[(z, x)] = (self.quanta(x0 + x, z0 + z) * QUANTUM_M) as f32;
            }
        }
        HeightField::new(values, Vector::new(cells as f32, 1.0, cells as f32))
    }

    /// A sample, in quanta.
    pub fn quanta(&self, x: usize, z: usize) -> f64 {
        f64::from(self.heights[z * (self.side + 1) + x])
    }

    /// The first hit along a segment by a search of all cells near it, in double precision.
    pub fn search(&self, a: DVec3, b: DVec3) -> Option<f64> {
        let d = b - a;
        let m = usize::from(d.z.abs() > d.x.abs()) * 2;
        let n = 2 - m;
        let last = self.side as i64 - 1;
        let range =
            |v: f64, w: f64| ((v.min(w).floor() as i64 - 1).max(0), (v.max(w).floor() as i64 + 1).min(last));
        let (first, end) = range(a[m], b[m]);
        let mut best: Option<f64> = None;
        for i in first..=end {
            let at = |edge: f64| {
                if d[m] == 0.0 {
                    [a[n], b[n]]
                } else {
                    [a[n] + d[n] * ((edge - a[m]) / d[m]).clamp(0.0, 1.0); 2]
                }
            };
            let ends = [at(i as f64), at(i as f64 + 1.0)].concat();
            let lo = ends.iter().copied().fold(f64::MAX, f64::min);
            let hi = ends.iter().copied().fold(f64::MIN, f64::max);
            let (from, to) = range(lo, hi);
            for j in from..=to {
                let (x, z) = if m == 0 { (i, j) } else { (j, i) };
                let v = |dx: i64, dz: i64| {
                    let (x, z) = (x + dx, z + dz);
                    DVec3::new(x as f64, self.quanta(x as usize, z as usize) * QUANTUM_M, z as f64)
                };
                for t in [[v(0, 0), v(0, 1), v(1, 0)], [v(1, 0), v(0, 1), v(1, 1)]] {
                    best = meets(&t, a, d).map(|t| best.map_or(t, |b| b.min(t))).or(best);
                }
            }
        }
        best
    }
}

/// Möller and Trumbore, "Fast, minimum storage ray/triangle intersection", 1997.
fn meets(v: &[DVec3; 3], a: DVec3, d: DVec3) -> Option<f64> {
    let (e1, e2) = (v[1] - v[0], v[2] - v[0]);
    let p = d.cross(e2);
    let det = e1.dot(p);
    if det == 0.0 {
        return None;
    }
    let s = a - v[0];
    let u = s.dot(p) / det;
    let q = s.cross(e1);
    let w = d.dot(q) / det;
    let t = e2.dot(q) / det;
    let in_it = u >= -1e-12 && w >= -1e-12 && u + w <= 1.0 + 1e-12;
    (in_it && (0.0..=1.0).contains(&t)).then_some(t)
}

/// Time that this thread has had on a processor where the system says so, which what else runs does not disturb; else
/// the time of day.
pub fn seconds() -> f64 {
    thread_local!(static START: Instant = Instant::now());
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    match text.split_whitespace().next().and_then(|n| n.parse::<f64>().ok()) {
        Some(nanoseconds) if nanoseconds > 0.0 => nanoseconds / 1e9,
        _ => START.with(|s| s.elapsed().as_secs_f64()),
    }
}

/// Millions a second: the best of a few runs.
pub fn rate(count: usize, mut run: impl FnMut() -> f64) -> f64 {
    (0..5)
        .map(|_| {
            let start = seconds();
            black_box(run());
            count as f64 / (seconds() - start).max(1e-4) / 1e6
        })
        .fold(0.0, f64::max)
}
