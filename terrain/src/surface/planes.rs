//! The planes that a block carries into the surface, and the choice of which ones.
//!
//! Which planes are decoded is a loader's choice and never changes what the others answer: a plane that was not loaded
//! has its own answer, which is not 0.

use crate::content::PlaneKind;
use std::sync::Arc;

/// Which planes a loader decodes besides heights, visibility and the two-layer weights. The default is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlaneChoice {
    /// Full weights of all layers.
    pub weights: bool,
    /// User channels.
    pub user: bool,
    /// Depth of water.
    pub water: bool,
    /// Physical materials.
    pub materials: bool,
    /// Densities of foliage and objects.
    pub densities: bool,
}

impl PlaneChoice {
    /// Nothing more.
    pub const NONE: Self =
        Self { weights: false, user: false, water: false, materials: false, densities: false };

    /// Everything that the surface can answer about: not densities.
    pub const ALL: Self = Self { weights: true, user: true, water: true, materials: true, densities: false };

    /// Whether planes of this kind are decoded.
    pub const fn takes(self, kind: PlaneKind) -> bool {
        match kind {
            PlaneKind::Weight(_) => self.weights,
            PlaneKind::User(_) => self.user,
            PlaneKind::WaterDepth => self.water,
            PlaneKind::PhysicalMaterial => self.materials,
            PlaneKind::Foliage(_) | PlaneKind::Object(_) => self.densities,
            PlaneKind::PhysicalHole => false,
        }
    }
}

/// A plane's kind and its values, X fastest.
type Values = (PlaneKind, Arc<[u8]>);

/// A block's planes, shared and never changed. Those that are 0 throughout have no values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockPlanes {
    loaded: PlaneChoice,
    planes: Option<Arc<[Values]>>,
}

impl BlockPlanes {
    /// What a loader decoded: planes over the whole block, X fastest, of the kinds that `loaded` takes. Others are left
    /// out.
    pub fn new(loaded: PlaneChoice, planes: impl IntoIterator<Item = (PlaneKind, Vec<u8>)>) -> Self {
        let mut kept: Vec<Values> = planes
            .into_iter()
            .filter(|(kind, values)| loaded.takes(*kind) && values.iter().any(|&v| v != 0))
            .map(|(kind, values)| (kind, values.into()))
            .collect();
        kept.sort_by_key(|p| p.0);
        Self { loaded, planes: (!kept.is_empty()).then(|| kept.into()) }
    }

    /// Which kinds were decoded.
    pub fn loaded(&self) -> PlaneChoice {
        self.loaded
    }

    /// These planes, and of the kinds that were not loaded those of `older`.
    #[must_use]
    pub fn over(&self, older: &Self) -> Self {
        let (a, b) = (self.loaded, older.loaded);
        let loaded = PlaneChoice {
            weights: a.weights || b.weights,
            user: a.user || b.user,
            water: a.water || b.water,
            materials: a.materials || b.materials,
            densities: a.densities || b.densities,
        };
        let kept = older.all().iter().filter(|(kind, _)| !a.takes(*kind));
        let mut planes: Vec<Values> = self.all().iter().chain(kept).cloned().collect();
        planes.sort_by_key(|p| p.0);
        Self { loaded, planes: (!planes.is_empty()).then(|| planes.into()) }
    }

    /// The planes that are not 0 throughout, in the order of their kinds.
    pub fn all(&self) -> &[Values] {
        self.planes.as_deref().unwrap_or(&[])
    }

    /// The values of a kind, `None` when they are 0 throughout; an error when they were not loaded.
    pub(crate) fn get(&self, kind: PlaneKind) -> Result<Option<&[u8]>, NotLoaded> {
        if !self.loaded.takes(kind) {
            return Err(NotLoaded);
        }
        let planes = self.all();
        Ok(planes.binary_search_by_key(&kind, |p| p.0).ok().map(|i| &*planes[i].1))
    }

    /// Bytes held on the heap.
    pub(crate) fn bytes(&self) -> usize {
        self.all().iter().map(|p| p.1.len() + size_of_val(p)).sum()
    }
}

/// A plane that the loader did not decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotLoaded;
