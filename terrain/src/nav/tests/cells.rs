//! Walkable cells against their definition, cell by cell, in exact integers over the raster.

use super::*;
use crate::store::BlockSource;

/// What a cell is by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    Carries,
    Blocked,
    Unknown,
}

/// The definition, without code of the module.
struct Brute<'a> {
    raster: &'a Raster,
    side: BlockSide,
    slots: &'a BTreeMap<BlockPos, u8>,
    kind: &'a AgentKind,
}

const ABSENT: u8 = 1;
const FAILED: u8 = 2;

impl Brute<'_> {
    fn slot(&self, c: CellPos) -> u8 {
        self.slots.get(&self.side.block_of_cell(c)).copied().unwrap_or(0)
    }

    fn whole(&self, c: CellPos) -> bool {
        self.raster.config.extent.contains(c) && self.slot(c) == 0 && self.raster.cell_mask(c) == 3
    }

    fn is_absent(&self, c: CellPos) -> bool {
        self.raster.config.extent.contains(c) && self.slot(c) == ABSENT
    }

    /// By the cross product of edges, all in 2⁻¹² m.
    fn too_steep(&self, c: CellPos) -> bool {
        let config = &self.raster.config;
        let tan = libm::tan(self.kind.slope_limit_deg.to_radians());
        let limit = (tan * tan * 4_294_967_296.0 + 0.5).floor() as i128;
        Triangle::BOTH.into_iter().any(|t| {
            let [a, b, d] = t.corners(config.diagonal.is_anti(c)).map(|(dx, dz)| {
                let p = c.corner(dx, dz);
                let y = i128::from(self.raster.quanta(p)) << (12 - config.quantum.get());
                let s = i128::from(config.spacing_256) * 16;
                [i128::from(p.x) * s, y, i128::from(p.z) * s]
            });
            let (u, v): ([i128; 3], [i128; 3]) =
                (std::array::from_fn(|i| b[i] - a[i]), std::array::from_fn(|i| d[i] - a[i]));
            let n = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
            // In units that divide evenly: both squares stay below 2¹²⁷ after halving the shift.
            let level = n[0] * n[0] + n[2] * n[2];
            assert!(level < 1 << 94 && n[1] * n[1] < 1 << 82);
            level << 32 > limit * n[1] * n[1]
        })
    }

    fn base(&self, c: CellPos) -> (Base, bool) {
        if self.is_absent(c) {
            return (Base::Unknown, false);
        }
        if !self.whole(c) {
            return (Base::Blocked, false);
        }
        if !self.too_steep(c) {
            return (Base::Carries, false);
        }
        let config = &self.raster.config;
        let tan = libm::tan(self.kind.slope_limit_deg.to_radians());
        let width = (self.kind.step_height_m / tan * 65_536.0).ceil() as i64;
        let m = (width / (i64::from(config.spacing_256) * 256)) as i32 + 1;
        let (mut heights, mut unknown) = (Vec::new(), false);
        for z in c.z - m..=c.z + m {
            for x in c.x - m..=c.x + m {
                let near = CellPos::new(x, z);
                if self.is_absent(near) {
                    unknown = true;
                } else if !self.whole(near) {
                    return (Base::Blocked, false);
                } else {
                    heights.extend(
                        [(0, 0), (1, 0), (0, 1), (1, 1)]
                            .map(|(dx, dz)| self.raster.quanta(near.corner(dx, dz))),
                    );
                }
            }
        }
        let range = i64::from(heights.iter().max().unwrap() - heights.iter().min().unwrap());
        let step = self.kind.step_height_m * config.quantum.per_metre() as f64;
        if (2 * range * range) as f64 > step * step {
            (Base::Blocked, false)
        } else if unknown {
            (Base::Unknown, false)
        } else {
            (Base::Carries, true)
        }
    }

    fn state(&self, c: CellPos, base: &BTreeMap<(i32, i32), (Base, bool)>) -> (CellState, bool) {
        match self.slot(c) {
            _ if !self.raster.config.extent.contains(c) => return (CellState::Outside, false),
            ABSENT => return (CellState::Unknown, false),
            FAILED => return (CellState::Failed, false),
            _ => {}
        }
        let s = i128::from(self.raster.config.spacing_256) * 256;
        let r = (self.kind.radius_m * 65_536.0).ceil() as i128;
        let reach = (r / s) as i32 + 1;
        let mut state = CellState::Walkable;
        for z in c.z - reach..=c.z + reach {
            for x in c.x - reach..=c.x + reach {
                // From the centre to the nearest point of the square, in halves of a lattice unit.
                let gap = |own: i32, other: i32| {
                    let centre = (2 * i128::from(own) + 1) * s;
                    let (low, high) = (2 * i128::from(other) * s, 2 * i128::from(other + 1) * s);
                    (low - centre).max(centre - high).max(0)
                };
                let squared = gap(c.x, x).pow(2) + gap(c.z, z).pow(2);
                if squared >= 4 * r * r && (x, z) != (c.x, c.z) {
                    continue;
                }
                match base.get(&(x, z)).map_or(Base::Blocked, |b| b.0) {
                    Base::Carries => {}
                    Base::Blocked => return (CellState::Blocked, false),
                    Base::Unknown => state = CellState::Unknown,
                }
            }
        }
        (state, state == CellState::Walkable && base[&(c.x, c.z)].1)
    }

    fn check(&self, nav: &Nav, agent: usize) -> BTreeMap<&'static str, u32> {
        let [w, h] = self.raster.config.cells();
        let all = || (-2..h + 2).flat_map(move |z| (-2..w + 2).map(move |x| CellPos::new(x, z)));
        let base = all().map(|c| ((c.x, c.z), self.base(c))).collect();
        let mut counts = BTreeMap::new();
        for c in all() {
            let (state, flank) = self.state(c, &base);
            assert_eq!(nav.cell(agent, c), state, "{c:?} of {:?}", self.kind);
            assert_eq!(nav.weight(agent, c).is_some_and(|w| w.1), flank, "{c:?} of {:?}", self.kind);
            let name = match state {
                CellState::Walkable if flank => "flank",
                CellState::Walkable => "walkable",
                CellState::Blocked => "blocked",
                CellState::Unknown => "unknown",
                CellState::Failed => "failed",
                CellState::Outside => "outside",
            };
            *counts.entry(name).or_default() += 1;
        }
        counts
    }
}

