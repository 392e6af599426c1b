//! Compiles every `shaders/*.wgsl` to SPIR-V 1.3 (Vulkan 1.1) with naga, validation on.
//!
//! A shader that does not compile fails the build with its file, line and column. Writes `<stem>.spv` and a
//! `modules.rs` that lists them into the build folder. Never touches the source tree.

use naga::back::spv;
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{Capabilities, ValidationFlags, Validator};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=shaders");
    match compile_all() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The first line, with file and position, for cargo; the picture of the place for people.
            let text = error.to_string();
            println!("cargo::error={}", text.lines().next().unwrap_or("shader compilation failed"));
            eprintln!("{text}");
            ExitCode::FAILURE
        }
    }
}

fn compile_all() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    let mut shaders = Vec::new();
    for entry in std::fs::read_dir("shaders")? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "wgsl") {
            shaders.push(path);
        }
    }
    shaders.sort();
    let mut list = String::from("&[\n");
    for path in &shaders {
        let stem = path.file_stem().and_then(|s| s.to_str()).ok_or("shader names are UTF-8")?;
        let words = compile(path)?;
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        std::fs::write(out.join(format!("{stem}.spv")), bytes)?;
        list.push_str(&format!(
            "    Module {{ name: {stem:?}, spirv: include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{stem}.spv\")) }},\n"
        ));
    }
    list.push_str("]\n");
    std::fs::write(out.join("modules.rs"), list)?;
    Ok(())
}

fn compile(path: &Path) -> Result<Vec<u32>, Box<dyn Error>> {
    let name = format!("gpu/{}", path.display());
    let source = std::fs::read_to_string(path).map_err(|e| format!("{name}: {e}"))?;
    let place = |l: Option<naga::SourceLocation>| match l {
        Some(l) => format!("{name}:{}:{}", l.line_number, l.line_position),
        None => name.clone(),
    };
    let module = naga::front::wgsl::parse_str(&source).map_err(|e| {
        let picture = e.emit_to_string_with_path(&source, &name);
        format!("{}: {}\n{picture}", place(e.location(&source)), e.message())
    })?;
    // Immediates are push constants, which every Vulkan device has; nothing else beyond the core.
    let info =
        Validator::new(ValidationFlags::all(), Capabilities::IMMEDIATES).validate(&module).map_err(|e| {
            let picture = e.emit_to_string_with_path(&source, &name);
            format!("{}: {}\n{picture}", place(e.location(&source)), e.as_inner())
        })?;
    let options = spv::Options {
        lang_version: (1, 3),
        // Fixed, because naga's default differs between debug and release builds.
        flags: spv::WriterFlags::empty(),
        fake_missing_bindings: false,
        binding_map: bindings(&module),
        // No optional feature guards an index that is out of range, so the shader itself does.
        bounds_check_policies: BoundsCheckPolicies {
            index: BoundsCheckPolicy::Restrict,
            buffer: BoundsCheckPolicy::Restrict,
            ..Default::default()
        },
        emit_int_div_checks: true,
        ..Default::default()
    };
    spv::write_vec(&module, &info, &options, None).map_err(|e| format!("{name}: {e}").into())
}

/// Groups and bindings as the shader numbers them.
fn bindings(module: &naga::Module) -> spv::BindingMap {
    module
        .global_variables
        .iter()
        .filter_map(|(_, variable)| variable.binding)
        .map(|at| {
            let info =
                spv::BindingInfo { descriptor_set: at.group, binding: at.binding, binding_array_size: None };
            (at, info)
        })
        .collect()
}
