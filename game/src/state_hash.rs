//! Canonical bytes and hashes of state: what two runs must agree on, in network-id order.
//!
//! Floats enter as their bits. Nothing that depends on handles, addresses or the order of creation enters.

use glam::{DQuat, DVec3};

/// Collects canonical bytes, little-endian, into a buffer that is used again every tick.
#[derive(Clone, Debug, Default)]
pub struct StateBytes {
    bytes: Vec<u8>,
}

impl StateBytes {
    /// Forgets everything but the capacity.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// One byte.
    pub fn u8(&mut self, v: u8) {
        self.bytes.push(v);
    }

    /// A flag.
    pub fn bool(&mut self, v: bool) {
        self.bytes.push(u8::from(v));
    }

    /// Four bytes.
    pub fn i32(&mut self, v: i32) {
        self.bytes.extend_from_slice(&v.to_le_bytes());
    }

    /// Eight bytes.
    pub fn u64(&mut self, v: u64) {
        self.bytes.extend_from_slice(&v.to_le_bytes());
    }

    /// Bytes as they are.
    pub fn bytes(&mut self, v: &[u8]) {
        self.bytes.extend_from_slice(v);
    }

    /// The bits of a float.
    pub fn f64(&mut self, v: f64) {
        self.u64(v.to_bits());
    }

    /// Three floats.
    pub fn vec3(&mut self, v: DVec3) {
        v.to_array().into_iter().for_each(|c| self.f64(c));
    }

    /// Four floats.
    pub fn quat(&mut self, q: DQuat) {
        q.to_array().into_iter().for_each(|c| self.f64(c));
    }

    /// The full hash of what was collected.
    pub fn hash(&self) -> [u8; 32] {
        *blake3::hash(&self.bytes).as_bytes()
    }

    /// The first eight bytes of the hash: for the hash after each system and the many hashes of a trace.
    pub fn short_hash(&self) -> u64 {
        let hash = self.hash();
        let mut first = [0; 8];
        first.copy_from_slice(&hash[..8]);
        u64::from_le_bytes(first)
    }

    /// How many bytes were collected.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing was collected.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}
