//! Which part of a triangle is touched, and whether the real neighbours let a normal leave it.
//!
//! A direction is a normal of the surface at a point when nothing of the surface near that point lies further along
//! it. On a flush seam only the face normal passes; on a ridge the whole range between the two faces does; in a valley
//! only each face's own; where the neighbour was removed the edge is a real one. Never looks further than the tile's
//! apron, which holds every neighbour of the block's own triangles.

use crate::coord::{CellPos, SamplePos};
use crate::surface::{Tile, Tri, Triangle};
use glam::DVec3;

/// Below this angle (as a sine, 1°) two faces count as flush for choosing between face and edge contacts.
pub(super) const FLUSH_SINE: f64 = 0.017_452_406_437_283_51;

/// A part of a triangle: its inside, the edge from vertex i to vertex i + 1, or vertex i.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Feature {
    Face,
    Edge(usize),
    Vertex(usize),
}

/// What lies across an edge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Across {
    /// Nothing: the neighbour is removed or beyond the extent.
    Rim,
    /// A face within 1° of this one's plane; its normal.
    Flush(DVec3),
    /// A face that rises above this one's plane.
    Valley,
    /// A face that falls away from this one's plane.
    Ridge,
}

/// The closest point of a triangle to `p`, and the feature it lies on. A point over an edge or vertex, to the last
/// bit, counts as on it.
pub(super) fn closest_point(v: &[DVec3; 3], p: DVec3) -> (DVec3, Feature) {
    let [a, b, c] = *v;
    let (ab, ac) = (b - a, c - a);
    let ap = p - a;
    let (d1, d2) = (ab.dot(ap), ac.dot(ap));
    if d1 <= 0.0 && d2 <= 0.0 {
        return (a, Feature::Vertex(0));
    }
    let bp = p - b;
    let (d3, d4) = (ab.dot(bp), ac.dot(bp));
    if d3 >= 0.0 && d4 <= d3 {
        return (b, Feature::Vertex(1));
    }
    let cp = p - c;
    let (d5, d6) = (ab.dot(cp), ac.dot(cp));
    if d6 >= 0.0 && d5 <= d6 {
        return (c, Feature::Vertex(2));
    }
    // Signed areas against the three edges; their sum is the squared double area.
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        return (a + ab * (d1 / (d1 - d3)), Feature::Edge(0));
    }
    let va = d3 * d6 - d5 * d4;
    if va <= 0.0 && d4 - d3 >= 0.0 && d5 - d6 >= 0.0 {
        let t = (d4 - d3) / ((d4 - d3) + (d5 - d6));
        return (b + (c - b) * t, Feature::Edge(1));
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        return (a + ac * (d2 / (d2 - d6)), Feature::Edge(2));
    }
    let sum = va + vb + vc;
    (a + ab * (vb / sum) + ac * (vc / sum), Feature::Face)
}

/// The feature a point of the triangle lies on, within `tolerance` metres.
pub(super) fn feature_at(v: &[DVec3; 3], p: DVec3, tolerance: f64) -> Feature {
    let (mut vertex, mut edge) = ((f64::MAX, 0), (f64::MAX, 0));
    for i in 0..3 {
        let (a, b) = (v[i], v[(i + 1) % 3]);
        let ab = b - a;
        let t = ((p - a).dot(ab) / ab.length_squared()).clamp(0.0, 1.0);
        let to_edge = p.distance(a + ab * t);
        if p.distance(a) < vertex.0 {
            vertex = (p.distance(a), i);
        }
        if to_edge < edge.0 {
            edge = (to_edge, i);
        }
    }
    if vertex.0 <= tolerance {
        Feature::Vertex(vertex.1)
    } else if edge.0 <= tolerance {
        Feature::Edge(edge.1)
    } else {
        Feature::Face
    }
}

/// The point of a feature that is nearest to a point on or beside it.
pub(super) fn on_feature(v: &[DVec3; 3], feature: Feature, p: DVec3) -> DVec3 {
    match feature {
        Feature::Face => p,
        Feature::Vertex(i) => v[i],
        Feature::Edge(i) => {
            let (a, ab) = (v[i], v[(i + 1) % 3] - v[i]);
            a + ab * ((p - a).dot(ab) / ab.length_squared()).clamp(0.0, 1.0)
        }
    }
}

fn sample(tile: &Tile, tri: &Tri, i: usize) -> SamplePos {
    let (dx, dz) = tri.triangle.corners(tile.is_anti(tri.cell))[i];
    tri.cell.corner(dx, dz)
}

fn has_corner(tile: &Tile, cell: CellPos, t: Triangle, s: SamplePos) -> bool {
    t.corners(tile.is_anti(cell)).iter().any(|&(dx, dz)| cell.corner(dx, dz) == s)
}

