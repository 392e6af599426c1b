//! Acceptance of rays and heights, in the reference's form: against exact rational arithmetic over every triangle whose
//! box over the ground meets the ray. Nothing of the product is used for an expectation: heights, holes, diagonals and
//! corners are this file's own.
//!
//! Scaled here with a seed that varies; `HIGHGROUND_SURFACE_RAYS=1000000` asks for the whole number of positive rays, a
//! tenth of it of negative ones and of half-cells, and the whole 64 × 64 patch. `HIGHGROUND_SEED` repeats a run.

#[path = "surface_rays/truth.rs"]
mod truth;

use highground_terrain::collide::{Faces, GroundRay, RayAnswer, RayHit, Sight};
use highground_terrain::config::{Diagonal, Placement};
use highground_tests::random::{Random, seed, setting};
use std::ops::ControlFlow;

use truth::*;

/// The whole number of positive rays, or a number for every day.
fn rays() -> u64 {
    setting("HIGHGROUND_SURFACE_RAYS", 40_000)
}

/// What was seen of one kind of ray.
#[derive(Default)]
struct Count {
    hits: u64,
    misses: u64,
    /// The greatest difference of a vertical hit's height from the nearest `f64` to the exact one.
    height_error: f64,
    t_error: f64,
}

impl Count {
    /// Casts a segment and holds it against the truth. Whether it hits.
    fn check(&mut self, truth: &Truth, a: [i64; 3], b: [i64; 3]) -> bool {
        let ray = GroundRay::between(metres(a), metres(b)).expect("a ray");
        let answer = truth.ground.first_hit(&ray, Faces::Both);
        let expected = truth.brute(a, b);
        match (expected.first(), answer) {
            (None, RayAnswer::Miss) => {
                self.misses += 1;
                false
            }
            (Some(e), RayAnswer::Hit(hit)) => {
                self.same(truth, e, &hit, a, b);
                self.hits += 1;
                if self.hits.is_multiple_of(8) {
                    all_the_same(truth, &ray, &expected);
                }
                true
            }
            (expected, answer) => panic!("{a:?} to {b:?}: expected {expected:?}, answered {answer:?}"),
        }
    }

    fn same(&mut self, truth: &Truth, e: &Hit, hit: &RayHit, a: [i64; 3], b: [i64; 3]) {
        let found = ([i64::from(hit.cell.x), i64::from(hit.cell.z)], hit.triangle.index());
        if a[0] == b[0] && a[2] == b[2] && a[1] == b[1] {
            // A point: it has no sides, and its own height.
            assert_eq!((found, hit.t), ((e.cell, e.triangle), 0.0), "{a:?}: {e:?} {hit:?}");
            return;
        }
        assert_eq!((found, hit.front), ((e.cell, e.triangle), e.front), "{a:?} to {b:?}: {e:?} {hit:?}");
        let length = metres(b).distance(metres(a));
        self.t_error = self.t_error.max((hit.t - nearest(e.num, e.den) * length).abs());
        if a[0] == b[0] && a[2] == b[2] {
            // y = a + (b − a) · num / den lattice units.
            let num = i128::from(a[1]) * e.den + i128::from(b[1] - a[1]) * e.num;
            let exact = nearest(num, e.den << 16);
            self.height_error = self.height_error.max((hit.point.y - exact).abs());
            let height = truth.ground.height(hit.point.x, hit.point.z).expect("a position").valid();
            assert_eq!(height, Some(hit.point.y), "a height query under {a:?}");
        }
        let [low, high] = [0, 2].map(|i| {
            let c = e.cell[i / 2];
            (c as f64 * S as f64 / 65536.0, (c + 1) as f64 * S as f64 / 65536.0)
        });
        let p = hit.point;
        assert!(p.x >= low.0 && p.x <= low.1 && p.z >= high.0 && p.z <= high.1, "{hit:?} lies in its cell");
    }

    fn say(&self, name: &str) {
        println!(
            "acceptance: {name}: {} hit, {} missed, all agree; greatest height error {} m, greatest error of t {:.1e} m",
            self.hits, self.misses, self.height_error, self.t_error
        );
        assert_eq!(self.height_error, 0.0, "heights are exact");
        assert!(self.t_error < 1e-9, "{}", self.t_error);
    }
}

