//! Bodies of blocks: heights as offsets, two-bit masks, planes, weight texels and normals.

use super::codec::{Compression, Numbers, compress, decompress};
use super::{Entry, Section, Slot, checksum};
use crate::config::TerrainConfig;
use crate::content::Lattice;
use crate::coord::{BlockPos, BlockSide, CellPos};
use crate::format::FormatError;
use crate::format::error::hex;
use crate::height::VOID;
use crate::kernel::weight_mip::HdTexel;
use crate::state::DataState;
use crate::surface::Triangle;

const VOID_16: u16 = u16::MAX;
const VOID_32: u32 = u32::MAX;

/// Encodings of heights: nothing of an all-void block, offsets from the lowest, nothing of a level block without voids.
const HEIGHT_VOID: u8 = 1;
const HEIGHT_16: u8 = 2;
const HEIGHT_32: u8 = 3;
const HEIGHT_FLAT: u8 = 4;

/// Encodings of masks: nothing visible, everything inside the extent visible, two bits a cell.
const HOLE_ALL: u8 = 1;
const HOLE_NONE: u8 = 2;
const HOLE_BITS: u8 = 3;

/// Encodings of planes: all 0, or a list.
const PLANES_ZERO: u8 = 1;
const PLANES_LIST: u8 = 2;
const PLANE_ENTRY_BYTES: usize = 8;
const PLANE_UNIFORM: u8 = 1;
const PLANE_VALUES: u8 = 2;

/// Encodings of texels and normals: one after the other, or one for all.
const EACH: u8 = 1;
const UNIFORM: u8 = 2;

/// What of the terrain a block's bytes depend on.
#[derive(Clone, Copy, Debug)]
pub struct BlockShape {
    config: TerrainConfig,
    side: BlockSide,
    level: u8,
    pos: BlockPos,
}

/// What a block's heights and mask say of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Valid or Empty.
    pub state: DataState,
    /// Void samples on the map.
    pub void_samples: u32,
    /// Cells inside the extent with a triangle removed; 0 above level 0.
    pub hole_cells: u32,
    /// Lowest and highest sample in quanta, [`VOID`] when all are void.
    pub range: (i32, i32),
}

/// Heights and visibility of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ground {
    /// `side²` raw quanta, X fastest.
    pub heights: Vec<i32>,
    /// `side²` masks, X fastest; empty above level 0.
    pub mask: Vec<u8>,
}

/// A part of a block before compression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// Which section it belongs to.
    pub section: Section,
    /// How it is encoded.
    pub encoding: u8,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// A block's parts and what its directory entry says beside them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockBodies {
    /// What the entry says.
    pub facts: Facts,
    /// Its parts, in the order of the level's slots.
    pub bodies: Vec<Body>,
}

impl BlockShape {
    /// The shape of one block of a terrain.
    pub fn new(config: &TerrainConfig, side: BlockSide, level: u8, pos: BlockPos) -> Self {
        Self { config: *config, side, level, pos }
    }

    /// Samples a side.
    pub fn n(&self) -> usize {
        self.side.samples() as usize
    }

    /// Values a side of the block on a lattice.
    fn width(&self, lattice: Lattice) -> usize {
        self.n() * lattice.per_cell(&self.config) as usize
    }

    /// The part of the block that lies on the map, in values of a lattice of its level: columns and rows.
    pub fn inside(&self, lattice: Lattice) -> [usize; 2] {
        let size = lattice.size(&self.config).map(|n| (n as usize).div_ceil(1 << self.level));
        let n = self.width(lattice);
        let part = |all: usize, at: i32| all.saturating_sub(at as usize * n).min(n);
        [part(size[0], self.pos.x), part(size[1], self.pos.z)]
    }

