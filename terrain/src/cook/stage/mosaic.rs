//! Tiles side by side, with their shared samples checked.

use super::simple::move_strips;
use super::{Made, Stages, Told, field_bytes};
use crate::cook::error::CookError;
use crate::cook::field::Field;
use crate::cook::plan::{Mosaic, Seams};
use std::collections::BTreeSet;

/// Shared samples that differ.
#[derive(Debug, Default, PartialEq)]
struct Differences {
    count: u64,
    /// Those seen, by row and column.
    seen: BTreeSet<[u32; 2]>,
    /// Of the first: its sample in the mosaic, what was there and what the later tile has.
    first: Option<([u32; 2], f64, f64)>,
    /// The largest difference in metres, among those with two heights.
    largest_m: f64,
}

impl Stages<'_> {
    pub(super) fn mosaic(&self, m: &Mosaic, at: &str, held: u64) -> Result<Made, CookError> {
        let mut whole: Option<Joined> = None;
        let (mut holes, mut strips, mut told) = (Vec::new(), Vec::new(), Told::default());
        for (row, tiles) in m.tiles.iter().enumerate() {
            for (column, tile) in tiles.iter().enumerate() {
                let name = format!("{at}.tiles[{row}][{column}]");
                let own = whole.as_ref().map_or(0, |w| field_bytes(w.field.size()) / 8 * 9);
                let made = self.make(tile, &[], &format!("{name}."), held + own)?;
                let joined = match &mut whole {
                    Some(joined) => joined,
                    None => {
                        let size = self.mosaic_size(made.field.size(), m, at)?;
                        self.admit(at, size, held + field_bytes(made.field.size()) + field_bytes(size) / 8)?;
                        whole.insert(Joined::new(size, &made.field))
                    }
                };
                let place = joined
                    .add(&made.field, [column as u32, row as u32], m.seams)
                    .map_err(|e| self.rule(format!("{name}: {e}")))?;
                let s = made.field.spacing_m();
                let mut own = made.strips;
                move_strips(&mut own, f64::from(place[0]) * s, f64::from(place[1]) * s);
                strips.extend(own);
                holes.extend(made.holes.iter().map(|c| [c[0] + place[0], c[1] + place[1]]));
                told.join(made.told);
            }
        }
        // A checked mosaic has a tile.
        let Some(joined) = whole else { return Err(self.rule(format!("{at}: a mosaic without tiles"))) };
        if let Some(message) = joined.differences.say() {
            if m.seams == Seams::Error {
                return Err(self.rule(format!(
                    "{at}: {message}; expected the edge samples that tiles share to be equal: mend the tiles, or say seams: first or seams: average"
                )));
            }
            told.notes.push(format!("mosaic: {message}"));
        }
        holes.sort_unstable_by_key(|c| (c[1], c[0]));
        Ok(Made { field: joined.finish(m.seams), holes, strips, told })
    }

    fn mosaic_size(&self, tile: [u32; 2], m: &Mosaic, at: &str) -> Result<[u32; 2], CookError> {
        let tiles = [m.tiles[0].len() as u64, m.tiles.len() as u64];
        let side = |i: usize| (u64::from(tile[i]) - 1) * tiles[i] + 1;
        match (u32::try_from(side(0)), u32::try_from(side(1))) {
            (Ok(w), Ok(h)) => Ok([w, h]),
            _ => Err(self.rule(format!(
                "{at}: {}x{} samples are more than a terrain may have",
                side(0),
                side(1)
            ))),
        }
    }
}

impl Differences {
    fn say(&self) -> Option<String> {
        let ([x, z], a, b) = self.first?;
        let metres = |m: f64| if m.is_nan() { "none".to_owned() } else { format!("{m} m") };
        Some(format!(
            "{} shared samples differ, by up to {} m, the first at ({x}, {z}): {} and {}",
            self.count,
            self.largest_m,
            metres(a),
            metres(b)
        ))
    }

    fn note(&mut self, at: [u32; 2], a: f64, b: f64) {
        if a == b || (a.is_nan() && b.is_nan()) {
            return;
        }
        // Up to four tiles share a sample, which differs once.
        if self.seen.insert([at[1], at[0]]) {
            self.count += 1;
        }
        if !a.is_nan() && !b.is_nan() {
            self.largest_m = self.largest_m.max((a - b).abs());
        }
        self.first.get_or_insert((at, a, b));
    }
}

/// Tiles joined so far.
struct Joined {
    field: Field,
    tile: [u32; 2],
    /// How many heights were summed in a sample, where means are asked for.
    counts: Vec<u8>,
    differences: Differences,
}

impl Joined {
    fn new(size: [u32; 2], tile: &Field) -> Self {
        Self {
            field: Field::level(size, tile.spacing_256(), f64::NAN),
            tile: tile.size(),
            counts: Vec::new(),
            differences: Differences::default(),
        }
    }

