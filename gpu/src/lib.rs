//! Highground on Vulkan: the terrain kernels as compute passes with the same bits as their CPU twins.
//!
//! [`GpuCompute`] is the way in. Every pass needs only what every Vulkan 1.1 device has. This is the only crate with
//! `unsafe`, and it depends on the terrain crate alone.

mod compute;
pub mod device;
mod error;
mod kept;
mod pass;
mod pool;
mod run;
pub mod shader;

pub use compute::{GpuCompute, GpuOptions};
pub use device::{Policy, policy};
pub use error::GpuError;
pub use pool::PoolStats;
