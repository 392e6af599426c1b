//! A line in the ground plane: a spline made into segments, and distances to it.

use crate::content::MAX_OVERLAY_POINTS;
use crate::coord::LATTICE_PER_M;
use serde::{Deserialize, Serialize};

/// The most points that a recipe may give a line.
const MAX_CONTROL_POINTS: usize = 4096;

/// Places beyond this are no places of a terrain.
const MAX_PLACE_M: f64 = 16_777_216.0;

/// How points are joined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Curve {
    /// A centripetal Catmull-Rom spline through all points: no cusps and no loops (Yuksel, Schaefer and Keyser,
    /// "Parameterization and applications of Catmull-Rom curves", 2011).
    #[default]
    CatmullRom,
    /// Straight lines.
    Straight,
}

/// Segments between points on the 2⁻¹⁶ m lattice.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    points: Vec<[f64; 2]>,
    /// Metres from the start to each point.
    along: Vec<f64>,
}

/// The place of a line that is nearest to somewhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Near {
    /// The square of the distance in m²; infinite beyond the reach asked for.
    pub distance2: f64,
    /// Metres along the line.
    pub along: f64,
}

impl Near {
    /// Out of reach.
    pub const FAR: Near = Near { distance2: f64::INFINITY, along: 0.0 };
}

impl Line {
    /// A line through points (x, z) in metres; a spline becomes segments of about `step_m`.
    ///
    /// # Errors
    /// Too few or too many points, points that are no places, points on top of each other.
    pub fn new(points: &[(f64, f64)], curve: Curve, step_m: f64) -> Result<Self, String> {
        if !(2..=MAX_CONTROL_POINTS).contains(&points.len()) {
            return Err(format!("a line needs 2 to {MAX_CONTROL_POINTS} points, found {}", points.len()));
        }
        if let Some((i, p)) =
            points.iter().enumerate().find(|(_, p)| !(p.0.abs() <= MAX_PLACE_M && p.1.abs() <= MAX_PLACE_M))
        {
            return Err(format!("point {i} must be within ±{MAX_PLACE_M} m, found ({}, {})", p.0, p.1));
        }
        let control: Vec<[f64; 2]> = points.iter().map(|p| [lattice(p.0), lattice(p.1)]).collect();
        if let Some(i) = control.windows(2).position(|w| w[0] == w[1]) {
            return Err(format!(
                "points {i} and {} are the same place, ({}, {})",
                i + 1,
                points[i].0,
                points[i].1
            ));
        }
        let points = match curve {
            Curve::Straight => control,
            Curve::CatmullRom => catmull_rom(&control, step_m),
        };
        Ok(Self::of_points(points))
    }

    /// A line of ready segments.
    ///
    /// # Panics
    /// Without points.
    pub fn of_points(points: Vec<[f64; 2]>) -> Self {
        assert!(!points.is_empty(), "a line has points");
        let mut along = vec![0.0];
        for w in points.windows(2) {
            along.push(along[along.len() - 1] + length(w[0], w[1]));
        }
        Self { points, along }
    }

    /// Its points in metres.
    pub fn points(&self) -> &[[f64; 2]] {
        &self.points
    }

    /// Its length in metres.
    pub fn length_m(&self) -> f64 {
        self.along[self.along.len() - 1]
    }

    /// The place so many metres along.
    pub fn place(&self, along: f64) -> [f64; 2] {
        let i = self.along.partition_point(|&a| a <= along).clamp(1, self.points.len() - 1);
        let ([ax, az], [bx, bz]) = (self.points[i - 1], self.points[i]);
        let t = ((along - self.along[i - 1]) / (self.along[i] - self.along[i - 1])).clamp(0.0, 1.0);
        [ax + (bx - ax) * t, az + (bz - az) * t]
    }

