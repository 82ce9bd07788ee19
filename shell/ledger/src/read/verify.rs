//! Checks everything that a ledger promises: hash links, gap-free logs, texts under their hashes, and that
//! snapshots and rows of agents are what their logs fold to.

use std::collections::{BTreeMap, BTreeSet};

use holon_core::agent::budget::Account;
use holon_core::agent::{Agent, FoldError};
use holon_core::snapshot::{AgentSnapshot, SNAPSHOT_VERSION, SnapshotHeader};
use holon_facts::{AgentId, ContentId, Record};
use holon_platform::build;
use holon_text::hash;

use super::agents_left::agents_left;
use super::reader::Reader;
use super::restore;
use super::verify_others::{InOrder, NO_ROW, RecordLaws};
use crate::error::{LedgerError, Position};
use crate::rows::link::{self, BATCH_COLUMNS, BatchRow, Ends, Part};
use crate::rows::packed::Kept;
use crate::rows::schema;
use crate::sql::{Row, Source};
use crate::store::AgentRow;

/// Batches that are read at once.
const PAGE: usize = 512;
/// Texts that are read at once.
const TEXTS: usize = 64;

/// How much was found in order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct VerifyReport {
    pub batches: u64,
    pub records: u64,
    pub calls: u64,
    pub agents: u64,
    /// Snapshots that equal the fold of the log. Those of another version, and what another build folds otherwise, are
    /// never read, and only counted in `skipped`.
    pub snapshots: u64,
    pub skipped: u64,
    pub contents: u64,
    pub content_bytes: u64,
    /// Texts of which only the hash is left.
    pub erased: u64,
}

/// The first thing that is not in order.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("{at}: {source}")]
    Fold { at: Box<Position>, source: FoldError },
    #[error("{at} breaks a law: {problem}")]
    Law { at: Box<Position>, problem: String },
}

/// Reads the whole ledger as it is at one moment, in time and memory proportional to its records and its
/// agents. `laws` sees every record in the order in which they were written.
///
/// # Errors
/// The first problem, with its position.
pub fn verify(
    reader: &Reader,
    laws: &mut dyn FnMut(&Record) -> Result<(), String>,
) -> Result<VerifyReport, VerifyError> {
    verify_some_at_once(reader, usize::MAX, &mut InOrder(laws))
}

/// The same with at most so many agents in memory: those that appear first are folded while everything is read, and the others
/// afterwards, one after the other. `laws` sees the records of each agent in their order.
///
/// # Errors
/// The first problem, with its position.
pub fn verify_some_at_once(
    reader: &Reader,
    most: usize,
    laws: &mut dyn RecordLaws,
) -> Result<VerifyReport, VerifyError> {
    reader.at_one_moment(|source| {
        let snapshots = snapshot_positions(source)?;
        let left = agents_left(source)?;
        let (agents, report) = (BTreeMap::new(), VerifyReport::default());
        let mut check = Check { source, laws, most, agents, has_others: false, left, snapshots, report };
        let last = check.batches()?;
        check.nothing_behind(last)?;
        check.agents()?;
        check.contents()?;
        check.pages()?;
        Ok(check.report)
    })
}

pub(super) struct Check<'a> {
    pub(super) source: Source<'a>,
    pub(super) laws: &'a mut dyn RecordLaws,
    /// Agents that are folded at once.
    most: usize,
    pub(super) agents: BTreeMap<AgentId, Agent>,
    /// Whether there are more, which are folded afterwards.
    pub(super) has_others: bool,
    /// Agents that go on in another cell, with the batch after which they do.
    pub(super) left: BTreeMap<AgentId, i64>,
    /// Snapshots that the fold has not come by yet.
    snapshots: BTreeSet<(String, i64)>,
    pub(super) report: VerifyReport,
}

