//! What all agents have spent together, whether they are in memory or not.

use alloc::collections::BTreeMap;

use holon_facts::price::Amount;

use crate::agent::budget::{Account, Others, Subtree};

/// The sum of their accounts. It follows from them: a start of the runtime adds up what it finds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Accounts {
    total: Amount,
    /// By the day of each account's last reservation.
    days: BTreeMap<i64, Amount>,
    /// By requests in flight.
    reserved: Amount,
}

impl Accounts {
    pub fn add(&mut self, account: &Account) {
        self.total = self.total.plus(account.total);
        self.reserved = self.reserved.plus(account.reserved());
        if !account.of_day.is_nothing() {
            let day = self.days.entry(account.day).or_default();
            *day = day.plus(account.of_day);
        }
    }

    /// Everything but what a request in flight may take, of an agent that is not in memory.
    pub fn add_absent(&mut self, account: &Account) {
        self.add(&Account { reserved: None, beside: None, ..*account });
    }

    pub fn total(&self) -> Amount {
        self.total
    }

    pub fn reserved(&self) -> Amount {
        self.reserved
    }

    /// What was spent on that day.
    pub fn on(&self, day: i64) -> Amount {
        self.days.get(&day).copied().unwrap_or_default()
    }

    /// An agent has come into memory: only what its request in flight may take is new.
    pub(crate) fn admitted(&mut self, account: &Account) {
        self.reserved = self.reserved.plus(account.reserved());
    }

    pub(crate) fn changed(&mut self, before: &Account, after: &Account) {
        if before == after {
            return;
        }
        self.total = self.total.minus(before.total);
        self.reserved = self.reserved.minus(before.reserved());
        if let Some(day) = self.days.get_mut(&before.day) {
            *day = day.minus(before.of_day);
        }
        self.add(after);
        self.days.retain(|_, amount| !amount.is_nothing());
    }

    /// All but one of them, on that day.
    pub(crate) fn without(&self, account: &Account, day: i64) -> Others {
        Others {
            total: self.total.minus(account.total),
            of_day: self.on(day).minus(account.on(day)),
            reserved: self.reserved.minus(account.reserved()),
            subtree: Subtree::default(),
        }
    }
}
