//! The writing side: opening a ledger for writing, and appending batches to it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use crate::write::attest;
use holon_core::Durable;
use holon_facts::{Millis, StepSeq};
use holon_platform::clock;
use holon_platform::crash_point::{self, Point, half_of, reached};
use rusqlite::{Connection, TransactionBehavior};

use super::batch_writer::BatchWriter;
use super::locked::holders_of;
use super::loss::Files;
use super::open;
use crate::durability::Durability;
use crate::error::{AppendError, LedgerError};
use crate::read::Reader;
use crate::report::Holders;
use crate::rows::batch::Batch;
use crate::rows::head::HeadFile;
use crate::rows::link::{self, BatchRow};
use crate::rows::packed::Packed;
use crate::rows::row::RecordRow;
use crate::rows::schema;

/// Pages of 4 KiB in the write-ahead log from which on they are moved into the file.
fn checkpoint_pages() -> i32 {
    if crash_point::in_use() { 40 } else { 1_000 }
}

/// How long another program may keep the file locked before whoever writes is told.
pub(super) const BUSY: Duration = Duration::from_secs(1);

/// How long a start waits for that.
const LOCKED_AT_START: Millis = Millis::seconds(30);

/// The only writer of a ledger. Owned by one thread.
#[derive(Debug)]
pub struct Ledger {
    pub(super) connection: Connection,
    epoch: i64,
    last: BatchRow,
    /// Newest version of each kind of event that was ever written.
    kinds: BTreeMap<String, i64>,
    pub(super) wal_pages: Arc<AtomicI32>,
    pub(super) head: HeadFile,
    pub(super) failed: bool,
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
    /// What whoever starts the runtime is to know.
    pub warnings: Vec<String>,
}

impl Ledger {
    /// Opens a ledger for writing, creates it where there is none, brings its schema up to date, and takes
    /// the ledger over from its last writer. The newest batch is checked against its link; the rest is not read.
    ///
    /// # Errors
    /// When the file is not a ledger, is damaged at its end or ends before what was acknowledged, can't be written, or
    /// holds what this build does not know. It is not changed then.
    pub fn open(path: &Path, durability: Durability) -> Result<Opened, LedgerError> {
        let (began, mut created) = (clock::now(), false);
        loop {
            match Self::open_once(path, durability, &mut created) {
                Err(LedgerError::Locked { .. }) if clock::since(began) < LOCKED_AT_START => {
                    std::thread::sleep(Duration::from_millis(100));
                }
                opened => return opened.map_err(|error| error.naming_holders(path)),
            }
        }
    }

