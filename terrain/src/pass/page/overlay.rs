//! Overlays as the pieces that a page looks at.
//!
//! A line is cut into pieces of at most 62 texels at places that depend on the line and the mip alone, so that all pages
//! see the same pieces. Thin ones are widened to a texel's reach: they may get faint, never dotted.

use crate::content::Overlay;
use crate::kernel::page::{PIECE_WORDS, piece};

/// Units a texel.
const UNITS: f64 = 8.0;

/// Units of a piece at most.
const LONGEST: f64 = 500.0;

/// Units that a piece's reach may have after it is shifted.
const MOST_REACH: f64 = 8000.0;

/// Adds the pieces of an overlay that reach texels `first` to `last` of a mip whose texels have so many metres.
pub(super) fn pieces(overlay: &Overlay, texel_m: f64, first: [i32; 2], last: [i32; 2], words: &mut Vec<u32>) {
    let units = |m: f64| m / texel_m * UNITS;
    let (half, fade) = (units(overlay.width_m / 2.0), units(overlay.fade_m));
    let outer = half + fade.max(UNITS / 2.0);
    let fade = fade.max(UNITS);
    let shift = (0..31).find(|&s| outer / f64::from(1u32 << s) <= MOST_REACH).unwrap_or(31);
    let scale = f64::from(1u32 << shift);
    // In quarters of shifted units.
    let [outer_4, fade_4] = [outer, fade].map(|v| (v / scale * 4.0 + 0.5).floor() as u32);
    let near = |a: [f64; 2], b: [f64; 2]| {
        [0, 1].into_iter().all(|i| {
            let (low, high) =
                (a[i].min(b[i]) - outer - UNITS * scale, a[i].max(b[i]) + outer + UNITS * scale);
            high >= UNITS * f64::from(first[i]) && low <= UNITS * (f64::from(last[i]) + 1.0)
        })
    };
    for ends in overlay.points.windows(2) {
        let [a, b] = [ends[0], ends[1]].map(|p| p.map(units));
        if !near(a, b) {
            continue;
        }
        let (dx, dz) = (b[0] - a[0], b[1] - a[1]);
        let count = ((dx * dx + dz * dz).sqrt() / LONGEST).ceil().max(1.0);
        let at = |n: f64| [a[0] + dx * n / count, a[1] + dz * n / count];
        // Lines may lead far beyond the map: only what lies along the page is cut.
        let (mut low, mut high) = (0.0f64, count);
        for (start, way, i) in [(a[0], dx, 0), (a[1], dz, 1)] {
            if way != 0.0 {
                let reach = outer + UNITS * scale + LONGEST;
                let ends = [UNITS * f64::from(first[i]) - reach, UNITS * (f64::from(last[i]) + 1.0) + reach]
                    .map(|v| (v - start) / way * count);
                low = low.max(ends[0].min(ends[1]).floor() - 1.0);
                high = high.min(ends[0].max(ends[1]).ceil() + 1.0);
            }
        }
        let mut n = low;
        while n < high {
            let (from, to) = (at(n), at(n + 1.0));
            n += 1.0;
            if near(from, to) {
                let whole = |p: [f64; 2]| p.map(|v| (v + 0.5).floor() as i32);
                let (from, to) = (whole(from), whole(to));
                let along = [0, 1].map(|i| (to[i] - from[i]) >> shift);
                let squared = (256 * (along[0] * along[0] + along[1] * along[1])) as u32;
                let mut own = [0; PIECE_WORDS];
                own[piece::FROM] = from[0] as u32;
                own[piece::FROM + 1] = from[1] as u32;
                own[piece::ALONG] = along[0] as u32;
                own[piece::ALONG + 1] = along[1] as u32;
                own[piece::LENGTH] = squared.isqrt().max(1);
                own[piece::OUTER] = outer_4;
                own[piece::FADE] = fade_4.max(1);
                own[piece::LAYER] = u32::from(overlay.layer);
                own[piece::SHIFT] = shift;
                words.extend_from_slice(&own);
            }
        }
    }
}
