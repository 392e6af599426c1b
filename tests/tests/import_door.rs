//! The door as a whole: archives, options that do not fit, values that are no numbers, georeference, layers and holes.

mod shared;

use highground_terrain::content::PlaneKind;
use highground_terrain::height::VOID;
use highground_terrain::import::{
    Crop, Georeference, ImportOptions, Meaning, Nodata, Opened, Place, Registration, Samples, Source,
    SourceFormat, VoidPolicy, Voids, import, import_rows, rows_of,
};
use highground_terrain::store::{TerrainRows, collect};
use shared::{Numbers, write_grey16, write_zip};
use std::fs;
use std::path::{Path, PathBuf};

fn spaced(spacing_m: f64) -> ImportOptions {
    ImportOptions { spacing_m: Some(spacing_m), ..ImportOptions::default() }
}

/// The error of an import: one line.
fn refused(path: &Path, options: &ImportOptions) -> String {
    let error = match import(path, options) {
        Ok(_) => panic!("{} was taken", path.display()),
        Err(error) => error.to_string(),
    };
    assert_eq!(error.lines().count(), 1, "{error}");
    error
}

fn file(dir: &tempfile::TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.path().join(name);
    fs::write(&path, bytes).unwrap();
    path
}

const GRID: &str =
    "ncols 2\nnrows 2\nxllcorner 0\nyllcorner 0\ncellsize 10\nnodata_value -9999\n1 2\n3 -9999\n";

/// A source as a reader would hand it over.
fn source(size: [u32; 2], samples: Samples, place: Place) -> Source {
    Source {
        size,
        voids: Voids::none(samples.len()),
        samples,
        format: SourceFormat::Tiff,
        nodata: None,
        meaning: Meaning::Metres { scale: 1.0, offset: 0.0 },
        place,
        registration: Registration::Area,
        hole_cells: Vec::new(),
        layers: Vec::new(),
        notes: Vec::new(),
    }
}

fn rows(source: Source, options: &ImportOptions) -> Result<highground_terrain::import::ImportedRows, String> {
    rows_of(Opened { source, member: None, bytes: 1 }, "a.tif", options).map_err(|e| e.to_string())
}

#[test]
fn an_archive_gives_its_only_source_whatever_the_format() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.zip");
    let plain = import(&file(&dir, "a.asc", GRID.as_bytes()), &ImportOptions::default()).unwrap();
    write_zip(&path, &[("folder/readme.txt", b"hi"), ("folder/a.asc", GRID.as_bytes()), ("a.prj", b"x")]);
    let zipped = import(&path, &ImportOptions::default()).unwrap();
    assert_eq!(plain.raster, zipped.raster);
    assert_eq!((zipped.origin.member.as_deref(), zipped.origin.format), (Some("a.asc"), SourceFormat::Asc));
    // Shadows that macOS adds, and a wrong extension outside, change nothing.
    write_zip(&path, &[("__MACOSX/a.asc", b"x"), ("a.asc", GRID.as_bytes())]);
    let renamed = file(&dir, "a.hgt", &fs::read(&path).unwrap());
    assert_eq!(import(&renamed, &ImportOptions::default()).unwrap().raster, plain.raster);
    // Of several, one is taken by its name.
    write_zip(&path, &[("a.asc", GRID.as_bytes()), ("b/b.asc", GRID.replace("1 2", "7 8").as_bytes())]);
    assert!(refused(&path, &ImportOptions::default()).contains("found 2 (a.asc, b/b.asc)"));
    for name in ["b.asc", "b/b.asc"] {
        let named = ImportOptions { channel: Some(name.to_owned()), ..ImportOptions::default() };
        assert_eq!(import(&path, &named).unwrap().raster.heights[0], 7 * 128);
    }
    // A lone file of another name needs the format.
    write_zip(&path, &[("heights", GRID.as_bytes())]);
    assert!(refused(&path, &ImportOptions::default()).contains("found 0"));
    let asked = ImportOptions { format: Some(SourceFormat::Asc), ..ImportOptions::default() };
    assert_eq!(import(&path, &asked).unwrap().raster, plain.raster);
}

