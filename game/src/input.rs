//! What enters a tick from outside: joins, leaves, teleports, commands, thrown balls, platforms and crates.

use crate::component::NetId;
use crate::walker::WalkCommand;
use crate::way::Way;
use serde::{Deserialize, Serialize};

/// One input. Inputs of a tick are put into a canonical order first, so the order they were given in never matters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Input {
    /// A player joins and appears at (x, z). Its network id derives from its key.
    Join {
        /// The player's key.
        key: String,
        /// Metres east.
        x: f64,
        /// Metres south.
        z: f64,
    },
    /// A player leaves, or a ball, platform or crate is taken away.
    Leave {
        /// Who.
        id: NetId,
    },
    /// A character appears somewhere else.
    Teleport {
        /// Who.
        id: NetId,
        /// Metres east.
        x: f64,
        /// Metres south.
        z: f64,
    },
    /// What a player wants from now on, until its next command.
    Command {
        /// Who.
        id: NetId,
        /// What.
        command: WalkCommand,
    },
    /// A ball enters the world. It is held until the ground around it is published.
    Ball {
        /// Its key.
        key: String,
        /// Metres.
        radius: f64,
        /// Centre, metres.
        position: [f64; 3],
        /// Metres a second.
        velocity: [f64; 3],
    },
    /// A box enters that goes its way whatever it meets. It carries and pushes, needs no ground and is never held.
    Platform {
        /// Its key.
        key: String,
        /// Half its sides, metres.
        half_extents: [f64; 3],
        /// Where it goes, from this tick on.
        way: Way,
    },
    /// A box enters that falls, slides and is pushed. It is held until the ground around it is published.
    Crate {
        /// Its key.
        key: String,
        /// Centre, metres.
        position: [f64; 3],
        /// Half its sides, metres.
        half_extents: [f64; 3],
        /// Kilograms a cubic metre.
        density: f64,
    },
}

/// Why an input is refused. The tick goes on without it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InputError {
    /// The key is taken.
    #[error("the key {0:?} is already in the session")]
    Taken(String),
    /// Nobody has this id.
    #[error("nobody has the id {0}")]
    Unknown(NetId),
    /// A number is not finite or out of range.
    #[error("{0}")]
    BadNumber(String),
}

/// How far from zero a body may come in, in metres, and how fast, in metres a second: no ground is as far.
const HIGHEST: f64 = 1e6;
const FASTEST: f64 = 1e6;

impl Input {
    /// The canonical order: leaves by id, so that who comes back in the same tick is not lost; joins, balls, platforms and
    /// crates by key; then teleports and commands by id, and what is left equal by its contents. So two commands of one player in a tick have one winner, in whatever order they came.
    pub(crate) fn order(&self) -> (u8, &str, u64, [u64; 7]) {
        let mut contents = [0; 7];
        let mut fill = |values: &mut dyn Iterator<Item = f64>| {
            contents.iter_mut().zip(values).for_each(|(c, v)| *c = v.to_bits());
        };
        match self {
            Input::Join { key, x, z } => {
                fill(&mut [*x, *z].into_iter());
                (1, key, 0, contents)
            }
            Input::Ball { key, radius, position, velocity } => {
                fill(&mut position.iter().chain(velocity).chain([radius]).copied());
                (2, key, 0, contents)
            }
            Input::Platform { key, half_extents, way } => {
                contents[..4].copy_from_slice(&way_words(half_extents, way));
                (3, key, 0, contents)
            }
            Input::Crate { key, position, half_extents, density } => {
                fill(&mut position.iter().chain(half_extents).chain([density]).copied());
                (4, key, 0, contents)
            }
            Input::Leave { id } => (0, "", id.0, contents),
            Input::Teleport { id, x, z } => {
                fill(&mut [*x, *z].into_iter());
                (5, "", id.0, contents)
            }
            Input::Command { id, command: WalkCommand { x, z, run, jump, crouch } } => {
                contents[0] = u64::from_le_bytes([
                    *x as u8,
                    *z as u8,
                    u8::from(*run),
                    u8::from(*jump),
                    u8::from(*crouch),
                    0,
                    0,
                    0,
                ]);
                (6, "", id.0, contents)
            }
        }
    }

    /// Refuses numbers that no position, size, velocity or way can have; `max_speed` is the world's, in m/s.
    pub(crate) fn check(&self, max_speed: f64) -> Result<(), InputError> {
        let place = |x: f64, z: f64| {
            highground_terrain::coord::LatticePos::from_metres(x, z)
                .map(drop)
                .map_err(|e| InputError::BadNumber(format!("({x}, {z}): {e}")))
        };
        let size = |what: &str, half: [f64; 3], most: f64| {
            if half.iter().all(|side| (0.05..=most).contains(side)) {
                return Ok(());
            }
            Err(InputError::BadNumber(format!(
                "a {what}'s half sides must be 0.05 to {most} m, found {half:?}"
            )))
        };
        let high = |what: &str, y: f64| {
            if y.abs() <= HIGHEST {
                return Ok(());
            }
            Err(InputError::BadNumber(format!("a {what}'s height must be within {HIGHEST} m, found {y}")))
        };
        match *self {
            Input::Join { x, z, .. } | Input::Teleport { x, z, .. } => place(x, z),
            Input::Platform { half_extents, ref way, .. } => {
                size("platform", half_extents, 50.0)?;
                let [x, _, z] = half_extents;
                way.check((x * x + z * z).sqrt(), max_speed).map_err(InputError::BadNumber)
            }
            Input::Crate { position, half_extents, density, .. } => {
                place(position[0], position[2])?;
                size("crate", half_extents, 10.0)?;
                high("crate", position[1])?;
                if !(1.0..=20_000.0).contains(&density) {
                    return Err(InputError::BadNumber(format!(
                        "a crate's density must be 1 to 20000 kg/m³, found {density}"
                    )));
                }
                Ok(())
            }
            Input::Ball { radius, position, velocity, .. } => {
                place(position[0], position[2])?;
                if !(0.05..=10.0).contains(&radius) {
                    return Err(InputError::BadNumber(format!(
                        "a ball's radius must be 0.05 to 10 m, found {radius}"
                    )));
                }
                high("ball", position[1])?;
                if !velocity.iter().all(|v| v.abs() <= FASTEST) {
                    return Err(InputError::BadNumber(format!(
                        "a ball's velocity must be within {FASTEST} m/s along each axis, found {velocity:?}"
                    )));
                }
                Ok(())
            }
            Input::Leave { .. } | Input::Command { .. } => Ok(()),
        }
    }
}

/// Four words that stand for a platform's size and way in the canonical order.
fn way_words(half_extents: &[f64; 3], way: &Way) -> [u64; 4] {
    let mut hasher = blake3::Hasher::new();
    let mut add = |v: f64| {
        hasher.update(&v.to_bits().to_le_bytes());
    };
    half_extents
        .iter()
        .chain(way.points.iter().flatten())
        .chain([&way.speed, &way.turn])
        .for_each(|&v| add(v));
    add(f64::from(way.end as u8));
    let bytes = *hasher.finalize().as_bytes();
    let (words, _) = bytes.as_chunks::<8>();
    std::array::from_fn(|i| u64::from_le_bytes(words[i]))
}
