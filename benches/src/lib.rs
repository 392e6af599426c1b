//! Highground benches.
