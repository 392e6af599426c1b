//! Stages kept in a folder, by their keys. A damaged file is no file: the stage is cooked again and written anew.

use super::{Key, Made, Told};
use crate::config::SPACING_PER_M;
use crate::cook::field::Field;
use crate::cook::spline::Strip;
use crate::store::open_regular;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"HGSTAGE2";

/// Magic, columns, rows, spacing, bytes of the record.
const HEAD: usize = 8 + 4 * 4;

/// The most bytes of a record.
const MAX_RECORD: u32 = 256 << 20;

/// Bytes of a checksum.
const SUM: usize = 32;

/// What a kept stage says beside its heights.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    holes: Vec<[u32; 2]>,
    strips: Vec<Strip>,
    told: Told,
}

/// A folder of stages.
pub(super) struct Cache {
    folder: PathBuf,
}

impl Cache {
    pub(super) fn open(folder: &Path) -> Result<Self, (PathBuf, io::Error)> {
        fs::create_dir_all(folder).map_err(|e| (folder.to_owned(), e))?;
        Ok(Self { folder: folder.to_owned() })
    }

    fn path(&self, key: Key) -> PathBuf {
        self.folder.join(format!("{}.stage", blake3::Hash::from(key).to_hex()))
    }

    /// A kept stage; `None` when there is none, it is damaged, or its size is not admitted.
    pub(super) fn read(&self, key: Key, admit: impl FnOnce([u32; 2]) -> bool) -> Option<Made> {
        let mut file = open_regular(&self.path(key)).ok()?;
        let length = file.metadata().ok()?.len();
        let mut head = [0; HEAD];
        file.read_exact(&mut head).ok()?;
        let word = |i: usize| u32::from_le_bytes([head[i], head[i + 1], head[i + 2], head[i + 3]]);
        let (size, spacing, record) = ([word(8), word(12)], word(16), word(20));
        let samples = u64::from(size[0]) * u64::from(size[1]);
        let expected = (HEAD + SUM) as u64 + u64::from(record) + samples.checked_mul(8)?;
        if super::super::plan::spacing(f64::from(spacing) / f64::from(SPACING_PER_M)).is_err() {
            return None;
        }
        // Sizes are admitted before their product is used to take memory.
        if &head[..8] != MAGIC || record > MAX_RECORD || !admit(size) || length != expected {
            return None;
        }
        // The key is under the sum, so that a stage is none under another's name.
        let mut sum = blake3::Hasher::new();
        sum.update(&key);
        sum.update(&head);
        let mut text = vec![0; record as usize];
        file.read_exact(&mut text).ok()?;
        sum.update(&text);
        let metres = read_metres(&mut file, samples as usize, &mut sum)?;
        let mut stated = [0; SUM];
        file.read_exact(&mut stated).ok()?;
        if sum.finalize() != blake3::Hash::from(stated) {
            return None;
        }
        let record: Record = serde_json::from_slice(&text).ok()?;
        let field = Field::new(size, spacing, metres);
        field.check().ok()?;
        // A sum that is right does not make it a stage of ours.
        let on_map = |c: &[u32; 2]| c[0] < size[0] - 1 && c[1] < size[1] - 1;
        let sorted = record.holes.is_sorted_by_key(|c| (c[1], c[0]));
        if !sorted || !record.holes.iter().all(on_map) || !record.strips.iter().all(Strip::is_sound) {
            return None;
        }
        Some(Made { field, holes: record.holes, strips: record.strips, told: record.told })
    }

    /// Keeps a stage; readers see the whole of it or nothing.
    pub(super) fn write(&self, key: Key, made: &Made) -> Result<(), (PathBuf, io::Error)> {
        let path = self.path(key);
        let own =
            self.folder.join(format!(".{}-{}.tmp", blake3::Hash::from(key).to_hex(), std::process::id()));
        let result = write_to(&own, key, made).and_then(|()| fs::rename(&own, &path));
        result.map_err(|e| {
            // What is left of it is of no use to anybody.
            let _ = fs::remove_file(&own);
            (path, e)
        })
    }
}

fn read_metres(file: &mut impl Read, samples: usize, sum: &mut blake3::Hasher) -> Option<Vec<f64>> {
    let mut metres = Vec::with_capacity(samples);
    let mut bytes = vec![0; 1 << 16];
    while metres.len() < samples {
        let part = (samples - metres.len()).min(bytes.len() / 8) * 8;
        file.read_exact(&mut bytes[..part]).ok()?;
        sum.update(&bytes[..part]);
        metres.extend(bytes[..part].as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)));
    }
    Some(metres)
}

fn write_to(path: &Path, key: Key, made: &Made) -> io::Result<()> {
    let (holes, strips, told) = (made.holes.clone(), made.strips.clone(), made.told.clone());
    let text = serde_json::to_vec(&Record { holes, strips, told })?;
    let record = u32::try_from(text.len()).ok().filter(|&n| n <= MAX_RECORD);
    let Some(record) = record else {
        return Err(io::Error::other("the stage's record is too large to keep"));
    };
    let mut out = Summed { out: BufWriter::new(fs::File::create(path)?), sum: blake3::Hasher::new() };
    out.sum.update(&key);
    out.put(MAGIC)?;
    for word in [made.field.size()[0], made.field.size()[1], made.field.spacing_256(), record] {
        out.put(&word.to_le_bytes())?;
    }
    out.put(&text)?;
    let mut bytes = Vec::with_capacity(1 << 16);
    for part in made.field.metres().chunks(1 << 13) {
        bytes.clear();
        part.iter().for_each(|m| bytes.extend(m.to_le_bytes()));
        out.put(&bytes)?;
    }
    let sum = out.sum.finalize();
    out.out.write_all(sum.as_bytes())?;
    out.out.into_inner()?.sync_all()
}

struct Summed {
    out: BufWriter<fs::File>,
    sum: blake3::Hasher,
}

impl Summed {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.update(bytes);
        self.out.write_all(bytes)
    }
}
