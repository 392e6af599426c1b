//! What the collider holds beside the blocks. Alone in its file, so that the process's bytes are its own.

use glam::DVec3;
use highground_terrain::collide::{SharedGround, TerrainDispatcher, TerrainShape};
use highground_terrain::coord::{BlockPos, BlockSide};
use highground_terrain::store::MemoryTerrain;
use highground_terrain::surface::{Ground, Slot};
use highground_tests::counting_allocator::{CountingAllocator, peak_bytes};
use parry3d_f64::math::Pose;
use parry3d_f64::query::details::ContactManifoldsWorkspace;
use parry3d_f64::query::{ContactManifold, PersistentQueryDispatcher};
use parry3d_f64::shape::SharedShape;
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

#[test]
fn beside_the_blocks_the_collider_holds_less_than_a_quarter_byte_a_cell() {
    // 512 × 512 cells, 524,288 triangles, and a thousand bodies in contact.
    let height = |x: i32, z: i32| f64::from((x * 7 + z * 13) % 11) / 8.0;
    let ground = MemoryTerrain::from_fn([513, 513], BlockSide::S32, |_| {}, height).ground_all();
    let blocks = || (0..17).flat_map(|z| (0..17).map(move |x| BlockPos::new(x, z)));
    let tiles: Vec<(BlockPos, Slot)> = blocks().map(|p| (p, ground.slot(p).clone())).collect();
    let empty = Ground::empty(ground.config(), ground.side());
    let body = SharedShape::cuboid(0.5, 0.5, 0.5);
    let mut manifolds: Vec<ContactManifold<(), ()>> = Vec::with_capacity(64);
    let mut workspaces: Vec<Option<ContactManifoldsWorkspace>> = (0..1000).map(|_| None).collect();
    let (_, counted) = peak_bytes(|| vec![1u8; 1 << 20]);
    assert!(counted >= 1 << 20, "the allocator does not count");
    let mut touched = 0;
    let (shape, most) = peak_bytes(|| {
        let shape = TerrainShape::new(SharedGround::new(Arc::new(empty.with_changes(&tiles))));
        for (i, workspace) in workspaces.iter_mut().enumerate() {
            let (x, z) = (8.0 + 15.6 * (i % 32) as f64, 8.0 + 15.6 * (i / 32) as f64);
            let at = Pose::from_translation(DVec3::new(x, 1.2, z));
            let (d, body) = (TerrainDispatcher, body.as_ref());
            d.contact_manifolds(&at, &shape, body, 0.02, &mut manifolds, workspace).expect("supported");
            touched += usize::from(!manifolds.is_empty());
            // The manifolds are the engine's.
            manifolds.clear();
        }
        shape
    });
    assert!(touched > 300, "{touched}");
    let cells = 512 * 512;
    println!("{most} bytes beside the blocks: {:.3} a cell", most as f64 / f64::from(cells));
    assert!(most < u64::from(cells as u32) / 4, "{most} bytes beside the blocks");
    assert_eq!(shape.ground().resident(), 17 * 17);
}
