use super::*;
use crate::compute::CpuCompute;
use crate::config::{Diagonal, TerrainConfig};
use crate::coord::{BlockSide, CellRect};
use crate::height::VOID;
use crate::kernel::select::nodes::NodeState;
use crate::kernel::select::ranges::{RangeRule, Ranges};
use crate::pass::select::{Node, Selected, Selector, View};
use crate::state::AnswerState;
use crate::store::{MemoryTerrain, Raster};
use crate::surface::{Ground, PointAnswer};

/// 300 × 211 samples of anything, with holes, half holes, a void and an extent; placed away from the origin.
fn raster(diagonal: Diagonal) -> Raster {
    let mut config = TerrainConfig::new([300, 211], 512);
    config.diagonal = diagonal;
    config.extent = CellRect { x0: 5, z0: 0, x1: 290, z1: 203 };
    config.placement = crate::config::Placement { x: -40, z: 7, y: 300 };
    let mut state = 5_u64;
    let mut random = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as i32
    };
    let mut heights: Vec<i32> = (0..300 * 211).map(|_| random() % 4000 - 2000).collect();
    heights[100 * 300 + 150] = VOID;
    let mut raster = Raster::from_heights(config, heights);
    let cells = 299;
    for _ in 0..300 {
        raster.mask[random() as usize % (cells * 210)] = (random() % 3) as u8;
    }
    // A node that shows nothing.
    for z in 64..96 {
        raster.mask[z * cells + 32..z * cells + 64].fill(0);
    }
    raster.remove_hidden();
    raster
}

struct World {
    ground: Ground,
    drawable: Drawable,
    selector: Selector,
}

fn world(diagonal: Diagonal) -> World {
    let ground = MemoryTerrain::new(raster(diagonal), BlockSide::S64).ground_all();
    let drawable = Drawable::new(ground.clone(), [7; 32]).unwrap();
    let ranges = Ranges::by_rule(&RangeRule { factor: 92, ..RangeRule::default() }, 512, 4).unwrap();
    let selector = Selector::new(drawable.nodes().clone(), ranges).unwrap();
    World { ground, drawable, selector }
}

impl World {
    fn view(&self, x: f64, z: f64) -> View {
        View::in_world(self.ground.config(), x, z).unwrap()
    }

    fn receipt(&mut self, views: &[(u64, View)]) -> Receipt {
        let mut selected = Selected::default();
        let places: Vec<View> = views.iter().map(|v| v.1).collect();
        self.selector.select(&CpuCompute::new(), &places, &mut selected).unwrap();
        let drawn: Vec<(u64, View, &[Node])> =
            views.iter().enumerate().map(|(i, &(key, view))| (key, view, selected.of(i))).collect();
        let window = self.ground.config().extent;
        Receipt::new(&self.drawable, 33, window, self.selector.ranges(), &drawn).unwrap()
    }
}

fn at(x: f64, z: f64) -> Question {
    Question { x, z, ..Question::default() }
}

/// Places over the terrain and around it, in the world; one in four on a sample.
fn places(count: u64) -> impl Iterator<Item = (f64, f64)> {
    (0..count).map(|n| {
        let part = |p: u64, side: u64| {
            let v = (n.wrapping_mul(p) % (side * 4096)) as f64 / 4096.0;
            if n % 4 == 0 { v.floor() } else { v }
        };
        (part(1_299_709, 620) - 90.0, part(15_485_863, 440))
    })
}

#[test]
fn where_nothing_morphs_a_receipt_answers_as_the_ground_does() {
    for diagonal in [Diagonal::Main, Diagonal::Anti, Diagonal::Checkerboard] {
        let mut w = world(diagonal);
        // All of it at level 0, seen from so near that nothing has begun to morph.
        let ranges =
            Ranges::by_rule(&RangeRule { factor: 4000, morph_256: 1, ..RangeRule::default() }, 512, 4)
                .unwrap();
        w.selector = Selector::new(w.drawable.nodes().clone(), ranges).unwrap();
        let view = w.view(200.0, 200.0);
        let receipt = w.receipt(&[(1, view)]);
        assert!(receipt.views()[0].nodes().iter().all(|n| n.level == 0));
        let mut kinds = [0; 3];
        for (x, z) in places(20_000) {
            let point = w.ground.point(x, z).unwrap();
            match (receipt.ask(&at(x, z)), point) {
                (Ok(DrawnAnswer::Visible(drawn)), PointAnswer { ground: Some(ground), .. }) => {
                    kinds[0] += 1;
                    assert!((drawn.height_m - ground.height).abs() < 1e-9, "{x} {z}: {drawn:?} {ground:?}");
                    if x.fract() != 0.0 && z.fract() != 0.0 {
                        assert!((drawn.normal - ground.normal).length() < 1e-12, "{x} {z}");
                    }
                }
                (Ok(DrawnAnswer::Hole), PointAnswer { state: AnswerState::Hole, .. }) => kinds[1] += 1,
                // A node that shows nothing is not drawn.
                (Err(ReceiptError::Undrawn), PointAnswer { state: AnswerState::Hole, .. }) => kinds[1] += 1,
                (Ok(DrawnAnswer::Outside), PointAnswer { state: AnswerState::Outside, .. }) => kinds[2] += 1,
                (drawn, ground) => panic!("{x} {z}: {drawn:?} {ground:?}"),
            }
        }
        assert!(kinds.iter().all(|&k| k > 100), "{kinds:?}");
    }
}