    /// The most bytes that a part may have in the file; a list of planes has one entry more than planes.
    pub(super) fn most_bytes(&self, section: Section) -> usize {
        let n = self.n() * self.n();
        let texels = n * usize::from(self.config.paint_per_cell).pow(2);
        match section {
            Section::Height => n * 4,
            Section::Hole => n / 4,
            Section::Weight => 32 * (texels + PLANE_ENTRY_BYTES) + PLANE_ENTRY_BYTES,
            Section::Collision => 2 * (n + PLANE_ENTRY_BYTES) + PLANE_ENTRY_BYTES,
            Section::Water => n * 4 + PLANE_ENTRY_BYTES + PLANE_ENTRY_BYTES,
            Section::User => 16 * (n + PLANE_ENTRY_BYTES) + PLANE_ENTRY_BYTES,
            Section::Density => 64 * (n + PLANE_ENTRY_BYTES) + PLANE_ENTRY_BYTES,
            Section::Hd => texels * 3,
            Section::Normal => n * 2,
            Section::NormalWeight => texels * 2,
            Section::Control => texels * 4,
            _ => 0,
        }
    }

    fn cell(&self, index: usize) -> CellPos {
        let first = self.side.first_sample(self.pos);
        CellPos::new(first.x + (index % self.n()) as i32, first.z + (index / self.n()) as i32)
    }

    /// Triangles that lie inside the extent, whatever the samples are.
    fn extent_mask(&self, index: usize) -> u8 {
        if self.config.extent.contains(self.cell(index)) { 3 } else { 0 }
    }

    fn facts(&self, ground: &Ground) -> Facts {
        let [w, h] = self.inside(Lattice::Samples);
        let voids = |row: &[i32]| row[..w].iter().filter(|&&q| q == VOID).count();
        let void_samples: usize = ground.heights.chunks_exact(self.n()).take(h).map(voids).sum();
        let holes =
            (0..ground.mask.len()).filter(|&i| ground.mask[i] != 3 && self.extent_mask(i) == 3).count();
        let valid = || ground.heights.iter().copied().filter(|&q| q != VOID);
        let range = valid().min().zip(valid().max()).unwrap_or((VOID, VOID));
        let nothing =
            if self.level == 0 { ground.mask.iter().all(|&m| m == 0) } else { range == (VOID, VOID) };
        Facts {
            state: if nothing { DataState::Empty } else { DataState::Valid },
            void_samples: void_samples as u32,
            hole_cells: holes as u32,
            range,
        }
    }

    /// The first visible triangle that touches a void sample of this block. Triangles that reach into a neighbour are
    /// looked at where both blocks are known.
    fn visible_void(&self, ground: &Ground) -> Option<(CellPos, u8)> {
        if !ground.heights.contains(&VOID) {
            return None;
        }
        let n = self.n() as i32;
        (0..ground.mask.len()).filter(|&i| ground.mask[i] != 0).find_map(|i| {
            let (x, z) = (i as i32 % n, i as i32 / n);
            let cell = self.cell(i);
            let void = |&(dx, dz): &(i32, i32)| {
                x + dx < n && z + dz < n && ground.heights[((z + dz) * n + x + dx) as usize] == VOID
            };
            let wrong = |t: &Triangle| {
                ground.mask[i] & t.bit() != 0
                    && t.corners(self.config.diagonal.is_anti(cell)).iter().any(void)
            };
            Triangle::BOTH.iter().find(|t| wrong(t)).map(|t| (cell, t.index()))
        })
    }

    fn numbers(&self, section: Section, encoding: u8) -> Numbers {
        match (section, encoding) {
            (Section::Height, HEIGHT_16) => Numbers { side: self.n(), bytes: 2 },
            (Section::Height, HEIGHT_32) => Numbers { side: self.n(), bytes: 4 },
            _ => Numbers::NONE,
        }
    }
}

