use super::*;
use crate::compute::{CpuCompute, Outputs, Shared};
use crate::height::QuantumLog2;
use crate::pass::scatter::{Ground, Kind, scatter, scatter_in_strips};

const K: QuantumLog2 = QuantumLog2::DEFAULT;

fn kind() -> Kind {
    Kind {
        seed: 7,
        number: 3,
        density_per_m2: 4.0,
        jitter: 1.0,
        apart_m: 0.0,
        scale: [0.8, 1.2],
        slope_deg: [90.0, 0.0],
        height_m: [-1e5, 1e5],
        in_water: true,
    }
}

/// A terrain of cells, cut into windows at will.
struct Land {
    diagonal: Diagonal,
    spacing_256: u32,
    texels: u32,
    height: fn(i32, i32) -> i32,
    word: fn(i32, i32) -> u32,
    growth: fn(i32, i32) -> u8,
}

impl Land {
    fn flat() -> Self {
        Self {
            diagonal: Diagonal::Main,
            spacing_256: 256,
            texels: 1,
            height: |_, _| 100,
            word: |_, _| 3,
            growth: |_, _| 255,
        }
    }

    fn hills() -> Self {
        Self {
            diagonal: Diagonal::Checkerboard,
            spacing_256: 320,
            texels: 2,
            height: |x, z| (x * 7919 + z * 104_729 + x * z * 31).rem_euclid(700) + 60 * x,
            word: |x, z| if (x * 5 + z * 3) % 11 == 0 { 2 } else { 3 | u32::from(z % 7 == 3) << 2 },
            growth: |x, z| ((x * 37 + z * 11) % 256) as u8,
        }
    }

    fn ask(&self, kind: &Kind, first: [i32; 2], cells: [u32; 2]) -> Vec<[u32; INSTANCE_WORDS]> {
        let [x0, z0] = first;
        let [w, h] = cells.map(|c| c as i32);
        let heights: Vec<u32> = (z0 - 1..z0 + h + 2)
            .flat_map(|z| (x0 - 1..x0 + w + 2).map(move |x| (self.height)(x, z) as u32))
            .collect();
        let mut surface: Vec<u32> =
            (z0..z0 + h).flat_map(|z| (x0..x0 + w).map(move |x| (self.word)(x, z))).collect();
        let t = self.texels as i32;
        let growth: Vec<u8> = (z0 * t..(z0 + h) * t)
            .flat_map(|z| (x0 * t..(x0 + w) * t).map(move |x| (self.growth)(x, z)))
            .collect();
        surface.extend(growth.chunks(4).map(|c| c.iter().rev().fold(0, |w, &b| w << 8 | u32::from(b))));
        let ground = Ground {
            first: CellPos::new(x0, z0),
            cells,
            spacing_256: self.spacing_256,
            k: K,
            diagonal: self.diagonal,
            texels: self.texels,
            heights: &Shared::new(heights),
            surface: &Shared::new(surface),
        };
        let (mut out, mut answer) = (Vec::new(), Outputs::new());
        scatter(&CpuCompute::new(), kind, &ground, &mut out, &mut answer).unwrap();
        let mut strips = Vec::new();
        scatter_in_strips(&CpuCompute::new(), kind, &ground, 300, &mut strips, &mut answer).unwrap();
        assert!(strips == out, "strips change nothing");
        out
    }

    /// The instances of a window, placed on the terrain.
    fn placed(&self, kind: &Kind, first: [i32; 2], cells: [u32; 2]) -> Vec<[i64; INSTANCE_WORDS]> {
        let side = i64::from(self.spacing_256) << 8;
        self.ask(kind, first, cells)
            .into_iter()
            .map(|i| {
                let mut placed = i.map(i64::from);
                placed[0] += i64::from(first[0]) * side;
                placed[1] += i64::from(first[1]) * side;
                placed[2] = i64::from(i[2] as i32);
                placed
            })
            .collect()
    }
}

