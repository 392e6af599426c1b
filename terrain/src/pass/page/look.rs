//! How pages look and how large they are: world configuration, since it changes their bits.

use crate::kernel::page::MAX_TEXELS_LOG2;
use serde::{Deserialize, Serialize};

/// The look of a terrain's pages. In RON; whatever is left out has its default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Look {
    /// log₂ of the texels a cell side of mip 0.
    pub texels_log2: u32,
    /// Texels a side of a page: a power of two from 16 to 4096.
    pub side: u32,
    /// Texels around it that belong to its neighbours, at most 16.
    pub border: u32,
    /// Pages of mips below this are hexed.
    pub near_mips: u32,
    /// Pages of mips from this on mix two layers, with textures 2^`far_scale_log2` as large.
    pub far_mip: u32,
    /// log₂ of that scale, at most 8.
    pub far_scale_log2: u32,
    /// Slopes in degrees from which on and up to which textures turn from planar to triplanar.
    pub steep_deg: [f64; 2],
    /// Strength of the variation of brightness and warmth, 0 to 0.5.
    pub variation: f64,
    /// Metres of a cell of its noise.
    pub variation_m: f64,
    /// Names of layers that stay planar on slopes.
    pub flat: Vec<String>,
    /// Names of layers that are never hexed.
    pub plain: Vec<String>,
}

impl Default for Look {
    fn default() -> Self {
        Self {
            texels_log2: 3,
            side: 128,
            border: 4,
            near_mips: 2,
            far_mip: 4,
            far_scale_log2: 2,
            steep_deg: [35.0, 45.0],
            variation: 0.15,
            variation_m: 48.0,
            flat: Vec::new(),
            plain: Vec::new(),
        }
    }
}

impl Look {
    /// Refuses what the arithmetic cannot carry or what makes no page.
    ///
    /// # Errors
    /// What was expected and found.
    pub fn check(&self) -> Result<(), String> {
        let wrong = |what: &str, expected: &str, found: String| {
            Err(format!("{what}: expected {expected}, found {found}"))
        };
        if self.texels_log2 > MAX_TEXELS_LOG2 {
            return wrong("texels_log2", "0 to 5", self.texels_log2.to_string());
        }
        if !self.side.is_power_of_two() || !(16..=4096).contains(&self.side) {
            return wrong("side", "a power of two from 16 to 4096", self.side.to_string());
        }
        if self.border > 16 || (self.side + 2 * self.border) > 3328 {
            // Three words a texel have to fit one buffer.
            return wrong("border", "at most 16, and 3328 texels a side with it", self.border.to_string());
        }
        if self.far_scale_log2 > 8 {
            return wrong("far_scale_log2", "0 to 8", self.far_scale_log2.to_string());
        }
        let [start, end] = self.steep_deg;
        if !(start >= 0.0 && start <= end && end <= 90.0) {
            return wrong(
                "steep_deg",
                "two angles from 0 to 90, the smaller first",
                format!("{start} and {end}"),
            );
        }
        if !(0.0..=0.5).contains(&self.variation) {
            return wrong("variation", "0 to 0.5", self.variation.to_string());
        }
        if !(self.variation_m >= 1e-2 && self.variation_m <= 1e6) {
            return wrong("variation_m", "0.01 to 1e6", self.variation_m.to_string());
        }
        Ok(())
    }

    /// The upward parts of normals in Q14 at which slopes begin and end to turn triplanar.
    pub(super) fn steep(&self) -> [u32; 2] {
        self.steep_deg.map(|d| (libm::cos(d.to_radians()) * 16_384.0 + 0.5).floor() as u32)
    }

    /// The variation in 1/256.
    pub(super) fn variation_256(&self) -> u32 {
        (self.variation * 256.0 + 0.5).floor() as u32
    }
}
