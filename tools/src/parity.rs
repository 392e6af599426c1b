//! `highground parity`: every compute pass, CPU against GPU, as a table.
//!
//! Owns the inputs on which the two are compared: edge values, ties, random texels, odd sizes, and more than one
//! strip. Equality is of bytes; nothing here knows a tolerance.

use crate::{Failure, device, stdout};
use highground_terrain::compute::{Compute, CpuCompute};
use highground_terrain::kernel::weight_mip::Encoding;
use serde::Serialize;

/// Arguments of `highground parity`.
#[derive(clap::Args)]
#[command(after_help = "Example: highground parity --json")]
pub(crate) struct Args {
    /// Seed of the random inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// One JSON object on stdout instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    device: String,
    seed: u64,
    #[serde(rename = "match")]
    matches: bool,
    passes: Vec<PassReport>,
}

#[derive(Serialize)]
struct PassReport {
    pass: &'static str,
    cases: usize,
    texels: u64,
    differing_bytes: u64,
    first_difference: Option<String>,
    #[serde(rename = "match")]
    matches: bool,
}

/// Compares one pass on two devices, with inputs from a seed.
type PassCheck = fn(&dyn Compute, &dyn Compute, u64) -> Result<PassReport, Failure>;

/// One entry a pass.
const PASSES: [PassCheck; 1] = [weight_mip];

pub(crate) fn run(args: Args) -> Result<(), Failure> {
    let gpu = device::gpu()?;
    let cpu = CpuCompute::new();
    let passes =
        PASSES.iter().map(|pass| pass(&cpu, &gpu, args.seed)).collect::<Result<Vec<_>, Failure>>()?;
    let matches = passes.iter().all(|p| p.matches);
    let report = Report { device: gpu.info().to_string(), seed: args.seed, matches, passes };
    if args.json {
        stdout::print_json(&report)?;
    } else {
        stdout::print(&table(&report))?;
    }
    match report.passes.iter().find(|p| !p.matches) {
        None => Ok(()),
        Some(p) => Err(Failure::Check(format!(
            "{} differs between the CPU and {}: {}",
            p.pass,
            report.device,
            p.first_difference.as_deref().unwrap_or("no place known")
        ))),
    }
}

fn table(report: &Report) -> String {
    let mut text = format!("device  {}\n", report.device);
    text += &format!("{:<12} {:>6} {:>12} {:>16}  result\n", "pass", "cases", "texels", "differing bytes");
    for p in &report.passes {
        let result = if p.matches { "equal" } else { "DIFFERENT" };
        text +=
            &format!("{:<12} {:>6} {:>12} {:>16}  {result}\n", p.pass, p.cases, p.texels, p.differing_bytes);
    }
    text
}

fn weight_mip(cpu: &dyn Compute, gpu: &dyn Compute, seed: u64) -> Result<PassReport, Failure> {
    let mut report = PassReport {
        pass: "weight-mip",
        cases: 0,
        texels: 0,
        differing_bytes: 0,
        first_difference: None,
        matches: true,
    };
    for case in weight_mip_cases(seed) {
        let run = |compute: &dyn Compute| {
            compute.weight_mip(case.encoding, case.size, &case.texels).map_err(Failure::input)
        };
        let (expected, found) = (run(cpu)?, run(gpu)?);
        report.cases += 1;
        report.texels += u64::from(case.size[0]) * u64::from(case.size[1]);
        let differing = expected.iter().zip(&found).filter(|(a, b)| a != b).count()
            + expected.len().abs_diff(found.len());
        report.differing_bytes += differing as u64;
        if differing > 0 && report.first_difference.is_none() {
            report.matches = false;
            let at = expected.iter().zip(&found).position(|(a, b)| a != b);
            let at = at.unwrap_or(expected.len().min(found.len()));
            report.first_difference = Some(format!("{}, byte {at}", case.name()));
        }
    }
    Ok(report)
}

/// An input on which devices are compared.
#[derive(Clone, Debug)]
pub struct WeightMipCase {
    /// What it provokes.
    pub what: &'static str,
    /// How its texels are stored.
    pub encoding: Encoding,
    /// Width and height in texels.
    pub size: [u32; 2],
    /// Stored texels, row-major.
    pub texels: Vec<u8>,
}

impl WeightMipCase {
    /// One line for messages.
    pub fn name(&self) -> String {
        format!("{} {} {}x{}", self.encoding.name(), self.what, self.size[0], self.size[1])
    }
}

/// Sizes around one texel, around a word, around a group of invocations, and beyond one strip of 16 MiB.
const SIZES: [[u32; 2]; 20] = [
    [1, 1],
    [1, 2],
    [2, 1],
    [1, 9],
    [9, 1],
    [2, 2],
    [3, 3],
    [5, 3],
    [4, 6],
    [7, 8],
    [1, 1031],
    [1031, 1],
    [31, 33],
    [127, 129],
    [128, 128],
    [255, 257],
    [256, 512],
    [513, 31],
    [1021, 2],
    [4099, 2101],
];

