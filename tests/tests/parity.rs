//! Every compute pass gives the same bytes on the CPU and on the GPU.

use highground_gpu::GpuOptions;
use highground_terrain::compute::{Compute, CpuCompute, DeviceKind};
use highground_terrain::kernel::weight_mip::{Encoding, MAX_SIDE};
use highground_terrain::layers::WeightChain;
use highground_tests::random::seed;
use highground_tests::{gpu, test_name};
use highground_tools::parity::weight_mip_cases;

fn assert_parity(gpu: &dyn Compute, seed: u64, most_texels: u32) {
    let cpu = CpuCompute::new();
    for case in weight_mip_cases(seed) {
        if case.size[0] * case.size[1] > most_texels {
            continue;
        }
        let expected = cpu.weight_mip(case.encoding, case.size, &case.texels).unwrap();
        let found = gpu.weight_mip(case.encoding, case.size, &case.texels).unwrap();
        if expected != found {
            let at = expected.iter().zip(&found).position(|(a, b)| a != b);
            panic!("{} on {}: byte {at:?} differs, seed {seed}", case.name(), gpu.info());
        }
    }
}

#[test]
fn weight_mips_are_the_same_bytes_on_cpu_and_gpu() {
    let Some(gpu) = gpu::require(test_name!()) else { return };
    assert_ne!(gpu.info().kind, DeviceKind::Cpu);
    assert_parity(&gpu, seed("parity"), u32::MAX);
}

#[test]
fn weight_mips_do_not_depend_on_where_strips_end() {
    // From two rows a strip to some hundreds: hundreds of strips for the larger maps.
    for strip_bytes in [0, 4096, 100_003] {
        let options = GpuOptions { strip_bytes };
        let Some(gpu) = gpu::require_with(test_name!(), options) else { return };
        assert_parity(&gpu, 7, 150_000);
    }
}

#[test]
fn the_articles_example_on_the_gpu() {
    let Some(gpu) = gpu::require(test_name!()) else { return };
    // Grass 3, soil 7, rock 5: 255 grass, 255 soil, 510 rock; 255 · 255 / 765 = 85.
    let quad = [3, 7, 64, 3, 7, 191, 5, 5, 0, 5, 5, 0];
    assert_eq!(gpu.weight_mip(Encoding::Hd, [2, 2], &quad).unwrap(), [5, 3, 85]);
    // No layer at all is layer 0; equal shares round their half up.
    assert_eq!(gpu.weight_mip(Encoding::Hd, [1, 1], &[40, 32, 9]).unwrap(), [0, 0, 0]);
    assert_eq!(gpu.weight_mip(Encoding::Hd, [1, 2], &[8, 8, 0, 2, 2, 0]).unwrap(), [2, 8, 128]);
}

#[test]
fn a_chain_has_the_same_digest_whoever_made_it() {
    let Some(gpu) = gpu::require(test_name!()) else { return };
    for case in weight_mip_cases(11).into_iter().filter(|c| c.size[0] <= 1031) {
        let chain = |compute: &dyn Compute| {
            WeightChain::build(compute, case.encoding, case.size, &case.texels).unwrap()
        };
        let (on_cpu, on_gpu) = (chain(&CpuCompute::new()), chain(&gpu));
        assert_eq!(on_cpu.digest(), on_gpu.digest(), "{}", case.name());
    }
}

#[test]
fn the_gpu_refuses_what_the_cpu_refuses_in_the_same_words() {
    let Some(gpu) = gpu::require(test_name!()) else { return };
    let cpu = CpuCompute::new();
    let sizes = [[0, 1], [1, 0], [2, 2], [MAX_SIDE, MAX_SIDE], [MAX_SIDE + 1, 1], [u32::MAX, u32::MAX]];
    for size in sizes {
        let refused = gpu.weight_mip(Encoding::Hd, size, &[0; 11]).unwrap_err();
        assert_eq!(refused, cpu.weight_mip(Encoding::Hd, size, &[0; 11]).unwrap_err());
    }
}

#[test]
fn the_longest_row_pair_goes_through_the_smallest_strip() {
    let Some(gpu) = gpu::require_with(test_name!(), GpuOptions { strip_bytes: 0 }) else { return };
    let size = [MAX_SIDE, 3];
    let texels: Vec<u8> = (0..3 * 3 * MAX_SIDE).map(|i| (i % 31 * (i % 3 + 1)) as u8).collect();
    let expected = CpuCompute::new().weight_mip(Encoding::Hd, size, &texels).unwrap();
    assert!(gpu.weight_mip(Encoding::Hd, size, &texels).unwrap() == expected);
}

#[test]
fn one_device_serves_several_threads_at_once() {
    let Some(gpu) = gpu::require(test_name!()) else { return };
    let cases: Vec<_> = weight_mip_cases(13).into_iter().filter(|c| c.size[0] <= 513).collect();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for case in &cases {
                    let expected = CpuCompute::new().weight_mip(case.encoding, case.size, &case.texels);
                    assert_eq!(gpu.weight_mip(case.encoding, case.size, &case.texels), expected);
                }
            });
        }
    });
}

#[test]
fn the_validation_layer_watches_when_asked() {
    let Some(gpu) = gpu::require(test_name!()) else { return };
    let asked = std::env::var_os("HIGHGROUND_VK_VALIDATION").is_some_and(|v| v == "1");
    assert_eq!(gpu.is_validating(), asked);
}
