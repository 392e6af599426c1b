//! What a tick gives: hashes, publications and what was refused.

use crate::component::NetId;
use crate::input::InputError;
use crate::publication::PublicationEvent;
use serde::{Deserialize, Serialize};

/// The systems of a tick, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// Joins, leaves, teleports and commands enter.
    Inputs,
    /// What is due becomes resident, what left goes, the ground is swapped.
    Ground,
    /// The union of all windows is requested.
    Windows,
    /// Bodies over ground that is not Published are held; arrivals stand up.
    Gate,
    /// Surface layers set walking speeds.
    Footing,
    /// Characters move.
    Walk,
    /// Rapier steps.
    Physics,
    /// What is Resident is Published.
    Publish,
    /// Bodies that left the world are put back or removed.
    Respawn,
}

/// The systems' names, in their order.
pub const SYSTEMS: [&str; 9] =
    ["inputs", "ground", "windows", "gate", "footing", "walk", "physics", "publish", "respawn"];

/// Components that enter the hash, in the order they are hashed. Recordings store the place in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Component {
    Spawn,
    Arriving,
    Walker,
    Command,
    Footing,
    Gate,
    Ball,
    Platform,
    Crate,
}

impl Component {
    pub(crate) const ALL: [Self; 9] = [
        Self::Spawn,
        Self::Arriving,
        Self::Walker,
        Self::Command,
        Self::Footing,
        Self::Gate,
        Self::Ball,
        Self::Platform,
        Self::Crate,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Spawn => "spawn",
            Self::Arriving => "arriving",
            Self::Walker => "walker",
            Self::Command => "command",
            Self::Footing => "footing",
            Self::Gate => "gate",
            Self::Ball => "ball",
            Self::Platform => "platform",
            Self::Crate => "crate",
        }
    }
}

/// The hash of one component of one entity at the end of a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntityTrace {
    /// Whose.
    pub id: NetId,
    /// Which: an index into the component names.
    pub component: u8,
    /// The first eight bytes of its hash.
    pub hash: u64,
}

impl EntityTrace {
    /// The component's name.
    pub fn component_name(&self) -> &'static str {
        Component::ALL.get(usize::from(self.component)).map_or("unknown", |c| c.name())
    }
}

/// What one tick gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TickReport {
    /// Which tick.
    pub tick: u64,
    /// The hash of the whole canonical state after it.
    pub hash: [u8; 32],
    /// A hash after each system, of the state that it writes.
    pub systems: [u64; SYSTEMS.len()],
    /// Publications that entered it.
    pub events: Vec<PublicationEvent>,
    /// Inputs that it refused.
    pub refused: Vec<InputError>,
    /// Bodies held in it.
    pub gated: u64,
    /// Resident cells whose physical material the terrain does not have: they feel like the default material.
    pub stray_materials: u64,
    /// One hash per entity and component, in id order; empty unless traced.
    pub trace: Vec<EntityTrace>,
}

impl TickReport {
    pub(crate) fn begin(&mut self, tick: u64) {
        self.tick = tick;
        self.systems = [0; SYSTEMS.len()];
        self.events.clear();
        self.refused.clear();
        self.gated = 0;
        self.stray_materials = 0;
        self.trace.clear();
    }
}
