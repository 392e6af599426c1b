use super::*;
use crate::compute::CpuCompute;
use crate::config::Diagonal;
use crate::kernel::select::ranges::RangeRule;
use crate::pass::select::Node;

#[test]
fn what_does_not_fit_together_is_refused_with_what_was_expected_and_found() {
    let ranges = Ranges::by_rule(&RangeRule::default(), 256, 2).unwrap();
    let frame = Frame { spacing_256: 256, extent: [0, 0, 64, 40], diagonal: Diagonal::Main };
    let node = Node { level: 0, z: 1, x: 1, quarter_mask: 0, has_holes: false };
    let patch = vec![0; PATCH_WORDS];
    let view = View { x_256: 0, z_256: 0 };
    let only = |node: Node| {
        let mut selected = Selected::default();
        selected.push([node]);
        selected
    };
    let (selected, views) = (only(node), [view]);
    let good = Drawn { frame, views: &views, ranges: &ranges, selected: &selected, patches: &patch };
    let ask = |drawn: Drawn<'_>| {
        let mut out = Vec::new();
        evaluate(&CpuCompute::new(), drawn, Topology::Ordinary, &mut Scratch::default(), &mut out)
            .map(|()| out.len())
    };
    assert_eq!(ask(good), Ok(34 * 34 * 3));
    let said = |drawn: Drawn<'_>, what: &str| {
        let why = ask(drawn).unwrap_err().to_string();
        assert!(why.starts_with("vertex: expected ") && why.contains(what), "{why}");
    };
    said(Drawn { patches: &patch[1..], ..good }, "1153 words of samples for each of 1 nodes, found 1152");
    said(Drawn { frame: Frame { spacing_256: 255, ..frame }, ..good }, "found 255/256 m");
    said(Drawn { frame: Frame { extent: [0, 0, 1 << 17, 3], ..frame }, ..good }, "fewer than 2^17 cells");
    said(Drawn { frame: Frame { extent: [9, 9, 9, 10], ..frame }, ..good }, "found 9,9 to 9,10");
    said(Drawn { views: &[], ..good }, "the nodes of 0 views, at most 65536, found those of 1");
    for bad in
        [Node { x: 2, ..node }, Node { z: 2, ..node }, Node { level: 2, ..node }, Node { level: 255, ..node }]
    {
        said(Drawn { selected: &only(bad), ..good }, "of 2 levels, found level");
    }
}
