//! Reading a world folder: every image is held against the knobs before it takes memory.

use super::error::{FolderError, io_at, rule};
use super::journal::{self, KNOBS, ORIGIN};
use super::knobs::{Knobs, Meaning};
use super::layer::{Layer, MASK_STEP, Picture, possible};
use super::scale::{Codes, Scale};
use crate::config::TerrainConfig;
use crate::content::{Plane, PlaneKind};
use crate::coord::CellPos;
use crate::disk::RealDisk;
use crate::format::payload::MAX_ORIGIN_BYTES;
use crate::height::{HEIGHT_LIMIT, VOID};
use crate::image::{self, Form, Pixels};
use crate::kernel::weights;
use crate::store::Raster;
use rayon::prelude::*;
use std::path::{Path, PathBuf};

/// The largest `terrain.ron`.
const MAX_KNOBS_BYTES: u64 = 16 << 20;

/// The most samples of a world folder: 16,384 × 16,384.
pub(super) const MAX_FOLDER_SAMPLES: u64 = 1 << 28;

/// The most bytes that a folder's terrain may take in memory.
pub(super) const MAX_FOLDER_BYTES: u64 = 8 << 30;

/// What was read.
pub(super) struct Found {
    pub(super) meaning: Meaning,
    pub(super) raster: Raster,
    /// What its scales round, in metres.
    pub(super) inexact_m: f64,
    pub(super) origin: String,
    pub(super) notes: Vec<String>,
}

pub(super) fn read(folder: &Path) -> Result<Found, FolderError> {
    let _held = journal::Lock::share(&RealDisk, folder)?;
    let path = folder.join(KNOBS);
    let Some(text) = journal::read_text(&path, MAX_KNOBS_BYTES)? else {
        return Err(rule(&path, "is not there: a world folder needs one; see docs/authoring.md"));
    };
    let meaning = Knobs::parse(&text, &path)?.meaning(&path)?;
    let origin_path = folder.join(ORIGIN);
    let origin = match journal::read_text(&origin_path, MAX_ORIGIN_BYTES)? {
        Some(text) => {
            if let Err(e) = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&text) {
                return Err(rule(&origin_path, format!("expected a JSON object: {e}")));
            }
            text
        }
        None => "{}".to_owned(),
    };
    let mut there = Vec::new();
    for layer in Layer::all() {
        if exists(folder, Picture::Of(layer))? {
            there.push(layer);
        }
    }
    for low in [Picture::Low(Layer::Heights), Picture::Low(Layer::Water)] {
        if exists(folder, low)? && !there.contains(&low.layer()) {
            let high = Picture::Of(low.layer()).file_name();
            return Err(rule(&folder.join(low.file_name()), format!("is there without {high}")));
        }
    }
    check_size(&path, &meaning, &there)?;
    let mut reader = Reader { folder, meaning: &meaning, inexact_m: 0.0, notes: Vec::new() };
    let raster = reader.raster(&there)?;
    let (inexact_m, mut notes) = (reader.inexact_m, reader.notes);
    notes.extend(strangers(folder, &meaning)?);
    raster.check().map_err(|error| FolderError::Terrain { path: folder.to_owned(), error })?;
    Ok(Found { meaning, raster, inexact_m, origin, notes })
}

/// Images that are neither a layer of a world folder nor named by one of its layers: what is misspelt would otherwise be
/// left out in silence.
fn strangers(folder: &Path, meaning: &Meaning) -> Result<Vec<String>, FolderError> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(io_at(folder))? {
        let name = entry.map_err(io_at(folder))?.file_name();
        names.extend(name.into_string().ok().filter(|n| n.to_ascii_lowercase().ends_with(".png")));
    }
    names.sort();
    let layers = || Layer::all().into_iter();
    let known = |name: &str| {
        layers().any(|l| Picture::Of(l).file_name() == name)
            || [Layer::Heights, Layer::Water].into_iter().any(|l| Picture::Low(l).file_name() == name)
            || meaning.catalogue.layers.iter().any(|l| l.images.names().any(|n| n == name))
    };
    names.retain(|n| !known(n));
    Ok(names.iter().map(|n| format!("{n}: is no layer of a world folder and was not used")).collect())
}

