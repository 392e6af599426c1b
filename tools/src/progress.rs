//! The progress bar: on stderr, and only when that is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};

/// A bar over `ticks`, hidden unless stderr is a terminal.
pub(crate) fn bar(ticks: u64, what: &'static str) -> ProgressBar {
    with_unit(ticks, what, "{msg} {wide_bar} {pos}/{len} ticks {eta}")
}

/// A bar over rows of blocks, hidden unless stderr is a terminal.
pub(crate) fn rows(rows: u64, what: &'static str) -> ProgressBar {
    with_unit(rows, what, "{msg} {wide_bar} {pos}/{len} rows of blocks {eta}")
}

fn with_unit(length: u64, what: &'static str, template: &str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr_with_hz(10));
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.with_message(what)
}

/// A bar over stages that follow each other, hidden unless stderr is a terminal.
pub(crate) struct StageBar {
    bar: ProgressBar,
    stage: Mutex<String>,
}

impl StageBar {
    pub(crate) fn new() -> Self {
        let bar = bar(1, "");
        if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {percent}% {eta}") {
            bar.set_style(style);
        }
        Self { bar, stage: Mutex::default() }
    }

    /// Shows how much of a stage is done; the estimate starts anew with every stage.
    pub(crate) fn tell(&self, stage: &str, done: u64, all: u64) {
        let mut shown = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        if *shown != stage {
            stage.clone_into(&mut shown);
            self.bar.reset();
            self.bar.set_message(stage.to_owned());
        }
        self.bar.set_length(all);
        self.bar.set_position(done);
    }
}

impl Drop for StageBar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
