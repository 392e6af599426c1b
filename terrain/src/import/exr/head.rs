//! An EXR file's header: which channels it has, where its pixels lie and how they are packed. Everything is checked
//! here, so that the codecs meet only sizes that hold together.

use super::refuse;
use crate::import::ImportError;
use crate::import::source::{Input, check_size};

/// Bytes that the header may take (a preview picture is in it).
const MAX_HEADER_BYTES: usize = 4 << 20;

/// Channels that a file may have.
const MAX_CHANNELS: usize = 256;

/// Bytes of one block of pixels.
const MAX_BLOCK_BYTES: u64 = 256 << 20;

/// Raw bytes that one packed byte can make: deflate's ratio, and PXR24 keeps three bytes of four.
const MAX_RATIO: u64 = 1400;

/// What a channel's samples are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Uint,
    Half,
    Float,
}

impl Kind {
    pub(super) fn bytes(self) -> usize {
        if self == Kind::Half { 2 } else { 4 }
    }
}

/// A channel, in the file's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Channel {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) linear: bool,
}

/// Ways of packing that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    None,
    Rle,
    ZipLine,
    Zip,
    Piz,
    Pxr24,
}

impl Packing {
    fn of(code: u8) -> Result<Self, ImportError> {
        Ok(match code {
            0 => Packing::None,
            1 => Packing::Rle,
            2 => Packing::ZipLine,
            3 => Packing::Zip,
            4 => Packing::Piz,
            5 => Packing::Pxr24,
            6..=9 => {
                let name = if code < 8 { "B44" } else { "DWA" };
                return Err(refuse(format!(
                    "expected heights as they were, found {name} compression, which is lossy and made for pictures: save it with ZIP compression"
                )));
            }
            n => {
                return Err(refuse(format!(
                    "expected a compression from 0 to 5, found {n}: save it with ZIP compression"
                )));
            }
        })
    }

    fn lines(self) -> u32 {
        match self {
            Packing::None | Packing::Rle | Packing::ZipLine => 1,
            Packing::Zip | Packing::Pxr24 => 16,
            Packing::Piz => 32,
        }
    }
}

/// What the header says.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) size: [u32; 2],
    pub(super) channels: Vec<Channel>,
    pub(super) packing: Packing,
    /// First column and row of the data window.
    pub(super) origin: [i32; 2],
    /// The display window, where it is another: first column and row, columns and rows.
    pub(super) display: Option<[i64; 4]>,
    /// Columns and rows of a block.
    pub(super) block: [u32; 2],
    pub(super) tiled: bool,
    /// Blocks begin with their part's number.
    pub(super) multipart: bool,
    /// Where the table of blocks begins.
    pub(super) table_at: u64,
    /// Length of the file.
    pub(super) len: u64,
}

impl Head {
    /// # Errors
    /// No EXR, a kind of it that is not read, or a size that the file cannot hold.
    pub(super) fn read(input: &mut Input) -> Result<Self, ImportError> {
        let len = input.len;
        let bytes = input.first(MAX_HEADER_BYTES.min(usize::try_from(len).unwrap_or(usize::MAX)))?;
        let mut at = Bytes { all: &bytes, at: 0 };
        if at.take(4, "the magic number")? != [0x76, 0x2f, 0x31, 0x01] {
            return Err(refuse("expected an EXR, found something else"));
        }
        let flags = at.i32("the version")? as u32;
        if flags & 0xff != 2 || flags & !0x1eff != 0 {
            return Err(refuse(format!("expected an EXR of version 2 with known flags, found {flags:#x}")));
        }
        let (single_tiled, deep, multipart) = (flags & 0x200 != 0, flags & 0x800 != 0, flags & 0x1000 != 0);
        let attributes = Attributes::read(&mut at)?;
        if multipart && at.peek() != Some(0) {
            return Err(refuse("expected one part, found several: save the heights as a file of their own"));
        }
        if multipart {
            at.take(1, "the end of the headers")?;
        }
        let kind = attributes.text("type");
        if deep || kind.as_deref().is_some_and(|k| k.starts_with("deep")) {
            return Err(refuse("expected one value a pixel, found a deep image"));
        }
        let tiled = if multipart { kind.as_deref() == Some("tiledimage") } else { single_tiled };
        attributes.head(tiled, multipart, at.at as u64, len)
    }

