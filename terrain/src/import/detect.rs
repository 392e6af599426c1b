//! Which format a file is in: by its first bytes, then by its name.

use super::source::Input;
use super::{ImportError, SourceFormat};
use std::path::Path;

/// The extensions that are taken for sources, as messages list them.
pub(crate) const EXTENSIONS: &str =
    ".hgt, .png, .tif, .tiff, .exr, .asc, .dem, .npy, .res, .r8, .r16, .r32, .raw";

/// Bytes that are looked at: the first record of a USGS DEM.
const FIRST_BYTES: usize = 1024;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A source.
    Source(SourceFormat),
    /// A zip archive that holds one.
    Zip,
}

/// What a file is. What was asked for holds, but inside an archive.
///
/// # Errors
/// A format that is known and not read, or none that is known.
pub(crate) fn kind_of(input: &mut Input, asked: Option<SourceFormat>) -> Result<Kind, ImportError> {
    let first = input.first(FIRST_BYTES)?;
    let path = Path::new(&input.name).to_owned();
    let extension = extension_of(&path);
    if is_zip(&first) || extension == "zip" {
        let npz = asked == Some(SourceFormat::Npz) || extension == "npz" && asked.is_none();
        return Ok(if npz { Kind::Source(SourceFormat::Npz) } else { Kind::Zip });
    }
    if let Some(format) = asked {
        return Ok(Kind::Source(format));
    }
    if let Some(format) = by_bytes(&first)? {
        return Ok(Kind::Source(format));
    }
    by_extension(&path).map(Kind::Source).ok_or_else(|| {
        ImportError::source(format!(
            "is in no format that is known by its first bytes or its name ({EXTENSIONS}, .npz, .zip): where it is one of them under another name, pass --format"
        ))
    })
}

/// Whether bytes start like a zip archive.
pub(crate) fn is_zip(first: &[u8]) -> bool {
    first.starts_with(b"PK\x03\x04") || first.starts_with(b"PK\x05\x06")
}

fn by_bytes(first: &[u8]) -> Result<Option<SourceFormat>, ImportError> {
    let starts = |magic: &[u8]| first.starts_with(magic);
    let refuse = |name: &str, what: &str| {
        Err(ImportError::source(format!("is {name}, which is not read: {what} and import that")))
    };
    let to_tiff = "convert it to GeoTIFF (for example with gdal_translate -of GTiff)";
    Ok(Some(match first {
        _ if starts(b"\x89PNG") => SourceFormat::Png,
        _ if starts(b"II*\0") || starts(b"MM\0*") || starts(b"II+\0") || starts(b"MM\0+") => {
            SourceFormat::Tiff
        }
        _ if starts(b"\x76\x2f\x31\x01") => SourceFormat::Exr,
        _ if starts(b"\x93NUMPY") => SourceFormat::Npy,
        _ if starts(b"RSCC") || starts(b"RSRC") => SourceFormat::Terrain3d,
        [b'C', b'D', b'F', 1 | 2 | 5, ..] => return refuse("a NetCDF file", to_tiff),
        _ if starts(b"\x89HDF\r\n\x1a\n") => return refuse("a NetCDF or HDF5 file", to_tiff),
        _ if starts(b"DDS ") => {
            return refuse("a DDS texture", "convert it to PNG, best from the image it was compressed from,");
        }
        _ if is_asc(first) => SourceFormat::Asc,
        _ if is_usgs_dem(first) => SourceFormat::UsgsDem,
        _ => return Ok(None),
    }))
}

/// Whether a text starts with a key of an ESRI ASCII grid and then white space.
fn is_asc(first: &[u8]) -> bool {
    const KEYS: [&str; 10] = [
        "ncols",
        "nrows",
        "xllcorner",
        "yllcorner",
        "xllcenter",
        "yllcenter",
        "cellsize",
        "dx",
        "dy",
        "nodata_value",
    ];
    let first = first.strip_prefix(b"\xef\xbb\xbf").unwrap_or(first).trim_ascii_start();
    let word = first.split(u8::is_ascii_whitespace).next().unwrap_or_default();
    word.len() < first.len() && KEYS.iter().any(|k| word.eq_ignore_ascii_case(k.as_bytes()))
}

