//! Node selection: which nodes of the quadtree are drawn around a view, and which of their quarters finer ones draw.
//!
//! Owns the rule and its formats. Never reads files, never decides how far a level reaches ([`ranges`]) or what a node
//! holds ([`nodes`]).
//!
//! **The rule** (CDLOD: Strugar, Continuous Distance-Dependent Level of Detail for Rendering Heightmaps, 2010; partial
//! replacement as the reference article has it). A node of level L is *in range* when the nearest point of its box lies
//! nearer to the view than the range of L, on the ground plane alone. A node in range is drawn, but for the quarters
//! whose child is in range of its own level: they are the children's, and bit x + 2z of the node's mask says so. A node
//! is left out when nothing is left for it to draw. Ranges grow with the level and a child's box lies in its parent's,
//! so whether a node is drawn hangs on it and its four children alone: every node can be asked by itself, and the
//! recursion of the article gives the same set.
//!
//! Boxes end where the valid extent does. Nodes that show nothing (wholly holes, or outside the extent) are never drawn
//! and are nothing that is left to draw; their bits stay clear, since no child draws them.
//!
//! **Numbers.** Distances are whole 1/256 m, [`UNITS_PER_M`]: every sample stands on one. A view is rounded to them, half
//! up. A distance along an axis is taken as 2³¹ when it is more, which is the longest range there can be, so a squared
//! distance is below 2⁶⁴ and is compared exactly.
//!
//! **How it is asked.** For each view and level the nodes that may be in range form a rectangle, a *job*; the nodes of
//! all jobs, row by row, are the candidates. [`MARK`] says which are drawn, prefix sums say where each goes, [`EMIT`]
//! writes them. Jobs stand by view and level, so what comes out is in canonical order: view, level, z, x.

pub mod nodes;
pub mod ranges;

use super::pyramid::NODE_CELLS;
use super::{Bound, Entry};
use nodes::NodeState;
use rayon::prelude::*;

/// Distances are counted in 1/256 m.
pub const UNITS_PER_M: i64 = 256;

/// A distance along an axis is at most this.
pub const FARTHEST: u32 = 1 << 31;

/// Words of a job in the plan: first candidate, first x and z, nodes across, view, level.
pub const JOB_WORDS: usize = 6;

/// Words of a view in the plan: x and z in 1/256 m from sample (0, 0), low word first, in two's complement.
pub const VIEW_WORDS: usize = 4;

/// Words of a level in the plan: nodes across and down, the number of its first node, its range squared (low, high).
pub const LEVEL_WORDS: usize = 5;

/// Words of a drawn node: x + z · 2¹⁶, then level + mask · 2⁸ + (has holes) · 2¹² + view · 2¹⁶.
pub const NODE_WORDS: usize = 2;

/// Which candidates are drawn: a word each, 0 or 1. Reads the plan (jobs, views, levels) and the nodes' states.
/// Parameters: [`Params`].
pub const MARK: Entry = Entry { kernel: "select", name: "mark", reads: 2, writes: 1, params: 9, twin: mark };

/// The drawn nodes, [`NODE_WORDS`] each. Reads the plan, the states, and for each candidate how many are drawn before it.
/// Parameters: [`Params`]. What lies beyond the last drawn node is left as it was.
pub const EMIT: Entry = Entry { kernel: "select", name: "emit", reads: 3, writes: 1, params: 9, twin: emit };

/// The parameters of both entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Candidates of all jobs.
    pub candidates: u32,
    /// Jobs at the plan's start.
    pub jobs: u32,
    /// Where the plan's views begin.
    pub views_at: u32,
    /// Where its levels begin.
    pub levels_at: u32,
    /// Spacing in 1/256 m.
    pub spacing_256: u32,
    /// The valid extent in cells: x0, z0, x1, z1.
    pub extent: [u32; 4],
}

impl Params {
    /// As an entry takes them.
    pub fn words(&self) -> [u32; 9] {
        let [x0, z0, x1, z1] = self.extent;
        [self.candidates, self.jobs, self.views_at, self.levels_at, self.spacing_256, x0, z0, x1, z1]
    }

