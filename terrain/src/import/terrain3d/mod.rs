//! Regions of Terrain3D, a terrain for Godot 4: a resource with a height, a control and a colour map.
//!
//! Owns what the maps mean. Never says what textures look like, nor where regions lie beside each other: that is in
//! the plugin's assets and in its node.

mod rscc;
mod rsrc;

use super::source::{Ask, Input, Meaning, Place, Samples, Source, Voids, check_size};
use super::{ImportError, Registration, SourceFormat};
use rsrc::{Resources, Value};
use std::collections::BTreeMap;
use std::ops::Range;

/// Reads a region, compressed or not.
///
/// Heights are metres of points. A control word is 32 bits, and never a number: base texture 27..=31, overlay texture
/// 22..=26, their blend 14..=21, the texture's turn 10..=13 and scale 7..=9, hole 2, navigation 1, autoshader 0.
///
/// - **Holes** are marked at samples, and Terrain3D removes every triangle that touches one. Here every cell is removed
///   that has a marked sample at one of its four corners, so two of a lone hole's eight triangles go beside Terrain3D's six.
/// - **Layers**: the base texture weighs 255 − blend, the overlay blend. Where the autoshader is on, Terrain3D paints by
///   slope instead; how often is noted.
///
/// # Errors
/// Another resource than a region, maps that are not of floats or not of one size, a damaged file.
pub(crate) fn read(input: &mut Input, ask: &Ask) -> Result<Source, ImportError> {
    let mut bytes = input.read_all(rscc::MAX_BYTES)?;
    let header = if bytes.starts_with(rscc::MAGIC) {
        bytes = rscc::unpack(&bytes)?;
        0
    } else if bytes.starts_with(b"RSRC") {
        4
    } else {
        return Err(ImportError::source(
            "expected a binary resource of Godot (RSRC or RSCC), found another file",
        ));
    };
    if ask.south_up {
        return Err(ImportError::usage(
            "a Terrain3D region's first row is its north edge: leave --south-up out",
        ));
    }
    let region = Region::read(&bytes, header)?;
    let [width, height] = region.heights.size;
    let heights: Vec<f32> = bytes[region.heights.bytes.clone()]
        .as_chunks::<4>()
        .0
        .iter()
        .map(|&b| f32::from_le_bytes(b))
        .collect();
    let mut notes = vec![region.said];
    if region.spacing_m.is_none() {
        notes.push(
            "the distance between samples is the node's and not in this file (1 m unless changed)".to_owned(),
        );
    }
    let mut control = Control { hole_cells: Vec::new(), layers: Vec::new() };
    if let Some(map) = &region.control {
        let words = bytes[map.bytes.clone()].as_chunks::<4>().0.iter().map(|&b| u32::from_le_bytes(b));
        control = Control::of(words, [width as usize, height as usize], &mut notes);
    } else {
        notes.push("no control map, so no holes and no layers".to_owned());
    }
    if region.coloured {
        notes.push("colour map not used".to_owned());
    }
    Ok(Source {
        size: region.heights.size,
        voids: Voids::none(heights.len()),
        samples: Samples::F32(heights),
        format: SourceFormat::Terrain3d,
        nodata: None,
        meaning: Meaning::Metres { scale: 1.0, offset: 0.0 },
        place: region.spacing_m.map_or(Place::None, |m| Place::Metres { step_x: m, step_z: m }),
        registration: Registration::Point,
        hole_cells: control.hole_cells,
        layers: control.layers,
        notes,
    })
}

/// One of a region's maps: four bytes a sample.
#[derive(Debug, PartialEq)]
struct Map {
    size: [u32; 2],
    /// Where its samples lie.
    bytes: Range<usize>,
}

struct Region {
    heights: Map,
    control: Option<Map>,
    coloured: bool,
    spacing_m: Option<f64>,
    /// Version and location, to be noted.
    said: String,
}

impl Region {
    fn read(bytes: &[u8], header: usize) -> Result<Self, ImportError> {
        let mut resources = Resources::open(bytes, header)?;
        let main = resources.main()?;
        let wanted = ["height_map", "control_map", "color_map", "location", "version", "vertex_spacing"];
        let (class, found) = resources.read(main, &wanted)?;
        if class != "Terrain3DRegion" {
            return Err(ImportError::source(format!(
                "expected a Terrain3DRegion, found a {}",
                class.escape_default().take(60).collect::<String>()
            )));
        }
        let of = |name: &str| found.iter().find(|(n, _)| n == name).map(|(_, v)| v);
        let Some(&Value::Resource(heights)) = of("height_map") else {
            return Err(ImportError::source("expected a region with a height_map in the file, found none"));
        };
        let heights = map(&mut resources, heights, "height_map")?;
        let control = match of("control_map") {
            Some(&Value::Resource(control)) => Some(map(&mut resources, control, "control_map")?),
            _ => None,
        };
        if let Some(control) = &control
            && control.size != heights.size
        {
            return Err(ImportError::source(format!(
                "expected a control_map of the heights' {}x{}, found {}x{}",
                heights.size[0], heights.size[1], control.size[0], control.size[1]
            )));
        }
        let spacing_m = match of("vertex_spacing") {
            Some(&Value::Real(m)) if m.is_finite() && m > 0.0 => Some(m),
            _ => None,
        };
        let mut said = "Terrain3D region".to_owned();
        if let Some(&Value::Point([x, z])) = of("location") {
            said += &format!(" ({x}, {z})");
        }
        if let Some(&Value::Real(version)) = of("version") {
            said += &format!(" of version {version:.3}");
        }
        Ok(Self {
            heights,
            control,
            coloured: matches!(of("color_map"), Some(Value::Resource(_))),
            spacing_m,
            said,
        })
    }
}

