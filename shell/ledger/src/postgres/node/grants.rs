//! What is lent to cells of the budgets that all of them have together (contract: scale.md, Cells). What was lent once is not
//! taken back: it covers what a cell has spent, and the rest is spent there. Little is lent in advance, so little is left
//! over.

use holon_core::agent::budget::Account;
use holon_core::grants::{Grant, Loan};
use holon_facts::budget::{BudgetKind, Period};
use holon_facts::price::Amount;
use serde::Serialize;
use tokio_postgres::types::ToSql;

use super::statement::{id, number};
use crate::error::LedgerError;
use crate::postgres::open::ANSWER;
use crate::sql::postgres::{Server, Session};

/// Each cell has at most that part of its fair share in advance: what is left over in all of them together.
const IN_ADVANCE: u64 = 8;
/// For so many days it can be looked at what was lent on each.
const REMEMBERED: i64 = 8;

/// Who lends.
#[derive(Debug)]
pub struct Grants(Session);

/// What was lent to a cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Granted {
    pub budget: BudgetKind,
    /// A date; none of a budget that has no days.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day: Option<String>,
    pub cell: u64,
    /// Tokens, or millionths of a dollar.
    pub lent: u64,
}

impl Grants {
    pub fn new(server: Server) -> Self {
        Self(Session::new(server, 0))
    }

    /// Lends to one of so many cells what it needs, and a little more; or says that there is not as much. All cells together
    /// are never lent more than the limit of a budget, or than was lent under a higher one before.
    ///
    /// # Errors
    /// When the database does not answer: it may have lent something, which the next answer has.
    pub fn lend(&self, cell: u64, loan: Loan, cells: usize) -> Result<Grant, LedgerError> {
        let Loan { budget, day, needed, limit } = loan;
        let grant = |lent, refused| Grant { budget, day, lent, refused };
        let lent = self.lent(cell, loan)?;
        let Some(missing) = needed.checked_sub(lent).filter(|missing| *missing > 0) else {
            return Ok(grant(lent, None));
        };
        let cells = u64::try_from(cells).unwrap_or(u64::MAX);
        for more in [missing.max(limit / cells.saturating_mul(IN_ADVANCE).max(1)), missing] {
            if let Some(lent) = self.take(cell, loan, more)? {
                return Ok(grant(lent, None));
            }
        }
        Ok(grant(lent, Some(needed)))
    }

    fn lent(&self, cell: u64, Loan { budget, day, .. }: Loan) -> Result<u64, LedgerError> {
        let sql = "SELECT lent FROM grants WHERE budget = $1 AND day = $2 AND cell = $3";
        let rows = self.0.query(sql, &[&budget.name(), &day, &id(cell)], ANSWER);
        let rows = rows.map_err(LedgerError::postgres("reading what is lent to a cell"))?;
        Ok(rows.first().map_or(0, |row| number(row.get(0))))
    }

    /// So much more for a cell; none where it is not there.
    fn take(&self, cell: u64, loan: Loan, more: u64) -> Result<Option<u64>, LedgerError> {
        let Loan { budget, day, limit, .. } = loan;
        if more > limit {
            return Ok(None);
        }
        let sql = "WITH pool AS (INSERT INTO budgets AS b (budget, day, lent) VALUES ($1::text, $2::bigint, $4::bigint)
                ON CONFLICT (budget, day) DO UPDATE SET lent = b.lent + excluded.lent
                WHERE b.lent <= $5::bigint - excluded.lent RETURNING 1)
            INSERT INTO grants AS g (budget, day, cell, lent)
            SELECT $1::text, $2::bigint, $3::bigint, $4::bigint FROM pool
            ON CONFLICT (budget, day, cell) DO UPDATE SET lent = g.lent + excluded.lent RETURNING lent";
        let values: [&(dyn ToSql + Sync); 5] = [&budget.name(), &day, &id(cell), &id(more), &id(limit)];
        let failed = || LedgerError::postgres("lending to a cell");
        let rows = self.0.query(sql, &values, ANSWER).map_err(failed())?;
        for table in ["budgets", "grants"] {
            let sql = format!("DELETE FROM {table} WHERE budget = $1 AND day > 0 AND day < $2");
            self.0.query(&sql, &[&budget.name(), &(day - REMEMBERED)], ANSWER).map_err(failed())?;
        }
        Ok(rows.first().map(|row| number(row.get(0))))
    }

    /// What was lent, by budget and day, to the cells in their order.
    ///
    /// # Errors
    /// When the database does not answer.
    pub fn all(&self) -> Result<Vec<Granted>, LedgerError> {
        let sql = "SELECT budget, CASE WHEN day <> 0 THEN to_char(date '1970-01-01' + day::int, 'YYYY-MM-DD') END, cell, lent
            FROM grants ORDER BY budget, day, cell";
        let rows = self.0.query(sql, &[], ANSWER);
        let rows = rows.map_err(LedgerError::postgres("reading what is lent"))?;
        let granted = rows.iter().filter_map(|row| {
            let (budget, day) = (named(row.get(0))?, row.get(1));
            Some(Granted { budget, day, cell: number(row.get(2)), lent: number(row.get(3)) })
        });
        Ok(granted.collect())
    }
}

