//! What lies on the heights: layers, holes, materials, channels, growth and water.

use super::World;
use crate::content::{FoliageType, LayerImages, ObjectType, PhysicalMaterial};
use crate::cook::generate::within;
use crate::kernel::weights::LayerKind;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The most points of a polygon.
const MAX_POLYGON: usize = 4096;

/// The most regions of a list.
const MAX_REGIONS: usize = 65_536;

/// Where something lies by the shape of the ground: all of what is given must hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rule {
    /// From and to height, metres of the cooked ground.
    pub height_m: Option<(f64, f64)>,
    /// From and to slope in degrees.
    pub slope_deg: Option<(f64, f64)>,
    /// From and to curvature: the Laplacian of the height in 1/m, positive in hollows and negative on crests.
    pub curvature: Option<(f64, f64)>,
    /// An 8-bit grey image, a pixel a cell, paint texel or sample: 255 covers wholly.
    pub image: Option<PathBuf>,
    /// Width of the blend across a height limit, centred on it.
    pub soft_m: f64,
    /// Width of the blend across a slope limit, centred on it.
    pub soft_deg: f64,
    /// Width of the blend across a curvature limit, centred on it.
    pub soft_curvature: f64,
}

/// A surface layer and where it lies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayerRule {
    /// Its name.
    pub name: String,
    /// The game's key for it.
    #[serde(default)]
    pub tag: String,
    /// How it joins in. Weight and height-adjusted layers share 255; alpha layers lie over all.
    #[serde(default)]
    pub kind: LayerKind,
    /// Where it covers what is below it; only where it is painted, when absent.
    #[serde(default)]
    pub cover: Option<Rule>,
    /// Metres a repeat of its images.
    #[serde(default = "four")]
    pub tiling_m: f64,
    /// 0: the higher layer wins outright; 1: a soft blend.
    #[serde(default = "contrast")]
    pub height_blend_contrast: f64,
    /// Factor on the albedo, linear.
    #[serde(default = "white")]
    pub tint: (f64, f64, f64),
    /// Factor on the slopes of its normal image.
    #[serde(default = "one")]
    pub normal_scale: f64,
    /// Its images.
    #[serde(default)]
    pub images: LayerImages,
}

const fn four() -> f64 {
    4.0
}

const fn contrast() -> f64 {
    0.2
}

const fn white() -> (f64, f64, f64) {
    (1.0, 1.0, 1.0)
}

const fn one() -> f64 {
    1.0
}

/// Painted weights: an 8-bit RGBA (or RGB) image, a pixel a paint texel, or a sample where there is one texel a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Splat {
    /// The image.
    pub image: PathBuf,
    /// The layers of its channels, at most four; an empty name leaves a channel out.
    pub layers: Vec<String>,
}

/// Triangles or cells. Places are in metres from the terrain's origin; a triangle is inside a circle or polygon when its
/// centroid is, exactly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Region {
    /// Whole cells.
    Cells {
        /// First column.
        x: u32,
        /// First row.
        z: u32,
        /// Columns.
        w: u32,
        /// Rows.
        h: u32,
    },
    /// One triangle of a cell.
    Half {
        /// Column.
        x: u32,
        /// Row.
        z: u32,
        /// 0 or 1.
        triangle: u8,
    },
    /// A disc.
    Circle {
        /// Metres.
        x: f64,
        /// Metres.
        z: f64,
        /// Metres.
        radius_m: f64,
    },
    /// A polygon by the even-odd rule.
    Polygon(Vec<(f64, f64)>),
    /// An 8-bit grey image: from 128 on a pixel counts. A pixel a cell; or a pixel a sample, which takes every triangle
    /// that touches it.
    Image(PathBuf),
}

/// A physical material and where it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Material {
    /// What bodies feel.
    pub material: PhysicalMaterial,
    /// Where a layer of these names is the strongest.
    #[serde(default)]
    pub layers: Vec<String>,
    /// Cells of which a triangle is in one of these.
    #[serde(default)]
    pub regions: Vec<Region>,
}

/// A game's own channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct User {
    /// Its name.
    pub name: String,
    /// An 8-bit grey image, a pixel a cell; all 0 when absent.
    #[serde(default)]
    pub image: Option<PathBuf>,
}

/// How densely something grows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Density {
    /// Nowhere: it is painted later.
    #[default]
    None,
    /// Full everywhere.
    Full,
    /// As an 8-bit grey image says, a pixel a cell.
    Image(PathBuf),
    /// As the weight of a layer.
    Layer(String),
    /// By the shape of the ground.
    Ground(Rule),
}

/// A kind of foliage and where it grows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Foliage {
    /// The kind.
    pub kind: FoliageType,
    /// Where.
    #[serde(default)]
    pub density: Density,
}

/// A kind of object and where it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Objects {
    /// The kind.
    pub kind: ObjectType,
    /// Where.
    #[serde(default)]
    pub density: Density,
}

