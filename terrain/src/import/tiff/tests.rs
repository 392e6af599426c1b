//! Whole files made here by a plain encoder and read back: layouts, byte orders, georeferences, and refusals.

use super::*;
use crate::import::Registration;
use crate::import::source::Place;
use std::io::Write;

/// A file to write: its tags beside those of the layout, and how it is laid out.
#[derive(Clone)]
struct File {
    big: bool,
    wide: bool,
    size: [u32; 2],
    /// Bytes, format (1 unsigned, 2 signed, 3 floating point).
    kind: (usize, u16),
    bands: usize,
    planar: bool,
    codec: u16,
    predictor: u16,
    tile: Option<[u32; 2]>,
    rows_per_strip: u32,
    tags: Vec<(u16, Value)>,
}

#[derive(Clone)]
enum Value {
    Short(Vec<u16>),
    Double(Vec<f64>),
    Text(&'static str),
}

impl Default for File {
    fn default() -> Self {
        Self {
            big: false,
            wide: false,
            size: [11, 7],
            kind: (2, 2),
            bands: 1,
            planar: false,
            codec: 1,
            predictor: 1,
            tile: None,
            rows_per_strip: 3,
            tags: Vec::new(),
        }
    }
}

impl File {
    fn number(&self, v: u64, bytes: usize) -> Vec<u8> {
        if self.big { v.to_be_bytes()[8 - bytes..].to_vec() } else { v.to_le_bytes()[..bytes].to_vec() }
    }

    /// Rows of a block with the predictor applied, as the specification's formulas say it.
    fn row(&self, samples: &[u64], stride: usize) -> Vec<u8> {
        let n = self.kind.0;
        match self.predictor {
            2 => samples
                .iter()
                .enumerate()
                .flat_map(|(i, &v)| {
                    let before = if i < stride { 0 } else { samples[i - stride] };
                    self.number(v.wrapping_sub(before), n)
                })
                .collect(),
            3 => {
                let plane = |k: usize| samples.iter().map(move |v| (v >> (8 * (n - 1 - k))) as u8);
                let bytes: Vec<u8> = (0..n).flat_map(plane).collect();
                let before = |i: usize| if i < stride { 0 } else { bytes[i - stride] };
                (0..bytes.len()).map(|i| bytes[i].wrapping_sub(before(i))).collect()
            }
            _ => samples.iter().flat_map(|&v| self.number(v, n)).collect(),
        }
    }

    fn pack(&self, raw: &[u8]) -> Vec<u8> {
        match self.codec {
            5 => weezl::encode::Encoder::with_tiff_size_switch(weezl::BitOrder::Msb, 8).encode(raw).unwrap(),
            8 => {
                let mut e = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
                e.write_all(raw).unwrap();
                e.finish().unwrap()
            }
            32_773 => raw.chunks(100).flat_map(|c| [&[c.len() as u8 - 1], c].concat()).collect(),
            50_000 => ruzstd::encoding::compress_to_vec(raw, ruzstd::encoding::CompressionLevel::Fastest),
            _ => raw.to_vec(),
        }
    }

    /// Blocks of the samples `bits(x, z, band)`, in order.
    fn blocks(&self, bits: &impl Fn(u32, u32, usize) -> u64) -> Vec<Vec<u8>> {
        let [w, h] = self.size;
        let [bw, bh] = self.tile.unwrap_or([w, self.rows_per_strip]);
        let planes: Vec<Vec<usize>> = if self.planar {
            (0..self.bands).map(|b| vec![b]).collect()
        } else {
            vec![(0..self.bands).collect()]
        };
        let mut out = Vec::new();
        for plane in planes {
            for z0 in (0..h).step_by(bh as usize) {
                for x0 in (0..w).step_by(bw as usize) {
                    let rows = if self.tile.is_some() { bh } else { bh.min(h - z0) };
                    let row = |z: u32| {
                        let samples: Vec<u64> = (x0..x0 + bw)
                            .flat_map(|x| plane.iter().map(move |&b| (x, b)))
                            .map(|(x, b)| if x < w && z < h { bits(x, z, b) } else { 0 })
                            .collect();
                        self.row(&samples, plane.len())
                    };
                    out.push(self.pack(&(z0..z0 + rows).flat_map(row).collect::<Vec<u8>>()));
                }
            }
        }
        out
    }

