//! The runtime: blocks are wanted, read in the background, held while somebody needs them and given back.
//!
//! Owns the reader threads and the decoded data. It never decides what a session sees: publication does, at stated
//! ticks. Thread count, cache budget and the order in which reads finish change only how long things take.

mod data;
mod loader;

pub use data::{BlockData, DataStats};
pub use loader::{Loaded, Loader, ReadBlock, read_with_retries};
