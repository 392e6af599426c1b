//! The rule again in plain `f64`, a quantity at a time over the whole plane rather than a step at a time in words.

use super::World;
use crate::height::VOID;
use crate::kernel::page::{PIECE_WORDS, ROW_WORDS, SAMPLE_WORDS, piece, row};

/// What a texel should be: albedo and the rest as codes of 255 before rounding, normal codes, height in quanta.
pub(super) struct Plain {
    pub(super) albedo: [f64; 3],
    pub(super) roughness: f64,
    pub(super) normal: [f64; 2],
    pub(super) occlusion: f64,
    pub(super) metallic: f64,
    pub(super) height: Option<f64>,
    /// Whether a choice that leaves something out is so close that rounding may decide it.
    pub(super) close: bool,
}

#[derive(Clone, Copy, Default)]
struct Channels {
    light: [f64; 3],
    height: f64,
    slope: [f64; 3],
    rest: [f64; 3],
}

impl Channels {
    fn add(&mut self, other: &Channels, share: f64) {
        for i in 0..3 {
            self.light[i] += share * other.light[i];
            self.slope[i] += share * other.slope[i];
            self.rest[i] += share * other.rest[i];
        }
        self.height += share * other.height;
    }
}

fn to_light(code: f64) -> f64 {
    let v = code / 255.0;
    if v <= 0.04045 { v / 12.92 } else { libm::pow((v + 0.055) / 1.055, 2.4) }
}

fn to_code(light: f64) -> f64 {
    let v = if light <= 0.003_130_8 { light * 12.92 } else { 1.055 * libm::pow(light, 1.0 / 2.4) - 0.055 };
    v * 255.0
}

/// PCG by remainders.
fn hash(v: u64) -> u64 {
    const W: u64 = 1 << 32;
    let state = (v * 747_796_405 % W + 2_891_336_453) % W;
    let word = (((state >> (4 + state / (W / 16))) ^ state) * 277_803_737) % W;
    word ^ (word / (1 << 22))
}

/// A product modulo a power of two, as a part of it.
fn turns(place: f64, step: u32, whole: f64) -> f64 {
    let product = (place as i128) * i128::from(step);
    (product.rem_euclid(1 << 32) as f64) / 4_294_967_296.0 * whole
}

fn mix4(v: [f64; 4], fx: f64, fz: f64) -> f64 {
    (v[0] * (1.0 - fx) + v[1] * fx) * (1.0 - fz) + (v[2] * (1.0 - fx) + v[3] * fx) * fz
}

impl World {
    fn byte(word: u32, n: u32) -> f64 {
        f64::from(word >> (8 * n) & 255)
    }

    fn plain_row(&self, id: usize) -> &[u32] {
        &self.inputs[self.params.layers_at as usize + id * ROW_WORDS..][..ROW_WORDS]
    }

    /// The sample around a place: corner values by a look, and where in the cell.
    fn corners(&self, at: [f64; 2]) -> ([[u32; SAMPLE_WORDS]; 4], [i32; 2], [f64; 2]) {
        let p = &self.params;
        let texels = f64::from(1 << p.samples_shift);
        let mut cell = [0; 2];
        let mut part = [0.0; 2];
        for i in 0..2 {
            let low = f64::from(p.samples_first[i]);
            let v = ((at[i] + 0.5) / texels).clamp(low, low + f64::from(p.samples_size[i]) - 1.0);
            let c = v.floor().min(low + f64::from(p.samples_size[i]) - 2.0);
            (cell[i], part[i]) = (c as i32, v - c);
        }
        let sample = |dx: i32, dz: i32| {
            let n = (cell[1] + dz - p.samples_first[1]) as usize * p.samples_size[0] as usize
                + (cell[0] + dx - p.samples_first[0]) as usize;
            let at = p.samples_at as usize + n * SAMPLE_WORDS;
            [self.inputs[at], self.inputs[at + 1], self.inputs[at + 2]]
        };
        ([sample(0, 0), sample(1, 0), sample(0, 1), sample(1, 1)], cell, part)
    }

