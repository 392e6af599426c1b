//! The layers of a world folder: which image holds what, and how values become pixels and back.

use super::bands::Band;
use super::knobs::Meaning;
use super::scale::Codes;
use crate::config::TerrainConfig;
use crate::content::{Lattice, MAX_LAYERS, MAX_TYPES, MAX_USER_CHANNELS, PlaneKind};
use crate::coord::CellPos;
use crate::height::VOID;
use crate::image::Form;
use crate::surface::Triangle;

/// What a step of the two mask bits is in `holes.png` and `physical-holes.png`: 0, 85, 170 and 255.
pub(super) const MASK_STEP: u8 = 85;

/// A layer that is kept and replaced as one: an image, or two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Layer {
    Heights,
    Voids,
    Holes,
    PhysicalHoles,
    Surface,
    Splat(u8),
    User(u8),
    Foliage(u8),
    Object(u8),
    Water,
}

/// An image file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Picture {
    /// The image of a layer; of heights and water the high bits.
    Of(Layer),
    /// The low bits of heights or water.
    Low(Layer),
}

impl Layer {
    /// Every layer that a folder may have.
    pub(super) fn all() -> Vec<Layer> {
        let mut all = vec![
            Layer::Heights,
            Layer::Voids,
            Layer::Holes,
            Layer::PhysicalHoles,
            Layer::Surface,
            Layer::Water,
        ];
        all.extend((0..MAX_LAYERS as u8 / 4).map(Layer::Splat));
        all.extend((0..MAX_USER_CHANNELS as u8 / 4).map(Layer::User));
        all.extend((0..MAX_TYPES as u8).flat_map(|i| [Layer::Foliage(i), Layer::Object(i)]));
        all.sort();
        all
    }

    /// The layer that holds a plane, and the channel.
    pub(super) fn of_plane(kind: PlaneKind) -> (Layer, usize) {
        match kind {
            PlaneKind::Weight(i) => (Layer::Splat(i / 4), usize::from(i % 4)),
            PlaneKind::PhysicalHole => (Layer::PhysicalHoles, 0),
            PlaneKind::PhysicalMaterial => (Layer::Surface, 0),
            PlaneKind::User(i) => (Layer::User(i / 4), usize::from(i % 4)),
            PlaneKind::Foliage(i) => (Layer::Foliage(i), 0),
            PlaneKind::Object(i) => (Layer::Object(i), 0),
            PlaneKind::WaterDepth => (Layer::Water, 0),
        }
    }

    /// The planes of a layer by channel; empty for what is no plane.
    pub(super) fn planes(self) -> Vec<PlaneKind> {
        match self {
            Layer::Heights | Layer::Voids | Layer::Holes => Vec::new(),
            Layer::PhysicalHoles => vec![PlaneKind::PhysicalHole],
            Layer::Surface => vec![PlaneKind::PhysicalMaterial],
            Layer::Splat(n) => (4 * n..4 * n + 4).map(PlaneKind::Weight).collect(),
            Layer::User(n) => (4 * n..4 * n + 4).map(PlaneKind::User).collect(),
            Layer::Foliage(n) => vec![PlaneKind::Foliage(n)],
            Layer::Object(n) => vec![PlaneKind::Object(n)],
            Layer::Water => vec![PlaneKind::WaterDepth],
        }
    }

    /// What its pixels stand on.
    pub(super) fn lattice(self) -> Lattice {
        match self {
            Layer::Heights | Layer::Voids => Lattice::Samples,
            Layer::Holes => Lattice::Cells,
            other => other.planes()[0].lattice(),
        }
    }

    /// Its images.
    pub(super) fn pictures(self, low: bool) -> Vec<Picture> {
        let low = low && matches!(self, Layer::Heights | Layer::Water);
        std::iter::once(Picture::Of(self)).chain(low.then_some(Picture::Low(self))).collect()
    }
}

impl Picture {
    pub(super) fn layer(self) -> Layer {
        match self {
            Picture::Of(layer) | Picture::Low(layer) => layer,
        }
    }

    /// Every image that a folder may have.
    pub(super) fn all() -> Vec<Picture> {
        Layer::all().into_iter().flat_map(|l| l.pictures(true)).collect()
    }

    pub(super) fn file_name(self) -> String {
        match self {
            Picture::Low(Layer::Water) => "water-low.png".into(),
            Picture::Low(_) => "heightmap-low.png".into(),
            Picture::Of(layer) => match layer {
                Layer::Heights => "heightmap.png".into(),
                Layer::Voids => "voids.png".into(),
                Layer::Holes => "holes.png".into(),
                Layer::PhysicalHoles => "physical-holes.png".into(),
                Layer::Surface => "surface.png".into(),
                Layer::Splat(n) => format!("splat-{n}.png"),
                Layer::User(n) => format!("user-{n}.png"),
                Layer::Foliage(n) => format!("foliage-{n}.png"),
                Layer::Object(n) => format!("objects-{n}.png"),
                Layer::Water => "water.png".into(),
            },
        }
    }

