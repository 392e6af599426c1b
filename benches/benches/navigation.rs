//! Navigation: the walkable cells of one 128×128 block against parry's HeightField of the same samples, and ways of 500
//! to 2,000 m over doors against A* over all cells of the same grid, warm (distances between doors kept) and cold.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use highground_terrain::coord::{BlockSide, CellPos, CellRect};
use highground_terrain::nav::{
    AgentKind, Answer, Method, Nav, NavBudget, NavConfig, NavRules, Path, PathQuery, PathSearch,
};
use highground_terrain::store::MemoryTerrain;
use highground_terrain::surface::Ground;
use parry3d_f64::math::Vector;
use parry3d_f64::shape::HeightField;
use parry3d_f64::utils::Array2;
use std::hint::black_box;
use std::sync::Arc;

fn noise(seed: u64, x: i32, z: i32, wave: i32) -> f64 {
    let at = |x: i32, z: i32| {
        let mut v = seed ^ u64::from(x as u32) << 32 ^ u64::from(z as u32);
        v = (v ^ (v >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        v = (v ^ (v >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((v ^ (v >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    };
    let fade = |v: i32| {
        let t = f64::from(v.rem_euclid(wave)) / f64::from(wave);
        t * t * (3.0 - 2.0 * t)
    };
    let (cx, cz, fx, fz) = (x.div_euclid(wave), z.div_euclid(wave), fade(x), fade(z));
    let row = |dz: i32| at(cx, cz + dz) * (1.0 - fx) + at(cx + 1, cz + dz) * fx;
    row(0) * (1.0 - fz) + row(1) * fz
}

/// Hills a metre between samples: about a tenth of the cells are too steep.
fn height(x: i32, z: i32) -> f64 {
    90.0 * noise(1, x, z, 160) + 26.0 * noise(2, x, z, 40) + 5.0 * noise(3, x, z, 9)
}

fn rules(ground: &Ground) -> Arc<NavRules> {
    let config = NavConfig {
        agents: vec![AgentKind { name: "walker".into(), ..AgentKind::default() }],
        budget: NavBudget { max_settled: 1 << 22, max_sectors: 1 << 14 },
        ..NavConfig::default()
    };
    NavRules::new(&config, ground.config(), &[]).expect("an agent for a metre's lattice")
}

fn build(c: &mut Criterion) {
    let terrain = MemoryTerrain::from_fn([384, 384], BlockSide::S128, |_| {}, height);
    let ground = terrain.ground_all();
    let nav = Nav::of(&ground, &rules(&ground));
    let block = CellRect { x0: 128, z0: 128, x1: 256, z1: 256 };
    let mut group = c.benchmark_group("one 128x128 block");
    // Nothing changed, so nothing is shared out anew: the sixteen sectors are made and compared.
    group.bench_function("walkable cells", |b| b.iter(|| nav.updated(black_box(&ground), &[block])));
    let mut heights = Array2::repeat(129, 129, 0.0);
    for z in 0..129 {
        for x in 0..129 {
            heights[(z, x)] = height(128 + x as i32, 128 + z as i32);
        }
    }
    group.bench_function("parry heightfield", |b| {
        b.iter(|| HeightField::new(black_box(heights.clone()), Vector::new(128.0, 1.0, 128.0)));
    });
    group.finish();
}

fn ways(c: &mut Criterion) {
    let ground = MemoryTerrain::from_fn([2304, 2304], BlockSide::S128, |_| {}, height).ground_all();
    let rules = rules(&ground);
    let nav = Nav::of(&ground, &rules);
    let cells = (0..2303 * 2303).map(|i| CellPos::new(i % 2303, i / 2303));
    let open = cells.filter(|&c| nav.weight(0, c).is_some()).count();
    println!("{:.1} % of the cells are walkable", open as f64 / (2303.0 * 2303.0) * 100.0);
    let (mut search, mut path) = (PathSearch::new(), Path::default());
    let mut group = c.benchmark_group("way");
    group.sample_size(10);
    for metres in [500, 1000, 2000] {
        // Eight ways across the map in different directions.
        let queries: Vec<PathQuery> = (0..8)
            .filter_map(|i| {
                let (a, b) = [(metres, 0), (metres * 7 / 10, metres * 7 / 10)][i % 2];
                let (dx, dz) = [(a, b), (-b, a)][i / 2 % 2];
                let stand = |x: i32, z: i32| nav.nearest_walkable(0, CellPos::new(x, z), 40);
                let (x, z) = (1150 - dx / 2 + 9 * i as i32, 1150 - dz / 2 - 7 * i as i32);
                Some(PathQuery::new(0, stand(x, z)?, stand(x + dx, z + dz)?))
            })
            .collect();
        let mut all = |nav: &Nav, method: Method| -> (usize, u64) {
            let mut sum = (0, 0);
            for query in &queries {
                let answer = search.find(nav, &PathQuery { method, ..*query }, &mut path);
                sum.0 += usize::from(answer == Answer::Path);
                sum.1 += path.cost;
            }
            sum
        };
        let (doors, exact) = (all(&nav, Method::Hierarchy), all(&nav, Method::Exact));
        println!(
            "{metres} m: {} of {} ways; over doors {:.4} times the cost of A*",
            exact.0,
            queries.len(),
            doors.1 as f64 / exact.1 as f64
        );
        assert_eq!(doors.0, exact.0);
        group.bench_function(BenchmarkId::new("over doors, warm", metres), |b| {
            b.iter(|| all(&nav, Method::Hierarchy));
        });
        group.bench_function(BenchmarkId::new("A* over all cells", metres), |b| {
            b.iter(|| all(&nav, Method::Exact));
        });
        group.bench_function(BenchmarkId::new("over doors, cold", metres), |b| {
            b.iter_batched(
                || Nav::of(&ground, &rules),
                |cold| all(&cold, Method::Hierarchy),
                criterion::BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, build, ways);
criterion_main!(benches);
