//! Foliage and objects: the instances that a terrain's catalogue and painted densities call for.
//!
//! Owns what stands between a terrain's blocks and the scatter pass: which type is which number, how its rules become the
//! pass's, what a window of ground holds; and the fuzzy tiles that instances are drawn in. Never draws, never keeps a
//! terrain.

mod region;
mod tiles;

pub use region::Region;
pub use tiles::{Tile, Tiles, thinned};

use crate::compute::{Compute, ComputeError, Outputs};
use crate::content::{Catalogue, PlaneKind};
use crate::kernel::scatter::INSTANCE_WORDS;
use crate::pass::scatter::{Ground, Kind, scatter};

/// Over how many degrees below the steepest slope instances become fewer.
pub const SLOPE_FADE_DEG: f64 = 5.0;

/// A type of a catalogue: foliage from 0 to 31, objects from 32 to 63.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TypeId {
    /// The n-th kind of foliage.
    Foliage(u8),
    /// The n-th kind of object.
    Object(u8),
}

impl TypeId {
    /// The number that placement hashes: appending types moves none.
    pub fn number(self) -> u32 {
        match self {
            TypeId::Foliage(n) => u32::from(n),
            TypeId::Object(n) => 32 + u32::from(n),
        }
    }

    /// Every type of a catalogue, in order.
    pub fn all(catalogue: &Catalogue) -> impl Iterator<Item = TypeId> {
        let foliage = (0..catalogue.foliage.len()).map(|n| TypeId::Foliage(n as u8));
        foliage.chain((0..catalogue.objects.len()).map(|n| TypeId::Object(n as u8)))
    }

    /// The plane of its painted density.
    pub fn plane(self) -> PlaneKind {
        match self {
            TypeId::Foliage(n) => PlaneKind::Foliage(n),
            TypeId::Object(n) => PlaneKind::Object(n),
        }
    }

    /// Its rules as the pass takes them; `None` when the catalogue has no such type. `seed` is the arrangement.
    pub fn kind(self, catalogue: &Catalogue, seed: u32) -> Option<Kind> {
        let everywhere = [f64::NEG_INFINITY, f64::INFINITY];
        Some(match self {
            TypeId::Foliage(n) => {
                let of = catalogue.foliage.get(usize::from(n))?;
                Kind {
                    seed,
                    number: self.number(),
                    density_per_m2: of.density_per_m2,
                    jitter: 1.0,
                    apart_m: 0.0,
                    scale: of.scale,
                    slope_deg: [of.max_slope_deg, SLOPE_FADE_DEG],
                    height_m: of.height_m.unwrap_or(everywhere),
                    in_water: of.under_water,
                }
            }
            TypeId::Object(n) => {
                let of = catalogue.objects.get(usize::from(n))?;
                Kind {
                    seed,
                    number: self.number(),
                    density_per_m2: of.density_per_m2,
                    jitter: 1.0,
                    apart_m: 2.0 * of.radius_m,
                    scale: of.scale,
                    slope_deg: [of.max_slope_deg, SLOPE_FADE_DEG],
                    height_m: everywhere,
                    in_water: false,
                }
            }
        })
    }

    /// The layers that it grows on, as bits; all when it does not ask.
    fn layers(self, catalogue: &Catalogue) -> u32 {
        let TypeId::Foliage(n) = self else { return u32::MAX };
        match catalogue.foliage.get(usize::from(n)) {
            Some(of) if !of.layers.is_empty() => of.layers.iter().fold(0, |bits, &l| bits | 1 << (l & 31)),
            _ => u32::MAX,
        }
    }
}

/// Where an instance stands and how: one of [`crate::kernel::scatter`], in metres on the terrain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Instance {
    /// On the ground.
    pub position: [f64; 3],
    /// About the upward axis, in turns from 0 to 1.
    pub yaw: f64,
    /// Of its model.
    pub scale: f64,
    /// The smooth normal of the ground.
    pub normal: [f64; 3],
    /// Uniform: instances are drawn in its order as far as distance thins them.
    pub key: u32,
    /// Uniform, 0 to 255 each: how far it counts to a neighbouring tile.
    pub fuzz: [u8; 2],
}

/// The instances of a type in a region, in the order of their grid.
///
/// # Errors
/// Rules out of range, or a device that fails.
pub fn grow(
    compute: &dyn Compute,
    region: &Region,
    of: TypeId,
    seed: u32,
    answer: &mut Outputs,
) -> Result<Vec<Instance>, ComputeError> {
    let mut words = Vec::new();
    grow_words(compute, region, of, seed, &mut words, answer)?;
    Ok(words.iter().map(|w| region.instance(w)).collect())
}

/// [`grow`], as the pass's words: positions from the region's corner.
///
/// # Errors
/// As [`grow`].
pub fn grow_words(
    compute: &dyn Compute,
    region: &Region,
    of: TypeId,
    seed: u32,
    out: &mut Vec<[u32; INSTANCE_WORDS]>,
    answer: &mut Outputs,
) -> Result<(), ComputeError> {
    out.clear();
    let catalogue = region.catalogue();
    let Some(kind) = of.kind(catalogue, seed) else {
        let reason = format!(
            "there is no {of:?}: the catalogue has {} foliage and {} object types",
            catalogue.foliage.len(),
            catalogue.objects.len()
        );
        return Err(ComputeError::Refused { pass: "scatter", reason });
    };
    // No density, no instance: most types grow in few places.
    let Some(surface) = region.surface(of.plane(), of.layers(catalogue)) else { return Ok(()) };
    let config = region.config();
    let ground = Ground {
        first: region.first(),
        cells: region.cells(),
        spacing_256: config.spacing_256,
        k: config.quantum,
        diagonal: config.diagonal,
        texels: u32::from(config.paint_per_cell),
        heights: region.heights(),
        surface: &surface,
    };
    scatter(compute, &kind, &ground, out, answer)
}
