//! `highground kernel`: one kernel on files, for comparing devices.
//!
//! Raw data in, raw data out. Never interprets a terrain file.

use crate::args::DeviceArg;
use crate::{Failure, device, files};
use clap::{Subcommand, ValueEnum};
use highground_terrain::kernel::weight_mip::{self, Encoding};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Arguments of `highground kernel`.
#[derive(clap::Args)]
#[command(after_help = "Example: highground kernel weight-mip --help")]
pub(crate) struct Args {
    #[command(subcommand)]
    kernel: Kernel,
}

#[derive(Subcommand)]
enum Kernel {
    /// The next mip of a weight map: raw texels in, raw texels out
    WeightMip(WeightMip),
}

#[derive(clap::Args)]
#[command(after_help = "Example: highground kernel weight-mip --in mip0.raw --size 512x384 --encoding hd \
                        --device gpu --out mip1.raw")]
struct WeightMip {
    /// Raw texels, row by row, without padding
    #[arg(long = "in", value_name = "FILE")]
    input: PathBuf,
    /// Width and height of the input in texels
    #[arg(long, value_name = "WxH", value_parser = parse_size)]
    size: [u32; 2],
    /// How a texel is stored
    #[arg(long, value_enum)]
    encoding: EncodingArg,
    /// Where the kernel runs
    #[arg(long, value_enum, default_value = "auto")]
    device: DeviceArg,
    /// Where the texels of the next mip go: half of each side, rounded up
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum EncodingArg {
    /// Three bytes: id1, id2, ratio
    Hd,
    /// A little-endian u16: id1 in bits 0-4, id2 in 5-9, ratio in 10-12
    Normal,
}

impl From<EncodingArg> for Encoding {
    fn from(arg: EncodingArg) -> Self {
        match arg {
            EncodingArg::Hd => Encoding::Hd,
            EncodingArg::Normal => Encoding::Normal,
        }
    }
}

fn parse_size(text: &str) -> Result<[u32; 2], String> {
    let side = |s: &str| s.parse::<u32>().ok().filter(|&n| n > 0);
    text.split_once(['x', 'X'])
        .and_then(|(w, h)| Some([side(w)?, side(h)?]))
        .ok_or_else(|| "expected WxH with two positive integers, such as 512x384".to_owned())
}

pub(crate) fn run(args: Args) -> Result<(), Failure> {
    match args.kernel {
        Kernel::WeightMip(args) => run_weight_mip(&args),
    }
}

fn run_weight_mip(args: &WeightMip) -> Result<(), Failure> {
    let encoding = args.encoding.into();
    files::refuse_overwriting(&args.out, &[&args.input])?;
    let texels = read_texels(&args.input, encoding, args.size)?;
    let compute = device::open(args.device)?;
    let mip = highground_terrain::pass::weight_mip::mip(&*compute, encoding, args.size, &texels)
        .map_err(Failure::input)?;
    std::fs::write(&args.out, mip).map_err(|e| Failure::file(&args.out, e))?;
    let ([w, h], [mip_w, mip_h]) = (args.size, weight_mip::mip_size(args.size));
    crate::say(&format!("weight-mip: {w}x{h} to {mip_w}x{mip_h} texels on {}", compute.info()));
    Ok(())
}

/// Reads exactly the bytes that the size asks for; a file of another length is refused without being read whole.
fn read_texels(path: &Path, encoding: Encoding, size: [u32; 2]) -> Result<Vec<u8>, Failure> {
    let failed = |e: &dyn std::fmt::Display| Failure::file(path, e);
    let expected = weight_mip::byte_len(encoding, size).map_err(|e| failed(&e))?;
    let file = std::fs::File::open(path).map_err(|e| failed(&e))?;
    let metadata = file.metadata().map_err(|e| failed(&e))?;
    if metadata.is_file() && metadata.len() != expected {
        return Err(wrong_length(path, encoding, size, expected, &metadata.len().to_string()));
    }
    // Not a plain file, or one that changes: no more than one byte too many is taken in.
    let mut texels = Vec::new();
    file.take(expected + 1).read_to_end(&mut texels).map_err(|e| failed(&e))?;
    match texels.len() as u64 {
        found if found == expected => Ok(texels),
        found if found > expected => Err(wrong_length(path, encoding, size, expected, "more")),
        found => Err(wrong_length(path, encoding, size, expected, &found.to_string())),
    }
}

fn wrong_length(path: &Path, encoding: Encoding, [w, h]: [u32; 2], expected: u64, found: &str) -> Failure {
    let name = encoding.name();
    Failure::file(
        path,
        format_args!(
            "expected {expected} bytes for {w}x{h} {name} texels, found {found}; check --size and --encoding"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_two_positive_integers() {
        assert_eq!(parse_size("512x384"), Ok([512, 384]));
        assert_eq!(parse_size("1X1"), Ok([1, 1]));
        for wrong in ["", "512", "0x4", "4x0", "-1x4", "4x4x4", "4 x 4", "99999999999x1"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }
}
