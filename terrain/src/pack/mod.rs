//! Packs: a world as a closure of content that is addressed by digest.
//!
//! A pack is a folder of a roster (`pack.ron`) and objects: files that are named by the blake3 of their bytes. Only what the
//! roster names belongs to it. It is verified whole before anything of it is used: each object's length and hash, every
//! derived section of every payload, and that visibility and layer textures belong to their payloads. What layer textures
//! hold is not derived again: they are made from images that a pack has not.
//!
//! Objects are never written over, and the roster comes last, by rename: a pack that is being written again is the old one
//! until it is the new one. What the old one alone had stays until it is swept. Owns files; never fetches any.

mod roster;

pub use roster::{Entry, FILE_NAME, MAX_OBJECTS, Role, Roster, VERSION};

use crate::content::Layer;
use crate::disk::{Disk, replace, temporary_of};
use crate::format::sidecar::{self, Sidecar};
use crate::layer_images::{self, LayerArrays};
use crate::store::{BlockSource, PayloadFile, VerifyError, open_regular, verify};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The largest recipe.
const MAX_RECIPE_BYTES: u64 = 16 << 20;

/// The largest sidecar, and the largest layer textures.
const MAX_BLOB_BYTES: u64 = 16 << 30;

/// Why a pack cannot be used or written; each is one line and names its file.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// The roster is no roster.
    #[error("{}:{line}:{column}: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What was expected and found.
        message: String,
    },
    /// A file says something impossible.
    #[error("{}: {message}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// What was expected and found.
        message: String,
    },
    /// A payload.
    #[error("{}: {error}", path.display())]
    Payload {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: VerifyError,
    },
    /// A file cannot be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        error: io::Error,
    },
}

fn io_at(path: &Path) -> impl Fn(io::Error) -> PackError + '_ {
    move |error| PackError::Io { path: path.to_owned(), error }
}

fn wrong(path: &Path, message: impl std::fmt::Display) -> PackError {
    PackError::Wrong { path: path.to_owned(), message: message.to_string() }
}

/// Where an object's bytes come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// Made in memory. A payload is always a file.
    Bytes(Vec<u8>),
}

/// An object to be packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// What it is for.
    pub role: Role,
    /// Its name, unique in its role; visibility and layers have that of their payload.
    pub name: String,
    /// Its bytes.
    pub source: Source,
}

/// A pack that was verified whole.
#[derive(Debug)]
pub struct Pack {
    /// What belongs to it, and its digest.
    pub roster: Roster,
    /// Terrains by name.
    pub terrains: BTreeMap<String, Terrain>,
    /// Recipes by name.
    pub recipes: BTreeMap<String, String>,
}

/// A terrain of a pack.
#[derive(Debug)]
pub struct Terrain {
    /// The ground.
    pub payload: PayloadFile,
    /// Which triangles are drawn, if the pack says so apart.
    pub visibility: Option<Sidecar>,
    /// Textures of its layers.
    pub layers: Option<LayerArrays>,
}

/// What a file is for, by its first bytes or, for a recipe, by its name.
///
/// # Errors
/// A file that is nothing a pack holds.
pub fn role_of(path: &Path) -> Result<Role, PackError> {
    let mut first = Vec::new();
    open_regular(path).and_then(|f| f.take(8).read_to_end(&mut first)).map_err(io_at(path))?;
    match first.as_slice() {
        f if f == crate::format::payload::MAGIC => Ok(Role::Payload),
        f if f == sidecar::MAGIC => Ok(Role::Visibility),
        f if f == layer_images::MAGIC => Ok(Role::Layers),
        _ if path.extension().is_some_and(|e| e == "ron") => Ok(Role::Recipe),
        _ => Err(wrong(path, "expected a .terrain, .visibility, .layers or .ron file, found another")),
    }
}

/// Writes a pack: checks everything as [`open`] does, then writes the objects that are not there yet, and the roster last.
/// Gives the roster.
///
/// # Errors
/// What is wrong with an object, or what the operating system says; the folder then holds the pack that it held before.
pub fn write(disk: &dyn Disk, folder: &Path, items: &[Item]) -> Result<Roster, PackError> {
    let mut entries = Vec::with_capacity(items.len());
    for item in items {
        let (hash, bytes) = match &item.source {
            Source::File(path) => hash_file(path)?,
            Source::Bytes(bytes) => (blake3::hash(bytes), bytes.len() as u64),
        };
        let file = hash.to_hex().to_string();
        entries.push(Entry { role: item.role, name: item.name.clone(), file, bytes });
    }
    let roster = Roster::new(entries.clone()).map_err(|m| wrong(&folder.join(FILE_NAME), m))?;
    let blobs = items.iter().map(|i| match &i.source {
        Source::File(path) => (i.role, i.name.as_str(), Blob::File(path.clone())),
        Source::Bytes(bytes) => (i.role, i.name.as_str(), Blob::Bytes(bytes)),
    });
    admit(blobs.collect(), folder)?;
    std::fs::create_dir_all(folder).map_err(io_at(folder))?;
    for (item, entry) in items.iter().zip(&entries) {
        let target = folder.join(&entry.file);
        if !is_whole(&target, entry) {
            put(disk, &target, item, entry).map_err(io_at(&target))?;
        }
    }
    let path = folder.join(FILE_NAME);
    let text = roster.to_text().map_err(|e| wrong(&path, e))?;
    replace(disk, &path, &mut |out| out.write_all(text.as_bytes())).map_err(io_at(&path))?;
    Ok(roster)
}

