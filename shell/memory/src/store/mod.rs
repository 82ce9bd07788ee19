//! The index as one SQLite file. What can't be used is put aside, and an empty one takes its place.

mod fill;
mod open;
mod rank;
mod read;
mod schema;
mod search;

use rusqlite::Connection;

use holon_facts::workspace::WorkspaceId;
use holon_facts::{AgentId, Wall};

use crate::document::Kind;
use crate::query::Query;
use crate::source_ref::Entry;

pub use fill::Fill;
pub use open::Aside;

/// One open index. Another process may fill it at the same time.
#[derive(Debug)]
pub struct Index {
    connection: Connection,
}

/// An index that was opened.
#[derive(Debug)]
pub struct Opened {
    pub index: Index,
    /// What was in its place and could not be used.
    pub aside: Option<Aside>,
}

/// What is searched for, and on whose behalf.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    pub agent: &'a AgentId,
    pub query: &'a Query,
    pub workspaces: Workspaces<'a>,
    pub limit: usize,
    /// From when the age of documents counts.
    pub now: Wall,
}

/// Which workspaces are searched, beside what belongs to the agent itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workspaces<'a> {
    All,
    Only(&'a WorkspaceId),
}

/// What a search found, the best first.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub hits: Vec<Hit>,
    pub matched: Match,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    pub entry: Entry,
    pub score: f64,
}

/// Which words a result has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    /// All of the query's.
    All,
    /// At least one: fewer than three documents have all.
    Any,
}

impl Match {
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Any => "any",
        }
    }
}

/// What an index holds of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    pub documents: u64,
    pub by_kind: Vec<(Kind, u64)>,
}
