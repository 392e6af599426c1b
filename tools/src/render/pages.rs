//! Baked pages of a terrain as a picture: each in its place, borders cut off.
//!
//! Owns the picture alone: pages are the terrain's, lit here only to be looked at.

use super::frame::{Frame, Scale};
use super::page::Entry;
use super::{Args, Picture, What, page, title};
use crate::canvas::Rgb;
use crate::{Failure, device, textures, world};
use clap::ValueEnum;
use highground_terrain::coord::PagePos;
use highground_terrain::height::VOID;
use highground_terrain::kernel::normal;
use highground_terrain::kernel::page::TEXEL_WORDS;
use highground_terrain::page::{Heights, Pages, pack};
use highground_terrain::pass::page::{Baker, Look};
use highground_terrain::store::{BlockSource, PayloadFile};

/// Bytes that the heights of a map may have.
const HEIGHT_BYTES: u64 = 4 << 30;

/// The most pixels a side of a picture of a mip that was asked for.
const MOST_PIXELS: u32 = 8192;

const EDGE: Rgb = [250, 220, 90];

/// What of a page is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Channel {
    /// The albedo, lit from the north-west
    Lit,
    /// Colour in sRGB
    Albedo,
    /// The normal: red east, green south, blue up
    Normal,
    /// Roughness, occlusion and metallic as red, green and blue
    Surface,
    /// The height, the lowest black
    Height,
}

/// log₂ of the finest texels a cell side.
fn texels_log2() -> u32 {
    Look::default().texels_log2
}

/// The mip that is shown: the one asked for, else the finest that fits.
fn mip(args: &Args, file: &PayloadFile) -> u32 {
    let longest = u64::from(file.config().samples.iter().max().map_or(1, |n| n - 1)) << texels_log2();
    let fits = |mip: &u32| longest.div_ceil(1 << mip) <= u64::from(args.max_side);
    args.mip.unwrap_or_else(|| (0..24).find(fits).unwrap_or(24))
}

/// A pixel a texel.
pub(super) fn frame(args: &Args, file: &PayloadFile) -> Result<Frame, Failure> {
    let (mip, t) = (mip(args, file), texels_log2());
    if mip > 24 {
        return Err(Failure::input(format!("--mip: expected 0 to 24, found {mip}")));
    }
    let scale = if mip <= t { Scale::Pixels(1 << (t - mip)) } else { Scale::Cells(1 << (mip - t)) };
    let cells = file.config().samples.map(|n| n - 1);
    let pixels = u64::from(cells[0].max(cells[1])) << t >> mip;
    if pixels > u64::from(MOST_PIXELS) {
        return Err(Failure::input(format!(
            "--mip {mip}: its picture would have {pixels} pixels a side, more than {MOST_PIXELS}: take a coarser mip"
        )));
    }
    Ok(Frame::of_scale(cells, file.config().spacing_m(), scale))
}

pub(super) fn picture(
    args: &Args,
    file: &PayloadFile,
    frame: &Frame,
    through: &dyn Fn(u64),
) -> Result<Picture, Failure> {
    let mip = mip(args, file);
    let one = args.what == What::Macro;
    let side = if one { frame.width().max(frame.height()).next_power_of_two().clamp(16, 2048) } else { 128 };
    let look = Look { side, border: if one { 0 } else { 4 }, ..Look::default() };
    let compute = device::open(args.device)?;
    let made = textures::of_catalogue(&file.info().catalogue, args.textures.as_deref())?;
    let mut catalogue = file.info().catalogue.clone();
    catalogue.layers.clone_from(&made.layers);
    let baker =
        Baker::new(file.config(), &look, &catalogue, pack(&made.arrays).map_err(Failure::input)?, false)
            .map_err(Failure::input)?;
    let weights = world::weight_chain(file, &args.file, &*compute)?;
    let heights = Heights::read(file, HEIGHT_BYTES).map_err(Failure::input)?;
    let mut pages = Pages::new(baker, &weights, &heights).map_err(Failure::input)?;
    let [across, down] = pages.baker().pages(mip);
    let (stored, border) = (pages.baker().stored_side() as usize, look.border as usize);
    let notes = [format!("mip {mip}: {across} x {down} pages of {side} x {side} texels, a pixel a texel")];
    let legend: Vec<Entry> = made
        .layers
        .iter()
        .enumerate()
        .map(|(id, layer)| Entry::swatch(made.colour(id as u32, layer), &layer.name))
        .collect();
    let mut page = page::page(frame, &title(args, &format!(", mip {mip}")), &notes, &legend, None);
    let [x0, y0, w, h] = page.map.map(|v| v as usize);
    let (low, high) = file.height_range().unwrap_or((0, 0));
    let range = (64.0 * f64::from(low), 64.0 * f64::from((high - low).max(1)));
    for z in 0..down {
        let row: Vec<PagePos> = (0..across).map(|x| PagePos::new(mip, x as i32, z as i32)).collect();
        let canvas = &mut page.canvas;
        let mut each = |pos: PagePos, words: &[u32]| {
            let (px, pz) = (pos.x as usize * side as usize, pos.z as usize * side as usize);
            for j in 0..(side as usize).min(h.saturating_sub(pz)) {
                for i in 0..(side as usize).min(w.saturating_sub(px)) {
                    let at = ((j + border) * stored + i + border) * TEXEL_WORDS;
                    let mut colour = colour(args.channel, &words[at..at + TEXEL_WORDS], range);
                    if args.page_lines && (i == 0 || j == 0) {
                        colour = EDGE;
                    }
                    canvas.set((x0 + px + i) as i64, (y0 + pz + j) as i64, colour);
                }
            }
        };
        pages.bake(&*compute, &row, &mut each).map_err(Failure::input)?;
        through(u64::from(z));
    }
    Ok(Picture { page, legend, level: Some(mip), plane: None, failed: (0, None) })
}

/// A texel as a colour; `range` is the lowest height and the span of heights, in 1/64 quantum.
fn colour(channel: Channel, texel: &[u32], range: (f64, f64)) -> Rgb {
    let byte = |word: usize, n: u32| (texel[word] >> (8 * n)) as u8;
    match channel {
        Channel::Albedo => [byte(0, 0), byte(0, 1), byte(0, 2)],
        Channel::Surface => [byte(0, 3), byte(1, 2), byte(1, 3)],
        Channel::Normal => {
            let [_, up, _] = normal::decode([byte(1, 0), byte(1, 1)]);
            [byte(1, 0), byte(1, 1), (128.0 + 127.0 * up) as u8]
        }
        Channel::Height => match texel[2] as i32 {
            VOID => [160, 60, 60],
            q => [((f64::from(q) - range.0) / range.1 * 255.0).clamp(0.0, 255.0) as u8; 3],
        },
        Channel::Lit => {
            let [x, y, z] = normal::decode([byte(1, 0), byte(1, 1)]);
            // Sun from the north-west, 45° high, and the sky.
            let sun = (-0.5 * x + 0.707 * y - 0.5 * z).max(0.0);
            let occlusion = f64::from(byte(1, 2)) / 255.0;
            // The square root stands for the code's curve.
            let light = (0.45 * occlusion * (0.5 + 0.5 * y) + 1.15 * sun).sqrt() * 1.08;
            [0, 1, 2].map(|n| (f64::from(byte(0, n)) * light).min(255.0) as u8)
        }
    }
}
