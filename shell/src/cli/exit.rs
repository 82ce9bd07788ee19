//! Exit codes (contract: surface.md).

use holon_core::Reject;
use holon_core::view::RunVerdict;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Completed = 0,
    Failed = 1,
    Usage = 2,
    NotFound = 3,
    RefusedByState = 4,
    Waiting = 7,
    Limit = 8,
    Interrupted = 130,
}

impl From<RunVerdict> for Exit {
    fn from(verdict: RunVerdict) -> Self {
        match verdict {
            RunVerdict::Completed => Self::Completed,
            RunVerdict::Failed => Self::Failed,
            RunVerdict::WaitingForTimer => Self::Waiting,
            RunVerdict::BudgetExhausted | RunVerdict::MaxTurnsExceeded => Self::Limit,
            RunVerdict::Aborted | RunVerdict::Interrupted => Self::Interrupted,
            RunVerdict::Stopped => Self::RefusedByState,
        }
    }
}

impl From<&Reject> for Exit {
    fn from(reject: &Reject) -> Self {
        match reject {
            Reject::UnknownAgent { .. } => Self::NotFound,
            Reject::AgentStopped { .. } | Reject::Draining => Self::RefusedByState,
            Reject::AgentExists { .. }
            | Reject::QueueFull { .. }
            | Reject::IdempotencyConflict { .. }
            | Reject::KindFromOrigin { .. }
            | Reject::PriorityFromOrigin { .. }
            | Reject::TooLarge { .. }
            | Reject::TooMany { .. }
            | Reject::StaleRunId { .. }
            | Reject::NoCurrentRun
            | Reject::TooManyAgents { .. } => Self::Failed,
        }
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
