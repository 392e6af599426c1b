//! A terrain cut into blocks, with everything that is derived from it: what the writer writes and the verifier expects.
//!
//! Owns the way from bands of rows to bodies, pyramids, totals and digest, one band of blocks at a time, holding no
//! more than a band of each level. Never touches a file: the writer stores what comes out, the verifier compares it.

mod blocks;
mod check;
mod coarse;

use self::blocks::{BlockCutter, Own};
use self::coarse::skip_nodes;
use super::raster::{PlaneRows, RasterError, check_kinds};
use crate::config::TerrainConfig;
use crate::content::{Catalogue, PlaneKind};
use crate::coord::BlockSide;
use crate::format::digest::ContentDigest;
use crate::format::payload::{BlockBodies, DirectoryLayout, Losses, Section, SkipNodes, Totals, pack_hd};
use crate::height::VOID;
use crate::kernel::control::{self, ControlError};
use crate::kernel::pyramid::skip::SkipBuilder;
use crate::kernel::pyramid::{self, MinMax, NODE_CELLS};
use crate::kernel::weight_mip::HdTexel;
use crate::kernel::weights::{self, LayerKind};
use rayon::prelude::*;

/// The rows that one band of blocks needs.
#[derive(Debug, Default)]
pub(super) struct Band {
    /// Sample rows from the one before the band's first to the one after its last, as far as there are.
    pub(super) heights: Vec<i32>,
    /// Cell rows of the band.
    pub(super) mask: Vec<u8>,
    /// Rows of each plane that belong to the band, in the order of the kinds.
    pub(super) planes: Vec<Vec<u8>>,
    /// Of each weight plane, in the order of the kinds, rows from [`control::HALO_ROWS`] before the band's first to as
    /// many after its last, as far as there are. Only asked for where ID control is derived.
    pub(super) halo: Vec<Vec<u8>>,
}

/// What is derived beside what every payload has.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Extras {
    /// Normals of the samples.
    pub(super) normals: bool,
    /// Normal-encoded weights.
    pub(super) normal_weights: bool,
    /// ID control within this error.
    pub(super) control: Option<f64>,
}

/// Takes what is derived, in order: bands of blocks of a level, west to east.
pub(super) trait Sink {
    /// What can go wrong with it.
    type Error: From<RasterError>;

    /// A row of blocks of a level.
    fn blocks(&mut self, level: u8, z: i32, blocks: Vec<BlockBodies>) -> Result<(), Self::Error>;
}

/// What remains to be written when every band is through.
#[derive(Debug)]
pub(super) struct Derived {
    pub(super) digest: [u8; 32],
    pub(super) totals: Totals,
    pub(super) losses: Losses,
    pub(super) min_max: Vec<Vec<MinMax>>,
    pub(super) skip: SkipNodes,
    /// The planes that are not 0 everywhere.
    pub(super) used: Vec<PlaneKind>,
}

/// Derives a terrain band by band.
#[derive(Debug)]
pub(super) struct Deriver<'a> {
    config: TerrainConfig,
    side: BlockSide,
    catalogue: &'a Catalogue,
    kinds: Vec<PlaneKind>,
    layer_kinds: Vec<LayerKind>,
    layout: &'a DirectoryLayout,
    rows: PlaneRows,
    digest: ContentDigest,
    totals: Totals,
    losses: Losses,
    extras: Extras,
    /// The first texel row of a band without any weight, and whether another has some: ID control takes one or the other.
    unpainted: Option<u32>,
    painted: bool,
    ranges: Vec<MinMax>,
    skips: SkipBuilder,
    /// Level-0 nodes that lie wholly on the map and show everything.
    whole: Vec<bool>,
    levels: Vec<Level>,
    next: i32,
}

/// Rows of a coarse level that wait for their band to fill.
#[derive(Debug, Default)]
struct Level {
    samples: [usize; 2],
    texels: [usize; 2],
    heights: Vec<i32>,
    hd: Vec<u8>,
    normal_weights: Vec<u8>,
    next: i32,
}

/// The sections that a terrain of these planes has, with their levels, in order.
pub(super) fn sections(
    config: &TerrainConfig,
    side: BlockSide,
    catalogue: &Catalogue,
    kinds: &[PlaneKind],
    extras: Extras,
) -> Vec<(Section, u8)> {
    let levels = DirectoryLayout::new(config, side, &[]).levels();
    let has = |s: Section| match s {
        Section::Hd => !catalogue.layers.is_empty(),
        Section::Normal => extras.normals,
        Section::NormalWeight => extras.normal_weights && !catalogue.layers.is_empty(),
        Section::Control => extras.control.is_some() && !catalogue.layers.is_empty(),
        s if s.is_blocked() && !s.is_required() => kinds.iter().any(|&k| Section::of_plane(k).0 == s),
        _ => true,
    };
    let with = |s: Section| (s, if s.has_levels() { levels } else { 1 });
    Section::ALL.into_iter().filter(|&s| has(s)).map(with).collect()
}

