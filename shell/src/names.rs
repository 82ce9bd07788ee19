//! Names of agents where several cells have some: one name is one agent, whichever cell it is in.

use std::sync::Arc;

use holon_facts::AgentId;
use holon_ledger::error::LedgerError;
use holon_ledger::postgres::node::{CellId, Directory};
use holon_platform::spawn;

/// What one cell knows of the names of others; by default there are no others. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Names(Option<(Arc<Directory>, CellId)>);

/// What can't be found out about a name.
#[derive(Debug, thiserror::Error)]
pub enum NameError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("looking for a name was interrupted: {0}")]
    Interrupted(#[from] tokio::task::JoinError),
}

impl Names {
    /// Those of a cell, where its directory has several.
    pub fn of(cell: Option<(Arc<Directory>, CellId)>) -> Self {
        Self(cell.filter(|(directory, _)| directory.has_several()))
    }

    /// Whether other cells have agents, too.
    pub fn are_shared(&self) -> bool {
        self.0.is_some()
    }

    /// Whether an agent of that name is in this cell, or begins here.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn begins_here(&self, name: &AgentId) -> Result<bool, NameError> {
        let Some((directory, cell)) = self.0.clone() else { return Ok(true) };
        let name = name.clone();
        Ok(spawn::blocking(move || directory.cell_of(name.as_str())).await?? == cell)
    }

    /// Takes a name for an agent of this cell. False where another cell has it.
    ///
    /// # Errors
    /// Likewise.
    pub async fn claim(&self, name: &AgentId) -> Result<bool, NameError> {
        let Some((directory, cell)) = self.0.clone() else { return Ok(true) };
        let name = name.clone();
        Ok(spawn::blocking(move || directory.claim(name.as_str(), cell)).await??)
    }
}
