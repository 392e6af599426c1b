//! Levels of equal sections on any device, by size on the screen or by projected error, and the surface between levels.
//!
//! Owns what a device is asked and what is refused. Many views go in one dispatch.

use crate::compute::{Batch, BufferId, Compute, ComputeError, Outputs};
use crate::config::{MAX_SAMPLES, MAX_SPACING_256, SPACING_PER_M};
use crate::height::{MAX_QUANTUM_LOG2, QuantumLog2};
use crate::kernel::sections::{
    CHUNK_WORDS, EDGES, ERROR, FINE_LOG2, MOST_LEVELS, Params, ROSTER_WORDS, SCREEN, SURFACE, log2_of_square,
};
use crate::pass::select::View;

/// How a terrain is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Sections along x and z.
    pub sections: [u32; 2],
    /// Quads along a section's side.
    pub quads: u32,
    /// Spacing in 1/256 m.
    pub spacing_256: u32,
}

/// What is known of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// Lowest height in 1/256 m, rounded down.
    pub low_256: i32,
    /// Highest height in 1/256 m, rounded up.
    pub high_256: i32,
    /// The finest level that is resident.
    pub finest: u32,
}

/// A place in the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eye {
    /// Over the ground plane.
    pub at: View,
    /// Height in 1/256 m.
    pub y_256: i32,
}

/// When levels change by size on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScreenRule {
    /// Up to here level 0 is drawn, in 1/256 m; each doubling is a level.
    pub near_256: u32,
    /// log₂ of the vertices along a section's side: 1 to 7. The last level has two.
    pub vertices_log2: u32,
}

/// When levels change by projected error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorRule {
    /// Levels there are, 1 to [`MOST_LEVELS`].
    pub levels: u32,
    /// Metres of distance at which a metre of error is a pixel, in 2⁻⁸: 935 m for 1080 pixels over 60°.
    pub scale_256: u32,
    /// The quantum that errors are counted in.
    pub quantum: QuantumLog2,
}

/// The levels of a section and of its edges, in 2⁻⁷.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels {
    /// Inside.
    pub own: u16,
    /// West, east, north, south: the coarser of the two sections'.
    pub edges: [u16; 4],
}

/// The level of a chunk and its skirt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// 0 is the finest.
    pub level: u8,
    /// Whether it has a skirt west, east, north and south.
    pub skirts: [bool; 4],
    /// How deep, in quanta.
    pub skirt_depth: u32,
}

/// Memory for these passes, to be used again.
#[derive(Debug, Default)]
pub struct Scratch {
    sections: Vec<u32>,
    views: Vec<u32>,
    batch: Batch<'static>,
    out: Outputs,
}

fn refuse<T>(reason: String) -> Result<T, ComputeError> {
    Err(ComputeError::Refused { pass: "sections", reason })
}

impl Layout {
    fn params(&self, views: usize) -> Result<Params, ComputeError> {
        let [across, down] = self.sections;
        let widest = u64::from(across.max(down)) * u64::from(self.quads);
        if across == 0 || down == 0 || self.quads == 0 || widest >= u64::from(MAX_SAMPLES) {
            return refuse(format!(
                "expected 1 to {} quads a side, found {across}x{down} sections of {}",
                MAX_SAMPLES - 1,
                self.quads
            ));
        }
        if self.spacing_256 == 0 || self.spacing_256 > MAX_SPACING_256 {
            return refuse(format!(
                "expected a spacing of up to {MAX_SPACING_256}/256 m, found {}",
                self.spacing_256
            ));
        }
        let all = u64::from(across) * u64::from(down) * views as u64 * 4;
        if views == 0 || all > crate::compute::batch::MOST_WORDS as u64 {
            return refuse(format!(
                "expected some views of at most 2^23 sections in all, found {views} views"
            ));
        }
        let (quads, spacing_256) = (self.quads, self.spacing_256);
        Ok(Params { across, down, views: views as u32, quads, spacing_256, ..Params::default() })
    }

    fn count(&self) -> usize {
        (self.sections[0] * self.sections[1]) as usize
    }
}

