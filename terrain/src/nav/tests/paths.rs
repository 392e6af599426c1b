//! Paths against a plain Dijkstra over all cells, which shares no code with the search.

use super::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Cells as Dijkstra sees them: weight and unknown steps, or nothing.
struct Field {
    extent: CellRect,
    cells: Vec<Option<(u64, u64)>>,
}

impl Field {
    fn index(&self, (x, z): (i32, i32)) -> Option<usize> {
        let e = self.extent;
        e.contains(CellPos::new(x, z)).then(|| ((z - e.z0) * (e.x1 - e.x0) + x - e.x0) as usize)
    }

    fn get(&self, at: (i32, i32)) -> Option<(u64, u64)> {
        self.cells[self.index(at)?]
    }
}

fn field(nav: &Nav, unknown: bool) -> Field {
    let extent = nav.config().extent;
    let all = (extent.z0..extent.z1).flat_map(|z| (extent.x0..extent.x1).map(move |x| CellPos::new(x, z)));
    let cells = all.map(|cell| match nav.cell(0, cell) {
        CellState::Walkable => Some((nav.weight(0, cell).unwrap().0.into(), 0)),
        CellState::Unknown if unknown => Some((nav.rules().least.into(), 1)),
        _ => None,
    });
    Field { extent, cells: cells.collect() }
}

/// Costs of the cheapest ways from a cell, with the fewest unknown half steps among them.
fn dijkstra(field: &Field, from: CellPos) -> impl Fn(CellPos) -> Option<(u64, u64)> {
    let mut best = vec![None; field.cells.len()];
    let mut heap = BinaryHeap::new();
    if field.get((from.x, from.z)).is_some() {
        heap.push(Reverse(((0, 0), (from.x, from.z))));
    }
    while let Some(Reverse((cost, at))) = heap.pop() {
        let settled = &mut best[field.index(at).unwrap()];
        if settled.is_some() {
            continue;
        }
        *settled = Some(cost);
        let own = field.get(at).unwrap();
        for dz in -1..=1 {
            for dx in -1..=1 {
                let next = (at.0 + dx, at.1 + dz);
                let Some(other) = field.get(next) else { continue };
                let corners = [(at.0 + dx, at.1), (at.0, at.1 + dz)];
                if (dx, dz) == (0, 0) || corners.iter().any(|&c| field.get(c).is_none()) {
                    continue;
                }
                let factor = if dx != 0 && dz != 0 { 17 } else { 12 };
                // Of a diagonal also what it leads between.
                let unknown = |c: (i32, i32)| field.get(c).map_or(0, |f| f.1);
                let beside = if factor == 17 { corners.into_iter().map(unknown).sum::<u64>() } else { 0 };
                let steps = own.1 + other.1 + beside;
                let cost = (cost.0 + (own.0 + other.0) * factor, cost.1 + steps * factor);
                heap.push(Reverse((cost, next)));
            }
        }
    }
    let (extent, cells) = (field.extent, Vec::new());
    let shape = Field { extent, cells };
    move |cell| best[shape.index((cell.x, cell.z))?]
}

/// A path is one: neighbours without cut corners, its cost the sum, its turns along lines of sight.
fn check(nav: &Nav, field: &Field, query: &PathQuery, path: &Path) {
    assert_eq!((path.cells[0], *path.cells.last().unwrap()), (query.from, query.to));
    let mut cost = 0;
    for pair in path.cells.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        let (dx, dz) = ((b.x - a.x).abs(), (b.z - a.z).abs());
        assert!(dx.max(dz) == 1, "{a:?} {b:?}");
        for c in [(a.x, a.z), (b.x, b.z), (a.x, b.z), (b.x, a.z)] {
            assert!(field.get(c).is_some_and(|f| f.1 == 0), "{c:?}");
        }
        let [from, to] = [a, b].map(|c| field.get((c.x, c.z)).unwrap().0);
        let sum = from + to;
        cost += sum * if dx + dz == 2 { 17 } else { 12 };
    }
    assert_eq!(cost, path.cost);
    assert_eq!((path.turns.first(), path.turns.last()), (path.cells.first(), path.cells.last()));
    for pair in path.turns.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        let next = (b.x - a.x).abs().max((b.z - a.z).abs()) == 1;
        assert!(next || sampled_sight(nav, a, b), "{a:?} to {b:?} of {query:?}");
    }
}

