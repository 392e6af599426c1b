//! Fuzzy tiles: which instances are drawn together, and how many of them at a distance.
//!
//! Owns the rule that hides a tile's edge: an instance counts to the tile under its position moved by a hashed offset of up
//! to half a tile on each axis, so near an edge membership is shared at random, and the drawn density between tiles blends
//! their factors. Within a tile instances are sorted by their key; a tile draws the first of them. Never draws, never looks
//! at a camera by itself.

use super::Instance;
use std::ops::Range;

/// The instances of one tile.
#[derive(Clone, Debug, PartialEq)]
pub struct Tile {
    /// Tiles from the origin along x and z.
    pub at: [i64; 2],
    /// Its instances in [`Tiles::instances`]: by key.
    pub range: Range<usize>,
}

/// Instances sorted into tiles.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tiles {
    /// All instances, tile by tile.
    pub instances: Vec<Instance>,
    /// The tiles that have any, by z, then x.
    pub tiles: Vec<Tile>,
    /// The side of a tile in metres.
    pub side_m: f64,
}

impl Tiles {
    /// Sorts instances into tiles of `side_m` metres. The order in which they come does not matter.
    ///
    /// # Panics
    /// When the side is not a positive number.
    pub fn new(mut instances: Vec<Instance>, side_m: f64) -> Self {
        assert!(side_m.is_finite() && side_m > 0.0, "a tile of {side_m} m");
        let of = |i: &Instance| {
            let along = |axis: usize| {
                let moved = (f64::from(i.fuzz[axis]) + 0.5) / 256.0 - 0.5;
                (i.position[2 * axis] / side_m + moved).floor() as i64
            };
            [along(0), along(1)]
        };
        let order = |i: &Instance| {
            let [x, z] = of(i);
            let place = |v: f64| v.to_bits() as i64 ^ ((v.to_bits() as i64 >> 63) as u64 >> 1) as i64;
            (z, x, i.key, place(i.position[2]), place(i.position[0]))
        };
        instances.sort_by_cached_key(order);
        let mut tiles: Vec<Tile> = Vec::new();
        for (n, instance) in instances.iter().enumerate() {
            let at = of(instance);
            match tiles.last_mut() {
                Some(tile) if tile.at == at => tile.range.end = n + 1,
                _ => tiles.push(Tile { at, range: n..n + 1 }),
            }
        }
        Self { instances, tiles, side_m }
    }

    /// What a tile draws at a distance from its middle: see [`thinned`].
    pub fn drawn(&self, tile: &Tile, distance_m: f64, cull_m: f64, band_m: f64) -> &[Instance] {
        let count = thinned(tile.range.len(), distance_m, cull_m, band_m);
        &self.instances[tile.range.start..tile.range.start + count]
    }

    /// The middle of a tile: x and z in metres.
    pub fn middle(&self, tile: &Tile) -> [f64; 2] {
        tile.at.map(|at| (at as f64 + 0.5) * self.side_m)
    }
}

/// How many of `count` instances are drawn: all up to `cull − band` metres, none from `cull` on, in between as many as the
/// distance leaves of the band.
pub fn thinned(count: usize, distance_m: f64, cull_m: f64, band_m: f64) -> usize {
    let share = if band_m > 0.0 { (cull_m - distance_m) / band_m } else { f64::from(cull_m > distance_m) };
    (share.clamp(0.0, 1.0) * count as f64).floor() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field() -> Vec<Instance> {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 32) as u32
        };
        (0..40_000)
            .map(|_| {
                let mut place = || f64::from(next()) / 4_294_967_296.0 * 100.0;
                let (x, z) = (place(), place());
                let fuzz = next();
                let (key, fuzz) = (next(), [fuzz as u8, (fuzz >> 8) as u8]);
                Instance { position: [x, 0.0, z], yaw: 0.0, scale: 1.0, normal: [0.0, 1.0, 0.0], key, fuzz }
            })
            .collect()
    }

    #[test]
    fn tiles_hold_every_instance_once_near_themselves_by_key() {
        let instances = field();
        let tiles = Tiles::new(instances.clone(), 8.0);
        assert_eq!(tiles.tiles.iter().map(|t| t.range.len()).sum::<usize>(), instances.len());
        for tile in &tiles.tiles {
            let [x, z] = tiles.middle(tile);
            let inside = &tiles.instances[tile.range.clone()];
            assert!(
                inside.iter().all(|i| (i.position[0] - x).abs() <= 8.0 && (i.position[2] - z).abs() <= 8.0)
            );
            assert!(inside.is_sorted_by_key(|i| i.key));
        }
        let mut other = instances;
        other.reverse();
        assert!(Tiles::new(other, 8.0) == tiles);
    }

    #[test]
    fn thinning_takes_an_even_share_within_eight_percent_and_never_brings_one_back() {
        let tiles = Tiles::new(field(), 20.0);
        let mut last = vec![usize::MAX; tiles.tiles.len()];
        for step in 0..=40 {
            let distance = f64::from(step) * 2.0;
            let share = ((60.0 - distance) / 25.0).clamp(0.0, 1.0);
            let (mut drawn, mut all) = (0, 0);
            for (tile, last) in tiles.tiles.iter().zip(&mut last) {
                let now = tiles.drawn(tile, distance, 60.0, 25.0);
                assert!(now.len() <= *last);
                *last = now.len();
                // An even share of any part of the tile: its northern half.
                let [_, z] = tiles.middle(tile);
                let north = |list: &[Instance]| list.iter().filter(|i| i.position[2] < z).count();
                drawn += north(now);
                all += north(&tiles.instances[tile.range.clone()]);
            }
            let found = drawn as f64 / all as f64;
            assert!((found - share).abs() <= 0.08 * share, "{distance}: {found} for {share}");
        }
        assert_eq!(thinned(10, 59.9, 60.0, 0.0), 10);
        assert_eq!(thinned(10, 60.0, 60.0, 0.0), 0);
    }
}
