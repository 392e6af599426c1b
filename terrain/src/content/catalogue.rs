//! The catalogue: what the numbers in the planes mean.

use super::PlaneKind;
use crate::kernel::weights::LayerKind;
use serde::{Deserialize, Serialize};

/// The most bytes of a name.
pub const MAX_NAME: usize = 64;
/// The most surface layers: ids have five bits in the Normal encoding.
pub const MAX_LAYERS: usize = crate::kernel::weight_mip::LAYERS as usize;
/// The most physical materials.
pub const MAX_MATERIALS: usize = 256;
/// The most user channels.
pub const MAX_USER_CHANNELS: usize = 16;
/// The most foliage types, and the most object types.
pub const MAX_TYPES: usize = 32;
/// The most overlays.
pub const MAX_OVERLAYS: usize = 1024;
/// The most points of an overlay.
pub const MAX_OVERLAY_POINTS: usize = 16_384;
/// The most bytes of a catalogue as JSON text.
pub const MAX_CATALOGUE_BYTES: usize = 16 << 20;

/// Everything the planes refer to, and what is drawn over them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Catalogue {
    /// Surface layers by id, at most 32.
    pub layers: Vec<Layer>,
    /// Physical materials by id.
    pub materials: Vec<PhysicalMaterial>,
    /// Names of the user channels by index.
    pub user_channels: Vec<String>,
    /// Foliage types by index. New ones are appended: the index is part of where things stand.
    pub foliage: Vec<FoliageType>,
    /// Object types by index.
    pub objects: Vec<ObjectType>,
    /// Roads and the like, drawn over the layers in this order.
    pub overlays: Vec<Overlay>,
    /// Water, if there is any.
    pub water: Option<Water>,
}

/// A surface layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Layer {
    /// Its name, unique.
    pub name: String,
    /// The game's key for it: footsteps, speeds.
    pub tag: String,
    /// How it joins in.
    pub kind: LayerKind,
    /// Metres a repeat of its images.
    pub tiling_m: f64,
    /// 0: the higher layer wins outright; 1: a soft blend.
    pub height_blend_contrast: f64,
    /// Factor on the albedo, linear.
    pub tint: [f64; 3],
    /// Factor on the slopes of its normal image.
    pub normal_scale: f64,
    /// Its images.
    pub images: LayerImages,
}

impl Default for Layer {
    fn default() -> Self {
        Self {
            name: String::new(),
            tag: String::new(),
            kind: LayerKind::Weight,
            tiling_m: 4.0,
            height_blend_contrast: 0.2,
            tint: [1.0; 3],
            normal_scale: 1.0,
            images: LayerImages::default(),
        }
    }
}

impl Layer {
    /// A layer with defaults for everything but its name.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }
}

/// Names of a layer's images: files of its folder or of its pack. Missing ones have the defaults of the layer packer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LayerImages {
    /// Colour, sRGB; its alpha may be a height.
    pub albedo: Option<String>,
    /// Tangent normals, Y up.
    pub normal: Option<String>,
    /// Occlusion, roughness, metallic.
    pub orm: Option<String>,
    /// Emitted colour, sRGB.
    pub emissive: Option<String>,
    /// Height for blending.
    pub height: Option<String>,
}

impl LayerImages {
    /// The images' names, in the order of the fields.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        [&self.albedo, &self.normal, &self.orm, &self.emissive, &self.height]
            .into_iter()
            .filter_map(|n| n.as_deref())
    }
}

/// What bodies feel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PhysicalMaterial {
    /// Its name, unique.
    pub name: String,
    /// Coefficient of friction.
    pub friction: f64,
    /// Coefficient of restitution, 0 to 1.
    pub restitution: f64,
}

impl Default for PhysicalMaterial {
    fn default() -> Self {
        Self { name: String::new(), friction: 0.7, restitution: 0.0 }
    }
}

