//! Turning a raster that was read south row first.

use super::source::{Samples, Voids};

/// Swaps rows top for bottom: samples and voids of a raster `width` wide.
pub(crate) fn turn(samples: &mut Samples, voids: &mut Voids, width: u32) {
    let width = width as usize;
    match samples {
        Samples::U8(v) => turn_values(v, width),
        Samples::U16(v) => turn_values(v, width),
        Samples::I16(v) => turn_values(v, width),
        Samples::I32(v) => turn_values(v, width),
        Samples::F32(v) => turn_values(v, width),
        Samples::F64(v) => turn_values(v, width),
    }
    if voids.any() {
        let rows = samples.len() / width;
        let mut turned = Voids::none(samples.len());
        for i in (0..samples.len()).filter(|&i| voids.get(i)) {
            turned.set((rows - 1 - i / width) * width + i % width);
        }
        *voids = turned;
    }
}

fn turn_values<T>(values: &mut [T], width: usize) {
    let rows = values.len() / width;
    for z in 0..rows / 2 {
        let (upper, lower) = values.split_at_mut((rows - 1 - z) * width);
        upper[z * width..][..width].swap_with_slice(&mut lower[..width]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_change_places_with_their_voids() {
        let mut samples = Samples::U8(vec![0, 1, 2, 3, 4, 5]);
        let mut voids = Voids::none(6);
        voids.set(1);
        turn(&mut samples, &mut voids, 2);
        assert_eq!(samples, Samples::U8(vec![4, 5, 2, 3, 0, 1]));
        assert_eq!((0..6).filter(|&i| voids.get(i)).collect::<Vec<_>>(), [5]);
    }
}
