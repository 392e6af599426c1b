//! Bytes ↔ structs, without file access.

mod config;
pub mod digest;
pub(crate) mod error;
pub mod payload;
pub mod payload_v1;
pub mod sidecar;

pub use error::FormatError;
