//! What a start reads: which agents there are, and each of them as its newest snapshot and the records after
//! it. The time that takes does not depend on how much happened before.

use std::ops::ControlFlow;

use holon_core::accounts::Accounts;
use holon_core::agent::budget::Account;
use holon_core::snapshot::{AgentSnapshot, SnapshotError};
use holon_facts::lifecycle::Status;
use holon_facts::{AgentId, EventSeq, Record, StepSeq, Wall};
use holon_platform::build;

use super::agents_left::agents_left;
use super::reader::Reader;
use crate::error::{LedgerError, Position};
use crate::rows::packed::Kept;
use crate::rows::row::{RECORD_COLUMNS, StoredRecord, stored};
use crate::rows::schema;
use crate::sql::{Row, Source, SqlError};
use crate::store::{AgentRow, LedgerReader, Restored};

/// Records that are read at once.
const PAGE: usize = 512;
/// Rows of agents that are read at once.
const AGENTS: usize = 4_096;
/// Stored states that are tried: after an update they are all of another build.
const STATES: i64 = 8;

/// Records of one agent in their order, read page by page; ends after the first error.
#[derive(Debug)]
pub struct Records<'a> {
    reader: &'a Reader,
    agent: AgentId,
    next: i64,
    through: i64,
    /// Of those that were read, roughly.
    bytes: usize,
    page: std::vec::IntoIter<StoredRecord>,
}

impl LedgerReader for Reader {
    type Error = LedgerError;

    fn last_step(&self) -> Result<StepSeq, LedgerError> {
        let sql = "SELECT through_step FROM batches ORDER BY batch DESC LIMIT 1";
        let step = self
            .read(|source| source.first(sql, &[], |row| row.get::<i64>(0)))
            .map_err(LedgerError::unreadable(Position::default()))?;
        Ok(StepSeq(u64::try_from(step.unwrap_or(0)).unwrap_or(0)))
    }

    fn each_agent(&self, mut each: impl FnMut(AgentRow)) -> Result<(), LedgerError> {
        self.read(|source| rows_of_agents(source, &mut each))
    }

    fn newest_record(&self) -> Result<Option<Wall>, LedgerError> {
        let sql = "SELECT at FROM records ORDER BY position DESC LIMIT 1";
        self.read(|source| source.first(sql, &[], |row| row.get(0)))
            .map(|at| at.map(Wall))
            .map_err(LedgerError::unreadable(Position::default()))
    }

    fn accounts(&self) -> Result<Accounts, LedgerError> {
        let mut accounts = Accounts::default();
        self.read(|source| each_account(source, &mut |_, account| accounts.add_absent(&account)))?;
        Ok(accounts)
    }

    fn load(&self, agent: &AgentId) -> Result<Restored, LedgerError> {
        let last = self.last_event(agent)?;
        let (found, unusable) = self.read(|source| newest_snapshot(source, agent, last))?;
        let (snapshot, state_bytes) = found.map_or((None, 0), |(snapshot, bytes)| (Some(snapshot), bytes));
        let after = snapshot.as_ref().map_or(EventSeq(0), |snapshot| snapshot.agent.event_seq);
        let mut records = self.records(agent, after, last)?;
        let tail = records.by_ref().collect::<Result<_, _>>()?;
        Ok(Restored { snapshot, state_bytes, tail, tail_bytes: records.bytes, unusable })
    }

    fn each_record(
        &self,
        agent: &AgentId,
        through: EventSeq,
        mut each: impl FnMut(Record),
    ) -> Result<(), LedgerError> {
        for record in self.records(agent, EventSeq(0), through)? {
            each(record?);
        }
        Ok(())
    }
}

impl Reader {
    /// All agents, in the order of their names.
    pub fn agents(&self) -> Result<Vec<AgentRow>, LedgerError> {
        self.read(agent_rows)
    }

