//! `highground render`: pictures of a terrain file, with a scale bar and a legend.
//!
//! Owns what is shown and how it is asked for; the surface itself, its rules and its numbers are the terrain's. Reads a
//! row of blocks at a time, so a map larger than memory can be drawn.

mod blocks;
mod font;
mod frame;
mod lod;
mod nodes;
mod page;
mod pages;
mod paint;
mod scan;

use crate::args::DeviceArg;
use crate::select::Views;
use crate::{Failure, files, progress, stdout, summary};
use clap::ValueEnum;
use frame::Frame;
use highground_terrain::content::PlaneKind;
use highground_terrain::format::payload::Section;
use highground_terrain::store::{BlockSource, PayloadFile, write_file};
use nodes::Sheet;
use page::{Entry, Page};
use paint::Palette;
use serde::Serialize;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Big maps are reduced: a pixel shows the cell at its centre and the sample nearest to it. Holes in visibility and
collision are never lost that way: a pixel shows a hole when any of its cells has one.

Examples:
  highground render jacksboro.terrain --what hillshade --out jacksboro.png
  highground render jacksboro.terrain --what min-max --level 2 --out ranges.png
  highground render jacksboro.terrain --what lod --view 500,500 --view 4000,800 --out selected.png
  highground render jacksboro.terrain --what pages --mip 2 --page-lines --out pages.png";

/// Arguments of `highground render`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The terrain file; it is read a row of blocks at a time
    file: PathBuf,
    /// What is shown
    #[arg(long, value_enum)]
    what: What,
    /// The picture to write, a PNG
    #[arg(long, value_name = "FILE.png")]
    out: PathBuf,
    /// The level of the quadtree, 0 the finest; for min-max (0 unless given) and lod (1)
    #[arg(long, value_name = "L")]
    level: Option<u32>,
    /// Which user channel, or which density (0-31 foliage, 32-63 objects); the first there is unless given
    #[arg(long, value_name = "N")]
    plane: Option<u8>,
    #[command(flatten)]
    from: Views<false>,
    /// The most pixels a side of the map; title and legend come on top
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(16..=4096))]
    max_side: u32,
    /// The mip of baked pages; the finest that fits unless given
    #[arg(long, value_name = "M")]
    mip: Option<u32>,
    /// What of baked pages is shown
    #[arg(long, value_enum, default_value = "lit")]
    channel: pages::Channel,
    /// Draw the edges of pages
    #[arg(long)]
    page_lines: bool,
    /// A folder with the images that layers name; layers without get a recipe of their name, or their tint
    #[arg(long, value_name = "FOLDER")]
    textures: Option<PathBuf>,
    /// Where pages are baked; never changes them
    #[arg(long, value_enum, default_value = "cpu")]
    device: DeviceArg,
    /// Print one JSON object: where the map is on the picture, its scale, its legend
    #[arg(long)]
    json: bool,
}

/// What a picture shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum What {
    /// The surface lit from the north-west
    Hillshade,
    /// Colours by height, lit
    Height,
    /// Base colours of the layers (their tints, else a palette) blended by the full weights
    Layers,
    /// An artificial colour for the strongest layer of each texel
    LayerIds,
    /// Holes, half holes and the valid extent against the surface
    Visibility,
    /// The state of every block; each is read, so damaged ones are found
    States,
    /// Lowest and highest sample of every node of a level
    MinMax,
    /// Normals of the samples: red east, green south, blue up
    Normals,
    /// Physical materials, and what is removed from collision
    Collision,
    /// Depth of the water above the bed
    Water,
    /// A user channel
    User,
    /// A painted density of foliage or objects
    Density,
    /// With --view the nodes that the views draw; without, the nodes of a level and which of its coarse triangles are skipped
    Lod,
    /// The surface that a --view draws, as the receipt of its frame has it
    Receipt,
    /// Baked pages of the surface, each in its place
    Pages,
    /// The macro texture: one page of everything
    Macro,
}

impl What {
    /// Whether holes and the extent are part of it. The others show data, which is there in holes too.
    fn is_surface(self) -> bool {
        matches!(self, What::Hillshade | What::Height | What::Visibility | What::Collision | What::Lod)
    }

    /// Whether no hole may be lost when the map is reduced.
    fn shows_every_hole(self) -> bool {
        matches!(self, What::Visibility | What::Collision | What::Lod)
    }

    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |v| v.get_name().to_owned())
    }
}

/// What `render --json` says.
#[derive(Serialize)]
struct Rendered<'a> {
    what: String,
    out: String,
    /// Width and height of the picture.
    size: [u32; 2],
    /// The map's place on it: x, y, width, height.
    map: [u32; 4],
    metres_per_pixel: f64,
    level: Option<u32>,
    plane: Option<String>,
    failed_blocks: u64,
    legend: &'a [Entry],
}

