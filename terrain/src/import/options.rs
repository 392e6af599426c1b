//! What an import may be told, and which of it fits which format.

use super::source::Ask;
use super::{Crop, ImportError, SourceFormat, VoidPolicy};
use crate::config::Diagonal;
use crate::height::QuantumLog2;

/// How to import.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportOptions {
    /// The source's format; found out from its first bytes and its name when `None`.
    pub format: Option<SourceFormat>,
    /// Columns and rows of a headerless raster; a square when `None`.
    pub size: Option<[u32; 2]>,
    /// Whether a headerless raster is big-endian; found out when `None`.
    pub big_endian: Option<bool>,
    /// Whether the 16-bit samples of a headerless raster are signed metres.
    pub signed: bool,
    /// Whether the first row is the south edge.
    pub south_up: bool,
    /// The channel of an image, the array of an archive, or the archive's member to take.
    pub channel: Option<String>,
    /// Metres of code 0 and of one code step of RGB-coded heights.
    pub rgb: Option<(f64, f64)>,
    /// Metres between samples, taken one to one; `None` uses the file's own georeference.
    pub spacing_m: Option<f64>,
    /// Metres of level 0, or of 0 of floats.
    pub min_m: Option<f64>,
    /// Metres of the highest level, or of 1 of floats.
    pub max_m: Option<f64>,
    /// Factor on the heights, applied here once and recorded.
    pub vertical_scale: f64,
    /// How cells are split.
    pub diagonal: Diagonal,
    /// The part of the source to take.
    pub crop: Option<Crop>,
    /// A source value that means "no data", beside the format's own. NaN and infinities are values here.
    pub nodata: Option<f64>,
    /// What becomes of voids.
    pub voids: VoidPolicy,
    /// k; when `None` 7, for integers raised to suit the source's step.
    pub quantum: Option<QuantumLog2>,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self {
            format: None,
            size: None,
            big_endian: None,
            signed: false,
            south_up: false,
            channel: None,
            rgb: None,
            spacing_m: None,
            min_m: None,
            max_m: None,
            vertical_scale: 1.0,
            diagonal: Diagonal::Main,
            crop: None,
            nodata: None,
            voids: VoidPolicy::Hole,
            quantum: None,
        }
    }
}

impl ImportOptions {
    /// What a reader is told.
    pub(crate) fn ask(&self) -> Ask {
        Ask {
            size: self.size,
            spacing_given: self.spacing_m.is_some(),
            big_endian: self.big_endian,
            signed: self.signed,
            south_up: self.south_up,
            channel: self.channel.clone(),
            rgb: self.rgb,
        }
    }

    /// Refuses what a format cannot follow, so that nothing that was asked for is passed over in silence.
    ///
    /// # Errors
    /// Which option to leave out.
    pub(crate) fn check(&self, format: SourceFormat, archive: bool) -> Result<(), ImportError> {
        use SourceFormat::{Exr, Npy, Npz, Png, Raw8, Raw16, Raw32, TerrainRgb, Terrarium, Tiff};
        let raw = matches!(format, Raw8 | Raw16 | Raw32);
        let rules = [
            (self.size.is_some() && !raw, "--size", "the file says its own size"),
            (
                self.big_endian.is_some() && !matches!(format, Raw16 | Raw32),
                "--byte-order",
                "the format has its own",
            ),
            (self.signed && format != Raw16, "--signed", "only 16-bit RAW samples may be either"),
            (
                self.south_up
                    && !(raw || matches!(format, Npy | Npz | Tiff | Exr | Png | TerrainRgb | Terrarium)),
                "--south-up",
                "the format says which row is north",
            ),
            (
                self.rgb.is_some() && format != TerrainRgb && format != Terrarium,
                "--rgb",
                "it is for --format terrain-rgb",
            ),
            (
                self.channel.is_some() && !archive && !matches!(format, Exr | Npz | Tiff | Png),
                "--channel",
                "the file has no channels or members to choose from",
            ),
        ];
        match rules.iter().find(|r| r.0) {
            Some((_, option, why)) => Err(ImportError::usage(format!("{why}: leave {option} out"))),
            None => Ok(()),
        }
    }
}
