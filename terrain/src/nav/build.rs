//! From triangles to walkable cells: one sector at a time.
//!
//! Rows of a sector and what lies around it, up to 32 cells on every side, are 96 bits of a `u128`.

use super::rules::{AgentRules, MAX_REACH, NavRules, PLAIN, joined};
use super::sector::{Bits, CELLS, SECTOR_CELLS, SIDE, Sector, SectorPos, Weights};
use crate::config::TerrainConfig;
use crate::coord::{CellPos, SamplePos};
use crate::surface::{Ground, Slot, Tile, Triangle};

const MAX_ROWS: usize = (SECTOR_CELLS + 2 * MAX_REACH) as usize;
type Rows = [u128; MAX_ROWS];

/// Cells of a sector and around it.
struct Around {
    /// Cells on every side of the sector.
    reach: i32,
    first: CellPos,
    /// Whole, in the extent and not too steep.
    carries: Rows,
    /// Whole and in the extent, but too steep.
    steep: Rows,
    /// In the extent, of an absent block; later also steep cells that absent ground decides about.
    unknown: Rows,
    /// What the slope costs, of the sector's own cells.
    slope: [u8; CELLS],
}

/// The walkable cells of a sector; `None` when its block is not resident.
pub(super) fn sector(ground: &Ground, rules: &NavRules, agent: usize, pos: SectorPos) -> Option<Sector> {
    let tile = ground.tile(ground.side().block_of_cell(pos.first()))?;
    let agent = &rules.agents[agent];
    let mut around = Around::of(ground, agent, pos);
    let flank = around.settle_flanks(ground, agent);
    let (e, e0) = (agent.disc_reach() as usize, around.reach as usize);
    let inner = e0 - e..e0 + SIDE + e;
    let blocked: Vec<u128> =
        inner.clone().map(|z| !(around.carries[z] | around.unknown[z] | flank[z])).collect();
    let unknown: Vec<u128> = inner.map(|z| around.unknown[z]).collect();
    let (blocked, unknown) =
        (touched(&blocked, &agent.disc, around.reach), touched(&unknown, &agent.disc, around.reach));
    let mut sector = Sector {
        free: std::array::from_fn(|z| !blocked[z] & !unknown[z]),
        unknown: std::array::from_fn(|z| unknown[z] & !blocked[z]),
        flank: std::array::from_fn(|z| (flank[z + e0] >> e0) as u32),
        weights: Weights::Even(rules.least),
    };
    for (flank, free) in sector.flank.iter_mut().zip(&sector.free) {
        *flank &= free;
    }
    sector.weights = weights(&sector, &around.slope, tile, rules, agent, pos);
    Some(sector)
}

/// The cells whose disc touches a set cell, for the sector's own rows and columns. `rows` begin at the first row that
/// the disc of the sector's first reaches.
fn touched(rows: &[u128], disc: &[i32], reach: i32) -> Bits {
    let e = disc.len() - 1;
    std::array::from_fn(|z| {
        let mut any = 0;
        for (dz, &dx) in disc.iter().enumerate() {
            let row = rows[z + e - dz] | rows[z + e + dz];
            any |= widened(row, dx as u32);
        }
        (any >> reach) as u32
    })
}

/// A row with every set bit spread by `by` on both sides.
fn widened(row: u128, by: u32) -> u128 {
    if row == 0 || by == 0 {
        return row;
    }
    // Doubling: after each turn the bits are spread by `done`.
    let (mut out, mut done) = (row, 0);
    while done < by {
        let more = (by - done).min(done.max(1));
        out |= out << more | out >> more;
        done += more;
    }
    out
}

