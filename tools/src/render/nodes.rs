//! Pictures of blocks and of the nodes of the quadtree: states, ranges, skip masks.

use super::frame::Frame;
use super::page::Entry;
use super::paint::{height_ramp, hypsometric};
use crate::canvas::{Canvas, Rgb};
use crate::map::OUTSIDE;
use crate::{Failure, summary};
use highground_terrain::coord::{BlockPos, CellPos};
use highground_terrain::format::payload::SkipNodes;
use highground_terrain::kernel::pyramid::{self, MinMax, NODE_CELLS};
use highground_terrain::state::DataState;
use highground_terrain::store::{BlockSource, PayloadFile};
use highground_terrain::surface::Triangle;

/// The colours of block states, in the order of their legend.
const STATES: [(DataState, &str, Rgb); 6] = [
    (DataState::Unknown, "unknown", [128, 128, 134]),
    (DataState::Pending, "pending", [245, 205, 70]),
    (DataState::Valid, "valid", [86, 160, 96]),
    (DataState::Empty, "empty", [90, 140, 215]),
    (DataState::OutOfRange, "out of range", OUT_OF_RANGE),
    (DataState::Failed, "failed", [205, 30, 30]),
];
pub(super) const OUT_OF_RANGE: Rgb = [40, 42, 50];

const DRAWN: Rgb = [196, 206, 190];
const SKIPPED: Rgb = [226, 88, 78];
const GRID: Rgb = [40, 70, 150];
const VOIDS: Rgb = [128, 128, 134];

/// Where a map lies on its page, and what is drawn on it.
pub(super) struct Sheet<'a> {
    pub(super) canvas: &'a mut Canvas,
    pub(super) frame: &'a Frame,
    pub(super) x: i64,
    pub(super) y: i64,
}

impl Sheet<'_> {
    pub(super) fn fill(&mut self, [x0, y0, x1, y1]: [i64; 4], colour: Rgb) {
        self.canvas.tint(self.x + x0, self.y + y0, self.x + x1, self.y + y1, colour, 1.0);
    }

    pub(super) fn outline(&mut self, [x0, y0, x1, y1]: [i64; 4], colour: Rgb, share: f64) {
        self.canvas.outline(self.x + x0, self.y + y0, self.x + x1, self.y + y1, colour, share);
    }

    /// A disc, as far as its centre is on the map.
    pub(super) fn disc(&mut self, x: f64, y: f64, radius: f64, colour: Rgb) {
        let on = |v: f64, most: u32| v >= 0.0 && v <= f64::from(most);
        if on(x, self.frame.width()) && on(y, self.frame.height()) {
            self.canvas.disc(self.x as f64 + x, self.y as f64 + y, radius, colour);
        }
    }
}

/// The frame of a picture of blocks. The cells of the last ones may all lie beyond the map: they have samples all the same.
pub(super) fn whole_blocks(file: &PayloadFile, max_side: u32) -> Frame {
    let n = file.block_side().samples() as u32;
    Frame::of_cells(
        file.config().blocks(file.block_side()).map(|b| b * n),
        file.config().spacing_m(),
        max_side,
    )
}

/// The state of every block, row-major: each is read.
pub(super) fn read_states(file: &PayloadFile, progress: &dyn Fn(u64)) -> Vec<DataState> {
    let [w, h] = file.config().blocks(file.block_side());
    let mut states = Vec::with_capacity(w as usize * h as usize);
    for z in 0..h as i32 {
        for x in 0..w as i32 {
            states.push(summary::read_state(file, BlockPos::new(x, z)).unwrap_or(DataState::Failed));
        }
        progress(z as u64 + 1);
    }
    states
}

/// The legend of block states, with how many there are of each.
pub(super) fn state_legend(states: &[DataState]) -> Vec<Entry> {
    let entry = |(state, name, colour): (DataState, &str, Rgb)| match state {
        DataState::OutOfRange => Entry::swatch(colour, "out of range: beyond the map"),
        _ => {
            let count = states.iter().filter(|s| **s == state).count();
            Entry::swatch(colour, &format!("{name}: {count}"))
        }
    };
    STATES.map(entry).into()
}

/// Paints every block. What is not Valid is painted last and never smaller than three pixels.
pub(super) fn draw_states(sheet: &mut Sheet<'_>, file: &PayloadFile, states: &[DataState]) {
    let n = file.block_side().samples() as u64;
    let width = file.config().blocks(file.block_side())[0] as usize;
    let colour = |s: DataState| STATES.iter().find(|t| t.0 == s).map_or(OUT_OF_RANGE, |t| t.2);
    for wanted in [DataState::Valid, DataState::Empty, DataState::Failed] {
        for (i, &state) in states.iter().enumerate().filter(|s| *s.1 == wanted) {
            let (x, z) = ((i % width) as u64, (i / width) as u64);
            let mut at = sheet.frame.rectangle(x * n..(x + 1) * n, z * n..(z + 1) * n);
            if wanted == DataState::Failed {
                at = [at[0], at[1], at[2].max(at[0] + 3), at[3].max(at[1] + 3)];
                at[2] = at[2].min(i64::from(sheet.frame.width()));
                at[3] = at[3].min(i64::from(sheet.frame.height()));
            }
            sheet.fill(at, colour(state));
            if at[2] - at[0] >= 5 && at[3] - at[1] >= 5 {
                sheet.outline(at, [0; 3], 0.25);
            }
        }
    }
}

