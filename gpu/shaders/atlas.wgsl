//!include linear
//!include normal
// The height atlas: 16-bit height codes and normals, four bytes a sample. The twin of terrain/src/kernel/atlas.rs, which
// states the formats; both give the same words.
//
// An invocation makes one texel from its sample and the four around it.
//
// Needs: 128 invocations a group, two storage buffers, 24 bytes of immediates.

struct Window {
    width: u32,
    height: u32,
    // The quanta of code 0, and how many of them a step is, as a power of two.
    base: u32,
    shift: u32,
    // The vertical of normals.
    d: u32,
    p: u32,
}

var<immediate> win: Window;
@group(0) @binding(0) var<storage, read> heights: array<u32>;
@group(0) @binding(1) var<storage, read_write> texels: array<u32>;

@compute @workgroup_size(128)
fn pack(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let id = linear_invocation(group, local);
    if id >= win.width * win.height {
        return;
    }
    let stride = win.width + 2u;
    let at = (id / win.width + 1u) * stride + id % win.width + 1u;
    let here = heights[at];
    var code = 0u;
    if here != VOID {
        code = ((here - win.base + ((1u << win.shift) >> 1u)) >> win.shift) & 0xFFFFu;
    }
    let x = slope2(heights[at - 1u], here, heights[at + 1u]);
    let z = slope2(heights[at - stride], here, heights[at + stride]);
    texels[id] = (code >> 8u) | ((code & 255u) << 8u) | (normal_bytes(x, z, win.d, win.p) << 16u);
}