    /// The records after one event through another. A record that is missing in between is an error.
    pub fn records(
        &self,
        agent: &AgentId,
        after: EventSeq,
        through: EventSeq,
    ) -> Result<Records<'_>, LedgerError> {
        let (next, through) = (stored(after.0)?.saturating_add(1), stored(through.0)?);
        Ok(Records {
            reader: self,
            agent: agent.clone(),
            next,
            through,
            bytes: 0,
            page: Vec::new().into_iter(),
        })
    }

    /// The agent that has this second name.
    pub fn agent_named(&self, name: &AgentId) -> Result<Option<AgentId>, LedgerError> {
        self.agent_by("SELECT agent FROM agents WHERE name = ?1", name)
    }

    /// The agent that has it as its id or as its second name.
    pub fn agent_called(&self, name: &AgentId) -> Result<Option<AgentId>, LedgerError> {
        let either =
            "SELECT agent FROM agents WHERE name = ?1 UNION ALL SELECT agent FROM agents WHERE agent = ?1";
        self.agent_by(either, name)
    }

    fn agent_by(&self, sql: &str, name: &AgentId) -> Result<Option<AgentId>, LedgerError> {
        let failed = "looking for the agent of a name";
        let agent = self.read(|source| {
            if schema::version(source)? < schema::NAMES {
                return Ok(None);
            }
            let agent = source.first(sql, &[name.as_str().into()], |row| row.get::<String>(0));
            agent.map_err(LedgerError::database(failed))
        })?;
        let damaged = |error| LedgerError::damaged(Position::default(), error);
        agent.map(|agent| AgentId::new(&agent).map_err(damaged)).transpose()
    }

    /// The last event of an agent, as its row and its log agree on.
    pub fn last_event(&self, agent: &AgentId) -> Result<EventSeq, LedgerError> {
        let sql = "SELECT (SELECT event_seq FROM agents WHERE agent = ?1),
            (SELECT max(event_seq) FROM records WHERE agent = ?1)";
        let ends = self.read(|source| {
            let ends = |row: &Row<'_>| Ok((row.get::<Option<i64>>(0)?, row.get::<Option<i64>>(1)?));
            source.first(sql, &[agent.as_str().into()], ends)
        });
        let at = |event_seq| Position::event(agent.as_str(), event_seq, None);
        let (last, stored) = match ends.map_err(LedgerError::unreadable(at(0)))?.unwrap_or_default() {
            (None, None) => return Err(LedgerError::NoAgent { agent: agent.as_str().to_owned() }),
            (None, Some(_)) if self.read(agents_left)?.contains_key(agent) => {
                return Err(LedgerError::NoAgent { agent: agent.as_str().to_owned() });
            }
            (None, Some(_)) => return Err(LedgerError::damaged(at(1), "the agent has a log, but no row")),
            (Some(last), stored) => (last, stored.unwrap_or(0)),
        };
        if stored != last {
            let problem = format!("the log ends at event {stored}, the agent's row has {last}");
            return Err(LedgerError::damaged(at(stored.min(last).saturating_add(1)), problem));
        }
        u64::try_from(last).map(EventSeq).map_err(|error| LedgerError::damaged(at(last), error))
    }
}

impl Iterator for Records<'_> {
    type Item = Result<Record, LedgerError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next > self.through {
            return None;
        }
        let record = self.read_next();
        if record.is_ok() {
            self.next += 1;
        } else {
            self.through = 0;
        }
        Some(record)
    }
}

impl Records<'_> {
    fn read_next(&mut self) -> Result<Record, LedgerError> {
        let stored = match self.page.next() {
            Some(stored) => stored,
            None => {
                self.page = self.read_page()?.into_iter();
                self.page.next().ok_or_else(|| self.missing())?
            }
        };
        if stored.row.event_seq != self.next {
            return Err(self.missing());
        }
        self.bytes += stored.row.bytes();
        stored.decode()
    }

    fn missing(&self) -> LedgerError {
        LedgerError::damaged(Position::event(self.agent.as_str(), self.next, None), "the record is missing")
    }

    fn read_page(&self) -> Result<Vec<StoredRecord>, LedgerError> {
        let sql = format!(
            "SELECT {RECORD_COLUMNS} FROM records WHERE agent = ?1 AND event_seq BETWEEN ?2 AND ?3
             ORDER BY event_seq LIMIT {PAGE}"
        );
        let mut page = Vec::new();
        let unreadable = LedgerError::unreadable(Position::event(self.agent.as_str(), self.next, None));
        let params = [self.agent.as_str().into(), self.next.into(), self.through.into()];
        let read = self.reader.read(|source| {
            source.each(
                &sql,
                &params,
                |error| error,
                |row| {
                    page.push(StoredRecord::read(row)?);
                    Ok(())
                },
            )
        });
        match read {
            Err(error) if page.is_empty() => Err(unreadable(error)),
            // What was read is good; the next page begins with what is not.
            Ok(()) | Err(_) => Ok(page),
        }
    }
}

