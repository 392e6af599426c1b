//! Sources and terrains that claim to be huge take no memory. Alone in its file, so that the process's peak is its own.

mod shared;

use highground_terrain::import::{ImportOptions, import};
use highground_terrain::store::PayloadFile;
use shared::{png_header, shared_data};
use std::fs;

/// The most memory that this process has held, in bytes; `None` where the system does not say.
fn peak_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}

#[test]
fn huge_claims_take_no_memory() {
    let Some(before) = peak_bytes() else {
        println!("NOT TESTED: this system does not say a process's peak memory");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bomb.png");
    let options = ImportOptions {
        spacing_m: Some(1.0),
        min_m: Some(0.0),
        max_m: Some(1.0),
        ..ImportOptions::default()
    };
    for (w, h) in [(200_000, 200_000), (131_072, 131_072), (32_768, 32_768), (u32::MAX >> 1, 2)] {
        fs::write(&path, png_header(w, h)).unwrap();
        assert!(import(&path, &options).is_err());
    }
    if let Some(real) = shared_data("derived-png/bad_header_200000x200000.png") {
        assert!(import(&real, &options).is_err());
    }
    fs::write(&path, [&b"\x89HGT\r\n\x1a\n"[..], &[0xFF; 4000]].concat()).unwrap();
    assert!(PayloadFile::open(&path).is_err());
    let grown = peak_bytes().unwrap_or(before) - before;
    assert!(grown < 8 << 20, "{grown} bytes");
}
