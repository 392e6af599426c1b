//! The bodies of the fuzz targets: one function each, that takes bytes and must neither panic nor hang nor take memory
//! out of proportion to them. `fuzz/fuzz_targets/` runs them under libFuzzer, `tests/tests/fuzz_corpus.rs` on stable.
//!
//! Checksums would keep a fuzzer out of what lies behind them. So formats that have them are tried twice: as the bytes
//! are, and with every checksum put right.

#[path = "seal.rs"]
mod seal;

use highground_terrain::config::{Diagonal, TerrainConfig};
use highground_terrain::content::Catalogue;
use highground_terrain::cook::Written;
use highground_terrain::coord::{BlockPos, BlockSide, CellPos};
use highground_terrain::folder::Knobs;
use highground_terrain::format::payload::{
    BlockShape, Body, Compression, DirectoryLayout, Entry, Head, Losses, MAGIC, PageRef, Section,
    SectionEntry, Slot, Totals, VERSION, checksum, decode_each, decode_ground, decode_hd, decode_min_max,
    decode_page, decode_planes, decode_root, decode_skip, encode_min_max, encode_page, encode_root,
    encode_skip,
};
use highground_terrain::format::sidecar::Sidecar;
use highground_terrain::image::Image;
use highground_terrain::import::{
    Crop, ImportOptions, Input, Opened, Place, SourceFormat, VoidPolicy, open_input, rows_of,
};
use highground_terrain::layer_images::{Kind, LayerArrays};
use highground_terrain::pack::Roster;
use highground_terrain::state::DataState;
use highground_terrain::store::{BlockSource, PayloadFile, TerrainRows, collect, verify_open};
use std::path::Path;

