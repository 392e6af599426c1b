//! What can go wrong between here and a device, each as one line that says what to do.

use vulkano::{Validated, VulkanError};

/// Why there is no device, or why it did not do its work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GpuError {
    /// `HIGHGROUND_GPU` holds something else.
    #[error("HIGHGROUND_GPU is {value:?}: expected require, auto or off")]
    Policy {
        /// What it holds.
        value: String,
    },
    /// `HIGHGROUND_GPU=off`.
    #[error("the GPU is switched off by HIGHGROUND_GPU=off; set it to auto or require to use one")]
    Off,
    /// There is no Vulkan loader.
    #[error(
        "no Vulkan loader ({reason}); on Debian or Ubuntu: apt-get install mesa-vulkan-drivers libvulkan1"
    )]
    NoLoader {
        /// What the system said.
        reason: String,
    },
    /// There is a loader but no driver that gives a usable device.
    #[error(
        "no Vulkan 1.1 device with a compute queue ({reason}); on Debian or Ubuntu: apt-get install \
         mesa-vulkan-drivers libvulkan1"
    )]
    NoDevice {
        /// What was found instead.
        reason: String,
    },
    /// `HIGHGROUND_VK_VALIDATION=1`, but the layer is not installed.
    #[error(
        "HIGHGROUND_VK_VALIDATION=1 needs the Khronos validation layer; on Debian or Ubuntu: apt-get install \
         vulkan-validationlayers"
    )]
    NoValidationLayer,
    /// The validation layer found a misuse of Vulkan.
    #[error("{count} message(s) of the Vulkan validation layer, the first: {first}")]
    Validation {
        /// How many messages there were since the last check.
        count: usize,
        /// The first of them.
        first: String,
    },
    /// The device was lost.
    #[error("the device was lost")]
    DeviceLost,
    /// A batch took too long.
    #[error("a batch did not finish within {seconds} s")]
    Timeout {
        /// How long was waited.
        seconds: u64,
    },
    /// A Vulkan call failed.
    #[error("{what}: {reason}")]
    Vulkan {
        /// What was being done.
        what: &'static str,
        /// What Vulkan said.
        reason: String,
    },
}

impl GpuError {
    /// For `map_err`: a failed Vulkan call while doing `what`.
    pub(crate) fn vulkan<E: Into<Validated<VulkanError>>>(what: &'static str) -> impl Fn(E) -> Self {
        move |error| match error.into() {
            Validated::Error(VulkanError::DeviceLost) => Self::DeviceLost,
            Validated::Error(error) => Self::Vulkan { what, reason: error.to_string() },
            Validated::ValidationError(error) => Self::Vulkan { what, reason: error.to_string() },
        }
    }

    /// For `map_err`: any other failure while doing `what`.
    pub(crate) fn other<E: std::fmt::Display>(what: &'static str) -> impl Fn(E) -> Self {
        move |error| Self::Vulkan { what, reason: error.to_string() }
    }
}
