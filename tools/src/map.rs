//! The picture of a run: the hillshaded surface with holes, windows and trails drawn in.
//!
//! Every pixel asks the one surface, strip by strip, so a map larger than memory can be drawn.

use crate::canvas::{Canvas, Rgb};
use highground_game::demo::Demo;
use highground_game::session::Map;
use highground_terrain::config::TerrainConfig;
use highground_terrain::coord::{BlockPos, BlockSide, LatticePos};
use highground_terrain::state::{AnswerState, PublicationState};
use highground_terrain::store::{BlockError, BlockSource};
use highground_terrain::surface::{Block, Ground, Slot, Tile};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A map has about this many pixels.
const TARGET_PIXELS: f64 = 1.0e6;

/// No side is longer, in pixels, however narrow the map.
const MAX_SIDE_PIXELS: f64 = 4000.0;

/// The most pixels a cell side.
const MAX_CELL_PIXELS: f64 = 256.0;

pub(crate) const OUTSIDE: Rgb = [24, 26, 32];
pub(crate) const HOLE: Rgb = [214, 39, 160];
pub(crate) const FAILED: Rgb = [160, 20, 20];
const EVER: Rgb = [255, 236, 150];
const NOW: Rgb = [255, 255, 255];

/// Ground colours by layer id: meadow, forest floor, heath, scree, rock of the content world, and what may follow.
pub(crate) const LAYERS: [Rgb; 8] = [
    [134, 164, 96],
    [96, 124, 76],
    [150, 138, 110],
    [186, 172, 146],
    [136, 132, 130],
    [110, 140, 140],
    [150, 120, 100],
    [220, 220, 224],
];

/// Trail colours, told apart at a glance.
const TRAILS: [Rgb; 10] = [
    [220, 50, 40],
    [30, 90, 220],
    [250, 150, 20],
    [140, 40, 180],
    [0, 150, 160],
    [15, 15, 15],
    [90, 60, 20],
    [20, 120, 60],
    [40, 40, 120],
    [180, 180, 20],
];

/// Where metres are on the picture.
#[derive(Clone, Copy)]
struct Frame {
    width: u32,
    height: u32,
    metres_per_pixel: f64,
    /// Where the terrain stands in the world, x and z in metres.
    origin: [f64; 2],
}

impl Frame {
    fn of(config: &TerrainConfig) -> Self {
        let s = config.spacing_m();
        let [w, h] = config.cells().map(|c| f64::from(c) * s);
        // Whole pixels a cell or whole cells a pixel, so that the grid stays even.
        let per_cell = (TARGET_PIXELS * s * s / (w * h)).sqrt().min(MAX_SIDE_PIXELS * s / w.max(h));
        let metres_per_pixel = if per_cell >= 1.0 {
            s / per_cell.floor().min(MAX_CELL_PIXELS)
        } else {
            // A little fewer cells a pixel than asked for rather than half the picture.
            s * (1.0 / per_cell - 0.25).ceil()
        };
        let pixels = |m: f64| ((m / metres_per_pixel).ceil() as u32).max(1);
        let [x, _, z] = config.origin_m();
        Self { width: pixels(w), height: pixels(h), metres_per_pixel, origin: [x, z] }
    }

    fn pixel(self, x: f64, z: f64) -> (f64, f64) {
        ((x - self.origin[0]) / self.metres_per_pixel, (z - self.origin[1]) / self.metres_per_pixel)
    }

    fn block(self, config: &TerrainConfig, side: BlockSide, b: BlockPos) -> (i64, i64, i64, i64) {
        let (s, n) = (config.spacing_m(), f64::from(side.samples()));
        let at = |v: i32| (f64::from(v) * n * s / self.metres_per_pixel).round() as i64;
        let (w, h) = (i64::from(self.width), i64::from(self.height));
        (at(b.x).min(w), at(b.z).min(h), at(b.x + 1).min(w), at(b.z + 1).min(h))
    }
}

