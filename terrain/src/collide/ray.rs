//! Rays against the resident ground: what a segment meets, from above or below.
//!
//! Both ends are rounded to the 2⁻¹⁶ m lattice and which triangles are hit is decided in exact integers, so that no ray
//! slips between two triangles. Never answers Miss across ground that is not resident.
//!
//! - A ray of no length is the point at its start: it hits where that point lies on a triangle.
//! - A start on the surface hits at 0. A ray in a triangle's plane hits where it enters the triangle, its upper side.
//! - Between triangles that share the hit the point rule decides: the owner of the point, else (z, x, triangle) order;
//!   among the sides that were asked for.
//! - A vertical ray hits what a height query finds, at that height.
//! - Ground outside the valid extent is not on the way. A block is on the way when the segment touches its closed square,
//!   however high it passes.

use super::ray_exact::{Candidate, Exact};
use super::ray_walk::{Line, PAD, Sink, Unseen};
use crate::coord::{BlockPos, CellPos, LATTICE_PER_M, LatticeError, LatticePos, lattice_round};
use crate::surface::{Answer, Frame, Ground, Spot, Triangle};
use glam::DVec3;
use rayon::prelude::*;
use std::cmp::Ordering;
use std::hint::black_box;
use std::ops::ControlFlow;

/// Lattice units a metre, as a float.
const UNITS: f64 = LATTICE_PER_M as f64;

/// Rays of a batch that are looked at together: what the vertical ones need is read before the first of them is answered,
/// so that reads from memory overlap.
const AHEAD: usize = 16;

/// Rays that one thread takes at a time.
const SHARE: usize = 256;

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
    /// The point hit, in world metres.
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

/// Whether anything is in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// A triangle is, whatever else may be found where ground is not resident.
    Blocked,
    /// Nothing is, and all ground on the way is resident.
    Clear,
    /// Nothing that is resident is, but ground on the way is not resident.
    Pending,
    /// The same, but ground on the way cannot be had (and none is pending).
    Failed,
}

/// Which sides of triangles count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Faces {
    /// Both.
    #[default]
    Both,
    /// The upper ones only.
    Front,
    /// The lower ones only.
    Back,
}

impl Faces {
    #[inline(always)]
    pub(super) fn take(self, front: bool) -> bool {
        match self {
            Faces::Both => true,
            Faces::Front => front,
            Faces::Back => !front,
        }
    }
}

/// A segment between two points of the world lattice, ready to be cast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroundRay {
    start: [i64; 3],
    dir: [i64; 3],
}

impl GroundRay {
    /// From `start` along `dir` (any length but zero) over `max` metres. Both ends are rounded to the lattice: the far
    /// one is `start` + unit direction · `max`, added exactly.
    ///
    /// # Errors
    /// Directions of no length, lengths that are negative or NaN, and ends that are no lattice positions.
    pub fn new(start: DVec3, dir: DVec3, max: f64) -> Result<Self, RayError> {
        if !dir.is_finite() {
            return Err(RayError::Position(LatticeError::NotFinite));
        }
        if max.is_nan() || max < 0.0 {
            return Err(RayError::Length);
        }
        let square = dir.length_squared();
        let way = if (1e-200..1e200).contains(&square) {
            dir * (max / square.sqrt())
        } else {
            // Squares of very long or very short directions leave the range of f64.
            let scaled = dir / dir.abs().max_element();
            if !scaled.is_finite() {
                return Err(RayError::Direction);
            }
            scaled.normalize() * max
        };
        let mut ray = Self { start: [0; 3], dir: [0; 3] };
        for (i, (from, by)) in start.to_array().into_iter().zip(way.to_array()).enumerate() {
            ray.start[i] = lattice_round(from)?;
            ray.dir[i] = sum_round(from, by)? - ray.start[i];
        }
        Ok(ray)
    }

    /// From one point to another, both rounded to the lattice.
    ///
    /// # Errors
    /// Ends that are no lattice positions.
    pub fn between(start: DVec3, end: DVec3) -> Result<Self, RayError> {
        let round = |p: DVec3| -> Result<[i64; 3], LatticeError> {
            Ok([lattice_round(p.x)?, lattice_round(p.y)?, lattice_round(p.z)?])
        };
        let (start, end) = (round(start)?, round(end)?);
        Ok(Self { start, dir: std::array::from_fn(|i| end[i] - start[i]) })
    }

