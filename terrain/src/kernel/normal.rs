//! Pinned normals: two bytes a sample, from differences of the final heights.
//!
//! Owns the integer algorithm below and its row function. Integers only, so a twin gives the same bytes. Never reads
//! files, never scales heights: they are final.
//!
//! A sample's bytes are 128 + code for the x and the z of its unit upward normal, codes from −127 to 127 standing for
//! −1 to 1; y is the rest and not negative. (128, 128) is straight up, which a void gets too.
//!
//! **Differences.** Along an axis, twice the slope a sample in quanta: the next sample minus the one before; where one of
//! them is void or beyond the map, twice the difference to the other; where both are, 0. |q| < 2²⁴ keeps it within 2²⁶.
//!
//! **Codes**, all in unsigned 32 bits. With a and c the absolute differences along x and z, the normal has the direction
//! of (a · 2ᵖ, d, c · 2ᵖ): k from 7 on gives d = spacing · 2ᵏ⁻⁷ and p = 0, a smaller k d = spacing and p = 7 − k (spacing in
//! 1/256 m).
//! 1. t = the larger of bits(d) + 1 and bits(max(a, c)) + p, where bits(v) counts the digits of v in binary. All three are
//!    multiplied by 2¹⁵⁻ᵗ (a and c by 2ᵖ⁺¹⁵⁻ᵗ), rounded half up: now each is at most 2¹⁵ and the largest at least 2¹³.
//! 2. length = ⌊√(a² + d² + c²)⌋; the sum is at most 3 · 2³⁰. inverse = ⌊2³¹ / length⌋.
//! 3. code = (127 · ⌊a · inverse / 2¹⁵⌋ + 2¹⁵) ≫ 16, of the opposite sign of the difference; likewise for c. As a is at most
//!    length, a · inverse is at most 2³¹.
//!
//! A code is within [`ERROR`] of 127 times the true component, so at most one off the nearest.

use crate::height::{QuantumLog2, VOID};

/// How far a code may be from 127 times the component: half a step and a twenty-fifth for the rounding on the way.
pub const ERROR: f64 = 0.54;

/// Straight up.
pub const UP: [u8; 2] = [128, 128];

/// The vertical that differences are held against: a terrain's spacing in its quanta.
#[derive(Clone, Copy, Debug)]
pub struct Vertical {
    d: u32,
    p: u32,
}

impl Vertical {
    /// For a spacing in 1/256 m, at most 256 m, and heights in 2⁻ᵏ m.
    pub const fn new(spacing_256: u32, k: QuantumLog2) -> Self {
        let k = k.get() as u32;
        if k >= 7 { Self { d: spacing_256 << (k - 7), p: 0 } } else { Self { d: spacing_256, p: 7 - k } }
    }

    /// The bytes for twice the slope a sample along x and z, in quanta, at most 2²⁶ either way.
    #[inline]
    pub fn encode(self, slope2: [i32; 2]) -> [u8; 2] {
        let [a, c] = slope2.map(i32::unsigned_abs);
        let t = (bits(self.d) + 1).max(bits(a | c) + self.p);
        let scaled = |v: u32, up: u32| {
            if up >= t { v << (up - t) } else { (v + (1 << (t - up - 1))) >> (t - up) }
        };
        let [a, c] = [a, c].map(|v| scaled(v, self.p + 15));
        let d = scaled(self.d, 15);
        // A correctly rounded root in double precision has the right whole part for every 32-bit number.
        let length = f64::from(a * a + d * d + c * c).sqrt() as u32;
        let inverse = (1 << 31) / length;
        let code = |v: u32| ((127 * ((v * inverse) >> 15) + (1 << 15)) >> 16) as u8;
        let byte = |slope: i32, code: u8| if slope > 0 { 128 - code } else { 128 + code };
        [byte(slope2[0], code(a)), byte(slope2[1], code(c))]
    }
}

/// Binary digits.
const fn bits(v: u32) -> u32 {
    32 - v.leading_zeros()
}

/// The unit vector that bytes stand for.
pub fn decode(bytes: [u8; 2]) -> [f64; 3] {
    let [x, z] = bytes.map(|b| (f64::from(b) - 128.0) / 127.0);
    [x, (1.0 - x * x - z * z).max(0.0).sqrt(), z]
}

/// The normals of a row of samples in raw quanta. `above` is the row of smaller z, `below` that of larger; `None` beyond
/// the map. `spacing_256` is in 1/256 m, at most 256 m.
///
/// # Panics
/// When the slices differ in length.
pub fn row(
    above: Option<&[i32]>,
    row: &[i32],
    below: Option<&[i32]>,
    spacing_256: u32,
    k: QuantumLog2,
    out: &mut [[u8; 2]],
) {
    let n = row.len();
    assert!(out.len() == n && [above, below].iter().flatten().all(|r| r.len() == n), "rows of one length");
    let vertical = Vertical::new(spacing_256, k);
    let at = |row: Option<&[i32]>, x: usize| row.map_or(VOID, |row| row[x]);
    for (x, (&here, out)) in row.iter().zip(out).enumerate() {
        let west = if x == 0 { VOID } else { row[x - 1] };
        let east = if x + 1 == n { VOID } else { row[x + 1] };
        *out = if here == VOID {
            UP
        } else {
            vertical.encode([slope2(west, here, east), slope2(at(above, x), here, at(below, x))])
        };
    }
}

/// Twice the slope at `here` between its neighbours, which may be void.
#[inline]
pub(crate) fn slope2(before: i32, here: i32, after: i32) -> i32 {
    match (before == VOID, after == VOID) {
        (false, false) => after - before,
        (true, false) => 2 * (after - here),
        (false, true) => 2 * (here - before),
        (true, true) => 0,
    }
}

#[cfg(test)]
mod tests;
