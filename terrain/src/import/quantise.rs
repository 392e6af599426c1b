//! From raw values to quanta: the one rounding (half up), the choice of k, and rows made on demand.

use super::georef::Squares;
use super::scale::{Affine, Metres};
use super::source::Samples;
use super::{Grid, ImportError};
use crate::height::{HEIGHT_LIMIT, MAX_QUANTUM_LOG2, QuantumLog2, VOID};
use rayon::prelude::*;

/// Bit patterns of 16 bits.
const PATTERNS: usize = 1 << 16;

/// How raw values of one source become quanta.
#[derive(Clone, Debug)]
pub(crate) enum Quantiser {
    /// A table by the bit pattern of 8- and 16-bit integers.
    Table(Box<[i32]>),
    /// An exact map, in lowest terms.
    Exact(Affine),
    /// Metres in `f64`.
    Float(Metres),
}

/// What was chosen for a source, and what rounding does to it.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) quantiser: Quantiser,
    pub(crate) quantum: QuantumLog2,
    /// The largest rounding error in metres.
    pub(crate) rounding_m: f64,
}

impl Plan {
    /// Looks at every sample once or a few times: chooses k where it is not asked for, and refuses what does not fit.
    /// For integer sources k is 7, raised up to 12 while every |q| < 2²⁴, until the largest rounding error is below a
    /// quarter of the source's step; for others it is 7.
    ///
    /// # Errors
    /// The first height that does not fit, with its sample.
    pub(crate) fn new(
        grid: &Grid,
        metres: Metres,
        squares: Option<&Squares>,
        asked: Option<QuantumLog2>,
    ) -> Result<Self, ImportError> {
        match (metres, grid.samples(), squares) {
            (Metres::Exact(affine), Samples::U8(_) | Samples::U16(_) | Samples::I16(_), None) => {
                Self::table(grid, affine, asked)
            }
            (Metres::Exact(affine), Samples::I32(_), None) => Self::exact(grid, affine, asked),
            _ => Self::float(grid, metres, squares, asked),
        }
    }

    fn table(grid: &Grid, affine: Affine, asked: Option<QuantumLog2>) -> Result<Self, ImportError> {
        let signed = matches!(grid.samples(), Samples::I16(_));
        let raw = |pattern: usize| if signed { i32::from(pattern as u16 as i16) } else { pattern as i32 };
        let raws: Vec<i32> = patterns(grid).into_iter().map(raw).collect();
        let worst_at = |k: u8| raws.iter().map(|&r| affine.round(r, k).1).max().unwrap_or(0);
        let all_fit = |k: u8| raws.iter().all(|&r| affine.fits(r, k));
        let quantum = asked.unwrap_or_else(|| choose(&affine, worst_at, all_fit));
        let k = quantum.get();
        if let Some(&bad) = raws.iter().find(|&&r| !affine.fits(r, k)) {
            return Err(misfit(grid, f64::from(bad), affine.to_metres(f64::from(bad)), quantum));
        }
        let mut table = vec![VOID; PATTERNS].into_boxed_slice();
        for &r in &raws {
            table[r as usize & (PATTERNS - 1)] = affine.round(r, k).0 as i32;
        }
        let rounding_m = worst_at(k) as f64 / affine.den() * quantum.metres();
        Ok(Self { quantiser: Quantiser::Table(table), quantum, rounding_m })
    }

