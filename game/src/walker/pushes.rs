//! What walkers do to dynamic bodies, and the one order in which it is done.

use glam::DVec3;

/// The most bodies that one walker pushes in a tick.
const MOST: usize = 4;

/// One walker's push.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Push {
    /// The body's id.
    pub body: u64,
    /// Where, in metres.
    pub point: DVec3,
    /// Level, in newton seconds.
    pub impulse: DVec3,
}

/// The pushes of one walker in one tick: at most one a body, in the order met.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pushes {
    list: [Push; MOST],
    count: usize,
}

impl Pushes {
    /// The pushes.
    pub fn as_slice(&self) -> &[Push] {
        &self.list[..self.count]
    }

    /// Adds one; of several against one body the first counts.
    pub(super) fn note(&mut self, push: Push) {
        if self.count < MOST && self.as_slice().iter().all(|p| p.body != push.body) {
            self.list[self.count] = push;
            self.count += 1;
        }
    }
}

/// Puts (walker, push) pairs into the order in which they are applied: by body, then by walker. Whatever order walkers
/// moved in, bodies get the same sum, to the last bit.
pub fn merge_pushes(pushes: &mut [(u64, Push)]) {
    pushes.sort_unstable_by_key(|(walker, push)| (push.body, *walker));
}
