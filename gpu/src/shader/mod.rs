//! The shaders, compiled to SPIR-V when this crate was built (see `build.rs`).
//!
//! Owns the list of modules. Never compiles anything at run time.

#[cfg(feature = "compile")]
pub mod compile;

/// One compiled shader.
#[derive(Clone, Copy, Debug)]
pub struct Module {
    /// The stem that shader, pass and CPU twin share.
    pub name: &'static str,
    /// SPIR-V 1.3, 32-bit words in little-endian order.
    pub spirv: &'static [u8],
}

impl Module {
    /// The words of the module.
    pub(crate) fn words(&self) -> Vec<u32> {
        self.spirv.as_chunks().0.iter().map(|&b| u32::from_le_bytes(b)).collect()
    }
}

/// Every module, by name.
pub const MODULES: &[Module] = include!(concat!(env!("OUT_DIR"), "/modules.rs"));

/// The module of that name.
pub(crate) fn module(name: &str) -> Option<&'static Module> {
    MODULES.iter().find(|m| m.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_is_spirv_1_3_in_whole_words() {
        assert!(module("weight_mip").is_some());
        for m in MODULES {
            assert_eq!(m.spirv.len() % 4, 0, "{}", m.name);
            assert_eq!(m.words()[..2], [0x0723_0203, 0x0001_0300], "{}", m.name);
        }
    }
}
