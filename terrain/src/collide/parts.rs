//! The convex parts of a shape: those of compounds, meshes and polylines through their own bounding volume trees, those of
//! voxels, height fields and terrains through halving their grids.
//!
//! Owns no answer: callers say which boxes are worth entering and what to do with a part.

use super::shape::{TerrainShape, block_bounds, subshape_id};
use crate::coord::{BlockPos, CellRect};
use glam::DVec3;
use parry3d_f64::bounding_volume::{Aabb, BoundingVolume};
use parry3d_f64::math::{IVector, Pose};
use parry3d_f64::partitioning::TraversalAction;
use parry3d_f64::query::Unsupported;
use parry3d_f64::shape::{Cuboid, HeightField, Shape, Triangle, Voxels};
use std::ops::ControlFlow;

/// Boxes are grown by this much (m) before they are judged, so that rounding never loses a part.
const ROUNDING: f64 = 1e-6;

/// A grid is halved until no side is longer than this many cells.
const LEAF: i64 = 4;

/// A part of a shape.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    /// The number by which the engine knows the part; 0 for a shape without parts.
    pub(super) id: u32,
    /// Its frame in the shape's, when that is another.
    pub(super) frame: Option<&'a Pose>,
    /// Convex, or a half-space.
    pub(super) shape: &'a dyn Shape,
}

impl Part<'_> {
    /// Its frame, given the whole shape's.
    pub(super) fn pose(&self, whole: &Pose) -> Pose {
        self.frame.map_or(*whole, |frame| whole * frame)
    }

    /// A point of its own frame in the whole shape's.
    pub(super) fn point(&self, p: DVec3) -> DVec3 {
        self.frame.map_or(p, |frame| frame * p)
    }

    /// A direction of its own frame in the whole shape's.
    pub(super) fn direction(&self, d: DVec3) -> DVec3 {
        self.frame.map_or(d, |frame| frame.rotation * d)
    }
}

