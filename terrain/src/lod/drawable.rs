//! A terrain as something to draw: what its nodes show, and the samples that a drawn node needs.
//!
//! Owns how patches are made of resident ground. Voids stand at the lowest sample there is: nothing of them is visible,
//! but vertices of coarser levels may stand on one, and neighbours have to agree where.

use crate::config::TerrainConfig;
use crate::coord::{BlockPos, BlockSide, CellPos, SamplePos};
use crate::format::sidecar::prim_id;
use crate::height::VOID;
use crate::kernel::pyramid::NODE_CELLS;
use crate::kernel::select::nodes::{NodeState, Nodes};
use crate::kernel::vertex::{Frame, PATCH_SAMPLES, PATCH_WORDS, SIDE};
use crate::pass::select::Node;
use crate::store::{BlockError, BlockSource, PayloadFile};
use crate::surface::{Block, Ground, Tile};
use std::collections::BTreeMap;

/// Why a terrain cannot be drawn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LodError {
    /// A block is not there. Missing ground is never flat ground.
    #[error("block ({}, {}) is not resident", .0.x, .0.z)]
    NotResident(BlockPos),
    /// Every sample is void: there is nothing to stand on.
    #[error("the terrain has no sample")]
    NoSample,
    /// A node that is not drawn of this terrain.
    #[error("level {}, x {}, z {} is no node of this terrain that shows anything", .0.level, .0.x, .0.z)]
    NoNode(Node),
}

/// A wholly resident terrain.
#[derive(Clone, Debug)]
pub struct Drawable {
    ground: Ground,
    digest: [u8; 32],
    nodes: Nodes,
    void_height: i32,
}

impl Drawable {
    /// Of ground with every block resident. `digest` is that of its source.
    ///
    /// # Errors
    /// A block that is not resident, or a terrain without a sample.
    pub fn new(ground: Ground, digest: [u8; 32]) -> Result<Self, LodError> {
        let config = *ground.config();
        let [w, h] = config.blocks(ground.side()).map(|n| n as i32);
        let mut void_height = None;
        for pos in (0..h).flat_map(|z| (0..w).map(move |x| BlockPos::new(x, z))) {
            let tile = ground.tile(pos).ok_or(LodError::NotResident(pos))?;
            void_height = void_height.into_iter().chain(tile.min_max().map(|r| r.0)).min();
        }
        let void_height = void_height.ok_or(LodError::NoSample)?;
        let nodes = Nodes::new(&config, |x, z| {
            let tile = tile_of(&ground, [x, z].map(|n| (n * NODE_CELLS) as i32));
            if tile.is_whole() {
                return NodeState::Whole;
            }
            state_of(&config, [x, z], |c| tile.cell_mask(c))
        });
        Ok(Self { ground, digest, nodes, void_height })
    }

    /// The terrain's configuration.
    pub fn config(&self) -> &TerrainConfig {
        self.ground.config()
    }

    /// The digest of its source.
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// What selection has to know of it.
    pub fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// What vertices share.
    pub fn frame(&self) -> Frame {
        frame_of(self.config())
    }

    /// Appends a node's patch ([`PATCH_WORDS`]): its samples, and the triangle bits of a node of level 0; those of coarser
    /// nodes are all set, since the mask of level 0 decides there.
    ///
    /// # Errors
    /// A node that is none of this terrain's, or shows nothing.
    pub fn patch(&self, node: Node, out: &mut Vec<u32>) -> Result<(), LodError> {
        let (level, at) = (u32::from(node.level), [u32::from(node.x), u32::from(node.z)]);
        let there = level < self.nodes.levels() && (0..2).all(|i| at[i] < self.nodes.size(level)[i]);
        if !there || self.nodes.state(level, at[0], at[1]) == NodeState::Hidden {
            return Err(LodError::NoNode(node));
        }
        let last = self.config().samples.map(|n| n - 1);
        for i in 0..PATCH_SAMPLES as u32 {
            let place = |own: u32, n: u32, last: u32| (((n * NODE_CELLS + own) << level).min(last)) as i32;
            let (own_x, own_z) = (i % SIDE as u32, i / SIDE as u32);
            let sample = SamplePos::new(place(own_x, at[0], last[0]), place(own_z, at[1], last[1]));
            let q = tile_of(&self.ground, [sample.x, sample.z]).quanta(sample);
            out.push(if q == VOID { self.void_height } else { q } as u32);
        }
        if level == 0 && node.has_holes {
            out.extend(self.triangles(at));
        } else {
            out.extend([u32::MAX; PATCH_WORDS - PATCH_SAMPLES]);
        }
        Ok(())
    }

