//! What was spent on models, beside what may be.

use alloc::vec::Vec;

use holon_facts::budget::{Budget, BudgetKind, Period, Scope};
use holon_facts::config::Config;
use holon_facts::price::Amount;
use holon_facts::time::Wall;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::accounts::Accounts;
use crate::agent::Agent;

/// Of one agent, or of all together. Money counts where the models have prices.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Spending {
    pub total: Amount,
    /// Since midnight, UTC.
    pub today: Amount,
    /// What requests in flight may take.
    #[serde(default, skip_serializing_if = "Amount::is_nothing")]
    pub reserved: Amount,
    /// The budgets that there are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub budgets: Vec<BudgetState>,
}

/// A budget, and how much of it is left. Numbers are tokens, or millionths of a dollar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetState {
    #[serde(flatten)]
    pub budget: Budget,
    pub used: u64,
}

impl Spending {
    /// Of two hosts together, which have their budgets together.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let budgets = self.budgets.iter().zip(&other.budgets).map(|(own, other)| BudgetState {
            used: own.used.saturating_add(other.used),
            budget: own.budget,
        });
        Self {
            total: self.total.plus(other.total),
            today: self.today.plus(other.today),
            reserved: self.reserved.plus(other.reserved),
            budgets: budgets.collect(),
        }
    }

    /// Of an agent, with its own budgets and those of its turns.
    /// `others` of its tree have spent so much.
    pub(crate) fn of_agent(agent: &Agent, config: &Config, now: Wall, others: Amount) -> Self {
        let account = &agent.account;
        let turn = agent.run.as_ref().map(|run| run.spent).unwrap_or_default();
        let sums = (account.total, account.on(now.day()), turn);
        let mut spending = Self::new(config, sums, account.reserved(), |scope| match scope {
            Scope::Turn | Scope::Agent | Scope::Subtree => true,
            Scope::Runtime => false,
        });
        let of_tree = account.with_family().plus(others);
        for state in &mut spending.budgets {
            if state.budget.budget.scope() == Scope::Subtree {
                state.used = state.budget.budget.measure(of_tree);
            }
        }
        spending
    }

    pub(crate) fn of_runtime(accounts: &Accounts, config: &Config, now: Wall) -> Self {
        let sums = (accounts.total(), accounts.on(now.day()), Amount::default());
        Self::new(config, sums, accounts.reserved(), |scope| match scope {
            Scope::Runtime => true,
            Scope::Turn | Scope::Agent | Scope::Subtree => false,
        })
    }

    fn new(
        config: &Config,
        (total, today, turn): (Amount, Amount, Amount),
        reserved: Amount,
        concerns: impl Fn(Scope) -> bool,
    ) -> Self {
        let used = |budget: BudgetKind| match budget.period() {
            Period::All => total,
            Period::Day => today,
            Period::Turn => turn,
        };
        let bounds = config.budgets.bounds().filter(|(budget, _)| concerns(budget.scope()));
        let budgets = bounds.map(|(budget, limit)| BudgetState {
            budget: Budget { budget, limit },
            used: budget.measure(used(budget)),
        });
        Self { total, today, reserved, budgets: budgets.collect() }
    }
}
