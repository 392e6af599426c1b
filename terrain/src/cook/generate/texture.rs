//! Layer textures out of nothing: tiling fields of noise made into albedo, normals and the rest.
//!
//! Owns the recipe of one layer (RON, `content/layers`) and its images. The images are like an artist's and go the same way
//! from there: mips are the packer's business. IEEE `+ − × ÷ √ floor` over integer lattices, so the bytes are the same on
//! every machine.

use super::{hash, unit, within};
use crate::image::Image;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// The most texels a side that are made.
const MAX_SIDE: u32 = 1024;

/// The most lattice cells a side and octave.
const MAX_CELLS: u32 = 512;

/// What a part's field looks like. All go from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// Smooth value noise.
    Clouds,
    /// Sharp crests.
    Ridges,
    /// Round stones: 1 in the middle of each, 0 between (Worley, "A Cellular Texture Basis Function", 1996).
    Stones,
    /// One flat value a stone.
    Chips,
}

/// One field of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// What it looks like.
    pub kind: PartKind,
    /// Lattice cells along u and v that the texture holds.
    pub cells: (u32, u32),
    /// Finer ones on top, each half as strong.
    #[serde(default = "one_octave")]
    pub octaves: u32,
    /// How much of the sum it is.
    #[serde(default = "whole")]
    pub weight: f64,
}

const fn one_octave() -> u32 {
    1
}

const fn whole() -> f64 {
    1.0
}

/// The recipe of a layer's texture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Texture {
    /// Another seed is another texture.
    pub seed: u64,
    /// What is high; brought to 0 to 1.
    pub height: Vec<Part>,
    /// Which colour: 0 is the first, 1 the last. Brought to 0 to 1.
    pub tone: Vec<Part>,
    /// How much of the tone is the height instead.
    #[serde(default)]
    pub tone_of_height: f64,
    /// sRGB colours, at least two, spread evenly over the tone.
    pub colours: Vec<(u8, u8, u8)>,
    /// Roughness of what is low and of what is high.
    pub roughness: (f64, f64),
    /// How much darker what lies deeper than its surroundings is, 0 to 1.
    #[serde(default)]
    pub occlusion: f64,
    /// Metallic.
    #[serde(default)]
    pub metallic: f64,
    /// Height of the relief as a part of a repeat.
    pub relief: f64,
}

/// A layer's images, all of one size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextureImages {
    /// sRGB.
    pub albedo: Image,
    /// Tangent normals, Y up.
    pub normal: Image,
    /// Occlusion, roughness, metallic.
    pub orm: Image,
    /// Height.
    pub height: Image,
}

impl Texture {
    /// Reads a recipe; `name` is what errors name.
    ///
    /// # Errors
    /// Text that is no recipe, with line and column, or numbers that make no texture.
    pub fn parse(text: &str, name: &str) -> Result<Self, String> {
        let texture: Self = ron::from_str(text).map_err(|e| format!("{name}:{e}"))?;
        texture.check().map_err(|e| format!("{name}: {e}"))?;
        Ok(texture)
    }

    /// Refuses what makes no texture.
    ///
    /// # Errors
    /// What was expected and found.
    pub fn check(&self) -> Result<(), String> {
        for (what, parts) in [("height", &self.height), ("tone", &self.tone)] {
            if parts.is_empty() || parts.len() > 8 {
                return Err(format!("{what} must have 1 to 8 parts, found {}", parts.len()));
            }
            for p in parts {
                within(&format!("weight of {what}"), p.weight, 1e-6, 1e6)?;
                let cells = |n: u32| u64::from(n) << (p.octaves.clamp(1, 17) - 1);
                let finest = cells(p.cells.0).max(cells(p.cells.1));
                let none = p.cells.0.min(p.cells.1) == 0 || p.octaves == 0;
                if none || p.octaves > 16 || finest > u64::from(MAX_CELLS) {
                    return Err(format!(
                        "{what} must have 1 to {MAX_CELLS} cells in its finest octave, found {:?} and {} octaves",
                        p.cells, p.octaves
                    ));
                }
            }
        }
        if !(2..=16).contains(&self.colours.len()) {
            return Err(format!("colours must be 2 to 16, found {}", self.colours.len()));
        }
        within("roughness", self.roughness.0, 0.0, 1.0)?;
        within("roughness", self.roughness.1, 0.0, 1.0)?;
        within("occlusion", self.occlusion, 0.0, 1.0)?;
        within("metallic", self.metallic, 0.0, 1.0)?;
        within("tone_of_height", self.tone_of_height, 0.0, 1.0)?;
        within("relief", self.relief, 0.0, 1.0)
    }

