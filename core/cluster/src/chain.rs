//! The end of one cell's log as its owner knows it: the head that is durable, and the batches that are to follow it. Each
//! batch names the link of the one before it, so only the first may be on its way, and what became of it can always be found out.

use alloc::collections::VecDeque;

use crate::ask::{Part, Refusal, Stopped};
use crate::ids::{BatchNumber, CellId, Epoch, Head, Link};
use crate::time::Mono;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Chain {
    head: Head,
    batches: VecDeque<Link>,
    flight: Flight,
    /// Appends in a row that wrote nothing although the head was the expected one.
    refusals: u8,
    /// The statement that the first batch shared with others broke a rule: it goes by itself.
    alone: bool,
}

/// Where the first batch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Flight {
    /// Here, and to be sent from this moment on.
    Here {
        from: Mono,
    },
    Sent {
        connection: u8,
    },
    /// Perhaps in the log; to be settled from this moment on.
    Unknown {
        from: Mono,
    },
    Settling,
}

/// What the row of the cell says about the first batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Settlement {
    Landed(BatchNumber),
    /// The same batch again.
    Again,
    Broken(Stopped),
}

impl Chain {
    pub(crate) fn new(head: Head) -> Self {
        let flight = Flight::Here { from: Mono(0) };
        Self { head, batches: VecDeque::new(), flight, refusals: 0, alone: false }
    }

    pub(crate) fn head(&self) -> Head {
        self.head
    }

    pub(crate) fn len(&self) -> usize {
        self.batches.len()
    }

