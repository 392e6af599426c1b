//! The twin against the rule in plain `f64`, and against what can be said by hand.

mod plain;

use super::*;
use crate::height::VOID;
use crate::kernel::{Bound, bytes_of};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) as u32
    }
    fn below(&mut self, n: u32) -> u32 {
        self.next() % n
    }
}

/// Everything that one page is baked from.
struct World {
    params: Params,
    colours: Vec<u32>,
    surfaces: Vec<u32>,
    inputs: Vec<u32>,
}

impl World {
    /// One layer of one texel everywhere over level ground; the page is 8 texels a side.
    fn flat() -> Self {
        let mut colours = tables();
        colours.push(u32::from_le_bytes([200, 100, 50, 128]));
        let surfaces = vec![u32::from_le_bytes([128, 128, 77, 240])];
        let mut inputs = Vec::new();
        for _ in 0..32 {
            let mut r = [0; ROW_WORDS];
            r[row::COLOUR] = TEXTURES_AT as u32;
            r[row::METAL] = u32::MAX;
            r[row::TINT..row::TINT + 3].fill(4096);
            r[row::CONTRAST] = 1 | 256 << 16;
            r[row::NORMAL] = 256 | 9 << 16;
            inputs.extend(r);
        }
        let mut params = Params { side: 8, kept: 4, steep_start: 0, steep_span: 1, ..Params::default() };
        params.weights_at = inputs.len() as u32;
        params.weights_size = [8, 8];
        inputs.extend([0; 64]);
        params.samples_at = inputs.len() as u32;
        params.samples_size = [9, 9];
        for _ in 0..81 {
            inputs.extend([700, 0x8080, NEUTRAL]);
        }
        params.pieces_at = inputs.len() as u32;
        Self { params, colours, surfaces, inputs }
    }

    fn row_mut(&mut self, id: usize) -> &mut [u32] {
        &mut self.inputs[self.params.layers_at as usize + id * ROW_WORDS..][..ROW_WORDS]
    }

    /// Gives a layer a texture of its own, row-major, a power of two a side.
    fn texture(&mut self, id: usize, colours: &[u32], surfaces: &[u32]) {
        let (colour, surface) = (self.colours.len() as u32, self.surfaces.len() as u32);
        self.colours.extend(colours);
        self.surfaces.extend(surfaces);
        let r = self.row_mut(id);
        (r[row::COLOUR], r[row::SURFACE]) = (colour, surface);
        r[row::SIDE_LOG2] = colours.len().ilog2() / 2;
    }

    fn weight(&mut self, x: usize, z: usize, texel: [u32; 3]) {
        let at = self.params.weights_at as usize + z * self.params.weights_size[0] as usize + x;
        self.inputs[at] = texel[0] | texel[1] << 8 | texel[2] << 16;
    }

    fn all_weights(&mut self, texel: [u32; 3]) {
        let [w, h] = self.params.weights_size.map(|n| n as usize);
        (0..w * h).for_each(|i| self.weight(i % w, i / w, texel));
    }

    fn bake(&self) -> Vec<[u32; TEXEL_WORDS]> {
        let n = (self.params.side * self.params.side) as usize;
        let mut out = vec![0; n * TEXEL_WORDS];
        let mut bound = Bound::default();
        bound.reads.extend([self.colours.as_slice(), &self.surfaces, &self.inputs]);
        bound.writes.push(&mut out);
        (BAKE.twin)(&self.params.words(), &mut bound);
        drop(bound);
        out.as_chunks().0.to_vec()
    }
}

fn albedo(t: &[u32; TEXEL_WORDS]) -> [u32; 3] {
    [t[0] & 255, t[0] >> 8 & 255, t[0] >> 16 & 255]
}

#[test]
fn one_layer_over_level_ground_is_its_texel() {
    let world = World::flat();
    let expected = [200 | 100 << 8 | 50 << 16 | 77 << 24, 0x8080 | 240 << 16 | 9 << 24, 700 * 64];
    assert!(world.bake().iter().all(|t| *t == expected), "{:x?}", world.bake()[0]);
}

