//! A block's compressed bytes as a stream of its raw ones. Whoever reads takes as many as the block has rows for, so
//! nothing can unpack to more than that; a stream that makes no progress is an error, never a wait.

use super::refuse;
use crate::import::ImportError;
use ruzstd::decoding::StreamingDecoder;
use std::io::{self, BufRead, BufReader, Read};

/// Memory that a zstd stream may ask for: the window of its highest level.
const ZSTD_WINDOW_BYTES: u64 = 128 << 20;

/// Packed bytes that are read at once.
const READ_BYTES: usize = 32 << 10;

/// Ways of packing that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Codec {
    None,
    Lzw,
    Deflate,
    PackBits,
    Zstd,
}

impl Codec {
    /// # Errors
    /// Ways of packing that are not read, by name.
    pub(super) fn of(tag: u64) -> Result<Self, ImportError> {
        let name = match tag {
            1 => return Ok(Codec::None),
            5 => return Ok(Codec::Lzw),
            8 | 32_946 => return Ok(Codec::Deflate),
            32_773 => return Ok(Codec::PackBits),
            50_000 => return Ok(Codec::Zstd),
            2..=4 => "fax",
            6 | 7 => "JPEG",
            34_712 => "JPEG 2000",
            34_887 => "LERC",
            34_925 => "LZMA",
            50_001 => "WebP",
            50_002 => "JPEG XL",
            _ => "unknown",
        };
        Err(refuse(format!(
            "expected samples stored plain, deflate, LZW, PackBits or zstd, found compression {tag} ({name}): write the file again with one of those"
        )))
    }

    /// Bytes that one packed byte can make at most, generously: what tells an honest size from a made-up one.
    pub(super) fn max_ratio(self) -> u64 {
        match self {
            Codec::None => 1,
            Codec::PackBits => 64,
            Codec::Deflate => crate::import::archive::MAX_DEFLATE_RATIO,
            // A code of 12 bits for a string of up to 4096 bytes.
            Codec::Lzw => 2_800,
            // A repeated-byte block: 128 KiB from 4 bytes.
            Codec::Zstd => 33_000,
        }
    }

    /// Whether predictors go with it (they are said of none of the others).
    pub(super) fn predicts(self) -> bool {
        matches!(self, Codec::Lzw | Codec::Deflate | Codec::Zstd)
    }

    /// The raw bytes of `packed`.
    ///
    /// # Errors
    /// What is no stream of this kind from its first bytes on.
    pub(super) fn open<'a>(self, packed: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
        let packed = BufReader::with_capacity(READ_BYTES, packed);
        Ok(match self {
            Codec::None => Box::new(packed),
            Codec::Lzw => Box::new(Lzw::new(packed)?),
            Codec::Deflate => Box::new(flate2::bufread::ZlibDecoder::new(packed)),
            Codec::PackBits => Box::new(PackBits { packed, run: Run::Start }),
            Codec::Zstd => Box::new(
                StreamingDecoder::new_with_max_window_size(packed, ZSTD_WINDOW_BYTES)
                    .map_err(io::Error::other)?,
            ),
        })
    }
}

/// TIFF's LZW: most significant bit first, code sizes switched one code early.
struct Lzw<R> {
    packed: R,
    decoder: weezl::decode::Decoder,
    ended: bool,
}

impl<R: BufRead> Lzw<R> {
    fn new(mut packed: R) -> io::Result<Self> {
        // Before TIFF 6.0 codes were written least significant bit first: their clear code reads as 0, 1.
        if let [0, second, ..] = packed.fill_buf()?
            && second & 1 == 1
        {
            return Err(io::Error::other("LZW of before TIFF 6.0"));
        }
        let decoder = weezl::decode::Configuration::with_tiff_size_switch(weezl::BitOrder::Msb, 8)
            .with_yield_on_full_buffer(true)
            .build();
        Ok(Self { packed, decoder, ended: false })
    }
}

impl<R: BufRead> Read for Lzw<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while !self.ended && !out.is_empty() {
            let packed = self.packed.fill_buf()?;
            let end = packed.is_empty();
            let got = self.decoder.decode_bytes(packed, out);
            self.packed.consume(got.consumed_in);
            match got.status {
                Ok(weezl::LzwStatus::Done) => self.ended = true,
                Ok(weezl::LzwStatus::Ok) => {}
                Ok(weezl::LzwStatus::NoProgress) if end => self.ended = true,
                Ok(weezl::LzwStatus::NoProgress) => return Err(io::Error::other("LZW that goes nowhere")),
                Err(e) => return Err(io::Error::other(e)),
            }
            if got.consumed_out > 0 {
                return Ok(got.consumed_out);
            }
            if got.consumed_in == 0 && !self.ended {
                // Nothing taken and nothing made: it would stay so for ever.
                return Err(io::Error::other("LZW that goes nowhere"));
            }
        }
        Ok(0)
    }
}

