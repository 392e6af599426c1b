//! Every compute pass gives the same words on the CPU and on the GPU.

use highground_gpu::shader::{Module, compile};
use highground_gpu::{GpuCompute, GpuOptions};
use highground_terrain::compute::batch::Batch;
use highground_terrain::compute::{Compute, ComputeError, CpuCompute, DeviceKind, Outputs, Shared};
use highground_terrain::kernel::scan::TOTALS;
use highground_terrain::kernel::weight_mip::{Encoding, MAX_SIDE};
use highground_terrain::layers::WeightChain;
use highground_terrain::pass::weight_mip::{mip, mip_in_strips};
use highground_tests::random::seed;
use highground_tests::{gpu, root, test_name};
use highground_tools::parity::{PASSES, compare};
use std::time::Duration;

/// Poison in buffers that steps are to fill, so that nothing can hang on what was there before.
fn poisoned() -> GpuOptions {
    GpuOptions { poison: Some(0xA5A5_A5A5), ..GpuOptions::default() }
}

#[test]
fn every_pass_gives_the_same_words_on_cpu_and_gpu() {
    let Some(gpu) = gpu::require_with(test_name!(), poisoned()) else { return };
    assert_ne!(gpu.info().kind, DeviceKind::Cpu);
    let seed = seed("parity");
    for pass in PASSES {
        let found = compare(&(pass.cases)(seed), &CpuCompute::new(), &gpu).unwrap();
        let first = found.first.map(|d| d.to_string());
        assert_eq!(first, None, "{} on {}, seed {seed}", pass.name, gpu.info());
        println!("parity: {}: {} words in {} cases", pass.name, found.outputs, found.cases);
    }
}

/// Where the last number of a line is, and which it is: decimal, or hexadecimal after 0x.
fn last_number(line: &str) -> (usize, usize, u32) {
    let end = line.rfind(|c: char| c.is_ascii_hexdigit()).expect("a constant has a number") + 1;
    let start = line[..end].rfind(|c: char| !c.is_ascii_hexdigit() && c != 'x').map_or(0, |i| i + 1);
    let number = match line[start..end].strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => line[start..end].parse(),
    };
    (start, end, number.unwrap_or_else(|e| panic!("{line}: {e}")))
}

#[test]
fn any_changed_constant_of_any_shader_is_found() {
    if gpu::is_off(test_name!()) {
        return;
    }
    let (mut changed, cpu) = (0, CpuCompute::new());
    for pass in PASSES {
        let path = root().join(format!("gpu/shaders/{}.wgsl", pass.name));
        let own = std::fs::read_to_string(&path).unwrap();
        let text = compile::with_includes(&path, &own).unwrap();
        // How invocations are numbered beyond one row of groups is seen by the longest inputs alone: by those of scan.
        let common = |line: &str| pass.name != "scan" && line.starts_with("const GROUP");
        let cases = (pass.cases)(3);
        for line in text.lines().filter(|l| l.starts_with("const ") && !common(l)) {
            let (start, end, number) = last_number(line);
            // One more or one less: one of them may only make an array longer than it has to be.
            let found = [number.wrapping_add(1), number.wrapping_sub(1)].into_iter().any(|number| {
                let source = text.replacen(line, &format!("{}{number}{}", &line[..start], &line[end..]), 1);
                // Or it is no shader any more.
                let Ok(words) = compile::compile(&source, "changed") else { return false };
                let spirv: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
                let module = Module { name: pass.name, spirv: spirv.leak() };
                let gpu = GpuCompute::with_module(GpuOptions::default(), module).unwrap();
                cases.iter().any(|case| case.ask(&cpu) != case.ask(&gpu))
            });
            assert!(found, "{}: nothing comes of another {line}", pass.name);
            changed += 1;
        }
    }
    println!("parity: {changed} changed constants, each found");
    assert!(changed >= PASSES.len());
}

#[test]
fn the_articles_example_on_the_gpu() {
    let Some(gpu) = gpu::require(test_name!()) else { return };
    // Grass 3, soil 7, rock 5: 255 grass, 255 soil, 510 rock; 255 · 255 / 765 = 85.
    let quad = [3, 7, 64, 3, 7, 191, 5, 5, 0, 5, 5, 0];
    assert_eq!(mip(&gpu, Encoding::Hd, [2, 2], &quad).unwrap(), [5, 3, 85]);
    // No layer at all is layer 0; equal shares round their half up.
    assert_eq!(mip(&gpu, Encoding::Hd, [1, 1], &[40, 32, 9]).unwrap(), [0, 0, 0]);
    assert_eq!(mip(&gpu, Encoding::Hd, [1, 2], &[8, 8, 0, 2, 2, 0]).unwrap(), [2, 8, 128]);
}

