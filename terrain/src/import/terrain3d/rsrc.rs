//! Godot's binary resources: a header, names, and resources as lists of named values.
//!
//! Owns the grammar: it can step over any value, and keeps only the few kinds that a region needs. Never resolves
//! external resources.

use crate::import::ImportError;
use std::ops::Range;

/// How deep values may be nested.
const MAX_DEPTH: u32 = 32;

/// The longest table of names or resources; a region has a dozen.
const MAX_ENTRIES: u32 = 1 << 16;

/// The versions of the format that are read: Godot 4's.
const VERSIONS: std::ops::RangeInclusive<u32> = 3..=6;

const NAMED_IDS: u32 = 1;
const UIDS: u32 = 2;
const REAL_IS_DOUBLE: u32 = 4;
const SCRIPT_CLASS: u32 = 8;

/// A value, as far as it is of use.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Nothing,
    Integer(i64),
    Real(f64),
    Text(String),
    Point([i32; 2]),
    /// Where its bytes lie.
    Bytes(Range<usize>),
    /// Which of the file's own resources.
    Resource(usize),
    /// Stepped over.
    Other,
}

/// A file of resources.
pub(super) struct Resources<'a> {
    reader: Reader<'a>,
    /// Path and offset.
    resources: Vec<(String, usize)>,
}

impl<'a> Resources<'a> {
    /// Reads the tables, from where the header begins: after `RSRC` in a file, at the start of what a container held.
    pub(super) fn open(bytes: &'a [u8], at: usize) -> Result<Self, ImportError> {
        let mut r = Reader { bytes, at, big_endian: false, real_bytes: 4, named: false, names: Vec::new() };
        r.big_endian = r.word()? != 0;
        let double = r.word()? != 0;
        let (major, minor) = (r.word()?, r.word()?);
        let version = r.word()?;
        if !VERSIONS.contains(&version) {
            return Err(ImportError::source(format!(
                "expected a resource of version {} to {}, found {version} of Godot {major}.{minor}",
                VERSIONS.start(),
                VERSIONS.end()
            )));
        }
        r.text()?;
        r.skip(8)?;
        let flags = r.word()?;
        r.skip(8)?;
        if flags & SCRIPT_CLASS != 0 {
            r.text()?;
        }
        r.real_bytes = if double || flags & REAL_IS_DOUBLE != 0 { 8 } else { 4 };
        r.named = flags & NAMED_IDS != 0;
        r.skip(11 * 4)?;
        for _ in 0..r.entries()? {
            let name = r.text()?;
            r.names.push(name);
        }
        for _ in 0..r.entries()? {
            r.text()?;
            r.text()?;
            if flags & UIDS != 0 {
                r.skip(8)?;
            }
        }
        let mut resources = Vec::new();
        for _ in 0..r.entries()? {
            let path = r.text()?;
            let offset = r.long()?;
            resources.push((path, usize::try_from(offset).unwrap_or(usize::MAX)));
        }
        Ok(Self { reader: r, resources })
    }

    /// The resource that the file is about, which comes last.
    pub(super) fn main(&self) -> Result<usize, ImportError> {
        self.resources
            .len()
            .checked_sub(1)
            .ok_or_else(|| ImportError::source("expected at least one resource, found none"))
    }

    /// A resource's class and named values, where `wanted` says which to keep.
    pub(super) fn read(
        &mut self,
        resource: usize,
        wanted: &[&str],
    ) -> Result<(String, Vec<(String, Value)>), ImportError> {
        let r = &mut self.reader;
        r.at = self.resources[resource].1;
        let class = r.text()?;
        let mut found = Vec::new();
        for _ in 0..r.word()? {
            let name = r.name()?;
            let value = r.value(&self.resources, 0)?;
            if wanted.contains(&&*name) {
                found.push((name, value));
            }
        }
        Ok((class, found))
    }

