//! Payload version 2: the bytes of a terrain file. `docs/format.md` has the diagrams.
//!
//! A head (configuration, digests, totals, table of sections), the bodies of blocks, the directory's pages, and the
//! sections that are no blocks. Owns them as bytes. Never opens a file ([`crate::store`] does) and never allocates for
//! a count that the file's length does not bear out.

mod body;
mod codec;
mod directory;
mod head;
mod pyramid;
mod section;

pub use body::{
    BlockBodies, BlockShape, Body, Facts, Ground, decode_each, decode_ground, decode_hd, decode_planes,
    encode_block, encode_each, encode_planes, pack_hd,
};
pub use codec::Compression;
pub use directory::{
    DirectoryLayout, Entry, PAGE_SIDE, PageRef, Slot, decode_page, decode_root, encode_page, encode_root,
};
pub use head::{HEAD_PREFIX_BYTES, Head, Losses, Prefix, SectionEntry, Totals};
pub use pyramid::{SkipNodes, decode_min_max, decode_skip, encode_min_max, encode_skip};
pub(crate) use pyramid::{min_max_bytes, most_skip_bytes};
pub use section::{MAX_LEVELS, Section};

/// The first eight bytes: a byte with the high bit set (seven-bit transfers), the name, CR LF, ctrl-Z and LF (line-end
/// conversions and text-mode reads), after the example of PNG.
pub const MAGIC: [u8; 8] = *b"\x89HGT\r\n\x1a\n";

/// The version this code writes. It reads this one and [`super::payload_v1`].
pub const VERSION: u32 = 2;

/// Bytes of a full blake3 checksum.
pub const CHECKSUM_BYTES: usize = 32;

/// The most bytes of the origin record.
pub const MAX_ORIGIN_BYTES: u64 = 1 << 20;

/// The checksum of a block's part or of a directory page: the first half of its blake3 hash.
pub fn checksum(bytes: &[u8]) -> [u8; 16] {
    super::error::array(blake3::hash(bytes).as_bytes(), 0)
}
