//! World configuration of navigation: kinds of agents, what ground costs them, and how far a search may go.

use super::rules::PLAIN;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The most kinds of agents.
const MAX_AGENTS: usize = 16;
/// The most bytes of an agent's name.
const MAX_NAME: usize = 64;
/// The most cells that a search may settle: with it no cost overflows.
const MAX_SETTLED: u32 = 1 << 22;
/// The most sectors that a search may touch.
const MAX_SECTORS: u32 = 1 << 18;

/// Who walks: its size and what it can do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AgentKind {
    /// Its name, unique.
    pub name: String,
    /// What must be free around it, in metres.
    pub radius_m: f64,
    /// The highest step it takes, in metres.
    pub step_height_m: f64,
    /// The steepest ground that carries it.
    pub slope_limit_deg: f64,
    /// What ground at the slope limit costs more, in sixteenths of plain ground; less ground less, by its squared
    /// slope.
    pub slope_cost: u8,
    /// What the flank of a step costs more, in sixteenths of plain ground.
    pub flank_cost: u8,
}

impl Default for AgentKind {
    fn default() -> Self {
        Self {
            name: "agent".to_owned(),
            radius_m: 0.345,
            step_height_m: 0.35,
            slope_limit_deg: 45.0,
            slope_cost: 8,
            flank_cost: 16,
        }
    }
}

/// How much one search may do. What exceeds it is answered so, whatever the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NavBudget {
    /// Cells and doors that a search may settle.
    pub max_settled: u32,
    /// Sectors of 32×32 cells that it may touch; each holds 10 KiB while the search lives.
    pub max_sectors: u32,
}

impl Default for NavBudget {
    fn default() -> Self {
        Self { max_settled: 1 << 20, max_sectors: 4096 }
    }
}

/// Navigation's part of a world: it changes what paths are found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NavConfig {
    /// Kinds of agents, in order.
    pub agents: Vec<AgentKind>,
    /// What ground costs by the name of its surface layer, in sixteenths; [`PLAIN`] for a layer that is not named.
    pub layer_cost: BTreeMap<String, u8>,
    /// What ground costs by the name of its physical material, in sixteenths; [`PLAIN`] for one that is not named. What
    /// it is above or below that is added to the cost of the layer; together they are 1 to 127.
    pub material_cost: BTreeMap<String, u8>,
    /// How much one search may do.
    pub budget: NavBudget,
}

/// What is wrong with a navigation configuration: the field, what it must be and what was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("navigation: {0}")]
pub struct NavConfigError(pub String);

impl NavConfig {
    /// Reads a configuration in RON and checks it.
    ///
    /// # Errors
    /// What is wrong, with its line and column where it is no such configuration.
    pub fn from_ron(text: &str) -> Result<Self, NavConfigError> {
        let config: Self = ron::from_str(text).map_err(|e| NavConfigError(e.to_string()))?;
        config.check()?;
        Ok(config)
    }

    /// Refuses what makes no agent, no cost or no search. [`super::NavRules::new`] refuses what a terrain cannot carry.
    ///
    /// # Errors
    /// The first field that is out of its range.
    pub fn check(&self) -> Result<(), NavConfigError> {
        let fail = |text: String| Err(NavConfigError(text));
        if self.agents.len() > MAX_AGENTS {
            return fail(format!("agents must be at most {MAX_AGENTS}, found {}", self.agents.len()));
        }
        for (i, agent) in self.agents.iter().enumerate() {
            let name = &agent.name;
            if name.is_empty() || name.len() > MAX_NAME {
                return fail(format!(
                    "agents[{i}].name must have 1 to {MAX_NAME} bytes, found {}",
                    name.len()
                ));
            }
            if self.agents[..i].iter().any(|a| a.name == *name) {
                return fail(format!("agents[{i}].name must be unique, found a second {name:?}"));
            }
            let numbers = [
                ("radius_m", agent.radius_m, 0.0, 100.0),
                ("step_height_m", agent.step_height_m, 0.0, 10.0),
                ("slope_limit_deg", agent.slope_limit_deg, 1.0, 89.0),
            ];
            for (field, found, low, high) in numbers {
                if !(low..=high).contains(&found) {
                    return fail(format!("agent {name:?}: {field} must be {low} to {high}, found {found}"));
                }
            }
            for (field, found) in [("slope_cost", agent.slope_cost), ("flank_cost", agent.flank_cost)] {
                if found > 63 {
                    return fail(format!("agent {name:?}: {field} must be 0 to 63, found {found}"));
                }
            }
        }
        let layers = self.layer_cost.iter().map(|cost| ("layer_cost", cost));
        for (field, (name, &cost)) in
            layers.chain(self.material_cost.iter().map(|cost| ("material_cost", cost)))
        {
            if !(1..=127).contains(&cost) {
                return fail(format!(
                    "{field}[{name:?}] must be 1 to 127 sixteenths ({PLAIN} is plain ground), found {cost}"
                ));
            }
        }
        let NavBudget { max_settled, max_sectors } = self.budget;
        if !(1..=MAX_SETTLED).contains(&max_settled) {
            return fail(format!("budget.max_settled must be 1 to {MAX_SETTLED}, found {max_settled}"));
        }
        if !(1..=MAX_SECTORS).contains(&max_sectors) {
            return fail(format!("budget.max_sectors must be 1 to {MAX_SECTORS}, found {max_sectors}"));
        }
        Ok(())
    }
}