/// Agents go to another cell, and what covers what they have spent goes with them.
pub(super) fn divide(session: &Session, cell: i64, new: i64, agents: &[String]) -> Result<(), LedgerError> {
    let failed = || LedgerError::postgres("dividing what is lent to a cell");
    let sql = "SELECT account FROM agents WHERE cell = $1 AND agent = ANY ($2) AND account IS NOT NULL";
    let rows = session.query(sql, &[&cell, &agents], ANSWER).map_err(failed())?;
    let accounts: Result<Vec<Account>, _> = rows.iter().map(|row| serde_json::from_str(row.get(0))).collect();
    let accounts = accounts.map_err(|problem| LedgerError::Refused {
        doing: "dividing what is lent to a cell",
        problem: format!("an account of an agent can't be read: {problem}"),
    })?;
    let sql = "SELECT budget, day FROM grants WHERE cell = $1";
    for row in session.query(sql, &[&cell], ANSWER).map_err(failed())? {
        let (name, day): (String, i64) = (row.get(0), row.get(1));
        let Some(budget) = named(&name) else { continue };
        let spent = accounts.iter().map(|account| spent(account, budget, day));
        let goes = id(budget.measure(spent.fold(Amount::default(), Amount::plus)));
        let of: [&(dyn ToSql + Sync); 5] = [&name, &day, &cell, &new, &goes];
        let sql = "INSERT INTO grants (budget, day, cell, lent)
            SELECT budget, day, $4::bigint, LEAST(lent, $5::bigint) FROM grants WHERE budget = $1 AND day = $2 AND cell = $3";
        session.query(sql, &of, ANSWER).map_err(failed())?;
        let sql = "UPDATE grants SET lent = lent - LEAST(lent, $4::bigint)
            WHERE budget = $1 AND day = $2 AND cell = $3";
        session.query(sql, &[&name, &day, &cell, &goes], ANSWER).map_err(failed())?;
    }
    Ok(())
}

/// One that this build knows.
fn named(name: &str) -> Option<BudgetKind> {
    BudgetKind::ALL.iter().copied().find(|budget| budget.name() == name)
}

/// With what is reserved: it may turn out to be spent.
fn spent(account: &Account, budget: BudgetKind, day: i64) -> Amount {
    match budget.period() {
        Period::Day if account.day == day => account.of_day.plus(account.reserved()),
        Period::Day => Amount::default(),
        Period::Turn | Period::All => account.total.plus(account.reserved()),
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::postgres::testing::Database;

    const LIMIT: u64 = 100_000;

    fn loan(day: i64, needed: u64) -> Loan {
        Loan { budget: BudgetKind::RuntimeDayTokens, day, needed, limit: LIMIT }
    }

    #[test]
    fn cells_that_borrow_at_once_are_never_lent_more_than_there_is() {
        let Some((server, _database)) = Database::with_cells() else { return };
        let borrow = &|cell| {
            let grants = Grants::new(server.clone());
            let mut lent = 0;
            loop {
                let grant = grants.lend(cell, loan(7, lent + 1_500), 4).unwrap();
                if grant.refused.is_some() {
                    return grant.lent;
                }
                assert!(grant.lent >= lent + 1_500);
                lent = grant.lent;
            }
        };
        let lent: Vec<u64> = thread::scope(|scope| {
            let cells: Vec<_> = (1..=4).map(|cell| scope.spawn(move || borrow(cell))).collect();
            cells.into_iter().map(|cell| cell.join().unwrap()).collect()
        });
        let in_all: u64 = lent.iter().sum();
        assert!(in_all <= LIMIT && in_all > LIMIT - 1_500, "{lent:?}");
        // All of it is on record, and the next day begins anew.
        let grants = Grants::new(server);
        let listed = grants.all().unwrap();
        assert_eq!(listed.iter().map(|grant| grant.lent).sum::<u64>(), in_all);
        assert_eq!(listed[0].day.as_deref(), Some("1970-01-08"));
        assert_eq!(grants.lend(1, loan(8, 10), 4).unwrap().lent, LIMIT / 4 / IN_ADVANCE);
    }

    #[test]
    fn what_is_there_is_not_lent_again_and_old_days_are_forgotten() {
        let Some((server, _database)) = Database::with_cells() else { return };
        let grants = Grants::new(server);
        let first = grants.lend(1, loan(7, 60_000), 4).unwrap();
        assert_eq!((first.lent, first.refused), (60_000, None));
        assert_eq!(grants.lend(1, loan(7, 50_000), 4).unwrap(), first);
        let refused = grants.lend(2, loan(7, 40_001), 4).unwrap();
        assert_eq!((refused.lent, refused.refused), (0, Some(40_001)));
        // What is left is lent although it is less than what is lent in advance otherwise.
        assert_eq!(grants.lend(2, loan(7, 40_000), 4).unwrap().lent, 40_000);
        grants.lend(1, loan(7 + REMEMBERED + 1, 1), 4).unwrap();
        assert_eq!(grants.all().unwrap().len(), 1);
        // A budget that was lowered lends nothing more, and takes nothing back.
        let lower = Loan { limit: 50_000, ..loan(7 + REMEMBERED + 1, 60_000) };
        assert_eq!(grants.lend(1, lower, 4).unwrap().refused, Some(60_000));
    }
}