/// Whether an object is there already, byte for byte.
fn is_whole(path: &Path, entry: &Entry) -> bool {
    let found = hash_file(path);
    found.is_ok_and(|(hash, bytes)| hash.to_hex().as_str() == entry.file && bytes == entry.bytes)
}

/// Copies an object, and looks whether it is still what was checked.
fn put(disk: &dyn Disk, target: &Path, item: &Item, entry: &Entry) -> io::Result<()> {
    replace(disk, target, &mut |out| {
        let mut hasher = blake3::Hasher::new();
        match &item.source {
            Source::Bytes(bytes) => {
                hasher.update(bytes);
                out.write_all(bytes)?;
            }
            Source::File(path) => {
                let mut file = open_regular(path)?;
                let mut buffer = vec![0; 1 << 16];
                loop {
                    let n = match file.read(&mut buffer) {
                        Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                        other => other?,
                    };
                    if n == 0 {
                        break;
                    }
                    hasher.update(&buffer[..n]);
                    out.write_all(&buffer[..n])?;
                }
            }
        }
        if hasher.finalize().to_hex().as_str() == entry.file {
            Ok(())
        } else {
            Err(io::Error::other("its source was changed while it was being packed: pack it again"))
        }
    })
}

/// Opens a pack: verifies the whole roster, every object and how they belong together.
///
/// # Errors
/// The first thing that is wrong. Nothing of the pack can be used then.
pub fn open(folder: &Path) -> Result<Pack, PackError> {
    let roster = Roster::read(folder)?;
    let mut blobs = Vec::with_capacity(roster.objects.len());
    for o in &roster.objects {
        let path = folder.join(&o.file);
        let named = |e: io::Error| {
            let error = io::Error::new(e.kind(), format!("the {} {:?}: {e}", o.role.name(), o.name));
            PackError::Io { path: path.clone(), error }
        };
        let length = std::fs::metadata(&path).map_err(named)?.len();
        if length != o.bytes {
            let found =
                format!("the {} {:?}: expected {} bytes, found {length}", o.role.name(), o.name, o.bytes);
            return Err(wrong(&path, found));
        }
        let (hash, _) = hash_file(&path)?;
        if hash.to_hex().as_str() != o.file {
            let found = format!(
                "the {} {:?} is damaged: expected bytes that hash to its name, found {}",
                o.role.name(),
                o.name,
                hash.to_hex()
            );
            return Err(wrong(&path, found));
        }
        blobs.push((o.role, o.name.as_str(), Blob::File(path)));
    }
    let (terrains, recipes) = admit(blobs, folder)?;
    Ok(Pack { roster, terrains, recipes })
}

/// Removes objects and leftovers that the roster does not name. Gives their names. Not while the pack is being written.
/// Only what packing made: files whose bytes hash to their names, and temporary files of these and of the roster.
///
/// # Errors
/// A roster that is wrong: then nothing is removed; or what the operating system says.
pub fn sweep(disk: &dyn Disk, folder: &Path) -> Result<Vec<String>, PackError> {
    let roster = Roster::read(folder)?;
    let named: BTreeSet<&str> = roster.objects.iter().map(|o| o.file.as_str()).collect();
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(io_at(folder))? {
        let entry = entry.map_err(io_at(folder))?;
        let is_file = entry.file_type().map_err(io_at(&entry.path()))?.is_file();
        let Some(name) =
            entry.file_name().into_string().ok().filter(|n| is_file && !named.contains(n.as_str()))
        else {
            continue;
        };
        let ours = |of: &str| roster::is_object(of) || of == FILE_NAME;
        if roster::is_object(&name) {
            if hash_file(&entry.path())?.0.to_hex().as_str() == name {
                names.push(name);
            }
        } else if temporary_of(&name).is_some_and(ours) {
            names.push(name);
        }
    }
    names.sort();
    for name in &names {
        let path = folder.join(name);
        disk.remove(&path).map_err(io_at(&path))?;
    }
    disk.flush_folder(folder).map_err(io_at(folder))?;
    Ok(names)
}

/// Bytes that are checked.
enum Blob<'a> {
    File(PathBuf),
    Bytes(&'a [u8]),
}

