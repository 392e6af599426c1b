//! Path queries: what may be asked, and the named answers.

use super::cells::{self, Found};
use super::map::{CellState, Nav};
use super::pages::{Pages, Table};
use super::region::Region;
use super::route::Route;
use super::rules::UNKNOWN_BITS;
use crate::coord::{CellPos, CellRect};

/// How a path is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Method {
    /// Over doors between sectors, then exactly through the sectors of that route. Finds a path exactly when there is
    /// one. Its cost is at most that of the cheapest path plus 34 straight steps over the dearest ground for every
    /// border of a sector that the cheapest path crosses; over rough ground it is seldom more than a few hundredths
    /// above it.
    #[default]
    Hierarchy,
    /// A* over all cells: a cheapest path.
    Exact,
}

/// What unknown cells mean to a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Unknown {
    /// They may hold a path: where the best way goes over unknown cells, or diagonally between them, all counted at the
    /// least weight there can be, the answer is Pending. Among ways at one cost the known one is best.
    #[default]
    Ask,
    /// They are not walked on: a path over known cells is given though unknown ones might hold a cheaper one. Only
    /// where there is none is the answer Pending, if the unknown cells could make one.
    Avoid,
}

/// From where to where, for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathQuery {
    /// The number of the agent's kind in the rules.
    pub agent: usize,
    /// The first cell.
    pub from: CellPos,
    /// The last cell.
    pub to: CellPos,
    /// How it is searched.
    pub method: Method,
    /// What unknown cells mean.
    pub unknown: Unknown,
    /// Sectors of 32×32 cells that this rectangle does not touch are blocked; none without one.
    pub within: Option<CellRect>,
}

impl PathQuery {
    /// A query in the hierarchy, everywhere, that asks about unknown ground.
    pub fn new(agent: usize, from: CellPos, to: CellPos) -> Self {
        Self { agent, from, to, method: Method::default(), unknown: Unknown::default(), within: None }
    }
}

/// What is wrong with a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There are fewer kinds of agents.
    #[error("there is no agent {0}")]
    Agent(usize),
    /// The first cell.
    #[error("the start, cell ({}, {}), is outside the valid extent", .0.x, .0.z)]
    From(CellPos),
    /// The last cell.
    #[error("the goal, cell ({}, {}), is outside the valid extent", .0.x, .0.z)]
    To(CellPos),
}

/// The answer to a path query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// There is a path, and it was given.
    Path,
    /// There is none, not even over unknown cells. So it is where the first or last cell is blocked or failed.
    NoPath,
    /// Unknown cells decide, as [`Unknown`] says.
    Pending,
    /// The budget did not suffice, or the way costs 2²⁷ times the least weight or more.
    Exhausted {
        /// Cells and doors settled.
        settled: u32,
    },
    /// No question.
    Refused(Refusal),
}

/// A path over walkable cells, kept by the caller so that its room is used again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// Neighbouring cells from the first to the last; empty unless the answer is Path.
    pub cells: Vec<CellPos>,
    /// The cells that are left when straight pieces replace what is between them: see [`Nav::sees`].
    pub turns: Vec<CellPos>,
    /// The cost over all `cells`; [`super::NavRules::plain_step`] for each plain step.
    pub cost: u64,
}

/// The room of path searches; used again by the next one. Holds about 10 KiB for each sector of the budget, and at most
/// 24 bytes for each of eight times its settled cells.
#[derive(Debug)]
pub struct PathSearch {
    pages: Pages,
    route: Route,
    corridor: Table,
}

impl Default for PathSearch {
    fn default() -> Self {
        Self::new()
    }
}

impl PathSearch {
    /// An empty room.
    pub fn new() -> Self {
        Self { pages: Pages::default(), route: Route::new(), corridor: Table::default() }
    }

    /// Answers a query. The path is given in `path`, which is emptied first. Equal navigation data and queries give
    /// equal answers and paths. Allocates nothing once it has met as much ground before.
    pub fn find(&mut self, nav: &Nav, query: &PathQuery, path: &mut Path) -> Answer {
        path.cells.clear();
        path.turns.clear();
        path.cost = 0;
        if query.agent >= nav.rules().agents.len() {
            return Answer::Refused(Refusal::Agent(query.agent));
        }
        let outside = |cell| nav.cell(query.agent, cell) == CellState::Outside;
        if outside(query.from) {
            return Answer::Refused(Refusal::From(query.from));
        }
        if outside(query.to) {
            return Answer::Refused(Refusal::To(query.to));
        }
        self.pages.settled = 0;
        let found = match (self.way(nav, query, query.unknown == Unknown::Ask), query.unknown) {
            (Found::None, Unknown::Avoid) => match self.way(nav, query, true) {
                Found::Way(_) => return Answer::Pending,
                other => other,
            },
            (found, _) => found,
        };
        match found {
            Found::None => Answer::NoPath,
            Found::Exhausted => Answer::Exhausted { settled: self.pages.settled },
            Found::Way(cost) if cost & ((1 << UNKNOWN_BITS) - 1) != 0 => Answer::Pending,
            Found::Way(_) if nav.cell(query.agent, query.from) != CellState::Walkable => Answer::Pending,
            Found::Way(cost) => {
                path.cost = cost >> UNKNOWN_BITS;
                let mut at = Some(query.to);
                while let Some(cell) = at {
                    path.cells.push(cell);
                    at = self.pages.before(cell);
                }
                path.cells.reverse();
                nav.straighten(query.agent, &path.cells, &mut path.turns);
                Answer::Path
            }
        }
    }

    /// The best way; its cells are in the pages.
    fn way(&mut self, nav: &Nav, query: &PathQuery, unknown: bool) -> Found {
        let (from, to) = (query.from, query.to);
        let region = Region::new(nav, query.agent, unknown, query.within);
        if !region.is_open(from) || !region.is_open(to) {
            return Found::None;
        }
        if query.method == Method::Hierarchy {
            let found = self.route.search(&region, &mut self.pages, from, to, &mut self.corridor);
            if !matches!(found, Found::Way(_)) {
                return found;
            }
            let region = Region { corridor: Some(&self.corridor), ..region };
            return cells::search(&region, &mut self.pages, from, to);
        }
        cells::search(&region, &mut self.pages, from, to)
    }
}
