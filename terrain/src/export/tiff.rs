//! The head of a GeoTIFF: little-endian, one directory, uncompressed strips that follow it. BigTIFF where the file would
//! pass 4 GiB. After the TIFF 6.0 and OGC GeoTIFF 1.1 specifications.

use super::{Form, Plan};
use crate::config::TerrainConfig;

/// A strip has about this many bytes.
const STRIP_BYTES: u64 = 1 << 18;

const SHORT: u16 = 3;
const LONG: u16 = 4;
const DOUBLE: u16 = 12;
const ASCII: u16 = 2;
const LONG8: u16 = 16;

/// One directory entry: its values are already bytes.
struct Entry {
    tag: u16,
    kind: u16,
    count: u64,
    bytes: Vec<u8>,
}

fn shorts(tag: u16, values: &[u16]) -> Entry {
    let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    Entry { tag, kind: SHORT, count: values.len() as u64, bytes }
}

fn long(tag: u16, value: u32) -> Entry {
    Entry { tag, kind: LONG, count: 1, bytes: value.to_le_bytes().to_vec() }
}

fn doubles(tag: u16, values: &[f64]) -> Entry {
    let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    Entry { tag, kind: DOUBLE, count: values.len() as u64, bytes }
}

fn text(tag: u16, value: &str) -> Entry {
    let bytes: Vec<u8> = value.bytes().chain([0]).collect();
    Entry { tag, kind: ASCII, count: bytes.len() as u64, bytes }
}

/// Offsets or lengths of strips.
fn strips(tag: u16, values: impl Iterator<Item = u64>, big: bool) -> Entry {
    let mut count = 0;
    let mut bytes = Vec::new();
    for v in values {
        count += 1;
        if big { bytes.extend(v.to_le_bytes()) } else { bytes.extend((v as u32).to_le_bytes()) }
    }
    Entry { tag, kind: if big { LONG8 } else { LONG }, count, bytes }
}

/// Everything before the first sample.
pub(crate) fn head(config: &TerrainConfig, plan: &Plan) -> Vec<u8> {
    let sample = if matches!(plan.form, Form::TiffI16 { .. }) { 2 } else { 4 };
    let data = u64::from(config.samples[0]) * u64::from(config.samples[1]) * sample;
    // Room for the head of the largest terrain there is.
    let big = data > u64::from(u32::MAX) - (8 << 20);
    // The directory's length does not depend on where the samples begin.
    let at = build(config, plan, sample, 0, big).len() as u64;
    build(config, plan, sample, at, big)
}

fn build(config: &TerrainConfig, plan: &Plan, sample: u64, data_at: u64, big: bool) -> Vec<u8> {
    let [w, h] = config.samples;
    let row = u64::from(w) * sample;
    let per_strip = (STRIP_BYTES / row).clamp(1, u64::from(h)) as u32;
    let count = h.div_ceil(per_strip);
    let rows = |strip: u32| u64::from(per_strip.min(h - strip * per_strip));
    let (format, nodata) = match plan.form {
        Form::TiffI16 { voids } => (2, voids.then_some("-32768")),
        Form::TiffF32 { voids } => (3, voids.then_some("nan")),
        _ => unreachable!("only GeoTIFF has such a head"),
    };
    let spacing = config.spacing_m();
    let offset = |strip: u32| data_at + u64::from(strip) * u64::from(per_strip) * row;
    let mut entries = vec![
        long(256, w),
        long(257, h),
        shorts(258, &[sample as u16 * 8]),
        // Uncompressed; 0 is black; one sample a pixel.
        shorts(259, &[1]),
        shorts(262, &[1]),
        strips(273, (0..count).map(offset), big),
        shorts(277, &[1]),
        long(278, per_strip),
        strips(279, (0..count).map(|s| rows(s) * row), big),
        shorts(284, &[1]),
        shorts(339, &[format]),
        doubles(33_550, &[spacing, spacing, 0.0]),
        // The first sample stands at (0, 0); north is up, so the rows go down from there.
        doubles(33_922, &[0.0; 6]),
        // Projected, samples are points, a system of its own, in metres.
        shorts(34_735, &[1, 1, 0, 4, 1024, 0, 1, 1, 1025, 0, 1, 2, 3072, 0, 1, 32_767, 3076, 0, 1, 9001]),
    ];
    entries.extend(nodata.map(|v| text(42_113, v)));
    directory(&entries, big)
}