impl Blob<'_> {
    fn length(&self, path: &Path) -> Result<u64, PackError> {
        match self {
            Blob::Bytes(bytes) => Ok(bytes.len() as u64),
            Blob::File(file) => Ok(std::fs::metadata(file).map_err(io_at(path))?.len()),
        }
    }

    /// How long layer textures say they are, and of how many layers.
    fn stated(&self, path: &Path) -> Result<(u64, u32), PackError> {
        let mut prefix = Vec::new();
        match self {
            Blob::Bytes(bytes) => prefix.extend(bytes.iter().take(layer_images::PREFIX_BYTES)),
            Blob::File(file) => {
                let file = open_regular(file).map_err(io_at(path))?;
                file.take(layer_images::PREFIX_BYTES as u64).read_to_end(&mut prefix).map_err(io_at(path))?;
            }
        }
        layer_images::stated(&prefix).map_err(|e| wrong(path, e))
    }

    /// All of them, at most `limit`.
    fn read(&self, limit: u64) -> Result<Vec<u8>, PackError> {
        match self {
            Blob::Bytes(bytes) => Ok(bytes.to_vec()),
            Blob::File(path) => {
                let mut bytes = Vec::new();
                let file = open_regular(path).map_err(io_at(path))?;
                file.take(limit + 1).read_to_end(&mut bytes).map_err(io_at(path))?;
                if bytes.len() as u64 > limit {
                    return Err(wrong(path, format!("is larger than the {limit} bytes that it may have")));
                }
                Ok(bytes)
            }
        }
    }
}

type Admitted = (BTreeMap<String, Terrain>, BTreeMap<String, String>);

/// Checks what objects hold and how they belong together. Roles and names have been checked.
fn admit(blobs: Vec<(Role, &str, Blob<'_>)>, folder: &Path) -> Result<Admitted, PackError> {
    let (mut terrains, mut recipes) = (BTreeMap::new(), BTreeMap::new());
    for (role, name, blob) in &blobs {
        let path = match blob {
            Blob::File(path) => path.clone(),
            Blob::Bytes(_) => folder.join(format!("{name}.{}", role.name())),
        };
        match role {
            Role::Payload => {
                if matches!(blob, Blob::Bytes(_)) {
                    return Err(wrong(&path, "expected a payload that is a file, found bytes"));
                }
                let error = |error| PackError::Payload { path: path.clone(), error };
                let payload = verify(&path).map_err(error)?;
                let terrain = Terrain { payload, visibility: None, layers: None };
                terrains.insert((*name).to_owned(), terrain);
            }
            Role::Recipe => {
                let text = String::from_utf8(blob.read(MAX_RECIPE_BYTES)?);
                let text =
                    text.map_err(|e| wrong(&path, format!("expected UTF-8 text: {}", e.utf8_error())))?;
                recipes.insert((*name).to_owned(), text);
            }
            Role::Visibility | Role::Layers => {}
        }
    }
    for (role, name, blob) in &blobs {
        let Some(terrain) = terrains.get_mut(*name) else { continue };
        let path = match blob {
            Blob::File(path) => path.clone(),
            Blob::Bytes(_) => folder.join(format!("{name}.{}", role.name())),
        };
        match role {
            Role::Visibility => {
                let payload = &terrain.payload;
                let bytes = blob.read(sidecar::most_bytes(payload.config()))?;
                let sidecar = Sidecar::decode_for(&bytes, payload.config(), &payload.digest());
                terrain.visibility = Some(sidecar.map_err(|e| wrong(&path, e))?);
            }
            Role::Layers => {
                let (length, (stated, count)) = (blob.length(&path)?, blob.stated(&path)?);
                if length != stated {
                    let expected = format!("expected {stated} bytes of layer textures, found {length}");
                    return Err(wrong(&path, expected));
                }
                let layers: &[Layer] = &terrain.payload.info().catalogue.layers;
                if count as usize != layers.len() {
                    let expected = format!("textures of the payload's {} layers", layers.len());
                    return Err(wrong(&path, format!("expected {expected}, found {count}")));
                }
                let bytes = blob.read(MAX_BLOB_BYTES)?;
                let arrays = LayerArrays::decode(&bytes).map_err(|e| wrong(&path, e))?;
                terrain.layers = Some(arrays);
            }
            Role::Payload | Role::Recipe => {}
        }
    }
    Ok((terrains, recipes))
}

fn hash_file(path: &Path) -> Result<(blake3::Hash, u64), PackError> {
    let mut file = open_regular(path).map_err(io_at(path))?;
    let mut hasher = blake3::Hasher::new();
    let bytes = io::copy(&mut file, &mut hasher).map_err(io_at(path))?;
    Ok((hasher.finalize(), bytes))
}

/// Reads a text file up to a limit.
fn read_text(path: &Path, limit: u64) -> Result<String, PackError> {
    let bytes = Blob::File(path.to_owned()).read(limit)?;
    String::from_utf8(bytes).map_err(|e| wrong(path, format!("expected UTF-8 text: {}", e.utf8_error())))
}
