//! The directory: one fixed-size entry a block, row-major, and its checksum.

use super::{BlockShape, CHECKSUM_BYTES, ENTRY_BYTES, FormatError, Header};
use crate::config::TerrainConfig;
use crate::coord::{BlockPos, BlockSide};
use crate::format::error::{array, hex, i32_at, u32_at, u64_at};
use crate::height::{HEIGHT_LIMIT, VOID};
use crate::state::DataState;

/// How a block's heights are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Every sample is void: neither heights nor masks are stored.
    Void,
    /// 16-bit offsets from the entry's lowest height; 0xFFFF is void.
    Offset16,
    /// 32-bit offsets from the entry's lowest height; 0xFFFFFFFF is void.
    Offset32,
}

/// What the directory says of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Valid or Empty: every block on the map has an entry.
    pub state: DataState,
    /// How its heights are stored.
    pub encoding: Encoding,
    /// Void samples on the map.
    pub void_samples: u32,
    /// Cells inside the valid extent with a triangle removed.
    pub hole_cells: u32,
    /// Where its body starts in the file.
    pub offset: u64,
    /// Bytes of its body.
    pub length: u32,
    /// Lowest sample in quanta; [`VOID`] when all are void.
    pub min: i32,
    /// Highest sample in quanta; [`VOID`] when all are void.
    pub max: i32,
    /// The first half of the blake3 hash of its body.
    pub checksum: [u8; 16],
}

/// The checksum of a block body.
pub fn entry_checksum(body: &[u8]) -> [u8; 16] {
    array(blake3::hash(body).as_bytes(), 0)
}

/// Bytes of the directory of a terrain, its checksum included.
pub fn directory_bytes(config: &TerrainConfig, side: BlockSide) -> u64 {
    let [w, h] = config.blocks(side).map(u64::from);
    w * h * ENTRY_BYTES as u64 + CHECKSUM_BYTES as u64
}

/// All entries, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Directory {
    blocks: [u32; 2],
    entries: Vec<Entry>,
}

impl Directory {
    /// All entries, row-major.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry of a block; `None` beyond the map.
    pub fn get(&self, pos: BlockPos) -> Option<&Entry> {
        let inside =
            pos.x >= 0 && pos.z >= 0 && (pos.x as u32) < self.blocks[0] && (pos.z as u32) < self.blocks[1];
        if !inside {
            return None;
        }
        self.entries.get(pos.z as usize * self.blocks[0] as usize + pos.x as usize)
    }

    /// Reads the directory of a header; `at` is where its bytes start in the file. Bodies must follow the directory
    /// without gaps and end with the file, so that every byte of a file is under some checksum.
    ///
    /// # Errors
    /// The first field that is wrong.
    pub fn decode(bytes: &[u8], at: u64, header: &Header) -> Result<Self, FormatError> {
        let expected = directory_bytes(&header.config, header.side);
        if bytes.len() as u64 != expected {
            return Err(FormatError::new(at, "directory length", expected, bytes.len()));
        }
        let (body, sum) = bytes.split_at(bytes.len() - CHECKSUM_BYTES);
        let expected = *blake3::hash(body).as_bytes();
        if sum != expected {
            let at = at + body.len() as u64;
            return Err(FormatError::new(at, "directory checksum", hex(&expected), hex(sum)));
        }
        let blocks = header.config.blocks(header.side);
        let mut next = at + bytes.len() as u64;
        let mut entries = Vec::with_capacity(body.len() / ENTRY_BYTES);
        for (i, b) in body.chunks_exact(ENTRY_BYTES).enumerate() {
            let pos = BlockPos::new((i as u32 % blocks[0]) as i32, (i as u32 / blocks[0]) as i32);
            let entry = decode_entry(b, at + (i * ENTRY_BYTES) as u64, &BlockShape::of(header, pos))?;
            if entry.offset != next {
                let at = at + (i * ENTRY_BYTES) as u64 + 8;
                return Err(FormatError::new(at, "block offset", next, entry.offset));
            }
            // At most 2³⁴ entries of less than 2³² bytes: no overflow.
            next += u64::from(entry.length);
            entries.push(entry);
        }
        if next != header.file_bytes {
            let found = format!("the last block ends at {next}");
            return Err(FormatError::new(
                at,
                "directory",
                format!("bodies up to {}", header.file_bytes),
                found,
            ));
        }
        Ok(Self { blocks, entries })
    }
}

fn decode_entry(b: &[u8], at: u64, shape: &BlockShape) -> Result<Entry, FormatError> {
    let state = match b[0] {
        1 => DataState::Valid,
        2 => DataState::Empty,
        other => return Err(FormatError::new(at, "block state", "1 (valid) or 2 (empty)", other)),
    };
    let encoding = match b[1] {
        1 => Encoding::Void,
        2 => Encoding::Offset16,
        3 => Encoding::Offset32,
        other => return Err(FormatError::new(at + 1, "block encoding", "1, 2 or 3", other)),
    };
    if b[2..4] != [0, 0] {
        return Err(FormatError::new(at + 2, "reserved bytes", "zeros", hex(&b[2..4])));
    }
    let entry = Entry {
        state,
        encoding,
        void_samples: u32_at(b, 4),
        offset: u64_at(b, 8),
        length: u32_at(b, 16),
        hole_cells: u32_at(b, 20),
        min: i32_at(b, 24),
        max: i32_at(b, 28),
        checksum: array(b, 32),
    };
    let length = shape.body_bytes(encoding);
    if entry.length != length {
        return Err(FormatError::new(at + 16, "block length", length, entry.length));
    }
    let fits = |q: i32| q.unsigned_abs() < HEIGHT_LIMIT as u32;
    let range_is_right = match encoding {
        Encoding::Void => entry.min == VOID && entry.max == VOID && state == DataState::Empty,
        Encoding::Offset16 | Encoding::Offset32 => {
            fits(entry.min) && fits(entry.max) && entry.min <= entry.max
        }
    };
    if !range_is_right {
        let found = format!("{} to {}, state {}, encoding {}", entry.min, entry.max, b[0], b[1]);
        return Err(FormatError::new(at + 24, "height range", "a range that fits the encoding", found));
    }
    Ok(entry)
}
