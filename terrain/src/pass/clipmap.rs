//! Clipmap wrapping on any device: centres of many views, slots of many pages, copies into a physical texture.

use crate::compute::{Batch, Compute, ComputeError, Outputs};
use crate::kernel::clipmap::{
    CENTRE_WORDS, CENTRES, COPY, Centre, MAX_MIPS, MAX_SLOTS, NOWHERE, SLOTS, SourceMip,
};

/// The shape of a window: the same at every mip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Slots along an axis, at most [`MAX_SLOTS`].
    pub slots: u32,
    /// Mips, at most [`MAX_MIPS`].
    pub mips: u32,
    /// The side of a page of mip 0 in 1/256 m. That of the coarsest mip is below 2³⁰.
    pub step_256: u32,
}

impl Shape {
    /// # Errors
    /// A number out of its range, by name.
    pub fn check(&self) -> Result<(), ComputeError> {
        let fits = |what: &str, value: u32, most: u32| {
            if (1..=most).contains(&value) {
                return Ok(());
            }
            refused(format!("{what}: expected 1 to {most}, found {value}"))
        };
        fits("slots along an axis", self.slots, MAX_SLOTS)?;
        fits("mips", self.mips, MAX_MIPS)?;
        fits("the side of a page in 1/256 m", self.step_256, (1 << 30) >> (self.mips - 1))
    }
}

fn refused<T>(reason: String) -> Result<T, ComputeError> {
    Err(ComputeError::Refused { pass: "clipmap", reason })
}

/// Moves the centres of all mips of some views to their positions (in 1/256 m from the source's corner): `centres` holds
/// `shape.mips` for each view.
///
/// # Errors
/// A shape out of range, another number of centres, or a device that fails.
pub fn centres(
    compute: &dyn Compute,
    shape: Shape,
    positions: &[[i32; 2]],
    centres: &mut [Centre],
    answer: &mut Outputs,
) -> Result<(), ComputeError> {
    shape.check()?;
    let expected = positions.len() * shape.mips as usize;
    if centres.len() != expected {
        return refused(format!("{expected} centres for {} views, found {}", positions.len(), centres.len()));
    }
    if positions.is_empty() {
        return Ok(());
    }
    let before: Vec<u32> = centres.iter().flat_map(|c| c.to_words()).collect();
    let mut batch = Batch::new();
    let reads = [batch.words(bytemuck::cast_slice(positions)), batch.words(&before)];
    let after = batch.target(before.len());
    let params = [positions.len() as u32, shape.mips, shape.step_256, shape.slots];
    batch.step(&CENTRES, centres.len() as u64, &params, &reads, &[after]);
    batch.read(after);
    compute.run(&batch, answer)?;
    for (centre, words) in centres.iter_mut().zip(answer.words(0).as_chunks::<CENTRE_WORDS>().0) {
        *centre = Centre::from_words(*words);
    }
    Ok(())
}

/// The slots (x + z · slots) of pages given as x, z and mip, in one window; [`NOWHERE`] for those that it does not hold.
///
/// # Errors
/// A shape out of range, other numbers of centres or sources than mips, a source of no or more than 2³⁰ pages, or a device that
/// fails.
pub fn slots(
    compute: &dyn Compute,
    shape: Shape,
    centres: &[Centre],
    sources: &[SourceMip],
    pages: &[[i32; 3]],
    out: &mut Vec<u32>,
    answer: &mut Outputs,
) -> Result<(), ComputeError> {
    shape.check()?;
    let mips = shape.mips as usize;
    if centres.len() != mips || sources.len() != mips {
        return refused(format!("{mips} mips, but {} centres and {} sources", centres.len(), sources.len()));
    }
    if let Some(bad) = sources.iter().flat_map(|s| s.pages).find(|p| !(1..=1 << 30).contains(p)) {
        return refused(format!("a source of {bad} pages along an axis: expected 1 to {}", 1 << 30));
    }
    out.clear();
    if pages.is_empty() {
        return Ok(());
    }
    let centres: Vec<u32> = centres.iter().flat_map(|c| c.to_words()).collect();
    let sources: Vec<u32> = sources.iter().flat_map(|s| s.to_words()).collect();
    let mut batch = Batch::new();
    let reads = [batch.words(bytemuck::cast_slice(pages)), batch.words(&centres), batch.words(&sources)];
    let found = batch.target(pages.len());
    let params = [pages.len() as u32, shape.mips, shape.slots];
    batch.step(&SLOTS, pages.len() as u64, &params, &reads, &[found]);
    batch.read(found);
    compute.run(&batch, answer)?;
    out.extend_from_slice(answer.words(0));
    Ok(())
}