    fn exact(grid: &Grid, affine: Affine, asked: Option<QuantumLog2>) -> Result<Self, ImportError> {
        let affine = affine.reduced();
        let Samples::I32(values) = grid.samples() else { unreachable!("only 32-bit integers come here") };
        let known = |z: u32| grid.row(z).filter(|&i| !grid.void_at(i)).map(|i| values[i]);
        let rows = || (0..grid.height()).into_par_iter();
        let worst_at =
            |k: u8| rows().filter_map(|z| known(z).map(|v| affine.round(v, k).1).max()).max().unwrap_or(0);
        // The map is monotone, so the outermost values decide.
        let ends = [rows().filter_map(|z| known(z).min()).min(), rows().filter_map(|z| known(z).max()).max()];
        let all_fit = |k: u8| ends.iter().flatten().all(|&v| affine.fits(v, k));
        let quantum = asked.unwrap_or_else(|| choose(&affine, worst_at, all_fit));
        if !all_fit(quantum.get()) {
            let bad = (0..grid.height()).find_map(|z| known(z).find(|&v| !affine.fits(v, quantum.get())));
            let bad = f64::from(bad.unwrap_or_default());
            return Err(misfit(grid, bad, affine.to_metres(bad), quantum));
        }
        let rounding_m = worst_at(quantum.get()) as f64 / affine.den() * quantum.metres();
        Ok(Self { quantiser: Quantiser::Exact(affine), quantum, rounding_m })
    }

    fn float(
        grid: &Grid,
        metres: Metres,
        squares: Option<&Squares>,
        asked: Option<QuantumLog2>,
    ) -> Result<Self, ImportError> {
        let raise = grid.samples().is_integer() && asked.is_none();
        let mut quantum = asked.unwrap_or(QuantumLog2::DEFAULT);
        loop {
            let look = Look::at(grid, &metres, squares, quantum);
            // Raising k is for rounding's sake only, so the first k that does not fit ends it.
            if let Some([x, z]) = look.misfit {
                let raw = value(grid, squares, x, z);
                let [sx, sz] = if squares.is_some() { [x, z] } else { grid.source_sample(x, z) };
                let what = if squares.is_some() { "resampled sample" } else { "sample" };
                return Err(misfit_at(what, sx, sz, raw, metres.of(raw), quantum));
            }
            let next = QuantumLog2::try_from(quantum.get() + 1);
            match next {
                Ok(next) if raise && 4.0 * look.rounding_m >= metres.step_m() && look.fits(next) => {
                    quantum = next;
                }
                _ => {
                    let quantiser = Quantiser::Float(metres);
                    return Ok(Self { quantiser, quantum, rounding_m: look.rounding_m });
                }
            }
        }
    }

    /// A row of quanta, [`VOID`] where there is no sample.
    pub(crate) fn row(&self, grid: &Grid, squares: Option<&Squares>, z: u32, out: &mut [i32]) {
        if let Some(squares) = squares {
            let Quantiser::Float(metres) = &self.quantiser else {
                unreachable!("what is resampled is float")
            };
            for (x, q) in out.iter_mut().enumerate() {
                *q = self.float_quanta(metres, squares.at(grid, x as u32, z));
            }
            return;
        }
        let range = grid.row(z);
        match (&self.quantiser, grid.samples()) {
            (Quantiser::Table(t), Samples::U8(v)) => fill(out, &v[range.clone()], |v| t[usize::from(v)]),
            (Quantiser::Table(t), Samples::U16(v)) => fill(out, &v[range.clone()], |v| t[usize::from(v)]),
            (Quantiser::Table(t), Samples::I16(v)) => {
                fill(out, &v[range.clone()], |v| t[usize::from(v as u16)]);
            }
            (Quantiser::Exact(a), Samples::I32(v)) => {
                let k = self.quantum.get();
                for (q, i) in out.iter_mut().zip(range.clone()) {
                    *q = if grid.void_at(i) { VOID } else { a.round(v[i], k).0 as i32 };
                }
            }
            (Quantiser::Float(metres), samples) => {
                for (q, i) in out.iter_mut().zip(range.clone()) {
                    let raw = if grid.void_at(i) { f64::NAN } else { samples.get(i) };
                    *q = self.float_quanta(metres, raw);
                }
            }
            _ => unreachable!("a plan is used with the grid it was made for"),
        }
        if grid.any_void() {
            for (q, i) in out.iter_mut().zip(range) {
                if grid.void_at(i) {
                    *q = VOID;
                }
            }
        }
    }

