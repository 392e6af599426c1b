#!/bin/bash
# Runs every fuzz target, or those that are named, for so many seconds each, one after the other:
#   fuzz/all.sh SECONDS [TARGET…]
# What libFuzzer finds interesting stays in fuzz/target/found/TARGET, its log beside it; crashers go to
# fuzz/artifacts/TARGET. Prints a line a target.
set -u
cd "$(dirname "$0")" || exit 2
seconds=${1:?usage: all.sh SECONDS [TARGET...]}
shift
targets=${*:-$(sed -n 's/^    ("\([a-z0-9_]*\)", [a-z0-9_]*),$/\1/p' targets.rs)}
cargo +nightly fuzz build || exit 1
bin="target/$(rustc +nightly -vV | sed -n 's/^host: //p')/release"
# Small terrains gain nothing by a pool of threads, and leaks are no business of safe code.
export RAYON_NUM_THREADS=1 ASAN_OPTIONS=allocator_may_return_null=0:detect_leaks=0
failed=0
for target in $targets; do
    most=16384
    case $target in
        payload_v1) most=40000 ;;
        import_tiff | import_usgs_dem) most=8192 ;;
        recipe | catalogue | knobs | roster | import_asc | import_hgt | import_raw) most=4096 ;;
    esac
    found=target/found/$target
    mkdir -p "$found" "artifacts/$target"
    TIMEFORMAT=%U
    spent=$( { time nice -n 15 "$bin/$target" "$found" "corpus/$target" -max_total_time="$seconds" -max_len=$most \
        -rss_limit_mb=2048 -malloc_limit_mb=1024 -timeout=120 -report_slow_units=60 -print_final_stats=1 \
        -artifact_prefix="artifacts/$target/" >"$found.log" 2>&1; } 2>&1 )
    grep -q '^Done ' "$found.log" || failed=1
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$found.log")
    crashers=$(find "artifacts/$target" -type f ! -name "slow-unit-*" | wc -l)
    echo "$target: ${runs:-?} executions, $spent s of processor time, $crashers crashers"
done
exit $failed