impl<'a> Deriver<'a> {
    /// Nothing yet of a terrain.
    ///
    /// # Errors
    /// A configuration, a catalogue or planes that cannot be.
    pub(super) fn new(
        config: &TerrainConfig,
        side: BlockSide,
        catalogue: &'a Catalogue,
        kinds: &[PlaneKind],
        layout: &'a DirectoryLayout,
        extras: Extras,
    ) -> Result<Self, RasterError> {
        config.check()?;
        catalogue.check()?;
        check_kinds(kinds.iter().copied(), catalogue)?;
        let samples = config.samples.map(|n| n as usize);
        let texels = crate::content::Lattice::Paint.size(config).map(|n| n as usize);
        let level = |l: u8| Level {
            samples: samples.map(|n| n.div_ceil(1 << l)),
            texels: texels.map(|n| n.div_ceil(1 << l)),
            ..Level::default()
        };
        Ok(Self {
            config: *config,
            side,
            catalogue,
            kinds: kinds.to_vec(),
            layer_kinds: catalogue.layer_kinds(),
            layout,
            rows: PlaneRows::new(config, catalogue, kinds.iter().copied()),
            digest: ContentDigest::new(kinds),
            totals: Totals::default(),
            losses: Losses {
                // Without layers there is no control that could be held to it.
                control_budget: extras.control.filter(|_| !catalogue.layers.is_empty()).unwrap_or(0.0),
                ..Losses::default()
            },
            extras,
            unpainted: None,
            painted: false,
            ranges: Vec::new(),
            skips: SkipBuilder::new(config),
            whole: Vec::new(),
            levels: (1..layout.levels()).map(level).collect(),
            next: 0,
        })
    }

    /// Takes the next band of blocks.
    ///
    /// # Errors
    /// The first thing in it that is wrong, and what the sink says.
    pub(super) fn band<S: Sink>(&mut self, band: &Band, sink: &mut S) -> Result<(), S::Error> {
        let n = self.side.samples();
        let z = self.next;
        let w = self.config.samples[0] as usize;
        let before = usize::from(z > 0);
        let rows = ((self.config.samples[1] as i32 - z * n).min(n)) as usize;
        let own = &band.heights[before * w..(before + rows) * w];
        self.check(band, z)?;
        let hd = self.hd(band, rows);
        let normal_weights = self.normal_weights(band, rows);
        let control = self.control(band, rows)?;
        let digest = &mut self.digest;
        let (blocks, ()) = {
            let this = BlockCutter {
                config: &self.config,
                side: self.side,
                kinds: &self.kinds,
                slots: self.layout.slots(0),
            };
            let own = Own {
                heights: own,
                hd: hd.as_deref(),
                normal_weights: normal_weights.as_deref(),
                control: control.as_deref(),
            };
            rayon::join(
                || this.cut(band, &own, z),
                || {
                    digest.heights(own.heights);
                    digest.mask(&band.mask);
                    band.planes.iter().enumerate().for_each(|(i, p)| digest.plane(i, p));
                },
            )
        };
        for b in &blocks {
            self.totals.void_samples += u64::from(b.facts.void_samples);
            self.totals.hole_cells += u64::from(b.facts.hole_cells);
            let (lo, hi) = b.facts.range;
            if lo != VOID {
                self.totals.range = Some(self.totals.range.map_or((lo, hi), |(a, b)| (a.min(lo), b.max(hi))));
            }
        }
        sink.blocks(0, z, blocks)?;
        self.pyramids(&band.heights[before * w..], &band.mask);
        self.next += 1;
        let normal_weights = normal_weights.map(|t| t.iter().flat_map(|t| t.to_le_bytes()).collect());
        self.coarser(1, own, [hd.as_deref().map(pack_hd), normal_weights], sink)
    }

    /// HD texels of the band's rows, row by row.
    fn hd(&mut self, band: &Band, rows: usize) -> Option<Vec<HdTexel>> {
        if self.catalogue.layers.is_empty() {
            return None;
        }
        let (texels, loss) = self.texels(band, rows, HdTexel::default(), weights::hd_row);
        self.losses.hd = self.losses.hd.max(loss);
        Some(texels)
    }

    /// Normal texels of the band's rows, row by row, if they are asked for.
    fn normal_weights(&mut self, band: &Band, rows: usize) -> Option<Vec<u16>> {
        if self.catalogue.layers.is_empty() || !self.extras.normal_weights {
            return None;
        }
        let (texels, loss) = self.texels(band, rows, 0, weights::normal_row);
        self.losses.normal = self.losses.normal.max(loss);
        Some(texels)
    }