#[test]
fn answers_lie_on_drawn_triangles_and_holes_stay_where_level_0_has_them() {
    for diagonal in [Diagonal::Main, Diagonal::Anti, Diagonal::Checkerboard] {
        let mut w = world(diagonal);
        let view = w.view(-60.0, 40.0);
        let receipt = w.receipt(&[(1, view)]);
        let (mut levels, mut moved) = ([0; 4], 0);
        for (x, z) in places(20_000) {
            let ground = w.ground.point(x, z).unwrap();
            match receipt.ask(&at(x, z)) {
                Ok(DrawnAnswer::Visible(p)) => {
                    assert!(matches!(ground.state, AnswerState::Valid), "{x} {z}");
                    levels[usize::from(p.node.level)] += 1;
                    // By f64 from the three vertices.
                    let place = |v: crate::kernel::vertex::Vertex| {
                        let [ox, oy, oz] = w.ground.config().origin_m();
                        [
                            ox + f64::from(v.x) / 64.0,
                            oy + f64::from(v.height) / 16384.0,
                            oz + f64::from(v.z) / 64.0,
                        ]
                    };
                    let [a, b, c] = p.vertices.map(place);
                    let cross = |a: [f64; 3], b: [f64; 3], c: [f64; 3]| {
                        (b[0] - a[0]) * (c[2] - a[2]) - (b[2] - a[2]) * (c[0] - a[0])
                    };
                    let q = [x, 0.0, z];
                    let area = cross(a, b, c);
                    let weights = [cross(q, b, c), cross(a, q, c), cross(a, b, q)].map(|w| w / area);
                    assert!(weights.iter().all(|w| *w > -1e-3), "{x} {z} {weights:?} {p:?}");
                    let height: f64 = weights.iter().zip([a, b, c]).map(|(w, v)| w * v[1]).sum();
                    assert!((height - p.height_m).abs() < 2e-2, "{x} {z}: {height} {}", p.height_m);
                    moved += usize::from(p.vertices.iter().any(|v| v.x % 128 != 0));
                }
                Ok(DrawnAnswer::Hole) | Err(ReceiptError::Undrawn) => {
                    assert!(matches!(ground.state, AnswerState::Hole), "{x} {z}")
                }
                Ok(DrawnAnswer::Outside) => assert!(matches!(ground.state, AnswerState::Outside)),
                Err(e) => panic!("{x} {z}: {e}"),
            }
        }
        assert!(levels[..3].iter().all(|&l| l > 200) && moved > 1000, "{levels:?} {moved}");
    }
}

#[test]
fn neighbours_are_the_coarsest_levels_across_each_side() {
    let mut w = world(Diagonal::Main);
    let view = w.view(-60.0, 40.0);
    let receipt = w.receipt(&[(1, view)]);
    let drawn = &receipt.views()[0];
    let mut uneven = 0;
    for (n, around) in drawn.nodes().iter().zip(drawn.neighbours()) {
        // Brute force: every drawn level-0 cell just across the side.
        let side = 32_i64 << n.level;
        let (x0, z0) = (i64::from(n.x) * side, i64::from(n.z) * side);
        for (i, &level) in around.iter().enumerate() {
            let cells = (0..side).map(|d| match i {
                0 => (x0 - 1, z0 + d),
                1 => (x0 + side, z0 + d),
                2 => (x0 + d, z0 - 1),
                _ => (x0 + d, z0 + side),
            });
            let levels = cells.filter_map(|(x, z)| {
                let covers = |m: &&Node| {
                    let side = 32_i64 << m.level;
                    let (dx, dz) = (x - i64::from(m.x) * side, z - i64::from(m.z) * side);
                    let inside = dx >= 0 && dz >= 0 && dx < side && dz < side;
                    inside && m.quarter_mask >> (dx * 2 / side + dz * 2 / side * 2) & 1 == 0
                };
                drawn.nodes().iter().find(covers).map(|m| m.level)
            });
            assert_eq!(level, levels.max().unwrap_or(NO_NEIGHBOUR), "{n:?} side {i}");
            uneven += usize::from(level != n.level && level != NO_NEIGHBOUR);
        }
    }
    assert!(uneven > 3);
}

