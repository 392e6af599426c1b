//! Node selection on any device: many views in one dispatch.
//!
//! Owns the plan that a device is given: for each view and level the rectangle of nodes that may be in range, found from
//! its edges alone. What is drawn is the kernel's answer. Views go to the device in as many batches as buffers make
//! necessary; the answers do not depend on that.

use crate::compute::{Batch, Compute, ComputeError, Outputs, Shared};
use crate::config::TerrainConfig;
use crate::coord::{LatticeError, LatticePos};
use crate::kernel::pyramid::NODE_CELLS;
use crate::kernel::select::nodes::Nodes;
use crate::kernel::select::ranges::Ranges;
use crate::kernel::select::{EMIT, JOB_WORDS, MARK, NODE_WORDS, Params};
use crate::pass::scan::scan;

/// Candidates of a batch, as a rule: views are added until there are more.
const BATCH_CANDIDATES: u64 = 1 << 18;

/// Candidates of one view at most: what a buffer of drawn nodes holds.
const MOST_CANDIDATES: u64 = (crate::compute::batch::MOST_WORDS / NODE_WORDS) as u64;

/// Views of a batch at most: a drawn node has sixteen bits for its view.
const MOST_VIEWS: usize = 1 << 16;

/// A place from which a terrain is seen, on the ground plane, in 1/256 m from its sample (0, 0).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct View {
    /// East.
    pub x_256: i64,
    /// South.
    pub z_256: i64,
}

impl View {
    /// From metres: first to the query lattice, then to 1/256 m, each half up.
    ///
    /// # Errors
    /// What is no query position.
    pub fn from_metres(x: f64, z: f64) -> Result<Self, LatticeError> {
        let LatticePos { x, z } = LatticePos::from_metres(x, z)?;
        let [x_256, z_256] = [x, z].map(|v| (v + 128) >> 8);
        Ok(Self { x_256, z_256 })
    }

    /// From metres in the world in which a terrain is placed.
    ///
    /// # Errors
    /// What is no query position.
    pub fn in_world(config: &TerrainConfig, x: f64, z: f64) -> Result<Self, LatticeError> {
        let at = Self::from_metres(x, z)?;
        let (s, p) = (i64::from(config.spacing_256), config.placement);
        Ok(Self { x_256: at.x_256 - i64::from(p.x) * s, z_256: at.z_256 - i64::from(p.z) * s })
    }

    /// As kernels take it: x and z, each low word first.
    pub fn words(self) -> [u32; 4] {
        let [x, z] = [self.x_256, self.z_256];
        [x as u32, (x >> 32) as u32, z as u32, (z >> 32) as u32]
    }
}

/// A drawn node. Ordered canonically: level, z, x.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node {
    /// 0 is the finest.
    pub level: u8,
    /// South, in nodes of its level.
    pub z: u16,
    /// East, in nodes of its level.
    pub x: u16,
    /// Bit x + 2z: that quarter is drawn by children.
    pub quarter_mask: u8,
    /// Whether some of its triangles show nothing.
    pub has_holes: bool,
}

impl Node {
    /// As kernels have it, seen from a view.
    pub fn words(self, view: u16) -> [u32; NODE_WORDS] {
        let what = u32::from(self.level) | u32::from(self.quarter_mask) << 8;
        [
            u32::from(self.x) | u32::from(self.z) << 16,
            what | u32::from(self.has_holes) << 12 | u32::from(view) << 16,
        ]
    }

    fn of([at, what]: [u32; NODE_WORDS]) -> Self {
        Self {
            level: what as u8,
            z: (at >> 16) as u16,
            x: at as u16,
            quarter_mask: (what >> 8 & 15) as u8,
            has_holes: what >> 12 & 1 == 1,
        }
    }
}

/// The nodes of some views.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selected {
    nodes: Vec<Node>,
    /// Where each view's nodes end.
    ends: Vec<usize>,
}

impl Selected {
    /// Views there are.
    pub fn views(&self) -> usize {
        self.ends.len()
    }

