//! Colours: what a pixel's content looks like, and the legend that says so.

use super::What;
use super::page::Entry;
use super::scan::{Kind, Pixel, Scan};
use crate::canvas::Rgb;
use crate::map::{self, FAILED, HOLE, LAYERS, OUTSIDE};
use highground_terrain::content::{Catalogue, PlaneKind};
use highground_terrain::height::VOID;
use highground_terrain::kernel::weights::{Masses, ONE};
use highground_terrain::store::PayloadInfo;

pub(super) const HALF: Rgb = [255, 140, 0];
const PHYSICAL: Rgb = [245, 215, 60];
const GREY: Rgb = [205, 205, 200];
const DRY: Rgb = [150, 146, 138];
const SHALLOW: Rgb = [160, 215, 235];
const DEEP: Rgb = [8, 34, 110];
const HEAT: [Rgb; 5] = [[26, 24, 44], [62, 74, 137], [38, 130, 142], [110, 200, 90], [253, 231, 80]];
const SEA: Rgb = [104, 140, 168];
const ABYSS: Rgb = [16, 40, 92];

/// Colours that are told apart, by id: eight hues, and these vivid, dark, pale and dull. From 32 on they come again.
pub(super) fn id_colour(id: u32) -> Rgb {
    let hue = id % 8 * 3 % 8 * 45;
    let [high, low] = [[235, 30], [130, 0], [255, 165], [170, 90]][id as usize / 8 % 4];
    let (sector, rest) = (hue / 60, hue % 60);
    let up = low + (high - low) * rest / 60;
    let down = high - (high - low) * rest / 60;
    let rgb = match sector {
        0 => [high, up, low],
        1 => [down, high, low],
        2 => [low, high, up],
        3 => [low, down, high],
        4 => [up, low, high],
        _ => [high, low, down],
    };
    rgb.map(|c: u32| c as u8)
}

/// A layer's own colour: its tint where it has one, else the palette's.
pub(super) fn layer_colour(catalogue: &Catalogue, id: usize) -> Rgb {
    match catalogue.layers.get(id) {
        // Linear; a root comes close enough to sRGB for a picture.
        Some(l) if l.tint != [1.0; 3] => l.tint.map(|t| (t.clamp(0.0, 1.0).sqrt() * 255.0).round() as u8),
        _ if id < LAYERS.len() => LAYERS[id],
        _ => mix(id_colour(id as u32), [140, 140, 130], 0.45),
    }
}

/// The layers' colours by what shows of each, packed.
pub(super) fn blend(catalogue: &Catalogue, masses: &Masses) -> u32 {
    let mut sum = [0.0; 3];
    for (id, &mass) in masses.iter().enumerate().filter(|m| *m.1 > 0) {
        let share = f64::from(mass) / f64::from(ONE);
        for (s, c) in sum.iter_mut().zip(layer_colour(catalogue, id)) {
            *s += share * f64::from(c);
        }
    }
    let [r, g, b] = sum.map(|c| c.round() as u32);
    r << 16 | g << 8 | b
}

fn mix(a: Rgb, b: Rgb, share: f64) -> Rgb {
    std::array::from_fn(|i| (f64::from(a[i]) * (1.0 - share) + f64::from(b[i]) * share).round() as u8)
}

/// A colour between stops, `t` from 0 to 1.
fn ramp(stops: &[Rgb], t: f64) -> Rgb {
    let at = t.clamp(0.0, 1.0) * (stops.len() - 1) as f64;
    let below = (at.floor() as usize).min(stops.len() - 2);
    mix(stops[below], stops[below + 1], at - below as f64)
}

/// The colour of a height in metres on a map from `low` to `high`: land from green to white, what lies at or below zero
/// blue and the darker the deeper. A map that lies below zero wholly is all land.
pub(super) fn hypsometric(height: f64, low: f64, high: f64) -> Rgb {
    if high <= 0.0 {
        // One above its lowest: zero itself is sea.
        return map::by_height(height - low + 1.0, 1.0, high - low + 1.0);
    }
    if height <= 0.0 {
        let depth = if low < 0.0 { height / low } else { 0.0 };
        return mix(SEA, ABYSS, depth.clamp(0.0, 1.0));
    }
    map::by_height(height, low, high)
}