/// Points along the line, a hundred a cell: the centres around each are walkable and no flanks.
fn sampled_sight(nav: &Nav, a: CellPos, b: CellPos) -> bool {
    let n = 100 * a.x.abs_diff(b.x).max(a.z.abs_diff(b.z)) as i64;
    (0..=n).all(|i| {
        // In units of 1/n of a cell.
        let at = |p: i32, q: i32| i64::from(p) * n + (i64::from(q) - i64::from(p)) * i;
        let around = |v: i64| v.div_euclid(n)..=(v + n - 1).div_euclid(n);
        around(at(a.z, b.z)).all(|z| {
            around(at(a.x, b.x))
                .all(|x| nav.weight(0, CellPos::new(x as i32, z as i32)).is_some_and(|w| !w.1))
        })
    })
}

fn random_cell(r: &mut Random, nav: &Nav) -> CellPos {
    let e = nav.config().extent;
    let at = |r: &mut Random, a: i32, b: i32| a + r.below((b - a) as u64) as i32;
    let cell = CellPos::new(at(r, e.x0, e.x1), at(r, e.z0, e.z1));
    nav.nearest_walkable(0, cell, 3).unwrap_or(cell)
}

/// Rough ground with painted layers of different costs; how rough goes by the turn.
fn world(r: &mut Random, samples: [u32; 2], turn: u64) -> (Ground, Arc<NavRules>) {
    let terrain = rough(r.next(), samples, BlockSide::S32, 256, [0.8, 0.25, 1.1, 0.5][turn as usize % 4]);
    let mut raster = terrain.raster().clone();
    let paint = r.next();
    let [w, h] = raster.config.cells();
    if turn % 3 == 2 {
        // Two parts without a way between them.
        (0..h).for_each(|z| raster.mask[(z * w + w / 2) as usize] = 0);
    }
    let texels: Vec<_> = (0..w * h)
        .map(|i| {
            let id1 = (noise(paint, i % w, i / w, 13) * 3.0) as u8;
            crate::kernel::weight_mip::HdTexel { id1, id2: id1, ratio: 0 }
        })
        .collect();
    raster.set_hd_weights(&["a", "b", "c"], &texels);
    let ground = MemoryTerrain::new(raster, BlockSide::S32).ground_all();
    let config = NavConfig {
        agents: vec![agent("a", [0.3, 0.345, 0.8][r.below(3) as usize], 0.35, 45.0)],
        layer_cost: [("a".to_owned(), 12), ("b".to_owned(), 30)].into(),
        ..NavConfig::default()
    };
    let names = ["a", "b", "c"].map(str::to_owned);
    let rules = NavRules::new(&config, ground.config(), &names).unwrap();
    (ground, rules)
}

/// Borders of sectors that a path crosses; a step over a corner crosses two.
fn crossings(cells: &[CellPos]) -> u64 {
    let change = |a: i32, b: i32| u64::from(a >> 5 != b >> 5);
    cells.windows(2).map(|p| change(p[0].x, p[1].x) + change(p[0].z, p[1].z)).sum()
}

#[test]
fn exact_paths_cost_what_dijkstra_says_and_hierarchical_ones_little_more() {
    let mut r = Random(seed("paths"));
    let (mut search, mut path) = (PathSearch::new(), Path::default());
    let (mut paths, mut none, mut worst, mut ratios) = (0, 0, 1.0_f64, 0.0);
    for turn in 0..6 * scale() {
        let (ground, rules) = world(&mut r, [170, 140], turn);
        let nav = Nav::of(&ground, &rules);
        let field = field(&nav, false);
        for _ in 0..4 {
            let from = random_cell(&mut r, &nav);
            let best = dijkstra(&field, from);
            for _ in 0..12 {
                let mut query =
                    PathQuery { method: Method::Exact, ..PathQuery::new(0, from, random_cell(&mut r, &nav)) };
                let known = best(query.to);
                let exact = search.find(&nav, &query, &mut path);
                assert_eq!(exact, if known.is_some() { Answer::Path } else { Answer::NoPath }, "{query:?}");
                let bound = crossings(&path.cells) * 34 * 24 * 93 + path.cost;
                if exact == Answer::Path {
                    check(&nav, &field, &query, &path);
                    assert_eq!(path.cost, known.unwrap().0);
                }
                query.method = Method::Hierarchy;
                assert_eq!(search.find(&nav, &query, &mut path), exact, "{query:?}");
                let Some((cost, _)) = known else {
                    none += 1;
                    assert!(path.cells.is_empty());
                    continue;
                };
                check(&nav, &field, &query, &path);
                assert!(cost <= path.cost && path.cost <= bound, "{query:?}");
                let ratio = if cost == 0 { 1.0 } else { path.cost as f64 / cost as f64 };
                worst = worst.max(ratio);
                ratios += ratio;
                paths += 1;
            }
        }
    }
    println!(
        "{paths} paths, {none} without; ratio at most {worst:.4}, mean {:.4}",
        ratios / f64::from(paths)
    );
    assert!(paths > 60 && none > 10 && worst < 2.0 && ratios / f64::from(paths) < 1.05);
}

