//! `import`, `cook`, `inspect`, `verify` and `query heights` as a user runs them.

mod shared;

use highground_terrain::coord::BlockPos;
use highground_terrain::format::payload::Section;
use highground_terrain::store::PayloadFile;
use highground_tests::{highground, root};
use serde_json::Value;
use shared::{png_header, shared_data};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

fn run(args: &[&str], files: &[(&str, &Path)]) -> Output {
    let mut command = highground();
    command.args(args);
    for (option, path) in files {
        if !option.is_empty() {
            command.arg(option);
        }
        command.arg(path);
    }
    command.output().unwrap()
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Exit status 2, nothing on stdout, and one line on stderr that holds all of `parts`.
fn assert_refused(output: &Output, parts: &[&str]) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!((said.lines().count(), output.stdout.len()), (1, 0), "{said}");
    for part in parts {
        assert!(said.contains(part), "{part:?} is not in {said:?}");
    }
}

/// Runs `query FILE heights` with points on stdin.
fn heights(terrain: &Path, points: &str) -> Output {
    let mut child = highground()
        .arg("query")
        .arg(terrain)
        .args(["heights", "--points", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let points = points.to_owned();
    let writer = std::thread::spawn(move || {
        // A refused line ends the reading early.
        let _ = stdin.write_all(points.as_bytes());
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

/// A 5×4 tile of whole metres: x · 10 + z, a void at (3, 1).
fn small_tile(folder: &Path) -> std::path::PathBuf {
    let source = folder.join("small.hgt");
    let height = |i: i16| if i == 8 { i16::MIN } else { i % 5 * 10 + i / 5 };
    fs::write(&source, (0..25).flat_map(|i| height(i).to_be_bytes()).collect::<Vec<u8>>()).unwrap();
    let out = folder.join("small.terrain");
    json(&run(&["import", "--spacing", "2", "--json"], &[("", &source), ("--out", &out)]));
    out
}

#[test]
fn import_inspect_and_verify_agree() {
    let folder = tempfile::tempdir().unwrap();
    let terrain = small_tile(folder.path());
    let inspected = json(&run(&["inspect", "--json"], &[("", &terrain)]));
    let expected = serde_json::json!({
        "samples": [5, 5], "spacing_m": 2.0, "quantum_m": 1.0 / 128.0, "rounding_m": 0.0, "min_m": 0.0, "max_m": 44.0,
        "void_samples": 1, "hole_cells": 4, "blocks": 1, "diagonal": "main",
    });
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&inspected[key], value, "{key}");
    }
    assert_eq!(inspected["bytes"], fs::metadata(&terrain).unwrap().len());
    assert_eq!(
        (&inspected["origin"]["nodata"], &inspected["origin"]["nodata_samples"]),
        (&(-32768).into(), &1.into())
    );
    let verified = json(&run(&["verify", "--json"], &[("", &terrain)]));
    assert_eq!((&verified["valid"], &verified["digest"]), (&true.into(), &inspected["digest"]));
    let table = run(&["inspect"], &[("", &terrain)]);
    assert!(String::from_utf8_lossy(&table.stdout).contains("5 x 5, 2 m apart"));
}

#[test]
fn heights_are_answered_line_by_line() {
    let folder = tempfile::tempdir().unwrap();
    let terrain = small_tile(folder.path());
    // In cells: inside (0, 0); a sample; inside the void's cell; outside; the far corner.
    let output = heights(&terrain, "1.5,0.5\n2,4\r\n5.5,1.75\n-1,0\n8,8");
    assert!(output.status.success());
    let lines: Vec<Value> =
        String::from_utf8(output.stdout).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let states: Vec<&str> = lines.iter().map(|l| l["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["valid", "valid", "hole", "outside", "valid"]);
    // The plane x/2 · 10 + z/2.
    assert_eq!(
        (&lines[0]["height_m"], &lines[0]["cell"], &lines[0]["triangle"]),
        (&7.75.into(), &vec![0, 0].into(), &0.into())
    );
    assert_eq!((&lines[1]["height_m"], &lines[4]["height_m"]), (&12.0.into(), &44.0.into()));
    assert_eq!((&lines[4]["cell"], &lines[4]["layer"]), (&vec![3, 3].into(), &0.into()));
    // The plane's normal is (−5, 1, −½) made one long.
    let normal: Vec<f64> =
        lines[0]["normal"].as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect();
    let length = (25.0f64 + 1.0 + 0.25).sqrt();
    for (found, expected) in normal.iter().zip([-5.0 / length, 1.0 / length, -0.5 / length]) {
        assert!((found - expected).abs() < 1e-15);
    }
    for (key, value) in lines[2].as_object().unwrap() {
        assert_eq!(value.is_null(), !["x", "z", "state"].contains(&key.as_str()), "{key}");
    }
}

#[test]
fn a_line_that_is_no_point_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let terrain = small_tile(folder.path());
    let points = folder.path().join("points.csv");
    for (line, part) in [
        ("1;2", "expected \"x,z\""),
        ("x,z", "expected \"x,z\""),
        ("1,2,3", "expected \"x,z\""),
        ("nan,1", "not a finite number"),
        ("1e300,1", "beyond"),
        (&"9".repeat(100_000), "expected \"x,z\""),
    ] {
        fs::write(&points, format!("{line}\n1,1\n")).unwrap();
        let mut command = highground();
        command.arg("query").arg(&terrain).args(["heights", "--points"]).arg(&points);
        assert_refused(&command.output().unwrap(), &["points.csv:1: ", part]);
    }
    // Blank lines and a byte order mark are nothing; lines keep their numbers.
    fs::write(&points, "\u{feff}1,1\r\n\n  \n2,2\n\n1;2\n").unwrap();
    let mut command = highground();
    command.arg("query").arg(&terrain).args(["heights", "--points"]).arg(&points);
    let output = command.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 2);
    assert!(String::from_utf8_lossy(&output.stderr).contains("points.csv:6: expected"));
}

#[test]
fn who_asks_through_a_pipe_is_answered_line_by_line() {
    use std::io::{BufRead, BufReader, Write};
    let folder = tempfile::tempdir().unwrap();
    let terrain = small_tile(folder.path());
    let mut command = highground();
    command.arg("query").arg(&terrain).args(["heights", "--points", "-"]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (mut ask, mut answers) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    for x in 1..4 {
        writeln!(ask, "{x},1").unwrap();
        let mut line = String::new();
        // Comes before the next question is asked, or never.
        answers.read_line(&mut line).unwrap();
        assert!(line.starts_with(&format!("{{\"x\":{x}.0,")), "{line}");
    }
    drop(ask);
    assert!(child.wait().unwrap().success());
}

#[test]
fn fields_and_costs_that_the_terrain_does_not_have_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let terrain = small_tile(folder.path());
    let points = folder.path().join("points.csv");
    fs::write(&points, "1,1\n").unwrap();
    for (fields, part) in [
        ("weight:grass", "--fields weight:grass: the terrain has 0"),
        ("weight:7", "--fields weight:7: the terrain has 0"),
        ("user:0", "--fields user:0: the terrain has none"),
        ("wieght:0", "expected smooth-normal"),
    ] {
        let mut command = highground();
        command.arg("query").arg(&terrain).args(["heights", "--fields", fields, "--points"]).arg(&points);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains(part), "{fields}");
    }
    let agents = folder.path().join("agents.ron");
    fs::write(&agents, "(agents: [(name: \"cart\")], layer_cost: {\"gras\": 127})").unwrap();
    fs::write(&points, "1,1,2,2\n").unwrap();
    let mut command = highground();
    command.arg("query").arg(&terrain).args(["paths", "--agents"]).arg(&agents).arg("--points").arg(&points);
    assert_refused(&command.output().unwrap(), &["agents.ron", "layer_cost: \"gras\""]);
}

#[test]
fn bad_input_gives_one_line_and_status_2() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let terrain = small_tile(folder.path());
    let good = fs::read(&terrain).unwrap();
    let damaged = at("damaged.terrain");
    fs::write(&damaged, &good[..good.len() - 1]).unwrap();
    for command in ["inspect", "verify"] {
        assert_refused(&run(&[command], &[("", &damaged)]), &["damaged.terrain", "file length"]);
        assert_refused(&run(&[command], &[("", &at("none.terrain"))]), &["none.terrain", "cannot be read"]);
    }
    let mut bytes = good.clone();
    let file = PayloadFile::open(&terrain).unwrap();
    let heights = file.span(BlockPos::new(0, 0), Section::Height).unwrap();
    bytes[heights.start as usize] ^= 1;
    fs::write(&damaged, &bytes).unwrap();
    assert_refused(&run(&["verify"], &[("", &damaged)]), &["damaged.terrain", "block (0, 0)", "checksum"]);
    fs::write(at("bad.hgt"), [0; 7]).unwrap();
    let out = at("out.terrain");
    let import =
        |name: &str, args: &[&str]| run(&[&["import"], args].concat(), &[("", &at(name)), ("--out", &out)]);
    assert_refused(&import("bad.hgt", &["--spacing", "1"]), &["bad.hgt", "2884802", "found 7 bytes"]);
    fs::write(at("huge.png"), png_header(200_000, 200_000)).unwrap();
    let args = ["--spacing", "1", "--min", "-5", "--max", "5"];
    assert_refused(&import("huge.png", &args), &["huge.png", "200000x200000"]);
    fs::write(at("typo.ron"), "(\n  source: (png: \"a.png\", min_m: 0, max_m: 1),\n  spacng_m: 1,\n)")
        .unwrap();
    assert_refused(&run(&["cook"], &[("", &at("typo.ron")), ("--out", &out)]), &["typo.ron:3:", "spacng_m"]);
    assert!(!out.exists());
    let same = run(&["import", "--spacing", "1"], &[("", &at("small.hgt")), ("--out", &at("small.hgt"))]);
    assert_refused(&same, &["pass another --out"]);
}

#[test]
fn export_and_import_give_the_same_digest() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let terrain = small_tile(folder.path());
    let digest = json(&run(&["inspect", "--json"], &[("", &terrain)]))["digest"].clone();
    for name in ["a.png", "a.r16", "a.tif", "a.hgt"] {
        let done = json(&run(&["export", "--json"], &[("", &terrain), ("--out", &at(name))]));
        assert_eq!(
            (&done["digest"], &done["lossless"], &done["void_samples"]),
            (&digest, &true.into(), &1.into())
        );
        let options: Vec<&str> = done["import"].as_str().unwrap().split(' ').collect();
        let again = at("again.terrain");
        let args = [&["import", "--json"], &options[..]].concat();
        assert_eq!(json(&run(&args, &[("", &at(name)), ("--out", &again)]))["digest"], digest, "{name}");
    }
    let table = run(&["export"], &[("", &terrain), ("--out", &at("b.r16"))]);
    let text = String::from_utf8_lossy(&table.stdout);
    assert!(text.contains("loss           none") && text.contains("--nodata 65535"), "{text}");
    assert_refused(
        &run(&["export"], &[("", &terrain), ("--out", &at("b.xyz"))]),
        &["b.xyz", "pass --format"],
    );
    assert_refused(&run(&["export", "--min", "1"], &[("", &terrain), ("--out", &at("b.png"))]), &["--max"]);
    assert_refused(&run(&["export"], &[("", &terrain), ("--out", &terrain)]), &["--format"]);
    let same = run(&["export", "--format", "png"], &[("", &terrain), ("--out", &terrain)]);
    assert_refused(&same, &["pass another --out"]);
}