/// Still water.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Water {
    /// Everything below this height of the cooked ground is under water, in metres.
    pub level_m: f64,
}

impl Rule {
    pub(crate) fn check(&self) -> Result<(), String> {
        let ranges = [
            ("height_m", self.height_m, "soft_m", self.soft_m),
            ("slope_deg", self.slope_deg, "soft_deg", self.soft_deg),
            ("curvature", self.curvature, "soft_curvature", self.soft_curvature),
        ];
        for (what, range, soft_name, soft) in ranges {
            let (from, to) = range.unwrap_or((0.0, 1.0));
            if !(from.is_finite() && to.is_finite() && from < to) {
                return Err(format!(
                    "{what} must go from a smaller to a larger number, found {from} to {to}"
                ));
            }
            within(soft_name, soft, 0.0, 1e9)?;
        }
        Ok(())
    }
}

impl Region {
    pub(crate) fn check(&self) -> Result<(), String> {
        let place = |v: f64| within("a place", v, -1.7e7, 1.7e7);
        match self {
            Region::Half { triangle, .. } if *triangle > 1 => {
                Err(format!("the triangle must be 0 or 1, found {triangle}"))
            }
            Region::Circle { x, z, radius_m } => {
                place(*x)?;
                place(*z)?;
                within("radius_m", *radius_m, 0.0, 1.7e7)
            }
            Region::Polygon(points) => {
                if !(3..=MAX_POLYGON).contains(&points.len()) {
                    return Err(format!("a polygon needs 3 to {MAX_POLYGON} points, found {}", points.len()));
                }
                points.iter().try_for_each(|p| place(p.0).and_then(|()| place(p.1)))
            }
            Region::Cells { .. } | Region::Half { .. } | Region::Image(_) => Ok(()),
        }
    }

    fn files(&self, out: &mut Vec<PathBuf>) {
        if let Region::Image(path) = self {
            out.push(path.clone());
        }
    }
}

/// Refuses a rectangle that is not inside the cells of the terrain.
pub(crate) fn inside([x, z]: [u32; 2], [w, h]: [u32; 2], cells: [u32; 2]) -> Result<(), String> {
    let fits = |from: u32, n: u32, all: u32| n > 0 && from.checked_add(n).is_some_and(|end| end <= all);
    if fits(x, w, cells[0]) && fits(z, h, cells[1]) {
        return Ok(());
    }
    let [cw, ch] = cells;
    Err(format!(
        "expected a rectangle inside the {cw}x{ch} cells of the terrain, found {w}x{h} from ({x}, {z})"
    ))
}

fn check_regions(what: &str, regions: &[Region]) -> Result<(), String> {
    if regions.len() > MAX_REGIONS {
        return Err(format!("{what}: expected at most {MAX_REGIONS} regions, found {}", regions.len()));
    }
    regions.iter().enumerate().try_for_each(|(i, r)| r.check().map_err(|e| format!("{what}[{i}]: {e}")))
}

impl World {
    /// The id of a layer by its name.
    ///
    /// # Errors
    /// A name that no layer has.
    pub(crate) fn layer_id(&self, name: &str) -> Result<u8, String> {
        match self.layers.iter().position(|l| l.name == name) {
            Some(i) => Ok(i as u8),
            None => Err(format!("expected the name of a layer, found \"{name}\"")),
        }
    }

    pub(super) fn check_content(&self) -> Result<(), String> {
        let most = crate::content::MAX_LAYERS;
        if self.layers.len() > most {
            return Err(format!(
                "layers: expected at most {most} (ids 0 to {}), found {}",
                most - 1,
                self.layers.len()
            ));
        }
        for (i, l) in self.layers.iter().enumerate() {
            let at = |e: String| format!("layers[{i}] ({}): {e}", l.name);
            match &l.cover {
                Some(_) if i == 0 => {
                    return Err(at("the first layer lies everywhere: leave its cover out".into()));
                }
                Some(rule) => rule.check().map_err(at)?,
                None => {}
            }
        }
        let mut painted = std::collections::BTreeSet::new();
        for (i, s) in self.splats.iter().enumerate() {
            if s.layers.is_empty() || s.layers.len() > 4 {
                return Err(format!(
                    "splats[{i}]: expected the names of 1 to 4 layers, found {}",
                    s.layers.len()
                ));
            }
            for name in s.layers.iter().filter(|n| !n.is_empty()) {
                let id = self.layer_id(name).map_err(|e| format!("splats[{i}]: {e}"))?;
                if !painted.insert(id) {
                    return Err(format!(
                        "splats[{i}]: layer \"{name}\" is painted by an earlier channel already"
                    ));
                }
            }
        }
        check_regions("holes", &self.holes)?;
        check_regions("physical_holes", &self.physical_holes)?;
        for (i, m) in self.materials.iter().enumerate() {
            check_regions(&format!("materials[{i}].regions"), &m.regions)?;
            for name in &m.layers {
                self.layer_id(name).map_err(|e| format!("materials[{i}]: {e}"))?;
            }
        }
        if self.materials.first().is_some_and(|m| !m.layers.is_empty() || !m.regions.is_empty()) {
            return Err("materials[0]: the first is everywhere that no later one claims: leave its layers and regions out".into());
        }
        let foliage = self.foliage.iter().enumerate().map(|(i, f)| ("foliage", i, &f.density));
        let objects = self.objects.iter().enumerate().map(|(i, o)| ("objects", i, &o.density));
        for (what, i, density) in foliage.chain(objects) {
            match density {
                Density::Layer(name) => self.layer_id(name).map(drop),
                Density::Ground(rule) => rule.check(),
                Density::None | Density::Full | Density::Image(_) => Ok(()),
            }
            .map_err(|e| format!("{what}[{i}].density: {e}"))?;
        }
        self.water.map_or(Ok(()), |w| within("water level_m", w.level_m, -1e7, 1e7))
    }

