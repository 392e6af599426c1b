//! `highground parity`: every compute pass, CPU against GPU, as a table.
//!
//! Owns the comparison; the inputs of a pass stand in a file of its own: edge values, ties, random and real data, odd sizes.
//! Equality is of words; nothing here knows a tolerance.

mod atlas;
mod clipmap;
mod page;
mod scan;
mod scatter;
mod sections;
mod select;
mod vertex;
mod weight_mip;

use crate::{Failure, device, stdout};
use highground_terrain::compute::{Compute, ComputeError, CpuCompute};
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

/// What a case asks a device, as words that are compared.
type Question = Box<dyn Fn(&dyn Compute) -> Result<Vec<u32>, ComputeError> + Send + Sync>;

/// One question that is put to both devices.
pub struct Case {
    /// What it provokes, and the sizes, for messages.
    pub name: String,
    ask: Question,
}

impl Case {
    /// A case; `ask` gives every output that is compared. It owns or makes its inputs.
    pub fn new(
        name: impl Into<String>,
        ask: impl Fn(&dyn Compute) -> Result<Vec<u32>, ComputeError> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), ask: Box::new(ask) }
    }

    /// What a device answers.
    ///
    /// # Errors
    /// A device that fails, or an input that it refuses.
    pub fn ask(&self, compute: &dyn Compute) -> Result<Vec<u32>, ComputeError> {
        (self.ask)(compute)
    }
}

/// A pass and its cases.
#[derive(Clone, Copy)]
pub struct Pass {
    /// The stem of kernel, shader and pass.
    pub name: &'static str,
    /// All cases, the random ones from a seed.
    pub cases: fn(u64) -> Vec<Case>,
}

/// One entry a pass.
#[rustfmt::skip]
pub const PASSES: &[Pass] = &[
    Pass { name: "atlas", cases: atlas::cases },
    Pass { name: "clipmap", cases: clipmap::cases },
    Pass { name: "page", cases: page::cases },
    Pass { name: "scan", cases: scan::cases },
    Pass { name: "scatter", cases: scatter::cases },
    Pass { name: "sections", cases: sections::cases },
    Pass { name: "select", cases: select::cases },
    Pass { name: "vertex", cases: vertex::cases },
    Pass { name: "weight_mip", cases: weight_mip::cases },
];

/// Where two devices differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The case.
    pub case: String,
    /// The first word that differs.
    pub index: usize,
    /// That word; `None` where an answer has ended.
    pub expected: Option<u32>,
    /// The other device's.
    pub found: Option<u32>,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let word = |w: Option<u32>| w.map_or_else(|| "nothing".to_owned(), |w| format!("{w:#010x}"));
        let (expected, found) = (word(self.expected), word(self.found));
        write!(f, "{}: word {} is {expected} on the CPU and {found} on the other", self.case, self.index)
    }
}

/// How a pass compares on two devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Cases.
    pub cases: usize,
    /// Words that were compared.
    pub outputs: u64,
    /// Words that differ.
    pub differing: u64,
    /// The first of them.
    pub first: Option<Difference>,
}

/// Puts every case to both devices.
///
/// # Errors
/// A device that fails, or a case that one refuses.
pub fn compare(cases: &[Case], cpu: &dyn Compute, gpu: &dyn Compute) -> Result<Comparison, ComputeError> {
    let mut all = Comparison { cases: cases.len(), outputs: 0, differing: 0, first: None };
    for case in cases {
        let (expected, found) = (case.ask(cpu)?, case.ask(gpu)?);
        let n = expected.len().max(found.len());
        let differs = |&i: &usize| expected.get(i) != found.get(i);
        all.outputs += n as u64;
        all.differing += (0..n).filter(differs).count() as u64;
        if all.first.is_none() {
            all.first = (0..n).find(differs).map(|index| Difference {
                case: case.name.clone(),
                index,
                expected: expected.get(index).copied(),
                found: found.get(index).copied(),
            });
        }
    }
    Ok(all)
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
    outputs: u64,
    differing: u64,
    first_difference: Option<String>,
    #[serde(rename = "match")]
    matches: bool,
}

