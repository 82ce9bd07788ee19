//! Budgets in tokens and money (contract: agent.md, Turns). What a request may take is reserved before it is sent, and
//! what it took is settled after it, against the day of the reservation. A budget that does not cover the next request
//! ends the turn; those that outlast a turn hold the agent until they are raised, those of a day until the next one.

use holon_facts::event::turn::BudgetReserved;
use holon_facts::ids::{OpId, RunId};
use holon_facts::price::Amount;
use holon_facts::time::Wall;
use serde::{Deserialize, Serialize};

/// What an agent has spent, and what it may be about to.
#[omit_none]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// In all.
    pub total: Amount,
    /// By children that have ended, and theirs.
    #[serde(default, skip_serializing_if = "Amount::is_nothing")]
    pub family: Amount,
    /// The day of the last reservation: so many days of UTC after 1970 began.
    pub day: i64,
    /// On that day.
    pub of_day: Amount,
    /// For the request of a turn.
    pub reserved: Option<Reservation>,
    /// For a summary.
    pub beside: Option<Reservation>,
}

/// What a request in flight may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservation {
    pub op: OpId,
    /// The run whose budget it is; earlier builds have that of the run in progress alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The day that it counts for; in states of earlier builds that of the account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day: Option<i64>,
    pub amount: Amount,
    /// The part that is taken by sending it.
    pub sent: Amount,
}

impl Account {
    /// What was spent on that day.
    pub fn on(&self, day: i64) -> Amount {
        if day == self.day { self.of_day } else { Amount::default() }
    }

    /// By the agent and all whom it supervised, as far as they have ended.
    pub fn with_family(&self) -> Amount {
        self.total.plus(self.family)
    }

    /// What requests in flight may take.
    pub fn reserved(&self) -> Amount {
        self.reservations().fold(Amount::default(), |sum, one| sum.plus(one.amount))
    }

    pub fn reservations(&self) -> impl Iterator<Item = Reservation> {
        self.reserved.into_iter().chain(self.beside)
    }

    /// What was reserved for an operation.
    pub(crate) fn reservation(&self, op: OpId) -> Option<Reservation> {
        self.reservations().find(|reservation| reservation.op == op)
    }

    /// For a summary where `beside` is true.
    pub(super) fn reserve(&mut self, fact: &BudgetReserved, beside: bool) {
        (self.of_day, self.day) = (self.on(fact.day), fact.day);
        let BudgetReserved { op, run_id, amount, sent, .. } = *fact;
        let place = if beside { &mut self.beside } else { &mut self.reserved };
        *place = Some(Reservation { op, run_id: Some(run_id), day: Some(fact.day), amount, sent });
    }

    /// What is settled for an earlier day than the one of the account counts in all alone.
    pub(super) fn settle(&mut self, op: OpId, day: i64, amount: Amount) {
        for place in [&mut self.reserved, &mut self.beside] {
            place.take_if(|reservation| reservation.op == op);
        }
        self.total = self.total.plus(amount);
        if day == self.day {
            self.of_day = self.of_day.plus(amount);
        }
    }

    /// What was spent, and reserved, on a day that has not come after all was so on the one that it is.
    pub(super) fn clock_stepped(&mut self, to: Wall) {
        self.day = self.day.min(to.day());
        for reservation in self.reserved.iter_mut().chain(&mut self.beside) {
            reservation.day = reservation.day.map(|day| day.min(to.day()));
        }
    }
}

/// What others than the agent have spent and reserved in the runtime.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Others {
    pub(crate) total: Amount,
    pub(crate) of_day: Amount,
    pub(crate) reserved: Amount,
    pub(crate) subtree: Subtree,
}

/// What all others of the agent's tree have spent and reserved; nothing where no budget asks for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Subtree {
    pub(crate) spent: Amount,
    pub(crate) reserved: Amount,
}
