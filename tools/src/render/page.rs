//! The page around a map: a title, a scale bar, a legend.

use super::font;
use super::frame::Frame;
use crate::canvas::{Canvas, Rgb};
use serde::Serialize;

/// Pixels around everything.
const MARGIN: u32 = 16;
/// Pixels a dot of text.
const DOT: u32 = 2;
/// Pixels from one line of text to the next.
const LINE: u32 = font::ROWS as u32 * DOT + 10;
/// The narrowest page, so that a tiny map has room for its words.
const MIN_WIDTH: u32 = 640;
const SWATCH: u32 = 18;
const RAMP: u32 = 200;
const PAPER: Rgb = [250, 249, 245];
const INK: Rgb = [34, 34, 38];

/// A line of a legend.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Entry {
    /// A colour and what it means.
    Swatch { colour: Rgb, name: String },
    /// Colours from one value to another.
    Ramp {
        #[serde(skip)]
        colours: Vec<Rgb>,
        low: String,
        high: String,
    },
}

impl Entry {
    pub(super) fn swatch(colour: Rgb, name: &str) -> Self {
        Entry::Swatch { colour, name: name.to_owned() }
    }

    fn width(&self) -> u32 {
        match self {
            Entry::Swatch { name, .. } => SWATCH + 8 + font::width(name, DOT),
            Entry::Ramp { low, high, .. } => font::width(low, DOT) + RAMP + 16 + font::width(high, DOT),
        }
    }

    /// Draws it in at most `room` pixels.
    fn draw(&self, canvas: &mut Canvas, x: i64, y: i64, room: u32) {
        let (swatch, middle) = (i64::from(SWATCH), y - 1);
        match self {
            Entry::Swatch { colour, name } => {
                canvas.tint(x, middle, x + swatch, middle + swatch, *colour, 1.0);
                canvas.outline(x, middle, x + swatch, middle + swatch, INK, 1.0);
                let name = cut(name, room.saturating_sub(SWATCH + 8));
                font::draw(canvas, x + swatch + 8, y, &name, DOT, INK);
            }
            Entry::Ramp { colours, low, high } => {
                let x = font::draw(canvas, x, y, low, DOT, INK) + 8;
                for i in 0..i64::from(RAMP) {
                    let colour = colours[i as usize * (colours.len() - 1) / (RAMP as usize - 1)];
                    canvas.tint(x + i, middle, x + i + 1, middle + swatch, colour, 1.0);
                }
                canvas.outline(x, middle, x + i64::from(RAMP), middle + swatch, INK, 1.0);
                font::draw(canvas, x + i64::from(RAMP) + 8, y, high, DOT, INK);
            }
        }
    }
}

/// A line of text that fits so many pixels.
fn cut(text: &str, room: u32) -> String {
    if font::width(text, DOT) <= room {
        return text.to_owned();
    }
    let mut short = text.to_owned();
    while !short.is_empty() && font::width(&short, DOT) + 3 * 6 * DOT > room {
        short.pop();
    }
    short + "..."
}

/// A page with room for a map.
pub(super) struct Page {
    pub(super) canvas: Canvas,
    /// Width and height of the page in pixels.
    pub(super) size: [u32; 2],
    /// The map's place: x, y, width, height.
    pub(super) map: [u32; 4],
}

/// Lays a page out and draws everything but the map.
pub(super) fn page(
    frame: &Frame,
    title: &str,
    notes: &[String],
    legend: &[Entry],
    ring: Option<Rgb>,
) -> Page {
    let width = (frame.width() + 2 * MARGIN).max(MIN_WIDTH);
    let room = width - 2 * MARGIN;
    let mut lines: Vec<Vec<&Entry>> = Vec::new();
    let mut used = room;
    for entry in legend {
        let own = entry.width().min(room);
        if used + 24 + own > room || lines.is_empty() {
            lines.push(Vec::new());
            used = 0;
        } else {
            used += 24;
        }
        used += own;
        if let Some(line) = lines.last_mut() {
            line.push(entry);
        }
    }
    let top = MARGIN + LINE;
    let below = top + frame.height() + MARGIN;
    let count = 1 + lines.len() as u32 + notes.len() as u32;
    let size = [width, below + count * LINE + MARGIN / 2];
    let mut canvas = Canvas::new(size[0], size[1], PAPER);
    let left = i64::from(MARGIN);
    font::draw(&mut canvas, left, i64::from(MARGIN), &cut(title, room), DOT, INK);
    let map = [(width - frame.width()) / 2, top, frame.width(), frame.height()];
    let [x, y, w, h] = map.map(i64::from);
    if let Some(colour) = ring {
        canvas.tint(x - 6, y - 6, x + w + 6, y + h + 6, colour, 1.0);
    }
    canvas.outline(x - 1, y - 1, x + w + 1, y + h + 1, INK, 1.0);
    let mut y = i64::from(below);
    scale_bar(&mut canvas, frame, left, y);
    for line in lines {
        y += i64::from(LINE);
        let mut x = left;
        for entry in line {
            entry.draw(&mut canvas, x, y, room);
            x += i64::from(entry.width().min(room)) + 24;
        }
    }
    for note in notes {
        y += i64::from(LINE);
        font::draw(&mut canvas, left, y, &cut(note, room), DOT, INK);
    }
    Page { canvas, size, map }
}

/// The longest round number of metres (1, 2 or 5 and zeros) that is at most `most`, as digits and as a number.
fn round_metres(most: f64) -> f64 {
    let mut step = 1.0;
    while step * 10.0 <= most {
        step *= 10.0;
    }
    while step > most && step > 1e-6 {
        step /= 10.0;
    }
    [5.0, 2.0].into_iter().map(|m| m * step).find(|&m| m <= most).unwrap_or(step)
}

fn scale_bar(canvas: &mut Canvas, frame: &Frame, x: i64, y: i64) {
    // A third of the map, and not much longer than its words need.
    let longest = f64::from(frame.width().max(60)) / 3.0;
    let metres = round_metres(longest.clamp(40.0, 260.0) * frame.metres_per_pixel);
    let pixels = (metres / frame.metres_per_pixel).round().max(1.0) as i64;
    let (top, foot) = (y + 2, y + 14);
    canvas.tint(x, foot - 3, x + pixels, foot, INK, 1.0);
    for end in [x, x + pixels - 2] {
        canvas.tint(end, top, end + 2, foot, INK, 1.0);
    }
    let text = format!("{metres} m   {}", frame.words());
    font::draw(canvas, x + pixels + 10, y, &text, DOT, INK);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scale_bars_are_round_numbers() {
        for (most, round) in [(0.7, 0.5), (1.0, 1.0), (3.0, 2.0), (99.9, 50.0), (730.0, 500.0), (2e4, 2e4)] {
            assert_eq!(round_metres(most), round, "{most}");
        }
        assert!(round_metres(0.0123) <= 0.0123 && round_metres(0.0123) > 0.009);
    }

    #[test]
    fn text_is_cut_to_its_room() {
        assert_eq!(cut("short", 600), "short");
        let long = cut(&"long ".repeat(40), 600);
        assert!(font::width(&long, DOT) <= 600 && long.ends_with("..."));
    }
}
