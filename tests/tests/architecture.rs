//! The arrows of the house run one way. Fails when a manifest or a source file turns one round.

use highground_tests::arrows::{MODULES, ROOMS, check_manifest, check_source};
use highground_tests::root;
use std::fs;
use std::path::Path;

/// Every Rust file below a folder, relative to the root, in order.
fn sources(folder: &Path, out: &mut Vec<String>) {
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            if path.file_name().is_none_or(|n| n != "target") {
                sources(&path, out);
            }
        } else if path.extension().is_some_and(|e| e == "rs") {
            let relative = path.strip_prefix(root()).unwrap();
            out.push(relative.to_str().unwrap().replace('\\', "/"));
        }
    }
}

/// Unit tests in files of their own, which `mod tests;` brings in under `#[cfg(test)]`.
fn is_test_file(path: &str) -> bool {
    let mut parts = path.split('/').skip(1);
    parts.any(|part| part == "tests" || part == "tests.rs")
}

#[test]
fn no_manifest_turns_an_arrow_round() {
    let mut broken = Vec::new();
    for room in &ROOMS {
        let manifest = fs::read_to_string(root().join(room.folder).join("Cargo.toml")).unwrap();
        broken.extend(check_manifest(room, &manifest));
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn no_source_file_turns_an_arrow_round() {
    let mut files = Vec::new();
    for room in &ROOMS {
        sources(&root().join(room.folder), &mut files);
    }
    assert!(files.len() > 30, "the sources were found");
    let mut broken = Vec::new();
    for path in files.iter().filter(|path| !is_test_file(path)) {
        broken.extend(check_source(path, &fs::read_to_string(root().join(path)).unwrap()));
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn every_room_and_every_terrain_module_has_its_rule() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let members = manifest.lines().find(|l| l.starts_with("members")).unwrap();
    assert_eq!(members.matches('"').count() / 2, ROOMS.len(), "{members}");
    for room in &ROOMS {
        assert!(members.contains(&format!("\"{}\"", room.folder)), "{}", room.folder);
    }
    let lib = fs::read_to_string(root().join("terrain/src/lib.rs")).unwrap();
    for line in lib.lines() {
        let line = line.trim_start_matches("pub ");
        if let Some(module) = line.strip_prefix("mod ").and_then(|l| l.strip_suffix(';')) {
            assert!(MODULES.iter().any(|m| m.0 == module), "{module} has no rule");
        }
    }
}

#[test]
fn low_modules_never_name_higher_ones() {
    // The table itself runs one way, but for the three that know each other.
    for (i, (module, allowed)) in MODULES.iter().enumerate() {
        for target in *allowed {
            let j = MODULES.iter().position(|m| m.0 == *target).unwrap();
            let together = ["format", "surface", "store"];
            let mutual = together.contains(module) && together.contains(target);
            assert!(j < i || mutual, "{module} may use {target}, which stands above it");
        }
    }
}

fn room(folder: &str) -> &'static highground_tests::arrows::Room {
    ROOMS.iter().find(|r| r.folder == folder).unwrap()
}

#[test]
fn a_planted_dependency_is_caught() {
    let caught = |folder, manifest| check_manifest(room(folder), manifest).len();
    assert_eq!(caught("terrain", "[dependencies]\nhighground-gpu.workspace = true"), 1);
    assert_eq!(caught("terrain", "[dev-dependencies]\nhighground-game = { path = \"../game\" }"), 1);
    assert_eq!(caught("terrain", "[dependencies.hecs]\nversion = \"1\""), 1);
    assert_eq!(caught("terrain", "[target.'cfg(unix)'.dependencies]\ntokio = \"1\""), 1);
    assert_eq!(caught("game", "[dependencies]\nhighground-gpu.workspace = true"), 1);
    assert_eq!(caught("game", "[dependencies]\nv = { package = \"vulkano\", version = \"1\" }"), 1);
    assert_eq!(caught("gpu", "[dependencies]\nhighground-game.workspace = true"), 1);
    assert_eq!(caught("tools", "[dependencies]\nhighground-tests.workspace = true"), 1);
    // Not dependencies, or allowed ones.
    assert_eq!(caught("terrain", "[package]\nname = \"highground-terrain\"\n# highground-gpu = 1"), 0);
    assert_eq!(caught("game", "[dependencies]\nhighground-terrain.workspace = true\nhecs = \"1\""), 0);
}

#[test]
fn a_planted_use_is_caught() {
    let caught = |path, source| check_source(path, source).len();
    assert_eq!(caught("terrain/src/coord.rs", "use crate::config::TerrainConfig;"), 1);
    assert_eq!(caught("terrain/src/coord.rs", "use super::surface::Ground;"), 1);
    assert_eq!(caught("terrain/src/kernel/weight_mip.rs", "use crate::{coord, store::Raster};"), 1);
    assert_eq!(caught("terrain/src/kernel/weight_mip.rs", "fn f() { super::super::store::open() }"), 1);
    assert_eq!(caught("terrain/src/surface/query.rs", "use crate::runtime::Scheduler;"), 1);
    assert_eq!(caught("terrain/src/surface/query.rs", "use crate::collide::Shape;"), 1);
    assert_eq!(caught("terrain/src/surface/query.rs", "use std::{io, fs::File};"), 1);
    assert_eq!(caught("terrain/src/store/mod.rs", "use std::net::TcpStream;"), 1);
    assert_eq!(caught("terrain/src/store/mod.rs", "use vulkano::device::Device;"), 1);
    assert_eq!(caught("terrain/src/lib.rs", "pub use highground_game as game;"), 1);
    assert_eq!(caught("game/src/step.rs", "fn f() { highground_gpu::GpuCompute::open(); }"), 1);
    assert_eq!(caught("gpu/src/device.rs", "use highground_game::Session;"), 1);
    assert_eq!(caught("terrain/src/height.rs", "fn f() { unsafe { g() } }"), 1);
    assert_eq!(caught("tools/src/demo.rs", "#[allow(unsafe_code)] unsafe fn f() {}"), 1);
}

#[test]
fn what_only_looks_like_a_violation_is_not_caught() {
    let caught = |path, source| check_source(path, source);
    let none: Vec<String> = Vec::new();
    assert_eq!(caught("terrain/src/coord.rs", "const A: &[u8] = br#\"\\\" unsafe\"#; fn r() {}"), none);
    assert_eq!(caught("terrain/src/coord.rs", "/// See [`crate::config`]. unsafe\nfn f() {}"), none);
    assert_eq!(caught("terrain/src/coord.rs", "const A: &str = \"unsafe \\\" crate::store::x\";"), none);
    assert_eq!(caught("terrain/src/coord.rs", "const A: &str = r#\"\"unsafe\"#; /* /* unsafe */ */"), none);
    assert_eq!(caught("terrain/src/coord.rs", "fn f<'a>(_: &'a u8) -> char { '\"' } // unsafe"), none);
    let tested = "fn f() {}\n#[cfg(test)]\nmod tests { use crate::store::Raster; fn g() { '}'; } }";
    assert_eq!(caught("terrain/src/coord.rs", tested), none);
    assert_eq!(caught("terrain/src/store/file.rs", "use std::fs::File; use crate::surface::Block;"), none);
    assert_eq!(caught("terrain/src/surface/query.rs", "use super::Ground; use crate::coord::CellPos;"), none);
    assert_eq!(caught("gpu/src/pass/mod.rs", "unsafe { f() }"), none);
    // What follows a skipped test module is still seen.
    let after = "#[cfg(test)]\nmod tests { fn f() { if a { b } } }\nuse crate::store::Raster;";
    let found = caught("terrain/src/coord.rs", after);
    assert_eq!(found, ["terrain/src/coord.rs:3: coord must not lean on store"]);
}
