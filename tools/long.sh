#!/usr/bin/env bash
# Every line of every issue that is too long for tools/test.sh, in release. Writes docs/results.md: figure, command, date.
#
#   tools/long.sh [ISSUE…]      only these issues; the rows of the others stay as they are
#
# Takes the real elevation of ../shared/data where that folder exists, and says so where it does not.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
rows="$work/rows"
today="$(date +%F)"
failed=0

# record ISSUE LINE FIGURE COMMAND
record() {
    printf '| %s | %s | %s | `%s` | %s |\n' "$1" "$2" "$3" "$4" "$today" >>"$rows"
    printf '%s: %s: %s\n' "$1" "$2" "$3"
}

# field FILE NAME: a string or number of a pretty-printed summary
field() {
    sed -n "s/^ *\"$2\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}$/\1/p" "$1" | head -n 1
}

# matches FOLDER: whether its recording gives the same run again
matches() {
    local verdict
    verdict="$("$release" replay "$1/replay.hgr" --verify --json 2>/dev/null | grep -o '"match":[a-z]*' || true)"
    if [ "$verdict" = '"match":true' ]; then
        echo "equal"
    else
        touch "$work/failed"
        echo "DIFFERENT"
    fi
}

must() {
    if ! "$@"; then
        echo "long.sh: failed: $*" >&2
        failed=1
    fi
}

echo "== building"
cargo build --locked --release --quiet
cargo build --locked --quiet
release=target/release/highground
debug=target/debug/highground

issue_2() {
    start="$(date +%s%N)"
    "$release" demo --out "$work/first" >/dev/null
    seconds="$((($(date +%s%N) - start) / 10000000))"
    hash="$(field "$work/first/summary.json" state_hash)"
    record "2" "the demo, after building" "$((seconds / 100)).$(printf %02d $((seconds % 100))) s" "highground demo"
    record "2" "blocks published at once, of the world's" \
        "$(field "$work/first/summary.json" peak_blocks) of $(field "$work/first/summary.json" world_blocks)" "highground demo"
    record "2" "block borders crossed" "$(field "$work/first/summary.json" borders_crossed)" "highground demo"

    same=0
    runs=0
    for program in "$release" "$debug"; do
        for device in cpu gpu; do
            for threads in 1 2; do
                runs=$((runs + 1))
                "$program" demo --device "$device" --threads "$threads" --out "$work/run" >/dev/null
                [ "$(field "$work/run/summary.json" state_hash)" = "$hash" ] && same=$((same + 1))
            done
        done
    done
    must test "$same" = "$runs"
    record "2" "equal state hashes: debug, release × cpu, gpu × 1, 2 threads" "$same of $runs" "highground demo --device D --threads N"

    record "2" "replay" "$(matches "$work/first")" \
        "highground replay FILE --verify"

    "$release" demo --ticks 36000 --players 32 --seed 9 --out "$work/long" >/dev/null
    record "2" "ten minutes of 32 bots: respawned, gated body-ticks, replay" \
        "$(field "$work/long/summary.json" respawned), $(field "$work/long/summary.json" gated_ticks), $(matches "$work/long")" \
        "highground demo --ticks 36000 --players 32 --seed 9"

    tile=../shared/data/srtm-hgt-riviera/N43E007.hgt
    if [ -f "$tile" ]; then
        "$release" import "$tile" --spacing 32 --out "$work/riviera.terrain" >/dev/null
        must "$release" verify "$work/riviera.terrain"
        # Every sample: 1,442,401 points against the big-endian integers of the file, by od and awk.
        awk 'BEGIN { for (z = 0; z < 1201; z++) for (x = 0; x < 1201; x++) print x * 32 "," z * 32 }' >"$work/points"
        "$release" query "$work/riviera.terrain" heights --points "$work/points" --json |
            sed 's/.*"state":"\([a-z]*\)".*/\1 &/; s/^\([a-z]*\) .*"height_m":\([-0-9.e]*\).*/\1 \2/; s/^\([a-z]*\) {.*/\1/' >"$work/answers"
        od -An -v -t d2 --endian=big -w2 "$tile" | tr -d ' ' >"$work/source"
        wrong="$(paste "$work/source" "$work/answers" | awk '$1 != -32768 && !($2 == "valid" && $3 + 0 == $1 + 0) && $2 != "hole" { n++ } $1 == -32768 && $2 == "valid" { n++ } END { print n + 0 }')"
        holes="$(paste "$work/source" "$work/answers" | awk '$1 != -32768 && $2 == "hole" { n++ } END { print n + 0 }')"
        must test "$wrong" = 0
        record "2" "samples of N43E007 that differ from the source, of 1442401 ($holes lie among voids: holes)" "$wrong" \
            "highground query FILE heights"
        "$release" demo --terrain "$work/riviera.terrain" --out "$work/tile" >/dev/null
        record "2" "the demo on N43E007: metres walked, replay" \
            "$(field "$work/tile/summary.json" walked_m), $(matches "$work/tile")" \
            "highground demo --terrain FILE"
    else
        record "2" "N43E007" "not run: ../shared/data is absent" "–"
    fi
}

