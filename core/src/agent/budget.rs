//! Budgets in tokens and money (contract: agent.md, Turns). What a request may take is reserved before it is sent, and
//! what it took is settled after it, against the day of the reservation. A budget that does not cover the next request
//! ends the turn; those that outlast a turn hold the agent until they are raised, those of a day until the next one.

use holon_facts::event::turn::BudgetReserved;
use holon_facts::ids::OpId;
use holon_facts::price::Amount;
use holon_facts::time::Wall;
use serde::{Deserialize, Serialize};

/// What an agent has spent, and what it may be about to.
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved: Option<Reservation>,
}

/// What the request in flight may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservation {
    pub op: OpId,
    pub amount: Amount,
    /// The part that is taken by sending it.
    pub sent: Amount,
}

impl Account {
    pub(crate) fn is_fresh(&self) -> bool {
        *self == Self::default()
    }

    /// What was spent on that day.
    pub fn on(&self, day: i64) -> Amount {
        if day == self.day { self.of_day } else { Amount::default() }
    }

    /// By the agent and all whom it supervised, as far as they have ended.
    pub fn with_family(&self) -> Amount {
        self.total.plus(self.family)
    }

    /// What the request in flight may take.
    pub fn reserved(&self) -> Amount {
        self.reserved.map(|reservation| reservation.amount).unwrap_or_default()
    }

    pub(super) fn reserve(&mut self, fact: &BudgetReserved) {
        (self.of_day, self.day) = (self.on(fact.day), fact.day);
        self.reserved = Some(Reservation { op: fact.op, amount: fact.amount, sent: fact.sent });
    }

    pub(super) fn settle(&mut self, amount: Amount) {
        self.reserved = None;
        self.total = self.total.plus(amount);
        self.of_day = self.of_day.plus(amount);
    }

    /// What was spent on a day that has not come after all was spent on the one that it is.
    pub(super) fn clock_stepped(&mut self, to: Wall) {
        self.day = self.day.min(to.day());
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
