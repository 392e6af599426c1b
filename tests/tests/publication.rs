//! The publication under a body, and the door for changed ground.

use highground_game::publication::{Arrivals, Footprint, Publication};
use highground_terrain::collide::RefusedGround;
use highground_terrain::content::{PhysicalMaterial, Plane, PlaneKind};
use highground_terrain::coord::{BlockPos, BlockSide, CellPos};
use highground_terrain::runtime::BlockData;
use highground_terrain::state::PublicationState;
use highground_terrain::store::{BlockSource, MemoryTerrain};
use highground_terrain::surface::Tile;
use std::sync::Arc;

fn publication(terrain: MemoryTerrain) -> Publication {
    let data = BlockData::new(terrain.shared(), 2, 0, 0).expect("threads");
    Publication::new(data, 3, 100, 60)
}

/// One whole tick with windows around (x, z).
fn tick(p: &mut Publication, number: u64, x: f64, z: f64) {
    p.begin(number, Arrivals::WhenDue, &mut Vec::new()).expect("a tick");
    let f = Footprint::around(x, z, 20.0);
    p.update_windows(number, std::iter::once((f, f.grown(5.0))));
    p.finish(number);
}

#[test]
fn the_publication_under_a_body_tells_digest_version_and_tick() {
    let terrain = MemoryTerrain::from_fn([129, 129], BlockSide::S32, |_| {}, |x, _| f64::from(x));
    let digest = terrain.digest();
    let mut p = publication(terrain);
    let body = Footprint::around(40.0, 40.0, 1.0);
    let under = |p: &Publication| p.under(body).expect("on the map");
    assert_eq!((under(&p).version, under(&p).published), (0, None));
    for t in 0..6 {
        tick(&mut p, t, 40.0, 40.0);
        // Requested in tick 0, due 3 ticks later, Published after that tick's step.
        let found = under(&p);
        let state = match t {
            0 => PublicationState::Requested,
            1 | 2 => PublicationState::Pending,
            _ => PublicationState::Published,
        };
        assert_eq!((found.digest, found.state), (digest, state), "tick {t}");
        assert_eq!(found.published, (t >= 3).then_some(3), "tick {t}");
        assert_eq!(found.version, u64::from(t >= 3), "tick {t}");
    }
    // A body that reaches ground nobody asked for relies on nothing.
    let wide = p.under(Footprint::around(40.0, 40.0, 40.0)).expect("on the map");
    assert_eq!((wide.published, wide.state), (None, PublicationState::Requested));
    assert_eq!(p.under(Footprint::around(-500.0, 0.0, 1.0)), None);
}

fn tile(from: &MemoryTerrain, pos: BlockPos) -> Tile {
    from.ground_all().tile(pos).expect("resident").clone()
}

#[test]
fn changed_tiles_enter_whole_and_hold_what_touches_them_for_one_tick() {
    let terrain = MemoryTerrain::from_fn([129, 129], BlockSide::S32, |_| {}, |_, _| 1.0);
    let raised = |x0: i32| {
        MemoryTerrain::from_fn(
            [129, 129],
            BlockSide::S32,
            |_| {},
            move |x, z| if (x, z) == (x0, 40) { 3.0 } else { 1.0 },
        )
    };
    let (middle, border) = (raised(40), raised(64));
    let mut p = publication(terrain);
    for t in 0..5 {
        tick(&mut p, t, 48.0, 48.0);
    }
    let pos = BlockPos::new(1, 1);
    let body = Footprint::around(48.0, 48.0, 2.0);
    assert!(p.is_published(body));
    let before = p.ground().clone();

    // Half of a border is refused, and so is a block that is not here.
    let refused = p.admit(vec![tile(&border, pos)]).expect_err("the neighbour still has the old border");
    assert!(matches!(refused, RefusedGround::Seam { .. }), "{refused}");
    let refused = p.admit(vec![tile(&middle, BlockPos::new(3, 3))]).expect_err("not resident");
    assert_eq!(refused, RefusedGround::NotResident { pos: BlockPos::new(3, 3) });
    assert!(Arc::ptr_eq(&before, p.ground()) && Arc::ptr_eq(&before, &p.shared_ground().load()));
    assert!(p.is_published(body));

    p.begin(5, Arrivals::WhenDue, &mut Vec::new()).expect("a tick");
    p.admit(vec![tile(&middle, pos)]).expect("whole");
    assert_eq!(p.ground().point(40.0, 40.0).unwrap().height(), Some(3.0));
    assert_eq!(p.shared_ground().version(), p.ground().version());
    let under = p.under(body).expect("on the map");
    assert_eq!((under.state, under.published), (PublicationState::Resident, None));
    assert!(!p.is_published(body), "held in this tick");
    p.finish(5);
    let under = p.under(body).expect("on the map");
    assert_eq!((under.published, under.version), (Some(5), p.ground().version()));
}

#[test]
fn materials_come_and_go_with_their_blocks_and_strays_are_reported() {
    let terrain = MemoryTerrain::from_fn([129, 129], BlockSide::S32, |_| {}, |_, _| 1.0);
    let mut raster = terrain.raster().clone();
    let named = |name: &str, friction| PhysicalMaterial { name: name.into(), friction, restitution: 0.0 };
    raster.catalogue.materials = vec![named("grass", 0.8), named("ice", 0.05)];
    let mut plane = Plane::zero(PlaneKind::PhysicalMaterial, &raster.config);
    plane.values[40 * 128 + 41] = 1;
    raster.set_plane(plane);
    let mut p = publication(MemoryTerrain::new(raster, BlockSide::S32));
    let cell = CellPos::new(41, 40);
    let name = |p: &Publication| {
        let m = p.shared_ground().materials().expect("the terrain has materials");
        (m.material(m.id(cell)).map(|m| m.name.clone()), m.bytes() > 0, m.out_of_range())
    };
    assert_eq!(name(&p), (Some("grass".into()), false, 0));
    for t in 0..4 {
        tick(&mut p, t, 48.0, 48.0);
    }
    assert_eq!(name(&p), (Some("ice".into()), true, 0));
    for t in 4..8 {
        tick(&mut p, t, 110.0, 110.0);
    }
    assert_eq!(name(&p), (Some("grass".into()), false, 0), "gone with its block");
}