/// Draws a demo's map. A block that cannot be read is dark red.
pub(crate) fn of_demo(demo: &Demo, map: &Map) -> Canvas {
    let source = &*map.source;
    let (config, side) = (source.config(), source.block_side());
    let frame = Frame::of(config);
    let metres = |(low, high)| (config.quantum.to_metres(low), config.quantum.to_metres(high));
    let range = if map.weights.is_none() { source.height_range().map(metres) } else { None };
    let mut canvas = hillshade(source, frame, range);
    for &b in demo.ever_published() {
        let (x0, y0, x1, y1) = frame.block(config, side, b);
        canvas.tint(x0, y0, x1, y1, EVER, 0.22);
        canvas.outline(x0, y0, x1, y1, EVER, 0.35);
    }
    for (b, _) in
        demo.session().publication().wanted().filter(|(_, w)| w.state == PublicationState::Published)
    {
        let (x0, y0, x1, y1) = frame.block(config, side, b);
        canvas.outline(x0, y0, x1, y1, NOW, 0.9);
    }
    for (n, trail) in demo.trails().iter().enumerate() {
        let colour = TRAILS[n % TRAILS.len()];
        for step in trail.windows(2) {
            let (a, b) = (step[0], step[1]);
            let (from, to) = (frame.pixel(a.x, a.z), frame.pixel(b.x, b.z));
            // A longer step than anyone can run was a teleport.
            if (b - a).with_y(0.0).length() < 5.0 {
                canvas.line(from, to, 2, colour);
            } else {
                dotted(&mut canvas, from, to, colour);
            }
        }
        if let (Some(first), Some(last)) = (trail.first(), trail.last()) {
            let (x, y) = frame.pixel(first.x, first.z);
            canvas.disc(x, y, 4.0, [255, 255, 255]);
            canvas.disc(x, y, 2.5, colour);
            let (x, y) = frame.pixel(last.x, last.z);
            canvas.disc(x, y, 6.0, [20, 20, 20]);
            canvas.disc(x, y, 4.5, colour);
        }
    }
    for (_, _, pose) in demo.session().platforms() {
        let (x, y) = frame.pixel(pose.translation.x, pose.translation.z);
        canvas.disc(x, y, 6.0, [20, 20, 20]);
        canvas.disc(x, y, 5.0, [90, 220, 235]);
    }
    for (_, held) in demo.session().crates() {
        let (x, y) = frame.pixel(held.position.x, held.position.z);
        canvas.disc(x, y, 4.0, [20, 20, 20]);
        canvas.disc(x, y, 3.0, [235, 130, 30]);
    }
    for (_, ball) in demo.session().balls() {
        let (x, y) = frame.pixel(ball.position.x, ball.position.z);
        canvas.disc(x, y, 4.0, [20, 20, 20]);
        canvas.disc(x, y, 3.0, [255, 225, 0]);
    }
    canvas
}

fn dotted(canvas: &mut Canvas, from: (f64, f64), to: (f64, f64), colour: Rgb) {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = (dx * dx + dy * dy).sqrt();
    for i in 0..(length / 9.0) as u32 {
        let t = f64::from(i) * 9.0 / length;
        canvas.disc(from.0 + (to.0 - from.0) * t, from.1 + (to.1 - from.1) * t, 1.2, colour);
    }
}

/// The surface lit from the north-west. Blocks are read once, three rows of them at a time.
///
/// Colours are those of the layers, or of heights where a range (metres) is given. Holes are drawn a pixel larger than
/// they are, so that single cells can be found.
fn hillshade(source: &dyn BlockSource, frame: Frame, range: Option<(f64, f64)>) -> Canvas {
    let (config, side) = (source.config(), source.block_side());
    let mut holes = Vec::new();
    let mut canvas = Canvas::new(frame.width, frame.height, OUTSIDE);
    let rows = config.blocks(side)[1] as i32;
    let mut strip = Strip::new(source);
    let row_m = f64::from(side.samples()) * config.spacing_m();
    for row in 0..rows {
        let ground = strip.ground(row);
        let first = (f64::from(row) * row_m / frame.metres_per_pixel).floor() as i64 - 1;
        let last = (f64::from(row + 1) * row_m / frame.metres_per_pixel).ceil() as i64 + 1;
        for y in first.max(0)..last.min(i64::from(frame.height)) {
            let z = (y as f64 + 0.5) * frame.metres_per_pixel;
            if z < f64::from(row) * row_m || (z >= f64::from(row + 1) * row_m && row + 1 < rows) {
                continue;
            }
            for x in 0..frame.width {
                let at = (f64::from(x) + 0.5) * frame.metres_per_pixel;
                let Some(colour) = pixel_colour(&ground, at, z, range) else { continue };
                canvas.set(i64::from(x), y, colour);
                if colour == HOLE {
                    holes.push((i64::from(x), y));
                }
            }
        }
    }
    for (x, y) in holes {
        canvas.tint(x - 1, y - 1, x + 2, y + 2, HOLE, 1.0);
    }
    canvas
}

