//!include linear
//!include normal
//!include wide
// Scatter: the accepted points of a jittered grid and the instances on them. The twin of terrain/src/kernel/scatter.rs,
// which states the rule and every form.
//
// Needs: 128 invocations a group, three storage buffers, 112 bytes of immediates.

struct Window {
    points_x: u32,
    points_z: u32,
    first_x: u32,
    first_z: u32,
    corner_x: i32,
    corner_z: i32,
    spacing: u32,
    jitter: u32,
    seed: u32,
    kind: u32,
    cells_x: u32,
    cells_z: u32,
    diagonal: u32,
    parity: u32,
    spacing_256: u32,
    d: u32,
    p: u32,
    texels: u32,
    lowest: i32,
    highest: i32,
    steepest: u32,
    fading: u32,
    scale_least: u32,
    scale_range: u32,
    in_water: u32,
    // Lattice units a cell, samples a row of heights, cells.
    side: u32,
    stride: u32,
    cell_count: u32,
}

var<immediate> win: Window;
@group(0) @binding(0) var<storage, read> heights: array<u32>;
@group(0) @binding(1) var<storage, read> cells: array<u32>;
@group(0) @binding(2) var<storage, read_write> accepted: array<u32>;

@group(0) @binding(1) var<storage, read> before: array<u32>;
@group(0) @binding(2) var<storage, read_write> instances: array<u32>;

const INSTANCE_WORDS: u32 = 6u;
const FLIP: u32 = 0x80000000u;
const MULTIPLIER: u32 = 1664525u;
const INCREMENT: u32 = 1013904223u;
// The growth at which every point of a full fade is accepted.
const CERTAIN: u32 = 255u;
const FADE_BITS: u32 = 15u;
const HEIGHT_BITS: u32 = 6u;

fn mixed(v: vec4<u32>) -> vec4<u32> {
    var m = v;
    m.x += m.y * m.w;
    m.y += m.z * m.x;
    m.z += m.x * m.y;
    m.w += m.y * m.z;
    return m;
}

fn hash4(x: u32, z: u32, flip: u32) -> vec4<u32> {
    var v = vec4<u32>(win.first_x + x, win.first_z + z, win.seed, win.kind ^ flip) * MULTIPLIER + INCREMENT;
    v = mixed(v);
    v ^= v >> vec4<u32>(16u);
    return mixed(v);
}

fn high(a: u32, b: u32) -> u32 {
    return wide_mul(a, b).y;
}

// Where a point stands: in the lattice from the window's corner, in which cell, where in it, on which triangle.
struct Stand {
    there: bool,
    position: vec2<u32>,
    cell: vec2<u32>,
    within: vec2<u32>,
    anti: bool,
    one: bool,
}

// The place of a point along an axis; one that is not within 0 to 2^32 is far outside.
fn place(corner: i32, number: u32, hashed: u32) -> vec2<u32> {
    let offset = (win.spacing - win.jitter) / 2u + high(hashed, win.jitter);
    let from_corner = wide_add(wide_mul(number, win.spacing), vec2<u32>(offset, 0u));
    return wide_add(from_corner, vec2<u32>(u32(corner), select(0u, 0xFFFFFFFFu, corner < 0)));
}

fn stand_of(x: u32, z: u32, hashed: vec4<u32>) -> Stand {
    var stand: Stand;
    let px = place(win.corner_x, x, hashed.y);
    let pz = place(win.corner_z, z, hashed.z);
    stand.position = vec2<u32>(px.x, pz.x);
    stand.cell = stand.position / win.side;
    stand.there = px.y == 0u && pz.y == 0u && stand.cell.x < win.cells_x && stand.cell.y < win.cells_z;
    stand.within = stand.position % win.side;
    stand.anti = win.diagonal == 1u;
    if win.diagonal == 2u {
        stand.anti = ((stand.cell.x ^ stand.cell.y ^ win.parity) & 1u) == 0u;
    }
    let f = stand.within;
    stand.one = select((f.x < f.y), (f.x + f.y > win.side), stand.anti);
    return stand;
}

// The place of a corner's height: corner bits are x and z.
fn sample_of(stand: Stand, corner: u32) -> u32 {
    return (stand.cell.y + (corner >> 1u) + 1u) * win.stride + stand.cell.x + (corner & 1u) + 1u;
}

// How much the corners 00, 10, 01, 11 count: as `Triangle::weights`.
fn weights(stand: Stand) -> vec4<u32> {
    let s = win.side;
    let x = stand.within.x;
    let z = stand.within.y;
    if stand.anti {
        if stand.one {
            return vec4<u32>(0u, s - z, s - x, x + z - s);
        }
        return vec4<u32>(s - x - z, x, z, 0u);
    }
    if stand.one {
        return vec4<u32>(s - z, 0u, z - x, x);
    }
    return vec4<u32>(s - x, x - z, 0u, z);
}

