//! The twin: one texel after the other, as the rule says.

use super::{CODES_AT, LIGHT_AT, PIECE_WORDS, Params, ROW_WORDS, SAMPLE_WORDS, TEXEL_WORDS};
use super::{layer_flag, page_flag, pcg, piece, row};
use crate::height::VOID;
use crate::kernel::{Bound, bytes_of};
use rayon::prelude::*;

/// Rows of a page that are a task of their own.
const BAND: usize = 4;

/// Layers that a texel mixes at most.
const MOST: usize = 4;

/// Ids there are.
const LAYERS: usize = 32;

/// What a page is baked from.
struct Page<'a> {
    params: Params,
    colours: &'a [u32],
    light: &'a [u32; 256],
    codes: &'a [u8],
    surfaces: &'a [u32],
    inputs: &'a [u32],
    rows: &'a [[u32; ROW_WORDS]],
}

pub(super) fn twin(params: &[u32], bound: &mut Bound<'_>) {
    let ([colours, surfaces, inputs], [out]) = bound.split();
    let params = Params::of_words(params);
    let rows = &inputs[params.layers_at as usize..][..LAYERS * ROW_WORDS];
    let light = colours[LIGHT_AT..].first_chunk().expect("the colours begin with the tables");
    let codes = &bytes_of(&colours[CODES_AT..])[..65_536];
    let page = Page { params, colours, light, codes, surfaces, inputs, rows: rows.as_chunks().0 };
    let side = params.side as usize;
    let out = &mut out[..side * side * TEXEL_WORDS];
    out.par_chunks_mut(BAND * side * TEXEL_WORDS).enumerate().for_each(|(band, rows)| {
        for (j, row) in rows.chunks_exact_mut(side * TEXEL_WORDS).enumerate() {
            let z = params.first[1] + (band * BAND + j) as i32;
            for (i, texel) in row.as_chunks_mut::<TEXEL_WORDS>().0.iter_mut().enumerate() {
                *texel = page.texel([params.first[0] + i as i32, z]);
            }
        }
    });
}

/// The ground under a texel.
struct Ground {
    /// In 1/64 quantum, or VOID.
    height: i32,
    /// Q14.
    normal: [i32; 3],
    /// Red, green and blue of the macro colour in 8.8; 128 · 256 leaves it.
    tint: [u32; 3],
}

/// A layer's texture at a texel, summed over its lookups with weights of 256 in all.
#[derive(Clone, Copy, Default)]
struct Look {
    light: [u32; 3],
    height: u32,
    roughness: u32,
    occlusion: u32,
    metal: u32,
    slope: [i32; 3],
}

/// Which way the axes of a lookup lie.
#[derive(Clone, Copy)]
enum Plane {
    /// From above, turned by so many quarters.
    Above(u32),
    /// Along x.
    East,
    /// Along z.
    South,
}

fn root(v: u32) -> u32 {
    // A correctly rounded root in double precision has the right whole part for every 32-bit number.
    f64::from(v).sqrt() as u32
}

