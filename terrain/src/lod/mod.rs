//! Level of detail: what is drawn of a terrain from where, and what a finished frame can say of it afterwards.
//!
//! Owns the way from a terrain to its selection (what each node shows, the samples of a drawn node) and the receipts of
//! frames. How nodes are chosen and vertices placed are the passes' business. Drawn heights are for drawing: nothing of a
//! simulation asks here, and receipts never hold one up.

mod bytes;
mod drawable;
mod point;
mod receipt;
mod receipts;

pub use drawable::{Drawable, LodError, nodes_of_file};
pub use point::{DrawnAnswer, DrawnPoint, Question};
pub use receipt::{DrawnView, NO_NEIGHBOUR, Receipt};
pub use receipts::{KEPT, ReceiptError, ReceiptId, Receipts};

#[cfg(test)]
mod tests;