#[test]
fn tables_are_the_standard_curve() {
    let words = tables();
    // Light of 64, 128 and 188 of 255 by a calculator, in 1/65535.
    for (code, light) in [(0, 0), (64, 3360), (128, 14_146), (188, 32_957), (255, 65_535)] {
        assert!(words[code].abs_diff(light) <= 1, "{code}: {}", words[code]);
    }
    let codes = bytes_of(&words[CODES_AT..TEXTURES_AT]);
    for code in 0..=255u8 {
        assert_eq!(codes[words[usize::from(code)] as usize], code);
    }
    assert!(codes.windows(2).all(|w| w[0] <= w[1]));
    assert_eq!((codes[0], codes[65_535], codes[32_768]), (0, 255, 188));
}

/// Two layers of one texel each, of so high heights, half and half everywhere.
fn halves(heights: [u32; 2], contrast: u32) -> World {
    let mut world = World::flat();
    for (id, height) in heights.into_iter().enumerate() {
        let colour = if id == 0 { 0 } else { 0x00FF_FFFF };
        world.texture(id, &[colour | height << 24], &[0x8080]);
        world.row_mut(id)[row::CONTRAST] = contrast | 256 << 16;
    }
    // Two texels that mix to equal masses at their common edge: 127 and 128 of 255.
    world.all_weights([0, 1, 127]);
    (0..32).for_each(|i| world.weight(2 * (i % 4), i / 4, [1, 0, 127]));
    world.params.weights_shift = 1;
    world
}

#[test]
fn equal_layers_show_equally_whatever_the_contrast() {
    for contrast in [1, 13_107, 65_535] {
        // Half of the light of white is code 188.
        let texels = halves([90, 90], contrast).bake();
        // Weights of a quarter and three quarters of either texel: 127.25 and 127.75, a difference of 1/510.
        for t in &texels {
            let [r, g, b] = albedo(t);
            assert!(r == g && g == b);
            if contrast > 1 {
                assert!(r.abs_diff(188) <= 3, "{r}");
            }
        }
    }
    let mut exact = World::flat();
    for id in 0..2 {
        exact.texture(id, &[if id == 0 { 0x5A00_0000 } else { 0x5AFF_FFFF }], &[0x8080]);
    }
    // An id that is no layer leaves 85 to each.
    exact.all_weights([0, 40, 170]);
    (0..64).for_each(|i| exact.weight(i % 8, i / 8, if i % 2 == 0 { [0, 40, 170] } else { [1, 40, 170] }));
    exact.params.weights_shift = 0;
    // Between two texels, where both weigh the same.
    exact.params.weights_shift = 1;
    exact.params.first = [1, 1];
    exact.params.side = 1;
    // One quarter to three: the heavier wins outright, of equal heights.
    assert_eq!(albedo(&exact.bake()[0]), [0, 0, 0]);
    exact.row_mut(0)[row::CONTRAST] = 65_535 | 256 << 16;
    exact.row_mut(1)[row::CONTRAST] = 65_535 | 256 << 16;
    // Shares 1 and ½ of 1½ blends: a third of the light is code 156.
    assert_eq!(albedo(&exact.bake()[0]), [156; 3]);
}

#[test]
fn without_contrast_the_higher_layer_wins_outright_and_with_all_of_it_both_show() {
    assert!(halves([90, 100], 1).bake().iter().all(|t| albedo(t) == [255; 3]));
    assert!(halves([100, 90], 1).bake().iter().all(|t| albedo(t) == [0; 3]));
    // A score less by 55/255 of a contrast of 1: shares 1 and 200/255 of 455/255, so the light is 0.4396: code 177.
    for t in halves([100, 45], 65_535).bake() {
        assert!(albedo(&t)[0].abs_diff(177) <= 1, "{:?}", albedo(&t));
    }
}