    fn write(&self, bits: impl Fn(u32, u32, usize) -> u64) -> Vec<u8> {
        let blocks = self.blocks(&bits);
        let word = if self.wide { 8 } else { 4 };
        let mut file = if self.big { b"MM".to_vec() } else { b"II".to_vec() };
        if self.wide {
            file.extend([self.number(43, 2), self.number(8, 2), self.number(0, 2)].concat());
        } else {
            file.extend(self.number(42, 2));
        }
        let pointer = file.len();
        file.extend(vec![0; word]);
        let mut places = Vec::new();
        for block in &blocks {
            places.push((file.len() as u64, block.len() as u64));
            file.extend(block);
        }
        let offsets: Vec<u8> = places.iter().flat_map(|p| self.number(p.0, word)).collect();
        let counts: Vec<u8> = places.iter().flat_map(|p| self.number(p.1, word)).collect();
        let long = if self.wide { 16 } else { 4 };
        let short = |v: u16| (3, self.number(u64::from(v), 2));
        let mut tags: Vec<(u16, (u16, Vec<u8>))> = vec![
            (tag::WIDTH, (4, self.number(u64::from(self.size[0]), 4))),
            (tag::HEIGHT, (4, self.number(u64::from(self.size[1]), 4))),
            (tag::BITS, (3, vec![self.number(self.kind.0 as u64 * 8, 2); self.bands].concat())),
            (tag::COMPRESSION, short(self.codec)),
            (tag::BANDS, short(self.bands as u16)),
            (tag::PLANAR, short(1 + u16::from(self.planar))),
            (tag::PREDICTOR, short(self.predictor)),
            (tag::SAMPLE_FORMAT, (3, vec![self.number(u64::from(self.kind.1), 2); self.bands].concat())),
        ];
        if let Some([w, h]) = self.tile {
            tags.push((tag::TILE_WIDTH, short(w as u16)));
            tags.push((tag::TILE_HEIGHT, short(h as u16)));
            tags.push((tag::TILE_OFFSETS, (long, offsets)));
            tags.push((tag::TILE_BYTES, (long, counts)));
        } else {
            tags.push((tag::ROWS_PER_STRIP, (4, self.number(u64::from(self.rows_per_strip), 4))));
            tags.push((tag::STRIP_OFFSETS, (long, offsets)));
            tags.push((tag::STRIP_BYTES, (long, counts)));
        }
        for (tag, value) in &self.tags {
            let packed = match value {
                Value::Short(v) => (3, v.iter().flat_map(|&v| self.number(u64::from(v), 2)).collect()),
                Value::Double(v) => (12, v.iter().flat_map(|v| self.number(v.to_bits(), 8)).collect()),
                Value::Text(t) => (2, [t.as_bytes(), &[0]].concat()),
            };
            tags.retain(|t| t.0 != *tag);
            tags.push((*tag, packed));
        }
        tags.sort_by_key(|t| t.0);
        self.directory(file, pointer, word, &tags)
    }

    fn directory(
        &self,
        mut file: Vec<u8>,
        pointer: usize,
        word: usize,
        tags: &[(u16, (u16, Vec<u8>))],
    ) -> Vec<u8> {
        let mut entries = self.number(tags.len() as u64, if self.wide { 8 } else { 2 });
        for (tag, (kind, value)) in tags {
            let size = [1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8][*kind as usize - 1];
            entries.extend(self.number(u64::from(*tag), 2));
            entries.extend(self.number(u64::from(*kind), 2));
            entries.extend(self.number((value.len() / size) as u64, word));
            if value.len() <= word {
                entries.extend([&value[..], &vec![0; word - value.len()]].concat());
            } else {
                entries.extend(self.number(file.len() as u64, word));
                file.extend(value);
            }
        }
        entries.extend(vec![0; word]);
        let at = self.number(file.len() as u64, word);
        file[pointer..pointer + word].copy_from_slice(&at);
        file.extend(entries);
        file
    }

    fn read(&self, bits: impl Fn(u32, u32, usize) -> u64) -> Result<Source, ImportError> {
        self.read_asking(bits, &Ask::default())
    }