#[test]
fn a_chain_has_the_same_digest_whoever_made_it() {
    let Some(gpu) = gpu::require(test_name!()) else { return };
    let texels: Vec<u8> =
        (0..3 * 517 * 301_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let chain = |compute: &dyn Compute| {
        WeightChain::build(compute, Encoding::Hd, [517, 301], &texels).unwrap().digest()
    };
    assert_eq!(chain(&CpuCompute::new()), chain(&gpu));
}

#[test]
fn the_gpu_refuses_what_the_cpu_refuses_in_the_same_words() {
    let Some(gpu) = gpu::require(test_name!()) else { return };
    let cpu = CpuCompute::new();
    let sizes = [[0, 1], [1, 0], [2, 2], [MAX_SIDE, MAX_SIDE], [MAX_SIDE + 1, 1], [u32::MAX, u32::MAX]];
    for size in sizes {
        let refused = mip(&gpu, Encoding::Hd, size, &[0; 11]).unwrap_err();
        assert_eq!(refused, mip(&cpu, Encoding::Hd, size, &[0; 11]).unwrap_err());
    }
    let mut batch = Batch::new();
    let long = batch.zeroed((128 << 20) / 4 + 1);
    let total = batch.target(1);
    batch.step(&TOTALS, 1, &[1], &[long], &[total]);
    let refused = gpu.run(&batch, &mut Outputs::new()).unwrap_err();
    assert_eq!(refused, cpu.run(&batch, &mut Outputs::new()).unwrap_err());
}

#[test]
fn the_longest_row_pair_goes_through_the_smallest_strip() {
    let Some(gpu) = gpu::require(test_name!()) else { return };
    let size = [MAX_SIDE, 3];
    let texels: Vec<u8> = (0..3 * 3 * MAX_SIDE).map(|i| (i % 31 * (i % 3 + 1)) as u8).collect();
    let expected = mip(&CpuCompute::new(), Encoding::Hd, size, &texels).unwrap();
    assert!(mip_in_strips(&gpu, Encoding::Hd, size, &texels, 0).unwrap() == expected);
}

#[test]
fn one_device_serves_several_threads_at_once() {
    let Some(gpu) = gpu::require(test_name!()) else { return };
    let cases = (PASSES[0].cases)(13);
    let cpu = CpuCompute::new();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for case in &cases[..8] {
                    assert_eq!(case.ask(&gpu), case.ask(&cpu));
                }
            });
        }
    });
}

/// The totals of the spans of some shared words.
fn totals(compute: &dyn Compute, shared: &Shared) -> Result<Vec<u32>, ComputeError> {
    let mut batch = Batch::new();
    let words = shared.words().len();
    let (from, to) = (batch.shared(shared), batch.target(words.div_ceil(512)));
    batch.step(&TOTALS, words as u64 / 4 + 1, &[words as u32], &[from], &[to]);
    batch.read(to);
    let mut out = Outputs::new();
    compute.run(&batch, &mut out)?;
    Ok(out.words(0).to_vec())
}

#[test]
fn buffers_are_used_again_and_what_is_kept_stays_within_its_budget() {
    let options = GpuOptions { pool_bytes: 1 << 20, shared_bytes: 100_000, ..poisoned() };
    let Some(gpu) = gpu::require_with(test_name!(), options) else { return };
    let all: Vec<Shared> =
        (0..9_u32).map(|n| Shared::new((0..5000).map(|i| i * n).collect::<Vec<_>>())).collect();
    let cpu = CpuCompute::new();
    for shared in &all {
        assert_eq!(totals(&gpu, shared), totals(&cpu, shared));
    }
    let first = gpu.pool_stats();
    // Five of 20,000 bytes fit.
    assert_eq!(gpu.shared_bytes(), 100_000);
    // From the last back, so that those that are there are met before they have to go; then in order, so that none is.
    for shared in all.iter().rev().chain(&all) {
        assert_eq!(totals(&gpu, shared), totals(&cpu, shared));
    }
    assert_eq!((gpu.pool_stats().made, gpu.shared_bytes()), (first.made, 100_000));
    // A batch that is longer than the budget gives its buffers back at its end.
    let words = vec![1; 2 << 20];
    let mut batch = Batch::new();
    let (from, to) = (batch.words(&words), batch.target(4096));
    batch.step(&TOTALS, 2 << 18, &[2 << 20], &[from], &[to]);
    batch.read(to);
    let mut out = Outputs::new();
    gpu.run(&batch, &mut out).unwrap();
    assert!(out.words(0).iter().all(|&w| w == 512));
    let stats = gpu.pool_stats();
    assert!(stats.dropped > 0 && stats.bytes <= 1 << 20, "{stats:?}");
}

#[test]
fn a_batch_that_takes_too_long_is_an_error_and_the_device_is_not_asked_again() {
    let options = GpuOptions { timeout: Duration::ZERO, ..GpuOptions::default() };
    let Some(gpu) = gpu::require_with(test_name!(), options) else { return };
    // Prefix sums of a long buffer over and over take longer than no time.
    let mut batch = Batch::new();
    let (from, to) = (batch.zeroed(1 << 22), batch.target(1 << 13));
    for _ in 0..20 {
        batch.step(&TOTALS, 1 << 20, &[1 << 22], &[from], &[to]);
    }
    let late = gpu.run(&batch, &mut Outputs::new()).unwrap_err();
    assert!(matches!(late, ComputeError::Timeout { pass: "scan", seconds: 0, .. }), "{late}");
    let lost = gpu.run(&batch, &mut Outputs::new()).unwrap_err();
    assert!(matches!(lost, ComputeError::DeviceLost { .. }), "{lost}");
}

#[test]
fn the_validation_layer_watches_when_asked() {
    let Some(gpu) = gpu::require(test_name!()) else { return };
    let asked = std::env::var_os("HIGHGROUND_VK_VALIDATION").is_some_and(|v| v == "1");
    assert_eq!(gpu.is_validating(), asked);
}
