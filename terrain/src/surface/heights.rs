//! A tile's samples in few bytes, and the lowest and highest of every aligned square of its cells.
//!
//! Where the relief fits, samples are 16-bit offsets from a base with one value kept for voids, else whole quanta; what
//! is decoded is the same. Owns only storage: which samples and which triangles is [`super::Tile`]'s business.

use crate::height::VOID;

/// The smallest square that has a range of its own: 4 × 4 cells.
pub(crate) const RANGE_LOG2: u32 = 2;

/// The longest row of samples: 128 and the apron's three.
const MAX_ROW: usize = 131;

/// A stored sample: 16 or 32 bits.
pub(crate) trait Stored: Copy + Ord + Into<i32> + std::fmt::Debug {
    /// Stands for "no sample here", and is less than every sample.
    const VOID: Self;
}

impl Stored for i16 {
    const VOID: i16 = i16::MIN;
}

impl Stored for i32 {
    const VOID: i32 = VOID;
}

/// Samples and ranges of one tile in one width.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Samples<T> {
    /// What 0 stands for, in quanta.
    pub(crate) base: i32,
    /// Rows of `side + 3`, the first at sample −1.
    pub(crate) values: Box<[T]>,
    /// Lowest and highest of squares of 4 cells a side, then of 8, up to half the tile; each level in Z order, so that
    /// the quarters of a square stand together. They may be too wide, never too narrow: a square with nothing visible may
    /// be empty (lowest above highest).
    pub(crate) ranges: Box<[[T; 2]]>,
}

/// The samples of a tile.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Heights {
    /// Offsets of 16 bits.
    Narrow(Samples<i16>),
    /// Whole quanta.
    Wide(Samples<i32>),
}

impl<T: Stored> Samples<T> {
    #[inline(always)]
    pub(crate) fn get(&self, index: usize) -> i32 {
        let v = self.values[index];
        // Wide samples have base 0.
        if v == T::VOID { VOID } else { self.base.wrapping_add(v.into()) }
    }

    fn row(&self, index: usize, out: &mut [i32]) {
        let row = &self.values[index..index + out.len()];
        for (&v, out) in row.iter().zip(out) {
            *out = if v == T::VOID { VOID } else { self.base.wrapping_add(v.into()) };
        }
    }

    /// The corners [00, 10, 01, 11] of a cell none of whose visible triangles touches a void, `index` being its 00.
    #[inline(always)]
    pub(crate) fn corners(&self, index: usize, width: usize) -> [i32; 4] {
        let square = &self.values[index..index + width + 2];
        let of = |v: T| self.base.wrapping_add(v.into());
        [of(square[0]), of(square[1]), of(square[width]), of(square[width + 1])]
    }
}

impl Heights {
    /// Stores quanta as narrowly as they fit, without ranges.
    pub(crate) fn of(quanta: &[i32]) -> Self {
        if let Some(first) = quanta.first()
            && let Some(values) = offsets(quanta, *first)
        {
            return Self::Narrow(Samples { base: *first, values, ranges: Box::default() });
        }
        let valid = || quanta.iter().copied().filter(|&q| q != VOID);
        let (lo, hi) = (valid().min().unwrap_or(0), valid().max().unwrap_or(0));
        let (base, relief) = (lo.wrapping_add(i32::from(i16::MAX)), i64::from(hi) - i64::from(lo));
        if relief > 2 * i64::from(i16::MAX) {
            return Self::Wide(Samples { base: 0, values: quanta.into(), ranges: Box::default() });
        }
        let offset = |&q: &i32| if q == VOID { i16::MIN } else { q.wrapping_sub(base) as i16 };
        Self::Narrow(Samples { base, values: quanta.iter().map(offset).collect(), ranges: Box::default() })
    }

    #[inline(always)]
    pub(crate) fn get(&self, index: usize) -> i32 {
        match self {
            Self::Narrow(s) => s.get(index),
            Self::Wide(s) => s.get(index),
        }
    }

    #[inline(always)]
    pub(crate) fn corners(&self, index: usize, width: usize) -> [i32; 4] {
        match self {
            Self::Narrow(s) => s.corners(index, width),
            Self::Wide(s) => s.corners(index, width),
        }
    }

    /// Reads a sample and the one `width` behind it, for their being read.
    #[inline(always)]
    pub(crate) fn touch(&self, index: usize, width: usize) -> i32 {
        match self {
            Self::Narrow(s) => i32::from(s.values[index] ^ s.values[index + width]),
            Self::Wide(s) => s.values[index] ^ s.values[index + width],
        }
    }

    /// Samples one after another from `index` on.
    pub(crate) fn row(&self, index: usize, out: &mut [i32]) {
        match self {
            Self::Narrow(s) => s.row(index, out),
            Self::Wide(s) => s.row(index, out),
        }
    }

