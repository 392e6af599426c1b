//! Faults that real users of terrain and game servers reported, by the number they have in the project's list, and the
//! test that holds each kind here. What has no test elsewhere stands below the table.
//!
//! | fault | held by |
//! |---|---|
//! | 1 flat ground instead of missing heights | `tests/tests/session.rs::ground_that_cannot_be_read_holds_bodies_for_ever_and_never_becomes_flat`, `terrain/src/surface/query.rs::absent_ground_is_pending_and_never_flat`, `tests/tests/payload.rs::every_flipped_bit_is_refused` |
//! | 2 falling through in the tick of the load | `tests/tests/session.rs::a_character_spawned_in_the_load_tick_is_held_until_published_and_never_falls`, `tests/tests/session.rs::a_player_teleported_to_an_unloaded_place_is_gated_and_walks_on`, `tests/tests/acceptance.rs::players_ten_kilometres_apart_stand_and_one_sent_to_unloaded_ground_waits_and_walks_on` (players and balls on slopes); no time-out: 1 |
//! | 3 collision coarser than the ground | `tests/tests/acceptance.rs::players_ten_kilometres_apart_stand_and_one_sent_to_unloaded_ground_waits_and_walks_on`: the feet of both against the file's integers |
//! | 4 collision follows one player | `tests/tests/session.rs::two_players_far_apart_both_stand_and_shared_blocks_survive_the_others_leaving`, `tests/tests/acceptance.rs::players_ten_kilometres_apart_stand_and_one_sent_to_unloaded_ground_waits_and_walks_on` (a ray under each), `tests/tests/session.rs::players_created_in_another_order_give_the_same_run` |
//! | 5 mesh and physics split a quad differently | `saddles_have_one_height_in_the_middle_whoever_asks`, `terrain/src/surface/query.rs::a_saddle_is_split_not_bilinear` |
//! | 6 heights inside a hole's edge | `around_a_hole_every_answer_ends_at_the_same_rim`, `terrain/src/surface/query.rs::heights_agree_with_brute_force_over_all_triangles`; rims under level of detail: none exists yet |
//! | 7 a lip at a lone block's far edge | `a_lone_block_has_no_lip_at_its_far_edges` |
//! | 8 rays that slip between cells | `terrain/src/collide/ray_tests.rs::vertical_rays_hit_every_vertex_edge_and_diagonal_at_the_point_height`, `terrain/src/collide/ray_tests.rs::positions_that_slipped_between_cells_elsewhere_are_answered`, `terrain/src/collide/ray_tests.rs::slanted_rays_through_vertices_and_along_edges_never_slip_through` |
//! | 9 bumps at flush seams | `tests/tests/collider.rs::frictionless_bodies_never_feel_a_flush_seam`, `tests/tests/collider.rs::the_same_steps_far_from_the_origin_are_as_smooth` |
//! | 10 "unsupported" taken for "no contact" | `terrain/src/collide/query_tests.rs::no_query_the_engine_asks_about_a_supported_shape_is_unsupported`, `terrain/src/collide/query_tests.rs::a_custom_shape_that_nothing_is_known_of_is_unsupported_and_never_no_contact` |
//! | 11 NaN and infinity in heights | `terrain/src/height.rs::heights_round_half_up_and_refuse_what_does_not_fit`, `terrain/src/import/grid.rs::what_is_no_number_is_named_with_what_to_pass`, `tests/tests/import_door.rs::no_numbers_are_voids_only_where_they_are_called_so`, `terrain/src/import/quantise.rs::what_does_not_fit_names_its_sample_and_what_to_pass`, `terrain/src/import/scale.rs::odd_ranges_and_scales_are_refused` |
//! | 12 grounded and airborne in turn on flat ground | `game/src/walker/tests.rs::walking_and_standing_on_flat_ground_never_leaves_it` (10,000 ticks) |
//! | 13 thin and fast bodies falling through | `tests/tests/collider.rs::thin_slabs_thrown_down_stay_above_the_ground`, `tests/tests/collider.rs::fast_balls_do_not_pass_the_ground`, `tests/tests/collider.rs::fast_bodies_of_every_shape_stop_at_the_ground` |
//! | 14 removed ground leaves physics or bodies behind | `tests/tests/session.rs::a_thousand_window_moves_leave_counts_and_bytes_where_they_began`, `terrain/src/collide/query_tests.rs::removed_ground_leaves_no_manifold_behind`, `tests/tests/collider.rs::sleeping_bodies_fall_when_their_ground_is_swapped_away_and_others_sleep_on` |
//! | 15 far from the origin everything is coarsest | there is no selection yet; of what exists: `game/src/walker/tests.rs::far_from_the_origin_a_walker_stands_as_exactly`, `tests/tests/collider.rs::the_same_steps_far_from_the_origin_are_as_smooth` |
//! | 16 voids blended into spikes | `no_triangle_ray_or_body_knows_a_height_of_a_void`, `terrain/src/import/georef.rs::a_plane_stays_a_plane_and_voids_never_blend`, `tests/tests/import.rs::crop_and_nodata_and_void_policies_do_what_they_say`, `tests/tests/payload.rs::a_triangle_over_a_void_is_not_written` |
//! | 18 absurd bounds, spacings and sizes | `tests/tests/import.rs::images_that_claim_more_than_they_hold_are_refused`, `tests/tests/import_memory.rs::huge_claims_take_no_memory`, `terrain/src/config.rs::what_the_arithmetic_cannot_carry_is_refused`, `wild_inputs_stop_no_tick_and_touch_nobody_else` |
//! | 21 the order of creation changes the result | `tests/tests/session.rs::players_created_in_another_order_give_the_same_run`, `tests/tests/session.rs::threads_cache_budgets_and_load_order_change_nothing` |
//! | 25 "desync" and nothing more | `tests/tests/session.rs::a_flipped_bit_names_tick_system_entity_and_component` |
//! | 29 one malformed message stops the server | there are no messages yet; of what exists: `wild_inputs_stop_no_tick_and_touch_nobody_else`, `tests/tests/session.rs::inputs_that_make_no_sense_are_refused_and_counted`, `game/src/replay/mod.rs::a_recording_reads_back_and_every_flipped_bit_is_refused`, `tests/tests/demo.rs::a_damaged_recording_is_one_line_and_status_2` |
//! | 32 byte order guessed wrong | `tests/tests/import.rs::swapped_bytes_are_refused_and_said`, `terrain/src/import/hgt.rs::swapped_bytes_are_told_from_extreme_heights`, `terrain/src/import/raw.rs::a_slope_from_north_to_south_alone_tells_the_byte_order` |
//! | 33 everything else that sources do | rows from the south: `terrain/src/import/tiff/tests.rs::south_up_is_turned_and_what_is_turned_otherwise_is_refused`, `terrain/src/import/raw.rs::rows_from_the_south_are_turned`, `terrain/src/import/npy/tests.rs::ascending_latitudes_turn_the_rows_and_descending_longitudes_the_columns`; columns first: `terrain/src/import/npy/tests.rs::a_long_column_wise_array_is_turned_across_buffers`; nodata undeclared, NaN, 0 or huge: `tests/tests/import_door.rs::values_that_often_mean_no_data_are_pointed_out`, `terrain/src/import/tiff/sample.rs::nodata_is_compared_in_the_samples_own_type`, `terrain/src/import/asc.rs::a_missing_nodata_line_means_esris_own_value_only_where_it_occurs`; oblong pixels and registration: `tests/tests/import_door.rs::the_file_s_own_place_decides_the_spacing`; 8 bits, interlace, alpha, palettes, gamma: `terrain/src/import/png/tests.rs::grey_of_every_depth_keeps_its_levels_plain_and_interlaced`, `terrain/src/import/png/tests.rs::alpha_0_and_the_transparent_grey_are_void`, `terrain/src/import/png/tests.rs::palettes_and_sizes_that_cannot_be_are_refused`; half floats: `terrain/src/import/npy/tests.rs::half_precision_is_exact`; weights that do not sum to 255: `tests/tests/folder.rs::splat_weights_that_do_not_sum_to_255_are_scaled_and_said`; archives: `terrain/src/import/npy/tests.rs::archives_that_promise_more_than_they_can_hold_are_refused`, `tests/tests/import_door.rs::odd_archives_are_refused_for_what_they_are` |
//!
//! The others (17, 19, 20, 22 to 24, 26 to 28, 30, 31) are about edits, checkpoints, the network and scatter, which do not
//! exist yet.

