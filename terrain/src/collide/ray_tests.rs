//! Rays against brute force over all triangles, and at every place where a ray could slip between two.

use super::{Faces, GroundRay, RayAnswer, RayError, SharedGround, Sight, TerrainShape};
use crate::config::{Diagonal, TerrainConfig};
use crate::coord::{BlockPos, BlockSide, CellPos, CellRect};
use crate::store::{MemoryTerrain, Raster};
use crate::surface::{Ground, Slot, Triangle};
use glam::DVec3;
use parry3d_f64::query::{Ray, RayCast};
use parry3d_f64::shape::FeatureId;
use std::ops::ControlFlow;
use std::sync::Arc;

/// A small generator of the tests' own (SplitMix64).
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A multiple of 2⁻¹⁶ in lo..hi.
    pub(super) fn lattice(&mut self, lo: f64, hi: f64) -> f64 {
        let span = ((hi - lo) * 65536.0) as u64;
        lo + (self.next() % span) as f64 / 65536.0
    }

    pub(super) fn point(&mut self, lo: DVec3, hi: DVec3) -> DVec3 {
        DVec3::new(self.lattice(lo.x, hi.x), self.lattice(lo.y, hi.y), self.lattice(lo.z, hi.z))
    }
}

/// 3 × 3 blocks with bumps of a few metres, a smaller extent, and removed cells and half-cells.
pub(super) fn bumps(diagonal: Diagonal) -> Ground {
    let mut config = TerrainConfig::new([80, 75], 320);
    config.diagonal = diagonal;
    config.extent = CellRect { x0: 1, z0: 2, x1: 78, z1: 74 };
    let heights = (0..80 * 75).map(|i: i32| (i * 7919 + (i / 80) * 104_729) % 401 - 200).collect();
    let mut raster = Raster::from_heights(config, heights);
    for i in (0..raster.mask.len()).step_by(13) {
        raster.mask[i] &= (i % 3) as u8;
    }
    MemoryTerrain::new(raster, BlockSide::S32).ground_all()
}

pub(super) fn all_triangles(ground: &Ground) -> Vec<(CellPos, Triangle, [DVec3; 3])> {
    let mut all = Vec::new();
    ground.visit_triangles(ground.config().cell_rect(), f64::MIN, f64::MAX, |_, tri| {
        all.push((tri.cell, tri.triangle, tri.vertices));
        ControlFlow::Continue(())
    });
    all
}

/// Möller and Trumbore, "Fast, minimum storage ray/triangle intersection", 1997. Part of the way from a to b.
fn meets(v: &[DVec3; 3], a: DVec3, b: DVec3) -> Option<f64> {
    let (d, e1, e2) = (b - a, v[1] - v[0], v[2] - v[0]);
    let p = d.cross(e2);
    let det = e1.dot(p);
    if det == 0.0 {
        return None;
    }
    let s = a - v[0];
    let u = s.dot(p) / det;
    let q = s.cross(e1);
    let w = d.dot(q) / det;
    let t = e2.dot(q) / det;
    (u >= 0.0 && w >= 0.0 && u + w <= 1.0 && (0.0..=1.0).contains(&t)).then_some(t)
}

