//! PNG images as rows of bytes: checked before they take memory, written row by row.
//!
//! Owns the container only: what a value means is the business of whoever reads it. Colour spaces are never applied.

use crate::disk::{Disk, DiskFile};
use crate::store::open_regular;
use png::{BitDepth, ColorType, Decoder, DecodingError, Limits, Transformations};
use std::fmt;
use std::io::{self, BufRead, BufReader, Cursor, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Deflate cannot make more bytes of one.
const MAX_DEFLATE_RATIO: u64 = 1040;

/// What the decoder may hold for chunks beside the image.
const CHUNK_LIMIT_BYTES: usize = 8 << 20;

/// What an image is as stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Columns and rows.
    pub size: [u32; 2],
    /// Channels: 1 grey (or palette), 2 grey with alpha, 3 RGB, 4 RGB with alpha.
    pub channels: u8,
    /// Bits of a channel: 1, 2, 4, 8 or 16.
    pub bits: u8,
    /// Whether its values are numbers of colours.
    pub palette: bool,
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let color = match self.channels {
            _ if self.palette => "palette",
            1 => "grey",
            2 => "grey with alpha",
            3 => "RGB",
            _ => "RGBA",
        };
        write!(f, "{}-bit {color} of {}x{}", self.bits, self.size[0], self.size[1])
    }
}

/// Why an image cannot be used. One line that names the file.
#[derive(Debug, thiserror::Error)]
#[error("{}: {message}", path.display())]
pub struct ImageError {
    /// The image.
    pub path: PathBuf,
    /// What was expected and found.
    pub message: String,
}

/// Whether pixels come as stored or as whole bytes of colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pixels {
    /// Values as stored; only 8 and 16 bits.
    Stored,
    /// Palettes and low bits expanded; transparency becomes an alpha channel.
    Expanded,
}

/// What was seen beside the pixels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// A colour space that was not applied, in words.
    pub(crate) ignored: Option<&'static str>,
}

/// Takes a row's number and bytes and says what is wrong with them.
type TakesRow<'a> = &'a mut dyn FnMut(u32, &[u8]) -> Result<(), String>;

/// Reads an image row by row. `accept` sees its form before anything of its size is asked for and says what was expected
/// if it will not do; `row` is given each row's number and bytes (16-bit values big-endian) and says what is wrong with it.
pub(crate) fn read(
    path: &Path,
    pixels: Pixels,
    accept: &mut dyn FnMut(&Form) -> Result<(), String>,
    row: TakesRow<'_>,
) -> Result<Seen, ImageError> {
    let unreadable =
        |e: io::Error| ImageError { path: path.to_owned(), message: format!("cannot be read: {e}") };
    let file = open_regular(path).map_err(unreadable)?;
    let bytes = file.metadata().map_err(unreadable)?.len();
    decode(path, BufReader::new(file), bytes, pixels, accept, row)
}