    /// The visible triangles of a node of level 0, by PrimId.
    pub fn triangles(&self, node: [u32; 2]) -> [u32; PATCH_WORDS - PATCH_SAMPLES] {
        let mut bits = [0; PATCH_WORDS - PATCH_SAMPLES];
        for (x, z) in (0..NODE_CELLS).flat_map(|x| (0..NODE_CELLS).map(move |z| (x, z))) {
            let cell = CellPos::new((node[0] * NODE_CELLS + x) as i32, (node[1] * NODE_CELLS + z) as i32);
            if self.config().extent.contains(cell) {
                let prim = prim_id(x, z, 0);
                let mask = u32::from(tile_of(&self.ground, [cell.x, cell.z]).cell_mask(cell));
                bits[prim as usize / 32] |= mask << (prim % 32);
            }
        }
        bits
    }
}

/// What vertices of a terrain share.
pub(super) fn frame_of(config: &TerrainConfig) -> Frame {
    let e = config.extent;
    let extent = [e.x0, e.z0, e.x1, e.z1].map(|v| v as u32);
    Frame { spacing_256: config.spacing_256, extent, diagonal: config.diagonal }
}

/// The tile that holds a sample or cell; all are resident.
fn tile_of(ground: &Ground, [x, z]: [i32; 2]) -> &Tile {
    let pos = ground.side().block_of_sample(SamplePos::new(x, z));
    ground.tile(pos).expect("every block is resident")
}

/// What a node of level 0 shows inside the extent, by the masks of its cells there.
fn state_of(config: &TerrainConfig, node: [u32; 2], mut mask: impl FnMut(CellPos) -> u8) -> NodeState {
    let [x, z] = node.map(|n| (n * NODE_CELLS) as i32);
    let (e, side) = (config.extent, NODE_CELLS as i32);
    let (mut all, mut any) = (true, false);
    for z in z.max(e.z0)..(z + side).min(e.z1) {
        for x in x.max(e.x0)..(x + side).min(e.x1) {
            let shown = mask(CellPos::new(x, z)) & 3;
            all &= shown == 3;
            any |= shown != 0;
        }
    }
    match (any, all) {
        (false, _) => NodeState::Hidden,
        (true, true) => NodeState::Whole,
        (true, false) => NodeState::Holes,
    }
}

/// What selection has to know of a payload. Blocks without holes are not read.
///
/// # Errors
/// A block that has to be read and cannot be.
pub fn nodes_of_file(file: &PayloadFile) -> Result<Nodes, BlockError> {
    let (config, side) = (*file.config(), file.block_side());
    let mut failed = None;
    // The blocks with holes of the current row; an empty place for one without.
    let mut row: BTreeMap<BlockPos, Option<Block>> = BTreeMap::new();
    let nodes = Nodes::new(&config, |x, z| {
        let pos = side.block_of_sample(SamplePos::new((x * NODE_CELLS) as i32, (z * NODE_CELLS) as i32));
        if failed.is_some() {
            return NodeState::Hidden;
        }
        row.retain(|p, _| p.z == pos.z);
        if let std::collections::btree_map::Entry::Vacant(place) = row.entry(pos) {
            match with_holes(file, pos) {
                Ok(block) => drop(place.insert(block)),
                Err(error) => {
                    failed = Some(error);
                    return NodeState::Hidden;
                }
            }
        }
        match &row[&pos] {
            None => NodeState::Whole,
            Some(block) => state_of(&config, [x, z], |c| mask_of(block, side, c)),
        }
    });
    failed.map_or(Ok(nodes), Err)
}

/// A block, unless its directory says that nothing of it is removed.
fn with_holes(file: &PayloadFile, pos: BlockPos) -> Result<Option<Block>, BlockError> {
    if file.block_record(pos)?.hole_cells == 0 { Ok(None) } else { file.read_block(pos).map(Some) }
}

fn mask_of(block: &Block, side: BlockSide, cell: CellPos) -> u8 {
    let first = side.first_sample(block.pos());
    block.mask()[((cell.z - first.z) * side.samples() + cell.x - first.x) as usize]
}
