use super::*;

#[test]
fn the_article_s_example_of_convergence() {
    // Along one axis at factors 0, 1/2 and 1: 1 and 3 come to coincide with 0 and 2.
    let at = |k: u32| [0, 1, 2, 3, 4].map(|g| f64::from(converge(g, k)) / f64::from(FINE));
    assert_eq!(at(0), [0.0, 1.0, 2.0, 3.0, 4.0]);
    assert_eq!(at(FINE / 2), [0.0, 0.5, 2.0, 2.5, 4.0]);
    assert_eq!(at(FINE), [0.0, 0.0, 2.0, 2.0, 4.0]);
    // The article's formula, g − 2 k frac(g / 2), in 2⁻⁷.
    for (g, k) in (0..70).flat_map(|g| (0..=FINE).map(move |k| (g, k))) {
        let (half, k_f) = (f64::from(g) * 0.5, f64::from(k) / f64::from(FINE));
        let article = f64::from(g) - 2.0 * k_f * (half - half.floor());
        assert_eq!(f64::from(converge(g, k)), article * f64::from(FINE), "{g} {k}");
    }
}

#[test]
fn the_factor_saturates_at_both_ends() {
    // MorphK = clamp((distance - start) / width, 0, 1), rounded down to 2⁻⁷.
    let band = [1000, 300];
    for d in 0..2000 {
        let article = ((f64::from(d) - 1000.0) / 300.0).clamp(0.0, 1.0);
        assert_eq!(morph(d, band), (article * 128.0 + 1e-9).floor() as u32, "{d}");
    }
    assert_eq!(morph(u32::MAX, [0, u32::MAX]), FINE);
    assert_eq!(morph(u32::MAX - 1, [0, u32::MAX]), FINE - 1);
    assert_eq!(morph(7, [7, 1]), 0);
    assert_eq!(morph(8, [7, 1]), FINE);
}

/// A node at a level and place of a plane that rises by `slope` quanta a sample.
fn plane(level: u32, at: [u32; 2], slope: [i32; 2]) -> Vec<u32> {
    (0..PATCH_SAMPLES)
        .map(|i| {
            let place = |own: usize, n: u32| ((n * 32 + own as u32) << level) as i32;
            (slope[0] * place(i % SIDE, at[0]) + slope[1] * place(i / SIDE, at[1])) as u32
        })
        .collect()
}

#[test]
fn on_a_plane_every_vertex_lies_on_it_however_it_morphs() {
    for diagonal in [Diagonal::Main, Diagonal::Anti, Diagonal::Checkerboard] {
        for level in [0, 1, 5] {
            let frame = Frame { spacing_256: 300, extent: [3, 5, 5001, 4003], diagonal };
            let samples = plane(level, [2, 1], [-17, 23]);
            for view in [[0, 0], [-90_000, 400_000], [1_000_000, 1_000_000]] {
                let node = Node {
                    frame: &frame,
                    level,
                    at: [2, 1],
                    view,
                    band: [50_000, 900_000],
                    samples: &samples,
                };
                for (gx, gz) in (0..33).flat_map(|x| (0..33).map(move |z| (x, z))) {
                    let v = node.vertex(gx, gz);
                    assert_eq!(v.height, -17 * v.x as i32 + 23 * v.z as i32, "{level} {gx},{gz} {v:?}");
                }
            }
        }
    }
}

/// The height by f64 barycentric coordinates of the grid's triangles, a step of the grid apart.
fn by_hand(
    samples: &dyn Fn(u32, u32) -> f64,
    anti: &dyn Fn(u32, u32) -> bool,
    x: f64,
    z: f64,
    most: [u32; 2],
) -> f64 {
    let cell = |v: f64, most: u32| (v.floor() as u32).min(most);
    let (cx, cz) = (cell(x, most[0]), cell(z, most[1]));
    let (fx, fz) = (x - f64::from(cx), z - f64::from(cz));
    let q = |dx, dz| samples(cx + dx, cz + dz);
    let (q00, q10, q01, q11) = (q(0, 0), q(1, 0), q(0, 1), q(1, 1));
    if anti(cx, cz) {
        if fx + fz <= 1.0 {
            q00 + (q10 - q00) * fx + (q01 - q00) * fz
        } else {
            q11 + (q01 - q11) * (1.0 - fx) + (q10 - q11) * (1.0 - fz)
        }
    } else if fx >= fz {
        q00 + (q10 - q00) * fx + (q11 - q10) * fz
    } else {
        q00 + (q11 - q01) * fx + (q01 - q00) * fz
    }
}

