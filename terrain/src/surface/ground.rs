//! The resident ground: an immutable snapshot that queries, rays, collider and walkers share.
//!
//! A change makes a new snapshot that shares every untouched tile with the old one. Never loads anything.

use super::frame::Frame;
use super::page::{ANYTHING, NOTHING, PAGE, PAGE_LOG2, Page};
use super::{Block, Tile, Tri, Triangle};
use crate::config::TerrainConfig;
use crate::content::{Catalogue, PhysicalMaterial, PlaneKind};
use crate::coord::{BlockPos, BlockSide, CellPos, CellRect};
use crate::store::{BlockError, BlockSource};
use glam::DVec3;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

/// What the ground holds at a block position.
#[derive(Clone, Debug, Default)]
pub enum Slot {
    /// Not resident, or beyond the map: nothing is known of the surface here.
    #[default]
    Absent,
    /// Resident.
    Resident(Arc<Tile>),
    /// Its publication failed: there will be no surface here.
    Failed,
}

/// Whether everything that was asked about could be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// Every block on the map that the region touches is resident.
    Complete,
    /// A block that the region touches is absent.
    Pending,
    /// A block that the region touches has failed (and none is absent).
    Failed,
}

impl Coverage {
    fn with(self, slot: &Slot) -> Self {
        match (slot, self) {
            (Slot::Resident(_), c) => c,
            (Slot::Absent, _) | (_, Coverage::Pending) => Coverage::Pending,
            (Slot::Failed, _) => Coverage::Failed,
        }
    }
}

/// An immutable snapshot of resident tiles.
///
/// Positions in metres (points, rays, triangles, vertices) are the world's, where the terrain's placement has moved it;
/// samples, cells and blocks are the terrain's own.
#[derive(Clone, Debug)]
pub struct Ground {
    config: Arc<TerrainConfig>,
    catalogue: Arc<Catalogue>,
    frame: Frame,
    side: BlockSide,
    /// Blocks along x and z.
    blocks: [u32; 2],
    pages_x: u32,
    pages: Vec<Option<Arc<Page>>>,
    resident: usize,
    resident_bytes: usize,
    stray_materials: u64,
    version: u64,
}

impl Ground {
    /// Ground with nothing resident.
    pub fn empty(config: &TerrainConfig, side: BlockSide) -> Self {
        let blocks = config.blocks(side);
        let [w, h] = blocks.map(|b| b.div_ceil(PAGE as u32));
        Self {
            config: Arc::new(*config),
            catalogue: Arc::default(),
            frame: Frame::new(config),
            side,
            blocks,
            pages_x: w,
            pages: vec![None; w as usize * h as usize],
            resident: 0,
            resident_bytes: 0,
            stray_materials: 0,
            version: 0,
        }
    }

    /// The same ground, knowing what its planes refer to. Without it every tag is empty and every material the default.
    #[must_use]
    pub fn with_catalogue(mut self, catalogue: Arc<Catalogue>) -> Self {
        self.catalogue = catalogue;
        self.stray_materials = self.tiles().map(|t| strays(t, &self.catalogue)).sum();
        self
    }

    /// Ground with every block of a source resident. Planes besides heights, visibility and the two-layer weights are there
    /// when the source gives them by itself: wrap it in [`crate::store::WithPlanes`].
    ///
    /// # Errors
    /// The first block that cannot be read.
    pub fn all_of(source: &dyn BlockSource) -> Result<Self, BlockError> {
        let (config, side) = (source.config(), source.block_side());
        let [w, h] = config.blocks(side).map(|n| n as i32);
        let mut blocks: BTreeMap<BlockPos, Block> = BTreeMap::new();
        let mut changes: Vec<(BlockPos, Slot)> = Vec::new();
        let mut read = 0;
        // Decoded blocks are large: only three rows of them are held.
        for z in 0..h {
            while read < h.min(z + 2) {
                for x in 0..w {
                    let pos = BlockPos::new(x, read);
                    blocks.insert(pos, source.read_block(pos)?);
                }
                read += 1;
            }
            blocks.retain(|p, _| p.z >= z - 1);
            for x in 0..w {
                let pos = BlockPos::new(x, z);
                let tile = Tile::new(config, &blocks[&pos], |p| blocks.get(&p));
                changes.push((pos, Slot::Resident(Arc::new(tile))));
            }
        }
        let catalogue = Arc::new(source.catalogue().clone());
        Ok(Self::empty(config, side).with_catalogue(catalogue).with_changes(&changes))
    }

