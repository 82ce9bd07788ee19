//! What requests to models may take, and what they took.

use alloc::vec::Vec;

use holon_facts::budget::{Budget, Period};
use holon_facts::event::TurnFact;
use holon_facts::event::operation::OpKind;
use holon_facts::event::turn::BudgetReserved;
use holon_facts::ids::OpId;
use holon_facts::time::Wall;

use super::Past;

/// Of requests in flight.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spending {
    /// Earlier builds reserved nothing.
    counts: bool,
    /// It was opened, and nothing is reserved for it yet.
    pub(crate) promised: Option<OpId>,
    /// For the request of a turn, and for a summary.
    pub(crate) reserved: Vec<BudgetReserved>,
    /// What the run in progress exhausted.
    pub(crate) exhausted: Option<Budget>,
}

impl Spending {
    pub(super) fn opened(&mut self, op: OpId, kind: OpKind) {
        if kind.asks_a_model() && self.counts {
            self.promised = Some(op);
        }
    }

    /// What was reserved for a day that has not come after all counts for the one that it is.
    pub(super) fn stepped(&mut self, to: Wall) {
        for reserved in &mut self.reserved {
            reserved.day = reserved.day.min(to.day());
        }
    }

    /// What is reserved for an operation.
    pub(crate) fn of(&self, op: OpId) -> Option<&BudgetReserved> {
        self.reserved.iter().find(|reserved| reserved.op == op)
    }

    pub(super) fn follow(&mut self, fact: &TurnFact) {
        match fact {
            TurnFact::BudgetReserved(fact) => {
                self.counts = true;
                self.promised = None;
                self.reserved.push((**fact).clone());
            }
            TurnFact::BudgetSettled(fact) => self.reserved.retain(|reserved| reserved.op != fact.op),
            TurnFact::BudgetExhausted(fact) => {
                self.exhausted = Some(Budget { budget: fact.budget, limit: fact.limit });
            }
            TurnFact::TurnTerminal(_) => self.exhausted = None,
            TurnFact::TurnStarted(_)
            | TurnFact::TurnContextBuilt(_)
            | TurnFact::ToolsCatalogued(_)
            | TurnFact::ProviderAttemptRecorded(_)
            | TurnFact::ProviderRoundCompleted(_)
            | TurnFact::ProvidersAwaited(_)
            | TurnFact::AssistantRoundRecorded(_)
            | TurnFact::ToolStarted(_)
            | TurnFact::ToolExecuted(_)
            | TurnFact::ToolExecutionFailed(_)
            | TurnFact::ReminderInjected(_)
            | TurnFact::ContextCompacted(_)
            | TurnFact::RuntimeError(_) => {}
        }
    }
}

impl Past {
    /// The budget that outlasts the run in progress and does not cover its next request.
    pub(crate) fn lacks(&self) -> Option<Budget> {
        self.spending.exhausted.filter(|budget| budget.budget.period() != Period::Turn)
    }
}
