//! The harness of the end-to-end, acceptance, parity and snapshot tests.
//!
//! Owns what several of them need: a GPU or a named skip, the built command, the counting allocator, and
//! the checker of the house's arrows. Never holds an expectation: those stand in the tests.

pub mod arrows;
pub mod command;
pub mod counting_allocator;
pub mod gpu;
pub mod random;
pub mod slow_store;

pub use command::highground;

use std::path::PathBuf;

/// The repository's root.
pub fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().map(PathBuf::from).unwrap_or(here)
}

/// The name of the test function that this stands in, with its module.
#[macro_export]
macro_rules! test_name {
    () => {{
        fn here() {}
        let name = std::any::type_name_of_val(&here);
        name.strip_suffix("::here").unwrap_or(name)
    }};
}
