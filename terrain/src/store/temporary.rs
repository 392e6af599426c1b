//! Files that appear whole or not at all: a temporary file beside the target, flushed, renamed, its folder flushed.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// A file that is removed again unless it is renamed into place.
pub(crate) struct Temporary {
    pub(crate) file: File,
    path: PathBuf,
    target: PathBuf,
    keep: bool,
}

impl Temporary {
    /// A new file beside the target. A link stays a link: what it points to will be replaced. A device or a pipe is
    /// nobody's to replace.
    ///
    /// # Errors
    /// A target that is no regular file, and what the operating system says.
    pub(crate) fn beside(path: &Path) -> io::Result<Self> {
        let real = path.canonicalize().or_else(|_| beyond_link(path));
        let path = real.as_deref().unwrap_or(path);
        if path.exists() && !path.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is there and not a regular file"));
        }
        let target = path.to_owned();
        if path.file_name().is_none() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path has no file name"));
        }
        for attempt in 0..100 {
            // A name of its own: the target's may be as long as names can be.
            let path = path.with_file_name(format!(".highground-{}-{attempt}.tmp", std::process::id()));
            match OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
                Ok(file) => return Ok(Self { file, path, target, keep: false }),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "too many temporary files are left beside it"))
    }

    /// Flushes the file to its device, renames it onto the target and flushes the folder, so that after a power cut
    /// there is the old file or the new one.
    ///
    /// # Errors
    /// What the operating system says; the target is then as it was.
    pub(crate) fn publish(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.path, &self.target)?;
        self.keep = true;
        sync_folder(&self.target)
    }
}

/// Where a link leads to nothing yet: there the file will be.
fn beyond_link(path: &Path) -> io::Result<PathBuf> {
    let mut at = path.to_owned();
    // Links may lead to links, but not for ever.
    for _ in 0..40 {
        match fs::read_link(&at) {
            Ok(next) => at = at.parent().unwrap_or(Path::new("")).join(next),
            Err(_) if at != path => return Ok(at),
            Err(e) => return Err(e),
        }
    }
    Err(io::Error::other("too many links"))
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.keep {
            // Nothing more can be done about a leftover here.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Flushes a file's folder: the rename itself.
#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Writes a whole small file in this way.
///
/// # Errors
/// What the operating system says; the target is then as it was.
pub fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    use std::io::Write;
    let mut target = Temporary::beside(path)?;
    target.file.write_all(bytes)?;
    target.publish()
}