    /// The height by weights of a triangle's corners.
    fn plain_height(&self, s: &[[u32; SAMPLE_WORDS]; 4], cell: [i32; 2], [x, z]: [f64; 2]) -> Option<f64> {
        let anti = match self.params.diagonal {
            0 => false,
            1 => true,
            _ => (cell[0] + cell[1]).rem_euclid(2) == 0,
        };
        let weights = match (anti, x >= z, x + z <= 1.0) {
            (false, true, _) => [1.0 - x, x - z, 0.0, z],
            (false, false, _) => [1.0 - z, 0.0, z - x, x],
            (true, _, true) => [1.0 - x - z, x, z, 0.0],
            (true, _, false) => [0.0, 1.0 - z, 1.0 - x, x + z - 1.0],
        };
        let own = match (anti, x >= z, x + z <= 1.0) {
            (false, true, _) => [0, 1, 3],
            (false, false, _) => [0, 2, 3],
            (true, _, true) => [0, 1, 2],
            (true, _, false) => [1, 2, 3],
        };
        if own.iter().any(|&i: &usize| s[i][0] as i32 == VOID) {
            return None;
        }
        Some(own.iter().map(|&i| weights[i] * f64::from(s[i][0] as i32)).sum())
    }

    /// What each layer weighs, of 255 · 65536, before the strongest are chosen.
    fn plain_masses(&self, at: [f64; 2]) -> ([f64; 32], bool) {
        let p = &self.params;
        let texels = f64::from(1 << p.weights_shift);
        let mut masses = [0.0; 32];
        let v = at.map(|v| (v + 0.5) / texels - 0.5);
        for (dx, dz) in [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)] {
            let corner = [v[0].floor() + dx, v[1].floor() + dz];
            let near = (1.0 - (v[0] - corner[0]).abs()) * (1.0 - (v[1] - corner[1]).abs());
            let [x, z] = [0, 1].map(|i| {
                (corner[i] - f64::from(p.weights_first[i])).clamp(0.0, f64::from(p.weights_size[i] - 1))
                    as usize
            });
            let word = self.inputs[p.weights_at as usize + z * p.weights_size[0] as usize + x];
            for (n, share) in [(0, 255.0 - Self::byte(word, 2)), (1, Self::byte(word, 2))] {
                if Self::byte(word, n) < 32.0 {
                    masses[Self::byte(word, n) as usize] += share * near * 65_536.0;
                }
            }
        }
        let (mut layer, mut alpha, mut close) = (0, 0.0, false);
        for n in 0..p.pieces as usize {
            let w = &self.inputs[p.pieces_at as usize + n * PIECE_WORDS..][..PIECE_WORDS];
            let own = Self::plain_alpha(w, at);
            close |= own > 0.0 && own < 1.0 && (own - alpha).abs() < 0.02;
            if own > 0.0 && own >= alpha {
                (layer, alpha) = (w[piece::LAYER] as usize, own);
            }
        }
        masses.iter_mut().for_each(|m| *m *= 1.0 - alpha);
        masses[layer] += alpha * 255.0 * 65_536.0;
        (masses, close)
    }

    fn plain_alpha(w: &[u32], at: [f64; 2]) -> f64 {
        let scale = f64::from(1u32 << w[piece::SHIFT]);
        let f = |n: usize| f64::from(w[n] as i32);
        let to = [0, 1].map(|i| (8.0 * at[i] + 4.0 - f(piece::FROM + i)) / scale);
        let along = [f(piece::ALONG), f(piece::ALONG + 1)];
        let squared = along[0] * along[0] + along[1] * along[1];
        let t = if squared > 0.0 { (to[0] * along[0] + to[1] * along[1]) / squared } else { 0.0 };
        let t = t.clamp(0.0, 1.0);
        let (dx, dz) = (to[0] - t * along[0], to[1] - t * along[1]);
        let distance = 4.0 * (dx * dx + dz * dz).sqrt();
        ((f(piece::OUTER) - distance) / f(piece::FADE)).clamp(0.0, 1.0)
    }

    /// A lookup at (u, v) in repeats, its slopes along u and v in the first two.
    fn lookup(&self, id: usize, u: f64, v: f64) -> Channels {
        let r = self.plain_row(id);
        let side = 1i64 << r[row::SIDE_LOG2];
        let (tu, tv) = (u * side as f64 - 0.5, v * side as f64 - 0.5);
        let (iu, iv) = (tu.floor(), tv.floor());
        let at = |du: i64, dv: i64| {
            let (x, y) = ((iu as i64 + du).rem_euclid(side), (iv as i64 + dv).rem_euclid(side));
            (y * side + x) as usize
        };
        let four = [at(0, 0), at(1, 0), at(0, 1), at(1, 1)];
        let mixed = |f: &dyn Fn(usize) -> f64| mix4(four.map(f), tu - iu, tv - iv);
        let colour = |i: usize| self.colours[r[row::COLOUR] as usize + i];
        let surface = |i: usize| self.surfaces[r[row::SURFACE] as usize + i];
        let metal = |i: usize| match r[row::METAL] {
            u32::MAX => f64::from(r[row::NORMAL] >> 16),
            from => Self::byte(self.surfaces[from as usize + i / 4], i as u32 % 4),
        };
        let light = |c: u32| mixed(&|i| to_light(Self::byte(colour(i), c)));
        let slope = |n: u32| (mixed(&|i| Self::byte(surface(i), n)) - 128.0) / 64.0;
        Channels {
            light: [light(0), light(1), light(2)],
            height: mixed(&|i| Self::byte(colour(i), 3)) / 255.0,
            slope: [slope(0), slope(1), 0.0],
            rest: [
                mixed(&|i| Self::byte(surface(i), 2)),
                mixed(&|i| Self::byte(surface(i), 3)),
                mixed(&metal),
            ],
        }
    }

    fn plain_hex(&self, id: usize, place: [f64; 2], u: f64, v: f64) -> Channels {
        let r = self.plain_row(id);
        let whole = 4096.0;
        let s = (turns(place[0], r[row::HEX], whole) + turns(place[1], r[row::HEX + 1], whole)) % whole;
        let t = turns(place[1], r[row::HEX + 2], whole);
        let (fs, ft) = (s - s.floor(), t - t.floor());
        let corners = if fs + ft < 1.0 {
            [(0, 0, 1.0 - fs - ft), (0, 1, ft), (1, 0, fs)]
        } else {
            [(1, 1, fs + ft - 1.0), (1, 0, 1.0 - ft), (0, 1, 1.0 - fs)]
        };
        let seventh = |w: f64| w * w * w * w * w * w * w;
        let sum: f64 = corners.iter().map(|c| seventh(c.2)).sum();
        let mut all = Channels::default();
        for (ds, dt, w) in corners {
            let point = (s.floor() as u64 + ds) % 4096 + (t.floor() as u64 + dt) % 4096 * 4096;
            let a = hash(point + id as u64 * (1 << 24));
            let b = hash(a);
            let part = |v: u64| v as f64 / 4_294_967_296.0;
            // A quarter turn takes (x, y) to (−y, x); slopes turn back.
            let (mut du, mut dv) = (u, v);
            let turn = (a ^ b) >> 30;
            (0..turn).for_each(|_| (du, dv) = (-dv, du));
            let mut own = self.lookup(id, du + part(a), dv + part(b));
            (0..turn).for_each(|_| own.slope = [own.slope[1], -own.slope[0], 0.0]);
            own.slope = [own.slope[0], 0.0, own.slope[1]];
            all.add(&own, seventh(w) / sum);
        }
        all
    }

    fn plain_layer(&self, id: usize, place: [f64; 2], n: [f64; 3], height: f64) -> Channels {
        let (p, r) = (&self.params, self.plain_row(id));
        let [u, v] = place.map(|v| turns(v, r[row::STEP], 1.0));
        let flags = r[row::FLAGS];
        let start = f64::from(p.steep_start) / 16_384.0;
        let steep = ((start - n[1]) / (f64::from(p.steep_span) / 16_384.0)).clamp(0.0, 1.0);
        let steep = if flags & 1 == 1 { steep } else { 0.0 };
        let fourth = n.map(|c| c * c * c * c);
        let sum: f64 = fourth.iter().sum();
        let mut above = self.lookup(id, u, v);
        above.slope = [above.slope[0], 0.0, above.slope[1]];
        let mut all = Channels::default();
        let planar = if flags & 2 == 2 && p.flags & 1 == 1 { self.plain_hex(id, place, u, v) } else { above };
        all.add(&planar, 1.0 - steep);
        if steep > 0.0 {
            all.add(&above, steep * fourth[1] / sum);
            let down = -turns(height * 64.0, r[row::STEP_UP], 1.0);
            let mut east = self.lookup(id, v, down);
            east.slope = [0.0, -east.slope[1], east.slope[0]];
            all.add(&east, steep * fourth[0] / sum);
            let mut south = self.lookup(id, u, down);
            south.slope = [south.slope[0], -south.slope[1], 0.0];
            all.add(&south, steep * fourth[2] / sum);
        }
        for c in 0..3 {
            all.light[c] = (all.light[c] * f64::from(r[row::TINT + c]) / 4096.0).min(1.0);
            all.slope[c] = (all.slope[c] * f64::from(r[row::NORMAL] & 0xFFFF) / 256.0).clamp(-4.0, 4.0);
        }
        all
    }

    fn plain_variation(&self, place: [f64; 2]) -> [f64; 3] {
        let p = &self.params;
        let [s, t] = place.map(|v| turns(v, p.variation_step, 4096.0));
        let fade = |f: f64| f * f * (3.0 - 2.0 * f);
        let value = |shift: u32| {
            let at = |ds: f64, dt: f64| {
                let point = (s.floor() + ds) % 4096.0 + (t.floor() + dt) % 4096.0 * 4096.0;
                (hash(point as u64 + 255 * (1 << 24)) >> shift & 255) as f64 / 127.5 - 1.0
            };
            let v = [at(0.0, 0.0), at(1.0, 0.0), at(0.0, 1.0), at(1.0, 1.0)];
            mix4(v, fade(s - s.floor()), fade(t - t.floor()))
        };
        let (bright, warm, strength) = (value(0), value(16), f64::from(p.variation) / 256.0);
        [bright + warm / 2.0, bright, bright - warm / 2.0].map(|v| 1.0 + strength * v)
    }

    /// The texel (x, z).
    pub(super) fn plain(&self, x: i32, z: i32) -> Plain {
        let p = &self.params;
        let at = [f64::from(x), f64::from(z)];
        let place = at.map(|v| (2.0 * v + 1.0) * f64::from(1u32 << p.mip));
        let (samples, cell, part) = self.corners(at);
        let mixed = |word: usize, n| mix4(samples.map(|s| Self::byte(s[word], n)), part[0], part[1]);
        let [nx, nz] = [0, 1].map(|n| (mixed(1, n) - 128.0) / 127.0);
        let n = [nx, (1.0 - nx * nx - nz * nz).max(0.0).sqrt(), nz];
        let height = self.plain_height(&samples, cell, part);
        // The strongest by mass, then by id.
        let (masses, mut close) = self.plain_masses(at);
        let mut by_mass: Vec<(usize, f64)> = masses.into_iter().enumerate().collect();
        by_mass.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let (last, next) = (by_mass[p.kept as usize - 1].1, by_mass[p.kept as usize].1);
        let whole: f64 = masses.iter().sum();
        close |= next > 0.002 * whole && last - next < 0.01 * whole;
        by_mass.truncate(p.kept as usize);
        by_mass.retain(|m| m.1 > 0.0);
        if by_mass.is_empty() {
            by_mass.push((0, 1.0));
        }
        let sum: f64 = by_mass.iter().map(|m| m.1).sum();
        let own: Vec<(f64, f64, f64, Channels)> = by_mass
            .iter()
            .map(|&(id, mass)| {
                let look = self.plain_layer(id, place, n, height.unwrap_or(0.0));
                let r = self.plain_row(id)[row::CONTRAST];
                let gain = f64::from(r >> 16) / 256.0;
                (mass / sum, mass / sum + gain * look.height, f64::from(r & 0xFFFF) / 65_535.0, look)
            })
            .collect();
        let top = own.iter().map(|o| o.1).fold(0.0, f64::max);
        let blends: Vec<f64> = own.iter().map(|o| (o.1 - (top - o.2)).max(0.0).min(8.0 * o.0)).collect();
        let sum: f64 = blends.iter().sum();
        let mut all = Channels::default();
        own.iter().zip(&blends).for_each(|(o, b)| all.add(&o.3, b / sum));
        let vary = if p.variation > 0 { self.plain_variation(place) } else { [1.0; 3] };
        let albedo = [0, 1, 2].map(|c| {
            let tint = if p.flags & 2 == 2 { mixed(2, c as u32) / 128.0 } else { 1.0 };
            to_code(((all.light[c] * vary[c]).min(1.0) * tint).min(1.0))
        });
        let dot = n[0] * all.slope[0] + n[1] * all.slope[1] + n[2] * all.slope[2];
        let mut bent = [0, 1, 2].map(|c| n[c] * (1.0 + dot) - all.slope[c]);
        bent[1] = bent[1].max(0.0);
        let length = bent.iter().map(|c| c * c).sum::<f64>().sqrt();
        Plain {
            albedo,
            roughness: all.rest[0],
            normal: [bent[0], bent[2]].map(|c| 128.0 + 127.0 * c / length),
            occlusion: all.rest[1],
            metallic: all.rest[2],
            height,
            close,
        }
    }
}
