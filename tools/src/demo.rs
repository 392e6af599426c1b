//! `highground demo`: the main job. Bots walk a real world under the fixed-step loop; the run is hashed, recorded and
//! pictured.

use crate::args::DeviceArg;
use crate::{Failure, device, files, map, progress, stdout, world};
use highground_game::config::RuntimeConfig;
use highground_game::demo::{Demo, DemoPlan, TeleportOutcome};
use highground_game::replay::{Header, MAX_RECORDING_BYTES, Recording, hex};
use highground_game::session::{Map, Session};
use highground_terrain::cook;
use highground_terrain::store;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Instant;

const EXAMPLE: &str = "Examples:
  highground demo
  highground demo --players 16 --ticks 3600 --device cpu --out run
  highground import N43E007.hgt --spacing 32 --out riviera.terrain
  highground demo --terrain riviera.terrain";

/// What a tick, a player-tick and a traced player-tick take of a recording at most, in bytes; it may have 2³⁰.
const RECORDED_BYTES: [u64; 3] = [160, 8, 130];

/// Arguments of `highground demo`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// How many bots walk
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=512))]
    players: u32,
    /// How many ticks of 1/60 s are simulated
    #[arg(long, default_value_t = 1800, value_parser = clap::value_parser!(u64).range(1..=4_000_000))]
    ticks: u64,
    /// A world recipe to cook and play on, instead of the content world
    #[arg(long, value_name = "FILE.ron", conflicts_with = "terrain")]
    world: Option<PathBuf>,
    /// A cooked or imported terrain to play on
    #[arg(long, value_name = "FILE")]
    terrain: Option<PathBuf>,
    /// Where the terrain kernels run
    #[arg(long, value_enum, default_value = "auto")]
    device: DeviceArg,
    /// Threads for cooking, reading and physics; never changes the result
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,
    /// Chooses where bots start and go
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The folder for map.png, replay.hgr, summary.json and the cooked world.terrain
    #[arg(long, value_name = "DIR", default_value = "highground-demo")]
    out: PathBuf,
    /// Record one hash per entity and component every tick, so that a replay can name what differs
    #[arg(long)]
    trace: bool,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args) -> Result<(), Failure> {
    std::fs::create_dir_all(&args.out).map_err(|e| {
        Failure::file(&args.out, format!("is no folder that results can be written into: {e}"))
    })?;
    let read = match &args.world {
        Some(world) => cook::Written::read(world).map_err(Failure::input)?.files(world),
        None => Vec::new(),
    };
    let inputs: Vec<&Path> =
        args.terrain.iter().chain(&args.world).chain(&read).map(PathBuf::as_path).collect();
    for name in ["map.png", "replay.hgr", "summary.json", "world.terrain"] {
        files::refuse_overwriting(&args.out.join(name), &inputs)?;
    }
    let [tick, player, traced] = RECORDED_BYTES;
    let a_tick = tick + u64::from(args.players) * (player + if args.trace { traced } else { 0 });
    if args.ticks * a_tick > MAX_RECORDING_BYTES {
        return Err(Failure::input(format!(
            "the recording of {} players would be too large to be replayed: at most {} ticks",
            args.players,
            MAX_RECORDING_BYTES / a_tick
        )));
    }
    let compute = device::open(args.device)?;
    let threads = usize::from(args.threads);
    let (path, name) = terrain_file(&args, threads)?;
    // The picture reads every block in any case: what is damaged is said before anybody walks.
    store::verify(&path).map_err(|e| Failure::file(&path, e))?;
    let map = world::open_payload(&path, &*compute)?;
    let config = world::demo_game()?;
    let header = Header {
        terrain: name,
        terrain_digest: map.source.digest(),
        weight_digest: map.weights.as_ref().map(|w| w.digest()),
        block_side: map.source.block_side().into(),
        config: config.clone(),
        live: false,
    };
    let weight_digest = header.weight_digest.map(|d| hex(&d));
    let runtime =
        RuntimeConfig { physics_threads: threads, reader_threads: threads, ..RuntimeConfig::default() };
    let mut session = Session::new(map.clone(), config, runtime).map_err(Failure::input)?;
    session.set_trace(args.trace);
    let plan = DemoPlan { players: args.players, ticks: args.ticks, seed: args.seed };
    let mut demo = Demo::new(session, Recording::new(header), plan);
    let tick_ms = play(&mut demo, args.ticks)?;
    let summary = summarise(&demo, &map, &compute.info().to_string(), &tick_ms, weight_digest);
    write_results(&args.out, &demo, &map, &summary)?;
    if args.json {
        stdout::print_json(&summary)?;
    } else {
        stdout::print(&table(&summary, &args))?;
    }
    if args.ticks > 120 && demo.session().characters().all(|c| c.arriving) {
        crate::say("no bot found ground to stand on: see map.png");
    }
    match demo.session().publication().first_error() {
        Some(error) => Err(Failure::file(&path, format!("was damaged while the demo ran: {error}"))),
        None => Ok(()),
    }
}

