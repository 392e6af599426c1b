//! The physics world: Rapier in double precision, stepped at a fixed rate, over one seamless terrain collider.
//!
//! Owns every Rapier set. The terrain collider is inserted first and never replaced; its ground is swapped inside.
//! Never decides who moves: the gate does. What a body feels of the ground's materials is [`GroundFeel`]'s.

mod feel;

pub use feel::GroundFeel;

use crate::component::{Ball, Crate};
use crate::config::TICK_SECONDS;
use glam::DVec3;
use highground_terrain::collide::{SharedGround, TerrainDispatcher, TerrainShape};
use rapier3d_f64::parry::query::DefaultQueryDispatcher;
use rapier3d_f64::parry::query::QueryDispatcher;
use rapier3d_f64::prelude::*;
use std::sync::Arc;

/// One physics world.
pub struct Physics {
    pipeline: PhysicsPipeline,
    parameters: IntegrationParameters,
    islands: IslandManager,
    broad_phase: BroadPhaseBvh,
    narrow_phase: NarrowPhase,
    bodies: RigidBodySet,
    colliders: ColliderSet,
    impulse_joints: ImpulseJointSet,
    multibody_joints: MultibodyJointSet,
    soft_bodies: SoftBodySet,
    ccd: CCDSolver,
    gravity: DVec3,
    feel: GroundFeel,
}

impl std::fmt::Debug for Physics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Physics").field("bodies", &self.bodies.len()).finish_non_exhaustive()
    }
}

/// The engine's defaults but for the tick, and for how far a body that touches something may drift before its contacts
/// are looked for again. By default that is 5 cm: a smaller ball which continuous detection had stopped at a wall got no
/// contact with it, kept its speed, and in the end passed.
fn parameters() -> IntegrationParameters {
    let defaults = IntegrationParameters::default();
    IntegrationParameters {
        dt: TICK_SECONDS,
        normalized_contact_recycle_distance: defaults.normalized_allowed_linear_error,
        ..defaults
    }
}

impl Physics {
    /// A world with nothing but ground. `threads` changes only how long a step takes.
    ///
    /// # Errors
    /// When the operating system gives no threads.
    pub fn new(ground: Arc<SharedGround>, gravity: f64, threads: usize) -> std::io::Result<Self> {
        let mut pipeline = PhysicsPipeline::new();
        pipeline.configure_thread_pool(threads.max(1)).map_err(std::io::Error::other)?;
        let mut colliders = ColliderSet::new();
        // First of all: pairs are then (terrain, body), which the terrain's local bounds rely on.
        let feel = GroundFeel::new(ground.clone());
        let shape = ColliderBuilder::new(SharedShape::new(TerrainShape::new(ground)));
        let base = feel.base();
        colliders.insert(shape.friction(base.friction).restitution(base.restitution).build());
        Ok(Self {
            feel,
            pipeline,
            parameters: parameters(),
            islands: IslandManager::new(),
            broad_phase: BroadPhaseBvh::new(),
            narrow_phase: NarrowPhase::with_query_dispatcher(TerrainDispatcher.chain(DefaultQueryDispatcher)),
            bodies: RigidBodySet::new(),
            colliders,
            impulse_joints: ImpulseJointSet::new(),
            multibody_joints: MultibodyJointSet::new(),
            soft_bodies: SoftBodySet::new(),
            ccd: CCDSolver::new(),
            gravity: DVec3::new(0.0, -gravity, 0.0),
        })
    }

    /// How many bodies there are.
    pub fn body_count(&self) -> usize {
        self.bodies.len()
    }

    /// A character's capsule: it follows the walker and pushes what it meets. Disabled until it is placed.
    pub fn add_character(&mut self, radius: f64, half_height: f64) -> RigidBodyHandle {
        let body = self.bodies.insert(RigidBodyBuilder::kinematic_position_based().enabled(false).build());
        let shape = ColliderBuilder::capsule_y(half_height, radius).friction(0.3).build();
        self.colliders.insert_with_parent(shape, body, &mut self.bodies);
        body
    }

