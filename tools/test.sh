#!/usr/bin/env bash
# Everything that has to hold: formatting, clippy, docs and all tests, with the GPU required.
#
# Installs the software Vulkan driver and its tools where they are missing and this machine is a Debian or Ubuntu on
# which it may; else says what to install and fails. HIGHGROUND_GPU=off names the GPU tests as skipped instead.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export HIGHGROUND_GPU="${HIGHGROUND_GPU:-require}"
export CARGO_TERM_COLOR="${CARGO_TERM_COLOR:-auto}"
# Set for the parity tests below and nowhere else.
unset HIGHGROUND_VK_VALIDATION

case "$HIGHGROUND_GPU" in
    require | off) ;;
    auto)
        # Tests have no automatic mode: nothing turns green by finding no device.
        HIGHGROUND_GPU=require
        ;;
    *)
        echo "test.sh: HIGHGROUND_GPU is '$HIGHGROUND_GPU': expected require, auto (the same here) or off" >&2
        exit 2
        ;;
esac

packages=(mesa-vulkan-drivers libvulkan1 vulkan-validationlayers spirv-tools)

missing_packages() {
    local package
    for package in "${packages[@]}"; do
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || echo "$package"
    done
}

# Runs a command as root, if that is possible without asking anybody.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        env DEBIAN_FRONTEND=noninteractive "$@"
    else
        sudo -n env DEBIAN_FRONTEND=noninteractive "$@"
    fi
}

may_be_root() {
    [ "$(id -u)" = 0 ] || { command -v sudo >/dev/null && sudo -n true 2>/dev/null; }
}

# A machine that is no Debian has its own driver; what it lacks the tests say.
install_vulkan() {
    command -v dpkg-query >/dev/null || return 0
    local missing
    missing="$(missing_packages | tr '\n' ' ')"
    missing="${missing% }"
    [ -n "$missing" ] || return 0
    if ! command -v apt-get >/dev/null || ! may_be_root; then
        echo "test.sh: missing: $missing; install them with: sudo apt-get install $missing" >&2
        echo "test.sh: or set HIGHGROUND_GPU=off to have the GPU tests named as skipped" >&2
        exit 2
    fi
    echo "installing $missing"
    # The package lists may be absent or old: fetched once more only where they do not do.
    # shellcheck disable=SC2086
    as_root apt-get install -y -qq --no-install-recommends $missing </dev/null >/dev/null 2>&1 || {
        as_root apt-get update -qq </dev/null
        as_root apt-get install -y -qq --no-install-recommends $missing </dev/null >/dev/null
    }
}

timings=()
stage() {
    local name="$1" start=$SECONDS
    shift
    echo "== $name"
    "$@"
    timings+=("$(printf '%5d s  %s' $((SECONDS - start)) "$name")")
}

parity_with_validation() {
    HIGHGROUND_VK_VALIDATION=1 cargo test --locked --workspace --test parity
}

# The README's first command, and debug against release: both must give the hash that the tests pin.
demo_in_release() {
    local folder pinned found
    folder="$(mktemp -d)"
    pinned="$(sed -n 's/^const DEMO_HASH: &str = "\([0-9a-f]*\)";$/\1/p' tests/tests/demo.rs)"
    cargo run --locked --release --quiet -- demo --out "$folder"
    found="$(sed -n 's/^  "state_hash": "\([0-9a-f]*\)",\{0,1\}$/\1/p' "$folder/summary.json")"
    rm -rf "$folder"
    if [ -z "$pinned" ] || [ "$pinned" != "$found" ]; then
        echo "test.sh: the release build gave state hash '$found', the tests pin '$pinned'" >&2
        return 1
    fi
}

docs() {
    RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --quiet
}

# Every package is selected in each call, so that dependencies are compiled once, with one set of features.
if [ "$HIGHGROUND_GPU" != off ]; then
    stage "vulkan packages" install_vulkan
fi
stage "formatting" cargo fmt --all --check
stage "clippy" cargo clippy --locked --workspace --all-targets --quiet -- -D warnings
stage "docs" docs
stage "tests" cargo test --locked --workspace --no-fail-fast
stage "demo in release" demo_in_release
if [ "$HIGHGROUND_GPU" != off ]; then
    stage "parity under the validation layer" parity_with_validation
fi

echo
printf '%s\n' "${timings[@]}"
if [ "$HIGHGROUND_GPU" = off ]; then
    echo "test.sh: passed, with the GPU tests skipped (HIGHGROUND_GPU=off)"
else
    echo "test.sh: passed"
fi
