//! What every pixel of a map shows, out of the blocks of a payload, a row of blocks at a time.
//!
//! Owns the sampling rule; knows no colours. Memory: a few bytes a pixel and three rows of blocks.

use super::What;
use super::blocks::Blocks;
use super::frame::{Frame, Place, Scale};
use crate::map;
use highground_terrain::content::PlaneKind;
use highground_terrain::coord::{BlockPos, CellPos};
use highground_terrain::height::VOID;
use highground_terrain::kernel::normal;
use highground_terrain::kernel::weights::{self, LayerKind};
use highground_terrain::store::{BlockContent, BlockSource, PayloadFile};
use highground_terrain::surface::{Triangle, plane_height};

/// What there is of the surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Outside the valid extent.
    Outside,
    Surface,
    /// Removed from collision only.
    Physical,
    /// The removed triangle of half a cell.
    Half,
    /// A cell without a triangle.
    Hole,
    /// A block could not be read.
    Failed,
}

/// What a pixel shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pixel {
    pub(super) kind: Kind,
    /// How much light the surface gets.
    pub(super) light: f32,
    /// Height in quanta.
    pub(super) quanta: i32,
    /// What the plane says: a value, an id, a packed colour.
    pub(super) value: u32,
}

/// All pixels of a map.
pub(super) struct Scan {
    pub(super) pixels: Vec<Pixel>,
    /// How many blocks could not be read, and what is wrong with the first.
    pub(super) failed: (u64, Option<String>),
}

/// Looks at every pixel; `progress` is told how many rows of blocks are through.
pub(super) fn scan(
    file: &PayloadFile,
    frame: &Frame,
    what: What,
    plane: Option<PlaneKind>,
    progress: &dyn Fn(u64),
) -> Scan {
    let (config, side) = (file.config(), file.block_side());
    let none = Pixel { kind: Kind::Outside, light: 1.0, quanta: VOID, value: 0 };
    let mut pixels = vec![none; frame.columns.len() * frame.rows.len()];
    let mut blocks = Blocks::new(file);
    let looker = Looker { file, frame, what, plane, kinds: file.info().catalogue.layer_kinds() };
    let n = side.samples() as u32;
    let [across, down] = config.blocks(side);
    let every = what.shows_every_hole() && matches!(frame.scale, Scale::Cells(_));
    let reach = looker.reach();
    for bz in 0..down {
        blocks.forget_before(bz as i32 - 1);
        let rows = Frame::pixels(&frame.rows, bz * n..(bz + 1) * n);
        for bx in 0..across {
            let columns = Frame::pixels(&frame.columns, bx * n..(bx + 1) * n);
            let pos = BlockPos::new(bx as i32, bz as i32);
            if !(rows.is_empty() || columns.is_empty()) {
                for (dx, dz) in reach {
                    blocks.load(BlockPos::new(pos.x + dx, pos.z + dz));
                }
            } else if every {
                blocks.load(pos);
            }
            for y in rows.clone() {
                for x in columns.clone() {
                    let pixel = looker.look(&blocks, pos, frame.columns[x], frame.rows[y]);
                    let own = &mut pixels[y * frame.columns.len() + x];
                    // A hole of the row of blocks above may reach into this pixel.
                    *own = Pixel { kind: pixel.kind.max(own.kind), ..pixel };
                }
            }
            if every {
                looker.mark(&blocks, pos, &mut pixels);
            }
        }
        progress(u64::from(bz) + 1);
    }
    if let Scale::Cells(_) = frame.scale {
        shade(&mut pixels, frame, config.quantum.metres(), config.spacing_m());
    }
    let (count, first) = blocks.failed;
    Scan { pixels, failed: (count, first.map(|e| e.to_string())) }
}

