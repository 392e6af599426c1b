//! What goes to stdout, and what happens when nobody reads it.
//!
//! A reader that has seen enough (`| head`) is no error; a full disk is one line.

use crate::Failure;
use std::io::{ErrorKind, Write};

/// Puts text on stdout.
///
/// # Errors
/// [`Failure::Closed`] when the reader has gone, bad input when the text cannot be written.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(failure)
}

/// Puts one JSON object and a line end on stdout.
///
/// # Errors
/// As [`print`].
pub(crate) fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value).map_err(Failure::input)?;
    print(&format!("{text}\n"))
}

/// What a failed write to stdout means.
pub(crate) fn failure(error: std::io::Error) -> Failure {
    match error.kind() {
        ErrorKind::BrokenPipe => Failure::Closed,
        _ => Failure::input(format!("stdout: {error}")),
    }
}
