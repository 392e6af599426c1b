//! TIFF, BigTIFF and GeoTIFF: the first image's bands of integers and floating-point numbers, in strips or tiles,
//! stored plain or packed by deflate, LZW, PackBits or zstd, in either byte order.
//!
//! Owns the container, predictors, the declared nodata value, scale and offset, and the georeference. Never projects,
//! resamples or turns: a rotated or mirrored raster is refused. Rules where files leave things open:
//!
//! - One band is the height; of several the one that [`Ask::channel`] counts (from 1), except grey with alpha, where
//!   alpha 0 is void. RGB is decoded to heights only where its format is asked for ([`read_rgb`]).
//! - Unsigned 8- and 16-bit images without any georeference and without GDAL's tags are levels; all else is metres.
//! - Without a key that says otherwise a sample stands for its area; distances without a unit are metres.
//! - [`Ask::south_up`] counts only where the file does not say itself which way its rows run.

mod block;
mod codec;
mod gdal;
mod geo;
mod ifd;
mod sample;
#[cfg(test)]
mod tests;

use super::source::{Ask, Input, Meaning, Samples, Source, Voids};
use super::{ImportError, SourceFormat};
use block::Layout;
use gdal::Declared;
use geo::Geo;
use ifd::{Ifd, tag};
use sample::{Band, Format, Nodata};

/// Reads one band.
///
/// # Errors
/// A damaged or hostile file, or one whose samples are of a kind that no height is: each says what was expected.
pub(crate) fn read(input: &mut Input, ask: &Ask) -> Result<Source, ImportError> {
    let mut notes = Vec::new();
    let len = input.len;
    let mut ifd = Ifd::read(input)?;
    let layout = Layout::read(&mut ifd, len)?;
    let photometric = ifd.number_or(tag::PHOTOMETRIC, 1)?;
    if photometric == 3 {
        return Err(refuse("expected grey values, found a palette: convert it to grey first"));
    }
    if photometric == 0 {
        notes.push("WhiteIsZero ignored: values are taken as they are stored".to_owned());
    }
    let extra = ifd.numbers(tag::EXTRA_SAMPLES)?;
    let alpha = layout.bands == 2 && photometric < 2 && matches!(extra[..], [1 | 2]);
    let band = which_band(&layout, ask, photometric, alpha)?;
    let declared = Declared::read(&mut ifd, band, &mut notes)?;
    let geo = Geo::read(&mut ifd, layout.size, &mut notes)?;
    let south_up = rows_run_north(&mut ifd, &geo, ask, &mut notes)?;
    if ifd.more {
        notes.push("more images after the first (overviews, masks or pages) ignored".to_owned());
    }
    let wanted = if alpha && ask.channel.is_none() { vec![band, 1] } else { vec![band] };
    let (mut bands, mut voids) = layout.read_bands(ifd.into_bytes(), &wanted, declared.nodata, south_up)?;
    if bands.len() == 2
        && let Some(alpha) = bands.pop()
    {
        alpha_voids(&alpha, &mut voids);
    }
    let samples = bands.swap_remove(0).samples(&voids);
    Ok(Source {
        size: layout.size,
        samples,
        voids,
        format: SourceFormat::Tiff,
        nodata: declared.nodata.value(),
        meaning: meaning(&layout, &declared, &geo, &mut notes),
        place: geo.place,
        registration: geo.registration,
        hole_cells: Vec::new(),
        layers: Vec::new(),
        notes,
    })
}

/// Three bands of 8 bits as codes R · 2¹⁶ + G · 2⁸ + B; alpha 0 is void. `meaning` and `format` are the caller's to set.
///
/// # Errors
/// As [`read`], and files that are no 8-bit RGB.
pub(super) fn read_rgb(input: &mut Input, ask: &Ask) -> Result<Source, ImportError> {
    let mut notes = Vec::new();
    let len = input.len;
    let mut ifd = Ifd::read(input)?;
    let layout = Layout::read(&mut ifd, len)?;
    let photometric = ifd.number_or(tag::PHOTOMETRIC, 1)?;
    let bytes = layout.kind == (sample::Kind { format: Format::Unsigned, bytes: 1 });
    if !(bytes && matches!(layout.bands, 3 | 4) && photometric != 3) {
        return Err(refuse(format!(
            "expected RGB of 8 bits, with or without alpha, found {} bands of {} bits",
            layout.bands,
            layout.kind.bytes * 8
        )));
    }
    let geo = Geo::read(&mut ifd, layout.size, &mut notes)?;
    let south_up = rows_run_north(&mut ifd, &geo, ask, &mut notes)?;
    let wanted: Vec<usize> = (0..layout.bands).collect();
    let (bands, mut voids) = layout.read_bands(ifd.into_bytes(), &wanted, Nodata::None, south_up)?;
    let [Band::U8(r), Band::U8(g), Band::U8(b), alpha @ ..] = &bands[..] else {
        return Err(refuse("expected RGB of 8 bits, found others"));
    };
    if let [alpha] = alpha {
        alpha_voids(alpha, &mut voids);
    }
    let code = |((&r, &g), &b): ((&u8, &u8), &u8)| i32::from(r) << 16 | i32::from(g) << 8 | i32::from(b);
    let codes = r.iter().zip(g).zip(b).map(code).collect();
    Ok(Source {
        size: layout.size,
        samples: Samples::I32(codes),
        voids,
        format: SourceFormat::Tiff,
        nodata: None,
        meaning: Meaning::Metres { scale: 1.0, offset: 0.0 },
        place: geo.place,
        registration: geo.registration,
        hole_cells: Vec::new(),
        layers: Vec::new(),
        notes,
    })
}

