//! Stored values as linear ones and back: integers from 0 to [`ONE`].
//!
//! Plain values are exact: v of 255 is v · ONE / 255, v of 65,535 is v · ONE / 65,535. sRGB ones (IEC 61966-2-1) come from
//! tables that `libm`'s `pow` makes once, rounded to integers; back, a value gets the code whose neighbours' middles in the
//! coded scale lie around it. So 8-bit values come back as they were, and the bits are the same on every machine.

use std::sync::OnceLock;

/// Full scale: 255 and 65,535 both divide it.
pub(super) const ONE: u32 = 65_535 * 256;

/// How stored values are coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Curve {
    Linear,
    Srgb,
}

/// The light of an sRGB value from 0 to 1.
fn light(v: f64) -> f64 {
    if v <= 0.040_45 { v / 12.92 } else { libm::pow((v + 0.055) / 1.055, 2.4) }
}

fn scaled(v: f64) -> u32 {
    (v * f64::from(ONE) + 0.5).floor() as u32
}

fn table8() -> &'static [u32] {
    static TABLE: OnceLock<Vec<u32>> = OnceLock::new();
    TABLE.get_or_init(|| (0..=255u8).map(|v| scaled(light(f64::from(v) / 255.0))).collect())
}

fn table16() -> &'static [u32] {
    static TABLE: OnceLock<Vec<u32>> = OnceLock::new();
    TABLE.get_or_init(|| (0..=u16::MAX).map(|v| scaled(light(f64::from(v) / 65_535.0))).collect())
}

/// Where each code but the last ends.
fn ends() -> &'static [u32] {
    static TABLE: OnceLock<Vec<u32>> = OnceLock::new();
    TABLE.get_or_init(|| (0..255u8).map(|v| scaled(light((f64::from(v) + 0.5) / 255.0))).collect())
}

impl Curve {
    /// Decodes one channel of a row: `bytes` holds so many channels of 8 or 16 bits a texel.
    pub(super) fn decode(self, bytes: &[u8], channels: usize, channel: usize, bits: u8, out: &mut [u32]) {
        if bits == 16 {
            let values = bytes.as_chunks::<2>().0.iter().skip(channel).step_by(channels);
            let codes = values.map(|b| u16::from_be_bytes(*b));
            match self {
                Curve::Linear => out.iter_mut().zip(codes).for_each(|(o, v)| *o = u32::from(v) * 256),
                Curve::Srgb => {
                    let table = table16();
                    out.iter_mut().zip(codes).for_each(|(o, v)| *o = table[usize::from(v)]);
                }
            }
        } else {
            let codes = bytes.iter().skip(channel).step_by(channels);
            match self {
                Curve::Linear => {
                    out.iter_mut().zip(codes).for_each(|(o, &v)| *o = u32::from(v) * (ONE / 255))
                }
                Curve::Srgb => {
                    let table = table8();
                    out.iter_mut().zip(codes).for_each(|(o, &v)| *o = table[usize::from(v)]);
                }
            }
        }
    }

    /// The nearest code of 255, half up.
    pub(super) fn encode(self, v: u32) -> u8 {
        match self {
            Curve::Linear => ((u64::from(v) * 255 + u64::from(ONE / 2)) / u64::from(ONE)) as u8,
            Curve::Srgb => ends().partition_point(|&end| end <= v) as u8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_bit_values_come_back_as_they_were() {
        for curve in [Curve::Linear, Curve::Srgb] {
            for v in 0..=255u8 {
                let mut eight = [0];
                curve.decode(&[7, v], 2, 1, 8, &mut eight);
                assert_eq!(curve.encode(eight[0]), v);
                let mut sixteen = [0];
                curve.decode(&(u16::from(v) * 257).to_be_bytes(), 1, 0, 16, &mut sixteen);
                assert_eq!(eight, sixteen, "{curve:?} {v}");
            }
        }
    }

    #[test]
    fn the_curve_is_the_standard_one() {
        // Light of 64, 128 and 188 of 255 by a calculator.
        for (v, expected) in [(64u8, 0.051_269), (128, 0.215_861), (188, 0.502_886)] {
            assert!((f64::from(table8()[usize::from(v)]) / f64::from(ONE) - expected).abs() < 1e-6);
        }
        assert_eq!(Curve::Srgb.encode(ONE / 2), 188);
        assert_eq!((Curve::Srgb.encode(0), Curve::Srgb.encode(ONE)), (0, 255));
        assert_eq!((Curve::Linear.encode(ONE / 2), Curve::Linear.encode(ONE / 2 - 1)), (128, 127));
    }
}
