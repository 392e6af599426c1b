//! Every fuzz target on stable: each file of its corpus, then a few thousand damaged ones. Alone in its file, because it
//! counts the memory of the whole process.
//!
//! `HIGHGROUND_FUZZ_SEED` repeats a run, `HIGHGROUND_FUZZ_ROUNDS` makes it longer, and `HIGHGROUND_WRITE_SEEDS=1` writes
//! the seeds that are made here rather than by `fuzz/seeds.py`.

#[path = "fuzz_seeds/mod.rs"]
mod fuzz_seeds;
#[path = "../../fuzz/targets.rs"]
#[allow(unreachable_pub, reason = "a library where it is fuzzed")]
mod targets;

use highground_tests::counting_allocator::{CountingAllocator, peak_bytes};
use highground_tests::random::Random;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use targets::{TARGETS, Target};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Memory is counted over all threads, so one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// What any target may hold at once beside what its input can hold packed.
const MEMORY_BYTES: u64 = 64 << 20;

/// Bytes of memory for a byte of input. A megabyte that deflate makes of a kilobyte is no runaway, nor is its raster in
/// double precision beside the one of quanta.
const MEMORY_RATIO: u64 = 16 * 1040;

/// Inputs that damage makes longer are cut to this.
const MAX_INPUT_BYTES: usize = 40 << 10;

fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = corpus_folder(target);
    let mut files: Vec<(String, Vec<u8>)> = fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| {
            let entry = entry.unwrap();
            (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
        })
        .collect();
    files.sort();
    files
}

fn corpus_folder(target: &str) -> PathBuf {
    highground_tests::root().join("fuzz/corpus").join(target)
}

/// Runs a target; it may take memory in proportion to its input only.
fn run((name, body): Target, input: &[u8], what: &dyn std::fmt::Display) -> bool {
    let result = std::panic::catch_unwind(|| peak_bytes(|| body(input)));
    let (accepted, peak) = match result {
        Ok(done) => done,
        Err(_) => panic!("{name}: {what}: panicked (see above) on {}", input.escape_ascii()),
    };
    let most = MEMORY_BYTES + MEMORY_RATIO * input.len() as u64;
    assert!(peak <= most, "{name}: {what}: took {peak} bytes for {}: {}", input.len(), input.escape_ascii());
    accepted
}

#[test]
fn every_file_of_the_corpora_is_answered_and_every_seed_accepted() {
    let _alone = ALONE.lock();
    let (mut bytes, mut refused) = (0, Vec::new());
    for target in TARGETS {
        let files = corpus(target.0);
        assert!((3..=64).contains(&files.len()), "{}: {} files", target.0, files.len());
        let mut accepted = 0;
        for (name, data) in &files {
            bytes += data.len();
            let taken = run(target, data, name);
            accepted += usize::from(taken);
            // A seed that is refused tells a fuzzer nothing; names say which are meant to be.
            if !taken && name.starts_with("seed-") {
                refused.push(format!("{}/{name}", target.0));
            }
        }
        println!("{}: {} files, {accepted} accepted", target.0, files.len());
    }
    assert!(refused.is_empty(), "refused: {refused:?}");
    assert!(bytes < 300 << 10, "the corpora have {bytes} bytes");
}

#[test]
fn damaged_files_are_answered_without_panic_and_without_much_memory() {
    let _alone = ALONE.lock();
    let number = |name: &str| std::env::var(name).ok().map(|v| v.parse::<u64>().expect("a number"));
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let seed = number("HIGHGROUND_FUZZ_SEED").unwrap_or(now.as_nanos() as u64);
    let rounds = number("HIGHGROUND_FUZZ_ROUNDS").unwrap_or(500);
    println!("HIGHGROUND_FUZZ_SEED={seed} HIGHGROUND_FUZZ_ROUNDS={rounds}");
    for (i, target) in (0u64..).zip(TARGETS) {
        let files = corpus(target.0);
        let mut random = Random(seed ^ i.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut accepted = 0;
        for round in 0..rounds {
            let input = damaged(&files, &mut random);
            let what = format!("seed {seed}, round {round}");
            accepted += u64::from(run(target, &input, &what));
        }
        println!("{}: {accepted} of {rounds} accepted", target.0);
        assert!(accepted < rounds, "{}: what is damaged is never refused", target.0);
    }
}

#[test]
fn the_allocator_sees_what_is_held_at_once() {
    let _alone = ALONE.lock();
    let held = |n: usize| peak_bytes(|| std::hint::black_box(vec![1u8; n]).len()).1;
    assert!((1 << 20..1 << 22).contains(&held(1 << 20)));
    let twice =
        peak_bytes(|| (0..8).map(|_| std::hint::black_box(vec![1u8; 1 << 20]).len()).sum::<usize>()).1;
    assert!(twice < 3 << 20, "one after the other: {twice}");
    let grown = peak_bytes(|| {
        let mut v = Vec::new();
        (0..1u32 << 20).for_each(|i| v.push(i));
        std::hint::black_box(v).len()
    });
    assert!(grown.1 >= 4 << 20, "{}", grown.1);
}

#[test]
fn seeds_of_this_version_are_accepted() {
    let _alone = ALONE.lock();
    let write = std::env::var_os("HIGHGROUND_WRITE_SEEDS").is_some();
    for (target, name, bytes) in fuzz_seeds::all() {
        if write {
            fs::create_dir_all(corpus_folder(target)).unwrap();
            fs::write(corpus_folder(target).join(&name), &bytes).unwrap();
        }
        let target = *TARGETS.iter().find(|t| t.0 == target).expect("a target");
        let accepted = run(target, &bytes, &name);
        assert!(accepted || !name.starts_with("seed-"), "{}/{name} is refused", target.0);
    }
}

/// Numbers that a length, an offset or a size should not be.
const EXTREMES: [u64; 12] = [
    0,
    1,
    0x7F,
    0xFF,
    0x7FFF,
    0xFFFF,
    0x8000_0000,
    0x7FFF_FFFF,
    0xFFFF_FFFF,
    0x0001_0001_0001_0001,
    i64::MAX as u64,
    u64::MAX,
];

/// A file of the corpus with one to four things done to it.
fn damaged(files: &[(String, Vec<u8>)], random: &mut Random) -> Vec<u8> {
    let mut bytes = files[random.index(files.len())].1.clone();
    for _ in 0..=random.index(4) {
        let at = random.index(bytes.len());
        match random.index(8) {
            0 | 1 if !bytes.is_empty() => bytes[at] ^= 1 << random.index(8),
            2 if !bytes.is_empty() => bytes[at] = random.next() as u8,
            3 => bytes.truncate(at),
            4 | 5 => {
                let (width, value) = (1 << random.index(4), EXTREMES[random.index(EXTREMES.len())]);
                let value = if random.index(2) == 0 { value.to_le_bytes() } else { value.to_be_bytes() };
                let part = if random.index(2) == 0 { &value[..width] } else { &value[8 - width..] };
                for (byte, v) in bytes.iter_mut().skip(at).zip(part) {
                    *byte = *v;
                }
            }
            6 => {
                // The end of another file, or of itself: a part there twice, or left out.
                let other = &files[random.index(files.len())].1;
                let from = random.index(other.len() + 1);
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
            _ => {
                let part: Vec<u8> = bytes[at..].iter().copied().take(1 + random.index(16)).collect();
                let to = random.index(bytes.len() + 1);
                bytes.splice(to..to, part);
            }
        }
    }
    bytes.truncate(MAX_INPUT_BYTES);
    bytes
}
