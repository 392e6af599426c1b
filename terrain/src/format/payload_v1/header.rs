//! The header: what the whole file is, and the checksum that says so.

use super::{
    CHECKSUM_BYTES, FLAG_WEIGHTS, FormatError, MAGIC, MAX_LAYER_BYTES, MAX_LAYER_NAME, MAX_LAYERS,
    MAX_ORIGIN_BYTES, PREFIX_BYTES, VERSION, directory_bytes,
};
use crate::config::TerrainConfig;
use crate::coord::BlockSide;
use crate::format::config::{CONFIG_BYTES, decode_config};
use crate::format::error::{array, hex, u32_at, u64_at};

const CONFIG_AT: usize = 128;

/// Everything a payload says before its directory.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// What changes the terrain's bits.
    pub config: TerrainConfig,
    /// Samples a side of the blocks.
    pub side: BlockSide,
    /// The digest of the canonical content.
    pub digest: [u8; 32],
    /// The largest rounding error of the heights in metres, not negative; a record.
    pub rounding_m: f64,
    /// Whether blocks carry HD weight texels.
    pub weights: bool,
    /// Names of the surface layers.
    pub layers: Vec<String>,
    /// The origin record, JSON text; a record that changes no bits of the terrain.
    pub origin: String,
    /// Length of the whole file in bytes.
    pub file_bytes: u64,
}

/// What the fixed part says of the sizes of what follows it, checked against the file's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// Bytes of the whole header, its checksum included.
    pub header_bytes: usize,
    /// Bytes of the layer section.
    layer_bytes: usize,
}

impl Header {
    /// Reads a whole header of the length that [`Prefix::decode`] gave.
    ///
    /// # Errors
    /// The first field that is wrong.
    pub fn decode(bytes: &[u8], file_bytes: u64) -> Result<Self, FormatError> {
        let prefix = Prefix::decode(bytes, file_bytes)?;
        if bytes.len() != prefix.header_bytes {
            return Err(FormatError::new(12, "header length", bytes.len(), prefix.header_bytes));
        }
        let body = prefix.header_bytes - CHECKSUM_BYTES;
        let found: [u8; 32] = array(bytes, body);
        let expected = *blake3::hash(&bytes[..body]).as_bytes();
        if found != expected {
            return Err(FormatError::new(body as u64, "header checksum", hex(&expected), hex(&found)));
        }
        let flags = u32_at(bytes, 24);
        let side = BlockSide::try_from(u32_at(bytes, 28))
            .map_err(|_| FormatError::new(28, "block side", "32, 64 or 128", u32_at(bytes, 28)))?;
        let config = decode_config(&bytes[CONFIG_AT..CONFIG_AT + CONFIG_BYTES], CONFIG_AT as u64)?;
        let hash = *blake3::hash(&bytes[CONFIG_AT..CONFIG_AT + CONFIG_BYTES]).as_bytes();
        if array::<32>(bytes, 64) != hash {
            return Err(FormatError::new(64, "configuration hash", hex(&hash), hex(&bytes[64..96])));
        }
        if bytes[CONFIG_AT + CONFIG_BYTES..PREFIX_BYTES].iter().any(|&b| b != 0) {
            return Err(FormatError::new(179, "reserved bytes", "zeros", "something else"));
        }
        check_directory_place(bytes, &config, side, file_bytes)?;
        let rounding_m = f64::from_bits(u64_at(bytes, 48));
        if !(rounding_m.is_finite() && rounding_m >= 0.0) {
            return Err(FormatError::new(48, "rounding", "metres, not negative", rounding_m));
        }
        let layers_end = PREFIX_BYTES + prefix.layer_bytes;
        let layers = decode_layers(&bytes[PREFIX_BYTES..layers_end])?;
        let weights = flags & FLAG_WEIGHTS != 0;
        if weights == layers.is_empty() {
            let expected = if weights { "at least one layer, since there are weights" } else { "no layers" };
            return Err(FormatError::new(PREFIX_BYTES as u64, "layer names", expected, layers.len()));
        }
        let origin = text(&bytes[layers_end..body], layers_end as u64, "origin record")?;
        if let Err(e) = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&origin) {
            return Err(FormatError::new(layers_end as u64, "origin record", "a JSON object", e));
        }
        let digest = array(bytes, 96);
        Ok(Self { config, side, digest, rounding_m, weights, layers, origin, file_bytes })
    }
}