    /// A new snapshot with some slots replaced. Its version is one higher.
    ///
    /// # Panics
    /// When a position is beyond the map.
    #[must_use]
    pub fn with_changes(&self, changes: &[(BlockPos, Slot)]) -> Self {
        let mut next = self.clone();
        next.version += 1;
        for (pos, slot) in changes {
            let (at, index) = self.locate(*pos).expect("a block on the map");
            let (first_x, first_z) = (pos.x as usize / PAGE * PAGE, pos.z as usize / PAGE * PAGE);
            let page = next.pages[at].get_or_insert_with(|| {
                let [w, h] = self.blocks.map(|n| n as usize);
                Arc::new(Page::new(|x, z| first_x + x < w && first_z + z < h))
            });
            let old = Arc::make_mut(page).replace(index, slot.clone());
            if let Slot::Resident(tile) = &old {
                next.resident -= 1;
                next.resident_bytes -= tile.bytes();
                next.stray_materials -= strays(tile, &self.catalogue);
            }
            if let Slot::Resident(tile) = slot {
                next.resident += 1;
                next.resident_bytes += tile.bytes();
                next.stray_materials += strays(tile, &self.catalogue);
            }
        }
        next
    }

    fn tiles(&self) -> impl Iterator<Item = &Tile> {
        let slots = self.pages.iter().flatten().flat_map(|p| (0..PAGE * PAGE).map(|i| p.slot(i)));
        slots.filter_map(|slot| if let Slot::Resident(tile) = slot { Some(&**tile) } else { None })
    }

    #[inline(always)]
    fn locate(&self, pos: BlockPos) -> Option<(usize, usize)> {
        let [w, h] = self.blocks;
        // Negative positions are large as unsigned ones.
        if pos.x as u32 >= w || pos.z as u32 >= h {
            return None;
        }
        let (x, z) = (pos.x as usize, pos.z as usize);
        let page = (z >> PAGE_LOG2) * self.pages_x as usize + (x >> PAGE_LOG2);
        Some((page, (z & (PAGE - 1)) * PAGE + (x & (PAGE - 1))))
    }

    /// The range of heights over a square of 2^`level` blocks (at most a page), `x` and `z` counted in such squares; in
    /// quanta. Anything where a block is not resident.
    #[inline(always)]
    pub(crate) fn range_over(&self, level: u32, x: i32, z: i32) -> [i32; 2] {
        let up = PAGE_LOG2 - level;
        let (page_x, page_z) = (x as usize >> up, z as usize >> up);
        if page_x >= self.pages_x as usize {
            return NOTHING;
        }
        let within = (1usize << up) - 1;
        match self.pages.get(page_z * self.pages_x as usize + page_x) {
            Some(Some(page)) => page.range(level, x as usize & within, z as usize & within),
            Some(None) => ANYTHING,
            None => NOTHING,
        }
    }

    /// Constants of positions.
    #[inline(always)]
    pub(crate) fn frame(&self) -> &Frame {
        &self.frame
    }

    /// What the planes refer to.
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// The physical material of an index; the default one for what the catalogue does not have.
    pub fn material_at(&self, index: u8) -> &PhysicalMaterial {
        static DEFAULT: PhysicalMaterial =
            PhysicalMaterial { name: String::new(), friction: DEFAULT_FRICTION, restitution: 0.0 };
        self.catalogue.materials.get(usize::from(index)).unwrap_or(&DEFAULT)
    }

    /// How many resident cells have a material that the catalogue does not have, and so the default one.
    pub fn stray_materials(&self) -> u64 {
        self.stray_materials
    }

    /// The terrain's configuration.
    pub fn config(&self) -> &TerrainConfig {
        &self.config
    }

    /// Samples a side of its blocks.
    pub fn side(&self) -> BlockSide {
        self.side
    }

    /// Counts the changes since the ground was empty.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// How many tiles are resident.
    pub fn resident(&self) -> usize {
        self.resident
    }

    /// Bytes of the resident tiles.
    pub fn resident_bytes(&self) -> usize {
        self.resident_bytes
    }

    /// What is at a block position; Absent beyond the map.
    #[inline]
    pub fn slot(&self, pos: BlockPos) -> &Slot {
        const ABSENT: &Slot = &Slot::Absent;
        self.locate(pos)
            .and_then(|(page, index)| self.pages[page].as_ref().map(|p| p.slot(index)))
            .unwrap_or(ABSENT)
    }

