//!include linear
//!include wide
//!include distance
// Levels of equal sections, by size on the screen or by projected error, and vertices between levels. The twin of
// terrain/src/kernel/sections.rs, where rules and formats stand.
//
// An invocation takes a section of a view, or a vertex.
//
// Needs: 128 invocations a group, four storage buffers, 48 bytes of immediates.

struct Params {
    across: u32,
    down: u32,
    views: u32,
    quads: u32,
    spacing: u32,
    base: u32,
    coarsest: u32,
    levels: u32,
    scale: u32,
    quantum_log2: u32,
    quad_quanta: u32,
    vertices_log2: u32,
}

var<immediate> params: Params;
// screen and error
@group(0) @binding(0) var<storage, read> sections: array<u32>;
@group(0) @binding(1) var<storage, read> views: array<u32>;
@group(0) @binding(2) var<storage, read_write> levels_out: array<u32>;
@group(0) @binding(2) var<storage, read> errors: array<u32>;
@group(0) @binding(3) var<storage, read_write> chunks: array<u32>;
// edges
@group(0) @binding(0) var<storage, read> levels: array<u32>;
@group(0) @binding(1) var<storage, read_write> roster_out: array<u32>;
// surface
@group(0) @binding(0) var<storage, read> roster: array<u32>;
@group(0) @binding(1) var<storage, read> samples: array<u32>;
@group(0) @binding(2) var<storage, read_write> vertices: array<u32>;

const SECTION_WORDS: u32 = 3u;
const VIEW_WORDS: u32 = 5u;
const ROSTER_WORDS: u32 = 3u;
const FINE_LOG2: u32 = 7u;
const PLACE_LOG2: u32 = 16u;

fn signed_wide(word: u32) -> vec2<u32> {
    return vec2<u32>(word, select(0u, 0xffffffffu, bitcast<i32>(word) < 0));
}

fn square_of_distance(section: u32, view: u32) -> vec2<u32> {
    let at = view * VIEW_WORDS;
    let x = (section % params.across) * params.quads;
    let z = (section / params.across) * params.quads;
    let dx = gap(x, x + params.quads, params.spacing, vec2<u32>(views[at], views[at + 1u]));
    let dz = gap(z, z + params.quads, params.spacing, vec2<u32>(views[at + 2u], views[at + 3u]));
    let y = signed_wide(views[at + 4u]);
    let about = section * SECTION_WORDS;
    let below = distance_at_most(wide_sub(signed_wide(sections[about]), y));
    let above = distance_at_most(wide_sub(y, signed_wide(sections[about + 1u])));
    let dy = max(below, above);
    return wide_add(wide_add(wide_mul(dx, dx), wide_mul(dz, dz)), wide_mul(dy, dy));
}

// Of the root of a square that is not 0, in 2⁻⁷.
fn log2_of_square(square: vec2<u32>) -> u32 {
    var whole = 32u + firstLeadingBit(square.y);
    var mantissa = square.y;
    if square.y == 0u {
        whole = firstLeadingBit(square.x);
        mantissa = square.x << (31u - whole);
    } else if whole < 63u {
        mantissa = (square.y << (63u - whole)) | (square.x >> (whole - 31u));
    }
    var log = whole;
    for (var i = 1u; i < FINE_LOG2; i++) {
        let product = wide_mul(mantissa, mantissa);
        let carried = product.y >> 31u;
        log = (log << 1u) | carried;
        mantissa = select((product.y << 1u) | (product.x >> 31u), product.y, carried == 1u);
    }
    return log;
}

@compute @workgroup_size(128)
fn screen(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let index = linear_invocation(group, local);
    let count = params.across * params.down;
    if index >= count * params.views {
        return;
    }
    let section = index % count;
    var square = square_of_distance(section, index / count);
    if square.x == 0u && square.y == 0u {
        square.x = 1u;
    }
    let log = log2_of_square(square);
    let level = select(0u, log - params.base, log > params.base);
    let finest = sections[section * SECTION_WORDS + 2u] << FINE_LOG2;
    levels_out[index] = min(max(level, finest), params.coarsest << FINE_LOG2);
}

