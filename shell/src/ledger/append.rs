//! The writing side: opening a ledger for writing, and appending batches to it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use holon_core::{AgentId, ContentId, Durable, Event, StepSeq};
use rusqlite::{Connection, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, params};

use super::batch::{AgentRow, Batch};
use super::error::{AppendError, LedgerError, Position};
use super::link::{self, BatchRow, Ends, Link};
use super::read::Reader;
use super::row::{RecordRow, call_hash, stored, sum};
use super::schema;
use crate::text::hash;

/// Pages of 4 KiB in the write-ahead log from which on they are moved into the file.
const CHECKPOINT_PAGES: i32 = 1_000;

/// How long another program may keep the file locked.
const BUSY: Duration = Duration::from_secs(5);

/// Snapshots that are kept per agent.
const SNAPSHOTS: i64 = 2;

/// What a batch survives once it is acknowledged (`runtime.durability`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Power loss.
    Full,
    /// The end of the process, not of the machine.
    Process,
}

/// The only writer of a ledger. Owned by one thread.
#[derive(Debug)]
pub struct Ledger {
    pub(super) connection: Connection,
    epoch: i64,
    last: BatchRow,
    /// Newest version of each kind of event that was ever written.
    kinds: BTreeMap<String, i64>,
    wal_pages: Arc<AtomicI32>,
    failed: bool,
}

/// A ledger that was opened for writing.
#[derive(Debug)]
pub struct Opened {
    pub ledger: Ledger,
    /// For everything that is read while the ledger is written.
    pub reader: Reader,
    /// The newest step that it holds.
    pub last_step: StepSeq,
    /// Whether it is new.
    pub created: bool,
}

impl Ledger {
    /// Opens a ledger for writing, creates it where there is none, brings its schema up to date, and takes
    /// the pen from whoever held it. The newest batch is checked against its link; the rest is not read.
    ///
    /// # Errors
    /// When the file is not a ledger, is damaged at its end, can't be written, or holds what this build does
    /// not know. It is not changed then.
    pub fn open(path: &Path, durability: Durability) -> Result<Opened, LedgerError> {
        let created = create(path)?;
        let mut connection = connect(path, durability)?;
        let epoch = take_over(&mut connection)?;
        let kinds = kinds(&connection)?;
        let last = link::newest(&connection)?;
        let wal_pages = Arc::new(AtomicI32::new(0));
        let seen = wal_pages.clone();
        connection
            .wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, pages| {
                seen.store(pages, Ordering::Relaxed);
                Ok(())
            }))
            .map_err(LedgerError::sqlite("opening"))?;
        let reader = Reader::open(path)?;
        let last_step = StepSeq(u64::try_from(last.ends.step).unwrap_or(0));
        let ledger = Self { connection, epoch, last, kinds, wal_pages, failed: false };
        Ok(Opened { ledger, reader, last_step, created })
    }

    /// Makes a batch durable, wholly or not at all.
    ///
    /// # Errors
    /// [`AppendError::Full`] leaves the ledger as it was. After [`AppendError::Fatal`] it takes nothing more.
    pub fn append(&mut self, batch: &Batch) -> Result<Durable, AppendError> {
        if self.failed {
            return Err(LedgerError::WriterEnded.into());
        }
        match self.write(batch) {
            Ok(last) => {
                self.last = last;
                self.remember_kinds(&batch.records);
                Ok(attest(last.ends.step))
            }
            Err(AppendError::Full) => Err(AppendError::Full),
            Err(AppendError::Fatal(error)) => {
                self.failed = true;
                Err(error.into())
            }
        }
    }

    /// Moves the write-ahead log into the file when it has grown; for a moment at which nobody waits.
    ///
    /// # Errors
    /// When the disk fails; the ledger takes nothing more then. A full disk is no error here.
    pub fn tend(&mut self) -> Result<(), LedgerError> {
        if self.wal_pages.load(Ordering::Relaxed) < CHECKPOINT_PAGES {
            return Ok(());
        }
        let done = self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        match done.map_err(LedgerError::sqlite("moving the write-ahead log into the file")) {
            Ok(()) => {
                self.wal_pages.store(0, Ordering::Relaxed);
                Ok(())
            }
            Err(LedgerError::Full) => Ok(()),
            Err(error) => {
                self.failed = true;
                Err(error)
            }
        }
    }

    /// Moves the write-ahead log into the file, where no reader is in the way, and closes it.
    pub fn close(self) -> Result<(), LedgerError> {
        self.connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .map_err(LedgerError::sqlite("closing"))?;
        self.connection.close().map_err(|(_, error)| LedgerError::sqlite("closing")(error))
    }

    fn write(&mut self, batch: &Batch) -> Result<BatchRow, AppendError> {
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(AppendError::sqlite("beginning a batch"))?;
        let pen = Pen { transaction: &transaction, epoch: self.epoch, last: self.last };
        pen.check_epoch().map_err(LedgerError::full_or_fatal)?;
        pen.kinds(&self.kinds, &batch.records).map_err(LedgerError::full_or_fatal)?;
        let row = pen.batch(batch).map_err(LedgerError::full_or_fatal)?;
        transaction.commit().map_err(AppendError::sqlite("committing a batch"))?;
        Ok(row)
    }

    fn remember_kinds(&mut self, records: &[RecordRow]) {
        for record in records {
            if self.kinds.get(&record.kind).is_none_or(|version| *version < record.version) {
                self.kinds.insert(record.kind.clone(), record.version);
            }
        }
    }
}