#[test]
fn three_thousand_rays_agree_with_brute_force_over_all_triangles() {
    let mut hits = [0; 2];
    for (seed, diagonal) in [Diagonal::Main, Diagonal::Anti, Diagonal::Checkerboard].into_iter().enumerate() {
        let ground = bumps(diagonal);
        let all = all_triangles(&ground);
        let mut random = Random(seed as u64);
        let (lo, hi) = (DVec3::new(-10.0, -2.5, -10.0), DVec3::new(110.0, 2.5, 105.0));
        for i in 0..1000 {
            // Steep ones and grazing ones.
            let a = random.point(lo, hi);
            let b = if i % 2 == 0 {
                random.point(lo, hi)
            } else {
                a + random.point(DVec3::splat(-4.0), DVec3::splat(4.0))
            };
            let expected = all
                .iter()
                .filter_map(|(cell, t, v)| Some((meets(v, a, b)?, *cell, *t, *v)))
                .min_by(|x, y| x.0.total_cmp(&y.0));
            let answer = ground.cast_ray(a, b - a, a.distance(b)).unwrap();
            match (expected, answer) {
                (None, RayAnswer::Miss) => {}
                (Some((part, cell, triangle, v)), RayAnswer::Hit(hit)) => {
                    assert!((hit.t - part * a.distance(b)).abs() < 1e-9, "{a} {b} {part} {hit:?}");
                    assert_eq!((hit.cell, hit.triangle), (cell, triangle));
                    let n = (v[1] - v[0]).cross(v[2] - v[0]).normalize();
                    assert!(hit.normal.distance(n) < 1e-12);
                    assert_eq!(hit.front, n.dot(b - a) < 0.0);
                    assert!(hit.point.distance(a + (b - a) * part) < 1e-9);
                    hits[usize::from(hit.front)] += 1;
                }
                (expected, answer) => panic!("{a} {b}: {expected:?} {answer:?}"),
            }
        }
    }
    assert!(hits[0] > 200 && hits[1] > 200, "{hits:?}");
}

#[test]
fn vertical_rays_hit_every_vertex_edge_and_diagonal_at_the_point_height() {
    for diagonal in [Diagonal::Main, Diagonal::Anti, Diagonal::Checkerboard] {
        let ground = bumps(diagonal);
        let shape = TerrainShape::new(SharedGround::new(Arc::new(ground.clone())));
        // Quarter cells over the corner of four blocks: vertices, edges and diagonals of both kinds.
        for j in 120..136 {
            for i in 120..136 {
                let (x, z) = (f64::from(i) * 0.3125, f64::from(j) * 0.3125);
                let point = ground.point(x, z).unwrap();
                for (from, dir) in [(50.0, -1.0), (-50.0, 1.0)] {
                    let answer = ground.cast_ray(DVec3::new(x, from, z), DVec3::Y * dir, 100.0).unwrap();
                    let ray = Ray::new(DVec3::new(x, from, z), DVec3::Y * dir * 2.0);
                    let parry = shape.cast_local_ray_and_get_normal(&ray, 50.0, true);
                    let Some(g) = point.ground else {
                        assert_eq!((answer, parry.is_some()), (RayAnswer::Miss, false));
                        continue;
                    };
                    let RayAnswer::Hit(hit) = answer else { panic!("({x}, {z}): {answer:?}") };
                    assert_eq!((hit.point.y, hit.cell, hit.triangle), (g.height, g.cell, g.triangle));
                    assert_eq!((hit.t, hit.front), ((from - g.height).abs(), dir < 0.0));
                    let parry = parry.expect("the engine's ray hits too");
                    assert_eq!(parry.time_of_impact, hit.t / 2.0);
                    assert!(parry.normal.dot(ray.dir) < 0.0);
                    assert_eq!(parry.feature, FeatureId::Face(u32::from(dir > 0.0)));
                }
            }
        }
    }
}

#[test]
fn positions_that_slipped_between_cells_elsewhere_are_answered() {
    let ground =
        MemoryTerrain::from_fn([40, 40], BlockSide::S32, |_| {}, |x, z| f64::from((x * 3 + z * 5) % 7))
            .ground_all();
    for (x, z) in [(5.0, 2.63113), (9.50162, 5.0), (32.0, 32.0), (0.0, 0.0), (39.0, 39.0), (32.0, 7.7)] {
        let height = ground.point(x, z).unwrap().height().unwrap();
        for (from, dir) in [(100.0, DVec3::NEG_Y), (-100.0, DVec3::Y)] {
            match ground.cast_ray(DVec3::new(x, from, z), dir, 1000.0).unwrap() {
                RayAnswer::Hit(hit) => assert_eq!(hit.point.y, height),
                other => panic!("({x}, {z}): {other:?}"),
            }
        }
    }
}

