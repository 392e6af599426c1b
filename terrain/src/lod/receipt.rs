//! What a finished frame drew of one terrain, in bytes of its own.
//!
//! Owns the record: nodes, levels, neighbours, samples, holes, ranges, window and the source's digest, for each view of the
//! frame. Answers ([`super::point`]) come from it alone, so they outlive the terrain, and are those of the evaluated
//! vertices, because both are one function of integers.

use super::drawable::frame_of;
use super::{Drawable, LodError, ReceiptError};
use crate::config::TerrainConfig;
use crate::coord::{CellPos, CellRect};
use crate::format::sidecar::prim_id;
use crate::kernel::pyramid::NODE_CELLS;
use crate::kernel::select::nodes::NodeState;
use crate::kernel::select::ranges::Ranges;
use crate::kernel::vertex::{self, Frame, PATCH_SAMPLES, PATCH_WORDS};
use crate::pass::select::{Node, View};

/// Words of a node's triangle bits.
pub(super) const MASK_WORDS: usize = PATCH_WORDS - PATCH_SAMPLES;

/// In place of a neighbour's level where nothing is drawn.
pub const NO_NEIGHBOUR: u8 = u8::MAX;

/// What one view of a frame drew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawnView {
    pub(super) key: u64,
    pub(super) view: View,
    /// Ascending.
    pub(super) nodes: Vec<Node>,
    /// The coarsest level drawn across each side of a node: west, east, north, south.
    pub(super) neighbours: Vec<[u8; 4]>,
    /// [`PATCH_SAMPLES`] a node.
    pub(super) samples: Vec<u32>,
}

impl DrawnView {
    /// What its owner calls it.
    pub fn key(&self) -> u64 {
        self.key
    }

    /// From where.
    pub fn view(&self) -> View {
        self.view
    }

    /// What it drew, in canonical order.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The coarsest level drawn across each side of each node (west, east, north, south), or [`NO_NEIGHBOUR`].
    pub fn neighbours(&self) -> &[[u8; 4]] {
        &self.neighbours
    }

    /// The node that draws the place, in half cells of level 0.
    pub(super) fn covering(&self, [x, z]: [i64; 2], levels: usize) -> Option<usize> {
        if x < 0 || z < 0 {
            return None;
        }
        (0..levels as u32).find_map(|level| {
            let half = i64::from(NODE_CELLS) << level;
            let (qx, qz) = (x / half, z / half);
            let at = (level as u8, u16::try_from(qz / 2).ok()?, u16::try_from(qx / 2).ok()?);
            let n = self.nodes.binary_search_by(|n| (n.level, n.z, n.x).cmp(&at)).ok()?;
            let quarter = qx % 2 + 2 * (qz % 2);
            (self.nodes[n].quarter_mask >> quarter & 1 == 0).then_some(n)
        })
    }

    /// Finds the neighbours of all nodes.
    fn meet(&mut self, levels: usize) {
        self.neighbours = self
            .nodes
            .iter()
            .map(|node| {
                // The middles of the halves of each side, half a cell beyond it.
                let half = i64::from(NODE_CELLS) << node.level;
                let [x0, z0] = [node.x, node.z].map(|n| i64::from(n) * 2 * half);
                let sides = [[x0 - 1, z0], [x0 + 2 * half, z0], [x0, z0 - 1], [x0, z0 + 2 * half]];
                std::array::from_fn(|side| {
                    let along = if side < 2 { [0, 1] } else { [1, 0] };
                    let halves = [half / 2, half * 3 / 2]
                        .map(|d| [sides[side][0] + along[0] * d, sides[side][1] + along[1] * d]);
                    let there = halves.into_iter().filter_map(|at| self.covering(at, levels));
                    there.map(|n| self.nodes[n].level).max().unwrap_or(NO_NEIGHBOUR)
                })
            })
            .collect();
    }
}