/// Absent blocks: the answer is that of the cheapest way over walkable and unknown cells.
#[test]
fn unknown_ground_is_pending_where_it_could_hold_the_best_way() {
    let mut r = Random(seed("unknown"));
    let (mut search, mut path) = (PathSearch::new(), Path::default());
    let mut seen: BTreeMap<(u8, u8), u32> = BTreeMap::new();
    for turn in 0..5 * scale() {
        let (whole, rules) = world(&mut r, [150, 130], turn);
        let absent: Vec<_> = (0..1 + r.below(8))
            .map(|_| (BlockPos::new(r.below(5) as i32, r.below(4) as i32), Slot::Absent))
            .collect();
        let ground = whole.with_changes(&absent);
        let nav = Nav::of(&ground, &rules);
        let (known, hopeful) = (field(&nav, false), field(&nav, true));
        for _ in 0..4 {
            let from = random_cell(&mut r, &nav);
            let (sure, hope) = (dijkstra(&known, from), dijkstra(&hopeful, from));
            for _ in 0..10 {
                let to = random_cell(&mut r, &nav);
                let (sure, hope) = (sure(to), hope(to));
                let start = hopeful.get((from.x, from.z)).is_some_and(|f| f.1 > 0);
                let mut query = PathQuery { method: Method::Exact, ..PathQuery::new(0, from, to) };
                let answer = search.find(&nav, &query, &mut path);
                let expected = match hope {
                    None => Answer::NoPath,
                    Some(h) if h.1 > 0 || start => Answer::Pending,
                    Some(_) => Answer::Path,
                };
                assert_eq!(answer, expected, "{query:?}");
                *seen.entry((0, kind(answer))).or_default() += 1;
                if answer == Answer::Path {
                    assert_eq!(Some(path.cost), sure.map(|s| s.0));
                    check(&nav, &known, &query, &path);
                }
                // Avoiding what is unknown.
                query.unknown = Unknown::Avoid;
                let expected = match (sure, hope) {
                    (Some(_), _) => Answer::Path,
                    (None, Some(_)) => Answer::Pending,
                    (None, None) => Answer::NoPath,
                };
                assert_eq!(search.find(&nav, &query, &mut path), expected, "{query:?}");
                assert_eq!(path.cost, sure.map_or(0, |s| s.0));
                query.method = Method::Hierarchy;
                assert_eq!(search.find(&nav, &query, &mut path), expected, "{query:?}");
                *seen.entry((1, kind(expected))).or_default() += 1;
                // The hierarchy asks too: no way at all exactly where there is none, and never a path that costs more
                // than the bound says while unknown ground could hold a cheaper one.
                query.unknown = Unknown::Ask;
                let asked = search.find(&nav, &query, &mut path);
                assert_eq!(asked == Answer::NoPath, hope.is_none());
                if let (Answer::Path, Some(hope)) = (asked, hope) {
                    check(&nav, &known, &query, &path);
                    assert!(
                        path.cost as f64 <= hope.0 as f64 * 2.0,
                        "{query:?}: {} of {}",
                        path.cost,
                        hope.0
                    );
                }
            }
        }
    }
    println!("{seen:?}");
    for key in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        assert!(seen.get(&key).is_some_and(|&n| n >= 5), "{key:?}: {seen:?}");
    }
}