    /// The entries of a resource's property that is a dictionary with texts as keys, where `wanted` says which to keep.
    pub(super) fn dictionary(
        &mut self,
        resource: usize,
        property: &str,
        wanted: &[&str],
    ) -> Result<(String, Vec<(String, Value)>), ImportError> {
        let r = &mut self.reader;
        r.at = self.resources[resource].1;
        let class = r.text()?;
        for _ in 0..r.word()? {
            if r.name()? != property {
                r.value(&self.resources, 0)?;
                continue;
            }
            if r.word()? != tag::DICTIONARY {
                return Err(r.wrong(&format!("{property} to be a dictionary")));
            }
            let mut found = Vec::new();
            for _ in 0..r.word()? & 0x7fff_ffff {
                let key = r.value(&self.resources, 1)?;
                let value = r.value(&self.resources, 1)?;
                match key {
                    Value::Text(key) if wanted.contains(&&*key) => found.push((key, value)),
                    _ => {}
                }
            }
            return Ok((class, found));
        }
        Err(r.wrong(&format!("a {class} with the property {property}")))
    }
}

/// Kinds of value.
mod tag {
    pub(super) const NIL: u32 = 1;
    pub(super) const BOOL: u32 = 2;
    pub(super) const INT: u32 = 3;
    pub(super) const REAL: u32 = 4;
    pub(super) const STRING: u32 = 5;
    pub(super) const NODE_PATH: u32 = 22;
    pub(super) const OBJECT: u32 = 24;
    pub(super) const DICTIONARY: u32 = 26;
    pub(super) const ARRAY: u32 = 30;
    pub(super) const BYTES: u32 = 31;
    pub(super) const STRINGS: u32 = 34;
    pub(super) const INT64: u32 = 40;
    pub(super) const DOUBLE: u32 = 41;
    pub(super) const STRING_NAME: u32 = 44;
    pub(super) const POINT: u32 = 45;
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    big_endian: bool,
    /// Bytes of a real number.
    real_bytes: u64,
    /// Whether resources are named by their index rather than by their path.
    named: bool,
    names: Vec<String>,
}

