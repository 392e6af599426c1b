//! What ground costs by its physical material.

use super::*;
use crate::content::{PhysicalMaterial, Plane, PlaneKind};
use crate::kernel::weight_mip::HdTexel;
use crate::store::{BlockSource, WithPlanes};
use crate::surface::PlaneChoice;

const NAMES: [&str; 3] = ["grass", "ice", "paved"];

fn named(names: &[&str]) -> Vec<String> {
    names.iter().map(|&n| n.to_owned()).collect()
}

/// Flat ground of 96×64 cells; `material` by cell, two layers by columns.
fn flat(material: impl Fn(i32, i32) -> u8) -> Arc<dyn BlockSource> {
    let config = TerrainConfig::new([97, 65], 256);
    let mut raster = Raster::from_heights(config, vec![0; 97 * 65]);
    raster.catalogue.materials =
        NAMES.iter().map(|n| PhysicalMaterial { name: (*n).into(), ..PhysicalMaterial::default() }).collect();
    let cells = || (0..96 * 64).map(|i| (i % 96, i / 96));
    let values = cells().map(|(x, z)| material(x, z)).collect();
    raster.set_plane(Plane { kind: PlaneKind::PhysicalMaterial, values });
    let texels: Vec<HdTexel> =
        cells().map(|(x, _)| HdTexel { id1: (x / 48) as u8, id2: (x / 48) as u8, ratio: 0 }).collect();
    raster.set_hd_weights(&["meadow", "bog"], &texels);
    MemoryTerrain::new(raster, BlockSide::S32).shared()
}

fn with_materials(source: &Arc<dyn BlockSource>) -> Ground {
    let planes = PlaneChoice { materials: true, ..PlaneChoice::NONE };
    Ground::all_of(&WithPlanes::new(source.clone(), planes)).unwrap()
}

fn config(materials: &[(&str, u8)]) -> NavConfig {
    NavConfig {
        agents: vec![AgentKind { radius_m: 0.3, slope_cost: 0, ..AgentKind::default() }],
        layer_cost: [("meadow".to_owned(), 12), ("bog".to_owned(), 100)].into(),
        material_cost: materials.iter().map(|&(n, c)| (n.to_owned(), c)).collect(),
        ..NavConfig::default()
    }
}

#[test]
fn a_weight_is_the_layers_and_what_the_material_adds_to_plain_ground() {
    let source = flat(|x, z| ((x * 7 + z * 3) % 3) as u8);
    let ground = with_materials(&source);
    let config = config(&[("ice", 60), ("paved", 3)]);
    let rules =
        NavRules::with_materials(&config, ground.config(), &named(&["meadow", "bog"]), &named(&NAMES))
            .unwrap();
    assert!(rules.asks_for_materials());
    let nav = Nav::of(&ground, &rules);
    let mut seen = BTreeMap::new();
    for z in 1..63 {
        for x in 1..95 {
            let material = (x * 7 + z * 3) % 3;
            // By hand: 12 or 100, and 0, +44 or −13 from 16; within 1 to 127.
            let expected = match (x < 48, material) {
                (true, 0) => 12,
                (true, 1) => 56,
                (true, _) => 1,
                (false, 0) => 100,
                (false, 1) => 127,
                (false, _) => 87,
            };
            assert_eq!(nav.weight(0, CellPos::new(x, z)), Some((expected, false)), "({x}, {z})");
            *seen.entry(expected).or_insert(0) += 1;
        }
    }
    assert_eq!(seen.len(), 6);
    // Where the plane is not loaded all is plain; without names or costs nobody asks.
    let bare = Nav::of(&Ground::all_of(&*source).unwrap(), &rules);
    assert_eq!(bare.weight(0, CellPos::new(10, 10)), Some((12, false)));
    let layers = named(&["meadow", "bog"]);
    assert!(!NavRules::new(&config, ground.config(), &layers).unwrap().asks_for_materials());
}

#[test]
fn ways_go_round_dear_material_and_the_hierarchy_agrees() {
    // A strip of ice over the whole height but for a gap in the south.
    let source = flat(|x, z| u8::from((20..24).contains(&x) && z < 52));
    let ground = with_materials(&source);
    let query = |nav: &Nav, method| {
        let mut path = Path::default();
        let query = PathQuery { method, ..PathQuery::new(0, CellPos::new(10, 10), CellPos::new(34, 10)) };
        assert_eq!(PathSearch::new().find(nav, &query, &mut path), Answer::Path);
        path
    };
    let nav = |cost: u8| {
        let config = config(&[("ice", cost)]);
        let layers = named(&["meadow", "bog"]);
        let rules = NavRules::with_materials(&config, ground.config(), &layers, &named(&NAMES)).unwrap();
        Nav::of(&ground, &rules)
    };
    let (plain, dear) = (nav(16), nav(127));
    for method in [Method::Exact, Method::Hierarchy] {
        assert!(query(&plain, method).cells.iter().all(|c| c.z == 10));
    }
    let around = query(&dear, Method::Exact);
    // Straight through: 20 steps on grass, 3 on ice and two between, in twelfths of both weights.
    let through = 12 * (19 * 24 + 2 * (12 + 123) + 3 * 246);
    let far = query(&plain, Method::Exact).cost;
    assert_eq!(far, 12 * 24 * 24);
    assert!(around.cost <= through, "{} and {through}", around.cost);
    let ice = |path: &Path| path.cells.iter().filter(|c| (20..24).contains(&c.x) && c.z < 52).count();
    // 42 rows down and up again are dearer than four cells of ice: only where ice costs more is it gone round.
    assert_eq!(ice(&around), 4);
    assert_eq!(around.cost, through);
    let wide = flat(|x, z| u8::from((16..30).contains(&x) && z < 20));
    let ground = with_materials(&wide);
    let config = config(&[("ice", 127)]);
    let layers = named(&["meadow", "bog"]);
    let rules = NavRules::with_materials(&config, ground.config(), &layers, &named(&NAMES)).unwrap();
    let nav = Nav::of(&ground, &rules);
    for method in [Method::Exact, Method::Hierarchy] {
        let path = query(&nav, method);
        assert!(path.cells.iter().all(|c| !(16..30).contains(&c.x) || c.z >= 20), "{path:?}");
    }
}

#[test]
fn a_change_of_material_alone_is_followed() {
    let (old, new) = (flat(|_, _| 0), flat(|x, z| u8::from((40..44).contains(&x) && (30..40).contains(&z))));
    let (before, after) = (with_materials(&old), with_materials(&new));
    let config = config(&[("ice", 90)]);
    let layers = named(&["meadow", "bog"]);
    let rules = NavRules::with_materials(&config, before.config(), &layers, &named(&NAMES)).unwrap();
    let changed = CellRect { x0: 40, z0: 30, x1: 44, z1: 40 };
    let (whole, updated) = (Nav::of(&after, &rules), Nav::of(&before, &rules).updated(&after, &[changed]));
    assert!(whole == updated);
    assert!(whole != Nav::of(&before, &rules));
}

#[test]
fn a_material_cost_out_of_range_is_refused_by_name() {
    for bad in [0, 128] {
        let error = config(&[("ice", bad)]).check().unwrap_err().to_string();
        assert!(error.contains("material_cost[\"ice\"] must be 1 to 127"), "{error}");
    }
}
