//! The sections of a payload.

use crate::content::{Catalogue, PlaneKind};

/// The most levels of a pyramid: 2¹⁷ samples of blocks of 32.
pub const MAX_LEVELS: u8 = 13;

/// A part of a payload. The order of the codes is the order in the file's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum Section {
    /// What the planes refer to: JSON.
    Catalogue = 1,
    /// Where the terrain came from: JSON, a record.
    Origin = 2,
    /// Lowest and highest sample of every node of the quadtree. Derived.
    MinMax = 3,
    /// Coarse triangles with nothing under them. Derived.
    Skip = 4,
    /// The directory's root: where its pages are.
    Directory = 5,
    /// Heights, one body a block and level.
    Height = 16,
    /// Visibility.
    Hole = 17,
    /// Full weights of the layers.
    Weight = 18,
    /// Physical holes and materials.
    Collision = 19,
    /// Depth of water above the bed.
    Water = 20,
    /// User channels.
    User = 21,
    /// Densities of foliage (planes 0–31) and objects (32–63).
    Density = 22,
    /// HD weight texels and their mips. Derived.
    Hd = 32,
    /// Normals of the samples. Derived.
    Normal = 33,
    /// Normal-encoded weight texels and their mips. Derived.
    NormalWeight = 34,
    /// ID control of the paint texels, without mips. Derived.
    Control = 35,
}

impl Section {
    /// All of them, in order.
    pub const ALL: [Section; 16] = [
        Section::Catalogue,
        Section::Origin,
        Section::MinMax,
        Section::Skip,
        Section::Directory,
        Section::Height,
        Section::Hole,
        Section::Weight,
        Section::Collision,
        Section::Water,
        Section::User,
        Section::Density,
        Section::Hd,
        Section::Normal,
        Section::NormalWeight,
        Section::Control,
    ];

    /// Its code in the file.
    pub const fn code(self) -> u16 {
        self as u16
    }

    /// The section of a code.
    pub fn of_code(code: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.code() == code)
    }

    /// Whether its bytes are cut into blocks.
    pub const fn is_blocked(self) -> bool {
        self.code() >= Section::Height.code()
    }

    /// Whether every payload has it.
    pub const fn is_required(self) -> bool {
        self.code() <= Section::Hole.code()
    }

    /// Whether it follows from other sections and is checked against them.
    pub const fn is_derived(self) -> bool {
        matches!(self, Section::MinMax | Section::Skip) || self.code() >= Section::Hd.code()
    }

    /// Whether it has coarser levels.
    pub const fn has_levels(self) -> bool {
        matches!(self, Section::Height | Section::Hd | Section::NormalWeight)
    }

    /// Its name in messages and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Section::Catalogue => "catalogue",
            Section::Origin => "origin",
            Section::MinMax => "min_max",
            Section::Skip => "skip",
            Section::Directory => "directory",
            Section::Height => "height",
            Section::Hole => "hole",
            Section::Weight => "weight",
            Section::Collision => "collision",
            Section::Water => "water",
            Section::User => "user",
            Section::Density => "density",
            Section::Hd => "hd",
            Section::Normal => "normal",
            Section::NormalWeight => "normal_weight",
            Section::Control => "control",
        }
    }

    /// The section and index that a plane is kept under.
    pub const fn of_plane(kind: PlaneKind) -> (Self, u8) {
        match kind {
            PlaneKind::Weight(i) => (Section::Weight, i),
            PlaneKind::PhysicalHole => (Section::Collision, 0),
            PlaneKind::PhysicalMaterial => (Section::Collision, 1),
            PlaneKind::User(i) => (Section::User, i),
            PlaneKind::Foliage(i) => (Section::Density, i),
            PlaneKind::Object(i) => (Section::Density, 32 + i),
            PlaneKind::WaterDepth => (Section::Water, 0),
        }
    }

    /// The plane that is kept here under an index.
    pub const fn plane(self, index: u8) -> Option<PlaneKind> {
        match (self, index) {
            (Section::Weight, 0..32) => Some(PlaneKind::Weight(index)),
            (Section::Collision, 0) => Some(PlaneKind::PhysicalHole),
            (Section::Collision, 1) => Some(PlaneKind::PhysicalMaterial),
            (Section::User, 0..16) => Some(PlaneKind::User(index)),
            (Section::Density, 0..32) => Some(PlaneKind::Foliage(index)),
            (Section::Density, 32..64) => Some(PlaneKind::Object(index - 32)),
            (Section::Water, 0) => Some(PlaneKind::WaterDepth),
            _ => None,
        }
    }

    /// The planes of a set of indices; `None` when one of them is no plane of this section, or refers to nothing in the
    /// catalogue.
    pub fn planes(self, set: u64, catalogue: &Catalogue) -> Option<Vec<PlaneKind>> {
        (0..64u8)
            .filter(|i| set >> i & 1 == 1)
            .map(|i| self.plane(i).filter(|&p| catalogue.allows(p)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_planes_are_one_to_one() {
        assert!(Section::ALL.is_sorted());
        for s in Section::ALL {
            assert_eq!(Section::of_code(s.code()), Some(s));
            for i in 0..=255 {
                if let Some(kind) = s.plane(i) {
                    assert_eq!(Section::of_plane(kind), (s, i));
                }
            }
        }
        assert_eq!(Section::of_code(0), None);
        assert_eq!(Section::of_code(36), None);
    }
}
