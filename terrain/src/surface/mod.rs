//! The surface: the triangle rule, and everything that answers questions about the ground from it.
//!
//! Owns the resident ground ([`Ground`]) and the queries. Every height query, contact, cast and mesh takes its
//! triangles from [`Tile::triangle`] or [`Ground::visit_triangles`]. Never reads files.

mod block;
mod ground;
mod query;
mod tile;

pub use crate::triangle::{Tri, Triangle, plane_height};
pub use block::Block;
pub use ground::{Coverage, Ground, Slot};
pub use query::{GroundPoint, PointAnswer};
pub use tile::Tile;
