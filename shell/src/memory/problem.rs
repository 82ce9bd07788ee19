//! What can keep a search from its answer.

use holon_ledger::error::LedgerError;
use holon_memory::{MemoryError, QueryError};

use crate::home::secret::SecretError;

#[derive(Debug, thiserror::Error)]
pub enum MemoryProblem {
    #[error(transparent)]
    Query(#[from] QueryError),
    #[error(
        "there is no source {source_ref}: references come from a search of this agent, and a text that is gone has none; \
         search again"
    )]
    NotFound { source_ref: String },
    #[error(transparent)]
    Index(#[from] MemoryError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("the key of references can't be used: {0}")]
    Key(#[from] SecretError),
}

impl MemoryProblem {
    /// Whether the file of the index is to be put aside.
    pub(super) fn is_damage(&self) -> bool {
        match self {
            Self::Index(error) => error.is_damage(),
            Self::Query(_) | Self::NotFound { .. } | Self::Ledger(_) | Self::Key(_) => false,
        }
    }
}
