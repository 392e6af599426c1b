//! Which device runs the kernels: the one place where the CPU twins and the Vulkan passes are wired together.
//!
//! Owns the choice and its explanation. Never runs a kernel.

use crate::Failure;
use crate::args::DeviceArg;
use highground_gpu::{GpuCompute, Policy, policy};
use highground_terrain::compute::{Compute, ComputeError, CpuCompute, Fallback};
use std::sync::{Arc, Once};

/// Opens a device. One that fails on the way is replaced by the CPU, which is said on stderr; results are the same.
/// `Auto` takes the CPU twins where there is no Vulkan device and says why on stderr, once a process;
/// `HIGHGROUND_GPU` ([`policy`]) can forbid either.
///
/// # Errors
/// `Gpu`, or `Auto` with `HIGHGROUND_GPU=require`, where there is no Vulkan device: bad input, exit status 2.
pub fn open(device: DeviceArg) -> Result<Arc<dyn Compute>, Failure> {
    match device {
        DeviceArg::Cpu => Ok(Arc::new(CpuCompute::new())),
        DeviceArg::Gpu => match gpu() {
            Ok(gpu) => Ok(backed(gpu)),
            Err(why) => Err(Failure::input(format_args!("{why}; or pass --device cpu"))),
        },
        DeviceArg::Auto => match policy(Policy::Auto).map_err(Failure::input)? {
            Policy::Off => Ok(cpu_because("HIGHGROUND_GPU=off")),
            Policy::Require => Ok(backed(gpu()?)),
            Policy::Auto => match GpuCompute::open() {
                Ok(gpu) => Ok(backed(gpu)),
                Err(why) => Ok(cpu_because(why)),
            },
        },
    }
}

/// Opens a Vulkan device or fails.
pub(crate) fn gpu() -> Result<GpuCompute, Failure> {
    let failed = |why| Failure::input(format_args!("no GPU: {why}"));
    match policy(Policy::Auto).map_err(Failure::input)? {
        Policy::Off => Err(failed(highground_gpu::GpuError::Off)),
        Policy::Auto | Policy::Require => GpuCompute::open().map_err(failed),
    }
}

/// A device with the CPU behind it.
fn backed(gpu: GpuCompute) -> Arc<dyn Compute> {
    let tell = |error: &ComputeError| crate::say(&format!("{error}; the CPU goes on"));
    Arc::new(Fallback::new(Arc::new(gpu), tell))
}

fn cpu_because(why: impl std::fmt::Display) -> Arc<dyn Compute> {
    static SAID: Once = Once::new();
    SAID.call_once(|| crate::say(&format!("kernels run on the CPU: {why}")));
    Arc::new(CpuCompute::new())
}
