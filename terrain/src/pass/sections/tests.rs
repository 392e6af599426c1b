use super::*;
use crate::compute::CpuCompute;

const METRE: i32 = 256;

fn eye(x: i64, z: i64, y: i32) -> Eye {
    Eye { at: View { x_256: x * 256, z_256: z * 256 }, y_256: y * METRE }
}

fn flat(count: usize) -> Vec<Section> {
    vec![Section { low_256: 0, high_256: 10 * METRE, finest: 0 }; count]
}

#[test]
fn levels_by_screen_size_are_those_of_floats_and_edges_take_the_coarser() {
    let layout = Layout { sections: [9, 7], quads: 31, spacing_256: 300 };
    let rule = ScreenRule { near_256: 40 * 256, vertices_log2: 5 };
    let mut sections = flat(63);
    sections[11].finest = 3;
    let views = [eye(100, 100, 50), eye(-900, 40, 5), eye(0, 0, -40), eye(1 << 20, 0, 0)];
    let mut out = Vec::new();
    let ask = |sections: &[Section], out: &mut Vec<Levels>| {
        by_screen_size(&CpuCompute::new(), &layout, sections, &views, &rule, &mut Scratch::default(), out)
    };
    ask(&sections, &mut out).unwrap();
    assert_eq!(out.len(), 4 * 63);
    let mut between = 0;
    for (i, found) in out.iter().enumerate() {
        let (view, n) = (views[i / 63], i % 63);
        let side = 31.0 * 300.0;
        let along =
            |n: usize, at: i64| (n as f64 * side - at as f64).max(at as f64 - (n + 1) as f64 * side).max(0.0);
        let dy = (0.0 - f64::from(view.y_256)).max(f64::from(view.y_256) - 2560.0).max(0.0);
        let (dx, dz) = (along(n % 9, view.at.x_256), along(n / 9, view.at.z_256));
        let d = (dx * dx + dz * dz + dy * dy).sqrt();
        let level = libm::log2(d.max(1.0) / 10240.0);
        let expected = level.max(f64::from(sections[n].finest)).clamp(0.0, 4.0) * 128.0;
        // Both logarithms are rounded down.
        assert!((f64::from(found.own) - expected).abs() <= 1.0, "{i}: {found:?} {expected}");
        between += usize::from(found.own % 128 != 0);
        let (x, z) = (n % 9, n / 9);
        let own = |x: usize, z: usize| out[i / 63 * 63 + z * 9 + x].own;
        let west = if x > 0 { own(x - 1, z) } else { 0 };
        let east = if x < 8 { own(x + 1, z) } else { 0 };
        let north = if z > 0 { own(x, z - 1) } else { 0 };
        let south = if z < 6 { own(x, z + 1) } else { 0 };
        assert_eq!(found.edges, [west, east, north, south].map(|l| l.max(found.own)), "{i}");
    }
    assert!(between > 50 && out[11].own >= 3 << 7);
    sections[4].finest = 5;
    assert!(
        ask(&sections, &mut out).unwrap_err().to_string().contains("section 4: expected heights in order")
    );
}

#[test]
fn a_level_is_drawn_when_its_error_is_at_most_a_pixel() {
    let layout = Layout { sections: [5, 4], quads: 32, spacing_256: 128 };
    let sections = flat(20);
    let errors: Vec<u32> = (0..20).flat_map(|n| [0, n, 3 * n + 1, 9 * n + 2]).collect();
    let quantum = QuantumLog2::try_from(7).unwrap();
    let rule = ErrorRule { levels: 4, scale_256: 935 * 256, quantum };
    let views = [eye(10, 10, 12), eye(-60, 200, 0), eye(900, 20, 400)];
    let mut out = Vec::new();
    by_projected_error(
        &CpuCompute::new(),
        &layout,
        &sections,
        &errors,
        &views,
        &rule,
        &mut Scratch::default(),
        &mut out,
    )
    .unwrap();
    let mut levels = [0; 4];
    for (i, found) in out.iter().enumerate() {
        let (view, n) = (views[i / 20], i % 20);
        let side = 16.0;
        let metres = |v: i64| v as f64 / 256.0;
        let along = |n: usize, at: f64| (n as f64 * side - at).max(at - (n + 1) as f64 * side).max(0.0);
        let y = f64::from(view.y_256) / 256.0;
        let dy = (-y).max(y - 10.0).max(0.0);
        let (dx, dz) = (along(n % 5, metres(view.at.x_256)), along(n / 5, metres(view.at.z_256)));
        let d = (dx * dx + dz * dz + dy * dy).sqrt();
        let fits = |l: usize| f64::from(errors[n * 4 + l]) / 128.0 * 935.0 <= d;
        let expected = (0..4).rev().find(|&l| fits(l)).unwrap_or(0);
        assert_eq!(usize::from(found.level), expected, "{i} {d}");
        levels[expected] += 1;
        let (x, z) = (n % 5, n / 5);
        assert_eq!(found.skirts, [x > 0, x < 4, z > 0, z < 3]);
        // Half a metre a quad is 64 quanta.
        assert_eq!(found.skirt_depth, errors[n * 4 + 3] + 64);
    }
    assert!(levels.iter().all(|&l| l > 0), "{levels:?}");
}

