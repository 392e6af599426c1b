//! Planes: one value for every texel, cell or sample of a terrain.

use crate::config::TerrainConfig;
use serde::{Deserialize, Serialize};

/// What a plane's values stand on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lattice {
    /// Paint texels: the cells times [`TerrainConfig::paint_per_cell`] a side.
    Paint,
    /// Cells.
    Cells,
    /// Height samples.
    Samples,
}

impl Lattice {
    /// Columns and rows over a whole terrain.
    pub fn size(self, config: &TerrainConfig) -> [u32; 2] {
        match self {
            Lattice::Samples => config.samples,
            Lattice::Cells => config.samples.map(|n| n - 1),
            Lattice::Paint => config.samples.map(|n| (n - 1) * u32::from(config.paint_per_cell)),
        }
    }

    /// Values a sample step.
    pub fn per_cell(self, config: &TerrainConfig) -> u32 {
        match self {
            Lattice::Samples | Lattice::Cells => 1,
            Lattice::Paint => u32::from(config.paint_per_cell),
        }
    }
}

/// What a plane's values are. The order is the canonical one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlaneKind {
    /// The weight of a surface layer: of weight and height-adjusted layers 0..=255 with a sum of 255 a texel, or all 0
    /// (layer 0); of alpha layers 0..=255 freely.
    Weight(u8),
    /// Triangles that bodies fall through: two bits a cell, a set bit removes. A triangle is part of the surface where
    /// neither this nor visibility removes it.
    PhysicalHole,
    /// Index into [`super::Catalogue::materials`].
    PhysicalMaterial,
    /// A game's own channel.
    User(u8),
    /// Density of a foliage type, 255 full.
    Foliage(u8),
    /// Density of an object type, 255 full.
    Object(u8),
    /// Depth of water above the bed in quanta, four bytes little-endian a sample; 0 is dry.
    WaterDepth,
}

impl PlaneKind {
    /// What its values stand on.
    pub const fn lattice(self) -> Lattice {
        match self {
            PlaneKind::Weight(_) => Lattice::Paint,
            PlaneKind::WaterDepth => Lattice::Samples,
            _ => Lattice::Cells,
        }
    }

    /// Bytes of one value.
    pub const fn bytes(self) -> usize {
        match self {
            PlaneKind::WaterDepth => 4,
            _ => 1,
        }
    }

    /// Bytes of one row of a whole terrain.
    pub fn row_bytes(self, config: &TerrainConfig) -> usize {
        self.lattice().size(config)[0] as usize * self.bytes()
    }

    /// Bytes of a whole plane.
    pub fn plane_bytes(self, config: &TerrainConfig) -> usize {
        self.row_bytes(config) * self.lattice().size(config)[1] as usize
    }

    /// The name used in messages and files.
    pub fn name(self) -> String {
        match self {
            PlaneKind::Weight(i) => format!("weight of layer {i}"),
            PlaneKind::PhysicalHole => "physical holes".to_owned(),
            PlaneKind::PhysicalMaterial => "physical materials".to_owned(),
            PlaneKind::User(i) => format!("user channel {i}"),
            PlaneKind::Foliage(i) => format!("density of foliage {i}"),
            PlaneKind::Object(i) => format!("density of objects {i}"),
            PlaneKind::WaterDepth => "water depth".to_owned(),
        }
    }
}

/// A whole plane, X fastest; 0 everywhere is the same as no plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plane {
    /// What its values are.
    pub kind: PlaneKind,
    /// [`PlaneKind::plane_bytes`] bytes.
    pub values: Vec<u8>,
}

impl Plane {
    /// A plane of zeros.
    pub fn zero(kind: PlaneKind, config: &TerrainConfig) -> Self {
        Self { kind, values: vec![0; kind.plane_bytes(config)] }
    }
}
