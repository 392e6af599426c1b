//! The head: what the whole file is, its table of sections, and the checksum that says so.

use super::{CHECKSUM_BYTES, MAGIC, MAX_LEVELS, MAX_ORIGIN_BYTES, Section, VERSION};
use crate::config::TerrainConfig;
use crate::content::MAX_CATALOGUE_BYTES;
use crate::coord::BlockSide;
use crate::format::FormatError;
use crate::format::config::{CONFIG_BYTES, decode_config};
use crate::format::error::{array, hex, i32_at, u32_at, u64_at};
use crate::height::{HEIGHT_LIMIT, VOID};

/// Bytes of the head before its table.
pub const HEAD_PREFIX_BYTES: usize = 256;
const CONFIG_AT: usize = 176;
const ENTRY_BYTES: usize = 64;

/// What is counted over the whole terrain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Samples without a height.
    pub void_samples: u64,
    /// Cells inside the valid extent with a triangle removed.
    pub hole_cells: u64,
    /// Lowest and highest sample in quanta; `None` when all are void.
    pub range: Option<(i32, i32)>,
}

/// What is lost by deriving encodings from the full weights: total variation, the largest of any texel. Derived.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Losses {
    /// Of HD texels, in 1/65535, rounded up.
    pub hd: u32,
    /// Of Normal texels, in 1/65535, rounded up; 0 when there are none.
    pub normal: u32,
    /// The bound of ID control's error, in 1/524280; 0 when there is none.
    pub control: u32,
    /// The budget that ID control was held to, a fraction of all weight; 0 when there is none.
    pub control_budget: f64,
}

/// A line of the table of sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectionEntry {
    /// Which section.
    pub section: Section,
    /// Levels it has: 1, or those of the pyramid.
    pub levels: u8,
    /// Which planes it has that are not 0 everywhere.
    pub planes: u64,
    /// Where it starts; 0 for a section cut into blocks.
    pub offset: u64,
    /// Its bytes; of a section cut into blocks those of all its bodies.
    pub length: u64,
    /// Its blake3 hash; zeros for a section cut into blocks.
    pub checksum: [u8; 32],
}

/// Everything a payload says before its bodies.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// What changes the terrain's bits.
    pub config: TerrainConfig,
    /// Samples a side of the blocks.
    pub side: BlockSide,
    /// The digest of the canonical content.
    pub digest: [u8; 32],
    /// The largest rounding error of the heights in metres, not negative; a record.
    pub rounding_m: f64,
    /// What is counted over the whole terrain. Derived.
    pub totals: Totals,
    /// What deriving encodings loses. Derived.
    pub losses: Losses,
    /// The sections in the order of their codes.
    pub sections: Vec<SectionEntry>,
    /// Length of the whole file in bytes.
    pub file_bytes: u64,
}

/// What the fixed part says of the size of the head, checked against the file's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// Bytes of the whole head, its checksum included.
    pub head_bytes: usize,
}

impl Prefix {
    /// Reads the size from the fixed part of a file of this length whose magic and version are right.
    ///
    /// # Errors
    /// A length that is wrong.
    pub fn decode(bytes: &[u8], file_bytes: u64) -> Result<Self, FormatError> {
        if bytes.len() < HEAD_PREFIX_BYTES {
            let found = format!("{} bytes (truncated?)", bytes.len());
            return Err(FormatError::new(0, "file", format!("at least {HEAD_PREFIX_BYTES} bytes"), found));
        }
        let said = u64_at(bytes, 16);
        if said != file_bytes {
            let found = format!("{file_bytes} (truncated or appended to?)");
            return Err(FormatError::new(16, "file length", format!("{said} bytes"), found));
        }
        let count = u32_at(bytes, 24) as usize;
        if count > Section::ALL.len() {
            let expected = format!("at most {}", Section::ALL.len());
            return Err(FormatError::new(24, "section count", expected, count));
        }
        let head_bytes = Head::bytes_for(count);
        let said = u32_at(bytes, 12);
        if said as usize != head_bytes {
            return Err(FormatError::new(12, "head length", head_bytes, said));
        }
        if head_bytes as u64 > file_bytes {
            let expected = format!("at most the file's {file_bytes} bytes");
            return Err(FormatError::new(12, "head length", expected, head_bytes));
        }
        Ok(Self { head_bytes })
    }
}

impl Head {
    /// Bytes of a head with so many sections.
    pub const fn bytes_for(sections: usize) -> usize {
        HEAD_PREFIX_BYTES + sections * ENTRY_BYTES + CHECKSUM_BYTES
    }

