//! Opening what must be a regular file.

use std::fs::File;
use std::io;
use std::path::Path;

/// Opens a regular file. A pipe without a writer would wait for ever and a device never end, so what it is is asked before
/// it is opened.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    File::open(path)
}