/// Heights and mask (empty above level 0) as bodies, and what they say of the block.
pub fn encode_block(shape: &BlockShape, ground: &Ground) -> BlockBodies {
    let facts = shape.facts(ground);
    let (min, max) = facts.range;
    let whole = !ground.heights.contains(&VOID);
    let mut bytes = Vec::new();
    // |q| < 2²⁴: differences fit.
    let encoding = if min == VOID {
        HEIGHT_VOID
    } else if min == max && whole {
        HEIGHT_FLAT
    } else if max - min < i32::from(VOID_16) {
        let offset = |&q: &i32| if q == VOID { VOID_16 } else { (q - min) as u16 };
        bytes.reserve_exact(ground.heights.len() * 2);
        bytes.extend(ground.heights.iter().flat_map(|q| offset(q).to_le_bytes()));
        HEIGHT_16
    } else {
        let offset = |&q: &i32| if q == VOID { VOID_32 } else { (q - min) as u32 };
        bytes.extend(ground.heights.iter().flat_map(|q| offset(q).to_le_bytes()));
        HEIGHT_32
    };
    let mut bodies = vec![Body { section: Section::Height, encoding, bytes }];
    if shape.level == 0 {
        let mut bytes = Vec::new();
        let encoding = if ground.mask.iter().all(|&m| m == 0) {
            HOLE_ALL
        } else if (0..ground.mask.len()).all(|i| ground.mask[i] == shape.extent_mask(i)) {
            HOLE_NONE
        } else {
            bytes.extend(ground.mask.chunks_exact(4).map(|m| m[0] | m[1] << 2 | m[2] << 4 | m[3] << 6));
            HOLE_BITS
        };
        bodies.push(Body { section: Section::Hole, encoding, bytes });
    }
    BlockBodies { facts, bodies }
}

/// Planes of a section in ascending index, each over the whole block, as a body. Planes of zeros are left out.
pub fn encode_planes(shape: &BlockShape, section: Section, planes: &[(u8, Vec<u8>)]) -> Body {
    let (mut list, mut values) = (Vec::new(), Vec::new());
    for (index, plane) in planes {
        let Some(kind) = section.plane(*index) else { continue };
        let first = &plane[..kind.bytes()];
        let uniform = plane.chunks_exact(kind.bytes()).all(|v| v == first);
        if uniform && first.iter().all(|&b| b == 0) {
            continue;
        }
        list.extend([*index, if uniform { PLANE_UNIFORM } else { PLANE_VALUES }, 0, 0]);
        let mut value = [0; 4];
        if uniform {
            value[..first.len()].copy_from_slice(first);
        } else {
            values.extend_from_slice(plane);
        }
        list.extend(value);
    }
    debug_assert!(list.len() + values.len() <= shape.most_bytes(section));
    if list.is_empty() {
        return Body { section, encoding: PLANES_ZERO, bytes: list };
    }
    // The list ends with an index that no plane has.
    list.extend([0xFF; PLANE_ENTRY_BYTES]);
    list.append(&mut values);
    Body { section, encoding: PLANES_LIST, bytes: list }
}

/// HD texels of a whole block as bytes.
pub fn pack_hd(texels: &[HdTexel]) -> Vec<u8> {
    texels.iter().flat_map(|t| [t.id1, t.id2, t.ratio]).collect()
}

/// Values of `bytes` bytes each as a body: one of them when all are equal.
pub fn encode_each(section: Section, bytes: usize, values: Vec<u8>) -> Body {
    let first = values[..bytes].to_vec();
    if values.chunks_exact(bytes).all(|v| v == first) {
        return Body { section, encoding: UNIFORM, bytes: first };
    }
    Body { section, encoding: EACH, bytes: values }
}

impl Body {
    /// The body as it is kept: its slot, as if it started at offset 0, and its bytes.
    pub fn store(self, shape: &BlockShape, compression: Compression) -> (Slot, Vec<u8>) {
        let numbers = shape.numbers(self.section, self.encoding);
        let packed = match compression {
            Compression::None => None,
            Compression::Deflate => compress(&self.bytes, numbers),
        };
        let used = if packed.is_some() { compression } else { Compression::None };
        let bytes = packed.unwrap_or(self.bytes);
        let sum = if bytes.is_empty() { [0; 16] } else { checksum(&bytes) };
        let slot = Slot {
            offset: 0,
            length: bytes.len() as u32,
            encoding: self.encoding,
            compression: used,
            checksum: sum,
        };
        (slot, bytes)
    }

