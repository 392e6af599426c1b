//! Heights over heights.

use super::{Made, Stages};
use crate::cook::error::CookError;
use crate::cook::field::Field;
use crate::cook::plan::{How, Mask};
use rayon::prelude::*;

impl Stages<'_> {
    /// Puts `other` over what is made.
    pub(super) fn blend(
        &self,
        made: &mut Made,
        other: Made,
        mask: &Mask,
        how: How,
        at: &str,
    ) -> Result<(), CookError> {
        let (a, b) = (&made.field, &other.field);
        if a.size() != b.size() || a.spacing_256() != b.spacing_256() {
            let say =
                |f: &Field| format!("{}x{} samples, {} m apart", f.size()[0], f.size()[1], f.spacing_m());
            return Err(self.rule(format!("{at}: expected heights of {}, found {}", say(a), say(b))));
        }
        let image = match mask {
            Mask::Image(path) => Some(self.images.grey(path, &[a.size()])?.1),
            Mask::Constant(_) | Mask::Radial { .. } => None,
        };
        put_over(&mut made.field, b, how, |x, z, s| match (mask, &image) {
            (Mask::Constant(c), _) => *c,
            (_, Some(pixels)) => f64::from(pixels[z * b.width() + x]) / 255.0,
            (Mask::Radial { x: cx, z: cz, inner_m, outer_m }, None) => {
                let (dx, dz) = (x as f64 * s - cx, z as f64 * s - cz);
                let t = (((dx * dx + dz * dz).sqrt() - inner_m) / (outer_m - inner_m)).clamp(0.0, 1.0);
                1.0 - t * t * (3.0 - 2.0 * t)
            }
            // The image was read above.
            (Mask::Image(_), None) => 0.0,
        });
        made.holes.extend(other.holes);
        made.holes.sort_unstable_by_key(|c| (c[1], c[0]));
        made.holes.dedup();
        made.strips.extend(other.strips);
        made.told.join(other.told);
        Ok(())
    }
}

fn put_over(a: &mut Field, b: &Field, how: How, mask: impl Fn(usize, usize, f64) -> f64 + Sync) {
    let (width, s) = (a.width(), a.spacing_m());
    a.metres_mut().par_chunks_mut(width).enumerate().for_each(|(z, row)| {
        for (x, under) in row.iter_mut().enumerate() {
            *under = over(*under, b.at(x, z), mask(x, z, s), how);
        }
    });
}

fn over(under: f64, over: f64, mask: f64, how: How) -> f64 {
    if over.is_nan() || mask == 0.0 {
        return under;
    }
    if under.is_nan() {
        // Nothing lies under it: it stands alone, but a mere addition has nothing to add to.
        return if how == How::Add { under } else { over };
    }
    let mixed = if mask == 1.0 { over } else { under + (over - under) * mask };
    match how {
        How::Mix => mixed,
        How::Add => under + over * mask,
        How::Max => under.max(mixed),
        How::Min => under.min(mixed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn voids_take_no_part() {
        let v = f64::NAN;
        assert_eq!(over(1.0, v, 0.5, How::Mix), 1.0);
        assert_eq!(over(v, 2.0, 0.5, How::Mix), 2.0);
        assert!(over(v, 2.0, 0.0, How::Mix).is_nan() && over(v, 2.0, 1.0, How::Add).is_nan());
        assert_eq!(over(1.0, 3.0, 0.25, How::Mix), 1.5);
        assert_eq!(over(1.0, 3.0, 0.25, How::Add), 1.75);
        assert_eq!((over(1.0, 3.0, 1.0, How::Max), over(1.0, 3.0, 1.0, How::Min)), (3.0, 1.0));
        assert_eq!((over(4.0, 3.0, 0.5, How::Max), over(4.0, 3.0, 0.5, How::Min)), (4.0, 3.5));
    }
}
