use super::*;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

/// A writer of resources, to the grammar of [`rsrc`].
#[derive(Default)]
struct Out {
    bytes: Vec<u8>,
    big_endian: bool,
}

impl Out {
    fn word(&mut self, v: u32) {
        self.bytes.extend(if self.big_endian { v.to_be_bytes() } else { v.to_le_bytes() });
    }

    fn words(&mut self, words: &[u32]) {
        words.iter().for_each(|&v| self.word(v));
    }

    fn long(&mut self, v: u64) {
        self.bytes.extend(if self.big_endian { v.to_be_bytes() } else { v.to_le_bytes() });
    }

    fn text(&mut self, text: &str) {
        self.word(text.len() as u32 + 1);
        self.bytes.extend(text.as_bytes());
        self.bytes.push(0);
    }
}

/// What a made region is like.
struct Made {
    size: [u32; 2],
    heights: Vec<f32>,
    control: Option<Vec<u32>>,
    big_endian: bool,
    flags: u32,
    class: &'static str,
    format: &'static str,
    /// Bytes of the value of a property that is stepped over; nil where there are none.
    extra: Vec<u8>,
    spacing: Option<f32>,
}

fn small() -> Made {
    Made {
        size: [3, 3],
        heights: (0..9).map(|i| i as f32 * 1.5 - 4.0).collect(),
        control: Some(vec![0; 9]),
        big_endian: false,
        flags: 1,
        class: "Terrain3DRegion",
        format: "RFloat",
        extra: Vec::new(),
        spacing: None,
    }
}

/// The resource without its magic, as a container holds it.
fn resource(made: &Made, at: usize) -> Vec<u8> {
    let names = ["height_map", "control_map", "data", "extra", "location", "version", "vertex_spacing"];
    let maps: Vec<Vec<u8>> = [
        Some(made.heights.iter().flat_map(|v| v.to_le_bytes()).collect()),
        made.control.as_ref().map(|c| c.iter().flat_map(|v| v.to_le_bytes()).collect()),
    ]
    .into_iter()
    .flatten()
    .collect();
    let head = |offsets: &[u64]| {
        let mut o = Out { big_endian: made.big_endian, ..Out::default() };
        o.words(&[u32::from(made.big_endian), 0, 4, 2, 5]);
        o.text(made.class);
        o.long(0);
        o.word(made.flags);
        o.long(7);
        if made.flags & 8 != 0 {
            o.text("Class");
        }
        o.words(&[0; 11]);
        o.word(names.len() as u32);
        names.iter().for_each(|n| o.text(n));
        o.word(1);
        o.text("Script");
        o.text("res://a.gd");
        if made.flags & 2 != 0 {
            o.long(9);
        }
        o.word(offsets.len() as u32);
        for (i, &offset) in offsets.iter().enumerate() {
            // Without named ids a resource is found by its path.
            o.text(&format!("local://{}", if made.flags & 1 == 0 { i + 5 } else { i }));
            o.long(offset);
        }
        o
    };
    let mut offsets = vec![0; maps.len() + 1];
    let mut out = head(&offsets);
    for (i, map) in maps.iter().enumerate() {
        offsets[i] = (out.bytes.len() + at) as u64;
        out.text("Image");
        out.words(&[1, 2, 26, 5]);
        for (key, value) in [("width", made.size[0]), ("height", made.size[1])] {
            out.word(5);
            out.text(key);
            out.words(&[3, value]);
        }
        out.word(5);
        out.text("format");
        out.word(5);
        out.text(made.format);
        out.word(5);
        out.text("mipmaps");
        out.words(&[2, 0]);
        out.word(5);
        out.text("data");
        out.words(&[31, map.len() as u32]);
        out.bytes.extend(map);
    }
    offsets[maps.len()] = (out.bytes.len() + at) as u64;
    out.text(made.class);
    out.word(maps.len() as u32 + 3 + u32::from(made.spacing.is_some()));
    out.word(3);
    out.bytes.extend(&made.extra);
    if made.extra.is_empty() {
        out.word(1);
    }
    // A name in place instead of in the table.
    out.word(0x8000_0000 | 8);
    out.bytes.extend(b"version\0");
    out.word(4);
    out.word(0.93f32.to_bits());
    out.words(&[4, 45, -2i32 as u32, 3]);
    for i in 0..maps.len() as u32 {
        out.words(&[i, 24, 2, if made.flags & 1 == 0 { i + 5 } else { i }]);
    }
    if let Some(spacing) = made.spacing {
        out.words(&[6, 4, spacing.to_bits()]);
    }
    let head = head(&offsets).bytes;
    out.bytes[..head.len()].copy_from_slice(&head);
    out.bytes
}

fn plain(made: &Made) -> Vec<u8> {
    [&b"RSRC"[..], &resource(made, 4)].concat()
}

