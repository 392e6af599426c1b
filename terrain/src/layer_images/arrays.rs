//! The texture arrays of a terrain's layers, and their bytes (`.layers`, version 1).
//!
//! All numbers are little-endian.
//!
//! | byte | what |
//! |---|---|
//! | 0 | magic, 8 bytes |
//! | 8 | version, u32: 1 |
//! | 12 | texels a side of mip 0, u32: a power of two up to 8,192 |
//! | 16 | layers, u32: 1 to 32 |
//! | 20 | arrays that follow, u32: bit 0 albedo, 1 normal, 2 ORM, 3 emissive |
//! | 24 | bytes of the body, u64 |
//! | 32 | blake3 of bytes 0 to 31 and the body |
//! | 64 | body: array by array, each mip by mip from the finest to 1 × 1, each layer by layer, RGBA8 row by row |

use crate::content::MAX_LAYERS;
use crate::format::FormatError;

/// The first eight bytes, after the payload's example.
pub const MAGIC: [u8; 8] = *b"\x89HGA\r\n\x1a\n";

/// The version this code writes and reads.
pub const VERSION: u32 = 1;

/// Bytes before the body.
pub const PREFIX_BYTES: usize = 64;

/// The most texels a side.
pub const MAX_SIDE: u32 = 1 << 13;

/// One of the arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Colour in sRGB; A is the height for blending, linear.
    Albedo,
    /// Tangent normals, Y up, 127.5 · (n + 1); A is 255.
    Normal,
    /// Occlusion, roughness, metallic; A is 255.
    Orm,
    /// Emitted colour in sRGB; A is 255.
    Emissive,
}

impl Kind {
    /// All, in order.
    pub const ALL: [Kind; 4] = [Kind::Albedo, Kind::Normal, Kind::Orm, Kind::Emissive];

    /// What a layer without an image has: white and half high; flat; ORM (1, 0.9, 0); black.
    pub const fn default_texel(self) -> [u8; 4] {
        match self {
            Kind::Albedo => [255, 255, 255, 128],
            Kind::Normal => [128, 128, 255, 255],
            Kind::Orm => [255, 230, 0, 255],
            Kind::Emissive => [0, 0, 0, 255],
        }
    }
}

/// Texture arrays: a slice a layer, with full mips.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerArrays {
    pub(super) side: u32,
    pub(super) layers: u32,
    /// Bytes by kind; an array that is its default everywhere is not there.
    pub(super) arrays: [Option<Vec<u8>>; 4],
}

/// Bytes of one layer's mips before `mip`.
fn before(side: u32, mip: u32) -> u64 {
    (0..mip).map(|m| 4 * u64::from(side >> m) * u64::from(side >> m)).sum()
}

/// Bytes of one array.
pub(super) fn array_bytes(side: u32, layers: u32) -> u64 {
    u64::from(layers) * before(side, side.ilog2() + 1)
}

impl LayerArrays {
    /// Texels a side of mip 0.
    pub fn side(&self) -> u32 {
        self.side
    }

    /// Slices of each array.
    pub fn layers(&self) -> u32 {
        self.layers
    }

    /// Mips, the last 1 × 1.
    pub fn mips(&self) -> u32 {
        self.side.ilog2() + 1
    }

    /// RGBA8 texels of a layer at a mip, row by row; `None` where the whole array is [`Kind::default_texel`] or there is
    /// no such mip or layer.
    pub fn slice(&self, kind: Kind, mip: u32, layer: u32) -> Option<&[u8]> {
        if mip >= self.mips() || layer >= self.layers {
            return None;
        }
        let bytes = 4 * (self.side >> mip) as usize * (self.side >> mip) as usize;
        let at = before(self.side, mip) as usize * self.layers as usize + bytes * layer as usize;
        self.arrays[kind as usize].as_ref().map(|a| &a[at..at + bytes])
    }

