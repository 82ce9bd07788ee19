//! Who lends what several hosts may spend together. The others of them are here, too: they borrow at random. A crash of the
//! host leaves all of that alone.

use std::collections::BTreeMap;

use holon_core::grants::{Grant, Loan};
use holon_facts::budget::BudgetKind;

/// What was lent of each budget on each day.
#[derive(Debug, Clone, Default)]
pub struct Lender(BTreeMap<(BudgetKind, i64), Lent>);

#[derive(Debug, Clone, Copy, Default)]
struct Lent {
    own: u64,
    others: u64,
}

impl Lender {
    /// Others borrow so many percent of what is left; then the host has what it needs, with something in advance where that
    /// is there.
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
