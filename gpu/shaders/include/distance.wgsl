// Distances along an axis, as terrain/src/kernel/select.rs has them: whole 1/256 m, 2³¹ where it is more. Needs wide.

// A signed one that is not negative; a negative one is 0.
fn distance_at_most(d: vec2<u32>) -> u32 {
    if bitcast<i32>(d.y) < 0 {
        return 0u;
    }
    return select(min(d.x, 0x80000000u), 0x80000000u, d.y != 0u);
}

// From a place to the samples low to high, spacing apart.
fn gap(low: u32, high: u32, spacing: u32, at: vec2<u32>) -> u32 {
    let before = wide_sub(wide_mul(low, spacing), at);
    let behind = wide_sub(at, wide_mul(high, spacing));
    return max(distance_at_most(before), distance_at_most(behind));
}