    /// The images, of `side` texels a side.
    ///
    /// # Errors
    /// A side that is not a power of two up to 1024.
    pub fn images(&self, side: u32) -> Result<TextureImages, String> {
        self.check()?;
        if !side.is_power_of_two() || side > MAX_SIDE {
            return Err(format!(
                "textures are made of a power of two up to {MAX_SIDE} texels a side, found {side}"
            ));
        }
        let height = sum(&self.height, self.seed, side);
        let tone = sum(&self.tone, self.seed ^ 0x5851_F42D_4C95_7F2D, side);
        let n = side as usize;
        let (mut albedo, mut normal, mut orm, mut high) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (i, (&h, &t)) in height.iter().zip(&tone).enumerate() {
            let (x, y) = (i % n, i / n);
            let at = |dx: usize, dy: usize| height[(y + dy) % n * n + (x + dx) % n];
            let t = t + (h - t) * self.tone_of_height;
            albedo.extend(self.colour(t));
            // Differences over two texels, as a slope of the relief.
            let slope = |a: f64, b: f64| (b - a) * self.relief * f64::from(side) / 2.0;
            let (du, dv) = (slope(at(n - 1, 0), at(1, 0)), slope(at(0, n - 1), at(0, 1)));
            let length = (du * du + dv * dv + 1.0).sqrt();
            normal.extend([-du, dv, 1.0].map(|c| byte(c / length * 0.5 + 0.5)));
            let reach = (n / 32).max(1);
            let around = [(reach, 0), (n - reach, 0), (0, reach), (0, n - reach)].map(|(a, b)| at(a, b));
            let deep = (around.iter().sum::<f64>() / 4.0 - h).max(0.0);
            let (low, top) = self.roughness;
            orm.extend(
                [1.0 - self.occlusion * (2.0 * deep).min(1.0), low + (top - low) * h, self.metallic]
                    .map(byte),
            );
            high.push(byte(h));
        }
        let image =
            |channels, bytes| Image::new([side; 2], channels, 8, bytes).ok_or("a byte a channel".to_owned());
        Ok(TextureImages {
            albedo: image(3, albedo)?,
            normal: image(3, normal)?,
            orm: image(3, orm)?,
            height: image(1, high)?,
        })
    }

    fn colour(&self, tone: f64) -> [u8; 3] {
        let at = tone.clamp(0.0, 1.0) * (self.colours.len() - 1) as f64;
        let first = (at.floor() as usize).min(self.colours.len() - 2);
        let (a, b, part) = (self.colours[first], self.colours[first + 1], at - first as f64);
        let mix = |a: u8, b: u8| byte((f64::from(a) + (f64::from(b) - f64::from(a)) * part) / 255.0);
        [mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2)]
    }
}

/// The nearest of 255 steps, half up.
fn byte(v: f64) -> u8 {
    (v.clamp(0.0, 1.0) * 255.0 + 0.5).floor() as u8
}

/// The weighted sum of parts, brought to 0 to 1.
fn sum(parts: &[Part], seed: u64, side: u32) -> Vec<f64> {
    let n = side as usize;
    let mut out = vec![0.0; n * n];
    out.par_chunks_mut(n).enumerate().for_each(|(y, row)| {
        for (x, v) in row.iter_mut().enumerate() {
            let at = [x, y].map(|i| (i as f64 + 0.5) / f64::from(side));
            *v = parts.iter().enumerate().map(|(i, p)| p.weight * p.at(hash(seed, i as i64, 0), at)).sum();
        }
    });
    let low = out.iter().copied().fold(f64::INFINITY, f64::min);
    let high = out.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let range = if high > low { high - low } else { 1.0 };
    out.iter_mut().for_each(|v| *v = (*v - low) / range);
    out
}

impl Part {
    fn at(&self, seed: u64, [u, v]: [f64; 2]) -> f64 {
        let (mut total, mut most, mut share) = (0.0, 0.0, 1.0);
        for octave in 0..self.octaves {
            let cells = (i64::from(self.cells.0) << octave, i64::from(self.cells.1) << octave);
            let (x, y) = (u * cells.0 as f64, v * cells.1 as f64);
            let seed = hash(seed, i64::from(octave), 1);
            let own = match self.kind {
                PartKind::Clouds => clouds(seed, cells, x, y),
                PartKind::Ridges => 1.0 - (2.0 * clouds(seed, cells, x, y) - 1.0).abs(),
                PartKind::Stones => (1.0 - stones(seed, cells, x, y).0).max(0.0),
                PartKind::Chips => stones(seed, cells, x, y).1,
            };
            total += share * own;
            most += share;
            share *= 0.5;
        }
        total / most
    }
}

/// Value noise that repeats after so many cells.
fn clouds(seed: u64, cells: (i64, i64), x: f64, y: f64) -> f64 {
    let (ix, iy) = (x.floor(), y.floor());
    let fade = |t: f64| t * t * t * (t * (t * 6.0 - 15.0) + 10.0);
    let (fx, fy) = (fade(x - ix), fade(y - iy));
    let at = |dx: i64, dy: i64| {
        unit(hash(seed, (ix as i64 + dx).rem_euclid(cells.0), (iy as i64 + dy).rem_euclid(cells.1)))
    };
    let mix = |a: f64, b: f64, t: f64| a + (b - a) * t;
    mix(mix(at(0, 0), at(1, 0), fx), mix(at(0, 1), at(1, 1), fx), fy)
}

