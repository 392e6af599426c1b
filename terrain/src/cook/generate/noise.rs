//! Fractal noise on the lattice of samples.

use super::{hash, positive, within};
use crate::cook::field::Field;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// The most octaves: with any lacunarity that does anything, more are finer than any spacing.
pub(super) const MAX_OCTAVES: u32 = 24;

/// The finest octave's lattice may not be longer than this, so that its cells are exact integers.
const MAX_LATTICE: f64 = 1_099_511_627_776.0;

/// How octaves make a height.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoiseKind {
    /// Their weighted sum: rolling ground (fractional Brownian motion).
    #[default]
    Fractal,
    /// Sharp crests, rougher where they are high (the ridged multifractal of Musgrave, in Ebert et al., "Texturing and
    /// Modeling", 3rd edition, chapter 16).
    Ridged,
    /// Folded upwards: round hills with sharp valleys between.
    Billow,
}

/// Places moved by another noise before the height is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Warp {
    /// How far at most, in metres.
    pub by_m: f64,
    /// Metres of a wave of the moving noise.
    pub wavelength_m: f64,
}

/// Gradient noise in octaves: metres over places in metres. Every octave looks up gradients by a hash of
/// (seed, octave, lattice point), blended with the quintic of Perlin ("Improving noise", 2002).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noise {
    /// Another seed is another land.
    pub seed: u64,
    /// How octaves make a height.
    #[serde(default)]
    pub kind: NoiseKind,
    /// Metres of a wave of the first octave.
    pub wavelength_m: f64,
    /// Heights go from `base_m` − this to `base_m` + this (ridged: from `base_m` up).
    pub amplitude_m: f64,
    /// The middle height (ridged: the lowest) in metres.
    #[serde(default)]
    pub base_m: f64,
    /// How many octaves.
    #[serde(default = "six")]
    pub octaves: u32,
    /// Each octave's waves are so many times shorter than the one's before.
    #[serde(default = "two")]
    pub lacunarity: f64,
    /// Each octave's height is so many times that of the one before.
    #[serde(default = "half")]
    pub gain: f64,
    /// Places moved first.
    #[serde(default)]
    pub warp: Option<Warp>,
    /// Metres added to the places of samples: another part of the same land.
    #[serde(default)]
    pub at_m: (f64, f64),
}

const fn six() -> u32 {
    6
}

const fn two() -> f64 {
    2.0
}

const fn half() -> f64 {
    0.5
}

/// Sixteen unit vectors, a sixteenth of a turn apart.
const DIRECTIONS: [[f64; 2]; 16] = {
    const A: f64 = 0.923_879_532_511_286_7;
    const B: f64 = 0.382_683_432_365_089_8;
    const C: f64 = std::f64::consts::FRAC_1_SQRT_2;
    [
        [1.0, 0.0],
        [A, B],
        [C, C],
        [B, A],
        [0.0, 1.0],
        [-B, A],
        [-C, C],
        [-A, B],
        [-1.0, 0.0],
        [-A, -B],
        [-C, -C],
        [-B, -A],
        [0.0, -1.0],
        [B, -A],
        [C, -C],
        [A, -B],
    ]
};

/// Gradient noise from −1 to 1 at a place in lattice units.
fn gradient(seed: u64, x: f64, z: f64) -> f64 {
    let (fx, fz) = (x.floor(), z.floor());
    let (u, v) = (x - fx, z - fz);
    let (ix, iz) = (fx as i64, fz as i64);
    let dot = |dx: i64, dz: i64| {
        let [gx, gz] = DIRECTIONS[(hash(seed, ix + dx, iz + dz) >> 60) as usize];
        gx * (u - dx as f64) + gz * (v - dz as f64)
    };
    let fade = |t: f64| t * t * t * (t * (t * 6.0 - 15.0) + 10.0);
    let (su, sv) = (fade(u), fade(v));
    let mix = |a: f64, b: f64, t: f64| a + (b - a) * t;
    let n = mix(mix(dot(0, 0), dot(1, 0), su), mix(dot(0, 1), dot(1, 1), su), sv);
    // Unit gradients reach √½ in a cell's middle.
    (n * std::f64::consts::SQRT_2).clamp(-1.0, 1.0)
}

