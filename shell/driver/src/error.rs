//! Why the driver can't go on, or one agent can't be brought into memory.

use holon_core::host::RestoreError;
use holon_facts::AgentId;
use holon_law::Violation;
use holon_ledger::StoreError;

/// Nothing new is taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the disk of the ledger is full (a home keeps 32 MiB in reserve): free some space and try again")]
pub struct DiskFull;

/// The runtime can't go on; what the ledger acknowledged is safe.
#[derive(Debug, thiserror::Error)]
pub enum EngineError<E: StoreError> {
    #[error("the ledger failed, so the runtime ends: {0}")]
    Ledger(#[source] E),
    #[error(transparent)]
    DiskFull(DiskFull),
    #[error("the agent {agent} can't be loaded: {damage}")]
    Damaged { agent: AgentId, damage: Damage<E> },
    #[error(
        "a law is broken, so the runtime ends: {0}. This is a defect of Holon; nothing was done on the ground of \
         that record, and `holon ledger verify` shows it"
    )]
    Law(#[source] Violation),
}

/// Why the log of an agent gives no state.
#[derive(Debug, thiserror::Error)]
pub enum Damage<E: StoreError> {
    #[error(transparent)]
    Unreadable(E),
    #[error(transparent)]
    Unfit(RestoreError),
}

/// One agent that can't be brought into memory.
#[derive(Debug, thiserror::Error)]
pub enum LoadError<E: StoreError> {
    /// Its log is damaged, or this build can't read it: nobody else is concerned.
    #[error("{agent} can't be loaded: {damage}")]
    Damaged { agent: AgentId, damage: Damage<E> },
    /// Bringing it in takes room that there is none of.
    #[error(transparent)]
    DiskFull(#[from] DiskFull),
    /// The runtime can't go on.
    #[error(transparent)]
    Driver(#[from] EngineError<E>),
}

impl<E: StoreError> EngineError<E> {
    /// Whether it is so for the moment: another start may succeed.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Ledger(error) | Self::Damaged { damage: Damage::Unreadable(error), .. } => {
                error.is_temporary()
            }
            Self::DiskFull(_) | Self::Damaged { damage: Damage::Unfit(_), .. } | Self::Law(_) => false,
        }
    }
}

impl<E: StoreError> From<E> for EngineError<E> {
    fn from(error: E) -> Self {
        Self::Ledger(error)
    }
}

impl<E: StoreError> From<LoadError<E>> for EngineError<E> {
    fn from(error: LoadError<E>) -> Self {
        match error {
            LoadError::Damaged { agent, damage } => Self::Damaged { agent, damage },
            LoadError::Driver(error) => error,
            LoadError::DiskFull(full) => Self::DiskFull(full),
        }
    }
}
