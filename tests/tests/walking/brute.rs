//! Where a ball that is lowered over a point comes to rest, from the samples and the triangle rule alone: the lowest
//! place of an upright capsule, without casts, tiles or tolerances.

use highground_terrain::coord::{BlockSide, CellPos, SamplePos};
use highground_terrain::store::{MemoryTerrain, Raster};
use highground_terrain::surface::{Ground, Triangle};

/// A terrain with its ground.
pub(super) struct World {
    pub(super) raster: Raster,
    pub(super) ground: Ground,
}

impl World {
    pub(super) fn new(raster: Raster, side: BlockSide) -> Self {
        let terrain = MemoryTerrain::new(raster, side);
        Self { ground: terrain.ground_all(), raster: terrain.raster().clone() }
    }

    pub(super) fn spacing(&self) -> f64 {
        f64::from(self.raster.config.spacing_256) / 256.0
    }

    /// The height of the centre of a ball of radius `r` that rests over (x, z); `None` where it falls through.
    pub(super) fn rest(&self, x: f64, z: f64, r: f64) -> Option<f64> {
        let s = self.spacing();
        let [cells_x, cells_z] = self.raster.config.cells();
        let span = |v: f64, cells: i32| {
            (((v - r) / s).floor() as i32 - 1).max(0)..(((v + r) / s).floor() as i32 + 2).min(cells)
        };
        let mut highest: Option<f64> = None;
        for cz in span(z, cells_z) {
            for cx in span(x, cells_x) {
                let cell = CellPos::new(cx, cz);
                for t in Triangle::BOTH {
                    if self.raster.cell_mask(cell) & t.bit() == 0 {
                        continue;
                    }
                    let corners = t.corners(self.raster.config.diagonal.is_anti(cell)).map(|(dx, dz)| {
                        let at = SamplePos::new(cx + dx, cz + dz);
                        let y = self.raster.config.quantum.to_metres(self.raster.quanta(at));
                        [f64::from(at.x) * s - x, y, f64::from(at.z) * s - z]
                    });
                    if let Some(y) = on_triangle(corners, r) {
                        highest = Some(highest.map_or(y, |h: f64| h.max(y)));
                    }
                }
            }
        }
        highest
    }

    /// Whether a triangle within `r` of (x, z) is removed, or the edge of the map is that near.
    pub(super) fn near_hole(&self, x: f64, z: f64, r: f64) -> bool {
        let s = self.spacing();
        let [cells_x, cells_z] = self.raster.config.cells();
        let span = |v: f64| ((v - r) / s).floor() as i32..=((v + r) / s).floor() as i32;
        span(z).any(|cz| {
            span(x).any(|cx| {
                let outside = cx < 0 || cz < 0 || cx >= cells_x || cz >= cells_z;
                outside || self.raster.cell_mask(CellPos::new(cx, cz)) != 3
            })
        })
    }
}

/// The height of a ball over the origin that rests on one triangle.
fn on_triangle(v: [[f64; 3]; 3], r: f64) -> Option<f64> {
    let sub = |a: [f64; 3], b: [f64; 3]| [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    let (e, f) = (sub(v[1], v[0]), sub(v[2], v[0]));
    let n = [e[1] * f[2] - e[2] * f[1], e[2] * f[0] - e[0] * f[2], e[0] * f[1] - e[1] * f[0]];
    let length = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt();
    let n = if n[1] > 0.0 { n.map(|c| c / length) } else { n.map(|c| -c / length) };
    // On the plane, where the point that touches it is in the triangle.
    let y = v[0][1] + (n[0] * v[0][0] + n[2] * v[0][2]) / n[1] + r / n[1];
    let (px, pz) = (-n[0] * r, -n[2] * r);
    let left = |a: [f64; 3], b: [f64; 3]| (b[0] - a[0]) * (pz - a[2]) - (b[2] - a[2]) * (px - a[0]);
    let sides = [left(v[0], v[1]), left(v[1], v[2]), left(v[2], v[0])];
    let inside = sides.iter().all(|&s| s >= 0.0) || sides.iter().all(|&s| s <= 0.0);
    let mut best = inside.then_some(y);
    for (a, b) in [(v[0], v[1]), (v[1], v[2]), (v[2], v[0])] {
        if let Some(y) = on_edge(a, b, r) {
            best = Some(best.map_or(y, |h: f64| h.max(y)));
        }
    }
    best
}

/// The same on an edge, ends included: the greatest of a line plus a half circle along it.
fn on_edge(a: [f64; 3], b: [f64; 3], r: f64) -> Option<f64> {
    let (dx, dz) = (b[0] - a[0], b[2] - a[2]);
    let length = (dx * dx + dz * dz).sqrt();
    let (dx, dz) = (dx / length, dz / length);
    // Along the edge from the foot of the perpendicular.
    let from = a[0] * dx + a[2] * dz;
    let aside = a[0] * dz - a[2] * dx;
    let half = r * r - aside * aside;
    if half < 0.0 {
        return None;
    }
    let half = half.sqrt();
    let slope = (b[1] - a[1]) / length;
    let (low, high) = (from.max(-half), (from + length).min(half));
    if low > high {
        return None;
    }
    let u = (slope * half / (1.0 + slope * slope).sqrt()).clamp(low, high);
    Some(a[1] + slope * (u - from) + (half * half - u * u).max(0.0).sqrt())
}

#[test]
fn the_resting_height_is_that_of_a_ball_on_known_ground() {
    let flat =
        MemoryTerrain::from_fn([33, 33], BlockSide::S32, |_| {}, |x, _| if x > 16 { 2.0 } else { 1.0 });
    let mut raster = flat.raster().clone();
    raster.mask[5 * 32 + 5] = 0;
    let world = World::new(raster, BlockSide::S32);
    let close = |x: f64, z: f64, y: f64| (world.rest(x, z, 0.25).unwrap() - y).abs() < 1e-12;
    assert!(close(3.3, 9.1, 1.25) && close(20.0, 9.1, 2.25));
    // The 45° flank between x = 16 and 17.
    assert!(close(16.5, 9.1, 1.5 + 0.25 * 2.0_f64.sqrt()));
    // A tenth of a metre inside the hole's rim.
    assert!(close(5.1, 5.5, 1.0 + (0.0625_f64 - 0.01).sqrt()));
    assert_eq!(world.rest(5.5, 5.5, 0.25), None);
    assert!(world.near_hole(4.9, 5.5, 0.2) && !world.near_hole(4.7, 5.5, 0.2));
}
