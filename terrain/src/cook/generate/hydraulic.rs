//! Hydraulic erosion: rain runs off, takes ground along and drops it where it slows.

use super::{
    NO_BED, UNITS_PER_M, check_erosion_size, check_iterations, from_units, positive, to_units, within,
};
use crate::cook::field::Field;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Hydraulic erosion on the grid, after the virtual pipes of Mei, Decaudin and Hu ("Fast hydraulic erosion simulation and
/// visualization on GPU", 2007), with two changes: sediment moves along with the water through the same pipes (theirs
/// is looked up backwards, which loses mass), and what water can carry goes with its discharge and the slope (stream
/// power), which stays tame in thin films.
///
/// Ground, water and sediment are integers of 2⁻²⁰ m; all of an iteration is computed from the state before it. No water
/// leaves over the map's edge or into voids, and what is still afloat at the end settles where it is: the sum of all
/// heights is the same before and after, to the unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hydraulic {
    /// How often.
    pub iterations: u32,
    /// Rain of an iteration, metres.
    #[serde(default = "rain")]
    pub rain_m: f64,
    /// The share of its water that a sample loses in an iteration.
    #[serde(default = "evaporation")]
    pub evaporation: f64,
    /// How much of the difference of water levels a pipe gains in an iteration, above 0 to 0.25.
    #[serde(default = "flow")]
    pub flow: f64,
    /// How much of its flow a pipe keeps from one iteration to the next, 0 to below 1.
    #[serde(default = "momentum")]
    pub momentum: f64,
    /// Metres of sediment that a metre of discharge carries down a vertical slope.
    #[serde(default = "capacity")]
    pub capacity: f64,
    /// The least slope (sine) that counts, so that water on flats still carries something.
    #[serde(default = "min_slope")]
    pub min_slope: f64,
    /// The share of what could still be carried that is taken up in an iteration, 0 to 1.
    #[serde(default = "erosion")]
    pub erosion: f64,
    /// The share of what is too much that settles in an iteration, 0 to 1.
    #[serde(default = "deposition")]
    pub deposition: f64,
}

const fn rain() -> f64 {
    0.01
}

const fn evaporation() -> f64 {
    0.02
}

const fn flow() -> f64 {
    0.2
}

const fn momentum() -> f64 {
    0.5
}

const fn capacity() -> f64 {
    1.0
}

const fn min_slope() -> f64 {
    0.01
}

const fn erosion() -> f64 {
    0.3
}

const fn deposition() -> f64 {
    0.3
}

/// West, east, north, south; the opposite of `i` is `i ^ 1`.
const PIPES: [(isize, isize); 4] = [(-1, 0), (1, 0), (0, -1), (0, 1)];

/// The largest difference of levels that counts, in units: 2²⁷ m.
const MAX_FALL: i64 = 1 << 47;

/// What leaves a sample through its four pipes in an iteration, in units of depth.
type Out = [u32; 4];

/// A sample's state in units.
#[derive(Clone, Copy)]
struct Cell {
    bed: i64,
    water: i64,
    sediment: i64,
}

impl Hydraulic {
    /// Refuses what erodes nothing or what would blow up.
    ///
    /// # Errors
    /// What was expected and found.
    pub fn check(&self) -> Result<(), String> {
        check_iterations(self.iterations)?;
        positive("rain_m", self.rain_m, 1.0)?;
        within("evaporation", self.evaporation, 0.0, 1.0)?;
        positive("flow", self.flow, 0.25)?;
        within("momentum", self.momentum, 0.0, 0.99)?;
        within("capacity", self.capacity, 0.0, 100.0)?;
        within("min_slope", self.min_slope, 0.0, 1.0)?;
        within("erosion", self.erosion, 0.0, 1.0)?;
        within("deposition", self.deposition, 0.0, 1.0)
    }

    /// Erodes a field; voids give and take nothing. `progress` hears of every iteration.
    ///
    /// # Errors
    /// A field that is too large.
    pub fn apply(&self, field: &mut Field, progress: &(dyn Fn(u64, u64) + Sync)) -> Result<(), String> {
        check_erosion_size(field)?;
        let run = Run {
            width: field.width() as isize,
            height: field.size()[1] as isize,
            spacing: field.spacing_m() * UNITS_PER_M,
            rain: (self.rain_m * UNITS_PER_M + 0.5).floor() as i64,
            flow: (self.flow * 65_536.0 + 0.5).floor() as i64,
            momentum: (self.momentum * 256.0 + 0.5).floor() as i64,
            of: *self,
        };
        let dry = |bed| Cell { bed, water: 0, sediment: 0 };
        let mut old: Vec<Cell> = to_units(field).into_iter().map(dry).collect();
        let mut new = old.clone();
        let mut out: Vec<Out> = vec![[0; 4]; old.len()];
        let width = field.width();
        for i in 0..self.iterations {
            old.par_iter_mut().filter(|c| c.bed != NO_BED).for_each(|c| c.water += run.rain);
            out.par_chunks_mut(width).enumerate().for_each(|(z, row)| run.pipes(&old, z as isize, row));
            new.par_chunks_mut(width).enumerate().for_each(|(z, row)| run.carry(&old, &out, z as isize, row));
            std::mem::swap(&mut old, &mut new);
            progress(u64::from(i) + 1, u64::from(self.iterations));
        }
        let settled: Vec<i64> =
            old.iter().map(|c| if c.bed == NO_BED { NO_BED } else { c.bed + c.sediment }).collect();
        from_units(&settled, field);
        Ok(())
    }
}

