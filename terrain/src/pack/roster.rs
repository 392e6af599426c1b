//! `pack.ron`: what belongs to a pack, and the pack's digest.

use super::PackError;
use crate::content::MAX_NAME;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The version this code writes and reads.
pub const VERSION: u32 = 1;

/// The name of the roster in its folder.
pub const FILE_NAME: &str = "pack.ron";

/// The most objects of a pack.
pub const MAX_OBJECTS: usize = 1024;

/// The largest roster.
const MAX_ROSTER_BYTES: u64 = 1 << 20;

/// What an object is for. The order is that of the roster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A terrain.
    Payload,
    /// The triangle visibility of the payload of the same name.
    Visibility,
    /// The layer textures of the payload of the same name.
    Layers,
    /// What something was cooked from.
    Recipe,
}

impl Role {
    /// Its name in the roster and in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Payload => "payload",
            Role::Visibility => "visibility",
            Role::Layers => "layers",
            Role::Recipe => "recipe",
        }
    }
}

/// An object of a pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// What it is for.
    pub role: Role,
    /// Its name, unique in its role.
    pub name: String,
    /// The name of its file: blake3 of its bytes as 64 hexadecimal digits.
    pub file: String,
    /// Its length.
    pub bytes: u64,
}

/// Everything that belongs to a pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Roster {
    /// [`VERSION`].
    pub version: u32,
    /// [`Roster::digest_of`] its objects, as 64 hexadecimal digits.
    pub digest: String,
    /// The objects in the order of role and name.
    pub objects: Vec<Entry>,
}

impl Roster {
    /// The roster of objects, sorted.
    ///
    /// # Errors
    /// Names or numbers of objects that will not do.
    pub(super) fn new(mut objects: Vec<Entry>) -> Result<Self, String> {
        objects.sort_by(|a, b| (a.role, &a.name).cmp(&(b.role, &b.name)));
        let roster = Self { version: VERSION, digest: Self::digest_of(&objects), objects };
        roster.check().map(|()| roster)
    }

    /// blake3 over a domain tag and, of each object, role (u8, in the order of [`Role`]), length of the name (u32), name,
    /// file name (64 digits) and length (u64), all little-endian.
    pub fn digest_of(objects: &[Entry]) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"highground pack 1\0");
        for o in objects {
            hasher.update(&[o.role as u8]);
            hasher.update(&(o.name.len() as u32).to_le_bytes());
            hasher.update(o.name.as_bytes());
            hasher.update(o.file.as_bytes());
            hasher.update(&o.bytes.to_le_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }

    /// Reads a pack's roster and checks it, but none of its objects.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(folder: &Path) -> Result<Self, PackError> {
        let path = folder.join(FILE_NAME);
        Self::parse(&super::read_text(&path, MAX_ROSTER_BYTES)?, &path)
    }

    /// Reads a roster's text and checks it; `path` is what errors name.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str, path: &Path) -> Result<Self, PackError> {
        let roster: Self = ron::from_str(text).map_err(|e| PackError::Syntax {
            path: path.to_owned(),
            line: e.span.start.line,
            column: e.span.start.col,
            message: e.code.to_string(),
        })?;
        roster.check().map_err(|message| PackError::Wrong { path: path.to_owned(), message })?;
        Ok(roster)
    }

    fn check(&self) -> Result<(), String> {
        let refuse = |what: &str, expected: String, found: String| {
            Err(format!("{what}: expected {expected}, found {found}"))
        };
        if self.version != VERSION {
            return refuse("version", VERSION.to_string(), self.version.to_string());
        }
        if self.objects.is_empty() || self.objects.len() > MAX_OBJECTS {
            return refuse("objects", format!("1 to {MAX_OBJECTS}"), self.objects.len().to_string());
        }
        for o in &self.objects {
            if o.name.is_empty() || o.name.len() > MAX_NAME {
                return refuse("name", format!("1 to {MAX_NAME} bytes"), format!("{:?}", o.name));
            }
            if !is_object(&o.file) {
                let expected = "64 lower-case hexadecimal digits".into();
                return refuse("file", expected, format!("{:?}", o.file));
            }
        }
        for pair in self.objects.windows(2) {
            let [a, b] = [&pair[0], &pair[1]];
            if (a.role, &a.name) >= (b.role, &b.name) {
                let expected = "each role and name once, in order".into();
                return refuse(
                    "objects",
                    expected,
                    format!("the {} {:?} out of place", b.role.name(), b.name),
                );
            }
        }
        let digest = Self::digest_of(&self.objects);
        if digest != self.digest {
            return refuse("digest", digest, self.digest.clone());
        }
        self.check_roles()
    }

    /// What is made for a payload must have it.
    fn check_roles(&self) -> Result<(), String> {
        let payload = |name: &str| self.objects.iter().any(|o| o.role == Role::Payload && o.name == name);
        if !self.objects.iter().any(|o| o.role == Role::Payload) {
            return Err("objects: expected a payload, found none".into());
        }
        let lone = |o: &&Entry| matches!(o.role, Role::Visibility | Role::Layers) && !payload(&o.name);
        match self.objects.iter().find(lone) {
            Some(o) => Err(format!(
                "objects: expected a payload {:?} for the {} of that name, found none",
                o.name,
                o.role.name()
            )),
            None => Ok(()),
        }
    }

    pub(super) fn to_text(&self) -> Result<String, ron::Error> {
        ron::ser::to_string_pretty(self, ron::ser::PrettyConfig::default()).map(|text| text + "\n")
    }
}

/// Whether a file's name is one that objects have.
pub(super) fn is_object(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}
