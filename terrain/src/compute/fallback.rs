//! A device that may fail, and the CPU behind it: the same answers either way.
//!
//! Owns the moment of changing over. A batch that the device did not finish is run again from its start on the CPU; the
//! device is not asked again. Never hides that it happened.

use super::{Batch, Compute, ComputeError, CpuCompute, DeviceInfo, Outputs};
use std::sync::{Arc, OnceLock};

/// Runs batches on a device until it fails, then on the CPU.
pub struct Fallback {
    device: Arc<dyn Compute>,
    cpu: CpuCompute,
    failure: OnceLock<ComputeError>,
    tell: fn(&ComputeError),
}

impl Fallback {
    /// `tell` is called once, with what the device failed of.
    pub fn new(device: Arc<dyn Compute>, tell: fn(&ComputeError)) -> Self {
        Self { device, cpu: CpuCompute::new(), failure: OnceLock::new(), tell }
    }

    /// Why the CPU took over; `None` while it has not.
    pub fn failure(&self) -> Option<&ComputeError> {
        self.failure.get()
    }
}

impl Compute for Fallback {
    /// The device that runs batches now.
    fn info(&self) -> &DeviceInfo {
        if self.failure.get().is_some() { self.cpu.info() } else { self.device.info() }
    }

    fn run(&self, batch: &Batch<'_>, out: &mut Outputs) -> Result<(), ComputeError> {
        if self.failure.get().is_none() {
            match self.device.run(batch, out) {
                Err(error) if error.is_of_the_device() => {
                    let mut first = false;
                    let failure = self.failure.get_or_init(|| {
                        first = true;
                        error
                    });
                    if first {
                        (self.tell)(failure);
                    }
                }
                other => return other,
            }
        }
        self.cpu.run(batch, out)
    }
}