    /// A rolling ball, held (immovable) until it is released.
    pub fn add_ball(&mut self, ball: &Ball) -> RigidBodyHandle {
        let body = RigidBodyBuilder::fixed().translation(ball.position).ccd_enabled(true).build();
        let body = self.bodies.insert(body);
        let shape = ColliderBuilder::ball(ball.radius).density(200.0).friction(0.7).restitution(0.3).build();
        self.colliders.insert_with_parent(shape, body, &mut self.bodies);
        body
    }

    /// Takes a body out of the world.
    pub fn remove(&mut self, body: RigidBodyHandle) {
        self.bodies.remove(
            body,
            &mut self.islands,
            &mut self.colliders,
            &mut self.impulse_joints,
            &mut self.multibody_joints,
            &mut self.soft_bodies,
            true,
        );
    }

    /// Moves a character's capsule to where its walker stands at the end of the coming step.
    ///
    /// A character that was not in the world appears there at once instead of sweeping across the map.
    pub fn move_character(&mut self, body: RigidBodyHandle, position: DVec3) {
        let Some(body) = self.bodies.get_mut(body) else { return };
        if body.is_enabled() {
            body.set_next_kinematic_translation(position);
        } else {
            body.set_enabled(true);
            body.set_translation(position, true);
            body.set_next_kinematic_translation(position);
        }
    }

    /// Gives a character's capsule another height: crouching and standing up. Its position is the centre's.
    pub fn reshape_character(&mut self, body: RigidBodyHandle, radius: f64, half_height: f64) {
        let Some(body) = self.bodies.get(body) else { return };
        for &collider in body.colliders() {
            if let Some(collider) = self.colliders.get_mut(collider) {
                collider.set_shape(SharedShape::capsule_y(half_height, radius));
            }
        }
    }

    /// A box that goes where it is told and moves what it meets.
    pub fn add_platform(&mut self, pose: Pose, half_extents: DVec3) -> RigidBodyHandle {
        let body = self.bodies.insert(RigidBodyBuilder::kinematic_position_based().pose(pose).build());
        let DVec3 { x, y, z } = half_extents;
        let shape = ColliderBuilder::cuboid(x, y, z).friction(0.8).build();
        self.colliders.insert_with_parent(shape, body, &mut self.bodies);
        body
    }

    /// Says where a platform is at the end of the coming step. One that stays may sleep.
    pub fn move_platform(&mut self, body: RigidBodyHandle, pose: Pose) {
        let Some(body) = self.bodies.get_mut(body) else { return };
        if *body.position() != pose {
            body.set_next_kinematic_position(pose);
        }
    }

    /// A box of a density (kg/m³), at rest.
    pub fn add_crate(&mut self, pose: Pose, half_extents: DVec3, density: f64) -> RigidBodyHandle {
        let body = self.bodies.insert(RigidBodyBuilder::dynamic().pose(pose).ccd_enabled(true).build());
        let DVec3 { x, y, z } = half_extents;
        let shape = ColliderBuilder::cuboid(x, y, z).density(density).friction(0.5).build();
        self.colliders.insert_with_parent(shape, body, &mut self.bodies);
        body
    }

    /// Where a body is and how it moves: pose, velocity, spin.
    pub fn motion(&self, body: RigidBodyHandle) -> Option<(Pose, DVec3, DVec3)> {
        self.bodies.get(body).map(|b| (*b.position(), b.linvel(), b.angvel()))
    }

    /// The bounds of a body where it is.
    pub fn bounds(&self, body: RigidBodyHandle) -> Option<Aabb> {
        let collider = self.colliders.get(*self.bodies.get(body)?.colliders().first()?)?;
        Some(collider.compute_aabb())
    }

    /// Moves a body straight up, in metres, at once.
    pub fn lift(&mut self, body: RigidBodyHandle, up: f64) {
        if let Some(body) = self.bodies.get_mut(body) {
            let to = body.translation() + DVec3::Y * up;
            body.set_translation(to, true);
        }
        self.bodies.propagate_modified_body_positions_to_colliders(&mut self.colliders);
    }

    /// A body's shape and its mass in kilograms, as walkers meet it.
    pub fn solid(&self, body: RigidBodyHandle) -> Option<(SharedShape, f64)> {
        let body = self.bodies.get(body)?;
        let collider = self.colliders.get(*body.colliders().first()?)?;
        Some((collider.shared_shape().clone(), collider.mass()))
    }