/// The band to take, from 0.
fn which_band(layout: &Layout, ask: &Ask, photometric: u64, alpha: bool) -> Result<usize, ImportError> {
    let n = layout.bands;
    if let Some(name) = &ask.channel {
        let number = match name.to_ascii_lowercase().as_str() {
            "r" if photometric == 2 => Some(1),
            "g" if photometric == 2 => Some(2),
            "b" if photometric == 2 => Some(3),
            other => other.parse().ok(),
        };
        return match number {
            Some(i) if (1..=n).contains(&i) => Ok(i - 1),
            _ => Err(ImportError::usage(format!(
                "the channel of a TIFF is a band's number from 1 to {n}, found {name:?}: pass another --channel"
            ))),
        };
    }
    if n == 1 || alpha {
        return Ok(0);
    }
    let rgb = if photometric == 2 && layout.kind.bytes == 1 {
        ", or --format terrain-rgb or terrarium where it holds coded heights"
    } else {
        ""
    };
    Err(refuse(format!(
        "expected one band of heights, found {n}: pass --channel with a number from 1 to {n}{rgb}"
    )))
}

/// Whether the file's first row is the south edge.
fn rows_run_north(
    ifd: &mut Ifd<'_>,
    geo: &Geo,
    ask: &Ask,
    notes: &mut Vec<String>,
) -> Result<bool, ImportError> {
    let orientation = ifd.number_or(tag::ORIENTATION, 1)?;
    if orientation != 1 {
        notes.push(format!(
            "orientation {orientation} ignored: rows are taken in the order they are stored in"
        ));
    }
    let located = geo.place != super::source::Place::None || geo.south_up;
    if ask.south_up && located {
        notes.push("the rows' order was asked for and ignored: the georeference says it".to_owned());
    }
    if geo.south_up {
        notes.push("stored south row first: turned".to_owned());
    }
    Ok(if located { geo.south_up } else { ask.south_up })
}

fn meaning(layout: &Layout, declared: &Declared, geo: &Geo, notes: &mut Vec<String>) -> Meaning {
    let kind = layout.kind;
    if kind == (sample::Kind { format: Format::Unsigned, bytes: 1 }) {
        notes.push("8-bit values: at most 256 different heights, so slopes will be terraced".to_owned());
    }
    if kind.format == Format::Unsigned && kind.bytes <= 2 && !geo.any && !declared.any {
        return Meaning::Levels { max: if kind.bytes == 1 { 255 } else { 65_535 } };
    }
    let unit_m = declared.unit_m.or(geo.unit_m).unwrap_or(1.0);
    if unit_m != 1.0 {
        notes.push(format!("heights in units of {unit_m} m converted to metres"));
    }
    if (declared.scale, declared.offset) != (1.0, 0.0) {
        notes.push(format!("declared scale {} and offset {} applied", declared.scale, declared.offset));
    }
    Meaning::Metres { scale: declared.scale * unit_m, offset: declared.offset * unit_m }
}

fn alpha_voids(alpha: &Band, voids: &mut Voids) {
    let mut mark = |i: usize, zero: bool| {
        if zero {
            voids.set(i);
        }
    };
    match alpha {
        Band::U8(v) => v.iter().enumerate().for_each(|(i, &a)| mark(i, a == 0)),
        Band::U16(v) => v.iter().enumerate().for_each(|(i, &a)| mark(i, a == 0)),
        Band::I16(v) => v.iter().enumerate().for_each(|(i, &a)| mark(i, a == 0)),
        Band::I32(v) => v.iter().enumerate().for_each(|(i, &a)| mark(i, a == 0)),
        Band::U32(v) => v.iter().enumerate().for_each(|(i, &a)| mark(i, a == 0)),
        Band::F32(v) => v.iter().enumerate().for_each(|(i, &a)| mark(i, a == 0.0)),
        Band::F64(v) => v.iter().enumerate().for_each(|(i, &a)| mark(i, a == 0.0)),
    }
}

/// What is wrong with the file.
fn refuse(message: impl std::convert::Into<String>) -> ImportError {
    ImportError::source(message)
}