struct Run {
    width: isize,
    height: isize,
    /// Units between samples.
    spacing: f64,
    rain: i64,
    /// In 1/65536.
    flow: i64,
    /// In 1/256.
    momentum: i64,
    of: Hydraulic,
}

impl Run {
    /// The neighbour through a pipe, if it is on the map.
    fn beyond(&self, x: isize, z: isize, pipe: usize) -> Option<usize> {
        let (nx, nz) = (x + PIPES[pipe].0, z + PIPES[pipe].1);
        (nx >= 0 && nz >= 0 && nx < self.width && nz < self.height).then(|| (nz * self.width + nx) as usize)
    }

    /// What flows out of a row's samples: never more than their water.
    fn pipes(&self, cells: &[Cell], z: isize, row: &mut [Out]) {
        for (x, out) in row.iter_mut().enumerate() {
            let here = cells[(z * self.width) as usize + x];
            if here.bed == NO_BED {
                continue;
            }
            let level = here.bed + here.water;
            let mut sum = 0u64;
            for (pipe, flow) in out.iter_mut().enumerate() {
                let there = self.beyond(x as isize, z, pipe).map(|n| cells[n]).filter(|c| c.bed != NO_BED);
                *flow = there.map_or(0, |there| {
                    // No fall that a field's heights allow is cut; water piled up beyond them must not overflow.
                    let fall = (level - there.bed - there.water).clamp(-MAX_FALL, MAX_FALL);
                    let kept = (i64::from(*flow) * self.momentum) >> 8;
                    (kept + ((fall * self.flow) >> 16)).clamp(0, i64::from(u32::MAX >> 1)) as u32
                });
                sum += u64::from(*flow);
            }
            let water = here.water as u64;
            if sum > water {
                // Both factors are below 2³³ here.
                out.iter_mut().for_each(|f| *f = (u64::from(*f) * water / sum) as u32);
            }
        }
    }

    /// The sediment that leaves a sample through a pipe: its share of the water, rounded down. Sediment is far below
    /// 2⁵⁰ units, so the sum of all four is never more than there is.
    fn sediment_out(cell: Cell, flow: u32) -> i64 {
        if flow == 0 { 0 } else { (cell.sediment as f64 * (f64::from(flow) / cell.water as f64)) as i64 }
    }

    /// Moves water and sediment into a row, then takes up or drops ground.
    fn carry(&self, old: &[Cell], out: &[Out], z: isize, row: &mut [Cell]) {
        for (x, new) in row.iter_mut().enumerate() {
            let i = (z * self.width) as usize + x;
            let here = old[i];
            if here.bed == NO_BED {
                continue;
            }
            let (mut water, mut sediment) = (here.water, here.sediment);
            // Net flow along each axis, and the slope of the bed.
            let (mut net, mut rise, mut lowest) = ([0i64; 2], [0i64; 2], here.bed);
            for pipe in 0..4 {
                let leaves = out[i][pipe];
                water -= i64::from(leaves);
                sediment -= Self::sediment_out(here, leaves);
                let sign = if pipe & 1 == 0 { -1 } else { 1 };
                net[pipe / 2] += sign * i64::from(leaves);
                let Some(n) = self.beyond(x as isize, z, pipe).filter(|&n| old[n].bed != NO_BED) else {
                    rise[pipe / 2] += sign * here.bed;
                    continue;
                };
                let comes = out[n][pipe ^ 1];
                water += i64::from(comes);
                sediment += Self::sediment_out(old[n], comes);
                net[pipe / 2] -= sign * i64::from(comes);
                rise[pipe / 2] += sign * old[n].bed;
                lowest = lowest.min(old[n].bed);
            }
            let taken = self.taken(sediment, net, rise, here.bed - lowest);
            *new = Cell {
                bed: here.bed - taken,
                water: water - (water as f64 * self.of.evaporation) as i64,
                sediment: sediment + taken,
            };
        }
    }