use glam::DVec3;
use highground_game::component::{Ball, NetId};
use highground_game::config::{RuntimeConfig, SessionConfig};
use highground_game::input::Input;
use highground_game::physics::Physics;
use highground_game::publication::Arrivals;
use highground_game::session::{Map, Session};
use highground_game::walker::{self, WalkerConfig};
use highground_terrain::collide::{RayAnswer, SharedGround, TerrainShape};
use highground_terrain::config::{Diagonal, TerrainConfig};
use highground_terrain::coord::BlockSide;
use highground_terrain::height::VOID;
use highground_terrain::state::AnswerState;
use highground_terrain::store::{MemoryTerrain, Raster};
use highground_terrain::surface::Ground;
use parry3d_f64::query::{Ray, RayCast};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Metres at which a ray straight down from 1000 m meets the ground, both asked directly and through the engine's
/// shape, which must agree to the last bit.
fn struck(ground: &Ground, x: f64, z: f64) -> Option<f64> {
    let start = DVec3::new(x, 1000.0, z);
    let own = match ground.cast_ray(start, -DVec3::Y, 2000.0).unwrap() {
        RayAnswer::Hit(hit) => {
            assert!(hit.front);
            Some(hit.point.y)
        }
        answer => {
            assert_eq!(answer, RayAnswer::Miss);
            None
        }
    };
    let shape = TerrainShape::new(SharedGround::new(Arc::new(ground.clone())));
    let engine = shape.cast_local_ray(&Ray::new(start, -DVec3::Y), 2000.0, true);
    assert_eq!(engine.map(|t| 1000.0 - t), own);
    own
}