#[test]
fn the_hash_is_the_papers() {
    // pcg4d of its authors, with 64-bit arithmetic cut to 32 bits.
    let cut = |v: u64| v & 0xFFFF_FFFF;
    for seed in [[0, 0, 0, 0], [1, 2, 3, 4], [u32::MAX, 7, 1 << 31, 99]] {
        let mut v = seed.map(|w| cut(u64::from(w) * 1_664_525 + 1_013_904_223));
        for round in 0..2 {
            for (a, b, c) in [(0, 1, 3), (1, 2, 0), (2, 0, 1), (3, 1, 2)] {
                v[a] = cut(v[a] + cut(v[b] * v[c]));
            }
            if round == 0 {
                v = v.map(|w| w ^ w >> 16);
            }
        }
        assert_eq!(hash4(seed).map(u64::from), v);
    }
}

#[test]
fn density_is_growth_times_density() {
    let mut land = Land::flat();
    let (area, kind) = (200.0 * 200.0, kind());
    for (growth, share) in [(255_u8, 1.0), (128, 128.0 / 255.0), (25, 25.0 / 255.0), (0, 0.0)] {
        land.growth = match growth {
            255 => |_, _| 255,
            128 => |_, _| 128,
            25 => |_, _| 25,
            _ => |_, _| 0,
        };
        let found = land.ask(&kind, [3, 5], [200, 200]).len() as f64;
        let expected = area * kind.density_per_m2 * share;
        assert!((found - expected).abs() <= 0.06 * expected, "{growth}: {found} of {expected}");
    }
}

#[test]
fn cutting_the_terrain_up_changes_nothing() {
    let land = Land::hills();
    let kind = Kind { slope_deg: [50.0, 20.0], in_water: false, density_per_m2: 2.3, ..kind() };
    let mut whole = land.placed(&kind, [-20, -13], [90, 71]);
    assert!(whole.len() > 1000, "{}", whole.len());
    let mut parts = Vec::new();
    for (x, w) in [(-20, 1), (-19, 40), (21, 49)] {
        for (z, h) in [(-13, 13), (0, 57), (57, 1)] {
            parts.extend(land.placed(&kind, [x, z], [w, h]));
        }
    }
    whole.sort_unstable();
    parts.sort_unstable();
    assert!(whole == parts, "{} and {}", whole.len(), parts.len());
}

#[test]
fn instances_stand_on_their_triangle_and_nowhere_else() {
    for diagonal in [Diagonal::Main, Diagonal::Anti, Diagonal::Checkerboard] {
        let land = Land { diagonal, ..Land::hills() };
        let kind = Kind { height_m: [5.0, 40.0], in_water: false, ..kind() };
        let side = i64::from(land.spacing_256) << 8;
        let found = land.placed(&kind, [4, 9], [60, 60]);
        assert!(found.len() > 1000);
        let mut last = (i64::MIN, i64::MIN);
        for [x, z, y, turn, ..] in found {
            let cell = [x.div_euclid(side) as i32, z.div_euclid(side) as i32];
            let (fx, fz) = (x.rem_euclid(side) as f64 / side as f64, z.rem_euclid(side) as f64 / side as f64);
            let q = |dx: i32, dz: i32| f64::from((land.height)(cell[0] + dx, cell[1] + dz));
            // The plane of the triangle, by its corners.
            let anti = match diagonal {
                Diagonal::Main => false,
                Diagonal::Anti => true,
                Diagonal::Checkerboard => (cell[0] + cell[1]) % 2 == 0,
            };
            let (second, h) = match (anti, fx >= fz, fx + fz > 1.0) {
                (false, true, _) => (false, q(0, 0) + (q(1, 0) - q(0, 0)) * fx + (q(1, 1) - q(1, 0)) * fz),
                (false, false, _) => (true, q(0, 0) + (q(1, 1) - q(0, 1)) * fx + (q(0, 1) - q(0, 0)) * fz),
                (true, _, false) => (false, q(0, 0) + (q(1, 0) - q(0, 0)) * fx + (q(0, 1) - q(0, 0)) * fz),
                (true, _, true) => {
                    let up = (q(0, 1) - q(1, 1)) * (1.0 - fx) + (q(1, 0) - q(1, 1)) * (1.0 - fz);
                    (true, q(1, 1) + up)
                }
            };
            assert!((y as f64 / 64.0 - h).abs() <= 0.5 / 64.0 + 1e-6, "{y} for {h}");
            assert!((5.0..=40.0).contains(&(y as f64 / 64.0 / 128.0)));
            let word = (land.word)(cell[0], cell[1]);
            let bit = if second { 2 } else { 1 };
            assert!(word & bit != 0 && word >> 2 & bit == 0, "{cell:?}");
            let scale = f64::from((turn >> 16) as u32) / 4096.0;
            assert!((0.799..=1.201).contains(&scale), "{scale}");
            // By grid z, then x.
            let [g, _] = kind.grid().map(i64::from);
            let grid = (z.div_euclid(g), x.div_euclid(g));
            assert!(grid > last, "{grid:?} after {last:?}");
            last = grid;
        }
    }
}