/// A kind of foliage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FoliageType {
    /// Its name, unique among foliage.
    pub name: String,
    /// Instances a square metre at full density.
    pub density_per_m2: f64,
    /// Smallest and largest scale.
    pub scale: [f64; 2],
    /// The steepest slope it grows on, in degrees.
    pub max_slope_deg: f64,
    /// The heights it grows at, in metres; everywhere when absent.
    pub height_m: Option<[f64; 2]>,
    /// The layers it grows on; all when empty.
    pub layers: Vec<u8>,
    /// Whether it grows under water.
    pub under_water: bool,
    /// The game's own key.
    pub tag: String,
}

impl Default for FoliageType {
    fn default() -> Self {
        Self {
            name: String::new(),
            density_per_m2: 1.0,
            scale: [1.0, 1.0],
            max_slope_deg: 90.0,
            height_m: None,
            layers: Vec::new(),
            under_water: false,
            tag: String::new(),
        }
    }
}

/// A kind of object that is scattered: rocks, trees.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ObjectType {
    /// Its name, unique among objects.
    pub name: String,
    /// Instances a square metre at full density.
    pub density_per_m2: f64,
    /// Smallest and largest scale.
    pub scale: [f64; 2],
    /// Radius that it keeps free, in metres.
    pub radius_m: f64,
    /// The steepest slope it stands on, in degrees.
    pub max_slope_deg: f64,
    /// The game's own key.
    pub tag: String,
}

impl Default for ObjectType {
    fn default() -> Self {
        Self {
            name: String::new(),
            density_per_m2: 0.01,
            scale: [1.0, 1.0],
            radius_m: 0.5,
            max_slope_deg: 90.0,
            tag: String::new(),
        }
    }
}

/// A strip along a line: a road, a path, a river's name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Overlay {
    /// Its name.
    pub name: String,
    /// Points (x, z) in metres from the terrain's origin, at least two.
    pub points: Vec<[f64; 2]>,
    /// Full width in metres.
    pub width_m: f64,
    /// Width of the fade on either side, in metres.
    pub fade_m: f64,
    /// The layer it is drawn with.
    pub layer: u8,
    /// The game's own key.
    pub tag: String,
}

impl Default for Overlay {
    fn default() -> Self {
        Self {
            name: String::new(),
            points: Vec::new(),
            width_m: 4.0,
            fade_m: 1.0,
            layer: 0,
            tag: String::new(),
        }
    }
}

/// What is said of water as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Water {
    /// Depth in metres that a full water image stands for in the authoring form.
    pub max_depth_m: f64,
}

/// Why a catalogue is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: expected {expected}, found {found}")]
pub struct CatalogueError {
    /// Which part.
    pub what: String,
    /// What is allowed.
    pub expected: String,
    /// What was there.
    pub found: String,
}

fn refuse<T>(
    what: &str,
    expected: impl Into<String>,
    found: impl std::fmt::Display,
) -> Result<T, CatalogueError> {
    Err(CatalogueError { what: what.to_owned(), expected: expected.into(), found: found.to_string() })
}

fn count(what: &str, found: usize, most: usize) -> Result<(), CatalogueError> {
    if found <= most { Ok(()) } else { refuse(what, format!("at most {most}"), found) }
}

fn names<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Result<(), CatalogueError> {
    let mut seen = std::collections::BTreeSet::new();
    for name in names {
        if name.is_empty() || name.len() > MAX_NAME {
            return refuse(what, format!("names of 1 to {MAX_NAME} bytes"), format!("{name:?}"));
        }
        if !seen.insert(name) {
            return refuse(what, "names that differ", format!("{name:?} twice"));
        }
    }
    Ok(())
}

fn number(what: &str, v: f64, from: f64, to: f64) -> Result<(), CatalogueError> {
    if v >= from && v <= to { Ok(()) } else { refuse(what, format!("a number from {from} to {to}"), v) }
}