    /// Blocks of the full-size level: across, down.
    pub(super) fn blocks(&self) -> [u32; 2] {
        [self.size[0].div_ceil(self.block[0]), self.size[1].div_ceil(self.block[1])]
    }

    /// Bytes of a pixel.
    pub(super) fn pixel_bytes(&self) -> u64 {
        self.channels.iter().map(|c| c.kind.bytes() as u64).sum()
    }

    fn check(self) -> Result<Self, ImportError> {
        let block = u64::from(self.block[0]) * u64::from(self.block[1]) * self.pixel_bytes();
        if block > MAX_BLOCK_BYTES {
            return Err(refuse(format!("expected blocks of at most {MAX_BLOCK_BYTES} bytes, found {block}")));
        }
        let raw = u64::from(self.size[0]) * u64::from(self.size[1]) * self.pixel_bytes();
        self.can_hold(self.len, raw)?;
        Ok(self)
    }

    /// # Errors
    /// More raw bytes than so many packed ones can make.
    pub(super) fn can_hold(&self, packed: u64, raw: u64) -> Result<(), ImportError> {
        let ratio = if self.packing == Packing::None { 1 } else { MAX_RATIO };
        if raw > packed.saturating_mul(ratio) {
            return Err(refuse(format!(
                "expected pixels that the file can hold, found {}x{} with {raw} bytes claimed from {packed}",
                self.size[0], self.size[1]
            )));
        }
        Ok(())
    }
}

/// The attributes of a part.
struct Attributes<'a> {
    list: Vec<(&'a [u8], &'a [u8], &'a [u8])>,
}

impl<'a> Attributes<'a> {
    fn read(at: &mut Bytes<'a>) -> Result<Self, ImportError> {
        let mut list = Vec::new();
        loop {
            let name = at.string()?;
            if name.is_empty() {
                return Ok(Self { list });
            }
            let kind = at.string()?;
            let size = at.i32("an attribute's size")?;
            let Ok(size) = usize::try_from(size) else {
                return Err(refuse(format!("attribute {}: expected a size, found {size}", text(name))));
            };
            list.push((name, kind, at.take(size, &text(name))?));
        }
    }

    /// The value of an attribute of a type.
    fn value(&self, name: &str, kind: &str) -> Option<&'a [u8]> {
        let found = self.list.iter().find(|a| a.0 == name.as_bytes() && a.1 == kind.as_bytes());
        found.map(|a| a.2)
    }

    fn text(&self, name: &str) -> Option<String> {
        self.value(name, "string").map(text)
    }

    fn need<const N: usize>(&self, name: &str, kind: &str) -> Result<[u8; N], ImportError> {
        let value = self.value(name, kind).and_then(|v| <[u8; N]>::try_from(v).ok());
        value.ok_or_else(|| refuse(format!("expected an attribute {name} ({kind}) of {N} bytes, found none")))
    }

    fn window(&self, name: &str) -> Result<[i32; 4], ImportError> {
        let b = self.need::<16>(name, "box2i")?;
        let (n, _) = b.as_chunks::<4>();
        Ok([0, 1, 2, 3].map(|i| i32::from_le_bytes(n[i])))
    }

    fn head(self, tiled: bool, multipart: bool, table_at: u64, len: u64) -> Result<Head, ImportError> {
        let data = self.window("dataWindow")?;
        let display = self.window("displayWindow")?;
        let span = |w: [i32; 4], k: usize| i64::from(w[k + 2]) - i64::from(w[k]) + 1;
        let side = |k: usize| u64::try_from(span(data, k)).unwrap_or(0);
        let size = check_size("an EXR data window", side(0), side(1))?;
        // As the format's own library has it: coordinates are added up in 32 bits.
        if data.iter().any(|v| v.abs_diff(0) >= 1 << 30) {
            return Err(refuse(format!("expected a data window within ±2^30, found {data:?}")));
        }
        let [packing] = self.need::<1>("compression", "compression")?;
        let packing = Packing::of(packing)?;
        let [order] = self.need::<1>("lineOrder", "lineOrder")?;
        if order > 2 {
            return Err(refuse(format!("expected a line order from 0 to 2, found {order}")));
        }
        let block = if tiled {
            let tiles = self.need::<9>("tiles", "tiledesc")?;
            let (n, mode) = tiles.as_chunks::<4>();
            let [w, h] = [u32::from_le_bytes(n[0]), u32::from_le_bytes(n[1])];
            if w == 0 || h == 0 || w > i32::MAX as u32 || h > i32::MAX as u32 || mode[0] & 15 > 2 {
                return Err(refuse(format!(
                    "expected tiles with pixels in them, found {w}x{h} in mode {}",
                    mode[0]
                )));
            }
            // A tile is never larger than the image it is cut from.
            [w.min(size[0]), h.min(size[1])]
        } else {
            [size[0], packing.lines().min(size[1])]
        };
        let channels = channels(self.value("channels", "chlist").unwrap_or_default())?;
        let differs = display != data;
        let head = Head {
            size,
            channels,
            packing,
            origin: [data[0], data[1]],
            display: differs
                .then(|| [display[0].into(), display[1].into(), span(display, 0), span(display, 1)]),
            block,
            tiled,
            multipart,
            table_at,
            len,
        };
        head.check()
    }
}