#[test]
fn no_more_than_four_layers_show_and_two_far_away() {
    let mut world = World::flat();
    for id in 0..6 {
        // Each has its own metallic, and all of them show.
        world.row_mut(id)[row::NORMAL] = (40 * id as u32) << 16;
        world.row_mut(id)[row::CONTRAST] = 65_535;
    }
    // Around one point: 1 and 2 with 128 and 127, twice; 3 and 4 with 200 and 55; 5 alone.
    world.params.weights_size = [2, 2];
    for (i, texel) in [[1, 2, 127], [1, 2, 127], [3, 4, 55], [5, 5, 0]].into_iter().enumerate() {
        world.weight(i % 2, i / 2, texel);
    }
    world.params.weights_shift = 2;
    (world.params.side, world.params.first) = (1, [3, 3]);
    // Weights are 5/8 and 3/8: shares of a 64th of 255: 25 + 15, 15, 9. Layer 4 has 15 · 55, the least.
    let masses = [40.0 * 128.0, 40.0 * 127.0, 15.0 * 200.0, 9.0 * 255.0];
    let metal = |ids: &[usize]| {
        // With contrast 1 and no height a blend is w − top + 1.
        let sum: f64 = ids.iter().map(|&i| masses[i]).sum();
        let top = masses[0] / sum;
        let blends: Vec<f64> =
            ids.iter().map(|&i| (masses[i] / sum - top + 1.0).min(8.0 * masses[i] / sum)).collect();
        let values = [40.0, 80.0, 120.0, 200.0];
        ids.iter().zip(&blends).map(|(&i, b)| values[i] * b).sum::<f64>() / blends.iter().sum::<f64>()
    };
    let found = f64::from(world.bake()[0][1] >> 24);
    assert!((found - metal(&[0, 1, 2, 3])).abs() < 1.0, "{found} {}", metal(&[0, 1, 2, 3]));
    world.params.kept = 2;
    let found = f64::from(world.bake()[0][1] >> 24);
    assert!((found - metal(&[0, 1])).abs() < 1.0, "{found}");
}

#[test]
fn a_texture_meets_itself_at_its_edges_and_its_texels_are_hit_at_their_centres() {
    let mut world = World::flat();
    let greys: Vec<u32> = (0..16u32).map(|i| (i * 16) * 0x0001_0101).collect();
    world.texture(0, &greys, &[0x8080; 16]);
    // A texel of the page is a texel of the texture: half of one is an eighth of a repeat.
    world.row_mut(0)[row::STEP] = 1 << 29;
    let texels = world.bake();
    for (i, t) in texels.iter().enumerate() {
        let (x, z) = (i as u32 % 8, i as u32 / 8);
        assert_eq!(albedo(t)[0], 16 * (z % 4 * 4 + x % 4));
    }
    // Half as large: each page texel lies a quarter of a texel off a centre, and it goes on over the edge.
    world.row_mut(0)[row::STEP] = 1 << 28;
    let light = |c: u32| f64::from(tables()[c as usize]);
    let between = |a: u32, b: u32| 0.75 * light(16 * a) + 0.25 * light(16 * b);
    let first = 0.75 * between(0, 3) + 0.25 * between(12, 15);
    let found = light(albedo(&world.bake()[0])[0]);
    assert!((found - first).abs() < 0.01 * first, "{found} {first}");
}

#[test]
fn voids_have_no_height_but_a_look() {
    let mut world = World::flat();
    world.params.samples_shift = 1;
    let at = world.params.samples_at as usize + (9 + 1) * SAMPLE_WORDS;
    world.inputs[at] = VOID as u32;
    let texels = world.bake();
    let voids = texels.iter().filter(|t| t[2] as i32 == VOID).count();
    // Six triangles touch a sample of the main diagonal; a cell has four texels, of which those on the diagonal count to
    // triangle 0: two cells are cut along it with all (4), the four others give what lies in one triangle (3 or 1 each).
    assert_eq!(voids, 4 + 4 + (3 + 1));
    assert!(texels.iter().all(|t| albedo(t) == [200, 100, 50]));
}

#[test]
fn the_normal_of_a_slope_and_of_detail_on_it() {
    let mut world = World::flat();
    // A detail that rises one in one along u, which is x: −45° as a normal.
    world.texture(0, &[0], &[u32::from_le_bytes([192, 128, 0, 0])]);
    let code = |t: &[u32; TEXEL_WORDS]| [t[1] & 255, t[1] >> 8 & 255];
    assert_eq!(code(&world.bake()[0]), [128 - 90, 128]);
    world.row_mut(0)[row::NORMAL] = 0;
    assert_eq!(code(&world.bake()[0]), [128, 128]);
    // Ground that leans by 30° along z.
    for i in 0..81 {
        world.inputs[world.params.samples_at as usize + 3 * i + 1] = 128 | (128 + 64) << 8;
    }
    assert_eq!(code(&world.bake()[0]), [128, 192]);
}

