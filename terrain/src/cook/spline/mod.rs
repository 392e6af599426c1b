//! Roads and rivers: lines over the ground that carve it, paint it and are remembered as overlays.
//!
//! Owns the lines and what they do to a field; never which layer a name is.

mod carve;
mod line;

pub use carve::{Paint, Profile, River, Road, Strip};
pub use line::{Curve, Line, Near};
