// 64-bit integers as two words, low and high: what the core of Vulkan does not have. Signed ones in two's complement.

fn wide_less(a: vec2<u32>, b: vec2<u32>) -> bool {
    return a.y < b.y || (a.y == b.y && a.x < b.x);
}

fn wide_add(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = a.x + b.x;
    return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}

fn wide_sub(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}

// The whole product.
fn wide_mul(a: u32, b: u32) -> vec2<u32> {
    let al = a & 0xffffu;
    let ah = a >> 16u;
    let bl = b & 0xffffu;
    let bh = b >> 16u;
    let low = al * bl;
    let cross = ah * bl + (low >> 16u);
    let middle = al * bh + (cross & 0xffffu);
    return vec2<u32>((middle << 16u) | (low & 0xffffu), ah * bh + (cross >> 16u) + (middle >> 16u));
}

// The whole product of a signed and an unsigned word.
fn wide_mul_signed(a: i32, b: u32) -> vec2<u32> {
    let product = wide_mul(bitcast<u32>(a), b);
    return vec2<u32>(product.x, product.y - select(0u, b, a < 0));
}

// The product of a signed wide and a small unsigned word, modulo 2⁶⁴.
fn wide_times(a: vec2<u32>, b: u32) -> vec2<u32> {
    let low = wide_mul(a.x, b);
    return vec2<u32>(low.x, low.y + a.y * b);
}

// Divided by 2ⁿ towards −∞; n from 1 to 31.
fn wide_shift_right(a: vec2<u32>, n: u32) -> vec2<u32> {
    return vec2<u32>((a.x >> n) | (a.y << (32u - n)), bitcast<u32>(bitcast<i32>(a.y) >> n));
}

// ⌊√a⌋ of an unsigned one, bit by bit.
fn wide_sqrt(a: vec2<u32>) -> u32 {
    var root = 0u;
    for (var bit = 0x80000000u; bit != 0u; bit >>= 1u) {
        let more = root | bit;
        if !wide_less(a, wide_mul(more, more)) {
            root = more;
        }
    }
    return root;
}
