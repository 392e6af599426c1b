//! Point queries: the exact height, normal and layer under a position.
//!
//! Positions are rounded to the 2⁻¹⁶ m lattice, then all is integer until one division. The rules are in
//! `ARCHITECTURE.md`, "The surface".

use super::spot::Spot;
use super::{Ground, Slot, Tile, Triangle};
use crate::coord::{BlockPos, CellPos, LatticeError, LatticePos};
use crate::state::AnswerState;
use glam::DVec3;

/// The answer to a question about the surface at a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer<T> {
    /// There is ground.
    Valid(T),
    /// Inside the map, but every triangle that touches the point is removed.
    Hole,
    /// Outside the valid extent.
    Outside,
    /// The block is not resident.
    Pending,
    /// The block cannot be had.
    Failed,
}

impl<T> Answer<T> {
    /// Which kind of answer.
    pub const fn state(&self) -> AnswerState {
        match self {
            Answer::Valid(_) => AnswerState::Valid,
            Answer::Hole => AnswerState::Hole,
            Answer::Outside => AnswerState::Outside,
            Answer::Pending => AnswerState::Pending,
            Answer::Failed => AnswerState::Failed,
        }
    }

    /// What a Valid answer holds.
    #[inline]
    pub fn valid(self) -> Option<T> {
        match self {
            Answer::Valid(v) => Some(v),
            _ => None,
        }
    }

    /// The same kind of answer about something else.
    #[inline]
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Answer<U> {
        match self {
            Answer::Valid(v) => Answer::Valid(f(v)),
            Answer::Hole => Answer::Hole,
            Answer::Outside => Answer::Outside,
            Answer::Pending => Answer::Pending,
            Answer::Failed => Answer::Failed,
        }
    }
}

/// The answer to "what is the ground under (x, z)?". Height, cell, triangle, normal and layer are there exactly when
/// the state is Valid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointAnswer {
    /// Which kind of answer.
    pub state: AnswerState,
    /// The rest of a Valid answer.
    pub ground: Option<GroundPoint>,
}

/// The ground under a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroundPoint {
    /// World metres: the nearest `f64` to the exact rational height.
    pub height: f64,
    /// The cell whose triangle answered.
    pub cell: CellPos,
    /// Which triangle answered.
    pub triangle: Triangle,
    /// Unit face normal, up.
    pub normal: DVec3,
    /// The stronger surface layer of the paint texel under the point; 0 when the answering cell stands in a block that is
    /// not resident ([`Spot::layer`] tells).
    pub layer: u8,
}

impl PointAnswer {
    /// The height of a Valid answer, in metres.
    pub fn height(&self) -> Option<f64> {
        self.ground.map(|g| g.height)
    }
}

impl Ground {
    /// The ground under a position in world metres.
    ///
    /// # Errors
    /// NaN, infinities and positions beyond ±2⁴⁰ lattice units are no positions.
    pub fn point(&self, x: f64, z: f64) -> Result<PointAnswer, LatticeError> {
        Ok(self.point_at(LatticePos::from_metres(x, z)?))
    }

    /// The ground under a world lattice position; see [`Ground::spot_at`].
    pub fn point_at(&self, p: LatticePos) -> PointAnswer {
        let answer = self.spot_at(p);
        let state = answer.state();
        let ground = answer.valid().map(|spot| GroundPoint {
            height: spot.height(),
            cell: spot.cell(),
            triangle: spot.triangle(),
            normal: spot.normal(),
            layer: spot.layer().known().unwrap_or(0),
        });
        PointAnswer { state, ground }
    }

    /// The height under a position in world metres: the nearest `f64` to the exact rational height.
    ///
    /// # Errors
    /// NaN, infinities and positions beyond ±2⁴⁰ lattice units are no positions.
    #[inline]
    pub fn height(&self, x: f64, z: f64) -> Result<Answer<f64>, LatticeError> {
        // All in one function: a spot that is handed over in memory costs as much as finding it.
        let p = LatticePos::from_metres(x, z)?;
        Ok(self.find(self.frame().local(p)).map(|spot| spot.height()))
    }

