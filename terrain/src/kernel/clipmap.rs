//! Clipmap wrapping: which slot of a fixed physical texture holds which page of an endless source.
//!
//! Owns the arithmetic of toroidal windows: the centre of every mip's window as its view moves, the slot of a page, and
//! copies of pages into slots. The rules are section 5 of the reference article on custom terrain: every mip finds its
//! logical centre from the position alone; the physical centre moves along with it, modulo the slots; the source wraps by
//! its own number of pages. Integers only. Never knows what is in a page, never decides what is loaded.
//!
//! **Centres.** Page steps are S₀ · 2ᵐ, positions and steps in 1/256 m. C = ⌊p / step⌋; T moves by as much as C does, and is
//! brought back into 0 … N − 1 by a positive modulo. What is left of p within its page is kept as it is: a fraction of a
//! page for whoever shades.
//!
//! **Slots.** A page p of a mip with n source pages lies Δ = (p − C) rem n from the centre (the remainder has the sign of
//! p − C). The window holds −⌊N / 2⌋ ≤ Δ < N − ⌊N / 2⌋; what is beyond is looked for the other way round the source, n pages
//! on, and has no slot if it is beyond there too. (The article asks whether |Δ| is more than half the slots, and so loses
//! a page where an even window is as wide as its source.) The slot is (T + Δ) mod N. The coarsest mip keeps the slot of its first page instead, its **anchor**: page p is always in slot (anchor + p mod n) mod N, so what
//! all others fall back on does not move under them.

use super::{Bound, Entry};
use rayon::prelude::*;

/// The most slots along an axis.
pub const MAX_SLOTS: u32 = 256;

/// The most mips.
pub const MAX_MIPS: u32 = 16;

/// Words of a centre: C, T and the rest of the position, each for x and z.
pub const CENTRE_WORDS: usize = 6;

/// No slot.
pub const NOWHERE: u32 = u32::MAX;

/// Moves the centres of several views. Parameters: views, mips, S₀ in 1/256 m, slots along an axis. Reads a position a
/// view (x, z in 1/256 m from the source's corner, signed) and the centres before, [`CENTRE_WORDS`] for each mip of each
/// view; writes them anew.
pub const CENTRES: Entry =
    Entry { kernel: "clipmap", name: "centres", reads: 2, writes: 1, params: 4, twin: centres };

/// Finds the slots of pages in one window. Parameters: pages, mips, slots along an axis. Reads pages (x, z, mip), the
/// window's centres, and for each mip the source's pages along x and z and its anchor along x and z; writes for each page
/// its slot, x + z · slots, or [`NOWHERE`].
pub const SLOTS: Entry =
    Entry { kernel: "clipmap", name: "slots", reads: 3, writes: 1, params: 3, twin: slots };

/// Copies pages into slots. Parameters: copies, words of a row of a page, rows of a page, slots along an axis. Reads the
/// pages one after another and the slot of each; changes the texture, whose rows run through the slots of a row. Pages with
/// [`NOWHERE`] for a slot are left out; of two for one slot neither may be relied on, so the pass refuses them.
pub const COPY: Entry = Entry { kernel: "clipmap", name: "copy", reads: 2, writes: 1, params: 4, twin: copy };

/// Where a window of one mip stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Centre {
    /// The page that the view is in: C for x and z.
    pub logical: [i32; 2],
    /// The slot of that page: T for x and z.
    pub physical: [u32; 2],
    /// How far the view is into the page, in 1/256 m.
    pub rest: [u32; 2],
}

impl Centre {
    /// The centre for a position in 1/256 m from the source's corner, moved from where the window stood.
    pub fn moved(self, position: [i32; 2], step: u32, slots: u32) -> Self {
        let mut to = self;
        for (axis, position) in position.into_iter().enumerate() {
            let (p, step) = (i64::from(position), i64::from(step));
            let logical = p.div_euclid(step) as i32;
            let delta = i64::from(logical) - i64::from(self.logical[axis]);
            to.logical[axis] = logical;
            to.physical[axis] = (i64::from(self.physical[axis]) + delta).rem_euclid(i64::from(slots)) as u32;
            to.rest[axis] = p.rem_euclid(step) as u32;
        }
        to
    }

    /// As the kernels' words.
    pub fn to_words(self) -> [u32; CENTRE_WORDS] {
        let [x, z] = self.logical.map(|v| v as u32);
        [x, z, self.physical[0], self.physical[1], self.rest[0], self.rest[1]]
    }

    /// From the kernels' words.
    pub fn from_words([x, z, tx, tz, rx, rz]: [u32; CENTRE_WORDS]) -> Self {
        Self { logical: [x as i32, z as i32], physical: [tx, tz], rest: [rx, rz] }
    }
}

