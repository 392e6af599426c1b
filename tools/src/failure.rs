//! How a subcommand fails: one line, and the exit status that goes with it.

use std::fmt;

/// Why a subcommand did not succeed. Its `Display` is one line: what, where, what to do.
#[derive(Debug)]
pub enum Failure {
    /// Bad usage or bad input: exit status 2.
    Input(String),
    /// A check that was asked for fails: exit status 1.
    Check(String),
    /// Whoever read stdout has seen enough: nothing is said, exit status 0.
    Closed,
}

impl Failure {
    /// Bad input.
    pub fn input(message: impl fmt::Display) -> Self {
        Self::Input(message.to_string())
    }

    /// Bad input in a file.
    pub fn file(path: &std::path::Path, message: impl fmt::Display) -> Self {
        Self::Input(format!("{}: {message}", path.display()))
    }

    /// The same, naming the file it came out of.
    #[must_use]
    pub fn in_file(self, path: &std::path::Path) -> Self {
        match self {
            Self::Input(message) => Self::file(path, message),
            other => other,
        }
    }

    /// 2 for bad input, 1 for a failed check, 0 when only the reader of stdout has gone.
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::Input(_) => 2,
            Self::Check(_) => 1,
            Self::Closed => 0,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Input(message) | Self::Check(message)) = self else { return Ok(()) };
        // One line, whatever a library put into its message.
        let line: Vec<&str> = message.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
        // A path or a file may hold anything; a terminal must not obey it.
        for c in line.join("; ").chars() {
            if c.is_control() { write!(f, "{}", c.escape_default())? } else { write!(f, "{c}")? }
        }
        Ok(())
    }
}