    /// Makes the ranges of a tile of `side` cells. `shown` gives which corners of a cell belong to visible triangles;
    /// without it all do, and no own sample is a void. Answers the range of everything, in quanta.
    pub(crate) fn make_ranges(
        &mut self,
        side: usize,
        shown: Option<&dyn Fn(usize, usize) -> [bool; 4]>,
    ) -> Option<(i32, i32)> {
        let (base, [lo, hi]) = match self {
            Self::Narrow(s) => {
                let whole = ranges(s, side, shown, i16::MAX);
                (s.base, whole.map(i32::from))
            }
            Self::Wide(s) => (0, ranges(s, side, shown, i32::MAX)),
        };
        (lo <= hi).then(|| (base.wrapping_add(lo), base.wrapping_add(hi)))
    }

    /// Bytes held on the heap.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Narrow(s) => s.values.len() * 2 + s.ranges.len() * 4,
            Self::Wide(s) => s.values.len() * 4 + s.ranges.len() * 8,
        }
    }
}

/// 16-bit offsets from `base` in one pass; `None` where one does not fit (a void never does) or would read as a void.
fn offsets(quanta: &[i32], base: i32) -> Option<Box<[i16]>> {
    let mut values = vec![0i16; quanta.len()].into_boxed_slice();
    let mut lost = 0;
    let mut lowest = i16::MAX;
    for (&q, v) in quanta.iter().zip(&mut values) {
        let offset = q.wrapping_sub(base);
        *v = offset as i16;
        lost |= offset ^ i32::from(offset as i16);
        lowest = lowest.min(offset as i16);
    }
    (lost == 0 && lowest != i16::MIN).then_some(values)
}

/// Where the ranges of squares of 2^`level` cells begin.
#[inline(always)]
pub(crate) fn range_start(level: u32, side_log2: u32) -> usize {
    // 4ⁿ squares at the level of 2^(side_log2 − n) cells: a geometric sum.
    let count = |l: u32| 1usize << (2 * (side_log2 - l));
    (count(RANGE_LOG2) - count(level)) / 3 * 4
}

/// A square's place in Z order: bits of x and z in turn.
fn z_order(x: usize, z: usize) -> usize {
    // At most 32 squares a side.
    let spread = |v: usize| (v & 1) | (v & 2) << 1 | (v & 4) << 2 | (v & 8) << 3 | (v & 16) << 4;
    spread(x) | spread(z) << 1
}

fn ranges<T: Stored>(
    s: &mut Samples<T>,
    side: usize,
    shown: Option<&dyn Fn(usize, usize) -> [bool; 4]>,
    most: T,
) -> [T; 2] {
    let side_log2 = side.trailing_zeros();
    let count = range_start(side_log2, side_log2);
    let mut out = vec![[most, T::VOID]; count];
    let across = side >> RANGE_LOG2;
    match shown {
        None => dense(&s.values, side, &mut out[..across * across]),
        Some(shown) => sparse(&s.values, side, shown, &mut out[..across * across]),
    }
    for level in RANGE_LOG2 + 1..side_log2 {
        let (finer, coarser) = out.split_at_mut(range_start(level, side_log2));
        let finer = &finer[range_start(level - 1, side_log2)..];
        for (four, out) in finer.as_chunks::<4>().0.iter().zip(coarser) {
            *out = join(join(four[0], four[1]), join(four[2], four[3]));
        }
    }
    let top = &out[range_start(side_log2 - 1, side_log2)..];
    let whole = top.iter().copied().reduce(join).unwrap_or([most, T::VOID]);
    s.ranges = out.into_boxed_slice();
    whole
}

fn join<T: Ord>(a: [T; 2], b: [T; 2]) -> [T; 2] {
    let ([a0, a1], [b0, b1]) = (a, b);
    [a0.min(b0), a1.max(b1)]
}

/// Ranges of squares of 4 cells where every cell is shown. Columns first, so that it runs on whole vectors.
fn dense<T: Stored>(values: &[T], side: usize, out: &mut [[T; 2]]) {
    let width = side + 3;
    let mut lo = [T::VOID; MAX_ROW];
    let mut hi = [T::VOID; MAX_ROW];
    for z in 0..side >> RANGE_LOG2 {
        // Samples 0 ..= side of five rows.
        let row = |i: usize| &values[(4 * z + 1 + i) * width + 1..][..side + 1];
        let [a, b, c, d, e] = [0, 1, 2, 3, 4].map(row);
        let (lo, hi) = (&mut lo[..side + 1], &mut hi[..side + 1]);
        for i in 0..side + 1 {
            lo[i] = a[i].min(b[i]).min(c[i].min(d[i])).min(e[i]);
            hi[i] = a[i].max(b[i]).max(c[i].max(d[i])).max(e[i]);
        }
        for x in 0..side >> RANGE_LOG2 {
            let (l, h) = (&lo[4 * x..4 * x + 5], &hi[4 * x..4 * x + 5]);
            out[z_order(x, z)] =
                [l[0].min(l[1]).min(l[2].min(l[3])).min(l[4]), h[0].max(h[1]).max(h[2].max(h[3])).max(h[4])];
        }
    }
}

