// The place of an invocation among all: groups of 128 go across in rows of 32768 (terrain/src/compute/batch.rs).

const GROUP: u32 = 128u;
const GROUPS_ACROSS: u32 = 32768u;

fn linear_group(group: vec3<u32>) -> u32 {
    return group.x + group.y * GROUPS_ACROSS;
}

fn linear_invocation(group: vec3<u32>, local: u32) -> u32 {
    return linear_group(group) * GROUP + local;
}
