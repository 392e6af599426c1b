//! Recordings: what entered every tick, and the hashes it gave, so that the run can be made again and compared.
//!
//! Owns the recording format (`docs/replay.md`) and the comparison. Bytes from outside never panic.

mod verify;

pub use verify::{Difference, Verification, diff, verify};

use crate::config::SessionConfig;
use crate::input::Input;
use crate::publication::{Arrival, PublicationEvent};
use crate::session::{EntityTrace, SYSTEMS, TickReport};
use serde::{Deserialize, Serialize};

/// Starts every recording; like PNG's it shows text-mode damage.
const MAGIC: [u8; 8] = *b"\x89HGR\r\n\x1a\n";
const VERSION: u32 = 3;
const CHECKSUM: usize = 32;

/// The largest recording that is read, in bytes.
pub const MAX_RECORDING_BYTES: u64 = 1 << 30;

/// Which terrain a recording was made on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TerrainName {
    /// The content world, with the recipe it was cooked from.
    Content {
        /// RON.
        recipe: String,
    },
    /// A payload, at the path it was opened with.
    File {
        /// As given by the user.
        path: String,
    },
}

/// What a recording was made with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Where the terrain was.
    pub terrain: TerrainName,
    /// Its digest: the terrain that replays it must have the same.
    pub terrain_digest: [u8; 32],
    /// The digest of the weight chain that footing was read from.
    pub weight_digest: Option<[u8; 32]>,
    /// Samples a side of the blocks.
    pub block_side: u32,
    /// The session's configuration.
    pub config: SessionConfig,
    /// Whether publications entered as they came (and are recorded) or when they were due.
    pub live: bool,
}

/// One recorded tick.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TickRecord {
    /// What entered.
    pub inputs: Vec<Input>,
    /// Publications that entered; offline only failures, since the rest follows from the windows.
    pub events: Vec<PublicationEvent>,
    /// The hash after each system.
    pub systems: [u64; SYSTEMS.len()],
    /// The hash of the whole state after the tick.
    pub hash: [u8; 32],
    /// One hash per entity and component, where traced.
    pub trace: Vec<EntityTrace>,
}

/// A recorded session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// What it was made with.
    pub header: Header,
    /// Every tick from 0.
    pub ticks: Vec<TickRecord>,
}

/// Why bytes are no recording, or a recording cannot be replayed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ReplayError {
    /// Not a recording at all.
    #[error("is no highground recording: it must start with the bytes 89 48 47 52 0D 0A 1A 0A")]
    Magic,
    /// Another version.
    #[error(
        "is a recording of version {0}; this program reads version {VERSION} and no longer has the rules of others"
    )]
    Version(u32),
    /// Damaged.
    #[error("is damaged: its checksum does not match its {0} bytes; copy it again")]
    Checksum(usize),
    /// The checksum is right, the contents are not.
    #[error("cannot be decoded: {0}")]
    Decode(String),
    /// Another block side.
    #[error("was made with blocks of {expected} samples a side, but this terrain has {found}")]
    BlockSide {
        /// In the recording.
        expected: u32,
        /// Of the terrain given.
        found: u32,
    },
    /// Other weights.
    #[error("was made with a weight chain with digest {expected}, but this terrain's is {found}")]
    Weights {
        /// In the recording.
        expected: String,
        /// Of the terrain given.
        found: String,
    },
    /// Another terrain.
    #[error("was made on a terrain with digest {expected}, but this one has {found}")]
    Terrain {
        /// In the recording.
        expected: String,
        /// Of the terrain given.
        found: String,
    },
    /// The session could not go on.
    #[error(transparent)]
    Session(#[from] crate::session::SessionError),
}

impl Recording {
    /// An empty recording.
    pub fn new(header: Header) -> Self {
        Self { header, ticks: Vec::new() }
    }

    /// Adds a tick: the inputs as they were given, and what the session reported.
    pub fn push(&mut self, inputs: &[Input], report: &TickReport) {
        self.ticks.push(TickRecord {
            inputs: inputs.to_vec(),
            events: self.recorded_events(report),
            systems: report.systems,
            hash: report.hash,
            trace: report.trace.clone(),
        });
    }