    /// Whether there is ground under a position in world metres: Valid, or why not.
    ///
    /// # Errors
    /// NaN, infinities and positions beyond ±2⁴⁰ lattice units are no positions.
    pub fn contains(&self, x: f64, z: f64) -> Result<AnswerState, LatticeError> {
        Ok(self.spot(x, z)?.state())
    }

    /// The place on the ground under a position in world metres, to be asked for more.
    ///
    /// # Errors
    /// NaN, infinities and positions beyond ±2⁴⁰ lattice units are no positions.
    #[inline]
    pub fn spot(&self, x: f64, z: f64) -> Result<Answer<Spot<'_>>, LatticeError> {
        Ok(self.spot_at(LatticePos::from_metres(x, z)?))
    }

    /// The place on the ground under a world lattice position. The owner of a point is the cell by floor (the far map
    /// edge belongs to the last cell) and its diagonal belongs to triangle 0; if the owner is removed, the other visible
    /// triangles touching the point answer in (z, x, triangle) order.
    #[inline]
    pub fn spot_at(&self, p: LatticePos) -> Answer<Spot<'_>> {
        self.find(self.frame().local(p))
    }

    /// The same for a position in terrain-local lattice units.
    #[inline(always)]
    pub(crate) fn find(&self, p: LatticePos) -> Answer<Spot<'_>> {
        let f = self.frame();
        if !f.contains(p) {
            return Answer::Outside;
        }
        let floor = CellPos::new(f.cell(p.x), f.cell(p.z));
        if floor.x > f.far[0] || floor.z > f.far[1] {
            return self.find_on_far_edge(p);
        }
        let tile = match self.slot(self.side().block_of_cell(floor)) {
            Slot::Resident(tile) => &**tile,
            Slot::Absent => return Answer::Pending,
            Slot::Failed => return Answer::Failed,
        };
        let (fx, fz) = (p.x - i64::from(floor.x) * f.s, p.z - i64::from(floor.z) * f.s);
        let owner = Triangle::owner(tile.is_anti(floor), fx, fz, f.s);
        if tile.is_whole() || tile.cell_mask(floor) & owner.bit() != 0 {
            return Answer::Valid(Spot::new(self, tile, floor, owner, [fx, fz], tile.own_corners(floor)));
        }
        self.find_around(tile, floor, p)
    }

    /// A point on the extent's far edge has its surface on the near side; that tile knows all cells around it. On the
    /// map's far edge it belongs to the last cell.
    #[cold]
    #[inline(never)]
    fn find_on_far_edge(&self, p: LatticePos) -> Answer<Spot<'_>> {
        let f = self.frame();
        let floor = CellPos::new(f.cell(p.x).min(f.last[0]), f.cell(p.z).min(f.last[1]));
        let near = CellPos::new(floor.x.min(f.far[0]), floor.z.min(f.far[1]));
        match self.slot(self.side().block_of_cell(near)) {
            Slot::Resident(tile) => self.find_around(tile, floor, p),
            Slot::Absent => Answer::Pending,
            Slot::Failed => Answer::Failed,
        }
    }

    /// Reads something of what [`Ground::find`] will need, so that it is on its way from memory while others are asked
    /// about. What is answered has no meaning.
    #[inline(always)]
    pub(crate) fn touch(&self, p: LatticePos) -> i32 {
        let f = self.frame();
        if !f.contains(p) {
            return 0;
        }
        let cell = CellPos::new(f.cell(p.x).min(f.far[0]), f.cell(p.z).min(f.far[1]));
        match self.slot(self.side().block_of_cell(cell)) {
            Slot::Resident(tile) => tile.touch(cell),
            _ => 0,
        }
    }

    /// The rest of the point rule, where the owner may be removed.
    #[cold]
    #[inline(never)]
    fn find_around<'a>(&'a self, tile: &'a Tile, floor: CellPos, p: LatticePos) -> Answer<Spot<'a>> {
        let s = self.frame().s;
        let local = |cell: CellPos| [p.x - i64::from(cell.x) * s, p.z - i64::from(cell.z) * s];
        let spot =
            |cell: CellPos, t: Triangle| Spot::new(self, tile, cell, t, local(cell), tile.corners(cell));
        let [fx, fz] = local(floor);
        let owner = Triangle::owner(tile.is_anti(floor), fx, fz, s);
        if tile.cell_mask(floor) & owner.bit() != 0 {
            return Answer::Valid(spot(floor, owner));
        }
        for z in floor.z - 1..=floor.z + 1 {
            for x in floor.x - 1..=floor.x + 1 {
                let cell = CellPos::new(x, z);
                let [fx, fz] = local(cell);
                if !(0..=s).contains(&fx) || !(0..=s).contains(&fz) || !around(tile, cell) {
                    continue;
                }
                let (mask, anti) = (tile.cell_mask(cell), tile.is_anti(cell));
                for t in Triangle::BOTH {
                    if mask & t.bit() != 0 && t.touches(anti, fx, fz, s) {
                        return Answer::Valid(spot(cell, t));
                    }
                }
            }
        }
        Answer::Hole
    }

    /// The tile of a cell, if resident.
    pub(crate) fn tile_of(&self, cell: CellPos) -> Option<&Tile> {
        let pos: BlockPos = self.side().block_of_cell(cell);
        self.tile(pos)
    }
}