    /// A body as it was read: checked against its slot, decompressed.
    ///
    /// # Errors
    /// A wrong checksum or length.
    pub fn load(
        section: Section,
        slot: &Slot,
        bytes: Vec<u8>,
        shape: &BlockShape,
    ) -> Result<Self, FormatError> {
        if !bytes.is_empty() {
            let found = checksum(&bytes);
            if found != slot.checksum {
                let expected = hex(&slot.checksum);
                return Err(FormatError::new(slot.offset, "block checksum", expected, hex(&found)));
            }
        }
        let fixed = shape.fixed_bytes(section, slot.encoding);
        let bytes = match (slot.compression, fixed) {
            (Compression::None, _) => bytes,
            (Compression::Deflate, Some(length)) => {
                decompress(&bytes, length, shape.numbers(section, slot.encoding), slot.offset)?
            }
            (Compression::Deflate, None) => inflate_list(&bytes, shape.most_bytes(section), slot.offset)?,
        };
        if fixed.is_some_and(|f| f != bytes.len()) {
            let expected = format!("{} bytes", fixed.unwrap_or(0));
            return Err(FormatError::new(slot.offset, "block body", expected, bytes.len()));
        }
        Ok(Self { section, encoding: slot.encoding, bytes })
    }
}

/// A list of planes says only at its end how long it is.
fn inflate_list(packed: &[u8], most: usize, at: u64) -> Result<Vec<u8>, FormatError> {
    use std::io::Read;
    let mut out = Vec::new();
    let mut decoder = flate2::read::DeflateDecoder::new(packed).take(most as u64 + 1);
    decoder.read_to_end(&mut out).map_err(|e| FormatError::new(at, "compressed body", "deflate", e))?;
    super::codec::check_used(&decoder.into_inner(), packed, at)?;
    if out.len() > most {
        return Err(FormatError::new(at, "compressed body", format!("at most {most} bytes"), "more"));
    }
    Ok(out)
}

impl BlockShape {
    /// Bytes of a body where its encoding fixes them.
    fn fixed_bytes(&self, section: Section, encoding: u8) -> Option<usize> {
        let n = self.n() * self.n();
        let texels = n * usize::from(self.config.paint_per_cell).pow(2);
        match (section, encoding) {
            (Section::Height, HEIGHT_16) => Some(n * 2),
            (Section::Height, HEIGHT_32) => Some(n * 4),
            (Section::Hole, HOLE_BITS) => Some(n / 4),
            (Section::Hd, EACH) => Some(texels * 3),
            (Section::Hd, UNIFORM) => Some(3),
            (Section::Normal, EACH) => Some(n * 2),
            (Section::Normal | Section::NormalWeight, UNIFORM) => Some(2),
            (Section::NormalWeight, EACH) => Some(texels * 2),
            (Section::Control, EACH) => Some(texels * 4),
            (Section::Control, UNIFORM) => Some(4),
            (_, PLANES_LIST) if section.plane(0).is_some() => None,
            _ => Some(0),
        }
    }
}

