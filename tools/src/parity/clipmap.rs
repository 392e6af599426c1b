//! Cases of clipmap wrapping: views that jump about, also beyond the source, windows wider and narrower than it, pages far
//! out, and pages of every shape.

use super::{Case, Random};
use highground_terrain::compute::{Compute, ComputeError, Outputs};
use highground_terrain::kernel::clipmap::{Centre, NOWHERE, SourceMip};
use highground_terrain::pass::clipmap::{Copies, Shape, centres, copy, slots};

pub(super) fn cases(seed: u64) -> Vec<Case> {
    let mut cases = Vec::new();
    let shapes =
        [(1, 1, 256), (8, 6, 8192), (5, 9, 4096), (7, 3, 1 << 20), (256, 16, 1 << 14), (32, 10, 12_345)];
    for (n, (slots, mips, step_256)) in shapes.into_iter().enumerate() {
        let shape = Shape { slots, mips, step_256 };
        for (what, reach) in [("near", 1 << 16), ("far", i64::from(i32::MAX))] {
            let name = format!("{what} views of {slots} slots, {mips} mips");
            cases.push(Case::new(name, move |c| windows(c, shape, reach, seed ^ (n as u64) << 8)));
        }
    }
    for (n, (page, slots, pages)) in
        [([1, 1], 3, 9), ([3, 5], 4, 7), ([24, 32], 8, 40), ([128, 128], 6, 20), ([96, 33], 9, 81)]
            .into_iter()
            .enumerate()
    {
        let name = format!("{pages} pages of {}x{} words", page[0], page[1]);
        cases.push(Case::new(name, move |c| copied(c, page, slots, pages, seed ^ (n as u64) << 16)));
    }
    cases
}

/// Views move ten times; then the slots of pages around one of them.
fn windows(compute: &dyn Compute, shape: Shape, reach: i64, seed: u64) -> Result<Vec<u32>, ComputeError> {
    let mut random = Random(seed);
    let mut answer = Outputs::new();
    let mut all = vec![Centre::default(); 300 * shape.mips as usize];
    let mut words = Vec::new();
    let anywhere = |random: &mut Random| ((random.next() >> 16) as i64 % (2 * reach) - reach) as i32;
    for _ in 0..10 {
        let positions: Vec<[i32; 2]> =
            (0..300).map(|_| [anywhere(&mut random), anywhere(&mut random)]).collect();
        centres(compute, shape, &positions, &mut all, &mut answer)?;
        words.extend(all.iter().flat_map(|c| c.to_words()));
    }
    let own = &all[..shape.mips as usize];
    let sources: Vec<SourceMip> = (0..shape.mips)
        .map(|mip| {
            let pages = [1 + (random.next() % 40) as u32, 1 + (random.next() % 3000) as u32];
            let slot = |bits: u64| (bits % u64::from(shape.slots)) as u32;
            let anchor = (mip + 1 == shape.mips).then(|| [slot(random.next()), slot(random.next())]);
            SourceMip { pages, anchor }
        })
        .collect();
    let pages: Vec<[i32; 3]> = (0..30_000)
        .map(|_| {
            let mip = (random.next() % u64::from(shape.mips + 1)) as usize;
            let centre = own.get(mip).map_or([0; 2], |c| c.logical);
            let near = |c: i32, bits: u64| c.wrapping_add((bits % 301) as i32 - 150);
            let page = match random.next() % 8 {
                0 => [random.next() as i32, random.next() as i32],
                _ => [near(centre[0], random.next()), near(centre[1], random.next())],
            };
            [page[0], page[1], mip as i32]
        })
        .collect();
    let mut found = Vec::new();
    slots(compute, shape, own, &sources, &pages, &mut found, &mut answer)?;
    words.extend(found);
    Ok(words)
}

fn copied(
    compute: &dyn Compute,
    page: [u32; 2],
    slots: u32,
    pages: u32,
    seed: u64,
) -> Result<Vec<u32>, ComputeError> {
    let mut random = Random(seed);
    let page_words = page[0] * page[1];
    let mut texture: Vec<u32> = (0..page_words * slots * slots).map(|_| random.next() as u32).collect();
    let words: Vec<u32> = (0..page_words * pages).map(|_| random.next() as u32).collect();
    // Every slot once, in an order of its own; some pages are left out.
    let mut free: Vec<u32> = (0..slots * slots).collect();
    let to: Vec<u32> = (0..pages)
        .map(|_| match random.next() % 5 {
            0 => NOWHERE,
            _ => free.swap_remove((random.next() % free.len() as u64) as usize),
        })
        .collect();
    let copies = Copies { page, slots, words: &words, to: &to };
    copy(compute, &copies, &mut texture, &mut Outputs::new())?;
    Ok(texture)
}
