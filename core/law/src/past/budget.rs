//! What requests to models may take, and what they took.

use holon_facts::budget::{Budget, Period};
use holon_facts::event::TurnFact;
use holon_facts::event::operation::OpKind;
use holon_facts::event::turn::BudgetReserved;
use holon_facts::ids::OpId;
use holon_facts::time::Wall;

use super::Past;

/// Of the request in flight.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spending {
    /// Earlier builds reserved nothing.
    counts: bool,
    /// It was opened, and nothing is reserved for it yet.
    pub(crate) promised: Option<OpId>,
    pub(crate) reserved: Option<BudgetReserved>,
    /// What the run in progress exhausted.
    pub(crate) exhausted: Option<Budget>,
}

impl Spending {
    pub(super) fn opened(&mut self, op: OpId, kind: OpKind) {
        if kind == OpKind::CallModel && self.counts {
            self.promised = Some(op);
        }
    }

    /// What was reserved for a day that has not come after all counts for the one that it is.
    pub(super) fn stepped(&mut self, to: Wall) {
        if let Some(reserved) = &mut self.reserved {
            reserved.day = reserved.day.min(to.day());
        }
    }

    pub(super) fn follow(&mut self, fact: &TurnFact) {
        match fact {
            TurnFact::BudgetReserved(fact) => {
                self.counts = true;
                (self.promised, self.reserved) = (None, Some((**fact).clone()));
            }
            TurnFact::BudgetSettled(_) => self.reserved = None,
            TurnFact::BudgetExhausted(fact) => {
                self.exhausted = Some(Budget { budget: fact.budget, limit: fact.limit });
            }
            TurnFact::TurnTerminal(_) => self.exhausted = None,
            _ => {}
        }
    }
}

impl Past {
    /// The budget that outlasts the run in progress and does not cover its next request.
    pub(crate) fn lacks(&self) -> Option<Budget> {
        self.spending.exhausted.filter(|budget| budget.budget.period() != Period::Turn)
    }
}