    /// The tile at a block position, if resident.
    #[inline]
    pub fn tile(&self, pos: BlockPos) -> Option<&Tile> {
        match self.slot(pos) {
            Slot::Resident(tile) => Some(tile),
            _ => None,
        }
    }

    /// The cells whose closed squares meet the closed rectangle (world metres), clipped to the extent; may be empty.
    /// NaN gives an empty rectangle.
    pub fn cells_meeting(&self, min_x: f64, min_z: f64, max_x: f64, max_z: f64) -> CellRect {
        let s = self.config.spacing_m();
        let (e, p) = (self.config.extent, self.config.placement);
        if !(min_x <= max_x && min_z <= max_z) {
            return CellRect { x0: 0, z0: 0, x1: 0, z1: 0 };
        }
        // `as` saturates, and ceil − 1 rather than floor takes in the cell that only shares an edge.
        let low = |v: f64, placed: i32, least: i32, most: i32| {
            let cell = ((v / s).ceil() as i64).saturating_sub(1 + i64::from(placed));
            cell.clamp(i64::from(least), i64::from(most)) as i32
        };
        let high = |v: f64, placed: i32, least: i32, most: i32| {
            let cell = ((v / s).floor() as i64).saturating_add(1 - i64::from(placed));
            cell.clamp(i64::from(least), i64::from(most)) as i32
        };
        CellRect {
            x0: low(min_x, p.x, e.x0, e.x1),
            z0: low(min_z, p.z, e.z0, e.z1),
            x1: high(max_x, p.x, e.x0, e.x1),
            z1: high(max_z, p.z, e.z0, e.z1),
        }
    }

    /// The box of all that could ever stand on the extent, whatever is resident: world metres, lowest and highest corner.
    pub fn bounds(&self) -> [DVec3; 2] {
        let (s, e) = (self.config.spacing_m(), self.config.extent);
        let top = f64::from(crate::height::HEIGHT_LIMIT) * self.config.quantum.metres();
        let origin = DVec3::from(self.frame.origin_m);
        let at = |x: i32, y: f64, z: i32| origin + DVec3::new(f64::from(x) * s, y, f64::from(z) * s);
        [at(e.x0, -top, e.z0), at(e.x1, top, e.z1)]
    }

    /// Whether every block under a rectangle of cells is resident. Cells outside the extent are no gap.
    pub fn coverage(&self, cells: CellRect) -> Coverage {
        let mut coverage = Coverage::Complete;
        self.each_block(cells, |_, slot| {
            coverage = coverage.with(slot);
            ControlFlow::Continue(())
        });
        coverage
    }

    fn each_block(&self, cells: CellRect, mut f: impl FnMut(BlockPos, &Slot) -> ControlFlow<()>) {
        if cells.is_empty() {
            return;
        }
        let a = self.side.block_of_cell(CellPos::new(cells.x0, cells.z0));
        let b = self.side.block_of_cell(CellPos::new(cells.x1 - 1, cells.z1 - 1));
        for z in a.z..=b.z {
            for x in a.x..=b.x {
                let pos = BlockPos::new(x, z);
                if f(pos, self.slot(pos)).is_break() {
                    return;
                }
            }
        }
    }

