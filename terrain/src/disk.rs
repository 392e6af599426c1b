//! The few steps by which files are made, renamed and removed, behind a trait.
//!
//! Owns the order of those steps for one file: a new file beside the target, flushed, renamed, its folder flushed. A test
//! puts another disk in its place and stops between any two steps, as a power cut would. Never knows what is in a file.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file that is being written.
pub trait DiskFile: Write + Send {
    /// Flushes what was written to the device.
    ///
    /// # Errors
    /// What the operating system says.
    fn flush_to_device(&mut self) -> io::Result<()>;
}

/// What changes files.
pub trait Disk: Sync {
    /// A new empty file, in place of one that is there.
    ///
    /// # Errors
    /// What the operating system says.
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;

    /// Renames a file, over one that is there.
    ///
    /// # Errors
    /// What the operating system says.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// What the operating system says.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Flushes a folder: the renames and removals in it.
    ///
    /// # Errors
    /// What the operating system says.
    fn flush_folder(&self, folder: &Path) -> io::Result<()>;
}

/// The disk of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

impl DiskFile for File {
    fn flush_to_device(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}

impl Disk for RealDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        // What lies here under a name of our own is a leftover: removed rather than written into, whatever it links to.
        match fs::remove_file(path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        Ok(Box::new(fs::OpenOptions::new().write(true).create_new(true).open(path)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    #[cfg(unix)]
    fn flush_folder(&self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }

    #[cfg(not(unix))]
    fn flush_folder(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }
}

/// The name of a temporary file beside `path`, this process's own.
fn temporary(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.tmp", std::process::id()));
    path.with_file_name(name)
}

/// The name of the file that a temporary file of [`replace`] is for, where a name is one of these.
pub(crate) fn temporary_of(name: &str) -> Option<&str> {
    let (of, process) = name.strip_prefix('.')?.strip_suffix(".tmp")?.rsplit_once('.')?;
    process.bytes().all(|b| b.is_ascii_digit()).then_some(of)
}

/// Makes or replaces a file: `write` fills a temporary one, which is flushed and renamed into place. After a power cut
/// there is the old file or the new one.
///
/// # Errors
/// What `write` or the operating system says; the target is then as it was.
pub fn replace(
    disk: &dyn Disk,
    path: &Path,
    write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let own = temporary(path);
    let mut fill = || {
        let mut file = disk.create(&own)?;
        write(&mut file)?;
        file.flush_to_device()?;
        drop(file);
        disk.rename(&own, path)
    };
    fill().inspect_err(|_| {
        // Nothing more can be done about a leftover here.
        let _ = disk.remove(&own);
    })?;
    disk.flush_folder(path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_finished_leaves_the_old_one_and_nothing_else() {
        let folder = std::env::temp_dir().join(format!("highground-disk-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a");
        replace(&RealDisk, &path, &mut |out| out.write_all(b"old")).unwrap();
        let error = replace(&RealDisk, &path, &mut |out| {
            out.write_all(b"half")?;
            Err(io::Error::other("no"))
        });
        assert_eq!(error.unwrap_err().to_string(), "no");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }
}
