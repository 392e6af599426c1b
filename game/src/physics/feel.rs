//! What bodies feel of the ground's physical materials: friction and restitution, contact by contact.
//!
//! A contact hook that is switched on only for bodies near ground that feels otherwise than the terrain collider itself,
//! because an active hook costs a pair its contact recycling. Never changes what touches.

use glam::DVec3;
use highground_terrain::collide::{Feel, Materials, SharedGround, TerrainShape};
use highground_terrain::content::PhysicalMaterial;
use rapier3d_f64::prelude::*;
use std::sync::Arc;

/// How far (m) around a body, beyond what it covers in a step, its materials are looked at.
const AROUND: f64 = 0.1;

/// The hook, and who it is on for.
#[derive(Clone, Debug)]
pub struct GroundFeel {
    shared: Arc<SharedGround>,
    /// Colliders whose hook is to be switched, found before any is borrowed mutably.
    switch: Vec<(ColliderHandle, ActiveHooks)>,
}

impl GroundFeel {
    /// Over a shared ground and its materials.
    pub fn new(shared: Arc<SharedGround>) -> Self {
        Self { shared, switch: Vec::new() }
    }

    /// What the terrain collider itself has: material 0.
    pub fn base(&self) -> Feel {
        // What a spot answers there, too.
        let PhysicalMaterial { friction, restitution, .. } = PhysicalMaterial::default();
        let plain = Feel { id: 0, friction, restitution };
        self.shared.materials().map_or(plain, |m| m.base())
    }

    /// Before a step: switches the hook of every awake dynamic body on or off by the ground it is near.
    pub fn tell(&mut self, bodies: &RigidBodySet, colliders: &mut ColliderSet, dt: f64) {
        let Some(materials) = self.shared.materials() else { return };
        let ground = self.shared.load();
        self.switch.clear();
        for (_, body) in bodies.iter().filter(|(_, b)| b.is_dynamic() && b.is_enabled() && !b.is_sleeping()) {
            for &handle in body.colliders() {
                let Some(collider) = colliders.get(handle) else { continue };
                let (aabb, reach) = (collider.compute_aabb(), AROUND + body.linvel().length() * dt);
                let (lo, hi) = (aabb.mins - DVec3::splat(reach), aabb.maxs + DVec3::splat(reach));
                let cells = ground.cells_meeting(lo.x, lo.z, hi.x, hi.z);
                let mut hooks = collider.active_hooks();
                hooks.set(ActiveHooks::MODIFY_SOLVER_CONTACTS, !materials.is_base(cells));
                if hooks != collider.active_hooks() {
                    self.switch.push((handle, hooks));
                }
            }
        }
        for &(handle, hooks) in &self.switch {
            if let Some(collider) = colliders.get_mut(handle) {
                collider.set_active_hooks(hooks);
            }
        }
    }
}

impl PhysicsHooks for GroundFeel {
    /// A manifold has one friction, and may lie over several materials (the engine merges those that share a normal): it
    /// gets the mean of what its points feel.
    fn modify_solver_contacts(&self, context: &mut ContactModificationContext) {
        let Some(materials) = self.shared.materials() else { return };
        let (first, second) = (&context.colliders[context.collider1], &context.colliders[context.collider2]);
        let is_ground = |c: &Collider| c.shape().as_shape::<TerrainShape>().is_some();
        let (ground, body, flipped) = match (is_ground(first), is_ground(second)) {
            (true, false) => (first, second, false),
            (false, true) => (second, first, true),
            _ => return,
        };
        let (rules, own) =
            ((ground.friction_combine_rule(), ground.restitution_combine_rule()), body.material());
        let body_rules = (body.friction_combine_rule(), body.restitution_combine_rule());
        let (friction, restitution) = (own.friction, own.restitution);
        let Some(contact) = context.rigid_mut() else { return };
        let points = contact.manifold.points.iter().map(|p| if flipped { p.local_p2 } else { p.local_p1 });
        let Some(feel) = mean(&self.shared, &materials, points) else { return };
        *contact.friction = CoefficientCombineRule::combine(feel.0, friction, rules.0, body_rules.0);
        *contact.restitution = CoefficientCombineRule::combine(feel.1, restitution, rules.1, body_rules.1);
    }
}

/// Mean friction and restitution over points of the ground.
fn mean(
    shared: &SharedGround,
    materials: &Materials,
    points: impl Iterator<Item = DVec3>,
) -> Option<(f64, f64)> {
    let ground = shared.load();
    let (mut count, mut friction, mut restitution) = (0.0, 0.0, 0.0);
    for p in points {
        let feel = materials.under(&ground, p);
        count += 1.0;
        friction += feel.friction;
        restitution += feel.restitution;
    }
    (count > 0.0).then(|| (friction / count, restitution / count))
}
