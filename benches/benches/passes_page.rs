//! Baking pages on the CPU twin, on one core and on all: four planar layers with height blending beside a plain scalar
//! `f32` version of the same, the full look, and a 2048² macro texture of eight 1024² layers.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use highground_terrain::compute::CpuCompute;
use highground_terrain::config::TerrainConfig;
use highground_terrain::content::{Catalogue, Layer};
use highground_terrain::coord::PagePos;
use highground_terrain::kernel::bytes_of;
use highground_terrain::kernel::page::{CODES_AT, NEUTRAL, pcg, tables};
use highground_terrain::pass::page::{Baker, Look, PageInput, Scratch, Texel, Textures, Windows};
use std::hint::black_box;

/// A texel that is smooth enough to look like something.
fn texel(id: u32, x: u32, y: u32) -> Texel {
    let b = pcg(id << 24 | (x / 3) << 12 | (y / 3)).to_le_bytes();
    let [r, g, _, n] = b.map(|v| 120 + v / 4);
    Texel {
        albedo: [r, g, 90 + 20 * id as u8],
        height: b[2],
        normal: [n - 24, 128, 230],
        roughness: 180,
        occlusion: 240,
        metallic: 0,
    }
}

fn textures(layers: u32, side: u32) -> Textures {
    let all: Vec<_> = (0..layers).map(|id| move |_: u32, x: u32, y: u32| texel(id, x, y)).collect();
    let all: Vec<&dyn Fn(u32, u32, u32) -> Texel> = all.iter().map(|f| f as _).collect();
    Textures::new(side, &all).expect("they fit")
}

/// Hills with all layers everywhere.
fn contents(windows: &Windows, layers: u32) -> (Vec<u32>, Vec<u32>) {
    let place = |w: &highground_terrain::pass::page::Window, i: usize| {
        let width = w.size[0] as usize;
        (w.first[0] as u32 + (i % width) as u32, w.first[1] as u32 + (i / width) as u32)
    };
    let weights = (0..windows.weights.area()).map(|i| {
        let (x, z) = place(&windows.weights, i);
        let id = (2 * x + 2 * (z & 1)) % layers;
        id | ((id + 1) % layers) << 8 | (90 + pcg(x ^ z << 12) % 70) << 16
    });
    let samples = (0..windows.samples.area()).flat_map(|i| {
        let (x, z) = place(&windows.samples, i);
        [x * 40 + z * 9, (128 + pcg(x ^ z << 12) % 64) | (90 + pcg(z ^ x << 12) % 60) << 8, NEUTRAL]
    });
    (weights.collect(), samples.collect())
}

fn baker(look: Look, layers: u32, side: u32, tiling_m: f64) -> Baker {
    let layer = |i| Layer { tiling_m, ..Layer::named(&format!("layer {i}")) };
    let layers: Vec<Layer> = (0..layers).map(layer).collect();
    let count = layers.len() as u32;
    let catalogue = Catalogue { layers, ..Catalogue::default() };
    let config = TerrainConfig::new([257, 257], 512);
    Baker::new(&config, &look, &catalogue, textures(count, side), false).expect("they fit each other")
}

fn planar() -> Look {
    let names: Vec<String> = (0..4).map(|i| format!("layer {i}")).collect();
    Look { variation: 0.0, flat: names.clone(), plain: names, ..Look::default() }
}

/// The same page in plain `f32`: albedo, roughness, normal, occlusion, metallic and height.
struct Plain {
    colours: Vec<[Vec<[u8; 4]>; 2]>,
    light: Vec<f32>,
    codes: Vec<u8>,
}

const SIDE: usize = 256;

impl Plain {
    fn new() -> Self {
        let tables = tables();
        let layer = |id: u32| {
            let all = || (0..(SIDE * SIDE) as u32).map(|i| texel(id, i % SIDE as u32, i / SIDE as u32));
            let colour = all().map(|t| [t.albedo[0], t.albedo[1], t.albedo[2], t.height]);
            let slope = |t: Texel| {
                let n = t.normal.map(|v| 2 * i32::from(v) - 255);
                (128 - (128 * n[0] + n[2]).div_euclid(2 * n[2])) as u8
            };
            let surface = all().map(|t| [slope(t), 128, t.roughness, t.occlusion]);
            [colour.collect(), surface.collect()]
        };
        Self {
            colours: (0..4).map(layer).collect(),
            light: tables[..256].iter().map(|&v| v as f32 / 65_535.0).collect(),
            codes: bytes_of(&tables[CODES_AT..])[..65_536].to_vec(),
        }
    }