impl Catalogue {
    /// Refuses what is beyond the limits, what has no meaning and what refers to nothing.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(&self) -> Result<(), CatalogueError> {
        count("layers", self.layers.len(), MAX_LAYERS)?;
        count("physical materials", self.materials.len(), MAX_MATERIALS)?;
        count("user channels", self.user_channels.len(), MAX_USER_CHANNELS)?;
        count("foliage types", self.foliage.len(), MAX_TYPES)?;
        count("object types", self.objects.len(), MAX_TYPES)?;
        count("overlays", self.overlays.len(), MAX_OVERLAYS)?;
        names("layers", self.layers.iter().map(|l| l.name.as_str()))?;
        names("physical materials", self.materials.iter().map(|m| m.name.as_str()))?;
        names("user channels", self.user_channels.iter().map(String::as_str))?;
        names("foliage types", self.foliage.iter().map(|f| f.name.as_str()))?;
        names("object types", self.objects.iter().map(|o| o.name.as_str()))?;
        for (id, l) in self.layers.iter().enumerate() {
            let what = format!("layer {id} ({})", l.name);
            // Nothing lies under the first layer that it could cover, and zero weight everywhere means it.
            if id == 0 && l.kind == LayerKind::OrderedAlpha {
                return refuse(&what, "a first layer of another kind than alpha", "alpha");
            }
            number(&format!("{what} tiling_m"), l.tiling_m, 1e-3, 1e6)?;
            number(&format!("{what} height_blend_contrast"), l.height_blend_contrast, 0.0, 1.0)?;
            number(&format!("{what} normal_scale"), l.normal_scale, 0.0, 16.0)?;
            l.tint.iter().try_for_each(|&t| number(&format!("{what} tint"), t, 0.0, 16.0))?;
        }
        for m in &self.materials {
            number(&format!("friction of {}", m.name), m.friction, 0.0, 100.0)?;
            number(&format!("restitution of {}", m.name), m.restitution, 0.0, 1.0)?;
        }
        for f in &self.foliage {
            let what = format!("foliage {}", f.name);
            growth(&what, f.density_per_m2, f.scale, f.max_slope_deg)?;
            if let Some([from, to]) = f.height_m {
                number(&format!("{what} height_m"), from, -1e7, to)?;
                number(&format!("{what} height_m"), to, from, 1e7)?;
            }
            if let Some(&l) = f.layers.iter().find(|&&l| usize::from(l) >= self.layers.len()) {
                return refuse(&what, format!("layers below {}", self.layers.len()), l);
            }
        }
        for o in &self.objects {
            let what = format!("object {}", o.name);
            growth(&what, o.density_per_m2, o.scale, o.max_slope_deg)?;
            number(&format!("{what} radius_m"), o.radius_m, 0.0, 1e4)?;
        }
        for o in &self.overlays {
            let what = format!("overlay {}", o.name);
            if o.points.len() < 2 || o.points.len() > MAX_OVERLAY_POINTS {
                return refuse(&what, format!("2 to {MAX_OVERLAY_POINTS} points"), o.points.len());
            }
            o.points.iter().flatten().try_for_each(|&v| number(&what, v, -1.7e7, 1.7e7))?;
            number(&format!("{what} width_m"), o.width_m, 0.0, 1e5)?;
            number(&format!("{what} fade_m"), o.fade_m, 0.0, 1e5)?;
            if usize::from(o.layer) >= self.layers.len().max(1) {
                return refuse(&what, format!("a layer below {}", self.layers.len().max(1)), o.layer);
            }
        }
        if let Some(w) = &self.water {
            number("water max_depth_m", w.max_depth_m, 1e-3, 1e5)?;
        }
        Ok(())
    }

    /// Whether a plane of this kind has something to refer to.
    pub fn allows(&self, kind: PlaneKind) -> bool {
        match kind {
            PlaneKind::Weight(i) => usize::from(i) < self.layers.len(),
            PlaneKind::PhysicalHole | PlaneKind::WaterDepth => true,
            PlaneKind::PhysicalMaterial => !self.materials.is_empty(),
            PlaneKind::User(i) => usize::from(i) < self.user_channels.len(),
            PlaneKind::Foliage(i) => usize::from(i) < self.foliage.len(),
            PlaneKind::Object(i) => usize::from(i) < self.objects.len(),
        }
    }

    /// How the layers join in, by id.
    pub fn layer_kinds(&self) -> Vec<LayerKind> {
        self.layers.iter().map(|l| l.kind).collect()
    }

    /// The layers' names, by id.
    pub fn layer_names(&self) -> Vec<String> {
        self.layers.iter().map(|l| l.name.clone()).collect()
    }

    /// As JSON text, the same for the same catalogue.
    ///
    /// # Panics
    /// Never for one that passes [`Catalogue::check`]: it holds finite numbers only.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a catalogue is plain data")
    }

    /// Reads JSON text and checks it.
    ///
    /// # Errors
    /// Text that is no catalogue, or what is wrong with it.
    pub fn of_json(text: &str) -> Result<Self, CatalogueError> {
        let catalogue: Self = serde_json::from_str(text).map_err(|e| CatalogueError {
            what: "catalogue".to_owned(),
            expected: "a catalogue as JSON".to_owned(),
            found: e.to_string(),
        })?;
        catalogue.check()?;
        Ok(catalogue)
    }
}