/// Holds all hits of a ray, of every side, against the truth: one for each point, the point rule's.
fn all_the_same(truth: &Truth, ray: &GroundRay, expected: &[Hit]) {
    for faces in [Faces::Both, Faces::Front, Faces::Back] {
        let mut wanted: Vec<Hit> = expected
            .iter()
            .filter(|h| faces == Faces::Both || h.front == (faces == Faces::Front))
            .copied()
            .collect();
        wanted.dedup_by(|b, a| by_distance(a, b).is_eq());
        let wanted: Vec<_> = wanted.iter().map(|h| (h.cell, h.triangle, h.front)).collect();
        let mut found = Vec::new();
        let end = truth.ground.all_hits(ray, faces, |h| {
            found.push(([i64::from(h.cell.x), i64::from(h.cell.z)], h.triangle.index(), h.front));
            ControlFlow::Continue(())
        });
        assert_eq!((end, found), (Sight::Clear, wanted), "{ray:?} {faces:?}");
        let blocked = if expected.is_empty() { Sight::Clear } else { Sight::Blocked };
        assert!(faces != Faces::Both || truth.ground.sight(ray, faces) == blocked);
    }
}

/// A segment through a point over the ground: from above, from below, steep, or far and flat.
fn through(random: &mut Random, truth: &Truth, x: i64, z: i64) -> ([i64; 3], [i64; 3]) {
    let y = truth.height(x, z).map_or(20 << 16, |h| TOP - (2 * i128::from(TOP) * h.num / h.den) as i64);
    let far = |random: &mut Random, n: i64| random.within(-n, n);
    match random.next() % 5 {
        0 => ([x, y + random.within(0, 1 << 22), z], [x, y - random.within(0, 1 << 22), z]),
        1 => ([x, y - random.within(1, 1 << 22), z], [x, y + random.within(0, 1 << 22), z]),
        2 | 3 => {
            let (dx, dz, dy) = (far(random, 6 * S), far(random, 6 * S), random.within(1, 1 << 22));
            let up = if random.next().is_multiple_of(2) { 1 } else { -1 };
            ([x + dx, y + up * dy, z + dz], [x - dx, y - up * dy, z - dz])
        }
        _ => {
            let (dx, dz, dy) = (far(random, 40 * S), far(random, 40 * S), far(random, 1 << 19));
            ([x + dx, y + dy, z + dz], [x - dx / 2, y - dy / 2, z - dz / 2])
        }
    }
}

/// A point over the ground inside a triangle, none of its edges.
fn inside(random: &mut Random, truth: &Truth, x: i64, z: i64, triangle: usize) -> [i64; 2] {
    loop {
        let [fx, fz] = [0, 1].map(|_| random.within(1, S - 1));
        let in_zero = if (truth.anti)(x, z) { fx + fz < S } else { fx > fz };
        let on_it = if (truth.anti)(x, z) { fx + fz == S } else { fx == fz };
        if in_zero == (triangle == 0) && !on_it {
            return [x * S + fx, z * S + fz];
        }
    }
}

/// One of the cells that pass.
fn cell_where(random: &mut Random, truth: &Truth, pass: impl Fn([bool; 2]) -> bool) -> [i64; 2] {
    loop {
        let (x, z) =
            (random.within(EXTENT[0][0], EXTENT[1][0] - 1), random.within(EXTENT[0][1], EXTENT[1][1] - 1));
        if pass(truth.shown(x, z)) {
            return [x, z];
        }
    }
}

#[test]
fn rays_over_ordinary_ground_seams_and_visible_triangles_hit_what_exact_arithmetic_finds() {
    let (seed, wanted) = (seed("rays"), rays());
    let mut random = Random(seed);
    let mut counts = [(); 3].map(|()| Count::default());
    for (m, mode) in MODES.into_iter().enumerate() {
        let truth = Truth::new(mode, seed + m as u64, Placement::default());
        for (kind, count) in counts.iter_mut().enumerate() {
            let mut hits = 0;
            while hits < wanted / 9 + 1 {
                let [x, z] = match kind {
                    0 => [random.within(-S, SIZE[0] * S), random.within(-S, SIZE[1] * S)],
                    // The lines between blocks, at vertices, quarters and anywhere.
                    1 => {
                        let line = 32 * S * random.within(0, 4);
                        let step = [1, S / 4, S][random.next() as usize % 3];
                        let along = random.within(0, SIZE[1] * S / step) * step;
                        if random.next().is_multiple_of(2) { [line, along] } else { [along, line] }
                    }
                    _ => {
                        let [x, z] = cell_where(&mut random, &truth, |shown| shown[0] != shown[1]);
                        let triangle = usize::from(!truth.shown(x, z)[0]);
                        inside(&mut random, &truth, x, z, triangle)
                    }
                };
                let (a, b) = through(&mut random, &truth, x, z);
                hits += u64::from(count.check(&truth, a, b));
            }
        }
    }
    for (count, name) in counts.iter().zip(["ordinary ground", "seams", "visible triangles of half-cells"]) {
        count.say(name);
    }
}

