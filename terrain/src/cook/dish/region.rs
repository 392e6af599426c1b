//! Shapes and pictures over cells, decided exactly in integers.

use crate::config::TerrainConfig;
use crate::cook::error::CookError;
use crate::cook::image::Images;
use crate::cook::plan::{Region, inside};
use crate::coord::{CellPos, LATTICE_PER_M};
use crate::surface::Triangle;
use rayon::prelude::*;
use std::ops::Range;

/// Which triangles lie in any of the regions: two bits a cell, one byte each; `None` without regions.
///
/// # Errors
/// A region off the map, or what is wrong with a picture.
pub(super) fn removed(
    regions: &[Region],
    what: &str,
    config: &TerrainConfig,
    images: &Images,
) -> Result<Option<Vec<u8>>, CookError> {
    if regions.is_empty() {
        return Ok(None);
    }
    let [cw, ch] = config.cells().map(|c| c as usize);
    let mut cut = Cut { config, width: cw, bits: vec![0; cw * ch] };
    for (i, region) in regions.iter().enumerate() {
        let rule = |e: String| CookError::Rule {
            path: images.recipe().to_owned(),
            message: format!("{what}[{i}]: {e}"),
        };
        match region {
            Region::Cells { x, z, w, h } => cut.cells([*x, *z], [*w, *h], 3).map_err(rule)?,
            Region::Half { x, z, triangle } => cut.cells([*x, *z], [1, 1], 1 << triangle).map_err(rule)?,
            Region::Circle { x, z, radius_m } => {
                let (centre, r) = ([thirds(*x), thirds(*z)], thirds(*radius_m));
                let bounds = [centre[0] - r, centre[1] - r, centre[0] + r, centre[1] + r];
                cut.inside(bounds, |[px, pz]| {
                    let (dx, dz) = (i128::from(px - centre[0]), i128::from(pz - centre[1]));
                    dx * dx + dz * dz <= i128::from(r) * i128::from(r)
                });
            }
            Region::Polygon(points) => {
                let points: Vec<[i64; 2]> = points.iter().map(|p| [thirds(p.0), thirds(p.1)]).collect();
                cut.polygon(&points);
            }
            Region::Image(path) => {
                let (which, pixels) = images.grey(path, &[config.samples.map(|n| n - 1), config.samples])?;
                if which == 0 {
                    cut.bits.iter_mut().zip(&pixels).filter(|(_, p)| **p >= 128).for_each(|(b, _)| *b = 3);
                } else {
                    cut.samples(&pixels);
                }
            }
        }
    }
    Ok(Some(cut.bits))
}

struct Cut<'a> {
    config: &'a TerrainConfig,
    width: usize,
    bits: Vec<u8>,
}

/// Metres in thirds of a 2⁻¹⁶ m lattice unit, rounded half up to a whole unit: triangles' centroids are whole ones.
fn thirds(m: f64) -> i64 {
    3 * (m * LATTICE_PER_M as f64 + 0.5).floor() as i64
}

/// Where the edges of a polygon toggle the inside of a level line, sorted: a point (x, z) is inside, by the even-odd rule,
/// when an odd number of them are greater than x. A point on an edge belongs to one of its sides.
fn crossings(points: &[[i64; 2]], z: i64, out: &mut Vec<i128>) {
    out.clear();
    let mut before = points[points.len() - 1];
    for &here in points {
        let ([ax, az], [bx, bz]) = (before, here);
        if (az > z) != (bz > z) {
            // x < ax + (bx − ax) · (z − az) / (bz − az), of whole x: below the next whole number from there up.
            let (num, den) = (i128::from(bx - ax) * i128::from(z - az), i128::from(bz - az));
            let (num, den) = if den < 0 { (-num, -den) } else { (num, den) };
            out.push(i128::from(ax) - (-num).div_euclid(den));
        }
        before = here;
    }
    out.sort_unstable();
}