#[test]
fn heights_are_those_of_the_level_s_own_triangles_and_blend_at_the_extent() {
    let mut state = 9_u64;
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as u32
    };
    let (mut blended, mut odd) = (0, 0);
    for round in 0..60 {
        let level = random() % 8;
        let at = [random() % 4, random() % 4];
        let side = 32 << level;
        let diagonal = [Diagonal::Main, Diagonal::Anti, Diagonal::Checkerboard][round % 3];
        // An extent that cuts the node, or not.
        let edge = |n: u32, r: u32| {
            if round % 2 == 0 { (0, 1 << 16) } else { (n * side + r % side, (n + 1) * side + r % 77) }
        };
        let ((x0, x1), (z0, z1)) = (edge(at[0], random()), edge(at[1], random()));
        let frame = Frame { spacing_256: 256, extent: [x0, z0, x1, z1], diagonal };
        let samples: Vec<u32> = (0..PATCH_SAMPLES)
            .map(|_| (random() % (1 << 25)).wrapping_sub(1 << 24).wrapping_add(1))
            .collect();
        let view = [i64::from(random() % 400_000), i64::from(random() % 400_000)];
        let node = Node { frame: &frame, level, at, view, band: [20_000, 300_000], samples: &samples };
        for _ in 0..200 {
            let (gx, gz) = (random() % 33, random() % 33);
            let v = node.vertex(gx, gz);
            // Where it stands, from the definition.
            let grid = [at[0] * 32 + gx, at[1] * 32 + gz];
            let own = [(grid[0] << level).clamp(x0, x1), (grid[1] << level).clamp(z0, z1)];
            let (dx, dz) =
                (f64::from(own[0]) * 256.0 - view[0] as f64, f64::from(own[1]) * 256.0 - view[1] as f64);
            let d = (dx * dx + dz * dz).sqrt().floor();
            let k = (((d - 20_000.0) / 300_000.0).clamp(0.0, 1.0) * 128.0).floor() / 128.0;
            let scale = f64::from(1_u32 << level);
            let to = |g: u32, low: u32, high: u32| {
                ((f64::from(g) - k * f64::from(g % 2)) * scale).clamp(f64::from(low), f64::from(high))
            };
            let (x, z) = (to(grid[0], x0, x1), to(grid[1], z0, z1));
            assert_eq!((f64::from(v.x), f64::from(v.z)), (x * 128.0, z * 128.0), "{round} {gx},{gz}");
            let (lx, lz) = (x / scale - f64::from(at[0] * 32), z / scale - f64::from(at[1] * 32));
            let read = |step: u32| {
                let samples = &samples;
                move |x: u32, z: u32| {
                    f64::from(samples[(z * step) as usize * SIDE + (x * step) as usize] as i32)
                }
            };
            let split = |level: u32, n: u32| {
                move |x: u32, z: u32| {
                    let (x, z) = (at[0] * n + x, at[1] * n + z);
                    match diagonal {
                        Diagonal::Main => false,
                        Diagonal::Anti => true,
                        Diagonal::Checkerboard => level > 0 || (x + z) % 2 == 0,
                    }
                }
            };
            let fine = by_hand(&read(1), &split(level, 32), lx, lz, [31, 31]);
            let coarse = by_hand(&read(2), &split(level + 1, 16), lx / 2.0, lz / 2.0, [15, 15]);
            let leaves = |g: u32, low: u32, high: u32| (g & !1) << level < low || g << level > high;
            let expected = if leaves(grid[0], x0, x1) || leaves(grid[1], z0, z1) {
                blended += 1;
                fine * (1.0 - k) + coarse * k
            } else {
                fine
            };
            odd += usize::from(k > 0.0 && k < 1.0);
            let error = (f64::from(v.height) - expected * 128.0).abs();
            assert!(error <= 0.5 + 1e-3, "round {round} at {gx},{gz}: {error} of {expected}");
        }
    }
    assert!(blended > 500 && odd > 3000, "{blended} {odd}");
}