/// Whether bytes look like the first record of a USGS DEM: text, with the level, pattern and reference system codes in
/// their columns (145 to 162, six each).
fn is_usgs_dem(first: &[u8]) -> bool {
    if first.len() < FIRST_BYTES || !first[..864].iter().all(|b| (b' '..=b'~').contains(b)) {
        return false;
    }
    let code = |at: usize| -> Option<u32> {
        std::str::from_utf8(&first[at..at + 6]).ok().and_then(|t| t.trim().parse().ok())
    };
    matches!((code(144), code(150), code(156)), (Some(1..=4), Some(1 | 2), Some(0..=20)))
}

/// The format of a name's extension.
pub(crate) fn by_extension(path: &Path) -> Option<SourceFormat> {
    Some(match extension_of(path).as_str() {
        "hgt" => SourceFormat::Hgt,
        "png" => SourceFormat::Png,
        "tif" | "tiff" => SourceFormat::Tiff,
        "exr" => SourceFormat::Exr,
        "asc" => SourceFormat::Asc,
        "dem" => SourceFormat::UsgsDem,
        "npy" => SourceFormat::Npy,
        "res" => SourceFormat::Terrain3d,
        "r8" => SourceFormat::Raw8,
        "r16" | "raw" => SourceFormat::Raw16,
        "r32" => SourceFormat::Raw32,
        _ => return None,
    })
}

fn extension_of(path: &Path) -> String {
    path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &str, bytes: &[u8]) -> Result<Kind, String> {
        kind_of(&mut Input::of_bytes(name, bytes.to_vec()), None).map_err(|e| e.to_string())
    }

    #[test]
    fn first_bytes_go_before_names() {
        use SourceFormat::*;
        let mut record = vec![b' '; 1024];
        record[144..162].copy_from_slice(b"     1     1     1");
        let cases: [(&str, &[u8], SourceFormat); 18] = [
            ("a.hgt", b"\x89PNG\r\n\x1a\n", Png),
            ("a.hgt", b"\0\0\0\0", Hgt),
            ("A.HGT", b"", Hgt),
            ("a", b"II*\0", Tiff),
            ("a", b"MM\0+", Tiff),
            ("a.tif", b"??", Tiff),
            ("a", b"\x76\x2f\x31\x01", Exr),
            ("a.txt", b"NCOLS 4\n", Asc),
            ("a", b"  \r\nxllcorner\t4\n", Asc),
            ("a.asc", b"", Asc),
            ("a", &record, UsgsDem),
            ("a.dem", b"", UsgsDem),
            ("a", b"\x93NUMPY", Npy),
            ("a.npz", b"PK\x03\x04", Npz),
            ("a.res", b"RSCC", Terrain3d),
            ("a.raw", b"\0\0", Raw16),
            ("a.r8", b"ncolsx 1", Raw8),
            ("a.r32", b"dx", Raw32),
        ];
        for (name, bytes, expected) in cases {
            assert_eq!(kind(name, bytes), Ok(Kind::Source(expected)), "{name}");
        }
        assert_eq!(kind("a.hgt", b"PK\x03\x04"), Ok(Kind::Zip));
        assert_eq!(kind("a.zip", b""), Ok(Kind::Zip));
        record[150] = b'9';
        assert!(kind("a", &record).is_err());
    }

    #[test]
    fn what_is_known_and_not_read_is_named() {
        for (bytes, name) in [
            (&b"CDF\x01"[..], "NetCDF"),
            (b"CDF\x05", "NetCDF"),
            (b"\x89HDF\r\n\x1a\n", "HDF5"),
            (b"DDS |", "DDS"),
        ] {
            let error = kind("a.raw", bytes).unwrap_err();
            assert!(error.contains(name) && error.contains("convert"), "{error}");
        }
        assert!(kind("a.xyz", b"hello").unwrap_err().contains("--format"));
    }
}