/// The newest that can be used, with the bytes of its text, and those that can't.
type Snapshots = (Option<(AgentSnapshot, usize)>, Vec<(EventSeq, SnapshotError)>);

fn newest_snapshot(source: Source<'_>, agent: &AgentId, last: EventSeq) -> Result<Snapshots, LedgerError> {
    let failed = |error| LedgerError::unreadable(Position::event(agent.as_str(), 0, None))(error);
    let columns = Kept::columns(source)?;
    let sql = format!(
        "SELECT event_seq, {columns} FROM snapshots WHERE agent = ?1 ORDER BY event_seq DESC LIMIT {STATES}"
    );
    let (mut newest, mut unusable) = (None, Vec::new());
    source.until(&sql, &[agent.as_str().into()], failed, |row| {
        let event_seq = EventSeq(row.get::<i64>(0).ok().and_then(|seq| u64::try_from(seq).ok()).unwrap_or(0));
        match usable(row, agent, event_seq) {
            Ok(found) if event_seq <= last => {
                newest = Some(found);
                return Ok(ControlFlow::Break(()));
            }
            Ok(_) => unusable.push((event_seq, SnapshotError::Damaged("it is ahead of the log".into()))),
            Err(error) => unusable.push((event_seq, error)),
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok((newest, unusable))
}

pub(super) fn usable(
    row: &Row<'_>,
    agent: &AgentId,
    event_seq: EventSeq,
) -> Result<(AgentSnapshot, usize), SnapshotError> {
    let kept = Kept::read(row, 1).map_err(|error| SnapshotError::Damaged(error.to_string()))?;
    let state = kept.text()?;
    let snapshot = AgentSnapshot::decode(&state)?;
    if snapshot.build != build::id() {
        return Err(SnapshotError::Build { got: snapshot.build });
    }
    if snapshot.agent.id == *agent && snapshot.agent.event_seq == event_seq {
        return Ok((snapshot, state.len()));
    }
    Err(SnapshotError::Damaged("it is filed under another agent or event".into()))
}

/// What agents have spent, those who have spent nothing left out.
pub(super) fn accounts_of(source: Source<'_>) -> Result<Vec<(AgentId, Account)>, LedgerError> {
    let mut accounts = Vec::new();
    each_account(source, &mut |agent, account| accounts.push((agent, account)))?;
    Ok(accounts)
}

fn each_account(source: Source<'_>, each: &mut dyn FnMut(AgentId, Account)) -> Result<(), LedgerError> {
    let sql = format!(
        "SELECT agent, account FROM agents WHERE account IS NOT NULL AND agent > ?1 ORDER BY agent LIMIT {AGENTS}"
    );
    each_page(source, &sql, |row| {
        let (name, json) = (row.get::<String>(0), row.get::<String>(1));
        let (name, json) = (name.map_err(whole())?, json.map_err(whole())?);
        let at = || Position::event(&name, 0, None);
        let agent = AgentId::new(&name).map_err(|error| LedgerError::damaged(at(), error))?;
        each(agent, account(&name, &json)?);
        Ok(name)
    })
}

/// Gives the rows of a statement whose `?1` is the name after which it begins, page by page. Each row names its agent.
fn each_page(
    source: Source<'_>,
    sql: &str,
    mut each: impl FnMut(&Row<'_>) -> Result<String, LedgerError>,
) -> Result<(), LedgerError> {
    let mut last = String::new();
    loop {
        let (mut rows, after) = (0, last.clone());
        source.each(
            sql,
            &[after.as_str().into()],
            |error| whole()(error),
            |row| {
                last = each(row)?;
                rows += 1;
                Ok(())
            },
        )?;
        if rows < AGENTS {
            return Ok(());
        }
    }
}

fn whole() -> impl FnOnce(SqlError) -> LedgerError {
    LedgerError::unreadable(Position::default())
}

/// What an agent has spent, as its row holds it.
pub(super) fn account(agent: &str, json: &str) -> Result<Account, LedgerError> {
    serde_json::from_str(json).map_err(|error| LedgerError::damaged(Position::event(agent, 0, None), error))
}

pub(super) fn agent_rows(source: Source<'_>) -> Result<Vec<AgentRow>, LedgerError> {
    let mut agents = Vec::new();
    rows_of_agents(source, &mut |row| agents.push(row))?;
    Ok(agents)
}

/// The names of all that have records, damaged ones as they are stored.
pub(super) fn agent_names(source: Source<'_>) -> Result<Vec<String>, LedgerError> {
    let sql = "SELECT DISTINCT agent FROM records ORDER BY agent";
    source.all(sql, &[], |row| row.get(0)).map_err(whole())
}

fn rows_of_agents(source: Source<'_>, each: &mut dyn FnMut(AgentRow)) -> Result<(), LedgerError> {
    let columns = schema::agent_columns(source, false)?;
    let sql = format!("SELECT {columns} FROM agents WHERE agent > ?1 ORDER BY agent LIMIT {AGENTS}");
    each_page(source, &sql, |row| {
        let row = agent_row(row)?;
        let name = row.agent.as_str().to_owned();
        each(row);
        Ok(name)
    })
}

pub(super) fn agent_row(row: &Row<'_>) -> Result<AgentRow, LedgerError> {
    let name: String = row.get(0).map_err(LedgerError::unreadable(Position::default()))?;
    let at = || Position::event(&name, 0, None);
    let number = |column: usize| -> Result<u64, LedgerError> {
        let number = row.get::<i64>(column).map_err(LedgerError::unreadable(at()))?;
        u64::try_from(number).map_err(|error| LedgerError::damaged(at(), error))
    };
    let status: String = row.get(2).map_err(LedgerError::unreadable(at()))?;
    let status = Status::ALL.iter().find(|known| known.name() == status);
    let deadline = row.get::<Option<i64>>(3).map_err(LedgerError::unreadable(at()))?;
    let standing = row.get::<Option<String>>(7).map_err(LedgerError::unreadable(at()))?;
    let second = row.get::<Option<String>>(9).map_err(LedgerError::unreadable(at()))?;
    let second = second.as_deref().map(AgentId::new).transpose();
    Ok(AgentRow {
        agent: AgentId::new(&name).map_err(|error| LedgerError::damaged(at(), error))?,
        event_seq: EventSeq(number(1)?),
        status: *status.ok_or_else(|| LedgerError::damaged(at(), "the agent's status is unknown"))?,
        next_deadline: deadline.map(Wall),
        open_work: number(4)?,
        private: number(5)? > 0,
        archived: number(6)? > 0,
        // One that this build does not understand is as good as none: it is for lists alone.
        name: second.map_err(|error| LedgerError::damaged(at(), error))?,
        standing: standing.and_then(|json| serde_json::from_str(&json).ok()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::testing::{Home, id};

    fn event_count(home: &Home) -> u64 {
        home.reader().last_event(&id("main")).unwrap().0
    }

    #[test]
    fn a_state_is_compressed_and_one_that_an_earlier_build_stored_as_text_is_read() {
        let home = Home::new();
        let mut world = home.start();
        world.create("main");
        (0..40).for_each(|turn| world.prompt("main", &format!("turn {turn}")));
        world.snapshot("main");
        world.ledger.close().unwrap();
        let (state, restored) = (home.state("main"), home.reader().load(&id("main")).unwrap());
        let sizes = "SELECT length(state), length(packed) FROM snapshots";
        let size = home
            .reader()
            .read(|source| source.one(sizes, &[], |row| Ok((row.get::<i64>(0)?, row.get::<i64>(1)?))));
        let (as_text, packed) = size.unwrap();
        let packed = usize::try_from(packed).unwrap();
        assert!(as_text == 0 && packed * 4 < state.len(), "{packed} of {}", state.len());
        assert_eq!(restored.state_bytes, state.len());
        home.store_as_text(&state);
        let older = home.reader().load(&id("main")).unwrap();
        assert_eq!((older.snapshot, older.state_bytes), (restored.snapshot, state.len()));
        // A schema that has no such column is not changed by those who only read.
        home.vandal(
            "DROP INDEX names; ALTER TABLE agents DROP COLUMN name; DROP INDEX asks; ALTER TABLE agents DROP COLUMN standing; ALTER TABLE agents DROP COLUMN asks;
             ALTER TABLE snapshots DROP COLUMN packed; PRAGMA user_version = 5",
        );
        let reader = home.reader();
        assert_eq!(reader.load(&id("main")).unwrap().state_bytes, state.len());
        assert_eq!(super::super::verify(&reader, &mut |_| Ok(())).unwrap().snapshots, 1);
        let mut world = home.start();
        world.prompt("main", "it goes on");
        world.snapshot("main");
        assert_eq!(super::super::verify(&world.reader, &mut |_| Ok(())).unwrap().snapshots, 2);
    }

    #[test]
    fn what_is_restored_says_how_much_was_read() {
        let home = Home::with_turns(4);
        let restored = home.reader().load(&id("main")).unwrap();
        let payload = home.reader().read(|source| {
            source.one("SELECT sum(length(CAST(payload AS BLOB))) FROM records", &[], |row| row.get::<i64>(0))
        });
        let payload = usize::try_from(payload.unwrap()).unwrap();
        assert_eq!(restored.tail_bytes, payload + restored.tail.len() * crate::rows::row::ROW_BYTES);
        assert_eq!(restored.state_bytes, 0);
    }

    #[test]
    fn damage_is_named_with_its_position_and_not_skipped() {
        for (sql, problem) in [
            (
                "UPDATE records SET payload = replace(payload, '/work', '/wor_') WHERE event_seq = 1",
                "not what was written",
            ),
            ("UPDATE records SET at = at + 1 WHERE event_seq = 1", "not what was written"),
            ("UPDATE records SET payload = CAST(x'7bff' AS TEXT) WHERE event_seq = 1", "event 1"),
            ("DELETE FROM records WHERE event_seq = 1", "missing"),
            ("UPDATE records SET agent = 'mein' WHERE event_seq = 1", "missing"),
        ] {
            let home = Home::with_turns(1);
            home.vandal(sql);
            let error = home.reader().load(&id("main")).unwrap_err();
            let LedgerError::Damaged { at, .. } = &error else { panic!("{sql}: {error}") };
            assert_eq!((at.agent.as_deref(), at.event_seq), (Some("main"), Some(1)), "{sql}");
            assert!(error.to_string().contains(problem), "{sql}: {error}");
        }
    }

    #[test]
    fn a_log_without_its_end_is_damaged() {
        let home = Home::with_turns(1);
        let last = event_count(&home);
        home.vandal(&format!("DELETE FROM records WHERE event_seq = {last}"));
        let error = home.reader().load(&id("main")).unwrap_err();
        assert!(error.to_string().contains(&format!("event {last}")), "{error}");
    }

    #[test]
    fn what_a_newer_build_wrote_is_told_apart_from_damage() {
        for change in ["kind = 'agent_dreamt'", "v = 99"] {
            let home = Home::with_turns(1);
            home.vandal(&format!("UPDATE records SET {change} WHERE event_seq = 3"));
            let reader = home.reader();
            let sum = reader.read(|source| {
                let sql = format!("SELECT {RECORD_COLUMNS} FROM records WHERE event_seq = 3");
                source.one(&sql, &[], StoredRecord::read)
            });
            let sum = crate::rows::row::sum(&sum.unwrap().row.hash());
            home.vandal(&format!("UPDATE records SET sum = {sum} WHERE event_seq = 3"));
            let error = reader.load(&id("main")).unwrap_err();
            assert!(matches!(&error, LedgerError::Newer { at, .. } if at.event_seq == Some(3)), "{error}");
        }
    }

    #[test]
    fn records_are_read_in_pages_without_a_gap() {
        let home = Home::with_turns(60);
        let reader = home.reader();
        let last = reader.last_event(&id("main")).unwrap();
        assert!(last.0 > PAGE as u64);
        let read: Vec<_> =
            reader.records(&id("main"), EventSeq(3), last).unwrap().map(|record| record.unwrap()).collect();
        assert!(read.iter().map(|record| record.event_seq.0).eq(4..=last.0));
    }

    #[test]
    fn a_log_without_its_row_is_damage() {
        let home = Home::with_turns(1);
        home.vandal("DELETE FROM agents");
        let error = home.reader().load(&id("main")).unwrap_err();
        assert!(error.to_string().contains("no row"), "{error}");
    }
}