    /// Visits the visible triangles of a rectangle of cells whose height range meets `min_y..=max_y` (world metres), block by block
    /// (z, then x) and inside a block in (z, x, triangle) order, until `f` breaks. Says what could not be seen.
    ///
    /// `f` gets the tile too: its apron knows the neighbours of every triangle.
    pub fn visit_triangles(
        &self,
        cells: CellRect,
        min_y: f64,
        max_y: f64,
        mut f: impl FnMut(&Tile, Tri) -> ControlFlow<()>,
    ) -> Coverage {
        let mut coverage = Coverage::Complete;
        let quantum = self.config.quantum.metres();
        let lift = self.config.placement.y;
        let n = self.side.samples();
        self.each_block(cells, |pos, slot| {
            coverage = coverage.with(slot);
            let Slot::Resident(tile) = slot else { return ControlFlow::Continue(()) };
            let Some((lo, hi)) = tile.min_max() else { return ControlFlow::Continue(()) };
            if f64::from(hi + lift) * quantum < min_y || f64::from(lo + lift) * quantum > max_y {
                return ControlFlow::Continue(());
            }
            let first = self.side.first_sample(pos);
            let all = tile.shows_all();
            for z in cells.z0.max(first.z)..cells.z1.min(first.z + n) {
                for x in cells.x0.max(first.x)..cells.x1.min(first.x + n) {
                    let cell = CellPos::new(x, z);
                    let mask = if all { 3 } else { tile.cell_mask(cell) };
                    if mask == 0 {
                        continue;
                    }
                    // As the vertices have them; only what is met is made.
                    let y = tile.own_corners(cell).map(|q| f64::from(q.wrapping_add(lift)) * quantum);
                    for t in Triangle::BOTH {
                        let corner = |(dx, dz): (i32, i32)| y[(dx + 2 * dz) as usize];
                        let [a, b, c] = t.corners(tile.is_anti(cell)).map(corner);
                        if a.max(b).max(c) >= min_y
                            && a.min(b).min(c) <= max_y
                            && let Some(tri) = tile.triangle(cell, t)
                        {
                            f(tile, tri)?;
                        }
                    }
                }
            }
            ControlFlow::Continue(())
        });
        coverage
    }
}

/// What [`PhysicalMaterial::default`] has.
const DEFAULT_FRICTION: f64 = 0.7;

/// The cells of a tile whose material is beyond the catalogue's.
fn strays(tile: &Tile, catalogue: &Catalogue) -> u64 {
    match tile.planes().get(PlaneKind::PhysicalMaterial) {
        // Index 0 is the default where there are no materials at all.
        Ok(Some(values)) => {
            let known = catalogue.materials.len().max(1);
            values.iter().filter(|&&v| usize::from(v) >= known).count() as u64
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryTerrain;

    fn bumps() -> MemoryTerrain {
        MemoryTerrain::from_fn(
            [70, 45],
            BlockSide::S32,
            |_| {},
            |x, z| f64::from((x * 7 + z * 13) % 11) * 0.25,
        )
    }

    #[test]
    fn cells_that_only_share_an_edge_are_met() {
        let g = bumps().ground_all();
        assert_eq!(g.cells_meeting(3.0, 3.0, 3.0, 3.0), CellRect { x0: 2, z0: 2, x1: 4, z1: 4 });
        assert_eq!(g.cells_meeting(3.5, 3.5, 4.5, 3.5), CellRect { x0: 3, z0: 3, x1: 5, z1: 4 });
        assert_eq!(g.cells_meeting(-50.0, -50.0, 1e300, 0.0), CellRect { x0: 0, z0: 0, x1: 69, z1: 1 });
        assert!(g.cells_meeting(f64::NAN, 0.0, 1.0, 1.0).is_empty());
        assert!(g.cells_meeting(500.0, 0.0, 600.0, 1.0).is_empty());
    }

    #[test]
    fn every_visible_triangle_is_visited_once_in_order() {
        let g = bumps().ground_all();
        let mut seen = Vec::new();
        let all = g.config().cell_rect();
        let coverage = g.visit_triangles(all, -1e9, 1e9, |tile, tri| {
            seen.push((tile.pos(), tri.cell.z, tri.cell.x, tri.triangle));
            ControlFlow::Continue(())
        });
        assert_eq!(coverage, Coverage::Complete);
        assert_eq!(seen.len(), 69 * 44 * 2);
        assert!(seen.is_sorted());
    }

    #[test]
    fn changes_share_untouched_tiles_and_count_what_is_resident() {
        let all = bumps().ground_all();
        let (count, bytes) = (all.resident(), all.resident_bytes());
        assert_eq!(count, 6);
        let gone = all.with_changes(&[(BlockPos::new(1, 0), Slot::Absent)]);
        assert_eq!(gone.resident(), 5);
        assert!(gone.resident_bytes() < bytes);
        assert_eq!(gone.coverage(CellRect { x0: 30, z0: 0, x1: 33, z1: 1 }), Coverage::Pending);
        assert_eq!(gone.coverage(CellRect { x0: 30, z0: 0, x1: 32, z1: 1 }), Coverage::Complete);
        let back = gone.with_changes(&[(BlockPos::new(1, 0), all.slot(BlockPos::new(1, 0)).clone())]);
        assert_eq!((back.resident(), back.resident_bytes()), (count, bytes));
    }
}