/// Heights and mask of a block out of their bodies, held against its entry.
///
/// # Errors
/// The first thing that is wrong, with its offset in the file.
pub fn decode_ground(
    shape: &BlockShape,
    entry: &Entry,
    height: &Body,
    hole: Option<&Body>,
) -> Result<Ground, FormatError> {
    let at = entry.slots.first().map_or(0, |s| s.offset);
    let heights = decode_heights(shape, entry, height, at)?;
    let mask = match hole {
        Some(body) => decode_mask(shape, body, entry.slots.get(1).map_or(0, |s| s.offset))?,
        None => Vec::new(),
    };
    let ground = Ground { heights, mask };
    let [w, h] = shape.inside(Lattice::Samples);
    let beyond = |&i: &usize| {
        (ground.heights[i] != VOID && (i % shape.n() >= w || i / shape.n() >= h))
            || (ground.mask.get(i).is_some_and(|&m| m != 0) && shape.extent_mask(i) == 0)
    };
    if let Some(i) = (0..ground.heights.len()).find(beyond) {
        let c = shape.cell(i);
        let found = format!("ground at ({}, {})", c.x, c.z);
        return Err(FormatError::new(at, "block body", "voids beyond the map", found));
    }
    if let Some((cell, triangle)) = shape.visible_void(&ground) {
        let expected =
            format!("triangle {triangle} of cell ({}, {}) removed, for it touches a void", cell.x, cell.z);
        return Err(FormatError::new(at, "visibility mask", expected, "a visible triangle"));
    }
    let read = shape.facts(&ground);
    let said = Facts {
        state: entry.state,
        void_samples: entry.void_samples,
        hole_cells: entry.hole_cells,
        range: (entry.min, entry.max),
    };
    if said != read {
        let show = |f: &Facts| {
            let (min, max) = f.range;
            let (state, voids, holes) = (f.state, f.void_samples, f.hole_cells);
            format!("state {state:?}, {voids} voids, {holes} holes, {min} to {max} quanta")
        };
        return Err(FormatError::new(at, "directory entry", show(&said), show(&read)));
    }
    Ok(ground)
}

fn decode_heights(shape: &BlockShape, entry: &Entry, body: &Body, at: u64) -> Result<Vec<i32>, FormatError> {
    let n = shape.n() * shape.n();
    let highest = i64::from(entry.max) - i64::from(entry.min);
    let value = |i: usize, offset: i64, void: i64, width: usize| {
        if offset == void {
            Ok(VOID)
        } else if entry.min != VOID && offset <= highest {
            Ok((i64::from(entry.min) + offset) as i32)
        } else {
            let at = at + (i * width) as u64;
            Err(FormatError::new(at, "height offset", format!("at most {highest}"), offset))
        }
    };
    match body.encoding {
        HEIGHT_VOID => Ok(vec![VOID; n]),
        HEIGHT_FLAT if entry.min == entry.max && entry.min != VOID => Ok(vec![entry.min; n]),
        HEIGHT_16 => {
            let (values, _) = body.bytes.as_chunks::<2>();
            let each = values.iter().enumerate();
            each.map(|(i, b)| value(i, i64::from(u16::from_le_bytes(*b)), i64::from(VOID_16), 2)).collect()
        }
        HEIGHT_32 => {
            let (values, _) = body.bytes.as_chunks::<4>();
            let each = values.iter().enumerate();
            each.map(|(i, b)| value(i, i64::from(u32::from_le_bytes(*b)), i64::from(VOID_32), 4)).collect()
        }
        other => Err(FormatError::new(at, "height encoding", "1 to 4, fitting the entry", other)),
    }
}

fn decode_mask(shape: &BlockShape, body: &Body, at: u64) -> Result<Vec<u8>, FormatError> {
    let n = shape.n() * shape.n();
    match body.encoding {
        HOLE_ALL => Ok(vec![0; n]),
        HOLE_NONE => Ok((0..n).map(|i| shape.extent_mask(i)).collect()),
        HOLE_BITS => Ok(body.bytes.iter().flat_map(|&p| [p & 3, p >> 2 & 3, p >> 4 & 3, p >> 6]).collect()),
        other => Err(FormatError::new(at, "visibility encoding", "1, 2 or 3", other)),
    }
}

