//! Integer heights: quanta of 2⁻ᵏ m on one lattice for the whole terrain.
//!
//! Owns the bounds and the conversions to and from metres. Never interpolates.

use serde::{Deserialize, Serialize};

/// Every valid height has |q| below this, so that it is exact in `f32`.
pub const HEIGHT_LIMIT: i32 = 1 << 24;

/// The largest k: a quantum is at least 1/4096 m.
pub const MAX_QUANTUM_LOG2: u8 = 12;

/// The k used unless the source asks for more: 1/128 m, the step of the reference article's 16-bit encoding.
pub const DEFAULT_QUANTUM_LOG2: u8 = 7;

/// The decoded value that stands for "no sample here" in arrays of raw quanta.
pub const VOID: i32 = i32::MIN;

/// An integer count of quanta.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Height(pub i32);

/// k: heights are counted in 2⁻ᵏ m.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct QuantumLog2(u8);

impl QuantumLog2 {
    /// 1/128 m.
    pub const DEFAULT: QuantumLog2 = QuantumLog2(DEFAULT_QUANTUM_LOG2);

    /// k as a number.
    pub const fn get(self) -> u8 {
        self.0
    }

    /// Quanta a metre.
    pub const fn per_metre(self) -> i64 {
        1 << self.0
    }

    /// One quantum in metres (exact).
    pub fn metres(self) -> f64 {
        1.0 / self.per_metre() as f64
    }

    /// A count of quanta in metres (exact in `f64`).
    pub fn to_metres(self, quanta: i32) -> f64 {
        f64::from(quanta) * self.metres()
    }

    /// Metres rounded to quanta, half up; `None` for what is not finite or does not fit ±[`HEIGHT_LIMIT`].
    pub fn from_metres(self, metres: f64) -> Option<Height> {
        let scaled = metres * self.per_metre() as f64;
        if !scaled.is_finite() || scaled.abs() > f64::from(HEIGHT_LIMIT) * 2.0 {
            return None;
        }
        let floor = scaled.floor();
        let q = floor as i64 + i64::from(scaled - floor >= 0.5);
        (q.abs() < i64::from(HEIGHT_LIMIT)).then_some(Height(q as i32))
    }
}

impl TryFrom<u8> for QuantumLog2 {
    type Error = String;

    fn try_from(value: u8) -> Result<Self, String> {
        if value <= MAX_QUANTUM_LOG2 {
            Ok(Self(value))
        } else {
            Err(format!("the height quantum must be 2^-k m with k from 0 to 12, found k = {value}"))
        }
    }
}

impl From<QuantumLog2> for u8 {
    fn from(value: QuantumLog2) -> Self {
        value.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heights_round_half_up_and_refuse_what_does_not_fit() {
        let k = QuantumLog2::DEFAULT;
        assert_eq!(k.from_metres(0.5 / 128.0), Some(Height(1)));
        assert_eq!(k.from_metres(-0.5 / 128.0), Some(Height(0)));
        assert_eq!(k.from_metres(-1.0), Some(Height(-128)));
        assert_eq!(k.from_metres(131_072.0), None);
        assert_eq!(k.from_metres(131_071.99), Some(Height(16_777_215)));
        assert_eq!(k.from_metres(f64::NAN), None);
        assert_eq!(k.from_metres(f64::INFINITY), None);
    }
}
