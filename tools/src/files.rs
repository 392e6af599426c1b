//! Files that are named on the command line: read up to a limit, and never overwritten by what is made from them.

use crate::Failure;
use std::io::Read;
use std::path::Path;

/// Reads a regular file of at most `limit` bytes. A pipe or a device would wait or never end, so they are refused
/// before they are opened.
pub(crate) fn read_whole(path: &Path, limit: u64) -> Result<Vec<u8>, Failure> {
    let failed = |e: std::io::Error| Failure::file(path, format!("cannot be read: {e}"));
    let metadata = std::fs::metadata(path).map_err(failed)?;
    if !metadata.is_file() {
        return Err(Failure::file(path, "is not a regular file"));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path).map_err(failed)?.take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > limit {
        return Err(Failure::file(
            path,
            format!("is larger than the {limit} bytes that such a file may have"),
        ));
    }
    Ok(bytes)
}

/// Refuses to write over a file that is being read, by whatever name, and over what is no regular file.
pub(crate) fn refuse_overwriting(out: &Path, inputs: &[&Path]) -> Result<(), Failure> {
    let Ok(target) = std::fs::metadata(out) else { return writable_place(out) };
    if !target.is_file() {
        return Err(Failure::file(out, "is there and is not a regular file: pass another --out"));
    }
    if inputs.iter().any(|input| same_file(input, out)) {
        return Err(Failure::file(out, "is read by this very command: pass another --out"));
    }
    Ok(())
}

/// Refuses a path in a folder that is not there, before any work is done for it.
fn writable_place(out: &Path) -> Result<(), Failure> {
    match out.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
            Err(Failure::file(out, format!("{} is no folder: make it first", folder.display())))
        }
        _ => Ok(()),
    }
}

/// Whether two paths lead to one file: spelled otherwise, through a link, or as another hard link to it.
fn same_file(a: &Path, b: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let identity = |p: &Path| std::fs::metadata(p).map(|m| (m.dev(), m.ino()));
        matches!((identity(a), identity(b)), (Ok(a), Ok(b)) if a == b)
    }
    #[cfg(not(unix))]
    {
        matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_beyond_the_limit_and_what_is_no_file_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, [7; 10]).unwrap();
        assert_eq!(read_whole(&path, 10).unwrap(), [7; 10]);
        assert!(read_whole(&path, 9).unwrap_err().to_string().contains("larger than the 9 bytes"));
        assert!(read_whole(folder.path(), 9).unwrap_err().to_string().contains("not a regular file"));
        assert!(refuse_overwriting(&path, &[&path]).is_err());
        assert!(refuse_overwriting(&folder.path().join("new"), &[&path]).is_ok());
        assert!(refuse_overwriting(Path::new("new"), &[&path]).is_ok());
        let nowhere = refuse_overwriting(&folder.path().join("no/new"), &[]).unwrap_err().to_string();
        assert!(nowhere.ends_with("no is no folder: make it first"), "{nowhere}");
        let twin = folder.path().join("twin");
        std::fs::hard_link(&path, &twin).unwrap();
        assert!(refuse_overwriting(&twin, &[&path]).is_err());
        assert!(refuse_overwriting(folder.path(), &[&path]).is_err());
    }
}