#[test]
fn notes_on_a_source_go_to_stderr_and_into_the_origin() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("a.r32");
    fs::write(&source, [1f32, -9999.0, 2.5, 3.0].map(f32::to_le_bytes).concat()).unwrap();
    let out = folder.path().join("a.terrain");
    let args = ["import", "--json", "--spacing", "1", "--byte-order", "little"];
    let done = run(&args, &[("", &source), ("--out", &out)]);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(said.contains("note: a.r32: 1 sample is exactly -9999: pass --nodata -9999"), "{said}");
    assert!(json(&done)["origin"]["notes"].to_string().contains("-9999"));
    for (nodata, expected) in
        [("-9999", serde_json::json!(-9999)), ("nan", "nan".into()), ("-inf", "-inf".into())]
    {
        let done = run(&[&args[..], &["--nodata", nodata]].concat(), &[("", &source), ("--out", &out)]);
        assert_eq!(json(&done)["origin"]["nodata"], expected);
    }
    let bad = run(&[&args[..], &["--nodata", "none"]].concat(), &[("", &source), ("--out", &out)]);
    assert_refused(&bad, &["--nodata", "none"]);
    let bad = run(&[&args[..], &["--size", "2"]].concat(), &[("", &source), ("--out", &out)]);
    assert_refused(&bad, &["--size", "WxH"]);
}