/// A picture without its place on the disk.
struct Picture {
    page: Page,
    legend: Vec<Entry>,
    level: Option<u32>,
    plane: Option<PlaneKind>,
    failed: (u64, Option<String>),
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    files::refuse_overwriting(&args.out, &[&args.file])?;
    if !args.out.extension().is_some_and(|e| e.eq_ignore_ascii_case("png")) {
        return Err(Failure::file(&args.out, "a picture is a PNG: pass an --out that ends in .png"));
    }
    let file = summary::open(&args.file)?;
    let frame = match args.what {
        What::States => nodes::whole_blocks(&file, args.max_side),
        What::Pages | What::Macro => pages::frame(args, &file)?,
        _ => Frame::of(file.config(), args.max_side),
    };
    let picture = draw(args, &file, &frame).map_err(|e| e.in_file(&args.file))?;
    let mut bytes = Vec::new();
    picture.page.canvas.encode(&mut bytes).map_err(|e| Failure::file(&args.out, e))?;
    write_file(&args.out, &bytes).map_err(|e| Failure::file(&args.out, format!("cannot be written: {e}")))?;
    if let (count, Some(first)) = &picture.failed {
        let rest = if *count > 1 { format!(", and {} more", count - 1) } else { String::new() };
        crate::say(&format!("{}: {first}{rest}; drawn as unreadable", args.file.display()));
    }
    if !args.json {
        let [w, h] = picture.page.size;
        return stdout::print(&format!("{}: {}, {w} x {h} pixels\n", args.out.display(), args.what.name()));
    }
    stdout::print_json(&Rendered {
        what: args.what.name(),
        out: args.out.display().to_string(),
        size: picture.page.size,
        map: picture.page.map,
        metres_per_pixel: frame.metres_per_pixel,
        level: picture.level,
        plane: picture.plane.map(|p| paint::plane_name(&file.info().catalogue, p)),
        failed_blocks: picture.failed.0,
        legend: &picture.legend,
    })
}

fn draw(args: &Args, file: &PayloadFile, frame: &Frame) -> Result<Picture, Failure> {
    let seen = matches!(args.what, What::Lod | What::Receipt);
    if !args.from.views.is_empty() && !seen {
        return Err(Failure::input("--view is for --what lod and --what receipt"));
    }
    if args.level.is_some() && !args.from.views.is_empty() {
        return Err(Failure::input("--level shows a whole level: leave out --view"));
    }
    if args.level.is_some() && !matches!(args.what, What::MinMax | What::Lod) {
        return Err(Failure::input("--level is for --what min-max and --what lod"));
    }
    let pages = matches!(args.what, What::Pages | What::Macro);
    if args.mip.is_some() && args.what != What::Pages {
        return Err(Failure::input("--mip is for --what pages"));
    }
    if !pages && (args.page_lines || args.textures.is_some() || args.channel != pages::Channel::Lit) {
        return Err(Failure::input(
            "--channel, --textures and --page-lines are for --what pages and --what macro",
        ));
    }
    let plane = plane(args, file)?;
    let rows = u64::from(file.config().blocks(file.block_side())[1]);
    let bar = progress::rows(rows, "reading");
    let through = |n: u64| bar.set_position(n);
    let picture = match args.what {
        What::States => states(args, file, frame, &through),
        What::Pages | What::Macro => pages::picture(args, file, frame, &through)?,
        What::MinMax => ranges(args, file, frame)?,
        What::Lod if !args.from.views.is_empty() => lod::views(args, file, frame)?,
        What::Receipt => lod::receipt(args, file, frame)?,
        What::Lod => match nodes::level(file, args.level, 1)? {
            0 => scanned(args, file, frame, (None, Some(0)), &through),
            level => skips(args, file, frame, level)?,
        },
        _ => scanned(args, file, frame, (plane, None), &through),
    };
    bar.finish_and_clear();
    Ok(picture)
}