fn kinds(spacing_m: f64) -> Vec<AgentKind> {
    vec![
        agent("walker", 0.345, 0.35, 45.0),
        agent("point", 0.0, 0.35, 30.0),
        agent("half a cell", spacing_m * 0.5, 0.2, 50.0),
        agent("a little more", spacing_m * 0.51, 0.5, 45.0),
        agent("wide", spacing_m * 3.3, 1.0, 60.0),
    ]
}

/// Ground with some blocks absent and some failed.
fn with_gaps(terrain: &MemoryTerrain, slots: &BTreeMap<BlockPos, u8>) -> Ground {
    let changes: Vec<_> = slots
        .iter()
        .map(|(&pos, &slot)| (pos, if slot == ABSENT { Slot::Absent } else { Slot::Failed }))
        .collect();
    terrain.ground_all().with_changes(&changes)
}

/// The same ground as level terraces of irregular outline, steps of one to two tenths of a metre between them.
fn terraces(terrain: &MemoryTerrain, seed: u64) -> MemoryTerrain {
    let mut raster = terrain.raster().clone();
    let [w, _] = raster.config.samples;
    let quantum = raster.config.quantum;
    let rise = quantum.from_metres(0.1 + 0.1 * hash(seed, 0, 0)).unwrap().0;
    for (i, q) in raster.heights.iter_mut().enumerate() {
        let (x, z) = (i as i32 % w as i32, i as i32 / w as i32);
        *q = rise * (3.9 * noise(seed, x, z, 40)) as i32;
    }
    MemoryTerrain::new(raster, terrain.block_side())
}