impl Scratch {
    fn fill(
        &mut self,
        layout: &Layout,
        sections: &[Section],
        views: &[Eye],
        coarsest: u32,
    ) -> Result<(), ComputeError> {
        if sections.len() != layout.count() {
            return refuse(format!("expected {} sections, found {}", layout.count(), sections.len()));
        }
        self.sections.clear();
        for (i, s) in sections.iter().enumerate() {
            if s.low_256 > s.high_256 || s.finest > coarsest {
                return refuse(format!(
                    "section {i}: expected heights in order and levels up to {coarsest}, found {s:?}"
                ));
            }
            self.sections.extend([s.low_256 as u32, s.high_256 as u32, s.finest]);
        }
        self.views.clear();
        for eye in views {
            self.views.extend(eye.at.words());
            self.views.push(eye.y_256 as u32);
        }
        Ok(())
    }
}

/// The levels of all sections and their edges by size on the screen: row by row, view by view. Appends to `out`.
///
/// # Errors
/// What does not fit together, or a device that fails.
pub fn by_screen_size(
    compute: &dyn Compute,
    layout: &Layout,
    sections: &[Section],
    views: &[Eye],
    rule: &ScreenRule,
    scratch: &mut Scratch,
    out: &mut Vec<Levels>,
) -> Result<(), ComputeError> {
    check_vertices(layout, rule.vertices_log2)?;
    if rule.near_256 == 0 || rule.near_256 > 1 << 31 {
        return refuse(format!("expected level 0 up to 1 to 2^31/256 m, found {}", rule.near_256));
    }
    let near = u64::from(rule.near_256);
    let (coarsest, base) = (rule.vertices_log2 - 1, log2_of_square(near * near));
    let params = Params { coarsest, base, ..layout.params(views.len())? };
    scratch.fill(layout, sections, views, coarsest)?;
    let all = layout.count() * views.len();
    let mut batch = std::mem::take(&mut scratch.batch).emptied();
    let (of, from) = (batch.words(&scratch.sections), batch.words(&scratch.views));
    let levels = batch.target(all);
    batch.step(&SCREEN, all as u64, &params.words(), &[of, from], &[levels]);
    let roster = batch.target(all * ROSTER_WORDS);
    batch.step(&EDGES, all as u64, &params.words(), &[levels], &[roster]);
    run(compute, batch, roster, &mut scratch.out).map(|batch| scratch.batch = batch)?;
    let words = scratch.out.words(0).as_chunks::<ROSTER_WORDS>().0;
    out.extend(words.iter().map(|&[own, east, south]| Levels {
        own: own as u16,
        edges: [(own >> 16) as u16, east as u16, (east >> 16) as u16, south as u16],
    }));
    Ok(())
}

/// The levels and skirts of all chunks by projected error: row by row, view by view. `errors` are `levels` a chunk, in
/// quanta ([`crate::kernel::sections::errors`]). Appends to `out`.
///
/// # Errors
/// What does not fit together, or a device that fails.
#[expect(clippy::too_many_arguments, reason = "what is asked, by what rule, with what memory")]
pub fn by_projected_error(
    compute: &dyn Compute,
    layout: &Layout,
    sections: &[Section],
    errors: &[u32],
    views: &[Eye],
    rule: &ErrorRule,
    scratch: &mut Scratch,
    out: &mut Vec<Chunk>,
) -> Result<(), ComputeError> {
    let (levels, scale_256, quantum_log2) = (rule.levels, rule.scale_256, u32::from(rule.quantum.get()));
    debug_assert!(quantum_log2 <= MAX_QUANTUM_LOG2.into());
    if !(1..=MOST_LEVELS as u32).contains(&levels) || !layout.quads.is_multiple_of(1 << (levels - 1)) {
        return refuse(format!(
            "expected 1 to {MOST_LEVELS} levels that divide {} quads, found {levels}",
            layout.quads
        ));
    }
    if errors.len() != layout.count() * levels as usize || errors.iter().any(|&e| e >= 1 << 25) {
        return refuse(format!(
            "expected {levels} errors of less than 2^25 quanta for each of {} chunks, found {}",
            layout.count(),
            errors.len()
        ));
    }
    let quad = u64::from(layout.spacing_256) << quantum_log2;
    let quad_quanta = quad.div_ceil(SPACING_PER_M.into()) as u32;
    let params = Params { levels, scale_256, quantum_log2, quad_quanta, ..layout.params(views.len())? };
    scratch.fill(layout, sections, views, levels - 1)?;
    let all = layout.count() * views.len();
    let mut batch = std::mem::take(&mut scratch.batch).emptied();
    let reads = [batch.words(&scratch.sections), batch.words(&scratch.views), batch.words(errors)];
    let chunks = batch.target(all * CHUNK_WORDS);
    batch.step(&ERROR, all as u64, &params.words(), &reads, &[chunks]);
    run(compute, batch, chunks, &mut scratch.out).map(|batch| scratch.batch = batch)?;
    let words = scratch.out.words(0).as_chunks::<CHUNK_WORDS>().0;
    out.extend(words.iter().map(|&[what, skirt_depth]| Chunk {
        level: what as u8,
        skirts: [0, 1, 2, 3].map(|side| what >> (8 + side) & 1 == 1),
        skirt_depth,
    }));
    Ok(())
}

