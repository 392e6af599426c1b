//! One file per pass: slices in, slices out. Integer or fixed point, so that CPU and GPU give the same bits.
//!
//! A kernel here is production code: a server without a GPU runs on it. Its GPU twin shares its stem.

pub mod control;
pub mod normal;
pub mod pyramid;
pub mod weight_mip;
pub mod weights;