#[test]
fn slanted_rays_through_vertices_and_along_edges_never_slip_through() {
    for diagonal in [Diagonal::Main, Diagonal::Anti, Diagonal::Checkerboard] {
        let mut config = TerrainConfig::new([70, 70], 256);
        config.diagonal = diagonal;
        let heights = (0..70 * 70).map(|i: i32| (i * 7919) % 257).collect();
        let ground = MemoryTerrain::new(Raster::from_heights(config, heights), BlockSide::S32).ground_all();
        for j in 28..36 {
            for i in 28..36 {
                // Quarter cells again, and a point straight on the surface there.
                let (x, z) = (f64::from(i) + f64::from(j % 4) * 0.25, f64::from(j) + f64::from(i % 4) * 0.25);
                let y = ground.point(x, z).unwrap().height().unwrap();
                for d in [(3.0, 4.0), (0.0, 5.0), (5.0, 0.0), (-4.0, 4.0), (2.5, -2.5), (-1.0, -3.0)] {
                    let from = DVec3::new(x + d.0, y + 40.0, z + d.1);
                    let through = DVec3::new(x - d.0, y - 40.0, z - d.1);
                    match ground.cast_ray(from, through - from, from.distance(through)).unwrap() {
                        // Something may stand in the way, but nothing further can be the first hit. Quarter points are
                        // exact in lattice units only where the slope lets them be: allow one unit.
                        RayAnswer::Hit(hit) => {
                            assert!(hit.t <= from.distance(through) / 2.0 + 1e-4, "{hit:?}")
                        }
                        other => panic!("({x}, {z}) along {d:?}: {other:?}"),
                    }
                }
            }
        }
    }
}

#[test]
fn level_rays_in_the_plane_hit_where_they_enter_and_starts_on_the_surface_hit_at_once() {
    let ground = MemoryTerrain::from_fn([40, 40], BlockSide::S32, |_| {}, |_, _| 1.0).ground_all();
    let cast = |a: DVec3, d: DVec3| ground.cast_ray(a, d, 100.0).unwrap();
    let hit = |answer| match answer {
        RayAnswer::Hit(hit) => hit,
        other => panic!("{other:?}"),
    };
    assert_eq!(hit(cast(DVec3::new(-3.0, 1.0, 7.3), DVec3::X)).t, 3.0);
    assert_eq!(hit(cast(DVec3::new(20.0, 1.0, 43.0), DVec3::NEG_Z)).t, 4.0);
    assert_eq!(hit(cast(DVec3::new(4.0, 1.0, 4.0), DVec3::new(0.3, 0.0, -0.7))).t, 0.0);
    assert_eq!(hit(cast(DVec3::new(4.25, 1.0, 4.5), DVec3::new(0.3, 1.0, -0.7))).t, 0.0);
    assert_eq!(hit(cast(DVec3::new(32.0, 1.0, 32.0), DVec3::NEG_Y)).t, 0.0);
    assert_eq!(cast(DVec3::new(-3.0, 1.01, 7.3), DVec3::X), RayAnswer::Miss);
    assert_eq!(cast(DVec3::new(-3.0, 1.0, 7.3), DVec3::NEG_X), RayAnswer::Miss);
    // A ray of no length is a point.
    assert!(matches!(ground.cast_ray(DVec3::new(4.0, 1.0, 4.0), DVec3::X, 0.0), Ok(RayAnswer::Hit(_))));
    assert_eq!(ground.cast_ray(DVec3::new(4.0, 1.5, 4.0), DVec3::X, 0.0), Ok(RayAnswer::Miss));
}

#[test]
fn ground_that_is_not_there_is_pending_or_failed_but_only_before_a_hit() {
    let all = MemoryTerrain::from_fn([97, 97], BlockSide::S32, |_| {}, |_, _| 0.0).ground_all();
    let ground =
        all.with_changes(&[(BlockPos::new(1, 0), Slot::Absent), (BlockPos::new(1, 1), Slot::Failed)]);
    let down = |x: f64, z: f64| ground.cast_ray(DVec3::new(x, 5.0, z), DVec3::NEG_Y, 10.0).unwrap();
    assert_eq!(down(40.0, 10.0), RayAnswer::Pending);
    assert_eq!(down(40.0, 40.0), RayAnswer::Failed);
    assert_eq!(down(400.0, 40.0), RayAnswer::Miss);
    assert!(matches!(down(10.0, 10.0), RayAnswer::Hit(_)));
    let along = |y: f64, drop: f64| {
        let d = DVec3::new(80.0, -drop, 0.3);
        ground.cast_ray(DVec3::new(5.0, y, 10.0), d, d.length()).unwrap()
    };
    // Down before the gap, in it, beyond it, and not at all.
    assert!(matches!(along(1.0, 8.0), RayAnswer::Hit(_)));
    for drop in [2.5, 1.1, 0.5] {
        assert_eq!(along(1.0, drop), RayAnswer::Pending);
    }
    let shape = TerrainShape::new(SharedGround::new(Arc::new(ground)));
    let ray = Ray::new(DVec3::new(40.0, 5.0, 10.0), DVec3::NEG_Y);
    assert!(shape.cast_local_ray(&ray, f64::MAX, true).is_none());
}

