//! Out again: a terrain's heights as 16-bit PNG, RAW, GeoTIFF and `.hgt`.
//!
//! Owns what each format can carry, and says what it cannot. Reads one row of blocks at a time, twice: once to look,
//! once to write. Never rounds in silence: what would lose a height is refused unless it is asked for.

mod levels;
mod rows;
mod survey;
mod tiff;
mod write;

use crate::config::Diagonal;
use crate::height::QuantumLog2;
use crate::store::{BlockError, BlockSource, Temporary};
use levels::Levels;
use std::io;
use std::path::Path;
use survey::Survey;

/// What a terrain is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// 16-bit grey PNG, with alpha where there are voids.
    Png,
    /// Headerless 16-bit little-endian levels.
    Raw16,
    /// GeoTIFF: 16-bit whole metres where that is lossless, else single-precision metres.
    Tiff,
    /// SRTM: a square of big-endian whole metres.
    Hgt,
}

/// How to export.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExportOptions {
    /// The format.
    pub format: ExportFormat,
    /// Metres of the levels 0 and 65535 of PNG and RAW; chosen without loss when `None`.
    pub range_m: Option<(f64, f64)>,
    /// Whether heights may be rounded to what the format can carry.
    pub lossy: bool,
}

/// What was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Exported {
    /// Columns and rows.
    pub size: [u32; 2],
    /// Whether import gives every height back.
    pub lossless: bool,
    /// The largest difference of a height in metres.
    pub rounding_m: f64,
    /// Samples without a height.
    pub void_samples: u64,
    /// Metres of the levels 0 and 65535 of PNG and RAW.
    pub range_m: Option<(f64, f64)>,
    /// The value that stands for "no data", where there are voids and one does.
    pub nodata: Option<f64>,
    /// The options of `import` that give the same terrain again, as far as the format carries it.
    pub import_options: Vec<String>,
    /// What the format does not carry.
    pub notes: Vec<String>,
}

/// Why nothing was written. What was at the target is as it was.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// A block cannot be read.
    #[error("cannot be exported: {0}")]
    Block(#[from] BlockError),
    /// The format cannot carry it, or an option is wrong: what was found and what to do.
    #[error("{0}")]
    Refused(String),
    /// The file could not be written.
    #[error("cannot be written: {0}")]
    Io(#[from] io::Error),
}

impl ExportError {
    fn refused(message: impl Into<String>) -> Self {
        Self::Refused(message.into())
    }
}

/// Writes a terrain's heights. The bytes depend on the terrain and the options only.
///
/// # Errors
/// What the format cannot carry, which block cannot be read, or why the file could not be written.
pub fn export(
    source: &dyn BlockSource,
    options: &ExportOptions,
    path: &Path,
) -> Result<Exported, ExportError> {
    let survey = Survey::of(source)?;
    let plan = Plan::new(source, &survey, options)?;
    let target = Temporary::beside(path)?;
    write::write(source, &plan, &target.file)?;
    target.publish()?;
    let config = source.config();
    let mut import_options = vec![format!("--spacing {}", config.spacing_m())];
    if let Some((min, max)) = plan.range_m() {
        import_options.push(format!("--min {min} --max {max}"));
    }
    if let (Form::Raw16(_), [w, h]) = (&plan.form, config.samples) {
        import_options.push(format!("--format raw16 --size {w}x{h} --byte-order little"));
        import_options.extend(plan.nodata().map(|v| format!("--nodata {v}")));
    }
    import_options.push(format!("--quantum-log2 {}", config.quantum.get()));
    if config.diagonal != Diagonal::Main {
        import_options.push(format!("--diagonal {}", config.diagonal.name()));
    }
    Ok(Exported {
        size: config.samples,
        lossless: plan.lossless,
        rounding_m: plan.rounding_m,
        void_samples: survey.voids,
        range_m: plan.range_m(),
        nodata: plan.nodata(),
        import_options,
        notes: survey.notes(config),
    })
}

/// What is written, decided before the first byte.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    form: Form,
    quantum: QuantumLog2,
    lossless: bool,
    rounding_m: f64,
}

/// The form of a sample.
#[derive(Clone, Debug)]
pub(crate) enum Form {
    Png {
        levels: Levels,
        alpha: bool,
    },
    Raw16(Levels),
    /// Whole metres, and whether any sample is void.
    TiffI16 {
        voids: bool,
    },
    TiffF32 {
        voids: bool,
    },
    Hgt,
}

