//! Questions to a receipt: the drawn surface at a point.
//!
//! Owns how the drawn triangle under a point is found, exactly. Positions are the world's, rounded to the 2⁻¹⁶ m lattice
//! like every query position; the triangle is one of the eight that morphing can bring there.

use super::drawable::frame_of;
use super::receipt::DrawnView;
use super::{Receipt, ReceiptError};
use crate::coord::{CellPos, LatticePos};
use crate::kernel::pyramid::{NODE_CELLS, is_anti};
use crate::kernel::vertex::{FINE, FINE_LOG2, Vertex};
use crate::pass::select::Node;
use crate::triangle::Triangle;
use arrayvec::ArrayVec;
use glam::DVec3;

/// What is asked of a receipt.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Question {
    /// East, in metres, in the world.
    pub x: f64,
    /// South, in metres, in the world.
    pub z: f64,
    /// Which view; may be missing where there is only one.
    pub view: Option<u64>,
    /// The digest that the source has to have had.
    pub expected_digest: Option<[u8; 32]>,
}

/// The drawn surface at a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DrawnAnswer {
    /// It is there.
    Visible(DrawnPoint),
    /// The node is drawn, but no triangle of level 0 shows there.
    Hole,
    /// Outside the valid extent.
    Outside,
}

/// A point of the drawn surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DrawnPoint {
    /// The node that drew it.
    pub node: Node,
    /// Which of its triangles: the cell in its own grid and the triangle.
    pub triangle: ([u8; 2], Triangle),
    /// The drawn triangle.
    pub vertices: [Vertex; 3],
    /// The height in 2⁻⁷ quanta over the terrain's origin, as a numerator and a positive denominator: exact.
    pub height: [i128; 2],
    /// The height in the world, in metres, within an ulp of a quantum.
    pub height_m: f64,
    /// The unit normal of the drawn triangle, up.
    pub normal: DVec3,
}

impl Receipt {
    /// The drawn surface at a point.
    ///
    /// # Errors
    /// A digest that is not the expected one, a view key that is missing or unknown, a position that is none, or a place
    /// that was not drawn.
    pub fn ask(&self, question: &Question) -> Result<DrawnAnswer, ReceiptError> {
        if let Some(expected) = question.expected_digest.filter(|d| *d != self.digest) {
            return Err(ReceiptError::UnexpectedDigest { expected, found: self.digest });
        }
        let view = match question.view {
            Some(key) => {
                let n = self.views.binary_search_by_key(&key, |v| v.key);
                &self.views[n.map_err(|_| ReceiptError::UnknownView(key))?]
            }
            None => match &self.views[..] {
                [] => return Err(ReceiptError::Undrawn),
                [only] => only,
                several => return Err(ReceiptError::MissingView(several.len())),
            },
        };
        let world = LatticePos::from_metres(question.x, question.z).map_err(ReceiptError::Position)?;
        let (s, p) = (self.config.spacing_lattice(), self.config.placement);
        let at = [world.x - i64::from(p.x) * s, world.z - i64::from(p.z) * s];
        let e = self.config.extent;
        let inside = |at: i64, from: i32, to: i32| at >= i64::from(from) * s && at <= i64::from(to) * s;
        if !inside(at[0], e.x0, e.x1) || !inside(at[1], e.z0, e.z1) {
            return Ok(DrawnAnswer::Outside);
        }
        let levels = self.ranges.bands().len();
        let drawn_by = |cell: [i64; 2]| {
            // In half cells; a cell lies wholly in one quarter, but for level 0, where all four are of one node.
            view.covering(cell.map(|c| 2 * c), levels)
        };
        let cells = self.touched(at, s);
        if let Some(n) = cells.iter().filter(|c| self.shows(**c, at, s)).find_map(|c| drawn_by(*c)) {
            return Ok(DrawnAnswer::Visible(self.point(view, n, at)));
        }
        // What is drawn there shows nothing, or nothing is drawn.
        let hole = cells.iter().any(|c| drawn_by(*c).is_some());
        if hole { Ok(DrawnAnswer::Hole) } else { Err(ReceiptError::Undrawn) }
    }

    /// The cells of the extent whose closed squares hold a place: its owner, then the others by z and x. The far edges belong
    /// to the last cells.
    fn touched(&self, at: [i64; 2], s: i64) -> ArrayVec<[i64; 2], 4> {
        let e = self.config.extent;
        let along = |at: i64, from: i32, to: i32| {
            let own = at.div_euclid(s).min(i64::from(to) - 1);
            let before = (at == own * s && own > i64::from(from)).then_some(own - 1);
            (own, before)
        };
        let ((x, west), (z, north)) = (along(at[0], e.x0, e.x1), along(at[1], e.z0, e.z1));
        let mut cells = ArrayVec::new();
        cells.push([x, z]);
        if let (Some(x), Some(z)) = (west, north) {
            cells.push([x, z]);
        }
        cells.extend(north.map(|z| [x, z]));
        cells.extend(west.map(|x| [x, z]));
        cells
    }