impl Check<'_> {
    fn batches(&mut self) -> Result<BatchRow, VerifyError> {
        let sql = format!("SELECT {BATCH_COLUMNS} FROM batches WHERE batch > ?1 ORDER BY batch LIMIT {PAGE}");
        let mut previous = BatchRow::START;
        loop {
            let at = LedgerError::unreadable(Position::batch(previous.batch + 1));
            let page = self.source.all(&sql, &[previous.batch.into()], BatchRow::read).map_err(at)?;
            let ended = page.len() < PAGE;
            for batch in page {
                self.batch(&previous, &batch)?;
                previous = batch;
            }
            if ended {
                return Ok(previous);
            }
        }
    }

    fn batch(&mut self, previous: &BatchRow, batch: &BatchRow) -> Result<(), VerifyError> {
        follows(previous, batch)?;
        let mut last_step = previous.ends.step;
        link::check(self.source, previous, batch, &mut |part| match part {
            Part::Record(stored) => {
                let record = stored.decode()?;
                let in_order = stored.row.step >= last_step.max(previous.ends.step + 1)
                    && stored.row.step <= batch.ends.step
                    && stored.batch == batch.batch;
                if !in_order {
                    let problem = "the record is in another batch or step";
                    return Err(LedgerError::damaged(stored.at(), problem).into());
                }
                last_step = stored.row.step;
                self.record(&record, &stored.at(), batch.ends)
            }
            Part::Call => {
                self.report.calls += 1;
                Ok(())
            }
        })?;
        self.report.batches += 1;
        Ok(())
    }

    fn record(&mut self, record: &Record, at: &Position, ends: Ends) -> Result<(), VerifyError> {
        self.report.records += 1;
        if self.left.get(&record.agent).is_some_and(|left| at.batch.is_some_and(|batch| batch > *left)) {
            let problem = "the agent had gone to another cell before";
            return Err(LedgerError::damaged(at.clone(), problem).into());
        }
        if self.agents.len() < self.most || self.agents.contains_key(&record.agent) {
            self.fold(record, at)?;
        } else {
            self.has_others = true;
        }
        let mut named = Vec::new();
        record.event.contents(&mut |content| named.push(content.id));
        for id in named {
            self.is_stored(id, at, ends)?;
        }
        Ok(())
    }

    pub(super) fn fold(&mut self, record: &Record, at: &Position) -> Result<(), VerifyError> {
        let fold = |source| VerifyError::Fold { at: Box::new(at.clone()), source };
        match self.agents.get_mut(&record.agent) {
            Some(agent) => agent.fold(record).map_err(fold)?,
            None => {
                self.agents.insert(record.agent.clone(), Agent::created(record).map_err(fold)?);
            }
        }
        self.laws.step(record).map_err(|problem| VerifyError::Law { at: Box::new(at.clone()), problem })?;
        let here = (record.agent.as_str().to_owned(), i64::try_from(record.event_seq.0).unwrap_or(i64::MAX));
        if self.snapshots.remove(&here) { self.snapshot(record, at) } else { Ok(()) }
    }

    /// A text is stored with, or before, the first record that names it.
    fn is_stored(&self, id: ContentId, at: &Position, ends: Ends) -> Result<(), LedgerError> {
        let sql = "SELECT position FROM content WHERE id = ?1";
        let position = self.source.first(sql, &[(&id.0).into()], |row| row.get::<i64>(0));
        let position = position.map_err(LedgerError::unreadable(at.clone()))?;
        match position {
            Some(position) if position <= ends.content => Ok(()),
            Some(_) => Err(LedgerError::damaged(at.clone(), format!("content {id} was stored too late"))),
            None => Err(LedgerError::damaged(at.clone(), format!("content {id} is not stored"))),
        }
    }

    fn snapshot(&mut self, record: &Record, at: &Position) -> Result<(), VerifyError> {
        let columns = Kept::columns(self.source)?;
        let sql = format!("SELECT {columns} FROM snapshots WHERE agent = ?1 AND event_seq = ?2");
        let event_seq = i64::try_from(record.event_seq.0).unwrap_or(i64::MAX);
        let params = [record.agent.as_str().into(), event_seq.into()];
        let kept = self.source.first(&sql, &params, |row| Kept::read(row, 0));
        let kept = kept.map_err(LedgerError::unreadable(at.clone()))?;
        let kept = kept.ok_or_else(|| LedgerError::damaged(at.clone(), "its snapshot is missing"))?;
        if kept.version != SNAPSHOT_VERSION {
            self.report.skipped += 1;
            return Ok(());
        }
        let damaged = || LedgerError::damaged(at.clone(), "the snapshot is not what the log folds to");
        let state = kept.text().map_err(|_| damaged())?;
        let header = SnapshotHeader::decode(&state).map_err(|_| damaged())?;
        let folded = self.agents.get(&record.agent).map(|agent| AgentSnapshot::of(agent).by(&header.build));
        if folded.is_some_and(|folded| folded.encode().as_ref() == Ok(&state)) {
            self.report.snapshots += 1;
            return Ok(());
        }
        // Another build may fold otherwise: its states are not read, and say nothing against the log.
        if header.build != build::id() {
            self.report.skipped += 1;
            return Ok(());
        }
        Err(damaged().into())
    }

    /// Rows that no batch accounts for.
    fn nothing_behind(&self, last: BatchRow) -> Result<(), LedgerError> {
        let tables =
            [("records", last.ends.record), ("recorder", last.ends.call), ("content", last.ends.content)];
        for (table, end) in tables {
            let sql = format!("SELECT coalesce(max(position), 0) FROM {table}");
            let found = self.source.first(&sql, &[], |row| row.get::<i64>(0));
            let found = found.map_err(LedgerError::unreadable(Position::batch(last.batch)))?.unwrap_or(0);
            if found != end {
                let at = Position::batch(last.batch);
                return Err(LedgerError::damaged(at, format!("{table} reach {found}, the batches {end}")));
            }
        }
        Ok(())
    }

    fn agents(&mut self) -> Result<(), VerifyError> {
        let accounts = self.accounts()?;
        self.laws.forget();
        self.those_who_left()?;
        self.agents.retain(|agent, _| !self.left.contains_key(agent));
        let rows = restore::agent_rows(self.source)?;
        let at = |row: &AgentRow| {
            Position::event(row.agent.as_str(), i64::try_from(row.event_seq.0).unwrap_or(i64::MAX), None)
        };
        for row in rows {
            let agent = match self.agents.remove(&row.agent) {
                None if self.has_others => self.fold_log(&row.agent)?,
                folded => folded,
            };
            let folded = agent.as_ref().map(|agent| AgentRow::of(agent).without_standing());
            let told_before = |agent: &Agent| {
                let row = AgentRow::of(agent).without_standing();
                agent.open_work_before().map(|open_work| AgentRow { open_work, ..row.clone() })
            };
            let told_before = agent.as_ref().map(told_before);
            if folded.as_ref() != Some(&row) && !told_before.is_some_and(|rows| rows.contains(&row)) {
                let problem = format!("the agent's row has {row:?}, its log {folded:?}");
                return Err(LedgerError::damaged(at(&row), problem).into());
            }
            let spent = agent.map(|agent| agent.account).unwrap_or_default();
            let told = accounts.as_ref().map(|told| told.get(&row.agent).copied().unwrap_or_default());
            if let Some(told) = told.filter(|told| *told != spent) {
                let problem = format!("by the agent's row {told:?} was spent, its log {spent:?}");
                return Err(LedgerError::damaged(at(&row), problem).into());
            }
            self.report.agents += 1;
        }
        if let Some(agent) = self.agents.values().next() {
            return Err(LedgerError::damaged(at(&AgentRow::of(agent)), NO_ROW).into());
        }
        self.nobody_else()?;
        match self.snapshots.first() {
            None => Ok(()),
            Some((agent, event_seq)) => {
                let at = Position::event(agent, *event_seq, None);
                Err(LedgerError::damaged(at, "there is a snapshot, but no record").into())
            }
        }
    }

    /// What the rows say that was spent; none where the ledger is too old to say.
    fn accounts(&self) -> Result<Option<BTreeMap<AgentId, Account>>, LedgerError> {
        if schema::version(self.source)? < schema::ACCOUNTS {
            return Ok(None);
        }
        Ok(Some(restore::accounts_of(self.source)?.into_iter().collect()))
    }

    fn contents(&mut self) -> Result<(), LedgerError> {
        let sql = format!(
            "SELECT position, id, bytes, text FROM content WHERE position > ?1 ORDER BY position LIMIT {TEXTS}"
        );
        let failed = |error| LedgerError::unreadable(Position::default())(error);
        let source = self.source;
        let mut last = 0;
        loop {
            let mut read = 0;
            source.each(&sql, &[last.into()], failed, |row| {
                (last, read) = (row.get(0).map_err(failed)?, read + 1);
                self.content(row)
            })?;
            if read < TEXTS {
                return Ok(());
            }
        }
    }

    /// What finds rows leads to them: everything above has read them in the order of the ledger alone.
    fn pages(&self) -> Result<(), LedgerError> {
        if !matches!(self.source, Source::Sqlite(_)) {
            return Ok(());
        }
        // Where there is no state, nothing has read their columns.
        let states =
            format!("SELECT agent, event_seq, {} FROM snapshots LIMIT 1", Kept::columns(self.source)?);
        let read = self.source.first(&states, &[], |_| Ok(()));
        read.map_err(LedgerError::unreadable(Position::default()))?;
        let failed = LedgerError::unreadable(Position::default());
        let found = self.source.first("PRAGMA integrity_check(1)", &[], |row| row.get::<String>(0));
        match found.map_err(failed)? {
            Some(found) if found != "ok" => {
                let first = found.lines().find(|line| !line.starts_with("***")).unwrap_or(&found);
                Err(LedgerError::damaged(Position::default(), format!("the file is damaged: {first}")))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn content(&mut self, row: &Row<'_>) -> Result<(), LedgerError> {
        let failed = || LedgerError::unreadable(Position::default());
        let id = ContentId(row.get(1).map_err(failed())?);
        let bytes: i64 = row.get(2).map_err(failed())?;
        let damaged =
            |problem: &str| LedgerError::damaged(Position::default(), format!("content {id} {problem}"));
        let text = row.get::<Option<String>>(3).map_err(|error| damaged(&error.to_string()))?;
        let Some(text) = text else {
            self.report.erased += 1;
            return Ok(());
        };
        if hash(text.as_bytes()) != id || i64::try_from(text.len()) != Ok(bytes) {
            return Err(damaged("is not what was written"));
        }
        self.report.contents += 1;
        self.report.content_bytes += text.len() as u64;
        Ok(())
    }
}

fn follows(previous: &BatchRow, batch: &BatchRow) -> Result<(), LedgerError> {
    let (from, to) = (previous.ends, batch.ends);
    let problem = if batch.batch != previous.batch + 1 {
        "the batch before it is missing"
    } else if batch.epoch < previous.epoch {
        "its writer had been replaced"
    } else if to.step < from.step
        || to.record < from.record
        || to.call < from.call
        || to.content < from.content
    {
        "it ends before the batch before it"
    } else {
        return Ok(());
    };
    Err(LedgerError::damaged(Position::batch(batch.batch), problem))
}

fn snapshot_positions(source: Source<'_>) -> Result<BTreeSet<(String, i64)>, LedgerError> {
    let all = source.all("SELECT agent, event_seq FROM snapshots", &[], |row| Ok((row.get(0)?, row.get(1)?)));
    Ok(all.map_err(LedgerError::unreadable(Position::default()))?.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::testing::Home;
    use crate::store::LedgerReader as _;

    fn checked(home: &Home) -> Result<VerifyReport, VerifyError> {
        verify(&home.reader(), &mut |_| Ok(()))
    }

    #[test]
    fn a_good_ledger_is_counted() {
        let home = Home::new();
        let mut world = home.start();
        world.create("main");
        world.prompt("main", &"long ".repeat(200));
        world.snapshot("main");
        world.prompt("main", "short");
        let mut seen = 0;
        let report = verify(&world.reader, &mut |_| {
            seen += 1;
            Ok(())
        })
        .unwrap();
        assert_eq!((report.agents, report.snapshots, report.records), (1, 1, seen));
        assert!(report.contents >= 3 && report.content_bytes > 1_000);
    }

    #[test]
    fn a_read_that_takes_too_long_is_ended() {
        let reader = Home::with_turns(3).reader();
        let stopper = reader.stopper();
        let mut seen = 0;
        let ended = verify(&reader, &mut |_| {
            seen += 1;
            stopper.stop();
            Ok(())
        });
        assert!(matches!(&ended, Err(VerifyError::Ledger(error)) if !error.is_damage()), "{ended:?}");
        let records = checked(&Home::with_turns(3)).unwrap().records;
        assert!(seen < records, "{seen} of {records}");
    }

    /// Nobody reads it; the same state under this build's name is damage.
    #[test]
    fn a_state_of_another_build_says_nothing_against_the_log() {
        for (whose, damaged) in [("another", false), (build::id(), true)] {
            let home = Home::new();
            let mut world = home.start();
            world.create("main");
            world.prompt("main", "go");
            world.snapshot("main");
            world.ledger.close().unwrap();
            let rewrite = |from: &str, to: &str| {
                let state = home.state("main").replace(from, to);
                home.store_as_text(&state);
            };
            let named = |build: &str| format!("\"build\":\"{build}\"");
            rewrite(&named(build::id()), &named(whose));
            assert_eq!(checked(&home).unwrap().snapshots, 1, "it is what this build folds, too");
            let (restored, agent) = (home.reader().load(&AgentId::new("main").unwrap()).unwrap(), "asleep");
            assert_eq!(restored.snapshot.is_some(), damaged, "only what this build has folded is read");
            rewrite(agent, "awake_idle");
            match checked(&home) {
                Ok(report) => assert!(!damaged && (report.snapshots, report.skipped) == (0, 1), "{report:?}"),
                Err(error) => assert!(damaged && error.to_string().contains("folds to"), "{error}"),
            }
        }
    }

    #[test]
    fn every_kind_of_damage_is_named() {
        for (sql, problem) in [
            ("UPDATE records SET payload = payload || ' ' WHERE position = 5", "event 5"),
            ("UPDATE records SET batch = batch + 1 WHERE position = 5", "another batch"),
            ("DELETE FROM records WHERE position = 5", "expected 5"),
            ("DELETE FROM records WHERE position = (SELECT max(position) FROM records)", "hash link"),
            ("UPDATE recorder SET call = replace(call, '10', '11') WHERE position = 3", "call 3"),
            ("DELETE FROM recorder WHERE position = 3", "hash link"),
            ("UPDATE batches SET link = zeroblob(32) WHERE batch = 3", "batch 3"),
            ("DELETE FROM batches WHERE batch = 3", "missing"),
            ("DELETE FROM batches WHERE batch = (SELECT max(batch) FROM batches)", "reach"),
            ("UPDATE batches SET epoch = 7 WHERE batch = 3", "hash link"),
            ("UPDATE content SET text = text || '!' WHERE position = 1", "is not what was written"),
            ("DELETE FROM content WHERE position = 1", "is not stored"),
            ("UPDATE agents SET event_seq = event_seq - 1", "row has"),
            ("UPDATE agents SET account = NULL", "was spent"),
            ("DELETE FROM agents", "no row"),
            (
                "INSERT INTO snapshots VALUES (1, 'main', 2, {version}, '{}', zeroblob(32), NULL)",
                "the log folds to",
            ),
            (
                "INSERT INTO snapshots VALUES (1, 'main', 2, {version}, '', zeroblob(32), x'00')",
                "the log folds to",
            ),
            (
                "INSERT INTO snapshots VALUES (1, 'main', 999, {version}, '', zeroblob(32), x'00')",
                "no record",
            ),
        ] {
            let home = Home::with_turns(2);
            let sql = sql.replace("{version}", &SNAPSHOT_VERSION.to_string());
            home.vandal(&sql);
            let error = checked(&home).expect_err(&sql);
            assert!(error.to_string().contains(problem), "{sql}: {error}");
        }
    }

    #[test]
    fn an_erased_text_leaves_its_hash() {
        let home = Home::with_turns(1);
        home.vandal("UPDATE content SET text = NULL WHERE position = 1");
        assert_eq!(checked(&home).unwrap().erased, 1);
    }

    #[test]
    fn a_broken_law_is_named_with_its_record() {
        let home = Home::with_turns(1);
        let mut law = |record: &Record| {
            if record.event_seq.0 == 4 { Err("no fourth event".to_owned()) } else { Ok(()) }
        };
        let error = verify(&home.reader(), &mut law).unwrap_err();
        assert!(matches!(&error, VerifyError::Law { at, .. } if at.event_seq == Some(4)), "{error}");
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { cases: 48, ..Default::default() })]

        /// Whatever byte of the file goes bad: either it is noticed, or it did not matter.
        #[test]
        fn a_bad_byte_is_noticed_or_does_not_matter(at in 0.0..1.0_f64, bits in 1_u8..=255) {
            static GOOD: std::sync::LazyLock<(Vec<u8>, String)> = std::sync::LazyLock::new(|| {
                let home = Home::with_turns(3);
                let loaded = loaded(&home.reader()).unwrap();
                (std::fs::read(home.ledger()).unwrap(), loaded)
            });
            let (good, expected) = &*GOOD;
            let mut bad = good.clone();
            let index = ((bad.len() as f64) * at) as usize;
            bad[index] ^= bits;
            let home = Home::new();
            std::fs::write(home.ledger(), bad).unwrap();
            let Ok(reader) = Reader::open(&home.ledger()) else { return Ok(()) };
            if let Ok(read) = loaded(&reader) {
                proptest::prop_assert_eq!(&read, expected);
            }
            let _noticed = verify(&reader, &mut |_| Ok(()));
        }
    }

    fn loaded(reader: &Reader) -> Result<String, LedgerError> {
        let restored = reader.load(&AgentId::new("main").unwrap())?;
        Ok(format!("{:?} {:?}", restored.snapshot, restored.tail))
    }
}
