//! 16-bit grey PNG, plain or interlaced, with or without alpha.

use super::archive::MAX_DEFLATE_RATIO;
use super::{Grid, ImportError, MAX_IMPORT_SAMPLES, Source, SourceFormat};
use crate::config::MAX_SAMPLES;
use crate::height::VOID;
use crate::store::open_regular;
use png::{BitDepth, ColorType, Decoder, DecodingError, Info, Limits, Reader};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// What the decoder may hold for chunks beside the image.
const CHUNK_LIMIT_BYTES: usize = 8 << 20;

/// Reads an image's raw values. Alpha 0 and a transparent grey (tRNS) are voids; gamma is noted and not applied.
///
/// # Errors
/// A damaged file, another kind of image, or a size that the file cannot hold.
pub(crate) fn read(path: &Path) -> Result<Source, ImportError> {
    let file = open_regular(path)?;
    let bytes = file.metadata()?.len();
    let mut decoder = Decoder::new_with_limits(BufReader::new(file), Limits { bytes: CHUNK_LIMIT_BYTES });
    decoder.ignore_checksums(false);
    decoder.set_ignore_text_chunk(true);
    // The size is looked at before anything of that size is asked for.
    check(decoder.read_header_info().map_err(refuse)?, bytes)?;
    let mut reader = decoder.read_info().map_err(refuse)?;
    let info = reader.info();
    let (width, height) = info.size();
    let channels = info.color_type.samples();
    let transparent = match info.trns.as_deref() {
        Some(&[a, b]) if channels == 1 => Some(u16::from_be_bytes([a, b])),
        _ => None,
    };
    let mut notes = Vec::new();
    if let Some(gamma) = info.gama_chunk {
        notes.push(format!("gAMA {} ignored: heights are linear", gamma.into_value()));
    }
    if info.srgb.is_some() {
        notes.push("sRGB ignored: heights are linear".to_owned());
    }
    // Grows with what is really there.
    let mut values = Vec::new();
    let mut take = |row: &[u8]| {
        values.extend(row.chunks_exact(2 * channels).map(|p| {
            let v = u16::from_be_bytes([p[0], p[1]]);
            let seen = channels == 1 || p[2..4] != [0, 0];
            if seen && Some(v) != transparent { i32::from(v) } else { VOID }
        }));
    };
    if info.interlaced {
        let mut all = vec![0; width as usize * height as usize * 2 * channels];
        reader.next_frame(&mut all).map_err(refuse)?;
        take(&all);
    } else {
        while let Some(row) = reader.next_row().map_err(refuse)? {
            take(row.data());
        }
    }
    finish(&mut reader)?;
    if values.len() as u64 != u64::from(width) * u64::from(height) {
        return Err(ImportError::source(format!(
            "expected {width}x{height} samples, found {}: truncated?",
            values.len()
        )));
    }
    Ok(Source {
        grid: Grid::new(width, height, values),
        format: SourceFormat::Png,
        member: None,
        bytes,
        void_value: None,
        tile: None,
        notes,
    })
}

/// Reads to the end, so that checksums after the image are looked at too.
fn finish(reader: &mut Reader<BufReader<File>>) -> Result<(), ImportError> {
    reader.finish().map_err(refuse)
}

fn check(info: &Info<'_>, file_bytes: u64) -> Result<(), ImportError> {
    let kind = match (info.color_type, info.bit_depth) {
        (ColorType::Grayscale | ColorType::GrayscaleAlpha, BitDepth::Sixteen) => None,
        (color, depth) => {
            let color = match color {
                ColorType::Grayscale => "grey",
                ColorType::GrayscaleAlpha => "grey with alpha",
                ColorType::Rgb => "RGB",
                ColorType::Rgba => "RGB with alpha",
                ColorType::Indexed => "palette",
            };
            Some(format!("{}-bit {color}", depth as u8))
        }
    };
    if let Some(kind) = kind {
        return Err(ImportError::source(format!(
            "expected a 16-bit grey PNG, found {kind}: export the heights as 16-bit grey"
        )));
    }
    let (width, height) = info.size();
    let samples = u64::from(width) * u64::from(height);
    let fits = |n: u32| (2..=MAX_SAMPLES).contains(&n);
    if !fits(width) || !fits(height) || samples > MAX_IMPORT_SAMPLES {
        return Err(ImportError::source(format!(
            "expected an image of 2 to {MAX_SAMPLES} samples a side and at most {MAX_IMPORT_SAMPLES} in all, found {width}x{height}"
        )));
    }
    let raw = samples * 2 * info.color_type.samples() as u64;
    if raw > file_bytes.saturating_mul(MAX_DEFLATE_RATIO) {
        return Err(ImportError::source(format!(
            "expected an image that its file can hold, found {width}x{height} claimed by a file of {file_bytes} bytes"
        )));
    }
    Ok(())
}

fn refuse(error: DecodingError) -> ImportError {
    match error {
        DecodingError::IoError(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => {
            ImportError::source("expected a whole PNG, found a file that ends too early: truncated?")
        }
        DecodingError::IoError(e) => ImportError::Io(e),
        other => ImportError::source(format!("expected a PNG, found one that is damaged: {other}")),
    }
}
