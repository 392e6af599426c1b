//! Writing a world folder: what differs is found first, then written beside what is there, then takes its place.

use super::bands::{Band, Bands};
use super::error::{FolderError, io_at, rule};
use super::journal::{self, Journal, KNOBS, ORIGIN};
use super::knobs::Meaning;
use super::layer::{Encoder, Layer, Picture};
use super::scale::{Codes, Scale};
use crate::content::PlaneKind;
use crate::disk::Disk;
use crate::height::VOID;
use crate::image;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

/// What is known of a folder's files, so that only what has changed is written again.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Saved {
    pub(super) folder: PathBuf,
    pub(super) meaning: Meaning,
    pub(super) origin: String,
    /// The content of each layer that is not its default.
    pub(super) layers: BTreeMap<Layer, [u8; 32]>,
}

/// What a save did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Files that were written, by name.
    pub written: Vec<String>,
    /// Files that were removed: their layers are at their defaults.
    pub removed: Vec<String>,
}

/// What one pass over a terrain finds out.
struct Scan {
    layers: BTreeMap<Layer, [u8; 32]>,
    surface: Option<(i64, i64)>,
    deepest: i64,
}

/// A terrain to be written: its bands can be had twice.
pub(super) struct Source<'a> {
    pub(super) meaning: Meaning,
    pub(super) kinds: &'a [PlaneKind],
    /// Rounding that the scales it was read with stand for, in metres: a record only once they change.
    pub(super) inexact_m: f64,
    pub(super) origin: String,
    pub(super) bands: &'a dyn Fn() -> Box<dyn Bands + 'a>,
}

/// Writes what differs from `before`, or everything that is not its default when there is no before.
pub(super) fn save(
    disk: &dyn Disk,
    folder: &Path,
    source: Source<'_>,
    before: Option<&Saved>,
) -> Result<(Saved, Report), FolderError> {
    std::fs::create_dir_all(folder).map_err(io_at(folder))?;
    save_locked(disk, folder, source, before, &journal::Lock::take(folder)?)
}

/// As [`save`], to a folder that is there and held.
pub(super) fn save_locked(
    disk: &dyn Disk,
    folder: &Path,
    mut source: Source<'_>,
    before: Option<&Saved>,
    _held: &journal::Lock,
) -> Result<(Saved, Report), FolderError> {
    let recovered = journal::recover(disk, folder)?;
    // A save that was stopped has changed what was known.
    let before = before.filter(|_| !recovered);
    let names = file_names(folder)?;
    for name in journal::known() {
        if names.contains(&format!("{name}.new")) {
            let leftover = journal::staged(folder, &name);
            disk.remove(&leftover).map_err(io_at(&leftover))?;
        }
    }
    let scan = scan(&source)?;
    let same_scale = |layer: &Layer| before.is_some_and(|b| b.layers.get(layer) == scan.layers.get(layer));
    let k = source.meaning.config.quantum;
    let known = before.map(|b| &b.meaning).filter(|m| m.config.quantum == k);
    source.meaning.height = match (known.and_then(|m| m.height), scan.surface) {
        (Some(scale), _) if same_scale(&Layer::Heights) => Some(scale),
        (Some(scale), Some((lo, hi))) if holds(&scale.codes(k), lo, hi) => Some(scale),
        (scale, _) if !scan.layers.contains_key(&Layer::Heights) => scale,
        (_, range) => range.map(|(lo, hi)| Scale::exact(lo, hi, false, k)),
    };
    let implied = source.meaning.catalogue.water.as_ref().map(|w| Scale {
        min_m: 0.0,
        max_m: w.max_depth_m,
        low_bits: 0,
    });
    source.meaning.water = match known.and_then(|m| m.water).or(implied) {
        Some(scale) if known.is_some() && same_scale(&Layer::Water) => Some(scale),
        Some(scale) if holds(&scale.codes(k), 0, scan.deepest) => Some(scale),
        scale if !scan.layers.contains_key(&Layer::Water) => scale,
        _ => Some(Scale::exact(0, scan.deepest, true, k)),
    };
    if known.is_none_or(|m| (m.height, m.water) != (source.meaning.height, source.meaning.water)) {
        source.meaning.rounding_m += source.inexact_m;
    }
    let plan = Plan::new(&source, before, &scan, &names);
    if !plan.journal.replace.is_empty() || !plan.journal.remove.is_empty() {
        plan.write(disk, folder, &source)?;
        plan.journal.commit(disk, folder)?;
    }
    let Source { meaning, origin, .. } = source;
    let report = Report {
        written: plan.journal.replace.into_iter().collect(),
        removed: plan.journal.remove.into_iter().collect(),
    };
    Ok((Saved { folder: folder.to_owned(), meaning, origin, layers: scan.layers }, report))
}

