//! Why a recipe was refused.

use crate::import::ImportError;
use std::path::PathBuf;

/// Why a recipe was refused; each is one line and names its file.
#[derive(Debug, thiserror::Error)]
pub enum CookError {
    /// The recipe is no recipe.
    #[error("{}:{line}:{column}: {message}", path.display())]
    Syntax {
        /// The recipe's file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What was expected and found.
        message: String,
    },
    /// The recipe says something impossible.
    #[error("{}: {message}", path.display())]
    Rule {
        /// The recipe's file.
        path: PathBuf,
        /// What was expected and found.
        message: String,
    },
    /// A file cannot be used.
    #[error("{}: {error}", path.display())]
    Import {
        /// The recipe or the image.
        path: PathBuf,
        /// What is wrong with it.
        error: ImportError,
    },
}

impl CookError {
    /// A file that the operating system would not give.
    pub(super) fn file(path: &std::path::Path, error: std::io::Error) -> Self {
        Self::Import { path: path.to_owned(), error: error.into() }
    }
}