fn kind(answer: Answer) -> u8 {
    match answer {
        Answer::Path => 0,
        Answer::Pending => 1,
        Answer::NoPath => 2,
        _ => 3,
    }
}

#[test]
fn answers_do_not_depend_on_threads_load_order_or_earlier_searches() {
    let mut r = Random(seed("order"));
    let (ground, rules) = world(&mut r, [170, 170], 0);
    let nav = Nav::of(&ground, &rules);
    let queries: Vec<PathQuery> = (0..30)
        .map(|i| {
            let (from, to) = (random_cell(&mut r, &nav), random_cell(&mut r, &nav));
            let method = [Method::Hierarchy, Method::Exact][i % 2];
            PathQuery { method, ..PathQuery::new(0, from, to) }
        })
        .collect();
    let answers = |nav: &Nav, order: &[usize]| {
        let mut search = PathSearch::new();
        let mut answers = vec![None; queries.len()];
        for &i in order {
            let mut path = Path::default();
            let answer = search.find(nav, &queries[i], &mut path);
            answers[i] = Some((answer, path));
        }
        answers
    };
    let order: Vec<usize> = (0..queries.len()).collect();
    let expected = answers(&nav, &order);
    for turn in 0..4 {
        // Blocks arrive one by one, in another order; some leave and come back.
        let mut blocks: Vec<BlockPos> = (0..36).map(|i| BlockPos::new(i % 6, i / 6)).collect();
        let mut order = order.clone();
        for i in (1..blocks.len()).rev() {
            blocks.swap(i, r.below(i as u64 + 1) as usize);
            order.swap(i % 30, r.below(30) as usize);
        }
        blocks.extend_from_within(..5);
        let mut grown = Ground::empty(ground.config(), ground.side());
        let threads = rayon::ThreadPoolBuilder::new().num_threads(1 + turn % 2 * 7).build().unwrap();
        let mut built = threads.install(|| Nav::of(&grown, &rules));
        let mut search = PathSearch::new();
        for (i, &pos) in blocks.iter().enumerate() {
            let gone = i % 7 == 3;
            for slot in if gone {
                vec![Slot::Absent, ground.slot(pos).clone()]
            } else {
                vec![ground.slot(pos).clone()]
            } {
                grown = grown.with_changes(&[(pos, slot)]);
                let first = ground.side().first_sample(pos);
                let rect = CellRect { x0: first.x, z0: first.z, x1: first.x + 32, z1: first.z + 32 };
                built = threads.install(|| built.updated(&grown, &[rect]));
                // Leaves distances behind that later changes must not believe.
                search.find(&built, &queries[i % 30], &mut Path::default());
            }
        }
        assert!(built == nav);
        assert!(answers(&built, &order) == expected, "turn {turn}");
        assert!(threads.install(|| Nav::of(&ground, &rules)) == nav);
    }
}

#[test]
fn a_maze_is_found_through_and_a_closed_one_is_not() {
    // Walls one cell wide, every fourth row, with a gap at alternating ends.
    let maze = |closed: bool| {
        let flat = MemoryTerrain::from_fn([129, 129], BlockSide::S32, |_| {}, |_, _| 1.0);
        let mut raster = flat.raster().clone();
        for z in (3..128).step_by(4) {
            for x in 0..128 {
                let gap = if z / 4 % 2 == 0 { x == 127 } else { x == 0 };
                if !gap || closed && z == 63 {
                    raster.mask[z * 128 + x] = 0;
                }
            }
        }
        MemoryTerrain::new(raster, BlockSide::S32).ground_all()
    };
    let (mut search, mut path) = (PathSearch::new(), Path::default());
    for closed in [false, true] {
        let ground = maze(closed);
        let nav = Nav::of(&ground, &rules(&ground, vec![agent("a", 0.345, 0.35, 45.0)]));
        for method in [Method::Hierarchy, Method::Exact] {
            let query = PathQuery { method, ..PathQuery::new(0, CellPos::new(0, 0), CellPos::new(0, 127)) };
            let answer = search.find(&nav, &query, &mut path);
            if closed {
                assert_eq!(answer, Answer::NoPath);
                continue;
            }
            assert_eq!(answer, Answer::Path);
            check(&nav, &field(&nav, false), &query, &path);
            // By hand: 32 corridors of three rows. Every wall is passed straight down at the end of its row; between
            // two walls the way goes along 127 cells and down 4, one of these diagonally at most twice.
            let best = dijkstra(&field(&nav, false), query.from)(query.to).unwrap().0;
            assert!(path.cost == best && best > 31 * 125 * 384, "{} {best}", path.cost);
        }
    }
}