fn packed(bytes: &[u8], block: usize) -> Vec<u8> {
    let blocks: Vec<Vec<u8>> = (0..bytes.len() / block + 1)
        .map(|i| {
            compress_to_vec(&bytes[i * block..bytes.len().min((i + 1) * block)], CompressionLevel::Fastest)
        })
        .collect();
    let mut all = b"RSCC".to_vec();
    for word in [2, block as u32, bytes.len() as u32].into_iter().chain(blocks.iter().map(|b| b.len() as u32))
    {
        all.extend(word.to_le_bytes());
    }
    blocks.iter().for_each(|b| all.extend(b));
    all.extend(b"RSCC");
    all
}

fn of(bytes: Vec<u8>) -> Result<Source, ImportError> {
    read(&mut Input::of_bytes("a.res", bytes), &Ask::default())
}

fn refused(bytes: Vec<u8>) -> String {
    let error = of(bytes).unwrap_err().to_string();
    assert!(!error.contains('\n'), "{error}");
    error
}

#[test]
fn heights_are_read_from_plain_and_packed_resources_of_every_layout() {
    let made = Made { spacing: Some(0.5), ..small() };
    let source = of(plain(&made)).unwrap();
    assert_eq!((source.size, &source.samples), ([3, 3], &Samples::F32(made.heights.clone())));
    assert_eq!(source.place, Place::Metres { step_x: 0.5, step_z: 0.5 });
    assert_eq!(source.notes[0], "Terrain3D region (-2, 3) of version 0.930");
    for block in [1, 64, 4096, resource(&made, 0).len()] {
        assert_eq!(of(packed(&resource(&made, 0), block)).unwrap(), source, "{block}");
    }
    for (big_endian, flags) in [(true, 1), (false, 0), (false, 3), (false, 9), (true, 10)] {
        let made = Made { big_endian, flags, spacing: Some(0.5), ..small() };
        assert_eq!(of(plain(&made)).unwrap(), source, "{big_endian} {flags}");
    }
    let bare = of(plain(&Made { control: None, ..small() })).unwrap();
    assert!(bare.place == Place::None && bare.layers.is_empty() && bare.hole_cells.is_empty());
    assert!(bare.notes.iter().any(|n| n.contains("no control map")), "{:?}", bare.notes);
}

#[test]
fn a_hole_removes_the_cells_around_its_sample() {
    let cells = |holes: &[usize]| {
        let mut control = vec![0; 12];
        holes.iter().for_each(|&i| control[i] = 1 << 2);
        let made = Made { size: [4, 3], heights: vec![0.0; 12], control: Some(control), ..small() };
        of(plain(&made)).unwrap().hole_cells
    };
    assert!(cells(&[]).is_empty());
    assert_eq!(cells(&[5]), [1, 1, 0, 1, 1, 0]);
    assert_eq!(cells(&[0]), [1, 0, 0, 0, 0, 0]);
    assert_eq!(cells(&[3, 8]), [0, 0, 1, 1, 0, 0]);
    assert_eq!(cells(&[11]), [0, 0, 0, 0, 0, 1]);
}

#[test]
fn control_words_are_integers_whatever_they_are_as_floats() {
    let word = |base: u32, overlay: u32, blend: u32| base << 27 | overlay << 22 | blend << 14;
    let control = vec![
        word(0, 1, 0),
        word(0, 1, 64),
        word(3, 3, 100),
        word(31, 0, 255),
        // As a float this one is a signalling NaN: base 15, overlay 30, blend 2.
        0x7f80_8001,
        1,
        3,
        word(0, 7, 0) | 9 << 10 | 2 << 7,
        word(0, 0, 255),
    ];
    let source = of(plain(&Made { control: Some(control), ..small() })).unwrap();
    let layers: Vec<(&str, &[u8])> = source.layers.iter().map(|(n, w)| (&**n, &**w)).collect();
    assert_eq!(
        layers,
        [
            ("texture 0", &[255, 191, 0, 255, 0, 255, 255, 255, 255][..]),
            ("texture 1", &[0, 64, 0, 0, 0, 0, 0, 0, 0]),
            ("texture 3", &[0, 0, 255, 0, 0, 0, 0, 0, 0]),
            ("texture 15", &[0, 0, 0, 0, 253, 0, 0, 0, 0]),
            ("texture 30", &[0, 0, 0, 0, 2, 0, 0, 0, 0]),
        ]
    );
    for words in
        ["3 samples have the autoshader on", "1 samples are marked as nav", "1 samples turn or scale"]
    {
        assert!(source.notes.iter().any(|n| n.starts_with(words)), "{words}: {:?}", source.notes);
    }
}