    /// A view's nodes, in canonical order.
    ///
    /// # Panics
    /// When there is no such view.
    pub fn of(&self, view: usize) -> &[Node] {
        let from = if view == 0 { 0 } else { self.ends[view - 1] };
        &self.nodes[from..self.ends[view]]
    }

    /// All views' nodes.
    pub fn all(&self) -> &[Node] {
        &self.nodes
    }

    /// Adds a view with these nodes, which are in canonical order.
    pub fn push(&mut self, nodes: impl IntoIterator<Item = Node>) {
        let from = self.nodes.len();
        self.nodes.extend(nodes);
        debug_assert!(self.nodes[from..].is_sorted());
        self.ends.push(self.nodes.len());
    }

    /// None, keeping the memory.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.ends.clear();
    }
}

/// Selects nodes of one terrain with one set of ranges. Holds the memory that selections need.
#[derive(Debug)]
pub struct Selector {
    nodes: Nodes,
    ranges: Ranges,
    states: Shared,
    plan: Vec<u32>,
    batch: Batch<'static>,
    out: Outputs,
}

impl Selector {
    /// Levels of `ranges` are the terrain's finest; the last of them reaches as far as anything is drawn.
    ///
    /// # Errors
    /// Ranges for more levels than there are, or for another spacing.
    pub fn new(nodes: Nodes, ranges: Ranges) -> Result<Self, ComputeError> {
        let refuse = |reason| Err(ComputeError::Refused { pass: "select", reason });
        let (found, most) = (ranges.bands().len(), nodes.levels() as usize);
        if found > most {
            return refuse(format!("expected ranges of at most {most} levels, found {found}"));
        }
        if ranges.spacing_256() != nodes.spacing_256() {
            let (expected, found) = (nodes.spacing_256(), ranges.spacing_256());
            return refuse(format!("expected ranges for a spacing of {expected}/256 m, found {found}/256 m"));
        }
        let states = Shared::new(nodes.words());
        Ok(Self { nodes, ranges, states, plan: Vec::new(), batch: Batch::new(), out: Outputs::new() })
    }

    /// What is selected from.
    pub fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// How far levels reach.
    pub fn ranges(&self) -> &Ranges {
        &self.ranges
    }

    /// The nodes of a level, along x and z, that are in range of a view along each axis by itself; `None` when there are
    /// none.
    ///
    /// # Panics
    /// When the level has no range.
    pub fn window(&self, level: u32, view: View) -> Option<[std::ops::Range<u32>; 2]> {
        Some(self.rectangle(level, view)?.map(|[from, to]| from..to))
    }

    /// The nodes that each view draws.
    ///
    /// # Errors
    /// A view from which more than 2²⁴ nodes may be in range, or a device that fails.
    pub fn select(
        &mut self,
        compute: &dyn Compute,
        views: &[View],
        selected: &mut Selected,
    ) -> Result<(), ComputeError> {
        selected.clear();
        let mut rest = views;
        while !rest.is_empty() {
            let (taken, params) = self.plan(rest)?;
            self.ask(compute, params, taken, selected)?;
            rest = &rest[taken..];
        }
        Ok(())
    }