/// Every triangle that the collider is built from.
fn mesh(ground: &Ground) -> Vec<[DVec3; 3]> {
    let mut all = Vec::new();
    ground.visit_triangles(ground.config().cell_rect(), f64::MIN, f64::MAX, |_, tri| {
        all.push(tri.vertices);
        ControlFlow::Continue(())
    });
    all
}

/// Fault 5. Every second sample of a board is 1 m up, the others 1 m down, so that every cell is a saddle: its middle
/// is up or down with its diagonal, and a bilinear surface would say 0 everywhere.
#[test]
fn saddles_have_one_height_in_the_middle_whoever_asks() {
    for diagonal in [Diagonal::Main, Diagonal::Anti, Diagonal::Checkerboard] {
        let height = |x: i32, z: i32| if (x + z) % 2 == 0 { 1.0 } else { -1.0 };
        let terrain = MemoryTerrain::from_fn([40, 40], BlockSide::S32, |c| c.diagonal = diagonal, height);
        let ground = terrain.ground_all();
        let triangles = mesh(&ground);
        for z in 0..39 {
            for x in 0..39 {
                let anti = match diagonal {
                    Diagonal::Main => false,
                    Diagonal::Anti => true,
                    Diagonal::Checkerboard => (x + z) % 2 == 0,
                };
                let expected = height(x + i32::from(anti), z);
                let (mx, mz) = (f64::from(x) + 0.5, f64::from(z) + 0.5);
                assert_eq!(ground.point(mx, mz).unwrap().height(), Some(expected), "{diagonal:?} ({x}, {z})");
                assert_eq!(struck(&ground, mx, mz), Some(expected));
                // The two mesh triangles over the cell share an edge through its middle, at that height.
                let over =
                    |t: &&[DVec3; 3]| t.iter().all(|v| (v.x - mx).abs() == 0.5 && (v.z - mz).abs() == 0.5);
                let through = |t: &[DVec3; 3]| {
                    (0..3).any(|i| (t[i] + t[(i + 1) % 3]) * 0.5 == DVec3::new(mx, expected, mz))
                };
                let found: Vec<bool> = triangles.iter().filter(over).map(through).collect();
                assert_eq!(found, [true, true], "{diagonal:?} ({x}, {z})");
            }
        }
    }
}

