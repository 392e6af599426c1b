//! The surface: the triangle rule, and everything that answers questions about the ground from it.
//!
//! Owns the resident ground ([`Ground`]) and the queries. Every height query, contact, cast and mesh takes its
//! triangles from [`Tile::triangle`] or [`Ground::visit_triangles`]. Never reads files.

mod block;
mod ground;
mod query;
mod tile;
mod triangle;

pub use block::Block;
pub use ground::{Coverage, Ground, Slot};
pub use query::{GroundPoint, PointAnswer};
pub use tile::Tile;
pub use triangle::{Tri, Triangle, plane_height};
