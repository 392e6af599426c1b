//!include linear
// Pages: one square of the world's surface, a texel an invocation. The twin of terrain/src/kernel/page.rs, which states
// the rule and what every word means; both give the same words.
//
// Needs: 128 invocations a group, four storage buffers, 104 bytes of immediates.

struct Page {
    first_x: i32,
    first_z: i32,
    side: u32,
    mip: u32,
    kept: u32,
    flags: u32,
    weights_at: u32,
    weights_x: i32,
    weights_z: i32,
    weights_width: u32,
    weights_height: u32,
    weights_shift: u32,
    samples_at: u32,
    samples_x: i32,
    samples_z: i32,
    samples_width: u32,
    samples_height: u32,
    samples_shift: u32,
    diagonal: u32,
    pieces_at: u32,
    pieces: u32,
    layers_at: u32,
    variation: u32,
    variation_step: u32,
    steep_start: u32,
    steep_span: u32,
}

var<immediate> page: Page;
@group(0) @binding(0) var<storage, read> colours: array<u32>;
@group(0) @binding(1) var<storage, read> surfaces: array<u32>;
@group(0) @binding(2) var<storage, read> inputs: array<u32>;
@group(0) @binding(3) var<storage, read_write> texels: array<u32>;

const TEXEL_WORDS: u32 = 3u;
const SAMPLE_WORDS: u32 = 3u;
const PIECE_WORDS: u32 = 10u;
const ROW_WORDS: u32 = 16u;
const CODES_AT: u32 = 256u;
const LAYERS: u32 = 32u;
const PAGE_HEX: u32 = 1u;
const PAGE_MACRO: u32 = 2u;
const LAYER_TRIPLANAR: u32 = 1u;
const LAYER_HEX: u32 = 2u;
const ALONG_X: u32 = 4u;
const ALONG_Z: u32 = 5u;
const CHECKERBOARD: u32 = 2u;
const PCG_FACTOR: u32 = 747796405u;
const PCG_STEP: u32 = 2891336453u;
const PCG_MIX: u32 = 277803737u;
// The number of cells before a noise repeats, less one.
const CELLS: u32 = 4095u;
const NOISE: u32 = 255u;
const Q14: i32 = 16384;
const LIGHT: u32 = 65535u;

fn pcg(v: u32) -> u32 {
    let state = v * PCG_FACTOR + PCG_STEP;
    let word = ((state >> ((state >> 28u) + 4u)) ^ state) * PCG_MIX;
    return (word >> 22u) ^ word;
}

// The whole part of a root.
fn root(v: u32) -> u32 {
    var rest = v;
    var found = 0u;
    for (var bit = 1u << 30u; bit != 0u; bit >>= 2u) {
        let next = found + bit;
        found >>= 1u;
        if rest >= next {
            rest -= next;
            found += bit;
        }
    }
    return found;
}

fn is_void(q: i32) -> bool {
    return bitcast<u32>(q) == 0x80000000u;
}

struct Ground {
    height: i32,
    normal: vec3<i32>,
    tint: vec3<u32>,
}

// The height on a cell's triangle in 1/64 quantum.
fn height(q00: i32, q10: i32, q01: i32, q11: i32, f: vec2<i32>, anti: bool) -> i32 {
    let one = 2i << page.samples_shift;
    var corner = q00;
    var x_from = q00;
    var x_to = q10;
    var z_from = q00;
    var z_to = q01;
    var part = f;
    if anti {
        if f.x + f.y > one {
            corner = q11;
            x_from = q11;
            x_to = q01;
            z_from = q11;
            z_to = q10;
            part = vec2<i32>(one, one) - f;
        }
    } else if f.x >= f.y {
        z_from = q10;
        z_to = q11;
    } else {
        x_from = q01;
        x_to = q11;
    }
    if is_void(corner) || is_void(x_from) || is_void(x_to) || is_void(z_from) || is_void(z_to) {
        return bitcast<i32>(0x80000000u);
    }
    let up = 1i << (5u - page.samples_shift);
    return (corner << 6u) + (x_to - x_from) * (part.x * up) + (z_to - z_from) * (part.y * up);
}

// Cell and part of it along an axis; beyond the samples their edge.
fn cell(half_texel: i32, first: i32, size: u32) -> vec2<i32> {
    let bits = page.samples_shift + 1u;
    let at = half_texel >> bits;
    let last = first + i32(size) - 2i;
    if at < first {
        return vec2<i32>(first, 0i);
    }
    if at > last {
        return vec2<i32>(last, 1i << bits);
    }
    return vec2<i32>(at, half_texel & ((1i << bits) - 1i));
}

