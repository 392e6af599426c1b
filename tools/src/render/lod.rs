//! Pictures of what views draw: the selected nodes, and the drawn surface as a frame's receipt has it.

use super::nodes::Sheet;
use super::page::{self, Entry};
use super::paint::{height_ramp, hypsometric, id_colour};
use super::{Args, Frame, Picture, sheet, title};
use crate::Failure;
use crate::canvas::Rgb;
use crate::map::{OUTSIDE, light, lit};
use highground_terrain::compute::CpuCompute;
use highground_terrain::kernel::pyramid::NODE_CELLS;
use highground_terrain::lod::{Drawable, DrawnAnswer, Question, Receipt, ReceiptError, nodes_of_file};
use highground_terrain::pass::select::{Node, Selected, Selector, View};
use highground_terrain::store::{BlockSource, PayloadFile};
use highground_terrain::surface::Ground;

const HOLE: Rgb = [30, 30, 34];
const UNDRAWN: Rgb = [128, 128, 134];
const EDGE: Rgb = [20, 20, 24];
const WINDOW: Rgb = [250, 250, 250];
const EYE: Rgb = [214, 40, 40];

/// What the views draw.
fn select(args: &Args, file: &PayloadFile) -> Result<(Selector, Vec<View>, Selected), Failure> {
    let places = args.from.places(file)?;
    let nodes = nodes_of_file(file).map_err(Failure::input)?;
    let mut selector = Selector::new(nodes, args.from.ranges(file)?).map_err(Failure::input)?;
    let mut selected = Selected::default();
    selector.select(&CpuCompute::new(), &places, &mut selected).map_err(Failure::input)?;
    Ok((selector, places, selected))
}

/// The nodes that views draw. Where several draw, the finest is on top.
pub(super) fn views(args: &Args, file: &PayloadFile, frame: &Frame) -> Result<Picture, Failure> {
    let (selector, places, selected) = select(args, file)?;
    let levels = selected.all().iter().map(|n| n.level).max().unwrap_or(0);
    let mut legend: Vec<Entry> = (0..=levels)
        .map(|level| {
            let count = selected.all().iter().filter(|n| n.level == level).count();
            Entry::swatch(colour(level), &format!("level {level}: {count} nodes"))
        })
        .collect();
    legend.push(Entry::swatch(WINDOW, "nodes that may be in range of a level"));
    legend.push(Entry::swatch(EYE, "views"));
    let partial = selected.all().iter().filter(|n| n.quarter_mask != 0).count();
    let notes = [
        format!("{} views, {} nodes, {partial} of them in part", places.len(), selected.all().len()),
        "darker: the quarters left of a node that finer ones draw in part".to_owned(),
    ];
    let mut page = page::page(frame, &title(args, ", selected"), &notes, &legend, Some(UNDRAWN));
    let [x, y, w, h] = page.map.map(i64::from);
    page.canvas.tint(x, y, x + w, y + h, UNDRAWN, 1.0);
    let mut sheet = sheet(&mut page, frame);
    let mut all: Vec<Node> = selected.all().to_vec();
    all.sort_by_key(|n| std::cmp::Reverse(n.level));
    for node in all {
        draw_node(&mut sheet, node);
    }
    for &view in &places {
        for level in 0..levels.into() {
            let Some([xs, zs]) = selector.window(level, view) else { continue };
            let side = u64::from(NODE_CELLS) << level;
            let cells = |r: std::ops::Range<u32>| u64::from(r.start) * side..u64::from(r.end) * side;
            let at = sheet.frame.rectangle(cells(xs), cells(zs));
            sheet.outline(at, WINDOW, 0.7);
        }
    }
    for view in places {
        let spacing = f64::from(file.config().spacing_256);
        let per_cell = file.config().spacing_m() / frame.metres_per_pixel;
        let at = [view.x_256, view.z_256].map(|v| v as f64 / spacing * per_cell);
        sheet.disc(at[0], at[1], 4.0, EYE);
    }
    Ok(Picture { page, legend, level: None, plane: None, failed: (0, None) })
}

