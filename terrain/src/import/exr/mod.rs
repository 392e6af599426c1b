//! OpenEXR: one channel of one part, half, float or unsigned integers, in scan lines or tiles.
//!
//! Owns the container and which channel is the height; the codecs are the `exr` crate's, but for the lossy B44 and DWA,
//! which are refused. The raster is the data window; a display window that differs is noted and not used. Never filters
//! by colour space. Which channel:
//!
//! - the one that [`Ask::channel`] names; else the only one; else `Y`, `Z`, `height` or `Height`, the first there is;
//! - else `R` where `G` and `B` equal it in every bit; anything else is refused with the names there are.
//! - Unless a channel is named, a sample with an `A` of 0 is void.
//!
//! NaN and infinities stay as they are. The values are taken as metres unless the importer is told a range for 0 to 1.

mod head;
#[cfg(test)]
mod tests;

use super::source::{Ask, Input, Meaning, Place, ReadSeek, Samples, Source, Voids};
use super::{ImportError, Registration, SourceFormat, rows};
use ::exr::compression::Compression;
use ::exr::math::Vec2;
use ::exr::meta::BlockDescription;
use ::exr::meta::attribute::{
    ChannelDescription, IntegerBounds, LevelMode, SampleType, Text, TileDescription,
};
use ::exr::meta::header::Header;
use half::f16;
use head::{Channel, Head, Kind, Packing};
use std::io::{Read, SeekFrom};

/// Reads one channel.
///
/// # Errors
/// A damaged or hostile file, a kind of EXR that is not read, or no channel that is the height beyond doubt.
pub(crate) fn read(input: &mut Input, ask: &Ask) -> Result<Source, ImportError> {
    let head = Head::read(input)?;
    let mut notes = Vec::new();
    let wanted = Wanted::of(&head.channels, ask.channel.as_deref(), &mut notes)?;
    if let Some([x, y, w, h]) = head.display {
        notes.push(format!(
            "the display window ({w}x{h} from {x}, {y}) is not the data window ({}x{} from {}, {}): the data window is taken",
            head.size[0], head.size[1], head.origin[0], head.origin[1]
        ));
    }
    let kind = head.channels[wanted.height].kind;
    if (head.packing, kind) == (Packing::Pxr24, Kind::Float) {
        notes.push("PXR24 kept 24 bits of each float: heights are rounded".to_owned());
    }
    notes.push("values taken as metres unless a range is given for 0 to 1".to_owned());
    let mut picture = Picture::new(&head, &wanted);
    read_blocks(&head, &mut input.bytes, |block, raw| picture.take(block, raw))?;
    let (mut samples, mut voids) = picture.finish();
    if ask.south_up {
        rows::turn(&mut samples, &mut voids, head.size[0]);
    }
    Ok(Source {
        size: head.size,
        samples,
        voids,
        format: SourceFormat::Exr,
        nodata: None,
        meaning: Meaning::Metres { scale: 1.0, offset: 0.0 },
        place: Place::None,
        registration: Registration::Point,
        hole_cells: Vec::new(),
        layers: Vec::new(),
        notes,
    })
}

/// Channels by their place in the file's list.
#[derive(Debug, PartialEq)]
struct Wanted {
    height: usize,
    /// Channels that have to equal it.
    equal: Vec<usize>,
    alpha: Option<usize>,
}

impl Wanted {
    fn of(channels: &[Channel], asked: Option<&str>, notes: &mut Vec<String>) -> Result<Self, ImportError> {
        let find = |name: &str| channels.iter().position(|c| c.name == name);
        let names = || channels.iter().map(|c| c.name.as_str()).collect::<Vec<_>>().join(", ");
        let alone = |height| Self { height, equal: Vec::new(), alpha: None };
        if let Some(name) = asked {
            return find(name).map(alone).ok_or_else(|| {
                ImportError::usage(format!(
                    "the file has no channel {name:?} but {}: pass another --channel",
                    names()
                ))
            });
        }
        let alpha = find("A");
        let by_name = if channels.len() == 1 {
            return Ok(alone(0));
        } else {
            ["Y", "Z", "height", "Height"].iter().find_map(|n| find(n))
        };
        let wanted = match (by_name, find("R"), find("G"), find("B")) {
            (Some(height), ..) => Self { alpha, ..alone(height) },
            (None, Some(r), Some(g), Some(b))
                if [g, b].iter().all(|&c| channels[c].kind == channels[r].kind) =>
            {
                Self { height: r, equal: vec![g, b], alpha }
            }
            _ => {
                return Err(refuse(format!(
                    "expected one channel of heights, found {}: pass --channel",
                    names()
                )));
            }
        };
        notes.push(format!("channel {} of {} taken", channels[wanted.height].name, names()));
        if wanted.alpha.is_some() {
            notes.push("samples with an A of 0 are void".to_owned());
        }
        Ok(wanted)
    }
}