#[test]
fn budgets_regions_and_refusals_are_answered_by_name() {
    let extent = CellRect { x0: 2, z0: 2, x1: 158, z1: 158 };
    let flat = MemoryTerrain::from_fn([161, 161], BlockSide::S32, |c| c.extent = extent, |_, _| 1.0);
    let mut raster = flat.raster().clone();
    // A wall along x = 80 with one gap far north.
    for z in 10..158 {
        raster.mask[z * 160 + 80] = 1;
    }
    let ground = MemoryTerrain::new(raster, BlockSide::S32)
        .ground_all()
        .with_changes(&[(BlockPos::new(4, 4), Slot::Failed)]);
    let make = |budget: NavBudget| {
        let config = NavConfig { agents: vec![agent("a", 0.3, 0.3, 45.0)], budget, ..NavConfig::default() };
        Nav::of(&ground, &NavRules::new(&config, ground.config(), &[]).unwrap())
    };
    let nav = make(NavBudget::default());
    let (mut search, mut path) = (PathSearch::new(), Path::default());
    let (from, to) = (CellPos::new(70, 100), CellPos::new(90, 100));
    let query = PathQuery::new(0, from, to);
    let mut ask = |nav: &Nav, query: PathQuery| {
        let answers = [Method::Hierarchy, Method::Exact]
            .map(|method| search.find(nav, &PathQuery { method, ..query }, &mut path));
        (answers, path.clone())
    };
    assert_eq!(ask(&nav, query).0, [Answer::Path; 2]);
    // Within the rectangle's sectors there is no way round; a rectangle of one row more than a sector takes the next.
    let rect = |z0: i32| Some(CellRect { x0: 40, z0, x1: 120, z1: 110 });
    assert_eq!(ask(&nav, PathQuery { within: rect(32), ..query }).0, [Answer::NoPath; 2]);
    assert_eq!(ask(&nav, PathQuery { within: rect(31), ..query }).0, [Answer::Path; 2]);
    assert_eq!(ask(&nav, PathQuery { within: rect(120), ..query }).0, [Answer::NoPath; 2]);
    let small = ask(&make(NavBudget { max_settled: 20, ..NavBudget::default() }), query).0;
    assert_eq!(small, [Answer::Exhausted { settled: 20 }; 2]);
    let few = ask(&make(NavBudget { max_sectors: 2, ..NavBudget::default() }), query).0;
    assert!(few.iter().all(|a| matches!(a, Answer::Exhausted { .. })), "{few:?}");
    let failed = CellPos::new(150, 150);
    assert_eq!(nav.cell(0, failed), CellState::Failed);
    assert_eq!(ask(&nav, PathQuery { to: failed, ..query }).0, [Answer::NoPath; 2]);
    assert_eq!(ask(&nav, PathQuery { to: CellPos::new(80, 100), ..query }).0, [Answer::NoPath; 2]);
    let outside = CellPos::new(158, 3);
    assert_eq!(ask(&nav, PathQuery { to: outside, ..query }).0, [Answer::Refused(Refusal::To(outside)); 2]);
    let outside = CellPos::new(i32::MIN, i32::MAX);
    assert_eq!(
        ask(&nav, PathQuery { from: outside, ..query }).0,
        [Answer::Refused(Refusal::From(outside)); 2]
    );
    assert_eq!(ask(&nav, PathQuery { agent: 1, ..query }).0, [Answer::Refused(Refusal::Agent(1)); 2]);
    let (answers, path) = ask(&nav, PathQuery { to: from, ..query });
    assert_eq!((answers, path.cells, path.turns, path.cost), ([Answer::Path; 2], vec![from], vec![from], 0));
}

