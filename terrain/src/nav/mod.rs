//! Navigation: which cells an agent may stand on, and the way between two of them.
//!
//! Owns the walkable cells of every kind of agent ([`Nav`], immutable, one for a version of the ground) and the search
//! over them ([`PathSearch`]). Never moves anything, never reads files, never loads ground.
//!
//! # What is walkable
//! All of this is decided in integers, from the ground's own triangles:
//! - A cell **carries** when both its triangles are there, it lies in the valid extent, and neither triangle is steeper
//!   than the agent's limit: the squared gradient in quanta a cell is compared with a whole number. The limit is the
//!   square of the tangent, rounded to the nearest 2⁻³².
//! - A cell too steep to carry **is a flank** when it is whole and the heights of all cells near it differ by no more
//!   than n quanta, where 2n² ≤ step². Near is within the width that a flank as high as the step has at the slope limit
//!   (`step / tan`), counted in whole cells outwards. In a height field there are no steps but these. The factor √2 lets
//!   a flank be crossed up to 45° off its steepest way, as the eight directions need.
//! - A cell is **walkable** when every cell that the open disc of the agent's radius around its *centre* touches carries
//!   or is a flank. Then the disc around any point of a square between four centres that are all walkable touches only
//!   such cells, and so it does on the line between two neighbouring centres: the distance from a point to a cell is
//!   never smaller than from the nearest of those centres along either axis. Moves to the eight neighbours without
//!   cutting corners, and [lines of sight](Nav::sees), keep to such squares and lines.
//! - It is **blocked** when a cell in the disc neither carries nor is a flank, **unknown** when that cannot be said
//!   because a block is absent, and **failed** when its own block is. Failed ground blocks. More ground never changes a
//!   cell that is walkable or blocked.
//!
//! This errs on the safe side: what is walkable can be walked, while some of what is blocked might be climbed step by
//! step, as a flight of steps narrower than a flank may be.
//!
//! # What a way costs
//! A walkable cell has a weight in sixteenths: the cost of its surface layer, plus what its physical material costs more
//! (or less) than plain ground, plus up to `slope_cost` in proportion to
//! its squared slope, plus `flank_cost` on a flank. A move costs the weights of both its cells times 12, or 17 along a
//! diagonal. Unknown cells count as the least weight there can be.
//!
//! # Sectors
//! Cells are held in sectors of 32×32, never across blocks: one word a row. The hierarchy is HPA* (Botea, Müller,
//! Schaeffer, "Near optimal hierarchical path-finding", 2004) with doors at most 16 cells apart on every stretch of open
//! border, exact distances inside sectors, and a second, exact search through the sectors that the route over the
//! doors goes through.

mod build;
mod cells;
mod config;
mod doors;
mod map;
mod pages;
mod region;
mod route;
mod rules;
mod search;
mod sector;
mod smooth;
#[cfg(test)]
mod tests;

pub use config::{AgentKind, NavBudget, NavConfig, NavConfigError};
pub use map::{CellState, Nav};
pub use rules::{NavRules, PLAIN};
pub use search::{Answer, Method, Path, PathQuery, PathSearch, Refusal, Unknown};
pub use sector::SECTOR_CELLS;
