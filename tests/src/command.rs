//! The built `highground` command, for tests that run it.
//!
//! The command is another package's binary, so cargo does not hand its path to these tests. Never runs a stale one:
//! the first use in a test executable asks cargo to build it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The command, built in the profile of the running test. Called with arguments by the test.
///
/// # Panics
/// When it cannot be built.
pub fn highground() -> Command {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let mut command = Command::new(BUILT.get_or_init(build));
    command.stdin(std::process::Stdio::null());
    command
}

fn build() -> PathBuf {
    let test = std::env::current_exe().expect("the test executable has a path");
    // target/[triple/]<profile>/deps/<test>
    let folder = test.parent().and_then(Path::parent).expect("tests lie in <profile>/deps");
    let profile = folder.file_name().and_then(|n| n.to_str()).expect("profile folders have names");
    let target = folder.parent().expect("profile folders lie in the target folder");
    // The whole workspace is selected, as the tests are, so that dependencies keep the features they were built with.
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(crate::root()).args(["build", "--quiet", "--workspace"]);
    cargo.args(["--bin", "highground", "--profile", if profile == "debug" { "dev" } else { profile }]);
    match triple(target) {
        Some(triple) => cargo.arg("--target").arg(triple).arg("--target-dir").args(target.parent()),
        None => cargo.arg("--target-dir").arg(target),
    };
    let output = cargo.output().expect("cargo runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "building the highground command failed:\n{said}");
    folder.join(format!("highground{}", std::env::consts::EXE_SUFFIX))
}

/// Cargo marks the target folder itself, so one without the mark is the folder of a target triple.
fn triple(folder: &Path) -> Option<&str> {
    if folder.join("CACHEDIR.TAG").exists() {
        return None;
    }
    folder.file_name().and_then(|n| n.to_str()).filter(|n| n.matches('-').count() >= 2)
}
