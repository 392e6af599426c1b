//! The bytes of each format, row by row.

use super::{ExportError, Form, Plan, VOID_I16, rows, tiff, whole_metres};
use crate::height::VOID;
use crate::store::BlockSource;
use std::io::{self, BufWriter, Write};

/// Bytes that are gathered before they are written.
const BUFFER_BYTES: usize = 1 << 18;

/// Writes the whole file.
pub(crate) fn write(source: &dyn BlockSource, plan: &Plan, out: impl Write) -> Result<(), ExportError> {
    let mut out = BufWriter::with_capacity(BUFFER_BYTES, out);
    let [w, h] = source.config().samples;
    match &plan.form {
        Form::Png { alpha, .. } => {
            let mut encoder = png::Encoder::new(&mut out, w, h);
            encoder.set_color(if *alpha {
                png::ColorType::GrayscaleAlpha
            } else {
                png::ColorType::Grayscale
            });
            encoder.set_depth(png::BitDepth::Sixteen);
            let mut writer = encoder.write_header().map_err(io::Error::from)?;
            let mut stream = writer.stream_writer().map_err(io::Error::from)?;
            pour(source, plan, &mut stream)?;
            stream.finish().map_err(io::Error::from)?;
            writer.finish().map_err(io::Error::from)?;
        }
        Form::TiffI16 { .. } | Form::TiffF32 { .. } => {
            out.write_all(&tiff::head(source.config(), plan))?;
            pour(source, plan, &mut out)?;
        }
        Form::Raw16(_) | Form::Hgt => pour(source, plan, &mut out)?,
    }
    out.flush()?;
    Ok(())
}

fn pour(source: &dyn BlockSource, plan: &Plan, out: &mut impl Write) -> Result<(), ExportError> {
    let mut bytes = Vec::new();
    rows::each(source, |_, row| {
        bytes.clear();
        row.heights.iter().for_each(|&q| put(plan, q, &mut bytes));
        Ok(out.write_all(&bytes)?)
    })
}

/// One sample.
fn put(plan: &Plan, q: i32, bytes: &mut Vec<u8>) {
    let k = plan.quantum;
    match &plan.form {
        Form::Png { levels, alpha } => {
            let (level, opaque) = if q == VOID { (0, 0) } else { (levels.of(q), u16::MAX) };
            bytes.extend(level.to_be_bytes());
            if *alpha {
                bytes.extend(opaque.to_be_bytes());
            }
        }
        Form::Raw16(levels) => {
            let level = if q == VOID { levels.void().unwrap_or_default() } else { levels.of(q) };
            bytes.extend(level.to_le_bytes());
        }
        Form::TiffI16 { .. } => {
            bytes.extend(if q == VOID { VOID_I16 } else { whole_metres(q, k) }.to_le_bytes());
        }
        // Below 2²⁴ quanta: exact.
        Form::TiffF32 { .. } => {
            bytes.extend(if q == VOID { f32::NAN } else { k.to_metres(q) as f32 }.to_le_bytes());
        }
        Form::Hgt => bytes.extend(if q == VOID { VOID_I16 } else { whole_metres(q, k) }.to_be_bytes()),
    }
}