    /// The entry of a section, if the file has it.
    pub fn section(&self, section: Section) -> Option<&SectionEntry> {
        self.sections.iter().find(|s| s.section == section)
    }

    /// The head's bytes, checksum included.
    pub fn encode(&self) -> Vec<u8> {
        let head_bytes = Self::bytes_for(self.sections.len());
        let config = self.config.canonical_bytes();
        let (min, max) = self.totals.range.unwrap_or((VOID, VOID));
        let mut out = Vec::with_capacity(head_bytes);
        out.extend(MAGIC);
        out.extend(VERSION.to_le_bytes());
        out.extend((head_bytes as u32).to_le_bytes());
        out.extend(self.file_bytes.to_le_bytes());
        out.extend((self.sections.len() as u32).to_le_bytes());
        out.extend(u32::from(self.side).to_le_bytes());
        out.extend(blake3::hash(&config).as_bytes());
        out.extend(self.digest);
        out.extend(self.rounding_m.to_bits().to_le_bytes());
        out.extend(self.totals.void_samples.to_le_bytes());
        out.extend(self.totals.hole_cells.to_le_bytes());
        out.extend(min.to_le_bytes());
        out.extend(max.to_le_bytes());
        out.extend(self.losses.hd.to_le_bytes());
        out.extend(self.losses.normal.to_le_bytes());
        out.extend(self.losses.control.to_le_bytes());
        out.extend([0; 4]);
        out.extend(self.losses.control_budget.to_bits().to_le_bytes());
        out.resize(CONFIG_AT, 0);
        out.extend(&config);
        out.resize(HEAD_PREFIX_BYTES, 0);
        for s in &self.sections {
            out.extend(s.section.code().to_le_bytes());
            out.push(s.levels);
            out.push(0);
            out.extend([0; 4]);
            out.extend(s.planes.to_le_bytes());
            out.extend(s.offset.to_le_bytes());
            out.extend(s.length.to_le_bytes());
            out.extend(s.checksum);
        }
        let checksum = blake3::hash(&out);
        out.extend(checksum.as_bytes());
        out
    }

    /// Reads a whole head of the length that [`Prefix::decode`] gave.
    ///
    /// # Errors
    /// The first field that is wrong.
    pub fn decode(bytes: &[u8], file_bytes: u64) -> Result<Self, FormatError> {
        let prefix = Prefix::decode(bytes, file_bytes)?;
        if bytes.len() != prefix.head_bytes {
            return Err(FormatError::new(12, "head length", bytes.len(), prefix.head_bytes));
        }
        let body = prefix.head_bytes - CHECKSUM_BYTES;
        let found: [u8; 32] = array(bytes, body);
        let expected = *blake3::hash(&bytes[..body]).as_bytes();
        if found != expected {
            return Err(FormatError::new(body as u64, "head checksum", hex(&expected), hex(&found)));
        }
        let side = BlockSide::try_from(u32_at(bytes, 28))
            .map_err(|_| FormatError::new(28, "block side", "32, 64 or 128", u32_at(bytes, 28)))?;
        let canonical = &bytes[CONFIG_AT..CONFIG_AT + CONFIG_BYTES];
        let config = decode_config(canonical, CONFIG_AT as u64)?;
        let hash = *blake3::hash(canonical).as_bytes();
        if array::<32>(bytes, 32) != hash {
            return Err(FormatError::new(32, "configuration hash", hex(&hash), hex(&bytes[32..64])));
        }
        let rounding_m = f64::from_bits(u64_at(bytes, 96));
        if !(rounding_m.is_finite() && rounding_m >= 0.0) {
            return Err(FormatError::new(96, "rounding", "metres, not negative", rounding_m));
        }
        let reserved = [140..144, 152..CONFIG_AT, CONFIG_AT + CONFIG_BYTES..HEAD_PREFIX_BYTES];
        for r in reserved {
            if bytes[r.clone()].iter().any(|&b| b != 0) {
                return Err(FormatError::new(r.start as u64, "reserved bytes", "zeros", "something else"));
            }
        }
        let totals = decode_totals(bytes, &config)?;
        let losses = Losses {
            hd: u32_at(bytes, 128),
            normal: u32_at(bytes, 132),
            control: u32_at(bytes, 136),
            control_budget: f64::from_bits(u64_at(bytes, 144)),
        };
        if !(losses.control_budget >= 0.0 && losses.control_budget <= 1.0) {
            return Err(FormatError::new(
                144,
                "control budget",
                "a number from 0 to 1",
                losses.control_budget,
            ));
        }
        let table = &bytes[HEAD_PREFIX_BYTES..body];
        let sections = decode_table(table, prefix.head_bytes as u64, file_bytes)?;
        Ok(Self { config, side, digest: array(bytes, 64), rounding_m, totals, losses, sections, file_bytes })
    }
}

