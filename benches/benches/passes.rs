//! Compute passes: their CPU twins on one core and on all, the GPU with its transfers, beside plain loops and a copy of the
//! same memory in the same run. Answers are checked before they are timed.
//!
//! `HIGHGROUND_BENCH_SAMPLES` (8,192) is the side of the map of the atlas and of weights. Without a device its rows are left
//! out, and the run says so.

use criterion::{Criterion, criterion_group, criterion_main};
use highground_benches::noise::{Random, from_environment};
use highground_gpu::GpuCompute;
use highground_terrain::compute::{Compute, CpuCompute, Outputs, Shared};
use highground_terrain::config::Diagonal;
use highground_terrain::coord::CellPos;
use highground_terrain::height::QuantumLog2;
use highground_terrain::kernel::atlas::{Packing, code_of};
use highground_terrain::kernel::scatter::cell_word;
use highground_terrain::kernel::weight_mip::Encoding;
use highground_terrain::pass::atlas::{Heights, pack};
use highground_terrain::pass::scatter::{Ground, Kind, scatter};
use highground_terrain::pass::weight_mip::mip;
use std::hint::black_box;
use std::time::Instant;

const K: QuantumLog2 = QuantumLog2::DEFAULT;

/// Where work is done: the CPU on one core and on all, and a device if there is one.
struct Places {
    cpu: CpuCompute,
    one: rayon::ThreadPool,
    gpu: Option<GpuCompute>,
}

impl Places {
    fn new() -> Self {
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
        let gpu = GpuCompute::open().map_err(|why| println!("no rows of a device: {why}")).ok();
        Self { cpu: CpuCompute::new(), one, gpu }
    }

    /// Prints the best of five runs at every place as multiples of `plain` seconds.
    fn compare(&self, what: &str, plain: f64, work: &(dyn Fn(&dyn Compute) + Sync)) {
        let show = |place: &str, seconds: f64| {
            println!("{what}: {place}: {:.1} ms, {:.2} times the plain loop", seconds * 1e3, seconds / plain);
        };
        println!("{what}: plain loop: {:.1} ms", plain * 1e3);
        show("one core", self.one.install(|| best(|| work(&self.cpu))));
        show("all cores", best(|| work(&self.cpu)));
        if let Some(gpu) = &self.gpu {
            show(&gpu.info().to_string(), best(|| work(gpu)));
        }
    }
}

/// Seconds of the best of five.
fn best(mut work: impl FnMut()) -> f64 {
    let once = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    (0..5).map(|_| once(&mut work)).fold(f64::INFINITY, f64::min)
}

/// A side of samples and one around them: hills of some metres.
fn hills(side: usize) -> Vec<i32> {
    let wave = |v: usize, period: usize| (v % period).min(period - v % period) as i32;
    (0..side + 2)
        .flat_map(|z| {
            (0..side + 2).map(move |x| {
                wave(x, 611) * 9 + wave(z, 457) * 7 + wave(x + 3 * z, 61) * 11 + wave(x * 7 + z, 13)
            })
        })
        .collect()
}

/// 16-bit heights and normals as a plain loop in single precision makes them.
fn plain_atlas(quanta: &[i32], side: usize, base: i32, out: &mut [u32]) {
    let stride = side + 2;
    for (z, out) in out.chunks_exact_mut(side).enumerate() {
        let [north, row, south] = [0, 1, 2].map(|i| &quanta[(z + i) * stride..][..stride]);
        for (x, out) in out.iter_mut().enumerate() {
            let (dx, dz) = ((row[x + 2] - row[x]) as f32, (south[x + 1] - north[x + 1]) as f32);
            let scale = 127.0 / (dx * dx + dz * dz + 256.0 * 256.0).sqrt();
            let normal = |d: f32| (128.0 - d * scale) as i32 as u32;
            let code = (row[x + 1] - base) as u32;
            *out = code >> 8 | (code & 255) << 8 | normal(dx) << 16 | normal(dz) << 24;
        }
    }
}

fn atlas(places: &Places) {
    let side = from_environment("HIGHGROUND_BENCH_SAMPLES", 8192);
    let quanta = hills(side);
    let heights = Heights { size: [side as u32; 2], quanta: &quanta, spacing_256: 256, k: K };
    let (min, max) = quanta.iter().fold((i32::MAX, i32::MIN), |(lo, hi), &q| (lo.min(q), hi.max(q)));
    let packing = Packing::for_range(min, max);
    assert_eq!(packing.shift, 0);
    let mut plain = vec![0; side * side];
    plain_atlas(&quanta, side, packing.base, &mut plain);
    let (mut out, mut answer) = (Vec::new(), Outputs::new());
    pack(&places.cpu, &heights, packing, &mut out, &mut answer).expect("the packing holds all");
    // The same codes, and normals within two steps: the plain loop cuts where the kernel rounds.
    for (i, (a, b)) in out.iter().zip(&plain).enumerate() {
        assert_eq!(code_of(*a), code_of(*b), "{i}");
        let near = |shift: u32| (a >> shift & 255).abs_diff(b >> shift & 255) <= 2;
        assert!(near(16) && near(24), "{i}: {a:#x} {b:#x}");
    }
    let copied = best(|| {
        out.copy_from_slice(black_box(&plain));
        black_box(&out);
    });
    println!("atlas {side}²: a copy of the result: {:.1} ms", copied * 1e3);
    let seconds = best(|| plain_atlas(black_box(&quanta), side, packing.base, black_box(&mut plain)));
    places.compare(&format!("atlas {side}²"), seconds, &|compute| {
        let (mut out, mut answer) = (Vec::new(), Outputs::new());
        pack(compute, black_box(&heights), packing, &mut out, &mut answer).expect("as before");
        black_box(&out);
    });
}