/// Pages on their way into a physical texture.
#[derive(Clone, Copy, Debug)]
pub struct Copies<'a> {
    /// Words of a page's row and rows of a page. Texels that are no words are packed into them row by row.
    pub page: [u32; 2],
    /// Slots along an axis.
    pub slots: u32,
    /// The pages, one after another.
    pub words: &'a [u32],
    /// The slot of each; [`NOWHERE`] leaves a page out.
    pub to: &'a [u32],
}

/// Copies pages into `texture`, whose rows run through all slots of a row.
///
/// # Errors
/// Lengths that do not fit one another, a slot that is not there or taken twice, or a device that fails.
pub fn copy(
    compute: &dyn Compute,
    copies: &Copies<'_>,
    texture: &mut Vec<u32>,
    answer: &mut Outputs,
) -> Result<(), ComputeError> {
    check_copies(copies, texture.len())?;
    let [row, rows] = copies.page;
    let mut batch = Batch::new();
    let reads = [batch.words(copies.words), batch.words(copies.to)];
    let target = batch.words(texture);
    let params = [copies.to.len() as u32, row, rows, copies.slots];
    batch.step(&COPY, copies.words.len() as u64, &params, &reads, &[target]);
    batch.read(target);
    compute.run(&batch, answer)?;
    texture.clear();
    texture.extend_from_slice(answer.words(0));
    Ok(())
}

fn check_copies(copies: &Copies<'_>, texture: usize) -> Result<(), ComputeError> {
    let (page, slots) = (copies.page.map(u64::from), u64::from(copies.slots));
    if page[0] == 0 || page[1] == 0 || slots == 0 || copies.slots > MAX_SLOTS {
        return refused(format!("pages of {} words by {} rows in {slots} slots a side", page[0], page[1]));
    }
    // A page is at most 2⁶⁴ words and the slots are 2¹⁶.
    let expected = [
        (page[0].saturating_mul(page[1]).saturating_mul(copies.to.len() as u64), copies.words.len()),
        (page[0].saturating_mul(page[1]).saturating_mul(slots * slots), texture),
    ];
    for ((expected, found), what) in expected.into_iter().zip(["the pages", "the texture"]) {
        if expected != found as u64 {
            return refused(format!("{what}: expected {expected} words, found {found}"));
        }
    }
    let mut taken: Vec<u32> = copies.to.iter().copied().filter(|&slot| slot != NOWHERE).collect();
    taken.sort_unstable();
    if let Some(&slot) = taken.last().filter(|&&slot| u64::from(slot) >= slots * slots) {
        return refused(format!("slot {slot} of {}", slots * slots));
    }
    match taken.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => refused(format!("two pages for slot {}", pair[0])),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compute::CpuCompute;

    #[test]
    fn what_does_not_fit_is_refused_in_its_own_words() {
        let (cpu, mut answer) = (CpuCompute::new(), Outputs::new());
        let shape = Shape { slots: 8, mips: 3, step_256: 4096 };
        let said = |result: Result<(), ComputeError>| result.unwrap_err().to_string();
        for (wrong, words) in [
            (Shape { slots: 0, ..shape }, "slots along an axis: expected 1 to 256, found 0"),
            (Shape { mips: 17, ..shape }, "mips: expected 1 to 16, found 17"),
            (Shape { step_256: 1 << 29, ..shape }, "expected 1 to 268435456, found 536870912"),
        ] {
            let found = said(centres(&cpu, wrong, &[], &mut [], &mut answer));
            assert!(found.contains(words), "{found}");
        }
        let few = centres(&cpu, shape, &[[0, 0]], &mut [Centre::default()], &mut answer);
        assert_eq!(said(few), "clipmap: 3 centres for 1 views, found 1");
        let copies = Copies { page: [2, 2], slots: 2, words: &[0; 8], to: &[3, 3] };
        assert_eq!(said(copy(&cpu, &copies, &mut vec![0; 16], &mut answer)), "clipmap: two pages for slot 3");
        let copies = Copies { to: &[3, 4], ..copies };
        assert_eq!(said(copy(&cpu, &copies, &mut vec![0; 16], &mut answer)), "clipmap: slot 4 of 4");
        let short = said(copy(&cpu, &copies, &mut vec![0; 15], &mut answer));
        assert_eq!(short, "clipmap: the texture: expected 16 words, found 15");
    }
}
