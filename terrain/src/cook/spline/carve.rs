//! What roads and rivers do to the ground under them.

use super::line::{Curve, Line, Near};
use crate::cook::field::Field;
use crate::cook::generate::{positive, within};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// The most places along a line at which its ground is looked up.
const MAX_STATIONS: f64 = 1_048_576.0;

/// A layer painted along a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paint {
    /// The layer's name.
    pub layer: String,
    /// Width of the fade outside the line's width, in metres.
    #[serde(default)]
    pub fade_m: f64,
}

/// A road: level across its width, along a smoothed profile of the ground, with shoulders that run out into it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Road {
    /// Its name.
    pub name: String,
    /// Points (x, z) in metres.
    pub points: Vec<(f64, f64)>,
    /// How they are joined.
    #[serde(default)]
    pub curve: Curve,
    /// Full width of the level part, in metres.
    pub width_m: f64,
    /// Width of the shoulder on either side, in metres.
    #[serde(default = "four")]
    pub shoulder_m: f64,
    /// Metres along the road over which its profile is smoothed.
    #[serde(default = "forty")]
    pub smooth_m: f64,
    /// The steepest rise of the profile along the road, metres a metre; it is cut down to it.
    #[serde(default)]
    pub max_grade: Option<f64>,
    /// What is painted on it.
    #[serde(default)]
    pub paint: Option<Paint>,
    /// The game's own key.
    #[serde(default)]
    pub tag: String,
}

/// A river: a bed below a level that never rises on the way, from the first point to the last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct River {
    /// Its name.
    pub name: String,
    /// Points (x, z) in metres, downhill.
    pub points: Vec<(f64, f64)>,
    /// How they are joined.
    #[serde(default)]
    pub curve: Curve,
    /// Full width of the water, in metres.
    pub width_m: f64,
    /// Width of the bank on either side, in metres.
    #[serde(default = "four")]
    pub bank_m: f64,
    /// Depth of the water in the middle, in metres.
    pub depth_m: f64,
    /// Metres from the ground that the river finds down to its level.
    #[serde(default)]
    pub below_m: f64,
    /// Metres along the river over which the ground it finds is smoothed.
    #[serde(default)]
    pub smooth_m: f64,
    /// What is painted on its bed.
    #[serde(default)]
    pub paint: Option<Paint>,
    /// The game's own key.
    #[serde(default)]
    pub tag: String,
}

const fn four() -> f64 {
    4.0
}

const fn forty() -> f64 {
    40.0
}

/// What is remembered of a carved line: an overlay, paint, and a river's water.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Strip {
    /// Its name.
    pub name: String,
    /// Points (x, z) in metres.
    pub points: Vec<[f64; 2]>,
    /// Full width in metres.
    pub width_m: f64,
    /// What is painted.
    pub paint: Option<Paint>,
    /// The game's own key.
    pub tag: String,
    /// A river's level.
    pub level: Option<Profile>,
}

impl Strip {
    /// Whether it is one that carving could have made.
    pub(crate) fn is_sound(&self) -> bool {
        let finite = |v: &f64| v.is_finite();
        let line = self.points.len() >= 2 && self.points.iter().flatten().all(finite);
        let profile = |p: &Profile| {
            p.step_m > 0.0 && p.step_m.is_finite() && p.heights_m.len() >= 2 && p.heights_m.iter().all(finite)
        };
        line && self.width_m > 0.0 && self.width_m.is_finite() && self.level.as_ref().is_none_or(profile)
    }
}

/// Heights along a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Metres between stations.
    pub step_m: f64,
    /// Metres of height at each station, the first at the line's start.
    pub heights_m: Vec<f64>,
}