/// Whether every quantum from `lo` to `hi` has a code of its own.
fn holds(codes: &Codes, lo: i64, hi: i64) -> bool {
    codes.code(lo).is_some() && codes.code(hi).is_some()
}

fn file_names(folder: &Path) -> Result<BTreeSet<String>, FolderError> {
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(folder).map_err(io_at(folder))? {
        names.extend(entry.map_err(io_at(folder))?.file_name().into_string().ok());
    }
    Ok(names)
}

/// The content of every layer that is not its default, and the ranges of codes.
pub(super) fn contents(source: &Source<'_>) -> Result<BTreeMap<Layer, [u8; 32]>, FolderError> {
    Ok(scan(source)?.layers)
}

fn scan(source: &Source<'_>) -> Result<Scan, FolderError> {
    let encoder = Encoder { meaning: &source.meaning, kinds: source.kinds };
    let mut layers: BTreeSet<Layer> = [Layer::Heights, Layer::Voids, Layer::Holes].into();
    layers.extend(source.kinds.iter().map(|&k| Layer::of_plane(k).0));
    let mut all: Vec<(Layer, blake3::Hasher, bool)> =
        layers.into_iter().map(|l| (l, blake3::Hasher::new(), false)).collect();
    let (mut surface, mut deepest): (Option<(i64, i64)>, i64) = (None, 0);
    let mut bands = (source.bands)();
    while let Some(band) = bands.next()? {
        let surfaces = encoder.surfaces(&band);
        for &q in surfaces.iter().filter(|&&q| q != VOID) {
            let q = i64::from(q);
            surface = Some(surface.map_or((q, q), |(lo, hi)| (lo.min(q), hi.max(q))));
        }
        deepest = encoder.depths(&band).iter().map(|&d| i64::from(d)).fold(deepest, i64::max);
        all.par_iter_mut().for_each(|(layer, hasher, used)| {
            let bytes = match *layer {
                Layer::Heights => {
                    *used |= surfaces.iter().any(|&q| q != VOID && q != 0);
                    surfaces.iter().flat_map(|q| q.to_le_bytes()).collect()
                }
                other => encoder.pixels(other, &band),
            };
            *used |= *layer != Layer::Heights && bytes.iter().any(|&b| b != 0);
            hasher.update(&bytes);
        });
    }
    let used = all.into_iter().filter(|(.., used)| *used);
    let layers = used.map(|(layer, hasher, _)| (layer, *hasher.finalize().as_bytes())).collect();
    Ok(Scan { layers, surface, deepest })
}

/// Which files are written and which go.
struct Plan {
    journal: Journal,
    pictures: Vec<Picture>,
    knobs: bool,
    origin: bool,
}

impl Plan {
    fn new(source: &Source<'_>, before: Option<&Saved>, scan: &Scan, names: &BTreeSet<String>) -> Self {
        let meaning = &source.meaning;
        let low = |layer: &Layer| match layer {
            Layer::Heights => meaning.height.is_some_and(|s| s.low_bits > 0),
            Layer::Water => meaning.water.is_some_and(|s| s.low_bits > 0),
            _ => false,
        };
        let mut wanted = BTreeSet::from([KNOBS.to_owned()]);
        let mut pictures = Vec::new();
        for (layer, content) in &scan.layers {
            let files = layer.pictures(low(layer));
            let scale = |m: &Meaning| match layer {
                Layer::Heights => m.height,
                Layer::Water => m.water,
                _ => None,
            };
            let clean = before.is_some_and(|b| {
                b.layers.get(layer) == Some(content)
                    && scale(&b.meaning) == scale(meaning)
                    && b.meaning.config.samples == meaning.config.samples
                    && b.meaning.config.paint_per_cell == meaning.config.paint_per_cell
            });
            // An image that is missing though it is wanted: its low half may, being all 0.
            let missing = !names.contains(&files[0].file_name());
            wanted.extend(files.iter().map(|f| f.file_name()));
            if !clean || missing {
                pictures.extend(files);
            }
        }
        let there = |name: &str| names.contains(name);
        let knobs = !there(KNOBS) || before.is_none_or(|b| b.meaning != *meaning);
        let origin = source.origin != "{}" && before.is_none_or(|b| b.origin != source.origin);
        if source.origin != "{}" {
            wanted.insert(ORIGIN.to_owned());
        }
        let mut replace: BTreeSet<String> = pictures.iter().map(|p| p.file_name()).collect();
        replace.extend(knobs.then(|| KNOBS.to_owned()));
        replace.extend(origin.then(|| ORIGIN.to_owned()));
        let remove = journal::known().into_iter().filter(|n| there(n) && !wanted.contains(n)).collect();
        Self { journal: Journal { replace, remove }, pictures, knobs, origin }
    }

