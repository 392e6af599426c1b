//! A place on the ground: the triangle that a point query found, to be asked for height, normals and what is painted.
//!
//! Everything is answered from the tile that found the triangle, but for what is painted in the answering cell, which
//! the cell's own block holds. Never allocates.

use super::planes::NotLoaded;
use super::{Ground, Tile, Triangle};
use crate::content::{PhysicalMaterial, PlaneKind};
use crate::coord::CellPos;
use crate::triangle::cell_height;
use glam::DVec3;

/// The value of a plane on the ground.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<T> {
    /// The value; 0 where the plane has none.
    Known(T),
    /// The loader did not decode this plane: see [`crate::store::WithPlanes`] and [`crate::surface::PlaneChoice`].
    NotLoaded,
    /// The answering cell stands in another block than the point's, and that one is not resident. Only possible at a
    /// block's border, where the point's own triangle is removed.
    Pending,
}

impl<T> Value<T> {
    /// The value, if it is known.
    pub fn known(self) -> Option<T> {
        match self {
            Value::Known(v) => Some(v),
            _ => None,
        }
    }

    fn map<U>(self, f: impl FnOnce(T) -> U) -> Value<U> {
        match self {
            Value::Known(v) => Value::Known(f(v)),
            Value::NotLoaded => Value::NotLoaded,
            Value::Pending => Value::Pending,
        }
    }
}

/// A place on the ground of one snapshot.
#[derive(Clone, Copy, Debug)]
pub struct Spot<'a> {
    ground: &'a Ground,
    tile: &'a Tile,
    cell: CellPos,
    triangle: Triangle,
    /// From the cell's corner 00, in lattice units: 0 to s.
    fraction: [i64; 2],
    /// Quanta of the cell's corners [00, 10, 01, 11]; one that is not the triangle's may be a void.
    corners: [i32; 4],
}

impl<'a> Spot<'a> {
    #[inline(always)]
    pub(super) fn new(
        ground: &'a Ground,
        tile: &'a Tile,
        cell: CellPos,
        triangle: Triangle,
        fraction: [i64; 2],
        corners: [i32; 4],
    ) -> Self {
        Self { ground, tile, cell, triangle, fraction, corners }
    }

    /// The cell whose triangle answers.
    pub fn cell(&self) -> CellPos {
        self.cell
    }

    /// Which triangle answers.
    pub fn triangle(&self) -> Triangle {
        self.triangle
    }

    #[inline(always)]
    fn is_anti(&self) -> bool {
        self.tile.is_anti(self.cell)
    }

    /// The exact height's numerator over the cell side in lattice units, in terrain-local quanta.
    #[inline(always)]
    pub(crate) fn numerator(&self) -> i64 {
        let [fx, fz] = self.fraction;
        cell_height(self.is_anti(), self.corners, fx, fz, self.ground.frame().s)
    }

    /// World metres: the nearest `f64` to the exact rational height.
    #[inline(always)]
    pub fn height(&self) -> f64 {
        self.ground.frame().metres(self.numerator())
    }

    /// The unit face normal, up.
    pub fn normal(&self) -> DVec3 {
        let config = self.ground.config();
        let (gx, gz) = self.triangle.gradient(self.is_anti(), self.corners);
        let slope = config.quantum.metres() / config.spacing_m();
        DVec3::new(0.0 - gx as f64 * slope, 1.0, 0.0 - gz as f64 * slope).normalize()
    }