    pub(crate) fn is_settling(&self) -> bool {
        self.flight == Flight::Settling
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    pub(crate) fn next(&self) -> BatchNumber {
        BatchNumber(self.head.batch.0.saturating_add(self.batches.len() as u64).saturating_add(1))
    }

    pub(crate) fn push(&mut self, batch: BatchNumber, link: Link, limit: usize) -> Result<(), Refusal> {
        if batch != self.next() {
            return Err(Refusal::NotNext { expected: self.next() });
        }
        if self.batches.len() >= limit {
            return Err(Refusal::Full);
        }
        self.batches.push_back(link);
        Ok(())
    }

    pub(crate) fn is_ready(&self, now: Mono) -> bool {
        !self.is_empty() && matches!(self.flight, Flight::Here { from } if from <= now)
    }

    pub(crate) fn goes_alone(&self) -> bool {
        self.alone
    }

    /// The first batch, on its way over this connection.
    pub(crate) fn send(&mut self, cell: CellId, epoch: Epoch, connection: u8) -> Option<Part> {
        let link = *self.batches.front()?;
        self.flight = Flight::Sent { connection };
        Some(Part { cell, epoch, after: self.head, link })
    }

    pub(crate) fn is_on(&self, connection: u8) -> bool {
        self.flight == Flight::Sent { connection }
    }

    /// The first batch is in the log.
    pub(crate) fn landed(&mut self) -> BatchNumber {
        let batch = self.head.batch.next();
        if let Some(link) = self.batches.pop_front() {
            self.head = Head { batch, link };
        }
        self.flight = Flight::Here { from: Mono(0) };
        (self.refusals, self.alone) = (0, false);
        self.head.batch
    }

    /// The statement was rolled back: nothing of it can ever be in the log.
    pub(crate) fn rolled_back(&mut self, again_from: Mono, alone: bool) {
        self.flight = Flight::Here { from: again_from };
        self.alone |= alone;
    }

    /// The statement may have written the first batch, or may still.
    pub(crate) fn unknown(&mut self, settle_from: Mono) {
        self.flight = Flight::Unknown { from: settle_from };
    }

    /// The statement did not write the first batch: the row of the cell says why.
    pub(crate) fn refused(&mut self, now: Mono) {
        self.refusals = self.refusals.saturating_add(1);
        self.flight = Flight::Unknown { from: now };
    }

    pub(crate) fn to_settle(&self, now: Mono) -> bool {
        matches!(self.flight, Flight::Unknown { from } if from <= now)
    }

    pub(crate) fn settling(&mut self) {
        self.flight = Flight::Settling;
    }

    /// The row of the cell, in the own epoch, at a moment after the statement whose outcome was unknown was begun or lost.
    pub(crate) fn settle(&mut self, found: Head, refusals: u8) -> Settlement {
        let expected = self.head;
        let first = self.batches.front().map(|link| Head { batch: expected.batch.next(), link: *link });
        if first == Some(found) {
            return Settlement::Landed(self.landed());
        }
        if expected.contradicts(found) {
            return Settlement::Broken(Stopped::HistoryLost { remembered: expected, found });
        }
        if found != expected || self.refusals >= refusals {
            return Settlement::Broken(Stopped::Conflict { expected, found });
        }
        self.flight = Flight::Here { from: Mono(0) };
        Settlement::Again
    }

    /// When there is something to do that only waits for time.
    pub(crate) fn deadline(&self) -> Option<Mono> {
        match self.flight {
            Flight::Here { from } => Some(from).filter(|_| !self.is_empty()),
            Flight::Unknown { from } => Some(from),
            Flight::Sent { .. } | Flight::Settling => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::tests::head;

    const CELL: CellId = CellId(7);
    const EPOCH: Epoch = Epoch(3);

    fn chain(links: &[u8]) -> Chain {
        let mut chain = Chain::new(head(10, 1));
        for link in links {
            chain.push(chain.next(), Link([*link; 32]), 4).unwrap();
        }
        chain
    }

    fn sent(links: &[u8]) -> Chain {
        let mut chain = chain(links);
        chain.send(CELL, EPOCH, 0).unwrap();
        chain
    }

    #[test]
    fn a_batch_names_the_one_before_it() {
        let mut chain = chain(&[2, 3]);
        let part = chain.send(CELL, EPOCH, 1).unwrap();
        assert_eq!((part.after, part.link), (head(10, 1), Link([2; 32])));
        assert!(chain.is_on(1) && !chain.is_ready(Mono(9)), "the second waits for the first");
        assert_eq!(chain.landed(), BatchNumber(11));
        let part = chain.send(CELL, EPOCH, 0).unwrap();
        assert_eq!((part.after, part.link), (head(11, 2), Link([3; 32])));
    }

    #[test]
    fn batches_are_taken_in_order_and_up_to_a_limit() {
        let mut chain = chain(&[2]);
        let link = Link([9; 32]);
        assert_eq!(chain.push(BatchNumber(11), link, 4), Err(Refusal::NotNext { expected: BatchNumber(12) }));
        assert_eq!(chain.push(BatchNumber(12), link, 1), Err(Refusal::Full));
        assert_eq!(chain.push(BatchNumber(12), link, 2), Ok(()));
    }

    #[test]
    fn an_unknown_outcome_is_settled_by_the_row() {
        let mut landed = sent(&[2, 3]);
        landed.unknown(Mono(5));
        assert!(!landed.to_settle(Mono(4)) && landed.to_settle(Mono(5)) && !landed.is_ready(Mono(5)));
        assert_eq!(landed.settle(head(11, 2), 5), Settlement::Landed(BatchNumber(11)));

        let mut not = sent(&[2, 3]);
        not.unknown(Mono(5));
        assert_eq!(not.settle(head(10, 1), 5), Settlement::Again);
        let part = not.send(CELL, EPOCH, 0).unwrap();
        assert_eq!((part.after, part.link), (head(10, 1), Link([2; 32])), "the same batch, no other");
    }

    #[test]
    fn a_repetition_that_the_lost_statement_overtook_has_landed() {
        let mut chain = sent(&[2]);
        chain.unknown(Mono(0));
        assert_eq!(chain.settle(head(10, 1), 5), Settlement::Again);
        chain.send(CELL, EPOCH, 0).unwrap();
        chain.refused(Mono(1));
        assert_eq!(chain.settle(head(11, 2), 5), Settlement::Landed(BatchNumber(11)));
    }

    #[test]
    fn a_log_that_went_back_or_elsewhere_stops_the_cell() {
        let settle = |found| {
            let mut chain = sent(&[2]);
            chain.unknown(Mono(0));
            chain.settle(found, 5)
        };
        let (expected, lost) = (head(10, 1), |found| Stopped::HistoryLost { remembered: head(10, 1), found });
        assert_eq!(settle(head(9, 1)), Settlement::Broken(lost(head(9, 1))));
        assert_eq!(settle(head(10, 8)), Settlement::Broken(lost(head(10, 8))));
        for found in [head(11, 8), head(12, 2)] {
            assert_eq!(settle(found), Settlement::Broken(Stopped::Conflict { expected, found }));
        }
    }

    #[test]
    fn refusals_without_a_cause_end_in_a_conflict() {
        let mut chain = sent(&[2]);
        let found = head(10, 1);
        for _ in 0..2 {
            chain.refused(Mono(0));
            assert_eq!(chain.settle(found, 3), Settlement::Again);
        }
        chain.refused(Mono(0));
        assert_eq!(chain.settle(found, 3), Settlement::Broken(Stopped::Conflict { expected: found, found }));
    }

    #[test]
    fn what_was_rolled_back_goes_again_later_and_alone_if_it_was_a_defect() {
        let mut chain = sent(&[2]);
        chain.rolled_back(Mono(50), true);
        assert_eq!(chain.deadline(), Some(Mono(50)));
        assert!(!chain.is_ready(Mono(49)) && chain.is_ready(Mono(50)) && chain.goes_alone());
        chain.send(CELL, EPOCH, 0).unwrap();
        chain.landed();
        assert!(!chain.goes_alone());
    }
}