/// Fault 6. One removed cell of a slope: the rim belongs to the ground, everything inside it is hole, for every kind of
/// question, on a lattice of quarter cells and one lattice unit beside its points.
#[test]
fn around_a_hole_every_answer_ends_at_the_same_rim() {
    let unit = 1.0 / 65536.0;
    // In the middle of a block, and across the corner of four.
    for (hx, hz) in [(10, 20), (31, 31), (32, 32)] {
        let config = TerrainConfig::new([70, 70], 256);
        let heights = (0..70 * 70).map(|i: i32| (i % 70 * 2 + i / 70 * 3) * 128).collect();
        let mut raster = Raster::from_heights(config, heights);
        raster.mask[hz * 69 + hx] = 0;
        let ground = MemoryTerrain::new(raster, BlockSide::S32).ground_all();
        for (i, j) in (-4..=8).flat_map(|j| (-4..=8).map(move |i| (i, j))) {
            for (ox, oz) in [(0.0, 0.0), (unit, 0.0), (-unit, 0.0), (0.0, unit), (0.0, -unit)] {
                let (x, z) = (hx as f64 + f64::from(i) / 4.0 + ox, hz as f64 + f64::from(j) / 4.0 + oz);
                let inside = |v: f64, low: usize| v > low as f64 && v < low as f64 + 1.0;
                let expected = (!(inside(x, hx) && inside(z, hz))).then_some(x * 2.0 + z * 3.0);
                let answer = ground.point(x, z).unwrap();
                assert_eq!(answer.height(), expected, "({x}, {z})");
                let state = if expected.is_some() { AnswerState::Valid } else { AnswerState::Hole };
                assert_eq!(answer.state, state, "({x}, {z})");
                assert_eq!(struck(&ground, x, z), expected, "({x}, {z})");
            }
        }
        let over = |t: &&[DVec3; 3]| {
            let middle = (t[0] + t[1] + t[2]) / 3.0;
            middle.x.floor() == hx as f64 && middle.z.floor() == hz as f64
        };
        let triangles = mesh(&ground);
        assert_eq!((triangles.iter().filter(over).count(), triangles.len()), (0, 69 * 69 * 2 - 2));
    }
}

fn ball_at(x: f64, y: f64, z: f64) -> Ball {
    Ball {
        radius: 0.5,
        position: DVec3::new(x, y, z),
        rotation: glam::DQuat::IDENTITY,
        velocity: DVec3::ZERO,
        spin: DVec3::ZERO,
    }
}

/// Balls that are let go in a world with only this ground, after some ticks.
fn after(ground: &Ground, balls: &[Ball], ticks: u32) -> Vec<Ball> {
    let mut physics = Physics::new(SharedGround::new(Arc::new(ground.clone())), 9.81, 1).unwrap();
    let mut balls: Vec<_> = balls.iter().map(|b| (physics.add_ball(b), *b)).collect();
    for (body, ball) in &balls {
        physics.release_ball(*body, ball);
    }
    for _ in 0..ticks {
        physics.step();
    }
    for (body, ball) in &mut balls {
        physics.read_ball(*body, ball, 1000.0);
    }
    balls.into_iter().map(|b| b.1).collect()
}