    fn of(words: &[u32]) -> Self {
        let &[candidates, jobs, views_at, levels_at, spacing_256, x0, z0, x1, z1] = words else {
            unreachable!("an entry is given as many parameters as it says")
        };
        Self { candidates, jobs, views_at, levels_at, spacing_256, extent: [x0, z0, x1, z1] }
    }
}

/// Candidates less than this are not worth another thread.
const CANDIDATES_A_TASK: usize = 2048;

/// How far a place is from an interval along one axis, at most [`FARTHEST`].
#[inline(always)]
pub fn gap(low: i64, high: i64, at: i64) -> u32 {
    (low - at).max(at - high).clamp(0, i64::from(FARTHEST)) as u32
}

fn square(distance: u32) -> u64 {
    u64::from(distance) * u64::from(distance)
}

/// The cells of a node along one axis, cut at the extent.
#[inline(always)]
fn span(node: u32, level: u32, from: u32, to: u32) -> (u32, u32) {
    let side = NODE_CELLS << level;
    ((node * side).max(from), ((node + 1) * side).min(to))
}

#[derive(Clone, Copy)]
struct Level {
    across: u32,
    down: u32,
    first: u32,
    range2: u64,
}

/// What a twin reads.
struct Plan<'a> {
    params: Params,
    jobs: &'a [[u32; JOB_WORDS]],
    words: &'a [u32],
    states: &'a [u32],
}

impl<'a> Plan<'a> {
    fn new(params: &[u32], words: &'a [u32], states: &'a [u32]) -> Self {
        let params = Params::of(params);
        Self { params, jobs: &words.as_chunks::<JOB_WORDS>().0[..params.jobs as usize], words, states }
    }

    fn view(&self, view: u32) -> [i64; 2] {
        let at = self.params.views_at as usize + view as usize * VIEW_WORDS;
        let wide = |low: u32, high: u32| (u64::from(high) << 32 | u64::from(low)) as i64;
        [wide(self.words[at], self.words[at + 1]), wide(self.words[at + 2], self.words[at + 3])]
    }

    fn level(&self, level: u32) -> Level {
        let at = self.params.levels_at as usize + level as usize * LEVEL_WORDS;
        let &[across, down, first, low, high] = &self.words[at..at + LEVEL_WORDS] else { unreachable!() };
        Level { across, down, first, range2: u64::from(high) << 32 | u64::from(low) }
    }

    #[inline(always)]
    fn state(&self, number: u32) -> u32 {
        self.states[number as usize / 16] >> (number % 16 * 2) & 3
    }

    /// Goes over some candidates in order.
    #[inline(always)]
    fn walk(&self, from: usize, to: usize, mut visit: impl FnMut(usize, &Row<'_, '_>, u32, Option<u32>)) {
        let mut job = self.jobs.partition_point(|j| j[0] as usize <= from) - 1;
        let mut at = from;
        while at < to {
            let [first, x0, z0, width, view, level] = self.jobs[job];
            let end = self.jobs.get(job + 1).map_or(self.params.candidates, |j| j[0]) as usize;
            while at < end.min(to) {
                let (row, column) = ((at as u32 - first) / width, (at as u32 - first) % width);
                let of_row = Row::new(self, view, level, z0 + row);
                let row_end = (first + (row + 1) * width) as usize;
                for (i, x) in (at..row_end.min(to)).zip(x0 + column..) {
                    visit(i, &of_row, x, of_row.quarters(x));
                }
                at = row_end.min(to);
            }
            job += 1;
        }
    }
}

/// A row of a job, with what all its nodes share.
struct Row<'a, 'b> {
    plan: &'b Plan<'a>,
    view: u32,
    view_x: i64,
    level: u32,
    own: Level,
    /// The level below; the own one again at level 0, which has none.
    below: Level,
    z: u32,
    /// The squared distance along z, of the row and of its two rows of children.
    dz2: u64,
    below_dz2: [u64; 2],
}