#[test]
fn values_of_every_kind_are_stepped_over() {
    // Tag and bytes after it, with real numbers of four bytes.
    let plain_sizes = [
        (1, 0),
        (2, 4),
        (3, 4),
        (4, 4),
        (10, 8),
        (11, 16),
        (12, 12),
        (13, 16),
        (14, 16),
        (15, 24),
        (16, 36),
        (17, 48),
        (18, 24),
        (20, 16),
        (23, 4),
        (40, 8),
        (41, 8),
        (42, 0),
        (43, 0),
        (45, 8),
        (46, 16),
        (47, 12),
        (50, 16),
        (51, 16),
        (52, 64),
    ];
    let counted = [(31, 1), (32, 4), (33, 4), (35, 12), (36, 16), (37, 8), (48, 8), (49, 8), (53, 16)];
    let mut array = Out::default();
    let mut values = 0;
    for (tag, size) in plain_sizes {
        array.word(tag);
        array.bytes.extend(vec![0x5a; size]);
        values += 1;
    }
    for (tag, size) in counted {
        array.words(&[tag, 4]);
        array.bytes.extend(vec![0x5a; 4 * size]);
        values += 1;
    }
    array.words(&[31, 5]);
    array.bytes.extend([1; 8]);
    array.words(&[5, 4]);
    array.bytes.extend(b"abc\0");
    array.words(&[44, 4]);
    array.bytes.extend(b"abc\0");
    array.words(&[34, 2, 2]);
    array.bytes.extend(b"a\0");
    array.word(0);
    // A node path of two names and one that follows.
    array.words(&[22, 2 | 0x8001 << 16, 0, 1, 0x8000_0002]);
    array.bytes.extend(b"a\0");
    array.words(&[24, 0, 24, 2, 0, 24, 3, 0, 24, 1, 2]);
    array.bytes.extend(b"a\0");
    array.word(0);
    array.words(&[26, 0x8000_0001, 3, 1, 30, 0]);
    values += 10;
    let mut extra = Out::default();
    extra.words(&[30, values]);
    extra.bytes.extend(array.bytes);
    assert_eq!(of(plain(&Made { extra: extra.bytes, ..small() })).unwrap(), of(plain(&small())).unwrap());
}

#[test]
fn what_is_no_region_is_refused() {
    assert!(
        refused(plain(&Made { class: "Terrain3DStorage", ..small() })).contains("found a Terrain3DStorage")
    );
    assert!(refused(plain(&Made { format: "RHalf", ..small() })).contains("format RHalf"));
    let two = Made { heights: vec![0.0; 8], ..small() };
    assert!(refused(plain(&two)).contains("expected 36 bytes for a height_map of 3x3, found 32"));
    let other = Made { control: Some(vec![0; 10]), ..small() };
    assert!(refused(plain(&other)).contains("expected 36 bytes for a control_map"));
    for size in [[200_000, 200_000], [1, 9], [u32::MAX, 2]] {
        assert!(refused(plain(&Made { size, ..small() })).contains("samples a side"), "{size:?}");
    }
    assert!(refused(plain(&Made { size: [16_384, 16_384], ..small() })).contains("found 36"));
    for (tag, words) in [(99, "found 99"), (0, "found 0")] {
        let mut extra = Out::default();
        extra.word(tag);
        assert!(refused(plain(&Made { extra: extra.bytes, ..small() })).contains(words));
    }
    let mut many = plain(&small());
    let names = many.windows(10).position(|w| w == b"height_map").unwrap() - 8;
    many[names..names + 4].copy_from_slice(&(1u32 << 20).to_le_bytes());
    assert!(refused(many).contains("at most 65536 entries"));
    let mut deep = Out::default();
    (0..10_000).for_each(|_| deep.words(&[30, 1]));
    assert!(refused(plain(&Made { extra: deep.bytes, ..small() })).contains("32 deep"));
    assert!(refused(b"RIFF".to_vec()).contains("found another file"));
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    for whole in [plain(&small()), packed(&resource(&small(), 0), 64)] {
        for n in 0..whole.len() {
            refused(whole[..n].to_vec());
        }
    }
    let long = [packed(&resource(&small(), 0), 64), vec![0]].concat();
    assert!(refused(long).contains("the end of the file"));
}

#[test]
fn no_flipped_bit_panics() {
    for whole in [plain(&small()), packed(&resource(&small(), 0), 256)] {
        for bit in 0..whole.len() * 8 {
            let mut bad = whole.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            if let Ok(source) = of(bad) {
                assert_eq!(source.samples.len(), 9, "bit {bit}");
            }
        }
    }
}

#[test]
fn containers_that_promise_more_than_they_hold_are_refused() {
    let head = |mode: u32, block: u32, total: u32| {
        let mut all = b"RSCC".to_vec();
        [mode, block, total].iter().for_each(|v| all.extend(v.to_le_bytes()));
        all
    };
    assert!(refused(head(2, 4096, u32::MAX)).contains("at most 268435456 in all"));
    assert!(refused(head(2, 4096, 1 << 28)).contains("expected at least 262164 bytes"));
    assert!(refused(head(2, 0, 100)).contains("blocks of 1 to"));
    assert!(refused(head(2, 1 << 28, 100)).contains("blocks of 1 to"));
    assert!(refused(head(1, 4096, 100)).contains("(deflate)"));
    assert!(refused(head(77, 4096, 100)).contains("77 (none known)"));
    // A block that unpacks to a mebibyte where a hundred bytes are claimed, and one that unpacks to less.
    for (real, words) in [(1 << 20, "found damage"), (50, "found 50")] {
        let block = compress_to_vec(&vec![7u8; real][..], CompressionLevel::Fastest);
        let mut all = head(2, 4096, 100);
        all.extend((block.len() as u32).to_le_bytes());
        all.extend(block);
        all.extend(b"RSCC");
        let error = refused(all);
        assert!(error.contains(words), "{error}");
    }
}
