//!include linear
// Clipmap wrapping: centres of toroidal windows, slots of pages, copies into slots. The twin of
// terrain/src/kernel/clipmap.rs, which states the rules.
//
// Needs: 128 invocations a group, four storage buffers, 16 bytes of immediates.

struct Params {
    count: u32,
    a: u32,
    b: u32,
    c: u32,
}

struct SlotParams {
    pages: u32,
    mips: u32,
    slots: u32,
}

const CENTRE_WORDS: u32 = 6u;
const SOURCE_WORDS: u32 = 4u;
const PAGE_WORDS: u32 = 3u;
const NOWHERE: u32 = 0xFFFFFFFFu;

// count: views, a: mips, b: the step of mip 0, c: slots. For copies: copies, words of a row, rows, slots.
var<immediate> params: Params;
var<immediate> slot_params: SlotParams;

@group(0) @binding(0) var<storage, read> positions: array<i32>;
@group(0) @binding(1) var<storage, read> before: array<u32>;
@group(0) @binding(2) var<storage, read_write> centres_out: array<u32>;

@group(0) @binding(0) var<storage, read> pages: array<u32>;
@group(0) @binding(1) var<storage, read> centres_in: array<u32>;
@group(0) @binding(2) var<storage, read> sources: array<u32>;
@group(0) @binding(3) var<storage, read_write> slots_out: array<u32>;

@group(0) @binding(1) var<storage, read> copied_to: array<u32>;
@group(0) @binding(2) var<storage, read_write> texture: array<u32>;

// The whole part of a division towards negative infinity; d is positive and below 2 to the power of 31.
fn floor_div(v: i32, d: u32) -> i32 {
    if v >= 0 {
        return i32(u32(v) / d);
    }
    return -1 - i32(u32(-1 - v) / d);
}

fn positive_mod(v: i32, n: u32) -> u32 {
    return u32(v - floor_div(v, n) * i32(n));
}

// T moved by C's way from one page to another, which may be more than an i32 holds.
fn moved(physical: u32, was: i32, is: i32, slots: u32) -> u32 {
    return (physical + positive_mod(is, slots) + slots - positive_mod(was, slots)) % slots;
}

@compute @workgroup_size(128)
fn centres(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let id = linear_invocation(group, local);
    let mips = params.a;
    if id >= params.count * mips {
        return;
    }
    let view = id / mips;
    let step = params.b << ((id % mips) & 31u);
    let at = id * CENTRE_WORDS;
    for (var axis = 0u; axis < 2u; axis++) {
        let position = positions[2u * view + axis];
        let logical = floor_div(position, step);
        centres_out[at + axis] = u32(logical);
        centres_out[at + 2u + axis] = moved(before[at + 2u + axis], i32(before[at + axis]), logical, params.c);
        centres_out[at + 4u + axis] = u32(position) - u32(logical) * step;
    }
}

fn held(delta: i32, slots: u32) -> bool {
    let half = i32(slots / 2u);
    return -half <= delta && delta < i32(slots) - half;
}

// The slot along an axis, or NOWHERE.
fn slot_along(page: i32, centre: i32, physical: u32, count: u32, anchor: u32, slots: u32) -> u32 {
    if anchor != NOWHERE {
        let within = positive_mod(page, count);
        return select(NOWHERE, (anchor + within) % slots, within < slots);
    }
    // The remainder of the way from the centre, with its sign; the way itself may be more than an i32 holds.
    let east = page >= centre;
    let way = select(u32(centre) - u32(page), u32(page) - u32(centre), east) % count;
    var delta = select(-i32(way), i32(way), east);
    if !held(delta, slots) {
        delta -= sign(delta) * i32(count);
    }
    if !held(delta, slots) {
        return NOWHERE;
    }
    return positive_mod(i32(physical) + delta, slots);
}

@compute @workgroup_size(128)
fn slots(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let id = linear_invocation(group, local);
    // count: pages, a: mips, b: slots.
    if id >= slot_params.pages {
        return;
    }
    let x = i32(pages[id * PAGE_WORDS]);
    let z = i32(pages[id * PAGE_WORDS + 1u]);
    let mip = pages[id * PAGE_WORDS + 2u];
    var found = NOWHERE;
    if mip < slot_params.mips {
        let at = mip * CENTRE_WORDS;
        let source = mip * SOURCE_WORDS;
        let slots = slot_params.slots;
        let along_x = slot_along(x, i32(centres_in[at]), centres_in[at + 2u], sources[source], sources[source + 2u], slots);
        let along_z =
            slot_along(z, i32(centres_in[at + 1u]), centres_in[at + 3u], sources[source + 1u], sources[source + 3u], slots);
        if along_x != NOWHERE && along_z != NOWHERE {
            found = along_x + along_z * slots;
        }
    }
    slots_out[id] = found;
}

@compute @workgroup_size(128)
fn copy(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let id = linear_invocation(group, local);
    let page_words = params.a * params.b;
    let copied = id / page_words;
    if copied >= params.count {
        return;
    }
    let slot = copied_to[copied];
    if slot == NOWHERE {
        return;
    }
    let within = id % page_words;
    let row = slot / params.c * params.b + within / params.a;
    texture[(row * params.c + slot % params.c) * params.a + within % params.a] = pages[id];
}