#[test]
fn rays_outside_through_holes_and_through_invisible_halves_miss() {
    let (seed, wanted) = (seed("rays"), rays() / 10);
    let mut random = Random(seed);
    let mut counts = [(); 3].map(|()| Count::default());
    for (m, mode) in MODES.into_iter().enumerate() {
        let truth = Truth::new(mode, seed + m as u64, Placement::default());
        for (kind, count) in counts.iter_mut().enumerate() {
            let before = count.misses;
            while count.misses < before + wanted / 9 + 1 {
                let [x, z] = match kind {
                    0 => {
                        let out =
                            [random.within(-40 * S, S - 1), random.within((SIZE[0] - 2) * S + 1, 200 * S)];
                        let across = random.within(-20 * S, 180 * S);
                        [out[random.next() as usize % 2], across]
                    }
                    1 => {
                        let [x, z] = cell_where(&mut random, &truth, |shown| shown == [false; 2]);
                        [x * S + random.within(1, S - 1), z * S + random.within(1, S - 1)]
                    }
                    _ => {
                        let [x, z] = cell_where(&mut random, &truth, |shown| shown[0] != shown[1]);
                        let triangle = usize::from(truth.shown(x, z)[0]);
                        inside(&mut random, &truth, x, z, triangle)
                    }
                };
                // Vertical, or leaning so little that most stay over the hole.
                let lean = [0, 0, S / 16, S / 2][random.next() as usize % 4];
                let [dx, dz] = [0, 1].map(|_| random.within(-lean, lean));
                let (high, low) = (random.within(60, 90) << 16, -random.within(20, 50) << 16);
                let (a, b) = ([x + dx, high, z + dz], [x - dx, low, z - dz]);
                let (a, b) = if random.next().is_multiple_of(2) { (a, b) } else { (b, a) };
                count.check(&truth, a, b);
            }
        }
    }
    for (count, name) in counts.iter().zip(["outside", "whole-cell holes", "invisible halves"]) {
        count.say(name);
    }
}

#[test]
fn half_cells_are_hit_on_one_side_of_the_diagonal_and_missed_on_the_other() {
    let (seed, wanted) = (seed("rays"), rays() / 10);
    let mut random = Random(seed);
    let mut count = Count::default();
    for (m, mode) in MODES.into_iter().enumerate() {
        let truth = Truth::new(mode, seed + m as u64, Placement::default());
        for _ in 0..wanted / 6 + 1 {
            let [x, z] = cell_where(&mut random, &truth, |shown| shown[0] != shown[1]);
            let there = usize::from(!truth.shown(x, z)[0]);
            // As near to the diagonal as can be, or anywhere.
            let p = inside(&mut random, &truth, x, z, there);
            let q = inside(&mut random, &truth, x, z, 1 - there);
            let close = random.next().is_multiple_of(2);
            let f = random.within(1, S - 1);
            let on = |d: i64| {
                if (truth.anti)(x, z) { [x * S + f, z * S + S - f + d] } else { [x * S + f, z * S + f + d] }
            };
            let near = |triangle: usize| {
                // Triangle 0 lies before the diagonal in z for both kinds, triangle 1 behind.
                let p = on(if triangle == 0 { -1 } else { 1 });
                (p[1] > z * S && p[1] < (z + 1) * S).then_some(p)
            };
            let up = random.next().is_multiple_of(2);
            for (p, hits) in [
                (near(there).filter(|_| close).unwrap_or(p), true),
                (near(1 - there).filter(|_| close).unwrap_or(q), false),
            ] {
                let (a, b) = ([p[0], 90 << 16, p[1]], [p[0], -(50 << 16), p[1]]);
                let (a, b) = if up { (b, a) } else { (a, b) };
                assert_eq!(count.check(&truth, a, b), hits, "cell {x},{z} at {p:?}");
            }
        }
    }
    count.say("both sides of half-cells");
}