#[test]
fn odd_archives_are_refused_for_what_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.zip");
    write_zip(&path, &[("a.asc", GRID.as_bytes())]);
    let good = fs::read(&path).unwrap();
    let at = |bytes: &[u8], signature: &[u8]| bytes.windows(4).rposition(|w| w == signature).unwrap();
    let (local, central) = (at(&good, b"PK\x03\x04"), at(&good, b"PK\x01\x02"));
    // Method 12 is bzip2; bit 0 of the flags says encrypted.
    for (offset, value, words) in [(8, 12, "stored or deflated"), (6, 1, "encrypted")] {
        let mut bytes = good.clone();
        bytes[local + offset] = value;
        bytes[central + offset + 2] = value;
        let error = refused(&file(&dir, "odd.zip", &bytes), &ImportOptions::default());
        assert!(error.contains(words) && error.contains("a.asc"), "{error}");
    }
    write_zip(&path, &[("inner.zip", &good)]);
    assert!(refused(&path, &ImportOptions::default()).contains("archive inside"));
    write_zip(&path, &[("inner.asc", &good)]);
    assert!(refused(&path, &ImportOptions::default()).contains("archive inside the archive"));
    // Two members of one name: the second's name is one byte away from the first's.
    write_zip(&path, &[("a.asc", GRID.as_bytes()), ("b.asc", GRID.as_bytes())]);
    let bytes: Vec<u8> = fs::read(&path).unwrap();
    let mut twice = bytes.clone();
    for i in 0..bytes.len() - 5 {
        if bytes[i..].starts_with(b"b.asc") {
            twice[i] = b'a';
        }
    }
    assert!(refused(&file(&dir, "twice.zip", &twice), &ImportOptions::default()).contains("one name twice"));
}

#[test]
fn options_that_a_format_cannot_follow_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let asc = file(&dir, "a.asc", GRID.as_bytes());
    let raw = file(&dir, "a.r16", &[0; 8]);
    let png = dir.path().join("a.png");
    write_grey16(&png, 2, 2, &[0; 4]);
    let base = ImportOptions { min_m: Some(0.0), max_m: Some(1.0), ..spaced(1.0) };
    let with = |change: &dyn Fn(&mut ImportOptions)| {
        let mut options = base.clone();
        change(&mut options);
        options
    };
    for (path, options, words) in [
        (&png, with(&|o| o.size = Some([2, 2])), "leave --size out"),
        (&png, with(&|o| o.big_endian = Some(true)), "leave --byte-order out"),
        (&png, with(&|o| o.signed = true), "leave --signed out"),
        (&asc, with(&|o| o.south_up = true), "leave --south-up out"),
        (&raw, with(&|o| o.channel = Some("Y".to_owned())), "leave --channel out"),
        (&raw, with(&|o| o.rgb = Some((0.0, 1.0))), "leave --rgb out"),
        (&raw, with(&|o| o.max_m = None), "both --min and --max"),
        (&raw, with(&|o| (o.min_m, o.max_m) = (None, None)), "pass --min and --max"),
        (&png, with(&|o| o.nodata = Some(-9999.0)), "--nodata -9999"),
        (&png, with(&|o| o.nodata = Some(f64::NAN)), "--nodata NaN"),
        (&png, with(&|o| o.spacing_m = None), "pass --spacing"),
        (&png, with(&|o| o.format = Some(SourceFormat::Tiff)), "TIFF"),
    ] {
        let error = refused(path, &options);
        assert!(error.contains(words), "{words}: {error}");
    }
    assert!(import(&png, &base).is_ok());
}

