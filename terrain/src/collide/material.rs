//! The physical materials of the resident ground: what a body feels where it touches.
//!
//! Owns a compact copy of the cells' material ids, one entry a resident block, as an immutable snapshot that is swapped
//! with the ground. Both triangles of a cell have the cell's material. A block without an entry is material 0
//! everywhere; an id that the table does not have feels like the default material and is counted, never a hole.

use crate::content::{PhysicalMaterial, PlaneKind};
use crate::coord::{BlockPos, BlockSide, CellPos, CellRect};
use crate::surface::{BlockPlanes, Ground};
use glam::DVec3;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The materials of one block's cells: nothing where all are the same, else 1, 2, 4 or 8 bits a cell into a palette.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockMaterials {
    /// Ids in ascending order.
    palette: Box<[u8]>,
    /// Bits a cell.
    bits: u32,
    /// Places in the palette, X fastest, from the low bits up.
    cells: Box<[u8]>,
}

impl BlockMaterials {
    /// Packs `side²` ids, X fastest. `None` when every cell is material 0, which needs no entry.
    pub fn pack(ids: &[u8]) -> Option<Self> {
        let mut seen = [false; 256];
        ids.iter().for_each(|&id| seen[usize::from(id)] = true);
        let palette: Vec<u8> = (0..=255u8).filter(|&id| seen[usize::from(id)]).collect();
        if palette == [0] || palette.is_empty() {
            return None;
        }
        let bits = match palette.len() {
            1 => 0,
            2 => 1,
            3..=4 => 2,
            5..=16 => 4,
            _ => 8,
        };
        let mut cells = vec![0u8; (ids.len() * bits as usize).div_ceil(8)];
        for (i, id) in ids.iter().enumerate().filter(|_| bits > 0) {
            let place = palette.partition_point(|p| p < id) as u8;
            cells[i * bits as usize / 8] |= place << (i as u32 * bits % 8);
        }
        Some(Self { palette: palette.into(), bits, cells: cells.into() })
    }

    /// What a block's planes say, as [`BlockMaterials::pack`] gives it; `None` where its materials are not loaded.
    pub fn carried(planes: &BlockPlanes) -> Option<Option<Self>> {
        planes.get(PlaneKind::PhysicalMaterial).ok().map(|ids| ids.and_then(Self::pack))
    }

    /// The id of the cell with this place in the block.
    fn id(&self, index: usize) -> u8 {
        if self.bits == 0 {
            return self.palette[0];
        }
        let byte = u32::from(self.cells[index * self.bits as usize / 8]);
        let place = (byte >> (index as u32 * self.bits % 8)) & ((1 << self.bits) - 1);
        self.palette[place as usize]
    }

    /// Bytes held in memory.
    pub fn bytes(&self) -> usize {
        std::mem::size_of::<Self>() + self.palette.len() + self.cells.len()
    }
}

/// What a body feels at a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feel {
    /// The cell's material id, as stored: it may be beyond the table.
    pub id: u8,
    /// Coefficient of friction.
    pub friction: f64,
    /// Coefficient of restitution, 0 to 1.
    pub restitution: f64,
}

/// The materials of a session's resident ground.
#[derive(Clone, Debug)]
pub struct Materials {
    table: Arc<[PhysicalMaterial]>,
    /// What an id beyond the table feels like.
    fallback: PhysicalMaterial,
    side: BlockSide,
    blocks: BTreeMap<BlockPos, Arc<BlockMaterials>>,
    out_of_range: u64,
}

impl Materials {
    /// No block with materials yet. `table` is the catalogue's, by id; empty means that all ground feels like `fallback`.
    pub fn new(table: &[PhysicalMaterial], fallback: PhysicalMaterial, side: BlockSide) -> Self {
        Self { table: table.into(), fallback, side, blocks: BTreeMap::new(), out_of_range: 0 }
    }

    /// The same with the entries of some blocks replaced or removed.
    #[must_use]
    pub fn with_changes(
        &self,
        changes: impl Iterator<Item = (BlockPos, Option<Arc<BlockMaterials>>)>,
    ) -> Self {
        let mut next = self.clone();
        for (pos, entry) in changes {
            let old = match &entry {
                Some(block) => next.blocks.insert(pos, block.clone()),
                None => next.blocks.remove(&pos),
            };
            next.out_of_range -= old.map_or(0, |b| next.strays(&b));
            next.out_of_range += entry.map_or(0, |b| next.strays(&b));
        }
        next
    }

    fn strays(&self, block: &BlockMaterials) -> u64 {
        if block.palette.iter().all(|&id| usize::from(id) < self.table.len()) {
            return 0;
        }
        let n = self.side.samples() as usize;
        (0..n * n).filter(|&i| usize::from(block.id(i)) >= self.table.len()).count() as u64
    }

    /// How many resident cells have an id that the table does not have.
    pub fn out_of_range(&self) -> u64 {
        self.out_of_range
    }

    /// What an id stands for; `None` when the table does not have it. Its name is the game's key for it.
    pub fn material(&self, id: u8) -> Option<&PhysicalMaterial> {
        self.table.get(usize::from(id))
    }

    /// The id of a cell; 0 where no block says otherwise.
    pub fn id(&self, cell: CellPos) -> u8 {
        let pos = self.side.block_of_cell(cell);
        let Some(block) = self.blocks.get(&pos) else { return 0 };
        let (first, n) = (self.side.first_sample(pos), self.side.samples());
        block.id(((cell.z - first.z) * n + cell.x - first.x) as usize)
    }