/// A link that leads nowhere, or where nobody may look, is there: reading it says what is wrong.
fn exists(folder: &Path, picture: Picture) -> Result<bool, FolderError> {
    journal::is_there(&folder.join(picture.file_name()))
}

/// Refuses a terrain that is too large for memory before any of it is taken.
fn check_size(path: &Path, meaning: &Meaning, there: &[Layer]) -> Result<(), FolderError> {
    let [w, h] = meaning.config.samples.map(u64::from);
    if w * h > MAX_FOLDER_SAMPLES {
        let expected = format!("expected at most {MAX_FOLDER_SAMPLES} samples in a world folder");
        return Err(rule(path, format!("{expected}, found {w}x{h}")));
    }
    let planes = there.iter().flat_map(|l| l.planes()).filter(|&k| meaning.catalogue.allows(k));
    // Checked sizes: at most 2¹⁷ · 4 texels a side, 4 bytes, 120 planes.
    let bytes = w * h * 5 + planes.map(|k| k.plane_bytes(&meaning.config) as u64).sum::<u64>();
    if bytes > MAX_FOLDER_BYTES {
        let expected = format!("expected a terrain of at most {MAX_FOLDER_BYTES} bytes in memory");
        return Err(rule(path, format!("{expected}, found {bytes}: cut it into several")));
    }
    Ok(())
}

struct Reader<'a> {
    folder: &'a Path,
    meaning: &'a Meaning,
    inexact_m: f64,
    notes: Vec<String>,
}