#[test]
fn what_is_no_ray_is_refused_and_endless_engine_rays_are_answered() {
    let ground = MemoryTerrain::from_fn([40, 40], BlockSide::S32, |_| {}, |_, _| 0.0).ground_all();
    let a = DVec3::new(4.0, 5.0, 4.0);
    assert_eq!(ground.cast_ray(a, DVec3::ZERO, 5.0), Err(RayError::Direction));
    assert_eq!(ground.cast_ray(a, DVec3::X, -1.0), Err(RayError::Length));
    assert_eq!(ground.cast_ray(a, DVec3::X, f64::NAN), Err(RayError::Length));
    assert!(ground.cast_ray(a, DVec3::X, f64::INFINITY).is_err());
    assert!(ground.cast_ray(a, DVec3::new(f64::NAN, 0.0, 0.0), 5.0).is_err());
    assert!(ground.cast_ray(DVec3::new(f64::NAN, 0.0, 0.0), DVec3::X, 5.0).is_err());
    let tiny = ground.cast_ray(a, DVec3::new(0.0, -1e-300, 0.0), 10.0);
    assert!(matches!(tiny, Ok(RayAnswer::Hit(hit)) if hit.t == 5.0));

    let shape = TerrainShape::new(SharedGround::new(Arc::new(ground)));
    let far = Ray::new(DVec3::new(20.0, 1e9, 20.0), DVec3::NEG_Y);
    assert_eq!(shape.cast_local_ray(&far, f64::MAX, true), Some(1e9));
    let slanted = Ray::new(DVec3::new(20.0, 10.0, 20.0), DVec3::new(0.1, -0.5, 0.1));
    let t = shape.cast_local_ray(&slanted, f64::MAX, true).unwrap();
    assert!((t - 20.0).abs() < 1e-3, "{t}");
    let away = Ray::new(DVec3::new(20.0, 10.0, 20.0), DVec3::Y);
    assert_eq!(shape.cast_local_ray(&away, f64::MAX, true), None);
}

