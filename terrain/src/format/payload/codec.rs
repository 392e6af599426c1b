//! Compression of bodies: deflate after a predictor, only where it makes them smaller.

use crate::format::FormatError;
use flate2::Compression as Level;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};

/// How a body is compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// Raw deflate of the body, numbers of more than a byte replaced by what a plane through their three known
    /// neighbours leaves and split into byte planes.
    Deflate,
}

impl Compression {
    /// Its code in the file.
    pub const fn code(self) -> u8 {
        match self {
            Compression::None => 0,
            Compression::Deflate => 1,
        }
    }

    /// The compression of a code.
    pub const fn of_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Compression::None),
            1 => Some(Compression::Deflate),
            _ => None,
        }
    }
}

/// Compresses a body whose first `rows · width` numbers have `bytes` bytes each (0: no such numbers); `None` when it
/// would not get smaller.
pub(super) fn compress(body: &[u8], numbers: Numbers) -> Option<Vec<u8>> {
    let mut filtered = body.to_vec();
    numbers.filter(body, &mut filtered);
    let mut out = DeflateEncoder::new(Vec::with_capacity(body.len() / 2), Level::new(6));
    out.write_all(&filtered).ok()?;
    let packed = out.finish().ok()?;
    (packed.len() < body.len()).then_some(packed)
}

/// Undoes [`compress`]; the body must come to exactly `length` bytes.
///
/// # Errors
/// Damaged data, or another length.
pub(super) fn decompress(
    packed: &[u8],
    length: usize,
    numbers: Numbers,
    at: u64,
) -> Result<Vec<u8>, FormatError> {
    let mut filtered = Vec::with_capacity(length);
    let mut decoder = DeflateDecoder::new(packed).take(length as u64 + 1);
    decoder
        .read_to_end(&mut filtered)
        .map_err(|e| FormatError::new(at, "compressed body", format!("{length} bytes of deflate"), e))?;
    check_used(&decoder.into_inner(), packed, at)?;
    if filtered.len() != length {
        let found = if filtered.len() > length { "more".to_owned() } else { filtered.len().to_string() };
        return Err(FormatError::new(at, "compressed body", format!("{length} bytes"), found));
    }
    let mut body = filtered.clone();
    numbers.unfilter(&filtered, &mut body);
    Ok(body)
}

/// Refuses bytes after the end of a stream: nothing would ever look at them. A stream that gave more than was asked for is
/// refused for that.
pub(super) fn check_used<R: Read>(
    decoder: &DeflateDecoder<R>,
    packed: &[u8],
    at: u64,
) -> Result<(), FormatError> {
    let used = decoder.total_in();
    if used < packed.len() as u64 {
        let expected = format!("a stream of {} bytes", packed.len());
        return Err(FormatError::new(at, "compressed body", expected, format!("one that ends after {used}")));
    }
    Ok(())
}

/// The part of a body that is a square of numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    /// Numbers a row, and rows.
    pub(super) side: usize,
    /// Bytes of a number: 0 (no numbers), 2 or 4.
    pub(super) bytes: usize,
}

impl Numbers {
    pub(super) const NONE: Numbers = Numbers { side: 0, bytes: 0 };

    fn count(self) -> usize {
        self.side * self.side
    }

    fn get(self, body: &[u8], i: usize) -> u32 {
        let b = &body[i * self.bytes..][..self.bytes];
        b.iter().rev().fold(0, |n, &b| n << 8 | u32::from(b))
    }

    /// left + above − above left, of what is there.
    fn predict(self, at: impl Fn(usize) -> u32, i: usize) -> u32 {
        let (left, above) = (!i.is_multiple_of(self.side), i >= self.side);
        match (left, above) {
            (false, false) => 0,
            (true, false) => at(i - 1),
            (false, true) => at(i - self.side),
            (true, true) => at(i - 1).wrapping_add(at(i - self.side)).wrapping_sub(at(i - self.side - 1)),
        }
    }

    fn mask(self) -> u32 {
        if self.bytes == 2 { 0xFFFF } else { u32::MAX }
    }

    fn filter(self, body: &[u8], out: &mut [u8]) {
        for i in 0..self.count() {
            let rest = self.get(body, i).wrapping_sub(self.predict(|j| self.get(body, j), i)) & self.mask();
            // Small either way becomes small.
            let sign = rest >> (self.bytes * 8 - 1) & 1;
            let zigzag = (rest << 1 ^ 0u32.wrapping_sub(sign)) & self.mask();
            for b in 0..self.bytes {
                out[b * self.count() + i] = (zigzag >> (8 * b)) as u8;
            }
        }
    }

    fn unfilter(self, filtered: &[u8], body: &mut [u8]) {
        let mut values = vec![0u32; self.count()];
        for i in 0..self.count() {
            let zigzag =
                (0..self.bytes).fold(0, |n, b| n | u32::from(filtered[b * self.count() + i]) << (8 * b));
            let rest = zigzag >> 1 ^ 0u32.wrapping_sub(zigzag & 1);
            values[i] = rest.wrapping_add(self.predict(|j| values[j], i)) & self.mask();
            for b in 0..self.bytes {
                body[i * self.bytes + b] = (values[i] >> (8 * b)) as u8;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bodies_come_back(
            noise in prop::collection::vec(any::<u8>(), 16 * 16 * 4 + 7),
            bytes in prop::sample::select(vec![0usize, 2, 4]),
            slope in 0u32..3000,
        ) {
            let numbers = Numbers { side: if bytes == 0 { 0 } else { 16 }, bytes };
            // A slope with noise in its low byte compresses; pure noise stays as it is.
            let mut body = noise.clone();
            for i in 0..numbers.count() {
                let v = (i as u32 * slope + u32::from(noise[i]) % 4).to_le_bytes();
                body[i * bytes..][..bytes].copy_from_slice(&v[..bytes]);
            }
            let mut filtered = body.clone();
            numbers.filter(&body, &mut filtered);
            let mut back = filtered.clone();
            numbers.unfilter(&filtered, &mut back);
            prop_assert_eq!(&back, &body);
            if let Some(packed) = compress(&body, numbers) {
                prop_assert_eq!(decompress(&packed, body.len(), numbers, 0).unwrap(), body.clone());
                prop_assert!(decompress(&packed, body.len() - 1, numbers, 0).is_err());
                prop_assert!(decompress(&packed, body.len() + 1, numbers, 0).is_err());
                prop_assert!(decompress(&packed[..packed.len() / 2], body.len(), numbers, 0).is_err());
                let hidden = [&packed[..], b"HELLO"].concat();
                prop_assert!(decompress(&hidden, body.len(), numbers, 0).is_err());
            }
        }
    }

    #[test]
    fn a_smooth_slope_gets_much_smaller() {
        let body: Vec<u8> =
            (0..32 * 32u32).flat_map(|i| ((i % 32 * 300 + i / 32 * 170) as u16).to_le_bytes()).collect();
        let packed = compress(&body, Numbers { side: 32, bytes: 2 }).unwrap();
        assert!(packed.len() * 20 < body.len(), "{}", packed.len());
    }
}