/// What a window knows of one mip's source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceMip {
    /// Pages along x and z, at least 1.
    pub pages: [u32; 2],
    /// The slot of page 0, where this is the coarsest mip.
    pub anchor: Option<[u32; 2]>,
}

impl SourceMip {
    /// As the kernels' words.
    pub fn to_words(self) -> [u32; 4] {
        let [x, z] = self.anchor.unwrap_or([NOWHERE; 2]);
        [self.pages[0], self.pages[1], x, z]
    }
}

/// The slot of a page along one axis.
fn slot_along(page: i32, centre: i32, physical: u32, pages: u32, anchor: u32, slots: u32) -> Option<u32> {
    let (count, n) = (i64::from(pages), i64::from(slots));
    if anchor != NOWHERE {
        let within = i64::from(page).rem_euclid(count);
        return (within < n).then_some(((i64::from(anchor) + within) % n) as u32);
    }
    let mut delta = (i64::from(page) - i64::from(centre)) % count;
    let held = |delta: i64| -(n / 2) <= delta && delta < n - n / 2;
    if !held(delta) {
        delta -= delta.signum() * count;
    }
    held(delta).then(|| (i64::from(physical) + delta).rem_euclid(n) as u32)
}

/// The slot of a page; `None` when the window does not hold it.
pub fn slot(page: [i32; 2], centre: &Centre, source: &SourceMip, slots: u32) -> Option<[u32; 2]> {
    let anchor = source.anchor.unwrap_or([NOWHERE; 2]);
    let along = |axis: usize| {
        let (c, t) = (centre.logical[axis], centre.physical[axis]);
        slot_along(page[axis], c, t, source.pages[axis], anchor[axis], slots)
    };
    Some([along(0)?, along(1)?])
}

fn centres(params: &[u32], bound: &mut Bound<'_>) {
    let ([positions, before], [out]) = bound.split();
    let ([views, mips], step, slots) = ([params[0] as usize, params[1] as usize], params[2], params[3]);
    for view in 0..views {
        let position = [positions[2 * view] as i32, positions[2 * view + 1] as i32];
        for mip in 0..mips {
            let at = (view * mips + mip) * CENTRE_WORDS;
            let words: &[u32; CENTRE_WORDS] = before[at..][..CENTRE_WORDS].try_into().expect("so many words");
            let centre = Centre::from_words(*words).moved(position, step << mip, slots);
            out[at..at + CENTRE_WORDS].copy_from_slice(&centre.to_words());
        }
    }
}

fn slots(params: &[u32], bound: &mut Bound<'_>) {
    let ([pages, centres, sources], [out]) = bound.split();
    let ([count, mips], slots) = ([params[0] as usize, params[1] as usize], params[2]);
    for (page, out) in pages.as_chunks::<3>().0[..count].iter().zip(out) {
        let mip = page[2] as usize;
        let found = (mip < mips).then(|| {
            let centre = centres[mip * CENTRE_WORDS..].first_chunk().expect("a centre a mip");
            let &[w, h, ax, az] = sources[4 * mip..].first_chunk().expect("a source a mip");
            let anchor = (ax != NOWHERE).then_some([ax, az]);
            let page = [page[0] as i32, page[1] as i32];
            slot(page, &Centre::from_words(*centre), &SourceMip { pages: [w, h], anchor }, slots)
        });
        *out = found.flatten().map_or(NOWHERE, |[x, z]| x + z * slots);
    }
}

fn copy(params: &[u32], bound: &mut Bound<'_>) {
    let ([pages, to], [texture]) = bound.split();
    let [copies, row_words, rows, slots] = std::array::from_fn(|i| params[i] as usize);
    let stride = row_words * slots;
    // The page of every slot, so that the rows of the texture can be filled side by side.
    let mut pages_of = vec![usize::MAX; slots * slots];
    for (copy, &slot) in to[..copies].iter().enumerate().filter(|(_, slot)| **slot != NOWHERE) {
        pages_of[slot as usize] = copy;
    }
    texture.par_chunks_mut(stride * rows).zip(pages_of.par_chunks(slots)).for_each(|(texture, pages_of)| {
        for (x, &copy) in pages_of.iter().enumerate().filter(|(_, copy)| **copy != usize::MAX) {
            let page = &pages[copy * rows * row_words..];
            for (from, to) in page.chunks_exact(row_words).take(rows).zip(texture.chunks_exact_mut(stride)) {
                to[x * row_words..][..row_words].copy_from_slice(from);
            }
        }
    });
}

#[cfg(test)]
mod tests;