    /// Fills `row` with what is nearest to the places (`x0` + i · `step`, `z`), where that is within `reach` metres; of
    /// two as near places the one further at the line's start. Places on the 2⁻¹⁶ m lattice have exact differences to
    /// the line's points; products and the one division are IEEE doubles.
    pub fn row(&self, z: f64, x0: f64, step: f64, reach: f64, row: &mut [Near]) {
        row.fill(Near::FAR);
        for (i, w) in self.points.windows(2).enumerate() {
            let ([ax, az], [bx, bz]) = (w[0], w[1]);
            if az.min(bz) - reach > z || az.max(bz) + reach < z {
                continue;
            }
            let column = |x: f64| ((x - x0) / step).clamp(0.0, row.len() as f64);
            let first = column(ax.min(bx) - reach).floor() as usize;
            let end = ((column(ax.max(bx) + reach)).floor() as usize + 1).min(row.len());
            let (dx, dz) = (bx - ax, bz - az);
            let whole = dx * dx + dz * dz;
            for (c, near) in row.iter_mut().enumerate().take(end).skip(first) {
                let (px, pz) = (x0 + c as f64 * step - ax, z - az);
                let t = ((px * dx + pz * dz) / whole).clamp(0.0, 1.0);
                let (ex, ez) = (px - dx * t, pz - dz * t);
                let distance2 = ex * ex + ez * ez;
                if distance2 < near.distance2 && distance2 <= reach * reach {
                    *near =
                        Near { distance2, along: self.along[i] + (self.along[i + 1] - self.along[i]) * t };
                }
            }
        }
    }

    /// The line moved.
    pub fn moved(&self, dx: f64, dz: f64) -> Self {
        let points = self.points.iter().map(|p| [p[0] + dx, p[1] + dz]).collect();
        Self { points, along: self.along.clone() }
    }
}

fn length(a: [f64; 2], b: [f64; 2]) -> f64 {
    let (dx, dz) = (b[0] - a[0], b[1] - a[1]);
    (dx * dx + dz * dz).sqrt()
}

/// Rounded to the 2⁻¹⁶ m lattice, half up.
fn lattice(m: f64) -> f64 {
    let per_m = LATTICE_PER_M as f64;
    (m * per_m + 0.5).floor() / per_m
}

fn catmull_rom(control: &[[f64; 2]], step_m: f64) -> Vec<[f64; 2]> {
    let chords: f64 = control.windows(2).map(|w| length(w[0], w[1])).sum();
    // So few points that an overlay can hold them, whatever the spacing is.
    let step = step_m.max(chords / (MAX_OVERLAY_POINTS / 2) as f64);
    let mut out = vec![control[0]];
    for i in 0..control.len() - 1 {
        let (b, c) = (control[i], control[i + 1]);
        // The ends go on as they came.
        let mirror = |p: [f64; 2], q: [f64; 2]| [2.0 * p[0] - q[0], 2.0 * p[1] - q[1]];
        let a = if i == 0 { mirror(b, c) } else { control[i - 1] };
        let d = control.get(i + 2).copied().unwrap_or_else(|| mirror(c, b));
        let pieces = (length(b, c) / step).ceil().max(1.0) as u32;
        for piece in 1..=pieces {
            let p =
                if piece == pieces { c } else { between([a, b, c, d], f64::from(piece) / f64::from(pieces)) };
            let p = [lattice(p[0]), lattice(p[1])];
            if out.last() != Some(&p) {
                out.push(p);
            }
        }
    }
    out
}

