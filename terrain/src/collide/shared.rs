//! The ground that a session's queries, rays, collider and walkers share, and the door through which another one enters.
//!
//! Owns the current snapshot. A candidate is admitted whole or refused whole; never changes a snapshot in place.

use super::material::Materials;
use crate::coord::{BlockPos, CellPos, SamplePos};
use crate::surface::{Ground, Tile};
use std::sync::{Arc, PoisonError, RwLock};

/// An immutable snapshot, swapped between ticks.
#[derive(Debug)]
pub struct SharedGround {
    current: RwLock<Arc<Ground>>,
    materials: RwLock<Option<Arc<Materials>>>,
}

/// Why a candidate was refused. The ground is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefusedGround {
    /// Another configuration or block side.
    #[error("the candidate is of another terrain: configuration and block side must be the same")]
    OtherTerrain,
    /// Something else was admitted since the candidate was begun.
    #[error(
        "the candidate was made from version {from}, but the ground is at version {current}: make it again"
    )]
    Stale {
        /// What the candidate was made from.
        from: u64,
        /// What is there.
        current: u64,
    },
    /// Not a successor.
    #[error("the candidate has version {found}: a successor of version {current} must have a higher one")]
    Version {
        /// The candidate's.
        found: u64,
        /// What is there.
        current: u64,
    },
    /// A changed block that is not resident: there is nothing to change.
    #[error("block ({}, {}) is not resident: only ground that is there can be changed", pos.x, pos.z)]
    NotResident {
        /// Which block.
        pos: BlockPos,
    },
    /// A height that no terrain may have: what is exact ends there.
    #[error(
        "block ({}, {}), sample ({}, {}): {quanta} quanta; a height must be below 2^24 either way",
        pos.x, pos.z, at.x, at.z
    )]
    Height {
        /// Which block.
        pos: BlockPos,
        /// The sample.
        at: SamplePos,
        /// What it holds.
        quanta: i32,
    },
    /// Weights that are not of this terrain.
    #[error(
        "block ({}, {}): {found} weight texels of layers up to {layer}; expected {expected} of layers up to 31",
        pos.x, pos.z
    )]
    Weights {
        /// Which block.
        pos: BlockPos,
        /// Texels that a block of this terrain has.
        expected: usize,
        /// Texels that there are.
        found: usize,
        /// The highest layer in them.
        layer: u8,
    },
    /// Two blocks disagree about what both hold: the border between them would be an edge.
    #[error("blocks ({}, {}) and ({}, {}) disagree at sample ({}, {})", a.x, a.z, b.x, b.z, at.x, at.z)]
    Seam {
        /// One block.
        a: BlockPos,
        /// The other.
        b: BlockPos,
        /// Where: the sample, or the first corner of the cell.
        at: SamplePos,
    },
}

impl SharedGround {
    /// Shares a first snapshot.
    pub fn new(ground: Arc<Ground>) -> Arc<Self> {
        Arc::new(Self { current: RwLock::new(ground), materials: RwLock::new(None) })
    }

