//! A whole terrain in memory, row-major: what importers and the cook produce and the payload writer consumes.

use crate::config::{ConfigError, TerrainConfig};
use crate::content::{Catalogue, CatalogueError, Plane, PlaneKind};
use crate::coord::{BlockPos, BlockSide, CellPos, SamplePos};
use crate::height::{HEIGHT_LIMIT, VOID};
use crate::kernel::weight_mip::HdTexel;
use crate::kernel::weights::{self, LayerKind};
use crate::store::TerrainRows;
use crate::surface::{Block, BlockPlanes, PlaneChoice, Triangle};
use std::ops::Range;

/// Everything a whole terrain holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Raster {
    /// What changes its bits.
    pub config: TerrainConfig,
    /// Raw quanta, `samples[0] · samples[1]`, X fastest; [`VOID`] where there is no sample.
    pub heights: Vec<i32>,
    /// Two bits a cell (bit 0 triangle 0, bit 1 triangle 1), one byte each, `cells[0] · cells[1]`, X fastest.
    pub mask: Vec<u8>,
    /// What the planes refer to.
    pub catalogue: Catalogue,
    /// Weights, user channels and whatever else has a value everywhere, in the order of their kinds, each once. An
    /// absent plane is 0 everywhere.
    pub planes: Vec<Plane>,
}

/// What is wrong with a raster.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RasterError {
    /// The configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// An array has the wrong length.
    #[error("the {what} array must hold {expected} values, found {found}")]
    Length {
        /// Which array.
        what: &'static str,
        /// How many values it must hold.
        expected: usize,
        /// How many it holds.
        found: usize,
    },
    /// A height does not fit.
    #[error(
        "the height of sample ({x}, {z}), {quanta} quanta, does not fit below ±2^24 quanta; take a smaller vertical scale or a smaller k"
    )]
    Height {
        /// Column.
        x: i32,
        /// Row.
        z: i32,
        /// The value found.
        quanta: i64,
    },
    /// A visible triangle touches a void.
    #[error(
        "triangle {triangle} of cell ({x}, {z}) is visible but touches a void sample or lies outside the extent"
    )]
    VisibleVoid {
        /// Column.
        x: i32,
        /// Row.
        z: i32,
        /// Which triangle.
        triangle: u8,
    },
    /// The catalogue.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    /// Planes are out of order or there twice.
    #[error("planes must be sorted and there once each, found the {0} after a later or equal one")]
    Order(String),
    /// A plane that refers to nothing.
    #[error("there is a plane of the {0}, but the catalogue has no such entry")]
    Stray(String),
    /// Weights that are neither whole nor nothing.
    #[error("the weights of texel ({x}, {z}) sum to {sum}: they must sum to 255, or all be 0")]
    WeightSum {
        /// Column, in texels.
        x: u32,
        /// Row, in texels.
        z: u32,
        /// Their sum.
        sum: u32,
    },
    /// ID control was asked for and cannot be.
    #[error(transparent)]
    Control(#[from] crate::kernel::control::ControlError),
    /// A value beyond what its plane may hold.
    #[error("the {plane} at ({x}, {z}) is {value}: it must be below {limit}")]
    Value {
        /// Which plane.
        plane: String,
        /// Column.
        x: u32,
        /// Row.
        z: u32,
        /// The value.
        value: u32,
        /// One more than the largest allowed.
        limit: u32,
    },
}

impl Raster {
    /// A terrain of the given heights, wholly visible inside the extent but where triangles touch voids; nothing else.
    pub fn from_heights(config: TerrainConfig, heights: Vec<i32>) -> Self {
        let [cw, ch] = config.cells();
        let mut raster = Self {
            config,
            heights,
            mask: vec![3; cw.max(0) as usize * ch.max(0) as usize],
            catalogue: Catalogue::default(),
            planes: Vec::new(),
        };
        raster.remove_hidden();
        raster
    }

    /// Raw quanta of a sample; [`VOID`] beyond the map.
    pub fn quanta(&self, s: SamplePos) -> i32 {
        if self.config.has_sample(s) {
            self.heights[s.z as usize * self.config.samples[0] as usize + s.x as usize]
        } else {
            VOID
        }
    }

    /// The visibility of a cell; 0 beyond the map.
    pub fn cell_mask(&self, c: CellPos) -> u8 {
        if self.config.cell_rect().contains(c) { self.mask[self.cell_index(c)] } else { 0 }
    }

    fn cell_index(&self, c: CellPos) -> usize {
        c.z as usize * self.config.cells()[0] as usize + c.x as usize
    }

