//! Export: what a format carries comes back as the same terrain, what it cannot carry is said or refused.

mod shared;

use highground_terrain::config::{Diagonal, TerrainConfig};
use highground_terrain::coord::{BlockPos, BlockSide, CellRect};
use highground_terrain::export::{ExportFormat, ExportOptions, Exported, export};
use highground_terrain::height::{QuantumLog2, VOID};
use highground_terrain::import::{ImportOptions, SourceFormat, import};
use highground_terrain::store::{BlockError, BlockSource, MemoryTerrain, Raster};
use highground_terrain::surface::Block;
use shared::{Numbers, shared_data};
use std::path::Path;

/// A terrain whose heights are made from a column and a row.
fn terrain(size: [u32; 2], k: u8, height: impl FnMut(u32, u32) -> i32) -> MemoryTerrain {
    MemoryTerrain::new(raster(size, k, height), BlockSide::S32)
}

fn raster(size: [u32; 2], k: u8, mut height: impl FnMut(u32, u32) -> i32) -> Raster {
    let quantum = QuantumLog2::try_from(k).unwrap();
    let config = TerrainConfig { quantum, ..TerrainConfig::new(size, 768) };
    let samples = (0..size[1]).flat_map(|z| (0..size[0]).map(move |x| (x, z)));
    Raster::from_heights(config, samples.map(|(x, z)| height(x, z)).collect())
}

fn plain(format: ExportFormat) -> ExportOptions {
    ExportOptions { format, range_m: None, lossy: false }
}

/// Import with the options that the export printed.
fn again(path: &Path, done: &Exported) -> Raster {
    let mut options = ImportOptions::default();
    let words: Vec<String> =
        done.import_options.iter().flat_map(|o| o.split(' ').map(str::to_owned)).collect();
    for pair in words.chunks(2) {
        let value = &pair[1];
        match pair[0].as_str() {
            "--spacing" => options.spacing_m = value.parse().ok(),
            "--min" => options.min_m = value.parse().ok(),
            "--max" => options.max_m = value.parse().ok(),
            "--nodata" => options.nodata = value.parse().ok(),
            "--byte-order" => options.big_endian = Some(value == "big"),
            "--format" => options.format = (value == "raw16").then_some(SourceFormat::Raw16),
            "--size" => {
                let (w, h) = value.split_once('x').unwrap();
                options.size = Some([w.parse().unwrap(), h.parse().unwrap()]);
            }
            "--quantum-log2" => options.quantum = QuantumLog2::try_from(value.parse::<u8>().unwrap()).ok(),
            "--diagonal" => {
                options.diagonal = match value.as_str() {
                    "anti" => Diagonal::Anti,
                    "checkerboard" => Diagonal::Checkerboard,
                    other => panic!("{other}"),
                }
            }
            other => panic!("{other}"),
        }
    }
    import(path, &options).unwrap_or_else(|e| panic!("{}: {e}", path.display())).raster
}

/// Exports to each format that can hold it and imports what was written.
fn assert_comes_back(terrain: &MemoryTerrain, formats: &[ExportFormat]) {
    let dir = tempfile::tempdir().unwrap();
    for &format in formats {
        let name = match format {
            ExportFormat::Png => "a.png",
            ExportFormat::Raw16 => "a.r16",
            ExportFormat::Tiff => "a.tif",
            ExportFormat::Hgt => "a.hgt",
        };
        let path = dir.path().join(name);
        let done = export(terrain, &plain(format), &path).unwrap_or_else(|e| panic!("{format:?}: {e}"));
        assert!(done.lossless && done.rounding_m == 0.0 && done.notes.is_empty(), "{format:?}: {done:?}");
        let back = MemoryTerrain::new(again(&path, &done), BlockSide::S32);
        assert_eq!(back.digest(), terrain.digest(), "{format:?}: {:?}", done.import_options);
    }
}

use ExportFormat::{Hgt, Png, Raw16, Tiff};

#[test]
fn whole_metres_come_back_from_every_format() {
    let mut numbers = Numbers(1);
    // From −300 to 200 m with voids; sides that are no multiple of a block's.
    let hills = terrain([67, 67], 7, |x, z| {
        let h = numbers.below(20) as i32 + (x * 5 + z) as i32 - 300;
        if numbers.below(30) == 0 { VOID } else { h * 128 }
    });
    assert_comes_back(&hills, &[Png, Raw16, Tiff, Hgt]);
    assert_comes_back(&terrain([40, 40], 7, |x, z| (x + z) as i32 * 128), &[Png, Raw16, Tiff, Hgt]);
}