/// Header, directory and the values that do not fit into it.
fn directory(entries: &[Entry], big: bool) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::new();
    let number = |v: u64| if big { v.to_le_bytes().to_vec() } else { (v as u32).to_le_bytes().to_vec() };
    if big {
        out.extend([b'I', b'I', 43, 0, 8, 0, 0, 0]);
        out.extend(16u64.to_le_bytes());
        out.extend((entries.len() as u64).to_le_bytes());
    } else {
        out.extend([b'I', b'I', 42, 0, 8, 0, 0, 0]);
        out.extend((entries.len() as u16).to_le_bytes());
    }
    let room = if big { 8 } else { 4 };
    let entry = 4 + 2 * room;
    let mut spill_at = out.len() + entries.len() * entry + room;
    spill_at += spill_at % 2;
    let mut spill: Vec<u8> = Vec::new();
    for e in entries {
        out.extend(e.tag.to_le_bytes());
        out.extend(e.kind.to_le_bytes());
        out.extend(number(e.count));
        if e.bytes.len() <= room {
            out.extend(&e.bytes);
            out.resize(out.len() + room - e.bytes.len(), 0);
        } else {
            out.extend(number((spill_at + spill.len()) as u64));
            spill.extend(&e.bytes);
            spill.resize(spill.len().next_multiple_of(8), 0);
        }
    }
    // No further directory.
    out.resize(spill_at, 0);
    out.extend(spill);
    out.resize(out.len().next_multiple_of(8), 0);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::height::QuantumLog2;
    use crate::import::{Ask, Input, Place, Registration, Samples, SourceFormat, read};

    #[test]
    fn both_kinds_of_head_lead_to_the_samples() {
        // More than one strip: rows of 70,000 bytes, three of which fit into one.
        let config = TerrainConfig::new([35_000, 12], 384);
        let plan = Plan {
            form: Form::TiffI16 { voids: true },
            quantum: QuantumLog2::DEFAULT,
            lossless: true,
            rounding_m: 0.0,
        };
        let values: Vec<i16> = (0..35_000 * 12).map(|i| (i % 30_011 - 15_000) as i16).collect();
        for big in [false, true] {
            let at = build(&config, &plan, 2, 0, big).len() as u64;
            let mut bytes = build(&config, &plan, 2, at, big);
            assert_eq!((bytes.len() as u64, bytes[2]), (at, if big { 43 } else { 42 }));
            bytes.extend(values.iter().flat_map(|v| v.to_le_bytes()));
            let source =
                read(&mut Input::of_bytes("a.tif", bytes), SourceFormat::Tiff, &Ask::default()).unwrap();
            assert_eq!(source.samples, Samples::I16(values.clone()));
            assert_eq!((source.size, source.nodata), ([35_000, 12], Some(-32_768.0)));
            assert_eq!(source.place, Place::Metres { step_x: 1.5, step_z: 1.5 });
            assert_eq!(source.registration, Registration::Point);
        }
    }

    #[test]
    fn files_beyond_four_gibibytes_are_big_tiff() {
        let plan = |form| Plan { form, quantum: QuantumLog2::DEFAULT, lossless: true, rounding_m: 0.0 };
        let whole = plan(Form::TiffI16 { voids: false });
        let float = plan(Form::TiffF32 { voids: false });
        let config = TerrainConfig::new([32_768, 32_768], 256);
        assert_eq!((head(&config, &whole)[2], head(&config, &float)[2]), (42, 43));
    }
}
