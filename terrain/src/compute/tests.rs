use super::batch::GROUPS_ACROSS;
use super::*;
use crate::kernel::scan::{SPAN, TOTALS};
use crate::kernel::weight_mip::{self, Encoding};
use crate::pass;
use std::sync::atomic::{AtomicU32, Ordering};

fn numbers(n: usize) -> Vec<u32> {
    (0..n as u32).map(|i| i.wrapping_mul(2_654_435_761) ^ i >> 7).collect()
}

/// Prefix sums of some words, and their total.
fn scanned(compute: &dyn Compute, words: &[u32]) -> Result<(Vec<u32>, u32), ComputeError> {
    let mut batch = Batch::new();
    let buffer = batch.words(words);
    let scan = pass::scan::scan(&mut batch, buffer, words.len());
    batch.read(scan.before);
    batch.read(scan.total);
    let mut out = Outputs::new();
    compute.run(&batch, &mut out)?;
    Ok((out.words(0).to_vec(), out.words(1)[0]))
}

#[test]
fn prefix_sums_are_those_of_a_plain_loop_at_every_length() {
    for n in [1, 2, SPAN - 1, SPAN, SPAN + 1, 5 * SPAN, SPAN * SPAN - 1, SPAN * SPAN, SPAN * SPAN + 7] {
        let words = numbers(n);
        let mut sum = 0_u32;
        let expected: Vec<u32> = words.iter().map(|&w| (sum, sum = sum.wrapping_add(w)).0).collect();
        assert_eq!(scanned(&CpuCompute::new(), &words).unwrap(), (expected, sum), "{n}");
    }
}

#[test]
fn a_wrong_length_is_refused_before_anything_is_allocated() {
    let size = [weight_mip::MAX_SIDE, weight_mip::MAX_SIDE];
    let refused = pass::weight_mip::mip(&CpuCompute::new(), Encoding::Hd, size, &[1, 2, 3]).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "source: expected 3298534883328 bytes for 1048576x1048576 hd texels, found 3"
    );
    let mut batch = Batch::new();
    let long = batch.zeroed(batch::MOST_WORDS + 1);
    let total = batch.target(1);
    batch.step(&TOTALS, 1, &[1], &[long], &[total]);
    let refused = CpuCompute::new().run(&batch, &mut Outputs::new()).unwrap_err();
    assert!(matches!(refused, ComputeError::TooLarge { pass: "scan", words: 33_554_433 }), "{refused}");
}

#[test]
fn devices_describe_themselves_in_one_line() {
    assert_eq!(CpuCompute::new().info().to_string(), "cpu");
    let info = DeviceInfo { kind: DeviceKind::SoftwareGpu, name: "a".into(), driver: "b 1".into() };
    assert_eq!(info.to_string(), "software gpu: a (b 1)");
}

#[test]
fn what_a_batch_reads_back_is_what_was_asked_for_and_its_inputs_stay() {
    let words = numbers(700);
    let bytes: Vec<u8> = (0..11).collect();
    let shared = Shared::new(numbers(3));
    let mut batch = Batch::new();
    let [a, b, c, d] = [batch.words(&words), batch.bytes(&bytes), batch.shared(&shared), batch.zeroed(4)];
    let totals = batch.target(2);
    batch.step(&TOTALS, 256, &[700], &[a], &[totals]);
    // Over its own input, which is the caller's.
    batch.step(&TOTALS, 1, &[2], &[totals], &[a]);
    for buffer in [b, c, d] {
        batch.read(buffer);
    }
    batch.read_range(a, 0..1);
    batch.read_range(totals, 1..2);
    let mut out = Outputs::new();
    let cpu = CpuCompute::new();
    for _ in 0..2 {
        cpu.run(&batch, &mut out).unwrap();
        assert_eq!(out.bytes(0), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0]);
        assert_eq!((out.words(1), out.words(2)), (shared.words(), &[0; 4][..]));
        assert_eq!(out.words(3)[0], words.iter().fold(0_u32, |s, &w| s.wrapping_add(w)));
        assert_eq!(out.words(4)[0], words[SPAN..].iter().fold(0_u32, |s, &w| s.wrapping_add(w)));
    }
    assert_eq!(words, numbers(700));
}

#[test]
#[should_panic(expected = "writes what it binds twice")]
fn a_step_cannot_write_what_it_reads() {
    let mut batch = Batch::new();
    let a = batch.zeroed(8);
    batch.step(&TOTALS, 1, &[8], &[a], &[a]);
}

#[test]
fn more_groups_than_fit_across_go_into_rows() {
    let mut batch = Batch::new();
    let (a, b) = (batch.zeroed(1), batch.target(1));
    for (groups, grid) in [
        (1, [1, 1]),
        (GROUPS_ACROSS, [GROUPS_ACROSS, 1]),
        (GROUPS_ACROSS + 1, [GROUPS_ACROSS, 2]),
        (262_144, [GROUPS_ACROSS, 8]),
    ] {
        batch.step(&TOTALS, u64::from(groups) * 128 - 5, &[1], &[a], &[b]);
        assert_eq!(batch.steps().last().unwrap().grid(), grid);
    }
}

/// A device that is lost at its n-th batch, after it has written nonsense.
struct Mortal {
    cpu: CpuCompute,
    left: AtomicU32,
}

impl Compute for Mortal {
    fn info(&self) -> &DeviceInfo {
        self.cpu.info()
    }

    fn run(&self, batch: &Batch<'_>, out: &mut Outputs) -> Result<(), ComputeError> {
        if self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_ok() {
            return self.cpu.run(batch, out);
        }
        out.clear();
        out.next(3).fill(0xDEAD);
        Err(ComputeError::DeviceLost { device: "a device".into(), pass: batch.kernel() })
    }
}

#[test]
fn a_device_that_is_lost_in_mid_run_changes_no_result_and_is_told_of_once() {
    static TOLD: AtomicU32 = AtomicU32::new(0);
    let size = [300, 200];
    let texels: Vec<u8> = numbers(45_000).iter().flat_map(|w| w.to_le_bytes()).collect();
    let strips = |compute: &dyn Compute| {
        pass::weight_mip::mip_in_strips(compute, Encoding::Hd, size, &texels, 10_000).unwrap()
    };
    let expected = strips(&CpuCompute::new());
    for lives in [0, 1, 9, 18, 1000] {
        let device = Mortal { cpu: CpuCompute::new(), left: AtomicU32::new(lives) };
        TOLD.store(0, Ordering::Relaxed);
        let both = Fallback::new(std::sync::Arc::new(device), |error| {
            assert!(error.to_string().contains("the device was lost while running weight_mip"), "{error}");
            TOLD.fetch_add(1, Ordering::Relaxed);
        });
        assert!(strips(&both) == expected, "{lives}");
        assert_eq!(TOLD.load(Ordering::Relaxed), u32::from(lives < 1000));
        assert_eq!(both.failure().is_some(), lives < 1000);
    }
    // What no device can do is not done twice.
    let device = Mortal { cpu: CpuCompute::new(), left: AtomicU32::new(9) };
    let both = Fallback::new(std::sync::Arc::new(device), |_| unreachable!());
    assert!(pass::weight_mip::mip(&both, Encoding::Hd, [2, 2], &[0; 5]).is_err());
}
