//! The trait that runs kernels: on the CPU here, on Vulkan in the GPU crate, with the same bits.
//!
//! Owns the seam between what is computed and where. Whoever needs kernels fills a [`Batch`] and hands it to a [`Compute`];
//! which one it is may change how long the work takes, never what it gives. Never chooses a device: that is the command's
//! business.

pub mod batch;
mod cpu;
mod fallback;

pub use batch::{Batch, BufferId, Outputs, Shared};
pub use cpu::CpuCompute;
pub use fallback::Fallback;

use crate::kernel::weight_mip::WeightMipError;
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

/// Why kernels gave no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ComputeError {
    /// The input is not what it says it is. Every device refuses it.
    #[error(transparent)]
    WeightMip(#[from] WeightMipError),
    /// The input is not what a pass can take. Every device refuses it.
    #[error("{pass}: {reason}")]
    Refused {
        /// The pass.
        pass: &'static str,
        /// What was expected and what was found.
        reason: String,
    },
    /// A buffer is longer than every device can hold. Every device refuses it.
    #[error("{pass}: a buffer of {words} words; {most} at most, so ask for less at once", most = batch::MOST_WORDS)]
    TooLarge {
        /// The kernel of the batch's first step.
        pass: &'static str,
        /// Its length.
        words: u64,
    },
    /// The device was lost: every later call on it fails too.
    #[error("{device}: the device was lost while running {pass}; --device cpu does without it")]
    DeviceLost {
        /// The device, as its [`DeviceInfo`] says.
        device: String,
        /// The kernel.
        pass: &'static str,
    },
    /// The device did not finish in time; it counts as lost.
    #[error("{device}: {pass} did not finish within {seconds} s; --device cpu does without it")]
    Timeout {
        /// The device, as its [`DeviceInfo`] says.
        device: String,
        /// The kernel.
        pass: &'static str,
        /// How long was waited.
        seconds: u64,
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

impl ComputeError {
    /// Whether another device could do it: the fault is not the input's.
    pub fn is_of_the_device(&self) -> bool {
        match self {
            ComputeError::WeightMip(_) | ComputeError::Refused { .. } | ComputeError::TooLarge { .. } => {
                false
            }
            ComputeError::DeviceLost { .. } | ComputeError::Timeout { .. } | ComputeError::Device { .. } => {
                true
            }
        }
    }
}

/// Something that runs kernels. Every implementation gives the same words for the same batch.
pub trait Compute: Send + Sync {
    /// Where it runs.
    fn info(&self) -> &DeviceInfo;

    /// Runs a batch to its end. `out` holds what it reads back afterwards; after an error it holds nothing that means
    /// anything.
    ///
    /// # Errors
    /// A buffer that is too long, or a device that fails.
    fn run(&self, batch: &Batch<'_>, out: &mut Outputs) -> Result<(), ComputeError>;
}

#[cfg(test)]
mod tests;