#[test]
fn a_strip_covers_fades_and_ends() {
    let mut world = World::flat();
    world.texture(1, &[0x00FF_FFFF], &[0x8080]);
    world.params.pieces = 1;
    let mut p = [0; PIECE_WORDS];
    // From the centre of texel (0, 4) to that of (3, 4): one texel to either side wholly, gone at two.
    p[piece::FROM] = 4;
    p[piece::FROM + 1] = 36;
    p[piece::ALONG] = 24;
    p[piece::LENGTH] = 24 * 16;
    p[piece::OUTER] = 64;
    p[piece::FADE] = 32;
    p[piece::LAYER] = 1;
    world.inputs.extend(p);
    world.row_mut(0)[row::CONTRAST] = 65_535;
    world.row_mut(1)[row::CONTRAST] = 65_535;
    let red: Vec<u32> = world.bake().iter().map(|t| albedo(t)[0]).collect();
    let at = |x: usize, z: usize| red[z * 8 + x];
    assert_eq!([at(0, 4), at(3, 4), at(2, 5), at(4, 4)], [255; 4]);
    assert_eq!([at(0, 6), at(5, 4), at(7, 7), at(0, 0)], [200; 4]);
    // √2 texels from the end: 15 − 32 of 16 steps are left, so it is between.
    assert!((201..255).contains(&at(4, 5)), "{}", at(4, 5));
}

/// A page over random textures, weights, slopes and overlays.
fn random_world(seed: u64) -> World {
    let mut random = Random(seed);
    let mut world = World::flat();
    for id in 0..7 {
        let bits = random.below(5);
        let n = 1usize << (2 * bits);
        let byte = |random: &mut Random, from: u32| from + random.below(256 - from);
        let colours: Vec<u32> =
            (0..n).map(|_| u32::from_le_bytes([0; 4].map(|_: u8| byte(&mut random, 90) as u8))).collect();
        let surfaces: Vec<u32> = (0..n)
            .map(|_| {
                let slope = |random: &mut Random| (128 - 30 + random.below(61)) as u8;
                u32::from_le_bytes([
                    slope(&mut random),
                    slope(&mut random),
                    random.next() as u8,
                    random.next() as u8,
                ])
            })
            .collect();
        world.texture(id, &colours, &surfaces);
        let metal = world.surfaces.len() as u32;
        if id % 2 == 0 {
            world.surfaces.extend((0..n.div_ceil(4)).map(|_| random.next()));
        }
        let mut values = [0; ROW_WORDS];
        values.iter_mut().for_each(|v| *v = random.next());
        let r = world.row_mut(id);
        r[row::METAL] = if id % 2 == 0 { metal } else { u32::MAX };
        (r[row::STEP], r[row::STEP_UP]) = (values[0] >> 5, values[1] >> 8);
        (0..3).for_each(|c| r[row::TINT + c] = 2500 + values[2 + c] % 2000);
        r[row::CONTRAST] = (20_000 + values[5] % 45_000) | (values[6] % 400) << 16;
        r[row::NORMAL] = (values[7] % 400) | (values[8] & 255) << 16;
        r[row::FLAGS] = values[9] & 3;
        (0..3).for_each(|c| r[row::HEX + c] = values[10 + c] >> 14);
    }
    let p = world.params;
    for i in 0..64 {
        let texel = [random.below(8), random.below(7), random.below(256)];
        world.weight(i % 8, i / 8, if texel[0] == 7 { [35, 1, texel[2]] } else { texel });
    }
    for i in 0..81 {
        let at = p.samples_at as usize + SAMPLE_WORDS * i;
        world.inputs[at] = (random.below(4000) as i32 - 2000) as u32;
        world.inputs[at + 1] = (48 + random.below(161)) | (48 + random.below(161)) << 8;
        world.inputs[at + 2] = random.next() & 0x003F_3F3F | 0x0060_6060;
        if random.below(40) == 0 {
            world.inputs[at] = VOID as u32;
        }
    }
    let p = &mut world.params;
    p.mip = random.below(6);
    p.kept = if seed.is_multiple_of(3) { 2 } else { 4 };
    p.flags = random.below(4);
    (p.samples_shift, p.weights_shift) = (random.below(6), random.below(6));
    p.first = [random.below(90) as i32 - 40, random.below(90) as i32 - 40];
    p.samples_first = [random.below(5) as i32 - 2, random.below(5) as i32 - 2];
    p.weights_first = [random.below(5) as i32 - 2, random.below(5) as i32 - 2];
    p.diagonal = random.below(3);
    p.side = 24;
    (p.variation, p.variation_step) = (random.below(100), random.next() >> 12);
    (p.steep_start, p.steep_span) = (13_000 + random.below(3000), 2000 + random.below(3000));
    p.pieces = random.below(3);
    for _ in 0..p.pieces {
        let shift = random.below(3);
        let (ax, az) = (random.below(200) as i32 - 100, random.below(200) as i32 - 100);
        let length = ((ax * ax + az * az) as u32 * 256).isqrt().max(1);
        let from = [0, 1].map(|_| random.below(400).wrapping_sub(100));
        let piece = [from[0], from[1], ax as u32, az as u32, length, 700, 500, random.below(7), shift, 0];
        world.inputs.extend(piece);
    }
    world
}