/// Whether the tile's apron reaches the cell.
fn around(tile: &Tile, c: CellPos) -> bool {
    let (first, n) = (tile.side().first_sample(tile.pos()), tile.side().samples());
    (first.x - 1..=first.x + n).contains(&c.x) && (first.z - 1..=first.z + n).contains(&c.z)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Diagonal;
    use crate::coord::{BlockSide, CellRect, SamplePos};
    use crate::store::{MemoryTerrain, Raster};
    use proptest::prelude::*;

    /// Barycentric height over all visible triangles that hold the point, in i128 rationals: no shared code with the
    /// query but the corner table.
    fn brute(raster: &Raster, p: LatticePos) -> Vec<(CellPos, Triangle, f64)> {
        let s = i128::from(raster.config.spacing_lattice());
        let mut found = Vec::new();
        let [cw, ch] = raster.config.cells();
        for z in 0..ch {
            for x in 0..cw {
                let cell = CellPos::new(x, z);
                for t in Triangle::BOTH {
                    if raster.cell_mask(cell) & t.bit() == 0 {
                        continue;
                    }
                    let v = t.corners(raster.config.diagonal.is_anti(cell)).map(|(dx, dz)| {
                        let c = SamplePos::new(x + dx, z + dz);
                        (i128::from(c.x) * s, i128::from(c.z) * s, i128::from(raster.quanta(c)))
                    });
                    let (px, pz) = (i128::from(p.x), i128::from(p.z));
                    let area = |a: (i128, i128), b: (i128, i128), c: (i128, i128)| {
                        (b.0 - a.0) * (c.1 - a.1) - (b.1 - a.1) * (c.0 - a.0)
                    };
                    let [a, b, c] = v.map(|v| (v.0, v.1));
                    let total = area(a, b, c);
                    let w = [area((px, pz), b, c), area(a, (px, pz), c), area(a, b, (px, pz))];
                    if w.iter().any(|w| w.signum() * total.signum() < 0) {
                        continue;
                    }
                    let n: i128 = w.iter().zip(v).map(|(w, v)| w * v.2).sum();
                    // Both exact in f64 at these sizes only after reducing by the cell's area.
                    let h = (n * s / total) as f64 / s as f64;
                    assert_eq!(n * s % total, 0);
                    found.push((cell, t, h * raster.config.quantum.metres()));
                }
            }
        }
        found
    }

    fn sample_terrain(diagonal: Diagonal, holes: &[(usize, u8)]) -> MemoryTerrain {
        let mut config = crate::config::TerrainConfig::new([40, 36], 640);
        config.diagonal = diagonal;
        config.extent = CellRect { x0: 1, z0: 0, x1: 39, z1: 33 };
        let heights = (0..40 * 36).map(|i: i32| (i * 7919) % 2003 - 1000).collect();
        let mut raster = Raster::from_heights(config, heights);
        for &(i, keep) in holes {
            let n = raster.mask.len();
            raster.mask[i % n] &= keep;
        }
        MemoryTerrain::new(raster, BlockSide::S32)
    }

    proptest! {
        #[test]
        fn heights_agree_with_brute_force_over_all_triangles(
            which in 0usize..3,
            holes in prop::collection::vec((0usize..2000, 0u8..3), 0..400),
            points in prop::collection::vec((-10i64..410, -10i64..370, 0i64..8), 40),
        ) {
            let diagonal = [Diagonal::Main, Diagonal::Anti, Diagonal::Checkerboard][which];
            let terrain = sample_terrain(diagonal, &holes);
            let ground = terrain.ground_all();
            let s = ground.config().spacing_lattice();
            for (tx, tz, jitter) in points {
                // Quarter cells, so that edges, diagonals and vertices are common; jitter moves one unit off them.
                let p = LatticePos { x: tx * s / 4 + jitter % 3, z: tz * s / 4 + jitter / 3 };
                let answer = ground.point_at(p);
                let all = brute(terrain.raster(), p);
                match answer.ground {
                    Some(g) => {
                        prop_assert!(all.contains(&(g.cell, g.triangle, g.height)), "{p:?} {answer:?} {all:?}");
                        prop_assert!(all.iter().all(|a| a.2 == g.height));
                    }
                    None => {
                        prop_assert!(all.is_empty(), "{p:?} {answer:?} {all:?}");
                        let inside = p.x >= s && p.x <= 39 * s && p.z >= 0 && p.z <= 33 * s;
                        prop_assert_eq!(answer.state, if inside { AnswerState::Hole } else { AnswerState::Outside });
                    }
                }
            }
        }
    }

    #[test]
    fn absent_ground_is_pending_and_never_flat() {
        let terrain = sample_terrain(Diagonal::Main, &[]);
        let ground = terrain
            .ground_all()
            .with_changes(&[(BlockPos::new(0, 0), Slot::Absent), (BlockPos::new(1, 0), Slot::Failed)]);
        assert_eq!(ground.point(5.0, 5.0).unwrap().state, AnswerState::Pending);
        assert_eq!(ground.point(85.0, 5.0).unwrap().state, AnswerState::Failed);
        assert_eq!(ground.point(5.0, 81.0).unwrap().state, AnswerState::Valid);
        assert_eq!(ground.point(-1.0, 5.0).unwrap().state, AnswerState::Outside);
        assert_eq!(ground.point(f64::NAN, 5.0), Err(LatticeError::NotFinite));
    }

    #[test]
    fn a_saddle_is_split_not_bilinear() {
        // 10 and 01 up by one metre: Anti's middle is up, Main's is down; bilinear would say a half.
        for (diagonal, middle) in [(Diagonal::Main, 0.0), (Diagonal::Anti, 1.0)] {
            let t = MemoryTerrain::from_fn(
                [2, 2],
                BlockSide::S32,
                |c| c.diagonal = diagonal,
                |x, z| f64::from(x ^ z),
            );
            let answer = t.ground_all().point(0.5, 0.5).unwrap();
            assert_eq!(answer.height(), Some(middle));
            assert_eq!(answer.ground.unwrap().triangle, Triangle::Zero);
        }
    }

    #[test]
    fn the_far_map_edge_belongs_to_the_last_cell() {
        let t = MemoryTerrain::from_fn([33, 33], BlockSide::S32, |_| {}, |x, z| f64::from(x + z));
        let g = t.ground_all().point(32.0, 32.0).unwrap().ground.unwrap();
        assert_eq!((g.cell, g.height), (CellPos::new(31, 31), 64.0));
    }
}