#[test]
fn the_content_world_cooks_the_same_with_any_threads() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("j.terrain");
    let recipe = root().join("content/worlds/jacksboro.ron");
    let cook = |threads: &str| {
        json(&run(&["cook", "--json", "--threads", threads], &[("", &recipe), ("--out", &out)]))
    };
    let (one, two) = (cook("1"), cook("2"));
    assert_eq!(one, two);
    assert_eq!(one["origin"]["source"], "jacksboro.png");
    assert!(out.exists() && fs::read_dir(folder.path()).unwrap().count() == 1);
}

#[test]
fn every_help_has_an_example() {
    for command in [
        &["import"][..],
        &["export"],
        &["cook"],
        &["inspect"],
        &["verify"],
        &["query"],
        &["query", "x", "heights"],
        &["demo"],
        &["replay"],
        &["parity"],
        &["kernel"],
        &["kernel", "weight-mip"],
    ] {
        let output = highground().args(command).arg("--help").output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("Example"), "{command:?}: {text}");
    }
}

#[test]
fn a_real_tile_answers_at_its_samples() {
    let Some(source) = shared_data("srtm-hgt-riviera/N43E007.hgt") else { return };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("n.terrain");
    let summary = json(&run(&["import", "--spacing", "32", "--json"], &[("", &source), ("--out", &out)]));
    assert_eq!(
        (&summary["void_samples"], &summary["min_m"], &summary["max_m"]),
        (&1595.into(), &(-11.0).into(), &2064.0.into())
    );
    let raw = fs::read(&source).unwrap();
    let mut numbers = shared::Numbers(3);
    let samples: Vec<(usize, usize)> =
        (0..400).map(|_| (numbers.below(1201) as usize, numbers.below(1201) as usize)).collect();
    let points: String = samples.iter().map(|(x, z)| format!("{},{}\n", x * 32, z * 32)).collect();
    let output = heights(&out, &points);
    let text = String::from_utf8(output.stdout).unwrap();
    let mut answered = 0;
    for (line, (x, z)) in text.lines().zip(&samples) {
        let at = (z * 1201 + x) * 2;
        let metres = i16::from_be_bytes([raw[at], raw[at + 1]]);
        let line: Value = serde_json::from_str(line).unwrap();
        if line["state"] == "valid" {
            assert_eq!(line["height_m"], f64::from(metres), "({x}, {z})");
            answered += 1;
        } else {
            assert_eq!(metres, i16::MIN);
        }
    }
    assert!(text.lines().count() == 400 && answered > 390);
}
