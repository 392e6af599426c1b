//! A Vulkan device for tests, or a skip that is said by name.
//!
//! Nothing turns green by finding no device: without one a test fails, unless `HIGHGROUND_GPU=off` asked for skips.

use highground_gpu::{GpuCompute, GpuOptions, Policy, policy};
use std::io::Write;

/// The device, or `None` when `HIGHGROUND_GPU=off`; then a line says which test was skipped. `test` is
/// [`test_name!`](crate::test_name).
///
/// # Panics
/// When there is no device, or it has another defect.
pub fn require(test: &str) -> Option<GpuCompute> {
    require_with(test, GpuOptions::default())
}

/// [`require`] with options.
///
/// # Panics
/// As [`require`].
pub fn require_with(test: &str, options: GpuOptions) -> Option<GpuCompute> {
    if is_off(test) {
        return None;
    }
    match GpuCompute::with_options(options) {
        Ok(gpu) => Some(gpu),
        Err(why) => panic!("{test} needs a GPU: {why}; or name it as skipped with HIGHGROUND_GPU=off"),
    }
}

/// Whether `HIGHGROUND_GPU=off`; then a line on stderr says that `test` was skipped.
///
/// # Panics
/// When `HIGHGROUND_GPU` holds no policy.
pub fn is_off(test: &str) -> bool {
    let policy = match policy(Policy::Require) {
        Ok(policy) => policy,
        Err(why) => panic!("{why}"),
    };
    if policy == Policy::Off {
        // Written past the test runner's capture, which would hide it from a passing test.
        let _ = writeln!(std::io::stderr(), "SKIPPED (HIGHGROUND_GPU=off): {test}");
    }
    policy == Policy::Off
}
