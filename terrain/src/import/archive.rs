//! Zip archives with one source inside.

use super::source::Input;
use super::{ImportError, SourceFormat, detect, file_name, hgt, raw};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use zip::CompressionMethod;
use zip::read::ZipArchive;

/// Deflate cannot make more than about this many bytes of one.
pub(crate) const MAX_DEFLATE_RATIO: u64 = 1040;

/// The largest member that is unpacked.
const MAX_MEMBER_BYTES: u64 = 1 << 30;

/// The most members that an archive's directory is read for.
const MAX_MEMBERS: usize = 4096;

/// Which member to take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    /// The format that was asked for: an archive with a single file is then taken whatever the file's name.
    pub(crate) format: Option<SourceFormat>,
    /// A member's name, whole or without folders, where there are several.
    pub(crate) name: Option<&'a str>,
    /// Whether `--spacing` was given.
    pub(crate) spacing_given: bool,
    /// The size that was asked for.
    pub(crate) size: Option<[u32; 2]>,
}

/// Unpacks the only member that is a source, or the one that is asked for.
///
/// # Errors
/// No such member or several, a damaged archive, another compression, or a member that claims or yields more than can be.
pub(crate) fn only_source(input: &mut Input, wanted: Wanted<'_>) -> Result<Input, ImportError> {
    input.bytes.seek(SeekFrom::Start(0))?;
    let mut archive = ZipArchive::new(&mut input.bytes).map_err(|e| damaged(&e))?;
    if archive.has_duplicate_names() {
        return Err(ImportError::source(
            "expected a zip archive whose members have names of their own, found one name twice: pack it again",
        ));
    }
    if archive.len() > MAX_MEMBERS {
        return Err(ImportError::source(format!(
            "expected a zip archive of at most {MAX_MEMBERS} members, found {}: unpack it and pass the file",
            archive.len()
        )));
    }
    let index = choose(&archive, wanted)?;
    unpack(&mut archive, index, wanted)
}

fn damaged(error: &dyn std::fmt::Display) -> ImportError {
    ImportError::source(format!("expected a zip archive, found one that is damaged or truncated: {error}"))
}

/// The names of an archive's files: no folders, and not the shadow that macOS adds of every file.
fn files<R: Read + Seek>(archive: &ZipArchive<R>) -> Result<Vec<(usize, String)>, ImportError> {
    let mut files = Vec::new();
    for i in 0..archive.len() {
        let Some(name) = archive.name_for_index(i) else { continue };
        let name = name.map_err(|e| damaged(&e))?;
        if !name.ends_with('/') && !name.starts_with("__MACOSX/") {
            files.push((i, name.into_owned()));
        }
    }
    Ok(files)
}

fn choose<R: Read + Seek>(archive: &ZipArchive<R>, wanted: Wanted<'_>) -> Result<usize, ImportError> {
    let files = files(archive)?;
    if let Some(name) = wanted.name {
        let named = |f: &&(usize, String)| f.1 == name || file_name(Path::new(&f.1)) == name;
        let found: Vec<&(usize, String)> = files.iter().filter(named).collect();
        if let [one] = found[..] {
            return Ok(one.0);
        }
    }
    let sources: Vec<&(usize, String)> =
        files.iter().filter(|f| detect::by_extension(Path::new(&f.1)).is_some()).collect();
    if let [one] = sources[..] {
        return Ok(one.0);
    }
    if let ([one], true) = (&files[..], wanted.format.is_some()) {
        return Ok(one.0);
    }
    let names: Vec<&str> = sources.iter().take(4).map(|f| f.1.as_str()).collect();
    let found = match sources.len() {
        0 if files.iter().any(|f| f.1.to_lowercase().ends_with(".zip")) => {
            "found an archive inside: unpack it and pass the file".to_owned()
        }
        0 => format!("found 0 among {} files", files.len()),
        n => format!("found {n} ({}): pass --channel NAME to take one of them", names.join(", ")),
    };
    Err(ImportError::source(format!(
        "expected a zip archive with exactly one elevation file inside ({}), {found}",
        detect::EXTENSIONS
    )))
}

fn raw_bits(format: Option<SourceFormat>) -> Option<u64> {
    match format? {
        SourceFormat::Raw8 => Some(8),
        SourceFormat::Raw16 => Some(16),
        SourceFormat::Raw32 => Some(32),
        _ => None,
    }
}

fn unpack<R: Read + Seek>(
    archive: &mut ZipArchive<R>,
    index: usize,
    wanted: Wanted<'_>,
) -> Result<Input, ImportError> {
    let raw = archive.by_index_raw(index).map_err(|e| damaged(&e))?;
    let name = file_name(Path::new(&*raw.name().map_err(|e| damaged(&e))?));
    let refuse = |expected: &str, found: &str| {
        Err(ImportError::source(format!("member {name}: expected {expected}, found {found}")))
    };
    if raw.encrypted() {
        return refuse("one that is not encrypted", "an encrypted one: unpack it and pass the file");
    }
    if !matches!(raw.compression(), CompressionMethod::Stored | CompressionMethod::Deflated) {
        let method = format!("{}: unpack it and pass the file, or pack it again", raw.compression());
        return refuse("it stored or deflated", &method);
    }
    let (packed, claimed) = (raw.compressed_size(), raw.size());
    drop(raw);
    if claimed > MAX_MEMBER_BYTES || claimed > packed.saturating_mul(MAX_DEFLATE_RATIO).saturating_add(1024) {
        return refuse(
            &format!("at most {MAX_MEMBER_BYTES} bytes and a plausible size"),
            &format!("{claimed} bytes claimed from {packed} packed ones"),
        );
    }
    // A tile's size says at once whether it can be one.
    if wanted.format.or(detect::by_extension(Path::new(&name))) == Some(SourceFormat::Hgt) {
        hgt::check_bytes(claimed, wanted.spacing_given)?;
    }
    // So does a headerless raster's.
    if let Some(bits) = raw_bits(wanted.format.or(detect::by_extension(Path::new(&name)))) {
        raw::check_bytes(claimed, wanted.size, bits)?;
    }
    let member = archive.by_index(index).map_err(|e| damaged(&e))?;
    let mut bytes = Vec::new();
    // One byte more than claimed shows a claim that is too small without unpacking the rest.
    member.take(claimed + 1).read_to_end(&mut bytes).map_err(|e| {
        ImportError::source(format!(
            "member {name}: expected {claimed} bytes, found damaged or truncated data: {e}"
        ))
    })?;
    if bytes.len() as u64 != claimed {
        let more = if bytes.len() as u64 > claimed { "more" } else { "fewer" };
        return refuse(&format!("the {claimed} bytes that the archive claims"), more);
    }
    if detect::is_zip(&bytes) {
        return refuse("an elevation file", "an archive inside the archive: unpack it and pass the file");
    }
    Ok(Input::of_bytes(&name, bytes))
}
