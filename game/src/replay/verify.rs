//! Makes a recorded run again and names the first thing that differs.

use super::{Recording, ReplayError, TickRecord, hex};
use crate::component::NetId;
use crate::config::RuntimeConfig;
use crate::publication::Arrivals;
use crate::session::{EntityTrace, Map, SYSTEMS, Session};

/// The first difference between two runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The tick.
    pub tick: u64,
    /// The first system whose hash differs; `None` when only the number of ticks does.
    pub system: Option<&'static str>,
    /// The first entity that differs at the end of the tick, where both runs were traced.
    pub entity: Option<NetId>,
    /// Its first component that differs, where both runs were traced.
    pub component: Option<&'static str>,
}

/// What making the run again gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verification {
    /// Ticks made again.
    pub ticks: u64,
    /// The hash after the last of them.
    pub state_hash: [u8; 32],
    /// The first difference, if there is one.
    pub first_difference: Option<Difference>,
}

/// Makes a recorded run again on the given map and stops at the first difference. `progress` is told every tick.
///
/// # Errors
/// When the map is another terrain, or the session cannot go on.
pub fn verify(
    recording: &Recording,
    map: Map,
    runtime: RuntimeConfig,
    mut progress: impl FnMut(u64),
) -> Result<Verification, ReplayError> {
    let header = &recording.header;
    let found = map.source.digest();
    if found != header.terrain_digest {
        return Err(ReplayError::Terrain { expected: hex(&header.terrain_digest), found: hex(&found) });
    }
    // The digest does not cover the block side: it is session configuration.
    let side = u32::from(map.source.block_side());
    if side != header.block_side {
        return Err(ReplayError::BlockSide { expected: header.block_side, found: side });
    }
    let weights = map.weights.as_ref().map(|w| w.digest());
    if weights != header.weight_digest {
        let name = |d: Option<[u8; 32]>| d.map_or("none".to_owned(), |d| hex(&d));
        return Err(ReplayError::Weights { expected: name(header.weight_digest), found: name(weights) });
    }
    let mut session = Session::new(map, header.config.clone(), runtime)?;
    session.set_trace(recording.traced());
    let mut state_hash = [0; 32];
    for (tick, record) in recording.ticks.iter().enumerate() {
        let arrivals = match header.live {
            true => Arrivals::Recorded(&record.events),
            false => Arrivals::WhenDueFailing(&record.events),
        };
        let report = session.step(&record.inputs, arrivals)?;
        state_hash = report.hash;
        let again = TickRecord {
            inputs: Vec::new(),
            events: Vec::new(),
            systems: report.systems,
            hash: report.hash,
            trace: report.trace.clone(),
        };
        progress(tick as u64);
        if let Some(difference) = compare(tick as u64, record, &again) {
            return Ok(Verification {
                ticks: tick as u64 + 1,
                state_hash,
                first_difference: Some(difference),
            });
        }
    }
    Ok(Verification { ticks: recording.ticks.len() as u64, state_hash, first_difference: None })
}

/// Compares two recordings by their hashes and names the first difference.
pub fn diff(a: &Recording, b: &Recording) -> Option<Difference> {
    let pairs = a.ticks.iter().zip(&b.ticks).enumerate();
    for (tick, (left, right)) in pairs {
        if let Some(difference) = compare(tick as u64, left, right) {
            return Some(difference);
        }
    }
    let shorter = a.ticks.len().min(b.ticks.len()) as u64;
    (a.ticks.len() != b.ticks.len()).then_some(Difference {
        tick: shorter,
        system: None,
        entity: None,
        component: None,
    })
}

impl Recording {
    /// Whether any tick carries hashes per entity and component.
    pub fn traced(&self) -> bool {
        self.ticks.iter().any(|t| !t.trace.is_empty())
    }
}

fn compare(tick: u64, left: &TickRecord, right: &TickRecord) -> Option<Difference> {
    if left.hash == right.hash && left.systems == right.systems {
        return None;
    }
    let system = (0..SYSTEMS.len()).find(|&i| left.systems[i] != right.systems[i]).map(|i| SYSTEMS[i]);
    let entity = first_traced_difference(&left.trace, &right.trace);
    Some(Difference {
        tick,
        system,
        entity: entity.map(|e| e.id),
        component: entity.map(|e| e.component_name()),
    })
}

/// The first entry that differs, in (id, component) order; `None` unless both were traced.
fn first_traced_difference(left: &[EntityTrace], right: &[EntityTrace]) -> Option<EntityTrace> {
    if left.is_empty() || right.is_empty() {
        return None;
    }
    let at = left.iter().zip(right).position(|(a, b)| a != b);
    match at {
        // An entity or component that only one side has comes first in the other's order.
        Some(at) => Some(if (left[at].id, left[at].component) <= (right[at].id, right[at].component) {
            left[at]
        } else {
            right[at]
        }),
        None => left.get(right.len()).or_else(|| right.get(left.len())).copied(),
    }
}
