//! A large raster under layers is served from its raw samples. Alone in its file, so that the process's peak is its own.

use highground_terrain::content::PlaneKind;
use highground_terrain::cook::{Order, serve};
use highground_terrain::store::TerrainRows;
use std::fs;

/// The most memory that this process has held, in bytes; `None` where the system does not say.
fn peak_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}

#[test]
fn a_raster_under_layers_takes_less_than_twice_its_raw_samples() {
    const N: usize = 4097;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.ron");
    {
        let bytes: Vec<u8> =
            (0..N * N).flat_map(|i| ((i % N * 7 + i / N * 3) as u16).to_le_bytes()).collect();
        fs::write(folder.path().join("a.r16"), bytes).unwrap();
    }
    fs::write(
        &path,
        r#"(
            version: 2,
            source: Raster(path: "a.r16", format: raw16, big_endian: false, spacing_m: 1, min_m: 0, max_m: 2000),
            layers: [(name: "a"), (name: "b", cover: (height_m: (500, 900), soft_m: 50)),
                (name: "c", cover: (slope_deg: (10, 90), soft_deg: 10))],
        )"#,
    )
    .unwrap();
    let raw = (N * N * 2) as u64;
    // What writing the file took is counted against us: the peak cannot be taken back.
    let Some(before) = peak_bytes() else {
        println!("NOT TESTED: this system does not say a process's peak memory");
        return;
    };
    let served = serve(&path, &Order::default()).unwrap();
    let rows: &dyn TerrainRows = &*served.rows;
    let (mut heights, mut weights) = (Vec::new(), Vec::new());
    let mut sums = [0u64; 3];
    for z in (0..N as u32 - 1).step_by(64) {
        heights.resize(64 * N, 0);
        rows.heights(z..z + 64, &mut heights);
        weights.resize(64 * (N - 1), 0);
        for (layer, sum) in sums.iter_mut().enumerate() {
            rows.plane(PlaneKind::Weight(layer as u8), z..z + 64, &mut weights);
            *sum += weights.iter().map(|&w| u64::from(w)).sum::<u64>();
        }
    }
    assert_eq!(sums.iter().sum::<u64>(), ((N - 1) * (N - 1) * 255) as u64);
    assert!(sums.iter().all(|&s| s > 0), "{sums:?}");
    let held = peak_bytes().unwrap_or(before);
    assert!(held < before.max(40 << 20) + 2 * raw, "{held} bytes, {before} before, {raw} raw");
}
