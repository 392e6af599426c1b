//! Scatter on any device: the instances of one type in one window of the terrain.
//!
//! Points go to the device in strips of grid rows, each with the whole window behind it, which is shared.

use super::scan::scan;
use crate::compute::{Batch, Compute, ComputeError, Outputs, Shared};
use crate::config::Diagonal;
use crate::coord::CellPos;
use crate::height::{HEIGHT_LIMIT, QuantumLog2};
use crate::kernel::normal::Vertical;
use crate::kernel::scatter::{ACCEPT, EMIT, INSTANCE_WORDS, Window};

/// Points that go to the device at once, as a rule.
pub const STRIP_POINTS: usize = 1 << 17;

/// A type of foliage or object, as scatter sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kind {
    /// Seed of the terrain's arrangement.
    pub seed: u32,
    /// Which type: other numbers stand elsewhere. Below 2³¹.
    pub number: u32,
    /// Instances a square metre where growth is full.
    pub density_per_m2: f64,
    /// How much of its grid cell a point may stand in, 0 to 1.
    pub jitter: f64,
    /// The distance that two instances keep at least along one axis, in metres; it may make them fewer.
    pub apart_m: f64,
    /// Smallest and largest scale, up to 15.
    pub scale: [f64; 2],
    /// The steepest slope in degrees, and over how many degrees below it instances become fewer.
    pub slope_deg: [f64; 2],
    /// Lowest and highest ground in metres.
    pub height_m: [f64; 2],
    /// Whether it stands in water.
    pub in_water: bool,
}

impl Kind {
    /// Spacing and jitter of the grid, in the lattice of 2⁻¹⁶ m.
    pub fn grid(&self) -> [u32; 2] {
        let spacing = (1.0 / self.density_per_m2).sqrt().max(self.apart_m) * 65_536.0;
        let spacing = spacing.clamp(256.0, f64::from(1 << 30)).floor();
        let jitter = (spacing * self.jitter).min(spacing - self.apart_m * 65_536.0).max(0.0);
        [spacing as u32, jitter as u32]
    }

    fn check(&self) -> Result<(), ComputeError> {
        let within = |what: &str, value: f64, lo: f64, hi: f64| {
            if (lo..=hi).contains(&value) {
                return Ok(());
            }
            refused(format!("{what}: expected {lo} to {hi}, found {value}"))
        };
        within("instances a square metre", self.density_per_m2, 1e-8, 65_536.0)?;
        within("jitter", self.jitter, 0.0, 1.0)?;
        within("the distance kept", self.apart_m, 0.0, 10_000.0)?;
        within("the smallest scale", self.scale[0], 1.0 / 4096.0, 15.0)?;
        within("the largest scale", self.scale[1], self.scale[0], 15.0)?;
        within("the steepest slope in degrees", self.slope_deg[0], 0.0, 90.0)?;
        within("the fade of the slope in degrees", self.slope_deg[1], 0.0, 90.0)?;
        if self.number >= 1 << 31 {
            return refused(format!("type {}: expected less than {}", self.number, 1_u32 << 31));
        }
        if self.height_m.iter().any(|h| h.is_nan()) {
            return refused("heights that are no numbers".to_owned());
        }
        Ok(())
    }
}

/// A rectangle of the terrain with what scatter asks of it.
#[derive(Clone, Copy, Debug)]
pub struct Ground<'a> {
    /// The first cell.
    pub first: CellPos,
    /// Cells along x and z; their side is below 2³² in the lattice.
    pub cells: [u32; 2],
    /// Spacing of samples in 1/256 m.
    pub spacing_256: u32,
    /// What a quantum is.
    pub k: QuantumLog2,
    /// The diagonal of cells.
    pub diagonal: Diagonal,
    /// Texels of growth along the side of a cell: 1, 2 or 4.
    pub texels: u32,
    /// Raw quanta of the samples and one around them, void beyond the map: [`Window::height_words`].
    pub heights: &'a Shared,
    /// Cells and growth: [`Window::cell_words`].
    pub surface: &'a Shared,
}

fn refused<T>(reason: String) -> Result<T, ComputeError> {
    Err(ComputeError::Refused { pass: "scatter", reason })
}

/// Puts the instances of a type in a window into `out`, in the order of their grid (z, then x): see
/// [`crate::kernel::scatter`] for their words.
///
/// # Errors
/// A type or a window out of range, buffers that do not fit it, or a device that fails.
pub fn scatter(
    compute: &dyn Compute,
    kind: &Kind,
    ground: &Ground<'_>,
    out: &mut Vec<[u32; INSTANCE_WORDS]>,
    answer: &mut Outputs,
) -> Result<(), ComputeError> {
    scatter_in_strips(compute, kind, ground, STRIP_POINTS, out, answer)
}