    fn float_quanta(&self, metres: &Metres, raw: f64) -> i32 {
        // Every height was looked at when the plan was made.
        if raw.is_nan() { VOID } else { self.quantum.from_metres(metres.of(raw)).map_or(VOID, |q| q.0) }
    }
}

fn fill<T: Copy>(out: &mut [i32], raw: &[T], quanta: impl Fn(T) -> i32) {
    for (q, &v) in out.iter_mut().zip(raw) {
        *q = quanta(v);
    }
}

/// k for an integer source.
fn choose(affine: &Affine, worst_at: impl Fn(u8) -> i128, all_fit: impl Fn(u8) -> bool) -> QuantumLog2 {
    let mut k = QuantumLog2::DEFAULT.get();
    while k < MAX_QUANTUM_LOG2 && affine.is_coarse(worst_at(k), k) && all_fit(k + 1) {
        k += 1;
    }
    QuantumLog2::try_from(k).unwrap_or(QuantumLog2::DEFAULT)
}

/// The bit patterns that occur, in order.
fn patterns(grid: &Grid) -> Vec<usize> {
    let row = |mut seen: Vec<bool>, z: u32| {
        let mut mark = |pattern: usize, i: usize| {
            if !grid.void_at(i) {
                seen[pattern] = true;
            }
        };
        match grid.samples() {
            Samples::U8(v) => grid.row(z).for_each(|i| mark(usize::from(v[i]), i)),
            Samples::U16(v) => grid.row(z).for_each(|i| mark(usize::from(v[i]), i)),
            Samples::I16(v) => grid.row(z).for_each(|i| mark(usize::from(v[i] as u16), i)),
            _ => unreachable!("only 8- and 16-bit integers have patterns"),
        }
        seen
    };
    let seen = (0..grid.height())
        .into_par_iter()
        .with_min_len(64)
        .fold(|| vec![false; PATTERNS], row)
        .reduce(|| vec![false; PATTERNS], |a, b| a.iter().zip(&b).map(|(a, b)| a | b).collect());
    let mut found: Vec<usize> = (0..PATTERNS).filter(|&p| seen[p]).collect();
    if matches!(grid.samples(), Samples::I16(_)) {
        found.sort_by_key(|&p| p as u16 as i16);
    }
    found
}

/// The raw value of a sample, between raw ones where it is resampled; NaN where void.
fn value(grid: &Grid, squares: Option<&Squares>, x: u32, z: u32) -> f64 {
    squares.map_or_else(|| grid.at(x, z).unwrap_or(f64::NAN), |s| s.at(grid, x, z))
}

/// What rounding to a k does to a whole raster.
#[derive(Clone, Copy, Debug)]
struct Look {
    rounding_m: f64,
    /// The first sample whose height does not fit.
    misfit: Option<[u32; 2]>,
    lowest_m: f64,
    highest_m: f64,
}

impl Look {
    const NOTHING: Self =
        Self { rounding_m: 0.0, misfit: None, lowest_m: f64::INFINITY, highest_m: f64::NEG_INFINITY };

    fn at(grid: &Grid, metres: &Metres, squares: Option<&Squares>, k: QuantumLog2) -> Self {
        let [w, h] = squares.map_or([grid.width(), grid.height()], Squares::samples);
        let row = |z: u32| {
            let mut look = Self::NOTHING;
            for x in 0..w {
                let raw = value(grid, squares, x, z);
                if raw.is_nan() {
                    continue;
                }
                let h = metres.of(raw);
                look.lowest_m = look.lowest_m.min(h);
                look.highest_m = look.highest_m.max(h);
                match k.from_metres(h) {
                    Some(q) => look.rounding_m = look.rounding_m.max((k.to_metres(q.0) - h).abs()),
                    None => look.misfit = look.misfit.or(Some([x, z])),
                }
            }
            look
        };
        (0..h).into_par_iter().map(row).reduce(|| Self::NOTHING, Self::with)
    }

