//! A save is all or nothing: new files stand beside the old ones until a journal names them, then they take their place.
//!
//! A save writes each changed file as `NAME.new`, then `save.ron` (by rename), which says what takes its place and what
//! goes; then it does so and removes `save.ron`. Whoever finds a `save.ron` finishes that save first: doing it twice is the
//! same as once. Without one, what is called `.new` is a leftover that means nothing.

use super::error::{FolderError, io_at, rule};
use super::layer::Picture;
use crate::disk::{Disk, replace, temporary_of};
use crate::store::open_regular;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

pub(super) const KNOBS: &str = "terrain.ron";
pub(super) const ORIGIN: &str = "origin.json";
const JOURNAL: &str = "save.ron";
const MAX_JOURNAL_BYTES: u64 = 1 << 16;

/// Holds a folder for as long as it lives: alone to save, together with other readers to read. The operating system lets go
/// of it with the process, so that one that was killed blocks nobody. Where folders cannot be locked it holds nothing.
#[derive(Debug)]
pub(super) struct Lock(#[expect(dead_code, reason = "held, not read")] Option<File>);

impl Lock {
    /// To save: refused where somebody else is at work.
    pub(super) fn take(folder: &Path) -> Result<Self, FolderError> {
        let Ok(file) = File::open(folder) else { return Ok(Self(None)) };
        match file.try_lock() {
            Ok(()) => Ok(Self(Some(file))),
            Err(TryLockError::WouldBlock) => {
                Err(rule(folder, "another program is saving or reading here: try again when it is through"))
            }
            Err(TryLockError::Error(_)) => Ok(Self(None)),
        }
    }

    /// To read: waits for a save to end, and finishes one that was stopped.
    pub(super) fn share(disk: &dyn Disk, folder: &Path) -> Result<Self, FolderError> {
        let Ok(file) = File::open(folder) else {
            recover(disk, folder)?;
            return Ok(Self(None));
        };
        loop {
            if file.lock_shared().is_err() {
                recover(disk, folder)?;
                return Ok(Self(None));
            }
            if !is_there(&folder.join(JOURNAL))? {
                return Ok(Self(Some(file)));
            }
            // Finished by whoever is alone first; the others find it done.
            if file.unlock().and_then(|()| file.lock()).is_ok() {
                recover(disk, folder)?;
            }
            let _ = file.unlock();
        }
    }
}

/// Whether a file is there. One that cannot be looked at is no missing file.
pub(super) fn is_there(path: &Path) -> Result<bool, FolderError> {
    match std::fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(io_at(path)(e)),
    }
}

/// Whether a file is what a save that never counted left behind.
pub(super) fn is_leftover(name: &str) -> bool {
    let staged = name.strip_suffix(".new").is_some_and(|n| known().contains(n));
    staged || temporary_of(name) == Some(JOURNAL)
}

/// What a save does.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Journal {
    /// Files that `.new` ones replace.
    pub(super) replace: BTreeSet<String>,
    /// Files that go.
    pub(super) remove: BTreeSet<String>,
}

/// Every file that a save may touch.
pub(super) fn known() -> BTreeSet<String> {
    let mut names: BTreeSet<String> = Picture::all().into_iter().map(Picture::file_name).collect();
    names.extend([KNOBS.to_owned(), ORIGIN.to_owned()]);
    names
}

/// Where a save puts a file first.
pub(super) fn staged(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.new"))
}

/// Reads a small text file; `None` when there is none.
pub(super) fn read_text(path: &Path, limit: u64) -> Result<Option<String>, FolderError> {
    let file = match open_regular(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(io_at(path))?,
    };
    let mut text = String::new();
    file.take(limit + 1).read_to_string(&mut text).map_err(io_at(path))?;
    if text.len() as u64 > limit {
        return Err(rule(path, format!("is larger than the {limit} bytes that it may have")));
    }
    Ok(Some(text))
}

impl Journal {
    /// Makes the staged files count, and finishes.
    pub(super) fn commit(&self, disk: &dyn Disk, folder: &Path) -> Result<(), FolderError> {
        let path = folder.join(JOURNAL);
        let text = ron::to_string(self).map_err(|e| rule(&path, e))?;
        disk.flush_folder(folder).map_err(io_at(folder))?;
        replace(disk, &path, &mut |out| out.write_all(text.as_bytes())).map_err(io_at(&path))?;
        self.apply(disk, folder)
    }

    fn apply(&self, disk: &dyn Disk, folder: &Path) -> Result<(), FolderError> {
        let gone = |result: io::Result<()>| match result {
            // Done before.
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        };
        for name in &self.replace {
            let path = folder.join(name);
            gone(disk.rename(&staged(folder, name), &path)).map_err(io_at(&path))?;
        }
        for name in &self.remove {
            let path = folder.join(name);
            gone(disk.remove(&path)).map_err(io_at(&path))?;
        }
        disk.flush_folder(folder).map_err(io_at(folder))?;
        let path = folder.join(JOURNAL);
        disk.remove(&path).map_err(io_at(&path))?;
        disk.flush_folder(folder).map_err(io_at(folder))
    }
}

/// Finishes a save that was stopped after it counted. Whether there was one.
pub(super) fn recover(disk: &dyn Disk, folder: &Path) -> Result<bool, FolderError> {
    let path = folder.join(JOURNAL);
    let Some(text) = read_text(&path, MAX_JOURNAL_BYTES)? else { return Ok(false) };
    let journal: Journal = ron::from_str(&text).map_err(|e| rule(&path, format!("is no journal: {e}")))?;
    let known = known();
    // A journal from elsewhere must not reach other files.
    if let Some(name) = journal.replace.union(&journal.remove).find(|n| !known.contains(*n)) {
        return Err(rule(&path, format!("expected files of a world folder, found {name:?}")));
    }
    journal.apply(disk, folder)?;
    Ok(true)
}