fn colour(level: u8) -> Rgb {
    id_colour(u32::from(level))
}

fn draw_node(sheet: &mut Sheet<'_>, node: Node) {
    let half = u64::from(NODE_CELLS / 2) << node.level;
    let cells = sheet.frame.cells;
    for q in (0..4_u64).filter(|q| node.quarter_mask >> q & 1 == 0) {
        let at = [u64::from(node.x) * 2 + q % 2, u64::from(node.z) * 2 + q / 2].map(|n| n * half);
        // Beyond the map there is nothing of it.
        if at[0] >= u64::from(cells[0]) || at[1] >= u64::from(cells[1]) {
            continue;
        }
        let pixels = sheet.frame.rectangle(at[0]..at[0] + half, at[1]..at[1] + half);
        let own = colour(node.level);
        sheet.fill(pixels, if node.quarter_mask == 0 { own } else { own.map(|c| c / 4 * 3) });
        if node.quarter_mask != 0 {
            sheet.outline(pixels, EDGE, 0.35);
        }
    }
    let side = 2 * half;
    let at = [node.x, node.z].map(|n| u64::from(n) * side);
    let whole = sheet.frame.rectangle(at[0]..at[0] + side, at[1]..at[1] + side);
    if node.quarter_mask == 0 && whole[2] - whole[0] >= 4 {
        sheet.outline(whole, EDGE, 0.6);
    }
}

/// The drawn surface of one view, every pixel asked of the receipt.
pub(super) fn receipt(args: &Args, file: &PayloadFile, frame: &Frame) -> Result<Picture, Failure> {
    let &[_] = &args.from.views[..] else {
        let found = args.from.views.len();
        return Err(Failure::input(format!("--what receipt shows one --view, found {found}")));
    };
    let (selector, places, selected) = select(args, file)?;
    let ground = Ground::all_of(file).map_err(Failure::input)?;
    let drawable = Drawable::new(ground, file.digest()).map_err(Failure::input)?;
    let window = file.config().extent;
    let drawn = Receipt::new(&drawable, 0, window, selector.ranges(), &[(0, places[0], selected.of(0))])
        .map_err(Failure::input)?;
    drop(drawable);
    let metres = |q: i32| file.config().quantum.to_metres(q);
    let (low, high) = file.height_range().map_or((0.0, 0.0), |(a, b)| (metres(a), metres(b)));
    let [ox, oy, oz] = file.config().origin_m();
    let legend = vec![
        height_ramp(low, high),
        Entry::swatch(HOLE, "hole"),
        Entry::swatch(UNDRAWN, "nothing drawn"),
        Entry::swatch(OUTSIDE, "outside the valid extent"),
    ];
    let notes = [format!("{} nodes, {} bytes", selected.of(0).len(), drawn.bytes())];
    let mut page = page::page(frame, &title(args, ""), &notes, &legend, None);
    let [x, y, ..] = page.map.map(i64::from);
    let place = |p: &super::frame::Place| {
        (f64::from(p.cell) + f64::from(p.part) / f64::from(p.whole)) * file.config().spacing_m()
    };
    for (dy, row) in (0..).zip(&frame.rows) {
        for (dx, column) in (0..).zip(&frame.columns) {
            let question = Question { x: ox + place(column), z: oz + place(row), ..Question::default() };
            let colour = match drawn.ask(&question) {
                Ok(DrawnAnswer::Visible(p)) => {
                    lit(light(p.normal.to_array()), hypsometric(p.height_m - oy, low, high))
                }
                Ok(DrawnAnswer::Hole) => HOLE,
                Ok(DrawnAnswer::Outside) => OUTSIDE,
                Err(ReceiptError::Undrawn) => UNDRAWN,
                Err(e) => return Err(Failure::input(e)),
            };
            page.canvas.set(x + dx, y + dy, colour);
        }
    }
    Ok(Picture { page, legend, level: None, plane: None, failed: (0, None) })
}
