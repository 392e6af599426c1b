//! The publication under a body, and the door for changed ground.

use highground_game::publication::{Arrivals, Footprint, Publication};
use highground_game::state_hash::StateBytes;
use highground_terrain::collide::RefusedGround;
use highground_terrain::content::{PhysicalMaterial, Plane, PlaneKind};
use highground_terrain::coord::{BlockPos, BlockSide, CellPos, SamplePos};
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

/// Ground at 1 m with some samples raised to 3.
fn raised_at(places: &'static [(i32, i32)]) -> MemoryTerrain {
    let height = |x, z| if places.contains(&(x, z)) { 3.0 } else { 1.0 };
    MemoryTerrain::from_fn([257, 257], BlockSide::S32, |_| {}, height)
}

fn state(p: &Publication) -> [u8; 32] {
    let mut bytes = StateBytes::default();
    p.write_state(&mut bytes);
    bytes.hash()
}

/// Every pair of neighbouring tiles holds the same where both hold something.
fn no_seams(p: &Publication) {
    let tiles = || (0..64).filter_map(|i| p.ground().tile(BlockPos::new(i % 8, i / 8)));
    for (a, b) in tiles().flat_map(|a| tiles().map(move |b| (a, b))) {
        let (f, g) = (a.side().first_sample(a.pos()), b.side().first_sample(b.pos()));
        for z in f.z.max(g.z) - 1..=f.z.min(g.z) + 33 {
            for x in f.x.max(g.x) - 1..=f.x.min(g.x) + 33 {
                let s = SamplePos::new(x, z);
                assert_eq!(a.quanta(s), b.quanta(s), "{s:?} in {:?} and {:?}", a.pos(), b.pos());
            }
        }
    }
}

#[test]
fn what_was_admitted_is_there_again_when_its_block_has_left_and_comes_back() {
    // In the middle, and on the block's own west border, which the neighbour in the west holds too.
    let changed = raised_at(&[(48, 48), (32, 40)]);
    let (mut p, mut plain) = (publication(raised_at(&[])), publication(raised_at(&[])));
    let mut number = 0;
    let mut go = |p: &mut Publication, plain: &mut Publication, x: f64, ticks: u64| {
        for _ in 0..ticks {
            let around = Footprint::around(x, 48.0, 6.0);
            for p in [&mut *p, plain] {
                p.begin(number, Arrivals::WhenDue, &mut Vec::new()).expect("a tick");
                p.update_windows(number, std::iter::once((around, around.grown(2.0))));
                p.finish(number);
            }
            number += 1;
        }
    };
    go(&mut p, &mut plain, 50.0, 6);
    assert_eq!(state(&p), state(&plain));
    let bytes = p.data_stats();
    assert_eq!((bytes.changed, bytes.changed_bytes), (0, 0));
    let pos = BlockPos::new(1, 1);
    assert!(p.ground().tile(BlockPos::new(0, 1)).is_none(), "the neighbour in the west is not resident");
    p.admit(vec![tile(&changed, pos)]).expect("nothing else holds what was changed");
    let bytes = p.data_stats();
    assert!(bytes.changed == 1 && bytes.changed_bytes > 4 * 32 * 32, "{bytes:?}");
    assert_ne!(state(&p), state(&plain));
    let heights =
        |p: &Publication| [(48.0, 48.0), (32.0, 40.0)].map(|(x, z)| p.ground().height(x, z).unwrap().valid());
    assert_eq!(heights(&p), [Some(3.0); 2]);
    // The neighbour comes while the changed block is here.
    go(&mut p, &mut plain, 26.0, 6);
    assert!(p.ground().tile(BlockPos::new(0, 1)).is_some() && p.ground().tile(pos).is_some());
    no_seams(&p);
    // All leave; the neighbour comes back alone, then the changed block.
    go(&mut p, &mut plain, 220.0, 10);
    assert!(p.ground().tile(pos).is_none() && p.ground().tile(BlockPos::new(0, 1)).is_none());
    assert_eq!(p.data_stats().changed_bytes, bytes.changed_bytes);
    assert_ne!(state(&p), state(&plain), "what was admitted is state, resident or not");
    go(&mut p, &mut plain, 10.0, 6);
    assert!(p.ground().tile(pos).is_none() && p.ground().tile(BlockPos::new(0, 1)).is_some());
    go(&mut p, &mut plain, 26.0, 6);
    no_seams(&p);
    assert_eq!(heights(&p), [Some(3.0); 2]);
    assert_eq!(heights(&plain), [Some(1.0); 2]);
    assert_eq!(p.ground().tile(pos).expect("back").clone(), tile(&changed, pos));
    // Admitted again, back to what it was: other state than never having been.
    p.admit(vec![tile(&raised_at(&[]), pos), tile(&raised_at(&[]), BlockPos::new(0, 1))]).expect("whole");
    assert_eq!(heights(&p), [Some(1.0); 2]);
    no_seams(&p);
    assert_eq!(p.data_stats().changed, 2);
}

#[test]
fn half_of_a_border_is_refused_though_the_other_side_is_not_resident() {
    let mut p = publication(raised_at(&[]));
    for number in 0..6 {
        let around = Footprint::around(48.0, 48.0, 6.0);
        p.begin(number, Arrivals::WhenDue, &mut Vec::new()).expect("a tick");
        p.update_windows(number, std::iter::once((around, around)));
        p.finish(number);
    }
    assert_eq!(p.ground().resident(), 1);
    let (before, kept) = (p.ground().clone(), state(&p));
    // The sample belongs to the block in the east.
    let pos = BlockPos::new(1, 1);
    let refused = p.admit(vec![tile(&raised_at(&[(64, 45)]), pos)]).expect_err("a seam that nobody sees yet");
    let at = SamplePos::new(64, 45);
    assert_eq!(refused, RefusedGround::Seam { a: pos, b: BlockPos::new(2, 1), at });
    assert!(Arc::ptr_eq(&before, p.ground()) && state(&p) == kept && p.data_stats().changed == 0);
}

#[test]
fn materials_and_weights_that_a_changed_tile_does_not_carry_stay() {
    let terrain = raised_at(&[]);
    let mut raster = terrain.raster().clone();
    let named = |name: &str| PhysicalMaterial { name: name.into(), friction: 0.1, restitution: 0.0 };
    raster.catalogue.materials = vec![named("grass"), named("ice")];
    let mut plane = Plane::zero(PlaneKind::PhysicalMaterial, &raster.config);
    plane.values[40 * 256 + 41] = 1;
    raster.set_plane(plane);
    let mut p = publication(MemoryTerrain::new(raster, BlockSide::S32));
    for t in 0..5 {
        tick(&mut p, t, 48.0, 48.0);
    }
    let id = |p: &Publication| p.shared_ground().materials().expect("materials").id(CellPos::new(41, 40));
    assert_eq!(id(&p), 1);
    p.admit(vec![tile(&raised_at(&[(45, 45)]), BlockPos::new(1, 1))]).expect("whole");
    assert_eq!(id(&p), 1, "the tile says nothing of materials");
    for t in 5..15 {
        tick(&mut p, t, 220.0, 220.0);
    }
    assert_eq!(id(&p), 0);
    for t in 15..25 {
        tick(&mut p, t, 48.0, 48.0);
    }
    assert_eq!((id(&p), p.ground().height(45.0, 45.0).unwrap().valid()), (1, Some(3.0)));
}