#[test]
fn no_numbers_are_voids_only_where_they_are_called_so() {
    let dir = tempfile::tempdir().unwrap();
    let values = [1.0f32, f32::NAN, 3.0, f32::INFINITY, 5.0, 6.0, 7.0, 8.0, 9.0];
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    let path = file(&dir, "a.r32", &bytes);
    let options = ImportOptions { big_endian: Some(false), ..spaced(2.0) };
    assert!(refused(&path, &options).contains("sample (1, 0) to be NaN"));
    let nan = ImportOptions { nodata: Some(f64::NAN), ..options.clone() };
    // NaN stands for all that is not finite; an infinity for itself alone.
    let all = import(&path, &nan).unwrap();
    assert_eq!((all.raster.heights[1], all.raster.heights[3], all.origin.nodata_samples), (VOID, VOID, 2));
    let infinite = ImportOptions { nodata: Some(f64::INFINITY), ..options.clone() };
    assert!(refused(&path, &infinite).contains("sample (1, 0) to be NaN"));
    fs::write(&path, bytes.iter().copied().skip(8).chain([0; 8]).collect::<Vec<u8>>()).unwrap();
    assert!(refused(&path, &options).contains("sample (1, 0) to be infinite: pass --nodata inf"));
    fs::write(&path, &bytes).unwrap();
    // A crop counts in the source's own samples, and looks at nothing beyond it.
    let crop = Some(Crop { x: 1, z: 0, w: 2, h: 3 });
    let got = import(&path, &ImportOptions { crop, ..nan.clone() }).unwrap();
    assert_eq!(got.raster.heights, [VOID, 3 * 128, 5 * 128, 6 * 128, 8 * 128, 9 * 128]);
    assert_eq!((got.origin.nodata, got.origin.nodata_samples), (Some(Nodata(f64::NAN)), 1));
    // Filled with the mean of 3, 5 and 6 in double precision: 14 / 3 m as single precision, 597 quanta.
    let filled = import(&path, &ImportOptions { crop, voids: VoidPolicy::Fill, ..nan }).unwrap();
    assert_eq!(filled.raster.heights[0], 597);
}

#[test]
fn values_that_often_mean_no_data_are_pointed_out() {
    let samples = Samples::I16(vec![1, -9999, 3, -9999]);
    let got = rows(source([2, 2], samples.clone(), Place::None), &spaced(1.0)).unwrap();
    let notes = &got.origin().notes;
    assert!(
        notes.iter().any(|n| n.contains("2 samples are exactly -9999: pass --nodata -9999")),
        "{notes:?}"
    );
    let asked = ImportOptions { nodata: Some(-9999.0), ..spaced(1.0) };
    assert!(rows(source([2, 2], samples, Place::None), &asked).unwrap().origin().notes.is_empty());
}

#[test]
fn the_file_s_own_place_decides_the_spacing() {
    let samples = || Samples::I16((0..12).collect());
    let place = |place| rows(source([4, 3], samples(), place), &ImportOptions::default());
    let got = place(Place::Metres { step_x: 30.0, step_z: 30.0 }).unwrap();
    assert_eq!((got.config().samples, got.config().spacing_m()), ([4, 3], 30.0));
    assert!(!got.origin().resampled && got.origin().source_step_m.is_none());
    assert_eq!(got.origin().georeference, Some(Georeference::Metres { step_m: [30.0, 30.0] }));
    assert_eq!(got.origin().registration, Registration::Area);
    // Oblong: squares of the finer axis, 3 columns of 20 m are 60 m, 2 rows of 10 m are 20 m.
    let got = place(Place::Metres { step_x: 20.0, step_z: 10.0 }).unwrap();
    assert_eq!((got.config().samples, got.config().spacing_m()), ([7, 3], 10.0));
    assert!(got.origin().resampled);
    let quanta = collect(&got).heights;
    // Row 1 of the source is 4, 5, 6, 7, and half way between.
    assert_eq!(quanta[7..14], [8, 9, 10, 11, 12, 13, 14].map(|h| h * 64));
    let none = place(Place::None).unwrap_err();
    assert!(none.contains("pass --spacing"), "{none}");
    let far = place(Place::Metres { step_x: 500.0, step_z: 500.0 }).unwrap_err();
    assert!(far.contains("500 by 500 m") && far.contains("--spacing"), "{far}");
}

