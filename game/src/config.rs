//! The two kinds of configuration: what changes bits (hashed, compared) and what must not.

use crate::walker::WalkerConfig;
use highground_terrain::nav::{AgentKind, NavConfig, PLAIN};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Fixed steps a second.
pub const TICKS_PER_SECOND: u32 = 60;

/// Seconds a step.
pub const TICK_SECONDS: f64 = 1.0 / TICKS_PER_SECOND as f64;

/// Session configuration: part of the world, hashed apart from the terrain's digest and compared at handshakes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SessionConfig {
    /// D: a block requested in tick t is due at tick t + D, 1 ≤ D < 59.
    pub due_ticks: u32,
    /// A block leaves when it is further than this beyond every window, in metres.
    pub keep_margin_m: f64,
    /// The most blocks that may be wanted at once. Decides who is gated, so it is world configuration.
    pub max_blocks: u32,
    /// Velocities are clamped to this, in m/s; the gate reaches as far as one step at this speed.
    pub max_speed: f64,
    /// How often a read that failed is tried again before the block is Failed.
    pub retries: u32,
    /// Live sessions try a Failed block again after this many ticks.
    pub retry_after_ticks: u32,
    /// Metres a second squared, downwards.
    pub gravity: f64,
    /// Bodies this far below the lowest ground are lost, in metres.
    pub fall_limit_m: f64,
    /// The mip of the weight chain that footing is read from.
    pub footing_mip: u8,
    /// Walking speed factor by layer name; 1 for a layer that is not named.
    pub layer_speed: BTreeMap<String, f64>,
    /// How characters move.
    pub walker: WalkerConfig,
    /// Who else than the walker finds ways, and what ground costs them.
    pub nav: NavConfig,
}

/// The name of the walker among the kinds of agents.
pub const WALKER_AGENT: &str = "walker";

impl Default for SessionConfig {
    fn default() -> Self {
        Self {
            due_ticks: 6,
            keep_margin_m: 12.0,
            max_blocks: 4096,
            max_speed: 60.0,
            retries: 2,
            retry_after_ticks: 60,
            gravity: 9.81,
            fall_limit_m: 100.0,
            footing_mip: 1,
            layer_speed: BTreeMap::new(),
            walker: WalkerConfig::default(),
            nav: NavConfig::default(),
        }
    }
}

/// A session configuration that cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("session configuration: {0}")]
pub struct SessionConfigError(pub String);

impl SessionConfig {
    /// Refuses values outside their ranges.
    ///
    /// # Errors
    /// The first field that is wrong: its name, what is allowed and what was found.
    pub fn check(&self) -> Result<(), SessionConfigError> {
        let fail = |text: String| Err(SessionConfigError(text));
        if !(1..59).contains(&self.due_ticks) {
            return fail(format!("due_ticks must be 1 to 58, found {}", self.due_ticks));
        }
        let numbers = [
            ("keep_margin_m", self.keep_margin_m, 0.0, 10_000.0),
            ("max_speed", self.max_speed, 1.0, 300.0),
            ("gravity", self.gravity, 0.0, 100.0),
            ("fall_limit_m", self.fall_limit_m, 1.0, 100_000.0),
        ];
        for (name, found, low, high) in numbers {
            if !(low..=high).contains(&found) {
                return fail(format!("{name} must be {low} to {high}, found {found}"));
            }
        }
        if self.max_blocks == 0 {
            return fail("max_blocks must be at least 1, found 0".into());
        }
        if self.retry_after_ticks == 0 {
            return fail("retry_after_ticks must be at least 1, found 0".into());
        }
        if self.retries > 100 {
            return fail(format!("retries must be at most 100, found {}", self.retries));
        }
        for (name, &factor) in &self.layer_speed {
            if !(0.05..=4.0).contains(&factor) {
                return fail(format!("layer_speed[{name:?}] must be 0.05 to 4, found {factor}"));
            }
        }
        let fastest = self.layer_speed.values().copied().fold(1.0, f64::max) * self.walker.run_speed;
        let limit = self.max_speed;
        // The gate reaches as far as one step at max_speed: nobody may be faster.
        if fastest > limit || self.walker.max_fall_speed > limit {
            return fail(format!(
                "max_speed must be at least the run speed on the fastest layer ({fastest}) and the walker's max_fall_speed ({}), found {limit}",
                self.walker.max_fall_speed
            ));
        }
        self.walker.check().map_err(|e| SessionConfigError(e.to_string()))?;
        if self.nav.agents.iter().any(|a| a.name == WALKER_AGENT) {
            return fail(format!("nav.agents must not name {WALKER_AGENT:?}: that is the walker itself"));
        }
        self.navigation().check().map_err(|e| SessionConfigError(e.to_string()))
    }

    /// What ways are found by: the walker as agent 0, then the kinds of `nav`. A layer that `nav` gives no cost costs as
    /// much as it slows the walker down.
    pub fn navigation(&self) -> NavConfig {
        let WalkerConfig { radius, skin, step_height, ground_snap, slope_limit_deg, .. } = self.walker;
        let walker = AgentKind {
            name: WALKER_AGENT.to_owned(),
            radius_m: radius + skin,
            // What it climbs it must also follow down.
            step_height_m: step_height.min(ground_snap),
            slope_limit_deg,
            ..AgentKind::default()
        };
        let mut nav = self.nav.clone();
        nav.agents.insert(0, walker);
        for (layer, speed) in &self.layer_speed {
            let cost = (f64::from(PLAIN) / speed).round().clamp(1.0, 127.0) as u8;
            nav.layer_cost.entry(layer.clone()).or_insert(cost);
        }
        nav
    }

    /// The hash that is compared at handshakes and written into recordings: blake3 of the postcard encoding.
    pub fn hash(&self) -> [u8; 32] {
        let bytes = postcard::to_allocvec(self).expect("a plain struct always encodes");
        *blake3::hash(&bytes).as_bytes()
    }
}

/// Runtime configuration: changes how long a tick takes, never what it gives. A test sweeps it to prove so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuntimeConfig {
    /// Threads of the physics step, and of the characters' moves.
    pub physics_threads: usize,
    /// Threads that read blocks.
    pub reader_threads: usize,
    /// Bytes of decoded blocks kept though nobody needs them.
    pub cache_budget_bytes: usize,
}

impl Default for RuntimeConfig {
    fn default() -> Self {
        Self { physics_threads: 1, reader_threads: 2, cache_budget_bytes: 8 << 20 }
    }
}