/// One batch in the writing.
struct Pen<'a> {
    transaction: &'a Transaction<'a>,
    epoch: i64,
    last: BatchRow,
}

impl Pen<'_> {
    /// Another writer that opened the ledger since has the pen now.
    fn check_epoch(&self) -> Result<(), LedgerError> {
        let found = epoch(self.transaction)?;
        if found == self.epoch { Ok(()) } else { Err(LedgerError::Fenced { own: self.epoch, found }) }
    }

    fn kinds(&self, known: &BTreeMap<String, i64>, records: &[RecordRow]) -> Result<(), LedgerError> {
        for record in records {
            if known.get(&record.kind).is_none_or(|version| *version < record.version) {
                self.execute(
                    "INSERT INTO kinds VALUES (?1, ?2)
                     ON CONFLICT (kind) DO UPDATE SET v = max(v, excluded.v)",
                    params![record.kind, record.version],
                )?;
            }
        }
        Ok(())
    }

    fn batch(&self, batch: &Batch) -> Result<BatchRow, LedgerError> {
        let number = self.last.batch + 1;
        let fresh = self.contents(batch)?;
        let ends = Ends {
            step: batch.through.map_or(Ok(self.last.ends.step), |step| stored(step.0))?,
            record: self.last.ends.record + count(batch.records.len()),
            call: self.last.ends.call + count(batch.calls.len()),
            content: self.last.ends.content + count(fresh.len()),
        };
        let mut link = Link::new(&self.last.link, number, self.epoch, ends);
        self.records(batch, number, &mut link)?;
        self.calls(batch, number, &mut link)?;
        fresh.iter().for_each(|id| link.row(&id.0));
        self.agents(batch)?;
        self.snapshots(batch)?;
        let row = BatchRow { batch: number, epoch: self.epoch, ends, link: link.finish() };
        self.execute(
            "INSERT INTO batches VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![number, row.epoch, ends.step, ends.record, ends.call, ends.content, row.link],
        )?;
        Ok(row)
    }

    /// Stores the texts that are not stored yet, and says which these are.
    fn contents(&self, batch: &Batch) -> Result<Vec<ContentId>, LedgerError> {
        let mut fresh = Vec::new();
        for (id, text) in &batch.contents {
            let position = self.last.ends.content + count(fresh.len()) + 1;
            let inserted = self.execute(
                "INSERT INTO content VALUES (?1, ?2, ?3, ?4) ON CONFLICT (id) DO NOTHING",
                params![position, id.0, count(text.len()), &**text],
            )?;
            if inserted > 0 {
                fresh.push(*id);
            }
        }
        Ok(fresh)
    }

    fn records(&self, batch: &Batch, number: i64, link: &mut Link) -> Result<(), LedgerError> {
        for (position, record) in (self.last.ends.record + 1..).zip(&batch.records) {
            let hash = record.hash();
            link.row(&hash);
            self.execute(
                "INSERT INTO records VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                params![
                    position,
                    record.agent,
                    record.event_seq,
                    record.step,
                    number,
                    record.at,
                    record.kind,
                    record.version,
                    record.payload,
                    sum(&hash)
                ],
            )?;
        }
        Ok(())
    }

    fn calls(&self, batch: &Batch, number: i64, link: &mut Link) -> Result<(), LedgerError> {
        for (position, call) in (self.last.ends.call + 1..).zip(&batch.calls) {
            let hash = call_hash(call.step, &call.json);
            link.row(&hash);
            self.execute(
                "INSERT INTO recorder VALUES (?1, ?2, ?3, ?4, ?5)",
                params![position, number, call.step, call.json, sum(&hash)],
            )?;
        }
        Ok(())
    }

    /// Updates the row of each agent, where its new records continue its log.
    fn agents(&self, batch: &Batch) -> Result<(), LedgerError> {
        let mut spans: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
        for record in &batch.records {
            let span = spans.entry(&record.agent).or_insert((record.event_seq, record.event_seq - 1));
            if record.event_seq != span.1 + 1 {
                return Err(gap(&record.agent, span.1 + 1, record.event_seq));
            }
            span.1 = record.event_seq;
        }
        for (id, row) in &batch.agents {
            if let Some((first, last)) = spans.remove(id.as_str()) {
                self.agent(id, row, first, last)?;
            }
        }
        match spans.into_iter().next() {
            None => Ok(()),
            Some((agent, _)) => Err(LedgerError::NoAgent { agent: agent.to_owned() }),
        }
    }

    fn agent(&self, id: &AgentId, row: &AgentRow, first: i64, last: i64) -> Result<(), LedgerError> {
        let deadline = row.next_deadline.map(|at| at.0);
        let values =
            params![id.as_str(), last, row.status.name(), deadline, stored(row.open_work)?, first - 1];
        let sql = if first == 1 {
            "INSERT INTO agents SELECT ?1, ?2, ?3, ?4, ?5 WHERE ?6 = 0 ON CONFLICT (agent) DO NOTHING"
        } else {
            "UPDATE agents SET event_seq = ?2, status = ?3, next_deadline = ?4, open_work = ?5
             WHERE agent = ?1 AND event_seq = ?6"
        };
        if self.execute(sql, values)? == 1 {
            return Ok(());
        }
        let held = self
            .transaction
            .query_row("SELECT event_seq FROM agents WHERE agent = ?1", [id.as_str()], |row| row.get(0))
            .optional()
            .map_err(LedgerError::sqlite("reading where a log ends"))?;
        Err(gap(id.as_str(), held.unwrap_or(0) + 1, first))
    }

    fn snapshots(&self, batch: &Batch) -> Result<(), LedgerError> {
        for (id, snapshot) in &batch.snapshots {
            let event_seq = stored(snapshot.agent.event_seq.0)?;
            let at = || Position::event(id.as_str(), event_seq, None);
            let state = snapshot.encode().map_err(|error| LedgerError::damaged(at(), error))?;
            self.execute(
                "INSERT OR REPLACE INTO snapshots (agent, event_seq, version, state, hash)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
                params![id.as_str(), event_seq, snapshot.version, state, hash(state.as_bytes()).0],
            )?;
            self.execute(
                "DELETE FROM snapshots WHERE agent = ?1 AND event_seq NOT IN
                 (SELECT event_seq FROM snapshots WHERE agent = ?1 ORDER BY event_seq DESC LIMIT ?2)",
                params![id.as_str(), SNAPSHOTS],
            )?;
        }
        Ok(())
    }

    fn execute(&self, sql: &str, values: impl rusqlite::Params) -> Result<usize, LedgerError> {
        self.transaction
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute(values))
            .map_err(LedgerError::sqlite("writing a batch"))
    }
}