/// Fault 7. A plateau at 100 m that nothing follows: up to the edge it is at 100 m, beyond it there is nothing, neither
/// a wall nor a lip at 0 m.
#[test]
fn a_lone_block_has_no_lip_at_its_far_edges() {
    let unit = 1.0 / 65536.0;
    // One block, and the same with its last samples in blocks of their own.
    for side in [BlockSide::S64, BlockSide::S32] {
        let ground = MemoryTerrain::from_fn([33, 33], side, |_| {}, |_, _| 100.0).ground_all();
        for along in [0.0, 0.5, 16.0, 31.75, 32.0] {
            for inset in [0.0, unit, 0.25, 1.0] {
                for (x, z) in [(32.0 - inset, along), (along, 32.0 - inset), (inset, along), (along, inset)] {
                    assert_eq!(ground.point(x, z).unwrap().height(), Some(100.0), "({x}, {z})");
                    assert_eq!(struck(&ground, x, z), Some(100.0), "({x}, {z})");
                }
            }
            for (x, z) in [(32.0 + unit, along), (along, 32.0 + unit), (-unit, along), (along, -unit)] {
                assert_eq!(ground.point(x, z).unwrap().state, AnswerState::Outside, "({x}, {z})");
                assert_eq!(struck(&ground, x, z), None, "({x}, {z})");
            }
            // Level, into the edge from outside: at no height but the plateau's is there anything.
            for y in [-1.0, 0.0, unit, 0.5, 50.0, 100.0 - unit, 100.0 + unit] {
                for (start, dir) in [
                    (DVec3::new(40.0, y, along), -DVec3::X),
                    (DVec3::new(along, y, 40.0), -DVec3::Z),
                    (DVec3::new(40.0, y, 40.0), DVec3::new(-1.0, 0.0, -1.0)),
                ] {
                    assert_eq!(ground.cast_ray(start, dir, 100.0).unwrap(), RayAnswer::Miss, "{start} {dir}");
                }
            }
        }
        assert!(mesh(&ground).iter().flatten().all(|v| v.y == 100.0));
        // A ball on the last centimetres lies; one just beyond the edge falls as freely as one far from everything.
        let starts = [(31.9, 16.2), (16.2, 31.9), (31.95, 31.95), (32.6, 8.2), (8.2, 32.6), (500.0, 500.0)];
        let balls = starts.map(|(x, z)| ball_at(x, 100.55, z));
        let ended = after(&ground, &balls, 150);
        for (ball, (x, z)) in ended[..3].iter().zip(starts) {
            let at = ball.position;
            assert!((at.y - 100.5).abs() < 0.01, "{at}");
            assert!((at.x - x).abs() < 1e-3 && (at.z - z).abs() < 1e-3, "nothing pushes it: {at}");
        }
        for ball in &ended[3..] {
            assert_eq!(ball.position.y, ended[5].position.y, "{}", ball.position);
            assert!(ball.position.y < 75.0);
        }
        // At the foot there is no lip either: below the edge a ball falls past 0 m.
        let low = [(32.1, 8.2), (31.9, 16.2), (500.0, 500.0)].map(|(x, z)| ball_at(x, 2.0, z));
        let ended = after(&ground, &low, 90);
        assert!(ended.iter().all(|b| b.position.y == ended[2].position.y && b.position.y < -8.0));
    }
}

/// Fault 16. Lone voids and a void patch in ground at 500 m, with the number that stands for a void being the lowest
/// there is: nothing that any question is answered from has a height but 500 m.
#[test]
fn no_triangle_ray_or_body_knows_a_height_of_a_void() {
    for diagonal in [Diagonal::Main, Diagonal::Anti, Diagonal::Checkerboard] {
        let void = |x: i32, z: i32| {
            (x, z) == (9, 9)
                || (x, z) == (32, 32)
                || (x, z) == (31, 50)
                || (40..44).contains(&x) && (5..9).contains(&z)
        };
        let mut config = TerrainConfig::new([70, 70], 256);
        config.diagonal = diagonal;
        let samples = (0..70).flat_map(|z| (0..70).map(move |x| (x, z)));
        let heights = samples.map(|(x, z)| if void(x, z) { VOID } else { 500 * 128 }).collect();
        let ground = MemoryTerrain::new(Raster::from_heights(config, heights), BlockSide::S32).ground_all();
        assert!(mesh(&ground).iter().flatten().all(|v| v.y == 500.0 && !void(v.x as i32, v.z as i32)));
        let mut holes = 0;
        for i in 0..=69 * 4 {
            for j in 0..=69 * 4 {
                let (x, z) = (f64::from(i) / 4.0, f64::from(j) / 4.0);
                match ground.point(x, z).unwrap().height() {
                    Some(height) => assert_eq!(height, 500.0, "({x}, {z})"),
                    None => {
                        holes += 1;
                        let near = [(0, 0), (1, 0), (0, 1), (1, 1), (-1, 0), (0, -1)];
                        let near = near.iter().any(|&(dx, dz)| void(i / 4 + dx, j / 4 + dz));
                        assert!(near, "({x}, {z}) is no hole");
                    }
                }
            }
        }
        assert!(holes > 100, "{holes}");
        // A body over a void falls into the hole, one beside it stands: none is thrown up or pulled down a spike.
        let ended = after(&ground, &[ball_at(42.0, 501.0, 7.0), ball_at(38.0, 500.6, 7.0)], 60);
        assert!(ended[0].position.y < 497.0 && (ended[1].position.y - 500.5).abs() < 0.01);
        let stand = walker::place(&ground, &WalkerConfig::default(), 36.3, 7.4).expect("standing room");
        assert!((stand.position.y - 500.88).abs() < 0.05);
    }
}

