//! Arguments that several subcommands share.

use clap::ValueEnum;

/// Which device runs the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DeviceArg {
    /// The GPU if there is a Vulkan device, else the CPU twins.
    Auto,
    /// The CPU twins.
    Cpu,
    /// A Vulkan device; an error where there is none.
    Gpu,
}
