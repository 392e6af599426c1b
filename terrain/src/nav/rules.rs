//! The rules of one world: a navigation configuration resolved against a terrain, as integers.

use super::config::{AgentKind, NavBudget, NavConfig, NavConfigError};
use super::sector::SECTOR_CELLS;
use crate::config::TerrainConfig;
use crate::coord::LATTICE_PER_M;
use std::sync::Arc;

/// The weight of plain ground, in sixteenths.
pub const PLAIN: u8 = 16;

/// How many cells away what decides about a cell may be.
pub(super) const MAX_REACH: i32 = SECTOR_CELLS;

/// What a move costs along an axis and along a diagonal, for each unit of the two cells' weights.
pub(super) const STRAIGHT: u64 = 12;
/// See [`STRAIGHT`]. 17/12 is √2 within 0.2 %.
pub(super) const DIAGONAL: u64 = 17;

/// Costs have this many bits below them: how many steps of a way are unknown, so that of two ways at the same cost the
/// known one is cheaper.
pub(super) const UNKNOWN_BITS: u32 = 28;

/// One agent's limits in integers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AgentRules {
    pub(super) kind: AgentKind,
    /// The largest squared gradient that carries, in quanta² a cell.
    pub(super) steepest: u64,
    /// The largest range of heights around a flank, in quanta; 0 where no flank can be.
    pub(super) step: i32,
    /// Cells around a flank whose heights count.
    pub(super) flank_reach: i32,
    /// Cells touched on either side, by the distance in rows; never empty.
    pub(super) disc: Vec<i32>,
}

impl AgentRules {
    /// Cells around a cell that decide about it.
    pub(super) fn reach(&self) -> i32 {
        self.disc_reach() + self.flank_reach
    }

    /// Rows and columns that the disc around a cell's centre touches beyond its own.
    pub(super) fn disc_reach(&self) -> i32 {
        self.disc.len() as i32 - 1
    }

    fn new(kind: &AgentKind, terrain: &TerrainConfig) -> Result<Self, NavConfigError> {
        let spacing = u128::from(terrain.spacing_256);
        let tan = libm::tan(kind.slope_limit_deg.to_radians());
        let limit = (tan * tan * (1u64 << 32) as f64 + 0.5).floor() as u128;
        let steepest = (limit * spacing * spacing) << (2 * u32::from(terrain.quantum.get())) >> 48;
        let steepest = u64::try_from(steepest).unwrap_or(u64::MAX);
        let s = terrain.spacing_lattice();
        // Scaling by a power of two is exact.
        let radius = (kind.radius_m * LATTICE_PER_M as f64).ceil() as i64;
        let (r, side) = (i128::from(2 * radius), i128::from(s));
        // Twice the gap from a centre to a cell that many columns or rows away.
        let gap = |n: i32| i128::from((2 * n - 1).max(0)) * side;
        let touches = |dx: i32, dz: i32| gap(dx) * gap(dx) + gap(dz) * gap(dz) < r * r;
        let too_far = |what: &str, found: i32| {
            NavConfigError(format!(
                "agent {:?}: its {what} must be at most {MAX_REACH} cells of {} m, found {found} or more",
                kind.name,
                terrain.spacing_m()
            ))
        };
        let mut disc = vec![0];
        for dz in 0.. {
            if dz > 0 && !touches(0, dz) {
                break;
            }
            if dz > MAX_REACH {
                return Err(too_far("radius", dz));
            }
            let dx = (1..).take_while(|&dx| dx <= MAX_REACH && touches(dx, dz)).last().unwrap_or(0);
            disc.resize(dz as usize + 1, 0);
            disc[dz as usize] = dx;
        }
        let step = kind.step_height_m * terrain.quantum.per_metre() as f64;
        let step = (step * step * 0.5).sqrt().floor() as i32;
        // A gradient whose heights stay within the step is at most this steep: without one there are no flanks.
        let possible = 2 * (step as u64) * (step as u64) > steepest;
        let width = (kind.step_height_m / tan * LATTICE_PER_M as f64).ceil() as i64;
        let flank_reach = if possible { (width / s).min(1 << 20) as i32 + 1 } else { 0 };
        let rules =
            Self { kind: kind.clone(), steepest, step: if possible { step } else { 0 }, flank_reach, disc };
        if rules.reach() > MAX_REACH {
            return Err(too_far("radius and the flank of its step together", rules.reach()));
        }
        Ok(rules)
    }
}

