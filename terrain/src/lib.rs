//! Highground terrain: what the ground is.
//!
//! Coordinates, heights, the triangle rule, file formats, cooking, import, streaming and collision geometry. One
//! surface answers every question: height queries, rays, contacts and casts all go through [`surface`].
//! This crate never touches Vulkan, hecs or sockets, and opens files only in [`store`], [`import`], [`cook`],
//! [`disk`], [`image`], [`folder`] and [`pack`].

pub mod collide;
pub mod compute;
pub mod config;
pub mod content;
pub mod cook;
pub mod coord;
pub mod disk;
pub mod export;
pub mod folder;
pub mod foliage;
pub mod format;
pub mod height;
pub mod image;
pub mod import;
pub mod kernel;
pub mod layer_images;
pub mod layers;
pub mod lod;
pub mod nav;
pub mod pack;
pub mod page;
pub mod pass;
pub mod runtime;
pub mod state;
pub mod store;
pub mod surface;
pub mod triangle;

/// The collision library in double precision whose vectors, poses and shapes this crate takes and gives: the same version
/// as under `rapier3d-f64`. Its `math` re-exports glam's types.
pub use parry3d_f64 as parry;