    /// Encodes the band's texels row by row. With the largest loss.
    fn texels<T: Copy + Send + Sync>(
        &self,
        band: &Band,
        rows: usize,
        zero: T,
        encode: impl Fn(&[LayerKind], &[Option<&[u8]>], &mut [T]) -> u32 + Sync,
    ) -> (Vec<T>, u32) {
        let [tw, th] = crate::content::Lattice::Paint.size(&self.config).map(|n| n as usize);
        let per_cell = usize::from(self.config.paint_per_cell);
        let from = self.next as usize * self.side.samples() as usize * per_cell;
        let lines = (rows * per_cell).min(th - from.min(th));
        let mut texels = vec![zero; tw * lines];
        let encoded = texels.par_chunks_mut(tw).enumerate().map(|(z, line)| {
            let mut planes: [Option<&[u8]>; 32] = [None; 32];
            for (kind, values) in self.kinds.iter().zip(&band.planes) {
                if let PlaneKind::Weight(id) = kind {
                    planes[usize::from(*id)] = Some(&values[z * tw..(z + 1) * tw]);
                }
            }
            encode(&self.layer_kinds, &planes[..self.layer_kinds.len()], line)
        });
        let loss = encoded.max().unwrap_or(0);
        (texels, loss)
    }

    /// ID control of the band's rows, if it is asked for.
    fn control(&mut self, band: &Band, rows: usize) -> Result<Option<Vec<[u8; 4]>>, RasterError> {
        let (Some(budget), false) = (self.extras.control, self.catalogue.layers.is_empty()) else {
            return Ok(None);
        };
        let [tw, th] = crate::content::Lattice::Paint.size(&self.config);
        let per_cell = u32::from(self.config.paint_per_cell);
        let from = self.next as u32 * self.side.samples() as u32 * per_cell;
        let end = (from + rows as u32 * per_cell).min(th);
        if from >= end {
            return Ok(Some(Vec::new()));
        }
        let first = from.saturating_sub(control::HALO_ROWS);
        let mut planes: [Option<&[u8]>; 32] = [None; 32];
        let weights = self.kinds.iter().filter(|k| matches!(k, PlaneKind::Weight(_)));
        for (kind, values) in weights.zip(&band.halo) {
            if let PlaneKind::Weight(id) = kind {
                planes[usize::from(*id)] = Some(values);
            }
        }
        let field = control::Field {
            size: [tw, (end + control::HALO_ROWS).min(th) - first],
            kinds: &self.layer_kinds,
            planes: &planes[..self.layer_kinds.len()],
            diagonal: self.config.diagonal,
        };
        let found =
            control::encode_rows(&field, from - first..end - first, budget).map_err(|e| e.at_row(first))?;
        if found.nodes.iter().all(|n| *n == control::DEFAULT) {
            self.unpainted.get_or_insert(from);
        } else {
            self.painted = true;
        }
        if let (Some(z), true) = (self.unpainted, self.painted) {
            return Err(ControlError::Sum { x: 0, z, sum: 0 }.into());
        }
        self.losses.control = self.losses.control.max(found.error);
        Ok(Some(found.nodes))
    }

    fn pyramids(&mut self, samples: &[i32], mask: &[u8]) {
        let [w, cw] = [self.config.samples[0] as usize, self.config.samples[0] as usize - 1];
        let per_row = cw.div_ceil(NODE_CELLS as usize);
        for (i, cells) in mask.chunks(cw * NODE_CELLS as usize).enumerate() {
            let rows = cells.len() / cw;
            let at = self.ranges.len();
            self.ranges.resize(at + per_row, MinMax::NONE);
            let from = i * NODE_CELLS as usize * w;
            pyramid::base_row(w, &samples[from..from + (rows + 1) * w], &mut self.ranges[at..]);
            let visible = |x: usize| {
                let x0 = x * NODE_CELLS as usize;
                rows == NODE_CELLS as usize
                    && x0 + NODE_CELLS as usize <= cw
                    && cells.chunks_exact(cw).all(|r| r[x0..x0 + NODE_CELLS as usize].iter().all(|&m| m == 3))
            };
            self.whole.extend((0..per_row).map(visible));
        }
        mask.chunks_exact(cw).for_each(|row| self.skips.push_row(row));
    }

    /// What remains, when every band is through.
    pub(super) fn finish(self) -> Derived {
        let cells = self.config.samples.map(|n| n - 1);
        let used = self.digest.used();
        let skip = if self.whole.iter().all(|&w| w) {
            SkipNodes::new()
        } else {
            skip_nodes(cells, &self.whole, self.skips)
        };
        Derived {
            digest: self.digest.finish(&self.config, self.catalogue),
            totals: self.totals,
            losses: self.losses,
            min_max: pyramid::all_levels(cells, self.ranges),
            skip,
            used,
        }
    }
}