fn pixel_colour(ground: &Ground, x: f64, z: f64, range: Option<(f64, f64)>) -> Option<Rgb> {
    let answer = ground.point_at(LatticePos::from_metres(x, z).ok()?);
    match answer.state {
        AnswerState::Outside => None,
        AnswerState::Hole => Some(HOLE),
        AnswerState::Failed | AnswerState::Pending => Some(FAILED),
        AnswerState::Valid => answer.ground.map(|g| {
            let base = match range {
                Some((low, high)) => by_height(g.height, low, high),
                None => LAYERS[usize::from(g.layer) % LAYERS.len()],
            };
            lit(light(g.normal.to_array()), base)
        }),
    }
}

/// Lambert light from the north-west on an upward normal, slopes exaggerated a little so that gentle ground reads too.
pub(crate) fn light([x, y, z]: [f64; 3]) -> f64 {
    const EXAGGERATION: f64 = 1.6;
    let (nx, nz) = (x * EXAGGERATION, z * EXAGGERATION);
    let length = (nx * nx + y * y + nz * nz).sqrt();
    let shade = ((-0.5 * nx + std::f64::consts::FRAC_1_SQRT_2 * y - 0.5 * nz) / length).max(0.0);
    0.25 + 1.05 * shade
}

/// A colour in a light.
pub(crate) fn lit(light: f64, base: Rgb) -> Rgb {
    base.map(|c| (f64::from(c) * light).min(255.0) as u8)
}

/// Hypsometric colours: water blue at and below zero, then green lowland to brown and white heights.
pub(crate) fn by_height(height: f64, low: f64, high: f64) -> Rgb {
    const STOPS: [Rgb; 5] =
        [[122, 156, 96], [168, 176, 112], [184, 156, 116], [150, 128, 116], [236, 236, 238]];
    if height <= 0.0 {
        return [104, 140, 168];
    }
    let low = low.max(0.0);
    let t = if high > low { ((height - low) / (high - low)).clamp(0.0, 1.0) * 4.0 } else { 0.0 };
    let below = (t.floor() as usize).min(3);
    let share = t - below as f64;
    std::array::from_fn(|i| {
        (f64::from(STOPS[below][i]) * (1.0 - share) + f64::from(STOPS[below + 1][i]) * share) as u8
    })
}

/// Three rows of blocks at a time, as ground.
struct Strip<'a> {
    source: &'a dyn BlockSource,
    blocks: BTreeMap<BlockPos, Result<Block, BlockError>>,
}

impl<'a> Strip<'a> {
    fn new(source: &'a dyn BlockSource) -> Self {
        Self { source, blocks: BTreeMap::new() }
    }

    /// Ground with one row of blocks resident. Rows come in order.
    fn ground(&mut self, row: i32) -> Ground {
        let (config, side) = (self.source.config(), self.source.block_side());
        let width = config.blocks(side)[0] as i32;
        self.blocks.retain(|p, _| p.z >= row - 1);
        for z in row - 1..=row + 1 {
            for x in 0..width {
                let pos = BlockPos::new(x, z);
                if config.has_block(side, pos) && !self.blocks.contains_key(&pos) {
                    self.blocks.insert(pos, self.source.read_block(pos));
                }
            }
        }
        let get = |p: BlockPos| self.blocks.get(&p).and_then(|b| b.as_ref().ok());
        let changes: Vec<(BlockPos, Slot)> = (0..width)
            .map(|x| {
                let pos = BlockPos::new(x, row);
                let whole = pos.neighbourhood().all(|p| !config.has_block(side, p) || get(p).is_some());
                let slot = match get(pos).filter(|_| whole) {
                    Some(block) => Slot::Resident(Arc::new(Tile::new(config, block, get))),
                    None => Slot::Failed,
                };
                (pos, slot)
            })
            .collect();
        Ground::empty(config, side).with_changes(&changes)
    }
}