    /// Units of ground taken up (or dropped, negative): towards what the water can carry, but never below the lowest
    /// neighbour's bed by more than half the drop, so that erosion digs no pits of its own.
    fn taken(&self, sediment: i64, net: [i64; 2], rise: [i64; 2], drop: i64) -> i64 {
        let [qx, qz] = net.map(|n| n as f64 / 2.0);
        let [gx, gz] = rise.map(|r| r as f64 / (2.0 * self.spacing));
        let slope2 = gx * gx + gz * gz;
        let sine = (slope2 / (1.0 + slope2)).sqrt().max(self.of.min_slope);
        let carries = self.of.capacity * sine * (qx * qx + qz * qz).sqrt();
        let lacks = carries - sediment as f64;
        if lacks > 0.0 {
            ((lacks * self.of.erosion) as i64).min(drop / 2)
        } else {
            ((lacks * self.of.deposition) as i64).max(-sediment)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cook::generate::{Noise, NoiseKind};

    fn erosion(iterations: u32) -> Hydraulic {
        ron::from_str(&format!("(iterations: {iterations})")).unwrap()
    }

    fn hills() -> Field {
        let noise = Noise {
            seed: 12,
            kind: NoiseKind::Fractal,
            wavelength_m: 120.0,
            amplitude_m: 60.0,
            base_m: -3.0,
            octaves: 5,
            lacunarity: 2.0,
            gain: 0.5,
            warp: None,
            at_m: (0.0, 0.0),
        };
        let mut field = noise.field([64, 53], 512);
        for i in [0, 1, 64, 1000, 1001, 3000] {
            field.metres_mut()[i] = f64::NAN;
        }
        field
    }

    fn mass(f: &Field) -> i64 {
        to_units(f).into_iter().filter(|&u| u != NO_BED).sum()
    }

    #[test]
    fn rain_moves_ground_and_keeps_every_unit() {
        let (mut field, was) = (hills(), hills());
        erosion(120).apply(&mut field, &|_, _| ()).unwrap();
        assert_eq!(mass(&field), mass(&was));
        let moved: Vec<f64> =
            field.metres().iter().zip(was.metres()).map(|(a, b)| a - b).filter(|d| !d.is_nan()).collect();
        assert_eq!(moved.len(), 64 * 53 - 6);
        let (down, up) =
            (moved.iter().filter(|d| **d < -0.05).count(), moved.iter().filter(|d| **d > 0.05).count());
        assert!(down > 100 && up > 100, "{down} samples were cut, {up} filled");
        // Nothing grows past what was there.
        let highest = |f: &Field| f.metres().iter().copied().filter(|m| !m.is_nan()).fold(f64::MIN, f64::max);
        assert!(highest(&field) <= highest(&was));
    }

    #[test]
    fn hollows_fill_and_slopes_are_cut() {
        // A trough along x that falls to the east and ends at the map's edge.
        let mut field = Field::level([40, 21], 256, 0.0);
        for z in 0..21 {
            for x in 0..40 {
                let across = (z as f64 - 10.0).abs();
                field.metres_mut()[z * 40 + x] = 60.0 - 1.5 * x as f64 + across * 0.05;
            }
        }
        let was = field.clone();
        erosion(200).apply(&mut field, &|_, _| ()).unwrap();
        let cut = |x: usize| was.at(x, 10) - field.at(x, 10);
        assert!(cut(8) > 0.05 && cut(15) > 0.05, "{} {}", cut(8), cut(15));
        assert!(cut(39) < -0.05, "{}", cut(39));
        // The same on both sides of the valley: no pipe comes first.
        for z in 0..10 {
            for x in 0..40 {
                assert_eq!(field.at(x, z), field.at(x, 20 - z), "({x}, {z})");
            }
        }
    }

    #[test]
    fn level_ground_stays_level_to_the_bit() {
        let mut field = Field::level([9, 7], 256, 3.5);
        let was = field.clone();
        erosion(50).apply(&mut field, &|_, _| ()).unwrap();
        assert_eq!(field, was);
    }

    #[test]
    fn threads_change_nothing() {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut field = hills();
            pool.install(|| erosion(30).apply(&mut field, &|_, _| ())).unwrap();
            field
        };
        assert!(run(1) == run(2) && run(1) == run(5) && run(1) != hills());
    }

    #[test]
    fn impossible_rain_is_refused() {
        let good = erosion(10);
        assert!(good.check().is_ok());
        for bad in [
            Hydraulic { iterations: 1_000_000_000, ..good },
            Hydraulic { rain_m: f64::NAN, ..good },
            Hydraulic { flow: 0.5, ..good },
            Hydraulic { momentum: 1.0, ..good },
            Hydraulic { capacity: f64::INFINITY, ..good },
            Hydraulic { erosion: -0.1, ..good },
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
    }
}
