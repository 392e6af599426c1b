#!/usr/bin/env bash
# Cooks an 8192 × 8192 terrain (heights, normals, pyramids, weights of three layers, checksums) from a headless 16-bit
# raster and, in the same run, lets GDAL translate and shade that raster. Prints seconds and peak memory of both.
#
# Needs gdal-bin; says so where it is missing. An argument is the number of samples a side.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

side="${1:-8192}"
if ! command -v gdaldem >/dev/null; then
    echo "bench_cook.sh: GDAL is missing: apt-get install gdal-bin" >&2
    exit 2
fi
cargo build --locked --release --quiet
highground="$PWD/target/release/highground"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cd "$work"

cat >noise.ron <<EOF
(version: 2, block: 128,
 source: Noise(size: ($side, $side), spacing_m: 1, noise: (seed: 7, wavelength_m: 900, amplitude_m: 400, base_m: 500)))
EOF
"$highground" cook noise.ron --out noise.terrain >/dev/null
"$highground" export noise.terrain --out heights.r16 --min 0 --max 1023.984375 --lossy >/dev/null
rm noise.terrain
cat >heights.hdr <<EOF
ENVI
samples = $side
lines = $side
bands = 1
data type = 12
interleave = bsq
byte order = 0
EOF
cat >bench.ron <<EOF
(version: 2, block: 128, keep: (normals: true),
 source: Raster(path: "heights.r16", size: ($side, $side), spacing_m: 1, min_m: 0, max_m: 1023.984375),
 layers: [(name: "grass"), (name: "rock", cover: (slope_deg: (30, 90), soft_deg: 8)),
          (name: "snow", cover: (height_m: (800, 9000), soft_m: 40))])
EOF

# measured NAME COMMAND…: seconds and peak resident memory of a command and what it starts.
measured() {
    local name="$1" start peak=0 now
    shift
    start="$(date +%s%N)"
    "$@" >/dev/null 2>"$work/errors" &
    local pid=$!
    while [ -e "/proc/$pid/status" ]; do
        now="$(sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\) kB$/\1/p' "/proc/$pid/status" 2>/dev/null || true)"
        [ -n "$now" ] && [ "$now" -gt "$peak" ] && peak="$now"
        sleep 0.005
        kill -0 "$pid" 2>/dev/null || break
    done
    wait "$pid" || {
        cat "$work/errors" >&2
        exit 1
    }
    ms="$((($(date +%s%N) - start) / 1000000))"
    printf '%-28s %6d ms  %6d MiB\n' "$name" "$ms" "$((peak / 1024))"
}

# Twice each, the second time with everything in the page cache.
best_cook=0 best_gdal=0
for round in 1 2; do
    measured "cook" "$highground" cook bench.ron --out bench.terrain
    [ "$round" = 1 ] || [ "$ms" -lt "$best_cook" ] && best_cook="$ms"
    rm -f translated.tif shaded.tif
    measured "gdal_translate" gdal_translate -q heights.r16 translated.tif
    translate="$ms"
    measured "gdaldem hillshade" gdaldem hillshade -q translated.tif shaded.tif
    total="$((translate + ms))"
    [ "$round" = 1 ] || [ "$total" -lt "$best_gdal" ] && best_gdal="$total"
done
raw="$((side * side * 2 / 1048576))"
printf 'cook / GDAL: %d ms / %d ms = %d %%; raw samples %d MiB\n' \
    "$best_cook" "$best_gdal" "$((best_cook * 100 / best_gdal))" "$raw"
