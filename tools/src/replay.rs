//! `highground replay`: makes a recorded run again and names the first difference.

use crate::{Failure, files, progress, stdout, world};
use highground_game::config::RuntimeConfig;
use highground_game::replay::{self, Difference, MAX_RECORDING_BYTES, Recording, TerrainName, hex};
use highground_terrain::compute::CpuCompute;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const EXAMPLE: &str = "Examples:
  highground replay highground-demo/replay.hgr --verify
  highground replay a/replay.hgr --diff b/replay.hgr --json";

/// Arguments of `highground replay`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// A recording, as the demo writes it
    file: PathBuf,
    /// Run it again and compare every tick and system
    #[arg(long, conflicts_with = "diff")]
    verify: bool,
    /// Compare the hashes of another recording
    #[arg(long, value_name = "OTHER")]
    diff: Option<PathBuf>,
    /// The terrain to replay on, where it has moved since
    #[arg(long, value_name = "FILE")]
    terrain: Option<PathBuf>,
    /// Threads; never changes the result
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args) -> Result<(), Failure> {
    let recording = read(&args.file)?;
    if let Some(other) = &args.diff {
        let second = read(other)?;
        if second.header.terrain_digest != recording.header.terrain_digest {
            let digests = [&recording, &second].map(|r| hex(&r.header.terrain_digest));
            return Err(Failure::Check(format!(
                "{} and {} were made on different terrains: digests {} and {}",
                args.file.display(),
                other.display(),
                digests[0],
                digests[1]
            )));
        }
        let difference = replay::diff(&recording, &second);
        return report(&args, recording.ticks.len() as u64, recording.final_hash(), difference);
    }
    if !args.verify {
        return describe(&args, &recording);
    }
    let scratch = world::scratch()?;
    let map = open_map(&args, &recording, scratch.path())?;
    let threads = usize::from(args.threads);
    let runtime =
        RuntimeConfig { physics_threads: threads, reader_threads: threads, ..RuntimeConfig::default() };
    let bar = progress::bar(recording.ticks.len() as u64, "replaying");
    let verification =
        replay::verify(&recording, map, runtime, |_| bar.inc(1)).map_err(|e| Failure::file(&args.file, e))?;
    bar.finish_and_clear();
    report(&args, verification.ticks, verification.state_hash, verification.first_difference)
}

fn read(path: &Path) -> Result<Recording, Failure> {
    let bytes = files::read_whole(path, MAX_RECORDING_BYTES)?;
    Recording::from_bytes(&bytes).map_err(|e| Failure::file(path, e))
}

/// The terrain that the recording names; the content world is cooked again from the recipe inside the recording.
fn open_map(
    args: &Args,
    recording: &Recording,
    scratch: &Path,
) -> Result<highground_game::session::Map, Failure> {
    match (&args.terrain, &recording.header.terrain) {
        (Some(path), _) => world::open_payload(path, &CpuCompute::new()),
        (None, TerrainName::File { path }) => world::open_payload(Path::new(path), &CpuCompute::new())
            .map_err(|failure| match failure {
                Failure::Input(why) => {
                    Failure::Input(format!("{why}; where it has moved, pass --terrain FILE"))
                }
                other => other,
            }),
        (None, TerrainName::Content { recipe }) => {
            let path = scratch.join("world.terrain");
            let cooked = world::cook_content(recipe, usize::from(args.threads))
                .map_err(|failure| failure.in_file(&args.file))?;
            world::write(&cooked, &path)?;
            world::open_payload(&path, &CpuCompute::new())
        }
    }
}

fn describe(args: &Args, recording: &Recording) -> Result<(), Failure> {
    let inputs: usize = recording.ticks.iter().map(|t| t.inputs.len()).sum();
    let terrain = match &recording.header.terrain {
        TerrainName::Content { .. } => "the content world",
        TerrainName::File { path } => path,
    };
    let summary = json!({
        "ticks": recording.ticks.len(),
        "state_hash": hex(&recording.final_hash()),
        "terrain": terrain,
        "terrain_digest": hex(&recording.header.terrain_digest),
        "inputs": inputs,
        "live": recording.header.live,
        "traced": recording.traced(),
    });
    if args.json {
        return stdout::print_json(&summary);
    }
    let Value::Object(rows) = summary else { return Ok(()) };
    let line = |(name, value): (String, Value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{name:<16}{text}\n")
    };
    stdout::print(&rows.into_iter().map(line).collect::<String>())
}

fn report(args: &Args, ticks: u64, hash: [u8; 32], difference: Option<Difference>) -> Result<(), Failure> {
    let first = difference.as_ref().map(|d| {
        json!({
            "tick": d.tick,
            "system": d.system,
            "entity": d.entity.map(|e| e.to_string()),
            "component": d.component,
            "field": null,
        })
    });
    if args.json {
        let value = json!({ "ticks": ticks, "state_hash": hex(&hash), "match": first.is_none(), "first_difference": first });
        stdout::print_json(&value)?;
    }
    match difference {
        None => {
            if !args.json {
                stdout::print(&format!("{ticks} ticks, state hash {}: no difference\n", hex(&hash)))?;
            }
            Ok(())
        }
        Some(d) => Err(Failure::Check(format!(
            "{}: the first difference is in tick {}, {}{}",
            args.file.display(),
            d.tick,
            match d.system {
                Some(system) => format!("system {system}"),
                None if d.tick >= ticks => "where one recording ends".to_owned(),
                None => "the hash of the whole state, though no system's".to_owned(),
            },
            match (d.entity, d.component) {
                (Some(entity), Some(component)) => format!(", entity {entity}, component {component}"),
                _ => String::new(),
            }
        ))),
    }
}
