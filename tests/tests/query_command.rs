//! `highground query rays`, and the further fields of `query heights`, as a user runs them.

use highground_terrain::config::TerrainConfig;
use highground_terrain::content::{PhysicalMaterial, Plane, PlaneKind};
use highground_terrain::coord::{BlockPos, BlockSide};
use highground_terrain::format::payload::Section;
use highground_terrain::store::{PayloadFile, Raster, WriteOptions, write_payload};
use highground_tests::highground;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Output;

/// A slope of one in four to the east, 70 × 40 m, with one hole, two materials, a channel, and a metre of water.
fn terrain(folder: &Path) -> PathBuf {
    let mut raster =
        Raster::from_heights(TerrainConfig::new([71, 41], 256), (0..71 * 41).map(|i| i % 71 * 32).collect());
    raster.mask[10 * 70 + 20] = 0;
    raster.catalogue.layers = vec![highground_terrain::content::Layer::named("grass")];
    raster.catalogue.layers[0].tag = "soft".into();
    let named = |name: &str| PhysicalMaterial { name: name.into(), ..Default::default() };
    raster.catalogue.materials = vec![named("earth"), named("ice")];
    raster.catalogue.user_channels = vec!["noise".into()];
    let cells = |f: fn(usize) -> u8| (0..70 * 40).map(f).collect();
    raster.set_plane(Plane { kind: PlaneKind::PhysicalMaterial, values: cells(|i| u8::from(i % 70 >= 35)) });
    raster.set_plane(Plane { kind: PlaneKind::User(0), values: cells(|i| (i % 70) as u8) });
    let water = (0..71 * 41).flat_map(|_| 128u32.to_le_bytes()).collect();
    raster.set_plane(Plane { kind: PlaneKind::WaterDepth, values: water });
    let path = folder.join("slope.terrain");
    write_payload(&raster, &WriteOptions::new(BlockSide::S32, "{}", 0.0), &path).unwrap();
    path
}

fn query(terrain: &Path, arguments: &[&str], input: &str) -> Output {
    let file = terrain.with_extension("csv");
    std::fs::write(&file, input).unwrap();
    let mut command = highground();
    command.arg("query").arg(terrain).args(arguments).arg(&file);
    command.output().unwrap()
}

fn lines(output: &Output) -> Vec<Value> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    text.lines().map(|l| serde_json::from_str(l).unwrap()).collect()
}

#[test]
fn rays_are_answered_one_json_line_each() {
    let folder = tempfile::tempdir().unwrap();
    let terrain = terrain(folder.path());
    let rays = "8.25,50,4.5,0,-2,0,100\n 20.5, 50, 10.5, 0, -1, 0, 100\n0,20,5.5,3,0,0,100\n-5,1,5,-1,0,0,9\n8,-9,4,0,1,0,100\n";
    let output = query(&terrain, &["rays", "--json", "--rays"], rays);
    assert!(output.status.success(), "{output:?}");
    let found = lines(&output);
    assert_eq!(found.len(), 5);
    let n = [-0.25, 1.0, 0.0].map(|v: f64| v / 1.0625f64.sqrt());
    let normal = |v: &Value| {
        v["normal"].as_array().unwrap().iter().zip(n).all(|(v, n)| (v.as_f64().unwrap() - n).abs() < 1e-12)
    };
    // Straight down: the height is a quarter of x.
    assert_eq!((&found[0]["hit"], &found[0]["state"]), (&json!(true), &json!("hit")));
    assert_eq!((&found[0]["t"], &found[0]["point"]), (&json!(47.9375), &json!([8.25, 2.0625, 4.5])));
    assert_eq!(
        (&found[0]["cell"], &found[0]["triangle"], &found[0]["front"]),
        (&json!([8, 4]), &json!(1), &json!(true))
    );
    assert!(normal(&found[0]));
    // Through the hole.
    let nothing = json!({"hit": false, "state": "miss", "t": null, "point": null, "normal": null, "front": null,
        "cell": null, "triangle": null});
    assert_eq!(found[1], nothing);
    // Level, 20 m up: it would meet the slope at x = 80, beyond the map.
    assert_eq!((&found[2], &found[3]), (&nothing, &nothing));
    // From below.
    assert_eq!(
        (&found[4]["front"], &found[4]["t"], &found[4]["state"]),
        (&json!(false), &json!(11.0), &json!("hit"))
    );
}

