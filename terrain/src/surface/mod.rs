//! The surface: the triangle rule, and everything that answers questions about the ground from it.
//!
//! Owns the resident ground ([`Ground`]) and the queries. Every height query, contact, cast and mesh takes its
//! triangles from [`Tile::triangle`] or [`Ground::visit_triangles`]. Never reads files.

mod batch;
mod block;
mod frame;
mod ground;
mod heights;
mod page;
mod planes;
mod query;
mod spot;
mod tile;

pub use crate::triangle::{Tri, Triangle, plane_height};
pub use block::Block;
pub(crate) use frame::Frame;
pub use ground::{Coverage, Ground, Slot};
pub(crate) use heights::{Heights, RANGE_LOG2, Samples, Stored, range_start};
pub(crate) use page::NOTHING;
pub use planes::{BlockPlanes, PlaneChoice};
pub use query::{Answer, GroundPoint, PointAnswer};
pub use spot::{Spot, Value};
pub use tile::Tile;

#[cfg(test)]
mod spot_tests;
