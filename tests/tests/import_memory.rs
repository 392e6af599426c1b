//! Sources and terrains that claim to be huge take no memory. Alone in its file, so that the process's peak is its own.

mod shared;

use highground_terrain::import::{ImportOptions, import, import_rows};
use highground_terrain::store::{PayloadFile, TerrainRows};
use shared::{png_header, shared_data};
use std::fs;

/// The most memory that this process has held, in bytes; `None` where the system does not say.
fn peak_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}

/// A process has one peak, so both parts are one test: first what takes nothing, then what takes little.
#[test]
fn memory_is_what_a_source_really_needs() {
    huge_claims_take_no_memory();
    rows_on_demand_take_less_than_twice_their_raw_samples();
}

fn rows_on_demand_take_less_than_twice_their_raw_samples() {
    const SIDE: u32 = 4096;
    let Some(before) = peak_bytes() else { return };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.r16");
    {
        use std::io::Write;
        let mut out = std::io::BufWriter::new(fs::File::create(&path).unwrap());
        for z in 0..SIDE {
            for x in 0..SIDE {
                out.write_all(&((x * 5 + z * 7) as u16 % 60_000).to_le_bytes()).unwrap();
            }
        }
        out.flush().unwrap();
    }
    let options = ImportOptions {
        spacing_m: Some(1.0),
        min_m: Some(-10.0),
        max_m: Some(900.0),
        big_endian: Some(false),
        ..ImportOptions::default()
    };
    let rows = import_rows(&path, &options).unwrap();
    let mut band = vec![0; 32 * SIDE as usize];
    let mut sum = 0i64;
    for z in (0..SIDE).step_by(32) {
        rows.heights(z..z + 32, &mut band);
        sum += band.iter().map(|&q| i64::from(q)).sum::<i64>();
    }
    assert!(sum > 0);
    let grown = peak_bytes().unwrap_or(before) - before;
    let raw = u64::from(SIDE) * u64::from(SIDE) * 2;
    assert!(grown < raw + raw / 4, "{grown} bytes for {raw} of raw samples");
}

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
