//! Strips and tiles: where each lies in the file and in the raster, and reading them row by row. Holds one row of one
//! block beside the raster.

use super::codec::Codec;
use super::ifd::{Ifd, tag};
use super::refuse;
use super::sample::{Band, Kind, Nodata, Row, undo_differences, undo_float};
use crate::config::MAX_SAMPLES;
use crate::import::ImportError;
use crate::import::source::{ReadSeek, Voids, check_size};
use std::io::{self, ErrorKind, Read, SeekFrom};

/// Bands that a file may have.
const MAX_BANDS: u64 = 256;

/// Bytes of one row of one block.
const MAX_ROW_BYTES: u64 = 64 << 20;

/// Bytes of samples that a file may have without holding them: missing blocks, and blocks that share their bytes.
const FREE_BYTES: u64 = 16 << 20;

/// The same for each byte of the file.
const SPARSE_RATIO: u64 = 4096;

/// How the samples are laid out.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) size: [u32; 2],
    pub(super) bands: usize,
    pub(super) kind: Kind,
    pub(super) codec: Codec,
    predictor: u64,
    big: bool,
    /// Every band has blocks of its own.
    planar: bool,
    tiled: bool,
    /// Columns and rows of a block.
    block: [u32; 2],
    /// Where each block begins, and its bytes; none of either: it is missing.
    places: Vec<(u64, u64)>,
    /// Length of the file.
    len: u64,
}

impl Layout {
    /// Reads the layout and checks it against the file, before memory is taken for it.
    ///
    /// # Errors
    /// A size or kind of samples that is not read, or blocks that do not lie in the file or cannot hold their samples.
    pub(super) fn read(ifd: &mut Ifd<'_>, len: u64) -> Result<Self, ImportError> {
        let size = check_size("a TIFF", ifd.number_or(tag::WIDTH, 0)?, ifd.number_or(tag::HEIGHT, 0)?)?;
        let bands = ifd.number_or(tag::BANDS, 1)?;
        if !(1..=MAX_BANDS).contains(&bands) {
            return Err(refuse(format!("expected 1 to {MAX_BANDS} bands, found {bands}")));
        }
        let same = |what: &str, values: Vec<u64>, default: u64| match values[..] {
            [] => Ok(default),
            [first, ref rest @ ..] if rest.iter().all(|&v| v == first) => Ok(first),
            _ => Err(refuse(format!(
                "expected one {what} for all bands, found {:?} and so on",
                &values[..values.len().min(8)]
            ))),
        };
        let bits = same("count of bits", ifd.numbers(tag::BITS)?, 1)?;
        let kind = Kind::of(bits, same("sample format", ifd.numbers(tag::SAMPLE_FORMAT)?, 1)?)?;
        let codec = Codec::of(ifd.number_or(tag::COMPRESSION, 1)?)?;
        if ifd.number_or(tag::FILL_ORDER, 1)? != 1 {
            return Err(refuse(
                "expected bytes with their highest bit first, found FillOrder 2: write the file again",
            ));
        }
        let planar = match ifd.number_or(tag::PLANAR, 1)? {
            1 => false,
            2 => bands > 1,
            n => return Err(refuse(format!("expected a planar configuration of 1 or 2, found {n}"))),
        };
        let predictor = if codec.predicts() { ifd.number_or(tag::PREDICTOR, 1)? } else { 1 };
        let float = kind.format == super::sample::Format::Float;
        if !(predictor == 1 || predictor == 2 || predictor == 3 && float) {
            return Err(refuse(format!("expected predictor 1, 2 or (floating point) 3, found {predictor}")));
        }
        let tiled = ifd.has(tag::TILE_OFFSETS) || ifd.has(tag::TILE_WIDTH);
        let block = block_size(ifd, size, tiled)?;
        let mut layout = Self {
            size,
            bands: bands as usize,
            kind,
            codec,
            predictor,
            big: ifd.big,
            planar,
            tiled,
            block,
            places: Vec::new(),
            len,
        };
        if layout.row_bytes() > MAX_ROW_BYTES {
            return Err(refuse(format!(
                "expected rows of at most {MAX_ROW_BYTES} bytes in a block, found {}",
                layout.row_bytes()
            )));
        }
        layout.places = layout.read_places(ifd)?;
        layout.check_places()?;
        Ok(layout)
    }