/// Says of a box (the shape's frame) whether parts in it matter.
pub(super) type Enter<'a> = &'a mut dyn FnMut(&Aabb) -> bool;
/// Takes a part.
pub(super) type Take<'a> = &'a mut dyn FnMut(Part<'_>) -> ControlFlow<()>;

/// Whether a shape is one part: convex with a support function, or a half-space.
fn is_part(shape: &dyn Shape) -> bool {
    shape.as_support_map().is_some() || shape.as_halfspace().is_some()
}

/// Whether [`each_part`] knows the shape.
pub(super) fn known(shape: &dyn Shape) -> bool {
    if let Some(compound) = shape.as_compound() {
        return compound.shapes().iter().all(|(_, part)| known(part.as_ref()));
    }
    is_part(shape)
        || shape.as_composite_shape().is_some()
        || shape.as_voxels().is_some()
        || shape.as_heightfield().is_some()
        || shape.as_shape::<TerrainShape>().is_some()
}

/// Visits the parts of a shape whose boxes `enter` lets pass, until `take` breaks. A shape that is one part is taken
/// without a question.
pub(super) fn each_part(shape: &dyn Shape, enter: Enter<'_>, take: Take<'_>) -> Result<(), Unsupported> {
    walk(shape, enter, take).map(|_| ())
}

fn walk(shape: &dyn Shape, enter: Enter<'_>, take: Take<'_>) -> Result<ControlFlow<()>, Unsupported> {
    if is_part(shape) {
        return Ok(take(Part { id: 0, frame: None, shape }));
    }
    let mut enter = |aabb: &Aabb| enter(&aabb.loosened(ROUNDING));
    if let Some(composite) = shape.as_composite_shape() {
        let mut end = Ok(ControlFlow::Continue(()));
        composite.bvh().traverse(|node| {
            if !enter(&node.aabb()) {
                return TraversalAction::Prune;
            }
            let Some(id) = node.leaf_data() else { return TraversalAction::Continue };
            composite.map_part_at(id, &mut |frame, part, _| {
                end = leaf(id, frame, part, &mut enter, take);
            });
            if matches!(end, Ok(ControlFlow::Continue(()))) {
                TraversalAction::Continue
            } else {
                TraversalAction::EarlyExit
            }
        });
        return end;
    }
    if let Some(voxels) = shape.as_voxels() {
        let [mins, maxs] = voxels.domain();
        return Ok(walk_voxels(voxels, mins, maxs, &mut enter, take));
    }
    if let Some(field) = shape.as_heightfield() {
        let all = [0, 0, field.nrows(), field.ncols()];
        return Ok(walk_field(field, all, &mut enter, take));
    }
    match shape.as_shape::<TerrainShape>() {
        Some(terrain) => Ok(walk_terrain(terrain, &mut enter, take)),
        None => Err(Unsupported),
    }
}

/// A leaf of a tree: a part, or (in a compound) a grid with parts of its own, which all have the leaf's number.
fn leaf(
    id: u32,
    frame: Option<&Pose>,
    shape: &dyn Shape,
    enter: Enter<'_>,
    take: Take<'_>,
) -> Result<ControlFlow<()>, Unsupported> {
    if is_part(shape) {
        return Ok(take(Part { id, frame, shape }));
    }
    let outer = frame.copied().unwrap_or(Pose::IDENTITY);
    walk(shape, &mut |aabb| enter(&aabb.transform_by(&outer)), &mut |part| {
        take(Part { id, frame: Some(&part.pose(&outer)), shape: part.shape })
    })
}

fn walk_voxels(
    voxels: &Voxels,
    mins: IVector,
    maxs: IVector,
    enter: Enter<'_>,
    take: Take<'_>,
) -> ControlFlow<()> {
    let size = voxels.voxel_size();
    let corner = |v: IVector| DVec3::new(v.x as f64, v.y as f64, v.z as f64) * size;
    if mins.cmpge(maxs).any() || !enter(&Aabb::new(corner(mins), corner(maxs))) {
        return ControlFlow::Continue(());
    }
    let side = maxs - mins;
    let longest = side.max_element();
    if longest > LEAF {
        let (mut high, mut low) = (maxs, mins);
        let axis = (0..3).find(|&i| side[i] == longest).unwrap_or(0);
        high[axis] = mins[axis] + longest / 2;
        low[axis] = high[axis];
        walk_voxels(voxels, mins, high, enter, take)?;
        return walk_voxels(voxels, low, maxs, enter, take);
    }
    let cube = Cuboid::new(size * 0.5);
    for voxel in voxels.voxels_in_range(mins, maxs).filter(|v| !v.state.is_empty()) {
        let frame = Pose::from_translation(voxel.center);
        if enter(&Aabb::new(voxel.center - size * 0.5, voxel.center + size * 0.5)) {
            take(Part { id: voxel.linear_id.flat_id() as u32, frame: Some(&frame), shape: &cube })?;
        }
    }
    ControlFlow::Continue(())
}

/// `[row, column, rows, columns]`, ends exclusive.
fn walk_field(
    field: &HeightField,
    [i0, j0, i1, j1]: [usize; 4],
    enter: Enter<'_>,
    take: Take<'_>,
) -> ControlFlow<()> {
    let root = field.root_aabb();
    let mins = DVec3::new(field.x_at(j0), root.mins.y, field.z_at(i0));
    let maxs = DVec3::new(field.x_at(j1), root.maxs.y, field.z_at(i1));
    if !enter(&Aabb::new(mins, maxs)) {
        return ControlFlow::Continue(());
    }
    let (rows, columns) = (i1 - i0, j1 - j0);
    if rows.max(columns) as i64 > LEAF {
        let [first, second] = if rows >= columns {
            let middle = i0 + rows / 2;
            [[i0, j0, middle, j1], [middle, j0, i1, j1]]
        } else {
            let middle = j0 + columns / 2;
            [[i0, j0, i1, middle], [i0, middle, i1, j1]]
        };
        walk_field(field, first, enter, take)?;
        return walk_field(field, second, enter, take);
    }
    let half = field.nrows() * field.ncols();
    for i in i0..i1 {
        for j in j0..j1 {
            let (left, right) = field.triangles_at(i, j);
            let id = j * field.nrows() + i;
            for (triangle, id) in [(left, id), (right, id + half)] {
                let Some(triangle) = triangle.filter(|t| enter(&t.local_aabb())) else { continue };
                take(Part { id: id as u32, frame: None, shape: &triangle })?;
            }
        }
    }
    ControlFlow::Continue(())
}

/// Another terrain is a sheet of triangles like any mesh: block by block, triangle by triangle.
fn walk_terrain(terrain: &TerrainShape, enter: Enter<'_>, take: Take<'_>) -> ControlFlow<()> {
    let ground = terrain.ground();
    let [blocks_x, blocks_z] = ground.config().blocks(ground.side()).map(|b| b as i32);
    let (e, quantum) = (ground.config().extent, ground.config().quantum.metres());
    for pos in (0..blocks_z).flat_map(|z| (0..blocks_x).map(move |x| BlockPos::new(x, z))) {
        let Some((low, high)) = ground.tile(pos).and_then(|tile| tile.min_max()) else { continue };
        let mut aabb = block_bounds(&ground, pos);
        (aabb.mins.y, aabb.maxs.y) = (f64::from(low) * quantum, f64::from(high) * quantum);
        if !enter(&aabb) {
            continue;
        }
        let (first, n) = (ground.side().first_sample(pos), ground.side().samples());
        let cells = CellRect {
            x0: first.x.max(e.x0),
            z0: first.z.max(e.z0),
            x1: (first.x + n).min(e.x1),
            z1: (first.z + n).min(e.z1),
        };
        let mut end = ControlFlow::Continue(());
        ground.visit_triangles(cells, f64::MIN, f64::MAX, |_, tri| {
            let [a, b, c] = tri.vertices;
            let triangle = Triangle::new(a, b, c);
            if enter(&triangle.local_aabb()) {
                let id = subshape_id(&ground, tri.cell, tri.triangle);
                end = take(Part { id, frame: None, shape: &triangle });
            }
            end
        });
        end?;
    }
    ControlFlow::Continue(())
}