/// As [`read`], of so many bytes; `path` is what errors name.
fn decode(
    path: &Path,
    from: impl BufRead + Seek,
    bytes: u64,
    pixels: Pixels,
    accept: &mut dyn FnMut(&Form) -> Result<(), String>,
    row: TakesRow<'_>,
) -> Result<Seen, ImageError> {
    let wrong = |message: String| ImageError { path: path.to_owned(), message };
    let damaged = |e: DecodingError| wrong(refusal(&e));
    let mut decoder = Decoder::new_with_limits(from, Limits { bytes: CHUNK_LIMIT_BYTES });
    decoder.ignore_checksums(false);
    decoder.set_ignore_text_chunk(true);
    if pixels == Pixels::Expanded {
        decoder.set_transformations(Transformations::EXPAND);
    }
    let form = form(decoder.read_header_info().map_err(damaged)?);
    // Sides up to 2³² − 1 are what a header may claim.
    let raw = u128::from(form.size[0]) * u128::from(form.size[1]) * u128::from(form.channels)
        / (8 / u128::from(form.bits.min(8)))
        * u128::from(form.bits.div_ceil(8));
    if raw > u128::from(bytes.saturating_mul(MAX_DEFLATE_RATIO)) {
        return Err(wrong(format!(
            "expected an image that its file can hold, found {form} claimed by a file of {bytes} bytes"
        )));
    }
    accept(&form).map_err(|expected| wrong(format!("expected {expected}, found {form}")))?;
    if pixels == Pixels::Stored && (form.bits < 8 || form.palette) {
        return Err(wrong(format!("expected 8 or 16 bits a channel and no palette, found {form}")));
    }
    let mut reader = decoder.read_info().map_err(damaged)?;
    let mut rows = 0;
    if reader.info().interlaced {
        let size = reader.output_buffer_size().ok_or_else(|| wrong(format!("{form} does not fit memory")))?;
        let mut all = vec![0; size];
        reader.next_frame(&mut all).map_err(damaged)?;
        for line in all.chunks_exact((size / form.size[1].max(1) as usize).max(1)) {
            row(rows, line).map_err(wrong)?;
            rows += 1;
        }
    } else {
        while let Some(line) = reader.next_row().map_err(damaged)? {
            row(rows, line.data()).map_err(wrong)?;
            rows += 1;
        }
    }
    // So that checksums after the image are looked at too.
    reader.finish().map_err(damaged)?;
    if rows != form.size[1] {
        return Err(wrong(format!("expected {} rows, found {rows}: truncated?", form.size[1])));
    }
    let info = reader.info();
    let ignored = match (info.gama_chunk.is_some(), info.srgb.is_some()) {
        (_, true) => Some("sRGB"),
        (true, _) => Some("gAMA"),
        _ => None,
    };
    Ok(Seen { ignored })
}

fn form(info: &png::Info<'_>) -> Form {
    let (width, height) = info.size();
    Form {
        size: [width, height],
        channels: info.color_type.samples() as u8,
        bits: info.bit_depth as u8,
        palette: info.color_type == ColorType::Indexed,
    }
}

/// What is wrong with a file that should be a PNG.
pub(crate) fn refusal(error: &DecodingError) -> String {
    match error {
        DecodingError::IoError(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
            "expected a whole PNG, found a file that ends too early: truncated?".to_owned()
        }
        DecodingError::IoError(e) => format!("cannot be read: {e}"),
        other => format!("expected a PNG, found one that is damaged: {}", plain(&other.to_string())),
    }
}

/// A library's message without the debug form of a chunk's type: `ChunkType { type: IDAT, … }` is the chunk IDAT.
fn plain(message: &str) -> String {
    let mut rest = message;
    let mut out = String::new();
    while let Some((before, after)) = rest.split_once("ChunkType { type: ") {
        out.push_str(before);
        let (name, tail) = after.split_at(after.find([',', ' ']).unwrap_or(after.len()));
        out.push_str(name);
        rest = tail.split_once('}').map_or("", |t| t.1);
    }
    out + rest
}

/// A whole image in memory, X fastest, channels together, 16-bit values big-endian.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    form: Form,
    bytes: Vec<u8>,
}

impl Image {
    /// An image of so many channels (1 to 4) of 8 or 16 bits; `None` unless `bytes` has just its length.
    pub fn new(size: [u32; 2], channels: u8, bits: u8, bytes: Vec<u8>) -> Option<Self> {
        let form = Form { size, channels, bits, palette: false };
        let good = (1..=4).contains(&channels) && matches!(bits, 8 | 16) && size[0] > 0 && size[1] > 0;
        let length = u128::from(size[0]) * u128::from(size[1]) * u128::from(channels) * u128::from(bits / 8);
        (good && length == bytes.len() as u128).then_some(Self { form, bytes })
    }

    /// Reads a PNG of at most `max_side` texels a side and `max_bytes` bytes in memory; palettes, low bits and
    /// transparency are expanded.
    ///
    /// # Errors
    /// A damaged or too large file.
    pub fn read(path: &Path, max_side: u32, max_bytes: u64) -> Result<Self, ImageError> {
        Self::expanded(path, max_side, max_bytes, |accept, row| read(path, Pixels::Expanded, accept, row))
    }