    /// Whether some visible triangle of a cell of level 0 touches a place in its closed square.
    fn shows(&self, cell: [i64; 2], at: [i64; 2], s: i64) -> bool {
        let f = [at[0] - cell[0] * s, at[1] - cell[1] * s];
        let cell = CellPos::new(cell[0] as i32, cell[1] as i32);
        let (mask, anti) = (self.mask(cell), self.config.diagonal.is_anti(cell));
        Triangle::BOTH.iter().any(|t| mask & t.bit() != 0 && t.touches(anti, f[0], f[1], s))
    }

    /// The drawn triangle of a node at a place that it draws.
    fn point(&self, view: &DrawnView, n: usize, at: [i64; 2]) -> DrawnPoint {
        let frame = frame_of(&self.config);
        let node = self.node(&frame, view, n);
        // Vertices stand on whole lattice places.
        let unit = self.config.spacing_lattice() / i64::from(FINE);
        let side = self.config.spacing_lattice() << node.level;
        // At the far edges of node and extent the last cell that has an area.
        let e = self.config.extent;
        let last = [e.x1, e.z1].map(|to| i64::from(to) * self.config.spacing_lattice() - 1);
        let own = [0, 1].map(|i| {
            let grid = at[i].min(last[i]).div_euclid(side) - i64::from(node.at[i] * NODE_CELLS);
            grid.clamp(0, i64::from(NODE_CELLS) - 1) as u32
        });
        // A vertex comes from its own place or up to a cell further on, so the triangle is of this cell or of the next.
        for i in 0..4 {
            let [cx, cz] = [own[0] + (i & 1), own[1] + (i >> 1)];
            if cx.max(cz) >= NODE_CELLS {
                continue;
            }
            let cell =
                CellPos::new((node.at[0] * NODE_CELLS + cx) as i32, (node.at[1] * NODE_CELLS + cz) as i32);
            let anti = is_anti(self.config.diagonal, node.level, cell);
            for t in Triangle::BOTH {
                let vertices = t.corners(anti).map(|(dx, dz)| node.vertex(cx + dx as u32, cz + dz as u32));
                if let Some(height) = height_on(vertices, at, unit) {
                    let triangle = ([cx as u8, cz as u8], t);
                    return self.answer(view.nodes[n], triangle, vertices, height);
                }
            }
        }
        unreachable!(
            "a node's triangles cover what it draws: morphing keeps its outline and the order of its vertices"
        )
    }

    fn answer(
        &self,
        node: Node,
        triangle: ([u8; 2], Triangle),
        vertices: [Vertex; 3],
        [numerator, denominator]: [i128; 2],
    ) -> DrawnPoint {
        let whole = numerator.div_euclid(denominator);
        let rest = numerator.rem_euclid(denominator) as f64 / denominator as f64;
        let lift = i128::from(self.config.placement.y) << FINE_LOG2;
        let fine_m = self.config.quantum.metres() / f64::from(FINE);
        let metres = |v: Vertex| {
            let step = self.config.spacing_m() / f64::from(FINE);
            DVec3::new(f64::from(v.x) * step, f64::from(v.height) * fine_m, f64::from(v.z) * step)
        };
        let [a, b, c] = vertices.map(metres);
        let normal = (b - a).cross(c - a).normalize();
        DrawnPoint {
            node,
            triangle,
            vertices,
            height: [numerator, denominator],
            height_m: ((whole + lift) as f64 + rest) * fine_m,
            normal: if normal.y < 0.0 { -normal } else { normal },
        }
    }
}

/// The height of a triangle at a place in lattice units, `unit` of them to 2⁻⁷ samples; `None` where the place is not on
/// it, or it has no area.
fn height_on(vertices: [Vertex; 3], at: [i64; 2], unit: i64) -> Option<[i128; 2]> {
    let corners =
        vertices.map(|v| [i64::from(v.x) * unit - at[0], i64::from(v.z) * unit - at[1]].map(i128::from));
    let cross = |a: [i128; 2], b: [i128; 2]| a[0] * b[1] - a[1] * b[0];
    let weights = [1, 2, 0].map(|i: usize| cross(corners[i], corners[(i + 1) % 3]));
    let area: i128 = weights.iter().sum();
    let sign = area.signum();
    if sign == 0 || weights.iter().any(|w| w * sign < 0) {
        return None;
    }
    let sum: i128 = weights.iter().zip(vertices).map(|(w, v)| w * i128::from(v.height)).sum();
    Some([sum * sign, area * sign])
}
