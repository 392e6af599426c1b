//!include linear
//!include wide
//!include distance
// Vertex evaluation: where the vertices of drawn nodes stand and which are visible. The twin of
// terrain/src/kernel/vertex.rs, where formats and rule stand.
//
// An invocation makes a vertex.
//
// Needs: 128 invocations a group, four storage buffers, 32 bytes of immediates.

struct Params {
    nodes: u32,
    bands_at: u32,
    spacing: u32,
    diagonal: u32,
    x0: u32,
    z0: u32,
    x1: u32,
    z1: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> nodes: array<u32>;
@group(0) @binding(1) var<storage, read> plan: array<u32>;
@group(0) @binding(2) var<storage, read> patches: array<u32>;
@group(0) @binding(3) var<storage, read_write> vertices: array<u32>;

const CELLS: u32 = 32u;
const SIDE: u32 = 33u;
const GRID_SIDE: u32 = 34u;
const PATCH_WORDS: u32 = 1153u;
const PATCH_SAMPLES: u32 = 1089u;
const VIEW_WORDS: u32 = 4u;
const FINE_LOG2: u32 = 7u;
const CHECKERBOARD: u32 = 2u;

struct Node {
    number: u32,
    x: u32,
    z: u32,
    level: u32,
    mask: u32,
    view: u32,
}

struct Height {
    numerator: vec2<u32>,
    side_log2: u32,
}

fn node(number: u32) -> Node {
    let at = nodes[number * 2u];
    let what = nodes[number * 2u + 1u];
    return Node(number, at & 0xffffu, at >> 16u, what & 0xffu, (what >> 8u) & 15u, what >> 16u);
}

fn is_anti(level: u32, x: u32, z: u32) -> bool {
    if params.diagonal == CHECKERBOARD {
        return level > 0u || ((x ^ z) & 1u) == 0u;
    }
    return params.diagonal == 1u;
}

// The factor in 2⁻⁷: the quotient bit by bit, since the dividend would not fit.
fn morph(distance: u32, start: u32, length: u32) -> u32 {
    if distance <= start {
        return 0u;
    }
    var rest = distance - start;
    if rest >= length {
        return 1u << FINE_LOG2;
    }
    var factor = 0u;
    for (var i = 0u; i < FINE_LOG2; i++) {
        // Below twice the length, which is at most 2³¹.
        rest <<= 1u;
        factor <<= 1u;
        if rest >= length {
            rest -= length;
            factor |= 1u;
        }
    }
    return factor;
}

fn place(grid: u32, level: u32, factor: u32, low: u32, high: u32) -> u32 {
    let moved = (grid << FINE_LOG2) - (grid & 1u) * factor;
    return clamp(moved << level, low << FINE_LOG2, high << FINE_LOG2);
}

fn is_clipped(grid: u32, level: u32, low: u32, high: u32) -> bool {
    return ((grid & ~1u) << level) < low || (grid << level) > high;
}

fn sample(n: Node, x: u32, z: u32) -> i32 {
    return bitcast<i32>(patches[n.number * PATCH_WORDS + z * SIDE + x]);
}

// On the grid of the node's level or of the next one: over the cell's side in 2⁻⁷ samples.
fn on_grid(n: Node, up: u32, x: u32, z: u32) -> Height {
    let side_log2 = n.level + up + FINE_LOG2;
    let cells = CELLS >> up;
    let first = vec2<u32>(n.x, n.z) * cells;
    let at = vec2<u32>(x, z);
    let cell = min((at >> vec2<u32>(side_log2)) - first, vec2<u32>(cells - 1u));
    let f = at - ((first + cell) << vec2<u32>(side_log2));
    let near = cell << vec2<u32>(up);
    let far = (cell + 1u) << vec2<u32>(up);
    let q00 = sample(n, near.x, near.y);
    let q10 = sample(n, far.x, near.y);
    let q01 = sample(n, near.x, far.y);
    let q11 = sample(n, far.x, far.y);
    let s = 1u << side_log2;
    // Along the diagonal from a to b, and the corner on the place's side; Anti is Main in a mirror.
    let anti = is_anti(n.level + up, first.x + cell.x, first.y + cell.y);
    let fx = select(f.x, s - f.x, anti);
    let a = select(q00, q10, anti);
    let b = select(q11, q01, anti);
    let c = select(q10, q00, anti);
    let d = select(q01, q11, anti);
    let beside = select(d, c, fx >= f.y);
    let less = min(fx, f.y);
    let more = max(fx, f.y);
    let sum = wide_add(wide_mul_signed(a, s - more), wide_mul_signed(beside, more - less));
    return Height(wide_add(sum, wide_mul_signed(b, less)), side_log2);
}

fn height(n: Node, x: u32, z: u32, clipped: bool, factor: u32) -> u32 {
    let own = on_grid(n, 0u, x, z);
    let one = 1u << FINE_LOG2;
    var sum = wide_times(own.numerator, 2u * one);
    if clipped {
        let next = on_grid(n, 1u, x, z);
        sum = wide_add(wide_times(own.numerator, 2u * (one - factor)), wide_times(next.numerator, factor));
    }
    // Over twice the side, half up.
    sum = wide_add(sum, vec2<u32>(1u << own.side_log2, 0u));
    return wide_shift_right(sum, own.side_log2 + 1u).x;
}

fn put(index: u32, n: Node, gx: u32, gz: u32, visible: bool) {
    let x = n.x * CELLS + gx;
    let z = n.z * CELLS + gz;
    let view = n.view * VIEW_WORDS;
    let own_x = clamp(x << n.level, params.x0, params.x1);
    let own_z = clamp(z << n.level, params.z0, params.z1);
    let dx = gap(own_x, own_x, params.spacing, vec2<u32>(plan[view], plan[view + 1u]));
    let dz = gap(own_z, own_z, params.spacing, vec2<u32>(plan[view + 2u], plan[view + 3u]));
    let distance = wide_sqrt(wide_add(wide_mul(dx, dx), wide_mul(dz, dz)));
    let band = params.bands_at + n.level * 2u;
    let factor = morph(distance, plan[band], plan[band + 1u]);
    let px = place(x, n.level, factor, params.x0, params.x1);
    let pz = place(z, n.level, factor, params.z0, params.z1);
    let clipped = is_clipped(x, n.level, params.x0, params.x1) || is_clipped(z, n.level, params.z0, params.z1);
    vertices[index * 3u] = px | (select(0u, 1u, visible) << 31u);
    vertices[index * 3u + 1u] = pz;
    vertices[index * 3u + 2u] = height(n, px, pz, clipped, factor);
}

@compute @workgroup_size(128)
fn grid(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let index = linear_invocation(group, local);
    let number = index / (GRID_SIDE * GRID_SIDE);
    if number >= params.nodes {
        return;
    }
    let n = node(number);
    let own = index % (GRID_SIDE * GRID_SIDE);
    let row = own / GRID_SIDE;
    let column = own % GRID_SIDE;
    let east = select(0u, 1u, column > CELLS / 2u);
    let south = select(0u, 1u, row > CELLS / 2u);
    let visible = ((n.mask >> (east + 2u * south)) & 1u) == 0u;
    put(index, n, column - east, row - south, visible);
}

@compute @workgroup_size(128)
fn triangles(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let index = linear_invocation(group, local);
    let number = index / (CELLS * CELLS * 6u);
    if number >= params.nodes {
        return;
    }
    let n = node(number);
    let own = index % (CELLS * CELLS * 6u);
    let prim = own / 3u;
    let corner = own % 3u;
    let x = prim / 2u / CELLS;
    let z = (prim / 2u) % CELLS;
    let quarter = x / (CELLS / 2u) + z / (CELLS / 2u) * 2u;
    let bits = patches[number * PATCH_WORDS + PATCH_SAMPLES + prim / 32u];
    let visible = ((n.mask >> quarter) & 1u) == 0u && ((bits >> (prim % 32u)) & 1u) == 1u;
    // The triangle rule: two bits a corner, x + 2z, the first corner lowest. Main 00 11 10 and 00 01 11, Anti 00 01 10
    // and 10 01 11.
    var corners = select(select(28u, 56u, (prim & 1u) == 1u), select(24u, 57u, (prim & 1u) == 1u),
        is_anti(n.level, n.x * CELLS + x, n.z * CELLS + z));
    corners = (corners >> (2u * corner)) & 3u;
    put(index, n, x + (corners & 1u), z + (corners >> 1u), visible);
}
