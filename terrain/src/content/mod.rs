//! What a terrain holds beside heights and visibility: layers and their weights, physical materials, user channels,
//! foliage and objects, roads and water.
//!
//! Owns the nouns and their limits. Never reads files, never interpolates, never paints.

mod catalogue;
mod plane;

pub use catalogue::{
    Catalogue, CatalogueError, FoliageType, Layer, LayerImages, MAX_CATALOGUE_BYTES, MAX_LAYERS,
    MAX_MATERIALS, MAX_NAME, MAX_OVERLAY_POINTS, MAX_OVERLAYS, MAX_TYPES, MAX_USER_CHANNELS, ObjectType,
    Overlay, PhysicalMaterial, Water,
};
pub use plane::{Lattice, Plane, PlaneKind};