/// Ranges of squares of 4 cells over the corners that are shown.
fn sparse<T: Stored>(
    values: &[T],
    side: usize,
    shown: &dyn Fn(usize, usize) -> [bool; 4],
    out: &mut [[T; 2]],
) {
    let width = side + 3;
    for z in 0..side {
        for x in 0..side {
            let range = &mut out[z_order(x >> RANGE_LOG2, z >> RANGE_LOG2)];
            let at = (z + 1) * width + x + 1;
            for (i, shown) in [at, at + 1, at + width, at + width + 1].into_iter().zip(shown(x, z)) {
                if shown {
                    *range = join(*range, [values[i]; 2]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quanta(side: usize, relief: i32) -> Vec<i32> {
        let part = |i: usize| (i * 7919 % 10_007) as i64 * i64::from(relief) / 10_006;
        (0..(side + 3) * (side + 3)).map(|i| 1000 + part(i) as i32).collect()
    }

    #[test]
    fn every_relief_up_to_sixteen_bits_is_narrow_and_decodes_to_the_same() {
        for (relief, narrow) in
            [(0, true), (60_000, true), (65_534, true), (70_000, false), (2_000_000, false)]
        {
            for void in [false, true] {
                let mut q = quanta(32, relief);
                if void {
                    q.iter_mut().step_by(41).for_each(|q| *q = VOID);
                }
                let h = Heights::of(&q);
                assert_eq!(matches!(h, Heights::Narrow(_)), narrow, "{relief}");
                assert!(q.iter().enumerate().all(|(i, &q)| h.get(i) == q), "{relief}");
                let mut row = vec![0; 35];
                h.row(7 * 35, &mut row);
                assert_eq!(row, q[7 * 35..8 * 35], "{relief}");
            }
        }
        // The largest relief that fits, and one more; both ways round, so that either is the first sample.
        for (a, b, narrow) in [(-5, 65_529, true), (-5, 65_530, false)] {
            for (first, other) in [(a, b), (b, a)] {
                let mut q = vec![first; 35 * 35];
                q[77] = other;
                let h = Heights::of(&q);
                assert_eq!(matches!(h, Heights::Narrow(_)), narrow);
                assert_eq!((h.get(0), h.get(77)), (first, other));
            }
        }
        let voids = Heights::of(&vec![VOID; 35 * 35]);
        assert_eq!(voids.get(9), VOID);
    }

    #[test]
    fn ranges_are_those_of_the_samples_under_every_square() {
        for side in [32usize, 64, 128] {
            for (relief, hidden) in [(900, false), (900, true), (900_000, false), (900_000, true)] {
                let q = quanta(side, relief);
                let visible = |x: usize, z: usize| !(hidden && (x * 3 + z * 5) % 7 < 4);
                let shown = |x: usize, z: usize| [visible(x, z); 4];
                let mut h = Heights::of(&q);
                let whole = h.make_ranges(side, if hidden { Some(&shown) } else { None });
                let brute = |x0: usize, z0: usize, n: usize| {
                    let mut range = None;
                    for z in z0..z0 + n {
                        for x in (x0..x0 + n).filter(|&x| visible(x, z)) {
                            for (dx, dz) in [(1, 1), (2, 1), (1, 2), (2, 2)] {
                                let v = q[(z + dz) * (side + 3) + x + dx];
                                range = Some(range.map_or((v, v), |(a, b): (i32, i32)| (a.min(v), b.max(v))));
                            }
                        }
                    }
                    range
                };
                assert_eq!(whole, brute(0, 0, side));
                let log2 = side.trailing_zeros();
                for level in RANGE_LOG2..log2 {
                    let across = side >> level;
                    for i in 0..across * across {
                        let (x, z) = (i % across, i / across);
                        let at = range_start(level, log2) + z_order(x, z);
                        let (base, [lo, hi]) = match &h {
                            Heights::Narrow(s) => (s.base, s.ranges[at].map(i32::from)),
                            Heights::Wide(s) => (0, s.ranges[at]),
                        };
                        let found = (lo <= hi).then(|| (base + lo, base + hi));
                        assert_eq!(found, brute(x << level, z << level, 1 << level), "{side} {level} {i}");
                    }
                }
            }
        }
    }
}
