//! `highground inspect`: what a terrain file says of itself, and of its blocks.

use crate::summary::{States, Summary};
use crate::{Failure, progress, stdout, summary};
use highground_terrain::coord::BlockPos;
use highground_terrain::state::DataState;
use highground_terrain::store::{BlockRecord, BlockSource, PayloadFile};
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;

/// Arguments of `highground inspect`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  highground inspect jacksboro.terrain --json\n  highground inspect jacksboro.terrain --read --blocks"
)]
pub(crate) struct Args {
    /// The terrain file; only its header and directory are read, unless --read is given
    file: PathBuf,
    /// Read what every block says of itself (not what is derived from it: that is for verify), so that damaged ones are
    /// found and counted as failed; exit status 1 where there are any
    #[arg(long)]
    read: bool,
    /// One line a block instead: its place, state, heights, void samples and cells with a hole
    #[arg(long)]
    blocks: bool,
    /// Print one JSON object; with --blocks one a line
    #[arg(long)]
    json: bool,
}

/// A block, as `--blocks --json` says it.
#[derive(Serialize)]
struct Line {
    x: i32,
    z: i32,
    state: DataState,
    min_m: Option<f64>,
    max_m: Option<f64>,
    void_samples: u32,
    hole_cells: u32,
    /// Why it is failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let file = summary::open(&args.file)?;
    if args.blocks {
        return blocks(args, &file);
    }
    let mut said = Summary::of(&file);
    if args.read {
        let bar = progress::rows(u64::from(file.config().blocks(file.block_side())[1]), "reading");
        let (states, first) = States::read(&file, &|n| bar.set_position(n));
        bar.finish_and_clear();
        said.states = states;
        if let Some(e) = first {
            summary::print_summary(&args.file, &file, &said, args.json)?;
            return Err(damaged(args, states.failed, &e));
        }
    }
    summary::print_summary(&args.file, &file, &said, args.json)
}

/// Prints every block, row by row.
fn blocks(args: &Args, file: &PayloadFile) -> Result<(), Failure> {
    let [w, h] = file.config().blocks(file.block_side());
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let (mut failed, mut first) = (0u64, None);
    for z in 0..h as i32 {
        for x in 0..w as i32 {
            let line = block(file, BlockPos::new(x, z), args.read);
            if let Some(reason) = &line.reason {
                failed += 1;
                first.get_or_insert_with(|| format!("block ({x}, {z}): {reason}"));
            }
            let text =
                if args.json { serde_json::to_string(&line).map_err(Failure::input)? } else { line.words() };
            writeln!(out, "{text}").map_err(stdout::failure)?;
        }
    }
    out.flush().map_err(stdout::failure)?;
    first.map_or(Ok(()), |first| Err(damaged(args, failed, &first)))
}

/// What a check that found damage says.
fn damaged(args: &Args, failed: u64, first: &dyn std::fmt::Display) -> Failure {
    let blocks = if failed == 1 { "block is" } else { "blocks are" };
    Failure::Check(format!("{}: {failed} {blocks} failed, the first: {first}", args.file.display()))
}

/// What the directory says of a block; read, it may turn out to be failed.
fn block(file: &PayloadFile, pos: BlockPos, read: bool) -> Line {
    let metres = |q: i32| file.config().quantum.to_metres(q);
    let nothing = BlockRecord { state: DataState::Failed, void_samples: 0, hole_cells: 0, range: None };
    let found = file.block_record(pos);
    let found =
        if read { found.and_then(|record| summary::read_state(file, pos).map(|_| record)) } else { found };
    let (record, reason) = match found {
        Ok(record) => (record, None),
        Err(e) => (nothing, Some(e.reason)),
    };
    Line {
        x: pos.x,
        z: pos.z,
        state: record.state,
        min_m: record.range.map(|r| metres(r.0)),
        max_m: record.range.map(|r| metres(r.1)),
        void_samples: record.void_samples,
        hole_cells: record.hole_cells,
        reason,
    }
}

impl Line {
    fn words(&self) -> String {
        let at = format!("{},{}", self.x, self.z);
        if let Some(reason) = &self.reason {
            return format!("{at:<10} failed    {reason}");
        }
        let heights = match (self.min_m, self.max_m) {
            (Some(low), Some(high)) => format!("{low} to {high} m"),
            _ => "no height".to_owned(),
        };
        let state = if self.state == DataState::Empty { "empty" } else { "valid" };
        format!("{at:<10} {state:<9} {heights}, {} voids, {} holes", self.void_samples, self.hole_cells)
    }
}
