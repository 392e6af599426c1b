//! Why an import was refused.

use crate::config::ConfigError;
use crate::store::RasterError;
use std::io;

/// Why an import was refused; each is one line.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file could not be read.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// The file's contents are wrong: what was expected and what was found.
    #[error("{0}")]
    Source(String),
    /// The options do not say enough, or say something impossible: what to pass.
    #[error("{0}")]
    Usage(String),
    /// A terrain of that size or spacing is impossible.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The heights do not fit.
    #[error(transparent)]
    Raster(#[from] RasterError),
}

impl ImportError {
    pub(crate) fn source(message: impl Into<String>) -> Self {
        Self::Source(message.into())
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }
}