/// The point at `t` from the second to the third of four (Barry and Goldman's pyramid).
fn between([a, b, c, d]: [[f64; 2]; 4], t: f64) -> [f64; 2] {
    let knot = |p, q| length(p, q).sqrt();
    let t1 = knot(a, b);
    let t2 = t1 + knot(b, c);
    let t3 = t2 + knot(c, d);
    let t = t1 + (t2 - t1) * t;
    let mix = |p: [f64; 2], q: [f64; 2], from: f64, to: f64| {
        let u = (t - from) / (to - from);
        [p[0] + (q[0] - p[0]) * u, p[1] + (q[1] - p[1]) * u]
    };
    let (ab, bc, cd) = (mix(a, b, 0.0, t1), mix(b, c, t1, t2), mix(c, d, t2, t3));
    let (abc, bcd) = (mix(ab, bc, 0.0, t2), mix(bc, cd, t1, t3));
    mix(abc, bcd, t1, t2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spline_passes_through_its_points_and_stays_straight_on_a_line() {
        let line =
            Line::new(&[(0.0, 0.0), (10.0, 5.0), (20.0, 0.0), (21.0, -9.0)], Curve::CatmullRom, 0.5).unwrap();
        for p in [[0.0, 0.0], [10.0, 5.0], [20.0, 0.0], [21.0, -9.0]] {
            assert!(line.points().contains(&p), "{p:?}");
        }
        // No step is much longer than asked for, and the turn at (10, 5) is smooth.
        assert!(line.points().windows(2).all(|w| length(w[0], w[1]) < 0.8));
        let i = line.points().iter().position(|&p| p == [10.0, 5.0]).unwrap();
        let direction = |a: [f64; 2], b: [f64; 2]| {
            let l = length(a, b);
            [(b[0] - a[0]) / l, (b[1] - a[1]) / l]
        };
        let (u, v) = (
            direction(line.points()[i - 1], line.points()[i]),
            direction(line.points()[i], line.points()[i + 1]),
        );
        assert!(u[0] * v[0] + u[1] * v[1] > 0.99);
        let straight = Line::new(&[(0.0, 1.0), (3.0, 1.0), (100.0, 1.0)], Curve::CatmullRom, 1.0).unwrap();
        assert!(straight.points().iter().all(|p| p[1] == 1.0));
        assert_eq!((straight.length_m(), straight.place(50.0)), (100.0, [50.0, 1.0]));
    }

    #[test]
    fn distances_equal_a_search_of_fine_points() {
        let line =
            Line::new(&[(3.0, 3.0), (20.0, 9.0), (6.0, 17.0), (28.0, 20.0)], Curve::CatmullRom, 1.0).unwrap();
        let fine: Vec<[f64; 2]> =
            (0..=20_000).map(|i| line.place(line.length_m() * f64::from(i) / 2e4)).collect();
        let mut row = vec![Near::FAR; 33];
        for z in 0..24 {
            line.row(f64::from(z), -1.0, 1.0, 5.0, &mut row);
            for (x, near) in row.iter().enumerate() {
                let here = [x as f64 - 1.0, f64::from(z)];
                let brute = fine.iter().map(|&p| length(p, here)).fold(f64::MAX, f64::min);
                if near.distance2.is_finite() {
                    assert!((near.distance2.sqrt() - brute).abs() < 2e-3, "({x}, {z})");
                    assert!((length(line.place(near.along), here) - brute).abs() < 2e-3, "({x}, {z})");
                } else {
                    assert!(brute > 4.99, "({x}, {z}): {brute}");
                }
            }
        }
    }

    #[test]
    fn lines_that_are_none_are_refused() {
        let new = |points: &[(f64, f64)]| Line::new(points, Curve::CatmullRom, 1.0);
        for bad in [
            &[(0.0, 0.0)][..],
            &[(0.0, 0.0), (0.0, 0.0)],
            &[(0.0, 0.0), (f64::NAN, 0.0)],
            &[(0.0, 0.0), (0.0, f64::INFINITY)],
            &[(0.0, 0.0), (1e9, 0.0)],
        ] {
            assert!(new(bad).is_err(), "{bad:?}");
        }
        assert!(new(&vec![(0.0, 1.0); 5000]).unwrap_err().contains("4096"));
        // A line across the largest terrain at the finest spacing has no more points than an overlay may have.
        let long =
            Line::new(&[(0.0, 0.0), (8e6, 1e6), (1.6e7, 0.0)], Curve::CatmullRom, 1.0 / 256.0).unwrap();
        assert!(long.points().len() <= MAX_OVERLAY_POINTS);
    }
}
