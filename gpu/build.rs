//! Compiles every `shaders/*.wgsl` to SPIR-V 1.3 (Vulkan 1.1) with naga, validation on.
//!
//! A shader that does not compile fails the build with its file, line and column. Writes `<stem>.spv` and a
//! `modules.rs` that lists them into the build folder. Never touches the source tree.
//!
//! A shader's first lines may be `//!include name`: `shaders/include/name.wgsl` is then put behind the shader's own text,
//! so that its own lines keep their numbers.

#[expect(unreachable_pub, reason = "the crate has it too, and makes it public")]
#[path = "src/shader/compile.rs"]
mod compile;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=shaders");
    println!("cargo::rerun-if-changed=src/shader/compile.rs");
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
        let name = format!("gpu/{}", path.display());
        let text = std::fs::read_to_string(path).map_err(|e| format!("{name}: {e}"))?;
        let words = compile::compile(&compile::with_includes(path, &text)?, &name)?;
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