    /// Refuses what lies beside a map of so many samples.
    pub(super) fn check_places(&self, samples: [u32; 2]) -> Result<(), String> {
        let cells = samples.map(|n| n.saturating_sub(1));
        if let Some(e) = self.extent {
            inside([e.x, e.z], [e.w, e.h], cells).map_err(|m| format!("extent: {m}"))?;
        }
        let lists = [("holes".to_owned(), &self.holes), ("physical_holes".to_owned(), &self.physical_holes)];
        let materials = self.materials.iter().enumerate();
        let lists =
            lists.into_iter().chain(materials.map(|(i, m)| (format!("materials[{i}].regions"), &m.regions)));
        for (what, regions) in lists {
            for (i, region) in regions.iter().enumerate() {
                match *region {
                    Region::Cells { x, z, w, h } => inside([x, z], [w, h], cells),
                    Region::Half { x, z, .. } => inside([x, z], [1, 1], cells),
                    Region::Circle { .. } | Region::Polygon(_) | Region::Image(_) => Ok(()),
                }
                .map_err(|e| format!("{what}[{i}]: {e}"))?;
            }
        }
        Ok(())
    }

    /// Pictures on a map of so many samples, and the sizes that each may have.
    pub(super) fn content_pictures(&self, samples: [u32; 2]) -> Vec<(&Path, Vec<[u32; 2]>)> {
        let cells = samples.map(|n| n - 1);
        let paint = cells.map(|n| n.saturating_mul(u32::from(self.paint_per_cell)));
        let mut all: Vec<(&Path, Vec<[u32; 2]>)> = Vec::new();
        let growth = self.foliage.iter().map(|f| &f.density).chain(self.objects.iter().map(|o| &o.density));
        let growth: Vec<&Density> = growth.collect();
        let grown =
            growth.iter().filter_map(|d| if let Density::Ground(rule) = d { Some(rule) } else { None });
        for rule in self.layers.iter().filter_map(|l| l.cover.as_ref()).chain(grown) {
            all.extend(rule.image.as_deref().map(|p| (p, vec![paint, cells, samples])));
        }
        let by_samples = (self.paint_per_cell == 1).then_some(samples);
        let splat = || [paint].into_iter().chain(by_samples).collect::<Vec<_>>();
        all.extend(self.splats.iter().map(|s| (s.image.as_path(), splat())));
        let regions = self.holes.iter().chain(&self.physical_holes);
        for region in regions.chain(self.materials.iter().flat_map(|m| &m.regions)) {
            if let Region::Image(path) = region {
                all.push((path, vec![cells, samples]));
            }
        }
        all.extend(self.user.iter().filter_map(|u| u.image.as_deref()).map(|p| (p, vec![cells])));
        for density in growth {
            if let Density::Image(path) = density {
                all.push((path, vec![cells]));
            }
        }
        all
    }

    pub(super) fn content_files(&self, out: &mut Vec<PathBuf>) {
        let rules = self.layers.iter().filter_map(|l| l.cover.as_ref());
        out.extend(rules.filter_map(|r| r.image.clone()));
        out.extend(self.splats.iter().map(|s| s.image.clone()));
        self.holes.iter().chain(&self.physical_holes).for_each(|r| r.files(out));
        self.materials.iter().flat_map(|m| &m.regions).for_each(|r| r.files(out));
        out.extend(self.user.iter().filter_map(|u| u.image.clone()));
        for density in self.foliage.iter().map(|f| &f.density).chain(self.objects.iter().map(|o| &o.density))
        {
            match density {
                Density::Image(path) => out.push(path.clone()),
                Density::Ground(rule) => out.extend(rule.image.clone()),
                Density::None | Density::Full | Density::Layer(_) => {}
            }
        }
    }
}