impl Cut<'_> {
    fn cells(&mut self, [x, z]: [u32; 2], [w, h]: [u32; 2], bits: u8) -> Result<(), String> {
        inside([x, z], [w, h], self.config.cells().map(|c| c as u32))?;
        for z in z..z + h {
            let row = z as usize * self.width;
            self.bits[row + x as usize..row + (x + w) as usize].iter_mut().for_each(|b| *b |= bits);
        }
        Ok(())
    }

    /// Takes triangles whose centroids are inside; `bounds` are in thirds of lattice units.
    fn inside(&mut self, bounds: [i64; 4], inside: impl Fn([i64; 2]) -> bool) {
        let cell = 3 * self.config.spacing_lattice();
        let range = |from: i64, to: i64, n: usize| -> Range<usize> {
            let clamp = |v: i64| v.clamp(0, n as i64) as usize;
            clamp(from.div_euclid(cell))..clamp(to.div_euclid(cell) + 1)
        };
        let rows = range(bounds[1], bounds[3], self.bits.len() / self.width);
        for z in rows {
            for x in range(bounds[0], bounds[2], self.width) {
                let anti = self.config.diagonal.is_anti(CellPos::new(x as i32, z as i32));
                for triangle in Triangle::BOTH {
                    let corners = triangle.corners(anti);
                    let sum =
                        corners.iter().fold((0, 0), |s, c| (s.0 + i64::from(c.0), s.1 + i64::from(c.1)));
                    let third = self.config.spacing_lattice();
                    let centroid = [(3 * x as i64 + sum.0) * third, (3 * z as i64 + sum.1) * third];
                    if inside(centroid) {
                        self.bits[z * self.width + x] |= 1 << triangle.index();
                    }
                }
            }
        }
    }

    /// Takes triangles whose centroids are in a polygon, row by row.
    fn polygon(&mut self, points: &[[i64; 2]]) {
        let third = self.config.spacing_lattice();
        let range = |axis: usize, n: usize| -> Range<usize> {
            let of = || points.iter().map(|p| p[axis]);
            let (low, high) = (of().min().unwrap_or(0), of().max().unwrap_or(0));
            let clamp = |v: i64| v.clamp(0, n as i64) as usize;
            clamp(low.div_euclid(3 * third))..clamp(high.div_euclid(3 * third) + 1)
        };
        let (columns, rows) = (range(0, self.width), range(1, self.bits.len() / self.width));
        let (diagonal, width) = (self.config.diagonal, self.width);
        let lines = self.bits.par_chunks_mut(width).enumerate().skip(rows.start).take(rows.len());
        lines.for_each_init(
            || [Vec::new(), Vec::new()],
            |toggles, (z, line)| {
                // Centroids lie a third and two thirds down a row.
                for (part, toggles) in (1..).zip(toggles.iter_mut()) {
                    crossings(points, (3 * z as i64 + part) * third, toggles);
                }
                for x in columns.clone() {
                    let anti = diagonal.is_anti(CellPos::new(x as i32, z as i32));
                    for triangle in Triangle::BOTH {
                        let corners = triangle.corners(anti);
                        let sum = corners.iter().fold((0, 0), |s, c| (s.0 + i64::from(c.0), s.1 + c.1));
                        let toggles = &toggles[sum.1 as usize - 1];
                        let px = i128::from((3 * x as i64 + sum.0) * third);
                        let greater = toggles.len() - toggles.partition_point(|&t| t <= px);
                        line[x] |= u8::from(greater % 2 == 1) << triangle.index();
                    }
                }
            },
        );
    }

    /// Takes every triangle that touches a sample whose pixel counts.
    fn samples(&mut self, pixels: &[u8]) {
        let row = self.width + 1;
        for (i, bits) in self.bits.iter_mut().enumerate() {
            let (x, z) = (i % self.width, i / self.width);
            let anti = self.config.diagonal.is_anti(CellPos::new(x as i32, z as i32));
            for triangle in Triangle::BOTH {
                let counts =
                    |&(dx, dz): &(i32, i32)| pixels[(z + dz as usize) * row + x + dx as usize] >= 128;
                if triangle.corners(anti).iter().any(counts) {
                    *bits |= 1 << triangle.index();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Diagonal;
    use std::path::Path;

    fn bits(regions: &[Region], config: &TerrainConfig) -> Vec<u8> {
        removed(regions, "holes", config, &Images::new(Path::new("w.ron"))).unwrap().unwrap()
    }

    #[test]
    fn shapes_take_the_triangles_whose_centroids_they_hold() {
        let config = TerrainConfig { diagonal: Diagonal::Checkerboard, ..TerrainConfig::new([9, 7], 512) };
        let polygon = [(1.0, 1.0), (13.0, 2.5), (7.0, 11.0), (6.0, 4.0)];
        let circle = (9.0, 6.0, 4.3);
        let got = bits(&[Region::Polygon(polygon.to_vec())], &config);
        let round = bits(&[Region::Circle { x: circle.0, z: circle.1, radius_m: circle.2 }], &config);
        for z in 0..6 {
            for x in 0..8 {
                let anti = (x + z) % 2 == 0;
                // Corner sums of triangle 0 and 1 of Main: (100, 110, 000), (000, 010, 110); Anti likewise.
                let sums = if anti { [(1.0, 1.0), (2.0, 2.0)] } else { [(2.0, 1.0), (1.0, 2.0)] };
                for (t, (dx, dz)) in sums.into_iter().enumerate() {
                    let (px, pz) = ((x as f64 + dx / 3.0) * 2.0, (z as f64 + dz / 3.0) * 2.0);
                    // Inside by the winding of angles.
                    let turn: f64 = (0..4)
                        .map(|i| {
                            let (a, b) = (polygon[i], polygon[(i + 1) % 4]);
                            let (ax, az, bx, bz) = (a.0 - px, a.1 - pz, b.0 - px, b.1 - pz);
                            libm::atan2(ax * bz - az * bx, ax * bx + az * bz)
                        })
                        .sum();
                    assert_eq!(got[z * 8 + x] >> t & 1 == 1, turn.abs() > 3.0, "({x}, {z}) {t}");
                    let d2 = (px - circle.0) * (px - circle.0) + (pz - circle.1) * (pz - circle.1);
                    assert_eq!(round[z * 8 + x] >> t & 1 == 1, d2 <= circle.2 * circle.2, "({x}, {z}) {t}");
                }
            }
        }
        assert!(got.iter().any(|&b| b == 1 || b == 2) && got.contains(&3) && got.contains(&0));
    }

    #[test]
    fn rectangles_and_halves_off_the_map_are_refused() {
        let config = TerrainConfig::new([4, 4], 256);
        assert_eq!(bits(&[Region::Half { x: 1, z: 0, triangle: 1 }], &config)[1], 2);
        let images = Images::new(Path::new("w.ron"));
        for (x, w) in [(3, 1), (0, 4), (0, 0), (u32::MAX, 2)] {
            let region = Region::Cells { x, z: 0, w, h: 1 };
            let error = removed(&[region], "holes", &config, &images).unwrap_err().to_string();
            assert!(error.starts_with("w.ron: holes[0]: "), "{error}");
        }
    }
}