/// The bumps are rough enough that a long level ray meets many triangles.
#[test]
fn all_hits_come_once_each_in_order_and_faces_and_sight_agree_with_them() {
    let ground = bumps(Diagonal::Checkerboard);
    let all = all_triangles(&ground);
    let mut random = Random(17);
    let (lo, hi) = (DVec3::new(-5.0, -1.5, -5.0), DVec3::new(105.0, 1.5, 100.0));
    let mut most = 0;
    for _ in 0..300 {
        let (a, b) = (random.point(lo, hi), random.point(lo, hi));
        let ray = GroundRay::between(a, b).unwrap();
        let mut expected: Vec<(f64, bool)> = all
            .iter()
            .filter_map(|(_, _, v)| {
                Some((meets(v, a, b)?, (v[1] - v[0]).cross(v[2] - v[0]).dot(b - a) < 0.0))
            })
            .collect();
        expected.sort_by(|x, y| x.0.total_cmp(&y.0));
        expected.dedup_by(|x, y| (x.0 - y.0).abs() < 1e-12);
        most = most.max(expected.len());
        for faces in [Faces::Both, Faces::Front, Faces::Back] {
            let wanted: Vec<f64> =
                expected.iter().filter(|e| faces.take(e.1)).map(|e| e.0 * ray.length()).collect();
            let mut found = Vec::new();
            let end = ground.all_hits(&ray, faces, |hit| {
                assert!(faces.take(hit.front));
                found.push(hit.t);
                ControlFlow::Continue(())
            });
            assert_eq!((end, found.len()), (Sight::Clear, wanted.len()), "{a} {b} {faces:?}");
            assert!(found.is_sorted() && found.iter().zip(&wanted).all(|(f, w)| (f - w).abs() < 1e-8));
            let first = match ground.first_hit(&ray, faces) {
                RayAnswer::Hit(hit) => Some(hit.t),
                _ => None,
            };
            assert_eq!(first, found.first().copied());
            let blocked = if wanted.is_empty() { Sight::Clear } else { Sight::Blocked };
            assert_eq!(ground.sight(&ray, faces), blocked);
        }
        let mut given = 0;
        let end = ground.all_hits(&ray, Faces::Both, |_| {
            given += 1;
            if given == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(end == Sight::Blocked, expected.len() >= 2);
    }
    assert!(most > 30, "{most}");
}

#[test]
fn what_is_missing_counts_from_where_the_ray_touches_it() {
    let all =
        MemoryTerrain::from_fn([97, 97], BlockSide::S32, |_| {}, |x, _| f64::from(x) / 4.0).ground_all();
    let ground =
        all.with_changes(&[(BlockPos::new(1, 1), Slot::Absent), (BlockPos::new(2, 1), Slot::Failed)]);
    let cast = |a: [f64; 3], b: [f64; 3]| {
        let ray = GroundRay::between(a.into(), b.into()).unwrap();
        (
            ground.first_hit(&ray, Faces::Both),
            ground.sight(&ray, Faces::Both),
            ground.first_absent(&ray, Faces::Both),
        )
    };
    // Along the border of a block that is missing: both sides are on the way.
    let (first, sight, absent) = cast([0.0, 20.0, 32.0], [63.0, 14.0, 32.0]);
    assert_eq!((first, absent), (RayAnswer::Pending, Some(BlockPos::new(1, 1))));
    // The ray comes down on the near side's ground all the same.
    assert_eq!(sight, Sight::Blocked);
    // One unit beside it nothing is missing.
    let beside = 32.0 - 1.0 / 65536.0;
    assert!(matches!(cast([0.0, 20.0, beside], [63.0, 14.0, beside]).0, RayAnswer::Hit(_)));
    // A hit before it counts, also from the far side; behind it is only sight.
    assert!(matches!(cast([20.0, 20.0, 40.0], [30.0, 0.0, 40.0]).0, RayAnswer::Hit(_)));
    let through = cast([40.0, 30.0, 50.0], [40.0, 5.0, 90.0]);
    assert_eq!((through.0, through.1), (RayAnswer::Pending, Sight::Blocked));
    assert!(matches!(cast([40.0, 5.0, 90.0], [40.0, 30.0, 50.0]).0, RayAnswer::Hit(_)));
    let failed = cast([70.0, 60.0, 40.0], [80.0, 50.0, 40.0]);
    assert_eq!(failed, (RayAnswer::Failed, Sight::Failed, None));
    // A corner is enough; what is missing first is what is answered.
    assert_eq!(cast([31.0, 40.0, 33.0], [33.0, 40.0, 31.0]).0, RayAnswer::Pending);
    assert_eq!(cast([30.0, 40.0, 33.0], [32.0, 40.0, 31.0]).0, RayAnswer::Miss);
    assert_eq!(cast([90.0, 60.0, 40.0], [40.0, 60.0, 40.0]).0, RayAnswer::Failed);
    assert_eq!(cast([90.0, 60.0, 40.0], [40.0, 60.0, 40.0]).1, Sight::Pending);
    let mut hits = 0;
    let ray = GroundRay::between(DVec3::new(40.0, 0.0, 0.0), DVec3::new(40.0, 30.0, 50.0)).unwrap();
    let end = ground.all_hits(&ray, Faces::Both, |_| {
        hits += 1;
        ControlFlow::Continue(())
    });
    assert_eq!((end, hits), (Sight::Pending, 1));
}
