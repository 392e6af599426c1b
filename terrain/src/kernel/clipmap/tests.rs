use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

#[test]
fn the_articles_example_wraps_forwards_and_backwards() {
    // N = 8, at slot 6: two pages on is slot 0, one back slot 5.
    let at = Centre { logical: [10, 10], physical: [6, 6], rest: [0, 0] };
    let page = 256 * 16;
    let moved = at.moved([12 * page + 5, 9 * page + 4095], page as u32, 8);
    assert_eq!(moved, Centre { logical: [12, 9], physical: [0, 5], rest: [5, 4095] });
    // West and north of the source's corner the remainder stays positive.
    let moved = at.moved([-1, -page], page as u32, 8);
    assert_eq!(moved, Centre { logical: [-1, -1], physical: [3, 3], rest: [4095, 0] });
}

#[test]
fn fine_mips_move_more_pages_than_coarse_ones_and_each_by_itself() {
    let step = 256;
    let mut centres = [Centre::default(); 4];
    for (mip, centre) in centres.iter_mut().enumerate() {
        *centre = centre.moved([7 * 256 + 3, 0], step << mip, 8);
    }
    assert_eq!(centres.map(|c| c.logical[0]), [7, 3, 1, 0]);
    assert_eq!(centres.map(|c| c.physical[0]), [7, 3, 1, 0]);
    // One page on, across a border of the third mip: 7 → 8.
    let moved: Vec<i32> =
        centres.iter().enumerate().map(|(mip, c)| c.moved([8 * 256, 0], step << mip, 8).logical[0]).collect();
    assert_eq!(moved, [8, 4, 2, 1]);
}

#[test]
fn source_and_slots_wrap_by_numbers_of_their_own() {
    let source = SourceMip { pages: [10, 10], anchor: None };
    let centre = Centre { logical: [9, 0], physical: [2, 3], rest: [0, 0] };
    let at = |x, z| slot([x, z], &centre, &source, 4);
    assert_eq!(at(9, 0), Some([2, 3]));
    // East of the last page comes the first: Δ = −9 is 1 the other way round.
    assert_eq!(at(0, 0).map(|s| s[0]), Some(3));
    assert_eq!(at(8, 0).map(|s| s[0]), Some(1));
    assert_eq!(at(7, 0).map(|s| s[0]), Some(0));
    // −2 ≤ Δ < 2: four slots.
    assert_eq!((at(6, 0), at(1, 0)), (None, None));
    // A window as wide as its source holds all of it.
    let all = SourceMip { pages: [4, 4], anchor: None };
    let mut slots: Vec<_> = (0..4).map(|x| slot([x, 0], &centre, &all, 4).unwrap()[0]).collect();
    slots.sort_unstable();
    assert_eq!(slots, [0, 1, 2, 3]);
}

#[test]
fn the_coarsest_mip_keeps_its_anchor_wherever_the_view_is() {
    let source = SourceMip { pages: [3, 3], anchor: Some([5, 0]) };
    let mut centre = Centre { logical: [0, 0], physical: [5, 0], rest: [0, 0] };
    for x in -20..20 {
        centre = centre.moved([x * 1000, x * -777], 256, 8);
        let slots: Vec<_> = (0..3).map(|p| slot([p, 0], &centre, &source, 8).unwrap()[0]).collect();
        assert_eq!(slots, [5, 6, 7]);
        assert_eq!(slot([-1, 3], &centre, &source, 8), Some([7, 0]));
    }
}

proptest! {
    /// However a view moves about, the pages of its window have slots of their own, and a page that stays in the window
    /// stays in its slot: nothing is copied because the view has moved.
    #[test]
    fn a_page_keeps_its_slot_while_the_window_holds_it(
        slots in 1u32..12,
        steps in prop::collection::vec((-40_000i32..40_000, -40_000i32..40_000), 1..30),
    ) {
        let source = SourceMip { pages: [10_000, 10_000], anchor: None };
        let mut centre = Centre { logical: [50, 50], physical: [0, 0], rest: [0, 0] };
        let mut held: BTreeMap<[i32; 2], [u32; 2]> = BTreeMap::new();
        let mut position = [50 * 4096_i32; 2];
        for (dx, dz) in steps {
            position = [(position[0] + dx).max(0), (position[1] + dz).max(0)];
            centre = centre.moved(position, 4096, slots);
            let mut now = BTreeMap::new();
            let half = slots as i32 / 2;
            for z in -half..slots as i32 - half {
                for x in -half..slots as i32 - half {
                    let page = [centre.logical[0] + x, centre.logical[1] + z];
                    now.insert(page, slot(page, &centre, &source, slots).expect("the window holds it"));
                }
            }
            let mut used: Vec<_> = now.values().copied().collect();
            used.sort_unstable();
            used.dedup();
            prop_assert_eq!(used.len() as u32, slots * slots);
            for (page, slot) in &held {
                if let Some(again) = now.get(page) {
                    prop_assert_eq!(again, slot);
                }
            }
            held = now;
        }
    }
}

#[test]
fn pages_are_copied_into_their_slots_and_nothing_else_changes() {
    // Slots of 2 × 3 words, 3 a side.
    let pages: Vec<u32> = (0..18).map(|i| 100 + i).collect();
    let mut texture = vec![7; 54];
    COPY.call(&[3, 2, 3, 3], [&pages, &[4, NOWHERE, 2]], [&mut texture]);
    for (i, word) in texture.iter().enumerate() {
        let (x, z) = (i % 6, i / 6);
        let (slot, within) = (x / 2 + z / 3 * 3, x % 2 + z % 3 * 2);
        let expected = match slot {
            4 => 100 + within as u32,
            2 => 112 + within as u32,
            _ => 7,
        };
        assert_eq!(*word, expected, "{x} {z}");
    }
}