// A byte of the samples around, in 8.8.
fn mixed(at: u32, shift: u32, f: vec2<u32>) -> u32 {
    let below = at + SAMPLE_WORDS * page.samples_width;
    let a = (inputs[at] >> shift) & 255u;
    let b = (inputs[at + SAMPLE_WORDS] >> shift) & 255u;
    let c = (inputs[below] >> shift) & 255u;
    let d = (inputs[below + SAMPLE_WORDS] >> shift) & 255u;
    let upper = a * (256u - f.x) + b * f.x;
    let lower = c * (256u - f.x) + d * f.x;
    return (upper * (256u - f.y) + lower * f.y) >> 8u;
}

fn normal_part(code: u32) -> i32 {
    return ((i32(code) - 32768i) * 129i + 128i) >> 8u;
}

fn ground_at(half_texel: vec2<i32>) -> Ground {
    let x = cell(half_texel.x, page.samples_x, page.samples_width);
    let z = cell(half_texel.y, page.samples_z, page.samples_height);
    let row = u32(z.x - page.samples_z) * page.samples_width;
    let at = page.samples_at + SAMPLE_WORDS * (row + u32(x.x - page.samples_x));
    let below = at + SAMPLE_WORDS * page.samples_width;
    var anti = page.diagonal == 1u;
    if page.diagonal == CHECKERBOARD {
        anti = ((x.x ^ z.x) & 1i) == 0i;
    }
    var ground: Ground;
    ground.height = height(
        bitcast<i32>(inputs[at]),
        bitcast<i32>(inputs[at + SAMPLE_WORDS]),
        bitcast<i32>(inputs[below]),
        bitcast<i32>(inputs[below + SAMPLE_WORDS]),
        vec2<i32>(x.y, z.y),
        anti,
    );
    let f = vec2<u32>(u32(x.y), u32(z.y)) << vec2<u32>(7u - page.samples_shift);
    let nx = normal_part(mixed(at + 1u, 0u, f));
    let nz = normal_part(mixed(at + 1u, 8u, f));
    let up = root(u32(max(Q14 * Q14 - nx * nx - nz * nz, 0i)));
    ground.normal = vec3<i32>(nx, i32(up), nz);
    ground.tint = vec3<u32>(32768u, 32768u, 32768u);
    if (page.flags & PAGE_MACRO) != 0u {
        ground.tint = vec3<u32>(mixed(at + 2u, 0u, f), mixed(at + 2u, 8u, f), mixed(at + 2u, 16u, f));
    }
    return ground;
}

// How much of a piece of an overlay lies over a place in eighths of a texel, of 255.
fn alpha(piece: u32, place: vec2<i32>) -> u32 {
    let shift = inputs[piece + 8u];
    var x = (place.x - bitcast<i32>(inputs[piece])) >> shift;
    var z = (place.y - bitcast<i32>(inputs[piece + 1u])) >> shift;
    // Beyond these nothing reaches, and everything below fits.
    if max(x, z) > 8191i || min(x, z) < -8191i {
        return 0u;
    }
    let ax = bitcast<i32>(inputs[piece + 2u]);
    let az = bitcast<i32>(inputs[piece + 3u]);
    let along = x * ax + z * az;
    var distance: u32;
    if along > 0i && along < ax * ax + az * az {
        distance = 64u * u32(abs(x * az - z * ax)) / inputs[piece + 4u];
    } else {
        if along > 0i {
            x -= ax;
            z -= az;
        }
        distance = 2u * root(u32(4i * (x * x + z * z)));
    }
    let outer = inputs[piece + 5u];
    let fade = inputs[piece + 6u];
    if distance >= outer {
        return 0u;
    }
    return (min(outer - distance, fade) * 255u + fade / 2u) / fade;
}

// The layer and the alpha of what lies over a texel.
fn overlay(texel: vec2<i32>) -> vec2<u32> {
    var found = vec2<u32>(0u, 0u);
    for (var i = 0u; i < page.pieces; i++) {
        let piece = page.pieces_at + i * PIECE_WORDS;
        let own = alpha(piece, texel * 8i + vec2<i32>(4i, 4i));
        if own > 0u && own >= found.y {
            found = vec2<u32>(inputs[piece + 7u] & 31u, own);
        }
    }
    return found;
}