#[test]
fn walkable_cells_are_those_of_the_definition() {
    let mut r = Random(seed("definition"));
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    for turn in 0..8 * scale() {
        // 1/16 m to 2 m; the finest ones have flanks several cells wide.
        let spacing = [16, 32, 64, 128, 256, 512][r.below(if turn % 3 == 1 { 3 } else { 6 }) as usize];
        let side = [BlockSide::S32, BlockSide::S64][turn as usize % 2];
        let mut terrain = rough(r.next(), [110, 75], side, spacing, [0.3, 0.7, 1.2][r.below(3) as usize]);
        if turn % 3 == 1 {
            terrain = terraces(&terrain, r.next());
        }
        let mut slots = BTreeMap::new();
        for _ in 0..turn % 4 {
            let [w, h] = terrain.raster().config.blocks(side);
            let pos = BlockPos::new(r.below(w.into()) as i32, r.below(h.into()) as i32);
            slots.insert(pos, [ABSENT, ABSENT, FAILED][r.below(3) as usize]);
        }
        let ground = with_gaps(&terrain, &slots);
        let kinds = kinds(ground.config().spacing_m());
        // A kind that this lattice is too fine for is refused, and said so.
        let (kinds, refused): (Vec<_>, Vec<_>) = kinds.into_iter().partition(|k| {
            let config = NavConfig { agents: vec![k.clone()], ..NavConfig::default() };
            NavRules::new(&config, ground.config(), &[]).is_ok()
        });
        assert!(
            refused.iter().all(|k| k.radius_m + k.step_height_m * 2.0 > 31.0 * ground.config().spacing_m())
        );
        let rules = rules(&ground, kinds.clone());
        let nav = Nav::of(&ground, &rules);
        for (agent, kind) in kinds.iter().enumerate() {
            let brute = Brute { raster: terrain.raster(), side, slots: &slots, kind };
            for (name, count) in brute.check(&nav, agent) {
                *seen.entry(name).or_default() += count;
            }
        }
    }
    println!("{seen:?}");
    for (name, least) in
        [("walkable", 500), ("blocked", 500), ("unknown", 500), ("outside", 500), ("flank", 1)]
    {
        assert!(seen.get(name).is_some_and(|&n| n >= least), "{name}: {seen:?}");
    }
}

#[test]
fn steps_are_flanks_where_they_are_low_enough() {
    // A plateau over flat ground: one cell of 1/8 m is its flank, 60° to 75° steep.
    for (height, passable) in [(0.22, true), (0.24, true), (0.26, false), (0.5, false)] {
        let terrain = MemoryTerrain::from_fn(
            [64, 64],
            BlockSide::S32,
            |c| {
                c.spacing_256 = 32;
                c.quantum = 12.try_into().unwrap();
            },
            |x, _| if x > 30 { height } else { 0.0 },
        );
        let ground = terrain.ground_all();
        let nav = Nav::of(&ground, &rules(&ground, vec![agent("a", 0.1, 0.35, 45.0)]));
        let state = nav.cell(0, CellPos::new(30, 30));
        // 0.35 m over √2 is 0.2475 m.
        assert_eq!(state == CellState::Walkable, passable, "{height}: {state:?}");
        assert_eq!(nav.weight(0, CellPos::new(30, 30)).is_some_and(|w| w.1), passable);
        assert_eq!(nav.cell(0, CellPos::new(20, 30)), CellState::Walkable);
    }
}

/// Every triangle that the disc around a point meets is of a cell that carries, if the centres around the point are
/// walkable: by distances in floating point, away from rounding.
#[test]
fn the_disc_between_walkable_centres_touches_only_ground_that_carries() {
    let mut r = Random(seed("disc"));
    let mut checked = 0;
    for _ in 0..6 {
        let terrain = rough(r.next(), [70, 70], BlockSide::S32, 256, 0.5);
        let ground = terrain.ground_all();
        let radius = [0.3, 0.5, 0.8, 1.7][r.below(4) as usize];
        let kinds = vec![agent("disc", radius, 0.1, 40.0), agent("cell", 0.0, 0.1, 40.0)];
        let nav = Nav::of(&ground, &rules(&ground, kinds));
        for _ in 0..4000 {
            let (cx, cz) = (r.below(66) as i32, r.below(66) as i32);
            let free = |dx: i32, dz: i32| nav.cell(0, CellPos::new(cx + dx, cz + dz)) == CellState::Walkable;
            let (fx, fz) = (r.below(1001) as f64 / 1000.0, r.below(1001) as f64 / 1000.0);
            let (fx, fz) = if free(0, 0) && free(1, 0) && free(0, 1) && free(1, 1) {
                (fx, fz)
            } else if free(0, 0) && free(1, 0) {
                (fx, 0.0)
            } else if free(0, 0) && free(0, 1) {
                (0.0, fz)
            } else {
                continue;
            };
            checked += 1;
            let (px, pz) = (f64::from(cx) + 0.5 + fx, f64::from(cz) + 0.5 + fz);
            for z in cz - 3..cz + 5 {
                for x in cx - 3..cx + 5 {
                    let gap = |p: f64, c: i32| (f64::from(c) - p).max(p - f64::from(c) - 1.0).max(0.0);
                    if gap(px, x) * gap(px, x) + gap(pz, z) * gap(pz, z) < radius * radius - 1e-6 {
                        let cell = CellPos::new(x, z);
                        assert_eq!(nav.cell(1, cell), CellState::Walkable, "({px}, {pz}) touches {cell:?}");
                    }
                }
            }
        }
    }
    assert!(checked > 1000, "{checked}");
}