impl Page<'_> {
    fn texel(&self, [x, z]: [i32; 2]) -> [u32; TEXEL_WORDS] {
        let half = [2 * x + 1, 2 * z + 1];
        let ground = self.ground(half);
        let (layers, count) = self.layers([x, z], half);
        let layers = &layers[..count];
        let place = half.map(|h| (h << self.params.mip) as u32);
        let triplanar =
            |&(id, _): &(u32, u32)| self.rows[id as usize][row::FLAGS] & layer_flag::TRIPLANAR != 0;
        let steep = if layers.iter().any(triplanar) { self.steep(ground.normal) } else { [0; 3] };
        let mut looks = [Look::default(); MOST];
        for (look, &(id, _)) in looks.iter_mut().zip(layers) {
            *look = self.look(id, place, &ground, steep);
        }
        let shares = self.shares(layers, &looks);
        let mut all = Look::default();
        for ((&share, look), &(id, _)) in shares.iter().zip(&looks).zip(layers) {
            let row = &self.rows[id as usize];
            for c in 0..3 {
                all.light[c] += share * ((look.light[c] * row[row::TINT + c] + 2048) >> 12).min(65_535);
                let scaled = (look.slope[c] * (row[row::NORMAL] & 0xFFFF) as i32) >> 10;
                all.slope[c] += share as i32 * scaled.clamp(-16_384, 16_384);
            }
            all.roughness += share * look.roughness;
            all.occlusion += share * look.occlusion;
            all.metal += share * look.metal;
        }
        let byte = |v: u32| ((v >> 12) + 128) >> 8;
        let light = self.vary(all.light.map(|v| v >> 12), place, ground.tint);
        let [r, g, b] = light.map(|v| u32::from(self.codes[v as usize]));
        let [nx, nz] = detail(ground.normal, all.slope.map(|v| v >> 12));
        [
            r | g << 8 | b << 16 | byte(all.roughness) << 24,
            nx | nz << 8 | byte(all.occlusion) << 16 | byte(all.metal) << 24,
            ground.height as u32,
        ]
    }

    /// Cell and part of it along an axis, in 1/2^(shift + 1); beyond the samples their edge.
    fn cell(&self, half: i32, axis: usize) -> (i32, u32) {
        let p = &self.params;
        let bits = p.samples_shift + 1;
        let (cell, part) = (half >> bits, half as u32 & ((1 << bits) - 1));
        let (first, last) = (p.samples_first[axis], p.samples_first[axis] + p.samples_size[axis] as i32 - 2);
        if cell < first {
            (first, 0)
        } else if cell > last {
            (last, 1 << bits)
        } else {
            (cell, part)
        }
    }

    fn ground(&self, half: [i32; 2]) -> Ground {
        let p = &self.params;
        let (cx, fx) = self.cell(half[0], 0);
        let (cz, fz) = self.cell(half[1], 1);
        let [dx, dz] = [cx - p.samples_first[0], cz - p.samples_first[1]].map(|d| d as usize);
        let width = p.samples_size[0] as usize;
        let at = p.samples_at as usize + SAMPLE_WORDS * (dz * width + dx);
        let upper = &self.inputs[at..][..2 * SAMPLE_WORDS];
        let lower = &self.inputs[at + SAMPLE_WORDS * width..][..2 * SAMPLE_WORDS];
        let anti = match p.diagonal {
            0 => false,
            1 => true,
            _ => (cx ^ cz) & 1 == 0,
        };
        let quanta = [upper[0], upper[SAMPLE_WORDS], lower[0], lower[SAMPLE_WORDS]].map(|w| w as i32);
        let height = height(quanta, [fx, fz].map(|f| f as i32), p.samples_shift, anti);
        let [fx, fz] = [fx, fz].map(|f| f << (7 - p.samples_shift));
        // Two bytes at a time, the first in the lower half.
        let [east, south] = [fx, fz].map(u64::from);
        let mix = |word: usize, byte: usize| {
            let of = |words: &[u32], n: usize| {
                let bytes = words[n * SAMPLE_WORDS + word] >> (8 * byte);
                u64::from(bytes & 255) | u64::from(bytes >> 8 & 255) << 32
            };
            let upper = of(upper, 0) * (256 - east) + of(upper, 1) * east;
            let lower = of(lower, 0) * (256 - east) + of(lower, 1) * east;
            let both = upper * (256 - south) + lower * south;
            [both as u32 >> 8, (both >> 40) as u32]
        };
        let [nx, nz] = mix(1, 0).map(|code| ((code as i32 - 32_768) * 129 + 128) >> 8);
        let up = root(((1 << 28) - nx * nx - nz * nz).max(0) as u32) as i32;
        let tint = if p.flags & page_flag::MACRO == 0 {
            [128 << 8; 3]
        } else {
            let [red, green] = mix(2, 0);
            [red, green, mix(2, 2)[0]]
        };
        Ground { height, normal: [nx, up, nz], tint }
    }

    /// The strongest layers with their masses, in order, and how many there are.
    fn layers(&self, [x, z]: [i32; 2], half: [i32; 2]) -> ([(u32, u32); MOST], usize) {
        let p = &self.params;
        let g = p.weights_shift;
        // In weight texels from the centre of the first.
        let axis = |half: i32, axis: usize| {
            let at = half - (1 << g);
            let first = (at >> (g + 1)) - p.weights_first[axis];
            let part = (at as u32 & ((2 << g) - 1)) << (7 - g);
            let last = p.weights_size[axis] as i32 - 1;
            [(first.clamp(0, last) as usize, 256 - part), ((first + 1).clamp(0, last) as usize, part)]
        };
        let (across, down) = (axis(half[0], 0), axis(half[1], 1));
        let (over, alpha) = self.overlay([x, z]);
        let mut masses = [0u32; LAYERS];
        let mut there = 0u32;
        for (dz, wz) in down {
            for (dx, wx) in across {
                let word = self.inputs[p.weights_at as usize + dz * p.weights_size[0] as usize + dx];
                let (ids, ratio) = ([word & 255, word >> 8 & 255], word >> 16 & 255);
                for (id, mass) in ids.into_iter().zip([255 - ratio, ratio]) {
                    if id < LAYERS as u32 {
                        masses[id as usize] += mass * wx * wz;
                        there |= 1 << id;
                    }
                }
            }
        }
        if alpha > 0 {
            let mut rest = there;
            while rest != 0 {
                let id = rest.trailing_zeros() as usize;
                masses[id] = masses[id] * (255 - alpha) / 255;
                rest &= rest - 1;
            }
            masses[over as usize & 31] += alpha << 16;
            there |= 1 << (over & 31);
        }
        strongest(&masses, there, p.kept)
    }

    /// The layer and the alpha of what lies over a texel.
    fn overlay(&self, place: [i32; 2]) -> (u32, u32) {
        let p = &self.params;
        let pieces = &self.inputs[p.pieces_at as usize..][..p.pieces as usize * PIECE_WORDS];
        let mut found = (0, 0);
        for piece in pieces.as_chunks::<PIECE_WORDS>().0 {
            let alpha = alpha(piece, place.map(|v| 8 * v + 4));
            if alpha > 0 && alpha >= found.1 {
                found = (piece[piece::LAYER], alpha);
            }
        }
        found
    }

    /// How much of a place is looked at along x, y and z, of 256.
    fn steep(&self, normal: [i32; 3]) -> [u32; 3] {
        let p = &self.params;
        let below = p.steep_start as i32 - normal[1];
        if below <= 0 {
            return [0; 3];
        }
        let steep = (256 * below as u32 / p.steep_span).min(256);
        let [x, y, z] = normal.map(|n| {
            let square = (n * n) as u32 >> 14;
            (square * square) >> 14
        });
        let sum = (x + y + z).max(1);
        let (east, south) = (x * steep / sum, z * steep / sum);
        [east, steep - east - south, south]
    }

    /// All lookups of a layer.
    fn look(&self, id: u32, place: [u32; 2], ground: &Ground, steep: [u32; 3]) -> Look {
        let row = &self.rows[id as usize];
        let flags = row[row::FLAGS];
        let [east, above, south] = if flags & layer_flag::TRIPLANAR == 0 { [0; 3] } else { steep };
        let planar = 256 - east - above - south;
        let [u, v] = place.map(|p| p.wrapping_mul(row[row::STEP]));
        let hexed = flags & layer_flag::HEX != 0 && self.params.flags & page_flag::HEX != 0;
        if !hexed && planar + above == 256 {
            // The usual one: a weight of 256 and its rounding leave everything as it is.
            let look = self.lookup(row, [u, v]);
            return Look { slope: [look.slope[0], 0, look.slope[1]], ..look };
        }
        let mut look = Look::default();
        if hexed && planar > 0 {
            self.hex(row, id, place, [u, v], planar, &mut look);
        }
        let plain = if hexed { above } else { planar + above };
        self.sample(row, [u, v], plain, Plane::Above(0), &mut look);
        if east + south > 0 {
            let height = if ground.height == VOID { 0 } else { ground.height };
            let down = (height as u32).wrapping_mul(row[row::STEP_UP]).wrapping_neg();
            self.sample(row, [v, down], east, Plane::East, &mut look);
            self.sample(row, [u, down], south, Plane::South, &mut look);
        }
        look.light = look.light.map(|v| (v + 128) >> 8);
        look.height = (look.height + 128) >> 8;
        look.roughness = (look.roughness + 128) >> 8;
        look.occlusion = (look.occlusion + 128) >> 8;
        look.metal = (look.metal + 128) >> 8;
        look.slope = look.slope.map(|v| (v + 128) >> 8);
        look
    }

    /// Three lookups around a place on the grid of triangles.
    fn hex(
        &self,
        row: &[u32; ROW_WORDS],
        id: u32,
        place: [u32; 2],
        [u, v]: [u32; 2],
        weight: u32,
        look: &mut Look,
    ) {
        let [x, z] = place;
        let s = x.wrapping_mul(row[row::HEX]).wrapping_add(z.wrapping_mul(row[row::HEX + 1]));
        let t = z.wrapping_mul(row[row::HEX + 2]);
        let (fs, ft) = (s >> 12 & 255, t >> 12 & 255);
        let upper = u32::from(fs + ft >= 256);
        // The lower triangle hangs at (0, 0), the upper one at (1, 1).
        let parts = if upper == 0 { [256 - fs - ft, ft, fs] } else { [fs + ft - 256, 256 - ft, 256 - fs] };
        let points = [[upper, upper], [upper, 1 - upper], [1 - upper, upper]];
        let seventh = parts.map(|w| {
            let square = w * w;
            let fourth = ((square >> 1) * (square >> 1)) >> 14;
            ((((fourth >> 1) * (square >> 1)) >> 14) * w) >> 8
        });
        let sum = seventh[0] + seventh[1] + seventh[2];
        let mut weights = seventh.map(|w| w * weight / sum);
        weights[0] = weight - weights[1] - weights[2];
        for (w, [ds, dt]) in weights.into_iter().zip(points) {
            let point = (((s >> 20) + ds) & 4095) | (((t >> 20) + dt) & 4095) << 12;
            let (a, b) = (pcg(point | id << 24), pcg(pcg(point | id << 24)));
            let turn = (a ^ b) >> 30;
            let [tu, tv] = match turn {
                0 => [u, v],
                1 => [v.wrapping_neg(), u],
                2 => [u.wrapping_neg(), v.wrapping_neg()],
                _ => [v, u.wrapping_neg()],
            };
            self.sample(row, [tu.wrapping_add(a), tv.wrapping_add(b)], w, Plane::Above(turn), look);
        }
    }

    /// One bilinear lookup; its slopes are along u and v.
    #[inline(always)]
    fn lookup(&self, row: &[u32; ROW_WORDS], phase: [u32; 2]) -> Look {
        let bits = row[row::SIDE_LOG2] & 15;
        let mask = (1usize << bits) - 1;
        let [cu, cv] = phase.map(|p| p.wrapping_sub(1 << (31 - bits)) >> (24 - bits));
        let (fu, fv) = (cu & 255, cv & 255);
        let [iu, iv] = [cu, cv].map(|c| (c >> 8) as usize & mask);
        let [rows, next] = [iv << bits, ((iv + 1) & mask) << bits];
        let right = (iu + 1) & mask;
        let at = [rows + iu, rows + right, next + iu, next + right];
        let last = (fu * fv + 128) >> 8;
        let weights = [256 + last - fu - fv, fu - last, fv - last, last];
        let colours = &self.colours[row[row::COLOUR] as usize..][..(mask + 1) << bits];
        let surfaces = &self.surfaces[row[row::SURFACE] as usize..][..(mask + 1) << bits];
        let (mut red_green, mut blue_height, mut four) = (0u64, 0u64, 0u64);
        for (at, w) in at.into_iter().zip(weights) {
            let (colour, surface) = (colours[at], surfaces[at]);
            let light = |c: u32| u64::from(self.light[(colour >> (8 * c) & 255) as usize]);
            // Two channels at a time: no sum goes over its half.
            red_green += (light(0) | light(1) << 32) * u64::from(w);
            blue_height += (light(2) | u64::from(colour >> 24) << 32) * u64::from(w);
            let odd = u64::from(surface >> 8 & 0x00FF_00FF) << 32;
            four += (u64::from(surface & 0x00FF_00FF) | odd) * u64::from(w);
        }
        let (even, odd) = (four as u32, (four >> 32) as u32);
        let light = [red_green as u32, (red_green >> 32) as u32, blue_height as u32];
        Look {
            light: light.map(|v| (v + 128) >> 8),
            height: (blue_height >> 32) as u32,
            roughness: even >> 16,
            occlusion: odd >> 16,
            metal: self.metal(row, at, weights),
            slope: [(even & 0xFFFF) as i32 - 32_768, (odd & 0xFFFF) as i32 - 32_768, 0],
        }
    }

    /// Adds one lookup.
    fn sample(&self, row: &[u32; ROW_WORDS], phase: [u32; 2], weight: u32, plane: Plane, look: &mut Look) {
        if weight == 0 {
            return;
        }
        let own = self.lookup(row, phase);
        for (sum, light) in look.light.iter_mut().zip(own.light) {
            *sum += light * weight;
        }
        look.height += own.height * weight;
        look.roughness += own.roughness * weight;
        look.occlusion += own.occlusion * weight;
        look.metal += own.metal * weight;
        let [su, sv, _] = own.slope.map(|s| s * weight as i32);
        let slope = match plane {
            Plane::Above(0) => [su, 0, sv],
            Plane::Above(1) => [sv, 0, -su],
            Plane::Above(2) => [-su, 0, -sv],
            Plane::Above(_) => [-sv, 0, su],
            Plane::East => [0, -sv, su],
            Plane::South => [su, -sv, 0],
        };
        for (sum, slope) in look.slope.iter_mut().zip(slope) {
            *sum += slope;
        }
    }

    fn metal(&self, row: &[u32; ROW_WORDS], at: [usize; 4], weights: [u32; 4]) -> u32 {
        let from = row[row::METAL];
        if from == u32::MAX {
            return (row[row::NORMAL] >> 16) << 8;
        }
        let byte = |at: usize| self.surfaces[from as usize + at / 4] >> (8 * (at & 3)) & 255;
        at.into_iter().zip(weights).map(|(at, w)| byte(at) * w).sum()
    }

    /// Shares of the layers, 4096 in all.
    fn shares(&self, layers: &[(u32, u32)], looks: &[Look; MOST]) -> [u32; MOST] {
        let mut shares = [0; MOST];
        if layers.len() == 1 {
            shares[0] = 4096;
            return shares;
        }
        let sum: u32 = layers.iter().map(|l| l.1).sum();
        let (mut weights, mut scores, mut top) = ([0; MOST], [0; MOST], 0);
        for (i, &(id, mass)) in layers.iter().enumerate() {
            weights[i] = (mass * 65_535 + sum / 2) / sum;
            // 8.8 up to 65280 brought to 65535.
            let height = looks[i].height + (looks[i].height >> 8);
            scores[i] = weights[i] + ((height * (self.rows[id as usize][row::CONTRAST] >> 16)) >> 8);
            top = top.max(scores[i]);
        }
        let mut blends = [0; MOST];
        for (i, &(id, _)) in layers.iter().enumerate() {
            let contrast = self.rows[id as usize][row::CONTRAST] & 0xFFFF;
            blends[i] = (scores[i] + contrast).saturating_sub(top).min(8 * weights[i]);
        }
        let sum: u32 = blends.iter().sum();
        let mut rest = 4096;
        for i in 1..layers.len() {
            shares[i] = (blends[i] * 4096 + sum / 2) / sum;
            // Of halves that were rounded up there may be one more than there is room for.
            shares[i] = shares[i].min(rest);
            rest -= shares[i];
        }
        shares[0] = rest;
        shares
    }

    /// Light with the variation and the macro colour on it, at most 65535.
    fn vary(&self, light: [u32; 3], place: [u32; 2], tint: [u32; 3]) -> [u32; 3] {
        let p = &self.params;
        let mut light = light;
        if p.variation > 0 {
            let [s, t] = place.map(|v| v.wrapping_mul(p.variation_step));
            let fade = |f: u32| (f * f * (768 - 2 * f)) >> 16;
            let (fs, ft) = (fade(s >> 12 & 255), fade(t >> 12 & 255));
            let last = (fs * ft + 128) >> 8;
            let weights = [256 + last - fs - ft, fs - last, ft - last, last];
            let mut both = 0;
            for (n, w) in (0..).zip(weights) {
                let point = (((s >> 20) + (n & 1)) & 4095) | (((t >> 20) + (n >> 1)) & 4095) << 12;
                let hash = pcg(point | 255 << 24);
                both += (hash & 0x00FF_00FF) * w;
            }
            let (bright, warm) = ((both & 0xFFFF) as i32 - 32_640, (both >> 16) as i32 - 32_640);
            let strength = p.variation as i32;
            for (v, change) in light.iter_mut().zip([bright + (warm >> 1), bright, bright - (warm >> 1)]) {
                let factor = (4096 + ((strength * change) >> 11)) as u32;
                *v = ((*v * factor) >> 12).min(65_535);
            }
        }
        for (v, tint) in light.iter_mut().zip(tint) {
            *v = ((*v * tint + 16_384) >> 15).min(65_535);
        }
        light
    }
}

