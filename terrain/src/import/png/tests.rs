//! Pictures encoded here and read back; interlaced ones by hand, pass by pass.

use super::*;
use png::{BitDepth, ColorType};

struct Png {
    size: [u32; 2],
    colour: ColorType,
    depth: BitDepth,
    interlaced: bool,
    /// Chunks between the header and the image.
    chunks: Vec<([u8; 4], Vec<u8>)>,
}

impl Png {
    fn new(colour: ColorType, depth: BitDepth) -> Self {
        Self { size: [5, 4], colour, depth, interlaced: false, chunks: Vec::new() }
    }

    fn with(mut self, name: &[u8; 4], data: &[u8]) -> Self {
        self.chunks.push((*name, data.to_vec()));
        self
    }

    /// A filter byte and the packed values of some columns of a row.
    fn line(
        &self,
        z: u32,
        columns: impl Iterator<Item = u32>,
        value: &impl Fn(u32, u32, usize) -> u16,
    ) -> Vec<u8> {
        let depth = self.depth as u32;
        let mut bits = Vec::new();
        for x in columns {
            for c in 0..self.colour.samples() {
                let v = value(x, z, c);
                bits.extend((0..depth).rev().map(|i| (v >> i & 1) as u8));
            }
        }
        let byte = |b: &[u8]| b.iter().enumerate().map(|(i, v)| v << (7 - i)).sum();
        [vec![0], bits.chunks(8).map(byte).collect()].concat()
    }

    fn write(&self, value: impl Fn(u32, u32, usize) -> u16) -> Vec<u8> {
        let [w, h] = self.size;
        // Adam7: first column and row, steps.
        let passes = [
            (0, 0, 8, 8),
            (4, 0, 8, 8),
            (0, 4, 4, 8),
            (2, 0, 4, 4),
            (0, 2, 2, 4),
            (1, 0, 2, 2),
            (0, 1, 1, 2),
        ];
        let whole = [(0, 0, 1, 1)];
        let mut raw = Vec::new();
        for &(x0, z0, sx, sz) in if self.interlaced { &passes[..] } else { &whole } {
            for z in (z0..h).step_by(sz) {
                if x0 < w {
                    raw.extend(self.line(z, (x0..w).step_by(sx), &value));
                }
            }
        }
        let mut header = [w.to_be_bytes(), h.to_be_bytes()].concat();
        header.extend([self.depth as u8, self.colour as u8, 0, 0, u8::from(self.interlaced)]);
        let mut e = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut e, &raw).unwrap();
        let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
        chunk(&mut out, b"IHDR", &header);
        for (name, data) in &self.chunks {
            chunk(&mut out, name, data);
        }
        chunk(&mut out, b"IDAT", &e.finish().unwrap());
        chunk(&mut out, b"IEND", &[]);
        out
    }

    fn read(&self, value: impl Fn(u32, u32, usize) -> u16) -> Result<Source, ImportError> {
        read_bytes(self.write(value), None)
    }

    fn refused(&self, value: impl Fn(u32, u32, usize) -> u16) -> String {
        let error = self.read(value).unwrap_err().to_string();
        assert!(!error.contains('\n'), "{error}");
        error
    }
}

fn read_bytes(bytes: Vec<u8>, channel: Option<&str>) -> Result<Source, ImportError> {
    let ask = Ask { channel: channel.map(str::to_owned), ..Ask::default() };
    read(&mut Input::of_bytes("x.png", bytes), &ask)
}

fn chunk(out: &mut Vec<u8>, name: &[u8; 4], data: &[u8]) {
    let body = [&name[..], data].concat();
    out.extend((data.len() as u32).to_be_bytes());
    out.extend(&body);
    let mut crc = flate2::Crc::new();
    crc.update(&body);
    out.extend(crc.sum().to_be_bytes());
}

const DEPTHS: [BitDepth; 5] =
    [BitDepth::One, BitDepth::Two, BitDepth::Four, BitDepth::Eight, BitDepth::Sixteen];

#[test]
fn grey_of_every_depth_keeps_its_levels_plain_and_interlaced() {
    for (depth, interlaced) in DEPTHS.into_iter().flat_map(|d| [(d, false), (d, true)]) {
        let max = (1u32 << depth as u32) - 1;
        let value = |x: u32, z: u32| ((x * 7919 + z * 104_729) % (max + 1)) as u16;
        let file = Png { size: [11, 9], interlaced, ..Png::new(ColorType::Grayscale, depth) };
        let source = file.read(|x, z, _| value(x, z)).unwrap();
        assert_eq!(
            (source.size, source.meaning, source.voids.any()),
            ([11, 9], Meaning::Levels { max }, false)
        );
        for i in 0..99u32 {
            assert_eq!(
                source.samples.get(i as usize),
                f64::from(value(i % 11, i / 11)),
                "{depth:?} {interlaced} {i}"
            );
        }
        assert_eq!(source.notes.iter().any(|n| n.contains("terraced")), max < 256);
        assert_eq!(matches!(source.samples, Samples::U16(_)), max > 255);
    }
}