/// [`scatter`] with strips of about so many points: at least a row.
///
/// # Errors
/// As [`scatter`].
pub fn scatter_in_strips(
    compute: &dyn Compute,
    kind: &Kind,
    ground: &Ground<'_>,
    strip_points: usize,
    out: &mut Vec<[u32; INSTANCE_WORDS]>,
    answer: &mut Outputs,
) -> Result<(), ComputeError> {
    kind.check()?;
    let whole = window(kind, ground)?;
    out.clear();
    let [across, down] = whole.points;
    // A strip's instances fit a buffer: a row has at most 2²³ points, the spacing being 1/256 m at least.
    let rows = (strip_points / across as usize).clamp(1, 1 << 12) as u32;
    let mut batch = Batch::new();
    for row in (0..down).step_by(rows as usize) {
        let mut strip = whole;
        strip.points[1] = rows.min(down - row);
        strip.first[1] = strip.first[1].wrapping_add(row as i32);
        strip.corner[1] += (row * whole.spacing) as i32;
        batch = batch.emptied();
        let points = u64::from(strip.points[0]) * u64::from(strip.points[1]);
        let params = strip.to_params();
        let reads = [batch.shared(ground.heights), batch.shared(ground.surface)];
        let accepted = batch.target(points as usize + 1);
        batch.step(&ACCEPT, points + 1, &params, &reads, &[accepted]);
        let sums = scan(&mut batch, accepted, points as usize + 1);
        let instances = batch.target(points as usize * INSTANCE_WORDS);
        batch.step(&EMIT, points, &params, &[reads[0], sums.before], &[instances]);
        batch.read(sums.total);
        batch.read(instances);
        compute.run(&batch, answer)?;
        let count = answer.words(0)[0] as usize;
        out.extend_from_slice(&answer.words(1).as_chunks().0[..count]);
    }
    Ok(())
}

/// The window with the part of the grid that can stand in it.
fn window(kind: &Kind, ground: &Ground<'_>) -> Result<Window, ComputeError> {
    if ground.spacing_256 == 0 || ground.spacing_256 > crate::config::MAX_SPACING_256 {
        return refused(format!("a spacing of {}/256 m", ground.spacing_256));
    }
    let side = i64::from(ground.spacing_256) << 8;
    let extent = ground.cells.map(|c| i64::from(c) * side);
    if extent.iter().any(|&e| e == 0 || e >= 1 << 31) {
        return refused(format!(
            "a window of {}x{} cells: expected at least one, and less than 32768 m a side",
            ground.cells[0], ground.cells[1]
        ));
    }
    if !matches!(ground.texels, 1 | 2 | 4) {
        return refused(format!("{} texels a cell side: expected 1, 2 or 4", ground.texels));
    }
    let [spacing, jitter] = kind.grid();
    let from = [ground.first.x, ground.first.z].map(|c| i64::from(c) * side);
    let grid = |axis: usize| {
        let g = i64::from(spacing);
        let first = from[axis].div_euclid(g);
        let last = (from[axis] + extent[axis] - 1).div_euclid(g);
        (first, last - first + 1, first * g - from[axis])
    };
    let [(x, nx, cx), (z, nz, cz)] = [grid(0), grid(1)];
    let cosine =
        |deg: f64| (libm::cos(deg.clamp(0.0, 90.0).to_radians()) * 65_536.0).round_ties_even() as u32;
    let steepest = cosine(kind.slope_deg[0]);
    let scale = kind.scale.map(|s| (s * 4096.0).floor() as u32);
    let limit = f64::from(HEIGHT_LIMIT);
    let quanta = kind.height_m.map(|h| (h / ground.k.metres()).clamp(-limit, limit));
    let window = Window {
        points: [nx as u32, nz as u32],
        // Terrains reach 2⁴⁰ in the lattice: beyond 2³¹ grid cells numbers begin anew.
        first: [x as i32, z as i32],
        corner: [cx as i32, cz as i32],
        spacing,
        jitter,
        hashed: [kind.seed, kind.number],
        cells: ground.cells,
        origin: ground.first,
        diagonal: ground.diagonal,
        spacing_256: ground.spacing_256,
        vertical: Vertical::new(ground.spacing_256, ground.k).parts(),
        texels: ground.texels,
        height: [quanta[0].ceil() as i32, quanta[1].floor() as i32],
        cosines: [steepest, cosine(kind.slope_deg[0] - kind.slope_deg[1]).max(steepest + 1)],
        scale: [scale[0], scale[1] - scale[0] + 1],
        in_water: kind.in_water,
    };
    let found = [ground.heights, ground.surface].map(|s| s.words().len() as u64);
    let expected = [window.height_words(), window.cell_words()];
    if expected != found {
        return refused(format!(
            "a window of {}x{} cells has {} heights and {} words of cells and growth, found {} and {}",
            ground.cells[0], ground.cells[1], expected[0], expected[1], found[0], found[1]
        ));
    }
    Ok(window)
}
