//! What agents search. Text becomes tokens in [`text`], a query becomes terms in [`query`], and [`Index`] is one SQLite file
//! with what matches what. It holds titles and tokens; the text itself is read where it came from, by whoever has that.
//!
//! Nothing here reads a clock, a ledger or a file of an agent, and nothing is lost with the index: it is filled again.

mod document;
mod error;
mod query;
mod snippet;
mod source_ref;
mod store;
mod text;

pub use document::{Document, Kind, Source, Standing};
pub use error::MemoryError;
pub use query::{QUERY_CHARS, Query, QueryError};
pub use snippet::{SNIPPET_CHARS, snippet};
pub use source_ref::{Entry, RefKey, SourceRef};
pub use store::{Aside, Fill, Found, Hit, Index, Match, Opened, Search, Totals, Workspaces};
