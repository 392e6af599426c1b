//! What is painted, how wet it is and how smooth, against the rasters and files it came from; batches; bytes a cell.

use super::{Answer, Ground, PlaneChoice, Slot, Spot, Value};
use crate::config::{Diagonal, TerrainConfig};
use crate::content::{PhysicalMaterial, Plane, PlaneKind};
use crate::coord::{BlockPos, BlockSide, CellRect};
use crate::height::VOID;
use crate::kernel::normal;
use crate::store::{
    BlockSource, MemoryTerrain, PayloadFile, Raster, WithPlanes, WriteOptions, write_payload,
};
use glam::DVec3;
use std::sync::Arc;

const W: usize = 90;
const H: usize = 71;

/// Ragged ground with two paint texels a cell side, three layers, channels, water and materials.
fn raster(diagonal: Diagonal) -> Raster {
    let mut config = TerrainConfig::new([W as u32, H as u32], 512);
    config.diagonal = diagonal;
    config.paint_per_cell = 2;
    config.extent = CellRect { x0: 0, z0: 1, x1: W as i32 - 2, z1: H as i32 - 1 };
    let heights = (0..W * H).map(|i| ((i * 7919 + i / W * 31) % 1501) as i32).collect();
    let mut raster = Raster::from_heights(config, heights);
    raster.mask.iter_mut().enumerate().for_each(|(i, m)| *m &= [3, 3, 1, 3, 2, 3, 0][i * 31 % 7]);
    raster.catalogue.layers = ["grass", "rock", "snow"].map(crate::content::Layer::named).to_vec();
    raster.catalogue.layers[1].tag = "hard".into();
    let material =
        |name: &str, friction| PhysicalMaterial { name: name.into(), friction, ..Default::default() };
    raster.catalogue.materials = vec![material("earth", 0.8), material("ice", 0.1)];
    raster.catalogue.user_channels = vec!["a".into(), "b".into()];
    let [tw, th] = [2 * (W - 1), 2 * (H - 1)];
    // Grass gets what the others leave; every fifth texel has no weight at all.
    let rock = |i: usize| if i.is_multiple_of(5) { 0 } else { (i * 37 % 200) as u8 };
    let grass = (0..tw * th).map(|i| if i.is_multiple_of(5) { 0 } else { 255 - rock(i) }).collect();
    raster.set_plane(Plane { kind: PlaneKind::Weight(0), values: grass });
    raster.set_plane(Plane { kind: PlaneKind::Weight(1), values: (0..tw * th).map(rock).collect() });
    let cells = (W - 1) * (H - 1);
    let user = (0..cells).map(|i| (i * 13 % 251) as u8).collect();
    raster.set_plane(Plane { kind: PlaneKind::User(1), values: user });
    let material = (0..cells).map(|i| (i % 2) as u8).collect();
    raster.set_plane(Plane { kind: PlaneKind::PhysicalMaterial, values: material });
    let depths = (0..W * H).flat_map(|i| depth(i).to_le_bytes()).collect();
    raster.set_plane(Plane { kind: PlaneKind::WaterDepth, values: depths });
    raster
}

/// Quanta of water over a sample; dry towards the east.
fn depth(i: usize) -> u32 {
    if i % W < 70 { (i * 17 % 300) as u32 } else { 0 }
}

fn ground_with(source: &Arc<dyn BlockSource>, planes: PlaneChoice) -> Ground {
    Ground::all_of(&WithPlanes::new(source.clone(), planes)).unwrap()
}

/// Eighths of cells all over the terrain.
fn points() -> impl Iterator<Item = (f64, f64)> {
    (0..6000).map(|i: usize| ((i * 7919 % (W * 8)) as f64 * 0.25, (i * 104_729 % (H * 8)) as f64 * 0.25))
}

fn valid(ground: &Ground, x: f64, z: f64) -> Option<Spot<'_>> {
    ground.spot(x, z).unwrap().valid()
}

