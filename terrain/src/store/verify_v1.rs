//! Checks a whole payload of version 1, one row of blocks at a time: every checksum, and everything the file derives from others.

use super::payload::PayloadV1;
use super::verify::{VerifyError, differs};
use super::{BlockError, RasterError};
use crate::coord::{BlockPos, CellPos, SamplePos};
use crate::format::payload_v1::ContentDigest;
use crate::height::VOID;
use crate::surface::{Block, Triangle};

/// Reads every block of a payload, holding two rows of blocks at most, and checks checksums, ranges and counts, layer
/// ids, visibility against voids and extent, and the content digest.
///
/// # Errors
/// The first thing that is wrong.
pub(super) fn verify(file: &PayloadV1) -> Result<(), VerifyError> {
    let header = file.header();
    let config = header.config;
    let [blocks_x, blocks_z] = config.blocks(header.side);
    let mut digest = ContentDigest::new();
    let mut rows = Rows::default();
    for z in 0..blocks_z as i32 {
        let row: Vec<Block> = (0..blocks_x as i32)
            .map(|x| file.read_block(BlockPos::new(x, z)))
            .collect::<Result<_, BlockError>>()?;
        let n = header.side.samples();
        for local in 0..n {
            let sample_z = z * n + local;
            if sample_z < config.samples[1] as i32 {
                rows.next(file, &row, local, sample_z, &mut digest)?;
            }
        }
    }
    let found = digest.finish(&config, &header.layers);
    if found != header.digest {
        let hex = |d: [u8; 32]| blake3::Hash::from_bytes(d).to_hex().to_string();
        return differs("content digest", hex(found), hex(header.digest));
    }
    Ok(())
}

/// The row of samples and masks that waits for the row after it.
#[derive(Default)]
struct Rows {
    heights: Vec<i32>,
    mask: Vec<u8>,
}

impl Rows {
    /// Takes one row of samples; checks the cells between it and the one before; digests it.
    fn next(
        &mut self,
        file: &PayloadV1,
        row: &[Block],
        local: i32,
        z: i32,
        digest: &mut ContentDigest,
    ) -> Result<(), VerifyError> {
        let config = &file.header().config;
        let n = file.header().side.samples() as usize;
        let line = local as usize * n..(local as usize + 1) * n;
        let samples = config.samples[0] as usize;
        let heights: Vec<i32> =
            row.iter().flat_map(|b| &b.heights()[line.clone()]).copied().take(samples).collect();
        if z > 0 {
            self.check(file, &heights, z - 1)?;
        }
        digest.heights(&heights);
        self.heights = heights;
        self.mask.clear();
        if z + 1 < config.samples[1] as i32 {
            self.mask.extend(row.iter().flat_map(|b| &b.mask()[line.clone()]).take(samples - 1));
            digest.mask(&self.mask);
            let ppc = usize::from(config.paint_per_cell);
            for t in local as usize * ppc..(local as usize + 1) * ppc {
                let width = n * ppc;
                let texels =
                    row.iter().filter_map(|b| b.weights()).flat_map(|w| &w[t * width..(t + 1) * width]);
                if file.header().weights {
                    let line: Vec<_> = texels.copied().take((samples - 1) * ppc).collect();
                    digest.weights(&line);
                }
            }
        }
        Ok(())
    }

    fn check(&self, file: &PayloadV1, below: &[i32], z: i32) -> Result<(), VerifyError> {
        let config = &file.header().config;
        for (x, &mask) in self.mask.iter().enumerate() {
            let cell = CellPos::new(x as i32, z);
            let sample = |s: SamplePos| (if s.z == z { &self.heights } else { below })[s.x as usize];
            for t in Triangle::BOTH.into_iter().filter(|t| mask & t.bit() != 0) {
                let corners = t.corners(config.diagonal.is_anti(cell));
                let possible = config.extent.contains(cell)
                    && corners.iter().all(|&(dx, dz)| sample(cell.corner(dx, dz)) != VOID);
                if !possible {
                    return Err(RasterError::VisibleVoid { x: cell.x, z, triangle: t.index() }.into());
                }
            }
        }
        Ok(())
    }
}
