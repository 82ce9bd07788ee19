//! Budgets by what they bound, and over what time.

use alloc::string::{String, ToString};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::price::{Amount, Cost};
use crate::terminal::TurnReason;

names! {
    /// What a budget bounds, and over what time. One that needs somebody to raise it is named before one that a new day
    /// or a new turn has again.
    BudgetKind {
        AgentTokens "agent_tokens", AgentCost "agent_cost",
        SubtreeTokens "subtree_tokens", SubtreeCost "subtree_cost",
        RuntimeTokens "runtime_tokens", RuntimeCost "runtime_cost",
        AgentDayTokens "agent_day_tokens", AgentDayCost "agent_day_cost",
        RuntimeDayTokens "runtime_day_tokens", RuntimeDayCost "runtime_day_cost",
        TurnTokens "turn_tokens", TurnCost "turn_cost",
    }
}

/// For how long what was spent counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Period {
    Turn,
    /// A day of UTC.
    Day,
    All,
}

/// Of whom it counts what was spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Turn,
    Agent,
    /// An agent that nobody supervises, with all whom it does, and those whom they do.
    Subtree,
    Runtime,
}

impl BudgetKind {
    /// Whose spending it counts, over what time, and whether it counts money rather than tokens.
    pub fn counts(self) -> (Scope, Period, bool) {
        match self {
            Self::AgentTokens => (Scope::Agent, Period::All, false),
            Self::AgentCost => (Scope::Agent, Period::All, true),
            Self::SubtreeTokens => (Scope::Subtree, Period::All, false),
            Self::SubtreeCost => (Scope::Subtree, Period::All, true),
            Self::RuntimeTokens => (Scope::Runtime, Period::All, false),
            Self::RuntimeCost => (Scope::Runtime, Period::All, true),
            Self::AgentDayTokens => (Scope::Agent, Period::Day, false),
            Self::AgentDayCost => (Scope::Agent, Period::Day, true),
            Self::RuntimeDayTokens => (Scope::Runtime, Period::Day, false),
            Self::RuntimeDayCost => (Scope::Runtime, Period::Day, true),
            Self::TurnTokens => (Scope::Turn, Period::Turn, false),
            Self::TurnCost => (Scope::Turn, Period::Turn, true),
        }
    }

    pub fn scope(self) -> Scope {
        self.counts().0
    }

    pub fn period(self) -> Period {
        self.counts().1
    }

    pub fn is_of_money(self) -> bool {
        self.counts().2
    }

    /// As the reason of a turn's end.
    pub fn reason(self) -> TurnReason {
        match self {
            Self::AgentTokens => TurnReason::AgentTokens,
            Self::AgentCost => TurnReason::AgentCost,
            Self::SubtreeTokens => TurnReason::SubtreeTokens,
            Self::SubtreeCost => TurnReason::SubtreeCost,
            Self::RuntimeTokens => TurnReason::RuntimeTokens,
            Self::RuntimeCost => TurnReason::RuntimeCost,
            Self::AgentDayTokens => TurnReason::AgentDayTokens,
            Self::AgentDayCost => TurnReason::AgentDayCost,
            Self::RuntimeDayTokens => TurnReason::RuntimeDayTokens,
            Self::RuntimeDayCost => TurnReason::RuntimeDayCost,
            Self::TurnTokens => TurnReason::TurnTokens,
            Self::TurnCost => TurnReason::TurnCost,
        }
    }

    /// What of an amount it counts: tokens, or millionths of a dollar.
    pub fn measure(self, amount: Amount) -> u64 {
        if self.is_of_money() { amount.cost_micros.0 } else { amount.tokens }
    }

    /// A number of it as people read it.
    pub fn format(self, number: u64) -> String {
        if self.is_of_money() { Cost(number).to_string() } else { format!("{number} tokens") }
    }
}

/// A budget with its limit, in tokens or millionths of a dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Budget {
    pub budget: BudgetKind,
    pub limit: u64,
}

impl Budget {
    /// Whether the budget is larger by now, or no bound any more.
    pub fn is_raised(&self, budgets: &Budgets) -> bool {
        budgets.limit(self.budget).is_none_or(|limit| limit > self.limit)
    }
}

/// What may be spent (contract: agent.md, Turns); none is no bound.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Budgets {
    /// By one turn.
    pub turn: Bounds,
    /// By each agent, in all and in a day of UTC.
    pub agent: Bounds,
    pub agent_day: Bounds,
    /// By an agent with all whom it supervises, and those whom they do.
    pub subtree: Bounds,
    /// By all agents together.
    pub runtime: Bounds,
    pub runtime_day: Bounds,
}

/// Input and output tokens of all requests, and what they cost.
#[omit_none]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    pub tokens: Option<u64>,
    pub cost_micros: Option<Cost>,
}

impl Budgets {
    /// The limit of a budget, in tokens or millionths of a dollar.
    pub fn limit(&self, budget: BudgetKind) -> Option<u64> {
        let (scope, period, of_money) = budget.counts();
        let bounds = match (scope, period) {
            (Scope::Turn, _) => self.turn,
            (Scope::Agent, Period::Day) => self.agent_day,
            (Scope::Agent, Period::All | Period::Turn) => self.agent,
            (Scope::Subtree, _) => self.subtree,
            (Scope::Runtime, Period::Day) => self.runtime_day,
            (Scope::Runtime, Period::All | Period::Turn) => self.runtime,
        };
        if of_money { bounds.cost_micros.map(|cost| cost.0) } else { bounds.tokens }
    }

    /// Those that there are, with their limits.
    pub fn bounds(&self) -> impl Iterator<Item = (BudgetKind, u64)> + use<> {
        let budgets = *self;
        BudgetKind::ALL.iter().filter_map(move |budget| Some((*budget, budgets.limit(*budget)?)))
    }

    /// The first that counts money.
    pub fn of_money(&self) -> Option<BudgetKind> {
        self.bounds().map(|(budget, _)| budget).find(|budget| budget.is_of_money())
    }

    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}