/// The vertices of all sections of one view: x and z in 2⁻¹⁶ quads from the section's corner and the height in 2⁻⁷ quanta,
/// (2ⁿ)² a section. `samples` are as many. Appends to `out`.
///
/// # Errors
/// What does not fit together, or a device that fails.
pub fn surface(
    compute: &dyn Compute,
    layout: &Layout,
    vertices_log2: u32,
    levels: &[Levels],
    samples: &[i32],
    scratch: &mut Scratch,
    out: &mut Vec<[u32; 3]>,
) -> Result<(), ComputeError> {
    check_vertices(layout, vertices_log2)?;
    let vertices = layout.count() << (2 * vertices_log2);
    if levels.len() != layout.count() || samples.len() != vertices {
        return refuse(format!(
            "expected the levels of {} sections and {vertices} samples, found {} and {}",
            layout.count(),
            levels.len(),
            samples.len()
        ));
    }
    let last = (vertices_log2 - 1) << FINE_LOG2;
    if levels.iter().any(|l| l.edges.iter().chain([&l.own]).any(|&l| u32::from(l) > last)) {
        return refuse(format!("expected levels up to {last}/128"));
    }
    let params = Params { vertices_log2, ..layout.params(1)? };
    scratch.sections.clear();
    for Levels { own, edges } in levels {
        let [own, west, east, north, south] = [*own, edges[0], edges[1], edges[2], edges[3]].map(u32::from);
        scratch.sections.extend([own | west << 16, east | north << 16, south]);
    }
    let mut batch = std::mem::take(&mut scratch.batch).emptied();
    let reads = [batch.words(&scratch.sections), batch.words(bytemuck::cast_slice(samples))];
    let target = batch.target(vertices * 3);
    batch.step(&SURFACE, vertices as u64, &params.words(), &reads, &[target]);
    run(compute, batch, target, &mut scratch.out).map(|batch| scratch.batch = batch)?;
    out.extend_from_slice(scratch.out.words(0).as_chunks::<3>().0);
    Ok(())
}

fn check_vertices(layout: &Layout, vertices_log2: u32) -> Result<(), ComputeError> {
    if !(1..=7).contains(&vertices_log2) || layout.quads != (1 << vertices_log2) - 1 {
        return refuse(format!(
            "expected sections of 2^n - 1 quads with n from 1 to 7, found {} quads and n = {vertices_log2}",
            layout.quads
        ));
    }
    Ok(())
}

/// Runs a batch and gives its memory back.
fn run(
    compute: &dyn Compute,
    mut batch: Batch<'_>,
    read: BufferId,
    out: &mut Outputs,
) -> Result<Batch<'static>, ComputeError> {
    batch.read(read);
    compute.run(&batch, out)?;
    Ok(batch.emptied())
}

#[cfg(test)]
mod tests;
