//! What all agents have spent together, whether they are in memory or not.

use alloc::collections::BTreeMap;

use holon_facts::ids::AgentId;
use holon_facts::price::Amount;

use super::Host;
use crate::agent::Agent;
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
        self.add(&Account { reserved: None, ..*account });
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
    pub(super) fn admitted(&mut self, account: &Account) {
        self.reserved = self.reserved.plus(account.reserved());
    }

    pub(super) fn changed(&mut self, before: &Account, after: &Account) {
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
    pub(super) fn without(&self, account: &Account, day: i64) -> Others {
        Others {
            total: self.total.minus(account.total),
            of_day: self.on(day).minus(account.on(day)),
            reserved: self.reserved.minus(account.reserved()),
            subtree: Subtree::default(),
        }
    }
}

impl Host {
    /// What the tree that an agent belongs to has spent and reserved, itself left out. Whoever has a living child is in
    /// memory.
    pub(crate) fn subtree_without(&self, id: &AgentId) -> Subtree {
        let mut root = id;
        while let Some(supervisor) = self.agent(root).and_then(|agent| agent.spec.supervisor.as_ref()) {
            root = &supervisor.agent_id;
        }
        let (mut all, mut left) = (Subtree::default(), alloc::vec![root]);
        while let Some(next) = left.pop() {
            let account = match self.agent(next) {
                Some(agent) => {
                    for (task, child) in agent.tasks.children() {
                        // Who has said how it ended may be in memory no more.
                        match &task.child_end {
                            Some(end) => all.spent = all.spent.plus(end.spent),
                            None => left.push(&child.child_agent_id),
                        }
                    }
                    agent.account
                }
                None => self.observed.get(next).map(|parked| parked.account).unwrap_or_default(),
            };
            if next != id {
                all.spent = all.spent.plus(account.with_family());
                all.reserved = all.reserved.plus(account.reserved());
            }
        }
        if let Some(agent) = self.agent(id)
            && self.is_counted_with_its_supervisor(agent)
        {
            all.spent = all.spent.minus(agent.account.with_family());
        }
        all
    }

    /// Whether the supervisor has taken over what an agent has spent that has ended.
    fn is_counted_with_its_supervisor(&self, agent: &Agent) -> bool {
        let supervisor = agent.spec.supervisor.as_ref().and_then(|by| self.agent(&by.agent_id));
        let goes_on = |by: &Agent| by.tasks.of_child(&agent.id).is_some_and(|task| task.child_end.is_none());
        supervisor.is_some_and(|by| !goes_on(by))
    }
}