    /// Removes every triangle that touches a void or lies outside the extent.
    pub fn remove_hidden(&mut self) {
        let [cw, ch] = self.config.cells();
        for z in 0..ch {
            for x in 0..cw {
                let cell = CellPos::new(x, z);
                let index = self.cell_index(cell);
                self.mask[index] &= self.possible_mask(cell);
            }
        }
    }

    /// The triangles of a cell that have all their samples and lie inside the extent.
    pub fn possible_mask(&self, cell: CellPos) -> u8 {
        if !self.config.extent.contains(cell) {
            return 0;
        }
        let mut mask = 0;
        for triangle in Triangle::BOTH {
            let whole = triangle
                .corners(self.config.diagonal.is_anti(cell))
                .iter()
                .all(|&(dx, dz)| self.quanta(cell.corner(dx, dz)) != VOID);
            mask |= u8::from(whole) << triangle.index();
        }
        mask
    }

    /// Checks lengths, height range, visibility against voids, and layer ids.
    ///
    /// # Errors
    /// The first thing that is wrong, with where it is.
    pub fn check(&self) -> Result<(), RasterError> {
        self.config.check()?;
        let [w, h] = self.config.samples;
        let [cw, ch] = self.config.cells();
        let length = |what, expected: usize, found: usize| {
            if expected == found { Ok(()) } else { Err(RasterError::Length { what, expected, found }) }
        };
        length("height", w as usize * h as usize, self.heights.len())?;
        length("mask", cw as usize * ch as usize, self.mask.len())?;
        for (i, &q) in self.heights.iter().enumerate() {
            if q != VOID && q.unsigned_abs() >= HEIGHT_LIMIT as u32 {
                let (x, z) = ((i % w as usize) as i32, (i / w as usize) as i32);
                return Err(RasterError::Height { x, z, quanta: i64::from(q) });
            }
        }
        for z in 0..ch {
            for x in 0..cw {
                let cell = CellPos::new(x, z);
                let wrong = self.cell_mask(cell) & !self.possible_mask(cell);
                if wrong != 0 {
                    return Err(RasterError::VisibleVoid { x, z, triangle: wrong.trailing_zeros() as u8 });
                }
            }
        }
        self.check_planes()
    }

    fn check_planes(&self) -> Result<(), RasterError> {
        self.catalogue.check()?;
        check_kinds(self.planes.iter().map(|p| p.kind), &self.catalogue)?;
        for p in &self.planes {
            let expected = p.kind.plane_bytes(&self.config);
            if p.values.len() != expected {
                return Err(RasterError::Length { what: "plane", expected, found: p.values.len() });
            }
        }
        let rows = PlaneRows::new(&self.config, &self.catalogue, self.planes.iter().map(|p| p.kind));
        for (i, p) in self.planes.iter().enumerate() {
            for (z, row) in p.values.chunks(p.kind.row_bytes(&self.config).max(1)).enumerate() {
                rows.check_values(i, z as u32, row)?;
            }
        }
        let [_, h] = crate::content::Lattice::Paint.size(&self.config);
        for z in 0..h {
            rows.check_sums(z, |i| {
                let bytes = self.planes[i].kind.row_bytes(&self.config);
                &self.planes[i].values[z as usize * bytes..][..bytes]
            })?;
        }
        Ok(())
    }

    /// The plane of a kind, if there is one.
    pub fn plane_of(&self, kind: PlaneKind) -> Option<&Plane> {
        self.planes.iter().find(|p| p.kind == kind)
    }

    /// Adds or replaces a plane, in its place.
    pub fn set_plane(&mut self, plane: Plane) {
        match self.planes.binary_search_by_key(&plane.kind, |p| p.kind) {
            Ok(i) => self.planes[i] = plane,
            Err(i) => self.planes.insert(i, plane),
        }
    }

    /// Gives the terrain layers by their names and weights out of HD texels, without loss.
    pub fn set_hd_weights(&mut self, names: &[&str], texels: &[HdTexel]) {
        self.catalogue.layers = names.iter().map(|n| crate::content::Layer::named(n)).collect();
        self.planes.retain(|p| !matches!(p.kind, PlaneKind::Weight(_)));
        for id in 0..names.len() as u8 {
            let values: Vec<u8> = texels.iter().map(|t| hd_weight(*t, id)).collect();
            if values.iter().any(|&v| v != 0) {
                self.set_plane(Plane { kind: PlaneKind::Weight(id), values });
            }
        }
    }