#[test]
fn the_twin_is_within_a_few_steps_of_the_rule_in_plain_numbers() {
    let (mut sums, mut most, mut count, mut left_out) = ([0.0; 8], [0.0f64; 8], 0.0, 0.0);
    for seed in 0..60 {
        let world = random_world(seed);
        let texels = world.bake();
        for (i, t) in texels.iter().enumerate() {
            let side = world.params.side as i32;
            let (x, z) = (world.params.first[0] + i as i32 % side, world.params.first[1] + i as i32 / side);
            let plain = world.plain(x, z);
            let found = [
                (t[0], plain.albedo[0]),
                (t[0] >> 8, plain.albedo[1]),
                (t[0] >> 16, plain.albedo[2]),
                (t[0] >> 24, plain.roughness),
                (t[1], plain.normal[0]),
                (t[1] >> 8, plain.normal[1]),
                (t[1] >> 16, plain.occlusion),
                (t[1] >> 24, plain.metallic),
            ];
            let height = (t[2] as i32 != VOID).then(|| f64::from(t[2] as i32) / 64.0);
            assert_eq!(height, plain.height, "seed {seed} texel {x} {z}");
            count += 1.0;
            if plain.close {
                left_out += 1.0;
                continue;
            }
            for (n, (found, plain)) in found.into_iter().enumerate() {
                let off = (f64::from(found & 255) - plain).abs();
                (sums[n], most[n]) = (sums[n] + off, most[n].max(off));
            }
        }
    }
    let means = sums.map(|s| s / (count - left_out));
    assert!(left_out < 0.08 * count, "{left_out} of {count}");
    println!("off by {means:.2?} on average, {most:.1?} at most");
    // Rounding to whole codes alone is ¼ on average. Textures are white noise, so that eight bits of fraction show most.
    assert!(means.iter().all(|&m| m < 0.4), "{means:?}");
    let colour_and_normal = [0, 1, 2, 4, 5].map(|i| most[i]);
    assert!(colour_and_normal.iter().all(|&m| m < 6.0), "{most:?}");
    assert!(most.iter().all(|&m| m < MOST_OFF), "{most:?}");
}

/// How far any 8-bit value may be off the rule in plain numbers.
const MOST_OFF: f64 = 10.0;

#[test]
fn a_texel_depends_on_its_place_and_not_on_its_page() {
    let mut world = random_world(77);
    let whole = world.bake();
    let (first, side) = (world.params.first, world.params.side as usize);
    world.params.side = 7;
    for (dx, dz) in [(0, 0), (5, 3), (17, 17)] {
        world.params.first = [first[0] + dx as i32, first[1] + dz as i32];
        for (i, t) in world.bake().iter().enumerate() {
            assert_eq!(*t, whole[(dz + i / 7) * side + dx + i % 7]);
        }
    }
}
