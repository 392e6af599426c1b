//! Vertex evaluation on any device: the drawn surface of selected nodes.
//!
//! Owns how nodes and their patches go to a device, in batches that fit a buffer. Never gathers samples.

use crate::compute::{Batch, Compute, ComputeError, Outputs};
use crate::kernel::select::NODE_WORDS;
use crate::kernel::select::ranges::Ranges;
use crate::kernel::vertex::{
    FINE_LOG2, Frame, GRID, GRID_VERTICES, PATCH_WORDS, Params, TRIANGLE_VERTICES, TRIANGLES, VERTEX_WORDS,
};
use crate::pass::select::{Selected, View};

/// Views at most: a node has sixteen bits for its own.
const MOST_VIEWS: usize = 1 << 16;

/// Nodes of a batch at most.
const BATCH_NODES: usize = 256;

/// How the vertices of a node are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// 34 × 34 vertices, the middle row and column twice.
    Ordinary,
    /// Six vertices a cell, so that each triangle can be left out.
    HoleAware,
}

impl Topology {
    /// Vertices of a node.
    pub const fn vertices(self) -> usize {
        match self {
            Topology::Ordinary => GRID_VERTICES,
            Topology::HoleAware => TRIANGLE_VERTICES,
        }
    }
}

/// What is evaluated: the nodes of some views, a patch each.
#[derive(Clone, Copy, Debug)]
pub struct Drawn<'a> {
    /// What the nodes share.
    pub frame: Frame,
    /// From where, as many as were selected for.
    pub views: &'a [View],
    /// How far levels reach and where they morph.
    pub ranges: &'a Ranges,
    /// The nodes of each view.
    pub selected: &'a Selected,
    /// [`PATCH_WORDS`] a node, in the order of [`Selected::all`].
    pub patches: &'a [u32],
}

/// The vertices of all nodes, [`VERTEX_WORDS`] each, in the order of the nodes. Appends to `out`.
///
/// # Errors
/// Patches that are not as many as nodes, a node beyond the extent or of a level without a range, or a device that fails.
pub fn evaluate(
    compute: &dyn Compute,
    drawn: Drawn<'_>,
    topology: Topology,
    scratch: &mut Scratch,
    out: &mut Vec<u32>,
) -> Result<(), ComputeError> {
    check(&drawn)?;
    let entry = match topology {
        Topology::Ordinary => &GRID,
        Topology::HoleAware => &TRIANGLES,
    };
    scratch.plan.clear();
    scratch.plan.extend(drawn.views.iter().flat_map(|v| v.words()));
    let bands_at = scratch.plan.len() as u32;
    scratch.plan.extend(drawn.ranges.bands().iter().flat_map(|b| [b.start, b.end - b.start]));
    scratch.nodes.clear();
    for view in 0..drawn.views.len() {
        scratch.nodes.extend(drawn.selected.of(view).iter().flat_map(|n| n.words(view as u16)));
    }
    let nodes = scratch.nodes.chunks(BATCH_NODES * NODE_WORDS);
    for (nodes, patches) in nodes.zip(drawn.patches.chunks(BATCH_NODES * PATCH_WORDS)) {
        let mut batch = std::mem::take(&mut scratch.batch).emptied();
        let reads = [batch.words(nodes), batch.words(&scratch.plan), batch.words(patches)];
        let count = nodes.len() / NODE_WORDS;
        let vertices = count * topology.vertices();
        let target = batch.target(vertices * VERTEX_WORDS);
        let params = Params { nodes: count as u32, bands_at, frame: drawn.frame };
        batch.step(entry, vertices as u64, &params.words(), &reads, &[target]);
        batch.read(target);
        let ran = compute.run(&batch, &mut scratch.out);
        scratch.batch = batch.emptied();
        ran?;
        out.extend_from_slice(scratch.out.words(0));
    }
    Ok(())
}

/// Memory for [`evaluate`], to be used again.
#[derive(Debug, Default)]
pub struct Scratch {
    nodes: Vec<u32>,
    plan: Vec<u32>,
    batch: Batch<'static>,
    out: Outputs,
}

fn check(drawn: &Drawn<'_>) -> Result<(), ComputeError> {
    let refuse = |reason| Err(ComputeError::Refused { pass: "vertex", reason });
    let (views, found) = (drawn.views.len(), drawn.selected.views());
    if views != found || views > MOST_VIEWS {
        return refuse(format!(
            "expected the nodes of {views} views, at most {MOST_VIEWS}, found those of {found}"
        ));
    }
    let (nodes, words) = (drawn.selected.all().len(), drawn.patches.len());
    if words != nodes * PATCH_WORDS {
        return refuse(format!(
            "expected {PATCH_WORDS} words of samples for each of {nodes} nodes, found {words}"
        ));
    }
    let [x0, z0, x1, z1] = drawn.frame.extent;
    if x0 >= x1 || z0 >= z1 || x1.max(z1) >= 1 << (24 - FINE_LOG2) {
        return refuse(format!("expected an extent of fewer than 2^17 cells, found {x0},{z0} to {x1},{z1}"));
    }
    let (spacing, found) = (drawn.ranges.spacing_256(), drawn.frame.spacing_256);
    if spacing != found {
        return refuse(format!("expected the ranges' spacing of {spacing}/256 m, found {found}/256 m"));
    }
    for node in drawn.selected.all() {
        let (level, side) = (u32::from(node.level), 32_u64 << (node.level & 31));
        let outside = |at: u16, from: u32, to: u32| {
            u64::from(at) * side >= u64::from(to) || (u64::from(at) + 1) * side <= u64::from(from)
        };
        if level as usize >= drawn.ranges.bands().len() || outside(node.x, x0, x1) || outside(node.z, z0, z1)
        {
            return refuse(format!(
                "expected nodes that meet the extent, of {} levels, found level {level}, x {}, z {}",
                drawn.ranges.bands().len(),
                node.x,
                node.z
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
