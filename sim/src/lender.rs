//! Lends the budgets that several hosts share. It also simulates the other hosts, which borrow at random. A crash of
//! the host leaves all of this unchanged.

use std::collections::BTreeMap;

use holon_core::grants::{Grant, Loan};
use holon_facts::budget::BudgetKind;

/// The loans of each budget and day.
#[derive(Debug, Clone, Default)]
pub struct Lender(BTreeMap<(BudgetKind, i64), Lent>);

#[derive(Debug, Clone, Copy, Default)]
struct Lent {
    own: u64,
    others: u64,
}

impl Lender {
    /// The other hosts borrow a percentage of what is left; then the host gets what it needs, with an advance if there
    /// is enough.
    pub fn lend(&mut self, loan: Loan, others_take: u64, in_advance: u64) -> Grant {
        let Loan { budget, day, needed, limit } = loan;
        let lent = self.0.entry((budget, day)).or_default();
        let left = |lent: &Lent| limit.saturating_sub(lent.own.saturating_add(lent.others));
        lent.others += left(lent) / 100 * others_take;
        let missing = needed.saturating_sub(lent.own);
        let more = [missing.saturating_add(in_advance), missing];
        let taken = more.into_iter().find(|more| *more <= left(lent));
        lent.own += taken.filter(|_| missing > 0).unwrap_or(0);
        let refused = (needed > lent.own).then_some(needed);
        Grant { budget, day, lent: lent.own, refused }
    }
}
