//! Layers by height and slope: one HD texel a cell.
//!
//! Each layer after the first covers those before it by an amount from 0 to 255; the two strongest of what then shows
//! are kept. Only IEEE operations and `libm`, so the texels are the same everywhere.

use super::Layer;
use crate::content::{MAX_LAYERS, MAX_NAME as MAX_LAYER_NAME};
use crate::coord::CellPos;
use crate::height::VOID;
use crate::kernel::weight_mip::HdTexel;
use crate::store::Raster;
use rayon::prelude::*;

/// Refuses layers that could not be painted.
pub(super) fn check(layers: &[Layer]) -> Result<(), String> {
    if layers.len() > MAX_LAYERS {
        return Err(format!("a terrain may have at most {MAX_LAYERS} layers, found {}", layers.len()));
    }
    for (i, l) in layers.iter().enumerate() {
        let error = |message: String| Err(format!("layer {i} ({}): {message}", l.name));
        if l.name.is_empty() || l.name.len() > MAX_LAYER_NAME {
            return error(format!("its name must have 1 to {MAX_LAYER_NAME} bytes"));
        }
        if layers[..i].iter().any(|other| other.name == l.name) {
            return error("an earlier layer has the same name".into());
        }
        if i == 0 && (l.height_m.is_some() || l.slope_deg.is_some()) {
            return error("the first layer lies everywhere: leave its height_m and slope_deg out".into());
        }
        for (what, range, soft) in [("height", l.height_m, l.soft_m), ("slope", l.slope_deg, l.soft_deg)] {
            let (from, to) = range.unwrap_or((0.0, 1.0));
            if !(from.is_finite() && to.is_finite() && from < to) {
                return error(format!(
                    "its {what} must go from a smaller to a larger number, found {from} to {to}"
                ));
            }
            if !(soft.is_finite() && soft >= 0.0) {
                return error(format!("its soft width of {what} must not be negative, found {soft}"));
            }
        }
    }
    Ok(())
}

/// One texel a cell, X fastest.
pub(super) fn paint(raster: &Raster, layers: &[Layer]) -> Vec<HdTexel> {
    let [cw, ch] = raster.config.cells().map(|c| c as usize);
    let mut texels = vec![HdTexel::default(); cw * ch];
    texels.par_chunks_mut(cw).enumerate().for_each(|(z, row)| {
        for (x, texel) in row.iter_mut().enumerate() {
            if let Some((height, slope)) = ground(raster, CellPos::new(x as i32, z as i32)) {
                *texel = strongest_two(layers, height, slope);
            }
        }
    });
    texels
}

/// Mean height (m) and slope (degrees) of a cell; `None` where a corner is void.
fn ground(raster: &Raster, cell: CellPos) -> Option<(f64, f64)> {
    let corners = [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(dx, dz)| raster.quanta(cell.corner(dx, dz)));
    if corners.contains(&VOID) {
        return None;
    }
    let [q00, q10, q01, q11] = corners.map(f64::from);
    let quantum = raster.config.quantum.metres();
    let height = (q00 + q10 + q01 + q11) / 4.0 * quantum;
    let (gx, gz) = ((q10 + q11 - q00 - q01) / 2.0, (q01 + q11 - q00 - q10) / 2.0);
    let rise = (gx * gx + gz * gz).sqrt() * quantum / raster.config.spacing_m();
    Some((height, libm::atan(rise).to_degrees()))
}

fn strongest_two(layers: &[Layer], height: f64, slope: f64) -> HdTexel {
    let mut weights = [0u32; MAX_LAYERS];
    weights[0] = 0xFFFF;
    for (i, layer) in layers.iter().enumerate().skip(1) {
        let of_height = layer.height_m.map_or(1.0, |r| inside(height, r, layer.soft_m));
        let of_slope = layer.slope_deg.map_or(1.0, |r| inside(slope, r, layer.soft_deg));
        let cover = (of_height.min(of_slope) * 255.0 + 0.5).floor() as u32;
        weights[..i].iter_mut().for_each(|w| *w = *w * (255 - cover) / 255);
        weights[i] = cover * 257;
    }
    let strongest = |except: Option<usize>| {
        let mut best = None;
        for (i, &w) in weights.iter().enumerate().filter(|&(i, &w)| w > 0 && Some(i) != except) {
            if best.is_none_or(|(_, most)| w > most) {
                best = Some((i, w));
            }
        }
        best
    };
    let Some((id1, w1)) = strongest(None) else { return HdTexel::default() };
    let (id2, w2) = strongest(Some(id1)).unwrap_or((id1, 0));
    let ratio = (255 * w2 + (w1 + w2) / 2) / (w1 + w2);
    HdTexel { id1: id1 as u8, id2: id2 as u8, ratio: ratio as u8 }
}

/// 1 inside a range, 0 outside, linear over `soft` across each end.
fn inside(v: f64, (from, to): (f64, f64), soft: f64) -> f64 {
    let side = |distance: f64| {
        if soft > 0.0 {
            (distance / soft + 0.5).clamp(0.0, 1.0)
        } else {
            f64::from(u8::from(distance >= 0.0))
        }
    };
    side(v - from).min(side(to - v))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(name: &str, height_m: Option<(f64, f64)>, slope_deg: Option<(f64, f64)>) -> Layer {
        Layer { name: name.into(), height_m, slope_deg, soft_m: 10.0, soft_deg: 0.0 }
    }

    #[test]
    fn later_layers_cover_earlier_ones_softly() {
        let layers = [
            layer("grass", None, None),
            layer("snow", Some((100.0, 200.0)), None),
            layer("rock", None, Some((40.0, 90.0))),
        ];
        let at = |h, s| strongest_two(&layers, h, s);
        let texel = |id1, id2, ratio| HdTexel { id1, id2, ratio };
        assert_eq!(at(50.0, 0.0), texel(0, 0, 0));
        assert_eq!(at(150.0, 0.0), texel(1, 1, 0));
        assert_eq!(at(150.0, 40.0), texel(2, 2, 0));
        // A quarter into the blend of 10 m: cover = 0.25 · 255 + ½ = 64, so grass keeps 191 of 255.
        assert_eq!(at(97.5, 0.0), texel(0, 1, 64));
        // Just over the middle: snow is the stronger (128 of 255).
        assert_eq!(at(100.0, 0.0), texel(1, 0, 127));
    }

    #[test]
    fn layers_that_say_nothing_sensible_are_refused() {
        let good = layer("a", None, None);
        assert!(check(std::slice::from_ref(&good)).is_ok());
        let with = |l: Layer| check(&[good.clone(), l]);
        assert!(with(layer("b", Some((2.0, 1.0)), None)).is_err());
        assert!(with(layer("b", None, Some((f64::NAN, 1.0)))).is_err());
        assert!(with(layer("a", None, None)).is_err());
        assert!(with(layer("", None, None)).is_err());
        assert!(with(Layer { soft_m: -1.0, ..layer("b", None, None) }).is_err());
        assert!(check(&[layer("a", Some((0.0, 1.0)), None)]).is_err());
    }
}
