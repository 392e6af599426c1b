//!include linear
// Prefix sums, in two steps out of which any length is made. The twin of terrain/src/kernel/scan.rs.
//
// A group takes a span of 512 words, four an invocation. Sums wrap.
//
// Needs: 128 invocations a group, three storage buffers, 512 bytes of shared memory, 4 bytes of immediates.

struct Span {
    words: u32,
}

var<immediate> span: Span;
@group(0) @binding(0) var<storage, read> words: array<u32>;

// totals: a word a span. spread: the sum before each span.
@group(0) @binding(1) var<storage, read_write> totals_out: array<u32>;
@group(0) @binding(1) var<storage, read> before: array<u32>;
@group(0) @binding(2) var<storage, read_write> sums: array<u32>;

const EACH: u32 = 4u;

var<workgroup> shared_sums: array<u32, 128>;

fn word(index: u32) -> u32 {
    if index >= span.words {
        return 0u;
    }
    return words[index];
}

// The sum of everything up to and with this invocation's own (Hillis and Steele, 1986).
fn inclusive(local: u32, own: u32) -> u32 {
    shared_sums[local] = own;
    workgroupBarrier();
    var sum = own;
    for (var reach = 1u; reach < GROUP; reach <<= 1u) {
        if local >= reach {
            sum += shared_sums[local - reach];
        }
        workgroupBarrier();
        shared_sums[local] = sum;
        workgroupBarrier();
    }
    return sum;
}

@compute @workgroup_size(128)
fn totals(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let first = linear_invocation(group, local) * EACH;
    let own = word(first) + word(first + 1u) + word(first + 2u) + word(first + 3u);
    let sum = inclusive(local, own);
    if local == GROUP - 1u && linear_group(group) * GROUP * EACH < span.words {
        totals_out[linear_group(group)] = sum;
    }
}

@compute @workgroup_size(128)
fn spread(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let first = linear_invocation(group, local) * EACH;
    let a = word(first);
    let b = word(first + 1u);
    let c = word(first + 2u);
    let own = a + b + c + word(first + 3u);
    let sum = inclusive(local, own);
    var next = before[linear_group(group)] + sum - own;
    if first < span.words {
        sums[first] = next;
    }
    next += a;
    if first + 1u < span.words {
        sums[first + 1u] = next;
    }
    next += b;
    if first + 2u < span.words {
        sums[first + 2u] = next;
    }
    next += c;
    if first + 3u < span.words {
        sums[first + 3u] = next;
    }
}
