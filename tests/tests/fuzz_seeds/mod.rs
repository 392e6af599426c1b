//! The seeds that need the product's own writers: payloads, their parts, sidecars, catalogues and recipes.

use highground_terrain::config::{Diagonal, TerrainConfig};
use highground_terrain::content::{
    Catalogue, FoliageType, Layer, ObjectType, Overlay, PhysicalMaterial, Plane, PlaneKind, Water,
};
use highground_terrain::coord::{BlockPos, BlockSide, CellRect};
use highground_terrain::format::payload::{Compression, Section};
use highground_terrain::format::sidecar::Builder;
use highground_terrain::height::VOID;
use highground_terrain::kernel::weight_mip::HdTexel;
use highground_terrain::kernel::weights::LayerKind;
use highground_terrain::store::{PayloadFile, Raster, WriteOptions, write_payload};
use std::fs;

/// A seed: its target, its name, its bytes.
pub(crate) type Seed = (&'static str, String, Vec<u8>);

/// All of them; the same for every run.
pub(crate) fn all() -> Vec<Seed> {
    let mut seeds = Vec::new();
    let mut put = |target, name: &str, bytes: Vec<u8>| seeds.push((target, format!("seed-{name}"), bytes));
    for (name, raster, options) in terrains() {
        let bytes = payload(&raster, &options);
        put("head", name, head(&bytes));
        put("payload", name, bytes);
    }
    for (name, bytes) in parts() {
        put("body", &name, bytes);
    }
    for (name, bytes) in directories() {
        put("directory", name, bytes);
    }
    for (name, bytes) in sidecars() {
        put("sidecar", name, bytes);
    }
    put("catalogue", "full", full().catalogue.to_json().into_bytes());
    put("catalogue", "empty", Catalogue::default().to_json().into_bytes());
    put("catalogue", "sparse", br#"{"layers":[{"name":"a"},{"name":"b","kind":"ordered_alpha"}]}"#.to_vec());
    for (name, text) in recipes() {
        put("recipe", name, text.into_bytes());
    }
    for (name, text) in knobs() {
        put("knobs", name, text.to_owned().into_bytes());
    }
    for (name, bytes) in layers() {
        put("layers", name, bytes);
    }
    put("roster", "three", roster(&["payload", "visibility", "layers"]).into_bytes());
    put("roster", "recipe", roster(&["payload", "recipe"]).into_bytes());
    put("roster", "payload", roster(&["payload"]).into_bytes());
    let golden = fs::read(highground_tests::root().join("tests/goldens/payload-v1.terrain")).unwrap();
    put("payload_v1", "golden", golden);
    seeds.push(("payload_v1", "two-blocks".to_owned(), version_1(&[2, 2])));
    seeds.push(("payload_v1", "void-block".to_owned(), version_1(&[3, 1])));
    seeds
}

const ORIGIN: &str = r#"{"source":"a seed"}"#;

/// 33 × 3 samples: two blocks, the second of one column.
fn small() -> Raster {
    let mut config = TerrainConfig::new([33, 3], 512);
    config.diagonal = Diagonal::Checkerboard;
    config.extent = CellRect { x0: 0, z0: 0, x1: 31, z1: 2 };
    let mut heights: Vec<i32> = (0..33 * 3).map(|i| i * 37 % 101 - 50).collect();
    heights[40] = VOID;
    let mut raster = Raster::from_heights(config, heights);
    raster.mask[3] = 0;
    raster.mask[9] &= 2;
    raster
}

/// The same with every kind of plane and a whole catalogue.
fn full() -> Raster {
    let mut raster = small();
    let texel = |i: u8| HdTexel { id1: i % 3, id2: i % 2, ratio: i };
    raster.set_hd_weights(&["grass", "rock", "scree"], &(0..64).map(texel).collect::<Vec<_>>());
    let c = &mut raster.catalogue;
    c.layers.push(Layer { kind: LayerKind::OrderedAlpha, ..Layer::named("snow") });
    c.materials =
        vec![PhysicalMaterial { name: "ice".into(), friction: 0.05, ..PhysicalMaterial::default() }];
    c.user_channels = vec!["danger".into(), "owner".into()];
    c.foliage = vec![FoliageType { name: "fern".into(), ..FoliageType::default() }];
    c.objects = vec![ObjectType { name: "rock".into(), ..ObjectType::default() }];
    c.overlays =
        vec![Overlay { name: "road".into(), points: vec![[0.0, 1.0], [9.5, 2.0]], ..Overlay::default() }];
    c.water = Some(Water { max_depth_m: 4.0 });
    let cells = |f: &dyn Fn(usize) -> u8| (0..64).map(f).collect::<Vec<u8>>();
    for (kind, values) in [
        (PlaneKind::Weight(3), cells(&|i| (i * 3) as u8)),
        (PlaneKind::PhysicalHole, cells(&|i| (i % 4) as u8)),
        (PlaneKind::User(1), cells(&|_| 7)),
        (PlaneKind::Foliage(0), cells(&|i| (255 - i) as u8)),
        (PlaneKind::Object(0), cells(&|i| u8::from(i == 40) * 9)),
        (PlaneKind::WaterDepth, (0..33 * 3u32).flat_map(|i| (i % 2 * 1000).to_le_bytes()).collect()),
    ] {
        raster.set_plane(Plane { kind, values });
    }
    raster
}

fn terrains() -> Vec<(&'static str, Raster, WriteOptions)> {
    let plain = WriteOptions::new(BlockSide::S32, ORIGIN, 0.0);
    let packed = WriteOptions { compression: Compression::Deflate, ..plain.clone() };
    let derived = WriteOptions { normals: true, normal_weights: true, control: Some(1.0), ..packed.clone() };
    let flat = |w, h| Raster::from_heights(TerrainConfig::new([w, h], 256), vec![9; w as usize * h as usize]);
    let mut painted = flat(34, 34);
    let texel = |i: usize| HdTexel { id1: (i / 9 % 2) as u8, id2: 0, ratio: (i % 200) as u8 };
    painted.set_hd_weights(&["a", "b"], &(0..33 * 33).map(texel).collect::<Vec<_>>());
    let mut fine = small();
    fine.config.paint_per_cell = 2;
    fine.catalogue.layers = vec![Layer::named("a"), Layer::named("b")];
    let half = |i: usize| (128 - i % 2) as u8;
    for (id, add) in [(0, 0), (1, 1)] {
        let values = (0..64 * 4).map(|i| half(i + add)).collect();
        fine.set_plane(Plane { kind: PlaneKind::Weight(id), values });
    }
    let steep = Raster::from_heights(
        TerrainConfig::new([5, 4], 256),
        (0..20).map(|i: i32| (i - 10) * 800_000).collect(),
    );
    let nothing = Raster::from_heights(TerrainConfig::new([3, 3], 256), vec![VOID; 9]);
    vec![
        ("small", small(), packed.clone()),
        ("full", full(), packed.clone()),
        ("derived", painted, derived),
        ("fine-paint", fine, packed.clone()),
        ("flat", flat(70, 3), plain.clone()),
        ("pages", flat(545, 2), packed.clone()),
        ("steep", steep, packed),
        ("nothing", nothing, plain.clone()),
        (
            "side-64",
            small(),
            WriteOptions { side: BlockSide::S64, compression: Compression::Deflate, ..plain },
        ),
    ]
}

fn payload(raster: &Raster, options: &WriteOptions) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.terrain");
    write_payload(raster, options, &path).unwrap();
    fs::read(&path).unwrap()
}

fn word(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

fn head(bytes: &[u8]) -> Vec<u8> {
    bytes[..word(bytes, 12)].to_vec()
}

/// Bodies of blocks as they stand in payloads, behind the bytes that tell the target what they are.
fn parts() -> Vec<(String, Vec<u8>)> {
    let mut out = Vec::new();
    // Shape 1 of the target has 33 × 31 samples, blocks of 32 and one texel a cell.
    let mut raster = Raster::from_heights(
        TerrainConfig::new([33, 31], 256),
        (0..33 * 31).map(|i: i32| i * 11 % 301).collect(),
    );
    let texel = |i: usize| HdTexel { id1: (i / 9 % 2) as u8, id2: 0, ratio: (i % 200) as u8 };
    raster.set_hd_weights(&["a", "b"], &(0..32 * 30).map(texel).collect::<Vec<_>>());
    raster.catalogue.user_channels = vec!["u".into()];
    raster.catalogue.water = Some(Water { max_depth_m: 4.0 });
    let user = (0..32 * 30).map(|i| (i / 40) as u8).collect();
    raster.set_plane(Plane { kind: PlaneKind::User(0), values: user });
    let depth = (0..33 * 31u32).flat_map(|i| (i / 300).to_le_bytes()).collect();
    raster.set_plane(Plane { kind: PlaneKind::WaterDepth, values: depth });
    raster.mask[5] = 0;
    let options = WriteOptions {
        compression: Compression::Deflate,
        normals: true,
        normal_weights: true,
        control: Some(1.0),
        ..WriteOptions::new(BlockSide::S32, ORIGIN, 0.0)
    };
    let bytes = payload(&raster, &options);
    let file = PayloadFile::of_bytes(bytes.clone()).unwrap();
    for (code, section) in Section::ALL.into_iter().enumerate() {
        let Some(span) = file.span(BlockPos::new(0, 0), section) else { continue };
        let stored = &bytes[span.start as usize..span.end as usize];
        // Encodings of one kind or another: the numbers are those of the format.
        let encodings: &[u8] = if section == Section::Height { &[2, 3] } else { &[1, 2, 3] };
        let layers = if section == Section::Hd { 2 } else { 0 };
        for &encoding in encodings {
            for packed in [0, 1] {
                let told = [1, code as u8, 0, 0, 0, encoding, packed, 0, 0, 1, layers, 0];
                let seed = [&told[..], stored].concat();
                if super::targets::body(&seed) {
                    out.push((format!("{}-{encoding}{packed}", section.name().replace(' ', "-")), seed));
                }
            }
        }
    }
    // A mask of the third shape, whose block (0, 0) lies on the map wholly: one cell is removed.
    let mask = [&[0xFC][..], &[0xFF; 255]].concat();
    out.push(("hole".to_owned(), [&[2, 6, 0, 0, 0, 3, 0, 0, 0, 0, 0, 1][..], &mask].concat()));
    // Pyramids of the target's first shape.
    let told = [0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    out.push(("min-max".to_owned(), [&told[..], &[0; 8]].concat()));
    let skip = [&[3, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &[1, 0, 0, 0, 0, 0, 0, 0], &[3; 256]].concat();
    out.push(("skip".to_owned(), skip));
    out
}

/// A page and a root of the target's second shape: two blocks of level 0, one of level 1.
fn directories() -> Vec<(&'static str, Vec<u8>)> {
    let entry = |slots: usize| {
        let mut e = vec![1, 0, 0, 0];
        e.extend([0u32, 0].iter().flat_map(|v| v.to_le_bytes()));
        e.extend([5i32, 9].iter().flat_map(|v| v.to_le_bytes()));
        for i in 0..slots as u64 {
            e.extend((4000 + i * 100).to_le_bytes());
            e.extend(100u32.to_le_bytes());
            e.extend([2, (i % 2) as u8, 0, 0]);
            e.extend([i as u8; 16]);
        }
        e
    };
    let page = |slots: usize, blocks: usize| entry(slots).repeat(blocks);
    let root: Vec<u8> = (0..2u64)
        .flat_map(|i| [&(5000 + i * 300).to_le_bytes()[..], &[0; 8], &[7; 16]].concat())
        .chain([0; 32])
        .collect();
    vec![
        ("page", [&[1, 0][..], &page(4, 2)].concat()),
        ("page-level-1", [&[1, 1][..], &page(page_slots(), 1)].concat()),
        ("root", [&[1, 255][..], &root].concat()),
    ]
}

/// Slots of a block above level 0 in the directories of the target: of its sections those that have levels.
fn page_slots() -> usize {
    [Section::Height, Section::Hole, Section::Weight, Section::Hd]
        .into_iter()
        .filter(|s| s.has_levels())
        .count()
}

fn sidecars() -> Vec<(&'static str, Vec<u8>)> {
    let of = |samples: [u32; 2], shift: i32, removed: &dyn Fn(u32, u32) -> u8| {
        let mut config = TerrainConfig::new(samples, 256);
        config.extent.x1 -= shift;
        let mut builder = Builder::new(&config);
        for z in 0..samples[1] - 1 {
            builder.push_row(&(0..samples[0] - 1).map(|x| removed(x, z)).collect::<Vec<u8>>());
        }
        builder.finish([9; 32]).encode()
    };
    vec![
        ("whole", of([40, 40], 0, &|_, _| 3)),
        ("hole", of([40, 34], 3, &|x, z| if x < 4 && z < 4 { 0 } else { 3 })),
        ("levels", of([70, 70], 0, &|x, z| if x > 30 && z > 30 { (x % 4) as u8 } else { 3 })),
    ]
}

fn recipes() -> Vec<(&'static str, String)> {
    let file =
        |name: &str| fs::read_to_string(highground_tests::root().join("content/worlds").join(name)).unwrap();
    let level = "source: Level(size: (4, 4), spacing_m: 2, height_m: 5)";
    vec![
        ("jacksboro", file("jacksboro.ron")),
        ("island", file("island.ron")),
        ("least", r#"(source: (png: "a.png", min_m: 0, max_m: 1), spacing_m: 1)"#.to_owned()),
        ("level", format!("(version: 2, {level})")),
        (
            "content",
            format!(
                r#"(version: 2, {level}, layers: [(name: "a"), (name: "b", cover: (image: "c.png"))],
holes: [Image("c.png"), Half(x: 2, z: 0, triangle: 1)], physical_holes: [Cells(x: 0, z: 2, w: 2, h: 1)],
materials: [(material: (name: "m")), (material: (name: "n"), regions: [Circle(x: 1, z: 5, radius_m: 1)])],
user: [(name: "u", image: "c.png")], foliage: [(kind: (name: "f"), density: Layer("b"))],
objects: [(kind: (name: "o"), density: Ground(height_m: (0, 4)))], water: (level_m: -1))"#
            ),
        ),
        (
            "mosaic",
            r#"(version: 2, source: Mosaic(tiles: [[Raster(path: "a.png", spacing_m: 2, min_m: 0, max_m: 65535),
Raster(path: "b.hgt")]], seams: average), steps: [Blend(over: (source: Noise(size: (17, 9), spacing_m: 2,
noise: (seed: 1, wavelength_m: 20, amplitude_m: 9))), how: add, mask: Image("m.png")),
Thermal(iterations: 5, talus_deg: 20), Scale(1.5), Hydraulic(iterations: 5), Resample(spacing_m: 1)])"#
                .to_owned(),
        ),
    ]
}