    /// Metres from end to end.
    pub fn length(&self) -> f64 {
        DVec3::from(self.dir.map(|v| v as f64 / UNITS)).length()
    }

    fn is_vertical(&self) -> bool {
        self.dir[0] == 0 && self.dir[2] == 0
    }

    /// Where a vertical ray is, in the terrain's own lattice units.
    fn local(&self, frame: &Frame) -> LatticePos {
        frame.local(LatticePos { x: self.start[0], z: self.start[2] })
    }

    fn exact(&self, ground: &Ground) -> Exact {
        let frame = ground.frame();
        Exact {
            start: std::array::from_fn(|i| self.start[i] - frame.origin[i]),
            dir: self.dir,
            s: frame.s,
            unit: frame.unit,
            last: frame.last,
        }
    }
}

/// The lattice point nearest to a sum of metres (half up), the sum not rounded before: so that a ray from a place that was
/// moved by whole lattice units is the same ray, moved.
fn sum_round(a: f64, b: f64) -> Result<i64, LatticeError> {
    let (near, far) = (lattice_round(a)?, lattice_round(b)?);
    // What rounding took away is exact, and at most half a unit each.
    let rest = (a * UNITS - near as f64) + (b * UNITS - far as f64);
    let sum = near + far + i64::from(rest >= 0.5) - i64::from(rest < -0.5);
    if sum.abs() > crate::coord::LATTICE_LIMIT { Err(LatticeError::TooFar) } else { Ok(sum) }
}

/// How far apart a hit and the border of a missing block must be to be told apart.
const BORDER: f64 = 2.0 * PAD;

/// Keeps the nearest hit behind another one.
struct First {
    after: Option<Candidate>,
    best: Option<Candidate>,
    unseen: Option<Unseen>,
}

impl First {
    fn behind(after: Option<Candidate>) -> Self {
        Self { after, best: None, unseen: None }
    }

    /// The nearest hit, or what is missing before it. A hit on the very border of what is missing counts.
    fn answer(self) -> Result<Option<Candidate>, Unseen> {
        match (self.best, self.unseen) {
            (Some(best), Some(unseen)) if unseen.t + BORDER < best.t => Err(unseen),
            (None, Some(unseen)) => Err(unseen),
            (best, _) => Ok(best),
        }
    }
}

impl Sink for First {
    #[inline(always)]
    fn limit(&self) -> f64 {
        let hit = self.best.as_ref().map_or(f64::INFINITY, |b| b.t);
        self.unseen.map_or(hit, |u| u.t.min(hit)) + BORDER
    }

    #[inline(always)]
    fn offer(&mut self, found: Candidate) -> bool {
        let behind = self.after.as_ref().is_none_or(|a| found.nearer(a) == Ordering::Greater);
        if behind && self.best.as_ref().is_none_or(|b| found.order(b) == Ordering::Less) {
            self.best = Some(found);
        }
        false
    }

    fn unseen(&mut self, unseen: Unseen) {
        if self.unseen.is_none_or(|u| unseen.t < u.t) {
            self.unseen = Some(unseen);
        }
    }
}

/// Stops at anything.
struct Any {
    blocked: bool,
    unseen: Option<Unseen>,
}

impl Sink for Any {
    fn limit(&self) -> f64 {
        f64::INFINITY
    }

    fn offer(&mut self, _found: Candidate) -> bool {
        self.blocked = true;
        true
    }

    fn unseen(&mut self, unseen: Unseen) {
        if self.unseen.is_none_or(|u| u.failed && !unseen.failed) {
            self.unseen = Some(unseen);
        }
    }
}

impl Ground {
    /// The first triangle that the segment from `start` along `dir` (any length but zero) over `max` metres meets, from
    /// either side.
    ///
    /// # Errors
    /// Directions of no length, lengths that are negative or NaN, and ends that are no lattice positions.
    pub fn cast_ray(&self, start: DVec3, dir: DVec3, max: f64) -> Result<RayAnswer, RayError> {
        Ok(self.first_hit(&GroundRay::new(start, dir, max)?, Faces::Both))
    }