struct Layers {
    count: u32,
    ids: array<u32, 4>,
    masses: array<u32, 4>,
}

// The strongest layers with their masses, in order.
fn layers_at(texel: vec2<i32>, half_texel: vec2<i32>) -> Layers {
    let g = page.weights_shift;
    let at = half_texel - vec2<i32>(1i << g, 1i << g);
    let first = vec2<i32>(at.x >> (g + 1u), at.y >> (g + 1u)) - vec2<i32>(page.weights_x, page.weights_z);
    let low = (2i << g) - 1i;
    let part = vec2<u32>(u32(at.x & low), u32(at.y & low)) << vec2<u32>(7u - g);
    let last = vec2<i32>(i32(page.weights_width), i32(page.weights_height)) - vec2<i32>(1i, 1i);
    let over = overlay(texel);

    // Two layers a weight texel, and one over them. 32 − id, so that of two equal masses the smaller id has the larger key; 0 is no layer.
    var rank: array<u32, 9>;
    var mass: array<u32, 9>;
    for (var tap = 0u; tap < 4u; tap++) {
        let right = tap & 1u;
        let down = tap >> 1u;
        let x = clamp(first.x + i32(right), 0i, last.x);
        let z = clamp(first.y + i32(down), 0i, last.y);
        let word = inputs[page.weights_at + u32(z) * page.weights_width + u32(x)];
        let wx = select(256u - part.x, part.x, right == 1u);
        let wz = select(256u - part.y, part.y, down == 1u);
        let ratio = (word >> 16u) & 255u;
        let id1 = word & 255u;
        let id2 = (word >> 8u) & 255u;
        rank[tap * 2u] = select(0u, 32u - id1, id1 < LAYERS);
        mass[tap * 2u] = (255u - ratio) * wx * wz;
        rank[tap * 2u + 1u] = select(0u, 32u - id2, id2 < LAYERS);
        mass[tap * 2u + 1u] = ratio * wx * wz;
    }
    rank[8] = 0u;
    mass[8] = 0u;

    var keys = array<u32, 4>(0u, 0u, 0u, 0u);
    for (var a = 0u; a < 9u; a++) {
        if a == 8u && over.y > 0u {
            rank[8] = 32u - over.x;
        }
        var total = 0u;
        var seen = rank[a] == 0u;
        for (var b = 0u; b < 9u; b++) {
            if rank[b] == rank[a] {
                total += mass[b];
                seen = seen || b < a;
            }
        }
        // What lies over takes from each layer's total, and adds to its own.
        total = total * (255u - over.y) / 255u;
        let of_over = 32u - over.x;
        if over.y > 0u && rank[a] == of_over {
            total += over.y << 16u;
        }
        var key = (total << 5u) | (rank[a] - 1u);
        if seen {
            key = 0u;
        }
        for (var k = 0u; k < 4u; k++) {
            if key > keys[k] {
                let other = keys[k];
                keys[k] = key;
                key = other;
            }
        }
    }
    var layers: Layers;
    layers.count = 0u;
    for (var k = 0u; k < page.kept; k++) {
        if (keys[k] >> 13u) > 0u {
            layers.ids[layers.count] = 31u - (keys[k] & 31u);
            layers.masses[layers.count] = keys[k] >> 13u;
            layers.count += 1u;
        }
    }
    if layers.count == 0u {
        layers.count = 1u;
        layers.ids[0] = 0u;
        layers.masses[0] = 1u;
    }
    return layers;
}

struct Look {
    light: vec3<u32>,
    slope: vec3<i32>,
    // Height, roughness, occlusion, metallic.
    rest: vec4<u32>,
}

fn metal_byte(start: u32, at: u32) -> u32 {
    return (surfaces[start + (at >> 2u)] >> ((at & 3u) * 8u)) & 255u;
}

