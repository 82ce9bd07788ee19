//! One cell of this node: in which epoch, how far it is, and the end of its log.

use crate::ask::Stopped;
use crate::chain::Chain;
use crate::ids::{Acceptance, Epoch, NodeId};
use crate::input::Claimed;
use crate::memory::Remembered;
use crate::time::Mono;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Cell {
    pub(crate) epoch: Epoch,
    pub(crate) phase: Phase,
    pub(crate) chain: Chain,
    /// The latest loss of it that operators had accepted when its epoch began.
    pub(crate) acceptance: Acceptance,
    /// Whether it has a host in this process.
    pub(crate) hosted: bool,
    /// When its newest batch landed: of two cells, the one that has been quiet for longer moves.
    pub(crate) active: Mono,
}

/// How far an owner is with a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Phase {
    /// Its host is loaded, and writes the first batch of its epoch.
    TakingOver {
        until: Mono,
    },
    Serving,
    /// Its host writes its last batch.
    Draining {
        to: Option<NodeId>,
        until: Mono,
    },
    /// Nothing is written any more: it is released as soon as all is settled, from this moment on.
    Releasing {
        to: Option<NodeId>,
        from: Mono,
    },
    /// It is for another node to claim.
    Offered {
        until: Mono,
    },
    /// It works no more.
    Stopped(Stopped),
}

impl Cell {
    pub(crate) fn taking_over(claimed: Claimed, now: Mono, until: Mono) -> Self {
        let Claimed { epoch, head, acceptance, .. } = claimed;
        let phase = Phase::TakingOver { until };
        Self { epoch, phase, chain: Chain::new(head), acceptance, hosted: true, active: now }
    }

    /// What is remembered of it.
    pub(crate) fn known(&self) -> Remembered {
        Remembered { epoch: self.epoch, head: self.chain.head(), acceptance: self.acceptance }
    }

    /// Whether its host may give another batch.
    pub(crate) fn takes_batches(&self) -> bool {
        match self.phase {
            Phase::TakingOver { .. } | Phase::Serving | Phase::Draining { .. } => true,
            Phase::Releasing { .. } | Phase::Offered { .. } | Phase::Stopped(_) => false,
        }
    }

    /// Whether effects may begin, as far as the cell is concerned.
    pub(crate) fn performs(&self) -> bool {
        matches!(self.phase, Phase::Serving | Phase::Draining { .. })
    }

    /// Whether batches may be sent and settled: those of a host that is released are.
    pub(crate) fn writes(&self) -> bool {
        match self.phase {
            Phase::TakingOver { .. } | Phase::Serving | Phase::Draining { .. } | Phase::Releasing { .. } => {
                true
            }
            Phase::Offered { .. } | Phase::Stopped(_) => false,
        }
    }

    /// Whether it is on its way to another owner.
    pub(crate) fn leaves(&self) -> bool {
        match self.phase {
            Phase::Draining { .. } | Phase::Releasing { .. } | Phase::Offered { .. } => true,
            Phase::TakingOver { .. } | Phase::Serving | Phase::Stopped(_) => false,
        }
    }

    /// When there is something to do that only waits for time.
    pub(crate) fn deadline(&self) -> Option<Mono> {
        let of_phase = match self.phase {
            Phase::TakingOver { until } | Phase::Draining { until, .. } | Phase::Offered { until } => {
                Some(until)
            }
            Phase::Releasing { from, .. } => Some(from).filter(|_| self.chain.is_empty()),
            Phase::Serving | Phase::Stopped(_) => None,
        };
        of_phase.into_iter().chain(self.chain.deadline().filter(|_| self.writes())).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{BatchNumber, CellId, Head, Link};

    const CLAIMED: Claimed = Claimed {
        cell: CellId(1),
        epoch: Epoch(1),
        head: Head { batch: BatchNumber(0), link: Link([0; 32]) },
        acceptance: Acceptance(0),
    };

    #[test]
    fn a_cell_performs_only_between_its_first_batch_and_its_last() {
        let mut cell = Cell::taking_over(CLAIMED, Mono(0), Mono(60));
        assert!(cell.takes_batches() && !cell.performs());
        cell.phase = Phase::Serving;
        assert!(cell.takes_batches() && cell.performs());
        cell.phase = Phase::Draining { to: None, until: Mono(9) };
        assert!(cell.takes_batches() && cell.performs() && cell.leaves());
        cell.phase = Phase::Releasing { to: None, from: Mono(0) };
        assert!(!cell.takes_batches() && !cell.performs() && cell.writes());
    }

    #[test]
    fn a_release_waits_for_what_is_not_durable() {
        let mut cell = Cell::taking_over(CLAIMED, Mono(0), Mono(60));
        cell.chain.push(BatchNumber(1), Link([1; 32]), 1).unwrap();
        cell.chain.send(CellId(1), cell.epoch, 0).unwrap();
        cell.phase = Phase::Releasing { to: None, from: Mono(5) };
        assert_eq!(cell.deadline(), None);
        cell.chain.landed();
        assert_eq!(cell.deadline(), Some(Mono(5)));
    }
}
