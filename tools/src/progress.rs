//! The progress bar: on stderr, and only when that is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;

/// A bar over `ticks`, hidden unless stderr is a terminal.
pub(crate) fn bar(ticks: u64, what: &'static str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(ticks), ProgressDrawTarget::stderr_with_hz(10));
    if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} ticks {eta}") {
        bar.set_style(style);
    }
    bar.with_message(what)
}
