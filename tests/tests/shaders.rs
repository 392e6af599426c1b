//! The SPIR-V that the build made is valid for Vulkan 1.1 by the reference validator.

use highground_gpu::shader::MODULES;
use highground_tests::{gpu, test_name};
use std::process::Command;

#[test]
fn spirv_val_accepts_every_module_for_vulkan_1_1() {
    let folder = tempfile::tempdir().unwrap();
    for module in MODULES {
        let path = folder.path().join(format!("{}.spv", module.name));
        std::fs::write(&path, module.spirv).unwrap();
        let output = match Command::new("spirv-val").args(["--target-env", "vulkan1.1"]).arg(&path).output() {
            Ok(output) => output,
            // The tool comes with the GPU tests' packages: without it they are skipped together, by name.
            Err(_) if gpu::is_off(test_name!()) => return,
            Err(error) => panic!("spirv-val ({error}); on Debian or Ubuntu: apt-get install spirv-tools"),
        };
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {said}", module.name);
    }
}