    /// The HD texels of the whole paint map, derived from the full weights; `None` without layers.
    pub fn hd_weights(&self) -> Option<Vec<HdTexel>> {
        if self.catalogue.layers.is_empty() {
            return None;
        }
        let [w, h] = crate::content::Lattice::Paint.size(&self.config);
        let mut out = vec![HdTexel::default(); w as usize * h as usize];
        weights::hd_row(&self.catalogue.layer_kinds(), &self.weight_slices(0..out.len()), &mut out);
        Some(out)
    }

    /// A range of texels of every layer's weights.
    fn weight_slices(&self, texels: Range<usize>) -> Vec<Option<&[u8]>> {
        let mut slices = vec![None; self.catalogue.layers.len()];
        for p in &self.planes {
            if let PlaneKind::Weight(id) = p.kind {
                slices[usize::from(id)] = Some(&p.values[texels.clone()]);
            }
        }
        slices
    }

    /// Cuts one block out. Samples and cells beyond the map are void and removed.
    pub fn block(&self, side: BlockSide, pos: BlockPos) -> Block {
        let n = side.samples();
        let first = side.first_sample(pos);
        let mut heights = Vec::with_capacity((n * n) as usize);
        let mut mask = Vec::with_capacity((n * n) as usize);
        for z in 0..n {
            for x in 0..n {
                heights.push(self.quanta(SamplePos::new(first.x + x, first.z + z)));
                mask.push(self.cell_mask(CellPos::new(first.x + x, first.z + z)));
            }
        }
        let weights = (!self.catalogue.layers.is_empty()).then(|| self.block_weights(side, pos).into());
        let block = Block::new(pos, side, heights.into(), mask.into(), weights);
        match self.plane_of(PlaneKind::PhysicalHole) {
            Some(plane) => block.with_physical_holes(&self.cut(plane, side, pos)),
            None => block,
        }
    }

    /// Cuts the planes of a block out. Values beyond the map are 0.
    pub fn block_planes(&self, side: BlockSide, pos: BlockPos, choice: PlaneChoice) -> BlockPlanes {
        let chosen = self.planes.iter().filter(|p| choice.takes(p.kind));
        BlockPlanes::new(choice, chosen.map(|p| (p.kind, self.cut(p, side, pos))))
    }

    fn cut(&self, plane: &Plane, side: BlockSide, pos: BlockPos) -> Vec<u8> {
        let (lattice, bytes) = (plane.kind.lattice(), plane.kind.bytes());
        let [w, h] = lattice.size(&self.config).map(|n| n as usize);
        let n = side.samples() as usize * lattice.per_cell(&self.config) as usize;
        let (x0, z0) = (pos.x as usize * n, pos.z as usize * n);
        let mut out = vec![0; n * n * bytes];
        let columns = w.min(x0 + n).saturating_sub(x0) * bytes;
        for (z, row) in (z0..h.min(z0 + n)).zip(out.chunks_exact_mut(n * bytes)) {
            row[..columns].copy_from_slice(&plane.values[(z * w + x0) * bytes..][..columns]);
        }
        out
    }

    /// HD texels of a block; those beyond the map are layer 0.
    fn block_weights(&self, side: BlockSide, pos: BlockPos) -> Vec<HdTexel> {
        let kinds = self.catalogue.layer_kinds();
        let [tw, th] = crate::content::Lattice::Paint.size(&self.config).map(|n| n as usize);
        let n = side.samples() as usize * usize::from(self.config.paint_per_cell);
        let (x0, z0) = (pos.x as usize * n, pos.z as usize * n);
        let mut out = vec![HdTexel::default(); n * n];
        for (z, row) in (z0..th.min(z0 + n)).zip(out.chunks_exact_mut(n)) {
            let x1 = tw.min(x0 + n);
            if x0 < x1 {
                let slices = self.weight_slices(z * tw + x0..z * tw + x1);
                weights::hd_row(&kinds, &slices, &mut row[..x1 - x0]);
            }
        }
        out
    }
}

impl TerrainRows for Raster {
    fn config(&self) -> &TerrainConfig {
        &self.config
    }

    fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    fn plane_kinds(&self) -> Vec<PlaneKind> {
        self.planes.iter().map(|p| p.kind).collect()
    }

    fn heights(&self, rows: Range<u32>, out: &mut [i32]) {
        let w = self.config.samples[0] as usize;
        out.copy_from_slice(&self.heights[rows.start as usize * w..rows.end as usize * w]);
    }