/// The payload to play on, cooked first where there is none yet.
fn terrain_file(
    args: &Args,
    threads: usize,
) -> Result<(PathBuf, highground_game::replay::TerrainName), Failure> {
    if let Some(terrain) = &args.terrain {
        return Ok((terrain.clone(), world::terrain_name(Some(terrain))));
    }
    let path = args.out.join("world.terrain");
    match &args.world {
        Some(recipe) => {
            let order = cook::Order { threads, ..cook::Order::default() };
            let served = cook::serve(recipe, &order).map_err(Failure::input)?;
            served.write(&path, &|_, _, _| ()).map_err(|e| Failure::file(&path, e))?;
        }
        None => world::write(&world::cook_content(world::CONTENT_RECIPE, threads)?, &path)?,
    }
    let name = match &args.world {
        Some(_) => world::terrain_name(Some(&path)),
        None => world::terrain_name(None),
    };
    Ok((path, name))
}

/// Plays all ticks and gives the milliseconds that each took.
fn play(demo: &mut Demo, ticks: u64) -> Result<Vec<f64>, Failure> {
    let bar = progress::bar(ticks, "walking");
    let mut tick_ms = Vec::new();
    while !demo.is_done() {
        let start = Instant::now();
        demo.step().map_err(Failure::input)?;
        tick_ms.push(start.elapsed().as_secs_f64() * 1e3);
        bar.inc(1);
    }
    bar.finish_and_clear();
    tick_ms.sort_by(f64::total_cmp);
    Ok(tick_ms)
}

/// The nearest-rank percentile of sorted values.
fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100).clamp(1, sorted.len().max(1));
    sorted.get(rank - 1).copied().unwrap_or(0.0)
}

fn summarise(demo: &Demo, map: &Map, device: &str, tick_ms: &[f64], weight_digest: Option<String>) -> Value {
    let session = demo.session();
    let (stats, published) = (session.stats(), session.publication().stats());
    let [bw, bh] = map.source.config().blocks(map.source.block_side());
    let teleport = demo.teleport().map(|TeleportOutcome { tick, gated_ticks, walked_after_m, .. }| {
        json!({ "tick": tick, "gated_ticks": gated_ticks, "walked_after_m": walked_after_m })
    });
    json!({
        "ticks": session.tick(),
        "players": demo.bot_ids().count(),
        "state_hash": hex(&session.report().hash),
        "device": device,
        "tick_ms": { "p50": percentile(tick_ms, 50), "p99": percentile(tick_ms, 99) },
        "collision": {
            "published": published.published_total,
            "peak_blocks": published.peak_blocks,
            "peak_bytes": published.peak_bytes,
            "world_blocks": u64::from(bw) * u64::from(bh),
        },
        "gated_ticks": stats.gated_ticks,
        "walked_m": stats.walked_m,
        "borders_crossed": stats.borders_crossed,
        "respawned": stats.respawned,
        "teleport": teleport,
        "digest": hex(&map.source.digest()),
        "weight_digest": weight_digest,
    })
}

fn write_results(out: &Path, demo: &Demo, map: &Map, summary: &Value) -> Result<(), Failure> {
    let file = |name: &str| out.join(name);
    let picture = file("map.png");
    map::of_demo(demo, map).write_png(&picture).map_err(|e| Failure::file(&picture, e))?;
    let replay = file("replay.hgr");
    std::fs::write(&replay, demo.recording().to_bytes()).map_err(|e| Failure::file(&replay, e))?;
    let text = serde_json::to_string_pretty(summary).map_err(Failure::input)? + "\n";
    let path = file("summary.json");
    std::fs::write(&path, text).map_err(|e| Failure::file(&path, e))
}

fn table(summary: &Value, args: &Args) -> String {
    let text = |v: &Value| v.as_str().unwrap_or("none").to_owned();
    let number = |v: &Value, digits: usize| format!("{:.*}", digits, v.as_f64().unwrap_or(0.0));
    let (collision, tick_ms) = (&summary["collision"], &summary["tick_ms"]);
    let seconds = summary["ticks"].as_f64().unwrap_or(0.0) / 60.0;
    let mut rows = vec![
        ("device", text(&summary["device"])),
        ("players", summary["players"].to_string()),
        ("ticks", format!("{} ({seconds:.1} s simulated)", summary["ticks"])),
        (
            "tick time",
            format!("p50 {} ms, p99 {} ms", number(&tick_ms["p50"], 3), number(&tick_ms["p99"], 3)),
        ),
        (
            "collision",
            format!(
                "{} blocks published, at most {} of {} at once ({} KiB)",
                collision["published"],
                collision["peak_blocks"],
                collision["world_blocks"],
                collision["peak_bytes"].as_u64().unwrap_or(0) / 1024
            ),
        ),
        ("gated", format!("{} body-ticks", summary["gated_ticks"])),
        (
            "walked",
            format!(
                "{} m over {} block borders",
                number(&summary["walked_m"], 1),
                summary["borders_crossed"]
            ),
        ),
    ];
    if summary["respawned"].as_u64() != Some(0) {
        rows.push(("respawned", format!("{} times, fallen or off the map", summary["respawned"])));
    }
    rows.push(("state hash", text(&summary["state_hash"])));
    if let Some(teleport) = summary["teleport"].as_object() {
        rows.push((
            "teleport",
            format!(
                "in tick {}: held for {} ticks, then walked {} m",
                teleport["tick"],
                teleport["gated_ticks"],
                number(&teleport["walked_after_m"], 1)
            ),
        ));
    }
    let mut files = vec!["map.png", "replay.hgr", "summary.json"];
    if args.terrain.is_none() {
        files.push("world.terrain");
    }
    let paths: Vec<String> = files.iter().map(|f| args.out.join(f).display().to_string()).collect();
    rows.push(("written", paths.join(", ")));
    rows.iter().map(|(name, value)| format!("{name:<12}{value}\n")).collect()
}
