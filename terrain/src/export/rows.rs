//! A terrain's rows out of its blocks, one row of blocks in memory.

use super::ExportError;
use crate::coord::BlockPos;
use crate::store::BlockSource;
use crate::surface::Block;
use rayon::prelude::*;

/// One row of samples and the cells that begin on it.
pub(crate) struct Row<'a> {
    /// Raw quanta, one a sample.
    pub(crate) heights: &'a [i32],
    /// Two bits a cell; empty on the last row, which no cell begins on.
    pub(crate) mask: &'a [u8],
}

/// Hands over every row, in order.
///
/// # Errors
/// A block that cannot be read, or what `take` says.
pub(crate) fn each(
    source: &dyn BlockSource,
    mut take: impl FnMut(u32, Row<'_>) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    let (config, side) = (source.config(), source.block_side());
    let [w, h] = config.samples.map(|n| n as usize);
    let n = side.samples() as usize;
    let [across, down] = config.blocks(side);
    let (mut heights, mut mask) = (vec![0; w], vec![0; w]);
    for bz in 0..down as i32 {
        let blocks: Vec<Block> = (0..across as i32)
            .into_par_iter()
            .map(|bx| source.read_block(BlockPos::new(bx, bz)))
            .collect::<Result<_, _>>()?;
        for z in 0..n.min(h - bz as usize * n) {
            for (x, block) in blocks.iter().enumerate() {
                let from = x * n;
                let taken = n.min(w - from);
                heights[from..from + taken].copy_from_slice(&block.heights()[z * n..z * n + taken]);
                mask[from..from + taken].copy_from_slice(&block.mask()[z * n..z * n + taken]);
            }
            let row = bz as usize * n + z;
            let cells = if row + 1 < h { w - 1 } else { 0 };
            take(row as u32, Row { heights: &heights, mask: &mask[..cells] })?;
        }
    }
    Ok(())
}
