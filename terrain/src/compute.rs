//! The trait that runs kernels: on the CPU here, on Vulkan in the GPU crate, with the same bits.
//!
//! Owns the seam between what is computed and where. Whoever needs a kernel takes a [`Compute`]; which one it is may
//! change how long the work takes, never what it gives. Never chooses a device: that is the command's business.

use crate::kernel::weight_mip::{self, Encoding, WeightMipError};
use std::fmt;

/// What kind of machine runs the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeviceKind {
    /// The CPU twins, without Vulkan.
    Cpu,
    /// A Vulkan device with memory of its own.
    DiscreteGpu,
    /// A Vulkan device that shares the machine's memory.
    IntegratedGpu,
    /// A Vulkan device of a virtual machine.
    VirtualGpu,
    /// A Vulkan driver that runs on the CPU.
    SoftwareGpu,
    /// A Vulkan device of another kind.
    OtherGpu,
}

impl DeviceKind {
    /// The name used in reports.
    pub const fn name(self) -> &'static str {
        match self {
            DeviceKind::Cpu => "cpu",
            DeviceKind::DiscreteGpu => "discrete gpu",
            DeviceKind::IntegratedGpu => "integrated gpu",
            DeviceKind::VirtualGpu => "virtual gpu",
            DeviceKind::SoftwareGpu => "software gpu",
            DeviceKind::OtherGpu => "other gpu",
        }
    }
}

/// Which device a [`Compute`] runs on. Its `Display` is one line for people and for `summary.json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// What kind it is.
    pub kind: DeviceKind,
    /// Its own name; empty for the CPU twins.
    pub name: String,
    /// Driver and API version; empty for the CPU twins.
    pub driver: String,
}

impl fmt::Display for DeviceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        if !self.name.is_empty() {
            write!(f, ": {}", self.name)?;
        }
        if !self.driver.is_empty() {
            write!(f, " ({})", self.driver)?;
        }
        Ok(())
    }
}

/// Why a kernel gave no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ComputeError {
    /// The input is not what it says it is. Every device refuses it.
    #[error(transparent)]
    WeightMip(#[from] WeightMipError),
    /// The device was lost: every later call on it fails too.
    #[error("{device}: the device was lost while running {pass}; run again with --device cpu")]
    DeviceLost {
        /// The device, as its [`DeviceInfo`] says.
        device: String,
        /// The kernel.
        pass: &'static str,
    },
    /// The device could not do it.
    #[error("{device}: {pass}: {reason}")]
    Device {
        /// The device, as its [`DeviceInfo`] says.
        device: String,
        /// The kernel.
        pass: &'static str,
        /// What failed.
        reason: String,
    },
}

/// Something that runs kernels. Every implementation gives the same bytes for the same input.
pub trait Compute: Send + Sync {
    /// Where it runs.
    fn info(&self) -> &DeviceInfo;

    /// The next mip of a row-major weight map of `size` texels: see [`weight_mip`]. The result has
    /// [`weight_mip::mip_size`] texels.
    ///
    /// # Errors
    /// A length or size that is wrong, or a device that fails.
    fn weight_mip(&self, encoding: Encoding, size: [u32; 2], texels: &[u8]) -> Result<Vec<u8>, ComputeError>;
}

/// Runs every kernel's CPU twin on the calling thread.
#[derive(Clone, Debug)]
pub struct CpuCompute {
    info: DeviceInfo,
}

impl CpuCompute {
    /// Always available.
    pub const fn new() -> Self {
        Self { info: DeviceInfo { kind: DeviceKind::Cpu, name: String::new(), driver: String::new() } }
    }
}

impl Default for CpuCompute {
    fn default() -> Self {
        Self::new()
    }
}

impl Compute for CpuCompute {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn weight_mip(&self, encoding: Encoding, size: [u32; 2], texels: &[u8]) -> Result<Vec<u8>, ComputeError> {
        // Checked before the result is allocated, so that a wrong size costs nothing.
        weight_mip::check_len("source", encoding, size, texels.len() as u64)?;
        let [w, h] = weight_mip::mip_size(size);
        let mut out = vec![0; w as usize * h as usize * encoding.texel_bytes()];
        weight_mip::downsample(encoding, size, texels, &mut out)?;
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_length_is_refused_before_anything_is_allocated() {
        let size = [weight_mip::MAX_SIDE, weight_mip::MAX_SIDE];
        let refused = CpuCompute::new().weight_mip(Encoding::Hd, size, &[1, 2, 3]).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "source: expected 3298534883328 bytes for 1048576x1048576 hd texels, found 3"
        );
    }

    #[test]
    fn devices_describe_themselves_in_one_line() {
        assert_eq!(CpuCompute::new().info().to_string(), "cpu");
        let info = DeviceInfo { kind: DeviceKind::SoftwareGpu, name: "a".into(), driver: "b 1".into() };
        assert_eq!(info.to_string(), "software gpu: a (b 1)");
    }
}
