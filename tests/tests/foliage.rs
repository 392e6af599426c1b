//! Foliage and objects of a terrain: where its densities, layers, water, holes and slopes say, however it is read.

use highground_terrain::compute::{Compute, CpuCompute, Outputs};
use highground_terrain::config::{Diagonal, Placement};
use highground_terrain::content::{FoliageType, Layer, ObjectType, Plane, PlaneKind, Water};
use highground_terrain::coord::{BlockSide, CellPos, CellRect};
use highground_terrain::foliage::{Instance, Region, TypeId, grow};
use highground_terrain::store::PayloadFile;
use highground_terrain::store::{BlockSource, MemoryTerrain, Raster, WriteOptions, write_payload};
use highground_tests::{gpu, test_name};

/// 150 × 130 samples a metre apart, paint of two texels a cell: grass and rock side by side, a pond, a hole, a cliff.
fn land() -> Raster {
    let flat = MemoryTerrain::from_fn(
        [150, 130],
        BlockSide::S32,
        |c| {
            c.paint_per_cell = 2;
            c.diagonal = Diagonal::Checkerboard;
        },
        |x, z| if x > 120 { 3.0 * f64::from(x - 120) } else { 0.05 * f64::from((x * 7 + z * 13) % 5) },
    );
    let mut raster = flat.raster().clone();
    let layer = |name: &str| Layer { name: name.into(), ..Layer::default() };
    raster.catalogue.layers = vec![layer("grass"), layer("rock")];
    raster.catalogue.water = Some(Water { max_depth_m: 4.0 });
    let grass = FoliageType {
        name: "grass".into(),
        density_per_m2: 3.0,
        max_slope_deg: 35.0,
        layers: vec![0],
        ..FoliageType::default()
    };
    let reed = FoliageType { name: "reed".into(), under_water: true, ..FoliageType::default() };
    raster.catalogue.foliage = vec![grass, reed];
    raster.catalogue.objects = vec![ObjectType {
        name: "boulder".into(),
        density_per_m2: 0.05,
        radius_m: 1.5,
        ..ObjectType::default()
    }];
    let config = raster.config;
    let mut set = |kind: PlaneKind, value: &dyn Fn(i32, i32) -> u8| {
        let mut plane = Plane::zero(kind, &config);
        let width = kind.lattice().size(&config)[0] as usize;
        for (i, v) in plane.values.chunks_exact_mut(kind.bytes()).enumerate() {
            v[0] = value((i % width) as i32, (i / width) as i32);
        }
        raster.set_plane(plane);
    };
    // Rock from the 60th metre on, half and half for ten metres before.
    let rock = |x: i32| {
        if x >= 120 {
            255
        } else if x >= 100 {
            128
        } else {
            0
        }
    };
    set(PlaneKind::Weight(0), &|x, _| 255 - rock(x));
    set(PlaneKind::Weight(1), &|x, _| rock(x));
    set(PlaneKind::Foliage(0), &|_, z| if z < 100 { 255 } else { 51 });
    set(PlaneKind::Foliage(1), &|_, _| 255);
    set(PlaneKind::Object(0), &|_, _| 255);
    // A pond of a quarter of a metre.
    set(PlaneKind::WaterDepth, &|x, z| if (10..30).contains(&x) && (10..30).contains(&z) { 32 } else { 0 });
    for z in 40..50 {
        for x in 5..25 {
            raster.mask[z * 149 + x] = 0;
        }
    }
    raster
}

fn all(source: &dyn BlockSource, compute: &dyn Compute, of: TypeId, rect: CellRect) -> Vec<Instance> {
    let region = Region::read(source, rect).unwrap();
    grow(compute, &region, of, 11, &mut Outputs::new()).unwrap()
}

const WHOLE: CellRect = CellRect { x0: -5, z0: -5, x1: 500, z1: 500 };

fn within(list: &[Instance], x: [f64; 2], z: [f64; 2]) -> f64 {
    let inside = |v: f64, [lo, hi]: [f64; 2]| v >= lo && v < hi;
    list.iter().filter(|i| inside(i.position[0], x) && inside(i.position[2], z)).count() as f64
}