    /// The smooth normal, a unit vector: slopes at the three vertices by the rule of [`crate::kernel::normal`] (central
    /// differences; one-sided beside a void or the map's edge; whether triangles are visible does not matter), exactly
    /// interpolated over the triangle. Continuous over the whole terrain. Every sample that counts lies in the apron of
    /// the tile under the point, so what is resident around it changes nothing.
    pub fn smooth_normal(&self) -> DVec3 {
        let (config, s) = (self.ground.config(), self.ground.frame().s);
        let [fx, fz] = self.fraction;
        // |slope2| ≤ 2²⁶ and weights sum to s ≤ 2²⁴: sums stay below 2⁵⁰.
        let (mut gx, mut gz) = (0, 0);
        for (i, w) in self.triangle.weights(self.is_anti(), fx, fz, s).into_iter().enumerate() {
            // A corner without weight may lie beyond the apron.
            if w > 0 {
                let [x, z] = self.tile.slope2(self.cell.corner(i as i32 & 1, i as i32 >> 1));
                gx += w * i64::from(x);
                gz += w * i64::from(z);
            }
        }
        let slope = config.quantum.metres() / (2.0 * config.spacing_m() * s as f64);
        DVec3::new(0.0 - gx as f64 * slope, 1.0, 0.0 - gz as f64 * slope).normalize()
    }

    /// The tile that holds what is painted in the answering cell.
    fn own_tile(&self) -> Option<&'a Tile> {
        if self.ground.side().block_of_cell(self.cell) == self.tile.pos() {
            return Some(self.tile);
        }
        self.ground.tile_of(self.cell)
    }

    fn painted<T>(&self, ask: impl FnOnce(&'a Tile) -> Result<T, NotLoaded>) -> Value<T> {
        match self.own_tile().map(ask) {
            Some(Ok(value)) => Value::Known(value),
            Some(Err(NotLoaded)) => Value::NotLoaded,
            None => Value::Pending,
        }
    }

    /// The stronger of the two layers of the paint texel under the point; layer 0 on a terrain without layers.
    pub fn layer(&self) -> Value<u8> {
        let ([fx, fz], s) = (self.fraction, self.ground.frame().s);
        self.painted(|tile| Ok(tile.layer(self.cell, fx, fz, s)))
    }

    /// The tag of that layer; empty where the catalogue has no such layer.
    pub fn layer_tag(&self) -> Value<&'a str> {
        let layers = &self.ground.catalogue().layers;
        self.layer().map(|id| layers.get(usize::from(id)).map_or("", |l| l.tag.as_str()))
    }

    /// The full weight of a layer in the paint texel under the point, 0 to 255. A texel without any weight is wholly
    /// layer 0's; a layer that there is not weighs 0.
    pub fn weight(&self, layer: u8) -> Value<u8> {
        let ([fx, fz], s) = (self.fraction, self.ground.frame().s);
        self.painted(|tile| tile.weight(layer, self.cell, fx, fz, s))
    }

    /// The value of a user channel in the answering cell; 0 of a channel that there is not.
    pub fn user(&self, channel: u8) -> Value<u8> {
        self.painted(|tile| tile.cell_value(PlaneKind::User(channel), self.cell))
    }

    /// The depth of water above the bed in metres, interpolated over the triangle; 0 where it is dry.
    pub fn water_depth(&self) -> Value<f64> {
        let ([fx, fz], s) = (self.fraction, self.ground.frame().s);
        let weights = self.triangle.weights(self.is_anti(), fx, fz, s);
        match self.tile.depths(self.cell, weights) {
            Err(NotLoaded) => Value::NotLoaded,
            Ok(depths) => {
                // Depths below 2²⁴: the sum stays below 2⁴⁸, so one division rounds once.
                let sum: i64 = weights.iter().zip(depths).map(|(w, d)| w * i64::from(d)).sum();
                Value::Known(sum as f64 / s as f64 * self.ground.frame().quantum_m)
            }
        }
    }

    /// The index of the physical material of the answering cell.
    pub fn material_index(&self) -> Value<u8> {
        self.painted(|tile| tile.cell_value(PlaneKind::PhysicalMaterial, self.cell))
    }

    /// The physical material of the answering cell: the default one where the index is beyond the catalogue's (see
    /// [`Ground::stray_materials`]).
    pub fn material(&self) -> Value<&'a PhysicalMaterial> {
        self.material_index().map(|i| self.ground.material_at(i))
    }
}
