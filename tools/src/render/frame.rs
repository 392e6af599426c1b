//! Where cells are on a picture: whole pixels a cell, or whole cells a pixel.
//!
//! A pixel shows the cell that holds its centre and the sample nearest to it (of equally near ones that of smaller x and
//! z). Integers only.

use highground_terrain::config::TerrainConfig;
use std::ops::Range;

/// The most pixels a cell side.
const MAX_CELL_PIXELS: u32 = 64;

/// How large a cell is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    /// So many pixels a cell side.
    Pixels(u32),
    /// So many cells a pixel side.
    Cells(u32),
}

/// A position along an axis: a cell and where in it, in parts of `whole`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) cell: u32,
    pub(super) part: u32,
    pub(super) whole: u32,
}

impl Place {
    /// The nearest sample.
    pub(super) fn sample(self) -> u32 {
        self.cell + u32::from(2 * self.part > self.whole)
    }
}

/// The map's part of a picture.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) scale: Scale,
    /// Cells of the map along x and z.
    pub(super) cells: [u32; 2],
    /// Where the centres of the columns of pixels are.
    pub(super) columns: Vec<Place>,
    /// Where the centres of the rows of pixels are.
    pub(super) rows: Vec<Place>,
    /// Metres a pixel side.
    pub(super) metres_per_pixel: f64,
}

impl Frame {
    /// All cells of a map, as large as fits `max_side` pixels.
    pub(super) fn of(config: &TerrainConfig, max_side: u32) -> Self {
        Self::of_cells(config.samples.map(|n| n - 1), config.spacing_m(), max_side)
    }

    /// So many cells; of whole blocks some lie beyond the map.
    pub(super) fn of_cells(cells: [u32; 2], spacing_m: f64, max_side: u32) -> Self {
        let longest = cells[0].max(cells[1]);
        let scale = match max_side / longest {
            0 => Scale::Cells(longest.div_ceil(max_side.max(1))),
            pixels => Scale::Pixels(pixels.min(MAX_CELL_PIXELS)),
        };
        Self::of_scale(cells, spacing_m, scale)
    }

    /// So many cells at a scale.
    pub(super) fn of_scale(cells: [u32; 2], spacing_m: f64, scale: Scale) -> Self {
        let places = |cells: u32| -> Vec<Place> {
            match scale {
                Scale::Pixels(p) => (0..cells * p)
                    .map(|at| Place { cell: at / p, part: 2 * (at % p) + 1, whole: 2 * p })
                    .collect(),
                // The last pixel may reach beyond the last cell, its centre too.
                Scale::Cells(c) => (0..cells.div_ceil(c))
                    .map(|at| (2 * u64::from(at) + 1) * u64::from(c))
                    .map(|twice| match (twice / 2).min(u64::from(cells - 1)) as u32 {
                        cell if twice / 2 == u64::from(cell) => {
                            Place { cell, part: (twice % 2) as u32, whole: 2 }
                        }
                        cell => Place { cell, part: 0, whole: 2 },
                    })
                    .collect(),
            }
        };
        let (columns, rows) = (places(cells[0]), places(cells[1]));
        let metres_per_pixel = match scale {
            Scale::Pixels(p) => spacing_m / f64::from(p),
            Scale::Cells(c) => spacing_m * f64::from(c),
        };
        Self { scale, cells, columns, rows, metres_per_pixel }
    }

    pub(super) fn width(&self) -> u32 {
        self.columns.len() as u32
    }

    pub(super) fn height(&self) -> u32 {
        self.rows.len() as u32
    }

    /// The pixels of an axis whose centre lies in a range of cells.
    pub(super) fn pixels(places: &[Place], cells: Range<u32>) -> Range<usize> {
        let below = |limit: u32| places.partition_point(|p| p.cell < limit);
        below(cells.start)..below(cells.end)
    }

    /// The pixel that a cell of an axis lies in; the first one where it has several.
    pub(super) fn pixel_of(&self, cell: u32) -> u32 {
        match self.scale {
            Scale::Pixels(p) => cell * p,
            Scale::Cells(c) => cell / c,
        }
    }

    /// A rectangle of cells, cut off at the map's far edges, in pixels from the map's corner: x0, y0, x1, y1. At least a
    /// pixel a side where any of it is on the map.
    pub(super) fn rectangle(&self, x: Range<u64>, z: Range<u64>) -> [i64; 4] {
        let edge = |at: u64, all: u32| {
            let at = at.min(u64::from(all));
            match self.scale {
                Scale::Pixels(p) => (at * u64::from(p)) as i64,
                Scale::Cells(c) => (at / u64::from(c)) as i64,
            }
        };
        let [x0, x1] = [x.start, x.end].map(|v| edge(v, self.cells[0]));
        let [y0, y1] = [z.start, z.end].map(|v| edge(v, self.cells[1]));
        let (w, h) = (i64::from(self.width()), i64::from(self.height()));
        // The last pixel belongs to the last cells even where they do not fill it.
        let far = |end: u64, all: u32, at: i64, most: i64| if end >= u64::from(all) { most } else { at };
        let (x1, y1) = (far(x.end, self.cells[0], x1, w), far(z.end, self.cells[1], y1, h));
        [x0, y0, x1.max(x0 + 1).min(w), y1.max(y0 + 1).min(h)]
    }

    /// The scale in words.
    pub(super) fn words(&self) -> String {
        match self.scale {
            Scale::Pixels(1) => "1 pixel a cell".to_owned(),
            Scale::Pixels(p) => format!("{p} pixels a cell"),
            Scale::Cells(c) => format!("1 pixel = {c} x {c} cells"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(samples: [u32; 2], side: u32) -> Frame {
        Frame::of(&TerrainConfig::new(samples, 512), side)
    }

    #[test]
    fn pixels_show_the_cell_and_the_sample_at_their_centre() {
        let f = frame([4, 3], 6);
        assert_eq!((f.scale, f.width(), f.height(), f.metres_per_pixel), (Scale::Pixels(2), 6, 4, 1.0));
        let said: Vec<[u32; 2]> = f.columns.iter().map(|p| [p.cell, p.sample()]).collect();
        assert_eq!(said, [[0, 0], [0, 1], [1, 1], [1, 2], [2, 2], [2, 3]]);
        // Ten cells in four pixels: centres at 1.5, 4.5, 7.5, and 10.5, which is beyond the last cell.
        let f = frame([11, 2], 4);
        assert_eq!((f.scale, f.width(), f.height()), (Scale::Cells(3), 4, 1));
        assert_eq!(
            f.columns.iter().map(|p| [p.cell, p.sample()]).collect::<Vec<_>>(),
            [[1, 1], [4, 4], [7, 7], [9, 9]]
        );
        assert_eq!(Frame::pixels(&f.columns, 2..8), 1..3);
        assert_eq!(f.rectangle(8..32, 0..32), [2, 0, 4, 1]);
    }

    #[test]
    fn every_side_fits() {
        for (samples, side) in
            [([131_072, 2], 1024), ([2, 131_072], 64), ([2, 2], 1024), ([1025, 1026], 1024)]
        {
            let f = frame(samples, side);
            assert!(f.width().max(f.height()) <= side && f.width().min(f.height()) >= 1);
            assert!(f.columns.iter().all(|p| p.cell < f.cells[0] && p.sample() <= f.cells[0]));
        }
    }
}