// Adds one bilinear lookup of a layer. Ways 0 to 3 are from above, turned by quarters.
fn sample(look: ptr<function, Look>, row: u32, u: u32, v: u32, weight: u32, way: u32) {
    if weight == 0u {
        return;
    }
    let bits = inputs[row + 3u];
    let mask = (1u << bits) - 1u;
    let half_texel = 1u << (31u - bits);
    let cu = (u - half_texel) >> (24u - bits);
    let cv = (v - half_texel) >> (24u - bits);
    let fu = cu & 255u;
    let fv = cv & 255u;
    let last = (fu * fv + 128u) >> 8u;
    let metal = inputs[row + 2u];
    var light = vec3<u32>(0u, 0u, 0u);
    var even = 0u;
    var odd = 0u;
    var height = 0u;
    var metals = 0u;
    for (var tap = 0u; tap < 4u; tap++) {
        let right = tap & 1u;
        let down = tap >> 1u;
        let at = ((((cv >> 8u) + down) & mask) << bits) + (((cu >> 8u) + right) & mask);
        var w = last;
        if tap == 0u {
            w = 256u - fu - fv + last;
        } else if tap == 1u {
            w = fu - last;
        } else if tap == 2u {
            w = fv - last;
        }
        let colour = colours[inputs[row] + at];
        let surface = surfaces[inputs[row + 1u] + at];
        light += w * vec3<u32>(
            colours[colour & 255u],
            colours[(colour >> 8u) & 255u],
            colours[(colour >> 16u) & 255u],
        );
        height += (colour >> 24u) * w;
        even += (surface & 0x00ff00ffu) * w;
        odd += ((surface >> 8u) & 0x00ff00ffu) * w;
        if metal != 0xffffffffu {
            metals += metal_byte(metal, at) * w;
        }
    }
    if metal == 0xffffffffu {
        metals = (inputs[row + 10u] >> 16u) << 8u;
    }
    (*look).light += ((light + vec3<u32>(128u)) >> vec3<u32>(8u)) * weight;
    (*look).rest += vec4<u32>(height, even >> 16u, odd >> 16u, metals) * weight;
    let su = (i32(even & 0xffffu) - 32768i) * i32(weight);
    let sv = (i32(odd & 0xffffu) - 32768i) * i32(weight);
    var slope = vec3<i32>(su, 0i, sv);
    if way == 1u {
        slope = vec3<i32>(sv, 0i, -su);
    } else if way == 2u {
        slope = vec3<i32>(-su, 0i, -sv);
    } else if way == 3u {
        slope = vec3<i32>(-sv, 0i, su);
    } else if way == ALONG_X {
        slope = vec3<i32>(0i, -sv, su);
    } else if way == ALONG_Z {
        slope = vec3<i32>(su, -sv, 0i);
    }
    (*look).slope += slope;
}

fn seventh(w: u32) -> u32 {
    let square = w * w;
    let fourth = ((square >> 1u) * (square >> 1u)) >> 14u;
    return ((((fourth >> 1u) * (square >> 1u)) >> 14u) * w) >> 8u;
}

fn noise_point(s: u32, t: u32, kind: u32) -> u32 {
    return pcg((s & CELLS) | ((t & CELLS) << 12u) | (kind << 24u));
}

// Three lookups around a place on the grid of triangles.
fn hex(look: ptr<function, Look>, row: u32, id: u32, place: vec2<u32>, u: u32, v: u32, weight: u32) {
    let s = place.x * inputs[row + 12u] + place.y * inputs[row + 13u];
    let t = place.y * inputs[row + 14u];
    let fs = (s >> 12u) & 255u;
    let ft = (t >> 12u) & 255u;
    var upper = 0u;
    var parts = vec3<u32>(256u - fs - ft, ft, fs);
    if fs + ft >= 256u {
        upper = 1u;
        parts = vec3<u32>(fs + ft - 256u, 256u - ft, 256u - fs);
    }
    let powers = vec3<u32>(seventh(parts.x), seventh(parts.y), seventh(parts.z));
    var weights = powers * weight / vec3<u32>(powers.x + powers.y + powers.z);
    weights.x = weight - weights.y - weights.z;
    for (var n = 0u; n < 3u; n++) {
        var own = weights.x;
        var ds = upper;
        var dt = upper;
        if n == 1u {
            own = weights.y;
            dt = 1u - upper;
        } else if n == 2u {
            own = weights.z;
            ds = 1u - upper;
        }
        let a = noise_point((s >> 20u) + ds, (t >> 20u) + dt, id);
        let b = pcg(a);
        let turn = (a ^ b) >> 30u;
        var tu = u;
        var tv = v;
        if turn == 1u {
            tu = 0u - v;
            tv = u;
        } else if turn == 2u {
            tu = 0u - u;
            tv = 0u - v;
        } else if turn == 3u {
            tu = v;
            tv = 0u - u;
        }
        sample(look, row, tu + a, tv + b, own, turn);
    }
}

