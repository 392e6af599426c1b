//! `highground kernel` and `highground parity` as a user runs them.

use highground_tests::{gpu, highground, test_name};
use std::path::Path;
use std::process::Output;

fn weight_mip(folder: &Path, size: &str, encoding: &str, device: &str) -> Output {
    highground()
        .args(["kernel", "weight-mip", "--size", size, "--encoding", encoding, "--device", device])
        .arg("--in")
        .arg(folder.join("in.raw"))
        .arg("--out")
        .arg(folder.join("out.raw"))
        .output()
        .unwrap()
}

/// Exit status 2 and one line on stderr that holds all of `parts`.
fn assert_refused(output: &Output, parts: &[&str]) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    for part in parts {
        assert!(said.contains(part), "{part:?} is not in {said:?}");
    }
}

#[test]
fn the_articles_example_goes_through_files() {
    let folder = tempfile::tempdir().unwrap();
    let quad = [3, 7, 64, 3, 7, 191, 5, 5, 0, 5, 5, 0];
    std::fs::write(folder.path().join("in.raw"), quad).unwrap();
    let devices: &[&str] = if gpu::is_off(test_name!()) { &["cpu"] } else { &["cpu", "gpu", "auto"] };
    for device in devices {
        let output = weight_mip(folder.path(), "2x2", "hd", device);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(output.stdout.is_empty());
        assert_eq!(std::fs::read(folder.path().join("out.raw")).unwrap(), [5, 3, 85]);
    }
}

#[test]
fn normal_texels_are_little_endian() {
    let folder = tempfile::tempdir().unwrap();
    // id1 = 2 alone beside id1 = 9 alone: half of each, 3.5 sevenths, rounds up to 4.
    std::fs::write(folder.path().join("in.raw"), [9, 0, 2, 0]).unwrap();
    let output = weight_mip(folder.path(), "2x1", "normal", "cpu");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let expected: u16 = 2 + 32 * 9 + 1024 * 4;
    assert_eq!(std::fs::read(folder.path().join("out.raw")).unwrap(), expected.to_le_bytes());
}

#[test]
fn a_file_of_another_length_is_refused_with_both_lengths() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in.raw"), [0; 19]).unwrap();
    let output = weight_mip(folder.path(), "3x2", "hd", "cpu");
    assert_refused(&output, &["in.raw", "expected 18 bytes for 3x2 hd texels", "found 19"]);
    assert!(!folder.path().join("out.raw").exists());
    let output = weight_mip(folder.path(), "1000000x1000000", "hd", "cpu");
    assert_refused(&output, &["expected 3000000000000 bytes", "found 19"]);
    let output = weight_mip(folder.path(), "4000000000x4000000000", "hd", "cpu");
    assert_refused(&output, &["4000000000x4000000000", "sides from 1 to 1048576"]);
}

#[test]
fn a_missing_file_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    assert_refused(&weight_mip(folder.path(), "3x2", "hd", "cpu"), &["in.raw"]);
}

#[test]
fn a_size_that_is_none_is_bad_usage() {
    let folder = tempfile::tempdir().unwrap();
    let output = weight_mip(folder.path(), "3by2", "hd", "cpu");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("expected WxH"));
}

#[test]
fn parity_reports_every_pass_as_equal() {
    if gpu::is_off(test_name!()) {
        return;
    }
    let output = highground().args(["parity", "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["match"], true);
    let passes = report["passes"].as_array().unwrap();
    assert_eq!(passes.len(), highground_gpu::shader::MODULES.len(), "every shader has its line");
    for pass in passes {
        assert_eq!(pass["match"], true);
        assert!(pass["outputs"].as_u64().unwrap() > 1_000_000);
    }
}

#[test]
fn without_a_driver_auto_says_why_and_gpu_fails() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in.raw"), [1, 1, 0]).unwrap();
    let run = |device: &str, policy: &str| {
        highground()
            .args(["kernel", "weight-mip", "--size", "1x1", "--encoding", "hd", "--device", device])
            .arg("--in")
            .arg(folder.path().join("in.raw"))
            .arg("--out")
            .arg(folder.path().join("out.raw"))
            // Both names of the loader's list of drivers, set to nothing that exists.
            .env("VK_ICD_FILENAMES", folder.path().join("none.json"))
            .env("VK_DRIVER_FILES", folder.path().join("none.json"))
            .env("HIGHGROUND_GPU", policy)
            .env_remove("HIGHGROUND_VK_VALIDATION")
            .output()
            .unwrap()
    };
    let fallen_back = run("auto", "auto");
    let said = String::from_utf8_lossy(&fallen_back.stderr);
    assert!(fallen_back.status.success(), "{said}");
    assert!(said.contains("kernels run on the CPU") && said.contains("apt-get install"), "{said}");
    assert_refused(&run("gpu", "auto"), &["apt-get install mesa-vulkan-drivers libvulkan1"]);
    assert_refused(&run("auto", "require"), &["apt-get install mesa-vulkan-drivers libvulkan1"]);
    assert_refused(&run("gpu", "off"), &["HIGHGROUND_GPU=off"]);
    assert_refused(&run("auto", "maybe"), &["HIGHGROUND_GPU", "require, auto or off"]);
    let off = run("auto", "off");
    assert!(off.status.success());
    assert!(String::from_utf8_lossy(&off.stderr).contains("HIGHGROUND_GPU=off"));
}