    /// What it is written as.
    pub(super) fn form(self, config: &TerrainConfig) -> Form {
        let layer = self.layer();
        let (channels, bits) = match layer {
            Layer::Heights | Layer::Water => (1, 16),
            Layer::Splat(_) | Layer::User(_) => (4, 8),
            _ => (1, 8),
        };
        Form { size: layer.lattice().size(config), channels, bits, palette: false }
    }
}

/// What making pixels needs beside a band.
pub(super) struct Encoder<'a> {
    pub(super) meaning: &'a Meaning,
    pub(super) kinds: &'a [PlaneKind],
}

impl Encoder<'_> {
    fn plane<'b>(&self, kind: PlaneKind, band: &'b Band) -> Option<&'b [u8]> {
        self.kinds.binary_search(&kind).ok().map(|i| band.planes[i].as_slice())
    }

    /// Depths of water of the band's own samples, in quanta.
    pub(super) fn depths(&self, band: &Band) -> Vec<u32> {
        match self.plane(PlaneKind::WaterDepth, band) {
            Some(bytes) => bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect(),
            None => vec![0; band.own_heights().len()],
        }
    }

    /// What the folder keeps as height: the surface of the water where there is any, else the bed. [`VOID`] stays.
    pub(super) fn surfaces(&self, band: &Band) -> Vec<i32> {
        let wet = |(&bed, depth): (&i32, u32)| if bed == VOID { VOID } else { bed + depth as i32 };
        band.own_heights().iter().zip(self.depths(band)).map(wet).collect()
    }

    /// The pixels of a band in a layer of one image.
    pub(super) fn pixels(&self, layer: Layer, band: &Band) -> Vec<u8> {
        match layer {
            Layer::Voids => band.own_heights().iter().map(|&q| if q == VOID { 255 } else { 0 }).collect(),
            Layer::Holes => self.removed(band),
            Layer::PhysicalHoles => match self.plane(PlaneKind::PhysicalHole, band) {
                Some(values) => values.iter().map(|v| v * MASK_STEP).collect(),
                None => Vec::new(),
            },
            _ => {
                let kinds = layer.planes();
                let planes: Vec<Option<&[u8]>> = kinds.iter().map(|&k| self.plane(k, band)).collect();
                let length = planes.iter().flatten().map(|p| p.len()).max().unwrap_or(0);
                let mut out = vec![0; length * planes.len()];
                for (channel, plane) in planes.iter().enumerate() {
                    let Some(plane) = plane else { continue };
                    out.iter_mut().skip(channel).step_by(planes.len()).zip(*plane).for_each(|(o, &v)| *o = v);
                }
                out
            }
        }
    }

    /// Triangles that are removed though they could be there, as pixels of cells.
    fn removed(&self, band: &Band) -> Vec<u8> {
        let config = &self.meaning.config;
        let (w, cw) = (config.samples[0] as usize, config.cells()[0] as usize);
        let mut out = Vec::with_capacity(band.mask.len());
        for (row, masks) in band.mask.chunks_exact(cw).enumerate() {
            for (x, mask) in masks.iter().enumerate() {
                let corner = |dx: i32, dz: i32| band.heights[(row + dz as usize) * w + x + dx as usize];
                let cell = CellPos::new(x as i32, band.first as i32 + row as i32);
                out.push((possible(config, cell, corner) & !mask) * MASK_STEP);
            }
        }
        out
    }

    /// High and low images of codes.
    pub(super) fn codes(values: impl Iterator<Item = u32>, low_bits: u8) -> [Vec<u8>; 2] {
        let (mut high, mut low) = (Vec::new(), Vec::new());
        for code in values {
            high.extend(((code >> low_bits) as u16).to_be_bytes());
            low.extend(((code & ((1 << low_bits) - 1)) as u16).to_be_bytes());
        }
        [high, low]
    }

    /// Codes of the surfaces; voids are 0. The scale has been chosen so that each has one.
    pub(super) fn height_codes(&self, band: &Band, codes: &Codes) -> Vec<u32> {
        let code = |q: i32| if q == VOID { 0 } else { codes.code(i64::from(q)).unwrap_or(0) };
        self.surfaces(band).into_iter().map(code).collect()
    }
}

/// The triangles of a cell that have all their samples and lie inside the extent.
pub(super) fn possible(config: &TerrainConfig, cell: CellPos, corner: impl Fn(i32, i32) -> i32) -> u8 {
    if !config.extent.contains(cell) {
        return 0;
    }
    let anti = config.diagonal.is_anti(cell);
    let whole = |t: &Triangle| t.corners(anti).iter().all(|&(dx, dz)| corner(dx, dz) != VOID);
    Triangle::BOTH.iter().filter(|t| whole(t)).fold(0, |mask, t| mask | t.bit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plane_has_its_layer_and_every_image_its_own_name() {
        let mut names: Vec<String> = Picture::all().into_iter().map(Picture::file_name).collect();
        assert_eq!(names.len(), 8 + 8 + 4 + 32 + 32);
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 84);
        for layer in Layer::all() {
            for (channel, kind) in layer.planes().into_iter().enumerate() {
                assert_eq!(Layer::of_plane(kind), (layer, channel));
                assert_eq!(kind.lattice(), layer.lattice());
            }
        }
    }
}