/// A navigation configuration for one terrain: what [`super::Nav`] is built by.
#[derive(Clone, Debug, PartialEq)]
pub struct NavRules {
    pub(super) agents: Vec<AgentRules>,
    /// Weights by layer id.
    pub(super) layers: [u8; 256],
    /// The same by material id; `None` where every material costs what plain ground does.
    pub(super) materials: Option<Box<[u8; 256]>>,
    /// The least weight there can be.
    pub(super) least: u8,
    pub(super) budget: NavBudget,
}

impl NavRules {
    /// Resolves a configuration for a terrain; `layers` are its layer names in id order.
    ///
    /// # Errors
    /// A configuration that fails its own check, that has no agents, or whose agents reach further than 32 cells of
    /// this terrain.
    pub fn new(
        config: &NavConfig,
        terrain: &TerrainConfig,
        layers: &[String],
    ) -> Result<Arc<Self>, NavConfigError> {
        Self::with_materials(config, terrain, layers, &[])
    }

    /// The same with the names of the terrain's physical materials in id order, so that these cost too. The ground must
    /// carry the plane of materials: what it does not carry costs what plain ground does.
    ///
    /// # Errors
    /// As [`NavRules::new`].
    pub fn with_materials(
        config: &NavConfig,
        terrain: &TerrainConfig,
        layers: &[String],
        materials: &[String],
    ) -> Result<Arc<Self>, NavConfigError> {
        config.check()?;
        if config.agents.is_empty() {
            return Err(NavConfigError("agents must be at least 1, found 0".into()));
        }
        let agents =
            config.agents.iter().map(|a| AgentRules::new(a, terrain)).collect::<Result<Vec<_>, _>>()?;
        let mut weights = [PLAIN; 256];
        for (weight, name) in weights.iter_mut().zip(layers) {
            *weight = config.layer_cost.get(name).copied().unwrap_or(PLAIN);
        }
        // Layer 0 is everywhere that nothing else is, painted or not.
        let used = layers.len().clamp(1, weights.len());
        let least = weights[..used].iter().copied().min().unwrap_or(PLAIN);
        let mut by_material = [PLAIN; 256];
        for (weight, name) in by_material.iter_mut().zip(materials) {
            *weight = config.material_cost.get(name).copied().unwrap_or(PLAIN);
        }
        let materials = by_material.iter().any(|&w| w != PLAIN).then(|| Box::new(by_material));
        // Beyond the table and where nothing is loaded ground is plain.
        let lightest = by_material.iter().copied().min().unwrap_or(PLAIN);
        let least = joined(least, lightest);
        Ok(Arc::new(Self { agents, layers: weights, materials, least, budget: config.budget }))
    }

    /// Whether physical materials cost anything else than plain ground: whether ground is to carry their plane.
    pub fn asks_for_materials(&self) -> bool {
        self.materials.is_some()
    }

    /// The kinds of agents, in order.
    pub fn agents(&self) -> impl Iterator<Item = &AgentKind> {
        self.agents.iter().map(|a| &a.kind)
    }

    /// The number of a kind of agents, by name.
    pub fn agent(&self, name: &str) -> Option<usize> {
        self.agents.iter().position(|a| a.kind.name == name)
    }

    /// How many cells around a changed cell may change, for any agent.
    pub fn reach(&self) -> i32 {
        self.agents.iter().map(AgentRules::reach).max().unwrap_or(0)
    }

    /// The cost of one step along an axis over plain ground.
    pub const fn plain_step() -> u64 {
        STRAIGHT * 2 * PLAIN as u64
    }
}

/// The weight of ground of a layer's and a material's weight.
pub(super) fn joined(layer: u8, material: u8) -> u8 {
    (i32::from(layer) + i32::from(material) - i32::from(PLAIN)).clamp(1, 127) as u8
}