    /// Writes the new files beside the old ones.
    fn write(&self, disk: &dyn Disk, folder: &Path, source: &Source<'_>) -> Result<(), FolderError> {
        let texts = [
            (self.knobs, KNOBS, source.meaning.knobs().to_text()),
            (self.origin, ORIGIN, source.origin.clone()),
        ];
        for (_, name, text) in texts.into_iter().filter(|t| t.0) {
            let path = journal::staged(folder, name);
            write_whole(disk, &path, text.as_bytes()).map_err(io_at(&path))?;
        }
        if self.pictures.is_empty() {
            return Ok(());
        }
        let config = &source.meaning.config;
        let mut open = Vec::with_capacity(self.pictures.len());
        for &picture in &self.pictures {
            let path = journal::staged(folder, &picture.file_name());
            let writer = image::Writer::create(disk, &path, picture.form(config)).map_err(io_at(&path))?;
            open.push((picture, path, writer));
        }
        let pixels = Pixels::new(source)?;
        let mut bands = (source.bands)();
        while let Some(band) = bands.next()? {
            open.par_iter_mut().try_for_each(|(picture, path, writer)| {
                writer.put(&pixels.of(*picture, &band)).map_err(io_at(path))
            })?;
        }
        open.into_par_iter().try_for_each(|(_, path, writer)| writer.finish().map_err(io_at(&path)))
    }
}

fn write_whole(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = disk.create(path)?;
    file.write_all(bytes)?;
    file.flush_to_device()
}

/// Makes the pixels of every image.
struct Pixels<'a> {
    encoder: Encoder<'a>,
    height: Option<(Codes, u8)>,
    water: Option<(Codes, u8)>,
}

impl<'a> Pixels<'a> {
    fn new(source: &'a Source<'_>) -> Result<Self, FolderError> {
        let meaning = &source.meaning;
        let codes = |s: Option<Scale>| s.map(|s| (s.codes(meaning.config.quantum), s.low_bits));
        let encoder = Encoder { meaning, kinds: source.kinds };
        Ok(Self { encoder, height: codes(meaning.height), water: codes(meaning.water) })
    }

    fn of(&self, picture: Picture, band: &Band) -> Vec<u8> {
        let half = usize::from(matches!(picture, Picture::Low(_)));
        let [high, low] = match (picture.layer(), &self.height, &self.water) {
            (Layer::Heights, Some((codes, bits)), _) => {
                Encoder::codes(self.encoder.height_codes(band, codes).into_iter(), *bits)
            }
            (Layer::Water, _, Some((codes, bits))) => {
                let depths = self.encoder.depths(band).into_iter();
                Encoder::codes(depths.map(|d| codes.code(i64::from(d)).unwrap_or(0)), *bits)
            }
            (layer, ..) => [self.encoder.pixels(layer, band), Vec::new()],
        };
        if half == 0 { high } else { low }
    }
}

/// Refuses a folder that holds anything.
pub(super) fn refuse_used(folder: &Path) -> Result<(), FolderError> {
    match std::fs::read_dir(folder) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(FolderError::Io { path: folder.to_owned(), error }),
        Ok(entries) => {
            for entry in entries {
                let name = entry.map_err(io_at(folder))?.file_name();
                // What was stopped before it counted never was.
                if !name.to_str().is_some_and(journal::is_leftover) {
                    return Err(rule(folder, "is not empty: name a folder that is not there or is empty"));
                }
            }
            Ok(())
        }
    }
}