impl Reader<'_> {
    fn config(&self) -> &TerrainConfig {
        &self.meaning.config
    }

    fn raster(&mut self, there: &[Layer]) -> Result<Raster, FolderError> {
        let samples = self.config().samples.map(|n| n as usize).iter().product();
        let mut heights = match there.contains(&Layer::Heights) {
            true => self.heights()?,
            false => vec![0; samples],
        };
        let mut raster = Raster {
            config: *self.config(),
            heights: Vec::new(),
            mask: Vec::new(),
            catalogue: self.meaning.catalogue.clone(),
            planes: Vec::new(),
        };
        if there.contains(&Layer::Water) {
            let depths = self.water()?;
            self.lower(&mut heights, &depths)?;
            if depths.iter().any(|&d| d != 0) {
                let values = depths.iter().flat_map(|d| d.to_le_bytes()).collect();
                raster.set_plane(Plane { kind: PlaneKind::WaterDepth, values });
            }
        }
        if there.contains(&Layer::Voids) {
            let pixels = self.bytes(Layer::Voids, 1, &|v| v == 0 || v == 255, "0 or 255 (no sample)")?;
            heights.iter_mut().zip(pixels).filter(|(_, v)| *v != 0).for_each(|(q, _)| *q = VOID);
        }
        raster.heights = heights;
        let removed = match there.contains(&Layer::Holes) {
            true => Some(self.masks(Layer::Holes)?),
            false => None,
        };
        raster.mask = visible(&raster, removed.as_deref());
        for &layer in there {
            match layer {
                Layer::Heights | Layer::Water | Layer::Voids | Layer::Holes => {}
                Layer::PhysicalHoles => {
                    let values = self.masks(layer)?;
                    add(&mut raster, PlaneKind::PhysicalHole, values);
                }
                Layer::Splat(_) | Layer::User(_) => self.four(layer, &mut raster)?,
                one => self.one(one, &mut raster)?,
            }
        }
        self.normalise(&mut raster);
        Ok(raster)
    }

    fn path(&self, picture: Picture) -> PathBuf {
        self.folder.join(picture.file_name())
    }

    /// Reads an image of the right size whose form `accept` takes; gives what it was and its bytes.
    fn picture(
        &mut self,
        picture: Picture,
        expected: &str,
        accept: &dyn Fn(&Form) -> bool,
    ) -> Result<(Form, Vec<u8>), FolderError> {
        let wanted = picture.form(self.config()).size;
        let mut form = None;
        let mut bytes = Vec::new();
        let mut check = |found: &Form| {
            form = Some(*found);
            let good = found.size == wanted && accept(found);
            if good { Ok(()) } else { Err(format!("{expected} of {}x{}", wanted[0], wanted[1])) }
        };
        let seen = image::read(&self.path(picture), Pixels::Stored, &mut check, &mut |_, row| {
            bytes.extend_from_slice(row);
            Ok(())
        })?;
        if let Some(ignored) = seen.ignored {
            self.notes.push(format!("{}: {ignored} ignored: its values are numbers", picture.file_name()));
        }
        form.map(|f| (f, bytes)).ok_or_else(|| rule(self.folder, "an image without a header"))
    }

    /// Codes out of one or two 16-bit images; eight-bit water is the reference's and counts in 255ths.
    fn codes(&mut self, layer: Layer, scale: Scale) -> Result<Vec<u32>, FolderError> {
        let water = layer == Layer::Water;
        let expected =
            if water { "a 16-bit grey (or 8-bit grey, RGB or RGBA) PNG" } else { "a 16-bit grey PNG" };
        let accept =
            |f: &Form| (f.bits == 16 && f.channels == 1) || (water && f.bits == 8 && f.channels != 2);
        let (form, bytes) = self.picture(Picture::Of(layer), expected, &accept)?;
        let mut codes: Vec<u32> = if form.bits == 16 {
            let code = |b: &[u8; 2]| u32::from(u16::from_be_bytes(*b)) << scale.low_bits;
            bytes.as_chunks::<2>().0.iter().map(code).collect()
        } else {
            if scale.low_bits > 0 {
                let path = self.path(Picture::Of(layer));
                return Err(rule(&path, "expected a 16-bit grey PNG beside low bits, found 8 bits"));
            }
            bytes.chunks_exact(usize::from(form.channels)).map(|p| u32::from(p[0]) * 257).collect()
        };
        drop(bytes);
        let low = Picture::Low(layer);
        match (scale.low_bits, exists(self.folder, low)?) {
            (0, true) => {
                let knob = if water { "water_low_bits" } else { "height_low_bits" };
                return Err(rule(&self.path(low), format!("is there, but {knob} in {KNOBS} is 0")));
            }
            (bits, true) => {
                let (_, bytes) =
                    self.picture(low, "a 16-bit grey PNG", &|f| f.bits == 16 && f.channels == 1)?;
                let width = self.config().samples[0] as usize;
                for (i, (code, b)) in codes.iter_mut().zip(bytes.as_chunks::<2>().0).enumerate() {
                    let v = u32::from(u16::from_be_bytes(*b));
                    if v >> bits != 0 {
                        let expected = format!("expected values below {}, found {v}", 1u32 << bits);
                        return Err(rule(&self.path(low), at(&expected, i, width)));
                    }
                    *code |= v;
                }
            }
            (_, false) => {}
        }
        Ok(codes)
    }

    /// Heights as the folder keeps them: where there is water, its surface.
    fn heights(&mut self) -> Result<Vec<i32>, FolderError> {
        let Some(scale) = self.meaning.height else {
            let message = "expected height_min_m and height_max_m beside a height image, found none";
            return Err(rule(&self.folder.join(KNOBS), message));
        };
        let codes = self.codes(Layer::Heights, scale)?;
        let scale = scale.codes(self.config().quantum);
        self.round(&scale, &codes);
        // At most 2²⁶ m in 1/4096 m, which a bed or a surface never has: what does not fit is refused below.
        let quanta = |&c: &u32| scale.quanta(c).clamp(i64::from(i32::MIN) + 1, i64::from(i32::MAX)) as i32;
        Ok(codes.par_iter().map(quanta).collect())
    }

    /// Depths of water in quanta.
    fn water(&mut self) -> Result<Vec<u32>, FolderError> {
        let Some(scale) = self.meaning.water else {
            let message = "expected max_water_depth_m or water_full_m beside a water image, found neither";
            return Err(rule(&self.folder.join(KNOBS), message));
        };
        let codes = self.codes(Layer::Water, scale)?;
        let scale = scale.codes(self.config().quantum);
        self.round(&scale, &codes);
        // A depth is not negative: the scale starts at 0. What is beyond the limit is refused as a value of its plane.
        Ok(codes.par_iter().map(|&c| scale.quanta(c).min(i64::from(i32::MAX)) as u32).collect())
    }

    fn round(&mut self, scale: &Codes, codes: &[u32]) {
        let most = codes.par_iter().map(|&c| scale.error_m(c)).reduce(|| 0.0, f64::max);
        self.inexact_m += most;
    }

    /// From surfaces of water to beds.
    fn lower(&self, heights: &mut [i32], depths: &[u32]) -> Result<(), FolderError> {
        let width = self.config().samples[0] as usize;
        for (i, (q, &depth)) in heights.iter_mut().zip(depths).enumerate() {
            let bed = i64::from(*q) - i64::from(depth);
            if bed.unsigned_abs() >= HEIGHT_LIMIT as u64 {
                let message = format!("the bed, {bed} quanta, does not fit below ±2^24 quanta");
                return Err(rule(&self.path(Picture::Of(Layer::Water)), at(&message, i, width)));
            }
            *q = bed as i32;
        }
        Ok(())
    }

    /// The bytes of an image of one 8-bit channel.
    fn bytes(
        &mut self,
        layer: Layer,
        step: u8,
        good: &dyn Fn(u8) -> bool,
        expected: &str,
    ) -> Result<Vec<u8>, FolderError> {
        let picture = Picture::Of(layer);
        let (_, mut bytes) =
            self.picture(picture, "an 8-bit grey PNG", &|f| f.bits == 8 && f.channels == 1)?;
        let width = picture.form(self.config()).size[0] as usize;
        if let Some(i) = bytes.iter().position(|&v| !good(v)) {
            let message = format!("expected {expected}, found {}", bytes[i]);
            return Err(rule(&self.path(picture), at(&message, i, width)));
        }
        bytes.iter_mut().for_each(|v| *v /= step);
        Ok(bytes)
    }

    /// Two bits a cell: which triangles are removed.
    fn masks(&mut self, layer: Layer) -> Result<Vec<u8>, FolderError> {
        let expected = "0, 85 (triangle 0 removed), 170 (triangle 1) or 255 (both)";
        self.bytes(layer, MASK_STEP, &|v| v % MASK_STEP == 0, expected)
    }

    /// A plane of its own.
    fn one(&mut self, layer: Layer, raster: &mut Raster) -> Result<(), FolderError> {
        let kind = layer.planes()[0];
        self.named(layer, &[kind])?;
        let limit = match kind {
            PlaneKind::PhysicalMaterial => self.meaning.catalogue.materials.len(),
            _ => 256,
        };
        let expected = format!("numbers below the {limit} physical materials of {KNOBS}");
        let values = self.bytes(layer, 1, &|v| usize::from(v) < limit, &expected)?;
        add(raster, kind, values);
        Ok(())
    }

    /// Refuses an image that nothing in the catalogue stands for.
    fn named(&self, layer: Layer, kinds: &[PlaneKind]) -> Result<(), FolderError> {
        if kinds.iter().any(|&k| self.meaning.catalogue.allows(k)) {
            return Ok(());
        }
        let message = format!("holds the {}, but {KNOBS} has no such entry", kinds[0].name());
        Err(rule(&self.path(Picture::Of(layer)), message))
    }

    /// Four planes in one image.
    fn four(&mut self, layer: Layer, raster: &mut Raster) -> Result<(), FolderError> {
        let kinds = layer.planes();
        self.named(layer, &kinds)?;
        let picture = Picture::Of(layer);
        let accept = |f: &Form| f.bits == 8 && matches!(f.channels, 3 | 4);
        let (form, bytes) = self.picture(picture, "an 8-bit RGBA (or RGB) PNG", &accept)?;
        let channels = usize::from(form.channels);
        for (channel, &kind) in kinds.iter().enumerate().take(channels) {
            let values: Vec<u8> = bytes.iter().skip(channel).step_by(channels).copied().collect();
            if self.meaning.catalogue.allows(kind) {
                add(raster, kind, values);
            } else if let Some(i) = values.iter().position(|&v| v != 0) {
                let message = format!(
                    "expected 0 in channel {channel}, since {KNOBS} has no {}, found {}",
                    kind.name().trim_start_matches("weight of "),
                    values[i]
                );
                let message = format!("{message} (save it without alpha, or name the entry)");
                return Err(rule(&self.path(picture), at(&message, i, form.size[0] as usize)));
            }
        }
        Ok(())
    }

    /// Scales base weights that do not sum to 255, and says how many texels that were.
    fn normalise(&mut self, raster: &mut Raster) {
        let layers = &raster.catalogue.layers;
        let is_base = |kind: PlaneKind| match kind {
            PlaneKind::Weight(i) => layers[usize::from(i)].kind.is_base(),
            _ => false,
        };
        let base: Vec<usize> = (0..raster.planes.len()).filter(|&i| is_base(raster.planes[i].kind)).collect();
        let texels = base.first().map_or(0, |&i| raster.planes[i].values.len());
        let mut changed = 0u64;
        let mut texel = vec![0; base.len()];
        for t in 0..texels {
            texel.iter_mut().zip(&base).for_each(|(w, &i)| *w = raster.planes[i].values[t]);
            if weights::normalise_255(&mut texel) {
                changed += 1;
                texel.iter().zip(&base).for_each(|(&w, &i)| raster.planes[i].values[t] = w);
            }
        }
        raster.planes.retain(|p| p.values.iter().any(|&v| v != 0));
        if changed > 0 {
            self.notes.push(format!(
                "splat images: the weights of {changed} texels did not sum to 255 and were scaled to it by largest remainders"
            ));
        }
    }
}

