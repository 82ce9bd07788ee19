//! What is lent to this host of the budgets that several hosts have together (contract: scale.md, Cells).

use alloc::collections::BTreeMap;

use holon_facts::budget::BudgetKind;
use serde::{Deserialize, Serialize};

/// What a host needs of such a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loan {
    pub budget: BudgetKind,
    /// Days since 1970, of a budget that each day has anew; of others 0.
    #[serde(default, skip_serializing_if = "holon_facts::is_default")]
    pub day: i64,
    /// In all, with what was lent before; in tokens or millionths of a dollar.
    pub needed: u64,
    /// What all hosts may spend together.
    pub limit: u64,
}

/// The answer to a [`Loan`]. What was lent once is not taken back: it covers what was spent, and the rest is
/// spent here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    pub budget: BudgetKind,
    #[serde(default, skip_serializing_if = "holon_facts::is_default")]
    pub day: i64,
    /// All that was lent by now.
    pub lent: u64,
    /// So much was needed and is not to be had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<u64>,
}

/// The last of them by what they are about. They end with their process: the next one asks again.
#[derive(Debug, Clone, Default)]
pub struct Grants(BTreeMap<BudgetKind, Grant>);

impl Grants {
    /// An answer may be late: what is known by then counts as well.
    pub fn note(&mut self, grant: Grant) {
        let known = self.0.entry(grant.budget).or_insert(grant);
        if known.day == grant.day {
            known.lent = known.lent.max(grant.lent);
            known.refused = [known.refused, grant.refused].into_iter().flatten().min();
        } else {
            *known = grant;
        }
    }

    pub fn lent(&self, budget: BudgetKind, day: i64) -> u64 {
        self.of(budget, day).map_or(0, |grant| grant.lent)
    }

    /// Whether so much in all is known not to be had.
    pub fn refuses(&self, budget: BudgetKind, day: i64, needed: u64) -> bool {
        self.of(budget, day).and_then(|grant| grant.refused).is_some_and(|refused| refused <= needed)
    }

    fn of(&self, budget: BudgetKind, day: i64) -> Option<&Grant> {
        self.0.get(&budget).filter(|grant| grant.day == day)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: BudgetKind = BudgetKind::RuntimeDayTokens;

    fn grant(day: i64, lent: u64, refused: Option<u64>) -> Grant {
        Grant { budget: KIND, day, lent, refused }
    }

    #[test]
    fn a_late_answer_takes_nothing_back() {
        let mut grants = Grants::default();
        grants.note(grant(1, 50, Some(90)));
        grants.note(grant(1, 20, None));
        assert_eq!((grants.lent(KIND, 1), grants.lent(KIND, 2)), (50, 0));
        assert!(grants.refuses(KIND, 1, 90) && !grants.refuses(KIND, 1, 89) && !grants.refuses(KIND, 2, 90));
    }

    #[test]
    fn another_day_begins_anew() {
        let mut grants = Grants::default();
        grants.note(grant(1, 50, Some(90)));
        grants.note(grant(2, 20, None));
        assert_eq!((grants.lent(KIND, 1), grants.lent(KIND, 2)), (0, 20));
        assert!(!grants.refuses(KIND, 2, 90));
    }
}
