//! Whole files made here and read back. Plain, RLE and ZIP blocks are encoded by hand; the other codecs by the crate.

use super::*;
use std::io::Write;

#[derive(Clone)]
struct File {
    size: [u32; 2],
    origin: [i32; 2],
    /// Names in order, types 0 uint, 1 half, 2 float.
    channels: Vec<(&'static str, i32)>,
    packing: u8,
    tile: Option<[u32; 2]>,
    multipart: bool,
    /// Attributes instead of those written otherwise: name, type, value.
    other: Vec<(&'static str, &'static str, Vec<u8>)>,
}

impl Default for File {
    fn default() -> Self {
        Self {
            size: [13, 37],
            origin: [0, 0],
            channels: vec![("Y", 2)],
            packing: 0,
            tile: None,
            multipart: false,
            other: Vec::new(),
        }
    }
}

fn words(numbers: &[i32]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
}

fn attribute(out: &mut Vec<u8>, name: &str, kind: &str, value: &[u8]) {
    out.extend([name.as_bytes(), &[0], kind.as_bytes(), &[0], &words(&[value.len() as i32]), value].concat());
}

impl File {
    fn header(&self) -> Vec<u8> {
        let [w, h] = self.size.map(|n| n as i32);
        let [x, y] = self.origin;
        let mut list = Vec::new();
        for (name, kind) in &self.channels {
            list.extend([name.as_bytes(), &[0], &words(&[*kind, 0, 1, 1])].concat());
        }
        list.push(0);
        let window = words(&[x, y, x + w - 1, y + h - 1]);
        let mut all: Vec<(&str, &str, Vec<u8>)> = vec![
            ("channels", "chlist", list),
            ("compression", "compression", vec![self.packing]),
            ("dataWindow", "box2i", window.clone()),
            ("displayWindow", "box2i", window),
            ("lineOrder", "lineOrder", vec![0]),
        ];
        if let Some([w, h]) = self.tile {
            all.push(("tiles", "tiledesc", [words(&[w as i32, h as i32]), vec![0]].concat()));
        }
        if self.multipart {
            let kind = if self.tile.is_some() { "tiledimage" } else { "scanlineimage" };
            all.push(("type", "string", kind.as_bytes().to_vec()));
        }
        for other in &self.other {
            all.retain(|a| a.0 != other.0);
            all.push(other.clone());
        }
        let flags = if self.multipart {
            0x1000
        } else if self.tile.is_some() {
            0x200
        } else {
            0
        };
        let mut out = [&[0x76, 0x2f, 0x31, 0x01], &words(&[2 | flags])[..]].concat();
        for (name, kind, value) in &all {
            attribute(&mut out, name, kind, value);
        }
        out.push(0);
        if self.multipart {
            out.push(0);
        }
        out
    }

    fn pack(&self, head: &Head, raw: Vec<u8>, block: Block) -> Vec<u8> {
        let packed = match self.packing {
            1 => split(&raw)
                .chunks(100)
                .flat_map(|c| [&[(c.len() as u8).wrapping_neg()], c].concat())
                .collect(),
            2 | 3 => {
                let mut e = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
                e.write_all(&split(&raw)).unwrap();
                e.finish().unwrap()
            }
            4.. => {
                let section = IntegerBounds::new(Vec2(0, 0), Vec2(block.w as usize, block.h as usize));
                let codec = Codec::new(head);
                let packing = codec.header.compression;
                packing.compress_image_section_to_le(&codec.header, raw.clone(), section).unwrap()
            }
            _ => raw.clone(),
        };
        if packed.len() < raw.len() { packed } else { raw }
    }

    /// The file of samples with the bits `bits(x, z, channel)`.
    fn write(&self, bits: impl Fn(u32, u32, usize) -> u32) -> Vec<u8> {
        let mut out = self.header();
        let mut bytes = out.clone();
        bytes.resize(1 << 20, 0);
        let head = Head::read(&mut Input::of_bytes("x", bytes)).unwrap();
        let [bw, bh] = head.block;
        let mut chunks = Vec::new();
        for z0 in (0..self.size[1]).step_by(bh as usize) {
            for x0 in (0..self.size[0]).step_by(bw as usize) {
                let block =
                    Block { x: x0, z: z0, w: bw.min(self.size[0] - x0), h: bh.min(self.size[1] - z0) };
                let mut raw = Vec::new();
                for z in z0..z0 + block.h {
                    for (c, (_, kind)) in self.channels.iter().enumerate() {
                        for x in x0..x0 + block.w {
                            raw.extend(&bits(x, z, c).to_le_bytes()[..if *kind == 1 { 2 } else { 4 }]);
                        }
                    }
                }
                let packed = self.pack(&head, raw, block);
                let mut own = if self.multipart { vec![0] } else { Vec::new() };
                match self.tile {
                    Some(_) => own.extend([(x0 / bw) as i32, (z0 / bh) as i32, 0, 0]),
                    None => own.push(self.origin[1] + z0 as i32),
                }
                own.push(packed.len() as i32);
                chunks.push([words(&own), packed].concat());
            }
        }
        let mut at = out.len() as u64 + chunks.len() as u64 * 8;
        for chunk in &chunks {
            out.extend(at.to_le_bytes());
            at += chunk.len() as u64;
        }
        out.extend(chunks.concat());
        out
    }