impl Reader<'_> {
    fn wrong(&self, what: &str) -> ImportError {
        self.unknown(what, "none: truncated or damaged?")
    }

    fn unknown(&self, what: &str, found: &str) -> ImportError {
        ImportError::source(format!(
            "byte {} of {}: expected {what}, found {found}",
            self.at,
            self.bytes.len()
        ))
    }

    /// The length of a table: an entry in memory is larger than the few bytes it takes in a file.
    fn entries(&mut self) -> Result<u32, ImportError> {
        match self.word()? {
            n if n > MAX_ENTRIES => {
                Err(self.unknown(&format!("a table of at most {MAX_ENTRIES} entries"), &n.to_string()))
            }
            n => Ok(n),
        }
    }

    fn skip(&mut self, bytes: u64) -> Result<Range<usize>, ImportError> {
        let end = usize::try_from(bytes).ok().and_then(|n| self.at.checked_add(n));
        match end {
            Some(end) if end <= self.bytes.len() => Ok(std::mem::replace(&mut self.at, end)..end),
            _ => Err(self.wrong(&format!("{bytes} bytes more"))),
        }
    }

    fn taken<const N: usize>(&mut self) -> Result<[u8; N], ImportError> {
        let range = self.skip(N as u64)?;
        let mut taken = [0; N];
        taken.copy_from_slice(&self.bytes[range]);
        if self.big_endian {
            taken.reverse();
        }
        Ok(taken)
    }

    fn word(&mut self) -> Result<u32, ImportError> {
        Ok(u32::from_le_bytes(self.taken()?))
    }

    fn long(&mut self) -> Result<u64, ImportError> {
        Ok(u64::from_le_bytes(self.taken()?))
    }

    /// Text of a length, which ends with a zero.
    fn text_of(&mut self, length: u32) -> Result<String, ImportError> {
        let range = self.skip(length.into())?;
        let bytes = &self.bytes[range];
        let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
        Ok(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }

    fn text(&mut self) -> Result<String, ImportError> {
        let length = self.word()?;
        self.text_of(length)
    }

    /// A text in the table of names, or in place.
    fn name(&mut self) -> Result<String, ImportError> {
        let id = self.word()?;
        if id & 0x8000_0000 != 0 {
            return self.text_of(id & 0x7fff_ffff);
        }
        self.names.get(id as usize).cloned().ok_or_else(|| self.wrong(&format!("a name of number {id}")))
    }

    /// Steps over a value.
    fn value(&mut self, resources: &[(String, usize)], depth: u32) -> Result<Value, ImportError> {
        if depth > MAX_DEPTH {
            return Err(self.wrong(&format!("values nested at most {MAX_DEPTH} deep")));
        }
        let kind = self.word()?;
        Ok(match kind {
            tag::NIL => Value::Nothing,
            tag::BOOL | tag::INT => Value::Integer(i64::from(self.word()? as i32)),
            tag::INT64 => Value::Integer(self.long()? as i64),
            tag::DOUBLE => Value::Real(f64::from_bits(self.long()?)),
            tag::REAL if self.real_bytes == 8 => Value::Real(f64::from_bits(self.long()?)),
            tag::REAL => Value::Real(f64::from(f32::from_bits(self.word()?))),
            tag::STRING | tag::STRING_NAME => Value::Text(self.text()?),
            tag::POINT => Value::Point([self.word()? as i32, self.word()? as i32]),
            tag::OBJECT => self.object(resources)?,
            tag::BYTES => {
                let length = self.word()?;
                let range = self.skip(length.into())?;
                self.skip((4 - u64::from(length) % 4) % 4)?;
                Value::Bytes(range)
            }
            tag::NODE_PATH => {
                let counts = self.taken::<4>()?;
                // Two counts of 16 bits; which is which does not matter to their sum.
                let (a, b) =
                    (u16::from_le_bytes([counts[0], counts[1]]), u16::from_le_bytes([counts[2], counts[3]]));
                for _ in 0..u32::from(a & 0x7fff) + u32::from(b & 0x7fff) {
                    self.name()?;
                }
                Value::Other
            }
            tag::STRINGS => {
                for _ in 0..self.word()? {
                    self.text()?;
                }
                Value::Other
            }
            tag::ARRAY | tag::DICTIONARY => {
                let each = if kind == tag::ARRAY { 1 } else { 2 };
                for _ in 0..u64::from(self.word()? & 0x7fff_ffff) * each {
                    self.value(resources, depth + 1)?;
                }
                Value::Other
            }
            _ => {
                self.plain(kind)?;
                Value::Other
            }
        })
    }

    fn object(&mut self, resources: &[(String, usize)]) -> Result<Value, ImportError> {
        match self.word()? {
            0 => Ok(Value::Nothing),
            1 => {
                self.text()?;
                self.text()?;
                Ok(Value::Other)
            }
            2 => {
                let index = self.word()?;
                let local = format!("local://{index}");
                let found = if self.named {
                    Some(index as usize).filter(|&i| i < resources.len())
                } else {
                    resources.iter().position(|(path, _)| *path == local)
                };
                found.map(Value::Resource).ok_or_else(|| self.wrong(&format!("a resource of number {index}")))
            }
            3 => {
                self.word()?;
                Ok(Value::Other)
            }
            other => Err(self.unknown("an object of kind 0 to 3", &other.to_string())),
        }
    }

    /// Steps over a value whose size its kind says, or its kind and a count.
    fn plain(&mut self, kind: u32) -> Result<(), ImportError> {
        let real = self.real_bytes;
        let fixed = match kind {
            10 => 2 * real,           // Vector2
            11 | 14 | 13 => 4 * real, // Rect2, Quaternion, Plane
            12 => 3 * real,           // Vector3
            15 | 18 => 6 * real,      // AABB, Transform2D
            16 => 9 * real,           // Basis
            17 => 12 * real,          // Transform3D
            20 => 16,                 // Color, always single
            23 => 4,                  // RID
            42 | 43 => 0,             // Callable, Signal
            46 | 51 => 16,            // Rect2i, Vector4i
            47 => 12,                 // Vector3i
            50 => 4 * real,           // Vector4
            52 => 16 * real,          // Projection
            _ => {
                let element = match kind {
                    32 | 33 => 4,   // PackedInt32Array, PackedFloat32Array
                    35 => 3 * real, // PackedVector3Array
                    36 => 16,       // PackedColorArray
                    37 => 2 * real, // PackedVector2Array
                    48 | 49 => 8,   // PackedInt64Array, PackedFloat64Array
                    53 => 4 * real, // PackedVector4Array
                    _ => return Err(self.unknown("a value of a known kind", &kind.to_string())),
                };
                u64::from(self.word()?) * element
            }
        };
        self.skip(fixed).map(drop)
    }
}
