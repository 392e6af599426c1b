//! What selection has to know of a terrain: which nodes there are and whether they show anything.
//!
//! Owns the states of all nodes, two bits each, level 0 first, row-major. Never reads files.

use crate::config::TerrainConfig;
use crate::coord::CellRect;
use crate::kernel::pyramid::{NODE_CELLS, levels, nodes};

/// What a node shows inside the valid extent, at level 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeState {
    /// Nothing: all of it is holes, or outside the extent. Never drawn.
    Hidden = 0,
    /// Every triangle.
    Whole = 1,
    /// Some triangles: it is drawn with the topology that knows of holes.
    Holes = 2,
}

/// The nodes of a terrain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nodes {
    cells: [u32; 2],
    extent: CellRect,
    spacing_256: u32,
    /// The number of the first node of each level, and of all nodes.
    first: Vec<u32>,
    words: Vec<u32>,
}

impl Nodes {
    /// From what the nodes of level 0 show inside the extent, asked row by row for those that meet it. The rest is
    /// hidden. The configuration is checked already.
    pub fn new(config: &TerrainConfig, mut level0: impl FnMut(u32, u32) -> NodeState) -> Self {
        let cells = config.cells().map(|c| c as u32);
        let mut first = vec![0];
        for level in 0..levels(cells) {
            let [w, h] = nodes(cells, level);
            first.push(first[level as usize] + w * h);
        }
        let words = vec![0; first[first.len() - 1].div_ceil(16) as usize];
        let mut all = Self { cells, extent: config.extent, spacing_256: config.spacing_256, first, words };
        let [xs, zs] = all.in_extent(0);
        for (z, x) in zs.flat_map(|z| xs.clone().map(move |x| (z, x))) {
            all.set(0, x, z, level0(x, z));
        }
        for level in 1..all.levels() {
            let [xs, zs] = all.in_extent(level);
            for (z, x) in zs.flat_map(|z| xs.clone().map(move |x| (z, x))) {
                let state = all.join(level, x, z);
                all.set(level, x, z, state);
            }
        }
        all
    }

    /// The nodes of a level, along x and z, that meet the extent.
    pub fn in_extent(&self, level: u32) -> [std::ops::Range<u32>; 2] {
        let (e, side) = (self.extent, NODE_CELLS << level);
        [(e.x0, e.x1), (e.z0, e.z1)].map(|(from, to)| from as u32 / side..(to as u32).div_ceil(side))
    }

    /// Of the children that meet the extent.
    fn join(&self, level: u32, x: u32, z: u32) -> NodeState {
        let [xs, zs] = self.in_extent(level - 1);
        let mut joined = None;
        for quarter in 0..4 {
            let (cx, cz) = (2 * x + (quarter & 1), 2 * z + (quarter >> 1));
            if xs.contains(&cx) && zs.contains(&cz) {
                let state = self.state(level - 1, cx, cz);
                joined = Some(match joined {
                    None => state,
                    Some(other) if other == state => state,
                    Some(_) => NodeState::Holes,
                });
            }
        }
        joined.unwrap_or(NodeState::Hidden)
    }

    fn set(&mut self, level: u32, x: u32, z: u32, state: NodeState) {
        let n = self.number(level, x, z);
        self.words[n as usize / 16] |= (state as u32) << (n % 16 * 2);
    }

    fn number(&self, level: u32, x: u32, z: u32) -> u32 {
        self.first[level as usize] + z * nodes(self.cells, level)[0] + x
    }

    /// Levels until one node covers all.
    pub fn levels(&self) -> u32 {
        self.first.len() as u32 - 1
    }

    /// Cells of the terrain along x and z.
    pub fn cells(&self) -> [u32; 2] {
        self.cells
    }

    /// The valid extent.
    pub fn extent(&self) -> CellRect {
        self.extent
    }

    /// Spacing in 1/256 m.
    pub fn spacing_256(&self) -> u32 {
        self.spacing_256
    }

    /// Nodes of a level along x and z.
    ///
    /// # Panics
    /// When there is no such level.
    pub fn size(&self, level: u32) -> [u32; 2] {
        nodes(self.cells, level)
    }

    /// The number of a level's first node among all.
    ///
    /// # Panics
    /// When there is no such level.
    pub fn first(&self, level: u32) -> u32 {
        assert!(level < self.levels());
        self.first[level as usize]
    }

    /// What a node shows.
    ///
    /// # Panics
    /// When there is no such node.
    pub fn state(&self, level: u32, x: u32, z: u32) -> NodeState {
        let [w, h] = self.size(level);
        assert!(x < w && z < h, "level {level} has {w}x{h} nodes, not {x},{z}");
        let n = self.number(level, x, z);
        match self.words[n as usize / 16] >> (n % 16 * 2) & 3 {
            0 => NodeState::Hidden,
            1 => NodeState::Whole,
            _ => NodeState::Holes,
        }
    }

    /// Two bits a node, sixteen nodes a word from the lowest bits up: what a kernel reads.
    pub fn words(&self) -> &[u32] {
        &self.words
    }
}