/// A block's place in the raster.
#[derive(Clone, Copy, Debug)]
struct Block {
    x: u32,
    z: u32,
    w: u32,
    h: u32,
}

/// Hands over every block of the full-size level, unpacked: row by row, in each row channel by channel.
fn read_blocks(
    head: &Head,
    bytes: &mut Box<dyn ReadSeek>,
    mut take: impl FnMut(Block, &[u8]) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    let [across, down] = head.blocks();
    let count = u64::from(across) * u64::from(down);
    if head.table_at + count.saturating_mul(8) > head.len {
        return Err(refuse(format!(
            "expected a table of {count} blocks at byte {}, found a file of {} bytes: truncated?",
            head.table_at, head.len
        )));
    }
    let mut table = vec![0; count as usize * 8];
    bytes.seek(SeekFrom::Start(head.table_at))?;
    bytes.read_exact(&mut table)?;
    let codec = Codec::new(head);
    for (i, at) in table.as_chunks::<8>().0.iter().enumerate() {
        let (bx, bz) = (i as u32 % across, i as u32 / across);
        let (x, z) = (bx * head.block[0], bz * head.block[1]);
        let block =
            Block { x, z, w: head.block[0].min(head.size[0] - x), h: head.block[1].min(head.size[1] - z) };
        let packed = read_block(head, bytes, u64::from_le_bytes(*at), [bx, bz], block)
            .map_err(|e| in_block(i, count, e))?;
        let raw = codec.unpack(packed, block).map_err(|e| in_block(i, count, e))?;
        take(block, &raw)?;
    }
    Ok(())
}

fn in_block(i: usize, count: u64, e: ImportError) -> ImportError {
    match e {
        ImportError::Source(message) => refuse(format!("block {i} of {count}: {message}")),
        other => other,
    }
}

/// A block's packed bytes, once its own header agrees with the table.
fn read_block(
    head: &Head,
    bytes: &mut Box<dyn ReadSeek>,
    at: u64,
    index: [u32; 2],
    block: Block,
) -> Result<Vec<u8>, ImportError> {
    let mut expected = Vec::new();
    if head.multipart {
        expected.push(0);
    }
    if head.tiled {
        expected.extend([index[0] as i32, index[1] as i32, 0, 0]);
    } else {
        expected.push(head.origin[1] + block.z as i32);
    }
    let head_bytes = expected.len() as u64 * 4 + 4;
    let end = at.checked_add(head_bytes);
    if at < head.table_at || end.is_none_or(|end| end > head.len) {
        return Err(refuse(format!(
            "expected it after byte {}, found it at byte {at} of a file of {} bytes: truncated or never finished?",
            head.table_at, head.len
        )));
    }
    let mut own = vec![0; head_bytes as usize];
    bytes.seek(SeekFrom::Start(at))?;
    bytes.read_exact(&mut own)?;
    let own: Vec<i32> = own.as_chunks::<4>().0.iter().map(|b| i32::from_le_bytes(*b)).collect();
    if own[..expected.len()] != expected {
        return Err(refuse(format!(
            "expected its numbers to be {expected:?}, found {:?}",
            &own[..expected.len()]
        )));
    }
    let raw = u64::from(block.w) * u64::from(block.h) * head.pixel_bytes();
    let packed = u64::try_from(own[expected.len()]).unwrap_or(0);
    if packed == 0 || packed > raw || at + head_bytes + packed > head.len {
        return Err(refuse(format!(
            "expected 1 to {raw} bytes at byte {at}, found {} in a file of {} bytes: truncated?",
            own[expected.len()],
            head.len
        )));
    }
    // Packed that is as long as raw is raw.
    head.can_hold(packed, raw)?;
    let mut out = vec![0; packed as usize];
    bytes.read_exact(&mut out)?;
    Ok(out)
}

/// The crate's codecs, told of nothing but what was checked.
struct Codec {
    header: Header,
    pixel_bytes: u64,
}