/// The inputs on which CPU and GPU have to give the same bytes.
pub fn weight_mip_cases(seed: u64) -> Vec<WeightMipCase> {
    let mut random = Random(seed);
    let mut cases = Vec::new();
    for encoding in Encoding::ALL {
        cases.push(edge_case(encoding));
        for size in SIZES {
            let n = size[0] as usize * size[1] as usize;
            let mut bytes = vec![0; n * encoding.texel_bytes()];
            for byte in &mut bytes {
                *byte = random.next() as u8;
            }
            cases.push(WeightMipCase { what: "random bytes", encoding, size, texels: bytes });
            // Few layers and few ratios: contributions add up and tie.
            let ratios: &[u8] = match encoding {
                Encoding::Hd => &[0, 1, 64, 127, 128, 191, 254, 255],
                Encoding::Normal => &[0, 1, 2, 3, 4, 5, 6, 7],
            };
            let mut texels = Vec::with_capacity(bytes_of(encoding, n));
            for _ in 0..n {
                let bits = random.next();
                let texel = [(bits % 3) as u8, (bits / 3 % 3) as u8, ratios[(bits / 9 % 8) as usize]];
                push(encoding, &mut texels, texel);
            }
            cases.push(WeightMipCase { what: "ties", encoding, size, texels });
        }
    }
    cases
}

/// Every edge texel beside every edge texel, over two more of them.
fn edge_case(encoding: Encoding) -> WeightMipCase {
    let (ids, ratios): (&[u8], &[u8]) = match encoding {
        Encoding::Hd => (&[0, 1, 31, 32, 255], &[0, 1, 127, 128, 254, 255]),
        Encoding::Normal => (&[0, 1, 30, 31], &[0, 1, 2, 3, 4, 5, 6, 7]),
    };
    let mut edges = Vec::new();
    for &id1 in ids {
        for &id2 in ids {
            edges.extend(ratios.iter().map(|&ratio| [id1, id2, ratio]));
        }
    }
    let n = edges.len();
    let mut texels = Vec::with_capacity(bytes_of(encoding, 4 * n * n));
    for z in 0..2 * n {
        for x in 0..n {
            // On even rows the pair (x, z / 2), below it a pair that runs through the others.
            let partner = if z % 2 == 0 { z / 2 } else { (z / 2 + 7 * x + 3) % n };
            push(encoding, &mut texels, edges[x]);
            push(encoding, &mut texels, edges[partner]);
        }
    }
    WeightMipCase { what: "edge values", encoding, size: [2 * n as u32; 2], texels }
}

fn bytes_of(encoding: Encoding, texels: usize) -> usize {
    texels * encoding.texel_bytes()
}

fn push(encoding: Encoding, out: &mut Vec<u8>, [id1, id2, ratio]: [u8; 3]) {
    match encoding {
        Encoding::Hd => out.extend([id1, id2, ratio]),
        Encoding::Normal => {
            let bits = u16::from(id1) | u16::from(id2) << 5 | u16::from(ratio) << 10;
            out.extend(bits.to_le_bytes());
        }
    }
}

/// SplitMix64 (Steele, Lea and Flood, 2014): the same numbers everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use highground_terrain::compute::{ComputeError, DeviceInfo};

    /// A device that gets one bit of one pass wrong.
    struct Wrong(CpuCompute);

    impl Compute for Wrong {
        fn info(&self) -> &DeviceInfo {
            self.0.info()
        }
        fn weight_mip(
            &self,
            encoding: Encoding,
            size: [u32; 2],
            texels: &[u8],
        ) -> Result<Vec<u8>, ComputeError> {
            let mut out = self.0.weight_mip(encoding, size, texels)?;
            if size == [31, 33] && encoding == Encoding::Normal {
                out[5] ^= 1;
            }
            Ok(out)
        }
    }

    #[test]
    fn one_wrong_bit_is_found_and_named() {
        let cpu = CpuCompute::new();
        let equal = weight_mip(&cpu, &CpuCompute::new(), 3).unwrap();
        assert!(equal.matches && equal.differing_bytes == 0 && equal.cases > 40);
        let wrong = weight_mip(&cpu, &Wrong(CpuCompute::new()), 3).unwrap();
        assert!(!wrong.matches);
        assert_eq!(wrong.differing_bytes, 2);
        assert_eq!(wrong.first_difference.as_deref(), Some("normal random bytes 31x33, byte 5"));
    }

    #[test]
    fn cases_depend_on_the_seed_alone() {
        let bytes = |seed| -> Vec<u8> {
            weight_mip_cases(seed).into_iter().filter(|c| c.size[0] < 600).flat_map(|c| c.texels).collect()
        };
        assert!(bytes(5) == bytes(5));
        assert!(bytes(5) != bytes(6));
    }
}
