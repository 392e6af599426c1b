//! Thermal erosion: what lies steeper than it can, slides.

use super::{NO_BED, UNITS_PER_M, check_erosion_size, check_iterations, from_units, to_units, within};
use crate::cook::field::Field;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Thermal erosion after Musgrave, Kolb and Mace ("The synthesis and rendering of eroded fractal terrains", 1989): in
/// every iteration, between every two neighbours of eight, an eighth of `rate` of what exceeds the talus slides down.
/// All of an iteration is computed from the heights before it; with at most an eighth a neighbour a sample can never
/// end below what lay under it, so that nothing oscillates. Heights are integers of 2⁻²⁰ m and their sum never changes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thermal {
    /// How often.
    pub iterations: u32,
    /// The steepest slope that rests, in degrees.
    pub talus_deg: f64,
    /// How fast it slides, above 0 to 1.
    #[serde(default = "super::one")]
    pub rate: f64,
}

/// Neighbours by column and row, straight ones first.
const NEIGHBOURS: [(isize, isize); 8] =
    [(-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (1, -1), (-1, 1), (1, 1)];

impl Thermal {
    /// Refuses what erodes nothing.
    ///
    /// # Errors
    /// What was expected and found.
    pub fn check(&self) -> Result<(), String> {
        check_iterations(self.iterations)?;
        within("talus_deg", self.talus_deg, 0.0, 89.0)?;
        super::positive("rate", self.rate, 1.0)
    }

    /// Erodes a field; voids give and take nothing. `progress` hears of every iteration.
    ///
    /// # Errors
    /// A field that is too large.
    pub fn apply(&self, field: &mut Field, progress: &(dyn Fn(u64, u64) + Sync)) -> Result<(), String> {
        check_erosion_size(field)?;
        let slope = libm::tan(self.talus_deg.to_radians());
        let rest = |distance: f64| (slope * distance * field.spacing_m() * UNITS_PER_M).floor() as i64;
        let slide = Slide {
            width: field.width() as isize,
            height: field.size()[1] as isize,
            rest: [rest(1.0), rest(std::f64::consts::SQRT_2)],
            rate: ((self.rate * 65_536.0 + 0.5).floor() as i64).max(1),
        };
        let mut old = to_units(field);
        let mut new = old.clone();
        for i in 0..self.iterations {
            new.par_chunks_mut(field.width())
                .enumerate()
                .for_each(|(z, row)| slide.row(&old, z as isize, row));
            std::mem::swap(&mut old, &mut new);
            progress(u64::from(i) + 1, u64::from(self.iterations));
        }
        from_units(&old, field);
        Ok(())
    }
}

struct Slide {
    width: isize,
    height: isize,
    /// How much higher a neighbour may be: straight, diagonal; units.
    rest: [i64; 2],
    /// In 1/65536.
    rate: i64,
}

impl Slide {
    fn row(&self, old: &[i64], z: isize, row: &mut [i64]) {
        for (x, new) in row.iter_mut().enumerate() {
            let here = old[z as usize * self.width as usize + x];
            let mut sum = here;
            if here != NO_BED {
                for (i, (dx, dz)) in NEIGHBOURS.into_iter().enumerate() {
                    let (nx, nz) = (x as isize + dx, z + dz);
                    if nx < 0 || nz < 0 || nx >= self.width || nz >= self.height {
                        continue;
                    }
                    let there = old[(nz * self.width + nx) as usize];
                    if there != NO_BED {
                        let rest = self.rest[usize::from(i > 3)];
                        sum += self.moves(there - here, rest) - self.moves(here - there, rest);
                    }
                }
            }
            *new = sum;
        }
    }

    /// What slides over a drop; the same number as seen from above and from below.
    fn moves(&self, drop: i64, rest: i64) -> i64 {
        if drop <= rest { 0 } else { ((drop - rest) * self.rate) >> 19 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cook::generate::{Noise, NoiseKind};

    fn rough() -> Field {
        let noise = Noise {
            seed: 4,
            kind: NoiseKind::Ridged,
            wavelength_m: 40.0,
            amplitude_m: 60.0,
            base_m: -20.0,
            octaves: 6,
            lacunarity: 2.0,
            gain: 0.6,
            warp: None,
            at_m: (0.0, 0.0),
        };
        let mut field = noise.field([50, 37], 256);
        // A pond without data in the middle.
        for i in [600, 601, 650, 651, 0, 49] {
            field.metres_mut()[i] = f64::NAN;
        }
        field
    }

    /// The steepest rise to a right or lower neighbour, in metres a metre.
    fn steepest(f: &Field) -> f64 {
        let mut most = 0.0f64;
        for z in 0..36 {
            for x in 0..49 {
                let h = f.at(x, z);
                for other in [f.at(x + 1, z), f.at(x, z + 1)] {
                    let rise = (other - h).abs() / f.spacing_m();
                    most = if rise > most { rise } else { most };
                }
            }
        }
        most
    }

    fn mass(f: &Field) -> i64 {
        to_units(f).into_iter().filter(|&u| u != NO_BED).sum()
    }

    #[test]
    fn sliding_keeps_every_unit_and_flattens_to_the_talus() {
        let mut field = rough();
        let (before, whole) = (steepest(&field), mass(&field));
        let voids = |f: &Field| f.metres().iter().map(|m| m.is_nan()).collect::<Vec<_>>();
        let was = voids(&field);
        let mut last = before;
        for _ in 0..12 {
            Thermal { iterations: 150, talus_deg: 35.0, rate: 1.0 }.apply(&mut field, &|_, _| ()).unwrap();
            let now = steepest(&field);
            assert!(now <= last + 1e-4, "steeper: {last} to {now}");
            last = now;
        }
        assert_eq!((mass(&field), voids(&field)), (whole, was));
        // tan 35° = 0.7002.
        assert!(before > 2.0 && last < 0.75, "{before} to {last}");
    }

    #[test]
    fn a_lone_peak_slides_to_its_eight_neighbours_as_by_hand() {
        let mut field = Field::level([3, 3], 256, 0.0);
        field.metres_mut()[4] = 16.0;
        Thermal { iterations: 1, talus_deg: 0.0, rate: 0.5 }.apply(&mut field, &|_, _| ()).unwrap();
        // 16 · 0.5 / 8 = 1 to each.
        assert_eq!(field.metres(), [1.0, 1.0, 1.0, 1.0, 8.0, 1.0, 1.0, 1.0, 1.0]);
    }

    #[test]
    fn what_rests_stays_to_the_bit() {
        let mut field = Field::new([2, 2], 256, vec![0.0, 0.5, 0.25, f64::NAN]);
        let was = field.clone();
        Thermal { iterations: 9, talus_deg: 45.0, rate: 1.0 }.apply(&mut field, &|_, _| ()).unwrap();
        assert_eq!(field, was);
    }

    #[test]
    fn threads_change_nothing() {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut field = rough();
            let erosion = Thermal { iterations: 20, talus_deg: 30.0, rate: 0.7 };
            pool.install(|| erosion.apply(&mut field, &|_, _| ())).unwrap();
            field
        };
        assert!(run(1) == run(2) && run(1) == run(5) && run(1) != rough());
    }

    #[test]
    fn impossible_slides_are_refused() {
        let good = Thermal { iterations: 1, talus_deg: 30.0, rate: 1.0 };
        assert!(good.check().is_ok());
        for bad in [
            Thermal { iterations: 0, ..good },
            Thermal { iterations: u32::MAX, ..good },
            Thermal { talus_deg: 90.0, ..good },
            Thermal { talus_deg: f64::NAN, ..good },
            Thermal { rate: 0.0, ..good },
            Thermal { rate: 1.5, ..good },
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
    }
}