    fn bake(&self, windows: &Windows, weights: &[u32], samples: &[u32], out: &mut [u32]) {
        for j in 0..136usize {
            for i in 0..136usize {
                // Mip 2 of 8 texels a cell: a weight texel spans two texels of the page, as does a cell.
                let at = [i as f32 + 0.5 - 4.0, j as f32 + 0.5 - 4.0];
                let mut w = [0.0f32; 4];
                let (x, z) = (at[0] / 2.0 - 0.5, at[1] / 2.0 - 0.5);
                for (dx, dz) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                    let (cx, cz) = (x.floor() + dx as f32, z.floor() + dz as f32);
                    let near = (1.0 - (x - cx).abs()) * (1.0 - (z - cz).abs());
                    let [wx, wz] = [(cx, 0), (cz, 1)].map(|(c, n)| {
                        (c as i32 - windows.weights.first[n]).clamp(0, windows.weights.size[n] as i32 - 1)
                            as usize
                    });
                    let t = weights[wz * windows.weights.size[0] as usize + wx];
                    let ratio = (t >> 16 & 255) as f32 / 255.0;
                    w[(t & 3) as usize] += near * (1.0 - ratio);
                    w[(t >> 8 & 3) as usize] += near * ratio;
                }
                let (x, z) = ((at[0] / 2.0).max(0.0), (at[1] / 2.0).max(0.0));
                let (cx, cz) = (x as usize, z as usize);
                let (fx, fz) = (x - cx as f32, z - cz as f32);
                let s = |dx: usize, dz: usize, n: usize| {
                    samples[((cz + dz) * windows.samples.size[0] as usize + cx + dx) * 3 + n]
                };
                let h = |dx, dz| s(dx, dz, 0) as i32 as f32;
                let height = if fx >= fz {
                    h(0, 0) + fx * (h(1, 0) - h(0, 0)) + fz * (h(1, 1) - h(1, 0))
                } else {
                    h(0, 0) + fz * (h(0, 1) - h(0, 0)) + fx * (h(1, 1) - h(0, 1))
                };
                let mix = |v: [f32; 4], fx: f32, fz: f32| {
                    (v[0] * (1.0 - fx) + v[1] * fx) * (1.0 - fz) + (v[2] * (1.0 - fx) + v[3] * fx) * fz
                };
                let [nx, nz] = [0, 8].map(|b| {
                    let v = |dx, dz| (s(dx, dz, 1) >> b & 255) as f32;
                    (mix([v(0, 0), v(1, 0), v(0, 1), v(1, 1)], fx, fz) - 128.0) / 127.0
                });
                let ny = (1.0 - nx * nx - nz * nz).max(0.0).sqrt();
                // 256 texels over 256 m; a texel of mip 2 is a metre.
                let mut looks = [[0.0f32; 8]; 4];
                let mut top = 0.0f32;
                for (id, look) in looks.iter_mut().enumerate() {
                    *look = self.layer(id, at);
                    top = top.max(w[id] + look[3]);
                }
                let mut sum = 0.0;
                for id in 0..4 {
                    w[id] = (w[id] + looks[id][3] - (top - 0.2)).max(0.0).min(8.0 * w[id]);
                    sum += w[id];
                }
                let mut all = [0.0f32; 8];
                for id in 0..4 {
                    let share = w[id] / sum;
                    all.iter_mut().zip(&looks[id]).for_each(|(a, l)| *a += share * l);
                }
                let g = [all[4], 0.0, all[5]];
                let dot = nx * g[0] + nz * g[2];
                let v = [nx * (1.0 + dot) - g[0], ny * (1.0 + dot), nz * (1.0 + dot) - g[2]];
                let length = (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt();
                let code = |v: f32| self.codes[(v * 65_535.0 + 0.5) as usize & 65_535] as u32;
                let byte = |v: f32| (v * 255.0 + 0.5) as u32;
                let normal = |v: f32| (128.0 + 127.0 * v / length + 0.5) as u32;
                let texel = &mut out[(j * 136 + i) * 3..][..3];
                texel[0] = code(all[0]) | code(all[1]) << 8 | code(all[2]) << 16 | byte(all[6]) << 24;
                texel[1] = normal(v[0]) | normal(v[2]) << 8 | byte(all[7]) << 16;
                texel[2] = height.to_bits();
            }
        }
    }