/// What a finished frame drew of one terrain.
#[derive(Clone, Debug, PartialEq)]
pub struct Receipt {
    pub(super) frame: u64,
    pub(super) digest: [u8; 32],
    pub(super) config: TerrainConfig,
    pub(super) window: CellRect,
    pub(super) ranges: Ranges,
    /// By key, ascending.
    pub(super) views: Vec<DrawnView>,
    /// Nodes of level 0 (z, x) that do not show everything, ascending.
    pub(super) hole_nodes: Vec<[u32; 2]>,
    /// [`MASK_WORDS`] each.
    pub(super) hole_words: Vec<u32>,
}

impl Receipt {
    /// Records what a frame draws: `views` are keys, places and what was selected there. `window` are the cells whose
    /// samples the frame had at hand. Make it when the frame is submitted, show it ([`super::Receipts::complete`]) when it
    /// is complete.
    ///
    /// # Errors
    /// A node that is none of the terrain's, or is not in order; a key that comes twice; a window that is empty.
    pub fn new(
        drawable: &Drawable,
        frame: u64,
        window: CellRect,
        ranges: &Ranges,
        views: &[(u64, View, &[Node])],
    ) -> Result<Self, ReceiptError> {
        let wrong = |e: LodError| ReceiptError::Malformed(e.to_string());
        let mut receipt = Self {
            frame,
            digest: drawable.digest(),
            // What does not reach the drawn surface is left out.
            config: TerrainConfig { vertical_scale: 1.0, paint_per_cell: 1, ..*drawable.config() },
            window,
            ranges: ranges.clone(),
            views: Vec::new(),
            hole_nodes: Vec::new(),
            hole_words: Vec::new(),
        };
        let mut patch = Vec::new();
        for &(key, view, nodes) in views {
            let mut samples = Vec::with_capacity(nodes.len() * PATCH_SAMPLES);
            for &node in nodes {
                patch.clear();
                drawable.patch(node, &mut patch).map_err(wrong)?;
                samples.extend_from_slice(&patch[..PATCH_SAMPLES]);
            }
            receipt.views.push(DrawnView {
                key,
                view,
                nodes: nodes.to_vec(),
                neighbours: Vec::new(),
                samples,
            });
        }
        receipt.views.sort_by_key(|v| v.key);
        let [xs, zs] = drawable.nodes().in_extent(0);
        for (z, x) in zs.flat_map(|z| xs.clone().map(move |x| (z, x))) {
            if drawable.nodes().state(0, x, z) != NodeState::Whole && receipt.draws_any_of([x, z]) {
                receipt.hole_nodes.push([z, x]);
                receipt.hole_words.extend(drawable.triangles([x, z]));
            }
        }
        receipt.finish()
    }

    /// Whether some view draws some of a node of level 0.
    fn draws_any_of(&self, node: [u32; 2]) -> bool {
        let levels = self.ranges.bands().len();
        let [x, z] = node.map(|n| i64::from(n * NODE_CELLS * 2));
        // One node of level 0 is a quarter of one of level 1, so all of it is drawn by one node, if at all.
        self.views.iter().any(|v| v.covering([x, z], levels).is_some())
    }