/// A target: its name, which is its corpus's folder too, and what it runs, which tells whether bytes were accepted.
pub type Target = (&'static str, fn(&[u8]) -> bool);

/// Every target.
pub const TARGETS: [Target; 24] = [
    ("payload", payload),
    ("payload_v1", payload_v1),
    ("head", head),
    ("directory", directory),
    ("body", body),
    ("sidecar", sidecar),
    ("catalogue", catalogue),
    ("recipe", recipe),
    ("knobs", knobs),
    ("roster", roster),
    ("layers", layers),
    ("image", image),
    ("import_hgt", import_hgt),
    ("import_png", import_png),
    ("import_tiff", import_tiff),
    ("import_exr", import_exr),
    ("import_asc", import_asc),
    ("import_usgs_dem", import_usgs_dem),
    ("import_rgb", import_rgb),
    ("import_npy", import_npy),
    ("import_npz", import_npz),
    ("import_terrain3d", import_terrain3d),
    ("import_raw", import_raw),
    ("import_zip", import_zip),
];

/// The most samples of a terrain that is read whole: opening has to stand any size, but reading takes what the size asks.
const MAX_WHOLE: u64 = 1 << 18;

fn samples_of(config: &TerrainConfig) -> u64 {
    config.samples.iter().map(|&n| u64::from(n)).product()
}

/// A payload of version 2: opened, some blocks read, its pyramids, then verified whole.
pub fn payload(data: &[u8]) -> bool {
    let mut sealed = data.to_vec();
    whole_payload(data.to_vec()) | (seal::payload(&mut sealed).is_some() && whole_payload(sealed))
}

/// The same of version 1.
pub fn payload_v1(data: &[u8]) -> bool {
    let mut sealed = data.to_vec();
    whole_payload(data.to_vec()) | (seal::payload_v1(&mut sealed).is_some() && whole_payload(sealed))
}

fn whole_payload(bytes: Vec<u8>) -> bool {
    let Ok(file) = PayloadFile::of_bytes(bytes) else { return false };
    let [w, h] = file.info().config.blocks(file.block_side()).map(|n| n as i32);
    for (x, z) in [(0, 0), (w - 1, 0), (0, h - 1), (w - 1, h - 1), (w, 0), (0, h), (-1, 0)] {
        let pos = BlockPos::new(x, z);
        let state = file.recorded_state(pos);
        let inside = (0..w).contains(&x) && (0..h).contains(&z);
        assert_eq!(state == DataState::OutOfRange, !inside, "{pos:?}");
        assert!(file.read_block(pos).is_err() || inside, "{pos:?}");
        for section in Section::ALL {
            if let Some(span) = file.span(pos, section) {
                assert!(span.end <= file.info().file_bytes, "{section:?} of {pos:?}");
            }
        }
        // What has been read whole can be asked anything.
        if let Ok(content) = file.read_content(pos) {
            let n = file.block_side().samples() as usize;
            assert_eq!((content.heights.len(), content.mask.len()), (n * n, n * n));
        }
    }
    let _ = (file.min_max(), file.skip_nodes());
    samples_of(&file.info().config) <= MAX_WHOLE && verify_open(&file, &|_, _| {}).is_ok()
}

/// The head alone: what is read writes the same bytes again.
pub fn head(data: &[u8]) -> bool {
    let (mut bytes, mut accepted) = (data.to_vec(), false);
    for _ in 0..2 {
        let file_bytes =
            bytes.get(16..24).map_or(0, |b| u64::from_le_bytes(b.try_into().unwrap_or_default()));
        // Whoever opens a file looks at magic and version first.
        let ours = bytes.starts_with(&MAGIC) && bytes.get(8..12) == Some(&VERSION.to_le_bytes());
        if let (true, Ok(head)) = (ours, Head::decode(&bytes, file_bytes)) {
            assert_eq!(head.encode(), bytes, "a head that is read is written as it was");
            accepted |= DirectoryLayout::of(&head).is_ok_and(|l| l.root_bytes() > 0);
        }
        seal::head(&mut bytes);
    }
    accepted
}

/// Configurations that decoders are told of: by the bits of a byte.
fn shape_of(byte: u8) -> (TerrainConfig, BlockSide) {
    let sizes = [[2, 2], [33, 31], [64, 64], [130, 70], [1000, 3], [4097, 4097], [1 << 17, 2], [40, 4000]];
    let samples = sizes[usize::from(byte & 7)];
    let mut config = TerrainConfig::new(samples, 256);
    config.paint_per_cell = [1, 2, 4, 1][usize::from(byte >> 3 & 3)];
    config.diagonal =
        [Diagonal::Main, Diagonal::Anti, Diagonal::Checkerboard, Diagonal::Main][usize::from(byte >> 5 & 3)];
    if byte & 0x80 != 0 {
        config.extent.x1 -= 1.min(config.extent.x1 - 1);
    }
    (config, if byte & 0x80 == 0 { BlockSide::S32 } else { BlockSide::S64 })
}

fn head_of(config: TerrainConfig, side: BlockSide, blocked: &[Section], file_bytes: u64) -> Head {
    let levels = (0..16).find(|&l| config.samples.iter().all(|&n| side.blocks_for(n.div_ceil(1 << l)) == 1));
    let levels = levels.unwrap_or(0) + 1;
    let entry = |&section: &Section| SectionEntry {
        section,
        levels: if section.has_levels() { levels } else { 1 },
        planes: 0,
        offset: 0,
        length: 0,
        checksum: [0; 32],
    };
    Head {
        config,
        side,
        digest: [0; 32],
        rounding_m: 0.0,
        totals: Totals::default(),
        losses: Losses::default(),
        sections: blocked.iter().map(entry).collect(),
        file_bytes,
    }
}

/// Two bytes that say the terrain and the page, then a root (page 255) or a page: what is read is written as it was.
pub fn directory(data: &[u8]) -> bool {
    let [terrain, page, bytes @ ..] = data else { return false };
    let (config, side) = shape_of(*terrain);
    let sections = [Section::Height, Section::Hole, Section::Weight, Section::Hd];
    let head = head_of(config, side, &sections, 1 << 20);
    let Ok(layout) = DirectoryLayout::of(&head) else {
        panic!("the head is made with the levels that its size gives");
    };
    if *page == 255 {
        let mut bytes = bytes.to_vec();
        seal::last_32(&mut bytes);
        let pages = decode_root(&bytes, 0, &layout, head.file_bytes);
        return pages.is_ok_and(|p| {
            assert_eq!(encode_root(&p), bytes);
            true
        });
    }
    let page = u32::from(*page) % layout.pages();
    let at = PageRef { offset: 0, checksum: checksum(bytes) };
    let Ok(entries) = decode_page(bytes, page, at, &layout, &head) else { return false };
    assert_eq!(encode_page(&entries), bytes);
    for slot in entries.iter().flat_map(|e| &e.slots) {
        assert!(slot.length == 0 || slot.offset + u64::from(slot.length) <= head.file_bytes);
    }
    true
}

/// Twelve bytes that say the terrain and the block, then a part of it as it stands in a file; or a pyramid.
pub fn body(data: &[u8]) -> bool {
    let [terrain, code, level, x, z, encoding, compression, state, range @ ..] = data else {
        return false;
    };
    let [lo, hi, more, pair, bytes @ ..] = range else { return false };
    let (config, side) = shape_of(*terrain);
    let cells = config.samples.map(|n| n - 1);
    if code & 0x80 != 0 {
        let (levels, nodes) = (decode_min_max(bytes, cells, 0), decode_skip(bytes, cells, 0));
        if let Ok(levels) = &levels {
            assert_eq!(encode_min_max(levels), bytes);
        }
        if let Ok(nodes) = &nodes {
            assert_eq!(encode_skip(nodes), bytes);
        }
        return levels.is_ok() || nodes.is_ok();
    }
    let section = Section::ALL[usize::from(*code) % Section::ALL.len()];
    let blocks = config.blocks(side);
    let pos = BlockPos::new((u32::from(*x) % blocks[0]) as i32, (u32::from(*z) % blocks[1]) as i32);
    let shape = BlockShape::new(&config, side, level & 3, pos);
    let slot = Slot {
        offset: 0,
        length: bytes.len() as u32,
        encoding: *encoding,
        compression: if compression & 1 == 0 { Compression::None } else { Compression::Deflate },
        checksum: if bytes.is_empty() { [0; 16] } else { checksum(bytes) },
    };
    let Ok(body) = Body::load(section, &slot, bytes.to_vec(), &shape) else { return false };
    let min = i32::from(*lo) * 300;
    let entry = Entry {
        state: if state & 1 == 0 { DataState::Valid } else { DataState::Empty },
        void_samples: u32::from(*more),
        hole_cells: u32::from(*pair),
        min,
        max: min + i32::from(*hi) * 300,
        slots: vec![slot],
    };
    match section {
        Section::Height => {
            let hole = Body { section: Section::Hole, encoding: 2, bytes: Vec::new() };
            decode_ground(&shape, &entry, &body, (level & 3 == 0).then_some(&hole)).is_ok()
        }
        Section::Hole => {
            let height = Body { section: Section::Height, encoding: 4, bytes: Vec::new() };
            decode_ground(&shape, &Entry { max: min, ..entry }, &height, Some(&body)).is_ok()
        }
        Section::Hd => decode_hd(&shape, &body, usize::from(*more), 0).is_ok(),
        Section::Normal | Section::NormalWeight => decode_each(&shape, &body, 2, 0).is_ok(),
        Section::Control => decode_each(&shape, &body, 4, 0).is_ok(),
        _ => decode_planes(&shape, &body, 0).is_ok(),
    }
}

/// A sidecar: what is read is written as it was, and can be asked anything.
pub fn sidecar(data: &[u8]) -> bool {
    let (mut bytes, mut accepted) = (data.to_vec(), false);
    for _ in 0..2 {
        if let Ok(sidecar) = Sidecar::decode(&bytes) {
            assert_eq!(sidecar.encode(), bytes);
            let [w, h] = sidecar.samples().map(|n| n as i32);
            for (x, z) in [(0, 0), (w - 2, h - 2), (w, h), (-1, 0), (i32::MAX, i32::MAX), (i32::MIN, 0)] {
                assert!(sidecar.mask_of_cell(CellPos::new(x, z)) <= 3);
            }
            for level in [0, 1, 7, 31, u32::MAX] {
                for cell in [[0, 0], [31, 33], [u32::MAX, u32::MAX]] {
                    assert!(sidecar.mask(level, cell) <= 3);
                }
            }
            for &node in sidecar.nodes() {
                assert!(sidecar.first_word(node).is_some());
            }
            let _ = sidecar.check_pair(&TerrainConfig::new([64, 64], 256), &[0; 32]);
            accepted = true;
        }
        seal::last_32(&mut bytes);
    }
    accepted
}

/// A catalogue's text: what is read has one canonical text.
pub fn catalogue(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let Ok(catalogue) = Catalogue::of_json(text) else { return false };
    let again = Catalogue::of_json(&catalogue.to_json());
    assert_eq!(again.as_ref().ok(), Some(&catalogue), "{again:?}");
    true
}

/// A recipe of either version; nothing is cooked.
pub fn recipe(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let path = Path::new("recipes/world.ron");
    Written::parse(text, path).is_ok_and(|written| written.files(path).len() < text.len())
}

/// A world folder's knobs: what is read is written with the same meaning.
pub fn knobs(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let path = Path::new("world/terrain.ron");
    let Ok(knobs) = Knobs::parse(text, path) else { return false };
    if knobs.check(path).is_err() {
        return false;
    }
    let again = Knobs::parse(&knobs.to_text(), path);
    assert_eq!(again.as_ref().ok(), Some(&knobs), "{again:?}");
    true
}

/// A pack's roster, with its digest as it is and put right.
pub fn roster(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let path = Path::new("pack/pack.ron");
    let Err(error) = Roster::parse(text, path) else { return true };
    // The message tells both digests.
    let message = error.to_string();
    let Some((_, digests)) = message.split_once("digest: expected ") else { return false };
    let Some((right, wrong)) = digests.split_once(", found ") else { return false };
    Roster::parse(&text.replacen(wrong, right, 1), path).is_ok()
}

/// A layer pack, with its checksum as it is and put right: what is read is written as it was.
pub fn layers(data: &[u8]) -> bool {
    let (mut bytes, mut accepted) = (data.to_vec(), false);
    for _ in 0..2 {
        if let Ok(arrays) = LayerArrays::decode(&bytes) {
            assert_eq!(arrays.encode(), bytes);
            for kind in Kind::ALL {
                for (mip, at) in [(0, [0, 0]), (1, [1, 1]), (31, [0, 0]), (u32::MAX, [u32::MAX; 2])] {
                    let texel = arrays.texel(kind, mip, 0, at[0], at[1]);
                    assert_eq!(texel.is_some(), mip < arrays.mips() && at[0] < arrays.side() >> mip);
                }
            }
            accepted = true;
        }
        seal::layers(&mut bytes);
    }
    accepted
}

/// An image of a layer, with checksums as they are and put right.
pub fn image(data: &[u8]) -> bool {
    both(data, seal::png(data).as_deref(), |bytes| {
        let image = Image::of_bytes(Path::new("a.png"), bytes, 4096, 16 << 20);
        image.is_ok_and(|i| {
            let pixels = i.size().iter().map(|&n| n as usize).product::<usize>();
            assert_eq!(i.bytes().len(), pixels * usize::from(i.channels()) * usize::from(i.bits() / 8));
            true
        })
    })
}

/// Everything between a file's bytes and a terrain in memory, as far as the terrain is small enough to be made.
fn import(name: &str, bytes: &[u8], options: &ImportOptions) -> bool {
    let Ok(opened) = open_input(Input::of_bytes(name, bytes.to_vec()), options) else { return false };
    check(&opened);
    let source = &opened.source;
    if !even(source.place) || source.samples.len() as u64 > MAX_WHOLE {
        return false;
    }
    let Ok(rows) = rows_of(opened, name, options) else { return false };
    if samples_of(rows.config()) > MAX_WHOLE {
        return false;
    }
    if let Err(e) = collect(&rows).check() {
        panic!("a terrain that was imported is wrong: {e}");
    }
    true
}

/// What every reader promises of what it hands over.
fn check(opened: &Opened) {
    let s = &opened.source;
    let [w, h] = s.size.map(|n| n as usize);
    assert!(w >= 2 && h >= 2, "{w}x{h}");
    assert_eq!(s.samples.len(), w * h);
    assert!(s.hole_cells.is_empty() || s.hole_cells.len() == (w - 1) * (h - 1));
    assert!(s.layers.iter().all(|(_, weights)| weights.len() == w * h));
    assert!(s.notes.iter().all(|n| !n.contains('\n')), "notes are lines: {:?}", s.notes);
}

/// Whether pixels are near enough to squares: of oblong ones the importer makes as many squares as its limit allows,
/// which is right and takes long.
fn even(place: Place) -> bool {
    let steps = match place {
        Place::None => [1.0, 1.0],
        Place::Metres { step_x, step_z } => [step_x, step_z],
        Place::Degrees { north_deg, .. } if north_deg.abs() > 75.0 => return false,
        Place::Degrees { step_x_deg, step_z_deg, .. } => [step_x_deg, step_z_deg],
    };
    let ratio = steps[0] / steps[1];
    (0.125..=8.0).contains(&ratio)
}

/// The ways in which every file is imported: with hardly a word, and with all that can be asked for.
fn ways(format: SourceFormat) -> [ImportOptions; 3] {
    let plain = ImportOptions { format: Some(format), spacing_m: Some(1.0), ..ImportOptions::default() };
    let levels = ImportOptions { min_m: Some(-100.0), max_m: Some(8848.5), south_up: true, ..plain.clone() };
    let cropped = ImportOptions {
        format: Some(format),
        nodata: Some(-9999.0),
        voids: VoidPolicy::Fill,
        crop: Some(Crop { x: 1, z: 0, w: 2, h: 2 }),
        vertical_scale: 0.5,
        diagonal: Diagonal::Checkerboard,
        ..ImportOptions::default()
    };
    [plain, levels, cropped]
}

/// Whether any of them was accepted; all are tried.
fn each_way(name: &str, bytes: &[u8], format: SourceFormat) -> bool {
    ways(format).iter().fold(false, |any, options| any | import(name, bytes, options))
}

/// As they are, and as `seal` makes them where it can.
fn both(data: &[u8], sealed: Option<&[u8]>, run: impl Fn(&[u8]) -> bool) -> bool {
    run(data) | sealed.is_some_and(run)
}

fn with_channel(format: SourceFormat, channel: &str) -> ImportOptions {
    let [plain, ..] = ways(format);
    let range = if format == SourceFormat::Png { Some((0.0, 255.0)) } else { None };
    ImportOptions {
        channel: Some(channel.to_owned()),
        min_m: range.map(|r| r.0),
        max_m: range.map(|r| r.1),
        ..plain
    }
}

/// SRTM tiles; their sides are free where a spacing is given.
pub fn import_hgt(data: &[u8]) -> bool {
    each_way("N43E007.hgt", data, SourceFormat::Hgt)
}

/// PNG levels, with checksums as they are and put right.
pub fn import_png(data: &[u8]) -> bool {
    let green = with_channel(SourceFormat::Png, "g");
    both(data, seal::png(data).as_deref(), |bytes| {
        each_way("a.png", bytes, SourceFormat::Png) | import("a.png", bytes, &green)
    })
}

/// TIFF and GeoTIFF.
pub fn import_tiff(data: &[u8]) -> bool {
    let second = with_channel(SourceFormat::Tiff, "2");
    each_way("a.tif", data, SourceFormat::Tiff) | import("a.tif", data, &second)
}

/// OpenEXR.
pub fn import_exr(data: &[u8]) -> bool {
    let named = with_channel(SourceFormat::Exr, "G");
    each_way("a.exr", data, SourceFormat::Exr) | import("a.exr", data, &named)
}

/// ESRI ASCII grids.
pub fn import_asc(data: &[u8]) -> bool {
    each_way("a.asc", data, SourceFormat::Asc)
}

/// USGS ASCII DEM.
pub fn import_usgs_dem(data: &[u8]) -> bool {
    each_way("a.dem", data, SourceFormat::UsgsDem)
}

/// RGB-coded heights, from PNG and from TIFF.
pub fn import_rgb(data: &[u8]) -> bool {
    let [plain, ..] = ways(SourceFormat::TerrainRgb);
    let coded = ImportOptions { rgb: Some((-500.0, 0.25)), ..plain };
    both(data, seal::png(data).as_deref(), |bytes| {
        each_way("a.png", bytes, SourceFormat::TerrainRgb)
            | each_way("a.png", bytes, SourceFormat::Terrarium)
            | import("a.png", bytes, &coded)
    })
}

/// NumPy arrays.
pub fn import_npy(data: &[u8]) -> bool {
    each_way("a.npy", data, SourceFormat::Npy)
}

/// NumPy archives, with the checksums of stored members as they are and put right.
pub fn import_npz(data: &[u8]) -> bool {
    let named = with_channel(SourceFormat::Npz, "z");
    both(data, seal::zip(data).as_deref(), |bytes| {
        each_way("a.npz", bytes, SourceFormat::Npz) | import("a.npz", bytes, &named)
    })
}

/// Terrain3D regions.
pub fn import_terrain3d(data: &[u8]) -> bool {
    each_way("a.res", data, SourceFormat::Terrain3d)
}

/// Headerless rasters of all widths, square and not, in orders that are told and found out.
pub fn import_raw(data: &[u8]) -> bool {
    [SourceFormat::Raw8, SourceFormat::Raw16, SourceFormat::Raw32].into_iter().fold(false, |any, format| {
        let [plain, ..] = ways(format);
        let told = ImportOptions {
            size: Some([3, 2]),
            big_endian: (format != SourceFormat::Raw8).then_some(true),
            signed: format == SourceFormat::Raw16,
            ..plain
        };
        any | each_way("a.raw", data, format) | import("a.raw", data, &told)
    })
}

/// Archives of one source, which is found out by its name and bytes, or of several of which one is named.
pub fn import_zip(data: &[u8]) -> bool {
    both(data, seal::zip(data).as_deref(), |bytes| {
        ways(SourceFormat::Hgt).into_iter().fold(false, |any, options| {
            let found = ImportOptions { format: None, ..options };
            let named = ImportOptions { channel: Some("b.hgt".to_owned()), ..found.clone() };
            any | import("a.zip", bytes, &found) | import("a.zip", bytes, &named)
        })
    })
}