#[test]
fn sections_that_share_an_edge_stand_on_it_alike() {
    // Two beside each other and two below, over one grid of samples.
    let layout = Layout { sections: [2, 2], quads: 15, spacing_256: 256 };
    let sample = |x: u32, z: u32| (x * x * 31 + z * 977 + x * z * 7) as i32 % 5000 - 2500;
    let samples: Vec<i32> = (0..4)
        .flat_map(|s| (0..256).map(move |i| sample(s % 2 * 15 + i % 16, s / 2 * 15 + i / 16)))
        .collect();
    let own = [37, 300, 129, 384];
    let with = |a: usize, b: usize| own[a].max(own[b]);
    let levels = [
        Levels { own: own[0], edges: [own[0], with(0, 1), own[0], with(0, 2)] },
        Levels { own: own[1], edges: [with(0, 1), own[1], own[1], with(1, 3)] },
        Levels { own: own[2], edges: [own[2], with(2, 3), with(0, 2), own[2]] },
        Levels { own: own[3], edges: [with(2, 3), own[3], with(1, 3), own[3]] },
    ];
    let mut out = Vec::new();
    surface(&CpuCompute::new(), &layout, 4, &levels, &samples, &mut Scratch::default(), &mut out).unwrap();
    let at = |s: usize, i: usize, j: usize| out[s * 256 + j * 16 + i];
    let mut bends = 0;
    for n in 0..16 {
        let (a, b) = (at(0, 15, n), at(1, 0, n));
        assert_eq!((a[0], b[0]), (15 << 16, 0));
        assert_eq!(a[1..], b[1..], "{n}");
        assert_eq!(at(2, 15, n)[1..], at(3, 0, n)[1..], "{n}");
        assert_eq!((at(0, n, 15)[0], at(0, n, 15)[2]), (at(2, n, 0)[0], at(2, n, 0)[2]), "{n}");
        assert_eq!((at(1, n, 15)[0], at(1, n, 15)[2]), (at(3, n, 0)[0], at(3, n, 0)[2]), "{n}");
        bends += usize::from(a[1] % 65536 != 0);
    }
    assert!(bends > 4, "edges do morph");
    // Corners stand still.
    for (s, (i, j)) in (0..4).flat_map(|s| [(0, 0), (15, 0), (0, 15), (15, 15)].map(|c| (s, c))) {
        let h = samples[s * 256 + j * 16 + i] * 128;
        assert_eq!(at(s, i, j), [(i as u32) << 16, (j as u32) << 16, h as u32]);
    }
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let good = Layout { sections: [2, 2], quads: 15, spacing_256: 256 };
    let rule = ScreenRule { near_256: 256, vertices_log2: 4 };
    let ask = |layout: Layout, sections: usize, views: &[Eye], rule: ScreenRule| {
        let (cpu, mut scratch, mut out) = (CpuCompute::new(), Scratch::default(), Vec::new());
        by_screen_size(&cpu, &layout, &flat(sections), views, &rule, &mut scratch, &mut out)
            .map_err(|e| e.to_string())
    };
    let views = [eye(0, 0, 0)];
    assert_eq!(ask(good, 4, &views, rule), Ok(()));
    let said = |found: Result<(), String>, expected: &str| {
        let why = found.unwrap_err();
        assert!(why.starts_with("sections: ") && why.contains(expected), "{why}");
    };
    said(ask(good, 3, &views, rule), "expected 4 sections, found 3");
    said(ask(good, 4, &[], rule), "found 0 views");
    said(ask(good, 4, &views, ScreenRule { vertices_log2: 3, ..rule }), "found 15 quads and n = 3");
    said(ask(good, 4, &views, ScreenRule { near_256: 0, ..rule }), "found 0");
    said(ask(Layout { sections: [9000, 2], ..good }, 4, &views, rule), "found 9000x2 sections of 15");
    said(ask(Layout { spacing_256: 0, ..good }, 4, &views, rule), "a spacing of up to 65536/256 m, found 0");
    let quantum = QuantumLog2::DEFAULT;
    let by_error = |levels: u32, errors: &[u32]| {
        let rule = ErrorRule { levels, scale_256: 9, quantum };
        let layout = Layout { quads: 4, ..good };
        let (cpu, mut scratch, mut out) = (CpuCompute::new(), Scratch::default(), Vec::new());
        by_projected_error(&cpu, &layout, &flat(4), errors, &views, &rule, &mut scratch, &mut out)
            .map_err(|e| e.to_string())
    };
    assert_eq!(by_error(3, &[0; 12]), Ok(()));
    said(by_error(4, &[0; 16]), "levels that divide 4 quads, found 4");
    said(by_error(3, &[0; 11]), "for each of 4 chunks, found 11");
    said(by_error(3, &[1 << 25; 12]), "less than 2^25 quanta");
    let levels = [Levels { own: 0, edges: [0, 0, 0, 385] }; 4];
    let mut out = Vec::new();
    let found = surface(&CpuCompute::new(), &good, 4, &levels, &[0; 1024], &mut Scratch::default(), &mut out);
    said(found.map_err(|e| e.to_string()), "levels up to 384/128");
}