    /// The current snapshot.
    pub fn load(&self) -> Arc<Ground> {
        // The lock only ever guards whole assignments, so a poisoned one still holds a whole snapshot.
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The version of the current snapshot.
    pub fn version(&self) -> u64 {
        self.load().version()
    }

    /// The materials of the current snapshot, if the terrain has any.
    pub fn materials(&self) -> Option<Arc<Materials>> {
        self.materials.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts the materials of the resident ground in place. Only between physics steps.
    pub fn set_materials(&self, materials: Arc<Materials>) {
        *self.materials.write().unwrap_or_else(PoisonError::into_inner) = Some(materials);
    }

    /// Puts another snapshot of the same terrain in place and gives back the old one. Only between physics steps.
    ///
    /// The engine does not notice: see [`super::TerrainShape`] for what to do with the bodies that touch changed ground.
    ///
    /// # Panics
    /// When the snapshot is of a terrain with another configuration or block side: the shape's bounds are fixed.
    pub fn swap(&self, ground: Arc<Ground>) -> Arc<Ground> {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        assert!(
            current.config() == ground.config() && current.side() == ground.side(),
            "a ground can only be swapped for another snapshot of the same terrain"
        );
        std::mem::replace(&mut *current, ground)
    }

    /// Admits a candidate that was made from version `from` of the ground by replacing the tiles `changed`, or refuses it
    /// and keeps the old. Gives back the old. Only between physics steps, as [`SharedGround::swap`].
    ///
    /// # Errors
    /// What is wrong with the candidate.
    pub fn admit(
        &self,
        candidate: Arc<Ground>,
        from: u64,
        changed: &[BlockPos],
    ) -> Result<Arc<Ground>, RefusedGround> {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        if current.config() != candidate.config() || current.side() != candidate.side() {
            return Err(RefusedGround::OtherTerrain);
        }
        if current.version() != from {
            return Err(RefusedGround::Stale { from, current: current.version() });
        }
        if candidate.version() <= from {
            return Err(RefusedGround::Version { found: candidate.version(), current: from });
        }
        for &pos in changed {
            let tile = candidate.tile(pos).ok_or(RefusedGround::NotResident { pos })?;
            pos.neighbourhood().filter_map(|p| candidate.tile(p)).try_for_each(|other| agree(tile, other))?;
        }
        Ok(std::mem::replace(&mut *current, candidate))
    }
}

/// Whether a changed tile is what its block and those around it make, which is what it will be when it has left and
/// comes back. `made` is that.
///
/// # Errors
/// A seam to the block that holds the sample or cell at which it is not.
pub fn is_made_of(tile: &Tile, made: &Tile) -> Result<(), RefusedGround> {
    agree(tile, made).map_err(|e| match e {
        RefusedGround::Seam { a, at, .. } => {
            let b = tile.side().block_of_cell(CellPos::new(at.x, at.z));
            RefusedGround::Seam { a, b, at }
        }
        other => other,
    })
}

/// Whether two neighbours hold the same where both hold something.
fn agree(a: &Tile, b: &Tile) -> Result<(), RefusedGround> {
    let n = a.side().samples();
    let (first, other) = (a.side().first_sample(a.pos()), b.side().first_sample(b.pos()));
    let range = |p: i32, q: i32, far: i32| (p.max(q) - 1)..=(p.min(q) + n + far);
    let wrong = |x: i32, z: i32| RefusedGround::Seam { a: a.pos(), b: b.pos(), at: SamplePos::new(x, z) };
    for z in range(first.z, other.z, 1) {
        for x in range(first.x, other.x, 1) {
            let s = SamplePos::new(x, z);
            if a.quanta(s) != b.quanta(s) {
                return Err(wrong(x, z));
            }
        }
    }
    for z in range(first.z, other.z, 0) {
        for x in range(first.x, other.x, 0) {
            let c = CellPos::new(x, z);
            if a.cell_mask(c) != b.cell_mask(c) {
                return Err(wrong(x, z));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coord::BlockSide;
    use crate::store::MemoryTerrain;
    use crate::surface::Slot;

    fn ground(height: impl Fn(i32, i32) -> f64) -> Ground {
        MemoryTerrain::from_fn([97, 97], BlockSide::S32, |_| {}, height).ground_all()
    }

    fn all_blocks() -> impl Iterator<Item = BlockPos> {
        (0..4).flat_map(|z| (0..4).map(move |x| BlockPos::new(x, z)))
    }

    #[test]
    fn a_candidate_is_admitted_whole_or_refused_and_the_old_kept() {
        let old = Arc::new(ground(|_, _| 1.0));
        let shared = SharedGround::new(old.clone());
        // A bump in the middle of block (1, 1), and one on its east border, which four blocks hold.
        let bump = ground(|x, z| if (x, z) == (40, 45) { 2.0 } else { 1.0 });
        let border = ground(|x, z| if (x, z) == (64, 45) { 2.0 } else { 1.0 });
        let tile = |g: &Ground, x: i32| (BlockPos::new(x, 1), g.slot(BlockPos::new(x, 1)).clone());
        let v = old.version();

        let seam = Arc::new(old.with_changes(&[tile(&border, 1)]));
        let refused = shared.admit(seam, v, &[BlockPos::new(1, 1)]).expect_err("its neighbour disagrees");
        assert!(matches!(refused, RefusedGround::Seam { at: SamplePos { x: 64, z: 45 }, .. }), "{refused}");
        let refused = shared.admit(old.clone(), v, &[]).expect_err("not a successor");
        assert_eq!(refused, RefusedGround::Version { found: v, current: v });
        let other =
            Arc::new(MemoryTerrain::from_fn([64, 64], BlockSide::S32, |_| {}, |_, _| 1.0).ground_all());
        assert_eq!(shared.admit(other, v, &[]).expect_err("another"), RefusedGround::OtherTerrain);
        let gone = Arc::new(old.with_changes(&[(BlockPos::new(1, 1), Slot::Absent)]));
        let refused = shared.admit(gone, v, &[BlockPos::new(1, 1)]).expect_err("nothing there");
        assert_eq!(refused, RefusedGround::NotResident { pos: BlockPos::new(1, 1) });
        assert!(Arc::ptr_eq(&shared.load(), &old), "whatever was refused, the old is kept");

        let both = Arc::new(old.with_changes(&[tile(&border, 1), tile(&border, 2)]));
        let before =
            shared.admit(both.clone(), v, &[BlockPos::new(1, 1), BlockPos::new(2, 1)]).expect("whole");
        assert!(Arc::ptr_eq(&before, &old) && Arc::ptr_eq(&shared.load(), &both));
        assert_eq!(shared.version(), v + 1);
        let late = Arc::new(old.with_changes(&[tile(&bump, 1)]));
        let refused = shared.admit(late, v, &[BlockPos::new(1, 1)]).expect_err("made from the old");
        assert_eq!(refused, RefusedGround::Stale { from: v, current: v + 1 });
    }

    #[test]
    fn every_block_of_a_whole_terrain_agrees_with_its_neighbours() {
        let old = ground(|_, _| 0.0);
        let new = ground(|x, z| f64::from((x * 7 + z * 13) % 11));
        let changes: Vec<_> = all_blocks().map(|p| (p, new.slot(p).clone())).collect();
        let shared = SharedGround::new(Arc::new(old.clone()));
        let changed: Vec<_> = all_blocks().collect();
        shared.admit(Arc::new(old.with_changes(&changes)), old.version(), &changed).expect("no seam");
    }
}