    /// Live, every publication; offline, only failures: the rest follows from the windows.
    fn recorded_events(&self, report: &TickReport) -> Vec<PublicationEvent> {
        let kept = |e: &&PublicationEvent| self.header.live || e.arrival == Arrival::Failed;
        report.events.iter().filter(kept).copied().collect()
    }

    /// The bytes of the recording file: magic, version, postcard, blake3 of all before.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(postcard::to_allocvec(self).expect("plain data always encodes"));
        let checksum = blake3::hash(&bytes);
        bytes.extend(checksum.as_bytes());
        bytes
    }

    /// Reads a recording file.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ReplayError> {
        let version_at = MAGIC.len();
        if bytes.len() < version_at + 4 + CHECKSUM || bytes[..version_at] != MAGIC {
            return Err(ReplayError::Magic);
        }
        let (body, checksum) = bytes.split_at(bytes.len() - CHECKSUM);
        let version = u32::from_le_bytes([body[8], body[9], body[10], body[11]]);
        if version != VERSION {
            return Err(ReplayError::Version(version));
        }
        if blake3::hash(body).as_bytes()[..] != *checksum {
            return Err(ReplayError::Checksum(bytes.len()));
        }
        let (recording, rest): (Self, _) = postcard::take_from_bytes(&body[version_at + 4..])
            .map_err(|e| ReplayError::Decode(e.to_string()))?;
        if !rest.is_empty() {
            return Err(ReplayError::Decode(format!("{} bytes follow the last tick", rest.len())));
        }
        let strange = |t: &TickRecord| t.events.iter().any(|e| e.arrival == Arrival::Resident);
        if !recording.header.live && recording.ticks.iter().any(strange) {
            return Err(ReplayError::Decode("an offline recording holds a publication".into()));
        }
        recording.header.config.check().map_err(|e| ReplayError::Session(e.into()))?;
        Ok(recording)
    }

    /// The hash after the last tick, or zeros where there is none.
    pub fn final_hash(&self) -> [u8; 32] {
        self.ticks.last().map_or([0; 32], |t| t.hash)
    }
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Recording {
        let header = Header {
            terrain: TerrainName::File { path: "a.terrain".into() },
            terrain_digest: [7; 32],
            weight_digest: None,
            block_side: 32,
            config: SessionConfig::default(),
            live: false,
        };
        let mut r = Recording::new(header);
        let report = TickReport { hash: [3; 32], ..TickReport::default() };
        r.push(&[Input::Join { key: "a".into(), x: 1.0, z: 2.0 }], &report);
        r
    }

    #[test]
    fn a_recording_reads_back_and_every_flipped_bit_is_refused() {
        let bytes = small().to_bytes();
        assert_eq!(Recording::from_bytes(&bytes), Ok(small()));
        for bit in 0..bytes.len() * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(Recording::from_bytes(&bad).is_err(), "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert!(Recording::from_bytes(&bytes[..length]).is_err(), "length {length}");
        }
    }

    #[test]
    fn recordings_of_older_versions_are_refused_by_their_number() {
        for version in [1_u32, 2] {
            let mut old = small().to_bytes();
            old.truncate(old.len() - CHECKSUM);
            old[8..12].copy_from_slice(&version.to_le_bytes());
            let checksum = blake3::hash(&old);
            old.extend(checksum.as_bytes());
            let refused = Recording::from_bytes(&old);
            assert_eq!(refused, Err(ReplayError::Version(version)));
            assert!(
                refused.unwrap_err().to_string().starts_with(&format!(
                    "is a recording of version {version}; this program reads version 3"
                ))
            );
        }
    }

    #[test]
    fn contents_that_do_not_decode_are_an_error_even_with_a_right_checksum() {
        for garbage in [vec![], vec![0xff; 64], (0..=255).collect::<Vec<u8>>()] {
            let mut bytes = MAGIC.to_vec();
            bytes.extend(VERSION.to_le_bytes());
            bytes.extend(&garbage);
            let checksum = blake3::hash(&bytes);
            bytes.extend(checksum.as_bytes());
            assert!(matches!(
                Recording::from_bytes(&bytes),
                Err(ReplayError::Decode(_) | ReplayError::Session(_))
            ));
        }
    }
}