/// Faults 18 and 29. Positions, sizes and speeds that are finite but absurd: they are refused or lost, the ticks go on,
/// and what another player sees is bit for bit what it sees without them.
#[test]
fn wild_inputs_stop_no_tick_and_touch_nobody_else() {
    let source = MemoryTerrain::from_fn(
        [130, 130],
        BlockSide::S32,
        |_| {},
        |x, z| f64::from((x * 3 + z * 5) % 7) * 0.1,
    )
    .shared();
    let id = NetId::of_key("player");
    let run = |wild: bool| {
        let map = Map { source: source.clone(), weights: None, layers: Vec::new() };
        let runtime = RuntimeConfig { physics_threads: 1, reader_threads: 1, cache_budget_bytes: 1 << 20 };
        let mut session = Session::new(map, SessionConfig::default(), runtime).unwrap();
        let mut seen = Vec::new();
        for tick in 0..200_u32 {
            let mut inputs = Vec::new();
            if tick == 0 {
                inputs.push(Input::Join { key: "player".into(), x: 60.0, z: 60.0 });
            }
            if wild && tick % 10 == 5 {
                let far = [1e10, -1.6e7, 1.6e7, 1e300, f64::MAX, -0.0][tick as usize / 10 % 6];
                inputs.push(Input::Join { key: format!("j{tick}"), x: far, z: -far });
                inputs.push(Input::Teleport { id: NetId::of_key("j5"), x: -far, z: far });
                inputs.push(Input::Leave { id: NetId(u64::from(tick)) });
                for (n, (radius, at, speed)) in [
                    (0.05, [100.0, 1e300, 100.0], -1e300),
                    (10.0, [110.0, far, 20.0], f64::MAX),
                    (1e10, [20.0, 5.0, 20.0], 0.0),
                    (0.3, [far, 3.0, 60.0], far),
                    (f64::MIN_POSITIVE, [20.0, 5.0, 20.0], 0.0),
                ]
                .into_iter()
                .enumerate()
                {
                    let key = format!("b{tick} {n}");
                    inputs.push(Input::Ball { key, radius, position: at, velocity: [speed, speed, -speed] });
                }
            }
            session.step(&inputs, Arrivals::WhenDue).unwrap();
            let state = session.character_view(id).unwrap().state;
            seen.push([state.position, state.velocity].map(|v| v.to_array().map(f64::to_bits)));
            assert!(
                session.balls().all(|(_, b)| b.position.is_finite() && b.velocity.is_finite()),
                "tick {tick}"
            );
        }
        let stats = session.stats();
        assert_eq!(stats.refused_inputs > 0, wild);
        assert!(session.publication().published() <= 25, "only ground of this map is loaded");
        seen
    };
    assert_eq!(run(true), run(false));
}

/// The table above, so that it does not go stale: every test that it names is there.
#[test]
fn every_test_that_the_table_names_is_there() {
    let own = include_str!("faults.rs");
    let mut named = 0;
    for row in own.lines().filter(|l| l.starts_with("//! | ")) {
        for name in row.split('`').skip(1).step_by(2) {
            let (path, test) = name.split_once("::").unwrap_or(("tests/tests/faults.rs", name));
            let text = std::fs::read_to_string(highground_tests::root().join(path));
            let text = text.unwrap_or_else(|e| panic!("{path}: {e}"));
            assert!(text.contains(&format!("fn {test}(")), "{path} has no test {test}");
            named += 1;
        }
    }
    assert!(named > 40, "{named}");
}