impl Noise {
    /// Refuses what makes no land, for a field that reaches so many metres.
    ///
    /// # Errors
    /// What was expected and found.
    pub fn check(&self, reach_m: f64) -> Result<(), String> {
        if !(1..=MAX_OCTAVES).contains(&self.octaves) {
            return Err(format!("octaves must be from 1 to {MAX_OCTAVES}, found {}", self.octaves));
        }
        positive("wavelength_m", self.wavelength_m, 1e9)?;
        within("amplitude_m", self.amplitude_m, 0.0, 1e6)?;
        within("base_m", self.base_m, -1e6, 1e6)?;
        within("lacunarity", self.lacunarity, 1.0, 8.0)?;
        within("gain", self.gain, 0.0, 1.0)?;
        within("at_m", self.at_m.0, -1e9, 1e9)?;
        within("at_m", self.at_m.1, -1e9, 1e9)?;
        let mut reach = reach_m + self.at_m.0.abs().max(self.at_m.1.abs());
        if let Some(w) = self.warp {
            within("warp by_m", w.by_m, 0.0, 1e9)?;
            positive("warp wavelength_m", w.wavelength_m, 1e9)?;
            if reach / w.wavelength_m > MAX_LATTICE {
                return Err(format!("the warp's wavelength_m {} is too short for {reach} m", w.wavelength_m));
            }
            reach += w.by_m;
        }
        let mut lattice = reach / self.wavelength_m;
        (1..self.octaves).for_each(|_| lattice *= self.lacunarity);
        if lattice > MAX_LATTICE {
            return Err(format!(
                "{} octaves of lacunarity {} from waves of {} m are finer than the lattice carries: take fewer",
                self.octaves, self.lacunarity, self.wavelength_m
            ));
        }
        Ok(())
    }

    /// The height at a place in metres.
    pub fn at(&self, x_m: f64, z_m: f64) -> f64 {
        let (mut x, mut z) = (x_m + self.at_m.0, z_m + self.at_m.1);
        if let Some(w) = self.warp {
            let (u, v) = (x / w.wavelength_m, z / w.wavelength_m);
            x += w.by_m * gradient(hash(self.seed, -1, 0), u, v);
            z += w.by_m * gradient(hash(self.seed, -1, 1), u, v);
        }
        let (mut x, mut z) = (x / self.wavelength_m, z / self.wavelength_m);
        let (mut sum, mut most, mut amplitude, mut weight) = (0.0, 0.0, 1.0, 1.0);
        for octave in 0..self.octaves {
            let n = gradient(hash(self.seed, 0, i64::from(octave)), x, z);
            let signal = match self.kind {
                NoiseKind::Fractal => n,
                NoiseKind::Billow => 2.0 * n.abs() - 1.0,
                NoiseKind::Ridged => {
                    let ridge = (1.0 - n.abs()) * (1.0 - n.abs()) * weight;
                    weight = (ridge * 2.0).clamp(0.0, 1.0);
                    ridge
                }
            };
            sum += signal * amplitude;
            most += amplitude;
            amplitude *= self.gain;
            x *= self.lacunarity;
            z *= self.lacunarity;
        }
        self.base_m + self.amplitude_m * (sum / most)
    }

    /// A whole field; samples stand at whole multiples of the spacing.
    pub fn field(&self, size: [u32; 2], spacing_256: u32) -> Field {
        let mut field = Field::level(size, spacing_256, 0.0);
        let (width, s) = (field.width(), field.spacing_m());
        field.metres_mut().par_chunks_mut(width).enumerate().for_each(|(z, row)| {
            for (x, m) in row.iter_mut().enumerate() {
                *m = self.at(x as f64 * s, z as f64 * s);
            }
        });
        field
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn noise(seed: u64) -> Noise {
        Noise {
            seed,
            kind: NoiseKind::Fractal,
            wavelength_m: 100.0,
            amplitude_m: 50.0,
            base_m: 10.0,
            octaves: 6,
            lacunarity: 2.0,
            gain: 0.5,
            warp: None,
            at_m: (0.0, 0.0),
        }
    }

    fn bits(f: &Field) -> Vec<u64> {
        f.metres().iter().map(|m| m.to_bits()).collect()
    }

    #[test]
    fn any_number_of_threads_gives_the_same_land_and_another_seed_another() {
        let warp = Some(Warp { by_m: 30.0, wavelength_m: 70.0 });
        let run = |threads: usize, seed| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            bits(&pool.install(|| Noise { warp, ..noise(seed) }.field([61, 43], 640)))
        };
        assert!(run(1, 7) == run(2, 7) && run(1, 7) == run(5, 7));
        let same = run(1, 7).iter().zip(run(1, 8)).filter(|(a, b)| **a == *b).count();
        assert!(same < 20, "{same} samples of 2623 are the same");
    }

