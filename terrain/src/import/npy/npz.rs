//! Zips of NumPy arrays. Owns the choice of the array and the guards against archives that unpack to more than they
//! can; what other arrays say about the place is [`super::place`]'s.

use super::place::{self, Arrays};
use super::{Head, turn};
use crate::import::archive::MAX_DEFLATE_RATIO;
use crate::import::source::{Ask, Input, Meaning, ReadSeek, Samples, Source, Voids};
use crate::import::{ImportError, SourceFormat};
use std::io::{BufReader, Read, Seek, SeekFrom};
use zip::ZipArchive;

/// The most members that are looked at.
const MAX_MEMBERS: usize = 4096;

/// The most names that a message lists.
const MAX_LISTED: usize = 20;

/// Reads the array that [`Ask::channel`] names, or the only one of numbers with two axes; as [`super::read`] otherwise.
/// Coordinate arrays beside it say which way its rows run and where it lies, as far as [`super::place`] trusts them.
///
/// # Errors
/// No such array or several, a damaged archive, one that claims or yields more than can be, and what [`super::read`]
/// refuses.
pub(crate) fn read(input: &mut Input, ask: &Ask) -> Result<Source, ImportError> {
    let mut zip = Zip::open(input)?;
    let chosen = zip.choose(ask.channel.as_deref())?;
    let member = &zip.members[chosen];
    let Ok(head) = member.head.clone() else { return Err(zip.refused(chosen)) };
    let name = member.name.clone();
    let within = |e: ImportError| match e {
        ImportError::Source(line) => ImportError::source(format!("array {name}: {line}")),
        other => other,
    };
    let (size, mut notes) = head.raster().map_err(within)?;
    notes.insert(0, format!("array {name}: {}", head.shown()));
    let mut samples = zip.values(chosen, &head).map_err(within)?;
    let place = place::of(&mut zip, size, ask.south_up)?;
    for &which in &place.turns {
        turn(&mut samples, size[0] as usize, which);
    }
    notes.extend(place.notes);
    Ok(Source {
        size,
        voids: Voids::none(samples.len()),
        samples,
        format: SourceFormat::Npz,
        nodata: None,
        meaning: Meaning::Metres { scale: 1.0, offset: 0.0 },
        place: place.place,
        registration: place.registration,
        hole_cells: Vec::new(),
        layers: Vec::new(),
        notes,
    })
}

struct Member {
    /// Without `.npy`, fit for a message.
    name: String,
    index: usize,
    /// Or why it is no array of numbers.
    head: Result<Head, String>,
}

struct Zip<'a> {
    archive: ZipArchive<BufReader<&'a mut Box<dyn ReadSeek>>>,
    members: Vec<Member>,
}

fn damaged(e: &dyn std::fmt::Display) -> ImportError {
    ImportError::source(format!("expected a zip archive, found one that is damaged or truncated: {e}"))
}

impl<'a> Zip<'a> {
    fn open(input: &'a mut Input) -> Result<Self, ImportError> {
        input.bytes.seek(SeekFrom::Start(0))?;
        let mut archive = ZipArchive::new(BufReader::new(&mut input.bytes)).map_err(|e| damaged(&e))?;
        if archive.len() > MAX_MEMBERS {
            return Err(ImportError::source(format!(
                "expected an archive of at most {MAX_MEMBERS} arrays, found {} members",
                archive.len()
            )));
        }
        let mut members = Vec::new();
        for index in 0..archive.len() {
            let mut member = archive.by_index(index).map_err(|e| damaged(&e))?;
            let name = member.name().map_err(|e| damaged(&e))?;
            let Some(name) = name.strip_suffix(".npy") else { continue };
            let name: String = name.chars().take(60).flat_map(char::escape_default).collect();
            let (packed, claimed) = (member.compressed_size(), member.size());
            let head = Head::read(&mut member).map_err(|e| e.to_string()).and_then(|head| {
                let plausible = packed.saturating_mul(MAX_DEFLATE_RATIO).saturating_add(1024);
                let expected = head.bytes.saturating_add(head.data_bytes());
                if claimed > plausible {
                    Err(format!(
                        "expected a plausible size, found {claimed} bytes claimed from {packed} packed ones"
                    ))
                } else if expected != claimed {
                    Err(format!("expected {expected} bytes for {}, found {claimed}", head.shown()))
                } else {
                    Ok(head)
                }
            });
            members.push(Member { name, index, head });
        }
        Ok(Self { archive, members })
    }

    /// The member that is asked for, or the only raster.
    fn choose(&self, asked: Option<&str>) -> Result<usize, ImportError> {
        if let Some(asked) = asked {
            let asked = asked.strip_suffix(".npy").unwrap_or(asked);
            return self.members.iter().position(|m| m.name == asked).ok_or_else(|| {
                ImportError::usage(format!(
                    "expected an array of the name asked for, found {}",
                    self.listed()
                ))
            });
        }
        let raster = |m: &Member| m.head.as_ref().is_ok_and(|h| h.raster().is_ok());
        let rasters: Vec<usize> = (0..self.members.len()).filter(|&i| raster(&self.members[i])).collect();
        match (&rasters[..], &self.members[..]) {
            (&[only], _) => Ok(only),
            ([], [_]) => Ok(0),
            _ => Err(ImportError::usage(format!(
                "expected exactly one array of numbers with two axes, found {}: pass --channel NAME",
                self.listed()
            ))),
        }
    }

    fn listed(&self) -> String {
        let list: Vec<String> = self
            .members
            .iter()
            .take(MAX_LISTED)
            .map(|m| match &m.head {
                Ok(head) => format!("{} {}", m.name, head.shown()),
                Err(_) => format!("{} (unreadable)", m.name),
            })
            .collect();
        match self.members.len() {
            0 => "none".to_owned(),
            n if n > MAX_LISTED => format!("{} and {} more", list.join(", "), n - MAX_LISTED),
            _ => list.join(", "),
        }
    }

    fn refused(&self, member: usize) -> ImportError {
        let member = &self.members[member];
        let why = member.head.as_ref().err().map_or("", String::as_str);
        ImportError::source(format!("array {}: {why}", member.name))
    }

    /// The values of a member. Its size has been checked against what the archive claims.
    fn values(&mut self, member: usize, head: &Head) -> Result<Samples, ImportError> {
        let mut from = self.archive.by_index(self.members[member].index).map_err(|e| damaged(&e))?;
        Head::read(&mut from)?;
        let samples = head.values(&mut from)?;
        // The checksum is looked at when the end is read.
        let more = from.read(&mut [0]).map_err(|e| damaged(&e))?;
        if more > 0 {
            return Err(ImportError::source("expected the bytes that the archive claims, found more"));
        }
        Ok(samples)
    }
}

impl Arrays for Zip<'_> {
    fn line(&mut self, names: &[&str], length: usize) -> Result<Option<(String, Vec<f64>)>, ImportError> {
        for name in names {
            let fits = |m: &Member| {
                let shape = m.head.as_ref().map(|h| &h.shape[..]);
                m.name.eq_ignore_ascii_case(name) && matches!(shape, Ok([n]) if *n == length as u64)
                    || length == 1 && m.name.eq_ignore_ascii_case(name) && matches!(shape, Ok([]))
            };
            let Some(i) = self.members.iter().position(fits) else { continue };
            let Ok(head) = self.members[i].head.clone() else { continue };
            let samples = self.values(i, &head)?;
            return Ok(Some((self.members[i].name.clone(), (0..length).map(|i| samples.get(i)).collect())));
        }
        Ok(None)
    }
}