#[test]
fn updates_give_what_a_full_build_gives() {
    let mut r = Random(seed("updates"));
    let mut changed_cells = 0u64;
    for _ in 0..3 * scale() {
        let spacing = [32, 64, 256][r.below(3) as usize];
        let mut terrain = rough(r.next(), [140, 100], BlockSide::S32, spacing, 0.6);
        if spacing < 256 {
            terrain = terraces(&terrain, r.next());
        }
        let mut slots: BTreeMap<BlockPos, u8> = BTreeMap::new();
        let mut ground = with_gaps(&terrain, &slots);
        let kinds = kinds(ground.config().spacing_m());
        let kinds: Vec<_> = kinds.into_iter().filter(|k| k.step_height_m <= 0.5 || spacing > 32).collect();
        let rules = rules(&ground, kinds);
        let mut nav = Nav::of(&ground, &rules);
        for _ in 0..12 {
            let mut changed = Vec::new();
            if r.below(3) == 0 {
                let pos = BlockPos::new(r.below(5) as i32, r.below(4) as i32);
                match r.below(3) as u8 {
                    0 => slots.remove(&pos),
                    slot => slots.insert(pos, slot),
                };
                let first = BlockSide::S32.first_sample(pos);
                changed.push(CellRect { x0: first.x, z0: first.z, x1: first.x + 32, z1: first.z + 32 });
            } else {
                // Raise or lower some samples and dig a hole: the cells around the samples change.
                let mut raster = terrain.raster().clone();
                let (x0, z0) = (r.below(130) as i32, r.below(90) as i32);
                let (w, h) = (1 + r.below(6) as i32, 1 + r.below(6) as i32);
                let by = r.below(400) as i32 - 200;
                for z in z0..z0 + h {
                    for x in x0..x0 + w {
                        raster.heights[(z * 140 + x) as usize] += by;
                    }
                }
                if raster.config.extent.contains(CellPos::new(x0, z0)) {
                    raster.mask[(z0 * 139 + x0) as usize] = r.below(4) as u8;
                }
                terrain = MemoryTerrain::new(raster, BlockSide::S32);
                changed.push(CellRect { x0: x0 - 1, z0: z0 - 1, x1: x0 + w, z1: z0 + h });
            }
            ground = with_gaps(&terrain, &slots);
            let next = nav.updated(&ground, &changed);
            assert!(next == Nav::of(&ground, &rules), "{changed:?}");
            let differ = |agent: usize| {
                (0..99)
                    .flat_map(|z| (0..139).map(move |x| CellPos::new(x, z)))
                    .filter(|&c| nav.cell(agent, c) != next.cell(agent, c))
                    .count() as u64
            };
            changed_cells += differ(0);
            nav = next;
        }
    }
    assert!(changed_cells > 100, "edits changed only {changed_cells} cells");
}

#[test]
fn more_ground_never_changes_what_is_walkable_or_blocked() {
    let mut r = Random(seed("more ground"));
    let terrain = rough(r.next(), [140, 140], BlockSide::S32, 64, 0.6);
    let mut slots: BTreeMap<BlockPos, u8> = (0..25).map(|i| (BlockPos::new(i % 5, i / 5), ABSENT)).collect();
    let ground = with_gaps(&terrain, &slots);
    let rules = rules(&ground, vec![agent("a", 0.6, 0.35, 45.0)]);
    let mut nav = Nav::of(&ground, &rules);
    let all = || (0..139).flat_map(|z| (0..139).map(move |x| CellPos::new(x, z)));
    assert!(all().all(|c| matches!(nav.cell(0, c), CellState::Unknown | CellState::Outside)));
    while !slots.is_empty() {
        let pos = *slots.keys().nth(r.below(slots.len() as u64) as usize).unwrap();
        slots.remove(&pos);
        let next = Nav::of(&with_gaps(&terrain, &slots), &rules);
        for c in all() {
            let (before, after) = (nav.cell(0, c), next.cell(0, c));
            assert!(before == after || before == CellState::Unknown, "{c:?}: {before:?} became {after:?}");
        }
        nav = next;
    }
    assert!(all().all(|c| nav.cell(0, c) != CellState::Unknown));
}

