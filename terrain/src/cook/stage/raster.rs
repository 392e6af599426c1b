//! Elevation files as sources: the one place where the kitchen asks the door.

use super::{Made, Stages, Told, field_bytes};
use crate::cook::error::CookError;
use crate::cook::field::Field;
use crate::cook::plan::{RasterSource, World};
use crate::height::{HEIGHT_LIMIT, MAX_QUANTUM_LOG2, QuantumLog2, VOID};
use crate::import::{Crop, ImportError, ImportOptions, ImportedRows, import_rows};
use crate::store::TerrainRows;

/// Rows that are made into a field at a time.
const BAND: u32 = 64;

impl RasterSource {
    fn options(&self) -> ImportOptions {
        ImportOptions {
            format: self.format,
            size: self.size.map(|(w, h)| [w, h]),
            big_endian: self.big_endian,
            signed: self.signed,
            south_up: self.south_up,
            channel: self.channel.clone(),
            rgb: self.rgb,
            spacing_m: self.spacing_m,
            min_m: self.min_m,
            max_m: self.max_m,
            crop: self.crop.map(|c| Crop { x: c.x, z: c.z, w: c.w, h: c.h }),
            nodata: self.nodata,
            voids: self.voids,
            ..ImportOptions::default()
        }
    }
}

impl Stages<'_> {
    /// A world's only source as it is: its raw samples are kept, and no field is made of them.
    pub(in crate::cook) fn direct(
        &self,
        r: &RasterSource,
        world: &World,
    ) -> Result<(ImportedRows, Told), CookError> {
        let options = ImportOptions {
            vertical_scale: world.vertical_scale,
            diagonal: world.diagonal,
            quantum: world.quantum_log2,
            ..r.options()
        };
        let rows = self.kept_in_file(r, &options)?;
        let told = told(&rows);
        Ok((rows, told))
    }

    /// A raster as a field. Where its heights are no whole quanta they are rounded to the finest quantum that they fit,
    /// so that what the recipe's own quantum rounds later is as good as the source.
    pub(super) fn raster(&self, r: &RasterSource, at: &str, held: u64) -> Result<Made, CookError> {
        let mut rows = self.kept_in_file(r, &r.options())?;
        let mut found = self.field(&rows, at, held)?;
        let fits = |k: u8, rows: &ImportedRows| {
            let more = k - rows.quantum().get();
            i64::from(found.1) << more < i64::from(HEIGHT_LIMIT) - 1
        };
        let finest = (rows.quantum().get()..=MAX_QUANTUM_LOG2).rev().find(|&k| fits(k, &rows));
        if let Some(k) = finest.filter(|&k| rows.rounding_m() > 0.0 && k > rows.quantum().get()) {
            let options = ImportOptions { quantum: QuantumLog2::try_from(k).ok(), ..r.options() };
            drop(found);
            rows = self.kept_in_file(r, &options)?;
            found = self.field(&rows, at, held)?;
        }
        let mut told = told(&rows);
        if !rows.catalogue().layers.is_empty() {
            told.notes.push(format!(
                "{at}: the layers painted in {} were not taken: only a recipe of this source alone, without steps or layers of its own, keeps them",
                r.path.display()
            ));
        }
        Ok(Made { field: found.0, holes: rows.removed_cells(), strips: Vec::new(), told })
    }

    /// All heights, and the largest |q| among them.
    fn field(&self, rows: &ImportedRows, at: &str, held: u64) -> Result<(Field, i32), CookError> {
        let config = rows.config();
        let [w, h] = config.samples;
        // The raw samples take up to eight bytes each beside the field.
        self.admit(at, config.samples, held + field_bytes(config.samples))?;
        let mut field = Field::level(config.samples, config.spacing_256, f64::NAN);
        let mut most = 0;
        let mut quanta = Vec::new();
        for z in (0..h).step_by(BAND as usize) {
            let end = h.min(z + BAND);
            quanta.resize((end - z) as usize * w as usize, 0);
            rows.heights(z..end, &mut quanta);
            let metres = &mut field.metres_mut()[z as usize * w as usize..];
            for (m, &q) in metres.iter_mut().zip(&quanta).filter(|(_, q)| **q != VOID) {
                *m = config.quantum.to_metres(q);
                most = most.max(q.abs());
            }
        }
        Ok((field, most))
    }

    fn kept_in_file(&self, r: &RasterSource, options: &ImportOptions) -> Result<ImportedRows, CookError> {
        let path = self.images.path(&r.path);
        import_rows(&path, options).map_err(|error| match error {
            // What to pass is the recipe's to say, for this file.
            ImportError::Usage(message) | ImportError::Source(message) => {
                self.rule(format!("{}: {}", r.path.display(), in_fields(&message)))
            }
            error => self.rule(format!("{}: {error}", r.path.display())),
        })
    }
}

/// An importer's advice in a recipe's words: its flags are fields here.
fn in_fields(message: &str) -> String {
    const WORDS: [(&str, &str); 22] = [
        ("--spacing METRES", "spacing_m"),
        ("--spacing", "spacing_m"),
        ("--size WxH", "size: (W, H)"),
        ("--size", "size"),
        ("--min", "min_m"),
        ("--max", "max_m"),
        ("--channel NAME", "channel"),
        ("--channel", "channel"),
        ("--crop X,Y,W,H", "crop"),
        ("--crop", "crop"),
        ("--byte-order", "big_endian"),
        ("--quantum-log2", "quantum_log2"),
        ("--vertical-scale", "vertical_scale"),
        ("--south-up", "south_up"),
        ("--signed", "signed"),
        ("--format terrain-rgb", "format: terrainrgb"),
        ("--format", "format"),
        ("--nodata nan", "nodata: NaN"),
        ("another --nodata", "another nodata"),
        ("--nodata", "nodata:"),
        ("--voids", "voids:"),
        ("--rgb", "rgb"),
    ];
    let said = WORDS.into_iter().fold(message.to_owned(), |m, (flag, field)| m.replace(flag, field));
    said.replace("pass ", "give ")
}

fn told(rows: &ImportedRows) -> Told {
    let mut record: serde_json::Value = serde_json::from_str(&rows.origin().to_json()).unwrap_or_default();
    if let Some(notes) = record.get_mut("notes").and_then(|n| n.as_array_mut()) {
        notes.iter_mut().for_each(|n| *n = in_fields(n.as_str().unwrap_or_default()).into());
    }
    Told { sources: vec![record], notes: Vec::new() }
}
