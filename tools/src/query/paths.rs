//! `highground query FILE paths`: ways between pairs of points.

use super::{LineError, each_line, parse_numbers, put};
use crate::{Failure, world};
use highground_game::demo::Guide;
use highground_terrain::nav::{Answer, Method, NavConfig, NavRules, PathQuery};
use highground_terrain::store::PayloadFile;
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

const HELP: &str = "\
Lines are \"ax,az,bx,bz\" in metres: from a to b. A way keeps to the 32 x 32 cell
sectors within --margin of the two points. \"state\" is path, none, exhausted (the
search met its budget) or outside; \"points\" are the turns of the way, centres of
cells; \"cost\" is 384 for each cell of plain ground along an axis.

Agents are a RON file:
  (
      agents: [(name: \"cart\", radius_m: 1.2, step_height_m: 0.1, slope_limit_deg: 20.0)],
      layer_cost: { \"scree\": 40 },  // sixteenths: 16 is plain ground
      material_cost: { \"mud\": 60 },
      slope_cost: 32,  // more at the steepest slope that an agent walks
  )

Example:
  echo 100,100,400,300 | highground query jacksboro.terrain paths --points -";

/// What is read around two points at most, in cells.
const MAX_MARGIN: i64 = 4096;

/// Arguments of `highground query FILE paths`.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// A file of lines "ax,az,bx,bz", or - for stdin
    #[arg(long, value_name = "FILE|-")]
    pub(super) points: PathBuf,
    /// Kinds of agents and costs of layers; without it there is the demo's "walker"
    #[arg(long, value_name = "FILE.ron")]
    agents: Option<PathBuf>,
    /// The kind of agent; the first one unless given
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Search all cells for a cheapest way, instead of doors between sectors first
    #[arg(long)]
    exact: bool,
    /// Cells around the two points that a way may use
    #[arg(long, value_name = "CELLS", default_value_t = 128, value_parser = clap::value_parser!(i32).range(0..=MAX_MARGIN))]
    margin: i32,
    /// Answers are JSON lines in any case
    #[arg(long)]
    json: bool,
}

/// One answer; what it does not have is null.
#[derive(Serialize)]
struct PathLine<'a> {
    from: [f64; 2],
    to: [f64; 2],
    state: &'static str,
    cost: Option<u64>,
    length_m: Option<f64>,
    cells: Option<usize>,
    points: Option<&'a [[f64; 2]]>,
}

/// Refuses a name that the terrain does not have: it would cost nothing, and nobody would see why.
fn known<'a>(what: &str, mut names: impl Iterator<Item = &'a String>, of: &[String]) -> Result<(), String> {
    match names.find(|name| !of.contains(name)) {
        None => Ok(()),
        Some(name) if of.is_empty() => Err(format!("{what}: {name:?}, but the terrain has none")),
        Some(name) => Err(format!("{what}: {name:?} is none of the terrain's {}", of.join(", "))),
    }
}

const EXPECTED: &str = "\"ax,az,bx,bz\", four numbers";

/// Answers every line; gives what was wrong with the terrain, if it was.
pub(super) fn run(file: PayloadFile, args: &Args, out: &mut impl Write) -> Result<Option<String>, Failure> {
    let catalogue = &file.info().catalogue;
    let layers = catalogue.layer_names();
    let materials: Vec<String> = catalogue.materials.iter().map(|m| m.name.clone()).collect();
    let config = match &args.agents {
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .map_err(|e| Failure::file(path, format!("cannot be read: {e}")))?;
            let config = NavConfig::from_ron(&text).map_err(|e| Failure::file(path, e))?;
            known("layer_cost", config.layer_cost.keys(), &layers).map_err(|e| Failure::file(path, e))?;
            known("material_cost", config.material_cost.keys(), &materials)
                .map_err(|e| Failure::file(path, e))?;
            config
        }
        None => world::demo_game()?.navigation(),
    };
    let terrain = &file.info().config;
    let rules = NavRules::with_materials(&config, terrain, &layers, &materials).map_err(Failure::input)?;
    let agent = match &args.agent {
        None => 0,
        Some(name) => rules.agent(name).ok_or_else(|| {
            let names: Vec<&str> = rules.agents().map(|a| a.name.as_str()).collect();
            Failure::input(format!("--agent: there are {names:?}, not {name:?}"))
        })?,
    };
    let method = if args.exact { Method::Exact } else { Method::Hierarchy };
    let mut guide = Guide::over(Arc::new(file), rules, 0);
    let mut points: Vec<[f64; 2]> = Vec::new();
    each_line(&args.points, EXPECTED, out, |line, out| {
        let [ax, az, bx, bz] = parse_numbers(line, EXPECTED)?;
        let cell = |x, z| guide.nav().cell_at(x, z).map_err(LineError::from);
        let query = PathQuery { method, ..PathQuery::new(agent, cell(ax, az)?, cell(bx, bz)?) };
        let answer = guide.find(query, args.margin, 0);
        points.clear();
        points.extend(guide.path().turns.iter().map(|&cell| guide.nav().centre(cell)));
        let found = answer == Answer::Path;
        let length = |p: &[[f64; 2]]| {
            let (dx, dz) = (p[1][0] - p[0][0], p[1][1] - p[0][1]);
            (dx * dx + dz * dz).sqrt()
        };
        let answer = PathLine {
            from: [ax, az],
            to: [bx, bz],
            state: match answer {
                Answer::Path => "path",
                Answer::NoPath => "none",
                Answer::Pending => "pending",
                Answer::Exhausted { .. } => "exhausted",
                Answer::Refused(_) => "outside",
            },
            cost: found.then(|| guide.path().cost),
            // The sum of nothing is −0.
            length_m: found.then(|| points.windows(2).map(length).sum::<f64>() + 0.0),
            cells: found.then(|| guide.path().cells.len()),
            points: found.then_some(&points),
        };
        put(out, &answer)
    })?;
    Ok(guide.damage().map(|first| format!("{first}; ground there carries no ways")))
}
