//! What benches share.

pub mod noise;