fn decode_totals(bytes: &[u8], config: &TerrainConfig) -> Result<Totals, FormatError> {
    let (void_samples, hole_cells) = (u64_at(bytes, 104), u64_at(bytes, 112));
    let all = config.samples.map(u64::from);
    if void_samples > all[0] * all[1] {
        return Err(FormatError::new(
            104,
            "void samples",
            format!("at most {}", all[0] * all[1]),
            void_samples,
        ));
    }
    if hole_cells > all[0] * all[1] {
        return Err(FormatError::new(112, "hole cells", format!("at most {}", all[0] * all[1]), hole_cells));
    }
    let (min, max) = (i32_at(bytes, 120), i32_at(bytes, 124));
    let fits = |q: i32| q.unsigned_abs() < HEIGHT_LIMIT as u32;
    let range = match (min, max) {
        (VOID, VOID) if void_samples == all[0] * all[1] => None,
        (min, max) if fits(min) && fits(max) && min <= max => Some((min, max)),
        _ => {
            return Err(FormatError::new(120, "height range", "a possible range", format!("{min} to {max}")));
        }
    };
    Ok(Totals { void_samples, hole_cells, range })
}

fn decode_table(table: &[u8], bodies_at: u64, file_bytes: u64) -> Result<Vec<SectionEntry>, FormatError> {
    let mut sections: Vec<SectionEntry> = Vec::with_capacity(table.len() / ENTRY_BYTES);
    for (i, b) in table.chunks_exact(ENTRY_BYTES).enumerate() {
        let at = (HEAD_PREFIX_BYTES + i * ENTRY_BYTES) as u64;
        let code = u16::from_le_bytes(array(b, 0));
        let Some(section) = Section::of_code(code) else {
            let found = format!("{code} (written by a newer version?)");
            return Err(FormatError::new(at, "section code", "a known section", found));
        };
        if sections.last().is_some_and(|s| s.section >= section) {
            return Err(FormatError::new(at, "section code", "sections in order, each once", code));
        }
        if b[3..8].iter().any(|&f| f != 0) {
            let found = format!("{} (written by a newer version?)", hex(&b[3..8]));
            return Err(FormatError::new(at + 3, "section flags", "zeros", found));
        }
        let s = SectionEntry {
            section,
            levels: b[2],
            planes: u64_at(b, 8),
            offset: u64_at(b, 16),
            length: u64_at(b, 24),
            checksum: array(b, 32),
        };
        check_place(&s, at, bodies_at, file_bytes)?;
        sections.push(s);
    }
    for s in Section::ALL.into_iter().filter(|s| s.is_required()) {
        if !sections.iter().any(|e| e.section == s) {
            let expected = format!("a {} section", s.name());
            return Err(FormatError::new(HEAD_PREFIX_BYTES as u64, "sections", expected, "none"));
        }
    }
    Ok(sections)
}

fn check_place(s: &SectionEntry, at: u64, bodies_at: u64, file_bytes: u64) -> Result<(), FormatError> {
    let most = if s.section.has_levels() { MAX_LEVELS } else { 1 };
    if s.levels == 0 || s.levels > most {
        return Err(FormatError::new(at + 2, "section levels", format!("1 to {most}"), s.levels));
    }
    if s.section.is_blocked() {
        if s.offset != 0 || s.checksum != [0; 32] || s.length > file_bytes {
            return Err(FormatError::new(at + 16, "section place", "none for a section of blocks", s.offset));
        }
        return Ok(());
    }
    if s.planes != 0 {
        return Err(FormatError::new(at + 8, "section planes", "none", s.planes));
    }
    if s.offset < bodies_at || s.offset.checked_add(s.length).is_none_or(|end| end > file_bytes) {
        let expected = format!("bytes {bodies_at} to {file_bytes}");
        let found = format!("{} bytes at {}", s.length, s.offset);
        return Err(FormatError::new(at + 16, "section place", expected, found));
    }
    let most = match s.section {
        Section::Catalogue => MAX_CATALOGUE_BYTES as u64,
        Section::Origin => MAX_ORIGIN_BYTES,
        _ => u64::MAX,
    };
    if s.length > most {
        return Err(FormatError::new(at + 24, "section length", format!("at most {most}"), s.length));
    }
    Ok(())
}