#[test]
fn every_vertex_edge_and_diagonal_of_a_patch_is_hit_from_above_below_and_both_slants() {
    let seed = seed("rays");
    let side = if rays() >= 1_000_000 { 64 } else { 20 };
    let mut count = Count::default();
    for (m, mode) in MODES.into_iter().enumerate() {
        let truth = Truth::new(mode, seed + m as u64, Placement::default());
        // Over the corner of four blocks.
        let first = 64 - side / 2;
        for cell in 0..side * side {
            let (x, z) = (first + cell % side, first + cell / side);
            let q = S / 4;
            let diagonal = |i: i64| if (truth.anti)(x, z) { (i * q, S - i * q) } else { (i * q, i * q) };
            let mut points = vec![(0, 0)];
            points.extend((1..4).flat_map(|i| [(i * q, 0), (0, i * q), diagonal(i)]));
            for (fx, fz) in points {
                let (px, pz) = (x * S + fx, z * S + fz);
                let hit = truth.height(px, pz);
                let y = hit.map_or(0, |h| TOP - (2 * i128::from(TOP) * h.num / h.den) as i64);
                for d in [[0, 1 << 22, 0], [0, -(1 << 22), 0], [3 * S, 1 << 22, 2 * S], [-S, 1 << 21, 3 * S]]
                {
                    let (a, b) = ([px + d[0], y + d[1], pz + d[2]], [px - d[0], y - d[1], pz - d[2]]);
                    let found = count.check(&truth, a, b);
                    assert!(d[0] != 0 || found == hit.is_some(), "vertical at {px},{pz}");
                }
            }
        }
    }
    count.say(&format!("vertices, edges and diagonals of a {side}x{side} patch"));
}

/// The answers of a fixed set of rays, in bytes.
fn digest(answers: &[RayAnswer]) -> String {
    let mut hasher = blake3::Hasher::new();
    for answer in answers {
        match answer {
            RayAnswer::Hit(h) => {
                let floats = [h.t, h.point.x, h.point.y, h.point.z, h.normal.x, h.normal.y, h.normal.z];
                floats.iter().for_each(|v| {
                    hasher.update(&v.to_bits().to_le_bytes());
                });
                hasher.update(&[u8::from(h.front), h.triangle.index()]);
                hasher.update(&h.cell.x.to_le_bytes()).update(&h.cell.z.to_le_bytes());
            }
            RayAnswer::Miss => drop(hasher.update(&[2])),
            RayAnswer::Pending => drop(hasher.update(&[3])),
            RayAnswer::Failed => drop(hasher.update(&[4])),
        }
    }
    hasher.finalize().to_hex().to_string()
}

/// Rays of all kinds with a fixed seed, moved by whole lattice units.
fn fixed_rays(truth: &Truth, by: [i64; 3]) -> Vec<GroundRay> {
    let mut random = Random(41);
    (0..6000)
        .map(|_| {
            let (x, z) = (random.within(0, SIZE[0] * S), random.within(0, SIZE[1] * S));
            let (a, b) = through(&mut random, truth, x, z);
            let [a, b] = [a, b].map(|p| metres([p[0] + by[0], p[1] + by[1], p[2] + by[2]]));
            GroundRay::between(a, b).expect("a ray")
        })
        .collect()
}

