//! Rays against the resident ground: the first triangle that a segment meets, from above or below.
//!
//! Both ends are rounded to the 2⁻¹⁶ m lattice and which triangles are hit is decided in exact integers, so that no ray
//! slips between two triangles. Only the walk over blocks and cells uses floats, padded so that it can only look at too
//! many cells. Never answers Miss across ground that is not resident.

use crate::coord::{CellPos, CellRect, LatticeError, LatticePos, lattice_round};
use crate::state::AnswerState;
use crate::surface::{Ground, Slot, Tile, Triangle};
use glam::DVec3;
use std::ops::ControlFlow;

/// Cell units by which the walk looks beyond the ray.
const PAD: f64 = 1e-6;

/// Lattice units a metre, as a float.
const UNITS: f64 = crate::coord::LATTICE_PER_M as f64;

/// Why a ray is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RayError {
    /// An end is no query position.
    #[error("a ray's end cannot be used: {0}")]
    Position(#[from] LatticeError),
    /// The direction has no length.
    #[error("a ray needs a direction other than zero")]
    Direction,
    /// The length is negative or not a number.
    #[error("a ray's length must be a number from 0 up")]
    Length,
}

/// Where a ray meets the ground.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RayHit {
    /// Metres from the start.
    pub t: f64,
    /// The point hit.
    pub point: DVec3,
    /// The unit face normal, up, whichever side was hit.
    pub normal: DVec3,
    /// Whether the upper side was hit.
    pub front: bool,
    /// The cell hit.
    pub cell: CellPos,
    /// Which of the cell's triangles.
    pub triangle: Triangle,
}

/// What a ray finds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RayAnswer {
    /// The first triangle on the way.
    Hit(RayHit),
    /// Nothing, and all ground on the way is resident.
    Miss,
    /// Ground on the way is not resident, and nothing was hit before it.
    Pending,
    /// Ground on the way cannot be had, and nothing was hit before it.
    Failed,
}

/// The segment in lattice units.
struct Segment {
    start: [i64; 3],
    dir: [i64; 3],
    /// Start and end over the ground, in cells.
    from: [f64; 2],
    to: [f64; 2],
}

#[derive(Clone, Copy)]
struct Found {
    t: f64,
    cell: CellPos,
    triangle: Triangle,
    front: bool,
}

impl Ground {
    /// The first triangle that the segment from `start` along `dir` (any length but zero) over `max` metres meets.
    ///
    /// # Errors
    /// Directions of no length, lengths that are negative or NaN, and ends that are no lattice positions.
    pub fn cast_ray(&self, start: DVec3, dir: DVec3, max: f64) -> Result<RayAnswer, RayError> {
        if !dir.is_finite() {
            return Err(RayError::Position(LatticeError::NotFinite));
        }
        // Scaled first: squares of very long or very short directions would leave the range of f64.
        let scaled = dir / dir.abs().max_element();
        if !scaled.is_finite() {
            return Err(RayError::Direction);
        }
        if max.is_nan() || max < 0.0 {
            return Err(RayError::Length);
        }
        let end = start + scaled.normalize() * max;
        self.cast_segment(start, end)
    }

    fn cast_segment(&self, start: DVec3, end: DVec3) -> Result<RayAnswer, RayError> {
        let round = |p: DVec3| -> Result<[i64; 3], LatticeError> {
            Ok([lattice_round(p.x)?, lattice_round(p.y)?, lattice_round(p.z)?])
        };
        let (a, b) = (round(start)?, round(end)?);
        let dir = std::array::from_fn(|i| b[i] - a[i]);
        if dir[0] == 0 && dir[2] == 0 {
            return Ok(self.cast_vertical(a, b));
        }
        let s = self.config().spacing_lattice() as f64;
        let cells = |p: [i64; 3]| [p[0] as f64 / s, p[2] as f64 / s];
        let segment = Segment { start: a, dir, from: cells(a), to: cells(b) };
        Ok(self.walk(&segment))
    }

