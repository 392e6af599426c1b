//! The edges of the command line: outputs that nobody reads, inputs that never end, outputs that are inputs.

use highground_terrain::coord::BlockPos;
use highground_terrain::format::payload::Section;
use highground_terrain::store::{BlockSource, PayloadFile};
use highground_tests::{highground, root};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn text(path: &Path) -> String {
    path.to_str().expect("a plain path").to_owned()
}

/// Runs to the end, but never longer than a minute.
fn within_a_minute(command: &mut Command) -> Output {
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
    let start = Instant::now();
    while child.try_wait().expect("a child").is_none() {
        if start.elapsed() > Duration::from_secs(60) {
            let _ = child.kill();
            panic!("{command:?} never ends");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().expect("its output")
}

/// Status 2 and one line that holds all of `says`.
fn refused(command: &mut Command, says: &[&str]) {
    let output = within_a_minute(command);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{command:?}: {said}");
    assert_eq!(said.lines().count(), 1, "{command:?}: {said}");
    assert!(says.iter().all(|s| said.contains(s)), "{command:?}: {said}");
}

fn terrain(folder: &Path) -> PathBuf {
    let path = folder.join("jacksboro.terrain");
    let recipe = root().join("content/worlds/jacksboro.ron");
    let output = highground().args(["cook", &text(&recipe), "--out", &text(&path)]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    path
}

#[cfg(unix)]
#[test]
fn pipes_and_devices_are_refused_instead_of_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (pipe, out) = (text(&pipe), text(&folder.path().join("x")));
    for arguments in [
        vec!["inspect", &pipe],
        vec!["verify", &pipe],
        vec!["demo", "--device", "cpu", "--terrain", &pipe, "--out", &out],
        vec!["import", &pipe, "--out", &out],
        vec!["import", &pipe, "--format", "hgt", "--out", &out],
        vec!["cook", &pipe, "--out", &out],
        vec!["replay", &pipe],
        vec!["replay", "/dev/zero"],
        vec!["cook", "/dev/zero", "--out", &out],
        vec!["demo", "--device", "cpu", "--world", "/dev/zero", "--out", &out],
    ] {
        refused(highground().args(&arguments), &["not a regular file"]);
    }
    // Neither is a pipe replaced by what is written.
    let recipe = text(&root().join("content/worlds/jacksboro.ron"));
    refused(highground().args(["cook", &recipe, "--out", &pipe]), &["not a regular file"]);
    std::fs::create_dir_all(&out).unwrap();
    for name in ["world.terrain", "replay.hgr", "map.png", "summary.json"] {
        let inside = Path::new(&out).join(name);
        std::fs::rename(&pipe, &inside).unwrap();
        let mut demo = highground();
        demo.args(["demo", "--device", "cpu", "--ticks", "5", "--out", &out]);
        refused(&mut demo, &[name, "not a regular file"]);
        std::fs::rename(&inside, &pipe).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn a_terrain_written_through_a_link_replaces_what_the_link_points_to() {
    let folder = tempfile::tempdir().unwrap();
    let (target, link) = (folder.path().join("target"), folder.path().join("link"));
    std::fs::write(&target, b"old").unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let recipe = text(&root().join("content/worlds/jacksboro.ron"));
    assert!(highground().args(["cook", &recipe, "--out", &text(&link)]).output().unwrap().status.success());
    assert!(std::fs::symlink_metadata(&link).unwrap().file_type().is_symlink());
    assert!(std::fs::read(&target).unwrap().starts_with(b"\x89HGT"));
}

#[test]
fn what_is_being_read_is_never_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let world = root().join("content/worlds");
    for name in ["jacksboro.ron", "jacksboro.png"] {
        std::fs::copy(world.join(name), folder.path().join(name)).unwrap();
    }
    let at = |name: &str| text(&folder.path().join(name));
    let contents = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    for out in ["jacksboro.ron", "jacksboro.png"] {
        let before = contents(out);
        refused(
            highground().args(["cook", &at("jacksboro.ron"), "--out", &at(out)]),
            &["pass another --out"],
        );
        assert_eq!(contents(out), before);
    }
    // The picture of a recipe that lies where the demo writes.
    let recipe = std::fs::read_to_string(world.join("jacksboro.ron")).unwrap();
    std::fs::copy(world.join("jacksboro.png"), folder.path().join("map.png")).unwrap();
    std::fs::write(folder.path().join("here.ron"), recipe.replace("jacksboro.png", "map.png")).unwrap();
    let mut demo = highground();
    demo.args(["demo", "--device", "cpu", "--ticks", "5", "--world", &at("here.ron")]);
    refused(demo.args(["--out", &text(folder.path())]), &["map.png", "pass another --out"]);
    let ours = terrain(folder.path());
    for name in ["map.png", "replay.hgr", "summary.json", "world.terrain"] {
        std::fs::copy(&ours, folder.path().join(name)).unwrap();
        let before = contents(name);
        let mut demo = highground();
        demo.args([
            "demo",
            "--device",
            "cpu",
            "--ticks",
            "5",
            "--terrain",
            &at(name),
            "--out",
            &text(folder.path()),
        ]);
        refused(&mut demo, &["pass another --out"]);
        assert_eq!(contents(name), before);
    }
    std::fs::write(folder.path().join("texels"), [0; 12]).unwrap();
    let mut kernel = highground();
    kernel.args(["kernel", "weight-mip", "--in", &at("texels"), "--size", "2x2", "--encoding", "hd"]);
    kernel.args(["--device", "cpu", "--out", &at("texels")]);
    refused(&mut kernel, &["pass another --out"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_one_line_and_a_reader_that_has_gone_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = text(&terrain(folder.path()));
    let out = text(&folder.path().join("run"));
    let replay = text(&folder.path().join("run/replay.hgr"));
    let demo = ["demo", "--ticks", "5", "--device", "cpu", "--out", &out];
    assert!(highground().args(demo).output().unwrap().status.success());
    for arguments in [
        demo.to_vec(),
        [&demo[..], &["--json"]].concat(),
        vec!["inspect", &path],
        vec!["inspect", &path, "--json"],
        vec!["verify", &path],
        vec!["replay", &replay],
        vec!["replay", &replay, "--verify"],
        vec!["replay", &replay, "--verify", "--json"],
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = highground().args(&arguments).stdout(full).stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.lines().count() == 1 && said.contains("stdout"), "{arguments:?}: {said}");

        // The reading end is dropped before anything is written.
        let mut child =
            highground().args(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), said.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

/// A block that nothing but the physics would read: files without layers have no weight chain.
#[test]
fn a_demo_on_a_damaged_terrain_says_so_before_anybody_walks() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("N00E000.hgt");
    let heights = (0..1201 * 1201).flat_map(|i: u32| ((i % 97) as i16).to_be_bytes()).collect::<Vec<u8>>();
    std::fs::write(&source, heights).unwrap();
    let path = folder.path().join("a.terrain");
    let output = highground()
        .args(["import", &text(&source), "--spacing", "8", "--out", &text(&path)])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let out = text(&folder.path().join("run"));
    refused(
        highground().args(["demo", "--device", "cpu", "--terrain", &text(&path), "--out", &out]),
        &["a.terrain", "checksum"],
    );
    refused(highground().args(["verify", &text(&path)]), &["a.terrain", "checksum"]);
    std::fs::write(&path, &bytes[..middle]).unwrap();
    refused(
        highground().args(["demo", "--device", "cpu", "--terrain", &text(&path), "--out", &out]),
        &["a.terrain"],
    );
}

#[test]
fn wrong_arguments_are_one_line() {
    for arguments in [
        &["demo", "--ticks", "0"][..],
        &["demo", "--players", "513"],
        &["demo", "--trace", "--players", "512", "--ticks", "100000"],
        &["import", "a.hgt", "--out", "b", "--block", "48"],
        &["import", "a.hgt", "--out", "b", "--crop", "1,2,3"],
        &["import", "a.hgt", "--out", "b", "--quantum-log2", "13"],
        &["replay", "a", "--verify", "--diff", "b"],
        &["cook", "a.ron", "--out", "b", "--threads", "20000"],
        &["unknown"],
        &[],
    ] {
        refused(highground().args(arguments), &["highground: "]);
    }
}

#[test]
fn a_line_that_is_too_long_is_refused_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = text(&terrain(folder.path()));
    let points = folder.path().join("points");
    std::fs::write(&points, format!("1,2{}3,4\n", " ".repeat(4093))).unwrap();
    let output = highground().args(["query", &path, "heights", "--points", &text(&points)]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty() && String::from_utf8_lossy(&output.stderr).contains("longer than 4096"));
}

#[test]
fn points_on_a_damaged_block_are_answered_failed_and_the_others_valid() {
    let folder = tempfile::tempdir().unwrap();
    let path = terrain(folder.path());
    let mut bytes = std::fs::read(&path).unwrap();
    // The last block: the far corner of the map.
    let file = PayloadFile::open(&path).unwrap();
    let [w, h] = file.config().blocks(file.block_side()).map(|n| n as i32);
    let heights = file.span(BlockPos::new(w - 1, h - 1), Section::Height).unwrap();
    bytes[heights.start as usize] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let points = folder.path().join("points");
    std::fs::write(&points, "100,100\n790,670\n200,200\n").unwrap();
    let output =
        highground().args(["query", &text(&path), "heights", "--points", &text(&points)]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
    let states: Vec<String> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap()["state"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(states, ["valid", "failed", "valid"]);
}