    /// A texel, the default where the array is not there; `None` beyond it.
    pub fn texel(&self, kind: Kind, mip: u32, layer: u32, x: u32, y: u32) -> Option<[u8; 4]> {
        let side = self.side.checked_shr(mip).unwrap_or(0);
        if x >= side || y >= side || layer >= self.layers {
            return None;
        }
        let at = (y as usize * side as usize + x as usize) * 4;
        let of = |s: &[u8]| s[at..at + 4].first_chunk().copied();
        self.slice(kind, mip, layer).map_or(Some(kind.default_texel()), of)
    }

    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        let body: u64 = self.arrays.iter().flatten().map(|a| a.len() as u64).sum();
        let set = Kind::ALL.iter().filter(|&&k| self.arrays[k as usize].is_some());
        let set = set.fold(0u32, |set, &k| set | 1 << k as u32);
        let mut out = Vec::with_capacity(PREFIX_BYTES + body as usize);
        out.extend(MAGIC);
        for v in [VERSION, self.side, self.layers, set] {
            out.extend(v.to_le_bytes());
        }
        out.extend(body.to_le_bytes());
        out.extend([0; 32]);
        self.arrays.iter().flatten().for_each(|a| out.extend_from_slice(a));
        let checksum = checksum(&out);
        out[32..64].copy_from_slice(&checksum);
        out
    }

    /// Reads bytes. Nothing is allocated before their length bears it out.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        let wrong =
            |at, field, expected: String, found: String| Err(FormatError::new(at, field, expected, found));
        let Head { side, layers, set } = Head::read(bytes)?;
        let array = array_bytes(side, layers);
        let body = array * u64::from(set.count_ones());
        let there = (bytes.len() - PREFIX_BYTES) as u64;
        if there != body {
            return wrong(64, "body", format!("{body} bytes"), format!("{there} (truncated?)"));
        }
        let found = checksum(bytes);
        if found != bytes[32..64] {
            return wrong(32, "checksum", format!("{:02x?}", &bytes[32..64]), format!("{found:02x?}"));
        }
        // The whole body is in memory, so an array fits.
        let mut rest = bytes[PREFIX_BYTES..].chunks_exact(array as usize);
        let mut next =
            |kind: Kind| if set >> kind as u32 & 1 == 1 { rest.next().map(<[u8]>::to_vec) } else { None };
        Ok(Self { side, layers, arrays: Kind::ALL.map(&mut next) })
    }
}

/// What the first bytes say.
struct Head {
    side: u32,
    layers: u32,
    set: u32,
}

impl Head {
    fn read(bytes: &[u8]) -> Result<Self, FormatError> {
        let wrong =
            |at, field, expected: String, found: String| Err(FormatError::new(at, field, expected, found));
        if bytes.len() < PREFIX_BYTES {
            let found = format!("{} bytes (truncated?)", bytes.len());
            return wrong(0, "file", format!("at least {PREFIX_BYTES} bytes"), found);
        }
        if bytes[..8] != MAGIC {
            return wrong(0, "magic", "a .layers file".into(), format!("{:02x?}", &bytes[..8]));
        }
        let number = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let (version, side, layers, set) = (number(8), number(12), number(16), number(20));
        if version != VERSION {
            return wrong(8, "version", VERSION.to_string(), version.to_string());
        }
        if !side.is_power_of_two() || side > MAX_SIDE {
            return wrong(12, "side", format!("a power of two up to {MAX_SIDE}"), side.to_string());
        }
        if !(1..=MAX_LAYERS as u32).contains(&layers) {
            return wrong(16, "layers", format!("1 to {MAX_LAYERS}"), layers.to_string());
        }
        if set >= 16 {
            return wrong(20, "arrays", "a set of bits 0 to 3".into(), format!("{set:#x}"));
        }
        let said = u64::from(number(24)) | u64::from(number(28)) << 32;
        let body = array_bytes(side, layers) * u64::from(set.count_ones());
        if said != body {
            return wrong(24, "body length", format!("{body} bytes"), said.to_string());
        }
        Ok(Self { side, layers, set })
    }
}

/// How many bytes a file is that begins with these, and how many layers it has.
///
/// # Errors
/// A beginning that no file can have.
pub fn stated(prefix: &[u8]) -> Result<(u64, u32), FormatError> {
    let Head { side, layers, set } = Head::read(prefix)?;
    Ok((PREFIX_BYTES as u64 + array_bytes(side, layers) * u64::from(set.count_ones()), layers))
}

/// blake3 of all but the checksum itself.
fn checksum(bytes: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&bytes[..32]);
    hasher.update(&bytes[PREFIX_BYTES..]);
    *hasher.finalize().as_bytes()
}
