//! The door for changed ground: tiles that are admitted whole or refused whole, and that outlive the window.
//!
//! Owns what a changed tile becomes: a block in the place of the source's, its materials and its digest. Never changes
//! a snapshot in place, nor the source.

use super::Publication;
use highground_terrain::collide::{BlockMaterials, RefusedGround, is_made_of};
use highground_terrain::coord::{BlockPos, SamplePos};
use highground_terrain::height::{HEIGHT_LIMIT, VOID};
use highground_terrain::kernel::weight_mip::LAYERS;
use highground_terrain::runtime::ReadBlock;
use highground_terrain::state::PublicationState;
use highground_terrain::surface::{Block, Slot, Tile};
use std::collections::BTreeMap;
use std::sync::Arc;

impl Publication {
    /// Admits changed tiles at the start of a tick, all or none: what a body touches of them is held until they are
    /// Published, after this tick's step. The tiles carry what they share with their neighbours, so whoever changes a
    /// border gives both sides. The caller tells the bodies that touch them.
    ///
    /// What was admitted wins over the source for as long as this publication lives: a block that leaves and comes back
    /// is the admitted one. That is counted in [`highground_terrain::runtime::DataStats::changed_bytes`]. Weights and planes that a tile has not
    /// loaded stay as they were.
    ///
    /// # Errors
    /// Why nothing was changed: a tile of a block that is not resident here, one that holds other samples of its
    /// neighbours than these do, resident or not, or what [`highground_terrain::collide::SharedGround::admit`] says.
    pub fn admit(&mut self, tiles: Vec<Tile>) -> Result<(), RefusedGround> {
        let settled = |pos: &BlockPos| {
            let state = self.wanted.get(pos).map(|b| b.state);
            matches!(state, Some(PublicationState::Resident | PublicationState::Published))
        };
        let changed: Vec<BlockPos> = tiles.iter().map(Tile::pos).collect();
        if let Some(&pos) = changed.iter().find(|pos| !settled(pos)) {
            return Err(RefusedGround::NotResident { pos });
        }
        let blocks = self.blocks_of(&tiles)?;
        let block = |p: BlockPos| blocks.get(&p).map(|read| &read.block).or_else(|| self.data.block(p));
        let mut changes: Vec<(BlockPos, Slot)> = Vec::new();
        for tile in &tiles {
            let made = Tile::new(self.ground.config(), &blocks[&tile.pos()].block, block);
            is_made_of(tile, &made)?;
            changes.push((tile.pos(), Slot::Resident(Arc::new(made))));
        }
        let candidate = Arc::new(self.ground.with_changes(&changes));
        self.shared.admit(candidate.clone(), self.ground.version(), &changed)?;
        self.ground = candidate;
        if let Some(old) = self.shared.materials() {
            let materials = blocks.iter().map(|(&pos, read)| (pos, read.materials.clone()));
            self.shared.set_materials(Arc::new(old.with_changes(materials)));
        }
        for (pos, read) in blocks {
            self.admitted.insert(pos, digest(&read.block));
            let lowest = read.block.min_max().map(|(low, _)| low);
            self.lowest_admitted = self.lowest_admitted.into_iter().chain(lowest).min();
            self.data.change(read);
        }
        for pos in changed {
            let block = self.wanted.get_mut(&pos).expect("every block was looked at above");
            self.published_now -= usize::from(block.state == PublicationState::Published);
            (block.state, block.published) = (PublicationState::Resident, None);
            block.version = self.ground.version();
        }
        self.stats.peak_bytes = self.stats.peak_bytes.max(self.ground.resident_bytes());
        Ok(())
    }

    /// The blocks that changed tiles show.
    fn blocks_of(&self, tiles: &[Tile]) -> Result<BTreeMap<BlockPos, ReadBlock>, RefusedGround> {
        let one = |tile: &Tile| {
            let pos = tile.pos();
            if tile.side() != self.ground.side() || !tile.is_of(self.ground.config()) {
                return Err(RefusedGround::OtherTerrain);
            }
            let older = self.data.block(pos).ok_or(RefusedGround::NotResident { pos })?;
            let block = Block::of_tile(tile, older);
            sound(&block, self.ground.config().paint_per_cell)?;
            let materials = match BlockMaterials::carried(block.planes()) {
                Some(carried) => carried.map(Arc::new),
                None => self.data.materials(pos).cloned(),
            };
            Ok((pos, ReadBlock { block, materials }))
        };
        tiles.iter().map(one).collect()
    }
}

/// Whether a block of a tile keeps to what every terrain does: a tile made by hand may hold anything.
fn sound(block: &Block, paint_per_cell: u8) -> Result<(), RefusedGround> {
    let (pos, side) = (block.pos(), block.side());
    let n = side.samples() as usize;
    let bad = |&q: &i32| q != VOID && q.unsigned_abs() >= HEIGHT_LIMIT.unsigned_abs();
    if let Some(i) = block.heights().iter().position(bad) {
        let first = side.first_sample(pos);
        let at = SamplePos::new(first.x + (i % n) as i32, first.z + (i / n) as i32);
        return Err(RefusedGround::Height { pos, at, quanta: block.heights()[i] });
    }
    let Some(weights) = block.weights() else { return Ok(()) };
    let expected = (n * usize::from(paint_per_cell)).pow(2);
    let layer = weights.iter().map(|t| t.id1.max(t.id2)).max().unwrap_or(0);
    if weights.len() != expected || u32::from(layer) >= LAYERS {
        return Err(RefusedGround::Weights { pos, expected, found: weights.len(), layer });
    }
    Ok(())
}

/// The digest of what a block shows: its heights, mask, weights and planes.
fn digest(block: &Block) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    for q in block.heights() {
        hasher.update(&q.to_le_bytes());
    }
    hasher.update(block.solid());
    for texel in block.weights().iter().flat_map(|w| w.iter()) {
        hasher.update(&[texel.id1, texel.id2, texel.ratio]);
    }
    for (kind, values) in block.planes().all() {
        // Names have no NUL, so that where one ends is known.
        hasher.update(kind.name().as_bytes()).update(&[0]).update(values);
    }
    *hasher.finalize().as_bytes()
}