/// The height on a cell's triangle in 1/64 quantum; `f` in 1/2^(shift + 1). Exact: what wraps on the way comes back.
fn height(q: [i32; 4], [fx, fz]: [i32; 2], shift: u32, anti: bool) -> i32 {
    let [q00, q10, q01, q11] = q;
    let one = 2 << shift;
    // A corner and two steps from it, each times a part.
    let (corner, one_way, a, other_way, b) = match (anti, fx >= fz, fx + fz <= one) {
        (false, true, _) => (q00, [q00, q10], fx, [q10, q11], fz),
        (false, false, _) => (q00, [q01, q11], fx, [q00, q01], fz),
        (true, _, true) => (q00, [q00, q10], fx, [q00, q01], fz),
        (true, _, false) => (q11, [q11, q01], one - fx, [q11, q10], one - fz),
    };
    if [corner, one_way[0], one_way[1], other_way[0], other_way[1]].contains(&VOID) {
        return VOID;
    }
    let up = 1 << (5 - shift);
    let way = |w: [i32; 2], part: i32| w[1].wrapping_sub(w[0]).wrapping_mul(part * up);
    (corner << super::HEIGHT_BITS).wrapping_add(way(one_way, a)).wrapping_add(way(other_way, b))
}

/// The `kept` largest masses, ties to the smaller id, without those that ≫ 8 leaves nothing of.
fn strongest(masses: &[u32; LAYERS], there: u32, kept: u32) -> ([(u32, u32); MOST], usize) {
    let mut keys = [0u32; MOST];
    let mut rest = there;
    while rest != 0 {
        let id = rest.trailing_zeros();
        rest &= rest - 1;
        // At most 255 · 65536 · 32.
        let mut key = masses[id as usize] << 5 | (31 - id);
        for best in &mut keys {
            if key > *best {
                std::mem::swap(&mut key, best);
            }
        }
    }
    let (mut out, mut count) = ([(0, 0); MOST], 0);
    for key in keys.into_iter().take(kept as usize) {
        if key >> 13 > 0 {
            out[count] = (31 - (key & 31), key >> 13);
            count += 1;
        }
    }
    if count == 0 {
        out[0] = (0, 1);
    }
    (out, count.max(1))
}