fn knobs() -> [(&'static str, &'static str); 4] {
    [
        ("least", "(samples: (3, 2), spacing_m: 1)"),
        ("metres", "(size_m: (10, 4.5), spacing_m: 0.5, diagonal: anti, block: 64)"),
        (
            "heights",
            "(samples: (2, 2), spacing_m: 1, height_min_m: 0, height_max_m: 65535, quantum_log2: 4,
extent: (x: 0, z: 0, w: 1, h: 1), height_low_bits: 3, vertical_scale: 0.5)",
        ),
        (
            "content",
            r#"(samples: (3, 2), spacing_m: 1, layers: [(name: "a"), (name: "b", kind: ordered_alpha)],
materials: [(name: "ice", friction: 0.05)], user_channels: ["danger"], foliage: [(name: "fern")],
objects: [(name: "rock")], overlays: [(name: "road", points: [(0, 1), (1, 1)])], max_water_depth_m: 4)"#,
        ),
    ]
}

fn roster(roles: &[&str]) -> String {
    let object =
        |role: &&str| format!("(role: {role}, name: \"a\", file: \"{}\", bytes: 9)", "0a".repeat(32));
    let objects: Vec<String> = roles.iter().map(object).collect();
    format!("(version: 1, digest: \"{}\", objects: [{}])", "1b".repeat(32), objects.join(", "))
}

