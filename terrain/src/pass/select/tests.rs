use super::*;
use crate::compute::CpuCompute;
use crate::config::TerrainConfig;
use crate::kernel::select::nodes::NodeState;
use crate::kernel::select::ranges::{Band, RangeRule};

fn whole(samples: [u32; 2], spacing_256: u32) -> Nodes {
    Nodes::new(&TerrainConfig::new(samples, spacing_256), |_, _| NodeState::Whole)
}

fn selected(nodes: Nodes, ranges: Ranges, views: &[View]) -> Selected {
    let mut out = Selected::default();
    Selector::new(nodes, ranges).unwrap().select(&CpuCompute::new(), views, &mut out).unwrap();
    out
}

#[test]
fn views_are_rounded_twice_half_up() {
    let at = |x, z| View::from_metres(x, z).map(|v| (v.x_256, v.z_256));
    assert_eq!(at(1.0, -2.5), Ok((256, -640)));
    assert_eq!(at(0.5 / 256.0, -0.5 / 256.0), Ok((1, 0)));
    assert_eq!(at(0.49 / 256.0, 0.51 / 256.0), Ok((0, 1)));
    assert!(View::from_metres(f64::NAN, 0.0).is_err());
    let words = View { x_256: -1, z_256: 1 << 32 }.words();
    assert_eq!(words, [u32::MAX, u32::MAX, 0, 1]);
}

#[test]
fn a_quarter_that_a_child_draws_is_told_by_its_bit() {
    // 64 cells of 1 m: a root with four children. Level 0 reaches 20 m, level 1 everything.
    let ranges = Ranges::new(
        256,
        vec![
            Band { range: 20 * 256, start: 0, end: 256 },
            Band { range: 1 << 31, start: 100_000, end: 200_000 },
        ],
    )
    .unwrap();
    let at = |x: i64, z: i64| View { x_256: x * 256, z_256: z * 256 };
    let node = |level, z, x, quarter_mask| Node { level, z, x, quarter_mask, has_holes: false };
    let views = [at(5, 5), at(32, 5), at(40, 40), at(32, 32), at(-20, 5), at(5, 84), at(45, 13)];
    let found = selected(whole([65, 65], 256), ranges, &views);
    // In the middle of child 00, which is 27 m from the others.
    assert_eq!(found.of(0), [node(0, 0, 0, 0), node(1, 0, 0, 0b0001)]);
    // Between two children: both are at distance 0.
    assert_eq!(found.of(1), [node(0, 0, 0, 0), node(0, 0, 1, 0), node(1, 0, 0, 0b0011)]);
    // 8 m from both edges, so 8 √2 from the corner of child 00: nothing is left for the root.
    assert_eq!(found.of(2), [node(0, 0, 0, 0), node(0, 0, 1, 0), node(0, 1, 0, 0), node(0, 1, 1, 0)]);
    assert_eq!(found.of(3), found.of(2));
    // Exactly at the range is out of it; bit x + 2z.
    assert_eq!(found.of(4), [node(1, 0, 0, 0)]);
    assert_eq!(found.of(5), [node(1, 0, 0, 0)]);
    // 13 m west and 19 m north of the others: all but the corner, which is √(13² + 19²) = 23 m away.
    assert_eq!(found.of(6), [node(0, 0, 0, 0), node(0, 0, 1, 0), node(0, 1, 1, 0), node(1, 0, 0, 0b1011)]);
    assert_eq!(found.views(), 7);
}

#[test]
fn nothing_is_drawn_where_nothing_shows() {
    let nodes = Nodes::new(&TerrainConfig::new([65, 65], 256), |x, z| match (x, z) {
        (0, 0) => NodeState::Hidden,
        (1, 0) => NodeState::Holes,
        _ => NodeState::Whole,
    });
    let near = Band { range: 20 * 256, start: 0, end: 256 };
    let ranges = Ranges::new(256, vec![near, Band { range: 1 << 31, start: 100_000, end: 200_000 }]).unwrap();
    let found = selected(nodes.clone(), ranges, &[View { x_256: 40 * 256, z_256: 40 * 256 }]);
    // The three others are in range, and the root has nothing left although no child draws its first quarter.
    let node = |z, x, has_holes| Node { level: 0, z, x, quarter_mask: 0, has_holes };
    assert_eq!(found.of(0), [node(0, 1, true), node(1, 0, false), node(1, 1, false)]);
    // Beyond the last range nothing is drawn, and views that draw nothing are views all the same.
    let only = Ranges::new(256, vec![near]).unwrap();
    let far = View { x_256: 1 << 40, z_256: 0 };
    let views = [far, View { x_256: 63 * 256, z_256: 0 }, far, far];
    let found = selected(nodes, only, &views);
    assert_eq!([0, 1, 2, 3].map(|v| found.of(v).len()), [0, 1, 0, 0]);
}

#[test]
fn ranges_have_to_be_the_terrain_s() {
    let refused = |ranges: Ranges| Selector::new(whole([65, 65], 256), ranges).unwrap_err().to_string();
    let rule = RangeRule::default();
    assert_eq!(
        refused(Ranges::by_rule(&rule, 256, 3).unwrap()),
        "select: expected ranges of at most 2 levels, found 3"
    );
    assert!(
        refused(Ranges::by_rule(&rule, 512, 2).unwrap())
            .contains("expected ranges for a spacing of 256/256 m")
    );
}

#[test]
fn batches_change_nothing() {
    // Ranges so wide that three views fill a batch.
    let samples = [32 * 300 + 1, 32 * 300 + 1];
    let rule = RangeRule { factor: 5000, ..RangeRule::default() };
    let ranges = Ranges::by_rule(&rule, 256, 10).unwrap();
    let views: Vec<View> =
        (0..7).map(|i| View { x_256: i * 300_000, z_256: 2_000_000 - i * 100_000 }).collect();
    let all = selected(whole(samples, 256), ranges.clone(), &views);
    assert_eq!(all.views(), 7);
    for (i, &view) in views.iter().enumerate() {
        let one = selected(whole(samples, 256), ranges.clone(), &[view]);
        assert!(one.of(0) == all.of(i) && one.of(0).len() > 10_000, "{i}");
        assert!(one.of(0).is_sorted());
    }
}
