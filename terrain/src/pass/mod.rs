//! One file per pass: how a kernel is asked. Inputs checked, buffers and steps put into a batch, answers taken out.
//!
//! Owns what stands between the product's own types and a device's words. The same code asks every device, so none can
//! be asked another question. Never chooses a device, never computes what a kernel should.

pub mod atlas;
pub mod clipmap;
pub mod page;
pub mod scan;
pub mod scatter;
pub mod sections;
pub mod select;
pub mod vertex;
pub mod weight_mip;
