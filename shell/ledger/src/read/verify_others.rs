//! Agents of which a check has no more in memory while it reads everything: each is folded afterwards, with nobody else.

use holon_core::agent::Agent;
use holon_facts::{AgentId, Record};
use holon_law::Laws;

use super::verify::{Check, VerifyError};
use crate::error::{LedgerError, Position};
use crate::rows::row::{RECORD_COLUMNS, StoredRecord};

/// Records of one agent that are read at once.
const PAGE: usize = 512;

pub(super) const NO_ROW: &str = "the agent has a log, but no row";

/// What must hold of the records of each agent, one after the other.
pub trait RecordLaws {
    /// # Errors
    /// What the record breaks.
    fn step(&mut self, record: &Record) -> Result<(), String>;

    /// The logs that were seen so far have ended.
    fn forget(&mut self);
}

impl RecordLaws for Laws {
    fn step(&mut self, record: &Record) -> Result<(), String> {
        Self::step(self, record).map_err(|violation| violation.to_string())
    }

    fn forget(&mut self) {
        self.keep(|_| false);
    }
}

/// For whoever sees all records in the order in which they were written.
pub(super) struct InOrder<'a>(pub(super) &'a mut dyn FnMut(&Record) -> Result<(), String>);

impl RecordLaws for InOrder<'_> {
    fn step(&mut self, record: &Record) -> Result<(), String> {
        (self.0)(record)
    }

    fn forget(&mut self) {}
}

impl Check<'_> {
    /// What the log of an agent folds to that was not folded while everything was read; none where it is not of this cell any
    /// more, or there is no such log.
    pub(super) fn fold_log(&mut self, agent: &AgentId) -> Result<Option<Agent>, VerifyError> {
        if self.left.contains_key(agent) {
            return Ok(None);
        }
        self.each_record(agent)?;
        Ok(self.agents.remove(agent))
    }

    fn each_record(&mut self, agent: &AgentId) -> Result<(), VerifyError> {
        let sql = format!(
            "SELECT {RECORD_COLUMNS} FROM records WHERE agent = ?1 AND event_seq > ?2 ORDER BY event_seq LIMIT {PAGE}"
        );
        let failed = || LedgerError::unreadable(Position::default());
        let (source, mut last) = (self.source, 0_i64);
        self.laws.forget();
        loop {
            let mut read = 0;
            let of_agent = [agent.as_str().into(), last.into()];
            source.each(
                &sql,
                &of_agent,
                |error| VerifyError::from(failed()(error)),
                |row| {
                    let stored = StoredRecord::read(row).map_err(failed())?;
                    (last, read) = (stored.row.event_seq, read + 1);
                    self.fold(&stored.decode()?, &stored.at())
                },
            )?;
            if read < PAGE {
                return Ok(());
            }
        }
    }

    /// Folds those who go on elsewhere, too: they have no row here.
    pub(super) fn those_who_left(&mut self) -> Result<(), VerifyError> {
        let is_other = |agent: &&AgentId| self.has_others && !self.agents.contains_key(*agent);
        for agent in self.left.keys().filter(is_other).cloned().collect::<Vec<_>>() {
            self.each_record(&agent)?;
            self.agents.remove(&agent);
        }
        Ok(())
    }

    /// Every record was folded: each is of an agent that has a row, or had one before it left.
    pub(super) fn nobody_else(&self) -> Result<(), VerifyError> {
        if !self.has_others {
            return Ok(());
        }
        let sql =
            "SELECT DISTINCT agent FROM records WHERE agent NOT IN (SELECT agent FROM agents) ORDER BY agent";
        let without = self.source.all(sql, &[], |row| row.get::<String>(0));
        let without = without.map_err(LedgerError::unreadable(Position::default()))?;
        match without.iter().find(|agent| !self.left.keys().any(|left| left.as_str() == *agent)) {
            Some(agent) => {
                let at = Position { agent: Some(agent.clone()), ..Position::default() };
                Err(LedgerError::damaged(at, NO_ROW).into())
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::{VerifyReport, verify, verify_some_at_once};
    use crate::sqlite::testing::Home;

    /// More agents than are folded at once, whose records lie between one another.
    fn home() -> Home {
        let home = Home::new();
        let mut world = home.start();
        let names = ["main", "one", "other", "third"];
        for name in names {
            world.create(name);
        }
        for turn in 0..3 {
            for name in names {
                world.prompt(name, &format!("{turn} {}", "long ".repeat(100)));
            }
        }
        world.snapshot("other");
        world.snapshot("main");
        world.ledger.close().unwrap();
        home
    }

    fn at_once(home: &Home, most: usize) -> Result<VerifyReport, VerifyError> {
        verify_some_at_once(&home.reader(), most, &mut Laws::new())
    }

    #[test]
    fn however_many_are_folded_at_once_the_same_is_found() {
        let home = home();
        let whole = verify(&home.reader(), &mut |_| Ok(())).unwrap();
        assert_eq!((whole.agents, whole.snapshots), (4, 2));
        for most in 0..6 {
            assert_eq!(at_once(&home, most).unwrap(), whole, "{most}");
        }
    }

    #[test]
    fn no_more_agents_are_in_memory_than_that() {
        struct Most(Vec<AgentId>);
        impl RecordLaws for Most {
            fn step(&mut self, record: &Record) -> Result<(), String> {
                if !self.0.contains(&record.agent) {
                    self.0.push(record.agent.clone());
                }
                if self.0.len() > 2 { Err(format!("{:?} at once", self.0)) } else { Ok(()) }
            }

            fn forget(&mut self) {
                self.0.clear();
            }
        }
        let home = home();
        verify_some_at_once(&home.reader(), 2, &mut Most(Vec::new())).unwrap();
        assert!(verify_some_at_once(&home.reader(), 3, &mut Most(Vec::new())).is_err());
    }

    #[test]
    fn damage_of_an_agent_that_is_folded_later_is_named() {
        for (sql, problem) in [
            ("UPDATE agents SET event_seq = event_seq - 1 WHERE agent = 'third'", "row has"),
            ("UPDATE agents SET account = NULL WHERE agent = 'third'", "was spent"),
            ("DELETE FROM agents WHERE agent = 'third'", NO_ROW),
            (
                "INSERT INTO agents SELECT 'nobody', event_seq, status, next_deadline, open_work, account, private, archived, \
             standing, asks, NULL FROM agents WHERE agent = 'third'",
                "its log None",
            ),
            ("UPDATE snapshots SET state = state || ' ', packed = x'00' WHERE agent = 'other'", "folds to"),
            ("UPDATE snapshots SET event_seq = 999 WHERE agent = 'other'", "no record"),
            (
                "UPDATE records SET payload = payload || ' ' WHERE agent = 'third' AND event_seq = 5",
                "event 5",
            ),
        ] {
            let home = home();
            home.vandal(sql);
            for most in [1, 9] {
                let error = at_once(&home, most).expect_err(sql).to_string();
                assert!(error.contains(problem), "{most}: {sql}: {error}");
                assert!(["third", "other", "nobody"].iter().any(|name| error.contains(name)), "{error}");
            }
        }
    }
}