/// Layer packs of a few texels, put together to the module's own table; the target puts their sum right.
fn layers() -> Vec<(&'static str, Vec<u8>)> {
    let of = |side: u32, layers: u32, set: u32| {
        let array: u32 = (0..=side.ilog2()).map(|m| 4 * (side >> m).pow(2) * layers).sum();
        let body = u64::from(array * set.count_ones());
        let mut out = b"\x89HGA\r\n\x1a\n".to_vec();
        [1, side, layers, set].iter().for_each(|v| out.extend(v.to_le_bytes()));
        out.extend(body.to_le_bytes());
        out.resize(64, 0);
        out.extend((0..body).map(|i| i as u8));
        out
    };
    vec![("one", of(1, 1, 1)), ("none", of(4, 2, 0)), ("all", of(4, 2, 15)), ("two", of(8, 1, 5))]
}

/// A file of version 1 of two blocks by their encodings (1 void, 2 and 3 offsets of 16 and 32 bits): its bytes hold
/// together but for its sums, which the target puts right.
fn version_1(encodings: &[u8; 2]) -> Vec<u8> {
    let config = TerrainConfig::new([40, 20], 256).canonical_bytes();
    let origin = ORIGIN.as_bytes();
    let header = 192 + 4 + origin.len() + 32;
    let lengths = encodings.map(|e| [0, 2048 + 256, 4096 + 256][usize::from(e) - 1]);
    let directory = 2 * 48 + 32;
    let mut out = b"\x89HGT\r\n\x1a\n".to_vec();
    let length = header + directory + lengths[0] + lengths[1];
    out.extend(1u32.to_le_bytes());
    out.extend((header as u32).to_le_bytes());
    out.extend((length as u64).to_le_bytes());
    out.extend(0u32.to_le_bytes());
    out.extend(32u32.to_le_bytes());
    out.extend((header as u64).to_le_bytes());
    out.extend((directory as u64).to_le_bytes());
    out.extend(0f64.to_le_bytes());
    out.extend(4u32.to_le_bytes());
    out.extend((origin.len() as u32).to_le_bytes());
    out.resize(128, 0);
    out.extend(config);
    out.resize(192, 0);
    out.extend([0; 4]);
    out.extend(origin);
    out.extend([0; 32]);
    let mut at = header + directory;
    for (encoding, length) in encodings.iter().zip(lengths) {
        let void = *encoding == 1;
        out.extend([if void { 2 } else { 1 }, *encoding, 0, 0]);
        out.extend(0u32.to_le_bytes());
        out.extend((at as u64).to_le_bytes());
        out.extend((length as u32).to_le_bytes());
        out.extend(0u32.to_le_bytes());
        out.extend((if void { VOID } else { 0 }).to_le_bytes());
        out.extend((if void { VOID } else { 0 }).to_le_bytes());
        out.extend([0; 16]);
        at += length;
    }
    out.resize(length, 0);
    out
}