    /// Where every block begins, and its bytes.
    fn read_places(&self, ifd: &mut Ifd<'_>) -> Result<Vec<(u64, u64)>, ImportError> {
        let (offsets, counts) = if self.tiled {
            (tag::TILE_OFFSETS, tag::TILE_BYTES)
        } else {
            (tag::STRIP_OFFSETS, tag::STRIP_BYTES)
        };
        let (offsets, mut counts) = (ifd.numbers(offsets)?, ifd.numbers(counts)?);
        let blocks = self.blocks_of_a_plane() * if self.planar { self.bands as u64 } else { 1 };
        if counts.is_empty() && self.codec == Codec::None && offsets.len() as u64 >= blocks {
            // Old writers leave them out.
            counts = (0..blocks).map(|i| self.raw_bytes(i)).collect();
        }
        if (offsets.len() as u64) < blocks || (counts.len() as u64) < blocks {
            return Err(refuse(format!(
                "expected {blocks} {}s for {}x{} samples, found {} offsets and {} byte counts",
                self.what(),
                self.size[0],
                self.size[1],
                offsets.len(),
                counts.len()
            )));
        }
        Ok(offsets.into_iter().zip(counts).take(blocks as usize).collect())
    }

    /// Every block lies in the file and is long enough for its samples to be in it, and the raster is none that a small
    /// file makes of nothing: of blocks that are missing, or of one that stands for many.
    fn check_places(&self) -> Result<(), ImportError> {
        let raster = self.size.iter().map(|&n| u64::from(n)).product::<u64>() * self.kind.bytes as u64;
        let most = FREE_BYTES + self.len.saturating_mul(self.codec.max_ratio().max(SPARSE_RATIO));
        if raster > most {
            return Err(refuse(format!(
                "expected at most {most} bytes of samples in a file of {} bytes, found {}x{} samples of {} bytes in blocks that are missing or share their bytes: write it again without gaps",
                self.len, self.size[0], self.size[1], self.kind.bytes
            )));
        }
        for (i, &(at, bytes)) in self.places.iter().enumerate() {
            if bytes == 0 {
                continue;
            }
            if at.checked_add(bytes).is_none_or(|end| end > self.len) {
                return Err(refuse(format!(
                    "{} {i}: expected {bytes} bytes at byte {at}, found a file of {} bytes: truncated?",
                    self.what(),
                    self.len
                )));
            }
            let raw = self.raw_bytes(i as u64);
            if raw > bytes.saturating_mul(self.codec.max_ratio()).saturating_add(64) {
                return Err(refuse(format!(
                    "{} {i}: expected {raw} bytes of samples, found {bytes} bytes in the file, which cannot hold them",
                    self.what()
                )));
            }
        }
        Ok(())
    }

    fn what(&self) -> &'static str {
        if self.tiled { "tile" } else { "strip" }
    }

    /// Bands side by side in a block.
    fn stride(&self) -> usize {
        if self.planar { 1 } else { self.bands }
    }

    /// Bytes of one row of a block.
    fn row_bytes(&self) -> u64 {
        u64::from(self.block[0]) * self.stride() as u64 * self.kind.bytes as u64
    }

    fn across(&self) -> u64 {
        u64::from(self.size[0].div_ceil(self.block[0]))
    }

    fn blocks_of_a_plane(&self) -> u64 {
        self.across() * u64::from(self.size[1].div_ceil(self.block[1]))
    }

    /// The first column and row of a block (counted through all planes), and its rows inside the raster.
    fn place_of(&self, i: u64) -> ([u32; 2], u32) {
        let i = i % self.blocks_of_a_plane();
        let x = (i % self.across()) as u32 * self.block[0];
        let z = (i / self.across()) as u32 * self.block[1];
        ([x, z], self.block[1].min(self.size[1] - z))
    }

    /// Bytes of a block's rows inside the raster.
    fn raw_bytes(&self, i: u64) -> u64 {
        self.row_bytes() * u64::from(self.place_of(i).1)
    }

    /// Reads bands; voids are those of the first of them. Row 0 of the file becomes the last one with `south_up`.
    ///
    /// # Errors
    /// Damaged or missing blocks, and integers that no double holds.
    pub(super) fn read_bands(
        &self,
        bytes: &mut Box<dyn ReadSeek>,
        wanted: &[usize],
        nodata: Nodata,
        south_up: bool,
    ) -> Result<(Vec<Band>, Voids), ImportError> {
        let n = self.size[0] as usize * self.size[1] as usize;
        let mut out: Vec<Band> = wanted.iter().map(|_| Band::new(self.kind, n)).collect();
        let mut voids = Voids::none(n);
        let plane = self.blocks_of_a_plane();
        for i in 0..plane {
            if self.planar {
                for (k, &band) in wanted.iter().enumerate() {
                    let mut into = Into {
                        bands: &mut out[k..=k],
                        wanted: &[0],
                        voids: &mut voids,
                        nodata,
                        first: k == 0,
                    };
                    self.read_block(bytes, band as u64 * plane + i, south_up, &mut into)?;
                }
            } else {
                let mut into = Into { bands: &mut out, wanted, voids: &mut voids, nodata, first: true };
                self.read_block(bytes, i, south_up, &mut into)?;
            }
        }
        Ok((out, voids))
    }

    fn read_block(
        &self,
        bytes: &mut Box<dyn ReadSeek>,
        i: u64,
        south_up: bool,
        into: &mut Into<'_>,
    ) -> Result<(), ImportError> {
        let ([x, z], rows) = self.place_of(i);
        let columns = self.block[0].min(self.size[0] - x);
        let at = |row: u32| {
            let z = if south_up { self.size[1] - 1 - (z + row) } else { z + row };
            z as usize * self.size[0] as usize + x as usize
        };
        let (offset, packed) = self.places[i as usize];
        if packed == 0 {
            return into.missing(self.what(), i, (0..rows).flat_map(|r| at(r)..at(r) + columns as usize));
        }
        let damaged = |row: u32, e: io::Error| self.damaged(i, z + row, e);
        bytes.seek(SeekFrom::Start(offset))?;
        let mut stream = self.codec.open(bytes.take(packed)).map_err(|e| damaged(0, e))?;
        let mut line = vec![0; self.row_bytes() as usize];
        let mut scratch = Vec::new();
        for row in 0..rows {
            stream.read_exact(&mut line).map_err(|e| damaged(row, e))?;
            match self.predictor {
                2 => undo_differences(&mut line, self.kind.bytes, self.stride(), self.big),
                3 => undo_float(&mut line, self.kind.bytes, self.stride(), &mut scratch),
                _ => {}
            }
            let row = Row {
                bytes: &line,
                big: self.big || self.predictor == 3,
                stride: self.stride(),
                band: 0,
                count: columns as usize,
                at: at(row),
            };
            into.row(self.kind, row).map_err(|(at, v)| {
                let (x, z) = (at as u32 % self.size[0], at as u32 / self.size[0]);
                refuse(format!(
                    "sample ({x}, {z}): expected an integer within ±2^53, which a double holds exactly, found {v}"
                ))
            })?;
        }
        if self.codec == Codec::Deflate {
            // The checksum stands behind the last byte; rows below the raster come before it.
            let rest = u64::from(self.block[1] - rows) * self.row_bytes() + 1;
            io::copy(&mut stream.take(rest), &mut io::sink()).map_err(|e| damaged(rows - 1, e))?;
        }
        Ok(())
    }

    fn damaged(&self, i: u64, row: u32, e: io::Error) -> ImportError {
        if e.raw_os_error().is_some() {
            return e.into();
        }
        let what = if e.kind() == ErrorKind::UnexpectedEof {
            "fewer: truncated?".to_owned()
        } else {
            format!("damaged {:?} data: {e}", self.codec)
        };
        refuse(format!(
            "{} {i}, row {row}: expected {} bytes of samples, found {what}",
            self.what(),
            self.row_bytes()
        ))
    }
}