/// Light by the heights of neighbouring pixels: at this scale a single cell's slope is noise.
fn shade(pixels: &mut [Pixel], frame: &Frame, quantum_m: f64, spacing_m: f64) {
    let (w, h) = (frame.columns.len(), frame.rows.len());
    // The height difference a metre between the pixels before and after, of what is there.
    let slope = |before: Option<(i32, Place)>, here: (i32, Place), after: Option<(i32, Place)>| {
        let there = |p: Option<(i32, Place)>| p.filter(|p| p.0 != VOID).unwrap_or(here);
        let (a, b) = (there(before), there(after));
        let cells = f64::from(b.1.cell) - f64::from(a.1.cell);
        if cells > 0.0 { (f64::from(b.0) - f64::from(a.0)) * quantum_m / (cells * spacing_m) } else { 0.0 }
    };
    for y in 0..h {
        for x in 0..w {
            let q = |x: usize, y: usize| pixels[y * w + x].quanta;
            if q(x, y) == VOID {
                continue;
            }
            let column = |x: usize| (q(x, y), frame.columns[x]);
            let row = |y: usize| (q(x, y), frame.rows[y]);
            let dx = slope(x.checked_sub(1).map(column), column(x), (x + 1 < w).then(|| column(x + 1)));
            let dz = slope(y.checked_sub(1).map(row), row(y), (y + 1 < h).then(|| row(y + 1)));
            pixels[y * w + x].light = map::light([-dx, 1.0, -dz]) as f32;
        }
    }
}

struct Looker<'a> {
    file: &'a PayloadFile,
    frame: &'a Frame,
    what: What,
    plane: Option<PlaneKind>,
    kinds: Vec<LayerKind>,
}

