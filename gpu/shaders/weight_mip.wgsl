//!include linear
// Weight mips: 2x2 texels re-encoded by layer contribution. The twin of terrain/src/kernel/weight_mip.rs, which
// states the rule; both give the same bytes.
//
// Works on one strip of whole rows. Texels are packed without padding: HD three bytes, Normal two. An invocation
// makes exactly the texels that fill whole words of the result (four HD texels in three words, two Normal texels in
// one), so no word is written twice. All arithmetic is u32.
//
// Needs: 128 invocations a group, two storage buffers, 16 bytes of immediates.

struct Strip {
    // Texels across and down the source.
    size: vec2<u32>,
    // Texels across the mip, and in all of it.
    mip_width: u32,
    mip_texels: u32,
}

var<immediate> strip: Strip;
@group(0) @binding(0) var<storage, read> texels: array<u32>;
@group(0) @binding(1) var<storage, read_write> mip: array<u32>;

// The sum of a texel's two weights. It also tells the encodings apart.
const FULL_HD: u32 = 255u;
const FULL_NORMAL: u32 = 7u;
const LAYERS: u32 = 32u;
const CONTRIBUTIONS: u32 = 8u;

// id1, id2 and ratio of one source texel.
fn read_texel(full: u32, index: u32) -> vec3<u32> {
    if full == FULL_HD {
        let byte = index * 3u;
        let word = byte >> 2u;
        let shift = (byte & 3u) * 8u;
        var bits = texels[word] >> shift;
        // From bit 16 on the texel goes over into the next word.
        if shift > 8u {
            bits |= texels[word + 1u] << (32u - shift);
        }
        return vec3<u32>(bits & 255u, (bits >> 8u) & 255u, (bits >> 16u) & 255u);
    }
    let bits = texels[index >> 1u] >> ((index & 1u) * 16u);
    return vec3<u32>(bits & 31u, (bits >> 5u) & 31u, (bits >> 10u) & 7u);
}

// The two largest contributors to one texel of the mip.
fn mip_texel(full: u32, index: u32) -> vec3<u32> {
    let x = (index % strip.mip_width) * 2u;
    let z = (index / strip.mip_width) * 2u;
    // 31 - id, so that of two equal masses the smaller id has the larger key.
    var rank: array<u32, CONTRIBUTIONS>;
    var mass: array<u32, CONTRIBUTIONS>;
    for (var child = 0u; child < 4u; child++) {
        let cx = x + (child & 1u);
        let cz = z + (child >> 1u);
        var id1 = 0u;
        var id2 = 0u;
        var mass1 = 0u;
        var mass2 = 0u;
        // Children beyond an odd edge contribute nothing.
        if cx < strip.size.x && cz < strip.size.y {
            let texel = read_texel(full, cz * strip.size.x + cx);
            id1 = texel.x & 31u;
            id2 = texel.y & 31u;
            // Nor do ids that are no layers.
            mass1 = select(0u, full - texel.z, texel.x < LAYERS);
            mass2 = select(0u, texel.z, texel.y < LAYERS);
        }
        rank[child * 2u] = 31u - id1;
        mass[child * 2u] = mass1;
        rank[child * 2u + 1u] = 31u - id2;
        mass[child * 2u + 1u] = mass2;
    }

    // Contributions to one layer share one key, so the second layer is the largest key that is not the first.
    var first = 0u;
    var second = 0u;
    for (var a = 0u; a < CONTRIBUTIONS; a++) {
        var total = 0u;
        for (var b = 0u; b < CONTRIBUTIONS; b++) {
            total += select(0u, mass[b], rank[a] == rank[b]);
        }
        let key = total * 32u + rank[a];
        if key > first {
            second = first;
            first = key;
        } else if key < first && key > second {
            second = key;
        }
    }

    let id1 = 31u - (first & 31u);
    let mass1 = first >> 5u;
    let mass2 = second >> 5u;
    if mass1 == 0u {
        return vec3<u32>(0u, 0u, 0u);
    }
    if mass2 == 0u {
        return vec3<u32>(id1, id1, 0u);
    }
    let sum = mass1 + mass2;
    return vec3<u32>(id1, 31u - (second & 31u), (2u * full * mass2 + sum) / (2u * sum));
}

fn hd_bits(index: u32) -> u32 {
    if index >= strip.mip_texels {
        return 0u;
    }
    let texel = mip_texel(FULL_HD, index);
    return texel.x | (texel.y << 8u) | (texel.z << 16u);
}

fn normal_bits(index: u32) -> u32 {
    if index >= strip.mip_texels {
        return 0u;
    }
    let texel = mip_texel(FULL_NORMAL, index);
    return texel.x | (texel.y << 5u) | (texel.z << 10u);
}

@compute @workgroup_size(128)
fn hd(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let id = linear_invocation(group, local);
    let first = id * 4u;
    if first >= strip.mip_texels {
        return;
    }
    let b = hd_bits(first + 1u);
    let c = hd_bits(first + 2u);
    let word = id * 3u;
    mip[word] = hd_bits(first) | (b << 24u);
    mip[word + 1u] = (b >> 8u) | (c << 16u);
    mip[word + 2u] = (c >> 16u) | (hd_bits(first + 3u) << 8u);
}

@compute @workgroup_size(128)
fn normal(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let id = linear_invocation(group, local);
    let first = id * 2u;
    if first >= strip.mip_texels {
        return;
    }
    mip[id] = normal_bits(first) | (normal_bits(first + 1u) << 16u);
}