// All lookups of a layer.
fn look_at(id: u32, place: vec2<u32>, height_in: i32, steep: vec3<u32>) -> Look {
    let row = page.layers_at + id * ROW_WORDS;
    let flags = inputs[row + 11u];
    var shares = steep;
    if (flags & LAYER_TRIPLANAR) == 0u {
        shares = vec3<u32>(0u, 0u, 0u);
    }
    let planar = 256u - shares.x - shares.y - shares.z;
    let u = place.x * inputs[row + 4u];
    let v = place.y * inputs[row + 4u];
    var look: Look;
    let hexed = (flags & LAYER_HEX) != 0u && (page.flags & PAGE_HEX) != 0u;
    var plain = planar + shares.y;
    if hexed {
        plain = shares.y;
        if planar > 0u {
            hex(&look, row, id, place, u, v, planar);
        }
    }
    sample(&look, row, u, v, plain, 0u);
    var height = height_in;
    if is_void(height_in) {
        height = 0i;
    }
    let down = 0u - bitcast<u32>(height) * inputs[row + 5u];
    sample(&look, row, v, down, shares.x, ALONG_X);
    sample(&look, row, u, down, shares.z, ALONG_Z);
    look.light = (look.light + vec3<u32>(128u)) >> vec3<u32>(8u);
    look.rest = (look.rest + vec4<u32>(128u)) >> vec4<u32>(8u);
    look.slope = (look.slope + vec3<i32>(128i)) >> vec3<u32>(8u);
    return look;
}

// How much of a place is looked at along x, y and z, of 256.
fn steepness(normal: vec3<i32>) -> vec3<u32> {
    let below = i32(page.steep_start) - normal.y;
    if below <= 0i {
        return vec3<u32>(0u, 0u, 0u);
    }
    let steep = min(256u * u32(below) / page.steep_span, 256u);
    let square = vec3<u32>(normal * normal) >> vec3<u32>(14u);
    let fourth = (square * square) >> vec3<u32>(14u);
    let sum = max(fourth.x + fourth.y + fourth.z, 1u);
    let x = fourth.x * steep / sum;
    let z = fourth.z * steep / sum;
    return vec3<u32>(x, steep - x - z, z);
}

// Light with the variation and the macro colour on it.
fn vary(light_in: vec3<u32>, place: vec2<u32>, tint: vec3<u32>) -> vec3<u32> {
    var light = light_in;
    if page.variation > 0u {
        let s = place.x * page.variation_step;
        let t = place.y * page.variation_step;
        let f = vec2<u32>((s >> 12u) & 255u, (t >> 12u) & 255u);
        let fade = (f * f * (vec2<u32>(768u) - 2u * f)) >> vec2<u32>(16u);
        let last = (fade.x * fade.y + 128u) >> 8u;
        let i = s >> 20u;
        let j = t >> 20u;
        var both = (noise_point(i, j, NOISE) & 0x00ff00ffu) * (256u - fade.x - fade.y + last);
        both += (noise_point(i + 1u, j, NOISE) & 0x00ff00ffu) * (fade.x - last);
        both += (noise_point(i, j + 1u, NOISE) & 0x00ff00ffu) * (fade.y - last);
        both += (noise_point(i + 1u, j + 1u, NOISE) & 0x00ff00ffu) * last;
        let bright = i32(both & 0xffffu) - 32640i;
        let warm = (i32(both >> 16u) - 32640i) >> 1u;
        let change = vec3<i32>(bright + warm, bright, bright - ((i32(both >> 16u) - 32640i) >> 1u));
        let factor = vec3<u32>(vec3<i32>(4096i) + ((change * i32(page.variation)) >> vec3<u32>(11u)));
        light = min((light * factor) >> vec3<u32>(12u), vec3<u32>(LIGHT));
    }
    return min((light * tint + vec3<u32>(16384u)) >> vec3<u32>(15u), vec3<u32>(LIGHT));
}

fn code(light: u32) -> u32 {
    return (colours[CODES_AT + (light >> 2u)] >> ((light & 3u) * 8u)) & 255u;
}

fn normal_code(v: i32, part: u32, inverse: u32) -> u32 {
    let size = (127u * ((part * inverse) >> 15u) + 32768u) >> 16u;
    return select(128u + size, 128u - size, v < 0i);
}