#[test]
fn planes_answer_what_the_raster_holds_from_memory_and_from_a_file() {
    let dir = std::env::temp_dir().join(format!("highground-spots-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    for diagonal in [Diagonal::Main, Diagonal::Anti, Diagonal::Checkerboard] {
        let raster = raster(diagonal);
        let path = dir.join("a.terrain");
        write_payload(&raster, &WriteOptions::new(BlockSide::S32, "{}", 0.0), &path).unwrap();
        let memory: Arc<dyn BlockSource> = Arc::new(MemoryTerrain::new(raster.clone(), BlockSide::S32));
        let file: Arc<dyn BlockSource> = Arc::new(PayloadFile::open(&path).unwrap());
        for source in [memory, file] {
            let ground = ground_with(&source, PlaneChoice::ALL);
            let mut seen = 0;
            for (x, z) in points() {
                let Some(spot) = valid(&ground, x, z) else { continue };
                seen += 1;
                let (cx, cz) = (spot.cell().x as usize, spot.cell().z as usize);
                let cell = cz * (W - 1) + cx;
                let value = |kind| raster.plane_of(kind).unwrap().values[cell];
                assert_eq!(spot.user(1), Value::Known(value(PlaneKind::User(1))));
                assert_eq!((spot.user(0), spot.user(9)), (Value::Known(0), Value::Known(0)));
                let material = &raster.catalogue.materials[usize::from(value(PlaneKind::PhysicalMaterial))];
                assert_eq!(spot.material(), Value::Known(material));
                // Half a cell of 2 m is a texel; the cell's far edge is its last one.
                let texel = |v: f64, c: usize| 2 * c + ((v - c as f64 * 2.0) as usize).min(1);
                let texel = texel(z, cz) * 2 * (W - 1) + texel(x, cx);
                let weight = |id| raster.plane_of(PlaneKind::Weight(id)).unwrap().values[texel];
                let (grass, rock) = (weight(0), weight(1));
                let expected = if grass == 0 && rock == 0 { 255 } else { grass };
                assert_eq!(spot.weight(0), Value::Known(expected));
                assert_eq!((spot.weight(1), spot.weight(2)), (Value::Known(rock), Value::Known(0)));
                let stronger = u8::from(rock > grass);
                assert_eq!(spot.layer(), Value::Known(stronger));
                assert_eq!(spot.layer_tag(), Value::Known(["", "hard"][usize::from(stronger)]));
                // Bilinear where it is linear: by barycentric coordinates of the triangle that answered.
                let corners = spot.triangle().corners(diagonal.is_anti(spot.cell()));
                let places = corners.map(|(dx, dz)| (cx + dx as usize, cz + dz as usize));
                let expected =
                    barycentric(places, x / 2.0, z / 2.0, |x, z| f64::from(depth(z * W + x)) / 128.0);
                let Value::Known(found) = spot.water_depth() else { panic!("{spot:?}") };
                assert!((found - expected).abs() < 1e-12, "{found} {expected}");
            }
            assert!(seen > 4000, "{seen}");
            assert_eq!(ground.stray_materials(), 0);
        }
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

fn barycentric(v: [(usize, usize); 3], x: f64, z: f64, value: impl Fn(usize, usize) -> f64) -> f64 {
    let [a, b, c] = v.map(|(x, z)| (x as f64, z as f64));
    let area =
        |p: (f64, f64), q: (f64, f64), r: (f64, f64)| (q.0 - p.0) * (r.1 - p.1) - (q.1 - p.1) * (r.0 - p.0);
    let p = (x, z);
    let parts = [area(p, b, c), area(a, p, c), area(a, b, p)];
    v.iter().zip(parts).map(|(&(x, z), part)| part / area(a, b, c) * value(x, z)).sum()
}

#[test]
fn what_was_not_loaded_is_not_zero_and_changes_nothing_else() {
    let source: Arc<dyn BlockSource> = Arc::new(MemoryTerrain::new(raster(Diagonal::Main), BlockSide::S32));
    let (all, none) = (ground_with(&source, PlaneChoice::ALL), Ground::all_of(&*source).unwrap());
    let water = ground_with(&source, PlaneChoice { water: true, ..PlaneChoice::NONE });
    for (x, z) in points().take(1500) {
        assert_eq!(none.point(x, z), all.point(x, z));
        let (Some(a), Some(n), Some(w)) = (valid(&all, x, z), valid(&none, x, z), valid(&water, x, z)) else {
            continue;
        };
        assert_eq!(
            (n.weight(1), n.user(1), n.material_index()),
            (Value::NotLoaded, Value::NotLoaded, Value::NotLoaded)
        );
        assert_eq!((n.water_depth(), w.user(1)), (Value::NotLoaded, Value::NotLoaded));
        assert_eq!((n.layer(), w.water_depth()), (a.layer(), a.water_depth()));
    }
    assert_eq!(none.tile(BlockPos::new(0, 0)).unwrap().planes().loaded(), PlaneChoice::NONE);
}

#[test]
fn a_material_that_there_is_not_is_the_default_and_counted() {
    let source: Arc<dyn BlockSource> = Arc::new(MemoryTerrain::new(raster(Diagonal::Main), BlockSide::S32));
    let ground = ground_with(&source, PlaneChoice::ALL);
    let mut catalogue = ground.catalogue().clone();
    catalogue.materials.truncate(1);
    let poorer = ground.clone().with_catalogue(Arc::new(catalogue));
    // Every odd cell of the map had material 1.
    assert_eq!(poorer.stray_materials(), ((W - 1) * (H - 1) / 2) as u64);
    let default = PhysicalMaterial::default();
    for (x, z) in points().take(500) {
        let Some(spot) = valid(&poorer, x, z) else { continue };
        let Value::Known(index) = spot.material_index() else { panic!("{spot:?}") };
        let expected = [&poorer.catalogue().materials[0], &default][usize::from(index)];
        assert_eq!(spot.material(), Value::Known(expected));
        assert_eq!(Some(spot.height()), poorer.point(x, z).unwrap().height());
    }
    let fewer = poorer.with_changes(&[(BlockPos::new(0, 0), Slot::Absent)]);
    assert_eq!(fewer.stray_materials(), poorer.stray_materials() - 32 * 32 / 2);
    let back = fewer.with_changes(&[(BlockPos::new(0, 0), poorer.slot(BlockPos::new(0, 0)).clone())]);
    assert_eq!(back.stray_materials(), poorer.stray_materials());
}

/// Slopes from the raster, rows as the normal kernel takes them.
fn slope(raster: &Raster, x: i32, z: i32) -> [f64; 2] {
    let at = |x, z| raster.quanta(crate::coord::SamplePos::new(x, z));
    let axis = |before: i32, here: i32, after: i32| match (before == VOID, after == VOID) {
        (false, false) => f64::from(after - before) / 2.0,
        (true, false) => f64::from(after - here),
        (false, true) => f64::from(here - before),
        (true, true) => 0.0,
    };
    let here = at(x, z);
    [axis(at(x - 1, z), here, at(x + 1, z)), axis(at(x, z - 1), here, at(x, z + 1))]
}

#[test]
fn smooth_normals_interpolate_vertex_slopes_whatever_is_resident() {
    let mut raster = raster(Diagonal::Checkerboard);
    raster.heights.iter_mut().step_by(211).for_each(|q| *q = VOID);
    raster.remove_hidden();
    let whole = MemoryTerrain::new(raster.clone(), BlockSide::S32).ground_all();
    let lone = whole.with_changes(
        &[(0, 0), (1, 0), (2, 0), (0, 1), (2, 1), (0, 2), (1, 2), (2, 2)]
            .map(|(x, z)| (BlockPos::new(x, z), Slot::Absent)),
    );
    // One quantum of 1/128 m over 2 m.
    let unit = |[gx, gz]: [f64; 2]| DVec3::new(-gx / 256.0, 1.0, -gz / 256.0).normalize();
    let (mut seen, mut alone) = (0, 0);
    for (x, z) in points() {
        let Some(spot) = valid(&whole, x, z) else { continue };
        seen += 1;
        let anti = Diagonal::Checkerboard.is_anti(spot.cell());
        let places = spot
            .triangle()
            .corners(anti)
            .map(|(dx, dz)| ((spot.cell().x + dx) as usize, (spot.cell().z + dz) as usize));
        let part =
            |i: usize| barycentric(places, x / 2.0, z / 2.0, |x, z| slope(&raster, x as i32, z as i32)[i]);
        let found = spot.smooth_normal();
        assert!(found.distance(unit([part(0), part(1)])) < 1e-12, "({x}, {z})");
        if let Some(other) = valid(&lone, x, z) {
            assert_eq!(other.smooth_normal(), found);
            alone += 1;
        }
    }
    assert!(seen > 3000 && alone > 300, "{seen} {alone}");
    // At a vertex it is the pinned normal of the kernel, as near as that one's bytes can say.
    let (above, row, below) =
        (&raster.heights[9 * W..10 * W], &raster.heights[10 * W..11 * W], &raster.heights[11 * W..12 * W]);
    let mut bytes = vec![[0; 2]; W];
    normal::row(Some(above), row, Some(below), 512, raster.config.quantum, &mut bytes);
    for (x, &code) in bytes.iter().enumerate() {
        let Some(spot) = valid(&whole, x as f64 * 2.0, 20.0) else { continue };
        let (found, pinned) = (spot.smooth_normal(), normal::decode(code));
        assert!(
            (found.x - pinned[0]).abs() * 127.0 < normal::ERROR
                && (found.z - pinned[2]).abs() * 127.0 < normal::ERROR
        );
    }
}

#[test]
fn spots_answer_like_points_and_batches_like_spots() {
    let ground = MemoryTerrain::new(raster(Diagonal::Anti), BlockSide::S32).ground_all();
    let ground =
        ground.with_changes(&[(BlockPos::new(1, 1), Slot::Absent), (BlockPos::new(2, 1), Slot::Failed)]);
    let mut points: Vec<[f64; 2]> = points().map(|(x, z)| [x - 3.0, z - 3.0]).collect();
    points[77] = [f64::NAN, 3.0];
    points[78] = [1e300, 3.0];
    let mut out = vec![Ok(Answer::Outside); points.len()];
    ground.heights(&points, &mut out);
    let mut kinds = std::collections::BTreeSet::new();
    for (&[x, z], answer) in points.iter().zip(&out) {
        assert_eq!(*answer, ground.height(x, z));
        assert_eq!(answer.map(|a| a.state()), ground.contains(x, z));
        let point = ground.point(x, z);
        assert_eq!(point.map(|p| p.state), ground.contains(x, z));
        assert_eq!(point.ok().and_then(|p| p.height()), answer.ok().and_then(Answer::valid));
        kinds.extend(answer.ok().map(|a| a.state()));
    }
    assert_eq!(kinds.len(), 5, "{kinds:?}");
}

/// Wholly visible ground whose relief fits 16 bits: bytes a cell of one tile, planes apart.
#[test]
fn a_tile_takes_less_than_three_bytes_a_cell() {
    for (side, most) in [(BlockSide::S32, 3.0), (BlockSide::S64, 2.7), (BlockSide::S128, 2.5)] {
        let n = 3 * side.samples() as u32;
        let terrain = MemoryTerrain::from_fn([n, n], side, |_| {}, |x, z| f64::from((x * 31 + z * 17) % 400));
        let ground = terrain.ground_all();
        let tile = ground.tile(BlockPos::new(1, 1)).unwrap();
        let cells = f64::from(side.samples() * side.samples());
        let bytes = tile.bytes() as f64 / cells;
        println!("{} samples a side: {bytes:.3} bytes a cell", side.samples());
        assert!(bytes < most, "{side:?}: {bytes}");
    }
}
