//! Lines of sight on the grid, and paths with their needless turns left out.

use super::map::Entry;
use super::map::Nav;
use super::sector::{SectorPos, bit, local};
use crate::coord::CellPos;

/// The longest straight piece of a smoothed path, in cells along an axis.
const MAX_LEG: u32 = 128;

impl Nav {
    /// Whether an agent can go straight from the centre of one cell to that of another: every centre of every square
    /// of centres that the line goes through is walkable, no flank, and of a weight of at most `most`.
    ///
    /// Squares stand between four neighbouring centres; a line along an axis goes through none and needs the centres
    /// on it. Exact, and the same in both directions.
    pub fn sees(&self, agent: usize, from: CellPos, to: CellPos, most: u8) -> bool {
        let clear = |x: i32, z: i32| {
            let cell = CellPos::new(x, z);
            match self.entry(agent, SectorPos::of(cell)) {
                Entry::Known { sector, .. } => {
                    let at = local(cell);
                    bit(&sector.free, at) && !bit(&sector.flank, at) && sector.weight(at) <= most
                }
                _ => false,
            }
        };
        let (dx, dz) = (i64::from(to.x) - i64::from(from.x), i64::from(to.z) - i64::from(from.z));
        if dx == 0 || dz == 0 {
            let (x0, x1) = (from.x.min(to.x), from.x.max(to.x));
            let (z0, z1) = (from.z.min(to.z), from.z.max(to.z));
            return (z0..=z1).all(|z| (x0..=x1).all(|x| clear(x, z)));
        }
        let (run, sx, sz) = (dx.abs(), dx.signum() as i32, dz.signum() as i32);
        (0..run).all(|i| {
            // From column i to the next the line falls from i·|dz| to (i + 1)·|dz|, in units of 1/|dx| of a cell.
            let first = i * dz.abs() / run;
            let end = ((i + 1) * dz.abs() + run - 1) / run;
            let (x, next) = (from.x + i as i32 * sx, from.x + (i as i32 + 1) * sx);
            (first..=end).all(|j| {
                let z = from.z + j as i32 * sz;
                clear(x, z) && clear(next, z)
            })
        })
    }

    /// The turns that are left of a path of neighbouring cells when every straight piece replaces cells of which one is
    /// at least as dear as all that the piece goes by.
    pub(super) fn straighten(&self, agent: usize, cells: &[CellPos], turns: &mut Vec<CellPos>) {
        turns.clear();
        turns.extend(cells.first());
        let weight = |cell: CellPos| self.weight(agent, cell).map_or(0, |w| w.0);
        let mut anchor = 0;
        let mut dearest = cells.first().map_or(0, |&c| weight(c));
        for i in 1..cells.len() {
            let (a, b) = (cells[anchor], cells[i]);
            let most = dearest.max(weight(b));
            let near = a.x.abs_diff(b.x).max(a.z.abs_diff(b.z)) <= MAX_LEG;
            if i == anchor + 1 || near && self.sees(agent, a, b, most) {
                dearest = most;
                continue;
            }
            anchor = i - 1;
            dearest = weight(cells[anchor]).max(weight(b));
            turns.push(cells[anchor]);
        }
        if cells.len() > 1 {
            turns.extend(cells.last());
        }
    }
}