/// The plane that is shown, where it takes one; refuses what the file has not.
fn plane(args: &Args, file: &PayloadFile) -> Result<Option<PlaneKind>, Failure> {
    let info = file.info();
    let there = summary::planes(info);
    let section = match args.what {
        What::User => Section::User,
        What::Density => Section::Density,
        What::Layers | What::LayerIds | What::Pages | What::Macro if info.catalogue.layers.is_empty() => {
            return Err(Failure::input("has no layers to show"));
        }
        What::Water if !there.contains(&PlaneKind::WaterDepth) => {
            return Err(Failure::input("has no water to show"));
        }
        _ if args.plane.is_some() => {
            return Err(Failure::input("--plane is for --what user and --what density"));
        }
        _ => return Ok(None),
    };
    let of = |k: &PlaneKind| Some(Section::of_plane(*k)).filter(|p| p.0 == section).map(|p| p.1);
    let indices: Vec<u8> = there.iter().filter_map(of).collect();
    let Some(&first) = indices.first() else {
        return Err(Failure::input(format!("has no {} planes to show", args.what.name())));
    };
    let index = args.plane.unwrap_or(first);
    if !indices.contains(&index) {
        return Err(Failure::input(format!(
            "--plane: its {} planes are {indices:?}, not {index}",
            args.what.name()
        )));
    }
    Ok(section.plane(index))
}

fn title(args: &Args, more: &str) -> String {
    let name = args.file.file_name().map(|n| n.to_string_lossy().into_owned());
    format!("{}{more}: {}", args.what.name(), name.unwrap_or_default())
}

fn scanned(
    args: &Args,
    file: &PayloadFile,
    frame: &Frame,
    (plane, level): (Option<PlaneKind>, Option<u32>),
    through: &dyn Fn(u64),
) -> Picture {
    let scan = scan::scan(file, frame, args.what, plane, through);
    let palette = Palette::of(args.what, file.info(), plane, &scan);
    let legend = palette.legend();
    let more = level.map_or_else(String::new, |l| format!(", level {l}"));
    let mut page = page::page(frame, &title(args, &more), &[], &legend, None);
    let [x, y, w, _] = page.map;
    for (i, p) in scan.pixels.iter().enumerate() {
        let (dx, dy) = (i as u32 % w, i as u32 / w);
        page.canvas.set(i64::from(x + dx), i64::from(y + dy), palette.colour(p));
    }
    if let Some(level) = level {
        nodes::draw_grid(&mut sheet(&mut page, frame), level);
    }
    Picture { page, legend, level, plane, failed: scan.failed }
}

fn sheet<'a>(page: &'a mut Page, frame: &'a Frame) -> Sheet<'a> {
    let [x, y, ..] = page.map.map(i64::from);
    Sheet { canvas: &mut page.canvas, frame, x, y }
}

fn states(args: &Args, file: &PayloadFile, frame: &Frame, through: &dyn Fn(u64)) -> Picture {
    let states = nodes::read_states(file, through);
    let legend = nodes::state_legend(&states);
    let side = file.block_side().samples();
    let notes = [
        format!("{} blocks of {side} samples a side, each read", states.len()),
        "whole blocks: the last ones reach beyond the map".to_owned(),
    ];
    let mut page = page::page(frame, &title(args, ""), &notes, &legend, Some(nodes::OUT_OF_RANGE));
    nodes::draw_states(&mut sheet(&mut page, frame), file, &states);
    let failed = states.iter().filter(|s| **s == highground_terrain::state::DataState::Failed).count();
    Picture { page, legend, level: None, plane: None, failed: (failed as u64, None) }
}

fn ranges(args: &Args, file: &PayloadFile, frame: &Frame) -> Result<Picture, Failure> {
    let level = nodes::level(file, args.level, 0)?;
    let all = file.min_max().map_err(Failure::input)?;
    let Some(ranges) = all.get(level as usize) else {
        return Err(Failure::input("is of version 1, which has no ranges of nodes: make it again"));
    };
    let legend = nodes::range_legend(file, ranges);
    let notes = [
        format!("{} nodes of {} cells a side", ranges.len(), 32u64 << level),
        "highest sample upper left, lowest lower right".to_owned(),
    ];
    let mut page = page::page(frame, &title(args, &format!(", level {level}")), &notes, &legend, None);
    nodes::draw_ranges(&mut sheet(&mut page, frame), file, level, ranges);
    Ok(Picture { page, legend, level: Some(level), plane: None, failed: (0, None) })
}

fn skips(args: &Args, file: &PayloadFile, frame: &Frame, level: u32) -> Result<Picture, Failure> {
    if file.info().version == 1 {
        return Err(Failure::input("is of version 1, which has no skip masks: make it again"));
    }
    let skips = file.skip_nodes().map_err(Failure::input)?;
    let legend = nodes::skip_legend();
    let own = skips.keys().filter(|k| u32::from(k.0) == level).count();
    let notes = [format!("{own} nodes skip something, cells of {0} x {0}", 1u64 << level)];
    let mut page = page::page(frame, &title(args, &format!(", level {level}")), &notes, &legend, None);
    nodes::draw_skips(&mut sheet(&mut page, frame), file, level, &skips);
    Ok(Picture { page, legend, level: Some(level), plane: None, failed: (0, None) })
}
