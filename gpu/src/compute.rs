//! The terrain crate's [`Compute`] on a Vulkan device.
//!
//! Owns the device and its passes. Refuses the same input as the CPU twins, with the same errors, before the device
//! sees it. Never falls back to the CPU by itself.

use crate::GpuError;
use crate::device::Vulkan;
use crate::pass::weight_mip::WeightMip;
use highground_terrain::compute::{Compute, ComputeError, DeviceInfo};
use highground_terrain::kernel::weight_mip::{Encoding, check_len};

/// How a [`GpuCompute`] does its work. Never changes a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuOptions {
    /// Source bytes that go to the device in one piece. Held to at most 64 MiB, and to at least two rows.
    pub strip_bytes: u32,
}

impl Default for GpuOptions {
    /// Strips of 16 MiB: 20 MiB of buffers.
    fn default() -> Self {
        Self { strip_bytes: 16 << 20 }
    }
}

/// Runs kernels on a Vulkan device, from any thread.
pub struct GpuCompute {
    vulkan: Vulkan,
    weight_mip: WeightMip,
}

impl GpuCompute {
    /// Opens the best Vulkan device: discrete before integrated before virtual before software.
    ///
    /// # Errors
    /// No loader, no driver, no device, or a device that fails; the line says what to install where that helps.
    pub fn open() -> Result<Self, GpuError> {
        Self::with_options(GpuOptions::default())
    }

    /// [`Self::open`] with options.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn with_options(options: GpuOptions) -> Result<Self, GpuError> {
        let vulkan = Vulkan::open()?;
        let weight_mip = WeightMip::new(&vulkan, options.strip_bytes)?;
        vulkan.check_validation()?;
        Ok(Self { vulkan, weight_mip })
    }

    /// Whether the Khronos validation layer watches every call (`HIGHGROUND_VK_VALIDATION=1`). What it finds is an
    /// error of the call.
    pub fn is_validating(&self) -> bool {
        self.vulkan.is_validating()
    }

    fn failed(&self, pass: &'static str, error: GpuError) -> ComputeError {
        let device = self.vulkan.info().to_string();
        match error {
            GpuError::DeviceLost => ComputeError::DeviceLost { device, pass },
            error => ComputeError::Device { device, pass, reason: error.to_string() },
        }
    }
}

impl Compute for GpuCompute {
    fn info(&self) -> &DeviceInfo {
        self.vulkan.info()
    }

    fn weight_mip(&self, encoding: Encoding, size: [u32; 2], texels: &[u8]) -> Result<Vec<u8>, ComputeError> {
        check_len("source", encoding, size, texels.len() as u64)?;
        self.weight_mip.run(&self.vulkan, encoding, size, texels).map_err(|e| self.failed("weight-mip", e))
    }
}