    /// Checks all that the rest relies on, and finds neighbours.
    pub(super) fn finish(mut self) -> Result<Self, ReceiptError> {
        let wrong = |what: String| Err(ReceiptError::Malformed(what));
        if let Err(e) = self.config.check() {
            return wrong(e.to_string());
        }
        if self.window.is_empty() {
            return wrong(format!("expected a window of some cells, found {:?}", self.window));
        }
        let cells = self.config.cells().map(|c| c as u32);
        let (levels, most) = (self.ranges.bands().len(), crate::kernel::pyramid::levels(cells) as usize);
        if levels > most || self.ranges.spacing_256() != self.config.spacing_256 {
            return wrong(format!(
                "expected the ranges of at most {most} levels of this spacing, found {levels}"
            ));
        }
        if let Some(v) = self.views.windows(2).find(|v| v[0].key >= v[1].key) {
            return wrong(format!(
                "expected each view key once, ascending, found {} then {}",
                v[0].key, v[1].key
            ));
        }
        let extent = frame_of(&self.config).extent;
        for view in &self.views {
            for (i, n) in view.nodes.iter().enumerate() {
                let (level, side) = (u32::from(n.level), u64::from(NODE_CELLS) << (n.level & 15));
                let meets = |at: u16, from: u32, to: u32| {
                    u64::from(at) * side < u64::from(to) && (u64::from(at) + 1) * side > u64::from(from)
                };
                let [x0, z0, x1, z1] = extent;
                let there = (level as usize) < levels && meets(n.x, x0, x1) && meets(n.z, z0, z1);
                let key = |n: &Node| (n.level, n.z, n.x);
                if !there || n.quarter_mask >= 15 || i > 0 && key(&view.nodes[i - 1]) >= key(n) {
                    return wrong(format!(
                        "expected nodes that meet the extent in canonical order, found {n:?}"
                    ));
                }
            }
            let too_high = |q: u32| (q as i32).unsigned_abs() >= crate::height::HEIGHT_LIMIT as u32;
            if let Some(&q) = view.samples.iter().find(|&&q| too_high(q)) {
                return wrong(format!("expected samples of less than 2^24 quanta, found {}", q as i32));
            }
        }
        let [across, down] = crate::kernel::pyramid::nodes(cells, 0);
        let hole_nodes = &self.hole_nodes;
        if hole_nodes.windows(2).any(|n| n[0] >= n[1])
            || hole_nodes.iter().any(|n| n[0] >= down || n[1] >= across)
        {
            return wrong("expected nodes with holes in ascending order, on the map".to_owned());
        }
        for view in &mut self.views {
            view.meet(levels);
        }
        Ok(self)
    }

    /// What its owner calls the frame.
    pub fn frame(&self) -> u64 {
        self.frame
    }

    /// The digest of the source it was drawn from.
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// The configuration of the terrain.
    pub fn config(&self) -> &TerrainConfig {
        &self.config
    }

    /// The cells whose samples the frame had at hand.
    pub fn window(&self) -> CellRect {
        self.window
    }

    /// How far levels reached and where they morphed.
    pub fn ranges(&self) -> &Ranges {
        &self.ranges
    }

    /// Its views, by key.
    pub fn views(&self) -> &[DrawnView] {
        &self.views
    }

    /// Bytes held in memory.
    pub fn bytes(&self) -> usize {
        let of = |v: &DrawnView| {
            std::mem::size_of::<DrawnView>()
                + v.nodes.len() * (std::mem::size_of::<Node>() + 4)
                + v.samples.len() * 4
        };
        let views: usize = self.views.iter().map(of).sum();
        std::mem::size_of::<Self>() + views + self.hole_nodes.len() * 8 + self.hole_words.len() * 4
    }

    /// A drawn node as it is evaluated.
    pub(super) fn node<'a>(&'a self, frame: &'a Frame, view: &'a DrawnView, n: usize) -> vertex::Node<'a> {
        let node = view.nodes[n];
        let band = self.ranges.bands()[usize::from(node.level)];
        vertex::Node {
            frame,
            level: u32::from(node.level),
            at: [u32::from(node.x), u32::from(node.z)],
            view: [view.view.x_256, view.view.z_256],
            band: [band.start, band.end - band.start],
            samples: &view.samples[n * PATCH_SAMPLES..(n + 1) * PATCH_SAMPLES],
        }
    }

    /// The visible triangles of a cell of level 0 that some view draws.
    pub(super) fn mask(&self, cell: CellPos) -> u8 {
        if !self.config.extent.contains(cell) {
            return 0;
        }
        let node = [cell.z as u32 / NODE_CELLS, cell.x as u32 / NODE_CELLS];
        let Ok(n) = self.hole_nodes.binary_search(&node) else { return 3 };
        let prim = prim_id(cell.x as u32 % NODE_CELLS, cell.z as u32 % NODE_CELLS, 0);
        (self.hole_words[n * MASK_WORDS + prim as usize / 32] >> (prim % 32) & 3) as u8
    }
}