impl Prefix {
    /// Reads the sizes from the fixed part (at least [`PREFIX_BYTES`]) of a file of this length.
    ///
    /// # Errors
    /// A wrong magic, version, length or unknown flag.
    pub fn decode(bytes: &[u8], file_bytes: u64) -> Result<Self, FormatError> {
        let magic = &bytes[..bytes.len().min(MAGIC.len())];
        if magic != MAGIC {
            let hint = if magic.starts_with(b"\x89HGT") || magic.get(1..4) == Some(b"HGT".as_slice()) {
                format!("{} (damaged by a text-mode transfer?)", hex(magic))
            } else {
                hex(magic)
            };
            return Err(FormatError::new(0, "magic", format!("{} (a .terrain file)", hex(&MAGIC)), hint));
        }
        if bytes.len() < PREFIX_BYTES {
            return Err(FormatError::new(
                0,
                "file",
                format!("at least {PREFIX_BYTES} bytes"),
                format!("{} bytes (truncated?)", bytes.len()),
            ));
        }
        let version = u32_at(bytes, 8);
        if version != VERSION {
            return Err(FormatError::new(8, "version", VERSION, version));
        }
        let said = u64_at(bytes, 16);
        if said != file_bytes {
            let found = format!("{file_bytes} (truncated or appended to?)");
            return Err(FormatError::new(16, "file length", format!("{said} bytes"), found));
        }
        let flags = u32_at(bytes, 24);
        if flags & !FLAG_WEIGHTS != 0 {
            let found = format!("{flags:#x} (written by a newer version?)");
            return Err(FormatError::new(24, "section flags", "bit 0 only", found));
        }
        let (layers, origin) = (u32_at(bytes, 56), u32_at(bytes, 60));
        if layers > MAX_LAYER_BYTES {
            return Err(FormatError::new(56, "layer length", format!("at most {MAX_LAYER_BYTES}"), layers));
        }
        if origin > MAX_ORIGIN_BYTES {
            return Err(FormatError::new(60, "origin length", format!("at most {MAX_ORIGIN_BYTES}"), origin));
        }
        let header_bytes = PREFIX_BYTES + layers as usize + origin as usize + CHECKSUM_BYTES;
        let said = u32_at(bytes, 12);
        if said as usize != header_bytes {
            return Err(FormatError::new(12, "header length", header_bytes, said));
        }
        if header_bytes as u64 > file_bytes {
            let expected = format!("at most the file's {file_bytes} bytes");
            return Err(FormatError::new(12, "header length", expected, header_bytes));
        }
        Ok(Self { header_bytes, layer_bytes: layers as usize })
    }
}

fn check_directory_place(
    bytes: &[u8],
    config: &TerrainConfig,
    side: BlockSide,
    file_bytes: u64,
) -> Result<(), FormatError> {
    let header_bytes = u64::from(u32_at(bytes, 12));
    let (offset, length) = (u64_at(bytes, 32), u64_at(bytes, 40));
    if offset != header_bytes {
        return Err(FormatError::new(32, "directory offset", header_bytes, offset));
    }
    let expected = directory_bytes(config, side);
    if length != expected {
        return Err(FormatError::new(40, "directory length", expected, length));
    }
    if offset.checked_add(length).is_none_or(|end| end > file_bytes) {
        let expected = format!("a directory inside the file's {file_bytes} bytes");
        return Err(FormatError::new(40, "directory length", expected, length));
    }
    Ok(())
}

fn decode_layers(b: &[u8]) -> Result<Vec<String>, FormatError> {
    let at = |offset: usize| (PREFIX_BYTES + offset) as u64;
    let short = |offset| FormatError::new(at(offset), "layer names", "more bytes", "the section's end");
    if b.len() < 4 {
        return Err(short(0));
    }
    let count = u32_at(b, 0) as usize;
    if count > MAX_LAYERS {
        return Err(FormatError::new(at(0), "layer count", format!("at most {MAX_LAYERS}"), count));
    }
    let mut layers = Vec::with_capacity(count);
    let mut next = 4;
    for _ in 0..count {
        if b.len() - next < 4 {
            return Err(short(next));
        }
        let length = u32_at(b, next) as usize;
        if length == 0 || length > MAX_LAYER_NAME {
            let expected = format!("a name of 1 to {MAX_LAYER_NAME} bytes");
            return Err(FormatError::new(at(next), "layer name length", expected, length));
        }
        next += 4;
        if b.len() - next < length {
            return Err(short(next));
        }
        layers.push(text(&b[next..next + length], at(next), "layer name")?);
        next += length;
    }
    if next != b.len() {
        return Err(FormatError::new(at(next), "layer names", "the section's end", "more bytes"));
    }
    Ok(layers)
}

fn text(bytes: &[u8], at: u64, field: &'static str) -> Result<String, FormatError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(e) => Err(FormatError::new(at + e.valid_up_to() as u64, field, "UTF-8 text", "other bytes")),
    }
}