/// The ramp of heights between `low` and `high` metres, with a legend's labels.
pub(super) fn height_ramp(low: f64, high: f64) -> Entry {
    let colours = (0..=100).map(|i| hypsometric(low + (high - low) * f64::from(i) / 100.0, low, high));
    Entry::Ramp { colours: colours.collect(), low: format!("{low} m"), high: format!("{high} m") }
}

/// How a scan is coloured.
pub(super) struct Palette<'a> {
    what: What,
    info: &'a PayloadInfo,
    plane: Option<PlaneKind>,
    /// Lowest and highest height in metres.
    range: Option<(f64, f64)>,
    /// The largest value among the pixels.
    largest: u32,
    seen: Vec<Kind>,
    ids: u64,
}

impl<'a> Palette<'a> {
    pub(super) fn of(what: What, info: &'a PayloadInfo, plane: Option<PlaneKind>, scan: &Scan) -> Self {
        let metres = |q: i32| info.config.quantum.to_metres(q);
        let mut seen: Vec<Kind> = Vec::new();
        let (mut largest, mut ids) = (0, 0);
        for p in &scan.pixels {
            if !seen.contains(&p.kind) {
                seen.push(p.kind);
            }
            if p.kind != Kind::Failed {
                largest = largest.max(p.value);
                ids |= 1 << p.value.min(63);
            }
        }
        let range = info.totals.range.map(|(lo, hi)| (metres(lo), metres(hi)));
        Self { what, info, plane, range, largest, seen, ids }
    }

    /// The colour of a pixel.
    pub(super) fn colour(&self, p: &Pixel) -> Rgb {
        if p.kind == Kind::Failed {
            return FAILED;
        }
        let light = f64::from(p.light);
        if self.what.is_surface() {
            match p.kind {
                Kind::Outside => return OUTSIDE,
                Kind::Half if self.what.shows_every_hole() => return HALF,
                Kind::Hole | Kind::Half => return HOLE,
                Kind::Physical => return PHYSICAL,
                Kind::Surface | Kind::Failed => {}
            }
        }
        match self.what {
            What::Height => match self.range {
                Some((low, high)) if p.quanta != VOID => {
                    map::lit(light, hypsometric(self.info.config.quantum.to_metres(p.quanta), low, high))
                }
                _ => HOLE,
            },
            What::Layers => [p.value >> 16, p.value >> 8, p.value].map(|c| c as u8),
            What::LayerIds => id_colour(p.value),
            What::Collision => map::lit(light, self.material(p.value)),
            What::Water if p.value == 0 => map::lit(light, DRY),
            What::Water => self.depth(p.value),
            What::User | What::Density => ramp(&HEAT, f64::from(p.value) / 255.0),
            What::Normals => normal([p.value as u8, (p.value >> 8) as u8]),
            _ => map::lit(light, GREY),
        }
    }

    fn material(&self, id: u32) -> Rgb {
        if self.info.catalogue.materials.is_empty() { GREY } else { mix(id_colour(id), GREY, 0.35) }
    }

    fn depth(&self, quanta: u32) -> Rgb {
        mix(SHALLOW, DEEP, f64::from(quanta) / f64::from(self.largest.max(1)))
    }

    /// What the colours mean.
    pub(super) fn legend(&self) -> Vec<Entry> {
        let mut entries = match self.what {
            What::Height => self.range.iter().map(|&(low, high)| height_ramp(low, high)).collect(),
            What::Layers => self.layers(|id| layer_colour(&self.info.catalogue, id)),
            What::LayerIds => self.layers(|id| id_colour(id as u32)),
            What::Collision => self.materials(),
            What::Water => {
                let metres = f64::from(self.largest) * self.info.config.quantum.metres();
                let colours = (0..=100).map(|i| mix(SHALLOW, DEEP, f64::from(i) / 100.0)).collect();
                let ramp = Entry::Ramp { colours, low: "0 m".into(), high: format!("{metres} m deep") };
                let dry = Entry::swatch(DRY, "dry");
                if self.largest == 0 { vec![dry] } else { vec![dry, ramp] }
            }
            What::User | What::Density => {
                let colours = (0..=100).map(|i| ramp(&HEAT, f64::from(i) / 100.0)).collect();
                let name = self.plane.map_or_else(String::new, |p| plane_name(&self.info.catalogue, p));
                vec![Entry::Ramp { colours, low: format!("{name}: 0"), high: "255".into() }]
            }
            What::Normals => vec![
                Entry::swatch(normal([128, 128]), "up"),
                Entry::swatch(normal([218, 128]), "45° to the east"),
                Entry::swatch(normal([38, 128]), "west"),
                Entry::swatch(normal([128, 38]), "north"),
                Entry::swatch(normal([128, 218]), "south"),
            ],
            What::Visibility => vec![Entry::swatch(GREY, "surface")],
            _ => Vec::new(),
        };
        let (surface, every) = (self.what.is_surface(), self.what.shows_every_hole());
        // Where holes are what is looked for, that there is none must be readable too.
        let always = self.what == What::Visibility;
        for (kind, colour, words, of, always) in [
            (Kind::Half, HALF, "half a cell removed", every, always),
            (Kind::Hole, HOLE, "hole", surface, always),
            (Kind::Physical, PHYSICAL, "removed from collision only", surface, false),
            (Kind::Outside, OUTSIDE, "outside the valid extent", surface, always),
            (Kind::Failed, FAILED, "cannot be read", true, false),
        ] {
            if of && (always || self.seen.contains(&kind)) {
                entries.push(Entry::swatch(colour, words));
            }
        }
        entries
    }