/// Apple's PackBits.
struct PackBits<R> {
    packed: R,
    run: Run,
}

#[derive(Clone, Copy)]
enum Run {
    Start,
    /// So many bytes as they are.
    Literal(u8),
    /// So many of one byte.
    Repeat(u8, u8),
}

impl<R: BufRead> PackBits<R> {
    fn byte(&mut self) -> io::Result<Option<u8>> {
        let byte = self.packed.fill_buf()?.first().copied();
        self.packed.consume(usize::from(byte.is_some()));
        Ok(byte)
    }
}

impl<R: BufRead> Read for PackBits<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            match self.run {
                Run::Start | Run::Literal(0) | Run::Repeat(0, _) => {
                    let Some(n) = self.byte()? else { return Ok(0) };
                    self.run = match n {
                        0..=127 => Run::Literal(n + 1),
                        // Nothing.
                        128 => Run::Start,
                        129..=255 => {
                            let Some(b) = self.byte()? else { return Ok(0) };
                            // 2 to 128 times.
                            Run::Repeat((257 - u16::from(n)) as u8, b)
                        }
                    };
                }
                Run::Literal(n) => {
                    let take = out.len().min(usize::from(n));
                    let got = self.packed.read(&mut out[..take])?;
                    self.run = Run::Literal(n - got as u8);
                    return Ok(got);
                }
                Run::Repeat(n, b) => {
                    let take = out.len().min(usize::from(n));
                    out[..take].fill(b);
                    self.run = Run::Repeat(n - take as u8, b);
                    return Ok(take);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(codec: Codec, packed: &[u8], limit: u64) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        codec.open(packed)?.take(limit).read_to_end(&mut out)?;
        Ok(out)
    }

    #[test]
    fn packbits_reads_the_example_of_its_specification() {
        let packed =
            [0xfe, 0xaa, 0x02, 0x80, 0x00, 0x2a, 0xfd, 0xaa, 0x03, 0x80, 0x00, 0x2a, 0x22, 0xf7, 0xaa];
        let mut expected =
            vec![0xaa, 0xaa, 0xaa, 0x80, 0x00, 0x2a, 0xaa, 0xaa, 0xaa, 0xaa, 0x80, 0x00, 0x2a, 0x22];
        expected.extend([0xaa; 10]);
        assert_eq!(all(Codec::PackBits, &packed, 100).unwrap(), expected);
        // 128 is skipped; a run cut off ends the stream.
        assert_eq!(all(Codec::PackBits, &[128, 0, 7, 129], 100).unwrap(), [7]);
    }

    #[test]
    fn lzw_reads_the_example_of_the_tiff_specification() {
        // 7 7 7 8 8 7 7 6 6 as codes of 9 bits: 256 7 258 8 8 258 6 6 257.
        let codes = [256u32, 7, 258, 8, 8, 258, 6, 6, 257];
        let bits: Vec<u8> =
            codes.iter().flat_map(|c| (0..9).rev().map(move |i| (c >> i & 1) as u8)).collect();
        let packed: Vec<u8> =
            bits.chunks(8).map(|b| b.iter().enumerate().map(|(i, v)| v << (7 - i)).sum()).collect();
        assert_eq!(all(Codec::Lzw, &packed, 100).unwrap(), [7, 7, 7, 8, 8, 7, 7, 6, 6]);
        // No end code: what is there is there.
        assert_eq!(all(Codec::Lzw, &packed[..4], 100).unwrap(), [7, 7, 7]);
    }

    #[test]
    fn a_stream_yields_no_more_than_is_asked_of_it() {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        io::Write::write_all(&mut encoder, &vec![0; 1 << 20]).unwrap();
        let packed = encoder.finish().unwrap();
        assert!(packed.len() < 2_000);
        assert_eq!(all(Codec::Deflate, &packed, 1_000).unwrap().len(), 1_000);
    }

    #[test]
    fn other_compressions_are_refused_by_name() {
        for (tag, name) in [(34_887, "LERC"), (7, "JPEG"), (9_999, "unknown")] {
            let error = Codec::of(tag).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains(&tag.to_string()), "{error}");
        }
    }
}
