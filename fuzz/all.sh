#!/bin/sh
# Runs every fuzz target, or those that are named, for so many seconds each, one after the other:
#   fuzz/all.sh SECONDS [TARGET…]
# What libFuzzer finds interesting stays in fuzz/target/found/TARGET; crashers go to fuzz/artifacts/TARGET. Prints a line
# a target: executions, seconds of processor time, crashers.
set -u
cd "$(dirname "$0")" || exit 2
seconds=${1:?usage: all.sh SECONDS [TARGET...]}
shift
targets=${*:-$(sed -n 's/^    ("\([a-z0-9_]*\)", [a-z0-9_]*),$/\1/p' targets.rs)}
cargo +nightly fuzz build || exit 1
bin="target/$(rustc +nightly -vV | sed -n 's/^host: //p')/release"
failed=0
for target in $targets; do
    most=16384
    case $target in
        payload_v1) most=40000 ;;
        import_tiff | import_usgs_dem) most=8192 ;;
        recipe | catalogue | import_asc | import_hgt | import_raw) most=4096 ;;
    esac
    found=target/found/$target
    mkdir -p "$found" "artifacts/$target"
    log=target/found/$target.log
    words=
    [ -f "dictionaries/$target" ] && words=-dict=dictionaries/$target
    # One thread: terrains are small here, and a pool's threads would only wait for each other.
    RAYON_NUM_THREADS=1 ASAN_OPTIONS=allocator_may_return_null=0:detect_leaks=0 nice -n 15 \
        "$bin/$target" "$found" "corpus/$target" $words -max_total_time="$seconds" -rss_limit_mb=2048 -malloc_limit_mb=1024 \
        -timeout=20 -max_len=$most -artifact_prefix="artifacts/$target/" -print_final_stats=1 >"$log" 2>&1 || failed=1
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    crashers=$(find "artifacts/$target" -type f | wc -l)
    echo "$target: ${runs:-?} executions in $seconds s, $crashers crashers"
done
exit $failed
