//! The `highground` command: one file per subcommand.
//!
//! Exit status 0 on success, 2 on bad usage or bad input (one clear line on stderr: what, where, what to do), 1 when
//! a check it was asked to make fails.

pub mod args;
mod canvas;
mod cook;
mod demo;
pub mod device;
mod export;
mod failure;
mod files;
mod import;
mod inspect;
mod kernel;
mod map;
mod pack;
pub mod parity;
mod progress;
mod query;
mod render;
mod replay;
mod select;
mod sidecar;
mod stdout;
pub mod summary;
pub mod textures;
mod unpack;
mod verify;
mod world;

pub use failure::Failure;

use clap::{CommandFactory, Parser, Subcommand};
use std::io::Write;
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "highground", version, about = "Deterministic terrain and the core of a game server")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the demo game: bots on a real world, hashed, recorded and pictured
    Demo(demo::Args),
    /// Make an elevation file into a terrain
    Import(import::Args),
    /// Write a terrain's heights as PNG, r16, GeoTIFF or .hgt
    Export(export::Args),
    /// Make a world recipe into a terrain
    Cook(cook::Args),
    /// Make a terrain into a world folder: knobs and layers as images
    Unpack(unpack::Args),
    /// Put terrains and what belongs to them into a pack
    Pack(pack::Args),
    /// Say what a terrain file says of itself
    Inspect(inspect::Args),
    /// Check every byte of a terrain file, or a pack whole
    Verify(verify::Args),
    /// Draw a terrain file
    Render(render::Args),
    /// Write the triangle-visibility sidecar of a terrain file
    Sidecar(sidecar::Args),
    /// Ask about the surface of a terrain file
    Query(query::Args),
    /// Say which nodes of a terrain are drawn from some places
    Select(select::Args),
    /// Run one kernel on files, for comparing devices
    Kernel(kernel::Args),
    /// Compare every compute pass on the CPU and on the GPU
    Parity(parity::Args),
    /// Make a recorded run again and name the first difference
    Replay(replay::Args),
}

/// Parses the command line and runs one subcommand.
pub fn main() -> ExitCode {
    let command = match Cli::try_parse() {
        Ok(cli) => cli.command,
        Err(error) => return usage(&error),
    };
    let result = match command {
        Command::Demo(args) => demo::run(args),
        Command::Replay(args) => replay::run(args),
        Command::Import(args) => import::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Cook(args) => cook::run(&args),
        Command::Unpack(args) => unpack::run(&args),
        Command::Pack(args) => pack::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Render(args) => render::run(&args),
        Command::Sidecar(args) => sidecar::run(&args),
        Command::Query(args) => query::run(&args),
        Command::Select(args) => select::run(&args),
        Command::Kernel(args) => kernel::run(args),
        Command::Parity(args) => parity::run(args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !matches!(failure, Failure::Closed) {
                say(&failure.to_string());
            }
            ExitCode::from(failure.exit_status())
        }
    }
}

/// One line on stderr. Where nobody can hear it there is nobody to tell.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "highground: {line}");
}

/// Help and versions go to stdout as they are; what is wrong with the arguments becomes one line.
fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        return match error.print().map_err(stdout::failure) {
            Ok(()) | Err(Failure::Closed) => ExitCode::SUCCESS,
            Err(failure) => {
                say(&failure.to_string());
                ExitCode::from(failure.exit_status())
            }
        };
    }
    if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        say("a subcommand is missing; see highground --help");
        return ExitCode::from(2);
    }
    let text = error.render().to_string();
    say(&Failure::input(one_line(&text)).to_string());
    ExitCode::from(2)
}

/// What clap says over several lines as one, with the help that lists what can be said instead.
fn one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|l| !l.is_empty());
    let said: Vec<&str> = lines
        .clone()
        .take_while(|l| !l.starts_with("Usage:") && !l.starts_with("For more information"))
        .collect();
    let mut line = String::new();
    for part in said {
        // A colon announces a list, whose members follow each other.
        let glue = match line.as_bytes().last() {
            None => "",
            Some(b':') => " ",
            Some(_) if line.contains(':') && !part.starts_with("tip:") && !part.starts_with('[') => ", ",
            Some(_) => "; ",
        };
        line.push_str(glue);
        line.push_str(part);
    }
    let line = line.strip_prefix("error: ").unwrap_or(&line).to_owned();
    let known = |name: &&str| Cli::command().find_subcommand(name).is_some();
    let usage = lines.clone().find_map(|l| l.strip_prefix("Usage: "));
    let help = match usage.and_then(|u| u.split_whitespace().nth(1)).filter(known) {
        Some(subcommand) => format!("highground {subcommand} --help"),
        None => "highground --help".to_owned(),
    };
    format!("{line}; see {help}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_the_arguments_is_one_line_that_names_the_subcommand_s_own_help() {
        let said = |args: &[&str]| match Cli::try_parse_from(args) {
            Ok(_) => panic!("{args:?} are fine"),
            Err(e) => one_line(&e.render().to_string()),
        };
        assert_eq!(
            said(&["highground", "import"]),
            "the following required arguments were not provided: --out <FILE.terrain>, <SOURCE>; see highground import --help"
        );
        let wrong = said(&["highground", "cook", "a.ron", "--uot", "b"]);
        assert!(wrong.starts_with("unexpected argument '--uot' found"), "{wrong}");
        assert!(wrong.ends_with("; see highground cook --help"), "{wrong}");
        assert!(said(&["highground", "brew"]).ends_with("; see highground --help"));
        assert!(
            said(&["highground", "import", "a", "--out", "b", "--diagonal", "x"])
                .contains("[possible values: main, anti, checkerboard]")
        );
    }
}