/// The planes of a section's body, in ascending index, each over the whole block. Planes that are not listed are 0.
///
/// # Errors
/// The first thing that is wrong; `at` is where the body stands in the file.
pub fn decode_planes(shape: &BlockShape, body: &Body, at: u64) -> Result<Vec<(u8, Vec<u8>)>, FormatError> {
    let wrong = |field, expected: &str, found: String| Err(FormatError::new(at, field, expected, found));
    match body.encoding {
        PLANES_ZERO => return Ok(Vec::new()),
        PLANES_LIST => {}
        other => return wrong("plane encoding", "1 or 2", other.to_string()),
    }
    let mut planes: Vec<(u8, Vec<u8>)> = Vec::new();
    let mut kept = Vec::new();
    let mut list = body.bytes.chunks_exact(PLANE_ENTRY_BYTES);
    let mut next = 0;
    loop {
        next += PLANE_ENTRY_BYTES;
        let Some(e) = list.next() else { return wrong("plane list", "an end", "none".to_owned()) };
        if e == [0xFF; PLANE_ENTRY_BYTES] {
            break;
        }
        let Some(kind) = body.section.plane(e[0]) else {
            return wrong("plane index", "a plane of its section", e[0].to_string());
        };
        if planes.last().is_some_and(|p| p.0 >= e[0]) || e[2..4] != [0, 0] {
            return wrong("plane list", "planes in order, each once", e[0].to_string());
        }
        let width = shape.width(kind.lattice());
        let count = width * width;
        match e[1] {
            PLANE_UNIFORM => planes.push((e[0], e[4..4 + kind.bytes()].repeat(count))),
            PLANE_VALUES => {
                kept.push((planes.len(), count * kind.bytes()));
                planes.push((e[0], Vec::new()));
            }
            other => return wrong("plane mode", "1 or 2", other.to_string()),
        }
    }
    for (plane, bytes) in kept {
        let Some(values) = body.bytes.get(next..next + bytes) else {
            return wrong("plane values", "more bytes", "the body's end".to_owned());
        };
        planes[plane].1 = values.to_vec();
        next += bytes;
    }
    if next != body.bytes.len() {
        return wrong("plane values", "the body's end", format!("{} more bytes", body.bytes.len() - next));
    }
    for (index, plane) in &planes {
        let kind = body.section.plane(*index).map(|k| (k.lattice(), k.bytes()));
        if let Some((lattice, bytes)) = kind {
            check_beyond(shape, lattice, bytes, plane, at)?;
        }
    }
    Ok(planes)
}

/// Refuses values beyond the map.
fn check_beyond(
    shape: &BlockShape,
    lattice: Lattice,
    bytes: usize,
    plane: &[u8],
    at: u64,
) -> Result<(), FormatError> {
    let ([w, h], n) = (shape.inside(lattice), shape.width(lattice));
    let stray = plane.chunks_exact(n * bytes).enumerate().position(|(z, row)| {
        let from = if z < h { w * bytes } else { 0 };
        row[from..].iter().any(|&b| b != 0)
    });
    match stray {
        Some(z) => {
            Err(FormatError::new(at, "plane values", "zeros beyond the map", format!("others in row {z}")))
        }
        None => Ok(()),
    }
}

/// Texels or normals of a whole block, `bytes` bytes each.
///
/// # Errors
/// An unknown encoding.
pub fn decode_each(shape: &BlockShape, body: &Body, bytes: usize, at: u64) -> Result<Vec<u8>, FormatError> {
    let lattice = if body.section == Section::Normal { Lattice::Samples } else { Lattice::Paint };
    let width = shape.width(lattice);
    match body.encoding {
        EACH => Ok(body.bytes.clone()),
        UNIFORM => Ok(body.bytes[..bytes].repeat(width * width)),
        other => Err(FormatError::new(at, "texel encoding", "1 or 2", other)),
    }
}

/// HD texels of a block of so many layers.
///
/// # Errors
/// An unknown encoding, or a layer that is not there.
pub fn decode_hd(
    shape: &BlockShape,
    body: &Body,
    layers: usize,
    at: u64,
) -> Result<Vec<HdTexel>, FormatError> {
    let bytes = decode_each(shape, body, 3, at)?;
    let (texels, _) = bytes.as_chunks::<3>();
    if let Some(t) = texels.iter().find(|t| usize::from(t[0].max(t[1])) >= layers) {
        let found = format!("{} and {}", t[0], t[1]);
        return Err(FormatError::new(at, "weight texel", format!("layers below {layers}"), found));
    }
    Ok(texels.iter().map(|t| HdTexel { id1: t[0], id2: t[1], ratio: t[2] }).collect())
}