pub(crate) fn run(args: Args) -> Result<(), Failure> {
    let gpu = device::gpu()?;
    let cpu = CpuCompute::new();
    let mut passes = Vec::new();
    for pass in PASSES {
        let found = compare(&(pass.cases)(args.seed), &cpu, &gpu).map_err(Failure::input)?;
        passes.push(PassReport {
            pass: pass.name,
            cases: found.cases,
            outputs: found.outputs,
            differing: found.differing,
            first_difference: found.first.as_ref().map(Difference::to_string),
            matches: found.differing == 0,
        });
    }
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
            "{} differs between the CPU and {}: seed {}, {}",
            p.pass,
            report.device,
            report.seed,
            p.first_difference.as_deref().unwrap_or("no place known")
        ))),
    }
}

fn table(report: &Report) -> String {
    let mut text = format!("device  {}\n", report.device);
    text += &format!("{:<16} {:>6} {:>12} {:>10}  result\n", "pass", "cases", "words", "differing");
    for p in &report.passes {
        let result = if p.matches { "equal" } else { "DIFFERENT" };
        text += &format!("{:<16} {:>6} {:>12} {:>10}  {result}\n", p.pass, p.cases, p.outputs, p.differing);
    }
    text
}

/// The words of some bytes, the last filled up with zeros: for cases whose answers are bytes.
fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks(4).map(|c| c.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte))).collect()
}

/// SplitMix64 (Steele, Lea and Flood, 2014): the same numbers everywhere.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
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
    use highground_terrain::compute::{Batch, DeviceInfo, Outputs};

    /// A device that gets one bit of one answer wrong.
    struct Wrong(CpuCompute);

    impl Compute for Wrong {
        fn info(&self) -> &DeviceInfo {
            self.0.info()
        }
        fn run(&self, batch: &Batch<'_>, out: &mut Outputs) -> Result<(), ComputeError> {
            self.0.run(batch, out)?;
            let first = &batch.steps()[0];
            if batch.steps().len() == 1 && first.entry.name == "normal" && first.params[..2] == [31, 33] {
                let mut right = Outputs::new();
                self.0.run(batch, &mut right)?;
                out.clear();
                let words = out.next(right.words(0).len());
                words.copy_from_slice(right.words(0));
                words[5] ^= 1 << 8;
            }
            Ok(())
        }
    }

    #[test]
    fn one_wrong_bit_is_found_and_named() {
        let cpu = CpuCompute::new();
        let cases = weight_mip::cases(3);
        let equal = compare(&cases, &cpu, &CpuCompute::new()).unwrap();
        assert!(equal.first.is_none() && equal.differing == 0 && equal.cases > 40);
        let wrong = compare(&cases, &cpu, &Wrong(CpuCompute::new())).unwrap();
        // Random bytes and ties, whole and as strips that hold all of it.
        assert_eq!(wrong.differing, 4);
        let first = wrong.first.unwrap();
        assert_eq!((first.case.as_str(), first.index), ("normal random bytes 31x33", 5));
        assert_eq!(first.expected.unwrap() ^ first.found.unwrap(), 0x100);
        assert!(first.to_string().starts_with("normal random bytes 31x33: word 5 is 0x"), "{first}");
    }

    #[test]
    fn answers_of_different_lengths_differ() {
        let device = CpuCompute::new();
        let count = std::sync::atomic::AtomicUsize::new(2);
        let growing = Case::new("growing", move |_| {
            Ok(vec![7; count.fetch_add(1, std::sync::atomic::Ordering::Relaxed)])
        });
        let found = compare(&[growing], &device, &device).unwrap();
        assert_eq!((found.outputs, found.differing), (3, 1));
        let expected = Difference { case: "growing".into(), index: 2, expected: None, found: Some(7) };
        assert_eq!(found.first, Some(expected));
    }

    #[test]
    fn every_pass_compares_a_million_words() {
        let cpu = CpuCompute::new();
        for pass in PASSES {
            let outputs: usize = (pass.cases)(5).iter().map(|c| c.ask(&cpu).unwrap().len()).sum();
            assert!(outputs >= 1_000_000, "{}: {outputs}", pass.name);
        }
    }

    #[test]
    fn cases_depend_on_the_seed_alone() {
        let cpu = CpuCompute::new();
        for pass in PASSES {
            let answers =
                |seed| -> Vec<Vec<u32>> { (pass.cases)(seed).iter().map(|c| c.ask(&cpu).unwrap()).collect() };
            let five = answers(5);
            assert!(five == answers(5) && five != answers(6), "{}", pass.name);
        }
    }
}