#[test]
fn any_quantum_and_negative_heights_come_back() {
    let mut numbers = Numbers(2);
    for k in [0, 3, 7, 9, 12] {
        let mut voids = Numbers(k.into());
        let base = -20_000 - i32::from(k);
        let fine = terrain([70, 33], k, |_, _| {
            if voids.below(50) == 0 { VOID } else { base + numbers.below(65_000) as i32 }
        });
        assert_comes_back(&fine, &[Png, Raw16, Tiff]);
    }
    // The whole range of heights, and nothing but voids.
    let most = (1 << 24) - 1;
    assert_comes_back(&terrain([33, 5], 0, |x, _| most - x as i32), &[Png, Raw16, Tiff]);
    assert_comes_back(&terrain([33, 5], 7, |x, _| if x % 2 == 0 { most } else { -most }), &[Tiff]);
    assert_comes_back(&terrain([33, 33], 7, |_, _| VOID), &[Png, Raw16, Tiff, Hgt]);
    // Steps of two quanta, one apart from a multiple of two, over twice what single ones span.
    assert_comes_back(
        &terrain([256, 256], 7, |x, z| (z * 256 + x).min(65_534) as i32 * 2 - 99),
        &[Png, Raw16],
    );
    // Exactly as many steps as there are levels: with voids one fewer.
    let full = |voids: bool| {
        terrain([256, 257], 7, move |x, z| match z * 256 + x {
            0 if voids => VOID,
            i => 5 + i.min(65_535 - u32::from(voids)) as i32,
        })
    };
    assert_comes_back(&full(false), &[Png, Raw16]);
    assert_comes_back(&full(true), &[Png, Raw16]);
}

#[test]
fn diagonals_come_back_by_their_option() {
    for diagonal in [Diagonal::Anti, Diagonal::Checkerboard] {
        let heights =
            raster([33, 33], 7, |x, z| if (x, z) == (3, 4) { VOID } else { (x * 3 + z) as i32 * 128 });
        let config = TerrainConfig { diagonal, ..heights.config };
        let terrain = MemoryTerrain::new(Raster::from_heights(config, heights.heights), BlockSide::S32);
        assert_comes_back(&terrain, &[Png, Raw16, Tiff, Hgt]);
    }
}

#[test]
fn a_range_that_is_asked_for_comes_back_where_it_was_imported_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.png");
    let mut numbers = Numbers(3);
    let values: Vec<u16> = (0..50 * 40).map(|_| numbers.below(65_536) as u16).collect();
    shared::write_grey16(&path, 50, 40, &values);
    let options = ImportOptions {
        spacing_m: Some(3.0),
        min_m: Some(-20.0),
        max_m: Some(6480.5),
        ..ImportOptions::default()
    };
    let first = MemoryTerrain::new(import(&path, &options).unwrap().raster, BlockSide::S64);
    for (format, name) in [(Png, "b.png"), (Raw16, "b.r16")] {
        let asked = ExportOptions { range_m: Some((-20.0, 6480.5)), ..plain(format) };
        let out = dir.path().join(name);
        let done = export(&first, &asked, &out).unwrap();
        assert!(done.lossless && done.rounding_m <= 0.5 / 128.0, "{done:?}");
        let back = MemoryTerrain::new(again(&out, &done), BlockSide::S64);
        assert_eq!(back.digest(), first.digest());
    }
}

#[test]
fn what_would_lose_heights_is_refused_unless_it_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    let refused = |terrain: &MemoryTerrain, options: &ExportOptions| {
        let error = export(terrain, options, &path).unwrap_err().to_string();
        assert!(!path.exists() && std::fs::read_dir(dir.path()).unwrap().count() == 0, "{error}");
        assert_eq!(error.lines().count(), 1);
        error
    };
    let lossy = |format| ExportOptions { lossy: true, ..plain(format) };
    let tall = terrain([33, 33], 7, |x, z| (x * 33 + z) as i32 * 1000 + if x == 1 { 1 } else { 0 });
    assert!(refused(&tall, &plain(Png)).contains("--lossy"));
    assert!(refused(&tall, &plain(Raw16)).contains("--lossy"));
    assert!(refused(&tall, &plain(Hgt)).contains("sample (1, 0) at 257.8203125 m"));
    let narrow = ExportOptions { range_m: Some((0.0, 100.0)), ..plain(Png) };
    assert!(refused(&tall, &narrow).contains("wider --min and --max"));
    assert!(refused(&tall, &ExportOptions { lossy: true, ..narrow }).contains("wider --min and --max"));
    let backwards = ExportOptions { range_m: Some((100.0, 0.0)), ..plain(Png) };
    assert!(refused(&tall, &backwards).contains("min below max"));
    let metres = ExportOptions { range_m: Some((0.0, 1.0)), ..plain(Tiff) };
    assert!(refused(&tall, &metres).contains("leave --min and --max out"));
    assert!(refused(&terrain([33, 34], 7, |_, _| 0), &lossy(Hgt)).contains("33x34"));
    let deep = terrain([33, 33], 7, |_, _| -40_000 * 128);
    assert!(refused(&deep, &lossy(Hgt)).contains("-40000"));
    // Rounded where that is asked for, by no more than is said.
    for (format, name) in [(Png, "a.png"), (Raw16, "a.r16"), (Hgt, "a.hgt")] {
        let path = dir.path().join(name);
        let done = export(&tall, &lossy(format), &path).unwrap();
        let back = again(&path, &done);
        let before = raster([33, 33], 7, |x, z| (x * 33 + z) as i32 * 1000 + if x == 1 { 1 } else { 0 });
        let worst = before.heights.iter().zip(&back.heights).map(|(a, b)| a.abs_diff(*b)).max().unwrap();
        assert!(!done.lossless && worst > 0, "{format:?}");
        // Beside the level's own error there is the rounding to quanta.
        assert!(f64::from(worst) / 128.0 <= done.rounding_m + 0.5 / 128.0, "{format:?}: {worst} {done:?}");
    }
}

