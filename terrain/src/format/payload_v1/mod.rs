//! Payload version 1, which is read and never written: heights, masks and HD weights. `docs/format.md` has the diagrams.
//!
//! Owns the header, the directory and the block bodies as bytes. Never opens a file ([`crate::store`] does) and never
//! allocates for a count that the file's length does not bear out.

mod body;
mod digest;
mod directory;
mod header;

pub use body::{BlockShape, decode_block};
pub use digest::ContentDigest;
pub use directory::{Directory, Encoding, Entry, directory_bytes, entry_checksum};
pub use header::{Header, Prefix};

use super::FormatError;
pub(crate) use crate::content::MAX_LAYERS;
use crate::content::MAX_NAME as MAX_LAYER_NAME;

use super::payload::MAGIC;

/// The version read here.
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

/// The most bytes of the origin record.
pub const MAX_ORIGIN_BYTES: u32 = 64 << 10;
