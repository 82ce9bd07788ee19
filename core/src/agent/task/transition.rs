//! The one rule of changes: phases never go back, and the first end stays (contract: tasks.md).

use super::TaskStatus;

/// What becomes of a task that is said to have a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskTransition {
    Changes,
    /// It has that status already.
    Unchanged,
    /// It is past that, or has another end.
    Ignored,
}

impl TaskTransition {
    pub fn of(from: TaskStatus, to: TaskStatus) -> Self {
        use TaskStatus::{Cancelling, Queued, Running};
        if from == to {
            return Self::Unchanged;
        }
        let changes = match (from, to) {
            (Queued, Running) | (Running, Cancelling) => true,
            (Queued | Running | Cancelling, end) => end.is_terminal(),
            (
                TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Cancelled | TaskStatus::Interrupted,
                _,
            ) => false,
        };
        if changes { Self::Changes } else { Self::Ignored }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The graph of the contract, edge by edge.
    #[test]
    fn every_pair() {
        use TaskStatus::{Cancelled, Cancelling, Completed, Failed, Interrupted, Queued, Running};
        let ends = [Completed, Failed, Cancelled, Interrupted];
        let edges = |from: TaskStatus| -> &[TaskStatus] {
            match from {
                Queued => &[Running, Completed, Failed, Cancelled, Interrupted],
                Running => &[Cancelling, Completed, Failed, Cancelled, Interrupted],
                Cancelling => &ends,
                Completed | Failed | Cancelled | Interrupted => &[],
            }
        };
        for &from in TaskStatus::ALL {
            for &to in TaskStatus::ALL {
                let expected = if from == to {
                    TaskTransition::Unchanged
                } else if edges(from).contains(&to) {
                    TaskTransition::Changes
                } else {
                    TaskTransition::Ignored
                };
                assert_eq!(TaskTransition::of(from, to), expected, "{from} to {to}");
            }
        }
    }
}