impl Looker<'_> {
    /// The blocks that a pixel's block needs beside it.
    fn reach(&self) -> &'static [(i32, i32)] {
        match (self.what, self.frame.scale) {
            (What::Normals, _) => {
                &[(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1), (1, 1), (1, -1), (-1, 1), (-1, -1)]
            }
            (_, Scale::Pixels(_)) => &[(0, 0), (1, 0), (0, 1), (1, 1)],
            (_, Scale::Cells(_)) => &[(0, 0)],
        }
    }

    fn look(&self, blocks: &Blocks<'_>, pos: BlockPos, x: Place, z: Place) -> Pixel {
        let failed = Pixel { kind: Kind::Failed, light: 1.0, quanta: VOID, value: 0 };
        let Some(block) = blocks.get(pos) else { return failed };
        let config = self.file.config();
        let cell = CellPos::new(x.cell as i32, z.cell as i32);
        let first = self.file.block_side().first_sample(pos);
        let at = (cell.z - first.z) * self.file.block_side().samples() + cell.x - first.x;
        let at = at as usize;
        let anti = config.diagonal.is_anti(cell);
        let (fx, fz, s) = (i64::from(x.part), i64::from(z.part), i64::from(x.whole));
        let owner = Triangle::owner(anti, fx, fz, s);
        let removed = self.physical(block, at);
        let mut pixel = Pixel {
            kind: if config.extent.contains(cell) {
                kind(block.mask[at], removed, Some(owner))
            } else {
                Kind::Outside
            },
            ..failed
        };
        let sample = |x: i32, z: i32| blocks.quanta(x, z);
        if let Scale::Pixels(_) = self.frame.scale {
            let corners = [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(dx, dz)| sample(cell.x + dx, cell.z + dz));
            let [Some(a), Some(b), Some(c), Some(d)] = corners else { return failed };
            let q = [a, b, c, d];
            let whole =
                |t: Triangle| t.corners(anti).iter().all(|&(dx, dz)| q[(dx + 2 * dz) as usize] != VOID);
            if whole(owner) {
                let (gx, gz) = owner.gradient(anti, q);
                let slope = config.quantum.metres() / config.spacing_m();
                pixel.light = map::light([-(gx as f64 * slope), 1.0, -(gz as f64 * slope)]) as f32;
                pixel.quanta = plane_height(owner, anti, q, fx, fz, s).div_euclid(s) as i32;
            }
        } else {
            pixel.quanta = block.heights[at];
        }
        match self.value(blocks, block, pos, x, z) {
            Some(value) => Pixel { value, ..pixel },
            None => failed,
        }
    }

    /// What the plane says there; `None` where a block could not be read.
    fn value(
        &self,
        blocks: &Blocks<'_>,
        block: &BlockContent,
        pos: BlockPos,
        x: Place,
        z: Place,
    ) -> Option<u32> {
        let (config, side) = (self.file.config(), self.file.block_side());
        let first = side.first_sample(pos);
        let n = side.samples() as u32;
        let (x0, z0) = (first.x as u32, first.z as u32);
        let at = ((z.cell - z0) * n + x.cell - x0) as usize;
        let of = |kind| block.planes.iter().find(|p| p.0 == kind).map(|p| &p.1[..]);
        let cell_value = |kind| u32::from(of(kind).map_or(0, |p| p[at]));
        Some(match self.what {
            What::Layers | What::LayerIds => {
                let per = u32::from(config.paint_per_cell);
                let texel = |p: Place, first: u32| (p.cell - first) * per + p.part * per / p.whole;
                let at = (texel(z, z0) * n * per + texel(x, x0)) as usize;
                let mut painted = [0; 32];
                for (kind, values) in &block.planes {
                    if let PlaneKind::Weight(id) = kind {
                        painted[usize::from(*id)] = values[at];
                    }
                }
                let masses = weights::effective(&self.kinds, &painted[..self.kinds.len()]);
                if self.what == What::Layers {
                    super::paint::blend(&self.file.info().catalogue, &masses)
                } else {
                    let strongest = (0..32).rev().max_by_key(|&i| masses[i]);
                    strongest.unwrap_or(0) as u32
                }
            }
            What::Collision => cell_value(PlaneKind::PhysicalMaterial),
            What::User | What::Density => self.plane.map_or(0, cell_value),
            What::Water => {
                let (x, z) = (x.sample(), z.sample());
                let own = side.block_of_sample(highground_terrain::coord::SamplePos::new(x as i32, z as i32));
                let first = side.first_sample(own);
                let at = (z - first.z as u32) * n + x - first.x as u32;
                let planes = &blocks.get(own)?.planes;
                let depths = planes.iter().find(|p| p.0 == PlaneKind::WaterDepth);
                let depth = |p: &[u8]| p.as_chunks::<4>().0.get(at as usize).map(|b| u32::from_le_bytes(*b));
                depths.and_then(|p| depth(&p.1)).unwrap_or(0)
            }
            What::Normals => {
                let (x, z) = (x.sample() as i32, z.sample() as i32);
                let row = |z: i32| -> Option<[i32; 3]> {
                    let mut row = [VOID; 3];
                    for (dx, out) in (-1..).zip(&mut row) {
                        if config.has_sample(highground_terrain::coord::SamplePos::new(x + dx, z)) {
                            *out = blocks.quanta(x + dx, z)?;
                        }
                    }
                    Some(row)
                };
                let (above, own, below) = (row(z - 1)?, row(z)?, row(z + 1)?);
                let mut out = [normal::UP; 3];
                normal::row(Some(&above), &own, Some(&below), config.spacing_256, config.quantum, &mut out);
                u32::from(out[1][0]) | u32::from(out[1][1]) << 8
            }
            _ => 0,
        })
    }

    /// Triangles removed from collision, where that is looked at.
    fn physical(&self, block: &BlockContent, at: usize) -> u8 {
        let plane = block.planes.iter().find(|p| p.0 == PlaneKind::PhysicalHole);
        match plane {
            Some(p) if self.what == What::Collision => p.1[at],
            _ => 0,
        }
    }

    /// Marks the pixels that any removed triangle of a block lies in.
    fn mark(&self, blocks: &Blocks<'_>, pos: BlockPos, pixels: &mut [Pixel]) {
        let config = self.file.config();
        let first = self.file.block_side().first_sample(pos);
        let n = self.file.block_side().samples();
        let block = blocks.get(pos);
        for z in first.z..(first.z + n).min(config.cells()[1]) {
            for x in first.x..(first.x + n).min(config.cells()[0]) {
                if !config.extent.contains(CellPos::new(x, z)) {
                    continue;
                }
                let found = match block {
                    Some(b) => {
                        let at = ((z - first.z) * n + x - first.x) as usize;
                        kind(b.mask[at], self.physical(b, at), None)
                    }
                    None => Kind::Failed,
                };
                let [x, y] = [x, z].map(|c| self.frame.pixel_of(c as u32) as usize);
                let own = &mut pixels[y * self.frame.columns.len() + x];
                own.kind = own.kind.max(found);
            }
        }
    }
}

/// What there is of a triangle of a cell inside the extent; without one, the most that is missing of the cell.
fn kind(mask: u8, removed: u8, triangle: Option<Triangle>) -> Kind {
    let bit = triangle.map_or(3, Triangle::bit);
    match () {
        () if mask == 0 => Kind::Hole,
        () if mask & bit != bit => Kind::Half,
        () if removed & bit != 0 => Kind::Physical,
        () => Kind::Surface,
    }
}