/// How much of a piece lies over a place in eighths of a texel, of 255.
fn alpha(piece: &[u32; PIECE_WORDS], place: [i32; 2]) -> u32 {
    let p = piece.map(|w| w as i32);
    let shift = piece[piece::SHIFT];
    let x = place[0].wrapping_sub(p[piece::FROM]) >> shift;
    let z = place[1].wrapping_sub(p[piece::FROM + 1]) >> shift;
    // Beyond these nothing reaches, and everything below fits.
    if x.max(z) > 8191 || x.min(z) < -8191 {
        return 0;
    }
    let (ax, az) = (p[piece::ALONG], p[piece::ALONG + 1]);
    let along = x * ax + z * az;
    let distance = if along > 0 && along < ax * ax + az * az {
        64 * (x * az - z * ax).unsigned_abs() / piece[piece::LENGTH]
    } else {
        let (x, z) = if along > 0 { (x - ax, z - az) } else { (x, z) };
        2 * root(4 * (x * x + z * z) as u32)
    };
    let (outer, fade) = (piece[piece::OUTER], piece[piece::FADE]);
    if distance >= outer { 0 } else { ((outer - distance).min(fade) * 255 + fade / 2) / fade }
}

/// The codes of a normal (Q14) bent by a gradient (Q12).
fn detail(normal: [i32; 3], slope: [i32; 3]) -> [u32; 2] {
    let dot = (normal[0] * slope[0] + normal[1] * slope[1] + normal[2] * slope[2]) >> 12;
    let bent = |c: usize| normal[c] + ((normal[c] * dot) >> 14) - 4 * slope[c];
    let v = [bent(0), bent(1).max(0), bent(2)];
    let [a, b, c] = v.map(i32::unsigned_abs);
    // Brought to 15 bits; never all 0, as the part along the normal stays one.
    let digits = 32 - (a | b | c | 1).leading_zeros();
    let scaled = |v: u32| if digits <= 15 { v << (15 - digits) } else { v >> (digits - 15) };
    let [a, b, c] = [a, b, c].map(scaled);
    let inverse = (1 << 31) / root(a * a + b * b + c * c).max(1);
    let code = |v: u32| (127 * ((v * inverse) >> 15) + (1 << 15)) >> 16;
    let byte = |v: i32, code: u32| if v < 0 { 128 - code } else { 128 + code };
    [byte(v[0], code(a)), byte(v[2], code(c))]
}