    fn with(self, other: Self) -> Self {
        let first = [self.misfit, other.misfit].into_iter().flatten().min_by_key(|&[x, z]| (z, x));
        Self {
            rounding_m: self.rounding_m.max(other.rounding_m),
            misfit: first,
            lowest_m: self.lowest_m.min(other.lowest_m),
            highest_m: self.highest_m.max(other.highest_m),
        }
    }

    /// Whether every height fits another k. Rounding is monotone, so the outermost heights decide.
    fn fits(&self, k: QuantumLog2) -> bool {
        self.lowest_m > self.highest_m
            || k.from_metres(self.lowest_m).is_some() && k.from_metres(self.highest_m).is_some()
    }
}

/// Says which sample first has a raw value that does not fit.
fn misfit(grid: &Grid, raw: f64, metres: f64, k: QuantumLog2) -> ImportError {
    let at = (0..grid.height())
        .find_map(|z| (0..grid.width()).find(|&x| grid.at(x, z) == Some(raw)).map(|x| [x, z]))
        .unwrap_or_default();
    let [x, z] = grid.source_sample(at[0], at[1]);
    misfit_at("sample", x, z, raw, metres, k)
}

fn misfit_at(what: &str, x: u32, z: u32, raw: f64, metres: f64, k: QuantumLog2) -> ImportError {
    let limit = k.to_metres(HEIGHT_LIMIT);
    ImportError::source(format!(
        "{what} ({x}, {z}) holds {raw:?}, a height of {metres:?} m, which does not fit below ±{limit} m (2^24 quanta of {} m): pass --nodata {raw:?} where that value means no data, else {}a smaller --vertical-scale or --quantum-log2",
        k.metres(),
        // Only floating-point values are metres of themselves.
        if raw.abs() < limit && raw != metres {
            "no --min and --max where values are metres already, or "
        } else {
            ""
        }
    ))
}

#[cfg(test)]
mod tests {
    use super::super::Crop;
    use super::super::grid::tests::grid;
    use super::super::scale::Linear;
    use super::super::source::Voids;
    use super::*;

    fn of(samples: Samples, width: u32) -> Grid {
        let n = samples.len();
        Grid::new([width, n as u32 / width], samples, Voids::none(n), None).unwrap()
    }

    fn quanta(plan: &Plan, grid: &Grid) -> Vec<i32> {
        let mut out = vec![0; (grid.width() * grid.height()) as usize];
        for (z, row) in out.chunks_mut(grid.width() as usize).enumerate() {
            plan.row(grid, None, z as u32, row);
        }
        out
    }

    fn exact(a: Affine, grid: &Grid, asked: Option<u8>) -> Plan {
        let asked = asked.and_then(|k| QuantumLog2::try_from(k).ok());
        Plan::new(grid, Metres::Exact(a), None, asked).unwrap()
    }

    #[test]
    fn metres_at_scale_one_are_exact_at_k_7() {
        let got = grid(2, &[Some(-12), None]);
        let plan = exact(Affine::metres(1.0).unwrap(), &got, None);
        assert_eq!(
            (quanta(&plan, &got), plan.quantum.get(), plan.rounding_m),
            (vec![-12 * 128, VOID], 7, 0.0)
        );
    }

    #[test]
    fn an_image_range_rounds_half_up_and_chooses_k_by_the_source_step() {
        // 0..6553.5 m: a step is 0.1 m, a quarter of it 0.025 m, so k = 7 (error at most 1/256 m) is enough.
        let a = Affine::range(0.0, 6553.5, 65_535, 1.0).unwrap();
        let got = of(Samples::U16(vec![3, 65_535]), 2);
        let plan = exact(a, &got, None);
        // 0.3 m = 38.4 quanta; 6553.5 m = 838848 quanta.
        assert_eq!((quanta(&plan, &got), plan.quantum.get()), (vec![38, 838_848], 7));
        // The error of 38.4 is 0.4 quanta.
        assert!((plan.rounding_m - 0.4 / 128.0).abs() < 1e-12);
    }