#[test]
fn plants_grow_where_density_layers_water_holes_and_slopes_say() {
    let source = MemoryTerrain::new(land(), BlockSide::S32);
    let grass = all(&source, &CpuCompute::new(), TypeId::Foliage(0), WHOLE);
    // Densities within 6 % of what is painted.
    for (x, z, density) in [
        ([0.0, 50.0], [50.0, 100.0], 3.0),
        ([50.0, 60.0], [0.0, 100.0], 3.0 * 127.0 / 255.0),
        ([0.0, 50.0], [100.0, 129.0], 3.0 * 51.0 / 255.0),
    ] {
        let (found, expected) = (within(&grass, x, z), density * (x[1] - x[0]) * (z[1] - z[0]));
        assert!((found - expected).abs() <= 0.06 * expected, "{x:?} {z:?}: {found} for {expected}");
    }
    // None on rock, under water or in the hole, nor at its own density elsewhere.
    assert_eq!(within(&grass, [60.0, 150.0], [0.0, 130.0]), 0.0);
    assert_eq!(within(&grass, [10.0, 29.0], [10.0, 29.0]), 0.0);
    assert_eq!(within(&grass, [5.0, 25.0], [40.0, 50.0]), 0.0);
    // Reed stands in water, on every layer, and up to the steepest slope there is.
    let reed = all(&source, &CpuCompute::new(), TypeId::Foliage(1), WHOLE);
    let expected = 148.0 * 129.0 - 200.0;
    assert!((reed.len() as f64 - expected).abs() <= 0.06 * expected, "{}", reed.len());
    assert!(within(&reed, [10.0, 29.0], [10.0, 29.0]) > 300.0);
    // Everything stands on the ground that a height query knows.
    let ground = source.ground_all();
    for i in grass.iter().chain(&reed) {
        let height = ground.height(i.position[0], i.position[2]).unwrap().valid().expect("no hole");
        assert!((height - i.position[1]).abs() <= 0.5 / 64.0 / 128.0 + 1e-12, "{i:?}: {height}");
    }
    // Objects keep their distance along one axis.
    let boulders = all(&source, &CpuCompute::new(), TypeId::Object(0), WHOLE);
    assert!(boulders.len() > 500);
    for (n, a) in boulders.iter().enumerate() {
        for b in &boulders[..n] {
            let apart = (a.position[0] - b.position[0]).abs().max((a.position[2] - b.position[2]).abs());
            assert!(apart >= 3.0 - 1e-4, "{a:?} {b:?}");
        }
    }
}

#[test]
fn blocks_files_regions_places_and_devices_change_nothing() {
    let raster = land();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("land.terrain");
    let mut device = gpu::require(test_name!());
    let cpu = CpuCompute::new();
    let of = TypeId::Foliage(0);
    let source = MemoryTerrain::new(raster.clone(), BlockSide::S32);
    let expected = all(&source, &cpu, of, WHOLE);
    assert!(expected.len() > 10_000);
    for side in [BlockSide::S32, BlockSide::S64, BlockSide::S128] {
        write_payload(&raster, &WriteOptions::new(side, "{}", 0.0), &path).unwrap();
        let file = PayloadFile::open(&path).unwrap();
        assert!(all(&file, &cpu, of, WHOLE) == expected, "{side:?}");
    }
    if let Some(gpu) = device.take() {
        assert!(all(&source, &gpu, of, WHOLE) == expected);
    }
    let mut parts: Vec<Instance> = [(0, 31), (31, 32), (32, 97), (97, 149)]
        .into_iter()
        .flat_map(|(x0, x1)| [(0, 64), (64, 129)].map(|(z0, z1)| CellRect { x0, z0, x1, z1 }))
        .flat_map(|rect| all(&source, &cpu, of, rect))
        .collect();
    let mut whole = expected.clone();
    for list in [&mut parts, &mut whole] {
        list.sort_by(|a, b| a.key.cmp(&b.key).then(a.position[0].total_cmp(&b.position[0])));
    }
    assert!(parts == whole);
    // Placed elsewhere: the same instances, moved.
    let mut placed = raster;
    placed.config.placement = Placement { x: 45_000, z: -300, y: 1280 };
    let placed = all(&MemoryTerrain::new(placed, BlockSide::S32), &cpu, of, WHOLE);
    assert_eq!(placed.len(), expected.len());
    for (a, b) in placed.iter().zip(&expected) {
        assert_eq!([a.position[0] - 45_000.0, a.position[1] - 10.0, a.position[2] + 300.0], b.position);
        assert_eq!((a.key, a.yaw, a.scale), (b.key, b.yaw, b.scale));
    }
}

#[test]
fn a_type_that_there_is_not_is_refused_and_a_region_beyond_the_map_is_bare() {
    let source = MemoryTerrain::new(land(), BlockSide::S32);
    let region = Region::read(&source, CellRect { x0: 10, z0: 10, x1: 12, z1: 12 }).unwrap();
    assert_eq!((region.first(), region.cells()), (CellPos::new(10, 10), [2, 2]));
    let refused = grow(&CpuCompute::new(), &region, TypeId::Foliage(9), 1, &mut Outputs::new()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "scatter: there is no Foliage(9): the catalogue has 2 foliage and 1 object types"
    );
    let beyond = Region::read(&source, CellRect { x0: 900, z0: 0, x1: 910, z1: 10 }).unwrap();
    assert!(
        grow(&CpuCompute::new(), &beyond, TypeId::Foliage(0), 1, &mut Outputs::new()).unwrap().is_empty()
    );
}
