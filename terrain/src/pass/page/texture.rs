//! The textures of layers as devices read them: two buffers of words that stay there.

use super::refused;
use crate::compute::batch::MOST_WORDS;
use crate::compute::{ComputeError, Shared};
use crate::kernel::page::tables;

/// The most texels a side.
const MAX_SIDE: u32 = 1 << 13;

/// A texel of a layer, all of its channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Texel {
    /// sRGB.
    pub albedo: [u8; 3],
    /// For blending.
    pub height: u8,
    /// Tangent normal, 127.5 · (n + 1), Y up the image.
    pub normal: [u8; 3],
    /// Linear.
    pub roughness: u8,
    /// Linear.
    pub occlusion: u8,
    /// Linear.
    pub metallic: u8,
}

/// A layer's texels by mip, column and row.
type Texels<'a> = &'a dyn Fn(u32, u32, u32) -> Texel;

/// Where a layer's mip stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) colour: u32,
    pub(super) surface: u32,
    pub(super) metal: u32,
}

/// The textures of all layers, all of one size, with all mips. Clones share them.
#[derive(Clone, Debug)]
pub struct Textures {
    side: u32,
    pub(super) colours: Shared,
    pub(super) surfaces: Shared,
    /// By layer: its mips, and the metallic that is the same everywhere.
    slots: Vec<(Vec<Slot>, u32)>,
}

impl Textures {
    /// Packs textures of `side` texels, a power of two up to 8,192; each layer gives its texels by mip, column and row.
    ///
    /// # Errors
    /// Another size, no or too many layers, or more texels than a device's buffer holds.
    pub fn new(side: u32, layers: &[Texels<'_>]) -> Result<Self, ComputeError> {
        if !side.is_power_of_two() || side > MAX_SIDE {
            return refused(format!(
                "expected textures of a power of two up to {MAX_SIDE} texels a side, found {side}"
            ));
        }
        if layers.is_empty() || layers.len() > 32 {
            return refused(format!("expected 1 to 32 layers, found {}", layers.len()));
        }
        let each: usize = (0..=side.ilog2()).map(|mip| area(side, mip)).sum();
        let mut colours = tables();
        // Metallic takes a quarter more, where there is any.
        let most = colours.len().max(layers.len() * each / 4) + layers.len() * each;
        if most > MOST_WORDS {
            let found = format!("{} of {side} x {side}", layers.len());
            return refused(format!(
                "expected textures of at most {MOST_WORDS} words, found {found}: take a smaller size"
            ));
        }
        let mut surfaces = Vec::new();
        let slots = layers.iter().map(|texels| pack(side, *texels, &mut colours, &mut surfaces)).collect();
        Ok(Self { side, colours: Shared::new(colours), surfaces: Shared::new(surfaces), slots })
    }

    /// Texels a side of mip 0.
    pub fn side(&self) -> u32 {
        self.side
    }

    /// How many layers.
    pub fn layers(&self) -> usize {
        self.slots.len()
    }

    /// Bytes of both buffers.
    pub fn bytes(&self) -> usize {
        4 * (self.colours.words().len() + self.surfaces.words().len())
    }

    pub(super) fn slot(&self, layer: usize, mip: u32) -> Slot {
        self.slots[layer].0[mip as usize]
    }

    pub(super) fn metal(&self, layer: usize) -> u32 {
        self.slots[layer].1
    }
}

fn area(side: u32, mip: u32) -> usize {
    (side >> mip) as usize * (side >> mip) as usize
}

fn pack(side: u32, texels: Texels<'_>, colours: &mut Vec<u32>, surfaces: &mut Vec<u32>) -> (Vec<Slot>, u32) {
    let first = texels(0, 0, 0).metallic;
    let (mut slots, mut metals, mut varies) = (Vec::new(), Vec::new(), false);
    for mip in 0..=side.ilog2() {
        let own = side >> mip;
        slots.push(Slot {
            colour: colours.len() as u32,
            surface: surfaces.len() as u32,
            metal: metals.len() as u32,
        });
        for i in 0..own * own {
            let t = texels(mip, i % own, i / own);
            colours.push(u32::from_le_bytes([t.albedo[0], t.albedo[1], t.albedo[2], t.height]));
            let [du, dv] = slopes(t.normal);
            surfaces.push(u32::from_le_bytes([du, dv, t.roughness, t.occlusion]));
            metals.push(t.metallic);
            varies |= t.metallic != first;
        }
        // Mips begin at whole words.
        metals.resize(metals.len().next_multiple_of(4), 0);
    }
    let at = surfaces.len() as u32;
    for slot in &mut slots {
        slot.metal = if varies { at + slot.metal / 4 } else { u32::MAX };
    }
    if varies {
        surfaces.extend(metals.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)));
    }
    (slots, u32::from(first))
}