    /// Adds a tile by its column and row; gives its first sample.
    fn add(&mut self, tile: &Field, at: [u32; 2], seams: Seams) -> Result<[u32; 2], String> {
        if tile.size() != self.tile || tile.spacing_256() != self.field.spacing_256() {
            return Err(format!(
                "expected a tile of {}x{} samples, {} m apart, like the first, found {}x{}, {} m apart{}",
                self.tile[0],
                self.tile[1],
                self.field.spacing_m(),
                tile.size()[0],
                tile.size()[1],
                tile.spacing_m(),
                // Degrees become metres at each tile's own latitude.
                if tile.spacing_256() == self.field.spacing_256() {
                    ""
                } else {
                    ": give every tile the same spacing_m, so that samples are taken one to one"
                }
            ));
        }
        if seams == Seams::Average && self.counts.is_empty() {
            self.counts = vec![0; self.field.metres().len()];
        }
        let first = [at[0] * (self.tile[0] - 1), at[1] * (self.tile[1] - 1)];
        let width = self.field.width();
        for z in 0..self.tile[1] {
            for x in 0..self.tile[0] {
                let here = [first[0] + x, first[1] + z];
                let i = here[1] as usize * width + here[0] as usize;
                let new = tile.at(x as usize, z as usize);
                let old = self.field.metres()[i];
                // Only these were filled by an earlier tile.
                if (x == 0 && at[0] > 0) || (z == 0 && at[1] > 0) {
                    let count = self.counts.get(i).copied().unwrap_or(1).max(1);
                    self.differences.note(here, old / f64::from(count), new);
                }
                self.put(i, old, new);
            }
        }
        Ok(first)
    }

    fn put(&mut self, i: usize, old: f64, new: f64) {
        if new.is_nan() {
            return;
        }
        if let Some(count) = self.counts.get_mut(i) {
            *count += 1;
            self.field.metres_mut()[i] = if old.is_nan() { new } else { old + new };
        } else if old.is_nan() {
            self.field.metres_mut()[i] = new;
        }
    }

    fn finish(mut self, seams: Seams) -> Field {
        if seams == Seams::Average {
            for (m, &count) in self.field.metres_mut().iter_mut().zip(&self.counts).filter(|(_, c)| **c > 1) {
                *m /= f64::from(count);
            }
        }
        self.field
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tile(values: [f64; 4]) -> Field {
        Field::new([2, 2], 256, values.to_vec())
    }

    fn join(seams: Seams, tiles: [[[f64; 4]; 2]; 2]) -> (Vec<f64>, Differences) {
        let mut joined = Joined::new([3, 3], &tile(tiles[0][0]));
        for (z, row) in tiles.into_iter().enumerate() {
            for (x, values) in row.into_iter().enumerate() {
                let first = joined.add(&tile(values), [x as u32, z as u32], seams).unwrap();
                assert_eq!(first, [x as u32, z as u32]);
            }
        }
        let differences = std::mem::take(&mut joined.differences);
        (joined.finish(seams).metres().to_vec(), differences)
    }

    #[test]
    fn equal_edges_join_and_every_difference_is_counted() {
        let good =
            [[[0.0, 1.0, 3.0, 4.0], [1.0, 2.0, 4.0, 5.0]], [[3.0, 4.0, 6.0, 7.0], [4.0, 5.0, 7.0, 8.0]]];
        let (whole, d) = join(Seams::Error, good);
        assert_eq!((whole, d), ((0..9).map(f64::from).collect(), Differences::default()));
        // The middle has four owners: 4, 8, 4 and 0; the sample right of it 5 and 7.
        let odd =
            [[[0.0, 1.0, 3.0, 4.0], [1.0, 2.0, 8.0, 5.0]], [[3.0, 4.0, 6.0, 7.0], [0.0, 7.0, 7.0, 8.0]]];
        let (whole, d) = join(Seams::First, odd);
        assert_eq!(whole, (0..9).map(f64::from).collect::<Vec<_>>());
        assert_eq!((d.count, d.first, d.largest_m), (2, Some(([1, 1], 4.0, 8.0)), 4.0));
        assert_eq!(join(Seams::Average, odd).0, [0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 6.0, 7.0, 8.0]);
    }

    #[test]
    fn a_void_at_a_seam_differs_and_gives_way() {
        let v = f64::NAN;
        let tiles =
            [[[0.0, v, 3.0, 4.0], [1.0, 2.0, 4.0, 5.0]], [[3.0, 4.0, 6.0, 7.0], [4.0, 5.0, 7.0, 8.0]]];
        let (whole, d) = join(Seams::First, tiles);
        assert_eq!((whole, d.count), ((0..9).map(f64::from).collect(), 1));
        assert!(d.say().unwrap().contains("(1, 0): none and 1 m"));
        assert_eq!(join(Seams::Average, tiles).0[1], 1.0);
    }

    #[test]
    fn tiles_of_another_size_are_refused() {
        let mut joined = Joined::new([3, 2], &tile([0.0; 4]));
        assert!(joined.add(&Field::level([3, 2], 256, 0.0), [0, 0], Seams::Error).is_err());
        assert!(joined.add(&Field::level([2, 2], 512, 0.0), [0, 0], Seams::Error).is_err());
    }
}