    /// A vertical ray is a point query.
    fn cast_vertical(&self, a: [i64; 3], b: [i64; 3]) -> RayAnswer {
        let answer = self.point_at(LatticePos { x: a[0], z: a[2] });
        let Some(g) = answer.ground else {
            return match answer.state {
                AnswerState::Pending => RayAnswer::Pending,
                AnswerState::Failed => RayAnswer::Failed,
                _ => RayAnswer::Miss,
            };
        };
        let (y0, y1) = (a[1] as f64 / UNITS, b[1] as f64 / UNITS);
        if g.height < y0.min(y1) || g.height > y0.max(y1) {
            return RayAnswer::Miss;
        }
        RayAnswer::Hit(RayHit {
            t: (y0 - g.height).abs(),
            point: DVec3::new(a[0] as f64 / UNITS, g.height, a[2] as f64 / UNITS),
            normal: g.normal,
            front: y1 <= y0,
            cell: g.cell,
            triangle: g.triangle,
        })
    }

    fn walk(&self, ray: &Segment) -> RayAnswer {
        let e = self.config().extent;
        let side = self.side();
        let n = f64::from(side.samples());
        let first = side.block_of_cell(CellPos::new(e.x0, e.z0));
        let last = side.block_of_cell(CellPos::new(e.x1 - 1, e.z1 - 1));
        let blocks = CellRect { x0: first.x, z0: first.z, x1: last.x + 1, z1: last.z + 1 };
        let mut best: Option<Found> = None;
        let mut unseen: Option<RayAnswer> = None;
        let scale = |p: [f64; 2]| p.map(|v| v / n);
        lanes(scale(ray.from), scale(ray.to), blocks, |block| {
            let pos = crate::coord::BlockPos::new(block.x, block.z);
            let s = side.first_sample(pos);
            let rect = CellRect {
                x0: s.x.max(e.x0),
                z0: s.z.max(e.z0),
                x1: (s.x + side.samples()).min(e.x1),
                z1: (s.z + side.samples()).min(e.z1),
            };
            let Some((enter, leave)) = ray.inside(rect) else { return ControlFlow::Continue(()) };
            if best.is_some_and(|b| enter > b.t) {
                return ControlFlow::Break(());
            }
            match self.slot(pos) {
                Slot::Absent | Slot::Failed if best.is_some() => {}
                Slot::Absent => unseen = Some(RayAnswer::Pending),
                Slot::Failed => unseen = Some(RayAnswer::Failed),
                Slot::Resident(tile) => self.in_tile(ray, tile, rect, (enter, leave), &mut best),
            }
            if unseen.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        match (best, unseen) {
            (Some(found), _) => RayAnswer::Hit(self.hit(ray, found)),
            (None, Some(answer)) => answer,
            (None, None) => RayAnswer::Miss,
        }
    }

    fn in_tile(
        &self,
        ray: &Segment,
        tile: &Tile,
        rect: CellRect,
        span: (f64, f64),
        best: &mut Option<Found>,
    ) {
        let Some((lo, hi)) = tile.min_max() else { return };
        let unit = (crate::coord::LATTICE_PER_M >> self.config().quantum.get()) as f64;
        let y = |t: f64| ray.start[1] as f64 + ray.dir[1] as f64 * t;
        let (y0, y1) = (y(span.0), y(span.1));
        if out_of_reach([lo, hi, lo, hi], unit, y0, y1) {
            return;
        }
        let at = |t: f64| [0, 1].map(|i| ray.from[i] + (ray.to[i] - ray.from[i]) * t);
        lanes(at(span.0), at(span.1), rect, |cell| {
            let Some((enter, leave)) = ray.inside(cell_rect(cell)) else { return ControlFlow::Continue(()) };
            if best.is_some_and(|b| enter > b.t) {
                return ControlFlow::Break(());
            }
            let mask = tile.cell_mask(cell);
            if mask == 0 || out_of_reach(tile.corners(cell), unit, y(enter), y(leave)) {
                return ControlFlow::Continue(());
            }
            for triangle in Triangle::BOTH {
                if mask & triangle.bit() == 0 {
                    continue;
                }
                let Some((t, front)) = self.meet(ray, tile, cell, triangle) else { continue };
                let found = Found { t, cell, triangle, front };
                if best.is_none_or(|b| {
                    comes_before(t, b.t) || (!comes_before(b.t, t) && self.prefers(ray, tile, found, b))
                }) {
                    *best = Some(found);
                }
            }
            ControlFlow::Continue(())
        });
    }

    /// Among triangles that share a hit the point rule decides: the owner by floor, else (z, x, triangle) order.
    fn prefers(&self, ray: &Segment, tile: &Tile, a: Found, b: Found) -> bool {
        let s = self.config().spacing_lattice();
        let [cells_x, cells_z] = self.config().cells();
        let at = |i: usize| (ray.start[i] as f64 + ray.dir[i] as f64 * a.t + 0.5).floor() as i64;
        let (x, z) = (at(0), at(2));
        let cell = CellPos::new(
            (x.div_euclid(s) as i32).min(cells_x - 1),
            (z.div_euclid(s) as i32).min(cells_z - 1),
        );
        let (fx, fz) = (x - i64::from(cell.x) * s, z - i64::from(cell.z) * s);
        let owner = Triangle::owner(tile.is_anti(cell), fx, fz, s);
        let key = |f: Found| ((f.cell, f.triangle) != (cell, owner), f.cell.z, f.cell.x, f.triangle);
        key(a) < key(b)
    }

    /// Where the segment meets the closed triangle, as a part of its length, and whether from above.
    fn meet(&self, ray: &Segment, tile: &Tile, cell: CellPos, triangle: Triangle) -> Option<(f64, bool)> {
        let s = self.config().spacing_lattice();
        let unit = crate::coord::LATTICE_PER_M >> self.config().quantum.get();
        let v = triangle.corners(tile.is_anti(cell)).map(|(dx, dz)| {
            let c = cell.corner(dx, dz);
            let p = [i64::from(c.x) * s, i64::from(tile.quanta(c)) * unit, i64::from(c.z) * s];
            // Relative to the start: every coordinate stays below 2⁴¹, every triple product below 2¹²⁶.
            std::array::from_fn::<i128, 3, _>(|i| i128::from(p[i] - ray.start[i]))
        });
        let d = ray.dir.map(i128::from);
        let sides = [0, 1, 2].map(|i| dot(d, cross(v[i], v[(i + 1) % 3])).signum());
        if sides.contains(&1) && sides.contains(&-1) {
            return None;
        }
        let n = cross(sub(v[1], v[0]), sub(v[2], v[0]));
        let (num, den) = (dot(n, v[0]), dot(n, d));
        if den == 0 {
            return if num == 0 { in_plane(v, d).map(|t| (t, true)) } else { None };
        }
        // The normal points up, so a ray that goes against it comes from above.
        let (num, den, front) = if den < 0 { (-num, -den, true) } else { (num, den, false) };
        (num >= 0 && num <= den).then(|| (num as f64 / den as f64, front))
    }

    fn hit(&self, ray: &Segment, found: Found) -> RayHit {
        let config = self.config();
        let d = ray.dir.map(|v| v as f64 / UNITS);
        let at = |i: usize| ray.start[i] as f64 / UNITS + d[i] * found.t;
        // The tile is resident: the hit came from it.
        let tile = self.tile(self.side().block_of_cell(found.cell)).expect("a hit lies on a resident tile");
        let (anti, q) = (tile.is_anti(found.cell), tile.corners(found.cell));
        let (gx, gz) = found.triangle.gradient(anti, q);
        let slope = config.quantum.metres() / config.spacing_m();
        let normal = DVec3::new(-(gx as f64) * slope, 1.0, -(gz as f64) * slope).normalize();
        RayHit {
            t: found.t * DVec3::from(d).length(),
            point: DVec3::new(at(0), at(1), at(2)),
            normal,
            front: found.front,
            cell: found.cell,
            triangle: found.triangle,
        }
    }
}

/// Whether one hit is clearly before another, beyond the rounding of its quotient.
fn comes_before(a: f64, b: f64) -> bool {
    b - a > 4.0 * f64::EPSILON * b
}

/// Whether the ray passes over or under all corners (voids count as far below everything). One unit of slack, since
/// the ends of the span are rounded.
fn out_of_reach(corners: [i32; 4], unit: f64, y0: f64, y1: f64) -> bool {
    let lo = corners.iter().copied().fold(i32::MAX, i32::min);
    let hi = corners.iter().copied().fold(i32::MIN, i32::max);
    y0.max(y1) + 1.0 < f64::from(lo) * unit || y0.min(y1) - 1.0 > f64::from(hi) * unit
}

fn cell_rect(c: CellPos) -> CellRect {
    CellRect { x0: c.x, z0: c.z, x1: c.x + 1, z1: c.z + 1 }
}

impl Segment {
    /// The part of the segment over a rectangle of cells, padded.
    fn inside(&self, rect: CellRect) -> Option<(f64, f64)> {
        let (mut enter, mut leave) = (0.0f64, 1.0f64);
        let ranges = [(rect.x0, rect.x1), (rect.z0, rect.z1)];
        for (i, (lo, hi)) in ranges.into_iter().enumerate() {
            let (lo, hi) = (f64::from(lo) - PAD, f64::from(hi) + PAD);
            let (a, d) = (self.from[i], self.to[i] - self.from[i]);
            if d == 0.0 {
                if a < lo || a > hi {
                    return None;
                }
                continue;
            }
            let (t0, t1) = ((lo - a) / d, (hi - a) / d);
            enter = enter.max(t0.min(t1));
            leave = leave.min(t0.max(t1));
        }
        (enter <= leave).then_some((enter, leave))
    }
}

/// Visits the unit squares of `rect` that the segment from `a` to `b` (in squares) touches, padded, near ones first:
/// column by column along its longer axis.
fn lanes(a: [f64; 2], b: [f64; 2], rect: CellRect, mut f: impl FnMut(CellPos) -> ControlFlow<()>) {
    let d = [b[0] - a[0], b[1] - a[1]];
    let m = usize::from(d[1].abs() > d[0].abs());
    let bounds = [(rect.x0, rect.x1), (rect.z0, rect.z1)];
    let squares = |lo: f64, hi: f64, (min, max): (i32, i32)| {
        // `as` saturates; the bounds are i32 already.
        (((lo - PAD).floor() as i32).max(min), ((hi + PAD).floor() as i32).min(max - 1))
    };
    let (first, last) = squares(a[m].min(b[m]), a[m].max(b[m]), bounds[m]);
    let along = |i: i32| if d[m] >= 0.0 { first + i } else { last - i };
    for i in 0..=last.saturating_sub(first) {
        let column = along(i);
        let (mut u0, mut u1) = (a[1 - m], b[1 - m]);
        if d[m] != 0.0 {
            let at = |edge: f64| a[1 - m] + d[1 - m] * ((edge - a[m]) / d[m]).clamp(0.0, 1.0);
            (u0, u1) = (at(f64::from(column) - PAD), at(f64::from(column + 1) + PAD));
        }
        let (lo, hi) = squares(u0.min(u1), u0.max(u1), bounds[1 - m]);
        for j in 0..=hi.saturating_sub(lo) {
            if hi < lo {
                break;
            }
            let row = if d[1 - m] >= 0.0 { lo + j } else { hi - j };
            let square = if m == 0 { CellPos::new(column, row) } else { CellPos::new(row, column) };
            if f(square).is_break() {
                return;
            }
        }
    }
}

/// Where a segment from the origin along `d`, in the plane of a triangle, enters it.
fn in_plane(v: [[i128; 3]; 3], d: [i128; 3]) -> Option<f64> {
    let (mut enter, mut leave) = (0.0f64, 1.0f64);
    for i in 0..3 {
        let (a, b) = (v[i], v[(i + 1) % 3]);
        // Seen from above the triangle lies to one side of each edge; positive is inside.
        let side = |p: [i128; 3]| (b[2] - a[2]) * (p[0] - a[0]) - (b[0] - a[0]) * (p[2] - a[2]);
        let inner = side(v[(i + 2) % 3]).signum();
        let (s0, s1) = (side([0; 3]) * inner, side(d) * inner);
        match (s0 < 0, s1 < 0) {
            (true, true) => return None,
            (false, false) => {}
            (out, _) => {
                let t = s0 as f64 / (s0 - s1) as f64;
                if out { enter = enter.max(t) } else { leave = leave.min(t) }
            }
        }
    }
    (enter <= leave).then_some(enter)
}

fn sub(a: [i128; 3], b: [i128; 3]) -> [i128; 3] {
    std::array::from_fn(|i| a[i] - b[i])
}

fn cross(a: [i128; 3], b: [i128; 3]) -> [i128; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn dot(a: [i128; 3], b: [i128; 3]) -> i128 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}