    /// The first triangle that a ray meets.
    pub fn first_hit(&self, ray: &GroundRay, faces: Faces) -> RayAnswer {
        answer_of(self.first(ray, faces))
    }

    /// The block whose absence is why a ray is answered Pending, for loading it.
    pub fn first_absent(&self, ray: &GroundRay, faces: Faces) -> Option<BlockPos> {
        match self.first(ray, faces) {
            Err(unseen) if !unseen.failed => Some(unseen.pos),
            _ => None,
        }
    }

    /// The first hit, or what is missing before it.
    #[inline(always)]
    fn first(&self, ray: &GroundRay, faces: Faces) -> Result<Option<RayHit>, Unseen> {
        if ray.is_vertical() {
            return self.vertical(ray, faces, self.find(ray.local(self.frame())));
        }
        self.slanted(ray, faces)
    }

    fn slanted(&self, ray: &GroundRay, faces: Faces) -> Result<Option<RayHit>, Unseen> {
        let mut sink = First::behind(None);
        Line::new(ray.exact(self), faces).walk(self, 0.0, &mut sink);
        Ok(sink.answer()?.map(|found| self.hit(ray, &found)))
    }

    /// Whether a ray meets any triangle. Blocked whenever one that is resident is met, also beyond ground that is not.
    pub fn sight(&self, ray: &GroundRay, faces: Faces) -> Sight {
        let mut sink = Any { blocked: false, unseen: None };
        if ray.is_vertical() {
            match self.first(ray, faces) {
                Ok(hit) => sink.blocked = hit.is_some(),
                Err(unseen) => sink.unseen = Some(unseen),
            }
        } else {
            Line::new(ray.exact(self), faces).walk(self, 0.0, &mut sink);
        }
        sight(sink.blocked, sink.unseen)
    }

    /// Gives every hit of a ray to `f`, near ones first, once for each point, until `f` breaks or ground is missing. Says
    /// what ended it: Clear when everything on the way was seen, Blocked when `f` broke, Pending or Failed at ground
    /// that is not there.
    pub fn all_hits(
        &self,
        ray: &GroundRay,
        faces: Faces,
        mut f: impl FnMut(RayHit) -> ControlFlow<()>,
    ) -> Sight {
        if ray.is_vertical() {
            return match self.first(ray, faces) {
                Ok(hit) => sight(hit.is_some_and(|hit| f(hit).is_break()), None),
                Err(unseen) => sight(false, Some(unseen)),
            };
        }
        let line = Line::new(ray.exact(self), faces);
        let mut last: Option<Candidate> = None;
        loop {
            // Each walk begins at the hit before: nothing has to be kept, and the order of the walk does not matter.
            let mut sink = First::behind(last);
            line.walk(self, last.map_or(0.0, |l| l.t - BORDER), &mut sink);
            match sink.answer() {
                Ok(None) => return Sight::Clear,
                Ok(Some(found)) if f(self.hit(ray, &found)).is_break() => return Sight::Blocked,
                Ok(found) => last = found,
                Err(unseen) => return sight(false, Some(unseen)),
            }
        }
    }

    /// The first hits of many rays, in their order. Allocates nothing.
    ///
    /// # Panics
    /// When `out` is not as long as `rays`.
    pub fn first_hits(&self, rays: &[GroundRay], faces: Faces, out: &mut [RayAnswer]) {
        assert_eq!(rays.len(), out.len(), "an answer for every ray");
        for (rays, out) in rays.chunks(AHEAD).zip(out.chunks_mut(AHEAD)) {
            let vertical = rays.iter().filter(|ray| ray.is_vertical());
            let read = vertical.fold(0, |sum, ray| sum ^ self.touch(ray.local(self.frame())));
            black_box(read);
            for (ray, out) in rays.iter().zip(out) {
                *out = self.first_hit(ray, faces);
            }
        }
    }

