//! Walking: routes over every kind of ground against brute force, falls, slopes, and what moves besides the walker.
//!
//! A part of each long line runs here; HIGHGROUND_WALKING=100 runs the whole (percent), HIGHGROUND_SEED repeats a run.

#[path = "walking/bodies.rs"]
mod bodies;
#[path = "walking/brute.rs"]
mod brute;
#[path = "walking/falls.rs"]
mod falls;
#[path = "walking/routes.rs"]
mod routes;
#[path = "walking/worlds.rs"]
mod worlds;