fn growth(what: &str, density: f64, scale: [f64; 2], slope: f64) -> Result<(), CatalogueError> {
    number(&format!("{what} density_per_m2"), density, 0.0, 1e4)?;
    number(&format!("{what} scale"), scale[0], 1e-3, 1e3)?;
    number(&format!("{what} scale, the larger"), scale[1], scale[0], 1e3)?;
    number(&format!("{what} max_slope_deg"), slope, 0.0, 90.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Catalogue {
        Catalogue {
            layers: vec![
                Layer::named("grass"),
                Layer { kind: LayerKind::OrderedAlpha, ..Layer::named("snow") },
            ],
            materials: vec![PhysicalMaterial { name: "ice".into(), friction: 0.05, restitution: 0.1 }],
            user_channels: vec!["danger".into()],
            foliage: vec![FoliageType { name: "fern".into(), layers: vec![0], ..FoliageType::default() }],
            objects: vec![ObjectType { name: "rock".into(), ..ObjectType::default() }],
            overlays: vec![Overlay {
                name: "road".into(),
                points: vec![[0.0, 0.5], [10.0, 0.1]],
                ..Overlay::default()
            }],
            water: Some(Water { max_depth_m: 1.2 }),
        }
    }

    #[test]
    fn a_catalogue_comes_back_from_its_text() {
        let c = good();
        c.check().unwrap();
        assert_eq!(Catalogue::of_json(&c.to_json()).unwrap(), c);
        assert_eq!(Catalogue::of_json("{}").unwrap(), Catalogue::default());
        assert!(Catalogue::of_json("{\"layer\":[]}").is_err(), "unknown fields are refused");
    }

    #[test]
    fn what_means_nothing_is_refused() {
        let with = |change: &dyn Fn(&mut Catalogue)| {
            let mut c = good();
            change(&mut c);
            c.check().unwrap_err().to_string()
        };
        assert!(with(&|c| c.layers = (0..33).map(|i| Layer::named(&i.to_string())).collect()).contains("32"));
        assert!(with(&|c| c.layers[1].name = "grass".into()).contains("twice"));
        assert!(with(&|c| c.layers[0].kind = LayerKind::OrderedAlpha).contains("alpha"));
        with(&|c| c.layers[0].tiling_m = 0.0);
        with(&|c| c.layers[0].tint[2] = f64::NAN);
        with(&|c| c.materials[0].friction = -1.0);
        with(&|c| c.foliage[0].layers = vec![2]);
        with(&|c| c.foliage[0].scale = [2.0, 1.0]);
        with(&|c| c.foliage[0].height_m = Some([2.0, 1.0]));
        with(&|c| c.overlays[0].points.truncate(1));
        with(&|c| c.overlays[0].points[0][0] = f64::INFINITY);
        with(&|c| c.overlays[0].layer = 2);
        with(&|c| c.water = Some(Water { max_depth_m: 0.0 }));
        with(&|c| c.user_channels = vec![String::new()]);
    }

    #[test]
    fn planes_refer_to_what_is_there() {
        let c = good();
        assert!(c.allows(PlaneKind::Weight(1)) && !c.allows(PlaneKind::Weight(2)));
        assert!(c.allows(PlaneKind::User(0)) && !c.allows(PlaneKind::User(1)));
        assert!(c.allows(PlaneKind::PhysicalMaterial));
        assert!(!Catalogue::default().allows(PlaneKind::PhysicalMaterial));
    }
}
