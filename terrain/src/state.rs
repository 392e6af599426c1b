//! States have names: what data, a publication and an answer can be, and how they map onto each other.
//!
//! Unknown, Pending, Valid, Empty, OutOfRange and Failed are different things everywhere. A missing block is never
//! flat ground.

use serde::{Deserialize, Serialize};

/// What is known of a block's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DataState {
    /// Nobody asked yet.
    Unknown,
    /// Asked for, not here yet.
    Pending,
    /// Here and checked.
    Valid,
    /// Here, and it holds no surface at all: every triangle is removed.
    Empty,
    /// Outside the map.
    OutOfRange,
    /// Cannot be had: it could not be read, or its checksum stays wrong.
    Failed,
}

/// How far a wanted block is on its way to carrying feet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PublicationState {
    /// Wanted since this tick; no read has been started.
    Requested,
    /// Being read, or not yet due.
    Pending,
    /// In the ground that queries, rays, collider and walkers see.
    Resident,
    /// Resident and through a positive physics step: the gate may open.
    Published,
    /// Its data, or a neighbour's that it needs, cannot be had.
    Failed,
}

/// The kinds of answer a question about a point gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerState {
    /// There is ground, and its height is exact.
    Valid,
    /// Inside the map, but every triangle that touches the point is removed.
    Hole,
    /// Outside the valid extent.
    Outside,
    /// The block is not resident.
    Pending,
    /// The block cannot be had.
    Failed,
}
