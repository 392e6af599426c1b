use super::nodes::{NodeState, Nodes};
use super::ranges::{Band, RangeRule, Ranges};
use super::*;
use crate::config::TerrainConfig;
use crate::coord::CellRect;

#[test]
fn distances_to_a_box_are_those_of_the_article() {
    // max(|view - centre| - half, 0), in whole units.
    for at in -40..60_i64 {
        let (low, high) = (4, 14);
        let article = ((at - 9).abs() - 5).max(0);
        assert_eq!(i64::from(gap(low, high, at)), article, "{at}");
    }
    assert_eq!(gap(0, 1, -(1 << 40)), FARTHEST);
    assert_eq!(gap(0, 1, i64::from(FARTHEST) + 1), FARTHEST);
    assert_eq!(gap(0, 1, i64::from(FARTHEST)), FARTHEST - 1);
}

fn metres(range: u32, start: u32, end: u32) -> Band {
    Band { range: range * 256, start: start * 256, end: end * 256 }
}

#[test]
fn ranges_that_would_crack_are_refused_in_a_line_that_says_which() {
    // A node of level 0 is 32 m a side: its diagonal is 45.25… m.
    let good = vec![metres(96, 72, 96), metres(192, 142, 192)];
    assert!(Ranges::new(256, good.clone()).is_ok());
    let refused = |bands: Vec<Band>, said: &str| {
        let why = Ranges::new(256, bands).unwrap_err().to_string();
        assert!(why.contains(said) && !why.contains('\n'), "{why}");
    };
    refused(vec![], "1 to 13 levels, found 0");
    refused(vec![metres(96, 72, 96); 14], "found 14");
    refused(vec![metres(0, 0, 0)], "level 0: its range must be more than 0");
    refused(vec![Band { range: FARTHEST + 1, start: 0, end: 9 }], "level 0: its range");
    refused(vec![metres(96, 96, 96)], "must begin before it ends");
    refused(vec![metres(96, 70, 97)], "end within its range of 96 m, found 70 m to 97 m");
    refused(vec![good[0], metres(96, 72, 96)], "longer than that of level 0, 96 m");
    refused(
        vec![good[0], metres(192, 141, 192)],
        "level 1: its morph band begins at 141 m, but nodes of level 0 reach 141.",
    );
    // To the unit: 32 m · √2 is 11585.23… units, so a node reaches 11586.
    let reach = 96 * 256 + 11586;
    let at = |start| vec![good[0], Band { range: 192 * 256, start, end: 192 * 256 }];
    assert!(Ranges::new(256, at(reach)).is_ok());
    assert!(Ranges::new(256, at(reach - 1)).is_err());
}

#[test]
fn a_rule_doubles_adds_and_refuses() {
    let rule = RangeRule { factor: 96, additions_256: vec![100, 700], morph_256: 128, unlimited: false };
    let ranges = Ranges::by_rule(&rule, 512, 3).unwrap();
    let found: Vec<[u32; 3]> = ranges.bands().iter().map(|b| [b.range, b.start, b.end]).collect();
    assert_eq!(found, [[49252, 24626, 49252], [99004, 74128, 99004], [196_608, 147_806, 196_608]]);
    assert!(Ranges::by_rule(&RangeRule { morph_256: 0, ..rule.clone() }, 512, 3).is_err());
    assert!(Ranges::by_rule(&RangeRule { morph_256: 257, ..rule.clone() }, 512, 3).is_err());
    assert!(Ranges::by_rule(&rule, 512, 1).is_err(), "more terms than levels");
    // A single term that leaves no room for the next level's band.
    let far = RangeRule { additions_256: vec![60_000], ..rule.clone() };
    assert!(Ranges::by_rule(&far, 512, 3).unwrap_err().to_string().starts_with("level 1:"));
    assert!(
        Ranges::by_rule(&RangeRule { factor: 46, ..rule }, 512, 3).is_err(),
        "a node's diagonal is 45.3 samples"
    );
    for spacing in [1, 77, 65536] {
        for levels in 1..=13 {
            let all = Ranges::by_rule(&RangeRule::default(), spacing, levels);
            // At 256 m a sample the longest ranges leave what a terrain can be.
            match all {
                Ok(all) => assert_eq!(all.bands()[levels as usize - 1].range, FARTHEST),
                Err(e) => assert!(spacing == 65536 && levels > 9, "{spacing} {levels} {e}"),
            }
        }
    }
}

#[test]
fn states_join_upwards_and_end_with_the_extent() {
    let mut config = TerrainConfig::new([200, 100], 256);
    config.extent = CellRect { x0: 33, z0: 0, x1: 161, z1: 64 };
    let mut asked = Vec::new();
    let nodes = Nodes::new(&config, |x, z| {
        asked.push((x, z));
        match (x, z) {
            (1, 0) => NodeState::Hidden,
            (2, _) | (3, _) => NodeState::Whole,
            (4, _) => NodeState::Hidden,
            (5, 0) => NodeState::Holes,
            _ => NodeState::Hidden,
        }
    });
    // Columns 1 to 5 and rows 0 and 1 meet the extent.
    assert_eq!(asked.len(), 10);
    assert_eq!((nodes.levels(), nodes.size(0), nodes.size(1), nodes.size(2)), (4, [7, 4], [4, 2], [2, 1]));
    assert_eq!([0, 1, 2, 3].map(|l| nodes.first(l)), [0, 28, 36, 38]);
    use NodeState::{Hidden, Holes, Whole};
    assert_eq!([0, 1, 2, 3].map(|x| nodes.state(1, x, 0)), [Hidden, Whole, Holes, Hidden]);
    assert_eq!([0, 1].map(|x| nodes.state(2, x, 0)), [Holes, Holes]);
    assert_eq!(nodes.state(3, 0, 0), Holes);
    assert_eq!(nodes.words().len(), 3);
}