/// A map of four bytes a sample.
fn map(resources: &mut Resources<'_>, resource: usize, name: &str) -> Result<Map, ImportError> {
    let wanted = ["width", "height", "format", "mipmaps", "data"];
    let (class, found) = resources.dictionary(resource, "data", &wanted)?;
    let of = |key: &str| found.iter().find(|(k, _)| k == key).map(|(_, v)| v);
    let side = |key: &str| match of(key) {
        Some(&Value::Integer(n)) => u64::try_from(n).unwrap_or(0),
        _ => 0,
    };
    let (width, height) = (side("width"), side("height"));
    let size = check_size(&format!("a {name}"), width, height)?;
    let format = match of("format") {
        Some(Value::Text(format)) => &**format,
        _ => "none",
    };
    let mipmapped = !matches!(of("mipmaps"), Some(Value::Integer(0)));
    if class != "Image" || format != "RFloat" || mipmapped {
        return Err(ImportError::source(format!(
            "expected {name} to be an Image of format RFloat without mipmaps, found {} of format {}{}",
            class.escape_default(),
            format.escape_default(),
            if mipmapped { " with mipmaps" } else { "" }
        )));
    }
    match of("data") {
        Some(Value::Bytes(bytes)) if bytes.len() as u64 == width * height * 4 => {
            Ok(Map { size, bytes: bytes.clone() })
        }
        found => {
            let found = if let Some(Value::Bytes(bytes)) = found { bytes.len() } else { 0 };
            Err(ImportError::source(format!(
                "expected {} bytes for a {name} of {width}x{height}, found {found}",
                width * height * 4
            )))
        }
    }
}

/// What the control words say.
struct Control {
    hole_cells: Vec<u8>,
    layers: Vec<(String, Vec<u8>)>,
}

impl Control {
    /// From the words of all samples of a raster of columns and rows.
    fn of(words: impl Iterator<Item = u32>, [width, height]: [usize; 2], notes: &mut Vec<String>) -> Self {
        let mut holes = Vec::new();
        // Layers by texture; one without any weight never gets one.
        let mut layers: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
        let (mut navigable, mut automatic, mut turned) = (0u64, 0u64, 0u64);
        for (i, word) in words.enumerate() {
            let (base, overlay, blend) = (word >> 27, word >> 22 & 31, (word >> 14 & 255) as u8);
            for (texture, weight) in [(base, 255 - blend), (overlay, blend)] {
                if weight > 0 {
                    // Both may be the same texture.
                    layers.entry(texture).or_insert_with(|| vec![0; width * height])[i] += weight;
                }
            }
            if word >> 2 & 1 == 1 {
                holes.push(i);
            }
            navigable += u64::from(word >> 1 & 1);
            automatic += u64::from(word & 1);
            turned += u64::from(word >> 7 & 0x7f != 0);
        }
        let mut hole_cells = Vec::new();
        if !holes.is_empty() {
            hole_cells = vec![0; (width - 1) * (height - 1)];
            for &i in &holes {
                let (x, z) = (i % width, i / width);
                for z in z.saturating_sub(1)..=z.min(height - 2) {
                    for x in x.saturating_sub(1)..=x.min(width - 2) {
                        hole_cells[z * (width - 1) + x] = 1;
                    }
                }
            }
            notes.push(format!("{} samples marked as holes: the cells around them removed", holes.len()));
        }
        for (count, what) in [
            (automatic, "have the autoshader on, which paints by slope in Terrain3D, not by layers"),
            (navigable, "are marked as navigable: not used"),
            (turned, "turn or scale their texture: not used"),
        ] {
            if count > 0 {
                notes.push(format!("{count} samples {what}"));
            }
        }
        let layers = layers.into_iter().map(|(id, weights)| (format!("texture {id}"), weights)).collect();
        Self { hole_cells, layers }
    }
}

#[cfg(test)]
mod tests;