impl<'a, 'b> Row<'a, 'b> {
    #[inline(always)]
    fn new(plan: &'b Plan<'a>, view: u32, level: u32, z: u32) -> Self {
        let [view_x, view_z] = plan.view(view);
        let [_, z0, _, z1] = plan.params.extent;
        let along = |z: u32, level: u32| square(distance(plan, span(z, level, z0, z1), view_z));
        let below_level = level.saturating_sub(1);
        let below_dz2 =
            if level == 0 { [0; 2] } else { [along(2 * z, below_level), along(2 * z + 1, below_level)] };
        let (own, below) = (plan.level(level), plan.level(below_level));
        Self { plan, view, view_x, level, own, below, z, dz2: along(z, level), below_dz2 }
    }

    #[inline(always)]
    fn dx2(&self, x: u32, level: u32) -> u64 {
        let [x0, _, x1, _] = self.plan.params.extent;
        square(distance(self.plan, span(x, level, x0, x1), self.view_x))
    }

    /// The mask of a node that is drawn.
    #[inline(always)]
    fn quarters(&self, x: u32) -> Option<u32> {
        let state = self.plan.state(self.own.first + self.z * self.own.across + x);
        if state == NodeState::Hidden as u32 || self.dx2(x, self.level) + self.dz2 >= self.own.range2 {
            return None;
        }
        if self.level == 0 {
            return Some(0);
        }
        let (mut mask, mut rest) = (0, false);
        let dx2 = [self.dx2(2 * x, self.level - 1), self.dx2(2 * x + 1, self.level - 1)];
        for quarter in 0..4 {
            let [cx, cz] = [2 * x + (quarter & 1), 2 * self.z + (quarter >> 1)];
            if cx >= self.below.across || cz >= self.below.down {
                continue;
            }
            if self.plan.state(self.below.first + cz * self.below.across + cx) == NodeState::Hidden as u32 {
                continue;
            }
            let d2 = dx2[(quarter & 1) as usize] + self.below_dz2[(quarter >> 1) as usize];
            if d2 < self.below.range2 {
                mask |= 1 << quarter;
            } else {
                rest = true;
            }
        }
        rest.then_some(mask)
    }

    #[inline(always)]
    fn node(&self, x: u32, mask: u32) -> [u32; NODE_WORDS] {
        let state = self.plan.state(self.own.first + self.z * self.own.across + x);
        let holes = u32::from(state == NodeState::Holes as u32);
        [x | self.z << 16, self.level | mask << 8 | holes << 12 | self.view << 16]
    }
}

/// From a view to an interval of cells along one axis. One that is cut to nothing is never asked for.
#[inline(always)]
fn distance(plan: &Plan<'_>, (low, high): (u32, u32), at: i64) -> u32 {
    let spacing = i64::from(plan.params.spacing_256);
    gap(i64::from(low) * spacing, i64::from(high) * spacing, at)
}

fn mark(params: &[u32], bound: &mut Bound<'_>) {
    let ([words, states], [flags]) = bound.split();
    let plan = Plan::new(params, words, states);
    let flags = &mut flags[..plan.params.candidates as usize];
    flags.par_chunks_mut(CANDIDATES_A_TASK).enumerate().for_each(|(task, out)| {
        let first = task * CANDIDATES_A_TASK;
        plan.walk(first, first + out.len(), |i, _, _, mask| out[i - first] = u32::from(mask.is_some()));
    });
}

fn emit(params: &[u32], bound: &mut Bound<'_>) {
    let ([words, states, before], [out]) = bound.split();
    let plan = Plan::new(params, words, states);
    emit_range(&plan, before, 0, plan.params.candidates as usize, out.as_chunks_mut().0);
}

/// Writes what some candidates give; `out` begins where the first of them goes.
fn emit_range(plan: &Plan<'_>, before: &[u32], from: usize, to: usize, out: &mut [[u32; NODE_WORDS]]) {
    if to - from > CANDIDATES_A_TASK {
        let middle = from.midpoint(to);
        let (left, right) = out.split_at_mut((before[middle] - before[from]) as usize);
        rayon::join(
            || emit_range(plan, before, from, middle, left),
            || emit_range(plan, before, middle, to, right),
        );
        return;
    }
    let mut next = 0;
    plan.walk(from, to, |_, row, x, mask| {
        if let Some(mask) = mask {
            out[next] = row.node(x, mask);
            next += 1;
        }
    });
}

#[cfg(test)]
mod tests;