#[test]
fn weights_are_layers_slopes_and_flanks() {
    // 20° up along x: a share of tan²20° / tan²45° = 0.1325 of the slope's cost.
    let rise = libm::tan(20.0_f64.to_radians());
    let terrain = MemoryTerrain::from_fn(
        [64, 64],
        BlockSide::S32,
        |c| c.quantum = 12.try_into().unwrap(),
        |x, _| f64::from(x) * rise,
    );
    let mut raster = terrain.raster().clone();
    let texels: Vec<_> = (0..63 * 63)
        .map(|i| crate::kernel::weight_mip::HdTexel { id1: (i % 63 / 20) as u8, id2: 0, ratio: 0 })
        .collect();
    raster.set_hd_weights(&["meadow", "scree", "rock", "mud"], &texels);
    let ground = MemoryTerrain::new(raster, BlockSide::S32).ground_all();
    let mut config = NavConfig { agents: vec![agent("a", 0.3, 0.3, 45.0)], ..NavConfig::default() };
    config.agents[0].slope_cost = 60;
    config.layer_cost = [("scree".to_owned(), 24), ("mud".to_owned(), 90), ("bog".to_owned(), 3)].into();
    let names = ["meadow", "scree", "rock", "mud"].map(str::to_owned);
    let nav = Nav::of(&ground, &NavRules::new(&config, ground.config(), &names).unwrap());
    for (x, layer) in [(5, 16), (25, 24), (45, 16), (61, 90)] {
        assert_eq!(nav.weight(0, CellPos::new(x, 9)), Some((layer + 7, false)), "{x}");
    }
    // No layer of this terrain is cheaper than plain ground: the bog is not there.
    assert_eq!(nav.rules().least, 16);
}

#[test]
fn configurations_are_read_from_ron_and_checked() {
    let text = r#"(
        agents: [
            (name: "walker", radius_m: 0.345, step_height_m: 0.35, slope_limit_deg: 45.0),
            (name: "cart", radius_m: 1.2, step_height_m: 0.1, slope_limit_deg: 20.0, slope_cost: 40),
        ],
        layer_cost: { "meadow": 16, "scree": 40 },
        budget: (max_settled: 200000, max_sectors: 512),
    )"#;
    let config = NavConfig::from_ron(text).unwrap();
    assert_eq!((config.agents.len(), config.agents[1].flank_cost), (2, 16));
    assert_eq!(NavConfig::from_ron(&ron::to_string(&config).unwrap()).unwrap(), config);
    for (from, to, says) in [
        ("\"cart\"", "\"walker\"", "unique"),
        ("\"cart\"", "\"\"", "1 to 64 bytes"),
        ("radius_m: 1.2", "radius_m: -1.2", "radius_m must be 0 to 100, found -1.2"),
        ("radius_m: 1.2", "radius_m: NaN", "radius_m must be 0 to 100"),
        ("slope_limit_deg: 20.0", "slope_limit_deg: 90.0", "slope_limit_deg must be 1 to 89"),
        ("slope_cost: 40", "slope_cost: 64", "slope_cost must be 0 to 63"),
        ("\"scree\": 40", "\"scree\": 0", "layer_cost[\"scree\"] must be 1 to 127"),
        ("max_settled: 200000", "max_settled: 0", "max_settled must be 1 to 4194304"),
        ("max_sectors: 512", "max_sectors: 0", "max_sectors must be 1 to"),
        ("radius_m: 1.2", "radius: 1.2", "4:28"),
    ] {
        let error = NavConfig::from_ron(&text.replace(from, to)).unwrap_err().to_string();
        assert!(error.contains(says), "{to}: {error}");
    }
    // What a lattice cannot carry is refused with the cells it would take.
    let fine = TerrainConfig::new([64, 64], 4);
    let error = NavRules::new(&config, &fine, &[]).unwrap_err().to_string();
    assert!(error.contains("\"walker\"") && error.contains("at most 32 cells"), "{error}");
    assert!(NavRules::new(&NavConfig::default(), &fine, &[]).is_err());
}
