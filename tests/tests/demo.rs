//! The demo command: the same bits on every device, thread count and run; what it writes; and what it says of bad
//! input.

use highground_game::config::RuntimeConfig;
use highground_game::demo::{Demo, DemoPlan};
use highground_game::replay::{Header, Recording, TerrainName, hex};
use highground_game::session::{Map, Session};
use highground_terrain::compute::CpuCompute;
use highground_terrain::cook::cook;
use highground_terrain::kernel::weight_mip::{Encoding, HdTexel};
use highground_terrain::layers::WeightChain;
use highground_terrain::store::{BlockSource, PayloadFile, WriteOptions, write_payload};
use highground_tests::slow_store::SlowStore;
use highground_tests::{gpu, highground, test_name};
use serde_json::Value;
use std::path::Path;
use std::process::Output;
use std::sync::Arc;

/// The state hash of `highground demo` with no arguments. A change here is a change of the simulation's bits: say so
/// in CHANGELOG.md.
const DEMO_HASH: &str = "153f2f3bfc65fd107de432426add49249e6e5f907b7860a17cd4c6edae0f4a45";

fn run(arguments: &[&str]) -> Output {
    highground().args(arguments).output().expect("the command runs")
}

fn demo(out: &Path, extra: &[&str]) -> Value {
    let mut arguments = vec!["demo", "--json", "--out", out.to_str().expect("a plain path")];
    arguments.extend(extra);
    let output = run(&arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON object on stdout")
}

fn text<'a>(summary: &'a Value, key: &str) -> &'a str {
    summary[key].as_str().unwrap_or_else(|| panic!("{key} is a string in {summary}"))
}

#[test]
fn the_demo_streams_gates_teleports_and_is_the_same_run_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let first = demo(folder.path(), &["--device", "cpu", "--threads", "1"]);
    assert_eq!(text(&first, "state_hash"), DEMO_HASH);
    assert_eq!((first["ticks"].as_u64(), first["players"].as_u64()), (Some(1800), Some(8)));
    let collision = &first["collision"];
    let (peak, world) =
        (collision["peak_blocks"].as_u64().unwrap(), collision["world_blocks"].as_u64().unwrap());
    assert!(peak > 0 && peak * 2 <= world, "at most half of the world is published at once: {collision}");
    assert!(first["borders_crossed"].as_u64().unwrap() >= 12, "{first}");
    assert!(first["gated_ticks"].as_u64().unwrap() > 0);
    assert!(first["walked_m"].as_f64().unwrap() > 300.0);
    assert_eq!(first["teleport"]["gated_ticks"], 7, "D and the tick of the teleport itself");
    assert!(first["teleport"]["walked_after_m"].as_f64().unwrap() > 5.0);

    let on_disk: Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("summary.json")).unwrap()).unwrap();
    assert_eq!(on_disk, first);
    let picture = std::fs::File::open(folder.path().join("map.png")).unwrap();
    let info = png::Decoder::new(std::io::BufReader::new(picture)).read_info().unwrap().info().clone();
    assert_eq!((info.width, info.height), (804, 686), "two pixels a cell");

    let again = demo(folder.path(), &["--device", "cpu", "--threads", "2"]);
    let replay = folder.path().join("replay.hgr");
    let verified = run(&["replay", replay.to_str().unwrap(), "--verify", "--json"]);
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    let verified: Value = serde_json::from_slice(&verified.stdout).unwrap();
    assert_eq!((verified["match"].as_bool(), verified["ticks"].as_u64()), (Some(true), Some(1800)));
    assert_eq!(verified["state_hash"], first["state_hash"]);
    for key in ["state_hash", "digest", "weight_digest", "walked_m", "gated_ticks", "collision"] {
        assert_eq!(again[key], first[key], "{key}");
    }
    assert_ne!(demo(folder.path(), &["--device", "cpu", "--seed", "2"])["state_hash"], first["state_hash"]);
}

/// The content world through the library: a payload on disk behind a store that answers late and in another order.
fn demo_over(slow: Arc<SlowStore>, weights: Arc<WeightChain>, layers: Vec<String>, reverse: bool) -> String {
    let game = std::fs::read_to_string(highground_tests::root().join("content/games/demo.ron")).unwrap();
    let config: highground_game::config::SessionConfig = ron::from_str(&game).unwrap();
    let header = Header {
        terrain: TerrainName::File { path: "world.terrain".into() },
        terrain_digest: slow.digest(),
        weight_digest: Some(weights.digest()),
        block_side: slow.block_side().into(),
        config: config.clone(),
        live: false,
    };
    let map = Map { source: slow, weights: Some(weights), layers };
    let runtime = RuntimeConfig { physics_threads: 2, reader_threads: 3, cache_budget_bytes: 30_000 };
    let session = Session::new(map, config, runtime).unwrap();
    let mut demo = Demo::new(session, Recording::new(header), DemoPlan { players: 8, ticks: 1800, seed: 1 });
    if reverse {
        demo.reverse_players();
    }
    while !demo.is_done() {
        demo.step().unwrap();
    }
    hex(&demo.recording().final_hash())
}