impl Around {
    fn of(ground: &Ground, agent: &AgentRules, pos: SectorPos) -> Self {
        let reach = agent.reach();
        let f = pos.first();
        let first = CellPos::new(f.x - reach, f.z - reach);
        let empty = [0; MAX_ROWS];
        let mut around =
            Self { reach, first, carries: empty, steep: empty, unknown: empty, slope: [0; CELLS] };
        let extent = ground.config().extent;
        let n = SECTOR_CELLS + 2 * reach;
        let (x0, x1) = (first.x.max(extent.x0), (first.x + n).min(extent.x1));
        for z in first.z.max(extent.z0)..(first.z + n).min(extent.z1) {
            let mut x = x0;
            while x < x1 {
                let block = ground.side().block_of_cell(CellPos::new(x, z));
                let end = (ground.side().first_sample(block).x + ground.side().samples()).min(x1);
                match ground.slot(block) {
                    Slot::Resident(tile) => around.classify(tile, ground, agent, z, x..end),
                    Slot::Absent => {
                        around.unknown[(z - first.z) as usize] |= span(x - first.x, end - first.x)
                    }
                    Slot::Failed => {}
                }
                x = end;
            }
        }
        around
    }

    /// One row of one tile's own cells.
    fn classify(
        &mut self,
        tile: &Tile,
        ground: &Ground,
        agent: &AgentRules,
        z: i32,
        columns: std::ops::Range<i32>,
    ) {
        let row = (z - self.first.z) as usize;
        let diagonal = ground.config().diagonal;
        let own_row = z - self.first.z - self.reach;
        let cost = if (0..SECTOR_CELLS).contains(&own_row) { u64::from(agent.kind.slope_cost) } else { 0 };
        let (mut carries, mut steep) = (0u128, 0u128);
        let (mut near, mut far) = ([0; MAX_ROWS + 1], [0; MAX_ROWS + 1]);
        let samples = columns.len() + 1;
        tile.row(SamplePos::new(columns.start, z), &mut near[..samples]);
        tile.row(SamplePos::new(columns.start, z + 1), &mut far[..samples]);
        let all = tile.shows_all();
        for (i, x) in columns.enumerate() {
            let corners = [near[i], near[i + 1], far[i], far[i + 1]];
            let cell = CellPos::new(x, z);
            if !all && tile.cell_mask(cell) != 3 {
                continue;
            }
            let anti = diagonal.is_anti(cell);
            let squared = squared_gradient(corners, anti);
            let column = x - self.first.x;
            if squared > agent.steepest {
                steep |= 1 << column;
                continue;
            }
            carries |= 1 << column;
            let share = squared * cost;
            let own = column - self.reach;
            // Most ground is far from the limit: no division for it.
            if share >= agent.steepest.max(1) && (0..SECTOR_CELLS).contains(&own) {
                self.slope[(own_row * SECTOR_CELLS + own) as usize] = (share / agent.steepest.max(1)) as u8;
            }
        }
        self.carries[row] |= carries;
        self.steep[row] |= steep;
    }

    /// Decides about every steep cell that a disc may touch: flanks are returned, those that may still become one are
    /// added to the unknown ones.
    fn settle_flanks(&mut self, ground: &Ground, agent: &AgentRules) -> Rows {
        let mut flank = [0; MAX_ROWS];
        let m = agent.flank_reach;
        if m == 0 {
            return flank;
        }
        let n = SECTOR_CELLS + 2 * self.reach;
        let inner = span(m, n - m);
        for row in m..n - m {
            let mut bits = self.steep[row as usize] & inner;
            while bits != 0 {
                let column = bits.trailing_zeros() as i32;
                bits &= bits - 1;
                match self.flank_at(ground, agent, column, row) {
                    Some(true) => flank[row as usize] |= 1 << column,
                    Some(false) => {}
                    None => self.unknown[row as usize] |= 1 << column,
                }
            }
        }
        flank
    }