// The codes of a normal (Q14) bent by a gradient (Q12).
fn detail(normal: vec3<i32>, slope: vec3<i32>) -> vec2<u32> {
    let dot = (normal.x * slope.x + normal.y * slope.y + normal.z * slope.z) >> 12u;
    var bent = normal + ((normal * dot) >> vec3<u32>(14u)) - 4i * slope;
    bent.y = max(bent.y, 0i);
    var parts = vec3<u32>(abs(bent));
    let digits = 32u - countLeadingZeros(parts.x | parts.y | parts.z | 1u);
    if digits <= 15u {
        parts = parts << vec3<u32>(15u - digits);
    } else {
        parts = parts >> vec3<u32>(digits - 15u);
    }
    let length = max(root(parts.x * parts.x + parts.y * parts.y + parts.z * parts.z), 1u);
    let inverse = 0x80000000u / length;
    return vec2<u32>(normal_code(bent.x, parts.x, inverse), normal_code(bent.z, parts.z, inverse));
}

// Shares of the layers, 4096 in all.
fn shares_of(layers: Layers, looks: ptr<function, array<Look, 4>>) -> array<u32, 4> {
    var shares = array<u32, 4>(4096u, 0u, 0u, 0u);
    var sum = 0u;
    for (var i = 0u; i < layers.count; i++) {
        sum += layers.masses[i];
    }
    var weights: array<u32, 4>;
    var scores: array<u32, 4>;
    var top = 0u;
    for (var i = 0u; i < layers.count; i++) {
        weights[i] = (layers.masses[i] * LIGHT + sum / 2u) / sum;
        let own = (*looks)[i].rest.x;
        let gain = inputs[page.layers_at + layers.ids[i] * ROW_WORDS + 9u] >> 16u;
        scores[i] = weights[i] + (((own + (own >> 8u)) * gain) >> 8u);
        top = max(top, scores[i]);
    }
    var blends: array<u32, 4>;
    sum = 0u;
    for (var i = 0u; i < layers.count; i++) {
        let contrast = inputs[page.layers_at + layers.ids[i] * ROW_WORDS + 9u] & 0xffffu;
        let reached = max(scores[i] + contrast, top) - top;
        blends[i] = min(reached, 8u * weights[i]);
        sum += blends[i];
    }
    for (var i = 1u; i < layers.count; i++) {
        shares[i] = min((blends[i] * 4096u + sum / 2u) / sum, shares[0]);
        shares[0] -= shares[i];
    }
    return shares;
}

fn byte(v: u32) -> u32 {
    return ((v >> 12u) + 128u) >> 8u;
}

@compute @workgroup_size(128)
fn bake(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let id = linear_invocation(group, local);
    if id >= page.side * page.side {
        return;
    }
    let texel = vec2<i32>(page.first_x + i32(id % page.side), page.first_z + i32(id / page.side));
    let half_texel = texel * 2i + vec2<i32>(1i, 1i);
    let ground = ground_at(half_texel);
    let layers = layers_at(texel, half_texel);
    let place = vec2<u32>(bitcast<u32>(half_texel.x) << page.mip, bitcast<u32>(half_texel.y) << page.mip);
    let steep = steepness(ground.normal);
    var looks: array<Look, 4>;
    for (var i = 0u; i < layers.count; i++) {
        looks[i] = look_at(layers.ids[i], place, ground.height, steep);
    }
    let shares = shares_of(layers, &looks);
    var light = vec3<u32>(0u, 0u, 0u);
    var slope = vec3<i32>(0i, 0i, 0i);
    var rest = vec4<u32>(0u, 0u, 0u, 0u);
    for (var i = 0u; i < layers.count; i++) {
        let row = page.layers_at + layers.ids[i] * ROW_WORDS;
        let tint = vec3<u32>(inputs[row + 6u], inputs[row + 7u], inputs[row + 8u]);
        let tinted = (looks[i].light * tint + vec3<u32>(2048u)) >> vec3<u32>(12u);
        light += shares[i] * min(tinted, vec3<u32>(LIGHT));
        let scaled = (looks[i].slope * i32(inputs[row + 10u] & 0xffffu)) >> vec3<u32>(10u);
        slope += i32(shares[i]) * clamp(scaled, vec3<i32>(-Q14), vec3<i32>(Q14));
        rest += shares[i] * looks[i].rest;
    }
    light = vary(light >> vec3<u32>(12u), place, ground.tint);
    let normal = detail(ground.normal, slope >> vec3<u32>(12u));
    let out = id * TEXEL_WORDS;
    texels[out] = code(light.x) | (code(light.y) << 8u) | (code(light.z) << 16u) | (byte(rest.y) << 24u);
    texels[out + 1u] = normal.x | (normal.y << 8u) | (byte(rest.z) << 16u) | (byte(rest.w) << 24u);
    texels[out + 2u] = bitcast<u32>(ground.height);
}