#[test]
fn floats_are_metres_unless_a_range_is_given() {
    let of =
        |meaning| Source { meaning, ..source([2, 2], Samples::F32(vec![0.0, 0.25, 1.0, 1.5]), Place::None) };
    let levels = || of(Meaning::Levels { max: 1 });
    let got = rows(levels(), &spaced(1.0)).unwrap();
    assert_eq!(collect(&got).heights, [0, 32, 128, 192]);
    assert!(got.origin().notes[0].contains("taken as metres"), "{:?}", got.origin().notes);
    for meaning in [Meaning::Levels { max: 1 }, Meaning::Metres { scale: 1.0, offset: 0.0 }] {
        let ranged = ImportOptions { min_m: Some(-10.0), max_m: Some(30.0), ..spaced(1.0) };
        let got = rows(of(meaning), &ranged).unwrap();
        // 1.5 lies half the range above the top.
        assert_eq!(collect(&got).heights, [-10, 0, 30, 50].map(|h| h * 128));
        assert!(got.origin().notes[0].contains("-10 to 30 m"), "{:?}", got.origin().notes);
    }
    let declared = of(Meaning::Metres { scale: 100.0, offset: -5.0 });
    let vertical = ImportOptions { vertical_scale: 2.0, ..spaced(1.0) };
    assert_eq!(collect(&rows(declared, &vertical).unwrap()).heights, [-10, 40, 190, 290].map(|h| h * 128));
}

#[test]
fn a_scale_that_is_no_decimal_is_taken_in_double_precision() {
    let samples = || Samples::I16(vec![3937, 0, -3937, 7874]);
    let of = |scale| Source {
        meaning: Meaning::Metres { scale, offset: 0.0 },
        ..source([2, 2], samples(), Place::None)
    };
    // US survey feet: 3937 of them are 1200 m.
    let got = rows(of(1200.0 / 3937.0), &spaced(1.0)).unwrap();
    assert_eq!(collect(&got).heights, [1200, 0, -1200, 2400].map(|h| h * 128));
    for odd in [0.0, f64::NAN, f64::INFINITY] {
        assert!(rows(of(odd), &spaced(1.0)).unwrap_err().contains("declared scale"), "{odd}");
    }
}

#[test]
fn painted_layers_become_weights_of_cells() {
    let layers = vec![
        ("grass".to_owned(), vec![255, 255, 0, 255, 255, 0, 0, 0, 0]),
        ("rock".to_owned(), vec![0, 0, 255, 0, 0, 255, 0, 0, 200]),
    ];
    let with = |size: [u32; 2]| Source {
        layers: layers.clone(),
        ..source(size, Samples::I16(vec![0; 9]), Place::None)
    };
    let got = rows(with([3, 3]), &spaced(1.0)).unwrap();
    let raster = collect(&got);
    raster.check().unwrap();
    // Corner means by hand. Cell (0, 0): 255 and 0. (1, 0): 510/4 → 128 and 128 (127.5 half up), of 255 by largest
    // remainders 128 and 127 (ties to the smaller id). (0, 1): 510/4 → 128 and 0 → 255. (1, 1): 255/4 → 64 and
    // 455/4 → 114: 64·255/178 = 91.69, 114·255/178 = 163.31 → 92 and 163.
    assert_eq!(raster.planes[0].values, [255, 128, 255, 92]);
    assert_eq!(raster.planes[1].values, [0, 127, 0, 163]);
    assert_eq!(raster.catalogue.layer_names(), ["grass", "rock"]);
    assert_eq!(got.plane_kinds(), [PlaneKind::Weight(0), PlaneKind::Weight(1)]);
    let notes = &got.origin().notes;
    assert!(notes.iter().any(|n| n.contains("largest remainders")), "{notes:?}");
    let crop = Some(Crop { x: 1, z: 1, w: 2, h: 2 });
    let part = collect(&rows(with([3, 3]), &ImportOptions { crop, ..spaced(1.0) }).unwrap());
    assert_eq!([&part.planes[0].values[..], &part.planes[1].values], [[92], [163]]);
    let many = Source {
        layers: (0..33).map(|i| (format!("layer {i}"), vec![0; 9])).collect(),
        ..source([3, 3], Samples::I16(vec![0; 9]), Place::None)
    };
    assert!(rows(many, &spaced(1.0)).unwrap_err().contains("at most 32"));
}