#[expect(clippy::disallowed_methods, reason = "the transaction with these steps has been committed")]
fn attest(step: i64) -> Durable {
    Durable::attest(StepSeq(u64::try_from(step).unwrap_or(0)))
}

fn gap(agent: &str, expected: i64, got: i64) -> LedgerError {
    let at = Position::event(agent, got, None);
    LedgerError::damaged(at, format!("records do not continue the agent's log, which goes on at {expected}"))
}

fn count(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}

/// Creates the file where there is none, for this user alone: it holds everything that was said.
fn create(path: &Path) -> Result<bool, LedgerError> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let failed =
        |error: std::io::Error| LedgerError::Open { path: path.to_owned(), problem: error.to_string() };
    match options.open(path) {
        Ok(file) => {
            file.sync_all().map_err(failed)?;
            #[cfg(unix)]
            if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                std::fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
            }
            Ok(true)
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(failed(error)),
    }
}

fn connect(path: &Path, durability: Durability) -> Result<Connection, LedgerError> {
    let open = |problem: String| LedgerError::Open { path: path.to_owned(), problem };
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(|error| open(error.to_string()))?;
    if connection.is_readonly("main").unwrap_or(false) {
        return Err(open("the file is read-only".into()));
    }
    super::read::check_kind(&connection, path)?;
    connection.set_prepared_statement_cache_capacity(32);
    let synchronous = match durability {
        Durability::Full => "FULL",
        Durability::Process => "NORMAL",
    };
    connection
        .busy_timeout(BUSY)
        .and_then(|()| {
            connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0))
        })
        .and_then(|_| connection.pragma_update(None, "synchronous", synchronous))
        .map_err(|error| open(error.to_string()))?;
    Ok(connection)
}

