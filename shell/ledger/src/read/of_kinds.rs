//! Records of some kinds of all agents, private ones included, in the order of the ledger: for what follows it as a whole.

use std::fmt::Write;

use super::overall::{self, LedgerSeq, Overall};
use super::reader::Reader;
use crate::error::{LedgerError, Position};
use crate::rows::row::{RECORD_COLUMNS, stored};

/// Rows of any kind that one read looks at, at most.
const LOOKED_AT: u64 = 16_384;

impl Reader {
    /// Records of the kinds that are wanted, from behind a position. The cost has a bound, whatever lies in between: then the
    /// read ends early, and says where.
    ///
    /// # Errors
    /// When the ledger can't be read; a damaged record comes as what is wrong with it.
    pub fn of_kinds_of_all(
        &self,
        kinds: &[&'static str],
        after: LedgerSeq,
        limit: usize,
    ) -> Result<Overall, LedgerError> {
        let failed = || LedgerError::unreadable(Position::default());
        self.at_one_moment(|source| {
            let last = overall::last(source)?;
            let highest = last.0.min(after.0.saturating_add(LOOKED_AT));
            // Kinds are names of this build.
            let mut named = String::new();
            for kind in kinds {
                let comma = if named.is_empty() { "" } else { ", " };
                write!(named, "{comma}'{kind}'")
                    .unwrap_or_else(|_| unreachable!("a string takes everything"));
            }
            let sql = format!(
                "SELECT {RECORD_COLUMNS}, position FROM records
                 WHERE position > ?1 AND position <= ?2 AND kind IN ({named}) ORDER BY position LIMIT ?3"
            );
            let between = [stored(after.0)?.into(), stored(highest)?.into(), stored(limit as u64)?.into()];
            let records = source.all(&sql, &between, overall::located).map_err(failed())?;
            // A page that is full may have left something out.
            let full = records.last().filter(|_| records.len() == limit).map(|record| record.at);
            let reached = full.unwrap_or(LedgerSeq(highest.max(after.0)));
            Ok(Overall { records, reached, more: reached < last, last })
        })
    }
}

impl Reader {
    /// The sum of the record at a position: two ledgers that have the same one there have the same records up to it.
    ///
    /// # Errors
    /// When the ledger can't be read.
    pub fn sum_at(&self, at: LedgerSeq) -> Result<Option<i64>, LedgerError> {
        let position = stored(at.0)?;
        let sql = "SELECT sum FROM records WHERE position = ?1";
        let found = self.read(|source| source.first(sql, &[position.into()], |row| row.get(0)));
        found.map_err(LedgerError::unreadable(Position::default()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::overall::Located;
    use super::*;
    use crate::sqlite::testing::Home;

    #[test]
    fn records_of_some_kinds_in_the_order_of_the_ledger() {
        let home = Home::new();
        let mut world = home.start();
        for name in ["a", "b"] {
            world.create(name);
            world.prompt(name, "go");
        }
        let kinds = ["agent_created", "message_admitted"];
        let all = world.reader.of_kinds_of_all(&kinds, LedgerSeq(0), 100).unwrap();
        let found = |overall: &Overall| -> Vec<(String, &'static str)> {
            let kind = |it: &Located| it.record.as_ref().unwrap().event.kind();
            overall.records.iter().map(|it| (it.agent.clone(), kind(it))).collect()
        };
        let expected = [("a", kinds[0]), ("a", kinds[1]), ("b", kinds[0]), ("b", kinds[1])];
        assert_eq!(found(&all), expected.map(|(agent, kind)| (agent.to_owned(), kind)));
        assert_eq!((all.reached, all.more), (world.reader.last_of_all().unwrap(), false));
        let first = world.reader.of_kinds_of_all(&kinds, LedgerSeq(0), 3).unwrap();
        assert_eq!((found(&first).len(), first.more), (3, true));
        let rest = world.reader.of_kinds_of_all(&kinds, first.reached, 3).unwrap();
        assert_eq!((found(&rest).len(), rest.more), (1, false));
        let none = world.reader.of_kinds_of_all(&kinds, all.last, 3).unwrap();
        assert_eq!((found(&none).len(), none.reached, none.more), (0, all.last, false));
        let later = world.reader.of_kinds_of_all(&kinds, LedgerSeq(1 << 40), 3).unwrap();
        assert_eq!((later.reached, later.more), (LedgerSeq(1 << 40), false), "of another ledger");
    }
}
