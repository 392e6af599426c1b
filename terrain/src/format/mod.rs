//! Bytes ↔ structs, without file access.

pub mod digest;
pub mod payload;