#[test]
fn alpha_0_and_the_transparent_grey_are_void() {
    let alpha = |x: u32, z: u32, c: usize| if c == 1 { u16::from((x, z) != (3, 1)) } else { 9 };
    for depth in [BitDepth::Eight, BitDepth::Sixteen] {
        let source = Png::new(ColorType::GrayscaleAlpha, depth).read(alpha).unwrap();
        assert_eq!((source.voids.count(), source.voids.get(8)), (1, true));
    }
    for depth in DEPTHS {
        let file = Png::new(ColorType::Grayscale, depth).with(b"tRNS", &[0, 1]);
        let source = file.read(|x, z, _| u16::from((x, z) == (2, 3))).unwrap();
        assert_eq!((source.voids.count(), source.voids.get(17)), (1, true), "{depth:?}");
    }
    // Of RGB all three have to be the transparent colour's.
    let file = Png::new(ColorType::Rgb, BitDepth::Eight).with(b"tRNS", &[0, 1, 0, 2, 0, 3]);
    let source = file.read(|x, z, c| if (x, z) == (0, 0) { c as u16 + 1 } else { 1 }).unwrap();
    assert_eq!((source.voids.count(), source.voids.get(0)), (1, true));
}

#[test]
fn rgb_is_grey_where_all_channels_agree_and_refused_with_advice_elsewhere() {
    for (colour, depth) in [ColorType::Rgb, ColorType::Rgba]
        .into_iter()
        .flat_map(|c| [(c, BitDepth::Eight), (c, BitDepth::Sixteen)])
    {
        let file = Png::new(colour, depth);
        let grey = |x: u32, z: u32, c: usize| if c == 3 { 1 } else { (x + 5 * z) as u16 };
        let source = file.read(grey).unwrap();
        assert!((0..20).all(|i| source.samples.get(i) == i as f64));
        assert!(source.notes.iter().any(|n| n.contains("equal channels")));
        let nearly = |x, z, c| grey(x, z, c) + if (x, z, c) == (4, 2, 2) { 3 } else { 0 };
        let error = file.refused(nearly);
        for part in ["1 of 20", "up to 3", "(4, 2)", "--channel"] {
            assert!(error.contains(part), "{part}: {error}");
        }
        assert_eq!(error.contains("terrain-rgb"), depth == BitDepth::Eight);
        let blue = read_bytes(file.write(nearly), Some("b")).unwrap();
        assert_eq!(blue.samples.get(14), 17.0);
        assert!(read_bytes(file.write(nearly), Some("grey")).is_err());
        assert_eq!(read_bytes(file.write(nearly), Some("a")).is_ok(), colour == ColorType::Rgba);
    }
}

#[test]
fn colour_spaces_are_ignored_and_said() {
    let file = Png::new(ColorType::Grayscale, BitDepth::Sixteen)
        .with(b"gAMA", &22_727u32.to_be_bytes())
        .with(b"sRGB", &[0]);
    let source = file.read(|x, _, _| x as u16 * 1000).unwrap();
    assert_eq!(source.samples.get(4), 4000.0);
    assert!(source.notes.iter().any(|n| n.contains("gAMA 0.22727")), "{:?}", source.notes);
    assert!(source.notes.iter().any(|n| n.contains("sRGB")), "{:?}", source.notes);
}

#[test]
fn palettes_and_sizes_that_cannot_be_are_refused() {
    let palette = Png::new(ColorType::Indexed, BitDepth::Eight).with(b"PLTE", &[0; 30]);
    assert!(palette.refused(|_, _, _| 0).contains("palette"));
    let sized_as = |w: u32, h: u32, interlaced: bool| {
        let mut bytes =
            Png { interlaced, ..Png::new(ColorType::Grayscale, BitDepth::Sixteen) }.write(|_, _, _| 7);
        let mut header = Vec::new();
        chunk(
            &mut header,
            b"IHDR",
            &[&w.to_be_bytes()[..], &h.to_be_bytes(), &[16, 0, 0, 0, u8::from(interlaced)]].concat(),
        );
        bytes[8..33].copy_from_slice(&header);
        read_bytes(bytes, None).unwrap_err().to_string()
    };
    let sized = |w, h| sized_as(w, h, false);
    assert!(sized(200_000, 200_000).contains("200000x200000"));
    assert!(sized(1, 257).contains("1x257") && sized(257, 1).contains("257x1"));
    assert!(sized(16_000, 16_000).contains("can hold"));
    // One row more than there is.
    assert!(sized(5, 5).contains("PNG") && sized_as(5, 5, true).contains("PNG"));
}

#[test]
fn damage_is_refused_wherever_it_is() {
    for interlaced in [false, true] {
        let file = Png { interlaced, ..Png::new(ColorType::GrayscaleAlpha, BitDepth::Sixteen) };
        let good = file.write(|x, z, c| (x * 3000 + z * 17 + c as u32) as u16);
        assert!(read_bytes(good.clone(), None).is_ok());
        for i in 0..good.len() {
            for flip in [1, 0x80] {
                let mut bytes = good.clone();
                bytes[i] ^= flip;
                let error = read_bytes(bytes, None).map(|_| ()).unwrap_err().to_string();
                assert!(!error.contains('\n'), "{i}: {error}");
            }
        }
        // Without its last chunk's checksum a picture is still whole; without any of its rows it is not.
        let idat_end = good.len() - 12;
        for n in 0..idat_end {
            assert!(read_bytes(good[..n].to_vec(), None).is_err(), "{n}");
        }
    }
}
