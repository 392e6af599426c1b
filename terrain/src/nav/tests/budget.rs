//! The byte budget of the distances that searches leave behind.

use super::*;
use rayon::prelude::*;

fn queries(nav: &Nav, seed: u64) -> Vec<PathQuery> {
    let mut r = Random(seed);
    let e = nav.config().extent;
    let mut cell = || {
        let at = |r: &mut Random, a: i32, b: i32| a + r.below((b - a) as u64) as i32;
        let cell = CellPos::new(at(&mut r, e.x0, e.x1), at(&mut r, e.z0, e.z1));
        nav.nearest_walkable(0, cell, 5).unwrap_or(cell)
    };
    (0..60).map(|_| PathQuery { method: Method::Hierarchy, ..PathQuery::new(0, cell(), cell()) }).collect()
}

fn answers(nav: &Nav, queries: &[PathQuery]) -> Vec<(Answer, Path)> {
    let mut search = PathSearch::new();
    let find = |query| {
        let mut path = Path::default();
        (search.find(nav, query, &mut path), path)
    };
    queries.iter().map(find).collect()
}

fn nav() -> Nav {
    let ground = rough(77, [300, 260], BlockSide::S32, 256, 0.4).ground_all();
    let agents = vec![AgentKind { radius_m: 0.4, slope_limit_deg: 50.0, ..AgentKind::default() }];
    let rules = NavRules::new(&NavConfig { agents, ..NavConfig::default() }, ground.config(), &[]).unwrap();
    Nav::of(&ground, &rules)
}

#[test]
fn no_budget_is_exceeded_and_none_changes_an_answer() {
    let free = nav();
    let queries = queries(&free, 5);
    let expected = answers(&free, &queries);
    assert!(expected.iter().filter(|a| a.0 == Answer::Path).count() > 20);
    let all = free.distance_bytes();
    assert!(all > 4000 && !free.is_distance_budget_spent(), "{all} bytes without a limit");
    for budget in [0, 100, all / 3, all] {
        let mut nav = nav();
        nav.set_distance_budget(budget);
        for turn in 0..3 {
            assert!(answers(&nav, &queries) == expected, "budget {budget}, turn {turn}");
            assert!(nav.distance_bytes() <= budget, "{} of {budget}", nav.distance_bytes());
            assert_eq!(nav.is_distance_budget_spent(), budget < all);
            if turn == 1 {
                nav.forget_distances();
                assert_eq!(nav.distance_bytes(), 0);
            }
        }
        // Searches in many threads, each with its own order of filling the room.
        let halves: Vec<_> = queries.par_chunks(7).flat_map_iter(|q| answers(&nav, q)).collect();
        assert!(halves == expected && nav.distance_bytes() <= budget);
    }
}

#[test]
fn what_versions_keep_is_counted_once_and_goes_with_the_last() {
    let ground = rough(78, [200, 200], BlockSide::S32, 256, 0.3).ground_all();
    let agents = vec![AgentKind::default()];
    let rules = NavRules::new(&NavConfig { agents, ..NavConfig::default() }, ground.config(), &[]).unwrap();
    let first = Nav::of(&ground, &rules);
    let queries = queries(&first, 9);
    let expected = answers(&first, &queries);
    let kept = first.distance_bytes();
    assert!(kept > 0);
    let again = first.clone();
    assert_eq!(again.distance_bytes(), kept);
    drop(first);
    assert!(answers(&again, &queries) == expected);
    assert_eq!(again.distance_bytes(), kept, "nothing was found twice");
    // One sector forgets, and so do those beside it.
    let block = BlockPos::new(2, 2);
    let gone = ground.with_changes(&[(block, Slot::Absent)]);
    let next = again.updated(&gone, &[CellRect { x0: 64, z0: 64, x1: 96, z1: 96 }]);
    drop(again);
    assert!(next.distance_bytes() < kept);
    // A spent budget is cleared by the next version.
    next.set_distance_budget(next.distance_bytes() / 2);
    assert!(next.is_distance_budget_spent());
    let last = next.updated(&ground, &[CellRect { x0: 64, z0: 64, x1: 96, z1: 96 }]);
    drop(next);
    assert_eq!((last.distance_bytes(), last.is_distance_budget_spent()), (0, false));
    last.set_distance_budget(usize::MAX);
    assert!(answers(&last, &queries) == expected);
}
