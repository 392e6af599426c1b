//! Bytes that are read at positions, so that threads can share them: of a file, or in memory.

use std::fs::File;
use std::io;

/// Bytes that are read at positions, whatever the platform.
#[derive(Debug)]
pub(super) enum Positioned {
    /// A file's.
    #[cfg(unix)]
    File(File),
    /// A file's, where there are no reads at positions.
    #[cfg(not(unix))]
    File(std::sync::Mutex<File>),
    /// In memory.
    Bytes(Vec<u8>),
}

impl Positioned {
    pub(super) fn new(file: File) -> Self {
        #[cfg(unix)]
        return Self::File(file);
        #[cfg(not(unix))]
        return Self::File(std::sync::Mutex::new(file));
    }

    pub(super) fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        match self {
            Self::File(file) => read_file_at(file, bytes, at),
            Self::Bytes(all) => {
                let found = usize::try_from(at).ok().and_then(|at| all.get(at..)?.get(..bytes.len()));
                bytes.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
        }
    }
}

#[cfg(unix)]
fn read_file_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
}

#[cfg(not(unix))]
fn read_file_at(file: &std::sync::Mutex<File>, bytes: &mut [u8], at: u64) -> io::Result<()> {
    use std::io::{Read, Seek, SeekFrom};
    let mut file = file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(bytes)
}