    fn layers(&self, colour: impl Fn(usize) -> Rgb) -> Vec<Entry> {
        let layers = self.info.catalogue.layers.iter().enumerate();
        layers.map(|(id, l)| Entry::swatch(colour(id), &format!("{id} {}", l.name))).collect()
    }

    /// The materials that are there; all of them would fill the page.
    fn materials(&self) -> Vec<Entry> {
        let named = self.info.catalogue.materials.iter().enumerate();
        let there = named.filter(|(id, _)| self.ids >> id.min(&63) & 1 == 1);
        let entries: Vec<Entry> = there
            .map(|(id, m)| Entry::swatch(self.material(id as u32), &format!("{id} {}", m.name)))
            .collect();
        if entries.is_empty() { vec![Entry::swatch(GREY, "no physical material")] } else { entries }
    }
}

/// A normal as red: east, green: south, blue: up.
fn normal(bytes: [u8; 2]) -> Rgb {
    let [_, y, _] = highground_terrain::kernel::normal::decode(bytes);
    [bytes[0], bytes[1], (128.0 + 127.0 * y).round() as u8]
}

/// The name of a plane, by what the catalogue calls it.
pub(super) fn plane_name(catalogue: &Catalogue, plane: PlaneKind) -> String {
    let name = match plane {
        PlaneKind::User(i) => catalogue.user_channels.get(usize::from(i)).cloned(),
        PlaneKind::Foliage(i) => catalogue.foliage.get(usize::from(i)).map(|f| f.name.clone()),
        PlaneKind::Object(i) => catalogue.objects.get(usize::from(i)).map(|o| o.name.clone()),
        _ => None,
    };
    name.unwrap_or_else(|| plane.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use highground_terrain::content::Layer;

    #[test]
    fn ids_have_colours_of_their_own() {
        let colours: Vec<Rgb> = (0..32).map(id_colour).collect();
        for (i, a) in colours.iter().enumerate() {
            for b in &colours[..i] {
                let off: i32 = (0..3).map(|c| (i32::from(a[c]) - i32::from(b[c])).abs()).sum();
                assert!(off >= 50, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn layers_blend_by_their_shares() {
        let mut catalogue =
            Catalogue { layers: vec![Layer::named("a"), Layer::named("b")], ..Catalogue::default() };
        catalogue.layers[0].tint = [1.0, 0.0, 0.0];
        catalogue.layers[1].tint = [0.0, 0.25, 0.0];
        let mut masses = [0; 32];
        (masses[0], masses[1]) = (ONE / 5, ONE / 5 * 4);
        // 255 / 5 = 51 red; √0.25 · 255 rounds to 128, four fifths of it are 102.4.
        assert_eq!(blend(&catalogue, &masses), 51 << 16 | 102 << 8);
    }

    #[test]
    fn land_below_zero_is_told_apart_from_sea() {
        assert_eq!(hypsometric(0.0, -10.0, 10.0), SEA);
        assert_eq!(hypsometric(-10.0, -10.0, 10.0), ABYSS);
        let deep = hypsometric(-400.0, -430.0, -300.0);
        assert!(deep != hypsometric(-310.0, -430.0, -300.0) && deep != SEA);
        assert_eq!(hypsometric(5.0, 5.0, 5.0), map::by_height(5.0, 5.0, 5.0));
    }
}