/// SRTM's mark for "no data", and GeoTIFF's of whole metres here.
pub(crate) const VOID_I16: i16 = i16::MIN;

impl Plan {
    fn new(source: &dyn BlockSource, survey: &Survey, options: &ExportOptions) -> Result<Self, ExportError> {
        let quantum = source.config().quantum;
        if options.range_m.is_some() && !matches!(options.format, ExportFormat::Png | ExportFormat::Raw16) {
            return Err(ExportError::refused("the format holds metres: leave --min and --max out"));
        }
        let voids = survey.voids > 0;
        let exact = |form| Self { form, quantum, lossless: true, rounding_m: 0.0 };
        match options.format {
            ExportFormat::Png => {
                let levels = Levels::choose(survey, quantum, options, false)?;
                exact(Form::Png { levels, alpha: voids }).seen(source)
            }
            ExportFormat::Raw16 => {
                exact(Form::Raw16(Levels::choose(survey, quantum, options, voids)?)).seen(source)
            }
            ExportFormat::Tiff if survey.fraction.is_none() && survey.fits_i16(quantum) => {
                Ok(exact(Form::TiffI16 { voids }))
            }
            ExportFormat::Tiff => Ok(exact(Form::TiffF32 { voids })),
            ExportFormat::Hgt => Self::hgt(source, survey, options.lossy),
        }
    }

    fn hgt(source: &dyn BlockSource, survey: &Survey, lossy: bool) -> Result<Self, ExportError> {
        let quantum = source.config().quantum;
        let [w, h] = source.config().samples;
        if w != h {
            return Err(ExportError::refused(format!(
                "an .hgt is a square, found {w}x{h} samples: export another format, or import a square --crop"
            )));
        }
        if let (Some(([x, z], q)), false) = (survey.fraction, lossy) {
            return Err(ExportError::refused(format!(
                "an .hgt holds whole metres, found sample ({x}, {z}) at {} m: pass --lossy to round, or export GeoTIFF",
                quantum.to_metres(q)
            )));
        }
        if !survey.fits_i16(quantum) {
            let (low, high) = survey.range.unwrap_or_default();
            return Err(ExportError::refused(format!(
                "an .hgt holds heights from -32767 to 32767 m, found {} to {} m: export GeoTIFF",
                quantum.to_metres(low),
                quantum.to_metres(high)
            )));
        }
        Self { form: Form::Hgt, quantum, lossless: true, rounding_m: 0.0 }.seen(source)
    }

    /// Looks once more at every height where rounding is possible: how large it is, and whether it comes undone.
    fn seen(mut self, source: &dyn BlockSource) -> Result<Self, ExportError> {
        let (mut lossless, mut rounding_m) = (true, 0.0f64);
        let k = self.quantum;
        match &self.form {
            Form::Png { levels, .. } | Form::Raw16(levels) if !levels.is_exact() => {
                rows::each(source, |_, row| {
                    for &q in row.heights.iter().filter(|&&q| q != crate::height::VOID) {
                        let (back, error) = levels.back(levels.of(q));
                        lossless &= back == i64::from(q);
                        rounding_m = rounding_m.max((error - k.to_metres(q)).abs());
                    }
                    Ok(())
                })?;
            }
            Form::Hgt => {
                rows::each(source, |_, row| {
                    for &q in row.heights.iter().filter(|&&q| q != crate::height::VOID) {
                        let error = f64::from(whole_metres(q, k)) - k.to_metres(q);
                        lossless &= error == 0.0;
                        rounding_m = rounding_m.max(error.abs());
                    }
                    Ok(())
                })?;
            }
            _ => {}
        }
        (self.lossless, self.rounding_m) = (lossless, rounding_m);
        Ok(self)
    }

    fn range_m(&self) -> Option<(f64, f64)> {
        match &self.form {
            Form::Png { levels, .. } | Form::Raw16(levels) => Some(levels.range_m()),
            _ => None,
        }
    }

    fn nodata(&self) -> Option<f64> {
        match &self.form {
            Form::Raw16(levels) => levels.void().map(f64::from),
            Form::TiffI16 { voids: true } | Form::Hgt => Some(f64::from(VOID_I16)),
            Form::TiffF32 { voids: true } => Some(f64::NAN),
            _ => None,
        }
    }
}

/// Metres of a height, rounded half up to whole ones that fit 16 bits.
pub(crate) fn whole_metres(quanta: i32, k: QuantumLog2) -> i16 {
    ((2 * i64::from(quanta) + k.per_metre()).div_euclid(2 * k.per_metre())) as i16
}