// Values at the corners interpolated on the triangle, times two to the power of up, rounded half up. Relative to the least
// of them nothing is negative, and the quotient of 56 bits by 24 is taken by 16 bits at a time.
fn across(stand: Stand, values: vec4<i32>, up: u32) -> i32 {
    let w = weights(stand);
    var least = 0x7FFFFFFF;
    for (var i = 0u; i < 4u; i++) {
        least = select(least, min(least, values[i]), w[i] != 0u);
    }
    // The half that rounds, in units of two to the power of -up: it divides the side.
    var sum = vec2<u32>(win.side >> (up + 1u), 0u);
    for (var i = 0u; i < 4u; i++) {
        if w[i] != 0u {
            sum = wide_add(sum, wide_mul(u32(values[i]) - u32(least), w[i]));
        }
    }
    if up != 0u {
        sum = vec2<u32>(sum.x << up, (sum.y << up) | (sum.x >> (32u - up)));
    }
    let numerator = wide_shift_right(sum, 8u);
    let d = win.spacing_256;
    let upper = (numerator.y << 16u) | (numerator.x >> 16u);
    let lower = ((upper % d) << 16u) | (numerator.x & 0xFFFFu);
    let quotient = ((upper / d) << 16u) + lower / d;
    return i32((u32(least) << up) + quotient);
}

fn corner_heights(stand: Stand) -> vec4<i32> {
    return vec4<i32>(
        i32(heights[sample_of(stand, 0u)]),
        i32(heights[sample_of(stand, 1u)]),
        i32(heights[sample_of(stand, 2u)]),
        i32(heights[sample_of(stand, 3u)]),
    );
}

// The triangle's rise along one cell of x and of z.
fn gradient(stand: Stand, q: vec4<i32>) -> vec2<i32> {
    if stand.anti {
        return select(vec2<i32>(q.y - q.x, q.z - q.x), vec2<i32>(q.w - q.z, q.w - q.y), stand.one);
    }
    return select(vec2<i32>(q.y - q.x, q.w - q.y), vec2<i32>(q.w - q.z, q.z - q.x), stand.one);
}

fn accepts(stand: Stand, hashed: u32) -> bool {
    let word = cells[stand.cell.y * win.cells_x + stand.cell.x];
    let bit = select(1u, 2u, stand.one);
    if (word & bit) == 0u || (win.in_water == 0u && ((word >> 2u) & bit) != 0u) {
        return false;
    }
    let texel = stand.cell * win.texels + stand.within / (win.side / win.texels);
    let at = texel.y * win.cells_x * win.texels + texel.x;
    let growth = (cells[win.cell_count + at / 4u] >> (8u * (at % 4u))) & 255u;
    if growth == 0u {
        return false;
    }
    let q = corner_heights(stand);
    let rise = gradient(stand, q);
    let cosine = normal_cosine(2 * rise.x, 2 * rise.y, win.d, win.p);
    if cosine < win.steepest {
        return false;
    }
    let fade = ((cosine - win.steepest) << FADE_BITS) / (win.fading - win.steepest);
    if high(hashed, CERTAIN << 16u) >= growth * (min(fade, 1u << FADE_BITS) << 1u) {
        return false;
    }
    let y = across(stand, q, HEIGHT_BITS);
    return y >= win.lowest * (1 << HEIGHT_BITS) && y <= win.highest * (1 << HEIGHT_BITS);
}

@compute @workgroup_size(128)
fn accept(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let id = linear_invocation(group, local);
    let points = win.points_x * win.points_z;
    if id > points {
        return;
    }
    var taken = false;
    if id < points {
        let x = id % win.points_x;
        let z = id / win.points_x;
        let hashed = hash4(x, z, 0u);
        let stand = stand_of(x, z, hashed);
        if stand.there {
            taken = accepts(stand, hashed.x);
        }
    }
    accepted[id] = select(0u, 1u, taken);
}

@compute @workgroup_size(128)
fn emit(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let id = linear_invocation(group, local);
    if id >= win.points_x * win.points_z || before[id] == before[id + 1u] {
        return;
    }
    let x = id % win.points_x;
    let z = id / win.points_x;
    let first = hash4(x, z, 0u);
    let second = hash4(x, z, FLIP);
    let stand = stand_of(x, z, first);
    var slopes_x: vec4<i32>;
    var slopes_z: vec4<i32>;
    for (var i = 0u; i < 4u; i++) {
        let at = sample_of(stand, i);
        let here = heights[at];
        slopes_x[i] = slope2(heights[at - 1u], here, heights[at + 1u]);
        slopes_z[i] = slope2(heights[at - win.stride], here, heights[at + win.stride]);
    }
    let normal = normal_bytes(across(stand, slopes_x, 0u), across(stand, slopes_z, 0u), win.d, win.p);
    let scale = win.scale_least + high(second.x, win.scale_range);
    let to = before[id] * INSTANCE_WORDS;
    instances[to] = stand.position.x;
    instances[to + 1u] = stand.position.y;
    instances[to + 2u] = u32(across(stand, corner_heights(stand), HEIGHT_BITS));
    instances[to + 3u] = (first.w >> 16u) | (scale << 16u);
    instances[to + 4u] = second.y;
    instances[to + 5u] = normal | ((second.z >> 24u) << 16u) | ((second.w >> 24u) << 24u);
}