#[test]
fn what_no_format_carries_is_said() {
    let mut raster = raster([33, 33], 7, |x, z| if x == 9 { VOID } else { (x + z) as i32 * 128 });
    raster.config.extent = CellRect { x0: 0, z0: 0, x1: 32, z1: 31 };
    raster.config.vertical_scale = 2.0;
    raster.remove_hidden();
    // A whole cell and half a one that no void removes; one beside the void is no hole of its own.
    raster.mask[5 * 32 + 3] = 0;
    raster.mask[6 * 32 + 31] = 1;
    raster.check().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let terrain = MemoryTerrain::new(raster, BlockSide::S32);
    let done = export(&terrain, &plain(Tiff), &dir.path().join("a.tif")).unwrap();
    assert_eq!(done.void_samples, 33);
    assert!(done.notes[0].starts_with("2 cells"), "{:?}", done.notes);
    assert!(
        done.notes[1].contains("extent") && done.notes[2].contains("vertical scale of 2"),
        "{:?}",
        done.notes
    );
}

/// A terrain one of whose blocks is gone.
struct Damaged(MemoryTerrain);

impl BlockSource for Damaged {
    fn config(&self) -> &TerrainConfig {
        self.0.config()
    }

    fn block_side(&self) -> BlockSide {
        self.0.block_side()
    }

    fn digest(&self) -> [u8; 32] {
        self.0.digest()
    }

    fn height_range(&self) -> Option<(i32, i32)> {
        self.0.height_range()
    }

    fn read_block(&self, pos: BlockPos) -> Result<Block, BlockError> {
        if pos == BlockPos::new(1, 2) {
            return Err(BlockError { pos, reason: "has another checksum".to_owned(), retryable: false });
        }
        self.0.read_block(pos)
    }
}

#[test]
fn a_block_that_cannot_be_read_stops_the_export_and_leaves_what_was_there() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("a.png");
    std::fs::write(&out, "before").unwrap();
    let source = Damaged(terrain([70, 70], 7, |x, z| (x * z) as i32));
    let error = export(&source, &plain(Png), &out).unwrap_err().to_string();
    assert!(error.contains("block (1, 2): has another checksum"), "{error}");
    assert_eq!(std::fs::read(&out).unwrap(), b"before");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn real_tiles_come_back_from_every_format() {
    let Some(path) = shared_data("srtm-hgt-riviera/N43E007.hgt") else { return };
    let options = ImportOptions { spacing_m: Some(30.0), ..ImportOptions::default() };
    let terrain = MemoryTerrain::new(import(&path, &options).unwrap().raster, BlockSide::S128);
    let dir = tempfile::tempdir().unwrap();
    // 2075 m at 1/128 m are more steps than 16 bits have; whole metres are not.
    for (format, name) in [(Png, "a.png"), (Raw16, "a.r16"), (Tiff, "a.tif"), (Hgt, "a.hgt")] {
        let out = dir.path().join(name);
        let done = export(&terrain, &plain(format), &out).unwrap();
        let back = MemoryTerrain::new(again(&out, &done), BlockSide::S128);
        assert_eq!(back.digest(), terrain.digest(), "{format:?}");
    }
    // Byte for byte the tile that it was.
    assert_eq!(std::fs::read(dir.path().join("a.hgt")).unwrap(), std::fs::read(path).unwrap());
}

#[test]
fn a_geotiff_says_its_own_spacing() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("a.tif");
    for unit in [128, 1] {
        let terrain = terrain([40, 35], 7, |x, z| (x * 7 + z) as i32 * unit - 999 * unit);
        export(&terrain, &plain(Tiff), &out).unwrap();
        let got = import(&out, &ImportOptions::default()).unwrap();
        assert_eq!((got.raster.config.spacing_m(), got.origin.resampled), (3.0, false));
        assert_eq!(MemoryTerrain::new(got.raster, BlockSide::S32).digest(), terrain.digest());
    }
}
