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

    /// Steps 1 and 2: the differences and the vertical on one scale, and 2³¹ over the length of the three.
    #[inline]
    fn scaled(self, slope2: [i32; 2]) -> ([u32; 2], u32, u32) {
        let [a, c] = slope2.map(i32::unsigned_abs);
        let t = (bits(self.d) + 1).max(bits(a | c) + self.p);
        let [a, c] = [a, c].map(|v| scaled(v, self.p + 15, t));
        let d = scaled(self.d, 15, t);
        // A correctly rounded root in double precision has the right whole part for every 32-bit number.
        let length = f64::from(a * a + d * d + c * c).sqrt() as u32;
        ([a, c], d, (1 << 31) / length)
    }

    /// The bytes for twice the slope a sample along x and z, in quanta, at most 2²⁶ either way.
    #[inline]
    pub fn encode(self, slope2: [i32; 2]) -> [u8; 2] {
        let ([a, c], _, inverse) = self.scaled(slope2);
        let code = |v: u32| ((127 * ((v * inverse) >> 15) + (1 << 15)) >> 16) as u8;
        let byte = |slope: i32, code: u8| if slope > 0 { 128 - code } else { 128 + code };
        [byte(slope2[0], code(a)), byte(slope2[1], code(c))]
    }
}

impl Vertical {
    /// The cosine of a slope in 1/2¹⁶: ⌊d · inverse / 2¹⁵⌋ of the algorithm. Takes what [`Self::encode`] does.
    pub fn cosine(self, slope2: [i32; 2]) -> u32 {
        let (_, d, inverse) = self.scaled(slope2);
        (d * inverse) >> 15
    }
}

/// Samples that are done together, so that every step is a few vector instructions.
pub(crate) const LANES: usize = 16;

impl Vertical {
    /// d and p of the algorithm, for a twin.
    pub const fn parts(self) -> [u32; 2] {
        [self.d, self.p]
    }

    /// From [`Self::parts`].
    pub const fn from_parts([d, p]: [u32; 2]) -> Self {
        Self { d, p }
    }

    /// As [`Self::encode`], for as many samples at once.
    ///
    /// Where no difference is so great that it decides the scale, which is where the ground rises less than about twice
    /// as much as it runs, the whole algorithm is done in double precision: all its numbers are whole and below 2⁵³, and
    /// ⌊v⌋ is v − ½ + 2⁻²⁰ rounded to the nearest, since no v that occurs is nearer than 2⁻¹⁷ below a whole number.
    #[inline]
    pub(crate) fn encode_lanes(self, x: &[i32; LANES], z: &[i32; LANES], out: &mut [[u8; 2]; LANES]) {
        let t = bits(self.d) + 1;
        let greatest = x.iter().zip(z).fold(0, |most, (x, z)| most | x.unsigned_abs() | z.unsigned_abs());
        if bits(greatest) + self.p > t || t > self.p + 15 {
            for ((&x, &z), out) in x.iter().zip(z).zip(out) {
                *out = self.encode([x, z]);
            }
            return;
        }
        // Differences are shifted to the left: t is at most p + 15, so none is rounded.
        let up = f64::from(1_u32 << (self.p + 15 - t));
        let d = f64::from(scaled(self.d, 15, t));
        let mut inverse = [0.0; LANES];
        for ((&x, &z), inverse) in x.iter().zip(z).zip(&mut inverse) {
            let (a, c) = (f64::from(x) * up, f64::from(z) * up);
            *inverse = whole(2_147_483_648.0 / whole((a * a + d * d + c * c).sqrt()));
        }
        for (slopes, axis) in [(x, 0), (z, 1)] {
            for ((&slope, &inverse), out) in slopes.iter().zip(&inverse).zip(out.iter_mut()) {
                let v = f64::from(slope).abs() * up;
                let part = whole(v * inverse * (1.0 / 32_768.0));
                // Below 2⁸, so the sign can go with it; what is left after adding 2⁵² are the lowest bits.
                let code = whole((127.0 * part + 32_768.0) * (1.0 / 65_536.0));
                let signed = if slope > 0 { 128.0 - code } else { 128.0 + code };
                out[axis] = (signed + MAGIC).to_bits() as u8;
            }
        }
    }
}

/// 2⁵² + 2⁵¹: what is added to it is rounded to a whole number, ties to even.
const MAGIC: f64 = 6_755_399_441_055_744.0;

/// The whole part of what is not negative, below 2⁵⁰ and not within 2⁻¹⁹ below a whole number.
#[inline(always)]
fn whole(v: f64) -> f64 {
    const DOWN: f64 = 0.5 - 1.0 / 1_048_576.0;
    (v - DOWN + MAGIC) - MAGIC
}

/// v times 2ᵘᵖ⁻ᵗ, rounded half up.
#[inline(always)]
const fn scaled(v: u32, up: u32, t: u32) -> u32 {
    if up >= t { v << (up - t) } else { (v + (1 << (t - up - 1))) >> (t - up) }
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
    each_lanes(n, out, vertical, |x| {
        let here = row[x];
        let west = if x == 0 { VOID } else { row[x - 1] };
        let east = if x + 1 == n { VOID } else { row[x + 1] };
        slopes([west, east, at(above, x), at(below, x)], here)
    });
}

/// As [`row`], for rows that have one sample more at either end, void where the map ends: `out` is two shorter.
///
/// # Panics
/// When the slices differ in length.
pub fn row_within(rows: [&[i32]; 3], vertical: Vertical, out: &mut [[u8; 2]]) {
    let [above, row, below] = rows;
    let n = out.len();
    assert!(rows.iter().all(|r| r.len() == n + 2), "rows of one length");
    each_lanes(n, out, vertical, |x| slopes([row[x], row[x + 2], above[x + 1], below[x + 1]], row[x + 1]));
}

/// Twice the slopes at a sample between its neighbours to the west, east, north and south; none at a void.
#[inline(always)]
fn slopes([west, east, north, south]: [i32; 4], here: i32) -> [i32; 2] {
    if here == VOID { [0, 0] } else { [slope2(west, here, east), slope2(north, here, south)] }
}

/// Encodes n slopes, in lanes as far as they fill some.
#[inline(always)]
fn each_lanes(n: usize, out: &mut [[u8; 2]], vertical: Vertical, slopes: impl Fn(usize) -> [i32; 2]) {
    let (whole, rest) = out.as_chunks_mut::<LANES>();
    let [mut xs, mut zs] = [[0; LANES]; 2];
    for (chunk, out) in whole.iter_mut().enumerate() {
        for (lane, (x, z)) in xs.iter_mut().zip(&mut zs).enumerate() {
            [*x, *z] = slopes(chunk * LANES + lane);
        }
        vertical.encode_lanes(&xs, &zs, out);
    }
    for (out, x) in rest.iter_mut().zip(n - n % LANES..) {
        *out = vertical.encode(slopes(x));
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