#[test]
fn cells_that_the_file_removes_are_removed() {
    let mut cells = vec![0; 9];
    cells[4] = 1;
    let with =
        |place| Source { hole_cells: cells.clone(), ..source([4, 4], Samples::I16(vec![0; 16]), place) };
    let whole = collect(&rows(with(Place::None), &spaced(1.0)).unwrap());
    assert_eq!(whole.mask, [3, 3, 3, 3, 0, 3, 3, 3, 3]);
    let crop = Some(Crop { x: 1, z: 0, w: 3, h: 3 });
    let part = collect(&rows(with(Place::None), &ImportOptions { crop, ..spaced(1.0) }).unwrap());
    assert_eq!(part.mask, [3, 3, 0, 3]);
    // Resampled from 20 by 10 m to 10 m: the removed cell is two cells wide.
    let squares =
        rows(with(Place::Metres { step_x: 20.0, step_z: 10.0 }), &ImportOptions::default()).unwrap();
    let squares = collect(&squares);
    assert_eq!(squares.config.samples, [7, 4]);
    let expected: Vec<u8> =
        (0..18).map(|i| if i / 6 == 1 && (2..4).contains(&(i % 6)) { 0 } else { 3 }).collect();
    assert_eq!(squares.mask, expected);
}

#[test]
fn rows_on_demand_are_the_rows_of_the_whole() {
    let mut numbers = Numbers(11);
    let n = 37 * 29;
    let mut voids = Voids::none(n);
    (0..40).for_each(|_| voids.set(numbers.below(n as u64) as usize));
    let samples = Samples::I16((0..n).map(|_| numbers.below(3000) as i16 - 500).collect());
    for place in [Place::None, Place::Metres { step_x: 7.0, step_z: 5.0 }] {
        let options = if place == Place::None { spaced(4.0) } else { ImportOptions::default() };
        let source = Source { voids: voids.clone(), ..source([37, 29], samples.clone(), place) };
        let rows = rows(source, &options).unwrap();
        let whole = collect(&rows);
        whole.check().unwrap();
        // The mask that follows from the heights alone.
        let again = highground_terrain::store::Raster::from_heights(whole.config, whole.heights.clone());
        assert_eq!(whole.mask, again.mask);
        let [w, h] = whole.config.samples.map(|n| n as usize);
        let mut line = vec![0; w];
        let mut cells = vec![0; w - 1];
        for z in 0..h {
            rows.heights(z as u32..z as u32 + 1, &mut line);
            assert_eq!(line, whole.heights[z * w..][..w]);
            if z + 1 < h {
                rows.mask(z as u32..z as u32 + 1, &mut cells);
                assert_eq!(cells, whole.mask[z * (w - 1)..][..w - 1]);
            }
        }
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut numbers = Numbers(5);
    let values: Vec<u16> = (0..300 * 200).map(|_| numbers.below(65_536) as u16).collect();
    let path = dir.path().join("a.png");
    write_grey16(&path, 300, 200, &values);
    let options = ImportOptions { min_m: Some(-3.5), max_m: Some(812.25), ..spaced(1.0) };
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| collect(&import_rows(&path, &options).unwrap()))
    };
    assert_eq!(with(1), with(5));
}
