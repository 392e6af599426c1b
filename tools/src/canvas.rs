//! A small RGB picture: pixels, lines, discs and rectangles, and its PNG.
//!
//! Owns pixels only; knows nothing of terrain.

use std::io::Write;
use std::path::Path;

/// A colour.
pub(crate) type Rgb = [u8; 3];

/// An RGB image, row-major from the top left.
pub(crate) struct Canvas {
    width: u32,
    height: u32,
    pixels: Vec<u8>,
}

impl Canvas {
    pub(crate) fn new(width: u32, height: u32, fill: Rgb) -> Self {
        Self { width, height, pixels: fill.repeat(width as usize * height as usize) }
    }

    pub(crate) fn set(&mut self, x: i64, y: i64, colour: Rgb) {
        self.blend(x, y, colour, 1.0);
    }

    /// Mixes a colour in; outside the picture nothing happens.
    pub(crate) fn blend(&mut self, x: i64, y: i64, colour: Rgb, share: f64) {
        if x < 0 || y < 0 || x >= i64::from(self.width) || y >= i64::from(self.height) {
            return;
        }
        let at = (y as usize * self.width as usize + x as usize) * 3;
        for (p, c) in self.pixels[at..at + 3].iter_mut().zip(colour) {
            *p = (f64::from(*p) * (1.0 - share) + f64::from(c) * share).round() as u8;
        }
    }

    /// A line of the given thickness in pixels.
    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), thickness: i64, colour: Rgb) {
        let steps = (to.0 - from.0).abs().max((to.1 - from.1).abs()).ceil().clamp(1.0, 1e5);
        for i in 0..=steps as u32 {
            let t = f64::from(i) / steps;
            let (x, y) = (from.0 + (to.0 - from.0) * t, from.1 + (to.1 - from.1) * t);
            self.square(x as i64, y as i64, thickness, colour);
        }
    }

    fn square(&mut self, x: i64, y: i64, side: i64, colour: Rgb) {
        let low = -(side - 1) / 2;
        for dy in low..low + side {
            for dx in low..low + side {
                self.set(x + dx, y + dy, colour);
            }
        }
    }

    pub(crate) fn disc(&mut self, x: f64, y: f64, radius: f64, colour: Rgb) {
        let r = radius.ceil() as i64;
        for dy in -r..=r {
            for dx in -r..=r {
                if (dx * dx + dy * dy) as f64 <= radius * radius {
                    self.set(x as i64 + dx, y as i64 + dy, colour);
                }
            }
        }
    }

    /// The outline of a rectangle, its far edges excluded.
    pub(crate) fn outline(&mut self, x0: i64, y0: i64, x1: i64, y1: i64, colour: Rgb, share: f64) {
        for x in x0..x1 {
            self.blend(x, y0, colour, share);
            self.blend(x, y1 - 1, colour, share);
        }
        for y in y0 + 1..y1 - 1 {
            self.blend(x0, y, colour, share);
            self.blend(x1 - 1, y, colour, share);
        }
    }

    pub(crate) fn tint(&mut self, x0: i64, y0: i64, x1: i64, y1: i64, colour: Rgb, share: f64) {
        for y in y0..y1 {
            for x in x0..x1 {
                self.blend(x, y, colour, share);
            }
        }
    }

    /// Writes an 8-bit RGB PNG.
    pub(crate) fn write_png(&self, path: &Path) -> std::io::Result<()> {
        self.encode(std::io::BufWriter::new(std::fs::File::create(path)?))
    }

    /// The bytes of an 8-bit RGB PNG.
    pub(crate) fn encode(&self, out: impl Write) -> std::io::Result<()> {
        let mut encoder = png::Encoder::new(out, self.width, self.height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::High);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&self.pixels)?;
        writer.finish()?;
        Ok(())
    }
}