    #[test]
    fn one_octave_is_zero_on_its_lattice_and_bounded_between() {
        let n = Noise { octaves: 1, ..noise(3) };
        for (x, z) in [(0.0, 0.0), (300.0, -500.0), (1e6, 100.0)] {
            assert_eq!(n.at(x, z), 10.0);
        }
        // Heights of many places: mean near the base, all inside, and both halves reached.
        let heights: Vec<f64> =
            (0..40_000).map(|i| noise(3).at(f64::from(i % 200) * 37.3, f64::from(i / 200) * 41.9)).collect();
        let mean = heights.iter().sum::<f64>() / 40_000.0;
        let spread = (heights.iter().map(|h| (h - mean) * (h - mean)).sum::<f64>() / 40_000.0).sqrt();
        assert!((mean - 10.0).abs() < 1.0, "{mean}");
        // A gradient noise of unit vectors has a standard deviation of about a third of its range; six octaves that
        // halve add in squares (1.155 of the first) over a sum of 1.97.
        assert!((6.0..14.0).contains(&spread), "{spread}");
        assert!(heights.iter().all(|h| (-40.0..=60.0).contains(h)));
    }

    #[test]
    fn noise_is_smooth_across_lattice_lines() {
        let n = Noise { octaves: 1, ..noise(11) };
        for i in 0..200 {
            let (x, z) = (100.0 * f64::from(i % 9), 13.7 * f64::from(i));
            let slope = |x: f64| (n.at(x + 1e-4, z) - n.at(x, z)) / 1e-4;
            assert!((slope(x - 1e-4) - slope(x)).abs() < 1e-3, "{x} {z}");
        }
    }

    #[test]
    fn ridges_stand_above_the_base_and_billows_are_folded() {
        let heights = |kind| -> Vec<f64> {
            (0..10_000)
                .map(|i| Noise { kind, ..noise(5) }.at(f64::from(i) * 7.7, f64::from(i % 97) * 9.1))
                .collect()
        };
        let ridged = heights(NoiseKind::Ridged);
        assert!(ridged.iter().all(|h| (10.0..=60.0).contains(h)) && ridged.iter().any(|&h| h > 45.0));
        let billow = heights(NoiseKind::Billow);
        let low = billow.iter().filter(|&&h| h < 10.0).count();
        assert!(low > 6000, "{low} of 10000 lie below the middle");
    }

    #[test]
    fn impossible_noise_is_refused() {
        let refuse = |n: Noise, words: &str| {
            let e = n.check(1e4).unwrap_err();
            assert!(e.contains(words), "{e}");
        };
        assert_eq!(noise(1).check(1e6), Ok(()));
        refuse(Noise { octaves: 1_000_000_000, ..noise(1) }, "octaves");
        refuse(Noise { octaves: 0, ..noise(1) }, "octaves");
        refuse(Noise { wavelength_m: 0.0, ..noise(1) }, "wavelength_m");
        refuse(Noise { amplitude_m: f64::NAN, ..noise(1) }, "amplitude_m");
        refuse(Noise { octaves: 24, lacunarity: 8.0, ..noise(1) }, "finer");
        refuse(Noise { warp: Some(Warp { by_m: f64::INFINITY, wavelength_m: 1.0 }), ..noise(1) }, "warp");
        refuse(Noise { at_m: (f64::NAN, 0.0), ..noise(1) }, "at_m");
    }
}