issue_3() {
    shared=../shared/data
    if [ -d "$shared" ]; then
        cargo test --locked --release --quiet -p highground-tests --test import_data --test recipe -- --nocapture >"$work/data" 2>&1 ||
            touch "$work/failed"
        record "3" "files of the shared data held against other readers, tests passed" \
            "$(grep -c '"file"' tests/tests/data/reference.json) files, $(sed -n 's/^test result: ok\. \([0-9]*\) passed.*/\1/p' "$work/data" | paste -sd+ | tr -d '\n') tests" \
            "cargo test --test import_data --test recipe"
    else
        record "3" "the shared data" "not run: ../shared/data is absent" "–"
    fi

    # A terrain of 16,384² samples in blocks of 32, opened a hundred times.
    cat >"$work/large.ron" <<EOF
(version: 2, source: Level(size: (16384, 16384), spacing_m: 1, height_m: 20),
 layers: [(name: "grass")], block: 32)
EOF
    "$release" cook "$work/large.ron" --out "$work/large.terrain" >/dev/null
    start="$(date +%s%N)"
    for _ in $(seq 100); do
        "$release" inspect "$work/large.terrain" --json >/dev/null
    done
    record "3" "opening 16,384² samples and reading its directory whole, a process each" \
        "$((($(date +%s%N) - start) / 100000000)) ms" "highground inspect FILE"

    if command -v gdaldem >/dev/null; then
        record "3" "8192² cooked beside gdal_translate and gdaldem hillshade" \
            "$(tools/bench_cook.sh | tail -n 1 | sed 's/^cook \/ GDAL: //')" "tools/bench_cook.sh"
    else
        record "3" "8192² cooked beside GDAL" "not run: gdal-bin is absent" "–"
    fi
}

# whole VARIABLE=VALUE PATTERN PACKAGE TARGET…: tests in their whole form, in release; gives how many passed, and the lines
# that match the pattern.
whole() {
    local setting="$1" pattern="$2"
    shift 2
    if ! env "$setting" cargo test --locked --release --quiet "$@" -- --nocapture >"$work/whole" 2>&1; then
        touch "$work/failed"
        cp "$work/whole" "$work/failed.log"
        tail -n 40 "$work/whole" >&2
    fi
    {
        echo "$(sed -n 's/^test result: .* \([0-9]*\) passed; \([0-9]*\) failed.*/\1 passed, \2 failed/p' "$work/whole" | grep -v '^0 passed' | paste -sd+)"
        grep -hE "$pattern" "$work/whole" | sed -E 's/^(acceptance|walking): //' || true
    } | tr '|\n' '/;' | sed 's/;$//; s/;/; /g'
}

issue_4() {
    record "4" "rays and heights against exact arithmetic" \
        "$(whole HIGHGROUND_SURFACE_RAYS=1000000 '^acceptance:' -p highground-tests --test surface_rays)" \
        "HIGHGROUND_SURFACE_RAYS=1000000 cargo test --release --test surface_rays"
    record "4" "routes, falls, slopes, grounded flags" \
        "$(whole HIGHGROUND_WALKING=100 '^walking: [0-9]' -p highground-tests --test walking)" \
        "HIGHGROUND_WALKING=100 cargo test --release --test walking"
    record "4" "the seam table here and 45 km away; ridges, valleys, turning bodies" \
        "$(whole HIGHGROUND_THROWS=150 '^(one height field|speed along)' -p highground-tests --test collider --test collider_ground)" \
        "cargo test --release --test collider --test collider_ground"
    record "4" "fast small bodies" \
        "$(whole HIGHGROUND_THROWS=1500 'passed$' -p highground-tests --test collider_fast)" \
        "HIGHGROUND_THROWS=1500 cargo test --release --test collider_fast"
    record "4" "shapes and queries against brute force, 100,000 cases each" \
        "$(whole HIGHGROUND_FUZZ_CASES=100000 'overruled$' -p highground-terrain --lib collide::fuzz)" \
        "HIGHGROUND_FUZZ_CASES=100000 cargo test --release --lib collide::fuzz"
    record "4" "navigation against its definition and Dijkstra" \
        "$(whole HIGHGROUND_LONG=10 '^[0-9]+ paths' -p highground-terrain --lib nav::)" \
        "HIGHGROUND_LONG=10 cargo test --release --lib nav::"
    record "4" "memory beside the block store" \
        "$(whole HIGHGROUND_LONG=1 'a cell$' -p highground-tests --test collider_memory)" \
        "cargo test --release --test collider_memory"
}

chosen="${*:-2 3 4}"
for issue in 2 3 4; do
    case " $chosen " in
        *" $issue "*)
            echo "== issue $issue"
            "issue_$issue"
            ;;
        *) sed -n "/^| $issue |/p" docs/results.md >>"$rows" ;;
    esac
done

{
    echo "# Results"
    echo
    echo "Written by \`tools/long.sh\`. Times are of a shared machine; what counts are the equalities."
    echo
    echo "| issue | line | figure | command | date |"
    echo "|---|---|---|---|---|"
    cat "$rows"
} >docs/results.md
[ -e "$work/failed" ] && failed=1
[ "$failed" = 0 ] && echo "long.sh: passed"
exit "$failed"