    #[test]
    fn a_fine_source_raises_k_until_a_quarter_of_its_step() {
        let raws = of(Samples::U16((0..=65_535).collect()), 256);
        let k = |min: f64, max: f64| {
            exact(Affine::range(min, max, 65_535, 1.0).unwrap(), &raws, None).quantum.get()
        };
        // 0..655.35 m: a step is 0.01 m, a quarter is 0.0025 m. The error is at most 2^-(k+1): k = 8 gives 0.00195.
        assert_eq!(k(0.0, 655.35), 8);
        // Never past 12.
        assert_eq!(k(0.0, 1.0), 12);
        // Never past what fits: 0..60000 m at k = 8 would be below 2²⁴, at k = 9 above.
        assert_eq!(k(59_999.0, 60_000.0), 8);
    }

    #[test]
    fn every_integer_type_gives_the_same_quanta() {
        let a = Affine::declared(0.25, -3.7, 1.0).unwrap().unwrap();
        let values = [0u8, 1, 7, 100, 127, 3];
        let all = [
            of(Samples::U8(values.to_vec()), 3),
            of(Samples::U16(values.map(u16::from).to_vec()), 3),
            of(Samples::I16(values.map(i16::from).to_vec()), 3),
            of(Samples::I32(values.map(i32::from).to_vec()), 3),
        ];
        // (v · 0.25 − 3.7) · 128 rounded half up, by hand: −473.6, −441.6, −249.6, 2726.4, 3590.4, −377.6.
        for grid in &all {
            let plan = exact(a, grid, Some(7));
            assert_eq!(quanta(&plan, grid), [-474, -442, -250, 2726, 3590, -378]);
            assert!((plan.rounding_m - 0.4 / 128.0).abs() < 1e-12, "{}", plan.rounding_m);
        }
        let chosen = all.each_ref().map(|g| exact(a, g, None).quantum.get());
        assert_eq!(chosen, [7; 4]);
    }

    #[test]
    fn floats_round_half_up_at_k_7_and_say_their_error() {
        let metres = Metres::Float(Linear::new(1.0, 0.0, 1.0).unwrap());
        let got = of(Samples::F32(vec![0.5 / 128.0, -0.5 / 128.0, 100.001, -3.25]), 2);
        let plan = Plan::new(&got, metres, None, None).unwrap();
        assert_eq!((quanta(&plan, &got), plan.quantum.get()), (vec![1, 0, 12_800, -416], 7));
        assert_eq!(plan.rounding_m, 0.5 / 128.0);
    }

    #[test]
    fn what_does_not_fit_names_its_sample_and_what_to_pass() {
        let crop = Some(Crop { x: 5, z: 6, w: 2, h: 1 });
        let part = |samples: Samples| {
            let n = samples.len();
            Grid::new([8, 8], samples, Voids::none(n), crop).unwrap()
        };
        let at = 6 * 8 + 6;
        let mut whole = vec![1i32; 64];
        whole[at] = 20_000_000;
        let mut short = vec![1i16; 64];
        short[at] = 20_000;
        let mut float = vec![1.0f32; 64];
        float[at] = 1e38;
        let a = Metres::Exact(Affine::metres(10.0).unwrap());
        for (grid, metres, value) in [
            (part(Samples::I32(whole)), a, "20000000.0"),
            (part(Samples::I16(short)), a, "20000.0"),
            (part(Samples::F32(float)), Metres::Float(Linear::new(1.0, 0.0, 1.0).unwrap()), "--nodata "),
        ] {
            let error = Plan::new(&grid, metres, None, None).unwrap_err().to_string();
            assert!(error.contains("(6, 6)") && error.contains(value), "{error}");
        }
    }
}