fn coarser(there: bool, own: u32, other: u32) -> u32 {
    if there {
        return max(own, levels[other]);
    }
    return own;
}

@compute @workgroup_size(128)
fn edges(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let index = linear_invocation(group, local);
    let count = params.across * params.down;
    if index >= count * params.views {
        return;
    }
    let x = index % count % params.across;
    let z = index % count / params.across;
    let own = levels[index];
    let west = coarser(x > 0u, own, index - 1u);
    let east = coarser(x + 1u < params.across, own, index + 1u);
    let north = coarser(z > 0u, own, index - params.across);
    let south = coarser(z + 1u < params.down, own, index + params.across);
    roster_out[index * ROSTER_WORDS] = own | (west << 16u);
    roster_out[index * ROSTER_WORDS + 1u] = east | (north << 16u);
    roster_out[index * ROSTER_WORDS + 2u] = south;
}

// How near an error may come: in 1/256 m, at most 2³¹.
fn reach(error: u32) -> u32 {
    let up = vec2<u32>((1u << params.quantum_log2) - 1u, 0u);
    var scaled = wide_add(wide_mul(error, params.scale), up);
    if params.quantum_log2 > 0u {
        scaled = wide_shift_right(scaled, params.quantum_log2);
    }
    return distance_at_most(scaled);
}

@compute @workgroup_size(128)
fn error(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let index = linear_invocation(group, local);
    let count = params.across * params.down;
    if index >= count * params.views {
        return;
    }
    let section = index % count;
    let square = square_of_distance(section, index / count);
    var level = 0u;
    var worst = 0u;
    for (var l = 0u; l < params.levels; l++) {
        let e = errors[section * params.levels + l];
        worst = max(worst, e);
        let near = reach(e);
        if l > 0u && !wide_less(square, wide_mul(near, near)) {
            level = l;
        }
    }
    let x = section % params.across;
    let z = section / params.across;
    let sides = select(0u, 1u, x > 0u) | select(0u, 2u, x + 1u < params.across) | select(0u, 4u, z > 0u)
        | select(0u, 8u, z + 1u < params.down);
    chunks[index * 2u] = level | (sides << 8u);
    chunks[index * 2u + 1u] = worst + params.quad_quanta;
}

// Of a vertex of the full grid at a level, in 2⁻¹⁶ quads.
fn place(vertex: u32, level: u32) -> u32 {
    let quads = (1u << params.vertices_log2) - 1u;
    let own = (1u << (params.vertices_log2 - level)) - 1u;
    return ((vertex >> level) * (quads << PLACE_LOG2) + own / 2u) / own;
}

fn nearest(vertex: u32, level: u32) -> u32 {
    return (place(vertex, level) + (1u << (PLACE_LOG2 - 1u))) >> PLACE_LOG2;
}

@compute @workgroup_size(128)
fn surface(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let index = linear_invocation(group, local);
    let n = params.vertices_log2;
    let section = index >> (2u * n);
    if section >= params.across * params.down {
        return;
    }
    let last = (1u << n) - 1u;
    let i = index & last;
    let j = (index >> n) & last;
    let at = section * ROSTER_WORDS;
    var level = roster[at] & 0xffffu;
    if i == 0u {
        level = roster[at] >> 16u;
    } else if i == last {
        level = roster[at + 1u] & 0xffffu;
    } else if j == 0u {
        level = roster[at + 1u] >> 16u;
    } else if j == last {
        level = roster[at + 2u];
    }
    let one = 1u << FINE_LOG2;
    let k = level >> FINE_LOG2;
    let factor = level & (one - 1u);
    let next = select(k + 1u, k, factor == 0u);
    let first = section << (2u * n);
    let own = samples[first + (nearest(j, k) << n) + nearest(i, k)];
    let coarse = samples[first + (nearest(j, next) << n) + nearest(i, next)];
    vertices[index * 3u] = (place(i, k) * (one - factor) + place(i, next) * factor + one / 2u) >> FINE_LOG2;
    vertices[index * 3u + 1u] = (place(j, k) * (one - factor) + place(j, next) * factor + one / 2u) >> FINE_LOG2;
    vertices[index * 3u + 2u] = own * (one - factor) + coarse * factor;
}
