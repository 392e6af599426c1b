//! What a band must hold to be written or believed.

use super::{Band, Deriver};
use crate::coord::CellPos;
use crate::height::{HEIGHT_LIMIT, VOID};
use crate::store::RasterError;
use crate::triangle::Triangle;

impl Deriver<'_> {
    /// Checks a band: heights that fit, nothing visible that cannot be, values in their ranges.
    pub(super) fn check(&self, band: &Band, z: i32) -> Result<(), RasterError> {
        let [w, cw] = [self.config.samples[0] as usize, self.config.samples[0] as usize - 1];
        let first = (z * self.side.samples() - i32::from(z > 0)).max(0);
        let fits = |&q: &i32| q == VOID || q.unsigned_abs() < HEIGHT_LIMIT as u32;
        if let Some(i) = band.heights.iter().position(|q| !fits(q)) {
            let (x, z) = ((i % w) as i32, first + (i / w) as i32);
            return Err(RasterError::Height { x, z, quanta: i64::from(band.heights[i]) });
        }
        let before = usize::from(z > 0);
        for (i, cells) in band.mask.chunks_exact(cw).enumerate() {
            let two = &band.heights[(before + i) * w..(before + i + 2) * w];
            self.check_mask(z * self.side.samples() + i as i32, cells, two)?;
        }
        let per_cell = self.config.paint_per_cell;
        let kinds = || self.kinds.iter().zip(&band.planes).enumerate();
        for (i, (kind, values)) in kinds() {
            let from = z as u32 * self.side.samples() as u32 * kind.lattice().per_cell(&self.config);
            for (row, v) in values.chunks_exact(kind.row_bytes(&self.config).max(1)).enumerate() {
                self.rows.check_values(i, from + row as u32, v)?;
            }
        }
        let lines = band.mask.len() / cw * usize::from(per_cell);
        let tw = cw * usize::from(per_cell);
        for line in 0..lines {
            let at = z as u32 * self.side.samples() as u32 * u32::from(per_cell) + line as u32;
            self.rows.check_sums(at, |i| &band.planes[i][line * tw..(line + 1) * tw])?;
        }
        Ok(())
    }

    fn check_mask(&self, z: i32, cells: &[u8], two: &[i32]) -> Result<(), RasterError> {
        let e = self.config.extent;
        let in_rows = (e.z0..e.z1).contains(&z);
        let voids = two.contains(&VOID);
        let all = in_rows && e.x0 == 0 && e.x1 as usize == cells.len();
        if all && !voids && cells.iter().all(|&m| m <= 3) {
            return Ok(());
        }
        let w = cells.len() + 1;
        for (x, &mask) in cells.iter().enumerate() {
            let cell = CellPos::new(x as i32, z);
            let mut possible = 0;
            if e.contains(cell) {
                for t in Triangle::BOTH {
                    let corners = t.corners(self.config.diagonal.is_anti(cell));
                    let there = |&(dx, dz): &(i32, i32)| two[x + dx as usize + dz as usize * w] != VOID;
                    possible |= u8::from(corners.iter().all(there)) << t.index();
                }
            }
            if mask & !possible != 0 {
                let triangle = (mask & !possible).trailing_zeros() as u8;
                return Err(RasterError::VisibleVoid { x: cell.x, z, triangle });
            }
        }
        Ok(())
    }
}
