//!include linear
//!include wide
//!include distance
// Node selection: which nodes of the quadtree are drawn. The twin of terrain/src/kernel/select.rs, where the rule stands.
//
// An invocation takes a candidate: it finds its job, its node and the node's children.
//
// Needs: 128 invocations a group, four storage buffers, 36 bytes of immediates.

struct Params {
    candidates: u32,
    jobs: u32,
    views_at: u32,
    levels_at: u32,
    spacing: u32,
    x0: u32,
    z0: u32,
    x1: u32,
    z1: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> plan: array<u32>;
@group(0) @binding(1) var<storage, read> states: array<u32>;
@group(0) @binding(2) var<storage, read_write> flags: array<u32>;
@group(0) @binding(2) var<storage, read> before: array<u32>;
@group(0) @binding(3) var<storage, read_write> nodes: array<u32>;

const JOB_WORDS: u32 = 6u;
const VIEW_WORDS: u32 = 4u;
const LEVEL_WORDS: u32 = 5u;
const NODE_CELLS: u32 = 32u;
const HIDDEN: u32 = 0u;
const HOLES: u32 = 2u;
// No node is drawn with all its quarters left to others.
const NOT_DRAWN: u32 = 15u;

struct Candidate {
    x: u32,
    z: u32,
    level: u32,
    view: u32,
    mask: u32,
}

fn state(level: u32, x: u32, z: u32) -> u32 {
    let at = params.levels_at + level * LEVEL_WORDS;
    let n = plan[at + 2u] + z * plan[at] + x;
    return (states[n >> 4u] >> ((n & 15u) * 2u)) & 3u;
}

fn on_map(level: u32, x: u32, z: u32) -> bool {
    let at = params.levels_at + level * LEVEL_WORDS;
    return x < plan[at] && z < plan[at + 1u];
}

fn in_range(level: u32, x: u32, z: u32, view: u32) -> bool {
    let side = NODE_CELLS << level;
    let at = params.views_at + view * VIEW_WORDS;
    let vx = vec2<u32>(plan[at], plan[at + 1u]);
    let vz = vec2<u32>(plan[at + 2u], plan[at + 3u]);
    let dx = gap(max(x * side, params.x0), min((x + 1u) * side, params.x1), params.spacing, vx);
    let dz = gap(max(z * side, params.z0), min((z + 1u) * side, params.z1), params.spacing, vz);
    let range = params.levels_at + level * LEVEL_WORDS + 3u;
    return wide_less(wide_add(wide_mul(dx, dx), wide_mul(dz, dz)), vec2<u32>(plan[range], plan[range + 1u]));
}

// Which quarters of a node children draw; NOT_DRAWN when it is not.
fn quarters(level: u32, x: u32, z: u32, view: u32) -> u32 {
    if state(level, x, z) == HIDDEN || !in_range(level, x, z, view) {
        return NOT_DRAWN;
    }
    if level == 0u {
        return 0u;
    }
    var mask = 0u;
    var rest = false;
    for (var quarter = 0u; quarter < 4u; quarter++) {
        let cx = 2u * x + (quarter & 1u);
        let cz = 2u * z + (quarter >> 1u);
        if !on_map(level - 1u, cx, cz) || state(level - 1u, cx, cz) == HIDDEN {
            continue;
        }
        if in_range(level - 1u, cx, cz, view) {
            mask |= 1u << quarter;
        } else {
            rest = true;
        }
    }
    return select(NOT_DRAWN, mask, rest);
}

fn candidate(index: u32) -> Candidate {
    // The last job that begins at or before it.
    var low = 0u;
    var high = params.jobs;
    while high - low > 1u {
        let middle = (low + high) / 2u;
        if plan[middle * JOB_WORDS] <= index {
            low = middle;
        } else {
            high = middle;
        }
    }
    let job = low * JOB_WORDS;
    let own = index - plan[job];
    let width = plan[job + 3u];
    var c: Candidate;
    c.x = plan[job + 1u] + own % width;
    c.z = plan[job + 2u] + own / width;
    c.view = plan[job + 4u];
    c.level = plan[job + 5u];
    c.mask = quarters(c.level, c.x, c.z, c.view);
    return c;
}

@compute @workgroup_size(128)
fn mark(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let index = linear_invocation(group, local);
    if index < params.candidates {
        flags[index] = select(1u, 0u, candidate(index).mask == NOT_DRAWN);
    }
}

@compute @workgroup_size(128)
fn emit(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let index = linear_invocation(group, local);
    if index >= params.candidates {
        return;
    }
    let c = candidate(index);
    if c.mask == NOT_DRAWN {
        return;
    }
    let holes = select(0u, 1u, state(c.level, c.x, c.z) == HOLES);
    let at = before[index] * 2u;
    nodes[at] = c.x | (c.z << 16u);
    nodes[at + 1u] = c.level | (c.mask << 8u) | (holes << 12u) | (c.view << 16u);
}
