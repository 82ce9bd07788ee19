//! Names of agents where several cells have some: one name is one agent, whichever cell it is in.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use holon_facts::AgentId;
use holon_ledger::error::LedgerError;
use holon_ledger::postgres::node::{Directory, Tenant};
use holon_platform::spawn;
use tokio::sync::{Mutex as Turn, MutexGuard as TurnGuard, OwnedMutexGuard};

/// What one cell knows of the names of others; by default there are no others. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Names(Arc<OfCell>);

#[derive(Debug, Default)]
struct OfCell {
    others: Option<(Arc<Directory>, Tenant)>,
    /// Who decides about a name at this moment.
    turns: Mutex<HashMap<AgentId, Weak<Turn<()>>>>,
    /// Held while an agent gets another second name.
    renames: Turn<()>,
    /// Names that are never released: an agent of this cell may get one that is not on record yet.
    kept: Mutex<HashSet<AgentId>>,
}

/// A name that is claimed for an agent of this cell: nobody else of the cell claims or releases it meanwhile. Dropping the claim
/// keeps the name, for nobody knows then whether an agent gets it.
#[derive(Debug)]
pub struct Claim {
    names: Names,
    name: AgentId,
    is_settled: bool,
    _turn: OwnedMutexGuard<()>,
}

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
    pub fn of(cell: Option<(Arc<Directory>, Tenant)>) -> Self {
        let others = cell.filter(|(directory, _)| directory.has_several());
        Self(Arc::new(OfCell { others, ..OfCell::default() }))
    }

    /// Whether other cells have agents, too.
    pub fn are_shared(&self) -> bool {
        self.0.others.is_some()
    }

    /// Whether an agent of that name is in this cell, or begins here.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn begins_here(&self, name: &AgentId) -> Result<bool, NameError> {
        let Some((directory, of)) = self.0.others.clone() else { return Ok(true) };
        let name = name.clone();
        Ok(spawn::blocking(move || directory.cell_of(name.as_str())).await?? == of.cell)
    }

    /// Takes a name for an agent of this cell. None where another cell has it.
    ///
    /// # Errors
    /// Likewise.
    pub async fn claim(&self, name: &AgentId) -> Result<Option<Claim>, NameError> {
        let turn = self.turn(name).lock_owned().await;
        if let Some((directory, of)) = self.0.others.clone() {
            let name = name.clone();
            if !spawn::blocking(move || directory.claim(name.as_str(), of.cell)).await?? {
                return Ok(None);
            }
        }
        Ok(Some(Claim { names: self.clone(), name: name.clone(), is_settled: false, _turn: turn }))
    }

    /// An agent of this cell has given up its second name, and that is on record: any cell may claim the name.
    pub async fn release(&self, name: &AgentId) {
        let _turn = self.turn(name).lock_owned().await;
        self.give_back(name).await;
    }

    /// Waits until no other agent of the cell is renamed.
    pub async fn renames(&self) -> TurnGuard<'_, ()> {
        self.0.renames.lock().await
    }

    /// What can't be released stays with this cell.
    async fn give_back(&self, name: &AgentId) {
        let Some((directory, of)) = self.0.others.clone().filter(|_| !self.kept().contains(name)) else {
            return;
        };
        let named = name.clone();
        let released = match spawn::blocking(move || directory.release(named.as_str(), of)).await {
            Ok(released) => released.map_err(NameError::from),
            Err(interrupted) => Err(interrupted.into()),
        };
        if let Err(problem) = released {
            tracing::warn!("the name {name} stays with cell {}: {problem}", of.cell.0);
        }
    }

    fn turn(&self, name: &AgentId) -> Arc<Turn<()>> {
        let mut turns = self.0.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.retain(|_, turn| turn.strong_count() > 0);
        if let Some(turn) = turns.get(name).and_then(Weak::upgrade) {
            return turn;
        }
        let turn = Arc::default();
        turns.insert(name.clone(), Arc::downgrade(&turn));
        turn
    }

    fn kept(&self) -> MutexGuard<'_, HashSet<AgentId>> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Claim {
    /// An agent has the name, and that is on record.
    pub fn had(mut self) {
        self.is_settled = true;
    }

    /// It is certain that no agent gets the name by this claim.
    pub async fn give_back(mut self) {
        self.is_settled = true;
        self.names.give_back(&self.name).await;
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if !self.is_settled {
            self.names.kept().insert(self.name.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn a_name_is_claimed_by_one_at_a_time_and_kept_where_the_end_is_not_known() {
        let (names, name) = (Names::default(), AgentId::new("zed").unwrap());
        let claim = names.claim(&name).await.unwrap().unwrap();
        let second = tokio::time::timeout(Duration::from_millis(50), names.claim(&name)).await;
        assert!(second.is_err(), "two at once");
        names.claim(&AgentId::new("other").unwrap()).await.unwrap().unwrap().had();
        claim.give_back().await;
        names.claim(&name).await.unwrap().unwrap().had();
        assert!(!names.kept().contains(&name));
        drop(names.claim(&name).await.unwrap());
        assert!(names.kept().contains(&name));
    }
}