impl Profile {
    /// The ground under a line; what is void is put between its neighbours.
    fn of(field: &Field, line: &Line) -> Result<Self, String> {
        let length = line.length_m();
        let count = (length / field.spacing_m()).ceil().max(1.0);
        if count > MAX_STATIONS {
            return Err(format!("it is {length} m long, more than {MAX_STATIONS} samples of the terrain"));
        }
        let step_m = length / count;
        let found: Vec<Option<f64>> = (0..=count as usize)
            .map(|i| {
                let [x, z] = line.place(i as f64 * step_m);
                field.sample(x, z)
            })
            .collect();
        let mut heights_m = Vec::with_capacity(found.len());
        let mut before: Option<(usize, f64)> = None;
        for (i, h) in found.iter().enumerate() {
            let Some(h) = *h else { continue };
            let (from, start) = before.map_or((0, h), |(j, h)| (j + 1, h));
            let gap = (i + 1 - from) as f64;
            heights_m.extend((from..=i).map(|k| start + (h - start) * ((k + 1 - from) as f64 / gap)));
            before = Some((i, h));
        }
        let Some((_, last)) = before else { return Err("it lies over samples without heights only".into()) };
        heights_m.resize(found.len(), last);
        Ok(Self { step_m, heights_m })
    }

    /// Two moving averages; the window shrinks towards the ends, which stay where they are.
    fn smooth(&mut self, over_m: f64) {
        let half = (over_m / 2.0 / self.step_m).floor() as usize;
        for _ in 0..2 {
            let mut sums = vec![0.0];
            self.heights_m.iter().for_each(|h| sums.push(sums[sums.len() - 1] + h));
            let n = self.heights_m.len();
            for (i, h) in self.heights_m.iter_mut().enumerate() {
                let reach = half.min(i).min(n - 1 - i);
                if reach > 0 {
                    *h = (sums[i + reach + 1] - sums[i - reach]) / (2 * reach + 1) as f64;
                }
            }
        }
    }

    /// Cuts down what rises faster, seen from either end.
    fn limit(&mut self, grade: f64) {
        let rise = grade * self.step_m;
        for i in 1..self.heights_m.len() {
            self.heights_m[i] = self.heights_m[i].min(self.heights_m[i - 1] + rise);
        }
        for i in (1..self.heights_m.len()).rev() {
            self.heights_m[i - 1] = self.heights_m[i - 1].min(self.heights_m[i] + rise);
        }
    }

    /// The height so many metres along.
    pub fn at(&self, along: f64) -> f64 {
        let n = self.heights_m.len();
        let t = (along / self.step_m).clamp(0.0, (n - 1) as f64);
        let i = (t.floor() as usize).min(n.saturating_sub(2));
        let (a, b) = (self.heights_m[i], self.heights_m[(i + 1).min(n - 1)]);
        a + (b - a) * (t - i as f64)
    }
}

/// From 0 to 1 with level ends.
fn smooth(t: f64) -> f64 {
    t * t * (3.0 - 2.0 * t)
}

/// Gives every sample within `reach` of a line a new height from (its height, distance, metres along).
fn carve(field: &mut Field, line: &Line, reach: f64, shape: impl Fn(f64, f64, f64) -> f64 + Sync) {
    let (width, s) = (field.width(), field.spacing_m());
    field.metres_mut().par_chunks_mut(width).enumerate().for_each_init(
        || vec![Near::FAR; width],
        |near, (z, row)| {
            line.row(z as f64 * s, 0.0, s, reach, near);
            for (m, n) in row.iter_mut().zip(near.iter()) {
                if n.distance2.is_finite() && !m.is_nan() {
                    *m = shape(*m, n.distance2.sqrt(), n.along);
                }
            }
        },
    );
}

fn check_paint(paint: Option<&Paint>) -> Result<(), String> {
    paint.map_or(Ok(()), |p| within("paint fade_m", p.fade_m, 0.0, 1e5))
}

impl Road {
    /// Refuses what makes no road.
    ///
    /// # Errors
    /// What was expected and found.
    pub fn check(&self) -> Result<(), String> {
        positive("width_m", self.width_m, 1e4)?;
        within("shoulder_m", self.shoulder_m, 0.0, 1e4)?;
        within("smooth_m", self.smooth_m, 0.0, 1e6)?;
        if let Some(g) = self.max_grade {
            within("max_grade", g, 0.0, 10.0)?;
        }
        check_paint(self.paint.as_ref())?;
        Line::new(&self.points, Curve::Straight, 1.0).map(drop)
    }