    fn feel(&self, id: u8) -> Feel {
        let m = self.material(id).unwrap_or(&self.fallback);
        Feel { id, friction: m.friction, restitution: m.restitution }
    }

    /// What a body feels on a cell.
    pub fn at(&self, cell: CellPos) -> Feel {
        self.feel(self.id(cell))
    }

    /// What a body feels where no block says otherwise: material 0, or the fallback without a table.
    pub fn base(&self) -> Feel {
        self.feel(0)
    }

    /// What a body feels at a point of the surface: the material of the cell under it, or, where that shows nothing, of
    /// the first visible cell in (z, x) order that touches the point.
    pub fn under(&self, ground: &Ground, p: DVec3) -> Feel {
        let own = ground.config().cell_under(p.x, p.z);
        let shows = |c: CellPos| ground.config().extent.contains(c) && self.is_visible(ground, c);
        if shows(own) {
            return self.at(own);
        }
        let cells = ground.cells_meeting(p.x, p.z, p.x, p.z);
        let around = (cells.z0..cells.z1).flat_map(|z| (cells.x0..cells.x1).map(move |x| CellPos::new(x, z)));
        self.at(around.into_iter().find(|&c| shows(c)).unwrap_or(own))
    }

    fn is_visible(&self, ground: &Ground, cell: CellPos) -> bool {
        ground.tile(self.side.block_of_cell(cell)).is_some_and(|tile| tile.cell_mask(cell) != 0)
    }

    /// Whether every cell of a rectangle feels as [`Materials::base`] does.
    pub fn is_base(&self, cells: CellRect) -> bool {
        if cells.is_empty() || self.blocks.is_empty() {
            return true;
        }
        let base = self.base();
        let same = |id: u8| {
            let feel = self.feel(id);
            feel.friction == base.friction && feel.restitution == base.restitution
        };
        let a = self.side.block_of_cell(CellPos::new(cells.x0, cells.z0));
        let b = self.side.block_of_cell(CellPos::new(cells.x1 - 1, cells.z1 - 1));
        let plain = (a.z..=b.z)
            .flat_map(|z| (a.x..=b.x).map(move |x| BlockPos::new(x, z)))
            .all(|pos| self.blocks.get(&pos).is_none_or(|block| block.palette.iter().all(|&id| same(id))));
        plain
            || (cells.z0..cells.z1)
                .flat_map(|z| (cells.x0..cells.x1).map(move |x| CellPos::new(x, z)))
                .all(|cell| same(self.id(cell)))
    }

    /// Bytes held beside the ground.
    pub fn bytes(&self) -> usize {
        self.blocks.values().map(|b| b.bytes() + std::mem::size_of::<BlockPos>()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, friction: f64) -> PhysicalMaterial {
        PhysicalMaterial { name: name.into(), friction, restitution: 0.0 }
    }

    #[test]
    fn packed_ids_are_those_that_were_given_at_every_width() {
        for kinds in [1usize, 2, 3, 4, 5, 16, 17, 256] {
            let ids: Vec<u8> = (0..32 * 32).map(|i| 255 - (i * 7 % kinds) as u8).collect();
            let packed = BlockMaterials::pack(&ids).expect("more than material 0");
            ids.iter().enumerate().for_each(|(i, &id)| assert_eq!(packed.id(i), id, "{kinds} kinds, {i}"));
            let bits = [(1, 0), (2, 1), (4, 2), (16, 4), (256, 8)].iter().find(|b| kinds <= b.0).unwrap().1;
            assert!(packed.bytes() <= 32 * 32 * bits / 8 + kinds + 64, "{kinds} kinds: {}", packed.bytes());
        }
        assert_eq!(BlockMaterials::pack(&[0; 1024]), None);
    }

    #[test]
    fn an_id_beyond_the_table_feels_like_the_fallback_and_is_counted() {
        let table = [named("grass", 0.8), named("ice", 0.05)];
        let none = Materials::new(&table, named("default", 0.6), BlockSide::S32);
        let mut ids = vec![0; 1024];
        (ids[3], ids[32], ids[33]) = (1, 7, 7);
        let pos = BlockPos::new(2, 1);
        let entry = BlockMaterials::pack(&ids).map(Arc::new);
        let some = none.with_changes(std::iter::once((pos, entry)));
        assert_eq!((none.out_of_range(), some.out_of_range()), (0, 2));
        let friction = |x: i32, z: i32| some.at(CellPos::new(64 + x, 32 + z)).friction;
        assert_eq!((friction(3, 0), friction(4, 0), friction(0, 1), friction(1, 1)), (0.05, 0.8, 0.6, 0.6));
        assert_eq!(some.at(CellPos::new(0, 0)), some.base());
        let rect = |x0: i32, x1: i32| CellRect { x0: 64 + x0, z0: 32, x1: 64 + x1, z1: 33 };
        assert!(some.is_base(rect(-9, 3)) && !some.is_base(rect(-9, 4)) && some.is_base(rect(4, 40)));
        let gone = some.with_changes(std::iter::once((pos, None)));
        assert_eq!((gone.out_of_range(), gone.bytes()), (0, 0));
        assert_eq!(some.material(1).map(|m| m.name.as_str()), Some("ice"));
        assert_eq!(some.material(7), None);
    }
}