/// Brings the schema up to date and raises the epoch, unless the ledger is for newer builds only.
fn take_over(connection: &mut Connection) -> Result<i64, LedgerError> {
    let failed = "taking over the ledger";
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(LedgerError::sqlite(failed))?;
    schema::migrate(&transaction)?;
    for (kind, version) in kinds(&transaction)? {
        if !Event::kinds().any(|(known, up_to)| known == kind && i64::from(up_to) >= version) {
            return Err(LedgerError::NewerEvents { kind, version });
        }
    }
    transaction
        .execute("UPDATE meta SET value = value + 1 WHERE key = 'writer_epoch'", [])
        .map_err(LedgerError::sqlite(failed))?;
    let epoch = epoch(&transaction)?;
    transaction.commit().map_err(LedgerError::sqlite(failed))?;
    Ok(epoch)
}

fn epoch(connection: &Connection) -> Result<i64, LedgerError> {
    connection
        .prepare_cached("SELECT value FROM meta WHERE key = 'writer_epoch'")
        .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
        .map_err(LedgerError::sqlite("reading the writer's epoch"))
}

fn kinds(connection: &Connection) -> Result<BTreeMap<String, i64>, LedgerError> {
    let mut statement =
        connection.prepare("SELECT kind, v FROM kinds").map_err(LedgerError::sqlite("reading the kinds"))?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    rows.and_then(Iterator::collect).map_err(LedgerError::sqlite("reading the kinds"))
}

#[cfg(test)]
mod tests {
    use holon_core::Input;

    use super::super::testing::{Home, created, id, stop};
    use super::*;

    #[test]
    fn a_second_writer_takes_the_pen_and_the_first_notices() {
        let home = Home::new();
        let mut first = home.start();
        first.create("main");
        let second = home.start();
        let (batch, _step) = first.step(stop("main"));
        let error = first.ledger.append(&batch).unwrap_err();
        assert!(matches!(error, AppendError::Fatal(LedgerError::Fenced { own: 1, found: 2 })), "{error}");
        let error = first.ledger.append(&batch).unwrap_err();
        assert!(matches!(error, AppendError::Fatal(LedgerError::WriterEnded)), "{error}");
        drop(second);
    }

    #[test]
    fn a_full_disk_takes_nothing_and_goes_on_when_there_is_room() {
        let home = Home::new();
        let mut world = home.start();
        world.create("main");
        let held = world.reader.last_step().unwrap();
        let pages: i64 =
            world.ledger.connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
        world.ledger.connection.pragma_update(None, "max_page_count", pages).unwrap();
        let prompt = world.prompted("main", &"x".repeat(100_000));
        let (batch, step) = world.step(prompt);
        for _ in 0..2 {
            assert!(matches!(world.ledger.append(&batch), Err(AppendError::Full)));
            assert_eq!(world.reader.last_step().unwrap(), held);
        }
        world.ledger.connection.pragma_update(None, "max_page_count", 1_000_000).unwrap();
        let durable = world.ledger.append(&batch).unwrap();
        assert_eq!(durable.through(), step.seq());
        super::super::verify(&world.reader, &mut |_| Ok(())).unwrap();
    }