    fn read_asking(&self, bits: impl Fn(u32, u32, usize) -> u64, ask: &Ask) -> Result<Source, ImportError> {
        read(&mut Input::of_bytes("x.tif", self.write(bits)), ask)
    }

    fn refused(&self, bits: impl Fn(u32, u32, usize) -> u64) -> String {
        let error = self.read(bits).unwrap_err().to_string();
        assert!(!error.contains('\n'), "{error}");
        error
    }
}

/// A height of its own for every sample, within what its kind holds.
fn value(kind: (usize, u16), x: u32, z: u32, band: usize) -> f64 {
    let v = f64::from(x * 7 + z * 31) - if kind.1 == 1 { 0.0 } else { 100.0 } + band as f64 * 3.0;
    if kind.1 == 3 { v / 4.0 } else { v % 100.0 }
}

fn bits(kind: (usize, u16), v: f64) -> u64 {
    match kind {
        (2, 3) => u64::from(half::f16::from_f64(v).to_bits()),
        (4, 3) => u64::from((v as f32).to_bits()),
        (8, 3) => v.to_bits(),
        _ => v as i64 as u64,
    }
}

#[test]
fn every_kind_of_sample_comes_back_from_every_layout() {
    let kinds = [(1, 1), (1, 2), (2, 1), (2, 2), (4, 1), (4, 2), (8, 1), (8, 2), (2, 3), (4, 3), (8, 3)];
    for (kind, codec, big) in kinds.into_iter().flat_map(|k| {
        [1, 5, 8, 32_773, 50_000].into_iter().flat_map(move |c| [false, true].map(|big| (k, c, big)))
    }) {
        let predictors: &[u16] = match codec {
            1 | 32_773 => &[1],
            _ if kind.1 == 3 => &[1, 2, 3],
            _ => &[1, 2],
        };
        for (&predictor, tile) in predictors.iter().flat_map(|p| [(p, None), (p, Some([4, 3]))]) {
            let file =
                File { big, wide: big != tile.is_some(), kind, codec, predictor, tile, ..File::default() };
            let source = file.read(|x, z, _| bits(kind, value(kind, x, z, 0))).unwrap();
            assert_eq!((source.size, source.voids.count()), ([11, 7], 0));
            for i in 0..77 {
                let expected = value(kind, i % 11, i / 11, 0);
                let what = (kind, codec, big, predictor, tile, i);
                assert_eq!(source.samples.get(i as usize), expected, "{what:?}");
            }
        }
    }
}

#[test]
fn a_band_of_several_is_taken_by_its_number_only() {
    for (planar, predictor, tile) in [
        (false, 1, None),
        (false, 2, None),
        (true, 2, None),
        (true, 3, Some([4, 4])),
        (false, 3, Some([4, 4])),
    ] {
        let kind = (4, 3);
        let file = File { kind, bands: 3, planar, codec: 8, predictor, tile, ..File::default() };
        let bits = |x, z, b| bits(kind, value(kind, x, z, b));
        let error = file.refused(bits);
        assert!(error.contains("found 3") && error.contains("--channel"), "{error}");
        let ask = |c: &str| Ask { channel: Some(c.to_owned()), ..Ask::default() };
        let source = file.read_asking(bits, &ask("2")).unwrap();
        assert!((0..77).all(|i| source.samples.get(i as usize) == value(kind, i % 11, i / 11, 1)));
        for wrong in ["0", "4", "r", ""] {
            assert!(file.read_asking(bits, &ask(wrong)).is_err(), "{wrong}");
        }
    }
}

#[test]
fn alpha_0_and_declared_nodata_are_void_and_nothing_else_is() {
    let bits = |x: u32, z: u32, b: usize| if b == 1 { u64::from((x, z) != (3, 2)) } else { u64::from(x) };
    let extra = vec![(tag::EXTRA_SAMPLES, Value::Short(vec![2]))];
    let file = File { bands: 2, kind: (2, 1), tags: extra, ..File::default() };
    let source = file.read(bits).unwrap();
    assert_eq!((source.voids.count(), source.voids.get(2 * 11 + 3)), (1, true));
    assert_eq!(source.meaning, Meaning::Levels { max: 65_535 });

    let nodata = vec![(tag::GDAL_NODATA, Value::Text("5.0 "))];
    let file = File { tags: nodata, ..File::default() };
    let source = file.read(|x, _, _| u64::from(x)).unwrap();
    assert_eq!((source.voids.count(), source.nodata), (7, Some(5.0)));
    assert!((0..7).all(|z| source.voids.get(z * 11 + 5)));
    // NaN without a declaration is a value that the importer judges.
    let file = File { kind: (4, 3), ..File::default() };
    let source = file.read(|_, _, _| u64::from(f32::NAN.to_bits())).unwrap();
    assert!(source.voids.count() == 0 && source.samples.get(0).is_nan());
}

#[test]
fn missing_blocks_are_void_where_nodata_is_declared_and_refused_elsewhere() {
    let mut file = File { tags: vec![(tag::STRIP_BYTES, Value::Short(vec![0, 66, 22]))], ..File::default() };
    assert!(file.refused(|x, _, _| u64::from(x)).contains("strip 0"));
    file.tags.push((tag::GDAL_NODATA, Value::Text("-1")));
    let source = file.read(|x, _, _| u64::from(x)).unwrap();
    assert_eq!(source.voids.count(), 33);
    assert_eq!((source.voids.get(32), source.voids.get(33), source.samples.get(34)), (true, false, 1.0));
}

fn located(tags: &[(u16, Value)]) -> File {
    File { tags: tags.to_vec(), ..File::default() }
}

/// The keys of a coordinate system, each a short of its own, after the raster type.
fn keys(keys: &[[u16; 2]]) -> (u16, Value) {
    let mut all = vec![1, 1, 0, keys.len() as u16];
    all.extend(keys.iter().flat_map(|&[k, v]| [k, 0, 1, v]));
    (tag::GEO_KEYS, Value::Short(all))
}

#[test]
fn places_are_those_of_sample_centres() {
    let scale = (tag::PIXEL_SCALE, Value::Double(vec![0.5, 0.25, 0.0]));
    let tie = (tag::TIEPOINTS, Value::Double(vec![0.0, 0.0, 0.0, 7.0, 44.0, 0.0]));
    let degrees =
        |north_deg, west_deg| Place::Degrees { north_deg, west_deg, step_x_deg: 0.5, step_z_deg: 0.25 };
    let one = |_: u32, _: u32, _: usize| 1;
    let area = located(&[scale.clone(), tie.clone(), keys(&[[1024, 2], [2048, 4326]])]).read(one).unwrap();
    assert_eq!((area.place, area.registration), (degrees(43.875, 7.25), Registration::Area));
    let point = located(&[scale.clone(), tie.clone(), keys(&[[1024, 2], [1025, 2]])]).read(one).unwrap();
    assert_eq!((point.place, point.registration), (degrees(44.0, 7.0), Registration::Point));
    // A point in the raster's middle, and metres from feet.
    let tie = (tag::TIEPOINTS, Value::Double(vec![2.0, 4.0, 0.0, 8.0, 43.0, 0.0]));
    let source = located(&[scale.clone(), tie.clone(), keys(&[[1024, 2], [1025, 2]])]).read(one).unwrap();
    assert_eq!(source.place, degrees(44.0, 7.0));
    let feet = located(&[scale.clone(), tie.clone(), keys(&[[1024, 1], [3076, 9003], [4099, 9002]])])
        .read(one)
        .unwrap();
    let Place::Metres { step_x, step_z } = feet.place else { panic!("{:?}", feet.place) };
    assert!((step_x - 0.5 * 0.304_800_609_601_219_2).abs() < 1e-15 && step_z * 2.0 == step_x);
    assert_eq!(feet.meaning, Meaning::Metres { scale: 0.3048, offset: 0.0 });
    // No coordinate system: no unit, so no place.
    let source = located(&[scale, tie]).read(one).unwrap();
    assert!(source.place == Place::None && source.notes[0].contains("unknown unit"), "{:?}", source.notes);
}

#[test]
fn south_up_is_turned_and_what_is_turned_otherwise_is_refused() {
    let matrix = |a: f64, b: f64, e: f64, f: f64| {
        let mut m = vec![0.0; 16];
        (m[0], m[1], m[3], m[4], m[5], m[7], m[15]) = (a, b, 500.0, e, f, 4000.0, 1.0);
        located(&[(tag::TRANSFORMATION, Value::Double(m)), keys(&[[1024, 1], [3076, 9001]])])
    };
    let bits = |x: u32, z: u32, _: usize| u64::from(x + 100 * z);
    let north = matrix(30.0, 0.0, 0.0, -20.0).read(bits).unwrap();
    assert_eq!((north.samples.get(1), north.place), (1.0, Place::Metres { step_x: 30.0, step_z: 20.0 }));
    let south = matrix(30.0, 0.0, 0.0, 20.0).read(bits).unwrap();
    assert_eq!((south.samples.get(1), south.samples.get(6 * 11)), (601.0, 0.0));
    assert!(south.notes.iter().any(|n| n.contains("turned")));
    assert!(matrix(17.0, 5.0, 10.0, -8.0).refused(bits).contains("rotated"));
    assert!(matrix(0.0, 5.0, 5.0, 0.0).refused(bits).contains("rotated"));
    assert!(matrix(-30.0, 0.0, 0.0, -20.0).refused(bits).contains("mirrored"));
    assert!(matrix(f64::NAN, 0.0, 0.0, -20.0).refused(bits).contains("finite"));
    // Asked for where the file says nothing of it.
    let ask = Ask { south_up: true, ..Ask::default() };
    assert_eq!(File::default().read_asking(bits, &ask).unwrap().samples.get(0), 600.0);
}

#[test]
fn units_and_bodies_that_no_metres_can_be_had_from_are_refused() {
    let scale = (tag::PIXEL_SCALE, Value::Double(vec![1.0, 1.0, 0.0]));
    let tie = (tag::TIEPOINTS, Value::Double(vec![0.0; 6]));
    let with = |keys| located(&[scale.clone(), tie.clone(), keys]).refused(|_, _, _| 0);
    assert!(with(keys(&[[1024, 1], [3076, 9039]])).contains("9039"));
    assert!(with(keys(&[[1024, 2], [2054, 9101]])).contains("9101"));
    assert!(with(keys(&[[1024, 3]])).contains("geocentric"));
    let moon = (tag::GEO_KEYS, Value::Short(vec![1, 1, 0, 2, 1024, 0, 1, 2, 2057, 34_736, 1, 0]));
    let radius = (tag::GEO_DOUBLES, Value::Double(vec![1_737_400.0]));
    let error = located(&[scale.clone(), tie.clone(), moon, radius]).refused(|_, _, _| 0);
    assert!(error.contains("1737400"), "{error}");
}

#[test]
fn scale_and_offset_and_unit_come_from_gdals_metadata() {
    let xml = "<GDALMetadata><Item name=\"SCALE\" sample=\"0\" role=\"scale\">0.5</Item><Item name=\"OFFSET\" sample=\"0\" role=\"offset\">-20</Item><Item name=\"UNITTYPE\" sample=\"0\" role=\"unittype\">ft</Item></GDALMetadata>";
    let source = located(&[(tag::GDAL_METADATA, Value::Text(xml))]).read(|_, _, _| 4).unwrap();
    assert_eq!(source.meaning, Meaning::Metres { scale: 0.5 * 0.3048, offset: -20.0 * 0.3048 });
    let bad = "<Item role=\"scale\">zero</Item>";
    assert!(located(&[(tag::GDAL_METADATA, Value::Text(bad))]).refused(|_, _, _| 4).contains("scale"));
}

#[test]
fn what_the_file_cannot_hold_is_refused_before_memory_is_taken() {
    let one = |_: u32, _: u32, _: usize| 1;
    let patched = |at: u16, value: u32| {
        let file = File::default();
        let mut bytes = file.write(one);
        let entry = bytes.windows(8).position(|w| w[..4] == [at as u8, (at >> 8) as u8, 4, 0]).unwrap();
        bytes[entry + 8..entry + 12].copy_from_slice(&value.to_le_bytes());
        read(&mut Input::of_bytes("x.tif", bytes), &Ask::default()).unwrap_err().to_string()
    };
    assert!(patched(tag::WIDTH, 200_000).contains("200000x7"));
    assert!(patched(tag::HEIGHT, u32::MAX).contains("4294967295"));
    assert!(patched(tag::HEIGHT, 100_000).contains("33334 strips"));
    assert!(patched(tag::WIDTH, 100_000).contains("cannot hold"));
    assert!(patched(tag::WIDTH, 1).contains("1x7"));
    assert!(patched(tag::ROWS_PER_STRIP, 0).contains("one row a strip"));
    // A zstd strip may claim much, but no more than its bytes can make.
    let file = File { codec: 50_000, size: [3000, 3000], rows_per_strip: 3000, ..File::default() };
    let mut bytes = file.write(|_, _, _| 0);
    let len = bytes.len();
    assert!(len < 5_000, "{len}");
    assert!(read(&mut Input::of_bytes("x.tif", bytes.clone()), &Ask::default()).is_ok());
    // Cut in every place: never more than an error.
    for n in (0..len).step_by(7) {
        bytes.truncate(len - n);
        let _ = read(&mut Input::of_bytes("x.tif", bytes.clone()), &Ask::default());
    }
}

#[test]
fn damaged_blocks_are_named_and_stuck_lzw_ends() {
    let bits = |x: u32, z: u32, _: usize| u64::from(x * x + z * 77);
    // A deflate strip whose last byte, of its checksum, is wrong.
    let file = File { codec: 8, rows_per_strip: 7, ..File::default() };
    let packed = file.blocks(&bits).remove(0);
    let mut bytes = file.write(bits);
    bytes[8 + packed.len() - 1] ^= 1;
    let error = read(&mut Input::of_bytes("x.tif", bytes), &Ask::default()).unwrap_err().to_string();
    assert!(error.contains("strip 0") && error.contains("Deflate"), "{error}");
    // An LZW strip of nothing but clear codes (256 = 100000000), and one that ends at once.
    let file = File { codec: 5, rows_per_strip: 7, ..File::default() };
    let len = file.blocks(&bits).remove(0).len();
    for stuck in
        [[0x80, 0x40, 0x20, 0x10, 0x08, 0x04, 0x02, 0x01, 0x00], [0x80, 0x80, 0x40, 0, 0, 0, 0, 0, 0]]
    {
        let mut bytes = file.write(bits);
        let filler = stuck.iter().cycle().take(len).copied().collect::<Vec<u8>>();
        bytes[8..8 + len].copy_from_slice(&filler);
        let error = read(&mut Input::of_bytes("x.tif", bytes), &Ask::default()).unwrap_err().to_string();
        assert!(error.contains("strip 0, row 0"), "{error}");
    }
}

#[test]
fn flipped_bytes_never_do_worse_than_an_error() {
    let xml = "<Item role=\"scale\">0.5</Item>";
    let kind = (4, 3);
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % n as u64) as usize
    };
    for (codec, predictor, tile) in
        [(1, 1, None), (5, 3, None), (8, 2, Some([4, 4])), (32_773, 1, None), (50_000, 3, None)]
    {
        let tags = vec![
            (tag::PIXEL_SCALE, Value::Double(vec![1.0, 1.0, 0.0])),
            (tag::TIEPOINTS, Value::Double(vec![0.0; 6])),
            keys(&[[1024, 1], [3076, 9001]]),
            (tag::GDAL_METADATA, Value::Text(xml)),
            (tag::GDAL_NODATA, Value::Text("nan")),
        ];
        let file = File { codec, predictor, tile, kind, tags, ..File::default() };
        let good = file.write(|x, z, _| bits(kind, value(kind, x, z, 0)));
        let mut refused = 0;
        for _ in 0..1_500 {
            let mut bytes = good.clone();
            for _ in 0..=random(3) {
                let at = random(bytes.len());
                bytes[at] = [0, 1, 0x7f, 0x80, 0xff, random(256) as u8][random(6)];
            }
            match read(&mut Input::of_bytes("x.tif", bytes), &Ask::default()) {
                Ok(source) => assert_eq!(source.samples.len(), (source.size[0] * source.size[1]) as usize),
                Err(e) => {
                    refused += 1;
                    assert!(!e.to_string().contains('\n'), "{e}");
                }
            }
        }
        assert!(refused > 100, "{refused}");
    }
}
