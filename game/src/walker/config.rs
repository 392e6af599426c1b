//! What a walker can do: its size, speeds and limits. World configuration: it changes bits.

use serde::{Deserialize, Serialize};

/// A walker's size, speeds and limits. Metres, seconds and their products unless the name says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WalkerConfig {
    /// Of the capsule.
    pub radius: f64,
    /// From the capsule's middle to the centre of either cap.
    pub half_height: f64,
    /// Horizontal.
    pub walk_speed: f64,
    /// Horizontal.
    pub run_speed: f64,
    /// [`WalkerConfig::half_height`] while crouching.
    pub crouch_half_height: f64,
    /// Horizontal, while crouching.
    pub crouch_speed: f64,
    /// Steeper ground does not carry.
    pub slope_limit_deg: f64,
    /// The highest step that is taken without a jump.
    pub step_height: f64,
    /// How far below its feet a walker on the ground looks for ground to stay on.
    pub ground_snap: f64,
    /// Downwards.
    pub gravity: f64,
    /// Upwards, at the start of a jump.
    pub jump_speed: f64,
    /// The fastest fall.
    pub max_fall_speed: f64,
    /// How fast the level velocity can be changed in the air.
    pub air_acceleration: f64,
    /// The distance that is kept from the ground.
    pub skin: f64,
    /// Water deeper than this is swum in; a swimmer at rest floats with its feet this far below the surface.
    pub swim_depth: f64,
    /// In any direction.
    pub swim_speed: f64,
    /// How fast a swimmer's velocity can be changed, besides the drag of the water.
    pub swim_acceleration: f64,
    /// Newtons: with how much a walker pushes dynamic bodies, at most.
    pub push_force: f64,
    /// Kilograms: heavier dynamic bodies are walls.
    pub push_mass: f64,
}

impl Default for WalkerConfig {
    fn default() -> Self {
        Self {
            radius: 0.34,
            half_height: 0.54,
            walk_speed: 3.0,
            run_speed: 6.0,
            crouch_half_height: 0.16,
            crouch_speed: 1.5,
            slope_limit_deg: 45.0,
            step_height: 0.35,
            ground_snap: 0.35,
            gravity: 9.81,
            jump_speed: 4.5,
            max_fall_speed: 55.0,
            air_acceleration: 6.0,
            skin: 0.005,
            swim_depth: 1.3,
            swim_speed: 2.0,
            swim_acceleration: 8.0,
            push_force: 500.0,
            push_mass: 400.0,
        }
    }
}

/// What is wrong with a walker's configuration.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("the walker's {field} must be {expected}, found {found}")]
pub struct WalkerConfigError {
    /// Which field.
    pub field: &'static str,
    /// What it must be.
    pub expected: &'static str,
    /// What it is.
    pub found: f64,
}

impl WalkerConfig {
    /// Refuses sizes, speeds and limits that make no walker.
    ///
    /// # Errors
    /// The first field that is out of its range.
    pub fn check(&self) -> Result<(), WalkerConfigError> {
        type Rule = (&'static str, f64, fn(f64) -> bool, &'static str);
        const SIZE: fn(f64) -> bool = |v| (0.05..=100.0).contains(&v);
        const LENGTH: fn(f64) -> bool = |v| (0.0..=100.0).contains(&v);
        const RATE: fn(f64) -> bool = |v| (0.0..=1000.0).contains(&v);
        let rules: [Rule; 19] = [
            ("radius", self.radius, SIZE, "from 0.05 to 100 m"),
            ("half_height", self.half_height, LENGTH, "from 0 to 100 m"),
            ("walk_speed", self.walk_speed, RATE, "from 0 to 1000 m/s"),
            ("run_speed", self.run_speed, RATE, "from 0 to 1000 m/s"),
            ("crouch_half_height", self.crouch_half_height, LENGTH, "from 0 to 100 m"),
            ("crouch_speed", self.crouch_speed, RATE, "from 0 to 1000 m/s"),
            ("slope_limit_deg", self.slope_limit_deg, |v| (1.0..=89.0).contains(&v), "from 1 to 89 degrees"),
            ("step_height", self.step_height, |v| (0.01..=10.0).contains(&v), "from 0.01 to 10 m"),
            ("ground_snap", self.ground_snap, LENGTH, "from 0 to 100 m"),
            ("gravity", self.gravity, RATE, "from 0 to 1000 m/s²"),
            ("jump_speed", self.jump_speed, RATE, "from 0 to 1000 m/s"),
            ("max_fall_speed", self.max_fall_speed, RATE, "from 0 to 1000 m/s"),
            ("air_acceleration", self.air_acceleration, RATE, "from 0 to 1000 m/s²"),
            ("skin", self.skin, |v| (0.0001..=0.1).contains(&v), "from 0.0001 to 0.1 m"),
            ("swim_depth", self.swim_depth, |v| (0.1..=1000.0).contains(&v), "from 0.1 to 1000 m"),
            ("swim_speed", self.swim_speed, RATE, "from 0 to 1000 m/s"),
            ("swim_acceleration", self.swim_acceleration, RATE, "from 0 to 1000 m/s²"),
            ("push_force", self.push_force, |v| (0.0..=1e6).contains(&v), "from 0 to 1000000 N"),
            ("push_mass", self.push_mass, |v| (0.0..=1e6).contains(&v), "from 0 to 1000000 kg"),
        ];
        if self.crouch_half_height > self.half_height {
            let (field, expected) = ("crouch_half_height", "at most half_height");
            return Err(WalkerConfigError { field, expected, found: self.crouch_half_height });
        }
        match rules.into_iter().find(|(_, found, allowed, _)| !allowed(*found)) {
            Some((field, found, _, expected)) => Err(WalkerConfigError { field, expected, found }),
            None => Ok(()),
        }
    }

    /// From the feet (the lowest point, skin included) to the capsule's centre.
    pub fn centre_height(&self) -> f64 {
        self.radius + self.half_height + self.skin
    }

    /// The capsule's half height, standing or crouching.
    pub fn half_height_of(&self, crouched: bool) -> f64 {
        if crouched { self.crouch_half_height } else { self.half_height }
    }
}
