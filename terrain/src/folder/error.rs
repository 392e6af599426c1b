//! Why a world folder cannot be read or written.

use crate::image::ImageError;
use crate::store::{BlockError, RasterError};
use std::io;
use std::path::{Path, PathBuf};

/// Why a world folder cannot be read or written; each is one line and names its file.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The knobs are no knobs.
    #[error("{}:{line}:{column}: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What was expected and found.
        message: String,
    },
    /// A file says something impossible.
    #[error("{}: {message}", path.display())]
    Rule {
        /// The file or folder.
        path: PathBuf,
        /// What was expected and found.
        message: String,
    },
    /// An image.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The layers do not make a terrain.
    #[error("{}: {error}", path.display())]
    Terrain {
        /// The folder.
        path: PathBuf,
        /// What is wrong.
        error: RasterError,
    },
    /// A block of the payload that a folder is made of.
    #[error("{0}")]
    Block(#[from] BlockError),
    /// A file cannot be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system says.
        error: io::Error,
    },
}

pub(super) fn rule(path: &Path, message: impl std::fmt::Display) -> FolderError {
    FolderError::Rule { path: path.to_owned(), message: message.to_string() }
}

pub(super) fn io_at(path: &Path) -> impl Fn(io::Error) -> FolderError + '_ {
    move |error| FolderError::Io { path: path.to_owned(), error }
}
