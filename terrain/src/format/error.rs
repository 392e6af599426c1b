//! What is wrong with bytes: where, what was expected and what was found.

/// Bytes that are not a payload, or a damaged one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {at}, {field}: expected {expected}, found {found}")]
pub struct FormatError {
    /// Offset in the file of the first byte of what is wrong.
    pub at: u64,
    /// The name of the field, as in `docs/format.md`.
    pub field: &'static str,
    /// What would have been right.
    pub expected: String,
    /// What is there.
    pub found: String,
}

impl FormatError {
    /// Shorthand for building one.
    pub fn new(
        at: u64,
        field: &'static str,
        expected: impl std::fmt::Display,
        found: impl std::fmt::Display,
    ) -> Self {
        Self { at, field, expected: expected.to_string(), found: found.to_string() }
    }
}

/// The first `N` bytes at `at`; the caller has checked that they are there.
pub(crate) fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[at..at + N]);
    out
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array(bytes, at))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array(bytes, at))
}

pub(crate) fn i32_at(bytes: &[u8], at: usize) -> i32 {
    i32::from_le_bytes(array(bytes, at))
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