/// Adds a plane unless it is 0 everywhere.
fn add(raster: &mut Raster, kind: PlaneKind, values: Vec<u8>) {
    if values.iter().any(|&v| v != 0) {
        raster.set_plane(Plane { kind, values });
    }
}

fn at(message: &str, index: usize, width: usize) -> String {
    format!("pixel ({}, {}): {message}", index % width.max(1), index / width.max(1))
}

/// What is visible of all that could be.
fn visible(raster: &Raster, removed: Option<&[u8]>) -> Vec<u8> {
    let config = raster.config;
    let (w, cw) = (config.samples[0] as usize, config.cells()[0] as usize);
    let mut mask = vec![0; cw * config.cells()[1] as usize];
    mask.par_chunks_mut(cw).enumerate().for_each(|(z, row)| {
        for (x, out) in row.iter_mut().enumerate() {
            let corner = |dx: i32, dz: i32| raster.heights[(z + dz as usize) * w + x + dx as usize];
            let gone = removed.map_or(0, |r| r[z * cw + x]);
            *out = possible(&config, CellPos::new(x as i32, z as i32), corner) & !gone;
        }
    });
    mask
}

pub(super) fn create(folder: &Path) -> Result<(), FolderError> {
    std::fs::create_dir_all(folder).map_err(io_at(folder))
}
