//! A PNG's rows as numbers, whatever its depth and order of rows; sizes are checked before memory is taken.

use crate::import::ImportError;
use crate::import::archive::MAX_DEFLATE_RATIO;
use crate::import::source::{Input, check_size};
use png::{ColorType, Decoder, DecodingError, Info, Limits};
use std::io::{BufReader, SeekFrom};

/// What the decoder may hold for chunks beside the image.
const CHUNK_LIMIT_BYTES: usize = 8 << 20;

/// What a picture is made of.
#[derive(Clone, Debug)]
pub(crate) struct Picture {
    pub(crate) size: [u32; 2],
    /// Bits of a value: 1, 2, 4, 8 or 16.
    pub(crate) depth: u8,
    /// Values of a pixel: 1 and 2 are grey, 3 and 4 RGB; an even count ends with alpha.
    pub(crate) channels: usize,
    /// The grey or colour that stands for "transparent".
    pub(crate) transparent: Option<Vec<u16>>,
    /// What was seen and not used.
    pub(crate) notes: Vec<String>,
}

impl Picture {
    /// Whether a pixel is seen: its alpha is not 0, and it is not the transparent colour.
    pub(crate) fn seen(&self, pixel: &[u16]) -> bool {
        let colours = self.channels - usize::from(self.has_alpha());
        let faded = self.has_alpha() && pixel[colours] == 0;
        !faded && self.transparent.as_deref() != Some(&pixel[..colours])
    }

    pub(crate) fn has_alpha(&self) -> bool {
        self.channels.is_multiple_of(2)
    }
}

/// Decodes a picture. `begin` is asked once it is known what it is, before anything of its size is; `row` gets every
/// row's number and values, pixel by pixel.
///
/// # Errors
/// A damaged file, a palette, a size that the file cannot hold, and whatever `begin` says.
pub(crate) fn decode<T>(
    input: &mut Input,
    begin: impl FnOnce(&Picture) -> Result<T, ImportError>,
    mut row: impl FnMut(&Picture, &mut T, usize, &[u16]),
) -> Result<(Picture, T), ImportError> {
    input.bytes.seek(SeekFrom::Start(0))?;
    let len = input.len;
    let mut decoder =
        Decoder::new_with_limits(BufReader::new(&mut input.bytes), Limits { bytes: CHUNK_LIMIT_BYTES });
    decoder.ignore_checksums(false);
    decoder.set_ignore_text_chunk(true);
    check(decoder.read_header_info().map_err(refuse)?, len)?;
    let mut reader = decoder.read_info().map_err(refuse)?;
    let picture = describe(reader.info());
    let interlaced = reader.info().interlaced;
    let mut made = begin(&picture)?;
    let [width, height] = picture.size.map(|n| n as usize);
    let values = width * picture.channels;
    let line_bytes = (values * usize::from(picture.depth)).div_ceil(8);
    let mut line = Vec::with_capacity(values);
    let mut rows = 0;
    let mut take = |bytes: &[u8]| {
        line.clear();
        unpack(bytes, picture.depth, values, &mut line);
        if line.len() == values && rows < height {
            row(&picture, &mut made, rows, &line);
            rows += 1;
        }
    };
    if interlaced {
        let mut all = vec![0; line_bytes * height];
        reader.next_frame(&mut all).map_err(refuse)?;
        all.chunks_exact(line_bytes).for_each(&mut take);
    } else {
        while let Some(row) = reader.next_row().map_err(refuse)? {
            take(row.data());
        }
    }
    // To the end, so that checksums after the image are looked at too.
    reader.finish().map_err(refuse)?;
    if rows != height {
        return Err(ImportError::source(format!("expected {height} rows, found {rows}: truncated?")));
    }
    Ok((picture, made))
}

fn check(info: &Info<'_>, file_bytes: u64) -> Result<(), ImportError> {
    let (width, height) = info.size();
    check_size("an image", width.into(), height.into())?;
    if info.color_type == ColorType::Indexed {
        return Err(ImportError::source(
            "expected grey or RGB, found a palette, whose numbers are no heights: convert it to grey",
        ));
    }
    let bits = u64::from(width) * info.color_type.samples() as u64 * info.bit_depth as u64;
    let raw = bits.div_ceil(8) * u64::from(height);
    if raw > file_bytes.saturating_mul(MAX_DEFLATE_RATIO) {
        return Err(ImportError::source(format!(
            "expected an image that its file can hold, found {width}x{height} claimed by a file of {file_bytes} bytes"
        )));
    }
    Ok(())
}

fn describe(info: &Info<'_>) -> Picture {
    let depth = info.bit_depth as u8;
    let transparent = info.trns.as_deref().map(|t| match depth {
        16 => t.as_chunks::<2>().0.iter().map(|b| u16::from_be_bytes(*b)).collect(),
        _ => t.iter().map(|&b| u16::from(b)).collect(),
    });
    let mut notes = Vec::new();
    if let Some(gamma) = info.gama_chunk {
        notes.push(format!("gAMA {} ignored: heights are linear", gamma.into_value()));
    }
    if info.srgb.is_some() {
        notes.push("sRGB ignored: heights are linear".to_owned());
    }
    if info.icc_profile.is_some() {
        notes.push("iCCP (a colour profile) ignored: heights are linear".to_owned());
    }
    if info.coding_independent_code_points.is_some() {
        notes.push("cICP (a colour space) ignored: heights are linear".to_owned());
    }
    if info.animation_control.is_some() {
        notes.push("frames after the first ignored".to_owned());
    }
    let (width, height) = info.size();
    Picture { size: [width, height], depth, channels: info.color_type.samples(), transparent, notes }
}

/// Values from a row of packed ones, the first in the highest bits.
fn unpack(bytes: &[u8], depth: u8, count: usize, out: &mut Vec<u16>) {
    match depth {
        16 => out.extend(bytes.as_chunks::<2>().0.iter().map(|b| u16::from_be_bytes(*b))),
        8 => out.extend(bytes.iter().map(|&b| u16::from(b))),
        _ => {
            let (per_byte, mask) = (8 / depth, (1u16 << depth) - 1);
            let values = |&b: &u8| (0..per_byte).map(move |i| u16::from(b) >> (8 - depth * (i + 1)) & mask);
            out.extend(bytes.iter().flat_map(values).take(count));
        }
    }
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