/// The distance to the nearest of one point a cell, and that point's own value.
fn stones(seed: u64, cells: (i64, i64), x: f64, y: f64) -> (f64, f64) {
    let (ix, iy) = (x.floor() as i64, y.floor() as i64);
    let mut nearest = (f64::INFINITY, 0.0);
    for cy in iy - 1..=iy + 1 {
        for cx in ix - 1..=ix + 1 {
            let h = hash(seed, cx.rem_euclid(cells.0), cy.rem_euclid(cells.1));
            let (px, py) = (cx as f64 + unit(h), cy as f64 + unit(hash(h, 1, 0)));
            let squared = (px - x) * (px - x) + (py - y) * (py - y);
            if squared < nearest.0 {
                nearest = (squared, unit(hash(h, 2, 0)));
            }
        }
    }
    (nearest.0.sqrt(), nearest.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texture() -> Texture {
        let text = "(seed: 3, height: [(kind: stones, cells: (4, 8), octaves: 2)], tone: [(kind: clouds, cells: (3, 3))],
            colours: [(10, 20, 30), (200, 100, 50)], roughness: (0.2, 0.8), occlusion: 0.5, relief: 0.02)";
        Texture::parse(text, "t.ron").unwrap()
    }

    #[test]
    fn a_texture_uses_its_whole_range_and_any_number_of_threads_gives_the_same() {
        let make = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| texture().images(64).unwrap())
        };
        let images = make(1);
        assert!(images == make(3));
        let heights = images.height.bytes();
        assert_eq!((heights.iter().min(), heights.iter().max()), (Some(&0), Some(&255)));
        // Colours lie between the first and the last, roughness between low and high.
        assert!(
            images.albedo.bytes().chunks(3).all(|c| (10..=200).contains(&c[0]) && (30..=50).contains(&c[2]))
        );
        assert!(images.orm.bytes().chunks(3).all(|c| (51..=204).contains(&c[1]) && c[0] >= 127 && c[2] == 0));
        assert!(texture().images(48).is_err() && texture().images(2048).is_err());
    }

    #[test]
    fn a_texture_has_no_edge_where_it_meets_itself() {
        // Steps across the edge are not larger than the largest within.
        let images = texture().images(64).unwrap();
        let h = |x: usize, y: usize| i32::from(images.height.bytes()[y % 64 * 64 + x % 64]);
        let step = |x: usize| (0..64).map(|y| h(x, y).abs_diff(h(x + 1, y))).max().unwrap();
        let inner = (0..63).map(step).max().unwrap();
        assert!(step(63) <= inner, "{} {inner}", step(63));
        // Means of normals over a closed texture are straight up.
        let mean = |c: usize| {
            images.normal.bytes().iter().skip(c).step_by(3).map(|&b| f64::from(b)).sum::<f64>() / 4096.0
        };
        assert!((mean(0) - 127.5).abs() < 3.0 && (mean(1) - 127.5).abs() < 3.0, "{} {}", mean(0), mean(1));
    }

    #[test]
    fn normals_lean_away_from_what_is_high() {
        let images = texture().images(64).unwrap();
        for y in 0..64usize {
            for x in 0..64usize {
                let h = |dx: usize, dy: usize| {
                    i32::from(images.height.bytes()[(y + dy) % 64 * 64 + (x + dx) % 64])
                };
                let n = &images.normal.bytes()[(y * 64 + x) * 3..][..3];
                // X against a rise to the right; Y up the image, with a rise downwards.
                let (du, dv) = (h(1, 0) - h(63, 0), h(0, 1) - h(0, 63));
                assert!(du.abs() < 9 || (n[0] < 128) == (du > 0), "{x} {y}");
                assert!(dv.abs() < 9 || (n[1] > 127) == (dv > 0), "{x} {y}");
            }
        }
    }

    #[test]
    fn impossible_recipes_are_refused_with_their_place() {
        let e = Texture::parse("(seed: 1,\n what: 2)", "a.ron").unwrap_err();
        assert!(e.starts_with("a.ron:2:"), "{e}");
        let refuse = |change: fn(&mut Texture), words: &str| {
            let mut t = texture();
            change(&mut t);
            assert!(t.check().unwrap_err().contains(words), "{:?}", t.check());
        };
        refuse(|t| t.height.clear(), "height");
        refuse(|t| t.tone[0].cells = (0, 3), "cells");
        refuse(|t| t.tone[0].octaves = 40, "cells");
        refuse(|t| t.colours.truncate(1), "colours");
        refuse(|t| t.roughness.1 = f64::NAN, "roughness");
        refuse(|t| t.relief = -1.0, "relief");
    }
}