/// A level of the quadtree that was asked for, or the one that is shown unasked.
pub(super) fn level(file: &PayloadFile, asked: Option<u32>, unasked: u32) -> Result<u32, Failure> {
    let most = pyramid::levels(file.config().samples.map(|s| s - 1)) - 1;
    match asked {
        None => Ok(unasked.min(most)),
        Some(level) if level <= most => Ok(level),
        Some(level) => {
            Err(Failure::input(format!("--level: this terrain has levels 0 to {most}, not {level}")))
        }
    }
}

/// The legend of a level's ranges.
pub(super) fn range_legend(file: &PayloadFile, ranges: &[MinMax]) -> Vec<Entry> {
    let metres = |q: i32| file.config().quantum.to_metres(q);
    let mut entries = Vec::new();
    if let Some((low, high)) = file.height_range() {
        entries.push(height_ramp(metres(low), metres(high)));
    }
    if ranges.iter().any(|r| r.get().is_none()) {
        entries.push(Entry::swatch(VOIDS, "no sample"));
    }
    entries
}

/// Paints every node of a level: its highest sample upper left, its lowest lower right.
pub(super) fn draw_ranges(sheet: &mut Sheet<'_>, file: &PayloadFile, level: u32, ranges: &[MinMax]) {
    let metres = |q: i32| file.config().quantum.to_metres(q);
    let (low, high) = file.height_range().map_or((0.0, 0.0), |(a, b)| (metres(a), metres(b)));
    let colour = |q: i32| hypsometric(metres(q), low, high);
    each_node(sheet, level, |sheet, index, at| {
        let Some((min, max)) = ranges[index].get() else { return sheet.fill(at, VOIDS) };
        sheet.fill(at, colour(max));
        let (w, h) = (at[2] - at[0], at[3] - at[1]);
        for y in 0..h {
            // The pixel's middle, below the line from lower left to upper right.
            let from = (0..w).find(|&x| (2 * x + 1) * h + (2 * y + 1) * w > 2 * w * h).unwrap_or(w);
            sheet.fill([at[0] + from, at[1] + y, at[2], at[1] + y + 1], colour(min));
        }
        grid(sheet, at);
    });
}

/// Outlines a node that is large enough.
fn grid(sheet: &mut Sheet<'_>, at: [i64; 4]) {
    if at[2] - at[0] >= 12 && at[3] - at[1] >= 12 {
        sheet.outline(at, GRID, 0.6);
    }
}

fn each_node(sheet: &mut Sheet<'_>, level: u32, mut draw: impl FnMut(&mut Sheet<'_>, usize, [i64; 4])) {
    let [w, h] = pyramid::nodes(sheet.frame.cells, level);
    let span = u64::from(NODE_CELLS) << level;
    for z in 0..u64::from(h) {
        for x in 0..u64::from(w) {
            let at = sheet.frame.rectangle(x * span..(x + 1) * span, z * span..(z + 1) * span);
            draw(sheet, (z * u64::from(w) + x) as usize, at);
        }
    }
}

/// The outlines of a level's nodes.
pub(super) fn draw_grid(sheet: &mut Sheet<'_>, level: u32) {
    each_node(sheet, level, |sheet, _, at| grid(sheet, at));
}

/// The legend of a level's skip masks.
pub(super) fn skip_legend() -> Vec<Entry> {
    vec![
        Entry::swatch(DRAWN, "drawn"),
        Entry::swatch(SKIPPED, "skipped: nothing shows under it"),
        Entry::swatch(OUTSIDE, "outside the valid extent"),
        Entry::swatch(GRID, "nodes"),
    ]
}

/// Paints the coarse triangles of a level above 0.
pub(super) fn draw_skips(sheet: &mut Sheet<'_>, file: &PayloadFile, level: u32, skips: &SkipNodes) {
    let config = file.config();
    let width = pyramid::nodes(sheet.frame.cells, level)[0];
    for (y, z) in (0..).zip(&sheet.frame.rows) {
        for (x, p) in (0..).zip(&sheet.frame.columns) {
            let colour = if !config.extent.contains(CellPos::new(p.cell as i32, z.cell as i32)) {
                OUTSIDE
            } else {
                let (cx, cz) = (p.cell >> level, z.cell >> level);
                let node = cz / NODE_CELLS * width + cx / NODE_CELLS;
                let bit = (cz % NODE_CELLS * NODE_CELLS + cx % NODE_CELLS) as usize;
                let skipped = skips.get(&(level as u8, node)).map_or(0, |m| m[bit / 4] >> (bit % 4 * 2) & 3);
                // Where in its coarse cell, in parts of a level-0 cell.
                let place = |cell: u32, part: u32| {
                    i64::from(cell & ((1 << level) - 1)) * i64::from(p.whole) + i64::from(part)
                };
                let anti = pyramid::is_anti(config.diagonal, level, CellPos::new(cx as i32, cz as i32));
                let s = i64::from(p.whole) << level;
                let owner = Triangle::owner(anti, place(p.cell, p.part), place(z.cell, z.part), s);
                if skipped & owner.bit() != 0 { SKIPPED } else { DRAWN }
            };
            sheet.canvas.set(sheet.x + x, sheet.y + y, colour);
        }
    }
    draw_grid(sheet, level);
}
