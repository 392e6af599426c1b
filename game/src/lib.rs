//! Highground game: the hecs world, the fixed-step Rapier loop, collision publication, sessions and replay.
//!
//! A tick is a pure function of (world, inputs, publications). Wall clock, thread count, load order, cache sizes and
//! the presence of a GPU may change how long it takes, never what it gives. Never depends on the gpu crate.

pub mod component;
pub mod config;
pub mod demo;
pub mod input;
pub mod physics;
pub mod publication;
pub mod replay;
pub mod session;
pub mod state_hash;
pub mod walker;
pub mod way;