/// The slopes of the surface along u and v (down the image) that a normal stands on: 128 + 64 · slope, half up, within a byte.
fn slopes([x, y, z]: [u8; 3]) -> [u8; 2] {
    let [x, y, z] = [x, y, z].map(|v| 2 * i32::from(v) - 255);
    // A normal that points down is as steep as can be.
    let z = z.max(1);
    let code = |slope: i32| (128 + (128 * slope + z).div_euclid(2 * z)).clamp(0, 255) as u8;
    // 127 and 128 both mean level.
    let level = |v: i32| if v.abs() == 1 { 0 } else { v };
    [code(-level(x)), code(level(y))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_are_what_normals_stand_on() {
        assert_eq!(slopes([128, 128, 255]), [128, 128]);
        assert_eq!(slopes([127, 127, 255]), [128, 128]);
        // n = (−0.7098, 0, 0.7098): the surface rises along u by one in one.
        assert_eq!(slopes([37, 128, 218]), [192, 128]);
        // It leans up the image, so it rises down the image: y above 0, dh/dv = y / z.
        assert_eq!(slopes([128, 218, 218]), [128, 192]);
        assert_eq!(slopes([255, 0, 128]), [0, 0]);
        assert_eq!(slopes([0, 255, 0]), [255, 255]);
    }

    #[test]
    fn metallic_takes_room_only_where_it_varies() {
        let plain = Texel {
            albedo: [1, 2, 3],
            height: 4,
            normal: [128, 128, 255],
            roughness: 5,
            occlusion: 6,
            metallic: 7,
        };
        let one = |_: u32, _: u32, _: u32| plain;
        let other = |m: u32, x: u32, _: u32| Texel { metallic: (10 * m + x) as u8, ..plain };
        let t = Textures::new(4, &[&one, &other]).unwrap();
        assert_eq!((t.slot(0, 1).metal, t.metal(0), t.layers(), t.side()), (u32::MAX, 7, 2, 4));
        // 21 texels a layer, then 4, 1 and 1 words of metallic.
        assert_eq!(t.surfaces.words().len(), 21 * 2 + 6);
        assert_eq!(t.surfaces.words()[t.slot(1, 1).metal as usize], 0x0B0A_0B0A);
        assert_eq!(t.surfaces.words()[0], 0x0605_8080);
        assert_eq!(t.colours.words()[t.slot(0, 0).colour as usize], 0x0403_0201);
    }

    #[test]
    fn textures_that_no_device_holds_are_refused() {
        let texel = |_: u32, _: u32, _: u32| -> Texel { panic!("refused before it is looked at") };
        for (side, layers) in [(3, 1), (0, 1), (1 << 14, 1), (16, 0), (4096, 2)] {
            let layers: Vec<Texels<'_>> = (0..layers).map(|_| &texel as Texels<'_>).collect();
            let found = Textures::new(side, &layers).unwrap_err();
            assert!(matches!(found, ComputeError::Refused { pass: "page", .. }), "{found}");
        }
    }
}
