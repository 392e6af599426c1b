//! Many point queries at once.
//!
//! A batch gives what single queries give, in their order, and nothing else: neither the order of the points nor the
//! number of threads changes a bit.

use super::{Answer, Ground, Spot};
use crate::coord::{LatticeError, LatticePos};
use rayon::prelude::*;
use std::hint::black_box;

/// Points that are read ahead for before the first of them is answered, so that their reads from memory overlap.
const AHEAD: usize = 16;

/// Points that one thread takes at a time.
const SHARE: usize = 1024;

impl Ground {
    /// Asks `f` about the ground under each of the points (x, z in world metres), in order. Allocates nothing.
    ///
    /// # Panics
    /// When `out` is not as long as `points`.
    pub fn map_points<T>(
        &self,
        points: &[[f64; 2]],
        out: &mut [T],
        f: impl Fn(Result<Answer<Spot<'_>>, LatticeError>) -> T,
    ) {
        assert_eq!(points.len(), out.len(), "an answer for every point");
        for (points, out) in points.chunks(AHEAD).zip(out.chunks_mut(AHEAD)) {
            let mut places = [Err(LatticeError::NotFinite); AHEAD];
            let mut read = 0;
            for (&[x, z], place) in points.iter().zip(&mut places) {
                *place = LatticePos::from_metres(x, z).map(|p| self.frame().local(p));
                read ^= place.map_or(0, |p| self.touch(p));
            }
            black_box(read);
            for (out, place) in out.iter_mut().zip(places) {
                *out = f(place.map(|p| self.find(p)));
            }
        }
    }

    /// The same on the threads of the current rayon pool.
    ///
    /// # Panics
    /// When `out` is not as long as `points`.
    pub fn par_map_points<T: Send>(
        &self,
        points: &[[f64; 2]],
        out: &mut [T],
        f: impl Fn(Result<Answer<Spot<'_>>, LatticeError>) -> T + Sync,
    ) {
        assert_eq!(points.len(), out.len(), "an answer for every point");
        points
            .par_chunks(SHARE)
            .zip(out.par_chunks_mut(SHARE))
            .for_each(|(points, out)| self.map_points(points, out, &f));
    }

    /// The heights under points, as [`Ground::height`] gives each.
    ///
    /// # Panics
    /// When `out` is not as long as `points`.
    pub fn heights(&self, points: &[[f64; 2]], out: &mut [Result<Answer<f64>, LatticeError>]) {
        self.map_points(points, out, |found| found.map(|answer| answer.map(|spot| spot.height())));
    }

    /// The same on the threads of the current rayon pool.
    ///
    /// # Panics
    /// When `out` is not as long as `points`.
    pub fn par_heights(&self, points: &[[f64; 2]], out: &mut [Result<Answer<f64>, LatticeError>]) {
        self.par_map_points(points, out, |found| found.map(|answer| answer.map(|spot| spot.height())));
    }
}