/// Where a block's samples go.
struct Into<'a> {
    bands: &'a mut [Band],
    /// The bands' places side by side.
    wanted: &'a [usize],
    voids: &'a mut Voids,
    nodata: Nodata,
    /// Whether the first of `bands` decides about voids.
    first: bool,
}

impl Into<'_> {
    fn row(&mut self, kind: Kind, row: Row<'_>) -> Result<(), (usize, i128)> {
        for (k, (band, &place)) in self.bands.iter_mut().zip(self.wanted).enumerate() {
            let decides = self.first && k == 0;
            let voids = &mut *self.voids;
            band.take(kind, Row { band: place, ..row }, self.nodata, |i| {
                if decides {
                    voids.set(i);
                }
            })?;
        }
        Ok(())
    }

    /// A block that the file leaves out is "no data", if there is such a thing.
    fn missing(
        &mut self,
        what: &str,
        i: u64,
        samples: impl Iterator<Item = usize>,
    ) -> Result<(), ImportError> {
        if self.nodata == Nodata::None {
            return Err(refuse(format!(
                "{what} {i}: expected its samples, found none in the file and no declared nodata value to take for them"
            )));
        }
        if self.first {
            samples.for_each(|i| self.voids.set(i));
        }
        Ok(())
    }
}

fn block_size(ifd: &mut Ifd<'_>, size: [u32; 2], tiled: bool) -> Result<[u32; 2], ImportError> {
    if !tiled {
        let rows = ifd.number_or(tag::ROWS_PER_STRIP, u64::from(u32::MAX))?;
        if rows == 0 {
            return Err(refuse("expected at least one row a strip, found 0"));
        }
        return Ok([size[0], rows.min(u64::from(size[1])) as u32]);
    }
    let (w, h) = (ifd.number_or(tag::TILE_WIDTH, 0)?, ifd.number_or(tag::TILE_HEIGHT, 0)?);
    let fits = |n: u64| (1..=u64::from(MAX_SAMPLES)).contains(&n);
    if !fits(w) || !fits(h) {
        return Err(refuse(format!("expected tiles of 1 to {MAX_SAMPLES} samples a side, found {w}x{h}")));
    }
    Ok([w as u32, h as u32])
}
