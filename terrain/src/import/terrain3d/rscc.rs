//! Godot's compressed container: `RSCC`, mode, block size, total size, the packed sizes of all blocks, the blocks, `RSCC`.
//!
//! Owns unpacking to exactly the size that is claimed. Never looks at what is inside.

use crate::import::ImportError;
use ruzstd::decoding::FrameDecoder;

/// What a container begins and ends with.
pub(super) const MAGIC: &[u8; 4] = b"RSCC";

/// The most bytes that are unpacked: four times what the largest region has.
pub(super) const MAX_BYTES: u64 = 1 << 28;

/// The largest block; Godot writes 4096.
const MAX_BLOCK_BYTES: usize = 1 << 20;

/// The most that a block may look back.
const MAX_WINDOW_BYTES: u64 = 8 << 20;

/// Unpacks a container. Memory grows with what is really unpacked.
///
/// # Errors
/// Another compression than zstd, sizes that the container does not hold, damaged blocks.
pub(super) fn unpack(bytes: &[u8]) -> Result<Vec<u8>, ImportError> {
    let word = |at: usize| {
        let word = bytes.get(at..at + 4).and_then(|b| <[u8; 4]>::try_from(b).ok()).map(u32::from_le_bytes);
        word.ok_or_else(|| short(at + 4, bytes.len()))
    };
    let mode = word(4)?;
    if mode != 2 {
        let name =
            ["FastLZ", "deflate", "zstd", "gzip", "Brotli"].get(mode as usize).unwrap_or(&"none known");
        return Err(ImportError::source(format!(
            "byte 4: expected compression 2 (zstd), found {mode} ({name}): save it with Godot 4's own settings"
        )));
    }
    let (block, total) = (word(8)? as usize, word(12)? as usize);
    if block == 0 || block > MAX_BLOCK_BYTES || total as u64 > MAX_BYTES {
        return Err(ImportError::source(format!(
            "byte 8: expected blocks of 1 to {MAX_BLOCK_BYTES} bytes and at most {MAX_BYTES} in all, found {block} and {total}"
        )));
    }
    let blocks = total / block + 1;
    let mut at = 16 + blocks * 4;
    if at > bytes.len() {
        return Err(short(at, bytes.len()));
    }
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(MAX_WINDOW_BYTES);
    let mut out = Vec::new();
    let mut buffer = vec![0; block];
    for i in 0..blocks {
        let packed = word(16 + i * 4)? as usize;
        let Some(from) = bytes.get(at..at.saturating_add(packed)) else {
            return Err(short(at.saturating_add(packed), bytes.len()));
        };
        let expected = block.min(total - i * block);
        let found = decoder.decode_all(from, &mut buffer[..expected]).map_err(|e| {
            let e = e.to_string().replace('\n', " ");
            ImportError::source(format!(
                "byte {at}: expected a zstd block of {expected} bytes, found damage: {e}"
            ))
        })?;
        if found != expected {
            return Err(ImportError::source(format!(
                "byte {at}: expected a zstd block of {expected} bytes, found {found}"
            )));
        }
        out.extend(&buffer[..expected]);
        at += packed;
    }
    if bytes.get(at..) != Some(MAGIC) {
        return Err(ImportError::source(format!(
            "byte {at}: expected RSCC and the end of the file after the last block, found something else: truncated?"
        )));
    }
    Ok(out)
}

fn short(needed: usize, found: usize) -> ImportError {
    ImportError::source(format!("expected at least {needed} bytes, found a file of {found}: truncated?"))
}