    /// Levels the ground.
    ///
    /// # Errors
    /// A line that is none, or that has no ground.
    pub fn apply(&self, field: &mut Field) -> Result<Strip, String> {
        let line = Line::new(&self.points, self.curve, field.spacing_m())?;
        let mut profile = Profile::of(field, &line)?;
        profile.smooth(self.smooth_m);
        if let Some(grade) = self.max_grade {
            profile.limit(grade);
        }
        let half = self.width_m / 2.0;
        carve(field, &line, half + self.shoulder_m, |ground, distance, along| {
            let road = profile.at(along);
            if distance <= half {
                road
            } else {
                road + (ground - road) * smooth(((distance - half) / self.shoulder_m).min(1.0))
            }
        });
        Ok(Strip {
            name: self.name.clone(),
            points: line.points().to_vec(),
            width_m: self.width_m,
            paint: self.paint.clone(),
            tag: self.tag.clone(),
            level: None,
        })
    }
}

impl River {
    /// Refuses what makes no river.
    ///
    /// # Errors
    /// What was expected and found.
    pub fn check(&self) -> Result<(), String> {
        positive("width_m", self.width_m, 1e4)?;
        within("bank_m", self.bank_m, 0.0, 1e4)?;
        positive("depth_m", self.depth_m, 1e4)?;
        within("below_m", self.below_m, 0.0, 1e4)?;
        within("smooth_m", self.smooth_m, 0.0, 1e6)?;
        check_paint(self.paint.as_ref())?;
        Line::new(&self.points, Curve::Straight, 1.0).map(drop)
    }

    /// Cuts the bed; ground is never raised.
    ///
    /// # Errors
    /// A line that is none, or that has no ground.
    pub fn apply(&self, field: &mut Field) -> Result<Strip, String> {
        let line = Line::new(&self.points, self.curve, field.spacing_m())?;
        let mut level = Profile::of(field, &line)?;
        level.smooth(self.smooth_m);
        let mut lowest = f64::INFINITY;
        for h in &mut level.heights_m {
            lowest = lowest.min(*h - self.below_m);
            *h = lowest;
        }
        let half = self.width_m / 2.0;
        carve(field, &line, half + self.bank_m, |ground, distance, along| {
            let level = level.at(along);
            let cut = if distance <= half {
                let across = distance / half;
                level - self.depth_m * (1.0 - across * across)
            } else {
                level + (ground - level) * smooth(((distance - half) / self.bank_m).min(1.0))
            };
            ground.min(cut)
        });
        Ok(Strip {
            name: self.name.clone(),
            points: line.points().to_vec(),
            width_m: self.width_m,
            paint: self.paint.clone(),
            tag: self.tag.clone(),
            level: Some(level),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cook::generate::Noise;

    fn hills() -> Field {
        let text = "(seed: 6, wavelength_m: 60, amplitude_m: 30, octaves: 4)";
        ron::from_str::<Noise>(text).unwrap().field([80, 60], 256)
    }

    fn road() -> Road {
        ron::Options::default()
            .with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME)
            .from_str(
                r#"(name: "r", points: [(5, 30), (30, 20), (50, 40), (75, 30)], width_m: 6, shoulder_m: 5,
                    max_grade: 0.12)"#,
            )
            .unwrap()
    }

    fn river() -> River {
        ron::from_str(
            r#"(name: "v", points: [(5, 5), (40, 30), (74, 50)], width_m: 6, bank_m: 5, depth_m: 1.5, below_m: 0.5)"#,
        )
        .unwrap()
    }

    #[test]
    fn a_road_is_level_across_and_gentle_along_and_leaves_the_rest_alone() {
        let (was, mut field) = (hills(), hills());
        let strip = road().apply(&mut field).unwrap();
        let line = Line::of_points(strip.points.clone());
        let mut row = vec![Near::FAR; 80];
        let mut on_road = 0;
        for z in 0..60 {
            line.row(z as f64, 0.0, 1.0, 100.0, &mut row);
            for (x, n) in row.iter().enumerate() {
                let (old, new) = (was.at(x, z), field.at(x, z));
                if n.distance2 > 8.0 * 8.0 {
                    assert_eq!(old, new, "({x}, {z})");
                } else if n.distance2 <= 9.0 {
                    on_road += 1;
                    // Every sample on the road as high as the road's middle beside it.
                    let [px, pz] = line.place(n.along);
                    let middle = field.sample(px, pz).unwrap();
                    assert!((middle - new).abs() < 0.35, "({x}, {z}): {middle} {new}");
                }
            }
        }
        assert!(on_road > 300, "{on_road}");
        let heights: Vec<f64> = (0..line.length_m() as usize)
            .map(|i| line.place(i as f64))
            .map(|[x, z]| field.sample(x, z).unwrap())
            .collect();
        assert!(heights.windows(2).all(|w| (w[1] - w[0]).abs() < 0.2), "{heights:?}");
    }

    #[test]
    fn a_river_never_rises_and_never_raises() {
        let (was, mut field) = (hills(), hills());
        let strip = river().apply(&mut field).unwrap();
        let level = strip.level.as_ref().unwrap();
        assert!(level.heights_m.windows(2).all(|w| w[1] <= w[0]));
        assert!(field.metres().iter().zip(was.metres()).all(|(new, old)| new <= old));
        // Samples on the line itself lie at the level less the depth, or lower if they did before.
        let line = Line::of_points(strip.points.clone());
        let mut row = vec![Near::FAR; 80];
        let mut wet = 0;
        for z in 0..60 {
            line.row(z as f64, 0.0, 1.0, 3.0, &mut row);
            for (x, n) in row.iter().enumerate().filter(|(_, n)| n.distance2.is_finite()) {
                let bed = level.at(n.along) - 1.5 * (1.0 - n.distance2 / 9.0);
                assert!((field.at(x, z) - bed.min(was.at(x, z))).abs() < 1e-9, "({x}, {z})");
                wet += 1;
            }
        }
        assert!(wet > 300, "{wet}");
    }

    #[test]
    fn threads_change_no_carving_and_voids_stay() {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut field = hills();
            (0..80).for_each(|x| field.metres_mut()[30 * 80 + x] = f64::NAN);
            let strip = pool.install(|| road().apply(&mut field)).unwrap();
            (field, strip)
        };
        let (field, strip) = run(1);
        assert!((field.clone(), strip.clone()) == run(2) && (field.clone(), strip) == run(5));
        assert!((0..80).all(|x| field.at(x, 30).is_nan()));
        assert_eq!(field.metres().iter().filter(|m| m.is_nan()).count(), 80);
        let mut nothing = Field::level([80, 60], 256, f64::NAN);
        assert!(road().apply(&mut nothing).unwrap_err().contains("without heights"));
    }

