//! Payload version 1: the bytes of a terrain file. `docs/format.md` has the diagrams.
//!
//! Owns the header, the directory and the block bodies as bytes. Never opens a file ([`crate::store`] does) and never
//! allocates for a count that the file's length does not bear out.

mod body;
mod directory;
mod error;
mod header;

pub use body::{BlockShape, decode_block, encode_block};
pub use directory::{Directory, Encoding, Entry, directory_bytes, entry_checksum};
pub use error::FormatError;
pub use header::{Header, Prefix};

/// The first eight bytes: a byte with the high bit set (seven-bit transfers), the name, CR LF, ctrl-Z and LF (line-end
/// conversions and text-mode reads), after the example of PNG.
pub const MAGIC: [u8; 8] = *b"\x89HGT\r\n\x1a\n";

/// The version this code writes and reads.
pub const VERSION: u32 = 1;

/// Bytes of the header's fixed part.
pub const PREFIX_BYTES: usize = 192;

/// Bytes of a full blake3 checksum, after the header and after the directory.
pub const CHECKSUM_BYTES: usize = 32;

/// Bytes of a directory entry.
pub const ENTRY_BYTES: usize = 48;

/// Flag bit 0: blocks carry HD weight texels.
pub const FLAG_WEIGHTS: u32 = 1;

/// The most bytes of the layer section.
pub const MAX_LAYER_BYTES: u32 = 4 + 32 * (4 + MAX_LAYER_NAME as u32);

/// The most bytes of a layer's name.
pub const MAX_LAYER_NAME: usize = 64;

/// The most layers a terrain may have.
pub const MAX_LAYERS: usize = 32;

/// The most bytes of the origin record.
pub const MAX_ORIGIN_BYTES: u32 = 64 << 10;