/// The visible triangle across the edge from vertex `i` to vertex `i + 1`.
pub(super) fn neighbour(tile: &Tile, tri: &Tri, i: usize) -> Option<Tri> {
    let (a, b) = (sample(tile, tri, i), sample(tile, tri, (i + 1) % 3));
    let c = tri.cell;
    let cell = match (a.x == b.x, a.z == b.z) {
        (false, false) => c,
        (true, _) => CellPos::new(if a.x == c.x { c.x - 1 } else { c.x + 1 }, c.z),
        (false, true) => CellPos::new(c.x, if a.z == c.z { c.z - 1 } else { c.z + 1 }),
    };
    Triangle::BOTH
        .into_iter()
        .find(|&t| {
            (cell, t) != (c, tri.triangle) && has_corner(tile, cell, t, a) && has_corner(tile, cell, t, b)
        })
        .and_then(|t| tile.triangle(cell, t))
}

/// What lies across each edge of a triangle with face normal `n`.
pub(super) fn surroundings(tile: &Tile, tri: &Tri, n: DVec3) -> [Across; 3] {
    std::array::from_fn(|i| {
        let Some(other) = neighbour(tile, tri, i) else { return Across::Rim };
        let m = other.normal();
        let (a, b) = (tri.vertices[i], tri.vertices[(i + 1) % 3]);
        // The sine of the turn across the edge: positive where the surface falls away.
        let turn = n.cross(m).dot(b - a) / (b - a).length();
        if turn.abs() < FLUSH_SINE && n.dot(m) > 0.0 {
            Across::Flush(m)
        } else if turn > 0.0 {
            Across::Ridge
        } else {
            Across::Valley
        }
    })
}

/// Whether `d` (unit) is a normal of the real surface at the point `p` of a feature: no visible triangle that touches
/// the feature reaches further along `d`, within `slack` (a sine).
pub(super) fn admits(tile: &Tile, tri: &Tri, feature: Feature, p: DVec3, d: DVec3, slack: f64) -> bool {
    let within = |x: DVec3| d.dot(x - p) <= slack * x.distance(p);
    match feature {
        Feature::Face => true,
        Feature::Edge(i) => {
            within(tri.vertices[(i + 2) % 3])
                && neighbour(tile, tri, i).is_none_or(|other| other.vertices.into_iter().all(within))
        }
        Feature::Vertex(i) => {
            let s = sample(tile, tri, i);
            for z in s.z - 1..=s.z {
                for x in s.x - 1..=s.x {
                    let cell = CellPos::new(x, z);
                    for t in Triangle::BOTH {
                        if has_corner(tile, cell, t, s)
                            && let Some(other) = tile.triangle(cell, t)
                            && !other.vertices.into_iter().all(within)
                        {
                            return false;
                        }
                    }
                }
            }
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Diagonal;
    use crate::coord::BlockSide;
    use crate::store::MemoryTerrain;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_closest_point_is_no_further_than_any_sampled_point(
            v in prop::array::uniform3(prop::array::uniform3(-3.0f64..3.0)),
            p in prop::array::uniform3(-6.0f64..6.0),
        ) {
            let (v, p) = (v.map(DVec3::from), DVec3::from(p));
            prop_assume!((v[1] - v[0]).cross(v[2] - v[0]).length() > 0.1);
            let (q, feature) = closest_point(&v, p);
            let parry = parry3d_f64::query::PointQuery::project_local_point(
                &parry3d_f64::shape::Triangle::new(v[0], v[1], v[2]), p, true,
            );
            prop_assert!((q.distance(p) - parry.point.distance(p)).abs() < 1e-9);
            for i in 0..=20 {
                for j in 0..=20 - i {
                    let (s, t) = (f64::from(i) / 20.0, f64::from(j) / 20.0);
                    let x = v[0] + (v[1] - v[0]) * s + (v[2] - v[0]) * t;
                    prop_assert!(q.distance(p) <= x.distance(p) + 1e-9);
                }
            }
            if feature != Feature::Face {
                prop_assert_eq!(feature_at(&v, q, 1e-9), feature);
            }
        }
    }

    #[test]
    fn neighbours_share_two_vertices_on_every_diagonal_and_across_blocks() {
        for diagonal in [Diagonal::Main, Diagonal::Anti, Diagonal::Checkerboard] {
            let ground = MemoryTerrain::from_fn(
                [70, 70],
                BlockSide::S32,
                |c| c.diagonal = diagonal,
                |x, z| f64::from((x * 5 + z * 3) % 7),
            )
            .ground_all();
            let mut rims = 0;
            let coverage = ground.visit_triangles(ground.config().cell_rect(), -1e9, 1e9, |tile, tri| {
                for i in 0..3 {
                    let Some(other) = neighbour(tile, &tri, i) else {
                        rims += 1;
                        continue;
                    };
                    assert_ne!((other.cell, other.triangle), (tri.cell, tri.triangle));
                    for v in [tri.vertices[i], tri.vertices[(i + 1) % 3]] {
                        assert!(other.vertices.contains(&v), "{tri:?} {other:?}");
                    }
                }
                std::ops::ControlFlow::Continue(())
            });
            assert_eq!(coverage, crate::surface::Coverage::Complete);
            // The map's own border: 69 cells on each of four sides.
            assert_eq!(rims, 4 * 69, "{diagonal:?}");
        }
    }
}