#[test]
fn every_way_to_have_no_answer_has_a_name_of_its_own() {
    let mut w = world(Diagonal::Main);
    let place = w.view(-60.0, 40.0);
    let one = w.receipt(&[(4, place)]);
    let two = w.receipt(&[(4, place), (2, w.view(300.0, 300.0))]);
    assert_eq!(two.views().iter().map(DrawnView::key).collect::<Vec<_>>(), [2, 4]);
    let none = w.receipt(&[]);
    let mut receipts = Receipts::new(1);
    let asked = at(100.0, 100.0);
    let pending = receipts.begin();
    assert_eq!(receipts.ask(pending, &asked), Err(ReceiptError::Pending));
    let rejected = receipts.begin();
    receipts.reject(rejected, "the queue is full").unwrap();
    assert_eq!(receipts.ask(rejected, &asked), Err(ReceiptError::Rejected("the queue is full".into())));
    let failed = receipts.begin();
    receipts.fail(failed, "device lost").unwrap();
    assert_eq!(receipts.ask(failed, &asked), Err(ReceiptError::Failed("device lost".into())));
    assert_eq!(receipts.complete(failed, one.clone()), Err(ReceiptError::Settled));
    let foreign = Receipts::new(2).begin();
    assert_eq!(receipts.ask(foreign, &asked), Err(ReceiptError::Foreign));
    assert_eq!(receipts.complete(foreign, one.clone()), Err(ReceiptError::Foreign));
    receipts.complete(pending, one.clone()).unwrap();
    assert!(matches!(receipts.ask(pending, &asked), Ok(DrawnAnswer::Visible(_))));
    // Views.
    let both = receipts.begin();
    receipts.complete(both, two).unwrap();
    assert_eq!(receipts.ask(both, &asked), Err(ReceiptError::MissingView(2)));
    let ask = |view| receipts.ask(both, &Question { view: Some(view), ..asked });
    assert_eq!(ask(3), Err(ReceiptError::UnknownView(3)));
    let (Ok(DrawnAnswer::Visible(a)), Ok(DrawnAnswer::Visible(b))) = (ask(2), ask(4)) else { panic!() };
    assert_ne!(a.vertices, b.vertices);
    // Digests.
    let expecting = |d: u8| Question { expected_digest: Some([d; 32]), ..asked };
    assert!(receipts.ask(pending, &expecting(7)).is_ok());
    let unexpected = receipts.ask(pending, &expecting(8)).unwrap_err();
    assert_eq!(unexpected, ReceiptError::UnexpectedDigest { expected: [8; 32], found: [7; 32] });
    assert!(unexpected.to_string().contains(&"08".repeat(32)));
    // Undrawn: no view at all, and beyond the ranges.
    let empty = receipts.begin();
    receipts.complete(empty, none).unwrap();
    assert_eq!(receipts.ask(empty, &asked), Err(ReceiptError::Undrawn));
    assert!(matches!(receipts.ask(pending, &at(f64::NAN, 0.0)), Err(ReceiptError::Position(_))));
    // Only eight are kept, the oldest frames go first; whoever holds one keeps it.
    let held = std::sync::Arc::clone(receipts.get(pending).unwrap());
    let more: Vec<ReceiptId> = (0..6).map(|_| receipts.begin()).collect();
    for &id in &more[1..] {
        receipts.complete(id, one.clone()).unwrap();
    }
    assert!(receipts.get(pending).is_ok(), "eight");
    assert!(receipts.bytes() > 7 * one.bytes());
    receipts.complete(more[0], one.clone()).unwrap();
    assert_eq!(receipts.ask(pending, &asked), Err(ReceiptError::Expired));
    assert!(receipts.get(both).is_ok() && receipts.get(more[5]).is_ok());
    // A new generation.
    let late = receipts.begin();
    receipts.renew();
    assert_eq!(receipts.ask(late, &asked), Err(ReceiptError::Stale));
    assert_eq!(receipts.complete(late, one.clone()), Err(ReceiptError::Stale));
    assert_eq!(receipts.ask(more[3], &asked), Err(ReceiptError::Stale));
    assert_eq!(receipts.ask(rejected, &asked), Err(ReceiptError::Rejected("the queue is full".into())));
    let fresh = receipts.begin();
    receipts.complete(fresh, one).unwrap();
    assert!(receipts.get(fresh).is_ok());
    for _ in 0..100 {
        receipts.begin();
    }
    assert_eq!(receipts.ask(fresh, &asked), Err(ReceiptError::Expired));
    // The world is gone, the answer is not.
    drop((w, receipts));
    assert!(matches!(held.ask(&asked), Ok(DrawnAnswer::Visible(_))));
}

