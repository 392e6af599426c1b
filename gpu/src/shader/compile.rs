//! WGSL to SPIR-V 1.3 (Vulkan 1.1) with naga: used by the build script, and by tests of what the tests find.
//!
//! Owns how shaders are compiled. Never runs in the product.

use naga::back::spv;
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{Capabilities, ValidationFlags, Validator};
use std::error::Error;
use std::path::Path;

/// The words of a module of which `source` is the whole text. `name` stands in errors, with line and column.
///
/// # Errors
/// What the compiler or the validator refuses: one line, and a picture of the place.
pub fn compile(source: &str, name: &str) -> Result<Vec<u32>, Box<dyn Error>> {
    let place = |l: Option<naga::SourceLocation>| match l {
        Some(l) => format!("{name}:{}:{}", l.line_number, l.line_position),
        None => name.to_owned(),
    };
    let module = naga::front::wgsl::parse_str(source).map_err(|e| {
        let picture = e.emit_to_string_with_path(source, name);
        format!("{}: {}\n{picture}", place(e.location(source)), e.message())
    })?;
    // Immediates are push constants, which every Vulkan device has; nothing else beyond the core.
    let info =
        Validator::new(ValidationFlags::all(), Capabilities::IMMEDIATES).validate(&module).map_err(|e| {
            let picture = e.emit_to_string_with_path(source, name);
            format!("{}: {}\n{picture}", place(e.location(source)), e.as_inner())
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

/// The text of the shader at `path` with what it includes behind it.
///
/// # Errors
/// An include that cannot be read.
pub fn with_includes(path: &Path, text: &str) -> Result<String, Box<dyn Error>> {
    let mut source = text.to_owned();
    let included: Vec<String> = source
        .lines()
        .map_while(|line| line.strip_prefix("//!include ").map(|stem| format!("{}.wgsl", stem.trim())))
        .collect();
    for file in included {
        let path = path.with_file_name("include").join(file);
        let text = std::fs::read_to_string(&path)
            .map_err(|e| format!("an include of a shader, {}: {e}", path.display()))?;
        source.push('\n');
        source.push_str(&text);
    }
    Ok(source)
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
