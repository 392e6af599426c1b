//! The terrain crate's [`Compute`] on a Vulkan device.
//!
//! Owns the device and what it works with. Refuses the same batches as the CPU, with the same errors, before the device
//! sees them. Never falls back to the CPU by itself.

use crate::GpuError;
use crate::device::Vulkan;
use crate::kept::Kept;
use crate::pass::Passes;
use crate::pool::{Pool, PoolStats};
use crate::run::Bench;
use highground_terrain::compute::{Batch, Compute, ComputeError, DeviceInfo, Outputs};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How a [`GpuCompute`] does its work. Never changes a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuOptions {
    /// Bytes of spare buffers that are kept for the next batch.
    pub pool_bytes: u64,
    /// Bytes of shared words that are kept on the device.
    pub shared_bytes: u64,
    /// How long a batch may take before the device counts as lost.
    pub timeout: Duration,
    /// Fill buffers that steps are to fill with this before: for tests.
    pub poison: Option<u32>,
}

impl Default for GpuOptions {
    /// 256 MiB spare, 1 GiB shared, a minute.
    fn default() -> Self {
        Self { pool_bytes: 256 << 20, shared_bytes: 1 << 30, timeout: Duration::from_secs(60), poison: None }
    }
}

/// Runs kernels on a Vulkan device, from any thread, one batch at a time.
pub struct GpuCompute {
    vulkan: Vulkan,
    bench: Mutex<Bench>,
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
        Self::with_passes(options, Passes::default())
    }

    /// [`Self::with_options`] with another module in the place of the built one of its name: for tests of what the tests
    /// find. Results are then whatever that module gives.
    ///
    /// # Errors
    /// As [`Self::open`], or a module that the device refuses.
    #[cfg(feature = "compile")]
    pub fn with_module(options: GpuOptions, module: crate::shader::Module) -> Result<Self, GpuError> {
        Self::with_passes(options, Passes::with(module))
    }

    fn with_passes(options: GpuOptions, passes: Passes) -> Result<Self, GpuError> {
        let vulkan = Vulkan::open()?;
        let bench = Bench {
            passes,
            pool: Pool::new(&vulkan, options.pool_bytes),
            kept: Kept::new(options.shared_bytes),
            poison: options.poison,
            timeout: options.timeout,
            lost: false,
        };
        vulkan.check_validation()?;
        Ok(Self { vulkan, bench: Mutex::new(bench) })
    }

    /// Whether the Khronos validation layer watches every call (`HIGHGROUND_VK_VALIDATION=1`). What it finds is an
    /// error of the call.
    pub fn is_validating(&self) -> bool {
        self.vulkan.is_validating()
    }

    /// What the pool of buffers holds.
    pub fn pool_stats(&self) -> PoolStats {
        self.bench.lock().unwrap_or_else(PoisonError::into_inner).pool.stats()
    }

    /// Bytes of shared words on the device.
    pub fn shared_bytes(&self) -> u64 {
        self.bench.lock().unwrap_or_else(PoisonError::into_inner).kept.bytes()
    }
}

impl Compute for GpuCompute {
    fn info(&self) -> &DeviceInfo {
        self.vulkan.info()
    }

    fn run(&self, batch: &Batch<'_>, out: &mut Outputs) -> Result<(), ComputeError> {
        batch.check()?;
        let mut bench = self.bench.lock().unwrap_or_else(PoisonError::into_inner);
        bench.run(&self.vulkan, batch, out).map_err(|error| {
            let (device, pass) = (self.vulkan.info().to_string(), batch.kernel());
            match error {
                GpuError::DeviceLost => ComputeError::DeviceLost { device, pass },
                GpuError::Timeout { seconds } => ComputeError::Timeout { device, pass, seconds },
                error => ComputeError::Device { device, pass, reason: error.to_string() },
            }
        })
    }
}