    /// As [`Image::read`], of a file's bytes; `path` is what errors name.
    ///
    /// # Errors
    /// As [`Image::read`].
    pub fn of_bytes(path: &Path, bytes: &[u8], max_side: u32, max_bytes: u64) -> Result<Self, ImageError> {
        Self::expanded(path, max_side, max_bytes, |accept, row| {
            decode(path, Cursor::new(bytes), bytes.len() as u64, Pixels::Expanded, accept, row)
        })
    }

    fn expanded(
        path: &Path,
        max_side: u32,
        max_bytes: u64,
        read: impl FnOnce(&mut dyn FnMut(&Form) -> Result<(), String>, TakesRow<'_>) -> Result<Seen, ImageError>,
    ) -> Result<Self, ImageError> {
        let (mut size, mut bits) = ([0; 2], 8);
        let mut accept = |form: &Form| {
            (size, bits) = (form.size, form.bits.max(8));
            if form.size.iter().any(|&n| n == 0 || n > max_side) {
                return Err(format!("an image of 1 to {max_side} texels a side"));
            }
            // Expanded to four channels of whole bytes at most.
            let most = u64::from(form.size[0]) * u64::from(form.size[1]) * 4 * u64::from(bits / 8);
            if most > max_bytes {
                return Err(format!("an image of at most {max_bytes} bytes in memory"));
            }
            Ok(())
        };
        let mut bytes = Vec::new();
        read(&mut accept, &mut |_, line| {
            bytes.extend_from_slice(line);
            Ok(())
        })?;
        let channels = (bytes.len() / (size[0] as usize * size[1] as usize * usize::from(bits / 8))) as u8;
        Self::new(size, channels, bits, bytes).ok_or_else(|| ImageError {
            path: path.to_owned(),
            message: "expected whole rows, found others".to_owned(),
        })
    }

    /// Columns and rows.
    pub fn size(&self) -> [u32; 2] {
        self.form.size
    }

    /// 1 grey, 2 grey with alpha, 3 RGB, 4 RGBA.
    pub fn channels(&self) -> u8 {
        self.form.channels
    }

    /// 8 or 16.
    pub fn bits(&self) -> u8 {
        self.form.bits
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What it is.
    pub fn form(&self) -> Form {
        self.form
    }
}

/// Where an image's bytes go; the first error is kept, since the encoder's end cannot say it.
#[derive(Clone)]
struct Sink(Arc<Mutex<Target>>);

/// A file that is being written, and what went wrong with it.
type Target = (Box<dyn DiskFile>, Option<io::Error>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.0.write(bytes).inspect_err(|e| {
            if e.kind() != io::ErrorKind::Interrupted {
                inner.1 = Some(io::Error::new(e.kind(), e.to_string()));
            }
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0.flush()
    }
}

/// Writes a PNG row by row.
pub(crate) struct Writer {
    sink: Sink,
    stream: png::StreamWriter<'static, Sink>,
}

impl Writer {
    /// Starts a file of a form without palette, 8 or 16 bits.
    pub(crate) fn create(disk: &dyn Disk, path: &Path, form: Form) -> io::Result<Self> {
        let sink = Sink(Arc::new(Mutex::new((disk.create(path)?, None))));
        let mut encoder = png::Encoder::new(sink.clone(), form.size[0], form.size[1]);
        encoder.set_color(match form.channels {
            1 => ColorType::Grayscale,
            2 => ColorType::GrayscaleAlpha,
            3 => ColorType::Rgb,
            _ => ColorType::Rgba,
        });
        encoder.set_depth(if form.bits == 16 { BitDepth::Sixteen } else { BitDepth::Eight });
        let stream = encoder.write_header()?.into_stream_writer_with_size(1 << 16)?;
        Ok(Self { sink, stream })
    }

    /// The next bytes, whole rows or not.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Ends the image and flushes the file to its device.
    pub(crate) fn finish(self) -> io::Result<()> {
        let Self { sink, stream } = self;
        stream.finish()?;
        let mut inner = sink.0.lock().unwrap_or_else(PoisonError::into_inner);
        match inner.1.take() {
            Some(e) => Err(e),
            None => inner.0.flush_to_device(),
        }
    }
}