    #[test]
    fn profiles_are_smoothed_and_limited_as_by_hand() {
        let profile = |heights_m: &[f64]| Profile { step_m: 1.0, heights_m: heights_m.to_vec() };
        let mut p = profile(&[0.0, 3.0, 0.0, 0.0, 0.0]);
        p.smooth(2.0);
        // Once: 0, 1, 1, 0, 0. Twice: 0, 2/3, 2/3, 1/3, 0.
        let expected = [0.0, 2.0 / 3.0, 2.0 / 3.0, 1.0 / 3.0, 0.0];
        assert!(p.heights_m.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{p:?}");
        let mut p = profile(&[5.0, 0.0, 4.0, 9.0]);
        p.limit(1.0);
        assert_eq!(p.heights_m, [1.0, 0.0, 1.0, 2.0]);
        assert_eq!((p.at(0.5), p.at(-1.0), p.at(99.0)), (0.5, 1.0, 2.0));
    }

    #[test]
    fn impossible_lines_are_refused() {
        assert!(road().check().is_ok() && river().check().is_ok());
        assert!(Road { width_m: 0.0, ..road() }.check().is_err());
        assert!(Road { shoulder_m: f64::NAN, ..road() }.check().is_err());
        assert!(Road { points: vec![(0.0, 0.0), (f64::NAN, 0.0)], ..road() }.check().is_err());
        assert!(River { depth_m: -1.0, ..river() }.check().is_err());
        assert!(River { points: vec![], ..river() }.check().is_err());
    }
}