    /// Makes the plan of as many views as go into a batch, at least one.
    fn plan(&mut self, views: &[View]) -> Result<(usize, Params), ComputeError> {
        self.plan.clear();
        let (mut taken, mut candidates) = (0, 0_u64);
        for &view in views.iter().take(MOST_VIEWS) {
            let (at, before) = (self.plan.len(), candidates);
            for level in 0..self.ranges.bands().len() as u32 {
                let Some([xs, zs]) = self.rectangle(level, view) else { continue };
                let (width, height) = (xs[1] - xs[0], zs[1] - zs[0]);
                self.plan.extend([candidates as u32, xs[0], zs[0], width, taken as u32, level]);
                candidates += u64::from(width) * u64::from(height);
            }
            if candidates > BATCH_CANDIDATES && taken > 0 {
                self.plan.truncate(at);
                candidates = before;
                break;
            }
            if candidates > MOST_CANDIDATES {
                let reason = format!(
                    "expected at most {MOST_CANDIDATES} nodes that may be in range of a view, found {candidates}: \
                     shorten the ranges"
                );
                return Err(ComputeError::Refused { pass: "select", reason });
            }
            taken += 1;
        }
        let jobs = (self.plan.len() / JOB_WORDS) as u32;
        let views_at = self.plan.len() as u32;
        self.plan.extend(views[..taken].iter().flat_map(|v| v.words()));
        let levels_at = self.plan.len() as u32;
        for (level, band) in (0..).zip(self.ranges.bands()) {
            let ([across, down], range) = (self.nodes.size(level), u64::from(band.range));
            let range2 = range * range;
            let first = self.nodes.first(level);
            self.plan.extend([across, down, first, range2 as u32, (range2 >> 32) as u32]);
        }
        let e = self.nodes.extent();
        let extent = [e.x0, e.z0, e.x1, e.z1].map(|v| v as u32);
        let spacing_256 = self.nodes.spacing_256();
        let params = Params { candidates: candidates as u32, jobs, views_at, levels_at, spacing_256, extent };
        Ok((taken, params))
    }

    /// The nodes of a level, along x and z, that are in range along each axis by itself.
    fn rectangle(&self, level: u32, view: View) -> Option<[[u32; 2]; 2]> {
        let (range, spacing) =
            (i64::from(self.ranges.bands()[level as usize].range), i64::from(self.nodes.spacing_256()));
        let e = self.nodes.extent();
        let [xs, zs] = self.nodes.in_extent(level);
        let along = |nodes: std::ops::Range<u32>, from: i32, to: i32, view: i64| {
            // Open: what lies at these is out of range. No terrain is as wide as i64 is.
            let (near, far) = (view - range, view + range);
            if i64::from(from) * spacing >= far || i64::from(to) * spacing <= near {
                return None;
            }
            let side = i64::from(NODE_CELLS << level) * spacing;
            let first = near.div_euclid(side).max(i64::from(nodes.start));
            let last = (far - 1).div_euclid(side).min(i64::from(nodes.end) - 1);
            Some([first as u32, last as u32 + 1])
        };
        Some([along(xs, e.x0, e.x1, view.x_256)?, along(zs, e.z0, e.z1, view.z_256)?])
    }

    fn ask(
        &mut self,
        compute: &dyn Compute,
        params: Params,
        views: usize,
        selected: &mut Selected,
    ) -> Result<(), ComputeError> {
        let first_view = selected.ends.len();
        if params.candidates == 0 {
            selected.ends.resize(first_view + views, selected.nodes.len());
            return Ok(());
        }
        let count = params.candidates as usize;
        let mut batch = std::mem::take(&mut self.batch).emptied();
        let (plan, states) = (batch.words(&self.plan), batch.shared(&self.states));
        let flags = batch.target(count);
        batch.step(&MARK, count as u64, &params.words(), &[plan, states], &[flags]);
        let sums = scan(&mut batch, flags, count);
        let drawn = batch.target(count * NODE_WORDS);
        batch.step(&EMIT, count as u64, &params.words(), &[plan, states, sums.before], &[drawn]);
        batch.read(sums.total);
        batch.read(drawn);
        let ran = compute.run(&batch, &mut self.out);
        self.batch = batch.emptied();
        ran?;
        let drawn = self.out.words(0)[0] as usize;
        for &words in &self.out.words(1).as_chunks::<NODE_WORDS>().0[..drawn] {
            // Views that draw nothing end where the one before them does.
            let view = first_view + (words[1] >> 16) as usize;
            selected.ends.resize(selected.ends.len().max(view), selected.nodes.len());
            selected.nodes.push(Node::of(words));
        }
        selected.ends.resize(first_view + views, selected.nodes.len());
        Ok(())
    }
}

#[cfg(test)]
mod tests;