    /// Pushes a dynamic body: `impulse` in newton seconds at `point`, but at the height of its centre of mass, so that
    /// it slides rather than tips.
    pub fn push(&mut self, body: RigidBodyHandle, point: DVec3, impulse: DVec3) {
        if let Some(body) = self.bodies.get_mut(body).filter(|b| b.is_dynamic()) {
            let at = DVec3::new(point.x, body.center_of_mass().y, point.z);
            body.apply_impulse_at_point(impulse, at, true);
        }
    }

    /// Takes a character's capsule out of the physics until it is moved again.
    pub fn hide_character(&mut self, body: RigidBodyHandle) {
        if let Some(body) = self.bodies.get_mut(body) {
            body.set_enabled(false);
        }
    }

    /// Holds a ball or crate where it is. Its velocities are kept by its component.
    pub fn hold(&mut self, body: RigidBodyHandle) {
        if let Some(body) = self.bodies.get_mut(body) {
            body.set_body_type(RigidBodyType::Fixed, false);
        }
    }

    /// Lets a held ball go on with its velocities.
    pub fn release_ball(&mut self, body: RigidBodyHandle, ball: &Ball) {
        self.release(body, ball.velocity, ball.spin);
    }

    /// Lets a held crate go on with its velocities.
    pub fn release_crate(&mut self, body: RigidBodyHandle, held: &Crate) {
        self.release(body, held.velocity, held.spin);
    }

    fn release(&mut self, body: RigidBodyHandle, velocity: DVec3, spin: DVec3) {
        let Some(body) = self.bodies.get_mut(body) else { return };
        body.set_body_type(RigidBodyType::Dynamic, true);
        body.set_linvel(velocity, true);
        body.set_angvel(spin, true);
        // The ground may have changed under it while it was held: contacts are to be found anew.
        for &collider in body.colliders() {
            if let Some(collider) = self.colliders.get_mut(collider) {
                let same = collider.shared_shape().clone();
                collider.set_shape(same);
            }
        }
    }

    /// One fixed step.
    pub fn step(&mut self) {
        self.feel.tell(&self.bodies, &mut self.colliders, self.parameters.dt);
        self.pipeline.step(
            self.gravity,
            &self.parameters,
            &mut self.islands,
            &mut self.broad_phase,
            &mut self.narrow_phase,
            &mut self.bodies,
            &mut self.colliders,
            &mut self.impulse_joints,
            &mut self.multibody_joints,
            &mut self.soft_bodies,
            &mut self.ccd,
            &self.feel,
            &(),
        );
    }

    /// Reads a ball back after the step, its velocities clamped to `max_speed` (m/s; spin to the same surface speed).
    pub fn read_ball(&mut self, body: RigidBodyHandle, ball: &mut Ball, max_speed: f64) {
        if let Some((pose, velocity, spin)) = self.read(body, ball.radius, max_speed) {
            (ball.position, ball.rotation, ball.velocity, ball.spin) =
                (pose.translation, pose.rotation, velocity, spin);
        }
    }

    /// Reads a crate back after the step, as [`Physics::read_ball`]; its corners count for its spin.
    pub fn read_crate(&mut self, body: RigidBodyHandle, read: &mut Crate, max_speed: f64) {
        if let Some((pose, velocity, spin)) = self.read(body, read.half_extents.length(), max_speed) {
            (read.position, read.rotation, read.velocity, read.spin) =
                (pose.translation, pose.rotation, velocity, spin);
        }
    }

    fn read(&mut self, body: RigidBodyHandle, reach: f64, max_speed: f64) -> Option<(Pose, DVec3, DVec3)> {
        let body = self.bodies.get_mut(body)?;
        let velocity = body.linvel().clamp_length_max(max_speed);
        let spin = body.angvel().clamp_length_max(max_speed / reach);
        if velocity != body.linvel() {
            body.set_linvel(velocity, false);
        }
        if spin != body.angvel() {
            body.set_angvel(spin, false);
        }
        Some((*body.position(), velocity, spin))
    }
}
