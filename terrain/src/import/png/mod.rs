//! PNG as heights: grey of 1, 2, 4, 8 or 16 bits, plain or interlaced, with or without alpha; RGB that is grey in truth.
//!
//! Owns the levels and their voids (alpha 0, or the transparent colour of tRNS). Never applies gamma or a colour
//! profile, and scales nothing: levels run from 0 to 2^depth − 1. RGB of unequal channels is refused unless
//! [`Ask::channel`] names one of `r`, `g`, `b`, `a` (or `grey`); alpha makes no voids then.

pub(super) mod picture;
#[cfg(test)]
mod tests;

use super::source::{Ask, Input, Meaning, Place, Samples, Source, Voids};
use super::{ImportError, Registration, SourceFormat, rows};
use picture::Picture;

/// Reads the levels.
///
/// # Errors
/// A damaged file, a palette, colours that are no grey, or a size that the file cannot hold.
pub(crate) fn read(input: &mut Input, ask: &Ask) -> Result<Source, ImportError> {
    let (mut picture, levels) =
        picture::decode(input, |p| Levels::new(p, ask.channel.as_deref()), Levels::row)?;
    levels.check(&picture)?;
    let mut notes = std::mem::take(&mut picture.notes);
    if picture.depth <= 8 {
        notes.push(format!(
            "{}-bit values: at most {} different heights, so slopes will be terraced",
            picture.depth,
            1u32 << picture.depth
        ));
    }
    if levels.grey_of_rgb {
        notes.push("RGB with equal channels taken as grey".to_owned());
    }
    if let Some(channel) = &ask.channel {
        notes.push(format!("channel {channel} taken"));
    }
    let (mut samples, mut voids) = (levels.samples, levels.voids);
    if ask.south_up {
        rows::turn(&mut samples, &mut voids, picture.size[0]);
    }
    Ok(Source {
        size: picture.size,
        samples,
        voids,
        format: SourceFormat::Png,
        nodata: None,
        meaning: Meaning::Levels { max: (1u32 << picture.depth) - 1 },
        place: Place::None,
        registration: Registration::Point,
        hole_cells: Vec::new(),
        layers: Vec::new(),
        notes,
    })
}

/// The levels while they are read.
struct Levels {
    samples: Samples,
    voids: Voids,
    /// Which value of a pixel is the level.
    channel: usize,
    /// It was named, so nothing else of the pixel counts.
    named: bool,
    /// All three colours have to be equal.
    grey_of_rgb: bool,
    unequal: Unequal,
}

/// Pixels of an RGB picture that are no grey.
#[derive(Default)]
struct Unequal {
    count: u64,
    largest: u16,
    first: Option<[usize; 2]>,
}

impl Levels {
    fn new(picture: &Picture, asked: Option<&str>) -> Result<Self, ImportError> {
        let n = picture.size[0] as usize * picture.size[1] as usize;
        let rgb = picture.channels >= 3;
        let channel = match asked.map(str::to_ascii_lowercase).as_deref() {
            None => 0,
            Some("r") if rgb => 0,
            Some("g") if rgb => 1,
            Some("b") if rgb => 2,
            Some("grey" | "gray" | "y") if !rgb => 0,
            Some("a") if picture.has_alpha() => picture.channels - 1,
            Some(other) => {
                let there = ["grey", "grey and a", "r, g and b", "r, g, b and a"][picture.channels - 1];
                return Err(ImportError::usage(format!(
                    "the image has no channel {other:?} but {there}: pass another --channel"
                )));
            }
        };
        // Grows with what is really there.
        let samples = if picture.depth == 16 { Samples::U16(Vec::new()) } else { Samples::U8(Vec::new()) };
        Ok(Self {
            samples,
            voids: Voids::none(n),
            channel,
            named: asked.is_some(),
            grey_of_rgb: rgb && asked.is_none(),
            unequal: Unequal::default(),
        })
    }

    fn row(picture: &Picture, levels: &mut Self, z: usize, values: &[u16]) {
        let pixels = values.chunks_exact(picture.channels);
        match &mut levels.samples {
            Samples::U16(out) => out.extend(pixels.clone().map(|p| p[levels.channel])),
            // A depth of 8 at most.
            Samples::U8(out) => out.extend(pixels.clone().map(|p| p[levels.channel] as u8)),
            _ => {}
        }
        if levels.named {
            return;
        }
        for (x, pixel) in pixels.enumerate() {
            if !picture.seen(pixel) {
                levels.voids.set(z * picture.size[0] as usize + x);
            } else if levels.grey_of_rgb && (pixel[0] != pixel[1] || pixel[0] != pixel[2]) {
                let [r, g, b] = [pixel[0], pixel[1], pixel[2]];
                let unequal = &mut levels.unequal;
                unequal.count += 1;
                unequal.largest = unequal.largest.max(r.max(g).max(b) - r.min(g).min(b));
                unequal.first = unequal.first.or(Some([x, z]));
            }
        }
    }

    fn check(&self, picture: &Picture) -> Result<(), ImportError> {
        let Some([x, z]) = self.unequal.first else { return Ok(()) };
        let coded = if picture.depth == 8 {
            ", or pass --format terrain-rgb or terrarium where it holds coded heights"
        } else {
            ""
        };
        Err(ImportError::source(format!(
            "expected grey, found RGB whose channels differ in {} of {} samples, by up to {} (first at ({x}, {z})): convert it to grey, or pass --channel r, g or b to take one{coded}",
            self.unequal.count,
            self.samples.len(),
            self.unequal.largest
        )))
    }
}