/// The next mip of HD texels by 32 bins a texel.
fn plain_mip(side: usize, texels: &[u8], out: &mut [u8]) {
    for (i, out) in out.chunks_exact_mut(3).enumerate() {
        let (x, z) = (i % (side / 2) * 2, i / (side / 2) * 2);
        let mut mass = [0_u32; 32];
        for (dx, dz) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
            let texel = &texels[3 * ((z + dz) * side + x + dx)..][..3];
            if texel[0] < 32 {
                mass[usize::from(texel[0])] += 255 - u32::from(texel[2]);
            }
            if texel[1] < 32 {
                mass[usize::from(texel[1])] += u32::from(texel[2]);
            }
        }
        let (mut first, mut second) = (0, 32);
        for id in 1..32 {
            if mass[id] > mass[first] {
                (first, second) = (id, first);
            } else if second == 32 || mass[id] > mass[second] {
                second = id;
            }
        }
        let (a, b) = (mass[first], mass[second]);
        let texel = match (a, b) {
            (0, _) => [0, 0, 0],
            (_, 0) => [first as u8, first as u8, 0],
            _ => [first as u8, second as u8, ((510 * b + a + b) / (2 * (a + b))) as u8],
        };
        out.copy_from_slice(&texel);
    }
}

fn weights(places: &Places) {
    let side = from_environment("HIGHGROUND_BENCH_SAMPLES", 8192) / 2;
    let mut random = Random(5);
    let texels: Vec<u8> = (0..side * side)
        .flat_map(|_| {
            let bits = random.bits();
            [(bits % 7) as u8, (bits >> 8) as u8 % 7, (bits >> 16) as u8]
        })
        .collect();
    let mut plain = vec![0; side * side / 4 * 3];
    plain_mip(side, &texels, &mut plain);
    let size = [side as u32; 2];
    assert!(mip(&places.cpu, Encoding::Hd, size, &texels).expect("a sound map") == plain);
    let seconds = best(|| plain_mip(side, black_box(&texels), black_box(&mut plain)));
    places.compare(&format!("weight mip of {side}²"), seconds, &|compute| {
        black_box(mip(compute, Encoding::Hd, size, black_box(&texels)).expect("a sound map"));
    });
}

/// About 472,000 instances on 256 m of hills, seven a square metre.
fn grass(places: &Places) {
    let cells = 512_i32;
    let wave = |v: i32, period: i32| v.rem_euclid(period).min(period - v.rem_euclid(period));
    let heights: Vec<u32> = (-1..cells + 2)
        .flat_map(|z| (-1..cells + 2).map(move |x| (wave(x, 97) * 20 + wave(z, 61) * 17) as u32))
        .collect();
    let mut surface = vec![cell_word(3, 0); (cells * cells) as usize];
    surface.resize(surface.len() + (cells * cells / 4) as usize, u32::MAX);
    let (heights, surface) = (Shared::new(heights), Shared::new(surface));
    let kind = Kind {
        seed: 1,
        number: 0,
        density_per_m2: 7.25,
        jitter: 1.0,
        apart_m: 0.0,
        scale: [0.8, 1.2],
        slope_deg: [40.0, 5.0],
        height_m: [-1e5, 1e5],
        in_water: false,
    };
    let ground = Ground {
        first: CellPos::new(0, 0),
        cells: [cells as u32; 2],
        spacing_256: 128,
        k: K,
        diagonal: Diagonal::Main,
        texels: 1,
        heights: &heights,
        surface: &surface,
    };
    let (mut out, mut answer) = (Vec::new(), Outputs::new());
    scatter(&places.cpu, &kind, &ground, &mut out, &mut answer).expect("a sound window");
    println!("scatter: {} instances", out.len());
    // The memory alone.
    let mut to = out.clone();
    let seconds = best(|| {
        to.copy_from_slice(black_box(&out));
        black_box(&to);
    });
    println!("scatter: a copy of the result is the plain loop here");
    places.compare("scatter", seconds, &|compute| {
        let (mut out, mut answer) = (Vec::new(), Outputs::new());
        scatter(compute, &kind, &ground, &mut out, &mut answer).expect("a sound window");
        black_box(&out);
    });
}

fn benches(_: &mut Criterion) {
    let places = Places::new();
    atlas(&places);
    weights(&places);
    grass(&places);
}

criterion_group!(all, benches);
criterion_main!(all);