#[test]
fn slopes_fade_out_and_steep_ones_are_bare() {
    // A plane that rises 1 in 1: 45°.
    let land = Land { height: |x, _| 128 * x, ..Land::flat() };
    let count = |slope_deg| {
        land.ask(&Kind { slope_deg, ..kind() }, [0, 0], [150, 150]).len() as f64 / (150.0 * 150.0 * 4.0)
    };
    assert!(count([44.0, 5.0]) == 0.0 && count([50.0, 5.0]) > 0.94);
    // Half way between 47.5° and 42.5°: (cos 45 − cos 47.5) / (cos 42.5 − cos 47.5) = 0.511.
    assert!((count([47.5, 5.0]) - 0.511).abs() < 0.03, "{}", count([47.5, 5.0]));
}

#[test]
fn what_keeps_its_distance_keeps_it() {
    let kind = Kind { density_per_m2: 1.0, apart_m: 0.9, ..kind() };
    let found = Land::flat().ask(&kind, [0, 0], [60, 60]);
    for (i, a) in found.iter().enumerate() {
        for b in &found[..i] {
            let apart = (0..2).map(|axis| a[axis].abs_diff(b[axis])).max().unwrap();
            assert!(f64::from(apart) >= 0.9 * 65_536.0 - 1.0, "{apart}");
        }
    }
    // More than fit at that distance are fewer.
    let crowded = Kind { density_per_m2: 100.0, apart_m: 1.0, ..kind };
    let found = Land::flat().ask(&crowded, [0, 0], [60, 60]).len();
    assert_eq!(found, 3600);
}

#[test]
fn what_is_out_of_range_is_refused_by_name() {
    let (heights, surface) = (Shared::new(vec![0; 16]), Shared::new(vec![3, 255]));
    let ground = Ground {
        first: CellPos::new(0, 0),
        cells: [1, 1],
        spacing_256: 256,
        k: K,
        diagonal: Diagonal::Main,
        texels: 1,
        heights: &heights,
        surface: &surface,
    };
    let say = |kind: &Kind, ground: &Ground<'_>| {
        scatter(&CpuCompute::new(), kind, ground, &mut Vec::new(), &mut Outputs::new())
            .map_or_else(|e| e.to_string(), |()| "fine".to_owned())
    };
    assert_eq!(say(&kind(), &ground), "fine");
    for (kind, words) in [
        (Kind { density_per_m2: 0.0, ..kind() }, "instances a square metre: expected"),
        (Kind { jitter: f64::NAN, ..kind() }, "jitter: expected 0 to 1, found NaN"),
        (Kind { scale: [2.0, 1.0], ..kind() }, "the largest scale: expected 2 to 15, found 1"),
        (Kind { number: 1 << 31, ..kind() }, "type 2147483648"),
        (Kind { height_m: [0.0, f64::NAN], ..kind() }, "no numbers"),
    ] {
        assert!(say(&kind, &ground).contains(words), "{}", say(&kind, &ground));
    }
    for (ground, words) in [
        (Ground { cells: [2, 1], ..ground }, "has 20 heights and 3 words"),
        (Ground { cells: [0, 1], ..ground }, "0x1 cells"),
        (Ground { texels: 3, ..ground }, "3 texels"),
        (Ground { cells: [40_000, 1], ..ground }, "less than 32768 m"),
    ] {
        assert!(say(&kind(), &ground).contains(words), "{}", say(&kind(), &ground));
    }
}
