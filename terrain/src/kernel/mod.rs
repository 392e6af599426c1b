//! One file per pass: slices in, slices out. Integer or fixed point, so that CPU and GPU give the same bits.
//!
//! A kernel here is production code: a server without a GPU runs on it. Its GPU twin shares its stem. What a device is
//! told of a kernel is an [`Entry`]: the name of a shader's entry point, what it binds, and the twin that does the same
//! work on the CPU.

pub mod atlas;
pub mod clipmap;
pub mod control;
pub mod normal;
pub mod page;
pub mod pyramid;
pub mod scan;
pub mod scatter;
pub mod sections;
pub mod select;
pub mod vertex;
pub mod weight_mip;
pub mod weights;

use arrayvec::ArrayVec;

/// Buffers that an entry point binds at most: what every Vulkan device has in a stage.
pub const MOST_BUFFERS: usize = 4;

/// Words of parameters at most: the 128 bytes of push constants that every Vulkan device has.
pub const MOST_PARAMS: usize = 32;

/// Invocations in a group: what every Vulkan device has.
pub const GROUP: u32 = 128;

/// One entry point of a kernel. Buffers are words of 32 bits: first those that are read, then those that are written
/// (and may be read), in the order of the shader's bindings.
#[derive(Clone, Copy)]
pub struct Entry {
    /// The stem of the kernel and of its shader.
    pub kernel: &'static str,
    /// The name of the shader's entry point.
    pub name: &'static str,
    /// Buffers that are read.
    pub reads: usize,
    /// Buffers that are written.
    pub writes: usize,
    /// Words of parameters, at most [`MOST_PARAMS`].
    pub params: usize,
    /// The same work on the CPU. Takes the parameters and what is bound; may use the current pool of threads.
    pub twin: fn(&[u32], &mut Bound<'_>),
}

impl Entry {
    /// Runs the twin over these buffers.
    ///
    /// # Panics
    /// When there are other numbers of parameters or buffers than the entry says.
    pub fn call<const R: usize, const W: usize>(
        &self,
        params: &[u32],
        reads: [&[u32]; R],
        writes: [&mut [u32]; W],
    ) {
        assert_eq!((params.len(), R, W), (self.params, self.reads, self.writes), "{self:?}");
        let mut bound = Bound { reads: reads.into_iter().collect(), writes: writes.into_iter().collect() };
        (self.twin)(params, &mut bound);
    }

    /// Kernel and entry point, for messages.
    pub fn label(&self) -> String {
        format!("{}.{}", self.kernel, self.name)
    }
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.kernel, self.name)
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        (self.kernel, self.name) == (other.kernel, other.name)
    }
}

impl Eq for Entry {}

/// Every entry point there is. The GPU crate's tests hold them against its shaders.
#[rustfmt::skip]
pub const ENTRIES: &[&Entry] = &[
    &atlas::PACK,
    &clipmap::CENTRES, &clipmap::SLOTS, &clipmap::COPY,
    &page::BAKE,
    &scan::TOTALS, &scan::SPREAD,
    &scatter::ACCEPT, &scatter::EMIT,
    &sections::SCREEN, &sections::EDGES, &sections::ERROR, &sections::SURFACE,
    &select::MARK, &select::EMIT,
    &vertex::GRID, &vertex::TRIANGLES,
    &weight_mip::HD, &weight_mip::NORMAL,
];

/// The buffers of one call of a twin.
#[derive(Debug, Default)]
pub struct Bound<'a> {
    /// What is read, in the order of the bindings.
    pub reads: ArrayVec<&'a [u32], MOST_BUFFERS>,
    /// What is written.
    pub writes: ArrayVec<&'a mut [u32], MOST_BUFFERS>,
}

impl Bound<'_> {
    /// The buffers as arrays.
    ///
    /// # Panics
    /// When the entry binds other numbers of them.
    pub fn split<const R: usize, const W: usize>(&mut self) -> ([&[u32]; R], [&mut [u32]; W]) {
        assert_eq!((self.reads.len(), self.writes.len()), (R, W), "the entry says what it binds");
        let mut writes = self.writes.iter_mut();
        (
            std::array::from_fn(|i| self.reads[i]),
            std::array::from_fn(|_| &mut **writes.next().expect("as many as were counted")),
        )
    }
}

// Bytes within words are in little-endian order on every device, so the host has to have it too.
const _: () = assert!(cfg!(target_endian = "little"), "Highground's kernels need a little-endian machine");

/// The bytes of some words, in the order in which a shader takes them out of a word.
pub fn bytes_of(words: &[u32]) -> &[u8] {
    bytemuck::cast_slice(words)
}

/// [`bytes_of`], to be written.
pub fn bytes_of_mut(words: &mut [u32]) -> &mut [u8] {
    bytemuck::cast_slice_mut(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_have_names_of_their_own_and_keep_to_what_every_device_has() {
        for (i, entry) in ENTRIES.iter().enumerate() {
            assert!(ENTRIES[..i].iter().all(|other| *other != *entry), "{entry:?}");
            assert!(entry.reads + entry.writes <= MOST_BUFFERS && entry.writes > 0, "{entry:?}");
            assert!(entry.params <= MOST_PARAMS, "{entry:?}");
        }
    }

    #[test]
    fn bytes_stand_in_words_from_the_lowest_bits_up() {
        let mut words = [0x0403_0201, 0x0807_0605];
        assert_eq!(bytes_of(&words), [1, 2, 3, 4, 5, 6, 7, 8]);
        bytes_of_mut(&mut words)[5] = 0xFF;
        assert_eq!(words[1], 0x0807_FF05);
    }
}