    fn open_once(path: &Path, durability: Durability, created: &mut bool) -> Result<Opened, LedgerError> {
        let files = Files::look(path)?;
        *created |= open::create(path)?;
        reached(Point::LedgerMade);
        let mut connection = open::connect(path, durability)?;
        let (head, warnings) = open::compare(&connection, path, files, durability)?;
        let epoch = open::take_over(&mut connection)?;
        reached(Point::TakenOver);
        let kinds = schema::kinds((&connection).into())?;
        let last = link::newest((&connection).into())?;
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
        connection.busy_timeout(BUSY).map_err(LedgerError::sqlite("opening"))?;
        let created = *created;
        let ledger = Self { connection, epoch, last, kinds, wal_pages, head, failed: false };
        Ok(Opened { ledger, reader, last_step, created, warnings })
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
                // One that can't be written is older than the ledger, which is no damage.
                self.head.committed(&last, batch).unwrap_or_default();
                self.remember_kinds(&batch.records);
                Ok(attest(last.ends.step))
            }
            Err(AppendError::Full) => Err(AppendError::Full),
            Err(AppendError::Locked) => Err(AppendError::Locked),
            Err(AppendError::Away(problem)) => Err(AppendError::Away(problem)),
            Err(AppendError::Fatal(error)) => {
                self.failed = true;
                Err(error.into())
            }
        }
    }

    /// Who has it locked.
    pub(super) fn holders(&self) -> Holders {
        holders_of(Path::new(self.connection.path().unwrap_or_default()))
    }

    /// Moves the write-ahead log into the file when it has grown; for a moment at which nobody waits.
    ///
    /// # Errors
    /// When the disk fails; the ledger takes nothing more then. A full disk is no error here.
    pub fn tend(&mut self) -> Result<(), LedgerError> {
        if self.wal_pages.load(Ordering::Relaxed) < checkpoint_pages() {
            return Ok(());
        }
        reached(Point::CheckpointBegins);
        let file = Path::new(self.connection.path().unwrap_or_default());
        let done = half_of(Point::CheckpointHalf, file, || {
            self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
        });
        reached(Point::CheckpointEnded);
        match done.map_err(LedgerError::sqlite("moving the write-ahead log into the file")) {
            Ok(()) => {
                self.wal_pages.store(0, Ordering::Relaxed);
                Ok(())
            }
            Err(LedgerError::Full | LedgerError::Locked { .. }) => Ok(()),
            Err(error) => {
                self.failed = true;
                Err(error)
            }
        }
    }

    /// Writes states of agents that no batch came for.
    ///
    /// # Errors
    /// As [`Ledger::append`].
    pub(super) fn keep(&mut self, packed: &[Packed]) -> Result<(), AppendError> {
        if self.failed {
            return Err(LedgerError::WriterEnded.into());
        }
        let kept = self.write_states(packed);
        self.failed = matches!(kept, Err(AppendError::Fatal(_)));
        kept
    }

    fn write_states(&mut self, packed: &[Packed]) -> Result<(), AppendError> {
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(AppendError::sqlite("storing states of agents"))?;
        let writer = BatchWriter { transaction: &transaction, epoch: self.epoch, last: self.last };
        writer.check_epoch().map_err(LedgerError::full_or_fatal)?;
        writer.packed(packed).map_err(LedgerError::full_or_fatal)?;
        transaction.commit().map_err(AppendError::sqlite("storing states of agents"))
    }

    /// Moves the write-ahead log into the file, where no reader is in the way, and closes it.
    pub fn close(self) -> Result<(), LedgerError> {
        reached(Point::LedgerCloses);
        let moved = self
            .connection
            .busy_timeout(Duration::ZERO)
            .and_then(|()| self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())));
        match moved.map_err(LedgerError::sqlite("closing")) {
            // What is in the write-ahead log is as durable there.
            Ok(()) | Err(LedgerError::Full | LedgerError::Locked { .. }) => {}
            Err(error) => return Err(error),
        }
        self.connection.close().map_err(|(_, error)| LedgerError::sqlite("closing")(error))?;
        self.head.sync().unwrap_or_default();
        reached(Point::LedgerClosed);
        Ok(())
    }

    fn write(&mut self, batch: &Batch) -> Result<BatchRow, AppendError> {
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(AppendError::sqlite("beginning a batch"))?;
        let writer = BatchWriter { transaction: &transaction, epoch: self.epoch, last: self.last };
        writer.check_epoch().map_err(LedgerError::full_or_fatal)?;
        writer.kinds(&self.kinds, &batch.records).map_err(LedgerError::full_or_fatal)?;
        let row = writer.batch(batch).map_err(LedgerError::full_or_fatal)?;
        reached(Point::BatchWritten);
        transaction.commit().map_err(AppendError::sqlite("committing a batch"))?;
        reached(Point::Committed);
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

#[cfg(test)]
mod tests {
    use holon_core::Input;

    use super::super::testing::{Home, created, id, stop};
    use super::*;
    use crate::store::{Batch as _, LedgerReader as _};

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
        crate::read::verify(&world.reader, &mut |_| Ok(())).unwrap();
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
            reply: holon_facts::ReplyId(3),
        });
        let error = world.ledger.append(&later).unwrap_err();
        assert!(error.to_string().contains("continue the agent's log"), "{error}");
        assert!(world.ledger.append(&lost).is_err(), "nothing is taken after a failure");
        drop(world);
        crate::read::verify(&home.reader(), &mut |_| Ok(())).unwrap();
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
        let report = crate::read::verify(&world.reader, &mut |_| Ok(())).unwrap();
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