    /// The same on the threads of the current rayon pool.
    ///
    /// # Panics
    /// When `out` is not as long as `rays`.
    pub fn par_first_hits(&self, rays: &[GroundRay], faces: Faces, out: &mut [RayAnswer]) {
        assert_eq!(rays.len(), out.len(), "an answer for every ray");
        rays.par_chunks(SHARE)
            .zip(out.par_chunks_mut(SHARE))
            .for_each(|(rays, out)| self.first_hits(rays, faces, out));
    }

    /// A vertical ray is a point query; `found` is what it found.
    #[inline(always)]
    fn vertical(
        &self,
        ray: &GroundRay,
        faces: Faces,
        found: Answer<Spot<'_>>,
    ) -> Result<Option<RayHit>, Unseen> {
        let frame = self.frame();
        let [x, y, z] = ray.start;
        let failed = match found {
            Answer::Valid(spot) => {
                let front = ray.dir[1] <= 0;
                // Heights times s, in lattice units: below 2⁶⁷.
                let height = i128::from(spot.numerator()) * i128::from(frame.unit);
                let start = i128::from(y - frame.origin[1]) * i128::from(frame.s);
                let end = start + i128::from(ray.dir[1]) * i128::from(frame.s);
                if height < start.min(end) || height > start.max(end) || !faces.take(front) {
                    return Ok(None);
                }
                let height = spot.height();
                return Ok(Some(RayHit {
                    t: (y as f64 / UNITS - height).abs(),
                    point: DVec3::new(x as f64 / UNITS, height, z as f64 / UNITS),
                    normal: spot.normal(),
                    front,
                    cell: spot.cell(),
                    triangle: spot.triangle(),
                }));
            }
            Answer::Hole | Answer::Outside => return Ok(None),
            Answer::Pending => false,
            Answer::Failed => true,
        };
        let (cell, local) = (|v: i64, far: i32| frame.cell(v).min(far), ray.local(frame));
        let asked = CellPos::new(cell(local.x, frame.far[0]), cell(local.z, frame.far[1]));
        Err(Unseen { pos: self.side().block_of_cell(asked), failed, t: 0.0 })
    }

    fn hit(&self, ray: &GroundRay, found: &Candidate) -> RayHit {
        let (config, frame) = (self.config(), self.frame());
        let d = ray.dir.map(|v| v as f64 / UNITS);
        // In the terrain's own frame first, so that a placement moves the point and does nothing else.
        let mut at: [f64; 3] =
            std::array::from_fn(|i| (ray.start[i] - frame.origin[i]) as f64 / UNITS + d[i] * found.t);
        // Rounding must not take the point out of the cell.
        let s = config.spacing_m();
        for (i, c) in [(0, found.cell.x), (2, found.cell.z)] {
            at[i] = at[i].clamp(f64::from(c) * s, f64::from(c + 1) * s);
        }
        // The tile is resident: the hit came from it.
        let tile = self.tile_of(found.cell).expect("a hit lies on a resident tile");
        let (anti, q) = (tile.is_anti(found.cell), tile.own_corners(found.cell));
        let (gx, gz) = found.triangle.gradient(anti, q);
        let slope = config.quantum.metres() / s;
        RayHit {
            t: found.t * DVec3::from(d).length(),
            point: DVec3::from(at) + DVec3::from(frame.origin_m),
            normal: DVec3::new(0.0 - gx as f64 * slope, 1.0, 0.0 - gz as f64 * slope).normalize(),
            front: found.front,
            cell: found.cell,
            triangle: found.triangle,
        }
    }
}

fn answer_of(found: Result<Option<RayHit>, Unseen>) -> RayAnswer {
    match found {
        Ok(Some(hit)) => RayAnswer::Hit(hit),
        Ok(None) => RayAnswer::Miss,
        Err(unseen) if unseen.failed => RayAnswer::Failed,
        Err(_) => RayAnswer::Pending,
    }
}

fn sight(blocked: bool, unseen: Option<Unseen>) -> Sight {
    match (blocked, unseen) {
        (true, _) => Sight::Blocked,
        (false, None) => Sight::Clear,
        (false, Some(unseen)) if unseen.failed => Sight::Failed,
        (false, Some(_)) => Sight::Pending,
    }
}