    fn mask(&self, rows: Range<u32>, out: &mut [u8]) {
        let w = self.config.samples[0] as usize - 1;
        out.copy_from_slice(&self.mask[rows.start as usize * w..rows.end as usize * w]);
    }

    fn plane(&self, kind: PlaneKind, rows: Range<u32>, out: &mut [u8]) {
        match self.plane_of(kind) {
            Some(p) => {
                let bytes = kind.row_bytes(&self.config);
                out.copy_from_slice(&p.values[rows.start as usize * bytes..rows.end as usize * bytes]);
            }
            None => out.fill(0),
        }
    }
}

/// What an HD texel gives to a layer, of 255.
pub(super) fn hd_weight(t: HdTexel, id: u8) -> u8 {
    let first = if t.id1 == id { 255 - t.ratio } else { 0 };
    // Both are one layer's when the ids are equal: 255 in all.
    first + if t.id2 == id { t.ratio } else { 0 }
}

/// Refuses planes out of order, twice, or without an entry in the catalogue.
pub(crate) fn check_kinds(
    kinds: impl Iterator<Item = PlaneKind>,
    catalogue: &Catalogue,
) -> Result<(), RasterError> {
    let mut before = None;
    for kind in kinds {
        if before.is_some_and(|b| b >= kind) {
            return Err(RasterError::Order(kind.name()));
        }
        if !catalogue.allows(kind) {
            return Err(RasterError::Stray(kind.name()));
        }
        before = Some(kind);
    }
    Ok(())
}

/// Checks the values of planes row by row.
#[derive(Debug)]
pub(crate) struct PlaneRows {
    kinds: Vec<PlaneKind>,
    /// One more than the largest value of each plane; 0 where every byte will do.
    limits: Vec<u32>,
    /// Indices of the planes whose weights sum to 255.
    summed: Vec<usize>,
    width: usize,
}

impl PlaneRows {
    pub(crate) fn new(
        config: &TerrainConfig,
        catalogue: &Catalogue,
        kinds: impl Iterator<Item = PlaneKind>,
    ) -> Self {
        let kinds: Vec<PlaneKind> = kinds.collect();
        let limit = |k: &PlaneKind| match k {
            PlaneKind::PhysicalHole => 4,
            PlaneKind::PhysicalMaterial if catalogue.materials.len() < 256 => {
                catalogue.materials.len() as u32
            }
            PlaneKind::WaterDepth => HEIGHT_LIMIT as u32,
            _ => 0,
        };
        let summed = |k: &PlaneKind| match k {
            PlaneKind::Weight(id) => catalogue.layers[usize::from(*id)].kind != LayerKind::OrderedAlpha,
            _ => false,
        };
        Self {
            limits: kinds.iter().map(limit).collect(),
            summed: (0..kinds.len()).filter(|&i| summed(&kinds[i])).collect(),
            width: crate::content::Lattice::Paint.size(config)[0] as usize,
            kinds,
        }
    }

    /// Checks one row of a plane against its limit.
    pub(crate) fn check_values(&self, plane: usize, z: u32, row: &[u8]) -> Result<(), RasterError> {
        let (limit, kind) = (self.limits[plane], self.kinds[plane]);
        if limit == 0 {
            return Ok(());
        }
        let refuse =
            |x: usize, value: u32| RasterError::Value { plane: kind.name(), x: x as u32, z, value, limit };
        let wrong = match row.as_chunks::<4>() {
            (values, []) if kind.bytes() == 4 => {
                values.iter().map(|b| u32::from_le_bytes(*b)).enumerate().find(|v| v.1 >= limit)
            }
            _ => row.iter().map(|&b| u32::from(b)).enumerate().find(|v| v.1 >= limit),
        };
        wrong.map_or(Ok(()), |(x, value)| Err(refuse(x, value)))
    }

    /// Checks that the weights of each texel of a row sum to 255 or are all 0. `row` gives a plane's row.
    pub(crate) fn check_sums<'a>(&self, z: u32, row: impl Fn(usize) -> &'a [u8]) -> Result<(), RasterError> {
        if self.summed.is_empty() {
            return Ok(());
        }
        let mut sums = vec![0u32; self.width];
        for &i in &self.summed {
            sums.iter_mut().zip(row(i)).for_each(|(sum, &w)| *sum += u32::from(w));
        }
        match sums.iter().position(|&s| s != 0 && s != 255) {
            Some(x) => Err(RasterError::WeightSum { x: x as u32, z, sum: sums[x] }),
            None => Ok(()),
        }
    }
}