    /// Red, green, blue, height, two slopes, roughness, occlusion.
    fn layer(&self, id: usize, at: [f32; 2]) -> [f32; 8] {
        let [colours, surfaces] = &self.colours[id];
        let (u, v) = (at[0] - 0.5, at[1] - 0.5);
        let (fu, fv) = (u.floor(), v.floor());
        let (iu, iv) = (fu as i32 as usize, fv as i32 as usize);
        let mask = SIDE - 1;
        let four = [(0, 0), (1, 0), (0, 1), (1, 1)]
            .map(|(du, dv)| (iv.wrapping_add(dv) & mask) * SIDE + (iu.wrapping_add(du) & mask));
        let (pu, pv) = (u - fu, v - fv);
        let weights = [(1.0 - pu) * (1.0 - pv), pu * (1.0 - pv), (1.0 - pu) * pv, pu * pv];
        let mut all = [0.0f32; 8];
        for (i, w) in four.into_iter().zip(weights) {
            let (c, s) = (colours[i], surfaces[i]);
            for n in 0..3 {
                all[n] += w * self.light[usize::from(c[n])];
            }
            all[3] += w * f32::from(c[3]) / 255.0;
            all[4] += w * (f32::from(s[0]) - 128.0) / 64.0;
            all[5] += w * (f32::from(s[1]) - 128.0) / 64.0;
            all[6] += w * f32::from(s[2]) / 255.0;
            all[7] += w * f32::from(s[3]) / 255.0;
        }
        all
    }
}

fn bake(
    baker: &Baker,
    pos: PagePos,
    contents: &(Vec<u32>, Vec<u32>),
    scratch: &mut Scratch,
    out: &mut Vec<u32>,
) {
    let input = PageInput { pos, weights: &contents.0, samples: &contents.1 };
    let each = &mut |_: PagePos, words: &[u32]| {
        out.clear();
        out.extend_from_slice(words);
    };
    baker.bake(&CpuCompute::new(), &[input], scratch, each).expect("the CPU bakes");
}

/// Threads, and what to call them.
fn pools() -> Vec<(&'static str, rayon::ThreadPool)> {
    let pool = |n| rayon::ThreadPoolBuilder::new().num_threads(n).build().expect("threads");
    vec![("one core", pool(1)), ("all cores", pool(0))]
}

fn pages(c: &mut Criterion) {
    let mut group = c.benchmark_group("one page of 136² texels");
    group.throughput(Throughput::Elements(136 * 136));
    let pos = PagePos::new(2, 0, 0);
    let plain = Plain::new();
    let reference = baker(planar(), 4, SIDE as u32, 256.0);
    let windows = reference.windows(pos).expect("it is on the map");
    let inputs = contents(&windows, 4);
    let mut out = vec![0; 136 * 136 * 3];
    group.bench_function("plain f32, four planar layers", |b| {
        b.iter(|| plain.bake(black_box(&windows), &inputs.0, &inputs.1, &mut out));
    });
    group.bench_function("memcpy of its words", |b| {
        let from = out.clone();
        b.iter(|| out.copy_from_slice(black_box(&from)));
    });
    // Both say the same, but for rounding.
    let (mut scratch, mut ours) = (Scratch::default(), Vec::new());
    bake(&reference, pos, &inputs, &mut scratch, &mut ours);
    plain.bake(&windows, &inputs.0, &inputs.1, &mut out);
    for (a, b) in ours.as_chunks::<3>().0.iter().zip(out.as_chunks::<3>().0) {
        for shift in [0, 8, 16, 24] {
            assert!((a[0] >> shift & 255).abs_diff(b[0] >> shift & 255) <= 4, "{a:x?} {b:x?}");
        }
        assert!((f64::from(a[2] as i32) / 64.0 - f64::from(f32::from_bits(b[2]))).abs() < 0.1);
    }
    for (name, pool) in pools() {
        let look = Look { near_mips: 9, far_mip: 9, steep_deg: [5.0, 25.0], ..Look::default() };
        let full = baker(look, 4, SIDE as u32, 256.0);
        for (what, baker) in [("four planar layers", &reference), ("full look", &full)] {
            let (mut scratch, mut out) = (Scratch::default(), Vec::new());
            group.bench_function(BenchmarkId::new(what, name), |b| {
                b.iter(|| pool.install(|| bake(baker, pos, black_box(&inputs), &mut scratch, &mut out)));
            });
        }
    }
    group.finish();
}

fn macro_texture(c: &mut Criterion) {
    let mut group = c.benchmark_group("macro texture, 2048² of eight 1024² layers");
    group.sample_size(10);
    group.throughput(Throughput::Elements(2048 * 2048));
    let baker = baker(Look { side: 2048, border: 0, ..Look::default() }, 8, 1024, 4.0);
    let pos = PagePos::new(baker.mips() - 1, 0, 0);
    let inputs = contents(&baker.windows(pos).expect("it is on the map"), 8);
    for (name, pool) in pools() {
        let (mut scratch, mut out) = (Scratch::default(), Vec::new());
        group.bench_function(name, |b| {
            b.iter(|| pool.install(|| bake(&baker, pos, black_box(&inputs), &mut scratch, &mut out)));
        });
    }
    group.finish();
}

criterion_group!(benches, pages, macro_texture);
criterion_main!(benches);