#[test]
fn answers_are_the_same_bits_in_every_profile_and_on_any_number_of_threads() {
    let truth = Truth::new(Diagonal::Checkerboard, 5, Placement::default());
    let rays = fixed_rays(&truth, [0; 3]);
    let mut one = vec![RayAnswer::Miss; rays.len()];
    truth.ground.first_hits(&rays, Faces::Both, &mut one);
    for threads in [1, 8] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        let mut many = vec![RayAnswer::Failed; rays.len()];
        pool.install(|| truth.ground.par_first_hits(&rays, Faces::Both, &mut many));
        assert_eq!(many, one, "{threads} threads");
        assert_eq!(digest(&many), digest(&one));
    }
    // One constant for debug and release, and for every machine.
    assert_eq!(digest(&one), "62d842e2f741d5a76054ab5a966d6b403579bf701be250c748d49a5b3a5d0f73");
    let mut random = Random(9);
    let points: Vec<[f64; 2]> =
        (0..5000).map(|_| [0, 1].map(|_| random.within(-S, 170 * S) as f64 / 65536.0)).collect();
    let single: Vec<_> = points.iter().map(|p| truth.ground.height(p[0], p[1])).collect();
    let mut order: Vec<usize> = (0..points.len()).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, random.within(0, i as i64) as usize);
    }
    let moved: Vec<[f64; 2]> = order.iter().map(|&i| points[i]).collect();
    for threads in [1, 8] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        let mut out = single.clone();
        out.reverse();
        pool.install(|| truth.ground.par_heights(&moved, &mut out));
        assert!(order.iter().zip(&out).all(|(&i, answer)| *answer == single[i]), "{threads} threads");
    }
}

#[test]
fn a_terrain_placed_45_km_away_answers_the_same_bits() {
    let here = Truth::new(Diagonal::Checkerboard, 5, Placement::default());
    // 45 km east and south in samples of 1.25 m.
    let placed = Placement { x: 36_000, z: -36_000, y: 0 };
    let there = Truth::new(Diagonal::Checkerboard, 5, placed);
    let by = [36_000 * S, 0, -36_000 * S];
    let by_m = metres(by);
    let (mut near, mut far) = (Vec::new(), Vec::new());
    for (ground, rays, out) in [
        (&here.ground, fixed_rays(&here, [0; 3]), &mut near),
        (&there.ground, fixed_rays(&here, by), &mut far),
    ] {
        out.resize(rays.len(), RayAnswer::Failed);
        ground.first_hits(&rays, Faces::Both, out);
    }
    let mut hits = 0;
    for (near, far) in near.iter().zip(&far) {
        let moved = match near {
            RayAnswer::Hit(h) => RayAnswer::Hit(RayHit { point: h.point + by_m, ..*h }),
            other => *other,
        };
        hits += usize::from(matches!(near, RayAnswer::Hit(_)));
        assert_eq!(*far, moved);
    }
    assert!(hits > 3000, "{hits}");
    let mut random = Random(3);
    for _ in 0..5000 {
        let [x, z] = [0, 1].map(|_| random.within(-S, 170 * S) as f64 / 65536.0);
        let (a, b) = (here.ground.spot(x, z).unwrap(), there.ground.spot(x + by_m.x, z + by_m.z).unwrap());
        assert_eq!(a.state(), b.state());
        if let (Some(a), Some(b)) = (a.valid(), b.valid()) {
            assert_eq!(
                (a.height(), a.normal(), a.smooth_normal()),
                (b.height(), b.normal(), b.smooth_normal())
            );
            assert_eq!((a.cell(), a.triangle()), (b.cell(), b.triangle()));
        }
    }
    // Directions and lengths too: the far end is the start and a way that the placement does not touch.
    let (start, dir) = (glam::DVec3::new(90.25, 70.5, 81.75), glam::DVec3::new(0.3, -0.4, 0.7));
    let (a, b) = (here.ground.cast_ray(start, dir, 300.0), there.ground.cast_ray(start + by_m, dir, 300.0));
    let (Ok(RayAnswer::Hit(a)), Ok(RayAnswer::Hit(b))) = (a, b) else { panic!("{a:?} {b:?}") };
    assert_eq!((a.t, a.point + by_m, a.normal, a.cell), (b.t, b.point, b.normal, b.cell));
    // Lifted, heights are the nearest f64 to the exact lifted ones.
    let lifted = Truth::new(Diagonal::Checkerboard, 5, Placement { y: -12_345, ..placed });
    for _ in 0..3000 {
        let (x, z) = (random.within(0, 160 * S), random.within(0, 146 * S));
        let world = metres([x + by[0], 0, z + by[2]]);
        let found = lifted.ground.height(world.x, world.z).unwrap().valid();
        let exact = here.height(x, z).map(|h| {
            let num = (i128::from(TOP) - (12_345 << 9)) * h.den - 2 * i128::from(TOP) * h.num;
            nearest(num, h.den << 16)
        });
        assert_eq!(found, exact, "{x} {z}");
    }
}