    #[test]
    fn records_that_do_not_continue_a_log_are_refused_whole() {
        let home = Home::new();
        let mut world = home.start();
        world.create("main");
        let (lost, _step) = world.step(stop("main"));
        let (later, _step) = world.step(Input::Control {
            agent: id("main"),
            request: holon_core::input::ControlRequest::Start,
            reply: holon_core::ReplyId(3),
        });
        let error = world.ledger.append(&later).unwrap_err();
        assert!(error.to_string().contains("continue the agent's log"), "{error}");
        assert!(world.ledger.append(&lost).is_err(), "nothing is taken after a failure");
        drop(world);
        super::super::verify(&home.reader(), &mut |_| Ok(())).unwrap();
    }

    #[test]
    fn a_group_of_steps_is_one_batch_and_equal_text_is_stored_once() {
        let home = Home::new();
        let mut world = home.start();
        let (mut group, first) = world.step(created("main"));
        let mut through = first.seq();
        for _ in 0..5 {
            let prompt = world.prompted("main", &"the same ".repeat(100));
            let (batch, step) = world.step(prompt);
            through = step.seq();
            group.merge(batch);
        }
        let durable = world.ledger.append(&group).unwrap();
        assert_eq!(durable.through(), through);
        let report = super::super::verify(&world.reader, &mut |_| Ok(())).unwrap();
        assert_eq!((report.batches, report.contents), (2, 1));
    }

    #[test]
    fn a_ledger_for_newer_builds_is_left_alone() {
        let home = Home::with_turns(1);
        home.vandal("INSERT INTO kinds VALUES ('agent_dreamt', 1)");
        let error = Ledger::open(&home.ledger(), Durability::Full).unwrap_err();
        assert!(matches!(error, LedgerError::NewerEvents { .. }), "{error}");
        assert!(home.reader().load(&id("main")).is_ok(), "it can be read");
        home.vandal("PRAGMA user_version = 99");
        let error = Ledger::open(&home.ledger(), Durability::Full).unwrap_err();
        assert!(matches!(error, LedgerError::NewerSchema { found: 99, .. }), "{error}");
        let error = Reader::open(&home.ledger()).unwrap_err();
        assert!(matches!(error, LedgerError::NewerSchema { found: 99, .. }), "{error}");
    }

    #[test]
    fn what_is_not_a_ledger_is_left_alone() {
        let home = Home::new();
        std::fs::write(home.ledger(), "not a database at all".repeat(100)).unwrap();
        let error = Ledger::open(&home.ledger(), Durability::Full).unwrap_err();
        assert!(matches!(error, LedgerError::NotALedger { .. }), "{error}");
        let home = Home::new();
        home.vandal("CREATE TABLE theirs (x)");
        let error = Ledger::open(&home.ledger(), Durability::Full).unwrap_err();
        assert!(matches!(error, LedgerError::NotALedger { .. }), "{error}");
        let error = Ledger::open(&home.ledger().join("below/a/file"), Durability::Full).unwrap_err();
        assert!(matches!(error, LedgerError::Open { .. }), "{error}");
        let error = Reader::open(&home.folder.path().join("nothing")).unwrap_err();
        assert!(matches!(error, LedgerError::Open { .. }), "{error}");
    }

    #[test]
    fn damage_to_the_newest_batch_stops_the_start() {
        let home = Home::with_turns(1);
        home.vandal("UPDATE batches SET link = zeroblob(32) WHERE batch = (SELECT max(batch) FROM batches)");
        let error = Ledger::open(&home.ledger(), Durability::Full).unwrap_err();
        assert!(matches!(&error, LedgerError::Damaged { at, .. } if at.batch.is_some()), "{error}");
    }

    #[test]
    fn only_this_user_reads_it() {
        use std::os::unix::fs::PermissionsExt;
        let home = Home::with_turns(0);
        let mode = std::fs::metadata(home.ledger()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn the_write_ahead_log_is_moved_when_it_has_grown() {
        let home = Home::new();
        let mut world = home.start();
        world.create("main");
        for turn in 0..3 {
            let text: String =
                (0..300_000).map(|at| char::from(b'a' + ((at * 7 + turn) % 26) as u8)).collect();
            for part in 0..10 {
                let prompt = world.prompted("main", &format!("{turn}{part}{text}"));
                let (batch, _step) = world.step(prompt);
                world.ledger.append(&batch).unwrap();
            }
            world.ledger.tend().unwrap();
        }
        assert!(std::fs::metadata(home.ledger()).unwrap().len() > 3_000_000);
    }
}