#[test]
fn beyond_the_last_range_nothing_was_drawn() {
    let mut w = world(Diagonal::Main);
    let rule = RangeRule { factor: 92, unlimited: false, ..RangeRule::default() };
    w.selector = Selector::new(w.drawable.nodes().clone(), Ranges::by_rule(&rule, 512, 1).unwrap()).unwrap();
    let receipt = w.receipt(&[(0, w.view(-60.0, 40.0))]);
    assert!(matches!(receipt.ask(&at(-61.0, 41.0)), Ok(DrawnAnswer::Visible(_))));
    assert_eq!(receipt.ask(&at(450.0, 400.0)), Err(ReceiptError::Undrawn));
}

#[test]
fn a_receipt_reads_back_and_damaged_bytes_are_refused() {
    let mut w = world(Diagonal::Checkerboard);
    let receipt = w.receipt(&[(4, w.view(-60.0, 40.0)), (9, w.view(500.0, 40.0))]);
    let bytes = receipt.encode();
    assert_eq!(Receipt::decode(&bytes), Ok(receipt.clone()));
    let refused = |bytes: &[u8]| match Receipt::decode(bytes) {
        Err(ReceiptError::Malformed(why)) => why,
        other => panic!("{other:?}"),
    };
    for cut in [0, 7, 31, 32, 40, 100, 200, bytes.len() - 1] {
        refused(&bytes[..cut]);
    }
    // With the checksum set right again, whatever a byte of the head is changed to is read or refused, never a panic.
    let seal = |mut bytes: Vec<u8>| {
        let body = bytes.len() - 32;
        let sum = *blake3::hash(&bytes[..body]).as_bytes();
        bytes[body..].copy_from_slice(&sum);
        bytes
    };
    let (mut read, mut not) = (0, 0);
    for at in (0..260).chain((260..bytes.len()).step_by(509)) {
        for flip in [1, 0x80, 0xFF] {
            let mut other = bytes.clone();
            other[at] ^= flip;
            refused(&other);
            match Receipt::decode(&seal(other)) {
                Ok(other) => {
                    read += 1;
                    for (x, z) in places(5) {
                        let _ = other.ask(&Question { view: Some(9), ..self::at(x, z) });
                    }
                }
                Err(ReceiptError::Malformed(_)) => not += 1,
                Err(e) => panic!("{e}"),
            }
        }
    }
    assert!(read > 100 && not > 100, "{read} {not}");
    // Counts that the bytes do not bear out.
    for at in [8 + 4 + 8 + 32 + 12 + 44 + 4 + 4 * 12, 8 + 4 + 8 + 32 + 12 + 44 + 4 + 4 * 12 + 4] {
        let mut other = bytes.clone();
        other[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
        let why = refused(&seal(other));
        assert!(why.contains("4294967295 entries"), "{why}");
    }
}

#[test]
fn what_a_receipt_is_made_of_has_to_fit() {
    let mut w = world(Diagonal::Main);
    let (view, window) = (w.view(0.0, 0.0), w.ground.config().extent);
    let mut selected = Selected::default();
    w.selector.select(&CpuCompute::new(), &[view], &mut selected).unwrap();
    let nodes = selected.of(0);
    let make = |window, views: &[(u64, View, &[Node])]| {
        Receipt::new(&w.drawable, 0, window, w.selector.ranges(), views).unwrap_err().to_string()
    };
    let reversed: Vec<Node> = nodes.iter().rev().copied().collect();
    assert!(make(window, &[(0, view, &reversed)]).contains("canonical order"));
    assert!(make(window, &[(0, view, nodes), (0, view, nodes)]).contains("each view key once"));
    assert!(make(CellRect { x1: window.x0, ..window }, &[]).contains("a window of some cells"));
    let hidden = Node { level: 0, z: 2, x: 1, quarter_mask: 0, has_holes: true };
    assert_eq!(w.drawable.nodes().state(0, 1, 2), NodeState::Hidden);
    assert!(make(window, &[(0, view, &[hidden])]).contains("no node of this terrain that shows anything"));
    assert!(make(window, &[(0, view, &[Node { level: 9, ..hidden }])]).contains("no node"));
}

#[test]
fn ground_that_is_not_there_is_not_drawn() {
    let config = TerrainConfig::new([65, 65], 256);
    let empty = Ground::empty(&config, BlockSide::S32);
    let why = Drawable::new(empty, [0; 32]).unwrap_err();
    assert_eq!(why.to_string(), "block (0, 0) is not resident");
    let voids = MemoryTerrain::new(Raster::from_heights(config, vec![VOID; 65 * 65]), BlockSide::S32);
    assert_eq!(Drawable::new(voids.ground_all(), [0; 32]).unwrap_err(), LodError::NoSample);
}
