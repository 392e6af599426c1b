//! What enters a tick from outside: joins, leaves, teleports, commands and thrown balls.

use crate::component::NetId;
use crate::walker::WalkCommand;
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
    /// A player leaves.
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

impl Input {
    /// The canonical order: joins by key, balls by key, then leaves, teleports and commands by id, and what is left
    /// equal by its contents. So two commands of one player in a tick have one winner, in whatever order they came.
    pub(crate) fn order(&self) -> (u8, &str, u64, [u64; 7]) {
        let mut contents = [0; 7];
        let mut fill = |values: &mut dyn Iterator<Item = f64>| {
            contents.iter_mut().zip(values).for_each(|(c, v)| *c = v.to_bits());
        };
        match self {
            Input::Join { key, x, z } => {
                fill(&mut [*x, *z].into_iter());
                (0, key, 0, contents)
            }
            Input::Ball { key, radius, position, velocity } => {
                fill(&mut position.iter().chain(velocity).chain([radius]).copied());
                (1, key, 0, contents)
            }
            Input::Leave { id } => (2, "", id.0, contents),
            Input::Teleport { id, x, z } => {
                fill(&mut [*x, *z].into_iter());
                (3, "", id.0, contents)
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
                (4, "", id.0, contents)
            }
        }
    }

    /// Refuses numbers that no position, radius or velocity can have.
    pub(crate) fn check(&self) -> Result<(), InputError> {
        let place = |x: f64, z: f64| {
            highground_terrain::coord::LatticePos::from_metres(x, z)
                .map(drop)
                .map_err(|e| InputError::BadNumber(format!("({x}, {z}): {e}")))
        };
        match *self {
            Input::Join { x, z, .. } | Input::Teleport { x, z, .. } => place(x, z),
            Input::Ball { radius, position, velocity, .. } => {
                place(position[0], position[2])?;
                if !(0.05..=10.0).contains(&radius) {
                    return Err(InputError::BadNumber(format!(
                        "a ball's radius must be 0.05 to 10 m, found {radius}"
                    )));
                }
                if position.iter().chain(&velocity).any(|v| !v.is_finite()) {
                    return Err(InputError::BadNumber(
                        "a ball's position and velocity must be finite".into(),
                    ));
                }
                Ok(())
            }
            Input::Leave { .. } | Input::Command { .. } => Ok(()),
        }
    }
}