#[test]
fn bad_rays_are_one_line_and_status_2() {
    let folder = tempfile::tempdir().unwrap();
    let terrain = terrain(folder.path());
    for (input, says) in [
        ("1,2,3\n", "expected \"ox,oy,oz,dx,dy,dz,max\""),
        ("1,2,3,0,0,0,5\n", "direction"),
        ("1,2,3,0,1,0,-5\n", "length"),
        ("1,2,nan,0,1,0,5\n", "finite"),
    ] {
        let output = query(&terrain, &["rays", "--rays"], input);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
        assert!(said.contains(says) && said.contains("csv:1:"), "{said}");
    }
    let help = highground().args(["query", "x", "rays", "--help"]).output().unwrap();
    assert!(help.status.success() && String::from_utf8(help.stdout).unwrap().contains("Example"));
}

#[test]
fn rays_into_a_damaged_block_are_failed_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let terrain = terrain(folder.path());
    let span = PayloadFile::open(&terrain).unwrap().span(BlockPos::new(2, 0), Section::Height).unwrap();
    let mut bytes = std::fs::read(&terrain).unwrap();
    bytes[span.start as usize] ^= 1;
    std::fs::write(&terrain, bytes).unwrap();
    let output = query(&terrain, &["rays", "--rays"], "2,30,5,1,-0.6,0,100\n2,30,5,0,-1,0,100\n");
    let found = lines(&output);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!((&found[0]["state"], &found[1]["state"]), (&json!("failed"), &json!("hit")));
    assert!(String::from_utf8(output.stderr).unwrap().contains("block (2, 0)"));
}

#[test]
fn heights_say_more_when_they_are_asked() {
    let folder = tempfile::tempdir().unwrap();
    let terrain = terrain(folder.path());
    let fields = "--fields=smooth-normal,layer-tag,water-depth,material,weight:0,user:0";
    let found = lines(&query(&terrain, &["heights", fields, "--points"], "36.5,7\n20.5,10.5\n"));
    assert_eq!((&found[0]["height_m"], &found[0]["layer_tag"]), (&json!(9.125), &json!("soft")));
    assert_eq!((&found[0]["water_depth_m"], &found[0]["material"]), (&json!(1.0), &json!("ice")));
    assert_eq!((&found[0]["weight_0"], &found[0]["user_0"]), (&json!(255), &json!(36)));
    // On a plane all normals are one.
    assert_eq!(found[0]["smooth_normal"], found[0]["normal"]);
    assert_eq!((&found[1]["state"], &found[1]["material"]), (&json!("hole"), &Value::Null));
    assert!(found[1].as_object().unwrap().contains_key("user_0"));
    let plain = lines(&query(&terrain, &["heights", "--points"], "36.5,7\n"));
    assert_eq!(plain[0].as_object().unwrap().len(), 8);
    let wrong = query(&terrain, &["heights", "--fields=colour", "--points"], "1,1\n");
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn physical_holes_are_holes_to_heights_and_rays_and_half_of_a_cell_is_half_of_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut raster = Raster::from_heights(TerrainConfig::new([71, 41], 256), vec![128; 71 * 41]);
    // Wholly at a block's border, and triangle 0 of the cell beside it: of Main, the one towards east.
    let values =
        (0..70 * 40).map(|i| if i == 10 * 70 + 31 { 3 } else { u8::from(i == 10 * 70 + 33) }).collect();
    raster.set_plane(Plane { kind: PlaneKind::PhysicalHole, values });
    let path = folder.path().join("holed.terrain");
    write_payload(&raster, &WriteOptions::new(BlockSide::S32, "{}", 0.0), &path).unwrap();
    let rays =
        "31.5,9,10.25,0,-1,0,20\n32.5,9,10.25,0,-1,0,20\n33.75,9,10.25,0,-1,0,20\n33.25,9,10.75,0,-1,0,20\n";
    let output = query(&path, &["rays", "--json", "--rays"], rays);
    assert!(output.status.success(), "{output:?}");
    let hits: Vec<Value> = lines(&output).iter().map(|l| l["hit"].clone()).collect();
    assert_eq!(hits, [json!(false), json!(true), json!(false), json!(true)]);
    let points = "31.5,10.25\n32.5,10.25\n33.75,10.25\n33.25,10.75\n";
    let output = query(&path, &["heights", "--json", "--points"], points);
    assert!(output.status.success(), "{output:?}");
    let states: Vec<Value> = lines(&output).iter().map(|l| l["state"].clone()).collect();
    assert_eq!(states, [json!("hole"), json!("valid"), json!("hole"), json!("valid")]);
}