#[test]
fn open_ground_is_crossed_in_one_straight_piece() {
    let flat = MemoryTerrain::from_fn([200, 200], BlockSide::S64, |_| {}, |_, _| 1.0);
    let ground = flat.ground_all();
    let nav = Nav::of(&ground, &rules(&ground, vec![agent("a", 0.3, 0.3, 45.0)]));
    let (mut search, mut path) = (PathSearch::new(), Path::default());
    let query = PathQuery::new(0, CellPos::new(10, 20), CellPos::new(130, 77));
    assert_eq!(search.find(&nav, &query, &mut path), Answer::Path);
    assert_eq!(path.turns, [query.from, query.to]);
    // 57 diagonal and 63 straight steps over plain ground.
    assert_eq!(path.cost, (57 * 17 + 63 * 12) * 32);
    assert_eq!(path.cells.len(), 121);
}

/// The line against every square it goes through, found by clipping the line to the square.
#[test]
fn lines_of_sight_are_those_of_the_squares_they_go_through() {
    let mut r = Random(seed("sight"));
    let (ground, rules) = world(&mut r, [100, 100], 0);
    let nav = Nav::of(&ground, &rules);
    let clear = |x: i32, z: i32| nav.weight(0, CellPos::new(x, z)).is_some_and(|w| !w.1 && w.0 <= 30);
    let (mut seen, mut hidden) = (0, 0);
    for _ in 0..3000 {
        let a = CellPos::new(r.below(100) as i32, r.below(100) as i32);
        let b = CellPos::new(a.x + r.below(25) as i32 - 12, a.z + r.below(25) as i32 - 12);
        let (dx, dz) = (i64::from(b.x - a.x), i64::from(b.z - a.z));
        let mut expected = clear(a.x, a.z) && clear(b.x, b.z);
        for z in a.z.min(b.z)..=a.z.max(b.z) {
            for x in a.x.min(b.x)..=a.x.max(b.x) {
                // On which sides of the line the corners of the square from (x, z) to (x + 1, z + 1) lie.
                let side = |x: i32, z: i32| i64::from(x - a.x) * dz - i64::from(z - a.z) * dx;
                let inside = x < a.x.max(b.x) && z < a.z.max(b.z);
                let corners = [(x, z), (x + 1, z), (x, z + 1), (x + 1, z + 1)];
                let sides = corners.map(|(x, z)| side(x, z).signum());
                if inside && sides.contains(&1) && sides.contains(&-1) {
                    expected &= corners.iter().all(|&(x, z)| clear(x, z));
                }
                if side(x, z) == 0 {
                    expected &= clear(x, z);
                }
            }
        }
        assert_eq!(nav.sees(0, a, b, 30), expected, "{a:?} {b:?}");
        assert_eq!(nav.sees(0, b, a, 30), expected, "{b:?} {a:?}");
        seen += u32::from(expected);
        hidden += u32::from(!expected);
    }
    assert!(seen > 30 && hidden > 30, "{seen} {hidden}");
}

#[test]
fn positions_and_cells_answer_each_other() {
    let terrain = rough(7, [70, 70], BlockSide::S32, 640, 0.2);
    let ground = terrain.ground_all();
    let nav = Nav::of(&ground, &rules(&ground, vec![agent("a", 0.3, 0.3, 45.0)]));
    let e = ground.config().extent;
    assert_eq!(nav.cell_at(7.4, 2.5), Ok(CellPos::new(2, 1)));
    assert_eq!(nav.cell_at(-0.1, f64::from(e.z1) * 2.5), Ok(CellPos::new(-1, e.z1 - 1)));
    assert_eq!(nav.centre(CellPos::new(2, 1)), [6.25, 3.75]);
    assert!(nav.cell_at(f64::NAN, 0.0).is_err());
    assert_eq!(nav.version(), ground.version());
    let blocked = (e.z0..e.z1)
        .flat_map(|z| (e.x0..e.x1).map(move |x| CellPos::new(x, z)))
        .find(|&c| nav.cell(0, c) == CellState::Blocked)
        .unwrap();
    let near = nav.nearest_walkable(0, blocked, 9).unwrap();
    let key = |c: CellPos| ((c.x - blocked.x).pow(2) + (c.z - blocked.z).pow(2), c.z, c.x);
    let brute = (-9..=9)
        .flat_map(|dz| (-9..=9).map(move |dx| CellPos::new(blocked.x + dx, blocked.z + dz)))
        .filter(|&c| nav.cell(0, c) == CellState::Walkable)
        .min_by_key(|&c| key(c));
    assert_eq!(Some(near), brute);
    assert_eq!(nav.nearest_walkable(0, CellPos::new(-100, -100), 5), None);
}
