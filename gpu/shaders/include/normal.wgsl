// Pinned normals from differences of heights: the algorithm of terrain/src/kernel/normal.rs, which states every step.

// The height that stands for no sample.
const VOID: u32 = 0x80000000u;

// Twice the slope between two neighbours, which may be void; none at a void.
fn slope2(before: u32, here: u32, after: u32) -> i32 {
    if here == VOID || (before == VOID && after == VOID) {
        return 0;
    }
    if before == VOID {
        return 2 * i32(after - here);
    }
    if after == VOID {
        return 2 * i32(here - before);
    }
    return i32(after - before);
}

fn bits(v: u32) -> u32 {
    return 32u - countLeadingZeros(v);
}

// v times two to the power of up - t, rounded half up.
fn scaled(v: u32, up: u32, t: u32) -> u32 {
    if up >= t {
        return v << ((up - t) & 31u);
    }
    let down = t - up;
    return (v + (1u << ((down - 1u) & 31u))) >> (down & 31u);
}

// The whole part of the square root, bit by bit.
fn root(v: u32) -> u32 {
    var rest = v;
    var result = 0u;
    for (var bit = 1u << 30u; bit != 0u; bit >>= 2u) {
        if rest >= result + bit {
            rest -= result + bit;
            result = (result >> 1u) + bit;
        } else {
            result >>= 1u;
        }
    }
    return result;
}

fn normal_byte(slope: i32, v: u32, inverse: u32) -> u32 {
    let code = (127u * ((v * inverse) >> 15u) + (1u << 15u)) >> 16u;
    return select(128u + code, 128u - code, slope > 0);
}

// The scaled differences and the vertical, and 2 to the power of 31 over the length of the three.
struct Scaled {
    a: u32,
    c: u32,
    d: u32,
    inverse: u32,
}

fn scaled_of(x: i32, z: i32, d: u32, p: u32) -> Scaled {
    let a = u32(abs(x));
    let c = u32(abs(z));
    let t = max(bits(d) + 1u, bits(a | c) + p);
    let sa = scaled(a, p + 15u, t);
    let sc = scaled(c, p + 15u, t);
    let sd = scaled(d, 15u, t);
    return Scaled(sa, sc, sd, (1u << 31u) / root(sa * sa + sd * sd + sc * sc));
}

// x in the lower byte, z in the one above.
fn normal_bytes(x: i32, z: i32, d: u32, p: u32) -> u32 {
    let s = scaled_of(x, z, d, p);
    return normal_byte(x, s.a, s.inverse) | (normal_byte(z, s.c, s.inverse) << 8u);
}

// The cosine of a slope in 1/65536.
fn normal_cosine(x: i32, z: i32, d: u32, p: u32) -> u32 {
    let s = scaled_of(x, z, d, p);
    return (s.d * s.inverse) >> 15u;
}