impl Codec {
    fn new(head: &Head) -> Self {
        let channels = head.channels.iter().map(|c| {
            let kind = match c.kind {
                Kind::Uint => SampleType::U32,
                Kind::Half => SampleType::F16,
                Kind::Float => SampleType::F32,
            };
            ChannelDescription::new("c", kind, c.linear)
        });
        let size = Vec2(head.block[0] as usize, head.block[1] as usize);
        let mut header = Header::new(Text::from("heights"), size, channels.collect());
        header.compression = match head.packing {
            Packing::None => Compression::Uncompressed,
            Packing::Rle => Compression::RLE,
            Packing::ZipLine => Compression::ZIP1,
            Packing::Zip => Compression::ZIP16,
            Packing::Piz => Compression::PIZ,
            Packing::Pxr24 => Compression::PXR24,
        };
        header.blocks = BlockDescription::Tiles(TileDescription {
            tile_size: size,
            level_mode: LevelMode::Singular,
            rounding_mode: ::exr::math::RoundingMode::Down,
        });
        Self { header, pixel_bytes: head.pixel_bytes() }
    }

    /// The raw bytes of a block, in this machine's byte order.
    fn unpack(&self, packed: Vec<u8>, block: Block) -> Result<Vec<u8>, ImportError> {
        let section = IntegerBounds::new(Vec2(0, 0), Vec2(block.w as usize, block.h as usize));
        let raw = u64::from(block.w) * u64::from(block.h) * self.pixel_bytes;
        match self.header.compression.decompress_image_section_from_le(&self.header, packed, section, false) {
            Ok(bytes) if bytes.len() as u64 == raw => Ok(bytes),
            Ok(bytes) => Err(refuse(format!("expected {raw} bytes of pixels, found {}", bytes.len()))),
            Err(e) => Err(refuse(format!("expected {raw} bytes of pixels, found damaged data: {e}"))),
        }
    }
}

/// The raster while it is read.
struct Picture<'a> {
    head: &'a Head,
    wanted: &'a Wanted,
    /// The bits of each sample.
    bits: Vec<u32>,
    voids: Voids,
}

impl<'a> Picture<'a> {
    fn new(head: &'a Head, wanted: &'a Wanted) -> Self {
        let n = head.size[0] as usize * head.size[1] as usize;
        Self { head, wanted, bits: vec![0; n], voids: Voids::none(n) }
    }

    fn take(&mut self, block: Block, raw: &[u8]) -> Result<(), ImportError> {
        let w = block.w as usize;
        let channels = &self.head.channels;
        let from = |c: usize| channels[..c].iter().map(|c| c.kind.bytes() * w).sum::<usize>();
        let line = |raw: &'_ [u8], z: usize, c: usize| -> Vec<u32> {
            let row = &raw[z * w * self.head.pixel_bytes() as usize..];
            bits(&row[from(c)..], channels[c].kind).take(w).collect()
        };
        for z in 0..block.h as usize {
            let at = (block.z as usize + z) * self.head.size[0] as usize + block.x as usize;
            let height = line(raw, z, self.wanted.height);
            for &c in &self.wanted.equal {
                if let Some(x) = line(raw, z, c).iter().zip(&height).position(|(a, b)| a != b) {
                    return Err(refuse(format!(
                        "expected R, G and B to be equal (grey), found {} to differ from R at sample ({}, {}): pass --channel with R, G or B",
                        channels[c].name,
                        block.x as usize + x,
                        block.z as usize + z
                    )));
                }
            }
            if let Some(c) = self.wanted.alpha {
                // Minus zero is zero too, whatever the kind of float.
                let sign = [0, 0x8000, 1 << 31][channels[c].kind as usize];
                for (x, _) in line(raw, z, c).iter().enumerate().filter(|(_, a)| **a & !sign == 0) {
                    self.voids.set(at + x);
                }
            }
            self.bits[at..at + w].copy_from_slice(&height);
        }
        Ok(())
    }

    fn finish(self) -> (Samples, Voids) {
        let samples = match self.head.channels[self.wanted.height].kind {
            Kind::Uint if self.bits.iter().all(|&b| b <= i32::MAX as u32) => {
                Samples::I32(self.bits.into_iter().map(|b| b as i32).collect())
            }
            Kind::Uint => Samples::F64(self.bits.into_iter().map(f64::from).collect()),
            Kind::Half => {
                Samples::F32(self.bits.into_iter().map(|b| f16::from_bits(b as u16).to_f32()).collect())
            }
            Kind::Float => Samples::F32(self.bits.into_iter().map(f32::from_bits).collect()),
        };
        (samples, self.voids)
    }
}

/// Samples as bits; the codecs hand them over in this machine's byte order.
fn bits(bytes: &[u8], kind: Kind) -> impl Iterator<Item = u32> + '_ {
    let step = kind.bytes();
    bytes.chunks_exact(step).map(|b| {
        let number = |n: u32, &b: &u8| n << 8 | u32::from(b);
        if cfg!(target_endian = "big") { b.iter().fold(0, number) } else { b.iter().rev().fold(0, number) }
    })
}

/// What is wrong with the file.
fn refuse(message: impl Into<String>) -> ImportError {
    ImportError::source(message)
}
