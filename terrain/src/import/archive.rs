//! Zip archives with one `.hgt` inside.

use super::{ImportError, file_name};
use crate::store::open_regular;
use std::io::{BufReader, Read};
use std::path::Path;

/// Deflate cannot make more than about this many bytes of one.
pub(crate) const MAX_DEFLATE_RATIO: u64 = 1040;

/// The largest member that is unpacked.
const MAX_MEMBER_BYTES: u64 = 1 << 30;

/// The bytes of the only `.hgt` of an archive, and its name. `fits` is asked about the size that it claims before
/// anything is unpacked.
///
/// # Errors
/// No such member or several, a damaged archive, or one that claims or yields more than can be.
pub(crate) fn only_hgt(
    path: &Path,
    fits: impl Fn(u64) -> Result<(), ImportError>,
) -> Result<(String, Vec<u8>), ImportError> {
    let damaged = |e: &dyn std::fmt::Display| {
        ImportError::source(format!("expected a zip archive, found one that is damaged or truncated: {e}"))
    };
    let mut archive = zip::ZipArchive::new(BufReader::new(open_regular(path)?)).map_err(|e| damaged(&e))?;
    let mut found = Vec::new();
    for i in 0..archive.len() {
        let Some(name) = archive.name_for_index(i) else { continue };
        let name = name.map_err(|e| damaged(&e))?;
        // macOS adds a shadow of every file.
        if name.to_lowercase().ends_with(".hgt") && !name.starts_with("__MACOSX/") {
            found.push(i);
        }
    }
    let [index] = found[..] else {
        return Err(ImportError::source(format!(
            "expected a zip archive with exactly one .hgt inside, found {}",
            found.len()
        )));
    };
    let member = archive.by_index(index).map_err(|e| damaged(&e))?;
    let name = file_name(Path::new(&*member.name().map_err(|e| damaged(&e))?));
    let (packed, claimed) = (member.compressed_size(), member.size());
    if claimed > MAX_MEMBER_BYTES || claimed > packed.saturating_mul(MAX_DEFLATE_RATIO).saturating_add(1024) {
        return Err(ImportError::source(format!(
            "member {name}: expected at most {MAX_MEMBER_BYTES} bytes and a plausible size, found {claimed} bytes claimed from {packed} packed ones"
        )));
    }
    fits(claimed)?;
    let mut bytes = Vec::new();
    // One byte more than claimed shows a claim that is too small without unpacking the rest.
    member.take(claimed + 1).read_to_end(&mut bytes).map_err(|e| {
        ImportError::source(format!(
            "member {name}: expected {claimed} bytes, found damaged or truncated data: {e}"
        ))
    })?;
    if bytes.len() as u64 != claimed {
        let more = if bytes.len() as u64 > claimed { "more" } else { "fewer" };
        return Err(ImportError::source(format!(
            "member {name}: expected the {claimed} bytes that the archive claims, found {more}"
        )));
    }
    Ok((name, bytes))
}