    /// Whether a steep cell is the flank of a step; `None` where absent ground decides.
    fn flank_at(&self, ground: &Ground, agent: &AgentRules, column: i32, row: i32) -> Option<bool> {
        let m = agent.flank_reach;
        let near = span(column - m, column + m + 1);
        let mut range: Option<(i32, i32)> = None;
        let mut all_known = true;
        // Its own row first: most cliffs are told there.
        for dz in (0..=m).flat_map(|d| [d, -d]) {
            let z = (row + dz) as usize;
            let whole = (self.carries[z] | self.steep[z]) & near;
            if whole | self.absent(ground, near, row + dz) != near {
                return Some(false);
            }
            all_known &= whole == near;
            let mut bits = whole;
            while bits != 0 {
                let x = bits.trailing_zeros() as i32;
                bits &= bits - 1;
                let cell = CellPos::new(self.first.x + x, self.first.z + row + dz);
                let corners = tile_of(ground, cell)?.corners(cell);
                let (low, high) = range.unwrap_or((corners[0], corners[0]));
                let range = range.insert(corners.iter().fold((low, high), |r, &q| (r.0.min(q), r.1.max(q))));
                if range.1 - range.0 > agent.step {
                    return Some(false);
                }
            }
        }
        all_known.then_some(true)
    }

    /// Cells of absent blocks among `near`: flanks that are not decided yet are marked unknown too, and are no gap.
    fn absent(&self, ground: &Ground, near: u128, row: i32) -> u128 {
        let mut bits = self.unknown[row as usize] & near;
        let mut absent = 0;
        while bits != 0 {
            let x = bits.trailing_zeros() as i32;
            bits &= bits - 1;
            let cell = CellPos::new(self.first.x + x, self.first.z + row);
            if tile_of(ground, cell).is_none() {
                absent |= 1 << x;
            }
        }
        absent
    }
}

fn tile_of(ground: &Ground, cell: CellPos) -> Option<&Tile> {
    ground.tile(ground.side().block_of_cell(cell))
}

/// Bits from `a` up to but not including `b`; 0 ≤ a ≤ b ≤ 96.
const fn span(a: i32, b: i32) -> u128 {
    ((1u128 << b) - 1) & !((1u128 << a) - 1)
}

/// The larger squared gradient of a cell's triangles, in quanta² a cell.
fn squared_gradient(corners: [i32; 4], anti: bool) -> u64 {
    let squared = |t: Triangle| {
        let (x, z) = t.gradient(anti, corners);
        (x * x + z * z) as u64
    };
    squared(Triangle::Zero).max(squared(Triangle::One))
}

fn weights(
    sector: &Sector,
    slope: &[u8; CELLS],
    tile: &Tile,
    rules: &NavRules,
    agent: &AgentRules,
    pos: SectorPos,
) -> Weights {
    let painted = rules.layers.iter().any(|&w| w != rules.layers[0]);
    let mut each = [0u8; CELLS];
    let mut even: Option<u8> = None;
    let mut differ = false;
    for z in 0..SIDE {
        let mut bits = sector.free[z];
        while bits != 0 {
            let x = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            let local = z * SIDE + x;
            // The texel at the cell's middle: half of a cell whose side is 2.
            let layer = if painted { tile.layer(pos.cell(local), 1, 1, 2) } else { 0 };
            let mut weight = rules.layers[usize::from(layer)];
            if let Some(materials) = &rules.materials {
                let material = tile.material(pos.cell(local));
                weight = joined(weight, material.map_or(PLAIN, |id| materials[usize::from(id)]));
            }
            weight += slope[local];
            if sector.flank[z] >> x & 1 != 0 {
                weight += agent.kind.flank_cost;
            }
            each[local] = weight;
            differ |= *even.get_or_insert(weight) != weight;
        }
    }
    if differ { Weights::Each(Box::new(each)) } else { Weights::Even(even.unwrap_or(rules.least)) }
}

/// Sectors along x and z.
pub(super) fn sectors(terrain: &TerrainConfig) -> [i32; 2] {
    terrain.cells().map(|c| (c + SECTOR_CELLS - 1) / SECTOR_CELLS)
}
