//! `highground select`: which nodes of a terrain are drawn from some places.
//!
//! Owns how views and ranges are asked for on the command line, for pictures too. Never chooses a node.

use crate::args::DeviceArg;
use crate::{Failure, device, stdout, summary};
use highground_terrain::kernel::select::ranges::{RangeRule, Ranges};
use highground_terrain::lod::nodes_of_file;
use highground_terrain::pass::select::{Selected, Selector, View};
use highground_terrain::store::{BlockSource, PayloadFile};
use serde::Serialize;
use std::path::PathBuf;

/// Arguments of `highground select`.
#[derive(clap::Args)]
#[command(
    after_help = "Example: highground select jacksboro.terrain --view 500,500 --view 3000,1200 --json\n\n\
    quarter_mask: bit x + 2z set says that the node's quarter (x, z) is drawn by finer nodes. Nodes stand by\n\
    level, then z, then x."
)]
pub(crate) struct Args {
    /// The terrain file
    file: PathBuf,
    #[command(flatten)]
    from: Views<true>,
    /// Where the kernel runs
    #[arg(long, value_enum, default_value = "auto")]
    device: DeviceArg,
    /// One JSON object on stdout instead of a table
    #[arg(long)]
    json: bool,
}

/// From where and how far; `REQUIRED` says that there has to be a view.
#[derive(clap::Args)]
pub(crate) struct Views<const REQUIRED: bool> {
    /// A place from which the terrain is seen, in metres; as many as there are views
    #[arg(long = "view", value_name = "X,Z", required = REQUIRED, value_parser = parse_view, allow_hyphen_values = true)]
    pub(crate) views: Vec<[f64; 2]>,
    /// How far level 0 reaches, in samples; each level reaches twice as far as the one below, the last one everything
    #[arg(long, value_name = "SAMPLES", default_value_t = RangeRule::default().factor)]
    pub(crate) range: u32,
}

fn parse_view(text: &str) -> Result<[f64; 2], String> {
    let place =
        text.split_once(',').and_then(|(x, z)| Some([x.trim().parse().ok()?, z.trim().parse().ok()?]));
    let place = place.ok_or_else(|| "expected \"X,Z\", two numbers in metres".to_owned())?;
    View::from_metres(place[0], place[1]).map_err(|e| e.to_string())?;
    Ok(place)
}

impl<const REQUIRED: bool> Views<REQUIRED> {
    /// The ranges of all levels of a terrain.
    pub(crate) fn ranges(&self, file: &PayloadFile) -> Result<Ranges, Failure> {
        let cells = file.config().samples.map(|n| n - 1);
        let levels = highground_terrain::kernel::pyramid::levels(cells);
        let rule = RangeRule { factor: self.range, ..RangeRule::default() };
        let ranges = Ranges::by_rule(&rule, file.config().spacing_256, levels);
        ranges.map_err(|e| Failure::input(format!("--range {}: {e}", self.range)))
    }

    /// The views in the terrain's own coordinates.
    pub(crate) fn places(&self, file: &PayloadFile) -> Result<Vec<View>, Failure> {
        let place = |[x, z]: &[f64; 2]| View::in_world(file.config(), *x, *z);
        self.views.iter().map(place).collect::<Result<_, _>>().map_err(Failure::input)
    }
}

#[derive(Serialize)]
struct Report {
    views: Vec<ViewReport>,
}

#[derive(Serialize)]
struct ViewReport {
    x: f64,
    z: f64,
    nodes: Vec<NodeReport>,
}

#[derive(Serialize)]
struct NodeReport {
    level: u8,
    x: u16,
    z: u16,
    quarter_mask: u8,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let file = summary::open(&args.file)?;
    let wrong = |e: &dyn std::fmt::Display| Failure::file(&args.file, e);
    let (ranges, places) = (args.from.ranges(&file)?, args.from.places(&file)?);
    let nodes = nodes_of_file(&file).map_err(|e| wrong(&e))?;
    let compute = device::open(args.device)?;
    let mut selected = Selected::default();
    let mut selector = Selector::new(nodes, ranges).map_err(|e| wrong(&e))?;
    selector.select(&*compute, &places, &mut selected).map_err(|e| wrong(&e))?;
    let views = args.from.views.iter().enumerate().map(|(i, &[x, z])| {
        let node = |n: &highground_terrain::pass::select::Node| NodeReport {
            level: n.level,
            x: n.x,
            z: n.z,
            quarter_mask: n.quarter_mask,
        };
        ViewReport { x, z, nodes: selected.of(i).iter().map(node).collect() }
    });
    let report = Report { views: views.collect() };
    if args.json { stdout::print_json(&report) } else { stdout::print(&table(&report)) }
}

/// How many nodes of each level each view draws.
fn table(report: &Report) -> String {
    let mut text = String::new();
    for view in &report.views {
        text += &format!("view {},{}: {} nodes\n", view.x, view.z, view.nodes.len());
        let levels = view.nodes.chunk_by(|a, b| a.level == b.level);
        for nodes in levels {
            let partial = nodes.iter().filter(|n| n.quarter_mask != 0).count();
            text += &format!("  level {:<2} {:>6}, {partial} of them in part\n", nodes[0].level, nodes.len());
        }
    }
    text
}