    fn read(&self, bits: impl Fn(u32, u32, usize) -> u32) -> Result<Source, ImportError> {
        self.asking(None, bits)
    }

    fn asking(
        &self,
        channel: Option<&str>,
        bits: impl Fn(u32, u32, usize) -> u32,
    ) -> Result<Source, ImportError> {
        let ask = Ask { channel: channel.map(str::to_owned), ..Ask::default() };
        read(&mut Input::of_bytes("x.exr", self.write(bits)), &ask)
    }
}

/// Even bytes before odd ones, as differences: what RLE and ZIP do first.
fn split(raw: &[u8]) -> Vec<u8> {
    let bytes: Vec<u8> = raw.iter().step_by(2).chain(raw.iter().skip(1).step_by(2)).copied().collect();
    let difference = |i: usize| bytes[i].wrapping_sub(bytes[i - 1]).wrapping_add(128);
    (0..bytes.len()).map(|i| if i == 0 { bytes[0] } else { difference(i) }).collect()
}

fn height(x: u32, z: u32) -> f32 {
    x as f32 * 0.25 - z as f32 * 2.0
}

/// The bits of a height in a type. All are exact as halves, and as floats of 24 bits.
fn encode(kind: i32, v: f32) -> u32 {
    match kind {
        0 => (v.abs() * 4.0) as u32,
        1 => u32::from(f16::from_f32(v).to_bits()),
        _ => v.to_bits(),
    }
}

#[test]
fn every_type_comes_back_from_every_packing_in_lines_and_tiles() {
    for packing in 0..=5 {
        for kind in 0..=2 {
            for (tile, multipart) in
                [(None, false), (Some([5, 8]), false), (Some([64, 64]), true), (None, true)]
            {
                let file = File {
                    packing,
                    tile,
                    multipart,
                    channels: vec![("B", 1), ("Y", kind), ("other", 2)],
                    origin: [-7, 1000],
                    ..File::default()
                };
                let noise = |x: u32, z: u32, c: usize| (x * 977 + z * 31 + c as u32 * 5) & 0x7fff;
                let source = file
                    .read(|x, z, c| if c == 1 { encode(kind, height(x, z)) } else { noise(x, z, c) })
                    .unwrap();
                for i in 0..13 * 37 {
                    let v = height(i % 13, i / 13);
                    let expected = if kind == 0 { f64::from(encode(0, v)) } else { f64::from(v) };
                    assert_eq!(source.samples.get(i as usize), expected, "{packing} {kind} {tile:?} {i}");
                }
                assert_eq!(matches!(source.samples, Samples::I32(_)), kind == 0);
            }
        }
    }
}

#[test]
fn lost_bits_are_said() {
    let said = |packing, kind| {
        let file = File { packing, channels: vec![("Y", kind)], ..File::default() };
        let source = file.read(|x, z, _| encode(kind, height(x, z))).unwrap();
        source.notes.iter().filter(|n| n.contains("rounded")).count()
    };
    assert_eq!([said(5, 2), said(5, 1), said(3, 2)], [1, 0, 0]);
}

#[test]
fn the_height_is_the_channel_beyond_doubt() {
    let by = |names: &[&'static str], asked: Option<&str>| {
        let file = File { channels: names.iter().map(|n| (*n, 2)).collect(), ..File::default() };
        file.asking(asked, |_, _, c| (c as f32 + 1.0).to_bits()).map(|s| s.samples.get(0))
    };
    assert_eq!(by(&["odd"], None).unwrap(), 1.0);
    assert_eq!(by(&["A", "Y", "Z"], None).unwrap(), 2.0);
    assert_eq!(by(&["A", "Z", "height"], None).unwrap(), 2.0);
    assert_eq!(by(&["B", "G", "R", "height"], None).unwrap(), 4.0);
    assert_eq!(by(&["B", "G", "R"], Some("G")).unwrap(), 2.0);
    // Unequal, or nothing to go by: the names there are.
    for names in [&["B", "G", "R"][..], &["a", "b"], &["G", "R"]] {
        let error = by(names, None).unwrap_err().to_string();
        assert!(error.contains("--channel"), "{error}");
    }
    assert!(by(&["a", "b"], None).unwrap_err().to_string().contains("a, b"));
    assert!(by(&["a", "b"], Some("A")).unwrap_err().to_string().contains("a, b"));
}

#[test]
fn equal_colours_are_grey_bit_for_bit_and_alpha_0_is_void() {
    let file = File { channels: vec![("A", 1), ("B", 2), ("G", 2), ("R", 2)], ..File::default() };
    let odd = |x: u32, z: u32, c: usize| match (c, x, z) {
        // A of −0, 0 and the smallest half.
        (0, 2, 3) => 0x8000,
        (0, 4, 5) => 0,
        (0, ..) => 1,
        (_, 7, 7) => 0x7fc0_0001,
        _ => height(x, z).to_bits(),
    };
    let source = file.read(odd).unwrap();
    let voids: Vec<usize> = (0..13 * 37).filter(|&i| source.voids.get(i)).collect();
    assert_eq!(voids, [3 * 13 + 2, 5 * 13 + 4]);
    assert!(source.samples.get(7 * 13 + 7).is_nan());
    let error =
        file.read(|x, z, c| odd(x, z, c) ^ u32::from((x, z, c) == (12, 36, 2))).unwrap_err().to_string();
    assert!(error.contains("G") && error.contains("(12, 36)"), "{error}");
}

#[test]
fn hostile_headers_are_refused_before_memory_is_taken() {
    let refused = |other: Vec<(&'static str, &'static str, Vec<u8>)>, tile| {
        let good = File { tile, ..File::default() };
        let bytes = good.write(|x, z, _| height(x, z).to_bits());
        let file = File { other, ..good.clone() };
        let bytes = [file.header(), bytes[good.header().len()..].to_vec()].concat();
        let error = read(&mut Input::of_bytes("x.exr", bytes), &Ask::default()).unwrap_err().to_string();
        assert!(!error.contains('\n'), "{error}");
        error
    };
    let window = |w: [i32; 4]| vec![("dataWindow", "box2i", words(&w))];
    assert!(refused(window([0, 0, 199_999, 199_999]), None).contains("200000x200000"));
    assert!(refused(window([0, 0, 12, i32::MAX]), None).contains("2147483648"));
    assert!(refused(window([i32::MIN, i32::MIN, i32::MAX, i32::MAX]), None).contains("4294967296"));
    assert!(refused(window([5, 5, 4, 4]), None).contains("0x0"));
    assert!(refused(window([i32::MAX - 12, 0, i32::MAX, 36]), None).contains("2^30"));
    assert!(refused(window([0, 0, 16_000, 16_000]), None).contains("can hold"));
    assert!(refused(window([0, 1, 12, 37]), None).contains("block 0"));
    let tiles = |w: i32, h: i32, mode| vec![("tiles", "tiledesc", [words(&[w, h]), vec![mode]].concat())];
    assert!(refused(tiles(0, 8, 0), Some([5, 8])).contains("0x8"));
    assert!(refused(tiles(-1, 8, 0), Some([5, 8])).contains("4294967295"));
    assert!(refused(tiles(5, 8, 3), Some([5, 8])).contains("mode 3"));
    assert!(refused(vec![("compression", "compression", vec![6])], None).contains("B44"));
    assert!(refused(vec![("compression", "compression", vec![9])], None).contains("DWA"));
    assert!(refused(vec![("compression", "compression", vec![99])], None).contains("99"));
    let list = |kind, step| [b"Y\0".to_vec(), words(&[kind, 0, step, step]), vec![0]].concat();
    assert!(refused(vec![("channels", "chlist", list(3, 1))], None).contains("channel Y"));
    assert!(refused(vec![("channels", "chlist", list(2, 2))], None).contains("subsampling"));
    assert!(refused(vec![("channels", "chlist", vec![0])], None).contains("at least one"));
    assert!(refused(vec![("channels", "chlist", vec![b'a'; 10])], None).contains("name"));
}

#[test]
fn damage_and_truncation_never_do_worse_than_an_error() {
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut random = move |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % n as u64) as usize
    };
    for packing in 0..=5 {
        let file = File {
            packing,
            size: [48, 64],
            tile: (packing % 2 == 0).then_some([48, 40]),
            channels: vec![("A", 0), ("B", 1), ("Y", 1 + i32::from(packing % 3 == 0))],
            ..File::default()
        };
        let kinds: Vec<i32> = file.channels.iter().map(|c| c.1).collect();
        let good = file.write(|x, z, c| encode(kinds[c], height(x, z)));
        assert!(read(&mut Input::of_bytes("x.exr", good.clone()), &Ask::default()).is_ok());
        // What is stored plain for want of gain would show nothing of the codec.
        assert_eq!(good.len() < 48 * 64 * 8, packing > 1, "{packing}: {}", good.len());
        for n in (0..good.len()).step_by(97) {
            let cut = good[..n].to_vec();
            let error = read(&mut Input::of_bytes("x.exr", cut), &Ask::default()).unwrap_err().to_string();
            assert!(!error.contains('\n'), "{error}");
        }
        let mut refused = 0;
        for _ in 0..1_000 {
            let mut bytes = good.clone();
            for _ in 0..=random(3) {
                let at = random(bytes.len());
                bytes[at] = [0, 1, 0x7f, 0x80, 0xff, random(256) as u8][random(6)];
            }
            refused += u32::from(read(&mut Input::of_bytes("x.exr", bytes), &Ask::default()).is_err());
        }
        assert!(refused > 10, "{packing}: {refused}");
    }
}