fn channels(list: &[u8]) -> Result<Vec<Channel>, ImportError> {
    let mut at = Bytes { all: list, at: 0 };
    let mut out = Vec::new();
    while let Some(name) = (at.peek() != Some(0)).then(|| at.string()).transpose()? {
        let name = text(name);
        let kind = match at.i32("a channel")? {
            0 => Kind::Uint,
            1 => Kind::Half,
            2 => Kind::Float,
            n => return Err(refuse(format!("channel {name}: expected samples of type 0 to 2, found {n}"))),
        };
        let linear = at.take(4, "a channel")?[0] != 0;
        let (x, y) = (at.i32("a channel")?, at.i32("a channel")?);
        if (x, y) != (1, 1) {
            return Err(refuse(format!(
                "channel {name}: expected a sample a pixel, found one for {x}x{y} pixels: save it without chroma subsampling"
            )));
        }
        out.push(Channel { name, kind, linear });
        if out.len() > MAX_CHANNELS {
            return Err(refuse(format!("expected at most {MAX_CHANNELS} channels, found more")));
        }
    }
    if out.is_empty() {
        return Err(refuse("expected at least one channel, found none"));
    }
    Ok(out)
}

fn text(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

/// Bytes taken one after another.
struct Bytes<'a> {
    all: &'a [u8],
    at: usize,
}

impl<'a> Bytes<'a> {
    fn peek(&self) -> Option<u8> {
        self.all.get(self.at).copied()
    }

    fn take(&mut self, n: usize, what: &str) -> Result<&'a [u8], ImportError> {
        let Some(taken) = self.all.get(self.at..).and_then(|rest| rest.get(..n)) else {
            return Err(refuse(format!(
                "{what}: expected {n} bytes at byte {}, found the header's end: truncated?",
                self.at
            )));
        };
        self.at += n;
        Ok(taken)
    }

    fn i32(&mut self, what: &str) -> Result<i32, ImportError> {
        let b = self.take(4, what)?;
        Ok(i32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }

    /// Bytes up to a NUL, at most 255 of them.
    fn string(&mut self) -> Result<&'a [u8], ImportError> {
        let rest = self.all.get(self.at..).unwrap_or_default();
        let Some(n) = rest.iter().take(256).position(|&b| b == 0) else {
            return Err(refuse(format!(
                "expected a name of at most 255 bytes at byte {}, found none",
                self.at
            )));
        };
        self.at += n + 1;
        Ok(&rest[..n])
    }
}
