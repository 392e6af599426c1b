//! Collision geometry: the seamless terrain shape, its query dispatcher and the casts that walkers use.
//!
//! Built from the same integers as every other answer, at full resolution, never from a level of detail.

pub mod cast;
mod contact;
mod dispatcher;
mod feature;
mod half_space;
mod manifold;
mod material;
mod merge;
mod pair;
mod parts;
mod ray;
mod ray_exact;
mod ray_walk;
mod search;
mod shape;
mod shared;
mod sweep;

pub use dispatcher::TerrainDispatcher;
pub use material::{BlockMaterials, Feel, Materials};
pub use ray::{Faces, GroundRay, RayAnswer, RayError, RayHit, Sight};
pub use shape::{TerrainShape, block_bounds, subshape_id};
pub use shared::{RefusedGround, SharedGround, is_made_of};

#[cfg(test)]
mod fuzz_tests;
#[cfg(test)]
mod query_tests;
#[cfg(test)]
mod ray_tests;