#[test]
fn blocks_that_arrive_in_any_order_and_players_created_in_another_give_the_demo_the_same_hash() {
    let folder = tempfile::tempdir().unwrap();
    let cooked = cook(&highground_tests::root().join("content/worlds/jacksboro.ron"), 2).unwrap();
    let path = folder.path().join("world.terrain");
    let options = WriteOptions::new(cooked.side, &cooked.origin.to_json(), cooked.rounding_m);
    write_payload(&cooked.raster, &options, &path).unwrap();
    let texels = cooked.raster.hd_weights().unwrap();
    let bytes: Vec<u8> = texels.iter().flat_map(|t: &HdTexel| [t.id1, t.id2, t.ratio]).collect();
    let size = cooked.raster.config.cells().map(|c| c as u32);
    let weights = Arc::new(WeightChain::build(&CpuCompute::new(), Encoding::Hd, size, bytes).unwrap());
    let mut orders = Vec::new();
    for (seed, reverse) in [(3, false), (8, true), (21, true)] {
        let payload: Arc<dyn BlockSource> = Arc::new(PayloadFile::open(&path).unwrap());
        let slow = Arc::new(SlowStore::new(payload, seed, 3_000));
        let hash = demo_over(slow.clone(), weights.clone(), cooked.raster.catalogue.layer_names(), reverse);
        assert_eq!(hash, DEMO_HASH, "seed {seed}, reversed {reverse}");
        orders.push(slow.order());
    }
    assert!(
        orders[0] != orders[1] && orders[1] != orders[2] && orders[0] != orders[2],
        "equal arrival orders"
    );
}

#[test]
fn the_gpu_gives_the_demo_the_same_bits_as_the_cpu() {
    if gpu::is_off(test_name!()) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let on_gpu = demo(folder.path(), &["--device", "gpu"]);
    assert_eq!(text(&on_gpu, "state_hash"), DEMO_HASH);
    assert!(text(&on_gpu, "device").contains("gpu"), "{on_gpu}");
    let on_cpu = demo(folder.path(), &["--device", "cpu", "--ticks", "1"]);
    assert_eq!(on_gpu["weight_digest"], on_cpu["weight_digest"]);
    assert_eq!(text(&on_cpu, "device"), "cpu");
}

#[test]
fn a_traced_recording_summary_looks_as_it_should() {
    let folder = tempfile::tempdir().unwrap();
    demo(folder.path(), &["--device", "cpu", "--ticks", "90", "--players", "2", "--trace"]);
    let replay = folder.path().join("replay.hgr");
    let output = run(&["replay", replay.to_str().unwrap()]);
    assert!(output.status.success());
    insta::assert_snapshot!("replay_summary", String::from_utf8(output.stdout).unwrap());
}

#[test]
fn a_damaged_recording_is_one_line_and_status_2() {
    let folder = tempfile::tempdir().unwrap();
    demo(folder.path(), &["--device", "cpu", "--ticks", "5", "--players", "1"]);
    let replay = folder.path().join("replay.hgr");
    let good = std::fs::read(&replay).unwrap();
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 4;
    for (bytes, says) in [
        (good[..good.len() - 7].to_vec(), "checksum"),
        (flipped, "checksum"),
        (b"no recording at all".to_vec(), "no highground recording"),
        (Vec::new(), "no highground recording"),
    ] {
        std::fs::write(&replay, bytes).unwrap();
        let output = run(&["replay", replay.to_str().unwrap(), "--verify"]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.contains(says) && said.contains("replay.hgr"), "{said}");
    }
}

#[test]
fn a_replay_on_another_terrain_says_both_digests() {
    let folder = tempfile::tempdir().unwrap();
    let summary = demo(folder.path(), &["--device", "cpu", "--ticks", "5", "--players", "1"]);
    let recipe = highground_tests::root().join("content/worlds/jacksboro.ron");
    let text =
        std::fs::read_to_string(&recipe).unwrap().replace("vertical_scale: 0.05", "vertical_scale: 0.06");
    let other = folder.path().join("other.ron");
    std::fs::copy(recipe.with_file_name("jacksboro.png"), folder.path().join("jacksboro.png")).unwrap();
    std::fs::write(&other, text).unwrap();
    let terrain = folder.path().join("other.terrain");
    let path = |p: &Path| p.to_str().unwrap().to_owned();
    assert!(run(&["cook", &path(&other), "--out", &path(&terrain)]).status.success());
    let replay = path(&folder.path().join("replay.hgr"));
    let output = run(&["replay", &replay, "--verify", "--terrain", &path(&terrain)]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(summary["digest"].as_str().unwrap()), "{said}");
}

#[test]
fn bad_usage_is_status_2() {
    for arguments in [
        &["demo", "--terrain", "/nonexistent/a.terrain", "--out", "/tmp"][..],
        &["demo", "--players", "0"],
        &["demo", "--world", "a.ron", "--terrain", "b"],
        &["replay", "/nonexistent.hgr", "--verify"],
        &["nonsense"],
    ] {
        let output = run(arguments);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(!output.stderr.is_empty() && output.stdout.is_empty());
    }
}
